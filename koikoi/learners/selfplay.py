"""Learning Koi-Koi by self-play: the base class and the data that all learners share.

Each iteration plays some rounds with the current networks, in lockstep in the simulator, and
trains the networks on samples from these rounds. Results do not depend on timing: an iteration
is a function of the seed, its number and the networks before it. The subclasses define the
targets: values (`deep_monte_carlo`), regrets (`escher`, `robust_deep_cfr`) or logits
(`policy_gradient`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, ClassVar, NamedTuple, Self

import jax
import numpy as np
import numpy.typing as npt

from cfrlib.core import files
from cfrlib.core.checks import whole_number
from cfrlib.core.files import Array, Fields, PathLike, Saved
from cfrlib.core.tree import Floats
from cfrlib.deep.memory import Singles
from cfrlib.run import Bar, Limits, alone, deferred_interrupt
from koikoi.afterstates import CODE, Afterstates, Describer
from koikoi.learners.network_player import (
    NetworkPlayer,
    RulesOnly,
    check_widths,
    known_values,
)
from koikoi.learners.segments import sample_rows, segment_ids, segment_sum
from koikoi.learners.value_network import TrainState, ValueNetwork, value_network
from koikoi.rules import KoiKoi
from koikoi.simulator import OVER, Numbers, Rounds

NETWORK = ("weights", "averaged", "first", "second")  # arrays of a TrainState in a file
TASKS = 4  # per iteration; fixed, so that results do not depend on the number of workers


class Step(NamedTuple):
    """One decision in each of some rounds.

    Attributes
    ----------
    rows, player : int arrays, shape (decisions,)
        The rounds, and the player to move in each.
    after : Afterstates
    sigma : float array, shape (rows of `after`,)
        The strategy.
    chosen : int array, shape (decisions,)
        The row of the sampled action.
    """

    rows: Numbers
    player: Numbers
    after: Afterstates
    sigma: Floats
    chosen: Numbers


class CriticValues(NamedTuple):
    """A critic's values at one decision in each of some rounds.

    Attributes
    ----------
    step : Step
    value : float array, shape (rows of `step.after`,)
        The value q(a) of each action at the selected decisions, known for stopping.
    mean : float array, shape (decisions,)
        The value of the decision under the strategy, Σ_b σ(b) q(b).
    selected : bool array, shape (decisions,)
        Decisions to train on: those of the chosen players, with two or more actions.
    """

    step: Step
    value: Floats
    mean: Floats
    selected: npt.NDArray[np.bool_]

    @property
    def rows(self) -> npt.NDArray[np.bool_]:
        """Mask of the actions at selected decisions, shape (rows of `step.after`,)."""
        mask: npt.NDArray[np.bool_] = self.selected[segment_ids(self.step.after.start)]
        return mask


class Samples(NamedTuple):
    """Training samples of a network.

    Attributes
    ----------
    code : int array, shape (rows, width)
        Encoded tables, the inputs.
    target, weight : float arrays, shape (rows,)
    """

    code: Numbers
    target: Floats
    weight: Floats

    def named(self, name: str) -> dict[str, Array]:
        """Return the arrays that a file stores under a name."""
        return {f"{name}_{part}": array for part, array in self._asdict().items()}

    @classmethod
    def read(cls, file: Saved, name: str, rows: int | None, width: int) -> Samples:
        """Return the samples that a file stores under a name."""
        code = file.array(f"{name}_code", (rows, width), np.int64)
        return cls(code, *(file.array(f"{name}_{part}", (rows,)) for part in cls._fields[1:]))


class Window:
    """A buffer of the samples of the last `length` iterations, of tables of some width."""

    def __init__(self, length: int, width: int = CODE):
        self.length, self.width = length, width
        self.batches: list[Samples] = []

    def add(self, batch: Samples) -> Samples:
        """Add the samples of an iteration; return all samples in the buffer."""
        self.batches = [*self.batches, batch][-self.length :]
        return concatenate(self.batches)

    def state(self) -> dict[str, Array]:
        """Return the arrays that a file stores."""
        empty = Samples(np.zeros((0, self.width), np.int64), np.zeros(0), np.zeros(0))
        lengths = np.array([len(batch.code) for batch in self.batches], np.int64)
        return {**concatenate([empty, *self.batches]).named("recent"), "lengths": lengths}

    def restore(self, file: Saved) -> None:
        """Set the buffer to the arrays of a file."""
        rows = Samples.read(file, "recent", None, self.width)
        ends = np.cumsum(file.array("lengths", (None,), np.int64)).tolist()
        self.batches = [
            Samples._make(column[begin:end] for column in rows)
            for begin, end in pairwise([0, *ends])
        ]


class Reservoir:
    """A buffer that holds a uniform sample of all rows ever added (reservoir sampling)."""

    def __init__(self, size: int, width: int = CODE):
        self.size, self.seen = size, 0
        code = np.zeros((size, width), np.int64)
        self._rows = Samples(code, np.zeros(size), np.zeros(size))

    def add(self, batch: Samples, rng: np.random.Generator) -> None:
        """Add rows, one after the other."""
        number = self.seen + np.arange(len(batch.code))
        place = np.where(
            number < self.size, number, (rng.random(len(number)) * (number + 1)).astype(int)
        )
        kept = place < self.size
        for column, new in zip(self._rows, batch, strict=True):
            column[place[kept]] = new[kept]
        self.seen += len(number)

    @property
    def samples(self) -> Samples:
        """The rows in the buffer."""
        filled = min(self.seen, self.size)
        code, target, weight = self._rows
        return Samples(code[:filled], target[:filled], weight[:filled])

    def state(self) -> dict[str, Array]:
        """Return the arrays that a file stores."""
        return {**self.samples.named("memory"), "seen": np.array([self.seen])}

    def restore(self, file: Saved) -> None:
        """Set the buffer to the arrays of a file."""
        self.seen = int(file.array("seen", (1,), np.int64)[0])
        filled, width = self.samples.code.shape
        saved = Samples.read(file, "memory", filled, width)
        for column, into in zip(saved, self.samples, strict=True):
            into[:] = column


Decide = Callable[[Numbers, Numbers, Afterstates], tuple[Floats, Floats]]


def play_out(
    describer: Describer, rounds: Rounds, decide: Decide, rng: np.random.Generator
) -> list[Step]:
    """Play rounds to their end and return all decisions, in order.

    `decide` takes the rows of the rounds, the players to move and the afterstates. It returns
    the strategy, and the behavior strategy that actions are sampled from, one number per row.
    """
    steps: list[Step] = []
    while True:
        rows = np.flatnonzero(rounds.stage != OVER)
        if not len(rows):
            return steps
        player, after = rounds.player[rows], describer.after(rounds, rows)
        sigma, behavior = decide(rows, player, after)
        chosen = sample_rows(behavior, after.start, rng.random(len(rows)))
        steps.append(Step(rows, player, after, sigma, chosen))
        describer.simulator.act(rounds, rows, after.action[chosen])


class Task(NamedTuple):
    """A share of an iteration's rounds, for one worker.

    Attributes
    ----------
    game : KoiKoi
    hidden : tuple of int
        Widths of the networks' layers.
    networks : tuple of float32 arrays
        The weights of all networks of the learner.
    seed : tuple of int
        For deals and moves.
    rounds : int
        Number of rounds.
    kinds : tuple of str
        The kind of each network.
    """

    game: KoiKoi
    hidden: tuple[int, ...]
    networks: tuple[Singles, ...]
    seed: tuple[int, ...]
    rounds: int
    kinds: tuple[str, ...] = ("mlp",)

    def begin(self) -> tuple[ValueNetwork, Rounds, np.random.Generator]:
        """Return network 0's architecture, newly dealt rounds, a generator for the moves."""
        network = self.architecture(0)
        deals, moves = np.random.SeedSequence(self.seed).spawn(2)
        rounds = network.describer.simulator.deal(self.rounds, seed=deals)
        return network, rounds, np.random.default_rng(moves)

    def architecture(self, n: int) -> ValueNetwork:
        """Return the architecture of network n."""
        return value_network(self.game, self.hidden, self.kinds[n])


class SelfPlay(ABC):
    """Base class of the learners; a subclass defines the iteration.

    Network 0 plays. The networks are of one kind, or the subclass passes the kind of each.

    Attributes
    ----------
    iterations, decisions : int
        Numbers of iterations so far, and of decisions of both players in them.
    losses : list of float
        Loss of each network in the last iteration.
    """

    FORMAT: ClassVar[str]
    NETWORKS: ClassVar[int]  # number of networks trained

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
        network: str | tuple[str, ...] = "mlp",
    ):
        self.game, self.hidden = game, tuple(hidden)
        self.rounds = whole_number("rounds", rounds, TASKS)
        self.steps = whole_number("steps", steps, 1)
        self.batch = whole_number("batch", batch, 1)
        if not rate > 0:
            raise ValueError(f"rate must be above 0, got {rate!r}")
        self.rate, self.jobs = rate, jobs
        self.seed = whole_number("seed", seed, 0)
        self.iterations = self.decisions = 0
        self.losses = [0.0] * self.NETWORKS
        kinds = (network,) * self.NETWORKS if isinstance(network, str) else network
        self._networks = [value_network(game, hidden, kind) for kind in kinds]
        keys = jax.random.split(jax.random.key(seed), self.NETWORKS)
        self._states = [each.fresh(key) for each, key in zip(self._networks, keys, strict=True)]
        self._buffers: list[Window | Reservoir] = []  # saved along with the networks

    def run(
        self,
        iterations: int | None = None,
        *,
        seconds: float | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Run more iterations, up to a limit; return self.

        Parameters
        ----------
        iterations : int, optional
            Number of iterations to run.
        seconds : float, optional
            Start no iteration later than this. The result then depends on the machine.
        progress : bool, optional
            Whether to show a progress bar; by default only in runs of more than two seconds.

        Raises
        ------
        ValueError
            If neither limit is given, or one is out of range.
        """
        if iterations is None and seconds is None:
            raise ValueError("pass a limit of the run: iterations=… or seconds=…")
        bar, done = Bar(Limits.of(iterations, None, seconds), progress), 0
        try:
            with deferred_interrupt() as interrupted, alone(self):
                while not (bar.out_of_time or interrupted or done == iterations):
                    self._iterate(self.iterations + 1)
                    self.iterations, done = self.iterations + 1, done + 1
                    remark = "losses " + ", ".join(f"{loss:.2e}" for loss in self.losses)
                    bar.show(done, [[done, self.decisions, 0.0, np.nan]], remark)
        finally:
            bar.close()
        return self

    @abstractmethod
    def _iterate(self, t: int) -> None:
        """Run iteration t: play rounds, then train."""

    def _run_tasks(self, t: int, play: Callable[[Task], Any]) -> list[Any]:
        """Play the rounds of iteration t and return the results of all tasks, in order."""
        networks, kinds = self._playing(), tuple(each.kind for each in self._networks)
        sizes = np.diff(np.linspace(0, self.rounds, TASKS + 1).astype(int)).tolist()
        tasks = [
            Task(self.game, self.hidden, networks, (self.seed, t, n), size, kinds)
            for n, size in enumerate(sizes)
        ]
        if self.jobs is None:
            return [play(task) for task in tasks]
        from joblib import Parallel, delayed

        results: list[Any] = Parallel(n_jobs=self.jobs)(delayed(play)(task) for task in tasks)
        return results

    def _playing(self) -> tuple[Singles, ...]:
        """Return the weights that the rounds are played with."""
        return tuple(state.weights for state in self._states)

    def _rng(self, t: int) -> np.random.Generator:
        """Return the generator for training in iteration t."""
        return np.random.default_rng([self.seed, t, TASKS])

    def _fit(self, n: int, samples: Samples, rng: np.random.Generator) -> None:
        """Train network n on batches of samples, with replacement."""
        rows = rng.integers(0, len(samples.code), (self.steps, self.batch))
        self._states[n], self.losses[n] = self._networks[n].improve(
            self._states[n],
            samples.code[rows],
            samples.target[rows],
            samples.weight[rows],
            self.rate,
        )

    @abstractmethod
    def player(self) -> NetworkPlayer:
        """Return the trained player."""

    # ---- files -------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the state of the run to a file, from which it resumes exactly.

        An existing file is replaced only once the new one is complete.
        """
        fields = {"options": self._options(), **self._numbers()}
        files.write(path, self.FORMAT, RulesOnly(self.game), fields, self._state())

    @classmethod
    def load(cls, path: PathLike, game: KoiKoi, *, jobs: int | None = None) -> Self:
        """Load a saved learner; resumed, it ends with the same numbers as without the stop.

        Raises
        ------
        ValueError
            If the file is damaged, of another kind, or of a game with other rules.
        """
        return cls._load(path, game, jobs=jobs)

    @classmethod
    def _load(cls, path: PathLike, game: KoiKoi, **more: Any) -> Self:
        """Return the learner in a file; `more` are arguments that files do not store."""
        with files.reading(path, cls.FORMAT) as file:
            file.require_game(RulesOnly(game))
            options = file.header["options"]
            check_widths(file, "weights0", options["hidden"])
            create: Any = cls
            self: Self = create(game, **options, **more)
            self._restore(file)
        return self

    def _options(self) -> Fields:
        """Return the arguments that create such a learner, in types that JSON knows."""
        names = ("hidden", "rounds", "steps", "batch", "rate", "seed")
        return {name: getattr(self, name) for name in names}

    def _numbers(self) -> Fields:
        """Return the numbers of the learner's state, in types that JSON knows."""
        steps = [state.steps for state in self._states]
        numbers = {name: getattr(self, name) for name in ("iterations", "decisions", "losses")}
        return {**numbers, "trained": steps}

    def _state(self) -> dict[str, Array]:
        """Return the arrays of the learner's state, by name."""
        arrays = {
            f"{name}{n}": getattr(state, name)
            for n, state in enumerate(self._states)
            for name in NETWORK
        }
        for buffer in self._buffers:
            arrays |= buffer.state()
        return arrays

    def _restore(self, file: Saved) -> None:
        """Set the state of a new learner to that of a file: `_state` and `_numbers`."""
        header = file.header
        self.iterations, self.decisions = header["iterations"], header["decisions"]
        self.losses = header["losses"]
        for n, (each, steps) in enumerate(zip(self._networks, header["trained"], strict=True)):
            rows = (file.array(f"{name}{n}", (each.size,), np.float32) for name in NETWORK)
            self._states[n] = TrainState._make([*rows, steps])
        for buffer in self._buffers:
            buffer.restore(file)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__} of {self.game!r}: {self.iterations:,} iterations, "
            f"{self.iterations * self.rounds:,} rounds, {self.decisions:,} decisions"
        )


# ---- samples ---------------------------------------------------------------------------------


def payoffs_of(player: Numbers, paid: Numbers, scale: float) -> Floats:
    """Return these players' payoffs, in units of `scale`; `paid` is player 0's, in points."""
    return np.asarray(np.where(player == 0, 1, -1) * paid / scale)


def samples_of(codes: list[Numbers], targets: list[Floats]) -> Samples:
    """Return samples of weight 1."""
    code = np.concatenate(codes)
    return Samples(code, np.concatenate(targets), np.ones(len(code)))


def concatenate(batches: list[Samples]) -> Samples:
    """Concatenate samples."""
    return Samples(*(np.concatenate(columns) for columns in zip(*batches, strict=True)))


def critic_targets(
    critic: ValueNetwork,
    weights: Singles,
    steps: list[Step],
    paid: Numbers,
    scale: float,
    learns: npt.NDArray[np.bool_],
) -> tuple[Samples, list[CriticValues]]:
    """Return training samples for a critic, and its current values, from the last step back.

    The target of a sampled action is the value of the same player's next decision under the
    strategy, Σ_b σ(b) q(b), or the payoff if no decision follows.

    Parameters
    ----------
    critic : ValueNetwork
        Predicts the values of actions.
    weights : float32 array, shape (size,)
        Its weights.
    steps : list of Step
        All decisions of some rounds, in order.
    paid : int array, shape (rounds,)
        Payoff of each round to player 0, in points.
    scale : float
        Points per unit of network output.
    learns : bool array, shape (2, rounds)
        The players whose decisions are trained on.
    """
    mine = [learns[step.player, step.rows] for step in steps]
    masks = [m[segment_ids(step.after.start)] for m, step in zip(mine, steps, strict=True)]
    codes = [step.after.code[rows] for rows, step in zip(masks, steps, strict=True)]
    ends = np.cumsum([len(c) for c in codes])
    predicted = np.split(critic(weights, np.concatenate(codes)), ends[:-1])
    target = np.stack([paid, -paid]) / scale  # of the last action so far, by player and round
    samples: tuple[list[Any], list[Any]] = ([], [])
    critic_values: list[CriticValues] = []
    for n in reversed(range(len(steps))):
        after = steps[n].after
        value = np.zeros(len(after.code))
        value[masks[n]] = known_values(predicted[n], after.paid[masks[n]], scale)
        mean = segment_sum(steps[n].sigma * value, after.start)
        critic_values.append(
            CriticValues(steps[n], value, mean, mine[n] & (np.diff(after.start) > 1))
        )
        where = (steps[n].player[mine[n]], steps[n].rows[mine[n]])
        chosen = steps[n].chosen[mine[n]]
        unknown = np.isnan(after.paid[chosen])
        samples[0].append(after.code[chosen[unknown]])
        samples[1].append(target[where][unknown])
        target[where] = mean[mine[n]]
    return samples_of(*samples), critic_values


def check_fraction(name: str, value: float) -> float:
    """Return a number as a float if it lies between 0 and 1.

    Raises
    ------
    ValueError
        If it does not.
    """
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie between 0 and 1, got {value!r}")
    return float(value)
