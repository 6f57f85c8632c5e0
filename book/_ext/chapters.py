"""List the chapters on the start page, with what each takes and needs.

The directive `chapter-list` has a line for each chapter, `name: what it is
about`. Title, minutes and prerequisites come from the head of the chapter's
notebook, so they are said once.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

ROW = re.compile(r"^\| \*\*(.+?)\*\* \| (.+) \|$", re.MULTILINE)
DOC = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`<>]+)>?`")
ABLE, NEED, TIME = "You will be able to", "You need", "Time"
MINUTES = re.compile(r"(\d+) minutes to read")


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
    minutes : int
        How long it takes to read, 0 if the row "Time" does not say.
    """

    name: str
    title: str
    able: str
    needs: frozenset[str]
    minutes: int

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
    minutes = MINUTES.match(rows.get(TIME, ""))
    return Chapter(
        path.stem,
        title[1].strip(),
        able,
        needs,
        int(minutes[1]) if minutes else 0,
    )


class ChapterList(nodes.General, nodes.Element):
    """A node for the list, with attributes `chapters` and `about`."""


class ChapterListDirective(SphinxDirective):
    """The directive `chapter-list`, for the notebooks beside the page."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the list of the chapters in the table of contents."""
        home = Path(self.env.doc2path(self.env.docname)).parent
        paths = sorted(home.glob("*.ipynb"))
        for path in paths:
            self.env.note_dependency(str(path))
        lines = filter(None, self.content)
        about = dict(line.split(": ", maxsplit=1) for line in lines)
        try:
            chapters = collect(paths)
            if strange := sorted(about.keys() - chapters.keys()):
                raise ValueError(f"there is no chapter {', '.join(strange)}")
        except ValueError as wrong:
            raise self.error(str(wrong)) from wrong
        pages = {Path(page).name for page in self.env.found_docs}
        found = kept(chapters, pages)
        return [ChapterList("", chapters=found, about=about)]


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


def visit_list(self: HTML5Translator, node: ChapterList) -> None:
    """Write the list."""
    here, chapters = self.builder.current_docname, node["chapters"]
    folder = here.rpartition("/")[0]
    items = []
    for name, about in node["about"].items():
        if name not in chapters:
            continue
        chapter, page = chapters[name], f"{folder}/{name}" if folder else name
        link = escape(self.builder.get_relative_uri(here, page))
        after = needed(chapters, chapter)
        takes = f"{chapter.minutes} min" + (
            f", after {after}" if after else ""
        )
        items.append(
            f'<li><a href="{link}"><b>{chapter.label}</b> '
            f"<span>{escape(chapter.title)}</span></a>"
            f"<span>{escape(about)}</span><small>{escape(takes)}</small></li>"
        )
    self.body.append(f'<ol class="cfr-chapters">{"".join(items)}</ol>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(ChapterList, html=(visit_list, None))
    app.add_directive("chapter-list", ChapterListDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
