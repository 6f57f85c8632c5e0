"""Chapter 13: points, special hands, indifference, the size of a table, a player by rules."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
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

KINDS = ("Curtain", "Sake", "Plum")  # what the dealer may have left
FACTORS = {"factor 3": 3, "factor 1": 1}
Table = dict[tuple[str, str, str], Fraction]


# ---- points and hands ------------------------------------------------------------------------


def points(plain: int = 10) -> int:
    """Return what the captured cards of exercise 13.1 are worth."""
    rest = [card.name for card in DECK if card.kind == "plain"][:plain]
    pile = ["Boar", "Deer", "Butterflies", "Geese", "Sake", "Moon", *rest]
    return sum(made(pile).values())


def special(twice: int = 1, two_of_four: int = 6) -> dict[str, float]:
    """Return how likely a special hand is."""
    hands = comb(48, 8)
    four = 12 * comb(44, 4) - twice * comb(12, 2)
    pairs = comb(12, 4) * two_of_four**4
    return {"four of a month": four / hands, "four pairs": pairs / hands}


# ---- indifference ----------------------------------------------------------------------------


def average(game: Game, at: History) -> Fraction:
    """Return what the dealer is paid if nothing is left to decide."""
    node = game.node(at)
    if isinstance(node, Terminal):
        return Fraction(node.utilities[0])
    if isinstance(node, Chance):
        odds = Counter(at.stock)
        terms = (n * average(game, game.step(at, a)) for a, n in odds.items())
        return sum(terms, Fraction(0)) / len(at.stock)
    return average(game, game.step(at, node.actions[0]))


@cache
def payoffs(factor: int) -> Table:
    """Return what a call brings: by the card left, the card that is laid and the one kept."""
    game, found = MiniKoiKoi.K10(koi_factor=factor), {}
    for left, laid, kept in product(KINDS, repeat=3):
        if max(Counter((left, laid, kept)).values()) <= 2:
            parts = ("Moon", left), (laid, kept), ("Moon", "Pine")
            deal = (" ".join(sorted(part, key=game.deck.index)) for part in parts)
            at = game.root()
            for a in (" / ".join(deal), "Moon", "Pine", "koi-koi", laid):
                at = game.step(at, a)
            found[left, laid, kept] = average(game, at)
    return found


def indifferent(factor: int) -> dict[str, float]:
    """Return how often a Sake and a Curtain call, so that the others may lay either card."""
    u = payoffs(factor)

    def gap(left: str, other: str) -> Fraction:
        return u[left, "Sake", other] - u[left, other, "Sake"]

    a, b, e = gap("Curtain", "Curtain"), gap("Sake", "Curtain"), 2 * gap("Plum", "Curtain")
    c, d, f = 2 * gap("Curtain", "Plum"), gap("Sake", "Plum"), gap("Plum", "Plum")
    det = a * d - b * c
    return {"Sake": float((c * e - a * f) / det), "Curtain": float((b * f - d * e) / det)}


@cache
def calls(factor: int) -> str:
    """Return whether the dealer calls with what it has left.

    Never, if one answer of the others holds every call below the 1 that stopping pays; always,
    if no answer to any call does.
    """
    from scipy.optimize import linprog

    pairs = [(x, y) for n, x in enumerate(KINDS) for y in KINDS[n + 1 :]]
    u, sure, more, least = payoffs(factor), [], [], []
    for left in KINDS:
        rest = Counter(dict.fromkeys(KINDS, 2)) - Counter([left])
        worth = sum((u[left, x, x] for x in rest if rest[x] == 2), Fraction(0))
        worth += sum(rest[x] * rest[y] * u[left, y, x] for x, y in pairs)
        sure.append(float(worth / 10))
        gains = [rest[x] * rest[y] * (u[left, x, y] - u[left, y, x]) / 10 for x, y in pairs]
        more.append([float(gain) for gain in gains])
        least.append(sure[-1] + sum(min(gain, 0.0) for gain in more[-1]))
    least = [
        base + sum(min(gain, 0) for gain in row) for base, row in zip(sure, more, strict=True)
    ]
    # the others choose how often to lay the first card of each pair; hold the best call down
    held = linprog(
        [0, 0, 0, 1],
        A_ub=[[*row, -1] for row in more],
        b_ub=[-base for base in sure],
        bounds=[(0, 1)] * 3 + [(None, None)],
    )
    top = float(held.fun or 0.0)
    return "never" if top < 1 else "always" if min(least) > 1 else "sometimes"


def both_factors(
    swap: bool = False, solver: str = "", shift: int = 0
) -> dict[str, dict[str, object]]:
    """Return the solutions of the equations, and what the solver does."""
    found: dict[str, dict[str, object]] = {}
    for name, factor in FACTORS.items():
        hand = indifferent(2 if shift else factor)
        if swap:
            hand = dict(zip(hand, reversed(hand.values()), strict=True))
        found[name] = {**hand, "solver": solver or calls(factor)}
    return found


# ---- the size of a table ---------------------------------------------------------------------


@cache
def views(captured: tuple[int, ...] = (0, 2, 4), seats: int = 2, turns: int = 8) -> float:
    """Return the logarithm of how many views there are, if the order is forgotten."""
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


# ---- a player by rules -----------------------------------------------------------------------


def gain(game: Game, at: History, a: Action) -> float:
    """Return the points that a pile is worth after a card, and a little for each card in it."""
    rules: Any = game
    after = rules.step(at, a)
    piles = [after.piles[at.player]]
    if after.stage == "match":
        piles = [rules.step(after, b).piles[at.player] for b in rules.node(after).actions]
    return float(max(rules.worth(pile) + len(pile) / 1_000 for pile in piles))


def row(game: Game, node: Decision, at: History, careful: bool) -> dict[Action, float]:
    """Return what the greedy player does; a careful dealer stops, but with two lights."""
    if at.stage == "call":
        koi = not careful or at.player == 1 or {"Curtain", "Moon"} <= set(at.piles[0])
        best: list[Action] = ["koi-koi"] if koi and "koi-koi" in node.actions else ["stop"]
    else:
        gains = {a: gain(game, at, a) for a in node.actions}
        best = [a for a in gains if gains[a] == max(gains.values())]
    return {a: (a in best) / len(best) for a in node.actions}


@cache
def player(careful: bool) -> dict[str, dict[Action, float]]:
    """Return a player of K8 by rules, a row for every infoset."""
    game, rows = MiniKoiKoi.K8(), {}
    todo: list[History] = [game.root()]
    while todo:
        at = todo.pop()
        node = game.node(at)
        if isinstance(node, Decision):
            rows[node.infoset] = row(game, node, at, careful)
        if isinstance(node, Decision | Chance):
            todo += [game.step(at, a) for a in node.actions]
    return rows


@cache
def eight() -> MiniKoiKoi:
    """Return K8, which remembers its tree."""
    return MiniKoiKoi.K8()


def exploited(answer: Any) -> float:
    """Return how exploitable a player of K8 is."""
    if not isinstance(answer, Mapping):
        raise Unreadable("yours is not a dictionary")
    rows = {I: row if isinstance(row, Mapping) else {row: 1} for I, row in answer.items()}
    return exploitability(eight(), Strategy.uniform(eight()).replace(rows))


@cache
def bar() -> float:
    """Return how exploitable the greedy player is that always calls."""
    return exploited(player(careful=False))


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
                "So much are the yaku worth. What you are paid is doubled, perhaps twice.",
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
        ),
        takeaway="One card, three yaku: that is why everybody wants the Sake cup.",
        advice="Add up the yaku, then double for seven points, then for the other's call.",
    ),
    Exercise(
        "13.2",
        "How often is a hand special?",
        "a dictionary with the probabilities of 'four of a month' and 'four pairs'",
        special,
        (
            Mistake(
                lambda: special(twice=0),
                "A hand of two complete months is counted for each of them, so twice. It is "
                "rare, and the exercise says: count.",
            ),
            Mistake(
                lambda: special(two_of_four=1),
                "A pair is two cards of a month's four, and there are several ways to choose "
                "them.",
            ),
            Mistake(
                lambda: special(twice=2),
                "A hand of two complete months is special, too: take it off once, not twice.",
            ),
        ),
        tolerance=1e-7,
        points=2,
        takeaway="The two sorts exclude each other, so their probabilities add up.",
        advice="Favorable hands over all hands of eight, `comb(48, 8)`; give six digits.",
    ),
    Exercise(
        "13.3",
        "A solution that is none",
        "a dictionary with 'factor 3' and 'factor 1', each a dictionary with the solutions by "
        "hand for 'Sake' and 'Curtain', and under 'solver' one of never, sometimes, always",
        both_factors,
        (
            Mistake(
                lambda: both_factors(solver="sometimes"),
                "The equations are solved. But ask the solver: it does not mix here.",
            ),
            Mistake(
                lambda: both_factors(swap=True),
                "You have Sake and Curtain the wrong way round.",
            ),
            Mistake(
                lambda: both_factors(shift=1),
                "These are the solutions for a call that doubles. The payoffs change with the "
                "factor; does `ten` still name the old game?",
            ),
        ),
        points=2,
        takeaway="Indifference of the others is half of an equilibrium; you must want to mix.",
        advice="`gap` for the new game, then Cramer's rule as above.",
    ),
    Exercise(
        "13.4",
        "Forget the order",
        "the logarithm, to base 10, of the number of views",
        views,
        (
            Mistake(
                lambda: views(captured=(0, 1, 2, 3, 4)),
                "Cards are captured in twos and fours: of a month each pile has an even "
                "number.",
            ),
            Mistake(
                lambda: views(seats=1),
                "These are the views of one seat. The other player begins its turns with two "
                "unseen cards less.",
            ),
            Mistake(
                lambda: views(turns=1),
                "These are the views at the first turns only.",
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
        lambda: player(careful=True),
        (
            Mistake(
                lambda: player(careful=False),
                "That is the greedy player that always calls. Where does a best response gain "
                "most from it?",
            ),
        ),
        see=exploited,
        accepts=lambda found: as_number(found) < bar() - 1e-6,
        points=2,
        takeaway="Less exploitable than greedy. How far ten lines can go is open.",
        advice="Yours can be exploited more than the greedy player that always calls.",
    ),
)
