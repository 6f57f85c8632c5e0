"""What is computed once per object, such as the tree of a game, is remembered on the object."""

from __future__ import annotations

from typing import Any


def memo(owner: object) -> dict[str, Any]:
    """Return what is remembered on an object; games leave it out when they are pickled.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> tree = cfr.compile(game)
    >>> memo(game)["tree"] is tree
    True
    """
    kept: dict[str, Any] | None = getattr(owner, "_memo", None)
    if kept is None:
        kept = {}
        object.__setattr__(owner, "_memo", kept)
    return kept
