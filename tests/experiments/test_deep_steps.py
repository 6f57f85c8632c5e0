"""What each replacement costs: the experiment runs the functions of chapter 10."""

import deep_faults
import deep_steps as script
import pytest
from recorded import recorded

pytestmark = pytest.mark.slow

RESULTS = recorded("deep_steps")


@pytest.fixture(scope="module")
def chapter():
    return deep_faults.page()


@pytest.mark.parametrize("learn", script.AVERAGES)
def test_results_file_matches_the_page(chapter, learn):
    """If a cell of the page was edited, run the experiment again.

    Tables agree to the last digit. The digits of networks depend on the processor, so they are
    compared after one iteration, before rounding leads to other trajectories.
    """
    few, places = (1, 0.05) if learn == "network" else (5, 1e-9)
    for seed in (0, script.SEEDS - 1):
        for average, start in script.curves(chapter, learn, seed, iterations=few).items():
            row = RESULTS[learn][average][seed]
            assert row[: len(start)] == pytest.approx(start, abs=places)
