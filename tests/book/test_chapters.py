"""Tests of the list of chapters on the start page, and of the tables it is made from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import built
import chapters
import pytest
from bs4 import Tag

HTML = built.HTML / "book"
NOTEBOOKS = sorted((built.ROOT / "book").glob("*.ipynb"))

CHAPTERS = chapters.collect(NOTEBOOKS)
GRAPH = {name: chapter.needs for name, chapter in CHAPTERS.items()}


def number(name: str) -> int:
    """Return the number of a chapter; appendices come last."""
    return int(name[:2]) if name[:2].isdigit() else 100


# ---- the tables ------------------------------------------------------------------------------


def test_chapters_match_the_tables_on_their_pages() -> None:
    assert sorted(CHAPTERS) == [path.stem for path in NOTEBOOKS]
    for name, chapter in CHAPTERS.items():
        page = built.page(HTML / f"{name}.html")
        able, need = page.select("article table tbody tr")[:2]
        assert able.get_text().strip() == f"You will be able to\n{chapter.able}".replace(
            "'", "’"
        )
        links = [str(link["href"]) for link in need.select("a")]
        assert {link.removesuffix(".html") for link in links} == chapter.needs


def test_prerequisites_are_earlier_chapters() -> None:
    late = [(name, n) for name in GRAPH for n in GRAPH[name] if number(n) >= number(name)]
    assert not late
    assert [name for name in GRAPH if not GRAPH[name]] == ["01_regret_matching"]


# ---- the built page --------------------------------------------------------------------------


def test_list_has_every_chapter_once() -> None:
    page = built.page(HTML / "index.html")
    items = page.select("ol.cfr-chapters li")
    numbered = [chapter for chapter in CHAPTERS.values() if chapter.label]
    assert [item.a["href"] for item in items if item.a] == [f"{c.name}.html" for c in numbered]
    article = page.select_one("article")
    assert isinstance(article, Tag)
    listed = [str(a["href"]) for a in article.select("ol.cfr-chapters a, ul a")]
    assert len(listed) == len({*listed})
    for item, chapter in zip(items, numbered, strict=True):
        head = built.page(HTML / f"{chapter.name}.html").select_one("article h1")
        link, takes = item.a, item.small
        assert isinstance(head, Tag) and link and takes
        title = head.get_text().rstrip("#").strip()
        assert " ".join(link.get_text(" ").split()) == re.sub(r"^(\d+)\. ", r"\1 ", title)
        minutes, *after = takes.get_text().split(", after ")
        assert minutes == f"{chapter.minutes} min" and chapter.minutes > 10
        named = {CHAPTERS[name].label or CHAPTERS[name].title for name in chapter.needs}
        assert {*", ".join(after).split(", ")} - {""} == named


# ---- the extension's errors ------------------------------------------------------------------


def notebook(folder: Path, name: str, *rows: str) -> Path:
    text = "\n".join(["# A title\n\nA promise.\n\n| | |\n|---|---|", *rows])
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps({"cells": [{"source": [text]}]}), "utf-8")
    return path


ABLE = "| **You will be able to** | read *this* |"


def test_links_with_other_words_are_prerequisites(tmp_path: Path) -> None:
    """A notebook without a table is no chapter."""
    needs = {"a": "nothing", "b": "{doc}`the first <a>`"}
    paths = [notebook(tmp_path, k, ABLE, f"| **You need** | {needs[k]} |") for k in needs]
    found = chapters.collect([notebook(tmp_path, "notes"), *paths])
    assert {name: (c.title, c.able, c.needs) for name, c in found.items()} == {
        "a": ("A title", "read this", set()),
        "b": ("A title", "read this", {"a"}),
    }


@pytest.mark.parametrize(
    ("needs", "error"),
    [
        ({"a": "b"}, r"a needs \['b'\], which has no table"),
        ({"a": "b", "b": "a"}, "chapters need each other"),
    ],
)
def test_impossible_prerequisites_raise(
    tmp_path: Path, needs: dict[str, str], error: str
) -> None:
    rows = {name: f"| **You need** | {{doc}}`{needs[name]}` |" for name in needs}
    with pytest.raises(ValueError, match=error):
        chapters.collect([notebook(tmp_path, name, ABLE, rows[name]) for name in rows])
