"""Base classes of the learners that play by regret matching on the output of a network."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.files import Array, Fields, Saved
from cfrlib.deep.memory import Singles
from koikoi.learners.network_player import NetworkPlayer
from koikoi.learners.selfplay import (
    Reservoir,
    Samples,
    SelfPlay,
    Window,
    check_fraction,
)
from koikoi.rules import KoiKoi

REGRET, CRITIC = 0, 1  # numbers of the networks


class RegretNetworks(SelfPlay):
    """Regret matching on a network, which keeps its earlier networks for the average strategy.

    A second network, the critic, trains on samples of the last `window` iterations.

    Attributes
    ----------
    explore, power : float
    keep_every : int
    """

    NETWORKS = 2

    def __init__(
        self,
        game: KoiKoi,
        *,
        explore: float,
        power: float,
        window: int,
        keep_every: int,
        **options: Any,
    ):
        super().__init__(game, **options)
        self.explore = check_fraction("explore", explore)
        if not 0 <= power < np.inf:
            raise ValueError(f"power must be a number, at least 0, got {power!r}")
        self.power = float(power)
        self.keep_every = whole_number("keep_every", keep_every, 1)
        self._kept: list[Singles] = []
        self._recent = Window(whole_number("window", window, 1), self._networks[CRITIC].width)
        self._buffers.append(self._recent)

    def _keep(self, t: int) -> None:
        """Keep the regret network of iteration t if it is due."""
        if t % self.keep_every == 0:
            self._kept.append(self._states[REGRET].averaged)

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
        weights = [(n * self.keep_every) ** self.power for n in range(1, len(self._kept) + 1)]
        return self._by_regret(self._kept, weights)

    @property
    def current(self) -> NetworkPlayer:
        """The current strategy, by the last regret network."""
        return self._by_regret([self._states[REGRET].averaged], [1.0])

    def _by_regret(self, networks: list[Singles], weights: list[float]) -> NetworkPlayer:
        kind = self._networks[REGRET].kind
        return NetworkPlayer(self.game, networks, self.hidden, "regret", weights, kind)

    def _options(self) -> Fields:
        return {
            **super()._options(),
            "explore": self.explore,
            "power": self.power,
            "window": self._recent.length,
            "keep_every": self.keep_every,
        }

    def _state(self) -> dict[str, Array]:
        size = self._networks[REGRET].size
        kept = np.array(self._kept, np.float32).reshape(-1, size)
        return {**super()._state(), "kept": kept}

    def _restore(self, file: Saved) -> None:
        super()._restore(file)
        shape = (self.iterations // self.keep_every, self._networks[REGRET].size)
        self._kept = list(file.array("kept", shape, np.float32))


class MeanRegrets(RegretNetworks):
    """Regret matching on a network of means over all iterations.

    The samples of all iterations share a reservoir; those of iteration t have weight t^power.
    """

    def __init__(self, game: KoiKoi, *, memory: int, **options: Any):
        super().__init__(game, **options)
        self._memory = Reservoir(
            whole_number("memory", memory, 1), self._networks[REGRET].width
        )
        self._buffers.append(self._memory)

    def _learn_regrets(self, t: int, samples: Samples, rng: np.random.Generator) -> None:
        """Add the samples of iteration t to the reservoir, train on it, keep the network."""
        iteration_weight = t**self.power
        self._memory.add(samples._replace(weight=samples.weight * iteration_weight), rng)
        all_samples = self._memory.samples
        weight = all_samples.weight / iteration_weight
        self._fit(REGRET, all_samples._replace(weight=weight), rng)
        self._keep(t)

    def _options(self) -> Fields:
        return {**super()._options(), "memory": self._memory.size}
