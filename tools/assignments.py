"""Make an nbgrader assignment of a page of the book: `assignment(page)` returns a notebook.

A page with exercises in their usual form has, for each of them, a Markdown cell with the
`{exercise}`, a code cell tagged `answer`, a Markdown cell with the `{solution}` and a code cell
tagged `solution`; both code cells end with `exercises.check("4.1", answer)`. Cells tagged
`needed` are the earlier code that exercises rely on. The assignment consists of these and of
the page's imports; its points are those of `cfrlib.exercises`.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from cfrlib import exercises

ROOT = Path(__file__).resolve().parents[1]
BOOK, EXPERIMENTS = ROOT / "book", ROOT / "experiments"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
HINT = "<details><summary><em>Hint: click to open</em></summary>"
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"

HEAD = """\
# {title}

{count} exercises, {points} points in all. They belong to the page of the book with this \
title: read `book/{name}.ipynb` first.

Run the cells before the first exercise. Then write where `...` stands, or repair the code you \
are given; run your cell, and the one below it, `check_answer`: it says whether the answer is \
right, and if not, what may have gone wrong. You may try as often as you like. Cells of code \
that are not yours are put back to what they were before your work is graded.
"""

# What the cells that give points call. nbgrader takes all points away for anything on stderr,
# be it a progress bar, and tells in an environment variable that it is grading. Then an answer
# counts only once, so that it is not taken for that of the next exercise if its cell failed.
CHECK = '''\
class NotYet(AssertionError):
    """Shows what is said about an answer, and not the code that said it."""

    def _render_traceback_(self):
        return [str(self)]


def check_answer(number, name):
    """Say whether the answer called `name` is right, and fail if it is not."""
    import contextlib
    import io
    import os

    with contextlib.redirect_stderr(io.StringIO()):
        said = exercises.check(number, globals().get(name, ...))
    if name == "answer" and "NBGRADER_EXECUTION" in os.environ:
        globals().pop(name, None)
    if not said:
        raise NotYet(said)
    print(said)'''


@dataclass(frozen=True)
class Task:
    """One exercise as an assignment needs it.

    Attributes
    ----------
    number : str
        As the check names it: ``"4.1"``.
    text, reason : str
        The exercise and the explanation of its solution, in plain Markdown.
    form, worked : str
        Code: what a student begins with, and what gives the right answer; without the check.
    name : str
        Of the variable, or function, that is checked.
    """

    number: str
    text: str
    reason: str
    form: str
    worked: str
    name: str


# ---- reading a page --------------------------------------------------------------------------


def tags(cell: Any) -> list[str]:
    """Return the tags of a cell."""
    return list(cell.metadata.get("tags", []))


def check_of(source: str, place: str) -> tuple[str, str, str]:
    """Split off the check that ends a cell; return the code before it, the number, the name."""
    last = ast.parse(source).body[-1]
    call = last.value if isinstance(last, ast.Expr) else None
    if not (
        isinstance(call, ast.Call)
        and ast.unparse(call.func) == "exercises.check"
        and len(call.args) == 2
        and isinstance(call.args[0], ast.Constant)
        and isinstance(call.args[1], ast.Name)
    ):
        raise ValueError(f'{place} must end with exercises.check("4.1", a_name)')
    before = "\n".join(source.split("\n")[: last.lineno - 1]).rstrip()
    return before, str(call.args[0].value), call.args[1].id


def block(source: str, kind: str) -> str:
    """Return the directive `kind` of a Markdown cell, without what stands around it."""
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
    """Return the pages that have exercises in the form that assignments are made of."""
    found = sorted(BOOK.glob("*.ipynb"))
    return [p for p in found if any("answer" in tags(c) for c in read(p).cells)]


def read(path: Path) -> Any:
    """Return a notebook."""
    return nbformat.read(path, as_version=4)


# ---- Markdown for any notebook ---------------------------------------------------------------


def plain(text: str, titles: dict[str, str]) -> str:
    """Turn MyST's directives and roles into Markdown that every notebook shows.

    An exercise and its hint, {doc}, {cite}, {term}, {eq}, and colored words are known; another
    directive becomes its title and text.
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
    """Return what stands in place of the line that opens a directive."""
    if kind == "solution":
        return []
    return [f"**{title}**" if kind == "exercise" or title else f"**{kind.title()}.**", ""]


def roles(text: str, titles: dict[str, str]) -> str:
    """Replace the roles in a text by words."""

    def words(match: re.Match[str]) -> str:
        kind, content = match[1], match[2]
        shown = re.fullmatch(r"(.*?)\s*<([^>]+)>", content, re.S)
        if kind == "doc":
            target = (shown[2] if shown else content).rpartition("/")[2]
            return shown[1] if shown else f"*{titles.get(target, target)}*"
        if kind.startswith("cite"):
            return "(" + "; ".join(authors(key) for key in content.split(",")) + ")"
        if kind in ("eq", "numref", "ref", "prf:ref") and not shown:
            return "the one on the page"
        return shown[1] if shown else content

    text = re.sub(r"\{([a-z:-]+)\}`([^`]+)`", words, text)
    text = re.sub(r"\[([^\]]+)\]\{\.[\w-]+\}", r"\1", text)  # a colored word
    return re.sub(r"(?<!!)\[([^\]]+)\]\((?!https?:)[^)]+\)", r"\1", text)  # a link in the book


def authors(key: str) -> str:
    """Return how a work is cited in plain words: its first author and its year."""
    bib = (BOOK / "references.bib").read_text("utf-8")
    entry = re.search(rf"^@\w+\{{{re.escape(key.strip())},(.*?)^\}}", bib, re.M | re.S)
    if not entry:
        raise ValueError(f"references.bib has no {key!r}")
    fields = dict(re.findall(r"^\s*(author|year)\s*=\s*\{(.*)\},?\s*$", entry[1], re.M))
    names = [n.strip() for n in fields.get("author", key).split(" and ")]
    first = (names[0] if "{" in names[0] else names[0].partition(",")[0]).strip("{}")
    return f"{first}{' and others' if len(names) > 1 else ''}, {fields.get('year', 'n.d.')}"


# ---- writing an assignment -------------------------------------------------------------------


def graded(cell: Any, grade_id: str, **options: Any) -> Any:
    """Return a cell with what nbgrader wants to know about it."""
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
    """Return the source of an assignment: with solutions, which nbgrader takes out."""
    nb, titles = read(path), page_titles()
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    imports = next(cell for cell in code if "remove-cell" not in tags(cell))
    needed = [cell.source for cell in code if "needed" in tags(cell)]
    found = list(tasks(nb.cells, titles, path.name))
    total = sum(exercises.find(task.number).points for task in found)
    title = titles[path.stem]
    head = HEAD.format(title=title, count=len(found), points=total, name=path.stem)
    cells = [graded(new_markdown_cell(head), "head")]
    setup = [imports.source, *needed, CHECK]
    cells += [graded(new_code_cell(s), f"given-{n}") for n, s in enumerate(setup, 1)]
    cells += [cell for task in found for cell in cells_of(task)]
    made = new_notebook(cells=cells, metadata={"kernelspec": KERNEL})
    nbformat.validate(made)
    return made


def files_of(nb: Any) -> list[Path]:
    """Return the files of experiments/ that the code of an assignment names."""
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
