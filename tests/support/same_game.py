"""A game and what was read from its file: the same tree, bit by bit."""

import numpy as np

import cfrlib as cfr
from cfrlib.game import action_label

ARRAYS = [
    "player", "infoset", "parent", "first_child", "num_children", "probability",
    "chance_reach", "utility", "sequence", "level_start", "infoset_player", "infoset_start",
    "infoset_parent",
]  # fmt: skip


def assert_same(game, other):
    """Assert that two games are equal bit by bit, up to actions and spaces of labels."""
    ours, theirs = cfr.compile(game), cfr.compile(other)
    for name in ARRAYS:
        assert np.array_equal(getattr(ours, name), getattr(theirs, name)), name
    assert list(map(spaced, ours.infoset_label)) == theirs.infoset_label
    for actions, words in zip(ours.infoset_actions, theirs.infoset_actions, strict=True):
        assert tuple(spaced(action_label(a)) for a in actions) == words
    assert [spaced(action_label(a)) for a in ours.action[1:]] == theirs.action[1:]


def spaced(label):
    """Return a label with single spaces between its words."""
    return " ".join(label.split())
