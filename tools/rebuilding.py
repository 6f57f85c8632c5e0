"""Rebuild a hand-in: the released assignment with the student's code.

Submissions arrive under other file names, with cells copied, moved or deleted, and with the
metadata gone by which nbgrader knows a cell; some students answer in the chapter's own
notebook. nbgrader gives such work no points, or stops. So only the code is taken from a
submission: the answers, and the cells that a student added. All else is the release, whatever
the file says. Every student gets one row: graded, graded with remarks, or not graded and why.
"""

from __future__ import annotations

import ast
import json
import re
import symtable
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import nbformat
from assignments import checks, tags
from collecting import NotGraded, find, listed, load, printable, record
from IPython.core.inputtransformer2 import TransformerManager
from nbformat.v4 import new_code_cell
from nbgrader.utils import is_grade, is_solution

from cfrbook import exercises


def choose(release: Any, page: Any, folder: Path) -> tuple[Any, list[str]]:
    """Return the notebook to grade of those in a folder, rebuilt, and remarks.

    Files that are not of this assignment, and copies, do not count. Neither does one without an
    answer beside another one: the answers may be in that one.

    Raises
    ------
    NotGraded
        If no notebook is of this assignment, or if several have different answers.
    """
    paths = find(folder)
    usable: dict[str, tuple[Path, Any, list[str]]] = {}
    reasons: dict[Path, str] = {}
    for path in paths:
        try:
            nb, remarks = rebuild(release, load(path), page)
        except NotGraded as reason:
            reasons[path] = str(reason)
            continue
        text = json.dumps([cell.source for cell in nb.cells])
        if text in usable:
            reasons[path] = "a copy"
        usable.setdefault(text, (path, nb, remarks))
    released = json.dumps([cell.source for cell in release.cells])
    others = record(folder).get("unread", []) + [r for r in reasons.values() if r != "a copy"]
    if released in usable and (len(usable) > 1 or others):  # else it is all there is
        reasons[usable.pop(released)[0]] = "without an answer"
    if len(usable) > 1:
        names = listed(printable(path.name) for path, _, _ in usable.values())
        raise NotGraded(f"several notebooks, keep one: {names}")
    told = [
        reason
        if len(paths) == 1 or path.name in reason
        else f"{printable(path.name)}: {reason}"
        for path, reason in reasons.items()
    ]
    if not usable:
        raise NotGraded("; ".join(told))
    [(_, nb, remarks)] = usable.values()
    return nb, [*remarks, *(f"left aside: {each}" for each in told)]


# ---- the chapter's own notebook --------------------------------------------------------------

COMMANDS = 30  # lines of a cell that may be commands of IPython
CHECK = re.compile(r"""\bexercises\.check\(\s*["']([\w.]+)["']""")


def from_page(release: Any, page: Any, cells: Sequence[Any]) -> list[Any]:
    """Return the cells of an assignment for answers given in the chapter's notebook.

    An answer is a cell that calls `exercises.check("4.1", answer)`. The page's solutions do not
    count. Each answer is preceded by the cells that the student added, and by the code of the
    page that it uses.
    """
    places = {number_at(release, n): n for n in places_of(release, is_solution)}
    tagged = [(c.source.strip(), tags(c)) for c in code_cells(page)]
    forms = {
        CHECK.search(source)[1]: n  # type: ignore[index]
        for n, (source, marks) in enumerate(tagged)
        if "answer" in marks
    }
    printed = {source for source, _ in tagged}
    plain = [
        "" if {"answer", "solution", "remove-cell"} & {*marks} else source
        for source, marks in tagged
    ]
    own = [c for c in cells if c.cell_type == "code" and c.source.strip() not in printed]
    answered = {
        number
        for cell in own
        if "solution" not in tags(cell)
        for number in CHECK.findall(cell.source)
    }
    given = [c for c in release.cells if not number_of(label(c))]
    known = set().union(*(bound_and_needed(c.source)[0] for c in given if is_code(c)))
    made, group = list(given), []
    for cell in own:
        found = [
            answer
            for answer in answers_in(cell.source, places)
            if not ("solution" in tags(cell) and answer[0] in answered)
        ]
        if not CHECK.search(cell.source):
            group.append(cell.source)
        for number, code, name, value in found:
            check = release.cells[places[number] + 1]
            asked = re.findall(r'"([^"]*)"', check.source)[1]
            code += f"\n{asked} = {value}" if name != asked else ""
            used = from_above(plain[: forms.get(number)], [*group, code], known)
            for source in used:
                made.append(new_code_cell(source, id=f"page-{len(made)}"))
            made += [new_code_cell(source) for source in group]
            marked = release.cells[places[number]].metadata
            made += [new_code_cell(code, metadata=marked), check]
            group = []
    return made


def answers_in(source: str, numbers: Iterable[str]) -> Iterator[tuple[str, str, str, str]]:
    """Yield number, code up to the check, name and value of each answer in a cell."""
    try:
        found = [*checks(python(source))]
    except (SyntaxError, ValueError):  # it fails when it is run, too
        found = []
        yield from ((n, source, "", "...") for n in CHECK.findall(source) if n in numbers)
    for number, before, value, _ in found:
        if number in numbers:
            name = value.id if isinstance(value, ast.Name) else ""
            yield number, before, name, ast.unparse(value)


def python(source: str) -> str:
    """Return the code of a cell without IPython's own commands.

    IPython reads the whole cell again for each of them, up to five hundred times.

    Raises
    ------
    ValueError
        If the code is none, or has too many lines that may be such commands.

    Examples
    --------
    >>> python("%time x = 1")
    "get_ipython().run_line_magic('time', 'x = 1')\\n"
    """
    lines = [line.partition("#")[0].strip(" \t;") for line in source.splitlines()]
    marks = [line[:1] in {*"%!?/,"} or line[-1:] == "?" for line in lines]
    squeezed = source.replace(" ", "").replace("\t", "")
    if (
        sum(marks) + source.count("\n;") + squeezed.count("=%") + squeezed.count("=!")
        > COMMANDS
    ):
        raise ValueError(f"more than {COMMANDS} lines with commands of IPython")
    return str(TransformerManager().transform_cell(source))


def from_above(sources: Sequence[str], used: Iterable[str], known: set[str]) -> list[str]:
    """Return the cells of a page that bind what some code uses, in the page's order."""
    facts = [bound_and_needed(source) for source in sources]
    found: set[int] = set()
    bound, wanted = set(known), []
    for source in used:
        binds, needs = bound_and_needed(source)
        wanted += [(name, len(facts)) for name in sorted(needs - bound - {"answer"})]
        bound |= binds
    while wanted:
        name, limit = wanted.pop()
        before, later = reversed(range(limit)), range(limit, len(facts))  # a function calls
        place = next((n for n in (*before, *later) if name in facts[n][0]), None)
        if place is not None and place not in found:
            found.add(place)
            wanted += [(each, place) for each in facts[place][1] - known]
    return [sources[n] for n in sorted(found)]


@cache
def bound_and_needed(source: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names that the code of a cell binds, and those that it needs first.

    Examples
    --------
    >>> bound, needed = bound_and_needed("a = b\\ndef f(x):\\n    return x + a + c")
    >>> sorted(bound), sorted(needed)
    (['a', 'f'], ['b', 'c'])
    """
    bound: set[str] = set()
    needed: set[str] = set()
    within: set[str] = set()  # functions, which are called later
    try:
        body = ast.parse(python(source)).body
        tables = [symtable.symtable(ast.unparse(one), "cell", "exec") for one in body]
    except (SyntaxError, ValueError):
        return frozenset(), frozenset()
    for one, table in zip(body, tables, strict=True):
        symbols = table.get_symbols()
        binds = {s.get_name() for s in symbols if s.is_assigned() or s.is_imported()}
        used = {s.get_name() for s in symbols if s.is_referenced()}
        needed |= (
            used - bound - (set() if isinstance(one, ast.Assign | ast.AugAssign) else binds)
        )
        inner = [s for each in nested(table) for s in each.get_symbols()]
        within |= {s.get_name() for s in inner if s.is_global() and s.is_referenced()} - used
        bound |= binds
    return frozenset(bound), frozenset(needed | within - bound)


def nested(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    """Yield a table of symbols and all tables in it."""
    yield table
    for inner in table.get_children():
        yield from nested(inner)


def is_code(cell: Any) -> bool:
    """Return whether a cell has code."""
    return bool(cell.cell_type == "code")


def code_cells(nb: Any) -> list[Any]:
    """Return the cells of a notebook that have code."""
    return list(filter(is_code, nb.cells))


# ---- rebuilding ------------------------------------------------------------------------------


def rebuild(release: Any, cells: Sequence[Any], page: Any = None) -> tuple[Any, list[str]]:
    """Put the code of a submission into a released assignment.

    Parameters
    ----------
    release : notebook
        The assignment as it was handed out.
    cells : sequence of cells
        What was handed in, as `load` returns it.
    page : notebook, optional
        The page of the book: answers may be in a copy of it.

    Returns
    -------
    notebook, list of str
        The notebook to grade, and remarks for the teacher.

    Raises
    ------
    NotGraded
        If no cell of the assignment is recognized, or if answers cannot be told apart.
    """
    remarks = []
    numbers = {number_at(release, n) for n in places_of(release, is_solution)}
    checked = {n for c in cells if is_code(c) for n in CHECK.findall(c.source)}
    labeled = {number_of(label(cell)) for cell in cells} & numbers
    in_page = page is not None and checked & numbers and not labeled
    if in_page:
        on_page = any("typed" in cell.metadata for cell in cells)
        where = "on the page" if on_page else "in the chapter's notebook"
        remarks.append(f"answered {where}")
        cells = from_page(release, page, cells)
    places = [recognized(release, cell) for cell in cells]
    known = [number_at(release, place) for place in places if place is not None]
    if not in_page and not any(known):
        other = of_another_page(cells, numbers)
        raise NotGraded(other or "no cell of this assignment is in the notebook")
    answers, added, found = sort_out(release, cells, places)
    remarks += found
    missing = [
        number_at(release, n) for n in places_of(release, is_solution) if n not in answers
    ]
    if missing and added and not any(map(label, cells)):
        raise NotGraded(
            f"its cells have lost their labels, and one may be an answer to {listed(missing)}"
        )
    rebuilt = nbformat.from_dict(release)
    rebuilt.cells = list(added[-1])
    for place, cell in enumerate(release.cells):
        own = nbformat.from_dict(cell)
        if is_solution(cell) and place in answers:
            own.source = answers[place]
        elif is_solution(cell):
            remarks.append(f"no cell with an answer to {number_at(release, place)}")
        rebuilt.cells += [own, *added[place]]
    return rebuilt, remarks


def of_another_page(cells: Iterable[Any], numbers: Iterable[str]) -> str:
    """Return in words of which other page the exercises in a notebook are, "" if none."""
    called = re.compile(r"""\bcheck(?:_answer)?\(\s*["']([\w.]+)["']""")
    found = Counter(
        number.rpartition(".")[0]
        for cell in cells
        for number in [number_of(label(cell)), *called.findall(cell.source)]
        if number and number not in numbers
    )
    pages = exercises.pages()
    known = [page for page, _ in found.most_common() if page in pages]
    return f"this is {pages[known[0]]}" if known else ""


def sort_out(
    release: Any, cells: Sequence[Any], places: list[int | None]
) -> tuple[dict[int, str], defaultdict[int, list[Any]], list[str]]:
    """Return answers by place in the release, added cells by the place before them, remarks."""
    answers: dict[int, str] = {}
    added: defaultdict[int, list[Any]] = defaultdict(list)
    remarks: list[str] = []
    last = -1
    for n, (cell, place) in enumerate(zip(cells, places, strict=True)):
        if place is None and cell.cell_type == "code" and cell.source.strip():
            place = unlabeled_answer(release, places, n)
            if place is None and "def check_answer" in cell.source:
                remarks.append("a changed copy of check_answer is left out")
            elif place is None:
                of_page = str(cell.get("id")).startswith("page-")  # `load` keeps no ids
                added[last].append(cell if of_page else new_code_cell(cell.source))
            else:
                require_order(places)
                remarks.append(f"the answer to {number_at(release, place)} had lost its label")
        if place is None:
            continue
        if is_solution(release.cells[place]):
            if place in answers:
                remarks.append(f"two answers to {number_at(release, place)}: the last counts")
            if cell.cell_type != "code":
                remarks.append(f"the answer to {number_at(release, place)} was no code cell")
            answers[place] = cell.source
        last = place
    return answers, added, remarks


def require_order(places: Sequence[int | None]) -> None:
    """Raise NotGraded if cells are in another order: then labels alone tell answers apart."""
    first = [n for k, n in enumerate(places) if n is not None and n not in places[:k]]
    if first != sorted(first):
        raise NotGraded("its cells have lost their labels and are in another order")


def recognized(release: Any, cell: Any) -> int | None:
    """Return the place of a submitted cell in the release, or None."""
    name = label(cell)
    check = re.match(r'\s*check_answer\("[^"]+"', cell.source)
    for place, known in enumerate(release.cells):
        if check and is_grade(known) and known.source.startswith(check[0].strip()):
            return place
        if not check and name == known.metadata.nbgrader.grade_id and not is_grade(known):
            return place
        if not is_solution(known) and cell.source.strip() == known.source.strip():
            return place
    return None


def unlabeled_answer(release: Any, places: list[int | None], n: int) -> int | None:
    """Return the place of the answer that cell n must be, or None if it is an added cell.

    It is the answer to the exercise below, if no cell up to that exercise's check is labeled as
    its answer, and cell n is the last one before the check.
    """
    check = next((place for place in places[n + 1 :] if place is not None), None)
    if check is None or not is_grade(release.cells[check]):
        return None
    answer = check - 1
    following = places[n + 1]
    return answer if answer not in places and following == check else None


def places_of(nb: Any, kind: Any) -> list[int]:
    """Return the places of the cells of one kind."""
    return [n for n, cell in enumerate(nb.cells) if kind(cell)]


def label(cell: Any) -> str:
    """Return the id by which nbgrader knows a cell, "" if it has none."""
    found = cell.metadata.get("nbgrader")
    return str(found.get("grade_id", "")) if isinstance(found, dict) else ""


def number_of(grade_id: str) -> str:
    """Return the number of the exercise in a cell's id, "" if it belongs to none.

    Examples
    --------
    >>> number_of("ex-4-1-points"), number_of("given-1")
    ('4.1', '')
    """
    found = re.fullmatch(r"ex-(.+)-(?:text|answer|points)", grade_id)
    return found[1].replace("-", ".") if found else ""


def number_at(release: Any, place: int) -> str:
    """Return the number of the exercise that a cell of the release belongs to."""
    return number_of(label(release.cells[place]))
