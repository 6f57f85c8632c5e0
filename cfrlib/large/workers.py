"""Calls shared among processes, here or on other machines, through joblib."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Sequence
from multiprocessing import parent_process
from typing import Any, TypeVar

CACHE_SIZE = 4  # runs of which a worker keeps what it needs
T = TypeVar("T")  # task
R = TypeVar("R")  # its result


_cached: dict[str, Any] = {}


def cached_for_run(run_id: str, make: Callable[[], R]) -> R:
    """Return what a worker needs for all tasks of a run; it keeps that of the last few runs."""
    if run_id not in _cached:
        while len(_cached) >= CACHE_SIZE:
            del _cached[next(iter(_cached))]
        _cached[run_id] = make()
    result: R = _cached[run_id]
    return result


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
