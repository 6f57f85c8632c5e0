"""Known faults of Deep CFR, one at a time: a test of a file beside this one fails for each.

They are the faults of chapter 10, and two faults of the memory.
"""

import types
from dataclasses import replace

import numpy as np
import pytest
import test_deep_cfr as tests
import test_training_plain as plain
from numba import njit

from cfrlib.core.rng import uniform
from cfrlib.deep import Memory, traversal, whole_tree
from cfrlib.deep.networks import Learner
from cfrlib.deep.whole_tree import WholeTree

pytestmark = pytest.mark.slow


def one_step(monkeypatch):
    """Train with a single step of Adam."""
    original = Learner.__init__

    def init(self, features, legal, training, *rest):
        original(self, features, legal, replace(training, steps=1), *rest)

    monkeypatch.setattr(Learner, "__init__", init)


def no_mask(monkeypatch):
    """Train on all actions, legal or not, and predict all."""
    original = Learner.__init__

    def init(self, features, legal, *rest):
        original(self, features, np.ones_like(legal), *rest)

    monkeypatch.setattr(Learner, "__init__", init)


def recompiled(kernel, **replacements):
    """Compile a kernel again with some of its global names replaced."""
    original = kernel.py_func
    assert replacements.keys() <= set(original.__code__.co_names)
    names = {**original.__globals__, **replacements}
    return njit(types.FunctionType(original.__code__, names))


def replace_in_ascend(monkeypatch, **replacements):
    """Run traversals with some of the names in `ascend_and_store` replaced."""
    ascend = recompiled(traversal.ascend_and_store, **replacements)
    monkeypatch.setattr(
        whole_tree,
        "collect_samples",
        recompiled(traversal.collect_samples, ascend_and_store=ascend),
    )


def unweighted_value(monkeypatch):
    """Return the plain mean over the actions instead of the expectation under σ."""

    @njit
    def evaluate(tree, table, baseline, i, walk, k):
        e = walk[k]
        value = traversal.value_of(tree, table, baseline, i, walk, k)
        if tree.nodes[e.node].player != i:
            return value
        total = 0.0
        for m in range(e.first, e.first + e.num_sampled):
            total += walk[m].value
        return total / e.num_sampled

    replace_in_ascend(monkeypatch, value_of=evaluate)


def no_iteration_weight(monkeypatch):
    """Add advantages with weight 1 in every iteration."""

    @njit
    def offer(baseline, walk, advantages, settings, k, h, start):
        first = traversal.TraversalSettings(
            settings.scheme, settings.key, 1, settings.i, settings.scale
        )
        traversal.offer_advantages(baseline, walk, advantages, first, k, h, start)

    replace_in_ascend(monkeypatch, offer_advantages=offer)


def unweighted_training(monkeypatch):
    """Train with equal weights for all samples."""
    original = Learner.fit

    def fit(self, key, memory, t):
        equal = memory._replace(weight=np.ones_like(memory.weight))
        return original(self, key, equal, t)

    monkeypatch.setattr(Learner, "fit", fit)


def uniform_not_argmax(monkeypatch):
    """Play uniformly where no advantage is positive."""
    match = WholeTree.match

    def uniform_match(self, advantages):
        none = ~((advantages > 0) & self.legal).any(axis=1)
        uniform = self.legal / self.legal.sum(axis=1, keepdims=True)
        return np.where(none[:, None], uniform, match(self, advantages))

    monkeypatch.setattr(WholeTree, "match", uniform_match)


def always_kept(monkeypatch):
    """Keep every new sample in place of an old one, so that old iterations are lost."""

    @njit
    def latest(seen, rows, state):
        n = seen[0]
        seen[0] += 1
        return n if n < rows else int(uniform(state) * rows)

    monkeypatch.setattr(tests, "next_row", latest)


def unfilled_rows(monkeypatch):
    """Train on rows that were never written."""
    monkeypatch.setattr(Memory, "filled", property(lambda self: len(self.infoset)))


KUHN_EXTERNAL = (tests.KUHN, "external", None)
FAULTS = {
    one_step: (tests.test_network_trained_on_equilibrium_regrets_plays_the_equilibrium,),
    no_mask: (plain.test_a_fit_takes_the_steps_of_adam, None, False),
    unweighted_value: (tests.test_sampled_advantages_are_unbiased, *KUHN_EXTERNAL),
    no_iteration_weight: (tests.test_sampled_advantages_are_unbiased, *KUHN_EXTERNAL),
    unweighted_training: (plain.test_a_fit_takes_the_steps_of_adam, None, False),
    uniform_not_argmax: (tests.test_argmax_is_played_where_no_advantage_is_positive,),
    always_kept: (tests.test_reservoir_keeps_each_sample_equally_often,),
    unfilled_rows: (plain.test_a_fit_takes_the_steps_of_adam, None, False),
}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_every_fault_fails_a_test(fault, monkeypatch):
    """Without the fault, the same test passes in its own file."""
    test, *arguments = FAULTS[fault]
    fault(monkeypatch)
    with pytest.raises(AssertionError):
        test(*arguments)
