"""What the sampling solvers have in common: a game tree, regrets and strategy sums.

A solver is one of two kinds: `Compiled` knows the whole tree, `OnDemand` expands it as its
walks go. Which one is decided once, when it is made.
"""

from __future__ import annotations

import copy
import math
from typing import Any, ClassVar, Self

import numpy as np

from cfrlib.core.files import Format
from cfrlib.core.sequence import SequenceForm, sequence_form
from cfrlib.core.tree import Floats, check_game
from cfrlib.game import Game
from cfrlib.montecarlo.partial_tree import PartialTree, Snapshot, explore
from cfrlib.montecarlo.schemes import Sampling, most_entries
from cfrlib.montecarlo.updates import Tables, normalize
from cfrlib.run import Measured
from cfrlib.strategy import InfosetTable, PartialStrategy, Regrets, Strategy


class OfAKind:
    """A solver that comes in two kinds, `Compiled` and `OnDemand`.

    A call of the class makes one of ``KINDS``: the first if the game compiles and the caller
    does not ask for ``on_demand=True``, else the second.
    """

    KINDS: ClassVar[tuple[type, ...]] = ()
    FILES: ClassVar[tuple[Format, ...]]  # of files, in the same order
    game: Game
    _known: PartialTree
    _form: SequenceForm | None

    def __new__(cls, game: Game | None = None, *_: object, **options: Any) -> Self:
        """Return a solver of the kind that suits the game."""
        if game is None:  # a copy, whose state is filled in
            return super().__new__(cls)
        check_game(game)
        if kinds := vars(cls).get("KINDS"):
            on_demand = options.get("on_demand")
        else:
            kinds, on_demand = (cls, cls), issubclass(cls, OnDemand)
        known = explore(game, on_demand, options.get("proposal"))
        self: Self = super().__new__(kinds[0 if known.whole else 1])
        self.game, self._known = game, known
        self._form = sequence_form(game) if known.whole else None
        return self

    @property
    def _labels(self) -> SequenceForm | Snapshot:
        """What names the infosets known by now."""
        raise NotImplementedError

    @classmethod
    def _labels_in(cls, kind: Format, game: Game) -> SequenceForm | Snapshot:
        """Return what names the infosets in a file of that kind."""
        if kind is cls.FILES[0]:
            return sequence_form(game)
        return PartialTree(game).snapshot()

    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        """Name the numbers of a strategy."""
        raise NotImplementedError

    def _most_entries(self, sampling: Sampling) -> int:
        """Return how many histories a walk visits at most, as far as known."""
        raise NotImplementedError


class Compiled(OfAKind):
    """A solver that knows the whole tree."""

    _form: SequenceForm

    @property
    def _labels(self) -> SequenceForm:
        return self._form

    def _strategy(self, sigma: Floats) -> Strategy:
        return Strategy.from_vector(self._form, sigma)

    def _most_entries(self, sampling: Sampling) -> int:
        return most_entries(self._form.tree, sampling)


class OnDemand(OfAKind):
    """A solver that expands the tree as its walks go: exploitability is not known."""

    _form: None
    _measurable = False

    @property
    def _labels(self) -> Snapshot:
        return self._known.snapshot()

    @property
    def _file(self) -> Format:
        return self.FILES[1]

    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        return PartialStrategy(self._known.snapshot(), sigma)

    def _measure(self, sigma: Floats) -> Measured:
        return Measured(math.nan, math.nan, sigma)

    @property
    def _guarantee(self) -> str:
        return "exploitability not known: sampling met only a part of the game"

    def _most_entries(self, sampling: Sampling) -> int:
        return 1  # grows


class Sampled(OfAKind):
    """A solver with tables, which its walks fill: `MCCFR` and `OOS`."""

    _tables: Tables

    @property
    def iterations(self) -> int:
        """Iterations done so far."""
        return int(self._tables.ledger[0].done)

    @property
    def nodes(self) -> int:
        """Histories visited so far."""
        return int(self._tables.ledger[0].nodes)

    @property
    def average(self) -> Strategy | PartialStrategy:
        """The average strategy up to now; uniform where nothing was added up.

        A `Strategy` if the game compiles, else a `PartialStrategy` of the infosets met.
        """
        return self._strategy(self._average())

    @property
    def current(self) -> Strategy | PartialStrategy:
        """The strategy that the next iteration will use."""
        return self._strategy(self._current())

    @property
    def regrets(self) -> InfosetTable:
        """Cumulative sampled regrets R(I, a), in units of the game."""
        known, (table, memory, ledger, _) = self._known, self._tables
        n, owner = known.num_infosets, known.owner[: known.num_sequences]
        pairs, b = owner >= 0, ledger[0]
        with np.errstate(invalid="ignore"):  # ∞ - ∞: nothing is overdue
            positive = np.exp(np.nan_to_num(b.positive_before - memory.positive[:n]))
            negative = np.exp(np.nan_to_num(b.negative_before - memory.negative[:n]))
        regret = table.regret[: known.num_sequences].copy()
        due = np.where(regret > 0, positive[owner], negative[owner])
        regret[pairs] *= due[pairs]
        return Regrets(self._labels, regret)

    def _current(self) -> Floats:
        known = self._known
        sigma: Floats = self._tables.table.sigma[: known.num_sequences].copy()
        sigma[known.owner[: known.num_sequences] < 0] = 1.0
        return sigma

    def _average(self) -> Floats:
        known, sigma = self._known, np.ones(self._known.num_sequences)
        total = np.ascontiguousarray(self._tables.table.total)
        normalize(known.infosets, total, sigma, known.num_infosets)
        return sigma

    def copy(self) -> Self:
        """Return one that stands where this one does and goes its own way from here."""
        other = copy.copy(self)
        other._known = self._known.copy()
        other._tables = Tables._make(table.copy() for table in self._tables)
        return other
