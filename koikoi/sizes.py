"""The size of Koi-Koi games: exact counts for small ones, estimates for the others."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from math import comb, log10, prod
from typing import NamedTuple

import numpy as np

from cfrlib.game import Action, Terminal
from koikoi.rules import Cards, KoiKoi, MiniKoiKoi, Position

BATCHES = 30  # batches of rounds, for the confidence interval of an estimate


class Size(NamedTuple):
    """The size of a game tree.

    Attributes
    ----------
    histories : int
        All histories, with the empty and the terminal ones.
    terminals : int
        Terminal histories.
    infosets : pair of int
        Infosets of the dealer and of the other player.

    Examples
    --------
    >>> sum(count(MiniKoiKoi.K8()).infosets)  # as many as `cfrlib.compile` finds
    3216
    """

    histories: int
    terminals: int
    infosets: tuple[int, int]


class Estimate(NamedTuple):
    """An estimate of a `Size`: decimal logarithms with 95 % confidence intervals.

    Attributes
    ----------
    rounds : int
        Number of rounds sampled.
    histories, terminals, dealer, other : triple of float
        Low end, estimate and high end; the last two are the infosets of each player. The ends
        are the quantiles .025 and .975 of a bootstrap over batches of rounds.
    by_turn : pair of tuples of float
        Infosets of each player at their first turn, at their second, and so on.

    Examples
    --------
    >>> found = estimate(KoiKoi(), 30, seed=0)
    >>> found.rounds, len(found.by_turn[0])
    (30, 8)
    """

    rounds: int
    histories: tuple[float, float, float]
    terminals: tuple[float, float, float]
    dealer: tuple[float, float, float]
    other: tuple[float, float, float]
    by_turn: tuple[tuple[float, ...], tuple[float, ...]]


# ---- counting ------------------------------------------------------------------------------


def count(game: MiniKoiKoi) -> Size:
    """Count histories and infosets of a small game without building its tree.

    The rest of a round depends on where the cards are, not on how they got there. So the
    histories below a position are counted once for each position without its past. The
    infosets of a player are counted once for each *view*: the cards that this player sees, and
    the pool of all others. The cards of the pool are in the opponent's hand or in the stock;
    the next one played or drawn from either may be any of them.

    Parameters
    ----------
    game : MiniKoiKoi

    Returns
    -------
    Size

    Raises
    ------
    ValueError
        If the game is not a small one.

    Examples
    --------
    >>> count(MiniKoiKoi.K8())
    Size(histories=7663, terminals=1944, infosets=(1536, 1680))
    """
    if not isinstance(game, MiniKoiKoi):
        raise ValueError(
            f"{game!r} has too many deals to be counted; estimate its size by "
            "estimate(game, rounds, seed)"
        )
    return Size(*_histories(game), (_infosets(game, 0), _infosets(game, 1)))


def _histories(game: MiniKoiKoi) -> tuple[int, int]:
    """Return the numbers of histories and of terminal histories."""
    known: dict[Position, tuple[int, int]] = {}

    def below(at: Position) -> tuple[int, int]:
        if at.stage == "over":
            return 1, 1
        at = _without_past(game, at)
        if at not in known:
            sizes = [below(game.step(at, a)) for a in _actions(game, at)]
            known[at] = 1 + sum(n for n, _ in sizes), sum(ends for _, ends in sizes)
        return known[at]

    return below(game.root())


def _infosets(game: MiniKoiKoi, i: int) -> int:
    """Return the number of infosets of player i."""
    known: dict[Position, int] = {}

    def below(at: Position) -> int:
        if at.stage == "over":
            return 0
        at = _pooled(game, _without_past(game, at), i)
        if at not in known:
            own = at.player == i and at.stage != "draw"
            known[at] = own + sum(below(after) for after in _views_after(game, at, i))
        return known[at]

    deals = (game.step(game.root(), deal) for deal in _actions(game, game.root()))
    return sum(map(below, {_pooled(game, _without_past(game, at), i) for at in deals}))


def _actions(game: KoiKoi, at: Position) -> tuple[Action, ...]:
    node = game.node(at)
    return () if isinstance(node, Terminal) else tuple(node.actions)


def _without_past(game: KoiKoi, at: Position) -> Position:
    """Drop everything that affects only labels and payoffs."""
    calls = (0, 0) if game.koi_limit is None else (sum(at.calls), 0)
    return at._replace(first=("", ""), heard="", calls=calls)


def _pooled(
    game: KoiKoi, at: Position, i: int, card: str = "", drawn: bool = False
) -> Position:
    """Redistribute the cards that player i does not see: `card` first, the others in order.

    `card`, if any, is then the card to be `drawn` next, or one that the opponent can play.
    """
    pool = list(game.add_cards(at.hands[1 - i], *at.stock))
    if card:
        pool.remove(card)
        pool.insert(0, card)
    n = len(at.stock) if drawn else len(at.hands[1 - i])
    near, far = game.add_cards((), *pool[:n]), game.add_cards((), *pool[n:])
    other, stock = (far, near) if drawn else (near, far)
    return at._replace(
        hands=(at.hands[0], other) if i == 0 else (other, at.hands[1]), stock=stock
    )


def _views_after(game: KoiKoi, at: Position, i: int) -> Iterator[Position]:
    """Yield the possible next positions in the view of player i, for any hidden cards."""
    drawn = at.stage == "draw"
    if drawn or (at.stage == "play" and at.player != i):
        for card in dict.fromkeys((*at.hands[1 - i], *at.stock)):
            yield game.step(_pooled(game, at, i, card, drawn), card)
    else:
        for a in _actions(game, at):
            yield game.step(at, a)


# ---- estimating ----------------------------------------------------------------------------


class _Round(NamedTuple):
    """Importance weights of one random round, as decimal logarithms.

    Attributes
    ----------
    histories, terminals : float
        The sum of 1/q over all histories of the round, and 1/q of the last one.
    views : pair of lists of (int, float)
        The turn of the player and 1/q, at each infoset of either player.
    """

    histories: float
    terminals: float
    views: tuple[list[tuple[int, float]], list[tuple[int, float]]]


def estimate(game: KoiKoi, rounds: int, seed: int) -> Estimate:
    """Estimate how many histories and infosets a game has, from rounds played at random.

    A history that a random round passes with probability q is counted with weight 1/q (Knuth,
    1975), so each history counts 1 in expectation. The same rounds count infosets: if both
    players play their cards uniformly at random, all arrangements of the cards unseen by a
    player are equally likely. So a random round is also a random walk through the views of one
    player, and its probability q is known.

    Parameters
    ----------
    game : KoiKoi
        `KoiKoi` or `MiniKoiKoi`. A deal counts as one chance event. Special deals, which are
        repeated or paid at once, are not counted.
    rounds : int
        Number of rounds to sample, at least 30.
    seed : int

    Returns
    -------
    Estimate

    Raises
    ------
    ValueError
        If there are fewer than 30 rounds.

    Notes
    -----
    A few long rounds with many choices have most of the weight, so even the mean of many rounds
    is too low more often than too high.

    Source: Knuth, "Estimating the efficiency of backtrack programs" (1975).

    Examples
    --------
    >>> found = estimate(MiniKoiKoi.K8(), 300, seed=0)
    >>> low, middle, high = found.histories
    >>> low < log10(7663) < high
    True
    """
    if rounds < BATCHES:
        raise ValueError(f"rounds must be at least {BATCHES}, got {rounds!r}")
    rng = random.Random(seed)
    play = _dealer(game, rng)
    played = [_play(game, *play(), rng) for _ in range(rounds)]
    turns = range(1, game.hand + 1)
    by_turn = [
        tuple(
            _log_mean([_log_sum([w for t, w in r.views[i] if t == turn]) for r in played])
            for turn in turns
        )
        for i in (0, 1)
    ]
    views = [[_log_sum([w for _, w in r.views[i]]) for r in played] for i in (0, 1)]
    return Estimate(
        rounds,
        _spread([r.histories for r in played], seed),
        _spread([r.terminals for r in played], seed),
        _spread(views[0], seed),
        _spread(views[1], seed),
        (by_turn[0], by_turn[1]),
    )


def _dealer(game: KoiKoi, rng: random.Random) -> Callable[[], tuple[Position, list[float]]]:
    """Return a function that samples a deal: the position, log 1/q, and that of both views."""
    deck, hand, field = list(game.deck), game.hand, game.open

    def ways(cards: Cards, left: Counter[str]) -> int:
        return prod(comb(left[card], n) for card, n in Counter(cards).items())

    n, held = len(deck), Counter(deck)
    views = log10(comb(n, hand)) + log10(comb(n - hand, field))
    deals = views + log10(comb(n - hand - field, hand))

    def deal() -> tuple[Position, list[float]]:
        cards = rng.sample(deck, n)
        parts = cards[:hand], cards[hand : 2 * hand], cards[2 * hand : 2 * hand + field]
        first, second, shown = (game.add_cards((), *part) for part in parts)
        stock = game.add_cards((), *cards[2 * hand + field :])
        at = game.root()._replace(hands=(first, second), field=shown, stock=stock)
        at = game._begin(at)
        seen = [
            views - log10(ways(own, held) * ways(shown, held - Counter(own)))
            for own in (first, second)
        ]
        both = ways(first, held) * ways(second, held - Counter(first))
        both *= ways(shown, held - Counter(first) - Counter(second))
        return at, [deals - log10(both), *seen]

    return deal


def _play(game: KoiKoi, at: Position, logs: list[float], rng: random.Random) -> _Round:
    """Play a random round from a deal; `logs` are log 1/q of the deal and of both views."""
    views: tuple[list[tuple[int, float]], list[tuple[int, float]]] = ([], [])
    if at.stage not in ("play", "draw"):  # dealt again, or paid at once
        return _Round(-np.inf, -np.inf, views)
    history, *seen = logs
    passed = [0.0]  # the empty history
    while at.stage != "over":
        passed.append(history)
        i = at.player
        if at.stage != "draw":
            views[i].append((game.hand - len(at.hands[i]) + (at.stage == "play"), seen[i]))
        if at.stage in ("draw", "play"):  # uniform over cards, where copies count separately
            cards = at.stock if at.stage == "draw" else at.hands[i]
            card = rng.choice(cards)
            history += log10(len(cards) / cards.count(card))
            for j in (0, 1):
                pool = (*at.stock, *at.hands[1 - j])
                if at.stage == "play" and i == j:
                    pool = cards
                seen[j] += log10(len(pool) / pool.count(card))
            at = game.step(at, card)
        else:
            actions = _actions(game, at)
            history += log10(len(actions))
            seen = [w + log10(len(actions)) for w in seen]
            at = game.step(at, rng.choice(actions))
    return _Round(_log_sum([*passed, history]), history, views)


def _log_sum(logs: list[float]) -> float:
    """Return the logarithm of a sum of numbers given by their logarithms."""
    top = max(logs, default=-np.inf)
    return top if top == -np.inf else top + log10(sum(10 ** (w - top) for w in logs))


def _log_mean(logs: list[float]) -> float:
    return _log_sum(logs) - log10(len(logs))


def _spread(logs: list[float], seed: int) -> tuple[float, float, float]:
    """Return the logarithm of the mean, with the ends of its bootstrap interval."""
    middle = _log_mean(logs)
    numbers = 10 ** (np.array(logs) - middle)
    means = np.array([part.mean() for part in np.array_split(numbers, BATCHES)])
    rng = np.random.default_rng(seed)
    bootstrap = rng.choice(means, (1_000, BATCHES)).mean(axis=1)
    low, high = np.quantile(bootstrap, (0.025, 0.975))
    return middle + log10(low), middle, middle + log10(high)
