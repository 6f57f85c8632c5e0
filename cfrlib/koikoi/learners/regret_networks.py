"""Base class of the learners that play by regret matching on the output of a network."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from cfrlib.core import schema
from cfrlib.core.checks import whole_number
from cfrlib.core.files import Arrays, require
from cfrlib.deep.memory import Singles
from cfrlib.koikoi.learners.network_player import NetworkPlayer
from cfrlib.koikoi.learners.selfplay import (
    COUNTS,
    SAMPLES,
    Reservoir,
    Samples,
    SelfPlay,
)
from cfrlib.koikoi.rules import KoiKoi

REGRET = 0  # number of the network


class RegretNetworks(SelfPlay):
    """Regret matching on a network of mean values, which keeps its earlier networks.

    The targets of the network are the value q(a) of each action, for the table after it, and
    the value v = Σ_b σ(b) q(b) of each decision, for the table before it. The samples of all
    iterations share a reservoir, so the network predicts the means over the iterations, and
    the mean regret is the difference r(a) = q(a) − v.

    Attributes
    ----------
    keep_every : int
    """

    _EXTRA: ClassVar[Mapping[str, schema.Array]] = {
        "memory": SAMPLES,
        "seen": schema.Array((1,), schema.integers(0)),
        "kept": schema.Array((None, "weights"), schema.fits_float32),
        "kept_at": COUNTS,
    }

    def __init__(
        self,
        game: KoiKoi,
        *,
        memory: int,
        power: float,
        keep_every: int,
        **options: Any,
    ):
        super().__init__(game, **options)
        if not 0 <= power < np.inf:
            raise ValueError(f"power must be a number, at least 0, got {power!r}")
        self.power = float(power)
        self.keep_every = whole_number("keep_every", keep_every, 1)
        self._memory = Reservoir(whole_number("memory", memory, 1))
        self._buffers.append(self._memory)
        self._kept: list[Singles] = []
        self._kept_at: list[int] = []

    def _learn_regrets(self, t: int, values: Samples, rng: np.random.Generator) -> None:
        """Add the values of iteration t to the reservoir, and train on it."""
        iteration_weight = t**self.power
        self._memory.add(values._replace(weight=values.weight * iteration_weight), rng)
        samples = self._memory.samples
        self._fit(REGRET, samples._replace(weight=samples.weight / iteration_weight), rng)
        if t % self.keep_every == 0:
            self._kept.append(self._states[REGRET].averaged)
            self._kept_at.append(t)

    def _playing(self) -> tuple[Singles, ...]:
        """Return the weights that the rounds are played with, averaged for the regret network.

        Mean regrets shrink from iteration to iteration; the noise of a network does not.
        """
        _, *others = super()._playing()
        return (self._states[REGRET].averaged, *others)

    def player(self) -> NetworkPlayer:
        """Return the average strategy: a mixture of the regret networks kept so far."""
        if not self._kept:
            raise ValueError(
                f"no network is kept yet: run {self.keep_every} iterations or more"
            )
        weights = [t**self.power for t in self._kept_at]
        return NetworkPlayer(self.game, self._kept, self.hidden, "regret", weights)

    @property
    def current(self) -> NetworkPlayer:
        """The current strategy, by the last regret network."""
        return NetworkPlayer(self.game, [self._states[REGRET].averaged], self.hidden, "regret")

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {
            "memory": self._memory.size,
            "power": self.power,
            "keep_every": self.keep_every,
        }

    def _arrays(self) -> Arrays:
        kept = np.array(self._kept, np.float64).reshape(len(self._kept), self._network.size)
        at = np.array(self._kept_at, np.float64)
        return super()._arrays() | {"kept": kept, "kept_at": at}

    def _restore(self, steps: list[int], arrays: Arrays) -> None:
        super()._restore(steps, arrays)
        self._kept = list(arrays["kept"].astype(np.float32))
        self._kept_at = arrays["kept_at"].astype(np.int64).tolist()
        every = self.keep_every
        due = list(range(every, self.iterations + 1, every))
        require(self._kept_at == due and len(self._kept) == len(due), "kept")
