"""List the sources against which the bibliography was checked.

The directive `checked` reads the fields `checked` and `unchecked` of the
entries and lists the entries, with links, by the kinds below.
"""

from __future__ import annotations

from pathlib import Path

from docutils import nodes
from docutils.statemachine import StringList
from pybtex.database import BibliographyData, parse_file
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

# value of the field `checked` -> its meaning
KINDS = {
    "the work itself": "its title page or first page",
    "the publisher": "the record of the journal or conference",
    "its authors": "a page of one of the authors or of their institute",
    "its project": "what the project asks to be cited",
    "arXiv": "the record there",
    "an index": "OpenAlex, PubMed, Scilit or the Internet Archive",
    "other bibliographies": "lists in several other works, which agree",
    "unverified": "nothing; written down from memory",
}


def by_kind(bibliography: BibliographyData) -> dict[str, list[str]]:
    """Return the keys of a bibliography by kind, in its order.

    Raises
    ------
    ValueError
        If an entry's field `checked` is missing or has an unknown value.
    """
    found: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for key, entry in bibliography.entries.items():
        kind = entry.fields.get("checked")
        if kind not in found:
            raise ValueError(
                f"{key} is checked against {kind!r}: {list(KINDS)}"
            )
        found[kind].append(key)
    return found


def lines(bibliography: BibliographyData) -> list[str]:
    """Return the list in Markdown, without empty kinds."""
    text = []
    for kind, keys in by_kind(bibliography).items():
        cited = [
            f"{{cite:t}}`{key}`" + (f" (not {doubt})" if doubt else "")
            for key in keys
            for doubt in [bibliography.entries[key].fields.get("unchecked")]
        ]
        if cited:
            name = kind[0].upper() + kind[1:] if kind != "arXiv" else kind
            listed = "; ".join(cited)
            text.append(f"- **{name}**, {KINDS[kind]}: {listed}.")
    return text


class CheckedDirective(SphinxDirective):
    """The directive `checked`, for all the book's bibliographies."""

    def run(self) -> list[nodes.Node]:
        """Return the list, parsed as Markdown."""
        found = nodes.container()
        for name in self.config.bibtex_bibfiles:
            path = Path(self.env.srcdir) / name
            self.env.note_dependency(str(path))
            try:
                text = lines(parse_file(str(path)))
            except ValueError as wrong:
                raise self.error(str(wrong)) from wrong
            self.state.nested_parse(StringList(text, str(path)), 0, found)
        return found.children


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.add_directive("checked", CheckedDirective)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
