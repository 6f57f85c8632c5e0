"""How an infoset and its actions are called here and in OpenSpiel."""

from __future__ import annotations

from typing import NamedTuple

from cfrlib.game import Action


class Infoset(NamedTuple):
    """Identifiers of an infoset and its actions in cfrlib and in OpenSpiel."""

    label: str
    text: str  # the information state string
    legal: list[int]  # legal actions in OpenSpiel …
    actions: tuple[Action, ...]  # … and in cfrlib, in the same order
    numbers: dict[Action, int]  # from the latter to the former
