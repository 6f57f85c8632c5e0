"""Goofspiel, the game of pure strategy: players bid cards for prizes simultaneously."""

from __future__ import annotations

from typing import Any

from cfrlib import wings
from cfrlib.core.checks import whole_number
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal

PRIZES = ("random", "descending")


class Goofspiel(Game):
    """Goofspiel for two players with imperfect or perfect information.

    Each player holds the cards 1 … n, and the prizes are worth 1 … n. In each round a prize is
    turned up and both players bid a card face down; the higher bid wins the prize, and nobody
    does if the bids are equal. Each card is bid once. The last cards decide the last prize,
    so this is not a decision. Payoffs are points won minus the opponent's points.

    With imperfect information the bids stay face down: the players learn only who won. Player
    0 bids first, and player 1 does not see the bid. An infoset label lists the prizes with
    the player's bids and their results, ``"0: 3 bid 2 won, 1"``; with perfect information it
    lists both bids, the player's own first: ``"0: 3 bid 2:1, 1"``.

    Parameters
    ----------
    cards : int
        Number of cards in each hand, from 2 to 13.
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
    Source: Ross (1971). Same as OpenSpiel's ``goofspiel`` with
    ``returns_type=point_difference``, which pays half as much: points minus the mean of both.

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
        """Return the node at history `h`."""
        size = 3 if self.prizes == "random" else 2
        rounds = [h[k : k + size] for k in range(0, len(h), size)]
        if self.prizes == "descending":
            rounds = [(n, *bids) for n, bids in zip(reversed(self.hand), rounds, strict=False)]
        finished = [r for r in rounds if len(r) == 3]
        if len(finished) == self.cards - 1:
            return self._end(finished)
        if len(rounds) > len(finished):  # a prize is turned up, and player 0 may have bid
            return self._decision(finished, rounds[-1][0], player=len(rounds[-1]) - 1)
        left = [n for n in self.hand if n not in [prize for prize, _, _ in finished]]
        if self.prizes == "descending":
            return self._decision(finished, left[-1], player=0)
        return Chance(dict.fromkeys(left, 1 / len(left)))

    def _decision(self, finished: list[tuple[int, ...]], prize: int, player: int) -> Decision:
        """Return the decision of a bid, given the finished rounds and the current prize."""
        mine, other = 1 + player, 2 - player
        known = [f"{r[0]} bid {r[mine]}{self._outcome(r[mine], r[other])}" for r in finished]
        held = [n for n in self.hand if n not in [r[mine] for r in finished]]
        return Decision(player, f"{player}: {', '.join([*known, str(prize)])}", tuple(held))

    def _outcome(self, mine: int, other: int) -> str:
        """Write what the bidder of `mine` observes at the end of a round."""
        if not self.imperfect_information:
            return f":{other}"
        return " won" if mine > other else " lost" if mine < other else " tied"

    def _end(self, finished: list[tuple[int, ...]]) -> Terminal:
        """Return the terminal node: add up all prizes, including the last."""
        last = [sum(self.hand) - sum(r[k] for r in finished) for k in range(3)]
        ahead = 0
        for prize, bid0, bid1 in (*finished, last):
            ahead += prize * ((bid0 > bid1) - (bid0 < bid1))
        return Terminal((ahead, -ahead))

    @property
    def rules(self) -> Any:
        """The rules that compile."""
        return wings.load("goofspiel_rules")(self)

    def __repr__(self) -> str:
        options = [] if self.cards == 4 else [f"cards={self.cards}"]
        options += [] if self.imperfect_information else ["imperfect_information=False"]
        options += [] if self.prizes == "random" else [f"prizes={self.prizes!r}"]
        return f"Goofspiel({', '.join(options)})"
