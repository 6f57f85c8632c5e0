"""The games of the companion once more, as rules that compile."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfrlib.core.memo import remembered
from cfrlib.core.tree import CHANCE, TERMINAL, Floats
from cfrlib.games.goofspiel import Goofspiel
from cfrlib.games.liars_dice import LiarsDice
from cfrlib.large.rules import Rules, State, extended


@remembered
def goofspiel_rules(game: Goofspiel) -> Rules:
    """Return the rules that compile.

    A state is a number of events, then these events: each round's prize and both bids.
    """
    cards, ordered = game.cards, game.prizes == "descending"
    bids_shown, end = not game.imperfect_information, 3 * (game.cards - 1)

    def player(s: State) -> int:
        return TERMINAL if s[0] >= end else s[0] % 3 - 1  # the first event of a round is chance

    def legal(s: State, numbers: State, probabilities: Floats) -> int:
        count = 0
        for card in range(1, cards + 1):
            numbers[count] = card
            count += 1
            for n in range(1 + s[0] % 3, s[0] + 1, 3):
                if s[n] == card:
                    count -= 1
        probabilities[:count] = 1.0 / count
        return count

    def step(s: State, a: int) -> int:
        s[0] += 1
        s[s[0]] = a
        if ordered and s[0] % 3 == 0:
            s[0] += 1
            s[s[0]] = cards - s[0] // 3
        return 0

    def payoffs(s: State, out: Floats) -> int:
        ahead, prize, bids = 0, cards * (cards + 1) // 2, 0
        for n in range(1, end, 3):
            ahead += s[n] * np.sign(s[n + 1] - s[n + 2])
            prize -= s[n]
            bids += s[n + 1] - s[n + 2]
        ahead -= prize * np.sign(bids)  # player 0 has less left after bidding more
        out[0], out[1] = ahead, -ahead
        return 0

    def key(s: State) -> int:
        turn = s[0] % 3  # 1 or 2: how many events of this round there are
        known: int = extended(s[0], s[s[0] + 1 - turn])
        for n in range(1, s[0] - 1, 3):
            mine, other = s[n + turn], s[n + 3 - turn]
            seen = other if bids_shown else np.sign(mine - other)
            known = extended(extended(extended(known, s[n]), mine), seen)
        return known

    def decision(s: State) -> Any:
        events = [int(event) for n, event in enumerate(s[1 : 1 + s[0]]) if n % 3 or not ordered]
        return game.node(tuple(events))

    return Rules(
        root=(1, cards, *[0] * end) if ordered else (0, *[0] * end),
        player=player,
        legal=legal,
        step=step,
        payoffs=payoffs,
        key=key,
        decision=decision,
        most_actions=cards,
    )


ROLL, MASK, LAST, BIDS, CALLED = range(5)  # a state: roll + 1, bids as bits, the last bid, …


@remembered
def liars_dice_rules(game: LiarsDice) -> Rules | None:
    """Return the rules that compile; None if what a player knows does not fit into 63 bits."""
    rolls, faces, bids = game._rolls(), game.faces, len(game.bids)
    pairs: Any = list(rolls)
    hands = [theirs for _, theirs in pairs[: round(len(rolls) ** 0.5)]]
    n = len(hands)
    if n << bids >= 1 << 63:
        return None
    probability = np.array(list(rolls.values()))
    wild = [hand.count(str(faces)) for hand in hands]
    matching = np.array(
        [
            [hand.count(str(f)) + (w if f < faces else 0) for f in range(1, faces + 1)]
            for hand, w in zip(hands, wild, strict=True)
        ],
        np.int64,
    )

    def player(s: State) -> int:
        if s[ROLL] == 0:
            return CHANCE
        return TERMINAL if s[CALLED] else s[BIDS] % 2

    def legal(s: State, numbers: State, probabilities: Floats) -> int:
        if s[ROLL] == 0:
            for roll in range(n * n):
                numbers[roll], probabilities[roll] = roll, probability[roll]
            return n * n
        count = 0
        for bid in range(s[LAST] + 1, bids + (s[BIDS] > 0)):  # the number after the last bid's
            numbers[count] = bid  # means "liar"
            count += 1
        return count

    def step(s: State, a: int) -> int:
        if s[ROLL] == 0:
            s[ROLL] = a + 1
        elif a == bids:
            s[CALLED] = 1
        else:
            s[MASK] |= 1 << a
            s[LAST] = a
            s[BIDS] += 1
        return 0

    def payoffs(s: State, out: Floats) -> int:
        roll, bid = s[ROLL] - 1, s[LAST]
        shown = matching[roll // n, bid % faces] + matching[roll % n, bid % faces]
        bidder = (s[BIDS] + 1) % 2
        won = 1.0 if shown >= bid // faces + 1 else -1.0
        out[bidder], out[1 - bidder] = won, -won
        return 0

    def key(s: State) -> int:
        roll: Any = s[ROLL] - 1
        known: int = s[MASK] * n + (roll // n if s[BIDS] % 2 == 0 else roll % n)
        return known

    def decision(s: State) -> Any:
        hand = divmod(int(s[ROLL]) - 1, n)
        made = (bid for b, bid in enumerate(game.bids) if s[MASK] >> b & 1)
        return game.node(((hands[hand[0]], hands[hand[1]]), *made))

    return Rules(
        root=(0, 0, -1, 0, 0),
        player=player,
        legal=legal,
        step=step,
        payoffs=payoffs,
        key=key,
        decision=decision,
        most_actions=max(n * n, bids + 1),
    )
