"""Bring notebooks into the normal form in which they are committed.

    python tools/notebooks.py book/*.ipynb                      write the normal form
    python tools/notebooks.py --execute book/*.ipynb            run first, then write
    python tools/notebooks.py --check [--execute] book/*.ipynb  only report differences

The normal form keeps sources and the outputs that a diff can show: text, streams and short
HTML. It drops pictures, widgets and times, so that running an unchanged notebook again changes
no byte. Pictures are not lost: the book's build executes the notebooks anyway.

Citations become links to the page of references, which every program shows as text.

The tags that fold a cell on a page mean nothing to Jupyter. The normal form repeats them in the
metadata that JupyterLab, Notebook 7 and Colab read, so solutions are folded there as well.

The normal form of a chapter also begins with a generated cell that installs the package on
Colab, and elsewhere says how to get it if it is missing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import sys
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any

import kernels
import nbformat
from nbclient.exceptions import CellExecutionError

CURE = "run `make notebooks`"
LONGEST_HTML = 20_000
TEXT = ("text/plain", "text/html", "text/latex", "text/markdown")
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
KEPT = ("mystnb", "tags")  # cell metadata; that of `FOLDED` follows from the tags
# The tags that fold or remove a part of a cell on a page -> the part that Jupyter hides
FOLDED = {
    "hide-input": ("source_hidden",),
    "hide-output": ("outputs_hidden",),
    "hide-cell": ("outputs_hidden", "source_hidden"),
    "remove-input": ("source_hidden",),
    "remove-output": ("outputs_hidden",),
    "remove-cell": ("outputs_hidden", "source_hidden"),
}
PAGES = Path(__file__).resolve().parents[1] / "book"
# A notebook that Colab opened from GitHub can look up its address, so a fork installs itself.
# Elsewhere a downloaded notebook cannot know where it is from, so it says what to do.
HOSTED = """\
import importlib.util
import sys

if "google.colab" in sys.modules:  # install the book this page is from
    from urllib.parse import unquote

    import requests

    sessions = requests.get("http://172.28.0.12:9000/api/sessions").json()
    page = unquote(sessions[0]["path"]).removeprefix("fileId=")
    assert "/blob/" in page, "open this page from its repository on GitHub"
    home, _, place = page.partition("/blob/")
    branch = place.partition("/book/")[0]
    %pip install -q git+{home}@{branch}
elif importlib.util.find_spec("cfrlib") is None:
    raise ModuleNotFoundError(
        "the package cfrlib is missing: open this page with `make lab` "
        "in the book's source, or install it from the book's repository: "
        "%pip install git+https://github.com/OWNER/NAME"
    )"""
# Below it, on pages that import JAX, directly or through the package
NETWORKS = """
if importlib.util.find_spec("jax") is None:
    raise ModuleNotFoundError(
        "this page needs JAX, which is not installed: "
        "pip install jax flax optax"
    )"""
NEED_NETWORKS = re.compile(
    r"\bimport (?:jax|flax|optax)\b|\b(?:cfr|cfrlib)\.deep\b|\bkoikoi\.learners\b"
    r"|\bsubgames\.network\b"
)
CITE = re.compile(r"\{cite(:[tp])?\}`([^`]+)`")
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}", re.IGNORECASE)


def keeps(mime: str, content: str) -> bool:
    """Return whether a piece of output is readable in a diff."""
    if mime == "text/html":
        picture = "<svg" in content or "<script" in content or "<img" in content
        return len(content) <= LONGEST_HTML and not picture
    return mime in TEXT


def normal_outputs(cell: Any, count: int | None) -> list[dict[str, Any]]:
    """Return the outputs of a code cell in normal form."""
    if "timing" in cell.metadata.get("tags", []):
        return []  # times differ in every run
    outputs: list[dict[str, Any]] = []
    for output in kernels.joined(cell.outputs):
        kind = output.output_type
        if kind == "stream":
            outputs.append({"output_type": kind, "name": output.name, "text": output.text})
        elif kind == "error":  # a traceback names files of this machine
            trace = [f"{output.ename}: {output.evalue}"]
            new = {"ename": output.ename, "evalue": output.evalue, "traceback": trace}
            outputs.append({"output_type": kind, **new})
        else:
            data = {m: content for m, content in output.data.items() if keeps(m, content)}
            new = {"output_type": kind, "data": data, "metadata": {}}
            if kind == "execute_result":
                new["execution_count"] = count
            outputs.append(new)
    return outputs


def read(text: str) -> Any:
    """Parse a notebook; a cell without a valid unique id gets a hash of its content."""
    raw = json.loads(text)
    names: set[str] = set()
    for cell in raw["cells"]:
        name = str(cell.get("id", ""))
        if name in names or not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
            content = cell["cell_type"] + "".join(cell["source"])
            name = hashlib.sha256(content.encode()).hexdigest()[:8]
            while name in names:
                name += "-"
        names.add(name)
        cell["id"] = name
    raw["nbformat_minor"] = 5  # the first with ids
    return nbformat.reads(json.dumps(raw), as_version=4)


def hosted(cells: Iterable[Any]) -> str:
    """Return the code of the first cell of a page with these cells."""
    code = "\n".join(cell.source for cell in cells if cell.cell_type == "code")
    return HOSTED + NETWORKS if NEED_NETWORKS.search(code) else HOSTED


def hosted_first(nb: Any) -> Any:
    """Insert the Colab cell below the title, replacing an older one."""
    cells = [cell for cell in nb.cells if cell.id != "colab"]
    first = nbformat.v4.new_code_cell(hosted(cells), id="colab", execution_count=1)
    first.metadata["tags"] = ["remove-cell"]
    return nbformat.from_dict({**nb, "cells": [cells[0], first, *cells[1:]]})


def folded(cell: Any) -> dict[str, Any]:
    """Return the metadata by which notebook programs fold what the page folds."""
    tags = cell.metadata.get("tags", [])
    hidden = {part: True for tag in tags for part in FOLDED.get(tag, ())}
    if cell.id == "colab":
        hidden.pop("outputs_hidden", None)  # an error of it must be seen
    if not hidden or cell.cell_type != "code":
        return {}
    found: dict[str, Any] = {"jupyter": hidden}
    if "source_hidden" in hidden:
        found["cellView"] = "form"  # Colab's own name for it
    return found


@cache
def labels() -> dict[str, tuple[str, str]]:
    """Return the authors and the year of each source, by key."""
    from pybtex.database import parse_file
    from pybtex.richtext import Text

    found = {}
    for key, entry in parse_file(str(PAGES / "references.bib")).entries.items():
        names = [" ".join([*p.prelast_names, *p.last_names]) for p in entry.persons["author"]]
        first = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        found[key] = Text.from_latex(first).render_as("text"), entry.fields["year"]
    return found


def cited(text: str) -> str:
    """Return Markdown with links to the references in place of citations."""

    def link(role: re.Match[str]) -> str:
        keys = [key.strip() for key in role[2].split(",")]
        unknown = [key for key in keys if key not in labels()]
        if unknown:
            raise ValueError(f"references.bib has no {', '.join(unknown)}")
        if role[1] == ":t":
            return ", ".join(
                "[{} ({})](references.md#{})".format(*labels()[key], key) for key in keys
            )
        shown = "; ".join(", ".join(labels()[key]) for key in keys)
        return f"[({shown})](references.md#{','.join(keys)})"

    return CITE.sub(link, text)


def normal_form(nb: Any) -> Any:
    """Return a normalized copy of a notebook."""
    cells, count = [], 0
    for cell in nb.cells:
        new: dict[str, Any] = {key: cell[key] for key in ("cell_type", "id", "source")}
        if cell.cell_type == "markdown":
            new["source"] = cited(cell.source)
        new["metadata"] = {key: cell.metadata[key] for key in KEPT if key in cell.metadata}
        new["metadata"] |= folded(cell)
        if cell.cell_type == "code":
            number = None
            if cell.execution_count is not None:
                count += 1
                number = count
            new |= {"execution_count": number, "outputs": normal_outputs(cell, number)}
        cells.append(new)
    plain = {"cells": cells, "metadata": {"kernelspec": KERNEL}, "nbformat": 4}
    return nbformat.from_dict(plain | {"nbformat_minor": 5})


def faults(nb: Any) -> list[str]:
    """Return the faults of a notebook that normalizing cannot repair."""
    found = []
    for cell in nb.cells:
        first = cell.source.strip().partition("\n")[0]
        if "attachments" in cell:
            found.append(f"a picture is attached to the cell {first!r}: save it as a file")
        if cell.cell_type != "code" or not cell.source.strip():
            continue
        if cell.execution_count is None:
            found.append(f"the cell {first!r} was never run, so nothing compares it")
        if ADDRESS.search(nbformat.writes(nbformat.from_dict({**nb, "cells": [cell]}))):
            found.append(f"the cell {first!r} shows a memory address: end it otherwise")
    return found


def execute(nb: Any, folder: Path) -> None:
    """Run a notebook in place."""
    quiet = {"TQDM_DISABLE": "1"}  # whether a progress bar appears depends on the machine
    kernels.client(nb, folder).execute(env=os.environ | quiet)


def process(path: Path, *, run: bool, check: bool) -> list[str]:
    """Bring one file into normal form, or check that it is; return the complaints."""
    before = path.read_text(encoding="utf-8")
    nb = read(before)
    if path.resolve().parent == PAGES:
        nb = hosted_first(nb)
    complaints = [f"{path}: {fault}; {CURE}" for fault in faults(nb)] if check else []
    if run:
        try:
            execute(nb, path.parent)
        except CellExecutionError as error:
            return [*complaints, f"{path}: a cell failed\n{error}"]
    nb = normal_form(nb)
    after = nbformat.writes(nb) + "\n"
    if check and after != before:
        state = "stale or not in normal form" if run else "not in normal form"
        complaints.append(f"{path}: {state}; {CURE}")
    if not check:
        complaints += [f"{path}: {fault}" for fault in faults(nb)]
        if after != before:
            path.write_text(after, encoding="utf-8")
    return complaints


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--execute", action="store_true", help="run the notebooks first")
    parser.add_argument(
        "--check", action="store_true", help="write nothing, report differences"
    )
    parser.add_argument("notebooks", nargs="*", type=Path)
    options = parser.parse_args(arguments)
    work = partial(process, run=options.execute, check=options.check)
    if options.execute and len(options.notebooks) > 1:
        with ProcessPoolExecutor(max_workers=2) as pool:
            results = list(pool.map(work, options.notebooks))
    else:
        results = [work(path) for path in options.notebooks]
    complaints = [complaint for result in results for complaint in result]
    print(*complaints, sep="\n", file=sys.stderr, end="\n" if complaints else "")
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
