"""Exercises of the errata: a reach counted twice, a hidden bias, a test of a formula."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from cfrbook.exercises.grading import (
    as_list,
    as_number,
    pair_values,
    require_complete,
    require_function,
)
from cfrbook.exercises.sheet import read
from cfrlib.evaluate import reach
from cfrlib.game import Chance, Decision, History, Terminal
from cfrlib.games import KuhnPoker, kuhn_equilibrium
from cfrlib.strategy import Strategy

Formula = Callable[[History, Strategy, int], float]
Test = Callable[[Formula], object]

VALUES = (1.0, -1.0, 0.0)


@cache
def kuhn() -> KuhnPoker:
    """Return Kuhn poker."""
    return KuhnPoker()


@cache
def equilibrium() -> Strategy:
    """Return the equilibrium with α = 0.2."""
    return kuhn_equilibrium(kuhn(), 0.2)


# ---- reach ----------------------------------------------------------------------------------


def reach_of_the_king(chance: bool = True, own: bool = True) -> dict[str, float]:
    """Return the reach of the infoset "K check-bet", and the erroneous product of sums.

    Parameters
    ----------
    chance, own : bool
        Whether the factors of chance and of the player's own check are included.
    """
    found = [reach(kuhn(), equilibrium(), (("K", c), "check", "bet")) for c in "JQ"]
    deal = [1.0 if chance else 1 / r.chance for r in found]
    others = sum(r.others(0) * d for r, d in zip(found, deal, strict=True))
    once = found[0].players[0] if own else 1.0
    summed = sum(r.players[0] if own else 1.0 for r in found)
    return {"reach": once * others, "product": summed * others}


# ---- a hidden bias --------------------------------------------------------------------------


def bias(u: Any, k: int, shared: bool = True) -> float:
    """Return the largest bias of the printed update, with uniform strategy and sampling.

    Parameters
    ----------
    u : sequence of float
        Values of three actions.
    k : int
        Number of sampled actions.
    shared : bool
        Whether each sampled action is credited with the total of all of them, as printed.
    """
    u = np.asarray(u, dtype=float)
    mean, sets = np.zeros(3), [list(A) for A in combinations(range(3), k)]
    for A in sets:
        each = u[A] / 3 / (k / 3)
        credit = np.full(3, -each.sum())
        credit[A] = 2 * each.sum() if shared else 3 * each - each.sum()
        mean += credit / len(sets)
    return float(abs(mean - (u - u.mean())).max())


def bias_answer(
    hides: tuple[float, ...] = (0.0, 0.0, 0.0), shared: bool = True
) -> dict[str, Any]:
    """Return the answer to exercise errata.2."""
    found = {f"k = {k}": bias(VALUES, k, shared) for k in (2, 3)}
    return found | {"hides": list(hides)}


def check_biases(answer: Any) -> dict[str, float]:
    """Return the answered biases, and the largest bias of the answered values."""
    keys = dict.fromkeys(("k = 2", "k = 3", "hides"))
    given = {str(key): x for key, x, _ in pair_values(answer, keys)}
    u = [as_number(x) for x in as_list(given.pop("hides"), 3)]
    found = {key: as_number(x) for key, x in given.items()}
    return found | {"hides": max(bias(u, k) for k in (2, 3))}


# ---- a test of a formula --------------------------------------------------------------------


@cache
def histories() -> tuple[History, ...]:
    """Return all nonempty histories of Kuhn poker."""
    found: list[History] = []
    stack: list[Any] = [()]
    while stack:
        h = stack.pop()
        node = kuhn().node(h)
        if isinstance(node, Decision | Chance):
            stack += [(*h, a) for a in node.actions]
        found.append(h)
    return tuple(h for h in found if h)


def right(h: History, s: Strategy, i: int) -> float:
    """Return the reach of all other players and chance."""
    return reach(kuhn(), s, h).others(i)


def printed(h: History, s: Strategy, i: int) -> float:
    """Return the player's own reach, as printed (B6a)."""
    return reach(kuhn(), s, h).players[i]


def quotient(h: History, s: Strategy, i: int) -> float:
    """Return total reach divided by own reach, or 0 where both are 0."""
    r = reach(kuhn(), s, h)
    return r.total / r.players[i] if r.players[i] else 0.0


def without_chance(h: History, s: Strategy, i: int) -> float:
    """Return the other player's reach without chance (C5)."""
    return reach(kuhn(), s, h).players[1 - i]


FORMULAS = {
    "right": right,
    "printed": printed,
    "quotient": quotient,
    "without chance": without_chance,
}


def passes(test: Any) -> dict[str, bool]:
    """Return which formulas pass a reader's test."""
    require_function(test)
    found = {name: test(formula) for name, formula in FORMULAS.items()}
    require_complete(found["right"])
    return {name: bool(passed) for name, passed in found.items()}


def identity_test(s: Strategy) -> Test:
    """Return a test: others' reach times own reach is total reach, for any own strategy."""

    def test(formula: Formula) -> bool:
        uniform = Strategy.uniform(kuhn())
        for i in (0, 1):
            own = {I: row for I, row in uniform.items() if uniform.player(I) == i}
            full_support = s.replace(own)
            for h in histories():
                r = reach(kuhn(), full_support, h)
                if abs(formula(h, s, i) * r.players[i] - r.total) > 1e-9:
                    return False
        return True

    return test


def by_product(h: History, s: Strategy, i: int) -> float:
    """Return the others' reach as a product along the history."""
    found = 1.0
    past: tuple[Any, ...] = ()
    actions: Any = h
    for a in actions:
        node = kuhn().node(past)
        assert not isinstance(node, Terminal)
        if isinstance(node, Chance):
            found *= node.probabilities[a]
        elif node.player != i:
            found *= s[node.infoset][a]
        past = (*past, a)
    return found


def product_test(s: Strategy) -> Test:
    """Return a test by the product, at all histories of a single strategy."""

    def test(formula: Formula) -> bool:
        return all(
            abs(formula(h, s, i) - by_product(h, s, i)) < 1e-9
            for h in histories()
            for i in (0, 1)
        )

    return test


def agrees_with(wanted: Formula) -> Test:
    """Return a test that compares with a formula at all histories of the equilibrium."""

    def test(formula: Formula) -> bool:
        s = equilibrium()
        return all(
            abs(formula(h, s, i) - wanted(h, s, i)) < 1e-9 for h in histories() for i in (0, 1)
        )

    return test


EXERCISES = read(__file__, globals())
