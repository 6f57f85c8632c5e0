"""Exercises of chapter 10: reservoirs, sums and means, a biased buffer, network features."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from cfrbook.exercises.grading import (
    Unreadable,
    as_list,
    as_number,
    entries,
    require_complete,
    require_function,
)
from cfrbook.exercises.sheet import read
from cfrbook.exercises.written import ITERATIONS, small_games, strategy, table
from cfrbook.museum import mutant
from cfrlib import games
from cfrlib.game import Game
from cfrlib.plain import ExternalSamplingSolver
from cfrlib.plain import shares as in_proportion
from cfrlib.solve import solve
from cfrlib.strategy import Strategy

Shares = dict[str, Fraction]
Features = Callable[[int], Sequence[float]]

CARDS = range(1, 61)
SHOWN = range(5, 61, 5)  # training cards of exercise 10.7


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


# ---- 10.5: the borrowed buffer --------------------------------------------------------------


class Buffer:
    """The buffer of exercise 10.5, without the bug: a reservoir."""

    def __init__(self, size: int, rng: random.Random):
        self.rng, self.seen = rng, 0
        self.rows: list[Any] = [None] * size

    def offer(self, I: int, weight: float, target: object) -> None:
        """Take a row up, or drop it."""
        index, size = self.seen, len(self.rows)
        self.seen += 1
        if index >= size:
            index = self.rng.randrange(self.seen)
        if index < size:
            self.rows[index] = I, weight, target


INDEX = "index = self.rng.randrange(self.seen)"  # a line of it


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


# ---- 10.3: rows or means --------------------------------------------------------------------


def merged_row(
    weights: Sequence[float] = (1, 2, 3), rows: Sequence[float] = (3, 1, -1)
) -> dict[str, float]:
    """Return the row that replaces some rows in a loss, and the constant difference."""
    w, r = np.array(weights, float), np.array(rows, float)
    total, mean = w.sum(), w @ r / w.sum()
    return {"weight": total, "target": mean, "constant": w @ (r - mean) ** 2}


# ---- 10.7: show it more ---------------------------------------------------------------------


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
    rows = [[1.0, *map(feature, entries(row))] for row in listed]
    x = np.array([as_list(row, len(rows[0])) for row in rows])
    if not np.isfinite(x).all():
        raise Unreadable("some of your numbers are not finite")
    shown = np.isin(CARDS, SHOWN)
    weights = np.linalg.lstsq(x[shown], calling_advantages()[shown], rcond=None)[0]
    errors = (x @ weights - calling_advantages())[~shown]
    return float(np.sqrt(np.mean(errors**2)))


def feature(x: Any) -> float:
    """Return a reader's feature as a number; True is 1."""
    return float(x) if isinstance(x, bool | np.bool_) else as_number(x)


def rank(card: int) -> list[float]:
    """Return the features of a card that the page uses: its rank."""
    return [card / 30 - 1]


def hinges(card: int) -> list[float]:
    """Return the positive distances of a card above 0, 10, ..., 50."""
    return [max(card - n, 0) / 30 for n in range(0, 60, 10)]


# ---- 10.4: how many seeds -------------------------------------------------------------------


def seeds_for(errors: float, spread: float, width: float = 0.004, up: bool = True) -> int:
    """Return how many seeds make that many standard errors as large as `width`."""
    return (math.ceil if up else math.floor)((errors * spread / width) ** 2)


def numbers_of_seeds(up: bool = True) -> dict[str, int]:
    """Return the answer; `up` says whether numbers are rounded up."""
    return {
        "wide": seeds_for(1.96, 0.02, up=up),
        "half": seeds_for(1.96, 0.02, 0.002, up),
        "apart": seeds_for(1.96, 0.03 * math.sqrt(2), up=up),
        "found": seeds_for(1.96 + 0.842, 0.02, up=up),
    }


# ---- 10.6 ------------------------------------------------------------------------------------


def deep_loop(walks: Any, iterations: int) -> Any:
    """Return the average strategy of Deep CFR with tables in place of networks."""
    advantages: Any = [[], []]
    strategies: Any = []
    network: dict[str, Any] = {}

    def sigma(infoset: str, actions: Any) -> Any:
        row = network.get(infoset) or dict.fromkeys(actions, 0.0)
        return in_proportion({a: max(x, 0) for a, x in row.items()})

    def means(rows: Any) -> Any:
        sums: dict[str, Any] = {}
        for infoset, weight, row in rows:
            total = sums.setdefault(infoset, dict.fromkeys(row, 0.0))
            for a, x in row.items():
                total[a] += weight * x
        return sums

    for t in range(1, iterations + 1):
        for i in (0, 1):
            learned, played = walks(i, t, sigma)
            advantages[i] += [(infoset, t, row) for infoset, row in learned]
            strategies += [(infoset, t, row) for infoset, row in played]
            network.update(means(advantages[i]))
    return {infoset: in_proportion(row) for infoset, row in means(strategies).items()}


MATCH = "return in_proportion({a: max(x, 0) for a, x in row.items()})"
BEST = {
    MATCH: "if max(row.values()) <= 0:\n"
    "    return {a: float(a == max(row, key=row.get)) for a in row}\n" + MATCH
}
LEARN = "network.update(means(advantages[i]))"
TOGETHER = {LEARN: "if i: network.update(means(advantages[0] + advantages[1]))"}


def deep_other(lines: Mapping[str, str]) -> Any:
    """Return the loop with other lines, which are right as well."""
    return mutant(deep_loop, lines)


class Recorded(ExternalSamplingSolver):
    """External sampling that writes down rows for the memories, and learns nothing itself."""

    def __init__(self, game: Game, seed: int, sigma: Any):
        super().__init__(game, seed)
        self.ask = sigma
        self.played: list[Any] = []

    def match(self, I: str) -> Any:
        """Return the row that a reader's program plays."""
        if not hasattr(self, "ask"):  # while the tables are made
            return super().match(I)
        A = self.actions[I]
        return table({I: self.ask(I, A)}, {I: A})[I]

    def collect(self, node: Any, row: Any, q: float = 1) -> None:
        """Write down the opponent's strategy."""
        self.played.append((node.infoset, dict(row)))

    def rows(self, i: int, walks: int) -> Any:
        """Return the rows of some walks: of player i's advantages, and of strategies."""
        learned: list[Any] = []
        for _ in range(walks):
            self.R.clear()
            self.walk((), i)
            found: dict[str, Any] = {}
            for (I, a), x in self.R.items():
                found.setdefault(I, {})[a] = x
            learned += found.items()
        return learned, self.played


def deep_averages(program: Any) -> dict[str, Any]:
    """Return the average strategies of a reader's loop on both small games."""
    require_function(program)
    found = {}
    for name, game in small_games().items():

        def walks(i: int, t: int, sigma: Any, game: Game = game) -> Any:
            return Recorded(game, 10 * t + i, sigma).rows(i, 60)

        learned = program(walks, ITERATIONS)
        if isinstance(learned, Mapping):  # an infoset that no walk has met is left out
            learned = {**Strategy.uniform(game), **learned}
        found[name] = strategy(learned, game)
    return found


EXERCISES = read(__file__, globals())
