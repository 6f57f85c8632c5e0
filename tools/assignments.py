"""Make an nbgrader assignment of a page of the book: `assignment(page)` returns a notebook.

A page with exercises in their usual form has, for each of them, a Markdown cell with the
`{exercise}`, a code cell tagged `answer`, a Markdown cell with the `{solution}` and a code cell
tagged `solution`; both code cells end with `exercises.check("4.1", answer)`. Cells tagged
`needed` hold the earlier code that exercises rely on. The assignment consists of these cells
and the page's imports. `cfrbook.exercises` defines the points.
"""

from __future__ import annotations

import ast
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from notebooks import HOSTED

from cfrbook import exercises
from cfrbook.exercises.grading import ROUNDING

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
from repository import Unknown, addressed, place  # noqa: E402

BOOK, EXPERIMENTS = ROOT / "book", ROOT / "experiments"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
HINT = "<details><summary><em>Hint: click to open</em></summary>"
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

HEAD = f"""\
# {{title}}

{{count}} exercises, {{points}} points in all. They belong to the page of the book with this \
title: read `book/{{name}}.ipynb` first.

Run the cells before the first exercise. Then replace each `...` by your own code, or repair \
the code you are given. Run your cell and the `check_answer` cell below it, which tells you \
whether the answer is right and, if not, what may have gone wrong. You may try as often as you \
like. Before your work is graded, all code cells but yours are restored to their original text.

{ROUNDING}
"""

# The code that graded cells call. nbgrader takes all points away for any output on stderr, even
# a progress bar. It sets an environment variable while it grades; then an answer is deleted
# after its check, so that it cannot pass for the next exercise's answer if that cell failed.
CHECK = '''\
class NotYet(AssertionError):
    """Show the reply to an answer without the traceback."""

    def _render_traceback_(self):
        return [str(self)]


def check_answer(number, name, exercises=exercises):
    """Check the answer named `name`; raise NotYet if it is wrong."""
    import contextlib
    import io
    import os

    from IPython import get_ipython

    given, student = globals().get(name, ...), globals().get("student", "")
    above = getattr(get_ipython(), "last_execution_result", None)
    error = above and (above.error_before_exec or above.error_in_exec)
    if given is ... and error:
        # Python 3.13 raises a private subclass of SyntaxError
        kind = next(k.__name__ for k in type(error).__mro__ if not k.__name__.startswith("_"))
        text = f"{kind}: {error}".partition("\\n")[0][:200]
        raise NotYet(f"○ {number} · The cell above stopped with {text}")
    with contextlib.redirect_stderr(io.StringIO()):
        result = exercises.check(number, given, student=student)
    if name == "answer" and "NBGRADER_EXECUTION" in os.environ:
        globals().pop(name, None)
    if not result:
        raise NotYet(result)
    print(result)'''


@dataclass(frozen=True)
class Task:
    """The parts of one exercise that an assignment is made of.

    Attributes
    ----------
    number : str
        The number used in `exercises.check`, such as ``"4.1"``.
    text, reason : str
        The exercise and the explanation of its solution, in plain Markdown.
    form, worked : str
        The starter code and the code that computes the right answer, both without the check.
    name : str
        The name of the variable or function that is checked.
    """

    number: str
    text: str
    reason: str
    form: str
    worked: str
    name: str


# ---- reading a page --------------------------------------------------------------------------


def tags(cell: Any) -> list[str]:
    """Return the tags of a cell, none if a submission has something else in their place."""
    found = cell.metadata.get("tags")
    return list(found) if isinstance(found, list) else []


def checks(source: str) -> Iterator[tuple[str, str, ast.expr, str]]:
    """Yield number, code before, value and code after of each call of `exercises.check`."""
    lines = source.split("\n")
    for statement in ast.parse(source).body:
        for call in ast.walk(statement):
            match call:
                case ast.Call(func, [ast.Constant(str(number)), value]):
                    before = "\n".join(lines[: statement.lineno - 1]).rstrip()
                    after = "\n".join(lines[statement.end_lineno :]).strip()
                    if ast.unparse(func).endswith("exercises.check"):
                        yield number, before, value, after


def check_of(source: str, place: str) -> tuple[str, str, str]:
    """Split off the check at the end of a cell; return the code before it, number and name."""
    match [*checks(source)]:
        case [*_, (number, before, ast.Name(name), "")]:
            return before, number, name
    raise ValueError(f'{place} must end with exercises.check("4.1", a_name)')


def block(source: str, kind: str) -> str:
    """Return the directive `kind` of a Markdown cell, without the text around it."""
    found = re.search(rf"^(`{{3,}}|:{{3,}})\{{{kind}\}}.*?^\1\s*$", source, re.M | re.S)
    return found[0] if found else ""


def tasks(cells: Iterable[Any], titles: dict[str, str], place: str) -> Iterator[Task]:
    """Yield the exercises of a page, in order."""
    text = reason = form = name = number = ""
    for cell in cells:
        if cell.cell_type == "markdown":
            text = block(cell.source, "exercise") or text
            reason = block(cell.source, "solution") or reason
        elif "answer" in tags(cell):
            form, number, name = check_of(cell.source, f"{place}: an answer")
        elif "solution" in tags(cell):
            worked, same, found = check_of(cell.source, f"{place}: the solution of {number}")
            if same != number:
                raise ValueError(f"{place}: the solution after {number} checks {same}")
            if found != name:
                worked += f"\n{name} = {found}"
            words = plain(text, titles), plain(reason, titles)
            yield Task(number, *words, form, worked, name)


def page_title(path: Path) -> str:
    """Return the title of a page, with the number of its chapter."""
    source = nbformat.read(path, as_version=4).cells[0].source
    title = re.search(r"^# (.+)$", source, re.MULTILINE)
    number = re.match(r"\d+", path.stem)
    return (f"Chapter {int(number[0])}: " if number else "") + (
        title[1] if title else path.stem
    )


@cache
def page_titles() -> dict[str, str]:
    """Return the titles of all notebooks."""
    return {path.stem: page_title(path) for path in BOOK.glob("*.ipynb")}


def pages() -> list[Path]:
    """Return the pages that have gradable exercises."""
    found = sorted(BOOK.glob("*.ipynb"))
    return [p for p in found if any("answer" in tags(c) for c in read(p).cells)]


def read(path: Path) -> Any:
    """Return a notebook."""
    return nbformat.read(path, as_version=4)


# ---- Markdown for any notebook ---------------------------------------------------------------


def plain(text: str, titles: dict[str, str]) -> str:
    """Convert MyST directives and roles to plain Markdown, which any notebook can show.

    Handles exercises, hints, {doc}, {term}, {eq} and colored words; any other directive
    becomes its title and text.
    """
    lines: list[str] = []
    closers: list[tuple[str, list[str]]] = []
    for line in text.split("\n"):
        opens = re.match(r"^(`{3,}|:{3,})\{([\w:-]+)\}\s*(.*)$", line)
        if closers and line.strip() == closers[-1][0]:
            lines += closers.pop()[1]
        elif opens:
            fence, kind, title = opens.groups()
            hidden = kind == "hint"
            lines += [HINT, ""] if hidden else heading(kind, title)
            closers.append((fence, ["", "</details>"] if hidden else []))
        elif not (closers and re.match(r"^:[\w-]+:", line)):  # an option
            lines.append(line)
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    return roles(text, titles).strip()


def heading(kind: str, title: str) -> list[str]:
    """Return the lines that replace the opening line of a directive."""
    if kind == "solution":
        return []
    return [f"**{title}**" if kind == "exercise" or title else f"**{kind.title()}.**", ""]


def roles(text: str, titles: dict[str, str]) -> str:
    """Replace the roles in a text by plain words."""

    def words(match: re.Match[str]) -> str:
        kind, content = match[1], match[2]
        shown = re.fullmatch(r"(.*?)\s*<([^>]+)>", content, re.S)
        if kind == "doc":
            target = (shown[2] if shown else content).rpartition("/")[2]
            return shown[1] if shown else f"*{titles.get(target, target)}*"
        if kind in ("eq", "numref", "ref", "prf:ref") and not shown:
            return "the one on the page"
        return shown[1] if shown else content

    text = re.sub(r"\{([a-z:-]+)\}`([^`]+)`", words, text)
    text = re.sub(r"\[([^\]]+)\]\{\.[\w-]+\}", r"\1", text)  # a colored word
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)  # a link in the book


# ---- writing an assignment -------------------------------------------------------------------


def graded(cell: Any, grade_id: str, **options: Any) -> Any:
    """Return a cell with nbgrader's metadata."""
    settings: dict[str, Any] = {
        "grade": False,
        "solution": False,
        "locked": True,
        "task": False,
    }
    settings |= {"grade_id": grade_id, "schema_version": 3, **options}
    cell.id, cell.metadata["nbgrader"] = grade_id, settings
    return cell


def cells_of(task: Task) -> list[Any]:
    """Return the three cells of an exercise: text, answer, points."""
    exercise, base = exercises.find(task.number), "ex-" + task.number.replace(".", "-")
    worth = f"{exercise.points} point{'s' if exercise.points > 1 else ''}"
    head = f"## {task.number} · {exercise.title} ({worth})"
    text = re.sub(r"^\*\*.*\*\*", lambda _: head, task.text)
    why = re.sub(r"\b([Tt]he cells?) below\b", r"\1's code", task.reason)
    lines = [textwrap.wrap(part, 76) or [""] for part in why.split("\n")]
    why = "\n".join(f"# {line}".rstrip() for part in lines for line in part)
    answer = f"{task.form}\n\n{BEGIN}\n{why}\n\n{task.worked}\n{END}"
    return [
        graded(new_markdown_cell(text), f"{base}-text"),
        graded(new_code_cell(answer), f"{base}-answer", solution=True, locked=False),
        graded(
            new_code_cell(f'check_answer("{task.number}", "{task.name}")'),
            f"{base}-points",
            grade=True,
            points=exercise.points,
        ),
    ]


def assignment(path: Path) -> Any:
    """Return the source of an assignment, including the solutions that nbgrader removes."""
    nb, titles = read(path), page_titles()
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    imports = next(cell for cell in code if "remove-cell" not in tags(cell))
    needed = [cell.source for cell in code if "needed" in tags(cell)]
    found = list(tasks(nb.cells, titles, path.name))
    total = sum(exercises.find(task.number).points for task in found)
    title = titles[path.stem]
    head = HEAD.format(title=title, count=len(found), points=total, name=path.stem)
    cells = [graded(new_markdown_cell(head), "head")]
    with suppress(Unknown):  # for Colab; the command says if there is no address
        cells.append(graded(new_code_cell(addressed(HOSTED, *place(ROOT))), "hosted"))
    setup = [imports.source, *needed, CHECK]
    cells += [graded(new_code_cell(s), f"given-{n}") for n, s in enumerate(setup, 1)]
    cells += [cell for task in found for cell in cells_of(task)]
    made = new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    nbformat.validate(made)
    return made


def files_of(nb: Any) -> list[Path]:
    """Return the files in experiments/ that the code of an assignment loads."""
    found: set[Path] = set()
    for cell in nb.cells:
        if cell.cell_type != "code":
            continue
        for node in ast.walk(ast.parse(cell.source)):
            if isinstance(node, ast.JoinedStr):
                parts = [p.value if isinstance(p, ast.Constant) else "*" for p in node.values]
                pattern = "".join(map(str, parts))
            else:
                pattern = str(node.value) if isinstance(node, ast.Constant) else ""
            if re.fullmatch(r"[\w*./-]*[\w]\.(json|npz)", pattern) and ".." not in pattern:
                found.update(EXPERIMENTS.glob(pattern.lstrip("/")))
    return sorted(found)
