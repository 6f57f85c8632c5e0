"""Results of experiments, as they are stored."""

import functools
import json
from pathlib import Path
from typing import Any

EXPERIMENTS = Path(__file__).parents[2] / "experiments"


@functools.cache
def recorded(name: str) -> Any:
    """Return the results of the script `experiments/{name}.py`, which tests must not modify."""
    return json.loads((EXPERIMENTS / f"{name}.json").read_text("utf-8"))
