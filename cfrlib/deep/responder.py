"""How much a policy can be exploited, from below: what a learner wins against it."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from cfrlib.core.files import PathLike
from cfrlib.deep.deep_cfr import OnDemandDeepCFR
from cfrlib.deep.policy import Encoder, Network, Policy


class Responder(OnDemandDeepCFR):
    """Deep CFR of one player, while all others play a policy that does not change.

    Against fixed opponents there is nothing to mix: regret matching goes over to a best
    response, as far as networks and walks tell which that is. So its gain is a lower bound of
    the exact one; that it finds nothing proves nothing.

    Parameters
    ----------
    policy : Policy
        Of all players. If it mixes, each lane of walks meets networks of its own.
    seat : int
        The player who learns; its part in `policy` plays no role.
    **options
        As for :class:`DeepCFR`: `traversals`, `sampling`, `advantage`, `memory`, `seed`.

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

    def __new__(cls, policy: Policy | None = None, *_: object, **options: Any) -> Self:
        """Return a responder for the policy's game."""
        return super().__new__(cls, policy.game if policy else None)

    def __init__(self, policy: Policy, seat: int, **options: Any):
        players = policy.game.num_players
        if seat not in range(players):
            raise ValueError(f"seat must lie between 0 and {players - 1}, got {seat!r}")
        self.opponents, self.seat = policy, seat
        options |= {"average": "mixture", "actions": policy.actions}
        super().__init__(policy.game, **options)
        self._learners = (seat,)

    def _find_encoder(self) -> Encoder:
        return self.opponents.encode

    def _present(self, t: int, lane: int) -> list[Network | None]:
        source = np.random.SeedSequence([int(self._key), t, lane])
        drawn = self.opponents.pick(np.random.default_rng(source))
        drawn[self.seat] = super()._present(t, lane)[self.seat]
        return drawn

    def save(self, path: PathLike) -> None:
        """Refuse: a run goes on from its file alone, and this one also needs the policy.

        Raises
        ------
        ValueError
            Always.
        """
        raise ValueError(
            "a responder cannot be saved, as the policy it plays against is not its own; save "
            "the run that made the policy, and train the responder again with the same seed"
        )

    def seated(self) -> Policy:
        """Return what the learner plays by now, to be seated among the others."""
        mine = self._networks[self.seat][-1:]
        networks = [np.array(mine)] * self.game.num_players
        weights = np.array([0.0, 1.0] if mine else [1.0])
        return Policy(
            self.game, self._encode, self._actions, self.advantage, networks,
            [weights] * self.game.num_players,
        )  # fmt: skip
