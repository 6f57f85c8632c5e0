"""Validation of arguments: whole numbers, and rows of probabilities."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

EXACT = 1e-9  # sums this close to 1 are those of double precision
ROUNDING = 1e-3  # half precision rounds a softmax's sum and quotients by up to 2^-11 each


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


def distributions(rows: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
    """Return rows of probabilities that sum to 1, or None if some row is no distribution.

    Rows that were computed in single or half precision are divided by their sums.

    Parameters
    ----------
    rows : float array, shape (..., actions)

    Examples
    --------
    >>> third = np.full(3, np.float16(1 / 3), np.float64)
    >>> third.sum(), distributions(third).sum()
    (np.float64(0.999755859375), np.float64(1.0))
    >>> print(distributions(np.array([0.5, 0.49])))
    None
    """
    total = rows.sum(axis=-1, keepdims=True)
    if not ((rows >= 0).all() and (abs(total - 1) <= ROUNDING).all()):
        return None
    return np.where(abs(total - 1) <= EXACT, rows, rows / total)
