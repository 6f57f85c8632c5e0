"""One traversal of a game tree: down by sampling, up with estimates of the values.

A *walk*, or sampled trajectory, updates one player, the traverser. It starts at the empty
history and goes down breadth first: at a chance event it samples one outcome, at an opponent's
decision one action from the opponent's strategy, at the traverser's own decision k actions
without replacement. On the way back up it estimates the value of every history visited:

    û(ha) is known for the sampled actions a, each sampled with probability ρ(a)
    v̂(a) = b(a) + 1{a sampled} · (û(ha) − b(a)) / ρ(a)                unbiased for any b
    û(h) = Σ_a σ(a) v̂(a) = Σ_a σ(a) b(a) + Σ_a σ(a) 1{a sampled} · (û(ha) − b(a)) / ρ(a)

The sampled regret of a is (v̂(a) − û(h)) · weight, where weight = 1 / Π ρ over the traverser's
own earlier actions. A nonzero b is a baseline (Schmid et al., 2019). All random numbers are
drawn in the three functions whose names begin with ``sample_``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import State, uniform
from cfrlib.core.tree import CHANCE, TERMINAL, Floats
from cfrlib.montecarlo.schemes import RHO, P, Scheme, include
from cfrlib.montecarlo.tree_records import UNKNOWN, Records, TreeArrays

# The state of a run at each sequence; records, for the same reason as in `tree_records`.
SEQUENCE = np.dtype(
    [
        ("regret", "f8"),  # cumulative sampled regret
        ("sigma", "f8"),  # current strategy
        ("total", "f8"),  # strategy sum
    ],
    align=True,
)

# A walk is a row of records: the histories visited, in breadth-first order.
ENTRY = np.dtype(
    [
        ("node", "u4"),  # the history
        ("first", "i4"),  # entry of its first sampled child, if any
        ("num_sampled", "i4"),  # number of its sampled children
        ("rho", "f8"),  # probability of sampling it, given its parent
        # weight of a regret here: 1 / Π ρ over the traverser's earlier actions, times Π σ of
        # the opponents if all their actions are expanded, times f_c / σ'_c if the first
        # chance event is sampled from a proposal σ'_c
        ("weight", "f8"),
        ("probability", "f8"),  # of the walk reaching it
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
def sample_chance(state: State, nodes: Records, start: int, stop: int) -> int:
    """Sample one of the children start … stop - 1 of a chance event."""
    start = locate(nodes, uniform(state), start, stop)
    while nodes[start].probability == 0.0:  # skipped by rounding
        start -= 1
    return start


@inner
def sample_action(state: State, table: Records, start: int, stop: int) -> int:
    """Sample one of the sequences start … stop - 1 of an infoset from σ."""
    u, q = uniform(state), start
    while q < stop - 1 and u >= table[q].sigma:
        u -= table[q].sigma
        q += 1
    while table[q].sigma == 0.0:  # skipped by rounding
        q -= 1
    return q


@inner
def sample_remaining(state: State, scratch: Floats, actions: int, left: float) -> int:
    """Sample one of the actions not sampled yet, whose probabilities sum to `left`."""
    u, a = uniform(state) * left, 0
    while a < actions - 1 and u >= scratch[P, a]:
        u -= scratch[P, a]
        a += 1
    while scratch[P, a] == 0.0:
        a -= 1
    return a


@inlined
def enter(e: Records, h: int, rho: float, weight: float, probability: float) -> None:
    """Make `e` the entry of history h."""
    e.node, e.rho, e.weight, e.probability = h, rho, weight, probability


@inlined
def descend(
    tree: TreeArrays, table: Records, scheme: Scheme, i: int, lane: Any, k: int, n: int
) -> tuple[int, int]:
    """Go down from entry k of n entries; return the numbers of entries expanded and in all.

    At the end of the walk both are equal. Otherwise the first entry not expanded is a history
    that is not in the tree yet, or there is no room for its children.

    Parameters
    ----------
    tree : TreeArrays
    table : record array of SEQUENCE, shape (sequences,)
    scheme : Scheme
    i : int
        The traverser.
    lane : named tuple
        `walk`, a record array of ENTRY, and `scratch`, a float array of shape (ROWS, most
        actions), are written to; `state` yields the random numbers.
    k, n : int
        Entries expanded so far; entries so far.
    """
    nodes, infosets, walk = tree.nodes, tree.infosets, lane.walk
    k, n = int(k), int(n)  # otherwise `choose` is compiled for constants as well
    expandable = True
    while expandable and k < n:
        e = walk[k]
        h = nodes[e.node]
        child, actions = h.first_child, h.num_children
        expandable = h.player != UNKNOWN and n + actions <= len(walk)
        if expandable:
            e.first, e.num_sampled = n, 1
            if h.player == TERMINAL:
                e.num_sampled = 0
            elif h.player == CHANCE:
                c = sample_chance(lane.state, nodes, child, child + actions)
                weight = e.weight * nodes[c].correction
                enter(walk[n], c, 1.0, weight, e.probability * nodes[c].probability)
            elif h.player == i:
                start = infosets[h.infoset].start
                choose(start, child, actions, table, scheme, lane, k, n)
            elif scheme.expands_opponents:
                start, e.num_sampled = infosets[h.infoset].start, actions
                for a in range(actions):
                    p = table[start + a].sigma
                    enter(walk[n + a], child + a, 1.0, e.weight * p, e.probability)
            else:
                start = infosets[h.infoset].start
                a = sample_action(lane.state, table, start, start + actions) - start
                p = table[start + a].sigma
                enter(walk[n], child + a, p, e.weight, e.probability * p)
            n += e.num_sampled
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
    """Sample `scheme.k` of the traverser's actions one by one, or take all."""
    walk, scratch = lane.walk, lane.scratch
    e = walk[k]
    e.num_sampled = min(scheme.k, actions)
    if e.num_sampled == actions:
        for a in range(actions):
            enter(walk[n + a], child + a, 1.0, e.weight, e.probability)
    else:
        left = 1.0
        for a in range(actions):
            p = scheme.epsilon / actions + (1.0 - scheme.epsilon) * table[start + a].sigma
            scratch[P, a], scratch[RHO, a] = p, p
        if e.num_sampled > 1:
            include(scratch, actions, e.num_sampled)
        for j in range(e.num_sampled):
            a = sample_remaining(lane.state, scratch, actions, left)
            left -= scratch[P, a]
            scratch[P, a] = 0.0
            rho = scratch[RHO, a]
            enter(walk[n + j], child + a, rho, e.weight / rho, e.probability * rho)


@inner
def value_of(
    tree: TreeArrays, table: Records, baseline: Floats, i: int, walk: Records, k: int
) -> float:
    """Return û of entry k from those of its children; set their excess over the baseline."""
    nodes, utility, infosets = tree.nodes, tree.utility, tree.infosets
    e, value = walk[k], 0.0
    h = nodes[e.node]
    if h.player == TERMINAL:
        value = utility[e.node, i]
    elif h.player == CHANCE:  # sampled from a proposal: weight f_c / σ'_c
        c = walk[e.first]
        value = c.value * nodes[c.node].correction
    else:
        start = infosets[h.infoset].start
        if baseline.shape[1]:
            for q in range(start, start + h.num_children):
                value += table[q].sigma * baseline[i, q]
        for n in range(e.first, e.first + e.num_sampled):
            c = walk[n]
            q = start + (c.node - h.first_child)
            b = baseline[i, q] if baseline.shape[1] else 0.0
            c.excess = (c.value - b) / c.rho
            value += table[q].sigma * c.excess
    return value
