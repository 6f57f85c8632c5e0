"""Walks that fill the memories: what `batches` adds up is written down here, row by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cfrlib.batches import Known
from cfrlib.deep.memory import Memory, place
from cfrlib.explored import Records
from cfrlib.sampling import Scheme, State, begin, descend, enter, evaluate
from cfrlib.sequence import lean as kernel
from cfrlib.tree import Floats


class Desk(NamedTuple):
    """Where a walk is worked out.

    Attributes
    ----------
    walk : record array of ENTRY
    scratch : float array, shape (ROWS, most actions)
    state : uint64 array, shape (LINE,)
        Of the random numbers.
    told : float array, shape (sequences, 2), or (0, 2) without a baseline
        Estimates of the traverser's payoff after a sequence: their sum and number.
    """

    walk: Records
    scratch: Floats
    state: State
    told: Floats


@kernel
def collect(
    known: Known, table: Records, baseline: Floats, scheme: Scheme, key: np.uint64, desk: Desk,
    advantages: Memory, strategies: Memory, t: int, i: int, walks: int, scale: float,
) -> int:  # fmt: skip
    """Take the walks of player i in iteration t; return how many histories they visit."""
    nodes, utility, infosets, _ = known
    walk, scratch, state, told = desk
    visited = 0
    for number in range(walks):
        begin(state, key, t, i, number)
        enter(walk[0], 0, 1.0, 1.0, 1.0)
        _, n = descend(nodes, infosets, table, scheme, i, walk, scratch, state, 0, 1)
        for k in range(n - 1, -1, -1):
            e = walk[k]
            h = nodes[e.node]
            e.value = evaluate(nodes, utility, infosets, table, baseline, i, walk, k)
            if h.player >= 0:
                start = infosets[h.infoset].start
                if h.player == i:
                    remember_advantages(baseline, walk, advantages, t, i, k, h, start, scale)
                else:
                    remember_strategy(table, strategies, t, e, h, start)
                if len(told):
                    for m in range(e.first, e.first + e.tried):
                        q = start + (walk[m].node - h.first_child)
                        told[q, 0] += walk[m].value
                        told[q, 1] += 1.0
        visited += n
    return visited


@kernel
def remember_advantages(
    baseline: Floats, walk: Records, advantages: Memory, t: int, i: int, k: int, h: Records,
    start: int, scale: float,
) -> None:  # fmt: skip
    """Offer v̂(a) − û(h) for all actions at entry k, which is at history h."""
    infoset, weight, target, seen, state = advantages
    row, e = place(seen, len(infoset), state), walk[k]
    if row < len(infoset):
        infoset[row], weight[row] = h.infoset, t * e.weight
        for a in range(h.num_children):
            b = baseline[i, start + a] if baseline.shape[1] else 0.0
            target[row, a] = (b - e.value) * scale
        for m in range(e.first, e.first + e.tried):
            target[row, walk[m].node - h.first_child] += walk[m].excess * scale


@kernel
def remember_strategy(
    table: Records, strategies: Memory, t: int, e: Records, h: Records, start: int
) -> None:
    """Offer the strategy that is played at history h, where entry e is."""
    infoset, weight, target, seen, state = strategies
    row = place(seen, len(infoset), state)
    if row < len(infoset):
        infoset[row], weight[row] = h.infoset, t * e.weight
        for a in range(h.num_children):
            target[row, a] = table[start + a].sigma
