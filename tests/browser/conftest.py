"""What the browser tests share: Chromium, the built book, and axe-core."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import npm
import pytest
from playing import Table, at_random
from playwright.sync_api import Browser, expect
from reader import OFFLINE, PHONE, Visit, built, pages, reading, serving, tool, with_explorables


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
    """Go page by page; look at all of a page before its sliders have been moved.

    All of these tests are slow, but `make test` has the one visit of every page, and those that
    are marked as quick.
    """
    for item in items:
        quick = item.path.stem == "test_visit" or item.get_closest_marker("quick")
        if item.path.parent == Path(__file__).parent and not quick:
            item.add_marker("slow")
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


@pytest.fixture(scope="session")
def served() -> Iterator[str]:
    """Return the address of the pages from a server, from which they run Python."""
    if not (built() / "_static" / "python" / "pyodide.mjs").exists():
        pytest.fail("this build has no Python: run `make book` with npm and a network")
    with serving() as site:
        yield f"{site}book/"


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


# A table of a game; a file that is about one of them names it TABLE.
@pytest.fixture(scope="module")
def kind(request: pytest.FixtureRequest) -> type[Table]:
    found: type[Table] = request.module.TABLE
    return found


@pytest.fixture(scope="module")
def played(chromium: Browser, kind: type[Table]) -> Iterator[Table]:
    """Return a table after some hands, half of them clicked, half typed."""
    table = kind.open(chromium)
    for seed, hands in enumerate(kind.HANDS, 1):
        table.play(hands, at_random(seed), keys=seed == 2)
    yield table
    table.page.context.close()


@pytest.fixture(scope="module")
def tab(chromium: Browser, kind: type[Table]) -> Iterator[Table]:
    table = kind.open(chromium)
    yield table
    table.page.context.close()


@pytest.fixture
def fresh(tab: Table) -> Iterator[Table]:
    """Return a table at which nobody has played; see that nothing goes wrong at it."""
    yield tab.again()
    assert tab.faults == []


@pytest.fixture
def sit_down(chromium: Browser, kind: type[Table]) -> Iterator[Callable[..., Table]]:
    """Open tables in windows of their own; see that nothing goes wrong at them."""
    tables: list[Table] = []

    def sit(page: str = "", **options: Any) -> Table:
        tables.append(kind.open(chromium, page, **options))
        return tables[-1]

    yield sit
    for table in tables:
        assert table.faults == []
        table.page.context.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """Return axe-core's script, which npm installs at the first use."""
    found = npm.modules(Path(__file__).parent / "package.json")
    return (found / "axe-core" / "axe.min.js").read_text("utf-8")
