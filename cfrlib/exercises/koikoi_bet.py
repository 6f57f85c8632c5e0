"""Exercises on the notes' bet: the error of a training, a faster device, who is ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from cfrlib.exercises.grading import Exercise, Mistake, require_function

SCORES = (1.36, 1.52, 1.59)  # of three trainings, in points a round
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


def verdict(one: Sequence[float], other: Sequence[float], quantile: float | None = None) -> str:
    """Return "ahead", "behind" or "open" for one learner against another, by Welch's t test.

    Parameters
    ----------
    one, other : sequences of float
        The scores of their trainings; more is better.
    quantile : float, optional
        In place of the one of Student's t.
    """
    parts = [float(np.var(x, ddof=1)) / len(x) for x in (one, other)]
    error = sum(parts) ** 0.5
    freedom = sum(parts) ** 2 / sum(
        part**2 / (len(x) - 1) for part, x in zip(parts, (one, other), strict=True)
    )
    t = float(stats.t.ppf(0.975, freedom)) if quantile is None else quantile
    gap = float(np.mean(one) - np.mean(other))
    return "open" if abs(gap) <= t * error else "ahead" if gap > 0 else "behind"


def by_means(one: Sequence[float], other: Sequence[float]) -> str:
    """Return a verdict that ignores how much trainings differ."""
    return "ahead" if np.mean(one) > np.mean(other) else "behind"


def trials(seed: int = 0) -> list[tuple[list[float], list[float]]]:
    """Return pairs of learners, whose trainings scatter more or less."""
    rng = np.random.default_rng(seed)
    pairs = []
    for n, gap, spread in ((3, 0.1, 0.1), (3, 0.25, 0.1), (5, 0.2, 0.1), (5, -0.3, 0.1)) * 3:
        pairs.append(
            (
                [float(x) for x in gap + spread * rng.normal(size=n)],
                [float(x) for x in 0.3 * spread * rng.normal(size=n)],
            )
        )
    return pairs


def verdicts(given: Any) -> list[str]:
    """Return a function's verdicts on the trials."""
    require_function(given)
    judge: Verdict = given
    return [str(judge(one, other)) for one, other in trials()]


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
                lambda: {"20 times": 0.8 * 20, "at most": float("inf")},
                "Add times, not speeds: the other fifth takes as long as before.",
            ),
            Mistake(
                lambda: {"20 times": faster()["20 times"], "at most": 20.0},
                "Let the networks take no time at all: what is left?",
            ),
            Mistake(
                lambda: faster(share=0.2),
                "Networks take four fifths of the time, not one fifth.",
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
                lambda: lambda one, other: verdict(one, other, quantile=1.96),
                "With so few trainings 1.96 is too small; use Student's t.",
            ),
            Mistake(
                lambda: lambda one, other: verdict(other, one),
                "It is the first learner that is ahead or behind.",
            ),
        ),
        see=verdicts,
        points=2,
        takeaway="This is Welch's test, which lets the two learners scatter differently.",
        advice="Divide the gap of the means by √(s₁²/n₁ + s₂²/n₂); use Welch's formula for t.",
    ),
)
