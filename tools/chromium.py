"""Find the Chromium that the browser tests and `make pdf` drive; print its path.

In this order: the program that CHROMIUM names, one on the PATH, one that Playwright has
installed for this user. On Debian and Ubuntu, run as root, the last resort is
`apt-get install chromium`. Nothing is downloaded from anywhere else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CURE = (
    "no Chromium was found and none could be installed. Install one (Debian and Ubuntu: "
    "`apt-get install chromium`; anywhere: `.venv/bin/playwright install chromium`), or say "
    "where yours is: CHROMIUM=/path/to/chromium make ..."
)


def present() -> str | None:
    """Return the path of a browser that is already there."""
    named = os.environ.get("CHROMIUM")
    if named:
        return shutil.which(named)
    for name in NAMES:
        if found := shutil.which(name):
            return found
    cache = Path(
        os.environ.get("PLAYWRIGHT_BROWSERS_PATH", Path.home() / ".cache/ms-playwright")
    )
    return next((str(path) for path in sorted(cache.glob("chromium-*/chrome-*/chrome"))), None)


def executable() -> str:
    """Return the path of a browser, installing Debian's if there is none.

    Raises
    ------
    RuntimeError
        If there is none and none can be installed; the message says what to do.
    """
    found = present()
    if found is None and not os.environ.get("CHROMIUM"):
        if shutil.which("apt-get") and os.geteuid() == 0:
            apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
            calm = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run([*apt, "update"], env=calm, check=False, stdout=sys.stderr)
            wanted = ["chromium", "fonts-dejavu-core"]  # a bare machine has no letters
            install = [*apt, "install", "-y", "--no-install-recommends", *wanted]
            subprocess.run(install, env=calm, check=False, stdout=sys.stderr)
        found = present()
    if found is None:
        raise RuntimeError(CURE)
    return found


if __name__ == "__main__":
    try:
        print(executable())
    except RuntimeError as error:
        sys.exit(str(error))
