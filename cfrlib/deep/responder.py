"""Lower bounds of exploitability: the gain of a best response learned by Deep CFR."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfrlib.core.files import PathLike
from cfrlib.deep.deep_cfr import DeepCFR
from cfrlib.deep.networks import Training
from cfrlib.deep.policy import Encoder, Network, Policy, Table
from cfrlib.montecarlo.schemes import Sampling
from cfrlib.strategy import InfosetTable, PartialStrategy, Strategy


class Responder(DeepCFR):
    """Deep CFR of one player against a fixed policy of the others.

    Against fixed opponents there is nothing to mix: regret matching approaches a best response,
    up to the error of sampling and of the networks. So the responder's gain is a lower bound of
    the exact one; that it finds none proves nothing.

    Parameters
    ----------
    policy : Policy, Strategy or PartialStrategy
        The policy of all players. If it is a mixture of networks, these are sampled for each
        lane of traversals. A table is uniform at infosets that it lacks.
    seat : int
        The player who learns; their part of `policy` is not used.
    traversals, sampling, advantage, memory, seed, actions, jobs
        As for :class:`DeepCFR`. A Policy already has its number of actions.

    Raises
    ------
    ValueError
        If an argument is not accepted; the message says what is.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.deep import DeepCFR, Training
    >>> options = {"traversals": 100, "advantage": Training((16,), 100, 64), "seed": 0}
    >>> run = DeepCFR(cfr.games.KuhnPoker(), on_demand=True, average="mixture", **options)
    >>> responder = Responder(run.current, 0, **options).run(3, progress=False)
    >>> responder.seated()
    Policy of KuhnPoker(): one network for each player
    """

    def __init__(
        self,
        policy: Policy | InfosetTable,
        seat: int,
        *,
        traversals: int = 1_000,
        sampling: str | Sampling = "external",
        advantage: Training | None = None,
        memory: int = 1_000_000,
        seed: int | None = None,
        actions: int | None = None,
        jobs: int | None = None,
    ):
        if not isinstance(policy, (Policy, Strategy, PartialStrategy)):
            raise ValueError(
                f"a responder needs a Policy, a Strategy or a PartialStrategy, got {policy!r}; "
                "against other players, use cfrlib.TrainedResponse"
            )
        players = policy.game.num_players
        if seat not in range(players):
            raise ValueError(f"seat must lie between 0 and {players - 1}, got {seat!r}")
        self.opponents, self.seat = policy, seat
        super().__init__(
            policy.game,
            traversals=traversals,
            sampling=sampling,
            average="mixture",
            advantage=advantage,
            memory=memory,
            seed=seed,
            on_demand=True,
            actions=policy.actions if isinstance(policy, Policy) else actions,
            jobs=jobs,
        )
        self._learners = [seat]

    def _find_encoder(self) -> Encoder:
        if isinstance(self.opponents, Policy):
            return self.opponents.encode
        return super()._find_encoder()

    def _current_networks(self, t: int, lane: int) -> list[Network | None]:
        networks: list[Any]  # tables play in the place of networks
        if isinstance(self.opponents, Policy):
            seed = np.random.SeedSequence([int(self._key), t, lane])
            networks = [*self.opponents.sample_networks(np.random.default_rng(seed))]
        else:
            networks = [Table(self.opponents)] * self.game.num_players
        networks[self.seat] = super()._current_networks(t, lane)[self.seat]
        return networks

    def save(self, path: PathLike) -> None:
        """Raise a ValueError: a file could not hold the opponents' policy.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "a responder cannot be saved, because a file does not hold the opponents' policy; "
            "save the run that made the policy, and train the responder again with the same "
            "seed"
        )

    def seated(self) -> Policy:
        """Return a policy in which the responder's seat plays its current network."""
        own = self._networks[self.seat][-1:]
        weights = np.array([0.0, 1.0] if own else [1.0])
        players, infosets = self.game.num_players, self._infosets
        networks, mixtures = [own] * players, [weights] * players
        return Policy(
            self.game,
            self._find_encoder(),
            infosets.actions,
            self.advantage,
            networks,
            mixtures,
        )
