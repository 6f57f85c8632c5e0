"""Liar's dice, also called Dudo: players bid on all dice but see only their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product
from typing import Any

from cfrlib import wings
from cfrlib.core.checks import whole_number
from cfrlib.game import Action, Chance, Decision, Game, History, Node, Terminal


class LiarsDice(Game):
    """Liar's dice for two players, one round.

    Both players roll their dice, hidden from each other. In turn they bid on all dice
    together: ``"2x3"`` claims that at least two of them show a three. Each bid names more
    dice, or the same number with a higher face; instead of bidding, a player may call
    ``"liar"``. Then the dice are revealed. Dice with the highest face are wild and count as
    any face. If the last bid is true, its bidder wins 1, otherwise the caller does.

    The roll is one action, a pair of strings, each with a player's dice in ascending order.
    An infoset label is the player's dice and the bids, e.g. ``"3 1x2-1x5"``.

    Parameters
    ----------
    faces : int
        Number of faces of a die, from 2 to 9.
    dice : int
        Number of dice of each player, at least 1.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    Same as OpenSpiel's ``liars_dice`` with its default bidding rule. With d = 2 · faces · dice
    bids and r² pairs of rolls, the game has 1 + r² (2^(d+1) − 1) histories.

    Examples
    --------
    >>> game = LiarsDice(faces=3)
    >>> game.node((("1", "3"), "1x2"))
    Decision(1, '3 1x2', ('1x3', '2x1', '2x2', '2x3', 'liar'))
    >>> game.node((("1", "3"), "1x2", "liar"))  # the three is wild: the bid is true
    Terminal((1, -1))
    """

    def __init__(self, faces: int = 6, dice: int = 1):
        faces, dice = whole_number("faces", faces), whole_number("dice", dice)
        if not (2 <= faces <= 9 and dice >= 1):
            raise ValueError(
                f"liar's dice needs 2 to 9 faces and at least 1 die each, got "
                f"faces={faces!r}, dice={dice!r}"
            )
        self.faces, self.dice = faces, dice
        self.bids = tuple(
            f"{n}x{f}" for n in range(1, 2 * dice + 1) for f in range(1, faces + 1)
        )
        self._public: dict[tuple[str, ...], tuple[int, str, tuple[str, ...]]] = {}

    def node(self, h: History) -> Node:
        """Return the node at history `h`."""
        if not h:
            return Chance(self._rolls())
        roll, bids = h[0], h[1:]
        if bids and bids[-1] == "liar":
            return self._showdown(roll, bids[-2], bidder=len(bids) % 2)
        try:  # many rolls share the same bids
            player, text, actions = self._public[bids]
        except KeyError:
            player, text, actions = self._public.setdefault(bids, self._replay(bids))
        return Decision(player, roll[player] + text, actions)

    def _rolls(self) -> Mapping[Action, float]:
        """Return the probability of each pair of rolls."""
        faces = "123456789"[: self.faces]
        one = Counter("".join(sorted(r)) for r in product(faces, repeat=self.dice))
        total = one.total() ** 2
        return {(a, b): one[a] * one[b] / total for a, b in product(one, repeat=2)}

    def _replay(self, bids: tuple[str, ...]) -> tuple[int, str, tuple[str, ...]]:
        """Return the player to act, the bids as text, and the legal actions."""
        if not bids:
            return 0, "", self.bids
        higher = self.bids[self.bids.index(bids[-1]) + 1 :]
        return len(bids) % 2, f" {'-'.join(bids)}", (*higher, "liar")

    def _showdown(self, roll: tuple[str, str], bid: str, bidder: int) -> Terminal:
        """Return the terminal node after a call of `bid`."""
        count, face = bid.split("x")
        shown = "".join(roll)
        wild = str(self.faces)
        matching = shown.count(face) + (shown.count(wild) if face != wild else 0)
        won = 1 if matching >= int(count) else -1
        return Terminal((won, -won) if bidder == 0 else (-won, won))

    @property
    def rules(self) -> Any:
        """The rules that compile; None if what a player knows does not fit into 63 bits."""
        return wings.load("liars_dice_rules")(self)

    def __repr__(self) -> str:
        options = [] if self.faces == 6 else [f"faces={self.faces}"]
        options += [] if self.dice == 1 else [f"dice={self.dice}"]
        return f"LiarsDice({', '.join(options)})"
