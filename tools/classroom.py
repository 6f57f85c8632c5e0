"""Make an nbgrader course from the book's exercises, and grade what students hand in.

    python tools/classroom.py                        all pages, and the demonstration
    python tools/classroom.py --course ~/cfr 04_vanilla_cfr 05_cfr_plus
    python tools/classroom.py --course ~/cfr --grade 04_vanilla_cfr
    python tools/classroom.py --course ~/cfr --grade 04_vanilla_cfr --collect moodle.zip \\
        --worksheet grades.csv

With `--collect`, the zip file of a learning platform, or any with a folder or a file for each
student, is unpacked into `submitted/` first. Grading reads `submitted/STUDENT/ASSIGNMENT/`,
whatever the name of the notebook in it, rebuilds each submission from the release (see
rebuilding.py) and grades each by itself: one that cannot be graded spoils no other. It prints
a table and writes `grades/ASSIGNMENT.csv`, in which who could not be graded has a reason and no
points. Beside it is a table for Moodle or Canvas: the one given by `--worksheet`, which the
teacher has downloaded there, with the grades filled in. All that nbgrader writes is where it
expects it.

The course, by default `_build/classroom/course`, has one assignment per page: with solutions in
`source/`, without them in `release/`, and executed with them in `solutions/`. Students' work in
`submitted/`, `autograded/` and `gradebook.db` is kept. The demonstration has a course of its
own, `_build/classroom/demo`, which is made anew each time.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import shutil
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import nbformat
from assignments import BOOK, ROOT, Unknown, assignment, files_of, pages, place, read
from collecting import NotGraded, collect, harmless, printable, record
from contained import can_sandbox
from gradebooks import Grade, Unreadable, content, filled, give_back, whose
from nbgrader.apps import NbGraderAPI
from nbgrader.converters import GenerateSolution
from nbgrader.utils import capture_log, determine_grade, is_grade, is_solution, temp_attrs
from rebuilding import choose, number_of
from traitlets.config import Config
from traitlets.config.loader import PyFileConfigLoader

from cfrbook import exercises

TOOLS = Path(__file__).parent
COPIED = ("nbgrader_config.py", "contained.py", "kernels.py")  # into every course
BUILD = ROOT / "_build" / "classroom"
REBUILT = "rebuilt"  # in the place of nbgrader's `submitted`
SHOWN = "04_vanilla_cfr"  # the assignment of the demonstration
# For code of the book, which may also run where there is no sandbox
UNPROTECTED = {"Contained": {"unprotected": True}}
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
    """Return nbgrader's API for a course; `options` override the course's own file.

    Raises
    ------
    NotGraded
        If the file would have nbgrader run submissions without the sandbox.
    """
    config = PyFileConfigLoader(COPIED[0], path=str(course)).load_config()
    steps = config.get("Autograde", {}).get("autograde_preprocessors", [])
    if not any(getattr(step, "__name__", "") in ("Contained", "Refuse") for step in steps):
        raise NotGraded(f"{COPIED[0]} has no sandbox; make the course again")
    config.merge(Config({"CourseDirectory": {"root": str(course)}}))
    config.merge(Config(options or {}))
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
    api = api_of(course, UNPROTECTED)
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
if "submission-" not in here.parts[-9:][0] or home != here:
    raise SystemExit("not contained: nothing is deleted")
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


@dataclass(frozen=True)
class Outcome:
    """What became of a submission.

    Attributes
    ----------
    student : str
        The student's id.
    scores : dict of str to float, or None
        Points by exercise; None if the submission could not be graded.
    remarks : sequence of str
        What was repaired, or why there are no points.
    """

    student: str
    scores: dict[str, float] | None
    remarks: Sequence[str] = ()

    @property
    def status(self) -> str:
        """Whether it was graded, in words."""
        if self.scores is None:
            return "not graded"
        return "with remarks" if self.remarks else "graded"


def grade(
    course: Path, name: str, student: str, options: dict[str, Any] | None = None
) -> Outcome:
    """Rebuild and grade a submission, and write feedback."""
    rebuilt = {"CourseDirectory": {"submitted_directory": REBUILT}}
    noted = record(course / "submitted" / student / name).get("remarks", [])
    try:
        api = api_of(course, rebuilt | (options or {}))
        remarks = repair(course, name, student)
        result = api.autograde(name, student)
        if not result["success"]:
            return Outcome(student, None, (cause(result), *noted))
        succeed(api.generate_feedback(name, student), f"{name}: no feedback for {student}")
        with api.gradebook as book:
            submission = book.find_submission(name, student)
            grades = [grade for nb in submission.notebooks for grade in nb.grades]
            scores = {number_of(grade.name): grade.score for grade in grades}
            return Outcome(student, scores, (*noted, *remarks))
    except NotGraded as reason:
        return Outcome(student, None, (str(reason), *noted))
    except Exception as error:  # nobody else's work may wait for it
        last = str(error).strip().rpartition("\n")[2]
        return Outcome(student, None, (f"{type(error).__name__}: {last[:200]}", *noted))


def cause(result: dict[str, Any]) -> str:
    """Return what went wrong: the last exception that says it, among its log."""
    text = f"{result.get('log', '')}\n{result.get('error', '')}"
    raised = re.findall(r"^ *((?:\w+\.)*[A-Z]\w*(?:: .+|Error|Exception))$", text, re.M)
    # an error without words is mostly one that followed from another
    telling = [line for line in raised if ": " in line and "the above traceback" not in line]
    return (telling or raised or ["nbgrader says nothing"])[-1][:200]


def repair(course: Path, name: str, student: str) -> list[str]:
    """Write a submission, rebuilt from the release, where nbgrader reads it; return remarks."""
    handed_in = course / "submitted" / student / name
    folder = course / REBUILT / student / name
    shutil.rmtree(folder, ignore_errors=True)
    release = read(course / "release" / name / f"{name}.ipynb")
    nb, remarks = choose(release, read(BOOK / f"{name}.ipynb"), handed_in)
    folder.mkdir(parents=True)
    nbformat.write(nb, folder / f"{name}.ipynb")
    if (handed_in / "timestamp.txt").is_file():
        shutil.copy(handed_in / "timestamp.txt", folder)
    return remarks


def grade_all(
    course: Path, name: str, students: Sequence[str], options: dict[str, Any] | None = None
) -> Iterator[Outcome]:
    """Grade submissions, two at a time, in the order of `students`."""
    work = partial(grade, course, name, options=options)
    with ProcessPoolExecutor(max_workers=2, mp_context=FRESH) as pool:
        futures = [pool.submit(work, student) for student in students]
        for student, future in zip(students, futures, strict=True):
            try:
                yield future.result()
            except BrokenProcessPool:  # then so is the pool, for all the others
                yield grade_alone(work, student)


def grade_alone(work: Callable[[str], Outcome], student: str) -> Outcome:
    """Grade one submission in a process of its own."""
    with ProcessPoolExecutor(max_workers=1, mp_context=FRESH) as pool:
        try:
            return pool.submit(work, student).result()
        except BrokenProcessPool:
            return Outcome(student, None, ("the process that graded it was ended",))


def grade_class(
    course: Path,
    name: str,
    worksheet: Path | None = None,
    options: dict[str, Any] | None = None,
) -> int:
    """Grade everybody's submission of an assignment; return the number that has no grade."""
    students = sorted(path.parent.name for path in course.glob(f"submitted/*/{name}"))
    most = worth(name, course)
    outcomes = []
    for n, outcome in enumerate(grade_all(course, name, students, options), 1):
        told = printable(f"{outcome.student}: {outcome.status}")
        print(f"{n:>4} of {len(students)}  {told}", flush=True)
        outcomes.append(outcome)
    report(course / "grades" / f"{name}.csv", most, outcomes, worksheet)
    ungraded = sum(outcome.scores is None for outcome in outcomes)
    print(f"Not graded: {ungraded} of {len(students)}")
    return ungraded


def report(
    path: Path,
    most: dict[str, float],
    outcomes: Iterable[Outcome],
    worksheet: Path | None = None,
) -> None:
    """Print a table of points, and write it as a CSV file and for the platform."""
    head = ["student", "status", *most, "all", "remarks"]
    rows: list[list[object]] = []
    people, grades = [["platform", "number"]], []
    for one in outcomes:
        earned = [one.scores[n] for n in most] if one.scores else [""] * len(most)
        total = sum(one.scores.values()) if one.scores else ""
        rows.append([one.student, one.status, *earned, total, "; ".join(one.remarks)])
        platform, name, number = whose(path.parents[1] / "submitted" / one.student / path.stem)
        people.append([platform, number])
        grades.append(Grade(platform, name, number, total if one.scores else None))
    rows.append(["possible", "", *most.values(), sum(most.values()), ""])
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        table = [[*a, *b] for a, b in zip([head, *rows], [*people, ["", ""]], strict=True)]
        guarded = [[harmless(c) if isinstance(c, str) else c for c in row] for row in table]
        csv.writer(file).writerows(guarded)
    print()
    for student, status, *numbers, remarks in [head, *rows]:
        columns = "".join(f"{number!s:>6}" for number in numbers)
        print(printable(f"{student!s:<14} {status!s:<13}{columns}  {remarks}".rstrip()))
    print(f"\nPoints: {path}")
    give_back(path, grades, sum(most.values()), worksheet)


def worth(name: str, course: Path) -> dict[str, float]:
    """Return the points of an assignment's exercises."""
    nb = read(course / "source" / name / f"{name}.ipynb")
    given = [c.metadata.nbgrader for c in nb.cells if is_grade(c)]
    return {number_of(each.grade_id): each.points for each in given}


def demonstrate(course: Path, path: Path) -> None:
    """Grade the invented students on one assignment; write the points and print a table."""
    shutil.rmtree(course, ignore_errors=True)
    prepare(course, [path])
    for student in class_of(list(worth(path.stem, course))[1]):
        submit(course, path.stem, student)
    grade_class(course, path.stem, options=UNPROTECTED)
    print(f"Feedback: {course}/feedback")


# ---- the command -----------------------------------------------------------------------------

EXPOSED = """\
There is no sandbox here: bubblewrap is missing, or may not run (Linux: apt install bubblewrap).
Students' code then runs as you. It can read and delete all that you can, your files and the
course among them, and it can use the network.
"""


def consents(unprotected: bool) -> bool:
    """Return whether submissions may run; without a sandbox, say what is exposed and ask."""
    if unprotected or can_sandbox():
        return True
    print(EXPOSED)
    if not sys.stdin.isatty():
        print("Nothing was graded. To grade all the same, add --unprotected.")
        return False
    return input("Grade all the same? [y/N] ").strip().lower() in ("y", "yes")


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--course", type=Path, default=BUILD / "course", help="folder of the course"
    )
    parser.add_argument("--no-demo", action="store_true", help="grade no invented students")
    parser.add_argument("--grade", metavar="NAME", help="grade this assignment's submissions")
    parser.add_argument("--collect", type=Path, metavar="ZIP", help="unpack submissions first")
    parser.add_argument(
        "--worksheet", type=Path, metavar="CSV", help="fill this table from the platform"
    )
    parser.add_argument(
        "--unprotected", action="store_true", help="grade without a sandbox, and do not ask"
    )
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
    if options.grade:
        if not (course / "release" / options.grade).is_dir():
            parser.error(f"{course} has no release of {options.grade}; make the course first")
        if options.collect:
            try:
                archive = options.collect.expanduser()
                found = collect(archive, course / "submitted", options.grade)
            except (NotGraded, OSError) as reason:
                parser.error(str(reason))
            print(f"{len(found)} students in {archive}: {', '.join(found)}")
        if options.worksheet:
            try:
                filled(content(options.worksheet), [], 1, options.grade)
            except (Unreadable, OSError) as reason:
                parser.error(f"{options.worksheet}: {reason}")
        if not consents(options.unprotected):
            return 1
        unprotected = None if can_sandbox() else UNPROTECTED
        grade_class(course, options.grade, options.worksheet, unprotected)
        return 0
    if options.collect:
        parser.error("--collect needs --grade, the assignment that was handed in")
    try:
        place(ROOT)
    except Unknown as why:
        print(f"On Colab the assignments do not find cfrlib: {why}; set CFR_BOOK_REPOSITORY.")
    prepare(course, [there[name] for name in names])
    failed = solutions(course, names)
    if not options.no_demo:
        demonstrate(BUILD / "demo", there[SHOWN])
    print(f"The course is ready: {course}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
