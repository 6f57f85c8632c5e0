"""Hide the solutions of exercises behind a key.

With CFR_BOOK_SOLUTIONS=hidden, or with a key in CFR_BOOK_SOLUTIONS_KEY, each
solution is encrypted where it stands, with all its code and outputs, and the
page asks for the key. `sealed.js` decrypts it in the browser. The key, by
default a random one, is written beside the folder of the pages, and later
builds hide the solutions as well, until CFR_BOOK_SOLUTIONS=open.
"""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
from functools import cache
from importlib.util import find_spec
from mimetypes import guess_type
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book_fixes import rewritten
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.writers.html5 import HTML5Translator
from sphinx_exercise.nodes import solution_node
from unsolved import key_of, without_solutions

if TYPE_CHECKING:  # a book that hides nothing does without this package
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

ROUNDS = 600_000  # of PBKDF2, for each try of a key
SALT = secrets.token_bytes(16)  # one for all pages of a build
SCRIPT = Path(__file__).with_suffix(".js")
# `div.cell` and `hide` are what the style sheet of folded cells asks for.
FIELD = """
<div class="cell container cfr-sealed" data-sealed="{text}"
 data-salt="{salt}" data-rounds="{rounds}">
<details class="admonition hide above-input"><summary>
<p class="collapsed admonition-title">Open the solutions</p>
<p class="expanded admonition-title">The solution</p></summary>
<div class="p-2"><form hidden>
<label>Key <input type="password" required autocomplete="off"></label>
<button>Open the solutions</button>
</form>
<p role="status">The solution is encrypted, and the key opens it with
JavaScript only.</p></div></details></div>
"""


class Sealed(nodes.comment):
    """A solution to be encrypted; the search index skips comments."""


# ---- the key ---------------------------------------------------------------


def shown_in(site: Path) -> bool:
    """Return whether an earlier build has written solutions that all see."""
    pages = (path.read_text("utf-8") for path in site.rglob("*.html"))
    return any("tag_solution" in page for page in pages)


def find_key(app: Sphinx, config: Config) -> None:
    """Store the key where the build finds it, but never in the site.

    Not a value of Sphinx's configuration: the site would hold its digest.
    """
    build = Path(app.outdir).parent
    try:
        app.cfr_key = key_of(build)
    except ValueError as wrong:
        raise ConfigError(str(wrong)) from wrong
    if not app.cfr_key:
        return
    if not find_spec("cryptography"):
        raise ConfigError(
            "to hide solutions: pip install -r requirements-classroom.txt"
        )
    if shown_in(Path(app.outdir)):
        raise ConfigError(
            f"{app.outdir} has pages with solutions that Sphinx keeps: "
            "use `make book`, or delete the folder"
        )


@cache
def cipher(key: str) -> AESGCM:
    """Return the cipher for a key that people can type."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

    return AESGCM(hashlib.pbkdf2_hmac("sha256", key.encode(), SALT, ROUNDS))


def field(key: str, html: str) -> str:
    """Return the field that opens a solution, with the solution encrypted."""
    nonce = secrets.token_bytes(12)
    text = nonce + cipher(key).encrypt(nonce, html.encode(), None)
    return FIELD.format(
        text=base64.b64encode(text).decode(),
        salt=base64.b64encode(SALT).decode(),
        rounds=ROUNDS,
    )


# ---- pages -----------------------------------------------------------------


def embed_images(node: nodes.Element, folder: Path) -> None:
    """Put images into the page, instead of into files that anybody reads."""
    for image in list(node.findall(nodes.image)):
        path = folder / image["uri"]
        data = base64.b64encode(path.read_bytes()).decode()
        element = nodes.Element(
            alt=image.get("alt", ""),
            src=f"data:{guess_type(path.name)[0]};base64,{data}",
        )
        html = f"<img {' '.join(element.starttag().split(' ')[1:])}"
        image.replace_self(nodes.raw("", html, format="html"))


def seal(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Collect each solution, and the code cells that follow it."""
    if not app.cfr_key:
        return
    if app.builder.format != "html":
        raise ConfigError("only HTML pages can hide solutions")
    for solution in list(doctree.findall(solution_node)):
        parent, sealed = solution.parent, Sealed()
        # the field is folded instead
        solution["classes"] = [
            c for c in solution["classes"] if c != "dropdown"
        ]
        place = parent.index(solution)
        end = place + 1
        while end < len(parent) and "cell" in parent[end].get("classes", ()):
            end += 1
        sealed += parent[place:end]
        parent[place:end] = [sealed]
        embed_images(sealed, Path(app.srcdir))


def visit_sealed(self: HTML5Translator, node: Sealed) -> None:
    """Write the solution apart from the page."""
    self.cfr_outside, self.body = self.body, []


def depart_sealed(self: HTML5Translator, node: Sealed) -> None:
    """Go on with the page, after the encrypted solution."""
    html = rewritten("".join(self.body))
    self.body = self.cfr_outside
    self.body.append(field(self.builder.app.cfr_key, html))


def add_script(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: object,
) -> None:
    """Add the script to pages with solutions."""
    if app.cfr_key and "cfr-sealed" in context.get("body", ""):
        app.add_js_file(None, body=SCRIPT.read_text("utf-8"))


# ---- sources ---------------------------------------------------------------


def strip_sources(app: Sphinx, exception: Exception | None) -> None:
    """Take the solutions out of the notebooks that readers can download."""
    if exception or not app.cfr_key:
        return
    for path in Path(app.outdir, "_sources").rglob("*.*"):
        text = path.read_text("utf-8")
        if path.suffix == ".ipynb":
            nb = without_solutions(json.loads(text))
            text = json.dumps(nb, indent=1, ensure_ascii=False) + "\n"
            path.write_text(text, "utf-8")
        if "{solution}" in text:
            path.unlink()


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(Sealed, html=(visit_sealed, depart_sealed))
    app.connect("config-inited", find_key)
    app.connect("doctree-resolved", seal, priority=900)
    app.connect("html-page-context", add_script)
    app.connect("build-finished", strip_sources)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
