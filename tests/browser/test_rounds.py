"""The ten rounds at the head of chapter 1, played and checked against the rules."""

from __future__ import annotations

import numpy as np
import pytest
from checks import check, faultless
from playwright.sync_api import Browser, Locator, expect
from reader import PHONE, Visit, reading

import cfrlib as cfr

PAGE = "book/01_regret_matching.html"
NAMES = ("rock", "paper", "scissors")
PAYOFF = cfr.games.RockPaperScissors().row_payoffs
PAUSE = 320  # milliseconds: a second click within 300 counts as part of the first


def rounds(visit: Visit) -> Locator:
    figure = visit.page.locator("figure.cfr-rounds[data-ready]")
    figure.scroll_into_view_if_needed()
    return figure


def choose(visit: Visit, figure: Locator, name: str) -> None:
    figure.get_by_role("button", name=name, exact=True).click()
    visit.page.wait_for_timeout(PAUSE)


def table(figure: Locator) -> list[list[str]]:
    return [row.locator("td").all_inner_texts() for row in figure.locator("tbody tr").all()]


def numbers(texts: list[str]) -> list[int]:
    return [int(text.replace("−", "-")) for text in texts]


@pytest.mark.parametrize("phone", [False, True])
def test_the_table_is_what_the_rules_say(chromium: Browser, axe: str, phone: bool) -> None:
    size = {"size": PHONE, "dark": True} if phone else {}
    with reading(chromium, PAGE, **size) as visit:
        figure = rounds(visit)
        for k in range(10):
            choose(visit, figure, NAMES[k % 3])
        earned, regrets = 0, np.zeros(3)
        for k, (mine, theirs, paid, *regret) in enumerate(table(figure)):
            assert mine == NAMES[k % 3] and theirs in NAMES
            a, b = NAMES.index(mine), NAMES.index(theirs)
            assert numbers([paid, *regret]) == [PAYOFF[a, b], *(PAYOFF[:, b] - PAYOFF[a, b])]
            earned += PAYOFF[a, b]
            regrets += PAYOFF[:, b] - PAYOFF[a, b]
        last = figure.locator("tfoot td").all_inner_texts()
        assert numbers(last[2:]) == [earned, *regrets]
        expect(figure.locator(".cfr-outcome")).to_contain_text("in 10 rounds")
        assert not check(visit, "sideways()")
        assert faultless(visit.page, axe, "figure.cfr-rounds")
        choose(visit, figure, "play 10 more")
        assert {text for row in table(figure) for text in row} == {""}
        assert visit.problems == []


def test_the_other_learns_by_regret_matching(chromium: Browser) -> None:
    """Where one sum is positive, the next action is certain, and not a moment earlier."""
    with reading(chromium, PAGE) as visit:
        figure, certain = rounds(visit), 0
        for _ in range(3):
            other = np.zeros(3)
            for k in range(10):
                choose(visit, figure, "rock")
                b = NAMES.index(table(figure)[k][1])
                assert not other.max() > 0 or other[b] > 0
                certain += other.max() > 0
                other += PAYOFF[0, b] - PAYOFF[0]
            choose(visit, figure, "play 10 more")
        assert certain > 10


def test_a_double_click_plays_one_round(chromium: Browser) -> None:
    with reading(chromium, PAGE) as visit:
        figure = rounds(visit)
        figure.get_by_role("button", name="paper", exact=True).dblclick()
        visit.page.wait_for_timeout(PAUSE)
        assert [row[0] for row in table(figure)] == ["paper"] + [""] * 9


def test_without_scripts_the_table_is_blank_and_has_no_buttons(chromium: Browser) -> None:
    with reading(chromium, PAGE, scripts=False) as visit:
        figure = visit.page.locator("figure.cfr-rounds")
        assert figure.locator("tbody tr").count() == 10
        expect(figure.locator(".cfr-controls")).to_be_hidden()


def test_a_keyboard_plays_and_keeps_the_focus(chromium: Browser) -> None:
    with reading(chromium, PAGE) as visit:
        figure = rounds(visit)
        figure.get_by_role("button", name="scissors", exact=True).focus()
        for _ in range(10):
            visit.page.keyboard.press("Enter")
            visit.page.wait_for_timeout(PAUSE)
        assert table(figure)[9][0] == "scissors"
        again = figure.get_by_role("button", name="play 10 more")
        expect(again).to_be_focused()
        again.press("Enter")
        expect(figure.get_by_role("button", name="rock", exact=True)).to_be_focused()
