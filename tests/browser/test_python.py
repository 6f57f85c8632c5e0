"""Programs typed on a page: Python runs them there, and replies as the notebook does."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

import assignments
import collecting
import pytest
import rebuilding
from nbgrader.utils import is_solution
from playwright.sync_api import Browser, Locator, Page, expect
from reader import PHONE, reading, tool

from cfrbook import exercises
from cfrbook.museum import mutant

NAME = "04_vanilla_cfr"
LOOP = "print('on my way')\nwhile True:\n    pass"


@pytest.fixture(scope="module")
def tab(chromium: Browser, served: str) -> Iterator[Page]:
    size = {"width": PHONE[0], "height": PHONE[1]}
    context = tool.context(chromium, viewport=size, color_scheme="dark")
    page = context.new_page()
    page.on("pageerror", lambda error: pytest.fail(f"page error: {error}"))
    page.goto(f"{served}{NAME}.html")
    yield page
    context.close()


def box(page: Page, number: str = "4.4") -> Locator:
    return page.locator(f'form[data-exercise="{number}"]')


def run(page: Page, program: str | None = None, number: str = "4.4") -> str:
    """Run a program, by default the one that is there, and return the reply."""
    if program is not None:
        box(page, number).locator("textarea").fill(program)
    box(page, number).get_by_role("button", name="Run and check").click()
    stop = box(page, number).get_by_role("button", name="Stop")
    expect(stop).to_be_hidden()
    return box(page, number).get_by_role("status").inner_text()


def printed(page: Page) -> str:
    return box(page).locator("pre").inner_text()


def mended(page: Page) -> str:
    """Return the program of exercise 4.4 without its bug."""
    text = box(page).locator("textarea").input_value()
    late = "        sigma[I] = cfr.regret_matching(R[I])\n"
    assert text.count(late) == 1
    update = "        sigma.update({I: cfr.regret_matching(R[I]) for I in R})\n    return S"
    return text.replace(late, "").replace("    return S", update)


def test_nothing_is_loaded_before_a_reader_asks(chromium: Browser, served: str) -> None:
    context = tool.context(chromium)
    page = context.new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{served}{NAME}.html", wait_until="networkidle")
    assert not [url for url in asked if "/python/" in url or "worker" in url]
    context.close()


def test_page_replies_as_the_notebook_does(tab: Page) -> None:
    solution = exercises.find("4.4")
    planted = exercises.check("4.4", solution.mistakes[0].answer())
    assert planted.verdict == "wrong"
    assert run(tab).removeprefix("✗ ") == planted.text
    right = exercises.check("4.4", solution.solution())
    assert run(tab, mended(tab)).removeprefix("✓ ") == right.text
    open_ = exercises.check("4.6", mutant)  # any function but a test
    assert run(tab, "def passes(program):\n    return ...", "4.6").startswith("○ Not answered")
    assert open_.verdict != "right"


def test_output_and_errors_are_shown(tab: Page) -> None:
    said = run(tab, "print('Kuhn', 1 / 4)\ndef f():\n    return 1 / 0\n\nf()")
    assert said == "The program ended with an error."
    assert printed(tab).startswith("Kuhn 0.25\n")
    assert "Line 3, in f\n" in printed(tab)
    assert printed(tab).endswith("ZeroDivisionError: division by zero")
    run(tab, "if True print(1)")
    assert "Line 1" in printed(tab) and "SyntaxError" in printed(tab)
    run(tab, "import scipy")
    assert "this page has no scipy; the notebook has it" in printed(tab)
    run(tab, "for n in range(10 ** 5):\n    print(n)\nfriend = None")
    assert printed(tab).endswith("more that is not shown.\n") and len(printed(tab)) < 30_000
    run(tab, "print('no end of line', end='')\nfriend = None")
    assert printed(tab).strip() == "no end of line"


def test_endless_loop_is_stopped_and_the_next_run_works(tab: Page) -> None:
    box(tab).locator("textarea").fill(LOOP)
    box(tab).get_by_role("button", name="Run and check").click()
    expect(box(tab).locator("pre")).to_have_text("on my way\n")
    box(tab).get_by_role("button", name="Stop").click()
    expect(box(tab).get_by_role("status")).to_have_text("Stopped.")
    assert run(tab, "friend = 1").startswith("? The answer is a function")


def test_editor_is_used_and_left_by_keyboard(tab: Page) -> None:
    editor = box(tab).locator("textarea")
    editor.fill("")
    editor.focus()
    for key in ("d", "e", "f", ":", "Enter", "x", "Enter", "Tab", "y"):
        tab.keyboard.press(key)
    assert editor.input_value() == "def:\n    x\n        y"
    tab.keyboard.press("Escape")
    tab.keyboard.press("Tab")
    expect(box(tab).get_by_role("button", name="Run and check")).to_be_focused()


def test_program_is_kept_and_start_over_is_undone(tab: Page) -> None:
    box(tab).locator("textarea").fill("friend = 2")
    tab.reload()
    editor = box(tab).locator("textarea")
    expect(editor).to_have_value("friend = 2")
    box(tab).get_by_role("button", name="Start over").click()
    assert editor.input_value().startswith("def friend(game, iterations):")
    box(tab).get_by_role("button", name="Undo").click()
    expect(editor).to_have_value("friend = 2")


def test_saved_program_is_graded(tab: Page, tmp_path: Path) -> None:
    box(tab).get_by_role("button", name="Start over").click()
    box(tab).locator("textarea").fill(mended(tab))
    tab.get_by_label("Your name").fill("Ada")
    with tab.expect_download() as saved:
        tab.get_by_role("button", name="Download my answers").click()
    name = saved.value.suggested_filename
    saved.value.save_as(tmp_path / name)
    assert list(json.loads((tmp_path / name).read_text("utf-8"))["programs"]) == ["4.4"]
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.write(tmp_path / name, name)
    assert collecting.collect(tmp_path / "a.zip", tmp_path / "in", NAME) == ["Ada"]
    page = assignments.read(assignments.BOOK / f"{NAME}.ipynb")
    release = assignments.assignment(assignments.BOOK / f"{NAME}.ipynb")
    nb, _ = rebuilding.choose(release, page, tmp_path / "in" / "Ada" / NAME)
    [source] = [
        cell.source
        for cell in filter(is_solution, nb.cells)
        if rebuilding.number_of(cell.metadata.nbgrader.grade_id) == "4.4"
    ]
    import numpy as np

    import cfrlib as cfr

    scope: dict[str, object] = {"np": np, "cfr": cfr}
    exec(source, scope)
    assert exercises.check("4.4", scope["friend"]).right


def test_editors_are_accessible_and_fit_a_phone(tab: Page, axe: str) -> None:
    run(tab, "print(1)\nfriend = 1")
    tab.evaluate(axe)
    found = tab.evaluate("axe.run('form.cfr-answer', {preload: false})")
    assert found["violations"] == [] and len(found["passes"]) > 5
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_page_from_a_folder_says_why_it_cannot(chromium: Browser) -> None:
    with reading(chromium, f"book/{NAME}.html") as visit:
        assert "this one was opened from a folder" in run(visit.page)
        assert visit.problems == []
        visit.page.evaluate("sessionStorage.clear()")


def test_copy_without_python_says_so(chromium: Browser, served: str) -> None:
    context = tool.context(chromium)
    page = context.new_page()
    page.route("**/python/*", lambda route: route.fulfill(status=404, body=""))
    page.goto(f"{served}{NAME}.html")
    assert run(page) == "This copy of the book has no Python. The notebook runs the program."
    context.close()
