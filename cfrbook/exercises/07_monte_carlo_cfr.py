"""Exercises of chapter 7: a traversal by hand, enumerated samples, a bug, variance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from cfrbook.exercises.grading import require_function
from cfrbook.exercises.shared import Draw, Table
from cfrbook.exercises.sheet import read
from cfrbook.exercises.written import increments, planted, walker
from cfrbook.museum import mutant
from cfrlib import games
from cfrlib.cfr import CFR
from cfrlib.game import Chance, Game, History, Terminal
from cfrlib.montecarlo import every_path
from cfrlib.plain import ExternalSamplingSolver, RobustSamplingSolver
from cfrlib.strategy import Strategy

Profile = Mapping[str, Mapping[Any, float]]
Walk = Callable[..., Any]  # of game, h, i, draw, sigma, r and S

MIX = 0.6  # ε, the weight of uniform sampling, on the whole page
AFTER = (1, 3, 100, 1_000)  # iterations of CFR, exercise 7.7


def new_table() -> Table:
    """Return a table of zeros."""
    return defaultdict(float)


def external(
    game: Game, h: History, i: int, draw: Draw, sigma: Profile, r: Table, S: Table
) -> Any:
    """Return an estimate of player i's utility at h by external sampling; add to r and S."""
    node = game.node(h)
    if isinstance(node, Terminal):
        return node.utilities[i]
    if isinstance(node, Chance):
        return external(game, (*h, draw(node.probabilities)), i, draw, sigma, r, S)
    I, row = node.infoset, sigma[node.infoset]
    if node.player != i:
        for a in row:
            S[I, a] += row[a]
        a = draw(row)
        return external(game, (*h, a), i, draw, sigma, r, S)
    u = {a: external(game, (*h, a), i, draw, sigma, r, S) for a in row}
    mean = sum(row[a] * u[a] for a in row)
    for a in row:
        r[I, a] += u[a] - mean
    return mean


def outcome(
    game: Game,
    h: History,
    i: int,
    draw: Draw,
    sigma: Profile,
    r: Table,
    S: Table,
    q: float = 1.0,
    epsilon: float = MIX,
) -> Any:
    """Return an estimate of player i's utility at h by outcome sampling; add to r and S."""
    node = game.node(h)
    if isinstance(node, Terminal):
        return node.utilities[i]
    if isinstance(node, Chance):
        h = (*h, draw(node.probabilities))
        return outcome(game, h, i, draw, sigma, r, S, q, epsilon)
    I, row = node.infoset, sigma[node.infoset]
    if node.player != i:
        for a, x in row.items():
            S[I, a] += x / q
        return outcome(game, (*h, draw(row)), i, draw, sigma, r, S, q, epsilon)
    p = {a: epsilon / len(row) + (1 - epsilon) * x for a, x in row.items()}
    b = draw(p)
    u = outcome(game, (*h, b), i, draw, sigma, r, S, q * p[b], epsilon) / p[b]
    mean = row[b] * u
    for a in row:
        r[I, a] += (u * (a == b) - mean) / q
    return mean


# ---- one traversal ---------------------------------------------------------------------------


def by_hand(walk: Any = outcome, head: bool = True) -> dict[str, dict[str, float]]:
    """Return the sampled regrets of the trajectory K against Q, check, bet, call."""
    game, script = games.KuhnPoker(), iter([("K", "Q"), "check", "bet", "call"])
    r, S = new_table(), new_table()
    walk(game, (), 0, lambda _: next(script), Strategy.uniform(game), r, S)
    first, second = "K", "K check-bet"
    sampled = 1.0 if head else 1 / 2  # the check is sampled with probability 1/2
    return {
        first: {a: r[first, a] for a in ("check", "bet")},
        second: {a: sampled * r[second, a] for a in ("fold", "call")},
    }


def scaled(first: float, second: float = 1.0) -> dict[str, dict[str, float]]:
    """Return the right regrets times a factor, one for each decision: a mistake."""
    right = by_hand()
    factors = dict(zip(right, (first, second), strict=True))
    return {I: {a: factors[I] * x for a, x in row.items()} for I, row in right.items()}


# ---- all traversals --------------------------------------------------------------------------


def count_paths(cards: int = 4, **changes: int) -> dict[str, int]:
    """Return the numbers of paths of external sampling, for one deal and for the game."""
    game = games.KuhnPoker(cards=cards)
    sigma, found = Strategy.uniform(game), []
    for i in (0, 1):

        def walk(draw: Draw, i: int = i) -> None:
            external(game, (), i, draw, sigma, new_table(), new_table())

        found.append(sum(1 for _ in every_path(walk)))
    deals = cards * (cards - 1)
    one = {f"traverser {i}": n // deals for i, n in enumerate(found)}
    return one | {"four cards": sum(found)} | changes


def four(paths: int) -> dict[str, int]:
    """Return the right numbers for one deal, and another one for all."""
    return count_paths() | {"four cards": paths}


# ---- a traversal with a bug ------------------------------------------------------------------


def late_state() -> tuple[Game, dict[str, dict[Any, float]], Table]:
    """Return Kuhn poker, a current strategy, and strategy sums that differ from it."""
    game = games.KuhnPoker()
    rows = Strategy.uniform(game).items()
    share = {I: 0.2 + 0.1 * n % 0.6 for n, (I, _) in enumerate(rows)}
    sigma = {I: dict(zip(row, (share[I], 1 - share[I]), strict=True)) for I, row in rows}
    S = {(I, a): 5 * (1 - x) for I, row in sigma.items() for a, x in row.items()}
    return game, sigma, S


def expected_increments(walk: Any) -> dict[str, Table]:
    """Return the expected increments of r and S by a traversal, for nonzero S."""
    require_function(walk)
    game, sigma, before = late_state()
    added = {"r": new_table(), "S": new_table()}
    for i in (0, 1):
        now: list[Table] = []

        def one(draw: Draw, i: int = i, now: list[Table] = now) -> None:
            now[:] = [new_table(), defaultdict(float, before)]
            walk(game, (), i, draw, {I: dict(row) for I, row in sigma.items()}, *now)

        for p, _ in every_path(one):
            for key, x in now[0].items():
                added["r"][key] += p * x
            for key, x in now[1].items():
                added["S"][key] += p * (x - before.get(key, 0))
    return added


@cache
def correct_increments() -> dict[str, Table]:
    """Return the expected increments by the correct traversal."""
    return expected_increments(external)


def biases(walk: Any) -> dict[str, float]:
    """Return the largest bias of a reader's traversal in r and in S."""
    found, wanted = expected_increments(walk), correct_increments()
    names = {"r": "regrets", "S": "sums for the average"}
    return {
        f"the {names[table]}": max(
            abs(found[table][key] - x) for key, x in wanted[table].items()
        )
        for table in wanted
    }


# ---- variance --------------------------------------------------------------------------------


def total_variance(
    sigma: Profile, walk: Walk, squared: bool = True, traversers: tuple[int, ...] = (0, 1)
) -> float:
    """Return the sum of the variances of all sampled regrets on Kuhn poker."""
    game = games.KuhnPoker()
    first, second = new_table(), new_table()
    for i in traversers:
        r = new_table()

        def one(draw: Draw, i: int = i, r: Table = r) -> None:
            r.clear()
            walk(game, (), i, draw, sigma, r, new_table())

        for p, _ in every_path(one):
            for key, x in r.items():
                first[key] += p * x
                second[key] += p * x**2
    return sum(x - squared * first[key] ** 2 for key, x in second.items())


@cache
def variances(alpha: float | None = 0.2, epsilon: float = MIX) -> tuple[float, float]:
    """Return the variances of both schemes at an equilibrium, or at uniform play."""
    game = games.KuhnPoker()
    sigma = Strategy.uniform(game) if alpha is None else games.kuhn_equilibrium(game, alpha)
    walks = external, partial(outcome, epsilon=epsilon)
    first, second = (total_variance(sigma, walk) for walk in walks)
    return first, second


def variances_at_equilibrium(vanishes: bool = False, **how: Any) -> dict[str, object]:
    """Return the variances of both schemes at an equilibrium."""
    sigma = games.kuhn_equilibrium(games.KuhnPoker(), 0.2)
    return {
        "external": total_variance(sigma, external, **how),
        "outcome": total_variance(sigma, outcome, **how),
        "vanishes": vanishes,
    }


def other_variances(external: float, outcome: float) -> dict[str, object]:
    """Return an answer with these variances."""
    return {"external": external, "outcome": outcome, "vanishes": False}


@cache
def best_epsilons(
    average: bool = False, loudest: bool = False, update: str = "simultaneous"
) -> dict[int, float]:
    """Return the ε with the least variance after some numbers of iterations of CFR."""
    grid = [n / 20 for n in range(1, 21)]
    run, found = CFR(games.KuhnPoker(), update=update), {}
    for T in AFTER:
        run.run(T - run.iterations)
        sigma = run.average if average else run.current
        total = [total_variance(sigma, partial(outcome, epsilon=epsilon)) for epsilon in grid]
        found[T] = grid[int(np.argmax(total) if loudest else np.argmin(total))]
    return found


# ---- 7.4 -------------------------------------------------------------------------------------

CHECKS, BETS, CALLS = (1 / 2, 1), (1, 1 / 3), (1 / 4, 3 / 4)  # in both iterations


def weighted(*weights: Any) -> float:
    """Return the mean probability of a call, each iteration weighted by a product."""
    shares = [math.prod(each) for each in zip(*weights, strict=True)]
    return math.fsum(w * p for w, p in zip(shares, CALLS, strict=True)) / math.fsum(shares)


def averages(**changes: float) -> dict[str, float]:
    """Return the answer to exercise 7.4, optionally with changes.

    At the opponent's nodes, a walk comes by as often as the queen's owner plays there. At the
    traverser's own, it comes by as often as the opponent bets.
    """
    right = {"average": weighted(CHECKS), "opponent": weighted(CHECKS), "own": weighted(BETS)}
    return right | changes


EXERCISES = read(__file__, globals())
