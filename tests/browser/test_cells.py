"""Code cells of a page: they run there, with what they need, and can be changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from checks import faultless
from playwright.sync_api import Browser, Locator, Page, expect
from reader import PHONE, reading, serving, unfold, window
from test_start import KEPT

NAME = "04_vanilla_cfr"
RAN = re.compile(r"Ran in \d+\.\d s\.")
FIRST, TABLE, FIGURE = 2, 6, 9  # numbers of cells
PRINTED = "call -0.222222   fold -0.222222   -2/9 = -0.222222\n"


@pytest.fixture(scope="module")
def tab(chromium: Browser, served: str) -> Iterator[Page]:
    with window(chromium, PHONE) as page:
        page.on("pageerror", lambda error: pytest.fail(f"page error: {error}"))
        page.goto(f"{served}{NAME}.html")
        yield page


@pytest.fixture
def page(tab: Page) -> Page:
    """Return the page after a reload, with nothing typed and a new Python."""
    tab.evaluate("localStorage.clear()")
    tab.reload()
    lay_open(tab)
    return tab


def lay_open(page: Page) -> None:
    """Open the folds of sections and of code."""
    unfold(page)
    page.evaluate(
        "document.querySelectorAll('details').forEach((fold) => { fold.open = true; })"
    )


def cell(page: Page, n: int = FIRST) -> Locator:
    return page.locator(f'.cell[data-cell="{n}"]')


def press(page: Page, name: str, n: int = FIRST) -> None:
    cell(page, n).get_by_role("button", name=name).click()


def says(page: Page, words: str | re.Pattern[str], n: int = FIRST) -> None:
    expect(cell(page, n).get_by_role("status")).to_have_text(words)


def output(page: Page, n: int = FIRST) -> Locator:
    return cell(page, n).locator(".cell_output")


def shown(page: Page, n: int = FIRST) -> str:
    return output(page, n).inner_text().strip()


def write(page: Page, text: str, n: int = FIRST) -> None:
    """Replace the code of a cell by what is typed."""
    if not cell(page, n).locator(".cm-content").count():
        press(page, "Edit", n)
    cell(page, n).locator(".cm-content").focus()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(text)


def test_nothing_is_loaded_before_a_reader_asks(chromium: Browser, served: str) -> None:
    asked: list[str] = []
    with window(chromium) as page:
        page.add_init_script("delete Navigator.prototype.serviceWorker")  # it fetches all pages
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{served}{NAME}.html", wait_until="networkidle")
        assert [url for url in asked if "/cells.js" in url]
        assert not [
            url for url in asked if re.search("python_worker|/(python|cells|editor)/", url)
        ]


def test_page_from_a_folder_is_as_it_was(chromium: Browser) -> None:
    with reading(chromium, f"book/{NAME}.html") as visit:
        assert not visit.page.locator(".cfr-bar").count()
        assert not visit.problems


def test_cell_runs_with_what_it_needs_and_its_output_is_new(page: Page) -> None:
    stored = output(page, TABLE).inner_text()
    output(page, TABLE).evaluate("box => { box.dataset.seen = box.textContent; }")
    press(page, "Run", TABLE)
    says(page, RAN, TABLE)
    assert output(page, TABLE).inner_text() == stored
    assert output(page, TABLE).locator("table.cfr-table").count() == 1
    says(page, "", 4)  # it has run and shows what it showed
    press(page, "Run", TABLE)  # at once: what it needs has run
    says(page, RAN, TABLE)


def test_figures_are_in_the_colors_of_the_page(page: Page) -> None:
    press(page, "Run", FIGURE)
    says(page, RAN, FIGURE)
    figures = output(page, FIGURE).locator("figure.cfr-figure > svg[role=img]")
    expect(figures).to_have_count(1)
    ids = page.evaluate("[...document.querySelectorAll('svg [id]')].map(({ id }) => id)")
    assert len(ids) == len(set(ids)) > 10


def test_changed_cell_is_kept_and_put_back(page: Page) -> None:
    press(page, "Edit")
    expect(cell(page).locator(".cm-content")).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nif 1/2:\nprint('mine')")  # the editor indents; "/" opens no search
    page.keyboard.press("Control+Enter")
    says(page, RAN)
    assert shown(page) == f"{PRINTED}mine"
    page.reload()
    expect(cell(page)).to_have_class(re.compile("cfr-changed"))
    assert cell(page).locator("pre").first.inner_text().endswith("if 1/2:\n    print('mine')")
    assert shown(page) == PRINTED.strip()
    press(page, "Run")
    says(page, RAN)
    assert shown(page) == f"{PRINTED}mine"
    press(page, "Put back")
    expect(cell(page)).not_to_have_class(re.compile("cfr-changed"))
    assert shown(page) == PRINTED.strip()
    page.reload()
    expect(cell(page)).not_to_have_class(re.compile("cfr-changed"))


def test_cells_below_see_what_was_changed(page: Page) -> None:
    write(page, "game = cfr.games.KuhnPoker()\nuniform = None", 4)
    press(page, "Run", TABLE)
    says(page, "The cell ended with an error.", TABLE)
    press(page, "Put back", 4)
    press(page, "Run", TABLE)
    says(page, RAN, TABLE)


def test_new_names_reach_a_changed_cell(page: Page) -> None:
    write(page, "secret = 7\nprint(secret)")
    write(page, "print(secret + 1)", TABLE)
    press(page, "Run", TABLE)
    says(page, RAN, TABLE)
    assert shown(page, TABLE) == "8"


def test_two_tabs_keep_different_cells(page: Page) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    write(page, "print(1)")
    write(other, "print(2)", TABLE)
    expect(cell(other)).to_have_class(re.compile("cfr-changed"))
    page.reload()
    for n, text in ((FIRST, "print(1)"), (TABLE, "print(2)")):
        expect(cell(page, n).locator("pre").first).to_have_text(text)
    other.close()


def test_endless_loop_is_stopped(page: Page) -> None:
    write(page, "print('on my way')\nwhile True:\n    pass")
    press(page, "Run")
    expect(output(page)).to_contain_text("on my way")
    press(page, "Stop")
    says(page, "Stopped; what the cells defined is forgotten.")
    write(page, "print('again')")
    press(page, "Run")
    says(page, RAN)
    press(page, "Start over")
    says(page, "What ran is forgotten.")
    assert shown(page) == PRINTED.strip()


@pytest.mark.parametrize(
    "ruin", ["exit()", "raise KeyboardInterrupt", "import sys\nsys.stdout = None\n1 / 0"]
)
def test_no_ending_is_the_end(page: Page, ruin: str) -> None:
    write(page, ruin)
    press(page, "Run")
    says(page, "The cell ended with an error.")
    write(page, "print('again')")
    press(page, "Run")
    says(page, RAN)
    assert shown(page) == "again"


def test_error_names_the_readers_line(page: Page) -> None:
    write(page, "def f():\n    return 1 / 0\n\nf()")
    press(page, "Run")
    says(page, "The cell ended with an error.")
    text = output(page).inner_text()
    assert "Line 4" in text and "Line 2, in f" in text and "cells.py" not in text
    assert text.strip().endswith("ZeroDivisionError: division by zero")


def test_buttons_are_one_stop_and_escape_leaves_the_editor(page: Page) -> None:
    buttons = page.locator(".cfr-bar button:visible")
    buttons.first.focus()
    for key, k in (("ArrowDown", 1), ("ArrowDown", 2), ("End", -1), ("Home", 0)):
        page.keyboard.press("Shift")  # the group is arranged at Tab
        page.keyboard.press(key)
        expect(buttons.nth(k)).to_be_focused()
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.closest('.cfr-bar')")
    assert page.locator(".cfr-bar button[tabindex='0']:visible").count() == 1
    press(page, "Edit")
    expect(cell(page).locator(".cm-content")).to_be_focused()
    page.keyboard.press("Escape")
    expect(cell(page).get_by_role("button", name="Run")).to_be_focused()


def test_cells_fit_a_phone_and_are_accessible(page: Page, axe: str) -> None:
    write(page, f"print('{'wide ' * 40}')  # {'long ' * 40}")
    press(page, "Run")
    says(page, RAN)
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE[0]
    assert faultless(page, axe, f'.cell[data-cell="{FIRST}"]')


def test_cell_that_no_page_can_run_says_why(chromium: Browser, served: str) -> None:
    with window(chromium) as page:
        page.goto(f"{served}10_deep_cfr.html")
        lay_open(page)
        box = page.locator(".cell[data-elsewhere]").first
        box.get_by_role("button", name="in a notebook").click()
        expect(box.get_by_role("status")).to_contain_text(
            "Only a notebook can run this cell: it "
        )


def test_without_an_editor_there_is_a_plain_field(chromium: Browser, served: str) -> None:
    with window(chromium) as page:
        page.route("**/editor/*", lambda route: route.fulfill(status=404, body=""))
        page.goto(f"{served}{NAME}.html")
        press(page, "Edit")
        field = cell(page).locator("textarea")
        field.fill("print(3)")
        field.press("Shift+Enter")
        says(page, RAN)
        assert shown(page) == "3"


def test_copy_without_python_says_so(chromium: Browser) -> None:
    with window(chromium) as page, serving() as site:
        page.route("**/python/*", lambda route: route.fulfill(status=404, body=""))
        page.goto(f"{site}book/{NAME}.html")
        press(page, "Run")
        says(page, "This copy of the book has no Python. The notebook runs the cell.")


def test_page_read_once_runs_its_cells_without_a_network(chromium: Browser) -> None:
    with window(chromium) as page:
        with serving() as site:
            page.goto(f"{site}book/{NAME}.html")
            page.evaluate("caches.open('of another program')")
            page.evaluate(KEPT)
            page.reload()  # now the service worker answers
            lay_open(page)
            press(page, "Run")
            says(page, RAN)
        page.reload()
        lay_open(page)
        press(page, "Run")
        says(page, RAN)
        assert output(page).inner_text().strip() == PRINTED.strip()
        fonts = page.evaluate("[...document.fonts].map((font) => font.status)")
        assert "loaded" in fonts and "error" not in fonts
        assert "of another program" in page.evaluate("caches.keys()")
        page.goto(site)  # the site's root
        expect(page.locator("h1")).to_be_visible()
