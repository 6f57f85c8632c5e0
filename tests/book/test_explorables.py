"""The explorables of the built pages show what cfrlib draws under a kernel."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from explorables import PAGES, decode, explorables

ROOT = Path(__file__).parents[2]

FIGURE = re.compile(r'<figure class="cfr-figure cfr-explore">.*?</figure>', re.S)


def places(sizes: list[int]) -> list[tuple[int, ...]]:
    """Return about ten places of a grid, the corners among them."""
    every = list(itertools.product(*map(range, sizes)))
    return every[:: max(1, len(every) // 8)] + every[-1:]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_page_and_kernel_show_the_same(page: Path) -> None:
    built = ROOT / "_build" / "html" / "book" / f"{page.stem}.html"
    figures = FIGURE.findall(built.read_text("utf-8"))
    found = explorables(page)
    assert found and len(figures) == len(found), "each explorable has both faces"
    for html, each in zip(figures, found, strict=True):
        controls, stage = decode(html)
        live = each.widget()
        names, sizes = list(each.controls), [len(c.positions) for c in each.controls.values()]
        assert sizes == [len(c.get("counts") or c["texts"]) for c in controls]
        for at in places(sizes):
            for name, k in zip(names, at, strict=True):
                control = each.controls[name]
                control.set(live.parts[name], control.positions[k])
            shown = f'<div class="cfr-stage">{stage(*at)}</div>'
            assert live.stage.value == shown, f"{each} at {at}"
