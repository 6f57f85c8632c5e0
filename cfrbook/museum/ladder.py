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
