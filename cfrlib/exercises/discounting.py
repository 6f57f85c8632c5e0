"""Exercises of chapter 6: an update by hand, a large exponent, a misplaced discount."""

from __future__ import annotations

from functools import cache
from math import inf
from typing import Any

import numpy as np

from cfrlib import games
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unreadable,
    as_list,
    as_number,
    pair_values,
)
from cfrlib.exercises.plain import Solver, Sums, average, in_both_orders, traversal
from cfrlib.game import Game
from cfrlib.regret import VARIANTS, Variant, regret_matching
from cfrlib.solve import solve

STORED, NEW, T = (5, 1, -3), (-1, 2, -1), 3  # of exercise 6.1
ROUNDS = 50  # for solvers in plain Python: well below a second
LONG = (50, 100)  # of exercise 6.4; the digits of longer runs depend on rounding
UNPREDICTED = {
    v: (VARIANTS[v].alpha, VARIANTS[v].beta, VARIANTS[v].gamma) for v in ("dcfr", "cfr")
}
BAR, LENGTH = 1.1, 300  # of exercise 6.5


def factor(t: int, exponent: float) -> float:
    """Return the discount factor of regrets after iteration t."""
    if abs(exponent) == inf:
        return float(exponent > 0)
    return float(t**exponent / (t**exponent + 1))


def discounted(R: Any, sign: Any, t: int, v: Variant) -> Any:
    """Return regrets discounted after iteration t; the signs of `sign` select the exponent."""
    return R * np.where(np.asarray(sign) > 0, factor(t, v.alpha), factor(t, v.beta))


# ---- 6.1 -------------------------------------------------------------------------------------


def by_hand(fault: str = "") -> dict[str, dict[str, list[float]]]:
    """Return stored regrets and next strategies of three variants, optionally with a fault."""
    before, r = np.array(STORED, float), np.array(NEW, float)
    found = {}
    for name in ("linear", "dcfr", "pcfr+"):
        v = VARIANTS[name]
        t = T + {"one too few": -1, "one too many": 1}.get(fault, 0)
        R = discounted(before + r, before + r, t, v)
        if fault == "no discount" and name != "pcfr+":
            R = before + r
        if fault == "not added":
            R = discounted(before, before, t, v)
        if fault == "discount first":
            R = discounted(before, before, t, v) + r
        if fault == "sign of the new":
            R = discounted(before + r, r, t, v)
        guess = v.prediction * r if fault != "no guess" else 0 * r
        played = regret_matching(R + guess)
        if fault == "stored guess":
            R = np.maximum(R + guess, 0) if v.prediction else R
        found[name] = {"stored": R.tolist(), "played": played.tolist()}
    return found


def stored_as(name: str, third: float, first: float = 1) -> dict[str, Any]:
    """Return the answer with other stored regrets of one variant.

    Parameters
    ----------
    name : str
        The variant.
    third : float
        The third stored regret.
    first : float
        Factor of the two others.
    """
    right = by_hand()
    a, b, _ = right[name]["stored"]
    return right | {name: right[name] | {"stored": [first * a, first * b, third]}}


# ---- 6.2 and 6.4 -----------------------------------------------------------------------------


@cache
def leduc(
    alpha: float,
    beta: float,
    gamma: float,
    prediction: float = 0.0,
    iterations: int = 100,
    update: str = "alternating",
) -> float:
    """Return the exploitability of a variant's average strategy on Leduc poker."""
    v = Variant("mine", alpha, beta, gamma, prediction)
    found = solve(games.LeducPoker(), v, iterations, update=update, progress=False)
    return found.exploitability


def large_exponent(update: str = "alternating") -> dict[str, float]:
    """Return the exploitability of two variants, and the first discount factor of 'big'."""
    cfr, big = leduc(inf, inf, 0, update=update), leduc(60, 60, 0, update=update)
    return {"cfr": cfr, "big": big, "first factor": factor(1, 60)}


def prediction_ratios(update: str = "alternating") -> dict[str, dict[int, float]]:
    """Return the ratio of the exploitability with prediction to that without."""
    return {
        name: {
            n: leduc(*exponents, 1.0, n, update) / leduc(*exponents, 0.0, n, update)
            for n in LONG
        }
        for name, exponents in UNPREDICTED.items()
    }


def reciprocal_ratios() -> dict[str, dict[int, float]]:
    """Return the reciprocals of the correct ratios."""
    right = prediction_ratios()
    return {name: {n: 1 / x for n, x in row.items()} for name, row in right.items()}


def pcfr_ratios() -> dict[str, dict[int, float]]:
    """Return the ratio of the exploitability of pcfr+ to that without prediction."""
    return {
        name: {n: leduc(inf, -inf, 2, True, n) / leduc(*exponents, False, n) for n in LONG}
        for name, exponents in UNPREDICTED.items()
    }


def log_ratios(answer: Any) -> dict[str, dict[int, float]]:
    """Return the logarithms of the four ratios of an answer."""
    found: dict[str, dict[int, float]] = {}
    for name, row, wanted in pair_values(
        answer, dict.fromkeys(UNPREDICTED, dict.fromkeys(LONG))
    ):
        ratios = [as_number(x) for _, x, _ in pair_values(row, wanted)]
        if min(ratios) <= 0:
            raise Unreadable("ratios must be positive")
        found[str(name)] = dict(zip(LONG, np.log10(ratios).tolist(), strict=True))
    return found


# ---- 6.3 -------------------------------------------------------------------------------------


@cache
def solver(discount: str = "once") -> Solver:
    """Return a solver for exercise 6.3, correct or with a bug.

    Parameters
    ----------
    discount : str
        ``"once"``: each table after its player's traversal, which is correct; ``"early"``:
        after each history; ``"twice"``: all tables after each traversal; ``"before"``: only
        the stored regrets, before the new ones are added; ``"today"``: once, by the sign of the
        new regret; ``"player 0"``: both tables, after player 0's traversal; ``"new"``: only the
        new regret of each history; ``"never"``.
    """

    def solve(game: Game, iterations: int) -> Sums:
        R: dict[str, Any] = {}
        S: Sums = {}
        r: Sums = {}
        sigma: Sums = {}
        dcfr, t = VARIANTS["dcfr"], 0  # t is the iteration

        def update() -> None:
            for I, row in r.items():
                new = np.array(row)
                old = R.get(I, 0 * new)
                if discount in ("never", "player 0"):
                    R[I] = old + new
                elif discount == "new":
                    R[I] = old + discounted(new, new, t, dcfr)
                elif discount == "before":
                    R[I] = discounted(old, old, t, dcfr) + new
                else:
                    sign = new if discount == "today" else old + new
                    R[I] = discounted(old + new, sign, t, dcfr)
            if discount == "twice":
                R.update({I: discounted(x, x, t, dcfr) for I, x in R.items() if I not in r})
            r.clear()

        each = discount in ("early", "new")
        walk = traversal(game, sigma, r, S, update if each else lambda: None)
        for t in range(1, iterations + 1):
            for i in (0, 1):
                walk((), i, t**2, 1, 1)
                update()
                sigma.update({I: regret_matching(x).tolist() for I, x in R.items()})
                if discount == "player 0" and i == 0:
                    R.update({I: discounted(x, x, t, dcfr) for I, x in R.items()})
        return S

    return solve


def average_strategies(solve: Any) -> dict[str, dict[str, list[float]]]:
    """Return a solver's average strategies for both orders of the deals."""
    infosets = solver()(games.KuhnPoker(), 1)
    found = in_both_orders(solve, ROUNDS)
    return {name: {I: average(sums, I) for I in infosets} for name, sums in found.items()}


# ---- 6.5 -------------------------------------------------------------------------------------


def exploitability_ratio(answer: Any) -> float:
    """Return the ratio of dcfr's exploitability to that of given exponents, on Leduc poker."""
    if isinstance(answer, Variant):
        if answer.prediction:
            raise Unreadable("your variant predicts; the answer is only three exponents")
        answer = (answer.alpha, answer.beta, answer.gamma)
    alpha, beta, gamma = (as_number(x) for x in as_list(answer, 3))
    rival = leduc(*UNPREDICTED["dcfr"], iterations=LENGTH)
    return rival / leduc(alpha, beta, gamma, iterations=LENGTH)


@cache
def best_exponents() -> tuple[float, ...]:
    """Return the best of eight combinations of exponents from the page's grid."""
    points = [(a, b, g) for a in (1.5, 2) for b in (-1, -2) for g in (2, 3)]
    return max(points, key=exploitability_ratio)


# ---- 6.6 -------------------------------------------------------------------------------------

LOSS, LEAD = 30_000, 2  # of exercise 6.6: what the third action costs, the second brings


def rounds_to_repay(power: int, loss: float = LOSS, lead: float = LEAD) -> int:
    """Return the rounds until regret matching plays only the second of three actions.

    Parameters
    ----------
    power : int
        Round t counts t to this power.
    loss, lead : float
        The first action pays 0, the second `lead`, the third minus `loss`.
    """
    mean = (lead - loss) / 3
    first, second, t = -mean, lead - mean, 1
    while first > 0:
        t += 1
        play, weight = second / (first + second), lead * t**power
        first, second = first - weight * play, second + weight * (1 - play)
    return t


@cache
def repaid(lead: float = LEAD) -> dict[str, float]:
    """Return the rounds of both kinds, and the factors if the loss is four times as large."""
    plain, linear = (rounds_to_repay(power, lead=lead) for power in (0, 1))
    later = [rounds_to_repay(power, 4 * LOSS, lead) for power in (0, 1)]
    factors = {"plain, 4 times": later[0] / plain, "linear, 4 times": later[1] / linear}
    return {"plain": plain, "linear": linear} | factors


EXERCISES = (
    Exercise(
        "6.1",
        "By hand",
        "for each of 'linear', 'dcfr' and 'pcfr+' a dictionary with 'stored' and 'played', "
        "three numbers each",
        by_hand,
        (
            Mistake(
                lambda: by_hand("discount first"),
                "You discounted the stored regrets and then added the new ones. Line 3 comes "
                "before line 4: the new regrets are discounted as well.",
            ),
            Mistake(
                lambda: by_hand("sign of the new"),
                "You used the sign of the new regret. Line 4 asks for the sign of the sum.",
            ),
            Mistake(
                lambda: by_hand("one too few"),
                "You took the factors of the iteration before: t counts the present one.",
            ),
            Mistake(
                lambda: by_hand("stored guess"),
                "pcfr+ plays with its guess, but does not store it: the true regret is added "
                "when it is known.",
            ),
            Mistake(
                lambda: by_hand("no guess"),
                "Only one thing is wrong: pcfr+ matches R + m, where m is the latest regret.",
            ),
            Mistake(
                lambda: by_hand("one too many"),
                "You took the factors of the iteration after: t counts the present one.",
            ),
            Mistake(
                lambda: by_hand("no discount"),
                "You added the new regrets, and did not discount the sums. Line 4 multiplies "
                "each by its factor.",
            ),
            Mistake(
                lambda: by_hand("not added"),
                "You discounted the old regrets and left out the new ones. Line 3 adds them "
                "first.",
            ),
            Mistake(
                lambda: stored_as("pcfr+", STORED[2] + NEW[2]),
                "The rest is right. pcfr+ stores no negative regret: its exponent β is −∞, and "
                "the factor is 0.",
            ),
            Mistake(
                lambda: by_hand() | {"pcfr+": by_hand("stored guess")["pcfr+"]},
                "pcfr+ plays with its guess, but does not store it: the true regret is added "
                "when it is known.",
            ),
            Mistake(
                lambda: stored_as("dcfr", 0),
                "The rest is right. dcfr does not forget a negative regret at once: with β = "
                "0, what is its factor?",
            ),
            Mistake(
                lambda: stored_as("dcfr", STORED[2] + NEW[2]),
                "The rest is right. dcfr discounts negative regrets as well: with β = 0, what "
                "is the factor?",
            ),
            Mistake(
                lambda: stored_as("linear", 0),
                "The rest is right. Linear CFR keeps negative regrets, with the same factor as "
                "the others.",
            ),
            Mistake(
                lambda: stored_as(
                    "dcfr", by_hand()["dcfr"]["stored"][2], factor(T, 1) / factor(T, 1.5)
                ),
                "The rest is right. You discounted dcfr's positive regrets with the exponent "
                "1. Look α up in the table.",
            ),
        ),
        points=2,
        takeaway="A factor common to all positive regrets changes the stored regrets but not "
        "the next strategy.",
        advice="Add, look at the sign of each sum, multiply, and only then match.",
    ),
    Exercise(
        "6.2",
        "Is a large exponent infinity?",
        "a dictionary: exploitability after 100 iterations of 'cfr' and 'big', and under "
        "'first factor' the factor of regrets in 'big' after iteration 1",
        large_exponent,
        (
            Mistake(
                lambda: large_exponent() | {"first factor": 1},
                "The two runs differ, so one of the factors must. Compute the factor for t = 1 "
                "instead of its limit.",
            ),
            Mistake(
                lambda: large_exponent() | {"big": leduc(inf, inf, 0), "first factor": 1},
                "That is what you would expect. Run it.",
            ),
            Mistake(
                lambda: large_exponent("simultaneous"),
                "These are simultaneous updates; this chapter alternates.",
            ),
            Mistake(
                lambda: large_exponent() | {"first factor": 0},
                "1 to any power is 1. What does the formula of line 4 give with that?",
            ),
            Mistake(
                lambda: large_exponent() | {"first factor": 2},
                "You have the quotient upside down: a discount is at most 1.",
            ),
            Mistake(
                lambda: large_exponent() | {"first factor": 60 / 61},
                "You exchanged t and its exponent: the factor is t to the power of α, over the "
                "same plus 1.",
            ),
            Mistake(
                lambda: large_exponent() | {"big": leduc(inf, inf, 0)},
                "The factor is right, so the two runs differ from iteration 1 on. Run `big` "
                "itself.",
            ),
            Mistake(
                lambda: (
                    large_exponent()
                    | {"cfr": large_exponent()["big"], "big": large_exponent()["cfr"]}
                ),
                "You have the two runs the wrong way round.",
            ),
            Mistake(
                lambda: {
                    key: x if key == "first factor" else 2 * x
                    for key, x in large_exponent().items()
                },
                "This is NashConv, the sum of what both players could gain; exploitability is "
                "their mean.",
            ),
            Mistake(
                lambda: large_exponent() | {"cfr": leduc(inf, -inf, 1)},
                "For vanilla CFR you ran CFR+, which forgets negative regrets.",
            ),
            Mistake(
                lambda: (
                    large_exponent()
                    | {
                        name: solve(
                            games.KuhnPoker(), Variant(name, x, x, 0), 100, progress=False
                        ).exploitability
                        for name, x in (("cfr", inf), ("big", 60.0))
                    }
                ),
                "These are the numbers for Kuhn poker. The exercise asks for Leduc.",
            ),
        ),
        tolerance=2e-4,
        takeaway="No finite exponent makes the first factor 1: the limit of the family is not "
        "its member at infinity.",
        advice="`cfr.solve(leduc, variant, 100).exploitability`, and the formula of line 4.",
    ),
    Exercise(
        "6.3",
        "Find the planted bug",
        "a function of a game and a number of iterations that returns S, as `friend` does",
        solver,
        (
            Mistake(
                lambda: solver("early"),
                "The order of the deals still changes the result.",
            ),
            Mistake(
                lambda: solver("twice"),
                "The order of the deals does not matter any more, but now each table is "
                "discounted twice in an iteration, after its owner's turn and after the "
                "other's.",
            ),
            Mistake(
                lambda: solver("never"),
                "The order of the deals does not matter any more, but now nothing is "
                "discounted at all. The line was right; only its place was not.",
            ),
            Mistake(
                lambda: solver("before"),
                "The order of the deals does not matter any more, but now the discount comes "
                "before the sum, and the new regrets miss it.",
            ),
            Mistake(
                lambda: solver("today"),
                "The order of the deals does not matter any more, but the factor depends on "
                "the sign of the new regret instead of the sum.",
            ),
            Mistake(
                lambda: solver("new"),
                "You discount what each history adds, and nothing that is stored. So old "
                "regrets never fade.",
            ),
            Mistake(
                lambda: solver("player 0"),
                "Both tables are discounted once in an iteration, but after player 0's "
                "traversal. Player 1's new regrets come later, and miss it.",
            ),
        ),
        see=average_strategies,
        points=3,
        takeaway="An infoset is discounted once an iteration, not once a history.",
        advice="It runs, and it still is not discounted CFR with alternating updates.",
    ),
    Exercise(
        "6.4",
        "Predict with other exponents",
        "for 'dcfr' and 'cfr' a dictionary with a quotient for 50 and 100 iterations: "
        "exploitability with prediction, divided by that without",
        prediction_ratios,
        (
            Mistake(
                reciprocal_ratios,
                "Your quotients are upside down: a value above 1 should mean that prediction "
                "does harm.",
            ),
            Mistake(
                pcfr_ratios,
                "You compared with pcfr+, whose exponents are different as well. Keep the "
                "three exponents and change only the prediction.",
            ),
            Mistake(
                lambda: prediction_ratios("simultaneous"),
                "These are simultaneous updates, which give a different picture; this chapter "
                "alternates.",
            ),
            Mistake(
                lambda: {
                    name: {n: 100 * x for n, x in row.items()}
                    for name, row in prediction_ratios().items()
                },
                "Are these percentages? A quotient of 1 means that prediction changes nothing.",
            ),
            Mistake(
                lambda: {name: dict.fromkeys(LONG, 1) for name in UNPREDICTED},
                "You say that prediction changes nothing. Did your second variant predict? λ "
                "is the fourth number of `cfr.Variant`.",
            ),
            Mistake(
                lambda: dict(
                    zip(UNPREDICTED, list(prediction_ratios().values())[::-1], strict=True)
                ),
                "You have dcfr and cfr the wrong way round.",
            ),
            Mistake(
                lambda: {
                    name: dict(zip(LONG, list(row.values())[::-1], strict=True))
                    for name, row in prediction_ratios().items()
                },
                "You have 50 and 100 iterations the wrong way round.",
            ),
            Mistake(
                lambda: prediction_ratios() | {"dcfr": reciprocal_ratios()["dcfr"]},
                "The quotients of cfr are right, those of dcfr are upside down.",
            ),
            Mistake(
                lambda: {
                    name: {n: abs(x - 1) for n, x in row.items()}
                    for name, row in prediction_ratios().items()
                },
                "These are relative differences. The exercise asks for the quotients "
                "themselves.",
            ),
        ),
        see=log_ratios,
        tolerance=0.07,
        points=2,
        takeaway="Whether a prediction helps depends on the rest of the algorithm.",
        advice="`cfr.Variant(name, alpha, beta, gamma, 1)` predicts. Divide, then round.",
    ),
    Exercise(
        "6.5",
        "Open: beat dcfr",
        "three exponents, α, β and γ, whose exploitability after 300 iterations of Leduc poker "
        "is below that of dcfr by a factor of 1.1 or more",
        best_exponents,
        (
            Mistake(
                lambda: VARIANTS["dcfr"],
                "This is dcfr itself.",
            ),
            Mistake(
                lambda: VARIANTS["cfr+"],
                "This is cfr+. With few iterations of Leduc poker it is behind.",
            ),
            Mistake(
                lambda: VARIANTS["linear"],
                "This is linear CFR, whose negative regrets linger too long here.",
            ),
            Mistake(
                lambda: VARIANTS["cfr"],
                "This is vanilla CFR, which discounts nothing. That is worse than dcfr on "
                "Leduc poker.",
            ),
            Mistake(
                lambda: (inf, -inf, 2),
                "This is CFR+ with quadratic weights. Without a prediction it does not beat "
                "dcfr by enough.",
            ),
            Mistake(
                lambda: (1.5, 0, 1),
                "You lowered γ. Then early strategies count more in the average. Try the other "
                "direction.",
            ),
            Mistake(
                lambda: (1.5, 0, 0),
                "With γ = 0 all strategies count the same in the average, the poor first ones "
                "included.",
            ),
            Mistake(
                lambda: (1.5, 0.5, 2),
                "You raised β. Then negative regrets last longer. Try the other direction.",
            ),
            Mistake(
                lambda: (3, 0, 2),
                "You raised α alone, so old positive regrets fade more slowly. Which of the "
                "other two has more to give?",
            ),
            Mistake(
                lambda: (0, 0, 0),
                "With α = β = 0 each iteration halves all regrets: only the last few count.",
            ),
        ),
        see=exploitability_ratio,
        accepts=lambda seen: seen >= BAR,
        takeaway="That is one game and one length, where rounding alone can move such a lead. "
        "Whether any exponents lead everywhere is open.",
        advice="It is not far enough below dcfr. Look at the leaders of the page's grid.",
    ),
    Exercise(
        "6.6",
        "How long does it pay?",
        "a dictionary with the rounds 'plain' and 'linear', each to 5 percent, and the factors "
        "'plain, 4 times' and 'linear, 4 times'",
        lambda: dict(repaid()),
        (
            Mistake(
                lambda: repaid(lead=1),
                "In each round the difference of the two regrets grows by what the second "
                "action pays more than the first. Here that is not 1.",
            ),
            Mistake(
                lambda: repaid() | {"plain": LOSS / 3 / LEAD},
                "You divided the first regret by the lead. But the second action is not played "
                "all the time: the pair of regrets moves along a circle, and the difference "
                "has to grow to its radius.",
            ),
            Mistake(
                lambda: repaid() | {"linear": repaid()["plain"], "linear, 4 times": 4.0},
                "The plain rounds are right. If round t counts t times, each round adds more "
                "than the one before, and T rounds add about half of the square of T.",
            ),
            Mistake(
                lambda: repaid() | {"linear, 4 times": 4.0},
                "The rest is right. With linear weights, the difference grows like the "
                "*square* of the rounds.",
            ),
            Mistake(
                lambda: repaid() | {"plain": 2 * repaid()["plain"]},
                "You stopped at the radius. The difference of the two regrets has to grow to "
                "the radius, and it grows by more than 1 in each round.",
            ),
            Mistake(
                lambda: repaid() | {"plain": LOSS / LEAD},
                "You divided the whole loss by the lead. Round 1 is uniform: how much of the "
                "loss is in the regrets after it?",
            ),
            Mistake(
                lambda: repaid() | {"plain": LOSS / LEAD, "linear": (2 * LOSS / LEAD) ** 0.5},
                "The factors are right. You began with the whole loss. Round 1 is uniform: how "
                "much of the loss is in the regrets after it?",
            ),
            Mistake(
                lambda: repaid() | {"plain": float(LOSS)},
                "You waited until the lead of one point a round has made up for the loss. The "
                "regrets after round 1 are smaller than that, and the lead is two.",
            ),
            Mistake(
                lambda: repaid() | {"plain": LOSS / 3, "linear": (LOSS / 3) ** 0.5},
                "The factors are right. You took one regret for the radius. The radius is the "
                "length of the pair of regrets.",
            ),
            Mistake(
                lambda: repaid() | {"plain": LOSS / 6, "linear": (LOSS / 3) ** 0.5},
                "The factors are right. You took one regret for the radius. The radius is the "
                "length of the pair of regrets.",
            ),
            Mistake(
                lambda: repaid() | {"linear": repaid()["plain"] ** 0.5},
                "The plain rounds are right. T rounds with weights 1, 2, …, T add up to about "
                "half of the square of T: the half is missing.",
            ),
            Mistake(
                lambda: repaid() | {"plain, 4 times": 2.0},
                "The rest is right. The radius grows in proportion to the loss, and so do the "
                "plain rounds.",
            ),
            Mistake(
                lambda: repaid() | {"linear, 4 times": 16.0},
                "The rest is right. You squared. With linear weights the *square* of the "
                "rounds is in proportion to the loss.",
            ),
            Mistake(
                lambda: repaid() | {"plain, 4 times": 16.0, "linear, 4 times": 4.0},
                "The rounds are right. You squared the factors. The radius is in proportion to "
                "the loss, not to its square.",
            ),
            Mistake(
                lambda: repaid() | {"linear, 4 times": 8.0},
                "The rest is right. With linear weights the rounds grow more slowly than the "
                "loss, not faster.",
            ),
        ),
        tolerance=0.05,
        points=2,
        takeaway="The time to recover from a mistake is in proportion to its size, or with "
        "linear weights to the square root of its size.",
        advice="The two regrets after the first round, the radius of their circle, and by how "
        "much their difference grows in a round.",
    ),
)
