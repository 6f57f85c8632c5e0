"""The result of a run: strategies, their exploitability, and a trace of the run."""

from __future__ import annotations

import math
from dataclasses import asdict
from html import escape
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core import files, schema
from cfrlib.core.files import Format, Header, PathLike, require
from cfrlib.core.sequence import SequenceForm, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.game import Game
from cfrlib.regret import Variant
from cfrlib.strategy import SIGMA, PartialStrategy, Strategy, check_probabilities

UPDATES = ("alternating", "simultaneous", "best response")
STRATEGIES = ("strategy", "current", "best")
TRACE = schema.Array((None, 6), lambda rows: True)  # `check_trace` checks the values
# fields of the headers of both runs and solutions
HEADER: schema.Schema = {
    "variant": schema.record(
        name=schema.text,
        alpha=schema.number(infinite=True),
        beta=schema.number(infinite=True),
        gamma=schema.number(0),
        prediction=schema.number(0),
    ),
    "update": schema.one_of(*UPDATES),
    "delay": schema.integer(),
    "iterations": schema.integer(),
    "seconds": schema.number(0),
}
BEST = schema.record(exploitability=schema.number(infinite=True), value=schema.number())
_SCALARS: schema.Schema = {
    "value": schema.number(),
    "exploitability": schema.number(),
    "nash_conv": schema.number(),
    "current_exploitability": schema.number(),
    "best_exploitability": schema.number(),
    "nodes": schema.integer(),
    "method": schema.text,
    "guarantee": schema.text,
    "sampling": schema.text,
}
SOLUTION_FILE = Format(
    "cfrlib.Solution 4",
    "solution",
    "Solution.save",
    {**HEADER, **_SCALARS},
    {**dict.fromkeys(STRATEGIES, SIGMA), "trace": TRACE},
)


class Trace:
    """The course of a run: a row per checkpoint, about eight checkpoints per decade.

    Attributes
    ----------
    iterations, nodes : int arrays
        Iterations done, and histories that tree traversals would have visited for them.
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
    >>> bool((trace.best <= trace.exploitability).all())
    True
    """

    COLUMNS = ("iterations", "nodes", "seconds", "exploitability", "value", "current")

    def __init__(self, rows: Floats):
        self.rows = rows
        self.iterations = rows[:, 0].astype(np.int64)
        self.nodes = rows[:, 1].astype(np.int64)
        self.seconds, self.exploitability, self.value = rows[:, 2], rows[:, 3], rows[:, 4]
        self.current = rows[:, 5]
        self.best = np.minimum.accumulate(np.minimum(self.exploitability, self.current))

    def __len__(self) -> int:
        return len(self.rows)

    def _cells(self) -> list[list[str]]:
        return [
            [f"{int(t):,}", f"{int(nodes):,}", f"{s:.3f}", f"{e:.3e}", f"{v:+.6f}", f"{c:.3e}"]
            for t, nodes, s, e, v, c in self.rows
        ]

    def __repr__(self) -> str:
        line = "{:>12}{:>16}{:>10}{:>16}{:>12}{:>12}"
        return "\n".join(line.format(*cells) for cells in [self.COLUMNS, *self._cells()])

    def _repr_html_(self) -> str:
        head = "".join(f'<th scope="col">{name}</th>' for name in self.COLUMNS)
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
    iterations, nodes : int
        Iterations done and histories visited.
    seconds : float
        Time spent iterating.
    variant : Variant
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
    nodes: int
    seconds: float
    variant: Variant
    update: str
    delay: int
    trace: Trace
    method: str
    guarantee: str
    sampling: str = ""

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("method", f"{self.variant.name}, {_update_text(self.update, self.delay)}"),
            *([("sampling", self.sampling)] if self.sampling else []),
            ("iterations", f"{self.iterations:,} ({self.nodes:,} nodes, {self.seconds:.2g} s)"),
            *self._evaluation(),
            ("guarantee", self.guarantee),
        ]

    def _evaluation(self) -> list[tuple[str, str]]:
        if math.isnan(self.exploitability):
            return [("infosets met", f"{len(self.strategy):,}")]
        return [
            ("value of player 0", f"{self.value:+.9f}"),
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
        header = {name: getattr(self, name) for name in SOLUTION_FILE.header}
        header["variant"] = asdict(self.variant)
        arrays = {name: getattr(self, name).values_by_sequence for name in STRATEGIES}
        arrays["trace"] = self.trace.rows
        files.write(path, SOLUTION_FILE, sequence_form(self.game), header, arrays)

    @classmethod
    def load(cls, path: PathLike, game: Game) -> Solution:
        """Read a solution of `game` from `path`.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        form = sequence_form(game)
        with files.reading(path, SOLUTION_FILE, form) as file:
            arrays, found = file.arrays(), dict(file.header)
            check_probabilities(form, *(arrays[name] for name in STRATEGIES))
            trace = check_trace(arrays["trace"], found, form, found["nodes"], ended=True)
            least = min(found["exploitability"], found["current_exploitability"])
            least = float(trace[:, [3, 5]].min(initial=least))
            require(found["best_exploitability"] == least, "best_exploitability")
            found = {name: found[name] for name in SOLUTION_FILE.header}
            found["variant"] = Variant(**found["variant"])
            for name in STRATEGIES:
                found[name] = Strategy.from_vector(form, arrays[name])
        return cls(game=game, trace=Trace(trace), **found)


def next_checkpoint(t: int) -> int:
    """Return the first checkpoint after t: 1, 2, 3, 4, 6, 7, 10, 13, … = round(10^(k/8))."""
    k = int(8 * np.log10(max(t, 1)))
    while round(10 ** (k / 8)) <= t:
        k += 1
    return round(10 ** (k / 8))


def check_trace(
    rows: Floats,
    header: Header,
    form: SequenceForm | None,
    nodes: float,
    *,
    ended: bool = False,
) -> Floats:
    """Return the rows of a trace; raise a ValueError unless a run could have written them.

    Parameters
    ----------
    rows : float array, shape (checkpoints, 6)
    header : dict
        The header of a run or of a solution.
    form : SequenceForm, optional
        None if exploitability is unknown.
    nodes : float
        The number of histories visited by the end of the run.
    ended : bool
        Whether the last row is the end of the run, even if that is no checkpoint.
    """
    t, visited, seconds, *measured = rows.T
    allowed, checkpoint = set(), next_checkpoint(0)
    while checkpoint <= header["iterations"]:
        allowed.add(checkpoint)
        checkpoint = next_checkpoint(checkpoint)
    if ended:
        allowed.add(header["iterations"])
    increasing = bool((np.diff(t) > 0).all())
    require(allowed.issuperset(t.tolist()) and increasing, "trace of iterations")
    for column, limit in ((visited, nodes), (seconds, header["seconds"])):
        steps = np.diff(column, prepend=0.0, append=limit)
        require(bool((steps >= 0).all()), "trace of work done")
    if form is None:
        require(bool(np.isnan(measured).all()), "trace of exploitability")
    else:
        check_exploitability(form, measured[0], measured[2])
        require(bool(np.isfinite(measured[1]).all()), "trace of value")
    return rows


def check_exploitability(form: SequenceForm, *numbers: npt.ArrayLike) -> None:
    """Raise a ValueError unless all numbers are finite and, up to rounding, nonnegative."""
    slack = schema.ROUNDING * float(np.abs(form.tree.utility).max(initial=0.0))
    for each in map(np.asarray, numbers):
        require(bool(((each >= -slack) & (each < math.inf)).all()), "exploitability")


def check_best(header: Header, trace: Floats) -> None:
    """Raise a ValueError unless the best strategy is the best one of the trace."""
    least = float(np.fmin.reduce(trace[:, [3, 5]], axis=None, initial=math.inf))
    require(header["best"]["exploitability"] == least, "best")


def _update_text(update: str, delay: int) -> str:
    """Describe the kind of update and the averaging delay."""
    words = "best-response updates" if update == "best response" else f"{update} updates"
    return f"{words}, averaged after {delay:,}" if delay else words
