"""Exercises that grade themselves: ``exercises.check("4.1", answer)``.

Every exercise of the book has an entry in the module of its page: how an answer is given, how
the right one is computed, and which wrong ones are tempting, and why. Truth is computed by the
package when an answer is checked; nothing is looked up.
"""

import importlib

from cfrlib.exercises.grading import Exercise, Feedback, Mistake

__all__ = ["Exercise", "Feedback", "Mistake", "check", "find"]

# the number of an exercise begins with its chapter, or with the name of an appendix
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
    "sub": "subgames",
    "own": "your_own_game",
    "errata": "errata",
    "classic": "classics",
}


def find(number: str) -> Exercise:
    """Return an exercise of the book.

    Parameters
    ----------
    number : str
        As printed beside its title: ``"4.2"``, ``"errata.1"``.

    Raises
    ------
    ValueError
        If the book has no such exercise; the message names those of the page.

    Examples
    --------
    >>> find("4.1")
    Exercise 4.1 · By hand · points: 2
    >>> find("4.9")
    Traceback (most recent call last):
    ValueError: there is no exercise '4.9'; this page has 4.1, 4.2, 4.3, 4.4, 4.5
    """
    page = str(number).partition(".")[0]
    if page not in PAGES:
        raise ValueError(
            f"there is no exercise {number!r}; a number is a string that begins with "
            f"{', '.join(PAGES)}, as '4.1'"
        )
    listed = importlib.import_module(f"cfrlib.exercises.{PAGES[page]}").EXERCISES
    for exercise in listed:
        if exercise.number == number:
            found: Exercise = exercise
            return found
    names = ", ".join(exercise.number for exercise in listed)
    raise ValueError(f"there is no exercise {number!r}; this page has {names}")


def check(number: str, answer: object) -> Feedback:
    """Say whether an answer is right, and if not, what may have gone wrong.

    Parameters
    ----------
    number : str
        The exercise, as printed beside its title.
    answer : object
        As the exercise asks for it. Numbers may be fractions, floats or words (``"1/3"``,
        ``"25 %"``), a dictionary may be a list in the same order, and so on. ``...`` stands for
        what is not answered yet.

    Returns
    -------
    Feedback
        Prints as a sentence or two. Its attribute ``right`` is True or False.

    Raises
    ------
    ValueError
        If there is no such exercise. A wrong or unreadable answer raises nothing.

    Examples
    --------
    >>> check("4.1", ...).right
    False
    """
    return find(number).check(answer)
