"""Compile what the chapters use, so that Numba's cache is warm: `python tools/warm.py`.

Binder runs it once, when it builds the image; readers then wait for no compiler.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import matplotlib.font_manager  # its cache of fonts, too
import numpy as np

import cfrlib as cfr
from cfrlib.games.koikoi import estimate
from cfrlib.games.koikoi.features import Describer
from cfrlib.games.koikoi.players import GreedyPlayer, SearchPlayer, duel


def main() -> None:
    """Call every compiled function once, with the types that the chapters call it with."""
    assert matplotlib.font_manager
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
        for sampling in ("chance", cfr.Robust(2, 0.5)):
            for lazy in (None, True):
                cfr.MCCFR(game, sampling=sampling, batch=2, lazy=lazy, seed=0).run(2)
    for lazy in (None, True):
        cfr.OOS(kuhn, lazy=lazy, seed=0).search((("Q", "K"), "check", "bet"), iterations=5)
    cfr.deep.DeepCFR(kuhn, traversals=2, seed=0).run(1)
    koikoi = cfr.games.KoiKoi()
    estimate(koikoi, 30, seed=0)
    duel(koikoi, GreedyPlayer(), SearchPlayer(2), deals=2, seed=0)
    describer = Describer(koikoi)
    rounds = describer.simulator.deal(2, seed=0)
    describer.see(describer.after(rounds, np.arange(2)).code)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "run.npz"
        cfr.CFR(kuhn).run(10).save(path)
        cfr.CFR.load(path, kuhn).run(10)


if __name__ == "__main__":
    main()
