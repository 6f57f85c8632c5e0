"""The rules of Koi-Koi as functions of integers: the simulator's, with each draw an event.

Identical cards of a miniature deck have distinct numbers; the first of them stands for all.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import uint64

from cfrlib.core.jit import inlined, inner, routine
from cfrlib.core.memo import remembered
from cfrlib.core.tree import CHANCE, TERMINAL, Floats
from cfrlib.large.rules import Rules, State, extended
from koikoi.rules import KOI, STOP, KoiKoi, MiniKoiKoi
from koikoi.simulator import (
    CALL,
    NEVER,
    NO_CARD,
    OVER,
    PLAY,
    REDEAL,
    Bits,
    Rounds,
    Simulator,
    Table,
    bit,
    decide,
    draw,
    legal,
    lowest,
    members,
    size,
    special_payoff,
    without_lowest,
)

DEAL, DRAW = 4, 5  # stages, besides those of the simulator
TURN = 5  # the most actions in a turn: play, match, draw, match, call
# A state holds what the simulator knows of a round;
STAGE, PLAYER, CARD, DRAWN, PAID, TURNED, POINTS, CALLS, HANDS, PILES = *range(7), 8, 10, 12
FIELD = 14
# the hands and the field as dealt; the keys of what each player saw of them, and of what both
# have heard since; the number of actions since, these actions, and the record of play.
DEALT, SAW, HEARD, ACTIONS, LOG = 15, 18, 20, 21, 22


class Deals(NamedTuple):
    """The deals of a miniature game; there are none in the full one, which deals single cards.

    Attributes
    ----------
    cards : uint64 array, shape (deals, 3)
        Both hands and the field.
    odds : float array, shape (deals,)
    """

    cards: Bits
    odds: Floats


@inner
def rounds_in(s: State, table: Table) -> Rounds:
    """Return the round in a state."""
    record = len(s) - (len(table.month) + 3) // 4
    no_order: Any = s[:0].reshape((1, 0))  # the stock has none
    drawn: Any = s[DRAWN : DRAWN + 1]
    return Rounds(
        hands=s[HANDS : HANDS + 2].view(np.uint64).reshape((1, 2)),
        piles=s[PILES : PILES + 2].view(np.uint64).reshape((1, 2)),
        field=s[FIELD : FIELD + 1].view(np.uint64),
        order=no_order,
        turned=s[TURNED : TURNED + 1],
        stage=s[STAGE : STAGE + 1],
        player=s[PLAYER : PLAYER + 1],
        card=s[CARD : CARD + 1],
        drawn=drawn,
        points=s[POINTS : POINTS + 2].reshape((1, 2)),
        calls=s[CALLS : CALLS + 2].reshape((1, 2)),
        paid=s[PAID : PAID + 1],
        record=s[record:].view(np.int16).reshape((1, 4 * (len(s) - record))),
    )


@inlined
def face(card: int, table: Table) -> int:
    """Return the first of the cards that are identical to a card."""
    first: int = lowest(table.before[card] | bit(card))
    return first


@inner
def key_of(cards: np.uint64, table: Table) -> Any:
    """Return a key of a set of cards, equal for identical ones."""
    total = extended(0, size(cards))
    while cards:
        total += extended(1, face(lowest(cards), table))
        cards = without_lowest(cards)
    return total


@routine
def legal_in(s: State, table: Table, deals: Deals, numbers: State, odds: Floats) -> int:
    """Write the numbers of the actions, and probabilities of chance; return how many."""
    rounds, count = rounds_in(s, table), 0
    if s[STAGE] == DEAL and len(deals.odds) > 0:
        for n in range(len(deals.odds)):
            numbers[n], odds[n] = n, deals.odds[n]
        return len(deals.odds)
    if s[STAGE] < DEAL:
        cards = legal(rounds, 0, table)
        while cards:
            numbers[count] = lowest(cards)
            cards = without_lowest(cards)
            count += 1
        return count
    gone = rounds.hands[0, 0] | rounds.hands[0, 1] | rounds.piles[0, 0] | rounds.piles[0, 1]
    stock = ~uint64(0) >> uint64(64 - len(table.month)) & ~(gone | rounds.field[0])
    last, left = NO_CARD, size(stock)
    while stock:
        card = lowest(stock)
        stock = without_lowest(stock)
        if face(card, table) != last:
            last = face(card, table)
            numbers[count], odds[count] = card, 0.0
            count += 1
        odds[count - 1] += 1.0
    for n in range(count):
        odds[n] /= left
    return count


@routine
def step_in(s: State, a: int, table: Table, deals: Deals) -> int:
    """Change a state to the one after an action."""
    rounds = rounds_in(s, table)
    if s[STAGE] == DEAL:
        deal_in(s, rounds, a, table, deals)
        return 0
    s[LOG:].view(np.int8)[s[ACTIONS]] = a
    s[ACTIONS] += 1
    heard = a if s[STAGE] == CALL else face(a, table)
    s[HEARD] = extended(extended(s[HEARD], s[STAGE]), heard)
    if s[STAGE] == DRAW:
        draw(rounds, 0, a, table)
    elif decide(rounds, 0, a, table):
        s[STAGE] = DRAW
    return 0


@inner
def deal_in(s: State, rounds: Rounds, a: int, table: Table, deals: Deals) -> None:
    """Deal one card, or the whole of a small deck; after the last, begin the first turn."""
    dealt, needed = s[DEALT : DEALT + 3].view(np.uint64), 2 * table.hand + table.open
    if len(deals.odds) > 0:
        for n in range(3):
            dealt[n] = deals.cards[a, n]
        s[TURNED] = needed
    else:
        dealt[min(s[TURNED] // table.hand, 2)] |= bit(a)
        s[TURNED] += 1
    rounds.hands[0, 0], rounds.hands[0, 1], rounds.field[0] = dealt[0], dealt[1], dealt[2]
    if s[TURNED] < needed:
        return
    paid = special_payoff(rounds, 0, table)
    if paid == REDEAL:
        s[HANDS : HANDS + 2] = s[DEALT : DEALT + 3] = 0
        s[FIELD] = s[TURNED] = 0
        return
    s[STAGE], s[PAID] = (PLAY, 0) if paid == NEVER else (OVER, paid)
    for i in range(2):
        s[SAW + i] = extended(key_of(dealt[i], table), i) + key_of(dealt[2], table)


@remembered
def compiled_rules(game: KoiKoi) -> Rules:
    """Return the rules of a game as functions of integers."""
    simulator, deck = Simulator(game), game.deck
    table, deals = simulator.table, _deals(simulator)
    length = LOG + (2 * game.hand * TURN + 7) // 8 + (len(deck) + 3) // 4

    def player(s: State) -> int:
        return CHANCE if s[STAGE] >= DEAL else TERMINAL if s[STAGE] == OVER else s[PLAYER]

    def legal(s: State, numbers: State, odds: Floats) -> int:
        count: int = legal_in(s, table, deals, numbers, odds)
        return count

    def step(s: State, a: int) -> int:
        done: int = step_in(s, a, table, deals)
        return done

    def payoffs(s: State, out: Floats) -> int:
        out[0], out[1] = s[PAID], -s[PAID]
        return 0

    def key(s: State) -> int:
        known: int = extended(s[SAW + s[PLAYER]], s[HEARD])
        return known

    def decision(s: State) -> Any:
        first, second, field = (members(int(c)) for c in s[DEALT : DEALT + 3].view(np.uint64))
        stock = (c for c in range(len(deck)) if c not in {*first, *second, *field})
        hand, other, shown, rest = (
            tuple(deck[c] for c in cards) for cards in (first, second, field, stock)
        )
        at = game._open(game.root()._replace(hands=(hand, other), field=shown, stock=rest))
        for a in s[LOG:].view(np.int8)[: s[ACTIONS]]:
            at = game.step(at, (STOP, KOI)[a] if at.stage == "call" else deck[a])
        return game.node(at)

    return Rules(
        root=(DEAL, 0, NO_CARD, *[0] * (length - 3)),
        player=player,
        legal=legal,
        step=step,
        payoffs=payoffs,
        key=key,
        decision=decision,
        most_actions=max(len(deck), len(deals.odds)),
    )


def _deals(simulator: Simulator) -> Deals:
    """Return the deals of a miniature game."""
    game = simulator.game
    if not isinstance(game, MiniKoiKoi):
        return Deals(np.zeros((0, 3), np.uint64), np.zeros(0))
    odds = game._deal_odds(game.root())
    rounds = simulator.place([game._deal(game.root(), str(deal)) for deal in odds])
    return Deals(np.column_stack([rounds.hands, rounds.field]), np.array(list(odds.values())))


def _rules(game: KoiKoi) -> Rules | None:
    """Return the rules that compile; None if a card has no bit in a set of 64."""
    return compiled_rules(game) if len(game.deck) <= 64 else None


# Set here, because a game need not know how its rules compile
KoiKoi.rules = property(_rules)  # type: ignore[attr-defined]
