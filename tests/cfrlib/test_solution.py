"""Tests of `Solution`: average, last iterate and the best strategy so far."""

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.games import KuhnPoker, LeducPoker, MatrixGame


def test_solution_reports_average_last_iterate_and_best():
    game = LeducPoker(merge_suits=True)
    solution = cfr.solve(game, "cfr+", 200)
    for strategy, e in (
        (solution.strategy, solution.exploitability),
        (solution.current, solution.current_exploitability),
        (solution.best, solution.best_exploitability),
    ):
        assert cfr.exploitability(game, strategy) == e
    trace = solution.trace
    assert solution.best_exploitability == trace.best[-1] == trace.best.min()
    lower = np.minimum(trace.exploitability, trace.current)
    np.testing.assert_array_equal(trace.best, np.minimum.accumulate(lower))
    assert trace.current[-1] == solution.current_exploitability
    text = repr(solution)
    assert f"of last iterate  {solution.current_exploitability:.3e}" in text
    assert f"of best so far   {solution.best_exploitability:.3e}" in text


@pytest.mark.parametrize(
    ("make", "method", "guarantee"),
    [
        (lambda: cfr.CFR(KuhnPoker()), "CFR", "two-player zero-sum: exploitability goes to 0"),
        (lambda: cfr.CFR(KuhnPoker(players=3)), "CFR", (
            "3 players, zero-sum: no guarantee of a Nash equilibrium")),
        (lambda: cfr.MCCFR(MatrixGame([[1, 0], [0, 2]], [[3, 0], [0, 1]])), "MCCFR", (
            "2 players, general-sum: no guarantee of a Nash equilibrium")),
        (lambda: cfr.MCCFR(KuhnPoker(), on_demand=True), "MCCFR", (
            "exploitability not known: sampling visited only a part of the game")),
    ],
)  # fmt: skip
def test_solver_sets_method_and_guarantee(make, method, guarantee):
    solution = make().run(2, progress=False).solution()
    assert (solution.method, solution.guarantee) == (method, guarantee)
    assert guarantee in repr(solution) and guarantee in solution._repr_html_()


@pytest.mark.slow
def test_guarantee_of_networks_has_a_caveat():
    options = {"traversals": 5, "advantage": cfr.deep.Training((4,), 2), "average": "mixture"}
    solution = cfr.deep.DeepCFR(KuhnPoker(), **options).run(1, progress=False).solution()
    assert solution.method == "Deep CFR"
    assert solution.guarantee.endswith("goes to 0, up to the error of the networks")
