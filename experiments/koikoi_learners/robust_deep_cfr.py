"""Deep CFR with robust sampling for Koi-Koi: regrets from traversals, with a baseline."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import whole_number
from cfrlib.core.files import Fields
from cfrlib.core.tree import Floats
from koikoi.afterstates import Afterstates
from koikoi.learners.network_player import (
    action_probabilities,
    known_values,
    payoff_scale,
)
from koikoi.learners.segments import (
    mix_uniform,
    sample_rows,
    segment_ids,
    segment_sum,
)
from koikoi.learners.selfplay import (
    Samples,
    Task,
    concatenate,
    payoffs_of,
    samples_of,
)
from koikoi.learners.value_network import ValueNetwork
from koikoi.rules import KoiKoi
from koikoi.simulator import OVER, Numbers, Rounds
from koikoi_learners.regret_networks import CRITIC, REGRET, MeanRegrets


class RobustDeepCFR(MeanRegrets):
    """Deep CFR with robust sampling and a learned baseline.

    A traversal expands each round to a small tree: k actions, sampled without replacement, at
    each decision of the traverser; one action at each decision of the opponent; and one card
    at each draw. Action a is sampled with probability ρ(a). The estimates on the way up are ::

        û(a) = b(a) + [a sampled] (û below a − b(a)) / ρ(a)
        v = Σ_c σ(c) û(c)               r(a) = û(a) − v

    and at a decision of the opponent, who samples a from σ, ::

        v = Σ_c σ(c) b(c) + (û below a − b(a))

    The *baseline* b(a) is the prediction of a second network, trained on the estimates û below
    the sampled actions of the last iterations; for the opponent's actions it is minus what it
    predicts for the opponent. Any b gives the same mean of r(a). Without one, an action that
    is not sampled would count as worth nothing.

    The regret network learns r(a) from the tables before and after the action. No sample has
    an importance weight: the traverser's own choices reach all histories of an infoset with
    the same probability, so the network learns the same mean at each infoset as with weights,
    and regret matching does not depend on the scale of the regrets. Weights would only say
    how well to fit each infoset, and in Koi-Koi they reach a hundred.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    k : int
        1 is outcome sampling; 8 is external sampling, about 800,000 nodes per traversal.
    explore : float
        ε: the first of the k actions is sampled from (1 − ε) σ + ε · uniform, the others
        uniformly among the rest. 1 is robust sampling as published.
    hidden, rounds, steps, batch, rate, seed, memory, power, window, keep_every, jobs
        As for `ESCHER`; `rounds` are traversals.

    Notes
    -----
    Deep CFR: Brown et al. (2019). Robust sampling: Li et al. (2020); its tabular version is
    :class:`cfrlib.RobustSampling`. Baselines: Schmid et al. (2019), and in Deep CFR Steinberger
    et al., *DREAM* (2020). In contrast to these, networks are trained further instead of from
    scratch. If ε < 1, an infoset is visited more often by the strategies that play toward it,
    so the mean over iterations has other weights than in CFR.

    Examples
    --------
    >>> from koikoi import MiniKoiKoi
    >>> RobustDeepCFR(MiniKoiKoi.K8(), k=2, hidden=(16,), rounds=20, steps=5, batch=64)
    RobustDeepCFR of MiniKoiKoi.K8(): 0 iterations, 0 rounds, 0 decisions
    """

    FORMAT = "koikoi.RobustDeepCFR 3"

    def __init__(
        self,
        game: KoiKoi,
        *,
        k: int = 2,
        explore: float = 1.0,
        hidden: Sequence[int] = (256, 128),
        rounds: int = 20,
        steps: int = 60,
        batch: int = 512,
        rate: float = 1e-3,
        seed: int = 0,
        memory: int = 300_000,
        power: float = 3.0,
        window: int = 10,
        keep_every: int = 1,
        jobs: int | None = None,
    ):
        super().__init__(
            game,
            hidden=hidden,
            rounds=rounds,
            steps=steps,
            batch=batch,
            rate=rate,
            seed=seed,
            jobs=jobs,
            explore=explore,
            memory=memory,
            power=power,
            window=window,
            keep_every=keep_every,
            network="pair",
        )
        self.k = whole_number("k", k, 1)

    def _iterate(self, t: int) -> None:
        rng = self._rng(t)
        results = self._run_tasks(t, partial(traverse, k=self.k, explore=self.explore))
        self.decisions += sum(found.decisions for found in results)
        values = concatenate([found.values for found in results])
        self._fit(CRITIC, self._recent.add(values), rng)
        self._learn_regrets(t, concatenate([found.regrets for found in results]), rng)

    def _options(self) -> Fields:
        return {**super()._options(), "k": self.k}


class Found(NamedTuple):
    """What some traversals return.

    Attributes
    ----------
    decisions : int
        Number of decisions of both players.
    regrets, values : Samples
        For the regret network, and for the baseline. The weight of a regret is one over the
        probability that the traverser's own choices reach its decision.
    """

    decisions: int
    regrets: Samples
    values: Samples


class Level(NamedTuple):
    """All nodes at one depth of the traversals.

    Attributes
    ----------
    value : float array, shape (nodes,)
        The payoff to the traverser where the round is over; 0 elsewhere.
    open : int array, shape (decisions,)
        The nodes where the round is not over.
    after : Afterstates
    sigma, rho, baseline : float arrays, shape (rows of `after`,)
        The strategy; the probability that the traverser samples each action, which counts as 1
        for the opponent's actions, since these are sampled by the strategy; and the predicted
        value of each action to the player to move.
    sampled : int array, shape (nodes of the next level,)
        The row that leads to each node below.
    own : bool array, shape (decisions,)
        Whether the traverser is to move.
    weight : float array, shape (decisions,)
        One over the probability that the traverser's choices reach the node.
    """

    value: Floats
    open: Numbers
    after: Afterstates
    sigma: Floats
    rho: Floats
    baseline: Floats
    sampled: Numbers
    own: npt.NDArray[np.bool_]
    weight: Floats

    def estimates(self, below: Floats) -> tuple[Floats, Floats]:
        """Return û of each action and v of each decision, both to the player to move.

        `below` has the estimates to the traverser, shape (nodes of the next level,).
        """
        start, rows = self.after.start, self.sampled
        own = self.own[segment_ids(start)]
        surprise = np.zeros(len(self.sigma))
        surprise[rows] = self.mover(below) - self.baseline[rows]
        u = self.baseline + surprise / self.rho
        sampled_by = np.where(own, self.sigma / self.rho, 1.0)
        return u, segment_sum(self.sigma * self.baseline + sampled_by * surprise, start)

    def mover(self, below: Floats) -> Floats:
        """Return the estimates below the sampled actions to the player who samples them."""
        decision = segment_ids(self.after.start)[self.sampled]
        return np.where(self.own[decision], below, -below)


def traverse(task: Task, k: int, explore: float = 1.0) -> Found:
    """Run the traversals of a task."""
    network, rounds, rng = task.begin()
    levels = descend(network, task, k, explore, rounds, rng)
    regrets: list[Samples] = []
    tables: list[Numbers] = []
    targets: list[Floats] = []
    below = np.zeros(0)
    for level in reversed(levels):
        pairs, decision = level.after.pairs, segment_ids(level.after.start)
        u, v = level.estimates(below)
        learns = (level.own & (np.diff(level.after.start) > 1))[decision]
        weight = level.weight[decision[learns]]
        regrets.append(Samples(pairs[learns], (u - v[decision])[learns], weight))
        unknown = np.isnan(level.after.paid[level.sampled])
        tables.append(pairs[level.sampled[unknown]])
        targets.append(level.mover(below)[unknown])
        below = level.value.copy()
        below[level.open] = np.where(level.own, v, -v)
    decisions = sum(len(level.open) for level in levels)
    return Found(decisions, concatenate(regrets), samples_of(tables, targets))


def descend(
    network: ValueNetwork,
    task: Task,
    k: int,
    explore: float,
    rounds: Rounds,
    rng: np.random.Generator,
) -> list[Level]:
    """Expand the traversals from the deal to the leaves, level by level."""
    describer, scale = network.describer, payoff_scale(task.game)
    traverser, weight = np.arange(task.rounds) % 2, np.ones(task.rounds)
    levels: list[Level] = []
    while True:
        value = payoffs_of(traverser, rounds.paid, scale)
        active = np.flatnonzero(rounds.stage != OVER)
        after = describer.after(rounds, active)
        decision = segment_ids(after.start)
        own = rounds.player[active] == traverser[active]
        if not len(active):
            none = np.zeros(0)
            nobody = np.zeros(0, np.int64)
            levels.append(Level(value, active, after, none, none, none, nobody, own, none))
            return levels
        sigma = action_probabilities("regret", network, task.networks[REGRET], after, scale)
        predicted = network(task.networks[CRITIC], after.pairs)
        baseline = known_values(predicted, after.paid, scale)
        u = rng.random((2, len(active)))
        sampled, rho = sample_subsets(sigma, after.start, k, explore, u[0], rng)
        theirs = np.zeros(len(decision), np.bool_)
        theirs[sample_rows(sigma, after.start, u[1])] = True
        mine = own[decision]
        sampled, rho = np.where(mine, sampled, theirs), np.where(mine, rho, 1.0)
        rows = np.flatnonzero(sampled)
        levels.append(
            Level(value, active, after, sigma, rho, baseline, rows, own, weight[active])
        )
        parent = active[decision[rows]]
        weight = weight[parent] / rho[rows]
        traverser, rounds = traverser[parent], rounds.take(parent)
        describer.simulator.act(rounds, np.arange(len(rows)), after.action[rows])


def sample_subsets(
    sigma: Floats,
    start: Numbers,
    k: int,
    explore: float,
    u: Floats,
    rng: np.random.Generator,
) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Sample k actions of each decision without replacement, or all if there are no more.

    The first action is sampled from p = (1 − ε) σ + ε · uniform, where ε is `explore`, by
    inverse transform of `u`; the others are uniform among the rest.

    Returns
    -------
    sampled : bool array, shape (rows,)
    rho : float array, shape (rows,)
        The probability that each action is sampled, p + (1 − p) (k − 1) / (n − 1).
    """
    decision = segment_ids(start)
    n = np.diff(start)[decision]
    p = mix_uniform(sigma, start, explore)
    order = rng.random(len(p))
    order[sample_rows(p, start, u)] = -1.0  # comes first
    ranked = np.lexsort((order, decision))
    place = np.empty(len(p), np.int64)
    place[ranked] = np.arange(len(p)) - start[decision]
    others = np.minimum(k, n) - 1
    rho = p + (1.0 - p) * others / np.maximum(n - 1, 1)
    return place <= others, np.where(n > 1, rho, 1.0)
