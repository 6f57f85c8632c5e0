"""Make an nbgrader course from the book's exercises, and grade invented students.

    python tools/classroom.py                        all pages, and the demonstration
    python tools/classroom.py --course ~/cfr 04_vanilla_cfr 05_cfr_plus

The course, by default `_build/classroom/course`, has one assignment per page: with solutions in
`source/`, without them in `release/`, and executed with them in `solutions/`. Students' work in
`submitted/`, `autograded/` and `gradebook.db` is kept. The demonstration has a course of its
own, `_build/classroom/demo`, which is made anew each time.
"""

from __future__ import annotations

import argparse
import csv
import os
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat
from assignments import ROOT, assignment, files_of, pages, read
from nbgrader.apps import NbGraderAPI
from nbgrader.converters import GenerateSolution
from nbgrader.utils import capture_log, determine_grade, is_grade, is_solution, temp_attrs
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from cfrlib import exercises

TOOLS = Path(__file__).parent
COPIED = ("nbgrader_config.py", "contained.py")  # into every course
BUILD = ROOT / "_build" / "classroom"
SHOWN = "04_vanilla_cfr"  # the assignment of the demonstration
FRESH = get_context("spawn")  # a forked process may hang if its parent has several threads


warnings.filterwarnings("ignore", module="nbgrader")  # about its own code, not the course
# nbgrader calls the command alembic, which is installed beside this Python
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])


@dataclass(frozen=True)
class Student:
    """An invented student.

    Attributes
    ----------
    name : str
        The student's id in nbgrader.
    answers : callable
        Maps the exercise's number, the name that is checked and the code of the solution to the
        code of an answer, or to None to leave the cell as it was released.
    """

    name: str
    answers: Callable[[str, str, str], str | None]

    def solve(self, release: Any, source: Any) -> Any:
        """Return a released assignment with this student's answers."""
        solved = nbformat.from_dict(release)
        checks = [c.source for c in source.cells if is_grade(c)]
        answers = [n for n, c in enumerate(source.cells) if is_solution(c)]
        for n, check in zip(answers, checks, strict=True):
            _, number, _, name, _ = check.split('"')
            code = self.answers(number, name, source.cells[n].source)
            if code is not None:
                solved.cells[n].source = code
        return solved


# ---- the course ------------------------------------------------------------------------------


def api_of(course: Path, options: dict[str, Any] | None = None) -> NbGraderAPI:
    """Return nbgrader's API for a course; `options` override the course's own file."""
    config = PyFileConfigLoader(COPIED[0], path=str(course)).load_config()
    config.merge(Config({"CourseDirectory": {"root": str(course)}, **(options or {})}))
    return NbGraderAPI(config=config, log_level="ERROR")


def succeed(result: dict[str, Any], what: str) -> None:
    """Raise RuntimeError with nbgrader's log if it failed."""
    if not result["success"]:
        raise RuntimeError(f"{what}\n{result.get('log', '')}\n{result.get('error', '')}")


def prepare(course: Path, paths: Iterable[Path]) -> None:
    """Write the sources of assignments and generate their releases."""
    course.mkdir(parents=True, exist_ok=True)
    for name in COPIED:
        shutil.copy(TOOLS / name, course / name)
    api = api_of(course)
    for path in paths:
        nb, name = assignment(path), path.stem
        folder = course / "source" / name
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        nbformat.write(nb, folder / f"{name}.ipynb")
        for file in files_of(nb):
            there = folder / file.relative_to(ROOT)
            there.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, there)
        succeed(api.generate_assignment(name), f"{name}: no release")
        worth = [c.metadata.nbgrader.points for c in nb.cells if is_grade(c)]
        print(f"released  {name}: {len(worth)} exercises, {sum(worth)} points", flush=True)


def solution(course: Path, name: str) -> str:
    """Run the version with solutions; return the failed checks as text, "" if none."""
    api = api_of(course)
    with temp_attrs(api.coursedir, assignment_id=name):
        converter = GenerateSolution(coursedir=api.coursedir, parent=api)
        converter.force = True
        succeed(capture_log(converter), f"{name}: no solutions")
    nb = read(course / "solutions" / name / f"{name}.ipynb")
    grades = [(c, *determine_grade(c)) for c in nb.cells if is_grade(c)]
    return "; ".join(c.source for c, score, most in grades if score != most)


def solutions(course: Path, names: Sequence[str]) -> int:
    """Run all solutions, two at a time; return the number of assignments that lose points."""
    with ProcessPoolExecutor(max_workers=2, mp_context=FRESH) as pool:
        faults = pool.map(partial(solution, course), names)
        failed = 0
        for name, fault in zip(names, faults, strict=True):
            failed += bool(fault)
            print(f"solved    {name}: {fault or 'all points'}", flush=True)
    return failed


# ---- students --------------------------------------------------------------------------------


def right(number: str, name: str, worked: str) -> str:
    """Answer with the solution."""
    return worked


def nothing(number: str, name: str, worked: str) -> None:
    """Leave the cell as it was released."""


def mistaken(number: str, name: str, worked: str, *, n: int = 0) -> str:
    """Answer with the n-th typical mistake, or with the last one if there are fewer."""
    last = len(exercises.find(number).mistakes) - 1
    return f'{name} = exercises.find("{number}").mistakes[{min(n, last)}].answer()'


def only(place: str, code: str, number: str, name: str, worked: str) -> str:
    """Answer with the solution, except in one exercise, which gets the given code."""
    return code if number == place else worked


LOOP = "while True:\n    pass"
DELETE = """\
import shutil
from pathlib import Path
here, home = Path.cwd(), Path.home()
assert "submission-" in here.parts[-9] and home == here, "not contained: nothing is deleted"
for folder in (home, here, *list(here.parents)[:8]):
    shutil.rmtree(folder, ignore_errors=True)
"""


def class_of(number: str) -> list[Student]:
    """Return the students of the demonstration; two of them misbehave in one exercise."""
    return [
        Student("perfect", right),
        Student("empty", nothing),
        Student("mistaken", mistaken),
        Student("loops", partial(only, number, LOOP)),
        Student("deletes", partial(only, number, DELETE)),
    ]


# ---- grading ---------------------------------------------------------------------------------


def submit(course: Path, name: str, student: Student) -> None:
    """Write a student's submission where nbgrader collects it."""
    release = course / "release" / name
    folder = course / "submitted" / student.name / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(release, folder)
    source = read(course / "source" / name / f"{name}.ipynb")
    nb = student.solve(read(release / f"{name}.ipynb"), source)
    nbformat.write(nb, folder / f"{name}.ipynb")


def grade(
    course: Path, name: str, student: str, options: dict[str, Any] | None = None
) -> dict[str, float] | None:
    """Grade a submission and write feedback; return points by exercise, None on failure."""
    api = api_of(course, options)
    if not api.autograde(name, student)["success"]:
        return None
    succeed(api.generate_feedback(name, student), f"{name}: no feedback for {student}")
    with api.gradebook as book:
        submission = book.find_submission(name, student)
        grades = [grade for nb in submission.notebooks for grade in nb.grades]
        return {number_of(grade.name): grade.score for grade in grades}


def grade_all(
    course: Path,
    name: str,
    students: Sequence[Student],
    options: dict[str, Any] | None = None,
) -> Iterator[tuple[str, dict[str, float] | None]]:
    """Submit and grade the students' work, two students at a time."""
    for student in students:
        submit(course, name, student)
    names = [student.name for student in students]
    with ProcessPoolExecutor(max_workers=2, mp_context=FRESH) as pool:
        yield from zip(
            names, pool.map(partial(grade, course, name, options=options), names), strict=True
        )


def number_of(grade_id: str) -> str:
    """Return the exercise number in a cell's grade id: 4.1 for ex-4-1-points."""
    return ".".join(grade_id.split("-")[1:-1])


def worth(name: str, course: Path) -> dict[str, float]:
    """Return the points of an assignment's exercises."""
    nb = read(course / "source" / name / f"{name}.ipynb")
    given = [c.metadata.nbgrader for c in nb.cells if is_grade(c)]
    return {number_of(each.grade_id): each.points for each in given}


def demonstrate(course: Path, path: Path) -> None:
    """Grade the invented students on one assignment; write the grades and print a table."""
    shutil.rmtree(course, ignore_errors=True)
    prepare(course, [path])
    most = worth(path.stem, course)
    rows: list[list[object]] = []
    for student, scores in grade_all(course, path.stem, class_of(list(most)[1])):
        print(f"graded    {student}", flush=True)
        earned = [scores[n] for n in most] if scores else ["by hand"] * len(most)
        rows.append([student, *earned, sum(scores.values()) if scores else "by hand"])
    head = ["student", *most, "all"]
    rows.append(["possible", *map(float, most.values()), float(sum(most.values()))])
    with (course / "grades.csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])
    print("\n" + "".join(f"{cell!s:>10}" for cell in head))
    print(*("".join(f"{cell!s:>10}" for cell in row) for row in rows), sep="\n")
    print(f"\nFeedback: {course}/feedback, grades: {course}/grades.csv")


# ---- the command -----------------------------------------------------------------------------


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--course", type=Path, default=BUILD / "course", help="folder of the course"
    )
    parser.add_argument("--no-demo", action="store_true", help="grade no invented students")
    parser.add_argument("names", nargs="*", help="pages, such as 04_vanilla_cfr (default: all)")
    options = parser.parse_args(arguments)
    there = {path.stem: path for path in pages()}
    names = options.names or list(there)
    if unknown := sorted({*names} - {*there}):
        parser.error(
            f"no exercises to grade in {', '.join(unknown)}; pages that have some: "
            f"{', '.join(there)}"
        )
    course = options.course.expanduser().resolve()
    prepare(course, [there[name] for name in names])
    failed = solutions(course, names)
    if not options.no_demo:
        demonstrate(BUILD / "demo", there[SHOWN])
    print(f"The course is ready: {course}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
