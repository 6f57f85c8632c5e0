"""Last-iterate methods on trees: a second implementation with dictionaries, history by history.

It knows neither sequence form nor kernels: a sequence is the tuple of a player's own moves.
"""

import math
from collections import defaultdict

import numpy as np
import pytest
from scipy.optimize import brentq
from toy_games import random_game

import cfrlib as cfr
from cfrlib import Chance, Terminal
from cfrlib.core.sequence import sequence_form
from cfrlib.last_iterate import (
    Iterates,
    MirrorDescent,
    RegretMatching,
    entropy_weights,
    follow,
)

KUHN, WIDE = cfr.games.KuhnPoker(), random_game(3, depth=4, zero_sum=True)
HARD = cfr.games.MatrixGame([[3, 0, -3], [0, 3, -4], [0, 0, 1]])
EXTRA = "extragradient"


class Rules:
    """A game of two players as lists: its infosets, and its ends with all own moves."""

    def __init__(self, game):
        self.player, self.actions, self.parent, self.ends = {}, {}, {}, []
        self._visit(game, game.root(), 1.0, ((), ()))
        self.below = defaultdict(list)
        for I, sequence in self.parent.items():
            self.below[self.player[I], sequence].append(I)
        self.deepest_first = sorted(self.parent, key=lambda I: -len(self.parent[I]))

    def _visit(self, game, h, chance, moves):
        node = game.node(h)
        if isinstance(node, Terminal):
            self.ends.append((chance, moves, node.utilities))
        elif isinstance(node, Chance):
            for a, p in node.probabilities.items():
                self._visit(game, game.step(h, a), chance * p, moves)
        else:
            i, I = node.player, node.infoset
            self.player[I], self.actions[I], self.parent[I] = i, node.actions, moves[i]
            for a in node.actions:
                after = (*moves[i], (I, a))
                new = (after, moves[1]) if i == 0 else (moves[0], after)
                self._visit(game, game.step(h, a), chance, new)

    def weight(self, I):
        """The weight in the dilated entropy, by its recursion."""
        after = [(*self.parent[I], (I, a)) for a in self.actions[I]]
        below = [sum(self.weight(J) for J in self.below[self.player[I], q]) for q in after]
        return 1 + max(below)

    def uniform(self):
        return {(I, a): 1 / len(A) for I, A in self.actions.items() for a in A}


def reach(sigma, sequence):
    return math.prod(sigma[move] for move in sequence)


def lifted(row, least, power=1):
    """[row + s]⁺ with the smallest s ≥ 0 of large enough norm, by root finding."""
    z = np.array(list(row.values()))

    def size(s):
        return np.linalg.norm(np.maximum(z + s, 0), power) - least

    s = 0.0 if size(0.0) >= 0 else brentq(size, 0, least - z.min(), xtol=1e-15)
    return dict(zip(row, np.maximum(z + s, 0).tolist(), strict=True))


class PlainRun:
    """`Iterates`, with dictionaries from pairs (infoset, action) to numbers."""

    def __init__(self, game, method, weight):
        self.rules, self.method, self.power = Rules(game), method, weight
        self.sigma = self.rules.uniform()
        self.played = self.magnet = self.reference = dict(self.sigma)
        self.gamma, self.total = getattr(method, "gamma", 0.0), defaultdict(float)
        least = getattr(method, "least", 0.0)
        self.regret = {move: least * p for move, p in self.sigma.items()}
        self.before = {i: self.gradient(i, self.played) for i in (0, 1)}

    def gradient(self, i, at):
        g = defaultdict(float)
        for chance, moves, utilities in self.rules.ends:
            g[moves[i]] += chance * reach(at, moves[1 - i]) * utilities[i]
        return g

    def values(self, i, g, choose):
        """Choose a row at each infoset, from the last to the first; return all rows."""
        v, rows = dict(g), {}
        for I in self.rules.deepest_first:
            if self.rules.player[I] == i:
                after = {(I, a): (*self.rules.parent[I], (I, a)) for a in self.rules.actions[I]}
                row, worth = choose(I, {move: v.get(q, 0.0) for move, q in after.items()})
                rows |= row
                q = self.rules.parent[I]
                v[q] = v.get(q, 0.0) + worth
        return rows

    def regret_step(self, i, at, matched, played, keep):
        method, g = self.method, self.gradient(i, at)
        own = set(g) | {(*self.rules.parent[I], (I, a)) for I, a in self.sigma
                                if self.rules.player[I] == i}  # fmt: skip
        for q in own:
            g[q] -= method.mu * (reach(at, q) - reach(self.reference, q))

        def choose(I, v):
            mean = sum(matched[move] * x for move, x in v.items())
            old = {move: self.regret[move] for move in v}
            new = {move: old[move] + v[move] - mean for move in v}
            if method.floor and method.keep_norm:
                new = lifted(new, math.sqrt(sum(x * x for x in old.values())), 2)
            elif method.floor:
                new = lifted(new, method.least)
            if keep:
                self.regret |= new
            ahead = {move: new[move] + method.prediction * (v[move] - mean) for move in v}
            ahead = lifted(ahead, method.least)
            total = sum(ahead.values())
            row = {m: x / total if total > 0 else 1 / len(v) for m, x in ahead.items()}
            return row, sum(played[move] * x for move, x in v.items())

        return self.values(i, g, choose)

    def mirror_step(self, i, g):
        eta, tau = self.method.eta, self.method.tau

        def choose(I, v):
            scale = self.rules.weight(I) * (1 / eta + tau)
            part = {
                m: self.sigma[m] ** (1 / (1 + eta * tau))
                * self.magnet[m] ** (eta * tau / (1 + eta * tau))
                * math.exp(x / scale)
                for m, x in v.items()
            }
            total = sum(part.values())
            return {m: x / total for m, x in part.items()}, scale * math.log(total)

        return self.values(i, g, choose)

    def step(self, i, at, trial, matched, played):
        if isinstance(self.method, RegretMatching):
            return self.regret_step(i, at, matched, played, not trial)
        g = self.gradient(i, at)
        if self.method.look_ahead == "optimistic":
            before, self.before[i] = self.before[i], dict(g)
            g = {q: 2 * g[q] - before[q] for q in g}
        return self.mirror_step(i, g)

    def update(self, t, group):
        at, matched, played = self.played, self.sigma, self.played
        if self.method.look_ahead == EXTRA:
            found = {}
            for i in group:
                found |= self.step(i, at, True, matched, played)
            at = matched = played = at | found
        for (I, a), _ in self.sigma.items():
            if self.rules.player[I] in group:
                sequence = (*self.rules.parent[I], (I, a))
                self.total[I, a] += t**self.power * reach(at, sequence)
        new = {}
        for i in group:
            new |= self.step(i, at, False, matched, played)
        self.sigma = self.sigma | new
        self.played = self.played | {
            (I, a): p + self.gamma * (1 - len(self.rules.actions[I]) * p)
            for (I, a), p in new.items()
        }

    def run(self, rounds):
        groups = ((0,), (1,)) if self.method.alternating else ((0, 1),)
        for t in range(1, rounds + 1):
            for group in groups:
                self.update(t, group)
            if self.method.stage and t % self.method.stage == 0:
                self.reference, self.magnet = dict(self.played), dict(self.sigma)
                self.gamma /= 2
        return self

    def average(self):
        found = {}
        for I, A in self.rules.actions.items():
            mass = sum(self.total[I, a] for a in A)
            found |= {(I, a): self.total[I, a] / mass if mass else 1 / len(A) for a in A}
        return found


METHODS = {
    "RM": RegretMatching(floor=False),
    "RM+": RegretMatching(alternating=True),
    "PRM+": RegretMatching(prediction=0.7, alternating=True),
    "smooth": RegretMatching(prediction=1, least=0.4),
    "norm": RegretMatching(prediction=1, keep_norm=True),
    "extragradient": RegretMatching(look_ahead=EXTRA, least=0.2),
    "extragradient alternating": RegretMatching(look_ahead=EXTRA, alternating=True),
    "perturbed": RegretMatching(gamma=0.1, stage=0),
    "RTCFR+": RegretMatching(mu=0.3, stage=3, gamma=0.1, alternating=True),
    "RTCFR+ simultaneous": RegretMatching(mu=0.2, stage=2, gamma=0.2, least=0.1),
    "magnet": MirrorDescent(eta=0.8, tau=0.3, stage=3),
    "fixed magnet": MirrorDescent(eta=0.8, tau=0.3, alternating=True),
    "mirror prox": MirrorDescent(eta=0.7, look_ahead=EXTRA, alternating=True),
    "optimistic": MirrorDescent(eta=0.5, look_ahead="optimistic"),
    "optimistic alternating": MirrorDescent(eta=0.3, look_ahead="optimistic", alternating=True),
}


def pairs(strategy):
    return {(I, a): p for I, row in strategy.items() for a, p in row.items()}


@pytest.mark.parametrize("game", [KUHN, WIDE, HARD], ids=["Kuhn", "wide", "3x3"])
@pytest.mark.parametrize("method", METHODS.values(), ids=METHODS)
@pytest.mark.parametrize("weight", [0, 2])
def test_equals_dictionaries(game, method, weight):
    run, plain = Iterates(game, method, weight=weight), PlainRun(game, method, weight)
    for _ in range(2):  # a run that is continued
        run.run(5)
    plain.run(10)
    assert pairs(run.current) == pytest.approx(plain.played, abs=1e-9)
    assert pairs(run.average) == pytest.approx(plain.average(), abs=1e-9)


@pytest.mark.parametrize("game", [KUHN, WIDE, cfr.games.LiarsDice(2)], ids=repr)
def test_entropy_weights_equal_their_recursion(game):
    form, rules = sequence_form(game), Rules(game)
    found = dict(zip(form.tree.infoset_label, entropy_weights(form).tolist(), strict=True))
    assert found == {I: rules.weight(I) for I in rules.player}
    assert max(found.values()) > 2 or game is KUHN  # a maximum differs from a sum


def test_a_curve_has_the_exploitability_of_its_run():
    method, marks = RegretMatching(alternating=True), [1, 2, 3, 5, 8]
    curve, smallest = follow(KUHN, method, marks, weight=2), math.inf
    for n, t in enumerate(marks):
        run = Iterates(KUHN, method, weight=2).run(t)
        last, average = (cfr.exploitability(KUHN, s) for s in (run.current, run.average))
        smallest = min(smallest, last)
        found = curve.last[n], curve.average[n], curve.best[n]
        assert found == pytest.approx((last, average, smallest), abs=1e-12)
        row = run.trace.rows[-1]
        assert (row[5], row[3]) == pytest.approx((last, average), abs=1e-12)
    assert len(set(curve.best.tolist())) < len(marks)  # the last is not always the best


def test_the_average_converges_to_the_equilibrium_of_the_perturbed_game():
    """Nobody gains by deviating to a strategy that plays each action with γ or more."""
    gamma, rules = 0.15, Rules(KUHN)
    run = Iterates(KUHN, RegretMatching(gamma=gamma, stage=0, alternating=True)).run(2_000)
    plain, gain = PlainRun(KUHN, RegretMatching(), 0), 0.0
    for i in (0, 1):
        best = []

        def most(I, v, best=best):
            free = 1 - gamma * len(v)
            best.append((rules.parent[I], gamma * sum(v.values()) + free * max(v.values())))
            return {}, best[-1][1]

        plain.values(i, plain.gradient(i, pairs(run.average)), most)
        gain += sum(worth for parent, worth in best if not parent)
    assert 0 <= gain < 1e-3
