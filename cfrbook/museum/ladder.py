"""The games on which every bug was run, from the smallest to the largest."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from cfrlib import games
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal


class LateCoin(Game):
    """A coin falls after a choice: the smallest game that shows a wrong weight of chance.

    Player 0 hides a stone in the left or the right hand. A coin is tossed, which comes up heads
    three times in four. Player 1 sees neither and points at a hand. Player 0 loses 1 if the
    stone is there. Otherwise they win 3 if it is heads and right, or tails and left, else 1.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> cfr.compile(LateCoin())
    LateCoin(): 2 players, zero-sum, 15 histories (8 terminal), 2 infosets
    >>> round(cfr.solve_lp(LateCoin()).value, 4)  # 11/24
    0.4583
    """

    def node(self, h: History) -> Node:
        """Return the node at history `h`."""
        if len(h) == 1:
            return Chance({"heads": 3 / 4, "tails": 1 / 4})
        if len(h) < 3:
            return Decision(len(h) // 2, "point" if h else "hide", ("left", "right"))
        hidden, coin, pointed = h
        if hidden == pointed:
            return Terminal((-1, 1))
        won = 3 if (hidden == "right") == (coin == "heads") else 1
        return Terminal((won, -won))


class TwoBets(Game):
    """A small game on which three iterations show every bug of vanilla CFR in the museum.

    Player 0's card is low or high, and high three times in four. Player 0 stops, or makes a
    small or a large bet, which player 1 folds or calls without seeing the card. Then a coin is
    tossed, which comes up heads two times in three. Player 0 may stop again, or raise, and
    player 1 folds or calls.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> cfr.compile(TwoBets())
    TwoBets(): 2 players, zero-sum, 57 histories (30 terminal), 16 infosets
    """

    def node(self, h: History) -> Node:
        """Return the node at history `h`."""
        card, bet, answer, coin, last, end = tuple(h) + ("",) * (6 - len(h))
        if not card:
            return Chance({"low": 1 / 4, "high": 3 / 4})
        if not bet:
            return Decision(0, card, ("stop", "small", "large"))
        if bet != "stop" and not answer:
            return Decision(1, bet, ("fold", "call"))
        if answer == "call" and not coin:
            return Chance({"heads": 2 / 3, "tails": 1 / 3})
        if coin and not last:
            return Decision(0, f"{card} {bet} {coin}", ("stop", "raise"))
        if last == "raise" and not end:
            return Decision(1, f"{bet} {coin}", ("fold", "call"))
        won = {"stop": 0.3, "small": 2.0, "large": 4.0}[bet]
        if answer == "fold":
            won = 1.1
        elif end != "fold":
            won *= (1.7 if end else 1) * (-0.7 if coin == "tails" else 1)
            won *= 1 if card == "high" else -1
        return Terminal((won, -won))


class DealtBackward(games.KuhnPoker):
    """Kuhn poker with its six deals in reverse order, which leaves the game the same.

    Examples
    --------
    >>> next(iter(DealtBackward().node(()).probabilities))
    ('K', 'Q')
    """

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        node = super().node(h)
        if isinstance(node, Chance):
            return Chance(dict(reversed(list(node.probabilities.items()))))
        return node


LADDER: Mapping[str, Game] = MappingProxyType(
    {
        "rock-paper-scissors": games.RockPaperScissors(3),
        "a late coin": LateCoin(),
        "Kuhn poker": games.KuhnPoker(),
        "dice, 2 faces": games.LiarsDice(2),
        "Leduc, 2 ranks": games.LeducPoker(ranks=2, merge_suits=True),
        "dice, 3 faces": games.LiarsDice(3),
        "Leduc poker": games.LeducPoker(merge_suits=True),
    }
)
