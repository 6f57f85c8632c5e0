"""Assignments made from the exercises, and their grading by nbgrader for invented students."""

import ast
import builtins
import csv
import io
import json
import linecache
import os
import re
import shutil
import socket
import subprocess
import sys
from functools import partial
from pathlib import Path

import nbformat
import pytest
import yaml
from IPython.display import display
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import is_grade, is_locked, is_solution
from traitlets.config import PyFileConfigLoader

ROOT = Path(__file__).parents[3]
sys.path.insert(0, str(ROOT / "tools"))

import assignments  # noqa: E402
import classroom  # noqa: E402
import collecting  # noqa: E402
import contained  # noqa: E402
import rebuilding  # noqa: E402
from assignments import BEGIN, END, check_of, plain, read, tags  # noqa: E402

from cfrbook import exercises  # noqa: E402

pytestmark = pytest.mark.slow

PAGES = assignments.pages()
NAME = "04_vanilla_cfr"
PAGE = ROOT / "book" / f"{NAME}.ipynb"
# Time limits of a cell in seconds, for a busy machine; the short one is for endless loops.
PATIENCE, SHORT = 600, 60


def trivial(line):
    """Return whether a line is too short to reveal a solution."""
    return len(line.strip()) <= 16


# ---- every page ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """Return the folder of a course with the released assignments of all pages."""
    folder = tmp_path_factory.mktemp("classroom") / "course"
    classroom.prepare(folder, PAGES)
    return folder


def test_pages_include_chapter_4():
    assert PAGE in PAGES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_assignment_is_valid_for_nbgrader(path):
    nb = assignments.assignment(path)
    MetadataValidator().validate_nb(nb)
    ids = [cell.metadata.nbgrader.grade_id for cell in nb.cells]
    assert len({*ids}) == len(ids)
    answers = [c for c in read(path).cells if "answer" in tags(c)]
    numbers = [check_of(c.source, "")[1] for c in answers]
    graded = {
        classroom.number_of(c.metadata.nbgrader.grade_id): c.metadata.nbgrader.points
        for c in nb.cells
        if is_grade(c)
    }
    assert graded == {n: exercises.find(n).points for n in numbers}
    assert all(is_locked(cell) or is_solution(cell) for cell in nb.cells)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_assignment_has_no_sphinx_markup(path):
    """A notebook would show directives, roles and colored words as plain text."""
    for cell in assignments.assignment(path).cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"\{[a-z:-]+\}`|^(`{3,}|:{3,})|\]\{\.", cell.source, re.M)
            assert cell.source.count("<details>") == cell.source.count("</details>")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_release_has_no_solutions(course, path):
    source = read(course / "source" / path.stem / path.name)
    text = (course / "release" / path.stem / path.name).read_text("utf-8")
    released = nbformat.reads(text, as_version=4)
    assert "SOLUTION" not in text
    shown = {line for cell in released.cells for line in cell.source.split("\n")}
    given, solved = set(), []
    for cell in source.cells:
        before, _, rest = cell.source.partition(BEGIN)
        inside, _, after = rest.partition(END)
        given.update(before.split("\n"), after.split("\n"))
        if inside:  # a corrected function shares most lines with the faulty one
            solved.append(set(inside.split("\n")) - set(before.split("\n")))
    assert len(solved) == sum(map(is_solution, source.cells))
    for lines in solved:
        assert any(not trivial(line) for line in lines)
        revealed = lines & shown - given
        assert not [line for line in revealed if not trivial(line)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_assignment_does_not_rebind_names_of_the_check(path):
    """A chapter that rebinds one of them would lose all later points."""
    reserved = {node.name for node in ast.parse(assignments.CHECK).body}
    for cell in assignments.assignment(path).cells:
        if cell.cell_type == "code" and cell.source != assignments.CHECK:
            bound = [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Name)]
            stored = {n.id for n in bound if isinstance(n.ctx, ast.Store)}
            assert not stored & {*reserved, "exercises"}


def names_in(source, *contexts):
    tree = ast.parse(source)
    return {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, contexts)
    }


def bound_in(source):
    """Return the names that code binds anywhere: by assigning, importing, defining."""
    found = names_in(source, ast.Store)
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.alias):
            found.add((node.asname or node.name).partition(".")[0])
        elif isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
    return found


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_assignment_defines_the_names_that_it_uses(path):
    """A page may define a name in a cell that its assignment does not have."""
    sources = [c.source for c in assignments.assignment(path).cells if c.cell_type == "code"]
    known = set(vars(builtins)).union(*map(bound_in, sources))
    # where a page is hosted, for files that are not here; names of IPython; a function that
    # `exec` defines
    elsewhere = {"home", "branch", "get_ipython", "display", "swapped"}
    used = set().union(*(names_in(source, ast.Load) for source in sources))
    assert not used - known - elsewhere


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_solutions_earn_all_points_in_the_assignment(course, path, monkeypatch, capsys):
    """Run the cells of a source notebook in its folder, as graders do, but without a kernel."""
    folder = course / "source" / path.stem
    monkeypatch.chdir(folder)
    cells = [cell for cell in read(folder / path.name).cells if cell.cell_type == "code"]
    space = {"__name__": "__main__", "display": display}
    for n, cell in enumerate(cells):
        name, source = f"{path.name}, cell {n}", cell.source + "\n"
        # as in a notebook, `inspect.getsource` finds the source
        linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
        exec(compile(source, name, "exec"), space)  # a wrong answer raises NotYet
    assert capsys.readouterr().out.count("✓") == sum(map(is_grade, cells)) > 0


def test_a_student_has_an_own_answer(capsys):
    space = {"exercises": exercises, "student": "1013"}
    exec(assignments.CHECK, space)
    space["answer"] = exercises.find("3.5").of("1013").solution()
    space["check_answer"]("3.5", "answer")
    space["student"] = "1014"
    with pytest.raises(AssertionError, match="somebody else's"):
        space["check_answer"]("3.5", "answer")


def test_release_contains_the_files_an_assignment_reads(course):
    for path in PAGES:
        nb = read(course / "source" / path.stem / path.name)
        for file in assignments.files_of(nb):
            assert (course / "release" / path.stem / file.relative_to(ROOT)).is_file()


# ---- reading a page --------------------------------------------------------------------------


def test_myst_becomes_markdown():
    text = (
        "````{exercise} Which?\n:label: ex-01-1\n\nSee {doc}`04_vanilla_cfr`, {term}`a <b>`, "
        "[(Takizawa, 2020)](references.md#takizawa2020), "
        "[regret]{.regret} and [there](x.md).\n\n"
        ":::{hint}\n:class: dropdown\n\nLook.\n:::\n````"
    )
    assert plain(text, {"04_vanilla_cfr": "Chapter 4: CFR"}) == (
        "**Which?**\n\nSee *Chapter 4: CFR*, a, (Takizawa, 2020), regret and there.\n\n"
        f"{assignments.HINT}\n\nLook.\n\n</details>"
    )


@pytest.mark.parametrize(
    "source",
    [
        "x = 1",
        'exercises.check("4.1", [1, 2])',
        'print("4.1", answer)',
        "exercises.check(a, b)",
        'x = 1\nexercises.check("4.1", x)\nprint(x)',
    ],
)
def test_cell_without_check_raises(source):
    with pytest.raises(ValueError, match="must end with"):
        check_of(source, "a page")


def test_check_cell_raises_the_feedback(monkeypatch):
    """For students it is repeatable; while nbgrader grades, it deletes the answer."""
    space = {"exercises": exercises, "answer": [1, 2, 3]}
    exec(assignments.CHECK, space)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    for _ in range(2):
        with pytest.raises(
            AssertionError, match=r"^. 4\.1 · By hand · The answer is"
        ) as caught:
            space["check_answer"]("4.1", "answer")
    assert caught.value._render_traceback_() == [str(caught.value)]
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    for message in ("The answer is", "Not answered yet"):
        with pytest.raises(AssertionError, match=message):
            space["check_answer"]("4.1", "answer")


# ---- resources of one student ----------------------------------------------------------------


def test_memory_values_follow_the_measurements():
    """JupyterLab and the largest chapter are guaranteed, and a second chapter is allowed."""
    measured = json.loads((ROOT / "benchmarks" / "teaching.json").read_text("utf-8"))
    most = max(row["page"]["megabytes"] for row in measured["pages"].values())
    values = yaml.safe_load((ROOT / "deploy" / "jupyterhub-values.yaml").read_text("utf-8"))
    memory = {
        key: float(size[:-1]) * 2**30 / 1e6
        for key, size in values["singleuser"]["memory"].items()
    }
    assert measured["server_megabytes"] + most <= memory["guarantee"]
    assert measured["server_megabytes"] + 2 * most <= memory["limit"]
    assert {path.stem for path in (ROOT / "book").glob("*.ipynb")} == {*measured["pages"]}
    text = (ROOT / "book" / "for_teachers.md").read_text("utf-8")
    cores = 200 * values["singleuser"]["cpu"]["guarantee"]
    assert f"need 200 GB and {cores:.0f} cores guaranteed" in text


# ---- reading a submission --------------------------------------------------------------------


@pytest.fixture(scope="module")
def release(course):
    return read(course / "release" / NAME / f"{NAME}.ipynb")


def handed_in(release):
    """Return the cells of a submission whose answers say which exercise they are of."""
    nb = nbformat.from_dict(release)
    for cell in nb.cells:
        if is_solution(cell):
            cell.source = f"answer = {cell.metadata.nbgrader.grade_id!r}"
    return nb.cells


def answers_of(nb):
    return [cell.source for cell in nb.cells if is_solution(cell)]


def test_rebuilt_submission_is_the_release_with_the_answers(release):
    cells = handed_in(release)
    for cell in cells:
        if not is_solution(cell):
            cell.source += "\nraise SystemExit"  # mended by the student
    nb, remarks = rebuilding.rebuild(release, cells)
    assert remarks == []
    for mine, theirs in zip(nb.cells, release.cells, strict=True):
        assert is_solution(mine) or mine == theirs
        assert mine.metadata == theirs.metadata


def places_of(release, kind):
    return [n for n, cell in enumerate(release.cells) if kind(cell)]


def spoiled(release, how):
    """Return the cells of a submission with right answers that was handled badly."""
    cells = handed_in(release)
    answer, check = places_of(release, is_solution)[1], places_of(release, is_grade)[1]
    if how == "copied":
        cells.insert(answer, nbformat.from_dict(cells[answer] | {"source": "draft = 1"}))
    elif how == "check deleted":
        del cells[check]
    elif how == "given deleted":
        del cells[:3]
    elif how == "unlabeled":
        for cell in cells:
            cell.metadata.clear()
    elif how == "renamed":
        cells[answer].metadata.nbgrader.grade_id = "something-else"
    elif how == "nonsense":
        cells[0].metadata.nbgrader = "nonsense"
        cells[answer].metadata["tags"] = ["skip-execution"]
    elif how == "moved":
        cells.append(cells.pop(answer))
    elif how == "markdown":
        cells[answer].cell_type = "markdown"
    return cells


@pytest.mark.parametrize(
    ("how", "remark"),
    [
        ("copied", "two answers to 4.2: the last counts"),
        ("check deleted", None),
        ("given deleted", None),
        ("unlabeled", "the answer to 4.2 had lost its label"),
        ("renamed", "the answer to 4.2 had lost its label"),
        ("nonsense", None),
        ("moved", None),
        ("markdown", "the answer to 4.2 was no code cell"),
    ],
)
def test_answers_survive_bad_handling(release, how, remark):
    nb, remarks = rebuilding.rebuild(release, spoiled(release, how))
    assert answers_of(nb) == answers_of(rebuilding.rebuild(release, handed_in(release))[0])
    assert remark in remarks if remark else remarks == []
    assert not any("tags" in cell.metadata for cell in nb.cells)
    MetadataValidator().validate_nb(nb)


def test_added_cells_keep_their_place(release):
    cells = handed_in(release)
    answer = places_of(release, is_solution)[1]
    helper = nbformat.v4.new_code_cell("def helper():\n    return 1")
    again = nbformat.v4.new_code_cell("def check_answer(number, name):\n    pass")
    nb, remarks = rebuilding.rebuild(release, [*cells[:answer], helper, again, *cells[answer:]])
    sources = [cell.source for cell in nb.cells]
    assert sources.index(helper.source) + 1 == sources.index(cells[answer].source)
    assert again.source not in sources and remarks == [
        "a changed copy of check_answer is left out"
    ]


def test_missing_answer_is_remarked(release):
    cells = [cell for cell in handed_in(release) if "ex-4-2" not in str(cell.metadata)]
    nb, remarks = rebuilding.rebuild(release, cells)
    assert remarks == ["no cell with an answer to 4.2"]
    assert len(nb.cells) == len(release.cells)


def test_other_notebook_is_not_graded(release):
    with pytest.raises(collecting.NotGraded, match="no cell of this assignment"):
        rebuilding.rebuild(release, [nbformat.v4.new_code_cell("1 + 1")])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"nbformat": 4, "cells": 1}', "\0", "null"])
def test_other_files_are_not_graded(tmp_path, text):
    (tmp_path / "a.ipynb").write_text(text, "utf-8")
    with pytest.raises(collecting.NotGraded, match="is no notebook"):
        collecting.load(tmp_path / "a.ipynb")


def test_other_file_is_no_archive(course, tmp_path, capsys):
    (tmp_path / "a.zip").write_text("no")
    command = ["--course", str(course), "--collect", str(tmp_path / "a.zip")]
    with pytest.raises(SystemExit):
        classroom.main([*command, "--grade", NAME])
    assert "is no zip file" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        classroom.main(command)
    assert "needs --grade" in capsys.readouterr().err


# ---- grading ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def configured(course):
    """Return the preprocessor that runs submissions, configured as in the course folder."""
    read_as_nbgrader_does = PyFileConfigLoader("nbgrader_config.py", path=str(course))
    return contained.Contained(config=read_as_nbgrader_does.load_config())


def test_limits_equal_those_on_the_page_for_teachers(configured):
    """A student's cell may run a minute; given cells run longer, since they may compile."""
    text = (ROOT / "book" / "for_teachers.md").read_text("utf-8")
    gigabytes = re.search(r"more than (\d+) GiB", text)[1]
    assert "loops forever" in text and "after a minute" in text
    assert configured.memory == int(gigabytes)
    answer, given = nbformat.v4.new_code_cell(), nbformat.v4.new_code_cell()
    given.metadata.nbgrader = {"grade": False, "locked": True, "solution": False}
    assert configured._get_timeout(answer) == 60
    assert configured._get_timeout(given) == 600


# Endless loops; they sleep, to leave the processor to the other tests.
LOOP = "import time\nwhile True:\n    time.sleep(1)"
STUBBORN = """\
import time
while True:
    try:
        while True:
            time.sleep(1)
    except BaseException:
        pass
"""
# What the page for teachers promises that a submission cannot do in the sandbox. Each line is
# tried by itself and must fail.
ESCAPES = {
    "read a file of the home folder": "open({private!r}, 'rb').read()",
    "read another submission": "open({mine!r}).read()",
    "delete another submission": "os.remove({mine!r})",
    "write into the course": "open({course!r} + '/new', 'w')",
    "write into the library": "open(os.path.dirname(cfrlib.__file__) + '/new', 'w')",
    "read passwords": "open('/etc/passwd').read()",
    "use the network": "socket.create_connection(('127.0.0.1', {port}), timeout=3)",
    "find a host": "socket.getaddrinfo('pypi.org', 443)[0]",
    "reach a socket of another program": "socket.socket(socket.AF_UNIX).connect({door!r})",
    "read an environment variable": "os.environ['CFR_TEST_TOKEN']",
}
TRY = """\
import os, socket, cfrlib
done = []
for what, code in {escapes!r}.items():
    try:
        eval(code)
        done.append(what)
    except Exception:
        pass
print(done)
"""
DREADFUL = {
    "4.1": classroom.DELETE,
    "4.3": STUBBORN,
    "4.4": "import os\nos._exit(1)",
    "4.2": "x = [0] * 10**10",
    "4.5": "import mmap\nm = mmap.mmap(-1, 5 * 2**30)\nwhile True: m.write(bytes(2**20))",
    "4.6": "import os\nwhile True:\n    os.fork() or __import__('time').sleep(1_000)",
    "4.7": "with open('/dev/shm/a', 'wb') as file:\n    while True: file.write(bytes(2**20))",
}


def rotated(n, number, name, worked):
    """Return student n's answer; over all students, each mistake occurs at least once."""
    count = int(number.partition(".")[2])
    k = (n + count) % rounds()
    if k >= len(exercises.find(number).mistakes):
        return worked
    return classroom.mistaken(number, name, worked, n=k)


def rounds():
    most = classroom_exercises()
    return 1 + max(len(exercises.find(number).mistakes) for number in most)


def classroom_exercises():
    return [check_of(c.source, "")[1] for c in read(PAGE).cells if "answer" in tags(c)]


def dreadful(number, name, worked):
    return DREADFUL.get(number, worked)


# Each spoils what later exercises need, or its own right answer's looks.
HOSTILE = {
    "4.1": 'exercises, print, check_answer = [], None, len\n__import__("sys").stdout = None',
    "4.3": "exit()",
    "4.4": 'print("x" * 10_000_000)\n{worked}',
    "4.2": '{worked}\nimport os\nos.write(2, b"careful")\n__import__("logging").warning("!")',
    "4.8": "%reset -f",
}


def hostile(number, name, worked):
    return HOSTILE.get(number, "{worked}").format(worked=worked)


def clumsy(course):
    """Hand in right answers under another name, without metadata, one copied, one skipped."""
    classroom.submit(course, NAME, classroom.Student("clumsy", classroom.right))
    folder = course / "submitted" / "clumsy" / NAME
    nb = read(folder / f"{NAME}.ipynb")
    for cell in nb.cells:
        del cell.metadata["nbgrader"]
        cell.metadata["tags"] = ["skip-execution"]
    nb.cells.append(nb.cells[-1].copy())
    (folder / f"{NAME}.ipynb").unlink()
    nbformat.write(nb, folder / f"{NAME} (1).ipynb")


PICTURE = """
import matplotlib.pyplot as plt
import numpy as np

plt.imshow(np.random.default_rng(0).random((300, 300)))
plt.show()
"""


def in_the_chapter(course):
    """Answer in the chapter's notebook, with a large picture after each answer."""
    page = read(PAGE)
    found = assignments.tasks(page.cells, assignments.page_titles(), NAME)
    answers = {task.number: f"# mine\n{task.form}\n{task.worked}\n{PICTURE}" for task in found}
    for cell in page.cells:
        if "answer" in tags(cell):
            _, number, name = check_of(cell.source, "")
            cell.source = f'{answers[number]}\nexercises.check("{number}", {name})'
        cell.metadata.clear()
    folder = course / "submitted" / "chapter" / NAME
    folder.mkdir(parents=True)
    (folder / f"{NAME}.ipynb.txt").write_text(nbformat.writes(page), "utf-8")


@pytest.fixture(scope="module")
def outcomes(course):
    """Return outcomes by student; those who misbehave come first and could harm others."""
    only = classroom.only
    misbehaving = [
        classroom.Student("dreadful", dreadful),
        classroom.Student("hostile", hostile),
        classroom.Student("loops", partial(only, "4.3", LOOP)),
        classroom.Student("deletes", partial(only, "4.3", classroom.DELETE)),
    ]
    students = [
        classroom.Student("perfect", classroom.right),
        classroom.Student("empty", classroom.nothing),
        *(classroom.Student(f"mistakes-{n}", partial(rotated, n)) for n in range(rounds())),
    ]
    for student in misbehaving + students:
        classroom.submit(course, NAME, student)
    clumsy(course)
    in_the_chapter(course)
    broken = course / "submitted" / "broken" / NAME
    broken.mkdir(parents=True)
    (broken / f"{NAME}.ipynb").write_text('{"cells": [', "utf-8")
    first = ["broken", *(student.name for student in misbehaving)]
    second = ["clumsy", "chapter", *(student.name for student in students)]
    found = {}
    for names, seconds in ((first, SHORT), (second, PATIENCE)):
        options = {"Execute": {"timeout": seconds}}
        for outcome in classroom.grade_all(course, NAME, names, options):
            found[outcome.student] = outcome
    return found


@pytest.fixture(scope="module")
def graded(outcomes):
    """Return points by student."""
    return {name: one.scores for name, one in outcomes.items() if one.scores is not None}


@pytest.fixture(scope="module")
def most(course):
    return classroom.worth(NAME, course)


def test_perfect_submission_earns_all_points(graded, most):
    assert graded["perfect"] == most and sum(most.values()) > 5


def test_empty_submission_earns_no_points(graded, most):
    assert graded["empty"] == dict.fromkeys(most, 0)


def test_mistake_costs_only_its_own_points(graded, most):
    tried = 0
    for n in range(rounds()):
        for number, points in most.items():
            answer = rotated(n, number, "answer", "right")
            assert graded[f"mistakes-{n}"][number] == (points if answer == "right" else 0)
            tried += answer != "right"
    assert tried == sum(len(exercises.find(number).mistakes) for number in most)


@pytest.mark.parametrize("name", ["loops", "deletes"])
def test_loop_or_deletion_costs_only_its_own_points(graded, most, name):
    assert graded[name] == most | {"4.3": 0}


def test_dreadful_submission_keeps_the_points_of_its_right_answers(graded, most):
    """It deletes files, loops forever, kills its kernel, and exceeds each limit in turn."""
    assert graded["dreadful"] == most | dict.fromkeys(DREADFUL, 0)


def test_hostile_cells_cost_no_points_elsewhere(graded, most):
    """They rebind names, end the kernel, print ten megabytes, log, and clear the namespace."""
    assert graded["hostile"] == most | {"4.1": 0, "4.3": 0, "4.8": 0}


def test_clumsy_submission_earns_all_points(outcomes, graded, most):
    assert graded["clumsy"] == most
    assert outcomes["clumsy"].status == "with remarks"
    assert "two answers" not in outcomes["clumsy"].remarks  # the copied cell was a check
    assert any("had lost its label" in remark for remark in outcomes["clumsy"].remarks)


def test_answers_in_the_chapters_notebook_earn_all_points(course, outcomes, graded, most):
    assert graded["chapter"] == most
    assert outcomes["chapter"].remarks == ("answered in the chapter's notebook",)
    page = (course / "feedback" / "chapter" / NAME / f"{NAME}.html").read_text("utf-8")
    assert "(the rest is left out)" in page
    assert not any(f"{path}/" in page for path in (ROOT, sys.prefix, Path.home()))


def test_unreadable_submission_is_not_graded_rather_than_zero(course, outcomes, most, capsys):
    broken = outcomes["broken"]
    assert broken.scores is None and broken.status == "not graded"
    assert "is no notebook" in broken.remarks[0]
    path = course / "grades" / "some.csv"
    classroom.report(path, most, outcomes.values())
    rows = {row[0]: row for row in csv.reader(path.open(encoding="utf-8"))}
    assert rows["broken"][1:-3] == ["not graded", *[""] * (len(most) + 1)]
    assert rows["empty"][1:-3] == ["graded", *["0.0"] * (len(most) + 1)]
    assert "not graded" in capsys.readouterr().out


def test_output_is_cut_by_characters(course, graded):
    nb = read(course / "autograded" / "hostile" / NAME / f"{NAME}.ipynb")
    assert len(json.dumps(nb)) < 10 * contained.PRINTED


def test_files_of_all_students_are_kept(course, graded):
    for name in graded:
        assert list((course / "submitted" / name / NAME).glob("*.ipynb*"))
        assert (course / "autograded" / name / NAME / f"{NAME}.ipynb").is_file()
        assert (course / "feedback" / name / NAME / f"{NAME}.html").is_file()
    assert (course / "gradebook.db").is_file() and (course / "release" / NAME).is_dir()


def test_feedback_page_shows_messages_without_tracebacks(course, graded):
    page = (course / "feedback" / "mistakes-1" / NAME / f"{NAME}.html").read_text("utf-8")
    assert "Not yet." in page and "Traceback (most" not in page
    lost = (course / "feedback" / "dreadful" / NAME / f"{NAME}.html").read_text("utf-8")
    assert "could not be stopped" in lost and "The kernel died" in lost


def test_copied_cache_avoids_recompilation(tmp_path):
    """In the sandbox, Numba cannot use the cache beside the library."""
    program = """
import cfrlib as cfr
game = cfr.games.KuhnPoker()
cfr.exploitability(game, cfr.Strategy.uniform(game))
kernel = cfr.core.sequence.gradient
print(sum(kernel.stats.cache_hits.values()), sum(kernel.stats.cache_misses.values()))
"""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_CACHE_DIR"}
    found = []
    for cache in (None, tmp_path / "none", tmp_path / "copied"):
        if cache:
            cache.mkdir()
            environment["NUMBA_CACHE_DIR"] = str(cache)
        if cache == tmp_path / "copied":
            contained.link_compiled(cache)
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.split())
    assert found[1:] == [["0", "1"], ["1", "0"]]


@pytest.fixture
def outside(tmp_path, monkeypatch):
    """Return what a submission might reach for: files, sockets, and an environment variable."""
    (tmp_path / "mine").write_text("theirs")
    monkeypatch.setenv("CFR_TEST_TOKEN", "secret")
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        socket.socket(socket.AF_UNIX) as door,
    ):
        door.bind(str(tmp_path / "door"))
        door.listen()
        files = (path for path in Path.home().iterdir() if path.is_file())
        yield {
            "private": str(next(files, tmp_path / "mine")),
            "course": str(tmp_path),
            "mine": str(tmp_path / "mine"),
            "port": server.getsockname()[1],
            "door": str(tmp_path / "door"),
        }


def attempt(names, targets):
    """Return a program that tries some of ESCAPES and prints what it could do."""
    return TRY.format(escapes={name: ESCAPES[name].format(**targets) for name in names})


@pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
def test_submission_cannot_escape_the_sandbox(course, outside):
    code = attempt(ESCAPES, outside | {"course": str(course)})
    student = classroom.Student("escapes", partial(classroom.only, "4.1", code))
    classroom.submit(course, NAME, student)
    scores = classroom.grade(course, NAME, "escapes").scores
    nb = read(course / "autograded" / "escapes" / NAME / f"{NAME}.ipynb")
    cell = next(c for c in nb.cells if c.source == code)
    assert cell.outputs[0].text == "[]\n"
    assert scores["4.1"] == 0 and scores["4.4"] > 0
    assert Path(outside["mine"]).exists() and not (course / "new").exists()


def test_same_code_escapes_where_there_is_no_sandbox(outside):
    names = [n for n in ESCAPES if n not in ("write into the library", "find a host")]
    command = [sys.executable, "-c", attempt(names, outside)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ast.literal_eval(done.stdout) == names


@pytest.mark.parametrize(("answer", "rc"), [("n", 1), ("", 1), ("y", 0)])
def test_teacher_is_asked_where_there_is_no_sandbox(course, monkeypatch, capsys, answer, rc):
    monkeypatch.setattr(classroom, "can_sandbox", lambda: False)
    monkeypatch.setattr(classroom, "grade_class", lambda *rest: 0)
    monkeypatch.setattr("sys.stdin", type("Terminal", (), {"isatty": lambda self: True})())
    monkeypatch.setattr("builtins.input", lambda question: answer)
    assert classroom.main(["--course", str(course), "--grade", NAME]) == rc
    assert "delete all that you can" in capsys.readouterr().out


def test_nothing_is_graded_without_a_sandbox_unless_told(course, monkeypatch, capsys):
    monkeypatch.setattr(classroom, "can_sandbox", lambda: False)
    monkeypatch.setattr(classroom, "grade_class", lambda *rest: 0)
    monkeypatch.setattr("sys.stdin", io.StringIO())
    command = ["--course", str(course), "--grade", NAME]
    assert classroom.main(command) == 1
    assert "add --unprotected" in capsys.readouterr().out
    assert classroom.main([*command, "--unprotected"]) == 0


def test_solutions_pass_all_checks(course):
    assert classroom.solution(course, NAME) == ""
    nb = read(course / "solutions" / NAME / f"{NAME}.ipynb")
    assert all("✓" in c.outputs[0].text for c in nb.cells if is_grade(c))
    assert any(BEGIN in cell.source for cell in nb.cells)


def test_second_prepare_keeps_submissions(course):
    (course / "submitted" / "somebody").mkdir(parents=True)
    classroom.prepare(course, [PAGE])
    assert (course / "submitted" / "somebody").is_dir()
    shutil.rmtree(course / "submitted" / "somebody")
