"""Fold the sections that a first reading can skip.

The row **Time** at the head of a page names them in italics, by their titles.
Each keeps its heading; the rest goes into a box that opens by a click, for a
link into it, and on paper.
"""

from __future__ import annotations

import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

CELL = 75  # words of prose that take as long as the output of a cell

logger = logging.getLogger(__name__)


class Further(nodes.Element):
    """The rest of a section; `minutes` says how long it takes to read."""


def words(node: nodes.Node) -> int:
    """Return the number of words of prose, and CELL for each output."""
    said = sum(
        len(part.astext().split()) for part in node.findall(nodes.paragraph)
    )
    shown = sum(
        "cell_output" in part["classes"]
        for part in node.findall(nodes.container)
    )
    return said + CELL * shown


def named(document: nodes.document) -> tuple[list[str], float]:
    """Return the titles in the row **Time**, and its minutes of reading."""
    for row in document.findall(nodes.row):
        label, text = row[0], row[-1]
        minutes = re.match(r"\d+", text.astext())
        if label.astext() == "Time" and minutes:
            titles = [name.astext() for name in text.findall(nodes.emphasis)]
            return titles, float(minutes[0])
    return [], 0.0


def fold(app: Sphinx, document: nodes.document, page: str) -> None:
    """Put the rest of each named section into a box."""
    titles, minutes = named(document)
    every = {
        part[0].astext(): part for part in document.findall(nodes.section)
    }
    per_word = minutes / max(1, words(document))
    for title in titles:
        if title not in every:
            logger.warning("no section %r to skip", title, location=page)
            continue
        part = every[title]
        box = Further(minutes=max(1, round(per_word * words(part))))
        box += part[1:]
        part[1:] = [box]


def visit_further(self: HTML5Translator, node: Further) -> None:
    """Begin the box; its label says what it costs."""
    minutes = node["minutes"]
    self.body.append(
        '<details class="cfr-further"><summary><strong>Further</strong>, '
        f"about {minutes} minute{'s' * (minutes > 1)}; "
        "can be skipped at first reading</summary>\n"
    )


def depart_further(self: HTML5Translator, node: Further) -> None:
    """End the box."""
    self.body.append("</details>\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(Further, html=(visit_further, depart_further))
    # the contents in the margin are collected earlier
    app.connect("doctree-resolved", fold, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
