"""Validation of arguments: numbers, choices, players, and rows of probabilities."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from cfrlib.game import Game

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


def is_number(value: Any) -> bool:
    """Return whether a value is a real number; ``True``, ``False`` and NaN are none.

    Examples
    --------
    >>> [is_number(x) for x in (1, np.float32(0.5), math.inf, "1", True, math.nan)]
    [True, True, True, False, False, False]
    """
    real = isinstance(value, (int, float, np.integer, np.floating))
    return real and not isinstance(value, bool) and not math.isnan(value)


def real_number(
    name: str, value: Any, least: float = 0.0, most: float = math.inf, *, above: bool = False
) -> float:
    """Return `value` as a float, or raise an error that names the argument.

    Parameters
    ----------
    name : str
    value : float
    least, most : float
        Bounds. Infinity is no number.
    above : bool
        Whether `least` itself is excluded.

    Raises
    ------
    ValueError
        If the value is no finite number, or out of bounds.

    Examples
    --------
    >>> real_number("baseline", 1, 0, 1)
    1.0
    >>> real_number("baseline", "1", 0, 1)
    Traceback (most recent call last):
    ValueError: baseline must lie between 0 and 1, got '1'
    >>> real_number("eta", 0.0, above=True)
    Traceback (most recent call last):
    ValueError: eta must be a number above 0, got 0.0
    """
    inside = is_number(value) and least <= value <= most and abs(value) < math.inf
    if inside and not (above and value == least):
        return float(value)
    bounds = f"be a number {'above' if above else 'at least'} {least:g}"
    if most < math.inf:
        bounds = f"lie between {least:g} and {most:g}"
    raise ValueError(f"{name} must {bounds}, got {value!r}")


def choice(name: str, value: Any, options: Collection[Any]) -> Any:
    """Return `value` if it is one of the options, or raise an error that lists them.

    Raises
    ------
    ValueError
        If the value is none of the options.

    Examples
    --------
    >>> choice("update", "both", ("alternating", "simultaneous"))
    Traceback (most recent call last):
    ValueError: unknown update 'both'; choose one of ('alternating', 'simultaneous')
    """
    if value not in options:
        raise ValueError(f"unknown {name} {value!r}; choose one of {options}")
    return value


def player_of(game: Game, value: Any) -> int:
    """Return `value` as a player of the game, or raise an error that lists the players.

    Raises
    ------
    ValueError
        If the game has no such player.

    Examples
    --------
    >>> from cfrlib.games import KuhnPoker
    >>> player_of(KuhnPoker(), 2)
    Traceback (most recent call last):
    ValueError: KuhnPoker() has no player 2; its players are 0 to 1
    """
    if isinstance(value, (bool, np.bool_)) or value not in range(game.num_players):
        last = game.num_players - 1
        raise ValueError(f"{game!r} has no player {value!r}; its players are 0 to {last}")
    return int(value)
