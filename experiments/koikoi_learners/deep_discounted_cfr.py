"""Deep discounted CFR for Koi-Koi: cumulative regrets, bootstrapped on the last network."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from cfrlib.core.files import Fields
from cfrlib.core.tree import Floats
from koikoi.learners.segments import segment_ids
from koikoi.learners.selfplay import CriticValues, Samples, concatenate, samples_of
from koikoi.rules import KoiKoi
from koikoi_learners.escher import play_by_regret
from koikoi_learners.regret_networks import CRITIC, REGRET, RegretNetworks

PAIRS = {"mlp": "pair", "transformer": "transformer pair"}  # with the table before an action


class DeepDiscountedCFR(RegretNetworks):
    """Deep CFR without a memory: the regret network learns from its own last output.

    The *regret network* predicts each action's cumulative regret R, divided by the number of
    iterations so that its output keeps its size. Regret matching on it is the current
    strategy. The rounds are played as in `ESCHER`, and a *critic* yields the regrets of this
    iteration, r(a) = q(a) − Σ_b σ(b) q(b). The target in iteration t is

        R_t(a) / t,    R_t(a) = d_t max(R_{t−1}(a), 0) + r(a),    d_t = (t−1)^α / ((t−1)^α + 1)

    where R_{t−1} comes from the network itself, so that no sample of an earlier iteration is
    needed. This is Double Neural CFR, which Chapter 11 runs on Leduc poker, with the clipping
    of CFR+ and the discount of DCFR. With a large α and `clip` 0 it adds up regrets as there,
    but for the first iteration, which counts half. The average strategy is a mixture of the
    networks kept, iteration t with weight t^power.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden, rounds, steps, batch, rate, seed, jobs, network
        As for `DeepMonteCarlo`; both networks are trained alike.
    alpha : float
        Exponent α of the discount.
    clip : 0 or 1
        Whether the last regrets are clipped at 0.
    explore, power, window, keep_every
        As for `ESCHER`.

    Notes
    -----
    Bootstrapping: Li et al., *Double Neural CFR* (2020). Clipping and discounting of the
    bootstrapped regrets: Xu et al., *VR-DeepDCFR+* (2025). Differences to the latter: regrets
    come from a critic, as in ESCHER, where they come from sampled values with a baseline; the
    average strategy is a mixture of networks, where theirs is learned by a network; and the
    network is trained further instead of from scratch.

    Examples
    --------
    >>> from koikoi import MiniKoiKoi
    >>> run = DeepDiscountedCFR(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> run.run(3, progress=False).player()
    NetworkPlayer of MiniKoiKoi.K8(): one of 3 networks (pair), (16,), by regret
    """

    FORMAT = "koikoi.DeepDiscountedCFR 4"

    def __init__(
        self,
        game: KoiKoi,
        *,
        hidden: Sequence[int] = (256, 128),
        rounds: int = 4_000,
        steps: int = 120,
        batch: int = 1_024,
        rate: float = 1e-3,
        seed: int = 0,
        alpha: float = 2.0,
        clip: int = 1,
        explore: float = 0.25,
        power: float = 2.0,
        window: int = 3,
        keep_every: int = 1,
        jobs: int | None = None,
        network: str = "mlp",
    ):
        if network not in PAIRS:
            raise ValueError(f"network must be one of {tuple(PAIRS)}, got {network!r}")
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
            power=power,
            window=window,
            keep_every=keep_every,
            network=(PAIRS[network], network),
        )
        if not alpha >= 0:
            raise ValueError(f"alpha must be a number, at least 0, got {alpha!r}")
        if clip not in (0, 1):
            raise ValueError(f"clip must be 0 or 1, got {clip!r}")
        self.alpha, self.clip = float(alpha), int(clip)

    def _iterate(self, t: int) -> None:
        rng = self._rng(t)
        play = partial(play_by_regret, explore=self.explore, learn=instant_regrets)
        results = self._run_tasks(t, play)
        self.decisions += sum(decisions for decisions, _, _ in results)
        critic = concatenate([critic for _, critic, _ in results])
        self._fit(CRITIC, self._recent.add(critic), rng)
        regrets = concatenate([regrets for _, _, regrets in results])
        last = self._networks[REGRET](self._states[REGRET].weights, regrets.code)
        target = bootstrapped(t, last, regrets.target, self.alpha, self.clip)
        self._fit(REGRET, regrets._replace(target=target), rng)
        self._keep(t)

    def _options(self) -> Fields:
        more = {"alpha": self.alpha, "clip": self.clip, "network": self._networks[CRITIC].kind}
        return {**super()._options(), **more}


def bootstrapped(t: int, last: Floats, regret: Floats, alpha: float, clip: int) -> Floats:
    """Return R_t / t from R_{t−1} / (t − 1) and the regrets of iteration t."""
    total = (t - 1) * (np.maximum(last, 0.0) if clip else last)
    return (discount(t, alpha) * total + regret) / t


def discount(t: int, alpha: float) -> float:
    """Return the factor of DCFR for the regrets before iteration t.

    Examples
    --------
    >>> discount(2, 1.5), round(discount(5, 1.5), 3), discount(5, float("inf"))
    (0.5, 0.889, 1.0)
    """
    return 1.0 / (1.0 + float(t - 1) ** -alpha) if t > 1 else 0.0


def instant_regrets(critic_values: CriticValues) -> Samples:
    """Return the samples for a regret network: tables after and before each action, and r."""
    after, rows = critic_values.step.after, critic_values.rows
    regret = critic_values.value - critic_values.mean[segment_ids(after.start)]
    return samples_of([after.pairs[rows]], [regret[rows]])
