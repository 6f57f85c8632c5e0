"""The exploitability of a player who searches: chapter 9's file is what the script computes."""

import numpy as np
import online_player as script
import pytest
from recorded import recorded

import cfrlib as cfr

RESULTS = recorded("online_player")


def test_results_file_matches_the_script():
    assert RESULTS["seeds"] == script.SEEDS and RESULTS["few"] == script.FEW
    assert tuple(RESULTS["budgets"]) == script.BUDGETS
    names = [f"{name}, δ = {delta}" for name in script.GAMES for delta in script.DELTAS]
    assert list(RESULTS["oos"]) == names
    for rows in RESULTS["oos"].values():
        few, every, error = np.transpose(rows)
        assert (few > every).all() and (error > 0).all()  # exploitability is convex
    assert len(RESULTS["step"]) == len(script.GAMES) * len(script.BLUEPRINTS) * len(script.ETAS)


def test_play_outs_pay_what_the_rules_say():
    kuhn = script.GAMES["Kuhn"]
    outs = script.play_outs(kuhn, cfr.Strategy.uniform(kuhn))
    payoffs, chances, nodes = outs["Q bet", "call"]
    assert sorted(set(payoffs)) == [-2, 2] and chances @ payoffs == 0 and nodes == 1
    assert set(outs["K bet", "call"][0]) == {2} and set(outs["J bet", "fold"][0]) == {-1}
    # Player 0 bets the queen: the jack and the king fold half of the time, else 2 or -2
    payoffs, chances, nodes = outs["Q", "bet"]
    assert chances @ payoffs == pytest.approx(0.5) and nodes == 2
    # ... and checks it: -1 or 1 at a check, else half of bets are called
    payoffs, chances, nodes = outs["Q", "check"]
    assert chances @ payoffs == pytest.approx(-0.25) and nodes == pytest.approx(2.5)


@pytest.mark.slow
def test_step_of_the_file_is_reproduced():
    kuhn = script.GAMES["Kuhn"]
    uniform, form = cfr.Strategy.uniform(kuhn), script.sequence_form(kuhn)
    outs, row = script.play_outs(kuhn, uniform), RESULTS["step"]["Kuhn, 0 iterations, η = 1"]
    plans = [script.stepped(form, uniform, outs, 1, 100, seed) for seed in range(script.SEEDS)]
    assert row["rows"][0] == pytest.approx(script.measure(kuhn, np.array(plans)), abs=2e-5)
    exact = script.stepped(form, uniform, outs, 1, script.inf, 0)
    assert row["exact"] == pytest.approx(script.exploitability(kuhn, exact), abs=1e-5)


@pytest.mark.slow
def test_row_of_the_file_is_reproduced():
    kuhn = script.GAMES["Kuhn"]
    found = script.measure(kuhn, script.plans(kuhn, 0.5, 100))
    assert RESULTS["oos"]["Kuhn, δ = 0.5"][0] == pytest.approx(found, abs=2e-5)
