"""Tests of the bibliography: entries and citations match, and each entry was checked."""

from __future__ import annotations

import re
from pathlib import Path

import built
import pytest
from pybtex.database import parse_file, parse_string

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
PAGE = built.HTML / "book" / "references.html"
CITE = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")

import checked  # noqa: E402
import citations  # noqa: E402

ENTRIES = parse_file(str(BOOK / "references.bib")).entries


def cited() -> dict[str, set[str]]:
    """Return the cited keys by page."""
    pages = [*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")]
    found = {
        page.stem: CITE.findall(citations.as_roles(page.read_text("utf-8"))) for page in pages
    }
    return {
        page: {key.strip() for keys in all_ for key in keys.split(",")}
        for page, all_ in found.items()
    }


def test_every_citation_has_an_entry() -> None:
    missing = {page: keys - set(ENTRIES) for page, keys in cited().items() if keys}
    assert not {page: keys for page, keys in missing.items() if keys}


def test_every_bibliography_entry_is_cited() -> None:
    """Citations on the page of references itself do not count."""
    used = set().union(*(keys for page, keys in cited().items() if page != "references"))
    assert not set(ENTRIES) - used


@pytest.mark.parametrize("key", ENTRIES)
def test_bibliography_entry_has_required_fields(key: str) -> None:
    entry = ENTRIES[key]
    assert entry.persons["author"]
    assert entry.fields["title"] and re.fullmatch(r"\d{4}|n\.d\.", entry.fields["year"])
    places = {"journal", "booktitle", "publisher", "howpublished", "note"}
    assert places & set(entry.fields), "where was it published?"
    assert entry.fields["checked"] in checked.KINDS
    assert entry.fields.get("unchecked", "the ").startswith("the ")


def test_bibliography_has_no_duplicates() -> None:
    titles = [re.sub(r"\W", "", entry.fields["title"]).lower() for entry in ENTRIES.values()]
    assert len(titles) == len(set(titles))


def test_page_lists_every_entry_and_its_check() -> None:
    page = built.page(PAGE)
    assert len(page.select("div.citation")) == len(ENTRIES)
    section = page.select_one("#how-this-list-was-checked")
    assert section is not None
    assert len(section.select("li a[href^='#']")) == len(ENTRIES)
    text = " ".join(section.get_text().split())
    doubts = [entry.fields.get("unchecked") for entry in ENTRIES.values()]
    for doubt in filter(None, doubts):
        assert f"(not {doubt})" in text


# ---- the rule can fail -----------------------------------------------------------------------


@pytest.mark.parametrize("field", ["", "checked = {by heart},"])
def test_unknown_kind_of_check_raises(field: str) -> None:
    data = parse_string(f"@misc{{key, title = {{T}}, {field} }}", "bibtex")
    with pytest.raises(ValueError, match="key is checked against"):
        checked.by_kind(data)


def test_unchecked_parts_are_listed() -> None:
    entry = "@misc{key, title = {T}, checked = {arXiv}, unchecked = {the pages}}"
    line = "- **arXiv**, the record there: {cite:t}`key` (not the pages)."
    assert checked.lines(parse_string(entry, "bibtex")) == [line]
