"""Local best response in Koi-Koi, and why it bounds exploitability from below.

Whatever a strategy ρ wins against a target σ, a best response wins at least as much. In a
zero-sum game the values of the seats cancel, u₀(σ) + u₁(σ) = 0, so with ρ in either seat

    exploitability(σ) = ½ Σᵢ max_π [uᵢ(π, σ) − uᵢ(σ)]
                      = ½ [max_π u₀(π, σ₁) + max_π u₁(σ₀, π)]
                      ≥ ½ [u₀(ρ, σ₁) + u₁(σ₀, ρ)]

The last line is the mean of ``cfr.exploitability_bound(Simulator(game), σ, ρ)`` and, with fewer
rounds to play, of ``cfr.match(Simulator(game), ρ, σ, deals)``, in points per round. It is only
a lower bound: a small or negative one proves nothing.

:class:`cfrlib.LocalBestResponse` does the same in any game. It samples its belief from whole
deals and calls the rules in Python. Here a hand is sampled from the unseen cards alone, because
a deal of the full game almost never agrees with all that has been seen, and the compiled
simulator plays out thousands of worlds at once. The two share the resampling of worlds and the
choice of an action.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import uint64

from cfrlib.core.checks import whole_number
from cfrlib.core.jit import inner, kernel
from cfrlib.core.rng import LINE, State, begin, uniform, uniforms
from cfrlib.core.tree import Floats
from cfrlib.playing.lower_bound import clear_choice, resample
from koikoi.afterstates import Afterstates
from koikoi.learners import segments
from koikoi.learners.network_player import NetworkPlayer, decision_time
from koikoi.learners.segments import segment_ids, segment_sum
from koikoi.learners.selfplay import check_fraction, payoffs_of
from koikoi.players import unseen
from koikoi.simulator import (
    NEVER,
    OVER,
    PLAY,
    Bits,
    Numbers,
    Rounds,
    Simulator,
    Table,
    bit,
    is_special_hand,
    lowest,
    nth,
    size,
    without_lowest,
)

MOST_ROUNDS = 1 << 16  # playouts in lockstep
MOVES = 128  # random numbers reserved per playout; a round has fewer decisions


# ---- hands of the opponent -------------------------------------------------------------------


@inner
def select(cards: np.uint64, places: np.uint64) -> np.uint64:
    """Return the cards of a set at these places, counted from its first card."""
    chosen = uint64(0)
    while places:
        if places & uint64(1):
            chosen |= bit(lowest(cards))
        places >>= uint64(1)
        cards = without_lowest(cards)
    return chosen


@inner
def next_combination(places: np.uint64) -> np.uint64:
    """Return the next larger number with equally many bits, at least one (Gosper's hack)."""
    ripple = places + (places & (~places + uint64(1)))
    larger: np.uint64 = ripple | ((places ^ ripple) >> uint64(lowest(places) + 2))
    return larger


@kernel
def list_hands(rounds: Rounds, r: int, networks: int, out: Bits, network: Numbers) -> None:
    """Write all possible hands of the opponent in round r, each with every network."""
    hidden, held = unseen(rounds, r), size(rounds.hands[r, 1 - rounds.player[r]])
    places = (uint64(1) << uint64(held)) - uint64(1)
    for w in range(0, len(out), networks):
        hand = select(hidden, places)
        for n in range(networks):
            out[w + n], network[w + n] = hand, n
        if places:
            places = next_combination(places)


@kernel
def sample_hands(
    rounds: Rounds,
    r: int,
    sums: Floats,
    key: np.uint64,
    t: int,
    state: State,
    out: Bits,
    network: Numbers,
) -> None:
    """Sample possible hands of the opponent in round r, and networks by weight.

    `sums` are the cumulative weights of the networks.
    """
    other = 1 - rounds.player[r]
    hidden, held = unseen(rounds, r), size(rounds.hands[r, other])
    begin(state, key, t, other, r)
    for w in range(len(out)):
        rest, hand = hidden, uint64(0)
        for left in range(size(hidden), size(hidden) - held, -1):
            card = nth(rest, int(uniform(state) * left))
            rest ^= bit(card)
            hand |= bit(card)
        out[w] = hand
        network[w] = np.searchsorted(sums, uniform(state) * sums[-1], side="right")


@kernel
def set_hands(
    rounds: Rounds, hand: Bits, key: np.uint64, t: Numbers, number: Numbers, state: State
) -> None:
    """Set the opponents' hands, and shuffle the other unseen cards to form the stock."""
    for w in range(len(hand)):
        begin(state, key, t[w], 0, number[w])
        rest = unseen(rounds, w) & ~hand[w]
        rounds.hands[w, 1 - rounds.player[w]] = hand[w]
        for left in range(size(rest), 0, -1):
            card = nth(rest, int(uniform(state) * left))
            rest ^= bit(card)
            rounds.order[w, rounds.order.shape[1] - left] = card


@kernel
def exclude_special_hands(hand: Bits, table: Table, weight: Floats) -> None:
    """Set the weight of special hands to 0: with these as dealt, the round had not begun."""
    for w in range(len(hand)):
        if is_special_hand(hand[w], table):
            weight[w] = 0.0


class Belief(NamedTuple):
    """Distributions over the opponent's hand and network, one for each of some decisions.

    Attributes
    ----------
    start : int array, shape (decisions + 1,)
        Decision d has the rows ``start[d] … start[d + 1] - 1``.
    hand : uint64 array, shape (rows,)
        Sets of cards.
    network : int array, shape (rows,)
        The network of the target that plays the round.
    weight : float array, shape (rows,)
        Probabilities, which sum to 1 at each decision.
    """

    start: Numbers
    hand: Bits
    network: Numbers
    weight: Floats


class PastAction(NamedTuple):
    """Actions in some rounds, with the public state of each, without hands and stock."""

    rows: Numbers
    table: Rounds
    action: Numbers


# ---- local best response ---------------------------------------------------------------------


class LocalBestResponse:
    """Local best response to a network player: Bayesian beliefs and a one-step look-ahead.

    At each decision it samples worlds: a hand of the opponent, uniformly from the unseen cards,
    and a network n of the target. A world's weight is its posterior probability given the
    target's actions,

        ``P(hand, n) ∝ w_n Πₜ [(1 − slip) σ_n(aₜ | hand) + slip / |Aₜ|]``

    where w_n is the weight of network n in the target. Then it resamples some worlds by
    weight, each with a random stock, and plays out every action in all of them, with the
    target's networks in both seats. It takes the action of the highest mean payoff minus one
    standard error, relative to the target's own action, or that action if this is not
    positive: without the margin it would act on noise.

    It uses only what a player sees, the open cards and its own hand, and the past actions.
    :meth:`~koikoi.simulator.Simulator.play_rounds` reports these to `watch`; any other loop has
    to call it. A responder plays one batch of rounds at a time.

    Parameters
    ----------
    target : NetworkPlayer
        The player to exploit.
    samples : int
        Number of playouts per action; at least 2.
    hands : int
        Number of worlds to weight. If there are no more, all are used and the belief is exact.
    slip : float
        Assumed probability that the target acts uniformly at random; between 0 and 1. A greedy
        target has probability 0 on all actions but one, so without slips a few surprises rule
        out every hand; all worlds would then have the same weight.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    After Lisý & Bowling, *Equilibrium Approximation Quality of Current No-Limit Poker Bots*
    (2017). Their responder continues by checking and calling in poker, where the pot is known;
    this one continues with the target's own strategy. Only the simulator tells apart copies of
    a card that look alike: a played card counts as any of its copies in the hand.

    Examples
    --------
    >>> from koikoi.learners import DeepMonteCarlo
    >>> from koikoi import MiniKoiKoi
    >>> import cfrlib as cfr
    >>> from koikoi.simulator import Simulator
    >>> game = MiniKoiKoi.K8()
    >>> target = DeepMonteCarlo(game, hidden=(16,)).player()  # not trained yet
    >>> local = LocalBestResponse(target, samples=8)
    >>> cfr.exploitability_bound(Simulator(game), target, local, rounds=200, seed=0)
    exploitability ≥ +0.895 ± 0.176 (95 %, 200 rounds)
    """

    def __init__(
        self,
        target: NetworkPlayer,
        *,
        samples: int = 32,
        hands: int = 256,
        slip: float = 0.02,
    ):
        self.target = target
        self.samples = whole_number("samples", samples, 2)
        self.hands = whole_number("hands", hands, 1)
        self.slip = check_fraction("slip", slip)
        deck = target.game.deck
        self._first_copy = np.array([deck.index(name) for name in deck])
        self._copies = np.array(
            [sum(1 << c for c, other in enumerate(deck) if other == name) for name in deck],
            np.uint64,
        )
        self._past: list[PastAction] = []
        self._rounds = 0  # size of the watched batch

    # ---- the past ----------------------------------------------------------------------------

    def watch(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, actions: Numbers
    ) -> None:
        """Record the actions and public states of these rounds, without hands and stock."""
        self._forget(simulator, rounds, rows)
        table = rounds.take(rows)
        table.hands[:], table.order[:] = 0, 0
        self._past.append(PastAction(rows.copy(), table, actions.copy()))

    def _forget(self, simulator: Simulator, rounds: Rounds, rows: Numbers) -> None:
        """Drop the record of rounds that start anew.

        If the previous batch was larger, also drop the rounds that no longer exist.
        """
        new = (rounds.player[rows] == 0) & (rounds.stage[rows] == PLAY)
        new &= np.bitwise_count(rounds.hands[rows, 0]) == simulator.game.hand
        gone = np.concatenate([rows[new], np.arange(len(rounds), self._rounds)])
        self._rounds = len(rounds)
        if not len(gone):
            return
        others = [(past, np.flatnonzero(~np.isin(past.rows, gone))) for past in self._past]
        self._past = [
            PastAction(past.rows[keep], past.table.take(keep), past.action[keep])
            for past, keep in others
            if len(keep)
        ]

    # ---- the belief --------------------------------------------------------------------------

    def belief(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Belief:
        """Return the belief in these rounds, in which the responder is to move.

        Parameters
        ----------
        simulator : Simulator
        rounds : Rounds
        rows : int array, shape (decisions,)
        key : uint64
            Key of the random numbers.

        Raises
        ------
        ValueError
            If the responder has not watched one of these rounds from its beginning.
        """
        self._forget(simulator, rounds, rows)
        belief = self._prior(rounds, rows, key)
        held, opponent = belief.hand.copy(), 1 - rounds.player[rows]
        place = np.full(len(rounds), -1)
        place[rows] = np.arange(len(rows))
        for past in reversed(self._past):
            at = place[past.rows]
            keep = (at >= 0) & (past.table.player == opponent[at])
            if keep.any():
                self._reweight(past, at, keep, belief, held)
        if simulator.table.special != NEVER:
            exclude_special_hands(held, simulator.table, belief.weight)
        first = np.bitwise_count(held[belief.start[:-1]])
        if (first != simulator.game.hand).any():
            raise ValueError(
                "a local responder must watch a round from its beginning: let cfrlib.match "
                "call it, or call watch before every action of either player"
            )
        return belief._replace(weight=_normalized(belief.weight, belief.start))

    def _prior(self, rounds: Rounds, rows: Numbers, key: np.uint64) -> Belief:
        """Return all worlds of each decision, or a random sample, with their prior weights."""
        networks, other = len(self.target.networks), 1 - rounds.player[rows]
        held = np.bitwise_count(rounds.hands[rows, other]).astype(int)
        hidden = held + rounds.order.shape[1] - rounds.turned[rows]
        pairs = zip(hidden.tolist(), held.tolist(), strict=True)
        count = np.array([comb(n, k) for n, k in pairs]) * networks
        start = np.concatenate([[0], np.cumsum(np.minimum(count, self.hands))])
        hand, network = np.empty(start[-1], np.uint64), np.empty(start[-1], np.int64)
        weight, state = np.ones(start[-1]), np.zeros(LINE, np.uint64)
        sums, t = np.cumsum(self.target.weights), decision_time(rounds, rows)
        for n, (r, exhaustive) in enumerate(zip(rows, count <= self.hands, strict=True)):
            worlds = slice(start[n], start[n + 1])
            if exhaustive:
                list_hands(rounds, r, networks, hand[worlds], network[worlds])
                weight[worlds] = self.target.weights[network[worlds]]
            else:
                sample_hands(rounds, r, sums, key, t[n], state, hand[worlds], network[worlds])
        return Belief(start, hand, network, weight)

    def _reweight(
        self,
        past: PastAction,
        at: Numbers,
        keep: npt.NDArray[np.bool_],
        belief: Belief,
        held: Bits,
    ) -> None:
        """Multiply the weights by the likelihood of a past action of the opponent.

        `held` are the hands after that action. They are changed in place to those before it,
        so the past has to be processed backwards.
        """
        count = np.diff(belief.start)[at[keep]]
        source = np.repeat(np.flatnonzero(keep), count)
        begins = np.cumsum(count) - count
        world = np.arange(len(source)) + np.repeat(belief.start[at[keep]] - begins, count)
        table, action = past.table.take(source), past.action[source]
        played = table.stage == PLAY
        held[world[played]] |= np.uint64(1) << action[played].astype(np.uint64)
        table.hands[np.arange(len(world)), table.player] = held[world]
        belief.weight[world] *= self._likelihood(table, action, belief.network[world])

    def _likelihood(self, table: Rounds, action: Numbers, network: Numbers) -> Floats:
        """Return the target's probability of these actions, averaged over a card's copies."""
        likelihood = np.empty(len(action))
        every = np.arange(len(action))
        for some, after, sigma in self.target.strategies(table, every, network):
            decision = segment_ids(after.start)
            calls = table.stage[some[decision]] > PLAY + 1
            wanted, offered = action[some[decision]], after.action
            alike = self._first_copy[wanted] == self._first_copy[offered]
            same = np.where(calls, wanted == offered, alike)
            mixed = (1 - self.slip) * sigma + self.slip / np.diff(after.start)[decision]
            likelihood[some] = segment_sum(np.where(same, mixed, 0.0), after.start)

        played = np.flatnonzero(table.stage == PLAY)
        hand = table.hands[played, table.player[played]]
        likelihood[played] /= np.bitwise_count(hand & self._copies[action[played]])
        return likelihood

    # ---- the choice --------------------------------------------------------------------------

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds."""
        actions = self.target(simulator, rounds, rows, key)
        legal = np.bitwise_count(simulator.legal(rounds.take(rows)))
        choices = np.flatnonzero(legal > 1)
        most = max(self.hands, self.samples * int(legal.max(initial=1)))
        for some in np.array_split(choices, len(choices) * most // MOST_ROUNDS + 1):
            if len(some):
                actions[some] = self._choose(simulator, rounds, rows[some], actions[some], key)
        return actions

    def _choose(
        self,
        simulator: Simulator,
        rounds: Rounds,
        rows: Numbers,
        default: Numbers,
        key: np.uint64,
    ) -> Numbers:
        """Return the best action of each round; the default where none is clearly better."""
        belief_key, resample_key, deal_key, move_key = np.random.SeedSequence(
            int(key)
        ).generate_state(4, np.uint64)
        belief = self.belief(simulator, rounds, rows, belief_key)
        u = uniforms(resample_key, decision_time(rounds, rows), rows)
        worlds = resample(belief.weight, belief.start, self.samples, u)
        after = self.target.network.describer.after(rounds, rows)
        paid = self._play_out(
            simulator, rounds, rows, after, belief, worlds, deal_key, move_key
        )
        decision = segment_ids(after.start)
        is_default = after.action == default[decision]
        gain = paid - paid[is_default][decision]
        chosen = clear_choice(gain, after.start)
        return np.where(chosen >= 0, after.action[chosen], default)

    def _play_out(
        self,
        simulator: Simulator,
        rounds: Rounds,
        rows: Numbers,
        after: Afterstates,
        belief: Belief,
        worlds: Numbers,
        deal_key: np.uint64,
        move_key: np.uint64,
    ) -> Floats:
        """Return each action's payoffs to the responder, shape (actions, samples).

        All actions of a decision share its worlds and random numbers.
        """
        decision = np.repeat(segment_ids(after.start), self.samples)
        sample = np.tile(np.arange(self.samples), len(after.action))
        world = worlds[decision, sample]
        number, t = (
            rows[decision] * self.samples + sample,
            decision_time(rounds, rows)[decision],
        )
        imagined, seat = rounds.take(rows[decision]), rounds.player[rows[decision]]
        set_hands(imagined, belief.hand[world], deal_key, t, number, np.zeros(LINE, np.uint64))
        network_u = uniforms(move_key, MOVES * t, number)
        own_network = self.target.network_of(network_u)
        actions = np.repeat(after.action, self.samples)
        simulator.act(imagined, np.arange(len(decision)), actions)
        for step in range(1, MOVES):
            active = np.flatnonzero(imagined.stage != OVER)
            if not len(active):
                break
            u = uniforms(move_key, MOVES * t[active] + step, number[active])
            my_turn = imagined.player[active] == seat[active]
            network = np.where(my_turn, own_network[active], belief.network[world][active])
            actions = self.target.moves(imagined, active, network, u)
            simulator.act(imagined, active, actions)
        return payoffs_of(seat, imagined.paid, 1.0).reshape(-1, self.samples)

    def __repr__(self) -> str:
        return (
            f"LocalBestResponse to {self.target!r}: {self.samples} samples, {self.hands} hands"
        )


def _normalized(weight: Floats, start: Numbers) -> Floats:
    """Normalize the weights of each decision to sum to 1; uniform if all are 0."""
    total = segment_sum(weight, start)[segment_ids(start)]
    return np.where(
        total > 0, weight / np.where(total > 0, total, 1.0), segments.uniform(start)
    )
