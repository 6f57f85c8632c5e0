"""The sections that a chapter's head calls skippable are folded, and no others."""

from __future__ import annotations

import re
import sys
from typing import Any

import built
import pytest
from docutils import nodes
from docutils.core import publish_doctree

sys.path.insert(0, str(built.ROOT / "book" / "_ext"))

import further

CHAPTERS = sorted((built.ROOT / "book").glob("[0-9][0-9]_*.ipynb"))
PAGE = """
====== ===========================================
Time   30 minutes to read; skip *{title}*
====== ===========================================

First
=====
{long}

Later
=====
{short}

Part
----
More.
"""


def page(title: str) -> nodes.document:
    """Return a page of 32 or 33 minutes with a long and a short section."""
    text = PAGE.format(title=title, long="word\n" * 4_350, short="word\n" * 450)
    return publish_doctree(text, settings_overrides={"report_level": 5})


def section(document: nodes.document, title: str) -> nodes.section:
    return next(s for s in document.findall(nodes.section) if s[0].astext() == title)


def test_named_section_keeps_its_heading_and_takes_its_time() -> None:
    document = page("Later")
    further.measure(None, document)
    further.fold(None, document, "page")
    (box,) = document.findall(further.Further)
    assert box.parent[0].astext() == "Later"
    assert box.parent[1:] == [box]
    assert box.astext().endswith("More.")
    assert box["minutes"] == 3


def cell(*classes: str, lines: int = 12) -> nodes.container:
    """Return a cell with lines of code, empty lines between them, and an output."""
    code = nodes.literal_block("", "\n\n".join("x = 1" for _ in range(lines)))
    output = nodes.container("", nodes.paragraph("", "word " * 500), classes=["cell_output"])
    return nodes.container(
        "",
        nodes.container("", code, classes=["cell_input"]),
        output,
        classes=["cell", *classes],
    )


@pytest.mark.parametrize(
    ("part", "seconds"),
    [
        (nodes.paragraph("", "word " * 75), 30),
        (nodes.math_block("", "x = 1"), 60),
        (nodes.table("", nodes.paragraph("", "word " * 75)), 30),
        (cell(), 12 * 5 + 30),
        (cell("tag_hide-input"), 30),
        (cell("tag_hide-cell"), 0),
        (nodes.admonition("", nodes.paragraph("", "word"), classes=["dropdown"]), 0),
        (nodes.section("", nodes.title("", "Exercises"), nodes.paragraph("", "word " * 75)), 0),
    ],
)
def test_rule(part: nodes.Node, seconds: float) -> None:
    document = page("Part")
    before = further.seconds(document, further.AFTER)
    section(document, "Part").append(part)
    assert further.seconds(document, further.AFTER) - before == pytest.approx(seconds)


@pytest.mark.parametrize(("words", "said"), [(0, []), (100, []), (300, [(35, 30)])])
def test_a_row_that_is_far_off_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, words: int, said: list[tuple[float, float]]
) -> None:
    found: list[tuple[float, float]] = []
    monkeypatch.setattr(
        further.logger, "warning", lambda text, *minutes, **_: found.append(minutes)
    )
    document = page("Part")
    section(document, "First").append(nodes.paragraph("", "word " * words))
    further.measure(None, document)
    assert [(round(takes), row) for takes, row in found] == said


def test_unknown_title_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[Any] = []
    monkeypatch.setattr(further.logger, "warning", lambda *words, **_: said.append(words))
    document = page("Latter")
    further.fold(None, document, "page")
    assert said == [("no section %r to skip", "Latter")]
    assert not list(document.findall(further.Further))


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_page_folds_what_its_head_names(path: Any) -> None:
    soup = built.page(built.HTML / "book" / f"{path.stem}.html")
    row = next(row for row in soup.select("tr") if row.td and row.td.get_text() == "Time")
    boxes = soup.select("details.cfr-further")
    titles = [box.find_previous_sibling(["h2", "h3"]) for box in boxes]
    shown = [re.sub(r"^[\d.]+ |#$", "", title.get_text()) for title in titles]
    assert sorted(shown) == sorted(name.get_text() for name in row.select("em"))
    assert not any(box.has_attr("open") or box.select("div.exercise") for box in boxes)
