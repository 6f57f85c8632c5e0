"""Koi-Koi by policy gradient: magnetic mirror descent, softly greedy toward a critic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.tree import Floats
from cfrlib.koikoi.afterstates import Afterstates
from cfrlib.koikoi.learners.network_player import NetworkPlayer, payoff_scale
from cfrlib.koikoi.learners.segments import owners, softmax
from cfrlib.koikoi.learners.selfplay import (
    COUNTS,
    SAMPLES,
    CriticValues,
    Samples,
    SelfPlay,
    Task,
    Window,
    follow,
    judged,
    samples_of,
    together,
)
from cfrlib.koikoi.learners.value_network import choice_loss
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import Numbers

POLICY, CRITIC = 0, 1  # the networks


class MMDPolicyGradient(SelfPlay):
    """Policy gradient with entropy: magnetic mirror descent with networks.

    Two networks. The *critic* judges the value q of every action under the present strategy,
    as in `ESCHER`; the *policy network* answers a logit z of every action, and a
    softmax of them is played by both players, who need not explore. In iteration t it is
    taught, at all their decisions,

        σ(a) ∝ exp((z(a) + η A(a)) / (1 + η α)),        A(a) = q(a) − Σ_b σ(b) q(b)

    by cross entropy: the strategy that gains most by the critic's word, at the price of
    (1 / η) KL from the present one and of α KL from the uniform one, the *magnet*. Without it,
    strategies circle; with it, they settle where a softmax of values / α is the answer to
    itself. The magnet is let go slowly, α = `magnet` / √t. What is played in the end is the
    last strategy, by the mean of the network over the last tenth of the training.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden, rounds, steps, batch, rate, seed, jobs
        As for `DeepMonteCarlo`; both networks are trained alike.
    eta : float
        How far an iteration goes, in logits per unit of value.
    magnet : float
        How strong the magnet is in the first iteration, in units of value.
    window : int
        Of how many iterations, the last ones, the critic learns at a time.

    Notes
    -----
    After Sokota et al., *Magnetic mirror descent* (2023). Policy gradients with as much entropy
    are what Rudolph et al. (2025) found no worse than deep methods of the CFR family. The
    gradient is over all actions at once, from a critic, instead of over the one that was
    taken.

    Examples
    --------
    >>> from cfrlib.koikoi import MiniKoiKoi
    >>> run = MMDPolicyGradient(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> run.run(3, progress=False).player()
    NetworkPlayer of MiniKoiKoi.K8(): a network, (16,), by logit
    """

    FORMAT = "cfrlib policy learner 1"
    NETWORKS = 2
    _EXTRA: ClassVar = {"recent": SAMPLES, "lengths": COUNTS}

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
        eta: float = 10.0,
        magnet: float = 0.03,
        window: int = 5,
        jobs: int | None = None,
    ):
        super().__init__(game, hidden, rounds, steps, batch, rate, seed, jobs)
        for name, number in (("eta", eta), ("magnet", magnet)):
            if not number > 0:
                raise ValueError(f"{name} must be above 0, got {number!r}")
        self.eta, self.magnet = float(eta), float(magnet)
        self._recent = Window(whole_number("window", window, 1))
        self._stores.append(self._recent)

    def _iterate(self, t: int) -> None:
        rng = self._chance(t)
        play = partial(play_by_policy, eta=self.eta, alpha=self.magnet / t**0.5)
        shares = self._shares(t, play)
        self.decisions += sum(decisions for decisions, _, _ in shares)
        critic = together([critic for _, critic, _ in shares])
        self._fit(CRITIC, self._recent.add(critic), rng)
        self._imitate(together([choices for _, _, choices in shares]), rng)

    def _imitate(self, choices: Samples, rng: np.random.Generator) -> None:
        """Train the policy network on decisions, with about as many rows as another."""
        most = choices.code.shape[1]
        which = rng.integers(0, len(choices.code), (self.steps, max(self.batch // most, 1)))
        self._states[POLICY], self.losses[POLICY] = self._network.improve(
            self._states[POLICY], choices.code[which], choices.target[which],
            choices.weight[which], self.rate, choice_loss,
        )  # fmt: skip

    def player(self) -> NetworkPlayer:
        """Return the player by the settled policy network."""
        return NetworkPlayer(self.game, [self._states[POLICY].settled], self.hidden, "logit")

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {
            "eta": self.eta, "magnet": self.magnet, "window": self._recent.length,
        }  # fmt: skip


def play_by_policy(task: Task, eta: float, alpha: float) -> tuple[int, Samples, Samples]:
    """Return how many decisions a share has, and lessons for the critic and of logits."""
    judge, rounds, rng = task.begin()
    unit = payoff_scale(task.game)

    def decide(rows: Numbers, player: Numbers, after: Afterstates) -> tuple[Floats, Floats]:
        sigma = softmax(judge(task.networks[POLICY], after.code), after.start)
        return sigma, sigma

    steps = follow(judge.describer, rounds, decide, rng)
    both = np.ones((2, task.rounds), np.bool_)
    critic = partial(judge, task.networks[CRITIC])
    values, verdicts = judged(critic, steps, rounds.paid, unit, both)
    rows = samples_of(
        [v.step.after.code[v.rows] for v in verdicts],
        [descent(eta, alpha, v)[v.rows] for v in verdicts],
    )
    counts = np.concatenate([np.diff(v.step.after.start)[v.learned] for v in verdicts])
    decisions = sum(len(step.rows) for step in steps)
    return decisions, values, side_by_side(rows, counts, task.game.hand)


def descent(eta: float, alpha: float, said: CriticValues) -> Floats:
    """Return the strategy that one step of magnetic mirror descent comes to."""
    start = said.step.after.start
    advantage = said.value - said.mean[owners(start)]
    logits = np.log(np.maximum(said.step.sigma, 1e-30)) + eta * advantage
    return softmax(logits / (1 + eta * alpha), start)


def side_by_side(rows: Samples, counts: Numbers, most: int) -> Samples:
    """Return decisions as rows of actions, shape (decisions, most), of weight 0 beyond them."""
    most = max(most, 2)
    end = np.cumsum(counts)
    place = (
        np.repeat(np.arange(len(counts)), counts),
        np.arange(end[-1]) - np.repeat(end - counts, counts),
    )
    wide = [np.zeros((len(counts), most, *column.shape[1:]), column.dtype) for column in rows]
    for there, column in zip(wide, rows, strict=True):
        there[place] = column
    return Samples(*wide)
