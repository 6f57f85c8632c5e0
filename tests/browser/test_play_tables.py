"""What all tables promise: the score is kept, the buttons stay, and no result is skipped."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from playing import CoyoteTable, KoiKoiTable, KuhnTable, MatchTable, Table, at_random
from playwright.sync_api import Browser, expect
from reader import reading

TABLES = (KuhnTable, CoyoteTable, KoiKoiTable, MatchTable)
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
# How wide the page is, and how many of its parts are wider than their box, in which they scroll
WIDTHS = """() => {
  const boxes = [...document.querySelectorAll(".play-scroll")];
  const wide = boxes.filter((box) => box.scrollWidth > box.clientWidth);
  return [document.documentElement.scrollWidth, wide.length];
}"""
# Makes what the tab keeps the score of an older edition of the book
OLDER = """() => {
  for (const [key, text] of Object.entries({ ...sessionStorage }))
    if (text.includes("sitting"))
      sessionStorage.setItem(key, JSON.stringify({ ...JSON.parse(text), edition: 0 }));
}"""
Sit = Callable[..., Table]


@pytest.fixture(params=TABLES, ids=lambda kind: kind.PAGE, scope="module")
def kind(request: pytest.FixtureRequest) -> type[Table]:
    found: type[Table] = request.param
    return found


def test_score_is_the_sum_of_results(played: Table, kind: type[Table]) -> None:
    assert played.number(kind.UNIT) == len(played.results) == sum(kind.HANDS)
    assert played.number("score") == sum(played.results)
    if kind is MatchTable:
        assert played.number("match") == played.results[-1]
    else:
        assert played.number("mean") == pytest.approx(np.mean(played.results), abs=0.006)
    assert {*played.results} == {-1, 1} if kind is CoyoteTable else len({*played.results}) > 3
    assert played.page.evaluate("document.activeElement.closest('.play-actions') !== null")
    assert played.faults == []


@pytest.mark.parametrize("look", ["desktop", "light phone", "dark phone"])
def test_buttons_keep_their_place_and_a_phone_shows_all(
    sit_down: Sit, kind: type[Table], look: str
) -> None:
    phone = "phone" in look
    theme = "dark" if "dark" in look else "light"
    table = sit_down(viewport=PHONE if phone else DESKTOP, color_scheme=theme)
    choose, tops = at_random(1), set()
    for _ in range(170):  # the leaks in Kuhn poker are on show from the fiftieth hand on
        top, height, actions = table.page.evaluate(PLACES)
        tops.add(round(top))
        if phone:
            assert height <= PHONE["height"] - HEADER, "cards and buttons are seen together"
            width, cut = table.page.evaluate(WIDTHS)
            assert width == PHONE["width"]
            assert not cut or kind is KoiKoiTable, "its reviews may scroll in their box"
        table.pause()
        table.page.evaluate(CLICK, choose(actions))
    assert len(tops) == 1
    assert kind is not KuhnTable or table.find("leak table").count() == 1


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("kind", [KoiKoiTable, MatchTable], scope="module")
def test_hints_fit_a_phone(sit_down: Sit, theme: str) -> None:
    table, choose = sit_down(viewport=PHONE, color_scheme=theme), at_random(7)
    table.find("hint").click()
    for _ in range(40):
        assert table.page.evaluate(WIDTHS) == [PHONE["width"], 0]
        table.click(choose(table.actions()))


@pytest.mark.parametrize("named", [False, True], ids=["Enter", "its key"])
def test_key_repeat_plays_once(fresh: Table, named: bool) -> None:
    fresh.find("actions button").first.focus()
    key = fresh.key(fresh.actions()[0]) if named else "Enter"
    fresh.pause()
    before = fresh.kept()
    fresh.page.keyboard.down(key)
    after = fresh.kept()
    for _ in range(4):  # repeats, as the key is not let go, however long it is held
        fresh.pause()
        fresh.page.keyboard.down(key)
    fresh.page.keyboard.up(key)
    assert before != after == fresh.kept()


def test_page_is_readable_without_scripts(sit_down: Sit, kind: type[Table]) -> None:
    table, (what, times) = sit_down(java_script_enabled=False), kind.PLAIN
    assert "scripts" in (table.find("plain").text_content() or "")
    assert table.find(f"plain {what}").count() == times
    assert table.find("game").count() == 0


@pytest.mark.parametrize(("before", "after"), [(620, 1280), (900, 1000), (1280, 360)])
def test_chart_survives_a_resize(sit_down: Sit, before: int, after: int) -> None:
    table = sit_down()
    table.play(2, at_random(1))
    for width in (before, after):
        table.page.set_viewport_size({"width": width, "height": 800})
        table.page.wait_for_function(DRAWN)
        table.page.wait_for_function(f"Math.min(...({LETTERS})()) >= 11")


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_burst_is_one_move(sit_down: Sit, size: dict[str, int]) -> None:
    taps = size is PHONE
    table = sit_down(viewport=size, has_touch=taps)
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


def test_last_hand_can_be_seen_again(fresh: Table, kind: type[Table]) -> None:
    fresh.finish()
    review = fresh.find("leak").inner_html()
    assert fresh.find("again").count() == 0
    fresh.click("next")
    while fresh.actions() == ["next"]:  # the other player ended the hand at once
        review = fresh.find("leak").inner_html()
        fresh.click("next")
    again = fresh.find("again")
    assert again.get_attribute("open") is None
    again.locator("summary").click()
    assert "again" in again.inner_text() and again.locator("li").count() >= 2
    if kind is not KuhnTable:  # whose review is of all hands, and stays
        assert review in again.inner_html()
    fresh.finish(2)
    assert fresh.find("again").count() == 0


def test_reload_and_back_keep_the_score(fresh: Table) -> None:
    fresh.play(4, at_random(3))
    here = fresh.score()
    fresh.page.reload()
    assert fresh.score() == here
    fresh.turn_to("notation")
    fresh.page.go_back()
    assert fresh.score() == here
    fresh.play(1, at_random(3))
    assert fresh.hands() >= 5


def test_another_edition_begins_a_new_score(fresh: Table) -> None:
    fresh.play(2, at_random(3))
    fresh.page.evaluate(OLDER)
    fresh.page.reload()
    assert fresh.hands() <= 1  # the other player may end the first at once


def test_game_goes_on_where_storage_is_refused(sit_down: Sit, kind: type[Table]) -> None:
    table = sit_down("notation")
    table.page.add_init_script(REFUSED)
    table.turn_to(kind.PAGE)
    table.play(3, at_random(4))
    assert table.hands() >= 3
    table.page.reload()
    assert table.hands() <= 1


def test_start_over_can_be_undone(fresh: Table) -> None:
    undo, restart = fresh.find("undo"), fresh.find("restart")
    expect(undo).to_be_hidden()
    fresh.play(3, at_random(5))
    here = fresh.score()
    restart.click()
    restart.click()  # a second time, which clears nothing
    assert fresh.score() != here
    if fresh.actions() != ["next"]:  # else the other player ended the first hand at once
        assert fresh.hands() == fresh.number("score") == 0
    assert fresh.hands() <= 1
    fresh.page.reload()
    undo.click()
    assert fresh.score() == here
    expect(undo).to_be_hidden()
    assert restart.evaluate("button => button === document.activeElement")
    restart.click()
    fresh.finish()
    if fresh.hands() == 1:  # else the other player ended the first hand at once
        fresh.click("next")
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
