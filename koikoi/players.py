"""Baseline players of Koi-Koi, and matches of several rounds between any two players."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numba import uint64

from cfrlib.core.checks import whole_number
from cfrlib.core.jit import inner, kernel
from cfrlib.core.rng import LINE, State, begin, uniform
from koikoi.cards import kind_of
from koikoi.rules import KoiKoi
from koikoi.simulator import (
    CALL,
    CALLING,
    OVER,
    PLAY,
    STOPPING,
    Numbers,
    Player,
    Rounds,
    Simulator,
    Table,
    act,
    bit,
    legal,
    lowest,
    nth,
    size,
    without_lowest,
    worth,
)

RANDOM, GREEDY, SEARCHING = 0, 1, 2
CALLS = ("stop", "koi", "rule")
DEALERS = ("other", "same")  # who deals after a round that pays nothing
ALWAYS_KOI, BY_RULE = 1, 2  # indices in CALLS
CARD_POINTS = {"light": 20, "animal": 10, "ribbon": 5, "plain": 1}
POINT = 100  # value of a point of yaku to a greedy player, in the unit of CARD_POINTS
POINTS, PROBABILITY = "points", "probability"  # kinds of advice
KOI_BELOW, KOI_CARDS = 7, 3  # the rule: call with fewer points, and at least this many cards


class Style(NamedTuple):
    """Parameters of a compiled player; ``value`` is the value of each captured card."""

    kind: int
    call: int
    samples: int
    value: Numbers


@inner
def gain(rounds: Rounds, r: int, taken: np.uint64, table: Table, style: Style) -> int:
    """Return the value of capturing these cards to a greedy player."""
    i = rounds.player[r]
    points = worth(rounds.piles[r, i] | taken, table) - rounds.points[r, i]
    total: int = POINT * points
    while taken:
        total += style.value[lowest(taken)]
        taken = without_lowest(taken)
    return total


@inner
def action_value(rounds: Rounds, r: int, card: int, table: Table, style: Style) -> int:
    """Return the value to a greedy player of playing a card, or of choosing it as the match."""
    if rounds.stage[r] == PLAY:
        matching = rounds.field[r] & table.month[card]
    else:
        matching, card = bit(card), rounds.card[r]
    highest: int = -style.value[card]
    one_of_two = size(matching) == 2
    while matching:
        taken = bit(lowest(matching)) if one_of_two else matching
        matching ^= taken
        highest = max(highest, gain(rounds, r, taken | bit(card), table, style))
    return highest


@inner
def calls(rounds: Rounds, r: int, style: Style) -> bool:
    """Return whether a greedy player calls koi-koi now."""
    i = rounds.player[r]
    few_points: bool = rounds.points[r, i] < KOI_BELOW
    if style.call == BY_RULE:
        return few_points and size(rounds.hands[r, i]) >= KOI_CARDS
    return style.call == ALWAYS_KOI


@inner
def choose_without_search(
    rounds: Rounds, r: int, table: Table, style: Style, state: State
) -> int:
    """Return the action of a random or a greedy player."""
    actions = legal(rounds, r, table)
    if style.kind == RANDOM:  # GREEDY and SEARCHING go on: playouts are greedy
        some: int = nth(actions, int(uniform(state) * size(actions)))
        return some
    if rounds.stage[r] == CALL:
        return CALLING if calls(rounds, r, style) else STOPPING
    best, best_value = -1, 0
    while actions:
        card = lowest(actions)
        actions = without_lowest(actions)
        value = action_value(rounds, r, card, table, style)
        if best < 0 or value > best_value:
            best, best_value = card, value
    return best


@inner
def play_out(
    rounds: Rounds, r: int, table: Table, first: Style, second: Style, state: State
) -> int:
    """Play round r to its end without search; return the payoff to player 0."""
    while rounds.stage[r] != OVER:
        style = first if rounds.player[r] == 0 else second
        act(rounds, r, choose_without_search(rounds, r, table, style, state), table)
    paid: int = rounds.paid[r]
    return paid


@inner
def copy(source: Rounds, r: int, target: Rounds, s: int) -> None:
    """Copy round r of the source to round s of the target."""
    for i in range(2):
        target.hands[s, i], target.piles[s, i] = source.hands[r, i], source.piles[r, i]
        target.points[s, i], target.calls[s, i] = source.points[r, i], source.calls[r, i]
    target.field[s], target.turned[s] = source.field[r], source.turned[r]
    target.stage[s], target.player[s] = source.stage[r], source.player[r]
    target.card[s], target.drawn[s] = source.card[r], source.drawn[r]
    target.paid[s] = source.paid[r]
    for c in range(source.order.shape[1]):
        target.order[s, c] = source.order[r, c]
        target.record[s, c] = source.record[r, c]


@inner
def unseen(rounds: Rounds, r: int) -> np.uint64:
    """Return the cards unseen by the player to move: the opponent's hand and the stock."""
    hidden: np.uint64 = rounds.hands[r, 1 - rounds.player[r]]
    for c in range(rounds.turned[r], rounds.order.shape[1]):
        hidden |= bit(rounds.order[r, c])
    return hidden


@inner
def redeal_unseen(rounds: Rounds, r: int, table: Table, state: State) -> None:
    """Deal the cards unseen by the player to move anew, uniformly at random."""
    other = 1 - rounds.player[r]
    order, cards = rounds.order[r], rounds.order.shape[1]
    held = size(rounds.hands[r, other])
    rest, hand = unseen(rounds, r), uint64(0)
    for left in range(size(rest), 0, -1):
        card = nth(rest, int(uniform(state) * left))
        rest ^= bit(card)
        if size(hand) < held:
            hand |= bit(card)
        else:
            order[cards - left] = card
    rounds.hands[r, other] = hand


class Scratch(NamedTuple):
    """Arrays of a search: two rounds, the total payoff of each action, random numbers."""

    rounds: Rounds
    payoffs: Numbers
    state: State


@inner
def search(rounds: Rounds, r: int, table: Table, style: Style, scratch: Scratch) -> int:
    """Return the action with the best total payoff in greedy playouts from sampled deals."""
    sampled, payoffs, state = scratch.rounds, scratch.payoffs, scratch.state
    actions = legal(rounds, r, table)
    i = rounds.player[r]
    payoffs[:] = 0
    for _ in range(style.samples):
        copy(rounds, r, sampled, 0)
        redeal_unseen(sampled, 0, table, state)
        rest = actions
        while rest:
            a = lowest(rest)
            rest = without_lowest(rest)
            copy(sampled, 0, sampled, 1)
            act(sampled, 1, a, table)
            paid = play_out(sampled, 1, table, style, style, state)
            payoffs[a] += paid if i == 0 else -paid
    best: int = lowest(actions)
    while actions:
        a = lowest(actions)
        actions = without_lowest(actions)
        if payoffs[a] > payoffs[best]:
            best = a
    return best


@kernel
def choose_all(
    rounds: Rounds,
    rows: Numbers,
    table: Table,
    style: Style,
    key: np.uint64,
    scratch: Scratch,
    out: Numbers,
) -> None:
    """Write an action in each of these rounds."""
    for n in range(len(rows)):
        r = rows[n]
        begin(scratch.state, key, rounds.turned[r], rounds.stage[r], r)
        if style.kind == SEARCHING:
            out[n] = search(rounds, r, table, style, scratch)
        else:
            out[n] = choose_without_search(rounds, r, table, style, scratch.state)


# ---- players ---------------------------------------------------------------------------------


class Advice(NamedTuple):
    """A number for each action of a decision.

    Attributes
    ----------
    what : str
        ``POINTS``: expected payoffs to the player to move; or ``PROBABILITY``: the strategy.
    numbers : dict
        From actions to numbers.
    """

    what: str
    numbers: dict[Any, float]


@runtime_checkable
class Adviser(Protocol):
    """Gives advice at a decision."""

    def advise(self, simulator: Simulator, rounds: Rounds, r: int) -> Advice:
        """Return advice for the player to move in round r, without using hidden cards."""


@dataclass(frozen=True)
class RandomPlayer:
    """Plays uniformly at random.

    Examples
    --------
    >>> RandomPlayer()
    RandomPlayer()
    """

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds."""
        return _choose(simulator, rounds, rows, key, RANDOM)


@dataclass(frozen=True)
class GreedyPlayer:
    """Takes the capture of the highest immediate value, without look-ahead.

    A point of yaku has value 100, a captured light 20, an animal 10, a ribbon 5, a plain card
    1; older games with these cards count the same. Without a match it plays the card of the
    least value.

    Parameters
    ----------
    call : "stop", "koi" or "rule"
        When to call koi-koi: never, always, or with fewer than 7 points and at least 3 cards
        left in the hand.

    Examples
    --------
    >>> import koikoi
    >>> simulator = Simulator(koikoi.KoiKoi())
    >>> play(simulator, GreedyPlayer(), RandomPlayer(), 1_000, seed=0).mean().item() > 2
    True
    """

    call: str = "stop"

    def __post_init__(self) -> None:
        if self.call not in CALLS:
            raise ValueError(f"call must be one of {CALLS}, got {self.call!r}")

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds."""
        return _choose(simulator, rounds, rows, key, GREEDY, self.call)


@dataclass(frozen=True)
class SearchPlayer:
    """Perfect-information Monte Carlo: samples the hidden cards, and plays out each action.

    At each decision it samples `samples` deals of the unseen cards, lets two greedy players
    finish the round after each of its actions, and takes the action of the highest total
    payoff. It ignores the evidence about the hidden cards in the opponent's actions, and in
    each sampled deal it evaluates actions as if it could see the deal (strategy fusion).

    Parameters
    ----------
    samples : int
        Number of sampled deals.
    call : "stop", "koi" or "rule"
        When the players in playouts call koi-koi, as for `GreedyPlayer`.

    Examples
    --------
    >>> SearchPlayer(samples=50)
    SearchPlayer(samples=50, call='rule')
    """

    samples: int = 50
    call: str = "rule"

    def __post_init__(self) -> None:
        whole_number("samples", self.samples, 1)
        GreedyPlayer(self.call)  # checks the option

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds."""
        return _choose(simulator, rounds, rows, key, SEARCHING, self.call, self.samples)


def _choose(
    simulator: Simulator,
    rounds: Rounds,
    rows: Numbers,
    key: np.uint64,
    kind: int,
    call: str = "stop",
    samples: int = 0,
) -> Numbers:
    value = [CARD_POINTS[kind_of(face)] for face in simulator.game.faces(simulator.names)]
    style = Style(kind, CALLS.index(call), samples, np.array(value))
    cards = len(simulator.names)
    payoffs, out = np.zeros(cards, np.int64), np.zeros(len(rows), np.int64)
    scratch = Scratch(Rounds.empty(2, cards), payoffs, np.zeros(LINE, np.uint64))
    choose_all(rounds, rows, simulator.table, style, key, scratch, out)
    return out


# ---- matches ---------------------------------------------------------------------------------


def play(
    simulator: Simulator,
    first: Player,
    second: Player,
    deals: int,
    *,
    seed: int | np.random.SeedSequence | None = None,
) -> Numbers:
    """Play rounds between two players; return the payoffs to the first, who is the dealer.

    The deals depend only on the seed, not on the players.

    Parameters
    ----------
    simulator : Simulator
    first, second : Player
    deals : int
        Number of rounds.
    seed : int or SeedSequence, optional
        For the deals and the players.

    Returns
    -------
    int array, shape (deals,)
        Points; the payoff to the second player is the negative.

    Examples
    --------
    >>> import koikoi
    >>> simulator = Simulator(koikoi.KoiKoi())
    >>> paid = play(simulator, GreedyPlayer(), RandomPlayer(), 1_000, seed=0)
    >>> bool(paid.mean() > 2)
    True
    """
    if not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(seed)
    return simulator.play_rounds((first, second), deals, seed)[:, 0]


class Match(NamedTuple):
    """Result of some matches; made by :func:`play_matches`.

    Attributes
    ----------
    won, drawn : float
        Shares of the matches won and tied by the one player.
    error : float
        Half-width of the 95 % confidence interval of ``won + drawn / 2``.
    points : float
        Mean difference of points at the end of a match.
    matches, rounds : int
        Number of matches, and of rounds in each.
    """

    won: float
    drawn: float
    error: float
    points: float
    matches: int
    rounds: int

    def __repr__(self) -> str:
        return (
            f"won {self.won:.1%}, drawn {self.drawn:.1%} (± {self.error:.1%}) of "
            f"{self.matches:,} matches of {self.rounds} rounds, {self.points:+.1f} points"
        )


def play_matches(
    game: KoiKoi,
    one: Player,
    other: Player,
    *,
    matches: int = 1_000,
    rounds: int = 12,
    after_void: str = "other",
    seed: int | None = None,
) -> Match:
    """Play matches of some rounds each, in which the winner of a round deals the next one.

    The player with more points at the end wins the match. These players maximize points per
    round: they do not know the score.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    one, other : Player
        `one` deals first in every second match.
    matches, rounds : int
        Number of matches, at least 2, and of rounds in each, at least 1.
    after_void : "other" or "same"
        Who deals after a round that pays nothing: the other player, as Nintendo's rules have
        it, or the same one again, a house rule.
    seed : int, optional

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Examples
    --------
    >>> import koikoi
    >>> found = play_matches(koikoi.KoiKoi(), GreedyPlayer(), RandomPlayer(), seed=0)
    >>> found.won > 0.9
    True
    """
    whole_number("matches", matches, 2)
    whole_number("rounds", rounds, 1)
    if after_void not in DEALERS:
        raise ValueError(f"after_void must be one of {DEALERS}, got {after_void!r}")
    simulator, points = Simulator(game), np.zeros(matches, np.int64)
    dealer = np.arange(matches) % 2
    for source in np.random.SeedSequence(seed).spawn(rounds):
        paid = simulator.play_rounds((one, other), matches, source, dealer)
        points += paid[:, 0]
        won_by_dealer = paid[np.arange(matches), dealer]
        stays = (won_by_dealer > 0) | ((won_by_dealer == 0) & (after_void == "same"))
        dealer = np.where(stays, dealer, 1 - dealer)
    score = (np.sign(points) + 1) / 2
    error = 1.96 * float(score.std(ddof=1)) / matches**0.5
    won, drawn = float((points > 0).mean()), float((points == 0).mean())
    return Match(won, drawn, error, float(points.mean()), matches, rounds)
