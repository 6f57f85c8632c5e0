"""Policy gradient for Koi-Koi: magnetic mirror descent with a learned critic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.files import Fields
from cfrlib.core.tree import Floats
from koikoi.afterstates import Afterstates
from koikoi.learners.network_player import NetworkPlayer, payoff_scale
from koikoi.learners.segments import segment_ids, segment_places, softmax
from koikoi.learners.selfplay import (
    CriticValues,
    Samples,
    SelfPlay,
    Task,
    Window,
    concatenate,
    critic_targets,
    play_out,
    samples_of,
)
from koikoi.learners.value_network import choice_loss
from koikoi.rules import KoiKoi
from koikoi.simulator import Numbers

POLICY, CRITIC = 0, 1  # numbers of the networks


class MMDPolicyGradient(SelfPlay):
    """Policy gradient with entropy: magnetic mirror descent with networks.

    There are two networks. The *critic* predicts the value q of each action under the current
    strategy, as in `ESCHER`. The *policy network* outputs a logit z for each action; both
    players play the softmax of the logits, without further exploration. In iteration t the
    policy network is trained, at all decisions, by cross entropy with the target

        σ(a) ∝ exp((z(a) + η A(a)) / (1 + η α)),        A(a) = q(a) − Σ_b σ(b) q(b)

    This strategy maximizes the critic's value minus (1 / η) times the KL divergence from the
    current strategy minus α times the KL divergence from the uniform strategy, the *magnet*.
    Without the magnet, strategies cycle; with it, they converge to the equilibrium in which
    each strategy is the softmax of its own values / α. The magnet is annealed, α = `magnet` /
    √t. The final strategy is the last one, not an average over iterations; it uses the policy
    network's average weights over the last tenth of the training.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden, rounds, steps, batch, rate, seed, jobs, network
        As for `DeepMonteCarlo`; both networks are trained alike.
    eta : float
        Step size η, in logits per unit of value.
    magnet : float
        Strength α of the magnet in the first iteration, in units of value.
    window : int
        The critic trains on samples of the last `window` iterations.

    Notes
    -----
    After Sokota et al., *Magnetic mirror descent* (2023). Rudolph et al. (2026) found policy
    gradients with as much entropy no worse than deep methods of the CFR family. The gradient
    here is over all actions at once, by a critic, instead of over the sampled action.

    Examples
    --------
    >>> from koikoi import MiniKoiKoi
    >>> run = MMDPolicyGradient(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> run.run(3, progress=False).player()
    NetworkPlayer of MiniKoiKoi.K8(): a network, (16,), by logit
    """

    FORMAT = "koikoi.MMDPolicyGradient 2"
    NETWORKS = 2

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
        network: str = "mlp",
    ):
        super().__init__(game, hidden, rounds, steps, batch, rate, seed, jobs, network)
        for name, number in (("eta", eta), ("magnet", magnet)):
            if not number > 0:
                raise ValueError(f"{name} must be above 0, got {number!r}")
        self.eta, self.magnet = float(eta), float(magnet)
        width = self._networks[CRITIC].width
        self._recent = Window(whole_number("window", window, 1), width)
        self._buffers.append(self._recent)

    def _iterate(self, t: int) -> None:
        rng = self._rng(t)
        play = partial(play_by_policy, eta=self.eta, alpha=self.magnet / t**0.5)
        results = self._run_tasks(t, play)
        self.decisions += sum(decisions for decisions, _, _ in results)
        critic = concatenate([critic for _, critic, _ in results])
        self._fit(CRITIC, self._recent.add(critic), rng)
        self._fit_policy(concatenate([policy for _, _, policy in results]), rng)

    def _fit_policy(self, decisions: Samples, rng: np.random.Generator) -> None:
        """Train the policy network; a batch has about as many rows as for the critic."""
        most = decisions.code.shape[1]
        which = rng.integers(0, len(decisions.code), (self.steps, max(self.batch // most, 1)))
        self._states[POLICY], self.losses[POLICY] = self._networks[POLICY].improve(
            self._states[POLICY],
            decisions.code[which],
            decisions.target[which],
            decisions.weight[which],
            self.rate,
            choice_loss,
        )

    def player(self) -> NetworkPlayer:
        """Return the player by the averaged policy network."""
        weights, kind = [self._states[POLICY].averaged], self._networks[POLICY].kind
        return NetworkPlayer(self.game, weights, self.hidden, "logit", network=kind)

    def _options(self) -> Fields:
        more = {"eta": self.eta, "magnet": self.magnet, "window": self._recent.length}
        return {**super()._options(), **more, "network": self._networks[POLICY].kind}


def play_by_policy(task: Task, eta: float, alpha: float) -> tuple[int, Samples, Samples]:
    """Play a task by the softmax of the policy network's logits.

    Returns
    -------
    decisions : int
        Number of decisions of both players.
    critic, policy : Samples
        For the critic, and for the policy network, the latter as by `pad_decisions`.
    """
    network, rounds, rng = task.begin()
    scale = payoff_scale(task.game)

    def decide(rows: Numbers, player: Numbers, after: Afterstates) -> tuple[Floats, Floats]:
        sigma = softmax(network(task.networks[POLICY], after.code), after.start)
        return sigma, sigma

    steps = play_out(network.describer, rounds, decide, rng)
    both = np.ones((2, task.rounds), np.bool_)
    samples, critic_values = critic_targets(
        network, task.networks[CRITIC], steps, rounds.paid, scale, both
    )
    rows = samples_of(
        [v.step.after.code[v.rows] for v in critic_values],
        [mirror_descent(eta, alpha, v)[v.rows] for v in critic_values],
    )
    counts = np.concatenate([np.diff(v.step.after.start)[v.selected] for v in critic_values])
    decisions = sum(len(step.rows) for step in steps)
    return decisions, samples, pad_decisions(rows, counts, task.game.hand)


def mirror_descent(eta: float, alpha: float, critic_values: CriticValues) -> Floats:
    """Return the strategy after one step of magnetic mirror descent."""
    start = critic_values.step.after.start
    advantage = critic_values.value - critic_values.mean[segment_ids(start)]
    logits = np.log(np.maximum(critic_values.step.sigma, 1e-30)) + eta * advantage
    return softmax(logits / (1 + eta * alpha), start)


def pad_decisions(rows: Samples, counts: Numbers, most: int) -> Samples:
    """Pad the actions of each decision with weight 0 to shape (decisions, most)."""
    most = max(most, 2)
    place = np.repeat(np.arange(len(counts)), counts), segment_places(counts)
    wide = [np.zeros((len(counts), most, *column.shape[1:]), column.dtype) for column in rows]
    for padded, column in zip(wide, rows, strict=True):
        padded[place] = column
    return Samples(*wide)
