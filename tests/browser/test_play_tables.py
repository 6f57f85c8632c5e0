"""What all tables promise: the score is kept, the buttons stay, and no result is skipped."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playing import Table, at_random
from playwright.sync_api import Browser, expect
from reader import reading, text_of

BOOK = Path(__file__).parents[2] / "_build" / "html" / "book"
PAGES = {
    "kuhn": "play_kuhn",
    "coyote": "12_coyote",
    "koikoi": "13_koi_koi",
    "match": "play_koikoi",
}
DESKTOP, PHONE = {"width": 1280, "height": 800}, {"width": 360, "height": 640}
HEADER = 56  # pixels of a phone's screen that the theme's header covers
REFUSED = """for (const name of ["localStorage", "sessionStorage"])
  Object.defineProperty(window, name, {
    get() { throw new DOMException("refused", "SecurityError") },
  });"""

# Effective sizes of a chart's letters, and how much wider it was drawn than it is shown
LETTERS = """() => {
  const chart = document.querySelector(".play-chart");
  const scale = Math.abs(chart.getScreenCTM().a);
  const texts = [...chart.querySelectorAll("text")];
  return texts.map((text) => scale * parseFloat(getComputedStyle(text).fontSize));
}"""
DRAWN = """() => {
  const plot = document.querySelector(".play-plot"), chart = plot.querySelector("svg");
  return chart.viewBox.baseVal.width === Math.max(240, plot.clientWidth);
}"""
# Where the buttons are on the page, what a screen must hold to show both players' cards, and
# what the buttons do
PLACES = """() => {
  const box = (name) => document.querySelector(`.play-${name}`).getBoundingClientRect();
  const theirs = document.querySelector(".play-their-hand, .play-their-card");
  const actions = box("actions"), top = theirs.getBoundingClientRect().top;
  const buttons = [...document.querySelectorAll(".play-actions button")];
  return [actions.top + scrollY, actions.bottom - top, buttons.map((b) => b.dataset.action)];
}"""
CLICK = "action => document.querySelector(`.play-actions [data-action='${action}']`).click()"


class Played(Table):
    """A table of any of the games."""

    def said(self) -> int:
        return 0

    def score(self) -> str:
        return self.text("numbers") + self.text("status")

    def kept(self) -> Any:
        """Return what the tab keeps of the game."""
        kept = "Object.values({...sessionStorage}).filter(t => t.includes('sitting'))"
        (text,) = self.page.evaluate(kept)
        return json.loads(text)

    def hands(self) -> float:
        return float(text_of(self.find("numbers dd").first))

    def finish(self, seed: int = 1) -> None:
        """Play the hand to its end."""
        choose = at_random(seed)
        while (actions := self.actions()) != ["next"]:
            self.click(choose(actions))


@pytest.fixture(params=PAGES)
def which(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def table(chromium: Browser, which: str) -> Iterator[Played]:
    found = Played.open(chromium, BOOK / f"{PAGES[which]}.html")
    yield found
    assert found.faults == []
    found.page.context.close()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_buttons_keep_their_place(chromium: Browser, which: str, size: dict[str, int]) -> None:
    table = Played.open(chromium, BOOK / f"{PAGES[which]}.html", viewport=size)
    choose, tops = at_random(1), set()
    for _ in range(150):
        top, height, actions = table.page.evaluate(PLACES)
        tops.add(round(top))
        if size is PHONE:
            assert height <= PHONE["height"] - HEADER, "cards and buttons are seen together"
        table.pause()
        table.page.evaluate(CLICK, choose(actions))
    assert len(tops) == 1
    table.page.context.close()


@pytest.mark.parametrize(("before", "after"), [(620, 1280), (900, 1000), (1280, 360)])
def test_chart_survives_a_resize(table: Played, before: int, after: int) -> None:
    table.play(2, at_random(1))
    for width in (before, after):
        table.page.set_viewport_size({"width": width, "height": 800})
        table.page.wait_for_function(DRAWN)
        table.page.wait_for_function(f"Math.min(...({LETTERS})()) >= 11")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_burst_is_one_move(chromium: Browser, which: str, size: dict[str, int]) -> None:
    taps = size is PHONE
    built = BOOK / f"{PAGES[which]}.html"
    table = Played.open(chromium, built, viewport=size, has_touch=taps)
    table.page.clock.pause_at(table.page.evaluate("Date.now() / 1000 + 60"))
    ended, hit = 0, table.page.touchscreen.tap if taps else table.page.mouse.click
    for _ in range(40):
        hands, button = table.hands(), table.find("actions button").first
        button.evaluate('button => button.scrollIntoView({block: "center"})')
        box = button.bounding_box()
        assert box
        place = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        if taps:  # else the browser counts the last burst's taps as well
            table.find("status").tap(force=True)
        table.pause()
        before = table.kept()
        hit(*place)
        after = table.kept()
        assert after != before
        for wait in (0, 120, 120, 120, 120, 299):  # milliseconds since the click before
            table.page.clock.fast_forward(wait)
            hit(*place)
            assert table.kept() == after
        if not taps:  # the second click of a slow double one
            table.pause()
            table.page.mouse.down(click_count=2)
            table.page.mouse.up(click_count=2)
            assert table.kept() == after
        if table.hands() > hands and before["sitting"]["hands"] != after["sitting"]["hands"]:
            ended += 1
            assert table.actions() == ["next"], "the result is on show"
    assert ended >= 2
    assert table.faults == []
    table.page.context.close()


def test_last_hand_can_be_seen_again(table: Played, which: str) -> None:
    table.finish()
    review = table.find("leak").inner_html()
    assert table.find("again").count() == 0
    table.click("next")
    while table.actions() == ["next"]:  # the other player ended the hand at once
        review = table.find("leak").inner_html()
        table.click("next")
    again = table.find("again")
    assert again.get_attribute("open") is None
    again.locator("summary").click()
    assert "again" in again.inner_text() and again.locator("li").count() >= 2
    if which != "kuhn":  # whose review is of all hands, and stays
        assert review in again.inner_html()
    table.finish(2)
    assert table.find("again").count() == 0


def test_reload_and_back_keep_the_score(table: Played) -> None:
    table.play(4, at_random(3))
    here = table.score()
    table.page.reload()
    assert table.score() == here
    table.page.goto((BOOK / "notation.html").as_uri())
    table.page.go_back()
    assert table.score() == here
    table.play(1, at_random(3))
    assert table.hands() >= 5


def test_another_edition_begins_a_new_score(table: Played, which: str) -> None:
    table.play(2, at_random(3))
    key = f"cfr-play-{which}"
    table.page.evaluate(
        """key => {
          const kept = JSON.parse(sessionStorage.getItem(key));
          sessionStorage.setItem(key, JSON.stringify({ ...kept, edition: 0 }));
        }""",
        key,
    )
    table.page.reload()
    assert table.hands() <= 1  # the other player may end the first at once


def test_game_goes_on_where_storage_is_refused(chromium: Browser, which: str) -> None:
    table = Played.open(chromium, BOOK / "notation.html")
    table.page.add_init_script(REFUSED)
    table.page.goto((BOOK / f"{PAGES[which]}.html").as_uri())
    table.play(3, at_random(4))
    assert table.hands() >= 3
    assert table.faults == []
    table.page.reload()
    assert table.hands() <= 1
    table.page.context.close()


def test_start_over_can_be_undone(table: Played) -> None:
    undo, restart = table.find("undo"), table.find("restart")
    expect(undo).to_be_hidden()
    table.play(3, at_random(5))
    here = table.score()
    restart.click()
    restart.click()  # a second time, which clears nothing
    assert table.hands() <= 1 and table.score() != here
    table.page.reload()
    undo.click()
    assert table.score() == here
    expect(undo).to_be_hidden()
    assert restart.evaluate("button => button === document.activeElement")
    restart.click()
    table.finish()
    if table.hands() == 1:  # else the other player ended the first hand at once
        table.click("next")
    expect(undo).to_be_hidden()


@pytest.mark.parametrize(("page", "shown"), [("play_kuhn", False), ("history", True)])
def test_nothing_of_the_theme_covers_the_score(
    chromium: Browser, page: str, shown: bool
) -> None:
    with reading(chromium, f"book/{page}.html", size=tuple(PHONE.values())) as visit:
        for there in (1_600, 1_200):  # the theme offers the way back once one is on it
            visit.page.evaluate(f"scrollTo({{top: {there}, behavior: 'instant'}})")
            visit.page.evaluate("new Promise(requestAnimationFrame)")
        button = visit.page.locator("#pst-back-to-top")
        expect(button).to_have_attribute("style", re.compile("display: block"))
        assert button.is_visible() == shown
