"""Grading on tiny cases: an assignment, the sandbox, the table of points."""

import csv
import subprocess
import sys

import assignments
import classroom
import contained
import pytest
from nbformat.v4 import new_output
from nbgrader.utils import is_grade, is_solution


def test_cells_of_an_exercise_are_what_nbgrader_grades():
    task = assignments.Task(
        "4.1", "**4.1** Text", "why", "answer = ...", "answer = 1", "answer"
    )
    text, answer, points = assignments.cells_of(task)
    assert text.source.startswith("## 4.1 · ")
    form, _, solution = answer.source.partition(assignments.BEGIN)
    assert "..." in form and "answer = 1" in solution
    assert [is_solution(cell) for cell in (text, answer, points)] == [False, True, False]
    assert is_grade(points) and classroom.number_of(points.id) == "4.1"


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
def test_sandbox_writes_to_its_own_folder_only(tmp_path):
    mine, other = tmp_path / "mine", tmp_path / "other"
    mine.mkdir()
    start = contained.bubblewrap(mine)
    assert subprocess.run([*start, "touch", mine / "new"]).returncode == 0
    assert (mine / "new").exists()
    subprocess.run([*start, "touch", other])  # in a folder /tmp of its own
    assert not other.exists()
    other.write_text("theirs")
    seen = subprocess.run([*start, "cat", other], capture_output=True)
    assert seen.returncode and not seen.stdout


@pytest.mark.parametrize(
    ("name", "again"), [("NameError", True), ("NotYet", False), ("CellTimeoutError", False)]
)
def test_only_unexpected_errors_are_run_again(name, again):
    output = new_output("error", ename=name, evalue="", traceback=[])
    assert contained.unexpected(output) is again


def test_table_of_points_lists_who_could_not_be_graded(tmp_path, capsys):
    outcomes = [
        classroom.Outcome("ada", {"4.1": 2.0, "4.3": 1.0}),
        classroom.Outcome("bob", None, ["is no notebook"]),
    ]
    classroom.report(tmp_path / "points.csv", {"4.1": 2.0, "4.3": 3.0}, outcomes)
    with (tmp_path / "points.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[1:] == [
        ["ada", "graded", "2.0", "1.0", "3.0", ""],
        ["bob", "not graded", "", "", "", "is no notebook"],
        ["possible", "", "2.0", "3.0", "5.0", ""],
    ]
    assert "not graded" in capsys.readouterr().out
