"""Arguments that must be whole numbers."""

from __future__ import annotations

import numpy as np


def whole(**options: object) -> None:
    """Raise a ValueError unless each option is a whole number.

    Examples
    --------
    >>> whole(cards=3)
    >>> whole(cards=3.5)
    Traceback (most recent call last):
    ValueError: cards must be a whole number, got 3.5
    """
    for name, value in options.items():
        if not isinstance(value, int):
            raise ValueError(f"{name} must be a whole number, got {value!r}")


def whole_number(name: str, value: int | None, least: int) -> int:
    """Return an argument that must be a whole number, not below `least`.

    Examples
    --------
    >>> whole_number("deals", 7, 1)
    7
    >>> whole_number("deals", 0, 1)
    Traceback (most recent call last):
    ValueError: deals must be a whole number, at least 1, got 0
    """
    if not isinstance(value, (int, np.integer)) or value < least:
        raise ValueError(f"{name} must be a whole number, at least {least}, got {value!r}")
    return int(value)
