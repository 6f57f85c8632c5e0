"""Exercises of chapter 12: an early call, the order of rules, two players and three."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any, cast

from cfrbook.exercises.grading import as_number, require_function
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib.evaluate import expected_utility
from cfrlib.games import Coyote
from cfrlib.solve import solve
from cfrlib.strategy import Strategy

Card = int | str

BEATS = {("R", "S"), ("S", "P"), ("P", "R")}
ROUNDS = (("R", "P"), ("R", "S"), ("P", "P"))  # exercise 12.3


# ---- 12.2: totals ----------------------------------------------------------------------------


def totals(seen: Card) -> dict[int, Fraction]:
    """Return the probability of each total of two cards, given one of them."""
    left = Counter(Coyote.DECK)
    left.subtract([seen])
    found: dict[int, Fraction] = defaultdict(Fraction)
    for own, copies in left.items():
        hand = (seen, own)
        more = left - Counter([own]) if "?" in hand else Counter(["?"])
        for card, times in more.items():  # the replacement of a "?"
            p = Fraction(copies, left.total()) * Fraction(times, more.total())
            found[Coyote.total([card if c == "?" else c for c in hand])] += p
    return found


@cache
def advantage_of_raising() -> float:
    """Return the advantage of declaring 1 over calling at once, given a visible -10.

    Two strategies that differ at only this infoset differ in value by this advantage times the
    probability that the other player is dealt the -10.
    """
    game, label = Coyote(), "_ -10: 0"
    profile = cast(Strategy, solve(game, "cfr+", 1_000, progress=False).strategy)
    worth = {}
    for action in ("+1", "coyote"):
        row = {a: float(a == action) for a in profile[label]}
        worth[action] = expected_utility(game, profile.replace({label: row}))[0]
    cards = sum(Coyote.DECK.values())
    return float(worth["+1"] - worth["coyote"]) * cards


def values_of_calling(most: int = -1) -> dict[str, float]:
    """Return the probability of a total up to `most` given a -10, and both action values."""
    below = float(sum(p for total, p in totals(-10).items() if total <= most))
    call = 2 * below - 1
    return {"below 0": below, "call": call, "+1": call + advantage_of_raising()}


# ---- 12.4: the planted bug ------------------------------------------------------------------


def add_up(cards: Sequence[Card], drawn: Card | None = None) -> int:
    """Return the total of the cards; `drawn` replaces a "?"."""
    shown = [drawn if card == "?" else card for card in cards]
    numbers = [card for card in shown if isinstance(card, int)]
    times = 2 if "x2" in shown else 1
    total = sum(numbers)
    if "max0" in shown:
        total -= max(numbers, default=0)
    return total * times


NUMBERS = "numbers = [card for card in shown if isinstance(card, int)]"  # lines of it
STRUCK = "total -= max(numbers, default=0)"


@cache
def hands() -> dict[str, list[tuple[Any, Card | None, int]]]:
    """Return hands, the replacement of a "?", and their totals."""
    found: dict[str, list[tuple[Any, Card | None, int]]] = {}
    for n in (2, 3):
        plain = [hand for hand in combinations(Coyote.DECK, n) if "?" not in hand]
        found[f"{n} cards"] = [(hand, None, Coyote.total(hand)) for hand in plain]
    twice = [card for card, n in Coyote.DECK.items() if n > 1]
    found["two alike"] = [
        ((card, card, "max0"), None, Coyote.total((card, card, "max0"))) for card in twice
    ]
    found["with a ?"] = [
        ((*hand, "?"), drawn, Coyote.total((*hand, drawn)))
        for hand in combinations([card for card in Coyote.DECK if card != "?"], 2)
        for drawn in Coyote.DECK
        if drawn not in (*hand, "?")
    ]
    return found


def wrong_hands(add_up: Any) -> dict[str, float]:
    """Return the number of wrong totals for each kind of hands, and how far they are off."""
    require_function(add_up)
    found, off = {}, 0.0
    for kind, rows in hands().items():
        errors = [abs(as_number(add_up(list(hand), new)) - total) for hand, new, total in rows]
        found[kind] = sum(error > 0 for error in errors)
        off += sum(errors)
    return found | {"points off": off}


# ---- 12.3: two is special -------------------------------------------------------------------


def payoff(own: str, other: str) -> int:
    """Return the payoff of rock, paper or scissors."""
    return ((own, other) in BEATS) - ((other, own) in BEATS)


def against(rounds: Sequence[str], own: str) -> Fraction:
    """Return the mean payoff of a fixed choice against these choices."""
    return Fraction(sum(payoff(own, other) for other in rounds), len(rounds))


def regrets_and_gains(
    regrets: Callable[..., Any] = list, gains: Callable[..., Any] = list
) -> dict[str, list[Fraction]]:
    """Return both players' average regrets, and their gains against the average strategies.

    The functions compute other pairs from the right ones.
    """
    sides = tuple(zip(*ROUNDS, strict=True))
    best = [max(against(sides[1 - i], own) for own in "RPS") for i in (0, 1)]
    values = [against(sides[1], own) for own in sides[0]]
    independent = sum(values, Fraction()) / len(values)  # utility of the average strategies
    played = Fraction(sum(payoff(*r) for r in ROUNDS), len(ROUNDS))
    return {
        "regrets": regrets([best[0] - played, best[1] + played]),
        "gains": gains([best[0] - independent, best[1] + independent]),
    }


# ---- 12.1: a third player --------------------------------------------------------------------

SAID, PAID = ((0, 0), (1, 1)), {"alike": 1, "different": 3}  # of exercise 12.1


def third_player(one: float | None = None, **changes: float) -> dict[str, float]:
    """Return the answer to exercise 12.1, optionally with changes."""
    alike = sum(a == b for a, b in SAID) / len(SAID)  # share of the rounds as they were played
    p, q = (sum(said) / len(SAID) for said in zip(*SAID, strict=True))
    apart = p * q + (1 - p) * (1 - q)  # of averages that meet independently

    def beyond(share: float) -> float:
        earned = PAID["alike"] * share
        return max(earned, PAID["different"] * (1 - share)) - earned

    right = {"regret": beyond(alike), "gain": beyond(apart), "one opponent": beyond(alike)}
    return right | changes | ({} if one is None else {"one opponent": one})


EXERCISES = read(__file__, globals())
