"""Tests of tools/build.py: incremental builds, repeated warnings, interrupted builds."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from nbformat import v4

ROOT = Path(__file__).parents[2]
TOOLS = ("tools/build.py", "tools/kernels.py", "tools/notebooks.py", "book/_ext/repository.py")
TOOLS += ("book/_ext/unsolved.py",)
CONFIG = """\
only_build_toc_files: true
execute: {execute_notebooks: cache}
sphinx: {config: {nb_execution_raise_on_error: true}}
"""
TOC = """\
format: jb-book
root: book/index
chapters: [{file: book/14_one}, {file: book/02_two}]
"""


@pytest.fixture
def book(tmp_path: Path) -> Path:
    """Return a small book with the tool: a page and two notebooks."""
    for name in TOOLS:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    (tmp_path / "_config.yml").write_text(CONFIG)
    (tmp_path / "_toc.yml").write_text(TOC)
    (tmp_path / "book/index.md").write_text("# Start\n\nSome text.\n")
    notebook(tmp_path / "book/14_one.ipynb", "# One", "print(1 + 1)")
    notebook(tmp_path / "book/02_two.ipynb", "# Two", "print(2 + 2)")
    return tmp_path


def notebook(path: Path, text: str, code: str) -> None:
    cells = [v4.new_markdown_cell(text), v4.new_code_cell(code)]
    path.write_text(nbformat.writes(v4.new_notebook(cells=cells)), "utf-8")


def start(book: Path) -> subprocess.Popen[str]:
    # in a process group of its own, so that a signal reaches the same processes as Ctrl-C
    return subprocess.Popen(
        [sys.executable, "tools/build.py"],
        cwd=book,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        env=os.environ | {"GIT_CEILING_DIRECTORIES": str(book.parent)},
    )


def build(book: Path, code: int = 0) -> str:
    """Build, expect this exit status, and return the output."""
    process = start(book)
    output, _ = process.communicate()
    assert process.returncode == code, output
    return output


def written(book: Path) -> dict[str, int]:
    """Return the modification time of each page."""
    return {
        path.stem: path.stat().st_mtime_ns
        for path in (book / "_build/html/book").glob("*.html")
    }


def printed(book: Path) -> str:
    """Return the output of the first notebook as its page shows it."""
    page = BeautifulSoup((book / "_build/html/book/14_one.html").read_bytes(), "html.parser")
    (output,) = page.select(".cell_output pre")
    return output.get_text()


def rewritten(before: dict[str, int], after: dict[str, int]) -> set[str]:
    return {name for name, time in after.items() if time != before.get(name)}


@pytest.mark.slow
def test_build_runs_and_writes_only_changed_pages(book: Path) -> None:
    output = build(book)
    assert "14_one" in output and "02_two" in output and " 0 left" in output
    first = written(book)
    assert set(first) == {"index", "14_one", "02_two"}
    assert printed(book) == "2\n"

    output = build(book)
    assert " left" not in output and "Writing" not in output
    assert written(book) == first

    notebook(book / "book/14_one.ipynb", "# One\n\nMore text.", "print(1 + 1)")
    output = build(book)
    second = written(book)
    assert " left" not in output
    assert rewritten(first, second) == {"14_one", "index"}  # the start page lists the chapters

    notebook(book / "book/14_one.ipynb", "# One\n\nMore text.", "print(1 + 4)")
    output = build(book)
    third = written(book)
    assert "14_one" in output and "02_two" not in output
    assert rewritten(second, third) == {"14_one", "index"}
    assert printed(book) == "5\n"

    (book / "cfrlib").mkdir()
    (book / "cfrlib/changed.py").write_text("")
    notebook(book / "book/14_one.ipynb", "# Another title", "print(1 + 4)")
    output = build(book)
    assert "14_one" in output and "02_two" in output  # both may import the changed module
    assert rewritten(third, written(book)) == set(third)  # every page lists all titles
    assert "Another title" in (book / "_build/html/book/02_two.html").read_text("utf-8")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="Windows sends no SIGINT to a group")
def test_failed_or_stopped_build_keeps_finished_pages(book: Path) -> None:
    notebook(book / "book/14_one.ipynb", "# One", "1 / 0")
    output = build(book, code=1)
    assert "book/14_one.ipynb: a cell failed" in output and "ZeroDivisionError" in output
    assert "tools/build.py" not in output  # no traceback of the tool itself

    waits = """import pathlib, time
pathlib.Path("running").touch()
while not pathlib.Path("go").exists():
    time.sleep(0.05)"""
    notebook(book / "book/14_one.ipynb", "# One", waits)
    process = start(book)
    assert process.stdout is not None
    while not (book / "book/running").exists():
        assert process.poll() is None
        time.sleep(0.05)
    lines = [process.stdout.readline()]
    assert lines == ["Running the code of pages: 1, 1 at a time.\n"]  # the other has run
    os.killpg(process.pid, signal.SIGINT)
    lines += process.stdout.readlines()
    assert process.wait() == 130
    assert "Stopped." in lines[-1] and "Traceback" not in "".join(lines)

    (book / "book/go").touch()
    (book / "book/index.md").write_text("# Start\n\n{doc}`nowhere`\n")
    output = build(book, code=1)
    assert "14_one" in output and "02_two" not in output and "nowhere" in output
    output = build(book, code=1)
    assert "14_one" not in output and "nowhere" in output  # warnings are repeated
