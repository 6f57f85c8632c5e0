"""Deep CFR by robust sampling: regrets from traversals, without a critic."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import whole_number
from cfrlib.core.tree import Floats
from cfrlib.koikoi.afterstates import CODE, Afterstates
from cfrlib.koikoi.learners.network_player import act_by, payoff_scale
from cfrlib.koikoi.learners.regret_networks import REGRET, Regrets
from cfrlib.koikoi.learners.segments import drawn, owners, totals
from cfrlib.koikoi.learners.selfplay import (
    Samples,
    Task,
    earned,
    together,
)
from cfrlib.koikoi.learners.value_network import ValueNetwork
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import OVER, Numbers, Rounds


class RobustDeepCFR(Regrets):
    """Regret matching with networks by robust sampling: no critic, but traversals.

    Each round becomes a small tree: at a decision of the traverser, k actions are tried out,
    drawn at random without replacement; at one of the opponent, and at a draw, one. On the way
    up each decision is worth, and regrets are,

        û(a) = value below a · n / k  where a was tried, else 0
        v = Σ_b σ(b) û(b)             r(a) = û(a) − v

    with n actions. The network is taught v on the table before, and the value below a, where a
    was tried, on the table after it, which has the same mean as û(a) and varies less. A row of
    the reservoir counts as much as its decision was unlikely to be reached by the traverser's
    own choices, the product of all n / k above it.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    k : int
        1 is outcome sampling, 8 external sampling, which takes about 800,000 nodes a round.
    hidden, rounds, steps, batch, rate, seed, memory, power, keep_every, jobs
        As for `ESCHER`; `rounds` are traversals.

    Notes
    -----
    Robust sampling is of Li et al. (2020); :class:`cfrlib.RobustSampling` is the same in
    tables.

    Examples
    --------
    >>> from cfrlib.koikoi import MiniKoiKoi
    >>> RobustDeepCFR(MiniKoiKoi.K8(), k=2, hidden=(16,), rounds=20, steps=5, batch=64)
    RobustDeepCFR of MiniKoiKoi.K8(): 0 iterations, 0 rounds, 0 decisions
    """

    FORMAT = "cfrlib traversal learner 2"
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
            game, hidden, rounds, steps, batch, rate, seed, jobs, memory, power, keep_every
        )
        self.k = whole_number("k", k, 1)

    def _iterate(self, t: int) -> None:
        shares = self._shares(t, partial(traverse, k=self.k))
        self.decisions += sum(decisions for decisions, _ in shares)
        values = together([values for _, values in shares])
        self._learn_regrets(t, values, self._chance(t))

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"k": self.k}


class Level(NamedTuple):
    """All nodes of traversals that are equally deep.

    Attributes
    ----------
    value : float array, shape (nodes,)
        What each is worth to its traverser, as far as known: where the round is over.
    open : int array, shape (decisions,)
        The nodes where it goes on.
    after : Afterstates
    sigma, rho : float arrays, shape (rows of `after`,)
        The strategy, and how likely the traverser was to try each action; 1 for the opponent,
        whose action was drawn by the strategy.
    tried : int array, shape (nodes of the next level,)
        The row that leads to each node below.
    mine : bool array, shape (decisions,)
        Whether the traverser chooses.
    weight : float array, shape (decisions,)
    """

    value: Floats
    open: Numbers
    after: Afterstates
    sigma: Floats
    rho: Floats
    tried: Numbers
    mine: npt.NDArray[np.bool_]
    weight: Floats


def traverse(task: Task, k: int) -> tuple[int, Samples]:
    """Return how many decisions a share of traversals has, and lessons of values."""
    judge, rounds, rng = task.begin()
    levels = descend(judge, task, k, rounds, rng)
    codes, targets, weights = [], [], []
    below = np.zeros(0)
    for level in reversed(levels):
        after = level.after
        estimate = np.zeros(len(after.code))
        estimate[level.tried] = below / level.rho[level.tried]
        own = owners(after.start)
        by_strategy = totals(level.sigma * estimate, after.start)
        mean = np.where(level.mine, by_strategy, totals(estimate, after.start))
        a_choice = level.mine & (np.diff(after.start) > 1)
        taught = a_choice[own[level.tried]] & np.isnan(after.paid[level.tried])
        rows = level.tried[taught]
        codes += [after.code[rows], after.before[a_choice]]
        targets += [below[taught], mean[a_choice]]
        weights += [level.weight[own[rows]], level.weight[a_choice]]
        below = level.value.copy()
        below[level.open] = mean
    lesson = Samples(np.concatenate(codes), np.concatenate(targets), np.concatenate(weights))
    return sum(len(level.open) for level in levels), lesson


def descend(
    judge: ValueNetwork, task: Task, k: int, rounds: Rounds, rng: np.random.Generator
) -> list[Level]:
    """Play all rounds to their end, with k actions at every decision of the traverser."""
    describer, unit = judge.describer, payoff_scale(task.game)
    traverser, weight = np.arange(task.rounds) % 2, np.ones(task.rounds)
    levels: list[Level] = []
    while True:
        value = earned(traverser, rounds.paid, unit)
        going = np.flatnonzero(rounds.stage != OVER)
        if not len(going):
            levels.append(_leaves(value))
            return levels
        after = describer.after(rounds, going)
        own, counts = owners(after.start), np.diff(after.start)
        sigma = act_by("regret", judge, task.networks[REGRET], after, unit)
        mine = rounds.player[going] == traverser[going]
        tried = np.minimum(k, counts)
        # a random order of the actions of each decision: the first k are tried
        order = np.lexsort((rng.random(len(own)), own))
        place = np.empty(len(own), np.int64)
        place[order] = np.arange(len(own)) - after.start[own]
        chosen = np.zeros(len(own), bool)
        chosen[drawn(sigma, after.start, rng.random(len(going)))] = True
        chosen = np.where(mine[own], place < tried[own], chosen)
        rho = np.where(mine, tried / counts, 1.0)[own]
        rows = np.flatnonzero(chosen)
        levels.append(Level(value, going, after, sigma, rho, rows, mine, weight[going]))
        parent = going[own[rows]]
        weight = weight[parent] / rho[rows]
        traverser, rounds = traverser[parent], rounds.take(parent)
        describer.simulator.act(rounds, np.arange(len(rows)), after.action[rows])


def _leaves(value: Floats) -> Level:
    """Return a level of nodes that are all over."""
    none, nothing, unseen = np.zeros(0, np.int64), np.zeros(0), np.zeros((0, CODE), np.int64)
    after = Afterstates(unseen, np.zeros(1, np.int64), none, nothing, unseen)
    return Level(value, none, after, nothing, nothing, none, np.zeros(0, np.bool_), nothing)
