"""The tables of a game too large to compile: infosets by what a player knows.

Where the tree of a game does not fit into memory, tables are keyed by what a player knows: the
key of an infoset in `cfrlib.Rules`, or a hash of its label. So memory grows with the infosets
met, not with the histories visited.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.files import Array, Saved
from cfrlib.core.jit import inlined, inner, routine
from cfrlib.core.rng import LINE, mix
from cfrlib.core.tree import Floats, Ints
from cfrlib.game import Action, Game
from cfrlib.large.partial_tree import Snapshot, enlarged
from cfrlib.montecarlo.traversal import SEQUENCE
from cfrlib.montecarlo.tree_records import INFOSET, NODE, Records, TreeArrays, records
from cfrlib.montecarlo.updates import LAST_UPDATE, SUMS, Counts, Tables, make_uniform

Int64s = npt.NDArray[np.int64]
INFOSETS, SEQUENCES = 0, 1  # elements of `size`


class Known(NamedTuple):
    """The infosets met, by the run or by a lane; those of all lanes have one axis more.

    Attributes
    ----------
    size : int array, shape (LINE,)
        Numbers of infosets and sequences; the arrays may be longer.
    keys : int array, shape (infosets,)
        Keys of `Rules`. This array and the next two are empty if infosets have labels.
    slots : int array, shape (a power of two,)
        A hash table: the number of an infoset plus 1, or 0 where there is none. At least half
        of them are empty.
    number : int array, shape (infosets,)
        A lane's infosets in the table of the run; -1 or another number where they are new.
    states : int array, shape (infosets, integers of a state)
        A state of each infoset.
    infosets, owner
        As in :class:`TreeArrays`.
    table : record array of SEQUENCE, shape (sequences,)
        A lane's has the current strategy only.
    baseline : float array, shape (players, sequences), or (players, 0)
    sampled_regret, sums, estimates, counts
        Those of one lane, as in `Lanes`. These and `number` are empty in the table of a run.
    """

    size: Int64s
    keys: Int64s
    slots: Ints
    number: Ints
    states: Int64s
    infosets: Records
    owner: Ints
    table: Records
    baseline: Floats
    sampled_regret: Floats
    sums: Records
    estimates: Floats
    counts: Counts


class Extent(NamedTuple):
    """What the shapes of all arrays depend on.

    Attributes
    ----------
    players : int
    learners : int
        The number of players with a baseline, or 0.
    integers : int
        Integers of a state of `Rules`; 0 if infosets have labels.
    of_lanes : bool
        Whether there are sums over a batch.
    """

    players: int
    learners: int
    integers: int
    kept: int
    of_lanes: bool


def new_known(extent: Extent, lanes: int) -> Known:
    """Return empty tables, for some lanes."""
    players, learners, _, kept, of_lanes = extent
    learned = learners > 0 and of_lanes
    known = Known(
        size=np.zeros((lanes, LINE), np.int64),
        keys=np.zeros((lanes, 0), np.int64),
        slots=np.zeros((lanes, 1), np.int32),
        number=np.zeros((lanes, 0), np.int32),
        states=np.zeros((lanes, 0, kept), np.int64),
        infosets=records((lanes, 0), INFOSET),
        owner=np.full((lanes, players), -1, np.int32),
        table=records((lanes, players), SEQUENCE),
        baseline=np.zeros((lanes, players, players if learners else 0)),
        sampled_regret=np.zeros((lanes, players if of_lanes else 0)),
        sums=records((lanes, 0), SUMS),
        estimates=np.zeros((lanes, learners or 1, players if learned else 0, 2)),
        counts=np.zeros((lanes, LINE), np.int64),
    )
    known.size[:, SEQUENCES] = players
    return known


def with_room(known: Known, extent: Extent, infosets: int, sequences: int) -> Known:
    """Return tables of all lanes with room for some numbers of infosets and sequences."""
    learned = sequences if extent.learners else 0
    mine, summed = (infosets, sequences) if extent.of_lanes else (0, 0)
    known = known._replace(
        keys=enlarged(known.keys, infosets, axis=1),
        number=enlarged(known.number, mine, axis=1),
        states=enlarged(known.states, infosets, axis=1),
        infosets=enlarged(known.infosets, infosets, axis=1),
        owner=enlarged(known.owner, sequences, axis=1),
        table=enlarged(known.table, sequences, axis=1),
        baseline=enlarged(known.baseline, learned, axis=2),
        sampled_regret=enlarged(known.sampled_regret, summed, axis=1),
        sums=enlarged(known.sums, mine, axis=1),
        estimates=enlarged(known.estimates, min(learned, summed), axis=2),
    )
    if known.slots.shape[1] < 2 * infosets:
        slots = np.zeros((len(known.size), 1 << (2 * infosets).bit_length()), np.int32)
        known = known._replace(slots=slots)
        for n in range(len(known.size)):
            fill_slots(known.keys[n], known.slots[n], int(known.size[n, INFOSETS]))
    return known


@inlined
def has_room(known: Known, infosets: int, sequences: int) -> bool:
    """Return whether the tables have room for some numbers of infosets and sequences."""
    return bool(
        infosets <= known.infosets.shape[1]
        and sequences <= known.owner.shape[1]
        and 2 * infosets <= known.slots.shape[1]
    )


@inner
def known_of(known: Known, n: int) -> Known:
    """Return the tables of lane n."""
    return Known(
        known.size[n],
        known.keys[n],
        known.slots[n],
        known.number[n],
        known.states[n],
        known.infosets[n],
        known.owner[n],
        known.table[n],
        known.baseline[n],
        known.sampled_regret[n],
        known.sums[n],
        known.estimates[n],
        known.counts[n],
    )


# ---- the hash table --------------------------------------------------------------------------


@inlined
def first_slot(slots: Ints, key: int) -> Any:
    """Return the slot where the search for a key begins."""
    return np.int64(mix(np.uint64(key)) & np.uint64(len(slots) - 1))


@inlined
def find(keys: Int64s, slots: Ints, key: int) -> int:
    """Return the slot of a key: that of its infoset, or an empty one."""
    mask, slot = len(slots) - 1, first_slot(slots, key)
    while slots[slot] != 0 and keys[slots[slot] - 1] != key:
        slot = (slot + 1) & mask
    return int(slot)


@inlined
def fill_slots(keys: Int64s, slots: Ints, n: int, first: int = 0) -> None:
    """Enter the keys first … n - 1 into empty slots."""
    for I in range(first, n):
        slots[find(keys, slots, keys[I])] = I + 1


@routine
def clear_infosets(lane: Known) -> None:
    """Remove all infosets of a lane, and their sums."""
    n, players = lane.size[INFOSETS], len(lane.baseline)
    if 8 * n > len(lane.slots):
        for slot in range(len(lane.slots)):
            lane.slots[slot] = 0
    else:
        for I in range(n - 1, -1, -1):  # in the opposite order: no probing is cut short
            lane.slots[find(lane.keys, lane.slots, lane.keys[I])] = 0
    lane.counts[0] = lane.counts[1] = 0
    lane.size[INFOSETS], lane.size[SEQUENCES] = 0, players


class Infosets:
    """The infosets that a run has met, in the order in which they were entered.

    Attributes
    ----------
    game : Game
    rules : Rules or PythonRules
    known : Known
        With one axis more, of length 1.
    infosets, owner, baseline, table
        Parts of `known`.
    arrays : TreeArrays
        What kernels read of a tree; there are no histories.
    """

    infosets: Records
    owner: Ints
    baseline: Floats
    table: Records
    arrays: TreeArrays

    def __init__(self, game: Game, rules: Any, baseline: bool):
        self.game, self.rules = game, rules
        players, integers = game.num_players, len(rules.root)
        kept = 0 if rules.in_python else integers
        self.extent = Extent(players, players if baseline else 0, integers, kept, False)
        self.known = new_known(self.extent, 1)
        self.last_update: Records = records(0, LAST_UPDATE)
        self.find_arrays()

    @property
    def num_infosets(self) -> int:
        """Number of infosets so far."""
        return int(self.known.size[0, INFOSETS])

    @property
    def num_sequences(self) -> int:
        """Number of sequences so far, with the empty ones."""
        return int(self.known.size[0, SEQUENCES])

    def tables(self, progress: Records) -> Tables:
        """Return the tables of a run, in the form that kernels update."""
        return Tables(self.table, self.last_update, progress, self.baseline)

    def make_room(self, infosets: int, sequences: int) -> None:
        """Make room for further infosets and sequences."""
        known = self.known
        infosets, sequences = self.num_infosets + infosets, self.num_sequences + sequences
        if not has_room(known, infosets, sequences):
            self.known = with_room(known, self.extent, infosets, sequences)
            self.last_update = enlarged(self.last_update, infosets)
            self.find_arrays()

    def find_arrays(self) -> None:
        """Set the attributes that are parts of `known`."""
        own = known_of(self.known, 0)
        self.infosets, self.owner, self.baseline, self.table = (
            own.infosets,
            own.owner,
            own.baseline,
            own.table,
        )
        plain = self.infosets.view(np.ndarray)
        self.player_of, self.start_of = plain["player"], plain["start"]
        self.sigma = self.table.view(np.ndarray)["sigma"]
        utility = np.zeros((0, self.extent.players))
        self.arrays = TreeArrays(records(0, NODE), utility, self.infosets, self.owner)

    def names(self, first: int, stop: int) -> tuple[list[str], list[tuple[Action, ...]]]:
        """Return labels and actions of some infosets."""
        names: tuple[list[str], list[tuple[Action, ...]]]
        names = self.rules.names(
            self.known.keys[0, first:stop], self.known.states[0, first:stop]
        )
        return names

    def snapshot(self) -> Snapshot:
        """Return the infosets met so far."""
        return Snapshot(self)

    def state(self) -> dict[str, Array]:
        """Return what a file holds besides the tables, labels and actions."""
        n = self.num_infosets
        arrays = {"parents": self.infosets.parent[:n].copy()}
        if not self.rules.in_python:
            arrays |= {"keys": self.known.keys[0, :n], "states": self.known.states[0, :n]}
        return arrays

    def restore(self, file: Saved) -> None:
        """Enter the infosets of a file.

        Raises
        ------
        ValueError
            If a label or a key occurs twice, or a parent is not a sequence of its player.
        """
        rows = file.header["infosets"]
        n, count = len(rows), [len(actions) for _, _, actions in rows]
        self.make_room(n, sum(count))
        known, players = known_of(self.known, 0), self.extent.players
        stop = players + np.cumsum(count, dtype=np.int64)
        infosets, player = self.infosets[:n], np.array([row[0] for row in rows], np.int32)
        infosets.player, infosets.stop = player, stop
        infosets.start = stop - count
        infosets.parent = parent = file.array("parents", (n,), np.int32)
        known.owner[players : players + sum(count)] = np.repeat(np.arange(n), count)
        inside = (parent >= 0) & (parent < infosets.start) | (parent < players) & (parent >= 0)
        above = known.owner[np.where(inside, parent, 0)]
        theirs = np.where(above >= 0, player[above] if n else above, parent)
        if not inside.all() or (theirs != player).any():
            wrong = int(np.argmin(inside & (theirs == player)))
            raise ValueError(f"invalid parent sequence of infoset {rows[wrong][1][:80]!r}")
        known.size[INFOSETS], known.size[SEQUENCES] = n, players + sum(count)
        if self.rules.in_python:
            known.keys[:n] = self.rules.restore(rows)
        else:
            file.fill(keys=known.keys[:n], states=known.states[:n])
        fill_slots(known.keys, known.slots, n)
        distinct = len(np.unique(known.keys[:n]))
        if distinct < n:
            raise ValueError("an infoset occurs twice")
        make_uniform(self.infosets, known.table, 0, n)

    def copy(self) -> Infosets:
        """Return an independent copy."""
        other = copy.copy(self)
        other.known = Known._make(array.copy() for array in self.known)
        other.last_update = self.last_update.copy()
        other.find_arrays()
        return other

    def __repr__(self) -> str:
        return f"{self.game!r}, {self.num_infosets:,} infosets met so far"
