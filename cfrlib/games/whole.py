"""One check that all games share."""


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
