"""The exploitability of a player who searches: chapter 9's file is what the script computes."""

import numpy as np
import online_player as script
import pytest
from recorded import recorded

RESULTS = recorded("online_player")


def test_results_file_matches_the_script():
    assert RESULTS["seeds"] == script.SEEDS and RESULTS["few"] == script.FEW
    assert tuple(RESULTS["budgets"]) == script.BUDGETS
    names = [f"{name}, δ = {delta}" for name in script.GAMES for delta in script.DELTAS]
    assert list(RESULTS["runs"]) == names
    for rows in RESULTS["runs"].values():
        few, every, error = np.transpose(rows)
        assert (few > every).all() and (error > 0).all()  # exploitability is convex


@pytest.mark.slow
def test_row_of_the_file_is_reproduced():
    kuhn = script.GAMES["Kuhn"]
    found = script.measure(kuhn, script.plans(kuhn, 0.5, 100))
    assert RESULTS["runs"]["Kuhn, δ = 0.5"][0] == pytest.approx(found, abs=2e-5)
