"""Arrays in which every decision has a segment of rows, one for each of its actions.

Segment d is the rows ``start[d]`` … ``start[d + 1] - 1``, so `start` has one entry more than
there are decisions.
"""

from __future__ import annotations

import numpy as np

from cfrlib.core.tree import Floats
from cfrlib.koikoi.simulator import Numbers


def owners(start: Numbers) -> Numbers:
    """Return the decision of each row.

    Examples
    --------
    >>> owners(np.array([0, 2, 5]))
    array([0, 0, 1, 1, 1])
    """
    return np.repeat(np.arange(len(start) - 1), np.diff(start))


def totals(x: Floats, start: Numbers) -> Floats:
    """Return the sum of the rows of each decision.

    Examples
    --------
    >>> totals(np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([0, 2, 5]))
    array([ 3., 12.])
    """
    sums: Floats = np.add.reduceat(x, start[:-1])
    return sums


def even(start: Numbers) -> Floats:
    """Return the same probability for all actions of a decision."""
    chances: Floats = (1.0 / np.diff(start))[owners(start)]
    return chances


def exploring(sigma: Floats, start: Numbers, explore: float) -> Floats:
    """Return σ, but with probability `explore` any action.

    Examples
    --------
    >>> exploring(np.array([1.0, 0.0, 0.0, 1.0]), np.array([0, 2, 4]), 0.2)
    array([0.9, 0.1, 0.1, 0.9])
    """
    return (1.0 - explore) * sigma + explore * even(start)


def best(x: Floats, start: Numbers) -> Floats:
    """Return probability 1 for the action with the largest number, the first if they tie.

    Examples
    --------
    >>> best(np.array([1.0, 2.0, 3.0, 4.0, 4.0]), np.array([0, 2, 5]))
    array([0., 1., 0., 1., 0.])
    """
    order = np.lexsort((-x, owners(start)))
    sigma = np.zeros(len(x))
    sigma[order[start[:-1]]] = 1.0
    return sigma


def matched(regret: Floats, start: Numbers) -> Floats:
    """Return σ ∝ max(regret, 0); where none is above 0, the action with the largest.

    Examples
    --------
    >>> matched(np.array([1.0, 3.0, -3.0, -1.0, -2.0]), np.array([0, 2, 5]))
    array([0.25, 0.75, 0.  , 1.  , 0.  ])
    """
    positive = np.maximum(regret, 0.0)
    total = totals(positive, start)[owners(start)]
    return np.where(total > 0, positive / np.where(total > 0, total, 1.0), best(regret, start))


def softmax(logit: Floats, start: Numbers) -> Floats:
    """Return σ ∝ exp(logit).

    Examples
    --------
    >>> softmax(np.log([1.0, 3.0, 2.0, 2.0, 4.0]), np.array([0, 2, 5]))
    array([0.25, 0.75, 0.25, 0.25, 0.5 ])
    """
    largest = np.maximum.reduceat(logit, start[:-1])
    e = np.exp(logit - largest[owners(start)])
    chances: Floats = e / totals(e, start)[owners(start)]
    return chances


def drawn(sigma: Floats, start: Numbers, u: Floats) -> Numbers:
    """Return the row of the action of each decision that u, in [0, 1), draws.

    Examples
    --------
    >>> drawn(np.array([0.25, 0.75, 0.0, 1.0, 0.0]), np.array([0, 2, 5]), np.array([0.3, 0.9]))
    array([1, 3])
    """
    sums = np.cumsum(sigma)
    before = np.concatenate([[0.0], sums])[start[:-1]]
    row = np.searchsorted(sums, before + u * (sums[start[1:] - 1] - before), side="right")
    rows: Numbers = np.clip(row, start[:-1], start[1:] - 1)
    return rows
