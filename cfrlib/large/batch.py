"""The walks of a batch of a game too large to compile, and the tables that they update."""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Executor
from functools import partial
from typing import Any

import numpy as np

from cfrlib.core.files import Array, Saved
from cfrlib.core.tree import Ints
from cfrlib.game import Action, Game, GameError
from cfrlib.large.merging import (
    apply_regrets,
    apply_strategy,
    end_batch,
    enter_lanes,
    new_merged,
)
from cfrlib.large.partial_tree import PartialTree, enlarged
from cfrlib.large.python_rules import NUMBER, PythonRules
from cfrlib.large.rules import rules_of
from cfrlib.large.tables import INFOSETS, SEQUENCES, Infosets, new_known, with_room
from cfrlib.large.walks import (
    AT,
    DONE,
    FORGETFUL,
    INFOSET,
    NO_ENTRIES,
    NO_INFOSETS,
    NO_OUTCOME,
    NO_TABLE,
    WHY,
    WRONG_ACTIONS,
    Root,
    begin_batch,
    iterate_rules,
    new_walkspace,
    sample_lanes,
    with_entries,
)
from cfrlib.montecarlo.schemes import Sampling, scratch_columns
from cfrlib.montecarlo.tree_records import records
from cfrlib.montecarlo.updates import (
    LANES,
    LAZY,
    PROGRESS,
    Settings,
    Tables,
    begin_iteration,
    end_iteration,
)


class RulesBatch:
    """The lanes of a run by `Rules`, with the interface of `TreeBatch`.

    With simultaneous updates, each player's walks have lanes of their own.

    Parameters
    ----------
    game : Game
    proposal, sampling
        As for :class:`cfrlib.MCCFR`.
    settings : Settings
    baseline : bool
        Whether there are baselines.
    """

    one_by_one = False  # iterations need no Python in between

    def __init__(
        self,
        game: Game,
        proposal: Mapping[Action, float] | None,
        sampling: Sampling,
        settings: Settings,
        baseline: bool,
    ):
        self.rules: Any = rules_of(game) or PythonRules(game)
        self.proposal, self.sampling, self.settings = proposal, sampling, settings
        self.tree = Infosets(game, self.rules, baseline)
        self.progress = records(1, PROGRESS)
        self.empty_lanes()

    def empty_lanes(self) -> None:
        """Create the lanes, without walks."""
        self.lanes = min(self.settings.batch, LANES)
        self.extent = self.tree.extent._replace(of_lanes=True)
        groups = 1 if self.settings.alternating else self.extent.players
        self.own = new_known(self.extent, self.lanes * groups)
        self.merged = new_merged(len(self.own.size))
        self.addresses = self.rules.addresses
        none = np.zeros(0)
        self.root = Root(np.array(self.rules.root, np.int64), none, none)
        self.is_rooted = False
        self.space = new_walkspace(self.extent, len(self.own.size), 0, 0)
        self.make_room(64, 1024)
        self.turn = np.full(1, -1, np.int64)  # next player of the iteration, or -1 before it
        begin_batch(self.space, self.settings)

    @property
    def tables(self) -> Tables:
        """The tables of the run, which are replaced when they grow."""
        return self.tree.tables(self.progress)

    # ---- room --------------------------------------------------------------------------------

    def look_at_root(self) -> None:
        """Read the empty history and the proposal once."""
        if self.is_rooted:
            return
        if self.proposal is not None or self.rules.in_python:
            tree = PartialTree(self.tree.game, self.proposal)
            tree.expand(0)
            new = tree.nodes[1 : tree.num_histories]
            given = new.probability.copy(), new.correction.copy()
            self.root = Root(self.root.state, *given)
        if self.rules.in_python:
            self.rules.look_at_root(self.root.state)
        self.widen()
        self.is_rooted = True

    def widen(self) -> None:
        """Make room for the most actions."""
        most, space = self.rules.most_actions, self.space
        width = scratch_columns(self.sampling, most, self.tree.game)
        self.space = space._replace(
            numbers=enlarged(space.numbers, most, axis=1),
            probabilities=enlarged(space.probabilities, most, axis=1),
            scratch=enlarged(space.scratch, width, axis=2),
        )
        if self.rules.in_python:
            self.rules.most_actions = self.space.numbers.shape[1]

    def make_room(self, infosets: int, sequences: int) -> None:
        """Make the tables of the lanes longer where they are too short."""
        self.own = with_room(self.own, self.extent, infosets, sequences)

    def make_room_to_enter(self) -> None:
        """Make room for the infosets of all lanes in the table of the run."""
        infosets, sequences = self.own.size[:, : SEQUENCES + 1].sum(axis=0).tolist()
        self.tree.make_room(infosets, sequences)
        self.merged = self.merged._replace(
            infoset=enlarged(self.merged.infoset, infosets),
            places=enlarged(self.merged.places, infosets),
            row=enlarged(self.merged.row, len(self.tree.infosets)),
        )

    def mend(self, why: int, n: int) -> None:
        """Make room where a walk of lane n was stopped, or say what is wrong.

        Raises
        ------
        GameError
            If the rules are unsound.
        """
        space, rules, game = self.space, self.rules, self.tree.game
        if rules.in_python:
            rules.raise_failure()
            if why in (WRONG_ACTIONS, FORGETFUL):
                at = int(space.states[n, int(space.reached[n, AT]), NUMBER])
                self.conflict(n, int(space.reached[n, INFOSET]), rules.path(at, None))
            if rules.most_actions > space.numbers.shape[1]:
                self.widen()
                return
        if why == NO_ENTRIES:
            entries, nodes = (2 * len(each[0]) + rules.most_actions for each in space[:2])
            self.space = with_entries(space, entries, nodes)
        elif why == NO_INFOSETS:
            self.make_room(
                2 * int(self.own.size[n, INFOSETS]) + 1,
                2 * int(self.own.size[n, SEQUENCES]) + rules.most_actions,
            )
        elif why == NO_OUTCOME:
            raise GameError(
                f"the rules of {game!r} return a number of actions that is not from 1 to "
                f"most_actions={rules.most_actions}; see cfrlib.check_rules(game)"
            )
        else:
            self.conflict(n, int(space.reached[n, INFOSET]), ())

    def conflict(self, n: int, L: int, path: tuple[Action, ...]) -> None:
        """Raise the error for infoset L of lane n, which differs from what it was elsewhere."""
        if self.rules.in_python:
            self.rules.conflict(self.rules.label_of(int(self.own.keys[n, L])), path)
        label = self.rules.decision(self.own.states[n, L]).infoset
        raise GameError(
            f"the rules of {self.tree.game!r} give the key of infoset {label!r} to histories "
            "with other actions, another player, or to which the player came by other actions; "
            "the key must hold all that the player knows; see cfrlib.check_rules(game)"
        )

    # ---- iterations --------------------------------------------------------------------------

    def warm_up(self) -> None:
        """Compile the kernels; change nothing."""
        self.run_to(int(self.progress[0].done))
        state = self.addresses, self.root, self.own, self.tree.known, self.space
        sample_lanes(*state, self.tables, self.settings, 0, 0, len(self.own.size), 1)
        progress = self.progress.copy()
        begin_iteration(progress, self.settings, 0)
        end_iteration(progress, 0)
        self.apply(0)  # an empty batch

    def run_to(self, last: int) -> None:
        """Run iterations up to `last`; the kernel stops only where something must grow."""
        if last > self.progress[0].done:
            self.look_at_root()
        try:
            why = -1
            while why != DONE:
                why = iterate_rules(
                    self.addresses,
                    self.root,
                    self.own,
                    self.tree.known,
                    self.space,
                    self.merged,
                    self.tree.arrays,
                    self.tables,
                    self.settings,
                    self.turn,
                    last,
                )
                if why == NO_TABLE:
                    self.make_room_to_enter()
                elif why != DONE:
                    for n in np.flatnonzero(self.space.reached[:, WHY] == why):
                        self.mend(why, int(n))
        except BaseException:
            self.discard()
            raise

    def sample(self, t: int, i: int, threads: int = 1, pool: Executor | None = None) -> None:
        """Run player i's walks. If one fails, none counts, and a retry repeats them all."""
        try:
            self.sample_share(t, i, 0, 1, threads, pool)
        except BaseException:  # unsound rules, Ctrl-C
            self.discard()
            raise

    def sample_share(
        self,
        t: int,
        i: int,
        first: int,
        step: int,
        threads: int = 1,
        pool: Executor | None = None,
    ) -> None:
        """Run player i's walks in the lanes first, first + step, …: a process's share."""
        begin_batch(self.space, self.settings)
        self.look_at_root()
        threads = 1 if self.rules.in_python else threads
        turns = range(1, threads)
        while True:
            state = self.addresses, self.root, self.own, self.tree.known, self.space
            call = partial(sample_lanes, *state, self.tables, self.settings, t, i)
            apart = threads * step
            others = [pool.submit(call, first + n * step, apart) for n in turns] if pool else []
            stopped = [call(first, apart), *(other.result() for other in others)]
            if max(stopped) < 0:
                return
            for n in stopped:
                if n >= 0:
                    self.mend(int(self.space.reached[n, WHY]), n)

    def apply(self, i: int, threads: int = 1, pool: Executor | None = None) -> None:
        """Update the tables of player i, or with i = -1 of all; end the batch."""
        self.enter(i)
        state = self.own, self.merged, self.tree.arrays, self.tables, self.settings, i
        for update in (apply_strategy, apply_regrets):
            # a lazy average needs the parent's strategy sum before the child's
            share = 1 if update is apply_strategy and self.settings.rule == LAZY else threads
            call = partial(update, *state)
            others = [pool.submit(call, n, share) for n in range(1, share)] if pool else []
            call(0, share)
            for other in others:
                other.result()
        end_batch(self.own, self.merged, self.progress)

    def enter(self, i: int) -> None:
        """Enter the infosets that all lanes met in the table of the run, to update player i."""
        try:
            self.make_room_to_enter()
            place = enter_lanes(self.own, self.tree.known, self.merged)
            if place >= 0:
                self.conflict(place % len(self.own.size), place // len(self.own.size), ())
        except BaseException:
            self.discard()
            raise

    @property
    def touched(self) -> Ints:
        """The infosets that the batch met, when it has been entered."""
        return self.merged.infoset[: int(self.merged.size[0])]

    def discard(self) -> None:
        """Discard all walks since the last update."""
        end_batch(self.own, self.merged, records(1, PROGRESS))
        begin_batch(self.space, self.settings)

    # ---- copies and files --------------------------------------------------------------------

    def copy(self) -> RulesBatch:
        """Return an independent copy, whose lanes are empty."""
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other.tree, other.progress = self.tree.copy(), self.progress.copy()
        if self.rules.in_python:
            other.rules = other.tree.rules = self.rules.copy()
        turn = self.turn.copy()
        other.empty_lanes()
        other.turn = turn
        return other

    def state(self) -> dict[str, Array]:
        """Return what a file holds besides the tables, labels and actions."""
        return self.tree.state()

    def restore(self, file: Saved) -> None:
        """Enter the infosets of a file."""
        self.tree.restore(file)
