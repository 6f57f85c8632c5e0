"""Online outcome sampling in the rest of a round of Koi-Koi."""

from __future__ import annotations

from collections import Counter

import numpy as np

from cfrlib import OOS
from cfrlib.game import Action, Chance, Decision, Game, History, Node
from cfrlib.playing.matches import pick
from koikoi import KoiKoi, Position
from koikoi.learners import NetworkPlayer
from koikoi.learners.network_player import decision_time
from koikoi.simulator import Numbers, Rounds, Simulator


class Rest(Game):
    """The rest of a round; the cards that the player in turn cannot see are dealt anew.

    Examples
    --------
    >>> simulator = Simulator(KoiKoi())
    >>> at = simulator.position(simulator.deal(1, seed=0), 0)
    >>> len(Rest(simulator.game, at).node(()).probabilities)  # 8 in a hand, 24 in the stock
    32
    """

    def __init__(self, game: KoiKoi, at: Position):
        self.game, self.at, self.other = game, at, 1 - at.player
        self.hidden = game.add_cards((), *at.hands[self.other], *at.stock)
        self.held = len(at.hands[self.other])

    def root(self) -> History:
        """Return the history at which the opponent's first card is dealt."""
        return () if self.held else self.at

    def node(self, h: History) -> Node:
        """Return a card to deal, or the node of the game."""
        if isinstance(h, Position):
            return self.game.node(h)
        left = self.left(h)
        return Chance({card: left.count(card) / len(left) for card in left})

    def step(self, h: History, a: Action) -> History:
        """Deal a card, or act."""
        if isinstance(h, Position):
            return self.game.step(h, a)
        dealt = (*h, a)
        if len(dealt) < self.held:
            return dealt
        hand, mine = self.game.add_cards((), *dealt), self.at.hands[self.at.player]
        hands, first = ((mine, hand), ("", " ".join(hand)))
        if self.at.player:
            hands, first = hands[::-1], first[::-1]
        return self.at._replace(hands=hands, stock=self.left(dealt), first=first, heard="")

    def left(self, dealt: tuple[str, ...]) -> tuple[str, ...]:
        """Return the hidden cards that are not dealt yet."""
        return tuple((Counter(self.hidden) - Counter(dealt)).elements())

    def __repr__(self) -> str:
        return f"Rest of {self.game!r}"


class RestPlayer:
    """Plays by a network, and searches its last turns by online outcome sampling.

    Every walk begins at the decision, since a walk from the beginning of the round would
    practically never lead there. The opponent's hand is dealt uniformly.

    Parameters
    ----------
    player : NetworkPlayer
    turns : int
        The player searches once it holds at most this many cards.
    iterations : int
        Number of iterations of each search.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from koikoi import MiniKoiKoi
    >>> from koikoi.learners import DeepMonteCarlo
    >>> game = MiniKoiKoi.K8()
    >>> network = DeepMonteCarlo(game, hidden=(16,)).player()  # not trained yet
    >>> player = RestPlayer(network, turns=2, iterations=20)
    >>> len(cfr.match(Simulator(game), player, network, 4, seed=0).payoffs)
    4
    """

    def __init__(self, player: NetworkPlayer, turns: int = 3, iterations: int = 500):
        self.player, self.turns, self.iterations = player, turns, iterations

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds."""
        actions = self.player(simulator, rounds, rows, key)
        held = np.bitwise_count(rounds.hands[rows, rounds.player[rows]])
        times = decision_time(rounds, rows)
        for n in np.flatnonzero(held <= self.turns):
            if len(names := simulator.actions(rounds, rows[n])) > 1:
                seed = np.random.SeedSequence([int(key), int(times[n]), int(rows[n])])
                rest = Rest(simulator.game, simulator.position(rounds, rows[n]))
                chosen = self.search(rest, seed)
                actions[n] = next(c for c, name in names.items() if name == chosen)
        return actions

    def search(self, rest: Rest, seed: np.random.SeedSequence) -> Action:
        """Sample an action from the policy that a search finds at the first decision."""
        h = rest.root()
        while not isinstance(node := rest.node(h), Decision):
            assert isinstance(node, Chance)
            h = rest.step(h, next(iter(node.probabilities)))
        rng = np.random.default_rng(seed)
        oos = OOS(rest, seed=int(rng.integers(2**32)), on_demand=True)
        oos.search(iterations=self.iterations)
        return pick(oos.policy(node.infoset), rng.random())

    def __repr__(self) -> str:
        return f"RestPlayer({self.player!r}, turns={self.turns}, iterations={self.iterations})"
