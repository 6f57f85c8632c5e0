"""Automatic feedback on the book's exercises: ``exercises.check("4.1", answer)``.

Every exercise of the book has an entry in the module of its page: the form of an answer, a
function that computes the solution, and typical mistakes with their feedback. Solutions are
computed when an answer is checked; none is stored.
"""

import importlib

from cfrlib.exercises.grading import Exercise, Feedback, Mistake

__all__ = ["Exercise", "Feedback", "Mistake", "check", "find"]

# Module by the first part of an exercise's number: its chapter, or the name of an appendix.
PAGES = {
    "1": "regret_matching",
    "2": "hidden_cards",
    "3": "equilibrium",
    "4": "vanilla_cfr",
    "5": "cfr_plus",
    "6": "discounting",
    "7": "monte_carlo",
    "8": "robust_sampling",
    "9": "online_search",
    "10": "deep_cfr",
    "11": "double_neural",
    "12": "coyote",
    "13": "koi_koi",
    "14": "learning_koi_koi",
    "15": "last_iterate",
    "16": "part_of_a_game",
    "sub": "subgames",
    "own": "your_own_game",
    "errata": "errata",
    "museum": "museum",
    "classic": "classics",
    "papers": "reading_papers",
    "players": "koikoi_for_players",
    "bet": "koikoi_bet",
}


def find(number: str) -> Exercise:
    """Return an exercise of the book.

    Parameters
    ----------
    number : str
        Number as printed beside the title: ``"4.2"``, ``"errata.1"``.

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
    if page not in PAGES:
        raise ValueError(
            f"there is no exercise {number!r}; a number is a string such as '4.1' that begins "
            f"with one of {', '.join(PAGES)}"
        )
    entries = importlib.import_module(f"cfrlib.exercises.{PAGES[page]}").EXERCISES
    for exercise in entries:
        if exercise.number == number:
            found: Exercise = exercise
            return found
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
        strings (``"1/3"``, ``"25 %"``); a list may replace a dictionary in the same order.
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
