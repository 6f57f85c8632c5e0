"""Deep CFR on a tree that grows: networks are evaluated at the infosets that traversals visit.

All traversals of a lane descend until each is stopped by histories not expanded yet. These are
expanded, each network is evaluated once on all new infosets, and the traversals continue. The
expanded part of the tree is discarded with the lane, because by the next iteration every
player's strategy has changed. So a sample keeps the features of its infoset.
"""

from __future__ import annotations

import random
from typing import NoReturn

import jax
import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.files import Array
from cfrlib.core.rng import LINE
from cfrlib.core.tree import name_history
from cfrlib.deep.feature_rows import FeatureRows, concatenate
from cfrlib.deep.lanes import Samples, TraversalLane, run_lanes
from cfrlib.deep.memory import Memory, Singles, new_buffer
from cfrlib.deep.networks import Learner, Training, shape
from cfrlib.deep.policy import (
    Encoder,
    Policy,
    Table,
    action_mask,
    mixture_weights,
    uniform_rows,
)
from cfrlib.deep.traversal import (
    Group,
    Memories,
    ascend_all,
    begin_all,
    descend_all,
)
from cfrlib.game import Action, Game, Terminal
from cfrlib.large.partial_tree import PartialTree, enlarged
from cfrlib.montecarlo.schemes import ROWS, Sampling, scratch_columns
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE
from cfrlib.montecarlo.tree_records import records

USUAL_BATCH = 1_024  # default batch size
MIN_ROWS = 1 << 14  # a smaller memory is padded for training, to limit recompilation
PROBES, MAX_LENGTH = 1_000, 1_000_000  # random games to probe, and the longest one allowed
NO_ESTIMATES = np.zeros((0, 2))  # no baseline is learned


class GrowingTree:
    """The infosets of a tree that grows, known only by the features of those visited.

    Parameters
    ----------
    game : Game
    sampling, advantage, strategy
        As for :class:`DeepCFR`.
    encode : function
        Returns the networks' inputs for a list of infoset labels.
    actions : int or None
        The largest number of actions at an infoset, if the caller knows it.
    record_strategies : bool
        Whether to collect_samples samples for the memory of strategies.

    Attributes
    ----------
    actions : int
        The largest number of actions at an infoset.
    example : FeatureRows
        The features of one infoset.
    size : int
        Number of weights of an advantage network.
    scale : float
        The largest payoff, the unit of advantages.
    features_digest : None
        Always None, as the caller cannot give features.

    Raises
    ------
    ValueError
        If a training has no batch, or has a cell.
    """

    features_digest = None

    def __init__(
        self,
        game: Game,
        sampling: Sampling,
        advantage: Training,
        strategy: Training,
        encode: Encoder,
        actions: int | None,
        record_strategies: bool,
    ):
        for training in (advantage, strategy):
            if training.batch is None:
                raise ValueError(
                    f"the tree of {game!r} is expanded on demand, so training cannot pass "
                    f"over all infosets; give a batch, such as Training(batch={USUAL_BATCH:,})"
                )
            if training.cell is not None:
                raise ValueError(
                    f"the words of the labels of {game!r} are not known in advance, because "
                    "its tree is expanded on demand; leave out cell"
                )
        self.game, self.sampling, self.encode = game, sampling, encode
        self.advantage, self.strategy = advantage, strategy
        self.record_strategies = record_strategies
        found, self.scale, label = probe(game)
        self.actions = found if actions is None else whole_number("actions", actions, 1)
        self.example = FeatureRows.of(encode([label]))
        self.size: int = shape(advantage.architecture, self.example.inputs, self.actions).size

    # ---- iterations --------------------------------------------------------------------------

    def traverse(
        self, lanes: list[TraversalLane], memories: list[Memory], jobs: int | None
    ) -> int:
        """Run traversals, fill the memories, and return the number of histories visited."""
        return run_lanes(self._traverse_lane, lanes, memories, jobs)

    def _traverse_lane(self, lane: TraversalLane) -> Samples:
        """Run the traversals of a lane.

        Raises
        ------
        GameError
            If the rules are unsound.
        ValueError
            If an infoset has more actions than the networks have outputs.
        """
        traversals = _Traversals(self, lane)
        traversals.descend()
        return traversals.ascend()

    def fit(
        self, key: jax.Array, memory: Memory, t: int, distill: bool = False
    ) -> tuple[Singles, float]:
        """Train a new network on a memory; return it and its loss.

        With `distill` the network predicts the average strategy.
        """
        # Each number of rows is compiled separately, so it is rounded up to a power of two.
        rows = max(MIN_ROWS, 1 << (max(memory.filled, 1) - 1).bit_length())
        memory = memory.first(rows)
        legal = np.arange(self.actions) < memory.num_actions[:, None]
        training = self.strategy if distill else self.advantage
        return Learner(memory.features, legal, training, distill).fit(key, memory, t)

    def update(self, t: int, i: int, network: Singles) -> None:
        """Do nothing: the new network is player i's strategy."""

    # ---- results -----------------------------------------------------------------------------

    def current(self, networks: list[list[Singles]]) -> Policy:
        """Return the strategy of the next iteration."""
        last = [np.arange(len(stored) + 1) == len(stored) for stored in networks]
        return Policy(self.game, self.encode, self.actions, self.advantage, networks, last)

    def average(self, network: Singles) -> Policy:
        """Return the average strategy that a network predicts."""
        players = self.game.num_players
        networks, weights = [network[None]] * players, [np.array([0.0, 1.0])] * players
        return Policy(
            self.game, self.encode, self.actions, self.strategy, networks, weights, True
        )

    def mixture(self, networks: list[list[Singles]]) -> Policy:
        """Return the average strategy as a mixture."""
        return self.policy(networks)

    def policy(self, networks: list[list[Singles]]) -> Policy:
        """Return the mixture as a policy."""
        weights = [mixture_weights(len(stored)) for stored in networks]
        return Policy(self.game, self.encode, self.actions, self.advantage, networks, weights)

    def draw(self, networks: list[list[Singles]], seed: int | None) -> Policy:
        """Sample one network of the mixture for each player independently."""
        return self.policy(networks).draw(seed)

    def advantages(self, networks: list[list[Singles]]) -> NoReturn:
        """Raise a ValueError: there is no table of all infosets."""
        raise self.no_table("advantages")

    def no_table(self, what: str) -> ValueError:
        """Return the error of a result that would need all infosets."""
        return ValueError(
            f"there is no table of {what} of {self.game!r}, because its tree is expanded on "
            "demand, so not all infosets are known; use run.average, run.current or "
            "run.draw(), which evaluate networks at any decision"
        )

    def state(self) -> dict[str, Array]:
        """Return the arrays that a file holds, by name: none besides networks and memories."""
        return {}


class _Traversals:
    """The traversals of a lane in progress."""

    def __init__(self, infosets: GrowingTree, lane: TraversalLane):
        number = lane.stop - lane.first
        self.infosets, self.lane, self.tree = infosets, lane, PartialTree(infosets.game)
        self.table = records(len(self.tree.owner), SEQUENCE)
        self.walks = records((number, 64), ENTRY)
        self.states = np.zeros((number, LINE), np.uint64)
        self.done, self.entered = np.zeros(number, np.int64), np.ones(number, np.int64)
        width = scratch_columns(infosets.sampling, infosets.actions, infosets.game)
        self.scratch = np.zeros((ROWS, width))
        self.features = [FeatureRows.empty(0, infosets.example.inputs, infosets.example.form)]
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
                self.walks = enlarged(self.walks, self.walks.shape[1] + 1, axis=1)
                frontier = np.empty(self.walks.size, np.int64)
            else:
                break

    def expand(self, histories: list[int]) -> None:
        """Expand histories, and evaluate the networks at the new infosets."""
        tree, before, most = self.tree, self.tree.num_infosets, self.infosets.actions
        for k in histories:
            tree.expand(k)
        new = slice(before, tree.num_infosets)
        if tree.num_infosets == before:
            return
        self.table = enlarged(self.table, len(tree.owner))
        num_actions = [len(actions) for actions in tree.actions_at[new]]
        legal = action_mask(num_actions, most, tree.game)
        features = self.infosets.encode(tree.labels[new])
        sigma, player = uniform_rows(legal), tree.infosets.player[new]
        for i in np.unique(player):
            network = self.lane.networks[i]
            rows = np.flatnonzero(player == i)
            if isinstance(network, Table):
                labels = [tree.labels[before + r] for r in rows.tolist()]
                sigma[rows] = network.play(labels, legal[rows])
            elif network is not None:
                sigma[rows] = network.play(features[rows], legal[rows])
        sequences = tree.infosets.start[new][:, None] + np.arange(most)
        self.table.sigma[sequences[legal]] = sigma[legal]
        self.features.append(FeatureRows.of(features))
        self.num_actions += num_actions

    def ascend(self) -> Samples:
        """Evaluate all traversals, and return their samples."""
        visited, most = int(self.entered.sum()), self.infosets.actions
        played = visited if self.infosets.record_strategies else 0
        memories = Memories(new_buffer(visited, most), new_buffer(played, most))
        baseline, settings = np.zeros((self.tree.game.num_players, 0)), self.lane.settings
        ascend_all(self.tree.arrays, self.table, baseline, settings, self.group, memories)
        features = concatenate(self.features)
        num_actions = np.array(self.num_actions, np.int32)
        advantages, strategies = (
            memory.trimmed().with_features(features)._replace(num_actions=num_actions)
            for memory in memories
        )
        return Samples(advantages, strategies, visited)


def probe(game: Game) -> tuple[int, float, str]:
    """Play games at random; return the most actions, the largest payoff, the longest label.

    Raises
    ------
    ValueError
        If no player ever has a decision, or a game does not end.
    """
    rng, actions, payoff, label = random.Random(0), 0, 0.0, ""
    for _ in range(PROBES):
        h = game.root()
        path: list[Action] = []
        try:
            while not isinstance(node := game.node(h), Terminal) and len(path) <= MAX_LENGTH:
                legal = tuple(node.actions)
                if hasattr(node, "infoset"):
                    actions, label = max(actions, len(legal)), max(label, node.infoset, key=len)
                path.append(rng.choice(legal))
                h = game.step(h, path[-1])
        except Exception as error:
            name_history(error, game, tuple(path))
            raise
        if not isinstance(node, Terminal):
            raise ValueError(f"{game!r} did not end within a million actions")
        payoff = max(payoff, *(abs(float(u)) for u in node.utilities))
    if not actions:
        raise ValueError(f"{game!r} has no decisions: there is nothing to learn")
    return actions, payoff or 1.0, label
