"""Traversals that add samples to memories instead of to tables of regrets."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import State, begin
from cfrlib.core.tree import Floats
from cfrlib.deep.memory import Memory, next_row
from cfrlib.montecarlo.schemes import Scheme
from cfrlib.montecarlo.traversal import descend, enter, value_of
from cfrlib.montecarlo.tree_records import UNKNOWN, Records, TreeArrays

Int64s = npt.NDArray[np.int64]


class Workspace(NamedTuple):
    """The arrays that one traversal writes to.

    Attributes
    ----------
    walk : record array of ENTRY
        The histories visited.
    scratch : float array, shape (ROWS, most actions)
    state : uint64 array, shape (LINE,)
        State of the random number generator.
    estimates : float array, shape (sequences, 2), or (0, 2) without a baseline
        Sum and number of the estimates û of the traverser's payoff after each sequence.
    """

    walk: Records
    scratch: Floats
    state: State
    estimates: Floats


class Group(NamedTuple):
    """The arrays of several traversals that advance together, one row each.

    Attributes
    ----------
    walks : record array of ENTRY, shape (walks, entries)
    scratch : float array, shape (ROWS, most actions)
    states : uint64 array, shape (walks, LINE)
    estimates : float array, shape (sequences, 2), or (0, 2) without a baseline
        Summed over all traversals; see `Workspace`.
    done, entered : int arrays, shape (walks,)
        A traversal is complete when all the entries entered are done.
    """

    walks: Records
    scratch: Floats
    states: npt.NDArray[np.uint64]
    estimates: Floats
    done: Int64s
    entered: Int64s


class TraversalSettings(NamedTuple):
    """What all traversals of one player in one iteration have in common.

    Attributes
    ----------
    scheme : Scheme
        The sampling scheme.
    key : int
        Key of the random numbers.
    t, i : int
        The iteration and the traverser.
    scale : float
        The factor applied to advantages.
    """

    scheme: Scheme
    key: np.uint64
    t: int
    i: int
    scale: float


class Memories(NamedTuple):
    """The memories that traversals add samples to."""

    advantages: Memory
    strategies: Memory


@inlined
def collect_samples(
    tree: TreeArrays,
    table: Records,
    baseline: Floats,
    settings: TraversalSettings,
    workspace: Workspace,
    memories: Memories,
    first: int,
    stop: int,
) -> int:
    """Run traversals first … stop - 1; return how many histories they visit."""
    visited = 0
    for number in range(first, stop):
        begin(workspace.state, settings.key, settings.t, settings.i, number)
        enter(workspace.walk[0], 0, 1.0, 1.0, 1.0)
        _, n = descend(tree, table, settings.scheme, settings.i, workspace, 0, 1)
        ascend_and_store(tree, table, baseline, settings, workspace, memories, n)
        visited += n
    return visited


@inner
def ascend_and_store(
    tree: TreeArrays,
    table: Records,
    baseline: Floats,
    settings: TraversalSettings,
    workspace: Workspace,
    memories: Memories,
    n: int,
) -> None:
    """Evaluate the n histories of a traversal bottom-up, and offer samples to the memories."""
    walk, estimates, i = workspace.walk, workspace.estimates, settings.i
    for k in range(n - 1, -1, -1):
        e = walk[k]
        h = tree.nodes[e.node]
        e.value = value_of(tree, table, baseline, i, walk, k)
        if h.player >= 0:
            start = tree.infosets[h.infoset].start
            if h.player == i:
                offer_advantages(baseline, walk, memories.advantages, settings, k, h, start)
            else:
                offer_strategy(table, memories.strategies, settings.t, e, h, start)
            if len(estimates):
                for m in range(e.first, e.first + e.num_sampled):
                    q = start + (walk[m].node - h.first_child)
                    estimates[q, 0] += walk[m].value
                    estimates[q, 1] += 1.0


@inlined
def begin_all(group: Group, settings: TraversalSettings, first: int) -> None:
    """Begin traversals first, first + 1, …."""
    for w in range(len(group.walks)):
        begin(group.states[w], settings.key, settings.t, settings.i, first + w)
        enter(group.walks[w, 0], 0, 1.0, 1.0, 1.0)


@inner
def workspace_of(group: Group, w: int) -> Workspace:
    """Return the workspace of traversal w."""
    return Workspace(group.walks[w], group.scratch, group.states[w], group.estimates)


@inlined
def descend_all(
    tree: TreeArrays,
    table: Records,
    settings: TraversalSettings,
    group: Group,
    frontier: Int64s,
) -> int:
    """Advance each traversal as far as the tree is expanded; write where they stopped.

    Returns how many entries of `frontier` are filled. They are the histories to expand next; a
    history may appear twice.
    """
    n = 0
    for w in range(len(group.walks)):
        workspace, done, entered = workspace_of(group, w), group.done, group.entered
        done[w], entered[w] = descend(
            tree, table, settings.scheme, settings.i, workspace, done[w], entered[w]
        )
        for k in range(done[w], entered[w]):
            if tree.nodes[group.walks[w, k].node].player == UNKNOWN:
                frontier[n] = group.walks[w, k].node
                n += 1
    return n


@inlined
def ascend_all(
    tree: TreeArrays,
    table: Records,
    baseline: Floats,
    settings: TraversalSettings,
    group: Group,
    memories: Memories,
) -> None:
    """Evaluate all traversals, in order."""
    for w in range(len(group.walks)):
        workspace = workspace_of(group, w)
        ascend_and_store(tree, table, baseline, settings, workspace, memories, group.entered[w])


@inner
def offer_advantages(
    baseline: Floats,
    walk: Records,
    advantages: Memory,
    settings: TraversalSettings,
    k: int,
    h: Records,
    start: int,
) -> None:
    """Offer v̂(a) − û(h) for all actions a at entry k, whose history is h."""
    target, e, scale = advantages.target, walk[k], settings.scale
    row = next_row(advantages.seen, len(target), advantages.state)
    if row < len(target):
        advantages.infoset[row], advantages.weight[row] = h.infoset, settings.t * e.weight
        for a in range(h.num_children):
            b = baseline[settings.i, start + a] if baseline.shape[1] else 0.0
            target[row, a] = (b - e.value) * scale
        for a in range(h.num_children, target.shape[1]):  # overwrite the row's old sample
            target[row, a] = 0.0
        for m in range(e.first, e.first + e.num_sampled):
            target[row, walk[m].node - h.first_child] += walk[m].excess * scale


@inner
def offer_strategy(
    table: Records, strategies: Memory, t: int, e: Records, h: Records, start: int
) -> None:
    """Offer the strategy at history h, whose entry is e."""
    target = strategies.target
    row = next_row(strategies.seen, len(target), strategies.state)
    if row < len(target):
        strategies.infoset[row], strategies.weight[row] = h.infoset, t * e.weight
        for a in range(target.shape[1]):
            target[row, a] = table[start + a].sigma if a < h.num_children else 0.0
