"""What the solvers in plain Python share that chapters 4 to 6 ask for: a walk, and its sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from cfrlib import games
from cfrlib.exercises.grading import Unreadable, listed, need_function, number
from cfrlib.game import Chance, Game, History, Node, Terminal

Sums = dict[str, list[float]]  # for each infoset: the weighted sum of what was played there
Solver = Callable[[Game, int], Sums]
Walk = Callable[[History, int, float, float, float], float]


class DealtBackward(games.KuhnPoker):
    """Kuhn poker, its six deals in another order: the same game."""

    def node(self, h: History) -> Node:
        """Return what happens after `h`."""
        node = super().node(h)
        if isinstance(node, Chance):
            return Chance(dict(reversed(list(node.probabilities.items()))))
        return node


def walker(
    game: Game, sigma: Sums, r: Sums, S: Sums, then: Callable[[], None] = lambda: None
) -> Walk:
    """Return a traversal for one player, as alternating updates need it.

    ``walk(h, i, w, own, others)`` returns what player `i` expects from `h` on, adds the regrets
    of `i` to `r` and what `i` plays, times the weight `w`, to `S`. `then` is called after each
    history at which `i` moves.
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


def run(solve: Any, game: Game, iterations: int) -> Mapping[str, Any]:
    """Return the sums S of a reader's solver."""
    need_function(solve)
    sums = solve(game, iterations)
    if not isinstance(sums, Mapping):
        raise Unreadable("yours does not return S")
    return sums


def shares(sums: Mapping[str, Any], I: str) -> list[float]:
    """Return what is played on average at an infoset with two actions."""
    if I not in sums:
        raise Unreadable(f"your S has no row for the infoset {I!r}")
    row = [number(x) for x in listed(sums[I], 2)]
    return [x / (sum(row) or 1) for x in row]


def in_both_orders(solve: Any, iterations: int) -> dict[str, Mapping[str, Any]]:
    """Return the sums that a reader's solver finds in both orders of Kuhn poker's deals."""
    orders = {"as dealt": games.KuhnPoker(), "backward": DealtBackward()}
    return {name: run(solve, game, iterations) for name, game in orders.items()}
