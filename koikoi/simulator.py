"""A compiled Koi-Koi simulator: thousands of rounds in lockstep, card sets as bit masks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
from numba import uint64

from cfrlib.core.checks import whole_number
from cfrlib.core.jit import inlined, inner, kernel
from cfrlib.core.rng import LINE, State, begin, new_key, uniform
from cfrlib.game import Action
from koikoi.rules import KOI, STOP, KoiKoi, Position

Bits: TypeAlias = npt.NDArray[np.uint64]  # sets of cards: card c is the bit 2^c
Numbers: TypeAlias = npt.NDArray[np.int64]
Record: TypeAlias = npt.NDArray[np.int16]  # cards played and drawn, in order

PLAY, MATCH, CALL, OVER = 0, 1, 2, 3  # the three kinds of decisions, and the end
STAGES = ("play", "match", "call", "over")
NO_CARD = -1
STOPPING, CALLING = 0, 1  # the two actions of a call
NEVER = 1 << 30  # more points or calls than any round has; also "no special deal"
REDEAL = -NEVER
CARD_BITS = 7  # of an entry in the record of play: a card + 1, then the first it captured + 1
CALLED = 1 << 2 * CARD_BITS  # added to a turn's last entry if the player calls koi-koi


class Table(NamedTuple):
    """The rules of a game, as the kernels read them.

    Attributes
    ----------
    month : uint64 array, shape (cards,)
        All cards of the card's month, itself included.
    before : uint64 array, shape (cards,)
        The identical cards with a lower number.
    group : uint64 array, shape (groups,)
        Sets of cards that count toward a yaku.
    cap : int array, shape (groups,)
        How many cards of each group count at most.
    cards, more : int arrays, shape (yaku + 1,) and (yaku, 2)
        The groups of yaku y are ``cards[y] … cards[y + 1] - 1``. The groups of the cards that
        add a point each are ``more[y, 0] … more[y, 1] - 1``.
    need, points : int arrays, shape (yaku,)
    replaces : uint64 array, shape (yaku,)
        The yaku that do not count beside it, as a set of numbers; all are listed after it.
    hand, open, draws : int
        Cards in each hand and on the field at the start, and cards drawn in a full round.
    special, koi_limit, double_at, koi_factor, void_points : int
        As in `KoiKoi`, with ``REDEAL`` and ``NEVER`` for its strings and None.
    """

    month: Bits
    before: Bits
    group: Bits
    cap: Numbers
    cards: Numbers
    more: Numbers
    need: Numbers
    points: Numbers
    replaces: Bits
    hand: int
    open: int
    draws: int
    special: int
    koi_limit: int
    double_at: int
    koi_factor: int
    void_points: int


class Rounds(NamedTuple):
    """The states of some rounds, one per row; made by :meth:`Simulator.deal`.

    Attributes
    ----------
    hands, piles : uint64 arrays, shape (rounds, 2)
        The cards held and captured by each player.
    field : uint64 array, shape (rounds,)
        The cards on the field.
    order : int8 array, shape (rounds, cards)
        The shuffled deck.
    turned : int array, shape (rounds,)
        Number of its cards dealt or drawn so far.
    stage, player, card : int arrays, shape (rounds,)
        The kind of decision or ``OVER``, the player to move, and the open card that has to be
        matched, or ``NO_CARD``.
    drawn : bool array, shape (rounds,)
        Whether a card was drawn in this turn.
    points, calls : int arrays, shape (rounds, 2)
        Points of the piles when last counted; numbers of calls of koi-koi.
    paid : int array, shape (rounds,)
        Payoff to player 0, in points.
    record : int16 array, shape (rounds, cards)
        What both players have seen: one entry per card played or drawn, in order, then zeros.
        An entry is the card + 1, plus 2^7 (captured + 1) for the first card that it captured,
        plus ``CALLED`` if its player then called koi-koi. While the stock lasts, cards played
        and drawn alternate.
    """

    hands: Bits
    piles: Bits
    field: Bits
    order: npt.NDArray[np.int8]
    turned: Numbers
    stage: Numbers
    player: Numbers
    card: Numbers
    drawn: npt.NDArray[np.bool_]
    points: Numbers
    calls: Numbers
    paid: Numbers
    record: Record

    @classmethod
    def empty(cls, rounds: int, cards: int) -> Rounds:
        """Allocate rounds without a deal."""

        def numbers(*shape: int) -> Numbers:
            return np.zeros(shape, np.int64)

        return cls(
            hands=np.zeros((rounds, 2), np.uint64),
            piles=np.zeros((rounds, 2), np.uint64),
            field=np.zeros(rounds, np.uint64),
            order=np.zeros((rounds, cards), np.int8),
            turned=numbers(rounds),
            stage=numbers(rounds),
            player=numbers(rounds),
            card=numbers(rounds),
            drawn=np.zeros(rounds, np.bool_),
            points=numbers(rounds, 2),
            calls=numbers(rounds, 2),
            paid=numbers(rounds),
            record=np.zeros((rounds, cards), np.int16),
        )

    def take(self, rows: Numbers | Sequence[int]) -> Rounds:
        """Return a copy of some rounds."""
        columns: list[Any] = [column[rows] for column in self]
        return Rounds(*columns)

    def __len__(self) -> int:
        return len(self.stage)


# ---- sets of cards ---------------------------------------------------------------------------


@inlined
def bit(card: int) -> np.uint64:
    """Return the set of one card."""
    return uint64(1) << uint64(card)


@inlined
def size(cards: np.uint64) -> np.int64:
    """Return the number of cards in a set (population count)."""
    x = cards - ((cards >> uint64(1)) & uint64(0x5555555555555555))
    x = (x & uint64(0x3333333333333333)) + ((x >> uint64(2)) & uint64(0x3333333333333333))
    x = (x + (x >> uint64(4))) & uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * uint64(0x0101010101010101)) >> uint64(56))


@inlined
def lowest(cards: np.uint64) -> int:
    """Return the first card of a nonempty set."""
    card: int = size((cards & (~cards + uint64(1))) - uint64(1))
    return card


@inner
def without_lowest(cards: np.uint64) -> np.uint64:
    """Return the set without its first card."""
    return cards & (cards - uint64(1))


@inner
def nth(cards: np.uint64, n: int) -> int:
    """Return card number n of a set, counted from 0."""
    for _ in range(n):
        cards = without_lowest(cards)
    card: int = lowest(cards)
    return card


# ---- the rules -------------------------------------------------------------------------------


@inner
def held(pile: np.uint64, table: Table, start: int, stop: int) -> int:
    """Return the number of cards in a pile that count toward these groups."""
    n = 0
    for g in range(start, stop):
        n += min(table.cap[g], size(pile & table.group[g]))
    return n


@inlined
def worth(pile: np.uint64, table: Table) -> int:
    """Return the points of a pile."""
    total, replaced = 0, uint64(0)
    for y in range(len(table.need)):
        if held(pile, table, table.cards[y], table.cards[y + 1]) < table.need[y]:
            continue
        if not replaced & bit(y):
            beyond = held(pile, table, table.more[y, 0], table.more[y, 1]) - table.need[y]
            total += table.points[y] + max(0, beyond)
        replaced |= table.replaces[y]
    return total


@inner
def payment(points: int, called: bool, table: Table) -> int:
    """Return the payoff for points, given whether the opponent has called koi-koi."""
    if points >= table.double_at:
        points *= 2
    return points * table.koi_factor if called else points


@inner
def distinct(cards: np.uint64, table: Table) -> np.uint64:
    """Return the set with one of each group of identical cards."""
    kept, rest = cards, cards
    while rest:
        card = lowest(rest)
        rest = without_lowest(rest)
        if cards & table.before[card]:
            kept ^= bit(card)
    return kept


@inner
def legal(rounds: Rounds, r: int, table: Table) -> np.uint64:
    """Return the legal actions in round r as a set; empty if it is over."""
    actions: np.uint64 = uint64(0)
    if rounds.stage[r] == PLAY:
        actions = distinct(rounds.hands[r, rounds.player[r]], table)
    elif rounds.stage[r] == MATCH:
        actions = distinct(rounds.field[r] & table.month[rounds.card[r]], table)
    elif rounds.stage[r] == CALL:
        actions = bit(STOPPING) | bit(CALLING)
    return actions


@inner
def deal(rounds: Rounds, r: int, table: Table, state: State) -> None:
    """Shuffle and deal round r, until the deal is not one that the rules repeat."""
    cards = rounds.order.shape[1]
    needed = 2 * table.hand + table.open + table.draws
    order = rounds.order[r]
    for c in range(cards):
        order[c] = c
    paid = REDEAL
    while paid == REDEAL:
        for c in range(min(needed, cards - 1)):
            other = c + int(uniform(state) * (cards - c))
            order[c], order[other] = order[other], order[c]
        deal_cards(rounds, r, table)
        paid = special_payoff(rounds, r, table)
    if paid != NEVER:
        rounds.stage[r], rounds.paid[r] = OVER, paid


@inner
def deal_cards(rounds: Rounds, r: int, table: Table) -> None:
    """Deal the first cards of the deck to the players and the field."""
    for i in range(2):
        rounds.piles[r, i] = uint64(0)
        rounds.points[r, i] = rounds.calls[r, i] = 0
    first, second, field = uint64(0), uint64(0), uint64(0)
    for c in range(table.hand):
        first |= bit(rounds.order[r, c])
        second |= bit(rounds.order[r, table.hand + c])
    for c in range(2 * table.hand, 2 * table.hand + table.open):
        field |= bit(rounds.order[r, c])
    rounds.hands[r, 0], rounds.hands[r, 1], rounds.field[r] = first, second, field
    rounds.turned[r] = 2 * table.hand + table.open
    rounds.stage[r], rounds.player[r], rounds.card[r] = PLAY, 0, NO_CARD
    rounds.drawn[r] = False
    rounds.paid[r] = 0
    for n in range(rounds.record.shape[1]):
        rounds.record[r, n] = 0


@inner
def special_payoff(rounds: Rounds, r: int, table: Table) -> int:
    """Return the payoff of a special deal to player 0 or REDEAL; NEVER for a usual deal."""
    if table.special == NEVER:
        return NEVER
    if four_of_a_month(rounds.field[r], table):
        return REDEAL
    first = is_special_hand(rounds.hands[r, 0], table)
    second = is_special_hand(rounds.hands[r, 1], table)
    if not (first or second):
        return NEVER
    if table.special == REDEAL:
        return REDEAL
    return table.special * (int(first) - int(second))


@inner
def four_of_a_month(cards: np.uint64, table: Table) -> bool:
    """Return whether four cards share a month."""
    while cards:
        month = table.month[lowest(cards)]
        if size(cards & month) == 4:
            return True
        cards &= ~month
    return False


@inner
def is_special_hand(hand: np.uint64, table: Table) -> bool:
    """Return whether a hand has four cards of a month, or is made of four pairs."""
    pairs = 0
    rest = hand
    while rest:
        month = table.month[lowest(rest)]
        n = size(rest & month)
        if n == 4:
            return True
        pairs += n == 2
        rest &= ~month
    return pairs == 4 and size(hand) == 8


@inlined
def last_entry(rounds: Rounds, r: int, table: Table) -> int:
    """Return the place of the last card played or drawn in the record."""
    held = size(rounds.hands[r, 0]) + size(rounds.hands[r, 1])
    place: int = rounds.turned[r] - table.open - held - 1
    return place


@inner
def act(rounds: Rounds, r: int, action: int, table: Table) -> None:
    """Apply an action of the player to move: a card, or at a call STOPPING or CALLING."""
    if decide(rounds, r, action, table):
        draw(rounds, r, rounds.order[r, rounds.turned[r]], table)


@inner
def decide(rounds: Rounds, r: int, action: int, table: Table) -> bool:
    """Apply an action up to the draw; return whether a card is drawn next."""
    i = rounds.player[r]
    if rounds.stage[r] == CALL:
        if action == STOPPING:
            pay(rounds, r, table)
        else:
            rounds.calls[r, i] += 1
            rounds.record[r, last_entry(rounds, r, table)] |= CALLED
            pass_turn(rounds, r, table)
        return False
    if rounds.stage[r] == PLAY:
        rounds.hands[r, i] ^= bit(action)
        done = lay(rounds, r, action, table)
    else:
        take(rounds, r, rounds.card[r], bit(action), table)
        done = True
    if done and not rounds.drawn[r] and rounds.turned[r] < len(table.month):
        return True
    if done:
        count(rounds, r, table)
    return False


@inner
def draw(rounds: Rounds, r: int, card: int, table: Table) -> None:
    """Draw a card from the stock."""
    rounds.turned[r] += 1
    rounds.drawn[r] = True
    if lay(rounds, r, card, table):
        count(rounds, r, table)


@inner
def lay(rounds: Rounds, r: int, card: int, table: Table) -> bool:
    """Lay an open card on the field; return False if the player has to choose a match."""
    rounds.record[r, last_entry(rounds, r, table)] = card + 1
    matching = rounds.field[r] & table.month[card]
    if size(matching) == 2:
        matching = distinct(matching, table)
        if size(matching) == 2:
            rounds.stage[r], rounds.card[r] = MATCH, card
            return False
    take(rounds, r, card, matching, table)
    return True


@inner
def take(rounds: Rounds, r: int, card: int, taken: np.uint64, table: Table) -> None:
    """Capture these cards with the open card, or leave it on the field if there are none."""
    if taken:
        rounds.record[r, last_entry(rounds, r, table)] |= (lowest(taken) + 1) << CARD_BITS
        rounds.field[r] &= ~taken
        rounds.piles[r, rounds.player[r]] |= taken | bit(card)
    else:
        rounds.field[r] |= bit(card)
    rounds.card[r] = NO_CARD


@inner
def count(rounds: Rounds, r: int, table: Table) -> None:
    """End a turn: if the points have risen, pay them or let the player call koi-koi."""
    i = rounds.player[r]
    points = worth(rounds.piles[r, i], table)
    if points <= rounds.points[r, i]:
        pass_turn(rounds, r, table)
        return
    rounds.points[r, i] = points
    if not rounds.hands[r, i] or rounds.calls[r, 0] + rounds.calls[r, 1] >= table.koi_limit:
        pay(rounds, r, table)
    else:
        rounds.stage[r] = CALL


@inner
def pass_turn(rounds: Rounds, r: int, table: Table) -> None:
    """Pass the turn to the other player; end the round if that hand is empty."""
    other = 1 - rounds.player[r]
    rounds.player[r] = other
    rounds.drawn[r] = False
    if rounds.hands[r, other]:
        rounds.stage[r] = PLAY
    else:
        rounds.stage[r], rounds.paid[r] = OVER, table.void_points


@inner
def pay(rounds: Rounds, r: int, table: Table) -> None:
    """End the round: pay the player to move."""
    i = rounds.player[r]
    paid = payment(rounds.points[r, i], rounds.calls[r, 1 - i] > 0, table)
    rounds.paid[r] = paid if i == 0 else -paid
    rounds.stage[r] = OVER


# ---- many rounds -----------------------------------------------------------------------------


@kernel
def deal_all(rounds: Rounds, table: Table, key: np.uint64, first: int, state: State) -> None:
    """Deal every round; the random numbers of round r depend only on `first` + r."""
    for r in range(len(rounds.stage)):
        begin(state, key, 0, 0, first + r)
        deal(rounds, r, table, state)


@kernel
def legal_all(rounds: Rounds, table: Table, out: Bits) -> None:
    """Write the legal actions of every round."""
    for r in range(len(rounds.stage)):
        out[r] = legal(rounds, r, table)


@kernel
def act_all(rounds: Rounds, rows: Numbers, actions: Numbers, table: Table) -> int:
    """Apply an action in each of these rounds; return the number before an illegal one."""
    for n in range(len(rows)):
        allowed = legal(rounds, rows[n], table)
        if not 0 <= actions[n] < 64 or not allowed & bit(actions[n]):
            return n
        act(rounds, rows[n], actions[n], table)
    return len(rows)


# ---- players ---------------------------------------------------------------------------------


class Player(Protocol):
    """A player that chooses actions in a batch of rounds."""

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds, in which this player is to move.

        Parameters
        ----------
        simulator : Simulator
        rounds : Rounds
            Read-only; the opponent's hand and the stock must not be used.
        rows : int array, shape (some,)
            The rounds in which to choose.
        key : uint64
            Key of the random numbers.
        """


@runtime_checkable
class Watcher(Protocol):
    """A player that records the actions of both players, which the table does not show."""

    def watch(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, actions: Numbers
    ) -> None:
        """Observe an action of either player in each of these rounds, before it is applied.

        Parameters
        ----------
        simulator : Simulator
        rounds : Rounds
            Read-only; hidden cards must not be used.
        rows, actions : int arrays, shape (some,)
            The rounds, and the action in each.
        """


class Simulator:
    """Compiled simulator of a Koi-Koi game: deals and plays thousands of rounds in lockstep.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
        The rules.

    Attributes
    ----------
    names : tuple of str
        The name of each card. Card c is bit c of a set, of type uint64.
    table : Table
        The rules, for the kernels.

    Raises
    ------
    ValueError
        If the deck has more than 64 cards, or yaku replace one that is listed before them.

    Notes
    -----
    This is a second implementation of the rules in `KoiKoi`; tests compare the two move by
    move. Identical cards of a miniature deck have distinct numbers here; only the first of
    them in a hand, or on the field, is a legal action.

    Examples
    --------
    >>> from koikoi import KoiKoi
    >>> simulator = Simulator(KoiKoi())
    >>> rounds = simulator.deal(1_000, seed=0)
    >>> while (rounds.stage != OVER).any():
    ...     rows = np.flatnonzero(rounds.stage != OVER)
    ...     simulator.act(rounds, rows, first_actions(simulator.legal(rounds)[rows]))
    >>> bool(abs(rounds.paid).max() > 6)
    True

    Matches between players, each deal in both seats:

    >>> import cfrlib as cfr
    >>> from koikoi.players import GreedyPlayer
    >>> cfr.match(simulator, GreedyPlayer(), GreedyPlayer(), 100, seed=0)
    +0.000 ± 0.000 a round (95 %, 100 deals, each from 2 seats; won 47.5%, tied 5.0%)
    """

    num_players = 2

    def __init__(self, game: KoiKoi):
        if not isinstance(game, KoiKoi):
            raise ValueError(f"needs a KoiKoi or MiniKoiKoi game, got {game!r}")
        if len(game.deck) > 64:
            raise ValueError(
                f"a deck may have 64 cards, one for each bit, got {len(game.deck)}"
            )
        self.game, self.names = game, game.deck
        self.table = _table(game)

    def deal(
        self, rounds: int, *, seed: int | np.random.SeedSequence | None = None, first: int = 0
    ) -> Rounds:
        """Deal new rounds; each deal depends only on the seed and the number of the round.

        Parameters
        ----------
        rounds : int
            Number of rounds.
        seed : int or SeedSequence, optional
        first : int
            The number of the first round.
        """
        whole_number("rounds", rounds, 1)
        dealt = Rounds.empty(rounds, len(self.names))
        deal_all(dealt, self.table, new_key(seed), first, np.zeros(LINE, np.uint64))
        return dealt

    def legal(self, rounds: Rounds) -> Bits:
        """Return the legal actions of each round as sets, shape (rounds,); empty where over.

        Actions are numbers of cards; at a call, 0 is stop and 1 is koi-koi.
        """
        out = np.zeros(len(rounds), np.uint64)
        legal_all(rounds, self.table, out)
        return out

    def act(self, rounds: Rounds, rows: npt.ArrayLike, actions: npt.ArrayLike) -> None:
        """Apply an action in each of these rounds, in place.

        Parameters
        ----------
        rounds : Rounds
        rows : int array, shape (some,)
            The rounds.
        actions : int array, shape (some,)
            A legal action in each.

        Raises
        ------
        ValueError
            If an action is not legal; the actions before it have been applied.
        """
        which, chosen = np.asarray(rows, np.int64), np.asarray(actions, np.int64)
        if which.shape != chosen.shape or which.ndim != 1:
            raise ValueError(
                f"give an action for each round, got {chosen.shape} for {which.shape}"
            )
        if len(which) and not (which.min() >= 0 and which.max() < len(rounds)):
            raise ValueError(f"there are only {len(rounds)} rounds, numbered from 0")
        done = act_all(rounds, which, chosen, self.table)
        if done < len(which):
            r = int(which[done])
            raise ValueError(
                f"action {chosen[done]} is not legal in round {r}: "
                f"{STAGES[rounds.stage[r]]}, {self.actions(rounds, r)}"
            )

    def play_rounds(
        self,
        players: Sequence[Player],
        rounds: int,
        seed: np.random.SeedSequence,
        dealer: Numbers | None = None,
    ) -> Numbers:
        """Play rounds between two players; return both payoffs, shape (rounds, 2).

        :func:`cfrlib.simulate` and :func:`cfrlib.match` call it. The deals depend only on the
        seed, not on the players.

        Parameters
        ----------
        players : pair of players
        rounds : int
        seed : SeedSequence
            For the deals and the players.
        dealer : int array, shape (rounds,), optional
            Which player deals each round; the first one by default.
        """
        if dealer is None:
            dealer = np.zeros(rounds, np.int64)
        dealing, *moving = seed.spawn(3)
        dealt = self.deal(rounds, seed=dealing)
        keys = [new_key(source) for source in moving]
        watchers = {id(player): player for player in players if isinstance(player, Watcher)}
        while (dealt.stage != OVER).any():
            for i, player in enumerate(players):
                mine = dealt.player == np.where(dealer == i, 0, 1)
                rows = np.flatnonzero((dealt.stage != OVER) & mine)
                if not len(rows):
                    continue
                actions = player(self, dealt, rows, keys[i])
                for watcher in watchers.values():
                    watcher.watch(self, dealt, rows, actions)
                self.act(dealt, rows, actions)
        first = np.where(dealer == 0, dealt.paid, -dealt.paid)
        return np.stack([first, -first], axis=1)

    def actions(self, rounds: Rounds, r: int) -> dict[int, Action]:
        """Return the legal actions of round r, from numbers to the actions of the game."""
        numbers = members(int(self.legal(rounds.take([r]))[0]))
        if rounds.stage[r] == CALL:
            return dict(zip(numbers, (STOP, KOI), strict=True))
        return {c: self.names[c] for c in numbers}

    def position(self, rounds: Rounds, r: int) -> Position:
        """Return round r as a `Position`, without what the players have seen."""
        (first, second), (mine, other) = (
            [self._cards(int(cards)) for cards in pair[r]]
            for pair in (rounds.hands, rounds.piles)
        )
        card = int(rounds.card[r])
        stock = rounds.order[r, rounds.turned[r] :].tolist()
        points, calls = (tuple(pair[r].tolist()) for pair in (rounds.points, rounds.calls))
        return Position(
            stage=STAGES[rounds.stage[r]],
            player=int(rounds.player[r]),
            hands=(first, second),
            field=self._cards(int(rounds.field[r])),
            piles=(mine, other),
            stock=tuple(self.names[c] for c in sorted(stock)),
            card="" if card == NO_CARD else self.names[card],
            drawn=bool(rounds.drawn[r]),
            points=points,
            calls=calls,
            paid=int(rounds.paid[r]),
        )

    def place(self, positions: Sequence[Position]) -> Rounds:
        """Return rounds in these positions, none of which may be a chance node.

        The stock is in the order of the deck. With this, a network can be evaluated at the
        infosets of the game.
        """
        rounds = Rounds.empty(len(positions), len(self.names))
        for r, at in enumerate(positions):
            self._place(rounds, r, at)
        return rounds

    def _place(self, rounds: Rounds, r: int, at: Position) -> None:
        if at.stage not in STAGES:
            raise ValueError(f"a position at stage {at.stage!r} is a chance node: {at!r}")
        free = {name: [c for c, n in enumerate(self.names) if n == name] for name in self.names}
        gone: list[int] = []

        def take(cards: Sequence[str]) -> int:
            taken = [free[card].pop(0) for card in cards]
            gone.extend(taken)
            return sum(1 << c for c in taken)

        for i in range(2):
            rounds.hands[r, i], rounds.piles[r, i] = take(at.hands[i]), take(at.piles[i])
            rounds.points[r, i], rounds.calls[r, i] = at.points[i], at.calls[i]
        rounds.field[r] = take(at.field)
        rounds.card[r] = NO_CARD
        if at.card:
            take([at.card])
            rounds.card[r] = gone[-1]
        rest = [c for c in range(len(self.names)) if c not in gone]
        rounds.order[r] = gone + rest
        rounds.turned[r] = len(gone)
        rounds.stage[r], rounds.player[r] = STAGES.index(at.stage), at.player
        rounds.drawn[r], rounds.paid[r] = at.drawn, at.paid
        record = self._record(at)
        rounds.record[r, : len(record)] = record

    def _record(self, at: Position) -> list[int]:
        """Return the record of play, replayed from what both players have heard."""
        months, number = self.game.months, self.names.index
        field = at.first[0].partition(" | ")[2].split()
        record: list[int] = []
        card = ""

        def take(taken: list[str]) -> None:
            if not taken:
                field.append(card)
                return
            record[-1] |= (min(map(number, taken)) + 1) << CARD_BITS
            for other in taken:
                field.remove(other)

        for word in at.heard.replace(",", "").split():
            if word == "koi":
                record[-1] |= CALLED
            elif word.startswith("("):
                take([word[1:-1]])
            else:
                card = word.removeprefix("+")
                record.append(number(card) + 1)
                matching = [other for other in field if months[other] == months[card]]
                if len(matching) != 2:
                    take(matching)
                elif matching[0] == matching[1]:
                    take(matching[:1])
        return record

    def _cards(self, cards: int) -> tuple[str, ...]:
        return tuple(self.names[c] for c in members(cards))

    def __repr__(self) -> str:
        return f"Simulator({self.game!r})"


def members(cards: int) -> list[int]:
    """Return the cards of a set.

    Examples
    --------
    >>> members(0b1011)
    [0, 1, 3]
    """
    return [c for c in range(int(cards).bit_length()) if int(cards) >> c & 1]


def first_actions(legal: Bits) -> Numbers:
    """Return the first action of each set that is not empty.

    Examples
    --------
    >>> first_actions(np.array([0b1000, 0b0110], np.uint64))
    array([3, 1])
    """
    return np.array([lowest(cards) for cards in legal], np.int64)


def _table(game: KoiKoi) -> Table:
    """Return the rules of a game as arrays."""
    deck = game.deck
    faces = game.faces(deck)
    months = [game.months[name] for name in deck]
    numbered = {y.name: n for n, y in enumerate(game.yaku)}
    group: list[int] = []
    cap: list[int] = []

    def add_groups(cards: Sequence[str]) -> int:
        """Append the groups of these cards; return the number of groups so far.

        If fewer copies count than there are, the copies are a group; all others share one.
        """
        rest = 0
        for face in dict.fromkeys(cards):
            copies = _set(c for c, other in enumerate(faces) if other == face)
            counted = cards.count(face)
            if counted < copies.bit_count():
                group.append(copies)
                cap.append(counted)
            else:
                rest |= copies
        if rest:
            group.append(rest)
            cap.append(rest.bit_count())
        return len(group)

    more = [(len(group), add_groups(y.more)) for y in game.yaku]
    starts = [len(group), *(add_groups(y.cards) for y in game.yaku)]
    numbers = range(len(deck))
    special = {"redeal": REDEAL, "none": NEVER}
    return Table(
        month=_sets((c for c in numbers if months[c] == month) for month in months),
        before=_sets((b for b in range(c) if deck[b] == deck[c]) for c in numbers),
        group=np.array(group, np.uint64),
        cap=np.array(cap, np.int64),
        cards=np.array(starts, np.int64),
        more=np.array(more, np.int64).reshape(-1, 2),
        need=np.array([y.need for y in game.yaku], np.int64),
        points=np.array([y.points for y in game.yaku], np.int64),
        replaces=_sets((numbered[name] for name in y.replaces) for y in game.yaku),
        hand=game.hand,
        open=game.open,
        draws=min(2 * game.hand, len(deck) - 2 * game.hand - game.open),
        special=special[game.special] if isinstance(game.special, str) else game.special,
        koi_limit=NEVER if game.koi_limit is None else game.koi_limit,
        double_at=NEVER if game.double_at is None else game.double_at,
        koi_factor=game.koi_factor,
        void_points=game.void_points,
    )


def _set(cards: Iterable[int]) -> int:
    return sum(1 << c for c in cards)


def _sets(cards: Iterable[Iterable[int]]) -> Bits:
    return np.array([_set(some) for some in cards], np.uint64)
