"""Reading an answer, comparing it with the solution, and explaining what is wrong."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np

WIDTH = 78  # columns of a notebook's output
SIGNS = {"right": "✓", "wrong": "✗", "unreadable": "?", "open": "○"}


class Unreadable(Exception):
    """An answer in the wrong form; the message says what is wrong with it."""


class Unanswered(Exception):
    """An answer that contains ``...``; the message says where."""


@dataclass(frozen=True)
class Mistake:
    """A typical wrong answer.

    Attributes
    ----------
    answer : callable
        Returns the wrong answer, as a reader would give it.
    says : str
        The feedback to this answer: what went wrong and why it is tempting, but not the
        solution.

    Examples
    --------
    >>> Mistake(lambda: [1, 0], "A pure strategy can be exploited.").answer()
    [1, 0]
    """

    answer: Callable[[], object]
    says: str


@dataclass(frozen=True)
class Feedback:
    """The result of checking an answer; prints as a sentence or two.

    Attributes
    ----------
    number, title : str
        Number and title of the exercise.
    verdict : str
        ``"right"``, ``"wrong"``, ``"unreadable"`` or ``"open"`` (not answered yet).
    text : str
        The feedback, in sentences.

    Examples
    --------
    >>> Feedback("4.5", "Open", "open", "Not answered yet.")
    ○ 4.5 · Open · Not answered yet.
    """

    number: str
    title: str
    verdict: str
    text: str

    @property
    def right(self) -> bool:
        """Whether the answer earns its points."""
        return self.verdict == "right"

    def __bool__(self) -> bool:
        return self.right

    def __repr__(self) -> str:
        line = f"{SIGNS[self.verdict]} {self.number} · {self.title} · {self.text}"
        return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def identity(answer: Any) -> Any:
    """Return the answer itself, since most answers are compared directly."""
    return answer


@dataclass(frozen=True, repr=False)
class Exercise:
    """One exercise: the form of an answer, the solution, and typical mistakes.

    Attributes
    ----------
    number, title : str
        Number and title, as printed on the page.
    asks : str
        The form of an answer, in words: ``"a dictionary with 'fold' and 'call'"``.
    solution : callable
        Computes a correct answer, as a reader would give it.
    mistakes : sequence of Mistake
        Typical wrong answers.
    see : callable
        Extracts from an answer the values to compare: the return values of a function for some
        arguments, the exploitability of a strategy. It may raise `Unreadable`.
    accepts : callable, optional
        Returns whether the extracted values are correct, for exercises with several correct
        answers. By default they must equal the values of the solution.
    tolerance : float
        Largest error of a number: absolute up to 1, relative above.
    points : int
        Points in class.
    takeaway, advice : str
        Feedback to a correct answer, and to a wrong one that matches no mistake.

    Examples
    --------
    >>> coin = Exercise(
    ...     "0.1",
    ...     "A coin",
    ...     "a number",
    ...     lambda: 1 / 4,
    ...     (Mistake(lambda: 1 / 2, "That is one toss."),),
    ...     takeaway="Twice a half.",
    ... )
    >>> coin.check("1/4")
    ✓ 0.1 · A coin · Right. Twice a half.
    >>> coin.check(0.5)
    ✗ 0.1 · A coin · Not yet. That is one toss.
    """

    number: str
    title: str
    asks: str
    solution: Callable[[], object]
    mistakes: Sequence[Mistake] = ()
    see: Callable[[Any], Any] = field(default=identity)
    accepts: Callable[[Any], bool] | None = None
    tolerance: float = 1e-3
    points: int = 1
    takeaway: str = ""
    advice: str = ""

    def __repr__(self) -> str:
        return f"Exercise {self.number} · {self.title} · points: {self.points}"

    def check(self, answer: object) -> Feedback:
        """Return the feedback to an answer; see `cfrlib.exercises.check`."""
        try:
            verdict, text = self._compare(self._values(answer))
        except Unanswered as missing:
            verdict, text = "open", f"Not answered yet{missing}: the answer is {self.asks}."
        except Unreadable as trouble:
            verdict, text = "unreadable", f"The answer is {self.asks}, but {trouble}."
        return Feedback(self.number, self.title, verdict, " ".join(text.split()))

    def _values(self, answer: object) -> Any:
        """Return the values to compare; report any error in a reader's code as unreadable."""
        require_complete(answer)
        try:
            return self.see(answer)
        except (Unreadable, Unanswered):
            raise
        except Exception as error:
            raise Unreadable(f"your code raised {type(error).__name__}: {error}") from error

    def _compare(self, given: Any) -> tuple[str, str]:
        """Return the verdict and the feedback."""
        wanted = self.see(self.solution())
        wrong = differences(given, wanted, self.tolerance)
        if self.accepts(given) if self.accepts else not wrong:
            return "right", f"Right. {self.takeaway}"
        for mistake in self.mistakes:
            if not differences(given, self.see(mistake.answer()), self.tolerance):
                return "wrong", f"Not yet. {mistake.says}"
        if self.accepts:
            return "wrong", f"Not yet. {self.advice}"
        found = f"{common_error(given, wanted)} {wrong_parts(wrong, wanted)}"
        return "wrong", f"Not yet. {found} {self.advice}"


# ---- reading --------------------------------------------------------------------------------


def require_complete(answer: object, place: str = "") -> None:
    """Raise `Unanswered` if an answer contains ``...``."""
    if answer is ...:
        raise Unanswered(place)
    if isinstance(answer, Mapping):
        for key, value in answer.items():
            require_complete(value, f", {key!r} is missing")
    elif isinstance(answer, list | tuple):
        for n, value in enumerate(answer, 1):
            require_complete(value, f", number {n} is missing")


def as_number(value: Any) -> float:
    """Convert a number from a float, a fraction, a percentage or an array.

    Examples
    --------
    >>> as_number("−1/4"), as_number("25 %"), as_number(np.array([0.25]))
    (-0.25, 0.25, 0.25)
    """
    if isinstance(value, str):
        text = value.replace("−", "-").replace(" ", "").replace(",", "")
        try:
            if text.endswith("%"):
                return float(Fraction(text[:-1]) / 100)
            return float(Fraction(text))
        except (ValueError, ZeroDivisionError):
            raise Unreadable(f"{value!r} is not a number") from None
    try:
        return float(np.asarray(value, dtype=float).item())
    except (TypeError, ValueError):
        raise Unreadable(f"{shortened(value)} is not a number") from None


def require_function(answer: object) -> None:
    """Raise `Unreadable` unless an answer is a function.

    Examples
    --------
    >>> require_function(abs)
    >>> require_function(-1)
    Traceback (most recent call last):
    cfrlib.exercises.grading.Unreadable: yours is not a function
    """
    if not callable(answer):
        raise Unreadable("yours is not a function")


def shortened(value: object) -> str:
    """Return the repr of a value, shortened to one line."""
    return textwrap.shorten(repr(value), 60, placeholder=" …")


def differences(
    given: Any, wanted: Any, tolerance: float, place: tuple[object, ...] = ()
) -> list[tuple[object, ...]]:
    """Return the places where an answer differs from another, which must have the same form.

    Examples
    --------
    >>> differences({"call": "1/12", "fold": 0}, {"fold": -1 / 12, "call": 0.08333}, 1e-3)
    [('fold',)]
    >>> differences([0.5, 0.5], {"fold": 0.5, "call": 0.5}, 1e-3)
    []
    """
    if isinstance(wanted, Mapping):
        pairs = pair_values(given, wanted)
        return [d for key, a, b in pairs for d in differences(a, b, tolerance, (*place, key))]
    if isinstance(wanted, str):
        return [] if normalized(given) == normalized(wanted) else [place]
    if isinstance(wanted, bool | np.bool_):
        if not isinstance(given, bool | np.bool_):
            raise Unreadable(f"{shortened(given)} is neither True nor False")
        return [] if given == wanted else [place]
    if isinstance(wanted, Set):
        if isinstance(given, str) or not isinstance(given, Set | Sequence | Mapping):
            raise Unreadable(f"{shortened(given)} is not a set")
        equal = {normalized(g) for g in given} == {normalized(w) for w in wanted}
        return [] if equal else [place]
    if isinstance(wanted, Sequence | np.ndarray) and np.ndim(np.asarray(wanted)):
        items = as_list(given, len(wanted))
        numbered = enumerate(zip(items, wanted, strict=True), 1)
        return [d for n, (a, b) in numbered for d in differences(a, b, tolerance, (*place, n))]
    if isinstance(given, bool):
        raise Unreadable(f"{given} is not a number")
    a, b = as_number(given), as_number(wanted)
    return [] if math.isclose(a, b, rel_tol=tolerance, abs_tol=tolerance) else [place]


def normalized(value: object) -> object:
    """Return a string without surrounding blanks and in lower case; other values unchanged."""
    return value.strip().casefold() if isinstance(value, str) else value


def as_list(given: Any, length: int) -> list[Any]:
    """Return an answer as a list of `length` values."""
    if isinstance(given, Mapping):
        given = list(given.values())
    if isinstance(given, str) or not (isinstance(given, Sequence) or np.ndim(given)):
        raise Unreadable(f"{shortened(given)} is not a list of {length} values")
    if len(given) != length:
        raise Unreadable(f"{shortened(given)} has {len(given)} values and should have {length}")
    return list(given)


def pair_values(given: Any, wanted: Mapping[Any, Any]) -> Iterator[tuple[object, Any, Any]]:
    """Pair the values of two dictionaries by key, or a list's values in the order of keys."""
    if not isinstance(given, Mapping):
        given = dict(zip(wanted, as_list(given, len(wanted)), strict=True))
    rest = {normalized(key): value for key, value in given.items()}
    for key, value in wanted.items():
        if normalized(key) not in rest:
            raise Unreadable(f"{key!r} is missing: the keys here are {list(given)}")
        yield key, rest.pop(normalized(key)), value
    if rest:
        raise Unreadable(f"the exercise does not ask for {next(iter(rest))!r}")


# ---- explaining -----------------------------------------------------------------------------


def flat_numbers(value: Any) -> list[float]:
    """Return all numbers of an answer as a flat list, empty if it contains anything else."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, str | bool | Set):
        return []
    if isinstance(value, Sequence | np.ndarray) and np.ndim(np.asarray(value, object)):
        rows = [flat_numbers(item) for item in value]
        return [x for row in rows for x in row] if all(rows) else []
    return [as_number(value)]


def common_error(given: Any, wanted: Any) -> str:
    """Return a sentence about an error that all numbers of an answer share, or "".

    The sentence does not reveal the correct numbers.

    Examples
    --------
    >>> common_error([0.5, -1], [-0.5, 1])
    'The sizes are right, the signs are not: whose payoff is it?'
    """
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        given = [value for _, value, _ in pair_values(given, wanted)]
    a, b = np.array(flat_numbers(given)), np.array(flat_numbers(wanted))
    if not len(b) or a.shape != b.shape or not b.any():
        return ""
    if np.allclose(a, b, 0.02, 1e-9):
        return "Close, but not close enough: give more digits, or compute for longer."
    if np.allclose(a, -b, 1e-3, 1e-6):
        return "The sizes are right, the signs are not: whose payoff is it?"
    if np.allclose(a, 100 * b, 1e-3):
        return "Is this in percent? Write 0.25 or '25 %', not 25."
    if len(b) > 2 and np.allclose(sorted(a), sorted(b), 1e-3, 1e-6):
        return "The numbers are right, their order is not."
    used = b != 0
    ratio = a[used] / b[used]
    if np.allclose(ratio, ratio[0], 1e-3) and not a[~used].any() and ratio[0] > 0:
        if len(ratio) > 1:
            return "All numbers are off by one and the same factor: is a weight missing?"
        if any(math.isclose(ratio[0], r, rel_tol=1e-3) for r in (2, 0.5)):
            return "You are off by a factor of two: is it a sum, or a mean, or one of a pair?"
    if b.min() >= 0 and math.isclose(b.sum(), 1, abs_tol=1e-6) and abs(a.sum() - 1) > 1e-2:
        return f"Probabilities add up to 1, and yours to {a.sum():.4g}."
    return ""


def wrong_parts(wrong: Sequence[tuple[object, ...]], wanted: Any) -> str:
    """Return a sentence on which parts of an answer are wrong, or "" if all are."""
    if not isinstance(wanted, Mapping | Sequence) or isinstance(wanted, str):
        return ""
    if len({place[0] for place in wrong}) == len(wanted):
        return ""
    names = list(dict.fromkeys(" of ".join(repr(p) for p in place[::-1]) for place in wrong))
    if len(names) > 4:
        names[3:] = [f"{len(names) - 3} others"]
    is_are = "is" if len(names) == 1 else "are"
    return f"Of your values, {', '.join(names)} {is_are} not right; all others are."
