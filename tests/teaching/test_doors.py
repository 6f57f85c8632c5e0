"""Whatever grades, grades in the sandbox or not at all: nbgrader's commands, as processes.

The course is a folder somewhere else, so its copies of the tools are what these find.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import classroom
import pytest
from tiny_course import NAME, hand_in, tiny_course

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    folder = tiny_course(tmp_path_factory.mktemp("doors") / "course")
    (folder / "private").write_text("theirs")
    code = f"open({str(folder / 'private')!r}).read()\nanswer = 1"
    hand_in(folder, "reads", code)
    hand_in(folder, "right", "answer = 1")
    return folder


def nbgrader(course, *command, **environment):
    """Run an nbgrader command in the folder of the course, as a teacher does."""
    own = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"} | environment
    start = [sys.executable, "-m", "nbgrader", *command]
    return subprocess.run(start, cwd=course, env=own, capture_output=True, text=True)


def scores(course):
    """Return the points of the students whose work is in `autograded`."""
    with classroom.api_of(course).gradebook as book:
        names = [path.parent.name for path in course.glob(f"autograded/*/{NAME}")]
        return {name: book.find_submission(NAME, name).score for name in names}


@LINUX
@pytest.mark.slow
def test_nbgrader_grades_in_the_sandbox(course):
    done = nbgrader(course, "autograde", NAME, "--force")
    assert done.returncode == 0, done.stderr
    assert scores(course) == {"right": 2, "reads": 0}
    nb = classroom.read(course / "autograded" / "reads" / NAME / f"{NAME}.ipynb")
    assert nb.cells[1].outputs[0].ename == "FileNotFoundError"


def damaged(course, how, folder):
    """Copy a course and take away what the sandbox needs; return it and its environment."""
    shutil.copytree(
        course, copy := folder / "course", ignore=shutil.ignore_patterns("autograded")
    )
    (tools := folder / "bin").mkdir()
    if how == "no bubblewrap":
        for each in map(Path, os.environ["PATH"].split(os.pathsep)):
            for program in each.glob("*") if each.is_dir() else ():
                if program.name != "bwrap" and not (tools / program.name).exists():
                    (tools / program.name).symlink_to(program)
        return copy, {"PATH": str(tools)}
    if how == "bubblewrap may not run":
        (tools / "bwrap").write_text("#!/bin/sh\necho 'No permissions' >&2\nexit 1\n")
        (tools / "bwrap").chmod(0o755)
        return copy, {"PATH": f"{tools}{os.pathsep}{os.environ['PATH']}"}
    if how == "damaged":
        (copy / "contained.py").write_text("def")
    else:
        (copy / f"{how}.py").unlink()
    return copy, {}


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", ["kernels", "contained", "damaged", "no bubblewrap", "bubblewrap may not run"]
)
@pytest.mark.parametrize("command", ["autograde", "generate_solution"])
def test_nbgrader_runs_nothing_without_the_sandbox(course, tmp_path, how, command):
    copy, environment = damaged(course, how, tmp_path)
    done = nbgrader(copy, command, NAME, "--force", **environment)
    said = done.stdout + done.stderr
    assert done.returncode and "Nothing was graded" in said
    assert ("apt install bubblewrap" if "bubblewrap" in how else "make classroom") in said
    folder = "autograded" if command == "autograde" else "solutions"
    assert not list(copy.glob(f"{folder}/**/*.ipynb"))


@pytest.mark.parametrize("how", ["absent", "without the sandbox"])
def test_the_book_grades_no_course_whose_configuration_has_no_sandbox(course, tmp_path, how):
    folder = tmp_path / "course"
    folder.mkdir()
    if how != "absent":
        (folder / "nbgrader_config.py").write_text("c = get_config()\n")
    outcome = classroom.grade(folder, NAME, "right")
    assert outcome.scores is None and "nbgrader_config.py" in outcome.remarks[0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        ("points", "partial credit cannot be greater than maximum points"),
        ("gradebook", "No assignment with ID 'tiny' exists in the database"),
    ],
)
def test_who_is_not_graded_has_the_real_reason(course, tmp_path, monkeypatch, spoil, why):
    shutil.copytree(course, copy := tmp_path / "course")
    monkeypatch.setattr(classroom, "repair", lambda course, name, student: [])
    hand_in(copy, "greedy", "answer = 1\ncheck = lambda answer: 999")
    if spoil == "gradebook":
        (copy / "gradebook.db").unlink()
    (copy / "submitted").rename(copy / classroom.REBUILT)
    outcome = classroom.grade(copy, NAME, "greedy")
    assert outcome.scores is None and re.search(why, outcome.remarks[0]), outcome
