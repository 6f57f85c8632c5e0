"""Schemas for headers and arrays of files, composed of small rules.

A rule is a predicate: it takes one value, read from JSON or from an array, and returns whether
a `save` method could have written it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cfrlib.core.tree import Floats

Rule: TypeAlias = Callable[[Any], bool]
Schema: TypeAlias = Mapping[str, Rule]
EXACT = 2**53  # a float represents every integer up to this one exactly
ROUNDING = 1e-9  # tolerated rounding error of sums, relative to the largest


def integer(least: int = 0, most: int = EXACT) -> Rule:
    """Return a rule that accepts integers in a range."""
    return lambda value: type(value) is int and least <= value <= most


def number(
    least: float = -math.inf,
    most: float = math.inf,
    *,
    infinite: bool = False,
    nan: bool = False,
) -> Rule:
    """Return a rule that accepts numbers in a range; infinities and NaN only on request.

    Examples
    --------
    >>> [number(0)(value) for value in (0.5, 7, -1, math.inf, math.nan, True, "7")]
    [True, True, False, False, False, False, False]
    """

    def rule(value: Any) -> bool:
        if type(value) not in (int, float):
            return False
        if math.isnan(value):
            return nan
        return least <= value <= most and (infinite or math.isfinite(value))

    return rule


def text(value: Any) -> bool:
    """Accept strings."""
    return isinstance(value, str)


def boolean(value: Any) -> bool:
    """Accept booleans."""
    return isinstance(value, bool)


def exactly(wanted: Any) -> Rule:
    """Return a rule that accepts one value, of one type."""
    return lambda value: repr(value) == repr(wanted)  # because 1 == 1.0 == True


def one_of(*values: str) -> Rule:
    """Return a rule that accepts the given strings."""
    return lambda value: isinstance(value, str) and value in values


def any_of(*rules: Rule) -> Rule:
    """Return a rule that accepts a value if any of `rules` does."""
    return lambda value: any(rule(value) for rule in rules)


def optional(rule: Rule) -> Rule:
    """Return a rule that accepts None, and whatever `rule` accepts."""
    return any_of(exactly(None), rule)


def list_of(rule: Rule, least: int = 0, most: int | None = None) -> Rule:
    """Return a rule that accepts lists of `least` to `most` elements that `rule` accepts."""
    longest = math.inf if most is None else most
    return lambda value: (
        isinstance(value, list) and least <= len(value) <= longest and all(map(rule, value))
    )


def tuple_of(*rules: Rule) -> Rule:
    """Return a rule that accepts lists with one element for each of `rules`."""
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(rules)
        and all(rule(part) for rule, part in zip(rules, value, strict=True))
    )


def record(**rules: Rule) -> Rule:
    """Return a rule that accepts objects with exactly these keys."""
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == rules.keys()
        and all(rule(value[name]) for name, rule in rules.items())
    )


# ---- arrays ----------------------------------------------------------------------------------


def finite(values: Floats) -> bool:
    """Accept arrays without infinities and NaN."""
    return bool(np.isfinite(values).all())


def fits_float32(values: Floats) -> bool:
    """Accept arrays of finite numbers within the range of float32."""
    return bool((np.abs(values) <= np.finfo(np.float32).max).all())


def sums(values: Floats) -> bool:
    """Accept sums of nonnegative numbers; rounding may take them slightly below 0."""
    slack = ROUNDING * max(1.0, float(values.max(initial=0.0)))
    return finite(values) and bool((values >= -slack).all())


def integers(least: int, most: int = EXACT) -> Callable[[Floats], bool]:
    """Return a rule that accepts arrays of integers in a range."""
    return lambda values: bool(
        ((values >= least) & (values <= most)).all() and (values == np.floor(values)).all()
    )


class Array(NamedTuple):
    """The schema of one array.

    Attributes
    ----------
    shape : tuple of str, int or None
        The size of each axis: a name that `fits` looks up, a number, or None for any size.
    rule : function
        Returns whether the values of an array are valid.
    """

    shape: tuple[str | int | None, ...]
    rule: Callable[[Floats], bool] = finite

    def fits(self, shape: tuple[int, ...], sizes: Mapping[str, int]) -> bool:
        """Return whether a shape matches; `sizes` maps names to numbers."""
        expected = [sizes[n] if isinstance(n, str) else n for n in self.shape]
        return len(shape) == len(expected) and all(
            n is None or n == m for n, m in zip(expected, shape, strict=True)
        )
