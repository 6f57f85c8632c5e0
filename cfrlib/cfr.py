"""Counterfactual regret minimization over the whole tree.

One iteration updates every player once. To update player i: one pass over the leaves gives
the gradient of u_i, one pass bottom-up turns it into counterfactual values and adds the
regrets, regret matching gives the next strategy, one pass top-down its realization plan.
The average strategy is the weighted sum of these plans (Zinkevich et al., 2007): a plan
already holds the player's own reach probability.
"""

from __future__ import annotations

import copy
import hashlib
import json
import os
import time
from dataclasses import asdict
from html import escape
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
from tqdm.auto import tqdm

from cfrlib.equilibrium import nash_conv_of_plans, utilities
from cfrlib.game import Game
from cfrlib.regret import (
    Variant,
    discount,
    find_variant,
)
from cfrlib.sequence import (
    SequenceForm,
    Treeplexes,
    behavior,
    gradient,
    kernel,
    realize,
    sequence_form,
)
from cfrlib.strategy import InfosetTable, Strategy
from cfrlib.tree import Floats

UPDATES = ("alternating", "simultaneous")
FILE_FORMAT = "cfrlib.CFR 1"
BAR_DELAY = 2.0  # seconds before a progress bar shows


class Tables(NamedTuple):
    """What a run remembers, each a vector over sequences."""

    regret: Floats  # cumulative counterfactual regret R(I, a)
    sigma: Floats  # current strategy σ(a | I)
    plan: Floats  # its realization plan
    total: Floats  # Σ_t weight_t · plan_t: the average, unnormalized
    values: Floats  # scratch: gradient, then counterfactual values
    done: npt.NDArray[np.int64]  # iterations; counted in the kernel, for interrupts' sake


@kernel
def update(
    form: Treeplexes, tables: Tables, player: int, positive: float, negative: float,
    predictive: bool,
) -> None:  # fmt: skip
    """Add the regrets of `player` bottom-up and match the next strategy to them.

    At each infoset: r(a) = v(a) − v, R(a) ← (R(a) + r(a)) · discount by the sign of the sum,
    then σ ∝ max(R, 0). A predictive player matches R(a) + r(a) instead: the next regret, were
    the next iteration like this one. Written out, because it runs almost twice as fast so.
    """
    regret, sigma, values = tables.regret, tables.sigma, tables.values
    for I in range(form.player_infosets[player + 1] - 1, form.player_infosets[player] - 1, -1):
        start, stop = form.infoset_start[I], form.infoset_stop[I]
        value = 0.0
        for q in range(start, stop):
            value += sigma[q] * values[q]
        values[form.infoset_parent[I]] += value
        total = 0.0
        for q in range(start, stop):
            r = values[q] - value
            R = regret[q] + r
            R *= positive if R > 0.0 else negative
            regret[q] = R
            sigma[q] = max(R + r if predictive else R, 0.0)
            total += sigma[q]
        for q in range(start, stop):
            sigma[q] = sigma[q] / total if total > 0.0 else 1.0 / (stop - start)


@kernel
def iterate(
    form: Treeplexes, tables: Tables, first: int, count: int,
    alpha: float, beta: float, gamma: float, predictive: bool, alternating: bool,
) -> None:  # fmt: skip
    """Run iterations first, first + 1, …, first + count - 1."""
    players = len(form.player_infosets) - 1
    for t in range(first, first + count):
        positive, negative, weight = discount(t, alpha), discount(t, beta), float(t) ** gamma
        for i in range(players):
            for q in range(form.player_sequences[i], form.player_sequences[i + 1]):
                tables.total[q] += weight * tables.plan[q]
            gradient(form, i, tables.plan, tables.values)
            update(form, tables, i, positive, negative, predictive)
            if alternating:
                realize(form, i, tables.sigma, tables.plan)
        if not alternating:
            for i in range(players):
                realize(form, i, tables.sigma, tables.plan)
        tables.done[0] = t


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
    """

    COLUMNS = ("iterations", "nodes", "seconds", "exploitability", "value")

    def __init__(self, rows: Floats):
        self.rows = rows
        self.iterations = rows[:, 0].astype(np.int64)
        self.nodes = rows[:, 1].astype(np.int64)
        self.seconds, self.exploitability, self.value = rows[:, 2], rows[:, 3], rows[:, 4]

    def __len__(self) -> int:
        return len(self.rows)

    def _cells(self) -> list[list[str]]:
        return [
            [f"{int(t):,}", f"{int(nodes):,}", f"{s:.3f}", f"{e:.3e}", f"{v:+.6f}"]
            for t, nodes, s, e, v in self.rows
        ]

    def __repr__(self) -> str:
        lines = ["{:>12}{:>16}{:>10}{:>16}{:>12}".format(*self.COLUMNS)]
        lines += ["{:>12}{:>16}{:>10}{:>16}{:>12}".format(*cells) for cells in self._cells()]
        return "\n".join(lines)

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
        The strategy of the last iteration; with vanilla CFR it need not converge.
    value : float
        Expected payoff of player 0 under `strategy`, in units of the game.
    exploitability, nash_conv : float
        How far `strategy` is from equilibrium (exploitability = NashConv / players).
    iterations, nodes : int
        Work done.
    seconds : float
        Time spent iterating.
    variant : Variant
    update : str
        ``"alternating"`` or ``"simultaneous"``.
    trace : Trace
        How exploitability fell.
    """

    game: Game
    strategy: Strategy
    current: Strategy
    value: float
    exploitability: float
    nash_conv: float
    iterations: int
    nodes: int
    seconds: float
    variant: Variant
    update: str
    trace: Trace

    @property
    def guarantee(self) -> str:
        """What theory promises about the average strategy of this kind of game."""
        tree = sequence_form(self.game).tree
        if tree.num_players == 2 and tree.zero_sum:
            return "two-player zero-sum: exploitability goes to 0"
        kind = "zero-sum" if tree.zero_sum else "general-sum"
        return f"{tree.num_players} players, {kind}: no guarantee of a Nash equilibrium"

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("method", f"{self.variant.name}, {self.update} updates"),
            ("iterations", f"{self.iterations:,} ({self.nodes:,} nodes, {self.seconds:.2g} s)"),
            ("value of player 0", f"{self.value:+.9f}"),
            ("exploitability", f"{self.exploitability:.3e} (NashConv {self.nash_conv:.3e})"),
            ("guarantee", self.guarantee),
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


class _Bar:
    """A progress bar that is made once it is wanted: in a notebook each bar is a widget."""

    def __init__(self, total: int, wanted: bool | None):
        self.total, self.wanted = total, wanted
        self.began = time.perf_counter()
        self.bar: tqdm[NoReturn] | None = None

    def show(self, done: int, rows: list[list[float]]) -> None:
        """Say how far the run is, and the exploitability at the last checkpoint."""
        if self.wanted is None and time.perf_counter() - self.began > BAR_DELAY:
            self.wanted = True
        if not self.wanted:
            return
        if self.bar is None:
            self.bar = tqdm(total=self.total, unit="it", leave=False)
        self.bar.set_postfix_str(f"exploitability {rows[-1][3]:.2e}", refresh=False)
        self.bar.update(done - self.bar.n)

    def close(self) -> None:
        """Take the bar away, if there is one."""
        if self.bar is not None:
            self.bar.close()


class CFR:
    """A run of counterfactual regret minimization that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game that compiles.
    variant : str or Variant
        A name (``"cfr"``, ``"cfr+"``, ``"linear"``, ``"dcfr"``, ``"pcfr+"``) or three numbers
        and a flag of your own.
    update : str
        ``"alternating"``: player 1 answers player 0's new strategy within the iteration.
        ``"simultaneous"``: all answer the same profile, as in the original paper.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If variant or update is unknown; the message lists the known ones.

    Notes
    -----
    Sources: Zinkevich et al. (2007); the discounts are those of Brown & Sandholm (2019).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> run = cfr.CFR(cfr.games.KuhnPoker())
    >>> run.run(100).solution().exploitability.__round__(9)
    0.008225977
    >>> run.run(900).iterations
    1000
    """

    def __init__(
        self, game: Game, variant: str | Variant = "cfr", *, update: str = "alternating"
    ):
        self.variant = find_variant(variant)
        if update not in UPDATES:
            raise ValueError(f"unknown update {update!r}; choose one of {UPDATES}")
        self.game, self.update = game, update
        self._form = form = sequence_form(game)
        sigma, zeros = form.uniform(), np.zeros(form.num_sequences)
        self._tables = Tables(
            zeros.copy(), sigma, form.plans(sigma), zeros.copy(), zeros.copy(),
            np.zeros(1, np.int64),
        )  # fmt: skip
        self.seconds = 0.0
        self._rows: list[list[float]] = []

    def run(self, iterations: int, *, progress: bool | None = None) -> CFR:
        """Run that many more iterations and return the run itself.

        An interrupt (Ctrl-C) leaves a sound run that can be saved or continued.

        Parameters
        ----------
        iterations : int
            How many more, at least 1.
        progress : bool, optional
            Whether to show a progress bar. By default it appears after two seconds.

        Raises
        ------
        ValueError
            If `iterations` is not a positive whole number.
        """
        if not isinstance(iterations, (int, np.integer)) or iterations < 1:
            raise ValueError(
                f"iterations must be a whole number, at least 1, got {iterations!r}"
            )
        end, chunk = self.iterations + int(iterations), 1
        if not self.iterations:  # compile before the clock and the bar start
            self._advance(0)
            self._measure()
        bar = _Bar(int(iterations), progress)
        try:
            while self.iterations < end:
                checkpoint = _next_checkpoint(self.iterations)
                step = min(chunk, min(end, checkpoint) - self.iterations)
                if self._advance(step) < 0.05:
                    chunk *= 2
                if self.iterations == checkpoint:
                    self._rows.append(self._measure())
                bar.show(int(iterations) - (end - self.iterations), self._rows)
        finally:
            bar.close()
        return self

    def _advance(self, count: int) -> float:
        """Run `count` iterations in compiled code and return how long they took."""
        began, v = time.perf_counter(), self.variant
        iterate(
            self._form.treeplexes, self._tables, self.iterations + 1, count,
            v.alpha, v.beta, v.gamma, v.predictive, self.update == "alternating",
        )  # fmt: skip
        took = time.perf_counter() - began
        self.seconds += took
        return took

    @property
    def iterations(self) -> int:
        """Iterations done so far."""
        return int(self._tables.done[0])

    @property
    def nodes(self) -> int:
        """Histories visited so far, had each update been a traversal of the tree."""
        per_iteration = self._form.num_players if self.update == "alternating" else 1
        return self.iterations * per_iteration * self._form.tree.num_histories

    @property
    def average(self) -> Strategy:
        """The average strategy up to now (uniform before the first iteration)."""
        return Strategy.from_vector(self._form, self._average())

    @property
    def current(self) -> Strategy:
        """The strategy that the next iteration will use."""
        return Strategy.from_vector(self._form, self._tables.sigma)

    @property
    def regrets(self) -> InfosetTable:
        """Cumulative counterfactual regrets R(I, a), in units of the game."""
        return Regrets(self._form, self._tables.regret)

    @property
    def trace(self) -> Trace:
        """The checkpoints so far, and the present."""
        rows = list(self._rows)
        if self.iterations and (not rows or rows[-1][0] != self.iterations):
            rows.append(self._measure())
        return Trace(np.array(rows, np.float64).reshape(-1, len(Trace.COLUMNS)))

    def solution(self) -> Solution:
        """Return the present state as a `Solution`, which later iterations do not change."""
        x = self._form.plans(self._average())
        conv = nash_conv_of_plans(self._form, x)
        return Solution(
            self.game, self.average, self.current, float(utilities(self._form, x)[0]),
            conv / self._form.num_players, conv, self.iterations, self.nodes, self.seconds,
            self.variant, self.update, self.trace,
        )  # fmt: skip

    def _average(self) -> Floats:
        sigma = np.empty(self._form.num_sequences)
        behavior(self._form.treeplexes, self._tables.total, sigma)
        return sigma

    def _measure(self) -> list[float]:
        """Return the present as one row of the trace."""
        x = self._form.plans(self._average())
        e = nash_conv_of_plans(self._form, x) / self._form.num_players
        value = utilities(self._form, x)[0]
        return [float(self.iterations), float(self.nodes), self.seconds, e, float(value)]

    def copy(self) -> CFR:
        """Return a run that stands where this one does and goes its own way from here."""
        other = copy.copy(self)
        other._tables = Tables._make(table.copy() for table in self._tables)
        other._rows = [list(row) for row in self._rows]
        return other

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the run to `path` (npz: plain arrays and a JSON header, no pickle).

        A file that is already there is replaced only once the new one is complete.
        """
        target = Path(path)
        header = {
            "format": FILE_FORMAT,
            "game": repr(self.game),
            "fingerprint": _fingerprint(self._form),
            "variant": asdict(self.variant),
            "update": self.update,
            "iterations": self.iterations,
            "seconds": self.seconds,
        }
        scratch = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            with scratch.open("wb") as file:
                np.savez(
                    file, header=np.array(json.dumps(header)),
                    trace=np.array(self._rows).reshape(-1, len(Trace.COLUMNS)),
                    regret=self._tables.regret, sigma=self._tables.sigma,
                    total=self._tables.total,
                )  # fmt: skip
            scratch.replace(target)
        finally:
            scratch.unlink(missing_ok=True)

    @classmethod
    def load(cls, path: str | os.PathLike[str], game: Game) -> CFR:
        """Read a run from `path` and return it, ready to continue exactly where it stopped.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        header, arrays = _read(Path(path))
        self = cls(game, Variant(**header["variant"]), update=header["update"])
        if header["fingerprint"] != _fingerprint(self._form):
            raise ValueError(
                f"{path} holds a run of {header['game']}, not of {game!r} (or the rules have "
                "changed since); load it with the game it was saved from"
            )
        for field in ("regret", "sigma", "total"):
            if arrays[field].shape != (self._form.num_sequences,):
                raise _damaged(Path(path), ValueError(f"{field} has another size"))
            getattr(self._tables, field)[:] = arrays[field]
        self._tables.plan[:] = self._form.plans(self._tables.sigma)
        self._tables.done[0], self.seconds = header["iterations"], header["seconds"]
        self._rows = arrays["trace"].tolist()
        return self

    def __repr__(self) -> str:
        return (
            f"CFR({self.game!r}, {self.variant.name!r}, update={self.update!r}) "
            f"after {self.iterations:,} iterations"
        )


class Regrets(InfosetTable):
    """Cumulative counterfactual regrets. Not a strategy: see chapter 1."""


def solve(
    game: Game,
    variant: str | Variant = "cfr",
    iterations: int = 1_000,
    *,
    update: str = "alternating",
    progress: bool | None = None,
) -> Solution:
    """Run CFR on `game` and return the average strategy with its exploitability.

    Parameters
    ----------
    game, variant, update
        As in :class:`CFR`.
    iterations : int
        How many, at least 1.
    progress : bool, optional
        Whether to show a progress bar. By default it appears after two seconds.

    Returns
    -------
    Solution

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is not accepted; the message says what is.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> solution = cfr.solve(cfr.games.KuhnPoker(), "cfr", iterations=1_000)
    >>> round(solution.exploitability, 6)
    0.000938
    """
    return CFR(game, variant, update=update).run(iterations, progress=progress).solution()


def _next_checkpoint(t: int) -> int:
    """Return the first checkpoint after t: 1, 2, 3, 4, 6, 7, 10, 13, … = round(10^(k/8))."""
    k = int(8 * np.log10(max(t, 1)))
    while round(10 ** (k / 8)) <= t:
        k += 1
    return round(10 ** (k / 8))


def _fingerprint(form: SequenceForm) -> str:
    """Return a digest of all that a run depends on: infosets, actions, payoffs, chance."""
    digest = hashlib.sha256(repr((form.tree.infoset_label, form.tree.infoset_actions)).encode())
    for arrays in form.treeplexes:
        digest.update(np.ascontiguousarray(arrays).tobytes())
    return digest.hexdigest()


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Floats]]:
    """Read and check a saved run."""
    try:
        with np.load(path, allow_pickle=False) as file:
            header = json.loads(str(file["header"]))
            arrays = {name: file[name] for name in ("trace", "regret", "sigma", "total")}
        if header["format"] != FILE_FORMAT:
            raise ValueError(f"format {header['format']!r}")
        Variant(**header["variant"])
        counted = isinstance(header["iterations"], int) and isinstance(header["seconds"], float)
        if not counted or header["update"] not in UPDATES or not header["fingerprint"]:
            raise ValueError(f"header {header!r}")
        if any(array.dtype != np.float64 for array in arrays.values()):
            raise ValueError("not numbers")
        if arrays["trace"].shape[1:] != (len(Trace.COLUMNS),):
            raise ValueError("a trace of other columns")
    except FileNotFoundError:
        raise
    except Exception as error:  # what NumPy and zipfile raise on damage is no closed list
        raise _damaged(path, error) from error
    return header, arrays


def _damaged(path: Path, error: Exception) -> ValueError:
    return ValueError(
        f"{path} is not a complete file written by CFR.save ({error}); save the run again"
    )
