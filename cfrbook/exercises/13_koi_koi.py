"""Exercises of chapter 13: points, special hands, indifference, table size, simple rules."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import product
from math import comb, factorial, log10, prod
from typing import Any

from cfrbook.exercises.grading import Unreadable, as_number
from cfrbook.exercises.shared import as_rows
from cfrbook.exercises.sheet import read
from cfrlib.evaluate import exploitability
from cfrlib.game import Action, Chance, Decision, Game, History, Terminal
from cfrlib.strategy import Strategy
from koikoi import DECK, KoiKoi, MiniKoiKoi, made

KINDS = ("Curtain", "Sake", "Plum")  # cards that the dealer may still hold
FACTORS = {"factor 3": 3, "factor 1": 1}
Utilities = dict[tuple[str, str, str], Fraction]


# ---- points and hands ------------------------------------------------------------------------


def points(plain: int = 10) -> int:
    """Return the points of the captured cards of exercise 13.1."""
    rest = [card.name for card in DECK if card.kind == "plain"][:plain]
    pile = ["Boar", "Deer", "Butterflies", "Geese", "Sake", "Moon", *rest]
    return sum(made(pile).values())


def special_hands(twice: int = 1, two_of_four: int = 6) -> dict[str, float]:
    """Return the probabilities of special hands."""
    hands = comb(48, 8)
    four = 12 * comb(44, 4) - twice * comb(12, 2)
    pairs = comb(12, 4) * two_of_four**4
    return {"four of a month": four / hands, "four pairs": pairs / hands}


def hands_with(pairs: float = 1.0, **changes: float) -> dict[str, float]:
    """Return the right probabilities, that of four pairs times a factor, or with changes."""
    right = special_hands()
    right["four pairs"] *= pairs
    return right | {key.replace("_", " "): x for key, x in changes.items()}


# ---- indifference ----------------------------------------------------------------------------


def expected_utility(game: Game, at: History) -> Fraction:
    """Return the dealer's expected utility when no decisions remain."""
    node = game.node(at)
    if isinstance(node, Terminal):
        return Fraction(node.utilities[0])
    if isinstance(node, Chance):
        odds = Counter(at.stock)
        terms = (n * expected_utility(game, game.step(at, a)) for a, n in odds.items())
        return sum(terms, Fraction(0)) / len(at.stock)
    return expected_utility(game, game.step(at, node.actions[0]))


@cache
def call_utilities(factor: int) -> Utilities:
    """Return the utility of a call by the card left, the card played and the card kept."""
    game, found = MiniKoiKoi.K10(koi_factor=factor), {}
    for left, laid, kept in product(KINDS, repeat=3):
        if max(Counter((left, laid, kept)).values()) <= 2:
            parts = ("Moon", left), (laid, kept), ("Moon", "Pine")
            deal = (" ".join(sorted(part, key=game.deck.index)) for part in parts)
            at = game.root()
            for a in (" / ".join(deal), "Moon", "Pine", "koi-koi", laid):
                at = game.step(at, a)
            found[left, laid, kept] = expected_utility(game, at)
    return found


def calling_probabilities(factor: int) -> dict[str, float]:
    """Return the calling probabilities of Sake and Curtain that make the others indifferent."""
    u = call_utilities(factor)

    def gap(left: str, other: str) -> Fraction:
        return u[left, "Sake", other] - u[left, other, "Sake"]

    a, b, e = gap("Curtain", "Curtain"), gap("Sake", "Curtain"), 2 * gap("Plum", "Curtain")
    c, d, f = 2 * gap("Curtain", "Plum"), gap("Sake", "Plum"), gap("Plum", "Plum")
    det = a * d - b * c
    return {"Sake": float((c * e - a * f) / det), "Curtain": float((b * f - d * e) / det)}


@cache
def calling_frequency(factor: int) -> str:
    """Return whether the dealer calls never, sometimes or always.

    The dealer never calls if one reply of the others keeps every call below 1, the payoff of
    stopping. The dealer always calls if no reply keeps any call below 1.
    """
    from scipy.optimize import linprog

    pairs = [(x, y) for n, x in enumerate(KINDS) for y in KINDS[n + 1 :]]
    u, sure, more, least = call_utilities(factor), [], [], []
    for left in KINDS:
        rest = Counter(dict.fromkeys(KINDS, 2)) - Counter([left])
        worth = sum((u[left, x, x] for x in rest if rest[x] == 2), Fraction(0))
        worth += sum(rest[x] * rest[y] * u[left, y, x] for x, y in pairs)
        sure.append(float(worth / 10))
        gains = [rest[x] * rest[y] * (u[left, x, y] - u[left, y, x]) / 10 for x, y in pairs]
        more.append([float(gain) for gain in gains])
        least.append(sure[-1] + sum(min(gain, 0.0) for gain in more[-1]))
    # The others choose the probability of each pair's first card to minimize the best call.
    solution = linprog(
        [0, 0, 0, 1],
        A_ub=[[*row, -1] for row in more],
        b_ub=[-base for base in sure],
        bounds=[(0, 1)] * 3 + [(None, None)],
    )
    best = float(solution.fun or 0.0)
    return "never" if best < 1 else "always" if min(least) > 1 else "sometimes"


def solutions_by_factor(
    swap: bool = False,
    solver: str = "",
    shift: int = 0,
    change: Callable[[float], float] | None = None,
) -> dict[str, dict[str, Any]]:
    """Return the solutions of the indifference equations, and how often the solver calls."""
    found: dict[str, dict[str, Any]] = {}
    for name, factor in FACTORS.items():
        hand = calling_probabilities(2 if shift else factor)
        if swap:
            hand = dict(zip(hand, reversed(hand.values()), strict=True))
        if change:
            hand = {card: change(p) for card, p in hand.items()}
        found[name] = {**hand, "solver": solver or calling_frequency(factor)}
    return found


# ---- the size of a table ---------------------------------------------------------------------


@cache
def log_views(captured: tuple[int, ...] = (0, 2, 4), seats: int = 2, turns: int = 8) -> float:
    """Return the logarithm to base 10 of the number of views without the order of events."""
    month: Counter[tuple[int, int]] = Counter()
    for hand, unseen, mine, theirs in product(range(5), range(5), captured, captured):
        field = 4 - hand - unseen - mine - theirs
        if field >= 0:
            parts = (hand, unseen, mine, theirs, field)
            month[hand, unseen] += factorial(4) // prod(map(factorial, parts))
    power = Counter({(0, 0): 1})
    for _ in range(12):
        more: Counter[tuple[int, int]] = Counter()
        for (x, y), n in power.items():
            for (dx, dy), k in month.items():
                more[x + dx, y + dy] += n * k
        power = more
    total = 0
    for t in range(turns):
        total += sum(power[8 - t, 32 - 3 * t - 2 * seat] for seat in range(seats))
    return log10(total)


# ---- a rule-based player ---------------------------------------------------------------------


def gain(game: Game, at: History, a: Action) -> float:
    """Return the points of the pile after an action, plus a little for each card in it."""
    rules: Any = game
    after = rules.step(at, a)
    piles = [after.piles[at.player]]
    if after.stage == "match":
        piles = [rules.step(after, b).piles[at.player] for b in rules.node(after).actions]
    return float(max(rules.worth(pile) + len(pile) / 1_000 for pile in piles))


def greedy_row(game: Game, node: Decision, at: History, careful: bool) -> dict[Action, float]:
    """Return the greedy player's strategy; a careful dealer calls only with two lights."""
    if at.stage == "call":
        koi = not careful or at.player == 1 or {"Curtain", "Moon"} <= set(at.piles[0])
        best: list[Action] = ["koi-koi"] if koi and "koi-koi" in node.actions else ["stop"]
    else:
        gains = {a: gain(game, at, a) for a in node.actions}
        best = [a for a in gains if gains[a] == max(gains.values())]
    return {a: (a in best) / len(best) for a in node.actions}


def without_calls(often: float = 0.0) -> dict[str, dict[Action, float]]:
    """Return the greedy player's strategy, which calls with this probability."""
    rows = rule_based_strategy(careful=False)
    mixed: dict[Action, float] = {"stop": 1 - often, "koi-koi": often}
    return {I: mixed if "koi-koi" in row else row for I, row in rows.items()}


@cache
def rule_based_strategy(careful: bool) -> dict[str, dict[Action, float]]:
    """Return the strategy of a rule-based player of K8."""
    game, rows = MiniKoiKoi.K8(), {}
    stack: list[History] = [game.root()]
    while stack:
        at = stack.pop()
        node = game.node(at)
        if isinstance(node, Decision):
            rows[node.infoset] = greedy_row(game, node, at, careful)
        if isinstance(node, Decision | Chance):
            stack += [game.step(at, a) for a in node.actions]
    return rows


@cache
def k8() -> MiniKoiKoi:
    """Return K8; the same object each time, so that it compiles once."""
    return MiniKoiKoi.K8()


def exploitability_in_k8(answer: Any) -> float:
    """Return the exploitability of a player of K8."""
    if not isinstance(answer, Mapping):
        raise Unreadable("yours is not a dictionary")
    rows = {I: {row: 1} if isinstance(row, str) else row for I, row in answer.items()}
    return exploitability(k8(), Strategy.uniform(k8()).replace(as_rows(k8(), rows)))


@cache
def greedy_exploitability() -> float:
    """Return the exploitability of the greedy player that always calls."""
    return exploitability_in_k8(rule_based_strategy(careful=False))


EXERCISES = read(__file__, globals())
