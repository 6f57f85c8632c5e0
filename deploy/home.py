"""Copy what a student's home does not have yet: the book and the released assignments.

    python3 deploy/home.py HOME [RELEASES]

A hub runs this at each start of a student's server, with the Python of its image. Files that a
student has stay as they are. With CFR_BOOK_SOLUTIONS=hidden, notebooks come without solutions.
Only what the pages use is copied: not the quiz, its key and the solved worksheets.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SOURCE / "book" / "_ext"))
from unsolved import without_solutions  # noqa: E402

COPIED = ("book", "benchmarks", "experiments")


def copy(source: Path, target: Path) -> None:
    """Copy a file if its target does not exist; hide solutions if the environment says so."""
    if target.exists():
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    if os.environ.get("CFR_BOOK_SOLUTIONS") == "hidden" and source.suffix == ".ipynb":
        nb = without_solutions(json.loads(source.read_text("utf-8")))
        target.write_text(json.dumps(nb, indent=1, ensure_ascii=False) + "\n", "utf-8")
    else:
        shutil.copyfile(source, target)


def main(home: str, releases: str = "") -> None:
    """Fill a home."""
    for name in COPIED:
        for path in (SOURCE / name).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                copy(path, Path(home) / path.relative_to(SOURCE))
    for path in Path(releases).glob("*.ipynb") if releases else ():
        copy(path, Path(home) / "assignments" / path.name)


if __name__ == "__main__":
    main(*sys.argv[1:])
