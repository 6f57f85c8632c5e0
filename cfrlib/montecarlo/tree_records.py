"""A compiled tree as records, the form that walks read.

A walk reads most fields of one history at a time, so they lie beside each other in memory. The
wing for games too large to compile fills the same records history by history.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cfrlib.core.tree import CHANCE, Floats, Ints, Tree
from cfrlib.game import Action, Game

UNKNOWN = -3


# Record arrays, because a walk reads most fields of one history or infoset at a time. NumPy's
# types do not know the fields: `nodes[k].player` acts at history k.
Records: TypeAlias = Any
NODE = np.dtype(
    [
        ("player", "i4"),  # 0, 1, …, or CHANCE, TERMINAL, UNKNOWN
        ("infoset", "u4"),  # at decisions; unsigned, so that indexing need not test the sign
        ("first_child", "i4"),  # siblings are contiguous
        ("num_children", "i4"),
        ("probability", "f8"),  # of the last step, if it is sampled by chance
        ("cumulative", "f8"),  # the same, summed over the siblings up to this one
        ("correction", "f8"),  # f_c / σ'_c of the last step; 1 without a proposal
    ],
    align=True,
)
INFOSET = np.dtype(
    [
        ("player", "i4"),
        ("start", "i4"),  # its sequences are start … stop - 1
        ("stop", "i4"),
        ("parent", "i4"),  # its player's sequence before it
    ],
    align=True,
)


class TreeArrays(NamedTuple):
    """The arrays of a tree that kernels read."""

    nodes: Records
    utility: Floats
    infosets: Records
    owner: Ints


class TreeRecords:
    """The tree of a compiled game, as records.

    Parameters
    ----------
    tree : Tree
    proposal : mapping from action to float, optional
        As for :class:`cfrlib.MCCFR`.

    Attributes
    ----------
    game : Game
        The rules.
    nodes, infosets : record arrays of NODE and INFOSET
        Each infoset comes after its player's earlier ones.
    utility : float array, shape (histories, players)
        Payoffs at terminal histories.
    owner : int array, shape (sequences,)
        The infoset of a sequence; -1 for the empty ones.
    arrays : TreeArrays
        The four arrays.
    num_histories, num_infosets, num_sequences : int
        With the empty history and the empty sequences.
    labels : list of str
        Labels of the infosets.
    actions_at : list of tuple of actions
        Actions of the infosets.
    """

    def __init__(self, tree: Tree, proposal: Mapping[Action, float] | None = None):
        self.game = tree.game
        self.num_histories, self.num_infosets = tree.num_histories, tree.num_infosets
        self.num_sequences = int(tree.player_sequences[-1])
        self.labels, self.actions_at = tree.infoset_label, tree.infoset_actions
        nodes: Records = np.recarray(tree.num_histories, NODE)
        self.nodes = nodes
        nodes.player, nodes.infoset = tree.player, np.maximum(tree.infoset, 0)
        nodes.first_child, nodes.num_children = tree.first_child, tree.num_children
        nodes.probability, nodes.cumulative, nodes.correction = tree.probability, 1.0, 1.0
        root = slice(1, 1 + int(tree.num_children[0]))
        nodes.probability[root], nodes.correction[root] = proposed(
            tree.game, proposal, int(tree.player[0]), tree.action[root], tree.probability[root]
        )
        for k in np.flatnonzero(tree.player == CHANCE):
            siblings = slice(tree.first_child[k], tree.first_child[k] + tree.num_children[k])
            nodes.cumulative[siblings] = np.cumsum(nodes.probability[siblings])
        self.utility = tree.utility
        infosets: Records = np.recarray(tree.num_infosets, INFOSET)
        self.infosets = infosets
        count = np.array([len(actions) for actions in self.actions_at], np.int32)
        infosets.player, infosets.parent = tree.infoset_player, tree.infoset_parent
        infosets.start, infosets.stop = tree.infoset_start, tree.infoset_start + count
        self.owner = np.full(self.num_sequences, -1, np.int32)
        pairs = np.ones(self.num_sequences, bool)
        pairs[tree.player_sequences[:-1]] = False
        self.owner[pairs] = np.repeat(np.arange(self.num_infosets), count)
        self.arrays = TreeArrays(self.nodes, self.utility, self.infosets, self.owner)


def proposed(
    game: Game,
    proposal: Mapping[Action, float] | None,
    player: int,
    actions: Sequence[Action],
    probability: Floats,
) -> tuple[Floats, Floats]:
    """Return sampling probabilities of the root's outcomes, and their corrections."""
    if proposal is None:
        return probability, np.ones(len(actions))
    if player != CHANCE:
        raise ValueError(
            f"a proposal is for a first event of chance, but {game!r} begins with a "
            "decision; leave it out"
        )
    if not isinstance(proposal, Mapping):
        raise ValueError(
            "a proposal is a dictionary from outcome to probability, e.g. "
            f"{{{actions[0]!r}: 0.5, ...}}; got {proposal!r}"
        )
    given = np.array([proposal.get(a, 0.0) for a in actions], np.float64)
    missing = [
        a for a, p, f in zip(actions, given, probability, strict=True) if f > 0 and p == 0
    ]
    unknown = [a for a in proposal if a not in actions]
    if missing or unknown or not (given >= 0).all() or abs(given.sum() - 1) > 1e-9:
        wrong = f"nothing to {missing[0]!r}" if missing else f"{dict(proposal)!r}"
        raise ValueError(
            f"the proposal gives {wrong}; give every outcome of the first event of chance "
            f"a probability above 0, all of them summing to 1: {list(actions)[:8]!r}"
        )
    return given, np.divide(probability, given, out=np.ones(len(given)), where=given > 0)


def records(shape: int | tuple[int, ...], dtype: np.dtype[np.void]) -> Records:
    """Return new records, all zero."""
    return np.zeros(shape, dtype).view(np.recarray)
