"""Nodes that sampled walks need: chapter 7's file is what the script computes."""

import numpy as np
import pytest
import walks as script
from recorded import recorded

RESULTS = recorded("walks")


def test_results_file_matches_the_script():
    assert RESULTS["seeds"] == script.SEEDS and RESULTS["tolerance"] == script.TOLERANCE
    assert list(RESULTS["games"]) == list(script.GAMES)
    for row in RESULTS["games"].values():
        assert set(row["exact"]) == set(script.RULES) and set(row["walks"]) == {*script.SCHEMES}
        for nodes in row["walks"].values():
            assert len(nodes) == script.SEEDS and nodes == sorted(nodes)


def test_arrival_is_read_between_two_checkpoints():
    work, gap = np.array([1.0, 10, 100, 1000]), np.array([1.0, 0.1, 0.001, 0.01])
    assert script.arrival(work, gap, 0.01) == pytest.approx(10**1.5)
    assert script.arrival(work, gap, 1.0) == 1 and script.arrival(work, gap, 1e-4) == np.inf


@pytest.mark.slow
def test_runs_of_the_file_are_reproduced():
    kuhn = script.GAMES["Kuhn"]
    found = [round(script.nodes_of_walks(kuhn, "external", seed)) for seed in range(3)]
    assert set(found) <= set(RESULTS["games"]["Kuhn"]["walks"]["external"])
