"""Tests of tools/notebooks.py, and that the comparison of outputs by nbval can fail."""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import citations
import kernels
import nbformat
import notebooks
import pytest
from jupyter_cache import get_cache
from nbformat import v4

ROOT = Path(__file__).parents[2]
PNG = "iVBORw0KGgo="


class Done(NamedTuple):
    code: int
    stderr: str


def tool(*arguments: object) -> Done:
    """Run tools/notebooks.py in this process."""
    stderr = io.StringIO()
    with contextlib.redirect_stderr(stderr):
        code = notebooks.main([str(argument) for argument in arguments])
    return Done(code, stderr.getvalue())


PLUGINS = re.findall(r"-p (tests\.[\w.]+)", (ROOT / "Makefile").read_text("utf-8"))


def nbval(folder: Path) -> dict[str, int]:
    """Run the comparison as `make test` does; return the number of failed cells by file."""
    report, paths = folder / "report.xml", sorted(folder.glob("*.ipynb"))
    rules = ROOT / "tests" / "plugins" / "nbval_sanitize.cfg"
    options = ["-p", "no:cacheprovider", "--rootdir", folder, "--junitxml", report]
    options += [word for name in PLUGINS for word in ("-p", name)]
    command = [sys.executable, "-m", "pytest", "--nbval", "--nbval-sanitize-with", rules]
    command += [*options, *paths]
    home = os.environ | {"PYTHONPATH": str(ROOT)}
    subprocess.run([str(word) for word in command], cwd=folder, capture_output=True, env=home)
    failed = {path.stem: 0 for path in paths}
    for cell in ElementTree.parse(report).iter("testcase"):
        (name,) = (name for name in failed if f"{name}.ipynb" in cell.attrib["classname"])
        failed[name] += cell.find("failure") is not None
    return failed


def write(path: Path, *cells: Any) -> Path:
    path.write_text(nbformat.writes(v4.new_notebook(cells=list(cells))), "utf-8")
    return path


def read(path: Path) -> Any:
    return nbformat.read(path, as_version=4)


@pytest.fixture(scope="module")
def executed(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the text of a small notebook, executed and in normal form."""
    path = tmp_path_factory.mktemp("notebooks") / "page.ipynb"
    timing = v4.new_code_cell("import time\nprint(time.perf_counter())")
    timing.metadata["tags"] = ["nbval-ignore-output", "timing"]
    write(
        path,
        v4.new_markdown_cell("# Ünïcode — σ"),
        v4.new_code_cell("print('value', -1 / 18)"),
        v4.new_code_cell("print('one', flush=True)\nprint('two')\n1 / 3"),
        timing,
    )
    assert tool("--execute", path).code == 0
    return path.read_text("utf-8")


@pytest.fixture
def page(executed: str, tmp_path: Path) -> Path:
    path = tmp_path / "page.ipynb"
    path.write_text(executed, "utf-8")
    return path


# ---- the normal form -------------------------------------------------------------------------


def test_normal_form_is_idempotent(page: Path) -> None:
    before = page.read_bytes()
    for options in ([], ["--check"], ["--execute"], ["--execute", "--check"]):
        done = tool(*options, page)
        assert (done.code, done.stderr) == (0, "")
        assert page.read_bytes() == before


def test_normal_form_is_diffable(page: Path) -> None:
    text = page.read_text("utf-8")
    assert "# Ünïcode — σ" in text
    assert text.endswith("}\n")
    assert "\n    \"print('one', flush=True)\\n\",\n" in text
    nb = read(page)
    assert [cell.get("execution_count") for cell in nb.cells] == [None, 1, 2, 3]
    assert nb.cells[2].outputs[0].text == "one\ntwo\n"
    assert nb.cells[2].outputs[1].execution_count == 2
    assert nb.cells[3].outputs == []  # times differ in every run
    assert list(nb.metadata) == ["kernelspec"]
    assert (nb.nbformat, nb.nbformat_minor) == (4, 5)


def test_normal_form_drops_unreadable_outputs(tmp_path: Path) -> None:
    figure = {"text/plain": "<Picture: bars>", "text/html": "<figure><svg></svg></figure>"}
    data = [
        {"text/plain": "<Figure size 1x1>", "image/png": PNG},
        {"text/plain": "Slider", "application/vnd.jupyter.widget-view+json": {"model_id": "x"}},
        figure,
        {"text/plain": "longest", "text/html": "x" * 20_000},
        {"text/plain": "too long", "text/html": "x" * 20_001},
        {"text/plain": "table", "text/html": "<table></table>"},
    ]
    cell = v4.new_code_cell("show()", execution_count=17)
    cell.outputs = [v4.new_output("display_data", bundle) for bundle in data]
    cell.outputs.append(
        v4.new_output("error", ename="E", evalue="no", traceback=["File /home/me/x.py"])
    )
    cell.metadata = {"tags": ["a"], "execution": {"started": "today"}, "collapsed": True}
    nb = v4.new_notebook(cells=[cell])
    nb.metadata = {"widgets": {"state": {}}, "language_info": {"version": "3.11.7"}}
    path = tmp_path / "page.ipynb"
    path.write_text(nbformat.writes(nb), "utf-8")
    assert tool("--check", path).code == 1
    assert tool(path).code == 0
    clean = read(path).cells[0]
    plain, both = ["text/plain"], ["text/html", "text/plain"]
    kinds = [list(output.get("data", {})) for output in clean.outputs]
    assert kinds == [plain, plain, plain, both, plain, both, []]
    assert not any("execution_count" in output for output in clean.outputs)
    assert clean.outputs[-1].traceback == ["E: no"]
    assert clean.metadata == {"tags": ["a"]}
    assert clean.execution_count == 1
    assert list(read(path).metadata) == ["kernelspec"]


def test_cell_ids_are_kept_or_derived_from_content(tmp_path: Path) -> None:
    texts = "one", "two", "two", "three"
    nb = v4.new_notebook(cells=[v4.new_markdown_cell(text) for text in texts])
    raw = json.loads(nbformat.writes(nb)) | {"nbformat_minor": 4}  # before there were ids
    for cell, name in zip(raw["cells"], ["kept", "not valid", "", "kept"], strict=True):
        cell["id"] = name
    del raw["cells"][2]["id"]
    assert notebooks.read(json.dumps(raw)).nbformat_minor == 5
    paths = [tmp_path / "a.ipynb", tmp_path / "b.ipynb"]
    for path in paths:
        path.write_text(json.dumps(raw), "utf-8")
    assert tool(*paths).code == 0
    first, second = ([cell.id for cell in read(path).cells] for path in paths)
    assert first == second
    assert first[0] == "kept"
    assert len(set(first)) == 4
    assert all(re.fullmatch("[0-9a-f]{8}-?", name) for name in first[1:])


BOTH = {"outputs_hidden": True, "source_hidden": True}
SOURCE = {"source_hidden": True}


@pytest.mark.parametrize(
    ("tags", "folds"),
    [
        (["hide-cell", "solution"], {"jupyter": BOTH, "cellView": "form"}),
        (["remove-cell"], {"jupyter": BOTH, "cellView": "form"}),
        (["hide-input"], {"jupyter": SOURCE, "cellView": "form"}),
        (["hide-output"], {"jupyter": {"outputs_hidden": True}}),
        (["answer"], {}),
    ],
)
def test_what_the_page_folds_is_folded_in_jupyter(
    tmp_path: Path, tags: list[str], folds: dict[str, Any]
) -> None:
    path = write(tmp_path / "page.ipynb", ran("7", tags=tuple(tags)), v4.new_code_cell("8"))
    change(path, lambda nb: nb.cells[1].metadata.update(jupyter=BOTH, cellView="form"))
    tool(path)
    first, second = read(path).cells
    assert first.metadata == {"tags": tags, **folds}
    assert second.metadata == {}, "a cell without a tag is open"


def test_a_page_begins_with_a_cell_for_colab(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written again, the cell is replaced; only an error of it is shown."""
    assert notebooks.PAGES == ROOT / "book"
    monkeypatch.setattr(notebooks, "PAGES", tmp_path)
    path = write(tmp_path / "page.ipynb", v4.new_markdown_cell("# Title"), ran("7"))
    for source, more in [("7", ""), ("cfr.deep.DeepCFR", notebooks.NETWORKS), ("8", "")]:
        change(path, lambda nb, source=source: nb.cells[-1].update(source=source))
        assert tool(path).code == 0
        title, first, last = read(path).cells
        assert (title.source, first.id, last.source) == ("# Title", "colab", source)
        assert first.source == notebooks.HOSTED + more
        folds = {"jupyter": SOURCE, "cellView": "form"}
        assert first.metadata == {"tags": ["remove-cell"], **folds}
        assert [first.execution_count, last.execution_count] == [1, 2]


def test_citations_become_links_that_are_read_as_citations() -> None:
    text = "It was shown {cite}`hart2000, moravcik2017`; {cite:t}`brown2018libratus` say so."
    shown = notebooks.cited(text)
    assert shown == (
        "It was shown [(Hart and Mas-Colell, 2000; Moravčík et al., 2017)]"
        "(references.md#hart2000,moravcik2017); "
        "[Brown and Sandholm (2018)](references.md#brown2018libratus) say so."
    )
    assert notebooks.cited(shown) == shown
    assert citations.as_roles(shown) == text.replace(", m", ",m")
    with pytest.raises(ValueError, match="has no nobody1999"):
        notebooks.cited("{cite}`nobody1999`")


def test_pieces_of_a_stream_are_joined() -> None:
    warning = v4.new_output("stream", name="stderr", text="!")
    pieces = [printed("k = 2"), printed(" 0.1\n"), result("7"), printed("k"), warning]
    texts = [output.get("text") for output in kernels.joined(pieces)]
    assert texts == ["k = 2 0.1\n", None, "k", "!"]


# ---- the check -------------------------------------------------------------------------------


def change(path: Path, edit: Callable[[Any], None]) -> None:
    nb = read(path)
    edit(nb)
    path.write_text(nbformat.writes(nb) + "\n", "utf-8")


def forget(nb: Any) -> None:
    """Clear a notebook's outputs, as `Clear all outputs` does."""
    for cell in nb.cells[1:]:
        cell.outputs, cell.execution_count = [], None


def show_address(nb: Any) -> None:
    nb.cells[1].outputs[0].text = "<object object at 0x7f3a5c0d1e20>\n"


def attach(nb: Any) -> None:
    nb.cells[0].attachments = {"figure.png": {"image/png": PNG}}


@pytest.mark.parametrize(
    ("edit", "complaint"),
    [
        (forget, """the cell "print('value', -1 / 18)" was never run"""),
        (show_address, "memory address"),
        (lambda nb: nb.cells[1].metadata.update(collapsed=True), "not in normal form"),
        (lambda nb: nb.metadata.update(widgets={}), "not in normal form"),
        (attach, "a picture is attached to the cell '# Ünïcode — σ'"),
        (lambda nb: nb.cells[1].update(execution_count=7), "not in normal form"),
    ],
)
def test_check_refuses_faulty_notebooks(
    page: Path, edit: Callable[[Any], None], complaint: str
) -> None:
    change(page, edit)
    before = page.read_bytes()
    done = tool("--check", page)
    assert done.code == 1
    assert complaint in done.stderr
    assert "page.ipynb" in done.stderr
    assert "make notebooks" in done.stderr
    assert page.read_bytes() == before, "a check writes nothing"


def test_check_with_execution_finds_stale_outputs(page: Path) -> None:
    change(page, lambda nb: nb.cells[1].outputs[0].update(text="value -0.0556\n"))
    assert tool("--check", page).code == 0
    done = tool("--check", "--execute", page)
    assert done.code == 1
    assert "stale" in done.stderr


def test_failing_cell_is_reported_and_nothing_written(page: Path) -> None:
    change(page, lambda nb: nb.cells[1].update(source="1 / 0"))
    before = page.read_bytes()
    done = tool("--execute", page)
    assert done.code == 1
    assert "ZeroDivisionError" in done.stderr
    assert page.read_bytes() == before


@pytest.mark.slow
def test_several_notebooks_are_run_side_by_side(page: Path, tmp_path: Path) -> None:
    wrong = write(tmp_path / "wrong.ipynb", v4.new_markdown_cell("# No"), ran("1 / 0"))
    change(page, lambda nb: nb.cells[1].update(source="print(6 * 7)"))
    done = tool("--execute", page, wrong)
    assert done.code == 1 and f"{wrong}: a cell failed" in done.stderr
    assert read(page).cells[1].outputs[0].text == "42\n"


def test_the_command_fails_if_there_are_complaints(
    page: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    change(page, forget)
    monkeypatch.setattr(sys, "argv", ["notebooks.py", "--check", str(page)])
    with pytest.raises(SystemExit, match=r"^1$"):
        runpy.run_path(notebooks.__file__, run_name="__main__")
    assert "never run" in capsys.readouterr().err


# ---- the comparison can fail -----------------------------------------------------------------


def hurry(nb: Any) -> None:
    """Change a source and clear its output."""
    forget(nb)
    nb.cells[1].source = "print('value', 99)"


def number(nb: Any) -> None:
    nb.cells[1].outputs[0].text = "value -0.055555555555556\n"
    nb.cells[2].outputs[1].data["text/plain"] = "0.3334"


def lose(nb: Any) -> None:
    nb.cells[1].outputs = []
    nb.cells[2].outputs.pop()


# edits of a correct notebook, and the number of cells that then fail
EDITS: dict[str, tuple[Callable[[Any], None], int]] = {
    "timing": (lambda nb: nb.cells[3].update(source="print(7)"), 0),
    "source": (lambda nb: nb.cells[1].update(source="print('value', 99)"), 1),
    "number": (number, 2),
    "lose": (lose, 2),
    "hurry": (hurry, 0),
}


FIGURE = """\
import os


class Figure:
    def __repr__(self):
        return "a figure"

    def _repr_html_(self):
        return "<svg>page</svg>" if os.environ.get("CFRLIB_PAGE") else "<p>live</p>"


Figure()"""
TRANSPORT = """\
from ipykernel.connect import get_connection_info
print(get_connection_info(unpack=True)["transport"])"""


def ran(source: str, *outputs: Any, tags: tuple[str, ...] = ()) -> Any:
    """Return a cell as it is committed after a run."""
    cell = v4.new_code_cell(source, execution_count=1, outputs=list(outputs))
    cell.metadata["tags"] = list(tags)
    return cell


def result(text: str) -> Any:
    return v4.new_output("execute_result", {"text/plain": text}, execution_count=1)


def printed(text: str) -> Any:
    return v4.new_output("stream", name="stdout", text=text)


BAR = """\
import cfrlib as cfr

cfr.CFR(cfr.games.KuhnPoker()).run(2, progress=True).iterations"""
ONCE = ran("import random\nprint(random.random())", tags=("nbval-ignore-output", "timing"))
# further notebooks, and the number of their cells that fail
MADE: dict[str, tuple[list[Any], int]] = {
    "right": ([ran(FIGURE, result("a figure")), ONCE, ran("7  # right", result("7"))], 0),
    "wrong": ([ran(FIGURE, result("a figure")), ONCE, ran("7  # wrong", result("8"))], 1),
    "reached": ([ran(TRANSPORT, printed(f"{kernels.TRANSPORT}\n"))], 0),
    "slow": ([ran(BAR, result("2"))], 0),  # a run that takes long enough for a progress bar
    "dead": ([ran("import os\nos._exit(1)")], 1),
}


@pytest.fixture(scope="module")
def edited(executed: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("edited")
    for name, (edit, _) in EDITS.items():
        (folder / f"{name}.ipynb").write_text(executed, "utf-8")
        change(folder / f"{name}.ipynb", edit)
    for name, (cells, _) in MADE.items():
        write(folder / f"{name}.ipynb", *copy.deepcopy(cells))
    return folder


@pytest.fixture(scope="module")
def failed(edited: Path) -> dict[str, int]:
    """Return the number of cells of each file that fail the comparison."""
    return nbval(edited)


def test_nbval_finds_wrong_outputs(failed: dict[str, int]) -> None:
    """Two of the files test that kernels need no port and that a dead kernel ends the wait."""
    assert failed == {name: failures for name, (_, failures) in (EDITS | MADE).items()}


# ---- reuse by the book -----------------------------------------------------------------------


def test_matching_notebooks_are_cached_for_the_book(
    edited: Path, failed: dict[str, int]
) -> None:
    """The figure is drawn as for a page; nbval compared only its text, which is committed."""
    cache = get_cache(edited / "_build" / ".jupyter_cache")
    _, shown = cache.merge_match_into_notebook(read(edited / "right.ipynb"))
    assert shown.cells[0].outputs[0].data["text/html"] == "<svg>page</svg>"
    assert 0 <= float(shown.cells[1].outputs[0].text) < 1
    assert [cell.execution_count for cell in shown.cells] == [1, 2, 3]
    with pytest.raises(KeyError):
        cache.match_cache_notebook(read(edited / "wrong.ipynb"))
