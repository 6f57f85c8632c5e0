"""Exercises of "Reading the papers": prefixes, two notations, the weight of a sampled end."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cfrbook.exercises.grading import as_number, entries, require_complete, require_function
from cfrbook.exercises.sheet import read

Histories = frozenset[tuple[str, ...]]

# sets of histories, closed under prefixes and not
TREES: dict[str, Histories] = {
    "a tree": frozenset({(), ("a",), ("b",), ("a", "c"), ("a", "d")}),
    "only the beginning": frozenset({()}),
    "nothing": frozenset(),
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


def open_if(checks: Callable[[Histories], bool], other: Any = None) -> Any:
    """Return a function that returns the ends of the sets that pass `checks`: a mistake."""
    return lambda H: ends_without_check(H) if checks(H) else other


def inner(H: Histories) -> Histories | None:
    """Return the histories that go on: a mistake."""
    return None if ends(H) is None else frozenset(h[:-1] for h in H if h)


# ---- two notations --------------------------------------------------------------------------


def schools(weighted: bool = True, deals: int = 2, **changes: float) -> dict[str, float]:
    """Return values and regret of "J check-bet" in both notations, at uniform play.

    Parameters
    ----------
    weighted : bool
        Whether the regret is weighted by the others' reach.
    deals : int
        Number of deals that are counted.
    **changes
        Values that replace computed ones.
    """
    others = deals * (1 / 6) * (1 / 2)
    u, call = (-1 - 2) / 2, -2.0
    return {
        "others": others,
        "u": u,
        "u call": call,
        "r": (call - u) * (others if weighted else 1),
    } | {key.replace("_", " "): x for key, x in changes.items()}


# ---- weights --------------------------------------------------------------------------------


def weights(answer: Any) -> list[float]:
    """Return the weights that a reader's function computes for `REACHES`."""
    require_function(answer)
    found = [answer(*numbers) for numbers in REACHES]
    require_complete(found)
    return [as_number(x) for x in found]


EXERCISES = read(__file__, globals())
