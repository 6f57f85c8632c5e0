"""Simple players of Koi-Koi, and matches between any two."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numba import uint64

from cfrlib.core.checks import whole_number
from cfrlib.core.jit import inner, kernel
from cfrlib.core.rng import LINE, State, begin, new_key, uniform
from cfrlib.koikoi.cards import kind_of
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import (
    CALL,
    CALLING,
    OVER,
    PLAY,
    STOPPING,
    Numbers,
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
ALWAYS_KOI, BY_RULE = 1, 2  # their numbers
CARD_POINTS = {"light": 20, "animal": 10, "ribbon": 5, "plain": 1}
POINT = 100  # what a point of yaku counts for a greedy player, beside the points of cards
POINTS, CHANCE = "points", "probability"  # what advice is in
ENOUGH, CARDS_LEFT = 7, 3  # the rule: call below so many points, with so many cards left


class Style(NamedTuple):
    """How a compiled player plays; ``value`` is what it thinks of each card."""

    kind: int
    call: int
    samples: int
    value: Numbers


@inner
def gain(rounds: Rounds, r: int, taken: np.uint64, table: Table, style: Style) -> int:
    """Return what a greedy player thinks of capturing these cards."""
    i = rounds.player[r]
    points = worth(rounds.piles[r, i] | taken, table) - rounds.points[r, i]
    total: int = POINT * points
    while taken:
        total += style.value[lowest(taken)]
        taken = without_lowest(taken)
    return total


@inner
def promise(rounds: Rounds, r: int, card: int, table: Table, style: Style) -> int:
    """Return what a greedy player thinks of playing a card, or of matching it with this one."""
    if rounds.stage[r] == PLAY:
        matching = rounds.field[r] & table.month[card]
    else:
        matching, card = bit(card), rounds.card[r]
    promised: int = -style.value[card]
    one_of_two = size(matching) == 2
    while matching:
        taken = bit(lowest(matching)) if one_of_two else matching
        matching ^= taken
        promised = max(promised, gain(rounds, r, taken | bit(card), table, style))
    return promised


@inner
def calls(rounds: Rounds, r: int, style: Style) -> bool:
    """Return whether a greedy player calls koi-koi."""
    i = rounds.player[r]
    few_points: bool = rounds.points[r, i] < ENOUGH
    if style.call == BY_RULE:
        return few_points and size(rounds.hands[r, i]) >= CARDS_LEFT
    return style.call == ALWAYS_KOI


@inner
def choose_simply(rounds: Rounds, r: int, table: Table, style: Style, state: State) -> int:
    """Return the action of a random or a greedy player."""
    actions = legal(rounds, r, table)
    if style.kind == RANDOM:  # a searching player is greedy in what it imagines
        some: int = nth(actions, int(uniform(state) * size(actions)))
        return some
    if rounds.stage[r] == CALL:
        return CALLING if calls(rounds, r, style) else STOPPING
    best, most = -1, 0
    while actions:
        card = lowest(actions)
        actions = without_lowest(actions)
        promised = promise(rounds, r, card, table, style)
        if best < 0 or promised > most:
            best, most = card, promised
    return best


@inner
def play_out(
    rounds: Rounds, r: int, table: Table, first: Style, second: Style, state: State
) -> int:
    """Play round r to its end between simple players; return what player 0 is paid."""
    while rounds.stage[r] != OVER:
        style = first if rounds.player[r] == 0 else second
        act(rounds, r, choose_simply(rounds, r, table, style, state), table)
    paid: int = rounds.paid[r]
    return paid


@inner
def copy(source: Rounds, r: int, target: Rounds, s: int) -> None:
    """Make round s of the target equal to round r of the source."""
    for i in range(2):
        target.hands[s, i], target.piles[s, i] = source.hands[r, i], source.piles[r, i]
        target.points[s, i], target.calls[s, i] = source.points[r, i], source.calls[r, i]
    target.field[s], target.turned[s] = source.field[r], source.turned[r]
    target.stage[s], target.player[s] = source.stage[r], source.player[r]
    target.card[s], target.drawn[s] = source.card[r], source.drawn[r]
    target.paid[s] = source.paid[r]
    for c in range(source.order.shape[1]):
        target.order[s, c] = source.order[r, c]


@inner
def unseen(rounds: Rounds, r: int) -> np.uint64:
    """Return the cards that whoever chooses in round r has not seen: a hand, and the stock."""
    hidden: np.uint64 = rounds.hands[r, 1 - rounds.player[r]]
    for c in range(rounds.turned[r], rounds.order.shape[1]):
        hidden |= bit(rounds.order[r, c])
    return hidden


@inner
def imagine(rounds: Rounds, r: int, table: Table, state: State) -> None:
    """Deal the cards that whoever chooses in round r has not seen once more, at random."""
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


@inner
def search(
    rounds: Rounds, r: int, table: Table, style: Style, spare: Rounds, totals: Numbers,
    state: State,
) -> int:  # fmt: skip
    """Return the action that pays best when greedy players go on from imagined deals."""
    actions = legal(rounds, r, table)
    i = rounds.player[r]
    totals[:] = 0
    for _ in range(style.samples):
        copy(rounds, r, spare, 0)
        imagine(spare, 0, table, state)
        rest = actions
        while rest:
            a = lowest(rest)
            rest = without_lowest(rest)
            copy(spare, 0, spare, 1)
            act(spare, 1, a, table)
            paid = play_out(spare, 1, table, style, style, state)
            totals[a] += paid if i == 0 else -paid
    best: int = lowest(actions)
    while actions:
        a = lowest(actions)
        actions = without_lowest(actions)
        if totals[a] > totals[best]:
            best = a
    return best


@kernel
def choose_all(
    rounds: Rounds, rows: Numbers, table: Table, style: Style, key: np.uint64, spare: Rounds,
    totals: Numbers, state: State, out: Numbers,
) -> None:  # fmt: skip
    """Write the action of a player in each of these rounds."""
    for n in range(len(rows)):
        r = rows[n]
        begin(state, key, rounds.turned[r], rounds.stage[r], r)
        if style.kind == SEARCHING:
            out[n] = search(rounds, r, table, style, spare, totals, state)
        else:
            out[n] = choose_simply(rounds, r, table, style, state)


# ---- players ---------------------------------------------------------------------------------


class Player(Protocol):
    """Chooses in many rounds at a time."""

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds, where it is this player's turn.

        Parameters
        ----------
        simulator : Simulator
        rounds : Rounds
            Not to be changed, nor to be looked into further than a player may.
        rows : int array, shape (some,)
            Which of them.
        key : uint64
            Of random numbers.
        """


@runtime_checkable
class Watcher(Protocol):
    """A player who remembers how a round went, which the table alone does not tell."""

    def watch(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, actions: Numbers
    ) -> None:
        """See what is chosen in these rounds, by either player, just before it is done.

        Parameters
        ----------
        simulator : Simulator
        rounds : Rounds
            Not to be changed, nor to be looked into further than a player may.
        rows, actions : int arrays, shape (some,)
            Which of them, and the action in each.
        """


class Advice(NamedTuple):
    """What a player thinks of a decision's actions.

    Attributes
    ----------
    what : str
        ``POINTS``, what whoever chooses can expect of each, or ``CHANCE``, how often each
        should be played.
    numbers : dict
        From the action to its number.
    """

    what: str
    numbers: dict[Any, float]


@runtime_checkable
class Adviser(Protocol):
    """Says what it thinks of actions."""

    def advise(self, simulator: Simulator, rounds: Rounds, r: int) -> Advice:
        """Return what it thinks of each action in round r, from what its player has seen."""


@dataclass(frozen=True)
class RandomPlayer:
    """Plays every legal action equally often.

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
    """Captures whatever is worth most at once, and thinks no further.

    A point of yaku counts 100, a captured light 20, an animal 10, a ribbon 5, a plain card 1,
    as in older games with these cards. Without a match it plays what is worth least.

    Parameters
    ----------
    call : "stop", "koi" or "rule"
        What it does when its points have risen: always stop, always call koi-koi, or call
        with fewer than 7 points and at least 3 cards left in the hand.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> duel(cfr.koikoi.KoiKoi(), GreedyPlayer(), RandomPlayer(), deals=1_000, seed=0).mean > 2
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
    """Perfect-information Monte Carlo: imagines the hidden cards, and plays each action out.

    For every decision it deals the cards it has not seen at random, `samples` times, lets
    two greedy players finish the round after each of its actions, and takes the one that was
    paid most. It forgets that the opponent's play tells of his cards,
    and supposes to know, in each imagined round, what it will know only later.

    Parameters
    ----------
    samples : int
        How many deals to imagine.
    call : "stop", "koi" or "rule"
        When the players it imagines call koi-koi, as for `GreedyPlayer`.

    Examples
    --------
    >>> SearchPlayer(samples=50)
    SearchPlayer(samples=50, call='rule')
    """

    samples: int = 50
    call: str = "rule"

    def __post_init__(self) -> None:
        whole_number("samples", self.samples, 1)
        GreedyPlayer(self.call)  # which checks it

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds."""
        return _choose(simulator, rounds, rows, key, SEARCHING, self.call, self.samples)


def _choose(
    simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64, kind: int,
    call: str = "stop", samples: int = 0,
) -> Numbers:  # fmt: skip
    value = [CARD_POINTS[kind_of(face)] for face in simulator.game.faces(simulator.names)]
    style = Style(kind, CALLS.index(call), samples, np.array(value))
    cards = len(simulator.names)
    spare, totals = Rounds.empty(2, cards), np.zeros(cards, np.int64)
    out, state = np.zeros(len(rows), np.int64), np.zeros(LINE, np.uint64)
    choose_all(rounds, rows, simulator.table, style, key, spare, totals, state, out)
    return out


# ---- matches ---------------------------------------------------------------------------------


def play(
    simulator: Simulator, first: Player, second: Player, deals: int, *,
    seed: int | np.random.SeedSequence | None = None,
) -> Numbers:  # fmt: skip
    """Play rounds between two players and return what the first, who deals, was paid.

    The same seed gives the same deals, whoever plays.

    Parameters
    ----------
    simulator : Simulator
    first, second : Player
    deals : int
        How many rounds.
    seed : int or SeedSequence, optional
        Of the deals and of the players.

    Returns
    -------
    int array, shape (deals,)
        Points; the second was paid as much less.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> simulator = Simulator(cfr.koikoi.KoiKoi())
    >>> paid = play(simulator, GreedyPlayer(), RandomPlayer(), 1_000, seed=0)
    >>> bool(paid.mean() > 2)
    True
    """
    if not isinstance(seed, np.random.SeedSequence):
        seed = np.random.SeedSequence(seed)
    return _play(simulator, (first, second), np.zeros(deals, np.int64), seed)


def _play(
    simulator: Simulator, players: tuple[Player, Player], dealer: Numbers,
    seed: np.random.SeedSequence,
) -> Numbers:  # fmt: skip
    """Play a round for each number of a player who deals; return what the dealers were paid."""
    dealing, *moving = seed.spawn(3)
    rounds = simulator.deal(len(dealer), seed=dealing)
    keys = [new_key(source) for source in moving]
    watchers = {id(player): player for player in players if isinstance(player, Watcher)}
    while (rounds.stage != OVER).any():
        for i, player in enumerate(players):
            mine = rounds.player == np.where(dealer == i, 0, 1)
            rows = np.flatnonzero((rounds.stage != OVER) & mine)
            if not len(rows):
                continue
            actions = player(simulator, rounds, rows, keys[i])
            for watcher in watchers.values():
                watcher.watch(simulator, rounds, rows, actions)
            simulator.act(rounds, rows, actions)
    return rounds.paid


class Duel(NamedTuple):
    """What a duel showed; made by :func:`duel`.

    Attributes
    ----------
    mean : float
        Points a round that the one player won of the other.
    error : float
        Half of a 95 % confidence interval, from the deals, which are independent.
    deals : int
        Each was played twice, with changed seats.
    won, drawn : float
        Shares of the rounds.
    """

    mean: float
    error: float
    deals: int
    won: float
    drawn: float

    def __repr__(self) -> str:
        return (
            f"{self.mean:+.3f} ± {self.error:.3f} points a round ({self.deals:,} deals, both "
            f"ways; won {self.won:.1%}, drawn {self.drawn:.1%})"
        )


def duel(
    game: KoiKoi, one: Player, other: Player, *, deals: int = 10_000, seed: int | None = None
) -> Duel:
    """Let two players play every deal twice, with changed seats, and compare.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    one, other : Player
    deals : int
        At least 2.
    seed : int, optional

    Returns
    -------
    Duel
        From the view of `one`. A player against itself wins exactly nothing, unless it draws
        lots.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> duel(cfr.koikoi.KoiKoi(), GreedyPlayer(), GreedyPlayer(), deals=100, seed=0)
    +0.000 ± 0.000 points a round (100 deals, both ways; won 47.5%, drawn 5.0%)
    """
    whole_number("deals", deals, 2)
    simulator, source = Simulator(game), np.random.SeedSequence(seed)
    ahead = play(simulator, one, other, deals, seed=source)
    source = np.random.SeedSequence(source.entropy)  # the same deals once more
    behind = -play(simulator, other, one, deals, seed=source)
    pairs, both = (ahead + behind) / 2, np.concatenate([ahead, behind])
    error = 1.96 * float(pairs.std(ddof=1)) / deals**0.5
    return Duel(
        float(pairs.mean()), error, deals, float((both > 0).mean()), float((both == 0).mean())
    )


class Match(NamedTuple):
    """What matches showed; made by :func:`play_matches`.

    Attributes
    ----------
    won, drawn : float
        Shares of the matches, from the view of the one player.
    error : float
        Half of a 95 % confidence interval of `won`, with half of `drawn` added.
    points : float
        The mean difference at the end.
    matches, rounds : int
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
    game: KoiKoi, one: Player, other: Player, *, matches: int = 1_000, rounds: int = 12,
    seed: int | None = None,
) -> Match:  # fmt: skip
    """Play matches: some rounds each, in which who won the last round deals the next.

    After a round that pays nothing the other player deals. Who has more points in the end has
    won the match, which is not the aim of a single round: these players do not know the score.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    one, other : Player
        `one` deals first in every second match.
    matches, rounds : int
        At least 2 and 1.
    seed : int, optional

    Examples
    --------
    >>> import cfrlib as cfr
    >>> found = play_matches(cfr.koikoi.KoiKoi(), GreedyPlayer(), RandomPlayer(), seed=0)
    >>> found.won > 0.9
    True
    """
    whole_number("matches", matches, 2)
    whole_number("rounds", rounds, 1)
    simulator, points = Simulator(game), np.zeros(matches, np.int64)
    dealer = np.arange(matches) % 2
    for source in np.random.SeedSequence(seed).spawn(rounds):
        paid = _play(simulator, (one, other), dealer, source)
        points += np.where(dealer == 0, paid, -paid)
        dealer = np.where(paid > 0, dealer, 1 - dealer)
    score = (np.sign(points) + 1) / 2
    error = 1.96 * float(score.std(ddof=1)) / matches**0.5
    return Match(
        float((points > 0).mean()), float((points == 0).mean()), error, float(points.mean()),
        matches, rounds,
    )  # fmt: skip
