"""Point the launch buttons at the repository that the book is built from.

The address is the environment variable CFR_BOOK_REPOSITORY, else the git
remote `origin`, so a fork needs no editing. Without an address, or with one
on a host that Colab cannot read, there are no launch buttons.
"""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

# The tools that read the address do without Sphinx.
if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^/@]*@)?(?:www\.)?github\.com(?::\d+)?[/:]"
    r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?",
    re.IGNORECASE,
)
LAUNCH = {
    "notebook_interface": "jupyterlab",
    "binderhub_url": "https://mybinder.org",
    "colab_url": "https://colab.research.google.com",
}


def github(address: str) -> str | None:
    """Return the GitHub page of a repository for any form of its address.

    Credentials in the address are dropped.
    """
    found = ADDRESS.fullmatch(address.strip())
    return (
        f"https://github.com/{found['owner']}/{found['name']}"
        if found
        else None
    )


def git(folder: Path, *arguments: str) -> str:
    """Return git's output, or "" if git is missing or fails."""
    command = ["git", "-C", str(folder), *arguments]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def options(folder: Path) -> dict[str, Any]:
    """Return the theme's options on the repository, {} if it is unknown."""
    inside_another = git(folder, "rev-parse", "--show-prefix")
    remote = (
        "" if inside_another else git(folder, "remote", "get-url", "origin")
    )
    address = os.environ.get("CFR_BOOK_REPOSITORY") or remote
    url = github(address)
    if url is None:
        why = "it is not on github.com" if address else "there is no address"
        # printed: visible in quiet builds, yet no warning
        print(
            f"No launch buttons: {why}. Set CFR_BOOK_REPOSITORY to have them."
        )
        return {}
    branch = os.environ.get("CFR_BOOK_BRANCH") or git(
        folder, "branch", "--show-current"
    )
    return {
        "repository_url": url,
        "repository_branch": branch or "main",
        "use_repository_button": True,
        "use_issues_button": True,
        "launch_buttons": LAUNCH,
    }


def point(app: Sphinx, config: Config) -> None:
    """Set the options before the theme reads them."""
    config.html_theme_options.update(options(Path(app.srcdir)))


def only_notebooks(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: object,
) -> None:
    """Remove the launch buttons from Markdown, which the hosts cannot run."""
    if not app.env.doc2path(page).endswith(".ipynb"):
        buttons = context.get("header_buttons", [])
        buttons[:] = [
            b for b in buttons if b.get("label") != "launch-buttons"
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; the theme adds its buttons at priority 501."""
    app.connect("config-inited", point)
    app.connect("html-page-context", only_notebooks, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
