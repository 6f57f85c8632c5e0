"""The outcome of a run: strategies, how good they are, and how the run got there."""

from __future__ import annotations

import math
from dataclasses import asdict
from html import escape
from typing import NamedTuple

import numpy as np

from cfrlib import files
from cfrlib.files import Arrays, Header, Kind, PathLike
from cfrlib.game import Game
from cfrlib.regret import Variant
from cfrlib.sequence import sequence_form
from cfrlib.strategy import PartialStrategy, Strategy, check_probabilities
from cfrlib.tree import Floats

UPDATES = ("alternating", "simultaneous", "best response")
DEEP, DOUBLE = "Deep CFR", "Double Neural CFR"
NETWORKS = (DEEP, DOUBLE)  # how `sampling` begins where networks stand for tables
SOLUTION_FILE = Kind(
    "cfrlib.Solution 2", "solution", "Solution.save",
    vectors=("strategy", "current", "best"), tables=("trace",),
)  # fmt: skip
# what a file of a solution says in its header, beside the variant
_SCALARS = (
    "value", "exploitability", "nash_conv", "current_exploitability", "best_exploitability",
    "iterations", "nodes", "seconds", "update", "delay", "sampling",
)  # fmt: skip


class Trace:
    """How a run went: one row for each checkpoint, about eight in every tenfold.

    Attributes
    ----------
    iterations, nodes : int arrays
        Iterations done, and histories that a tree traversal would have visited for them.
    seconds : float array
        Time spent iterating (checkpoints not counted).
    exploitability : float array
        Of the average strategy, NashConv / players, in units of the game.
    value : float array
        Expected payoff of player 0 under the average strategy.
    current : float array
        Exploitability of the current strategy, the last iterate.
    best : float array
        The least exploitability of any average or current strategy up to here.

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
    """The outcome of a run.

    Attributes
    ----------
    game : Game
        What was solved.
    strategy : Strategy
        The average strategy: the one that converges.
    current : Strategy
        The last iterate; with vanilla CFR it need not converge.
    best : Strategy
        The least exploitable of all average and current strategies seen at checkpoints.
    value : float
        Expected payoff of player 0 under `strategy`, in units of the game.
    exploitability, nash_conv : float
        How far `strategy` is from equilibrium (exploitability = NashConv / players).
    current_exploitability, best_exploitability : float
        The same of `current` and of `best`.
    iterations, nodes : int
        Work done.
    seconds : float
        Time spent iterating.
    variant : Variant
    update : str
    delay : int
        As given to :class:`CFR`.
    trace : Trace
        How exploitability fell.
    sampling : str
        What was sampled, and how; empty if nothing was.

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
    sampling: str = ""

    @property
    def guarantee(self) -> str:
        """What theory promises about the average strategy of this kind of game."""
        if math.isnan(self.exploitability):
            return "exploitability not known: sampling met only a part of the game"
        tree = sequence_form(self.game).tree
        if tree.num_players == 2 and tree.zero_sum:
            deep = self.sampling.startswith(NETWORKS)
            but = ", but for what networks get wrong" if deep else ""
            return f"two-player zero-sum: exploitability goes to 0{but}"
        kind = "zero-sum" if tree.zero_sum else "general-sum"
        return f"{tree.num_players} players, {kind}: no guarantee of a Nash equilibrium"

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("method", f"{self.variant.name}, {_updates(self.update, self.delay)}"),
            *([("sampling", self.sampling)] if self.sampling else []),
            ("iterations", f"{self.iterations:,} ({self.nodes:,} nodes, {self.seconds:.2g} s)"),
            *self._measured(),
            ("guarantee", self.guarantee),
        ]

    def _measured(self) -> list[tuple[str, str]]:
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
        ``trace`` the rows of the trace; :mod:`cfrlib.files` describes the rest.

        Raises
        ------
        ValueError
            If the game was not compiled: then save the run itself.
        """
        if isinstance(self.strategy, PartialStrategy):
            raise ValueError(
                f"{self.game!r} was explored, not compiled, so its infosets are not all known; "
                "save the run instead: MCCFR.save"
            )
        header = {name: getattr(self, name) for name in _SCALARS}
        header["variant"] = asdict(self.variant)
        arrays = {
            name: getattr(self, name).values_by_sequence for name in SOLUTION_FILE.vectors
        }
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

        def check(header: Header, arrays: Arrays) -> None:
            check_run(header, arrays)
            for name in SOLUTION_FILE.vectors:
                check_probabilities(form, arrays[name])
            if not all(isinstance(header[name], (int, float, str)) for name in _SCALARS):
                raise ValueError(f"header {header!r}")

        header, arrays = files.read(path, SOLUTION_FILE, form, check)
        found = {name: header[name] for name in _SCALARS}
        for name in SOLUTION_FILE.vectors:
            found[name] = Strategy.from_vector(form, arrays[name])
        return cls(
            game=game,
            variant=Variant(**header["variant"]),
            trace=Trace(arrays["trace"]),
            **found,
        )


def check_run(header: Header, arrays: Arrays) -> None:
    """Raise an error if what a run and a solution have in common breaks a rule."""
    Variant(**header["variant"])
    counts = isinstance(header["iterations"], int) and isinstance(header["delay"], int)
    if not (counts and isinstance(header["seconds"], float) and header["update"] in UPDATES):
        raise ValueError(f"header {header!r}")
    if arrays["trace"].shape[1:] != (len(Trace.COLUMNS),):
        raise ValueError("a trace of other columns")


def _updates(update: str, delay: int) -> str:
    """Say in words how a run updates and averages."""
    words = "best-response updates" if update == "best response" else f"{update} updates"
    return f"{words}, averaged after {delay:,}" if delay else words
