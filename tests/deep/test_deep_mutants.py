"""Known ways to break Deep CFR, one at a time: a test of test_deep_cfr.py must fail for each.

They are those of chapter 10, and two of the memory.
"""

import types
from dataclasses import replace

import numpy as np
import pytest
import test_deep_cfr as proof
from numba import njit

from cfrlib.core.rng import uniform
from cfrlib.deep import Memory, deep_cfr, walks
from cfrlib.deep.deep_cfr import CompiledDeepCFR
from cfrlib.deep.networks import Learner

pytestmark = pytest.mark.slow


def one_step(monkeypatch):
    """Train with a single step of Adam."""
    new = Learner.__init__

    def init(self, features, legal, training, *rest):
        new(self, features, legal, replace(training, steps=1), *rest)

    monkeypatch.setattr(Learner, "__init__", init)


def no_mask(monkeypatch):
    """Learn and answer for all actions, legal or not."""
    new = Learner.__init__

    def init(self, features, legal, *rest):
        new(self, features, np.ones_like(legal), *rest)

    monkeypatch.setattr(Learner, "__init__", init)


def rebuilt(kernel, **parts):
    """Compile a kernel anew with other parts."""
    original = kernel.py_func
    assert parts.keys() <= set(original.__code__.co_names)  # else nothing would change
    return njit(types.FunctionType(original.__code__, {**original.__globals__, **parts}))


def collect_with(monkeypatch, **parts):
    """Have walks looked back on with other parts."""
    look_back = rebuilt(walks.look_back, **parts)
    monkeypatch.setattr(deep_cfr, "collect", rebuilt(walks.collect, look_back=look_back))


def mean_passed_up(monkeypatch):
    """Pass up the plain mean over the actions, not that of the strategy."""

    @njit
    def evaluate(tree, table, baseline, i, walk, k):
        e = walk[k]
        value = walks.evaluate(tree, table, baseline, i, walk, k)
        if tree.nodes[e.node].player != i:
            return value
        total = 0.0
        for m in range(e.first, e.first + e.tried):
            total += walk[m].value
        return total / e.tried

    collect_with(monkeypatch, evaluate=evaluate)


def iteration_forgotten(monkeypatch):
    """Write rows down without the weight of their iteration."""

    @njit
    def remember(baseline, walk, advantages, turn, k, h, start):
        first = walks.Round(turn.scheme, turn.key, 1, turn.i, turn.scale)
        walks.remember_advantages(baseline, walk, advantages, first, k, h, start)

    collect_with(monkeypatch, remember_advantages=remember)


def weights_forgotten(monkeypatch):
    """Learn from all rows alike."""
    fit = Learner.fit

    def alike(self, key, memory, t):
        return fit(self, key, memory._replace(weight=np.ones_like(memory.weight)), t)

    monkeypatch.setattr(Learner, "fit", alike)


def uniform_not_argmax(monkeypatch):
    """Play uniformly where no advantage is above 0."""
    match = CompiledDeepCFR._match

    def uniform_match(self, advantages):
        none = ~((advantages > 0) & self._legal).any(axis=1)
        even = self._legal / self._legal.sum(axis=1, keepdims=True)
        return np.where(none[:, None], even, match(self, advantages))

    monkeypatch.setattr(CompiledDeepCFR, "_match", uniform_match)


def always_kept(monkeypatch):
    """Put every new row in place of an old one: the memory forgets the past."""

    @njit
    def latest(seen, rows, state):
        n = seen[0]
        seen[0] += 1
        return n if n < rows else int(uniform(state) * rows)

    monkeypatch.setattr(proof, "place", latest)


def all_rows_filled(monkeypatch):
    """Learn from rows that nothing was written to."""
    monkeypatch.setattr(Memory, "filled", property(lambda self: len(self.infoset)))


BREAKS = {
    one_step: (proof.test_a_network_of_exact_advantages_plays_equilibrium, None),
    no_mask: (proof.test_illegal_actions_take_no_part, False),
    mean_passed_up: (
        proof.test_memories_hold_regrets_on_average, proof.KUHN, "external", None
    ),
    iteration_forgotten: (
        proof.test_memories_hold_regrets_on_average, proof.KUHN, "external", None
    ),
    weights_forgotten: (proof.test_rows_weigh_what_they_weigh, None),
    uniform_not_argmax: (proof.test_the_largest_is_played_where_no_advantage_is_positive,),
    always_kept: (proof.test_a_reservoir_keeps_each_row_equally_often,),
    all_rows_filled: (proof.test_rows_not_filled_are_never_learned_from, 64),
}  # fmt: skip


@pytest.mark.parametrize("breakage", BREAKS, ids=lambda breakage: breakage.__name__)
def test_every_breakage_is_seen(breakage, monkeypatch):
    """That the same test passes without it, test_deep_cfr.py shows."""
    test, *arguments = BREAKS[breakage]
    breakage(monkeypatch)
    with pytest.raises(AssertionError):
        test(*arguments)
