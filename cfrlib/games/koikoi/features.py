"""What a network sees of Koi-Koi: the table as it would lie after an action."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import uint64

from cfrlib.games.koikoi.rules import KoiKoi
from cfrlib.games.koikoi.simulator import (
    CALL,
    MATCH,
    PLAY,
    STOPPING,
    Numbers,
    Rounds,
    Simulator,
    Table,
    bit,
    different,
    held,
    legal,
    lowest,
    payment,
    size,
    without_lowest,
    worth,
)
from cfrlib.sequence import inner, kernel

Rows: TypeAlias = npt.NDArray[np.float32]

PLACES = 5  # of a card: own hand, field, own pile, the other's pile, open and not matched yet
FACTS = 11  # beside cards and yaku
MANY = 10.0  # points; the unit in which a network is told of points and payoffs


class Afterstates(NamedTuple):
    """All actions of some decisions, one a row; made by :meth:`Describer.__call__`.

    Attributes
    ----------
    seen : float32 array, shape (actions, columns)
        What a network sees of each.
    start : int array, shape (decisions + 1,)
        Decision d has the rows ``start[d] … start[d + 1] - 1``.
    action : int array, shape (actions,)
        The action, as `Simulator.act` takes it.
    paid : float32 array, shape (actions,)
        What stopping pays whoever decides, in points; NaN for all other actions.
    """

    seen: Rows
    start: Numbers
    action: Numbers
    paid: Rows


class Cards(NamedTuple):
    """Which cards look alike, as the kernels read it: ``face[c]`` of ``copies[face]``."""

    face: Numbers
    copies: Numbers


@inner
def spot(cards: np.uint64, shown: Cards, column: int, out: Rows, row: int) -> None:
    """Write which share of the copies of each card is among these."""
    while cards:
        face = shown.face[lowest(cards)]
        cards = without_lowest(cards)
        out[row, column + face] += np.float32(1.0 / shown.copies[face])


@inner
def progress(pile: np.uint64, table: Table, column: int, out: Rows, row: int) -> None:
    """Write how much of each yaku a pile has."""
    for y in range(len(table.need)):
        n = held(pile, table, table.cards[y], table.cards[y + 1])
        out[row, column + y] = np.float32(n / table.need[y])


@inner
def describe(
    rounds: Rounds, r: int, action: int, table: Table, shown: Cards, out: Rows, row: int
) -> None:
    """Write what the table looks like after an action of whoever chooses, and before chance."""
    i = rounds.player[r]
    hand, field, pile = rounds.hands[r, i], rounds.field[r], rounds.piles[r, i]
    stage, drawn, card = rounds.stage[r], rounds.drawn[r], rounds.card[r]
    taken, pending = uint64(0), uint64(0)
    if stage == PLAY:
        card, drawn = action, False
        hand ^= bit(card)
        taken = field & table.month[card]
        if size(taken) == 2:
            taken = different(taken, table)
            if size(taken) == 2:
                taken, pending = uint64(0), bit(card)
    elif stage == MATCH:
        taken = bit(action)
    if taken:
        field &= ~taken
        pile |= taken | bit(card)
    elif stage == PLAY and not pending:
        field |= bit(card)
    theirs, faces = rounds.piles[r, 1 - i], len(shown.copies)
    spot(hand, shown, 0, out, row)
    spot(field, shown, faces, out, row)
    spot(pile, shown, 2 * faces, out, row)
    spot(theirs, shown, 3 * faces, out, row)
    spot(pending, shown, 4 * faces, out, row)
    column = PLACES * faces
    progress(pile, table, column, out, row)
    progress(theirs, table, column + len(table.need), out, row)
    column += 2 * len(table.need)
    points, other = worth(pile, table), rounds.points[r, 1 - i]
    calls = rounds.calls[r, i] + (stage == CALL)
    called = rounds.calls[r, 1 - i] > 0
    ends = stage == CALL or (drawn and not pending)  # this player's turn, with this action
    stock = rounds.order.shape[1] - rounds.turned[r]
    out[row, column] = points / MANY
    out[row, column + 1] = other / MANY
    out[row, column + 2] = payment(points, called, table) / MANY
    out[row, column + 3] = payment(other, calls > 0, table) / MANY
    out[row, column + 4] = points > rounds.points[r, i] and stage != CALL
    out[row, column + 5] = calls
    out[row, column + 6] = rounds.calls[r, 1 - i]
    out[row, column + 7] = size(hand) / table.hand
    out[row, column + 8] = i
    out[row, column + 9] = ends
    out[row, column + 10] = stock > 0 and not drawn


@kernel
def count_actions(rounds: Rounds, rows: Numbers, table: Table, start: Numbers) -> None:
    """Write where the rows of each decision begin."""
    for n in range(len(rows)):
        start[n + 1] = start[n] + size(legal(rounds, rows[n], table))


@kernel
def describe_all(
    rounds: Rounds, rows: Numbers, table: Table, shown: Cards, start: Numbers, out: Rows,
    action: Numbers, paid: Rows,
) -> None:  # fmt: skip
    """Describe every action of these rounds."""
    for n in range(len(rows)):
        r = rows[n]
        actions, row = legal(rounds, r, table), start[n]
        while actions:
            a = lowest(actions)
            actions = without_lowest(actions)
            action[row] = a
            paid[row] = np.nan
            if rounds.stage[r] == CALL and a == STOPPING:
                i = rounds.player[r]
                called = rounds.calls[r, 1 - i] > 0
                paid[row] = payment(rounds.points[r, i], called, table)
            describe(rounds, r, a, table, shown, out, row)
            row += 1


class Describer:
    """Shows a network what the table would look like after each action, before chance goes on.

    A network that answers one number for each of these *afterstates* can play any hand, with
    any number of actions. It sees, for each card of the deck: whether it would be in the own
    hand, on the field, in either pile, or open and not matched yet; for each yaku, which share
    of it each pile has; the points of both and what they would pay; whether the points have
    just risen; the calls of koi-koi so far; what share of the hand is left; the seat; whether
    the turn is over; and whether a card will be drawn. Copies of a card in a miniature deck
    are one column, so that what looks alike is told alike.

    That is less than the player has seen: which cards the other one played, and when he did
    not capture, is forgotten.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi

    Attributes
    ----------
    columns : int
        How many numbers describe an afterstate.

    Examples
    --------
    >>> describe = Describer(KoiKoi())
    >>> rounds = Simulator(KoiKoi()).deal(2, seed=0)
    >>> after = describe(rounds, np.array([0, 1]))
    >>> after.seen.shape, after.start.tolist()
    ((16, 277), [0, 8, 16])
    """

    def __init__(self, game: KoiKoi):
        self.simulator = Simulator(game)
        faces = game.faces(game.deck)
        known = list(dict.fromkeys(faces))
        self._cards = Cards(
            np.array([known.index(face) for face in faces]),
            np.array([faces.count(face) for face in known]),
        )
        self.columns = PLACES * len(known) + 2 * len(game.yaku) + FACTS

    def __call__(self, rounds: Rounds, rows: Numbers) -> Afterstates:
        """Describe all actions in these rounds, none of which is over.

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
        seen = np.zeros((start[-1], self.columns), np.float32)
        action, paid = np.empty(start[-1], np.int64), np.empty(start[-1], np.float32)
        describe_all(rounds, rows, table, self._cards, start, seen, action, paid)
        return Afterstates(seen, start, action, paid)
