"""Deep Monte Carlo for Koi-Koi: regress action values on the payoffs of played rounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from cfrlib.core.files import Fields
from cfrlib.core.tree import Floats
from koikoi.afterstates import Afterstates
from koikoi.learners.network_player import (
    NetworkPlayer,
    action_probabilities,
    payoff_scale,
)
from koikoi.learners.segments import mix_uniform
from koikoi.learners.selfplay import (
    Samples,
    SelfPlay,
    Task,
    check_fraction,
    concatenate,
    payoffs_of,
    play_out,
    samples_of,
)
from koikoi.rules import KoiKoi
from koikoi.simulator import Numbers

HIDDEN = (256, 128)  # widths of the layers


class DeepMonteCarlo(SelfPlay):
    """Deep Monte Carlo: a network learns the final payoff of each action.

    Both players are ε-greedy in the values of one network. Its target, for each action played,
    is the payoff of the round to that player. Payoffs are noisy and so are the weights, so the
    final player uses the average weights over the last tenth of the training. There is no
    average of strategies and no guarantee: where an equilibrium must mix, this learner cannot.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden : sequence of int
        Widths of the network's layers.
    rounds : int
        Rounds per iteration.
    steps, batch : int
        Adam steps per iteration, and rows per step, sampled with replacement from the
        iteration's rows.
    rate : float
        Learning rate.
    seed : int
    explore : float
        ε: the probability of sampling an action uniformly.
    jobs : int, optional
        Number of joblib workers that play the rounds. The results do not depend on it.
    network : "mlp" or "transformer"
        An MLP sees the table. A small Transformer reads the order of play besides, and its
        summary joins the table as the input of an MLP.

    Notes
    -----
    After Zha et al., *DouZero* (2021), and Guan et al. (2023) for Koi-Koi, with afterstates in
    place of pairs of state and action. The value of stopping is known and not predicted.

    Examples
    --------
    >>> from koikoi import MiniKoiKoi
    >>> run = DeepMonteCarlo(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> run.run(3, progress=False)
    DeepMonteCarlo of MiniKoiKoi.K8(): 3 iterations, 300 rounds, 911 decisions
    >>> run.player()
    NetworkPlayer of MiniKoiKoi.K8(): a network, (16,), by value

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/run.npz")
    ...     DeepMonteCarlo.load(f"{folder}/run.npz", run.game).iterations
    3
    """

    FORMAT = "koikoi.DeepMonteCarlo 2"
    NETWORKS = 1

    def __init__(
        self,
        game: KoiKoi,
        *,
        hidden: Sequence[int] = HIDDEN,
        rounds: int = 2_000,
        steps: int = 24,
        batch: int = 1_024,
        rate: float = 1e-3,
        seed: int = 0,
        explore: float = 0.05,
        jobs: int | None = None,
        network: str = "mlp",
    ):
        super().__init__(game, hidden, rounds, steps, batch, rate, seed, jobs, network)
        self.explore = check_fraction("explore", explore)

    def _play(self) -> Callable[[Task], tuple[int, Samples]]:
        """Return the function that plays a task."""
        return partial(play_by_value, explore=self.explore)

    def _iterate(self, t: int) -> None:
        results = self._run_tasks(t, self._play())
        self.decisions += sum(decisions for decisions, _ in results)
        self._fit(0, concatenate([samples for _, samples in results]), self._rng(t))

    def player(self) -> NetworkPlayer:
        """Return the player that is greedy in the values of the averaged network."""
        weights, kind = [self._states[0].averaged], self._networks[0].kind
        return NetworkPlayer(self.game, weights, self.hidden, "value", network=kind)

    def _options(self) -> Fields:
        kind = self._networks[0].kind
        return {**super()._options(), "explore": self.explore, "network": kind}


def play_by_value(task: Task, explore: float) -> tuple[int, Samples]:
    """Play a task ε-greedily; return the number of decisions, and each action's payoff."""
    network, rounds, rng = task.begin()
    scale = payoff_scale(task.game)

    def decide(rows: Numbers, player: Numbers, after: Afterstates) -> tuple[Floats, Floats]:
        sigma = action_probabilities("value", network, task.networks[0], after, scale)
        return sigma, mix_uniform(sigma, after.start, explore)

    steps = play_out(network.describer, rounds, decide, rng)
    codes, targets = [], []
    for step in steps:
        unknown = np.isnan(step.after.paid[step.chosen])
        codes.append(step.after.code[step.chosen[unknown]])
        rows, player = step.rows[unknown], step.player[unknown]
        targets.append(payoffs_of(player, rounds.paid[rows], scale))
    return sum(len(step.rows) for step in steps), samples_of(codes, targets)
