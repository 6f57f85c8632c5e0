"""The words of infoset labels as columns of numbers, the input of networks."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

_SEPARATOR = re.compile(r"\s+|(?<=[^\s-])-(?=\S)")  # "-1" is one word, "check-bet" two


def split(label: str) -> list[str]:
    """Return the words of a label.

    Examples
    --------
    >>> split("Q check-bet")
    ['Q', 'check', 'bet']
    """
    return _SEPARATOR.split(label)


def columns_of(labels: Sequence[str]) -> dict[tuple[int, str], int]:
    """Return a column for each pair of a position and a word that occurs there.

    Examples
    --------
    >>> columns_of(["J", "Q", "Q check"])
    {(0, 'J'): 0, (0, 'Q'): 1, (1, 'check'): 2}
    """
    pairs = {pair for label in labels for pair in enumerate(split(label))}
    return {pair: n for n, pair in enumerate(sorted(pairs))}


def encode(
    labels: Sequence[str], columns: Mapping[tuple[int, str], int] | None = None
) -> npt.NDArray[np.float32]:
    """Return a one-hot encoding of the words of each label by position.

    A label consists of words: "Q check-bet" has three. This encoding is a sensible default for
    any game; a game with a better one defines a method ``features(labels)``.

    Parameters
    ----------
    labels : sequence of str
    columns : dict, optional
        The column of each pair of a position and a word, as :func:`columns_of` returns it; by
        default that of these labels, which are then all infosets of a game.

    Returns
    -------
    float32 array, shape (labels, columns)
        One column for each pair of a position and a word that occurs there.

    Examples
    --------
    >>> encode(["J", "Q", "Q check"]).astype(int)
    array([[1, 0, 0],
           [0, 1, 0],
           [0, 1, 1]])
    """
    known = columns_of(labels) if columns is None else columns
    features = np.zeros((len(labels), len(known)), np.float32)
    for n, label in enumerate(labels):
        for pair in enumerate(split(label)):
            if pair in known:
                features[n, known[pair]] = 1.0
    return features


def hashed(labels: Sequence[str], columns: int = 512) -> npt.NDArray[np.float32]:
    """Return an encoding like that of `encode`, for labels not all known in advance.

    The column of a word at a position is a hash of both. No vocabulary is needed, but some
    words share a column (feature hashing: Weinberger et al., 2009).

    Parameters
    ----------
    labels : sequence of str
    columns : int
        Number of columns.

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
        for position, word in enumerate(split(label)):
            features[n, crc32(f"{position} {word}".encode()) % columns] = 1.0
    return features
