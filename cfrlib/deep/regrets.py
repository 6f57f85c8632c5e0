"""Koi-Koi by regret matching with networks: from a critic, or from traversals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core import schema
from cfrlib.core.checks import whole_number
from cfrlib.core.files import Arrays, demand
from cfrlib.core.tree import Floats
from cfrlib.deep.afterstates import (
    Judge,
    NetworkPlayer,
    act_by,
    drawn,
    exploring,
    owners,
    totals,
    unit_of,
)
from cfrlib.deep.memory import Singles
from cfrlib.deep.selfplay import (
    COUNTS,
    LESSONS,
    Lesson,
    Reservoir,
    SelfPlay,
    Task,
    Verdict,
    Window,
    earned,
    follow,
    judged,
    lesson_of,
    share_of,
    together,
)
from cfrlib.games.koikoi.features import CODE, Afterstates
from cfrlib.games.koikoi.rules import KoiKoi
from cfrlib.games.koikoi.simulator import OVER, Numbers, Rounds

REGRET, CRITIC = 0, 1  # the networks


class Regrets(SelfPlay):
    """A learner with a reservoir of values, a network of their means, and its past selves.

    The network is taught the value q(a) of every action, as it sees the table after it, and
    the value v = Σ_b σ(b) q(b) of the decision, as it sees the table before. What it answers
    are their means over all iterations, and the mean regret is the difference, r(a) = q(a) − v.

    Attributes
    ----------
    keep_every : int
    """

    _EXTRA: ClassVar[Mapping[str, schema.Array]] = {
        "memory": LESSONS,
        "offered": schema.Array((1,), schema.whole_in(0)),
        "kept": schema.Array((None, "weights"), schema.single),
        "kept_at": COUNTS,
    }

    def __init__(
        self,
        game: KoiKoi,
        hidden: Sequence[int],
        rounds: int,
        steps: int,
        batch: int,
        rate: float,
        seed: int,
        jobs: int | None,
        memory: int,
        power: float,
        keep_every: int,
    ):
        super().__init__(game, hidden, rounds, steps, batch, rate, seed, jobs)
        if not 0 <= power < np.inf:
            raise ValueError(f"power must be a number, at least 0, got {power!r}")
        self.power = float(power)
        self.keep_every = whole_number("keep_every", keep_every, 1)
        self._memory = Reservoir(whole_number("memory", memory, 1))
        self._stores.append(self._memory)
        self._kept: list[Singles] = []
        self._kept_at: list[int] = []

    def _learn_regrets(self, t: int, values: Lesson, rng: np.random.Generator) -> None:
        """Offer the values of iteration t to the reservoir, and learn from it."""
        counts = t**self.power
        self._memory.offer(values._replace(weight=values.weight * counts), rng)
        known = self._memory.lesson
        self._teach(REGRET, known._replace(weight=known.weight / counts), rng)
        if t % self.keep_every == 0:
            self._kept.append(self._studies[REGRET].settled)
            self._kept_at.append(t)

    def _playing(self) -> tuple[Singles, ...]:
        """Return the networks, that of regrets settled.

        Mean regrets shrink from iteration to iteration, the shaking of a network does not.
        """
        _, *others = super()._playing()
        return (self._studies[REGRET].settled, *others)

    def player(self) -> NetworkPlayer:
        """Return the average: each round by one of the regret networks kept."""
        if not self._kept:
            raise ValueError(
                f"no network is kept yet: run {self.keep_every} iterations or more"
            )
        weights = [t**self.power for t in self._kept_at]
        return NetworkPlayer(self.game, self._kept, self.hidden, "regret", weights)

    @property
    def current(self) -> NetworkPlayer:
        """The player by the present regret network."""
        return NetworkPlayer(self.game, [self._studies[REGRET].settled], self.hidden, "regret")

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {
            "memory": self._memory.size, "power": self.power, "keep_every": self.keep_every,
        }  # fmt: skip

    def _arrays(self) -> Arrays:
        kept = np.array(self._kept, np.float64).reshape(len(self._kept), self._judge.size)
        at = np.array(self._kept_at, np.float64)
        return super()._arrays() | {"kept": kept, "kept_at": at}

    def _restore(self, steps: list[int], arrays: Arrays) -> None:
        super()._restore(steps, arrays)
        self._kept = list(arrays["kept"].astype(np.float32))
        self._kept_at = arrays["kept_at"].astype(np.int64).tolist()
        every = self.keep_every
        due = list(range(every, self.iterations + 1, every))
        demand(self._kept_at == due and len(self._kept) == len(due), "kept")


# ---- from a critic ---------------------------------------------------------------------------


class RegretLearner(Regrets):
    """Regret matching with networks, without importance weights: ESCHER on afterstates.

    Two networks. The *critic* judges the value of every action under the present strategy;
    from the *regret network* comes the mean regret of every action over all iterations, which
    is matched to play. In each iteration one player of every round, the traverser, explores,
    and the other follows the strategy. At each decision of the traverser

        r(a) = q(a) − v,        v = Σ_b σ(b) q(b)

    says the critic, for all actions at once; a reservoir keeps a fair sample of all that was
    ever said, and iteration t counts t³, as first strategies and critics are worth little. As
    every regret is as large as a payoff, nothing is divided by how likely it was to get there,
    which in Koi-Koi would be a factor of 40,320 for the order of eight cards alone. The critic
    is taught what the traverser was paid, or the value, under the strategy, of its next
    decision. The average strategy is the mixture of all regret networks kept, one for a round
    (Single Deep CFR).

    The regret network is taught q(a) on the table after the action and v on the table before
    it, and the regret is the difference of its answers. Of the table after the action alone no
    network could tell the regret, as the same table is the best that comes of one hand and the
    worst that comes of another.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden, rounds, steps, batch, rate, seed, jobs
        As for `MonteCarloLearner`; both networks are trained alike.
    explore : float
        How often the traverser takes any action.
    memory : int
        How many rows the reservoir holds.
    power : float
        Iteration t counts t to this power, in the mean regrets and in the average.
    window : int
        Of how many iterations, the last ones, the critic learns at a time: with few it runs
        after the luck of the last rounds, with many after strategies that are gone.
    keep_every : int
        Keep the regret network of every so many iterations for the average.

    Notes
    -----
    After McAleer et al., *ESCHER* (2023), and Steinberger, *Single Deep CFR* (2019). Unlike
    there, networks see the table after an action, are trained further instead of anew, and the
    critic does not see the opponent's cards.

    Examples
    --------
    >>> from cfrlib.games import MiniKoiKoi
    >>> run = RegretLearner(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> run.run(3, progress=False).player()
    NetworkPlayer of MiniKoiKoi.K8(): one of 3 networks, (16,), by regret
    """

    FORMAT = "cfrlib regret learner 2"
    NETWORKS = 2
    _EXTRA: ClassVar = {**Regrets._EXTRA, "recent": LESSONS, "lengths": COUNTS}

    def __init__(
        self,
        game: KoiKoi,
        *,
        hidden: Sequence[int] = (256, 128),
        rounds: int = 1_000,
        steps: int = 30,
        batch: int = 1_024,
        rate: float = 1e-3,
        seed: int = 0,
        explore: float = 0.25,
        memory: int = 300_000,
        power: float = 3.0,
        window: int = 10,
        keep_every: int = 1,
        jobs: int | None = None,
    ):
        super().__init__(
            game, hidden, rounds, steps, batch, rate, seed, jobs, memory, power, keep_every
        )
        self.explore = share_of("explore", explore)
        self._recent = Window(whole_number("window", window, 1))
        self._stores.append(self._recent)

    def _iterate(self, t: int) -> None:
        rng = self._chance(t)
        shares = self._shares(t, partial(play_by_regret, explore=self.explore))
        self.decisions += sum(decisions for decisions, _, _ in shares)
        critic = together([critic for _, critic, _ in shares])
        self._teach(CRITIC, self._recent.add(critic), rng)
        self._learn_regrets(t, together([values for _, _, values in shares]), rng)

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {"explore": self.explore, "window": self._recent.length}


def play_by_regret(task: Task, explore: float) -> tuple[int, Lesson, Lesson]:
    """Return how many decisions a share has, and lessons for both networks."""
    judge, rounds, rng = task.begin()
    traverser = np.arange(task.rounds) % 2
    unit = unit_of(task.game)

    def decide(rows: Numbers, player: Numbers, after: Afterstates) -> tuple[Floats, Floats]:
        sigma = act_by("regret", judge, task.networks[REGRET], after, unit)
        explores = (player == traverser[rows])[owners(after.start)]
        mixed = exploring(sigma, after.start, explore)
        return sigma, np.where(explores, mixed, sigma)

    steps = follow(judge.describer, rounds, decide, rng)
    learns = np.stack([traverser == 0, traverser == 1])
    critic = partial(judge, task.networks[CRITIC])
    taught, verdicts = judged(critic, steps, rounds.paid, unit, learns)
    decisions = sum(len(step.rows) for step in steps)
    return decisions, taught, together([values_in(said) for said in verdicts])


def values_in(said: Verdict) -> Lesson:
    """Return the values of actions, where they are not known, and of their decisions."""
    after, learned = said.step.after, said.learned
    rows = said.rows & np.isnan(after.paid)
    return lesson_of(
        [after.code[rows], after.before[learned]], [said.value[rows], said.mean[learned]]
    )


# ---- traversals ------------------------------------------------------------------------------


class TraversalLearner(Regrets):
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
        As for `RegretLearner`; `rounds` are traversals.

    Notes
    -----
    Robust sampling is of Li et al. (2020); :class:`cfrlib.RobustSampling` is the same in
    tables.

    Examples
    --------
    >>> from cfrlib.games import MiniKoiKoi
    >>> TraversalLearner(MiniKoiKoi.K8(), k=2, hidden=(16,), rounds=20, steps=5, batch=64)
    TraversalLearner of MiniKoiKoi.K8(): 0 iterations, 0 rounds, 0 decisions
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


def traverse(task: Task, k: int) -> tuple[int, Lesson]:
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
    lesson = Lesson(np.concatenate(codes), np.concatenate(targets), np.concatenate(weights))
    return sum(len(level.open) for level in levels), lesson


def descend(
    judge: Judge, task: Task, k: int, rounds: Rounds, rng: np.random.Generator
) -> list[Level]:
    """Play all rounds to their end, with k actions at every decision of the traverser."""
    describer, unit = judge.describer, unit_of(task.game)
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
