"""Exercises of chapter 6: an update by hand, a large exponent, a misplaced discount."""

from __future__ import annotations

from functools import cache, partial
from math import inf
from typing import Any

import numpy as np

from cfrbook.exercises.grading import Unreadable, as_list, as_number, pair_values
from cfrbook.exercises.shared import KUHN_INFOSETS, average, in_both_orders, solver
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib import games
from cfrlib.plain import Family
from cfrlib.regret import VARIANTS, Variant, regret_matching
from cfrlib.solve import solve

STORED, NEW, T = (5, 1, -3), (-1, 2, -1), 3  # of exercise 6.3
ROUNDS = 50  # for solvers in plain Python: well below a second
LONG = (50, 100)  # of exercise 6.4; the digits of longer runs depend on rounding
UNPREDICTED = {
    v: (VARIANTS[v].alpha, VARIANTS[v].beta, VARIANTS[v].gamma) for v in ("dcfr", "cfr")
}
# of exercise 6.1: iterations to a tenth, exponents of T, and how far the exploitability falls
FIRST, SPEED, TENTH, FAR = {"A": 30, "B": 50}, {"A": 1.0, "B": 1.5}, 0.1, 100


def factor(t: int, exponent: float) -> float:
    """Return the discount factor of regrets after iteration t."""
    if abs(exponent) == inf:
        return float(exponent > 0)
    return float(t**exponent / (t**exponent + 1))


def discounted(R: Any, sign: Any, t: int, v: Variant) -> Any:
    """Return regrets discounted after iteration t; the signs of `sign` select the exponent."""
    return R * np.where(np.asarray(sign) > 0, factor(t, v.alpha), factor(t, v.beta))


# ---- 6.3 -------------------------------------------------------------------------------------


def by_hand() -> dict[str, dict[str, list[float]]]:
    """Return stored regrets and next strategies of three variants."""
    before, r = np.array(STORED, float), np.array(NEW, float)
    found = {}
    for name in ("linear", "dcfr", "pcfr+"):
        v, total = VARIANTS[name], before + r
        R = discounted(total, total, T, v)
        played = regret_matching(R + v.prediction * r)
        found[name] = {"stored": R.tolist(), "played": played.tolist()}
    return found


def by_hand_but(*lines: str) -> dict[str, dict[str, list[float]]]:
    """Return the answer with other lines: for the stored regrets, then for the strategy."""
    right = (
        "R = discounted(total, total, T, v)",
        "played = regret_matching(R + v.prediction * r)",
    )
    return mutant(by_hand, dict(zip(right, lines, strict=False)))()


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


# ---- 6.6 -------------------------------------------------------------------------------------


STORED_REGRET = "self.R[I, a] = total * self.factor(self.alpha if total > 0 else self.beta)"
friend = partial(solver, Family, alpha=1.5, beta=0, gamma=2)


def average_strategies(solve: Any) -> dict[str, dict[str, list[float]]]:
    """Return a solver's average strategies for both orders of the deals."""
    found = in_both_orders(solve, ROUNDS)
    return {name: {I: average(sums, I) for I in KUHN_INFOSETS} for name, sums in found.items()}


# ---- 6.1 -------------------------------------------------------------------------------------


def fall_until_they_meet() -> float:
    """Return the factor by which exploitability has fallen when both rules are level."""
    quotient, difference = FIRST["B"] / FIRST["A"], 1 / SPEED["A"] - 1 / SPEED["B"]
    return float(quotient ** (1 / difference))


def arrivals(A: float | None = None, **changes: float) -> dict[str, float]:
    """Return the answer to exercise 6.1, optionally with changes."""
    right = {name: FIRST[name] * FAR ** (1 / SPEED[name]) for name in FIRST}
    right["meet"] = TENTH / fall_until_they_meet()
    return right | ({} if A is None else {"A": A}) | changes


# ---- 6.5 -------------------------------------------------------------------------------------

LOSS, LEAD = 30_000, 2  # of exercise 6.5: what the third action costs, the second brings


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


EXERCISES = read(__file__, globals())
