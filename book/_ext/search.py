"""A search that needs no network: an index of the sections of the book.

`build-finished` reads the written pages, so nothing is found that readers do
not see: encrypted solutions, notes for readers without scripts. Code and long
formulas are left out. A section, an entry of the glossary and a documented
name are one result each. `_static/search/index.js` holds their titles and
where each word occurs; the text to quote from is in small files beside it.
All of them are scripts, which a book opened from a folder can load.
"""

from __future__ import annotations

import json
import re
import shutil
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bs4 import BeautifulSoup, Tag
from sphinx.application import Sphinx

HEAVY = re.compile(
    r"<(script|style|svg|pre|noscript|template)\b.*?</\1>", re.DOTALL
)
UNREAD = (
    "nav, button, select, form, summary, .headerlink, .cfr-tip, .solution, "
    ".tag_solution, .cfr-controls, .cfr-numbers, .cfr-announce, "
    ".toctree-wrapper"
)
BLOCKS = "p, li, dt, dd, td, th, tr, figcaption, div, h1, h2, h3, h4, h5"
SIMPLE = re.compile(r"\\\([\w ,.=+<>/-]{1,12}\\\)")  # formulas like text
MOST = 4000  # letters of text in a file
WEIGHTS = {"page": 1.4, "section": 1.0, "term": 1.25, "name": 0.6}
TOPICS = {  # of pages, beyond their titles, as readers call them
    "01_regret_matching": "regret · no-regret learning",
    "02_games_with_hidden_cards": "infoset · information set · game tree",
    "03_equilibrium": "exploitability · NashConv · Nash equilibrium · "
    "best response",
    "04_vanilla_cfr": "average strategy · counterfactual reach · vanilla CFR",
    "06_discounting_and_prediction": "linear CFR · discounted CFR · "
    "predictive CFR",
    "07_monte_carlo_cfr": "MCCFR · external sampling · outcome sampling",
    "08_robust_sampling": "variance · baseline · batch",
    "09_online_search": "search · online outcome sampling",
    "10_deep_cfr": "neural network",
    "12_coyote": "three players · multiplayer",
    "13_koi_koi": "hanafuda · こいこい · koi-koi rules",
    "16_solving_a_part": "subgame solving · re-solving · depth limit",
    "17_the_bet": "neural CFR · comparison of learners",
    "history": "who invented CFR · inventor",
    "museum": "debugging · CFR not converging",
    "troubleshooting": "install · installation · error",
}
LESS = {"errata": 0.6, "benchmarks": 0.7, "references": 0.7, "projects": 0.8}
LESS |= {"reading_papers": 0.7, "for_teachers": 0.7}
TITLE, ABOVE = 3.0, 0.6  # a word in the title, and in that of the page
LEVELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # of a word's weight in a section

# ---- words, as in search.js ------------------------------------------------

WORD = re.compile(r"[぀-ヿ㐀-鿿]+|[^\W_぀-ヿ㐀-鿿]+\+?")
ENDINGS = {
    r"(?:ies)$": "y",
    r"([^s])s$": r"\1",
    r"(...)(?:ing|ed)$": r"\1",
    r"ibria$": "ibrium",
    r"bility$": "bl",
    r"(...)e$": r"\1",
    r"([bdgmnprt])\1$": r"\1",
}
COMMON = set(
    """
    a about an and any are as at be but by can do does for from has have how i
    if in is it its me my no not of on one or our so than that the their them
    then there these they this to two use used using versus vs was we what
    when where which who why will with without you your
    """.split()  # noqa: SIM905
)


def words(text: str) -> Iterator[str]:
    """Yield stems; of Japanese and Chinese, pairs of letters."""
    for word in WORD.findall(unicodedata.normalize("NFKC", text).lower()):
        if "぀" <= word[0] <= "鿿":
            yield from (word[n : n + 2] for n in range(max(1, len(word) - 1)))
        elif word not in COMMON:
            yield stem(word)


def stem(word: str) -> str:
    """Return a word without the endings of English grammar."""
    if len(word) > 3 and word.isascii() and word.isalpha():
        for ending, rest in ENDINGS.items():
            word = re.sub(ending, rest, word)
    return word


# ---- sections --------------------------------------------------------------


@dataclass
class Section:
    """What one result leads to."""

    page: str
    anchor: str
    kind: str  # page, section, term or name
    title: str
    text: str


def plain(tag: Tag) -> str:
    """Return the text of an element in one line."""
    return re.sub(r"\s+", " ", tag.get_text()).strip()


def sections(page: str, html: str) -> list[Section]:
    """Return the sections of a written page, the page itself first."""
    soup = BeautifulSoup(HEAVY.sub(" ", html), "html.parser")
    body = soup.select_one("article")
    if body is None:
        return []
    for tag in body.select(UNREAD):
        tag.decompose()
    if (head := body.find("table")) and "You will" in head.get_text():
        head.decompose()
    for tag in body.select(".math"):
        tag.string = tag.text[2:-2] if SIMPLE.fullmatch(tag.text) else "…"
    for tag in body.select(BLOCKS):
        tag.append(" ")
    found = []

    def take(kind: str, anchor: object, title: str, part: Tag) -> None:
        text = plain(part.extract())
        found.append(Section(page, str(anchor), kind, title, text))

    for definition in body.select("dl.glossary > dd"):
        names = []
        while getattr(definition.find_previous_sibling(), "name", "") == "dt":
            names.insert(0, definition.find_previous_sibling().extract())
        title = " · ".join(map(plain, names))
        take("term", names[0]["id"], title, definition.find("p"))
        definition.decompose()
    for head in reversed(body.select("dt.sig[id]")):
        entry = head.find_next_sibling("dd")
        if entry and (first := entry.find("p")):
            title = str(head["id"])
            take("name", title, title, first)
            head.extract()
            entry.extract()
    for part in reversed(body.select("section")):
        heading = part.find(re.compile("^h[1-6]$"))
        if isinstance(heading, Tag):
            title = plain(heading.extract())
            kind = "section" if part.find_parent("section") else "page"
            take(kind, part["id"], title, part)
    return found[::-1]


# ---- the index -------------------------------------------------------------


def topics(section: Section) -> str:
    """Return what else a page is about; nothing for its sections."""
    name = Path(section.page).name
    return TOPICS.get(name, "") if section.kind == "page" else ""


def weights(section: Section, above: str, usual: float) -> dict[str, float]:
    """Return the weight of each word of a section."""
    counts = Counter(words(section.text))
    names = f"{section.title} · {topics(section)}"
    title, top = set(words(names)), set(words(above))
    long = sum(counts.values()) / usual
    importance = WEIGHTS[section.kind] * LESS.get(Path(section.page).stem, 1)
    return {
        word: importance
        * (
            counts[word] * 2.2 / (counts[word] + 0.4 + 0.8 * long)
            + TITLE * (word in title) / (0.6 + 0.2 * min(5, len(title)))
            + ABOVE * (word in top)
        )
        for word in {*counts, *title}
    }


def base36(number: int) -> str:
    """Return a number as JavaScript's `parseInt(text, 36)` reads it."""
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    high, low = divmod(number, 36)
    return (base36(high) if high else "") + digits[low]


def index(found: list[Section]) -> dict[str, object]:
    """Return the index: pages, sections, and each word's places."""
    pages = {s.page: s.title for s in found if s.kind == "page"}
    usual = sum(len(s.text.split()) for s in found) / len(found)
    places = defaultdict(list)
    for number, section in enumerate(found):
        above = pages[section.page]
        for word, weight in weights(section, above, usual).items():
            level = min(len(LEVELS) - 1, round(3 * weight))
            if level:
                places[word].append((number, LEVELS[level]))
    encoded = {}
    for word, where in sorted(places.items()):
        before, text = 0, ""
        for number, level in where:
            text += base36(number - before) + level
            before = number
        encoded[word] = text
    at = {page: number for number, page in enumerate(pages)}
    return {
        "pages": [*pages.items()],
        "sections": [
            [at[s.page], s.anchor, s.kind[0]]
            + [
                text
                for text in (s.title, topics(s))
                if text not in ("", s.anchor)
            ]
            for s in found
        ],
        "words": encoded,
        "common": sorted(COMMON),
    }


def chunks(found: list[Section]) -> list[list[str]]:
    """Return the texts in groups of at most MOST letters, if they can be."""
    groups, length = [list[str]()], 0
    for section in found:
        if groups[-1] and length + len(section.text) > MOST:
            groups, length = [*groups, []], 0
        groups[-1].append(section.text)
        length += len(section.text)
    return groups


def write(app: Sphinx, exception: Exception | None) -> None:
    """Write the index of the written pages."""
    if exception or app.builder.format != "html":
        return
    out = Path(app.outdir)
    folder = out / "_static" / "search"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    found = [
        section
        for name in sorted(app.env.found_docs)
        for html in [(out / f"{name}.html").read_text("utf-8")]
        for section in sections(name, html)
    ]
    groups = chunks(found)
    data = index(found) | {"chunks": [len(group) for group in groups]}
    for name, value in [("index", data), *enumerate(groups)]:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        call = f"cfrSearch({json.dumps(name)},{text})"
        (folder / f"{name}.js").write_text(call, "utf-8")


def replace_own(app: Sphinx) -> None:
    """Keep Sphinx from making its own index, which pages would load."""
    for step in ("load_indexer", "index_page", "dump_search_index"):
        setattr(app.builder, step, lambda *_: None)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_js_file("search.js", loading_method="defer")
    app.add_css_file("search.css")
    app.connect("builder-inited", replace_own)
    app.connect("build-finished", write, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
