"""The input of a network at an infoset: the words of its label, by position or in order."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.files import Mismatch, PathLike
from cfrlib.core.tree import Tree
from cfrlib.words import encode, split

Words: TypeAlias = npt.NDArray[np.int32]
Features: TypeAlias = npt.NDArray[np.float32] | Words


def spell(labels: Sequence[str]) -> Words:
    """Return the words of each label as numbers, in order, for recurrent networks.

    A word has the same number at every position.

    Parameters
    ----------
    labels : sequence of str
        The labels of all infosets of a game, from which the vocabulary is collected.

    Returns
    -------
    int32 array, shape (labels, positions)
        Words are numbered 1, 2, … alphabetically; 0 follows the last word.

    Examples
    --------
    >>> spell(["J", "J check", "Q check-bet"])
    array([[1, 0, 0],
           [1, 4, 0],
           [2, 4, 3]], dtype=int32)
    """
    rows = [split(label) for label in labels]
    number = {word: n for n, word in enumerate(sorted({w for row in rows for w in row}), 1)}
    words = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for n, row in enumerate(rows):
        words[n, : len(row)] = [number[word] for word in row]
    return words


def network_inputs(
    tree: Tree, given: npt.ArrayLike | None, recurrent: bool, with_player: bool = False
) -> Features:
    """Return the inputs of a network at all infosets, in the order of the tree.

    These are the features that the caller has given, or else those of the game, or else the
    words of the labels. `with_player` adds the player's number to the latter two.

    Raises
    ------
    ValueError
        If the features are not one row of finite numbers per infoset; for a recurrent network,
        if they are not words as :func:`spell` returns them.
    """
    labels = tree.infoset_label
    if given is None and hasattr(tree.game, "features") and not recurrent:
        given = tree.game.features(labels)
        if with_player:
            given = np.column_stack([tree.infoset_player, given])
    elif given is None:
        if with_player:
            pairs = zip(tree.infoset_player, labels, strict=True)
            labels = [f"{player} {label}" for player, label in pairs]
        return spell(labels) if recurrent else encode(labels)
    rows = np.array(given, np.float32)
    if rows.ndim != 2 or len(rows) != tree.num_infosets or not np.isfinite(rows).all():
        raise ValueError(
            f"features must hold one row of numbers for each of the {tree.num_infosets:,} "
            f"infosets of {tree.game!r}, got shape {rows.shape}"
        )
    if not recurrent:
        return rows
    words = rows.astype(np.int32)
    gaps = (words[:, :-1] == 0) & (words[:, 1:] > 0)
    if (words != rows).any() or (words < 0).any() or (words[:, 0] == 0).any() or gaps.any():
        raise ValueError(
            "features of a network with a cell must be the numbers of words, 1, 2, …, and 0 "
            "after the last word; see cfrlib.deep.spell"
        )
    return words


def digest(features: Features) -> str:
    """Return a hash of the features, to recognize them."""
    return hashlib.sha256(repr(features.shape).encode() + features.tobytes()).hexdigest()


def check_digest(path: PathLike, given: str | None, saved: str | None) -> None:
    """Raise an error if a run was saved with features other than those given."""
    if given != saved:
        raise Mismatch(
            f"{path} holds a run with other features; load it with features=..., the features "
            "of the saved run"
        )


def legal_actions(tree: Tree) -> npt.NDArray[np.bool_]:
    """Return a mask of the legal actions, shape (infosets, most actions)."""
    count = np.array([len(actions) for actions in tree.infoset_actions])
    return np.arange(count.max()) < count[:, None]


def sequences_of(tree: Tree) -> npt.NDArray[np.int64]:
    """Return the sequence of every infoset and action, shape (infosets, most actions)."""
    most = max(len(actions) for actions in tree.infoset_actions)
    return tree.infoset_start.astype(np.int64)[:, None] + np.arange(most)
