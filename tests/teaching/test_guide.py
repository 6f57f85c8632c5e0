"""What the teacher's guide says about exercises and about nbgrader."""

import json
import re
import textwrap
from pathlib import Path

import pytest
from nbgrader.apps.dbapp import DbAssignmentAddApp
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties

from cfrbook import exercises

TEACHING = Path(__file__).parents[2] / "teaching"
GUIDE = (TEACHING / "guide.md").read_text("utf-8")


def section(title):
    return re.search(rf"^## {title}$(.*?)^## ", GUIDE, re.M | re.S)[1]


@pytest.mark.parametrize("path", sorted(TEACHING.rglob("*.md")), ids=lambda path: path.stem)
def test_exercises_that_are_named_exist(path):
    text = path.read_text("utf-8")
    named = re.findall(r"[Ee]xercises? (\d+\.\d)(?: (?:to|or) (\d+\.\d))?", text)
    for number in {n for pair in named for n in pair if n}:
        exercises.find(number)


def test_objectives_are_asked_by_exercises_of_the_book():
    numbers = re.findall(r"\b\d+\.\d\b", section("Objectives"))
    assert len(numbers) > 12
    for number in numbers:
        exercises.find(number)


def promises():
    """Return what each chapter promises at its head: pairs of its number and a promise."""
    found = []
    for page in sorted((TEACHING.parent / "book").glob("[0-9][0-9]_*.ipynb")):
        head = "".join(json.loads(page.read_text("utf-8"))["cells"][0]["source"])
        (row,) = re.findall(r"^\| \*\*You will be able to\*\* \| (.*) \|$", head, re.M)
        found += [(int(page.stem[:2]), promise) for promise in row.split("; ")]
    return found


def asked_by():
    """Return the exercises that the guide lists for each promise."""
    rows = re.findall(
        r"^\| (\d+) \| (.+) \| (.*) \|$", section("What each chapter promises"), re.M
    )
    return {(int(chapter), promise): asked for chapter, promise, asked in rows}


def test_every_promise_of_a_chapter_is_in_the_guide_once():
    text = section("What each chapter promises")
    assert list(asked_by()) == promises()
    assert len(re.findall(r"^\| \d", text, re.M)) == len(promises()) > 16 * 3


@pytest.mark.parametrize(("promise", "asked"), asked_by().items(), ids=str)
def test_every_promise_is_asked_by_exercises_that_exist(promise, asked):
    for number in asked.split(", "):
        exercises.find(number)


def test_most_promises_are_asked_in_their_own_chapter():
    """Others are asked on another page: by a project, or one chapter later."""
    elsewhere = [
        (promise, asked)
        for promise, asked in asked_by().items()
        if not re.search(rf"\b{promise[0]}\.", asked)
    ]
    assert len(elsewhere) <= 2, elsewhere


def solution_of(number):
    """Return the lines of the page's program for an exercise, without those of its check."""
    page = TEACHING.parent / "book" / f"{exercises.pages()[number.partition('.')[0]]}.ipynb"
    cells = json.loads(page.read_text("utf-8"))["cells"]
    (code,) = [
        source
        for cell in cells
        if "solution" in cell["metadata"].get("tags", ())
        and f'exercises.check("{number}"' in (source := "".join(cell["source"]))
    ]
    return [line for line in code.splitlines() if line.strip() and "exercises." not in line]


def test_ladder_has_every_rung_with_its_lines_and_points():
    rungs = re.findall(
        r"^\| \d\. .+? \| ([\d.]+) \| .+ \| (\d+) \| (\d) \|$", section("The ladder"), re.M
    )
    written = {
        exercise.number: (str(len(solution_of(exercise.number))), str(exercise.points))
        for page in exercises.pages().values()
        for exercise in exercises.on_page(page)
        if exercise.title.startswith("Write it yourself")
    }
    assert {number: (lines, points) for number, lines, points in rungs} == written


def test_questions_are_about_planted_bugs():
    numbers = re.findall(r"^\| (\d+\.\d) \|", section("Questions for each planted bug"), re.M)
    early = {
        e.number
        for n in range(1, 9)
        for e in exercises.on_page(exercises.pages()[str(n)])
        if "planted bug" in e.title
    }
    assert set(numbers) == early


def test_late_penalty_of_the_guide_works():
    code = re.search(r"^    from nbgrader\.plugins.*?(?=^\S)", GUIDE, re.M | re.S)[0]
    names = {}
    exec(textwrap.dedent(code), names)
    plugin = names["TenPercentADay"]()
    for seconds, penalty in ((1, 1), (86_400, 1), (86_401, 2), (100 * 86_400, 10)):
        assert plugin.late_submission_penalty("anna", 10, seconds) == pytest.approx(penalty)
    settings = AssignLatePenalties(plugin_class=names["TenPercentADay"])
    assert settings.plugin_class is names["TenPercentADay"]


def test_settings_of_the_guide_exist():
    name = re.search(r"c\.LateSubmissionPlugin\.(\w+) = \"(\w+)\"", GUIDE)
    assert getattr(LateSubmissionPlugin(**{name[1]: name[2]}), name[1]) == name[2]
    assert "--duedate" in GUIDE and DbAssignmentAddApp.duedate.metadata.get("config")
