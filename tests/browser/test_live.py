"""The first screen of the start page: CFR learns Kuhn poker, and is broken."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from reader import DESKTOP, HTML, PHONE, Visit, reading

import cfrlib as cfr

START = "book/index.html"
LAST = 10_000  # iterations, as in live.js
ENOUGH = 60_000  # milliseconds of the page's clock, more than a run takes
# The bugs, and exploitability that is left at the end
BUGS = {"no reach": 0.16, "one payoff for both": 0.8, "current strategy returned": 0.005}
BUG = next(iter(BUGS))
game = cfr.games.KuhnPoker()

# How often the words for screen readers change from now on
LISTEN = """() => {
  window.heard = [];
  const status = document.querySelector(".live-status");
  new MutationObserver(() => heard.push(status.textContent))
    .observe(status, { childList: true, characterData: true, subtree: true });
}"""
SMALL = """() => [...document.querySelectorAll(".live *")]
  .filter((e) => e.checkVisibility())
  .filter((e) => [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim()))
  .filter((e) => parseFloat(getComputedStyle(e).fontSize) < 11).map((e) => e.outerHTML)"""
# Words of the tree and of the chart that are cut or lie on others
CROWDED = """() => {
  const words = ["p", "b", "li", ".live-share", ".live-move", ".live-x", ".live-y"];
  const boxes = [...document.querySelectorAll(`.live-columns :is(${words})`)]
    .filter((e) => e.textContent).map((e) => {
      const range = document.createRange();
      range.selectNodeContents(e);
      const { left, right, top, bottom } = range.getBoundingClientRect();
      return { text: e.textContent, left, right, top: top + 3, bottom: bottom - 3 };
    });
  const whole = document.querySelector(".live").getBoundingClientRect();
  const meet = (a, b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
  const cut = boxes.filter((a) => a.left < whole.left - 1 || a.right > whole.right + 1);
  return [...cut.map((a) => `${a.text} is cut`), ...boxes.flatMap((a, k) =>
    boxes.slice(k + 1).filter((b) => meet(a, b)).map((b) => `${a.text} on ${b.text}`))];
}"""
BARS = """rows => rows.map((row) =>
  [row.dataset.infoset, row.querySelector(".live-average").style.width])"""


def press(page: Page, name: str) -> None:
    page.get_by_role("group", name="The run").get_by_role("button", name=name).click()


def choose(page: Page, bug: str) -> None:
    page.get_by_label("Break it").select_option(bug)


def finish(page: Page) -> None:
    """Let the time pass in which a run ends."""
    page.clock.run_for(ENOUGH)
    assert iterations(page) == LAST
    assert not running(page)


def running(page: Page) -> bool:
    return page.locator(".live-run").inner_text() == "Pause"


def iterations(page: Page) -> int:
    return int(page.locator(".live-count").inner_text().split()[-1].replace(",", ""))


def exploitability(page: Page) -> float:
    return float(page.locator(".live-size").inner_text().split()[-1])


def status(page: Page) -> str:
    return page.locator(".live-status").inner_text()


def points(page: Page, curve: str) -> list[list[float]]:
    """Return a curve as it is drawn: percent from the left, percent from the top."""
    drawn = page.locator(f".live-plot polyline.live-{curve}").get_attribute("points") or ""
    return [[float(x) for x in point.split(",")] for point in drawn.split()]


def shares(page: Page) -> dict[str, float]:
    """Return how often each infoset bets or calls, as wide as the bars are."""
    bars = page.locator(".live-row").evaluate_all(BARS)
    return {infoset: float(width.rstrip("%")) / 100 for infoset, width in bars}


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Visit]:
    """Return the page for a reader who wants nothing to move; its time passes on demand."""
    with reading(chromium, START, clock=True) as visit:
        yield visit
        assert not visit.problems


@pytest.fixture
def page(visit: Visit) -> Page:
    return visit.page


# ---- run, pause, step, break -----------------------------------------------------------------


def test_nothing_moves_before_run_if_motion_is_reduced(page: Page) -> None:
    page.clock.run_for(ENOUGH)
    assert iterations(page) == 0 and not running(page)
    assert set(shares(page).values()) == {0.5}


def test_it_starts_in_sight_and_stops_by_itself(chromium: Browser) -> None:
    with reading(chromium, START, still=False) as visit:
        expect(visit.page.locator(".live-count")).to_have_text("iteration 10,000")
        expect(visit.page.locator(".live-status")).to_contain_text("break it")
        assert not running(visit.page)
        assert not visit.problems


def test_steps_show_cfrlibs_numbers(page: Page) -> None:
    run = cfr.CFR(game, "cfr")
    for t in range(1, 6):
        press(page, "Step")
        run.run(1)
        size = cfr.exploitability(game, run.average)
        assert iterations(page) == t
        assert exploitability(page) == pytest.approx(size, abs=5.1e-4)
        assert f"Iteration {t}:" in status(page)
        wanted = {infoset: list(row.values())[1] for infoset, row in run.average.items()}
        assert shares(page) == pytest.approx(wanted, abs=1e-6)
        assert len(points(page, "right")) == t


def test_run_is_paused_and_goes_on(page: Page) -> None:
    press(page, "Run")
    page.clock.run_for(3_500)
    assert running(page) and 0 < iterations(page) < LAST
    press(page, "Pause")
    before = iterations(page)
    assert f"Paused after {before} iterations" in status(page)
    page.clock.run_for(ENOUGH)
    assert iterations(page) == before
    press(page, "Run")
    finish(page)


def test_exploitability_falls(page: Page) -> None:
    press(page, "Run")
    finish(page)
    assert exploitability(page) < 0.001
    assert "wins only 0.000" in status(page)
    curve = points(page, "right")
    assert curve[0][0] == 0 and curve[-1][0] == 100
    assert curve[-1][1] - curve[0][1] > 50, "it falls by more than two of four decades"
    equilibrium = cfr.games.kuhn_equilibrium(game, shares(page)["J"])
    wanted = {infoset: list(row.values())[1] for infoset, row in equilibrium.items()}
    assert shares(page) == pytest.approx(wanted, abs=0.05)


@pytest.mark.parametrize("bug", BUGS)
def test_a_wrong_line_keeps_exploitability_up(page: Page, bug: str) -> None:
    choose(page, bug)
    assert running(page), "one need not press Run as well"
    finish(page)
    assert exploitability(page) > BUGS[bug]
    assert page.locator(".live-size").inner_text().split()[-1] in status(page)
    right, wrong = points(page, "right"), points(page, "wrong")
    assert right[-1][0] == wrong[-1][0] == 100
    assert right[-1][1] > wrong[-1][1] + 10, "the program without the bug is below"
    source = (HTML / "_static" / "cfr_kuhn.js").read_text("utf-8")
    assert page.locator(".live-line del").inner_text().removeprefix("- ") in source


def test_what_is_broken_can_be_mended(page: Page) -> None:
    choose(page, BUG)
    page.clock.run_for(2_500)
    choose(page, "")
    assert not points(page, "wrong") and not page.locator(".live-line").inner_text()
    finish(page)
    assert exploitability(page) < 0.001


def test_start_over_clears_the_run(page: Page) -> None:
    press(page, "Run")
    page.clock.run_for(3_500)
    press(page, "Start over")
    assert iterations(page) == 0 and not running(page) and not points(page, "right")
    press(page, "Run")
    finish(page)
    press(page, "Run")
    page.clock.run_for(100)
    assert 0 <= iterations(page) < 10, "after the end, Run starts over"


# ---- everybody can follow it -----------------------------------------------------------------


def test_screen_readers_hear_the_beginning_and_the_end(page: Page) -> None:
    page.evaluate(LISTEN)
    choose(page, BUG)
    finish(page)
    page.evaluate("0")  # observers have been called
    assert len(page.evaluate("heard")) == 2, page.evaluate("heard")
    tree, chart = page.locator(".live-tree"), page.locator(".live-chart")
    assert "10,000 iterations" in str(tree.get_attribute("aria-label"))
    assert str(exploitability(page)) in str(chart.get_attribute("aria-label"))


def test_every_control_is_one_tab_stop(page: Page) -> None:
    page.locator(".live-run").focus()
    for name in ("live-step", "live-restart", "live-bug"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.className") == name
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('.live')")
    page.locator(".live-step").press("Enter")
    assert iterations(page) == 1
    assert page.evaluate("document.activeElement.className") == "live-step"


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_letters_fit_and_nothing_below_moves(chromium: Browser, size: tuple[int, int]) -> None:
    with reading(chromium, START, size=size, clock=True) as visit:
        page = visit.page
        places = set()
        for bug in ("", *BUGS):
            if bug:
                choose(page, bug)
                places.add(page.locator(".live").bounding_box()["height"])  # type: ignore[index]
                page.clock.run_for(ENOUGH)
            assert not page.evaluate(SMALL)
            assert not page.evaluate(CROWDED)
            places.add(page.locator(".live").bounding_box()["height"])  # type: ignore[index]
        assert len(places) == 1
        assert page.evaluate("document.documentElement.scrollWidth") <= size[0]


def test_first_screen_holds_it_all(page: Page) -> None:
    choose(page, "current strategy returned")
    finish(page)
    box = page.locator(".live-words").bounding_box()
    assert box and box["y"] + box["height"] <= DESKTOP[1]
    top = page.locator("main").inner_text()[:600]
    assert "Here you write such an algorithm" in top and "Start" in top


def test_page_links_the_program_that_runs(page: Page) -> None:
    link = page.get_by_role("link", name="The program that runs here")
    scripts = page.locator("script").evaluate_all("all => all.map((each) => each.src)")
    assert link.evaluate("link => link.href") in scripts
    assert page.evaluate("exploitability(new CFR().average())") == pytest.approx(11 / 24)


# ---- without scripts, and on paper -----------------------------------------------------------


def test_picture_and_words_without_scripts(chromium: Browser) -> None:
    with reading(chromium, START, scripts=False) as visit:
        figure = visit.page.locator(".live figure")
        assert figure.locator("svg").is_visible()
        assert "one wrong line" in figure.locator("figcaption").inner_text()
        assert visit.page.locator(".live button").count() == 0
        words = str(figure.locator("svg").get_attribute("aria-label"))
        found = re.search(r"falls to (\S+) .* stops at (\S+)\.$", words)
        assert found and float(found[1]) < 0.002 < 0.15 < float(found[2])


def test_paper_has_the_picture(page: Page) -> None:
    page.emulate_media(media="print")
    assert page.locator(".live figure svg").is_visible()
    assert not page.locator(".live-piece").is_visible()
