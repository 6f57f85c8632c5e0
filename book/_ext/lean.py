"""Pages that answer soon: fewer elements, and no file that nobody uses.

Highlighted code was two thirds of a chapter's elements. Now only tokens that
stand out have an element, and the code in closed folds has none: it is text,
which `folds.js` colors when its fold opens. Pages without formulas do not
load MathJax, and of the theme's icons the pages load those that they show.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fontTools import subset
from pygments.formatters import HtmlFormatter
from pygments.token import Name, Operator, Punctuation, Text, _TokenType
from sphinx.application import Sphinx
from sphinx.highlighting import PygmentsBridge

# Tokens that look like plain text; of the operators, words are keywords.
PLAIN = {Name, Name.Namespace, Operator, Punctuation, Text.Whitespace}

HAS_FORMULAS = re.compile(r'class="(?:[^"]* )?math[ "]')
MATHJAX = re.compile(
    r"\n *<script>window\.MathJax = .*?</script>"
    r'|\n *<script [^>]*src="[^"]*(?:tex-chtml|formulas)\.js[^>]*></script>'
)
FOLDED = re.compile(
    r'<details class="admonition hide.*?</details>', re.DOTALL
)
CODE = re.compile(
    r"<pre>((?:<span></span>)?)([^<]*<span.*?)</pre>", re.DOTALL
)
TOKEN = re.compile(r'<span class="(\w+)">([^<]*)</span>|([^<]+)')

ICON = re.compile(r'([^{}]*)\{content:"\\([0-9a-f]+)"')
CLASS = re.compile(r"\bfa-([\w-]+)")
# what a rule without such a class shows, as the head of an exercise does
GLYPH = re.compile(r"""["'](?:\\([ef][0-9a-f]{3})|([\ue000-\uf8ff]))["']""")
FONT = "vendor/fontawesome/webfonts/fa-solid-900"
FONT_SOURCE = re.compile(
    r"url\(([^()]*fa-solid-900)\.woff2\) *format\(.woff2.\),"
    r" *url\([^()]*\) *format\(.truetype.\)"
)


class Sparse(HtmlFormatter):  # type: ignore[type-arg]
    """A formatter that leaves plain tokens without an element."""

    def format_unencoded(
        self, tokensource: Iterator[tuple[_TokenType, str]], outfile: Any
    ) -> None:
        """Write tokens as HTML."""
        tokens = (
            (Text if kind in PLAIN else kind, text)
            for kind, text in tokensource
        )
        super().format_unencoded(tokens, outfile)


def uncolored(found: re.Match[str]) -> str:
    """Replace the elements of a piece of code by a list of their places."""
    start, code = found.groups()
    runs, text = [], ""
    for token in TOKEN.finditer(code):
        kind, colored, plain = token.groups()
        text += colored if kind else plain
        shown = html.unescape(colored if kind else plain)
        length = len(shown.encode("utf-16-le")) // 2  # as JavaScript counts
        runs.append(f"{length}:{kind}" if kind else str(length))
    if re.sub(r"<[^>]*>", "", code) != text:  # elements within elements
        return found[0]
    return f'<pre data-runs="{" ".join(runs)}">{start}{text}</pre>'


def slimmed(page: str) -> str:
    """Return the HTML of a page with plain code in its folds."""
    if not HAS_FORMULAS.search(page):
        page = MATHJAX.sub("", page)
    return FOLDED.sub(lambda fold: CODE.sub(uncolored, fold[0]), page)


def keep_used_icons(static: Path, pages: str) -> None:
    """Reduce the font of the theme's icons to those that pages show."""
    used = set(CLASS.findall(pages))
    texts = {path: path.read_text("utf-8") for path in static.rglob("*.css")}
    styles = {p: css for p, css in texts.items() if FONT_SOURCE.search(css)}
    if not styles:  # an earlier build did it
        return
    codes = []
    for css in texts.values():
        for names, code in ICON.findall(css):
            if used & set(CLASS.findall(names)):
                codes.append(int(code, 16))
        others = ICON.sub(
            lambda rule: "" if CLASS.search(rule[1]) else rule[0], css
        )
        for code, glyph in GLYPH.findall(others):
            codes.append(int(code, 16) if code else ord(glyph))
    options = subset.Options(flavor="woff", notdef_outline=True)
    font = subset.load_font(str(static / f"{FONT}.ttf"), options)
    cut = subset.Subsetter(options)
    cut.populate(unicodes=codes)
    cut.subset(font)
    subset.save_font(font, str(static / f"{FONT}.woff"), options)
    for path, css in styles.items():
        new = FONT_SOURCE.sub(r'url(\1.woff) format("woff")', css)
        path.write_text(new, "utf-8")


def slim(app: Sphinx, exception: Exception | None) -> None:
    """Apply both to the written book."""
    if exception or app.builder.format != "html":
        return
    pages = []
    for path in sorted(Path(app.outdir).rglob("*.html")):
        if "_static" not in path.relative_to(app.outdir).parts:
            before = path.read_text("utf-8")
            pages.append(after := slimmed(before))
            if after != before:
                path.write_text(after, "utf-8")
    keep_used_icons(Path(app.outdir, "_static"), "".join(pages))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    PygmentsBridge.html_formatter = Sparse
    logging.getLogger("fontTools").setLevel(logging.WARNING)
    for name in ("folds.js", "formulas.js"):
        app.add_js_file(name, loading_method="defer")
    app.add_css_file("lean.css")
    # after book_fixes, which reads the elements of folded code
    app.connect("build-finished", slim, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
