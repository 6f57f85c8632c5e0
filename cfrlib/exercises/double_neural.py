"""Exercises of chapter 11: sums in networks, compounding errors, padding, sets of words."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from cfrlib import games
from cfrlib.core.tree import compile
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unreadable,
    as_list,
    as_number,
    normalized,
    pair_values,
    require_function,
    shortened,
)
from cfrlib.regret import regret_matching

Attention = Callable[[Any, Any, Any, Any], Any]

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


# ---- 11.3: padding --------------------------------------------------------------------------


def attention(mask: str) -> Attention:
    """Return attention with a mask for padding: correct, wrong or none, or another mean."""

    def attend(H: Any, words: Any, W: Any, v: Any) -> Any:
        scores = np.tanh(H @ W) @ v
        if mask == "scores of 0":
            scores = np.where(words > 0, scores, 0)
        if mask == "scores of -1":
            scores = np.where(words > 0, scores, -1)
        if mask == "late 0":
            scores = np.where(words > 0, scores - scores.max(axis=1, keepdims=True), 0)
        if mask == "states of 0":
            H = H * (words > 0)[:, :, None]
            scores = np.tanh(H @ W) @ v
        if mask == "even":
            scores = np.zeros(words.shape)
        largest = 0 if mask == "late 0" else scores.max(axis=1, keepdims=True)
        weights = np.exp(scores - largest)
        if mask in ("before the sum", "no sum", "even"):
            weights = weights * (words > 0)
        if mask == "last":
            weights = np.eye(words.shape[1])[(words > 0).sum(axis=1) - 1]
        if mask != "no sum":
            weights = weights / weights.sum(axis=0 if mask == "labels" else 1, keepdims=True)
        if mask == "after the sum":
            weights = weights * (words > 0)
        return np.einsum("lp,lpw->lw", weights, H)

    return attend


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


# ---- 11.4: order ----------------------------------------------------------------------------


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


EXERCISES = (
    Exercise(
        "11.1",
        "Two updates by hand",
        "a dictionary with four pairs of numbers: RSN's values 'after 1' and 'after 2', the "
        "strategy 'played' then, and the one 'without clip'",
        lambda: by_hand(stored_regrets(), stored_regrets(clip_sum=False)),
        (
            Mistake(
                lambda: by_hand(stored_regrets(clip_sum=False), stored_regrets(clip_sum=False)),
                "You clipped when reading the strategy. Line 6 clips the *stored* values, so "
                "the next batch is added to 0 and not to a negative number.",
            ),
            Mistake(
                lambda: by_hand(
                    stored_regrets(clip_batch=True), stored_regrets(clip_sum=False)
                ),
                "You clipped the batch before adding it. A bad batch has to take something "
                "away; the sum is what may not fall below 0.",
            ),
            Mistake(
                lambda: by_hand(stored_regrets(), stored_regrets()),
                "Without the clip the first action would begin the second batch below 0, and "
                "need that much more to come back.",
            ),
            Mistake(
                lambda: right_by_hand(played=right_by_hand()["after 2"]),
                "The stored values are right. Divide them by their sum to get the strategy.",
            ),
            Mistake(
                lambda: right_by_hand(without_clip=[1 / 4, 1 / 4]),
                "Without the clip these are the sums. Divide them by their total to get the "
                "strategy.",
            ),
            Mistake(
                lambda: right_by_hand(after_2=[1 / 2, 0], played=[1, 0]),
                "The second batch replaces what was stored. It should be added to it.",
            ),
            Mistake(
                lambda: right_by_hand(played=[1, 0]),
                "The stored values are right. Both are positive, so both actions are played.",
            ),
            Mistake(
                lambda: right_by_hand(played=[1 / 2, 1 / 2]),
                "The stored values are right. Play is uniform only if nothing is positive.",
            ),
            Mistake(
                lambda: right_by_hand(after_1=[-1 / 4, 1 / 4]),
                "The rest is right. After the first batch, line 6 clips before anything is "
                "stored.",
            ),
            Mistake(
                lambda: right_by_hand(without_clip=[1, 0]),
                "Without the clip the first batch still counts: add both batches to what was "
                "there.",
            ),
            Mistake(
                lambda: {
                    "after 1": [0, 1 / 4],
                    "after 2": [1 / 2, 0],
                    "played": [1, 0],
                    "without clip": [1, 0],
                },
                "You took each batch alone. A batch is added to what the network has stored.",
            ),
        ),
        tolerance=1e-6,
        points=2,
        takeaway="A clipped value is forgotten: the next batch starts from 0.",
        advice="Add, clip, write down; then the same with the second batch.",
    ),
    Exercise(
        "11.2",
        "An error that stays",
        "a dictionary with the 'factor', and how often the first action is played at the end "
        "if 'all' answers err, and if only that 'one' does",
        lambda: compounding_error(math.exp(0.01 * 30)),
        (
            Mistake(
                lambda: compounding_error(1 + 0.01 * 30),
                "You added up the errors. Each error is a factor, and the factors of all "
                "iterations multiply.",
            ),
            Mistake(
                lambda: compounding_error(math.exp(0.01)),
                "That is one iteration. The next target is made of the wrong answer.",
            ),
            Mistake(
                lambda: {
                    **compounding_error(math.exp(0.01 * 30)),
                    "all": compounding_error(math.exp(0.3))["one"],
                },
                "If all actions have the same factor, matching divides it out again.",
            ),
            Mistake(
                lambda: compounding_error(math.exp(0.01 * 30), 0.5 * math.exp(0.01 * 30)),
                "You multiplied the share. The sum has grown, and so has the total by which "
                "matching divides.",
            ),
            Mistake(
                lambda: errors(one=0.5),
                "If only one action errs, its sum grows and the other's does not: the shares "
                "change.",
            ),
            Mistake(
                lambda: errors(one=1 - errors()["one"]),
                "That is how often the *other* action is played.",
            ),
            Mistake(
                lambda: errors(all=errors()["one"], one=0.5),
                "You have `all` and `one` the wrong way round.",
            ),
            Mistake(
                lambda: errors(one=1),
                "The first action grows, but not without bound: what is its share of the "
                "total?",
            ),
            Mistake(
                lambda: errors(factor=0.01 * 30),
                "That is the error of the logarithm. By which factor is Q off, then?",
            ),
            Mistake(
                lambda: compounding_error(1.01**30),
                "You multiplied Q by 1 + δ. It is the logarithm that grows by δ, so Q is "
                "multiplied by its exponential.",
            ),
            Mistake(
                lambda: compounding_error(30.0),
                "That is the number of iterations. By which factor does one of them multiply "
                "Q?",
            ),
            Mistake(
                lambda: compounding_error(math.exp(30), 1.0),
                "You left out δ: each iteration adds 0.01 to the logarithm, not 1.",
            ),
            Mistake(
                lambda: {"factor": 135, "all": 50, "one": 57},
                "Are these percentages? Write 0.25 or '25 %', not 25.",
            ),
        ),
        takeaway="A common error cancels; a difference of errors between actions does not.",
        advice="What is Q after one iteration, if its logarithm is off by δ?",
    ),
    Exercise(
        "11.3",
        "Padding",
        "a function `attend(H, words, W, v)` that returns a row for each label",
        lambda: attention("before the sum"),
        (
            Mistake(
                lambda: attention("none"),
                "Places of zeros after a label still change its answer.",
            ),
            Mistake(
                lambda: attention("scores of 0"),
                "A score of 0 is not a weight of 0: its exponential is 1.",
            ),
            Mistake(
                lambda: attention("after the sum"),
                "Words that are not there have weight 0 now, but the other weights no longer "
                "add up to 1.",
            ),
            Mistake(
                lambda: attention("scores of -1"),
                "A score of −1 is not a weight of 0 either: its exponential is positive.",
            ),
            Mistake(
                lambda: attention("states of 0"),
                "You set the states of the padding to 0. Their weights are still positive, and "
                "take something away from the words.",
            ),
            Mistake(
                lambda: attention("no sum"),
                "The padding has weight 0 now, but the weights are no longer divided by their "
                "sum.",
            ),
            Mistake(
                lambda: attention("labels"),
                "You divided by a sum over the *labels*. Each label has weights of its own, "
                "over its places.",
            ),
            Mistake(
                lambda: attention("even"),
                "All words count the same now. Their weights come from the scores; that line "
                "was right.",
            ),
            Mistake(
                lambda: attention("last"),
                "That is the state after the last word. The function should return a weighted "
                "mean of all states of the label.",
            ),
            Mistake(
                lambda: attention("late 0"),
                "You set the scores of the padding to 0 after the largest was subtracted. A "
                "score of 0 is then the largest of all: its exponential is 1.",
            ),
        ),
        see=answers_with_padding,
        tolerance=1e-5,
        points=3,
        takeaway="The answer for a label does not depend on the length of the others.",
        advice="It runs, but it is not the weighted mean of the states of the label's words.",
    ),
    Exercise(
        "11.4",
        "Order",
        "a dictionary with a 'pair' of labels, and 'how many' infosets share their set",
        lambda: {"pair": pair_with_shared_set(), "how many": shared_sets()[0]},
        (
            Mistake(
                lambda: {"pair": pair_with_shared_set(), "how many": shared_sets()[1]},
                "The pair is right. Your number counts the *sets* with several infosets; "
                "count the infosets in them.",
            ),
            Mistake(
                lambda: {
                    "pair": pair_with_shared_set(),
                    "how many": len(word_sets()) - shared_sets()[0],
                },
                "The pair is right. Your number counts the infosets that have a set to "
                "themselves.",
            ),
            Mistake(
                lambda: {"pair": ("Js check", "Jh check"), "how many": shared_sets()[0]},
                "These two are worth the same, but Js and Jh are different words, so the sets "
                "differ. The network can tell them apart, although it does not need to.",
            ),
            Mistake(
                lambda: pair_and(0),
                "The pair is right, so the number cannot be 0: these two share a set already.",
            ),
            Mistake(
                lambda: pair_and(len(word_sets())),
                "The pair is right. Your number counts all infosets. Those of the first round "
                "have a set to themselves.",
            ),
            Mistake(
                lambda: pair_and(shared_sets()[0] // 2),
                "The pair is right. Your number is half of what it should be: did you count "
                "pairs?",
            ),
            Mistake(
                lambda: pair_and(compile(games.LeducPoker(merge_suits=True)).num_infosets),
                "The pair is right. Your number is the size of the game with merged suits.",
            ),
            Mistake(
                lambda: {"pair": pair_with_shared_set()[:1] * 2, "how many": shared_sets()[0]},
                "You gave the same infoset twice.",
            ),
            Mistake(
                lambda: {"pair": ("Js", "Qs check"), "how many": shared_sets()[0]},
                "The number is right. These two belong to different players, and their words "
                "differ.",
            ),
        ),
        see=check_pair,
        points=2,
        takeaway="A set of words does not know which card is yours.",
        advice="Which cards does a label name, and does the order say whose they are?",
    ),
    Exercise(
        "11.5",
        "Open: a cheaper network",
        "a dictionary with the numbers of weights for (32, 32), (4,) and (2,)",
        weights_by_layers,
        (
            Mistake(
                lambda: weights_by_layers(biases=False),
                "These are the matrices. Each layer also adds a number to each of its outputs.",
            ),
            Mistake(
                lambda: weights_by_layers(last=False),
                "The last layer is missing: it makes an answer for each action.",
            ),
            Mistake(
                lambda: weights_by_layers(inputs=INPUTS - 1),
                "One input is missing: the networks also see the player's number.",
            ),
            Mistake(
                lambda: weights_by_layers(inputs=INPUTS + 1),
                "One input too many: the player's number is among the eight.",
            ),
            Mistake(
                lambda: weights_by_layers(lambda hidden: -OUTPUTS),
                "The last layer also adds a number to each of its outputs.",
            ),
            Mistake(
                lambda: weights_by_layers(lambda hidden: -sum(hidden)),
                "The hidden layers also add a number to each of their outputs.",
            ),
            Mistake(
                lambda: weights_by_layers() | {(32, 32): count_weights((32,))},
                "The first network has *two* layers of 32, and there is a matrix between them.",
            ),
            Mistake(
                lambda: weights_by_layers() | {(32, 32): count_weights((32, 32, 32))},
                "The first network has two layers of 32. You counted three.",
            ),
            Mistake(
                lambda: dict.fromkeys(((32, 32), (4,), (2,)), 24),
                "That is the size of the table. Count the weights of each network.",
            ),
        ),
        points=1,
        takeaway="How small a network may be before Kuhn poker suffers is open: measure, with "
        "several seeds.",
        advice="A layer from m to n numbers has m · n weights and n more.",
    ),
)
