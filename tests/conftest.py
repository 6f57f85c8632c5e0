"""Shared configuration of the library tests: hypothesis profiles, order, fixtures."""

import signal
from collections import Counter

import pytest
from hypothesis import settings

import cfrlib as cfr


def pytest_configure():
    """Enable SIGINT, which some tests send: a process in the background ignores it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


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
