"""Code cells that run on a page: what they need, and what runs them."""

from __future__ import annotations

import importlib.util
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import cells
import needs
import pytest

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
CHAPTERS = sorted(path.stem for path in BOOK.glob("0*.ipynb"))
VARYING = {"answer", "widget", "timing", "nbval-ignore-output"}
SAMPLE = 3  # cells a chapter


def runner() -> ModuleType:
    """Return book/_python/cells.py, which has the name of an extension."""
    spec = importlib.util.spec_from_file_location("runner", BOOK / "_python" / "cells.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def needed(*sources: str) -> list[list[int]]:
    known = needs.Known()
    return needs.needs([needs.read(source, known) for source in sources], ())


def events(
    source: str, names: dict[str, Any] | None = None, quiet: bool = False
) -> list[tuple[str, str]]:
    """Run a cell as a page does; return what it reports."""
    run, found = runner(), []
    streams, main = (sys.stdout, sys.stderr), sys.modules["__main__"]
    try:
        names = run.fresh() if names is None else names
        run.run(source, 7, names, lambda kind, text: found.append((kind, text)), quiet)
    finally:
        (sys.stdout, sys.stderr), sys.modules["__main__"] = streams, main
        os.environ.pop("CFRLIB_PAGE", None)
    return found


# ---- what a cell needs -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sources", "last"),
    [
        (("x = 1", "y = 2", "x"), [0]),
        (("x = 1", "x = 2", "x"), [1]),
        (("x = 1", "y = x", "y"), [0, 1]),
        (("import numpy as np", "np.zeros(1)"), [0]),
        (("g = 1", "def f():\n    return g", "g = 2", "f()"), [0, 1, 2]),
        (("rows = []", "rows.append(1)", "rows"), [0, 1]),
        (("rows = []", "len(rows)", "rows"), [0]),
        (("a = [[]]", "b = a[0]", "c = [a]", "c.append(1)", "a"), [0, 2, 3]),
        (("walk = (x for x in 'ab')", "for x in walk:\n    break", "list(walk)"), [0, 1]),
        (("total = 1", "if total:\n    name = 2", "name"), [0, 1]),
        (("R = {}", "def learn():\n    R['a'] = 1", "learn()", "R"), [0, 1, 2]),
        (("x = 1", "x += 1", "x"), [0, 1]),
        (("x = 1", "for x in 'ab':\n    y = x", "print(x, y)"), [1]),
        (("x = 1", "[x for x in 'ab']"), []),
        (("import numpy as np", "np.random.seed(1)", "y = 2", "y"), [0, 1, 2]),
    ],
)
def test_cell_needs_what_binds_and_changes_its_names(
    sources: tuple[str, ...], last: list[int]
) -> None:
    assert needed(*sources)[-1] == last


def notebook(*made: tuple[str, str, list[str]]) -> dict[str, Any]:
    return {
        "cells": [
            {"cell_type": kind, "source": text, "metadata": {"tags": tags}}
            for kind, text, tags in made
        ]
    }


def test_exercises_are_needed_by_exercises_only() -> None:
    nb = notebook(
        ("code", "x = 1", []),
        ("code", "x = ...", ["answer"]),
        ("markdown", ":::{solution} ex", []),
        ("code", "x = x", ["solution"]),
        ("markdown", "On.", []),
        ("code", "x", []),
    )
    data = cells.page_data(nb)
    assert [each["needs"] for each in data] == [[], [], [1], [0]]
    assert cells.open_cells(nb) == [0, 1, 3]


def test_cell_that_needs_what_a_page_lacks_runs_elsewhere() -> None:
    sources = ("import jax\n%time", "def f():\n    return jax.jit(1)", "f()", "print('jnp')")
    data = cells.page_data(notebook(*(("code", source, []) for source in sources)))
    assert data[0]["source"] == "import jax"
    assert [each.get("elsewhere") for each in data[:3]] == [
        None,
        "trains networks with JAX",
        "needs a cell that trains networks with JAX",
    ]


CHECK = """
import json, random, sys, importlib.util
from pathlib import Path
page, k = sys.argv[1], int(sys.argv[2])
sys.path[:0] = ["_ext", ".."]
import cells as extension
spec = importlib.util.spec_from_file_location("runner", "_python/cells.py")
runner = importlib.util.module_from_spec(spec)
spec.loader.exec_module(runner)
data = extension.page_data(json.loads(Path(f"{page}.ipynb").read_text("utf-8")))
names, found = runner.fresh(), []
take = lambda *event: found.append(event)
for n in data[k]["needs"]:
    runner.run(data[n]["source"], n, names, take, True)
runner.run(data[k]["source"], k, names, take)
sys.__stdout__.write(json.dumps(found))
"""


@pytest.mark.slow
@pytest.mark.parametrize("page", CHAPTERS)
def test_cells_run_after_those_they_need_alone(page: str) -> None:
    nb = json.loads((BOOK / f"{page}.ipynb").read_text("utf-8"))
    code, data = cells.code_of(nb), cells.page_data(nb)
    outputs = {
        k: [output for output in cell["outputs"] if output["output_type"] == "stream"]
        for k, cell in enumerate(code)
        if not cells.tags(cell) & VARYING and "elsewhere" not in data[k]
    }
    printing = [k for k, found in outputs.items() if found]
    options = {"CFRLIB_PAGE": "1", "TQDM_DISABLE": "1", "OMP_NUM_THREADS": "1"}
    for k in random.Random(page).sample(printing, SAMPLE):
        done = subprocess.run(
            [sys.executable, "-c", CHECK, page, str(k)],
            cwd=BOOK,
            env=os.environ | options | {"MPLBACKEND": "agg"},
            capture_output=True,
            text=True,
        )
        found = json.loads(done.stdout)
        assert not [text for kind, text in found if kind == "error"], (page, k, found)
        printed = "".join(text for kind, text in found if kind == "print")
        stored = "".join("".join(output["text"]) for output in outputs[k])
        assert printed == stored, (page, k)


# ---- what runs a cell ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "found"),
    [
        (
            "print('a')\nprint('b', end='')\n1 + 1",
            [("print", "a\n"), ("print", "b"), ("text", "2")],
        ),
        ("1 + 1;", []),
        ("None", []),
        ("display('a', 2)", [("text", "'a'"), ("text", "2")]),
        ("from IPython.display import HTML\nHTML('<b>')", [("html", "<b>")]),
        ("import sys\nsys.stdout = None", []),
    ],
)
def test_cell_shows_what_it_prints_and_its_last_value(
    monkeypatch: pytest.MonkeyPatch, source: str, found: list[tuple[str, str]]
) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == "IPython"]:
        monkeypatch.delitem(sys.modules, name)
    assert events(source) == found
    monkeypatch.delitem(sys.modules, "IPython")
    monkeypatch.delitem(sys.modules, "IPython.display")


def test_values_are_shown_in_their_richest_form() -> None:
    source = (
        "class A:\n    def _repr_html_(self): return '<i>'\n"
        "class B:\n    def _repr_mimebundle_(self, **_): return {'text/html': '<u>'}\n"
        "class C:\n    def _repr_markdown_(self): return '*c*'\n"
        "display(A(), B(), C(), A)"
    )
    kinds = [("html", "<i>"), ("html", "<u>"), ("text", "*c*")]
    assert events(source)[:3] == kinds
    assert events(source)[3][0] == "text"


def test_figures_are_drawn_without_a_call() -> None:
    pytest.importorskip("matplotlib").use("agg")
    found = events("import matplotlib.pyplot as plt\nplt.plot([1, 2]);")
    assert [kind for kind, _ in found] == ["html"]
    assert found[0][1].startswith('<figure class="cfr-figure"><svg role="img"')
    assert "#000000" not in found[0][1]


def test_quiet_cell_reports_errors_only() -> None:
    names = {"plot": None}
    assert events("print(1)\nx = 2\nplot.show(x)", names, quiet=True) == []
    assert names["x"] == 2
    assert events("1 / 0", quiet=True)[0][0] == "error"


@pytest.mark.parametrize(
    "ending", ["exit()", "raise KeyboardInterrupt", "def f(): return f()\nf()"]
)
def test_every_ending_is_reported(ending: str) -> None:
    assert [kind for kind, _ in events(ending)] == ["error"]


def test_error_shows_the_readers_lines() -> None:
    names: dict[str, Any] = {}
    text = events("import json\ndef f():\n    json.loads('')\n\nf()", names)[0][1]
    assert text.startswith("Line 5\n  f()\n")
    assert "Line 3, in f\n" in text and "decoder.py" not in text
    assert text.splitlines()[-1].startswith("json.decoder.JSONDecodeError: ")
    assert events("if True print(1)")[0][1].startswith("Line 1\n")


def test_code_of_a_function_can_be_read() -> None:
    source = "import inspect\ndef f():\n    return 1\nprint(inspect.getsource(f), end='')"
    assert "".join(text for _, text in events(source)) == "def f():\n    return 1\n"


def test_output_without_an_end_is_cut() -> None:
    found = events("for n in range(10 ** 5):\n    print('line')")
    assert sum(len(text) for _, text in found) < 21_000
    assert "more that is not shown" in found[-1][1]
    assert len(events("'a' * 10 ** 6")[0][1]) < 21_000
