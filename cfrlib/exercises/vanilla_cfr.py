"""Exercises of chapter 4: counterfactual regret, its weights, a misplaced regret matching."""

from __future__ import annotations

from functools import cache
from typing import Any

from cfrlib import games
from cfrlib.cfr import CFR
from cfrlib.equilibrium import exploitability, solve_lp
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
)
from cfrlib.exercises.plain import Solver, Sums, average, in_both_orders
from cfrlib.game import Chance, Game, History, Terminal
from cfrlib.regret import regret_matching
from cfrlib.strategy import Strategy

ROUNDS = 100  # for solvers in plain Python: well below a second


@cache
def solver(regret: str = "others", plan: str = "own", early: bool = False) -> Solver:
    """Return a solver for exercise 4.3.

    Parameters
    ----------
    regret, plan : str
        Reach probability that weights regrets and the strategy sum: ``"own"`` or ``"others"``.
    early : bool
        Whether regret matching follows each history instead of each iteration.
    """

    def solve(game: Game, iterations: int) -> Sums:
        R: Sums = {}
        S: Sums = {}
        sigma: Sums = {}
        at = cache(game.node)

        def walk(h: History, pi: tuple[float, ...]) -> float:
            node = at(h)
            if isinstance(node, Terminal):
                return node.utilities[0]
            if isinstance(node, Chance):
                outcomes = node.probabilities.items()
                return sum(f * walk((*h, a), (*pi[:2], f * pi[2])) for a, f in outcomes)
            I, i, sign = node.infoset, node.player, 1 - 2 * node.player
            row = sigma.setdefault(I, [1 / len(node.actions)] * len(node.actions))
            reaches = [(*pi[:i], p * pi[i], *pi[i + 1 :]) for p in row]
            children = zip(node.actions, reaches, strict=True)
            u = [sign * walk((*h, a), reach) for a, reach in children]
            mean = sum(p * x for p, x in zip(row, u, strict=True))
            weight = {"others": pi[1 - i] * pi[2], "own": pi[i]}
            for n, p in enumerate(row):
                R.setdefault(I, [0.0] * len(row))[n] += weight[regret] * (u[n] - mean)
                S.setdefault(I, [0.0] * len(row))[n] += weight[plan] * p
            if early:
                sigma[I] = regret_matching(R[I]).tolist()
            return sign * mean

        for _ in range(iterations):
            walk((), (1, 1, 1))
            sigma.update({I: regret_matching(r).tolist() for I, r in R.items()})
        return S

    return solve


def at_the_queen(weight: float) -> dict[str, dict[str, float]]:
    """Return values and regrets at the queen's check-bet; each of two deals has this weight."""
    values = {"fold": 2 * weight * -1.0, "call": weight * (2.0 - 2.0)}
    mean = sum(values.values()) / 2
    return {"values": values, "regrets": {a: v - mean for a, v in values.items()}}


def regrets_to_the_best() -> dict[str, dict[str, float]]:
    """Return the same values, and the difference of each to the best."""
    values = at_the_queen(1 / 12)["values"]
    best = max(values.values())
    return {"values": values, "regrets": {a: best - v for a, v in values.items()}}


@cache
def exploitability_with_weights(regret: str, plan: str) -> float:
    """Return the exploitability in Kuhn poker with other weights."""
    game = games.KuhnPoker()
    sums = solver(regret, plan)(game, 1_000)
    rows = Strategy.uniform(game).items()
    return exploitability(
        game,
        {
            I: {a: x / sum(sums[I]) for a, x in zip(row, sums[I], strict=True)}
            for I, row in rows
        },
    )


def average_strategies(solve: Any) -> dict[str, dict[str, float]]:
    """Return a solver's betting and calling probabilities for both orders of the deals."""
    infosets = ("J", "K", "Q check-bet", "Q bet")
    found = in_both_orders(solve, ROUNDS)
    return {name: {I: average(sums, I)[1] for I in infosets} for name, sums in found.items()}


def four_cards(bluff: str = "T") -> dict[str, object]:
    """Return the value of Kuhn poker with four cards, and the bluffing card of an answer."""
    return {"value": solve_lp(games.KuhnPoker(cards=4)).value, "bluff": bluff}


def alpha(update: str) -> float:
    """Return the jack's average probability of an opening bet after 100,000 iterations."""
    run = CFR(games.KuhnPoker(), update=update).run(100_000)
    return run.average["J"]["bet"]


EXERCISES = (
    Exercise(
        "4.1",
        "By hand",
        "a dictionary with 'values' and 'regrets', each a dictionary with 'fold' and 'call'",
        lambda: at_the_queen(1 / 12),
        (
            Mistake(
                lambda: at_the_queen(1 / 2),
                "You took the mean over the two hidden cards. That is what the queen expects "
                "once she is here; a counterfactual value also counts how likely the deal and "
                "the other player's bet make each history.",
            ),
            Mistake(
                lambda: at_the_queen(1 / 6),
                "You counted the deal and left out that player 1 bets only half of the time: "
                "the weight is everyone's reach but your own.",
            ),
            Mistake(
                lambda: at_the_queen(1 / 24),
                "You multiplied by your own reach as well, your check at the start. Left out, "
                "it makes the value counterfactual: as if you had played to get here.",
            ),
            Mistake(
                lambda: at_the_queen(1 / 12) | {"regrets": at_the_queen(1 / 12)["values"]},
                "The values are right. A regret is what an action is worth *more* than your "
                "present mix of both.",
            ),
            Mistake(
                regrets_to_the_best,
                "The values are right. The difference to the *best* action is not added up "
                "here: a regret compares an action with your present mix of both.",
            ),
        ),
        tolerance=1e-4,
        points=2,
        takeaway="The deals are weighted by chance and the other player; your own check does "
        "not count.",
        advice="Two deals, a payoff for each, and one weight: chance times player 1's bet.",
    ),
    Exercise(
        "4.2",
        "Which reach?",
        "a dictionary with the exploitability after 1,000 iterations, 'line 6' and 'line 7' "
        "swapped, and under 'hides' the line whose mistake does not show",
        lambda: {
            "line 6": exploitability_with_weights("own", "own"),
            "line 7": exploitability_with_weights("others", "others"),
            "hides": "line 7",
        },
        (
            Mistake(
                lambda: {
                    "line 6": exploitability_with_weights("own", "others"),
                    "line 7": exploitability_with_weights("own", "others"),
                    "hides": "line 7",
                },
                "That is both at once. Swap one, measure, put it back, swap the other.",
            ),
            Mistake(
                lambda: {
                    "line 6": exploitability_with_weights("others", "others"),
                    "line 7": exploitability_with_weights("own", "own"),
                    "hides": "line 6",
                },
                "You have them the wrong way round: line 6 adds to R, line 7 to S.",
            ),
            Mistake(
                lambda: {
                    "line 6": 2 * exploitability_with_weights("own", "own"),
                    "line 7": 2 * exploitability_with_weights("others", "others"),
                    "hides": "line 7",
                },
                "This is NashConv, the sum of what both players could gain; exploitability is "
                "their mean.",
            ),
        ),
        points=2,
        takeaway="A mistake in the regrets shows; one in the average can hide on Kuhn poker.",
        advice="The page's `source.replace(...)`, `exec` and `solve(1_000, ...)` do it.",
    ),
    Exercise(
        "4.3",
        "Find the planted bug",
        "a function of a game and a number of iterations that returns S, as `friend` does",
        lambda: solver(),
        (
            Mistake(
                lambda: solver(early=True),
                "The order of the deals still changes the result.",
            ),
            Mistake(
                lambda: solver(regret="own"),
                "The order of the deals does not matter any more, but now regrets are "
                "weighted by the player's own reach; that line was right.",
            ),
            Mistake(
                lambda: solver(plan="others"),
                "The order of the deals does not matter any more, but now the average is "
                "weighted by the others' reach; that line was right.",
            ),
        ),
        see=average_strategies,
        points=3,
        takeaway="All histories of an iteration are played by one and the same strategy.",
        advice="It runs, and it still is not vanilla CFR with simultaneous updates.",
    ),
    Exercise(
        "4.4",
        "Four cards",
        "a dictionary with 'value' and under 'bluff' the card (T, J, Q or K) that opens with a "
        "bluff",
        four_cards,
        (
            Mistake(
                lambda: four_cards("J"),
                "With three cards it was the jack, because it was the lowest. Print the "
                "probability of a bet for each of the four.",
            ),
            Mistake(
                lambda: four_cards("K"),
                "The king bets for value: it wants to be called. A bluff hopes for a fold.",
            ),
            Mistake(
                lambda: {"value": solve_lp(games.KuhnPoker()).value, "bluff": "T"},
                "This is the value of the game with three cards.",
            ),
        ),
        takeaway="The lowest card bluffs: it has nothing to win by being called.",
        advice="`cfr.solve_lp(cfr.games.KuhnPoker(cards=4))` has the value.",
    ),
    Exercise(
        "4.5",
        "Open: does the path choose α?",
        "α of the average after 100,000 iterations with alternating updates",
        lambda: alpha("alternating"),
        (
            Mistake(
                lambda: alpha("simultaneous"),
                "That is α of simultaneous updates. Alternating ones end elsewhere.",
            ),
        ),
        takeaway="That part can be checked; whether α settles, and where, is open.",
        advice="`cfr.CFR(game, update='alternating').run(100_000).average['J']`.",
    ),
)
