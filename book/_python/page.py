"""Python on a page: what runs a reader's program, in the browser.

The package works here without what only makes it fast: Numba's decorators return the function,
and where there is no NumPy, the small one beside this file takes its place.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import io
import linecache
import random
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from json import dumps
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

FILE = "your program"
SPARED = ("fcntl", "numba", "llvmlite", "tqdm", "cfrlib.montecarlo.tree_records")
ELSEWHERE = ("scipy", "matplotlib", "jax", "IPython")
COMPILED = ("cfrlib.montecarlo.mccfr", "cfrlib.large", "cfrlib.online", "cfrlib.deep")


class Spared(type):
    """A class that stands for everything in a module: decorators, types, signatures."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __getitem__(cls, key: object) -> Any:
        return cls

    def __call__(cls, *given: Any, **options: Any) -> Any:
        if cls.__bases__ != (object,):  # a class of ours below it
            return super().__call__(*given, **options)
        return given[0] if len(given) == 1 and isinstance(given[0], FunctionType) else cls


class Absent(Spared):
    """The same for a module that is missed: calling anything in it is an error."""

    def __call__(cls, *given: Any, **options: Any) -> Any:
        raise ImportError(f"this page has no {cls.__name__}; the notebook has it")


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds the modules that a page does without."""

    def __init__(self, absent: tuple[str, ...]):
        self.absent = absent

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Return the spec of a module that stands for an absent one."""
        if name in ELSEWHERE:
            raise ModuleNotFoundError(f"this page has no {name}; the notebook has it")
        if any(f"{name}.".startswith(f"{each}.") for each in (*SPARED, *self.absent)):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Let the module have every name."""
        kind = Absent if module.__name__ in self.absent else Spared
        stand_in = kind(module.__name__, (), {})
        module.__getattr__ = lambda name: getattr(stand_in, name)  # type: ignore[method-assign]


def prepare(small: bool, imports: Sequence[str] = (), number: str = "") -> None:
    """Let the package be imported without Numba, and import what programs will need.

    Parameters
    ----------
    small : bool
        Whether the small NumPy takes the place of NumPy.
    imports : sequence of str
        The imports of the page, one a statement; those that fail are left out.
    number : str
        Number of an exercise of the page, whose checks are loaded if there are any.
    """
    if small:
        sys.path.insert(0, str(Path(__file__).parent / "small"))
    sys.meta_path.insert(0, Finder(COMPILED if small else ()))
    import_all(imports)
    if number:
        with suppress(ImportError):
            from cfrbook import exercises

            exercises.find(number)


def import_all(imports: Sequence[str]) -> dict[str, Any]:
    """Return the names that a page's imports define."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for line in imports:
        with suppress(ImportError):
            exec(line, names)
    return names


def run(number: str, program: str, answer: str, imports: Sequence[str]) -> str:
    """Run a program, check the answer that it defines, and return what happened, as JSON.

    Parameters
    ----------
    number, program : str
        Number of the exercise, and the text of the reader's program.
    answer : str
        The expression to check; "" if the page checks nothing.
    imports : sequence of str
        The imports of the page.
    """
    raw = io.FileIO(1, "w", closefd=False)  # without a buffer: each print shows at once
    out = io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True)
    sys.stdout = sys.stderr = sys.__stdout__ = sys.__stderr__ = out  # type: ignore[misc]
    random.seed()  # restored memory has the state of the first run
    linecache.cache[FILE] = (
        len(program),
        None,
        program.splitlines(keepends=True),
        FILE,
    )
    try:
        return dumps(outcome(number, program, answer, import_all(imports)))
    except BaseException as error:  # `exit()` ends the program, not the page
        return dumps({"error": described(error)})


def outcome(number: str, program: str, answer: str, names: dict[str, Any]) -> dict[str, str]:
    """Return the verdict and the text of a check, or nothing if there is none."""
    exec(compile(program, FILE, "exec"), names)
    if not answer:
        return {}
    value = eval(answer, names)
    from cfrbook import exercises

    feedback = exercises.check(number, value)
    return {"verdict": feedback.verdict, "text": feedback.text}


def described(error: BaseException) -> str:
    """Return an error with the last of the reader's lines that led to it."""
    told = traceback.TracebackException.from_exception(error)
    told.stack = traceback.StackSummary.from_list(
        [frame for frame in told.stack if frame.filename == FILE][-1:]
    )
    lines = [*told.stack.format(), *told.format_exception_only()]
    return "".join(lines).replace(f'File "{FILE}", line', "Line").rstrip()
