"""A look-ahead that samples deals by how well they explain the opponent's actions."""

from __future__ import annotations

import numpy as np

from cfrlib.core.rng import LINE, uniforms
from koikoi.learners import LookAheadPlayer, NetworkPlayer
from koikoi.learners.network_player import decision_time
from koikoi.learners.segments import segment_places
from koikoi.simulator import Numbers, Rounds, Simulator
from koikoi_learners.local_best_response import LocalBestResponse, set_hands


class WeightedLookAhead(LookAheadPlayer):
    """Looks one turn ahead in deals weighted by the opponent's past actions.

    The hands are sampled as by :class:`LocalBestResponse`, which expects an opponent that plays
    by the network and slips now and then.

    Parameters
    ----------
    player : NetworkPlayer
        With rule "value" and one network.
    playouts : int
        As for :class:`LookAheadPlayer`.
    hands : int
        Number of hands to weight.
    slip : float
        Assumed probability that the opponent acts uniformly at random.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from koikoi import MiniKoiKoi
    >>> from koikoi.learners import DeepMonteCarlo
    >>> game = MiniKoiKoi.K8()
    >>> network = DeepMonteCarlo(game, hidden=(16,)).player()  # not trained yet
    >>> player = WeightedLookAhead(network, playouts=64, hands=8)
    >>> len(cfr.match(Simulator(game), player, network, 4, seed=0).payoffs)
    4
    """

    def __init__(
        self,
        player: NetworkPlayer,
        playouts: int = 512,
        *,
        hands: int = 256,
        slip: float = 0.1,
    ):
        super().__init__(player, playouts)
        self.past = LocalBestResponse(player, hands=hands, slip=slip)
        self.watch = self.past.watch

    def imagine(
        self,
        simulator: Simulator,
        rounds: Rounds,
        rows: Numbers,
        deals: Numbers,
        stage: int,
        key: np.uint64,
    ) -> Rounds:
        """Return imagined deals, ``deals[d]`` of them for decision d, in order of decisions."""
        searched = np.flatnonzero(deals)
        rows, deals = rows[searched], deals[searched]
        keys = np.random.SeedSequence([int(key), stage]).generate_state(3, np.uint64)
        belief = self.past.belief(simulator, rounds, rows, keys[0])
        times = decision_time(rounds, rows)
        place = segment_places(deals)
        u = (place + np.repeat(uniforms(keys[1], times, rows), deals)) / np.repeat(deals, deals)
        # systematic resampling: equal steps through the cumulative weights of each decision
        sums = np.cumsum(belief.weight)
        before = np.repeat(np.concatenate([[0.0], sums])[belief.start[:-1]], deals)
        world = np.searchsorted(sums, before + u, side="right")
        world = np.clip(world, None, np.repeat(belief.start[1:] - 1, deals))
        copied, times = np.repeat(rows, deals), np.repeat(times, deals)
        imagined, state = rounds.take(copied), np.zeros(LINE, np.uint64)
        number = copied * self.playouts + place
        set_hands(imagined, belief.hand[world], keys[2], times, number, state)
        return imagined

    def __repr__(self) -> str:
        belief = f"hands={self.past.hands}, slip={self.past.slip}"
        return f"WeightedLookAhead({self.player!r}, playouts={self.playouts}, {belief})"
