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
from cfrlib.koikoi.learners.network_player import action_probabilities, payoff_scale
from cfrlib.koikoi.learners.regret_networks import REGRET, RegretNetworks
from cfrlib.koikoi.learners.segments import sample_rows, segment_ids, segment_sum
from cfrlib.koikoi.learners.selfplay import Samples, Task, concatenate, payoffs_of
from cfrlib.koikoi.learners.value_network import ValueNetwork
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import OVER, Numbers, Rounds


class RobustDeepCFR(RegretNetworks):
    """Deep CFR with robust sampling: values come from traversals instead of a critic.

    A traversal expands each round to a small tree: k actions, sampled without replacement, at
    each decision of the traverser; one action at each decision of the opponent; and one card
    at each draw. With n actions at a decision, the estimates on the way up are

        û(a) = (value below a) · n / k  if a was sampled, else 0
        v = Σ_b σ(b) û(b)               r(a) = û(a) − v

    The targets of the network are v for the table before the action, and the value below a
    for the table after it, if a was sampled; this has the same mean as û(a) and less
    variance. The weight of a sample is one over the probability that the traverser's own
    choices reach its decision, the product of all n / k above it.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    k : int
        1 is outcome sampling; 8 is external sampling, about 800,000 nodes per traversal.
    hidden, rounds, steps, batch, rate, seed, memory, power, keep_every, jobs
        As for `ESCHER`; `rounds` are traversals.

    Notes
    -----
    Robust sampling is due to Li et al. (2020); :class:`cfrlib.RobustSampling` is the tabular
    version.

    Examples
    --------
    >>> from cfrlib.koikoi import MiniKoiKoi
    >>> RobustDeepCFR(MiniKoiKoi.K8(), k=2, hidden=(16,), rounds=20, steps=5, batch=64)
    RobustDeepCFR of MiniKoiKoi.K8(): 0 iterations, 0 rounds, 0 decisions
    """

    FORMAT = "cfrlib.koikoi.RobustDeepCFR 1"
    NETWORKS = 1

    def __init__(
        self,
        game: KoiKoi,
        *,
        k: int = 2,
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
        self.k = whole_number("k", k, 1)

    def _iterate(self, t: int) -> None:
        results = self._run_tasks(t, partial(traverse, k=self.k))
        self.decisions += sum(decisions for decisions, _ in results)
        values = concatenate([values for _, values in results])
        self._learn_regrets(t, values, self._rng(t))

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"k": self.k}


class Level(NamedTuple):
    """All nodes at one depth of the traversals.

    Attributes
    ----------
    value : float array, shape (nodes,)
        The payoff to the traverser where the round is over; 0 elsewhere.
    open : int array, shape (decisions,)
        The nodes where the round is not over.
    after : Afterstates
    sigma, rho : float arrays, shape (rows of `after`,)
        The strategy, and the probability that the traverser samples each action. It is 1 for
        the opponent's actions, which are sampled by the strategy.
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
    sampled: Numbers
    own: npt.NDArray[np.bool_]
    weight: Floats


def traverse(task: Task, k: int) -> tuple[int, Samples]:
    """Run the traversals of a task; return the number of decisions, and samples of values."""
    network, rounds, rng = task.begin()
    levels = descend(network, task, k, rounds, rng)
    codes, targets, weights = [], [], []
    below = np.zeros(0)
    for level in reversed(levels):
        after = level.after
        estimate = np.zeros(len(after.code))
        estimate[level.sampled] = below / level.rho[level.sampled]
        decision = segment_ids(after.start)
        by_strategy = segment_sum(level.sigma * estimate, after.start)
        mean = np.where(level.own, by_strategy, segment_sum(estimate, after.start))
        selected = level.own & (np.diff(after.start) > 1)
        trained = selected[decision[level.sampled]] & np.isnan(after.paid[level.sampled])
        rows = level.sampled[trained]
        codes += [after.code[rows], after.before[selected]]
        targets += [below[trained], mean[selected]]
        weights += [level.weight[decision[rows]], level.weight[selected]]
        below = level.value.copy()
        below[level.open] = mean
    samples = Samples(np.concatenate(codes), np.concatenate(targets), np.concatenate(weights))
    return sum(len(level.open) for level in levels), samples


def descend(
    network: ValueNetwork, task: Task, k: int, rounds: Rounds, rng: np.random.Generator
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
        decision, counts = segment_ids(after.start), np.diff(after.start)
        sigma = action_probabilities("regret", network, task.networks[REGRET], after, scale)
        own = rounds.player[active] == traverser[active]
        size = np.minimum(k, counts)
        # the traverser samples the first `size` actions in a random order
        order = np.lexsort((rng.random(len(decision)), decision))
        place = np.empty(len(decision), np.int64)
        place[order] = np.arange(len(decision)) - after.start[decision]
        sampled = np.zeros(len(decision), bool)
        sampled[sample_rows(sigma, after.start, rng.random(len(active)))] = True
        sampled = np.where(own[decision], place < size[decision], sampled)
        rho = np.where(own, size / counts, 1.0)[decision]
        rows = np.flatnonzero(sampled)
        levels.append(Level(value, active, after, sigma, rho, rows, own, weight[active]))
        parent = active[decision[rows]]
        weight = weight[parent] / rho[rows]
        traverser, rounds = traverser[parent], rounds.take(parent)
        describer.simulator.act(rounds, np.arange(len(rows)), after.action[rows])


def _leaves(value: Floats) -> Level:
    """Return a level without decisions."""
    none, nothing, unseen = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, CODE), np.int64)
    after = Afterstates(unseen, np.zeros(1, np.int64), none, nothing, unseen)
    return Level(value, none, after, nothing, nothing, none, np.zeros(0, np.bool_), nothing)
