"""Validation of integer arguments."""

from __future__ import annotations

import numpy as np


def whole_number(name: str, value: object, least: int | None = None) -> int:
    """Return `value` as an int, or raise an error that names the argument.

    NumPy integers are accepted; ``True`` and ``False`` are not.

    Raises
    ------
    ValueError
        If the value is not a whole number, or is below `least`.

    Examples
    --------
    >>> whole_number("deals", np.int64(7), 1)
    7
    >>> whole_number("deals", 0, 1)
    Traceback (most recent call last):
    ValueError: deals must be a whole number, at least 1, got 0
    >>> whole_number("cards", True)
    Traceback (most recent call last):
    ValueError: cards must be a whole number, got True
    """
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        number = int(value)
        if least is None or number >= least:
            return number
    bound = "" if least is None else f", at least {least}"
    raise ValueError(f"{name} must be a whole number{bound}, got {value!r}")
