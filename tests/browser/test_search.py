"""Searching: what comes first, and that it needs no mouse and no network."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from reader import PHONE, Visit, reading

# What students type, and the page or place that must come first
FIRST = {
    "what is regret": "01_regret_matching.html",
    "cfr vs cfr+": "05_cfr_plus.html",
    "average strategy why": "glossary.html#term-average-strategy",
    "linear cfr": "glossary.html#term-linear-CFR",
    "no regret learning": "01_regret_matching.html",
    "MCCFR": "07_monte_carlo_cfr.html",
    "exploitability formula": "03_equilibrium.html",
    "discounted cfr": "06_discounting_and_prediction.html",
    "how to install": "troubleshooting.html",
    "deep cfr pytorch": "10_deep_cfr.html",
    "koi koi rules": "13_koi_koi.html",
    "nash equilibria": "03_equilibrium.html",
    "こいこい": "koikoi_for_players_ja.html",
    "反実仮想": "glossary.html#term-counterfactual",
    "NashConv": "03_equilibrium.html",
    "best responses": "03_equilibrium.html",
    "what is an infoset": "02_games_with_hidden_cards.html",
    "write my own game": "your_own_game.html",
    "cfr.solve": "api_solving.html#cfrlib.solve",
    "who invented cfr": "history.html",
}


@pytest.fixture(scope="module")
def visit(chromium: Browser) -> Iterator[Visit]:
    with reading(chromium, "search.html", size=PHONE) as visit:
        yield visit


def ask(page: Page, typed: str) -> None:
    """Type a query on the page of the search, and wait for the results."""
    told = page.locator(".bd-search-container .cfr-found")
    page.fill(".bd-search-container input", "")
    expect(told).to_be_empty()
    page.fill(".bd-search-container input", typed)
    expect(told).not_to_be_empty()


@pytest.mark.parametrize(("typed", "place"), FIRST.items())
def test_best_place_comes_first(visit: Visit, typed: str, place: str) -> None:
    ask(visit.page, typed)
    links = visit.page.locator(".bd-search-container .cfr-results a")
    found = links.evaluate_all("all => all.map((a) => decodeURI(a.href).split('/').at(-1))")
    assert found[0].startswith(place), found[:4]
    assert not visit.problems


def test_quotes_are_prose(visit: Visit) -> None:
    quotes = []
    for typed in ("regret", "strategy", "import numpy", "JavaScript formulas"):
        ask(visit.page, typed)
        last = visit.page.locator(".bd-search-container .cfr-results p").last
        expect(last).not_to_be_empty()
        quotes += visit.page.locator(".cfr-results p").all_inner_texts()
    assert len(quotes) > 30
    noise = re.compile(r"Without JavaScript|\\[a-z(\[]|import numpy as|Show the code|¶")
    assert not [quote for quote in quotes if noise.search(quote)]


def test_query_without_a_place_says_so(visit: Visit) -> None:
    ask(visit.page, "xyzzy")
    told = visit.page.locator(".bd-search-container .cfr-found")
    expect(told).to_contain_text("Nothing was found")
    expect(told).to_have_attribute("role", "status")
    expect(visit.page.locator(".bd-search-container .cfr-results li")).to_have_count(0)


def test_dialog_works_by_keyboard_from_a_folder(chromium: Browser) -> None:
    with reading(chromium, "book/index.html") as visit:
        page, links = visit.page, visit.page.locator("#pst-search-dialog .cfr-results a")
        assert not [url for url in visit.asked if "/search/" in url]  # before anyone searches
        page.keyboard.press("Control+k")
        page.keyboard.type("alternating updates")
        expect(page.locator("#pst-search-dialog [role=status]")).to_contain_text("best first")
        page.keyboard.press("ArrowDown")
        expect(links.nth(0)).to_be_focused()
        page.keyboard.press("ArrowDown")
        expect(links.nth(1)).to_be_focused()
        page.keyboard.press("ArrowUp")
        page.keyboard.press("ArrowUp")
        expect(page.locator("#pst-search-dialog input")).to_be_focused()
        page.keyboard.press("ArrowDown")
        page.keyboard.press("Enter")
        page.wait_for_url("**/book/glossary.html#term-alternating-updates")
        assert not visit.problems


def test_enter_leads_to_all_results(chromium: Browser) -> None:
    with reading(chromium, "book/index.html") as visit:
        page = visit.page
        page.keyboard.press("Control+k")
        page.keyboard.type("alternating updates")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=alternating*")
        page.locator(".bd-search-container .cfr-results a").first.click()
        page.wait_for_url("**/book/*.html*")
        assert not visit.problems
