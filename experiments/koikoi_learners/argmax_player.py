"""The argmax of a player that mixes."""

from __future__ import annotations

from typing import Self

from cfrlib.core.tree import Floats
from koikoi.afterstates import Afterstates
from koikoi.learners import NetworkPlayer
from koikoi.learners.segments import greedy


class ArgmaxPlayer(NetworkPlayer):
    """Takes the most probable action of the network that is sampled for the round.

    Examples
    --------
    >>> from koikoi import MiniKoiKoi
    >>> from koikoi_learners import ESCHER
    >>> run = ESCHER(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> ArgmaxPlayer.of(run.run(1, progress=False).player())
    NetworkPlayer of MiniKoiKoi.K8(): a network, (16,), by regret
    """

    @classmethod
    def of(cls, player: NetworkPlayer) -> Self:
        """Return the argmax of a player."""
        weights, kind = player.weights.tolist(), player.network.kind
        return cls(player.game, player.networks, player.hidden, player.rule, weights, kind)

    def sigma(self, n: int, after: Afterstates) -> Floats:
        """Return probability 1 for the most probable action of each decision."""
        chosen: Floats = greedy(super().sigma(n, after), after.start)
        return chosen
