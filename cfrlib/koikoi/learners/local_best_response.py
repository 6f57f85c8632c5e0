"""How much players of Koi-Koi can be exploited, from below: two that play to beat one target.

Whatever a strategy ρ wins of a target σ, a best response wins at least that much. In a
zero-sum game the values of the seats cancel, u₀(σ) + u₁(σ) = 0, so with ρ in either seat

    exploitability(σ) = ½ Σᵢ max_π [uᵢ(π, σ) − uᵢ(σ)]
                      = ½ [max_π u₀(π, σ₁) + max_π u₁(σ₀, π)]
                      ≥ ½ [u₀(ρ, σ₁) + u₁(σ₀, ρ)]

which is the mean of ``duel(game, ρ, σ)`` (:func:`cfrlib.koikoi.players.duel`), in points
a round. It is a bound from below, no more: a small or negative one proves nothing.
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
from cfrlib.koikoi.afterstates import Afterstates
from cfrlib.koikoi.learners.network_player import NetworkPlayer, moment
from cfrlib.koikoi.learners.segments import best, even, owners, totals
from cfrlib.koikoi.learners.selfplay import earned, share_of
from cfrlib.koikoi.players import unseen
from cfrlib.koikoi.simulator import (
    NEVER,
    OVER,
    PLAY,
    Bits,
    Numbers,
    Rounds,
    Simulator,
    Table,
    bit,
    lowest,
    lucky,
    nth,
    size,
    without_lowest,
)

MOST_ROUNDS = 1 << 16  # that are played out side by side
MOVES = 128  # more than a round has: decision n of a playout has random numbers of its own


# ---- hands the opponent may hold -------------------------------------------------------------


@inner
def among(cards: np.uint64, places: np.uint64) -> np.uint64:
    """Return the cards of a set at these places, counted from its first card."""
    chosen = uint64(0)
    while places:
        if places & uint64(1):
            chosen |= bit(lowest(cards))
        places >>= uint64(1)
        cards = without_lowest(cards)
    return chosen


@inner
def next_choice(places: np.uint64) -> np.uint64:
    """Return the next larger number with as many bits, which are not none (Gosper)."""
    ripple = places + (places & (~places + uint64(1)))
    larger: np.uint64 = ripple | ((places ^ ripple) >> uint64(lowest(places) + 2))
    return larger


@kernel
def list_hands(
    rounds: Rounds, r: int, networks: int, out: Bits, network: Numbers, first: int, last: int
) -> None:
    """Write every hand the opponent may hold in round r, with every network."""
    hidden, held = unseen(rounds, r), size(rounds.hands[r, 1 - rounds.player[r]])
    places = (uint64(1) << uint64(held)) - uint64(1)
    for w in range(first, last, networks):
        hand = among(hidden, places)
        for n in range(networks):
            out[w + n], network[w + n] = hand, n
        if places:
            places = next_choice(places)


@kernel
def draw_hands(
    rounds: Rounds, r: int, sums: Floats, key: np.uint64, t: int, state: State, out: Bits,
    network: Numbers, first: int, last: int,
) -> None:  # fmt: skip
    """Write hands the opponent may hold in round r, at random, and networks by their weight."""
    other = 1 - rounds.player[r]
    hidden, held = unseen(rounds, r), size(rounds.hands[r, other])
    begin(state, key, t, other, r)
    for w in range(first, last):
        rest, hand = hidden, uint64(0)
        for left in range(size(hidden), size(hidden) - held, -1):
            card = nth(rest, int(uniform(state) * left))
            rest ^= bit(card)
            hand |= bit(card)
        out[w] = hand
        network[w] = np.searchsorted(sums, uniform(state) * sums[-1], side="right")


@kernel
def give(
    rounds: Rounds, hand: Bits, key: np.uint64, t: Numbers, number: Numbers, state: State
) -> None:
    """Let the opponent hold these hands, and shuffle what else is not seen as the stock."""
    for w in range(len(hand)):
        begin(state, key, t[w], 0, number[w])
        rest = unseen(rounds, w) & ~hand[w]
        rounds.hands[w, 1 - rounds.player[w]] = hand[w]
        for left in range(size(rest), 0, -1):
            card = nth(rest, int(uniform(state) * left))
            rest ^= bit(card)
            rounds.order[w, rounds.order.shape[1] - left] = card


@kernel
def never_dealt(hand: Bits, table: Table, weight: Floats) -> None:
    """Write weight 0 for hands whose deal would have been a special one."""
    for w in range(len(hand)):
        if lucky(hand[w], table):
            weight[w] = 0.0


class Belief(NamedTuple):
    """What the opponent may hold at some decisions, and how likely that is.

    Attributes
    ----------
    start : int array, shape (decisions + 1,)
        Decision d has the rows ``start[d] … start[d + 1] - 1``.
    hand : uint64 array, shape (rows,)
        Sets of cards.
    network : int array, shape (rows,)
        Which of the target's networks plays this round.
    weight : float array, shape (rows,)
        Probabilities; those of a decision add up to 1.
    """

    start: Numbers
    hand: Bits
    network: Numbers
    weight: Floats


class Choice(NamedTuple):
    """What was chosen in some rounds, and the table then, without any hand or stock."""

    rows: Numbers
    table: Rounds
    action: Numbers


# ---- local best response ---------------------------------------------------------------------


class LocalBestResponse:
    """Local best response to a network player: believes by Bayes' rule, then looks ahead.

    At each decision it draws hands that the opponent may hold, uniformly from the cards it has
    not seen, and weighs each by how likely the target would have played as it did with it:

        ``P(hand, n) ∝ w_n Πₜ [(1 − slip) σ_n(aₜ | hand) + slip / |Aₜ|]``

    where the target plays the round by network n, of weight w_n. Then it draws some of these
    worlds by their weight, a stock for each at random, and plays every action out in all of
    them, with the target's networks in both seats. It takes the action that was paid most, if
    that is more than the target's own action by a standard error of the difference: without
    this margin noise would be taken for gain.

    It sees what a player sees, the cards that are open and its own hand, and what was chosen
    before: :func:`~cfrlib.koikoi.players.play` and `duel` tell it, any other loop has to
    call `watch`. A responder plays one batch of rounds at a time.

    Parameters
    ----------
    target : NetworkPlayer
        Whom to beat.
    samples : int
        From how many worlds each action is played out; at least 2.
    hands : int
        How many worlds to weigh. If there are no more, all are taken, and the belief is exact.
    slip : float
        How often the target is thought to take any action instead; between 0 and 1. By a
        network of values all but one action have probability 0, so without slips a few
        surprises leave no hand at all; then all would count the same.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    After Lisý & Bowling, *Equilibrium Approximation Quality of Current No-Limit Poker Bots*
    (2017). In poker their responder goes on by checking and calling, and knows the pot; here
    the target's own play is what to go on with. Copies of a card that look alike are told
    apart by the simulator alone: a card played counts as any of its copies in the hand.

    Examples
    --------
    >>> from cfrlib.koikoi.learners import DeepMonteCarlo
    >>> from cfrlib.koikoi import MiniKoiKoi
    >>> from cfrlib.koikoi.players import duel
    >>> game = MiniKoiKoi.K8()
    >>> target = DeepMonteCarlo(game, hidden=(16,)).player()  # has learned nothing yet
    >>> found = duel(game, LocalBestResponse(target, samples=8), target, deals=200, seed=0)
    >>> found.mean - found.error > 0.2
    True
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
        self.slip = share_of("slip", slip)
        deck = target.game.deck
        self._look = np.array([deck.index(name) for name in deck])
        self._alike = np.array(
            [sum(1 << c for c, other in enumerate(deck) if other == name) for name in deck],
            np.uint64,
        )
        self._past: list[Choice] = []
        self._rounds = 0  # of the batch it watches

    # ---- the past ----------------------------------------------------------------------------

    def watch(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, actions: Numbers
    ) -> None:
        """Remember what is chosen in these rounds, and the table there: no hand, no stock."""
        self._forget(simulator, rounds, rows)
        table = rounds.take(rows)
        table.hands[:], table.order[:] = 0, 0
        self._past.append(Choice(rows.copy(), table, actions.copy()))

    def _forget(self, simulator: Simulator, rounds: Rounds, rows: Numbers) -> None:
        """Forget what was in these rounds before, where nothing was played yet.

        Of a larger batch before this one, also forget the rounds that are now no more.
        """
        new = (rounds.player[rows] == 0) & (rounds.stage[rows] == PLAY)
        new &= np.bitwise_count(rounds.hands[rows, 0]) == simulator.game.hand
        gone = np.concatenate([rows[new], np.arange(len(rounds), self._rounds)])
        self._rounds = len(rounds)
        if not len(gone):
            return
        others = [(past, np.flatnonzero(~np.isin(past.rows, gone))) for past in self._past]
        self._past = [
            Choice(past.rows[keep], past.table.take(keep), past.action[keep])
            for past, keep in others
            if len(keep)
        ]

    # ---- the belief --------------------------------------------------------------------------

    def belief(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Belief:
        """Return what the opponent may hold in these rounds, where it is the responder's turn.

        Parameters
        ----------
        simulator : Simulator
        rounds : Rounds
        rows : int array, shape (decisions,)
        key : uint64
            Of random numbers.

        Raises
        ------
        ValueError
            If the responder has not watched one of these rounds from its beginning.
        """
        self._forget(simulator, rounds, rows)
        belief = self._suppose(rounds, rows, key)
        held, opponent = belief.hand.copy(), 1 - rounds.player[rows]
        place = np.full(len(rounds), -1)
        place[rows] = np.arange(len(rows))
        for choice in reversed(self._past):
            at = place[choice.rows]
            keep = (at >= 0) & (choice.table.player == opponent[at])
            if keep.any():
                self._weigh(choice, at, keep, belief, held)
        if simulator.table.special != NEVER:
            never_dealt(held, simulator.table, belief.weight)
        first = np.bitwise_count(held[belief.start[:-1]])
        if (first != simulator.game.hand).any():
            raise ValueError(
                "a local responder must watch a round from its beginning: let play or duel "
                "call it, or call watch before every action of either player"
            )
        return belief._replace(weight=_normal(belief.weight, belief.start))

    def _suppose(self, rounds: Rounds, rows: Numbers, key: np.uint64) -> Belief:
        """Return all worlds of each decision, or some at random, with their prior weights."""
        networks, other = len(self.target.networks), 1 - rounds.player[rows]
        held = np.bitwise_count(rounds.hands[rows, other]).astype(int)
        hidden = held + rounds.order.shape[1] - rounds.turned[rows]
        pairs = zip(hidden.tolist(), held.tolist(), strict=True)
        count = np.array([comb(n, k) for n, k in pairs]) * networks
        start = np.concatenate([[0], np.cumsum(np.minimum(count, self.hands))])
        hand, network = np.empty(start[-1], np.uint64), np.empty(start[-1], np.int64)
        weight, state = np.ones(start[-1]), np.zeros(LINE, np.uint64)
        sums, now = np.cumsum(self.target.weights), moment(rounds, rows)
        for n, (r, all_of_them) in enumerate(zip(rows, count <= self.hands, strict=True)):
            first, last = start[n], start[n + 1]
            if all_of_them:
                list_hands(rounds, r, networks, hand, network, first, last)
                weight[first:last] = self.target.weights[network[first:last]]
            else:
                draw_hands(rounds, r, sums, key, now[n], state, hand, network, first, last)
        return Belief(start, hand, network, weight)

    def _weigh(
        self, choice: Choice, at: Numbers, keep: npt.NDArray[np.bool_], belief: Belief,
        held: Bits,
    ) -> None:  # fmt: skip
        """Multiply weights by how likely a choice was, with the hands of that time."""
        count = np.diff(belief.start)[at[keep]]
        source = np.repeat(np.flatnonzero(keep), count)
        begins = np.cumsum(count) - count
        world = np.arange(len(source)) + np.repeat(belief.start[at[keep]] - begins, count)
        table, action = choice.table.take(source), choice.action[source]
        played = table.stage == PLAY
        held[world[played]] |= np.uint64(1) << action[played].astype(np.uint64)
        table.hands[np.arange(len(world)), table.player] = held[world]
        belief.weight[world] *= self._likelihood(table, action, belief.network[world])

    def _likelihood(self, table: Rounds, action: Numbers, network: Numbers) -> Floats:
        """Return how likely the target is to choose these actions, whichever copy it takes."""
        chance = np.empty(len(action))
        every = np.arange(len(action))
        for some, after, sigma in self.target.asked(table, every, network):
            own = owners(after.start)
            calls = table.stage[some[own]] > PLAY + 1
            wanted, offered = action[some[own]], after.action
            same = np.where(calls, wanted == offered, self._look[wanted] == self._look[offered])
            mixed = (1 - self.slip) * sigma + self.slip / np.diff(after.start)[own]
            chance[some] = totals(np.where(same, mixed, 0.0), after.start)

        played = np.flatnonzero(table.stage == PLAY)
        hand = table.hands[played, table.player[played]]
        chance[played] /= np.bitwise_count(hand & self._alike[action[played]])
        return chance

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
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, usual: Numbers,
        key: np.uint64,
    ) -> Numbers:  # fmt: skip
        """Return the best action of each round; the usual one where none is clearly better."""
        guess, chance, deal, move = np.random.SeedSequence(int(key)).generate_state(
            4, np.uint64
        )
        belief = self.belief(simulator, rounds, rows, guess)
        worlds = _resampled(belief, self.samples, uniforms(chance, moment(rounds, rows), rows))
        after = self.target.judge.describer.after(rounds, rows)
        paid = self._play_out(simulator, rounds, rows, after, belief, worlds, deal, move)
        own = owners(after.start)
        is_usual = after.action == usual[own]
        gain = paid - paid[is_usual][own]
        error = gain.std(axis=1, ddof=1) / self.samples**0.5
        score = gain.mean(axis=1) - error
        chosen = np.flatnonzero(best(score, after.start))
        return np.where(score[chosen] > 0, after.action[chosen], usual)

    def _play_out(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, after: Afterstates,
        belief: Belief, worlds: Numbers, deal: np.uint64, move: np.uint64,
    ) -> Floats:  # fmt: skip
        """Return what each action pays the responder in each world, shape (actions, samples).

        The worlds of a decision, and the random numbers in them, are the same for all actions.
        """
        own = np.repeat(owners(after.start), self.samples)
        sample = np.tile(np.arange(self.samples), len(after.action))
        world = worlds[own, sample]
        number, t = rows[own] * self.samples + sample, moment(rounds, rows)[own]
        imagined, seat = rounds.take(rows[own]), rounds.player[rows[own]]
        give(imagined, belief.hand[world], deal, t, number, np.zeros(LINE, np.uint64))
        ticket = uniforms(move, MOVES * t, number)
        mine = self.target.network_of(ticket)
        simulator.act(imagined, np.arange(len(own)), np.repeat(after.action, self.samples))
        for step in range(1, MOVES):
            going = np.flatnonzero(imagined.stage != OVER)
            if not len(going):
                break
            u = uniforms(move, MOVES * t[going] + step, number[going])
            my_turn = imagined.player[going] == seat[going]
            network = np.where(my_turn, mine[going], belief.network[world][going])
            actions = self.target.moves(imagined, going, network, u)
            simulator.act(imagined, going, actions)
        return earned(seat, imagined.paid, 1.0).reshape(-1, self.samples)

    def __repr__(self) -> str:
        return (
            f"LocalBestResponse to {self.target!r}: {self.samples} samples, {self.hands} hands"
        )


def _normal(weight: Floats, start: Numbers) -> Floats:
    """Return weights that add up to 1 at each decision; the same for all if all are 0."""
    total = totals(weight, start)[owners(start)]
    return np.where(total > 0, weight / np.where(total > 0, total, 1.0), even(start))


def _resampled(belief: Belief, samples: int, u: Floats) -> Numbers:
    """Return rows of a belief in proportion to their weights, shape (decisions, samples).

    They are evenly spaced, so that each row is taken its expected number of times, rounded up
    or down; one number u in [0, 1) shifts those of a decision.
    """
    start, decisions = belief.start, len(belief.start) - 1
    spaced = (u[:, None] + np.arange(samples)) / samples
    sums = np.cumsum(belief.weight)
    before = np.concatenate([[0.0], sums])[start[:-1]]
    target = before[:, None] + spaced * (sums[start[1:] - 1] - before)[:, None]
    row = np.searchsorted(sums, target.ravel(), side="right").reshape(decisions, samples)
    rows: Numbers = np.clip(row, start[:-1, None], start[1:, None] - 1)
    return rows
