"""CFR in plain Python: an object for every history, three passes in every iteration.

This is the method of Morikatron's blog, written independently of its code and for any
two-player zero-sum game of cfrlib. Every node stores its reach, its value and its sums; an
infoset is a list of nodes. Updates are simultaneous.
"""

from cfrlib.game import Chance, Decision, Game, Terminal

CHANCE = 2  # index after players 0 and 1


class Node:
    """One history."""

    def __init__(self, player, infoset, value=0.0):
        self.player = player
        self.infoset = infoset
        self.children = {}
        self.value = value  # expected payoff of player 0 from here on
        self.reach_own = 0.0  # reach contribution of the player to move
        self.reach_others = 0.0  # reach contribution of the others, including chance
        self.regret = {}  # for each action, summed over the iterations
        self.reach_sum = 0.0  # denominator of the average strategy
        self.plan_sum = {}  # numerators of the average strategy, by action


class PlainCFR:
    """A CFR solver: game tree, current strategy and average strategy, in dictionaries."""

    def __init__(self, game: Game):
        self.strategy = {0: {}, 1: {}, CHANCE: {}}
        self.average = {0: {}, 1: {}}
        self.infosets = {0: {}, 1: {}}
        self.root = self.build(game, ())

    def build(self, game, history):
        kind = game.node(history)
        if isinstance(kind, Terminal):
            return Node(CHANCE, None, float(kind.utilities[0]))
        if isinstance(kind, Chance):
            node = Node(CHANCE, history)
            self.strategy[CHANCE][history] = actions = dict(kind.probabilities)
        else:
            assert isinstance(kind, Decision)
            node = Node(kind.player, kind.infoset)
            actions = dict.fromkeys(kind.actions, 1 / len(kind.actions))
            self.strategy[kind.player].setdefault(kind.infoset, actions)
            self.average[kind.player].setdefault(kind.infoset, dict(actions))
            self.infosets[kind.player].setdefault(kind.infoset, []).append(node)
        for action in actions:
            node.regret[action] = node.plan_sum[action] = 0.0
            node.children[action] = self.build(game, (*history, action))
        return node

    def run(self, iterations):
        for _ in range(iterations):
            self.update_reach(self.root, [1.0, 1.0, 1.0])
            self.update_values(self.root)
            self.update_strategy()
        return self

    def update_reach(self, node, reach):
        """Pass 1, downwards: compute the reach of every history."""
        if not node.children:
            return
        node.reach_own, node.reach_others = reach[node.player], 1.0
        for player, part in enumerate(reach):
            if player != node.player:
                node.reach_others *= part
        probabilities = self.strategy[node.player][node.infoset]
        for action, child in node.children.items():
            below = list(reach)
            below[node.player] *= probabilities[action]
            self.update_reach(child, below)

    def update_values(self, node):
        """Pass 2, upwards: compute expected payoffs and update the sums of every node."""
        if not node.children:
            return node.value
        probabilities = self.strategy[node.player][node.infoset]
        node.value = 0.0
        for action, child in node.children.items():
            node.value += probabilities[action] * self.update_values(child)
        if node.player != CHANCE:
            sign = 1 if node.player == 0 else -1
            node.reach_sum += node.reach_own
            for action, child in node.children.items():
                gain = sign * (child.value - node.value)
                node.regret[action] += node.reach_others * gain
                node.plan_sum[action] += node.reach_own * probabilities[action]
        return node.value

    def update_strategy(self):
        """Pass 3, over the infosets: regret matching and the average strategy."""
        for player, infosets in self.infosets.items():
            for infoset, nodes in infosets.items():
                strategy = self.strategy[player][infoset]
                average = self.average[player][infoset]
                weight = sum(node.reach_sum for node in nodes)
                positive = {}
                for action in strategy:
                    positive[action] = max(0.0, sum(node.regret[action] for node in nodes))
                    if weight > 0:
                        plan = sum(node.plan_sum[action] for node in nodes)
                        average[action] = plan / weight
                total = sum(positive.values())
                for action in strategy:
                    strategy[action] = (
                        positive[action] / total if total > 0 else 1 / len(strategy)
                    )
