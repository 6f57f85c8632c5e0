"""Exercises of chapter 9: the price of a coin, targeted sampling, tables kept by a search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import numpy as np

from cfrbook.exercises.grading import as_number, require_function
from cfrbook.exercises.shared import Draw, Table, largest_gap
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib import games
from cfrlib.core.tree import compile
from cfrlib.evaluate import solve_lp
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.games import kuhn_equilibrium
from cfrlib.montecarlo import every_path
from cfrlib.strategy import Strategy

PRICES = (-0.8, -0.2, 0.0, 0.4, 0.6)
DELTA, EPSILON = 0.5, 0.4  # of the listings of the page

# ---- the coin --------------------------------------------------------------------------------


class CoinSale(Game):
    """A game in which player 0 sells a coin or lets player 1 guess it."""

    def __init__(self, price: float):
        self.price = {"heads": price, "tails": -price}

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        if not h:
            return Chance({"heads": 0.5, "tails": 0.5})
        if len(h) == 1:
            return Decision(0, h[0], ("sell", "play"))
        if h[1] == "sell":
            pay = self.price[h[0]]
            return Terminal((pay, -pay))
        if len(h) == 2:
            return Decision(1, "guess", ("heads", "tails"))
        pay = -1 if h[2] == h[0] else 1
        return Terminal((pay, -pay))


@cache
def heads_probability(price: float) -> float:
    """Return the maximin probability of guessing heads."""
    return float(solve_lp(CoinSale(price)).strategy["guess"]["heads"])


def at_prices(answer: Any) -> dict[str, float]:
    """Return the values of a function of the price at some prices."""
    require_function(answer)
    return {f"price {price}": as_number(answer(price)) for price in PRICES}


# ---- two probabilities -----------------------------------------------------------------------


def sampling_weights(
    s1: float = 1.0, s2: float = 1.0, delta: float = 0.9, **changes: float
) -> dict[str, float]:
    """Return the answer to exercise 9.3, optionally with other numbers.

    Parameters
    ----------
    s1, s2 : float
        Factors of the two probabilities, 1 for the right ones.
    delta : float
        Share of aimed walks.
    **changes : float
        Other numbers in the answer.
    """
    game, h = games.KuhnPoker(), (("Q", "J"), "check", "bet")
    sigma, aim = Strategy.uniform(game), targeted(game, "Q check-bet")
    others = 1.0
    for n, a in enumerate(h):
        node = game.node(h[:n])
        assert not isinstance(node, Terminal)
        row = node.probabilities if isinstance(node, Chance) else sigma[node.infoset]
        s1 *= row[a] / sum(x for c, x in row.items() if (*h[:n], c) in aim)
        s2 *= row[a]
        if isinstance(node, Chance) or node.player == 1:
            others *= row[a]
    q = delta * s1 + (1 - delta) * s2
    return {"s1": s1, "s2": s2, "aimed": others / q, "not aimed": others / s2} | changes


# ---- tables kept by a search -----------------------------------------------------------------


def decisions(game: Game, h: History = (), past: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Yield each decision of a game, with the decisions before it."""
    node = game.node(h)
    if isinstance(node, Terminal):
        return
    if isinstance(node, Decision):
        yield node, past
        past = (*past, node)
    for a in node.actions:
        yield from decisions(game, (*h, a), past)


def second_moves() -> set[str]:
    """Return the infosets of Kuhn poker whose player has moved before."""
    return {
        node.infoset
        for node, past in decisions(games.KuhnPoker())
        if any(before.player == node.player for before in past)
    }


def infosets(player: int | None = None, later: bool = False) -> set[str]:
    """Return the infosets of Kuhn poker, optionally of one player or after a first move."""
    return {
        node.infoset
        for node, past in decisions(games.KuhnPoker())
        if player in (None, node.player) and (past or not later)
    }


# ---- targets ---------------------------------------------------------------------------------


def targeted(game: Game, target: str) -> set[History]:
    """Return the histories before, at and after an infoset."""
    at = {h for h, node in histories(game) if getattr(node, "infoset", None) == target}
    return {
        h
        for h, _ in histories(game)
        if any(goal[: len(h)] == h or h[: len(goal)] == goal for goal in at)
    }


def histories(game: Game, h: History = ()) -> Iterator[tuple[History, Node]]:
    """Yield all histories of a game."""
    node = game.node(h)
    yield h, node
    if not isinstance(node, Terminal):
        for a in node.actions:
            yield from histories(game, (*h, a))


# ---- the traversal of the page ---------------------------------------------------------------


def targeted_walk(
    m: Any, h: History, i: int, s1: float, s2: float, others: float, targeted: bool
) -> Any:
    """Return an estimate of player i's utility at h by a targeted walk; add to R and S."""
    node = m.game.node(h)
    if isinstance(node, Terminal):
        return node.utilities[i]
    played, p2, p1 = m.rows(h, node, i)
    n = m.draw(p1 if targeted else p2)
    a, x = list(node.actions)[n], played[n]
    t1, t2 = s1 * p1[n], s2 * p2[n]
    q = m.delta * s1 + (1 - m.delta) * s2
    after = m.delta * t1 + (1 - m.delta) * t2
    decides = isinstance(node, Decision)
    own = decides and node.player == i
    reach = others if own else others * x
    u = targeted_walk(m, (*h, a), i, t1, t2, reach, targeted) * (q / after)
    mean = x * u
    for c in node.actions if decides else ():
        if own:
            m.R[node.infoset, c] += (u * (c == a) - mean) * others / q
        else:
            m.S[node.infoset, c] += m.sigma[node.infoset][c] * others / q
    return mean


REACH = "reach = others if own else others * x"  # lines of it
BELOW = "u = targeted_walk(m, (*h, a), i, t1, t2, reach, targeted) * (q / after)"
REGRET = "m.R[node.infoset, c] += (u * (c == a) - mean) * others / q"
PLAN = "m.S[node.infoset, c] += m.sigma[node.infoset][c] * others / q"


def sampling_rows(m: Any, h: History, node: Any, i: int) -> tuple[list[float], ...]:
    """Return line 2: the strategy, and its samplers without and with targeting."""
    if isinstance(node, Chance):
        played = p2 = list(node.probabilities.values())
    else:
        played = p2 = list(m.sigma[node.infoset].values())
        if node.player == i:
            p2 = [EPSILON / len(played) + (1 - EPSILON) * x for x in played]
    allowed = [(*h, a) in m.aim for a in node.actions]
    p1 = [x * keep for x, keep in zip(p2, allowed, strict=True)]
    total = sum(p1) or 1.0
    return played, p2, [x / total for x in p1]


def expected_increments(game: Game, target: str, walk: Any) -> tuple[Table, Table]:
    """Return the expected increments of R and S by a traversal under uniform strategies."""
    m = SimpleNamespace(
        game=game, sigma=Strategy.uniform(game), aim=targeted(game, target), delta=DELTA
    )
    m.rows = lambda h, node, i: sampling_rows(m, h, node, i)
    means: tuple[Table, Table] = (defaultdict(float), defaultdict(float))
    for i in (0, 1):

        def one(draw: Draw, i: int = i) -> None:
            m.draw = lambda row: draw(dict(enumerate(row)))
            m.R, m.S = defaultdict(float), defaultdict(float)
            walk(m, (), i, 1.0, 1.0, 1.0, m.draw([1 - DELTA, DELTA]) == 1)

        for p, _ in every_path(one):
            for mean, table in zip(means, (m.R, m.S), strict=True):
                for key, x in table.items():
                    mean[key] += p * x
    return means


def increments(name: str, walk: Any) -> tuple[Table, Table]:
    """Return the expected increments on one of two games, for the target in it."""
    if name == "Kuhn":
        return expected_increments(games.KuhnPoker(), "Q check-bet", walk)
    small = games.LeducPoker(ranks=2, merge_suits=True)
    return expected_increments(small, "K bet-raise", walk)


@cache
def correct_increments(name: str) -> tuple[Table, Table]:
    """Return the expected increments by the correct traversal."""
    return increments(name, targeted_walk)


def biases(walk: Any) -> dict[str, float]:
    """Return the largest bias of a reader's traversal in R or S, for each game."""
    require_function(walk)
    return {
        name: largest_gap(increments(name, walk), correct_increments(name))
        for name in ("Kuhn", "Leduc")
    }


# ---- safe greed ------------------------------------------------------------------------------

RISKS = (0.0, 0.1, 0.2, 1 / 3, 0.5, 1.0)


@cache
def safe_greed(risk: float) -> float:
    """Return the most that player 0 can earn from a timid opponent at some risk.

    The opponent folds each queen to a bet and else plays the equilibrium. A linear program
    finds the realization plan x of player 0 that earns most from this opponent, and loses no
    more than the value of the game and the risk to any pure strategy.
    """
    from scipy.optimize import linprog

    game = games.KuhnPoker()
    tree = compile(game)
    n, m = int(tree.player_sequences[1]), int(tree.player_sequences[2])
    payoff = np.zeros((n, m - n))
    for k in np.flatnonzero(tree.num_children == 0):
        mine, theirs = tree.sequence[k]
        payoff[mine, theirs - n] += tree.chance_reach[k] * tree.utility[k, 0]
    own, other = (range(a, b) for a, b in pairwise(tree.player_infosets))
    flow = [np.eye(n)[0]]
    for I in own:
        start, parent = int(tree.infoset_start[I]), int(tree.infoset_parent[I])
        flow.append(np.eye(n)[start] + np.eye(n)[start + 1] - np.eye(n)[parent])
    starts = [int(tree.infoset_start[I]) - n for I in other]
    pure = np.zeros((2 ** len(starts), m - n))
    pure[:, 0] = 1
    for row, choice in zip(pure, product((0, 1), repeat=len(starts)), strict=True):
        row[np.add(starts, choice)] = 1
    timid = kuhn_equilibrium(game, 0.0).replace({"Q bet": {"fold": 1.0, "call": 0.0}})
    plan = np.eye(m - n)[0]
    for I, start in zip(other, starts, strict=True):
        plan[start : start + 2] = list(timid[tree.infoset_label[I]].values())
    found = linprog(
        -payoff @ plan,
        A_ub=-(payoff @ pure.T).T,
        b_ub=np.full(len(pure), risk - solve_lp(game).value),
        A_eq=np.array(flow),
        b_eq=np.eye(len(flow))[0],
    )
    assert found.fun is not None  # the equilibrium is feasible
    return -float(found.fun)


def at_risks(answer: Any) -> dict[str, float]:
    """Return the values of a function of the risk at some risks."""
    require_function(answer)
    return {f"ε = {risk:.3g}": as_number(answer(risk)) for risk in RISKS}


EXERCISES = read(__file__, globals())
