"""Fill Numba's cache with the kernels that the chapters use: `python tools/warm.py`.

Binder runs this once when it builds the image, so readers do not wait for the compiler. `make`
runs it before the tests, whose processes would otherwise all compile the same kernels.
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


def sampling() -> None:
    """Sample compiled games and games expanded on demand."""
    for game in (cfr.games.RockPaperScissors(), cfr.games.KuhnPoker()):
        for scheme in ("chance", cfr.RobustSampling(2, 0.5)):
            for on_demand in (None, True):
                cfr.MCCFR(game, sampling=scheme, batch=2, on_demand=on_demand, seed=0).run(2)


def certificates() -> None:
    """Certify estimates of regrets, and compute inclusion probabilities."""
    cfr.certify("external", cfr.games.KuhnPoker())
    cfr.inclusion_probabilities([0.5, 0.25, 0.25], 2)


def koikoi() -> None:
    """Play Koi-Koi and encode its states for networks."""
    from koikoi import KoiKoi, estimate
    from koikoi.afterstates import Describer
    from koikoi.players import GreedyPlayer, SearchPlayer
    from koikoi.simulator import Simulator

    game = KoiKoi()
    estimate(game, 30, seed=0)
    cfr.match(Simulator(game), GreedyPlayer(), SearchPlayer(2), 2, seed=0)
    describer = Describer(game)
    rounds = describer.simulator.deal(2, seed=0)
    describer.see(describer.after(rounds, np.arange(2)).code)


def search() -> None:
    """Search online."""
    for on_demand in (None, True):
        player = cfr.OOS(cfr.games.KuhnPoker(), on_demand=on_demand, seed=0)
        player.search((("Q", "K"), "check", "bet"), iterations=5)
    cfr.MCCFR(cfr.games.LiarsDice(6, 2), on_demand=True, seed=0).run(1)


def whole_trees() -> None:
    """Solve whole trees, evaluate and save the solutions."""
    rps, kuhn = cfr.games.RockPaperScissors(), cfr.games.KuhnPoker()
    leduc = cfr.games.LeducPoker()
    cfr.regret_matching([2, 0, 1])
    cfr.play(rps, 10)
    cfr.play(rps, 10, opponent=(0.4, 0.3, 0.3), seed=0)
    for game in (rps, kuhn, leduc):
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
    """Train Deep CFR for one iteration."""
    cfr.deep.DeepCFR(cfr.games.KuhnPoker(), traversals=2, seed=0).run(1, progress=False)


def fonts() -> None:
    """Build Matplotlib's font cache, which also happens only once."""
    import matplotlib.font_manager

    assert matplotlib.font_manager


# These share hardly any kernels, so they run in parallel, longest first.
PARTS = (sampling, certificates, koikoi, search, whole_trees, networks, fonts)


def be_quiet() -> None:
    """Suppress the notice that Numba compiles: `main` prints it once."""
    Notice.on_start = Notice.on_end  # type: ignore[method-assign]


def timed(part: Callable[[], None]) -> float:
    """Run a part; return its seconds."""
    began = time.perf_counter()
    part()
    return time.perf_counter() - began


def main() -> None:
    """Call every compiled function once, with the argument types that the chapters use."""
    print("Compiling for this processor, once: the result is cached.", flush=True)
    workers = min(cpu_count() or 1, len(PARTS))
    with ProcessPoolExecutor(workers, get_context("spawn"), be_quiet) as processes:
        running = {processes.submit(timed, part): part for part in PARTS}
        for part in as_completed(running):
            done = (running[part].__doc__ or "").rstrip(".")
            print(f"  {part.result():5.1f} s  {done}", flush=True)


if __name__ == "__main__":
    main()
