"""Results are veiled until their question is answered."""

from __future__ import annotations

from playwright.sync_api import Browser, expect
from reader import reading

PAGE = "book/01_regret_matching.html"
VEILED = """() => [...document.querySelectorAll('.cfr-veiled')].map((each) =>
    [each.inert, getComputedStyle(each).filter !== 'none', each.textContent.trim() !== ''])"""


def test_a_choice_shows_the_result_of_its_question_only(chromium: Browser) -> None:
    with reading(chromium, PAGE, folded=True) as visit:
        page = visit.page
        questions = page.locator(".predict")
        count = questions.count()
        buttons = page.locator(".cfr-reveal")
        assert count == buttons.count() == 3
        before = page.evaluate(VEILED)
        assert len(before) > count and all(all(each) for each in before)
        questions.nth(0).locator("summary").nth(1).click()
        expect(buttons).to_have_count(count - 1)
        after = page.evaluate(VEILED)
        assert 0 < len(after) < len(before)
        buttons.first.press("Enter")  # "just show me", by the keyboard
        expect(buttons).to_have_count(count - 2)
        assert len(page.evaluate(VEILED)) < len(after)
        page.reload()  # what was shown stays so, in this tab
        expect(buttons).to_have_count(count - 2)
        page.emulate_media(media="print")
        assert not any(blurred for _, blurred, _ in page.evaluate(VEILED))
        assert not visit.problems


def test_figures_that_move_are_not_veiled(chromium: Browser) -> None:
    with reading(chromium, PAGE, folded=True) as visit:
        assert visit.page.locator(".cfr-veiled .cfr-explore").count() == 0


def test_nothing_is_veiled_without_scripts(chromium: Browser) -> None:
    with reading(chromium, PAGE, scripts=False) as visit:
        assert visit.page.locator(".predict").count() == 3
        assert visit.page.locator(".cfr-veiled, .cfr-reveal").count() == 0
