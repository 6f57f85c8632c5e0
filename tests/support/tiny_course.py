"""A course with an assignment of one exercise, and what is handed in there."""

import json

import classroom
import nbformat
from nbformat.v4 import new_code_cell, new_notebook

NAME = "tiny"


def cell(source, kind=None, points=0):
    """Return a cell of an assignment: an answer, a check with points, or what is given."""
    label = {"schema_version": 3, "grade": kind == "check", "solution": kind == "answer"}
    label |= {"locked": kind != "answer", "task": False, "grade_id": kind or "given"}
    made = new_code_cell(source)
    made.metadata.nbgrader = label | ({"points": points} if kind == "check" else {})
    return made


def tiny_course(folder):
    """Make a course with an assignment of one exercise, as `make classroom` makes others."""
    (folder / "source" / NAME).mkdir(parents=True)
    given = cell("def check(answer):\n    assert answer == 1")
    cells = [given, cell("answer = 1", "answer"), cell("check(answer)", "check", 2)]
    nbformat.write(new_notebook(cells=cells), folder / "source" / NAME / f"{NAME}.ipynb")
    classroom.prepare(folder, [])
    api = classroom.api_of(folder)
    classroom.succeed(api.generate_assignment(NAME), "no release")
    return folder


def hand_in(course, student, answer, *more, **metadata):
    """Write a submission of an answer, with more cells after the others."""
    nb = classroom.read(course / "release" / NAME / f"{NAME}.ipynb")
    nb.cells[1].source = answer
    nb.cells += more
    nb.metadata.update(metadata)
    folder = course / "submitted" / student / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.ipynb").write_text(json.dumps(nb), "utf-8")
    return folder
