"""Exercises of chapter 10: reservoirs, sums and means, a biased buffer, network features."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from cfrlib import games
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unreadable,
    as_list,
    entries,
    require_complete,
    require_function,
)
from cfrlib.solve import solve

Shares = dict[str, Fraction]
Place = Callable[[random.Random, int, int], int]  # (rng, rows offered, size) -> index
Features = Callable[[int], Sequence[float]]

CARDS = range(1, 61)
SHOWN = range(5, 61, 5)  # training cards of exercise 10.5


# ---- 10.1: a reservoir of two ---------------------------------------------------------------


def inclusion_probabilities(
    places: Callable[[int], int], size: int = 2, rows: str = "abcd"
) -> Shares:
    """Return the probability that each row is in the buffer at the end.

    The n-th row gets a uniform index below `places(n)`; it is dropped if the index is beyond
    the buffer.
    """
    late = range(size, len(rows))
    outcomes = list(product(*(range(places(n + 1)) for n in late)))
    counts: Counter[str] = Counter()
    for indices in outcomes:
        buffer = list(rows[:size])
        for n, index in zip(late, indices, strict=True):
            if index < size:
                buffer[index] = rows[n]
        counts.update(buffer)
    return {row: Fraction(counts[row], len(outcomes)) for row in rows}


def reservoir() -> Shares:
    """Return the probability that a reservoir keeps each row."""
    return inclusion_probabilities(lambda n: n)


def always_accepting() -> Shares:
    """Return the probabilities for a buffer that accepts every new row."""
    return inclusion_probabilities(lambda n: 2)


def shares(reservoir_rows: object = None, forget_rows: object = None) -> dict[str, object]:
    """Return the answer to exercise 10.1, optionally with other probabilities."""
    return {
        "reservoir": reservoir_rows or reservoir(),
        "forget": forget_rows or always_accepting(),
    }


# ---- 10.2: which divisor? -------------------------------------------------------------------


def first_action(
    a: Fraction, b: Fraction, answer: str = "sums", **changes: float
) -> dict[str, Any]:
    """Return the probability of the first action by means `a` and `b`, and by sums."""
    sums = Fraction(3), Fraction(2 + 2)
    return {
        "means": a / (a + b),
        "sums": sums[0] / sum(sums),
        "CFR asks for": answer,
    } | changes


# ---- 10.3: the borrowed buffer --------------------------------------------------------------


@cache
def buffer_class(kind: str) -> type:
    """Return the buffer of exercise 10.3, with a rule for placing a late row."""
    place: Place = {
        "fair": lambda rng, offered, size: rng.randrange(offered),
        "ring": lambda rng, offered, size: (offered - 1) % size,
        "forgets": lambda rng, offered, size: rng.randrange(size),
        "one too few": lambda rng, offered, size: rng.randrange(offered - 1),
        "one too many": lambda rng, offered, size: rng.randrange(offered + 1),
        "twice": lambda rng, offered, size: rng.randrange(2 * offered),
        "coin": lambda rng, offered, size: rng.randrange(2 * size),
        "first": lambda rng, offered, size: 0,
        "rare": lambda rng, offered, size: rng.randrange(size * offered),
        "closed": lambda rng, offered, size: size,
    }[kind]

    class Buffer:
        def __init__(self, size: int, rng: random.Random):
            self.rng, self.seen = rng, 0
            self.rows: list[Any] = [None] * size

        def offer(self, I: int, weight: float, target: object) -> None:
            index, size = self.seen, len(self.rows)
            self.seen += 1
            if index >= size:
                index = place(self.rng, self.seen, size)
            if index < size:
                self.rows[index] = I, weight, target

    return Buffer


def kept_by_quarter(make: Any) -> list[float]:
    """Return how often a reader's buffer of ten rows keeps each quarter of forty rows."""
    if not callable(make):
        raise Unreadable("yours is not a class")
    counts, seeds = [0] * 4, 3_000
    for seed in range(seeds):
        buffer = make(10, random.Random(seed))
        for n in range(40):
            buffer.offer(n, 1 + n // 10, [0.0])
        rows = [row for row in entries(buffer.rows) if row is not None]
        if len(rows) != 10:
            raise Unreadable(f"after 40 rows your buffer holds {len(rows)} in 10 places")
        for row in rows:
            counts[row[0] // 10] += 1
    return [count / seeds / 10 for count in counts]


# ---- 10.4: rows or means --------------------------------------------------------------------


def merged_row(
    weights: Sequence[float] = (1, 2, 3), rows: Sequence[float] = (3, 1, -1)
) -> dict[str, float]:
    """Return the row that replaces some rows in a loss, and the constant difference."""
    w, r = np.array(weights, float), np.array(rows, float)
    total, mean = w.sum(), w @ r / w.sum()
    return {"weight": total, "target": mean, "constant": w @ (r - mean) ** 2}


# ---- 10.5: show it more ---------------------------------------------------------------------


@cache
def calling_advantages() -> Any:
    """Return the advantage of calling over folding for each of sixty cards."""
    found = solve(games.KuhnPoker(cards=60), "cfr+", 500, progress=False).strategy
    bets = np.array([found[f"{card}"]["bet"] for card in CARDS])
    gain = np.array([[3.0 if card > c else -1.0 for c in CARDS] for card in CARDS])
    others = bets * (1 - np.eye(len(bets)))
    return (others * gain).sum(axis=1) / others.sum(axis=1)


def fit_error(features: Any) -> float:
    """Return the error of a linear fit to every fifth card, at the other cards."""
    require_function(features)
    listed = [features(card) for card in CARDS]
    require_complete(listed)
    rows = [[1.0, *map(float, entries(row))] for row in listed]
    x = np.array([as_list(row, len(rows[0])) for row in rows])
    if not np.isfinite(x).all():
        raise Unreadable("some of your numbers are not finite")
    shown = np.isin(CARDS, SHOWN)
    weights = np.linalg.lstsq(x[shown], calling_advantages()[shown], rcond=None)[0]
    errors = (x @ weights - calling_advantages())[~shown]
    return float(np.sqrt(np.mean(errors**2)))


def rank(card: int) -> list[float]:
    """Return the features of a card that the page uses: its rank."""
    return [card / 30 - 1]


def one_hot(card: int) -> list[float]:
    """Return the one-hot encoding of a card."""
    return [float(card == n) for n in CARDS]


def powers(card: int) -> list[float]:
    """Return the first nine powers of the rank."""
    return [(card / 30 - 1) ** n for n in range(1, 10)]


def square(card: int) -> list[float]:
    """Return the rank and its square."""
    return powers(card)[:2]


def cube(card: int) -> list[float]:
    """Return the first three powers of the rank."""
    return powers(card)[:3]


def half(card: int) -> list[float]:
    """Return whether a card is in the upper half."""
    return [float(card > 30)]


def thirds(card: int) -> list[float]:
    """Return in which third of the deck a card is."""
    return [float(card > 20), float(card > 40)]


def steps(card: int) -> list[float]:
    """Return for every fifth card whether a card is at least as high."""
    return [float(card >= n) for n in range(0, 60, 5)]


def logarithm(card: int) -> list[float]:
    """Return the logarithm of the rank."""
    return [math.log(card)]


def constant(card: int) -> list[float]:
    """Return the same for every card."""
    return [1.0]


def hinges(card: int) -> list[float]:
    """Return the positive distances of a card above 0, 10, ..., 50."""
    return [max(card - n, 0) / 30 for n in range(0, 60, 10)]


EXERCISES = (
    Exercise(
        "10.1",
        "A reservoir of two",
        "a dictionary with 'reservoir' and 'forget', each with the four probabilities by row",
        lambda: {"reservoir": reservoir(), "forget": always_accepting()},
        (
            Mistake(
                lambda: {"reservoir": always_accepting(), "forget": reservoir()},
                "You have the two memories the wrong way round.",
            ),
            Mistake(
                lambda: {
                    "reservoir": inclusion_probabilities(lambda n: 3),
                    "forget": always_accepting(),
                },
                "You let row d choose among three places, as row c does. It is the fourth "
                "row, so it chooses among four.",
            ),
            Mistake(
                lambda: {
                    "reservoir": {"a": "1/3", "b": "1/3", "c": "2/3", "d": "1/2"},
                    "forget": always_accepting(),
                },
                "You let a and b leave whenever c or d enters. A new row takes *one* of the "
                "two places, and the row in the other place stays.",
            ),
            Mistake(
                lambda: {"reservoir": reservoir(), "forget": {"a": 0, "b": 0, "c": 1, "d": 1}},
                'That is a ring, which overwrites the oldest. "Forget" chooses the place of '
                "each new row at random, so d may overwrite c.",
            ),
            Mistake(
                lambda: shares({**reservoir(), "c": 2 / 3}),
                "Row c gets in as often as that. But row d may push it out again.",
            ),
            Mistake(
                lambda: shares({"a": 1, "b": 1, "c": 0, "d": 0}),
                "A reservoir that is full still takes new rows. Otherwise the first rows stay "
                "for good.",
            ),
            Mistake(
                lambda: shares(dict.fromkeys("abcd", 1 / 4)),
                "There are two places, so the four probabilities add up to 2.",
            ),
            Mistake(
                lambda: shares({**reservoir(), "d": 1 / 4}),
                "Row d chooses among four places, and two of them are in the reservoir.",
            ),
            Mistake(
                lambda: shares(dict(zip("abcd", (1 / 3, 1 / 3, 1 / 3, 1 / 2), strict=True))),
                "Row d is right. After three rows, each is in with the same probability; with "
                "four rows again. What would the four of them have to add up to?",
            ),
            Mistake(
                lambda: shares(forget_rows=dict.fromkeys("abcd", 1 / 2)),
                "Your reservoir is right. A memory that forgets is not fair: every new row "
                "gets in for certain, and pushes out an older one.",
            ),
            Mistake(
                lambda: shares(forget_rows={**always_accepting(), "c": 1}),
                "Row c does get in for certain. But row d takes one of the two places "
                "afterwards.",
            ),
            Mistake(
                lambda: shares(
                    forget_rows=dict(zip("abcd", (1 / 2, 1 / 2, 1 / 2, 1), strict=True))
                ),
                "You let one new row come. Rows a and b have to survive two of them, c and "
                "then d.",
            ),
        ),
        tolerance=1e-6,
        takeaway='A reservoir favors no row; "forget" favors the latest ones.',
        advice="How likely does a row enter, and does each later one leave it where it is?",
    ),
    Exercise(
        "10.2",
        "Which divisor?",
        "a dictionary with how often a is played by the 'means' and by the 'sums', and under "
        "'CFR asks for' one of the two words",
        lambda: first_action(Fraction(3), Fraction(2)),
        (
            Mistake(
                lambda: first_action(Fraction(3), Fraction(2), "means"),
                "Both shares are right. But CFR matches cumulative regret. A mean may replace "
                "it if all actions have the same divisor, and here they have two.",
            ),
            Mistake(
                lambda: first_action(Fraction(3, 3), Fraction(4, 3)),
                "You divided by all three visits. That would do no harm, but here each action "
                "was averaged over only the rows that have it.",
            ),
            Mistake(
                lambda: {"means": "3/7", "sums": "3/5", "CFR asks for": "sums"},
                "You have means and sums the wrong way round.",
            ),
            Mistake(
                lambda: {
                    key: x if isinstance(x, str) else 1 - x
                    for key, x in first_action(Fraction(3), Fraction(2)).items()
                },
                "These are the shares of b. The exercise asks for a.",
            ),
            Mistake(
                lambda: first_action(Fraction(3), Fraction(2), sums=3 / 5),
                "The sums are wrong: b was tried twice, and both of its advantages count.",
            ),
            Mistake(
                lambda: first_action(Fraction(3), Fraction(2), means=1, sums=1),
                "Regret matching does not put everything on the larger number. It shares in "
                "proportion.",
            ),
            Mistake(
                lambda: first_action(Fraction(3), Fraction(2), means=1),
                "Both means are positive. Regret matching shares in proportion.",
            ),
            Mistake(
                lambda: first_action(Fraction(1, 2), Fraction(1, 2)),
                "For the means you gave both actions the same. What is the mean of a's only "
                "row, and what that of b's two rows?",
            ),
            Mistake(
                lambda: first_action(Fraction(2, 5), Fraction(3, 5)),
                "By the means you gave the share of b. The exercise asks for a.",
            ),
            Mistake(
                lambda: first_action(Fraction(3), Fraction(2), sums=1 / 3),
                "For the sums you counted rows. Add up their advantages.",
            ),
            Mistake(
                lambda: {"means": 60, "sums": 300 / 7, "CFR asks for": "sums"},
                "The shares are in percent: write 0.25 or '25 %', not 25.",
            ),
        ),
        words={"means": ("mean",), "sums": ("sum",)},
        takeaway="A mean can replace a sum only if all actions share the divisor.",
        advice="Regret matching divides an action's number by the total of both.",
    ),
    Exercise(
        "10.3",
        "The borrowed buffer",
        "a class like `Buffer`, made with a size and a random.Random, with `offer` and `rows`",
        lambda: buffer_class("fair"),
        (
            Mistake(
                lambda: buffer_class("ring"),
                "Every row is accepted, and the strategy network still learns the average of "
                "the latest strategies only.",
            ),
            Mistake(
                lambda: buffer_class("forgets"),
                'That is the page\'s "forget": the place is random now, but every new row '
                "still gets one, so old rows disappear.",
            ),
            Mistake(
                lambda: buffer_class("one too few"),
                "Nearly. The new row counts as well: you choose among one place too few, so "
                "the first rows are kept slightly too rarely.",
            ),
            Mistake(
                lambda: buffer_class("closed"),
                "Now a full buffer takes nothing new: the first rows stay for good.",
            ),
            Mistake(
                lambda: buffer_class("twice"),
                "New rows get in only half as often as they should, so the first rows are kept "
                "too often. How many places does a new row choose among?",
            ),
            Mistake(
                lambda: buffer_class("coin"),
                "A new row gets in with the same probability, however many came before it. "
                "That probability has to fall.",
            ),
            Mistake(
                lambda: buffer_class("first"),
                "All new rows push each other out of one place, and the others never change.",
            ),
            Mistake(
                lambda: buffer_class("rare"),
                "New rows hardly ever get in. There are several places, and each of "
                "them is as good for a new row.",
            ),
        ),
        see=kept_by_quarter,
        accepts=lambda shares: all(abs(share - 10 / 40) < 0.011 for share in shares),
        tolerance=0.01,
        points=3,
        takeaway="Every row ever offered is kept with the same probability.",
        advice="Offer forty rows to ten places, with many seeds: which are kept too often?",
    ),
    Exercise(
        "10.4",
        "Rows or means",
        "a dictionary with 'weight' and 'target' of the one row, and the 'constant'",
        merged_row,
        (
            Mistake(
                lambda: {**merged_row((1, 1, 1)), "weight": 6},
                "The target is a plain mean. The rows count by their weights.",
            ),
            Mistake(
                lambda: merged_row() | {"weight": 1},
                "The target is right. But with weight 1 an infoset that was visited a thousand "
                "times would count no more than one that was visited once.",
            ),
            Mistake(
                lambda: merged_row() | {"constant": 0},
                "The row is right, but the losses are not equal: at D = target the one row "
                "has loss 0, and the three rows disagree with one another.",
            ),
            Mistake(
                lambda: merged_row() | {"constant": float(np.array([1, 2, 3]) @ [9, 1, 1])},
                "You took the loss of the three rows at D = 0, and have to subtract that of "
                "the one row there.",
            ),
            Mistake(
                lambda: merged_row() | {"target": 1},
                "The target is a plain mean of the rows. They count by their weights.",
            ),
            Mistake(
                lambda: merged_row() | {"weight": 3},
                "You counted the rows. The one row has all of their *weight*.",
            ),
            Mistake(
                lambda: merged_row() | {"weight": 2},
                "You took the mean of the weights. The one row has all of them together.",
            ),
            Mistake(
                lambda: merged_row() | {"target": 2},
                "You divided by the number of rows. A weighted mean is divided by the sum of "
                "the weights.",
            ),
            Mistake(
                lambda: merged_row() | {"target": -merged_row()["target"]},
                "The target has the wrong sign. Weights times targets, added up, are positive "
                "here.",
            ),
            Mistake(
                lambda: merged_row() | {"constant": -merged_row()["constant"]},
                "The row is right. The exercise asks by how much the loss of the one row is "
                "*smaller*.",
            ),
            Mistake(
                lambda: (
                    merged_row()
                    | {"constant": merged_row()["constant"] / merged_row()["weight"]}
                ),
                "The row is right. You divided the constant by the weight: that is a variance. "
                "The losses are sums.",
            ),
            Mistake(
                lambda: (
                    merged_row()
                    | {"constant": float(((np.array([3, 1, -1]) - 1 / 3) ** 2).sum())}
                ),
                "The row is right. In the constant each row counts by its weight as well.",
            ),
            Mistake(
                lambda: merged_row() | {"constant": 8},
                "The row is right. In the constant you measured from the plain mean, and "
                "without weights.",
            ),
            Mistake(
                lambda: {"weight": 1, "target": 1, "constant": 8},
                "You left out the weights. Each row counts as often as its weight says.",
            ),
        ),
        tolerance=1e-3,
        points=2,
        takeaway="One row with all the weight, and the same gradient everywhere.",
        advice="Write D - r as (D - mean) + (mean - r), and square.",
    ),
    Exercise(
        "10.5",
        "Open: show it more",
        "a function of a card, from 1 to 60, that returns a list of numbers",
        lambda: hinges,
        (
            Mistake(
                lambda: rank,
                "This is the page's own feature. A linear function of the rank is a straight "
                "line, but the value of calling has bends.",
            ),
            Mistake(
                lambda: one_hot,
                "One number for each card says nothing about a card that was not shown: 48 "
                "cards get the same answer.",
            ),
            Mistake(
                lambda: powers,
                "Nine powers fit almost all the cards they were shown, and oscillate in "
                "between. More is not always better.",
            ),
            Mistake(
                lambda: square,
                "A parabola bends everywhere a little. The value of calling is nearly "
                "straight, and bends sharply at a few cards.",
            ),
            Mistake(
                lambda: cube,
                "Three powers make a smooth curve. The value of calling is nearly straight, "
                "and bends sharply at a few cards.",
            ),
            Mistake(
                lambda: half,
                "This tells only in which half a card is: all cards of a half get the same "
                "answer.",
            ),
            Mistake(
                lambda: thirds,
                "These tell only in which third a card is: all cards of a third get the same "
                "answer.",
            ),
            Mistake(
                lambda: steps,
                "These are steps: between two of them the answer does not change, but the "
                "value does.",
            ),
            Mistake(
                lambda: logarithm,
                "A logarithm bends most at the lowest cards. Where does the value of calling "
                "bend?",
            ),
            Mistake(
                lambda: constant,
                "You show the same for every card, so all cards get the same answer.",
            ),
        ),
        see=fit_error,
        accepts=lambda off: bool(off < fit_error(rank) / 4),
        points=2,
        takeaway="That holds for a linear fit. A network can bend by itself; whether it needs "
        "your features, and with how many walks, is open.",
        advice="The error is too large at the cards that were not shown. Where does the curve "
        "bend?",
    ),
)
