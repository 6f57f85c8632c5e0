"""Exercises of chapter 5: RM+ by hand, a buffer, averaging delay, the order of updates."""

from __future__ import annotations

import importlib
import math
import re
from collections import defaultdict
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from cfrlib import games
from cfrlib.cfr import CFR
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unreadable,
    as_number,
    entries,
    pair_values,
    shortened,
)
from cfrlib.exercises.plain import Solver, Sums, average, strategy_sums, traversal
from cfrlib.game import Decision, Game, History, Node, Terminal
from cfrlib.regret import regret_matching
from cfrlib.solve import solve

GIVEN = ((-2, 1, 1), (3, -4, 1), (-1, 2, -1))  # instantaneous regrets of three rounds
ROUNDS = 100  # for solvers in plain Python: well below a second
BUDGET = 2_000  # traversals
LENGTHS = (300, 1_000)
GOOD = 1.15  # relative to the best: the page asks for ten percent, plus a margin for rounding
CHECKPOINTS = range(100, 1_001, 100)


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


def tables_clipped_when_read() -> dict[str, object]:
    """Return the tables of a reader who stores R and clips only what is printed."""
    right: dict[str, Any] = tables_by_hand()
    return right | {
        "Q": np.maximum(right["R"], 0).tolist(),
        "played": {"R": right["played"]["R"], "Q": right["played"]["R"]},
    }


# ---- 5.2 -------------------------------------------------------------------------------------


@cache
def solver(emptied: str = "at once", fault: str = "") -> Solver:
    """Return a solver for exercise 5.2, correct or with a bug.

    Parameters
    ----------
    emptied : str
        When the buffer of regrets is emptied. ``"at once"``: after it is added to Q, which is
        correct; ``"never"``; ``"too soon"``: before it is added; ``"late"``: after both
        traversals, so that player 0's regrets are added twice; ``"together"``: the tables are
        updated after both traversals, which makes the updates simultaneous.
    fault : str
        ``"no sum"``: Q keeps the regrets of one traversal only; ``"no floor"``: Q may be
        negative; ``"even"``: all iterations have the weight 1.
    """

    def solve(game: Game, iterations: int) -> Sums:
        Q: dict[str, Any] = {}
        S: Sums = {}
        r: Sums = {}
        sigma: Sums = {}
        walk = traversal(game, sigma, r, S)

        def update() -> None:
            if emptied == "too soon":
                r.clear()
            for I, row in r.items():
                total = np.array(row) + (0 if fault == "no sum" else Q.get(I, 0))
                Q[I] = total if fault == "no floor" else np.maximum(total, 0)
                sigma[I] = regret_matching(Q[I]).tolist()
            if emptied in ("at once", "together"):
                r.clear()

        for t in range(1, iterations + 1):
            for i in (0, 1):
                walk((), i, 1 if fault == "even" else t, 1, 1)
                if i == 1 or emptied != "together":
                    update()
            if emptied == "late":
                r.clear()
        return S

    return solve


def average_strategy(solve: Any, rounds: int = ROUNDS) -> dict[str, list[float]]:
    """Return the average strategy of a reader's solver in Kuhn poker."""
    sums = strategy_sums(solve, games.KuhnPoker(), rounds)
    return {I: average(sums, I) for I in solver()(games.KuhnPoker(), 1)}


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


# ---- 5.4 and 5.5 -----------------------------------------------------------------------------


@cache
def kuhn_exploitability(iterations: int, order: str, variant: str = "cfr+") -> float:
    """Return the exploitability of the average strategy in Kuhn poker."""
    game = games.KuhnPoker()
    return solve(game, variant, iterations, update=order, progress=False).exploitability


def at_budget(one: int, two: int, variant: str = "cfr+", times: float = 1) -> dict[str, float]:
    """Return the exploitability of three orders of updates.

    Iterations of one and of two traversals have separate counts, `one` and `two`.
    """
    return {
        "simultaneous": times * kuhn_exploitability(one, "simultaneous", variant),
        "alternating": times * kuhn_exploitability(two, "alternating", variant),
        "literal": times * kuhn_exploitability(two, "simultaneous", variant),
    }


class ExchangedPlayers(games.KuhnPoker):
    """Kuhn poker with exchanged players: player 1 begins."""

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        node = super().node(h)
        if isinstance(node, Decision):
            return Decision(1 - node.player, node.infoset, node.actions)
        if isinstance(node, Terminal):
            return Terminal(node.utilities[::-1])
        return node


@cache
def exploitability_curve(first: int, variant: str = "cfr+") -> tuple[float, ...]:
    """Return the exploitability at the checkpoints; player `first` is updated first."""
    run = CFR((games.KuhnPoker(), ExchangedPlayers())[first], variant)
    step = CHECKPOINTS.step
    return tuple(run.run(step, progress=False).solution().exploitability for _ in CHECKPOINTS)


def means_by_order(
    mean: Callable[[Any], Any] = lambda e: np.log10(e).mean(), variant: str = "cfr+"
) -> dict[str, float]:
    """Return a mean over the checkpoints for both orders of updates."""
    return {f"{i} first": float(mean(exploitability_curve(i, variant))) for i in (0, 1)}


def exchanged_means() -> dict[str, float]:
    """Return the same values with exchanged keys."""
    right = means_by_order()
    return dict(zip(right, reversed(right.values()), strict=True))


# ---- 5.6 -------------------------------------------------------------------------------------

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


EXERCISES = (
    Exercise(
        "5.1",
        "By hand",
        "a dictionary: 'R' and 'Q' with a row for every round, and 'played' with the strategy "
        "of each of them in round 4",
        tables_by_hand,
        (
            Mistake(
                tables_clipped_when_read,
                "You kept R and floored it when you read it. RM+ floors what it *stores*, so "
                "that the next round starts from there.",
            ),
            Mistake(
                lambda: tables_by_hand(lambda Q, r: Q + np.maximum(r, 0)),
                "You clipped the new regrets. RM+ clips the sum: a bad round lowers Q, though "
                "never below 0.",
            ),
            Mistake(
                lambda: tables_by_hand(after=2),
                "The tables are right, but you read the strategy one round too early: the "
                "strategy of round 4 uses all three rounds.",
            ),
            Mistake(
                lambda: tables_with(**{"Q plays": tables_by_hand()["Q"][-1]}),
                "The tables are right. A strategy is made of probabilities: divide Q by its "
                "sum.",
            ),
            Mistake(
                lambda: tables_with(**{"R plays": tables_by_hand()["R"][-1]}),
                "The tables are right. R plays its positive entries only, and divides by their "
                "sum.",
            ),
            Mistake(
                lambda: tables_with(**{"R plays": [1 / 3] * 3}),
                "The tables are right. Play is uniform only if no entry is positive, and here "
                "R has one.",
            ),
            Mistake(
                lambda: tables_with(**{"Q plays": [1 / 2, 1 / 2, 0]}),
                "The tables are right. Every positive entry of Q gets its share, not only the "
                "largest ones.",
            ),
            Mistake(
                lambda: tables_with(
                    R=tables_by_hand()["Q"], **{"R plays": tables_by_hand()["played"]["Q"]}
                ),
                "You floored R as well. R keeps its negative entries; only Q sets them to 0.",
            ),
            Mistake(
                lambda: tables_with(
                    Q=tables_by_hand()["R"], **{"Q plays": tables_by_hand()["played"]["R"]}
                ),
                "You never floored Q: where a sum is negative, Q stores 0.",
            ),
            Mistake(
                lambda: {
                    "R": GIVEN,
                    "Q": np.maximum(GIVEN, 0),
                    "played": {key: regret_matching(np.array(GIVEN[-1])) for key in "RQ"},
                },
                "These are the regrets of the single rounds. Both tables add them up.",
            ),
        ),
        takeaway="A negative sum that is set to 0 does not have to be made up for later.",
        advice="Add the round to what is stored; for Q, put 0 wherever the sum is negative.",
    ),
    Exercise(
        "5.2",
        "Find the planted bug",
        "a function of a game and a number of iterations that returns S, as `friend` does",
        solver,
        (
            Mistake(
                lambda: solver("never"),
                "More iterations still do not bring it closer to equilibrium.",
            ),
            Mistake(
                lambda: solver("late"),
                "Better, but player 0's regrets are still in the buffer after player 1's "
                "traversal, so they are added a second time.",
            ),
            Mistake(
                lambda: solver("together"),
                "No regret is counted twice any more, but now both players are updated at the "
                "end of the iteration: these are simultaneous updates.",
            ),
            Mistake(
                lambda: solver("too soon"),
                "The buffer is emptied before it is read, so nothing is ever learned.",
            ),
            Mistake(
                lambda: solver(fault="no sum"),
                "Q is overwritten in each iteration. RM+ adds the new regrets to what it has "
                "stored.",
            ),
            Mistake(
                lambda: solver(fault="no floor"),
                "The buffer is emptied now, but Q is no longer floored at 0; that line was "
                "right.",
            ),
            Mistake(
                lambda: solver(fault="even"),
                "The buffer is emptied now, but all iterations count the same in the average. "
                "Iteration t counts t times; that line was right.",
            ),
        ),
        see=average_strategy,
        points=3,
        takeaway="A buffer is read once, then emptied.",
        advice="It runs, and it still is not CFR+ with alternating updates and weights t.",
    ),
    Exercise(
        "5.3",
        "The delay",
        "a dictionary with a good delay, in iterations, for the lengths 300 and 1000",
        best_delays,
        (
            Mistake(
                lambda: dict.fromkeys(LENGTHS, 0),
                "That is no delay at all. On Kuhn poker it is best. Here the game is Leduc "
                "poker, whose early strategies are worth forgetting.",
            ),
            Mistake(
                lambda: dict.fromkeys(LENGTHS, 250),
                "You gave the same number for both lengths; it leaves hardly any of 300 "
                "iterations to average. Only the share may carry over.",
            ),
            Mistake(
                lambda: dict.fromkeys(LENGTHS, 75),
                "You gave the same number for both lengths. It is a quarter of the first, and "
                "hardly anything of the second. Only the share may carry over.",
            ),
            Mistake(
                lambda: {T: T // 20 for T in LENGTHS},
                "Five percent is too little: the average still begins with strategies that are "
                "better forgotten.",
            ),
            Mistake(
                lambda: {T: T // 2 for T in LENGTHS},
                "Half of the run is too much to drop: the average is left with too few "
                "strategies.",
            ),
            Mistake(
                lambda: {T: T - 1 for T in LENGTHS},
                "Only one strategy is left to average, so this is the current strategy.",
            ),
            Mistake(
                lambda: dict.fromkeys(LENGTHS, 25),
                "Are these shares, in percent? The answer asks for iterations.",
            ),
            Mistake(
                lambda: dict.fromkeys(LENGTHS, 1),
                "A delay of one iteration drops the uniform strategy and nothing else. More of "
                "the start is better forgotten.",
            ),
        ),
        see=relative_exploitability,
        accepts=lambda seen: all(ratio <= GOOD for ratio in seen.values()),
        points=2,
        takeaway="Drop the start. Near the minimum, it hardly matters how much.",
        advice="Some share of 0, 5, ..., 50 % does clearly better. `cfr.solve` takes `delay=`.",
    ),
    Exercise(
        "5.4",
        "At equal nodes",
        "a dictionary with three exploitabilities: 'simultaneous', 'alternating', 'literal'",
        lambda: at_budget(BUDGET, BUDGET // 2),
        (
            Mistake(
                lambda: at_budget(BUDGET, BUDGET),
                "You gave each of them the same number of *iterations*. Two of the three walk "
                "the tree twice in each.",
            ),
            Mistake(
                lambda: at_budget(BUDGET // 2, BUDGET // 2),
                "You halved the iterations of all three. Simultaneous updates need one "
                "traversal for both players.",
            ),
            Mistake(
                lambda: at_budget(BUDGET, BUDGET // 2, "cfr"),
                "This is vanilla CFR. The variant asked for is `'cfr+'`.",
            ),
            Mistake(
                lambda: at_budget(BUDGET, BUDGET // 2, times=2),
                "This is NashConv, the sum of what both players could gain; exploitability is "
                "their mean.",
            ),
            Mistake(
                lambda: (
                    at_budget(BUDGET, BUDGET // 2)
                    | {"literal": kuhn_exploitability(BUDGET, "simultaneous")}
                ),
                "The literal reading has the iterates of simultaneous updates, but it walks "
                "the tree twice for each. How many iterations are left?",
            ),
            Mistake(
                lambda: (
                    at_budget(BUDGET, BUDGET // 2)
                    | {"alternating": kuhn_exploitability(BUDGET, "alternating")}
                ),
                "Alternating updates walk the tree twice in each iteration, once for each "
                "player. How many iterations are left?",
            ),
            Mistake(
                lambda: at_budget(2 * BUDGET, BUDGET // 2),
                "Simultaneous updates need one traversal in each iteration. You counted half "
                "of one.",
            ),
            Mistake(
                lambda: at_budget(2 * BUDGET, BUDGET),
                "You gave each of them twice as much as there is. How many traversals does one "
                "iteration cost?",
            ),
            Mistake(
                lambda: (
                    at_budget(BUDGET, BUDGET // 2)
                    | {"literal": kuhn_exploitability(BUDGET // 2, "alternating")}
                ),
                "You ran the literal reading with alternating updates. It only looks as if it "
                "alternated: "
                'its iterates are those of `update="simultaneous"`.',
            ),
            Mistake(
                lambda: dict(
                    zip(
                        at_budget(BUDGET, BUDGET // 2),
                        [
                            at_budget(BUDGET, BUDGET // 2)[k]
                            for k in ("alternating", "simultaneous", "literal")
                        ],
                        strict=True,
                    )
                ),
                "You have simultaneous and alternating the wrong way round.",
            ),
        ),
        tolerance=1e-5,
        points=2,
        takeaway="The literal reading costs as much as alternating updates and gains nothing "
        "by it.",
        advice="How many iterations of each do 2,000 traversals buy? `solve` takes `update=`.",
    ),
    Exercise(
        "5.5",
        "Open: which order first?",
        "a dictionary with '0 first' and '1 first': the mean of log10(exploitability) over the "
        "ten checkpoints",
        means_by_order,
        (
            Mistake(
                exchanged_means,
                "You have them the wrong way round: the chapter's loop, (0, 1), has player 0 "
                "first.",
            ),
            Mistake(
                lambda: means_by_order(lambda e: math.log10(np.mean(e))),
                "That is the logarithm of the mean, in which the first checkpoints drown the "
                "others. Take the logarithms first.",
            ),
            Mistake(
                lambda: means_by_order(lambda e: np.log(e).mean()),
                "These are natural logarithms; the base asked for is 10.",
            ),
            Mistake(
                lambda: means_by_order(np.mean),
                "These are the mean exploitabilities themselves. Take the logarithm of each of "
                "them first.",
            ),
            Mistake(
                lambda: means_by_order(lambda e: math.log10(e[-1])),
                "That is the last checkpoint alone, and the curves go up and down. Take the "
                "mean over all ten.",
            ),
            Mistake(
                lambda: means_by_order(lambda e: -np.log10(e).mean()),
                "The logarithm of a number below 1 is negative. You left out the sign.",
            ),
            Mistake(
                lambda: means_by_order(lambda e: np.log10(2 * np.array(e)).mean()),
                "This is NashConv, twice the exploitability.",
            ),
            Mistake(
                lambda: means_by_order(variant="cfr"),
                "This is vanilla CFR. The variant asked for is `'cfr+'`.",
            ),
            Mistake(
                lambda: means_by_order(lambda e: np.log10(e).sum()),
                "These are sums over the ten checkpoints. Divide by ten.",
            ),
            Mistake(
                lambda: means_by_order(lambda e: np.median(np.log10(e))),
                "This is the median. The exercise asks for the mean.",
            ),
            Mistake(
                lambda: means_by_order() | {"1 first": means_by_order()["0 first"]},
                "You gave the same number twice. Did the second run really exchange the "
                "players? To relabel the players alone, without their payoffs, makes another "
                "game.",
            ),
        ),
        tolerance=5e-3,
        points=2,
        takeaway="That settles Kuhn poker. Why it is so, which order is better on your game, "
        "and what a coin toss would do are open.",
        advice="Kuhn poker, CFR+, a new run or a pause at each of 100, 200, ..., 1,000.",
    ),
    Exercise(
        "5.6",
        "Put the lines in order",
        "the letters of the lines, in order, as a string or a list",
        lambda: ORDER,
        (
            Mistake(
                lambda: ORDER.replace("L", "E"),
                "This clips in the traversal, at each history. An infoset has several, whose "
                "regrets have to be added up before anything is clipped.",
            ),
            Mistake(
                lambda: ORDER.replace("L", "LE"),
                "Here the regrets come into Q twice: at each history, and from the buffer.",
            ),
            Mistake(
                lambda: ORDER.replace("C", "HC"),
                "Nothing is ever learned: nothing is written into the buffer, or nobody reads "
                "it, or it is emptied first. Follow a regret from the traversal to the "
                "strategy.",
            ),
        ),
        see=lambda answer: average_strategy(assembled(answer)),
        points=2,
        takeaway="Add to a buffer, clip once, and update each player right after their "
        "traversal.",
        advice="Your lines make a program that runs, but not CFR+ as in the listing of the "
        "page.",
    ),
)
