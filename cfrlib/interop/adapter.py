"""A game of cfrlib as a game of OpenSpiel, which asks `node` and `step` for everything.

:func:`cfrlib.to_open_spiel` returns it. Infosets are identified by their labels. A player's
action has the same number wherever it is legal; chance's outcomes are numbered in the order of
their node.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from math import inf
from typing import Any

import numpy as np
import pyspiel

from cfrlib.core.tree import CHANCE, TERMINAL, Tree, compile, name_history
from cfrlib.game import (
    Action,
    Chance,
    Decision,
    Game,
    GameError,
    History,
    Node,
    Terminal,
    action_label,
    history_label,
)
from cfrlib.words import columns_of, hashed_columns, words_of

PROBES = 1_000  # random games that show which actions a large game has
LONGEST = 1_000_000  # actions in a game that is too large to compile
COLUMNS = 512  # of the tensors of such a game

Kinds = pyspiel.GameType
