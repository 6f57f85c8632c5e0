"""The walks of a batch on the tree of a compiled game, and the tables that they update."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any

import numpy as np

from cfrlib.core.files import Array, Saved
from cfrlib.core.tree import compile
from cfrlib.game import Action, Game
from cfrlib.montecarlo import updates
from cfrlib.montecarlo.schemes import Sampling, most_entries, scratch_columns
from cfrlib.montecarlo.tree_records import TreeRecords


class TreeBatch:
    """The lanes of a run on a compiled game.

    The wing for larger games has a class with the same methods.

    Parameters
    ----------
    game : Game
    proposal, sampling
        As for :class:`cfrlib.MCCFR`.
    settings : Settings
    baseline : bool
        Whether there are baselines.

    Attributes
    ----------
    tree : TreeRecords
    tables : Tables
        The state of the run.
    lanes : Lanes
    turn : int array, shape (1,)
        The next player of the present iteration; -1 before it begins.
    """

    one_by_one = False  # iterations need no Python in between

    def __init__(
        self,
        game: Game,
        proposal: Mapping[Action, float] | None,
        sampling: Sampling,
        settings: updates.Settings,
        baseline: bool,
    ):
        compiled = compile(game)
        self.tree, self.settings = TreeRecords(compiled, proposal), settings
        self.tables = updates.new_tables(self.tree, baseline)
        actions = max(map(len, self.tree.actions_at), default=1)
        self.lanes = updates.new_lanes(
            min(settings.batch, updates.LANES),
            most_entries(compiled, sampling),
            self.tree.num_infosets,
            self.tree.num_sequences,
            scratch_columns(sampling, actions, game),
            game.num_players if baseline else 0,
        )
        self.turn = np.full(1, -1, np.int64)

    @property
    def state_of_kernels(self) -> Any:
        """What the kernels read and write: TreeArrays, Tables, Settings and Lanes."""
        return self.tree.arrays, self.tables, self.settings, self.lanes

    def warm_up(self) -> None:
        """Compile the kernels; change nothing."""
        self.run_to(int(self.tables.progress[0].done))

    def run_to(self, last: int) -> None:
        """Run iterations up to `last` in one kernel."""
        updates.iterate_batches(*self.state_of_kernels, self.turn, last)

    def sample(self, t: int, i: int, threads: int = 1, pool: Executor | None = None) -> None:
        """Run player i's walks. If one fails, none counts, and a retry repeats them all."""
        call = partial(self._sample_in_thread, t, i, threads)
        try:
            others = [pool.submit(call, n) for n in range(1, threads)] if pool else []
            call(0)
            for other in others:
                other.result()
        except BaseException:  # Ctrl-C
            for n in range(len(self.lanes.walk)):
                updates.clear_lane(self.tree.infosets, updates.lane_of(self.lanes, n))
            raise

    def _sample_in_thread(self, t: int, i: int, threads: int, first: int) -> None:
        """Run the walks of one thread."""
        updates.sample_batch(*self.state_of_kernels, t, i, first, threads)
        updates.merge(self.tree.infosets, self.lanes, first, threads)

    def apply(self, i: int, threads: int = 1, pool: Executor | None = None) -> None:
        """Update the tables of player i, or with i = -1 of all; end the batch."""
        updates.apply_batch(*self.state_of_kernels, i)

    def copy(self) -> TreeBatch:
        """Return an independent copy."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.tables = updates.Tables._make(table.copy() for table in self.tables)
        other.lanes = updates.Lanes._make(array.copy() for array in self.lanes)
        other.turn = self.turn.copy()
        return other

    def state(self) -> dict[str, Array]:
        """Return what a file holds besides the tables: nothing."""
        return {}

    def restore(self, file: Saved) -> None:
        """Read nothing more from a file."""
