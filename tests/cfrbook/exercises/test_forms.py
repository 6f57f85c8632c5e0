"""Right answers in other forms: each way of writing that the reader is promised, everywhere.

`FORMS` are the ways. An answer that is data is written in each of them. Programs, games, and
answers that their exercise reads in a way of its own are in test_other_forms.py.
"""

from __future__ import annotations

import math
import re
from collections import OrderedDict
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pytest
from graded import ALL, cached
from test_other_forms import ROWS

from cfrbook import exercises
from cfrbook.exercises.grading import CARDINALS, Unreadable, is_number, plain


def numbers(write, x):
    """Return an answer with each of its numbers changed."""
    return change(lambda leaf: write(leaf) if is_number(leaf) else leaf, x)


def words(write, x, kind=str):
    """Return an answer with each of its words changed, or each truth value."""
    return change(lambda leaf: write(leaf) if isinstance(leaf, kind) else leaf, x)


def change(leaf, x, key=lambda key: key, rows=lambda row: row):
    """Return an answer with its leaves, the keys of its dictionaries, and its lists changed."""
    if isinstance(x, dict):
        return {key(k): change(leaf, y, key, rows) for k, y in x.items()}
    if isinstance(x, list):
        return rows([change(leaf, y, key, rows) for y in x])
    return leaf(x)


def keys(write, x):
    """Return an answer with the keys of its dictionaries changed."""
    return change(lambda leaf: leaf, x, key=write)


def rows(kind, x):
    """Return an answer with its dictionaries and lists of numbers as another kind of list."""
    return change(
        lambda leaf: leaf,
        lists(x),
        rows=lambda row: kind(row) if all(map(is_number, row)) else row,
    )


def lists(x):
    """Return an answer with lists in place of dictionaries, in the same order."""
    x = list(x.values()) if isinstance(x, dict) else x
    return [lists(y) for y in x] if isinstance(x, list) else x


def backward(x):
    """Return an answer with the keys in the opposite order."""
    return (
        OrderedDict((key, backward(y)) for key, y in reversed(x.items()))
        if isinstance(x, dict)
        else x
    )


def text_key(key):
    return key if isinstance(key, tuple) else str(key)


def fraction(n):
    return Fraction(n).limit_denominator(10**9)


# The signs and letters of a Japanese keyboard
FULL = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}

FORMS = {
    "list": lists,
    "tuple": partial(rows, tuple),
    "array": partial(rows, np.array),
    "dictionary": lambda x: dict(zip("abcdefghi", x, strict=False)) if is_row(x) else x,
    "backward": backward,
    "text": partial(numbers, lambda n: f"{n:.9f}".replace("-", "−")),
    "en dash": partial(numbers, lambda n: f"{n:.9f}".replace("-", "–")),
    "full width": partial(numbers, lambda n: f"{n:.9f}".translate(FULL)),
    "percent in full width": partial(numbers, lambda n: f"{100 * n:.9f}%".translate(FULL)),
    "fraction in full width": partial(numbers, lambda n: str(fraction(n)).translate(FULL)),
    "full width in brackets": partial(numbers, lambda n: f"({fraction(n)})".translate(FULL)),
    "prolonged sound mark": partial(numbers, lambda n: f"{n:.9f}".replace("-", "ー")),
    "fraction slash": partial(numbers, lambda n: str(fraction(n)).replace("/", "⁄")),
    "full-width list as text": lambda x: (
        ", ".join(map(str, x)).translate(FULL) if is_row(x) else x
    ),
    "full-width keys": partial(keys, lambda k: k.translate(FULL) if isinstance(k, str) else k),
    "percent": partial(numbers, lambda n: f"{100 * n:.9f} %"),
    "fraction": partial(numbers, fraction),
    "fraction as text": partial(numbers, lambda n: str(fraction(n))),
    "decimal": partial(numbers, lambda n: Decimal(str(n))),
    "NumPy number": partial(numbers, np.float64),
    "no zero": partial(numbers, lambda n: re.sub(r"\b0\.", ".", f"{n:.9f}")),
    "percent in words": partial(numbers, lambda n: f"{100 * n:.9f} percent"),
    "around": partial(numbers, lambda n: f"≈ {n:.9f}"),
    "times": partial(numbers, lambda n: f"{n:.9f}x"),
    "in words": partial(numbers, lambda n: CARDINALS[int(n)] if n in range(11) else n),
    "single precision": partial(numbers, np.float32),
    "whole number": partial(numbers, lambda n: np.int64(n) if n == int(n) else n),
    "array of one": partial(numbers, lambda n: np.array([n])),
    "three alike": partial(numbers, lambda n: np.full(3, n)),
    "list as text": lambda x: ", ".join(map(str, x)) if is_row(x) else x,
    "underscores": partial(keys, lambda k: k.replace(" ", "_") if isinstance(k, str) else k),
    "upper keys": partial(keys, lambda k: k.upper() if isinstance(k, str) else k),
    "spaced keys": partial(keys, lambda k: f" {k} " if isinstance(k, str) else k),
    "keys as text": partial(keys, text_key),
    "keys as numbers": partial(
        keys, lambda k: np.float64(k) if isinstance(k, int | float) else k
    ),
    "upper words": partial(words, lambda w: f" {w.upper()}. "),
    "quoted words": partial(words, lambda w: f"'{w}'"),
    "yes and no": partial(words, lambda t: "Yes" if t else "no", kind=bool),
    "NumPy truth": partial(words, np.bool_, kind=bool),
}

OTHER = {number for number, _ in ROWS}

# Answers that are data, but that their exercise reads in a way of its own
OWN = {
    "2.6": "groups of cards",
    "5.2": "letters of lines",
    "13.5": "a player of K8",
    "museum.3": "a line of code",
    "classic.5": "labels of infosets",
}


def is_row(x):
    """Return whether an answer is a list of numbers or words."""
    return isinstance(x, list) and not any(isinstance(y, list | dict) for y in x)


def is_data(x):
    """Return whether an answer contains no program, game or set."""
    if isinstance(x, dict | list):
        return all(map(is_data, x.values() if isinstance(x, dict) else x))
    return isinstance(x, bool | float | str)


def solution_as_data(number):
    """Return the solution of an exercise as plain data, or None if it is anything else."""
    try:
        found = plain(exercises.find(number).solution())
    except Unreadable:
        return None
    return found if is_data(found) else None


SLOW = {"4.5", "5.3", "6.4", "8.8", "14.5", "classic.3"}
CASES = [
    pytest.param(e.number, marks=[pytest.mark.slow] if e.number in SLOW else [])
    for e in ALL
    if e.number not in OWN
]


MORE = {"three decimals": 3, "four decimals": 4, "five decimals": 5}


def as_asked(number):
    """Return how an exercise wants a number written: with three digits, or as it says."""
    asks = exercises.find(number).of("0").asks
    places = next((n for words, n in MORE.items() if words in asks), None)
    digits = 6 if "six digits" in asks else 3

    def write(n):
        if not math.isfinite(n) or n == int(n):
            return n
        return f"{n:.{digits}g}" if places is None else f"{n:.{places}f}"

    return partial(numbers, write)


@pytest.mark.parametrize("number", CASES)
def test_answer_in_every_form_is_right(number):
    """Three significant digits are enough, unless the exercise says how many it wants."""
    answer = solution_as_data(number)
    if answer is None:
        assert number in OTHER  # a program
        return
    for form, write in {**FORMS, "as asked": as_asked(number)}.items():
        feedback = cached(number).check(write(answer))
        assert feedback.right, (form, feedback)


@pytest.mark.slow
@pytest.mark.parametrize("number", CASES)
def test_rounded_mistake_stays_wrong(number):
    write = as_asked(number)
    for mistake in (
        exercises.find(number).mistakes if solution_as_data(number) is not None else ()
    ):
        feedback = cached(number).check(write(plain(mistake.answer())))
        assert not feedback.right, (mistake, feedback)
