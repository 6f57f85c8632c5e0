"""One traversal of a game tree: down by sampling, up with estimates of the values.

A *walk*, or sampled trajectory, belongs to one player, the traverser. It starts at the empty
history and goes down breadth first: at a chance event it samples one outcome, at an opponent's
decision one action of the opponent's strategy, at the traverser's own decision k actions
without replacement. On the way up it estimates the value of every history on it,

    û(ha) is known for the sampled actions a, each sampled with probability ρ(a)
    v̂(a) = b(a) + 1{a sampled} · (û(ha) − b(a)) / ρ(a)                unbiased for any b
    û(h) = Σ_a σ(a) v̂(a) = Σ_a σ(a) b(a) + Σ_a σ(a) 1{a sampled} · (û(ha) − b(a)) / ρ(a)

The sampled regret of a is (v̂(a) − û(h)) · weight, where weight = 1 / Π ρ over the traverser's
own earlier choices. A b that is not 0 is a baseline (Schmid et al., 2019). The only randomness
is in the three functions whose names begin with `draw`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import State, uniform
from cfrlib.core.tree import CHANCE, TERMINAL, Floats
from cfrlib.montecarlo.partial_tree import UNKNOWN, Records, TreeArrays
from cfrlib.montecarlo.schemes import RHO, P, Scheme, include

# What a run holds for each sequence. Records, for the same reason as in `partial_tree`.
SEQUENCE = np.dtype(
    [
        ("regret", "f8"),  # cumulative sampled regret
        ("sigma", "f8"),  # current strategy
        ("total", "f8"),  # the average, unnormalized
    ],
    align=True,
)

# A walk is a row of records: the histories it visits, in the order in which it meets them.
ENTRY = np.dtype(
    [
        ("node", "u4"),  # the history
        ("first", "i4"),  # where its children begin that the walk goes on with, if any
        ("tried", "i4"),  # how many these are
        ("rho", "f8"),  # probability with which the walk goes on with it, given its parent
        ("weight", "f8"),  # what a regret here counts: 1 / Π ρ over the traverser's choices …
        # … up to here, times Π σ over those of opponents whose actions are all tried, times
        # f_c / σ'_c if the first event of chance is drawn from a proposal σ'_c
        ("drawn", "f8"),  # probability with which the walk gets here
        ("value", "f8"),  # û, the estimate of the traverser's expected payoff from here on
        ("excess", "f8"),  # (û − b) / ρ, by which the estimate v̂ of the last step exceeds b
    ],
    align=True,
)


@inner
def locate(records: Records, u: float, start: int, stop: int) -> int:
    """Return the first of the records start … stop - 1 with u < cumulative, or the last."""
    while stop - start > 1:
        middle = (start + stop) // 2
        if u < records[middle - 1].cumulative:
            stop = middle
        else:
            start = middle
    return start


@inner
def draw_chance(state: State, nodes: Records, start: int, stop: int) -> int:
    """Return one of the children start … stop - 1 of a chance event."""
    start = locate(nodes, uniform(state), start, stop)
    while nodes[start].probability == 0.0:  # the sum of the others has been rounded down
        start -= 1
    return start


@inner
def draw_action(state: State, table: Records, start: int, stop: int) -> int:
    """Return one of the sequences start … stop - 1 of an infoset, drawn from σ."""
    u, q = uniform(state), start
    while q < stop - 1 and u >= table[q].sigma:
        u -= table[q].sigma
        q += 1
    while table[q].sigma == 0.0:  # the sum of the others has been rounded down
        q -= 1
    return q


@inner
def draw_rest(state: State, scratch: Floats, actions: int, left: float) -> int:
    """Return one of the actions not drawn yet, whose probabilities sum to `left`."""
    u, a = uniform(state) * left, 0
    while a < actions - 1 and u >= scratch[P, a]:
        u -= scratch[P, a]
        a += 1
    while scratch[P, a] == 0.0:
        a -= 1
    return a


@inlined
def enter(e: Records, h: int, rho: float, weight: float, drawn: float) -> None:
    """Make `e` the entry of history h."""
    e.node, e.rho, e.weight, e.drawn = h, rho, weight, drawn


@inlined
def descend(
    tree: TreeArrays, table: Records, scheme: Scheme, i: int, lane: Any, k: int, n: int
) -> tuple[int, int]:
    """Go down from entry k of the n entries so far; return how many are done and entered.

    Both are equal at the end of the walk. Otherwise entry k is a history that has not been
    expanded yet, or the room for entries is used up.

    Parameters
    ----------
    tree : TreeArrays
    table : record array of SEQUENCE, shape (sequences,)
    scheme : Scheme
    i : int
        The traverser.
    lane : named tuple
        Its fields `walk`, a record array of ENTRY, and `scratch`, a float array of shape
        (ROWS, most actions), are written to; from `state` random numbers come.
    k, n : int
        Entries done, entries so far.
    """
    nodes, infosets, walk = tree.nodes, tree.infosets, lane.walk
    k, n, known = int(k), int(n), True  # int: else `choose` is compiled for constants, too
    while known and k < n:
        e = walk[k]
        h = nodes[e.node]
        child, actions = h.first_child, h.num_children
        known = h.player != UNKNOWN and n + actions <= len(walk)
        if known:
            e.first, e.tried = n, 1
            if h.player == TERMINAL:
                e.tried = 0
            elif h.player == CHANCE:
                c = draw_chance(lane.state, nodes, child, child + actions)
                weight = e.weight * nodes[c].correction
                enter(walk[n], c, 1.0, weight, e.drawn * nodes[c].probability)
            elif h.player == i:
                start = infosets[h.infoset].start
                choose(start, child, actions, table, scheme, lane, k, n)
            elif scheme.everyone:
                start, e.tried = infosets[h.infoset].start, actions
                for a in range(actions):
                    p = table[start + a].sigma
                    enter(walk[n + a], child + a, 1.0, e.weight * p, e.drawn)
            else:
                start = infosets[h.infoset].start
                a = draw_action(lane.state, table, start, start + actions) - start
                p = table[start + a].sigma
                enter(walk[n], child + a, p, e.weight, e.drawn * p)
            n += e.tried
            k += 1
    return k, n


@inner
def choose(
    start: int,
    child: int,
    actions: int,
    table: Records,
    scheme: Scheme,
    lane: Any,
    k: int,
    n: int,
) -> None:
    """Go on with some of the traverser's actions: all, or `scheme.k` drawn one by one."""
    walk, scratch = lane.walk, lane.scratch
    e = walk[k]
    e.tried = min(scheme.k, actions)
    if e.tried == actions:
        for a in range(actions):
            enter(walk[n + a], child + a, 1.0, e.weight, e.drawn)
    else:
        left = 1.0
        for a in range(actions):
            p = scheme.epsilon / actions + (1.0 - scheme.epsilon) * table[start + a].sigma
            scratch[P, a], scratch[RHO, a] = p, p
        if e.tried > 1:
            include(scratch, actions, e.tried)
        for j in range(e.tried):
            a = draw_rest(lane.state, scratch, actions, left)
            left -= scratch[P, a]
            scratch[P, a] = 0.0
            rho = scratch[RHO, a]
            enter(walk[n + j], child + a, rho, e.weight / rho, e.drawn * rho)


@inner
def evaluate(
    tree: TreeArrays, table: Records, baseline: Floats, i: int, walk: Records, k: int
) -> float:
    """Return û of entry k, whose children have theirs; turn these into v̂ less the baseline."""
    nodes, utility, infosets = tree.nodes, tree.utility, tree.infosets
    e, value = walk[k], 0.0
    h = nodes[e.node]
    if h.player == TERMINAL:
        value = utility[e.node, i]
    elif h.player == CHANCE:  # a proposal in place of f_c has weight f_c / σ'_c
        c = walk[e.first]
        value = c.value * nodes[c.node].correction
    else:
        start = infosets[h.infoset].start
        if baseline.shape[1]:
            for q in range(start, start + h.num_children):
                value += table[q].sigma * baseline[i, q]
        for n in range(e.first, e.first + e.tried):
            c = walk[n]
            q = start + (c.node - h.first_child)
            b = baseline[i, q] if baseline.shape[1] else 0.0
            c.excess = (c.value - b) / c.rho
            value += table[q].sigma * c.excess
    return value
