"""The samplers by enumeration: 1,000 equally spaced numbers in place of random ones."""

import numpy as np
import pytest
from scipy.stats import chi2

from cfrlib.core import jit, rng
from cfrlib.core.rng import LINE
from cfrlib.montecarlo import schemes, traversal
from cfrlib.montecarlo.schemes import ROWS
from cfrlib.montecarlo.tree_records import records
from cfrlib.online import targeting
from cfrlib.online.targeting import IN, MARK, OUT, TOWARD, P

ROW = np.array([0.0, 0.1, 0.0, 0.35, 0.2, 0.0, 0.35, 0.0])
GRID = (np.arange(1_000) + 0.5) / 1_000


def frequencies(name, *args):
    """Return how often a sampler returns 0, 1, …, 7, in thousandths."""
    kernels = jit.interpreted(rng, schemes, traversal, targeting)
    found = []
    for u in (*GRID, 0.0, np.nextafter(1, 0)):
        kernels["uniform"] = lambda state, u=u: u
        found.append(int(kernels[name](None, *args)))
    assert (found[-2], found[-1]) == (found[0], found[-3])  # the ends of the interval
    return np.bincount(found[:-2], minlength=9).tolist()


def sampled(dtype, **columns):
    table = np.zeros(10, dtype).view(np.recarray)
    for name, values in columns.items():
        table[name][1:9] = values
    return table


EXACT = (1_000 * ROW).round().astype(int).tolist()


def test_chance_and_players_sample_their_probabilities():
    nodes = sampled(
        [("probability", "f8"), ("cumulative", "f8")],
        probability=ROW, cumulative=np.cumsum(ROW),
    )  # fmt: skip
    assert frequencies("sample_chance", nodes, 1, 9) == [0, *EXACT]
    table = sampled([("sigma", "f8")], sigma=ROW)
    assert frequencies("sample_action", table, 1, 9) == [0, *EXACT]


def test_what_is_left_is_sampled_in_proportion():
    scratch = np.zeros((ROWS, 8))
    scratch[P] = 0.4 * ROW
    assert frequencies("sample_remaining", scratch, 8, 0.4) == [*EXACT, 0]


def test_targeted_chance_leaves_out_what_leads_elsewhere():
    marks = records(10, MARK)
    marks.mark[1:9] = np.where(ROW > 0, TOWARD, OUT)
    marks.mark[4] = IN
    marks.cumulative[1:9] = np.cumsum(0.6 * ROW)
    assert frequencies("sample_targeted", marks, 1, 9) == [0, *EXACT]


def test_walks_are_targeted_with_probability_delta():
    assert frequencies("sample_scenario", 0.3)[:2] == [700, 300]
    assert frequencies("sample_scenario", 0.0)[:2] == [1_000, 0]


@pytest.mark.slow
@pytest.mark.parametrize("varied", ["t", "i", "number", "nothing"])
def test_streams_are_uniform_and_independent(varied):
    """χ² of pairs: of consecutive numbers, or of the first ones of neighbouring streams."""
    state, pairs = np.zeros(LINE, np.uint64), []
    kernels = jit.interpreted(rng)
    key = rng.new_key(3)
    with np.errstate(over="ignore"):
        for n in range(4_000):
            first = rng.uniforms(key, np.array([n]), np.array([7]))[0]
            if varied == "t":
                second = rng.uniforms(key, np.array([n + 1]), np.array([7]))[0]
            elif varied == "number":
                second = rng.uniforms(key, np.array([n]), np.array([8]))[0]
            else:
                kernels["begin"](state, key, np.uint64(n), int(varied == "i"), 7)
                second = kernels["uniform"](state)
                if varied == "nothing":
                    assert second == first  # the same stream begins with the same number
                    second = kernels["uniform"](state)
            pairs.append(int(first * 8) * 8 + int(second * 8))
    counts = np.bincount(pairs, minlength=64)
    assert chi2.cdf(((counts - 62.5) ** 2 / 62.5).sum(), 63) < 0.999
