"""Runs the code cells of a page, as a notebook does, in Python on the page.

`fresh()` returns new names; `run()` runs a cell with them and reports what it prints and shows.
"""

from __future__ import annotations

import ast
import io
import linecache
import os
import re
import sys
import traceback
from collections.abc import Callable
from textwrap import dedent
from types import ModuleType
from typing import Any

Emit = Callable[[str, str], None]
MOST = 20_000  # characters of printed text, or of one text that is shown
FILE = "cell {}"
FORMS = ("html", "svg", "markdown", "latex")  # the first of them that a value has is shown

DRAWS = re.compile(r"(plot|explore|exercises)\.")


class Out(io.TextIOBase):
    """Standard output: what is printed is reported line by line, up to a limit."""

    def __init__(self, emit: Emit):
        self.emit, self.line, self.left = emit, "", MOST

    def writable(self) -> bool:
        """Return True: programs may ask."""
        return True

    def write(self, text: str) -> int:
        """Take a text; report it once its line is complete."""
        if self.left >= 0:
            self.line += text[: self.left + 1]
            self.left -= len(text)
            if "\n" in text or self.left < 0:
                self.flush()
            if self.left < 0:
                self.emit("print", "\n… and more that is not shown.\n")
        return len(text)

    def flush(self) -> None:
        """Report what there is."""
        line, self.line = self.line, ""
        if line:
            self.emit("print", line)


class Shown:
    """Stands for HTML, Markdown and SVG of IPython, which a page does not have."""

    def __init__(self, data: Any = "", **_: Any):
        self.data = str(data)


def shown_as(name: str, form: str) -> type[Shown]:
    """Return a class like IPython's whose values are shown in this form."""
    return type(name, (Shown,), {f"_repr_{form}_": lambda self: self.data})


def fresh() -> dict[str, Any]:
    """Return the names of a notebook in which nothing has run."""
    os.environ["CFRLIB_PAGE"] = "1"  # explorables and tables are drawn for a page
    module = sys.modules["__main__"] = ModuleType("__main__")
    return module.__dict__


def run(source: str, n: int, names: dict[str, Any], report: Emit, quiet: bool = False) -> bool:
    """Run a cell; return whether it ended with an error.

    Parameters
    ----------
    source : str
        The code.
    n : int
        Number of the cell on its page.
    names : dict
        What earlier cells have defined; the cell adds to it.
    report : function
        Called with a kind and a text: "print", "html", "text" or "error".
    quiet : bool
        Whether only errors are reported, and nothing is drawn: others need what the cell
        defines, and its output is on the page.
    """
    emit = report if not quiet else lambda *_: None
    out, file = Out(emit), FILE.format(n)
    sys.stdout = sys.stderr = out
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)

    def display(*values: Any, **_: Any) -> None:
        out.flush()
        for value in values:
            emit(*form_of(value))

    def show(*_: Any, **__: Any) -> None:
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            display(*map(pyplot.figure, pyplot.get_fignums()))
            pyplot.close("all")

    names["display"] = display
    stand_in(display)
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.show = show  # type: ignore[attr-defined]
    try:
        tree, value = ast.parse(source, file), None
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, file, "exec"), names)
        if isinstance(last, ast.Expr) and not (quiet and DRAWS.match(ast.unparse(last))):
            value = eval(compile(ast.Expression(last.value), file, "eval"), names)
            if value is not None and not quiet and not source.rstrip().endswith(";"):
                display(value)
        if not quiet:
            show()
    except BaseException as error:  # `exit()` ends the cell, not the page
        out.flush()
        report("error", cut(described(error, file)))
        return True
    out.flush()
    return False


def form_of(value: Any) -> tuple[str, str]:
    """Return how a value is shown: the kind of event, and its text."""
    figure = getattr(sys.modules.get("matplotlib.figure"), "Figure", ())
    if isinstance(value, figure):
        from cfrbook import plot

        words = 'role="img" aria-label="A figure." fill="currentColor"'
        svg = plot.inline_svg(value, words).replace("#000000", "currentColor")
        return "html", f'<figure class="cfr-figure">{svg}</figure>'
    if not isinstance(value, type):
        bundle = getattr(value, "_repr_mimebundle_", dict)()
        if "text/html" in bundle:
            return "html", bundle["text/html"]
        for form in FORMS:
            text = getattr(value, f"_repr_{form}_", lambda: None)()
            if text is not None:
                return "html" if form in ("html", "svg") else "text", cut(text, form)
    return "text", cut(repr(value))


def cut(text: str, form: str = "") -> str:
    """Return a text, not too long for a page."""
    return text if form in ("html", "svg") or len(text) <= MOST else f"{text[:MOST]} …"


def stand_in(display: Callable[..., None]) -> None:
    """Put in place what cells import from IPython, if it is absent."""
    if "IPython" not in sys.modules:
        package, part = ModuleType("IPython"), ModuleType("IPython.display")
        package.__path__ = []
        for name, form in (("HTML", "html"), ("SVG", "svg"), ("Markdown", "markdown")):
            setattr(part, name, shown_as(name, form))
        vars(package).update(display=part, version_info=(9,), get_ipython=lambda: None)
        sys.modules |= {"IPython": package, "IPython.display": part}
    sys.modules["IPython.display"].display = display  # type: ignore[attr-defined]


def described(error: BaseException, file: str) -> str:
    """Return an error with the reader's lines that led to it."""
    told = traceback.TracebackException.from_exception(error)
    ours = FILE.format("")
    told.stack = traceback.StackSummary.from_list(
        [frame for frame in told.stack if frame.filename.startswith(ours)]
    )
    where = dedent("".join(told.stack.format()))
    text = "".join([where, *told.format_exception_only()]).removeprefix("  ")
    text = text.replace(f'File "{file}", line', "Line").replace(", in <module>", "")
    for frame in told.stack:
        text = text.replace(f'File "{frame.filename}", line', "In an earlier cell, line")
    return text.rstrip()
