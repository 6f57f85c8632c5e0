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
from cfrlib.game import Chance, Game, Terminal
from cfrlib.montecarlo import MCCFR, RobustSampling, every_path, inclusion_probabilities
from cfrlib.strategy import Strategy

Walk = Callable[[Any, Any, int, float, float], Any]

FIRST = (0.6, 0.3, 0.1)  # probabilities of the first sample, exercise 8.1
EPSILON = 0.2  # weight of uniform sampling in the code of the page
NODES, SEEDS = 100_000, 10  # of exercise 8.5
KS = {1: 1, 2: 2, 4: 4, "all": math.inf}

# ---- inclusion probabilities -----------------------------------------------------------------


def with_replacement(biased: bool | None = None) -> dict[str, object]:
    """Return the answer to exercise 8.2: bias, and expected number of distinct actions."""
    p, tried, means = (0.5, 0.3, 0.2), 0.0, [0.0, 0.0, 0.0]
    for draws in product(range(3), repeat=2):
        chance = math.prod(p[a] for a in draws)
        tried += chance * len(set(draws))
        for a in set(draws):  # an unbiased estimate of 1 has mean 1
            means[a] += chance / (1 - (1 - p[a]) ** 2)
    if biased is None:
        biased = max(abs(mean - 1) for mean in means) > 1e-12
    return {"biased": biased, "tried": tried}


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
        never multiplied; ``"left out"``: regrets are not divided by q.
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
            q_child = {"piles up": q_child * rho, "stays": q}.get(bug, q * rho)
            u[a] = walk(m, (*h, a), i, w, q_child) / rho
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


def increments(k: float, walk: Any) -> list[Table]:
    """Return the expected increments of both tables on the page's games."""
    both = games.KuhnPoker(), games.RockPaperScissors(3)
    return [table for game in both for table in expected_increments(game, k, walk)]


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
) -> dict[object, object]:
    """Return the mean for each k, and whether k = 4 and all actions differ significantly."""
    found = {name: [race(k, s, iterations) for s in range(seeds)] for name, k in KS.items()}
    if decided is None:
        four, every = np.array(found[4]), np.array(found["all"])
        error = math.sqrt((four.var(ddof=1) + every.var(ddof=1)) / seeds)
        decided = bool(abs(four.mean() - every.mean()) > 2 * error)
    means: dict[object, object] = {name: float(np.mean(e)) for name, e in found.items()}
    return means | {"decided": decided}


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
                "You took two times the first draw. That adds up to 2 as it should, but one "
                "of your probabilities is above 1: an action that comes first cannot come "
                "again.",
            ),
            Mistake(
                lambda: [1 - (1 - x) ** 2 for x in FIRST],
                "Your second draw is from the full row, as if the first action were put back. "
                "Only two actions are left, and together they have all of the probability.",
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
                "Two are drawn each time. If both draws give the same action, one is tried.",
            ),
            Mistake(
                lambda: {"biased": True, "tried": 2},
                "An action drawn twice is tried once; and what is its probability of being "
                "among those tried?",
            ),
        ),
        takeaway="Any way of drawing will do, if you divide by its own inclusion probability.",
        advice="Add up the inclusion probabilities: each is the mean of an indicator.",
    ),
    Exercise(
        "8.3",
        "One opponent for all",
        "a dictionary with True or False under 'unbiased', and the 'variance'",
        lambda: {"unbiased": True, "variance": total_variance(once=True)},
        (
            Mistake(
                lambda: {"unbiased": True, "variance": total_variance(once=False)},
                "This is the variance of the page's walk, which draws anew below each action.",
            ),
            Mistake(
                lambda: {"unbiased": False, "variance": total_variance(once=True)},
                "The variance is right. For the mean, look at one action at a time: what is "
                "its opponent drawn from?",
            ),
        ),
        points=2,
        takeaway="Means add up whether or not draws are independent; variances do not.",
        advice="All draws of a walk are one draw: three paths for each traverser.",
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
                "Now q stays 1 all the way down, so later decisions do not know how seldom a "
                "walk comes to them.",
            ),
            Mistake(
                lambda: robust_walk("left out"),
                "The regrets in g are no longer divided by q. The error does not show in "
                "games in which everybody decides only once.",
            ),
            Mistake(
                lambda: robust_walk(own=True),
                "The regrets are right, but now the average is collected at the traverser's "
                "nodes; that line was right.",
            ),
        ),
        see=biases,
        points=3,
        takeaway="q belongs to one history: each action below gets a product of its own.",
        advice="Listed over all paths, what it adds to g or to S is not right on average.",
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
                "The single walks are right. You floored each walk of the batch. First comes "
                "the mean, in which noise cancels, then the floor.",
            ),
        ),
        takeaway="There was nothing to learn, and RM+ believes in more with every walk; in a "
        "batch the noise cancels before the floor sees it.",
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
                "little above that, it is still a better guess than zero.",
            ),
        ),
        takeaway="Only the distance from the value matters, and any guess nearer than zero "
        "helps. None of them changes the mean.",
        advice="The estimate has two possible values: the baseline, or the baseline plus the "
        "difference divided by ρ.",
    ),
)
