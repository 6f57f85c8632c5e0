"""Fixes for the pages that Jupyter Book 1 writes."""

from __future__ import annotations

import ast
import html
import os
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

# Where the browser refuses storage, scripts get one that lasts as long as
# the page; where it is full, nothing more is kept. On a first visit the theme
# has no mode stored: it reports an error and stays light until its last
# script has run. So set the mode before.
FIRST_VISIT = """
    <script>
      for (const name of ["localStorage", "sessionStorage"]) try {
        window[name].length;
      } catch {
        const kept = new Map(), value = {
          getItem: (key) => kept.get(key) ?? null,
          setItem: (key, text) => kept.set(key, text),
          removeItem: (key) => kept.delete(key),
        };
        Object.defineProperty(window, name, { value });
      }
      Storage.prototype.setItem = new Proxy(Storage.prototype.setItem, {
        apply(set, at, pair) { try { set.apply(at, pair) } catch {} },
      });
      (function () {
        const mode = localStorage.getItem("mode") || "auto";
        const dark = matchMedia("(prefers-color-scheme: dark)").matches;
        localStorage.setItem("mode", mode);
        if (mode === "auto")
          localStorage.setItem("theme", dark ? "dark" : "light");
      })();
    </script>
"""

# At the head of pages that have formulas
NO_FORMULAS = """
    <noscript><p class="cfr-noscript">Without JavaScript, formulas appear as
    LaTeX source, and figures with sliders show only their first
    position.</p></noscript>
"""

# Output of the theme and the extensions -> its replacement
REWRITTEN = {
    # 1.5 MB of icons that the theme's style sheet provides as well
    r'<script defer src="[^"]*scripts/fontawesome\.js[^"]*"></script>': "",
    # Thebe, which would run code on a machine elsewhere and which is off
    r"\n *<script>const THEBE_JS_URL = [^<]*</script>": "",
    r"\n *<script [^>]*sphinx-thebe\.js[^>]*></script>": "",
    r"\n *<link [^>]*sphinx-thebe\.css[^>]*>": "",
    r'(?s:\s*<script type="text/x-thebe-config">.*?</script>)': "",
    r"\s*<script>kernelName = [^<]*</script>": "",
    # Sphinx's search, in whose place is search.py
    r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js'
    r"[^>]*></script>": "",
    # The theme describes the viewport two times more.
    r'(?<=/>)<meta name="viewport"[^>]*>': "",
    r'\n *<meta name="viewport" content="[^"]*initial-scale=1"/>': "",
    # A title and contents for print, which the style sheet hides there: a
    # page has one heading of the first level.
    r'(?s:<div id="jb-print-docs-body".*?</div>\s*</div>\s*</div>)': "",
    # A control's accessible name is its visible text, for voice control.
    r'<summary aria-label="Toggle hidden content">': "<summary>",
    r'(<button class="btn search-button-field [^>]*) aria-label="\w*"': r"\1",
    # No line begins with the punctuation after a formula, or ends with the
    # bracket before it.
    r'([([“]*<span class="math [^>]*>[^<]*</span>[-.,;:?!)’”]+'
    r'|[([“]+<span class="math [^>]*>[^<]*</span>)': (
        r'<span class="cfr-joined">\1</span>'
    ),
    # The space before a link is no part of it.
    r'(Solution to)(<a class="reference internal" href="[^"]*">) ': r"\1 \2",
    # The bibliography is a list, so its entries are items.
    r'role="doc-biblioentry"': 'role="listitem"',
}

# A cell whose code is folded: its label, and the code
FOLD = re.compile(
    r'(<details class="admonition hide[^"]*">\s*<summary[^>]*>\s*<p[^>]*>)'
    r"Show code cell \w+(</p>\s*<p[^>]*>)Hide code cell \w+"
    r"(</p>\s*</summary>.*?<pre>(.*?)</pre>)",
    re.DOTALL,
)
MEANT = {  # what is called -> what the code is for
    "check": "the solution in code",
    "Explorable": "the code behind the explorable",
    "show": "the code behind the figure",
}
MAKERS = (ast.FunctionDef, ast.ClassDef)
MOST_NAMES = 3  # in the label of a fold

# The theme draws a second ring around the focused button of a hint or a
# solution. For :has(:focus-visible), Chromium restyles the whole page at each
# press of Tab: 40 ms on a chapter, 0.3 ms without these rules.
SLOW_RULES = re.compile(r"(?<=})[^{}]*:has\(:focus-visible\)[^{}]*{[^{}]*}")

# The theme measures every piece of code, one by one, after each change of a
# page: seconds on a phone. stops.js measures what is near.
SLOW_SCRIPT = re.compile(
    r"\w+\.tabIndex=\w+\.scrollWidth>\w+\.clientWidth[^})]*\?0:-1"
)


def greet_first_visitors(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: object,
) -> None:
    """Choose light or dark before the theme's own script runs."""
    context["metatags"] = context.get("metatags", "") + FIRST_VISIT


def explain_formulas(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: object,
) -> None:
    """Tell readers without scripts why they see LaTeX."""
    if 'class="math' in context.get("body", ""):
        context["body"] = NO_FORMULAS + context["body"]


def label(code: str) -> str:
    """Say in a few words what the code of a folded cell is for."""
    try:
        tree = ast.parse(code)
    except SyntaxError:  # a line of IPython's
        return "the code"
    calls = [
        ast.unparse(node.func).rpartition(".")[2]
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
    ]
    for name, what in MEANT.items():
        if name in calls:
            return what
    made = [node.name for node in tree.body if isinstance(node, MAKERS)]
    if not made and "print" in calls:
        return "the code behind the output"
    made = made or [
        name.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for name in ast.walk(ast.Tuple(node.targets, ast.Store()))
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    ]
    if not made:
        return "the code"
    names = [f"<code>{name}</code>" for name in dict.fromkeys(made)]
    more = ", …" if len(names) > MOST_NAMES else ""
    return f"the code of {', '.join(names[:MOST_NAMES])}{more}"


def name_fold(found: re.Match[str]) -> str:
    """Replace the label of a folded cell by one that says what is in it."""
    before, between, after, code = found.groups()
    what = label(html.unescape(re.sub(r"<[^>]*>", "", code)))
    return f"{before}Show {what}{between}Hide {what}{after}"


def rewritten(text: str) -> str:
    """Return the HTML of a page with REWRITTEN applied and folds named."""
    for old, new in REWRITTEN.items():
        text = re.sub(old, new, text)
    return FOLD.sub(name_fold, text)


def rewrite_pages(app: Sphinx, exception: Exception | None) -> None:
    """Apply REWRITTEN to the written pages, which no Sphinx hook reaches."""
    if exception or app.builder.format != "html":
        return
    for path in Path(app.outdir).rglob("*.html"):
        if "_static" not in path.parts:
            before = path.read_text("utf-8")
            if (text := rewritten(before)) != before:
                path.write_text(text, "utf-8")


def drop_slow_parts(app: Sphinx, exception: Exception | None) -> None:
    """Take the slow rules and script out of the theme's copied files."""
    if exception or app.builder.format != "html":
        return
    static = Path(app.outdir, "_static")
    for ending, slow in (("css", SLOW_RULES), ("js", SLOW_SCRIPT)):
        for path in static.rglob(f"*.{ending}"):
            text = path.read_text("utf-8")
            if slow.search(text):
                path.write_text(slow.sub("", text), "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the repairs with Sphinx."""
    # makes kernels that Sphinx starts draw explorables for a page
    os.environ["CFRLIB_PAGE"] = "1"
    app.connect("html-page-context", greet_first_visitors)
    app.connect("html-page-context", explain_formulas)
    app.connect("build-finished", rewrite_pages)
    app.connect("build-finished", drop_slow_parts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
