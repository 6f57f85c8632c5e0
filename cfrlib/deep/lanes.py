"""Lanes: the traversals of an iteration in groups, which run here or in several processes.

The traversals are split into lanes of consecutive ones. Each lane keeps its samples in order,
and they are offered to the memories lane by lane. So the numbers do not depend on which process
runs a lane, or on how many run at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from cfrlib.deep.memory import Memory, in_common_form, offer
from cfrlib.deep.policy import Network
from cfrlib.deep.traversal import TraversalSettings
from cfrlib.large.workers import map_tasks

LANE_SIZE = 250  # traversals in a lane, at most


class TraversalLane(NamedTuple):
    """Consecutive traversals of one player.

    Attributes
    ----------
    settings : TraversalSettings
    first, stop : int
        The traversals are numbered first … stop - 1.
    networks : list of Network, or None
        The current network of each player; None stands for the uniform strategy.
    """

    settings: TraversalSettings
    first: int
    stop: int
    networks: Sequence[Network | None]


class Samples(NamedTuple):
    """The samples of a lane.

    Attributes
    ----------
    advantages, strategies : Memory
        Samples in order, without empty rows.
    visited : int
        Number of histories visited.
    """

    advantages: Memory
    strategies: Memory
    visited: int


def split_lanes(traversals: int) -> list[tuple[int, int]]:
    """Split traversals into lanes of about equal size; return first and stop of each.

    Examples
    --------
    >>> split_lanes(1_000)
    [(0, 250), (250, 500), (500, 750), (750, 1000)]
    """
    lanes = -(-traversals // LANE_SIZE)
    ends = [n * traversals // lanes for n in range(lanes + 1)]
    return list(pairwise(ends))


def run_lanes(
    traverse: Callable[[TraversalLane], Samples],
    lanes: list[TraversalLane],
    memories: list[Memory],
    jobs: int | None,
) -> int:
    """Run all lanes, then fill the memories; return the histories visited.

    Parameters
    ----------
    traverse : function
        Runs one lane and returns its samples.
    lanes : list of TraversalLane
    memories : list of Memory
        The memories of each player's advantages, and the memory of strategies. A memory is
        replaced where new features need more room.
    jobs : int, optional
        Number of processes, as for :class:`DeepCFR`; None runs all lanes in this one.
    """
    if jobs is None:
        results = [traverse(lane) for lane in lanes]
    else:
        results = map_tasks(jobs, traverse, lanes)
    for samples in results:
        for n, new in ((lanes[0].settings.i, samples.advantages), (-1, samples.strategies)):
            memories[n], new = in_common_form(memories[n], new)
            offer(new, memories[n])
    return sum(samples.visited for samples in results)
