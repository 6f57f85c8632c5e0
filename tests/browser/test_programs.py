"""Programs with holes: filled, run and stepped through on a page, with and without scripts."""

from __future__ import annotations

import json

import pytest
from checks import check, faultless
from playwright.sync_api import Browser, Locator, expect
from reader import PHONE, ROOT, Visit, reading

FOUND = [
    page.stem
    for page in sorted((ROOT / "book").glob("*.ipynb"))
    if "explore.Program(" in page.read_text("utf-8")
]
every_page = pytest.mark.parametrize("page", FOUND)


def address(page: str) -> str:
    return f"book/{page}.html"


def program(visit: Visit) -> Locator:
    """Return the program of a page once it has run for the first time."""
    figure = visit.page.locator("figure.cfr-program")
    figure.scroll_into_view_if_needed()
    expect(figure.locator(".cfr-verdict")).to_contain_text("Not yet")
    return figure


def fill(figure: Locator, wrong: dict[int, str]) -> None:
    """Fill all holes right, but for these."""
    data = json.loads(figure.locator("script").text_content() or "")
    for n, hole in enumerate(figure.locator("select").all()):
        hole.select_option(label=wrong.get(n, data["holes"][n][0][0]))


@every_page
def test_right_fillings_are_told_so_on_a_phone(chromium: Browser, axe: str, page: str) -> None:
    with reading(chromium, address(page), size=PHONE, dark=True) as visit:
        figure = program(visit)
        fill(figure, {})
        expect(figure.locator(".cfr-verdict")).to_contain_text("this is the program")
        mine = figure.locator(".cfr-built .cfr-numbers").text_content()
        assert mine == figure.locator(".cfr-right .cfr-numbers").text_content()
        figure.get_by_role("slider").press("End")
        assert not check(visit, "sideways()")
        assert faultless(visit.page, axe, "figure.cfr-program")
        assert visit.problems == []


@every_page
def test_slow_motion_lights_a_line_and_says_its_values(chromium: Browser, page: str) -> None:
    with reading(chromium, address(page)) as visit:
        figure = program(visit)
        slider = figure.get_by_role("slider")
        for _ in range(12):
            slider.press("ArrowRight")
        lit = figure.locator("[aria-current=step]")
        expect(lit).to_have_count(1)
        box, frame = lit.bounding_box(), figure.locator(".cfr-listing").bounding_box()
        assert box is not None and frame is not None
        assert frame["y"] <= box["y"] <= frame["y"] + frame["height"]
        values = figure.locator(".cfr-values dt")
        expect(values.first).to_be_visible()
        expect(figure.locator(".cfr-announce")).to_contain_text(
            f"{values.first.inner_text()} = "
        )
        before = lit.inner_text()
        figure.get_by_label("one step back").click()
        assert figure.locator("[aria-current=step]").inner_text() != before
        fill(figure, {})  # another program, and a slow motion from its start
        expect(lit).to_have_count(0)
        assert visit.problems == []


def test_museum_names_a_single_bug(chromium: Browser) -> None:
    with reading(chromium, address("04_vanilla_cfr")) as visit:
        figure = program(visit)
        fill(figure, {4: "mean"})
        expect(figure.locator(".cfr-verdict")).to_contain_text("“sign lost”")
        expect(figure.locator(".cfr-built .cfr-numbers")).to_contain_text("0.3326")
        expect(figure.get_by_role("link", name="museum")).to_be_visible()


@every_page
def test_right_program_is_there_without_scripts_and_in_print(
    chromium: Browser, page: str
) -> None:
    with reading(chromium, address(page), scripts=False) as visit:
        figure = visit.page.locator("figure.cfr-program")
        expect(figure.locator("pre")).to_be_visible()
        expect(figure.locator(".cfr-numbers")).to_be_visible()
    with reading(chromium, address(page)) as visit:
        figure = visit.page.locator("figure.cfr-program")
        expect(figure.locator("pre")).to_be_hidden()
        visit.page.emulate_media(media="print")
        expect(figure.locator("pre")).to_be_visible()
        expect(figure.locator(".cfr-built")).to_be_hidden()
        visit.page.emulate_media(media="screen")
