"""One walk of online outcome sampling, aimed at an infoset.

With probability δ a walk is *targeted*: it takes only steps that can still lead to the infoset
where a player is to act now. Otherwise it is an ordinary walk of outcome sampling. With s₁ and
s₂ the probabilities that a targeted and an ordinary walk come to h,

    q(h)  = δ s₁(h) + (1 − δ) s₂(h)          the walk comes to h
    û(h)  = p(c) v̂(c),  v̂(c) = û(c) q(h) / q(c)          for the child c it goes on to
    r̃(a)  = (v̂(a) − û(h)) · π_-i(h) / q(h),  v̂(a) = 0 for the other actions

where p is f_c or σ. Whatever δ < 1 is, r̃ is the regret on average (Lisý, Lanctot & Bowling,
2015). The only randomness is in functions whose names begin with `draw`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import State, begin, uniform
from cfrlib.core.tree import CHANCE, TERMINAL, Floats, Ints
from cfrlib.montecarlo.partial_tree import UNKNOWN, Records, TreeArrays
from cfrlib.montecarlo.schemes import FIRST, RHO, P
from cfrlib.montecarlo.traversal import draw_chance, draw_rest, locate
from cfrlib.montecarlo.updates import (
    Settings,
    Tables,
    add_regrets,
    close_iteration,
    open_iteration,
)

# ---- where the target is ---------------------------------------------------------------------

OUT, TOWARD, IN = range(3)  # marks: cannot lead to the target; may; is there, or past it
ELSEWHERE, HERE = -1, -2  # of an own infoset: not on the way to the target; the target

AIM = np.dtype(
    [
        ("mark", "i4"),
        ("cumulative", "f8"),  # chance, added up over the siblings that are not OUT up to this
    ],
    align=True,
)


@inlined
def mark_down(
    nodes: Records, infosets: Records, aim: Records, way: Ints, player: int, k: int, wait: bool
) -> None:
    """Mark the children of history k, as far as its own mark and `player`'s past tell.

    With `wait`, a decision that is not on the way stays a way: for the walk that just met it.
    """
    h, mark = nodes[k], aim[k].mark
    goal, start = ELSEWHERE, 0
    if mark == TOWARD and h.player == player:
        goal, start = way[h.infoset], infosets[h.infoset].start
        if goal == HERE:
            mark = IN
        elif goal == ELSEWHERE and not wait:
            mark = OUT
        aim[k].mark = mark
    for a in range(h.num_children):
        c = h.first_child + a
        aim[c].mark = OUT if goal >= 0 and goal != start + a else mark
        aim[c].cumulative = nodes[c].cumulative


@inlined
def mark_up(nodes: Records, aim: Records, k: int) -> None:
    """Rule out history k if all its children are; add up what chance has left."""
    h, total = nodes[k], 0.0
    if aim[k].mark == TOWARD and h.player != UNKNOWN:
        possible = False
        for c in range(h.first_child, h.first_child + h.num_children):
            if h.player == CHANCE and nodes[c].probability == 0.0:
                aim[c].mark = OUT
            if aim[c].mark != OUT:
                possible = True
                total += nodes[c].probability
            aim[c].cumulative = total
        if not possible:
            aim[k].mark = OUT


@inlined
def take_aim(
    nodes: Records, infosets: Records, aim: Records, way: Ints, player: int, count: int
) -> None:
    """Mark all known histories; each comes before its children."""
    for k in range(count):
        mark_down(nodes, infosets, aim, way, player, k, False)
    for k in range(count - 1, -1, -1):
        mark_up(nodes, aim, k)


@inlined
def rule_out(
    nodes: Records, aim: Records, way: Ints, player: int, path: Records, k: int
) -> None:
    """Draw the conclusions, from entry k of a path upward, of what the walk has met."""
    for j in range(k, -1, -1):
        n = path[j].node
        own = aim[n].mark == TOWARD and nodes[n].player == player
        if own and way[nodes[n].infoset] == ELSEWHERE:
            aim[n].mark = OUT
        mark_up(nodes, aim, n)


# ---- one walk --------------------------------------------------------------------------------

# A walk is a path: a row of records, from the empty history down.
ENTRY = np.dtype(
    [
        ("node", "u4"),  # the history
        ("s1", "f8"),  # probability that a targeted walk comes here …
        ("s2", "f8"),  # … and an ordinary one
        ("others", "f8"),  # π_-i, chance included
        ("p", "f8"),  # of the last step, under f_c or σ
        ("value", "f8"),  # û, the estimate of player i's expected payoff from here on
    ],
    align=True,
)
AIMED = FIRST  # a row of `scratch`: how a targeted walk draws
WALKS, TARGETED, REACHED = range(3)  # what is counted


class Target(NamedTuple):
    """What a search aims at, as the kernels read it.

    Attributes
    ----------
    aim : record array of AIM, shape (histories,)
    way : int array, shape (infosets,)
        Of the searching player's infosets: HERE, the sequence that leads on, or ELSEWHERE.
    player : int
        The searching player; -1 if there is no target.
    delta : float
        Share of the walks that are targeted; 0 if there is no target.
    """

    aim: Records
    way: Ints
    player: int
    delta: float


class Desk(NamedTuple):
    """Where a walk is worked out: its path, room for one decision, random numbers, counts."""

    path: Records
    scratch: Floats
    state: State
    gain: Floats
    counts: npt.NDArray[np.int64]


@inlined
def draw_scenario(state: State, delta: float) -> bool:
    """Return whether a walk is targeted. Nothing is drawn if none ever is."""
    return delta > 0.0 and uniform(state) < delta


@inner
def draw_aimed(state: State, aim: Records, start: int, stop: int) -> int:
    """Return one of the children start … stop - 1 of a chance event that are not OUT."""
    start = locate(aim, uniform(state) * aim[stop - 1].cumulative, start, stop)
    while aim[start].mark == OUT:  # the product has been rounded up
        start -= 1
    return start


@inlined
def set_out(path: Records) -> None:
    """Begin a walk at the empty history."""
    e = path[0]
    e.node, e.s1, e.s2, e.others, e.p = 0, 1.0, 1.0, 1.0, 1.0


@inlined
def descend(
    tree: TreeArrays,
    table: Records,
    aim: Records,
    epsilon: float,
    targeted: bool,
    i: int,
    desk: Desk,
    k: int,
) -> int:
    """Go down from entry k; return the last entry.

    It is the end of the game, or a history whose rules have not been asked yet, or the path is
    full.
    """
    nodes, path = tree.nodes, desk.path
    k = int(k)  # else `step` is compiled for the constant, too
    while (
        nodes[path[k].node].player != TERMINAL
        and nodes[path[k].node].player != UNKNOWN
        and k + 1 < len(path)
    ):
        step(tree, table, aim, epsilon, targeted, i, desk, k)
        k += 1
    return k


@inner
def step(
    tree: TreeArrays,
    table: Records,
    aim: Records,
    epsilon: float,
    targeted: bool,
    i: int,
    desk: Desk,
    k: int,
) -> None:
    """Take one step down, from entry k to the next."""
    nodes, scratch, state = tree.nodes, desk.scratch, desk.state
    e, f = desk.path[k], desk.path[k + 1]
    h, restricted = nodes[e.node], aim[e.node].mark == TOWARD
    first, n = h.first_child, h.num_children
    if h.player == CHANCE:
        left = aim[first + n - 1].cumulative if restricted else 1.0
        if targeted and restricted:
            c = draw_aimed(state, aim, first, first + n)
        else:
            c = draw_chance(state, nodes, first, first + n)
        f.p = nodes[c].probability
        p1, p2 = f.p / left, f.p
    else:
        start = tree.infosets[h.infoset].start
        epsilon = epsilon if h.player == i else 0.0
        for a in range(n):
            p = table[start + a].sigma
            scratch[RHO, a] = epsilon / n + (1.0 - epsilon) * p if epsilon > 0.0 else p
        left = restrict(aim, restricted, first, n, scratch)
        for a in range(n):
            scratch[P, a] = scratch[AIMED, a] if targeted else scratch[RHO, a]
        a = draw_rest(state, scratch, n, left if targeted else 1.0)
        c = first + a
        f.p = table[start + a].sigma
        p1, p2 = scratch[AIMED, a] / left, scratch[RHO, a]
    f.node = c
    f.s1 = e.s1 * p1 if aim[c].mark != OUT else 0.0
    f.s2 = e.s2 * p2
    f.others = e.others if h.player == i else e.others * f.p


@inner
def restrict(aim: Records, restricted: bool, first: int, n: int, scratch: Floats) -> float:
    """Write to row AIMED how a targeted walk draws an action, from row RHO; return its sum.

    As an ordinary walk does, restricted to what may lead to the target; all of that equally,
    if nobody plays there.
    """
    total = 0.0
    for a in range(n):
        ruled_out = restricted and aim[first + a].mark == OUT
        scratch[AIMED, a] = 0.0 if ruled_out else scratch[RHO, a]
        total += scratch[AIMED, a]
    if total == 0.0:
        for a in range(n):
            if aim[first + a].mark != OUT:
                scratch[AIMED, a] = 1.0
                total += 1.0
    return total


@inlined
def ascend(
    tree: TreeArrays,
    tables: Tables,
    settings: Settings,
    delta: float,
    i: int,
    desk: Desk,
    k: int,
) -> None:
    """Go up from entry k, whose value is known; learn at every infoset on the way."""
    nodes, infosets, table, path = tree.nodes, tree.infosets, tables.table, desk.path
    for j in range(k - 1, -1, -1):
        e, f = path[j], path[j + 1]
        h, q = nodes[e.node], delta * e.s1 + (1.0 - delta) * e.s2
        v = f.value * q / (delta * f.s1 + (1.0 - delta) * f.s2)
        e.value = f.p * v
        if h.player == i:
            start = infosets[h.infoset].start
            for a in range(h.num_children):
                found = v if f.node == h.first_child + a else 0.0
                desk.gain[start + a] = (found - e.value) * e.others / q
            add_regrets(infosets, tables, settings, desk.gain, h.infoset)
        elif h.player >= 0:
            start, weight = infosets[h.infoset].start, tables.ledger[0].weight
            for a in range(start, start + h.num_children):
                table[a].total += weight * e.others / q * table[a].sigma


@inlined
def tally(
    aim: Records, delta: float, targeted: bool, path: Records, count: Any, k: int
) -> None:
    """Count a walk that ends at entry k."""
    count[WALKS] += 1
    count[TARGETED] += targeted
    count[REACHED] += delta > 0.0 and aim[path[k].node].mark == IN


@inlined
def iterate(
    tree: TreeArrays,
    tables: Tables,
    settings: Settings,
    target: Target,
    desk: Desk,
    first: int,
    most: int,
    nodes_most: int,
) -> None:
    """Run iterations first … most, or until so many nodes have been visited."""
    ledger, aim, delta = tables.ledger, target.aim, target.delta
    epsilon = settings.scheme.epsilon
    t = first
    while t <= most and ledger[0].nodes < nodes_most:
        open_iteration(ledger, settings, t)
        for i in range(tree.utility.shape[1]):
            begin(desk.state, settings.key, t, i, 0)
            targeted = draw_scenario(desk.state, delta)
            set_out(desk.path)
            k = descend(tree, tables.table, aim, epsilon, targeted, i, desk, 0)
            desk.path[k].value = tree.utility[desk.path[k].node, i]
            ascend(tree, tables, settings, delta, i, desk, k)
            tally(aim, delta, targeted, desk.path, desk.counts, k)
            ledger[0].nodes += k + 1
        close_iteration(ledger, t)
        t += 1
