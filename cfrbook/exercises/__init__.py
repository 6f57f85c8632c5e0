"""Automatic feedback on the book's exercises: ``exercises.check("4.1", answer)``.

The exercises of a page are a sheet of text, named like the page, beside a module of helpers:
the form of an answer, an expression that computes the solution, and typical mistakes with
their feedback (:mod:`cfrbook.exercises.sheet`). Solutions are computed when an answer is
checked, or when a page is built (:mod:`cfrbook.exercises.export`); none is stored.
"""

import importlib
from functools import cache
from pathlib import Path

from cfrbook.exercises.grading import Exercise, Feedback, Mistake
from cfrbook.exercises.sheet import number_of

__all__ = ["Exercise", "Feedback", "Mistake", "check", "find"]


@cache
def pages() -> dict[str, str]:
    """Return the pages with exercises, by the first part of their exercises' numbers.

    Examples
    --------
    >>> pages()["4"], pages()["own"]
    ('04_vanilla_cfr', 'your_own_game')
    """
    sheets = sorted(Path(__file__).parent.glob("*.md"))
    return {number_of(path).partition(".")[0]: path.stem for path in sheets}


def on_page(name: str) -> tuple[Exercise, ...]:
    """Return the exercises of a page, in order.

    Examples
    --------
    >>> [exercise.number for exercise in on_page("museum")]
    ['museum.1', 'museum.2', 'museum.3']
    """
    found: tuple[Exercise, ...] = importlib.import_module(f"{__name__}.{name}").EXERCISES
    return found


def find(number: str) -> Exercise:
    """Return an exercise of the book.

    Parameters
    ----------
    number : str
        Number as printed beside the title: ``"4.3"``, ``"errata.1"``.

    Raises
    ------
    ValueError
        If the book has no such exercise; the message lists those of the page.

    Examples
    --------
    >>> find("4.1")
    Exercise 4.1 · By hand · points: 2
    >>> find("2.9")
    Traceback (most recent call last):
    ValueError: there is no exercise '2.9'; this page has 2.1, 2.2, 2.3, 2.4, 2.5, 2.6
    """
    page = str(number).partition(".")[0]
    if page not in pages():
        raise ValueError(
            f"there is no exercise {number!r}; a number is a string such as '4.1' that begins "
            f"with one of {', '.join(pages())}"
        )
    entries = on_page(pages()[page])
    for exercise in entries:
        if exercise.number == number:
            return exercise
    names = ", ".join(exercise.number for exercise in entries)
    raise ValueError(f"there is no exercise {number!r}; this page has {names}")


def check(number: str, answer: object, student: str = "") -> Feedback:
    """Check an answer, and explain a typical mistake.

    Parameters
    ----------
    number : str
        Number of the exercise, as printed beside its title.
    answer : object
        The answer, in the form that the exercise asks for. Numbers may be floats, fractions or
        strings (``"1/3"``, ``"25 %"``), with three significant digits; a list may replace a
        dictionary in the same order.
        ``...`` marks a part that is not answered yet.
    student : str
        Name or number of the student. Some exercises have other numbers for each of them.

    Returns
    -------
    Feedback
        Prints as a sentence or two. Its attribute ``right`` is True for a correct answer.

    Raises
    ------
    ValueError
        If there is no such exercise. A wrong or unreadable answer raises nothing, whatever
        its code does; only an interrupt by the reader is passed on.

    Examples
    --------
    >>> check("4.1", ...).right
    False
    """
    return find(number).of(str(student)).check(answer)
