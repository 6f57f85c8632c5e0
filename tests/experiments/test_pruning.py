"""The experiment on pruning: exact where it must be, and never pruned for too long."""

import pruning
import pytest

import cfrlib as cfr

GAME = cfr.games.LeducPoker(merge_suits=True)


@pytest.mark.parametrize("prune", ["full", "partial"])
def test_pruning_by_reach_changes_nothing(prune):
    run = pruning.PrunedCFR(GAME, prune).run(30)
    package = cfr.CFR(GAME).run(30)
    assert cfr.exploitability(GAME, run.average()) == pytest.approx(
        cfr.exploitability(GAME, package.average), abs=1e-12
    )
    assert run.nodes < 30 * 2 * 1_000 or prune == "full"


@pytest.mark.slow
def test_pruned_regrets_stay_negative():
    """`settle` raises an error if an action was pruned for too long."""
    run = pruning.PrunedCFR(GAME, "regret").run(200)
    assert run.due.any()
    assert run.nodes < 200 * 2 * 1_936 / 2
    assert cfr.exploitability(GAME, run.average()) < 0.08
