"""The experiments on chapter 10's faults and steps: they run the page's functions."""

import json
from itertools import product

import deep_faults as script
import deep_steps
import numpy as np
import pytest
from recorded import recorded

pytestmark = pytest.mark.slow

RESULTS = recorded("deep_faults")
FAULTS = (
    "one step", "no mask", "wrong value up", "unweighted advantages", "unweighted strategies",
    "uniform, not argmax", "forget", "old network",
)  # fmt: skip


@pytest.fixture(scope="module")
def chapter():
    return script.page()


@pytest.fixture(scope="module")
def runs():
    return {(run["game"], run["fault"], run["seed"]): run for run in RESULTS["runs"]}


@pytest.mark.parametrize("fault", ["nothing", *FAULTS])
@pytest.mark.parametrize("game", ["Kuhn poker", "liar's dice"])
def test_results_file_matches_the_page(chapter, runs, game, fault):
    """If a cell of the page was edited, run the experiment again.

    Tables agree to the last digit. The digits of networks depend on the processor, so they are
    compared after one iteration, before rounding leads to other trajectories.
    """
    expected = {(row["game"], row["fault"]): row["memory"] for row in RESULTS["tables"]}
    assert script.table(chapter, game, fault) == expected[game, fault]
    for kind, start in script.curves(chapter, game, fault, 0, iterations=1).items():
        assert runs[game, fault, 0][kind][:1] == pytest.approx(start, abs=0.05)


@pytest.mark.parametrize("learn", deep_steps.AVERAGES)
def test_stored_steps_match_the_page(chapter, learn):
    few, places = (1, 0.05) if learn == "network" else (5, 1e-9)
    for seed in (0, deep_steps.SEEDS - 1):
        curves = deep_steps.curves(chapter, learn, seed, iterations=few)
        for average, start in curves.items():
            row = recorded("deep_steps")[learn][average][seed]
            assert row[: len(start)] == pytest.approx(start, abs=places)


def test_the_page_has_these_faults(chapter):
    assert chapter.FAULTS == FAULTS


def test_every_fault_changes_the_results(runs):
    """No two faults have the same results, and none has those of the correct run.

    The exception is the missing mask on Kuhn poker, where every action is legal.
    """
    ends = {
        (game, fault): [runs[game, fault, seed]["network"][-1] for seed in script.SEEDS]
        for game, fault in product(script.GAMES, ("nothing", *FAULTS))
    }
    unmasked = ends.pop(("Kuhn poker", "no mask"))
    assert unmasked == ends["Kuhn poker", "nothing"]
    assert len(np.unique(list(ends.values()), axis=0)) == len(ends)


def test_only_definitions_of_the_page_are_executed(tmp_path, monkeypatch):
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": "raise"},
        {"cell_type": "code", "metadata": {"tags": ["remove-cell"]}, "source": "%pip"},
        {
            "cell_type": "code", "metadata": {},
            "source": "import math\nA, B = 1, 2\nc = 3\n1 / 0\ndef twice(x):\n  return B * x",
        },
    ]  # fmt: skip
    page = tmp_path / "page.ipynb"
    page.write_text(json.dumps({"cells": cells}))
    monkeypatch.setattr(script, "CHAPTER", page)
    module = script.page()
    assert module.twice(21) == 42 and module.math.pi > 3
    assert not hasattr(module, "c")
