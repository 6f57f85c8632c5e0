"""The page in Japanese says what the English one computes."""

from __future__ import annotations

import re
from pathlib import Path

import built
import nbformat
from numerals import Pool, unproved

from koikoi.cards import JAPANESE, YAKU

BOOK = Path(__file__).parents[2] / "book"
TEXT = (BOOK / "koikoi_for_players_ja.md").read_text("utf-8")
ENGLISH = nbformat.read(BOOK / "koikoi_for_players.ipynb", as_version=4)


def printed() -> Pool:
    """Return the numbers in the outputs of the English page."""
    pool = Pool()
    for cell in ENGLISH.cells:
        if cell.cell_type == "code":
            pool.add_outputs(cell)
    return pool


def test_every_number_is_printed_on_the_english_page() -> None:
    assert [number.context for number in unproved(TEXT, printed())] == []


def test_a_wrong_number_is_found() -> None:
    (wrong,) = unproved(TEXT + "\n\n親の得は9.87点。", printed())
    assert wrong.text == "9.87"


def test_yaku_have_the_names_of_the_package() -> None:
    names = [JAPANESE[yaku.name][0] for yaku in YAKU]
    for row in re.findall(r"^\| (\S+) \| \d+% \|", TEXT, re.MULTILINE):
        assert row in names
    assert len(re.findall(r"^\| (\S+) \| \d+% \|", TEXT, re.MULTILINE)) > 5


def test_both_pages_link_to_each_other() -> None:
    assert "{doc}`koikoi_for_players`" in TEXT or "<koikoi_for_players>`" in TEXT
    english = "".join(cell.source for cell in ENGLISH.cells)
    assert "koikoi_for_players_ja" in english


def test_article_is_marked_as_japanese() -> None:
    page = built.page(built.HTML / "book" / "koikoi_for_players_ja.html")
    section = page.select_one('article section[lang="ja"]')
    assert section is not None and section.h1 is not None
