"""Pages can be left out of `_toc.yml`: tests of book/_ext/left_out.py and of a shorter book."""

from __future__ import annotations

import json
import re
from pathlib import Path

import built
import pytest
import yaml
from bs4 import BeautifulSoup
from sphinx import addnodes

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"
PAGES = sorted(path for path in BOOK.iterdir() if path.suffix in (".ipynb", ".md"))

import chapters  # noqa: E402
import left_out  # noqa: E402

CHAPTERS = chapters.collect(sorted(BOOK.glob("*.ipynb")))
ROLE = re.compile(r"\{(?:(prf):)?(doc|term|ref)\}`(?:([^`<]+?) *<)?([^`<>]+)>?`")


def link(kind: str, target: str, text: str = "", domain: str = "std") -> addnodes.pending_xref:
    shown = addnodes.nodes.inline("", text or target)
    node = addnodes.pending_xref("", shown, refdomain=domain, reftype=kind, reftarget=target)
    node["refexplicit"] = bool(text)
    return node


def links() -> list[tuple[str, addnodes.pending_xref]]:
    """Return every link of the book to a page, a term or a numbered block, with its page."""
    found = []
    for path in PAGES:
        for domain, kind, text, target in ROLE.findall(left_out.words(path)):
            if kind != "ref" or domain:
                node = link(kind, target, text, domain or "std")
                found.append((f"book/{path.stem}", node))
    return found


def test_every_link_has_a_text_without_its_page() -> None:
    found = links()
    assert len(found) > 300
    for page, node in found:
        text = left_out.instead(ROOT, page, node)
        assert text and not re.search(r"\d\d_|alg-|_", text), node


def test_links_to_pages_show_titles() -> None:
    here = "book/index"
    node = link("doc", "14_learning_koi_koi")
    assert left_out.instead(ROOT, here, node) == CHAPTERS["14_learning_koi_koi"].title
    assert left_out.instead(ROOT, here, link("doc", "14_learning_koi_koi", "14")) == "14"
    node = link("ref", "alg-deep-cfr", domain="prf")
    assert left_out.instead(ROOT, here, node) == "the algorithm “Deep CFR”"


@pytest.mark.parametrize(
    "node",
    [
        link("doc", "14_nowhere"),
        link("ref", "alg-nowhere", domain="prf"),
        link("ref", "nowhere"),
    ],
)
def test_links_to_nothing_stay_errors(node: addnodes.pending_xref) -> None:
    assert left_out.instead(ROOT, "book/index", node) is None


def before(found: dict[str, chapters.Chapter], name: str) -> frozenset[str]:
    """Return all direct and indirect prerequisites of a chapter."""
    return found[name].needs.union(*(before(found, need) for need in found[name].needs))


@pytest.mark.parametrize("name", CHAPTERS)
def test_list_without_a_chapter_keeps_the_order_of_the_others(name: str) -> None:
    fewer = chapters.kept(CHAPTERS, CHAPTERS.keys() - {name})
    assert fewer.keys() == CHAPTERS.keys() - {name}
    for chapter in fewer:
        assert before(fewer, chapter) == before(CHAPTERS, chapter) - {name}


def test_list_without_several_chapters_in_a_row() -> None:
    pages = CHAPTERS.keys() - {"03_equilibrium", "04_vanilla_cfr", "05_cfr_plus"}
    fewer = chapters.kept(CHAPTERS, pages)
    assert fewer.keys() == pages
    assert all(chapter.needs <= pages for chapter in fewer.values())


# ---- a shorter book --------------------------------------------------------------------------

OUT = {"01_regret_matching", "06_discounting_and_prediction", "10_deep_cfr"}
OUT |= {"13_koi_koi", "14_learning_koi_koi", "koikoi_for_players", "glossary", "api"}
OUT |= {"api_solving", "api_strategies", "api_networks", "api_pages"}


@pytest.fixture(scope="module")
def shorter(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the book without the pages in OUT, and without running code; return its folder."""
    home = tmp_path_factory.mktemp("shorter")
    built.copied(home)
    toc = (ROOT / "_toc.yml").read_text("utf-8")
    for name in OUT:
        toc, count = re.subn(rf" *- file: book/{name}\n", "", toc)
        assert count == 1
    toc = re.sub(
        r"  - caption: [^\n]*\n(?:    numbered: true\n)?    chapters:\n(?!      -)", "", toc
    )
    address = "https://example.org/cfr/"
    return built.another(home, toc, "-W", "--keep-going", CFR_BOOK_URL=address) / "book"


def test_shorter_book_builds_and_keeps_numbers(shorter: Path) -> None:
    written = {path.stem for path in shorter.glob("*.html")}
    assert written == {path.stem for path in PAGES} - OUT
    page = BeautifulSoup((shorter / "07_monte_carlo_cfr.html").read_bytes(), "html.parser")
    heading = page.select_one("article h1")
    assert heading and heading.get_text().startswith("7. ")
    captions = [c.get_text() for c in page.select("article .caption-number")]
    assert captions and all(" 7." in caption for caption in captions)
    current = page.select_one("nav.bd-links li.current > a")
    assert current and current.get_text().strip().startswith("7. ")


def test_shorter_book_links_no_absent_page(shorter: Path) -> None:
    for path in shorter.glob("*.html"):
        page = BeautifulSoup(path.read_bytes(), "html.parser")
        targets = {str(a["href"]).partition("#")[0] for a in page.select("a[href]")}
        assert not targets & {f"{name}.html" for name in OUT}, path.name


def test_sitemap_lists_the_pages_of_a_book_with_an_address(shorter: Path) -> None:
    site = shorter.parent
    pages = re.findall(r"<loc>(.*?)</loc>", (site / "sitemap.xml").read_text("utf-8"))
    names = {path.stem for path in shorter.glob("*.html")}
    assert set(pages) == {f"https://example.org/cfr/book/{name}.html" for name in names}
    assert "https://example.org/cfr/sitemap.xml" in (site / "robots.txt").read_text("utf-8")
    lost = BeautifulSoup((site / "404.html").read_bytes(), "html.parser")
    (link,) = lost.select("a")
    assert link["href"] == "https://example.org/cfr/book/index.html"  # from any folder
    for path in [*shorter.glob("*.html"), site / "genindex.html"]:
        page = BeautifulSoup(path.read_bytes(), "html.parser")
        (canonical,) = page.select('link[rel="canonical"]')
        own = path.relative_to(site).as_posix()
        assert canonical["href"] == f"https://example.org/cfr/{own}"


def test_chapter_with_an_address_can_be_cited(shorter: Path) -> None:
    page = BeautifulSoup((shorter / "07_monte_carlo_cfr.html").read_bytes(), "html.parser")
    tags = {str(tag.get("name")): tag["content"] for tag in page.select("meta[content]")}
    title = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))["title"]
    url = "https://example.org/cfr/book/07_monte_carlo_cfr.html"
    assert tags["citation_title"] == CHAPTERS["07_monte_carlo_cfr"].title
    assert tags["citation_inbook_title"] == title
    assert tags["citation_fulltext_html_url"] == url
    (script,) = page.select('script[type="application/ld+json"]')
    data = json.loads(script.get_text())
    assert data["position"] == 7 and data["url"] == url
    assert data["isPartOf"]["name"] == title
