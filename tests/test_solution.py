"""Tests of `Solution`: average, last iterate and the best strategy so far."""

import numpy as np

import cfrlib as cfr
from cfrlib.games import LeducPoker, RockPaperScissors


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
    assert trace.best[-1] == min(trace.exploitability.min(), trace.current.min())
    assert trace.current[-1] == solution.current_exploitability
    text = repr(solution)
    assert f"of last iterate  {solution.current_exploitability:.3e}" in text
    assert f"of best so far   {solution.best_exploitability:.3e}" in text


def test_best_strategy_may_be_from_an_earlier_iteration():
    run = cfr.CFR(RockPaperScissors(3), "cfr+", update="simultaneous").run(200)
    solution, trace = run.solution(), run.trace
    assert solution.best_exploitability < 0.99 * min(
        trace.exploitability[-1], trace.current[-1]
    )
    assert cfr.exploitability(run.game, solution.best) == trace.best[-1]
    assert len(set(trace.best)) < len(trace)  # the best is kept until a better one is found
    assert (np.diff(trace.best) <= 0).all()
