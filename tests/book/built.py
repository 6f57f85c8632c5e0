"""Access to the built book; each page is parsed once for all tests."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
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


def copied(home: Path) -> None:
    """Copy the book's sources to a folder, set up so that a build runs no code."""
    shutil.copytree(ROOT / "book", home / "book")
    for name in ("tools", "cfrlib", "benchmarks", "experiments", "teaching", "CITATION.cff"):
        (home / name).symlink_to(ROOT / name)
    config = yaml.safe_load((ROOT / "_config.yml").read_text("utf-8"))
    config["execute"] = {"execute_notebooks": "off"}
    (home / "_config.yml").write_text(yaml.safe_dump(config), "utf-8")


def another(home: Path, toc: str, *options: str, **environment: str) -> Path:
    """Build such a copy with this table of contents; return its site."""
    (home / "_toc.yml").write_text(toc, "utf-8")
    tool = Path(sys.executable).with_name("jupyter-book")
    paths = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": paths} | environment
    command = [tool, "build", home, "--quiet", *options]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return home / "_build" / "html"
