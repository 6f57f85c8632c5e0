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
        return rule(points, left, mine, theirs)

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
        ),
        takeaway="The step from 6 to 7 doubles everything, and nothing doubles again after it.",
        advice="Solve: p times what you win, minus 1 − p times what you pay, equals stopping.",
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
        ),
        takeaway="Five cards hold one of two good ones in two of five deals.",
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
        ),
        see=answers,
        points=2,
        takeaway="This is the rule of the page. Beating it is the open part.",
        advice="Four cases, in the order of the rule: the first one that fits decides.",
    ),
)
