"""Exercises for players of Koi-Koi: break-even points, a blocked match, a rule when to call."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

from cfrlib.exercises.grading import Exercise, Mistake, require_function

Rule = Callable[[int, int, bool, bool], object]

FEWEST = {1: 4, 2: 2, 3: 2, 4: 2, 5: 3, 6: 2}  # cards left from which a first call pays

# ---- break-even ------------------------------------------------------------------------------


def break_even(theirs: int = 2, double: int = 2) -> dict[str, float]:
    """Return the probabilities of one more point that make a call as good as stopping.

    Parameters
    ----------
    theirs : int
        Payment to the other player if they score one point first; 1 if the call would not
        double it.
    double : int
        Factor from seven points on.
    """
    stop = {"6": 6, "7": 7 * double}
    succeed = {"6": 7 * double, "7": 8 * double}
    return {p: (stop[p] + theirs) / (succeed[p] + theirs) for p in stop}


# ---- a blocked match -------------------------------------------------------------------------


def blocked(unseen: int = 22, good: int = 2, held: int = 5) -> dict[str, float]:
    """Return how likely the other holds one of the good cards, or holds or draws one."""
    return {
        "holds": 1 - comb(unseen - good, held) / comb(unseen, held),
        "holds or draws": 1 - comb(unseen - good, held + 1) / comb(unseen, held + 1),
    }


def draws(drawn: float) -> dict[str, float]:
    """Return the right probability of a hand, and another one with a draw."""
    return {"holds": blocked()["holds"], "holds or draws": drawn}


# ---- a rule ----------------------------------------------------------------------------------


def rule(points: int, left: int, mine: bool, theirs: bool) -> bool:
    """Return whether to call koi-koi by the page's rule of thumb."""
    if theirs or points >= 7:
        return False
    return mine or left >= FEWEST[points]


def answers(given: Any) -> list[bool]:
    """Return a rule's answers for all points, cards left and states of calls."""
    require_function(given)
    call: Rule = given
    return [
        bool(call(points, left, mine, theirs))
        for points in range(1, 12)
        for left in range(1, 8)
        for mine in (False, True)
        for theirs in (False, True)
    ]


def rule_with(change: str) -> Rule:
    """Return the rule with one of its parts left out."""

    def changed(points: int, left: int, mine: bool, theirs: bool) -> bool:
        if change == "theirs":
            theirs = False
        if change == "mine":
            mine = False
        if change == "seven" and points >= 7:
            return rule(6, left, mine, theirs)
        if change == "mine first" and mine:
            return True
        if change == "mine stops" and mine:
            return False
        if change == "late" and not mine:
            left -= 1
        if change == "eight" and points == 7:
            points = 6
        if (change, points) in (("one", 1), ("five", 5)):
            points = 2
        if change == "exchanged" and points in (1, 5):
            points = 6 - points
        found = rule(points, left, mine, theirs)
        return not found if change == "upside down" else found

    return changed


EXERCISES = (
    Exercise(
        "players.1",
        "Break even",
        "a dictionary with the probability for '6' and for '7' points",
        break_even,
        (
            Mistake(
                lambda: break_even(theirs=1),
                "Your call doubles what the other is paid.",
            ),
            Mistake(
                lambda: break_even(double=1),
                "From seven points on, points count double.",
            ),
            Mistake(
                lambda: break_even(theirs=0),
                "If it fails, you do not get nothing: you pay.",
            ),
            Mistake(
                lambda: break_even() | {"7": 1 / 2},
                "The first is right. With seven points you are paid double already, so one "
                "point more brings little.",
            ),
            Mistake(
                lambda: break_even() | {"7": 1 - break_even()["7"]},
                "That is how likely it may fail. The exercise asks how likely it must succeed.",
            ),
            Mistake(
                lambda: {"6": break_even()["7"], "7": break_even()["6"]},
                "You have 6 and 7 the wrong way round.",
            ),
            Mistake(
                lambda: break_even() | {"7": 1},
                "The first is right. With seven points a call still wins something, if it "
                "succeeds.",
            ),
            Mistake(
                lambda: {"6": (6 - 2) / (14 - 2), "7": (14 - 2) / (16 - 2)},
                "You have the sign of what you pay wrong: it is lost if the call fails.",
            ),
            Mistake(
                lambda: break_even(theirs=4),
                "You doubled what the other is paid twice. Your call doubles it once.",
            ),
        ),
        takeaway="The step from 6 to 7 doubles everything, and nothing doubles again after it.",
        advice="Set p times your gain, minus (1 − p) times your payment, equal to what you get "
        "by stopping.",
    ),
    Exercise(
        "players.2",
        "Who holds the Mum?",
        "a dictionary with the probabilities 'holds' and 'holds or draws'",
        blocked,
        (
            Mistake(
                lambda: {"holds": 5 * 2 / 22, "holds or draws": 6 * 2 / 22},
                "Hands with both cards are counted twice. Count the hands without either.",
            ),
            Mistake(
                lambda: {k: 1 - p for k, p in blocked().items()},
                "That is the probability of neither.",
            ),
            Mistake(
                lambda: blocked(good=1),
                "There are two such cards.",
            ),
            Mistake(
                lambda: draws(blocked()["holds"] + 2 / 22),
                "The first is right. Draws that come to a hand which has a Mum already are "
                "counted twice.",
            ),
            Mistake(
                lambda: draws(blocked()["holds"] + 2 / 17),
                "The first is right. Draws that come to a hand which has a Mum already are "
                "counted twice.",
            ),
            Mistake(
                lambda: draws(blocked()["holds"] + (1 - blocked()["holds"]) * 2 / 22),
                "The first is right. When they draw, five of the 22 cards are in their hand.",
            ),
            Mistake(
                lambda: dict(zip(blocked(), list(blocked().values())[::-1], strict=True)),
                "You have the two the wrong way round.",
            ),
            Mistake(
                lambda: {"holds": 1 - (20 / 22) ** 5, "holds or draws": 1 - (20 / 22) ** 6},
                "You put each card back before the next one. A hand takes its cards away.",
            ),
            Mistake(
                lambda: blocked(unseen=24),
                "The two Mums are among the 22 cards, not beside them.",
            ),
            Mistake(
                lambda: blocked(unseen=20),
                "There are 22 cards that you do not see, the two Mums included.",
            ),
            Mistake(
                lambda: blocked(good=3),
                "Two more Mums are hidden. The open one is not.",
            ),
            Mistake(
                lambda: blocked(held=6),
                "They hold five cards, and six after the draw. You counted one too many.",
            ),
            Mistake(
                lambda: draws(blocked(held=6)["holds or draws"]),
                "The first is right. They draw one card, not two.",
            ),
            Mistake(
                lambda: {
                    "holds": comb(20, 3) / comb(22, 5),
                    "holds or draws": comb(20, 4) / comb(22, 6),
                },
                "You counted the hands with *both* Mums. One is enough.",
            ),
        ),
        takeaway="In two of five deals, one of the two Mums is among five cards.",
        advice="Count the hands of five cards without either card, of all hands of five.",
    ),
    Exercise(
        "players.3",
        "Open: a better rule",
        "a function of points, cards left, whether you have called and whether the other has",
        lambda: rule,
        (
            Mistake(lambda: rule_with("theirs"), "After the other's call, the rule stops."),
            Mistake(lambda: rule_with("mine"), "You may have called already: see part 3."),
            Mistake(lambda: rule_with("seven"), "From seven points on, the rule stops."),
            Mistake(
                lambda: rule_with("late"),
                "Your limits are one card too high: with exactly that many cards left, a call "
                "already pays.",
            ),
            Mistake(
                lambda: rule_with("mine first"),
                "The cases have an order: the other's call, and seven points, come before your "
                "own call.",
            ),
            Mistake(
                lambda: rule_with("mine stops"),
                "If you have called before, the rule does not stop: see part 3.",
            ),
            Mistake(
                lambda: rule_with("one"),
                "With one point, a call takes more cards: see the rule.",
            ),
            Mistake(
                lambda: rule_with("five"),
                "With five points, a call takes more cards: see the rule.",
            ),
            Mistake(
                lambda: rule_with("exchanged"),
                "You have one point and five points the wrong way round.",
            ),
            Mistake(lambda: rule_with("eight"), "With seven points the rule stops already."),
            Mistake(lambda: rule_with("upside down"), "You return True where the rule stops."),
            Mistake(
                lambda: lambda *state: True, "You always call. The rule stops in some cases."
            ),
            Mistake(
                lambda: lambda *state: False, "You never call. The rule calls in some cases."
            ),
        ),
        see=answers,
        points=2,
        takeaway="This is the rule of the page. Beating it is the open part.",
        advice="Four cases, in the order of the rule: the first one that fits decides.",
    ),
)
