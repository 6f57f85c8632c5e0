"""A run of a solver: how long to go on, what to look at on the way, what comes out.

What the solvers share. Each adds what an iteration is, and the strategies it leads to.
"""

from __future__ import annotations

import math
import signal
import sys
import threading
import time
import types
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, ClassVar, NamedTuple, NoReturn, Self

import numpy as np
from tqdm.auto import tqdm

from cfrlib.core import files
from cfrlib.core.checks import whole_number
from cfrlib.core.files import Arrays, Described, Header, Kind, PathLike, Saved
from cfrlib.core.sequence import sequence_form
from cfrlib.core.tree import Floats
from cfrlib.equilibrium import evaluate
from cfrlib.game import Game
from cfrlib.regret import Variant
from cfrlib.solution import Solution, Trace, check_best, check_trace, next_checkpoint
from cfrlib.strategy import PartialStrategy, Strategy

BAR_DELAY = 2.0  # seconds before a progress bar shows
PATIENCE = 1_000_000  # iterations after which `until` alone gives up


class Bar:
    """A progress bar that is made once it is wanted: in a notebook each bar is a widget."""

    def __init__(self, goal: Goal, wanted: bool | None):
        self.goal, self.wanted = goal, wanted
        self.began = time.perf_counter()
        self.bar: tqdm[NoReturn] | None = None

    @property
    def late(self) -> bool:
        """Whether the time is over."""
        limit = self.goal.seconds
        return limit is not None and time.perf_counter() - self.began >= limit

    def show(self, done: int, rows: list[list[float]], remark: str) -> None:
        """Say how far the run is: iterations, exploitability, time, and what they aim at."""
        elapsed = time.perf_counter() - self.began
        if self.wanted is None and elapsed > BAR_DELAY:
            self.wanted = True
        if not self.wanted:
            return
        if self.bar is None:
            known = None if self.goal.until else self.goal.iterations
            self.bar = tqdm(total=known, unit="it", leave=False)
        until, seconds = self.goal.until, self.goal.seconds
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
        """Take the bar away, if there is one."""
        if self.bar is not None:
            self.bar.close()


class Goal(NamedTuple):
    """When a run is over: at whatever comes first."""

    iterations: int | None
    until: float | None
    seconds: float | None

    @classmethod
    def of(cls, iterations: int | None, until: float | None, seconds: float | None) -> Goal:
        """Check what the caller wants."""
        if iterations is not None:
            iterations = whole_number("iterations", iterations, 1)
        for name, limit in (("until", until), ("seconds", seconds)):
            if limit is not None and not 0 < limit < math.inf:
                raise ValueError(f"{name} must be a number above 0, got {limit!r}")
        if iterations is None and seconds is None:
            iterations = 1_000 if until is None else PATIENCE
        return cls(iterations, until, seconds)


class Measured(NamedTuple):
    """A strategy and what it is worth."""

    exploitability: float
    value: float  # to player 0
    sigma: Floats


class Run(ABC):
    """A solver at work. `CFR`, `MCCFR` and others say what an iteration is."""

    game: Game
    variant: Variant
    update: str
    delay: int
    seconds: float
    _measurable = True  # whether exploitability can be computed
    _rows: list[list[float]]
    _chunk = 1  # iterations between two looks at the clock
    _best: Measured
    METHOD: ClassVar[str]  # the name of the algorithm
    CAVEAT: ClassVar[str] = ""  # of its guarantee
    FILES: ClassVar[tuple[Kind, ...]]  # kinds of files that hold such a run

    def run(
        self,
        iterations: int | None = None,
        *,
        until: float | None = None,
        seconds: float | None = None,
        progress: bool | None = None,
    ) -> Self:
        """Run more iterations, until the first of the given limits, and return the run itself.

        An interrupt (Ctrl-C) leaves a sound run that can be saved or continued.

        Parameters
        ----------
        iterations : int, optional
            How many more, at least 1. Left out: 1,000 if nothing else is given, a million
            with `until` alone, no limit with `seconds`.
        until : float, optional
            Stop once the average strategy's exploitability is at most this, in units of the
            game. It is looked at after every twentieth more iterations.
        seconds : float, optional
            Stop after about so much time.
        progress : bool, optional
            Whether to show a progress bar. By default it appears after two seconds.

        Raises
        ------
        ValueError
            If a limit is not a positive number.

        Warns
        -----
        RuntimeWarning
            If `until` was not reached.
        """
        goal = Goal.of(iterations, until, seconds)
        if until is not None and not self._measurable:
            raise ValueError(
                f"until={until:g} asks for exploitability, which is not known of "
                f"{self.game!r}: it is explored on the way, not compiled; give iterations or "
                "seconds"
            )
        with deferred_interrupt() as interrupted:
            reached = self._pursue(goal, progress, interrupted)
        if until is not None and not reached:
            warnings.warn(
                f"until={until:g} was not reached in {self.iterations:,} iterations; give more "
                'iterations or seconds, or try another variant, such as "pcfr+"',
                RuntimeWarning,
                stacklevel=2,
            )
        return self

    def _pursue(self, goal: Goal, progress: bool | None, interrupted: Sequence[int]) -> bool:
        """Run until the first limit or an interrupt; return whether `until` was reached."""
        first = self.iterations
        if not first:  # compile before the clock and the bar start
            self._warm_up()
            self._measure(self._average())
        self._checkpoint()  # if Ctrl-C, pressed twice, came before it
        bar = Bar(goal, progress)
        end, reached = first + (goal.iterations or sys.maxsize - first), False
        look = end if goal.until is None else first + 1
        try:
            while self.iterations < end and not (reached or bar.late or interrupted):
                checkpoint = next_checkpoint(self.iterations)
                step = min(self._chunk, min(end, checkpoint, look) - self.iterations)
                if self._work(step, interrupted) < 0.05 and step == self._chunk:
                    self._chunk *= 2
                self._checkpoint()
                if goal.until is not None and self.iterations in (look, end):
                    look = self.iterations + self.iterations // 20 + 1
                    reached = self._measure(self._average()).exploitability <= goal.until
                bar.show(self.iterations - first, self._rows, self._remark)
        finally:
            bar.close()
        return reached

    @property
    @abstractmethod
    def iterations(self) -> int:
        """Iterations done so far."""

    @property
    @abstractmethod
    def nodes(self) -> int:
        """Histories visited so far."""

    def _work(self, count: int, interrupted: Sequence[int]) -> float:
        """Run `count` iterations, or fewer if interrupted; return how long they took."""
        check_weight(self.variant, self.iterations + count)
        began = time.perf_counter()
        try:
            self._advance(count, interrupted)
        finally:
            took = time.perf_counter() - began
            self.seconds += took
        return took

    def _advance(self, count: int, interrupted: Sequence[int] = ()) -> None:
        """Run `count` iterations, or fewer if `interrupted` is not empty any more."""
        for t in range(self.iterations + 1, self.iterations + count + 1):
            self._iterate(t)
            if interrupted:
                break

    def _iterate(self, t: int) -> None:
        """Run iteration t. A solver has this method or an `_advance` of its own."""
        raise NotImplementedError

    def _warm_up(self) -> None:
        """Have everything compiled that a run will use; nothing comes of it."""
        self._advance(0)

    @abstractmethod
    def _average(self) -> Floats:
        """Return the average strategy, by sequence."""

    @abstractmethod
    def _current(self) -> Floats:
        """Return the strategy the next iteration will use, by sequence."""

    @abstractmethod
    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        """Name the numbers of a strategy."""

    @property
    def _describe(self) -> str:
        """Say what is sampled."""
        return ""

    @property
    def _remark(self) -> str:
        """Say what else the progress bar shows."""
        return ""

    @property
    def trace(self) -> Trace:
        """The checkpoints so far, and the present."""
        rows = list(self._rows)
        if self.iterations and (not rows or rows[-1][0] != self.iterations):
            pair = self._measure(self._average()), self._measure(self._current())
            rows.append(self._row(*pair))
        return Trace(np.array(rows, np.float64).reshape(-1, len(Trace.COLUMNS)))

    def solution(self) -> Solution:
        """Return the present state as a `Solution`, which later iterations do not change."""
        average = self._measure(self._average())
        current = self._measure(self._current())
        least = average
        if self._measurable:
            least = min(self._best, average, current, key=lambda seen: seen.exploitability)
        strategy, last, best = map(self._strategy, (average.sigma, current.sigma, least.sigma))
        return Solution(
            self.game, strategy, last, best, value=average.value,
            exploitability=average.exploitability,
            nash_conv=average.exploitability * self.game.num_players,
            current_exploitability=current.exploitability,
            best_exploitability=least.exploitability,
            iterations=self.iterations, nodes=self.nodes, seconds=self.seconds,
            variant=self.variant, update=self.update, delay=self.delay, trace=self.trace,
            method=self.METHOD, guarantee=self._guarantee, sampling=self._describe,
        )  # fmt: skip

    def _measure(self, sigma: Floats) -> Measured:
        """Return a strategy with its exploitability and the value to player 0."""
        form = sequence_form(self.game)
        own, gain, _ = evaluate(form, form.plans(sigma))
        return Measured(float(gain.sum()) / form.num_players, float(own[0]), sigma)

    @property
    def _guarantee(self) -> str:
        """What theory promises about the average strategy for this kind of game."""
        tree = sequence_form(self.game).tree
        if tree.num_players == 2 and tree.zero_sum:
            return f"two-player zero-sum: exploitability goes to 0{self.CAVEAT}"
        kind = "zero-sum" if tree.zero_sum else "general-sum"
        return f"{tree.num_players} players, {kind}: no guarantee of a Nash equilibrium"

    def _checkpoint(self) -> None:
        """At a checkpoint, add the present to the trace, and remember the best strategy."""
        t = self.iterations
        if not t or next_checkpoint(t - 1) != t or (self._rows and self._rows[-1][0] == t):
            return
        average = self._measure(self._average())
        current = self._measure(self._current())
        best = min(self._best, average, current, key=lambda seen: seen.exploitability)
        rows = [*self._rows, self._row(average, current)]
        self._rows, self._best = rows, best  # no call in between: so no interrupt either

    def _row(self, average: Measured, current: Measured) -> list[float]:
        """Return the present as one row of the trace."""
        return [
            float(self.iterations), float(self.nodes), self.seconds,
            average.exploitability, average.value, current.exploitability,
        ]  # fmt: skip

    # ---- files -------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the run to `path` (npz: plain arrays and a JSON header, no pickle).

        A file already there is replaced only once the new one is complete;
        :mod:`cfrlib.core.files` describes the form.
        """
        header, arrays = self._pack()
        files.write(path, self._file, self._labels, header, arrays)

    @classmethod
    def _load(cls, path: PathLike, game: Game, **options: Any) -> Self:
        """Return the run in a file; `options` are those arguments that no file holds.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        kind = files.kind_of(path, *cls.FILES)
        with files.reading(path, kind, cls._names_in(kind, game)) as file:
            self = cls._begun_as(file, game, **options)
            self._unpack(file)
        return self

    @property
    def _file(self) -> Kind:
        """The kind of file that holds the run."""
        return self.FILES[0]

    @property
    @abstractmethod
    def _labels(self) -> Described:
        """What names the infosets known by now."""

    @classmethod
    def _names_in(cls, kind: Kind, game: Game) -> Described:
        """Return what names the infosets in a file of that kind."""
        return sequence_form(game)

    @classmethod
    @abstractmethod
    def _begun_as(cls, file: Saved, game: Game, **options: Any) -> Self:
        """Return a new run with the options that a file holds."""

    def _pack(self) -> tuple[Header, Arrays]:
        """Return everything that a file of the run holds; solvers add what is theirs."""
        header: Header = {
            "variant": asdict(self.variant),
            "update": self.update,
            "delay": self.delay,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "best": {"exploitability": self._best.exploitability, "value": self._best.value},
        }
        rows = np.array(self._rows, np.float64).reshape(-1, len(Trace.COLUMNS))
        return header, {"trace": rows}

    @abstractmethod
    def _unpack(self, file: Saved) -> Arrays:
        """Restore the state that a file holds, and return its arrays.

        Raises a ValueError if no run could have written it.
        """

    def _unpack_trace(self, header: Header, arrays: Arrays, nodes: float) -> None:
        """Restore the trace and the best strategy; `nodes` is how many were visited."""
        form = sequence_form(self.game) if self._measurable else None
        check_best(header, check_trace(arrays["trace"], header, form, nodes))
        self.seconds, self._rows = header["seconds"], arrays["trace"].tolist()
        best = arrays["best"] if "best" in arrays else self._current()
        self._best = Measured(**header["best"], sigma=best)


def check_weight(variant: Variant, t: int) -> None:
    """Raise a ValueError if the weight of iteration t in the average is beyond all floats."""
    try:
        float(t) ** variant.gamma
    except OverflowError:
        raise ValueError(
            f"the weight t^γ of the average overflows before iteration {t + 1:,} with "
            f"{variant!r}; choose a smaller gamma"
        ) from None


@contextmanager
def deferred_interrupt() -> Iterator[list[int]]:
    """Hear Ctrl-C when the block is over; the list is not empty once it was pressed.

    Numba may lose an exception that is raised while it looks at the arguments of a kernel, so a
    block around all kernels is what makes sure that Ctrl-C is heard at all.

    Pressed again, it takes effect at once. What else goes wrong after it was pressed is taken
    for its consequence: a terminal interrupts the processes that the block waits for as well.
    """
    heard: list[int] = []
    ours, before = threading.current_thread() is threading.main_thread(), None
    if ours:
        before = signal.getsignal(signal.SIGINT)
    if before in (signal.SIG_IGN, None):
        yield heard
        return

    def hear(number: int, frame: types.FrameType | None) -> None:
        heard.append(number)
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, hear)  # it may be pressed before this returns
    try:
        yield heard
    except Exception as error:
        if heard:
            raise KeyboardInterrupt from error
        raise
    finally:
        signal.signal(signal.SIGINT, before)
    if heard:
        raise KeyboardInterrupt
