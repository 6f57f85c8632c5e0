"""Point the launch buttons at the repository that the book is built from.

The address is the environment variable CFR_BOOK_REPOSITORY, else the git
remote `origin`, so a fork needs no editing. Without an address, or with one
on a host that Colab cannot read, there are no launch buttons, and the site
has its source beside it as a zip, unless its solutions are hidden.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from unsolved import key_of

# The tools that read the address do without Sphinx.
if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.config import Config

ADDRESS = re.compile(
    r"(?:(?:https?|ssh|git)://)?(?:[^/@]*@)?(?:www\.)?github\.com(?::\d+)?[/:]"
    r"(?P<owner>[\w.-]+)/(?P<name>[\w.-]+?)(?:\.git)?/?",
    re.IGNORECASE,
)
# What a notebook's first cell does on Colab to find its address, and then
LOOK_UP = re.compile(
    r"    from urllib\.parse import unquote\n.*?    branch = [^\n]*\n",
    re.DOTALL,
)
ZIP = "cfr-book-source.zip"
PIP = "%pip install -q git+{home}@{branch}"
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


def files(folder: Path) -> list[str]:
    """Return the files of the source, without what a build has made."""
    wanted = ("-z", "--cached", "--others", "--exclude-standard")
    if listed := git(folder, "ls-files", *wanted):
        return [name for name in listed.split("\0") if name]
    made = {"_build", "dist", "__pycache__"}
    return [
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.is_file()
        and not any(
            part in made or part.startswith((".venv", ".git"))
            for part in path.relative_to(folder).parts[:-1]
        )
    ]


class Unknown(LookupError):
    """The address of the repository is not known; the message says why."""


def place(folder: Path) -> tuple[str, str]:
    """Return the address of the repository on GitHub, and the branch."""
    inside_another = git(folder, "rev-parse", "--show-prefix")
    remote = (
        "" if inside_another else git(folder, "remote", "get-url", "origin")
    )
    address = os.environ.get("CFR_BOOK_REPOSITORY") or remote
    url = github(address)
    if url is None:
        raise Unknown(
            "it is not on github.com" if address else "there is no address"
        )
    branch = os.environ.get("CFR_BOOK_BRANCH") or git(
        folder, "branch", "--show-current"
    )
    return url, branch or "main"


def addressed(source: str, url: str, branch: str) -> str:
    """Write the address into a notebook's first cell, which looks it up.

    A copy in Google Drive cannot look it up.
    """
    known = f"{json.dumps(url)}, {json.dumps(branch)}"
    pip = f'"pip", "install -q git+{url}@{branch}"'
    source = LOOK_UP.sub(lambda _: f"    home, branch = {known}\n", source)
    source = source.replace(PIP, f"get_ipython().run_line_magic({pip})")
    return source.replace("https://github.com/OWNER/NAME", url)


def options(folder: Path) -> dict[str, Any]:
    """Return the theme's options on the repository, {} if it is unknown."""
    try:
        url, branch = place(folder)
    except Unknown as why:
        # printed: visible in quiet builds, yet no warning
        print(
            f"No launch buttons: {why}. Set CFR_BOOK_REPOSITORY to have them."
        )
        return {}
    return {
        "repository_url": url,
        "repository_branch": branch,
        "use_repository_button": True,
        "use_issues_button": True,
        "launch_buttons": LAUNCH,
    }


def words(url: str | None, hidden: bool) -> dict[str, str]:
    """Return what pages say about the source, and about faults."""
    if url:
        return {
            "source": f"[the source]({url})",
            "report": f"report it in the [issue tracker]({url}/issues)",
        }
    link = f'<a href="../{ZIP}" download>the source</a>'
    return {
        "source": "the source" if hidden else link,
        "report": "tell the person who gave you this book",
    }


def hidden(app: Sphinx) -> bool:
    """Return whether solutions are hidden, which the source would show."""
    return bool(key_of(Path(app.outdir).parent))


def point(app: Sphinx, config: Config) -> None:
    """Set the options before the theme reads them."""
    config.html_theme_options.update(options(Path(app.srcdir)))
    url = config.html_theme_options.get("repository_url")
    config.myst_substitutions = words(url, hidden(app))


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


def zip_source(app: Sphinx, exception: Exception | None) -> None:
    """Put the source beside the site if readers cannot get it elsewhere."""
    url = app.config.html_theme_options.get("repository_url")
    if exception or url or hidden(app) or app.builder.format != "html":
        return
    home = Path(app.srcdir)
    packed = zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(Path(app.outdir, ZIP), "w", packed) as archive:
        for name in sorted(files(home)):
            if (home / name).is_file():  # git may list a file that is gone
                archive.write(home / name, f"cfr-book/{name}")


def address_downloads(app: Sphinx, exception: Exception | None) -> None:
    """Write the address into the notebooks that readers can download."""
    url = app.config.html_theme_options.get("repository_url")
    if exception or not url:
        return
    branch = app.config.html_theme_options["repository_branch"]
    for path in Path(app.outdir, "_sources").rglob("*.ipynb"):
        nb = json.loads(path.read_text("utf-8"))
        for cell in nb["cells"]:
            if "remove-cell" in cell["metadata"].get("tags", []):
                source = addressed("".join(cell["source"]), url, branch)
                cell["source"] = source.splitlines(keepends=True)
        text = json.dumps(nb, indent=1, ensure_ascii=False) + "\n"
        path.write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; the theme adds its buttons at priority 501."""
    app.connect("config-inited", point)
    app.connect("html-page-context", only_notebooks, priority=600)
    app.connect("build-finished", address_downloads)
    app.connect("build-finished", zip_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
