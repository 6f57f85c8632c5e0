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
        heading, (able, need, *_) = page.h1, page.select("article table tbody tr")
        assert heading and heading.get_text().rstrip("#").endswith(chapter.title)
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


# ---- notebooks that do not fit ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("needs", "found"),
    [
        ({"a": "nothing", "b": "{doc}`the first <a>`"}, {"a": set(), "b": {"a"}}),
        ({"a": "{doc}`b`"}, r"a needs \['b'\], which has no table"),
        ({"a": "{doc}`notes`"}, r"a needs \['notes'\], which has no table"),
        ({"a": "{doc}`b`", "b": "{doc}`a`"}, "chapters need each other"),
    ],
)
def test_prerequisites_are_chapters(
    tmp_path: Path, needs: dict[str, str], found: dict[str, set[str]] | str
) -> None:
    """A notebook without a table is none."""
    able = "\n\n| **You will be able to** | read |\n"
    texts = {name: f"# T{able}| **You need** | {row} |\n" for name, row in needs.items()}
    for name, text in {"notes": "# Notes", **texts}.items():
        cells = json.dumps({"cells": [{"source": [text]}]})
        (tmp_path / f"{name}.ipynb").write_text(cells, "utf-8")
    paths = sorted(tmp_path.iterdir())
    if isinstance(found, str):
        with pytest.raises(ValueError, match=found):
            chapters.collect(paths)
    else:
        assert {name: c.needs for name, c in chapters.collect(paths).items()} == found
