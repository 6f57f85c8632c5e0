"""Counterfactual regret minimization over the whole tree.

One iteration updates every player once. To update player i: one pass over the leaves gives
the gradient of u_i, one pass bottom-up turns it into counterfactual values and adds the
regrets, regret matching gives the next strategy, one pass top-down its realization plan.
The average strategy is the weighted sum of these plans (Zinkevich et al., 2007): a plan
already holds the player's own reach probability.

The tables are kept band by band (:mod:`cfrlib.bands`); what goes in and out is in the
numbering of the game.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib import files, schema
from cfrlib.bands import Bands, banded, best_response, gradient, lift, realize
from cfrlib.files import Kind, PathLike
from cfrlib.game import Game
from cfrlib.regret import Variant, discount, find_variant
from cfrlib.run import Measured, Run
from cfrlib.sequence import SequenceForm, behavior, inner, lean, sequence_form
from cfrlib.solution import BEST, HEADER, TRACE, UPDATES, Trace, check_best, check_trace
from cfrlib.strategy import SIGMA, InfosetTable, Regrets, Strategy, check_probabilities
from cfrlib.tree import Floats
from cfrlib.whole import whole_number

RUN_FILE = Kind(
    "cfrlib.CFR 2",
    "run",
    "CFR.save",
    {**HEADER, "best": BEST},
    {
        "regret": schema.Array(("sequences",)),
        "sigma": SIGMA,
        "total": schema.Array(("sequences",), schema.sums),
        "best": SIGMA,
        "trace": TRACE,
    },
)


class Tables(NamedTuple):
    """What a run remembers, each a vector over sequences, and its scratch."""

    regret: Floats  # cumulative counterfactual regret R(I, a)
    sigma: Floats  # current strategy σ(a | I)
    plan: Floats  # its realization plan
    total: Floats  # Σ_t weight_t · plan_t: the average, unnormalized
    reply: Floats  # plans of best responses, if the updates ask for them
    values: Floats  # scratch: gradient, then counterfactual values
    value: Floats  # scratch, of each infoset: v(I), or the owner's reach
    norm: Floats  # scratch, of each infoset: what σ is divided by
    sums: Floats  # scratch of `gradient`
    done: npt.NDArray[np.int64]  # iterations; counted in the kernel, for interrupts' sake


@inner
def match_band(
    form: Bands, tables: Tables, b: int, positive: float, negative: float, predictive: bool
) -> None:
    """Add the regrets at the infosets of band `b` and match the next strategy to them.

    At each: v = Σ σ(a) v(a), r(a) = v(a) − v, R(a) ← (R(a) + r(a)) · discount by the sign of
    the sum, then σ ∝ max(R, 0). A predictive player matches R(a) + r(a) instead: the next
    regret, were the next iteration like this one. At a single action all this changes nothing.
    """
    regret, sigma, values = tables.regret, tables.sigma, tables.values
    v, norm = tables.value, tables.norm
    start, size, first = form.band_start[b], form.band_size[b], form.band_infoset[b]
    actions = form.band_actions[b]
    for j in range(size):
        v[first + j] = sigma[start + j] * values[start + j]
    if actions == 1:
        return
    for a in range(1, actions):
        q = start + a * size
        for j in range(size):
            v[first + j] += sigma[q + j] * values[q + j]
    for j in range(size):
        norm[first + j] = 0.0
    for a in range(actions):
        q = start + a * size
        for j in range(size):
            r = values[q + j] - v[first + j]
            R = regret[q + j] + r
            R *= positive if R > 0.0 else negative
            regret[q + j] = R
            sigma[q + j] = max(R + r if predictive else R, 0.0)
            norm[first + j] += sigma[q + j]
    for a in range(actions):
        q = start + a * size
        for j in range(size):
            total = norm[first + j]
            sigma[q + j] = sigma[q + j] / total if total > 0.0 else 1.0 / actions


@inner
def update(
    form: Bands, tables: Tables, player: int, positive: float, negative: float,
    predictive: bool,
) -> None:  # fmt: skip
    """Turn the gradient of `player` into values, regrets and the next strategy, bottom-up."""
    for level in range(form.player_levels[player + 1] - 1, form.player_levels[player] - 1, -1):
        for b in range(form.level_bands[level], form.level_bands[level + 1]):
            match_band(form, tables, b, positive, negative, predictive)
        lift(form, level, tables.value, tables.values)


@inner
def respond(form: Bands, tables: Tables) -> None:
    """Write everybody's best response to the current profile into `tables.reply`, as plans."""
    for i in range(len(form.player_levels) - 1):
        gradient(form, i, tables.plan, tables.values, tables.sums)
        best_response(form, i, tables.values, tables.reply, tables.value)
        realize(form, i, tables.reply, tables.reply, tables.value)


@lean
def iterate(
    form: Bands, tables: Tables, first: int, count: int,
    alpha: float, beta: float, gamma: float, predictive: bool, delay: int,
    alternating: bool, against_best: bool,
) -> None:  # fmt: skip
    """Run iterations first, first + 1, …, first + count - 1."""
    players = len(form.player_levels) - 1
    opponents = tables.reply if against_best else tables.plan
    for t in range(first, first + count):
        positive, negative = discount(t, alpha), discount(t, beta)
        weight = float(t - delay) ** gamma if t > delay else 0.0
        if against_best:
            respond(form, tables)
        for i in range(players):
            for q in range(form.player_sequences[i], form.player_sequences[i + 1]):
                tables.total[q] += weight * tables.plan[q]
            gradient(form, i, opponents, tables.values, tables.sums)
            update(form, tables, i, positive, negative, predictive)
            if alternating:
                realize(form, i, tables.sigma, tables.plan, tables.value)
        if not alternating:
            for i in range(players):
                realize(form, i, tables.sigma, tables.plan, tables.value)
        tables.done[0] = t


class CFR(Run):
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
        ``"best response"``: each answers the others' best responses to it (CFR-BR).
    delay : int
        The average leaves out so many iterations at the start and weighs iteration t by
        (t − delay)^γ. Until then it is uniform.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If variant or update is unknown; the message lists the known ones.

    Notes
    -----
    Sources: Zinkevich et al. (2007); the discounts are those of Brown & Sandholm (2019), the
    delay that of Tammelin (2014), CFR-BR that of Johanson et al. (2012).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> run = cfr.CFR(cfr.games.KuhnPoker())
    >>> run.run(100).solution().exploitability.__round__(9)
    0.008225977
    >>> run.run(900).iterations
    1000
    >>> run.copy().run(1).iterations, run.iterations  # the copy goes its own way
    (1001, 1000)

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/kuhn.npz")
    ...     again = cfr.CFR.load(f"{folder}/kuhn.npz", run.game)
    >>> again.run(10).average == run.run(10).average
    True
    """

    _form: SequenceForm

    def __init__(
        self,
        game: Game,
        variant: str | Variant = "cfr",
        *,
        update: str = "alternating",
        delay: int = 0,
    ):
        self.variant = find_variant(variant)
        if update not in UPDATES:
            raise ValueError(f"unknown update {update!r}; choose one of {UPDATES}")
        self.game, self.update = game, update
        self.delay = whole_number("delay", delay, 0)
        self._form = form = sequence_form(game)
        self._banded = banded(form)
        sigma = form.uniform()
        keep, n, infosets = self._banded.keep, form.num_sequences, form.tree.num_infosets
        self._tables = Tables(
            np.zeros(n), keep(sigma), keep(form.plans(sigma)), np.zeros(n), np.zeros(n),
            np.zeros(n), np.zeros(infosets), np.zeros(infosets),
            np.zeros(self._banded.bands.player_sums[-1]), np.zeros(1, np.int64),
        )  # fmt: skip
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        self._best = Measured(math.inf, 0.0, sigma.copy())  # of those seen at checkpoints

    def _advance(self, count: int, interrupted: Sequence[int] = ()) -> None:
        """Run `count` iterations in compiled code, which nothing interrupts."""
        v = self.variant
        iterate(
            self._banded.bands, self._tables, self.iterations + 1, count,
            v.alpha, v.beta, v.gamma, v.predictive, self.delay,
            self.update == "alternating", self.update == "best response",
        )  # fmt: skip

    @property
    def iterations(self) -> int:
        """Iterations done so far."""
        return int(self._tables.done[0])

    @property
    def nodes(self) -> int:
        """Histories visited so far, had each update and response been a traversal."""
        players = self._form.num_players
        traversals = {"simultaneous": 1, "alternating": players, "best response": 2 * players}
        return self.iterations * traversals[self.update] * self._form.tree.num_histories

    @property
    def average(self) -> Strategy:
        """The average strategy up to now (uniform before it begins)."""
        return self._strategy(self._average())

    @property
    def current(self) -> Strategy:
        """The strategy that the next iteration will use."""
        return self._strategy(self._current())

    @property
    def regrets(self) -> InfosetTable:
        """Cumulative counterfactual regrets R(I, a), in units of the game."""
        return Regrets(self._form, self._banded.read(self._tables.regret))

    def _average(self) -> Floats:
        sigma = np.empty(self._form.num_sequences)
        behavior(self._form.treeplexes, self._banded.read(self._tables.total), sigma)
        return sigma

    def _current(self) -> Floats:
        return self._banded.read(self._tables.sigma)

    def _strategy(self, sigma: Floats) -> Strategy:
        return Strategy.from_vector(self._form, sigma)

    def copy(self) -> CFR:
        """Return a run that stands where this one does and goes its own way from here."""
        other = copy.copy(self)
        other._tables = Tables._make(table.copy() for table in self._tables)
        other._rows = [list(row) for row in self._rows]
        return other

    def save(self, path: PathLike) -> None:
        """Write the run to `path` (npz: plain arrays and a JSON header, no pickle).

        The arrays ``regret``, ``sigma`` and ``total`` are its tables by sequence, ``best`` the
        least exploitable strategy so far, ``trace`` the rows of the trace;
        :mod:`cfrlib.files` describes the rest. A file that is already there is replaced only
        once the new one is complete.
        """
        header = {
            "variant": asdict(self.variant),
            "update": self.update,
            "delay": self.delay,
            "iterations": self.iterations,
            "seconds": self.seconds,
            "best": {"exploitability": self._best.exploitability, "value": self._best.value},
        }
        arrays = {
            "regret": self._banded.read(self._tables.regret),
            "sigma": self._banded.read(self._tables.sigma),
            "total": self._banded.read(self._tables.total),
            "best": self._best.sigma,
            "trace": np.array(self._rows, np.float64).reshape(-1, len(Trace.COLUMNS)),
        }
        files.write(path, RUN_FILE, self._form, header, arrays)

    @classmethod
    def load(cls, path: PathLike, game: Game) -> CFR:
        """Read a run from `path` and return it, ready to continue exactly where it stopped.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        form = sequence_form(game)
        with files.reading(path, RUN_FILE, form) as file:
            header, arrays = file.header, file.arrays()
            check_probabilities(form, arrays["sigma"], arrays["best"])
            check_best(header, check_trace(arrays["trace"], header, form, math.inf))
            self = cls(
                game,
                Variant(**header["variant"]),
                update=header["update"],
                delay=header["delay"],
            )
        for field in ("regret", "sigma", "total"):
            getattr(self._tables, field)[:] = self._banded.keep(arrays[field])
        self._tables.plan[:] = self._banded.keep(form.plans(arrays["sigma"]))
        self._tables.done[0], self.seconds = header["iterations"], header["seconds"]
        self._rows = arrays["trace"].tolist()
        self._best = Measured(**header["best"], sigma=arrays["best"])
        return self

    def __repr__(self) -> str:
        delay = f", delay={self.delay}" if self.delay else ""
        return (
            f"CFR({self.game!r}, {self.variant.name!r}, update={self.update!r}{delay}) "
            f"after {self.iterations:,} iterations"
        )
