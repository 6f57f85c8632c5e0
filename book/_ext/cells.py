"""Code cells that a reader can run on the page.

For each notebook page this writes `_static/cells/PAGE.json`: all its code
cells, with the earlier cells that each one needs. On the page, the container
of a cell has its number there, `data-cell`; if the cell cannot run on a page,
`data-elsewhere` says why. `cells.js` adds the buttons. Without solutions, if
the site hides them, the numbers stay the same.
"""

from __future__ import annotations

import ast
import json
import os
import re
from html import escape
from pathlib import Path
from typing import Any

from docutils import nodes
from needs import Known, needs, read
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from unsolved import without_solutions

MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)
MARK = re.compile(r'(<div class="cell[^"]*?) cfr-cell-(\d+)([^"]*")')
REMOVED = {"remove-cell", "remove-input"}

# What a page does not have -> what a cell with it does
ABSENT = {
    r"\b(jax|jnp|optax|cfr(lib)?\.deep)\b": "trains networks with JAX",
    r"\bpyspiel|open_spiel\(": "calls OpenSpiel",
    r"\bsubprocess\b": "starts other programs",
    r"koikoi_players|\.npz\b": "reads the networks of long trainings",
}
# page -> words of a cell -> what it does that a page cannot
LISTED = {"12_coyote": {"\nsheets = {": "takes minutes on a page"}}


def source(cell: dict[str, Any]) -> str:
    """Return the code of a cell; lines of IPython's are empty."""
    return MAGIC.sub("", "".join(cell["source"])).rstrip()


def tags(cell: dict[str, Any]) -> set[str]:
    """Return the tags of a cell."""
    return set(cell["metadata"].get("tags", ()))


def open_cells(nb: dict[str, Any]) -> list[int]:
    """Return which code cells of a notebook are no part of a solution."""
    kept = {id(cell) for cell in without_solutions(nb)["cells"]}
    return [k for k, cell in enumerate(code_of(nb)) if id(cell) in kept]


def code_of(nb: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the code cells of a notebook."""
    return [cell for cell in nb["cells"] if cell["cell_type"] == "code"]


def page_data(nb: dict[str, Any], page: str = "") -> list[dict[str, Any]]:
    """Return what the page's script needs to know of each code cell."""
    listed = dict(LISTED.get(page, {}))
    found, known = code_of(nb), Known()
    cells = [read(source(cell), known) for cell in found]
    apart = {*range(len(found))} - {*open_cells(nb)}
    apart |= {k for k, cell in enumerate(found) if "answer" in tags(cell)}
    data: list[dict[str, Any]] = []
    for k, need in enumerate(needs(cells, apart)):
        shown = {"source": source(found[k]), "needs": need}
        shown["names"] = sorted(cells[k].binds | cells[k].changes)
        shown["uses"] = sorted(cells[k].reach - known.modules)
        if k in apart:
            shown["apart"] = True
        reasons = [data[j].get("elsewhere", "") for j in need]
        inherited = next(filter(None, reasons), "").split(" that ")[-1]
        words = next((w for w in listed if w in source(found[k])), "")
        if reason := listed.pop(words, "") or elsewhere(source(found[k])):
            shown["elsewhere"] = reason
        elif inherited:
            shown["elsewhere"] = f"needs a cell that {inherited}"
        data.append(shown)
    if listed:
        raise ExtensionError(f"no cell of {page} has {[*listed]}")
    return data


def elsewhere(code: str) -> str:
    """Return what a cell does that a page cannot; "" if there is nothing.

    Imports alone do no harm.
    """
    tree = ast.parse(code)
    imports = (ast.Import, ast.ImportFrom)
    rest = [part for part in tree.body if not isinstance(part, imports)]
    text = "\n".join(map(ast.unparse, rest))
    found = (why for what, why in ABSENT.items() if re.search(what, text))
    return next(found, "")


def mark(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Note on each cell of a page which of its code cells it is."""
    path = Path(app.srcdir, page).with_suffix(".ipynb")
    if not path.exists():
        return
    cells = json.loads(path.read_text("utf-8"))["cells"]
    code = [k for k, cell in enumerate(cells) if cell["cell_type"] == "code"]
    for node in doctree.findall(nodes.container):
        if node.get("nb_element") == "cell_code":
            node["classes"].append(
                f"cfr-cell-{code.index(node['cell_index'])}"
            )


def write(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: object,
) -> None:
    """Write the data of a page; turn the marks into attributes."""
    path = Path(app.srcdir, page).with_suffix(".ipynb")
    if app.builder.format != "html" or not doctree or not path.exists():
        return
    nb = json.loads(path.read_text("utf-8"))
    data: list[dict[str, Any] | None] = [*page_data(nb, path.stem)]
    shown = open_cells(nb) if app.cfr_key else range(len(data))
    data = [each if k in shown else None for k, each in enumerate(data)]

    def attributes(at: re.Match[str]) -> str:
        start, k, end = at.groups()
        reason = (data[int(k)] or {}).get("elsewhere", "")
        extra = f' data-elsewhere="it {escape(reason)}"' if reason else ""
        return f'{start}{end} data-cell="{k}"{extra}'

    body, count = MARK.subn(attributes, context["body"])
    visible = sum(not tags(code_of(nb)[k]) & REMOVED for k in shown)
    if count != visible:
        raise ExtensionError(
            f"{page} has {visible} code cells to show and shows {count}"
        )
    context["body"] = body
    place = Path(app.outdir, "_static", "cells")
    place.mkdir(parents=True, exist_ok=True)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    (place / f"{path.stem}.json").write_text(text, "utf-8")
    home = {"data-python": os.environ.get("CFR_BOOK_PYTHON", "")}
    told = {"data-page": path.stem} | {k: v for k, v in home.items() if v}
    app.add_js_file("cells.js", loading_method="defer", **told)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; solutions are sealed after they are marked."""
    app.connect("doctree-resolved", mark)
    app.connect("html-page-context", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
