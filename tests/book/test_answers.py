"""Fields for answers on the pages: which exercises have them, and what a page reveals."""

from __future__ import annotations

import json
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from cfrbook import exercises

BOOK = Path(__file__).parents[2] / "book"
sys.path.insert(0, str(BOOK / "_ext"))

import answers  # noqa: E402

PAGES = list(exercises.pages().values())


@cache
def data(page: str, hidden: bool = True) -> dict[str, Any]:
    return answers.page_data(BOOK / f"{page}.ipynb", hidden)


@pytest.mark.slow
def test_most_exercises_can_be_answered_on_their_page() -> None:
    found = [each["number"] for page in PAGES for each in data(page)["exercises"]]
    checked = [n for n in found if answers.exportable(exercises.find(n))]
    every = [e.number for page in PAGES for e in exercises.on_page(page)]
    assert len(set(found)) == len(found)
    assert (len(every), len(found), len(checked)) == (130, 87, 80)


def test_fields_have_the_form_of_the_answer() -> None:
    kinds = Counter(str(each["form"]) for each in data("01_regret_matching")["exercises"])
    three = "{'dict': [['rock', 'number'], ['paper', 'number'], ['scissors', 'number']]}"
    assert kinds == {
        f"{{'dict': [['regrets', {three}], ['next', {three}]]}}": 1,
        "{'dict': [['best', 'word'], ['earns', 'number']]}": 1,
        "{'dict': [['plain', 'number'], ['guess', 'number'], ['current', 'number'], "
        "['settles', 'truth']]}": 1,
        "{'dict': [['regrets', 'number'], ['strategy', 'number'], ['average', 'number'], "
        "['exploitability', 'number'], ['prize', 'number']]}": 1,
        "word": 1,
    }


def test_page_with_hidden_solutions_has_fields_and_no_solution() -> None:
    hidden, shown = (data("01_regret_matching", hidden) for hidden in (True, False))
    text = json.dumps(hidden)
    assert "wanted" in json.dumps(shown) and "wanted" not in text and "known" not in text
    exercise = exercises.find("1.2")
    for says in (exercise.takeaway, exercise.advice, *(m.says for m in exercise.mistakes)):
        assert json.dumps(says) in json.dumps(shown) and json.dumps(says) not in text
    assert [e["number"] for e in hidden["exercises"]] == [
        e["number"] for e in shown["exercises"]
    ]
