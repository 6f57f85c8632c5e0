"""Traversals in lanes: in several processes, or in a game expanded on demand.

The traversals of an iteration are split into lanes of consecutive ones. Each lane keeps its
samples in order, and they are offered to the memories lane by lane. So the numbers do not
depend on which process runs a lane, or on how many run at a time.

In a game that does not compile, all traversals of a lane descend until each is stopped by
histories not expanded yet. These are expanded, each network is evaluated once on all new
infosets, and the traversals continue. The expanded part of the tree is discarded with the lane,
because by the next iteration every player's strategy has changed.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.rng import LINE
from cfrlib.core.tree import Floats, compile
from cfrlib.deep.memory import Memory, Singles, new_buffer
from cfrlib.deep.policy import Encoder, Network, action_mask, uniform
from cfrlib.deep.traversal import (
    Group,
    Memories,
    Settings,
    Workspace,
    ascend_all,
    begin_all,
    collect,
    descend_all,
)
from cfrlib.game import Game, Terminal
from cfrlib.montecarlo.partial_tree import PartialTree, Records, TreeArrays, grown, records
from cfrlib.montecarlo.schemes import ROWS, Sampling, Scheme, most_entries, room_to_draw
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE

LANE_SIZE = 250  # traversals in a lane, at most
CACHE_SIZE = 4  # games that a worker keeps
PROBES, MAX_LENGTH = 1_000, 1_000_000  # random games to probe, and the longest one allowed
NO_ESTIMATES = np.zeros((0, 2))  # no lane learns a baseline


class Lane(NamedTuple):
    """Consecutive traversals of one player.

    Attributes
    ----------
    game : Game
    sampling : Sampling
    key : int
        Key of the random numbers.
    t, i : int
        The iteration and the traverser.
    first, stop : int
        The traversals are numbered first … stop - 1.
    scale : float
        The factor applied to advantages.
    actions : int
        The largest number of actions at an infoset.
    """

    game: Game
    sampling: Sampling
    key: np.uint64
    t: int
    i: int
    first: int
    stop: int
    scale: float
    actions: int

    @property
    def settings(self) -> Settings:
        """The settings that the kernels need."""
        return Settings(Scheme.of(self.sampling), self.key, self.t, self.i, self.scale)


class Profile(NamedTuple):
    """The strategies of all players in a game that is expanded on demand.

    Attributes
    ----------
    encode : function
        Returns the networks' inputs for a list of infoset labels.
    networks : list of Network, or None
        The current network of each player; None stands for the uniform strategy.
    record_strategies : bool
        Whether to collect samples for the memory of strategies.
    """

    encode: Encoder
    networks: Sequence[Network | None]
    record_strategies: bool


class Samples(NamedTuple):
    """The samples of a lane.

    Attributes
    ----------
    advantages, strategies : Memory
        Samples in order, without empty rows.
    features : float32 array, shape (infosets, inputs)
        The networks' inputs at the infosets of the samples; (0, 0) if the game compiles.
    num_actions : int array, shape (infosets,)
        Number of actions at each of these infosets.
    visited : int
        Number of histories visited.
    """

    advantages: Memory
    strategies: Memory
    features: Singles
    num_actions: npt.NDArray[np.int64]
    visited: int


def split(traversals: int) -> list[tuple[int, int]]:
    """Split traversals into lanes of about equal size; return first and stop of each.

    Examples
    --------
    >>> split(1_000)
    [(0, 250), (250, 500), (500, 750), (750, 1000)]
    """
    lanes = -(-traversals // LANE_SIZE)
    ends = [n * traversals // lanes for n in range(lanes + 1)]
    return list(pairwise(ends))


# ---- games that compile ----------------------------------------------------------------------

_cache: dict[str, tuple[TreeArrays, Records, Workspace]] = {}


def traverse_compiled(lane: Lane, run_id: str, sigma: Floats) -> Samples:
    """Run the traversals of a lane; `run_id` names the run, whose game the worker caches."""
    if run_id not in _cache:
        while len(_cache) >= CACHE_SIZE:
            del _cache[next(iter(_cache))]
        tree = compile(lane.game)
        width = room_to_draw(lane.sampling, lane.actions, lane.game)
        workspace = Workspace(
            records(most_entries(tree, lane.sampling), ENTRY),
            np.zeros((ROWS, width)),
            np.zeros(LINE, np.uint64),
            NO_ESTIMATES,
        )
        arrays = PartialTree.of(tree).arrays
        _cache[run_id] = arrays, records(len(sigma), SEQUENCE), workspace
    arrays, table, workspace = _cache[run_id]
    table.sigma[:] = sigma
    rows = len(workspace.walk) * (lane.stop - lane.first)
    memories = Memories(new_buffer(rows, lane.actions), new_buffer(rows, lane.actions))
    baseline = np.zeros((lane.game.num_players, 0))
    visited: int = collect(
        arrays, table, baseline, lane.settings, workspace, memories, lane.first, lane.stop
    )
    advantages, strategies = map(_filled, memories)
    nothing = np.zeros((0, 0), np.float32), np.zeros(0, np.int64)
    return Samples(advantages, strategies, *nothing, visited)


def _filled(buffer: Memory) -> Memory:
    """Return a copy of the filled rows."""
    n = buffer.filled
    infoset, weight, target, seen, state = buffer
    return Memory(infoset[:n].copy(), weight[:n].copy(), target[:n].copy(), seen, state)


# ---- games expanded on demand ----------------------------------------------------------------


def traverse_on_demand(task: tuple[Lane, Profile]) -> Samples:
    """Run the traversals of a lane, expanding the tree as they proceed.

    Raises
    ------
    GameError
        If the rules are unsound.
    ValueError
        If an infoset has more actions than the networks have outputs.
    """
    traversals = _Traversals(*task)
    traversals.descend()
    return traversals.ascend()


class _Traversals:
    """The traversals of a lane in progress."""

    def __init__(self, lane: Lane, profile: Profile):
        number = lane.stop - lane.first
        self.lane, self.profile = lane, profile
        self.tree = PartialTree(lane.game)
        self.table = records(len(self.tree.owner), SEQUENCE)
        self.walks = records((number, 64), ENTRY)
        self.states = np.zeros((number, LINE), np.uint64)
        self.done, self.entered = np.zeros(number, np.int64), np.ones(number, np.int64)
        width = room_to_draw(lane.sampling, lane.actions, lane.game)
        self.scratch = np.zeros((ROWS, width))
        self.features: list[Singles] = []
        self.num_actions: list[int] = []

    @property
    def group(self) -> Group:
        """The arrays as they are now: some are replaced by longer ones."""
        return Group(
            self.walks, self.scratch, self.states, NO_ESTIMATES, self.done, self.entered
        )

    def descend(self) -> None:
        """Complete all traversals."""
        settings = self.lane.settings
        begin_all(self.group, settings, self.lane.first)
        frontier = np.empty(self.walks.size, np.int64)
        while True:
            n = descend_all(self.tree.arrays, self.table, settings, self.group, frontier)
            if n:
                self.expand(np.unique(frontier[:n]).tolist())
            elif (self.done < self.entered).any():  # a walk has filled its row
                self.walks = grown(self.walks, self.walks.shape[1] + 1, axis=1)
                frontier = np.empty(self.walks.size, np.int64)
            else:
                break

    def expand(self, histories: list[int]) -> None:
        """Expand histories, and evaluate the networks at the new infosets."""
        tree, before = self.tree, self.tree.num_infosets
        for k in histories:
            tree.expand(k)
        new = slice(before, tree.num_infosets)
        if tree.num_infosets == before:
            return
        self.table = grown(self.table, len(tree.owner))
        num_actions = [len(actions) for actions in tree.actions_at[new]]
        legal = action_mask(num_actions, self.lane.actions, self.lane.game)
        features = self.profile.encode(tree.labels[new])
        sigma, player = uniform(legal), tree.infosets.player[new]
        for i in np.unique(player):
            network = self.profile.networks[i]
            if network is not None:
                rows = player == i
                sigma[rows] = network.play(features[rows], legal[rows])
        sequences = tree.infosets.start[new][:, None] + np.arange(self.lane.actions)
        self.table.sigma[sequences[legal]] = sigma[legal]
        self.features.append(features)
        self.num_actions += num_actions

    def ascend(self) -> Samples:
        """Evaluate all traversals, and return their samples."""
        lane, visited = self.lane, int(self.entered.sum())
        advantages = new_buffer(visited, lane.actions)
        strategies = new_buffer(visited if self.profile.record_strategies else 0, lane.actions)
        baseline, memories = (
            np.zeros((lane.game.num_players, 0)),
            Memories(advantages, strategies),
        )
        ascend_all(self.tree.arrays, self.table, baseline, lane.settings, self.group, memories)
        features = np.concatenate(self.features) if self.features else np.zeros((0, 0))
        return Samples(
            _filled(advantages),
            _filled(strategies),
            features.astype(np.float32),
            np.array(self.num_actions, np.int64),
            visited,
        )


def probe(game: Game) -> tuple[int, float, str]:
    """Play games at random; return the most actions, the largest payoff, and an infoset.

    Raises
    ------
    ValueError
        If no player ever has a decision, or a game does not end.
    """
    rng, actions, payoff, label = random.Random(0), 0, 0.0, None
    for _ in range(PROBES):
        h, length = game.root(), 0
        while not isinstance(node := game.node(h), Terminal):
            legal = tuple(node.actions)
            if hasattr(node, "infoset"):
                actions, label = max(actions, len(legal)), node.infoset
            h, length = game.step(h, rng.choice(legal)), length + 1
            if length > MAX_LENGTH:
                raise ValueError(f"{game!r} did not end within a million actions")
        payoff = max(payoff, *(abs(float(u)) for u in node.utilities))
    if label is None:
        raise ValueError(f"{game!r} has no decisions: there is nothing to learn")
    return actions, payoff or 1.0, label
