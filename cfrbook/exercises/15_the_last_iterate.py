"""Exercises of chapter 15: an update that loses, two lifts, a trial step, a magnet."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrbook.exercises.grading import as_number, entries
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib import games
from cfrlib.evaluate import exploitability
from cfrlib.last_iterate import Iterates, MirrorDescent, RegretMatching
from cfrlib.regret import regret_matching

Floats: TypeAlias = npt.NDArray[np.float64]

STORED, LATEST, VALUES = (5, 3), (1, -1), (0.4, 0)  # of exercise 15.3
BEFORE, REGRET, SUM = (2, 3, 4), (0, -4, -8), 6  # of exercise 15.4
MATRICES = ([[3, 0, -3], [0, 3, -4], [0, 0, 1]], [[-3, 0], [0, -2]])  # of exercise 15.5
ROUNDS = (1, 3, 8)
TAUS = (1, 0.1)  # of exercise 15.2


# ---- 15.3 ------------------------------------------------------------------------------------


def losing_update(
    prediction: float = 1, stored: float = 0, late: float = 1, compared: bool = True
) -> dict[str, float]:
    """Return the probabilities of the first action in two rounds, and the gain.

    `stored` is the share of the prediction that is, wrongly, added to the stored regrets;
    `late` is the prediction of the second round. Regrets that are not `compared` are the values
    themselves.
    """
    R, r, v = (np.array(x, float) for x in (STORED, LATEST, VALUES))
    before = regret_matching(R + prediction * r)
    R = R + stored * r
    new = v - compared * (before @ v)
    after = regret_matching(R + new + prediction * late * new)
    return {
        "before": float(before[0]),
        "after": float(after[0]),
        "gain": float((after - before) @ v),
    }


# ---- 15.4 ------------------------------------------------------------------------------------


def lifted(z: Any, least: float, power: int) -> list[float]:
    """Return [z + s]⁺ with the smallest s ≥ 0 of a large enough p-norm, by bisection."""
    z = np.array(z, float)
    low, high = 0.0, least - z.min()
    for _ in range(60):
        s = (low + high) / 2
        enough = np.linalg.norm(np.maximum(z + s, 0), power) >= least
        low, high = (low, s) if enough else (s, high)
    return [float(x) for x in np.maximum(z + high, 0)]


OLD = np.array(BEFORE, float)
NEW = OLD + REGRET  # negative entries included
CLIPPED, NORM = np.maximum(NEW, 0), float(np.linalg.norm(OLD))


def two_lifts(**changes: Any) -> dict[str, Any]:
    """Return the stored regrets under two rules, optionally with changes."""
    return {"smooth": lifted(NEW, SUM, 1), "norm": lifted(NEW, NORM, 2)} | changes


# ---- 15.5 ------------------------------------------------------------------------------------


def duel(A: Floats, rounds: int) -> tuple[Floats, Floats]:
    """Return the strategies of extragradient RM+ with a sum of at least 1."""

    def step(R: Floats, at: Floats, v: Floats) -> tuple[Floats, Floats]:
        R = np.array(lifted(R + v - at @ v, 1, 1))
        return R, R / R.sum()

    A = np.asarray(A, float)
    R, Q = (np.full(n, 1 / n) for n in A.shape)
    x, y = R, Q
    for _ in range(rounds):
        a, b = step(R, x, A @ y)[1], step(Q, y, -A.T @ x)[1]
        (R, x), (Q, y) = step(R, a, A @ b), step(Q, b, -A.T @ a)
    return x, y


TRIAL = "a, b = step(R, x, A @ y)[1], step(Q, y, -A.T @ x)[1]"  # lines of it
STEP = "(R, x), (Q, y) = step(R, a, A @ b), step(Q, b, -A.T @ a)"


def strategies(play: Any) -> list[float]:
    """Return the strategies of a duel after several numbers of rounds of two games."""
    found: list[float] = []
    for A in MATRICES:
        for rounds in ROUNDS:
            for strategy in play(np.array(A, float), rounds):
                found += map(as_number, entries(strategy))
    return found


# ---- 15.2 ------------------------------------------------------------------------------------


@cache
def price(method: RegretMatching | MirrorDescent, rounds: int = 3_000) -> float:
    """Return the exploitability that a method ends with on biased rock–paper–scissors."""
    run = Iterates(games.RockPaperScissors(3), method).run(rounds)
    return exploitability(run.game, run.current)


def prices(
    method: Callable[[float], RegretMatching | MirrorDescent] = lambda t: MirrorDescent(0.1, t),
    rounds: int = 3_000,
) -> dict[float, float]:
    """Return the price of each strength, for a method that depends on it."""
    return {t: price(method(t), rounds) for t in TAUS}


# ---- 15.1 ------------------------------------------------------------------------------------

# probabilities of the attic in four rounds of hide-and-seek: the hider's, the seeker's
FOUR = ((0.8, 0.4), (0.4, 0.6), (0.2, 0.5), (0.2, 0.1))


def hide_gap(hider: float, seeker: float) -> float:
    """Return the exploitability of a profile of hide-and-seek."""
    A, x, y = (
        np.array(m, float) for m in (MATRICES[1], [hider, 1 - hider], [seeker, 1 - seeker])
    )
    return float((A @ y).max() - (x @ A).min()) / 2


def three_iterates(**changes: float) -> dict[str, float]:
    """Return the exploitability of the last and the best iterate and of the average."""
    gaps = [hide_gap(*profile) for profile in FOUR]
    mean = np.mean(FOUR, axis=0)
    return {"last": gaps[-1], "best": min(gaps), "average": hide_gap(*mean)} | changes


EXERCISES = read(__file__, globals())
