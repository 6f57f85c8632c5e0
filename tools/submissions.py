"""Rebuild a submission: the released assignment with a student's own code in it.

Submissions arrive under other file names, with cells copied, moved or deleted, and with the
metadata gone by which nbgrader knows a cell. nbgrader gives such work no points, or stops. So
only the code is taken from a submission: the answers, and the cells that a student added. All
else is the release, whatever the file says.
"""

from __future__ import annotations

import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat
from nbformat.v4 import new_code_cell
from nbgrader.utils import is_grade, is_solution

LARGEST = 50  # MB of a submitted file
# Moodle: "Ada Lovelace_123_assignsubmission_file_/any.ipynb", some versions without the last _;
# Canvas: "lovelaceada_123_456_any.ipynb", with "LATE_" before the numbers of late work
PLATFORM = re.compile(r"(?P<student>.+?)(?:_LATE)?_\d+_(?:assignsubmission_file_?|\d+_.*)$")


class NotGraded(Exception):
    """A submission that cannot be graded; the message tells the teacher why."""


def find(folder: Path, name: str) -> Path:
    """Return the submitted notebook: the one of this name, or else the only one.

    Raises
    ------
    NotGraded
        If there is none, or several of other names.
    """
    if (folder / f"{name}.ipynb").is_file():
        return folder / f"{name}.ipynb"
    there = [
        path for path in sorted(folder.rglob("*.ipynb")) if ".ipynb_check" not in str(path)
    ]
    if len(there) != 1:
        names = ", ".join(path.name for path in there)
        raise NotGraded(f"several notebooks, keep one: {names}" if there else "no notebook")
    return there[0]


def collect(archive: Path, submitted: Path, name: str) -> list[str]:
    """Unpack what a learning platform collected into `submitted/STUDENT/NAME`.

    A member's student is named by its folder, as Moodle's archives have it, or else by its file
    name, as Canvas's do. Files that are already there are replaced.

    Parameters
    ----------
    archive : Path
        The zip file.
    submitted : Path
        The course's folder of submissions.
    name : str
        The assignment.

    Returns
    -------
    list of str
        The students, sorted.

    Raises
    ------
    NotGraded
        If the file is no zip file.
    """
    students = set()
    try:
        with zipfile.ZipFile(archive) as file:
            for member in file.infolist():
                path = PurePosixPath(member.filename.replace("\\", "/"))
                if member.is_dir() or path.suffix != ".ipynb" or path.parts[0] == "__MACOSX":
                    continue
                student = student_of(path)
                folder = submitted / student / name
                folder.mkdir(parents=True, exist_ok=True)
                with file.open(member) as handed_in:  # one byte more, for `load` to refuse it
                    most = LARGEST * 1_000_000 + 1
                    (folder / path.name).write_bytes(handed_in.read(most))
                students.add(student)
    except zipfile.BadZipFile as error:
        raise NotGraded(f"{archive} is no zip file") from error
    return sorted(students)


def student_of(path: PurePosixPath) -> str:
    """Return a student's name as a folder name, from the path of a file in an archive.

    Examples
    --------
    >>> student_of(PurePosixPath("Ada Lovelace_123_assignsubmission_file_/a.ipynb"))
    'Ada Lovelace'
    >>> student_of(PurePosixPath("lovelaceada_LATE_123_456_a.ipynb"))
    'lovelaceada'
    >>> student_of(PurePosixPath("ada/a.ipynb"))
    'ada'
    """
    folders = [part for part in path.parts[:-1] if part not in ("/", "..", ".")]
    label = folders[0] if folders else path.stem
    known = PLATFORM.fullmatch(label)
    student = known["student"] if known else label
    return re.sub(r"[^\w .,'@-]", "_", student).strip(" .") or "unnamed"


def load(path: Path) -> list[Any]:
    """Return the cells of a submitted notebook.

    Raises
    ------
    NotGraded
        If the file is too large or is not a notebook.
    """
    if path.stat().st_size > LARGEST * 1_000_000:
        raise NotGraded(f"{path.name} is larger than {LARGEST} MB")
    try:
        nb = nbformat.from_dict(json.loads(path.read_text("utf-8-sig")))
        nb = nb if nb.nbformat == 4 else nbformat.convert(nb, 4)
        cells = [
            nbformat.from_dict(
                {
                    "cell_type": cell.cell_type,
                    "source": "".join(cell.source),
                    "metadata": cell.get("metadata", {}),
                }
            )
            for cell in nb.cells
        ]
    except Exception as error:
        reason = str(error).partition("\n")[0][:200]
        raise NotGraded(f"{path.name} is no notebook: {reason}") from error
    return cells


def rebuild(release: Any, cells: Sequence[Any]) -> tuple[Any, list[str]]:
    """Put the code of a submission into a released assignment.

    Parameters
    ----------
    release : notebook
        The assignment as it was handed out.
    cells : sequence of cells
        What was handed in, as `load` returns it.

    Returns
    -------
    notebook, list of str
        The notebook to grade, and remarks for the teacher.

    Raises
    ------
    NotGraded
        If no cell of the assignment is recognized.
    """
    places = [recognized(release, cell) for cell in cells]
    if all(place is None for place in places):
        raise NotGraded("no cell of this assignment is in the notebook")
    answers, added, remarks = sort_out(release, cells, places)
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
            place = unlabeled_answer(release, places, n, last)
            if place is None and "def check_answer" in cell.source:
                remarks.append("a changed copy of check_answer is left out")
            elif place is None:
                added[last].append(new_code_cell(cell.source))
            else:
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


def recognized(release: Any, cell: Any) -> int | None:
    """Return the place of a submitted cell in the release, or None."""
    name = cell.metadata.get("nbgrader")
    name = name.get("grade_id") if isinstance(name, dict) else None
    check = re.match(r'\s*check_answer\("[^"]+"', cell.source)
    for place, known in enumerate(release.cells):
        if check and is_grade(known) and known.source.startswith(check[0].strip()):
            return place
        if not check and name == known.metadata.nbgrader.grade_id and not is_grade(known):
            return place
        if not is_solution(known) and cell.source.strip() == known.source.strip():
            return place
    return None


def unlabeled_answer(release: Any, places: list[int | None], n: int, last: int) -> int | None:
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


def number_at(release: Any, place: int) -> str:
    """Return the number of the exercise that a cell of the release belongs to."""
    return ".".join(release.cells[place].metadata.nbgrader.grade_id.split("-")[1:-1])
