"""Walks that fill the memories: what `batches` adds up is written down here, row by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import State, begin
from cfrlib.core.tree import Floats
from cfrlib.deep.memory import Memory, place
from cfrlib.montecarlo.partial_tree import UNKNOWN, Records
from cfrlib.montecarlo.schemes import Scheme
from cfrlib.montecarlo.traversal import descend, enter, evaluate
from cfrlib.montecarlo.updates import Known

Numbers = npt.NDArray[np.int64]


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


@inlined
def collect(
    known: Known, table: Records, baseline: Floats, scheme: Scheme, key: np.uint64, desk: Desk,
    advantages: Memory, strategies: Memory, t: int, i: int, first: int, stop: int, scale: float,
) -> int:  # fmt: skip
    """Take walks first … stop - 1 of player i in iteration t; return what they visit."""
    nodes, _, infosets, _ = known
    walk, scratch, state, told = desk
    visited = 0
    for number in range(first, stop):
        begin(state, key, t, i, number)
        enter(walk[0], 0, 1.0, 1.0, 1.0)
        _, n = descend(nodes, infosets, table, scheme, i, walk, scratch, state, 0, 1)
        look_back(known, table, baseline, walk, told, advantages, strategies, t, i, n, scale)
        visited += n
    return visited


@inner
def look_back(
    known: Known, table: Records, baseline: Floats, walk: Records, told: Floats,
    advantages: Memory, strategies: Memory, t: int, i: int, n: int, scale: float,
) -> None:  # fmt: skip
    """Go up a walk of n histories, and offer to the memories what it says."""
    nodes, utility, infosets, _ = known
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


@inlined
def set_out(walks: Records, states: State, key: np.uint64, t: int, i: int, first: int) -> None:
    """Begin walks first, first + 1, … of player i, a row of `walks` each."""
    for w in range(len(walks)):
        begin(states[w], key, t, i, first + w)
        enter(walks[w, 0], 0, 1.0, 1.0, 1.0)


@inlined
def go_on(
    nodes: Records, infosets: Records, table: Records, scheme: Scheme, i: int, walks: Records,
    scratch: Floats, states: State, done: Numbers, entered: Numbers, wanted: Numbers,
) -> int:  # fmt: skip
    """Take each walk as far as is known; return how many histories to ask about are `wanted`.

    A walk is over when as many entries are done as entered. Histories may be listed twice.
    """
    n = 0
    for w in range(len(walks)):
        done[w], entered[w] = descend(
            nodes, infosets, table, scheme, i, walks[w], scratch, states[w], done[w], entered[w]
        )
        for k in range(done[w], entered[w]):
            if nodes[walks[w, k].node].player == UNKNOWN:
                wanted[n] = walks[w, k].node
                n += 1
    return n


@inlined
def come_back(
    known: Known, table: Records, baseline: Floats, walks: Records, told: Floats,
    advantages: Memory, strategies: Memory, t: int, i: int, entered: Numbers, scale: float,
) -> None:  # fmt: skip
    """Look back on all walks, one after the other."""
    for w in range(len(walks)):
        look_back(
            known, table, baseline, walks[w], told, advantages, strategies, t, i, entered[w],
            scale,
        )  # fmt: skip


@inner
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
        for a in range(h.num_children, target.shape[1]):  # what the row held before
            target[row, a] = 0.0
        for m in range(e.first, e.first + e.tried):
            target[row, walk[m].node - h.first_child] += walk[m].excess * scale


@inner
def remember_strategy(
    table: Records, strategies: Memory, t: int, e: Records, h: Records, start: int
) -> None:
    """Offer the strategy that is played at history h, where entry e is."""
    infoset, weight, target, seen, state = strategies
    row = place(seen, len(infoset), state)
    if row < len(infoset):
        infoset[row], weight[row] = h.infoset, t * e.weight
        for a in range(target.shape[1]):
            target[row, a] = table[start + a].sigma if a < h.num_children else 0.0
