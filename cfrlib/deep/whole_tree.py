"""Deep CFR on a complete tree: each network is evaluated at all infosets at once.

The strategies are tables, as in Monte Carlo CFR. So the mixture and exploitability are exact,
and a baseline can be learned for each sequence.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from functools import partial

import jax
import numpy as np
import numpy.typing as npt

from cfrlib.core.files import Array
from cfrlib.core.rng import LINE
from cfrlib.core.sequence import SequenceForm, behavior
from cfrlib.core.tree import Floats, compile
from cfrlib.deep.features import digest, legal_actions, network_inputs, sequences_of
from cfrlib.deep.lanes import Samples, TraversalLane, run_lanes
from cfrlib.deep.memory import NONE, Memory, Singles, new_buffer
from cfrlib.deep.networks import Learner, Training
from cfrlib.deep.policy import Policy, match_advantages, mixture_weights
from cfrlib.deep.traversal import Memories, Workspace, collect_samples
from cfrlib.game import Game
from cfrlib.large.workers import cached_for_run
from cfrlib.montecarlo.schemes import ROWS, Sampling, most_entries, scratch_columns
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE
from cfrlib.montecarlo.tree_records import Records, TreeArrays, TreeRecords, records
from cfrlib.strategy import InfosetTable, Regrets, Strategy


class WholeTree:
    """The infosets of a complete tree, with the strategies that networks have produced there.

    Parameters
    ----------
    form : SequenceForm
        The game.
    sampling, advantage, strategy, features
        As for :class:`DeepCFR`.
    baseline : float or None
        Step size of the baseline.

    Attributes
    ----------
    actions : int
        The largest number of actions at an infoset.
    example : FeatureRows
        Features stored with each sample: none.
    size : int
        Number of weights of an advantage network.
    scale : float
        The largest payoff, the unit of advantages.
    features_digest : str or None
        A digest of the features, if the caller gave any.
    table : record array of SEQUENCE
        The current strategy.
    total : float array, shape (sequences,)
        The strategy sum Σ_t t · x_t, where x_t is the realization plan of iteration t.
    baseline : float array, shape (players, sequences), or (players, 0) without one
        The expected payoff of each player after each sequence, as far as it is learned.
    """

    example = NONE

    def __init__(
        self,
        form: SequenceForm,
        sampling: Sampling,
        advantage: Training,
        strategy: Training,
        features: npt.ArrayLike | None,
        baseline: float | None,
    ):
        self.form, tree = form, form.tree
        self.arrays = arrays = TreeRecords(tree).arrays
        self.game: Game = tree.game
        self.legal, self.sequences = legal_actions(tree), sequences_of(tree)
        self.actions = self.legal.shape[1]
        self.features, strategy_inputs = (
            network_inputs(tree, features, training.cell is not None)
            for training in (advantage, strategy)
        )
        self.features_digest = None if features is None else digest(self.features)
        self.learner = Learner(self.features, self.legal, advantage)
        self.distiller = Learner(strategy_inputs, self.legal, strategy, True)
        self.size = self.learner.size
        self.scale = float(np.abs(arrays.utility).max()) or 1.0
        self.table = records(form.num_sequences, SEQUENCE)
        self.table.sigma[:] = form.uniform()
        self.total = np.zeros(form.num_sequences)
        self.step_size = baseline or 0.0
        learned = form.num_sequences if baseline is not None else 0
        self.baseline = np.zeros((form.num_players, learned))
        width = scratch_columns(sampling, self.actions, self.game)
        self._sizes = most_entries(tree, sampling), width, self.actions
        self._workspace = _new_workspace(*self._sizes[:2], learned)
        self._run_id = uuid.uuid4().hex  # names the run in other processes

    def encode(self, labels: Sequence[str]) -> Singles:
        """Return the networks' inputs at the infosets with these labels."""
        rows = [self.form.infoset_number[label] for label in labels]
        return self.features[rows].astype(np.float32)

    # ---- iterations --------------------------------------------------------------------------

    def traverse(
        self, lanes: list[TraversalLane], memories: list[Memory], jobs: int | None
    ) -> int:
        """Run traversals, fill the memories, and return the number of histories visited."""
        settings = lanes[0].settings
        if jobs is not None:
            sigma = np.array(self.table.sigma)
            traverse = partial(_traverse, self._run_id, self.game, self._sizes, sigma)
            lanes = [lane._replace(networks=()) for lane in lanes]  # σ holds their strategies
            return run_lanes(traverse, lanes, memories, jobs)
        self._workspace.estimates[:] = 0.0
        filled = Memories(memories[settings.i], memories[-1])
        rest = settings, self._workspace, filled, lanes[0].first, lanes[-1].stop
        visited: int = collect_samples(self.arrays, self.table, self.baseline, *rest)
        if settings.t:  # iteration 0 only compiles
            self._update_baseline(settings.i)
        return visited

    def fit(
        self, key: jax.Array, memory: Memory, t: int, distill: bool = False
    ) -> tuple[Singles, float]:
        """Train a new network on a memory; return it and its loss.

        With `distill` the network predicts the average strategy.
        """
        return (self.distiller if distill else self.learner).fit(key, memory, t)

    def update(self, t: int, i: int, network: Singles) -> None:
        """Add player i's strategy of iteration t to the sum; replace it by the network's."""
        sigma = self.match(self.learner(network))
        first, stop = self.form.tree.player_sequences[i : i + 2]
        plans = self.form.plans(np.array(self.table.sigma))
        self.total[first:stop] += t * plans[first:stop]
        self.play(i, sigma)

    def match(self, advantages: Singles) -> Floats:
        """Apply regret matching to the advantages at all infosets."""
        return match_advantages(advantages, self.legal)

    def play(self, i: int, sigma: Floats) -> None:
        """Set player i's strategy; `sigma` has shape (infosets, actions)."""
        own = self._own(i)
        self.table.sigma[self.sequences[own]] = sigma[own]

    def _own(self, i: int) -> npt.NDArray[np.bool_]:
        """Return a mask of player i's legal actions, shape (infosets, actions)."""
        own: npt.NDArray[np.bool_] = (self.form.tree.infoset_player == i)[:, None]
        return self.legal & own

    def _update_baseline(self, i: int) -> None:
        """Move player i's baseline toward the mean of this iteration's estimates."""
        total, number = self._workspace.estimates.T
        sampled = np.flatnonzero(number)
        mean = total[sampled] / number[sampled]
        self.baseline[i, sampled] += self.step_size * (mean - self.baseline[i, sampled])

    # ---- results -----------------------------------------------------------------------------

    def current(self, networks: list[list[Singles]]) -> Strategy:
        """Return the strategy of the next iteration."""
        return Strategy.from_vector(self.form, np.array(self.table.sigma))

    def average(self, network: Singles) -> Strategy:
        """Return the average strategy that a network predicts."""
        sigma, t = self.form.uniform(), self.form.treeplexes
        sigma[self.sequences[self.legal]] = self.distiller(network)[self.legal]
        for start, stop in zip(t.infoset_start, t.infoset_stop, strict=True):
            sigma[start:stop] /= sigma[start:stop].sum()  # 1, but for single precision
        return Strategy.from_vector(self.form, sigma)

    def mixture(self, networks: list[list[Singles]]) -> Strategy:
        """Return the average strategy as a mixture, in exact probabilities."""
        sigma = np.empty(self.form.num_sequences)
        behavior(self.form.treeplexes, self.total, sigma)
        return Strategy.from_vector(self.form, sigma)

    def policy(self, networks: list[list[Singles]]) -> Policy:
        """Return the mixture as a policy."""
        training, weights = self.learner.training, [mixture_weights(len(n)) for n in networks]
        return Policy(self.game, self.encode, self.actions, training, networks, weights)

    def draw(self, networks: list[list[Singles]], seed: int | None) -> Strategy:
        """Sample one network of the mixture for each player independently."""
        rng, sampled = np.random.default_rng(seed), self.form.uniform()
        for i, stored in enumerate(networks):
            weights = mixture_weights(len(stored))
            n = int(rng.choice(len(weights), p=weights / weights.sum()))
            if n:
                own = self._own(i)
                sampled[self.sequences[own]] = self.match(self.learner(stored[n - 1]))[own]
        return Strategy.from_vector(self.form, sampled)

    def advantages(self, networks: list[list[Singles]]) -> InfosetTable:
        """Return the advantages that the last networks predict, in units of the game."""
        advantages = np.zeros(self.form.num_sequences)
        for i, stored in enumerate(networks):
            own = self._own(i)
            if stored:
                advantages[self.sequences[own]] = self.learner(stored[-1])[own] * self.scale
        return Regrets(self.form, advantages)

    def state(self) -> dict[str, Array]:
        """Return the arrays that a file holds, by name."""
        return {"sigma": self.table.sigma, "total": self.total, "baseline": self.baseline}


# ---- other processes -------------------------------------------------------------------------


def _new_workspace(entries: int, width: int, learned: int = 0) -> Workspace:
    """Return a workspace for traversals of at most `entries` histories."""
    return Workspace(
        records(entries, ENTRY),
        np.zeros((ROWS, width)),
        np.zeros(LINE, np.uint64),
        np.zeros((learned, 2)),
    )


def _traverse(
    run_id: str, game: Game, sizes: tuple[int, int, int], sigma: Floats, lane: TraversalLane
) -> Samples:
    """Run the traversals of a lane in a worker, which caches the game of the run.

    `sizes` are the entries of a walk, the columns of `scratch` and the most actions.
    """
    entries, width, actions = sizes

    def make() -> tuple[TreeArrays, Records, Workspace]:
        arrays, table = TreeRecords(compile(game)).arrays, records(len(sigma), SEQUENCE)
        return arrays, table, _new_workspace(entries, width)

    arrays, table, workspace = cached_for_run(run_id, make)
    table.sigma[:] = sigma
    settings, first, stop, _ = lane
    rows, baseline = entries * (stop - first), np.zeros((game.num_players, 0))
    memories = Memories(new_buffer(rows, actions), new_buffer(rows, actions))
    visited: int = collect_samples(
        arrays, table, baseline, settings, workspace, memories, first, stop
    )
    return Samples(memories.advantages.trimmed(), memories.strategies.trimmed(), visited)
