"""Hand out, collect, grade and return one assignment for forty invented students; time each.

Thirty students answer with typical mistakes, ten others are hostile or clumsy. Their work comes
as one zip file, as Moodle makes it. Prints a table and writes benchmarks/classroom.json, from
which the page "For teachers" takes its figures. Linux only.

    python benchmarks/classroom.py
"""

import json
import re
import shutil
import sys
import tempfile
import time
import zipfile
from functools import partial
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).with_name("classroom.json")
NAME = "04_vanilla_cfr"
STUDENTS = 40

sys.path.insert(0, str(ROOT / "tools"))
import classroom  # noqa: E402
from contained import can_sandbox  # noqa: E402
from run import machine  # noqa: E402
from submissions import collect  # noqa: E402

STUBBORN = """\
import time
while True:
    try:
        time.sleep(1)
    except BaseException:
        pass
"""
HOSTILE = {
    "loops": classroom.LOOP,
    "stubborn": STUBBORN,
    "exits": "import os\nos._exit(1)",
    "hungry": "x = [0] * 10**10",
    "deletes": classroom.DELETE,
    "talks": 'print("x" * 100_000_000)',
    "rebinds": "exercises, print, check_answer = [], None, len",
    "resets": "%reset -f",
}


def without_metadata(nb):
    """Drop the labels by which nbgrader knows a cell, and hand a cell in twice."""
    for cell in nb.cells:
        cell.metadata.clear()
    nb.cells.append(nb.cells[-1].copy())
    return nbformat.writes(nb)


def cut_off(nb):
    """Hand in half a file."""
    text = nbformat.writes(nb)
    return text[: len(text) // 2]


CLUMSY = {"unlabeled": without_metadata, "cut": cut_off}


def students():
    """Return forty students: their answers, and how their file is written."""
    people = {
        name: (partial(classroom.only, "4.1", code), None) for name, code in HOSTILE.items()
    }
    people |= {name: (classroom.right, change) for name, change in CLUMSY.items()}
    for n in range(STUDENTS - len(people)):
        people[f"student {n}"] = (partial(sometimes_mistaken, n), None)
    return people


def sometimes_mistaken(n, number, name, worked):
    """Answer one exercise in three with a typical mistake."""
    k = int(number.partition(".")[2])
    return classroom.mistaken(number, name, worked, n=n) if (n + k) % 3 == 0 else worked


def hand_in(course, path):
    """Write everybody's work into a zip file, under the names that browsers give."""
    release = classroom.read(course / "release" / NAME / f"{NAME}.ipynb")
    source = classroom.read(course / "source" / NAME / f"{NAME}.ipynb")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for n, (name, (answers, change)) in enumerate(students().items()):
            nb = classroom.Student(name, answers).solve(release, source)
            text = (change or nbformat.writes)(nb)
            archive.writestr(f"{name}_{n}_assignsubmission_file_/{NAME} (1).ipynb", text)


def main():
    if not can_sandbox():
        sys.exit("bubblewrap is needed: hostile code is run here")
    where, seconds = machine(), {}
    with tempfile.TemporaryDirectory() as folder:
        course, archive = Path(folder) / "course", Path(folder) / "submissions.zip"

        def timed(what, do, *arguments):
            began = time.monotonic()
            result = do(*arguments)
            seconds[what] = round(time.monotonic() - began, 1)
            return result

        timed("hand out", classroom.prepare, course, [ROOT / "book" / f"{NAME}.ipynb"])
        hand_in(course, archive)
        timed("collect", collect, archive, course / "submitted", NAME)
        ungraded = timed("grade and write feedback", classroom.grade_class, course, NAME)
        table = (course / "grades" / f"{NAME}.csv").read_text("utf-8")
        back = Path(shutil.make_archive(f"{folder}/feedback", "zip", course / "feedback"))
        returned = len([*course.glob(f"feedback/*/{NAME}/*.html")])
        seconds["in all"] = round(sum(seconds.values()), 1)
        told = {
            "machine": where,
            "assignment": NAME,
            "students": STUDENTS,
            "hostile or clumsy": len(HOSTILE) + len(CLUMSY),
            "not graded": ungraded,
            "feedback": returned,
            "feedback megabytes": round(back.stat().st_size / 1e6, 1),
            "seconds": seconds,
        }
    assert len(re.findall(r"^student \d+,graded", table, re.M)) == STUDENTS - 10, table
    RESULTS.write_text(json.dumps(told, indent=1) + "\n", "utf-8")
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
