"""Reference implementation of CFR, history by history in plain Python, as in the papers.

It shares only the numbering of histories, infosets and sequences with cfrlib. `bug` introduces
a bug found in published code, to prove that the tests detect it.
"""

import math

import cfrlib as cfr
from cfrlib.core.tree import TERMINAL

# bug -> a golden row that detects it
BUGS = {
    "average without own reach": "cfr",
    "average by opponents' reach": "cfr",
    "clip per history": "cfr+",
    "weight (t/(t+1))^gamma": "dcfr",
    "discount per history": "dcfr",
    "discount by sign of instantaneous regret": "dcfr",
    "value returned at player 1's nodes not negated": "cfr",
    "regret without reach of others": "cfr",
    "simultaneous": "cfr",
    "average after the update": "cfr",
    "negative regrets forgotten": "cfr",
}


def discount(t, exponent):
    if math.isinf(exponent):
        return 1.0 if exponent > 0 else 0.0
    return t**exponent / (t**exponent + 1)


class Reference:
    """A run of CFR: `sigma`, `regret` and `strategy_sum` by sequence, as lists of floats."""

    def __init__(self, game, variant="cfr", update="alternating", bug=None):
        assert bug is None or bug in BUGS
        tree = self.tree = cfr.compile(game)
        self.variant, self.bug, self.t = cfr.VARIANTS[variant], bug, 0
        self.simultaneous = update == "simultaneous" or bug == "simultaneous"
        self.player, self.parent = tree.player.tolist(), tree.parent.tolist()
        self.infoset, self.chance = tree.infoset.tolist(), tree.probability.tolist()
        self.utility = tree.utility.T.tolist()
        self.ends = [k for k, p in enumerate(self.player) if p == TERMINAL]
        self.mover = [None] + [self.player[p] for p in self.parent[1:]]
        # sequence (infoset, action) that leads to each history, -1 after chance
        self.pair = [
            int(tree.sequence[k, m]) if k and m >= 0 else -1 for k, m in enumerate(self.mover)
        ]
        starts = tree.infoset_start.tolist()
        self.pairs = [
            range(q, q + len(a)) for q, a in zip(starts, tree.infoset_actions, strict=True)
        ]
        self.owner = tree.infoset_player.tolist()
        self.members = [[] for _ in starts]  # the histories of each infoset
        for k, I in enumerate(self.infoset):
            if I >= 0:
                self.members[I].append(k)
        size = int(tree.player_sequences[-1])
        self.regret, self.strategy_sum = [0.0] * size, [0.0] * size
        self.sigma = [1.0] * size
        for pairs in self.pairs:
            for q in pairs:
                self.sigma[q] = 1 / len(pairs)

    def iterate(self):
        """Run one iteration, which updates every player once."""
        self.t += 1
        next_sigma = list(self.sigma)
        for i in range(self.tree.num_players):
            self.update(i, next_sigma)
            if not self.simultaneous:
                self.sigma[:] = next_sigma
        self.sigma[:] = next_sigma

    def update(self, i, next_sigma):
        """Traverse the tree for player i: update regrets, strategy sum and next strategy."""
        own, others, value = self.traverse(i)
        instant = self.add_regrets(i, others, value)
        v, bug = self.variant, self.bug
        weight = self.t**v.gamma
        if bug == "weight (t/(t+1))^gamma":
            weight = (self.t / (self.t + 1)) ** v.gamma
        for I in (I for I, p in enumerate(self.owner) if p == i):
            reach = own[self.members[I][0]]  # the same at all histories of the infoset
            if bug == "average without own reach":
                reach = 1.0
            elif bug == "average by opponents' reach":
                reach = sum(others[h] for h in self.members[I])
            before = [self.sigma[q] for q in self.pairs[I]]
            self.match(I, instant, next_sigma)
            for q, p in zip(self.pairs[I], before, strict=True):
                p = next_sigma[q] if bug == "average after the update" else p
                self.strategy_sum[q] += weight * reach * p

    def traverse(self, i):
        """Return π_i(h), π_-i(h) and u_i(h) of every history h."""
        n, sigma = len(self.player), self.sigma
        literal = self.bug == "value returned at player 1's nodes not negated"
        own, others = [1.0] * n, [1.0] * n
        for k in range(1, n):
            up, m = self.parent[k], self.mover[k]
            p = self.chance[k] if m < 0 else sigma[self.pair[k]]
            own[k] = own[up] * p if m == i else own[up]
            others[k] = others[up] if m == i else others[up] * p
        value = [0.0] * n
        for k in self.ends:
            value[k] = self.utility[0 if literal else i][k]
        for k in range(n - 1, 0, -1):
            m = self.mover[k]
            p = self.chance[k] if m < 0 else sigma[self.pair[k]]
            value[self.parent[k]] += -p * value[k] if literal and m == 1 else p * value[k]
        return own, others, value

    def add_regrets(self, i, others, value):
        """Add r(h, a) = π_-i(h) (u(ha) - u(h)) of all histories, then discount."""
        bug, regret = self.bug, self.regret
        literal = bug == "value returned at player 1's nodes not negated"
        positive = discount(self.t, self.variant.alpha)
        negative = discount(self.t, self.variant.beta)
        instant = [0.0] * len(regret)
        for k in range(len(self.player) - 1, 0, -1):
            if self.mover[k] != i:
                continue
            q, h = self.pair[k], self.parent[k]
            u = -value[k] if literal and i == 1 else value[k]
            r = (1.0 if bug == "regret without reach of others" else others[h]) * (u - value[h])
            instant[q] += r
            if bug == "clip per history":
                regret[q] = max(regret[q] + r, 0.0)
            elif bug == "discount per history":
                total = regret[q] + r
                regret[q] = total * (positive if total > 0 else negative)
        for I in (I for I, p in enumerate(self.owner) if p == i):
            for q in self.pairs[I]:
                total = regret[q] + instant[q]
                if bug == "discount by sign of instantaneous regret":
                    regret[q] = total * (positive if instant[q] > 0 else negative)
                elif bug == "negative regrets forgotten":
                    regret[q] = max(total, 0.0)
                elif bug not in ("clip per history", "discount per history"):
                    regret[q] = total * (positive if total > 0 else negative)
        return instant

    def match(self, I, instant, next_sigma):
        """Write the next strategy at I, proportional to the positive regrets."""
        predicted = self.variant.prediction
        positive = [max(self.regret[q] + predicted * instant[q], 0.0) for q in self.pairs[I]]
        total = math.fsum(positive)
        for q, r in zip(self.pairs[I], positive, strict=True):
            next_sigma[q] = r / total if total > 0 else 1 / len(positive)

    def average(self):
        """Return the average strategy as a dictionary."""
        strategy = {}
        for I, pairs in enumerate(self.pairs):
            total = math.fsum(self.strategy_sum[q] for q in pairs)
            strategy[self.tree.infoset_label[I]] = {
                a: self.strategy_sum[q] / total if total > 0 else 1 / len(pairs)
                for a, q in zip(self.tree.infoset_actions[I], pairs, strict=True)
            }
        return strategy

    def exploitability_at(self, game, iterations):
        """Return the exploitability of the average by iteration, at the given iterations."""
        exploitability = {}
        while self.t < max(iterations):
            self.iterate()
            if self.t in iterations:
                exploitability[self.t] = cfr.exploitability(game, self.average())
        return exploitability
