"""Every page of the built book, as its readers meet it: offline, from a folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from checks import check, violations
from playwright.sync_api import Browser, FrameLocator, Page, expect
from reader import DESKTOP, HTML, PHONE, ROOT, Visit, reading, window

CONTRAST = "lowContrast(4.5)"
MOST_STOPS = 80  # of the Tab key, on a page as it opens; fields for answers do not count


# ---- nothing fails, nobody else is asked -----------------------------------------------------


def test_dark_phone_visit_has_no_errors(dark: Visit) -> None:
    assert not dark.problems
    assert dark.page.evaluate("document.documentElement.dataset.theme") == "dark"


# Fills what the browser stores of this site, to the last character
FILL = """() => {
    for (const storage of [localStorage, sessionStorage])
        for (let size = 2 ** 23; size >= 1; size /= 2)
            try { storage[`k${size}`] = "x".repeat(size); } catch {}
}"""
STORING = ["index.html", "04_vanilla_cfr.html", "play_kuhn.html", "../search.html"]


@pytest.fixture
def page(chromium: Browser) -> Iterator[tuple[Page, list[str]]]:
    """Return a tab, and the errors of its scripts."""
    errors: list[str] = []
    with window(chromium) as tab:
        tab.on("pageerror", lambda error: errors.append(str(error)))
        yield tab, errors


def use(page: Page | FrameLocator) -> None:
    """Change the theme, once all scripts have run, and type an answer if there are fields."""
    body = page.locator("html")
    expect(body).to_have_attribute("data-theme", re.compile("dark|light"))
    before = body.get_attribute("data-mode")
    body.evaluate("() => document.querySelector('.theme-switch-button').click()")
    expect(body).not_to_have_attribute("data-mode", str(before))
    body.evaluate("() => document.querySelector('.cfr-answer input')?.form.requestSubmit()")


@pytest.mark.parametrize("path", STORING)
def test_storage_may_be_refused_or_full(
    page: tuple[Page, list[str]], served: str, path: str
) -> None:
    tab, errors = page
    tab.set_content(f'<iframe sandbox="allow-scripts" src="{served}{path}"></iframe>')
    use(tab.frame_locator("iframe"))
    tab.goto(served + path)
    tab.evaluate(FILL)
    tab.reload()
    use(tab)
    assert errors == []


# ---- everybody can read it -------------------------------------------------------------------


def test_letters_of_charts_can_be_read_on_a_phone(dark: Visit) -> None:
    assert not check(dark, "smallLetters(9)")


def test_targets_on_a_phone_can_be_hit(dark: Visit) -> None:
    assert not check(dark, "smallTargets(24)")


def test_outputs_are_whole_on_a_desktop(light: Visit) -> None:
    assert not check(light, "cut()")


@pytest.mark.parametrize("question", [CONTRAST, "bareLinks()"])
def test_text_has_contrast_and_links_are_marked(
    light: Visit, dark: Visit, question: str
) -> None:
    """By more than color."""
    dark.resize(DESKTOP)
    assert not check(light, question)
    assert not check(dark, question)


def walk(visit: Visit) -> dict[str, Any]:
    """Press Tab until the focus wraps around; return the elements that had it."""
    check(visit, "follow()")
    for _ in range(40):
        for _ in range(25):
            visit.page.keyboard.down("Tab")  # held down, it moves on each time
        met = visit.page.evaluate("checks.met()")
        if met["around"]:
            break
    visit.page.keyboard.up("Tab")
    return met


def test_keyboard_reaches_every_control(light: Visit, name: str) -> None:
    met = walk(light)
    assert met["stops"][0]["name"] == "Skip to main content"
    assert not met["unseen"]
    assert not met["missed"]
    stops = [stop for stop in met["stops"] if not stop["folded"] and not stop["answer"]]
    print(f"{name}: {len(stops)} stops, {len(met['stops'])} with all folds open")
    assert len(stops) < MOST_STOPS, [stop["element"] for stop in stops]


def test_arrow_keys_lead_to_every_copy_button(chromium: Browser) -> None:
    with reading(chromium, "book/04_vanilla_cfr.html") as visit:
        keyboard = visit.page.keyboard
        buttons = visit.page.locator(".copybtn:visible")
        buttons.first.focus()
        for key, k in (("ArrowDown", 1), ("ArrowDown", 2), ("ArrowUp", 1), ("End", -1)):
            keyboard.press(key)
            expect(buttons.nth(k)).to_be_focused()
        keyboard.press("Tab")
        expect(buttons.last).not_to_be_focused()
        keyboard.press("Shift+Tab")  # back to where one was
        expect(buttons.last).to_be_focused()
        keyboard.press("Enter")
        expect(buttons.last).to_have_attribute("data-tooltip", "Copied!")


def test_formulas_are_read_but_are_no_stops(chromium: Browser) -> None:
    with reading(chromium, "book/07_monte_carlo_cfr.html") as visit:
        formulas = visit.page.locator("mjx-container")
        spoken = visit.page.locator("mjx-container > mjx-assistive-mml > math")
        assert formulas.count() == spoken.count() > 100
        assert not visit.page.locator("mjx-container[tabindex]").count()


@pytest.mark.parametrize(
    ("page", "count"), [("02_games_with_hidden_cards", 1), ("for_teachers", 0)]
)
def test_page_explains_its_formulas_without_scripts(
    chromium: Browser, page: str, count: int
) -> None:
    for scripts in (True, False):
        with reading(chromium, f"book/{page}.html", scripts=scripts) as visit:
            why = visit.page.locator(".cfr-noscript")  # by its text it would not be found
            expect(why.filter(visible=True)).to_have_count(0 if scripts else count)


# ---- finding the way -------------------------------------------------------------------------


def order() -> list[str]:
    """Return the pages from the first to the last, as the table of contents has them."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    files = [chapter["file"] for part in toc["parts"] for chapter in part["chapters"]]
    return [f"{file}.html" for file in (toc["root"], *files)]


def test_page_links_previous_and_next(light: Visit, name: str) -> None:
    pages = order()
    k = pages.index(name) if name in pages else None
    expected = {
        "left-prev": pages[k - 1] if k else None,
        "right-next": pages[k + 1] if k is not None and k + 1 < len(pages) else None,
    }
    for kind, target in expected.items():
        links = light.page.locator(f"a.{kind}").evaluate_all("links => links.map(a => a.href)")
        assert links == ([(HTML / target).as_uri()] if target else [])


def test_address_of_a_late_section_shows_its_heading(chromium: Browser) -> None:
    """The sections before it have not been laid out."""
    with reading(chromium, "book/07_monte_carlo_cfr.html#summary", size=PHONE) as visit:
        heading = visit.page.locator("#summary > h2")
        expect(heading).to_be_in_viewport()
        assert heading.bounding_box()["y"] < 200


def test_long_code_in_sight_is_a_stop(chromium: Browser) -> None:
    with reading(chromium, "book/04_vanilla_cfr.html", size=PHONE) as visit:
        code = visit.page.locator("pre:visible")
        wide = "all => all.findIndex((pre) => pre.scrollWidth > pre.clientWidth)"
        first = code.nth(code.evaluate_all(wide))
        first.scroll_into_view_if_needed()
        expect(first).to_have_attribute("tabindex", "0")
        visit.page.set_viewport_size({"width": 2400, "height": 900})
        expect(first).not_to_have_attribute("tabindex", "0")


def test_theme_button_persists_across_pages(chromium: Browser) -> None:
    theme = "document.documentElement.dataset.theme"
    with reading(chromium, "book/index.html") as visit:
        for _ in range(3):  # auto, then light and dark in one order or the other
            if visit.page.evaluate(theme) == "dark":
                break
            visit.page.locator(".theme-switch-button:visible").click()
        assert visit.page.evaluate(theme) == "dark"
        visit.page.locator("a.right-next").click()
        visit.page.wait_for_url("**/01_*.html")
        for _ in range(20):  # a busy Chromium writes to its storage later than it navigates
            if visit.page.evaluate(theme) == "dark":
                break
            visit.page.reload()
        assert visit.page.evaluate(theme) == "dark"
        assert not visit.problems


# ---- the rules can fail ----------------------------------------------------------------------


# A chart that keeps its width and has letters of 11 px
WIDE = """<figure class="cfr-figure" style="overflow: auto; margin: 0">
<svg viewBox="0 0 400 100" width="800"><text x="0" y="50" font-size="5.5">hi</text></svg>
</figure>"""

# A formula in a sentence that ends at its margin
FORMULA = """<p><span class="math" style="display: inline-block; width: 5rem; overflow: hidden">
<mjx-math style="display: inline-block; width: 9rem">x</mjx-math></span></p>"""


@pytest.mark.parametrize(
    ("html", "question", "count"),
    [
        ('<p style="color: #767676">grey</p>', CONTRAST, 0),
        ('<p style="color: #777">a little too pale</p>', CONTRAST, 1),
        ('<p style="opacity: .5">half there</p>', CONTRAST, 1),
        ('<div style="background: #333"><b>dark on dark</b></div>', CONTRAST, 1),
        ('<svg><rect width="90" height="30"/><text y="20">hi</text></svg>', CONTRAST, 1),
        ('<svg><text y="20">hi</text><rect width="0" height="0"/></svg>', CONTRAST, 0),
        ("<details><p style='color: #999'>folded</p></details>", CONTRAST, 1),
        ("<p>words <a href='a'>a link</a></p>", "bareLinks()", 0),
        ("<p>words <a href='a' style='text-decoration: none'>a link</a></p>", "bareLinks()", 1),
        ("<p><a href='a' style='text-decoration: none'>a link</a></p>", "bareLinks()", 0),
        ("<pre style='overflow: auto'><i style='padding: 0 9in'>x</i></pre>", "sideways()", 0),
        ("<p style='overflow: auto'><i style='padding: 0 500px'>x</i></p>", "sideways()", 2),
        ("<p style='width: 50rem'>x</p>", "sideways()", 2),
        (FORMULA, "sideways()", 1),
        (FORMULA.replace("hidden", "visible"), "sideways()", 0),
        (WIDE, "sideways()", 0),
        (WIDE.replace("class", "id"), "sideways()", 2),
        (WIDE.replace("</figure>", "<p style='width: 50rem'>x</p></figure>"), "sideways()", 1),
        (WIDE.replace("svg", "canvas"), "sideways()", 2),
        (WIDE, "smallLetters(11)", 0),
        (WIDE, "smallLetters(12)", 1),
        (WIDE.replace('width="800"', 'width="600"'), "smallLetters(11)", 1),
        (WIDE.replace('width="800"', 'width="300"'), "cut()", 0),
        (WIDE.replace('width="800"', 'width="300"').replace('x="0"', 'x="420"'), "cut()", 1),
        (WIDE, "cut()", 1),
    ],
)
def test_checks_count_violations(
    chromium: Browser, tmp_path: Path, html: str, question: str, count: int
) -> None:
    body = f"<main id='main'><div>{html}</div></main>"
    (tmp_path / "a.html").write_text(f"<!doctype html><title>a</title>{body}", "utf-8")
    with reading(chromium, "a.html", size=PHONE, home=tmp_path) as visit:
        assert len(check(visit, question)) == count


def test_visit_records_problems(chromium: Browser, tmp_path: Path) -> None:
    html = """<!doctype html><script src="gone.js"></script><img src="https://example.org/a.png">
      <script>console.error("one"); throw Error("two")</script>"""
    (tmp_path / "a.html").write_text(html, "utf-8")
    with reading(chromium, "a.html", home=tmp_path) as visit:
        visit.page.wait_for_load_state("networkidle")
        found = " ".join(visit.problems)
    assert all(what in found for what in ("one", "two", "failed: file", "foreign: https"))


def test_axe_detects_a_missing_label(chromium: Browser, tmp_path: Path, axe: str) -> None:
    (tmp_path / "a.html").write_text("<html lang=en><title>a</title><input>", "utf-8")
    with reading(chromium, "a.html", home=tmp_path) as visit:
        assert [line for line in violations(visit, axe, {}) if line.startswith("label ")]
