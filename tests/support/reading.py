"""Which entries of the stored results a page reads: `python reading.py 13_koi_koi.ipynb`.

Runs the code of the page and prints, for each file of experiments/ that it loads, the keys that
it looks up, each with its depth.
"""

import contextlib
import json
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CELL = re.compile(
    r"^```\{code-cell\}[^\n]*\n(?::[^\n]*\n)*(.*?)^```$", re.MULTILINE | re.DOTALL
)


class Read(dict[str, Any]):
    """A dictionary that remembers the keys whose values were asked for."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.keys_read: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        self.keys_read.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.keys_read.add(key)
        return super().get(key, default)

    def __iter__(self) -> Iterator[str]:  # so that {**this} asks for each value
        return super().__iter__()

    def values(self) -> Any:
        self.keys_read.update(self)
        return super().values()

    def items(self) -> Any:
        self.keys_read.update(self)
        return super().items()


def entries(found: Any, depth: int = 1) -> set[tuple[int, str]]:
    """Return the keys of nested dictionaries with their depth; of a `Read`, those read."""
    if isinstance(found, list):
        return set().union(*(entries(each, depth) for each in found))
    if not isinstance(found, dict):
        return set()
    asked = found.keys_read if isinstance(found, Read) else found.keys()
    below = {key: dict.__getitem__(found, key) for key in found.keys() & asked}
    return {(depth, key) for key in below}.union(
        *(entries(each, depth + 1) for each in below.values())
    )


def sources(page: Path) -> list[str]:
    """Return the code of a page, cell by cell, without the cell that installs the book."""
    text = page.read_text("utf-8")
    if page.suffix == ".md":
        return CELL.findall(text)
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    return [code for cell in cells if "%pip" not in (code := "".join(cell["source"]))]


def read_by(page: Path) -> dict[str, Read]:
    """Run a page; return what it loaded from experiments/."""
    from IPython.core.interactiveshell import InteractiveShell

    plain, texts, files = json.loads, {}, {}
    read_text = Path.read_text

    def noted(self: Path, *arguments: Any, **options: Any) -> str:
        text = read_text(self, *arguments, **options)
        if self.resolve().parent == ROOT / "experiments":
            texts[text] = self.name
        return text

    def loads(text: Any, *arguments: Any, **options: Any) -> Any:
        if (name := texts.get(text)) is None:
            return plain(text, *arguments, **options)
        return files.setdefault(name, plain(text, object_pairs_hook=Read))

    shell, code = InteractiveShell.instance(), sources(page)
    Path.read_text, json.loads = noted, loads  # type: ignore[method-assign]
    for source in code:
        shell.run_cell(source).raise_error()
    return files


if __name__ == "__main__":
    os.chdir(ROOT / "book")
    with contextlib.redirect_stdout(sys.stderr):
        found = {
            name: sorted(entries(file)) for name, file in read_by(Path(sys.argv[1])).items()
        }
    print(json.dumps(found))
