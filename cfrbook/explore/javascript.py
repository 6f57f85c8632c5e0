"""Translate a small part of Python into JavaScript, which `program.js` runs."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator

OPERATORS: dict[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Mod: "%", ast.And: "&&", ast.Or: "||",
    ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.USub: "-", ast.Not: "!",
}  # fmt: skip


def pieces(source: str, shown: int, run: str) -> list[str]:
    """Return a program in JavaScript, in pieces: one or two for each statement.

    Names end in a dollar sign, so none is a word of JavaScript. Each of the first `shown` lines
    calls `trace`, if there is one, with its number and the local variables. The last piece
    returns how to `run` the program, and its `tables`: what it stores in global variables.

    Raises
    ------
    ValueError
        If the program uses more of Python than the translator knows.

    Examples
    --------
    >>> pieces("x = 1 / 2", shown=0, run="x")[:2]
    ['let x$;', 'x$ = div(1, 2);']
    """
    tree = ast.parse(source)
    plain = [node for node in tree.body if not isinstance(node, ast.FunctionDef)]
    tables = ", ".join(f"{name}: {name}$" for node in plain for name in stored(node))
    start = js(ast.parse(run, mode="eval").body)
    end = f"return {{ run: (iterations$) => {start}, tables: () => ({{{tables}}}) }};"
    return [declared(tree, ()), *block(tree.body, [], shown), end]


def declared(scope: ast.AST, known: tuple[str, ...]) -> str:
    """Return the declaration of all variables of a function or module that are not known."""
    names = [name for name in stored(scope) if name not in known]
    return f"let {', '.join(name + '$' for name in names)};" if names else ""


def stored(scope: ast.AST) -> list[str]:
    """Return the names that a function or module assigns, but for loops in comprehensions."""
    found: dict[str, None] = {}
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found[node.id] = None
        elif not isinstance(node, (ast.FunctionDef, ast.comprehension)):
            found |= dict.fromkeys(stored(node))
    return list(found)


def block(body: list[ast.stmt], names: list[str], shown: int) -> Iterator[str]:
    """Yield the pieces of statements in which these local variables are seen."""
    for node in body:
        mark = ""
        if node.lineno <= shown and not isinstance(node, ast.FunctionDef):
            local = ", ".join(f"{name}: {name}$" for name in names)
            mark = f"if (trace) trace({node.lineno}, {{{local}}}); "
        match node:
            case ast.FunctionDef(name=name, args=ast.arguments(args=args, defaults=defaults)):
                known = tuple(arg.arg for arg in args)
                given = [None] * (len(args) - len(defaults)) + defaults
                head = ", ".join(
                    f"{arg}$" + (f" = {js(default)}" if default else "")
                    for arg, default in zip(known, given, strict=True)
                )
                yield f"function {name}$({head}) {{ {declared(node, known)}"
                yield from block(node.body, list(dict.fromkeys([*known, *stored(node)])), shown)
                yield "}"
            case ast.For(target=target, iter=source, orelse=[]):
                yield f"{mark}for ({js(target)} of iter({js(source)})) {{"
                yield from block(node.body, names, shown)
                yield "}"
            case ast.If(test=test):
                yield f"{mark}if ({js(test)}) {{"
                yield from block(node.body, names, shown)
                yield "} else {"
                yield from block(node.orelse, names, shown)
                yield "}"
            case ast.Assign(targets=[ast.Subscript(value=table, slice=key)], value=value):
                yield f"{mark}put({js(table)}, {js(key)}, {js(value)});"
            case ast.Assign(targets=[target], value=value):
                yield f"{mark}{js(target)} = {js(value)};"
            case ast.AugAssign(target=ast.Subscript(value=table, slice=key) as target):
                value = ast.BinOp(target, node.op, node.value)
                yield f"{mark}put({js(table)}, {js(key)}, {js(value)});"
            case ast.AugAssign(target=target):
                yield f"{mark}{js(target)} = {js(ast.BinOp(target, node.op, node.value))};"
            case ast.Return(value=ast.expr() as value):
                yield f"{mark}return {js(value)};"
            case ast.Return():
                yield f"{mark}return null;"
            case ast.Expr(value=ast.Constant()):
                yield ""  # a docstring
            case ast.Expr(value=value):
                yield f"{mark}{js(value)};"
            case ast.Pass():
                yield mark
            case _:
                raise unknown(node)


def js(node: ast.expr) -> str:
    """Return an expression in JavaScript."""
    match node:
        case ast.Constant(value=value):
            return json.dumps(value)
        case ast.Name(id=name):
            return f"{name}$"
        case ast.List(elts=parts, ctx=ast.Load()):
            return f"list$([{', '.join(map(js, parts))}])"
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            return f"[{', '.join(map(js, parts))}]"
        case ast.Starred(value=value):
            return f"...iter({js(value)})"
        case ast.Dict(keys=keys, values=values) if all(keys):
            pairs = (f"[{js(k)}, {js(v)}]" for k, v in zip(keys, values, strict=True) if k)
            return f"dict$([{', '.join(pairs)}])"
        case ast.BinOp(left=left, op=ast.Div(), right=right):
            return f"div({js(left)}, {js(right)})"
        case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
            return f"({js(left)} {OPERATORS[type(op)]} {js(right)})"
        case ast.UnaryOp(op=op, operand=operand) if type(op) in OPERATORS:
            return f"({OPERATORS[type(op)]}{js(operand)})"
        case ast.BoolOp(op=op, values=values):
            return f"({f' {OPERATORS[type(op)]} '.join(map(js, values))})"
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            return f"equal({js(left)}, {js(right)})"
        case ast.Compare(left=left, ops=[ast.NotEq()], comparators=[right]):
            return f"!equal({js(left)}, {js(right)})"
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in OPERATORS:
            return f"({js(left)} {OPERATORS[type(op)]} {js(right)})"
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return f"({js(test)} ? {js(body)} : {js(orelse)})"
        case ast.Attribute(value=ast.Name(id="cfr"), attr=kind):
            return json.dumps(kind)
        case ast.Attribute(value=value, attr=name):
            return f'attribute({js(value)}, "{name}")'
        case ast.Subscript(value=value, slice=key):
            return f"at({js(value)}, {js(key)})"
        case ast.Call(func=ast.Name(id="max"), args=[values], keywords=[ast.keyword("key", f)]):
            return f"max$.by({js(values)}, {js(f)})"
        case ast.Call(func=ast.Attribute(value=value, attr=name), args=args, keywords=[]):
            return f"{js(value)}.{name}({', '.join(map(js, args))})"
        case ast.Call(func=function, args=args, keywords=[]):
            return f"{js(function)}({', '.join(map(js, args))})"
        case ast.DictComp(key=key, value=value, generators=loops):
            return f"dict$({looped(f'[{js(key)}, {js(value)}]', loops)})"
        case ast.SetComp(elt=elt, generators=loops):
            return f"dict$.fromkeys({looped(js(elt), loops)})"
        case (
            ast.ListComp(elt=elt, generators=loops)
            | ast.GeneratorExp(elt=elt, generators=loops)
        ):
            return looped(js(elt), loops)
    raise unknown(node)


def looped(result: str, loops: list[ast.comprehension]) -> str:
    """Return the list of the results of a comprehension."""
    step = "map"
    for loop in reversed(loops):
        target = js(loop.target)
        kept = "".join(f".filter(({target}) => {js(test)})" for test in loop.ifs)
        result, step = f"iter({js(loop.iter)}){kept}.{step}(({target}) => {result})", "flatMap"
    return result


def unknown(node: ast.AST) -> ValueError:
    """Return the error for a part of Python that is not translated."""
    return ValueError(
        f"a program with holes cannot contain {ast.unparse(node)!r}: write it with the "
        "statements and expressions of cfrbook/explore/javascript.py"
    )
