"""Reference implementation of CFR, history by history in plain Python, as in the papers.

It shares only the numbering of histories, infosets and sequences with cfrlib, nothing with
`cfrlib.plain`. A copy with other lines (`wrong`) has a bug found in published code, to prove
that the tests detect it.
"""

import math

import cfrlib as cfr
from cfrbook.museum import mutant
from cfrlib.core.tree import TERMINAL

VALUE, REACH, STORED = (  # lines of `Reference`
    "value[self.parent[k]] += p * value[k]",
    "reach = own[self.members[I][0]]  # the same at all histories of the infoset",
    "regret[q] = total * (positive if total > 0 else negative)",
)
ADDED = "instant[q] += others[h] * (value[k] - value[h])"

# bug -> (a golden row that detects it, its lines)
BUGS = {
    "average without own reach": ("cfr", {REACH: "reach = 1.0"}),
    "average by opponents' reach": (
        "cfr",
        {REACH: "reach = sum(others[h] for h in self.members[I])"},
    ),
    "clip per history": (
        "cfr+",
        {
            ADDED: "regret[q] = max(regret[q] + others[h] * (value[k] - value[h]), 0.0)",
            STORED: "pass",
        },
    ),
    "weight (t/(t+1))^gamma": (
        "dcfr",
        {"weight = self.t**v.gamma": "weight = (self.t / (self.t + 1)) ** v.gamma"},
    ),
    "discount per history": (
        "dcfr",
        {
            ADDED: (
                "total = regret[q] + others[h] * (value[k] - value[h])\n"
                "regret[q] = total * (positive if total > 0 else negative)"
            ),
            STORED: "pass",
        },
    ),
    "discount by sign of instantaneous regret": (
        "dcfr",
        {STORED: "regret[q] = total * (positive if instant[q] > 0 else negative)"},
    ),
    "value returned at player 1's nodes not negated": (
        "cfr",
        {
            "value[k] = self.utility[i][k]": "value[k] = self.utility[0][k]",
            VALUE: "value[self.parent[k]] += -p * value[k] if m == 1 else p * value[k]",
            ADDED: "instant[q] += others[h] * ((-value[k] if i == 1 else value[k]) - value[h])",
        },
    ),
    "regret without reach of others": ("cfr", {ADDED: "instant[q] += value[k] - value[h]"}),
    "simultaneous": (
        "cfr",
        {"self.sigma[:] = after  # at once, for the players that follow": "pass"},
    ),
    "average after the update": (
        "cfr",
        {
            "self.strategy_sum[q] += weight * reach * p": (
                "self.strategy_sum[q] += weight * reach * next_sigma[q]"
            )
        },
    ),
    "negative regrets forgotten": ("cfr", {STORED: "regret[q] = max(total, 0.0)"}),
}


def wrong(bug):
    """Return the class with a bug."""
    return mutant(Reference, BUGS[bug][1])


def discount(t, exponent):
    if math.isinf(exponent):
        return 1.0 if exponent > 0 else 0.0
    return t**exponent / (t**exponent + 1)


class Reference:
    """A run of CFR: `sigma`, `regret` and `strategy_sum` by sequence, as lists of floats."""

    def __init__(self, game, variant="cfr", update="alternating"):
        tree = self.tree = cfr.compile(game)
        self.variant, self.update, self.t = cfr.VARIANTS[variant], update, 0
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
        after = list(self.sigma)
        for i in range(self.tree.num_players):
            self.update_player(i, after)
            if self.update == "alternating":
                self.sigma[:] = after  # at once, for the players that follow
        self.sigma[:] = after

    def update_player(self, i, next_sigma):
        """Traverse the tree for player i: update regrets, strategy sum and next strategy."""
        own, others, value = self.traverse(i)
        instant = self.add_regrets(i, others, value)
        v = self.variant
        weight = self.t**v.gamma
        for I in (I for I, p in enumerate(self.owner) if p == i):
            reach = own[self.members[I][0]]  # the same at all histories of the infoset
            before = [self.sigma[q] for q in self.pairs[I]]
            self.match(I, instant, next_sigma)
            for q, p in zip(self.pairs[I], before, strict=True):
                self.strategy_sum[q] += weight * reach * p

    def traverse(self, i):
        """Return π_i(h), π_-i(h) and u_i(h) of every history h."""
        n, sigma = len(self.player), self.sigma
        own, others = [1.0] * n, [1.0] * n
        for k in range(1, n):
            up, m = self.parent[k], self.mover[k]
            p = self.chance[k] if m < 0 else sigma[self.pair[k]]
            own[k] = own[up] * p if m == i else own[up]
            others[k] = others[up] if m == i else others[up] * p
        value = [0.0] * n
        for k in self.ends:
            value[k] = self.utility[i][k]
        for k in range(n - 1, 0, -1):
            m = self.mover[k]
            p = self.chance[k] if m < 0 else sigma[self.pair[k]]
            value[self.parent[k]] += p * value[k]
        return own, others, value

    def add_regrets(self, i, others, value):
        """Add r(h, a) = π_-i(h) (u(ha) - u(h)) of all histories, then discount."""
        regret, instant = self.regret, [0.0] * len(self.regret)
        positive = discount(self.t, self.variant.alpha)
        negative = discount(self.t, self.variant.beta)
        for k in range(len(self.player) - 1, 0, -1):
            if self.mover[k] == i:
                q, h = self.pair[k], self.parent[k]
                instant[q] += others[h] * (value[k] - value[h])
        for I in (I for I, p in enumerate(self.owner) if p == i):
            for q in self.pairs[I]:
                total = regret[q] + instant[q]
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
