"""One walk of online outcome sampling, targeted at an infoset.

With probability δ a walk is *targeted*: it takes only actions that can still lead to the
infoset where a player is to act now. Otherwise it is an ordinary walk of outcome sampling. Let
s₁ and s₂ be the probabilities that a targeted and an ordinary walk reach h. Then

    q(h)  = δ s₁(h) + (1 − δ) s₂(h)                       the walk reaches h
    û(h)  = p(c) v̂(c),  v̂(c) = û(c) q(h) / q(c)           for the sampled child c
    r̃(a)  = (v̂(a) − û(h)) · π_-i(h) / q(h),  v̂(a) = 0 for the other actions

where p is f_c or σ. For every δ < 1 the expectation of r̃ is the counterfactual regret (Lisý,
Lanctot & Bowling, 2015). All random numbers are drawn in functions whose names begin with
``sample_``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import State, begin, uniform
from cfrlib.core.tree import CHANCE, TERMINAL, Floats, Ints
from cfrlib.montecarlo.schemes import FIRST, RHO, P
from cfrlib.montecarlo.traversal import locate, sample_chance, sample_remaining
from cfrlib.montecarlo.tree_records import UNKNOWN, Records, TreeArrays
from cfrlib.montecarlo.updates import (
    Settings,
    Tables,
    add_regrets,
    begin_iteration,
    end_iteration,
)

# ---- where the target is ---------------------------------------------------------------------

# Marks of histories: cannot lead to the target; may lead to it; at the target or after it.
OUT, TOWARD, IN = range(3)
# What `route` says of an infoset of the searching player, if it is not the number of the
# sequence that leads on: the target cannot follow; this is the target.
ELSEWHERE, HERE = -1, -2

MARK = np.dtype(
    [
        ("mark", "i4"),
        ("cumulative", "f8"),  # chance probability of the siblings up to this that are not OUT
    ],
    align=True,
)


@inlined
def mark_children(
    nodes: Records,
    infosets: Records,
    marks: Records,
    route: Ints,
    player: int,
    k: int,
    keep: bool,
) -> None:
    """Mark the children of history k from its own mark and the route of `player`.

    With `keep`, a decision that is not on the route keeps its mark until the current walk ends.
    """
    h, mark = nodes[k], marks[k].mark
    goal, start = ELSEWHERE, 0
    if mark == TOWARD and h.player == player:
        goal, start = route[h.infoset], infosets[h.infoset].start
        if goal == HERE:
            mark = IN
        elif goal == ELSEWHERE and not keep:
            mark = OUT
        marks[k].mark = mark
    for a in range(h.num_children):
        c = h.first_child + a
        marks[c].mark = OUT if goal >= 0 and goal != start + a else mark
        marks[c].cumulative = nodes[c].cumulative


@inlined
def mark_from_children(nodes: Records, marks: Records, k: int) -> None:
    """Mark history k OUT if all its children are; add up the chance probability left."""
    h, total = nodes[k], 0.0
    if marks[k].mark == TOWARD and h.player != UNKNOWN:
        possible = False
        for c in range(h.first_child, h.first_child + h.num_children):
            if h.player == CHANCE and nodes[c].probability == 0.0:
                marks[c].mark = OUT
            if marks[c].mark != OUT:
                possible = True
                total += nodes[c].probability
            marks[c].cumulative = total
        if not possible:
            marks[k].mark = OUT


@inlined
def mark_all(
    nodes: Records, infosets: Records, marks: Records, route: Ints, player: int, count: int
) -> None:
    """Mark all known histories; each comes before its children."""
    for k in range(count):
        mark_children(nodes, infosets, marks, route, player, k, False)
    for k in range(count - 1, -1, -1):
        mark_from_children(nodes, marks, k)


@inlined
def rule_out(
    nodes: Records, marks: Records, route: Ints, player: int, path: Records, k: int
) -> None:
    """Mark OUT what the walk has found to be off the route, from entry k of its path upward."""
    for j in range(k, -1, -1):
        n = path[j].node
        own = marks[n].mark == TOWARD and nodes[n].player == player
        if own and route[nodes[n].infoset] == ELSEWHERE:
            marks[n].mark = OUT
        mark_from_children(nodes, marks, n)


# ---- one walk --------------------------------------------------------------------------------

# A walk is a path: an array of records, from the empty history down.
PATH_ENTRY = np.dtype(
    [
        ("node", "u4"),  # the history
        ("s1", "f8"),  # probability that a targeted walk reaches it …
        ("s2", "f8"),  # … and that an ordinary one does
        ("others", "f8"),  # π_-i, including chance
        ("p", "f8"),  # probability of the last action under f_c or σ
        ("value", "f8"),  # û, the estimate of player i's expected payoff from here on
    ],
    align=True,
)
P_TARGETED = FIRST  # row of `scratch`: probabilities with which a targeted walk samples
WALKS, TARGETED, REACHED = range(3)  # entries of `counts`


class Target(NamedTuple):
    """The target of a search, in the form that kernels read.

    Attributes
    ----------
    marks : record array of MARK, shape (histories,)
    route : int array, shape (infosets,)
        At infosets of the searching player: the sequence that leads on, HERE or ELSEWHERE.
    player : int
        The searching player; -1 if there is no target.
    delta : float
        Fraction of the walks that are targeted; 0 if there is no target.
    """

    marks: Records
    route: Ints
    player: int
    delta: float


class SearchWorkspace(NamedTuple):
    """The arrays of one walk: path, one decision, random state, sampled regrets, counts."""

    path: Records
    scratch: Floats
    state: State
    sampled_regret: Floats
    counts: npt.NDArray[np.int64]


@inlined
def sample_scenario(state: State, delta: float) -> bool:
    """Sample whether a walk is targeted; with δ = 0 no random number is drawn."""
    return delta > 0.0 and uniform(state) < delta


@inner
def sample_targeted(state: State, marks: Records, start: int, stop: int) -> int:
    """Sample one of the children start … stop - 1 of a chance event that are not OUT."""
    start = locate(marks, uniform(state) * marks[stop - 1].cumulative, start, stop)
    while marks[start].mark == OUT:  # the product has been rounded up
        start -= 1
    return start


@inlined
def begin_at_root(path: Records) -> None:
    """Begin a walk at the empty history."""
    e = path[0]
    e.node, e.s1, e.s2, e.others, e.p = 0, 1.0, 1.0, 1.0, 1.0


@inlined
def descend_to_target(
    tree: TreeArrays,
    table: Records,
    marks: Records,
    epsilon: float,
    targeted: bool,
    i: int,
    workspace: SearchWorkspace,
    k: int,
) -> int:
    """Go down from entry k; return the last entry.

    That is the end of the game, a history that is not expanded yet, or the end of `path`.
    """
    nodes, path = tree.nodes, workspace.path
    k = int(k)  # otherwise `step` is compiled for constants as well
    while (
        nodes[path[k].node].player != TERMINAL
        and nodes[path[k].node].player != UNKNOWN
        and k + 1 < len(path)
    ):
        step_down(tree, table, marks, epsilon, targeted, i, workspace, k)
        k += 1
    return k


@inner
def step_down(
    tree: TreeArrays,
    table: Records,
    marks: Records,
    epsilon: float,
    targeted: bool,
    i: int,
    workspace: SearchWorkspace,
    k: int,
) -> None:
    """Sample a child of entry k, and append it to the path."""
    nodes, scratch, state = tree.nodes, workspace.scratch, workspace.state
    e, f = workspace.path[k], workspace.path[k + 1]
    h, restricted = nodes[e.node], marks[e.node].mark == TOWARD
    first, n = h.first_child, h.num_children
    if h.player == CHANCE:
        left = marks[first + n - 1].cumulative if restricted else 1.0
        if targeted and restricted:
            c = sample_targeted(state, marks, first, first + n)
        else:
            c = sample_chance(state, nodes, first, first + n)
        f.p = nodes[c].probability
        p1, p2 = f.p / left, f.p
    else:
        start = tree.infosets[h.infoset].start
        epsilon = epsilon if h.player == i else 0.0
        for a in range(n):
            p = table[start + a].sigma
            scratch[RHO, a] = epsilon / n + (1.0 - epsilon) * p if epsilon > 0.0 else p
        left = restrict(marks, restricted, first, n, scratch)
        for a in range(n):
            scratch[P, a] = scratch[P_TARGETED, a] if targeted else scratch[RHO, a]
        a = sample_remaining(state, scratch, n, left if targeted else 1.0)
        c = first + a
        f.p = table[start + a].sigma
        p1, p2 = scratch[P_TARGETED, a] / left, scratch[RHO, a]
    f.node = c
    f.s1 = e.s1 * p1 if marks[c].mark != OUT else 0.0
    f.s2 = e.s2 * p2
    f.others = e.others if h.player == i else e.others * f.p


@inner
def restrict(marks: Records, restricted: bool, first: int, n: int, scratch: Floats) -> float:
    """Compute row P_TARGETED, a targeted walk's unnormalized probabilities; return their sum.

    These are those of row RHO, restricted to actions that may lead to the target. If all of
    these have probability 0, they are equally likely.
    """
    total = 0.0
    for a in range(n):
        ruled_out = restricted and marks[first + a].mark == OUT
        scratch[P_TARGETED, a] = 0.0 if ruled_out else scratch[RHO, a]
        total += scratch[P_TARGETED, a]
    if total == 0.0:
        for a in range(n):
            if marks[first + a].mark != OUT:
                scratch[P_TARGETED, a] = 1.0
                total += 1.0
    return total


@inlined
def ascend_from_target(
    tree: TreeArrays,
    tables: Tables,
    settings: Settings,
    delta: float,
    i: int,
    workspace: SearchWorkspace,
    k: int,
) -> None:
    """Go back up from entry k, whose value is known; update every infoset on the path."""
    nodes, infosets, table, path = tree.nodes, tree.infosets, tables.table, workspace.path
    for j in range(k - 1, -1, -1):
        e, f = path[j], path[j + 1]
        h, q = nodes[e.node], delta * e.s1 + (1.0 - delta) * e.s2
        v = f.value * q / (delta * f.s1 + (1.0 - delta) * f.s2)
        e.value = f.p * v
        if h.player == i:
            start = infosets[h.infoset].start
            for a in range(h.num_children):
                value = v if f.node == h.first_child + a else 0.0
                workspace.sampled_regret[start + a] = (value - e.value) * e.others / q
            add_regrets(infosets, tables, settings, workspace.sampled_regret, h.infoset, start)
        elif h.player >= 0:
            start, weight = infosets[h.infoset].start, tables.progress[0].weight
            for a in range(start, start + h.num_children):
                table[a].total += weight * e.others / q * table[a].sigma


@inlined
def tally(
    marks: Records, delta: float, targeted: bool, path: Records, count: Any, k: int
) -> None:
    """Count a walk that ends at entry k."""
    count[WALKS] += 1
    count[TARGETED] += targeted
    count[REACHED] += delta > 0.0 and marks[path[k].node].mark == IN


@inlined
def iterate_targeted(
    tree: TreeArrays,
    tables: Tables,
    settings: Settings,
    target: Target,
    workspace: SearchWorkspace,
    first: int,
    most: int,
    nodes_most: int,
) -> None:
    """Run iterations first … most, or until `nodes_most` histories have been visited."""
    progress, marks, delta = tables.progress, target.marks, target.delta
    epsilon = settings.scheme.epsilon
    t = first
    while t <= most and progress[0].nodes < nodes_most:
        begin_iteration(progress, settings, t)
        for i in range(tree.utility.shape[1]):
            begin(workspace.state, settings.key, t, i, 0)
            targeted = sample_scenario(workspace.state, delta)
            begin_at_root(workspace.path)
            k = descend_to_target(tree, tables.table, marks, epsilon, targeted, i, workspace, 0)
            workspace.path[k].value = tree.utility[workspace.path[k].node, i]
            ascend_from_target(tree, tables, settings, delta, i, workspace, k)
            tally(marks, delta, targeted, workspace.path, workspace.counts, k)
            progress[0].nodes += k + 1
        end_iteration(progress, t)
        t += 1
