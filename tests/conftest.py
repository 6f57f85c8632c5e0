"""What all library tests share: the hypothesis profile and the two reference games."""

import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

import cfrlib as cfr

# Nothing in them is compiled, or imported by what is.
NO_KERNELS = {"exercises", "explore", "interop", "plot.py"}


def pytest_configure():
    """Hear Ctrl-C, which some tests press, and forget compiled kernels older than the sources.

    What a shell starts in the background ignores Ctrl-C. And Numba asks only for the file of a
    kernel itself, not for those of the kernels inside it.
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
    """Begin with the files that have most slow tests: a process takes a file at a time."""
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


# The same examples every time, but for `pytest --hypothesis-profile=fresh`: what the seed gives
# (`--hypothesis-seed=N`, as pytest reports it), and nothing remembered. Without `derandomize`,
# Hypothesis would take the same examples wherever it sees the variable CI.
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
