"""Exercises of "Reading the papers": prefixes, two notations, the weight of a sampled end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    entries,
    require_complete,
    require_function,
)

Histories = frozenset[tuple[str, ...]]

# sets of histories, closed under prefixes and not
TREES: dict[str, Histories] = {
    "a tree": frozenset({(), ("a",), ("b",), ("a", "c"), ("a", "d")}),
    "only the beginning": frozenset({()}),
    "a gap": frozenset({(), ("a",), ("b", "c")}),
    "no beginning": frozenset({("a",), ("a", "c")}),
    "a chain": frozenset({(), ("a",), ("a", "b"), ("a", "b", "c")}),
}

# π_c(z), π_j(z) and the opponent's reach with the sampling policy
REACHES = ((1 / 6, 1 / 2, 1 / 3), (1 / 6, 0.1, 0.4), (1.0, 0.25, 0.5))


# ---- prefixes -------------------------------------------------------------------------------


def ends(H: Histories) -> Histories | None:
    """Return the terminal histories, or None if a prefix is missing."""
    if () not in H or any(h[:-1] not in H for h in H):
        return None
    return H - {h[:-1] for h in H if h}


def ends_without_check(H: Histories) -> Histories:
    """Return the histories that no other one continues."""
    return H - {h[:-1] for h in H if h}


def longest(H: Histories) -> Histories | None:
    """Return the longest histories, which are not all ends."""
    if () not in H or any(h[:-1] not in H for h in H):
        return None
    return frozenset(h for h in H if len(h) == max(map(len, H)))


def ends_found(answer: Any) -> dict[str, str]:
    """Return what a reader's function finds in each set of `TREES`, readable."""
    require_function(answer)
    found = {}
    for name, H in TREES.items():
        result = answer(set(H))
        require_complete(result)
        listed = ["None"] if result is None else ["-".join(h) or "∅" for h in entries(result)]
        found[name] = " and ".join(sorted(listed))
    return found


# ---- two notations --------------------------------------------------------------------------


def schools(weighted: bool = True, deals: int = 2) -> dict[str, float]:
    """Return values and regret of "J check-bet" in both notations, at uniform play.

    Parameters
    ----------
    weighted : bool
        Whether the regret is weighted by the others' reach.
    deals : int
        Number of deals that are counted.
    """
    others = deals * (1 / 6) * (1 / 2)
    u, call = (-1 - 2) / 2, -2.0
    return {
        "others": others,
        "u": u,
        "u call": call,
        "r": (call - u) * (others if weighted else 1),
    }


# ---- weights --------------------------------------------------------------------------------


def weights(answer: Any) -> list[float]:
    """Return the weights that a reader's function computes for `REACHES`."""
    require_function(answer)
    found = [answer(*numbers) for numbers in REACHES]
    require_complete(found)
    return [float(x) for x in found]


def weight(form: Callable[[float, float, float], float]) -> Callable[[], object]:
    """Return a function that returns a formula for the weight, as an answer."""
    return lambda: form


EXERCISES = (
    Exercise(
        "papers.1",
        "Closed under prefixes",
        "a function of a set of tuples that returns the set of ends, or None",
        lambda: ends,
        (
            Mistake(
                lambda: ends_without_check,
                "The ends of a tree are right. But you return ends for a set with a gap as "
                "well; look whether every beginning is there.",
            ),
            Mistake(
                lambda: longest,
                "You return the longest histories. A short history can be an end, too: nobody "
                "folds late only.",
            ),
        ),
        see=ends_found,
        takeaway="To look one action back is enough.",
        advice="Try a set with a history whose beginning is missing, and the set {∅}.",
    ),
    Exercise(
        "papers.2",
        "From school to school",
        "a dictionary with 'others', 'u', 'u call' and 'r'",
        schools,
        (
            Mistake(
                lambda: schools(weighted=False),
                "Your r is a difference of conditional expectations. The school of 2009 "
                "weights it by the others' reach.",
            ),
            Mistake(
                lambda: schools(deals=1),
                "The others' reach is half of what it should be. Is a deal missing, or did "
                "your own check come in?",
            ),
        ),
        takeaway="The same regret, with the weight outside or inside.",
        advice="The others are chance and the opponent who bets.",
    ),
    Exercise(
        "papers.3",
        "A scheme that nobody has shown you",
        "a function of π_c(z), π_j(z) and the opponent's reach with the sampling policy",
        weight(lambda chance, opponent, drawn: opponent / drawn),
        (
            Mistake(
                weight(lambda chance, opponent, drawn: 1.0),
                "That is external sampling, where the opponent draws as they play.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: opponent),
                "That is chance sampling, where the opponent tries everything.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: chance * opponent / drawn),
                "Chance was drawn in proportion, and you weight by it once more.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: drawn / opponent),
                "Upside down: what is drawn too often has to count less.",
            ),
        ),
        see=weights,
        tolerance=1e-6,
        takeaway="A scheme enters through its weight alone.",
        advice="The weight is the others' reach divided by the probability of being seen.",
    ),
)
