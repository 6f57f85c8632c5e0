"""Deep CFR with robust sampling for Koi-Koi: regrets from traversals, without a critic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import whole_number
from cfrlib.core.tree import Floats
from cfrlib.koikoi.afterstates import CODE, Afterstates
from cfrlib.koikoi.learners.network_player import payoff_scale, predicted_values
from cfrlib.koikoi.learners.regret_networks import REGRET, RegretNetworks
from cfrlib.koikoi.learners.segments import (
    match_segments,
    mix_uniform,
    sample_rows,
    segment_ids,
    segment_sum,
)
from cfrlib.koikoi.learners.selfplay import (
    Samples,
    Task,
    check_fraction,
    concatenate,
    payoffs_of,
)
from cfrlib.koikoi.learners.value_network import ValueNetwork
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import OVER, Numbers, Rounds


class RobustDeepCFR(RegretNetworks):
    """Deep CFR with robust sampling: values come from traversals instead of a critic.

    A traversal expands each round to a small tree: k actions, sampled without replacement, at
    each decision of the traverser; one action at each decision of the opponent; and one card
    at each draw. With n actions at a decision, the estimates on the way up are

        û(a) = b(a) + [a sampled] (û below a − b(a)) · n / k
        v = Σ_c σ(c) û(c)               r(a) = û(a) − v

    and at a decision of the opponent, who samples a from σ,

        v = Σ_c σ(c) b(c) + (û below a − b(a))

    The *baseline* b(a) is the network's own prediction of the action's value, so it costs
    nothing. Any b gives the same mean; the better b is, the less an action that happens not to
    be sampled disturbs v. For the opponent's actions it is minus their predicted value to the
    opponent.

    The targets of the network are v for the table before the action, and û below a for the
    table after it, if a was sampled; this has the same mean as û(a) and less variance. No
    sample has an importance weight. All histories of an infoset are sampled with the same
    probability by the traverser's own choices, so at each infoset the network learns the same
    mean value as with weights, and regret matching does not depend on the scale of regrets.
    Weights would only say how well each infoset is to be fitted, and in Koi-Koi they reach a
    hundred.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    k : int
        1 is outcome sampling; 8 is external sampling, about 800,000 nodes per traversal.
    baseline : bool
        Whether b is the prediction of the network; otherwise it is 0.
    hidden, rounds, steps, batch, rate, seed, memory, power, keep_every, jobs
        As for `ESCHER`; `rounds` are traversals.

    Notes
    -----
    Robust sampling is due to Li et al. (2020); :class:`cfrlib.RobustSampling` is the tabular
    version. Baselines: Schmid et al. (2019), and Steinberger et al., *DREAM* (2020), in Deep
    CFR.

    Examples
    --------
    >>> from cfrlib.koikoi import MiniKoiKoi
    >>> RobustDeepCFR(MiniKoiKoi.K8(), k=2, hidden=(16,), rounds=20, steps=5, batch=64)
    RobustDeepCFR of MiniKoiKoi.K8(): 0 iterations, 0 rounds, 0 decisions
    """

    FORMAT = "cfrlib.koikoi.RobustDeepCFR 2"
    NETWORKS = 1

    def __init__(
        self,
        game: KoiKoi,
        *,
        k: int = 2,
        explore: float = 1.0,
        baseline: bool = True,
        hidden: Sequence[int] = (256, 128),
        rounds: int = 20,
        steps: int = 60,
        batch: int = 512,
        rate: float = 1e-3,
        seed: int = 0,
        memory: int = 300_000,
        power: float = 3.0,
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
            memory=memory,
            power=power,
            keep_every=keep_every,
        )
        self.k, self.baseline = whole_number("k", k, 1), bool(baseline)
        self.explore = check_fraction("explore", explore)

    def _iterate(self, t: int) -> None:
        results = self._run_tasks(
            t, partial(traverse, k=self.k, explore=self.explore, baseline=self.baseline)
        )
        self.decisions += sum(decisions for decisions, _ in results)
        values = concatenate([values for _, values in results])
        same = np.ones_like(values.weight)
        self._learn_regrets(t, values._replace(weight=same), self._rng(t))

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {
            "k": self.k,
            "explore": self.explore,
            "baseline": self.baseline,
        }


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
        value of each action to the traverser.
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


def traverse(
    task: Task, k: int, explore: float = 1.0, baseline: bool = True
) -> tuple[int, Samples]:
    """Run the traversals of a task; return the number of decisions, and samples of values.

    With their weights, the samples estimate counterfactual values.
    """
    network, rounds, rng = task.begin()
    levels = descend(network, task, k, explore, rounds, rng)
    codes, targets, weights = [], [], []
    below = np.zeros(0)
    for level in reversed(levels):
        after, rows = level.after, level.sampled
        decision = segment_ids(after.start)
        selected = level.own & (np.diff(after.start) > 1)
        trained = rows[selected[decision[rows]] & np.isnan(after.paid[rows])]
        mean = decision_values(level, below, baseline)
        value = np.zeros(len(after.code))
        value[rows] = below
        codes += [after.code[trained], after.before[selected]]
        targets += [value[trained], mean[selected]]
        weights += [level.weight[decision[trained]], level.weight[selected]]
        below = level.value.copy()
        below[level.open] = mean
    samples = Samples(np.concatenate(codes), np.concatenate(targets), np.concatenate(weights))
    return sum(len(level.open) for level in levels), samples


def decision_values(level: Level, below: Floats, baseline: bool) -> Floats:
    """Return the estimated value v of each decision to the traverser, shape (decisions,).

    Parameters
    ----------
    level : Level
    below : float array, shape (nodes of the next level,)
        The estimates û below the sampled actions.
    baseline : bool
    """
    start, rows = level.after.start, level.sampled
    b = level.baseline if baseline else np.zeros(len(level.sigma))
    surprise = np.zeros(len(b))
    surprise[rows] = (below - b[rows]) / level.rho[rows]
    own = level.own[segment_ids(start)]
    return segment_sum(level.sigma * b + np.where(own, level.sigma, 1.0) * surprise, start)


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
        if not len(active):
            levels.append(_leaves(value))
            return levels
        after = describer.after(rounds, active)
        decision = segment_ids(after.start)
        values = predicted_values(network, task.networks[REGRET], after, scale)
        sigma = match_segments(values.regrets(after.start), after.start)
        own = rounds.player[active] == traverser[active]
        baseline = np.where(own[decision], values.actions, -values.actions)
        u = rng.random((2, len(active)))
        sampled, rho = sample_subsets(sigma, after.start, k, explore, u[0], rng)
        theirs = np.zeros(len(decision), bool)
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

    The first action is sampled from p = (1 − ε) σ + ε · uniform, where ε is `explore`; the
    others are uniform among the rest.

    Returns
    -------
    sampled : bool array, shape (rows,)
    rho : float array, shape (rows,)
        The probability that each action is sampled, p + (1 − p) (k − 1) / (n − 1).
    """
    counts = np.diff(start)
    decision, n = segment_ids(start), counts[segment_ids(start)]
    p = mix_uniform(sigma, start, explore)
    order = rng.random(len(p))
    order[sample_rows(p, start, u)] = -1.0  # comes first
    ranked = np.lexsort((order, decision))
    place = np.empty(len(p), np.int64)
    place[ranked] = np.arange(len(p)) - start[decision]
    others = np.minimum(k, n) - 1
    rho = p + (1.0 - p) * others / np.maximum(n - 1, 1)
    return place <= others, np.where(n > 1, rho, 1.0)


def _leaves(value: Floats) -> Level:
    """Return a level without decisions."""
    none, nothing, unseen = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, CODE), np.int64)
    after = Afterstates(unseen, np.zeros(1, np.int64), none, nothing, unseen)
    own = np.zeros(0, np.bool_)
    return Level(value, none, after, nothing, nothing, nothing, none, own, nothing)
