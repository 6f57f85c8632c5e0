"""Sections and code that a first reading can skip: folded, and open where they are wanted."""

from __future__ import annotations

from keyword import kwlist as KEYWORDS

import pytest
from playwright.sync_api import Browser, Locator, expect
from reader import Visit, reading

NAME = "book/16_solving_a_part.html"
BOX = "details.cfr-further"
INSIDE = f"{BOX} figure.cfr-explore"


def first(visit: Visit) -> tuple[Locator, Locator]:
    """Return the first box of a page, and the first paragraph in it."""
    box = visit.page.locator(BOX).first
    return box, box.locator(":scope > p").first


def test_box_opens_and_closes_by_keyboard(chromium: Browser) -> None:
    with reading(chromium, NAME, folded=True) as visit:
        box, inside = first(visit)
        expect(inside).to_be_hidden()
        expect(box.locator("xpath=preceding-sibling::*[1]")).to_be_visible()
        box.locator(":scope > summary").focus()
        visit.page.keyboard.press("Enter")
        expect(inside).to_be_visible()
        visit.page.keyboard.press("Enter")
        expect(inside).to_be_hidden()
        assert not visit.problems


def test_address_of_a_figure_opens_its_box(chromium: Browser) -> None:
    with reading(chromium, NAME) as visit:
        slider = visit.page.locator(INSIDE).locator("select, input").last
        slider.press("ArrowDown")
        link = visit.page.wait_for_function("location.hash").json_value()
    assert "=" in link
    with reading(chromium, NAME + link, folded=True) as visit:
        expect(visit.page.locator(INSIDE).locator(".cfr-controls")).to_be_in_viewport()
        assert not visit.problems


@pytest.mark.parametrize("scripts", [True, False])
def test_paper_shows_what_is_folded(chromium: Browser, scripts: bool) -> None:
    with reading(chromium, NAME, folded=True, scripts=scripts) as visit:
        _, inside = first(visit)
        expect(inside).to_be_hidden()
        visit.page.emulate_media(media="print")
        expect(inside).to_be_visible()
        visit.page.emulate_media(media="screen")  # later tests take the same tab


CODE = "details.hide:has(pre[data-runs])"


def test_code_is_colored_when_its_fold_opens(chromium: Browser) -> None:
    with reading(chromium, NAME) as visit:
        fold = visit.page.locator(CODE).first.element_handle()
        assert fold
        text = "fold => fold.querySelector('pre').textContent"
        pieces = "fold => fold.querySelectorAll('pre span[class]').length"
        before = fold.evaluate(text)
        assert fold.evaluate(pieces) == 0 and len(before) > 100
        visit.page.locator(CODE).first.locator(":scope > summary").press("Enter")
        visit.page.wait_for_function("fold => !fold.querySelector('[data-runs]')", arg=fold)
        assert fold.evaluate(pieces) > 10
        assert fold.evaluate(text) == before
        words = (
            "fold => [...fold.querySelectorAll('.k, .kn, .ow')].map(w => w.textContent.trim())"
        )
        assert set(fold.evaluate(words)) <= set(KEYWORDS)
        assert not visit.problems


def test_folded_code_is_there_without_scripts(chromium: Browser) -> None:
    with reading(chromium, NAME, folded=True, scripts=False) as visit:
        fold = visit.page.locator("details.hide").first
        fold.locator(":scope > summary").click()
        expect(fold.locator("pre").first).to_be_visible()
        assert len(fold.locator("pre").first.inner_text()) > 100
