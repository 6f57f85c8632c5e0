"""A player that looks one turn ahead with a network of values."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

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
from koikoi.learners.segments import greedy, segment_ids, segment_places, segment_sum
from koikoi.players import redeal_unseen
from koikoi.simulator import OVER, PLAY, Numbers, Rounds, Simulator, Table

DECISIONS = 32  # searched together, which bounds the memory


@kernel
def redeal_all(
    rounds: Rounds,
    start: Numbers,
    table: Table,
    key: np.uint64,
    times: Numbers,
    stage: int,
    numbers: Numbers,
    state: State,
) -> None:
    """Deal the unseen cards anew; decision d has the rounds ``start[d] … start[d + 1] - 1``."""
    for d in range(len(times)):
        begin(state, key, times[d], stage, numbers[d])
        for r in range(start[d], start[d + 1]):
            redeal_unseen(rounds, r, table, state)


class Search(NamedTuple):
    """What a search found.

    Attributes
    ----------
    after : Afterstates
        The actions of the decisions.
    values : float array, shape (actions,)
        The mean value of each action, in points; NaN where it is the only one.
    playouts : int array, shape (actions,)
        The number of imagined deals in which it was tried.
    chosen : int array, shape (decisions,)
        The row of the chosen action of each decision.
    """

    after: Afterstates
    values: Floats
    playouts: Numbers
    chosen: Numbers


class LookAheadPlayer:
    r"""Searches one turn ahead in imagined deals, with a network at the end of the search.

    The player imagines deals of the cards that it does not see, uniformly at random. In each
    deal d it tries actions a: it draws, the opponent replies, and both follow the network until
    it is the player's turn again, at the table :math:`s_d(a)`, or until the round is over. The
    value of the action in this deal is

    .. math:: v_d(a) = \max_b q(s_d(a), b),

    where q is the network's value of an action; at the end of a round, :math:`v_d(a)` is the
    payoff.

    A decision with n actions spends its playouts in :math:`\lceil \log_2 n \rceil` stages with
    equal shares. Each stage tries all remaining actions in the same new deals, so that most of
    the luck cancels in their differences, and keeps the half (rounded up) with the highest
    means over all stages so far.

    Imagined deals ignore what the opponent's moves reveal about their hand. The opponent of
    the search sees only what they would see, and so does the network at its end.

    Parameters
    ----------
    player : NetworkPlayer
        With rule "value" and one network.
    playouts : int
        Number of playouts of a decision; exceeded only where it allows less than one for each
        action and stage.

    Raises
    ------
    ValueError
        If the player is of another kind.

    Notes
    -----
    Sequential halving is from Karnin, Koren and Somekh, *Almost Optimal Exploration in
    Multi-Armed Bandits* (2013).

    Examples
    --------
    >>> import koikoi
    >>> from koikoi.learners import DeepMonteCarlo
    >>> game = koikoi.MiniKoiKoi.K8()
    >>> player = LookAheadPlayer(DeepMonteCarlo(game, hidden=(16,)).player(), playouts=64)
    >>> simulator = Simulator(game)
    >>> rounds = simulator.deal(2, seed=0)
    >>> player(simulator, rounds, np.array([0, 1]), np.uint64(0)).shape
    (2,)
    """

    def __init__(self, player: NetworkPlayer, playouts: int = 512):
        if player.rule != "value" or len(player.networks) != 1:
            raise ValueError(f"needs a player by value with one network, got {player!r}")
        self.player, self.playouts = player, whole_number("playouts", playouts, 1)

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds."""
        actions = np.empty(len(rows), np.int64)
        for begun in range(0, len(rows), DECISIONS):
            some = slice(begun, begun + DECISIONS)
            found = self.search(simulator, rounds, rows[some], key)
            actions[some] = found.after.action[found.chosen]
        return actions

    def search(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Search:
        """Search the decisions of these rounds by sequential halving."""
        after = self.player.network.describer.after(rounds, rows)
        decision, count = segment_ids(after.start), np.diff(after.start)
        stages = np.ceil(np.log2(count)).astype(np.int64)
        total, playouts = np.zeros(len(decision)), np.zeros(len(decision), np.int64)
        left = np.ones(len(decision), bool)
        for stage in range(stages.max(initial=0)):
            tried = np.flatnonzero(left & (stage < stages)[decision])
            many = np.bincount(decision[tried], minlength=len(rows))
            share = self.playouts // np.maximum(1, many * stages)
            deals = np.where(many, np.maximum(1, share), 0)
            imagined = self.imagine(simulator, rounds, rows, deals, stage, key)
            each = deals[decision[tried]]  # of each action
            start = np.concatenate([[0], np.cumsum(each)])
            first = (np.cumsum(deals) - deals)[decision[tried]]  # deal of each action
            deal = segment_places(each) + np.repeat(first, each)
            actions = np.repeat(after.action[tried], each)
            values = self.expected(simulator, imagined.take(deal), actions)
            total[tried] += segment_sum(values, start)
            playouts[tried] += each
            left[tried] = better_half(total[tried], decision[tried], many)
        mean = np.divide(total, playouts, out=np.full(len(total), np.nan), where=playouts > 0)
        return Search(after, mean, playouts, np.flatnonzero(left))

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
        imagined = rounds.take(np.repeat(rows, deals))
        start, state = np.concatenate([[0], np.cumsum(deals)]), np.zeros(LINE, np.uint64)
        times = decision_time(rounds, rows)
        redeal_all(imagined, start, simulator.table, key, times, stage, rows, state)
        return imagined

    def expected(self, simulator: Simulator, rounds: Rounds, actions: Numbers) -> Floats:
        """Apply an action in each round, play on in place, and return the values."""
        me = rounds.player.copy()
        simulator.act(rounds, np.arange(len(me)), actions)
        while True:
            my_turn = (rounds.stage == PLAY) & (rounds.player == me)
            going = np.flatnonzero((rounds.stage != OVER) & ~my_turn)
            if not len(going):
                break
            simulator.act(rounds, going, self._choose(rounds, going)[0])
        values = np.where(me == 0, rounds.paid, -rounds.paid).astype(float)
        leaves = np.flatnonzero(rounds.stage != OVER)
        if len(leaves):
            values[leaves] = self._choose(rounds, leaves)[1]
        return values

    def _choose(self, rounds: Rounds, rows: Numbers) -> tuple[Numbers, Floats]:
        """Return the network's action in each of these rounds and its value, in points."""
        network, scale = self.player.network, payoff_scale(self.player.game)
        after = network.describer.after(rounds, rows)
        values = scale * values_of(network, self.player.networks[0], after, scale)
        best = np.flatnonzero(greedy(values, after.start))
        return after.action[best], values[best]

    def __repr__(self) -> str:
        return f"LookAheadPlayer({self.player!r}, playouts={self.playouts})"


def better_half(total: Floats, decision: Numbers, many: Numbers) -> npt.NDArray[np.bool_]:
    """Return which actions are among the better half of their decision, rounded up.

    Examples
    --------
    >>> total, decision = np.array([1.0, 5.0, 3.0, 2.0, 4.0]), np.array([0, 0, 0, 2, 2])
    >>> better_half(total, decision, np.array([3, 0, 2]))
    array([False,  True,  True, False,  True])
    """
    order = np.lexsort((-total, decision))
    better = np.zeros(len(total), bool)
    better[order] = segment_places(many) < (1 + np.repeat(many, many)) // 2
    return better
