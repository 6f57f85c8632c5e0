"""Exercises of chapter 15: an update that loses, two lifts, a trial step, a magnet."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib import games
from cfrlib.equilibrium import exploitability
from cfrlib.exercises.grading import Exercise, Mistake, Unreadable, as_number, entries
from cfrlib.last_iterate import Iterates, MirrorDescent, RegretMatching
from cfrlib.regret import regret_matching

Floats: TypeAlias = npt.NDArray[np.float64]
Duel: TypeAlias = Callable[[Floats, int], tuple[Floats, Floats]]

STORED, LATEST, VALUES = (5, 3), (1, -1), (0.4, 0)  # of exercise 15.1
BEFORE, REGRET, SUM = (2, 3, 4), (0, -4, -8), 6  # of exercise 15.2
MATRICES = ([[3, 0, -3], [0, 3, -4], [0, 0, 1]], [[-3, 0], [0, -2]])  # of exercise 15.3
ROUNDS = (1, 3, 8)
TAUS = (1, 0.1)  # of exercise 15.4
LARGEST, SIZE, BAR, LENGTH = 4, 4, 0.05, 100  # of exercise 15.5


# ---- 15.1 ------------------------------------------------------------------------------------


def losing_update(prediction: float = 1, stored: float = 0) -> dict[str, float]:
    """Return the probabilities of the first action in two rounds, and the gain.

    `stored` is the share of the prediction that is, wrongly, added to the stored regrets.
    """
    R, r, v = (np.array(x, float) for x in (STORED, LATEST, VALUES))
    before = regret_matching(R + prediction * r)
    R = R + stored * r
    new = v - before @ v
    after = regret_matching(R + new + prediction * new)
    return {
        "before": float(before[0]),
        "after": float(after[0]),
        "gain": float((after - before) @ v),
    }


# ---- 15.2 ------------------------------------------------------------------------------------


def lifted(z: Any, least: float, power: int) -> list[float]:
    """Return [z + s]⁺ with the smallest s ≥ 0 of a large enough p-norm, by bisection."""
    z = np.array(z, float)
    low, high = 0.0, least - z.min()
    for _ in range(200):
        s = (low + high) / 2
        enough = np.linalg.norm(np.maximum(z + s, 0), power) >= least
        low, high = (low, s) if enough else (s, high)
    return [float(x) for x in np.maximum(z + high, 0)]


def two_lifts(fault: str = "") -> dict[str, list[float]]:
    """Return the stored regrets under two rules, optionally with a fault."""
    before = np.array(BEFORE, float)
    z = before + REGRET
    norm, clipped = float(np.linalg.norm(before)), np.maximum(z, 0)
    if fault == "scale":
        found = clipped * SUM / clipped.sum(), clipped * norm / np.linalg.norm(clipped)
        return {"smooth": found[0].tolist(), "norm": found[1].tolist()}
    if fault == "clip first":
        return {"smooth": lifted(clipped, SUM, 1), "norm": lifted(clipped, norm, 2)}
    if fault == "all three":
        return {"smooth": (z + (SUM - z.sum()) / 3).tolist(), "norm": lifted(z, norm, 2)}
    if fault == "sum for norm":
        return {"smooth": lifted(z, SUM, 1), "norm": lifted(z, float(before.sum()), 1)}
    return {"smooth": lifted(z, SUM, 1), "norm": lifted(z, norm, 2)}


# ---- 15.3 ------------------------------------------------------------------------------------


@cache
def duel(fault: str = "") -> Duel:
    """Return extragradient RM+ with a sum of at least 1, optionally with a fault."""

    def step(R: Floats, sigma: Floats, v: Floats) -> tuple[Floats, Floats]:
        R = np.array(lifted(R + v - sigma @ v, 1, 1))
        return R, R / R.sum()

    def play(A: Floats, rounds: int) -> tuple[Floats, Floats]:
        A = np.asarray(A, float)
        R, Q = (np.full(n, 1 / n) for n in A.shape)
        x, y = R, Q
        for _ in range(rounds):
            (H, a), (K, b) = step(R, x, A @ y), step(Q, y, -A.T @ x)
            if fault == "no trial":
                (R, x), (Q, y) = (H, a), (K, b)
                continue
            if fault == "twice":
                R, Q = H, K
            against = (x, y) if fault == "own old strategy" else (a, b)
            (R, x), (Q, y) = (
                step(R, against[0], A @ b),
                step(Q, against[1], -A.T @ (x if fault == "alternating" else a)),
            )
        return x, y

    return play


def strategies(play: Any) -> list[float]:
    """Return the strategies of a duel after several numbers of rounds of two games."""
    found: list[float] = []
    for A in MATRICES:
        for rounds in ROUNDS:
            for strategy in play(np.array(A, float), rounds):
                found += [float(p) for p in strategy]
    return found


# ---- 15.4 ------------------------------------------------------------------------------------


@cache
def price(method: RegretMatching | MirrorDescent, average: bool = False) -> float:
    """Return the exploitability that a method ends with on biased rock–paper–scissors."""
    run = Iterates(games.RockPaperScissors(3), method).run(3_000)
    return exploitability(run.game, run.average if average else run.current)


def prices(kind: str = "") -> dict[float, float]:
    """Return the price of each strength, optionally with a fault."""
    if kind == "quadratic":
        return {t: price(RegretMatching(mu=t, stage=0, alternating=True)) for t in TAUS}
    if kind == "moving":
        return {t: price(MirrorDescent(eta=0.1, tau=t, stage=100)) for t in TAUS}
    if kind == "gap":
        return {t: 2 * p for t, p in prices().items()}
    return {t: price(MirrorDescent(eta=0.1, tau=t)) for t in TAUS}


# ---- 15.5 ------------------------------------------------------------------------------------


def largest_loss(matrix: Any) -> float:
    """Return how much player 0's worst update loses in alternating PRM+, 0 or more."""
    A = np.array([[as_number(x) for x in entries(row)] for row in entries(matrix)], float)
    if A.ndim != 2 or max(A.shape) > SIZE or np.abs(A).max() > LARGEST:
        raise Unreadable(
            f"the matrix may have up to {SIZE} rows and columns, and entries from "
            f"−{LARGEST} to {LARGEST}"
        )
    x, y = (np.full(n, 1 / n) for n in A.shape)
    R, Q = np.zeros(A.shape[0]), np.zeros(A.shape[1])
    worst = 0.0
    for _ in range(LENGTH):
        v = A @ y
        r = v - x @ v
        R = np.maximum(R + r, 0)
        new = regret_matching(R + r)
        worst, x = min(worst, float((new - x) @ v)), new
        v = -A.T @ x
        r = v - y @ v
        Q = np.maximum(Q + r, 0)
        y = regret_matching(Q + r)
    return -worst


# ---- 15.6 ------------------------------------------------------------------------------------

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


EXERCISES = (
    Exercise(
        "15.1",
        "An update that loses, by hand",
        "a dictionary with 'before', 'after' and 'gain'",
        losing_update,
        (
            Mistake(
                lambda: losing_update(prediction=0),
                "That is RM+, which predicts nothing, and whose updates never lose. PRM+ "
                "matches the stored regrets plus the latest ones.",
            ),
            Mistake(
                lambda: losing_update(stored=1),
                "You stored the prediction. It is used once, for the play, and then forgotten: "
                "the new regrets are added to (5, 3).",
            ),
            Mistake(
                lambda: losing_update() | {"gain": -losing_update()["gain"]},
                "The gain has the wrong sign: it is the new strategy's payoff minus the old "
                "one's.",
            ),
        ),
        points=2,
        takeaway="The first action was better, and became rarer: the prediction shrank faster "
        "than the stored regret grew.",
        advice="Match (5, 3) + (1, −1). Then the new regrets, relative to that strategy. Then "
        "match again.",
    ),
    Exercise(
        "15.2",
        "Two lifts, by hand",
        "a dictionary with 'smooth' and 'norm', three stored regrets each",
        two_lifts,
        (
            Mistake(
                lambda: two_lifts("clip first"),
                "You clipped first and lifted then. The number is added to the entries as they "
                "are, negative ones included; clipping comes last.",
            ),
            Mistake(
                lambda: two_lifts("scale"),
                "You multiplied. A lift adds the same number to every entry.",
            ),
            Mistake(
                lambda: two_lifts("all three"),
                "One of your regrets is negative. If an entry stays below 0 it is clipped, and "
                "the others alone make up the sum.",
            ),
            Mistake(
                lambda: two_lifts("sum for norm"),
                "The first lift is right. The second one keeps the Euclidean norm, not the "
                "sum.",
            ),
        ),
        points=2,
        takeaway="Both add a number and clip; they differ in what they measure.",
        advice="Suppose that the last entry stays at 0, solve for s, and check that it does.",
    ),
    Exercise(
        "15.3",
        "Find the planted bug",
        "a function of a payoff matrix and a number of rounds that returns both strategies, as "
        "`friend` does",
        duel,
        (
            Mistake(
                lambda: duel("twice"),
                "That is your friend's function: the second step starts from where the trial "
                "ended.",
            ),
            Mistake(
                lambda: duel("no trial"),
                "Now there is one step a round, and nothing is tried: that is RM+ with a lift.",
            ),
            Mistake(
                lambda: duel("own old strategy"),
                "The regrets of the second step are relative to the trial strategy, not to the "
                "one before it.",
            ),
            Mistake(
                lambda: duel("alternating"),
                "In the second step both players face the other's trial strategy.",
            ),
        ),
        see=strategies,
        points=3,
        takeaway="A trial shows where to go; the step itself starts from where you are.",
        advice="It runs, and it still is not extragradient RM+. What does the second step "
        "start from, what is it relative to, and which strategy does it face?",
    ),
    Exercise(
        "15.4",
        "The price of a magnet",
        "a dictionary with the exploitability for τ = 1 and for τ = 0.1",
        prices,
        (
            Mistake(
                lambda: prices("quadratic"),
                "That is the quadratic regularizer of RTCFR+. Here the magnet pulls with an "
                "entropy: `MirrorDescent`.",
            ),
            Mistake(
                lambda: prices("moving"),
                "Your magnet moves (`stage`). Let it rest at the uniform strategy.",
            ),
            Mistake(
                lambda: prices("gap"),
                "That is NashConv; exploitability is half of it.",
            ),
        ),
        points=2,
        takeaway="The iterates converge, and not to an equilibrium of the game.",
        advice="Run `MirrorDescent(eta=0.1, tau=...)` until the current strategy stands still.",
    ),
    Exercise(
        "15.5",
        "Open: the most that an update can lose",
        "a payoff matrix with up to four rows and columns and entries from −4 to 4, on which "
        "an update of player 0 loses at least 0.05 in the first 100 rounds",
        lambda: [[-4, 3], [4, -2]],
        (
            Mistake(
                lambda: [[-3, 0], [0, -2]],
                "That is hide-and-seek, whose worst update loses less than a hundredth.",
            ),
            Mistake(
                lambda: [[0, -1, 3], [1, 0, -1], [-3, 1, 0]],
                "On biased rock–paper–scissors hardly anything is lost.",
            ),
        ),
        see=largest_loss,
        accepts=lambda seen: seen >= BAR,
        points=2,
        takeaway="How much an update can lose at most, relative to the largest payoff, we do "
        "not know. Nor whether alternating PRM+ always comes to rest.",
        advice="Not enough is lost. Try a few thousand random matrices, and keep the worst.",
    ),
    Exercise(
        "15.6",
        "Last, best, average, by hand",
        "a dictionary with the exploitability of the 'last' iterate, the 'best' iterate and "
        "the 'average'",
        three_iterates,
        (
            Mistake(
                lambda: three_iterates(
                    average=float(np.mean([hide_gap(*profile) for profile in FOUR]))
                ),
                "The other two are right. You took the mean of four exploitabilities. The "
                "average is one profile: first the mean of the strategies, then how "
                "exploitable it is.",
            ),
            Mistake(
                lambda: {key: 2 * x for key, x in three_iterates().items()},
                "These are the sums of both players' gains, NashConv. Exploitability is the "
                "mean of the two.",
            ),
            Mistake(
                lambda: three_iterates(
                    best=min(hide_gap(x, y) for x, _ in FOUR for _, y in FOUR)
                ),
                "The other two are right. You took the two strategies of the best iterate from "
                "different rounds. It is one of the four profiles.",
            ),
        ),
        tolerance=1e-4,
        takeaway="Three numbers from the same four rounds. A theorem about one of them says "
        "nothing about the other two.",
        advice="For each profile: what would the hider earn at best against this seeker, and "
        "the seeker against this hider?",
    ),
)
