"""Traversal and strategy sums of the solvers in plain Python in chapters 4 to 6."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from cfrlib import games
from cfrlib.bugs import DealtBackward
from cfrlib.exercises.grading import Unreadable, as_list, as_number, require_function
from cfrlib.game import Chance, Game, History, Terminal

Sums = dict[str, list[float]]  # by infoset: regret sums or strategy sums of its actions
Solver = Callable[[Game, int], Sums]
Traversal = Callable[[History, int, float, float, float], float]


def traversal(
    game: Game, sigma: Sums, r: Sums, S: Sums, then: Callable[[], None] = lambda: None
) -> Traversal:
    """Return a tree traversal for one player, as alternating updates need it.

    ``walk(h, i, w, own, others)`` returns player `i`'s expected utility at `h`. It adds `i`'s
    counterfactual regrets to `r`, and `i`'s strategy, weighted by `w` and `i`'s own reach
    probability, to the strategy sums `S`. After each history of `i`, it calls `then`.
    """
    at = cache(game.node)

    def walk(h: History, i: int, w: float, own: float, others: float) -> float:
        node = at(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        if isinstance(node, Chance):
            f = node.probabilities
            return sum(f[a] * walk((*h, a), i, w, own, f[a] * others) for a in f)
        I, A = node.infoset, node.actions
        row = sigma.setdefault(I, [1 / len(A)] * len(A))
        if node.player != i:
            moves = zip(A, row, strict=True)
            return sum(p * walk((*h, a), i, w, own, p * others) for a, p in moves)
        u = [walk((*h, a), i, w, p * own, others) for a, p in zip(A, row, strict=True)]
        mean = sum(p * x for p, x in zip(row, u, strict=True))
        for n, p in enumerate(row):
            r.setdefault(I, [0.0] * len(A))[n] += others * (u[n] - mean)
            S.setdefault(I, [0.0] * len(A))[n] += w * own * p
        then()
        return mean

    return walk


def strategy_sums(solve: Any, game: Game, iterations: int) -> Mapping[str, Any]:
    """Run a reader's solver and return its strategy sums S."""
    require_function(solve)
    sums = solve(game, iterations)
    if not isinstance(sums, Mapping):
        raise Unreadable("your function does not return S")
    return sums


def average(sums: Mapping[str, Any], I: str) -> list[float]:
    """Return the average strategy at an infoset with two actions."""
    if I not in sums:
        raise Unreadable(f"your S has no row for the infoset {I!r}")
    row = [as_number(x) for x in as_list(sums[I], 2)]
    return [x / (sum(row) or 1) for x in row]


def in_both_orders(solve: Any, iterations: int) -> dict[str, Mapping[str, Any]]:
    """Return a reader's strategy sums for both orders of Kuhn poker's deals."""
    orders = {"as dealt": games.KuhnPoker(), "backward": DealtBackward()}
    return {name: strategy_sums(solve, game, iterations) for name, game in orders.items()}
