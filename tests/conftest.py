"""What all library tests share: the hypothesis profile and the two reference games."""

from pathlib import Path

import pytest
from hypothesis import settings

import cfrlib as cfr


def pytest_configure():
    """Forget compiled kernels older than the sources.

    Numba asks only for the file of a kernel itself, not for those of the kernels inside it.
    """
    sources = Path(cfr.__file__).parent
    newest = max(path.stat().st_mtime for path in sources.rglob("*.py"))
    for path in sources.rglob("*.nbi"):
        if path.stat().st_mtime < newest:
            path.unlink(missing_ok=True)


settings.register_profile("cfrlib", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("cfrlib")


@pytest.fixture
def kuhn():
    return cfr.games.KuhnPoker()


@pytest.fixture(scope="session")
def leduc():
    """Leduc poker, compiled once: a game is fixed, so tests may share it."""
    return cfr.games.LeducPoker()
