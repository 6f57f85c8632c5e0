"""A reader of the built book: opens a page in Chromium and notes whatever goes wrong."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from playwright.sync_api import Browser, ConsoleMessage, Error, Locator, Page, Request, Response

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import chromium as tool  # noqa: E402

HTML = ROOT / "_build" / "html"
DESKTOP, PHONE = (1280, 900), (360, 740)
OPEN = """() => {
    document.querySelectorAll('.cfr-further').forEach((box) => { box.open = true; });
    document.querySelectorAll('.cfr-reveal').forEach((button) => button.click());
}"""
# A section out of sight is not laid out: its parts have neither a size nor text.
LAY_OUT = """() => {
    const style = document.createElement("style");
    style.textContent = ".bd-article section {content-visibility: visible !important}";
    document.head.append(style);
}"""
# What a part says, also where the section around it is out of sight
SAID = """part => {
    const boxes = [];
    for (let box = part; box; box = box.parentElement) boxes.push(box);
    boxes.forEach((box) => box.style.setProperty("content-visibility", "visible"));
    const said = part.innerText;
    boxes.forEach((box) => box.style.removeProperty("content-visibility"));
    return said;
}"""
# No host is found but this machine, as if the network were gone.
OFFLINE = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"


def built() -> Path:
    """Return the folder of the built book; `make test` has built it."""
    if not (HTML / "index.html").exists():
        calm = {name: value for name, value in os.environ.items() if "MAKE" not in name}
        subprocess.run(["make", "book"], cwd=ROOT, env=calm, check=True)
    return HTML


def pages() -> list[str]:
    """Name every page of the built book that has its layout."""
    site = built()
    outside = ("_static", "index.html", "404.html")
    paths = (path.relative_to(site) for path in sorted(site.rglob("*.html")))
    return [str(path) for path in paths if path.parts[0] not in outside]


def with_explorables() -> list[str]:
    """Name the pages that have explorables."""
    return [name for name in pages() if "cfr-explore" in (HTML / name).read_text("utf-8")]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def serving(handler: type[SimpleHTTPRequestHandler] = Quiet) -> Iterator[str]:
    """Serve the site; return its address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=HTML)) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


@dataclass
class Visit:
    """A page, and everything about it that nobody should ever see."""

    page: Page
    home: Path
    problems: list[str] = field(default_factory=list)
    asked: set[str] = field(default_factory=set)  # the addresses of all that it fetched

    def __post_init__(self) -> None:
        self._listeners = {
            "console": self._console,
            "pageerror": self._error,
            "request": self._request,
            "requestfailed": self._failed,
            "response": self._response,
        }
        for event, listener in self._listeners.items():
            self.page.on(event, listener)

    def leave(self) -> None:
        """Leave the tab as if nobody had been there."""
        for event, listener in self._listeners.items():
            self.page.remove_listener(event, listener)
        self.page.evaluate("localStorage.clear(); sessionStorage.clear()")
        self.page.emulate_media(media="null")
        self.page.goto("about:blank")

    def _error(self, error: Error) -> None:
        self.problems.append(f"page error: {error}")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.problems.append(f"console: {message.text}")

    def _request(self, request: Request) -> None:
        self.asked.add(request.url)
        url = urlparse(request.url)
        mine = url.scheme in ("data", "blob", "about") or url.hostname == "127.0.0.1"
        if url.scheme == "file":
            mine = Path(unquote(url.path)).resolve().is_relative_to(self.home)
        if not mine:
            self.problems.append(f"foreign: {request.url}")

    def _failed(self, request: Request) -> None:
        if request.failure == "net::ERR_ABORTED":  # the reader left before it came
            return
        self.problems.append(f"failed: {request.url} ({request.failure})")

    def _response(self, response: Response) -> None:
        if response.status >= 400:
            self.problems.append(f"{response.status}: {response.url}")

    def resize(self, size: tuple[int, int]) -> None:
        """Give the window another size."""
        self.page.set_viewport_size({"width": size[0], "height": size[1]})

    def settle(self) -> None:
        """Wait until formulas and fonts stand where they will stay."""
        self.page.evaluate(
            "async () => { await window.MathJax?.startup?.promise; await document.fonts.ready }"
        )


def unfold(page: Page) -> None:
    """Open what a first reading can skip, unveil results, and lay out all sections."""
    for step in (OPEN, LAY_OUT):
        page.evaluate(step)


def text_of(part: Locator) -> str:
    """Return the text of a part of a page, in sight or not."""
    return str(part.evaluate(SAID))


@contextmanager
def window(browser: Browser, size: tuple[int, int] = DESKTOP, **options: Any) -> Iterator[Page]:
    """Open an empty window of this size, which shares nothing with others."""
    view = {"width": size[0], "height": size[1]}
    context = tool.context(browser, viewport=view, **options)
    yield context.new_page()
    context.close()


@contextmanager
def touching(browser: Browser, name: str) -> Iterator[Page]:
    """Open a page on a phone."""
    with window(browser, PHONE, has_touch=True, is_mobile=True) as page:
        page.goto((HTML / name).as_uri())
        yield page


# A tab costs as much as a page, so a later visit takes the tab that an earlier one has left.
_tabs: defaultdict[tuple[object, ...], list[Page]] = defaultdict(list)


@contextmanager
def reading(
    browser: Browser,
    name: str,
    *,
    dark: bool = False,
    size: tuple[int, int] = DESKTOP,
    still: bool = True,
    scripts: bool = True,
    clock: bool = False,
    folded: bool = False,
    home: Path = HTML,
) -> Iterator[Visit]:
    """Open a page from its folder, as somebody who was never there before.

    A page with a `clock` stands still in time once it is there, until the test lets some pass.
    What a first reading can skip is opened, and results are unveiled, unless all shall stay
    `folded`.
    """
    key = (browser, dark, size, still, scripts)
    page = _tabs[key].pop() if _tabs[key] and not clock else None
    if page is None:
        context = tool.context(
            browser,
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce" if still else "no-preference",
            java_script_enabled=scripts,
        )
        page = context.new_page()
    page.set_viewport_size({"width": size[0], "height": size[1]})  # another test may change it
    if clock:
        page.clock.install()
    visit = Visit(page, home.resolve())
    path, mark, fragment = name.partition("#")
    page.goto((home / path).as_uri() + mark + fragment)
    if not folded:
        unfold(page)
    if scripts:
        visit.settle()
    if clock:
        page.clock.pause_at(page.evaluate("Date.now() + 3_600_000"))  # later than it is
    yield visit
    if clock:
        page.context.close()
    else:
        visit.leave()
        _tabs[key].append(page)
