"""A program with a wrong line: copies of a right one in which a line is replaced."""

from __future__ import annotations
import __future__

import inspect
import linecache
from collections.abc import Callable, Mapping
from functools import cache
from textwrap import dedent, indent
from typing import Any, TypeVar
from zlib import crc32

Program = TypeVar("Program", bound="Callable[..., Any]")  # a function or a class


def mutant(program: Program, lines: Mapping[str, str]) -> Program:
    """Return a copy of a program in which lines are replaced.

    The copy sees the same global variables, now and later. Where the program calls itself, the
    copy calls the copy. Tracebacks show the copy's lines.

    Parameters
    ----------
    program : function or class
        A program written in Python, at the top level of a module or a notebook. Of a class, the
        classes of the same module that it inherits from belong to the program.
    lines : mapping
        The lines to replace, and what replaces each: a line or several. Both are written
        without their indentation.

    Raises
    ------
    ValueError
        If the program does not have a line exactly once.

    Examples
    --------
    >>> def countdown(n):
    ...     if n == 0:
    ...         return [0]
    ...     return [n, *countdown(n - 1)]
    >>> mutant(countdown, {"return [n, *countdown(n - 1)]": "return [n, *countdown(n - 2)]"})(4)
    [4, 2, 0]
    """
    copy: Program = _mutant(program, tuple(lines.items()))
    return copy


@cache
def _mutant(program: Any, lines: tuple[tuple[str, str], ...]) -> Any:
    """Return the copy, given what a cache can have as its key."""
    return _compiled(program, replaced(program, dict(lines)))


def replaced(program: Callable[..., Any], lines: Mapping[str, str]) -> str:
    """Return the source of a program after lines are replaced; see `mutant`."""
    found = source(program).split("\n")
    for old, new in lines.items():
        at = [n for n, line in enumerate(found) if line.strip() == old]
        if len(at) != 1:
            raise ValueError(
                f"cannot replace a line that {program.__name__} has {len(at)} times, not once: "
                f"{old!r}"
            )
        margin = found[at[0]].removesuffix(found[at[0]].lstrip())
        found[at[0]] = indent(new, margin)
    return "\n".join(found)


def changed(function: Program, pieces: Mapping[str, str]) -> Program:
    """Return a copy of a function in which pieces of its source are replaced.

    Like `mutant`, but for pieces of lines, each of which must occur exactly once. Nothing is
    remembered, so the function may be one that a reader is still changing.

    Examples
    --------
    >>> def countdown(n):
    ...     return [n, *countdown(n - 1)] if n > 0 else []
    >>> changed(countdown, {"n - 1": "n - 2"})(5)
    [5, 3, 1]
    """
    text = source(function)
    for old, new in pieces.items():
        if (times := text.count(old)) != 1:
            raise ValueError(
                f"{function.__name__} has the piece {old!r} {times} times, not once"
            )
        text = text.replace(old, new)
    return _compiled(function, text)


def source(program: Callable[..., Any]) -> str:
    """Return the source of a function, or of a class and the classes it inherits from.

    Examples
    --------
    >>> from cfrlib.plain import OutcomeSamplingSolver
    >>> source(OutcomeSamplingSolver).count("class ")
    3
    """
    parts: list[Any] = [program]
    if isinstance(program, type):
        kin = (base for base in program.__mro__ if base.__module__ == program.__module__)
        parts = list(kin)[::-1]
    return "\n\n".join(dedent(inspect.getsource(part)) for part in parts)


def _compiled(program: Program, text: str) -> Program:
    """Return the program that a changed source defines."""
    # Inside another function its own name is a local variable, so the original stays as it is.
    text = f"def copy():\n{indent(text, '    ')}\n    return {program.__name__}"
    file = f"<a copy of {program.__name__}, {crc32(text.encode()):08x}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict[str, Any] = {}
    code = compile(text, file, "exec", __future__.annotations.compiler_flag)
    scope = (
        vars(inspect.getmodule(program)) if isinstance(program, type) else program.__globals__
    )
    exec(code, scope, space)
    copy: Program = space["copy"]()
    return copy
