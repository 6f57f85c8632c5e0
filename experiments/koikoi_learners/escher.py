"""ESCHER for Koi-Koi: regrets from a learned critic, without importance weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np

from cfrlib.core.files import Fields
from cfrlib.core.tree import Floats
from koikoi.afterstates import Afterstates
from koikoi.learners.network_player import action_probabilities, payoff_scale
from koikoi.learners.segments import mix_uniform, segment_ids
from koikoi.learners.selfplay import (
    CriticValues,
    Samples,
    Task,
    concatenate,
    critic_targets,
    play_out,
    samples_of,
)
from koikoi.rules import KoiKoi
from koikoi.simulator import Numbers
from koikoi_learners.regret_networks import CRITIC, REGRET, MeanRegrets


class ESCHER(MeanRegrets):
    """ESCHER on afterstates: regret matching with networks, without importance weights.

    There are two networks. The *critic* predicts the value q of each action under the current
    strategy. The *regret network* predicts each action's mean regret over all iterations;
    regret matching on it is the current strategy. In each iteration one player of every round,
    the traverser, explores, and the other one follows the strategy. At each decision of the
    traverser the critic yields the regrets

        r(a) = q(a) − v,        v = Σ_b σ(b) q(b)

    of all actions at once. A reservoir holds a uniform sample of the regrets of all iterations.
    Iteration t has weight t³, since early strategies and critics are poor. All regrets are of
    the size of a payoff, because nothing is divided by a sampling probability; in Koi-Koi that
    would be a factor of 40,320 for the order of eight cards alone. The critic's target is the
    value of the traverser's next decision under the strategy, or the payoff. The average
    strategy is a mixture of all regret networks kept, one sampled per round (Single Deep CFR).

    The targets of the regret network are q(a) for the table after the action and v for the
    table before it; the regret is the difference of its outputs. No network could predict the
    regret from the table after the action alone: the same table may be the best result of one
    hand and the worst result of another.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden, rounds, steps, batch, rate, seed, jobs, network
        As for `DeepMonteCarlo`; both networks are trained alike.
    explore : float
        Probability with which the traverser samples an action uniformly.
    memory : int
        Capacity of the reservoir, in rows.
    power : float
        Iteration t has weight t^power, in the mean regrets and in the average strategy.
    window : int
        The critic trains on samples of the last `window` iterations. If there are few, it
        fits their luck; if there are many, strategies of the past.
    keep_every : int
        Keep the regret network of every `keep_every`-th iteration for the average strategy.

    Notes
    -----
    After McAleer et al., *ESCHER* (2023), and Steinberger, *Single Deep CFR* (2019). In
    contrast to these, networks see the table after an action and are trained further instead
    of from scratch. Unlike that of the published method, the critic sees only what the player
    sees.

    Examples
    --------
    >>> from koikoi import MiniKoiKoi
    >>> run = ESCHER(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> run.run(3, progress=False).player()
    NetworkPlayer of MiniKoiKoi.K8(): one of 3 networks, (16,), by regret
    """

    FORMAT = "koikoi.ESCHER 5"

    def __init__(
        self,
        game: KoiKoi,
        *,
        hidden: Sequence[int] = (256, 128),
        rounds: int = 1_000,
        steps: int = 30,
        batch: int = 1_024,
        rate: float = 1e-3,
        seed: int = 0,
        explore: float = 0.25,
        memory: int = 300_000,
        power: float = 3.0,
        window: int = 10,
        keep_every: int = 1,
        jobs: int | None = None,
        network: str = "mlp",
    ):
        super().__init__(
            game,
            hidden=hidden,
            rounds=rounds,
            steps=steps,
            batch=batch,
            rate=rate,
            seed=seed,
            jobs=jobs,
            explore=explore,
            memory=memory,
            power=power,
            window=window,
            keep_every=keep_every,
            network=network,
        )

    def _iterate(self, t: int) -> None:
        rng = self._rng(t)
        play = partial(play_by_regret, explore=self.explore, learn=regret_targets)
        results = self._run_tasks(t, play)
        self.decisions += sum(decisions for decisions, _, _ in results)
        critic = concatenate([critic for _, critic, _ in results])
        self._fit(CRITIC, self._recent.add(critic), rng)
        self._learn_regrets(t, concatenate([values for _, _, values in results]), rng)

    def _options(self) -> Fields:
        return {**super()._options(), "network": self._networks[REGRET].kind}


def play_by_regret(
    task: Task, explore: float, learn: Callable[[CriticValues], Samples]
) -> tuple[int, Samples, Samples]:
    """Play a task by regret matching.

    Parameters
    ----------
    task : Task
    explore : float
        Probability with which the traverser samples an action uniformly.
    learn : function
        Returns the samples for the regret network at decisions of the traversers.

    Returns
    -------
    decisions : int
        Number of decisions of both players.
    critic, regrets : Samples
        For the critic, and for the regret network.
    """
    network, rounds, rng = task.begin()
    traverser = np.arange(task.rounds) % 2
    scale = payoff_scale(task.game)

    def decide(rows: Numbers, player: Numbers, after: Afterstates) -> tuple[Floats, Floats]:
        sigma = action_probabilities("regret", network, task.networks[REGRET], after, scale)
        explores = (player == traverser[rows])[segment_ids(after.start)]
        mixed = mix_uniform(sigma, after.start, explore)
        return sigma, np.where(explores, mixed, sigma)

    steps = play_out(network.describer, rounds, decide, rng)
    learns = np.stack([traverser == 0, traverser == 1])
    critic, weights = task.architecture(CRITIC), task.networks[CRITIC]
    samples, critic_values = critic_targets(critic, weights, steps, rounds.paid, scale, learns)
    decisions = sum(len(step.rows) for step in steps)
    return decisions, samples, concatenate([learn(v) for v in critic_values])


def regret_targets(critic_values: CriticValues) -> Samples:
    """Return the samples for a regret network: values of actions and of their decisions.

    Stop actions are left out, since their values are known.
    """
    after, selected = critic_values.step.after, critic_values.selected
    rows = critic_values.rows & np.isnan(after.paid)
    return samples_of(
        [after.code[rows], after.before[selected]],
        [critic_values.value[rows], critic_values.mean[selected]],
    )
