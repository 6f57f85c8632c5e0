"""Tests of the EPUB: valid XML, links that lead somewhere, nothing that needs scripts."""

from __future__ import annotations

import zipfile
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import built
import epub
import pdf
import pytest

XHTML = "{http://www.w3.org/1999/xhtml}"
MATH = "{http://www.w3.org/1998/Math/MathML}math"
BOUND = ("01_regret_matching", "04_vanilla_cfr", "glossary", "references")


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Element]:
    """Return four pages and the table of contents as parsed files, by name."""
    assert built.paths()
    out = tmp_path_factory.mktemp("epub") / "book.epub"
    epub.main([path for path in pdf.pages() if path.stem in BOUND], out)
    with zipfile.ZipFile(out) as files:
        assert files.namelist()[0] == "mimetype"
        assert files.read("mimetype") == b"application/epub+zip"
        names = [name for name in files.namelist() if name.endswith((".xhtml", ".opf"))]
        return {Path(name).name: ElementTree.fromstring(files.read(name)) for name in names}


def test_pages_are_listed_in_order(book: dict[str, Element]) -> None:
    opf = book["content.opf"]
    listed = {item.get("id"): item.get("href") for item in opf.findall(".//{*}item")}
    spine = [listed[each.get("idref")] for each in opf.findall(".//{*}itemref")]
    assert spine == [f"{name}.xhtml" for name in BOUND]
    assert book.keys() - {"content.opf"} <= {*listed.values()}


def test_links_lead_somewhere(book: dict[str, Element]) -> None:
    pages = {name: tree for name, tree in book.items() if name != "content.opf"}
    ids = {
        name: [e.get("id") for e in tree.iter() if e.get("id")] for name, tree in pages.items()
    }
    inside = 0
    for name, tree in pages.items():
        assert len(ids[name]) == len({*ids[name]}), name
        for link in tree.iter(f"{XHTML}a"):
            page, _, anchor = link.get("href", "").partition("#")
            if page.startswith("http"):
                continue
            inside += 1
            assert not anchor or anchor in ids[page or name], (name, link.get("href"))
    assert inside > 100


def test_formulas_are_mathml_and_nothing_needs_scripts(book: dict[str, Element]) -> None:
    chapter = book["04_vanilla_cfr.xhtml"]
    assert len(list(chapter.iter(MATH))) > 50
    for tree in book.values():
        tags = {e.tag.rpartition("}")[2] for e in tree.iter()}
        assert not tags & {"script", "button", "input", "form", "mjx-container"}
