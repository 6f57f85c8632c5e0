"""The base class of all solvers: limits, checkpoints, progress, interrupts and files.

A solver adds its iteration and its strategies.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
import types
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from tqdm.auto import tqdm

from cfrlib.core import files
from cfrlib.core.checks import real_number, whole_number
from cfrlib.core.files import Array, Described, Fields, PathLike, Saved
from cfrlib.core.sequence import sequence_form
from cfrlib.core.tree import Floats, check_game
from cfrlib.evaluate import evaluate, not_negative
from cfrlib.game import Game
from cfrlib.regret import Method
from cfrlib.solution import Solution, Trace, next_checkpoint
from cfrlib.strategy import PartialStrategy, Strategy

BAR_DELAY = 2.0  # seconds before a progress bar appears
PATIENCE = 1_000_000  # iterations at most if `until` is the only limit


class Bar:
    """A progress bar, created on first use: in a notebook each bar is a widget."""

    def __init__(self, limits: Limits, wanted: bool | None):
        self.limits, self.wanted = limits, wanted
        self.started = time.perf_counter()
        self.bar: tqdm[NoReturn] | None = None

    @property
    def out_of_time(self) -> bool:
        """Whether the limit of seconds is reached."""
        limit = self.limits.seconds
        return limit is not None and time.perf_counter() - self.started >= limit

    def show(self, done: int, rows: list[list[float]], remark: str) -> None:
        """Show iterations, exploitability and time, each with its limit."""
        elapsed = time.perf_counter() - self.started
        if self.wanted is None and elapsed > BAR_DELAY:
            self.wanted = True
        if not self.wanted:
            return
        if self.bar is None:
            total = None if self.limits.until else self.limits.iterations
            off = bool(os.environ.get("TQDM_DISABLE"))  # which tqdm's notebook bars ignore
            self.bar = tqdm(total=total, unit="it", leave=False, disable=off)
        until, seconds = self.limits.until, self.limits.seconds
        parts = [f"exploitability {rows[-1][3]:.2e}" + (f" → {until:.0e}" if until else "")]
        if math.isnan(rows[-1][3]):
            parts = [f"{int(rows[-1][1]):,} nodes"]
        if remark:
            parts.append(remark)
        if seconds:
            parts.append(f"{elapsed:.0f} of {seconds:g} s")
        self.bar.set_postfix_str(", ".join(parts), refresh=False)
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        """Remove the bar, if there is one."""
        if self.bar is not None:
            self.bar.close()


class Limits(NamedTuple):
    """The limits of a run, which ends at the first one."""

    iterations: int | None
    until: float | None
    seconds: float | None

    @classmethod
    def of(cls, iterations: int | None, until: float | None, seconds: float | None) -> Limits:
        """Check limits given by the caller, and fill in a default."""
        if iterations is not None:
            iterations = whole_number("iterations", iterations, 1)
        for name, limit in (("until", until), ("seconds", seconds)):
            if limit is not None:
                real_number(name, limit, above=True)
        if iterations is None and seconds is None:
            iterations = 1_000 if until is None else PATIENCE
        return cls(iterations, until, seconds)


class Measured(NamedTuple):
    """A strategy with its exploitability and its value to player 0."""

    exploitability: float
    value: float
    sigma: Floats


class Run(ABC):
    """A run of a solver; subclasses such as `CFR` and `MCCFR` define the iteration."""

    game: Game
    variant: Method
    update: str
    delay: int
    seconds: float
    _rows: list[list[float]]
    _chunk = 1  # iterations between two readings of the clock
    _best: Measured
    METHOD: ClassVar[str]  # the name of the algorithm
    CAVEAT: ClassVar[str] = ""  # added to the guarantee
    UNIT: ClassVar[str] = "nodes"  # of work: the attribute that counts it

    def run(
        self,
        iterations: int | None = None,
        *,
        until: float | None = None,
        seconds: float | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Run more iterations until the first limit is reached, and return the run itself.

        An interrupt (Ctrl-C) leaves a sound run that can be saved or continued. Several runs
        may run in several threads, but only one thread at a time may advance a run.

        Parameters
        ----------
        iterations : int, optional
            The number of further iterations, at least 1. By default 1,000 without another
            limit, a million with `until` alone, unlimited with `seconds`.
        until : float, optional
            Stop once the average strategy's exploitability is at most this, in units of the
            game. It is computed whenever the iterations have grown by a twentieth. `Iterates`
            stops once that of the current strategy is.
        seconds : float, optional
            Stop after about this time.
        progress : bool, optional
            Whether to show a progress bar. By default it appears after two seconds.

        Raises
        ------
        ValueError
            If a limit is not a positive number.
        RuntimeError
            If another thread is advancing this run.

        Warns
        -----
        RuntimeWarning
            If `until` was not reached.
        """
        limits = Limits.of(iterations, until, seconds)
        if until is not None and not self._measurable:
            raise ValueError(
                f"until={until:g} asks for exploitability, which is unknown for {self.game!r}, "
                "because its tree is expanded on demand; give iterations or seconds"
            )
        with deferred_interrupt() as interrupted, alone(self):
            reached = self._run_until(limits, progress, interrupted)
        if until is not None and not reached:
            warnings.warn(
                f"until={until:g} was not reached in {self.iterations:,} iterations; give more "
                'iterations or seconds, or try another variant, such as "pcfr+"',
                RuntimeWarning,
                stacklevel=2,
            )
        return self

    def _run_until(
        self, limits: Limits, progress: bool | None, interrupted: Sequence[int]
    ) -> bool:
        """Run until the first limit or an interrupt; return whether `until` was reached."""
        first = self.iterations
        if not first:  # compile before the clock and the bar start
            self._warm_up()
            self._measure(self._average())
        self._checkpoint()  # a second Ctrl-C may have prevented it
        bar = Bar(limits, progress)
        end, reached = first + (limits.iterations or sys.maxsize - first), False
        measure_at = end if limits.until is None else first + 1
        try:
            while self.iterations < end and not (reached or bar.out_of_time or interrupted):
                checkpoint = next_checkpoint(self.iterations)
                step = min(self._chunk, min(end, checkpoint, measure_at) - self.iterations)
                if self._timed_advance(step, interrupted) < 0.05 and step == self._chunk:
                    self._chunk *= 2
                self._checkpoint()
                if limits.until is not None and self.iterations in (measure_at, end):
                    measure_at = self.iterations + self.iterations // 20 + 1
                    reached = self._measure(self._aim()).exploitability <= limits.until
                bar.show(self.iterations - first, self._rows, self._remark)
        finally:
            bar.close()
        return reached

    @property
    def _measurable(self) -> bool:
        """Whether exploitability can be computed."""
        return True

    @property
    @abstractmethod
    def iterations(self) -> int:
        """Iterations done so far."""

    @property
    def _gamma(self) -> float:
        """The exponent γ of the weights t^γ in the average."""
        method: Any = self.variant
        return float(method.gamma)

    def _timed_advance(self, count: int, interrupted: Sequence[int]) -> float:
        """Run `count` iterations, or fewer if interrupted; return the seconds they took."""
        check_weight(self._gamma, self.iterations + count)
        started = time.perf_counter()
        try:
            self._advance(count, interrupted)
        finally:
            elapsed = time.perf_counter() - started
            self.seconds += elapsed
        return elapsed

    def _advance(self, count: int, interrupted: Sequence[int] = ()) -> None:
        """Run `count` iterations, or fewer once `interrupted` is not empty."""
        for t in range(self.iterations + 1, self.iterations + count + 1):
            self._iterate(t)
            if interrupted:
                break

    def _iterate(self, t: int) -> None:
        """Run iteration t. A solver overrides this method or `_advance`."""
        raise NotImplementedError

    def _warm_up(self) -> None:
        """Compile the kernels of a run without changing its state."""
        self._advance(0)

    @abstractmethod
    def _average(self) -> Floats:
        """Return the average strategy, by sequence."""

    @abstractmethod
    def _current(self) -> Floats:
        """Return the strategy the next iteration will use, by sequence."""

    def _aim(self) -> Floats:
        """Return the strategy whose exploitability `until` limits, by sequence."""
        return self._average()

    @abstractmethod
    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        """Return the strategy with these probabilities, by sequence."""

    @property
    def _describe(self) -> str:
        """The description of what is sampled."""
        return ""

    @property
    def _remark(self) -> str:
        """Further text of the progress bar."""
        return ""

    @property
    def trace(self) -> Trace:
        """The checkpoints so far, and the present state."""
        rows = list(self._rows)
        if self.iterations and (not rows or rows[-1][0] != self.iterations):
            average = current = self._best
            if self._measurable:
                average, current = map(self._measure, (self._average(), self._current()))
            rows.append(self._row(average, current))
        return Trace(np.array(rows, np.float64).reshape(-1, Trace.WIDTH), self.UNIT)

    def solution(self) -> Solution:
        """Return the present state as a `Solution`, which later iterations do not change."""
        average = self._measure(self._average())
        current = self._measure(self._current())
        least = average
        if self._measurable:
            least = min(self._best, average, current, key=lambda each: each.exploitability)
        strategy, last, best = map(self._strategy, (average.sigma, current.sigma, least.sigma))
        return Solution(
            self.game,
            strategy,
            last,
            best,
            value=average.value,
            exploitability=average.exploitability,
            nash_conv=average.exploitability * self.game.num_players,
            current_exploitability=current.exploitability,
            best_exploitability=least.exploitability,
            iterations=self.iterations,
            seconds=self.seconds,
            variant=self.variant,
            update=self.update,
            delay=self.delay,
            trace=self.trace,
            method=self.METHOD,
            guarantee=self._guarantee,
            sampling=self._describe,
        )

    def _measure(self, sigma: Floats) -> Measured:
        """Return a strategy with its exploitability and the value to player 0, if known."""
        if not self._measurable:
            return Measured(math.nan, math.nan, sigma)
        form = sequence_form(self.game)
        own, gain, _ = evaluate(form, form.plans(sigma))
        return Measured(not_negative(gain) / form.num_players, float(own[0]), sigma)

    @property
    def _caveat(self) -> str:
        """What is added to the guarantee."""
        return self.CAVEAT

    @property
    def _guarantee(self) -> str:
        """What theory guarantees for the average strategy in this kind of game."""
        if not self._measurable:
            return "exploitability not known: sampling visited only a part of the game"
        tree = sequence_form(self.game).tree
        if tree.num_players == 1:
            return f"one player: exploitability goes to 0{self._caveat}"
        if tree.num_players == 2 and tree.constant_sum is not None:
            kind = "zero-sum" if tree.zero_sum else "constant-sum"
            return f"two-player {kind}: exploitability goes to 0{self._caveat}"
        return f"{tree.kind}: no guarantee of a Nash equilibrium"

    def _checkpoint(self) -> None:
        """At a checkpoint, add a row to the trace and update the best strategy."""
        t = self.iterations
        if not t or next_checkpoint(t - 1) != t or (self._rows and self._rows[-1][0] == t):
            return
        average = current = best = self._best
        if self._measurable:
            average, current = map(self._measure, (self._average(), self._current()))
            best = min(best, average, current, key=lambda each: each.exploitability)
        rows = [*self._rows, self._row(average, current)]
        self._rows, self._best = rows, best  # no call in between, so no interrupt

    def _row(self, average: Measured, current: Measured) -> list[float]:
        """Return the present state as a row of the trace."""
        progress = [float(self.iterations), float(getattr(self, self.UNIT)), self.seconds]
        return [*progress, average.exploitability, average.value, current.exploitability]

    # ---- files -------------------------------------------------------------------------------

    FORMAT: ClassVar[str]  # name and version of the file of a run

    def save(self, path: PathLike) -> None:
        """Write the run to `path` (npz: plain arrays and a JSON header, no pickle).

        An existing file is replaced only after the new one is complete;
        :mod:`cfrlib.core.files` describes the format.
        """
        measured = {"exploitability": self._best.exploitability, "value": self._best.value}
        fields = {"options": self._options(), "seconds": self.seconds, "best": measured}
        rows = np.array(self._rows, np.float64).reshape(-1, Trace.WIDTH)
        arrays = {"trace": rows, "best": self._best.sigma, **self._state()}
        files.write(path, self.FORMAT, self._labels, {**fields, **self._numbers()}, arrays)

    @classmethod
    def _load(cls, path: PathLike, game: Game, **more: Any) -> Self:
        """Return the run in a file; `more` are arguments that files do not store.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        check_game(game)
        with files.reading(path, cls.FORMAT) as file:
            file.require_game(cls._labels_in(file, game))
            options = cls._read_options(file.header["options"], game)
            if "variant" in options:
                options["variant"] = stored = Method.read(options["variant"])
                given = more.get("variant", stored)
                if given.described() != stored.described():
                    raise files.Mismatch(f"{path} holds a run of {stored!r}, not of {given!r}")
            create: Any = cls
            self: Self = create(game, **{**options, **more})
            self._restore(file)
            self._rows = file.array("trace", (None, Trace.WIDTH)).tolist()
            sigma = file.array("best", self._best.sigma.shape)
            self._best = Measured(**file.header["best"], sigma=sigma)
            self.seconds = file.header["seconds"]
        return self

    @property
    @abstractmethod
    def _labels(self) -> Described:
        """The sequence form, or another object that labels the infosets known so far."""

    @classmethod
    def _labels_in(cls, file: Saved, game: Game) -> Described:
        """Return an object that labels the infosets of a file."""
        return sequence_form(game)

    @abstractmethod
    def _options(self) -> Fields:
        """Return the arguments that create such a run, in types that JSON knows."""

    @classmethod
    def _read_options(cls, options: Fields, game: Game) -> Fields:
        """Return the arguments that a file holds in types that JSON knows."""
        return options

    @abstractmethod
    def _state(self) -> dict[str, Array]:
        """Return the arrays of the run's state, by name."""

    def _numbers(self) -> Fields:
        """Return the rest of the run's state, in types that JSON knows."""
        return {}

    @abstractmethod
    def _restore(self, file: Saved) -> None:
        """Set the state of a new run to that of a file: `_state` and `_numbers`."""


def check_weight(gamma: float, t: int) -> None:
    """Raise a ValueError if the weight of iteration t in the average overflows."""
    try:
        float(t) ** gamma
    except OverflowError:
        raise ValueError(
            f"the weight t^γ of the average overflows before iteration {t + 1:,} with "
            f"γ = {gamma:g}; choose a smaller gamma"
        ) from None


_advancing: dict[int, int] = {}  # id of a run -> the thread that advances it


@contextmanager
def alone(run: object) -> Iterator[None]:
    """Refuse other threads that want to advance the same run.

    Raises
    ------
    RuntimeError
        If another thread is advancing the run.
    """
    me = threading.get_ident()
    if _advancing.setdefault(id(run), me) != me:  # one step, so that no thread comes between
        raise RuntimeError(
            "another thread is advancing this run, and two would mix their iterations; wait "
            "for that thread, or give each thread a run of its own, such as run.copy()"
        )
    try:
        yield
    finally:
        _advancing.pop(id(run), None)


@contextmanager
def deferred_interrupt() -> Iterator[list[int]]:
    """Defer Ctrl-C to the end of the block; the list that it yields holds received signals.

    Numba may lose an exception that is raised while it inspects the arguments of a kernel, so
    kernels run inside such a block. A second Ctrl-C takes effect at once. An error after the
    first is treated as its consequence, because a terminal also interrupts the processes that
    the block waits for.
    """
    received: list[int] = []
    previous = None
    if threading.current_thread() is threading.main_thread():
        previous = signal.getsignal(signal.SIGINT)
    if previous in (signal.SIG_IGN, None):
        yield received
        return

    def handler(number: int, frame: types.FrameType | None) -> None:
        received.append(number)
        signal.signal(signal.SIGINT, previous)

    signal.signal(signal.SIGINT, handler)  # Ctrl-C may be pressed before this call returns
    try:
        yield received
    except Exception as error:
        if received:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, previous)
    if received:
        raise KeyboardInterrupt
