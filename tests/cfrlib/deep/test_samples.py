"""What one visit adds to the memories: weights, targets, and nothing of a row's old sample."""

from types import SimpleNamespace

import numpy as np
import pytest

from cfrlib.core import jit, rng
from cfrlib.deep import memory, traversal
from cfrlib.deep.feature_rows import FeatureRows
from cfrlib.deep.memory import in_common_form, new_buffer, offer
from cfrlib.montecarlo.traversal import ENTRY
from cfrlib.montecarlo.tree_records import records

KERNELS = jit.interpreted(rng, memory, traversal)


def visited(num_children):
    """Return a history of infoset 7 with this many actions; the last two were sampled."""
    walk = records(4, ENTRY)
    walk[1].first, walk[1].num_sampled, walk[1].weight, walk[1].value = 2, 2, 0.25, 1.5
    for m, excess in ((2, 4.0), (3, -2.0)):
        walk[m].node, walk[m].excess = 20 + num_children - 4 + m, excess
    return walk, SimpleNamespace(infoset=7, num_children=num_children, first_child=20)


@pytest.mark.parametrize("baseline", [np.arange(24.0).reshape(2, 12), np.zeros((2, 0))])
def test_a_row_has_the_advantages_of_its_new_sample_alone(baseline):
    samples = new_buffer(1, 4)
    samples.target[:] = 99.0
    walk, h = visited(3)
    settings = SimpleNamespace(t=6, i=1, scale=0.5)
    KERNELS["offer_advantages"](baseline, walk, samples, settings, 1, h, 5)
    b = baseline[1, 5:8] if baseline.shape[1] else np.zeros(3)
    advantages = (b - 1.5 + [0.0, 4.0, -2.0]) * 0.5  # of v̂ with its baseline, minus û
    assert samples.target[0].tolist() == [*advantages.tolist(), 0.0]
    assert (samples.infoset[0], samples.weight[0], samples.seen[0]) == (7, 6 * 0.25, 1)


def test_a_row_has_the_strategy_of_its_new_sample_alone():
    samples, table = new_buffer(1, 4), np.zeros(9, [("sigma", "f8")]).view(np.recarray)
    table.sigma[:] = np.arange(9) / 10
    samples.target[:] = 99.0
    walk, h = visited(3)
    KERNELS["offer_strategy"](table, samples, 6, walk[1], h, 5)
    assert samples.target[0] == pytest.approx([0.5, 0.6, 0.7, 0.0])
    assert (samples.infoset[0], samples.weight[0], samples.seen[0]) == (7, 6 * 0.25, 1)


def test_a_memory_takes_over_a_sample_with_its_features():
    kept = memory.new_memory(2, 3, np.uint64(1), 0, FeatureRows.of([[3, 4]]))
    for start in (0, 10):
        features = FeatureRows.of([[start, -start]])
        samples = memory.new_memory(1, 3, np.uint64(0), 0, features).with_features(features)
        samples.weight[0], samples.num_actions[0] = start + 1, 2
        samples.target[0] = [start, start + 2, 0]
        kept, samples = in_common_form(kept, samples)
        offer(samples, kept)
    assert kept.infoset.tolist() == [0, 1] and kept.filled == 2
    assert kept.weight.tolist() == [1, 11] and kept.num_actions.tolist() == [2, 2]
    assert kept.target.tolist() == [[0, 2, 0], [10, 12, 0]]
    assert kept.features[:].tolist() == [[0, 0], [10, -10]]
    assert {name: len(rows) for name, rows in kept.arrays().items()} == dict.fromkeys(
        ("infoset", "weight", "target", "columns", "values", "num_actions"), 2
    )
    kept.check(2)
    for name, wrong in (("infoset", 2), ("infoset", -1), ("num_actions", 4)):
        copy = kept.trimmed()
        getattr(copy, name)[0] = wrong
        with pytest.raises(ValueError, match="of a memory is not in"):
            copy.check(2)
