"""One visit of every page, the only browser test of `make test`.

A page is opened from its folder, offline. No script fails, axe-core finds nothing serious,
nothing leaves a wide screen or a phone's, and every explorable follows its first control.
"""

from __future__ import annotations

from checks import COLOR, check, violations
from playwright.sync_api import Browser, Locator
from reader import PHONE, reading


def move(figure: Locator) -> None:
    """Move the first control of an explorable to its other end, or one step on."""
    control = figure.locator(".cfr-control").first
    slider, choice = control.locator("input[type=range]"), control.locator("select")
    if slider.count():
        at, last = slider.first.input_value(), slider.first.get_attribute("max")
        slider.first.press("Home" if at == last else "End")
    elif choice.count():
        choice.select_option(index=1)
    else:
        control.locator("button:not(:disabled)").last.click()


def test_visit(chromium: Browser, name: str, axe: str) -> None:
    with reading(chromium, name) as visit:
        assert not check(visit, "sideways()")
        assert not violations(visit, axe, {"rules": COLOR})
        for figure in visit.page.locator("figure.cfr-explore").all():
            stage = figure.locator(".cfr-stage")
            before = stage.inner_html()
            move(figure)
            assert stage.inner_html() != before
        visit.resize(PHONE)
        assert not check(visit, "sideways()")
        assert not visit.problems
