"""What sampling solvers share: a game tree, complete or growing, and tables over it."""

from __future__ import annotations

from typing import Any

import numpy as np

from cfrlib import wings
from cfrlib.core.checks import choice
from cfrlib.core.files import Array, Saved
from cfrlib.core.sequence import SequenceForm, sequence_form
from cfrlib.core.tree import Floats, TooLarge, compiles
from cfrlib.game import Game
from cfrlib.montecarlo.tree_records import Records
from cfrlib.montecarlo.updates import Tables, normalize
from cfrlib.strategy import InfosetTable, PartialStrategy, Regrets, Strategy


class OnTree:
    """A solver on the tree of a game: complete if the game compiles, else grown by its walks.

    If the tree grows, exploitability is not known, and strategies cover the infosets visited.
    """

    game: Game
    _tree: Any  # TreeRecords, or what the wing for larger games has in their place
    _form: SequenceForm | None  # None while the tree grows

    def _plant(self, game: Game, on_demand: bool | None) -> None:
        """Set the game, and its sequence form if there is one; `on_demand` is as for `MCCFR`.

        Raises
        ------
        TooLarge
            If the game does not compile and `on_demand` is False.
        ValueError
            If `on_demand` is not True, False or None.
        """
        choice("on_demand", on_demand, (True, False, None))
        self.game, self._form = game, None
        if on_demand or (on_demand is None and not compiles(game)):
            return
        try:
            self._form = sequence_form(game)
        except TooLarge:
            if on_demand is False:
                raise

    @property
    def is_complete(self) -> bool:
        """Whether the tree is complete, or grows because the game is too large to compile."""
        return self._form is not None

    @property
    def _measurable(self) -> bool:
        return self.is_complete

    @property
    def _labels(self) -> Any:
        """The labels of the infosets known so far."""
        return self._form or self._tree.snapshot()

    @classmethod
    def _labels_in(cls, file: Saved, game: Game) -> Any:
        """Return an object that labels the infosets of a file."""
        if file.header["options"].get("on_demand"):
            return wings.load("no_infosets")(game)
        return sequence_form(game)

    def _strategy(self, sigma: Floats) -> Strategy | PartialStrategy:
        """Attach labels to a strategy vector."""
        if self._form is None:
            return PartialStrategy(self._tree.snapshot(), sigma)
        return Strategy.from_vector(self._form, sigma)


class Sampled(OnTree):
    """A solver whose walks update tables.

    A subclass sets or defines `_tree` and `_tables`.
    """

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
        return self._normalized(self._tables)

    def _normalized(self, tables: Tables) -> Floats:
        tree, sigma = self._tree, np.ones(self._tree.num_sequences)
        total = np.ascontiguousarray(tables.table.total)
        normalize(tree.infosets, total, sigma, tree.num_infosets)
        return sigma


def columns(name: str, records: Records, n: int) -> dict[str, Array]:
    """Return the first n records as an array for each field, for files."""
    fields: Any = records.dtype.names
    return {f"{name}.{field}": np.array(records[field][:n]) for field in fields}


def read_columns(file: Saved, name: str, records: Records, n: int) -> None:
    """Set the first n records to those of a file that holds their `columns`."""
    for field in records.dtype.names:
        records[field][:n] = file.array(f"{name}.{field}", (n,), records.dtype[field])
