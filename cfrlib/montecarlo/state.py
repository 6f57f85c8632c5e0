"""State shared by the sampling solvers: the tree, regrets and strategy sums.

Each solver adds its own traversals.
"""

from __future__ import annotations

import copy
from typing import Self

import numpy as np

from cfrlib.core.sequence import SequenceForm, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.game import Game
from cfrlib.montecarlo.partial_tree import PartialTree, Snapshot
from cfrlib.montecarlo.updates import Tables, new_tables, normalize
from cfrlib.strategy import InfosetTable, PartialStrategy, Regrets, Strategy


class Sampled:
    """A game as far as it is known, and the tables of a run on it. `MCCFR` and `OOS` fill them.

    Parameters
    ----------
    known : PartialTree
        The game.
    baseline : bool
        Whether there is a baseline to learn.
    """

    game: Game

    def __init__(self, known: PartialTree, baseline: bool = False):
        self.game = known.game
        self._known = known
        self._form: SequenceForm | None = sequence_form(known.game) if known.whole else None
        self._tables = new_tables(known, baseline)

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

    @property
    def _labels(self) -> SequenceForm | Snapshot:
        """What names the infosets known by now."""
        return self._known.snapshot() if self._form is None else self._form

    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        """Name the numbers of a strategy."""
        if self._form is None:
            return PartialStrategy(self._known.snapshot(), sigma)
        return Strategy.from_vector(self._form, sigma)

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
