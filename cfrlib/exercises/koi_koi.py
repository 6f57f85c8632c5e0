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

from cfrlib.equilibrium import exploitability
from cfrlib.exercises.grading import Exercise, Mistake, Unreadable, as_number
from cfrlib.game import Action, Chance, Decision, Game, History, Terminal
from cfrlib.koikoi import DECK, KoiKoi, MiniKoiKoi, made
from cfrlib.strategy import Strategy

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


def exchanged_factors(numbers: bool, words: bool) -> dict[str, dict[str, Any]]:
    """Return the answer with the numbers, or the words, of the other factor."""
    right = solutions_by_factor()
    other = dict(zip(right, list(right.values())[::-1], strict=True))
    return {
        name: {
            key: (other if (words if key == "solver" else numbers) else right)[name][key]
            for key in row
        }
        for name, row in right.items()
    }


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
    rows = {I: row if isinstance(row, Mapping) else {row: 1} for I, row in answer.items()}
    return exploitability(k8(), Strategy.uniform(k8()).replace(rows))


@cache
def greedy_exploitability() -> float:
    """Return the exploitability of the greedy player that always calls."""
    return exploitability_in_k8(rule_based_strategy(careful=False))


EXERCISES = (
    Exercise(
        "13.1",
        "Count the points",
        "a number of points",
        lambda: KoiKoi().payment(points(), called=True),
        (
            Mistake(
                lambda: KoiKoi().payment(points(), called=False),
                "You doubled once: there are seven points or more, *and* the other player "
                "has called.",
            ),
            Mistake(
                lambda: points(),
                "That is the value of the yaku. The payment is doubled, perhaps twice.",
            ),
            Mistake(
                lambda: KoiKoi().payment(points(9), called=True),
                "Look at the Sake cup again: `kasu` counts 25 cards, and only 24 are plain.",
            ),
            Mistake(
                lambda: KoiKoi().payment(points() + 1, called=True),
                "Five animals are a yaku of their own, `tane`, but the boar, the deer and the "
                "butterflies replace it.",
            ),
            Mistake(
                lambda: 4 * (points() - 2),
                "Count the plain cards once more: there is a yaku for ten of them.",
            ),
            Mistake(
                lambda: 4 * (points() - 5),
                "The Moon and the Sake cup make a yaku together.",
            ),
            Mistake(
                lambda: 3 * points(),
                "You tripled. Seven points or more double, and the other player's call doubles "
                "again: the two multiply.",
            ),
            Mistake(
                lambda: 8 * points(),
                "You doubled three times. It is doubled for seven points or more, and for the "
                "other player's call. Your own stop doubles nothing.",
            ),
            Mistake(
                lambda: 2 * (points() - 2),
                "Count the plain cards once more: there is a yaku for ten of them. And it is "
                "doubled twice.",
            ),
        ),
        takeaway="One card, three yaku: that is why everybody wants the Sake cup.",
        advice="Add up the yaku, then double for seven points, then for the other's call.",
    ),
    Exercise(
        "13.2",
        "How often is a hand special?",
        "a dictionary with the probabilities of 'four of a month' and 'four pairs'",
        special_hands,
        (
            Mistake(
                lambda: special_hands(twice=0),
                "A hand of two complete months is counted for each of them, so twice. It is "
                "rare, and the exercise says: count.",
            ),
            Mistake(
                lambda: special_hands(two_of_four=1),
                "A pair is two cards of a month's four, and there are several ways to choose "
                "them.",
            ),
            Mistake(
                lambda: special_hands(twice=2),
                "A hand of two complete months is also special: subtract it once, not twice.",
            ),
            Mistake(
                lambda: special_hands(twice=0, two_of_four=1),
                "A hand of two complete months is counted twice. And a pair is two cards of a "
                "month's four: there are several ways to choose them.",
            ),
            Mistake(
                lambda: hands_with(four_of_a_month=comb(44, 4) / comb(48, 8)),
                "You counted one month. There are twelve.",
            ),
            Mistake(
                lambda: hands_with(factorial(4)),
                "You counted the four months in each order. A hand has no order.",
            ),
            Mistake(
                lambda: hands_with(2**4),
                "You counted the two cards of each pair in both orders. A hand has no order.",
            ),
            Mistake(
                lambda: hands_with(
                    four_pairs=special_hands()["four pairs"]
                    + special_hands(twice=0)["four of a month"]
                ),
                "Four cards of a month are not two pairs here. Choose four different months.",
            ),
            Mistake(
                lambda: {key: comb(48, 8) * x for key, x in special_hands().items()},
                "These are numbers of hands. Divide by the number of all hands of eight.",
            ),
            Mistake(
                lambda: dict(
                    zip(special_hands(), list(special_hands().values())[::-1], strict=True)
                ),
                "You have the two kinds the wrong way round.",
            ),
            Mistake(
                lambda: hands_with(four_pairs=comb(12, 8) * 4**8 / comb(48, 8)),
                "These are hands with cards of eight different months. Four pairs have cards "
                "of four.",
            ),
        ),
        tolerance=1e-7,
        points=2,
        takeaway="The two kinds exclude each other, so their probabilities add up.",
        advice="Favorable hands over all hands of eight, `comb(48, 8)`; give six digits.",
    ),
    Exercise(
        "13.3",
        "A solution that is not one",
        "a dictionary with 'factor 3' and 'factor 1', each a dictionary with the solutions by "
        "hand for 'Sake' and 'Curtain', and under 'solver' one of never, sometimes, always",
        solutions_by_factor,
        (
            Mistake(
                lambda: solutions_by_factor(solver="sometimes"),
                "The equations are solved. But ask the solver: it does not mix here.",
            ),
            Mistake(
                lambda: solutions_by_factor(swap=True),
                "You have Sake and Curtain the wrong way round.",
            ),
            Mistake(
                lambda: solutions_by_factor(shift=1),
                "These are the solutions for a call that doubles. The payoffs change with the "
                "factor; does `ten` still name the old game?",
            ),
            Mistake(
                lambda: exchanged_factors(numbers=False, words=True),
                "The equations are solved. You have the two words the wrong way round: which "
                "factor makes a call dearer?",
            ),
            Mistake(
                lambda: exchanged_factors(numbers=True, words=True),
                "You have the two factors the wrong way round.",
            ),
            Mistake(
                lambda: exchanged_factors(numbers=True, words=False),
                "The words are right. The solutions of the equations belong to the other "
                "factor.",
            ),
            Mistake(
                lambda: solutions_by_factor(solver="never"),
                "The equations are solved. The solver does not give the same answer for both "
                "factors: with one of them a call costs little.",
            ),
            Mistake(
                lambda: solutions_by_factor(solver="always"),
                "The equations are solved. The solver does not give the same answer for both "
                "factors: with one of them a call costs much.",
            ),
            Mistake(
                lambda: solutions_by_factor(change=lambda p: 1 - p),
                "These are the probabilities of stopping. The exercise asks for calls.",
            ),
            Mistake(
                lambda: solutions_by_factor(change=lambda p: -p),
                "The signs are wrong, and a probability is not negative. Look at Cramer's rule "
                "once more.",
            ),
            Mistake(
                lambda: {
                    "factor 3": {"Sake": 0, "Curtain": 0, "solver": "never"},
                    "factor 1": {"Sake": 1, "Curtain": 1, "solver": "always"},
                },
                "That is what the solver plays. *Sake* and *Curtain* ask for the solutions of "
                "the two equations.",
            ),
        ),
        points=2,
        words={"never": (), "sometimes": (), "always": ()},
        takeaway="Indifference of the others is half of an equilibrium; you must want to mix.",
        advice="`gap` for the new game, then Cramer's rule as above.",
    ),
    Exercise(
        "13.4",
        "Forget the order",
        "the logarithm, to base 10, of the number of views",
        log_views,
        (
            Mistake(
                lambda: log_views(captured=(0, 1, 2, 3, 4)),
                "Cards are captured in twos and fours: each pile has an even number of each "
                "month's cards.",
            ),
            Mistake(
                lambda: log_views(seats=1),
                "These are the views of one seat. The other player begins their turns with "
                "two fewer unseen cards.",
            ),
            Mistake(
                lambda: log_views(turns=1),
                "These are the views at the first turns only.",
            ),
            Mistake(
                lambda: 10 ** log_views(),
                "That is the number itself. The answer is its logarithm to base 10.",
            ),
            Mistake(
                lambda: log_views() * 2.302585,
                "This is the natural logarithm. The base asked for is 10.",
            ),
            Mistake(
                lambda: log_views(captured=(0, 2)),
                "You left out the months of which a player has captured all four cards.",
            ),
            Mistake(
                lambda: log_views(captured=(0, 4)),
                "You left out the months of which a player has captured two cards.",
            ),
        ),
        tolerance=2e-3,
        points=3,
        takeaway="Forgetting halves the exponent, and still no table can hold it.",
        advice="At the dealer's turn t there are 9 − t cards in the hand and 35 − 3t unseen.",
    ),
    Exercise(
        "13.5",
        "Open: a player of your own",
        "a dictionary from infosets of K8 to actions, or to probabilities",
        lambda: copy.deepcopy(rule_based_strategy(careful=True)),
        (
            Mistake(
                lambda: rule_based_strategy(careful=False),
                "That is the greedy player that always calls. Where does a best response gain "
                "most from it?",
            ),
            Mistake(
                lambda: {},
                "Your dictionary is empty, so your player is uniform everywhere.",
            ),
            Mistake(
                without_calls,
                "This is the greedy player that never calls. A player that never calls gives "
                "away too much: with which pairs is a call safe?",
            ),
            Mistake(
                lambda: without_calls(0.5),
                "This greedy player tosses a coin about every call. With which pairs is a call "
                "safe?",
            ),
            Mistake(
                lambda: {
                    I: {next(iter(row)): 1.0}
                    for I, row in rule_based_strategy(careful=False).items()
                },
                "This player always takes the first action. Look at what each action captures.",
            ),
        ),
        see=exploitability_in_k8,
        accepts=lambda found: as_number(found) < greedy_exploitability() - 1e-6,
        points=2,
        takeaway="Less exploitable than greedy. How far ten lines can go is open.",
        advice="Yours can be exploited more than the greedy player that always calls.",
    ),
)
