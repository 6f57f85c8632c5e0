"""Assignments made from the exercises, and their grading by nbgrader for invented students."""

import ast
import json
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
from nbgrader.nbgraderformat import MetadataValidator
from nbgrader.utils import is_grade, is_locked, is_solution
from traitlets.config import PyFileConfigLoader

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import assignments  # noqa: E402
import classroom  # noqa: E402
import contained  # noqa: E402
from assignments import BEGIN, END, check_of, plain, read, tags  # noqa: E402

from cfrlib import exercises  # noqa: E402

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


def test_release_contains_the_files_an_assignment_reads(course):
    for path in PAGES:
        nb = read(course / "source" / path.stem / path.name)
        for file in assignments.files_of(nb):
            assert (course / "release" / path.stem / file.relative_to(ROOT)).is_file()


# ---- reading a page --------------------------------------------------------------------------


def test_myst_becomes_markdown():
    text = (
        "````{exercise} Which?\n:label: ex-01-1\n\nSee {doc}`04_vanilla_cfr`, {term}`a <b>`, "
        "{cite}`takizawa2020`, [regret]{.regret} and [there](x.md).\n\n"
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


# ---- grading ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def configured(course):
    """Return the preprocessor that runs submissions, configured as in the course folder."""
    read_as_nbgrader_does = PyFileConfigLoader("nbgrader_config.py", path=str(course))
    return contained.Contained(config=read_as_nbgrader_does.load_config())


def test_limits_equal_those_on_the_page_for_teachers(configured):
    """A student's cell may run a minute; given cells run longer, since they may compile."""
    text = (ROOT / "book" / "for_teachers.md").read_text("utf-8")
    gigabytes = re.search(r"more memory than it may have, (\d+) GiB", text)[1]
    assert "| loops forever | its exercise, after a minute |" in text
    assert configured.memory == int(gigabytes)
    answer, given = nbformat.v4.new_code_cell(), nbformat.v4.new_code_cell()
    given.metadata.nbgrader = {"grade": False, "locked": True, "solution": False}
    assert configured._get_timeout(answer) == 60
    assert configured._get_timeout(given) == 600


@pytest.mark.skipif(os.name != "posix", reason="limits are set by a shell")
def test_kernel_has_the_configured_memory_limit(configured, tmp_path):
    """The process itself reports the limit."""
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_DATA))"
    command = configured.command(["python", "-c", code], tmp_path)
    limits = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert limits.split() == [str(4 * 2**30)] * 2


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
ABSOLUTE = """\
import os, socket
left = []
for name in {files}:
    try:
        os.remove(name)
    except OSError:
        left.append(name)
try:
    socket.create_connection(("127.0.0.1", {port}), timeout=3)
    left.append("connected")
except OSError:
    pass
print(len(left), "connected" in left)
"""
DREADFUL = {
    "4.1": classroom.DELETE,
    "4.2": STUBBORN,
    "4.3": "import os\nos._exit(1)",
    "4.4": "x = [0] * 10**10",
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


@pytest.fixture(scope="module")
def graded(course):
    """Return points by student; misbehaving ones run first, when they could harm the others."""
    misbehaving = [
        classroom.Student("dreadful", dreadful),
        classroom.Student("loops", partial(classroom.only, "4.2", LOOP)),
        classroom.Student("deletes", partial(classroom.only, "4.2", classroom.DELETE)),
    ]
    students = [
        classroom.Student("perfect", classroom.right),
        classroom.Student("empty", classroom.nothing),
        *(classroom.Student(f"mistakes-{n}", partial(rotated, n)) for n in range(rounds())),
    ]
    found = {}
    for group, seconds in ((misbehaving, SHORT), (students, PATIENCE)):
        options = {"Execute": {"timeout": seconds}}
        found |= classroom.grade_all(course, NAME, group, options)
    return found


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
    assert graded[name] == most | {"4.2": 0}


def test_dreadful_submission_keeps_the_points_of_its_right_answer(graded, most):
    """It deletes files, loops forever, kills its kernel, exceeds its memory, then answers."""
    assert graded["dreadful"] == dict.fromkeys(most, 0) | {"4.5": most["4.5"]}


def test_files_of_all_students_are_kept(course, graded):
    for name in graded:
        for step in ("submitted", "autograded"):
            assert (course / step / name / NAME / f"{NAME}.ipynb").is_file()
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
            contained.copy_compiled(cache)
        command = [sys.executable, "-c", program]
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=True
        )
        found.append(done.stdout.split())
    assert found[1:] == [["0", "1"], ["1", "0"]]


@pytest.mark.skipif(not contained.can_sandbox(), reason="needs bubblewrap")
def test_sandbox_blocks_absolute_paths_and_the_network(course, tmp_path):
    victims = [str(course / "gradebook.db"), str(tmp_path / "mine")]
    (tmp_path / "mine").touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = ABSOLUTE.format(files=victims, port=server.getsockname()[1])
        student = classroom.Student("absolute", partial(classroom.only, "4.1", code))
        classroom.submit(course, NAME, student)
        scores = classroom.grade(course, NAME, "absolute")
    assert scores["4.1"] == 0 and scores["4.3"] > 0
    nb = read(course / "autograded" / "absolute" / NAME / f"{NAME}.ipynb")
    cell = next(c for c in nb.cells if c.source == code)
    assert cell.outputs[0].text == "2 False\n"
    assert all(map(os.path.exists, victims))


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
