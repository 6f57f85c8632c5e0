"""The value network: what it learns, and what it guarantees at once."""

import numpy as np
import pytest
from plain_training import adam, forward

from cfrlib.games import LeducPoker
from cfrlib.subgames import ExactValues, public_tree
from cfrlib.subgames.network import Examples, ValueNetwork, examples

PUBLIC = public_tree(LeducPoker(merge_suits=True))
FLOPS = [s for s in PUBLIC.states if len(s.actions) > 1 and s.actions[-1] in ("J", "Q", "K")]
EXACT = ExactValues(PUBLIC, 300)


def flat(values):
    return np.array([np.concatenate(pair) for pair in values])


@pytest.mark.slow
def test_learning_lowers_the_error_on_new_ranges():
    data, new = examples(FLOPS, 200, EXACT, seed=0), examples(FLOPS, 20, EXACT, seed=1)
    network = ValueNetwork(FLOPS, (64,), seed=0)
    before = flat(network(new.states, new.ranges)) - flat(new.values)
    network.fit(data, steps=1_500)
    after = flat(network(new.states, new.ranges)) - flat(new.values)
    assert (after**2).mean() < (before**2).mean() / 6


@pytest.mark.slow
def test_predictions_scale_with_the_ranges_and_sum_to_zero():
    data = examples(FLOPS[:2], 50, EXACT, seed=0)
    network = ValueNetwork(FLOPS[:2], (16,), seed=0)
    network.fit(data, steps=50)
    a, b = np.array([0.2, 0.3, 0.1]), np.array([0.0, 2.0, 1.0])
    once, twice = network(FLOPS[:1] * 2, [(a, b), (2 * a, 3 * b)])
    assert twice[0] == pytest.approx(3 * once[0])
    assert twice[1] == pytest.approx(2 * once[1])
    assert a @ once[0] + b @ once[1] == pytest.approx(0, abs=1e-12)
    nothing = network(FLOPS[:1], [(np.zeros(3), b)])[0]
    assert np.isfinite(nothing[0]).all() and not nothing[1].any()


def test_hands_must_be_equally_many():
    with pytest.raises(ValueError, match="equal numbers"):
        ValueNetwork([PUBLIC.states[0], FLOPS[0]])


# ---- against plain arithmetic: see `tests/support/plain_training.py` -------------------------

STATES = FLOPS[1:3]
RNG = np.random.default_rng(3)
A, B = RNG.dirichlet(np.ones(3), 5), 3 * RNG.dirichlet(np.ones(3), 5)
A[4] = 0.0  # nobody can be here: the input of such a range is even
WHERE = np.array([0, 1, 0, 1, 1])
RANGES = list(zip(A, B, strict=True))
INPUTS = np.column_stack([np.eye(2)[WHERE], A, B / 3])
INPUTS[4, 2:5] = 1 / 3


def small(seed=0):
    """A new network, its weights as a vector, and their places in it."""
    network = ValueNetwork(STATES, (4,), seed=seed)
    layers = [[np.array(w) for w in pair] for pair in network._layers]
    flat = np.concatenate([w.ravel() for pair in layers for w in pair])
    places, at = [], 0
    for pair in layers:
        places.append([])
        for w in pair:
            places[-1].append(at + np.arange(w.size).reshape(w.shape))
            at += w.size
    return network, flat, places


def balanced(y, a, b):
    """Values of ranges that sum to 1, for these ranges, with half of the surplus from each."""
    first, second = y[:3] * b.sum(), y[3:] * a.sum()
    surplus = (a @ first + b @ second) / 2
    first = first - (surplus / a.sum() if a.any() else 0)
    return first, second - surplus / b.sum()


@pytest.mark.slow
def test_a_network_takes_the_steps_of_adam():
    network, flat, places = small(seed=2)
    values = [(RNG.normal(size=3), RNG.normal(size=3)) for _ in RANGES]
    states = [STATES[n] for n in WHERE]
    told = network.fit(Examples(states, RANGES, values), steps=7)
    y = np.array([np.r_[u / 3, v] for u, v in values])  # all of B sum to 3
    order = np.random.default_rng(2).integers(5, size=(7, 256))
    unit = y.std()
    losses = [
        lambda w, k=k: np.mean((forward(w, places, INPUTS[k]) - y[k] / unit) ** 2)
        for k in order
    ]
    weights, expected = adam(flat, losses, 1e-3)
    np.testing.assert_allclose(told, expected, rtol=1e-4)
    assert np.abs(weights - flat).max() > 2e-3
    outputs = forward(weights, places, INPUTS) * unit
    found = network(states, RANGES)
    for n, (a, b) in enumerate(RANGES):
        for one, other in zip(found[n], balanced(outputs[n], a, b), strict=True):
            np.testing.assert_allclose(one, other, atol=2e-4)


def test_equal_targets_are_learned_as_they_are():
    """Their deviation is 0, which divides nothing: the unit is then 1."""
    network, flat, places = small()
    ones = [(np.full(3, b.sum()), np.full(3, a.sum())) for a, b in RANGES[:1]]
    told = network.fit(Examples(STATES[:1], RANGES[:1], ones), steps=1)
    assert told == pytest.approx([np.mean((forward(flat, places, INPUTS[:1]) - 1) ** 2)])


def test_examples_are_ranges_of_two_kinds_in_order():
    calls = []

    def exact(states, ranges):
        calls.append((states, ranges))
        return ranges

    found = examples(STATES, 400, exact, seed=0)
    assert [s.number for s in found.states] == [s.number for s in STATES for _ in range(400)]
    assert calls == [(found.states, found.ranges)] and found.values is found.ranges
    both = np.array(found.ranges)
    np.testing.assert_allclose(both.sum(axis=2), 1)
    # of a Dirichlet distribution with n parts of c: a variance of (n - 1) / (n² (nc + 1))
    expected = np.mean([2 / 9 / (3 * c + 1) for c in (1.0, 1 / 3)])
    assert both.var(axis=(0, 1)) == pytest.approx(expected, rel=0.1)
    sides = both.max(axis=2)
    assert np.corrcoef(sides.T)[0, 1] == pytest.approx(0, abs=0.1)  # two samples, not one
