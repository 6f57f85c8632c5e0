"""Tests of the limits of a run: iterations, `until` and `seconds`; the first one wins."""

import itertools
import re
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

import cfrlib as cfr
import cfrlib.run as run_module


@pytest.mark.parametrize(("variant", "until"), [("cfr", 1e-2), ("cfr+", 1e-4), ("pcfr+", 1e-9)])
def test_until_stops_at_the_given_exploitability(kuhn, variant, until):
    solution = cfr.solve(kuhn, variant, until=until)
    assert solution.exploitability <= until
    assert cfr.exploitability(kuhn, solution.strategy) == solution.exploitability
    earlier = solution.iterations * 20 // 21 - 1  # the previous checkpoint
    assert cfr.solve(kuhn, variant, earlier).exploitability > until


def test_until_already_reached_runs_one_iteration(kuhn):
    run = cfr.CFR(kuhn, "cfr+").run(1_000)
    assert run.run(until=0.1).iterations == 1_001


def test_run_ends_at_the_first_limit(kuhn):
    with pytest.warns(RuntimeWarning, match=r"until=1e-12 was not reached in 50 iterations"):
        assert cfr.solve(kuhn, "cfr", 50, until=1e-12).iterations == 50
    assert cfr.solve(kuhn, "cfr", 50, seconds=3_600).iterations == 50
    assert cfr.solve(kuhn, "cfr", 10_000, until=1e-2, seconds=3_600).iterations < 100
    assert cfr.solve(kuhn, "cfr").iterations == 1_000


def test_until_without_other_limits_gives_up(kuhn, monkeypatch):
    monkeypatch.setattr(run_module, "PATIENCE", 200)
    with pytest.warns(RuntimeWarning, match="another variant"):
        assert cfr.solve(kuhn, until=1e-9).iterations == 200


def test_seconds_limit_ends_a_run(kuhn, monkeypatch):
    """Use a clock that advances a millisecond at each reading."""
    reads = itertools.count()
    monkeypatch.setattr(run_module.time, "perf_counter", lambda: next(reads) / 1_000)
    run = cfr.CFR(kuhn).run(seconds=0.05)
    assert 50 <= next(reads) < 70
    assert run.iterations > 1
    assert cfr.CFR(kuhn).run(run.iterations).average.max_difference(run.average) == 0


@pytest.mark.slow
def test_progress_bar_shows_the_limits(kuhn, capsys, monkeypatch):
    monkeypatch.setattr(run_module, "BAR_DELAY", 0.0)
    cfr.CFR(kuhn).run(seconds=0.3)
    assert "of 0.3 s" in capsys.readouterr().err
    with pytest.warns(RuntimeWarning, match="not reached"):
        cfr.solve(kuhn, "cfr", until=1e-9, seconds=0.4)
    shown = capsys.readouterr().err
    assert re.search(r"exploitability \d\.\d\de-\d\d → 1e-09, \d+ of 0.4 s", shown)
    assert "%" not in shown  # the number of iterations is unknown


@pytest.mark.parametrize("limit", ["until", "seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_non_positive_limit_raises(kuhn, limit, value):
    with pytest.raises(ValueError, match=f"{limit} must be a number above 0"):
        cfr.solve(kuhn, **{limit: value})


def test_only_one_thread_at_a_time_advances_a_run(kuhn):
    """Two threads would mix their iterations and lose some. Other threads' runs are free."""
    started, go_on = threading.Event(), threading.Event()

    class Waiting(cfr.CFR):
        def _advance(self, count, interrupted=()):
            started.set()
            go_on.wait(60)
            super()._advance(count, interrupted)

    run = Waiting(kuhn)
    thread = threading.Thread(target=run.run, args=(5,))
    thread.start()
    assert started.wait(60)
    with pytest.raises(RuntimeError, match=r"another thread is advancing .*run\.copy"):
        run.run(5)
    assert cfr.CFR(kuhn).run(5).iterations == 5
    go_on.set()
    thread.join()
    assert run.run(5).iterations == 10


def test_a_search_is_for_one_thread(kuhn, monkeypatch):
    player = cfr.OOS(kuhn, seed=0)
    monkeypatch.setitem(run_module._advancing, id(player), -1)  # as if a thread were searching
    with pytest.raises(RuntimeError, match="another thread"):
        player.search(iterations=1)


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_interrupted_run_is_free_again(kuhn, monkeypatch, error):
    run = cfr.CFR(kuhn)
    with monkeypatch.context() as patch:
        patch.setattr(run, "_advance", lambda *_: (_ for _ in ()).throw(error))
        with pytest.raises(error):
            run.run(5)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run.run, 5).result().iterations == 5
