"""Compile what the chapters use, so that Numba's cache is warm: `python tools/warm.py`.

Binder runs it once, when it builds the image; readers then wait for no compiler. `make` runs it
before the tests, whose processes would otherwise all compile the same kernels.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from os import cpu_count
from pathlib import Path

import numpy as np

import cfrlib as cfr
from cfrlib.core.compiling import Notice


def walks() -> None:
    """Sample compiled games and games explored on the way."""
    for game in (cfr.games.RockPaperScissors(), cfr.games.KuhnPoker()):
        for sampling in ("chance", cfr.RobustSampling(2, 0.5)):
            for lazy in (None, True):
                cfr.MCCFR(game, sampling=sampling, batch=2, lazy=lazy, seed=0).run(2)


def koikoi() -> None:
    """Play Koi-Koi, and describe it to networks."""
    from cfrlib.koikoi import estimate
    from cfrlib.koikoi.afterstates import Describer
    from cfrlib.koikoi.players import GreedyPlayer, SearchPlayer, duel

    game = cfr.koikoi.KoiKoi()
    estimate(game, 30, seed=0)
    duel(game, GreedyPlayer(), SearchPlayer(2), deals=2, seed=0)
    describer = Describer(game)
    rounds = describer.simulator.deal(2, seed=0)
    describer.see(describer.after(rounds, np.arange(2)).code)


def search() -> None:
    """Search online."""
    for lazy in (None, True):
        player = cfr.OOS(cfr.games.KuhnPoker(), lazy=lazy, seed=0)
        player.search((("Q", "K"), "check", "bet"), iterations=5)


def whole_trees() -> None:
    """Traverse whole trees, measure and save what comes of it."""
    rps, kuhn = cfr.games.RockPaperScissors(), cfr.games.KuhnPoker()
    cfr.regret_matching([2, 0, 1])
    cfr.play(rps, 10)
    cfr.play(rps, 10, opponent=(0.4, 0.3, 0.3), seed=0)
    for game in (rps, kuhn):
        strategy = cfr.solve_lp(game).strategy
        cfr.best_response(game, strategy, 0)
        cfr.exploitability(game, strategy)
        for update in cfr.cfr.UPDATES:
            cfr.solve(game, "cfr", 10, update=update)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        cfr.CFR(kuhn).run(10).save(path)
        cfr.CFR.load(path, kuhn).run(10)


def networks() -> None:
    """Remember what walks tell, for networks to learn."""
    cfr.deep.DeepCFR(cfr.games.KuhnPoker(), traversals=2, seed=0).run(1, progress=False)


def fonts() -> None:
    """List the fonts for Matplotlib, which also happens only once."""
    import matplotlib.font_manager

    assert matplotlib.font_manager


# Two of them compile hardly anything in common. The longest come first.
PARTS = (walks, koikoi, search, whole_trees, networks, fonts)


def be_quiet() -> None:
    """Do not tell in each process that Numba compiles: `main` says it."""
    Notice.on_start = Notice.on_end  # type: ignore[method-assign]


def timed(part: Callable[[], None]) -> float:
    """Return how many seconds a part took."""
    began = time.perf_counter()
    part()
    return time.perf_counter() - began


def main() -> None:
    """Call every compiled function once, with the types that the chapters call it with."""
    print("Compiling for this processor: once, then the result is kept.", flush=True)
    workers = min(cpu_count() or 1, len(PARTS))
    with ProcessPoolExecutor(workers, get_context("spawn"), be_quiet) as processes:
        running = {processes.submit(timed, part): part for part in PARTS}
        for part in as_completed(running):
            done = (running[part].__doc__ or "").rstrip(".")
            print(f"  {part.result():5.1f} s  {done}", flush=True)


if __name__ == "__main__":
    main()
