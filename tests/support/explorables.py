"""Load every explorable of the book from its notebook, and decode it from a built page.

When nbval runs a notebook, its kernel writes the explorables into a file (the kernel runs
`COLLECT` and `KEEP`). The browser tests load them from there instead of running the notebook
again. They then draw in another process, so a drawing may depend only on its explorable.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import json
import linecache
import pickle
import re
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
import numpy as np
from IPython.core.inputtransformer2 import TransformerManager

from cfrlib.explore import Explorable

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build  # noqa: E402

KEPT = build.OUT / "explorables"
COLLECT = """
from cfrlib.explore import Explorable as _Explorable
def _note(self, *args, _init=_Explorable.__init__, **kwargs):
    _init(self, *args, **kwargs)
    _note.made.append(self)
_note.made = []
_Explorable.__init__ = _note
"""
# Pickle would look up a function wrapped by `functools.cache` by name, so copy it instead.
KEEP = """
import copyreg as _copyreg, functools as _functools, pathlib as _pathlib
import cloudpickle as _cloudpickle
_copyreg.pickle(
    _functools._lru_cache_wrapper,
    lambda f: (_functools.lru_cache(**f.cache_parameters()), (f.__wrapped__,)),
)
_Explorable.__init__ = _note.__kwdefaults__["_init"]
_place = _pathlib.Path({place!r})
_place.parent.mkdir(parents=True, exist_ok=True)
_place.write_bytes(_cloudpickle.dumps(_note.made))
"""
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


def names_of(code: types.CodeType) -> tuple[set[str], set[str]]:
    """Return the global names that code sets, and those that it uses, functions included."""
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    made = {name for op, name in steps if op in ("STORE_NAME", "STORE_GLOBAL")}
    used = {name for op, name in steps if op in ("LOAD_NAME", "LOAD_GLOBAL")}
    for inner in filter(lambda c: isinstance(c, types.CodeType), code.co_consts):
        deeper = names_of(inner)
        made, used = made | deeper[0], used | deeper[1]
    return made, used


def acted_on(source: str) -> set[str]:
    """Return names whose object a cell may change, as in `run.run(9)` and `table[1] = 0`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) or (
            isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store)
        ):
            found |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return found - {"print", "plot", "np", "cfr"}


def needed(sources: list[str]) -> list[str]:
    """Return the cells that make explorables and those they depend on; others may be slow."""
    kept: list[str] = []
    wanted: set[str] = set()
    for source in reversed(sources):
        made, used = names_of(compile(source, "", "exec"))
        if "Explorable(" in source or made & wanted or acted_on(source) & wanted:
            kept.insert(0, source)
            wanted |= used
    return kept


def kept(page: Path) -> Path:
    """Return the file of a page's explorables, named after a digest of their sources."""
    made_from = [*cells(page), build.digest(*build.LOADED)]
    return KEPT / f"{page.stem}-{hashlib.sha256(repr(made_from).encode()).hexdigest()[:16]}"


def explorables(page: Path) -> list[Explorable]:
    """Return a page's explorables in order, loaded from the kept file or made anew."""
    place = kept(page)
    return pickle.loads(place.read_bytes()) if place.exists() else make(page)


def make(page: Path) -> list[Explorable]:
    """Run the cells that a page's explorables need; return the explorables in order."""
    made: list[Explorable] = []
    init = Explorable.__init__

    def note(self: Explorable, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        made.append(self)

    plain = TransformerManager()  # converts `%pip install ...` to Python
    names: dict[str, Any] = {"__name__": "__main__"}
    with mock.patch.object(Explorable, "__init__", note), mock.patch("builtins.print"):
        for n, source in enumerate(needed([plain.transform_cell(c) for c in cells(page)])):
            name = f"{page}, cell {n}"
            linecache.cache[name] = len(source), None, source.splitlines(True), name  # inspect
            exec(compile(source, name, "exec"), names)
    return made


def decode(html: str) -> tuple[list[dict[str, Any]], Callable[..., str]]:
    """Decode an explorable's HTML as its script does.

    Return the script's data on the controls, and a function from positions to the drawing.
    """
    raw = re.search(r'<script type="application/json">(.*?)</script>', html, re.S)
    assert raw
    data = json.loads(raw.group(1))
    sizes = [len(c.get("counts") or c["texts"]) for c in data["controls"]]

    def stage(*at: int) -> str:
        row = data["frames"][int(np.ravel_multi_index(at, sizes))]
        return "".join(data["pieces"][n] for n in row)

    return data["controls"], stage
