"""Counterfactual regret minimization over the whole tree.

One iteration updates every player once. To update player i, a pass over the leaves computes
the gradient of u_i; `update` turns it into counterfactual values, bottom-up, adds the regrets
and matches them; a top-down pass computes the realization plan of the new strategy. The average
strategy is the weighted sum of these plans (Zinkevich et al., 2007), because a plan already
contains the player's own reach probability.

A game of more than `LARGE` sequences runs in the memory layout of :mod:`cfrlib.bands` instead,
whose results are the same to the last bit.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib import bands
from cfrlib.core.checks import EXACT, choice, whole_number
from cfrlib.core.files import Array, Fields, PathLike, Saved
from cfrlib.core.jit import kernel
from cfrlib.core.sequence import (
    SequenceForm,
    Treeplexes,
    behavior,
    best_backup,
    gradient,
    realize,
    sequence_form,
)
from cfrlib.core.tree import Floats
from cfrlib.game import Game
from cfrlib.regret import RegretMinimizer, Rule, Variant, discount, find_variant, weight
from cfrlib.run import Measured, Run
from cfrlib.solution import UPDATES
from cfrlib.strategy import InfosetTable, Regrets, Strategy

LARGE = 500  # sequences; with fewer, the layout saves nothing


class CFRTables(NamedTuple):
    """The state of a run, in the numbering of the game. Arrays have shape (sequences,)."""

    regret: Floats  # cumulative counterfactual regret R(I, a)
    sigma: Floats  # current strategy σ(a | I)
    plan: Floats  # its realization plan
    strategy_sum: Floats  # Σ_t weight_t · plan_t: the average, unnormalized
    best_response_plan: Floats  # against the current strategy; unused by most updates
    counterfactual_value: Floats  # scratch: first the gradient at (I, a), then v(I, a)
    iteration: npt.NDArray[np.int64]  # shape (1,): counted by the kernel, safe from interrupts
    memory: Floats  # what a `RegretMinimizer` keeps besides; unused by variants


@kernel
def update(
    form: Treeplexes,
    player: int,
    v: Floats,
    regret: Floats,
    sigma: Floats,
    discounts: tuple[float, float],
    prediction: float,
) -> None:
    """Update the regrets and the strategy of one player, infoset by infoset, as in chapter 4.

    Parameters
    ----------
    form : Treeplexes
        The sequence form of the game.
    player : int
        The player to update.
    v : float array, shape (sequences,)
        The gradient of the player's payoff; becomes the counterfactual values v(I, a).
    regret, sigma : float arrays, shape (sequences,)
        R(I, a) and σ(a | I), updated in place.
    discounts : pair of float
        Factors of positive and of all other regrets.
    prediction : float
        λ: regret matching is applied to R(I, a) + λ r(I, a).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> form = sequence_form(cfr.games.RockPaperScissors())
    >>> sigma, regret = form.uniform(), np.zeros(form.num_sequences)
    >>> sigma[1:4] = 0, 1, 0  # player 0 plays paper; player 1 responds
    >>> v = form.gradients(form.plans(sigma))
    >>> update(form.treeplexes, 1, v, regret, sigma, (1.0, 1.0), 0.0)
    >>> regret[5:], sigma[5:]
    (array([-1.,  0.,  1.]), array([0., 0., 1.]))
    """
    positive, negative = discounts
    for I in range(form.player_infosets[player + 1] - 1, form.player_infosets[player] - 1, -1):
        start, stop = form.infoset_start[I], form.infoset_stop[I]
        value = 0.0
        for a in range(start, stop):
            value += sigma[a] * v[a]
        norm = 0.0
        for a in range(start, stop):
            r = v[a] - value
            regret[a] += r
            regret[a] *= positive if regret[a] > 0.0 else negative
            sigma[a] = max(regret[a] + prediction * r, 0.0)
            norm += sigma[a]
        for a in range(start, stop):
            sigma[a] = sigma[a] / norm if norm > 0.0 else 1.0 / (stop - start)
        v[form.infoset_parent[I]] += value


def update_by(row: Any) -> Any:
    """Return `update` with the compiled rule of a `RegretMinimizer`, to be compiled.

    It returns the first infoset where the rule wrote no distribution, or -1.
    """

    def update(form: Treeplexes, player: int, v: Floats, tables: CFRTables, t: int) -> int:
        R, sigma, memory = tables.regret, tables.sigma, tables.memory
        first, last = form.player_infosets[player], form.player_infosets[player + 1] - 1
        for I in range(last, first - 1, -1):
            start, stop = form.infoset_start[I], form.infoset_stop[I]
            value, total = 0.0, 0.0
            for a in range(start, stop):
                value += sigma[a] * v[a]
            for a in range(start, stop):
                v[a] -= value
            row(R[start:stop], sigma[start:stop], v[start:stop], memory[start:stop], t)
            for a in range(start, stop):
                total += sigma[a] if sigma[a] >= 0.0 else math.nan
            if not abs(total - 1.0) <= EXACT:
                return I
            v[form.infoset_parent[I]] += value
        return -1

    return update


@kernel
def respond(form: Treeplexes, plan: Floats, reply: Floats, v: Floats) -> None:
    """Write the plan of every player's best response to `plan` into `reply`."""
    for i in range(len(form.player_infosets) - 1):
        gradient(form, i, plan, v)
        best_backup(form, i, v, reply)
        realize(form, i, reply, reply)


@kernel
def iterate(
    form: Treeplexes, tables: CFRTables, rule: Rule, first: int, count: int, own: Any
) -> int:
    """Run iterations first, first + 1, …, first + count - 1.

    `own` is None, or `update_by` a rule. Returns the first infoset where that rule wrote no
    distribution, or -1.
    """
    players = len(form.player_infosets) - 1
    regret, sigma, plan, v = (
        tables.regret,
        tables.sigma,
        tables.plan,
        tables.counterfactual_value,
    )
    opponents = tables.best_response_plan if rule.against_best else plan
    for t in range(first, first + count):
        discounts = discount(t, rule.alpha), discount(t, rule.beta)
        w = weight(t, rule.gamma, rule.delay)
        if rule.against_best:
            respond(form, plan, tables.best_response_plan, v)
        for i in range(players):
            for q in range(form.player_sequences[i], form.player_sequences[i + 1]):
                tables.strategy_sum[q] += w * plan[q]
            gradient(form, i, opponents, v)
            if own is None:  # decided when the kernel is compiled
                update(form, i, v, regret, sigma, discounts, rule.prediction)
            else:
                bad: int = own(form, i, v, tables, t)
                if bad >= 0:
                    return bad
            if rule.alternating:
                realize(form, i, sigma, plan)
        if not rule.alternating:
            for i in range(players):
                realize(form, i, sigma, plan)
        tables.iteration[0] = t
    return -1


class CFR(Run):
    """A run of counterfactual regret minimization that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game that compiles.
    variant : str, Variant or RegretMinimizer
        A name (``"cfr"``, ``"cfr+"``, ``"linear"``, ``"dcfr"``, ``"pcfr+"``, ``"pdcfr+"``), or
        a variant or a rule of your own.
    update : str
        ``"alternating"``: within an iteration, player 1 responds to player 0's new strategy.
        ``"simultaneous"``: all players respond to the same profile, as in the original paper.
        ``"best response"``: each player responds to the others' best responses (CFR-BR).
    delay : int
        The number of iterations at the start that the average leaves out. Iteration t > delay
        has weight (t − delay)^γ; until then the average is uniform.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If `variant` or `update` is unknown; the message lists the known ones. Later, if a
        rule of your own writes no distribution; the message names the infoset.

    Notes
    -----
    Sources: Zinkevich et al. (2007); the discounts are those of Brown & Sandholm (2019), the
    delay that of Tammelin (2014), CFR-BR that of Johanson et al. (2012).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> run = cfr.CFR(cfr.games.KuhnPoker())
    >>> round(run.run(100).solution().exploitability, 9)
    0.008225977
    >>> run.run(900).iterations
    1000
    >>> run.copy().run(1).iterations, run.iterations  # the copy is independent
    (1001, 1000)

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/kuhn.npz")
    ...     again = cfr.CFR.load(f"{folder}/kuhn.npz", run.game)
    >>> again.run(10).average == run.run(10).average
    True
    """

    METHOD, UNIT = "CFR", "gradients"
    _form: SequenceForm

    def __init__(
        self,
        game: Game,
        variant: str | Variant | RegretMinimizer = "cfr",
        *,
        update: str = "alternating",
        delay: int = 0,
    ):
        own = variant if isinstance(variant, RegretMinimizer) else None
        self.variant: Variant | RegretMinimizer = own or find_variant(variant)
        self._compiled = own.compiled if own else None
        self.game, self.update = game, choice("update", update, UPDATES)
        self.delay = whole_number("delay", delay, 0)
        self._form = form = sequence_form(game)
        large = form.num_sequences > LARGE and not own
        self._layout = bands.band_layout(form) if large else None
        sigma = form.uniform()
        self._tables = self._new_tables(sigma, form.plans(sigma))
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        self._best = Measured(math.inf, 0.0, sigma.copy())  # the best at checkpoints so far

    def _new_tables(self, sigma: Floats, plan: Floats) -> CFRTables | bands.BandTables:
        if self._layout:
            return self._layout.new_tables(sigma, plan)
        regret, strategy_sum, reply, v, memory = np.zeros((5, len(sigma)))
        return CFRTables(
            regret, sigma.copy(), plan, strategy_sum, reply, v, np.zeros(1, np.int64), memory
        )

    def _advance(self, count: int, interrupted: Sequence[int] = ()) -> None:
        """Run `count` iterations in compiled code, which nothing interrupts."""
        numbers, first = self.variant, self.iterations + 1
        if not isinstance(numbers, Variant):
            numbers = Variant(numbers.name, gamma=numbers.gamma)
        rule = Rule.of(numbers, self.update, self.delay)
        tables, t = self._tables, self._form.treeplexes
        if self._layout:
            bands.iterate_bands(self._layout.bands, tables, rule, first, count)
        elif self._compiled is None:
            iterate(t, tables, rule, first, count, None)
        else:
            own = self._compiled.compile(update_by(self._compiled.function))
            bad = self._compiled.compile(iterate)(t, tables, rule, first, count, own)
            if bad >= 0:
                label = self._form.tree.infoset_label[bad]
                sigma = tables.sigma[t.infoset_start[bad] : t.infoset_stop[bad]]
                raise ValueError(
                    f"the rule of {numbers.name!r} wrote no distribution into sigma at infoset "
                    f"{label!r} in iteration {self.iterations + 1:,}: {sigma.tolist()}; "
                    "probabilities are at least 0 and sum to 1"
                )

    def _unpack(self, table: Floats) -> Floats:
        """Return a copy of a table in the numbering of the game."""
        return self._layout.unpack(table) if self._layout else table.copy()

    @property
    def iterations(self) -> int:
        """Iterations done so far."""
        return int(self._tables.iteration[0])

    @property
    def gradients(self) -> int:
        """Player-gradients so far: one for each update, one for each best response."""
        each = 2 if self.update == "best response" else 1
        return self.iterations * self._form.num_players * each

    @property
    def _caveat(self) -> str:
        return " if the regret of this rule grows slower than t" if self._compiled else ""

    @property
    def average(self) -> Strategy:
        """The average strategy so far (uniform until the delay is over)."""
        return self._strategy(self._average())

    @property
    def current(self) -> Strategy:
        """The strategy that the next iteration will use."""
        return self._strategy(self._current())

    @property
    def regrets(self) -> InfosetTable:
        """Cumulative counterfactual regrets R(I, a), in units of the game."""
        return Regrets(self._form, self._unpack(self._tables.regret))

    def _average(self) -> Floats:
        sigma = np.empty(self._form.num_sequences)
        behavior(self._form.treeplexes, self._unpack(self._tables.strategy_sum), sigma)
        return sigma

    def _current(self) -> Floats:
        return self._unpack(self._tables.sigma)

    def _strategy(self, sigma: Floats) -> Strategy:
        return Strategy.from_vector(self._form, sigma)

    def copy(self) -> CFR:
        """Return an independent copy of the run in its present state."""
        other = copy.copy(self)
        kind: Any = type(self._tables)
        other._tables = kind._make(table.copy() for table in self._tables)
        other._rows = [list(row) for row in self._rows]
        return other

    def __repr__(self) -> str:
        delay = f", delay={self.delay}" if self.delay else ""
        return (
            f"CFR({self.game!r}, {self.variant.name!r}, update={self.update!r}{delay}) "
            f"after {self.iterations:,} iterations"
        )

    # ---- files -------------------------------------------------------------------------------

    FORMAT = "cfrlib.CFR 5"

    @classmethod
    def load(cls, path: PathLike, game: Game, minimizer: RegretMinimizer | None = None) -> CFR:
        """Return the run saved in `path`, ready to continue exactly where it stopped.

        Parameters
        ----------
        path : str or Path
        game : Game
        minimizer : RegretMinimizer, optional
            The rule of your own by which the run was made, because files hold no functions.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game or
            another rule.
        """
        return cls._load(path, game, **({} if minimizer is None else {"variant": minimizer}))

    @property
    def _labels(self) -> SequenceForm:
        return self._form

    def _options(self) -> Fields:
        described = self.variant.described()
        return {"variant": described, "update": self.update, "delay": self.delay}

    def _state(self) -> dict[str, Array]:
        tables = self._tables
        vectors = {"regret": tables.regret, "sigma": tables.sigma, "sum": tables.strategy_sum}
        if isinstance(tables, CFRTables) and self._compiled:
            vectors["memory"] = tables.memory
        unpacked = {name: self._unpack(vector) for name, vector in vectors.items()}
        return {**unpacked, "iteration": tables.iteration}

    def _restore(self, file: Saved) -> None:
        form, shape = self._form, (self._form.num_sequences,)
        regret, sigma, total = (file.array(name, shape) for name in ("regret", "sigma", "sum"))
        self._tables = self._new_tables(sigma, form.plans(sigma))
        pack = self._layout.pack if self._layout else np.copy
        self._tables.regret[:], self._tables.strategy_sum[:] = pack(regret), pack(total)
        file.fill(iteration=self._tables.iteration)
        if isinstance(self._tables, CFRTables) and self._compiled:
            file.fill(memory=self._tables.memory)
