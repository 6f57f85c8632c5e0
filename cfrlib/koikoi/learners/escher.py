"""ESCHER: regrets from a learned critic, without importance weights."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.tree import Floats
from cfrlib.koikoi.afterstates import Afterstates
from cfrlib.koikoi.learners.network_player import act_by, payoff_scale
from cfrlib.koikoi.learners.policy_gradient import CRITIC
from cfrlib.koikoi.learners.regret_networks import REGRET, Regrets
from cfrlib.koikoi.learners.segments import exploring, owners
from cfrlib.koikoi.learners.selfplay import (
    COUNTS,
    SAMPLES,
    CriticValues,
    Samples,
    Task,
    Window,
    follow,
    judged,
    samples_of,
    share_of,
    together,
)
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import Numbers


class ESCHER(Regrets):
    """Regret matching with networks, without importance weights: ESCHER on afterstates.

    Two networks. The *critic* judges the value of every action under the present strategy;
    from the *regret network* comes the mean regret of every action over all iterations, which
    is matched to play. In each iteration one player of every round, the traverser, explores,
    and the other follows the strategy. At each decision of the traverser

        r(a) = q(a) − v,        v = Σ_b σ(b) q(b)

    says the critic, for all actions at once; a reservoir keeps a fair sample of all that was
    ever said, and iteration t counts t³, as first strategies and critics are worth little. As
    every regret is as large as a payoff, nothing is divided by how likely it was to get there,
    which in Koi-Koi would be a factor of 40,320 for the order of eight cards alone. The critic
    is taught what the traverser was paid, or the value, under the strategy, of its next
    decision. The average strategy is the mixture of all regret networks kept, one for a round
    (Single Deep CFR).

    The regret network is taught q(a) on the table after the action and v on the table before
    it, and the regret is the difference of its answers. Of the table after the action alone no
    network could tell the regret, as the same table is the best that comes of one hand and the
    worst that comes of another.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden, rounds, steps, batch, rate, seed, jobs
        As for `DeepMonteCarlo`; both networks are trained alike.
    explore : float
        How often the traverser takes any action.
    memory : int
        How many rows the reservoir holds.
    power : float
        Iteration t counts t to this power, in the mean regrets and in the average.
    window : int
        Of how many iterations, the last ones, the critic learns at a time: with few it runs
        after the luck of the last rounds, with many after strategies that are gone.
    keep_every : int
        Keep the regret network of every so many iterations for the average.

    Notes
    -----
    After McAleer et al., *ESCHER* (2023), and Steinberger, *Single Deep CFR* (2019). Unlike
    there, networks see the table after an action, are trained further instead of anew, and the
    critic does not see the opponent's cards.

    Examples
    --------
    >>> from cfrlib.koikoi import MiniKoiKoi
    >>> run = ESCHER(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> run.run(3, progress=False).player()
    NetworkPlayer of MiniKoiKoi.K8(): one of 3 networks, (16,), by regret
    """

    FORMAT = "cfrlib regret learner 2"
    NETWORKS = 2
    _EXTRA: ClassVar = {**Regrets._EXTRA, "recent": SAMPLES, "lengths": COUNTS}

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
    ):
        super().__init__(
            game, hidden, rounds, steps, batch, rate, seed, jobs, memory, power, keep_every
        )
        self.explore = share_of("explore", explore)
        self._recent = Window(whole_number("window", window, 1))
        self._stores.append(self._recent)

    def _iterate(self, t: int) -> None:
        rng = self._chance(t)
        shares = self._shares(t, partial(play_by_regret, explore=self.explore))
        self.decisions += sum(decisions for decisions, _, _ in shares)
        critic = together([critic for _, critic, _ in shares])
        self._fit(CRITIC, self._recent.add(critic), rng)
        self._learn_regrets(t, together([values for _, _, values in shares]), rng)

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"explore": self.explore, "window": self._recent.length}


def play_by_regret(task: Task, explore: float) -> tuple[int, Samples, Samples]:
    """Return how many decisions a share has, and lessons for both networks."""
    judge, rounds, rng = task.begin()
    traverser = np.arange(task.rounds) % 2
    unit = payoff_scale(task.game)

    def decide(rows: Numbers, player: Numbers, after: Afterstates) -> tuple[Floats, Floats]:
        sigma = act_by("regret", judge, task.networks[REGRET], after, unit)
        explores = (player == traverser[rows])[owners(after.start)]
        mixed = exploring(sigma, after.start, explore)
        return sigma, np.where(explores, mixed, sigma)

    steps = follow(judge.describer, rounds, decide, rng)
    learns = np.stack([traverser == 0, traverser == 1])
    critic = partial(judge, task.networks[CRITIC])
    taught, verdicts = judged(critic, steps, rounds.paid, unit, learns)
    decisions = sum(len(step.rows) for step in steps)
    return decisions, taught, together([values_in(said) for said in verdicts])


def values_in(said: CriticValues) -> Samples:
    """Return the values of actions, where they are not known, and of their decisions."""
    after, learned = said.step.after, said.learned
    rows = said.rows & np.isnan(after.paid)
    return samples_of(
        [after.code[rows], after.before[learned]], [said.value[rows], said.mean[learned]]
    )
