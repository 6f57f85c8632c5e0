"""Automatic feedback: accepted forms of answers, recognized mistakes, and no solutions.

Every exercise is checked with its solution, with each of its mistakes, and unanswered.
"""

import importlib
import json
import re
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from cfrlib import exercises
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unreadable,
    as_number,
    differences,
    flat_numbers,
)

BOOK = Path(__file__).parents[2] / "book"
ALL = [
    exercise
    for module in dict.fromkeys(exercises.PAGES.values())
    for exercise in importlib.import_module(f"cfrlib.exercises.{module}").EXERCISES
]
MISTAKES = [(e, m) for e in ALL for m in e.mistakes]
PRECISE = re.compile(r"[-−]?\d+/\d+|\d*\.\d{2,}")


def name(thing):
    return getattr(thing, "number", "")


class Values(NamedTuple):
    """The values that an exercise compares."""

    of_answer: object


@cache
def cached(number):
    """Return an exercise that evaluates its solution and mistakes once, not in each check."""
    exercise = exercises.find(number)

    def once(answer):
        return cache(lambda: Values(exercise.see(answer())))

    return replace(
        exercise,
        solution=once(exercise.solution),
        mistakes=[
            replace(mistake, answer=once(mistake.answer)) for mistake in exercise.mistakes
        ],
        see=lambda answer: (
            answer.of_answer if isinstance(answer, Values) else exercise.see(answer)
        ),
    )


@pytest.fixture(params=ALL, ids=name)
def exercise(request):
    return request.param


# ---- every exercise of the book --------------------------------------------------------------


def test_book_and_package_have_the_same_exercises():
    titles = {}
    for page in sorted(BOOK.glob("*.ipynb")):
        for cell in json.loads(page.read_text("utf-8"))["cells"]:
            text = "".join(cell["source"])
            for title, label in re.findall(
                r"\{exercise\} (.+)\n:label: ex-([\w-]+)", text, re.MULTILINE
            ):
                titles[".".join(p.lstrip("0") for p in label.split("-"))] = title
    assert {e.number: e.title for e in ALL} == titles


@pytest.mark.slow
def test_solution_is_right(exercise):
    feedback = cached(exercise.number).check(exercise.solution())
    assert feedback.right and feedback, feedback


def test_unanswered_exercise_is_open(exercise):
    feedback = exercise.check(...)
    assert feedback.verdict == "open" and not feedback


@pytest.mark.slow
@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES, ids=name)
def test_mistake_gets_its_own_feedback(exercise, mistake):
    feedback = cached(exercise.number).check(mistake.answer())
    assert feedback.verdict == "wrong"
    assert " ".join(mistake.says.split()) in feedback.text


def test_exercise_has_mistakes_takeaway_and_points(exercise):
    assert exercise.mistakes and exercise.takeaway and exercise.points >= 1


@pytest.mark.slow
def test_feedback_does_not_reveal_the_solution(exercise):
    """No precise number of the solution occurs in the feedback to other answers."""
    feedback = [exercise.asks, exercise.advice, *(m.says for m in exercise.mistakes)]
    feedback.append(repr(exercise))
    exercise = cached(exercise.number)
    try:
        secret = {abs(x) for x in flat_numbers(exercise.see(exercise.solution()))}
    except Unreadable:
        secret = set()
    shown = {
        abs(as_number(text)) for sentence in feedback for text in PRECISE.findall(sentence)
    }
    assert not [t for t in shown for s in secret if abs(t - s) <= 1e-3 and t not in (0, 0.5, 1)]


# ---- forms of answers ------------------------------------------------------------------------

TWO = Exercise(
    "0.1",
    "Two numbers",
    "a dictionary with 'fold' and 'call'",
    lambda: {"fold": -1 / 6, "call": 0.25},
    (Mistake(lambda: {"fold": -1, "call": 0.5}, "A weight is missing."),),
    takeaway="Well.",
    advice="Count again.",
)


@pytest.mark.parametrize(
    "answer",
    [
        {"fold": -1 / 6, "call": 0.25},
        {"call": 0.25, "fold": -1 / 6},
        {"fold": Fraction(-1, 6), "call": "1/4"},
        {"FOLD": "−1/6", " call": "25 %"},
        {"fold": np.float32(-1 / 6), "call": np.array([0.25])},
        [-0.1667, 0.25],
        (-0.1667, 0.25),
        np.array([-1 / 6, 0.25]),
    ],
)
def test_equivalent_forms_are_right(answer):
    assert TWO.check(answer).right


@pytest.mark.parametrize(
    ("answer", "verdict", "text"),
    [
        ({"fold": ..., "call": 0.25}, "open", "'fold' is missing"),
        ([-1 / 6, ...], "open", "number 2 is missing"),
        ({"fold": -1 / 6}, "unreadable", "'call' is missing"),
        (
            {"fold": -1 / 6, "call": 0.25, "bet": 1},
            "unreadable",
            "does not ask for 'bet'",
        ),
        ({"fold": "a sixth", "call": 0.25}, "unreadable", "'a sixth' is not a number"),
        ({"fold": True, "call": 0.25}, "unreadable", "True is not a number"),
        ({"fold": "1/0", "call": 0.25}, "unreadable", "'1/0' is not a number"),
        ([-1 / 6], "unreadable", "has 1 values and should have 2"),
        (0.25, "unreadable", "is not a list of 2 values"),
        ("0.25", "unreadable", "is not a list of 2 values"),
        (None, "unreadable", "None is not a list"),
        ({"fold": -1, "call": 0.5}, "wrong", "A weight is missing."),
        ({"fold": 1 / 6, "call": -0.25}, "wrong", "the signs are not"),
        ({"fold": -100 / 6, "call": 25}, "wrong", "in percent"),
        ({"fold": -1 / 2, "call": 0.75}, "wrong", "one and the same factor"),
        ({"fold": -0.168, "call": 0.252}, "wrong", "Close"),
        ({"fold": -1 / 6, "call": 0.3}, "wrong", "'call' is not right; all others are"),
        ({"fold": 7, "call": float("nan")}, "wrong", "Count again."),
    ],
)
def test_feedback_names_the_problem(answer, verdict, text):
    feedback = TWO.check(answer)
    assert (feedback.verdict, text in feedback.text) == (verdict, True), feedback
    assert max(map(len, repr(feedback).split("\n"))) <= 78


def test_probabilities_with_a_wrong_sum_are_explained():
    mixed = Exercise("0.2", "Mix", "three probabilities", lambda: [0.25, 0.25, 0.5])
    assert "add up to 1, and yours to 1.2" in mixed.check([0.25, 0.25, 0.7]).text
    assert "order" in mixed.check([0.5, 0.25, 0.25]).text


def test_factor_of_two_is_explained():
    gap = Exercise("0.3", "Gap", "a number", lambda: 0.3)
    assert "a factor of two" in gap.check(0.6).text
    assert not gap.check(0.45).text.endswith("two?")


def test_strings_sets_and_booleans_are_compared():
    line = Exercise("0.4", "Line", "a string", lambda: "line 7")
    assert line.check(" Line 7").right and not line.check("line 6").right
    cards = Exercise("0.5", "Cards", "a set of cards", lambda: {"T", "Q"})
    assert cards.check(["q", "T"]).right and not cards.check({"T"}).right
    assert cards.check("TQ").verdict == "unreadable"
    yes = Exercise("0.6", "Is it?", "True or False", lambda: True)
    assert yes.check(np.True_).right and not yes.check(False).right
    assert yes.check(1).verdict == "unreadable"


def test_error_in_an_answer_is_unreadable():
    run = Exercise("0.7", "Run", "a function", lambda: abs, see=lambda f: f(-3))
    assert run.check(lambda x: 3).right
    feedback = run.check(lambda x: [][x])
    assert feedback.verdict == "unreadable" and "IndexError" in feedback.text


def test_error_in_a_solution_raises():
    """It must not be blamed on the reader."""
    broken = Exercise("0.8", "Broken", "a number", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        broken.check(1)


def test_keyboard_interrupt_is_not_caught():
    def interrupted(answer):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Exercise("0.9", "Long", "a function", lambda: abs, see=interrupted).check(abs)


def test_unknown_exercise_raises():
    with pytest.raises(ValueError, match=r"this page has 4\.1, 4\.2"):
        exercises.check("4.9", 1)
    with pytest.raises(ValueError, match="begins with"):
        exercises.check("99.1", 1)
    with pytest.raises(ValueError, match="this page has"):
        exercises.check(4, 1)


def test_tolerance_is_relative_above_one():
    assert differences(1000.4, 1000, 1e-3) == []
    assert differences(1002, 1000, 1e-3) == [()]
    assert differences([0.5, 1.0], [0.5, 1.1], 1e-3) == [(2,)]
