"""Tests of the site: launch buttons, hosted notebooks, downloads, descriptions."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import sys
import types
from pathlib import Path
from typing import Any

import built
import pytest
from bs4 import BeautifulSoup, Tag
from built import HTML
from fontTools.ttLib import TTFont
from IPython.core.inputtransformer2 import TransformerManager
from notebooks import HOSTED, NETWORKS
from sphinx.config import Config

ROOT = Path(__file__).parents[2]
CHAPTERS = sorted((ROOT / "book").glob("[0-9][0-9]_*.ipynb"))

import lean  # noqa: E402
import repository  # noqa: E402
import social  # noqa: E402
from chapters import Chapter  # noqa: E402

# ---- launch buttons --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "address",
    [
        "https://github.com/some-one/a.book",
        "https://github.com/some-one/a.book.git",
        "https://user:secret@github.com/some-one/a.book.git",
        "https://token:s%40cret@GitHub.com:443/some-one/a.book",
        "git@github.com:some-one/a.book.git",
        "ssh://git@github.com/some-one/a.book",
        "ssh://git@github.com:22/some-one/a.book.git",
        " https://github.com/some-one/a.book/\n",
    ],
)
def test_github_normalizes_addresses(address: str) -> None:
    assert repository.github(address) == "https://github.com/some-one/a.book"


@pytest.mark.parametrize(
    "address",
    ["", "/srv/git/book.git", "https://example.org/o/r", "https://github.com/o",
     "https://notgithub.com/o/r", "https://example.org/github.com/o/r",
     "https://github.com@example.org/o/r", "https://example.org/me@github.com/o/r",
     "https://github.com.example.org/o/r", "https://github.com/o/r/tree/main"],
)  # fmt: skip
def test_github_rejects_other_hosts(address: str) -> None:
    assert repository.github(address) is None


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a repository with a remote; unset the environment variables."""
    for name in ("CFR_BOOK_REPOSITORY", "CFR_BOOK_BRANCH"):
        monkeypatch.delenv(name, raising=False)
    repository.git(tmp_path, "init", "--initial-branch", "spring")
    repository.git(tmp_path, "remote", "add", "origin", "git@github.com:fork/book.git")
    return tmp_path


def test_environment_overrides_git_remote(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = repository.options(clone)
    places = found["repository_url"], found["repository_branch"]
    assert places == ("https://github.com/fork/book", "spring")
    assert found["launch_buttons"]["notebook_interface"] == "jupyterlab"
    monkeypatch.setenv("CFR_BOOK_REPOSITORY", "https://github.com/main/book")
    monkeypatch.setenv("CFR_BOOK_BRANCH", "v1")
    found = repository.options(clone)
    places = found["repository_url"], found["repository_branch"]
    assert places == ("https://github.com/main/book", "v1")


def test_no_address_means_no_launch_buttons(
    clone: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    repository.git(clone, "remote", "remove", "origin")
    assert repository.options(clone) == {}
    assert "there is no address. Set CFR_BOOK_REPOSITORY" in capsys.readouterr().out
    monkeypatch.setenv("CFR_BOOK_REPOSITORY", "https://example.org/o/r")
    assert repository.options(clone) == {}
    assert "not on github.com" in capsys.readouterr().out


def test_enclosing_repository_is_ignored(clone: Path) -> None:
    copy = clone / "lecture" / "book"
    copy.mkdir(parents=True)
    assert repository.options(copy) == {}


# ---- hosted notebooks ------------------------------------------------------------------------


def run_hosted(monkeypatch: pytest.MonkeyPatch, path: str | None) -> list[str]:
    """Run the first cell on a fake Colab (or none, if path is None); return %pip's calls."""
    calls: list[str] = []
    names: dict[str, Any] = {}

    def magic(name: str, line: str) -> None:  # IPython expands {expressions}
        calls.append(f"{name} {re.sub(r'{(.*?)}', lambda m: str(eval(m[1], names)), line)}")

    if path is not None:
        response = types.SimpleNamespace(json=lambda: [{"path": path}])
        requests = types.SimpleNamespace(get=lambda address: response)
        monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
        monkeypatch.setitem(sys.modules, "requests", requests)
    names["get_ipython"] = lambda: types.SimpleNamespace(run_line_magic=magic)
    exec(TransformerManager().transform_cell(HOSTED), names)
    return calls


def test_first_cell_says_how_to_get_a_missing_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outside of Colab it does nothing else."""
    assert run_hosted(monkeypatch, None) == []
    missing = r"cfrlib is missing: .*make lab.*%pip install"
    monkeypatch.setitem(sys.modules, "cfrlib", None)
    with pytest.raises(ModuleNotFoundError, match=missing):
        run_hosted(monkeypatch, None)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs JAX.*pip install jax flax optax"):
        exec(NETWORKS, {"importlib": importlib})


@pytest.mark.parametrize("branch", ["main", "fix/typo"])
def test_first_cell_installs_on_colab(monkeypatch: pytest.MonkeyPatch, branch: str) -> None:
    place = f"github.com/fork/book/blob/{branch}/book/01_regret_matching.ipynb".replace(
        "/", "%2F"
    )
    calls = run_hosted(monkeypatch, f"fileId=https%3A%2F%2F{place}")
    assert calls == [f"pip install -q git+https://github.com/fork/book@{branch}"]


def test_first_cell_rejects_copies_from_drive(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(AssertionError, match="open this page from its repository"):
        run_hosted(monkeypatch, "fileId=1aBcD")


def test_a_downloaded_page_installs_itself_in_a_copy_from_drive(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    calls: list[tuple[str, ...]] = []
    (tmp_path / "_sources").mkdir()
    file = tmp_path / "_sources" / "a.ipynb"
    cell = {"metadata": {"tags": ["remove-cell"]}, "source": HOSTED.splitlines(keepends=True)}
    file.write_text(json.dumps({"cells": [cell, {"metadata": {}, "source": ["1\n"]}]}))
    theme = {"repository_url": "https://github.com/o/r", "repository_branch": "fall"}
    config = types.SimpleNamespace(html_theme_options=theme)
    app: Any = types.SimpleNamespace(config=config, outdir=tmp_path)
    for _ in range(2):  # pages that did not change are addressed already
        repository.address_downloads(app, None)
    first, second = json.loads(file.read_text())["cells"]
    assert second["source"] == ["1\n"]
    monkeypatch.setitem(sys.modules, "google.colab", types.ModuleType("google.colab"))
    shell = types.SimpleNamespace(run_line_magic=lambda *line: calls.append(line))
    exec("".join(first["source"]), {"get_ipython": lambda: shell})
    assert calls == [("pip", "install -q git+https://github.com/o/r@fall")]
    theme.clear()
    repository.address_downloads(app, None)


# ---- built pages -----------------------------------------------------------------------------


def page(name: str) -> BeautifulSoup:
    return built.page(HTML / "book" / f"{name}.html")


@pytest.mark.parametrize("path", CHAPTERS, ids=lambda path: path.stem)
def test_chapter_page_links_the_committed_notebook(path: Path) -> None:
    """The notebook tests run the committed notebook; the download knows the address."""
    links = page(path.stem).select('a[href$=".ipynb"]:not([href^="http"])')
    assert links
    for link in links:
        target = (HTML / "book" / str(link["href"])).resolve()
        cells = [json.loads(p.read_text("utf-8"))["cells"] for p in (target, path)]
        for cell, committed in zip(*cells, strict=True):
            hosted = "remove-cell" in committed["metadata"].get("tags", [])
            assert hosted or cell == committed


def test_pages_have_meta_descriptions() -> None:
    for path in CHAPTERS:
        head = page(path.stem).head
        assert isinstance(head, Tag)
        found = {
            str(m.get("property") or m.get("name")): m.get("content") for m in head("meta")
        }
        assert found["og:title"] and found["og:description"] == found["description"]
        assert 40 < len(str(found["description"])) <= social.LONGEST + 2
        addressed = bool(os.environ.get("CFR_BOOK_URL"))
        assert ("og:image" in found) == addressed, "a picture needs the address of the site"


def test_social_picture_has_absolute_address() -> None:
    words = social.tags('A "title"', "About", "book/index", "https://example.org/cfr")
    assert 'property="og:image" content="https://example.org/cfr/_static/cover.png"' in words
    assert 'content="A &quot;title&quot;"' in words and "summary_large_image" in words
    assert (HTML / "_static" / "cover.png").stat().st_size < 150_000


def test_root_describes_the_book_and_leads_to_it() -> None:
    root = built.page(HTML / "index.html")
    assert root.title and root.title.get_text().startswith("Counterfactual Regret Minimization")
    assert root.select('meta[http-equiv="refresh"][content="0; url=book/index.html"]')
    assert [link["href"] for link in root.select("a")] == ["book/index.html"]
    for name in ("og:title", "og:description"):
        (tag,) = root.select(f'meta[property="{name}"]')
        assert tag["content"] == page("index").select(f'meta[property="{name}"]')[0]["content"]


def test_what_needs_an_address_is_absent_without_one() -> None:
    addressed = bool(os.environ.get("CFR_BOOK_URL"))
    for name in ("404.html", "sitemap.xml", "robots.txt"):
        assert (HTML / name).exists() == addressed
    for path in CHAPTERS:
        found = page(path.stem).select('link[rel="canonical"], meta[name^="citation_"]')
        assert bool(found) == addressed


def test_pages_have_one_main_heading_and_one_viewport() -> None:
    for path in built.paths():
        found = built.page(path)
        assert len(found.select('meta[name="viewport"]')) == 1, path
        assert len(found.select("h1")) == 1, path


def test_script_of_data_ends_nowhere_else() -> None:
    chapter = Chapter("01_one", "A </script> title", "read", frozenset(), 30)
    config = Config({"project": "Book", "author": "A", "copyright": "2026"})
    config.add("html_title", "Book", "html", str)
    config.add("html_baseurl", "https://example.org", "html", str)
    words = social.citation(chapter, "About", "https://example.org/one", config)
    assert words.count("</script>") == 1


def test_benchmarks_page_shows_committed_results() -> None:
    """The page shows the machine, the date and every row of results.json."""
    result = json.loads((ROOT / "benchmarks" / "results.json").read_text("utf-8"))
    text = " ".join(page("benchmarks").get_text(" ").split())
    assert result["machine"]["date"][:10] in text and result["machine"]["cpu"] in text
    rows = [
        [" ".join(cell.get_text().split()) for cell in row(["th", "td"])]
        for row in page("benchmarks").select("tr")
    ]
    for pair in result["pairs"]:
        ratio = f"{pair['ratio']:.0f}" if pair["reach"] > 1 else f"{1 / pair['ratio']:.2f}"
        assert any(ratio in row for row in rows), pair["what"]
    for limit in result["limits"]:
        assert any(row and row[0] == limit["what"] for row in rows), limit["what"]


def test_icons_that_only_a_style_shows_are_in_the_reduced_font(tmp_path: Path) -> None:
    font = HTML / "_static" / f"{lean.FONT}.ttf"
    (tmp_path / font.parent.relative_to(HTML / "_static")).mkdir(parents=True)
    shutil.copy(font, tmp_path / f"{lean.FONT}.ttf")
    (tmp_path / "theme.css").write_text(
        '@font-face{src:url(fa-solid-900.woff2) format("woff2"),url(fa.ttf) format("truetype")}'
        '.fa-bars:before{content:"\\f0c9"}.fa-bell:before{content:"\\f0f3"}'
        ':root{--icon-bulb: "\uf0eb"}'
    )
    (tmp_path / "exercise.css").write_text('p::after {\n  content: "\\f303";\n}')
    lean.keep_used_icons(tmp_path, '<i class="fa-solid fa-bars"></i>')
    kept = TTFont(tmp_path / f"{lean.FONT}.woff").getBestCmap()
    assert set(kept) == {0xF0C9, 0xF0EB, 0xF303}
