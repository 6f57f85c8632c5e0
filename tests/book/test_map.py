"""Tests of the chapter map on the first page, and of the tables it is drawn from."""

from __future__ import annotations

import json
import re
import sys
from itertools import pairwise
from pathlib import Path

import built
import pytest
from bs4 import BeautifulSoup, Tag

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
HTML = built.HTML / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
sys.path.insert(0, str(BOOK / "_ext"))

import chapter_map  # noqa: E402

CHAPTERS = chapter_map.collect(NOTEBOOKS)
GRAPH = {name: chapter.needs for name, chapter in CHAPTERS.items()}


def number(name: str) -> int:
    """Return the number of a chapter; appendices come last."""
    return int(name[:2]) if name[:2].isdigit() else 100


# ---- the tables ------------------------------------------------------------------------------


def test_map_has_every_notebook() -> None:
    assert sorted(CHAPTERS) == [path.stem for path in NOTEBOOKS]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_map_node_matches_the_chapter_table(path: Path) -> None:
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


# ---- the drawing -----------------------------------------------------------------------------


def test_arrows_are_the_transitive_reduction() -> None:
    """The arrows imply all prerequisites, and removing any arrow loses one."""
    arrows = chapter_map.reduced(GRAPH)
    for name in GRAPH:
        assert arrows[name] <= GRAPH[name]
        assert chapter_map.ancestors(arrows, name) == chapter_map.ancestors(GRAPH, name)
        for need in arrows[name]:
            fewer = {**arrows, name: arrows[name] - {need}}
            assert need not in chapter_map.ancestors(fewer, name)


def test_layers_put_pages_below_prerequisites() -> None:
    rows = chapter_map.layers(GRAPH)
    depth = {name: i for i, row in enumerate(rows) for name in row}
    assert sorted(depth) == sorted(GRAPH)
    for name, needs in GRAPH.items():
        assert depth[name] == 1 + max((depth[need] for need in needs), default=-1)


def test_arrangement_has_few_crossings() -> None:
    arrows = chapter_map.reduced(GRAPH)
    crossed, _ = chapter_map.cost(
        chapter_map.arranged(chapter_map.layers(GRAPH), arrows), arrows
    )
    assert crossed <= 2
    tangled = [["a", "b"], ["d", "c"]]
    straight = {"a": frozenset(), "b": frozenset(), "c": frozenset("a"), "d": frozenset("b")}
    assert chapter_map.cost(tangled, straight)[0] == 1
    found = chapter_map.arranged(tangled, straight)
    assert chapter_map.cost(found, straight)[0] == 0


def test_boxes_do_not_overlap() -> None:
    rows = chapter_map.layers(GRAPH)
    across = chapter_map.columns(rows)
    for row in rows:
        places = sorted(across[name] for name in row)
        assert all(b - a >= 1 for a, b in pairwise(places))
    assert chapter_map.ACROSS > chapter_map.WIDE and chapter_map.DOWN > chapter_map.HIGH


# ---- the built page --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def page() -> BeautifulSoup:
    return built.page(HTML / "index.html")


def test_map_links_every_chapter_by_title(page: BeautifulSoup) -> None:
    links = page.select("nav.cfr-map li > a")
    assert [link["href"] for link in links] == [f"{name}.html" for name in CHAPTERS]
    for link, chapter in zip(links, CHAPTERS.values(), strict=True):
        head = built.page(HTML / str(link["href"])).select_one("article h1")
        assert isinstance(head, Tag)
        title = head.get_text().rstrip("#").strip()
        assert " ".join(link.get_text(" ").split()) == re.sub(r"^(\d+)\. ", r"\1 ", title)
        assert link.get_text(" ").split()[0] == (chapter.label or chapter.title.split()[0])


def test_map_has_a_text_version(page: BeautifulSoup) -> None:
    for item, chapter in zip(page.select("nav.cfr-map li"), CHAPTERS.values(), strict=True):
        link, arrows = item.a, item.select("svg")
        assert link is not None
        about = page.find(id=str(link["aria-describedby"]))
        assert isinstance(about, Tag)
        assert about.get_text() == f"You will be able to {chapter.able}."
        needs = item.select_one(".cfr-map-needs")
        assert bool(needs) == bool(arrows) == bool(chapter.needs)
        if needs:
            named = [CHAPTERS[name].label or CHAPTERS[name].title for name in chapter.needs]
            assert sorted(needs.get_text().removeprefix("after ").split(", ")) == sorted(named)
    words = page.select(".cfr-map-words dd")
    assert [len(word.get_text()) for word in words] == [
        len(chapter.able) + 1 for chapter in CHAPTERS.values()
    ]


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
    assert chapter_map.collect([path]) == {}


def test_doc_links_with_custom_text_are_prerequisites(tmp_path: Path) -> None:
    paths = [
        notebook(tmp_path, "a", "nothing"),
        notebook(tmp_path, "b", "{doc}`the first <a>`"),
    ]
    found = chapter_map.collect(paths)
    assert found["b"].needs == {"a"}
    assert found["b"].able == "read this"


def test_unknown_prerequisite_raises(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"a needs \['b'\], which has no table"):
        chapter_map.collect([notebook(tmp_path, "a", "{doc}`b`")])


def test_circular_prerequisites_raise(tmp_path: Path) -> None:
    paths = [notebook(tmp_path, "a", "{doc}`b`"), notebook(tmp_path, "b", "{doc}`a`")]
    with pytest.raises(ValueError, match="chapters need each other"):
        chapter_map.collect(paths)
