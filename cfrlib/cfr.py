"""Counterfactual regret minimization over the whole tree.

One iteration updates every player once. To update player i, a pass over the leaves computes
the gradient of u_i, a bottom-up pass turns it into counterfactual values and adds the regrets,
regret matching gives the next strategy, and a top-down pass its realization plan. The average
strategy is the weighted sum of these plans (Zinkevich et al., 2007), because a plan already
contains the player's own reach probability.

`reference_update` is the bottom-up pass in plain Python, one infoset at a time. `update` does
the same for a level of infosets at a time, in a memory layout of its own
(:mod:`cfrlib.core.layout`); a run takes and returns vectors in the order of the game.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from cfrlib.core import schema
from cfrlib.core.checks import whole_number
from cfrlib.core.files import Arrays, Format, Header, PathLike, Saved
from cfrlib.core.jit import inlined, inner
from cfrlib.core.layout import (
    Bands,
    Tables,
    add_regrets,
    band_layout,
    best_response,
    evaluate,
    gradient,
    match,
    pass_up,
    realize,
)
from cfrlib.core.sequence import SequenceForm, Treeplexes, behavior, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.game import Game
from cfrlib.regret import Variant, discount, find_variant
from cfrlib.run import Measured, Run
from cfrlib.solution import BEST, HEADER, TRACE, UPDATES
from cfrlib.strategy import SIGMA, InfosetTable, Regrets, Strategy, check_probabilities

RUN_FILE = Format(
    "cfrlib.CFR 3",
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


class Rule(NamedTuple):
    """The update rule of a run: its variant, delay and kind of update."""

    alpha: float
    beta: float
    gamma: float
    prediction: float
    delay: int
    alternating: bool
    against_best: bool


def reference_update(
    form: Treeplexes,
    player: int,
    v: Floats,
    regret: Floats,
    sigma: Floats,
    discounts: tuple[float, float] = (1.0, 1.0),
    prediction: float = 0.0,
) -> None:
    """Update one player, infoset by infoset, as in chapter 4.

    This is the specification of `update`; no run calls it.

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
    >>> reference_update(form.treeplexes, 1, v, regret, sigma)
    >>> regret[5:], sigma[5:]
    (array([-1.,  0.,  1.]), array([0., 0., 1.]))
    """
    positive, negative = discounts
    for I in reversed(range(form.player_infosets[player], form.player_infosets[player + 1])):
        actions = range(form.infoset_start[I], form.infoset_stop[I])
        value = 0.0
        for a in actions:
            value += sigma[a] * v[a]
        for a in actions:
            r = v[a] - value
            regret[a] += r
            regret[a] *= positive if regret[a] > 0.0 else negative
            sigma[a] = max(regret[a] + prediction * r, 0.0)
        norm = 0.0
        for a in actions:
            norm += sigma[a]
        for a in actions:
            sigma[a] = sigma[a] / norm if norm > 0.0 else 1.0 / len(actions)
        v[form.infoset_parent[I]] += value


@inner
def update(
    form: Bands, tables: Tables, player: int, discounts: tuple[float, float], prediction: float
) -> None:
    """Compute values, regrets and the next strategy from the gradient, bottom-up."""
    for level in range(form.player_levels[player + 1] - 1, form.player_levels[player] - 1, -1):
        evaluate(form, tables, level)
        add_regrets(form, tables, level, discounts, prediction)
        match(form, tables, level)
        pass_up(form, tables, level)


@inner
def respond(form: Bands, tables: Tables) -> None:
    """Compute the plan of every player's best response to the current profile."""
    for i in range(len(form.player_levels) - 1):
        gradient(form, i, tables.plan, tables.counterfactual_value, tables.leaf_sums)
        best_response(form, tables, i)
        reply = tables.best_response_plan
        realize(form, i, reply, reply, tables.infoset_reach)


@inlined
def iterate(form: Bands, tables: Tables, rule: Rule, first: int, count: int) -> None:
    """Run iterations first, first + 1, …, first + count - 1."""
    players = len(form.player_levels) - 1
    opponents = tables.best_response_plan if rule.against_best else tables.plan
    for t in range(first, first + count):
        discounts = discount(t, rule.alpha), discount(t, rule.beta)
        weight = float(t - rule.delay) ** rule.gamma if t > rule.delay else 0.0
        if rule.against_best:
            respond(form, tables)
        for i in range(players):
            for q in range(form.player_sequences[i], form.player_sequences[i + 1]):
                tables.strategy_sum[q] += weight * tables.plan[q]
            gradient(form, i, opponents, tables.counterfactual_value, tables.leaf_sums)
            update(form, tables, i, discounts, rule.prediction)
            if rule.alternating:
                realize(form, i, tables.sigma, tables.plan, tables.infoset_reach)
        if not rule.alternating:
            for i in range(players):
                realize(form, i, tables.sigma, tables.plan, tables.infoset_reach)
        tables.iteration[0] = t


class CFR(Run):
    """A run of counterfactual regret minimization that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game that compiles.
    variant : str or Variant
        A name (``"cfr"``, ``"cfr+"``, ``"linear"``, ``"dcfr"``, ``"pcfr+"``, ``"pdcfr+"``) or
        a variant of your own.
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
        If `variant` or `update` is unknown; the message lists the known ones.

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

    METHOD = "CFR"
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
        self._layout = band_layout(form)
        sigma = form.uniform()
        self._tables = self._layout.new_tables(sigma, form.plans(sigma))
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        self._best = Measured(math.inf, 0.0, sigma.copy())  # the best at checkpoints so far

    def _advance(self, count: int, interrupted: Sequence[int] = ()) -> None:
        """Run `count` iterations in compiled code, which nothing interrupts."""
        alternating, against_best = self.update == "alternating", self.update == "best response"
        variant, delay = self.variant, self.delay
        rule = Rule(*variant.exponents, variant.prediction, delay, alternating, against_best)
        iterate(self._layout.bands, self._tables, rule, self.iterations + 1, count)

    @property
    def iterations(self) -> int:
        """Iterations done so far."""
        return int(self._tables.iteration[0])

    @property
    def nodes(self) -> int:
        """Histories visited so far if each update and response had been a tree traversal."""
        players = self._form.num_players
        traversals = {"simultaneous": 1, "alternating": players, "best response": 2 * players}
        return self.iterations * traversals[self.update] * self._form.tree.num_histories

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
        return Regrets(self._form, self._layout.unpack(self._tables.regret))

    def _average(self) -> Floats:
        sigma = np.empty(self._form.num_sequences)
        behavior(self._form.treeplexes, self._layout.unpack(self._tables.strategy_sum), sigma)
        return sigma

    def _current(self) -> Floats:
        return self._layout.unpack(self._tables.sigma)

    def _strategy(self, sigma: Floats) -> Strategy:
        return Strategy.from_vector(self._form, sigma)

    def copy(self) -> CFR:
        """Return an independent copy of the run in its present state."""
        other = copy.copy(self)
        other._tables = Tables._make(table.copy() for table in self._tables)
        other._rows = [list(row) for row in self._rows]
        return other

    # ---- files -------------------------------------------------------------------------------

    FILES = (RUN_FILE,)

    @classmethod
    def load(cls, path: PathLike, game: Game) -> Self:
        """Return the run saved in `path`, ready to continue exactly where it stopped.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        return cls._load(path, game)

    @property
    def _labels(self) -> SequenceForm:
        return self._form

    @classmethod
    def _from_header(cls, file: Saved, game: Game, **options: Any) -> Self:
        header = file.header
        variant = Variant(**header["variant"])
        return cls(game, variant, update=header["update"], delay=header["delay"])

    def _pack(self) -> tuple[Header, Arrays]:
        header, arrays = super()._pack()
        tables, unpack = self._tables, self._layout.unpack
        return header, arrays | {
            "regret": unpack(tables.regret),
            "sigma": unpack(tables.sigma),
            "total": unpack(tables.strategy_sum),
            "best": self._best.sigma,
        }

    def _unpack(self, file: Saved) -> Arrays:
        header, arrays, form = file.header, file.arrays(), self._form
        check_probabilities(form, arrays["sigma"], arrays["best"])
        tables, pack = self._tables, self._layout.pack
        tables.regret[:], tables.sigma[:] = pack(arrays["regret"]), pack(arrays["sigma"])
        tables.strategy_sum[:] = pack(arrays["total"])
        tables.plan[:] = pack(form.plans(arrays["sigma"]))
        tables.iteration[0] = header["iterations"]
        self._unpack_trace(header, arrays, math.inf)
        return arrays

    def __repr__(self) -> str:
        delay = f", delay={self.delay}" if self.delay else ""
        return (
            f"CFR({self.game!r}, {self.variant.name!r}, update={self.update!r}{delay}) "
            f"after {self.iterations:,} iterations"
        )
