"""Find every explorable of the book as its notebook makes it, and read it off a built page."""

from __future__ import annotations

import json
import linecache
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
import numpy as np
from IPython.core.inputtransformer2 import TransformerManager

from cfrlib.explore import Explorable

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "book").glob("*.ipynb")), ROOT / "book" / "index.md"]


def cells(page: Path) -> list[str]:
    """Return the code cells of a notebook or of a page written in MyST."""
    if page.suffix == ".ipynb":
        nb = nbformat.read(page, as_version=4)
        return [cell.source for cell in nb.cells if cell.cell_type == "code"]
    found = re.findall(
        r"^```\{code-cell\}[^\n]*\n(.*?)^```$", page.read_text("utf-8"), re.M | re.S
    )
    return [re.sub(r"\A(:.*\n)+", "", cell) for cell in found]


def explorables(page: Path) -> list[Explorable]:
    """Run the code of a page and return its explorables in order."""
    made: list[Explorable] = []
    init = Explorable.__init__

    def note(self: Explorable, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        made.append(self)

    plain = TransformerManager()  # makes Python of `%pip install ...`
    names: dict[str, Any] = {"__name__": "__main__"}
    with mock.patch.object(Explorable, "__init__", note), mock.patch("builtins.print"):
        last = max(n for n, source in enumerate(cells(page)) if "Explorable(" in source)
        for n, cell in enumerate(cells(page)[: last + 1]):
            source, name = plain.transform_cell(cell), f"{page}, cell {n}"
            linecache.cache[name] = len(source), None, source.splitlines(True), name  # inspect
            exec(compile(source, name, "exec"), names)
    return made


def decode(html: str) -> tuple[list[dict[str, Any]], Callable[..., str]]:
    """Read an explorable's HTML as its script does.

    Returns what the script knows of the controls, and a function from positions to the stage.
    """
    raw = re.search(r'<script type="application/json">(.*?)</script>', html, re.S)
    assert raw
    data = json.loads(raw.group(1))
    sizes = [len(c.get("counts") or c["texts"]) for c in data["controls"]]

    def stage(*at: int) -> str:
        row = data["frames"][int(np.ravel_multi_index(at, sizes))]
        return "".join(data["pieces"][n] for n in row)

    return data["controls"], stage
