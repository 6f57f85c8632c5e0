"""Base class of the learners that play by the softmax of a policy network's logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from cfrlib.core.files import Fields
from koikoi.learners.network_player import NetworkPlayer
from koikoi.learners.selfplay import Samples, SelfPlay
from koikoi.simulator import Numbers

POLICY, CRITIC = 0, 1  # numbers of the networks


class PolicyNetworks(SelfPlay):
    """A policy network and a critic; the player is the last policy, not an average."""

    NETWORKS = 2

    def _fit_policy(
        self,
        decisions: Samples,
        rng: np.random.Generator,
        loss: Callable[[Any, Any, Any], jax.Array],
    ) -> None:
        """Train the policy network; a batch has about as many rows as for the critic."""
        most = decisions.code.shape[1]
        which = rng.integers(0, len(decisions.code), (self.steps, max(self.batch // most, 1)))
        self._states[POLICY], self.losses[POLICY] = self._networks[POLICY].improve(
            self._states[POLICY],
            decisions.code[which],
            decisions.target[which],
            decisions.weight[which],
            self.rate,
            loss,
        )

    def _options(self) -> Fields:
        return {**super()._options(), "network": self._networks[POLICY].kind}

    def player(self) -> NetworkPlayer:
        """Return the player by the averaged policy network."""
        weights, kind = [self._states[POLICY].averaged], self._networks[POLICY].kind
        return NetworkPlayer(self.game, weights, self.hidden, "logit", network=kind)


def pad_decisions(rows: Samples, counts: Numbers, most: int) -> Samples:
    """Pad the actions of each decision with weight 0 to shape (decisions, most)."""
    most = max(most, 2)
    end = np.cumsum(counts)
    place = (
        np.repeat(np.arange(len(counts)), counts),
        np.arange(end[-1]) - np.repeat(end - counts, counts),
    )
    wide = [np.zeros((len(counts), most, *column.shape[1:]), column.dtype) for column in rows]
    for padded, column in zip(wide, rows, strict=True):
        padded[place] = column
    return Samples(*wide)
