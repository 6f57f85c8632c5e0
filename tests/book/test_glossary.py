"""Tests of the glossary and the table of symbols against the chapters."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import built
import pytest
from bs4 import BeautifulSoup, Tag
from prose import directives, strip_fences

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
CHAPTERS = sorted(BOOK.glob("*.ipynb"))
# the sections of the study notes that define a term
NOTES = (
    *(f"2.{n}" for n in range(1, 27)),
    *("3", "4.1", "4.2", "4.3", "4.4", "4.5", "5", "6", "6.1", "6.2", "6.3", "6.4", "6.5"),
    *("6.6", "6.8", "6.9", "7", "8", "9", "10.2"),
)
KANA = re.compile(r"[\u3041-\u30ff]")
HAN = re.compile(r"[\u4e00-\u9fff]")
COLOR = re.compile(r"\\color\{#\w{6}\}\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}")


@dataclass(frozen=True)
class Entry:
    english: str
    japanese: str
    chinese: str
    definition: str
    source: str  # the chapter, and the section of the notes

    @property
    def chapters(self) -> list[str]:
        return re.findall(r"\{doc\}`(\w+)`", self.source)


def read(text: str) -> list[Entry]:
    """Return the entries of a page, in order; fail if an entry has another form."""
    (block,) = (block for block in directives(text) if block.kind == "glossary")
    found = []
    for part in re.split(r"\n\n(?=\S)", "\n".join(block.body).strip()):
        form = re.fullmatch(r"(.+)\n(.+) : 日本語\n(.+) : 中文\n  (\S.*)\n\n  (\S.*)", part)
        assert form, f"not an entry: {part}"
        found.append(Entry(re.sub(r" : \w$", "", form[1]), *form.groups()[1:]))
    return found


ENTRIES = read((BOOK / "glossary.md").read_text("utf-8"))


@cache
def markdown(path: Path) -> str:
    """Return the Markdown of a page, without its code cells."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        return "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
    return text


def linked(text: str) -> list[str]:
    """Return the terms that a page links, in order."""
    return [re.sub(r".*<(.*)>", r"\1", role) for role in re.findall(r"\{term\}`([^`]+)`", text)]


def symbols(text: str) -> list[tuple[str, str]]:
    """Return (symbol, chapter) for a table whose last column links a chapter."""
    found = []
    for line in text.split("\n"):
        row = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        chapter = re.fullmatch(r"\{doc\}`\d+ <(\w+)>`", row[-1]) if row else None
        if chapter:
            formulas = re.findall(r"\$([^$]+)\$", row[0].replace(r"\|", "|"))
            found += [(symbol, chapter[1]) for symbol in formulas or row[0].split(", ")]
    return found


def plain(formula: str) -> str:
    """Remove color and space from a formula."""
    formula = re.sub(r"\{" + COLOR.pattern + r"\}", r"\1", formula)
    return re.sub(r"\s+|\\[,;]", "", COLOR.sub(r"\1", formula))


def writes(text: str, symbol: str) -> bool:
    """Return whether a text has a symbol, in a formula or, if a Greek letter, in prose."""
    if not symbol.isascii():
        return symbol in text
    formulas = re.findall(r"\$\$(.+?)\$\$|\$([^$]+)\$", text, re.DOTALL)
    edge = r"(?<![A-Za-z\\])" if symbol[0].isalpha() else ""
    wanted = re.compile(edge + re.escape(plain(symbol)) + r"(?![A-Za-z])")
    return any(wanted.search(plain(a or b)) for a, b in formulas)


# ---- the glossary ----------------------------------------------------------------------------


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.english)
def test_entry_is_complete_and_its_chapter_links_it(entry: Entry) -> None:
    assert HAN.search(entry.japanese) or KANA.search(entry.japanese)
    assert HAN.search(entry.chinese) and not KANA.search(entry.chinese)
    assert re.fullmatch(r"[A-Z].{20,}\.", entry.definition)
    assert len(re.findall(r"[.?!](?= |$)", entry.definition)) <= 3
    assert "$" not in entry.definition, "a tip shows plain text"
    (chapter,) = entry.chapters
    assert entry.english in linked(markdown(BOOK / f"{chapter}.ipynb"))


def test_glossary_is_sorted() -> None:
    names = [entry.english.replace("ε", "epsilon").casefold() for entry in ENTRIES]
    assert names == sorted(names) and len(names) == len(set(names))


def test_glossary_covers_every_section_of_the_notes() -> None:
    named = [
        re.findall(r"(?<![\d.])\d+(?:\.\d+)?", entry.source.partition("notes:")[2])
        for entry in ENTRIES
    ]
    assert not set(NOTES) - {number for numbers in named for number in numbers}


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_links_each_term_once_in_prose(path: Path) -> None:
    text = markdown(path)
    terms = linked(text)
    assert not set(terms) - {entry.english for entry in ENTRIES}
    assert len(terms) == len(set(terms))
    prose = [line for line in strip_fences(text).split("\n") if not re.match(r"\s*[#|]", line)]
    assert linked("\n".join(prose)) == terms, "a box does not fit into a heading or a table"


# ---- the symbols -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("symbol", "chapter"), symbols((BOOK / "notation.md").read_text("utf-8"))
)
def test_chapter_uses_the_symbols_it_introduces(symbol: str, chapter: str) -> None:
    assert writes(markdown(BOOK / f"{chapter}.ipynb"), symbol)


# ---- the built pages -------------------------------------------------------------------------


def page(name: str) -> BeautifulSoup:
    return built.page(built.HTML / f"{name}.html")


def straight(text: str) -> str:
    """Return the text of a page with apostrophes as in its source."""
    return text.replace("’", "'")


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_term_links_are_described_by_definitions(path: Path) -> None:
    """Each begins with the English term, which a link in other words does not show."""
    built = page(f"book/{path.stem}")
    links = [words.find_parent("a") for words in built.select("a .std-term")]
    assert len(links) == len(linked(markdown(path)))
    definitions = {entry.english: entry.definition for entry in ENTRIES}
    for link, term in zip(links, linked(markdown(path)), strict=True):
        assert isinstance(link, Tag)
        description = built.find(id=str(link["aria-describedby"]))
        said = f"{term}: {definitions[term]}"
        assert description and straight(description.get_text()) == said
        assert str(link["href"]).startswith("glossary.html#")


def test_glossary_and_index_list_names_in_all_languages() -> None:
    names = page("book/glossary").select("dl.glossary > dt")
    index = {
        straight(link.get_text()) for link in page("genindex").select("table.genindextable a")
    }
    for k, language in enumerate((None, "ja", "zh-Hans")):
        found = [name for name in names if name.get("lang") == language]
        assert len(found) == len(ENTRIES)
        for name, entry in zip(found, ENTRIES, strict=True):
            expected = (entry.english, entry.japanese, entry.chinese)[k]
            shown = "".join(name.find_all(string=True, recursive=False)).strip()
            assert straight(shown) == expected
            assert expected in index


# ---- the rules can fail ----------------------------------------------------------------------

PAGE = """
```{glossary}
regret
後悔 : 日本語
遗憾值 : 中文
  What you missed by playing as you did.

  {doc}`01_regret_matching` · notes: 2.18

ε-Nash equilibrium : E
イプシロンナッシュ均衡 : 日本語
ε-纳什均衡 : 中文
  Nobody can gain more than ε by changing alone.

  {doc}`03_equilibrium`
```
"""


def test_read_parses_entries() -> None:
    regret, nash = read(PAGE)
    assert regret.chapters == ["01_regret_matching"] and regret.chinese == "遗憾值"
    assert nash.english == "ε-Nash equilibrium"
    with pytest.raises(AssertionError, match="not an entry"):
        read(PAGE.replace("遗憾值 : 中文\n", ""))


def test_linked_finds_terms() -> None:
    assert linked("{term}`regret`, {term}`gains <gain>`, {doc}`a <b>`") == ["regret", "gain"]


@pytest.mark.parametrize(
    ("text", "symbol", "there"),
    [
        (r"the sum $\color{#B8440A}{R}^T(a)$", r"R^T(a)", True),
        (r"$$x = {\color{#00795A}{\tilde v}}(a)$$", r"\tilde v(a)", True),
        (r"$v_i(I,\, a)$", r"v_i(I, a)", True),
        (r"a fold $b$", "a", False),
        (r"$\max(b)$", "a", False),
        ("with σ alone", "σ", True),
    ],
)
def test_writes_finds_symbols(text: str, symbol: str, there: bool) -> None:
    assert writes(text, symbol) == there


def test_symbols_parses_the_table() -> None:
    row = r"| $\sigma(a\|I)$, $T$ | say | meaning | {doc}`2 <02_games>` |"
    found = symbols(f"| $x$ | no chapter |\n{row}")
    assert found == [(r"\sigma(a|I)", "02_games"), ("T", "02_games")]
