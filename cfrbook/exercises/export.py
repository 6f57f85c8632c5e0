"""What a page needs to check an answer by itself: solutions and feedback as JSON.

Only exercises whose answers are data can be exported. `book/_static/check.js` reads the JSON;
it is `cfrbook.exercises.grading` once more, in JavaScript.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Set
from typing import Any

from cfrbook.exercises.grading import Exercise, Unreadable, identity, normalized, plain

# Functions by which exercises read an answer, and that check.js has as well
SEES = {"check_best_response", "both_gains", "letters_of", "log_ratios", "two_numbers"}
SEES |= {"check_biases", "numbers"}


def exportable(exercise: Exercise) -> bool:
    """Return whether a page can check an exercise by itself."""
    return not exercise.accepts and (exercise.see is identity or exercise.see.__name__ in SEES)


def exported(exercise: Exercise) -> dict[str, Any]:
    """Return all that check.js needs of an exercise, ready for `json.dumps`.

    Examples
    --------
    >>> from cfrbook import exercises
    >>> exported(exercises.find("1.5"))["wanted"]
    'step 3'
    """
    return {
        "number": exercise.number,
        "title": exercise.title,
        "asks": exercise.asks,
        "see": "" if exercise.see is identity else exercise.see.__name__,
        "wanted": encoded(exercise._values(exercise.solution())),
        "known": [[encoded(value), says] for value, says in exercise._mistaken_values()],
        "tolerance": exercise.tolerance,
        "words": encoded(dict(exercise.words)),
        "takeaway": exercise.takeaway,
        "advice": exercise.advice,
    }


def encoded(value: Any) -> Any:
    """Return a value as JSON: what JSON does not know is an object that names its kind.

    Examples
    --------
    >>> encoded({"alike": frozenset("b"), 3: (0.5, True)})
    {'dict': [['alike', {'set': ['b']}], [{'int': '3'}, {'tuple': [0.5, True]}]]}
    """
    if isinstance(value, Mapping):
        return {"dict": [[encoded(key), encoded(x)] for key, x in value.items()]}
    if isinstance(value, list):
        return [*map(encoded, value)]
    if isinstance(value, tuple):
        return {"tuple": [*map(encoded, value)]}
    if isinstance(value, Set):
        return {"set": sorted(map(encoded, value), key=repr)}
    if value is ...:
        return {"missing": True}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": repr(value)}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"int": str(value)}
    if value is None or isinstance(value, bool | float | str):
        return value
    raise TypeError(f"{value!r} is no data")


def fields(cell: str, exercise: Exercise) -> Any:
    """Return the fields for an answer, in the form of an answer cell; None if it is no data.

    A field is ``"number"``, ``"truth"``, ``"text"``, or ``"word"``: one of the exercise's.

    Parameters
    ----------
    cell : str
        Code that assigns to `answer`, with ``...`` in each place to fill in.
    exercise : Exercise
        Its solution says what is in each place.

    Examples
    --------
    >>> from cfrbook import exercises
    >>> fields("answer = {'value': ..., 'bluff': ...}", exercises.find("4.2"))
    {'dict': [['value', 'number'], ['bluff', 'word']]}
    >>> fields("def equilibrium(n): ...", exercises.find("1.6")) is None
    True
    """
    for line in reversed(ast.parse(cell).body):
        match line:
            case ast.Assign(targets=[ast.Name("answer")], value=form):
                try:
                    return _fields(form, plain(exercise.solution()), bool(exercise.words))
                except (LookupError, Unreadable):  # a game, a program, a table of any length
                    return None
    return None


def _fields(form: ast.expr, value: Any, words: bool) -> Any:
    """Return the fields for a part of an answer; raise LookupError if it is no data."""
    match form:
        case ast.Dict(keys, values):
            of = {normalized(key): x for key, x in value.items()}
            names = [ast.literal_eval(key) for key in keys if key]
            named = zip(names, values, strict=True)
            return {
                "dict": [[encoded(k), _fields(x, of[normalized(k)], words)] for k, x in named]
            }
        case ast.List([_, _, *_] as items) | ast.Tuple([_, _, *_] as items):
            kinds = [_fields(x, y, words) for x, y in zip(items, value, strict=True)]
            return ["text"] * len(kinds) if "text" in kinds else kinds  # of one kind
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "word" if words else "text"
    if isinstance(value, list | Set):
        return "text"
    raise LookupError(value)
