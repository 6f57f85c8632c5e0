"""Take the solutions out of notebooks, for pages and homes that hide them."""

from __future__ import annotations

from typing import Any


def without_solutions(nb: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook without solutions and the code that follows them."""
    kept, inside = [], False
    for cell in nb["cells"]:
        if cell["cell_type"] == "markdown":
            inside = "{solution}" in "".join(cell["source"])
        if not inside:
            kept.append(cell)
    return nb | {"cells": kept}
