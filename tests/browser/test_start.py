"""The start page: two ways in, what was read, the source, and reading without a network."""

from __future__ import annotations

import zipfile

from playwright.sync_api import Browser, expect
from reader import HTML, PHONE, reading, serving, unfold, window

START, CHAPTER = "book/index.html", "book/02_games_with_hidden_cards.html"
# Reads to the last line, or to the middle
READ = "part => window.scrollTo(0, document.body.scrollHeight * part)"
WIDTH = """h => {
    const words = document.createRange();
    words.selectNode(h.firstChild);
    return words.getBoundingClientRect().right;
}"""
KEPT = """async () => {
    await navigator.serviceWorker.register("../offline.js");
    await navigator.serviceWorker.ready;
}"""


def test_first_screen_of_a_phone_has_the_title_and_two_buttons(chromium: Browser) -> None:
    with reading(chromium, START, size=PHONE) as visit:
        title = visit.page.locator("h1").bounding_box()
        assert title and title["height"] < 40 and title["x"] + title["width"] <= PHONE[0]
        assert visit.page.locator("h1").evaluate(WIDTH) <= PHONE[0] - 16
        for name in ("Start", "Play"):
            box = visit.page.get_by_role("link", name=name, exact=True).bounding_box()
            assert box and box["y"] + box["height"] < PHONE[1] and box["height"] >= 40


def test_what_was_read_is_marked_and_the_reader_goes_on(chromium: Browser) -> None:
    with reading(chromium, CHAPTER) as visit:
        page = visit.page
        page.evaluate(READ, 0.4)
        page.wait_for_function("() => JSON.parse(localStorage['cfr-progress'] ?? '{}').last")
        section = page.evaluate("JSON.parse(localStorage['cfr-progress']).last.section")
        page.goto((HTML / START).as_uri())
        go = page.get_by_role("link", name="Go on: 2. Games with hidden cards")
        assert not page.locator(".cfr-chapters .cfr-read").count()
        go.click()
        page.wait_for_url(f"**/{CHAPTER}#{section}")
        unfold(page)
        page.evaluate(READ, 1)
        expect(page.locator("nav.bd-links a.cfr-read")).to_have_count(1)
        page.goto((HTML / START).as_uri())
        expect(page.locator(".cfr-chapters a.cfr-read")).to_have_attribute(
            "href", CHAPTER.rpartition("/")[2]
        )
        page.get_by_role("button", name="Forget what I have read").click()
        expect(page.get_by_role("link", name="Start", exact=True)).to_be_visible()
        expect(page.locator(".cfr-read")).to_have_count(0)


def test_source_beside_the_site_builds_the_book(chromium: Browser) -> None:
    with reading(chromium, START) as visit:
        link = visit.page.get_by_role("link", name="the source", exact=True)
        target = (HTML / "book" / str(link.get_attribute("href"))).resolve()
    with zipfile.ZipFile(target) as source:
        names = {name.removeprefix("cfr-book/") for name in source.namelist()}
    assert {"Makefile", "_config.yml", "cfrlib/__init__.py", f"{CHAPTER[:-5]}.ipynb"} <= names
    assert not [name for name in names if name.startswith(("_build", ".venv", ".git/"))]


def test_site_can_be_read_once_the_network_is_gone(chromium: Browser) -> None:
    with window(chromium) as page:
        with serving() as home:
            page.goto(home + START)
            page.evaluate(KEPT)  # a page registers it itself only from https
        page.goto(home + CHAPTER)  # never visited before
        expect(page.locator("h1")).to_contain_text("Games with hidden cards")
        page.wait_for_function("() => document.querySelector('mjx-container svg, mjx-math')")
        controls = page.locator(".cfr-explore .cfr-controls")
        expect(controls.first).to_be_visible()  # its script runs
