"""Print the built pages into one PDF with an outline: `make pdf`.

Chromium prints each page with the print style sheet. pypdf joins the pages, numbers them, and
turns the links between pages into links inside the file.
"""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urldefrag, urlparse

import chromium
import yaml
from playwright.sync_api import Page
from pypdf import PdfReader, PdfWriter
from pypdf.generic import ArrayObject, DictionaryObject, Fit, FloatObject, NameObject

ROOT = Path(__file__).parents[1]
HTML = ROOT / "_build" / "html"
OUT = ROOT / "_build" / "cfr-book.pdf"
INFO = {
    "/Title": "Counterfactual Regret Minimization, from Rock–Paper–Scissors to Koi-Koi",
    "/Author": "The CFR book contributors",
}
MARGIN = {"top": "18mm", "bottom": "20mm", "left": "20mm", "right": "20mm"}
READY = "document.fonts.ready.then(() => window.MathJax?.startup?.promise)"
# A section may begin at the foot of a sheet and its heading on the next, so headings have their
# own anchors.
HEADINGS = """[...document.querySelectorAll("article :is(h1, h2)")].map(h => {
  h.id ||= `${h.closest("section").id}-heading`;
  return [+h.tagName[1], h.id, [...h.childNodes].filter(
    n => !n.classList?.contains("headerlink")).map(n => n.textContent).join("").trim()];
})"""
TERMS = """[...document.querySelectorAll("dl.glossary dt:not([lang])")].map(term => term.id)"""
# Chromium keeps the position of an anchor only if a link leads to it.
ANCHORS = """anchors => anchors.forEach(id => {
  const link = document.createElement("a");
  link.href = "#" + id;
  link.style = "position: absolute; top: 0; text-decoration: none";
  link.textContent = "\u00a0";
  document.body.append(link);
})"""
LEAF = "html{font:9px sans-serif;color:#666}body{margin:0}p{margin:0;height:297mm;"
LEAF += "break-after:page;text-align:center;display:grid;align-items:end;padding-bottom:9mm;"
LEAF += "box-sizing:border-box}"


@dataclass
class Part:
    """One page of the book, printed."""

    path: Path
    pdf: PdfReader
    headings: list[tuple[int, str, str]]  # level, anchor, text
    first: int = 0  # index of its first sheet in the PDF

    def place(self, anchor: str) -> tuple[int, float]:
        """Return the sheet of the PDF that holds an anchor, and the anchor's height there."""
        found = self.pdf.named_destinations.get(f"/{anchor}")
        if found is None:
            return self.first, float(self.pdf.pages[0].mediabox.top)
        number = self.pdf.get_destination_page_number(found)
        return self.first + (number or 0), float(found.top or 0)


def pages() -> list[Path]:
    """Return the built pages in the order of the table of contents."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    names = [toc["root"]]
    for part in toc["parts"]:
        names += [chapter["file"] for chapter in part["chapters"]]
    return [HTML / f"{name}.html" for name in names]


def printed(page: Page, path: Path) -> Part:
    """Print one page, keeping headings and the glossary's terms as anchors in the PDF."""
    page.goto(path.as_uri())
    page.evaluate(READY)
    headings = [tuple(h) for h in page.evaluate(HEADINGS)]
    page.evaluate(ANCHORS, [anchor for _, anchor, _ in headings] + page.evaluate(TERMS))
    data = page.pdf(format="A4", margin=MARGIN, print_background=True)
    return Part(path, PdfReader(io.BytesIO(data)), headings)


def drawn(page: Page, html: str) -> PdfReader:
    """Print a piece of HTML on A4 without margins."""
    page.set_content(f"<style>@page{{size:A4;margin:0}}</style>{html}")
    return PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True, print_background=True)))


def bind(parts: list[Part], cover: PdfReader) -> PdfWriter:
    """Append the parts to the cover, with an outline and internal links."""
    book = PdfWriter()
    book.append(cover, import_outline=False)
    for part in parts:
        part.first = len(book.pages)
        book.append(part.pdf, import_outline=False)
    for part in parts:
        outline(book, part)
        for leaf in book.pages[part.first : part.first + len(part.pdf.pages)]:
            relink(book, leaf, part, {p.path: p for p in parts})
    book.add_metadata(INFO)
    book.page_mode = "/UseOutlines"
    return book


def outline(book: PdfWriter, part: Part) -> None:
    """Add a part and its sections to the outline."""
    parent: Any = None
    for level, anchor, text in part.headings:
        leaf, top = part.place(anchor)
        fit = Fit.xyz(left=0, top=top)
        if level == 1:
            parent = book.add_outline_item(title=text, page_number=leaf, fit=fit)
        else:
            book.add_outline_item(title=text, page_number=leaf, parent=parent, fit=fit)


def relink(book: PdfWriter, leaf: Any, here: Part, parts: dict[Path, Part]) -> None:
    """Point links to pages of the book into the PDF; drop other local links."""
    kept = ArrayObject()
    for reference in leaf.get("/Annots", []):
        link: DictionaryObject = reference.get_object()
        uri = str(link.get("/A", {}).get("/URI", ""))
        goal: tuple[Part, str] | None = None
        if "/Dest" in link:  # to an anchor of the same page
            goal = here, str(link["/Dest"]).lstrip("/")
        elif uri.startswith("file:"):
            address, anchor = urldefrag(uri)
            path = Path(unquote(urlparse(address).path))
            if path not in parts:
                continue
            goal = parts[path], anchor
        if goal:
            number, top = goal[0].place(goal[1])
            link.pop("/A", None)
            target = book.pages[number].indirect_reference
            link[NameObject("/Dest")] = ArrayObject(
                [target, NameObject("/XYZ"), FloatObject(0), FloatObject(top), FloatObject(0)]
            )
        kept.append(reference)
    if "/Annots" in leaf:
        leaf[NameObject("/Annots")] = kept


def number(book: PdfWriter, page: Page) -> None:
    """Print page numbers at the foot of every sheet but the cover."""
    leaves = "".join(f"<p>{n}</p>" for n in range(2, len(book.pages) + 1))
    stamps = drawn(page, f"<style>{LEAF}</style>{leaves}")
    for leaf, stamp in zip(book.pages[1:], stamps.pages, strict=False):
        leaf.merge_page(stamp)


def main(paths: list[Path], out: Path) -> None:
    """Print, bind, number and write the given pages; print the path of the PDF."""
    with chromium.opened() as browser:
        context = chromium.context(browser, color_scheme="light")
        page = context.new_page()
        svg = (ROOT / "book" / "_static" / "cover.svg").read_text("utf-8")
        cover = drawn(page, f'<div style="padding:60mm 10mm">{svg}</div>')
        page.add_init_script("localStorage.mode = localStorage.theme = 'light'")
        book = bind([printed(page, path) for path in paths], cover)
        page.close()
        number(book, context.new_page())
    book.compress_identical_objects(remove_unreferenced=True)
    book.write(out)
    size = out.stat().st_size / 1e6
    print(f"The PDF is ready: {out.as_uri()} ({len(book.pages)} pages, {size:.1f} MB)")


if __name__ == "__main__":
    main(pages(), OUT)
