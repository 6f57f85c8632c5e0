"""Leduc poker: two rounds, one card of one's own, one on the table (Southey et al., 2005)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import permutations
from typing import Any, NamedTuple

from cfrlib.core.checks import whole_number
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.games.kuhn import RANKS

SUITS = "shdc"  # spades, hearts, diamonds, clubs
BET = (2, 4)  # chips by which a bet or a raise exceeds the stake, in each round
MOST_RAISES = 2  # the bet included


class _Betting(NamedTuple):
    """What everybody at the table can see."""

    turn: int  # who acts, or who has folded
    words: str  # the moves, as a label shows them
    actions: tuple[str, ...]  # legal actions; none where a round is over
    paid: tuple[int, int]  # chips in the pot, by player
    public: str | None  # the card on the table


class LeducPoker(Game):
    """Leduc poker with any number of ranks and suits, for two players.

    Both ante one chip and get one card of a deck with a few ranks in a few suits. They bet,
    a public card is turned up, and they bet again. A bet is 2 chips in the first round, 4 in
    the second; in each round there are at most a bet and one raise. Player 0 opens both
    rounds. At the end a pair with the public card wins, else the higher rank; equal ranks
    share. Payoffs are chips won.

    The deal is one action, a tuple of cards, e.g. ``("Js", "Qh")``. An infoset is the own
    card, the moves, the public card, and the moves after it: ``"Js check-bet-call Qh bet"``.

    Parameters
    ----------
    ranks, suits : int
        The deck has so many ranks (2 to 13, the highest) in so many suits (1 to 4), and at
        least three cards.
    merge_suits : bool
        Suits decide nothing in this game. True leaves them out of the cards and gives each
        rank its probability: the same game, with fewer histories and infosets.

    Raises
    ------
    ValueError
        If the deck is too small or too large.

    Notes
    -----
    The defaults are the game that the literature measures itself on, with suits told apart as
    OpenSpiel's ``leduc_poker`` does: 936 infosets. With `merge_suits` it has 288.

    Examples
    --------
    >>> game = LeducPoker()
    >>> game.node((("Js", "Qh"), "check", "bet", "call", "Qs"))
    Decision(0, 'Js check-bet-call Qs', ('check', 'bet'))
    >>> game.node((("Js", "Qh"), "check", "bet", "call", "Qs", "check", "check"))
    Terminal((-3, 3))
    """

    def __init__(self, ranks: int = 3, suits: int = 2, merge_suits: bool = False):
        ranks, suits = whole_number("ranks", ranks), whole_number("suits", suits)
        if not (2 <= ranks <= 13 and 1 <= suits <= 4 and ranks * suits >= 3):
            raise ValueError(
                "Leduc poker needs 2 to 13 ranks, 1 to 4 suits and at least 3 cards, "
                f"got ranks={ranks!r}, suits={suits!r}"
            )
        self.ranks, self.suits, self.merge_suits = ranks, suits, merge_suits
        shown = [""] * suits if merge_suits else list(SUITS[:suits])
        self.deck = tuple(rank + suit for rank in RANKS[-ranks:] for suit in shown)
        self._known: dict[tuple[str, ...], _Betting] = {}

    def node(self, h: History) -> Node:
        """Say what the history `h` is."""
        if not h:
            return Chance(_shares(permutations(self.deck, 2)))
        deal, seen = h[0], self._seen(h[1:])
        if seen.actions:
            return Decision(seen.turn, f"{deal[seen.turn]}{seen.words}", seen.actions)
        if h[-1] == "fold":
            return _pay(seen.paid, 1 - seen.turn)
        if seen.public is None:
            rest = list(self.deck)
            for card in deal:
                rest.remove(card)
            return Chance(_shares(rest))
        ranks = [card[0] for card in deal]
        strength = [(rank == seen.public[0], RANKS.index(rank)) for rank in ranks]
        if strength[0] == strength[1]:
            return Terminal((0, 0))
        return _pay(seen.paid, 0 if strength[0] > strength[1] else 1)

    def _seen(self, moves: tuple[str, ...]) -> _Betting:
        """Return what everybody sees; remembered, as many deals share the same moves."""
        try:
            return self._known[moves]
        except KeyError:
            return self._known.setdefault(moves, self._follow(moves))

    def _follow(self, moves: tuple[str, ...]) -> _Betting:
        """Return what the table shows after these moves and, among them, a public card."""
        if not moves:
            return _Betting(0, "", ("check", "bet"), (1, 1), None)
        before, move = self._seen(moves[:-1]), moves[-1]
        if not before.actions:  # the first round was over: this is a card
            return _Betting(0, f"{before.words} {move}", ("check", "bet"), before.paid, move)
        turn, paid = before.turn, list(before.paid)
        joined = "-" if before.words.endswith(("check", "bet", "raise")) else " "
        words = f"{before.words}{joined}{move}"
        if move == "fold":
            return _Betting(turn, words, (), before.paid, before.public)
        paid[turn] = max(paid)
        if move in ("bet", "raise"):
            paid[turn] += BET[before.public is not None]
        actions: tuple[str, ...] = ()
        if move in ("bet", "raise"):
            raises = sum(m in ("bet", "raise") for m in self._round(moves))
            actions = ("fold", "call", "raise") if raises < MOST_RAISES else ("fold", "call")
        elif move == "check" and turn == 0:
            actions = ("check", "bet")
        return _Betting(1 - turn, words, actions, (paid[0], paid[1]), before.public)

    def _round(self, moves: tuple[str, ...]) -> tuple[str, ...]:
        """Return the moves of the present round."""
        cards = [k for k, move in enumerate(moves) if move in self.deck]
        return moves[cards[-1] + 1 :] if cards else moves

    def __repr__(self) -> str:
        options = []
        if (self.ranks, self.suits) != (3, 2):
            options += [f"ranks={self.ranks}", f"suits={self.suits}"]
        if self.merge_suits:
            options.append("merge_suits=True")
        return f"LeducPoker({', '.join(options)})"


def _shares(equally_likely: Iterable[Any]) -> dict[Any, float]:
    """Return each different outcome with its share of the equally likely ones."""
    counts = Counter(equally_likely)
    return {outcome: n / counts.total() for outcome, n in counts.items()}


def _pay(paid: tuple[int, int], winner: int) -> Terminal:
    """Give the winner what the other has paid."""
    won = paid[1 - winner]
    return Terminal((won, -won) if winner == 0 else (-won, won))
