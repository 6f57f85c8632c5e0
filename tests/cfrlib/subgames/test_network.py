"""The value network: what it learns, and what it guarantees at once."""

import numpy as np
import pytest

from cfrlib.games import LeducPoker
from cfrlib.subgames import ExactValues, public_tree
from cfrlib.subgames.network import ValueNetwork, examples

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
