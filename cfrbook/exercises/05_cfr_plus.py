"""Exercises of chapter 5: RM+ by hand, a buffer, averaging delay, the order of updates."""

from __future__ import annotations

import importlib
import math
import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from cfrbook.exercises.grading import (
    Mistaken,
    Unreadable,
    as_number,
    differences,
    entries,
    pair_values,
    shortened,
)
from cfrbook.exercises.shared import KUHN_INFOSETS, Solver, Sums, average, solver, strategy_sums
from cfrbook.exercises.sheet import read
from cfrbook.exercises.written import averages, learner, planted
from cfrbook.museum import mutant
from cfrlib import games
from cfrlib.game import Decision, Game, History, Node, Terminal
from cfrlib.plain import Family
from cfrlib.regret import regret_matching
from cfrlib.solve import solve

GIVEN = ((-2, 1, 1), (3, -4, 1), (-1, 2, -1))  # instantaneous regrets of three rounds
ROUNDS = 100  # for solvers in plain Python: well below a second
BUDGETS = (200, 2_000)  # player-gradients
LENGTHS = (300, 1_000)
GOOD = 1.15  # relative to the best: the page asks for ten percent, plus a margin for rounding


# ---- 5.1 -------------------------------------------------------------------------------------


def tables_by_hand(
    clip: Callable[[Any, Any], Any] = lambda Q, r: np.maximum(Q + r, 0), after: int = 3
) -> dict[str, Any]:
    """Return both tables after each round, and the strategies they give after round `after`."""
    R, Q = np.zeros((4, 3)), np.zeros((4, 3))
    for t, r in enumerate(np.array(GIVEN), 1):
        R[t], Q[t] = R[t - 1] + r, clip(Q[t - 1], r)
    played = {name: regret_matching(x[after]).tolist() for name, x in (("R", R), ("Q", Q))}
    return {"R": R[1:].tolist(), "Q": Q[1:].tolist(), "played": played}


def tables_with(**changes: object) -> dict[str, object]:
    """Return both tables with other strategies of round 4, or another R."""
    right: dict[str, Any] = tables_by_hand()
    played = right["played"] | {
        key: changes.pop(f"{key} plays", row) for key, row in right["played"].items()
    }
    return right | changes | {"played": played}


# ---- 5.5 -------------------------------------------------------------------------------------


class Buffered(Family):
    """CFR+ with one buffer of regrets, which is emptied after each traversal (exercise 5.5)."""

    def iterate(self) -> None:
        """Traverse the tree for each player in turn, then empty the buffer."""
        self.t += 1
        self.seen = self.sigma
        for i in (0, 1):
            self.walk((), i, 1, 1)
            self.add(i)
            self.floor()
            self.r.clear()

    def add(self, i: int) -> None:
        """Add player i's strategy to the strategy sums."""
        for I in (I for I, player in self.owner.items() if player == i):
            for a, p in self.sigma[I].items():
                self.S[I, a] += self.t * self.own[I] * p

    def floor(self) -> None:
        """Add the regrets in the buffer, keep no negative sum, and match."""
        for (I, a), x in self.r.items():
            self.R[I, a] = max(self.R[I, a] + x, 0)
        self.sigma.update({I: self.match(I) for I in self.actions})


friend = partial(solver, Buffered)


def average_strategy(solve: Any, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return the average strategy of a reader's solver in Kuhn poker."""
    sums = strategy_sums(solve, games.KuhnPoker(), rounds)
    return {I: average(sums, I) for I in KUHN_INFOSETS}


# ---- 5.3 -------------------------------------------------------------------------------------


@cache
def exploitability_with_delay(iterations: int, delay: int) -> float:
    """Return the exploitability of CFR+ on Leduc poker with merged suits."""
    game = games.LeducPoker(merge_suits=True)
    return solve(game, "cfr+", iterations, delay=delay, progress=False).exploitability


def by_delay(iterations: int) -> dict[int, float]:
    """Return the exploitability for each delay that the exercise names."""
    return {
        d: exploitability_with_delay(iterations, d)
        for d in range(0, iterations // 2 + 1, iterations // 20)
    }


def best_delays() -> dict[int, int]:
    """Return the best of these delays for each length."""
    return {T: min(by_delay(T), key=by_delay(T).__getitem__) for T in LENGTHS}


def relative_exploitability(answer: Any) -> dict[int, float]:
    """Return the exploitability of the answered delays, relative to the best delay."""
    found = {}
    for T, (_, given, _) in zip(LENGTHS, pair_values(answer, best_delays()), strict=True):
        d = as_number(given)
        if not (d.is_integer() and 0 <= d < T):
            raise Unreadable(
                f"{shortened(given)} is not a delay: a delay is a number of iterations, fewer "
                f"than {T}"
            )
        found[T] = exploitability_with_delay(T, int(d)) / min(by_delay(T).values())
    return found


# ---- 5.4 -------------------------------------------------------------------------------------


@cache
def gradients_needed(
    iterations: int, by: str = "simultaneous", of: str = "alternating", times: float = 1
) -> int:
    """Return the player-gradients that one order needs for what the other one reaches."""
    game = games.KuhnPoker()
    e = times * solve(game, "cfr", iterations, update=of, progress=False).exploitability
    return solve(game, "cfr", update=by, until=e, progress=False).gradients


def equal_work(**changes: Any) -> dict[int, int]:
    """Return the player-gradients needed for each budget, of two in each iteration."""
    return {n: gradients_needed(n // 2, **changes) for n in BUDGETS}


# ---- 5.2 -------------------------------------------------------------------------------------

HEAD = """\
def cfr_plus(game, iterations):
    Q, S, r = (defaultdict(float) for _ in range(3))
    start = cfr.Strategy.uniform(game)
    sigma = {I: dict(start[I]) for I in start}

    def update():
        for I, row in sigma.items():
            for a in row:
                Q[I, a] = max(Q[I, a] + r.pop((I, a), 0), 0)
            total = sum(Q[I, a] for a in row)
            for a in row:
                row[a] = Q[I, a] / total if total > 0 else 1 / len(row)

    def walk(h, i, w, own, others):
        node = game.node(h)
        if isinstance(node, cfr.Terminal):
            return node.utilities[i]
        I = getattr(node, "infoset", "chance")
        row, u = sigma.get(I) or node.probabilities, {}
        if I == "chance" or node.player != i:
            for a, p in row.items():
                u[a] = p * walk((*h, a), i, w, own, p * others)
            return sum(u.values())
"""
LINES = {
    "A": "            S[I, a] += w * own * p",
    "B": "        return mean",
    "C": "            update()",
    "D": "        for a, p in row.items():",
    "E": "            Q[I, a] = max(Q[I, a] + others * (u[a] - mean), 0)",
    "F": "    for t in range(1, iterations + 1):",
    "G": "            u[a] = walk((*h, a), i, w, p * own, others)",
    "H": "            r.clear()",
    "I": "        mean = sum(p * u[a] for a, p in row.items())",
    "J": "            walk((), i, t, 1, 1)",
    "K": "        for i in (0, 1):",
    "L": "            r[I, a] += others * (u[a] - mean)",
    "M": "        for a, p in row.items():",
}
ORDER = "DGIMLABFKJC"  # lines 3 to 7 of Algorithm 5.1, then its loops with lines 10 and 11


def assembled(answer: Any) -> Solver:
    """Return the program that the lines of an answer make in this order."""
    letters = answer if isinstance(answer, str) else "".join(map(str, entries(answer)))
    letters = re.sub(r"[\s,;]", "", letters).upper()
    if wrong := set(letters) - set(LINES):
        raise Unreadable(f"there is no line {shortened(min(wrong))}")
    if len(set(letters)) < len(letters):
        raise Unreadable("a line is used twice")
    source = HEAD + "\n".join([*(LINES[x] for x in letters), "    return S"])
    names: dict[str, Any] = {
        "cfr": importlib.import_module("cfrlib"),
        "defaultdict": defaultdict,
    }
    try:
        exec(source, names)
    except SyntaxError as error:
        raise Unreadable(f"your lines make no program: {error.msg}") from error
    program: Any = names["cfr_plus"]

    def solve(game: Game, iterations: int) -> Sums:
        sums: Sums = {}
        for (I, _), x in program(game, iterations).items():
            sums.setdefault(I, []).append(x)
        return sums

    return solve


def without_spare_lines(answer: Any) -> dict[str, list[float]]:
    """Return the average strategy of the program that an answer's lines make."""
    found = average_strategy(assembled(answer))
    spare = sum(map(str.isalpha, "".join(map(str, entries(answer))))) > len(ORDER)
    if spare and not differences(found, average_strategy(assembled(ORDER)), 1e-3):
        raise Mistaken("This is right, but one of your lines does nothing: leave it out.")
    return found


# ---- 5.6 -------------------------------------------------------------------------------------

plus = partial(learner, alpha=math.inf, beta=-math.inf, gamma=1)
REGRET = "self.r[I, a] += others * (u[a] - mean)"
COLLECTED = "self.S[I, a] += weight * self.own[I] * p"


def with_line(old: str, new: str) -> Any:
    """Return CFR+ with another line."""
    return plus(mutant(Family, {old: new}))


EXERCISES = read(__file__, globals())
