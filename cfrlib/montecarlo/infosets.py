"""Infosets as walks meet them: the tables of a game too large to compile.

Where the tree of a game does not fit into memory, tables are keyed by what a player knows: by
the label of an infoset, or by its key in `cfrlib.Rules`. So memory grows with the infosets met,
not with the histories visited.

A walk writes the histories it visits into a small tree of its own. Each lane has a small table
of the infosets that its walks of one batch met, with the current strategy there. When the batch
ends, new infosets are entered into the table of the run, lane after lane. Then, at each infoset
met, the sums of the lanes are added up in the same order as on a complete tree. So the numbers
do not depend on the threads and processes that sample.
"""

from __future__ import annotations

import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.files import Array, Saved
from cfrlib.core.jit import inlined, inner, routine
from cfrlib.core.rng import LINE, State, mix
from cfrlib.core.rules import Rules, prefetch
from cfrlib.core.tree import Floats, Ints
from cfrlib.game import Action, Game
from cfrlib.montecarlo.partial_tree import (
    INFOSET,
    NODE,
    Records,
    Snapshot,
    TreeArrays,
    grown,
    records,
)
from cfrlib.montecarlo.schemes import ROWS, Sampling
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE
from cfrlib.montecarlo.updates import (
    LANES,
    LAST_UPDATE,
    LAZY,
    PROGRESS,
    SUMS,
    Counts,
    Lane,
    Settings,
    Tables,
    add_regrets,
    add_strategy,
    make_uniform,
    update_baseline,
)

Int64s = npt.NDArray[np.int64]
INFOSETS, SEQUENCES = 0, 1  # elements of `size`
AHEAD = 16  # infosets for which memory is loaded in advance


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
    of_lanes: bool


def new_known(extent: Extent, lanes: int) -> Known:
    """Return empty tables, for some lanes."""
    players, learners, integers, of_lanes = extent
    learned = learners > 0 and of_lanes
    known = Known(
        size=np.zeros((lanes, LINE), np.int64),
        keys=np.zeros((lanes, 0), np.int64),
        slots=np.zeros((lanes, 1), np.int32),
        number=np.zeros((lanes, 0), np.int32),
        states=np.zeros((lanes, 0, integers), np.int64),
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
    hashed = infosets if extent.integers else 0
    mine, summed = (infosets, sequences) if extent.of_lanes else (0, 0)
    known = known._replace(
        keys=grown(known.keys, hashed, axis=1),
        number=grown(known.number, mine, axis=1),
        states=grown(known.states, hashed, axis=1),
        infosets=grown(known.infosets, infosets, axis=1),
        owner=grown(known.owner, sequences, axis=1),
        table=grown(known.table, sequences, axis=1),
        baseline=grown(known.baseline, learned, axis=2),
        sampled_regret=grown(known.sampled_regret, summed, axis=1),
        sums=grown(known.sums, mine, axis=1),
        estimates=grown(known.estimates, min(learned, summed), axis=2),
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
def forget(lane: Known) -> None:
    """Remove all infosets of a lane, and their sums."""
    n, players = lane.size[INFOSETS], len(lane.baseline)
    if 8 * n > len(lane.slots):
        for slot in range(len(lane.slots)):
            lane.slots[slot] = 0
    elif len(lane.keys) > 0:
        for I in range(n - 1, -1, -1):  # in the opposite order: no probing is cut short
            lane.slots[find(lane.keys, lane.slots, lane.keys[I])] = 0
    lane.counts[0] = lane.counts[1] = 0
    lane.size[INFOSETS], lane.size[SEQUENCES] = 0, players


@inner
def clear_sums(lane: Known, I: int) -> None:
    """Begin the sums of a lane at infoset I."""
    lane.sums[I].is_touched, lane.sums[I].mass = False, 0.0
    for q in range(lane.infosets[I].start, lane.infosets[I].stop):
        lane.sampled_regret[q] = 0.0
        for i in range(lane.estimates.shape[0] if lane.estimates.shape[1] else 0):
            lane.estimates[i, q, 0] = lane.estimates[i, q, 1] = 0.0


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
        if len(table.keys) > 0:
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
        forget(known_of(own, n))


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


# The arrays that walks in another process write, by what their length counts.
OF_INFOSETS = ("keys", "number", "states", "infosets", "sums")
OF_SEQUENCES = ("owner", "sampled_regret")


def parts_of(lane: Known) -> list[Any]:
    """Return the part of each array of a lane that is in use; of some, none."""
    n, q = (int(size) for size in lane.size[: SEQUENCES + 1])
    ends = dict.fromkeys(OF_INFOSETS, n) | dict.fromkeys(OF_SEQUENCES, q)
    used = {name: getattr(lane, name)[:end] for name, end in ends.items()}
    used |= {"estimates": lane.estimates[:, :q], "size": lane.size, "counts": lane.counts}
    return [used.get(name, getattr(lane, name)[..., :0]) for name in lane._fields]


def take_lane(own: Known, n: int) -> Known:
    """Return the sums of lane n as arrays of their own, without room, and forget the lane."""
    lane = known_of(own, n)
    taken = Known._make(part.copy() for part in parts_of(lane))
    forget(lane)
    return taken


def put_lane(own: Known, n: int, taken: Known) -> None:
    """Write the sums of a lane from another process to lane n, which is empty and has room."""
    lane = known_of(own, n)
    lane.size[:] = taken.size
    for to, part in zip(parts_of(lane), taken, strict=True):
        to[...] = part


class Batch:
    """The lanes of a run, by rules in Python or by rules that compile.

    With simultaneous updates, each player's walks have lanes of their own.

    Parameters
    ----------
    infosets : Infosets
        Those of the run.
    sampling : Sampling
    settings : Settings
    """

    def __init__(self, infosets: Infosets, sampling: Sampling, settings: Settings):
        self.infosets, self.sampling, self.settings = infosets, sampling, settings
        self.lanes = min(settings.batch, LANES)
        self.extent = infosets.extent._replace(of_lanes=True)
        groups = 1 if settings.alternating else self.extent.players
        self.own = new_known(self.extent, self.lanes * groups)
        self.merged = new_merged(len(self.own.size))

    def lanes_of(self, i: int, first: int, step: int) -> range:
        """Return the lanes first, first + step, … of player i's walks."""
        shift = 0 if self.settings.alternating else self.lanes * i
        return range(first + shift, self.lanes + shift, step)

    def room_for_all(self) -> None:
        """Make room to enter the lanes."""
        infosets, sequences = size_of_all(self.own)
        self.infosets.make_room(infosets, sequences)
        self.merged = self.merged._replace(
            infoset=grown(self.merged.infoset, infosets),
            places=grown(self.merged.places, infosets),
            row=grown(self.merged.row, len(self.infosets.infosets)),
        )

    def enter(self) -> tuple[int, int] | None:
        """Enter all lanes; return a lane and its infoset where the player forgets, or None."""
        place = enter_lanes(self.own, self.infosets.known, self.merged)
        return None if place < 0 else (place % len(self.own.size), place // len(self.own.size))

    @property
    def touched(self) -> Ints:
        """The infosets that the batch met, when it has been entered."""
        return self.merged.infoset[: int(self.merged.size[0])]

    def apply(self, tables: Tables, i: int, threads: int = 1, pool: Any = None) -> None:
        """Update the tables of the run, of player i or with i = -1 of all; end the batch."""
        state = self.own, self.merged, self.infosets.arrays, tables, self.settings, i
        for update in (apply_strategy, apply_regrets):
            # a lazy average needs the parent's strategy sum before the child's
            share = 1 if update is apply_strategy and self.settings.rule == LAZY else threads
            call = partial(update, *state)
            others = [pool.submit(call, n, share) for n in range(1, share)]
            call(0, share)
            for other in others:
                other.result()
        end_batch(self.own, self.merged, tables.progress)

    def discard(self) -> None:
        """Discard all walks since the last update."""
        end_batch(self.own, self.merged, records(1, PROGRESS))


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
    """

    is_complete = False
    infosets: Records
    owner: Ints
    baseline: Floats
    table: Records
    arrays: TreeArrays

    def __init__(self, game: Game, rules: Rules | None, baseline: bool):
        self.game, self.rules = game, rules
        integers = 0 if rules is None else len(rules.root)
        players = game.num_players
        self.extent = Extent(players, players if baseline else 0, integers, False)
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
