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
                "You return the longest histories. A short history can be an end as well: some "
                "players fold early.",
            ),
            Mistake(
                lambda: lambda H: {h for h in H if len(h) == max(map(len, H))},
                "You return the longest histories, and check nothing. A short history may be "
                "an end as well; and every beginning has to be in the set.",
            ),
            Mistake(
                lambda: inner,
                "You return the histories that go on. The ends are the others.",
            ),
            Mistake(
                lambda: open_if(lambda H: () in H),
                "You look whether ∅ is in the set, and not whether all other beginnings are.",
            ),
            Mistake(
                lambda: open_if(lambda H: all(h[:-1] in H for h in H if len(h) > 1)),
                "Every history begins with ∅, so ∅ has to be in the set as well.",
            ),
            Mistake(
                lambda: open_if(lambda H: ends(H) is not None, set()),
                "For a set that is not closed the exercise asks for `None`, and you return an "
                "empty set.",
            ),
            Mistake(
                lambda: lambda H: None if ends(H) is None else H,
                "You return the whole set. Which of its histories does no other one continue?",
            ),
            Mistake(
                lambda: lambda H: None,
                "You return `None` for every set. Some of them are closed under prefixes.",
            ),
            Mistake(
                lambda: lambda H: None if ends(H) is None else ends_without_check(H) - {()},
                "The set {∅} has an end: its only history.",
            ),
        ),
        see=ends_found,
        takeaway="It is enough to look one action back.",
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
            Mistake(
                lambda: schools(r=1 / 12),
                "The regret has the wrong sign: what the call is worth, minus what the "
                "strategy is worth.",
            ),
            Mistake(
                lambda: schools(r=-1 / 3),
                "That is the value of the call, weighted. Subtract that of the strategy.",
            ),
            Mistake(
                lambda: schools(r=-1 / 6),
                "You compared the call with the fold. A regret compares it with the strategy, "
                "which mixes both.",
            ),
            Mistake(
                lambda: schools(r=schools()["r"] / 2),
                "The rest is right. You multiplied the regret by the probability of the call.",
            ),
            Mistake(
                lambda: schools(others=2 * schools()["others"], r=2 * schools()["r"]),
                "The others are chance *and* the opponent, who bets half of the time.",
            ),
            Mistake(
                lambda: schools(others=3 * schools()["others"], r=3 * schools()["r"]),
                "The others are the opponent *and* chance: how likely is the jack dealt to "
                "you?",
            ),
            Mistake(
                lambda: schools(u=1.5, u_call=2, r=1 / 12),
                "These are the opponent's values. Player 0 decides here.",
            ),
            Mistake(
                lambda: schools(u=-1 / 4, u_call=-1 / 3),
                "In the school of 2007 u is an expectation *given* that the infoset is "
                "reached. You weighted it.",
            ),
            Mistake(
                lambda: schools(u=-1, r=-1 / 6),
                "That is the value of a fold. The strategy also calls half of the time.",
            ),
            Mistake(
                lambda: schools(u_call=-1, r=1 / 12),
                "A call loses two chips, the ante and the bet.",
            ),
            Mistake(
                lambda: schools(u_call=2, r=7 / 12),
                "With the jack a call never wins: the other card is higher.",
            ),
            Mistake(
                lambda: schools(u=-3, r=1 / 6),
                "You added up the values of both actions. Weight each by its probability.",
            ),
        ),
        takeaway="Both schools give the same regret; one has the weight outside, the other "
        "inside.",
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
                "That is external sampling, where the opponent's action is sampled from their "
                "strategy.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: opponent),
                "That is chance sampling, where all of the opponent's actions are tried.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: chance * opponent / drawn),
                "Chance was sampled by its own probabilities, and you weight by them once "
                "more.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: drawn / opponent),
                "Upside down: what is sampled too often has to count less.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: 1 / drawn),
                "You divided by the sampling policy, and left out how likely the opponent "
                "plays this.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: opponent / (chance * drawn)),
                "Chance is in the weight's numerator as well as in its denominator: it "
                "cancels.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: chance * opponent),
                "That is the others' reach. Divide it by the probability that the walk samples "
                "z.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: 1 / (chance * drawn)),
                "That is one over the probability that the walk samples z. Multiply it by the "
                "others' reach.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: opponent - drawn),
                "A weight is a quotient of probabilities, not a difference.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: opponent * drawn),
                "What is sampled more often has to count less: divide by the sampling "
                "probability.",
            ),
            Mistake(
                weight(lambda chance, opponent, drawn: chance / drawn),
                "Chance cancels, and the opponent's own probability does not: you kept the "
                "wrong one.",
            ),
        ),
        see=weights,
        tolerance=1e-6,
        takeaway="The weight is all that changes from scheme to scheme.",
        advice="The weight is the others' reach divided by the probability of being seen.",
    ),
)
