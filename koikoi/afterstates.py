"""Features of Koi-Koi for networks: the table before a decision and after each action."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import uint64

from cfrlib.core.jit import inner, kernel
from koikoi.rules import KoiKoi
from koikoi.simulator import (
    CALL,
    CALLED,
    CALLING,
    CARD_BITS,
    MATCH,
    PLAY,
    STOPPING,
    Numbers,
    Rounds,
    Simulator,
    Table,
    bit,
    distinct,
    held,
    legal,
    lowest,
    payment,
    size,
    without_lowest,
    worth,
)

Rows: TypeAlias = npt.NDArray[np.float32]
Tokens: TypeAlias = npt.NDArray[np.uint8]

PLACES = ("hand", "field", "pile", "theirs", "pending")  # where a card may be
COUNTS = ("points", "other", "calls", "called", "seat", "risen", "ends", "draws", "stops")
CODE = len(PLACES) + len(COUNTS)
FACTS = len(COUNTS) + 3  # number of features beside cards and yaku
POINT_SCALE = 10.0  # points per unit of a feature
UNDECIDED = -1  # value of `stops` in the table before a decision
SEAT = len(PLACES) + COUNTS.index("seat")
ENTRY = 2 * CARD_BITS + 1  # bits of an entry in the record of play
ENTRIES = 3  # of the record in each number
KINDS = 5  # of tokens: padding, or a turn of mine or theirs, with koi-koi called or not
PARTS = 4  # of a token: the card played, the first it captured, the card drawn, its capture


class Afterstates(NamedTuple):
    """All actions of some decisions, one per row; made by :meth:`Describer.after`.

    Attributes
    ----------
    code : int array, shape (actions, width)
        The table after each action as the player to move sees it: the set of cards in each of
        ``PLACES``, then ``COUNTS``. A describer with `ordered` appends the record of play, the
        same for all actions of a decision.
    start : int array, shape (decisions + 1,)
        Decision d has the rows ``start[d] … start[d + 1] - 1``.
    action : int array, shape (actions,)
        The action, as `Simulator.act` takes it.
    paid : float array, shape (actions,)
        Payoff of stopping to the player to move, in points; NaN for all other actions.
    before : int array, shape (decisions, width)
        The table before each decision.
    """

    code: Numbers
    start: Numbers
    action: Numbers
    paid: npt.NDArray[np.float64]
    before: Numbers

    @property
    def pairs(self) -> Numbers:
        """The tables after each action and before it, shape (actions, 2 · width)."""
        before = np.repeat(self.before, np.diff(self.start), axis=0)
        return np.concatenate([self.code, before], axis=1)


class Cards(NamedTuple):
    """Identical cards, for the kernels: the face of each card, and the copies of each face."""

    face: Numbers
    copies: Numbers


@inner
def write_cards(cards: np.uint64, shown: Cards, column: int, out: Rows, row: int) -> None:
    """Write the fraction of the copies of each card that is in a set."""
    while cards:
        face = shown.face[lowest(cards)]
        cards = without_lowest(cards)
        out[row, column + face] += np.float32(1.0 / shown.copies[face])


@inner
def write_yaku(pile: np.uint64, table: Table, column: int, out: Rows, row: int) -> None:
    """Write the fraction of each yaku that a pile has."""
    for y in range(len(table.need)):
        n = held(pile, table, table.cards[y], table.cards[y + 1])
        out[row, column + y] = np.float32(n / table.need[y])


@inner
def encode_after(
    rounds: Rounds, r: int, action: int, table: Table, code: Numbers, row: int
) -> None:
    """Encode the table after an action of the player to move, before the next chance event."""
    i = rounds.player[r]
    hand, field, pile = rounds.hands[r, i], rounds.field[r], rounds.piles[r, i]
    stage, drawn, card = rounds.stage[r], rounds.drawn[r], rounds.card[r]
    taken, pending = uint64(0), uint64(0)
    if stage == PLAY:
        card, drawn = action, False
        hand ^= bit(card)
        taken = field & table.month[card]
        if size(taken) == 2:
            taken = distinct(taken, table)
            if size(taken) == 2:
                taken, pending = uint64(0), bit(card)
    elif stage == MATCH:
        taken = bit(action)
    if taken:
        field &= ~taken
        pile |= taken | bit(card)
    elif stage == PLAY and not pending:
        field |= bit(card)
    stock = rounds.order.shape[1] - rounds.turned[r]
    code[row, 0], code[row, 1], code[row, 2] = hand, field, pile
    code[row, 3], code[row, 4] = rounds.piles[r, 1 - i], pending
    points = worth(pile, table)
    code[row, 5], code[row, 6] = points, rounds.points[r, 1 - i]
    code[row, 7] = rounds.calls[r, i] + (stage == CALL and action == CALLING)
    code[row, 8] = rounds.calls[r, 1 - i]
    code[row, 9] = i
    code[row, 10] = points > rounds.points[r, i] and stage != CALL
    code[row, 11] = stage == CALL or (drawn and not pending)
    code[row, 12] = stock > 0 and not drawn
    code[row, 13] = stage == CALL and action == STOPPING


@inner
def encode_before(rounds: Rounds, r: int, table: Table, code: Numbers, row: int) -> None:
    """Encode the table before the decision of the player to move."""
    i, stage = rounds.player[r], rounds.stage[r]
    hand, pile, theirs = rounds.hands[r, i], rounds.piles[r, i], rounds.piles[r, 1 - i]
    pending = bit(rounds.card[r]) if stage == MATCH else uint64(0)
    code[row, 0], code[row, 1], code[row, 2] = hand, rounds.field[r], pile
    code[row, 3], code[row, 4] = theirs, pending
    code[row, 5], code[row, 6] = worth(pile, table), rounds.points[r, 1 - i]
    code[row, 7], code[row, 8] = rounds.calls[r, i], rounds.calls[r, 1 - i]
    code[row, 9] = i
    code[row, 10], code[row, 11] = stage == CALL, False
    stock = rounds.order.shape[1] - rounds.turned[r]
    code[row, 12] = stock > 0 and (stage == PLAY or not rounds.drawn[r])
    code[row, 13] = UNDECIDED


@inner
def write_features(code: Numbers, row: int, table: Table, shown: Cards, out: Rows) -> None:
    """Write the features of one encoded table."""
    faces = len(shown.copies)
    for place in range(5):
        write_cards(uint64(code[row, place]), shown, place * faces, out, row)
    column = 5 * faces
    pile, theirs = uint64(code[row, 2]), uint64(code[row, 3])
    write_yaku(pile, table, column, out, row)
    write_yaku(theirs, table, column + len(table.need), out, row)
    column += 2 * len(table.need)
    points, other, calls, called = code[row, 5], code[row, 6], code[row, 7], code[row, 8]
    out[row, column] = points / POINT_SCALE
    out[row, column + 1] = other / POINT_SCALE
    for n in range(2, 9):
        out[row, column + n] = code[row, 5 + n]
    out[row, column + 9] = payment(points, called > 0, table) / POINT_SCALE
    out[row, column + 10] = payment(other, calls > 0, table) / POINT_SCALE
    out[row, column + 11] = size(uint64(code[row, 0])) / table.hand


@kernel
def count_actions(rounds: Rounds, rows: Numbers, table: Table, start: Numbers) -> None:
    """Write the first row of each decision."""
    for n in range(len(rows)):
        start[n + 1] = start[n] + size(legal(rounds, rows[n], table))


@kernel
def encode_all(
    rounds: Rounds,
    rows: Numbers,
    table: Table,
    start: Numbers,
    code: Numbers,
    action: Numbers,
    paid: npt.NDArray[np.float64],
    before: Numbers,
) -> None:
    """Encode the tables after every action in these rounds, and the tables before them."""
    for n in range(len(rows)):
        r = rows[n]
        encode_before(rounds, r, table, before, n)
        actions, row = legal(rounds, r, table), start[n]
        while actions:
            a = lowest(actions)
            actions = without_lowest(actions)
            action[row], paid[row] = a, np.nan
            if rounds.stage[r] == CALL and a == STOPPING:
                i = rounds.player[r]
                called = rounds.calls[r, 1 - i] > 0
                paid[row] = payment(rounds.points[r, i], called, table)
            encode_after(rounds, r, a, table, code, row)
            row += 1


@kernel
def append_record(
    rounds: Rounds, rows: Numbers, start: Numbers, code: Numbers, before: Numbers
) -> None:
    """Append the record of play to the encoded tables, ``ENTRIES`` to a number."""
    slots = min(ENTRIES * (before.shape[1] - CODE), rounds.record.shape[1])
    for n in range(len(rows)):
        before[n, CODE:] = 0
        for slot in range(slots):
            entry = np.int64(rounds.record[rows[n], slot])
            before[n, CODE + slot // ENTRIES] |= entry << ENTRY * (slot % ENTRIES)
        for row in range(start[n], start[n + 1]):
            code[row, CODE:] = before[n, CODE:]


@kernel
def write_all_tokens(code: Numbers, draws: int, shown: Cards, out: Tokens) -> None:
    """Write the tokens of the record of play in all encoded tables."""
    for row in range(len(code)):
        for slot in range(ENTRIES * (code.shape[1] - CODE)):
            word = code[row, CODE + slot // ENTRIES]
            entry = word >> ENTRY * (slot % ENTRIES) & ((1 << ENTRY) - 1)
            if not entry:
                break
            turn, drawn = slot - draws, 0
            if slot < 2 * draws:  # while the stock lasts, each turn has two
                turn, drawn = slot // 2, slot % 2
            mine = turn % 2 == code[row, SEAT]
            card, captured = entry & 127, entry >> CARD_BITS & 127
            out[row, turn, 0] = 1 + mine + 2 * ((entry & CALLED) > 0)
            out[row, turn, 1 + 2 * drawn] = 1 + shown.face[card - 1]
            out[row, turn, 2 + 2 * drawn] = 1 + shown.face[captured - 1] if captured else 0


@kernel
def write_all_features(code: Numbers, table: Table, shown: Cards, out: Rows) -> None:
    """Write the features of all encoded tables."""
    for row in range(len(code)):
        write_features(code, row, table, shown, out)


class Describer:
    """Encodes the tables after each action, before the next chance event, as network input.

    A network with one output per *afterstate* can play any hand, with any number of actions.
    The features are, for each card of the deck, whether it is in the player's hand, on the
    field, in either pile, or open and not matched yet; the fraction of each yaku in either
    pile; the points of both players and their payoffs; whether the points have just risen; the
    calls of koi-koi so far; the fraction of the hand that is left; the seat; and whether the
    turn ends, a card is drawn next, or the round is stopped. Identical cards of a miniature
    deck share a column. The table before an action has the same columns and is marked in that
    of stopping.

    This is less than the player knows: it omits which cards the opponent played, and when they
    did not capture. With `ordered`, tables also contain the record of play, for a network that
    reads it as *tokens*: one for each turn, in order. The record and the features together are
    all that the player knows.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    ordered : bool
        Whether encoded tables contain the record of play.

    Attributes
    ----------
    columns : int
        Number of features.
    width : int
        Number of integers in an encoded table.
    faces, turns : int
        Number of cards that differ, and of turns in a full round.

    Examples
    --------
    >>> describer = Describer(KoiKoi())
    >>> rounds = Simulator(KoiKoi()).deal(2, seed=0)
    >>> after = describer.after(rounds, np.array([0, 1]))
    >>> describer.see(after.code).shape, after.start.tolist()
    ((16, 278), [0, 8, 16])
    """

    def __init__(self, game: KoiKoi, ordered: bool = False):
        self.simulator, self.ordered = Simulator(game), ordered
        faces = game.faces(game.deck)
        known = list(dict.fromkeys(faces))
        self._cards = Cards(
            np.array([known.index(face) for face in faces]),
            np.array([faces.count(face) for face in known]),
        )
        self.columns = len(PLACES) * len(known) + 2 * len(game.yaku) + FACTS
        self.faces, self.turns = len(known), 2 * game.hand
        entries = self.turns + self.simulator.table.draws
        self.width = CODE + (-(-entries // ENTRIES) if ordered else 0)

    def after(self, rounds: Rounds, rows: Numbers) -> Afterstates:
        """Encode the table after every action in these rounds, none of which may be over.

        Parameters
        ----------
        rounds : Rounds
        rows : int array, shape (decisions,)

        Returns
        -------
        Afterstates
        """
        table, start = self.simulator.table, np.zeros(len(rows) + 1, np.int64)
        count_actions(rounds, rows, table, start)
        code = np.empty((start[-1], self.width), np.int64)
        before = np.empty((len(rows), self.width), np.int64)
        action, paid = np.empty(start[-1], np.int64), np.empty(start[-1])
        encode_all(rounds, rows, table, start, code, action, paid, before)
        if self.ordered:
            append_record(rounds, rows, start, code, before)
        return Afterstates(code, start, action, paid, before)

    def see(self, code: Numbers, rows: int | None = None) -> Rows:
        """Return the features of encoded tables, shape (rows, columns).

        If `rows` is larger than the number of tables, the other rows are 0.
        """
        seen = np.zeros((len(code) if rows is None else rows, self.columns), np.float32)
        write_all_features(code, self.simulator.table, self._cards, seen)
        return seen

    def tokens(self, code: Numbers, rows: int | None = None) -> Tokens:
        """Return the record of play in encoded tables as tokens, shape (rows, turns, 5).

        A token is a turn: its kind; the card played and the first that it captured; the card
        drawn and the first that it captured. Kinds are 1 for the opponent and 2 for the player
        to move, or 3 and 4 with koi-koi called. Cards are numbered from 1, those that look
        alike with the same number; 0 is no card. A turn not begun is all 0.

        Raises
        ------
        ValueError
            If the tables do not contain the record.

        Examples
        --------
        >>> from koikoi import MiniKoiKoi
        >>> game = MiniKoiKoi.K8()
        >>> at = game.step(game.root(), "Curtain Curtain / Moon Moon / Sake Sake")
        >>> at = game.step(game.step(at, "Curtain"), "Pine")
        >>> describer = Describer(game, ordered=True)
        >>> code = describer.after(describer.simulator.place([at]), np.array([0])).before
        >>> describer.tokens(code)[0, :3].tolist()  # by the other player
        [[1, 1, 0, 4, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 0]]
        """
        if not self.ordered:
            raise ValueError("these tables do not contain the record: use ordered=True")
        shape = (len(code) if rows is None else rows, self.turns, 1 + PARTS)
        read = np.zeros(shape, np.uint8)
        write_all_tokens(code, self.simulator.table.draws, self._cards, read)
        return read
