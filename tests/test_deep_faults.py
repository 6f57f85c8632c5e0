"""The experiment behind chapter 10's faults: it runs the page's own functions, and did."""

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest

EXPERIMENT = Path(__file__).parent.parent / "experiments" / "deep_faults.py"
FAULTS = (
    "one step", "no mask", "wrong value up", "unweighted", "uniform, not argmax", "forget",
    "old network",
)  # fmt: skip


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("deep_faults", EXPERIMENT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def chapter(script):
    return script.page()


@pytest.fixture(scope="module")
def results():
    return json.loads(EXPERIMENT.with_suffix(".json").read_text())


@pytest.fixture(scope="module")
def runs(results):
    return {(run["fault"], run["seed"]): run for run in results["runs"]}


@pytest.mark.parametrize("fault", ["nothing", *FAULTS])
def test_the_file_holds_what_the_page_computes(script, chapter, runs, fault):
    """A cell was edited since? Then run the experiment again."""
    for kind, start in script.curves(chapter, fault, 0, iterations=3).items():
        # an early strategy hangs on few walks: other processors round other ways
        assert runs[fault, 0][kind][: len(start)] == pytest.approx(start, abs=5e-3)


def test_the_file_is_of_the_script_as_it_stands(script, chapter, results, runs):
    assert chapter.FAULTS == FAULTS
    assert set(runs) == {(name, s) for name in ("nothing", *FAULTS) for s in script.SEEDS}
    assert results["game"] == repr(script.GAME)
    assert results["traversals"] == script.TRAVERSALS
    assert results["iterations"] == [1, 2, 3, 5, 8, 13, 20]
    assert results["iterations"][-1] == script.ITERATIONS


def test_every_switch_does_something(results, runs):
    """No fault is the sound run, or another fault, under a second name."""
    ends = [[run["network"][-1], run["mixture"][-1]] for run in results["runs"]]
    assert len(np.unique(ends, axis=0)) == len(ends)


def test_only_definitions_are_run(script, tmp_path, monkeypatch):
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
    found = script.page()
    assert found.twice(21) == 42 and found.math.pi > 3
    assert not hasattr(found, "c")
