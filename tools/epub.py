"""Bind the built pages into one EPUB: `make epub`.

Chromium opens each page as for the PDF, MathJax turns formulas into MathML, and the browser
itself writes the article as XHTML, without what needs scripts. What remains is a zip of pages,
a table of contents and a list of the files.
"""

from __future__ import annotations

import re
import uuid
import zipfile
from datetime import UTC, datetime
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import chromium
import pdf

OUT = pdf.OUT.with_suffix(".epub")
NEEDS_SCRIPTS = """script, style, noscript, form, button, input, select, .cfr-controls,
  .cfr-answer, .cfr-announce, .cfr-tip, .headerlink, .play-table, .live, .toggle-button, link,
  details.hide:not([open])"""
# The article as XHTML, its headings, and its pictures
ARTICLE = """([dropped, bound]) => {
  for (const { root, typesetRoot } of window.MathJax?.startup?.document?.math ?? []) {
    const math = MathJax.startup.toMML(root);
    typesetRoot.replaceWith(new DOMParser().parseFromString(math, "text/xml").documentElement);
  }
  const article = document.querySelector("article");
  article.querySelectorAll(dropped).forEach(element => element.remove());
  const ids = new Set();
  for (const element of article.querySelectorAll("*")) {
    for (const name of ["inert", "aria-describedby"]) element.removeAttribute(name);
    if (ids.has(element.id)) element.removeAttribute("id");
    else if (element.id) ids.add(element.id);
  }
  for (const link of article.querySelectorAll("a[href]")) {
    const [page, anchor] = link.href.split("#");
    if (page === location.href.split("#")[0]) link.setAttribute("href", "#" + (anchor ?? ""));
    else if (bound.includes(page)) {
      const name = page.split("/").pop().replace(".html", ".xhtml");
      link.setAttribute("href", name + (anchor ? "#" + anchor : ""));
    } else if (link.protocol === "file:") link.replaceWith(...link.childNodes);
  }
  const images = [...article.querySelectorAll("img")].map(image => image.src);
  article.querySelectorAll("img").forEach(image => {
    image.setAttribute("src", "images/" + image.src.split("/").pop());
  });
  return [new XMLSerializer().serializeToString(article), images];
}"""
VARIABLE = re.compile(r"var\(--[\w-]+,\s*([^()]*(?:\([^()]*\))?[^()]*)\)")
STYLE = """body { line-height: 1.5; } figure { margin: 1em 0; }
svg { max-width: 100%; height: auto; }
pre { white-space: pre-wrap; font-size: .8em; } table { border-collapse: collapse; }
th, td { padding: .2em .5em; border-bottom: 1px solid #bbb; text-align: left; }
.cfr-right { text-align: right; }
dl.cfr-numbers > div { display: inline-block; margin-right: 1em; }
.admonition, div.exercise { padding-left: 1em; border-left: 3px solid #888; }
"""
PAGE = """<?xml version="1.0" encoding="UTF-8"?>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" lang="en">
<head><title>{title}</title><link rel="stylesheet" href="style.css"/></head>
<body>{body}</body></html>
"""
CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book/content.opf" media-type="application/oebps-package+xml"/>
</rootfiles></container>
"""
PACKAGE = """<?xml version="1.0" encoding="UTF-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
<dc:identifier id="id">urn:uuid:{key}</dc:identifier><dc:title>{title}</dc:title>
<dc:language>en</dc:language><dc:creator>{author}</dc:creator>
<meta property="dcterms:modified">{now}</meta></metadata>
<manifest>{items}</manifest><spine>{spine}</spine></package>
"""
KINDS = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}


def contents(parts: list[tuple[str, list[tuple[int, str, str]]]]) -> str:
    """Return the table of contents: pages, and their sections."""
    items = []
    for name, headings in parts:
        first, *rest = [
            f'<a href="{name}.xhtml#{anchor}">{escape(text)}</a>'
            for _, anchor, text in headings
        ]
        below = "".join(f"<li>{link}</li>" for link in rest)
        items.append(f"<li>{first}{f'<ol>{below}</ol>' if below else ''}</li>")
    return f'<nav epub:type="toc"><h1>Contents</h1><ol>{"".join(items)}</ol></nav>'


def article(
    page: Any, path: Path, bound: list[str]
) -> tuple[str, list[tuple[int, str, str]], list[str]]:
    """Return a page as XHTML, its headings (level, anchor, text) and its images.

    Links lead to the pages `bound`; other local links become text.
    """
    page.goto(path.as_uri())
    page.evaluate(pdf.READY)
    headings = [tuple(heading) for heading in page.evaluate(pdf.HEADINGS)]
    body, images = page.evaluate(ARTICLE, [NEEDS_SCRIPTS, bound])
    return VARIABLE.sub(r"\1", body), headings, images


def main(paths: list[Path], out: Path) -> None:
    """Bind the given pages; print the path of the EPUB."""
    parts, images = [], set()
    files: dict[str, str | bytes] = {"style.css": STYLE}
    bound = [path.as_uri() for path in paths]
    with chromium.opened() as browser:
        page = chromium.context(browser, color_scheme="light").new_page()
        for path in paths:
            body, headings, used = article(page, path, bound)
            files[f"{path.stem}.xhtml"] = PAGE.format(title=escape(headings[0][2]), body=body)
            parts.append((path.stem, headings))
            images |= {*used}
    files |= {
        f"images/{Path(url).name}": Path(unquote(urlparse(url).path)).read_bytes()
        for url in images
    }
    files["nav.xhtml"] = PAGE.format(title="Contents", body=contents(parts))
    items = [item(name, text) for name, text in files.items()]
    title, author = escape(pdf.INFO["/Title"]), pdf.INFO["/Author"]
    files["content.opf"] = PACKAGE.format(
        key=uuid.uuid5(uuid.NAMESPACE_URL, title),
        title=title,
        author=author,
        now=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        items="".join(items),
        spine="".join(f'<itemref idref="{identifier(name)}"/>' for name, _ in parts),
    )
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        book.writestr("META-INF/container.xml", CONTAINER)
        for name, text in files.items():
            book.writestr(f"book/{name}", text)
    print(f"The EPUB is ready: {out.as_uri()} ({out.stat().st_size / 1e6:.1f} MB)")


def identifier(name: str) -> str:
    """Return the name by which the package lists a file."""
    return "f-" + re.sub(r"[^\w-]", "-", name.removesuffix(".xhtml"))


def item(name: str, text: str | bytes) -> str:
    """Return a file's line in the package."""
    kind = {".xhtml": "application/xhtml+xml", ".css": "text/css", **KINDS}[Path(name).suffix]
    has = [tag for tag in ("svg", "math") if isinstance(text, str) and f"<{tag}" in text]
    properties = ["mathml" if tag == "math" else tag for tag in has]
    properties += ["nav"] * (name == "nav.xhtml")
    listed = f' properties="{" ".join(properties)}"' if properties else ""
    return f'<item id="{identifier(name)}" href="{name}" media-type="{kind}"{listed}/>'


if __name__ == "__main__":
    main(pdf.pages(), OUT)
