"""Koi-Koi learned by playing oneself: by the values of actions, or by their regrets.

Every iteration plays some rounds with the networks there are, side by side in the simulator,
and trains them further on what these rounds said. Nothing depends on how fast that goes: an
iteration is a function of the seed, its number and the networks before it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
import numpy.typing as npt

from cfrlib import files
from cfrlib.deep.afterstates import (
    Judge,
    NetworkPlayer,
    Study,
    best,
    drawn,
    even,
    known_values,
    matched,
    owners,
    totals,
    unit_of,
)
from cfrlib.deep.memory import Singles
from cfrlib.files import Arrays, Header, PathLike
from cfrlib.games.koikoi.features import CODE, Afterstates, Describer
from cfrlib.games.koikoi.rules import KoiKoi
from cfrlib.games.koikoi.simulator import OVER, Numbers, Rounds
from cfrlib.run import Bar, Goal, deferred_interrupt, whole_number
from cfrlib.tree import Floats

MOMENTS = ("weights", "first", "second")
SHARES = 4  # that the rounds of an iteration are divided into, whoever plays them


class Step(NamedTuple):
    """One decision of each of some rounds.

    Attributes
    ----------
    rows, player : int arrays, shape (decisions,)
        Which rounds, and who chose.
    after : Afterstates
    sigma, value : float arrays, shape (rows of `after`,)
        The strategy, and what the network that judges says of each action.
    chosen : int array, shape (decisions,)
        The row of the action that was taken.
    """

    rows: Numbers
    player: Numbers
    after: Afterstates
    sigma: Floats
    value: Floats
    chosen: Numbers


class Lesson(NamedTuple):
    """What a network is taught: rows, what to answer there, and how much that counts."""

    code: Numbers
    target: Floats
    weight: Floats


Decide = Callable[[Numbers, Numbers, Afterstates], tuple[Floats, Floats, Floats]]


def follow(
    describer: Describer, rounds: Rounds, decide: Decide, rng: np.random.Generator
) -> list[Step]:
    """Play rounds to their end and return all decisions, in order.

    `decide` is asked with the rounds, who chooses, and the afterstates; it answers the
    strategy, how likely each action shall be taken, and the values, one number a row each.
    """
    steps: list[Step] = []
    while True:
        rows = np.flatnonzero(rounds.stage != OVER)
        if not len(rows):
            return steps
        player, after = rounds.player[rows], describer.after(rounds, rows)
        sigma, behavior, value = decide(rows, player, after)
        chosen = drawn(behavior, after.start, rng.random(len(rows)))
        steps.append(Step(rows, player, after, sigma, value, chosen))
        describer.simulator.act(rounds, rows, after.action[chosen])


class Task(NamedTuple):
    """A share of an iteration, for whoever plays it.

    Attributes
    ----------
    game, hidden
        What is played, and the widths of networks.
    networks : tuple of float32 arrays
        All that the learner has.
    seed : tuple of int
        Of deals and moves.
    rounds : int
    explore : float
        How often a player who explores takes any action.
    k : int
        How many actions of each decision a traversal goes on with; 0 where there is none.
    """

    game: KoiKoi
    hidden: tuple[int, ...]
    networks: tuple[Singles, ...]
    seed: tuple[int, ...]
    rounds: int
    explore: float
    k: int = 0

    def begin(self) -> tuple[Judge, Rounds, np.random.Generator]:
        """Return a judge, newly dealt rounds, and random numbers for the moves."""
        describer = Describer(self.game)
        deals, moves = np.random.SeedSequence(self.seed).spawn(2)
        rounds = describer.simulator.deal(self.rounds, seed=deals)
        return Judge(describer, self.hidden), rounds, np.random.default_rng(moves)


class SelfPlay(ABC):
    """A learner at work; `MonteCarloLearner` and `RegretLearner` say what an iteration is.

    Attributes
    ----------
    iterations, decisions : int
        How many there were; decisions of all players.
    losses : list of float
        Of each network, in the last iteration.
    """

    FORMAT: ClassVar[str]
    NETWORKS: ClassVar[int]  # that are trained
    explore: float
    k = 0

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
    ):
        self.game, self.hidden = game, tuple(hidden)
        self.rounds = whole_number("rounds", rounds, SHARES)
        self.steps = whole_number("steps", steps, 1)
        self.batch = whole_number("batch", batch, 1)
        if not rate > 0:
            raise ValueError(f"rate must be above 0, got {rate!r}")
        self.rate, self.jobs = rate, jobs
        self.seed = whole_number("seed", seed, 0)
        self.iterations = self.decisions = 0
        self.losses: list[float] = []
        self._judge, self._unit = Judge(Describer(game), hidden), unit_of(game)
        keys = jax.random.split(jax.random.key(seed), self.NETWORKS)
        self._studies = [self._judge.fresh(key) for key in keys]

    def run(
        self,
        iterations: int | None = None,
        *,
        seconds: float | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Go on for so many iterations, or so long; return the learner.

        Parameters
        ----------
        iterations : int, optional
        seconds : float, optional
            Begin no iteration later than this. What is learned by then depends on the machine.
        progress : bool, optional
            Whether to show a progress bar; left out, once it takes longer than two seconds.

        Raises
        ------
        ValueError
            If neither is given, or one is out of range.
        """
        if iterations is None and seconds is None:
            raise ValueError("say how long to learn: iterations=… or seconds=…")
        bar, done = Bar(Goal.of(iterations, None, seconds), progress), 0
        try:
            while not bar.late and (iterations is None or done < iterations):
                with deferred_interrupt():
                    self._iterate(self.iterations + 1)
                    self.iterations += 1
                done += 1
                remark = "losses " + ", ".join(f"{loss:.2e}" for loss in self.losses)
                bar.show(done, [[done, self.decisions, 0.0, np.nan]], remark)
        finally:
            bar.close()
        return self

    @abstractmethod
    def _iterate(self, t: int) -> None:
        """Play and learn once."""

    def _shares(self, t: int, play: Callable[[Task], Any]) -> list[Any]:
        """Play the rounds of iteration t and return the answers of all shares, in order."""
        networks = tuple(study.weights for study in self._studies)
        sizes = np.diff(np.linspace(0, self.rounds, SHARES + 1).astype(int)).tolist()
        tasks = [
            Task(
                self.game, self.hidden, networks, (self.seed, t, n), size, self.explore, self.k
            )
            for n, size in enumerate(sizes)
        ]
        if self.jobs is None:
            return [play(task) for task in tasks]
        from joblib import Parallel, delayed

        answers: list[Any] = Parallel(n_jobs=self.jobs)(delayed(play)(task) for task in tasks)
        return answers

    def _teach(self, n: int, lesson: Lesson, rng: np.random.Generator) -> None:
        """Train network n on rows of a lesson, drawn with replacement."""
        rows = rng.integers(0, len(lesson.code), (self.steps, self.batch))
        self._studies[n], self.losses[n] = self._judge.improve(
            self._studies[n], lesson.code[rows], lesson.target[rows], lesson.weight[rows],
            self.rate,
        )  # fmt: skip

    @abstractmethod
    def player(self) -> NetworkPlayer:
        """Return what was learned."""

    # ---- files -------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write everything the run needs to go on, as if it had never stopped.

        A file already there is replaced only once the new one is complete.
        """
        header = {
            "settings": self._settings(), "iterations": self.iterations,
            "decisions": self.decisions, "losses": self.losses,
            "steps": [study.steps for study in self._studies],
        }  # fmt: skip
        files.write(path, self._kind(), _Form(self.game), header, self._arrays())

    @classmethod
    def load(cls, path: PathLike, game: KoiKoi, *, jobs: int | None = None) -> Self:
        """Return a saved learner, ready to run on; it ends with the numbers it would have had.

        Raises
        ------
        ValueError
            If the file is damaged, of another kind, or of a game with other rules.
        """
        header, arrays = files.read(path, cls._kind(), _Form(game), cls._check)
        run = cls(game, **header["settings"], jobs=jobs)
        run.iterations, run.decisions = header["iterations"], header["decisions"]
        run.losses = list(header["losses"])
        run._restore(header["steps"], arrays)
        return run

    @classmethod
    def _kind(cls) -> files.Kind:
        names = (*cls._names(), *cls._EXTRA)
        return files.Kind(cls.FORMAT, "run", f"{cls.__name__}.save", (), names)

    _EXTRA: ClassVar[tuple[str, ...]] = ()  # arrays besides those of the networks

    @classmethod
    def _check(cls, header: Header, arrays: Arrays) -> None:
        """Raise an error if a file breaks a rule of the format."""
        sizes = {arrays[name].shape for name in cls._names()}
        if len(sizes) != 1 or len(header["steps"]) != cls.NETWORKS:
            raise ValueError("networks of different sizes")

    @classmethod
    def _names(cls) -> list[str]:
        return [f"{name}{n}" for n in range(cls.NETWORKS) for name in MOMENTS]

    def _arrays(self) -> Arrays:
        rows = [getattr(study, name) for study in self._studies for name in MOMENTS]
        return {
            name: np.asarray(row, np.float64)
            for name, row in zip(self._names(), rows, strict=True)
        }

    def _restore(self, steps: list[int], arrays: Arrays) -> None:
        """Take back what `_arrays` returned."""
        rows = [arrays[name].astype(np.float32) for name in self._names()]
        self._studies = [
            Study(rows[3 * n], rows[3 * n + 1], rows[3 * n + 2], taken)
            for n, taken in enumerate(steps)
        ]

    def _settings(self) -> dict[str, Any]:
        return {
            "hidden": list(self.hidden), "rounds": self.rounds, "steps": self.steps,
            "batch": self.batch, "rate": self.rate, "seed": self.seed, "explore": self.explore,
        }  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} of {self.game!r}: {self.iterations:,} iterations, "
            f"{self.iterations * self.rounds:,} rounds, {self.decisions:,} decisions"
        )


# ---- values ----------------------------------------------------------------------------------


class MonteCarloLearner(SelfPlay):
    """Deep Monte Carlo: a network learns what each action paid in the end.

    Both players take the action that the network values most, now and then any other. The
    network is taught, for every action taken, what its player was paid. There is no average
    and no guarantee: where an equilibrium must mix, this cannot.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden : sequence of int
        Widths of the network's layers.
    rounds : int
        Of each iteration.
    steps, batch : int
        How many steps of Adam an iteration takes, on how many rows each, drawn with
        replacement from the iteration's own.
    rate : float
        Of learning.
    seed : int
    explore : float
        How often any action is taken.
    jobs : int, optional
        Let so many processes play, by joblib; the numbers are the same.

    Notes
    -----
    After Zha et al., *DouZero* (2021), and Guan et al. (2023) for Koi-Koi, with afterstates for
    their pairs of state and action. What stopping pays is known, and not asked.

    Examples
    --------
    >>> from cfrlib.games import MiniKoiKoi
    >>> run = MonteCarloLearner(MiniKoiKoi.K8(), hidden=(16,), rounds=100, steps=5, batch=64)
    >>> run.run(3, progress=False)
    MonteCarloLearner of MiniKoiKoi.K8(): 3 iterations, 300 rounds, 911 decisions
    """

    FORMAT = "cfrlib monte carlo learner 1"
    NETWORKS = 1

    def __init__(
        self,
        game: KoiKoi,
        *,
        hidden: Sequence[int] = (256, 128),
        rounds: int = 2_000,
        steps: int = 24,
        batch: int = 1_024,
        rate: float = 1e-3,
        seed: int = 0,
        explore: float = 0.05,
        jobs: int | None = None,
    ):
        super().__init__(game, hidden, rounds, steps, batch, rate, seed, jobs)
        self.explore = _share_of("explore", explore)
        self.losses = [0.0]

    def _iterate(self, t: int) -> None:
        shares = self._shares(t, play_by_value)
        self.decisions += sum(decisions for decisions, _ in shares)
        lesson = _together([lesson for _, lesson in shares])
        self._teach(0, lesson, np.random.default_rng([self.seed, t, SHARES]))

    def player(self) -> NetworkPlayer:
        """Return the player that takes what the network values most."""
        return NetworkPlayer(self.game, [self._studies[0].weights], self.hidden, "value")


def play_by_value(task: Task) -> tuple[int, Lesson]:
    """Return how many decisions a share has, and what each action taken paid."""
    judge, rounds, rng = task.begin()
    unit = unit_of(task.game)

    def decide(
        rows: Numbers, player: Numbers, after: Afterstates
    ) -> tuple[Floats, Floats, Floats]:
        value = known_values(judge(task.networks[0], after), after, unit)
        sigma = best(value, after.start)
        return sigma, (1 - task.explore) * sigma + task.explore * even(after.start), value

    steps = follow(judge.describer, rounds, decide, rng)
    codes, targets = [], []
    for step in steps:
        learned = np.isnan(step.after.paid[step.chosen])
        codes.append(step.after.code[step.chosen[learned]])
        rows, player = step.rows[learned], step.player[learned]
        targets.append(_earned(player, rounds.paid[rows], unit))
    lesson = _lesson(codes, targets)
    return sum(len(step.rows) for step in steps), lesson


# ---- regrets ---------------------------------------------------------------------------------


class RegretLearner(SelfPlay):
    """Regret matching with networks, without importance weights: ESCHER on afterstates.

    Two networks. The *critic* judges the value of every action under the present strategy;
    the *regret network* answers the mean regret of every action over all iterations, which is
    matched to play. In each iteration one player of every round, the traverser, explores, and
    the other follows the strategy. At each decision of the traverser

        r(a) = q(a) − Σ_b σ(b) q(b)

    says the critic, for all actions at once; a reservoir keeps a fair sample of all that was
    ever said, weighted by the iteration. As every regret is as large as a payoff, nothing is
    divided by how likely it was to get there, which in Koi-Koi would be a factor of 40,320 for
    the order of eight cards alone. The critic is taught what the traverser was paid, or the
    value, under the strategy, of its next decision. The average strategy is the mixture of
    all regret networks kept, one for a round (Single Deep CFR).

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden, rounds, steps, batch, rate, seed, jobs
        As for `MonteCarloLearner`; both networks are trained alike.
    explore : float
        How often the traverser takes any action.
    memory : int
        How many rows the reservoir holds.
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

    FORMAT = "cfrlib regret learner 1"
    NETWORKS = 2
    _EXTRA = ("code", "target", "weight", "kept", "kept_at", "lengths", "recent")

    def __init__(
        self,
        game: KoiKoi,
        *,
        hidden: Sequence[int] = (256, 128),
        rounds: int = 1_000,
        steps: int = 60,
        batch: int = 512,
        rate: float = 1e-3,
        seed: int = 0,
        explore: float = 0.5,
        memory: int = 300_000,
        window: int = 10,
        keep_every: int = 1,
        jobs: int | None = None,
    ):
        super().__init__(game, hidden, rounds, steps, batch, rate, seed, jobs)
        self.explore = _share_of("explore", explore)
        self.memory = whole_number("memory", memory, 1)
        self.window = whole_number("window", window, 1)
        self.keep_every = whole_number("keep_every", keep_every, 1)
        self.losses = [0.0, 0.0]
        self._memory = Lesson(
            np.zeros((memory, CODE), np.int64), np.zeros(memory), np.zeros(memory)
        )
        self._offered = 0
        self._recent: list[Lesson] = []  # of the critic
        self._kept: list[Singles] = []
        self._kept_at: list[int] = []

    def _iterate(self, t: int) -> None:
        rng = np.random.default_rng([self.seed, t, SHARES])
        shares = self._shares(t, play_by_regret)
        self.decisions += sum(decisions for decisions, _, _ in shares)
        critic = _together([critic for _, critic, _ in shares])
        self._recent = [*self._recent, critic][-self.window :]
        self._teach(0, _together(self._recent), rng)
        regrets = _together([regret for _, _, regret in shares])
        self._learn_regrets(t, regrets._replace(weight=regrets.weight * t), rng)

    def _learn_regrets(self, t: int, regrets: Lesson, rng: np.random.Generator) -> None:
        """Offer the regrets of iteration t to the reservoir, and learn from it."""
        self._offer(regrets, rng)
        filled = min(self._offered, self.memory)
        code, target, weight = self._memory
        known = Lesson(code[:filled], target[:filled], weight[:filled] / t)
        self._teach(1, known, rng)
        if t % self.keep_every == 0:
            self._kept.append(self._studies[1].weights)
            self._kept_at.append(t)

    def _offer(self, rows: Lesson, rng: np.random.Generator) -> None:
        """Offer rows to the reservoir: of all ever offered, each is in it equally likely."""
        number = self._offered + np.arange(len(rows.code))
        place = np.where(
            number < self.memory, number, (rng.random(len(number)) * (number + 1)).astype(int)
        )
        kept = place < self.memory
        for mine, new in zip(self._memory, rows, strict=True):
            mine[place[kept]] = new[kept]
        self._offered += len(number)

    def player(self) -> NetworkPlayer:
        """Return the average: each round by one of the regret networks, weighted linearly."""
        if not self._kept:
            raise ValueError(
                f"no network is kept yet: run {self.keep_every} iterations or more"
            )
        return NetworkPlayer(self.game, self._kept, self.hidden, "regret", self._kept_at)

    @property
    def current(self) -> NetworkPlayer:
        """The player by the last regret network."""
        return NetworkPlayer(self.game, [self._studies[1].weights], self.hidden, "regret")

    def _settings(self) -> dict[str, Any]:
        return super()._settings() | {
            "memory": self.memory, "window": self.window, "keep_every": self.keep_every,
        }  # fmt: skip

    def _arrays(self) -> Arrays:
        filled = min(self._offered, self.memory)
        code, target, weight = self._memory
        kept = np.array(self._kept, np.float64).reshape(len(self._kept), self._judge.size)
        at = np.array([*self._kept_at, self._offered], np.float64)
        lengths = np.array([len(lesson.code) for lesson in self._recent], np.float64)
        recent = [np.column_stack(lesson) for lesson in self._recent] or [
            np.zeros((0, CODE + 2))
        ]
        return super()._arrays() | {
            "code": code[:filled].astype(np.float64), "target": target[:filled],
            "weight": weight[:filled], "kept": kept, "kept_at": at, "lengths": lengths,
            "recent": np.concatenate(recent),
        }  # fmt: skip

    def _restore(self, steps: list[int], arrays: Arrays) -> None:
        super()._restore(steps, arrays)
        *at, offered = arrays["kept_at"].astype(np.int64).tolist()
        self._offered, self._kept_at = offered, at
        self._kept = list(arrays["kept"].astype(np.float32))
        ends = np.cumsum(arrays["lengths"].astype(np.int64))[:-1]
        if len(arrays["lengths"]):
            self._recent = [
                Lesson(rows[:, :CODE].astype(np.int64), rows[:, CODE], rows[:, CODE + 1])
                for rows in np.split(arrays["recent"], ends)
            ]
        for column, saved in zip(self._memory, Lesson._fields, strict=True):
            column[: len(arrays[saved])] = arrays[saved]


def play_by_regret(task: Task) -> tuple[int, Lesson, Lesson]:
    """Return how many decisions a share has, and lessons for the critic and of regrets."""
    judge, rounds, rng = task.begin()
    critic, regret = task.networks
    unit, traverser = unit_of(task.game), np.arange(task.rounds) % 2

    def decide(
        rows: Numbers, player: Numbers, after: Afterstates
    ) -> tuple[Floats, Floats, Floats]:
        value = known_values(judge(critic, after), after, unit)
        sigma = matched(judge(regret, after), after.start)
        explores = (player == traverser[rows])[owners(after.start)]
        mixed = (1 - task.explore) * sigma + task.explore * even(after.start)
        return sigma, np.where(explores, mixed, sigma), value

    steps = follow(judge.describer, rounds, decide, rng)
    then = _earned(traverser, rounds.paid, unit)  # what came of each action
    taught: tuple[list[Any], list[Any]] = ([], [])
    regrets: tuple[list[Any], list[Any]] = ([], [])
    for step in reversed(steps):
        after, mine = step.after, step.player == traverser[step.rows]
        mean = totals(step.sigma * step.value, after.start)
        rows, chosen = step.rows[mine], step.chosen[mine]
        learned = np.isnan(after.paid[chosen])
        taught[0].append(after.code[chosen[learned]])
        taught[1].append(then[rows[learned]])
        then[rows] = mean[mine]
        a_choice = (mine & (np.diff(after.start) > 1))[owners(after.start)]
        regrets[0].append(after.code[a_choice])
        regrets[1].append((step.value - mean[owners(after.start)])[a_choice])
    return sum(len(step.rows) for step in steps), _lesson(*taught), _lesson(*regrets)


# ---- traversals ------------------------------------------------------------------------------


class TraversalLearner(RegretLearner):
    """Regret matching with networks by robust sampling: no critic, but traversals.

    Each round becomes a small tree: at a decision of the traverser, k actions are tried out,
    drawn at random without replacement; at one of the opponent, and at a draw, one. On the way
    up each decision is worth, and regrets are,

        û(a) = value below a · n / k  where a was tried, else 0
        v = Σ_b σ(b) û(b)             r(a) = û(a) − v

    with n actions. A row of the reservoir counts as much as its decision was unlikely to be
    reached by the traverser's own choices, the product of all n / k above it.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    k : int
        1 is outcome sampling, 8 external sampling, which takes about 800,000 nodes a round.
    hidden, rounds, steps, batch, rate, seed, memory, keep_every, jobs
        As for `RegretLearner`; `rounds` are traversals.

    Notes
    -----
    Robust sampling is of Li et al. (2020); :class:`cfrlib.Robust` has the same in tables.

    Examples
    --------
    >>> from cfrlib.games import MiniKoiKoi
    >>> TraversalLearner(MiniKoiKoi.K8(), k=2, hidden=(16,), rounds=20, steps=5, batch=64)
    TraversalLearner of MiniKoiKoi.K8(): 0 iterations, 0 rounds, 0 decisions
    """

    FORMAT = "cfrlib traversal learner 1"

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
        keep_every: int = 1,
        jobs: int | None = None,
    ):
        super().__init__(
            game, hidden=hidden, rounds=rounds, steps=steps, batch=batch, rate=rate, seed=seed,
            memory=memory, keep_every=keep_every, jobs=jobs,
        )  # fmt: skip
        self.k = whole_number("k", k, 1)

    def _iterate(self, t: int) -> None:
        rng = np.random.default_rng([self.seed, t, SHARES])
        shares = self._shares(t, traverse)
        self.decisions += sum(decisions for decisions, _ in shares)
        regrets = _together([regret for _, regret in shares])
        self._learn_regrets(t, regrets._replace(weight=regrets.weight * t), rng)

    def _settings(self) -> dict[str, Any]:
        settings = super()._settings() | {"k": self.k}
        return {name: settings[name] for name in settings if name not in ("explore", "window")}


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


def traverse(task: Task) -> tuple[int, Lesson]:
    """Return how many decisions a share of traversals has, and lessons of regrets."""
    judge, rounds, rng = task.begin()
    levels = descend(judge, task, rounds, rng)
    codes, targets, weights = [], [], []
    below = np.zeros(0)
    for level in reversed(levels):
        after = level.after
        estimate = np.zeros(len(after.code))
        estimate[level.tried] = below / level.rho[level.tried]
        own = owners(after.start)
        by_strategy = totals(level.sigma * estimate, after.start)
        mean = np.where(level.mine, by_strategy, totals(estimate, after.start))
        a_choice = (level.mine & (np.diff(after.start) > 1))[own]
        codes.append(after.code[a_choice])
        targets.append((estimate - mean[own])[a_choice])
        weights.append(level.weight[own][a_choice])
        below = level.value.copy()
        below[level.open] = mean
    lesson = Lesson(np.concatenate(codes), np.concatenate(targets), np.concatenate(weights))
    return sum(len(level.open) for level in levels), lesson


def descend(judge: Judge, task: Task, rounds: Rounds, rng: np.random.Generator) -> list[Level]:
    """Play all rounds to their end, with k actions at every decision of the traverser."""
    describer, unit = judge.describer, unit_of(task.game)
    traverser, weight = np.arange(task.rounds) % 2, np.ones(task.rounds)
    levels: list[Level] = []
    while True:
        value = _earned(traverser, rounds.paid, unit)
        going = np.flatnonzero(rounds.stage != OVER)
        if not len(going):
            levels.append(_leaves(value))
            return levels
        after = describer.after(rounds, going)
        own, counts = owners(after.start), np.diff(after.start)
        sigma = matched(judge(task.networks[1], after), after.start)
        mine = rounds.player[going] == traverser[going]
        tried = np.minimum(task.k, counts)
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


# ---- small things ----------------------------------------------------------------------------


def _earned(player: Numbers, paid: Numbers, unit: float) -> Floats:
    """Return what rounds that pay player 0 so many points are worth to these players."""
    return np.asarray(np.where(player == 0, 1, -1) * paid / unit)


def _lesson(codes: list[Numbers], targets: list[Floats]) -> Lesson:
    code = np.concatenate(codes)
    return Lesson(code, np.concatenate(targets), np.ones(len(code)))


def _together(lessons: list[Lesson]) -> Lesson:
    return Lesson(*(np.concatenate(columns) for columns in zip(*lessons, strict=True)))


def _leaves(value: Floats) -> Level:
    """Return a level of nodes that are all over."""
    none, nothing = np.zeros(0, np.int64), np.zeros(0)
    after = Afterstates(np.zeros((0, CODE), np.int64), np.zeros(1, np.int64), none, nothing)
    return Level(value, none, after, nothing, nothing, none, np.zeros(0, np.bool_), nothing)


def _share_of(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")
    return float(value)


class _Form:
    """A game as files describe it: by its rules alone, for its infosets are too many."""

    num_sequences = 0

    def __init__(self, game: KoiKoi):
        self.tree = _Infosets(game, [], [], [])
        self._rules = repr((game, game.deck, game.hand, game.open, game.yaku))

    def fingerprint(self) -> str:
        """Return a digest of the rules."""
        return sha256(self._rules.encode()).hexdigest()


class _Infosets(NamedTuple):
    game: KoiKoi
    infoset_player: list[int]
    infoset_label: list[str]
    infoset_actions: list[tuple[str, ...]]
