"""The troubleshooting page quotes the current messages of the book's code."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import chromium
import nbformat
import programs
import pytest
from notebooks import HOSTED

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "book" / "troubleshooting.md").read_text("utf-8")
ENTRIES = re.split(r"^\([\w-]+\)=\n## ", PAGE, flags=re.MULTILINE)[1:]
NEEDS = """
import sys
sys.modules["{module}"] = None
import cfrlib
try:
    {code}
except ModuleNotFoundError as error:
    print(f"ModuleNotFoundError: {{error}}")
"""


def output_of(*command: str, **environment: str) -> str:
    """Return the output of a command, stdout then stderr."""
    inherited = {name: value for name, value in os.environ.items() if "MAKE" not in name}
    done = subprocess.run(
        command, cwd=ROOT, env=inherited | environment, capture_output=True, text=True
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.partition("\n")[0])
def test_entry_has_cause_remedy_and_test_status(entry: str) -> None:
    marks = re.findall(r"^\*\*(.*?)\*\*", entry, re.MULTILINE)
    assert marks[:-1] == ["Why.", "What to do."] and marks[-1] in ("Tried", "Not tried")


def make_with(folder: Path, python: str) -> list[str]:
    """Run `make book` with a script in place of Python; return what it prints."""
    path = folder / "python3"
    path.write_text(f"#!/bin/sh\n{python}\n")
    path.chmod(0o755)
    answer = output_of("make", "book", f"PYTHON={path}", f"VENV={folder / 'venv'}")
    return answer.strip().splitlines()


def test_make_rejects_old_python(tmp_path: Path) -> None:
    first, second = make_with(tmp_path, "exit 1")
    assert first in PAGE
    assert re.sub(r"\d+: \S+", "", second) in re.sub(r"\d+: \.\S+", "", PAGE)


IS_NEW = '[ "$1" = -c ] && exit 0\n'


def test_failed_venv_is_removed(tmp_path: Path) -> None:
    """Debian without python3-venv creates an environment with Python but without pip."""
    bare = tmp_path / "venv" / "bin"
    first, second = make_with(
        tmp_path, f"{IS_NEW}mkdir -p {bare} && touch {bare}/python && exit 1"
    )
    assert first in PAGE and "Error 1" in second
    assert not (tmp_path / "venv").exists()


def test_venv_without_python_is_recreated(tmp_path: Path) -> None:
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv" / ".made").touch()
    assert "asked" in make_with(tmp_path, f"{IS_NEW}echo asked >&2; exit 1")


def test_messages_of_the_sandbox_and_of_colab_are_on_the_page() -> None:
    message = re.search(r'assert .*, "(.*)"', HOSTED)
    assert message and f"AssertionError: {message[1]}" in PAGE
    assert programs.SANDBOX in PAGE and programs.FORBIDDEN in PAGE


def test_missing_chromium_message_is_on_the_page() -> None:
    answer = output_of(sys.executable, "tools/chromium.py", CHROMIUM="/nowhere")
    assert answer.strip() == chromium.CURE and answer in PAGE


@pytest.mark.parametrize(
    ("module", "code"),
    [("jax", "cfrlib.deep"), ("pyspiel", 'cfrlib.from_open_spiel("kuhn_poker")')],
)
def test_missing_package_message_is_on_the_page(module: str, code: str) -> None:
    program = NEEDS.format(module=module, code=code)
    assert output_of(sys.executable, "-c", program, PYTHONPATH=str(ROOT)) in PAGE


def test_explorable_repr_on_the_page_is_current() -> None:
    line = re.search(r"^Explorable\(.*\)$", PAGE, re.MULTILINE)
    nb = nbformat.read(ROOT / "book" / "01_regret_matching.ipynb", as_version=4)
    assert line and line[0] in str([cell.get("outputs") for cell in nb.cells])
