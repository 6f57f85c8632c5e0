"""What a page costs: what a reader's connection carries, and the elements of the page."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import unquote, urlparse

import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser, Page, expect
from reader import HTML, Quiet, Visit, reading, serving, window

PAGE, FRAMES = 1_500_000, 400_000  # bytes
QUERY = 300_000  # bytes, not packed
ELEMENTS = 9_000  # as a page arrives: formulas and what scripts add come after it
HEAD = 300  # bytes that come with each file
TEXT = re.compile(r"\.(html|css|js|svg|json|txt)$")
DATA = re.compile(r'<script type="application/json">.*?</script>', re.DOTALL)


@cache
def packed(path: str) -> bytes:
    """Return a file as the servers of books send it: text in gzip, fonts as they are."""
    return gzip.compress(Path(path).read_bytes(), 6)


class Handler(Quiet):
    protocol_version = "HTTP/1.1"

    def send_head(self) -> BytesIO | BinaryIO | None:
        path = self.translate_path(self.path)
        if not TEXT.search(path) or not Path(path).is_file():
            return super().send_head()
        body = packed(path)
        self.send_response(200)
        self.send_header("Content-Type", self.guess_type(path))
        self.send_header("Content-Encoding", "gzip")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        return BytesIO(body)


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with serving(Handler) as address:
        yield address


@pytest.fixture(scope="module")
def tab(chromium: Browser) -> Iterator[Page]:
    with window(chromium) as page:
        yield page


def transferred(page: Page, url: str) -> dict[str, int]:
    """Return the bytes, heads and bodies, of everything that a first visit fetches."""
    names: dict[str, str] = {}
    sizes: dict[str, int] = {}

    def asked(event: dict[str, Any]) -> None:
        names[event["requestId"]] = event["request"]["url"]

    def came(event: dict[str, Any]) -> None:
        sizes[event["requestId"]] = int(event["encodedDataLength"])

    network = page.context.new_cdp_session(page)
    network.on("Network.requestWillBeSent", asked)
    network.on("Network.loadingFinished", came)
    network.send("Network.enable")
    network.send("Network.setCacheDisabled", {"cacheDisabled": True})  # nobody was here before
    page.goto(url, wait_until="networkidle")
    network.detach()
    return {names[request]: size for request, size in sizes.items()}


def path_of(url: str) -> Path:
    return Path(unquote(urlparse(url).path))


def weights(urls: Iterable[str]) -> dict[Path, int]:
    """Return the bytes of the book's files at these addresses, packed where servers pack."""
    paths = {path_of(url) for url in urls if url.startswith("file:")}
    return {p: len(packed(str(p))) if TEXT.search(p.name) else p.stat().st_size for p in paths}


def test_page_size_is_limited(light: Visit, name: str) -> None:
    sizes = weights(light.asked)
    assert HTML / name in sizes
    heaviest = sorted(sizes.items(), key=lambda item: -item[1])[:8]
    most = sum(sizes.values()) + HEAD * len(sizes)
    print(f"{name}: {most:,} bytes in {len(sizes)} files, {heaviest}")
    assert most <= PAGE, heaviest


@pytest.mark.parametrize("page", ["book/index.html", "book/01_regret_matching.html"])
def test_transfer_equals_packed_file_sizes(
    chromium: Browser, tab: Page, server: str, page: str
) -> None:
    """Those are the bytes that come over a wire: files, and a head for each.

    On a busy machine the network may rest before the formulas ask for their letters.
    """
    with reading(chromium, page) as visit:
        sizes = weights(visit.asked)
    came = transferred(tab, server + page)
    found = {HTML / path_of(url).relative_to("/"): size for url, size in came.items()}
    assert HTML / page in found
    assert found.keys() <= sizes.keys()
    for path, size in found.items():
        assert 0 < size - sizes[path] <= HEAD


@pytest.mark.parametrize("typed", ["what is regret", "MCCFR"])
def test_query_size_is_limited(tab: Page, server: str, typed: str) -> None:
    tab.goto(f"{server}book/accessibility.html", wait_until="networkidle")
    asked: set[str] = set()
    tab.on("request", lambda request: asked.add(request.url))
    tab.keyboard.press("Control+k")
    tab.keyboard.type(typed)
    expect(tab.locator("#pst-search-dialog .cfr-results p").last).not_to_be_empty()
    tab.wait_for_load_state("networkidle")
    sizes = {url: (HTML / path_of(url).relative_to("/")).stat().st_size for url in asked}
    print(f"{typed}: {sum(sizes.values()):,} bytes in {len(sizes)} files")
    assert any(url.endswith("/_static/search/index.js") for url in sizes)
    assert sum(sizes.values()) <= QUERY


def test_number_of_elements_is_limited(name: str) -> None:
    soup = BeautifulSoup((HTML / name).read_text("utf-8"), "html.parser")
    folded = soup.select("details.hide pre span[class]")
    print(f"{name}: {len(soup.find_all(True)):,} elements")
    assert len(soup.find_all(True)) <= ELEMENTS
    assert not folded  # folds.js colors the code when its fold opens


def test_page_without_formulas_has_no_mathjax(light: Visit, name: str) -> None:
    scripts = {path.name for path in map(path_of, light.asked) if path.suffix == ".js"}
    formulas = light.page.locator("article .math").count()
    assert ("tex-chtml.js" in scripts) == bool(formulas)
    assert not {"searchindex.js", "searchtools.js", "sphinx-thebe.js"} & scripts


def test_frame_data_size_is_limited(name: str) -> None:
    html = (HTML / name).read_text("utf-8")
    whole, rest = (len(gzip.compress(text.encode())) for text in (html, DATA.sub("", html)))
    print(f"{name}: {whole - rest:,} bytes are frames")
    assert whole - rest <= FRAMES
