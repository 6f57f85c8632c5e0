"""Access to the built book; each page is parsed once for all tests."""

from __future__ import annotations

import functools
import os
import subprocess
from pathlib import Path

from bs4 import BeautifulSoup

ROOT = Path(__file__).parents[2]
HTML = ROOT / "_build" / "html"


def paths() -> list[Path]:
    """Return the pages of the built book, building it if necessary."""
    if not (HTML / "index.html").exists():
        environment = {name: value for name, value in os.environ.items() if "MAKE" not in name}
        subprocess.run(["make", "book"], cwd=ROOT, env=environment, check=True)
    return [path for path in HTML.rglob("*.html") if "_static" not in path.parts]


@functools.cache
def page(path: Path) -> BeautifulSoup:
    """Return a parsed page, which the tests share and must not modify."""
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")
