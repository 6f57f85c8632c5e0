"""Walks by rules that compile: no call of Python from the first iteration to the last."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial

import numpy as np

from cfrlib.core.jit import inlined, inner, routine
from cfrlib.core.rng import State, begin, uniform
from cfrlib.core.rules import Addresses, invoke, prefetch
from cfrlib.core.tree import CHANCE, TERMINAL, Floats, Ints
from cfrlib.game import GameError
from cfrlib.montecarlo.infosets import (
    INFOSETS,
    SEQUENCES,
    Infosets,
    Int64s,
    Known,
    Part,
    Walkspace,
    add_lane,
    enter_first,
    find,
    first_slot,
    forget,
    has_room,
    known_of,
    lane_in,
    merge_lanes,
    new_known,
    new_walkspace,
    number_keys,
    size_of_all,
    space_of,
    take_lanes,
    with_entries,
    with_room,
)
from cfrlib.montecarlo.partial_tree import Records, TreeArrays, grown, records
from cfrlib.montecarlo.schemes import Sampling, room_to_draw
from cfrlib.montecarlo.traversal import choose, enter, sample_action
from cfrlib.montecarlo.updates import (
    PROGRESS,
    Lanes,
    Settings,
    Tables,
    apply_batch,
    ascend,
    begin_iteration,
    end_iteration,
)

# Why sampling stopped: `reached[WHY]`
REACHED, WHY, INFOSET = range(3)
DONE, NO_ENTRIES, NO_INFOSETS, WRONG_ACTIONS, FORGETFUL, NO_OUTCOME, NO_TABLE = range(7)


@inlined
def draw(state: State, probabilities: Floats, n: int) -> int:
    """Sample one of n outcomes, as `sample_chance` does."""
    u, c, total = uniform(state), 0, probabilities[0]
    while c < n - 1 and not u < total:
        c += 1
        total += probabilities[c]
    while c > 0 and probabilities[c] == 0.0:  # skipped by rounding
        c -= 1
    return c


@inner
def arrive(rules: Addresses, known: Known, space: Walkspace, m: int) -> None:
    """Ask the rules who acts at entry m, and what that player knows.

    The table of the run is large, and its infosets lie anywhere in memory. So loading begins
    here, many entries before the walk goes on from this one.
    """
    s = space.states[m]
    h = space.nodes[space.walk[m].node]
    h.player, h.correction = invoke(rules.player, (s,)), 1.0
    if h.player >= 0:
        space.keys[m] = invoke(rules.key, (s,))
        prefetch(known.slots, first_slot(known.slots, space.keys[m]))


@routine
def meet(own: Known, known: Known, space: Walkspace, k: int, player: int, actions: int) -> int:
    """Return the lane's number of the infoset at entry k, entering it if new; or -1.

    A new one begins with the strategy of the run's table, or with the uniform one. -1 means
    that there is no room.
    """
    key = space.keys[k]
    slot = find(own.keys, own.slots, key)
    I: int = own.slots[slot] - 1
    if I < 0:
        I, start = own.size[INFOSETS], own.size[SEQUENCES]
        stop = start + actions
        if len(own.keys) <= I or len(own.slots) <= 2 * I or stop > len(own.owner):
            return -1
        own.slots[slot] = I + 1
        own.keys[I] = key
        for c in range(own.states.shape[1]):
            own.states[I, c] = space.states[k, c]
        e = own.infosets[I]
        e.player, e.start, e.stop, e.parent = player, start, stop, space.came[k, player]
        own.sums[I].is_touched, own.sums[I].mass = False, 0.0
        own.size[INFOSETS], own.size[SEQUENCES] = I + 1, stop
        there = known.slots[find(known.keys, known.slots, key)] - 1
        first = known.infosets[there].start if there >= 0 else 0
        for a in range(actions):
            own.owner[start + a] = I
            own.table[start + a].sigma = (
                known.table[first + a].sigma if there >= 0 else 1.0 / actions
            )
            for i in range(own.baseline.shape[0] if own.baseline.shape[1] else 0):
                own.baseline[i, start + a] = known.baseline[i, first + a] if there >= 0 else 0.0
    return I


@routine
def walk_down(
    rules: Addresses,
    root: Int64s,
    own: Known,
    known: Known,
    space: Walkspace,
    settings: Settings,
    i: int,
) -> int:
    """Go down from the empty history; return the number of entries, or 0 if it was stopped."""
    walk, nodes, states, scheme = space.walk, space.nodes, space.states, settings.scheme
    lane = lane_in(own, space)
    players = space.came.shape[1]
    k, n, numbered = 0, 1, 1
    enter(walk[0], 0, 1.0, 1.0, 1.0)
    for c in range(len(root)):
        states[0, c] = root[c]
    for p in range(players):
        space.came[0, p] = p
    arrive(rules, known, space, 0)
    while k < n:
        e, s = walk[k], states[k]
        h = nodes[e.node]
        player, actions, start = h.player, 0, 0
        h.first_child = numbered
        e.first, e.num_sampled = n, 1
        if player == TERMINAL:
            e.num_sampled = 0
            invoke(rules.payoffs, (s, space.utility[e.node]))
        else:
            actions = invoke(rules.legal, (s, space.numbers, space.probabilities))
            if actions < 1 or actions > len(space.numbers):
                space.reached[WHY] = NO_OUTCOME
                return 0
            if n + actions > len(walk) or numbered + actions > len(nodes):
                space.reached[WHY] = NO_ENTRIES
                return 0
        if player == CHANCE:
            c = draw(space.state, space.probabilities, actions)
            p = space.probabilities[c]
            enter(walk[n], numbered + c, 1.0, e.weight, e.probability * p)
        elif player != TERMINAL:
            I = meet(own, known, space, k, player, actions)
            if I < 0:
                space.reached[WHY] = NO_INFOSETS
                return 0
            start, stop = own.infosets[I].start, own.infosets[I].stop
            if stop - start != actions or own.infosets[I].player != player:
                space.reached[WHY], space.reached[INFOSET] = WRONG_ACTIONS, I
                return 0
            if own.infosets[I].parent != space.came[k, player]:
                space.reached[WHY], space.reached[INFOSET] = FORGETFUL, I
                return 0
            h.infoset, h.num_children = I, actions
            if player == i:
                choose(start, numbered, actions, own.table, scheme, lane, k, n)
            elif scheme.expands_opponents:
                e.num_sampled = actions
                for a in range(actions):
                    p = own.table[start + a].sigma
                    enter(walk[n + a], numbered + a, 1.0, e.weight * p, e.probability)
            else:
                a = sample_action(space.state, own.table, start, stop) - start
                p = own.table[start + a].sigma
                enter(walk[n], numbered + a, p, e.weight, e.probability * p)
        for m in range(n, n + e.num_sampled):
            a = walk[m].node - numbered
            for c in range(len(s)):
                states[m, c] = s[c]
            invoke(rules.step, (states[m], space.numbers[a]))
            for p in range(players):
                space.came[m, p] = space.came[k, p]
            if player >= 0:
                space.came[m, player] = start + a
            arrive(rules, known, space, m)
        numbered += actions
        n += e.num_sampled
        k += 1
    return n


@routine
def walk_up(own: Known, space: Walkspace, tables: Tables, rule: int, i: int, n: int) -> None:
    """Go back up a walk of n histories."""
    mine = Tables(own.table, tables.last_update, tables.progress, own.baseline)
    tree = TreeArrays(space.nodes, space.utility, own.infosets, own.owner)
    ascend(tree, mine, rule, i, lane_in(own, space), n)


@routine
def update(
    space: Walkspace, known: Known, tables: Tables, lanes: Lanes, settings: Settings, i: int
) -> None:
    """Apply a batch to the tables of the run."""
    tree = TreeArrays(space.nodes[0], space.utility[0], known.infosets[0], known.owner[0])
    apply_batch(tree, tables, settings, lanes, i)


@routine
def sample_lane(
    rules: Addresses,
    root: Int64s,
    own: Known,
    known: Known,
    space: Walkspace,
    tables: Tables,
    settings: Settings,
    t: int,
    i: int,
    lanes: int,
) -> bool:
    """Run a lane's walks from `reached` on; return whether all are done."""
    space.reached[WHY] = DONE
    while space.reached[REACHED] < settings.batch and space.reached[WHY] == DONE:
        begin(space.state, settings.key, t, i, space.reached[REACHED])
        n = walk_down(rules, root, own, known, space, settings, i)
        if n > 0:
            walk_up(own, space, tables, settings.rule, i, n)
            space.reached[REACHED] += lanes
    return bool(space.reached[WHY] == DONE)


@routine
def sample_lanes(
    rules: Addresses,
    root: Int64s,
    own: Known,
    known: Known,
    space: Walkspace,
    tables: Tables,
    settings: Settings,
    t: int,
    i: int,
    first: int,
    step: int,
) -> int:
    """Run the walks of lanes first, first + step, …; return a lane that was stopped, or -1."""
    table = known_of(known, 0)
    lanes = len(own.size)
    for n in range(first, lanes, step):
        mine, place = known_of(own, n), space_of(space, n)
        if not sample_lane(rules, root, mine, table, place, tables, settings, t, i, lanes):
            return n
    return -1


@inlined
def has_room_for_all(own: Known, known: Known) -> bool:
    """Return whether the first lane and the run's table have room for all lanes."""
    infosets = sequences = 0
    for n in range(len(own.size)):
        infosets += own.size[n, INFOSETS]
        sequences += own.size[n, SEQUENCES]
    met = infosets + known.size[0, INFOSETS], sequences + known.size[0, SEQUENCES]
    return bool(has_room(own, infosets, sequences) and has_room(known, met[0], met[1]))


@routine
def iterate_rules(
    rules: Addresses,
    root: Int64s,
    own: Known,
    known: Known,
    space: Walkspace,
    numbers: Ints,
    tables: Tables,
    lanes: Lanes,
    settings: Settings,
    turn: Int64s,
    last: int,
) -> int:
    """Run iterations until `last` is done, or something is missing; return what.

    `turn` holds the next player of the present iteration, or -1 before it begins.
    """
    progress, players = tables.progress, space.came.shape[2]
    while progress[0].done < last:
        t = progress[0].done + 1
        if turn[0] < 0:
            begin_iteration(progress, settings, t)
            turn[0] = 0
            restart(space)
        while turn[0] < players:
            i = turn[0]
            stopped = sample_lanes(rules, root, own, known, space, tables, settings, t, i, 0, 1)
            if stopped >= 0:
                return int(space.reached[stopped, WHY])
            if settings.alternating or i == players - 1:
                if not has_room_for_all(own, known) or len(numbers) < own.infosets.shape[1]:
                    return NO_TABLE
                merge_lanes(own, numbers, 0, 1)
                number_keys(known_of(known, 0), known_of(own, 0), numbers)
                wrong = enter_first(own, known, numbers)
                if wrong >= 0:
                    space.reached[0, WHY], space.reached[0, INFOSET] = FORGETFUL, wrong
                    return FORGETFUL
                update(space, known, tables, lanes, settings, i if settings.alternating else -1)
            turn[0] += 1
            restart(space)
        turn[0] = -1
        end_iteration(progress, t)
    return DONE


@inner
def restart(space: Walkspace) -> None:
    """Begin the next batch."""
    for n in range(len(space.reached)):
        space.reached[n, REACHED] = n


class RulesBatch:
    """The lanes of a run by rules that compile.

    Parameters
    ----------
    infosets : Infosets
        Those of the run.
    sampling : Sampling
    settings : Settings
    lanes : int
    """

    def __init__(self, infosets: Infosets, sampling: Sampling, settings: Settings, lanes: int):
        rules = infosets.rules
        assert rules is not None
        self.infosets, self.rules, self.settings = infosets, rules, settings
        self.addresses = rules.addresses
        self.root_state = np.array(rules.root, np.int64)
        self.extent, most = infosets.extent, rules.most_actions
        self.own = new_known(self.extent, lanes)
        width = room_to_draw(sampling, most, infosets.game)
        self.space = new_walkspace(self.extent, lanes, width, most)
        self.numbers = np.zeros(0, np.int32)
        self.make_room(64, 1024)
        self.turn = np.full(1, -1, np.int64)
        self.begin()

    def make_room(self, infosets: int, sequences: int) -> None:
        """Grow the tables of the lanes where they are too short."""
        self.own = with_room(self.own, self.extent, infosets, sequences)
        self.numbers = grown(self.numbers, self.own.infosets.shape[1])

    def begin(self) -> None:
        """Begin a batch."""
        self.space.reached[:, REACHED] = np.arange(len(self.space.reached))

    def sample(
        self,
        t: int,
        i: int,
        threads: int = 1,
        pool: Executor | None = None,
        share: tuple[int, int] = (0, 1),
    ) -> None:
        """Run player i's walks in the lanes first, first + step, …: a process's share."""
        self.begin()
        first, step = share
        turns = range(1, threads)
        while True:
            state = self.addresses, self.root_state, self.own, self.infosets.known, self.space
            tables = self.infosets.tables(NO_PROGRESS), self.settings
            call = partial(sample_lanes, *state, *tables, t, i)
            apart = threads * step
            others = [pool.submit(call, first + n * step, apart) for n in turns] if pool else []
            stopped = [call(first, apart), *(other.result() for other in others)]
            if max(stopped) < 0:
                return
            for n in stopped:
                if n >= 0:
                    self.mend(int(self.space.reached[n, WHY]), n)

    def warm_up(self, progress: Records) -> None:
        """Compile the kernels; change nothing."""
        self.run_to(int(progress[0].done), progress, self.infosets.lanes)
        tables = self.infosets.tables(progress), self.settings
        state = self.addresses, self.root_state, self.own, self.infosets.known, self.space
        sample_lanes(*state, *tables, 0, 0, len(self.own.size), 1)

    def run_to(self, last: int, progress: Records, lanes: Lanes) -> bool:
        """Run iterations up to `last`; return whether the tables must grow first."""
        why = iterate_rules(
            self.addresses,
            self.root_state,
            self.own,
            self.infosets.known,
            self.space,
            self.numbers,
            self.infosets.tables(progress),
            lanes,
            self.settings,
            self.turn,
            last,
        )
        if why == NO_TABLE:
            self.room_for_all()
        elif why != DONE:
            for n in np.flatnonzero(self.space.reached[:, WHY] == why):
                self.mend(why, int(n))
        return bool(why != DONE)

    def room_for_all(self) -> None:
        """Make room to merge the lanes."""
        infosets, sequences = size_of_all(self.own)
        self.make_room(infosets, sequences)
        self.infosets.make_room(infosets, sequences)

    def mend(self, why: int, n: int) -> None:
        """Make room where a walk of lane n was stopped, or say what is wrong."""
        space, rules, game = self.space, self.rules, self.infosets.game
        if why == NO_ENTRIES:
            entries, nodes = (2 * len(each[0]) + rules.most_actions for each in space[:2])
            self.space = with_entries(space, entries, nodes)
        elif why == NO_INFOSETS:
            self.make_room(
                2 * int(self.own.size[n, INFOSETS]) + 1,
                2 * int(self.own.size[n, SEQUENCES]) + rules.most_actions,
            )
        elif why == NO_OUTCOME:
            raise GameError(
                f"the rules of {game!r} return a number of actions that is not from 1 to "
                f"most_actions={rules.most_actions}; see cfrlib.check_rules(game)"
            )
        else:
            I = int(space.reached[n, INFOSET])
            label = rules.decision(self.own.states[n, I]).infoset
            raise GameError(
                f"the rules of {game!r} give the key of infoset {label!r} to histories with "
                "other actions, another player, or to which the player came by other actions; "
                "the key must hold all that the player knows; see cfrlib.check_rules(game)"
            )

    def take(self, first: int, step: int) -> Part:
        """Return and forget the sums of the lanes first, first + step, …."""
        self.make_room(*size_of_all(self.own))
        if self.settings.alternating:  # otherwise each lane goes on with the next player
            merge_lanes(self.own, self.numbers, first, step)
        return Part(take_lanes(self.own, first, step), [], {})

    def add(self, part: Part) -> None:
        """Add sums from another process."""
        for n, lane in part.lanes:
            self.make_room(*(self.own.size[n] + lane.size)[: SEQUENCES + 1].tolist())
            wrong = add_lane(self.own, n, lane, self.numbers)
            if wrong >= 0:
                self.space.reached[n, INFOSET] = wrong
                self.mend(FORGETFUL, n)

    def merge(self) -> None:
        """Enter the sums of all lanes in the tables of the run."""
        self.room_for_all()
        merge_lanes(self.own, self.numbers, 0, 1)
        known = self.infosets.known
        number_keys(known_of(known, 0), known_of(self.own, 0), self.numbers)
        wrong = enter_first(self.own, known, self.numbers)
        if wrong >= 0:
            self.space.reached[0, INFOSET] = wrong
            self.mend(FORGETFUL, 0)

    def discard(self) -> None:
        """Discard all walks since the last merge."""
        for n in range(len(self.own.size)):
            forget(known_of(self.own, n))
        self.begin()


NO_PROGRESS: Records = records(1, PROGRESS)
