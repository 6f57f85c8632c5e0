"""Walks by rules that compile: no call of Python from the first iteration to the last."""

from __future__ import annotations

from concurrent.futures import Executor
from functools import partial

import numpy as np

from cfrlib.core.jit import inlined, inner, routine
from cfrlib.core.rng import State, begin, uniform
from cfrlib.core.rules import Addresses, invoke, prefetch
from cfrlib.core.tree import CHANCE, TERMINAL, Floats
from cfrlib.game import GameError
from cfrlib.montecarlo.infosets import (
    INFOSETS,
    SEQUENCES,
    Batch,
    Infosets,
    Int64s,
    Known,
    Merged,
    Part,
    Walkspace,
    apply_regrets,
    apply_strategy,
    clear_sums,
    end_batch,
    enter_lanes,
    find,
    first_slot,
    has_room,
    known_of,
    lane_in,
    new_walkspace,
    put_lane,
    space_of,
    take_lane,
    with_entries,
    with_room,
)
from cfrlib.montecarlo.partial_tree import Records, TreeArrays, records
from cfrlib.montecarlo.schemes import Sampling, room_to_draw
from cfrlib.montecarlo.traversal import choose, enter, sample_action
from cfrlib.montecarlo.updates import (
    LANES,
    PROGRESS,
    Settings,
    Tables,
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
        own.size[INFOSETS], own.size[SEQUENCES] = I + 1, stop
        clear_sums(own, I)
        there = known.slots[find(known.keys, known.slots, key)] - 1
        own.number[I] = there
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
) -> bool:
    """Run a lane's walks from `reached` on; return whether all are done."""
    space.reached[WHY] = DONE
    while space.reached[REACHED] < settings.batch and space.reached[WHY] == DONE:
        begin(space.state, settings.key, t, i, space.reached[REACHED])
        n = walk_down(rules, root, own, known, space, settings, i)
        if n > 0:
            walk_up(own, space, tables, settings.rule, i, n)
            space.reached[REACHED] += min(settings.batch, LANES)
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
    """Run player i's walks in lanes first, first + step, …; return one that stopped, or -1."""
    table, lanes = known_of(known, 0), min(settings.batch, LANES)
    shift = 0 if settings.alternating else lanes * i
    for n in range(first + shift, lanes + shift, step):
        mine, place = known_of(own, n), space_of(space, n)
        if not sample_lane(rules, root, mine, table, place, tables, settings, t, i):
            return n
    return -1


@inlined
def has_room_for_all(own: Known, known: Known, merged: Merged) -> bool:
    """Return whether there is room to enter all lanes."""
    infosets = sequences = 0
    for n in range(len(own.size)):
        infosets += own.size[n, INFOSETS]
        sequences += own.size[n, SEQUENCES]
    met = infosets + known.size[0, INFOSETS], sequences + known.size[0, SEQUENCES]
    return bool(
        infosets <= len(merged.infoset)
        and known.infosets.shape[1] <= len(merged.row)
        and has_room(known, met[0], met[1])
    )


@routine
def iterate_rules(
    rules: Addresses,
    root: Int64s,
    own: Known,
    known: Known,
    space: Walkspace,
    merged: Merged,
    tree: TreeArrays,
    tables: Tables,
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
            restart(space, settings)
        while turn[0] < players:
            i = turn[0]
            stopped = sample_lanes(rules, root, own, known, space, tables, settings, t, i, 0, 1)
            if stopped >= 0:
                return int(space.reached[stopped, WHY])
            if settings.alternating or i == players - 1:
                if not has_room_for_all(own, known, merged):
                    return NO_TABLE
                wrong = enter_lanes(own, known, merged)
                if wrong >= 0:
                    n = wrong % len(own.size)
                    space.reached[n, WHY] = FORGETFUL
                    space.reached[n, INFOSET] = wrong // len(own.size)
                    return FORGETFUL
                who = i if settings.alternating else -1
                apply_strategy(own, merged, tree, tables, settings, who, 0, 1)
                apply_regrets(own, merged, tree, tables, settings, who, 0, 1)
                end_batch(own, merged, tables.progress)
            turn[0] += 1
            restart(space, settings)
        turn[0] = -1
        end_iteration(progress, t)
    return DONE


@inner
def restart(space: Walkspace, settings: Settings) -> None:
    """Begin the next batch."""
    for n in range(len(space.reached)):
        space.reached[n, REACHED] = n % min(settings.batch, LANES)


class RulesBatch(Batch):
    """The lanes of a run by rules that compile; see :class:`Batch`."""

    def __init__(self, infosets: Infosets, sampling: Sampling, settings: Settings):
        super().__init__(infosets, sampling, settings)
        rules = infosets.rules
        assert rules is not None
        self.rules, self.addresses = rules, rules.addresses
        self.root_state = np.array(rules.root, np.int64)
        width = room_to_draw(sampling, rules.most_actions, infosets.game)
        lanes = len(self.own.size)
        self.space = new_walkspace(self.extent, lanes, width, rules.most_actions)
        self.make_room(64, 1024)
        self.turn = np.full(1, -1, np.int64)
        self.begin()

    def make_room(self, infosets: int, sequences: int) -> None:
        """Grow the tables of the lanes where they are too short."""
        self.own = with_room(self.own, self.extent, infosets, sequences)

    def begin(self) -> None:
        """Begin a batch."""
        restart(self.space, self.settings)

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
        self.run_to(int(progress[0].done), progress)
        tables = self.infosets.tables(progress), self.settings
        state = self.addresses, self.root_state, self.own, self.infosets.known, self.space
        sample_lanes(*state, *tables, 0, 0, len(self.own.size), 1)

    def run_to(self, last: int, progress: Records) -> bool:
        """Run iterations up to `last`; return whether the tables must grow first."""
        why = iterate_rules(
            self.addresses,
            self.root_state,
            self.own,
            self.infosets.known,
            self.space,
            self.merged,
            self.infosets.arrays,
            self.infosets.tables(progress),
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

    def take(self, i: int, first: int, step: int) -> Part:
        """Return and forget the sums of player i's lanes first, first + step, …."""
        lanes = self.lanes_of(i, first, step)
        return Part([(n, take_lane(self.own, n)) for n in lanes], [], {})

    def add(self, part: Part) -> None:
        """Take over sums from another process."""
        for n, lane in part.lanes:
            self.make_room(*lane.size[: SEQUENCES + 1].tolist())
            put_lane(self.own, n, lane)

    def merge(self) -> None:
        """Enter the infosets that all lanes met in the table of the run."""
        self.room_for_all()
        wrong = self.enter()
        if wrong:
            n, self.space.reached[wrong[0], INFOSET] = wrong
            self.mend(FORGETFUL, n)

    def discard(self) -> None:
        """Discard all walks since the last update."""
        super().discard()
        self.begin()


NO_PROGRESS: Records = records(1, PROGRESS)
