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
from concurrent.futures import Executor
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cfrlib.core.tree import Floats, Ints
from cfrlib.game import Action, Game
from cfrlib.large.batch import RulesBatch
from cfrlib.large.tables import (
    INFOSETS,
    SEQUENCES,
    Infosets,
    Int64s,
    Known,
    clear_infosets,
    fill_slots,
    known_of,
)
from cfrlib.large.workers import allow_memory, cached_for_run, map_tasks, workers
from cfrlib.montecarlo.schemes import Sampling
from cfrlib.montecarlo.tree_records import Records
from cfrlib.montecarlo.updates import Settings

Setup: TypeAlias = "tuple[Game, Mapping[Action, float] | None, Sampling, Settings, bool]"


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
    """

    versions: tuple[str, ...]
    numbers: Ints
    infosets: Records
    keys: Int64s
    sigma: Floats
    baseline: Floats


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
        versions = list(self.changed)
        numbers: Ints = np.arange(infosets.num_infosets, dtype=np.int32)
        if since is not None:
            versions = versions[versions.index(since) :]
            numbers = np.unique(np.concatenate([self.changed[each][1] for each in versions]))
        q = sequences_at(infosets.infosets, numbers)
        return Changes(
            (*versions, self.current) if since is not None else (),
            numbers,
            infosets.infosets[numbers],
            infosets.known.keys[0, numbers],
            infosets.sigma[q],
            infosets.baseline[:, q if infosets.extent.learners else slice(0)],
        )


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


class Share(NamedTuple):
    """The sums of some lanes of a batch, on their way from one process to another.

    Attributes
    ----------
    lanes : list of (int, Known)
        Lanes with their numbers.
    new : list of (str, int, tuple, tuple or None)
        For rules in Python: label, player and actions of infosets that this process met first,
        and the actions before one of their histories, if it is kept.
    """

    lanes: list[tuple[int, Known]]
    new: list[tuple[str, int, tuple[Action, ...], tuple[Action, ...] | None]]


# The arrays that walks in another process write, by what their length counts.
OF_INFOSETS = ("keys", "number", "states", "infosets", "sums")
OF_SEQUENCES = ("owner", "sampled_regret")


def parts_of(lane: Known) -> list[Any]:
    """Return the part of each array of a lane that is in use; of some, none."""
    n, q = (int(size) for size in lane.size[: SEQUENCES + 1])
    ends = dict.fromkeys(OF_INFOSETS, n) | dict.fromkeys(OF_SEQUENCES, q)
    used = {name: getattr(lane, name)[:end] for name, end in ends.items()}
    used |= {"estimates": lane.estimates[:, :q], "size": lane.size, "counts": lane.counts}
    return [used.get(name, getattr(lane, name)[..., :0]) for name in lane._fields]


def take_lane(own: Known, n: int) -> Known:
    """Return the sums of lane n as arrays of their own, without room, and forget the lane."""
    lane = known_of(own, n)
    taken = Known._make(part.copy() for part in parts_of(lane))
    clear_infosets(lane)
    return taken


def put_lane(own: Known, n: int, taken: Known) -> None:
    """Write the sums of a lane from another process to lane n, which is empty and has room."""
    lane = known_of(own, n)
    lane.size[:] = taken.size
    for to, part in zip(parts_of(lane), taken, strict=True):
        to[...] = part


def sequences_at(infosets: Records, touched: Ints) -> Ints:
    """Return the sequences of some infosets."""
    start, count = infosets.start[touched], (infosets.stop - infosets.start)[touched]
    skip = np.repeat(start - np.concatenate(([0], np.cumsum(count)[:-1])), count)
    sequences: Ints = (skip + np.arange(len(skip))).astype(np.int32)
    return sequences


# ---- in a worker -----------------------------------------------------------------------------


class Replica:
    """A worker's copy of the current strategy, and its lanes."""

    def __init__(self, setup: Setup):
        allow_memory()
        self.batch = RulesBatch(*setup)
        self.version = ""

    def follow(self, changes: Changes) -> None:
        """Copy the strategy where it changed."""
        infosets, numbers = self.batch.tree, changes.numbers
        n = infosets.num_infosets
        total = max(n, int(numbers[-1]) + 1 if len(numbers) else 0)
        stop = int(changes.infosets["stop"].max(initial=infosets.num_sequences))
        infosets.make_room(total - n, stop - infosets.num_sequences)
        known = known_of(infosets.known, 0)
        known.infosets[numbers] = changes.infosets
        q = sequences_at(known.infosets, numbers)
        infosets.sigma[q] = changes.sigma
        known.size[INFOSETS], known.size[SEQUENCES] = total, stop
        if infosets.extent.learners:
            known.baseline[:, q] = changes.baseline
        known.keys[numbers] = changes.keys
        fill_slots(known.keys, known.slots, total, n)

    def take(self, i: int, first: int, step: int) -> Share:
        """Return the sums of player i's lanes first, first + step, …, and clear them."""
        batch = self.batch
        shift = 0 if batch.settings.alternating else batch.lanes * i
        lanes = range(first + shift, batch.lanes + shift, step)
        news = batch.rules.news() if batch.rules.in_python else []
        return Share([(n, take_lane(batch.own, n)) for n in lanes], news)


def work(task: Task, changes: Changes, setup: Setup | None) -> Share | str:
    """Run the walks of some lanes, in the worker; or return the version of its replica.

    Threads of one process have a replica each. One whose walks fail is dropped.
    """
    idle: list[Replica] = cached_for_run(task.run_id, list)
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
    replica.batch.sample_share(task.t, task.i, task.first, task.step)
    part = replica.take(task.i, task.first, task.step)
    idle.append(replica)
    return part


# ---- in the process of the run ---------------------------------------------------------------


class SharedBatch(RulesBatch):
    """Lanes whose walks are run by other processes.

    Parameters
    ----------
    jobs : int
        As for :class:`cfrlib.MCCFR`.
    setup : tuple
        The arguments of `RulesBatch`.
    """

    one_by_one = True

    def __init__(self, jobs: int, setup: Setup):
        super().__init__(*setup)
        self.jobs, self.setup = jobs, setup
        self.start_afresh()

    def start_afresh(self) -> None:
        """Let workers forget what they know of the run."""
        self.run_id, self.versions = uuid.uuid4().hex, Versions()

    def sample(self, t: int, i: int, threads: int = 1, pool: Executor | None = None) -> None:
        """Run player i's walks. If one fails, none counts, and a retry repeats them all."""
        try:
            for part in self.collect(t, i):
                self.add(part)
        except BaseException:  # also a worker that is lost
            self.discard()
            raise

    def collect(self, t: int, i: int) -> list[Share]:
        """Share the walks of player i among workers of joblib's current backend.

        Raises
        ------
        ImportError
            If joblib is not installed.
        """
        versions, step = self.versions, workers(self.jobs, self.lanes)
        waiting = [
            Task(self.run_id, versions.current, t, i, first, step) for first in range(step)
        ]
        since, parts = next(reversed(versions.changed), None), []
        while waiting:
            changes = versions.changes(self.tree, since)
            call = partial(work, changes=changes, setup=self.setup if since is None else None)
            answers = map_tasks(self.jobs, call, waiting, at_once=step)
            parts += [answer for answer in answers if isinstance(answer, Share)]
            behind = [
                (n, answer) for n, answer in enumerate(answers) if isinstance(answer, str)
            ]
            waiting = [waiting[n] for n, _ in behind]
            since = versions.oldest([version for _, version in behind]) if behind else None
        return parts

    def add(self, part: Share) -> None:
        """Take over sums from another process."""
        if part.new:
            self.rules.add(part.new)
        for n, lane in part.lanes:
            self.make_room(*lane.size[: SEQUENCES + 1].tolist())
            put_lane(self.own, n, lane)

    def enter(self, i: int) -> None:
        """Enter the infosets met; write down what the batch is about to change."""
        before = self.tree.num_infosets
        super().enter(i)
        self.versions.record(self.tree, self.touched, before, i)

    def apply(self, i: int, threads: int = 1, pool: Executor | None = None) -> None:
        """Update the tables of player i, or with i = -1 of all, in this process alone."""
        super().apply(i)

    def discard(self) -> None:
        """Discard all walks since the last update."""
        super().discard()
        self.start_afresh()

    def copy(self) -> SharedBatch:
        """Return an independent copy, whose lanes are empty."""
        other = super().copy()
        assert isinstance(other, SharedBatch)
        other.start_afresh()
        return other
