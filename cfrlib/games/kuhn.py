"""Kuhn poker: one card each, an ante of one chip, a bet of one chip (Kuhn, 1950)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import permutations

from cfrlib.core.checks import whole_number
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.strategy import Strategy

RANKS = "A23456789TJQK"  # low to high


class KuhnPoker(Game):
    """Kuhn poker with any number of cards and players.

    Each player antes one chip and is dealt one card from a deck without suits. In turn, the
    players check or bet one chip; after a bet, each of the others folds or calls once. The
    highest card among the players who have not folded wins the pot. Payoffs are chips won.

    The deal is one action, a tuple of cards, e.g. ``("J", "Q")``. An infoset label is the
    player's card and the moves so far, e.g. ``"Q check-bet"``.

    Parameters
    ----------
    cards : int, optional
        Size of the deck, at least 3; by default one more than the number of players. Decks
        of up to 13 cards are the highest of A 2 3 … T J Q K (ace low); larger decks are
        numbered.
    players : int
        Number of players, at least 2.

    Raises
    ------
    ValueError
        If the deck is too small.

    Examples
    --------
    >>> game = KuhnPoker()
    >>> game.node((("J", "Q"), "check", "bet"))
    Decision(0, 'J check-bet', ('fold', 'call'))
    >>> game.node((("J", "Q"), "bet", "call"))
    Terminal((-2, 2))
    """

    def __init__(self, cards: int | None = None, players: int = 2):
        players = whole_number("players", players)
        if players < 2:
            raise ValueError(f"Kuhn poker needs at least 2 players, got {players}")
        cards = players + 1 if cards is None else whole_number("cards", cards)
        if cards < max(3, players):
            raise ValueError(
                f"{players} players need at least {max(3, players)} cards, got {cards}"
            )
        self.num_players = players
        self.deck = (
            tuple(RANKS[-cards:])
            if cards <= len(RANKS)
            else tuple(map(str, range(1, cards + 1)))
        )
        self._strength = {card: k for k, card in enumerate(self.deck)}

    def node(self, h: History) -> Node:
        """Return the node at history `h`."""
        if not h:
            deals = list(permutations(self.deck, self.num_players))
            return Chance(dict.fromkeys(deals, 1 / len(deals)))
        deal, moves, n = h[0], h[1:], self.num_players
        if "bet" not in moves:
            if len(moves) == n:
                return self._showdown(deal, range(n), stake=1)
            return self._decision(deal, len(moves), moves, ("check", "bet"))
        bettor = moves.index("bet")
        order = [(bettor + k) % n for k in range(n)]  # turn order starting with the bettor
        answers = moves[bettor:]
        if len(answers) == n:
            staying = [i for i, a in zip(order, answers, strict=True) if a != "fold"]
            return self._showdown(deal, staying, stake=2)
        return self._decision(deal, order[len(answers)], moves, ("fold", "call"))

    def _decision(
        self,
        deal: tuple[str, ...],
        player: int,
        moves: tuple[str, ...],
        actions: tuple[str, str],
    ) -> Decision:
        """Return the decision of `player`, who sees their own card and the moves."""
        label = f"{deal[player]} {'-'.join(moves)}" if moves else deal[player]
        return Decision(player, label, actions)

    def _showdown(self, deal: tuple[str, ...], staying: Iterable[int], stake: int) -> Terminal:
        """Return the terminal node in which each player in `staying` has paid `stake`."""
        paid = [1] * self.num_players
        for i in staying:
            paid[i] = stake
        winner = max(staying, key=lambda i: self._strength[deal[i]])
        pot = sum(paid)
        return Terminal(tuple((pot if i == winner else 0) - p for i, p in enumerate(paid)))

    def __repr__(self) -> str:
        options = []
        if len(self.deck) != self.num_players + 1:
            options.append(f"cards={len(self.deck)}")
        if self.num_players != 2:
            options.append(f"players={self.num_players}")
        return f"KuhnPoker({', '.join(options)})"


def kuhn_equilibrium(game: KuhnPoker, alpha: float) -> Strategy:
    """Return the equilibrium of Kuhn's family in which player 0 bluffs with `alpha`.

    Player 0 bets the jack with probability α and the king with 3α, always checks the queen,
    and then calls a bet with α + 1/3. Player 1 bets the jack after a check with probability
    1/3, and calls with the queen with probability 1/3. Player 1 always bets or calls with the
    king, player 0 always calls with it, and a jack never calls.

    Parameters
    ----------
    game : KuhnPoker
        The game with three cards and two players.
    alpha : float
        Probability of the bluff, from 0 to 1/3.

    Returns
    -------
    Strategy
        An equilibrium; its value for player 0 is −1/18.

    Raises
    ------
    ValueError
        If `game` is another game, or `alpha` is out of range.

    Notes
    -----
    Source: Kuhn (1950). Player 1's strategy does not depend on α.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> strategy = cfr.games.kuhn_equilibrium(game, alpha=0.2)
    >>> cfr.exploitability(game, strategy) < 1e-15
    True
    """
    if not isinstance(game, KuhnPoker) or game.deck != ("J", "Q", "K"):
        raise ValueError(f"the closed form is known for KuhnPoker() with 3 cards, not {game!r}")
    if not 0 <= alpha <= 1 / 3:
        raise ValueError(f"alpha must lie between 0 and 1/3, got {alpha!r}")
    bet_or_call = {
        "J": alpha, "Q": 0.0, "K": 3 * alpha,
        "J check-bet": 0.0, "Q check-bet": alpha + 1 / 3, "K check-bet": 1.0,
        "J check": 1 / 3, "Q check": 0.0, "K check": 1.0,
        "J bet": 0.0, "Q bet": 1 / 3, "K bet": 1.0,
    }  # fmt: skip
    return Strategy(
        game,
        {
            infoset: (
                {"call": p, "fold": 1 - p}
                if infoset.endswith("bet")
                else {"bet": p, "check": 1 - p}
            )
            for infoset, p in bet_or_call.items()
        },
    )
