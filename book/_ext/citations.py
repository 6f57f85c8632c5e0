"""Read citations that every notebook program shows: links to the references.

`[(Hart and Mas-Colell, 2000)](references.md#hart2000)` is a citation in
parentheses, `[Hart and Mas-Colell (2000)](references.md#hart2000)` one in the
sentence. `tools/notebooks.py` writes them for `{cite}` and `{cite:t}`.
"""

from __future__ import annotations

import re

from sphinx.application import Sphinx

LINK = re.compile(r"\[(\()?[^\[\]]*\]\(references\.md#([\w,-]+)\)")


def as_roles(text: str) -> str:
    """Return a text with roles in place of links to the references."""
    return LINK.sub(
        lambda found: f"{{cite{'' if found[1] else ':t'}}}`{found[2]}`", text
    )


def read(app: Sphinx, page: str, source: list[str]) -> None:
    """Let Sphinx cite where the source has links."""
    source[0] = as_roles(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
