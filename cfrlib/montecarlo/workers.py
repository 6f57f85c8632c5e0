"""Batches shared among processes, here or on other machines, through joblib.

A task holds the game, the current strategy and the numbers of its lanes; its result is the sums
of these lanes. Each worker compiles a game once and caches it. Results are added to the lanes
they belong to, so the numbers are the same as those of one process. For games too large to
compile see :mod:`cfrlib.montecarlo.replicas`.
"""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import parent_process
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cfrlib.core.tree import Floats, Ints, compile
from cfrlib.game import Action, Game
from cfrlib.montecarlo.partial_tree import PartialTree, Records, TreeArrays
from cfrlib.montecarlo.updates import (
    Lanes,
    Settings,
    Tables,
    new_lanes,
    new_tables,
    sample_batch,
)

CACHE_SIZE = 4  # games that a worker keeps
T = TypeVar("T")  # task
R = TypeVar("R")  # its result


class Task(NamedTuple):
    """The walks of one worker.

    Attributes
    ----------
    run_id : str
        Identifies the run, and so the game, the proposal and the sizes of lanes.
    game, proposal
        As for :class:`cfrlib.MCCFR`.
    settings : Settings
    sizes : tuple
        Arguments of :func:`cfrlib.montecarlo.updates.new_lanes` after the number of lanes.
    lanes, first, step : int
        The number of lanes of the batch; this task is for lanes first, first + step, ….
    t, i : int
        The iteration and the traverser.
    """

    run_id: str
    game: Game
    proposal: Mapping[Action, float] | None
    settings: Settings
    sizes: tuple[Any, ...]
    lanes: int
    first: int
    step: int
    t: int
    i: int


class Result(NamedTuple):
    """The sums of one lane, at the infosets it touched."""

    lane: int
    touched: Ints
    mass: Floats
    sampled_regret: Floats
    estimates: Floats
    nodes: int


_kept: dict[str, Any] = {}


def kept(run_id: str, make: Callable[[], R]) -> R:
    """Return what a worker needs for all tasks of a run; it keeps that of the last few runs."""
    if run_id not in _kept:
        while len(_kept) >= CACHE_SIZE:
            del _kept[next(iter(_kept))]
        _kept[run_id] = make()
    result: R = _kept[run_id]
    return result


def work(task: Task, sigma: Floats, baseline: Floats) -> list[Result]:
    """Run the walks of some lanes, in the worker."""

    def make() -> tuple[TreeArrays, Lanes, Tables]:
        tree = PartialTree.of(compile(task.game), task.proposal)
        lanes, tables = new_lanes(task.lanes, *task.sizes), new_tables(tree, baseline=False)
        return tree.arrays, lanes, tables

    arrays, lanes, tables = kept(task.run_id, make)
    tables.table.sigma[:] = sigma
    tables = tables._replace(baseline=baseline)
    sample_batch(arrays, tables, task.settings, lanes, task.t, task.i, task.first, task.step)
    return [
        _extract(arrays.infosets, lanes, n) for n in range(task.first, task.lanes, task.step)
    ]


def add_result(infosets: Records, lanes: Lanes, result: Result) -> None:
    """Add the sums of a lane from another process to the lane here."""
    n, touched, sums = result.lane, result.touched, lanes.sums
    q = sequences_of(infosets, touched)
    new = touched[~sums.is_touched[n, touched]]
    before = lanes.counts[n, 0]
    sums.touched[n, before : before + len(new)] = new
    sums.is_touched[n, new] = True
    sums.mass[n, touched] += result.mass
    lanes.sampled_regret[n, q] += result.sampled_regret
    if lanes.estimates.shape[2]:
        lanes.estimates[n][:, q] += result.estimates
    lanes.counts[n, :2] += len(new), result.nodes


def _extract(infosets: Records, lanes: Lanes, n: int) -> Result:
    """Return the sums of one lane, and reset them."""
    count, nodes = lanes.counts[n, :2]
    touched = lanes.sums.touched[n, :count].copy()
    q = sequences_of(infosets, touched)
    estimates = lanes.estimates[n][:, q] if lanes.estimates.shape[2] else lanes.estimates[n]
    mass, sampled_regret = lanes.sums.mass[n, touched], lanes.sampled_regret[n, q]
    result = Result(n, touched, mass, sampled_regret, estimates, int(nodes))
    lanes.sums.is_touched[n, touched], lanes.sums.mass[n, touched] = False, 0.0
    lanes.sampled_regret[n, q], lanes.counts[n] = 0.0, 0
    if lanes.estimates.shape[2]:
        lanes.estimates[n][:, q] = 0.0
    return result


def sequences_of(infosets: Records, touched: Ints) -> Ints:
    """Return the sequences of some infosets."""
    start, count = infosets.start[touched], (infosets.stop - infosets.start)[touched]
    skip = np.repeat(start - np.concatenate(([0], np.cumsum(count)[:-1])), count)
    sequences: Ints = (skip + np.arange(len(skip))).astype(np.int32)
    return sequences


def collect(jobs: int, task: Task, sigma: Floats, baseline: Floats) -> Iterator[Result]:
    """Share the lanes of `task` among workers of joblib's current backend.

    Raises
    ------
    ImportError
        If joblib is not installed.
    """
    step = workers(jobs, task.lanes)
    tasks = [task._replace(first=first, step=step) for first in range(step)]
    for results in map_tasks(jobs, partial(work, sigma=sigma, baseline=baseline), tasks):
        yield from results


def workers(jobs: int, most: int) -> int:
    """Return the number of workers, at most `most`.

    Raises
    ------
    ImportError
        If joblib is not installed.
    """
    return min(int(_joblib().effective_n_jobs(jobs)), most)


def map_tasks(
    jobs: int, call: Callable[[T], R], tasks: Sequence[T], at_once: int | None = None
) -> list[R]:
    """Share calls among workers of joblib's current backend; return the results in order.

    `at_once` is the number of workers, by default at most the number of tasks.

    Raises
    ------
    ImportError
        If joblib is not installed.
    """
    joblib = _joblib()
    parallel = joblib.Parallel(n_jobs=at_once or workers(jobs, len(tasks)))
    results: list[R] = parallel(
        joblib.delayed(_ignoring_interrupts)(call, task) for task in tasks
    )
    return results


def _ignoring_interrupts(call: Callable[[T], R], task: T) -> R:
    """Call in a worker that leaves Ctrl-C to its parent process.

    A terminal sends Ctrl-C to the whole process group. A worker that handled it would stop, at
    once or while it waits for the next task, and joblib would report a crash.
    """
    if parent_process() and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return call(task)


def allow_memory() -> None:
    """Let a process of joblib keep a large copy of a run's strategy.

    joblib replaces a process that holds 300 MB more than after its first task, as if it leaked,
    and the next one would have to be sent the whole strategy.
    """
    loky: Any = sys.modules.get("joblib.externals.loky.process_executor")
    if loky is not None:
        loky._MAX_MEMORY_LEAK_SIZE = sys.maxsize


def _joblib() -> Any:
    try:
        import joblib
    except ImportError:
        raise ImportError(
            "jobs= needs joblib, which is not installed; run: pip install joblib "
            "(threads= needs no other package)"
        ) from None
    return joblib
