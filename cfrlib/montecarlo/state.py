"""What the sampling solvers share: a game tree, complete or growing, and tables over it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from cfrlib.core.files import Array, Saved
from cfrlib.core.sequence import SequenceForm, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.game import Action, Game
from cfrlib.montecarlo.partial_tree import PartialTree, Records, Snapshot, initial_tree
from cfrlib.montecarlo.schemes import Sampling, most_entries
from cfrlib.montecarlo.updates import Tables, normalize
from cfrlib.strategy import InfosetTable, PartialStrategy, Regrets, Strategy


class OnTree:
    """A solver on the tree of a game: complete if the game compiles, else grown by its walks.

    If the tree grows, exploitability is not known, and strategies cover the infosets visited.
    """

    game: Game
    _tree: Any  # a PartialTree, or the Infosets of a game too large to compile
    _form: SequenceForm | None  # None while the tree grows

    def _plant(
        self, game: Game, on_demand: bool | None, proposal: Mapping[Action, float] | None = None
    ) -> None:
        """Set the game and its tree; `on_demand` is as for `MCCFR`."""
        self.game, self._tree = game, initial_tree(game, on_demand, proposal)
        self._form = sequence_form(game) if self._tree.is_complete else None

    @property
    def is_complete(self) -> bool:
        """Whether the tree is complete, or grows because the game is too large to compile."""
        return bool(self._tree.is_complete)

    @property
    def _measurable(self) -> bool:
        return self.is_complete

    @property
    def _labels(self) -> SequenceForm | Snapshot:
        """The labels of the infosets known so far."""
        return self._form or self._tree.snapshot()

    @classmethod
    def _labels_in(cls, file: Saved, game: Game) -> SequenceForm | Snapshot:
        """Return an object that labels the infosets of a file."""
        grows = file.header["options"].get("on_demand")
        return PartialTree(game).snapshot() if grows else sequence_form(game)

    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        """Attach labels to a strategy vector."""
        if self._form is None:
            return PartialStrategy(self._tree.snapshot(), sigma)
        return Strategy.from_vector(self._form, sigma)

    def _most_entries(self, sampling: Sampling) -> int:
        """Return the most histories that a walk can visit, as far as the tree is known."""
        return most_entries(self._form.tree, sampling) if self._form else 1


class Sampled(OnTree):
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


def columns(name: str, records: Records, n: int) -> dict[str, Array]:
    """Return the first n records as an array for each field, for files."""
    fields: Any = records.dtype.names
    return {f"{name}.{field}": np.array(records[field][:n]) for field in fields}


def fill_columns(file: Saved, name: str, records: Records, n: int) -> None:
    """Set the first n records to those of a file that holds their `columns`."""
    for field in records.dtype.names:
        records[field][:n] = file.array(f"{name}.{field}", (n,), records.dtype[field])
