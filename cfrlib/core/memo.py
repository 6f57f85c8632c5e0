"""A cache on the object itself, for what is computed once per object, such as a game's tree."""

from __future__ import annotations

from typing import Any


def memo(owner: object) -> dict[str, Any]:
    """Return the object's cache, a dict. A pickled game does not include it.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> tree = cfr.compile(game)
    >>> memo(game)["tree"] is tree
    True
    """
    cache: dict[str, Any] | None = getattr(owner, "_memo", None)
    if cache is None:
        cache = {}
        object.__setattr__(owner, "_memo", cache)  # games are frozen
    return cache
