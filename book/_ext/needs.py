"""Which earlier cells of a notebook a cell needs.

A cell needs the earlier cells that bind the names it reads, and those in
between that may change what the names are bound to, with what they need.
Functions read their names when they are called, so a cell that needs one
needs the last cells before itself that bind these.
"""

from __future__ import annotations

import ast
import builtins
import re
import symtable
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from cfrlib import games

GAMES = {*games.__all__}  # nothing changes a game
BUILTINS = {*vars(builtins), "display"}
CONSUME = {"next", "iter", "setattr", "delattr", "exec"}
DRAW = {"plot", "explore", "exercises"}  # they change nothing
# Methods of arrays, dictionaries, texts, games and strategies that change
# nothing
PURE = re.compile(
    "all|any|arg(max|min|sort)|astype|clip|conj|copy|count|cumsum|dot|"
    "endswith|format|get|index|isdisjoint|items|join|keys|[lr]just|max|mean|"
    "min|nonzero|node|player|prod|ravel|remove(pre|suf)fix|repeat|replace|"
    "reshape|round|split(lines)?|startswith|std|strip|sum|title|tolist|"
    "transpose|values|var"
)
# Calls that change what all cells see
GLOBAL = re.compile(
    r"np\.random\.seed|random\.seed|np\.set|mpl\.rc|plt\.rc|warnings|os\.|sys\."
)
IMPORT = (ast.Import, ast.ImportFrom)
MADE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
BLOCKS = (ast.For, ast.While, ast.With, ast.If, ast.Try)
LASTING = {"np", "list", "dict", "tuple", "set", "sorted", "range"}
SOLID = (ast.List, ast.Dict, ast.Set)
SOLID += (ast.ListComp, ast.DictComp, ast.SetComp)
UP = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.IfExp, ast.BoolOp)


@dataclass
class Known:
    """What the cells so far have bound."""

    modules: set[str] = field(default_factory=set)  # and what is in them
    solid: set[str] = field(
        default_factory=set
    )  # that a loop does not use up


@dataclass
class Cell:
    """What a cell does to names."""

    reads: set[str] = field(default_factory=set)
    later: dict[str, set[str]] = field(default_factory=dict)  # in functions
    binds: set[str] = field(default_factory=set)
    fixed: set[str] = field(default_factory=set)  # nothing changes them
    changes: set[str] = field(default_factory=set)
    pairs: list[tuple[set[str], set[str]]] = field(default_factory=list)
    everywhere: bool = False  # it changes what all cells see

    @property
    def reach(self) -> set[str]:
        """Return what it reads while it runs, in its functions as well."""
        return self.reads.union(*self.later.values())


def names_of(part: ast.AST) -> tuple[set[str], set[str]]:
    """Return the global names that a part reads, and those that it binds."""
    reads, binds = set(), set()
    waiting = [symtable.symtable(ast.unparse(part), "cell", "exec")]
    top = waiting[0]
    while waiting:
        scope = waiting.pop()
        waiting += scope.get_children()
        for symbol in scope.get_symbols():
            if scope is top or symbol.is_global():
                name = symbol.get_name()
                if symbol.is_referenced():
                    reads.add(name)
                if symbol.is_assigned() or symbol.is_imported():
                    binds.add(name)
    return reads - BUILTINS, binds


def read(source: str, known: Known) -> Cell:
    """Return what a cell does; add to what is known."""
    cell, tree = Cell(), ast.parse(source)
    block(tree.body, cell, known)
    above = {
        child: parent
        for parent in ast.walk(tree)
        for child in ast.iter_child_nodes(parent)
    }
    for node in above:
        if isinstance(node, ast.Name) and may_change(node, above, known):
            cell.changes.add(node.id)
        if isinstance(node, ast.Expr):
            cell.everywhere |= bool(GLOBAL.match(ast.unparse(node)))
        if isinstance(node, ast.Attribute) and isinstance(
            node.ctx, ast.Store
        ):
            cell.everywhere |= (
                ast.unparse(node).partition(".")[0] in known.modules
            )
    cell.changes &= cell.reach - known.modules
    return cell


def parts(value: ast.AST) -> Iterator[str]:
    """Yield the names whose values an expression's value may hold."""
    if isinstance(value, ast.Name):
        yield value.id
    elif isinstance(value, UP):
        for each in ast.iter_child_nodes(value):
            yield from parts(each)
    elif isinstance(value, ast.Call) and root(value.func) not in (
        "np",
        *BUILTINS,
    ):
        for each in (*value.args, *(word.value for word in value.keywords)):
            yield from parts(each)


def block(body: Iterable[ast.AST], cell: Cell, known: Known) -> None:
    """Read statements in their order; loops run at least once."""
    for node in body:
        if isinstance(node, BLOCKS):
            before = {*cell.binds}
            inner = [*node.body, *getattr(node, "orelse", ())]
            inner += getattr(node, "finalbody", ())
            for handler in getattr(node, "handlers", ()):
                inner += handler.body
            parts: list[ast.AST] = [getattr(node, "test", ast.Pass())]
            if isinstance(node, ast.For):
                target = ast.Assign([node.target], ast.Constant(0))
                parts = [node.iter, target]
            elif isinstance(node, ast.With):
                parts = [ast.With(node.items, [ast.Pass()])]
            for part in parts:
                simple(ast.fix_missing_locations(part), cell, known)
            block(inner, cell, known)
            if isinstance(node, ast.If):  # perhaps they keep their values
                cell.reads |= cell.binds - before
        else:
            simple(node, cell, known)


def simple(node: ast.AST, cell: Cell, known: Known) -> None:
    """Read one statement or expression."""
    reads, binds = names_of(node)
    if isinstance(node, MADE):
        binds, cell.later[node.name] = {node.name}, reads
    else:
        cell.reads |= reads - cell.binds
        for part in ast.walk(node):
            if isinstance(part, ast.Lambda):
                inner = names_of(part)[0]
                for name in binds or {""}:
                    cell.later[name] = cell.later.get(name, set()) | inner
    if isinstance(node, ast.AugAssign):
        target = names_of(node.target)[0] | binds
        cell.reads |= target - cell.binds
    if isinstance(node, IMPORT):
        known.modules |= binds
    if isinstance(node, (*IMPORT, *MADE)) or (
        isinstance(node, ast.Assign) and constant(node.value)
    ):
        cell.fixed |= binds
    else:
        cell.fixed -= binds
        if isinstance(node, ast.Assign):
            cell.pairs.append((binds, {*parts(node.value)}))
        solid = isinstance(node, ast.Assign) and lasts(node.value)
        known.solid = known.solid | binds if solid else known.solid - binds
    cell.binds |= binds


def constant(value: ast.AST) -> bool:
    """Return whether nothing can change a value in place."""
    if isinstance(value, ast.Tuple):
        return all(map(constant, value.elts))
    if isinstance(value, ast.Call):
        return ast.unparse(value.func).rpartition(".")[2] in GAMES
    return isinstance(value, (ast.Constant, ast.JoinedStr, ast.Compare))


def lasts(value: ast.AST) -> bool:
    """Return whether one can loop over a value again and again."""
    if isinstance(value, ast.Tuple) and value.elts:
        return all(map(lasts, value.elts))  # each for a name of its own
    if isinstance(value, ast.Call):
        return root(value.func) in (
            "np",
            "list",
            "dict",
            "tuple",
            "set",
            "sorted",
            "range",
        )
    return isinstance(
        value,
        (
            ast.List,
            ast.Dict,
            ast.Set,
            ast.ListComp,
            ast.DictComp,
            ast.SetComp,
        ),
    )


def may_change(
    node: ast.expr, above: dict[ast.AST, ast.AST], known: Known
) -> bool:
    """Return whether the value of an expression may be changed here."""
    up = above[node]
    match up:
        case ast.AugAssign() | ast.Delete():
            return getattr(up, "value", None) is not node
        case ast.Subscript(slice=inside) if inside is node:
            return False
        case ast.Attribute() | ast.Subscript():
            if not isinstance(up.ctx, ast.Load):
                return True
            call = above[up]
            if isinstance(call, ast.Call) and call.func is up:
                if root(up) in known.modules:
                    return False
                return not (
                    isinstance(up, ast.Attribute) and PURE.fullmatch(up.attr)
                )
            return may_change(up, above, known)
        case ast.For():
            return True
        case ast.comprehension() | ast.Starred():
            return isinstance(node, ast.Name) and node.id not in known.solid
        case ast.keyword() | ast.Call():
            call = up if isinstance(up, ast.Call) else above[up]
            name = root(call.func)
            if call.func is node:
                return False
            if name in BUILTINS:
                return name in CONSUME
            if isinstance(above[call], ast.Expr):
                return name not in DRAW
            return name not in known.modules
    return isinstance(up, UP) and may_change(up, above, known)


def root(node: ast.AST) -> str:
    """Return the name that a dotted expression begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def needs(cells: Sequence[Cell], apart: Collection[int]) -> list[list[int]]:
    """Return for each cell the earlier ones it needs.

    Those `apart`, of exercises, are needed by one another only.
    """
    loose = {name for cell in cells for name in cell.binds - cell.fixed}
    found: list[list[int]] = []
    changes: list[set[str]] = []
    for i, cell in enumerate(cells):

        def use(j: int, i: int = i) -> bool:
            return j not in apart or i in apart

        need = {j for j in range(i) if cells[j].everywhere and use(j)}
        changed = {*cell.changes}
        todo = [(name, j) for j in (i, *need) for name in cells[j].reach]
        seen: set[tuple[str, int]] = set()
        while todo:
            name, at = todo.pop()
            binders = [
                j for j in range(at) if name in cells[j].binds and use(j)
            ]
            if not binders or (name, at) in seen:
                continue
            seen.add((name, at))
            last, new = binders[-1], {binders[-1]}
            called = cells[last].later.get(name, set())
            todo += [(each, i) for each in called]
            if at == i:
                changed |= cells[last].changes & called
            if name in loose:
                same = {name}
                for each in cells[: i + 1]:
                    for binds, held in each.pairs:
                        if name in binds:
                            same |= held & loose
                        if name in held:
                            same |= binds
                new |= {
                    k
                    for k in range(last + 1, at)
                    if use(k) and changes[k] & same
                }
            todo += [(each, j) for j in new - need for each in cells[j].reach]
            need |= new
        found.append(sorted(need))
        changes.append(changed)
    return found
