"""Goofspiel, the game of pure strategy: bid your cards for prizes, both at once."""

from __future__ import annotations

from cfrlib.core.checks import whole_number
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal

PRIZES = ("random", "descending")


class Goofspiel(Game):
    """Goofspiel for two players with imperfect or perfect information.

    Each player holds the cards 1 … n, and so do the prizes. A prize is turned up, both bid a
    card face down, the higher bid wins the prize; equal bids lose it for both. Each card is
    bid once. The last prize goes by the last cards, without a decision. Payoffs are points
    won minus the other's points.

    With imperfect information the bids stay face down: the players learn only who has won.
    Player 0 bids first and player 1 without seeing it. An infoset lists the prizes with the
    own bids and their results, ``"0: 3 bid 2 won, 1"``, or with both bids, own first:
    ``"0: 3 bid 2:1, 1"``.

    Parameters
    ----------
    cards : int
        Cards in each hand, from 2 to 13.
    imperfect_information : bool
        Whether bids stay face down.
    prizes : str
        ``"random"``: chance orders the prizes; ``"descending"``: from n down to 1.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Notes
    -----
    Source: Ross (1971). OpenSpiel's ``goofspiel`` with ``returns_type=point_difference``, which
    pays half: points minus the mean of both.

    Examples
    --------
    >>> game = Goofspiel(cards=3, prizes="descending")
    >>> game.node((2, 3))
    Decision(0, '0: 3 bid 2 lost, 2', (1, 3))
    >>> game.node((2, 3, 1, 2))
    Terminal((-4, 4))
    """

    def __init__(
        self, cards: int = 4, imperfect_information: bool = True, prizes: str = "random"
    ):
        cards = whole_number("cards", cards)
        if not 2 <= cards <= 13:
            raise ValueError(f"Goofspiel needs 2 to 13 cards, got {cards!r}")
        if prizes not in PRIZES:
            raise ValueError(f"unknown prizes {prizes!r}; choose one of {PRIZES}")
        self.cards, self.prizes = cards, prizes
        self.imperfect_information = imperfect_information
        self.hand = tuple(range(1, cards + 1))

    def node(self, h: History) -> Node:
        """Say what the history `h` is."""
        size = 3 if self.prizes == "random" else 2
        rounds = [h[k : k + size] for k in range(0, len(h), size)]
        if self.prizes == "descending":
            rounds = [(n, *bids) for n, bids in zip(reversed(self.hand), rounds, strict=False)]
        whole = [r for r in rounds if len(r) == 3]
        if len(whole) == self.cards - 1:
            return self._end(whole)
        if len(rounds) > len(whole):  # the present prize lies there, perhaps a bid, too
            return self._decision(whole, rounds[-1][0], player=len(rounds[-1]) - 1)
        left = [n for n in self.hand if n not in [prize for prize, _, _ in whole]]
        if self.prizes == "descending":
            return self._decision(whole, left[-1], player=0)
        return Chance(dict.fromkeys(left, 1 / len(left)))

    def _decision(self, whole: list[tuple[int, ...]], prize: int, player: int) -> Decision:
        """Return the choice of a bid, which sees the own bids and what was made known."""
        mine, other = 1 + player, 2 - player
        known = [f"{r[0]} bid {r[mine]}{self._outcome(r[mine], r[other])}" for r in whole]
        held = [n for n in self.hand if n not in [r[mine] for r in whole]]
        return Decision(player, f"{player}: {', '.join([*known, str(prize)])}", tuple(held))

    def _outcome(self, mine: int, other: int) -> str:
        """Write what a player learns of a bid."""
        if not self.imperfect_information:
            return f":{other}"
        return " won" if mine > other else " lost" if mine < other else " tied"

    def _end(self, whole: list[tuple[int, ...]]) -> Terminal:
        """Add up the prizes, the last one included."""
        last = [sum(self.hand) - sum(r[k] for r in whole) for k in range(3)]
        ahead = 0
        for prize, bid0, bid1 in (*whole, last):
            ahead += prize * ((bid0 > bid1) - (bid0 < bid1))
        return Terminal((ahead, -ahead))

    def __repr__(self) -> str:
        options = [] if self.cards == 4 else [f"cards={self.cards}"]
        options += [] if self.imperfect_information else ["imperfect_information=False"]
        options += [] if self.prizes == "random" else [f"prizes={self.prizes!r}"]
        return f"Goofspiel({', '.join(options)})"
