"""Assignments made of the pages' exercises, and nbgrader grading invented students."""

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
# Seconds for a cell, on a machine that does other things: few for who never ends anyway.
PATIENCE, SHORT = 600, 60


def trivial(line):
    """A line that may stand in the form as well as in the solution."""
    return len(line.strip()) <= 16


# ---- every page ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course with the assignments of all pages, released."""
    folder = tmp_path_factory.mktemp("classroom") / "course"
    classroom.prepare(folder, PAGES)
    return folder


def test_there_are_pages():
    assert PAGE in PAGES


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_an_assignment_is_one_for_nbgrader(path):
    nb = assignments.assignment(path)
    MetadataValidator().validate_nb(nb)
    ids = [cell.metadata.nbgrader.grade_id for cell in nb.cells]
    assert len({*ids}) == len(ids)
    asked = [c for c in read(path).cells if "answer" in tags(c)]
    numbers = [check_of(c.source, "")[1] for c in asked]
    graded = {
        classroom.number_of(c.metadata.nbgrader.grade_id): c.metadata.nbgrader.points
        for c in nb.cells
        if is_grade(c)
    }
    assert graded == {n: exercises.find(n).points for n in numbers}
    assert all(is_locked(cell) or is_solution(cell) for cell in nb.cells)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_an_assignment_needs_no_sphinx(path):
    """No directive, role or colored word is left for a notebook to show as it stands."""
    for cell in assignments.assignment(path).cells:
        if cell.cell_type == "markdown":
            assert not re.search(r"\{[a-z:-]+\}`|^(`{3,}|:{3,})|\]\{\.", cell.source, re.M)
            assert cell.source.count("<details>") == cell.source.count("</details>")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_a_release_has_no_solution(course, path):
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
        if inside:  # a mended function has most of its lines from the faulty one
            solved.append(set(inside.split("\n")) - set(before.split("\n")))
    assert len(solved) == sum(map(is_solution, source.cells))
    for lines in solved:
        assert any(not trivial(line) for line in lines)
        told = lines & shown - given  # an ordinary line may stand in what students are given
        assert not [line for line in told if not trivial(line)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_nobody_else_uses_the_names_of_the_check(path):
    """A chapter with a variable of that name would lose all points after it."""
    ours = {node.name for node in ast.parse(assignments.CHECK).body}
    for cell in assignments.assignment(path).cells:
        if cell.cell_type == "code" and cell.source != assignments.CHECK:
            bound = [n for n in ast.walk(ast.parse(cell.source)) if isinstance(n, ast.Name)]
            stored = {n.id for n in bound if isinstance(n.ctx, ast.Store)}
            assert not stored & {*ours, "exercises"}


def test_what_an_assignment_needs_is_beside_it(course):
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
def test_a_check_that_no_assignment_can_be_made_of(source):
    with pytest.raises(ValueError, match="must end with"):
        check_of(source, "a page")


def test_the_setup_checks_and_forgets(monkeypatch):
    """And a progress bar on stderr, for which nbgrader would take all points, is not shown."""
    space = {"exercises": exercises, "answer": [1, 2, 3]}
    exec(assignments.CHECK, space)
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    for _ in range(2):  # who runs it twice is told the same twice
        with pytest.raises(AssertionError, match=r"^. 4\.1 · By hand · The answer is") as told:
            space["check_answer"]("4.1", "answer")
    assert told.value._render_traceback_() == [str(told.value)]
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    for said in ("The answer is", "Not answered yet"):
        with pytest.raises(AssertionError, match=said):
            space["check_answer"]("4.1", "answer")


# ---- what one student needs ------------------------------------------------------------------


def test_the_values_are_those_of_the_measurements():
    """JupyterLab and the hungriest chapter are guaranteed, and a second one is allowed."""
    told = json.loads((ROOT / "benchmarks" / "teaching.json").read_text("utf-8"))
    most = max(row["page"]["megabytes"] for row in told["pages"].values())
    values = yaml.safe_load((ROOT / "deploy" / "jupyterhub-values.yaml").read_text("utf-8"))
    memory = {
        key: float(size[:-1]) * 2**30 / 1e6
        for key, size in values["singleuser"]["memory"].items()
    }
    assert told["server_megabytes"] + most <= memory["guarantee"]
    assert told["server_megabytes"] + 2 * most <= memory["limit"]
    assert {path.stem for path in (ROOT / "book").glob("*.ipynb")} == {*told["pages"]}
    text = (ROOT / "book" / "for_teachers.md").read_text("utf-8")
    cores = 200 * values["singleuser"]["cpu"]["guarantee"]
    assert f"need 200 GB and {cores:.0f} cores guaranteed" in text


# ---- grading ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def configured(course):
    """What runs submissions, as nbgrader configures it in the folder of the course."""
    read_as_nbgrader_does = PyFileConfigLoader("nbgrader_config.py", path=str(course))
    return contained.Contained(config=read_as_nbgrader_does.load_config())


def test_limits_are_those_that_teachers_are_told(configured):
    """A minute for a cell of a student, 4 GiB for a kernel; what is given may compile."""
    text = (ROOT / "book" / "for_teachers.md").read_text("utf-8")
    gigabytes = re.search(r"more memory than it may have, (\d+) GiB", text)[1]
    assert "| loops forever | its exercise, after a minute |" in text
    assert configured.memory == int(gigabytes)
    asked, given = nbformat.v4.new_code_cell(), nbformat.v4.new_code_cell()
    given.metadata.nbgrader = {"grade": False, "locked": True, "solution": False}
    assert configured._get_timeout(asked) == 60
    assert configured._get_timeout(given) == 600


@pytest.mark.skipif(os.name != "posix", reason="limits are set by a shell")
def test_a_kernel_has_as_much_memory_as_configured_and_no_more(configured, tmp_path):
    """The limit as the process itself sees it."""
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_DATA))"
    command = configured.command(["python", "-c", code], tmp_path)
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert told.split() == [str(4 * 2**30)] * 2


# Neither ends; that they sleep leaves the processor to the other tests.
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
    """Answer with every mistake once over as many students, and with solutions between them."""
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
    """What nbgrader gave to whom; misbehaving ones first, so that others could be spoiled."""
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


def test_a_perfect_submission_earns_all_points(graded, most):
    assert graded["perfect"] == most and sum(most.values()) > 5


def test_an_empty_submission_earns_none(graded, most):
    assert graded["empty"] == dict.fromkeys(most, 0)


def test_a_typical_mistake_costs_its_own_points(graded, most):
    tried = 0
    for n in range(rounds()):
        for number, points in most.items():
            answer = rotated(n, number, "answer", "right")
            assert graded[f"mistakes-{n}"][number] == (points if answer == "right" else 0)
            tried += answer != "right"
    assert tried == sum(len(exercises.find(number).mistakes) for number in most)


@pytest.mark.parametrize("name", ["loops", "deletes"])
def test_a_loop_and_a_deletion_cost_their_own_points(graded, most, name):
    assert graded[name] == most | {"4.2": 0}


def test_a_submission_that_does_everything_wrong_keeps_what_is_right(graded, most):
    """Deletes, loops without an end, kills its kernel, asks for memory, and then answers."""
    assert graded["dreadful"] == dict.fromkeys(most, 0) | {"4.5": most["4.5"]}


def test_nothing_of_the_others_is_gone(course, graded):
    for name in graded:
        for step in ("submitted", "autograded"):
            assert (course / step / name / NAME / f"{NAME}.ipynb").is_file()
        assert (course / "feedback" / name / NAME / f"{NAME}.html").is_file()
    assert (course / "gradebook.db").is_file() and (course / "release" / NAME).is_dir()


def test_the_feedback_has_the_words(course, graded):
    page = (course / "feedback" / "mistakes-1" / NAME / f"{NAME}.html").read_text("utf-8")
    assert "Not yet." in page and "Traceback (most" not in page
    lost = (course / "feedback" / "dreadful" / NAME / f"{NAME}.html").read_text("utf-8")
    assert "could not be stopped" in lost and "The kernel died" in lost


def test_what_is_compiled_is_not_compiled_again(tmp_path):
    """Behind walls Numba cannot write beside the library; there it does not read either."""
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


@pytest.mark.skipif(not contained.can_build_walls(), reason="needs bubblewrap")
def test_walls_stop_absolute_paths_and_the_network(course, tmp_path):
    victims = [str(course / "gradebook.db"), str(tmp_path / "mine")]
    (tmp_path / "mine").touch()
    with socket.create_server(("127.0.0.1", 0)) as server:
        code = ABSOLUTE.format(files=victims, port=server.getsockname()[1])
        student = classroom.Student("absolute", partial(classroom.only, "4.1", code))
        classroom.submit(course, NAME, student)
        scores = classroom.grade(course, NAME, "absolute")
    assert scores["4.1"] == 0 and scores["4.3"] > 0
    nb = read(course / "autograded" / "absolute" / NAME / f"{NAME}.ipynb")
    said = next(c for c in nb.cells if c.source == code)
    assert said.outputs[0].text == "2 False\n"
    assert all(map(os.path.exists, victims))


def test_the_solutions_earn_all_points(course):
    assert classroom.solution(course, NAME) == ""
    nb = read(course / "solutions" / NAME / f"{NAME}.ipynb")
    assert all("✓" in c.outputs[0].text for c in nb.cells if is_grade(c))
    assert any(BEGIN in cell.source for cell in nb.cells)


def test_a_course_is_made_again_over_what_students_did(course):
    (course / "submitted" / "somebody").mkdir(parents=True)
    classroom.prepare(course, [PAGE])
    assert (course / "submitted" / "somebody").is_dir()
    shutil.rmtree(course / "submitted" / "somebody")
