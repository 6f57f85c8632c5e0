"""Describe pages to search engines and in previews of shared links.

The site's address is the environment variable CFR_BOOK_URL, else Sphinx's
html_baseurl. Whatever requires it is left out if it is unknown: canonical
addresses, pictures, citations, the sitemap and the page for wrong addresses.
"""

from __future__ import annotations

import json
import os
import re
from html import escape
from pathlib import Path
from typing import Any

from chapters import Chapter, read
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config

LONGEST = 200  # characters of a description
LICENSE = "https://creativecommons.org/licenses/by/4.0/"
# A tag that describes a page, as `tags` writes it
DESCRIBING = re.compile(
    r'<meta (?:name="(?:description|twitter:card)|property="og:)[^>]*>'
)
# Both plain pages stand outside the theme, so they bring their style.
PLAIN = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{head}<style>
:root {{ color-scheme: light dark; }}
body {{ font: 1.1rem/1.6 system-ui, sans-serif; margin: 15vh auto;
  max-width: 34em; padding: 0 1.5em; }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
</body>
</html>
"""


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
        found |= {
            "og:url": f"{home}/{page}.html",
            "og:image": f"{home}/_static/cover.png",
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


def citation(chapter: Chapter, about: str, url: str, config: Config) -> str:
    """Return a chapter's tags for Google Scholar, and its data as JSON-LD."""
    found = {
        "citation_title": chapter.title,
        "citation_inbook_title": config.html_title,
        "citation_author": config.author,
        "citation_publication_date": config.copyright,
        "citation_language": "en",
        "citation_fulltext_html_url": url,
    }
    author = {"@type": "Organization", "name": config.author}
    data = {
        "@context": "https://schema.org",
        "@type": ["Chapter", "LearningResource"],
        "name": chapter.title,
        "description": about,
        "teaches": chapter.able,
        "url": url,
        "inLanguage": "en",
        "license": LICENSE,
        "isAccessibleForFree": True,
        "author": author,
        "isPartOf": {
            "@type": "Book",
            "name": config.html_title,
            "url": f"{config.html_baseurl}/{config.root_doc}.html",
            "author": author,
            "datePublished": config.copyright,
        },
    }
    if chapter.label:
        data["position"] = int(chapter.label)
    lines = [
        f'<meta name="{name}" content="{escape(text)}">'
        for name, text in found.items()
    ]
    # a script's text may not contain the end of a script
    text = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")
    lines.append(f'<script type="application/ld+json">{text}</script>')
    return "\n".join(lines) + "\n"


def find_home(app: Sphinx, config: Config) -> None:
    """Store the site's address where Sphinx looks for it, without a slash."""
    home = os.environ.get("CFR_BOOK_URL") or config.html_baseurl or ""
    config.html_baseurl = home.rstrip("/")


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
        home = app.config.html_baseurl
        words = tags(app.env.titles[page].astext(), about, page, home)
        path = Path(app.env.doc2path(page))
        chapter = read(path) if path.suffix == ".ipynb" else None
        if home and chapter:
            url = f"{home}/{page}.html"
            words += citation(chapter, about, url, app.config)
        context["metatags"] = context.get("metatags", "") + words


def root(start: str, title: str, words: str, home: str) -> str:
    """Return the page at the site's root, which leads to the first page."""
    canonical = f'<link rel="canonical" href="{escape(home)}/{start}">\n'
    head = (
        f'<meta http-equiv="refresh" content="0; url={start}">\n'
        f"{canonical if home else ''}{words}"
    )
    body = f'<p><a href="{start}">Read the book</a></p>'
    return PLAIN.format(title=escape(title), head=head, body=body)


def not_found(start: str, home: str) -> str:
    """Return the page for wrong addresses, shown below any of them."""
    body = (
        "<p>This book has no page at this address. It may have moved.</p>\n"
        f'<p><a href="{escape(home)}/{start}">To the first page</a>, which '
        "lists all chapters</p>\n"
        f'<form action="{escape(home)}/search.html" role="search">'
        '<label>Search: <input type="search" name="q"></label> '
        "<button>Search</button></form>"
    )
    head = '<meta name="robots" content="noindex">\n'
    return PLAIN.format(title="Page not found", head=head, body=body)


def sitemap(pages: list[str], home: str) -> str:
    """Return the list of pages for search engines."""
    lines = [f"<url><loc>{escape(home)}/{p}.html</loc></url>" for p in pages]
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<urlset xmlns="{space}">\n' + "\n".join(lines) + "\n</urlset>\n"
    )


def write_files(app: Sphinx, exception: Exception | None) -> None:
    """Write the page at the root, and what search engines read."""
    if exception or app.builder.format != "html":
        return
    home, out = app.config.html_baseurl, Path(app.outdir)
    start = f"{app.config.root_doc}.html"
    # The first page may not be among those that this build has written.
    page = (out / start).read_text("utf-8")
    words = "".join(f"{tag}\n" for tag in DESCRIBING.findall(page))
    files = {"index.html": root(start, app.config.html_title, words, home)}
    if home:
        files |= {
            "404.html": not_found(start, home),
            "sitemap.xml": sitemap(sorted(app.env.found_docs), home),
            "robots.txt": f"User-agent: *\nSitemap: {home}/sitemap.xml\n",
        }
    for name, text in files.items():
        (out / name).write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("config-inited", find_home)
    app.connect("html-page-context", describe)
    # after sphinx-external-toc, which writes a bare redirection if it must
    app.connect("build-finished", write_files, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
