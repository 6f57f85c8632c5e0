"""Exercises of chapter 17: the error of a training, a faster device, who is ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from cfrbook.exercises.grading import require_function
from cfrbook.exercises.sheet import read

SCORES = (1.75, 1.58, 1.57)  # of deep Monte Carlo, three runs: points a round
Verdict = Callable[[Sequence[float], Sequence[float]], object]

# ---- three runs ------------------------------------------------------------------------------


def three_runs(quantile: float | None = None, ddof: int = 1) -> dict[str, float]:
    """Return the mean of the runs and half of its 95 % interval.

    Parameters
    ----------
    quantile : float, optional
        In place of the one of Student's t.
    ddof : int
        What is subtracted from the number of runs in the variance.
    """
    n = len(SCORES)
    error = float(np.std(SCORES, ddof=ddof)) / n**0.5
    t = float(stats.t.ppf(0.975, n - 1)) if quantile is None else quantile
    return {"mean": float(np.mean(SCORES)), "half": t * error}


def mean_and(half: float | None = None, mean: float | None = None) -> dict[str, float]:
    """Return the answer to exercise 17.1 with another number in it."""
    right = three_runs()
    return {
        "mean": right["mean"] if mean is None else mean,
        "half": right["half"] if half is None else half,
    }


# ---- a faster device -------------------------------------------------------------------------


def faster(share: float = 0.8, factor: float = 20.0) -> dict[str, float]:
    """Return how many times faster a run becomes if its networks do: Amdahl's law.

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
        The scores of their runs; more is better.
    level : float, optional
        Level of the quantile of Student's t; None takes 1.96 in place of a quantile.
    ddof : int
        What is subtracted from the number of runs in the variance.
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
    """Return a verdict that ignores how much runs differ."""
    return "ahead" if np.mean(one) > np.mean(other) else "behind"


def by_pooled_variance(one: Sequence[float], other: Sequence[float]) -> str:
    """Return a verdict by Student's t test: a mistake."""
    found = stats.ttest_ind(one, other, equal_var=True)
    return "open" if found.pvalue >= 0.05 else by_means(one, other)


def by_gap_alone(one: Sequence[float], other: Sequence[float]) -> str:
    """Return "ahead" for any gap that is large enough: a mistake."""
    return "open" if verdict(one, other) == "open" else "ahead"


def only_ahead(one: Sequence[float], other: Sequence[float]) -> str:
    """Return "open" where the first learner is behind: a mistake."""
    return "ahead" if verdict(one, other) == "ahead" else "open"


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
    runs each, 2.6 with five, and 3.4 with three against five.
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


EXERCISES = read(__file__, globals())
