"""What the header and the arrays of a file may hold: small rules that are put together.

A rule takes one value, read from JSON or from an array, and returns whether a `save` could have
written it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cfrlib.core.tree import Floats

Rule: TypeAlias = Callable[[Any], bool]
Schema: TypeAlias = Mapping[str, Rule]
EXACT = 2**53  # whole numbers up to here are floats as well
ROUNDING = (
    1e-9  # how far below 0 a sum of numbers that are not may come out, beside the largest
)


def whole(least: int = 0, most: int = EXACT) -> Rule:
    """Return the rule of whole numbers in a range."""
    return lambda value: type(value) is int and least <= value <= most


def number(
    least: float = -math.inf,
    most: float = math.inf,
    *,
    infinite: bool = False,
    nan: bool = False,
) -> Rule:
    """Return the rule of numbers in a range, finite unless told otherwise.

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
    """Accept any string."""
    return isinstance(value, str)


def flag(value: Any) -> bool:
    """Accept true and false."""
    return isinstance(value, bool)


def exactly(wanted: Any) -> Rule:
    """Return the rule of one value."""
    return lambda value: repr(value) == repr(wanted)  # 1 == 1.0 == True


def one_of(*values: str) -> Rule:
    """Return the rule of some words."""
    return lambda value: isinstance(value, str) and value in values


def any_of(*rules: Rule) -> Rule:
    """Return the rule that accepts what one of these does."""
    return lambda value: any(rule(value) for rule in rules)


def maybe(rule: Rule) -> Rule:
    """Return the rule that accepts None as well."""
    return any_of(exactly(None), rule)


def listed(rule: Rule, least: int = 0, most: int | None = None) -> Rule:
    """Return the rule of lists of so many values that a rule accepts."""

    def each(value: Any) -> bool:
        longest = math.inf if most is None else most
        return (
            isinstance(value, list) and least <= len(value) <= longest and all(map(rule, value))
        )

    return each


def row(*rules: Rule) -> Rule:
    """Return the rule of lists with a rule for each of their values."""
    return lambda value: (
        isinstance(value, list)
        and len(value) == len(rules)
        and all(rule(part) for rule, part in zip(rules, value, strict=True))
    )


def record(**rules: Rule) -> Rule:
    """Return the rule of objects with these keys, and no others."""
    return lambda value: (
        isinstance(value, dict)
        and value.keys() == rules.keys()
        and all(rule(value[name]) for name, rule in rules.items())
    )


# ---- arrays ----------------------------------------------------------------------------------


def finite(values: Floats) -> bool:
    """Accept what is neither infinite nor NaN."""
    return bool(np.isfinite(values).all())


def single(values: Floats) -> bool:
    """Accept what a float32 can hold."""
    return bool((np.abs(values) <= np.finfo(np.float32).max).all())


def sums(values: Floats) -> bool:
    """Accept sums of numbers that are at least 0, but for rounding."""
    slack = ROUNDING * max(1.0, float(values.max(initial=0.0)))
    return finite(values) and bool((values >= -slack).all())


def whole_in(least: int, most: int = EXACT) -> Callable[[Floats], bool]:
    """Return the rule of arrays of whole numbers in a range."""
    return lambda values: bool(
        ((values >= least) & (values <= most)).all() and (values == np.floor(values)).all()
    )


class Array(NamedTuple):
    """One array of a file.

    Attributes
    ----------
    shape : tuple of str, int or None
        Its sizes: by name, as numbers, or any.
    rule : function
        Whether its values are possible.
    """

    shape: tuple[str | int | None, ...]
    rule: Callable[[Floats], bool] = finite

    def fits(self, shape: tuple[int, ...], sizes: Mapping[str, int]) -> bool:
        """Whether a shape is as it must be, where names stand for these sizes."""
        wanted = [sizes[n] if isinstance(n, str) else n for n in self.shape]
        return len(shape) == len(wanted) and all(
            n is None or n == m for n, m in zip(wanted, shape, strict=True)
        )
