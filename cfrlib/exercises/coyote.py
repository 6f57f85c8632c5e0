"""Exercises of chapter 12: totals, an early call, the order of rules, two-player games."""

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
Adder = Callable[..., Any]

BEATS = {("R", "S"), ("S", "P"), ("P", "R")}
ROUNDS = (("R", "P"), ("R", "S"), ("P", "P"))  # exercise 12.4


# ---- 12.1 and 12.2: totals ------------------------------------------------------------------


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


def lowest_false() -> dict[Card, int]:
    """Return the lowest declaration that is false for certain, for each visible card."""
    return {
        seen: max(t for t, p in totals(seen).items() if p) + 1 for seen in (3, "x2", "max0")
    }


def largest_number() -> int:
    """Return the largest number on a card."""
    return max(card for card in Coyote.DECK if isinstance(card, int))


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


# ---- 12.3: the planted bug ------------------------------------------------------------------


def adder(kind: str = "right") -> Adder:
    """Return a function that adds up cards, correct or with a bug."""

    def add_up(cards: Sequence[Card], drawn: Card | None = None) -> int:
        shown = [drawn if card == "?" else card for card in cards]
        numbers = [card for card in shown if isinstance(card, int)]
        if kind == "black 0 as a number":
            numbers += [0] * shown.count("black0")
        times = 2 if "x2" in shown else 1
        highest = max(numbers, default=0)
        if kind == "never below 0":
            highest = max(highest, 0)
        if kind == "lowest":
            highest = min(numbers, default=0)
        if kind == "largest size":
            highest = max(numbers, key=abs, default=0)
        if kind == "no ?" and "?" in cards:
            return add_up([card for card in cards if card != "?"])
        if kind == "all highest":
            highest *= numbers.count(highest)
        total = sum(numbers) * (times if kind in ("early", "twice") else 1)
        if "max0" in shown and kind != "no max0":
            total -= highest
        return total * (1 if kind in ("early", "no x2") else times)

    return add_up


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


# ---- 12.4: two is special -------------------------------------------------------------------


def payoff(own: str, other: str) -> int:
    """Return the payoff of rock, paper or scissors."""
    return ((own, other) in BEATS) - ((other, own) in BEATS)


def against(rounds: Sequence[str], own: str) -> Fraction:
    """Return the mean payoff of a fixed choice against these choices."""
    return Fraction(sum(payoff(own, other) for other in rounds), len(rounds))


def regrets_and_gains(how: str = "") -> dict[str, list[Fraction]]:
    """Return both players' average regrets, and their gains against the average strategies."""
    sides = tuple(zip(*ROUNDS, strict=True))
    best = [max(against(sides[1 - i], own) for own in "RPS") for i in (0, 1)]
    values = [against(sides[1], own) for own in sides[0]]
    independent = sum(values, Fraction()) / len(values)  # utility of the average strategies
    played = Fraction(sum(payoff(*r) for r in ROUNDS), len(ROUNDS))
    regrets = [best[0] - played, best[1] + played]
    gains = [best[0] - independent, best[1] + independent]
    if how in ("sums", "all sums"):
        regrets = [3 * r for r in regrets]
    if how == "all sums":
        gains = [3 * g for g in gains]
    if how == "zero":
        regrets, gains = [regrets[0], -regrets[0]], [gains[0], -gains[1]]
    if how == "players":
        gains = gains[::-1]
    if how == "equal gains":
        gains = [max(gains)] * 2
    if how == "NashConv":
        gains = [gains[0] + gains[1]] * 2
    if how == "wrong sign":
        regrets, gains = [-r for r in regrets], [-g for g in gains]
    if how == "best of each round":
        regrets = [Fraction(1) - played, Fraction(1) + played]
    return {"regrets": regrets, "gains": gains}


# ---- 12.5: any number -----------------------------------------------------------------------


@cache
def tiny_value(raises: int | None) -> float:
    """Return the value of the game with a deck of 1, 2 and 3."""
    return solve_lp(Coyote(deck=Coyote.TINY, raises=raises)).value


def both_values(**changes: object) -> dict[str, Any]:
    """Return the answer to exercise 12.5, optionally with changes."""
    right = {"by one": tiny_value(1), "any number": tiny_value(None), "gains": "first"}
    return right | {key.replace("_", " "): x for key, x in changes.items()}


EXERCISES = (
    Exercise(
        "12.1",
        "Surely false",
        "a dictionary with a number for 3, 'x2' and 'max0'",
        lowest_false,
        (
            Mistake(
                lambda: {card: least - 1 for card, least in lowest_false().items()},
                "These are the largest totals that are possible, so each declaration may be "
                "true.",
            ),
            Mistake(
                lambda: lowest_false() | {"x2": 1 + largest_number()},
                "The ×2 doubles the total, and the total is your card.",
            ),
            Mistake(
                lambda: lowest_false() | {"max0": 1 + largest_number()},
                "The max → 0 makes the highest number count 0. Here that is your own, the only "
                "one there is.",
            ),
            Mistake(
                lambda: lowest_false() | {3: lowest_false()[3] - 1},
                "With a 3 that total is possible, so the declaration may be true. Say one "
                "more.",
            ),
            Mistake(
                lambda: lowest_false() | {"x2": lowest_false()["x2"] - 1},
                "With the ×2 that total is possible, so the declaration may be true. Say one "
                "more.",
            ),
            Mistake(
                lambda: lowest_false() | {"max0": 0},
                "With the max → 0 that total is possible, so the declaration may be true. Say "
                "one more.",
            ),
            Mistake(
                lambda: lowest_false() | {"x2": 2 * (1 + largest_number())},
                "You added 1 before doubling. First the largest total, doubled; then one more.",
            ),
            Mistake(
                lambda: lowest_false() | {3: 1 + largest_number()},
                "Beside a 3, both cards count: yours and the one you see.",
            ),
            Mistake(
                lambda: lowest_false() | {"x2": 2 + 4 * largest_number()},
                "You doubled twice. The ×2 doubles the total once.",
            ),
            Mistake(
                lambda: dict.fromkeys(lowest_false(), 1 + largest_number()),
                "You left out what you see. The visible card changes the largest total there "
                "can be.",
            ),
            Mistake(
                lambda: {card: least + 1 for card, least in lowest_false().items()},
                "These are false as well, but not the lowest: say one less.",
            ),
            Mistake(
                lambda: lowest_false() | {"max0": 2},
                "That is false, but not the lowest: say one less.",
            ),
        ),
        takeaway="The card that you see bounds the total. Next to the max → 0, every "
        "declaration above 0 is false.",
        advice="The largest total there can be, plus 1. Which card of yours makes it?",
    ),
    Exercise(
        "12.2",
        "Why not call at once?",
        "a dictionary with the probability 'below 0', and what 'call' and '+1' are worth",
        values_of_calling,
        (
            Mistake(
                lambda: values_of_calling(most=0),
                "You counted a total of 0 as well. The last declaration, 0, would then not be "
                "more than the total, and the caller loses.",
            ),
            Mistake(
                lambda: {**values_of_calling(), "call": values_of_calling()["below 0"]},
                "That is the probability of winning. All your other calls lose, and each of "
                "them costs 1.",
            ),
            Mistake(
                lambda: {**values_of_calling(), "+1": advantage_of_raising()},
                "That is the advantage of saying 1 over calling. Add the value of calling.",
            ),
            Mistake(
                lambda: {
                    **values_of_calling(),
                    "+1": values_of_calling()["call"] + advantage_of_raising() / 36,
                },
                "The two profiles differ only where the other player holds the −10. Divide by "
                "the probability of that deal.",
            ),
            Mistake(
                lambda: {**values_of_calling(), "call": -values_of_calling()["call"]},
                "You called, and a call wins if the total is *below* the declaration.",
            ),
            Mistake(
                lambda: {
                    **values_of_calling(),
                    "call": values_of_calling()["+1"],
                    "+1": values_of_calling()["call"],
                },
                "You have the two actions the wrong way round.",
            ),
            Mistake(
                lambda: {**values_of_calling(), "below 0": 1 - values_of_calling()["below 0"]},
                "That is the probability that the total is 0 or more.",
            ),
            Mistake(
                lambda: {
                    **values_of_calling(),
                    "below 0": 1 - values_of_calling()["below 0"],
                    "call": -values_of_calling()["call"],
                },
                "That is the probability that the total is 0 or more, and a call that follows "
                "from it. How likely is a total *below* 0?",
            ),
            Mistake(
                lambda: {
                    **values_of_calling(),
                    "+1": values_of_calling()["call"] - advantage_of_raising(),
                },
                "You subtracted the wrong way round: what raising earns, minus what calling "
                "earns.",
            ),
            Mistake(
                lambda: {**values_of_calling(), "call": 1},
                "A call does not always win. Weight a win and a loss by their probabilities.",
            ),
        ),
        tolerance=5e-3,
        points=2,
        takeaway="The other player does not see the −10, and will often raise.",
        advice="`totals([-10])` has the first; the second follows from it. For the third, "
        "compare two profiles that differ in this one decision.",
    ),
    Exercise(
        "12.3",
        "The planted bug",
        "a function `add_up(cards, drawn)` that returns the total",
        adder,
        (
            Mistake(
                lambda: adder("early"),
                "All hands of two come out right; of three, a few do not.",
            ),
            Mistake(
                lambda: adder("never below 0"),
                "The order is right now. But the highest number may be negative, and counts 0 "
                "then as well.",
            ),
            Mistake(
                lambda: adder("black 0 as a number"),
                "The order is right now. But the black 0 is no number: beside it, the max → 0 "
                "still takes the highest of the others.",
            ),
            Mistake(
                lambda: adder("twice"),
                "You doubled twice: the total, and the sum before it.",
            ),
            Mistake(
                lambda: adder("no x2"),
                "Nothing is doubled any more. The ×2 comes last: it doubles what the other "
                "rules leave.",
            ),
            Mistake(
                lambda: adder("no max0"),
                "The max → 0 does nothing any more. It takes the highest number away, and then "
                "the ×2 doubles.",
            ),
            Mistake(
                lambda: adder("lowest"),
                "You struck the *lowest* number. The max → 0 takes the highest.",
            ),
            Mistake(
                lambda: adder("all highest"),
                "The max → 0 takes one number away. If two cards are the highest, the other "
                "still counts.",
            ),
            Mistake(
                lambda: adder("largest size"),
                "You struck the number that is farthest from 0. The max → 0 takes the highest, "
                "and −10 is not high.",
            ),
            Mistake(
                lambda: adder("no ?"),
                "The order is right now. But a ? is replaced by the card that is drawn for it; "
                "that line was right.",
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
        regrets_and_gains,
        (
            Mistake(
                lambda: {key: regrets_and_gains()["gains"] for key in ("regrets", "gains")},
                "A regret is measured against what was earned in the rounds as they were "
                "played, a gain against what the averages earn when they meet.",
            ),
            Mistake(
                lambda: {key: regrets_and_gains()["regrets"] for key in ("regrets", "gains")},
                "The regrets are right. For the gains let the averages meet: then each choice "
                "of one player meets each of the other's.",
            ),
            Mistake(
                lambda: regrets_and_gains("sums"),
                "These regrets are sums; NashConv is made of means, as averages are played.",
            ),
            Mistake(
                lambda: regrets_and_gains("best of each round"),
                "You let the player choose anew in each round. Regret compares with *one* "
                "choice for all of them.",
            ),
            Mistake(
                lambda: {
                    "regrets": regrets_and_gains()["gains"],
                    "gains": regrets_and_gains()["regrets"],
                },
                "You have regrets and gains the wrong way round. A regret is measured against "
                "the rounds as they were played.",
            ),
            Mistake(
                lambda: regrets_and_gains("players"),
                "The regrets are right. Your gains have the players the wrong way round.",
            ),
            Mistake(
                lambda: regrets_and_gains("all sums"),
                "These are sums over three rounds. Divide by three, as averages are played.",
            ),
            Mistake(
                lambda: regrets_and_gains("wrong sign"),
                "The signs are wrong: first the best fixed choice, then what is subtracted.",
            ),
            Mistake(
                lambda: regrets_and_gains("zero"),
                "You made each pair add up to 0. Payoffs do, but neither regrets nor gains: "
                "both players may wish that they had chosen otherwise.",
            ),
            Mistake(
                lambda: regrets_and_gains("equal gains"),
                "The regrets are right. The gains are not the same for both: what does player "
                "1's best fixed choice earn against player 0's average?",
            ),
            Mistake(
                lambda: regrets_and_gains("NashConv"),
                "The regrets are right. You gave NashConv twice. It is the sum of the two "
                "gains, and the exercise asks for each.",
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
        both_values,
        (
            Mistake(
                lambda: {
                    "by one": tiny_value(None),
                    "any number": tiny_value(1),
                    "gains": "second",
                },
                "You have the two games the wrong way round: `raises=None` is any number.",
            ),
            Mistake(
                lambda: both_values(gains="second"),
                "The values are right. They are the first player's.",
            ),
            Mistake(
                lambda: both_values(any_number=-tiny_value(None), gains="second"),
                "The value for any number has the wrong sign: it is the first player's.",
            ),
            Mistake(
                lambda: both_values(any_number=tiny_value(1)),
                "You gave the value by one twice. `raises=None` is any number.",
            ),
            Mistake(
                lambda: both_values(by_one=tiny_value(None)),
                "You gave the value for any number twice. `raises=1` is by one.",
            ),
            Mistake(
                lambda: both_values(any_number=tiny_value(1), by_one=tiny_value(None)),
                "You have the two games the wrong way round: `raises=None` is any number.",
            ),
            Mistake(
                lambda: both_values(any_number=2 * tiny_value(None)),
                "You counted what both players win and lose. The value is the first player's "
                "alone.",
            ),
            Mistake(
                lambda: both_values(any_number=tiny_value(None) / 2),
                "You divided the value by the two players. It is the first player's alone.",
            ),
            Mistake(
                lambda: both_values(any_number=1),
                "The first player does not always win. Solve the game with `raises=None`.",
            ),
        ),
        words={
            "first": ("first player", "the first player", "player 0", "0"),
            "second": ("second player", "the second player", "player 1", "1"),
        },
        takeaway="That holds for three cards. Larger decks, and the real one, are open.",
        advice="`cfr.solve_lp(Coyote(deck=Coyote.TINY, raises=...))` has both.",
    ),
)
