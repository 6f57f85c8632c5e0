"""A link to the glossary shows the definition to whoever rests on it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, expect
from reader import HTML, PHONE, Visit, reading, touching

CHECKS = (Path(__file__).parent / "checks.js").read_text("utf-8")
CHAPTER = "book/02_games_with_hidden_cards.html"
DEFINITION = "information set: A set of histories that the player who moves cannot tell apart"


def term(visit: Visit) -> tuple[Locator, Locator]:
    """Return a link to the glossary and its box."""
    link = visit.page.get_by_role("link", name="information set", exact=True)
    return link, visit.page.locator(".cfr-term", has=link).locator(".cfr-tip")


def fits(tip: Locator) -> bool:
    """Return whether a box is within the screen of a phone."""
    box = tip.bounding_box()
    return bool(box and box["x"] >= 0 and box["x"] + box["width"] <= PHONE[0])


def test_hover_opens_a_box_that_can_be_entered(chromium: Browser) -> None:
    with reading(chromium, CHAPTER) as visit:
        link, tip = term(visit)
        expect(tip).to_be_hidden()
        link.hover()
        expect(tip).to_contain_text(DEFINITION)
        expect(tip).to_contain_text("情報集合 · 信息集")
        expect(tip).to_be_visible()
        word, box = link.bounding_box(), tip.bounding_box()
        assert word and box
        low = word["y"] + word["height"]  # of the last line, if the words stand on two
        assert low - 12 < box["y"] < low + 20
        visit.page.mouse.move(max(word["x"], box["x"]) + 5, box["y"] + 20, steps=10)
        expect(tip).to_be_visible()
        visit.page.mouse.move(0, 0)
        expect(tip).to_be_hidden()
        link.hover()
        expect(tip).to_be_visible()
        visit.page.keyboard.press("Escape")  # closes it until the next hover
        expect(tip).to_be_hidden()
        visit.page.mouse.move(0, 0)
        link.hover()
        expect(tip).to_be_visible()
        assert not visit.problems


def test_keyboard_opens_the_box_and_follows_the_link(chromium: Browser) -> None:
    with reading(chromium, CHAPTER) as visit:
        link, tip = term(visit)
        link.focus()
        visit.page.keyboard.press("Shift+Tab")
        expect(tip).to_be_hidden()
        visit.page.keyboard.press("Tab")
        expect(tip).to_be_visible()
        expect(link).to_have_accessible_description(re.compile(DEFINITION))
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_url("**/glossary.html#term-information-set")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_box_text_has_contrast(chromium: Browser, theme: str) -> None:
    with reading(chromium, CHAPTER, dark=theme == "dark") as visit:
        link, tip = term(visit)
        link.hover()
        expect(tip).to_have_css("opacity", "1")
        assert not visit.page.evaluate(f"{CHECKS} checks.lowContrast(4.5)")


def test_boxes_fit_a_phone(chromium: Browser) -> None:
    with reading(chromium, CHAPTER, size=PHONE) as visit:
        links = visit.page.locator(".cfr-term > a")
        assert links.count() > 20
        for link in links.all():
            link.focus()
            assert fits(link.locator("+ .cfr-tip"))


def test_first_tap_shows_the_box_and_second_follows_the_link(chromium: Browser) -> None:
    with touching(chromium, CHAPTER) as page:
        terms = page.locator("p > .cfr-term")
        for k in (0, 1):  # a tap on another word closes the box of the first
            terms.nth(k).locator("a").tap()
            expect(terms.nth(k).locator(".cfr-tip")).to_be_visible()
            expect(page.locator(".cfr-tip:visible")).to_have_count(1)
            assert fits(terms.nth(k).locator(".cfr-tip"))
        page.locator("h1").tap()
        expect(page.locator(".cfr-tip:visible")).to_have_count(0)
        assert page.url == (HTML / CHAPTER).as_uri()
        terms.first.locator("a").tap()
        terms.first.locator("a").tap()
        page.wait_for_url("**/glossary.html#term-*")
