"""Questions about a page that is open: those of checks.js, and axe-core."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page
from reader import Visit

CHECKS = (Path(__file__).parent / "checks.js").read_text("utf-8")
# `preload` would fetch the style sheets, which a folder does not give; it serves only the rule
# that a page must not insist on portrait or landscape. In place of axe-core's two rules about
# colour, which take a second a page, `lowContrast` and `bareLinks` ask for more in both themes:
# words in drawings count, large letters may not have less, and links need an underline.
COLOR = {name: {"enabled": False} for name in ("color-contrast", "link-in-text-block")}
AXE = "options => axe.run(document, {preload: false, resultTypes: ['violations'], ...options})"


def check(visit: Visit, what: str) -> list[str]:
    """Ask one question of checks.js about a page that lies open."""
    visit.page.evaluate(f"{CHECKS} checks.unfold()")
    return visit.page.evaluate(f"checks.{what}")


def violations(visit: Visit, axe: str, options: dict[str, object]) -> list[str]:
    """Return what axe-core calls serious or critical on a page whose folds are open."""
    check(visit, "unfold()")
    visit.page.evaluate(axe)
    found = visit.page.evaluate(AXE, options)["violations"]
    return [
        f"{rule['id']} ({rule['impact']}): {node['target']} {node['html'][:200]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
        for node in rule["nodes"]
    ]


def faultless(page: Page, axe: str, part: str) -> bool:
    """Return whether axe-core finds nothing at all to say against a part of a page."""
    page.evaluate(axe)
    found = page.evaluate("part => axe.run(part, {preload: false})", part)
    return not found["violations"] and len(found["passes"]) > 5
