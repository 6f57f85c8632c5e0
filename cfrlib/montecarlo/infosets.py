"""Infosets as walks meet them: the tables of a game too large to compile.

Where the tree of a game does not fit into memory, tables are keyed by what a player knows: by
the label of an infoset, or by its key in `cfrlib.Rules`. So memory grows with the infosets met,
not with the histories visited.

A walk writes the histories it visits into a small tree of its own. Each lane has a small table
of the infosets that its walks of one batch met, with the current strategy there. When the batch
ends, the lanes are added up in the same order as on a complete tree, and entered into the table
of the run. So the numbers do not depend on the threads and processes that sample.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.files import Array, Saved
from cfrlib.core.jit import inlined, inner, routine
from cfrlib.core.rng import LINE, State, mix
from cfrlib.core.rules import Rules
from cfrlib.core.tree import Floats, Ints
from cfrlib.game import Action, Game
from cfrlib.montecarlo import updates
from cfrlib.montecarlo.partial_tree import (
    INFOSET,
    NODE,
    Records,
    Snapshot,
    TreeArrays,
    grown,
    records,
)
from cfrlib.montecarlo.schemes import ROWS
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE
from cfrlib.montecarlo.updates import (
    LANES,
    LAST_UPDATE,
    SUMS,
    Counts,
    Lane,
    Lanes,
    Tables,
    make_uniform,
    touch,
)

Int64s = npt.NDArray[np.int64]
INFOSETS, SEQUENCES = 0, 1  # elements of `size`
NO_STATE = np.zeros((1, LINE), np.uint64)


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
    states : int array, shape (infosets, integers of a state)
        A state of each infoset.
    infosets, owner
        As in :class:`TreeArrays`.
    table : record array of SEQUENCE, shape (sequences,)
        A lane's has the current strategy only.
    baseline : float array, shape (players, sequences), or (players, 0)
    sampled_regret, sums, estimates, counts
        Those of one lane, as in `Lanes`.
    """

    size: Int64s
    keys: Int64s
    slots: Ints
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
    hashed : bool
        Whether infosets are found by keys: those of `Rules`, or in a lane their numbers.
    """

    players: int
    learners: int
    integers: int
    hashed: bool


def new_known(extent: Extent, lanes: int) -> Known:
    """Return empty tables, for some lanes."""
    players, learners, integers, _ = extent
    known = Known(
        size=np.zeros((lanes, LINE), np.int64),
        keys=np.zeros((lanes, 0), np.int64),
        slots=np.zeros((lanes, 1), np.int32),
        states=np.zeros((lanes, 0, integers), np.int64),
        infosets=records((lanes, 0), INFOSET),
        owner=np.full((lanes, players), -1, np.int32),
        table=records((lanes, players), SEQUENCE),
        baseline=np.zeros((lanes, players, players if learners else 0)),
        sampled_regret=np.zeros((lanes, players)),
        sums=records((lanes, 0), SUMS),
        estimates=np.zeros((lanes, learners or 1, players if learners else 0, 2)),
        counts=np.zeros((lanes, LINE), np.int64),
    )
    known.size[:, SEQUENCES] = players
    return known


def with_room(known: Known, extent: Extent, infosets: int, sequences: int) -> Known:
    """Return tables of all lanes with room for some numbers of infosets and sequences."""
    learned = sequences if extent.learners else 0
    hashed = infosets if extent.hashed else 0
    known = known._replace(
        keys=grown(known.keys, hashed, axis=1),
        states=grown(known.states, hashed, axis=1),
        infosets=grown(known.infosets, infosets, axis=1),
        owner=grown(known.owner, sequences, axis=1),
        table=grown(known.table, sequences, axis=1),
        baseline=grown(known.baseline, learned, axis=2),
        sampled_regret=grown(known.sampled_regret, sequences, axis=1),
        sums=grown(known.sums, infosets, axis=1),
        estimates=grown(known.estimates, learned, axis=2),
    )
    if known.slots.shape[1] < 2 * hashed:
        slots = np.zeros((len(known.size), 1 << (2 * hashed).bit_length()), np.int32)
        known = known._replace(slots=slots)
        for n in range(len(known.size)):
            fill_slots(known.keys[n], known.slots[n], int(known.size[n, INFOSETS]))
    return known


@inlined
def has_room(known: Known, infosets: int, sequences: int) -> bool:
    """Return whether the tables have room for some numbers of infosets and sequences."""
    slots = 2 * infosets if known.keys.shape[1] else 1
    return bool(
        infosets <= known.infosets.shape[1]
        and sequences <= known.owner.shape[1]
        and slots <= known.slots.shape[1]
    )


@inner
def known_of(known: Known, n: int) -> Known:
    """Return the tables of lane n."""
    return Known(
        known.size[n],
        known.keys[n],
        known.slots[n],
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


class Walkspace(NamedTuple):
    """The arrays that walks write to; those of all lanes have one axis more.

    Attributes
    ----------
    walk : record array of ENTRY, shape (entries,)
    nodes : record array of NODE, shape (histories,)
        The histories of a walk. Siblings are numbered, but only those visited are filled in.
    utility : float array, shape (histories, players)
        The traverser's payoff where a game is over.
    came : int array, shape (entries, players)
        Each player's last sequence, for `Rules`.
    states : int array, shape (entries, integers of a state)
    keys : int array, shape (entries,)
        At decisions. This and the one before are for `Rules`.
    numbers, probabilities : arrays, shape (most actions,)
        For `Rules`.
    scratch, state
        As in `Lanes`.
    reached : int array, shape (LINE,)
        The next walk of the batch; and why the last one stopped.
    """

    walk: Records
    nodes: Records
    utility: Floats
    came: Ints
    states: Int64s
    keys: Int64s
    numbers: Int64s
    probabilities: Floats
    scratch: Floats
    state: State
    reached: Int64s


def new_walkspace(extent: Extent, lanes: int, width: int, most_actions: int) -> Walkspace:
    """Return empty workspaces of some lanes."""
    return Walkspace(
        walk=records((lanes, 64), ENTRY),
        nodes=records((lanes, 64), NODE),
        utility=np.zeros((lanes, 64, extent.players)),
        came=np.zeros((lanes, 64 if extent.integers else 0, extent.players), np.int32),
        states=np.zeros((lanes, 64 if extent.integers else 0, extent.integers), np.int64),
        keys=np.zeros((lanes, 64 if extent.integers else 0), np.int64),
        numbers=np.zeros((lanes, most_actions), np.int64),
        probabilities=np.zeros((lanes, most_actions)),
        scratch=np.zeros((lanes, ROWS, width)),
        state=np.zeros((lanes, LINE), np.uint64),
        reached=np.zeros((lanes, LINE), np.int64),
    )


def with_entries(space: Walkspace, entries: int, nodes: int) -> Walkspace:
    """Return workspaces with room for longer walks."""
    hashed = entries if space.states.shape[2] else 0
    return space._replace(
        walk=grown(space.walk, entries, axis=1),
        nodes=grown(space.nodes, nodes, axis=1),
        utility=grown(space.utility, nodes, axis=1),
        came=grown(space.came, hashed, axis=1),
        states=grown(space.states, hashed, axis=1),
        keys=grown(space.keys, hashed, axis=1),
    )


@inner
def space_of(space: Walkspace, n: int) -> Walkspace:
    """Return the workspace of lane n."""
    return Walkspace(
        space.walk[n],
        space.nodes[n],
        space.utility[n],
        space.came[n],
        space.states[n],
        space.keys[n],
        space.numbers[n],
        space.probabilities[n],
        space.scratch[n],
        space.state[n],
        space.reached[n],
    )


@inner
def lane_in(known: Known, space: Walkspace) -> Lane:
    """Return a lane in the form that `ascend` writes to."""
    return Lane(
        space.walk,
        space.scratch,
        space.state,
        known.sampled_regret,
        known.sums,
        known.estimates,
        known.counts,
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


# ---- batches ---------------------------------------------------------------------------------


@routine
def forget(known: Known) -> None:
    """Remove all infosets of a lane, and their sums."""
    n, players = known.size[INFOSETS], len(known.baseline)
    for I in range(n - 1, -1, -1):  # in the opposite order, so that no probing is cut short
        if len(known.keys) > 0:
            known.slots[find(known.keys, known.slots, known.keys[I])] = 0
        known.sums[I].is_touched, known.sums[I].mass = False, 0.0
    for q in range(known.size[SEQUENCES]):
        known.sampled_regret[q] = 0.0
        for i in range(known.estimates.shape[0] if known.estimates.shape[1] else 0):
            known.estimates[i, q, 0] = known.estimates[i, q, 1] = 0.0
    known.counts[0] = known.counts[1] = 0
    known.size[INFOSETS], known.size[SEQUENCES] = 0, players


@routine
def number_keys(known: Known, lane: Known, numbers: Ints) -> None:
    """Write the numbers of a lane's infosets in a table; new ones follow the last one there."""
    new = known.size[INFOSETS]
    for L in range(lane.size[INFOSETS]):
        numbers[L] = -1
        if lane.sums[L].is_touched:  # otherwise of a walk that began again with more room
            slot = find(known.keys, known.slots, lane.keys[L])
            if known.slots[slot] == 0:
                known.keys[new] = lane.keys[L]
                for c in range(known.states.shape[1]):
                    known.states[new, c] = lane.states[L, c]
                new += 1
                known.slots[slot] = new
            numbers[L] = known.slots[slot] - 1


@routine
def enter_lane(known: Known, lane: Known, numbers: Ints) -> int:
    """Add a lane's sums to those of a table, and enter its new infosets.

    There must be room. Returns -1, or an infoset of the lane to which its player came by other
    actions than to the same infoset in the table.
    """
    wrong = -1
    for L in range(lane.size[INFOSETS]):
        I = numbers[L]
        if I >= 0:
            own = lane.infosets[L]
            parent = own.parent
            if lane.owner[parent] >= 0:  # otherwise it is an empty sequence
                before = lane.owner[parent]
                within = parent - lane.infosets[before].start
                parent = known.infosets[numbers[before]].start + within
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
            touch(known.sums, known.counts, I)
            known.sums[I].mass += lane.sums[L].mass
            start = known.infosets[I].start
            for a in range(own.stop - own.start):
                known.sampled_regret[start + a] += lane.sampled_regret[own.start + a]
                for i in range(lane.estimates.shape[0] if lane.estimates.shape[1] else 0):
                    for c in range(2):
                        known.estimates[i, start + a, c] += lane.estimates[i, own.start + a, c]
    known.counts[1] += lane.counts[1]
    return wrong


@routine
def merge_lanes(own: Known, numbers: Ints, first: int, step: int) -> None:
    """Add up the lanes first, first + step, … in pairs, as `merge` does.

    Each lane must have room for all.
    """
    apart = LANES // 2
    while apart > 0 and apart % step == 0:
        for n in range(first, min(apart, len(own.size) - apart), step):
            to, lane = known_of(own, n), known_of(own, n + apart)
            number_keys(to, lane, numbers)
            enter_lane(to, lane, numbers)
            forget(lane)
        apart //= 2


@routine
def enter_first(own: Known, known: Known, numbers: Ints) -> int:
    """Enter the first lane in the table of a run, and forget it; see `enter_lane`."""
    first = known_of(own, 0)
    wrong: int = enter_lane(known_of(known, 0), first, numbers)
    forget(first)
    return wrong


class Part(NamedTuple):
    """The sums of some lanes of a batch, on their way from one process to another.

    Attributes
    ----------
    lanes : list of (int, Known)
        Lanes with their numbers.
    new : list of (str, int, tuple, tuple or None)
        For infosets with labels: label, player and actions of those that the run had not met,
        and the actions before one of their histories, if it is kept.
    recalled : dict from int to tuple
        Actions of infosets that were restored from a file and have been met since.
    """

    lanes: list[tuple[int, Known]]
    new: list[tuple[str, int, tuple[Action, ...], tuple[Action, ...] | None]]
    recalled: dict[int, tuple[Action, ...]]


def size_of_all(own: Known) -> tuple[int, int]:
    """Return the numbers of infosets and of sequences of all lanes together."""
    infosets, sequences = own.size[:, : SEQUENCES + 1].sum(axis=0).tolist()
    return infosets, sequences


def add_lane(own: Known, n: int, lane: Known, numbers: Ints) -> int:
    """Add the sums of a lane from another process to lane n, which has room; see `enter_lane`.

    Returns -1, or the infoset of lane n to which its player came by other actions.
    """
    to = known_of(own, n)
    number_keys(to, lane, numbers)
    wrong = enter_lane(to, lane, numbers)
    return int(numbers[wrong]) if wrong >= 0 else -1


def take_lanes(own: Known, first: int, step: int) -> list[tuple[int, Known]]:
    """Return and forget the lanes first, first + step, …, but for those added to others."""
    lanes = range(first, len(own.size), step)
    return [(n, take_lane(own, n)) for n in lanes if own.counts[n, 1] > 0]


def take_lane(own: Known, n: int) -> Known:
    """Return the sums of lane n as arrays of their own, without room, and forget the lane."""
    known = known_of(own, n)
    infosets, sequences = (int(size) for size in known.size[: SEQUENCES + 1])
    learned = sequences if known.estimates.shape[1] else 0
    taken = Known(
        size=known.size.copy(),
        keys=known.keys[:infosets].copy(),
        slots=known.slots[:0].copy(),
        states=known.states[:infosets].copy(),
        infosets=known.infosets[:infosets].copy(),
        owner=known.owner[:sequences].copy(),
        table=known.table[:0].copy(),
        baseline=known.baseline[:, :0].copy(),
        sampled_regret=known.sampled_regret[:sequences].copy(),
        sums=known.sums[:infosets].copy(),
        estimates=known.estimates[:, :learned].copy(),
        counts=known.counts.copy(),
    )
    forget(known)
    return taken


class Infosets:
    """The infosets that a run has met, in the order in which they were entered.

    Attributes
    ----------
    game : Game
    rules : Rules or None
        The rules that compile, if infosets have keys.
    known : Known
        With one axis more, of length 1.
    number : dict from label to int
    labels : list of str
    actions_at : list of tuple of actions
        The last three are empty if infosets have keys.
    infosets, owner, baseline, table
        Parts of `known`.
    arrays : TreeArrays
        What kernels read of a tree; there are no histories.
    lanes : Lanes
        One, for the sums over a batch.
    """

    is_complete = False
    infosets: Records
    owner: Ints
    baseline: Floats
    table: Records
    arrays: TreeArrays
    lanes: Lanes

    def __init__(self, game: Game, rules: Rules | None, baseline: bool):
        self.game, self.rules = game, rules
        integers = 0 if rules is None else len(rules.root)
        players = game.num_players
        self.extent = Extent(players, players if baseline else 0, integers, integers > 0)
        self.known = new_known(self.extent, 1)
        self.last_update: Records = records(0, LAST_UPDATE)
        self.number: dict[str, int] = {}
        self.labels: list[str] = []
        self.actions_at: list[tuple[Action, ...]] = []
        self.shared: dict[tuple[Action, ...], tuple[Action, ...]] = {}  # equal actions
        self.named_only: set[int] = set()  # read from a file, and not met since
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
            self.last_update = grown(self.last_update, infosets)
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
        _, _, _, _, _, _, _, _, sampled_regret, sums, estimates, counts = self.known
        walk, scratch = records((1, 0), ENTRY), np.zeros((1, 0, 0))
        self.lanes = Lanes(walk, scratch, NO_STATE, sampled_regret, sums, estimates, counts)

    def clear(self) -> None:
        """Discard the sums over a batch."""
        updates.clear(self.infosets, updates.lane_of(self.lanes, 0))

    def names(self, first: int, stop: int) -> tuple[list[str], list[tuple[Action, ...]]]:
        """Return labels and actions of some infosets."""
        if self.rules is None:
            return self.labels[first:stop], self.actions_at[first:stop]
        states = self.known.states[0, first:stop]
        at = [self.rules.decision(s) for s in states]
        return [node.infoset for node in at], [tuple(node.actions) for node in at]

    def snapshot(self) -> Snapshot:
        """Return the infosets met so far."""
        return Snapshot(self)

    def state(self) -> dict[str, Array]:
        """Return what a file holds besides the tables, labels and actions."""
        n = self.num_infosets
        arrays = {"parents": self.infosets.parent[:n].copy()}
        if self.rules is not None:
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
        if self.rules is not None:
            file.fill(keys=known.keys[:n], states=known.states[:n])
            fill_slots(known.keys, known.slots, n)
            distinct = len(np.unique(known.keys[:n]))
        else:
            self.labels = [label for _, label, _ in rows]
            self.actions_at = [tuple(actions) for _, _, actions in rows]
            self.number = {label: I for I, label in enumerate(self.labels)}
            self.named_only, distinct = set(range(n)), len(self.number)
        if distinct < n:
            raise ValueError("an infoset occurs twice")
        make_uniform(self.infosets, known.table, 0, n)

    def copy(self) -> Infosets:
        """Return an independent copy."""
        other = copy.copy(self)
        other.known = Known._make(array.copy() for array in self.known)
        for name in ("last_update", "number", "labels", "actions_at", "named_only"):
            setattr(other, name, getattr(self, name).copy())
        other.find_arrays()
        return other

    def __repr__(self) -> str:
        return f"{self.game!r}, {self.num_infosets:,} infosets met so far"
