"""Print the texts of the teaching kit: pages for Chromium, and PDFs that are looked at.

No table is cut, and no last page is nearly empty: if the text runs over by a few lines, it is
set in smaller type, down to 9 points.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from html import escape
from pathlib import Path

import chromium
import sheets
from pypdf import PageObject, PdfReader
from pypdf.generic import DictionaryObject

from cfrbook.explore.explorable import asset

SHEET_PAGES = 2  # a handout or worksheet is one sheet of paper
SIZES = (10, 9.75, 9.5, 9.25, 9)  # points, the first that fits
LEAST_FILL = 1 / 3
MARGIN = 14 * 72 / 25.4  # points, above and below
READY = "document.fonts.ready"
SOURCE = (
    "From the book “Counterfactual Regret Minimization, from Rock-Paper-Scissors to Koi-Koi”, "
    "CC BY 4.0."
)

STYLE = """
@page { size: A4; margin: 14mm 16mm; }
:root { LIGHT; --size: 10pt; }
body { font: var(--size)/1.35 "DejaVu Sans", system-ui, sans-serif; margin: 0; color: #000; }
h1 { font-size: 17pt; margin: 0 0 .5em; } h2 { font-size: 12.5pt; margin: 1em 0 .3em; }
h3 { font-size: 10.5pt; margin: .8em 0 .2em; } p, ul, ol { margin: .35em 0; }
h1, h2, h3 { break-after: avoid; }
table, tr, li, figure, .question, .algorithm, .room { break-inside: avoid; }
table:has(tr:nth-child(30)) { break-inside: auto; }
table { border-collapse: collapse; margin: .4em 0; }
th, td { padding: .15em .7em .15em 0; border-bottom: .5pt solid #999; text-align: left;
  vertical-align: top; }
pre { font: 9pt/1.35 "DejaVu Sans Mono", monospace; margin: .4em 0; break-inside: avoid; }
figure { margin: .4em 0; text-align: center; }
figure svg { max-width: 100%; height: auto; max-height: 62mm; }
figcaption, .source { font-size: 9pt; color: #555; } .source { margin-top: .8em; }
math[display="block"] { margin: .3em 0; }
.algorithm { border-left: 2pt solid var(--cfr-strategy); padding-left: .8em; margin: .5em 0;
  font-size: 9pt; } .algorithm p { margin: .15em 0; } .algorithm ol { margin: .1em 0; }
.admonition-title { font-weight: 700; } .right, .filled { font-weight: 700; }
.solution { border-left: 2pt solid var(--cfr-value); padding-left: .8em; margin: .4em 0 .8em; }
.blank { border-bottom: .7pt solid #000; display: inline-block; width: 4.5em; }
.choices { list-style: none; padding-left: 1.2em; } td:has(.blank) { white-space: nowrap; }
.line { height: 8mm; border-bottom: .5pt solid #aaa; }
.drawing .line:nth-last-child(n + 3) { border-color: transparent; }
.gap { display: inline-block; border-bottom: .5pt solid #aaa; }
td .gap { border: 0; max-width: 9em; }
:is(p, li):has(.gap) { line-height: 1.9; } td:has(.gap) { height: 8mm; }
table:has(.gap) { width: 100%; }
table:has(.gap, .filled) tr > * { border: .5pt solid #999; padding: .15em .5em;
  vertical-align: middle; }
figure.tree svg { max-height: var(--height); }
.blank-tree text[style*="--cfr-reach"] { visibility: hidden; }
.leaf { break-after: page; }
.cfr-explore .cfr-controls { display: none !important; } .cfr-explore .cfr-panels svg {
  max-height: 55mm; } .cfr-explore dl.cfr-numbers { margin: .2em auto; }
body .cfr-explore dl.cfr-numbers :is(dt, dd) { font-size: 9pt; }
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{style}</style></head>
<body>{body}<p class="source">{source}</p>{foot}</body></html>
"""
# Below every page of an exam, whose pages may be taken apart
FOOT = """<template class="foot"><p style="font: 9pt sans-serif; margin: 0 16mm">{label} · page
<span class="pageNumber"></span> of <span class="totalPages"></span>{field}</p></template>"""
NAMED = " · Name <span style='display: inline-block; width: 18em; border-bottom: .7pt solid'>"


def page(title: str, body: str, foot: str = "") -> str:
    """Return a printable page. Its last line says where it is from."""
    style = sheets.colored(STYLE) + asset("page.css")
    return PAGE.format(title=escape(title), style=style, body=body, source=SOURCE, foot=foot)


def field(label: str, width: str = "18em") -> str:
    """Return a field to fill in with a pen."""
    return f"<p>{label}: <span class='blank' style='width:{width}'>&nbsp;</span></p>"


def from_markdown(text: str, *, solved: bool = True, label: str = "") -> str:
    """Return a text of `teaching/` as a printable page, solved or with room to write.

    With a label, it stands below every page, with the page's number and, if there is room to
    write, a field for the name.
    """
    body = sheets.html(sheets.HOLDS.sub("", text), solved=solved)
    if not solved:
        body = body.replace("</h1>", f"</h1>{field('Name')}", 1)
    foot = FOOT.format(label=label, field="" if solved else f"{NAMED}</span>")
    return page(sheets.title_of(text), body, foot if label else "")


# ---- PDFs -----------------------------------------------------------------------------------


def print_all(pages: Iterable[tuple[str, str]], out: Path) -> None:
    """Print pages as PDFs, in the largest type that leaves no nearly empty last page.

    Raises
    ------
    ValueError
        If there is no such size, or if a handout or a worksheet needs more than one sheet.
    """
    with chromium.opened() as browser:
        tab = chromium.context(browser, color_scheme="light").new_page()
        for name, text in pages:
            tab.set_content(text)
            tab.evaluate(READY)
            foot = tab.evaluate("document.querySelector('template.foot')?.innerHTML ?? ''")
            for size in SIZES:
                tab.evaluate(f"document.body.style.setProperty('--size', '{size}pt')")
                made = tab.pdf(
                    prefer_css_page_size=True,
                    print_background=True,
                    tagged=True,
                    display_header_footer=bool(foot),
                    header_template="<p></p>",
                    footer_template=foot,
                )
                leaves = PdfReader(io.BytesIO(made)).pages
                if len(leaves) == 1 or filled(leaves[-1]) >= LEAST_FILL:
                    break
            else:
                raise ValueError(f"{name}: the last page is nearly empty; leave out some lines")
            if name.startswith(("handouts/", "worksheets/")) and len(leaves) > SHEET_PAGES:
                raise ValueError(
                    f"{name} has {len(leaves)} pages; it must fit on {SHEET_PAGES}"
                )
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(made)


def filled(leaf: PageObject) -> float:
    """Return how far down a page goes, as a share of its height: to the text above its foot."""
    heights: list[float] = []

    def visit(text: str, cm: list[float], tm: list[float], font: object, size: float) -> None:
        height = tm[4] * cm[1] + tm[5] * cm[3] + cm[5]
        if text.strip() and height >= MARGIN:
            heights.append(height)

    leaf.extract_text(visitor_text=visit)
    room = float(leaf.mediabox.height) - 2 * MARGIN
    return 1 - (min(heights, default=MARGIN + room) - MARGIN) / room


def tables(pdf: PdfReader) -> list[tuple[int, set[int]]]:
    """Return each table's number of rows and the numbers of the pages that it is on."""
    numbers = {leaf.indirect_reference.idnum: n for n, leaf in enumerate(pdf.pages, 1)}  # type: ignore[union-attr]
    found: list[tuple[int, set[int]]] = []

    def walk(node: object, table: tuple[list[int], set[int]] | None) -> None:
        node = getattr(node, "get_object", lambda: node)()
        if isinstance(node, list):
            for kid in node:
                walk(kid, table)
        if not isinstance(node, DictionaryObject):
            return
        kind = node.get("/S")
        if kind == "/Table":
            table = ([], set())
        if table is not None:
            if kind == "/TR":
                table[0].append(1)
            if "/Pg" in node:
                table[1].add(numbers[node.raw_get("/Pg").idnum])
        walk(node.get("/K", []), table)
        if kind == "/Table" and table is not None:
            found.append((len(table[0]), table[1]))

    walk(pdf.trailer["/Root"]["/StructTreeRoot"]["/K"], None)  # type: ignore[index]
    return found
