"""Sheets of exercises: all of them are read, and what is wrong in one is refused at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfrbook import exercises
from cfrbook.exercises import sheet

BOOK = Path(__file__).parents[3] / "book"
GOOD = """\
# Exercises of a page.

## 0.1 A half

points: 2
asks: a number, with a text that
  continues
answer: half()

- `2 * half()`, `[2 * half() for _ in (1,)][0]`
  Twice
  too much.

## 0.2 Another

asks: the number
answer: 1 - half()
"""


def half():
    return 1 / 2


def read(tmp_path, text):
    """Return the exercises of a sheet beside a module that has the function `half`."""
    (tmp_path / "page.md").write_text(text, "utf-8")
    return sheet.read(str(tmp_path / "page.py"), {"half": half})


def test_a_sheet_is_read(tmp_path):
    first, second = read(tmp_path, GOOD)
    assert (first.number, first.title, first.points) == ("0.1", "A half", 2)
    assert first.asks == "a number, with a text that continues"
    assert [(m.answer(), m.says) for m in first.mistakes] == [(1.0, "Twice too much.")] * 2
    assert first.solution() == second.solution() == 0.5 and not second.mistakes


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("answer: half()", "answer: hlaf()", "page.md, 0.1: the name 'hlaf' in 'hlaf"),
        ("`2 * half()`", "`2 * hlaf()`", "0.1: the name 'hlaf'"),
        ("[2 * half() for _", "[2 * hlaf() for _", "0.1: the name 'hlaf'"),
        ("answer: 1 - half()", "answer: 1 -", "page.md, 0.2"),
        ("points: 2\n", "points: 2\nTwo points.\n", "0.1: neither a field nor a mistake"),
        ("  Twice\n", "Twice\n", "neither a field nor a mistake: '- `2"),
        ("- `2 * half()`,", "- 2 * half(),", "neither a field nor a mistake"),
        (
            "too much.\n",
            "too much.\n\nA remark.\n",
            "0.1: neither a field nor a mistake: 'A rem",
        ),
        ("## 0.2 Another\n", "## 0.2 Another", "page.md: after each heading"),
        ("## 0.2 Another", "##0.2 Another", "page.md: after each heading"),
    ],
)
def test_what_is_wrong_in_a_sheet_is_refused_at_once(tmp_path, old, new, says):
    assert GOOD.count(old) == 1
    with pytest.raises((NameError, SyntaxError, ValueError)) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert says in f"{caught.value}"


def test_sheets_are_named_like_pages():
    pages = {path.stem for path in BOOK.glob("*.ipynb")}
    assert set(exercises.pages().values()) <= pages
    for page in exercises.pages().values():
        text = (BOOK / f"{page}.ipynb").read_text("utf-8")
        assert all(f'check(\\"{e.number}\\"' in text for e in exercises.on_page(page)), page
