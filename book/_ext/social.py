"""Describe pages to search engines and in previews of shared links."""

from __future__ import annotations

import os
from html import escape
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx

LONGEST = 200  # characters of a description


def summary(doctree: nodes.document) -> str:
    """Return the first paragraph of a page, cut at a word if too long."""
    for paragraph in doctree.findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        if len(text) > 40:  # neither a label nor a cell of a table
            break
    else:
        return ""
    if len(text) <= LONGEST:
        return text
    return text[:LONGEST].rpartition(" ")[0].rstrip(",;:.") + " …"


def tags(title: str, about: str, page: str, home: str) -> str:
    """Return the meta tags; the picture requires the site's address."""
    found = {
        "og:title": title,
        "og:description": about,
        "og:type": "article",
        "og:locale": "en_US",
    }
    if home:
        image = f"{home.rstrip('/')}/_static/cover.png"
        found |= {
            "og:url": f"{home.rstrip('/')}/{page}.html",
            "og:image": image,
            "og:image:width": "1200",
            "og:image:height": "630",
            "og:image:alt": "A path that ends at a point inside a triangle",
        }
    card = "summary_large_image" if home else "summary"
    lines = [f'<meta name="description" content="{escape(about)}">']
    lines.append(f'<meta name="twitter:card" content="{card}">')
    for name, text in found.items():
        lines.append(f'<meta property="{name}" content="{escape(text)}">')
    return "\n".join(lines) + "\n"


def describe(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: nodes.document | None,
) -> None:
    """Add the tags to a page, unless it is generated."""
    about = summary(doctree) if doctree else ""
    if about:
        home = os.environ.get("CFR_BOOK_URL") or app.config.html_baseurl or ""
        words = tags(app.env.titles[page].astext(), about, page, home)
        context["metatags"] = context.get("metatags", "") + words


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("html-page-context", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
