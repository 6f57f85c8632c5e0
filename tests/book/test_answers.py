"""Fields for answers on the pages: which exercises have them, and what a page reveals."""

from __future__ import annotations

import json
import zipfile
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import onpage
import pytest

from cfrbook import exercises

BOOK = Path(__file__).parents[2] / "book"

import answers  # noqa: E402

PAGES = list(exercises.pages().values())


@cache
def data(page: str, hidden: bool = True) -> dict[str, Any]:
    return answers.page_data(BOOK / f"{page}.ipynb", hidden)


@pytest.mark.slow
def test_most_exercises_can_be_answered_on_their_page() -> None:
    shown = [each for page in PAGES for each in data(page)["exercises"]]
    programs = [each["number"] for each in shown if "program" in each]
    found = [each["number"] for each in shown if "form" in each]
    checked = [n for n in found if answers.exportable(exercises.find(n))]
    every = [e.number for page in PAGES for e in exercises.on_page(page)]
    assert len(set(found)) == len(found)
    assert sorted([*found, *programs]) == sorted(every)
    assert (len(every), len(found), len(checked), len(programs)) == (125, 85, 80, 40)


def test_fields_have_the_form_of_the_answer() -> None:
    shown = data("01_regret_matching")["exercises"]
    kinds = Counter(str(each["form"]) for each in shown if "form" in each)
    three = "{'dict': [['rock', 'number'], ['paper', 'number'], ['scissors', 'number']]}"
    assert kinds == {
        f"{{'dict': [['regrets', {three}], ['next', {three}]]}}": 1,
        "{'dict': [['best', 'word'], ['earns', 'number']]}": 1,
        "{'dict': [['player 0', 'number'], ['player 1', 'number'], "
        "['exploitability', 'number']]}": 1,
        "{'dict': [['regrets', 'number'], ['strategy', 'number'], ['average', 'number'], "
        "['exploitability', 'number'], ['prize', 'number']]}": 1,
        "word": 1,
    }
    choices = [["compiles", "truth"], ["infosets", "number"], ["same game", "truth"]]
    later = data("02_games_with_hidden_cards")["exercises"]
    assert {"dict": choices} in [each["form"] for each in later if "form" in each]


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


def test_program_is_shown_without_its_check() -> None:
    first = next(each for each in data("04_vanilla_cfr")["exercises"] if "program" in each)
    assert (first["number"], first["answer"]) == ("4.4", "friend")
    assert first["program"].startswith("def friend(") and "check" not in first["program"]
    assert "import numpy as np" in data("04_vanilla_cfr")["imports"]


def test_sources_for_hidden_solutions_have_no_solutions(tmp_path: Path) -> None:
    def packed(*names: str) -> set[str]:
        onpage.pack(tmp_path / "book.zip", names)
        return set(zipfile.ZipFile(tmp_path / "book.zip").namelist())

    hidden, shown = packed(*onpage.SOURCES), packed(*onpage.SOURCES, *onpage.CHECKS)
    solutions = ("cfrbook/exercises/", "cfrbook/museum/")
    assert {"page.py", "packages.py", "stand_ins.py", "cfrlib/plain.py"} <= hidden
    assert shown - hidden == {name for name in shown if name.startswith(solutions)}
    assert "cfrbook/exercises/04_vanilla_cfr.md" in shown
