"""Shared configuration of the library tests: hypothesis profiles, order, fixtures."""

import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

import cfrlib as cfr

# Parts of cfrlib that contain no kernel and that no kernel imports
NO_KERNELS = {"bugs", "exercises", "explore", "interop", "plot"}


def pytest_configure():
    """Enable SIGINT, which some tests send, and delete cached kernels older than the sources.

    A process that a shell starts in the background ignores SIGINT. Numba's cache notices a
    change in a kernel's own file, but not in the kernels that it calls.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    library = Path(cfr.__file__).parent
    newest = max(
        path.stat().st_mtime
        for path in library.rglob("*.py")
        if path.relative_to(library).parts[0] not in NO_KERNELS
    )
    for path in library.rglob("*.nbi"):
        if path.stat().st_mtime < newest:
            path.unlink(missing_ok=True)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Run the files with most slow tests first: each process takes a file at a time."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


# Examples are the same in every run, except with `--hypothesis-profile=fresh`: then they depend
# on `--hypothesis-seed=N`, which pytest reports, and are not stored. `derandomize=False` is
# explicit because Hypothesis would derandomize if the variable CI is set.
settings.register_profile("cfrlib", derandomize=True, deadline=None, max_examples=60)
settings.register_profile(
    "fresh", derandomize=False, deadline=None, max_examples=60, database=None
)
settings.load_profile("cfrlib")


@pytest.fixture
def kuhn():
    return cfr.games.KuhnPoker()


@pytest.fixture(scope="session")
def leduc():
    """Leduc poker, compiled once: a game is fixed, so tests may share it."""
    return cfr.games.LeducPoker()
