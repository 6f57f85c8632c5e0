"""Solving a part of a game: public states, gadgets, and solving again at the table."""

from cfrlib.subgames.continual import continual
from cfrlib.subgames.gadgets import Gadget, Leaves, MaxMargin, Subgame
from cfrlib.subgames.limited import biased, depth_limited
from cfrlib.subgames.public import PublicState, PublicTree, public_tree
from cfrlib.subgames.ranges import ExactValues, Part, Solved, ValueFunction
from cfrlib.subgames.resolving import Trunk, history_values, resolve, trunk

__all__ = [
    "ExactValues",
    "Gadget",
    "Leaves",
    "MaxMargin",
    "Part",
    "PublicState",
    "PublicTree",
    "Solved",
    "Subgame",
    "Trunk",
    "ValueFunction",
    "biased",
    "continual",
    "depth_limited",
    "history_values",
    "public_tree",
    "resolve",
    "trunk",
]
