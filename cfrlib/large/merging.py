"""Lanes put together: at each infoset that a batch met, the lanes' sums are added up.

When a batch ends, new infosets are entered into the table of the run, lane after lane. Then, at
each infoset met, the sums of the lanes are added up in the same order as on a complete tree. So
the numbers do not depend on the threads and processes that sample.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cfrlib.core.jit import inner, routine
from cfrlib.core.rng import LINE
from cfrlib.core.tree import Ints
from cfrlib.large.rules import prefetch
from cfrlib.large.tables import (
    INFOSETS,
    SEQUENCES,
    Int64s,
    Known,
    clear_infosets,
    find,
    first_slot,
    known_of,
)
from cfrlib.montecarlo.tree_records import Records, TreeArrays
from cfrlib.montecarlo.updates import (
    LANES,
    Settings,
    Tables,
    add_regrets,
    add_strategy,
    update_baseline,
)

AHEAD = 16  # infosets for which memory is loaded in advance


class Merged(NamedTuple):
    """The infosets that a batch met, and where the lanes have their sums.

    Attributes
    ----------
    size : int array, shape (LINE,)
        The number of infosets met; the arrays are longer.
    infoset : int array, shape (infosets met,)
        Their numbers in the run, parents before children.
    places : int array, shape (infosets met, lanes)
        L · lanes + n if infoset L of lane n is this one, -1 if the lane did not meet it.
    row : int array, shape (infosets of the run,)
        An infoset's row in `places` plus 1, or 0.
    """

    size: Int64s
    infoset: Ints
    places: Ints
    row: Ints


def new_merged(lanes: int) -> Merged:
    """Return empty arrays."""
    none = np.zeros(0, np.int32)
    return Merged(np.zeros(LINE, np.int64), none, np.zeros((0, lanes), np.int32), none)


@routine
def number_keys(known: Known, lane: Known) -> None:
    """Give numbers to a lane's infosets that are new to a table, and enter their keys."""
    new, n = known.size[INFOSETS], lane.size[INFOSETS]
    for L in range(n):
        if n > L + AHEAD and lane.number[L + AHEAD] < 0:
            prefetch(known.slots, first_slot(known.slots, lane.keys[L + AHEAD]))
        if n > L + AHEAD // 2 and lane.number[L + AHEAD // 2] < 0:
            other = known.slots[first_slot(known.slots, lane.keys[L + AHEAD // 2])]
            prefetch(known.keys, other - 1 if other > 0 else 0)
        if lane.number[L] < 0:
            slot = find(known.keys, known.slots, lane.keys[L])
            if known.slots[slot] == 0:
                known.keys[new] = lane.keys[L]
                for c in range(known.states.shape[1]):
                    known.states[new, c] = lane.states[L, c]
                new += 1
                known.slots[slot] = new
            lane.number[L] = known.slots[slot] - 1


@routine
def enter_lane(known: Known, lane: Known, merged: Merged, n: int) -> int:
    """Write down where lane n has its sums, and enter its new infosets in a table.

    There must be room. Returns -1, or an infoset of the lane to which its player came by other
    actions than to the same infoset in the table.
    """
    wrong, size, lanes = -1, lane.size[INFOSETS], merged.places.shape[1]
    for L in range(size):
        if size > L + AHEAD and lane.number[L + AHEAD] >= 0:
            prefetch(merged.row, lane.number[L + AHEAD])
        I, own = lane.number[L], lane.infosets[L]
        parent = own.parent
        if lane.owner[parent] >= 0:  # otherwise it is an empty sequence
            before = lane.owner[parent]
            within = parent - lane.infosets[before].start
            parent = known.infosets[lane.number[before]].start + within
        if known.size[INFOSETS] == I:
            start = known.size[SEQUENCES]
            stop = start + own.stop - own.start
            to = known.infosets[I]
            to.player, to.start, to.stop, to.parent = own.player, start, stop, parent
            for q in range(start, stop):
                known.owner[q] = I
                known.table[q].sigma = 1.0 / (stop - start)
            known.size[INFOSETS], known.size[SEQUENCES] = I + 1, stop
        elif known.infosets[I].parent != parent:
            wrong = L
        row = merged.row[I] - 1
        if row < 0:
            row = merged.size[0]
            merged.size[0] = merged.row[I] = row + 1
            merged.infoset[row] = I
            for m in range(lanes):
                merged.places[row, m] = -1
        merged.places[row, n] = L * lanes + n
    return wrong


@routine
def enter_lanes(own: Known, known: Known, merged: Merged) -> int:
    """Enter all lanes; return the place of a wrong infoset, as in `Merged`, or -1."""
    wrong, table, lanes = -1, known_of(known, 0), len(own.size)
    for n in range(lanes):
        lane = known_of(own, n)
        number_keys(table, lane)
        L = enter_lane(table, lane, merged, n)
        if L >= 0:
            wrong = L * lanes + n
    return wrong


@inner
def add_place(own: Known, places: Ints, to: int, other: int) -> None:
    """Add the sums of one lane at an infoset to those of another."""
    lanes = len(own.size)
    if places[to] < 0:  # nothing to add to
        places[to] = places[other]
    elif places[other] >= 0:
        n, m, L, M = places[to] % lanes, places[other] % lanes, places[to], places[other]
        L, M = L // lanes, M // lanes
        own.sums[n, L].mass += own.sums[m, M].mass
        start, theirs = own.infosets[n, L].start, own.infosets[m, M].start
        for a in range(own.infosets[n, L].stop - start):
            own.sampled_regret[n, start + a] += own.sampled_regret[m, theirs + a]
            for i in range(own.estimates.shape[1] if own.estimates.shape[2] else 0):
                for c in range(2):
                    mine = own.estimates[n, i, start + a]
                    mine[c] += own.estimates[m, i, theirs + a, c]


@inner
def add_places(own: Known, places: Ints, lanes: int) -> None:
    """Add up the sums of all lanes at an infoset, in pairs, as `merge` does.

    If players' walks have lanes of their own, at most one player's have each kind of sum here.
    """
    for first in range(0, len(places), lanes):
        apart = LANES // 2
        while apart > 0:
            for n in range(first, first + min(apart, lanes - apart)):
                add_place(own, places, n, n + apart)
            apart //= 2
        if first > 0:
            add_place(own, places, 0, first)


@routine
def apply_strategy(
    own: Known,
    merged: Merged,
    tree: TreeArrays,
    tables: Tables,
    settings: Settings,
    i: int,
    first: int,
    step: int,
) -> None:
    """Add up the lanes, and update the strategy sum, at the infosets first, first + step, …."""
    count, lanes = len(own.size), min(settings.batch, LANES)
    for j in range(first, merged.size[0], step):
        places = merged.places[j]
        add_places(own, places, lanes)
        mass = own.sums[places[0] % count, places[0] // count].mass
        add_strategy(tree, tables, settings.rule, i, merged.infoset[j], mass)


@routine
def apply_regrets(
    own: Known,
    merged: Merged,
    tree: TreeArrays,
    tables: Tables,
    settings: Settings,
    i: int,
    first: int,
    step: int,
) -> None:
    """Update regrets, strategy and baseline there, after `apply_strategy` everywhere."""
    infosets, count = tree.infosets, len(own.size)
    for j in range(first, merged.size[0], step):
        I, n, L = merged.infoset[j], merged.places[j, 0] % count, merged.places[j, 0] // count
        start = own.infosets[n, L].start
        if i == -1 or i == infosets[I].player:
            add_regrets(infosets, tables, settings, own.sampled_regret[n], I, start)
        if own.estimates.shape[2]:
            update_baseline(
                infosets, tables.baseline, own.estimates[n], I, start, settings.decay
            )


@routine
def end_batch(own: Known, merged: Merged, progress: Records) -> None:
    """Forget the infosets that a batch met, and count the histories that it visited."""
    for j in range(merged.size[0]):
        merged.row[merged.infoset[j]] = 0
    merged.size[0] = 0
    for n in range(len(own.size)):
        progress[0].nodes += own.counts[n, 1]
        clear_infosets(known_of(own, n))
