"""Exercises on the notes' bet: the error of a training, a faster device, who is ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from cfrlib.exercises.grading import Exercise, Mistake, require_function

SCORES = (1.17, 1.14, 1.31)  # of deep discounted CFR, three trainings: points a round
Verdict = Callable[[Sequence[float], Sequence[float]], object]

# ---- three trainings -------------------------------------------------------------------------


def three_trainings(quantile: float | None = None, ddof: int = 1) -> dict[str, float]:
    """Return the mean of the trainings and half of its 95 % interval.

    Parameters
    ----------
    quantile : float, optional
        In place of the one of Student's t.
    ddof : int
        What is subtracted from the number of trainings in the variance.
    """
    n = len(SCORES)
    error = float(np.std(SCORES, ddof=ddof)) / n**0.5
    t = float(stats.t.ppf(0.975, n - 1)) if quantile is None else quantile
    return {"mean": float(np.mean(SCORES)), "half": t * error}


# ---- a faster device -------------------------------------------------------------------------


def faster(share: float = 0.8, factor: float = 20.0) -> dict[str, float]:
    """Return how many times faster a training becomes if its networks do: Amdahl's law.

    Parameters
    ----------
    share : float
        Share of the time that networks take today.
    factor : float
        How many times faster they become.
    """
    return {
        "20 times": 1 / (1 - share + share / factor),
        "at most": 1 / (1 - share),
    }


# ---- who is ahead ----------------------------------------------------------------------------


def verdict(
    one: Sequence[float], other: Sequence[float], level: float | None = 0.975, ddof: int = 1
) -> str:
    """Return "ahead", "behind" or "open" for one learner against another, by Welch's t test.

    Parameters
    ----------
    one, other : sequences of float
        The scores of their trainings; more is better.
    level : float, optional
        Level of the quantile of Student's t; None takes 1.96 in place of a quantile.
    ddof : int
        What is subtracted from the number of trainings in the variance.
    """
    parts = [float(np.var(x, ddof=ddof)) / len(x) for x in (one, other)]
    error = sum(parts) ** 0.5
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(x) - 1) for part, x in zip(parts, (one, other), strict=True)
    )
    t = 1.96 if level is None else float(stats.t.ppf(level, freedom))
    gap = float(np.mean(one) - np.mean(other))
    return "open" if abs(gap) <= t * error else "ahead" if gap > 0 else "behind"


def by_means(one: Sequence[float], other: Sequence[float]) -> str:
    """Return a verdict that ignores how much trainings differ."""
    return "ahead" if np.mean(one) > np.mean(other) else "behind"


def by_intervals(one: Sequence[float], other: Sequence[float]) -> str:
    """Return a verdict by whether the two learners' intervals overlap."""
    halves = [
        float(stats.t.ppf(0.975, len(x) - 1) * np.std(x, ddof=1)) / len(x) ** 0.5
        for x in (one, other)
    ]
    gap = float(np.mean(one) - np.mean(other))
    return "open" if abs(gap) <= sum(halves) else "ahead" if gap > 0 else "behind"


def by_ranges(one: Sequence[float], other: Sequence[float]) -> str:
    """Return a verdict by whether the two learners' scores overlap."""
    if min(one) > max(other):
        return "ahead"
    return "behind" if max(one) < min(other) else "open"


def trials() -> list[tuple[Sequence[float], Sequence[float]]]:
    """Return pairs of learners whose means differ by a given number of standard errors.

    The gaps lie on both sides of what Welch's test requires: 3.8 standard errors with three
    trainings each, 2.6 with five, and 3.4 with three against five.
    """
    pairs: list[tuple[Sequence[float], Sequence[float]]] = []
    for sizes, gaps in (
        ((3, 3), (0.5, 2.3, -3.3, 5.5, -7.0)),
        ((5, 5), (-0.5, 2.2, -3.2, 4.0)),
        ((3, 5), (2.5, -6.0)),
    ):
        one, other = (
            s * np.linspace(-1, 1, n) for s, n in zip((0.1, 0.03), sizes, strict=True)
        )
        error = (np.var(one, ddof=1) / len(one) + np.var(other, ddof=1) / len(other)) ** 0.5
        pairs += [((1.5 + gap * error + one).tolist(), (1.5 + other).tolist()) for gap in gaps]
    return pairs


def verdicts(given: Any) -> list[object]:
    """Return a function's verdicts on the trials."""
    require_function(given)
    judge: Verdict = given
    return [judge(one, other) for one, other in trials()]


EXERCISES = (
    Exercise(
        "bet.1",
        "Three trainings",
        "a dictionary with the 'mean' and the 'half' width of the interval",
        three_trainings,
        (
            Mistake(
                lambda: three_trainings(quantile=1.96),
                "1.96 is for many trainings. Three need Student's t, two degrees of freedom.",
            ),
            Mistake(
                lambda: three_trainings(ddof=0),
                "The variance of a sample divides by n − 1.",
            ),
            Mistake(
                lambda: three_trainings(quantile=1.96, ddof=0),
                "NumPy's `std` divides by n by default, and 1.96 is for many trainings.",
            ),
            Mistake(
                lambda: three_trainings(quantile=float(stats.t.ppf(0.975, len(SCORES)))),
                "Three trainings leave two degrees of freedom: the mean is estimated as well.",
            ),
            Mistake(
                lambda: three_trainings(quantile=1),
                "That is one standard error, whose interval covers far less than 95 %.",
            ),
            Mistake(
                lambda: {
                    "mean": three_trainings()["mean"],
                    "half": three_trainings()["half"] * len(SCORES) ** 0.5,
                },
                "That is for one more training. The mean of three errs √3 times less.",
            ),
        ),
        takeaway="With three trainings the quantile is 4.3; two more would make it 2.8.",
        advice="mean ± t · s / √n; s divides by n − 1, and t has n − 1 degrees of freedom.",
    ),
    Exercise(
        "bet.2",
        "A device that computes networks in no time",
        "a dictionary with the speed-ups '20 times' and 'at most'",
        faster,
        (
            Mistake(
                lambda: {"20 times": 0.8 * 20, "at most": np.inf},
                "Add times, not speeds: the other fifth takes as long as before.",
            ),
            Mistake(
                lambda: {"20 times": 0.8 * 20 + 0.2, "at most": np.inf},
                "This is a mean of speeds. Add times: how long does each part take now?",
            ),
            Mistake(
                lambda: {"20 times": faster()["20 times"], "at most": np.inf},
                "Let the networks take no time at all. A fifth of the work is left.",
            ),
            Mistake(
                lambda: {"20 times": faster()["20 times"], "at most": 20.0},
                "Twenty is the speed-up of the networks. Let them take no time at all.",
            ),
            Mistake(
                lambda: faster(share=0.2),
                "Networks take four fifths of the time, not one fifth.",
            ),
            Mistake(
                lambda: {name: 1 / speedup for name, speedup in faster().items()},
                "That is the new time, as a share of the old. The speed-up is its inverse.",
            ),
        ),
        takeaway="What is not sped up sets the limit.",
        advice="The new time is 0.2 + 0.8 / 20 of the old one.",
    ),
    Exercise(
        "bet.3",
        "Open: a ninth learner",
        "a function of two lists of scores that returns 'ahead', 'behind' or 'open'",
        lambda: verdict,
        (
            Mistake(
                lambda: by_means, "Two means always differ. Compare the gap with its error."
            ),
            Mistake(
                lambda: lambda one, other: verdict(one, other, level=None),
                "With so few trainings 1.96 is too small; use Student's t.",
            ),
            Mistake(
                lambda: lambda one, other: verdict(one, other, level=0.95),
                "The gap may have either sign, so each tail gets 2.5 %.",
            ),
            Mistake(
                lambda: lambda one, other: verdict(one, other, ddof=0),
                "The variance of a sample divides by n − 1.",
            ),
            Mistake(
                lambda: by_intervals,
                "Intervals that overlap prove nothing: errors add in squares, not in lengths.",
            ),
            Mistake(
                lambda: by_ranges,
                "The ranges ignore how many trainings there are. Use all scores.",
            ),
            Mistake(
                lambda: lambda one, other: verdict(other, one),
                "It is the first learner that is ahead or behind.",
            ),
        ),
        see=verdicts,
        points=2,
        words={"ahead": (), "behind": (), "open": ()},
        takeaway="This is Welch's test, which lets the two learners scatter differently.",
        advice="Divide the gap of the means by √(s₁²/n₁ + s₂²/n₂); use Welch's formula for t.",
    ),
)
