"""Shares of a batch taken by other processes, here or on other machines, through joblib.

A task carries the rules of the game, the current strategy and which lanes to walk; its answer
is what the lanes add up. Each worker compiles a game once and keeps it. Lanes are put back
where they belong, so the numbers are those of one process.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import parent_process
from typing import Any, NamedTuple, TypeVar

import numpy as np

from cfrlib.core.tree import Floats, Ints, compile
from cfrlib.game import Action, Game
from cfrlib.montecarlo.partial_tree import PartialTree, Records, TreeArrays
from cfrlib.montecarlo.updates import Lanes, Settings, Tables, new_lanes, new_tables, sample

KEPT = 4  # games a worker remembers
T = TypeVar("T")  # a task
A = TypeVar("A")  # its answer


class Task(NamedTuple):
    """The walks that one worker takes.

    Attributes
    ----------
    token : str
        Names the run: the same game, proposal and sizes of lanes.
    game, proposal
        The rules.
    settings : Settings
    sizes : tuple
        Arguments of :func:`cfrlib.montecarlo.updates.new_lanes`, but for the number of lanes.
    lanes, first, step : int
        How many lanes the batch has, and that first, first + step, … are asked for.
    t, i : int
        The iteration and the traverser.
    """

    token: str
    game: Game
    proposal: Mapping[Action, float] | None
    settings: Settings
    sizes: tuple[Any, ...]
    lanes: int
    first: int
    step: int
    t: int
    i: int


class Answer(NamedTuple):
    """The sums of one lane, at the infosets it touched."""

    lane: int
    touched: Ints
    mass: Floats
    gain: Floats
    told: Floats
    nodes: int


_kept: dict[str, tuple[TreeArrays, Lanes, Tables]] = {}


def work(task: Task, sigma: Floats, baseline: Floats) -> list[Answer]:
    """Take the walks of some lanes; runs in the worker."""
    if task.token not in _kept:
        while len(_kept) >= KEPT:
            del _kept[next(iter(_kept))]
        tree = PartialTree.of(compile(task.game), task.proposal)
        lanes, tables = new_lanes(task.lanes, *task.sizes), new_tables(tree, baseline=False)
        _kept[task.token] = tree.arrays, lanes, tables
    arrays, lanes, tables = _kept[task.token]
    tables.table.sigma[:] = sigma
    tables = tables._replace(baseline=baseline)
    sample(arrays, tables, task.settings, lanes, task.t, task.i, task.first, task.step)
    return [_take(arrays.infosets, lanes, n) for n in range(task.first, task.lanes, task.step)]


def put(infosets: Records, lanes: Lanes, answer: Answer) -> None:
    """Add the sums of a lane that another process walked to those it has here."""
    n, touched, sums = answer.lane, answer.touched, lanes.sums
    q = _sequences(infosets, touched)
    new = touched[~sums.is_touched[n, touched]]
    before = lanes.counts[n, 0]
    sums.touched[n, before : before + len(new)] = new
    sums.is_touched[n, new] = True
    sums.mass[n, touched] += answer.mass
    lanes.gain[n, q] += answer.gain
    if lanes.told.shape[2]:
        lanes.told[n][:, q] += answer.told
    lanes.counts[n, :2] += len(new), answer.nodes


def _take(infosets: Records, lanes: Lanes, n: int) -> Answer:
    """Return the sums of one lane, and clear it."""
    count, nodes = lanes.counts[n, :2]
    touched = lanes.sums.touched[n, :count].copy()
    q = _sequences(infosets, touched)
    told = lanes.told[n][:, q] if lanes.told.shape[2] else lanes.told[n]
    answer = Answer(n, touched, lanes.sums.mass[n, touched], lanes.gain[n, q], told, int(nodes))
    lanes.sums.is_touched[n, touched], lanes.sums.mass[n, touched] = False, 0.0
    lanes.gain[n, q], lanes.counts[n] = 0.0, 0
    if lanes.told.shape[2]:
        lanes.told[n][:, q] = 0.0
    return answer


def _sequences(infosets: Records, touched: Ints) -> Ints:
    """Return the sequences of some infosets."""
    start, count = infosets.start[touched], (infosets.stop - infosets.start)[touched]
    skip = np.repeat(start - np.concatenate(([0], np.cumsum(count)[:-1])), count)
    sequences: Ints = (skip + np.arange(len(skip))).astype(np.int32)
    return sequences


def ask(jobs: int, task: Task, sigma: Floats, baseline: Floats) -> Iterator[Answer]:
    """Share the lanes of `task` out to so many workers of joblib's current backend.

    Raises
    ------
    ImportError
        If joblib is not installed.
    """
    step = workers(jobs, task.lanes)
    tasks = [task._replace(first=first, step=step) for first in range(step)]
    for answers in spread(jobs, partial(work, sigma=sigma, baseline=baseline), tasks):
        yield from answers


def workers(jobs: int, most: int) -> int:
    """Return how many workers there will be, at most so many.

    Raises
    ------
    ImportError
        If joblib is not installed.
    """
    return min(int(_joblib().effective_n_jobs(jobs)), most)


def spread(jobs: int, call: Callable[[T], A], tasks: Sequence[T]) -> list[A]:
    """Share calls out to workers of joblib's current backend; return the answers in order.

    Raises
    ------
    ImportError
        If joblib is not installed.
    """
    joblib = _joblib()
    parallel = joblib.Parallel(n_jobs=workers(jobs, len(tasks)))
    answers: list[A] = parallel(joblib.delayed(_undisturbed)(call, task) for task in tasks)
    return answers


def _undisturbed(call: Callable[[T], A], task: T) -> A:
    """Call in a worker, which leaves Ctrl-C to the process that waits for it.

    A terminal interrupts the whole group. A worker that heard of it would break off, at once or
    while it waits for the next task, and joblib would take that for a crash.
    """
    if parent_process() and threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    return call(task)


def _joblib() -> Any:
    try:
        import joblib
    except ImportError:
        raise ImportError(
            "jobs= needs joblib, which is not installed; run: pip install joblib "
            "(threads= needs nothing more)"
        ) from None
    return joblib
