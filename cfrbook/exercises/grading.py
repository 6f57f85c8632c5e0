"""Reading an answer, comparing it with the solution, and explaining what is wrong."""

from __future__ import annotations

import dis
import inspect
import math
import os
import re
import textwrap
import traceback
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence, Set, ValuesView
from dataclasses import dataclass, field, replace
from itertools import islice
from numbers import Number
from pathlib import Path
from types import CodeType
from typing import Any

import numpy as np

from cfrlib.game import Game

WIDTH = 78  # columns of a notebook's output
SIGNS = {"right": "✓", "wrong": "✗", "unreadable": "?", "open": "○"}
DEEPEST, MOST = 8, 10_000  # levels of an answer, and entries of each
LONGEST = 60  # characters of a quotation
ROUNDING = (  # at the head of each page's exercises; `slack` applies it
    "A number found by hand is right with three significant digits, or within 0.002. A count "
    "must be exact. An exercise that wants more digits says how many, and why."
)
COMPUTED = 1e-3  # largest error of what a reader's program computes
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?", re.IGNORECASE)
PLAIN = str.maketrans("−–ー⁄∕、", "---//,")
POWER = re.compile(r"(\d{1,3})(?:\*\*|\^)(\d{1,2})")
AROUND = re.compile(r"^[≈~=×x] ?(?=\S*\d)|(?<=\d) ?[×x]$| (?:times|points?|chips?)$")
PLACE = re.compile(r"(?:the )?(?:(?:line|step) ?(\w+)|(\w+) (?:line|step))")
CARDINALS = re.findall(r"\w+", "zero one two three four five six seven eight nine ten")
ORDINALS = re.findall(r"\w+", "zeroth first second third fourth fifth sixth seventh eighth")
EVEN = ("uniform", "uniformly", "even", "evenly", "even play", "uniform play")
NO_NUMBER = (bool, np.bool_, type(None), Sequence, Mapping, Set, Iterator)
TRUTH = {"true": True, "yes": True, "false": False, "no": False}


class Unreadable(Exception):
    """An answer in the wrong form; the message says what is wrong with it."""


class Mistaken(Exception):
    """An answer that reading it shows to be wrong; the message is its feedback."""


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
    >>> Feedback("4.8", "Open", "open", "Not answered yet.")
    ○ 4.8 · Open · Not answered yet.
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
    tolerance : float, optional
        Largest error of a number: absolute up to 1, relative above. By default `slack` decides;
        with any other tolerance, `asks` says how many digits it wants, and why.
    points : int
        Points in class.
    takeaway, advice : str
        Feedback to a correct answer, and to a wrong one that matches no mistake.
    words : mapping from str to sequence of str
        The words among which an answer chooses, each with its synonyms. Any other word is
        unreadable.
    also : sequence of Mistake
        Other right answers, each with what its feedback says besides.
    variant : callable, optional
        Returns the exercise with the numbers of one student, given their name or number.

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
    tolerance: float | None = None
    points: int = 1
    takeaway: str = ""
    advice: str = ""
    words: Mapping[str, Sequence[str]] = field(default_factory=dict)
    also: Sequence[Mistake] = ()
    variant: Callable[[str], Exercise] | None = None

    def __repr__(self) -> str:
        return f"Exercise {self.number} · {self.title} · points: {self.points}"

    def of(self, student: str) -> Exercise:
        """Return the exercise of one student, which differs only if it has a `variant`."""
        return self.variant(student) if self.variant and student else self

    def check(self, answer: object) -> Feedback:
        """Return the feedback to an answer; see `cfrbook.exercises.check`."""
        try:
            given = self._read(answer)
            if self.accepts:
                verdict, text = self._by_rule(self.accepts, given)
            elif callable(answer) or isinstance(answer, Game):
                exact = replace(self, tolerance=self.tolerance or COMPUTED)
                verdict, text = exact._by_value(given, program=True)
            else:
                verdict, text = self._by_value(given)
        except Mistaken as mistake:
            verdict, text = "wrong", f"Not yet. {mistake}"
        except Unanswered as missing:
            verdict, text = "open", f"Not answered yet{missing}: the answer is {self.asks}."
        except Unreadable as trouble:
            verdict, text = "unreadable", f"The answer is {self.asks}, but {trouble}."
        return Feedback(self.number, self.title, verdict, " ".join(text.split()))

    def _read(self, answer: object) -> Any:
        """Return the values of a reader's answer; report any error in its code as unreadable.

        All of a reader's code runs here, also that of objects that an answer contains.
        """
        try:
            require_complete(answer)
            return self._values(answer)
        except (Mistaken, Unanswered, KeyboardInterrupt):
            raise
        except BaseException as error:  # SystemExit, for one, by a call of `exit()`
            if place := blank(answer):
                raise Unanswered(place) from error
            if isinstance(error, Unreadable):
                raise
            raise Unreadable(f"your code raised {described(error)}{line_of(error)}") from error

    def _values(self, answer: object) -> Any:
        """Return the values to compare, as plain data."""
        return plain(self.see(answer))

    def _by_rule(self, accepts: Callable[[Any], bool], given: Any) -> tuple[str, str]:
        """Return the verdict and the feedback if several answers are correct."""
        if accepts(given):
            return "right", f"Right. {self.takeaway}"
        for value, says in self._mistaken_values():
            if not differences(given, value, self.tolerance or COMPUTED, self.words):
                return "wrong", f"Not yet. {says}"
        return "wrong", f"Not yet. {self.advice}"

    def _by_value(self, given: Any, program: bool = False) -> tuple[str, str]:
        """Return the verdict and the feedback; a program's numbers are not its reader's."""
        wanted = self._values(self.solution())
        wrong = self._differences(given, wanted)
        if not wrong:
            return "right", f"Right. {self.takeaway}"
        for other in self.also:
            if not self._differences(given, self._values(other.answer())):
                return "right", f"Right. {other.says} {self.takeaway}"
        known = []
        for value, says in self._mistaken_values():
            if not differences(given, value, self.tolerance or COMPUTED, self.words):
                return "wrong", f"Not yet. {says}"
            known.append((value, says))
        for value, says in known:  # of two that are near, the one that is meant comes first
            if not self._differences(given, value):
                return "wrong", f"Not yet. {says}"
        found = ""
        if not program:
            found = self._one_of_several(given, wanted, wrong, known)
            found = found or common_error(given, wanted, wrong)
        return "wrong", f"Not yet. {wrong_parts(wrong, wanted)} {found} {self.advice}"

    def _mistaken_values(self) -> Iterator[tuple[Any, str]]:
        """Yield the values of each typical mistake, and its feedback."""
        for mistake in self.mistakes:
            yield self._values(mistake.answer()), mistake.says

    def _one_of_several(self, given: Any, wanted: Any, wrong: Any, known: Any) -> str:
        """Return the feedback to typical mistakes in some of the wrong parts of an answer.

        A mistake in words and truth values alone is not named as long as a number is wrong.
        """
        numbers = {place for place, _, x in parts(wanted, wanted) if is_number(x)}
        left, found = set(wrong), []
        for value, says in known:
            at = set(self._differences(value, wanted))
            if (
                at < set(wrong)
                and at <= left
                and (at & numbers or not numbers & set(wrong))
                and not at.intersection(self._differences(given, value))
            ):
                found.append(f"On {listed(sorted(at, key=wrong.index))}: {alone(says)}")
                left -= at
        return " ".join(found)

    def _differences(self, given: Any, wanted: Any) -> list[tuple[object, ...]]:
        """Return the places where two answers differ."""
        return differences(given, wanted, self.tolerance, self.words)


# ---- reading --------------------------------------------------------------------------------


def require_complete(answer: object, place: str = "", levels: int = DEEPEST) -> None:
    """Raise `Unanswered` if an answer contains ``...``."""
    if answer is ...:
        raise Unanswered(place)
    if not levels:
        raise Unreadable("yours is nested too deeply")
    if isinstance(answer, Mapping):
        for key, value in answer.items():
            require_complete(value, f", {shortened(key)} is missing", levels - 1)
    elif isinstance(answer, list | tuple):
        for n, value in enumerate(answer, 1):
            require_complete(value, f", number {n} is missing", levels - 1)


class Thing:
    """Something in an answer that is no value, such as a function; only its name is kept."""

    def __init__(self, value: object):
        self.name = shortened(value)

    def __repr__(self) -> str:
        return self.name


def plain(value: Any, levels: int = DEEPEST) -> Any:
    """Copy an answer into dictionaries, lists, frozensets, strings, booleans and floats.

    Examples
    --------
    >>> plain({"played": np.array([0.5, 0.5]), "alike": {("J", "Q")}, "holds": np.True_})
    {'played': [0.5, 0.5], 'alike': frozenset({('j', 'q')}), 'holds': True}
    """
    if not levels:
        raise Unreadable("yours is nested too deeply")
    if value is None or isinstance(value, Thing):
        return value
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        try:
            return number_in(value)
        except ValueError:
            return str.__str__(value)
    if isinstance(value, Mapping):
        return {as_key(k): plain(x, levels - 1) for k, x in entries(value.items())}
    if isinstance(value, Set):
        return frozenset(normalized(plain(x, levels - 1)) for x in entries(value))
    if isinstance(value, Sequence | Iterator | ValuesView) or np.ndim(value):
        return [plain(x, levels - 1) for x in entries(value)]
    try:
        return as_number(value)
    except Unreadable:
        if isinstance(value, Number):
            raise
        return Thing(value)


def entries(values: Any) -> list[Any]:
    """List the entries of anything that can be iterated over, unless it has too many."""
    found = list(islice(values, MOST + 1))
    if len(found) > MOST:
        raise Unreadable(f"yours has more than {MOST:,} entries")
    return found


def as_key(key: Any) -> Any:
    """Return the key of a dictionary as a string, a number or a tuple of them."""
    if isinstance(key, tuple):
        return tuple(map(as_key, key))
    if isinstance(key, str):
        return str.__str__(key)
    return key if type(key) in (bool, int, float) else text_of_key(key)


def text_of_key(key: Any) -> str:
    """Return a key of another kind as text, in full, so that no two keys become one.

    Examples
    --------
    >>> text_of_key(np.int64(300)), text_of_key(frozenset({"fold"}))
    ('300.0', "frozenset({'fold'})")
    """
    return " ".join(repr(plain(key)).split())


def as_number(value: Any) -> float:
    """Convert a number from a float, text, or an array in which all numbers are the same.

    Examples
    --------
    >>> as_number("−1/4"), as_number("25 %"), as_number(np.array([0.25]))
    (-0.25, 0.25, 0.25)
    >>> as_number("three"), as_number("2**10"), as_number("10 times"), as_number([0, 0, 0])
    (3.0, 1024.0, 10.0, 0.0)
    """
    if type(value) is float:
        return value
    if value is ...:
        raise Unanswered
    try:
        if isinstance(value, str):
            return number_in(in_digits(value))
        value = value.ravel().tolist() if isinstance(value, np.ndarray) else value
        if isinstance(value, list | tuple) and len(alike := set(map(as_number, value))) == 1:
            return alike.pop()
        if not isinstance(value, NO_NUMBER) and not np.iscomplexobj(value):
            return float(np.asarray(value, dtype=float).item())
    except OverflowError:
        raise Unreadable(f"{shortened(value)} is too large") from None
    except (TypeError, ValueError):
        pass
    raise Unreadable(f"{shortened(value)} is not a number")


def typed(text: str) -> str:
    """Return a text with the signs of a plain keyboard, whatever was typed.

    Examples
    --------
    >>> typed("－５／１８"), typed("½"), typed("1⁄3"), typed("2½"), typed("2¹⁰")
    ('-5/18', '1/2', '1/3', '2 1/2', '2^10')
    """
    text = re.sub(r"[¼-¾⅐-⅞₀-₉]", r" \g<0>", text)  # `2½` is not 21/2
    text = re.sub(r"[⁰¹²³⁴-⁹⁻]+", r"^\g<0>", text)
    return unicodedata.normalize("NFKC", text).translate(PLAIN).strip()


def in_digits(text: str) -> str:
    """Return a number in words, as a power or with a unit as `number_in` reads it.

    Examples
    --------
    >>> in_digits("six times"), in_digits("2^10"), in_digits("× 10"), in_digits("33 percent")
    ('6', '1024', '10', '33 %')
    """
    bare = " ".join(typed(text).casefold().split()).strip("\"'`").rstrip(".;:!?")
    bare = re.sub(r" ?per ?cent$", " %", AROUND.sub("", bare))
    if power := POWER.fullmatch(bare):
        return str(int(power[1]) ** int(power[2]))
    return str(CARDINALS.index(bare)) if bare in CARDINALS else bare


def number_in(text: str) -> float:
    """Return the number that a string contains: a decimal, a fraction or a percentage."""
    bare = re.sub(r"\s*([-+/%])\s*", r"\1", re.sub(r"^\((.*)\)$", r"\1", typed(text)))
    parts = bare.replace(",", "").removesuffix("%").split("/")
    if len(parts) > 2 or not all(NUMBER.fullmatch(part) for part in parts):
        raise ValueError(text)
    if "," in bare:
        raise Unreadable(
            f"{shortened(text)} has a comma: write a decimal point, and nothing between "
            "thousands"
        )
    over, under = float(parts[0]), float([*parts, "1"][1])
    if not (under and math.isfinite(over) and math.isfinite(under)):
        raise Unreadable(f"{shortened(text)} is {'too large' if under else 'not a number'}")
    return over / under / (100 if bare.endswith("%") else 1)


def require_function(answer: object) -> None:
    """Raise `Unreadable` unless an answer is a function.

    Examples
    --------
    >>> require_function(abs)
    >>> require_function(-1)
    Traceback (most recent call last):
    cfrbook.exercises.grading.Unreadable: yours is not a function
    """
    if not callable(answer):
        raise Unreadable("yours is not a function")


def shortened(value: object) -> str:
    """Return the repr of a value, shortened to one line."""
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"something of the type {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 2]} …"


def described(error: BaseException) -> str:
    """Return the kind of an error, and the beginning of its message."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    text = text if len(text) <= 4 * LONGEST else f"{text[: 4 * LONGEST]} …"
    return f"{type(error).__name__}: {text}".removesuffix(": ")


def line_of(error: BaseException) -> str:
    """Return the last line of a reader's program that an error passed through, or ""."""
    files = (__file__, inspect.getfile(Game), os.__file__)
    ours = tuple(str(Path(file).parent) for file in files)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        packaged = frame.filename.startswith(ours) or "site-packages" in frame.filename
        if frame.line and not packaged:
            return f" in line {frame.lineno}: `{frame.line[:LONGEST]}`"
    return ""


def blank(answer: object) -> str:
    """Return where a program still has a ``...`` to fill in, or "".

    Examples
    --------
    >>> blank(lambda x: x + ...), blank(lambda x: x + 1)
    (', line 1 still has a `...` to fill in', '')
    """
    left: list[Any] = [answer]
    if isinstance(answer, type):
        left += vars(answer).values()
    while left:
        code = left.pop()
        code = getattr(code, "__code__", code)
        if isinstance(code, CodeType):
            for step in dis.get_instructions(code):
                if step.argval is ... and step.positions:
                    return f", line {step.positions.lineno} still has a `...` to fill in"
            left += code.co_consts
    return ""


def differences(
    given: Any,
    wanted: Any,
    tolerance: float | None = None,
    words: Mapping[str, Sequence[str]] | None = None,
) -> list[tuple[object, ...]]:
    """Return the places where an answer differs from another, which must have the same form.

    Examples
    --------
    >>> differences({"call": "1/12", "fold": 0}, {"fold": -1 / 12, "call": 0.08333}, 1e-3)
    [('fold',)]
    >>> differences([0.5, 0.5], {"fold": 0.5, "call": 0.5}, 1e-3)
    []
    """
    return [
        place for place, a, b in parts(given, wanted) if not equal(a, b, tolerance, words or {})
    ]


def parts(
    given: Any, wanted: Any, place: tuple[object, ...] = ()
) -> Iterator[tuple[tuple[object, ...], Any, Any]]:
    """Yield the place of each part that has no parts, and its value in both answers.

    Examples
    --------
    >>> list(parts([1, {"b": 2}], [3, {"b": 4}]))
    [((1,), 1, 3), ((2, 'b'), 2, 4)]
    """
    if isinstance(wanted, list | tuple):
        given = dict(enumerate(as_list(given, len(wanted)), 1))
        wanted = dict(enumerate(wanted, 1))
    if not isinstance(wanted, Mapping):
        yield place, given, wanted
        return
    for key, a, b in pair_values(given, wanted):
        yield from parts(a, b, (*place, key))


def equal(
    given: Any, wanted: Any, tolerance: float | None, words: Mapping[str, Sequence[str]]
) -> bool:
    """Return whether two parts without parts are equal."""
    if isinstance(wanted, str):
        return bool(chosen(given, words) == chosen(wanted, words))
    if isinstance(wanted, bool):
        return as_truth(given) == wanted
    if isinstance(wanted, Set):
        if isinstance(given, str):
            given = members(given, letters=all(len(str(name)) == 1 for name in wanted))
        if not isinstance(given, Set | Sequence | Mapping):
            raise Unreadable(f"{shortened(given)} is not a set")
        return set(map(normalized, given)) == set(map(normalized, wanted))
    return near(as_number(given), as_number(wanted), tolerance)


def near(given: float, wanted: float, tolerance: float | None = None) -> bool:
    """Return whether a number is right; see `slack`.

    Examples
    --------
    >>> near(0.333, 1 / 3), near(0.12, 0.1195), near(-0.278, -5 / 18), near(17.8, 17.77)
    (True, True, True, True)
    >>> near(0.33, 1 / 3), near(1_020, 1_024), near(0.333, 1 / 3, 1e-4)
    (False, False, False)
    """
    if not math.isfinite(wanted):
        return given == wanted
    off = abs(given - wanted)
    return off <= slack(wanted, tolerance) or math.isclose(given, wanted, rel_tol=1e-6)


def slack(wanted: float, tolerance: float | None = None) -> float:
    """Return the largest error of a number.

    By default the rule of the book decides: three significant digits, or 0.002, whichever is
    wider, but no other whole number where a whole one is wanted.

    Examples
    --------
    >>> slack(1 / 3), slack(12.5), slack(1_024), slack(1 / 3, 1e-4)
    (0.002, 0.0625, 0.49, 0.0001)
    """
    if tolerance:
        return tolerance * max(1.0, abs(wanted))
    most = 0.49 if float(round(wanted, 9)).is_integer() else math.inf
    return min(most, max(0.002, 0.005 * abs(wanted)))


def members(text: str, letters: bool = False) -> list[str]:
    """Return the members of a list or a set that is written as text.

    Examples
    --------
    >>> members("CB", letters=True), members("J bet and Q bet"), members("[0, 1/3]")
    (['C', 'B'], ['J bet', 'Q bet'], ['0', '1/3'])
    """
    names = [x.strip() for x in re.split(r"[][(){},;&+]|\band\b", typed(text)) if x.strip()]
    return list("".join("".join(names).split())) if letters else names


def normalized(value: object) -> Any:
    """Return what is compared of a word, a key or a member of a set.

    Examples
    --------
    >>> normalized("Line 7."), normalized(7), normalized("7.0"), normalized((7,))
    ('7', '7', '7', '7')
    >>> normalized("line7"), normalized("step three"), normalized("the third step")
    ('7', '3', '3')
    >>> normalized([" Check", "bet "]) == normalized(("check", "bet"))
    True
    """
    if isinstance(value, list | tuple):
        items = tuple(map(normalized, value))
        return items[0] if len(items) == 1 else items
    if isinstance(value, Set):
        return frozenset(map(normalized, value))
    value = value.item() if isinstance(value, np.generic) else value
    text = value if isinstance(value, str) else shortened(value)
    text = (
        " ".join(typed(text).casefold().replace("_", " ").split())
        .strip("\"'`")
        .rstrip(".,;:!?")
    )
    if place := PLACE.fullmatch(text):
        text = numeral("".join(filter(None, place.groups()))) or text
    return f"{float(text):.12g}" if NUMBER.fullmatch(text) else text


def numeral(word: str) -> str:
    """Return a small number in words as digits, or "".

    Examples
    --------
    >>> numeral("three"), numeral("third"), numeral("3rd"), numeral("7"), numeral("best")
    ('3', '3', '3', '7', '')
    """
    for names in (CARDINALS, ORDINALS):
        if word in names:
            return str(names.index(word))
    return re.sub(r"^(\d+)(?:st|nd|rd|th)?$|.+", r"\1", word)


def chosen(value: object, words: Mapping[str, Sequence[str]]) -> Any:
    """Return the word that a value means; raise `Unreadable` if it is none of them."""
    name = normalized(value)
    bare = name.removeprefix("the ") if isinstance(name, str) else ""
    for same in (name, bare, numeral(bare)):
        for word, synonyms in words.items():
            if same in map(normalized, (word, *synonyms)):
                return word
    if words:
        listed = ", ".join(map(repr, words))
        raise Unreadable(f"{shortened(value)} is none of the words {listed}")
    return name


def as_truth(value: object) -> bool:
    """Convert an answer to True or False."""
    truth = bool(value) if isinstance(value, bool | np.bool_) else TRUTH.get(normalized(value))
    if truth is None:
        raise Unreadable(f"{shortened(value)} is neither True nor False")
    return truth


def as_list(given: Any, length: int) -> list[Any]:
    """Return an answer as a list of `length` values."""
    values = given.values() if isinstance(given, Mapping) else given
    if isinstance(values, str):
        even = normalized(values) in EVEN
        values = [1 / length] * length if even else members(values)
        values = values if len(values) == length else []
    try:
        items = entries([] if isinstance(values, Set) else values)
    except TypeError:
        items = []
    if not items:
        raise Unreadable(f"{shortened(given)} is not a list of {length} values")
    if len(items) != length:
        raise Unreadable(f"{shortened(given)} has {len(items)} values and should have {length}")
    return items


def pair_values(given: Any, wanted: Mapping[Any, Any]) -> Iterator[tuple[object, Any, Any]]:
    """Pair the values of two dictionaries by key, or a list's values in the order of keys."""
    if not isinstance(given, Mapping):
        given = dict(zip(wanted, as_list(given, len(wanted)), strict=True))
    rest = {normalized(key): (key, value) for key, value in given.items()}
    for key, value in wanted.items():
        if normalized(key) not in rest:
            raise Unreadable(f"{key!r} is missing: the keys here are {shortened(list(given))}")
        yield key, rest.pop(normalized(key))[1], value
    for key, _ in rest.values():
        raise Unreadable(f"the exercise does not ask for {shortened(key)}")


# ---- explaining -----------------------------------------------------------------------------


def is_number(value: object) -> bool:
    """Return whether a part of a solution is a number."""
    return isinstance(value, Number) and not isinstance(value, bool)


def common_error(
    given: Any, wanted: Any, wrong: Sequence[tuple[object, ...]] | None = None
) -> str:
    """Return a sentence about an error that all numbers share, or all wrong ones, or "".

    The sentence does not reveal the correct numbers.

    Examples
    --------
    >>> common_error([0.5, 0.2, 1], [0.2, 1, 0.5])
    'All numbers are there, but in the wrong order.'
    >>> common_error({"call": 25, "fold": 1}, {"call": 0.25, "fold": 1}, [("call",)])
    "Is this in percent? Write 0.25 or '25 %', not 25."
    """
    numbers = {
        place: (as_number(a), as_number(b))
        for place, a, b in parts(given, wanted)
        if is_number(b)
    }
    wrong = [place for place in numbers if wrong is None or place in wrong]
    sums, shared = [], []
    for above in dict.fromkeys(place[:-1] for place in wrong):
        pairs = [pair for place, pair in numbers.items() if place[:-1] == above]
        a, b = np.array(pairs).T
        sums.append(wrong_sum(a, b, above))
    for places in (numbers, wrong) if wrong else ():
        found = shared_error(*np.array([numbers[place] for place in places]).T)
        partly = len(places) < len(numbers)
        shared.append(found.replace("All numbers are", "They are all") if partly else found)
    percent = [says for says in shared if "in percent" in says]
    return next(filter(None, percent + sums + shared), "")


def shared_error(a: Any, b: Any) -> str:
    """Return a sentence about the error that makes all numbers of `b` those of `a`, or ""."""
    b = b.round(9)  # a computed 0 is 0
    if not b.any():
        return ""
    one, counts = len(b) == 1, bool((a == a.round()).all() and (b == b.round()).all())
    used = b != 0
    ratio = a[used] / b[used]
    apart = not np.allclose(a, b, 1e-3, 1e-6)
    alike = np.allclose(ratio, ratio[0], 1e-3) and not a[~used].any() and ratio[0] > 0
    scaled = alike and apart
    twice = any(math.isclose(ratio[0], r, rel_tol=1e-3) for r in (2, 0.5))
    off_by_one = counts and (abs(a - b) == 1).all() and b.min() >= 10
    sizes = "size is right, the sign is" if one else "sizes are right, the signs are"
    errors = {
        "Close, but not close enough: was it rounded too early, or a run too short?": (
            np.allclose(a, b, 0.02, 1e-9) and not counts
        ),
        f"The {sizes} not: whose payoff is it, and what is subtracted from what?": (
            np.allclose(a, -b, 1e-3, 1e-6)
        ),
        "Is this in percent? Write 0.25 or '25 %', not 25.": np.allclose(a, 100 * b, 1e-3),
        "All numbers are there, but in the wrong order.": (
            np.allclose(sorted(a), sorted(b), 1e-3, 1e-6) and apart
        ),
        "All numbers are off by one and the same factor: is a weight missing?": (
            scaled and len(ratio) > 1
        ),
        "You are off by a factor of two: is it a sum, or a mean, or one of a pair?": (
            scaled and twice and not counts
        ),
        "You are off by one: did you leave something out, or count it twice?": off_by_one,
        "Is this the probability of the opposite?": (
            min(a.min(), b.min()) > 0 and np.allclose(a, 1 - b, 1e-3)
        ),
        "Is this upside down? A quotient has two sides.": (
            a.all() and b.all() and np.allclose(a, 1 / b, 1e-3)
        ),
    }
    return next((says for says, holds in errors.items() if holds), "")


def wrong_sum(a: Any, b: Any, above: tuple[object, ...]) -> str:
    """Return a sentence about probabilities that do not add up to 1, or ""."""
    shares = len(b) > 1 and b.min() >= 0 and math.isclose(b.sum(), 1, abs_tol=1e-6)
    if not shares or abs(a.sum() - 1) <= 1e-2:
        return ""
    under = f" under {above[-1]!r}" if above else ""
    return f"Probabilities add up to 1, and yours{under} to {a.sum():.4g}."


def alone(says: str) -> str:
    """Return the feedback to a mistake without praise of the other parts.

    Examples
    --------
    >>> alone("The values are right. A regret is what an action is worth *more*.")
    'A regret is what an action is worth *more*.'
    """
    rest = re.sub(r"^[^.:]*\b(is|are) (right|fine)\b[^.:]*[.:] (But )?", "", says)
    return rest[:1].upper() + rest[1:]


def listed(places: Sequence[tuple[object, ...]]) -> str:
    """Return the names of parts of an answer.

    Examples
    --------
    >>> listed([("regrets", "fold"), ("value",)])
    "'fold' of 'regrets', 'value'"
    """
    names = list(dict.fromkeys(" of ".join(repr(p) for p in place[::-1]) for place in places))
    if len(names) > 4:
        names[3:] = [f"{len(names) - 3} others"]
    return ", ".join(names)


def wrong_parts(wrong: Sequence[tuple[object, ...]], wanted: Any) -> str:
    """Return a sentence on which parts of an answer are wrong, or "" if all are.

    As long as a number is wrong, nothing is said about words and truth values: with two of them
    to choose from, it would tell the answer.
    """
    if not isinstance(wanted, Mapping | list):
        return ""
    kinds = {place: value for place, _, value in parts(wanted, wanted)}
    numbers = {place for place, value in kinds.items() if is_number(value)}
    kind = "values"
    if len(numbers) < len(kinds) and numbers.intersection(wrong):
        wrong, kind = [place for place in wrong if place in numbers], "numbers"
    among = numbers if kind == "numbers" else kinds
    if {place[0] for place in wrong} == {place[0] for place in among}:
        return ""
    is_are = "is" if len(set(wrong)) == 1 else "are"
    return f"Of your {kind}, {listed(wrong)} {is_are} not right; all others are."
