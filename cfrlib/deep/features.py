"""What a network sees of an infoset: its label, word by word, as zeros and ones."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
