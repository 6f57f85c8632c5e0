"""Draw the prerequisites of the chapters, from the tables at their heads.

The directive `chapter-map` reads every notebook whose first cell has a row
"You need". An arrow leads from a chapter to one that needs it, unless a
longer path does so as well. On narrow pages the style sheet shows a list
instead, in which each chapter names its prerequisites.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from html import escape
from itertools import combinations, permutations
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

Graph = Mapping[str, frozenset[str]]  # page -> the pages it needs
Layers = list[list[str]]  # the pages by depth, from left to right
Point = tuple[float, float]  # in em, from the left and from the top

ROW = re.compile(r"^\| \*\*(.+?)\*\* \| (.+) \|$", re.MULTILINE)
DOC = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`")
ABLE, NEED = "You will be able to", "You need"

# in em: size of a box, and distance from one to the next
WIDE, HIGH = 10.0, 3.2
ACROSS, DOWN = 11.0, 4.9
SWEEPS = 4  # passes over all layers to order them
STARTS = 4  # orders to begin with


@dataclass(frozen=True)
class Chapter:
    """A page with a table at its head.

    Parameters
    ----------
    name : str
        The file without its ending, ``"05_cfr_plus"``.
    title : str
        The heading of the page.
    able : str
        What the reader will be able to do, in one line.
    needs : frozenset of str
        The names of the pages that the row "You need" links to.
    """

    name: str
    title: str
    able: str
    needs: frozenset[str]

    @property
    def label(self) -> str:
        """The number of a chapter, or nothing for an appendix."""
        number = re.match(r"\d+(?=_)", self.name)
        return str(int(number[0])) if number else ""


def read(path: Path) -> Chapter | None:
    """Return the chapter in a notebook, or None if it has no such table."""
    cells = json.loads(path.read_text("utf-8"))["cells"]
    first = "".join(cells[0]["source"]) if cells else ""
    title = re.search(r"^# (.+)$", first, re.MULTILINE)
    rows = dict(ROW.findall(first))
    if not title or NEED not in rows:
        return None
    able = rows[ABLE].replace("*", "")
    needs = frozenset(DOC.findall(rows[NEED]))
    return Chapter(path.stem, title[1].strip(), able, needs)


def ancestors(graph: Graph, name: str) -> frozenset[str]:
    """Return all direct and indirect prerequisites of a page."""
    far = (ancestors(graph, near) for near in graph[name])
    return frozenset(graph[name]).union(*far)


def reduced(graph: Graph) -> dict[str, frozenset[str]]:
    """Drop every arrow that is implied by a longer path."""
    far = {
        name: frozenset().union(*(ancestors(graph, near) for near in needs))
        for name, needs in graph.items()
    }
    return {name: frozenset(graph[name]) - far[name] for name in graph}


def layers(graph: Graph) -> Layers:
    """Place each page one layer below its deepest prerequisite."""
    depth: dict[str, int] = {}
    for name in TopologicalSorter(graph).static_order():
        depth[name] = 1 + max((depth[n] for n in graph[name]), default=-1)
    found: Layers = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    for name in sorted(depth):
        found[depth[name]].append(name)
    return found


def columns(rows: Layers) -> dict[str, float]:
    """Return each page's horizontal position, with every layer centered."""
    widest = max(map(len, rows), default=0)
    return {
        name: i + (widest - len(row)) / 2
        for row in rows
        for i, name in enumerate(row)
    }


def cost(rows: Layers, arrows: Graph) -> tuple[int, float]:
    """Return the number of crossings and the total horizontal length."""
    at = columns(rows)
    layer = {name: i for i, row in enumerate(rows) for name in row}
    pairs = [(need, name) for name in arrows for need in arrows[name]]
    crossed = sum(
        (at[a] - at[c]) * (at[b] - at[d]) < 0
        for (a, b), (c, d) in combinations(pairs, 2)
        if layer[a] == layer[c] and layer[b] == layer[d]
    )
    return crossed, sum(abs(at[a] - at[b]) for a, b in pairs)


def improved(rows: Layers, arrows: Graph) -> Layers:
    """Order each layer to minimize `cost`, one layer at a time."""
    for _ in range(SWEEPS):
        for i in range(len(rows)):
            orders = (
                [*rows[:i], list(order), *rows[i + 1 :]]
                for order in permutations(sorted(rows[i]))
            )
            rows = min(orders, key=lambda order: cost(order, arrows))
    return rows


def arranged(rows: Layers, arrows: Graph) -> Layers:
    """Return the best of several improved orders: one per rotation."""
    starts = [
        [row[k % len(row) :] + row[: k % len(row)] for row in rows]
        for k in range(STARTS)
    ]
    found = [improved(start, arrows) for start in starts]
    return min(found, key=lambda order: cost(order, arrows))


class ChapterMap(nodes.General, nodes.Element):
    """A node for the map, with attribute `chapters`."""


class ChapterMapDirective(SphinxDirective):
    """The directive `chapter-map`, for the notebooks beside the page."""

    def run(self) -> list[nodes.Node]:
        """Return the map of the book's notebooks that have a table."""
        home = Path(self.env.doc2path(self.env.docname)).parent
        paths = sorted(home.glob("*.ipynb"))
        for path in paths:
            self.env.note_dependency(str(path))
        try:
            chapters = collect(paths)
        except ValueError as wrong:
            raise self.error(str(wrong)) from wrong
        pages = {Path(page).name for page in self.env.found_docs}
        return [ChapterMap("", chapters=kept(chapters, pages))]


def collect(paths: Iterable[Path]) -> dict[str, Chapter]:
    """Return the chapters among notebooks, by name.

    Raises
    ------
    ValueError
        If a chapter needs a page without such a table, or itself.
    """
    found = {c.name: c for c in map(read, paths) if c}
    graph = {name: chapter.needs for name, chapter in found.items()}
    for name, needs in graph.items():
        if strange := sorted(needs - graph.keys()):
            raise ValueError(f"{name} needs {strange}, which has no table")
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = " → ".join(error.args[1])
        raise ValueError(f"chapters need each other: {cycle}") from error
    return found


def kept(
    chapters: Mapping[str, Chapter], pages: Iterable[str]
) -> dict[str, Chapter]:
    """Return the chapters in the table of contents.

    A chapter that needs one that is left out needs that one's prerequisites.
    """
    found, listed = dict(chapters), set(pages)
    for name in chapters.keys() - listed:
        gone = found.pop(name)
        for later in found.values():
            if name in later.needs:
                needs = later.needs - {name} | gone.needs
                found[later.name] = replace(later, needs=needs)
    return found


def needed(chapters: Mapping[str, Chapter], chapter: Chapter) -> str:
    """Return a chapter's prerequisites: numbers, or titles of appendices."""
    known = (chapters[name] for name in sorted(chapter.needs))
    return ", ".join(c.label or c.title for c in known)


def ink(starts: Sequence[Point], end: Point, size: Point) -> str:
    """Return the arrows that end at one box, as SVG."""
    if not starts:
        return ""
    u, v = end
    paths = [
        f"M{u - 0.3:g} {v - 0.55:g}L{u:g} {v:g}L{u + 0.3:g} {v - 0.55:g}"
    ]
    for x, y in starts:
        half = (y + v) / 2
        paths.append(
            f"M{x:g} {y:g}C{x:g} {half:g} {u:g} {half:g} {u:g} {v:g}"
        )
    return (
        f'<svg aria-hidden="true" viewBox="0 0 {size[0]:g} {size[1]:g}">'
        f'<path d="{"".join(paths)}"/></svg>'
    )


def item(chapter: Chapter, link: str, needs: str, arrows: str) -> str:
    """Return the HTML of a chapter's box: link, goals and prerequisites."""
    name = f"<span>{escape(chapter.title)}</span>"
    if chapter.label:
        name = f"<b>{chapter.label}</b> {name}"
    after = f'<span class="cfr-map-needs">after {escape(needs)}</span>'
    return (
        f'<a href="{escape(link)}" aria-describedby="map-{chapter.name}">'
        f'{name}</a><span class="cfr-tip"><span id="map-{chapter.name}">'
        f"{ABLE} {escape(chapter.able)}.</span></span>"
        f"{after if needs else ''}{arrows}"
    )


def drawn(chapters: Mapping[str, Chapter], link: Callable[[str], str]) -> str:
    """Return the map in HTML; `link` maps a chapter's name to its address."""
    graph = {name: chapter.needs for name, chapter in chapters.items()}
    arrows = reduced(graph)
    rows = arranged(layers(graph), arrows)
    across = columns(rows)
    left = {name: ACROSS * x for name, x in across.items()}
    top = {name: DOWN * y for y, row in enumerate(rows) for name in row}
    size = max(left.values()) + WIDE, max(top.values()) + HIGH
    items = []
    for name in chapters:  # this order is also the keyboard's
        starts = [
            (left[need] + WIDE / 2, top[need] + HIGH)
            for need in sorted(arrows[name])
        ]
        drawing = ink(starts, (left[name] + WIDE / 2, top[name]), size)
        known = needed(chapters, chapters[name])
        items.append(
            f'<li class="cfr-term" style="--x: {left[name]:g}em; '
            f'--y: {top[name]:g}em">'
            f"{item(chapters[name], link(name), known, drawing)}</li>"
        )
    style = f"--columns: {size[0]:g}; --wide: {WIDE:g}em; --high: {HIGH:g}em"
    return (
        '<nav class="cfr-map" aria-label="Map of the chapters">'
        f'<ul style="{style}; height: {size[1]:g}em">{"".join(items)}</ul>'
        "</nav>"
    )


def in_words(chapters: Mapping[str, Chapter]) -> str:
    """Return a text list of the chapters' goals, for access without tips."""
    entries = "".join(
        f"<dt>{escape(f'{c.label} {c.title}'.strip())}</dt>"
        f"<dd>{escape(c.able[:1].upper() + c.able[1:])}.</dd>"
        for c in chapters.values()
    )
    summary = "What you will be able to do, chapter by chapter"
    return (
        f'<details class="cfr-map-words"><summary>{summary}</summary>'
        f"<dl>{entries}</dl></details>"
    )


def visit_map(self: HTML5Translator, node: ChapterMap) -> None:
    """Write the map, and below it the same as text."""
    here = self.builder.current_docname
    folder = here.rpartition("/")[0]

    def link(name: str) -> str:
        page = f"{folder}/{name}" if folder else name
        return self.builder.get_relative_uri(here, page)

    chapters = node["chapters"]
    self.body.append(drawn(chapters, link) + in_words(chapters))
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(ChapterMap, html=(visit_map, None))
    app.add_directive("chapter-map", ChapterMapDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
