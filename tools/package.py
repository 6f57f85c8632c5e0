"""Make what a release has: the package, checked for PyPI, and the built site as one zip.

    python tools/package.py

The addresses in the package's metadata are not written down anywhere: they are those that the
book's pages use, CFR_BOOK_REPOSITORY (or the git remote `origin`) and CFR_BOOK_URL. What is
unknown is left out. Relative links of the README, which lead nowhere on PyPI, become absolute,
or plain text.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urljoin

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
import repository  # noqa: E402

FILES = ("pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff")
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:)([^)#]+)\)")  # to a file of the repository


def urls(source: str | None, branch: str, site: str) -> str:
    """Return the table `project.urls` of pyproject.toml, or "" if nothing is known."""
    found = {"Book": site}
    if source:
        found |= {
            "Source": source,
            "Issues": f"{source}/issues",
            "Changelog": f"{source}/blob/{branch}/CHANGELOG.md",
        }
    lines = [f'{name} = "{url}"' for name, url in found.items() if url]
    return "\n".join(["", "[project.urls]", *lines, ""]) if lines else ""


def readme(text: str, source: str | None, branch: str) -> str:
    """Return the README with absolute links, or with their text if there is no address."""

    def link(found: re.Match[str]) -> str:
        picture, words, path = found.groups()
        if not source:
            return "" if picture else words
        kind = "raw" if picture else "blob"
        # `../../actions` is how a README on GitHub names the repository's actions
        url = urljoin(f"{source}/{kind}/{branch}/", path)
        return f"{picture}[{words}]({url})"

    return LINK.sub(link, text)


def main() -> None:
    """Run the command line; `build` and `twine` are those beside this Python."""
    known = repository.options(ROOT)
    source, branch = known.get("repository_url"), known.get("repository_branch", "main")
    out = ROOT / "dist"
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        for name in FILES:
            shutil.copy(ROOT / name, copy)
        ignored = shutil.ignore_patterns("__pycache__")
        for package in ("cfrlib", "cfrbook", "koikoi"):
            shutil.copytree(ROOT / package, copy / package, ignore=ignored)
        site = os.environ.get("CFR_BOOK_URL", "")
        with (copy / "pyproject.toml").open("a", encoding="utf-8") as file:
            file.write(urls(source, branch, site))
        text = (copy / "README.md").read_text("utf-8")
        (copy / "README.md").write_text(readme(text, source, branch), "utf-8")
        subprocess.run([sys.executable, "-m", "build", "--outdir", out, copy], check=True)
    made = sorted(out.iterdir())
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *made], check=True)
    html = ROOT / "_build" / "html"
    if html.exists():
        shutil.make_archive(str(ROOT / "_build" / "cfr-book"), "zip", html.parent, html.name)


if __name__ == "__main__":
    main()
