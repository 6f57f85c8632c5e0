"""Operations on segments: arrays in which each decision has one row per action.

Segment d is the rows ``start[d]`` … ``start[d + 1] - 1``, so `start` has one entry more than
there are decisions.
"""

from __future__ import annotations

import numpy as np

from cfrlib.core.tree import Floats
from koikoi.simulator import Numbers


def segment_ids(start: Numbers) -> Numbers:
    """Return the decision of each row.

    Examples
    --------
    >>> segment_ids(np.array([0, 2, 5]))
    array([0, 0, 1, 1, 1])
    """
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def segment_places(counts: Numbers) -> Numbers:
    """Return the place of each row in its segment, given the numbers of rows.

    Examples
    --------
    >>> segment_places(np.array([2, 0, 3]))
    array([0, 1, 0, 1, 2])
    """
    end = np.cumsum(counts)
    places: Numbers = np.arange(counts.sum()) - np.repeat(end - counts, counts)
    return places


def segment_sum(x: Floats, start: Numbers) -> Floats:
    """Return the sum of each segment.

    Examples
    --------
    >>> segment_sum(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0, 2, 5]))
    array([ 3., 12.])
    """
    sums: Floats = np.add.reduceat(x, start[:-1])
    return sums


def uniform(start: Numbers) -> Floats:
    """Return the uniform strategy of each segment."""
    sigma: Floats = (1.0 / np.diff(start))[segment_ids(start)]
    return sigma


def mix_uniform(sigma: Floats, start: Numbers, explore: float) -> Floats:
    """Return (1 − ε) σ + ε · uniform, where ε is `explore`.

    Examples
    --------
    >>> mix_uniform(np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 2, 4]), 0.2)
    array([0.9, 0.1, 0.1, 0.9])
    """
    return (1.0 - explore) * sigma + explore * uniform(start)


def greedy(x: Floats, start: Numbers) -> Floats:
    """Return probability 1 for the largest entry of each segment, the first if several tie.

    Examples
    --------
    >>> greedy(np.array([1.0, 2.0, 3.0, 4.0, 4.0]), np.array([0, 2, 5]))
    array([0., 1., 0., 1., 0.])
    """
    order = np.lexsort((-x, segment_ids(start)))
    sigma = np.zeros(len(x))
    sigma[order[start[:-1]]] = 1.0
    return sigma


def match_segments(regret: Floats, start: Numbers) -> Floats:
    """Return σ ∝ max(regret, 0); `greedy` in segments without positive regret.

    Examples
    --------
    >>> match_segments(np.array([1.0, 3.0, -3.0, -1.0, -2.0]), np.array([0, 2, 5]))
    array([0.25, 0.75, 0.  , 1.  , 0.  ])
    """
    positive = np.maximum(regret, 0.0)
    total = segment_sum(positive, start)[segment_ids(start)]
    mixed = positive / np.where(total > 0, total, 1.0)
    return np.where(total > 0, mixed, greedy(regret, start))


def softmax(logit: Floats, start: Numbers) -> Floats:
    """Return σ ∝ exp(logit).

    Examples
    --------
    >>> softmax(np.log([1.0, 3.0, 2.0, 2.0, 4.0]), np.array([0, 2, 5]))
    array([0.25, 0.75, 0.25, 0.25, 0.5 ])
    """
    largest = np.maximum.reduceat(logit, start[:-1])
    e = np.exp(logit - largest[segment_ids(start)])
    sigma: Floats = e / segment_sum(e, start)[segment_ids(start)]
    return sigma


def sample_rows(sigma: Floats, start: Numbers, u: Floats) -> Numbers:
    """Sample a row of each segment by inverse transform; u is uniform in [0, 1).

    Examples
    --------
    >>> sigma, start = np.array([0.25, 0.75, 0.0, 1.0, 0.0]), np.array([0, 2, 5])
    >>> sample_rows(sigma, start, np.array([0.3, 0.9]))
    array([1, 3])
    """
    sums = np.cumsum(sigma)
    before = np.concatenate([[0.0], sums])[start[:-1]]
    row = np.searchsorted(sums, before + u * (sums[start[1:] - 1] - before), side="right")
    rows: Numbers = np.clip(row, start[:-1], start[1:] - 1)
    return rows
