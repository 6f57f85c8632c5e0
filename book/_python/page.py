"""Python on a page: what runs a reader's program, in the browser."""

from __future__ import annotations

import io
import linecache
import logging
import re
import sys
import traceback
from collections.abc import Sequence
from contextlib import redirect_stdout, suppress
from json import dumps, loads
from symtable import symtable
from typing import Any

import packages

FILE = "your program"


def prepare(home: str, number: str = "") -> None:
    """Let NumPy and the packages be imported, and import what most programs need.

    Parameters
    ----------
    home : str
        Address of the folder with Pyodide and its packages.
    number : str
        Number of an exercise of the page, whose checks are loaded if there are any.
    """
    packages.install(home)
    import stand_ins

    stand_ins.install()
    logging.getLogger("matplotlib").setLevel(logging.ERROR)  # it tells of its font cache
    import cfrlib

    assert cfrlib
    if number:
        with suppress(ImportError):
            from cfrbook import exercises

            exercises.find(number)


def import_all(imports: Sequence[str], program: str) -> dict[str, Any]:
    """Return the names that a page's imports define, of those that a program has."""
    names: dict[str, Any] = {"__name__": "__main__", "display": print}
    words = set(re.findall(r"\w+", program))
    for line in imports:
        if line.split()[-1] in words:
            with suppress(ImportError):
                exec(line, names)
    return names


def run(number: str, program: str, answer: str, imports: Sequence[str], above: str) -> str:
    """Run a program, check the answer that it defines, and return what happened, as JSON.

    Parameters
    ----------
    number, program : str
        Number of the exercise, and the text of the reader's program.
    answer : str
        The expression to check; "" if the page checks nothing.
    imports : sequence of str
        The imports of the page.
    above : str
        The cells above the exercise, as `book/_ext/cells.py` writes them; None for solutions.
    """
    raw = io.FileIO(1, "w", closefd=False)  # without a buffer: each print shows at once
    out = io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = out  # type: ignore[misc]
    linecache.cache[FILE] = (
        len(program),
        None,
        program.splitlines(keepends=True),
        FILE,
    )
    try:
        return dumps(outcome(number, program, answer, imports, loads(above)))
    except BaseException as error:  # `exit()` ends the program, not the page
        return dumps({"error": described(error)})


def outcome(
    number: str, program: str, answer: str, imports: Sequence[str], above: list[Any]
) -> dict[str, str]:
    """Return the verdict and the text of a check, or nothing if there is none."""
    code = compile(program, FILE, "exec")
    names = import_all(imports, whole := f"{program}\n{answer}")
    for source in needed(free_names(whole) - {*names}, above):
        with redirect_stdout(io.StringIO()), suppress(Exception):
            exec(compile(source, "a cell above", "exec"), names)
    exec(code, names)
    if not answer:
        return {}
    value = eval(answer, names)
    from cfrbook import exercises

    feedback = exercises.check(number, value)
    return {"verdict": feedback.verdict, "text": feedback.text}


def free_names(program: str) -> set[str]:
    """Return the names that a program reads and does not define."""
    top = symtable(program, FILE, "exec")
    tables, read = [top], set()
    for table in tables:
        tables += table.get_children()
        symbols = table.get_symbols()
        read |= {
            s.get_name()
            for s in symbols
            if s.is_referenced() and (s.is_global() or table is top)
        }
    defined = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    return read - defined


def needed(names: set[str], above: list[Any]) -> list[str]:
    """Return the sources of the cells that define names, and of those that these need."""
    found: set[int] = set()
    waiting = [
        max((k for k, cell in enumerate(above) if cell and name in cell["names"]), default=-1)
        for name in names
    ]
    while waiting:
        k = waiting.pop()
        if k >= 0 and k not in found:
            found.add(k)
            waiting += above[k]["needs"]
    return [above[k]["source"] for k in sorted(found)]


def described(error: BaseException) -> str:
    """Return an error with the last of the reader's lines that led to it."""
    told = traceback.TracebackException.from_exception(error)
    told.stack = traceback.StackSummary.from_list(
        [frame for frame in told.stack if frame.filename == FILE][-1:]
    )
    lines = [*told.stack.format(), *told.format_exception_only()]
    return "".join(lines).replace(f'File "{FILE}", line', "Line").rstrip()
