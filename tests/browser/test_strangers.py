"""What a student hands in runs no script in the teacher's browser, whatever shows it.

Each way is tried on the feedback page and in Formgrader, whose pages may do whatever the
teacher may: open a terminal, write files. Submissions go straight to nbgrader, as its own
commands and Formgrader's button take them.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import classroom
import kernels
import pytest
import tiny_course
from nbformat import from_dict
from nbformat.v4 import new_code_cell, new_markdown_cell, new_raw_cell
from playwright.sync_api import Browser, Page
from reader import window
from test_lab import started
from tiny_course import NAME, hand_in

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
# It notes that it ran, opens a terminal and writes a file.
SCRIPT = """(window.RAN = window.RAN || []).push('NAME');
let header = {'X-XSRFToken': (document.cookie.match(/_xsrf=([^;]*)/) || [])[1]};
fetch('/api/terminals', {method: 'POST', headers: header});
fetch('/api/contents/RAN.txt', {method: 'PUT', headers: header,
  body: JSON.stringify({type: 'file', format: 'text', content: 'ran'})});"""
IMAGE = f'<img src="x:y" onerror="{SCRIPT}">'
FRAME = "<iframe srcdoc='<script>parent.RAN=[1]</script>'></iframe>"
HTML = f"<script>{{{SCRIPT}}}</script>{IMAGE}{FRAME}"
SVG = (
    f'<svg xmlns="http://www.w3.org/2000/svg" onload="{SCRIPT}"><script>{SCRIPT}</script></svg>'
)
BREAKS = "\"></div><img src='x:y' onerror=(window.RAN=window.RAN||[]).push('NAME')>"
SHOW = "from IPython.display import *\n"


def mime(kind: str, text: str, **metadata: Any) -> str:
    """Return code that shows an output of a kind."""
    return f"{SHOW}display({{{kind!r}: {text!r}}}, raw=True, metadata={metadata!r})"


# Code whose output is hostile
OUTPUTS = {
    "html": mime("text/html", HTML),
    "a table": f"{SHOW}class A:\n    def _repr_html_(self): return {HTML!r}\nA()",
    "svg": mime("image/svg+xml", SVG),
    "javascript": mime("application/javascript", SCRIPT),
    "markdown": mime("text/markdown", HTML),
    "latex": mime("text/latex", f"${IMAGE}$"),
    "plain text": mime("text/plain", HTML),
    "json": mime("application/json", HTML),
    "mermaid": mime("text/vnd.mermaid", f"graph TD\nA[{IMAGE}]"),
    "no picture": mime("image/png", BREAKS),
    "the size of a picture": mime("image/jpeg", "AA", **{"image/jpeg": {"width": BREAKS}}),
    "an update": (
        f"{SHOW}shown = display('x', display_id='a')\n"
        f"update_display(HTML({HTML!r}), display_id='a')"
    ),
    "printed": f"print({HTML!r})\nimport sys\nprint({HTML!r}, file=sys.stderr)",
    "an error": f"raise Exception({HTML!r})",
    "the name of an error": f"raise type({IMAGE!r}, (Exception,), {{}})('x')",
    "a traceback": (
        f"class E(Exception):\n    def _render_traceback_(self): return [{HTML!r}]\nraise E"
    ),
    "code": """x = """ + '"""' + f"""</code></pre></div>{HTML}""" + '"""',
}
PICTURE = {"a.svg": {"image/svg+xml": SVG}, "b.png": {"image/png": BREAKS}}
ATTACHED = "![a](attachment:a.svg) ![b](attachment:b.png)"
# Cells that are hostile without running
CELLS = {
    "text": new_markdown_cell(HTML),
    "a fence": new_markdown_cell(f"</pre>\n\n{HTML}\n\n```mermaid\n{IMAGE}\n```"),
    "a formula": new_markdown_cell(f"$${IMAGE}$$"),
    "attachments": new_markdown_cell(ATTACHED, attachments=PICTURE),
    "raw": new_raw_cell(HTML, metadata={"raw_mimetype": "text/html", "format": "text/html"}),
    "tags": new_code_cell("1", metadata={"tags": [BREAKS.replace(",", "")]}),
    "a label": new_code_cell(
        "1", metadata={"nbgrader": {"grade_id": BREAKS, "solution": True}}
    ),
}
LABELS = {
    "title": f"</title>{HTML}",
    "authors": [{"name": HTML}],
    "kernelspec": {"name": "python3", "display_name": BREAKS, "language": BREAKS},
    "widgets": {
        "application/vnd.jupyter.widget-state+json": {"state": {"a": f"</script>{HTML}"}}
    },
}
STUDENTS = ("outputs", "cells", "labels")
NAMED = "<img src=x:y onerror=window.RAN=1>"


def marked(thing: Any, name: str) -> Any:
    """Return a thing whose scripts say this name when they run."""
    return json.loads(json.dumps(thing).replace("NAME", name))


@pytest.fixture(scope="module")
def course() -> Iterator[Path]:
    """Return a course in which hostile work was graded by nbgrader, with feedback."""
    short = "/tmp" if kernels.TRANSPORT == "ipc" else None
    with tempfile.TemporaryDirectory(prefix="lab-", dir=short) as home:
        folder = tiny_course.tiny_course(Path(home) / "book")
        shown = [new_code_cell(marked(code, name)) for name, code in OUTPUTS.items()]
        there = hand_in(folder, "outputs", "answer = 1", *shown)
        cells = [from_dict(marked(cell, name)) for name, cell in CELLS.items()]
        hand_in(folder, "cells", "answer = 1", *cells)
        hand_in(folder, "labels", "answer = 1", **marked(LABELS, "labels"))
        for name in ("evil.html", "evil.SVG", "evil.xml"):
            (there / name).write_text(HTML)
        hand_in(folder, NAMED, "answer = 1")
        api = classroom.api_of(folder)
        for student in (*STUDENTS, NAMED):
            api.autograde(NAME, student)
            api.generate_feedback(NAME, student)
        yield folder


@pytest.fixture(scope="module")
def server(course: Path) -> Iterator[str]:
    """Return the address of a Jupyter server with Formgrader, for this course."""
    process, address = started(course.parent)
    yield address
    process.terminate()
    process.wait()


def visited(chromium: Browser, address: str) -> Iterator[Page]:
    with window(chromium) as page:
        page.goto(address, wait_until="load")
        yield page


@pytest.mark.parametrize("student", STUDENTS)
def test_feedback_runs_no_script(chromium: Browser, course: Path, student: str) -> None:
    file = course / "feedback" / student / NAME / f"{NAME}.html"
    for page in visited(chromium, file.as_uri()):
        assert page.evaluate("window.RAN") is None
        assert page.title() == NAME and page.evaluate("!window.MathJax && !window.require")
        assert "(Score: 2.0 / 2.0)" in page.inner_text("body")
        assert page.inner_text("body").count("onerror=") >= SHOWN[student]


SHOWN = {"outputs": 8, "cells": 4, "labels": 0}  # scripts that are shown as text


@pytest.mark.parametrize("student", STUDENTS)
def test_formgrader_runs_no_script(
    chromium: Browser, course: Path, server: str, student: str
) -> None:
    with classroom.api_of(course).gradebook as book:
        (notebook,) = book.find_submission(NAME, student).notebooks
    files = ("", "evil.html", "evil.SVG", "evil.xml") if student == "outputs" else ("",)
    for name in files:
        for page in visited(chromium, f"{server}/formgrader/submissions/{notebook.id}/{name}"):
            page.wait_for_load_state("networkidle")
            assert page.evaluate("window.RAN") is None, name
            assert name or page.inner_text("body").count("onerror=") >= SHOWN[student]
            open_ = page.evaluate("async () => (await fetch('/api/terminals')).json()")
            assert open_ == [] and not (course / "RAN.txt").exists(), name


@pytest.mark.parametrize(
    "place", ["manage_students", f"manage_submissions/{NAME}", f"gradebook/{NAME}/{NAME}"]
)
def test_lists_of_formgrader_run_no_script(chromium: Browser, server: str, place: str) -> None:
    for page in visited(chromium, f"{server}/formgrader/{place}"):
        page.wait_for_load_state("networkidle")
        page.locator("tbody td").first.wait_for()
        assert page.evaluate("window.RAN") is None


def test_a_name_that_is_markup_is_not_graded(course: Path) -> None:
    assert not (course / "autograded" / NAMED).exists()
    result = classroom.api_of(course).autograde(NAME, NAMED)
    assert "Rename" in classroom.cause(result)
