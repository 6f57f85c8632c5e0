"""Load every explorable of the book from its notebook.

When nbval runs a notebook, its kernel also runs `COLLECT` and `SAVE`, which pickle the
explorables. The browser tests load this file instead of running the notebook again. The
explorables then draw in another process, so a drawing may depend only on its explorable.
"""

from __future__ import annotations

import ast
import dis
import hashlib
import linecache
import pickle
import sys
import types
from pathlib import Path
from typing import Any
from unittest import mock

import nbformat
from IPython.core.inputtransformer2 import TransformerManager

from cfrbook.explore import Explorable

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import build  # noqa: E402

CACHE = build.OUT / "explorables"
COLLECT = """
from cfrbook.explore import Explorable as _Explorable
def _record(self, *args, _init=_Explorable.__init__, **kwargs):
    _init(self, *args, **kwargs)
    _record.created.append(self)
_record.created = []
_Explorable.__init__ = _record
"""
# Pickle would look up a function wrapped by `functools.cache` by name, so copy it instead.
SAVE = """
import copyreg as _copyreg, functools as _functools, pathlib as _pathlib
import cloudpickle as _cloudpickle
_copyreg.pickle(
    _functools._lru_cache_wrapper,
    lambda f: (_functools.lru_cache(**f.cache_parameters()), (f.__wrapped__,)),
)
_Explorable.__init__ = _record.__kwdefaults__["_init"]
_path = _pathlib.Path({path!r})
_path.parent.mkdir(parents=True, exist_ok=True)
_path.write_bytes(_cloudpickle.dumps(_record.created))
"""
PAGES = sorted((ROOT / "book").glob("*.ipynb"))


def cells(page: Path) -> list[str]:
    """Return the code cells of a notebook."""
    nb = nbformat.read(page, as_version=4)
    return [cell.source for cell in nb.cells if cell.cell_type == "code"]


def global_names(code: types.CodeType) -> tuple[set[str], set[str]]:
    """Return the global names that code assigns, and those that it reads, also in functions."""
    steps = [(step.opname, step.argval) for step in dis.get_instructions(code)]
    assigned = {name for op, name in steps if op in ("STORE_NAME", "STORE_GLOBAL")}
    read = {name for op, name in steps if op in ("LOAD_NAME", "LOAD_GLOBAL")}
    for inner in filter(lambda c: isinstance(c, types.CodeType), code.co_consts):
        inner_assigned, inner_read = global_names(inner)
        assigned, read = assigned | inner_assigned, read | inner_read
    return assigned, read


def mutated_names(source: str) -> set[str]:
    """Return names whose object a cell may mutate, as in `run.run(9)` and `table[1] = 0`."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) or (
            isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store)
        ):
            found |= {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
    return found - {"print", "plot", "np", "cfr"}


def required_cells(sources: list[str], makes: str = "Explorable(") -> list[str]:
    """Return the cells that create explorables and their dependencies; others may be slow."""
    names = [global_names(compile(source, "", "exec")) for source in sources]
    required: set[int] = set()
    needed_names: set[str] = set()
    count = -1
    while len(required) > count:  # a function may call one that a later cell defines
        count = len(required)
        for n, source in reversed(list(enumerate(sources))):
            assigned, read = names[n]
            changed = assigned | mutated_names(source)
            if makes in source or changed & needed_names:
                required.add(n)
                needed_names |= read
    return [sources[n] for n in sorted(required)]


def cache_file(page: Path) -> Path:
    """Return the file of a page's explorables, named after a digest of their sources."""
    sources = [*cells(page), build.digest(*build.LOADED)]
    return CACHE / f"{page.stem}-{hashlib.sha256(repr(sources).encode()).hexdigest()[:16]}"


def explorables(page: Path) -> list[Explorable]:
    """Return a page's explorables in order, loaded from the cache or created."""
    path = cache_file(page)
    return pickle.loads(path.read_bytes()) if path.exists() else create(page)


def create(page: Path) -> list[Explorable]:
    """Run the cells that a page's explorables require; return the explorables in order."""
    created: list[Explorable] = []
    init = Explorable.__init__

    def record(self: Explorable, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        created.append(self)

    transformer = TransformerManager()  # converts `%pip install ...` to Python
    names: dict[str, Any] = {"__name__": "__main__", "display": lambda *_: None}
    sources = [transformer.transform_cell(cell) for cell in cells(page)]
    with mock.patch.object(Explorable, "__init__", record), mock.patch("builtins.print"):
        for n, source in enumerate(required_cells(sources)):
            name = f"{page}, cell {n}"
            # for `inspect.getsource`
            linecache.cache[name] = len(source), None, source.splitlines(True), name
            exec(compile(source, name, "exec"), names)
    return created
