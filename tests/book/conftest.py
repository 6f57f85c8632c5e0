"""Let the tests import the project's tools and the tests' support modules."""

import sys
from pathlib import Path

for folder in ("tools", "tests/support"):
    sys.path.insert(0, str(Path(__file__).parents[2] / folder))
