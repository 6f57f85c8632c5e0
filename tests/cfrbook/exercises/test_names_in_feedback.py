"""Code in feedback and in hints: every name is one that the reader can find on the page."""

from __future__ import annotations

import builtins
import json
import keyword
import re
from functools import cache, reduce
from pathlib import Path

import pytest

import cfrlib as cfr
from cfrbook import exercises, museum

BOOK = Path(__file__).parents[3] / "book"
CODE = re.compile(r"^~~~.*?^~~~|`[^`\n]+`", re.MULTILINE | re.DOTALL)
HINT = re.compile(r":::\{hint\}.*?^:::", re.MULTILINE | re.DOTALL)
NAME = re.compile(r"(?<![\w.])[^\W\d]\w*(?:\.[^\W\d]\w*)*")
PACKAGES = {"cfr": cfr, "museum": museum}
LANGUAGE = {*dir(builtins), *keyword.kwlist}


def unknown(code: str, page: str) -> list[str]:
    """Return the names in a piece of code that are neither on the page nor in the package."""
    return [
        name
        for name in NAME.findall(code)
        if name not in LANGUAGE
        and not re.search(rf"(?<!\w){re.escape(name)}(?!\w)", page)
        and not in_package(name)
    ]


def in_package(name: str) -> bool:
    """Return whether a package has a name such as "cfr.games.KuhnPoker"."""
    first, *rest = name.split(".")
    try:
        return bool(rest) and reduce(getattr, rest, PACKAGES[first]) is not None
    except (AttributeError, KeyError):
        return False


@cache
def cells(page: str) -> list[tuple[str, str]]:
    """Return the kinds and texts of a page's cells."""
    found = json.loads((BOOK / f"{page}.ipynb").read_text("utf-8"))["cells"]
    return [(cell["cell_type"], "".join(cell["source"])) for cell in found]


def vocabulary(page: str) -> str:
    """Return all code of a page outside of hints."""
    return "\n".join(
        text if kind == "code" else "\n".join(CODE.findall(HINT.sub("", text)))
        for kind, text in cells(page)
    )


@pytest.mark.parametrize("page", exercises.pages().values())
def test_names_in_code_are_on_the_page(page):
    known = vocabulary(page)
    says = [
        (exercise.number, sentence)
        for exercise in exercises.on_page(page)
        for sentence in (
            exercise.asks,
            exercise.takeaway,
            exercise.advice,
            *(mistake.says for mistake in exercise.mistakes),
        )
    ]
    says += [("hint", hint) for kind, text in cells(page) for hint in HINT.findall(text)]
    wrong = [
        (place, code, names)
        for place, sentence in says
        for code in re.findall(r"`([^`\n]+)`", sentence)
        if (names := unknown(code, known))
    ]
    assert not wrong


def test_unknown_names_are_found():
    page = "swapped = museum.changed(traverse, {})"
    assert unknown("museum.changed(traverse)", page) == []
    assert unknown("bugs.changed(traverse, exec)", page) == ["bugs.changed"]
    assert unknown("source.replace(x)", page) == ["source.replace", "x"]
    assert unknown("cfr.games.KuhnPoker(cards=4).value", page) == ["cards"]
    assert unknown("cfr.games.Poker", page) == ["cfr.games.Poker"]
