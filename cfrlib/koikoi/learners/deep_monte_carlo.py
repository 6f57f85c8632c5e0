"""Koi-Koi by the values of actions: deep Monte Carlo."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from cfrlib.core.tree import Floats
from cfrlib.koikoi.afterstates import Afterstates
from cfrlib.koikoi.learners.network_player import NetworkPlayer, act_by, payoff_scale
from cfrlib.koikoi.learners.segments import exploring
from cfrlib.koikoi.learners.selfplay import (
    Samples,
    SelfPlay,
    Task,
    earned,
    follow,
    samples_of,
    share_of,
    together,
)
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import Numbers


class DeepMonteCarlo(SelfPlay):
    """Deep Monte Carlo: a network learns what each action paid in the end.

    Both players take the action that the network values most, now and then any other. The
    network is taught, for every action taken, what its player was paid. As payments are noisy
    and the network shakes with them, what plays in the end is its mean over the last tenth of
    the training. There is no average of strategies and no guarantee: where an equilibrium must
    mix, this cannot.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden : sequence of int
        Widths of the network's layers.
    rounds : int
        Of each iteration.
    steps, batch : int
        How many steps of Adam an iteration takes, on how many rows each, drawn with
        replacement from the iteration's own.
    rate : float
        Of learning.
    seed : int
    explore : float
        How often any action is taken.
    jobs : int, optional
        Let so many processes play, by joblib; the numbers are the same.

    Notes
    -----
    After Zha et al., *DouZero* (2021), and Guan et al. (2023) for Koi-Koi, with afterstates for
    their pairs of state and action. What stopping pays is known, and not asked.

    Examples
    --------
    >>> from cfrlib.koikoi import MiniKoiKoi
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

    FORMAT = "cfrlib monte carlo learner 1"
    NETWORKS = 1

    def __init__(
        self,
        game: KoiKoi,
        *,
        hidden: Sequence[int] = (256, 128),
        rounds: int = 2_000,
        steps: int = 24,
        batch: int = 1_024,
        rate: float = 1e-3,
        seed: int = 0,
        explore: float = 0.05,
        jobs: int | None = None,
    ):
        super().__init__(game, hidden, rounds, steps, batch, rate, seed, jobs)
        self.explore = share_of("explore", explore)

    def _play(self) -> Callable[[Task], tuple[int, Samples]]:
        """Return how a share of an iteration is played."""
        return partial(play_by_value, explore=self.explore)

    def _iterate(self, t: int) -> None:
        shares = self._shares(t, self._play())
        self.decisions += sum(decisions for decisions, _ in shares)
        self._fit(0, together([lesson for _, lesson in shares]), self._chance(t))

    def player(self) -> NetworkPlayer:
        """Return the player that takes what the settled network values most."""
        return NetworkPlayer(self.game, [self._states[0].settled], self.hidden, "value")

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"explore": self.explore}


def play_by_value(task: Task, explore: float) -> tuple[int, Samples]:
    """Return how many decisions a share has, and what each action taken paid."""
    judge, rounds, rng = task.begin()
    unit = payoff_scale(task.game)

    def decide(rows: Numbers, player: Numbers, after: Afterstates) -> tuple[Floats, Floats]:
        sigma = act_by("value", judge, task.networks[0], after, unit)
        return sigma, exploring(sigma, after.start, explore)

    steps = follow(judge.describer, rounds, decide, rng)
    codes, targets = [], []
    for step in steps:
        learned = np.isnan(step.after.paid[step.chosen])
        codes.append(step.after.code[step.chosen[learned]])
        rows, player = step.rows[learned], step.player[learned]
        targets.append(earned(player, rounds.paid[rows], unit))
    lesson = samples_of(codes, targets)
    return sum(len(step.rows) for step in steps), lesson
