"""PPO for Koi-Koi: policy gradients of sampled actions, with an entropy bonus."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from cfrlib.core.files import Fields
from cfrlib.core.tree import Floats
from koikoi.afterstates import Afterstates
from koikoi.learners.network_player import payoff_scale
from koikoi.learners.segments import segment_ids, softmax
from koikoi.learners.selfplay import (
    Samples,
    Step,
    Task,
    check_fraction,
    concatenate,
    play_out,
    samples_of,
)
from koikoi.rules import KoiKoi
from koikoi.simulator import Numbers
from koikoi_learners.policy_networks import (
    CRITIC,
    POLICY,
    PolicyNetworks,
    pad_decisions,
)

LEAST = 1e-6  # probability of a legal action, as the divisor of a ratio


class PPO(PolicyNetworks):
    """Proximal policy optimization with an entropy bonus, in self-play.

    There are two networks. The *policy network* outputs a logit z for each action; both
    players play the softmax of the logits. The *critic* predicts the value V of each decision.
    An action that was played is judged by its advantage alone, the generalized advantage
    estimate over the player's own decisions s, s′, …, the last of which earns the payoff:

        A(s) = δ(s) + λ A(s′),        δ(s) = V(s′) − V(s)

    In each iteration the policy network maximizes the mean of

        min(ρ A, clip(ρ, 1 − c, 1 + c) A) + τ H(σ),        ρ = σ(a) / σ_played(a)

    with advantages scaled to mean 0 and variance 1 and the strategy's entropy H. The critic is
    trained on A + V. The final strategy is the last one, by the average weights over the last
    tenth of the training. There is no guarantee: with τ too small, strategies may cycle.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden, rounds, steps, batch, rate, seed, jobs, network
        As for `DeepMonteCarlo`; both networks are trained alike.
    clip : float
        How far c the ratio may leave 1 before its gradient is cut off.
    entropy : float
        Weight τ of the entropy.
    trace : float
        λ: 1 judges an action by the payoff, 0 by the critic at the next decision.

    Notes
    -----
    After Schulman et al. (2017), with their generalized advantage estimation (2016). Rudolph
    et al. (2026) find PPO with more entropy than usual as good in games of hidden information
    as deep methods of the CFR family. Here the policy network has one output per table after
    an action, as in all learners of this package.

    Examples
    --------
    >>> from koikoi import MiniKoiKoi
    >>> run = PPO(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> run.run(3, progress=False).player()
    NetworkPlayer of MiniKoiKoi.K8(): a network, (16,), by logit
    """

    FORMAT = "koikoi.PPO 2"

    def __init__(
        self,
        game: KoiKoi,
        *,
        hidden: Sequence[int] = (256, 128),
        rounds: int = 1_000,
        steps: int = 60,
        batch: int = 1_024,
        rate: float = 1e-3,
        seed: int = 0,
        clip: float = 0.2,
        entropy: float = 0.03,
        trace: float = 0.95,
        jobs: int | None = None,
        network: str = "mlp",
    ):
        super().__init__(game, hidden, rounds, steps, batch, rate, seed, jobs, network)
        if not 0 < clip < 1:
            raise ValueError(f"clip must lie between 0 and 1, got {clip!r}")
        if not 0 <= entropy < np.inf:
            raise ValueError(f"entropy must be a number, at least 0, got {entropy!r}")
        self.clip, self.entropy = float(clip), float(entropy)
        self.trace = check_fraction("trace", trace)
        self._loss = partial(clipped_loss, clip=self.clip, entropy=self.entropy)

    def _iterate(self, t: int) -> None:
        rng = self._rng(t)
        results = self._run_tasks(t, partial(play_and_judge, trace=self.trace))
        self.decisions += sum(decisions for decisions, _, _ in results)
        self._fit(CRITIC, concatenate([critic for _, critic, _ in results]), rng)
        policy = concatenate([policy for _, _, policy in results])
        self._fit_policy(standardized(policy), rng, self._loss)

    def _options(self) -> Fields:
        more = {"clip": self.clip, "entropy": self.entropy, "trace": self.trace}
        return {**super()._options(), **more}


def play_and_judge(task: Task, trace: float) -> tuple[int, Samples, Samples]:
    """Play a task by the softmax of the policy network's logits.

    Returns
    -------
    decisions : int
        Number of decisions of both players.
    critic : Samples
        Tables before decisions, and the estimates of their values.
    policy : Samples
        Decisions with two or more actions, as by `pad_decisions`: the advantage of the action
        played, 0 for the others, and as weights the strategy.
    """
    network, rounds, rng = task.begin()
    scale = payoff_scale(task.game)

    def decide(rows: Numbers, player: Numbers, after: Afterstates) -> tuple[Floats, Floats]:
        sigma = softmax(network(task.networks[POLICY], after.code), after.start)
        return sigma, sigma

    steps = play_out(network.describer, rounds, decide, rng)
    before = [step.after.before for step in steps]
    ends = np.cumsum([len(rows) for rows in before])
    value = np.split(network(task.networks[CRITIC], np.concatenate(before)), ends[:-1])
    advantage = advantages(steps, value, np.stack([rounds.paid, -rounds.paid]) / scale, trace)
    critic = samples_of(before, [a + v for a, v in zip(advantage, value, strict=True)])
    judged = zip(steps, advantage, strict=True)
    policy = concatenate([judgment(step, a) for step, a in judged])
    counts = np.concatenate([np.diff(step.after.start) for step in steps])
    return int(ends[-1]), critic, pad_decisions(policy, counts[counts > 1], task.game.hand)


def advantages(
    steps: list[Step], value: list[Floats], payoff: Floats, trace: float
) -> list[Floats]:
    """Return the generalized advantage estimate of each decision.

    `payoff` has shape (players, rounds) and is overwritten.
    """
    later, following = np.zeros(payoff.shape), payoff  # at each player's next decision
    found: list[Floats] = []
    for step, v in zip(reversed(steps), reversed(value), strict=True):
        where = (step.player, step.rows)
        advantage = following[where] - v + trace * later[where]
        later[where], following[where] = advantage, v
        found.append(advantage)
    return found[::-1]


def judgment(step: Step, advantage: Floats) -> Samples:
    """Return the actions of a step's decisions with two or more, of which one was played."""
    start = step.after.start
    several = (np.diff(start) > 1)[segment_ids(start)]
    target = np.zeros(len(step.sigma))
    target[step.chosen] = advantage
    weight = np.maximum(step.sigma, LEAST)
    return Samples(step.after.code[several], target[several], weight[several])


def standardized(decisions: Samples) -> Samples:
    """Scale the advantages of the actions played to mean 0 and variance 1."""
    played = decisions.target != 0
    advantage = decisions.target[played]
    target = np.zeros(decisions.target.shape)
    target[played] = (advantage - advantage.mean()) / (advantage.std() + LEAST)
    return decisions._replace(target=target)


def clipped_loss(
    output: jax.Array, target: jax.Array, weight: jax.Array, *, clip: float, entropy: float
) -> jax.Array:
    """Return the negative objective of PPO, shapes (decisions, actions).

    The target is the advantage of the action played and 0 elsewhere. The weight is the
    strategy that played, and 0 for padding.
    """
    legal = weight > 0
    log_sigma = jax.nn.log_softmax(jnp.where(legal, output, -1e9), axis=1)
    sigma = jnp.exp(log_sigma)
    ratio = sigma / jnp.where(legal, weight, 1.0)
    gain = jnp.minimum(ratio * target, jnp.clip(ratio, 1 - clip, 1 + clip) * target)
    surprise = -jnp.sum(jnp.where(legal, sigma * log_sigma, 0.0), axis=1)
    return -jnp.mean(jnp.sum(gain, axis=1) + entropy * surprise)
