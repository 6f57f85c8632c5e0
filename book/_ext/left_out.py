"""Let pages be left out of `_toc.yml`: links to them become plain text.

A page is left out if its source exists but the table of contents does not
list it. A link to a page or label that exists nowhere is still an error. The
other chapters keep their numbers, which the text and the exercises name.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import (
    ReferencesResolver,
    SphinxPostTransform,
)
from sphinx.util import docname_join
from sphinx_external_toc.collectors import TocTreeCollectorWithStyles

HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
BLOCK = r"\{prf:(\w+)\} *(.*)\n:label: "  # kind and title of a numbered block
NUMBER = re.compile(r"(?:^|/)0*(\d+)_")  # of a chapter, in its file's name


def source(folder: Path, page: str) -> Path | None:
    """Return the file of a page, listed or not."""
    for ending in (".ipynb", ".md"):
        path = folder / f"{page}{ending}"
        if path.is_file():
            return path
    return None


def words(path: Path) -> str:
    """Return the Markdown of a page."""
    text = path.read_text("utf-8")
    if path.suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        text = "\n\n".join(
            "".join(cell["source"])
            for cell in cells
            if cell["cell_type"] == "markdown"
        )
    return text


def title(path: Path) -> str:
    """Return the first heading of a page."""
    heading = HEADING.search(words(path))
    return heading[1].strip() if heading else path.stem


def block(folder: Path, label: str) -> str | None:
    """Return a name for the numbered block with this label, if it exists."""
    for path in sorted(folder.iterdir()):
        if path.suffix in (".ipynb", ".md"):
            found = re.search(
                BLOCK + re.escape(label) + "$", words(path), re.M
            )
            if found:
                kind, name = found.groups()
                return f"the {kind} “{name}”" if name else f"an {kind}"
    return None


def instead(
    folder: Path, here: str, node: addnodes.pending_xref
) -> str | None:
    """Return the text of a link to what is left out; None for other links."""
    kind, target = node["reftype"], node["reftarget"]
    shown = node.astext() if node.get("refexplicit") else ""
    if kind == "doc":
        path = source(folder, docname_join(here, target))
        return (shown or title(path)) if path else None
    home = (folder / here).parent
    if kind == "term":
        return node.astext() if source(home, "glossary") else None
    if node.get("refdomain") == "prf":
        return shown or block(home, target)
    return None


class WriteText(SphinxPostTransform):
    """Replace links to what is left out by their text.

    This runs before links are resolved: sphinx-proof lets nobody answer for
    a label that it does not know.
    """

    default_priority = ReferencesResolver.default_priority - 1

    def known(self, node: addnodes.pending_xref) -> bool:
        """Return whether the target of a link is in the book."""
        if node["reftype"] == "doc":
            page = docname_join(node["refdoc"], node["reftarget"])
            return page in self.env.found_docs
        if node["reftype"] == "term":
            return any(p.endswith("glossary") for p in self.env.found_docs)
        return node["reftarget"] in getattr(self.env, "proof_list", ())

    def run(self, **kwargs: Any) -> None:
        """Apply the transform to a page."""
        for node in list(self.document.findall(addnodes.pending_xref)):
            if "refdoc" in node and not self.known(node):
                folder = Path(self.app.srcdir)
                if text := instead(folder, node["refdoc"], node):
                    node.replace_self(nodes.inline(text, text))


def keep_numbers(
    env: BuildEnvironment, numbers: dict[str, dict[str, Any]]
) -> None:
    """Renumber each chapter as its file is numbered, and its sections."""
    for page, sections in numbers.items():
        number = NUMBER.search(page)
        if not number:
            continue
        first = int(number[1])
        for anchor, old in sections.items():
            if old:
                sections[anchor] = (first, *old[1:])
        heads = list(env.tocs[page].findall(nodes.reference))
        for head in (env.titles[page], *heads):
            if head.get("secnumber"):
                head["secnumber"] = [first, *head["secnumber"][1:]]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx, whose collector of numbers has no event."""
    assign = TocTreeCollectorWithStyles.assign_section_numbers

    def numbered(self: Any, env: BuildEnvironment) -> list[str]:
        changed = assign(self, env)
        keep_numbers(env, env.toc_secnumbers)
        return changed

    TocTreeCollectorWithStyles.assign_section_numbers = numbered
    app.add_post_transform(WriteText)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
