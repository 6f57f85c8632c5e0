"""Tests of the pages of public names: they list and describe all of them."""

from __future__ import annotations

import built
import public
import pytest
from bs4 import Tag


@pytest.fixture(scope="module")
def entries() -> dict[str, Tag]:
    """Return the description of each name on the built pages."""
    found = {}
    for page in public.PAGES:
        for head in built.page(built.HTML / "book" / f"{page.stem}.html").select("dt.sig[id]"):
            body = head.find_next_sibling("dd")
            assert isinstance(body, Tag)
            found[str(head["id"])] = body
    return found


def test_api_page_lists_every_public_name(entries: dict[str, Tag]) -> None:
    shown = {id(public.resolve(name)) for name in entries}
    missing = [name for name in public.names() if id(public.resolve(name)) not in shown]
    assert not missing, "add them to one of book/api*.md"


def test_api_page_describes_every_name(entries: dict[str, Tag]) -> None:
    assert not [name for name, body in entries.items() if not body.find(["p", "dl"])]


def test_api_page_renders_docstring_markup(entries: dict[str, Tag]) -> None:
    """Sections, parameter lists and examples are rendered; no markup is left over."""
    solve = entries["cfrlib.solve"]
    assert solve.select_one("dl.field-list") and solve.select_one(".highlight pre")
    for name, body in entries.items():
        words = " ".join(p.get_text() for p in body.select("p, dt"))
        assert ">>>" not in words and "----" not in words and "`" not in words, name
