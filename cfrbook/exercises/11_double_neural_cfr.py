"""Exercises of chapter 11: sums in networks, compounding errors, padding, sets of words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from cfrbook.exercises.grading import (
    Unreadable,
    as_list,
    as_number,
    normalized,
    pair_values,
    require_function,
    shortened,
)
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib import games
from cfrlib.core.tree import compile
from cfrlib.regret import regret_matching

BATCHES = (-0.75, 0.25), (0.5, 0.0)  # mean sampled regrets, exercise 11.1
INPUTS, OUTPUTS = 8, 2  # of the package's networks on Kuhn poker


# ---- 11.1: two updates by hand --------------------------------------------------------------


def stored_regrets(clip_sum: bool = True, clip_batch: bool = False) -> list[list[float]]:
    """Return the stored regrets after each batch."""
    stored, history = np.array([0.5, 0.0]), []
    for batch in BATCHES:
        stored = stored + (np.maximum(batch, 0) if clip_batch else batch)
        stored = np.maximum(stored, 0) if clip_sum else stored
        history.append(stored.tolist())
    return history


def by_hand(
    stored: Sequence[Sequence[float]], unclipped: Sequence[Sequence[float]]
) -> dict[str, list[float]]:
    """Return an answer: stored regrets, and strategies with and without clipping."""
    return {
        "after 1": list(stored[0]),
        "after 2": list(stored[1]),
        "played": regret_matching(np.array(stored[1])).tolist(),
        "without clip": regret_matching(np.array(unclipped[1])).tolist(),
    }


def right_by_hand(**changes: Sequence[float]) -> dict[str, Sequence[float]]:
    """Return the answer to exercise 11.1, optionally with changes; `_` stands for a space."""
    right = by_hand(stored_regrets(), stored_regrets(clip_sum=False))
    return right | {key.replace("_", " "): pair for key, pair in changes.items()}


# ---- 11.2: compounding errors ---------------------------------------------------------------


def compounding_error(factor: float, share: float | None = None) -> dict[str, float]:
    """Return the growth of a sum, and the strategies if all or one of the actions err."""
    return {
        "factor": factor,
        "all": 0.5,
        "one": factor / (1 + factor) if share is None else share,
    }


def errors(**changes: float) -> dict[str, float]:
    """Return the answer to exercise 11.2, optionally with changes."""
    return compounding_error(math.exp(0.01 * 30)) | changes


# ---- 11.4: padding --------------------------------------------------------------------------


def attend(H: Any, words: Any, W: Any, v: Any) -> Any:
    """Return the weighted mean of the states of each label; 0 in `words` is padding."""
    scores = np.tanh(H @ W) @ v
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights = weights * (words > 0)
    weights = weights / weights.sum(axis=1, keepdims=True)
    return np.einsum("lp,lpw->lw", weights, H)


SCORES = "scores = np.tanh(H @ W) @ v"  # lines of it
WEIGHTS = "weights = np.exp(scores - scores.max(axis=1, keepdims=True))"
MASK, SUM = (
    "weights = weights * (words > 0)",
    "weights = weights / weights.sum(axis=1, keepdims=True)",
)


def answers_with_padding(attend: Any) -> list[list[float]]:
    """Return the answers for three labels, without and with additional padding."""
    require_function(attend)
    rng = np.random.default_rng(0)
    H, W, v = rng.normal(size=(3, 4, 2)), rng.normal(size=(2, 2)), rng.normal(size=2)
    words = np.array([[1, 4, 5, 4], [2, 5, 0, 0], [3, 0, 0, 0]])
    for n, row in enumerate(words):  # padding repeats the last state
        H[n, (row > 0).sum() :] = H[n, (row > 0).sum() - 1]
    longer = np.concatenate([H, np.repeat(H[:, -1:], 3, axis=1)], axis=1)
    longer_words = np.pad(words, ((0, 0), (0, 3)))
    found = []
    for states, tokens in ((H, words), (longer, longer_words)):
        answers = np.asarray(attend(states.copy(), tokens.copy(), W, v), float)
        if answers.shape != (3, 2):
            raise Unreadable(f"your function returns an array of shape {answers.shape}")
        found.append(answers.ravel().tolist())
    return found


# ---- 11.3: order ----------------------------------------------------------------------------


@cache
def word_sets() -> dict[str, tuple[int, frozenset[str]]]:
    """Return the player and the set of words of each infoset of Leduc poker."""
    tree = compile(games.LeducPoker())
    rows = zip(tree.infoset_label, tree.infoset_player, strict=True)
    return {I: (int(i), frozenset(I.replace("-", " ").split())) for I, i in rows}


@cache
def shared_sets() -> tuple[int, int]:
    """Return how many infosets share their set of words, and how many sets are shared."""
    sizes = Counter(words for _, words in word_sets().values())
    shared = [n for n in sizes.values() if n > 1]
    return sum(shared), len(shared)


@cache
def pair_with_shared_set() -> tuple[str, str]:
    """Return two infosets of the same player with the same set of words."""
    first: dict[tuple[int, frozenset[str]], str] = {}
    for label, words in word_sets().items():
        if words in first:
            return first[words], label
        first[words] = label
    raise AssertionError("no two infosets have the same set of words")


def check_pair(answer: Any) -> dict[str, object]:
    """Return the properties of a pair of infosets, and the number of the answer."""
    given = {key: x for key, x, _ in pair_values(answer, {"pair": None, "how many": None})}
    names = {normalized(label): label for label in word_sets()}
    labels = [names.get(normalized(label), "") for label in as_list(given["pair"], 2)]
    if "" in labels:
        raise Unreadable(f"Leduc poker has no two infosets {shortened(given['pair'])}")
    one, other = (word_sets()[label] for label in labels)
    return {
        "two infosets": labels[0] != labels[1],
        "one player": one[0] == other[0],
        "the same words": one[1] == other[1],
        "how many": as_number(given["how many"]),
    }


def pair_and(number: int) -> dict[str, object]:
    """Return a right pair, and a number."""
    return {"pair": pair_with_shared_set(), "how many": number}


# ---- 11.5: a cheaper network ----------------------------------------------------------------


def count_weights(
    hidden: Sequence[int], biases: bool = True, last: bool = True, inputs: int = INPUTS
) -> int:
    """Return the number of weights of a network with these layers."""
    sizes = (inputs, *hidden, OUTPUTS) if last else (inputs, *hidden)
    return sum(m * n + (n if biases else 0) for m, n in pairwise(sizes))


def weights_by_layers(
    change: Callable[[tuple[int, ...]], int] | None = None, **how: Any
) -> dict[tuple[int, ...], int]:
    """Return the numbers of weights of three networks, optionally with a change added."""
    layers: tuple[tuple[int, ...], ...] = ((32, 32), (4,), (2,))
    return {
        hidden: count_weights(hidden, **how) + (change(hidden) if change else 0)
        for hidden in layers
    }


EXERCISES = read(__file__, globals())
