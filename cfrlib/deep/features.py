"""What a network sees of an infoset: its label, word by word, at places or as a sequence."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import TypeAlias
from zlib import crc32

import numpy as np
import numpy.typing as npt

from cfrlib.core.files import Foreign, PathLike
from cfrlib.core.tree import Tree

Words: TypeAlias = npt.NDArray[np.int32]
Features: TypeAlias = npt.NDArray[np.float32] | Words
_BETWEEN_WORDS = re.compile(r"\s+|(?<=[^\s-])-(?=\S)")  # -1 is a word, check-bet are two


def encode(labels: Sequence[str]) -> npt.NDArray[np.float32]:
    """Return a row of zeros and ones for each label: which word stands at which place.

    Labels of a game say what its player knows, in words: "Q check-bet" are three. This is a
    sensible start for any game; one that knows better has a method ``features(labels)``.

    Parameters
    ----------
    labels : sequence of str
        Of all infosets of a game: the words are collected from them.

    Returns
    -------
    float32 array, shape (labels, places · words)
        Columns that are 0 for all labels are left out.

    Examples
    --------
    >>> encode(["J", "Q", "Q check"]).astype(int)
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 1, 1]])
    """
    rows = [_BETWEEN_WORDS.split(label) for label in labels]
    columns = sorted({(place, word) for row in rows for place, word in enumerate(row)})
    number = {column: n for n, column in enumerate(columns)}
    features = np.zeros((len(rows), len(columns)), np.float32)
    for n, row in enumerate(rows):
        for column in enumerate(row):
            features[n, number[column]] = 1.0
    return features


def hashed(labels: Sequence[str], columns: int = 512) -> npt.NDArray[np.float32]:
    """Return rows as `encode` does, for labels that are not all known beforehand.

    Which column a word at a place has is not looked up but computed, by a checksum of both.
    Words may share a column then: what a row lacks in clearness it gains in needing no list
    of words (feature hashing: Weinberger et al., 2009).

    Parameters
    ----------
    labels : sequence of str
    columns : int
        How many there are.

    Returns
    -------
    float32 array, shape (labels, columns)

    Examples
    --------
    >>> rows = hashed(["Q check-bet", "Q check-bet", "K"])
    >>> rows.shape, rows.sum(axis=1).tolist(), rows[0].tolist() == rows[1].tolist()
    ((3, 512), [3.0, 3.0, 1.0], True)
    """
    features = np.zeros((len(labels), columns), np.float32)
    for n, label in enumerate(labels):
        for place, word in enumerate(_BETWEEN_WORDS.split(label)):
            features[n, crc32(f"{place} {word}".encode()) % columns] = 1.0
    return features


def spell(labels: Sequence[str]) -> Words:
    """Return the words of each label as numbers, in their order.

    For networks that read word by word: a word is the same word wherever it stands.

    Parameters
    ----------
    labels : sequence of str
        Of all infosets of a game: the words are collected from them.

    Returns
    -------
    int32 array, shape (labels, places)
        1, 2, … in the order of the alphabet; 0 after the last word.

    Examples
    --------
    >>> spell(["J", "J check", "Q check-bet"])
    array([[1, 0, 0],
           [1, 4, 0],
           [2, 4, 3]], dtype=int32)
    """
    rows = [_BETWEEN_WORDS.split(label) for label in labels]
    number = {word: n for n, word in enumerate(sorted({w for row in rows for w in row}), 1)}
    words = np.zeros((len(rows), max(map(len, rows))), np.int32)
    for n, row in enumerate(rows):
        words[n, : len(row)] = [number[word] for word in row]
    return words


def observe(
    tree: Tree, given: npt.ArrayLike | None, recurrent: bool, seat: bool = False
) -> Features:
    """Return what a network sees: of every infoset, or what the caller has given instead.

    With `seat` it sees first which player's infoset that is; if the game has no ``features``,
    as a word of the label.

    Raises
    ------
    ValueError
        If it is not one row of numbers for each infoset; for a network that reads word by
        word, of whole numbers.
    """
    labels = tree.infoset_label
    if given is None and hasattr(tree.game, "features") and not recurrent:
        given = tree.game.features(labels)
        if seat:
            given = np.column_stack([tree.infoset_player, given])
    elif given is None:
        if seat:
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
            "features of a network that reads words must be their numbers, 1, 2, …, and 0 "
            "after the last word; see cfrlib.deep.spell"
        )
    return words


def digest(features: Features) -> str:
    """Return what tells these features from others."""
    return hashlib.sha256(repr(features.shape).encode() + features.tobytes()).hexdigest()


def check_digest(path: PathLike, given: str | None, saved: str | None) -> None:
    """Refuse a run of other features than those given now."""
    if given != saved:
        raise Foreign(
            f"{path} holds a run with other features; load it with features=..., those it was "
            "made with"
        )


def legal_actions(tree: Tree) -> npt.NDArray[np.bool_]:
    """Return which actions there are, shape (infosets, most actions)."""
    count = np.array([len(actions) for actions in tree.infoset_actions])
    return np.arange(count.max()) < count[:, None]


def sequences_of(tree: Tree) -> npt.NDArray[np.int64]:
    """Return the sequence of every infoset and action, shape (infosets, most actions)."""
    most = max(len(actions) for actions in tree.infoset_actions)
    return tree.infoset_start.astype(np.int64)[:, None] + np.arange(most)
