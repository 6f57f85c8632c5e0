"""Tests of the PDF: order of pages, outline, page numbers and links."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Callable
from typing import Any

import built
import pdf
import pytest
from pypdf import PdfReader

Entry = tuple[int, str, int]  # depth, title, leaf
PRINTED = {
    *("index", "01_regret_matching", "02_games_with_hidden_cards", "13_koi_koi"),
    *("glossary", "notation", "references"),
}


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> PdfReader:
    """Return seven pages in one PDF: chapters, a page with a game, appendices."""
    assert {path.stem for path in pdf.pages()} >= PRINTED and built.paths()
    out = tmp_path_factory.mktemp("pdf") / "book.pdf"
    pdf.main([path for path in pdf.pages() if path.stem in PRINTED], out)
    return PdfReader(out)


def entries(book: PdfReader, outline: Any = None, depth: int = 0) -> list[Entry]:
    found: list[Entry] = []
    for item in book.outline if outline is None else outline:
        if isinstance(item, list):
            found += entries(book, item, depth + 1)
        else:
            leaf = book.get_destination_page_number(item)
            assert leaf is not None
            found.append((depth, str(item.title), leaf))
    return found


@pytest.fixture(scope="module")
def words(book: PdfReader) -> Callable[[int], str]:
    """Return a cached function from sheets to text; extraction takes a tenth of a second."""
    return functools.cache(lambda leaf: book.pages[leaf].extract_text())


def squeezed(text: str) -> str:
    return re.sub(r"\s+", "", unicodedata.normalize("NFKC", text))  # ﬁ is fi


def test_outline_follows_the_table_of_contents(book: PdfReader) -> None:
    found = entries(book)
    leaves = [leaf for _, _, leaf in found]
    assert leaves == sorted(leaves) and leaves[0] == 1  # behind the cover
    assert [depth for depth, _, _ in found].count(0) == len(PRINTED)
    assert sum(depth == 1 for depth, _, _ in found) > 30
    assert len(book.pages) > 40


def test_outline_entries_point_to_their_titles(
    book: PdfReader, words: Callable[[int], str]
) -> None:
    for _, title, leaf in entries(book):
        assert squeezed(title) in squeezed(words(leaf)), (title, leaf)


def test_sheets_are_numbered(book: PdfReader) -> None:
    for n in (2, 10, len(book.pages)):
        assert book.pages[n - 1].extract_text().rstrip().endswith(str(n))


def test_pdf_has_no_links_to_local_files(book: PdfReader) -> None:
    inside, outside = 0, 0
    for leaf in book.pages:
        for reference in leaf.get("/Annots", []):  # type: ignore[attr-defined]
            link = reference.get_object()
            uri = str(link.get("/A", {}).get("/URI", ""))
            assert not uri.startswith("file:"), uri
            inside += "/Dest" in link
            outside += bool(uri)
    assert inside > 40 and outside


def test_term_links_lead_into_the_glossary(book: PdfReader) -> None:
    first, last = [
        leaf for _, title, leaf in entries(book) if title in ("Glossary", "Notation")
    ]
    targets = [
        book.get_page_number(link["/Dest"][0].get_object())
        for leaf in book.pages[:first]
        for link in (note.get_object() for note in leaf.get("/Annots", []))  # type: ignore[attr-defined]
        if "/Dest" in link
    ]
    assert len({leaf for leaf in targets if leaf is not None and first <= leaf < last}) > 3


def test_pdf_shows_solutions_but_no_controls(
    book: PdfReader, words: Callable[[int], str]
) -> None:
    first, second = [leaf for depth, _, leaf in entries(book) if depth == 0][1:3]
    text = " ".join(words(leaf) for leaf in range(first, second))
    assert "Rock would have earned −1, paper 0 and scissors 1" in text.replace("\n", " ")
    assert "▶ play" not in text and "Show code cell" not in text
