"""Batches of a game too large to compile, shared among processes through joblib.

Each worker keeps a replica: a copy of the current strategy at the infosets that the run has
met. A batch changes the strategy only at infosets that its walks met, so a task brings what the
last batch changed. A worker that lacks more than that, because it is new or got no task of the
last batch, answers with the version of its replica, and the task is sent again with all changes
since then. Results are the lanes' sums. The numbers are those of one process.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np

from cfrlib.core.rules import rules_of
from cfrlib.core.tree import Floats, Ints
from cfrlib.game import Action, Game
from cfrlib.montecarlo.infosets import (
    INFOSETS,
    SEQUENCES,
    Infosets,
    Int64s,
    Part,
    fill_slots,
    known_of,
)
from cfrlib.montecarlo.partial_tree import Records
from cfrlib.montecarlo.python_walks import PythonBatch
from cfrlib.montecarlo.rules_walks import RulesBatch
from cfrlib.montecarlo.schemes import Sampling
from cfrlib.montecarlo.updates import LANES, Settings
from cfrlib.montecarlo.workers import allow_memory, kept, map_tasks, sequences_of, workers


def new_batch(
    infosets: Infosets,
    proposal: Mapping[Action, float] | None,
    sampling: Sampling,
    settings: Settings,
) -> PythonBatch | RulesBatch:
    """Return the lanes of a run, or of its replica."""
    if infosets.rules is None:
        return PythonBatch(infosets, proposal, sampling, settings)
    return RulesBatch(infosets, sampling, settings)


# ---- what a task brings ----------------------------------------------------------------------


class Changes(NamedTuple):
    """The infosets that batches changed, and the current strategy there.

    Attributes
    ----------
    versions : tuple of str
        The versions that this completes; the last is the current one. If empty, any version.
    numbers : int array, shape (infosets,)
        Numbers of the infosets; those that a replica lacks are among them.
    infosets, keys, sigma, baseline
        As in `Known`.
    first : int
        The number of the first infoset in the next three attributes.
    labels : list of str
    actions_at : list of tuple of actions
        As in `Infosets`.
    named_only : list of int
        As in `Infosets`.
    """

    versions: tuple[str, ...]
    numbers: Ints
    infosets: Records
    keys: Int64s
    sigma: Floats
    baseline: Floats
    first: int
    labels: list[str]
    actions_at: list[tuple[Action, ...]]
    named_only: list[int]


class Versions:
    """The versions of a run's strategy, and what the last batches changed.

    Attributes
    ----------
    current : str
        Unique among all runs, so that a worker can compare.
    changed : dict from str to (int, int array)
        Of earlier versions: the number of infosets then, and those that the next batch changed.
    """

    def __init__(self) -> None:
        self.current = uuid.uuid4().hex
        self.changed: dict[str, tuple[int, Ints]] = {}

    def record(self, infosets: Infosets, touched: Ints, before: int, player: int) -> None:
        """Begin a version, when a batch is about to change the strategy of a player, or of all.

        The batch met the infosets `touched`; `before` is their number in the run before it.
        """
        if player >= 0 and not infosets.extent.learners:
            touched = touched[(infosets.player_of[touched] == player) | (touched >= before)]
        self.changed[self.current] = before, touched.copy()
        self.current = uuid.uuid4().hex
        total = sum(len(numbers) for _, numbers in self.changed.values())
        while total > infosets.num_infosets and len(self.changed) > 1:
            total -= len(self.changed.pop(next(iter(self.changed)))[1])

    def oldest(self, versions: Sequence[str]) -> str | None:
        """Return the oldest of some versions; None if what followed it is not known."""
        known = [version for version in self.changed if version in versions]
        return known[0] if len(known) == len(set(versions)) else None

    def changes(self, infosets: Infosets, since: str | None) -> Changes:
        """Return what changed since a version; since None, all."""
        versions, n, first = list(self.changed), infosets.num_infosets, 0
        numbers: Ints = np.arange(n, dtype=np.int32)
        if since is not None:
            versions = versions[versions.index(since) :]
            first = self.changed[since][0]
            numbers = np.unique(np.concatenate([self.changed[each][1] for each in versions]))
        q = sequences_of(infosets.infosets, numbers)
        named_only = infosets.named_only
        return Changes(
            (*versions, self.current) if since is not None else (),
            numbers,
            infosets.infosets[numbers],
            infosets.known.keys[0, numbers if infosets.extent.integers else slice(0)],
            infosets.sigma[q],
            infosets.baseline[:, q if infosets.extent.learners else slice(0)],
            first,
            infosets.labels[first:],
            infosets.actions_at[first:],
            [I for I in range(first, n) if I in named_only] if named_only else [],
        )


class Setup(NamedTuple):
    """What a worker needs to begin a replica.

    Attributes
    ----------
    game, proposal, sampling
        As for :class:`cfrlib.MCCFR`.
    baseline, by_rules : bool
        Whether there are baselines, and whether walks are by the rules that compile.
    settings : Settings
    """

    game: Game
    proposal: Mapping[Action, float] | None
    sampling: Sampling
    baseline: bool
    by_rules: bool
    settings: Settings


class Task(NamedTuple):
    """The walks of one worker.

    Attributes
    ----------
    run_id : str
        Identifies the run, and so its setup.
    version : str
        The current version of the strategy.
    t, i : int
        The iteration and the traverser.
    first, step : int
        This task is for lanes first, first + step, ….
    """

    run_id: str
    version: str
    t: int
    i: int
    first: int
    step: int


# ---- in a worker -----------------------------------------------------------------------------


class Replica:
    """A worker's copy of the current strategy, and its lanes."""

    def __init__(self, setup: Setup):
        allow_memory()
        rules = rules_of(setup.game) if setup.by_rules else None
        self.infosets = Infosets(setup.game, rules, setup.baseline)
        self.batch = new_batch(self.infosets, setup.proposal, setup.sampling, setup.settings)
        self.version = ""

    def follow(self, changes: Changes) -> None:
        """Copy the strategy where it changed."""
        infosets, numbers, n = self.infosets, changes.numbers, self.infosets.num_infosets
        total = max(n, int(numbers[-1]) + 1 if len(numbers) else 0)
        stop = int(changes.infosets["stop"].max(initial=infosets.num_sequences))
        infosets.make_room(total - n, stop - infosets.num_sequences)
        known = known_of(infosets.known, 0)
        known.infosets[numbers] = changes.infosets
        q = sequences_of(known.infosets, numbers)
        infosets.sigma[q] = changes.sigma
        known.size[INFOSETS], known.size[SEQUENCES] = total, stop
        if infosets.extent.learners:
            known.baseline[:, q] = changes.baseline
        if infosets.extent.integers:
            known.keys[numbers] = changes.keys
            fill_slots(known.keys, known.slots, total, n)
        else:
            labels = changes.labels[n - changes.first :]
            infosets.number.update(zip(labels, range(n, total), strict=True))
            infosets.labels += labels
            infosets.actions_at += changes.actions_at[n - changes.first :]
            infosets.named_only.update(I for I in changes.named_only if I not in range(n))


def work(task: Task, changes: Changes, setup: Setup | None) -> Part | str:
    """Run the walks of some lanes, in the worker; or return the version of its replica.

    Threads of one process have a replica each. One whose walks fail is dropped.
    """
    idle: list[Replica] = kept(task.run_id, list)
    try:
        replica = idle.pop()
    except IndexError:  # not `if idle`: another thread may come between
        if setup is None:
            return ""
        replica = Replica(setup)
    if replica.version != task.version:
        if changes.versions and replica.version not in changes.versions:
            idle.append(replica)
            return replica.version
        replica.follow(changes)
        replica.version = task.version
    replica.batch.sample(task.t, task.i, share=(task.first, task.step))
    part = replica.batch.take(task.i, task.first, task.step)
    idle.append(replica)
    return part


# ---- in the process of the run ---------------------------------------------------------------


def collect(
    jobs: int, run_id: str, setup: Setup, infosets: Infosets, versions: Versions, t: int, i: int
) -> list[Part]:
    """Share the walks of player i among workers of joblib's current backend.

    Raises
    ------
    ImportError
        If joblib is not installed.
    """
    step = workers(jobs, min(setup.settings.batch, LANES))
    waiting = [Task(run_id, versions.current, t, i, first, step) for first in range(step)]
    since, parts = next(reversed(versions.changed), None), []
    while waiting:
        changes = versions.changes(infosets, since)
        call = partial(work, changes=changes, setup=setup if since is None else None)
        answers = map_tasks(jobs, call, waiting, at_once=step)
        parts += [answer for answer in answers if isinstance(answer, Part)]
        behind = [(n, answer) for n, answer in enumerate(answers) if isinstance(answer, str)]
        waiting = [waiting[n] for n, _ in behind]
        since = versions.oldest([version for _, version in behind]) if behind else None
    return parts
