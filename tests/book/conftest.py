"""Let the tests import the project's tools and the tests' support modules."""

import sys
from pathlib import Path

for folder in ("tools", "tests/support", "book/_ext"):
    sys.path.insert(0, str(Path(__file__).parents[2] / folder))

import pytest  # noqa: E402

# Fixtures that build a book, a kit or a PDF, or run notebooks: whatever needs one is slow.
BUILT = {"site", "made", "book", "shorter", "executed"}


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder that need such a fixture."""
    here = Path(__file__).parent
    for item in items:
        if item.path.parent == here and BUILT & set(getattr(item, "fixturenames", ())):
            item.add_marker("slow")
