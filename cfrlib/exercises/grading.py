"""How an answer is read, compared and explained."""

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
    """An answer that is not of the form asked for; the message says what is amiss."""


class Unanswered(Exception):
    """An answer with ``...`` in it; the message says where."""


@dataclass(frozen=True)
class Mistake:
    """A wrong answer that tempts.

    Attributes
    ----------
    answer : callable
        Returns that answer, as a reader would give it.
    says : str
        What to tell a reader who gives it: what went wrong and why it is tempting, but not
        the solution.

    Examples
    --------
    >>> Mistake(lambda: [1, 0], "A pure strategy can be exploited.").answer()
    [1, 0]
    """

    answer: Callable[[], object]
    says: str


@dataclass(frozen=True)
class Feedback:
    """What became of an answer; prints as a sentence or two.

    Attributes
    ----------
    number, title : str
        The exercise.
    verdict : str
        ``"right"``, ``"wrong"``, ``"unreadable"`` or ``"open"`` (not answered yet).
    text : str
        The sentences.

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
        said = f"{SIGNS[self.verdict]} {self.number} · {self.title} · {self.text}"
        return textwrap.fill(said, WIDTH, subsequent_indent="  ", break_on_hyphens=False)


def itself(answer: Any) -> Any:
    """Return what is given: most answers are compared as they are."""
    return answer


@dataclass(frozen=True, repr=False)
class Exercise:
    """One exercise: how it is answered, what is right, and which errors are known.

    Attributes
    ----------
    number, title : str
        As the page prints them.
    asks : str
        The form of an answer, in words: ``"a dictionary with 'fold' and 'call'"``.
    solution : callable
        Computes a right answer, as a reader would give it.
    mistakes : sequence of Mistake
        Tempting wrong answers.
    see : callable
        What is compared of an answer: the numbers that a function returns for some
        arguments, how exploitable a strategy is. It may raise `Unreadable`.
    accepts : callable, optional
        Whether what is seen is right, where more than one answer is; otherwise what is seen
        has to equal what is seen of the solution.
    tolerance : float
        How far a number may be off: absolutely, and relative to the right one if that is
        above 1.
    points : int
        What it is worth in class.
    takeaway, advice : str
        What to say to a right answer, and to a wrong one that no mistake explains.

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
    see: Callable[[Any], Any] = field(default=itself)
    accepts: Callable[[Any], bool] | None = None
    tolerance: float = 1e-3
    points: int = 1
    takeaway: str = ""
    advice: str = ""

    def __repr__(self) -> str:
        return f"Exercise {self.number} · {self.title} · points: {self.points}"

    def check(self, answer: object) -> Feedback:
        """Return what to say to an answer; see `cfrlib.exercises.check`."""
        try:
            verdict, text = self._judge(self._seen(answer))
        except Unanswered as missing:
            verdict, text = "open", f"Not answered yet{missing}: the answer is {self.asks}."
        except Unreadable as trouble:
            verdict, text = "unreadable", f"The answer is {self.asks}, but {trouble}."
        return Feedback(self.number, self.title, verdict, " ".join(text.split()))

    def _seen(self, answer: object) -> Any:
        """Return what is compared of a reader's answer, whose code may fail in any way."""
        look_for_gaps(answer)
        try:
            return self.see(answer)
        except (Unreadable, Unanswered):
            raise
        except Exception as error:
            raise Unreadable(f"yours raised {type(error).__name__}: {error}") from error

    def _judge(self, seen: Any) -> tuple[str, str]:
        wanted = self.see(self.solution())
        wrong = differences(seen, wanted, self.tolerance)
        if self.accepts(seen) if self.accepts else not wrong:
            return "right", f"Right. {self.takeaway}"
        for mistake in self.mistakes:
            if not differences(seen, self.see(mistake.answer()), self.tolerance):
                return "wrong", f"Not yet. {mistake.says}"
        found = "" if self.accepts else f"{trend(seen, wanted)} {where(wrong, wanted)}"
        return "wrong", f"Not yet. {found} {self.advice}"


# ---- reading --------------------------------------------------------------------------------


def look_for_gaps(answer: object, place: str = "") -> None:
    """Raise `Unanswered` if ``...`` stands anywhere in an answer."""
    if answer is ...:
        raise Unanswered(place)
    if isinstance(answer, Mapping):
        for key, value in answer.items():
            look_for_gaps(value, f", {key!r} is missing")
    elif isinstance(answer, list | tuple):
        for n, value in enumerate(answer, 1):
            look_for_gaps(value, f", number {n} is missing")


def number(value: Any) -> float:
    """Return a number that may be written as a float, a fraction, a percentage or an array.

    Examples
    --------
    >>> number("−1/4"), number("25 %"), number(Fraction(1, 4)), number(np.array([0.25]))
    (-0.25, 0.25, 0.25, 0.25)
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
        raise Unreadable(f"{short(value)} is not a number") from None


def need_function(given: object) -> None:
    """Raise `Unreadable` unless an answer is a function.

    Examples
    --------
    >>> need_function(abs)
    >>> need_function(-1)
    Traceback (most recent call last):
    cfrlib.exercises.grading.Unreadable: yours is no function
    """
    if not callable(given):
        raise Unreadable("yours is no function")


def short(value: object) -> str:
    """Return how a value prints, in one short line."""
    return textwrap.shorten(repr(value), 60, placeholder=" …")


def differences(
    given: Any, wanted: Any, tolerance: float, place: tuple[object, ...] = ()
) -> list[tuple[object, ...]]:
    """Return the places where an answer differs from another, whose form it must have.

    Examples
    --------
    >>> differences({"call": "1/12", "fold": 0}, {"fold": -1 / 12, "call": 0.08333}, 1e-3)
    [('fold',)]
    >>> differences([0.5, 0.5], {"fold": 0.5, "call": 0.5}, 1e-3)
    []
    """
    if isinstance(wanted, Mapping):
        pairs = in_step(given, wanted)
        return [d for key, a, b in pairs for d in differences(a, b, tolerance, (*place, key))]
    if isinstance(wanted, str):
        return [] if words(given) == words(wanted) else [place]
    if isinstance(wanted, bool | np.bool_):
        if not isinstance(given, bool | np.bool_):
            raise Unreadable(f"{short(given)} is neither True nor False")
        return [] if given == wanted else [place]
    if isinstance(wanted, Set):
        if isinstance(given, str) or not isinstance(given, Set | Sequence | Mapping):
            raise Unreadable(f"{short(given)} is not a set")
        same = {words(g) for g in given} == {words(w) for w in wanted}
        return [] if same else [place]
    if isinstance(wanted, Sequence | np.ndarray) and np.ndim(np.asarray(wanted)):
        items = listed(given, len(wanted))
        ranks = range(1, len(items) + 1)
        rows = zip(ranks, items, wanted, strict=True)
        return [d for n, a, b in rows for d in differences(a, b, tolerance, (*place, n))]
    if isinstance(given, bool):
        raise Unreadable(f"{given} is not a number")
    off = abs(number(given) - number(wanted))
    return [] if off <= tolerance * max(1.0, abs(number(wanted))) else [place]


def words(value: object) -> object:
    """Return a word without what does not count: case and outer blanks."""
    return value.strip().casefold() if isinstance(value, str) else value


def listed(given: Any, length: int) -> list[Any]:
    """Return an answer as a list of `length` values."""
    if isinstance(given, Mapping):
        given = list(given.values())
    if isinstance(given, str) or not (isinstance(given, Sequence) or np.ndim(given)):
        raise Unreadable(f"{short(given)} is not a list of {length} values")
    if len(given) != length:
        raise Unreadable(f"{short(given)} has {len(given)} values and should have {length}")
    return list(given)


def in_step(given: Any, wanted: Mapping[Any, Any]) -> Iterator[tuple[object, Any, Any]]:
    """Pair the values of two dictionaries by key, or a list's values in the order of keys."""
    if not isinstance(given, Mapping):
        given = dict(zip(wanted, listed(given, len(wanted)), strict=True))
    own = {words(key): value for key, value in given.items()}
    for key, value in wanted.items():
        if words(key) not in own:
            raise Unreadable(f"{key!r} is missing: the keys here are {list(given)}")
        yield key, own.pop(words(key)), value
    if own:
        raise Unreadable(f"nothing was asked about {next(iter(own))!r}")


# ---- explaining -----------------------------------------------------------------------------


def leaves(value: Any) -> list[float]:
    """Return all numbers of an answer in a row, or nothing if it has anything else in it."""
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, str | bool | Set):
        return []
    if isinstance(value, Sequence | np.ndarray) and np.ndim(np.asarray(value, object)):
        rows = [leaves(item) for item in value]
        return [x for row in rows for x in row] if all(rows) else []
    return [number(value)]


def trend(given: Any, wanted: Any) -> str:
    """Say what all numbers of an answer have in common, if they are wrong in a common way.

    The right numbers cannot be read off from what it says.

    Examples
    --------
    >>> trend([0.5, -1], [-0.5, 1])
    'The sizes are right, the signs are not: whose payoff is it?'
    """
    if isinstance(wanted, Mapping) and isinstance(given, Mapping):
        given = [value for _, value, _ in in_step(given, wanted)]
    a, b = np.array(leaves(given)), np.array(leaves(wanted))
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


def where(wrong: Sequence[tuple[object, ...]], wanted: Any) -> str:
    """Say which parts of an answer are wrong, if some are right."""
    if not isinstance(wanted, Mapping | Sequence) or isinstance(wanted, str):
        return ""
    if len({place[0] for place in wrong}) == len(wanted):
        return ""
    names = list(dict.fromkeys(" of ".join(repr(p) for p in place[::-1]) for place in wrong))
    if len(names) > 4:
        names[3:] = [f"{len(names) - 3} others"]
    is_are = "is" if len(names) == 1 else "are"
    return f"Of your values, {', '.join(names)} {is_are} not right; all others are."
