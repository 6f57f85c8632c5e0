"""Walks by rules: no call of Python from the first iteration to the last, if they compile.

A walk writes the histories it visits into a small tree of its own. Each lane has a small table
of the infosets that its walks of one batch met, with the current strategy there.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from cfrlib.core.jit import inlined, inner, routine
from cfrlib.core.rng import LINE, State, begin, uniform
from cfrlib.core.tree import CHANCE, TERMINAL, Floats, Ints
from cfrlib.large.merging import Merged, apply_regrets, apply_strategy, end_batch, enter_lanes
from cfrlib.large.partial_tree import enlarged
from cfrlib.large.rules import Addresses, invoke, prefetch
from cfrlib.large.tables import (
    INFOSETS,
    SEQUENCES,
    Extent,
    Int64s,
    Known,
    find,
    first_slot,
    has_room,
    known_of,
)
from cfrlib.montecarlo.schemes import ROWS
from cfrlib.montecarlo.traversal import ENTRY, choose, enter, sample_action
from cfrlib.montecarlo.tree_records import NODE, Records, TreeArrays, records
from cfrlib.montecarlo.updates import (
    LANES,
    Lane,
    Settings,
    Tables,
    ascend,
    begin_iteration,
    end_iteration,
)

# Why sampling stopped: `reached[WHY]`
REACHED, WHY, INFOSET, AT = range(4)
DONE, NO_ENTRIES, NO_INFOSETS, WRONG_ACTIONS, FORGETFUL, NO_OUTCOME, NO_TABLE = range(7)


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
        came=np.zeros((lanes, 64, extent.players), np.int32),
        states=np.zeros((lanes, 64, extent.integers), np.int64),
        keys=np.zeros((lanes, 64), np.int64),
        numbers=np.zeros((lanes, most_actions), np.int64),
        probabilities=np.zeros((lanes, most_actions)),
        scratch=np.zeros((lanes, ROWS, width)),
        state=np.zeros((lanes, LINE), np.uint64),
        reached=np.zeros((lanes, LINE), np.int64),
    )


def with_entries(space: Walkspace, entries: int, nodes: int) -> Walkspace:
    """Return workspaces with room for longer walks."""
    return space._replace(
        walk=enlarged(space.walk, entries, axis=1),
        nodes=enlarged(space.nodes, nodes, axis=1),
        utility=enlarged(space.utility, nodes, axis=1),
        came=enlarged(space.came, entries, axis=1),
        states=enlarged(space.states, entries, axis=1),
        keys=enlarged(space.keys, entries, axis=1),
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
def as_lane(known: Known, space: Walkspace) -> Lane:
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


@inner
def clear_sums(lane: Known, I: int) -> None:
    """Begin the sums of a lane at infoset I."""
    lane.sums[I].is_touched, lane.sums[I].mass = False, 0.0
    for q in range(lane.infosets[I].start, lane.infosets[I].stop):
        lane.sampled_regret[q] = 0.0
        for i in range(lane.estimates.shape[0] if lane.estimates.shape[1] else 0):
            lane.estimates[i, q, 0] = lane.estimates[i, q, 1] = 0.0


class Root(NamedTuple):
    """The empty history, and the sampling probabilities of its outcomes if there is a proposal.

    Attributes
    ----------
    state : int array
    proposed, correction : float arrays, shape (outcomes,) or (0,)
    """

    state: Int64s
    proposed: Floats
    correction: Floats


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
    root: Root,
    own: Known,
    known: Known,
    space: Walkspace,
    settings: Settings,
    i: int,
) -> int:
    """Go down from the empty history; return the number of entries, or 0 if it was stopped."""
    walk, nodes, states, scheme = space.walk, space.nodes, space.states, settings.scheme
    lane = as_lane(own, space)
    players = space.came.shape[1]
    k, n, numbered = 0, 1, 1
    enter(walk[0], 0, 1.0, 1.0, 1.0)
    for c in range(len(root.state)):
        states[0, c] = root.state[c]
    for p in range(players):
        space.came[0, p] = p
    arrive(rules, known, space, 0)
    while k < n:
        e, s = walk[k], states[k]
        h = nodes[e.node]
        player, actions, start, correction = h.player, 0, 0, 1.0
        space.reached[AT] = k
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
            if k == 0 and len(root.proposed) > 0:
                c = draw(space.state, root.proposed, actions)
                p, correction = root.proposed[c], root.correction[c]
            else:
                c = draw(space.state, space.probabilities, actions)
                p = space.probabilities[c]
            enter(walk[n], numbered + c, 1.0, e.weight * correction, e.probability * p)
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
            nodes[walk[m].node].correction = correction
        numbered += actions
        n += e.num_sampled
        k += 1
    return n


@routine
def walk_up(own: Known, space: Walkspace, tables: Tables, rule: int, i: int, n: int) -> None:
    """Go back up a walk of n histories."""
    mine = Tables(own.table, tables.last_update, tables.progress, own.baseline)
    tree = TreeArrays(space.nodes, space.utility, own.infosets, own.owner)
    ascend(tree, mine, rule, i, as_lane(own, space), n)


@routine
def sample_lane(
    rules: Addresses,
    root: Root,
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
    root: Root,
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
    root: Root,
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
            begin_batch(space, settings)
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
                    space.reached[n, INFOSET], space.reached[n, AT] = wrong // len(own.size), 0
                    return FORGETFUL
                who = i if settings.alternating else -1
                apply_strategy(own, merged, tree, tables, settings, who, 0, 1)
                apply_regrets(own, merged, tree, tables, settings, who, 0, 1)
                end_batch(own, merged, tables.progress)
            turn[0] += 1
            begin_batch(space, settings)
        turn[0] = -1
        end_iteration(progress, t)
    return DONE


@inner
def begin_batch(space: Walkspace, settings: Settings) -> None:
    """Begin the next batch."""
    for n in range(len(space.reached)):
        space.reached[n, REACHED] = n % min(settings.batch, LANES)
