"""Answers typed on a page: checked without a kernel, kept in the tab, saved, and graded."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import assignments
import collecting
import numpy as np
import pytest
import rebuilding
from checks import faultless
from nbgrader.utils import is_solution
from playwright.sync_api import Browser, Locator, Page, expect
from reader import PHONE, Visit, reading

import cfrlib as cfr
from cfrbook import exercises

NAME = "01_regret_matching"
ADDRESS = f"book/{NAME}.html"
RIGHT = {
    "1.1": ["0", "1", "2", "0", "1/3", "66.7 %"],
    "1.2": ["rock", ".4"],
    "1.4": ["10", "x1", "one", "10", "0"],
    "1.5": ["step 3"],
}
WRONG = {
    "1.1": ["-1", "0", "1", "0", "0", "1"],
    "1.2": ["rock", "0.6"],
    "1.4": ["10", "10", "10", "10", "0"],
    "1.5": ["step 1"],
}


@pytest.fixture
def phone(chromium: Browser) -> Iterator[Visit]:
    with reading(chromium, ADDRESS, dark=True, size=PHONE) as visit:
        yield visit
        assert visit.problems == []
        visit.page.goto(f"{visit.home.as_uri()}/{ADDRESS}")
        visit.page.evaluate("sessionStorage.clear()")


def box(page: Page, number: str) -> Locator:
    return page.locator(f'form[data-exercise="{number}"]')


def type_in(page: Page, number: str, values: list[str]) -> None:
    for control, value in zip(
        box(page, number).locator("input, select").all(), values, strict=True
    ):
        if control.evaluate("control => control.localName") == "select":
            control.select_option(value)
        else:
            control.fill(value)


def reply(page: Page, number: str) -> str:
    box(page, number).get_by_role("button", name="Check").click()
    return box(page, number).get_by_role("status").inner_text()


@pytest.mark.parametrize("number", RIGHT)
def test_page_replies_as_the_notebook_does(phone: Visit, number: str) -> None:
    for answers in (WRONG, RIGHT):
        type_in(phone.page, number, answers[number])
        verdict, _, text = reply(phone.page, number).partition(" ")
        wanted = exercises.check(number, nested(number, answers[number]))
        assert text.replace("*", "") == wanted.text.replace("*", "").replace("`", "")
        assert verdict == "✗✓"[answers is RIGHT]


def test_a_page_asks_for_no_dictionary(phone: Visit) -> None:
    asked = phone.page.locator(".cfr-answer:has(input, select) .cfr-asks").all_text_contents()
    assert asked[0] == (
        "Your answer: 'regrets' and 'next', each with 'rock', 'paper' and 'scissors'."
    )
    assert not any("dictionary" in text or "True" in text for text in asked)


def test_a_claim_is_answered_by_yes_or_no(chromium: Browser) -> None:
    page = "book/02_games_with_hidden_cards.html"
    with reading(chromium, page, dark=True, size=PHONE) as visit:
        choices = box(visit.page, "2.4").locator("select").first.locator("option")
        assert choices.all_inner_texts() == ["…", "yes", "no"]


def nested(number: str, values: list[str]) -> object:
    """Return what is typed in the form of the exercise."""
    if number == "1.1":
        return [values[:3], values[3:]]
    return values[0] if number == "1.5" else values


def test_empty_fields_are_an_open_answer(phone: Visit) -> None:
    assert reply(phone.page, "1.2").startswith("○ Not answered yet, 'best' is missing")


def test_fields_are_kept_and_start_over_is_undone(phone: Visit) -> None:
    type_in(phone.page, "1.2", RIGHT["1.2"])
    phone.page.reload()
    fields = box(phone.page, "1.2").locator("input, select")
    expect(fields.last).to_have_value(".4")
    again = box(phone.page, "1.2").get_by_role("button").last
    again.click()
    expect(fields.last).to_have_value("")
    expect(again).to_have_text("Undo")
    again.click()
    expect(fields.first).to_have_value("rock")
    expect(fields.last).to_have_value(".4")
    expect(again).to_have_text("Start over")


def test_solution_opens_after_a_try_or_at_the_second_tap(phone: Visit) -> None:
    solutions = (
        phone.page.locator(".solution:has(a[href='#ex-01-2'])"),
        phone.page.locator(".solution:has(a[href='#ex-01-5'])"),
    )
    title = solutions[0].locator("button.toggle-button")
    title.click()
    expect(solutions[0]).to_have_class("solution dropdown admonition toggle toggle-hidden")
    expect(phone.page.get_by_text("Try it first")).to_be_visible()
    title.click()
    expect(solutions[0]).to_have_class("solution dropdown admonition toggle")
    type_in(phone.page, "1.5", WRONG["1.5"])
    reply(phone.page, "1.5")
    solutions[1].locator("button.toggle-button").click()
    expect(solutions[1]).to_have_class("solution dropdown admonition toggle")


def graded(
    page: Page, student: str, name: str, folder: Path, numbers: Iterable[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Save a page's answers and hand them in; return the file, and verdicts on some of them."""
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download my answers").click()
    file = folder / saved.value.suggested_filename
    saved.value.save_as(file)
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        archive.write(file, file.name)
    assert collecting.collect(folder / "a.zip", folder / "in", name) == [student]
    source = assignments.BOOK / f"{name}.ipynb"
    release, place = assignments.assignment(source), folder / "in" / student / name
    nb, remarks = rebuilding.choose(release, assignments.read(source), place)
    assert "answered on the page" in remarks
    verdicts = {}
    for cell in filter(is_solution, nb.cells):
        number = rebuilding.number_of(cell.metadata.nbgrader.grade_id)
        if number in numbers:
            scope: dict[str, Any] = {"np": np, "cfr": cfr}
            exec(cell.source, scope)
            answer = scope.get("answer", scope.get("friend"))
            verdicts[number] = exercises.check(number, answer).verdict
    return json.loads(file.read_text("utf-8")), verdicts


def test_saved_answers_are_graded(phone: Visit, tmp_path: Path) -> None:
    hand_in = phone.page.locator("form.cfr-hand-in")
    save = hand_in.get_by_role("button")
    save.click()
    expect(hand_in.get_by_role("status")).to_contain_text("Write your name first")
    hand_in.get_by_label("Your name").fill("Ada Lovelace")
    save.click()
    expect(hand_in.get_by_role("status")).to_have_text("There is nothing to save yet.")
    for number, values in RIGHT.items():
        type_in(phone.page, number, values)
    box(phone.page, "1.4").locator("input").last.fill("")
    saved, earned = graded(phone.page, "Ada Lovelace", NAME, tmp_path, RIGHT)
    assert earned == {"1.1": "right", "1.2": "right", "1.4": "open", "1.5": "right"}
    assert saved["answers"]["1.5"] == "step 3"


def test_fields_with_replies_are_accessible_and_fit_a_phone(phone: Visit, axe: str) -> None:
    for number, values in WRONG.items():
        type_in(phone.page, number, values)
        reply(phone.page, number)
    assert faultless(phone.page, axe, "form.cfr-answer")
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_fields_are_reached_and_sent_by_keyboard(phone: Visit) -> None:
    box(phone.page, "1.2").locator("select").focus()
    for key in ("r", "Tab", ".", "4", "Enter"):
        phone.page.keyboard.press(key)
    expect(box(phone.page, "1.2").get_by_role("status")).to_contain_text("Right.")


def test_page_without_scripts_shows_the_cells(chromium: Browser) -> None:
    with reading(chromium, ADDRESS, scripts=False) as visit:
        assert visit.page.locator("form.cfr-answer").count() == 0
        expect(visit.page.locator(".tag_answer").first).to_be_visible()
