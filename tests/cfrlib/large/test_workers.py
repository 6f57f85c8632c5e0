"""Batches shared on a cluster lead to the same numbers; workers, and what they keep."""

import pickle
import sys

import joblib
import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.large import workers


def same(a, b):
    """Whether two runs hold the same numbers, bit for bit."""
    mine, theirs = a._state(), b._state()
    return mine.keys() == theirs.keys() and all(
        np.array_equal(mine[name], theirs[name]) for name in mine
    )


@pytest.fixture(scope="module")
def leduc():
    return cfr.games.LeducPoker()


def test_small_batches_are_not_shared(leduc):
    run = cfr.MCCFR(leduc, batch=10, threads=4, seed=0).run(20)
    assert "_pool" not in run.__dict__


def test_processes_on_a_compiled_game_are_refused(leduc):
    with pytest.raises(ValueError, match=r"LeducPoker.* compiles; share .* threads="):
        cfr.MCCFR(leduc, jobs=2)


@pytest.mark.slow
def test_runs_do_not_depend_on_a_cluster(leduc):
    import dask
    from distributed import Client, LocalCluster

    patience = {
        f"distributed.comm.timeouts.{what}": "20 minutes" for what in ("connect", "tcp")
    }
    options = {"variant": "cfr+", "sampling": cfr.RobustSampling(2), "batch": 100, "seed": 3}
    dice = cfr.games.LiarsDice(3)
    games = [leduc, dice]  # rules in Python, and rules that compile
    alone, shared = (
        [cfr.MCCFR(game, on_demand=True, **options, **more) for game in games]
        for more in ({"threads": 1}, {"jobs": -1})
    )
    with dask.config.set(patience):
        two = {"n_workers": 2, "threads_per_worker": 1, "processes": True}
        cluster = LocalCluster(**two, dashboard_address=None)
        with cluster, Client(cluster) as client, joblib.parallel_config("dask"):
            assert len(client.run(lambda: None)) == 2  # two processes answered
            for run in shared:
                run.run(10)
    for one, other in zip(alone, shared, strict=True):
        assert same(one.run(10), other)


def test_worker_keeps_what_the_last_runs_need():
    made = [workers.cached_for_run(f"run {n}", list) for n in range(workers.CACHE_SIZE + 3)]
    last = f"run {workers.CACHE_SIZE + 2}"
    assert workers.cached_for_run(last, list) is made[-1]
    assert len(workers._cached) == workers.CACHE_SIZE


def test_pickled_game_has_no_memo(leduc):
    cfr.solve(leduc, iterations=1)
    copy = pickle.loads(pickle.dumps(leduc))
    assert repr(copy) == repr(leduc)
    assert "_memo" in set(vars(leduc)) - set(vars(copy))
    assert cfr.compile(copy) is not cfr.compile(leduc)
    assert cfr.compile(copy).infoset_label == cfr.compile(leduc).infoset_label


def test_error_without_joblib_says_how_to_install_it(leduc, monkeypatch):
    monkeypatch.setitem(sys.modules, "joblib", None)
    with pytest.raises(ImportError, match="pip install joblib"):
        cfr.MCCFR(leduc, batch=4, jobs=2, on_demand=True).run(1)


@pytest.mark.parametrize("options", [{"jobs": 0}, {"jobs": -2}, {"jobs": 1.5}])
def test_invalid_jobs_are_refused(leduc, options):
    with pytest.raises(ValueError, match="jobs must be"):
        cfr.MCCFR(leduc, **options)
