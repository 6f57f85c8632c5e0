"""Games for the tests: tables, transformed games, random games, cached games."""

import random
from functools import cache

from cfrlib import Chance, Decision, Game, Terminal
from koikoi import MiniKoiKoi


@cache
def mini(name, **options):
    """Return a game of the MiniKoiKoi family, cached so that all tests compile it once."""
    return getattr(MiniKoiKoi, name)(**options)


class TableGame(Game):
    """A game defined by a dictionary from histories to nodes."""

    def __init__(self, nodes, num_players=2, name="TableGame()"):
        self.nodes, self.num_players, self.name = nodes, num_players, name

    def node(self, h):
        return self.nodes[h]

    def __repr__(self):
        return self.name


class Wrapper(Game):
    """The same game; subclasses override what they change."""

    def __init__(self, game):
        self.game, self.num_players = game, game.num_players

    def root(self):
        return self.game.root()

    def step(self, h, a):
        return self.game.step(h, a)

    def node(self, h):
        return self.game.node(h)


class Renamed(Wrapper):
    """The same game with other names and, if `reverse`, its actions in reverse order."""

    def __init__(self, game, reverse=False):
        super().__init__(game)
        self.order = -1 if reverse else 1

    def step(self, h, a):
        return self.game.step(h, a[1])

    def node(self, h):
        node = self.game.node(h)
        if isinstance(node, Chance):
            outcomes = list(node.probabilities.items())[:: self.order]
            return Chance({("new", a): p for a, p in outcomes})
        if isinstance(node, Decision):
            actions = [("new", a) for a in node.actions][:: self.order]
            return Decision(node.player, f"new {node.infoset}", actions)
        return node


class Scaled(Wrapper):
    """The same game with every payoff multiplied by `factor`."""

    def __init__(self, game, factor):
        super().__init__(game)
        self.factor = factor

    def node(self, h):
        node = self.game.node(h)
        if isinstance(node, Terminal):
            return Terminal([self.factor * u for u in node.utilities])
        return node


class Shifted(Wrapper):
    """The same game with a constant added to each player's payoffs."""

    def __init__(self, game, constants):
        super().__init__(game)
        self.constants = constants

    def node(self, h):
        node = self.game.node(h)
        if isinstance(node, Terminal):
            pairs = zip(node.utilities, self.constants, strict=True)
            return Terminal([u + c for u, c in pairs])
        return node


class Swapped(Wrapper):
    """The same two-player game with the players' numbers swapped."""

    def node(self, h):
        node = self.game.node(h)
        if isinstance(node, Decision):
            return Decision(1 - node.player, node.infoset, node.actions)
        return Terminal(node.utilities[::-1]) if isinstance(node, Terminal) else node


class AfterCoin(Wrapper):
    """The same game after a biased coin flip, which the players in `seen_by` observe."""

    COIN = Chance({"heads": 0.25, "tails": 0.75})

    def __init__(self, game, seen_by=()):
        super().__init__(game)
        self.seen_by = seen_by

    def root(self):
        return None

    def step(self, h, a):
        return (a, self.game.root()) if h is None else (h[0], self.game.step(h[1], a))

    def node(self, h):
        if h is None:
            return self.COIN
        node = self.game.node(h[1])
        if isinstance(node, Decision) and node.player in self.seen_by:
            return Decision(node.player, f"{h[0]} {node.infoset}", node.actions)
        return node


def random_game(seed, players=2, depth=5, zero_sum=True, whole=False):
    """Return a random game with sound rules.

    An infoset label lists the player's own actions and observations: after each action, every
    player may observe a symbol, or nothing. Histories therefore share infosets, even at
    different depths, yet recall is perfect. Chance outcomes have unequal probabilities, some of
    them 0. Infosets have one to three actions. Some players may never act. Payoffs are real
    numbers without ties or, with `whole`, small integers with many ties.
    """
    rng = random.Random(seed)
    nodes, width = {}, {}

    def payoffs():
        sample = (lambda: rng.randint(-2, 2)) if whole else (lambda: rng.uniform(-3, 3))
        u = [sample() for _ in range(players)]
        if zero_sum:
            u[-1] = -sum(u[:-1])
        return tuple(u)

    def grow(h, memory):
        stop = 0.0 if len(h) < 2 else 0.25
        if len(h) == depth or len(nodes) > 150 or rng.random() < stop:
            nodes[h] = Terminal(payoffs())
            return
        if rng.random() < 0.25:
            mover = None
            weights = [rng.choice((0, 1, 2, 5)) for _ in range(rng.randint(1, 3))]
            weights[-1] += not any(weights)
            outcomes = {f"c{k}": w / sum(weights) for k, w in enumerate(weights)}
            nodes[h], actions = Chance(outcomes), tuple(outcomes)
        else:
            mover = rng.randrange(players)
            label = memory[mover]
            count = width.setdefault(label, rng.choice((1, 2, 2, 2, 3)))
            actions = tuple(f"a{k}" for k in range(count))
            nodes[h] = Decision(mover, label, actions)
        for a in actions:
            memories = [m + rng.choice(("", "", "·", "o")) for m in memory]
            if mover is not None:
                memories[mover] = f"{memory[mover]}>{a}"
            grow((*h, a), memories)

    grow((), [f"{i}:" for i in range(players)])
    return TableGame(nodes, players, f"random_game({seed}, {players}, {depth}, {zero_sum})")
