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
    """Return a page whose second section has a tenth of its words."""
    text = PAGE.format(title=title, long="word " * 90, short="word " * 9)
    return publish_doctree(text, settings_overrides={"report_level": 5})


def test_named_section_keeps_its_heading_and_takes_its_share_of_the_time() -> None:
    document = page("Later")
    further.fold(None, document, "page")
    (box,) = document.findall(further.Further)
    assert box.parent[0].astext() == "Later"
    assert box.parent[1:] == [box]
    assert box.astext().endswith("More.")
    assert box["minutes"] == 3


def test_output_of_a_cell_takes_time() -> None:
    document = page("Part")
    part = next(s for s in document.findall(nodes.section) if s[0].astext() == "Part")
    part += nodes.container(classes=["cell_output"])
    further.fold(None, document, "page")
    (box,) = document.findall(further.Further)
    assert box["minutes"] == round(30 * 76 / (6 + 90 + 9 + 1 + 75))


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
