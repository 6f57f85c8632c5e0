"""Checks that a solver is right; each finds some of the bugs, and none finds all of them.

A check takes the function that makes a solver for a game, `make(game)`, and the right solver,
made likewise. It returns whether the solver passes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from cfrbook.museum.catalog import Bug
from cfrbook.museum.ladder import LADDER, DealtBackward, LateCoin
from cfrlib import games
from cfrlib.core.tree import compile
from cfrlib.evaluate import expected_utility, exploitability, nash_conv
from cfrlib.game import Action, Game
from cfrlib.montecarlo import every_path
from cfrlib.plain import ExternalSamplingSolver, Family, Plain, Row
from cfrlib.strategy import Strategy

Make = Callable[[Game], Plain]
Table = Mapping[tuple[str, Action], float]

# ---- of solvers that visit the whole tree ----------------------------------------------------


def known_value(make: Make, right: Make) -> bool:
    """Return whether 300 iterations give the value of Kuhn poker within a thousandth."""
    game = games.KuhnPoker()
    value = float(expected_utility(game, make(game).run(300))[0])
    return abs(value + 1 / 18) < 1e-3


def halved(make: Make, right: Make) -> bool:
    """Return whether Kuhn poker is exploitable for at most 0.02 after 300 iterations."""
    game = games.KuhnPoker()
    return exploitability(game, make(game).run(300)) < 0.02


def same_backward(make: Make, right: Make) -> bool:
    """Return whether Kuhn poker dealt in reverse order gives the same average strategy."""
    return agree(make(games.KuhnPoker()), make(DealtBackward()), 10)


def digits_on_kuhn(make: Make, right: Make) -> bool:
    """Return whether the first five averages on Kuhn poker are those of the right solver."""
    game = games.KuhnPoker()
    return agree(make(game), right(game), 5)


def digits_after_a_coin(make: Make, right: Make) -> bool:
    """Return whether the first five averages on `LateCoin` are those of the right solver."""
    return agree(make(LateCoin()), right(LateCoin()), 5)


def digits_on_leduc(make: Make, right: Make) -> bool:
    """Return whether the first five averages on Leduc poker are those of the right solver."""
    game = LADDER["Leduc poker"]
    return agree(make(game), right(game), 5)


def agree(one: Plain, other: Plain, iterations: int) -> bool:
    """Return whether two solvers return the same averages, iteration by iteration."""
    for _ in range(iterations):
        a, b = one.run(1), other.run(1)
        if max(abs(a[I][x] - b[I][x]) for I, row in a.items() for x in row) > 1e-9:
            return False
    return True


# ---- of samplers -----------------------------------------------------------------------------


def published_threshold(make: Make, right: Make) -> bool:
    """Return whether NashConv on Kuhn poker is below the thresholds of OpenSpiel's tests.

    They are 1 after 10 iterations of external sampling, and 0.17 after 10,000 of outcome
    sampling, which is used for robust sampling as well (OpenSpiel 2.0.2).
    """
    game = games.KuhnPoker()
    solver = make(game)
    external = type(solver).__name__ == ExternalSamplingSolver.__name__  # or a copy of it
    return nash_conv(game, solver.run(10 if external else 10_000)) < (1 if external else 0.17)


def learns(make: Make, right: Make) -> bool:
    """Return whether 10,000 iterations make Kuhn poker exploitable for less than 0.085."""
    game = games.KuhnPoker()
    return exploitability(game, make(game).run(10_000)) < 0.085


def expected_regrets_on_kuhn(make: Make, right: Make) -> bool:
    """Return whether the expected sampled regrets on Kuhn poker are the exact ones."""
    return regret_bias(make, games.KuhnPoker()) < 1e-9


def expected_average_on_kuhn(make: Make, right: Make) -> bool:
    """Return whether the expected strategy sums on Kuhn poker are weighted by own reach."""
    return average_bias(make, games.KuhnPoker()) < 1e-9


def expected_regrets_after_a_coin(make: Make, right: Make) -> bool:
    """Return whether the expected sampled regrets on `LateCoin` are the exact ones."""
    return regret_bias(make, LateCoin()) < 1e-9


def expected_regrets_on_dice(make: Make, right: Make) -> bool:
    """Return whether the expected sampled regrets on dice with 2 faces are the exact ones."""
    return regret_bias(make, LADDER["dice, 2 faces"]) < 1e-9


def regret_bias(make: Make, game: Game) -> float:
    """Return the largest error of the expected sampled regrets at an uneven strategy."""
    exact, worst = _at(game), 0.0
    for i in (0, 1):
        mean = _expected(make, game, i)[0]
        exact.r.clear()
        exact.walk((), i, 1, 1)
        worst = max(worst, *(abs(mean.get(key, 0.0) - r) for key, r in exact.r.items()))
    return worst


def average_bias(make: Make, game: Game) -> float:
    """Return the largest error of the expected strategy sums at an uneven strategy.

    They are compared with the player's own reach of the infoset, times its probability if only
    chance played, times the strategy.
    """
    exact, worst = _at(game), 0.0
    chance = _chance_reach(game)
    for i in (0, 1):
        exact.walk((), i, 1, 1)
    for i in (0, 1):
        mean = _expected(make, game, i)[1]
        for I in (I for I, player in exact.owner.items() if player != i):
            for a, p in exact.sigma[I].items():
                wanted = chance[I] * exact.own[I] * p
                worst = max(worst, abs(mean.get((I, a), 0.0) - wanted))
    return worst


def _uneven(game: Game) -> dict[tuple[str, Action], float]:
    """Return regrets whose strategy is uneven and has zeros."""
    regrets = {}
    for n, (I, row) in enumerate(Strategy.uniform(game).items()):
        for k, a in enumerate(row):
            regrets[I, a] = float((n + 2 * k) % 4 if n % 5 else k % 2)
    return regrets


def _at(game: Game) -> Family:
    """Return an exact solver with the uneven strategy as its current one."""
    exact = Family(game)
    exact.R.update(_uneven(game))
    exact.seen = exact.sigma = {I: exact.match(I) for I in exact.actions}
    return exact


def _chance_reach(game: Game) -> dict[str, float]:
    """Return the probability of each infoset if only chance played."""
    tree = compile(game)
    reach = dict.fromkeys(tree.infoset_label, 0.0)
    for I, p in zip(tree.infoset.tolist(), tree.chance_reach.tolist(), strict=True):
        if I >= 0:
            reach[tree.infoset_label[I]] += p
    return reach


def _expected(make: Make, game: Game, i: int) -> tuple[Table, Table]:
    """Return expected regrets and strategy sums of one traversal, by listing all its paths."""
    start = _uneven(game)
    solver: Any = make(game)  # SamplingSolver, or a copy of one with a bug
    R, S = dict.fromkeys(start, 0.0), dict.fromkeys(start, 0.0)

    def walk(choose: Callable[[Row], Action]) -> None:
        solver.draw = choose
        solver.S.clear()
        solver.R.clear()
        solver.R.update(start)
        solver.walk((), i)

    for p, _ in every_path(walk):
        for key in start:
            R[key] += p * (solver.R[key] - start[key])
            S[key] += p * solver.S[key]
    return R, S


# ---- all of them -----------------------------------------------------------------------------

Check = Callable[[Make, Make], bool]
# In the order in which one would try them: (for solvers of the whole tree, for samplers)
TREE_CHECKS: Mapping[str, Check] = {
    "value of Kuhn poker": known_value,
    "threshold on Kuhn poker": halved,
    "deals in reverse": same_backward,
    "digits on Kuhn poker": digits_on_kuhn,
    "digits after a late coin": digits_after_a_coin,
    "digits on Leduc poker": digits_on_leduc,
}
SAMPLER_CHECKS: Mapping[str, Check] = {
    "published threshold": published_threshold,
    "threshold on Kuhn poker": learns,
    "expected regrets on Kuhn poker": expected_regrets_on_kuhn,
    "expected average on Kuhn poker": expected_average_on_kuhn,
    "expected regrets after a late coin": expected_regrets_after_a_coin,
    "expected regrets on dice": expected_regrets_on_dice,
}
CHECKS: Mapping[str, Mapping[str, Check]] = MappingProxyType(
    {"tree": MappingProxyType(TREE_CHECKS), "sampler": MappingProxyType(SAMPLER_CHECKS)}
)


def caught(bug: Bug, make: Make | None = None) -> dict[str, bool]:
    """Return, for each check of a bug's kind of solver, whether it finds the bug.

    Parameters
    ----------
    bug : Bug
        The bug; it names the right solver and the checks.
    make : callable, optional
        Makes the solver to check; by default the one with the bug.

    Examples
    --------
    >>> from cfrbook.museum import find
    >>> caught(find("clip per history"))["deals in reverse"]
    True
    """
    found = {}
    for name, check in CHECKS["sampler" if bug.sampled else "tree"].items():
        try:
            found[name] = not check(make or bug.wrong, bug.right)
        except (ValueError, ZeroDivisionError):  # not a strategy
            found[name] = True
    return found
