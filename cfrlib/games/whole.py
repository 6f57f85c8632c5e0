"""Checks that games share."""


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


def at_least(least: int, **options: object) -> None:
    """Raise a ValueError unless each option is a whole number and not below `least`.

    Examples
    --------
    >>> at_least(1, deals=0)
    Traceback (most recent call last):
    ValueError: deals must be at least 1, got 0
    """
    whole(**options)
    for name, value in options.items():
        if isinstance(value, int) and value < least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")
