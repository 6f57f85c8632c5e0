"""Leduc poker: two betting rounds, a private and a public card (Southey et al., 2005)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import permutations
from typing import Any, NamedTuple

from cfrlib.core.checks import whole_number
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.games.kuhn import RANKS

SUITS = "shdc"  # spades, hearts, diamonds, clubs
BET = (2, 4)  # size of a bet or raise in each round, in chips
MAX_RAISES = 2  # per round, including the bet


class _Betting(NamedTuple):
    """The public state."""

    turn: int  # the player to act, or the one who has folded
    text: str  # the moves as an infoset label shows them
    actions: tuple[str, ...]  # legal actions; empty if the round is over
    paid: tuple[int, int]  # chips in the pot, by player
    card: str | None  # the public card


class LeducPoker(Game):
    """Leduc poker with any number of ranks and suits, for two players.

    Both players ante one chip and are dealt one card from a deck of a few ranks and suits.
    They bet, a public card is turned up, and they bet again. A bet is 2 chips in the first
    round and 4 in the second; each round allows one bet and one raise. Player 0 acts first in
    both rounds. At showdown a pair with the public card wins, otherwise the higher rank;
    equal ranks split the pot. Payoffs are chips won.

    The deal is one action, a tuple of cards, e.g. ``("Js", "Qh")``. An infoset label is the
    player's card, the moves, the public card, and the moves after it:
    ``"Js check-bet-call Qh bet"``.

    Parameters
    ----------
    ranks, suits : int
        Number of ranks (2 to 13; the highest ones) and of suits (1 to 4). The deck must have
        at least three cards.
    merge_suits : bool
        Whether to drop the suits, which decide nothing in this game, and to give each rank
        its total probability: the same game with fewer histories and infosets.

    Raises
    ------
    ValueError
        If the deck is too small or too large.

    Notes
    -----
    The default is the standard benchmark of the literature, with distinct suits as in
    OpenSpiel's ``leduc_poker``: 936 infosets. With `merge_suits` it has 288.

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
        self._public: dict[tuple[str, ...], _Betting] = {}

    def node(self, h: History) -> Node:
        """Return the node at history `h`."""
        if not h:
            return Chance(_distribution(permutations(self.deck, 2)))
        deal, public = h[0], self._betting(h[1:])
        if public.actions:
            return Decision(public.turn, f"{deal[public.turn]}{public.text}", public.actions)
        if h[-1] == "fold":
            return _win(public.paid, 1 - public.turn)
        if public.card is None:
            rest = list(self.deck)
            for card in deal:
                rest.remove(card)
            return Chance(_distribution(rest))
        ranks = [card[0] for card in deal]
        strength = [(rank == public.card[0], RANKS.index(rank)) for rank in ranks]
        if strength[0] == strength[1]:
            return Terminal((0, 0))
        return _win(public.paid, 0 if strength[0] > strength[1] else 1)

    def _betting(self, moves: tuple[str, ...]) -> _Betting:
        """Return the public state after `moves`; cached, since many deals share the moves."""
        try:
            return self._public[moves]
        except KeyError:
            return self._public.setdefault(moves, self._replay(moves))

    def _replay(self, moves: tuple[str, ...]) -> _Betting:
        """Compute the public state after these moves, one of which may be a public card."""
        if not moves:
            return _Betting(0, "", ("check", "bet"), (1, 1), None)
        before, move = self._betting(moves[:-1]), moves[-1]
        if not before.actions:  # the first round is over: the move is a card
            return _Betting(0, f"{before.text} {move}", ("check", "bet"), before.paid, move)
        turn, paid = before.turn, list(before.paid)
        joined = "-" if before.text.endswith(("check", "bet", "raise")) else " "
        text = f"{before.text}{joined}{move}"
        if move == "fold":
            return _Betting(turn, text, (), before.paid, before.card)
        paid[turn] = max(paid)
        if move in ("bet", "raise"):
            paid[turn] += BET[before.card is not None]
        actions: tuple[str, ...] = ()
        if move in ("bet", "raise"):
            raises = sum(m in ("bet", "raise") for m in self._round(moves))
            actions = ("fold", "call", "raise") if raises < MAX_RAISES else ("fold", "call")
        elif move == "check" and turn == 0:
            actions = ("check", "bet")
        return _Betting(1 - turn, text, actions, (paid[0], paid[1]), before.card)

    def _round(self, moves: tuple[str, ...]) -> tuple[str, ...]:
        """Return the moves of the current round."""
        cards = [k for k, move in enumerate(moves) if move in self.deck]
        return moves[cards[-1] + 1 :] if cards else moves

    def __repr__(self) -> str:
        options = []
        if (self.ranks, self.suits) != (3, 2):
            options += [f"ranks={self.ranks}", f"suits={self.suits}"]
        if self.merge_suits:
            options.append("merge_suits=True")
        return f"LeducPoker({', '.join(options)})"


def _distribution(equally_likely: Iterable[Any]) -> dict[Any, float]:
    """Return the distribution of an outcome sampled uniformly, with repetitions merged."""
    counts = Counter(equally_likely)
    return {outcome: n / counts.total() for outcome, n in counts.items()}


def _win(paid: tuple[int, int], winner: int) -> Terminal:
    """Return the terminal node in which `winner` takes the pot."""
    won = paid[1 - winner]
    return Terminal((won, -won) if winner == 0 else (-won, won))
