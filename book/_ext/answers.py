"""Fields on the page for exercises whose answers are data.

A page with exercises gets a JSON element with their fields and, unless the
solutions are hidden, all that `check.js` needs to check an answer without a
kernel or a network. `answers.js` makes the fields; without scripts a page is
as it was.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

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
            found.append(shown)
    return {"page": path.stem, "hidden": hidden, "exercises": found}


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
        for name in ("check.js", "answers.js"):
            app.add_js_file(name, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", add_fields)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
