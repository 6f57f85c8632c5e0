"""Whether a site hides its solutions, and notebooks without them."""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import Any

NAMES = "CFR_BOOK_SOLUTIONS", "CFR_BOOK_SOLUTIONS_KEY"
KEPT = "solutions-key.txt"  # beside the folder of the pages


def key_of(build: Path) -> str:
    """Return the key to a site's solutions; "" if everybody sees them.

    The file of the key is what makes a site hide its solutions: it lasts
    until somebody sets CFR_BOOK_SOLUTIONS=open.

    Raises
    ------
    ValueError
        If the environment asks for something else.
    """
    wish, given = (os.environ.get(name, "").strip() for name in NAMES)
    kept = build / KEPT
    if wish not in ("", "hidden", "open") or (wish == "open" and given):
        ways = "'hidden', or 'open' without a key"
        raise ValueError(f"{NAMES[0]} is {wish!r}, not {ways}")
    if wish == "open":
        kept.unlink(missing_ok=True)
    elif given or (wish and not kept.exists()):
        build.mkdir(parents=True, exist_ok=True)
        kept.write_text(f"{given or secrets.token_urlsafe(15)}\n", "utf-8")
    return kept.read_text("utf-8").strip() if kept.exists() else ""


def without_solutions(nb: dict[str, Any]) -> dict[str, Any]:
    """Return a notebook without solutions and the code that follows them."""
    kept, inside = [], False
    for cell in nb["cells"]:
        if cell["cell_type"] == "markdown":
            inside = "{solution}" in "".join(cell["source"])
        if not inside:
            kept.append(cell)
    return nb | {"cells": kept}
