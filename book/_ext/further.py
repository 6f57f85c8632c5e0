"""Fold the sections that a first reading can skip, and check the minutes.

The row **Time** at the head of a page names these sections in italics, by
their titles. Each keeps its heading; the rest goes into a box that opens by a
click, for a link into it, and on paper.

Minutes follow one rule: 150 words a minute, formulas in the text included,
five seconds for each line of code that is shown, half a minute for a figure,
a table or another output, one minute for a displayed formula. Exercises,
further reading and what is folded do not count. A build warns if a row
**Time** is more than four minutes off.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.writers.html5 import HTML5Translator

WORDS = 150  # a minute
LINE, FIGURE, FORMULA = 5, 30, 60  # seconds
OFF = 4  # minutes that a row may be off: minutes are given in steps of five
AFTER = ("Exercises", "Further reading")
HIDDEN = {"tag_hide-cell", "tag_remove-cell", "dropdown"}

logger = logging.getLogger(__name__)


class Further(nodes.Element):
    """The rest of a section; `minutes` says how long it takes to read."""


def seconds(node: nodes.Node, skipped: Collection[str] = ()) -> float:
    """Return how long a part of a page takes, without some sections."""
    if isinstance(node, nodes.section) and node[0].astext() in skipped:
        return 0
    if isinstance(node, nodes.literal_block):
        return LINE * sum(
            map(bool, map(str.strip, node.astext().splitlines()))
        )
    if isinstance(node, nodes.math_block):
        return FORMULA
    if isinstance(node, nodes.table):
        return FIGURE
    if isinstance(node, nodes.TextElement):
        return 60 * len(node.astext().split()) / WORDS
    if not isinstance(node, nodes.Element):
        return 0
    classes = {*node.get("classes", ())}
    if classes & HIDDEN:
        return 0
    if "cell_output" in classes:
        return FIGURE
    folded = "tag_hide-input" in classes
    return sum(
        seconds(part, skipped)
        for part in node.children
        if not (folded and "cell_input" in part.get("classes", ()))
    )


def named(document: nodes.document) -> tuple[list[str], float]:
    """Return the titles in the row **Time**, and its minutes of reading."""
    for row in document.findall(nodes.row):
        label, text = row[0], row[-1]
        minutes = re.match(r"\d+", text.astext())
        if label.astext() == "Time" and minutes:
            titles = [name.astext() for name in text.findall(nodes.emphasis)]
            return titles, float(minutes[0])
    return [], 0.0


def measure(app: Sphinx, document: nodes.document) -> None:
    """Note the minutes of each named section; check those of the page.

    This is done early, as later steps add what is not read at once.
    """
    titles, minutes = named(document)
    takes = seconds(document, {*titles, *AFTER}) / 60
    if minutes and abs(takes - minutes) > OFF:
        logger.warning(
            "%.0f minutes to read, not %.0f",
            takes,
            minutes,
            location=document,
        )
    for part in document.findall(nodes.section):
        if part[0].astext() in titles:
            part["minutes"] = max(1, round(seconds(part) / 60))


def fold(app: Sphinx, document: nodes.document, page: str) -> None:
    """Put the rest of each named section into a box."""
    every = {
        part[0].astext(): part for part in document.findall(nodes.section)
    }
    for title in named(document)[0]:
        if title not in every:
            logger.warning("no section %r to skip", title, location=page)
            continue
        part = every[title]
        box = Further(minutes=part["minutes"])
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
    app.connect("doctree-read", measure, priority=900)
    # the contents in the margin are collected earlier
    app.connect("doctree-resolved", fold, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
