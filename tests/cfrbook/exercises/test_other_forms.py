"""Right programs written otherwise, and answers in forms of their own: each is accepted.

A check sees what a program returns and asks for, and not how it is written: programs of one
exercise differ in that. Other answers have a row only if their exercise accepts more than
test_forms.py writes: synonyms of words, a number for a line. `of(number)` computes the solution
whose form a row changes.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter, defaultdict
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from graded import cached
from reference import Reference
from styles import STYLES, as_objects

import cfrlib as cfr
from cfrbook import exercises
from cfrlib.plain import Vanilla
from koikoi import MiniKoiKoi

F = Fraction
ROCK, PAPER, SCISSORS = np.eye(3)


@cache
def computed(number):
    """Return the solution of an exercise."""
    return exercises.find(number).solution()


def of(number, *path):
    """Return the solution of an exercise, or a part of it."""
    found = computed(number)
    for key in path:
        found = found[key]
    return found


def values(number, *path):
    """Return a dictionary's values as a list."""
    return list(of(number, *path).values())


# ---- programs for the chapters on regret -----------------------------------------------------


def both_strategies(n):
    """1.6, by the linear program, for both players."""
    return cfr.solve_lp(cfr.games.RockPaperScissors(n)).strategy


def clipped(payoff, opponent, rounds, seed):
    """1.7, with clipped sums and all actions of the opponent drawn beforehand."""
    theirs = np.random.default_rng(seed).choice(3, size=rounds, p=opponent)
    regret, total = np.zeros(3), np.zeros(3)
    for other in theirs:
        strategy = cfr.regret_matching(regret)
        regret = np.maximum(regret + payoff[:, other] - strategy @ payoff[:, other], 0)
        total += strategy
    return total / rounds


def with_lists(payoff, opponent, rounds, seed):
    """1.7, in plain Python, with another generator."""
    import random

    rng, regret, total = random.Random(seed), [0.0] * 3, [0.0] * 3
    for _ in range(rounds):
        positive = [max(r, 0.0) for r in regret]
        if not any(positive):
            positive = [1.0] * 3
        shares = [p / sum(positive) for p in positive]
        mine = rng.choices(range(3), shares)[0]
        theirs = rng.choices(range(3), list(opponent))[0]
        for a in range(3):
            regret[a] += payoff[a][theirs] - payoff[mine][theirs]
            total[a] += shares[a]
    return {
        "rock": total[0] / rounds,
        "paper": total[1] / rounds,
        "scissors": total[2] / rounds,
    }


class Doubter(cfr.Game):
    """2.5, with other labels, written from the end of the game."""

    def node(self, h):
        match h:
            case (toss, word, reply):
                fooled = (toss == word) != (reply == "believe")
                return cfr.Terminal((1, -1) if fooled else (-1, 1))
            case (_, word):
                return cfr.Decision(1, f"P1/{word.upper()}", ("believe", "doubt"))
            case (toss,):
                return cfr.Decision(0, f"P0/{toss[0]}", ("heads", "tails"))
        return cfr.Chance({"tails": F(1, 2), "heads": F(1, 2)})


class Doubter2(Doubter):
    """2.5, with the replies in the other order, and the toss in player 0's label twice."""

    def node(self, h):
        if len(h) == 2:
            return cfr.Decision(1, h[1], ("doubt", "believe"))
        return cfr.Decision(0, repr(h), ("tails", "heads")) if len(h) == 1 else super().node(h)


def with_the_package(game, strategy, player):
    """3.6, in one line."""
    return np.array(cfr.best_response(game, strategy, player).value)


def reference(variant, update="alternating"):
    """Return a solver that runs the tests' second implementation."""

    def solve(game, iterations):
        run = Reference(game, variant, update)
        for _ in range(iterations):
            run.iterate()
        labels = zip(run.tree.infoset_label, run.pairs, strict=True)
        return {I: np.array([run.strategy_sum[q] for q in pairs]) for I, pairs in labels}

    return solve


def package(variant, update="alternating"):
    """Return a solver that runs the package, and returns rows by action."""
    return lambda game, iterations: (
        cfr.CFR(game, variant, update=update).run(iterations).average
    )


def both_orders(program):
    """4.6: compare with a plain solver, for both orders of the deals."""
    from cfrbook.museum import DealtBackward

    for game in (cfr.games.KuhnPoker(), DealtBackward()):
        wanted, found = Vanilla(game).run(7), program(game, 7)
        for I, row in wanted.items():
            if any(abs(found[I][a] - p) > 1e-6 for a, p in row.items()):
                return False
    return True


# ---- programs for the chapters on sampling ---------------------------------------------------


def external_scaled(game, h, i, choose, sigma, r, S):
    """7.5, whose draws have weights that add up to 7."""
    node = game.node(h)
    if isinstance(node, cfr.Terminal):
        return node.utilities[i]
    if isinstance(node, cfr.Chance) or node.player != i:
        row = node.probabilities if isinstance(node, cfr.Chance) else sigma[node.infoset]
        if isinstance(node, cfr.Decision):
            for a in row:
                S[node.infoset, a] += row[a]
        a = choose({a: 7 * p for a, p in row.items()})
        return external_scaled(game, (*h, a), i, choose, sigma, r, S)
    row, mean, u = sigma[node.infoset], 0, {}
    for a, p in row.items():
        u[a] = external_scaled(game, (*h, a), i, choose, sigma, r, S)
        mean += p * u[a]
    for a in row:
        r[node.infoset, a] += u[a] - mean
    return mean


def robust(m, h, i, w, q):
    """8.6, with the regrets divided when they come up."""
    node = m.game.node(h)
    if isinstance(node, cfr.Terminal):
        return node.utilities[i]
    if isinstance(node, cfr.Chance):
        return robust(m, (*h, m.draw(node.probabilities)), i, w, q)
    I = node.infoset
    row = m.sigma[I]
    if node.player != i:
        for a, p in row.items():
            m.S[I, a] += p * (w / q)
        return robust(m, (*h, m.draw(row)), i, w, q)
    u = {a: robust(m, (*h, a), i, w, rho * q) / rho for a, rho in m.sample(I).items()}
    mean = sum(row[a] * u.get(a, 0) for a in row)
    for a in row:
        m.g[I, a] += u.get(a, 0) / q - mean / q
    return mean


def aimed(m, h, i, s1, s2, others, targeted):
    """9.5, with the two samplers' probabilities in one array."""
    node = m.game.node(h)
    if isinstance(node, cfr.Terminal):
        return node.utilities[i]
    played, *rows = m.rows(h, node, i)
    n = m.draw(rows[1] if targeted else rows[0])
    actions = list(node.actions)
    blend, s = np.array([m.delta, 1 - m.delta]), np.array([s1, s2])
    t = s * [rows[1][n], rows[0][n]]
    chance = isinstance(node, cfr.Chance)
    own = not chance and node.player == i
    below = aimed(m, (*h, actions[n]), i, *t, others if own else others * played[n], targeted)
    u = below * (blend @ s) / (blend @ t)
    if not chance:
        weight = others / (blend @ s)
        for k, c in enumerate(actions):
            if own:
                m.R[node.infoset, c] += weight * (u * (k == n) - played[n] * u)
            else:
                m.S[node.infoset, c] += weight * played[k]
    return played[n] * u


# ---- programs for the chapters on networks ---------------------------------------------------


class Heap:
    """10.5: keep the rows with the largest random keys."""

    def __init__(self, size, rng):
        self.size, self.rng, self.kept = size, rng, []

    def offer(self, *row):
        item = (self.rng.random(), len(self.kept), row)
        if len(self.kept) < self.size:
            heapq.heappush(self.kept, item)
        else:
            heapq.heappushpop(self.kept, item)

    @property
    def rows(self):
        return [row for _, _, row in self.kept]


def bends(card):
    """10.7: as an array, with the distances to the other side as well."""
    decades = np.arange(0, 60, 10)
    return np.append(np.maximum(decades - card, 0), np.maximum(card - decades, 0)) / 60


def steps_and_bends(card):
    """10.7: with truth values, as a generator."""
    yield card > 100
    yield from (max(card - n, 0) for n in range(0, 60, 10))


def label_by_label(H, words, W, v):
    """11.4: only the places that have a word."""
    rows = []
    for states, tokens in zip(H, words, strict=True):
        there = states[tokens > 0]
        weights = np.exp(np.tanh(there @ W) @ v)
        rows.append((weights @ there / weights.sum()).tolist())
    return rows


def add_up_recursively(cards, drawn=None):
    """12.4: card by card."""
    if "?" in cards:
        return add_up_recursively([drawn if c == "?" else c for c in cards])
    if "x2" in cards:
        return 2 * add_up_recursively([c for c in cards if c != "x2"])
    total = math.fsum(c for c in cards if isinstance(c, int))
    highest = max((c for c in cards if isinstance(c, int)), default=0)
    return total - highest if "max0" in cards else total


# ---- other programs --------------------------------------------------------------------------


def payments_by_recursion(game, choose, rounds):
    """14.4: each decision adds what its player is paid when the round comes back."""
    total, count = defaultdict(float), Counter()

    def play(at):
        node = game.node(at)
        if isinstance(node, cfr.Terminal):
            return node.utilities
        a = choose(node)
        paid = play(game.step(at, a))
        if isinstance(node, cfr.Decision):
            total[node.infoset, a] += paid[node.player]
            count[node.infoset, a] += 1
        return paid

    for _ in range(rounds):
        play(game.root())
    return {key: np.float64(x) / count[key] for key, x in total.items()}


def lift(z):
    """15.5: [z + s]⁺ with sum 1, by sorting; no lift if the sum is large enough."""
    z = np.asarray(z, float)
    if np.maximum(z, 0).sum() >= 1:
        return np.maximum(z, 0)
    ordered = np.sort(z)[::-1]
    shifts = (1 - np.cumsum(ordered)) / np.arange(1, len(z) + 1)
    k = max(n for n, s in enumerate(shifts) if ordered[n] + s > 0)
    return np.maximum(z + shifts[k], 0)


def trial(A, rounds):
    """15.5, written for one player at a time."""
    games = (np.asarray(A, float), -np.asarray(A, float).T)
    stored = [np.full(len(game), 1 / len(game)) for game in games]
    played = list(stored)

    def moved(i, relative, faced):
        v = games[i] @ faced
        return lift(stored[i] + v - relative @ v)

    for _ in range(rounds):
        tried = [moved(i, played[i], played[1 - i]) for i in (0, 1)]
        tried = [t / t.sum() for t in tried]
        stored = [moved(i, tried[i], tried[1 - i]) for i in (0, 1)]
        played = [s / s.sum() for s in stored]
    return played


def trial_as_lists(A, rounds):
    """15.5, with lists."""
    x, y = trial(A, rounds)
    return x.tolist(), y.tolist()


def outs(start, weight, worth, j):
    """16.4: a weighted mean by NumPy."""
    cards = sorted({h[0][j] for h in start})
    mine = {c: [h for h in start if h[0][j] == c] for c in cards}
    return {
        c: np.average([worth[h] for h in hs], weights=[weight[h] for h in hs])
        for c, hs in mine.items()
    }


class Numbered(cfr.Game):
    """Kuhn poker whose cards are dealt one by one, with tuples in the labels."""

    def node(self, h):
        if len(h) < 2:
            left = [c for c in "JQK" if c not in h]
            return cfr.Chance(dict.fromkeys(left, 1 / len(left)))
        cards, moves = h[:2], h[2:]
        wins = "JQK".index(cards[0]) > "JQK".index(cards[1])
        if moves[-2:] == ("bet", "pass"):
            return cfr.Terminal((1, -1) if len(moves) == 2 else (-1, 1))
        if moves[-2:] in (("pass", "pass"), ("bet", "bet")):
            stake = 1 + (moves[-1] == "bet")
            return cfr.Terminal((stake, -stake) if wins else (-stake, stake))
        i = len(moves) % 2
        return cfr.Decision(i, f"{moves} {cards[i]}", ("pass", "bet"))


class Kuhn123(Numbered):
    """own.4 and classic.2: with cards 1, 2, 3 in one string, and other actions."""

    def node(self, h):
        if not h:
            return cfr.Chance({f"{a}{b}": 1 / 6 for a in "123" for b in "123" if a != b})
        names = {"p": "pass", "b": "bet"}
        node = super().node((*("JQK"[int(c) - 1] for c in h[0]), *(names[a] for a in h[1:])))
        if isinstance(node, cfr.Decision):
            return cfr.Decision(node.player, node.infoset, ("p", "b"))
        return node


def kuhn_project(game, bet, jack):
    """Return an answer to classic.2 for a game, given its bet and the label of the jack."""
    plan = cfr.solve(game, "cfr", 2_000, progress=False).strategy
    return {"Game": game, "strategy": plan, "alpha": f"{100 * plan[jack][bet]:.2f} %"}


def many_strategies(formula):
    """errata.3: compare with the package, on random and on pure strategies."""
    game, rng = cfr.games.KuhnPoker(), np.random.default_rng(0)
    tree = cfr.compile(game)
    first = {I: {next(iter(row)): 1} for I, row in cfr.Strategy.uniform(game).items()}
    plans = [cfr.Strategy.random(game, rng), cfr.Strategy.uniform(game).replace(first)]
    return all(
        np.isclose(formula(h, s, i), cfr.evaluate.reach(game, s, h).others(i))
        for s in plans
        for h in map(tree.history, range(1, tree.num_histories))
        for i in (0, 1)
    )


def ends(H):
    """papers.1: by what is continued."""
    if any(h and h[:-1] not in H for h in H) or () not in H:
        return None
    return [h for h in H if not any(g[: len(h)] == h and g != h for g in H)]


def rule(points, left, theirs):
    """players.3: as a table."""
    from cfrbook.exercises.koikoi_for_players import FEWEST

    return 0 if theirs else int(left >= FEWEST.get(points, 8))


def welch(one, other):
    """17.3: by SciPy's test."""
    from scipy import stats

    test = stats.ttest_ind(one, other, equal_var=False)
    if test.pvalue >= 0.05:
        return "open"
    return "Ahead" if test.statistic > 0 else "behind."


# ---- numbers as text, which only these exercises read themselves -----------------------------


WRITTEN = (lambda p: f"{100 * p:.9f} %", lambda p: str(F(p).limit_denominator(10**9)))


def rows_of(strategy, write):
    """Return a strategy with its probabilities written as text."""
    return {I: {a: write(p) for a, p in row.items()} for I, row in strategy.items()}


def strategy_written(number, write):
    """Return the answer to a project, with the probabilities of its strategy as text."""
    return of(number) | {"strategy": rows_of(of(number, "strategy"), write)}


def returned_as_text(number, write):
    """Return a right program whose numbers, in nested lists, are text."""

    def text(x):
        return [text(y) for y in x] if np.ndim(x) else write(x)

    return lambda *args: text(of(number)(*args))


# ---- the table -------------------------------------------------------------------------------

ROWS = [
    ("1.1", lambda: {"regrets": "0, 1, 2", "next": "0 % and 33.3 % and 66.7 %"}),
    ("1.2", lambda: [0, 0.4]),
    ("1.2", lambda: {"best": np.argmax([0.4, -0.4, 0]), "earns": ".4 points"}),
    ("1.6", lambda: both_strategies),
    (
        "1.6",
        lambda: lambda n: {"scissors": F(1, n + 2), "Paper": F(n, n + 2), "rock": f"1/{n + 2}"},
    ),
    ("1.7", lambda: clipped),
    ("1.7", lambda: with_lists),
    *[
        (number, lambda number=number, write=write: returned_as_text(number, write))
        for number in ("1.7", "10.7", "15.5")
        for write in WRITTEN
    ],
    ("1.5", lambda: np.int64(3)),
    *[("1.5", lambda text=text: text) for text in ("the third", "Step3", "3rd step")],
    ("1.4", lambda: ["x10", "one", "×1", "10 times", np.zeros(3)]),
    ("2.5", lambda: Doubter),
    ("2.5", lambda: Doubter2()),
    *[
        ("2.6", lambda groups=groups: groups)
        for groups in (
            "9, TJ, QK",
            [9, "10J", ("Q", "K")],
        )
    ],
    ("2.3", lambda: ["ten", "2**10", "3^5"]),
    ("2.6", lambda: {frozenset(group) for group in of("2.6")}),
    ("3.1", lambda: [f"{of('3.1', 'check'):.6f}", of("3.1", "bet"), "Betting"]),
    ("3.2", lambda: {"sum": ("rock", "uniform"), "mean": ["Paper", "paper"]}),
    ("3.2", lambda: {"sum": ("paper", [1 / 3] * 3), "mean": ("scissors", "scissors")}),
    (
        "3.2",
        lambda: [(SCISSORS, np.full(3, 1 / 3)), (ROCK, {"rock": 1, "paper": 0, "scissors": 0})],
    ),
    ("3.6", lambda: with_the_package),
    ("4.3", lambda: {6: of("4.3", "line 6"), "7": of("4.3", "line 7"), "HIDES": "line  7"}),
    ("4.3", lambda: [f"{x:.4f}" for x in values("4.3")[:2]] + [7.0]),
    ("4.4", lambda: reference("cfr", "simultaneous")),
    ("4.4", lambda: package("cfr", "simultaneous")),
    ("4.2", lambda: {"value": "-1/24", "bluff": "10"}),
    ("4.2", lambda: [-0.0417, "Ten"]),
    ("4.5", lambda: of("4.5") | {"alike": {"C", "B"}, "right": "row A"}),
    ("4.5", lambda: of("4.5") | {"alike": "c and b", "better": "e."}),
    ("4.6", lambda: both_orders),
    ("5.5", lambda: reference("cfr+")),
    ("5.5", lambda: package("cfr+")),
    ("5.2", lambda: "M, G, I, D, A, L, B, F, K, J, C"),
    ("5.2", lambda: "dgi mla b fkjc"),
    ("6.6", lambda: reference("dcfr")),
    ("6.6", lambda: package("dcfr")),
    ("7.5", lambda: external_scaled),
    ("8.6", lambda: robust),
    ("9.1", lambda: lambda price: F(1, 2) - F(price) / 2),
    ("9.1", lambda: lambda price: f"{50 * (1 - price):.6f} %"),
    ("9.2", lambda: ", ".join(of("9.2"))),
    ("9.2", lambda: dict.fromkeys(of("9.2"), True)),
    ("9.5", lambda: aimed),
    ("9.4", lambda: lambda risk: np.minimum(F(1, 9), F(-1, 18) + F(risk) / 2)),
    ("9.4", lambda: lambda risk: np.array([np.interp(risk, [0, 1 / 3], [-1 / 18, 1 / 9])])),
    ("10.2", lambda: {"means": "3/5", "sums": "3/7", "CFR asks for": "sum"}),
    ("10.5", lambda: Heap),
    ("10.7", lambda: bends),
    ("10.7", lambda: steps_and_bends),
    ("11.4", lambda: label_by_label),
    (
        "11.3",
        lambda: {"pair": of("11.3", "pair")[::-1], "how many": str(of("11.3", "how many"))},
    ),
    ("11.5", lambda: {(32, 32): "1410", 4: 46, "2": 24.0}),
    ("12.4", lambda: add_up_recursively),
    (
        "13.5",
        lambda: {
            I: max(row, key=row.get) if max(row.values()) == 1 else row
            for I, row in of("13.5").items()
        },
    ),
    ("13.5", lambda: cfr.Strategy(MiniKoiKoi.K8(), of("13.5"))),
    *[("13.5", lambda write=write: rows_of(of("13.5"), write)) for write in WRITTEN],
    ("13.5", lambda: {I: list(row.values()) for I, row in of("13.5").items()}),
    ("14.4", lambda: payments_by_recursion),
    ("14.2", lambda: ["b", "d"]),
    ("14.2", lambda: "DB"),
    ("15.5", lambda: trial_as_lists),
    ("16.4", lambda: outs),
    (
        "own.3",
        lambda: {10: of("own.3", "10"), 100: of("own.3", "100"), "same as": "both players"},
    ),
    ("own.3", lambda: [*values("own.3")[:2], "Simultaneous"]),
    ("own.4", lambda: Kuhn123),
    ("own.4", lambda: cfr.games.KuhnPoker()),
    ("errata.3", lambda: many_strategies),
    ("museum.2", lambda: reference("cfr", "simultaneous")),
    ("museum.2", lambda: package("cfr", "simultaneous")),
    ("museum.3", lambda: {key.upper(): f"  {x} " for key, x in of("museum.3").items()}),
    ("museum.3", lambda: list(of("museum.3").values())),
    (
        "classic.1",
        lambda: {
            "Divisions": ["-".join(map(str, d)) for d in of("classic.1", "divisions")],
            "payoff": lambda a, b: float(
                np.sign(sum(np.sign(x - y) for x, y in zip(a, b, strict=True)))
            ),
            "strategy": {
                "-".join(map(str, d)): p for d, p in of("classic.1", "strategy").items()
            },
            "shapes": [tuple(map(int, s.split("-")))[::-1] for s in of("classic.1", "shapes")],
        },
    ),
    ("classic.2", lambda: kuhn_project(cfr.games.KuhnPoker(), "bet", "J")),
    ("classic.2", lambda: kuhn_project(Kuhn123(), "b", "() J")),
    ("classic.2", lambda: of("classic.2") | {"strategy": as_objects}),
    *[
        (number, lambda number=number, write=write: strategy_written(number, write))
        for number in ("classic.2", "classic.3", "classic.4")
        for write in WRITTEN
    ],
    (
        "classic.3",
        lambda: (
            of("classic.3")
            | {
                "infosets": str(of("classic.3", "infosets")),
                "twin": {str(a): str(b) for a, b in of("classic.3", "twin").items()},
            }
        ),
    ),
    (
        "classic.4",
        lambda: {
            key.lower(): x if key in ("game", "strategy") else f"{x:.6f}"
            for key, x in of("classic.4").items()
        },
    ),
    (
        "classic.5",
        lambda: {
            key: x if key == "merge" else f"{x:.4f}" for key, x in of("classic.5").items()
        },
    ),
    ("papers.1", lambda: ends),
    ("papers.3", lambda: lambda chance, opponent, drawn: np.divide(opponent, drawn)),
    ("papers.3", lambda: lambda chance, opponent, drawn: chance * opponent / (chance * drawn)),
    ("players.3", lambda: rule),
    ("17.3", lambda: welch),
    *[
        (number, lambda program=program: program)
        for number, programs in STYLES.items()
        for program in programs
    ],
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "answer"), ROWS, ids=[f"{number}-{n}" for n, (number, _) in enumerate(ROWS)]
)
def test_right_answer_in_another_form_is_right(number, answer):
    feedback = cached(number).check(answer())
    assert feedback.right, feedback
