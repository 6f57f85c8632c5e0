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


# ---- 15.2 ------------------------------------------------------------------------------------


def lifted(z: Any, least: float, power: int) -> list[float]:
    """Return [z + s]⁺ with the smallest s ≥ 0 of a large enough p-norm, by bisection."""
    z = np.array(z, float)
    low, high = 0.0, least - z.min()
    for _ in range(60):
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
    if fault == "none":
        return {"smooth": clipped.tolist(), "norm": clipped.tolist()}
    if fault == "not lifted":
        return {"smooth": z.tolist(), "norm": z.tolist()}
    if fault == "old":
        return {"smooth": before.tolist(), "norm": before.tolist()}
    if fault == "shares":
        return {key: (x / np.sum(x)).tolist() for key, x in two_lifts().items()}
    if fault == "exchanged":
        return dict(zip(("smooth", "norm"), list(two_lifts().values())[::-1], strict=True))
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
            if fault in ("twice", "player 0"):
                R = H
            if fault in ("twice", "player 1"):
                Q = K
            if fault == "trial alternates":
                b = step(Q, y, -A.T @ a)[1]
            against = (x, y) if fault == "own old strategy" else (a, b)
            if fault == "old opponent":
                (R, x), (Q, y) = step(R, a, A @ y), step(Q, b, -A.T @ x)
                continue
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
def price(method: RegretMatching | MirrorDescent, rounds: int = 3_000) -> float:
    """Return the exploitability that a method ends with on biased rock–paper–scissors."""
    run = Iterates(games.RockPaperScissors(3), method).run(rounds)
    return exploitability(run.game, run.current)


def prices(kind: str = "") -> dict[float, float]:
    """Return the price of each strength, optionally with a fault."""
    if kind == "quadratic":
        return {t: price(RegretMatching(mu=t, stage=0, alternating=True)) for t in TAUS}
    if kind == "moving":
        return {t: price(MirrorDescent(eta=0.1, tau=t, stage=100)) for t in TAUS}
    if kind == "few":
        return {t: price(MirrorDescent(eta=0.1, tau=t), rounds=30) for t in TAUS}
    if kind == "fast":
        return {t: price(MirrorDescent(eta=1, tau=t)) for t in TAUS}
    if kind == "exchanged":
        return dict(zip(TAUS, list(prices().values())[::-1], strict=True))
    if kind == "in proportion":
        return {t: t * prices()[1] for t in TAUS}
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
            Mistake(
                lambda: losing_update(late=0),
                "The first probability is right. In the next round PRM+ predicts as well: "
                "match the stored regrets plus the new ones, once more.",
            ),
            Mistake(
                lambda: losing_update(compared=False),
                "The first probability is right. The new regrets are the two values *minus* "
                "what the strategy of this round earns.",
            ),
            Mistake(
                lambda: losing_update() | {"after": 6 / 10},
                "The new regrets are not those of the round before. Compute them from the "
                "values 0.4 and 0.",
            ),
            Mistake(
                lambda: losing_update() | {"gain": losing_update()["after"] * VALUES[0]},
                "That is what the new strategy earns. Subtract what the old one would have "
                "earned.",
            ),
            Mistake(
                lambda: (
                    losing_update()
                    | {"gain": losing_update()["after"] - losing_update()["before"]}
                ),
                "That is the change of a probability. Multiply it by what the action pays.",
            ),
            Mistake(
                lambda: losing_update() | {"gain": 0},
                "Before and after differ, and the first action pays more than the second, so "
                "the gain is not 0.",
            ),
            Mistake(
                lambda: losing_update() | {"after": losing_update()["before"], "gain": 0},
                "You matched the same numbers again. New regrets come in: the values, minus "
                "what the strategy of this round earns.",
            ),
            Mistake(
                lambda: {
                    **losing_update(),
                    "before": 1 - losing_update()["before"],
                    "after": 1 - losing_update()["after"],
                },
                "These are the probabilities of the second action. The exercise asks for the "
                "first.",
            ),
            Mistake(
                lambda: losing_update() | {"before": STORED[0] / sum(STORED)},
                "PRM+ adds its prediction in this round as well, before it matches.",
            ),
            Mistake(
                lambda: losing_update() | {"before": 6},
                "These are regrets. Divide by their sum to get a probability.",
            ),
            Mistake(
                lambda: losing_update() | {"after": 6.2 / 7.6},
                "The new regrets are added to the *stored* ones, (5, 3). The prediction of "
                "this round is forgotten after it was used.",
            ),
        ),
        points=2,
        takeaway="The first action was better, and yet it became rarer: the prediction shrank "
        "faster than the stored regret grew.",
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
                "You clipped first and then lifted. The number is added to the entries as they "
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
            Mistake(
                lambda: two_lifts("none"),
                "You only clipped. That is RM+: its sum and its norm may fall, and here both "
                "have to be kept up.",
            ),
            Mistake(
                lambda: two_lifts("not lifted"),
                "You only added. The result is still to be lifted, and clipped.",
            ),
            Mistake(
                lambda: two_lifts("old"),
                "You stored the old regrets again. The new ones come in first, then the lift.",
            ),
            Mistake(
                lambda: two_lifts("shares"),
                "These are strategies. What is stored are the regrets, before they are "
                "divided.",
            ),
            Mistake(
                lambda: two_lifts("exchanged"),
                "You have the two rules the wrong way round.",
            ),
            Mistake(
                lambda: two_lifts() | {"smooth": two_lifts("none")["smooth"]},
                "The second lift is right. In the first, the sum is still too small.",
            ),
            Mistake(
                lambda: two_lifts() | {"norm": two_lifts("none")["norm"]},
                "The first lift is right. In the second, the norm is still too small.",
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
            Mistake(
                lambda: duel("player 0"),
                "Player 1 is right now. For player 0 the trial is still stored.",
            ),
            Mistake(
                lambda: duel("player 1"),
                "Player 0 is right now. For player 1 the trial is still stored.",
            ),
            Mistake(
                lambda: duel("trial alternates"),
                "In the trial, player 1 already faces player 0's trial strategy. Both should "
                "face what was played before.",
            ),
            Mistake(
                lambda: duel("old opponent"),
                "In the second step both still face the other's old strategy. It is the trial "
                "strategy that they should face.",
            ),
        ),
        see=strategies,
        points=3,
        takeaway="The trial step shows the direction; the second step starts from the same "
        "point as the trial.",
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
                "That is nearly an equilibrium. Did your magnet move (`stage`), or was the "
                "game the fair one? Leave the magnet at the uniform strategy, and play the "
                "biased game.",
            ),
            Mistake(
                lambda: prices("gap"),
                "That is NashConv; exploitability is half of it.",
            ),
            Mistake(
                lambda: prices("exchanged"),
                "You have the two strengths the wrong way round: the stronger magnet keeps "
                "play farther from the equilibrium.",
            ),
            Mistake(
                lambda: prices("few"),
                "After so few rounds it still moves. Run until nothing does.",
            ),
            Mistake(
                lambda: prices("fast"),
                "You took a larger step size, η. With the weak magnet it does not come to rest "
                "at all.",
            ),
            Mistake(
                lambda: dict.fromkeys(TAUS, 1 / 3),
                "That is how exploitable the magnet is, uniform play. The iterates come to "
                "rest between it and the equilibrium.",
            ),
            Mistake(
                lambda: prices("in proportion"),
                "The first is right. The price is not in proportion to τ: run the second.",
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
            Mistake(
                lambda: [[-4, 4], [3, -2]],
                "This matrix loses 0.0496, a little less than 0.05. Change one of its entries "
                "by 1.",
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
            Mistake(
                lambda: three_iterates(last=hide_gap(*FOUR[0])),
                "The other two are right. That is the *first* iterate.",
            ),
            Mistake(
                lambda: three_iterates(best=max(hide_gap(*profile) for profile in FOUR)),
                "The other two are right. That is the *worst* of the four.",
            ),
            Mistake(
                lambda: three_iterates(last=hide_gap(*FOUR[2])),
                "The other two are right. That is the third iterate. There are four.",
            ),
            Mistake(
                lambda: three_iterates(best=hide_gap(*FOUR[2])),
                "The other two are right. One of the four is less exploitable than that.",
            ),
            Mistake(
                lambda: {
                    "last": three_iterates()["best"],
                    "best": three_iterates()["last"],
                    "average": three_iterates()["average"],
                },
                "You have the last and the best the wrong way round.",
            ),
            Mistake(
                lambda: three_iterates(
                    average=2 * float(np.mean([hide_gap(*profile) for profile in FOUR]))
                ),
                "The other two are right. You took the mean of four sums of gains. The average "
                "is one profile: first the mean of the strategies, then how exploitable it is.",
            ),
            Mistake(
                lambda: three_iterates(average=hide_gap(*np.mean(FOUR[2:], axis=0))),
                "The other two are right. You averaged the last two rounds. The average is "
                "over all four.",
            ),
            Mistake(
                lambda: three_iterates(average=three_iterates()["best"]),
                "The other two are right. The average is not one of the four iterates: take "
                "the mean of the strategies first.",
            ),
            Mistake(
                lambda: three_iterates(last=three_iterates()["last"] / 2),
                "The other two are right. You halved the last one twice.",
            ),
        ),
        tolerance=1e-4,
        takeaway="Three numbers from the same four rounds. A theorem about one of them says "
        "nothing about the other two.",
        advice="For each profile: what would the hider earn at best against this seeker, and "
        "the seeker against this hider?",
    ),
)
