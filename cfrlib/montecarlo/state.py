"""The state that the sampling solvers share: a game tree, regrets and strategy sums.

A solver is one of two kinds: `Compiled` holds the whole tree, `OnDemand` expands it during its
walks. The kind is decided once, when the solver is created.
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
from cfrlib.montecarlo.partial_tree import PartialTree, Snapshot, initial_tree
from cfrlib.montecarlo.schemes import Sampling, most_entries
from cfrlib.montecarlo.updates import Tables, normalize
from cfrlib.run import Measured
from cfrlib.strategy import InfosetTable, PartialStrategy, Regrets, Strategy


class CompiledOrOnDemand:
    """A solver that comes in two kinds, `Compiled` and `OnDemand`.

    Calling the class creates one of ``KINDS``: the first if the game compiles and the caller
    does not ask for ``on_demand=True``, otherwise the second.
    """

    KINDS: ClassVar[tuple[type, ...]] = ()
    FILES: ClassVar[tuple[Format, ...]]  # file formats, in the same order
    game: Game
    _tree: PartialTree
    _form: SequenceForm | None

    def __new__(cls, game: Game | None = None, *_: object, **options: Any) -> Self:
        """Return a solver of the right kind for the game."""
        if game is None:  # a copy, whose state is filled in
            return super().__new__(cls)
        check_game(game)
        if kinds := vars(cls).get("KINDS"):
            on_demand = options.get("on_demand")
        else:
            kinds, on_demand = (cls, cls), issubclass(cls, OnDemand)
        tree = initial_tree(game, on_demand, options.get("proposal"))
        self: Self = super().__new__(kinds[0 if tree.is_complete else 1])
        self.game, self._tree = game, tree
        self._form = sequence_form(game) if tree.is_complete else None
        return self

    @property
    def _labels(self) -> SequenceForm | Snapshot:
        """The labels of the infosets expanded so far."""
        raise NotImplementedError

    @classmethod
    def _labels_in(cls, kind: Format, game: Game) -> SequenceForm | Snapshot:
        """Return the labels of the infosets in a file of that format."""
        if kind is cls.FILES[0]:
            return sequence_form(game)
        return PartialTree(game).snapshot()

    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        """Attach labels to a strategy vector."""
        raise NotImplementedError

    def _most_entries(self, sampling: Sampling) -> int:
        """Return the most histories that a walk can visit, as far as the tree is expanded."""
        raise NotImplementedError


class Compiled(CompiledOrOnDemand):
    """A solver that holds the whole tree."""

    _form: SequenceForm

    @property
    def _labels(self) -> SequenceForm:
        return self._form

    def _strategy(self, sigma: Floats) -> Strategy:
        return Strategy.from_vector(self._form, sigma)

    def _most_entries(self, sampling: Sampling) -> int:
        return most_entries(self._form.tree, sampling)


class OnDemand(CompiledOrOnDemand):
    """A solver that expands the tree during its walks: exploitability is not known."""

    _form: None
    _measurable = False

    @property
    def _labels(self) -> Snapshot:
        return self._tree.snapshot()

    @property
    def _file(self) -> Format:
        return self.FILES[1]

    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        return PartialStrategy(self._tree.snapshot(), sigma)

    def _measure(self, sigma: Floats) -> Measured:
        return Measured(math.nan, math.nan, sigma)

    @property
    def _guarantee(self) -> str:
        return "exploitability not known: sampling visited only a part of the game"

    def _most_entries(self, sampling: Sampling) -> int:
        return 1  # grows


class Sampled(CompiledOrOnDemand):
    """A solver whose walks update tables: `MCCFR` and `OOS`."""

    _tables: Tables

    @property
    def iterations(self) -> int:
        """Iterations done so far."""
        return int(self._tables.progress[0].done)

    @property
    def nodes(self) -> int:
        """Histories visited so far."""
        return int(self._tables.progress[0].nodes)

    @property
    def average(self) -> Strategy | PartialStrategy:
        """The average strategy so far; uniform where the strategy sum is 0.

        A `Strategy` if the game compiles, otherwise a `PartialStrategy`, of the infosets
        visited.
        """
        return self._strategy(self._average())

    @property
    def current(self) -> Strategy | PartialStrategy:
        """The strategy of the next iteration."""
        return self._strategy(self._current())

    @property
    def regrets(self) -> InfosetTable:
        """Cumulative sampled regrets R(I, a), in units of the game."""
        tree, (table, last_update, progress, _) = self._tree, self._tables
        n, owner = tree.num_infosets, tree.owner[: tree.num_sequences]
        pairs, b = owner >= 0, progress[0]
        with np.errstate(invalid="ignore"):  # ∞ - ∞: nothing is overdue
            last = last_update[:n]
            positive = np.exp(np.nan_to_num(b.log_positive_before - last.log_positive))
            negative = np.exp(np.nan_to_num(b.log_negative_before - last.log_negative))
        regret = table.regret[: tree.num_sequences].copy()
        due = np.where(regret > 0, positive[owner], negative[owner])
        regret[pairs] *= due[pairs]
        return Regrets(self._labels, regret)

    def _current(self) -> Floats:
        tree = self._tree
        sigma: Floats = self._tables.table.sigma[: tree.num_sequences].copy()
        sigma[tree.owner[: tree.num_sequences] < 0] = 1.0
        return sigma

    def _average(self) -> Floats:
        tree, sigma = self._tree, np.ones(self._tree.num_sequences)
        total = np.ascontiguousarray(self._tables.table.total)
        normalize(tree.infosets, total, sigma, tree.num_infosets)
        return sigma

    def copy(self) -> Self:
        """Return an independent copy of the solver and its state."""
        other = copy.copy(self)
        other._tree = self._tree.copy()
        other._tables = Tables._make(table.copy() for table in self._tables)
        return other
