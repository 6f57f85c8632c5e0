"""Exercises of chapter 8: inclusion probabilities, shared samples, a bug, the choice of k."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

from cfrlib import games
from cfrlib.exercises.grading import Exercise, Mistake, require_function
from cfrlib.exercises.monte_carlo import Draw, Table, Weights
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.montecarlo import MCCFR, RobustSampling, every_path, inclusion_probabilities
from cfrlib.strategy import Strategy

Walk = Callable[[Any, Any, int, float, float], Any]

FIRST = (0.6, 0.3, 0.1)  # probabilities of the first sample, exercise 8.1
EPSILON = 0.2  # weight of uniform sampling in the code of the page
NODES, SEEDS = 100_000, 10  # of exercise 8.5
KS = {1: 1, 2: 2, 4: 4, "all": math.inf}

# ---- inclusion probabilities -----------------------------------------------------------------


def with_replacement(biased: bool | None = None, tried: float | None = None) -> dict[str, Any]:
    """Return the answer to exercise 8.2: bias, and expected number of distinct actions."""
    p, distinct, means = (0.5, 0.3, 0.2), 0.0, [0.0, 0.0, 0.0]
    for draws in product(range(3), repeat=2):
        chance = math.prod(p[a] for a in draws)
        distinct += chance * len(set(draws))
        for a in set(draws):  # an unbiased estimate of 1 has mean 1
            means[a] += chance / (1 - (1 - p[a]) ** 2)
    if biased is None:
        biased = max(abs(mean - 1) for mean in means) > 1e-12
    return {"biased": biased, "tried": distinct if tried is None else tried}


# ---- the traversal of the page ---------------------------------------------------------------


def sample(m: Any, I: str) -> dict[Any, float]:
    """Return sampled actions of an infoset with their inclusion probabilities."""
    row, n = m.sigma[I], len(m.sigma[I])
    if m.k >= n:
        return dict.fromkeys(row, 1.0)
    p = {a: EPSILON / n + (1 - EPSILON) * x for a, x in row.items()}
    rho = dict(zip(p, inclusion_probabilities(list(p.values()), m.k), strict=True))
    sampled: dict[Any, float] = {}
    while len(sampled) < m.k:
        a = m.draw({c: x for c, x in p.items() if c not in sampled})
        sampled[a] = float(rho[a])
    return sampled


def robust_walk(bug: str = "", own: bool = False) -> Walk:
    """Return the page's traversal with robust sampling, optionally with a bug.

    Parameters
    ----------
    bug : str
        ``"piles up"``: q accumulates over the sampled actions of an infoset; ``"stays"``: q is
        never multiplied; ``"alone"``: q is the inclusion probability of one decision;
        ``"left out"``: regrets are not divided by q; ``"upside down"``: q is divided;
        ``"twice"``: values are divided by q as well; ``"whole"``: values are not divided.
    own : bool
        Whether S is updated at the traverser's infosets.
    """

    def walk(m: Any, h: Any, i: int, w: float, q: float) -> Any:
        node = m.game.node(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        if isinstance(node, Chance):
            return walk(m, (*h, m.draw(node.probabilities)), i, w, q)
        I, row = node.infoset, m.sigma[node.infoset]
        if (node.player == i) == own:
            for a in row:
                m.S[I, a] += w * row[a] / q
        if node.player != i:
            return walk(m, (*h, m.draw(row)), i, w, q)
        u, q_child = dict.fromkeys(row, 0.0), q
        for a, rho in m.sample(I).items():
            below = {
                "piles up": q_child * rho,
                "stays": q,
                "upside down": q / rho,
                "alone": rho,
            }
            q_child = below.get(bug, q * rho)
            u[a] = walk(m, (*h, a), i, w, q_child)
            u[a] /= {"whole": 1.0, "twice": q * rho}.get(bug, rho)
        mean = sum(row[a] * u[a] for a in row)
        divisor = {"piles up": q_child, "left out": 1.0}.get(bug, q)
        for a in row:
            m.g[I, a] += (u[a] - mean) / divisor
        return mean

    return walk


def expected_increments(game: Game, k: float, walk: Any) -> tuple[Table, Table]:
    """Return the expected increments of g and S by a traversal."""
    weights = {2: (0.7, 0.3), 3: (0.5, 0.3, 0.2)}
    rows = Strategy.uniform(game).items()
    sigma = {I: dict(zip(row, weights[len(row)], strict=True)) for I, row in rows}
    means: tuple[Table, Table] = (defaultdict(float), defaultdict(float))
    for i in (0, 1):
        m = SimpleNamespace(game=game, k=k, sigma=sigma)
        m.sample = lambda I, m=m: sample(m, I)

        def one(draw: Draw, i: int = i, m: Any = m) -> None:
            m.draw, m.g, m.S = draw, defaultdict(float), defaultdict(float)
            walk(m, (), i, 1.0, 1.0)

        for p, _ in every_path(one):
            for mean, table in zip(means, (m.g, m.S), strict=True):
                for key, x in table.items():
                    mean[key] += p * x
    return means


class LongWay(Game):
    """Player 0 may stop at two decisions before player 1 may stop, and at one after that.

    In the page's games a player decides twice at most: there, q below a decision is that
    decision's own inclusion probability.
    """

    MOVERS = (0, 0, 1, 0)

    def node(self, h: History) -> Node:
        """Return the node at a history."""
        n = len(h)
        if n == len(self.MOVERS) or "stop" in h:
            won = n if n % 2 == 0 else -n
            return Terminal((won, -won))
        return Decision(self.MOVERS[n], f"after {n}", ("stop", "go"))


def increments(k: float, walk: Any) -> list[Table]:
    """Return the expected increments of both tables on three games."""
    every = games.KuhnPoker(), games.RockPaperScissors(3), LongWay()
    return [table for game in every for table in expected_increments(game, k, walk)]


@cache
def correct_increments(k: float) -> list[Table]:
    """Return the expected increments by the correct traversal."""
    return increments(k, robust_walk())


def largest_gap(found: Sequence[Table], wanted: Sequence[Table]) -> float:
    """Return the largest difference between two lists of tables."""
    return max(
        abs(mean[key] - exact[key])
        for mean, exact in zip(found, wanted, strict=True)
        for key in mean.keys() | exact.keys()
    )


def biases(walk: Any) -> dict[str, float]:
    """Return the largest bias of a reader's traversal in g or S, for each k."""
    require_function(walk)
    return {
        f"k = {k}": largest_gap(increments(k, walk), correct_increments(k)) for k in (1, 2, 3)
    }


# ---- one sample of the opponent --------------------------------------------------------------


@cache
def total_variance(once: bool) -> float:
    """Return the variance of all sampled regrets on biased rock–paper–scissors with k = 3.

    With `once`, all branches share one sample of the opponent's action.
    """
    game = games.RockPaperScissors(3)
    sigma = Strategy.uniform(game)
    first: Table = defaultdict(float)
    second: Table = defaultdict(float)
    for i in (0, 1):
        m = SimpleNamespace(game=game, k=3, sigma=sigma)
        m.sample = lambda I, m=m: sample(m, I)

        def one(draw: Draw, i: int = i, m: Any = m) -> None:
            samples: list[Any] = []

            def shared_draw(weights: Weights) -> Any:
                if not (once and samples):
                    samples.append(draw(weights))
                return samples[-1]

            m.draw, m.g, m.S = shared_draw, defaultdict(float), defaultdict(float)
            robust_walk()(m, (), i, 1.0, 1.0)

        for p, _ in every_path(one):
            for key, x in m.g.items():
                first[key] += p * x
                second[key] += p * x**2
    return sum(x - first[key] ** 2 for key, x in second.items())


def one_for_all(scale: float = 1.0) -> dict[str, object]:
    """Return the answer to exercise 8.3, the variance times a factor."""
    return {"unbiased": True, "variance": scale * total_variance(once=True)}


def variance_of_payoffs() -> float:
    """Return the variance of the payoffs themselves, over all samples: a mistake."""
    table = games.RockPaperScissors(3).row_payoffs
    return float(2 * np.var(table, axis=1).sum())


# ---- which k ---------------------------------------------------------------------------------


@cache
def race(k: float, seed: int, iterations: int | None = None) -> float:
    """Return the exploitability on liar's dice after 100,000 nodes, or some iterations."""
    game = games.LiarsDice(faces=3)
    run = MCCFR(game, sampling=RobustSampling(k), seed=seed, threads=1).run(100)
    total = round(100 * NODES / run.nodes) if iterations is None else iterations
    run.run(total - 100, progress=False)
    return float(run.solution().exploitability)


def which_k(
    seeds: int = SEEDS, iterations: int | None = None, decided: bool | None = None
) -> dict[object, Any]:
    """Return the mean for each k, and whether k = 4 and all actions differ significantly."""
    found = {name: [race(k, s, iterations) for s in range(seeds)] for name, k in KS.items()}
    if decided is None:
        four, every = np.array(found[4]), np.array(found["all"])
        error = math.sqrt((four.var(ddof=1) + every.var(ddof=1)) / seeds)
        decided = bool(abs(four.mean() - every.mean()) > 2 * error)
    means: dict[object, Any] = {name: float(np.mean(e)) for name, e in found.items()}
    return means | {"decided": decided}


def means_times(scale: float) -> dict[object, Any]:
    """Return the answer to exercise 8.5 with all means times a factor."""
    return {key: x if key == "decided" else scale * x for key, x in which_k().items()}


# ---- 8.6 and 8.7 -----------------------------------------------------------------------------

WORTH, TRIED, GUESSES = 6, 1 / 4, (0, 5, 10)  # of exercise 8.7


def floored_noise(walks: int, batch: int = 1, once: bool = False) -> float:
    """Return the mean of Q after walks that find +1 or −1, with equal probability.

    Parameters
    ----------
    walks, batch : int
        Number of walks, and how many of them are averaged in an update.
    once : bool
        Whether Q is floored at the end only, which is wrong.
    """
    total = 0.0
    for found in product((1, -1), repeat=walks):
        Q = 0.0
        for n in range(0, walks, batch):
            Q += sum(found[n : n + batch]) / batch
            Q = Q if once else max(Q, 0)
        total += max(Q, 0) / 2**walks
    return total


def noise(once: bool = False, batch: float | None = None) -> dict[str, float]:
    """Return the answer to exercise 8.6, optionally floored once or with another batch."""
    singles = {f"{n} walks": floored_noise(n, once=once) for n in (2, 3)}
    return singles | {"batch of 3": floored_noise(3, 3) if batch is None else batch}


def guesses_worth(divided: bool = True, centered: bool = True) -> dict[str, float]:
    """Return the variance for each baseline, the mean with the last, and the largest helpful.

    Parameters
    ----------
    divided : bool
        Whether the difference to the baseline is divided by the probability of a trial.
    centered : bool
        Whether the square of the mean is subtracted.
    """
    found = {}
    for b in GUESSES:
        values = np.array([b + (WORTH - b) / (TRIED if divided else 1), b])
        odds = np.array([TRIED, 1 - TRIED])
        mean = float(odds @ values)
        found[str(b)] = float(odds @ values**2) - centered * mean**2
    return found | {"mean": mean, "no harm": 2.0 * WORTH}


EXERCISES = (
    Exercise(
        "8.1",
        "By hand",
        "three inclusion probabilities, in the order of the actions",
        lambda: inclusion_probabilities(FIRST, 2).tolist(),
        (
            Mistake(
                lambda: [2 * x for x in FIRST],
                "You doubled the probabilities of the first sample. They add up to 2 as they "
                "should, but one of them is above 1: an action that is sampled first cannot be "
                "sampled again.",
            ),
            Mistake(
                lambda: [1 - (1 - x) ** 2 for x in FIRST],
                "Your second sample is from the full row, as if the first action were put "
                "back. Only two actions are left, and their probabilities have to add up to 1.",
            ),
            Mistake(
                lambda: list(FIRST),
                "That is the first sample alone. An action is also tried if it comes second.",
            ),
            Mistake(
                lambda: (inclusion_probabilities(FIRST, 2) - FIRST).tolist(),
                "That is the second sample alone. An action is also tried if it comes first.",
            ),
            Mistake(
                lambda: (1 - inclusion_probabilities(FIRST, 2)).tolist(),
                "These are the probabilities that an action is *not* tried.",
            ),
            Mistake(
                lambda: (inclusion_probabilities(FIRST, 2) / 2).tolist(),
                "You made them add up to 1. Two actions are tried each time, so they add up to "
                "2.",
            ),
            Mistake(
                lambda: [2 / 3] * 3,
                "You sampled uniformly. The first action is likelier than the others, both "
                "times.",
            ),
            Mistake(
                lambda: [1, 0.75, 0.25],
                "You let the first action come first for certain. Any of the three may.",
            ),
            Mistake(
                lambda: inclusion_probabilities(FIRST, 2)[::-1].tolist(),
                "Your numbers are in reverse order: the first action is the likeliest.",
            ),
        ),
        tolerance=1e-4,
        takeaway="They add up to 2, because two are tried each time.",
        advice="First, or second after either of the other two: three terms for each action.",
    ),
    Exercise(
        "8.2",
        "Is this a bug?",
        "a dictionary with True or False under 'biased', and under 'tried' how many actions "
        "are tried on average",
        with_replacement,
        (
            Mistake(
                lambda: with_replacement(biased=True),
                "The number is right. But doesn't the friend divide by exactly the "
                "probability that the action is tried?",
            ),
            Mistake(
                lambda: with_replacement() | {"tried": 2},
                "There are two samples each time. If both are the same action, one action is "
                "tried.",
            ),
            Mistake(
                lambda: {"biased": True, "tried": 2},
                "An action that is sampled twice is tried once. And what is the probability "
                "that an action is tried?",
            ),
            Mistake(
                lambda: with_replacement(tried=1 + sum(x**2 for x in (0.5, 0.3, 0.2))),
                "You added the probability that both samples are alike. If they are, *one* "
                "action is tried, otherwise two.",
            ),
            Mistake(
                lambda: with_replacement(tried=1 - sum(x**2 for x in (0.5, 0.3, 0.2))),
                "That is the probability that the two samples differ. How many actions are "
                "tried then, and how many otherwise?",
            ),
            Mistake(
                lambda: with_replacement(tried=sum(x**2 for x in (0.5, 0.3, 0.2))),
                "That is the probability that the two samples are alike. How many actions are "
                "tried then, and how many otherwise?",
            ),
            Mistake(
                lambda: with_replacement(tried=5 / 3),
                "You sampled uniformly. The three actions have different probabilities.",
            ),
            Mistake(
                lambda: with_replacement(tried=3),
                "Two samples cannot try three actions.",
            ),
            Mistake(
                lambda: with_replacement(tried=with_replacement()["tried"] / 2),
                "You divided by the number of samples. The exercise asks how many actions are "
                "tried, out of three.",
            ),
        ),
        takeaway="Any way of sampling will do if you divide by its inclusion probabilities.",
        advice="Add up the inclusion probabilities: each is the mean of an indicator.",
    ),
    Exercise(
        "8.3",
        "One opponent for all",
        "a dictionary with True or False under 'unbiased', and the 'variance'",
        one_for_all,
        (
            Mistake(
                lambda: {"unbiased": True, "variance": total_variance(once=False)},
                "This is the variance of the page's walk, which samples again below each "
                "action.",
            ),
            Mistake(
                lambda: {"unbiased": False, "variance": total_variance(once=True)},
                "The variance is right. For the mean, look at one action at a time: from which "
                "distribution is its opponent's action sampled?",
            ),
            Mistake(
                lambda: {"unbiased": False, "variance": total_variance(once=False)},
                "This is the variance of the page's walk, which samples again below each "
                "action. And for the mean, look at one action at a time: from which "
                "distribution is its opponent's action sampled?",
            ),
            Mistake(
                lambda: one_for_all(1 / 2),
                "You have the walks of one traverser only. Add those of the other.",
            ),
            Mistake(
                lambda: {"unbiased": True, "variance": total_variance(once=True) ** 0.5},
                "This is a standard deviation. The variance is the square.",
            ),
            Mistake(
                lambda: {"unbiased": True, "variance": total_variance(once=False) / 3},
                "You divided the variance of the page by three. There is one sample in place "
                "of three, but the three regrets share it: list the three paths.",
            ),
            Mistake(
                lambda: {"unbiased": True, "variance": 3 * total_variance(once=False)},
                "You multiplied the variance of the page by three. The three regrets share a "
                "sample, so they move together: list the three paths.",
            ),
            Mistake(
                lambda: {"unbiased": True, "variance": 0},
                "Within a walk nothing varies. From walk to walk the opponent's action does.",
            ),
            Mistake(
                lambda: one_for_all(1 / 6),
                "This is the mean over the six regrets. The total variance is their sum.",
            ),
            Mistake(
                lambda: {"unbiased": True, "variance": variance_of_payoffs()},
                "This is the variance of the payoffs. A regret also subtracts their mean, "
                "which varies with the same sample.",
            ),
        ),
        points=2,
        takeaway="Means add up whether or not samples are independent; variances do not.",
        advice="A walk has a single sample: three paths for each traverser.",
    ),
    Exercise(
        "8.4",
        "Find the planted bug",
        "a function like `friend`, with the same arguments",
        robust_walk,
        (
            Mistake(
                lambda: robust_walk("piles up"),
                "With k = 1 and with k = 2 it is still biased.",
            ),
            Mistake(
                lambda: robust_walk("stays"),
                "Now q stays 1 all the way down, so later decisions are not divided by the "
                "probability that a walk reaches them.",
            ),
            Mistake(
                lambda: robust_walk("alone"),
                "Now q below a decision is that decision's inclusion probability alone. It has "
                "to be multiplied by those of the decisions above it.",
            ),
            Mistake(
                lambda: robust_walk("left out"),
                "The regrets in g are no longer divided by q. The error does not show in games "
                "in which each player decides only once.",
            ),
            Mistake(
                lambda: robust_walk(own=True),
                "The regrets are right, but now the average is collected at the traverser's "
                "nodes; that line was right.",
            ),
            Mistake(
                lambda: robust_walk("whole"),
                "q is right now. But what an action brings back is no longer divided by its "
                "inclusion probability; that line was right.",
            ),
            Mistake(
                lambda: robust_walk("upside down"),
                "q is a probability, and gets smaller on the way down: multiply by the "
                "inclusion probability.",
            ),
            Mistake(
                lambda: robust_walk("twice"),
                "What an action brings back is divided by q as well. Its own inclusion "
                "probability is enough; the way to it is in the divisor of the regrets.",
            ),
        ),
        see=biases,
        points=3,
        takeaway="q belongs to one history: each action below it gets its own product.",
        advice="Averaged over all paths, its increments of g or S are wrong.",
    ),
    Exercise(
        "8.5",
        "Open: which k?",
        "a dictionary with the mean exploitability under 1, 2, 4 and 'all', and True or False "
        "under 'decided'",
        which_k,
        (
            Mistake(
                lambda: which_k(decided=True),
                "The means are right. Is the gap between k = 4 and all actions larger than "
                "two standard errors of it?",
            ),
            Mistake(
                lambda: which_k(seeds=1, decided=True),
                "That is seed 0 alone, and one seed is not an answer.",
            ),
            Mistake(
                lambda: which_k(seeds=1, decided=False),
                "That is seed 0 alone, which has no standard error at all.",
            ),
            Mistake(
                lambda: means_times(2),
                "These are means of NashConv, twice the exploitability.",
            ),
            Mistake(
                lambda: means_times(SEEDS),
                "These are sums over ten seeds. Divide by ten.",
            ),
            Mistake(
                lambda: which_k() | {1: which_k()["all"], "all": which_k()[1]},
                "You have k = 1 and *all* the wrong way round: with one action in each walk "
                "there is more noise.",
            ),
            Mistake(
                lambda: which_k(seeds=SEEDS - 1),
                "You took nine seeds, 0 to 8. `range(10)` has ten.",
            ),
            Mistake(
                lambda: which_k(seeds=2),
                "You took two seeds, 0 and 1. The exercise asks for ten.",
            ),
            Mistake(
                lambda: which_k(iterations=1_000),
                "You gave each k the same number of iterations. A walk with a larger k visits "
                "more nodes: compare at equal nodes.",
            ),
        ),
        points=2,
        takeaway="k = 4 is as good as trying all actions, with less work in each walk. Where "
        "a k in the middle wins, and whether it should differ among infosets, is "
        "open.",
        advice="`race(k, seed)`, seeds 0 to 9.",
    ),
    Exercise(
        "8.6",
        "Noise on the floor",
        "a dictionary with the mean of Q after '2 walks' and '3 walks', and after one update "
        "by a 'batch of 3'",
        noise,
        (
            Mistake(
                lambda: noise(once=True),
                "You floored the sum once, at the end. RM+ floors it after each update, and "
                "forgets on the way how far below zero it would have been.",
            ),
            Mistake(
                lambda: dict.fromkeys(noise(), 0),
                "That is the mean of the plain sum, in which noise cancels. Floored noise does "
                "not.",
            ),
            Mistake(
                lambda: noise(batch=3 * floored_noise(3, 3)),
                "The single walks are right. A batch adds the *mean* of its walks, not their "
                "sum.",
            ),
            Mistake(
                lambda: noise(batch=floored_noise(1)),
                "The single walks are right. You floored each walk of the batch. The mean "
                "comes first, in which noise cancels, then the floor.",
            ),
            Mistake(
                lambda: noise(batch=1),
                "The single walks are right. You floored after each walk of the batch. First "
                "comes the mean of the three, then the floor, once.",
            ),
            Mistake(
                lambda: noise() | {"2 walks": 1 / 2, "3 walks": 1 / 2},
                "You gave the mean of Q after one walk. It does not stay: the floor catches "
                "half of what comes down, at each step.",
            ),
            Mistake(
                lambda: dict.fromkeys(noise(), 1 / 2),
                "You gave the mean of Q after one walk. With more walks more is added, and a "
                "batch of three cancels part of the noise first.",
            ),
            Mistake(
                lambda: {"2 walks": 1, "3 walks": 3 / 2, "batch of 3": 1 / 2},
                "You added the mean after one walk as often as there are walks. But once Q is "
                "positive, a bad walk takes something away again.",
            ),
            Mistake(
                lambda: noise() | {"3 walks": 3 / 2 * noise()["2 walks"]},
                "Two walks are right. The mean does not grow in proportion: list the four "
                "values that Q may have after two walks, and let each go up or down.",
            ),
            Mistake(
                lambda: noise() | {"3 walks": 2 * noise()["2 walks"]},
                "Two walks are right. The mean does not double: list the four values that Q "
                "may have after two walks, and let each go up or down.",
            ),
            Mistake(
                lambda: noise(batch=1 / 8),
                "The single walks are right. For the batch you counted the case of three good "
                "walks only. With two good ones and a bad one the mean is positive as well.",
            ),
            Mistake(
                lambda: noise(batch=noise()["batch of 3"] / 3),
                "The single walks are right. You divided the batch by three twice: a mean of "
                "three walks is divided once.",
            ),
            Mistake(
                lambda: noise(batch=0),
                "The single walks are right. The mean of a batch is 0 on average, but the "
                "floor comes after it: what happens to a negative mean?",
            ),
        ),
        takeaway="There was nothing to learn, and yet Q grows with every walk. In a batch, "
        "part of the noise cancels before the floor is applied.",
        advice="Write down all ways in which the walks can fall, and Q after each step.",
    ),
    Exercise(
        "8.7",
        "What is a guess worth?",
        "a dictionary with the variance for the baselines '0', '5' and '10', the 'mean' of the "
        "estimate with the last, and the largest baseline that does 'no harm'",
        guesses_worth,
        (
            Mistake(
                lambda: guesses_worth(divided=False),
                "You left out a division: where the action is tried, the difference to the "
                "baseline counts 1/ρ times.",
            ),
            Mistake(
                lambda: guesses_worth(centered=False),
                "These are means of squares. Subtract the square of the mean, which is the "
                "same for every baseline.",
            ),
            Mistake(
                lambda: {
                    key: x**0.5 if key in map(str, GUESSES) else x
                    for key, x in guesses_worth().items()
                },
                "These are standard deviations. The variance is the square.",
            ),
            Mistake(
                lambda: guesses_worth() | {"no harm": float(WORTH)},
                "The rest is right. With a baseline equal to the value nothing varies. A "
                "slightly larger baseline is still better than zero.",
            ),
            Mistake(
                lambda: guesses_worth() | {"mean": 10.0},
                "The variances are right. A baseline of 10 does not make the estimate 10: "
                "where the action is tried, the difference to the true value is added back.",
            ),
            Mistake(
                lambda: guesses_worth() | {"mean": 9.0},
                "The variances are right. Where the action is tried, the difference to the "
                "baseline counts 1/ρ times. You counted it once.",
            ),
            Mistake(
                lambda: guesses_worth() | {"mean": -6.0},
                "That is the estimate if the action is tried. The mean also counts the walks "
                "that do not try it.",
            ),
            Mistake(
                lambda: guesses_worth() | {"mean": 4.0},
                "That is how far the baseline is from the value. The mean of the estimate does "
                "not depend on the baseline.",
            ),
            Mistake(
                lambda: guesses_worth() | {"no harm": 10.0},
                "That baseline still helps: its variance is smaller than without one. Which is "
                "as far from the value as 0 is?",
            ),
            Mistake(
                lambda: guesses_worth() | {"no harm": 5.0},
                "That is the best of the three. A larger one may still be no worse than 0: "
                "which is as far from the value as 0 is?",
            ),
            Mistake(
                lambda: guesses_worth() | {"no harm": 11.0},
                "You stopped one short. Which baseline is exactly as far from the value as 0 "
                "is?",
            ),
            Mistake(
                lambda: guesses_worth() | {"no harm": 24.0},
                "That is the value divided by the probability. What counts is the distance of "
                "the baseline from the value.",
            ),
            Mistake(
                lambda: guesses_worth() | {"0": 0.0},
                "Without a baseline the estimate varies: it is 0 where the action is not "
                "tried.",
            ),
            Mistake(
                lambda: guesses_worth() | {"10": guesses_worth()["0"]},
                "A baseline of 10 is nearer to the value than 0 is.",
            ),
            Mistake(
                lambda: guesses_worth() | {"0": 576.0, "5": 1.0, "10": 256.0},
                "You took the square of the estimate where the action is tried. Weight both "
                "cases by their probability, and measure from the mean.",
            ),
        ),
        takeaway="Only the distance from the value matters, and any guess nearer than zero "
        "helps. None of them changes the mean.",
        advice="The estimate has two possible values: the baseline, or the baseline plus the "
        "difference divided by ρ.",
    ),
)
