"""Solving a part of a game: public states, gadgets, and solving again at the table."""

from cfrlib.subgames.gadgets import Gadget, Leaves, MaxMargin, Subgame
from cfrlib.subgames.public import PublicState, PublicTree, public_tree
from cfrlib.subgames.resolving import Trunk, history_values, resolve, trunk

__all__ = [
    "Gadget",
    "Leaves",
    "MaxMargin",
    "PublicState",
    "PublicTree",
    "Subgame",
    "Trunk",
    "history_values",
    "public_tree",
    "resolve",
    "trunk",
]
