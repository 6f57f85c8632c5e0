"""Python on a page: what runs a reader's program, in the browser.

The package works here without what only makes it fast: Numba's decorators return the function,
and where there is no NumPy, the small one beside this file takes its place.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import io
import json
import linecache
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

FILE = "your program"
SPARED = ("fcntl", "numba", "llvmlite", "tqdm", "cfrlib.montecarlo.partial_tree")
ELSEWHERE = ("scipy", "matplotlib", "jax", "IPython")
COMPILED = ("cfrlib.montecarlo.mccfr", "cfrlib.montecarlo.oos", "cfrlib.deep")


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


class Output(io.TextIOBase):
    """What a program prints, as soon as it does."""

    def __init__(self, show: Callable[[str], object]):
        self.show = show

    def write(self, text: str) -> int:
        """Show a text."""
        if text:
            self.show(text)
        return len(text)


def prepare(small: bool, show: Callable[[str], object] | None = None) -> None:
    """Let the package be imported without Numba.

    Parameters
    ----------
    small : bool
        Whether the small NumPy takes the place of NumPy.
    show : callable, optional
        Gets what a program prints.
    """
    if small:
        sys.path.insert(0, str(Path(__file__).parent / "small"))
    sys.meta_path.insert(0, Finder(COMPILED if small else ()))
    if show:
        sys.stdout = sys.stderr = Output(show)


def run(number: str, program: str, answer: str, imports: list[str]) -> str:
    """Run a program, check the answer that it defines, and return what happened, as JSON.

    Parameters
    ----------
    number, program : str
        Number of the exercise, and the text of the reader's program.
    answer : str
        The expression to check; "" if the page checks nothing.
    imports : list of str
        The imports of the page, one a statement; those that fail are left out.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    for line in imports:
        with suppress(ImportError):
            exec(line, names)
    linecache.cache[FILE] = (
        len(program),
        None,
        program.splitlines(keepends=True),
        FILE,
    )
    try:
        exec(compile(program, FILE, "exec"), names)
        value = eval(answer, names) if answer else None
    except BaseException as error:  # `exit()` ends the program, not the page
        return json.dumps({"error": described(error)})
    if not answer:
        return json.dumps({})
    from cfrbook import exercises

    feedback = exercises.check(number, value)
    return json.dumps({"verdict": feedback.verdict, "text": feedback.text})


def described(error: BaseException) -> str:
    """Return an error with the last of the reader's lines that led to it."""
    told = traceback.TracebackException.from_exception(error)
    told.stack = traceback.StackSummary.from_list(
        [frame for frame in told.stack if frame.filename == FILE][-1:]
    )
    lines = [*told.stack.format(), *told.format_exception_only()]
    return "".join(lines).replace(f'File "{FILE}", line', "Line").rstrip()
