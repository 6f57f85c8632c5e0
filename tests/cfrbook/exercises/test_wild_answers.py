"""`exercises.check` raises nothing, whatever it is given."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from graded import ALL, cached, name

from cfrbook import exercises
from cfrbook.exercises.grading import DEEPEST, LONGEST, MOST, Exercise, plain, shortened


class Hostile:
    """An object whose method of this name raises, and whose other methods return nonsense."""

    def __init__(self, method, error=RuntimeError):
        self.method, self.error = method, error

    def act(self, method, value):
        if method == self.method:
            raise self.error("on purpose")
        return value

    def __repr__(self):
        return self.act("repr", "hostile")

    def __iter__(self):
        return self.act("iter", iter((1, 2)))

    def __len__(self):
        return self.act("len", 2)

    def __float__(self):
        return self.act("float", 0.5)

    def __eq__(self, other):
        return self.act("eq", True)

    def __hash__(self):
        return self.act("hash", 7)

    def __array__(self, *args, **options):
        return self.act("array", np.array([0.5, 0.5]))

    def __call__(self, *args, **options):
        return self.act("call", self)


class HostileMapping(Hostile, Mapping):
    """The same as a mapping."""

    def __getitem__(self, key):
        return self.act("getitem", 1)

    def items(self):
        return self.act("items", [("fold", self)])


class Uncountable(list):
    """A list that cannot be gone through."""

    def __iter__(self):
        raise RuntimeError("on purpose")

    __len__ = __iter__


class Unspeakable(Exception):
    """An error without a message."""

    def __str__(self):
        raise RuntimeError("on purpose")


def leave(*args, **options):
    sys.exit("I am done")


def speechless(*args, **options):
    raise Unspeakable


def endless(*args, **options):
    return endless()


def forever():
    while True:
        yield 0.5


def deep(levels):
    nested = []
    for _ in range(levels):
        nested = [nested]
    return nested


ITSELF = []
ITSELF.append(ITSELF)
OWN = {}
OWN["fold"] = OWN
METHODS = ("repr", "iter", "len", "float", "eq", "hash", "array", "call", "getitem", "items")

WILD = {
    **{f"{m} raises": Hostile(m) for m in METHODS[:8]},
    **{f"{m} of a mapping raises": HostileMapping(m) for m in METHODS},
    "float exits": Hostile("float", SystemExit),
    "call exits": Hostile("call", SystemExit),
    "no message": Hostile("float", Unspeakable),
    "class": Hostile,
    "exits": leave,
    "raises without a message": speechless,
    "calls itself": endless,
    "returns None": lambda *args, **options: None,
    "returns ...": lambda *args, **options: ...,
    "returns a generator": lambda *args, **options: forever(),
    "no arguments": lambda: 1,
    "not to be iterated": Uncountable([1, 2]),
    "contains itself": ITSELF,
    "a dictionary in itself": OWN,
    "3,000 deep": deep(3_000),
    "forever": forever(),
    "a billion": range(10**9),
    "10**400": 10**400,
    "10**5000": 10**5_000,
    "1e400": "1e400",
    "1e999999999": "1e999999999",
    "1e999999999/1e999999999": "1e999999999/1e999999999",
    "large fraction": Fraction(10**400, 3),
    "signaling": Decimal("sNaN"),
    "nan": float("nan"),
    "inf": -float("inf"),
    "complex": 0.5 + 0j,
    "complex scalar": np.complex64(0.5),
    "complex array": np.array([0.5 + 0j, 0.5]),
    "True": True,
    "unhashable": [["J"], {"Q": 1}, {"K"}],
    "set of tuples": {("J", ("Q", ())), frozenset({"K"})},
    "objects": np.array([object(), ...], dtype=object),
    "records": np.zeros(2, dtype=[("a", float), ("b", float)]),
    "dates": np.array(["2026-01-01"], dtype="datetime64[D]"),
    "bytes": b"0.5",
    "empty": [],
    "nothing": {},
    "None": None,
    "module": np,
    "megabyte": "x" * 1_000_000,
    "0,4": "0,4",
}


def size(answer):
    """Return the number of values in an answer."""
    if isinstance(answer, dict):
        return sum(map(size, answer.values()))
    return sum(map(size, answer)) if isinstance(answer, list | tuple) else 1


def replaced(answer, wild, only_first):
    """Return an answer with its values replaced: all of them, or only the first."""
    left = [1 if only_first else 10**9]

    def walk(part):
        if isinstance(part, dict):
            return {key: walk(value) for key, value in part.items()}
        if isinstance(part, list | tuple):
            return [walk(value) for value in part]
        left[0] -= 1
        return wild if left[0] >= 0 else part

    return walk(answer)


def judged(exercise, answer):
    """Return the verdict on an answer; the feedback can be printed and is short."""
    feedback = exercise.check(answer)
    assert len(repr(feedback)) < len(exercise.asks) + 2_000
    return feedback.verdict


@pytest.mark.slow
@pytest.mark.parametrize("exercise", ALL, ids=name)
def test_wild_answer_raises_nothing_and_earns_nothing(exercise):
    graded = cached(exercise.number)
    for wild, answer in WILD.items():
        assert judged(graded, answer) != "right", wild


@pytest.mark.slow
@pytest.mark.parametrize("exercise", [e for e in ALL if "classic" not in e.number], ids=name)
def test_wild_values_in_an_answer_raise_nothing(exercise):
    solution = exercise.solution()
    if not isinstance(solution, dict | list | tuple) or size(solution) > 50:
        return  # functions, games, and a strategy
    graded = cached(exercise.number)
    for answer in WILD.values():
        for only_first in (True, False):
            judged(graded, replaced(solution, answer, only_first))


def test_wild_values_earn_nothing_by_luck():
    """A complex number is no number, and neither is True."""
    half = Exercise("0.1", "Half", "a number", lambda: 0.5)
    one = Exercise("0.2", "One", "a number", lambda: 1)
    assert half.check(np.complex64(0.5)).verdict == "unreadable"
    assert half.check(0.5 + 0j).verdict == "unreadable"
    assert one.check(True).verdict == one.check(np.True_).verdict == "unreadable"
    assert half.check(None).verdict == "unreadable"


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (10**400, "is too large"),
        ("1e400", "'1e400' is too large"),
        ("1e999999999", "'1e999999999' is too large"),
        ("0,4", "'0,4' has a comma: write a decimal point"),
        ("1,326", "has a comma"),
        (ITSELF, "nested too deeply"),
        (range(10**9), f"more than {MOST:,} entries"),
        (leave, "is not a number"),
        (0.5 + 0j, "is not a number"),
        ("1 2/3", "is not a number"),
        ("1/2/3", "is not a number"),
    ],
)
def test_sentence_says_what_is_wrong(answer, says):
    number = Exercise("0.1", "Number", "a number", lambda: 0.5)
    assert says in number.check(answer).text


def test_exit_in_a_function_is_reported():
    run = Exercise("0.1", "Run", "a function", lambda: abs, see=lambda f: f(-1))
    assert "your code raised SystemExit: I am done" in run.check(leave).text
    assert "your code raised Unspeakable" in run.check(speechless).text


def test_long_answer_is_quoted_short():
    number = Exercise("0.1", "Number", "a number", lambda: 0.5)
    for answer in ("x" * 10**6, ["x" * 10**6] * 3, {"y" * 10**6: 1}, 7 * "word " * 10**5):
        assert len(number.check(answer).text) < 200
    assert len(shortened("x" * 100)) == LONGEST


def test_plain_copies():
    mine = {"rows": [np.arange(3.0)], "names": {"Q"}}
    copy = plain(mine)
    mine["rows"][0][0] = 7
    assert copy == {"rows": [[0, 1, 2]], "names": frozenset({"q"})}
    assert plain(deep(DEEPEST - 2)) == deep(DEEPEST - 2)


def test_check_needs_no_output(monkeypatch):
    """A reader may have lost the streams."""
    monkeypatch.setattr(sys, "stdout", None)
    monkeypatch.setattr(sys, "stderr", None)
    verdicts = [
        exercises.check(n, exercises.find(n).solution()).verdict for n in ("1.1", "4.8")
    ]
    assert verdicts == ["right", "right"]
