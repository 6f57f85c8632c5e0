"""Chapter 12: totals, a call at once, rules added up in the wrong order, why two is special."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, cast

from cfrlib.equilibrium import expected_utility, solve_lp
from cfrlib.exercises.grading import Exercise, Mistake, as_number, require_function
from cfrlib.games import Coyote
from cfrlib.solve import solve
from cfrlib.strategy import Strategy

Card = int | str
AddUp = Callable[..., Any]

BEATS = {("R", "S"), ("S", "P"), ("P", "R")}
ROUNDS = (("R", "P"), ("R", "S"), ("P", "P"))  # exercise 12.4


# ---- 12.1 and 12.2: totals ------------------------------------------------------------------


def totals(seen: Card) -> dict[int, Fraction]:
    """Return how likely each total of two cards is, if one of them is seen."""
    left = Counter(Coyote.DECK)
    left.subtract([seen])
    found: dict[int, Fraction] = defaultdict(Fraction)
    for own, copies in left.items():
        hand = (seen, own)
        more = left - Counter([own]) if "?" in hand else Counter(["?"])
        for card, times in more.items():  # what a "?" turns into
            p = Fraction(copies, left.total()) * Fraction(times, more.total())
            found[Coyote.total([card if c == "?" else c for c in hand])] += p
    return found


def false_from() -> dict[Card, int]:
    """Return the lowest declaration that is surely false, by the card seen."""
    return {
        seen: max(t for t, p in totals(seen).items() if p) + 1 for seen in (3, "x2", "max0")
    }


def max_number() -> int:
    """Return the highest number on a card."""
    return max(card for card in Coyote.DECK if isinstance(card, int))


@cache
def more_by_raising() -> float:
    """Return by how much saying 1 is better than calling at once, if a -10 is seen.

    Two strategies that differ at one infoset only differ in value by what they do there, times
    the probability that the other player is dealt the -10.
    """
    game, label = Coyote(), "_ -10: 0"
    profile = cast(Strategy, solve(game, "cfr+", 1_000, progress=False).strategy)
    worth = {}
    for action in ("+1", "coyote"):
        row = {a: float(a == action) for a in profile[label]}
        worth[action] = expected_utility(game, profile.replace({label: row}))[0]
    cards = sum(Coyote.DECK.values())
    return float(worth["+1"] - worth["coyote"]) * cards


def at_once(most: int = -1) -> dict[str, float]:
    """Return how likely a total of at most -1 is beside a -10, and what both actions bring."""
    below = float(sum(p for total, p in totals(-10).items() if total <= most))
    call = 2 * below - 1
    return {"below 0": below, "call": call, "+1": call + more_by_raising()}


# ---- 12.3: the planted bug ------------------------------------------------------------------


def adding_up(kind: str = "right") -> AddUp:
    """Return a way to add up cards."""

    def add_up(cards: Sequence[Card], drawn: Card | None = None) -> int:
        shown = [drawn if card == "?" else card for card in cards]
        numbers = [card for card in shown if isinstance(card, int)]
        if kind == "black 0 as a number":
            numbers += [0] * shown.count("black0")
        times = 2 if "x2" in shown else 1
        highest = max(numbers, default=0)
        if kind == "never below 0":
            highest = max(highest, 0)
        total = sum(numbers) * (times if kind != "right" else 1)
        if "max0" in shown:
            total -= highest * (1 if kind in ("early", "right") else times)
        return total * (times if kind == "right" else 1)

    return add_up


@cache
def hands() -> dict[str, list[tuple[Any, Card | None, int]]]:
    """Return hands, what a "?" is replaced by, and their totals."""
    found: dict[str, list[tuple[Any, Card | None, int]]] = {}
    for n in (2, 3):
        plain = [hand for hand in combinations(Coyote.DECK, n) if "?" not in hand]
        found[f"{n} cards"] = [(hand, None, Coyote.total(hand)) for hand in plain]
    found["with a ?"] = [
        ((*hand, "?"), drawn, Coyote.total((*hand, drawn)))
        for hand in combinations([card for card in Coyote.DECK if card != "?"], 2)
        for drawn in Coyote.DECK
        if drawn not in (*hand, "?")
    ]
    return found


def wrong_hands(add_up: Any) -> dict[str, int]:
    """Return how many hands of each kind are added up wrongly."""
    require_function(add_up)
    return {
        kind: sum(as_number(add_up(list(hand), new)) != total for hand, new, total in rows)
        for kind, rows in hands().items()
    }


# ---- 12.4: two is special -------------------------------------------------------------------


def pays(own: str, other: str) -> int:
    """Return what rock, paper or scissors win."""
    return ((own, other) in BEATS) - ((other, own) in BEATS)


def against(rounds: Sequence[str], own: str) -> Fraction:
    """Return what a fixed choice earns on average against these."""
    return Fraction(sum(pays(own, other) for other in rounds), len(rounds))


def measured(how: str = "") -> dict[str, list[Fraction]]:
    """Return both players' regrets in what was played, and gains against the averages."""
    sides = tuple(zip(*ROUNDS, strict=True))
    best = [max(against(sides[1 - i], own) for own in "RPS") for i in (0, 1)]
    earned = [against(sides[1], own) for own in sides[0]]  # of all meetings, not of rounds
    apart = sum(earned, Fraction()) / len(earned)
    played = Fraction(sum(pays(*r) for r in ROUNDS), len(ROUNDS))
    regrets = [best[0] - played, best[1] + played]
    gains = [best[0] - apart, best[1] + apart]
    if how == "sums":
        regrets = [3 * r for r in regrets]
    if how == "best of each round":
        regrets = [Fraction(1) - played, Fraction(1) + played]
    return {"regrets": regrets, "gains": gains}


# ---- 12.5: any number -----------------------------------------------------------------------


@cache
def tiny(raises: int | None) -> float:
    """Return what the first player expects on a deck of 1, 2 and 3."""
    return solve_lp(Coyote(deck=Coyote.TINY, raises=raises)).value


EXERCISES = (
    Exercise(
        "12.1",
        "Surely false",
        "a dictionary with a number for 3, 'x2' and 'max0'",
        false_from,
        (
            Mistake(
                lambda: {card: least - 1 for card, least in false_from().items()},
                "These are the largest totals there can be, and each may be true.",
            ),
            Mistake(
                lambda: false_from() | {"x2": 1 + max_number()},
                "The ×2 doubles the total, and the total is your card.",
            ),
            Mistake(
                lambda: false_from() | {"max0": 1 + max_number()},
                "The max → 0 makes the highest number count 0. Here that is your own, the only "
                "one there is.",
            ),
        ),
        takeaway="What you see bounds what can be true; beside the max → 0 nothing is.",
        advice="The largest total there can be, plus 1. Which card of yours makes it?",
    ),
    Exercise(
        "12.2",
        "Why not call at once?",
        "a dictionary with the probability 'below 0', and what 'call' and '+1' are worth",
        at_once,
        (
            Mistake(
                lambda: at_once(most=0),
                "You counted a total of 0 as well. The last declaration, 0, would then not be "
                "more than the total, and the caller loses.",
            ),
            Mistake(
                lambda: {**at_once(), "call": at_once()["below 0"]},
                "That is how often you win. Who loses pays 1, which your other calls do.",
            ),
            Mistake(
                lambda: {**at_once(), "+1": more_by_raising()},
                "That is by how much saying 1 beats calling. Add what calling is worth.",
            ),
            Mistake(
                lambda: {**at_once(), "+1": at_once()["call"] + more_by_raising() / 36},
                "The two profiles differ only where the other player holds the −10. Divide by "
                "how likely that deal is.",
            ),
        ),
        tolerance=5e-3,
        points=2,
        takeaway="The other player does not see the −10, and goes on.",
        advice="`totals([-10])` has the first; the second follows from it. For the third, "
        "compare two profiles that differ in this one decision.",
    ),
    Exercise(
        "12.3",
        "The planted bug",
        "a function `add_up(cards, drawn)` that returns the total",
        adding_up,
        (
            Mistake(
                lambda: adding_up("early"),
                "All hands of two come out right; of three, a few do not.",
            ),
            Mistake(
                lambda: adding_up("never below 0"),
                "The order is right now. But the highest number may be negative, and counts 0 "
                "then as well.",
            ),
            Mistake(
                lambda: adding_up("black 0 as a number"),
                "The order is right now. But the black 0 is no number: beside it, the max → 0 "
                "still takes the highest of the others.",
            ),
        ),
        see=wrong_hands,
        points=3,
        takeaway="It takes three cards to see the order of two rules.",
        advice="Some hands are still added up wrongly.",
    ),
    Exercise(
        "12.4",
        "Two is special",
        "a dictionary with 'regrets' and 'gains', a pair of numbers each, player 0 first",
        measured,
        (
            Mistake(
                lambda: {key: measured()["gains"] for key in ("regrets", "gains")},
                "A regret is measured against what was earned in the rounds as they were "
                "played, a gain against what the averages earn when they meet.",
            ),
            Mistake(
                lambda: {key: measured()["regrets"] for key in ("regrets", "gains")},
                "The regrets are right. For the gains let the averages meet: then each choice "
                "of one player meets each of the other's.",
            ),
            Mistake(
                lambda: measured("sums"),
                "These regrets are sums; NashConv is made of means, as averages are played.",
            ),
            Mistake(
                lambda: measured("best of each round"),
                "You let the player choose anew in each round. Regret compares with *one* "
                "choice for all of them.",
            ),
        ),
        tolerance=1e-6,
        points=2,
        takeaway="One by one they differ; their sums are equal, whatever was played.",
        advice="The best fixed choice earns the same in both. What is subtracted differs.",
    ),
    Exercise(
        "12.5",
        "Open: any number",
        "a dictionary with the values for 'by one' and 'any number', and who 'gains' by the "
        "freedom, 'first' or 'second'",
        lambda: {"by one": tiny(1), "any number": tiny(None), "gains": "first"},
        (
            Mistake(
                lambda: {"by one": tiny(None), "any number": tiny(1), "gains": "second"},
                "You have the two games the wrong way round: `raises=None` is any number.",
            ),
            Mistake(
                lambda: {"by one": tiny(1), "any number": tiny(None), "gains": "second"},
                "The values are right. They are the first player's.",
            ),
        ),
        takeaway="On three cards. How it goes on larger decks, and on the real one, is open.",
        advice="`cfr.solve_lp(Coyote(deck=Coyote.TINY, raises=...))` has both.",
    ),
)
