"""Koi-Koi learned by playing oneself: what all learners share.

Every iteration plays some rounds with the networks there are, side by side in the simulator,
and trains them further on what these rounds said. Nothing depends on how fast that goes: an
iteration is a function of the seed, its number and the networks before it. What is taught is
up to the learners: values in `monte_carlo`, regrets in `regrets`, logits in
`policy_gradient`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
import numpy.typing as npt

from cfrlib.core import files, schema
from cfrlib.core.checks import whole_number
from cfrlib.core.files import Arrays, PathLike, Saved, demand
from cfrlib.core.tree import Floats
from cfrlib.deep.memory import Singles
from cfrlib.deep.networks import LOSS
from cfrlib.koikoi.afterstates import CODE, Afterstates, Describer
from cfrlib.koikoi.learners.network_player import (
    HIDDEN,
    NetworkPlayer,
    RulesOnly,
    demand_widths,
    known_values,
)
from cfrlib.koikoi.learners.segments import drawn, owners, totals
from cfrlib.koikoi.learners.value_network import TrainState, ValueNetwork
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import OVER, Numbers, Rounds
from cfrlib.run import Bar, Goal, deferred_interrupt

NETWORK = ("weights", "settled", "first", "second")  # of a study, as files hold it
SHARES = 4  # that the rounds of an iteration are divided into, whoever plays them


class Step(NamedTuple):
    """One decision of each of some rounds.

    Attributes
    ----------
    rows, player : int arrays, shape (decisions,)
        Which rounds, and who chose.
    after : Afterstates
    sigma : float array, shape (rows of `after`,)
        The strategy.
    chosen : int array, shape (decisions,)
        The row of the action that was taken.
    """

    rows: Numbers
    player: Numbers
    after: Afterstates
    sigma: Floats
    chosen: Numbers


class CriticValues(NamedTuple):
    """What a critic says of one decision of each of some rounds.

    Attributes
    ----------
    step : Step
    value : float array, shape (rows of `step.after`,)
        Of every action of the decisions of `learned`; what stopping pays is known.
    mean : float array, shape (decisions,)
        The value under the strategy, Σ_b σ(b) q(b).
    learned : bool array, shape (decisions,)
        Whose decisions are taught, if there is a choice.
    """

    step: Step
    value: Floats
    mean: Floats
    learned: npt.NDArray[np.bool_]

    @property
    def rows(self) -> npt.NDArray[np.bool_]:
        """Whether an action is of such a decision, shape (rows of `step.after`,)."""
        mask: npt.NDArray[np.bool_] = self.learned[owners(self.step.after.start)]
        return mask


class Samples(NamedTuple):
    """What a network is taught: rows, what to answer there, and how much that counts.

    Attributes
    ----------
    code : int array, shape (rows, CODE)
    target, weight : float arrays, shape (rows,)
    """

    code: Numbers
    target: Floats
    weight: Floats

    def table(self) -> Floats:
        """Return all as one array, shape (rows, CODE + 2), as files hold it."""
        return np.column_stack(self)

    @classmethod
    def of_table(cls, table: Floats) -> Samples:
        """Return what `table` had made an array."""
        return cls(table[:, :CODE].astype(np.int64), table[:, CODE], table[:, CODE + 1])


SAMPLES = schema.Array(
    (None, CODE + 2),
    lambda table: schema.finite(table) and schema.whole_in(-schema.EXACT)(table[:, :CODE]),
)
COUNTS = schema.Array((None,), schema.whole_in(1))


def _setting(value: Any) -> bool:
    """Accept what an option of a learner may be; the learner itself knows it better."""
    return schema.any_of(HIDDEN, schema.number(0, schema.EXACT))(value)


_HEADER = {
    "settings": lambda value: isinstance(value, dict) and all(map(_setting, value.values())),
    "iterations": schema.whole(),
    "decisions": schema.whole(),
    "losses": schema.listed(LOSS),
    "steps": schema.listed(schema.whole(0, 2**31 - 1)),
}


class Window:
    """The lessons of the last iterations, so many of them."""

    def __init__(self, length: int):
        self.length = length
        self.lessons: list[Samples] = []

    def add(self, lesson: Samples) -> Samples:
        """Take in a lesson, and return all there are as one."""
        self.lessons = [*self.lessons, lesson][-self.length :]
        return together(self.lessons)

    def tables(self) -> Arrays:
        """Return what a file needs to hold."""
        rows = [lesson.table() for lesson in self.lessons] or [np.zeros((0, CODE + 2))]
        lengths = np.array([len(lesson.code) for lesson in self.lessons], float)
        return {"recent": np.concatenate(rows), "lengths": lengths}

    def restore(self, tables: Arrays) -> None:
        """Take back what `tables` returned."""
        lengths = tables["lengths"].astype(np.int64)
        ends = np.cumsum(lengths)
        demand(len(lengths) <= self.length and lengths.sum() == len(tables["recent"]), "recent")
        parts = np.split(tables["recent"], ends[:-1]) if len(ends) else []
        self.lessons = [Samples.of_table(part) for part in parts]


class Reservoir:
    """A fair sample of all rows ever offered: each of them is in it equally likely."""

    def __init__(self, size: int):
        self.size, self.offered = size, 0
        self._rows = Samples(np.zeros((size, CODE), np.int64), np.zeros(size), np.zeros(size))

    def offer(self, lesson: Samples, rng: np.random.Generator) -> None:
        """Offer rows, one after the other."""
        number = self.offered + np.arange(len(lesson.code))
        place = np.where(
            number < self.size, number, (rng.random(len(number)) * (number + 1)).astype(int)
        )
        kept = place < self.size
        for mine, new in zip(self._rows, lesson, strict=True):
            mine[place[kept]] = new[kept]
        self.offered += len(number)

    @property
    def lesson(self) -> Samples:
        """What is in it."""
        filled = min(self.offered, self.size)
        code, target, weight = self._rows
        return Samples(code[:filled], target[:filled], weight[:filled])

    def tables(self) -> Arrays:
        """Return what a file needs to hold."""
        return {"memory": self.lesson.table(), "offered": np.array([float(self.offered)])}

    def restore(self, tables: Arrays) -> None:
        """Take back what `tables` returned."""
        self.offered = int(tables["offered"][0])
        demand(len(tables["memory"]) == min(self.offered, self.size), "memory")
        for mine, saved in zip(self._rows, Samples.of_table(tables["memory"]), strict=True):
            mine[: len(saved)] = saved


Decide = Callable[[Numbers, Numbers, Afterstates], tuple[Floats, Floats]]


def follow(
    describer: Describer, rounds: Rounds, decide: Decide, rng: np.random.Generator
) -> list[Step]:
    """Play rounds to their end and return all decisions, in order.

    `decide` is asked with the rounds, who chooses, and the afterstates; it answers the
    strategy and how likely each action shall be taken, one number a row each.
    """
    steps: list[Step] = []
    while True:
        rows = np.flatnonzero(rounds.stage != OVER)
        if not len(rows):
            return steps
        player, after = rounds.player[rows], describer.after(rounds, rows)
        sigma, behavior = decide(rows, player, after)
        chosen = drawn(behavior, after.start, rng.random(len(rows)))
        steps.append(Step(rows, player, after, sigma, chosen))
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
    """

    game: KoiKoi
    hidden: tuple[int, ...]
    networks: tuple[Singles, ...]
    seed: tuple[int, ...]
    rounds: int

    def begin(self) -> tuple[ValueNetwork, Rounds, np.random.Generator]:
        """Return a judge, newly dealt rounds, and random numbers for the moves."""
        describer = Describer(self.game)
        deals, moves = np.random.SeedSequence(self.seed).spawn(2)
        rounds = describer.simulator.deal(self.rounds, seed=deals)
        return ValueNetwork(describer, self.hidden), rounds, np.random.default_rng(moves)


class SelfPlay(ABC):
    """A learner at work; its subclasses say what an iteration is.

    Attributes
    ----------
    iterations, decisions : int
        How many there were; decisions of all players.
    losses : list of float
        Of each network, in the last iteration.
    """

    FORMAT: ClassVar[str]
    NETWORKS: ClassVar[int]  # that are trained

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
        self.losses = [0.0] * self.NETWORKS
        self._network = ValueNetwork(Describer(game), hidden)
        keys = jax.random.split(jax.random.key(seed), self.NETWORKS)
        self._states = [self._network.fresh(key) for key in keys]
        self._stores: list[Window | Reservoir] = []  # of lessons, that files hold too

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
            with deferred_interrupt() as interrupted:
                while not (bar.late or interrupted or done == iterations):
                    self._iterate(self.iterations + 1)
                    self.iterations, done = self.iterations + 1, done + 1
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
        networks = self._playing()
        sizes = np.diff(np.linspace(0, self.rounds, SHARES + 1).astype(int)).tolist()
        tasks = [
            Task(self.game, self.hidden, networks, (self.seed, t, n), size)
            for n, size in enumerate(sizes)
        ]
        if self.jobs is None:
            return [play(task) for task in tasks]
        from joblib import Parallel, delayed

        answers: list[Any] = Parallel(n_jobs=self.jobs)(delayed(play)(task) for task in tasks)
        return answers

    def _playing(self) -> tuple[Singles, ...]:
        """Return the networks that the rounds are played with."""
        return tuple(study.weights for study in self._states)

    def _chance(self, t: int) -> np.random.Generator:
        """Return random numbers for the learning of iteration t."""
        return np.random.default_rng([self.seed, t, SHARES])

    def _fit(self, n: int, lesson: Samples, rng: np.random.Generator) -> None:
        """Train network n on rows of a lesson, drawn with replacement."""
        rows = rng.integers(0, len(lesson.code), (self.steps, self.batch))
        self._states[n], self.losses[n] = self._network.improve(
            self._states[n], lesson.code[rows], lesson.target[rows], lesson.weight[rows],
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
            "steps": [study.steps for study in self._states],
        }  # fmt: skip
        files.write(path, self._kind(), RulesOnly(self.game), header, self._arrays())

    @classmethod
    def load(cls, path: PathLike, game: KoiKoi, *, jobs: int | None = None) -> Self:
        """Return a saved learner, ready to run on; it ends with the numbers it would have had.

        Raises
        ------
        ValueError
            If the file is damaged, of another kind, or of a game with other rules.
        """
        with cls._reading(path, game) as file:
            return cls(game, **file.header["settings"], jobs=jobs)._resume(file)

    @classmethod
    @contextmanager
    def _reading(cls, path: PathLike, game: KoiKoi) -> Iterator[Saved]:
        """Open a file of such a learner; no network in it is larger than the file."""
        with files.reading(path, cls._kind(), RulesOnly(game)) as file:
            demand_widths(file, "weights0", file.header["settings"].get("hidden"))
            yield file

    def _resume(self, file: Saved) -> Self:
        """Take the learner to where a file left off, and return it."""
        header = file.header
        demand(header["settings"] == self._settings(), "settings")
        demand(len(header["losses"]) == len(header["steps"]) == self.NETWORKS, "losses")
        self.iterations, self.decisions = header["iterations"], header["decisions"]
        self.losses = list(header["losses"])
        self._restore(header["steps"], file.arrays(weights=self._network.size))
        return self

    @classmethod
    def _kind(cls) -> files.Kind:
        networks = dict.fromkeys(cls._names(), schema.Array(("weights",), schema.single))
        arrays = {**networks, **cls._EXTRA}
        return files.Kind(cls.FORMAT, "run", f"{cls.__name__}.save", _HEADER, arrays)

    _EXTRA: ClassVar[Mapping[str, schema.Array]] = {}  # arrays besides those of the networks

    @classmethod
    def _names(cls) -> list[str]:
        return [f"{name}{n}" for n in range(cls.NETWORKS) for name in NETWORK]

    def _arrays(self) -> Arrays:
        rows = [getattr(study, name) for study in self._states for name in NETWORK]
        arrays = {
            name: np.asarray(row, np.float64)
            for name, row in zip(self._names(), rows, strict=True)
        }
        for store in self._stores:
            arrays |= store.tables()
        return arrays

    def _restore(self, steps: list[int], arrays: Arrays) -> None:
        """Take back what `_arrays` returned."""
        self._states = []
        for n, taken in enumerate(steps):
            weights, settled, first, second = (
                arrays[f"{name}{n}"].astype(np.float32) for name in NETWORK
            )
            self._states.append(TrainState(weights, settled, first, second, taken))
        for store in self._stores:
            store.restore(arrays)

    def _settings(self) -> dict[str, Any]:
        return {
            "hidden": list(self.hidden), "rounds": self.rounds, "steps": self.steps,
            "batch": self.batch, "rate": self.rate, "seed": self.seed,
        }  # fmt: skip

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} of {self.game!r}: {self.iterations:,} iterations, "
            f"{self.iterations * self.rounds:,} rounds, {self.decisions:,} decisions"
        )


# ---- lessons ---------------------------------------------------------------------------------


def earned(player: Numbers, paid: Numbers, unit: float) -> Floats:
    """Return what rounds that pay player 0 so many points are worth to these players."""
    return np.asarray(np.where(player == 0, 1, -1) * paid / unit)


def samples_of(codes: list[Numbers], targets: list[Floats]) -> Samples:
    """Return rows that count the same as one lesson."""
    code = np.concatenate(codes)
    return Samples(code, np.concatenate(targets), np.ones(len(code)))


def together(lessons: list[Samples]) -> Samples:
    """Return several lessons as one."""
    return Samples(*(np.concatenate(columns) for columns in zip(*lessons, strict=True)))


def judged(
    critic: Callable[[Numbers], Floats],
    steps: list[Step],
    paid: Numbers,
    unit: float,
    learns: npt.NDArray[np.bool_],
) -> tuple[Samples, list[CriticValues]]:
    """Return what rounds teach a critic, and what the critic says of them, the last step first.

    The critic is taught, for every action taken, what its player was paid, or the value under
    the strategy of his next decision: Σ_b σ(b) q(b).

    Parameters
    ----------
    critic : function
        What it says of rows of afterstates.
    steps : list of Step
        All decisions of some rounds, in order.
    paid : int array, shape (rounds,)
        What came of them for player 0, in points.
    unit : float
        The points that count 1.
    learns : bool array, shape (2, rounds)
        Whose decisions are taught.
    """
    mine = [learns[step.player, step.rows] for step in steps]
    asked = [m[owners(step.after.start)] for m, step in zip(mine, steps, strict=True)]
    codes = [step.after.code[rows] for rows, step in zip(asked, steps, strict=True)]
    answers = np.split(critic(np.concatenate(codes)), np.cumsum([len(c) for c in codes])[:-1])
    then = np.stack([paid, -paid]) / unit  # what came of the last action of each player
    taught: tuple[list[Any], list[Any]] = ([], [])
    verdicts: list[CriticValues] = []
    for n in reversed(range(len(steps))):
        after = steps[n].after
        value = np.zeros(len(after.code))
        value[asked[n]] = known_values(answers[n], after.paid[asked[n]], unit)
        mean = totals(steps[n].sigma * value, after.start)
        verdicts.append(
            CriticValues(steps[n], value, mean, mine[n] & (np.diff(after.start) > 1))
        )
        where = (steps[n].player[mine[n]], steps[n].rows[mine[n]])
        chosen = steps[n].chosen[mine[n]]
        learned = np.isnan(after.paid[chosen])
        taught[0].append(after.code[chosen[learned]])
        taught[1].append(then[where][learned])
        then[where] = mean[mine[n]]
    return samples_of(*taught), verdicts


def share_of(name: str, value: float) -> float:
    """Return a number that must lie between 0 and 1."""
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")
    return float(value)
