"""Exercises for players of Koi-Koi: break-even points, a blocked match, a rule when to call."""

from __future__ import annotations

from collections.abc import Callable
from math import comb
from typing import Any

from cfrbook.exercises.grading import require_function
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant

Rule = Callable[[int, int, bool], object]

FEWEST = {5: 4, 6: 2}  # cards left from which a call pays, by points

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


def rule(points: int, left: int, theirs: bool) -> bool:
    """Return whether to call koi-koi by the page's rule of thumb."""
    if theirs or points not in FEWEST:
        return False
    return left >= FEWEST[points]


STOP, CALL = "if theirs or points not in FEWEST:", "return left >= FEWEST[points]"  # its lines


def answers(given: Any) -> list[bool]:
    """Return a rule's answers for all points, cards left and calls of the other player."""
    require_function(given)
    call: Rule = given
    return [
        bool(call(points, left, theirs))
        for points in range(1, 12)
        for left in range(1, 8)
        for theirs in (False, True)
    ]


EXERCISES = read(__file__, globals())
