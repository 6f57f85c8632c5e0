"""Every explorable of every page: moved by keyboard and mouse, and held to cfrlib's values."""

from __future__ import annotations

import functools
import itertools
import re
from typing import Any

import pytest
from decoding import decode
from explorables import explorables
from playwright.sync_api import Browser, Locator, Page, expect
from reader import DESKTOP, HTML, PHONE, ROOT, Visit, reading, touching, unfold

from cfrbook.explore import Choice, Explorable, Mix, Walk

FIGURE = "figure.cfr-explore"
FIRST = "book/01_regret_matching.html"  # one of its explorables plays
WALK = "book/02_games_with_hidden_cards.html"  # a page with a game to walk through


Pairs = list[tuple[Locator, Explorable]]


@functools.cache
def made(name: str) -> list[Explorable]:
    """Return the explorables of a page as its own code makes them."""
    return explorables((ROOT / name).with_suffix(".ipynb"))


@pytest.fixture(scope="session")
def visit(light: Visit) -> Visit:
    """Return the page on which the tests of pages have clicked on nothing but folds."""
    return light


@pytest.fixture
def pairs(visit: Visit, name: str) -> Pairs:
    """Return the figures of the page, each with the object it was made from."""
    return match(visit.page, name)


def match(page: Page, name: str) -> Pairs:
    return list(zip(page.locator(FIGURE).all(), made(name), strict=True))


# ---- reading a figure ------------------------------------------------------------------------


def values(figure: Locator, explorable: Explorable) -> dict[str, Any]:
    """Return the parameters that the controls say they are at."""
    found = {}
    boxes = figure.locator(".cfr-control").all()
    for (name, control), box in zip(explorable.controls.items(), boxes, strict=True):
        if isinstance(control, Mix):
            said = [float(text) for text in box.locator(".cfr-value").all_text_contents()]
            assert abs(sum(said) - 1) < 1e-9
            found[name] = min(
                control.positions,
                key=lambda p: sum(abs(a - b) for a, b in zip(p, said, strict=True)),
            )
        else:
            said = box.locator("select").input_value() if isinstance(control, Choice) else ""
            said = said or box.locator(".cfr-value").text_content()
            found[name] = next(p for p in control.positions if control.text(p) == said)
    return found


SAME = """(stage, html) => {
  const expected = document.createElement("div");
  expected.innerHTML = html;
  return stage.innerHTML === expected.innerHTML;
}"""


@functools.cache
def frame(explorable: Explorable, at: tuple[tuple[str, Any], ...]) -> str:
    """Return what cfrlib draws at some values; the tests come by the same ones again."""
    return explorable.frame_html(**dict(at))


def agrees(figure: Locator, explorable: Explorable) -> str:
    """Return how picture, words and numbers differ from cfrlib's at what the controls say."""
    at = values(figure, explorable)
    stage = figure.locator(".cfr-stage")
    if stage.evaluate(SAME, frame(explorable, tuple(at.items()))):
        return ""
    return f"{explorable!r} at {at}: the page shows {stage.inner_text()!r}"


def ranges(figure: Locator) -> list[Locator]:
    return figure.locator("input[type=range]").all()


def index(slider: Locator) -> int:
    return int(slider.input_value())


def said(slider: Locator) -> tuple[str | None, str | None]:
    """Return the value as a screen reader says it and as it is printed."""
    value = slider.locator("xpath=following-sibling::*[@class='cfr-value']")
    return slider.get_attribute("aria-valuetext"), value.text_content()


# ---- without a browser -----------------------------------------------------------------------


WHOLE = re.compile(r'<figure class="cfr-figure cfr-explore">.*?</figure>', re.S)


def places(sizes: list[int]) -> list[tuple[int, ...]]:
    """Return about ten places of a grid, the corners among them."""
    every = list(itertools.product(*map(range, sizes)))
    return every[:: max(1, len(every) // 8)] + every[-1:]


def test_page_and_kernel_draw_identical_frames(visit: Visit, name: str) -> None:
    """Here, not in tests/book, as running the code of a page is the longest part of it."""
    figures, found = WHOLE.findall((HTML / name).read_text("utf-8")), made(name)
    assert found and len(figures) == len(found), "each explorable has both faces"
    for html, each in zip(figures, found, strict=True):
        controls, stage = decode(html)
        live = each.widget()
        names, sizes = list(each.controls), [len(c.positions) for c in each.controls.values()]
        assert sizes == [len(c.get("counts") or c["texts"]) for c in controls]
        for at in places(sizes):
            for part, k in zip(names, at, strict=True):
                control = each.controls[part]
                control.set(live.parts[part], control.positions[k])
            shown = f'<div class="cfr-stage">{stage(*at)}</div>'
            assert live.stage.value == shown, f"{each} at {at}"


# ---- moving ----------------------------------------------------------------------------------


def test_figure_starts_at_the_explorables_start(pairs: Pairs) -> None:
    for figure, explorable in pairs:
        assert figure.locator(".cfr-controls").is_visible()
        assert values(figure, explorable) == explorable.start
        assert not agrees(figure, explorable)
        assert figure.locator(".cfr-panels").get_attribute("aria-label")


def test_keyboard_and_mouse_move_sliders(pairs: Pairs) -> None:
    for figure, explorable in pairs:
        for slider in ranges(figure):
            last, shown = int(slider.get_attribute("max") or 0), []
            slider.focus()
            keys = {"End": last, "ArrowLeft": last - 1, "Home": 0, "mouse": last // 2}
            for key, expected in keys.items():
                if key == "mouse":
                    drag(slider, expected, last)
                    assert abs(index(slider) - expected) <= 1 + last // 50
                else:
                    slider.press(key)
                    assert index(slider) == expected
                assert said(slider)[0] == said(slider)[1]
                assert not agrees(figure, explorable)
                shown.append(figure.locator(".cfr-stage").inner_html())
            assert len({*shown[:3]}) > 1, f"{explorable!r} shows the same at every position"
            assert shown[3] != shown[2]
            put_back(slider)


def put_back(slider: Locator) -> None:
    """Move a slider to where it started, so that the next one is alone in what it changes."""
    slider.fill(slider.get_attribute("value") or "")


def drag(slider: Locator, to: int, last: int) -> None:
    """Take the handle where it is and pull it with the mouse."""
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box
    handle, y = 16, box["y"] + box["height"] / 2
    at = [
        box["x"] + handle / 2 + (box["width"] - handle) * k / last for k in (index(slider), to)
    ]
    mouse = slider.page.mouse
    mouse.move(at[0], y)
    mouse.down()
    mouse.move(at[1], y, steps=8)
    mouse.up()


def test_choice_works_by_keyboard_and_mouse(pairs: Pairs) -> None:
    for figure, explorable in pairs:
        for select in figure.locator("select").all():
            before = figure.locator(".cfr-stage").inner_html()
            select.focus()
            select.press("ArrowDown")
            assert figure.locator(".cfr-stage").inner_html() != before
            assert not agrees(figure, explorable)
            for option in select.locator("option").all_text_contents()[:3]:
                select.select_option(option)  # Chromium draws the list outside of the page
                assert not agrees(figure, explorable)


def test_walk_works_by_keyboard_and_mouse(pairs: Pairs) -> None:
    for figure, explorable in pairs:
        names = [name for name, c in explorable.controls.items() if isinstance(c, Walk)]
        for name in names:
            walk = figure.locator(".cfr-walk")
            back, start = (walk.get_by_role("button", name=n) for n in ("back", "start over"))
            while start.is_enabled():  # an explorable may open within the game
                start.click()
            for _ in range(3):  # two steps by keyboard, one by mouse
                way = walk.locator("button:not(:disabled)").last
                before = figure.locator(".cfr-stage").inner_html()
                if values(figure, explorable)[name]:
                    way.press("Enter")
                else:
                    way.click()
                assert figure.locator(".cfr-stage").inner_html() != before
                assert walk.locator("button:focus").count() == 1, "the focus was lost"
                assert not agrees(figure, explorable)
            length = len(values(figure, explorable)[name])
            back.press("Space")
            assert len(values(figure, explorable)[name]) == length - 1
            assert not agrees(figure, explorable)


# ---- in time ---------------------------------------------------------------------------------

CALM_STEP, REST = 1_000, 500  # milliseconds, as in cfrbook/explore/page.js


def test_play_button_starts_advances_and_pauses(
    chromium: Browser, visit: Visit, name: str
) -> None:
    if not any(explorable.play for explorable in made(name)):
        return  # nothing plays on this page
    with reading(chromium, name, still=False, clock=True) as moving:
        for figure, explorable in match(moving.page, name):
            if explorable.play:
                play(moving.page, figure, explorable, explorable.interval)
                assert not agrees(figure, explorable)
        assert not moving.problems


def test_play_slows_down_with_reduced_motion(chromium: Browser) -> None:
    with reading(chromium, FIRST, still=True, clock=True) as calm:
        figure, explorable = next(pair for pair in match(calm.page, FIRST) if pair[1].play)
        play(calm.page, figure, explorable, CALM_STEP)


def play(page: Page, figure: Locator, explorable: Explorable, step: int) -> None:
    """Press play, pause and play; a step takes so many milliseconds."""
    button = figure.locator(".cfr-play")
    k = list(explorable.controls).index(str(explorable.play))
    slider = figure.locator(".cfr-control").nth(k).locator("input")
    slider.press("Home")
    button.press("Space")
    assert button.get_attribute("aria-pressed") == "true"
    page.clock.run_for(step - 10)
    assert index(slider) == 0
    page.clock.run_for(step)
    assert index(slider) == 1
    button.click()
    assert button.get_attribute("aria-pressed") == "false"
    page.clock.run_for(3 * step)
    assert index(slider) == 1, "it moves on though it was paused"
    button.click()
    last = int(slider.get_attribute("max") or 0)
    page.clock.run_for(step * last)
    assert index(slider) == last
    assert button.get_attribute("aria-pressed") == "false", "it stops at the end"


def test_step_buttons_move_by_one_position(pairs: Pairs) -> None:
    for figure, explorable in pairs:
        back, on = figure.locator(".cfr-step").all() or (None, None)
        assert bool(explorable.play) == bool(on)
        if not (back and on):
            continue
        slider = figure.locator(".cfr-control:has(.cfr-step) input")
        last = int(slider.get_attribute("max") or 0)
        for key, button, expected in (
            ("Home", on, 1),
            ("End", on, last),
            ("End", back, last - 1),
        ):
            slider.press(key)
            button.click()
            assert index(slider) == expected
            assert not agrees(figure, explorable)
        put_back(slider)


LIVE = "output, [role=status], [role=alert], [aria-live]"


def test_each_change_is_heard_once(pairs: Pairs) -> None:
    """A slider says its value, one region the rest; what a slider shows beside is no third."""
    for figure, _ in pairs:
        assert figure.locator(LIVE).count() == figure.locator(".cfr-announce").count() == 1
        for slider in ranges(figure):
            assert slider.get_attribute("aria-valuetext")
            value = slider.locator("xpath=following-sibling::*[@class='cfr-value']")
            assert value.get_attribute("aria-hidden") == "true"


def test_walk_is_announced_with_its_picture(chromium: Browser) -> None:
    with reading(chromium, WALK, clock=True) as visit:
        figure = visit.page.locator(FIGURE, has=visit.page.locator(".cfr-walk")).first
        figure.locator(".cfr-walk button:not(:disabled)").last.press("Enter")
        visit.page.clock.run_for(REST + 10)
        heard = figure.locator(".cfr-announce").text_content() or ""
        alt = figure.locator(".cfr-panels").get_attribute("aria-label") or "?"
        assert heard.startswith(f"{figure.locator('.cfr-walk .cfr-value').text_content()}. ")
        assert heard.count(alt.rstrip(".")) == 1


def test_description_is_announced_after_a_pause(chromium: Browser) -> None:
    with reading(chromium, FIRST, clock=True) as visit:
        figure = visit.page.locator(FIGURE).first
        words = figure.locator(".cfr-announce")
        assert words.get_attribute("aria-live") == "polite"
        for key in ("Home", "End"):
            figure.locator("input").first.press(key)
            visit.page.clock.run_for(REST - 10)
            assert not words.text_content(), "nobody wants to hear what is passed over"
        visit.page.clock.run_for(20)
        heard = words.text_content() or ""
        assert heard.startswith(
            figure.locator(".cfr-panels").get_attribute("aria-label") or "?"
        )
        assert figure.locator("dd").last.inner_text() in heard
        assert ".." not in heard


# ---- what stands around ----------------------------------------------------------------------

# Move every slider from end to end; return the places of what stands below.
SWEEP = """figure => {
  const below = figure.querySelector("figcaption"), places = [];
  const place = () => places.push(Math.round(below.getBoundingClientRect().top + scrollY));
  for (const input of figure.querySelectorAll("input[type=range]")) {
    for (let k = 0; k <= 6; k++) {
      input.value = Math.round((k * input.max) / 6);
      input.dispatchEvent(new Event("input"));
      place();
    }
  }
  for (const select of figure.querySelectorAll("select")) {
    [...select.options].forEach((_, k) => {
      select.selectedIndex = k;
      select.dispatchEvent(new Event("change"));
      place();
    });
  }
  return [...new Set(places)];
}"""


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_layout_below_is_stable(visit: Visit, size: tuple[int, int]) -> None:
    visit.resize(size)
    for figure in visit.page.locator(FIGURE).all():
        places = figure.evaluate(SWEEP)
        assert len(places) <= 1, figure.locator("figcaption").inner_text()[:60]


# By how many pixels figures, or parts of them, are wider than their places
HIDDEN = """figures => figures.map((figure) => {
  const inside = figure.querySelectorAll(".cfr-panels, .cfr-listing, .cfr-controls, dl");
  return Math.max(...[figure, ...inside].map((part) => part.scrollWidth - part.clientWidth));
})"""


@pytest.mark.parametrize("width", [360, 390, 412])
def test_phones_show_whole_figures(visit: Visit, width: int) -> None:
    visit.resize((width, 740))
    found = visit.page.locator(f"{FIGURE}, figure.cfr-program").evaluate_all(HIDDEN)
    assert found and not any(found)


SLOW = [
    "book/04_vanilla_cfr.html",
    "book/07_monte_carlo_cfr.html",
    "book/10_deep_cfr.html",
]
# A screen's height from the upper end of the controls to the lower end of the pictures; where
# the controls are once the pictures' lower end is at that of the screen; the smallest button
FIT = """figure => {
  const box = (part) => figure.querySelector(part).getBoundingClientRect();
  const height = box(".cfr-panels").bottom - box(".cfr-controls").top;
  scrollBy({ top: box(".cfr-panels").bottom - innerHeight + 150, behavior: "instant" });
  const buttons = [...figure.querySelectorAll(".cfr-controls :is(button, select)")];
  const sizes = buttons.map((each) => Math.min(each.offsetWidth, each.offsetHeight));
  return [height, box(".cfr-controls").top, Math.min(...sizes)];
}"""


@pytest.mark.parametrize("slow", SLOW)
def test_slow_motion_fits_the_screen_of_a_phone(chromium: Browser, slow: str) -> None:
    header = 56
    with touching(chromium, slow) as page:
        unfold(page)
        figures = [figure for figure, each in match(page, slow) if each.interval > CALM_STEP]
        assert len(figures) == 1
        height, top, least = figures[0].evaluate(FIT)
        assert height <= PHONE[1] - header
        assert top == pytest.approx(header, abs=1), "the controls stay in sight"
        assert least >= 44


def test_a_scrolled_picture_keeps_its_place_while_a_slider_moves(chromium: Browser) -> None:
    with touching(chromium, FIRST) as page:
        unfold(page)
        page.add_style_tag(content=".cfr-panels svg { min-width: 600px !important }")
        for figure, explorable in match(page, FIRST):
            panels = figure.locator(".cfr-panels")
            panels.evaluate("panels => { panels.scrollLeft = 80; }")
            before = panels.inner_html()
            slider = ranges(figure)[0]
            slider.press("End")
            assert panels.inner_html() != before and not agrees(figure, explorable)
            assert panels.evaluate("panels => panels.scrollLeft") == 80


def test_first_frame_is_visible_without_scripts(
    chromium: Browser, visit: Visit, name: str
) -> None:
    with reading(chromium, name, scripts=False) as bare:
        for figure in bare.page.locator(FIGURE).all():
            assert figure.locator(".cfr-panels svg").first.is_visible()
            assert figure.locator(".cfr-numbers dd").first.is_visible()
            assert not figure.locator("input, select, button").filter(visible=True).count()


# ---- the address -----------------------------------------------------------------------------

CHAPTER = "book/07_monte_carlo_cfr.html"  # two figures have controls of the same name
SCRIPT = (ROOT / "cfrbook" / "explore" / "page.js").read_text("utf-8")
# Texts of a control that an address cannot tell apart
SAME_IN_ADDRESS = """(figure, script) => {
  const module = {}, data = JSON.parse(figure.querySelector("script").textContent);
  new Function("module", "document", script)(module, undefined);
  return data.controls.map(module.exports.texts).flatMap((texts) => {
    const plain = texts.map(module.exports.plain);
    return texts.filter((_, k) => plain.indexOf(plain[k]) !== k);
  });
}"""
NOTED = "figures => figures.every(figure => figure.dataset.address)"


# Move every control from where it opened, all at once.
MOVE_ALL = """figure => {
  figure.dataset.address = "";
  for (const input of figure.querySelectorAll("input[type=range]")) {
    input.value = input.getAttribute("value") === "0" ? input.max : 0;
    input.dispatchEvent(new Event("input"));
  }
  for (const select of figure.querySelectorAll("select")) {
    select.selectedIndex = 1;
    select.dispatchEvent(new Event("change"));
  }
  [...figure.querySelectorAll(".cfr-walk button:not(:disabled)")].at(-1)?.click();
}"""


def moved(page: Page) -> str:
    """Wait until all figures have noted where they are; return the address."""
    figures = "[...document.querySelectorAll('figure.cfr-explore')]"
    page.wait_for_function(f"({NOTED})({figures})")
    return page.url


def test_reload_keeps_every_figure(visit: Visit, name: str) -> None:
    pairs = match(visit.page, name)
    for figure, _ in pairs:
        assert not figure.evaluate(SAME_IN_ADDRESS, SCRIPT)
        figure.evaluate(MOVE_ALL)
    url = moved(visit.page)
    before = [values(figure, explorable) for figure, explorable in pairs]
    names = [pair.partition("=")[0] for pair in url.partition("#")[2].split("&")]
    assert len(names) == len(set(names)) == sum(map(len, before))
    visit.page.reload()
    assert [values(figure, explorable) for figure, explorable in pairs] == before
    assert not [wrong for pair in pairs if (wrong := agrees(*pair))]
    assert visit.page.url == url
    assert not visit.problems


def state(visit: Visit) -> list[dict[str, Any]]:
    return [values(*pair) for pair in match(visit.page, CHAPTER)]


def test_sections_and_back_keep_the_state(chromium: Browser) -> None:
    with reading(chromium, CHAPTER) as visit:
        page, opened = visit.page, state(visit)
        for figure, _ in match(page, CHAPTER):
            figure.evaluate(MOVE_ALL)
        url, kept = moved(page), state(visit)
        assert kept != opened
        page.locator("nav.page-toc a").nth(2).click()
        page.wait_for_url("**#three-walks")
        top = "document.querySelector(':target').getBoundingClientRect().top"
        assert page.evaluate(top) < 100
        for _ in range(2):
            assert state(visit) == kept
            page.reload()
        page.go_back()
        page.wait_for_url(url)
        assert state(visit) == kept
        page.locator("a.right-next").press("Enter")
        page.wait_for_url("**/08_*")
        page.go_back()
        page.wait_for_url(url)
        visit.settle()
        assert state(visit) == kept
        page.evaluate("location.hash = 'x=1'")  # an address in which nothing has moved
        page.wait_for_function(
            "scheme => document.querySelector('select').value === scheme",
            arg=page.locator("select option").first.text_content(),
        )
        assert state(visit) == opened
        assert not visit.problems


def test_copied_link_leads_to_the_figure(chromium: Browser) -> None:
    with reading(chromium, CHAPTER) as visit:
        figure, explorable = match(visit.page, CHAPTER)[2]
        figure.evaluate(MOVE_ALL)
        visit.page.wait_for_function(
            "figure => figure.dataset.address", arg=figure.element_handle()
        )
        there = values(figure, explorable)
        figure.get_by_role("button", name="copy link").press("Enter")
        expect(figure.locator(".cfr-announce")).to_have_text("Link copied.")
        visit.page.keyboard.press("Control+k")
        visit.page.keyboard.press("Control+v")
        link = visit.page.locator("#pst-search-dialog input").input_value()
    assert re.fullmatch(r".*/07_monte_carlo_cfr\.html#3\.\w+=.*&3\.\w+=.*", link)
    with reading(chromium, f"{CHAPTER}#{link.partition('#')[2]}") as visit:
        others = match(visit.page, CHAPTER)
        last, other = others.pop(2)
        for figure, explorable in others:
            assert values(figure, explorable) == explorable.start
        assert values(last, other) == there
        assert not agrees(last, other)
        expect(last.locator(".cfr-controls")).to_be_in_viewport()
        assert not visit.problems


def test_address_of_several_figures_opens_at_the_one_moved_last(chromium: Browser) -> None:
    with reading(chromium, CHAPTER) as visit:
        for n in (0, 2):
            figure = visit.page.locator(FIGURE).nth(n)
            figure.evaluate(MOVE_ALL)
            visit.page.wait_for_function("f => f.dataset.address", arg=figure.element_handle())
        address = visit.page.url.partition("#")[2]
        before = state(visit)
    with reading(chromium, f"{CHAPTER}#{address}") as visit:
        assert state(visit) == before
        expect(visit.page.locator(FIGURE).nth(2).locator(".cfr-controls")).to_be_in_viewport()


@pytest.mark.parametrize("address", ["scheme=nothing&seed=%", "scheme=&x=1&2.seed=99", "==&&#"])
def test_unknown_address_opens_the_page_as_ever(chromium: Browser, address: str) -> None:
    with reading(chromium, f"{CHAPTER}#{address}") as visit:
        assert state(visit) == [explorable.start for explorable in made(CHAPTER)]
        assert not visit.problems


def test_interaction_causes_no_errors(visit: Visit) -> None:
    assert not visit.problems
