"""Liar's dice, also called Dudo: bid on dice of which you see only your own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import product

from cfrlib.core.checks import whole_number
from cfrlib.game import Action, Chance, Decision, Game, History, Node, Terminal


class LiarsDice(Game):
    """Liar's dice for two players, one round.

    Both roll their dice, hidden from each other. In turn they bid on what all dice show
    together: ``"2x3"`` says that at least two of them show a three. Each bid names more dice,
    or as many of a higher face; instead of bidding one may call ``"liar"``. Then the dice are
    shown. Dice with the highest face are wild and count as any face. If the last bid is true,
    its bidder wins 1, else the caller does.

    The roll is one action, a pair of words, each with a player's dice in ascending order. An
    infoset is the own dice and the bids, e.g. ``"3 1x2-1x5"``.

    Parameters
    ----------
    faces : int
        Faces of a die, from 2 to 9.
    dice : int
        Dice of each player, at least 1.

    Raises
    ------
    ValueError
        If a number is out of range.

    Notes
    -----
    OpenSpiel's ``liars_dice`` with its default bidding rule. With d = 2 · faces · dice bids
    and r² pairs of rolls the game has 1 + r² (2^(d+1) − 1) histories, so it grows quickly.

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
        self._known: dict[tuple[str, ...], tuple[int, str, tuple[str, ...]]] = {}

    def node(self, h: History) -> Node:
        """Say what the history `h` is."""
        if not h:
            return Chance(self._rolls())
        roll, bids = h[0], h[1:]
        if bids and bids[-1] == "liar":
            return self._judge(roll, bids[-2], len(bids) % 2)
        try:  # many rolls share the same bids
            player, words, actions = self._known[bids]
        except KeyError:
            player, words, actions = self._known.setdefault(bids, self._follow(bids))
        return Decision(player, roll[player] + words, actions)

    def _rolls(self) -> Mapping[Action, float]:
        """Return the probability of each pair of rolls."""
        faces = "123456789"[: self.faces]
        one = Counter("".join(sorted(r)) for r in product(faces, repeat=self.dice))
        total = one.total() ** 2
        return {(a, b): one[a] * one[b] / total for a, b in product(one, repeat=2)}

    def _follow(self, bids: tuple[str, ...]) -> tuple[int, str, tuple[str, ...]]:
        """Return who acts after these bids, the bids as words, and the legal actions."""
        if not bids:
            return 0, "", self.bids
        higher = self.bids[self.bids.index(bids[-1]) + 1 :]
        return len(bids) % 2, f" {'-'.join(bids)}", (*higher, "liar")

    def _judge(self, roll: tuple[str, str], bid: str, bidder: int) -> Terminal:
        """Pay after "liar" was called on `bid`."""
        count, face = bid.split("x")
        shown = "".join(roll)
        wild = str(self.faces)
        matching = shown.count(face) + (shown.count(wild) if face != wild else 0)
        won = 1 if matching >= int(count) else -1
        return Terminal((won, -won) if bidder == 0 else (-won, won))

    def __repr__(self) -> str:
        options = [] if self.faces == 6 else [f"faces={self.faces}"]
        options += [] if self.dice == 1 else [f"dice={self.dice}"]
        return f"LiarsDice({', '.join(options)})"
