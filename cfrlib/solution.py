"""The result of a run: strategies, their exploitability, and a trace of the run."""

from __future__ import annotations

import math
from html import escape
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core import files
from cfrlib.core.files import PathLike
from cfrlib.core.sequence import sequence_form
from cfrlib.core.tree import Floats
from cfrlib.game import Game
from cfrlib.regret import Method
from cfrlib.strategy import PartialStrategy, Strategy

UPDATES = ("alternating", "simultaneous", "best response")
STRATEGIES = ("strategy", "current", "best")
SOLUTION_FORMAT = "cfrlib.Solution 6"


class Trace:
    """The course of a run: a row per checkpoint, about eight checkpoints per decade.

    Attributes
    ----------
    iterations : int array
        Iterations done.
    gradients : int array
        Player-gradients computed: only of a run over the whole tree.
    nodes : int array
        Histories visited: only of a run that samples.
    seconds : float array
        Time spent iterating, without checkpoints.
    exploitability : float array
        Of the average strategy, NashConv / players, in units of the game.
    value : float array
        Expected payoff of player 0 under the average strategy.
    current : float array
        Exploitability of the current strategy, the last iterate.
    best : float array
        The least exploitability of any average or current strategy so far.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> trace = cfr.solve(cfr.games.KuhnPoker(), iterations=20).trace
    >>> trace.iterations
    array([ 1,  2,  3,  4,  6,  7, 10, 13, 18, 20])
    >>> trace.gradients  # one for each player in each iteration
    array([ 2,  4,  6,  8, 12, 14, 20, 26, 36, 40])
    >>> bool((trace.best <= trace.exploitability).all())
    True
    """

    WIDTH = 6  # columns

    def __init__(self, rows: Floats, unit: str):
        self.rows, self.unit = rows, unit
        self.columns = ("iterations", unit, "seconds", "exploitability", "value", "current")
        self.iterations = rows[:, 0].astype(np.int64)
        self.seconds, self.exploitability, self.value = rows[:, 2], rows[:, 3], rows[:, 4]
        self.current = rows[:, 5]
        self.best = np.minimum.accumulate(np.minimum(self.exploitability, self.current))

    @property
    def gradients(self) -> npt.NDArray[np.int64]:
        """Player-gradients computed."""
        return self._work("gradients")

    @property
    def nodes(self) -> npt.NDArray[np.int64]:
        """Histories visited."""
        return self._work("nodes")

    def _work(self, unit: str) -> npt.NDArray[np.int64]:
        if unit != self.unit:
            raise AttributeError(
                f"the work of this run was counted in {self.unit}, not in {unit}; "
                f"use .{self.unit} (a player-gradient is as much work as a walk over all "
                "histories of the tree)"
            )
        return self.rows[:, 1].astype(np.int64)

    def __len__(self) -> int:
        return len(self.rows)

    def _cells(self) -> list[list[str]]:
        return [
            [f"{int(t):,}", f"{int(work):,}", f"{s:.3f}", f"{e:.3e}", f"{v:+z.6f}", f"{c:.3e}"]
            for t, work, s, e, v, c in self.rows
        ]

    def __repr__(self) -> str:
        line = "{:>12}{:>16}{:>10}{:>16}{:>12}{:>12}"
        return "\n".join(line.format(*cells) for cells in [self.columns, *self._cells()])

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{name}</th>' for name in self.columns)
        body = "".join(
            "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
            for cells in self._cells()
        )
        return (
            f'<table class="cfr-table"><thead><tr>{head}</tr></thead>'
            f"<tbody>{body}</tbody></table>"
        )


class Solution(NamedTuple):
    """The result of a run.

    Attributes
    ----------
    game : Game
        The game that was solved.
    strategy : Strategy
        The average strategy: the one that converges.
    current : Strategy
        The last iterate, which need not converge with vanilla CFR.
    best : Strategy
        The least exploitable average or current strategy of all checkpoints.
    value : float
        Expected payoff of player 0 under `strategy`, in units of the game.
    exploitability, nash_conv : float
        How far `strategy` is from equilibrium (exploitability = NashConv / players).
    current_exploitability, best_exploitability : float
        The exploitability of `current` and of `best`.
    iterations : int
        Iterations done.
    seconds : float
        Time spent iterating.
    variant : Variant, RegretMinimizer, RegretMatching or MirrorDescent
    update : str
    delay : int
        As given to :class:`CFR`.
    trace : Trace
        Exploitability and value at every checkpoint.
    method : str
        The algorithm: "CFR", "MCCFR", "Deep CFR", ….
    guarantee : str
        What theory guarantees for `strategy` in this kind of game.
    sampling : str
        What was sampled; empty if nothing was.
    gradients : int
        Player-gradients computed: only of a run over the whole tree.
    nodes : int
        Histories visited: only of a run that samples.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> solution = cfr.solve(game, "cfr+", 1_000)
    >>> round(solution.value, 3), solution.nash_conv == 2 * solution.exploitability
    (-0.056, True)
    >>> solution.guarantee
    'two-player zero-sum: exploitability goes to 0'

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     solution.save(f"{folder}/kuhn.npz")
    ...     cfr.Solution.load(f"{folder}/kuhn.npz", game).strategy == solution.strategy
    True
    """

    game: Game
    strategy: Strategy | PartialStrategy
    current: Strategy | PartialStrategy
    best: Strategy | PartialStrategy
    value: float
    exploitability: float
    nash_conv: float
    current_exploitability: float
    best_exploitability: float
    iterations: int
    seconds: float
    variant: Method
    update: str
    delay: int
    trace: Trace
    method: str
    guarantee: str
    sampling: str = ""

    @property
    def gradients(self) -> int:
        """Player-gradients computed."""
        return int(self.trace.gradients[-1:].sum())

    @property
    def nodes(self) -> int:
        """Histories visited."""
        return int(self.trace.nodes[-1:].sum())

    def _rows(self) -> list[tuple[str, str]]:
        unit = self.trace.unit
        work = f"{getattr(self, unit):,} {unit}, {self.seconds:.2g} s"
        return [
            ("method", f"{self.variant.name}, {_update_text(self.update, self.delay)}"),
            *([("sampling", self.sampling)] if self.sampling else []),
            ("iterations", f"{self.iterations:,} ({work})"),
            *self._evaluation(),
            ("guarantee", self.guarantee),
        ]

    def _evaluation(self) -> list[tuple[str, str]]:
        if math.isnan(self.exploitability):
            return [("infosets met", f"{len(self.strategy):,}")]
        return [
            ("value of player 0", f"{self.value:+z.9f}"),
            ("exploitability", f"{self.exploitability:.3e} (NashConv {self.nash_conv:.3e})"),
            ("  of last iterate", f"{self.current_exploitability:.3e}"),
            ("  of best so far", f"{self.best_exploitability:.3e}"),
        ]

    def __repr__(self) -> str:
        lines = [f"Solution of {self.game!r}"]
        lines += [f"  {name:<18} {text}" for name, text in self._rows()]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><th scope="row">{name}</th><td>{escape(text)}</td></tr>'
            for name, text in self._rows()
        )
        return (
            f'<table class="cfr-table"><caption>Solution of {escape(repr(self.game))}</caption>'
            f"<tbody>{rows}</tbody></table>{self.strategy._repr_html_()}"
        )

    def save(self, path: PathLike) -> None:
        """Write the solution to `path` (npz: plain arrays and a JSON header, no pickle).

        The arrays ``strategy``, ``current`` and ``best`` hold a probability for each sequence,
        ``trace`` holds the rows of the trace; :mod:`cfrlib.core.files` describes the rest.

        Raises
        ------
        ValueError
            If the game was not compiled. In that case save the run.
        """
        if isinstance(self.strategy, PartialStrategy):
            raise ValueError(
                f"the tree of {self.game!r} was expanded on demand, so not all infosets are "
                "known; save the run instead: MCCFR.save"
            )
        apart = {"game", "trace", *STRATEGIES}
        fields = {name: x for name, x in self._asdict().items() if name not in apart}
        fields |= {"variant": self.variant.described(), "unit": self.trace.unit}
        arrays = {name: getattr(self, name).values_by_sequence for name in STRATEGIES}
        arrays["trace"] = self.trace.rows
        files.write(
            path, SOLUTION_FORMAT, sequence_form(self.game), {"solution": fields}, arrays
        )

    @classmethod
    def load(cls, path: PathLike, game: Game) -> Solution:
        """Read a solution of `game` from `path`.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        form = sequence_form(game)
        with files.reading(path, SOLUTION_FORMAT) as file:
            file.require_game(form)
            fields = file.header["solution"]
            fields["variant"] = Method.read(fields["variant"])
            for name in STRATEGIES:
                sigma = file.array(name, (form.num_sequences,))
                fields[name] = Strategy.from_vector(form, sigma)
            fields["trace"] = Trace(
                file.array("trace", (None, Trace.WIDTH)), fields.pop("unit")
            )
            return cls(game=game, **fields)


def next_checkpoint(t: int) -> int:
    """Return the first checkpoint after t: 1, 2, 3, 4, 6, 7, 10, 13, … = round(10^(k/8))."""
    k = int(8 * np.log10(max(t, 1)))
    while round(10 ** (k / 8)) <= t:
        k += 1
    return round(10 ** (k / 8))


def _update_text(update: str, delay: int) -> str:
    """Describe the kind of update and the averaging delay."""
    words = "best-response updates" if update == "best response" else f"{update} updates"
    return f"{words}, averaged after {delay:,}" if delay else words
