"""A player that looks one turn ahead with a network of values."""

from __future__ import annotations

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.jit import kernel
from cfrlib.core.rng import LINE, State, begin
from cfrlib.core.tree import Floats
from koikoi.afterstates import Afterstates
from koikoi.learners.network_player import (
    NetworkPlayer,
    decision_time,
    payoff_scale,
    values_of,
)
from koikoi.learners.segments import greedy
from koikoi.players import redeal_unseen
from koikoi.simulator import OVER, PLAY, Numbers, Rounds, Simulator, Table

DECISIONS = 64  # evaluated together, which bounds the memory


@kernel
def redeal_all(
    rounds: Rounds,
    deals: int,
    table: Table,
    key: np.uint64,
    times: Numbers,
    numbers: Numbers,
    state: State,
) -> None:
    """Deal the unseen cards of each decision anew, in `deals` rounds each."""
    for d in range(len(times)):
        begin(state, key, times[d], 0, numbers[d])
        for k in range(deals):
            redeal_unseen(rounds, d * deals + k, table, state)


class LookAheadPlayer:
    r"""Searches one turn ahead in imagined deals, with a network at the end of the search.

    The player imagines K deals of the cards that it does not see, uniformly at random. In each
    deal d it tries each of its actions a: it draws, the opponent replies, and both follow the
    network until it is the player's turn again, at the table :math:`s_d(a)`, or until the round
    is over. The value of the action is

    .. math:: Q(a) = \frac{1}{K} \sum_{d=1}^{K} v_d(a),
              \qquad v_d(a) = \max_b q(s_d(a), b),

    where q is the network's value of an action; at the end of a round, :math:`v_d(a)` is the
    payoff. The player takes the action with the highest Q. All actions are tried in the same
    deals, so that most of the luck cancels in their differences.

    Imagined deals ignore what the opponent's moves reveal about their hand. The opponent of
    the search sees only what they would see, and so does the network at its end.

    Parameters
    ----------
    player : NetworkPlayer
        With rule "value" and one network.
    deals : int
        Number of imagined deals, K.

    Raises
    ------
    ValueError
        If the player is of another kind.

    Examples
    --------
    >>> import koikoi
    >>> from koikoi.learners import DeepMonteCarlo
    >>> game = koikoi.MiniKoiKoi.K8()
    >>> player = LookAheadPlayer(DeepMonteCarlo(game, hidden=(16,)).player(), deals=8)
    >>> simulator = Simulator(game)
    >>> rounds = simulator.deal(2, seed=0)
    >>> player(simulator, rounds, np.array([0, 1]), np.uint64(0)).shape
    (2,)
    """

    def __init__(self, player: NetworkPlayer, deals: int = 32):
        if player.rule != "value" or len(player.networks) != 1:
            raise ValueError(f"needs a player by value with one network, got {player!r}")
        self.player, self.deals = player, whole_number("deals", deals, 1)

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds."""
        actions = np.empty(len(rows), np.int64)
        for begun in range(0, len(rows), DECISIONS):
            some = slice(begun, begun + DECISIONS)
            after, values = self.values(simulator, rounds, rows[some], key)
            actions[some] = after.action[_best(values, after)]
        return actions

    def values(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> tuple[Afterstates, Floats]:
        """Return the actions in these rounds and the value of each, in points."""
        after = self.player.network.describer.after(rounds, rows)
        imagined = rounds.take(np.repeat(rows, self.deals))
        times, state = decision_time(rounds, rows), np.zeros(LINE, np.uint64)
        redeal_all(imagined, self.deals, simulator.table, key, times, rows, state)
        return after, self.search(simulator, imagined, after)

    def search(self, simulator: Simulator, imagined: Rounds, after: Afterstates) -> Floats:
        """Return the value of each action in given deals.

        Parameters
        ----------
        simulator : Simulator
        imagined : Rounds
            The same number of deals for each decision, one decision after the other.
        after : Afterstates
            The actions of the decisions.
        """
        decisions = len(after.start) - 1
        deals = len(imagined) // decisions
        which = np.repeat(np.arange(decisions), np.diff(after.start))
        tried = imagined.take((which[:, None] * deals + np.arange(deals)).ravel())
        me = tried.player.copy()
        simulator.act(tried, np.arange(len(me)), np.repeat(after.action, deals))
        while True:
            my_turn = (tried.stage == PLAY) & (tried.player == me)
            going = np.flatnonzero((tried.stage != OVER) & ~my_turn)
            if not len(going):
                break
            simulator.act(tried, going, self._choose(tried, going)[0])
        values = np.where(me == 0, tried.paid, -tried.paid).astype(float)
        leaves = np.flatnonzero(tried.stage != OVER)
        if len(leaves):
            values[leaves] = self._choose(tried, leaves)[1]
        mean: Floats = values.reshape(-1, deals).mean(axis=1)
        return mean

    def _choose(self, rounds: Rounds, rows: Numbers) -> tuple[Numbers, Floats]:
        """Return the network's action in each of these rounds and its value, in points."""
        network, scale = self.player.network, payoff_scale(self.player.game)
        after = network.describer.after(rounds, rows)
        values = scale * values_of(network, self.player.networks[0], after, scale)
        best = _best(values, after)
        return after.action[best], values[best]

    def __repr__(self) -> str:
        return f"LookAheadPlayer({self.player!r}, deals={self.deals})"


def _best(values: Floats, after: Afterstates) -> Numbers:
    """Return the row of the highest value of each decision, the first of equal ones."""
    rows: Numbers = np.flatnonzero(greedy(values, after.start))
    return rows
