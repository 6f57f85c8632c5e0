"""Find and start the Chromium that the browser tests and `make pdf` drive.

    python tools/chromium.py        print its path

The search order is: the program named by CHROMIUM, one on the PATH, one that Playwright has
installed for this user. On Debian and Ubuntu, run as root, the last resort is
`apt-get install chromium`. Nothing is downloaded from anywhere else.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import programs

if TYPE_CHECKING:  # Playwright need not be installed to find a browser
    from playwright.sync_api import Browser, BrowserContext

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
CURE = (
    "no Chromium was found and none could be installed. Install one (Debian and Ubuntu: "
    "`apt-get install chromium`; anywhere: `.venv/bin/playwright install chromium`), or set "
    "its path: CHROMIUM=/path/to/chromium make ..."
)

PATIENCE = 600_000  # milliseconds, enough for a slow machine


def present() -> str | None:
    """Return the path of an installed browser, or None."""
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
    """Return the path of a browser, installing Debian's if necessary.

    Raises
    ------
    RuntimeError
        If no browser is found and none can be installed; the message explains what to do.
    """
    found = present()
    if found is None and not os.environ.get("CHROMIUM"):
        programs.install("chromium", "fonts-dejavu-core")  # a bare machine has no fonts
        found = present()
    if found is None:
        raise RuntimeError(CURE)
    return found


@contextmanager
def opened(*arguments: str) -> Iterator[Browser]:
    """Run the browser, with extra command-line arguments, until the block ends."""
    from playwright.sync_api import sync_playwright

    path = executable()
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", *arguments], timeout=PATIENCE
        )
        yield browser
        browser.close()


def context(browser: Browser, **options: Any) -> BrowserContext:
    """Return a browser context with a time limit that a slow machine can meet.

    Playwright's own limit is half a minute.
    """
    made = browser.new_context(**options)
    made.set_default_timeout(PATIENCE)
    return made


if __name__ == "__main__":
    try:
        print(executable())
    except RuntimeError as error:
        sys.exit(str(error))
