"""Exercises of chapter 7: a traversal by hand, enumerated samples, a bug, variance."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from cfrlib import games
from cfrlib.cfr import CFR
from cfrlib.exercises.grading import Exercise, Mistake, require_function
from cfrlib.game import Chance, Game, History, Terminal
from cfrlib.montecarlo import every_path
from cfrlib.strategy import Strategy

Weights = Mapping[Any, float]  # of outcomes; they need not add up to 1
Draw = Callable[[Weights], Any]
Profile = Mapping[str, Mapping[Any, float]]
Table = dict[Any, float]  # by infoset and action
Walk = Callable[[Game, History, int, Draw, Profile, Table, Table], Any]

MIX = 0.6  # ε, the weight of uniform sampling, on the whole page
AFTER = (1, 3, 100, 1_000)  # iterations of CFR, exercise 7.5


def new_table() -> Table:
    """Return a table of zeros."""
    return defaultdict(float)


def external_walk(source: str = "strategy", at: str = "opponent") -> Walk:
    """Return the traversal of exercise 7.3, external sampling, correct or with a bug.

    Parameters
    ----------
    source : str
        Distribution of the opponent's actions: ``"strategy"``, ``"average"`` or ``"even"``.
    at : str
        Player at whose infosets S is updated: ``"opponent"`` or ``"traverser"``.
    """

    def walk(
        game: Game, h: History, i: int, draw: Draw, sigma: Profile, r: Table, S: Table
    ) -> Any:
        node = game.node(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        if isinstance(node, Chance):
            return walk(game, (*h, draw(node.probabilities)), i, draw, sigma, r, S)
        I, row = node.infoset, sigma[node.infoset]
        if (node.player != i) == (at == "opponent"):
            for a in row:
                S[I, a] += row[a]
        if node.player != i:
            average = {a: S[I, a] for a in row}
            weights = {"strategy": row, "average": average, "even": dict.fromkeys(row, 1.0)}
            return walk(game, (*h, draw(weights[source])), i, draw, sigma, r, S)
        u = {a: walk(game, (*h, a), i, draw, sigma, r, S) for a in row}
        mean = sum(row[a] * u[a] for a in row)
        for a in row:
            r[I, a] += u[a] - mean
        return mean

    return walk


def outcome_walk(epsilon: float = MIX, tail: bool = True, charged: bool = True) -> Walk:
    """Return the traversal of exercise 7.1, outcome sampling, correct or with a mistake.

    Parameters
    ----------
    epsilon : float
        Weight of uniform sampling.
    tail : bool
        Whether the sampled value is divided by the probability of the action.
    charged : bool
        Whether actions that are not sampled get a regret.
    """

    def walk(
        game: Game,
        h: History,
        i: int,
        draw: Draw,
        sigma: Profile,
        r: Table,
        S: Table,
        q: float = 1.0,
    ) -> Any:
        node = game.node(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        if isinstance(node, Chance):
            return walk(game, (*h, draw(node.probabilities)), i, draw, sigma, r, S, q)
        I, row = node.infoset, sigma[node.infoset]
        if node.player != i:
            for a in row:
                S[I, a] += row[a] / q
            return walk(game, (*h, draw(row)), i, draw, sigma, r, S, q)
        p = {a: epsilon / len(row) + (1 - epsilon) * x for a, x in row.items()}
        sampled = draw(p)
        u = walk(game, (*h, sampled), i, draw, sigma, r, S, q * p[sampled])
        u /= p[sampled] if tail else 1
        mean = row[sampled] * u
        for a in row:
            if charged or a == sampled:
                r[I, a] += (u * (a == sampled) - mean) / q
        return mean

    return walk


# ---- one traversal ---------------------------------------------------------------------------


def by_hand(head: bool = True, **weights: bool) -> dict[str, dict[str, float]]:
    """Return the sampled regrets of the trajectory K against Q, check, bet, call."""
    game, script = games.KuhnPoker(), iter([("K", "Q"), "check", "bet", "call"])
    r, S = new_table(), new_table()
    walk = outcome_walk(**weights)
    walk(game, (), 0, lambda _: next(script), Strategy.uniform(game), r, S)
    first, second = "K", "K check-bet"
    sampled = 1.0 if head else 1 / 2  # the check is sampled with probability 1/2
    return {
        first: {a: r[first, a] for a in ("check", "bet")},
        second: {a: sampled * r[second, a] for a in ("fold", "call")},
    }


# ---- all traversals --------------------------------------------------------------------------


def count_paths(cards: int) -> dict[str, int]:
    """Return the numbers of paths of external sampling, for one deal and for the game."""
    game = games.KuhnPoker(cards=cards)
    sigma, found = Strategy.uniform(game), []
    for i in (0, 1):

        def walk(draw: Draw, i: int = i) -> None:
            external_walk()(game, (), i, draw, sigma, new_table(), new_table())

        found.append(sum(1 for _ in every_path(walk)))
    deals = cards * (cards - 1)
    one = {f"traverser {i}": n // deals for i, n in enumerate(found)}
    return one | {"four cards": sum(found)}


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
    return expected_increments(external_walk())


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


def variances_at_equilibrium(vanishes: bool = False, **how: Any) -> dict[str, object]:
    """Return the variances of both schemes at an equilibrium."""
    sigma = games.kuhn_equilibrium(games.KuhnPoker(), 0.2)
    return {
        "external": total_variance(sigma, external_walk(), **how),
        "outcome": total_variance(sigma, outcome_walk(), **how),
        "vanishes": vanishes,
    }


@cache
def best_epsilons(average: bool = False, loudest: bool = False) -> dict[int, float]:
    """Return the ε with the least variance after some numbers of iterations of CFR."""
    grid = [n / 20 for n in range(1, 21)]
    run, found = CFR(games.KuhnPoker(), update="simultaneous"), {}
    for T in AFTER:
        run.run(T - run.iterations)
        sigma = run.average if average else run.current
        total = [total_variance(sigma, outcome_walk(epsilon)) for epsilon in grid]
        found[T] = grid[int(np.argmax(total) if loudest else np.argmin(total))]
    return found


# ---- 7.6 -------------------------------------------------------------------------------------

CHECKS, BETS, CALLS = (1 / 2, 1), (1, 1 / 3), (1 / 4, 3 / 4)  # in both iterations


def weighted(*weights: Any) -> float:
    """Return the mean probability of a call, each iteration weighted by a product."""
    shares = [math.prod(each) for each in zip(*weights, strict=True)]
    return math.fsum(w * p for w, p in zip(shares, CALLS, strict=True)) / math.fsum(shares)


def averages(**changes: float) -> dict[str, float]:
    """Return the answer to exercise 7.6, optionally with changes.

    At the opponent's nodes, a walk comes by as often as the queen's owner plays there. At the
    traverser's own, it comes by as often as the opponent bets.
    """
    right = {"average": weighted(CHECKS), "opponent": weighted(CHECKS), "own": weighted(BETS)}
    return right | changes


EXERCISES = (
    Exercise(
        "7.1",
        "By hand",
        "a dictionary with 'K' and 'K check-bet', each a dictionary of regrets by action",
        by_hand,
        (
            Mistake(
                lambda: by_hand(head=False),
                "The values are right. But a walk reaches the second decision only if it drew "
                "the check at the first, so the regrets there have to make up for the walks "
                "that did not: line 8 divides.",
            ),
            Mistake(
                lambda: by_hand(tail=False),
                "You left out the division of line 6: the payoff has to make up for all the "
                "walks that do not draw this action.",
            ),
            Mistake(
                lambda: by_hand(charged=False),
                "The actions drawn are right. The others count as 0 in the mean, so they have "
                "a regret as well, although nobody tried them.",
            ),
        ),
        points=2,
        takeaway="One division for what lies below an action, one for the way to it.",
        advice="How likely is each of player 0's own draws? Then lines 6 to 8, upward.",
    ),
    Exercise(
        "7.2",
        "Count the paths",
        "a dictionary with the external paths of one deal, 'traverser 0' and 'traverser 1', "
        "and of all of poker with 'four cards'",
        lambda: count_paths(4),
        (
            Mistake(
                lambda: count_paths(4) | {"four cards": count_paths(3)["four cards"]},
                "One deal is right. How many deals are there with four cards? Whether you hold "
                "the king and they the ten, or the other way round, makes two.",
            ),
            Mistake(
                lambda: {"traverser 0": 4, "traverser 1": 4, "four cards": 12 * (4 + 4)},
                "The two traversers are not alike. Against traverser 1, player 0's actions "
                "are drawn: which draw is left after an opening bet?",
            ),
            Mistake(
                lambda: {"traverser 0": 5, "traverser 1": 5, "four cards": 12 * (5 + 5)},
                "You counted ends, as outcome sampling does. In external sampling one path "
                "sees several ends: the traverser's choices do not multiply the paths.",
            ),
        ),
        points=2,
        takeaway="Actions that are drawn multiply the paths; actions that are all tried do "
        "not.",
        advice="Where does the opponent draw? After each choice of the traverser separately.",
    ),
    Exercise(
        "7.3",
        "Find the planted bug",
        "a function like `friend`, with the same arguments",
        external_walk,
        (
            Mistake(
                lambda: external_walk("average"),
                "In the middle of a run, what it adds is still biased.",
            ),
            Mistake(
                lambda: external_walk("even"),
                "Now the opponent's action is drawn uniformly, but counted as if it were not: "
                "still biased.",
            ),
            Mistake(
                lambda: external_walk(at="traverser"),
                "The regrets are right. But the average is collected at the traverser's nodes "
                "now, where the walk comes as often as the *others* like; that line was right.",
            ),
        ),
        see=biases,
        points=3,
        takeaway="Draw from the current strategy, and no weight is left.",
        advice="With tables from the middle of a run, the mean over all paths is not right.",
    ),
    Exercise(
        "7.4",
        "Noise at equilibrium",
        "a dictionary with the total variances 'external' and 'outcome', and True or False "
        "under 'vanishes'",
        variances_at_equilibrium,
        (
            Mistake(
                lambda: variances_at_equilibrium(vanishes=True),
                "The numbers are right. Do they say that the noise vanishes?",
            ),
            Mistake(
                lambda: variances_at_equilibrium(squared=False),
                "These are means of squares. From each of them, subtract the square of the "
                "mean; most means are 0 at equilibrium, not all.",
            ),
            Mistake(
                lambda: variances_at_equilibrium(traversers=(0,)),
                "You have the walks of player 0 only. Add those of player 1.",
            ),
        ),
        tolerance=2e-3,
        takeaway="The regrets are near 0 there, and the dice are still rolled.",
        advice="Put `equilibrium` into `sigma` and add up `moments(walk)[2].values()`.",
    ),
    Exercise(
        "7.5",
        "Open: which ε?",
        f"a dictionary with an ε, a multiple of 0.05, for each of {', '.join(map(str, AFTER))}",
        lambda: dict(best_epsilons()),
        (
            Mistake(
                lambda: best_epsilons(average=True),
                "That is for the average strategy. A walk draws from the *current* one, "
                "`run.current`.",
            ),
            Mistake(
                lambda: best_epsilons(loudest=True),
                "There the variance is largest. An action that is never played is drawn "
                "with probability ε/2, and counts the more the smaller that is.",
            ),
            Mistake(
                lambda: dict.fromkeys(AFTER, MIX),
                "That is the usual choice. The variance alone would choose otherwise.",
            ),
        ),
        points=2,
        takeaway="A low variance is not yet a low exploitability: on Leduc poker ε = 1 "
        "gained nothing over 0.6. What a schedule should look at is open.",
        advice="`moments(outcome_walk)[2].values()`, added up, for 20 values of `epsilon`.",
    ),
    Exercise(
        "7.6",
        "Where to collect the average",
        "a dictionary with how often the right 'average' calls, and the two tables: collected "
        "at the 'opponent' nodes, and at the traverser's 'own'",
        averages,
        (
            Mistake(
                lambda: averages(average=weighted((1, 1)), opponent=weighted((1, 1))),
                "You took the plain mean of both iterations. The average strategy is weighted "
                "by how likely the player's own actions lead to the infoset.",
            ),
            Mistake(
                lambda: averages(opponent=weighted(BETS), own=weighted(CHECKS)),
                "You have them the wrong way round. If player 1 is the traverser, whose action "
                "is sampled at the queen's first decision, and whose are all expanded?",
            ),
            Mistake(
                lambda: averages(own=weighted(CHECKS, BETS)),
                "The first two are right. If player 0 is the traverser, both of their first "
                "actions are expanded: the walk comes to the second decision however rarely "
                "they check.",
            ),
            Mistake(
                lambda: averages(own=weighted((1, 1))),
                "The first two are right. A walk of player 0 does not always come by: player "
                "1 has to bet, and that is sampled.",
            ),
        ),
        tolerance=1e-4,
        takeaway="Whoever is sampled comes by in proportion to their own reach: so collect the "
        "average where the *other* player is the traverser.",
        advice="How often does a walk come to the second decision, in each iteration and for "
        "each traverser? These are the weights.",
    ),
)
