"""Start the build's kernels as `tools/kernels.py` does, and wait as long."""

from __future__ import annotations

import sys
from pathlib import Path

import nbclient.client
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import kernels


def setup(app: Sphinx) -> dict[str, bool]:
    """Have `nbclient.execute`, which the build calls, take our client."""
    nbclient.client.NotebookClient = kernels.Client
    return {"parallel_read_safe": True, "parallel_write_safe": True}
