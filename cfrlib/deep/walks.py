"""Walks that fill the memories: what `updates` adds up is written down here, row by row."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import State, begin
from cfrlib.core.tree import Floats
from cfrlib.deep.memory import Memory, place
from cfrlib.montecarlo.partial_tree import UNKNOWN, Records, TreeArrays
from cfrlib.montecarlo.schemes import Scheme
from cfrlib.montecarlo.traversal import descend, enter, evaluate

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


class Group(NamedTuple):
    """Walks that go on together, a row each.

    Attributes
    ----------
    walks : record array of ENTRY, shape (walks, entries)
    scratch : float array, shape (ROWS, most actions)
    states : uint64 array, shape (walks, LINE)
    told : float array, shape (sequences, 2), or (0, 2) without a baseline
        Of all walks together: see `Desk`.
    done, entered : int arrays, shape (walks,)
        A walk is over when as many entries are done as entered.
    """

    walks: Records
    scratch: Floats
    states: npt.NDArray[np.uint64]
    told: Floats
    done: Numbers
    entered: Numbers


class Round(NamedTuple):
    """The traversals of one player in one iteration.

    Attributes
    ----------
    scheme : Scheme
    key : int
        Of the random numbers.
    t, i : int
        The iteration and the traverser.
    scale : float
        What advantages are multiplied by.
    """

    scheme: Scheme
    key: np.uint64
    t: int
    i: int
    scale: float


class Rows(NamedTuple):
    """The memories that walks fill."""

    advantages: Memory
    strategies: Memory


@inlined
def collect(
    tree: TreeArrays,
    table: Records,
    baseline: Floats,
    turn: Round,
    desk: Desk,
    rows: Rows,
    first: int,
    stop: int,
) -> int:
    """Take walks first … stop - 1; return how many histories they visit."""
    visited = 0
    for number in range(first, stop):
        begin(desk.state, turn.key, turn.t, turn.i, number)
        enter(desk.walk[0], 0, 1.0, 1.0, 1.0)
        _, n = descend(tree, table, turn.scheme, turn.i, desk, 0, 1)
        look_back(tree, table, baseline, turn, desk, rows, n)
        visited += n
    return visited


@inner
def look_back(
    tree: TreeArrays,
    table: Records,
    baseline: Floats,
    turn: Round,
    desk: Desk,
    rows: Rows,
    n: int,
) -> None:
    """Go up a walk of n histories, and offer its estimates to the memories."""
    walk, told, i = desk.walk, desk.told, turn.i
    for k in range(n - 1, -1, -1):
        e = walk[k]
        h = tree.nodes[e.node]
        e.value = evaluate(tree, table, baseline, i, walk, k)
        if h.player >= 0:
            start = tree.infosets[h.infoset].start
            if h.player == i:
                remember_advantages(baseline, walk, rows.advantages, turn, k, h, start)
            else:
                remember_strategy(table, rows.strategies, turn.t, e, h, start)
            if len(told):
                for m in range(e.first, e.first + e.tried):
                    q = start + (walk[m].node - h.first_child)
                    told[q, 0] += walk[m].value
                    told[q, 1] += 1.0


@inlined
def set_out(group: Group, turn: Round, first: int) -> None:
    """Begin walks first, first + 1, …."""
    for w in range(len(group.walks)):
        begin(group.states[w], turn.key, turn.t, turn.i, first + w)
        enter(group.walks[w, 0], 0, 1.0, 1.0, 1.0)


@inner
def desk_of(group: Group, w: int) -> Desk:
    """Return where walk w is worked out."""
    return Desk(group.walks[w], group.scratch, group.states[w], group.told)


@inlined
def go_on(tree: TreeArrays, table: Records, turn: Round, group: Group, wanted: Numbers) -> int:
    """Take each walk as far as the tree is expanded; return how many histories are `wanted`.

    These are to be expanded next. Histories may be listed twice.
    """
    n = 0
    for w in range(len(group.walks)):
        desk, done, entered = desk_of(group, w), group.done, group.entered
        done[w], entered[w] = descend(
            tree, table, turn.scheme, turn.i, desk, done[w], entered[w]
        )
        for k in range(done[w], entered[w]):
            if tree.nodes[group.walks[w, k].node].player == UNKNOWN:
                wanted[n] = group.walks[w, k].node
                n += 1
    return n


@inlined
def come_back(
    tree: TreeArrays, table: Records, baseline: Floats, turn: Round, group: Group, rows: Rows
) -> None:
    """Look back on all walks, one after the other."""
    for w in range(len(group.walks)):
        look_back(tree, table, baseline, turn, desk_of(group, w), rows, group.entered[w])


@inner
def remember_advantages(
    baseline: Floats,
    walk: Records,
    advantages: Memory,
    turn: Round,
    k: int,
    h: Records,
    start: int,
) -> None:
    """Offer v̂(a) − û(h) for all actions at entry k, which is at history h."""
    infoset, weight, target, seen, state = advantages
    row, e, scale = place(seen, len(infoset), state), walk[k], turn.scale
    if row < len(infoset):
        infoset[row], weight[row] = h.infoset, turn.t * e.weight
        for a in range(h.num_children):
            b = baseline[turn.i, start + a] if baseline.shape[1] else 0.0
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
