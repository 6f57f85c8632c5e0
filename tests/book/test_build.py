"""Tests of the built pages: accessible, self-contained, without dead links."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlparse

import built
import pytest
from bs4 import BeautifulSoup, Tag
from built import HTML

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "_ext"))

import book_fixes

# elements and attributes that a browser fetches by itself; <a href> waits for a click
FETCHED = {
    "script": ("src",),
    "link": ("href",),
    "img": ("src", "srcset"),
    "source": ("src", "srcset"),
    "iframe": ("src",),
    "video": ("src", "poster"),
    "audio": ("src",),
    "object": ("data",),
    "embed": ("src",),
    "use": ("href", "xlink:href"),
    "image": ("href", "xlink:href"),
}
ABROAD = re.compile(r"^\s*(?:[a-z]+:)?//", re.IGNORECASE)
CSS_ABROAD = re.compile(r"(?:url\(|@import)\s*['\"]?(?:https?:)?//[^)'\"]+", re.IGNORECASE)
# Chromium restyles the whole page whenever the focus moves.
SLOW = re.compile(r":has\((?!\))[^{}]*:focus(?:-visible)?(?![-\w])[^{}]*")

Pages = dict[Path, BeautifulSoup]


@pytest.fixture(scope="session")
def pages() -> Pages:
    found = {path: built.page(path) for path in built.paths()}
    assert found
    return found


# ---- the rules: each takes a page and returns violations -------------------------------------


def unlabelled(page: BeautifulSoup) -> list[str]:
    """Return pictures without a text: <img> without alt, <svg> without role and name."""
    images = page.find_all("img")
    found = [str(img)[:200] for img in images if not str(img.get("alt", "")).strip()]
    for svg in page.find_all("svg"):
        named = str(svg.get("aria-label", "")).strip() or svg.find("title")
        inside = svg.find_parent("svg") or svg.find_parent(attrs={"aria-hidden": "true"})
        hidden = svg.get("aria-hidden") == "true" or inside
        if not hidden and (svg.get("role") != "img" or not named):
            found.append(str(svg)[:200])
    return found


def foreign(page: BeautifulSoup) -> list[str]:
    """Return resources that the page would fetch from another host."""
    found = []
    for name, attributes in FETCHED.items():
        for tag in page.find_all(name):
            if name == "link" and tag.get("rel") == ["canonical"]:  # is not fetched
                continue
            values = [str(tag.get(attribute, "")) for attribute in attributes]
            found += [f"{name}: {value}" for value in values if ABROAD.match(value)]
    styles = [style.get_text() for style in page.find_all("style")]
    styles += [str(tag["style"]) for tag in page.find_all(style=True)]
    return found + [match for style in styles for match in CSS_ABROAD.findall(style)]


def repeated(page: BeautifulSoup) -> list[str]:
    """Return inline scripts that a page runs twice; a second `const` is a browser error."""
    texts = [tag.get_text() for tag in page.find_all("script")]
    scripts = [text for text in texts if re.search(r"^\s{0,1}const ", text, re.MULTILINE)]
    return sorted({script[:200] for script in scripts if scripts.count(script) > 1})


Anchors = dict[Path, set[str]]  # possible targets of links, by page


def anchors(page: BeautifulSoup) -> set[str]:
    return {str(tag["id"]) for tag in page.find_all(id=True)}


def dead(page: BeautifulSoup, path: Path, known: Anchors) -> list[str]:
    """Return local links to missing files or missing anchors."""
    found = []
    for tag in page.find_all(["a", "img", "script", "link"]):
        assert isinstance(tag, Tag)
        target, anchor = urldefrag(str(tag.get("href") or tag.get("src") or ""))
        parts = urlparse(target)
        if parts.scheme or parts.netloc or (not target and not anchor):
            continue
        place = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        if place not in known and not place.exists():
            found.append(f"{tag.name}: {target}")
        elif anchor and unquote(anchor) not in known.get(place, {unquote(anchor)}):
            found.append(f"{tag.name}: {target}#{anchor}")
    return found


# ---- the book --------------------------------------------------------------------------------


def collect(found: dict[Path, list[str]]) -> str:
    lines = [(path.relative_to(HTML), what) for path, all_ in found.items() for what in all_]
    return "\n".join(f"{path}: {what}" for path, what in lines)


@pytest.mark.parametrize("rule", [unlabelled, foreign, repeated])
def test_no_page_breaks_a_rule(pages: Pages, rule: Callable[[Any], list[str]]) -> None:
    assert not collect({path: rule(page) for path, page in pages.items()})


def test_folds_say_what_is_in_them(pages: Pages) -> None:
    labels = Counter(
        p.get_text() for page in pages.values() for p in page.select("details.hide p.collapsed")
    )
    assert not [text for text in labels if "code cell" in text]
    assert labels["Show the code behind the figure"] > 20 < labels["Show the solution in code"]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("x = 1\nplot.show(x, alt='a')", "the code behind the figure"),
        ("explore.Explorable(f)", "the code behind the explorable"),
        ("def f(): pass\nexercises.check('1.1', f)", "the solution in code"),
        (
            "def f(): pass\nclass G: pass\nprint(f())",
            "the code of <code>f</code>, <code>G</code>",
        ),
        ("a, b.c = 1, 2\nprint(a)", "the code behind the output"),
        ("a, b[0] = 1, 2", "the code of <code>a</code>"),
        ("a = b = c = d = 1", "the code of <code>a</code>, <code>b</code>, <code>c</code>, …"),
        ("f()", "the code"),
        ("%pip install x", "the code"),
    ],
)
def test_label_of_a_fold(code: str, words: str) -> None:
    assert book_fixes.label(code) == words


@pytest.fixture(scope="session")
def sheets(pages: Pages) -> dict[Path, str]:
    """Return the style sheets that the pages use."""
    used = {
        (path.parent / urlparse(str(link["href"])).path).resolve()
        for path, page in pages.items()
        for link in page.find_all("link", rel="stylesheet")
    }
    assert used
    return {path: path.read_text("utf-8") for path in used}


@pytest.mark.parametrize("mark", [CSS_ABROAD, SLOW], ids=["other hosts", "focus"])
def test_no_stylesheet_breaks_a_rule(sheets: dict[Path, str], mark: re.Pattern[str]) -> None:
    assert not collect({path: mark.findall(text) for path, text in sheets.items()})


def test_mathjax_is_served_by_the_book(pages: Pages) -> None:
    scripts = {
        (path.parent / urlparse(str(tag["src"])).path).resolve()
        for path, page in pages.items()
        for tag in page.find_all("script", src=re.compile("tex-chtml"))
    }
    assert scripts == {(HTML / "_static/mathjax/tex-chtml.js").resolve()}
    home = HTML / "_static" / "mathjax"
    assert (home / "input/tex/extensions/colorv2.js").is_file()  # \color
    assert list((home / "output/chtml/fonts/woff-v2").glob("*.woff"))


def test_local_links_resolve(pages: Pages) -> None:
    known = {path.resolve(): anchors(page) for path, page in pages.items()}
    assert not collect(
        {path: dead(page, path.resolve(), known) for path, page in pages.items()}
    )


def test_pages_show_no_docutils_errors(pages: Pages) -> None:
    marks = {path: page.select(".system-message, .problematic") for path, page in pages.items()}
    assert not collect({path: [str(tag)[:200] for tag in tags] for path, tags in marks.items()})


# ---- the rules can fail ----------------------------------------------------------------------


def slow(selector: str) -> list[str]:
    return SLOW.findall(selector + "{color: red}")


Rule = Callable[[Any], list[str]]
REPEATS = "<script>const THEBE_JS_URL = 1</script>"


@pytest.mark.parametrize(
    ("rule", "text", "count"),
    [
        (unlabelled, '<img src="a.png" alt="A tree">', 0),
        (unlabelled, '<img src="a.png">', 1),
        (unlabelled, '<img src="a.png" alt=" ">', 1),
        (unlabelled, '<svg role="img" aria-label="A tree"><svg></svg></svg>', 0),
        (unlabelled, '<svg role="img"><title>A tree</title></svg>', 0),
        (unlabelled, '<svg aria-hidden="true"></svg>', 0),
        (unlabelled, '<svg role="img"></svg>', 1),
        (unlabelled, '<svg aria-label="A tree"></svg>', 1),
        (foreign, '<a href="https://example.org">there</a><img src="data:image/png;,">', 0),
        (foreign, '<link rel="canonical" href="https://example.org/">', 0),
        (foreign, '<script src="https://example.org/x.js"></script>', 1),
        (foreign, '<script src="//example.org/x.js"></script>', 1),
        (foreign, '<link rel="stylesheet" href="https://example.org/x.css">', 1),
        (foreign, '<link rel="preconnect" href="https://example.org">', 1),
        (foreign, '<img src="https://example.org/x.png">', 1),
        (foreign, "<style>@font-face { src: url(https://example.org/x.woff) }</style>", 1),
        (foreign, "<p style=\"background: url('//example.org/x.png')\"></p>", 1),
        (repeated, REPEATS, 0),
        (repeated, REPEATS * 2, 1),
        (slow, "li:has(> a:is(:hover, :focus-visible)) path", 1),
        (slow, "body:has(a:focus)::after", 1),
        (slow, "body:has(.play-game:focus-within)", 0),
        (slow, "li > a:focus-visible ~ svg", 0),
    ],
)
def test_rule_counts_violations(
    rule: Callable[[Any], list[str]], text: str, count: int
) -> None:
    given = text if rule is slow else BeautifulSoup(text, "html.parser")
    assert len(rule(given)) == count


def test_rule_dead(tmp_path: Path) -> None:
    path, other = tmp_path / "a.html", tmp_path / "c.html"
    html = (
        '<a href="a.html#x">1</a><a href="b.html">2</a><a href="#y">3</a><i id="x"></i>'
        '<a href="c.html#z">4</a><a href="c.html#%CE%B1">5</a>'
    )
    page = BeautifulSoup(html, "html.parser")
    known = {path: anchors(page), other: {"α"}}
    assert dead(page, path, known) == ["a: b.html", "a: #y", "a: c.html#z"]
