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


def external_walk(source: str = "strategy", at: str = "opponent", fault: str = "") -> Walk:
    """Return the traversal of exercise 7.3, external sampling, correct or with a bug.

    Parameters
    ----------
    source : str
        Distribution of the opponent's actions: ``"strategy"``, ``"average"``, ``"even"``, or
        ``"likeliest"`` for one action only.
    at : str
        Player at whose infosets S is updated: ``"opponent"`` or ``"traverser"``.
    fault : str
        ``"weighted"``: regrets are multiplied by the strategy; ``"even mean"``: the mean is not
        weighted by it; ``"no mean"``: it is not subtracted; ``"again"``: the value of a sampled
        action is multiplied by its probability; ``"overwritten"``: S keeps the latest strategy;
        ``"sampled"``: S adds the sampled action only.
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
        if (node.player != i) == (at == "opponent") and fault != "sampled":
            for a in row:
                S[I, a] = row[a] + (0 if fault == "overwritten" else S[I, a])
        if node.player != i:
            average = {a: S[I, a] for a in row}
            weights = {"strategy": row, "average": average, "even": dict.fromkeys(row, 1.0)}
            likeliest = {max(row, key=lambda a: row[a]): 1.0}
            a = draw(weights.get(source, likeliest))
            S[I, a] += row[a] * (fault == "sampled")
            below = walk(game, (*h, a), i, draw, sigma, r, S)
            return row[a] * below if fault == "again" else below
        u = {a: walk(game, (*h, a), i, draw, sigma, r, S) for a in row}
        mean = sum(row[a] * u[a] for a in row)
        if fault == "even mean":
            mean = sum(u.values()) / len(u)
        for a in row:
            weight = row[a] if fault == "weighted" else 1
            r[I, a] += weight * (u[a] - (0 if fault == "no mean" else mean))
        return mean

    return walk


def outcome_walk(
    epsilon: float = MIX, tail: bool = True, charged: bool = True, compared: bool = True
) -> Walk:
    """Return the traversal of exercise 7.1, outcome sampling, correct or with a mistake.

    Parameters
    ----------
    epsilon : float
        Weight of uniform sampling.
    tail : bool
        Whether the sampled value is divided by the probability of the action.
    charged : bool
        Whether actions that are not sampled get a regret.
    compared : bool
        Whether the mean is subtracted.
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
                r[I, a] += (u * (a == sampled) - compared * mean) / q
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
            external_walk()(game, (), i, draw, sigma, new_table(), new_table())

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


@cache
def variances(alpha: float | None = 0.2, epsilon: float = MIX) -> tuple[float, float]:
    """Return the variances of both schemes at an equilibrium, or at uniform play."""
    game = games.KuhnPoker()
    sigma = Strategy.uniform(game) if alpha is None else games.kuhn_equilibrium(game, alpha)
    walks = external_walk(), outcome_walk(epsilon)
    first, second = (total_variance(sigma, walk) for walk in walks)
    return first, second


def variances_at_equilibrium(vanishes: bool = False, **how: Any) -> dict[str, object]:
    """Return the variances of both schemes at an equilibrium."""
    sigma = games.kuhn_equilibrium(games.KuhnPoker(), 0.2)
    return {
        "external": total_variance(sigma, external_walk(), **how),
        "outcome": total_variance(sigma, outcome_walk(), **how),
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
                "The values are right. But a walk reaches the second decision only if it "
                "sampled the check at the first. So the regrets there have to make up for the "
                "walks that did not: line 8 divides.",
            ),
            Mistake(
                lambda: by_hand(tail=False),
                "You left out the division of line 6: the payoff has to make up for all walks "
                "that do not sample this action.",
            ),
            Mistake(
                lambda: by_hand(charged=False),
                "The sampled actions are right. The others count as 0 in the mean, so they "
                "have a regret as well, although the walk did not try them.",
            ),
            Mistake(
                lambda: scaled(6, 6),
                "You divided by the probability of the deal as well. Chance is sampled as it "
                "deals, and its factors cancel.",
            ),
            Mistake(
                lambda: scaled(2, 2),
                "You divided by player 1's probability as well. The opponent is sampled as "
                "they play, and their factors cancel.",
            ),
            Mistake(
                lambda: scaled(2),
                "The second decision is right. At the first, nothing of player 0's lies before "
                "it, so q is 1 there.",
            ),
            Mistake(
                lambda: scaled(-1, -1),
                "The signs are wrong. Player 0 wins two chips, and the sampled actions led "
                "there.",
            ),
            Mistake(
                lambda: by_hand(compared=False),
                "These are sampled values. A regret also subtracts the mean, which counts the "
                "actions that were not sampled as 0.",
            ),
            Mistake(
                lambda: scaled(1 / 2, 1 / 2),
                "All numbers are half of what they should be. Did you weight the regrets by "
                "the strategy, or leave out a division?",
            ),
            Mistake(
                lambda: scaled(1, 1 / 4),
                "The first decision is right. At the second, two divisions are missing: by the "
                "probability of the call, and by that of the check before it.",
            ),
            Mistake(
                lambda: {
                    "K": {"check": 1 / 2, "bet": -1 / 2},
                    "K check-bet": {"fold": -1, "call": 1},
                },
                "You left out all divisions. A walk that comes here rarely has to count for "
                "those that did not come.",
            ),
        ),
        points=2,
        takeaway="One division for what lies below an action, one for the way to it.",
        advice="How likely is each of player 0's own samples? Then apply lines 6 to 8, from "
        "the last decision to the first.",
    ),
    Exercise(
        "7.2",
        "Count the paths",
        "a dictionary with the external paths of one deal, 'traverser 0' and 'traverser 1', "
        "and of all of poker with 'four cards'",
        lambda: count_paths(4),
        (
            Mistake(
                lambda: four(count_paths(3)["four cards"]),
                "One deal is right. How many deals are there with four cards? If you hold the "
                "king and they hold the ten, or the other way round, these are two.",
            ),
            Mistake(
                lambda: {"traverser 0": 4, "traverser 1": 4, "four cards": 12 * (4 + 4)},
                "The two traversers are not alike. If player 1 is the traverser, player 0's "
                "actions are sampled. Which of them is left after an opening bet?",
            ),
            Mistake(
                lambda: {"traverser 0": 5, "traverser 1": 5, "four cards": 12 * (5 + 5)},
                "You counted ends, as outcome sampling does. In external sampling one path "
                "sees several ends: the traverser's choices do not multiply the paths.",
            ),
            Mistake(
                lambda: {"traverser 0": 3, "traverser 1": 4, "four cards": 84},
                "You have the two traversers the wrong way round. If player 0 is the "
                "traverser, the actions of player 1 are sampled.",
            ),
            Mistake(
                lambda: four(4 * 4 * (4 + 3)),
                "One deal is right. You let both players get the same card. There is only one "
                "of each.",
            ),
            Mistake(
                lambda: four(4 * 3 * 2 * (4 + 3)),
                "One deal is right. You dealt three of the four cards. Two players get one "
                "each.",
            ),
            Mistake(
                lambda: four(4 + 3),
                "One deal is right. With four cards there are many deals, and each of them has "
                "these paths.",
            ),
            Mistake(
                lambda: four(4 * 3 * 4),
                "One deal is right. You counted one traverser only. Walks of both make an "
                "iteration.",
            ),
            Mistake(
                lambda: four(4 * 3),
                "One deal is right. You counted the deals. Below each of them there are "
                "several paths.",
            ),
            Mistake(
                lambda: four(4 * 3 * 5),
                "One deal is right. You counted the ends of the game, as in outcome sampling.",
            ),
            Mistake(
                lambda: {"traverser 0": 2, "traverser 1": 2, "four cards": 12 * (2 + 2)},
                "You counted one sample of the opponent in each walk. The opponent may be "
                "asked once after *each* action that the traverser expands.",
            ),
            Mistake(
                lambda: {"traverser 0": 4, "traverser 1": 2, "four cards": 12 * (4 + 2)},
                "The first is right. For traverser 1, list what player 0 does: an opening, and "
                "after a check and a bet an answer.",
            ),
            Mistake(
                lambda: count_paths() | {"traverser 1": 2},
                "For traverser 1, list what player 0 does: an opening, and after a check and a "
                "bet an answer.",
            ),
            Mistake(
                lambda: four(84) | {"traverser 0": 48, "traverser 1": 36},
                "The last is right. The first two are asked for one deal, and you counted all "
                "deals.",
            ),
            Mistake(
                lambda: four(84) | {"traverser 0": 24, "traverser 1": 18},
                "The last is right. The first two are asked for one deal, and you counted all "
                "deals of the game with three cards.",
            ),
        ),
        points=2,
        takeaway="Actions that are sampled multiply the paths; actions that are expanded do "
        "not.",
        advice="Where is the opponent's action sampled? It is sampled separately after each "
        "action of the traverser.",
    ),
    Exercise(
        "7.3",
        "Find the planted bug",
        "a function like `friend`, with the same arguments",
        external_walk,
        (
            Mistake(
                lambda: external_walk("average"),
                "In the middle of a run, its increments are still biased.",
            ),
            Mistake(
                lambda: external_walk("even"),
                "Now the opponent's action is sampled uniformly, and no weight makes up for "
                "it: still biased.",
            ),
            Mistake(
                lambda: external_walk(at="traverser"),
                "The regrets are right. But the average is collected at the traverser's nodes "
                "now, where the walk comes in proportion to the *others'* reach. That line was "
                "right.",
            ),
            Mistake(
                lambda: external_walk("likeliest"),
                "Now the opponent always takes the likeliest action. All of them have to come "
                "up, in proportion to the strategy.",
            ),
            Mistake(
                lambda: external_walk(fault="weighted"),
                "The sampling is right. But the regrets are multiplied by the strategy now; "
                "that line was right.",
            ),
            Mistake(
                lambda: external_walk(fault="even mean"),
                "The sampling is right. But the mean gives all actions the same weight now; "
                "the strategy weights them, and that line was right.",
            ),
            Mistake(
                lambda: external_walk(fault="no mean"),
                "The sampling is right. But the mean is not subtracted any more; that line was "
                "right.",
            ),
            Mistake(
                lambda: external_walk(fault="again"),
                "The value of the sampled action is multiplied by its probability. It already "
                "comes up as often as it is played, so that counts it twice.",
            ),
            Mistake(
                lambda: external_walk(fault="overwritten"),
                "The regrets are right. But S keeps only the latest strategy now; that line "
                "was right.",
            ),
            Mistake(
                lambda: external_walk(fault="sampled"),
                "The regrets are right. But S adds the sampled action only, so on average its "
                "probability counts twice. Add the whole strategy; that loop was right.",
            ),
        ),
        see=biases,
        points=3,
        takeaway="If you sample from the current strategy, no weight is needed.",
        advice="With tables from the middle of a run, its mean increment over all paths is "
        "wrong.",
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
            Mistake(
                lambda: other_variances(*variances(None)),
                "These are the variances at uniform play, as on the page. Put the equilibrium "
                "in its place.",
            ),
            Mistake(
                lambda: other_variances(*(x**0.5 for x in variances())),
                "These are standard deviations. The variance is the square.",
            ),
            Mistake(
                lambda: other_variances(*variances()[::-1]),
                "You have the two schemes the wrong way round. Outcome sampling sees one path "
                "of the game in each walk.",
            ),
            Mistake(
                lambda: other_variances(*variances(0.0)),
                "This is the equilibrium with α = 0. The exercise asks for α = 0.2.",
            ),
            Mistake(
                lambda: other_variances(*variances(1 / 3)),
                "This is the equilibrium with α = 1/3. The exercise asks for α = 0.2.",
            ),
            Mistake(
                lambda: variances_at_equilibrium(traversers=(1,)),
                "You have the walks of player 1 only. Add those of player 0.",
            ),
            Mistake(
                lambda: {"external": 0, "outcome": 0, "vanishes": True},
                "At equilibrium the *expected* regrets are near 0. A variance is about how far "
                "single walks scatter around them.",
            ),
            Mistake(
                lambda: other_variances(variances()[0], variances(0.2, 0.5)[1]),
                "For outcome sampling you took ε = 0.5. The exercise asks for 0.6.",
            ),
            Mistake(
                lambda: other_variances(variances()[0], variances(0.2, 1.0)[1]),
                "For outcome sampling you sampled uniformly, ε = 1. The exercise asks for 0.6.",
            ),
        ),
        tolerance=2e-3,
        takeaway="The regrets are near 0 there, but sampling is still random.",
        advice="`cfr.certify(scheme, game, profile)` has a `total_variance`. Here the profile "
        "is the equilibrium.",
    ),
    Exercise(
        "7.5",
        "Open: which ε?",
        f"a dictionary with an ε, a multiple of 0.05, for each of {', '.join(map(str, AFTER))}",
        lambda: dict(best_epsilons()),
        (
            Mistake(
                lambda: best_epsilons(average=True),
                "That is for the average strategy. A walk samples from the *current* one, "
                "`run.current`.",
            ),
            Mistake(
                lambda: best_epsilons(loudest=True),
                "There the variance is largest. An action that is never played is sampled with "
                "probability ε/2. The smaller that is, the more each sample counts.",
            ),
            Mistake(
                lambda: dict.fromkeys(AFTER, MIX),
                "That is the usual choice. The variance alone would choose otherwise.",
            ),
            Mistake(
                lambda: dict.fromkeys(AFTER, 1.0),
                "You chose uniform sampling everywhere. That is right for one of the four. "
                "Compute all.",
            ),
            Mistake(
                lambda: dict(zip(AFTER, list(best_epsilons().values())[::-1], strict=True)),
                "You have the four strategies in reverse order.",
            ),
            Mistake(
                lambda: {T: 20 * e - 1 for T, e in best_epsilons().items()},
                "These are indices of the grid. The answer asks for the values of ε.",
            ),
            Mistake(
                lambda: {T: 20 * e for T, e in best_epsilons().items()},
                "These count steps of 0.05. The answer asks for the values of ε.",
            ),
            Mistake(
                lambda: {T: e - 0.05 for T, e in best_epsilons().items()},
                "All four are one step of the grid too small. Does your grid begin at 0?",
            ),
            Mistake(
                lambda: best_epsilons(update="alternating"),
                "These are for alternating updates. The exercise asks for simultaneous ones.",
            ),
        ),
        points=2,
        takeaway="A low variance is not yet a low exploitability: on Leduc poker ε = 1 "
        "gained nothing over 0.6. What a schedule should look at is open.",
        advice="`cfr.certify(cfr.OutcomeSampling(e), game, strategy)` has a `total_variance`; "
        "compare it for 20 values of ε.",
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
                "The first two are right. A walk of player 0 does not always come there: "
                "player 1 has to bet, and that is sampled.",
            ),
            Mistake(
                lambda: averages(own=weighted(CHECKS)),
                "The first two are right. If the table is collected at player 0's own nodes, "
                "player 0 is the traverser: their check is expanded. Whose action decides how "
                "often the walk comes by?",
            ),
            Mistake(
                lambda: averages(opponent=weighted(BETS)),
                "At the opponent's nodes, player 1 is the traverser, whose bet is expanded. "
                "Whose action is sampled before the queen's second decision?",
            ),
            Mistake(
                lambda: {key: 1 - x for key, x in averages().items()},
                "These are the probabilities of a fold. The exercise asks for calls.",
            ),
            Mistake(
                lambda: averages(average=weighted(BETS)),
                "The two tables are right. The right average is weighted by the player's *own* "
                "reach, and you took the opponent's.",
            ),
            Mistake(
                lambda: dict.fromkeys(averages(), weighted((1, 1))),
                "You took the plain mean of both iterations each time. Ask how often each "
                "iteration comes to this decision: that is its weight.",
            ),
            Mistake(
                lambda: averages(opponent=weighted((1, 1))),
                "You took the plain mean for the opponent's nodes. The walk does not come "
                "there equally often in both iterations: player 0's check is sampled.",
            ),
            Mistake(
                lambda: dict.fromkeys(averages(), weighted(CHECKS, BETS)),
                "You weighted by both players' probabilities. The average asks for the "
                "player's own, and a walk expands what its traverser does.",
            ),
            Mistake(
                lambda: averages(average=7 / 8, opponent=7 / 8, own=1 / 2),
                "You added the weighted calls up. Divide by the sum of the weights.",
            ),
        ),
        tolerance=1e-4,
        takeaway="A walk reaches a sampled player's nodes in proportion to that player's "
        "reach. So collect the average where the *other* player is the traverser.",
        advice="How often does a walk come to the second decision, in each iteration and for "
        "each traverser? These are the weights.",
    ),
)
