"""Solutions can be hidden behind a key: tests of book/_ext/sealed.py and of a sealed book."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import zipfile
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import build
import built
import chromium
import onpage
import pytest
import yaml
from bs4 import BeautifulSoup
from playwright.sync_api import Page, expect
from sphinx.config import Config
from sphinx.errors import ConfigError

ROOT = Path(__file__).parents[2]
BOOK = ROOT / "book"

import repository  # noqa: E402
import sealed  # noqa: E402
import search  # noqa: E402
import unsolved  # noqa: E402

NOTEBOOKS = {
    path.stem: json.loads(path.read_text("utf-8")) for path in sorted(BOOK.glob("*.ipynb"))
}
PAGES = ("index", "01_regret_matching", "04_vanilla_cfr", "projects")
KEY = "correct horse battery staple"
# a PNG of one red point
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk"
PIXEL += "+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
IMAGE = {"output_type": "display_data", "metadata": {}, "data": {"image/png": PIXEL}}


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def solutions(name: str) -> list[dict[str, Any]]:
    """Return the cells of a notebook that hidden solutions leave out."""
    cells = NOTEBOOKS[name]["cells"]
    kept = sealed.without_solutions(NOTEBOOKS[name])["cells"]
    return [cell for cell in cells if cell not in kept]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_solutions_leave_a_notebook_whole(name: str) -> None:
    """A solution fills its Markdown cell, and every cell with the tag follows one."""
    out = solutions(name)
    tagged = [
        c for c in NOTEBOOKS[name]["cells"] if "solution" in c["metadata"].get("tags", ())
    ]
    assert all(cell in out for cell in tagged)
    assert len(texts(name)) == len(tagged)
    fence = r"(`{3,})\{solution\} ex-[\w-]+\n.*\n\1"
    assert all(re.fullmatch(fence, text.strip(), re.DOTALL) for text in texts(name))


def texts(name: str) -> list[str]:
    """Return the Markdown of a notebook's solutions."""
    return [source(cell) for cell in solutions(name) if cell["cell_type"] == "markdown"]


def printed(output: dict[str, Any], page: bool) -> Any:
    """Return what an output prints in the notebook, or the text that it has on a page."""
    data = output.get("data", {})
    if page and "text/html" in data:
        return unescape(re.sub("<[^>]*>", "", "".join(data["text/html"])))
    return output.get("text") or data.get("text/plain", "")


def lines(cells: list[dict[str, Any]], page: bool = False) -> set[str]:
    """Return the lines of code cells and of what they print."""
    parts = []
    for cell in cells:
        if cell["cell_type"] == "code":
            out = [printed(output, page) for output in cell["outputs"]]
            parts += ["".join(part) for part in (cell["source"], *out)]
    return {line.strip() for part in parts for line in part.splitlines()}


# ---- the key ---------------------------------------------------------------------------------


@pytest.fixture
def app(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name in ("CFR_BOOK_SOLUTIONS", "CFR_BOOK_SOLUTIONS_KEY"):
        monkeypatch.delenv(name, raising=False)
    return SimpleNamespace(outdir=tmp_path / "_build" / "html", cfr_key=None)


def test_nothing_is_hidden_unasked(app: Any) -> None:
    sealed.find_key(app, Config())
    assert app.cfr_key == "" and not app.outdir.parent.exists()


def test_random_key_is_kept_beside_the_site(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFR_BOOK_SOLUTIONS", "hidden")
    sealed.find_key(app, Config())
    first = app.cfr_key
    assert len(first) == 20 and not app.outdir.exists()
    sealed.find_key(app, Config())
    assert app.cfr_key == first
    monkeypatch.setenv("CFR_BOOK_SOLUTIONS_KEY", KEY)
    sealed.find_key(app, Config())
    assert app.cfr_key == KEY


def test_hidden_solutions_stay_hidden(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until somebody says otherwise: `make kit` builds the site without the variable."""
    site = app.outdir.parent
    for name, value in (("", "hidden"), ("_KEY", KEY)):
        monkeypatch.setenv(f"CFR_BOOK_SOLUTIONS{name}", value)
        hidden = unsolved.key_of(site)
        monkeypatch.delenv(f"CFR_BOOK_SOLUTIONS{name}")
        sealed.find_key(app, Config())
        assert unsolved.key_of(site) == app.cfr_key == hidden != ""
        assert "source" in repository.words(None, repository.hidden(app))["source"]
        assert "href" not in repository.words(None, repository.hidden(app))["source"]
    monkeypatch.setenv("CFR_BOOK_SOLUTIONS", "open")
    sealed.find_key(app, Config())
    monkeypatch.delenv("CFR_BOOK_SOLUTIONS")
    assert unsolved.key_of(site) == "" and not list(site.iterdir())


@pytest.mark.parametrize("hidden", [True, False])
def test_later_builds_pack_no_solutions(
    app: Any, monkeypatch: pytest.MonkeyPatch, hidden: bool
) -> None:
    """By `make kit` and the others, which build the site first."""
    root = app.outdir.parents[1]
    place = app.outdir / "_static" / "python"
    place.mkdir(parents=True)
    for name in onpage.FILES:
        (place / name).touch()
    (root / "_build" / unsolved.KEPT).write_text(KEY * hidden, "utf-8")
    monkeypatch.setattr(onpage, "PLACE", place)
    monkeypatch.setattr(onpage, "OUT", root / "_build")
    assert onpage.main() == 0
    names = zipfile.ZipFile(place / "book.zip").namelist()
    assert any(name.startswith("cfrbook/exercises") for name in names) != hidden


@pytest.mark.parametrize("target", ["test", "test-quick", "test-slow"])
def test_tests_open_no_hidden_site(tmp_path: Path, target: str) -> None:
    """They need a site with solutions, and say so before they build one."""
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build" / unsolved.KEPT).write_text(KEY, "utf-8")
    (tmp_path / "pyproject.toml").write_bytes((ROOT / "pyproject.toml").read_bytes())
    command = ["make", "-f", ROOT / "Makefile", target]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode and "CFR_BOOK_SOLUTIONS=open make test" in done.stdout
    assert [path.name for path in (tmp_path / "_build").iterdir()] == [unsolved.KEPT]


@pytest.mark.parametrize(
    ("wish", "error"), [("hiden", "'hiden', not 'hidden'"), ("open", "'open' without a key")]
)
def test_unknown_wish_stops_the_build(
    app: Any, monkeypatch: pytest.MonkeyPatch, wish: str, error: str
) -> None:
    monkeypatch.setenv("CFR_BOOK_SOLUTIONS", wish)
    monkeypatch.setenv("CFR_BOOK_SOLUTIONS_KEY", KEY)
    with pytest.raises(ConfigError, match=error):
        sealed.find_key(app, Config())


def test_pages_with_solutions_are_not_kept(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    app.outdir.mkdir(parents=True)
    (app.outdir / "page.html").write_text('<div class="cell tag_solution">', "utf-8")
    sealed.find_key(app, Config())
    monkeypatch.setenv("CFR_BOOK_SOLUTIONS", "hidden")
    with pytest.raises(ConfigError, match="has pages with solutions"):
        sealed.find_key(app, Config())


def test_another_key_writes_all_pages_again(app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "OUT", app.outdir.parent)
    seen = set()
    for key in ("", "one", "two"):
        monkeypatch.setenv("CFR_BOOK_SOLUTIONS_KEY", key)
        seen.add(build.shared([]))
    assert len(seen) == 3


# ---- a book with hidden solutions ------------------------------------------------------------


def secrets(name: str) -> set[str]:
    """Return the sentences, code lines and printed lines of a page's solutions."""
    prose = [text.partition("\n\n")[2] for text in texts(name)]
    sentences = {part for text in prose for part in re.split(r"(?<=[.:;?!])\s+", text)}
    return {line for line in sentences | lines(solutions(name)) if len(line) > 24}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the pages in PAGES with hidden solutions, without running code."""
    home = tmp_path_factory.mktemp("sealed")
    built.copied(home)
    nb = json.loads((BOOK / "01_regret_matching.ipynb").read_text("utf-8"))
    answer = next(c for c in nb["cells"] if "solution" in c["metadata"].get("tags", ()))
    answer["outputs"].append(IMAGE)
    (home / "book" / "01_regret_matching.ipynb").write_text(json.dumps(nb), "utf-8")
    chapters = [{"file": f"book/{name}"} for name in PAGES[1:]]
    toc = {"format": "jb-book", "root": f"book/{PAGES[0]}", "chapters": chapters}
    hidden = {"CFR_BOOK_SOLUTIONS": "", "CFR_BOOK_SOLUTIONS_KEY": KEY}
    return built.another(home, yaml.safe_dump(toc), **hidden)


@pytest.fixture(scope="module")
def files(site: Path) -> dict[str, str]:
    """Return each file of the site as text, a page also as a reader sees it."""
    found = {}
    for path in site.rglob("*"):
        if path.is_file():
            text = path.read_text("utf-8", errors="replace")
            if path.suffix == ".html":
                text += BeautifulSoup(text, "html.parser").get_text()
            found[path.relative_to(site).as_posix()] = text
    return found


@pytest.fixture(scope="module")
def shown() -> str:
    """Return what the pages may show: everything but the solutions."""
    cells = [
        c for name in PAGES[1:] for c in sealed.without_solutions(NOTEBOOKS[name])["cells"]
    ]
    written = [source(cell) for cell in cells] + [
        json.dumps(cells, ensure_ascii=False, indent=1)
    ]
    return "\n".join([(BOOK / "index.md").read_text("utf-8"), *written, *lines(cells)])


@pytest.mark.slow
@pytest.mark.parametrize("name", PAGES[1:])
def test_no_file_has_a_line_of_a_solution(files: dict[str, str], shown: str, name: str) -> None:
    hidden = {line for line in secrets(name) if line not in shown}
    assert len(hidden) > 50
    assert {f"book/{name}.html", f"_sources/book/{name}.ipynb"} <= set(files)
    assert not {(p, line) for p, text in files.items() for line in hidden if line in text}


@pytest.mark.slow
def test_search_finds_no_word_of_a_solution(files: dict[str, str], shown: str) -> None:
    def stems(text: str) -> set[str]:
        return set(search.words(" ".join(re.findall("[A-Za-z]+", text))))

    index = json.loads(re.search(r"{.*}", files["_static/search/index.js"])[0])
    hidden = stems(" ".join(line for name in PAGES[1:] for line in secrets(name)))
    secret = hidden - stems(shown)
    assert len(secret) > 20 and not secret & set(index["words"])


@pytest.mark.slow
def test_neither_source_nor_images_of_solutions_are_in_the_site(site: Path) -> None:
    assert not list(site.rglob("*.zip"))
    assert base64.b64decode(PIXEL) not in {path.read_bytes() for path in site.rglob("*.png")}


@pytest.fixture
def tab() -> Iterator[Page]:
    with chromium.opened() as browser:
        yield browser.new_page()


@pytest.mark.slow
def test_key_opens_the_solutions_and_is_kept(site: Path, tab: Page) -> None:
    """In a folder, in Chromium; another key opens nothing."""
    problems: list[str] = []
    tab.on("pageerror", lambda error: problems.append(str(error)))
    tab.goto((site / "book" / "01_regret_matching.html").as_uri())
    boxes = tab.locator(".cfr-sealed")
    expect(boxes).to_have_count(len(texts("01_regret_matching")))
    boxes.first.locator("summary").click()
    for key, answer in (("another key", "That is not the key."), (KEY, None)):
        boxes.first.get_by_label("Key").fill(key)
        boxes.first.get_by_role("button", name="Open the solutions").click()
        if answer:
            expect(boxes.first.get_by_role("status")).to_have_text(answer)
    expect(tab.locator(".cfr-sealed[data-sealed]")).to_have_count(0)
    everything = tab.locator("article").text_content() or ""
    wanted = lines(solutions("01_regret_matching"), page=True)
    assert not [line for line in wanted if line not in everything]
    picture = boxes.first.locator("img")
    assert picture.evaluate("image => image.complete && image.naturalWidth") == 1
    tab.goto((site / "book" / "04_vanilla_cfr.html").as_uri())
    expect(tab.locator(".cfr-sealed[data-sealed]")).to_have_count(0)
    assert not problems


@pytest.mark.slow
def test_page_says_why_it_cannot_decrypt(site: Path, tab: Page) -> None:
    """As on a page with an http address, where browsers offer no cryptography."""
    tab.add_init_script("Object.defineProperty(crypto, 'subtle', {value: undefined})")
    tab.goto((site / "book" / "04_vanilla_cfr.html").as_uri())
    box = tab.locator(".cfr-sealed").first
    box.locator("summary").click()
    expect(box.get_by_role("status")).to_contain_text("an https address")
    expect(box.get_by_label("Key")).to_be_hidden()


@pytest.mark.slow
def test_page_has_fields_but_checks_nothing(site: Path, tab: Page) -> None:
    """A check needs the solution, which the page does not have."""
    tab.goto((site / "book" / "01_regret_matching.html").as_uri())
    form = tab.locator('form[data-exercise="1.2"]')
    expect(form.get_by_role("status")).to_contain_text("Your teacher checks this answer")
    expect(form.get_by_role("button", name="Check")).to_have_count(0)
    expect(tab.get_by_role("button", name="Download my answers")).to_be_visible()


# ---- the cipher ------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_solution_has_a_nonce_and_the_key_is_stretched() -> None:
    """By what the page's script does, with other functions: PBKDF2, then AES-GCM."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC

    nonces = set()
    for html in ("<p>Rock.</p>", "<p>Rock.</p>", "<p>Papier, größer</p>"):
        found = BeautifulSoup(sealed.field(KEY, html), "html.parser").div
        assert int(found["data-rounds"]) == 600_000  # OWASP's number for SHA-256
        salt, text = (base64.b64decode(found[f"data-{name}"]) for name in ("salt", "sealed"))
        assert len(salt) == 16
        stretched = PBKDF2HMAC(SHA256(), 32, salt, 600_000).derive(KEY.encode())
        assert AESGCM(stretched).decrypt(text[:12], text[12:], None).decode() == html
        nonces.add(text[:12])
    assert len(nonces) == 3


def test_sources_with_solutions_leave_the_site(app: Any) -> None:
    folder = app.outdir / "_sources" / "book"
    folder.mkdir(parents=True)
    secret = "````{solution} ex-one\nRock.\n````\n"
    cells = [
        {"cell_type": kind, "source": text, "metadata": {}}
        for kind, text in [
            ("markdown", "Ask."), ("markdown", secret), ("code", "rock"),
            ("markdown", "Go on."), ("code", "paper"),
        ]
    ]  # fmt: skip
    (folder / "page.ipynb").write_text(json.dumps({"cells": cells}), "utf-8")
    (folder / "secret.md").write_text(f"# Title\n\n{secret}", "utf-8")
    (folder / "plain.md").write_text("# Title\n", "utf-8")
    before = {path.name: path.read_text("utf-8") for path in folder.iterdir()}
    sealed.strip_sources(app, None)  # nothing is hidden
    app.cfr_key = KEY
    sealed.strip_sources(app, ValueError())  # the build failed
    assert {path.name: path.read_text("utf-8") for path in folder.iterdir()} == before
    sealed.strip_sources(app, None)
    assert sorted(path.name for path in folder.iterdir()) == ["page.ipynb", "plain.md"]
    left = json.loads((folder / "page.ipynb").read_text("utf-8"))["cells"]
    assert [source(cell) for cell in left] == ["Ask.", "Go on.", "paper"]
