"""Each page has explorables, and they keep working after all of its cells have run."""

from __future__ import annotations

import ast
import symtable
from collections.abc import Iterator
from pathlib import Path

import pytest
from explorables import PAGES, cells
from IPython.core.inputtransformer2 import TransformerManager

ROOT = Path(__file__).parents[2]

FIGURE = 'class="cfr-figure cfr-explore"'


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_has_an_explorable(page: Path) -> None:
    """Whether they show cfrlib's drawings is a browser test, since that runs the page."""
    built = ROOT / "_build" / "html" / "book" / f"{page.stem}.html"
    assert FIGURE in built.read_text("utf-8")


# ---- names that later cells rebind -----------------------------------------------------------


def overwritten(sources: list[str]) -> list[str]:
    """Return the names that an explorable's functions look up and a later cell rebinds."""
    tables = [symtable.symtable(plain(source), "cell", "exec") for source in sources]
    uses = {
        function.get_name(): set(looked_up(function))
        for table in tables
        for function in table.get_children()
        if function.get_type() == "function"
    }
    found = []
    for n, source in enumerate(sources):
        if "Explorable(" not in source:
            continue
        needed = bound(source)
        for _ in uses:  # transitively: the functions they call
            needed |= {name for known in needed & uses.keys() for name in uses[known]}
        for later, other in enumerate(sources[n + 1 :], n + 1):
            changed = sorted(needed & bound(other))
            found += [f"{name}: cell {n}, then {later}" for name in changed]
    return found


class Binds(ast.NodeVisitor):
    """Collects the names that a cell binds, except inside comprehensions.

    Since Python 3.12 symbol tables no longer distinguish the two.
    """

    def __init__(self) -> None:
        self.names: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self.names.add(node.id)

    def visit_alias(self, node: ast.alias) -> None:
        self.names.add(node.asname or node.name.partition(".")[0])

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.ClassDef) -> None:
        self.names.add(node.name)

    visit_ClassDef = visit_FunctionDef

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Skip a lambda, whose arguments are local."""

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for part in (node.iter, *node.ifs):
            self.visit(part)


def bound(source: str) -> set[str]:
    binds = Binds()
    binds.visit(ast.parse(plain(source)))
    return binds.names


def looked_up(function: symtable.SymbolTable) -> Iterator[str]:
    yield from (symbol.get_name() for symbol in function.get_symbols() if symbol.is_global())
    for inner in function.get_children():
        yield from looked_up(inner)


def plain(source: str) -> str:
    return TransformerManager().transform_cell(source)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_later_cells_do_not_rebind_names_of_explorables(page: Path) -> None:
    assert not overwritten(cells(page))


@pytest.mark.parametrize(
    ("later", "found"),
    [
        ("b = 2", ["b: cell 1, then 2"]),
        ("for b in range(3):\n    pass", ["b: cell 1, then 2"]),
        ("c = 2", ["c: cell 1, then 2"]),
        ("def help():\n    pass", ["help: cell 1, then 2"]),
        ("d = [b for b in 'xy']", []),
        ("d = [(b := x) for x in 'xy']", ["b: cell 1, then 2"]),
        ("import numpy as b", ["b: cell 1, then 2"]),
        ("def other(b):\n    c = b", []),
    ],
)
def test_rule_overwritten(later: str, found: list[str]) -> None:
    first = "c = 1\ndef help():\n    return [c for _ in 'xy']"
    explorable = "b = 1\ndef draw(d):\n    return b + d + help()\nexplore.Explorable(draw)"
    assert overwritten([first, explorable, later]) == found
