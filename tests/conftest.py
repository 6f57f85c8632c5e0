"""What all library tests share: the hypothesis profile and the two reference games."""

import pytest
from hypothesis import settings

import cfrlib as cfr

settings.register_profile("cfrlib", derandomize=True, deadline=None, max_examples=60)
settings.load_profile("cfrlib")


@pytest.fixture
def kuhn():
    return cfr.games.KuhnPoker()


@pytest.fixture(scope="session")
def leduc():
    """Leduc poker, compiled once: a game is fixed, so tests may share it."""
    return cfr.games.LeducPoker()
