"""Show definitions of the glossary beside the links that lead to them.

At build time each link to the glossary gets the definition as its accessible
description, and a box that the style sheet shows while the link is hovered
over or has the keyboard's focus. By touch, a first tap shows the box.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.writers.html5 import HTML5Translator

LANGUAGES = ("ja", "zh-Hans")  # of an entry's names after the English name


class Defined(nodes.reference):
    """A link to the glossary, with attribute `entry`."""


def entries(
    doctree: nodes.document,
) -> Iterator[tuple[list[nodes.term], str]]:
    """Yield each entry's names and definition, its first paragraph."""
    for glossary in doctree.findall(addnodes.glossary):
        for item in glossary.findall(nodes.definition_list_item):
            names = [name for name in item if isinstance(name, nodes.term)]
            definition = next(item.findall(nodes.paragraph))
            yield names, definition.astext()


def mark_languages(app: Sphinx, doctree: nodes.document) -> None:
    """Mark each name's language; docutils turns the class into `lang`."""
    for (_, *names), _ in entries(doctree):
        for name, language in zip(names, LANGUAGES, strict=True):
            name["classes"].append(f"language-{language}")


def collect(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Store every entry under the anchors of its names."""
    objects = env.get_domain("std").get_objects()
    pages = {page for _, _, kind, page, *_ in objects if kind == "term"}
    env.cfr_entries = {
        anchor: (*(each.astext() for each in names), definition)
        for page in pages
        for names, definition in entries(env.get_doctree(page))
        for name in names
        for anchor in name["ids"]
    }
    return []


def describe(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Attach its entry to every link to the glossary."""
    if app.builder.format != "html":
        return
    for link in list(doctree.findall(nodes.reference)):
        if any(
            "std-term" in inner["classes"]
            for inner in link.findall(nodes.inline)
        ):
            anchor = link.get("refid") or link["refuri"].partition("#")[2]
            new = Defined("", "", *link.children, **link.attributes)
            new["entry"] = app.env.cfr_entries[anchor]
            link.replace_self(new)


def visit_defined(self: HTML5Translator, node: Defined) -> None:
    """Write the link as usual, with an accessible description."""
    self.cfr_tips = getattr(self, "cfr_tips", 0) + 1
    self.body.append('<span class="cfr-term">')
    start = len(self.body)
    self.visit_reference(node)
    described = f'<a aria-describedby="tip-{self.cfr_tips}" '
    self.body[start] = self.body[start].replace("<a ", described, 1)


def depart_defined(self: HTML5Translator, node: Defined) -> None:
    """Write the box; the description omits names in other languages."""
    self.depart_reference(node)
    headword, *names, definition = node["entry"]
    shown = " · ".join(
        f'<span lang="{language}">{escape(name)}</span>'
        for language, name in zip(LANGUAGES, names, strict=True)
    )
    self.body.append(
        f'<span class="cfr-tip"><span id="tip-{self.cfr_tips}">'
        f"<b>{escape(headword)}:</b> {escape(definition)}</span> "
        f'<span class="cfr-names">{shown}</span></span></span>'
    )


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_node(Defined, html=(visit_defined, depart_defined))
    app.add_js_file("terms.js", loading_method="defer")
    app.connect("doctree-read", mark_languages)
    app.connect("env-updated", collect)
    app.connect("doctree-resolved", describe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
