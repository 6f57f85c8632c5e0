"""Regret-based pruning on Leduc poker: histories visited against exploitability.

Writes experiments/pruning.json. Vanilla CFR (regret matching, alternating updates, uniform
average), three ways:

- "full": every history, twice an iteration;
- "partial": without the histories that the opponents' strategy never reaches, where all
  counterfactual regrets are 0;
- "regret": also without the traverser's own actions of negative regret, for as many iterations
  as the regret is sure to stay negative (Brown and Sandholm, 2015). When an action is due
  again, its regret is made up for with the best response to what the opponent played in the
  meantime. The histories visited for that are counted;
- "eager": the same, as if a regret could grow by a tenth of what it can at worst: no guarantee.

The strategy sums are those of the realization plans, so that no visit is needed for them.
"""

import sys
from pathlib import Path

import flat_json
import numpy as np

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form

RESULTS = Path(__file__).with_suffix(".json")
CHECKPOINTS = (10, 100, 1_000, 3_000)


class PrunedCFR:
    """CFR with pruning, in plain Python.

    Attributes
    ----------
    due : int array, shape (sequences,)
        0, or the iteration in which a pruned action is visited again.
    missed : float array, shape (sequences,)
        For pruned actions: the sum of v(I) since then.
    """

    def __init__(self, game, prune):
        self.tree, self.form, self.prune = cfr.compile(game), sequence_form(game), prune
        t, n = self.tree, self.form.num_sequences
        self.player, self.infoset = t.player.tolist(), t.infoset.tolist()
        self.first, self.count = t.first_child.tolist(), t.num_children.tolist()
        self.p, self.utility = t.probability.tolist(), t.utility.tolist()
        self.sequence, self.start = t.sequence.tolist(), t.infoset_start.tolist()
        self.actions = [len(a) for a in t.infoset_actions]
        self.members = [np.flatnonzero(t.infoset == I).tolist() for I in range(t.num_infosets)]
        self.chance = t.chance_reach.tolist()
        self.sigma = self.form.uniform()
        self.regret, self.missed, self.total = np.zeros((3, n))
        self.due = np.zeros(n, int)
        self.played = np.zeros(n)  # sums of the plans that the opponents met
        self.since = {}  # for pruned actions: `played` at the time
        self.nodes, self.t = 0, 0
        self.gain = self.largest_gains() * (0.1 if prune == "eager" else 1)

    def largest_gains(self):
        """Return by how much a regret can grow in one iteration, by sequence."""
        tree = self.tree
        high, low = tree.utility.copy(), tree.utility.copy()
        for h in range(tree.num_histories - 1, -1, -1):
            if self.count[h]:
                below = slice(self.first[h], self.first[h] + self.count[h])
                high[h], low[h] = high[below].max(axis=0), low[below].min(axis=0)
        gain = np.zeros(self.form.num_sequences)
        for I, start in enumerate(self.start):
            for a in range(self.actions[I]):
                for h in self.members[I]:
                    i, c = self.player[h], self.first[h] + a
                    gain[start + a] += self.chance[h] * (high[c, i] - low[h, i])
        return gain

    def run(self, iterations):
        for _ in range(iterations):
            self.t += 1
            for i in (0, 1):
                plan = self.form.plans(self.sigma)
                mine, yours = (slice(*self.form.treeplexes.player_sequences[j : j + 2])
                               for j in (i, 1 - i))  # fmt: skip
                self.total[mine] += plan[mine]
                self.settle([q for q in np.flatnonzero(self.due == self.t) if q in range(
                    mine.start, mine.stop)], i)  # fmt: skip
                self.played[yours] += plan[yours]
                self.instant = {}
                self.traverse(0, i, 1.0)
                for I in self.instant:
                    self.match(I)
                if self.prune in ("regret", "eager"):
                    self.skip(i)
        return self

    def traverse(self, h, i, others):
        """Add the regrets of player i below h; return the expected payoff."""
        self.nodes += 1
        player, first = self.player[h], self.first[h]
        if not self.count[h]:
            return self.utility[h][i]
        if player < 0:
            return sum(
                self.p[c] * self.traverse(c, i, others * self.p[c])
                for c in range(first, first + self.count[h])
            )
        I = self.infoset[h]
        start, value, u = self.start[I], 0.0, {}
        for a in range(self.count[h]):
            x = self.sigma[start + a]
            if player != i:
                if x > 0 or self.prune == "full":
                    value += x * self.traverse(first + a, i, others * x)
            elif not self.due[start + a]:
                u[a] = self.traverse(first + a, i, others)
                value += x * u[a]
        if player == i:
            row = self.instant.setdefault(I, [0.0] * (self.actions[I] + 1))
            row[-1] += others * value
            for a, x in u.items():
                row[a] += others * (x - value)
        return value

    def match(self, I):
        """Update the regrets of an infoset, and match them."""
        *row, value = self.instant[I]
        q = slice(self.start[I], self.start[I] + self.actions[I])
        for a, x in enumerate(row):
            if self.due[q.start + a]:
                self.missed[q.start + a] += value
            else:
                self.regret[q.start + a] += x
        plus = np.maximum(self.regret[q], 0)
        total = plus.sum()
        # where all regrets are negative, the strategy is uniform: nothing may be pruned
        if total <= 0 and self.due[q].any():
            raise AssertionError("a pruned action would be played")
        self.sigma[q] = plus / total if total > 0 else 1 / len(plus)

    def skip(self, i):
        """Prune actions whose regret stays negative for a while."""
        for I in self.instant:
            q = self.start[I]
            rows = range(q, q + self.actions[I])
            free = [s for s in rows if self.regret[s] < 0 and not self.due[s]]
            if max(self.regret[s] for s in rows) <= 0 or self.is_below_pruned(I):
                continue
            for s in free:
                rounds = int(min(-self.regret[s] / max(self.gain[s], 1e-9), 1e6))
                if rounds >= 1:
                    self.settle(self.pending_below(I, s - q), i)
                    self.due[s] = self.t + rounds + 1
                    self.missed[s], self.since[s] = 0.0, self.played.copy()

    def is_below_pruned(self, I):
        """Return whether an earlier own action on the way to I is pruned."""
        q, roots = int(self.form.treeplexes.infoset_parent[I]), len(self.start)
        while (J := int(np.searchsorted(self.start, q, side="right")) - 1) < roots and (
            J >= 0 and q < self.start[J] + self.actions[J]
        ):
            if self.due[q]:
                return True
            q = int(self.form.treeplexes.infoset_parent[J])
        return False

    def pending_below(self, I, a):
        """Return the pruned sequences below an action."""
        if not self.since:
            return []
        parent, owner = self.form.treeplexes.infoset_parent, self.tree.infoset_start
        found, seen = [], {int(self.start[I]) + a}
        for J in range(len(self.start)):
            if int(parent[J]) in seen:
                rows = range(int(owner[J]), int(owner[J]) + self.actions[J])
                seen.update(rows)
                found += [s for s in rows if self.due[s]]
        return found

    def settle(self, sequences, i):
        """Make up for the iterations in which actions were pruned."""
        infoset_of = np.searchsorted(self.start, sequences, side="right") - 1
        for s, I in zip(sequences, infoset_of, strict=True):
            self.weights = self.played - self.since.pop(s)
            a = s - self.start[I]
            value = self.best([self.first[h] + a for h in self.members[I]], i)
            self.regret[s] += value - self.missed[s]
            self.due[s] = 0
            if self.prune == "regret" and self.regret[s] > 1e-9:
                raise AssertionError("pruned for too long")

    def best(self, histories, i):
        """Return the best-response value of histories, against `weights`."""
        value, mine = 0.0, {}
        stack = list(histories)
        while stack:
            h = stack.pop()
            self.nodes += 1
            if self.weights[self.sequence[h][1 - i]] <= 0:
                continue
            if not self.count[h]:
                weight = self.chance[h] * self.weights[self.sequence[h][1 - i]]
                value += weight * self.utility[h][i]
            elif self.player[h] == i:
                mine.setdefault(self.infoset[h], []).append(h)
            else:
                stack += range(self.first[h], self.first[h] + self.count[h])
        for I, members in mine.items():
            value += max(
                self.best([self.first[h] + a for h in members], i)
                for a in range(self.actions[I])
            )
        return value

    def average(self):
        t, found = self.form.treeplexes, self.form.uniform()
        for start, stop in zip(t.infoset_start, t.infoset_stop, strict=True):
            if (total := self.total[start:stop].sum()) > 0:
                found[start:stop] = self.total[start:stop] / total
        return cfr.Strategy.from_vector(self.form, found)


def main(iterations=CHECKPOINTS):
    game = cfr.games.LeducPoker(merge_suits=True)
    results = {"histories": cfr.compile(game).num_histories, "runs": {}}
    for prune in ("full", "partial", "regret", "eager"):
        run, rows = PrunedCFR(game, prune), []
        for T in iterations:
            before = run.nodes, run.t
            run.run(T - run.t)
            rate = (run.nodes - before[0]) / (run.t - before[1])
            e = cfr.exploitability(game, run.average())
            rows.append([T, run.nodes, round(rate, 1), float(f"{e:.6g}")])
            print(prune, rows[-1], file=sys.stderr)
        results["runs"][prune] = rows
    return results


if __name__ == "__main__":
    flat_json.write(RESULTS, main())
