"""Run the build's notebooks with the client of `tools/kernels.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import nbclient.client
from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import kernels


def setup(app: Sphinx) -> dict[str, bool]:
    """Make `nbclient.execute`, which the build calls, use that client."""
    nbclient.client.NotebookClient = kernels.Client
    return {"parallel_read_safe": True, "parallel_write_safe": True}
