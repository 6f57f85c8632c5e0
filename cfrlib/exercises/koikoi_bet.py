"""Exercises on the notes' bet: the error of a training run, a faster device, who is ahead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import stats

from cfrlib.exercises.grading import Exercise, Mistake, require_function

SCORES = (1.17, 1.14, 1.31)  # of deep discounted CFR, three runs: points a round
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
    """Return the answer to exercise bet.1 with another number in it."""
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


EXERCISES = (
    Exercise(
        "bet.1",
        "Three runs",
        "a dictionary with the 'mean' and the 'half' width of the interval",
        three_runs,
        (
            Mistake(
                lambda: three_runs(quantile=1.96),
                "1.96 is for many runs. Three need Student's t, two degrees of freedom.",
            ),
            Mistake(
                lambda: three_runs(ddof=0),
                "The variance of a sample divides by n − 1.",
            ),
            Mistake(
                lambda: three_runs(quantile=1.96, ddof=0),
                "NumPy's `std` divides by n by default, and 1.96 is for many runs.",
            ),
            Mistake(
                lambda: three_runs(quantile=float(stats.t.ppf(0.975, len(SCORES)))),
                "Three runs leave two degrees of freedom: the mean is estimated as well.",
            ),
            Mistake(
                lambda: three_runs(quantile=1),
                "That is one standard error, whose interval covers far less than 95 %.",
            ),
            Mistake(
                lambda: {
                    "mean": three_runs()["mean"],
                    "half": three_runs()["half"] * len(SCORES) ** 0.5,
                },
                "That is for one more run. The mean of three errs √3 times less.",
            ),
            Mistake(
                lambda: three_runs(quantile=float(stats.t.ppf(0.95, 2))),
                "The mean may be too high or too low, so each side gets 2.5 %.",
            ),
            Mistake(
                lambda: mean_and(2 * three_runs()["half"]),
                "That is the whole width of the interval. Half of it is asked for.",
            ),
            Mistake(
                lambda: mean_and(mean=float(np.median(SCORES))),
                "That is the median. The mean adds up all three and divides by three.",
            ),
            Mistake(
                lambda: mean_and(float(np.std(SCORES, ddof=1))),
                "That is the standard deviation of the three. Half of the interval is t times "
                "that of their *mean*.",
            ),
            Mistake(
                lambda: mean_and(three_runs()["half"] / len(SCORES) ** 0.5),
                "The error of a mean divides by √n, not by n.",
            ),
            Mistake(
                lambda: mean_and(float(np.ptp(SCORES)) / 2),
                "That is half of the range of the three. It says little about other runs.",
            ),
            Mistake(
                lambda: mean_and(mean=float(np.sum(SCORES))),
                "That is the sum. Divide by three.",
            ),
            Mistake(
                lambda: mean_and(three_runs()["half"] * float(np.std(SCORES, ddof=1) / 3**0.5)),
                "You took the variance for the standard deviation: its root is missing.",
            ),
            Mistake(
                lambda: mean_and(mean=(max(SCORES) + min(SCORES)) / 2),
                "That is the middle of the range. The mean adds up all three and divides by "
                "three.",
            ),
        ),
        takeaway="With three runs the quantile is 4.3; two more would make it 2.8.",
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
            Mistake(
                lambda: {"20 times": 20, "at most": 20},
                "Only the networks become 20 times as fast. Everything else takes as long as "
                "before.",
            ),
            Mistake(
                lambda: {"20 times": 0.8 * 20, "at most": 20},
                "Add times, not speeds: the other fifth takes as long as before.",
            ),
            Mistake(
                lambda: {"20 times": 0.8 * 20 + 0.2, "at most": 20},
                "This is a mean of speeds. Add times: how long does each part take now?",
            ),
            Mistake(
                lambda: {"20 times": 0.8 * 20, "at most": 0.8 * 20},
                "Add times, not speeds: the other fifth takes as long as before.",
            ),
            Mistake(
                lambda: faster() | {"at most": 1 / 0.8},
                "If networks take no time at all, the *other* fifth is left.",
            ),
            Mistake(
                lambda: faster() | {"at most": 4.0},
                "That is by how much the work shrinks, 0.8 over 0.2. How long is what is left, "
                "as a part of the old time?",
            ),
            Mistake(
                lambda: faster() | {"at most": 100.0},
                "Even a very fast device leaves the other fifth. Let the networks take no time "
                "at all.",
            ),
            Mistake(
                lambda: dict(zip(faster(), list(faster().values())[::-1], strict=True)),
                "You have the two the wrong way round.",
            ),
            Mistake(
                lambda: {key: x - 1 for key, x in faster().items()},
                "You subtracted 1. How many times as fast is the old time, divided by the new.",
            ),
            Mistake(
                lambda: faster() | {"at most": 1 - 0.8},
                "That is the time that is left, as a part of the old. The speed-up is its "
                "inverse.",
            ),
            Mistake(
                lambda: faster() | {"20 times": 4.0},
                "The second is right. With a device 20 times as fast, the networks still take "
                "some time, but not that much.",
            ),
        ),
        takeaway="The part that does not get faster sets the limit.",
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
                "With so few runs 1.96 is too small; use Student's t.",
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
                "The ranges ignore how many runs there are. Use all scores.",
            ),
            Mistake(
                lambda: lambda one, other: verdict(other, one),
                "You have the two learners the wrong way round: the verdict is about the "
                "first.",
            ),
            Mistake(
                lambda: by_pooled_variance,
                "You used Student's test, which takes both learners for equally spread. "
                "Welch's does not.",
            ),
            Mistake(
                lambda: lambda one, other: "open",
                "You leave everything open. A gap that is large enough decides.",
            ),
            Mistake(
                lambda: by_gap_alone,
                "You do not say who is ahead: if the gap is large enough, its sign decides.",
            ),
            Mistake(
                lambda: only_ahead,
                "The first learner may also be *behind*.",
            ),
        ),
        see=verdicts,
        points=2,
        words={"ahead": (), "behind": (), "open": ()},
        takeaway="This is Welch's test, which lets the two learners scatter differently.",
        advice="Divide the gap of the means by √(s₁²/n₁ + s₂²/n₂); use Welch's formula for t.",
    ),
)
