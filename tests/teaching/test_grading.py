"""Grading on tiny cases: an assignment, the sandbox, the table of points."""

import csv
import shlex
import shutil
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import assignments
import classroom
import contained
import pytest
from IPython.core.interactiveshell import InteractiveShell
from nbformat.v4 import new_code_cell, new_output
from nbgrader.utils import is_grade, is_solution

from cfrbook import exercises


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


@pytest.mark.parametrize(
    ("name", "again"), [("NameError", True), ("NotYet", False), ("CellTimeoutError", False)]
)
def test_only_unexpected_errors_are_run_again(name, again):
    output = new_output("error", ename=name, evalue="", traceback=[])
    assert contained.unexpected(output) is again


def test_table_of_points_lists_who_could_not_be_graded(tmp_path, capsys):
    outcomes = [
        classroom.Outcome("ada", {"4.1": 2.0, "4.4": 1.0}),
        classroom.Outcome("bob", None, ["is no notebook"]),
    ]
    classroom.report(tmp_path / "points.csv", {"4.1": 2.0, "4.4": 3.0}, outcomes)
    with (tmp_path / "points.csv").open(encoding="utf-8") as file:
        rows = list(csv.reader(file))
    assert rows[1:] == [
        ["ada", "graded", "2.0", "1.0", "3.0", "", "", ""],
        ["bob", "not graded", "", "", "", "is no notebook", "", ""],
        ["possible", "", "2.0", "3.0", "5.0", "", "", ""],
    ]
    assert "not graded" in capsys.readouterr().out


# ---- what a cell shows -----------------------------------------------------------------------


def shown(kind, content, before=()):
    """Return the outputs of a cell after one more message of the kernel."""
    outs = list(before)
    header = {"msg_type": kind, "msg_id": "1"}
    message = {"header": header, "msg_type": kind, "content": content, "parent_header": {}}
    kernel = contained.Contained()
    kernel.reset_execution_trackers()
    kernel.clear_before_next_output = False
    kernel.output(outs, message, None, 0)
    return outs


@pytest.mark.parametrize("kind", ["display_data", "execute_result"])
@pytest.mark.parametrize("mime", ["image/png", "text/html"])
def test_a_picture_that_is_too_large_costs_nothing(kind, mime):
    content = {"data": {mime: "x" * 120_000}, "metadata": {}, "execution_count": 1}
    [out] = shown(kind, content)
    assert out == new_output("stream", name="stdout", text="\n(the rest is left out)\n")
    small = {**content, "data": {mime: "x" * 40_000}}
    outs = []
    for _ in range(4):  # the sum counts
        outs = shown(kind, small, outs)
    assert [out.output_type for out in outs] == [kind, kind, "stream", "stream"]


def test_what_is_printed_is_cut():
    [out] = shown("stream", {"name": "stdout", "text": "x" * 10_000_000})
    assert len(out.text) < contained.PRINTED + 100 and "left out" in out.text


def test_feedback_shows_no_path_of_this_machine():
    inside = f"File {classroom.ROOT}/cfrlib/game.py:7, {sys.prefix}/lib/a.py, {Path.home()}/x"
    error = {"ename": "E", "evalue": inside, "traceback": [inside]}
    for kind, content in (
        ("error", error),
        ("stream", {"name": "stdout", "text": inside}),
        (
            "execute_result",
            {"data": {"text/plain": inside}, "metadata": {}, "execution_count": 1},
        ),
    ):
        text = str(shown(kind, content))
        assert "File cfrlib/game.py:7, lib/a.py" in text
        for private in (classroom.ROOT, sys.prefix, Path.home()):
            assert str(private) not in text


def test_code_of_the_page_has_the_patience_of_given_code():
    kernel = contained.Contained(timeout=60, patience=600)
    added, page = new_code_cell("1"), new_code_cell("1", id="page-7")
    assert [kernel._get_timeout(cell) for cell in (added, page)] == [60, 600]
    assert kernel.startup_timeout == 600  # it may share a processor with a hostile submission


def test_few_environment_variables_are_handed_on(monkeypatch, tmp_path):
    monkeypatch.setenv("CFR_TEST_TOKEN", "secret")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    found = contained.environment(tmp_path)
    assert "CFR_TEST_TOKEN" not in found and found["OMP_NUM_THREADS"] == "1"
    assert found["HOME"] == found["TMPDIR"] == str(tmp_path)
    assert all(name.startswith((*contained.PASSED, "HOME", "TMPDIR")) for name in found)


def test_the_reason_is_what_was_raised():
    """nbgrader's own last sentence points to what it has logged."""
    log = "[ERROR] There was an error\n[ERROR] Traceback (most recent call last):\n  File x\n"
    own = "nbgrader.converters.base.NbGraderException: Please see the the above traceback"
    result = {"log": f"{log}KeyError: 'metadata'\n", "error": f"Traceback\n{own}"}
    assert classroom.cause(result) == "KeyError: 'metadata'"
    assert classroom.cause({"error": f"Traceback\n{own}"}) == own
    second = "RuntimeError: no answer\nDuring handling of this:\nAssertionError\n"
    assert classroom.cause({"log": f"{log}{second}"}) == "RuntimeError: no answer"
    assert classroom.cause({}) == "nbgrader says nothing"


# ---- feedback --------------------------------------------------------------------------------


def told(*cells):
    """Return what the check of exercise 4.1 says after some cells."""
    shell = InteractiveShell.instance()
    shell.push({"exercises": exercises})
    for cell in (assignments.CHECK, *cells):
        shell.run_cell(cell)
    said = shell.run_cell('check_answer("4.1", "answer")').error_in_exec
    InteractiveShell.clear_instance()
    return str(said)


def test_a_cell_that_stopped_is_told_so(capsys):
    stopped = "4.1 · The cell above stopped with NameError: name 'ROCK' is not defined"
    assert stopped in told("answer = ROCK")
    assert "stopped with SyntaxError" in told("answer = (")
    assert "Not answered yet" in told("answer = ...")
    assert "Not answered yet" in told("answer = ROCK", "1 + 1")
    assert "stopped" not in told("answer = 1", "ROCK")  # an answer is checked


# ---- the way through Colab -------------------------------------------------------------------


@pytest.fixture
def colab(monkeypatch):
    """Return what a first cell installs on an imitation of Colab, in a copy from Drive."""
    calls = []
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    monkeypatch.setitem(sys.modules, "requests", None)  # the address is not looked up
    shell = types.SimpleNamespace(run_line_magic=lambda *line: calls.append(line))
    return {"get_ipython": lambda: shell}, calls


def test_an_assignment_installs_the_book_on_colab(monkeypatch, colab):
    monkeypatch.setenv("CFR_BOOK_REPOSITORY", "git@github.com:school/book.git")
    monkeypatch.setenv("CFR_BOOK_BRANCH", "fall")
    nb = assignments.assignment(assignments.BOOK / "04_vanilla_cfr.ipynb")
    first = next(cell for cell in nb.cells if cell.cell_type == "code")
    space, calls = colab
    exec(first.source, space)
    assert calls == [("pip", "install -q git+https://github.com/school/book@fall")]
    assert (space["home"], space["branch"]) == ("https://github.com/school/book", "fall")
    assert first.metadata.nbgrader.locked and "OWNER/NAME" not in first.source


def test_without_an_address_the_teacher_is_told(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("CFR_BOOK_REPOSITORY", "https://example.org/book")
    monkeypatch.setattr(classroom, "prepare", lambda *rest: None)
    monkeypatch.setattr(classroom, "solutions", lambda *rest: 0)
    classroom.main(["--course", str(tmp_path), "--no-demo", "04_vanilla_cfr"])
    assert "not on github.com; set CFR_BOOK_REPOSITORY" in capsys.readouterr().out
    nb = assignments.assignment(assignments.BOOK / "04_vanilla_cfr.ipynb")
    assert "colab" not in str(nb)


# ---- the command line ------------------------------------------------------------------------


@pytest.mark.parametrize("shell", [s for s in ("sh", "bash", "zsh") if shutil.which(s)])
def test_folders_may_have_any_name(shell):
    folder, there = "~/My Course/Übung 1", "/tmp/x y/ä (1).zip"
    line = f'make --no-print-directory -n -o .venv/.classroom {{}} COURSE="{folder}"'
    for target, more in (
        ("classroom", f'GRADE=04_vanilla_cfr COLLECT="{there}"'),
        ("tournament", f'FOLDER="{there}"'),
    ):
        command = [shell, "-c", f"{line.format(target)} {more}"]
        done = subprocess.run(command, capture_output=True, text=True, cwd=classroom.ROOT)
        assert done.returncode == 0, done.stderr
        words = shlex.split(done.stdout)
        assert there in words and (target == "tournament" or folder in words)


def test_a_tilde_is_expanded(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "c" / "release" / "04_vanilla_cfr").mkdir(parents=True)
    with zipfile.ZipFile(tmp_path / "a b.zip", "w") as file:
        file.writestr("ada/a.ipynb", "{}")
    graded = []
    monkeypatch.setattr(classroom, "grade_class", lambda *rest: graded.append(rest))
    command = ["--course", "~/c", "--grade", "04_vanilla_cfr", "--collect", "~/a b.zip"]
    assert classroom.main([*command, "--unprotected"]) == 0
    assert graded[0][:2] == (tmp_path / "c", "04_vanilla_cfr")
    assert (tmp_path / "c" / "submitted" / "ada" / "04_vanilla_cfr" / "a.ipynb").is_file()
