"""Fields on the page for answers that are data, editors for programs.

A page with exercises gets a JSON element with their fields and, unless the
solutions are hidden, all that `check.js` needs to check an answer without a
kernel or a network. `answers.js` makes the fields; without scripts a page is
as it was. Programs are run by Python on the page, `python.js`, which
`tools/onpage.py` puts into the built book.
"""

from __future__ import annotations

import ast
import json
import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from unsolved import without_solutions

from cfrbook import exercises
from cfrbook.exercises.export import exportable, exported, fields

CHECK = re.compile(r'exercises\.check\(\s*"([\w.]+)"')


def answer_cells(path: Path) -> dict[str, str]:
    """Return the code of the answer cells of a notebook, by exercise."""
    found = {}
    for cell in json.loads(path.read_text("utf-8"))["cells"]:
        if "answer" in cell["metadata"].get("tags", ()):
            source = "".join(cell["source"])
            found[CHECK.findall(source)[-1]] = source
    return found


def page_data(path: Path, hidden: bool) -> dict[str, Any]:
    """Return what the scripts need to know of the exercises of a notebook."""
    found = []
    for number, source in answer_cells(path).items():
        exercise = exercises.find(number)
        if form := fields(source, exercise):
            shown = {"number": number, "asks": exercise.asks, "form": form}
            shown["words"] = [*exercise.words]
            shown["bare"] = len(ast.parse(source).body) == 2
            if exportable(exercise) and not hidden:
                shown["check"] = exported(exercise)
        else:
            shown = program(number, source) | {"asks": exercise.asks}
        found.append(shown)
    data = {"page": path.stem, "hidden": hidden, "exercises": found}
    if any("program" in each for each in found):
        data |= {
            "imports": [*imports(path)],
            "python": os.environ.get("CFR_BOOK_PYTHON", ""),
        }
    return data


def program(number: str, source: str) -> dict[str, Any]:
    """Return a program to edit, and the expression that is checked."""
    check: Any = ast.parse(source).body[-1]
    text = "\n".join(source.splitlines()[: check.lineno - 1]).rstrip()
    answer = ast.unparse(check.value.args[1])
    return {"number": number, "program": text, "answer": answer}


def imports(path: Path) -> Iterator[str]:
    """Yield the imports outside solutions, one name a statement."""
    nb = without_solutions(json.loads(path.read_text("utf-8")))
    for cell in nb["cells"]:
        with suppress(SyntaxError):  # Markdown, or a magic
            for line in ast.parse("".join(cell["source"])).body:
                if isinstance(line, ast.Import | ast.ImportFrom):
                    for name in line.names:
                        line.names = [name]
                        yield ast.unparse(line)


def add_fields(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: object,
) -> None:
    """Add the data and the scripts to a page with exercises."""
    path = Path(app.srcdir, page).with_suffix(".ipynb")
    if path.stem not in exercises.pages().values() or not path.exists():
        return
    data = page_data(path, hidden=bool(app.cfr_key))
    if data["exercises"]:
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        context["body"] += (
            '<script type="application/json" id="cfr-answers">'
            + text.replace("<", "\\u003c")
            + "</script>"
        )
        editors = any("program" in each for each in data["exercises"])
        for name in ("check.js", *["python.js"] * editors, "answers.js"):
            app.add_js_file(name, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
