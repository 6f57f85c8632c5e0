"""Tests of the list of chapters on the start page, and of the tables it is made from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import built
import pytest
from bs4 import Tag

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
HTML = built.HTML / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))

import chapters  # noqa: E402

CHAPTERS = chapters.collect(NOTEBOOKS)
GRAPH = {name: chapter.needs for name, chapter in CHAPTERS.items()}


def number(name: str) -> int:
    """Return the number of a chapter; appendices come last."""
    return int(name[:2]) if name[:2].isdigit() else 100


# ---- the tables ------------------------------------------------------------------------------


def test_every_notebook_has_a_table() -> None:
    assert sorted(CHAPTERS) == [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_chapter_matches_its_table(path: Path) -> None:
    """Parse the table again, without the extension's patterns."""
    lines = "".join(json.loads(path.read_text("utf-8"))["cells"][0]["source"]).splitlines()
    chapter = CHAPTERS[path.stem]
    assert lines[0] == f"# {chapter.title}"
    able, need = (
        next(line for line in lines if line.startswith(f"| **{row}** |")).split(" | ", 1)[1]
        for row in ("You will be able to", "You need")
    )
    assert able.removesuffix(" |").replace("*", "") == chapter.able
    assert {part.split("`")[0] for part in need.split("{doc}`")[1:]} == chapter.needs


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


def notebook(folder: Path, name: str, needs: str) -> Path:
    source = "# A title\n\nA promise.\n\n| | |\n|---|---|\n"
    source += f"| **You will be able to** | read *this* |\n| **You need** | {needs} |\n"
    path = folder / f"{name}.ipynb"
    path.write_text(json.dumps({"cells": [{"source": [source]}]}), "utf-8")
    return path


def test_notebook_without_table_is_not_a_chapter(tmp_path: Path) -> None:
    path = tmp_path / "notes.ipynb"
    path.write_text(json.dumps({"cells": [{"source": ["# Notes"]}]}), "utf-8")
    assert chapters.collect([path]) == {}


def test_doc_links_with_custom_text_are_prerequisites(tmp_path: Path) -> None:
    paths = [
        notebook(tmp_path, "a", "nothing"),
        notebook(tmp_path, "b", "{doc}`the first <a>`"),
    ]
    found = chapters.collect(paths)
    assert found["b"].needs == {"a"}
    assert found["b"].able == "read this"


def test_unknown_prerequisite_raises(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a needs \['b'\], which has no table"):
        chapters.collect([notebook(tmp_path, "a", "{doc}`b`")])


def test_circular_prerequisites_raise(tmp_path: Path) -> None:
    paths = [notebook(tmp_path, "a", "{doc}`b`"), notebook(tmp_path, "b", "{doc}`a`")]
    with pytest.raises(ValueError, match="chapters need each other"):
        chapters.collect(paths)
