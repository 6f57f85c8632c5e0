"""Exercises of chapter 8: inclusion probabilities, shared samples, a bug, the choice of k."""

from __future__ import annotations

import math
from collections import defaultdict
from functools import cache
from itertools import product
from types import SimpleNamespace
from typing import Any

import numpy as np

from cfrbook.exercises.grading import require_function
from cfrbook.exercises.shared import Draw, Table, Weights, largest_gap
from cfrbook.exercises.sheet import read
from cfrbook.exercises.written import planted, some_increments, walker
from cfrbook.museum import mutant
from cfrlib import games
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.montecarlo import MCCFR, RobustSampling, every_path, inclusion_probabilities
from cfrlib.plain import ExternalSamplingSolver, RobustSamplingSolver
from cfrlib.strategy import Strategy

FIRST = (0.6, 0.3, 0.1)  # probabilities of the first sample, exercise 8.1
EPSILON = 0.2  # weight of uniform sampling in the code of the page
NODES, SEEDS = 100_000, 10  # of exercise 8.8
KS = {1: 1, 2: 2, 4: 4, "all": math.inf}

# ---- inclusion probabilities -----------------------------------------------------------------


def with_replacement(biased: bool | None = None, tried: float | None = None) -> dict[str, Any]:
    """Return the answer to exercise 8.4: bias, and expected number of distinct actions."""
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


def robust(m: Any, h: Any, i: int, w: float, q: float) -> Any:
    """Return an estimate of player i's utility at h by robust sampling; add to g and S."""
    node = m.game.node(h)
    if isinstance(node, Terminal):
        return node.utilities[i]
    if isinstance(node, Chance):
        return robust(m, (*h, m.draw(node.probabilities)), i, w, q)
    I, row = node.infoset, m.sigma[node.infoset]
    if node.player != i:
        for a in row:
            m.S[I, a] += w * row[a] / q
        return robust(m, (*h, m.draw(row)), i, w, q)
    u = dict.fromkeys(row, 0.0)
    for a, rho in m.sample(I).items():
        u[a] = robust(m, (*h, a), i, w, q * rho) / rho
    mean = sum(row[a] * u[a] for a in row)
    for a in row:
        m.g[I, a] += (u[a] - mean) / q
    return mean


BELOW = "u[a] = robust(m, (*h, a), i, w, q * rho) / rho"  # a line of it


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
    return increments(k, robust)


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
            robust(m, (), i, 1.0, 1.0)

        for p, _ in every_path(one):
            for key, x in m.g.items():
                first[key] += p * x
                second[key] += p * x**2
    return sum(x - first[key] ** 2 for key, x in second.items())


def one_for_all(scale: float = 1.0) -> dict[str, object]:
    """Return the answer to exercise 8.5, the variance times a factor."""
    return {"unbiased": True, "variance": scale * total_variance(once=True)}


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
    """Return the answer to exercise 8.8 with all means times a factor."""
    return {key: x if key == "decided" else scale * x for key, x in which_k().items()}


# ---- 8.3 and 8.2 -----------------------------------------------------------------------------

WORTH, TRIED, GUESSES = 6, 1 / 4, (0, 5, 10)  # of exercise 8.2


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
    """Return the answer to exercise 8.3, optionally floored once or with another batch."""
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


EXERCISES = read(__file__, globals())
