"""What a network sees of an infoset: its label, word by word, as zeros and ones."""

from __future__ import annotations

import re
from collections.abc import Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt

Features = npt.NDArray[np.float32]
_BETWEEN_WORDS = re.compile(r"\s+|(?<=[^\s-])-(?=\S)")  # -1 is a word, check-bet are two


def encode(labels: Sequence[str]) -> Features:
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


def hashed(labels: Sequence[str], columns: int = 512) -> Features:
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
