"""Koi-Koi learned by self-play: every learner on the same games, with the same budget.

    python experiments/koikoi_train.py                  everything there is in PLAN
    python experiments/koikoi_train.py --only full      only runs whose name begins so
    python experiments/koikoi_train.py --minutes 1      no run longer than this
    python experiments/koikoi_train.py --jobs 4         the rounds played by four workers

Each run is one learner, game and seed. It is saved every minute under experiments/koikoi/runs;
called again, the script goes on where it stood, with the numbers it would have had. A budget
is in minutes of processor time on one core, what is measured on the way not counted; with
`--jobs`, where others do the work, in minutes by the clock. Workers are joblib's: inside
`joblib.parallel_config("dask")` or `("ray")` they are those of a cluster.

Writes experiments/koikoi_train.json: of every run, at each of some times, how many rounds it
has played and how good it is; and the players of the longest runs as experiments/koikoi/*.npz,
in float16, a mixture of many networks by four of them. Good means, where the game compiles,
exact exploitability; in the full game, points a round won from a greedy player who always
stops. `grown` is what the longest run of the regret learner wins a round from itself as it was
after two minutes, which its networks tell. The times are from one machine: how far a run comes
in a minute is not seeded, what it is after so many iterations is.
"""

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import flat_json
import numpy as np
from tqdm import tqdm

import cfrlib as cfr
from cfrlib.koikoi import KoiKoi, MiniKoiKoi
from cfrlib.koikoi.learners import (
    ESCHER,
    DeepMonteCarlo,
    MMDPolicyGradient,
    NetworkPlayer,
    RobustDeepCFR,
)
from cfrlib.koikoi.players import GreedyPlayer, duel

RESULTS = Path(__file__).with_suffix(".json")
PLAYERS = Path(__file__).with_name("koikoi")
RUNS = PLAYERS / "runs"
GAMES = {"full": KoiKoi, "K10": MiniKoiKoi.K10, "K12": MiniKoiKoi.K12}
TIMES = (0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30, 40, 50, 60)
DEALS = 5_000  # for each measurement in the full game, both ways
SHIPPED, MEASURED = 4, 16  # networks at most in a file, and where a mixture is measured
EVERY = 10  # iterations, from which a network is kept for the average
YOUNG, GROWN_DEALS = 2, 20_000  # minutes of the run that has to beat itself

FULL = {"hidden": (256, 128)}
MINI = {"hidden": (128, 128), "batch": 512}
LEARNERS = {
    "monte carlo": (DeepMonteCarlo, {}, {}),
    "policy gradient": (
        MMDPolicyGradient,
        {"eta": 10.0, "magnet": 0.03},
        {"eta": 2.0, "magnet": 0.1},
    ),
    "regret": (
        ESCHER,
        {"memory": 600_000, "keep_every": EVERY},
        {"steps": 60, "explore": 0.5, "power": 1.0},
    ),
    "traversal": (
        RobustDeepCFR,
        {"batch": 1_024, "memory": 600_000, "keep_every": EVERY},
        {"rounds": 200},
    ),
}  # each with its options in the full game and in a miniature


class Run(NamedTuple):
    """One learner, game and seed, and for how many minutes."""

    game: str
    learner: str
    seed: int
    minutes: float

    @property
    def name(self):
        """What its files are called."""
        return f"{self.game}-{self.learner.replace(' ', '-')}-{self.seed}"

    def begin(self, jobs):
        """Return a new learner."""
        kind, full, mini = LEARNERS[self.learner]
        options = FULL | full if self.game == "full" else MINI | mini
        return kind(GAMES[self.game](), **options, seed=self.seed, jobs=jobs)

    def resume(self, jobs):
        """Return the learner as saved, the seconds it has had, and its curve."""
        log = RUNS / f"{self.name}.json"
        if not log.exists():
            return self.begin(jobs), 0.0, []
        learner = LEARNERS[self.learner][0].load(
            RUNS / f"{self.name}.npz", GAMES[self.game](), jobs=jobs
        )
        known = json.loads(log.read_text())
        return learner, known["seconds"], known["curve"]


AFFORDABLE = ("monte carlo", "policy gradient", "regret")
PLAN = (
    *(Run("full", name, 0, 20) for name in AFFORDABLE),
    Run("full", "traversal", 0, 2),
    *(Run("full", name, seed, 2) for seed in (1, 2) for name in AFFORDABLE),
    *(Run("K10", name, seed, 1) for seed in (0, 1, 2) for name in LEARNERS),
    *(Run("K12", name, 0, 1) for name in AFFORDABLE),
)  # fmt: skip


# ---- one run ---------------------------------------------------------------------------------


def measure(game, learner):
    """Return how good it is: exploitability, or points won from a greedy player."""
    player = learner.player()
    if isinstance(game, MiniKoiKoi):
        return [float(f"{cfr.exploitability(game, player.strategy()):.4g}")]
    found = duel(game, thinned(player, MEASURED), GreedyPlayer(), deals=DEALS, seed=1)
    return [round(found.mean, 3), round(found.error, 3)]


def train(run, limit, jobs):
    """Go on with a run, up to its budget or the limit, and save it every minute."""
    learner, spent, curve = run.resume(jobs)
    clock = time.process_time if jobs is None else time.perf_counter
    minutes = min(run.minutes, limit)
    saved = spent
    with tqdm(total=60 * minutes, initial=round(spent), unit="s", desc=run.name) as bar:
        while spent < 60 * minutes:
            began = clock()
            learner.run(1, progress=False)
            spent += clock() - began
            bar.update(round(spent) - bar.n)
            if look(learner, min(spent / 60, minutes), curve):
                bar.set_postfix_str(f"{curve[-1][3]:+.3f}", refresh=False)
            if spent - saved >= 60 or spent >= 60 * minutes:
                save(run, learner, spent, curve)
                saved = spent


def look(learner, minutes, curve):
    """Measure for all times that have come; return whether there were any."""
    due = [at for at in TIMES if at <= minutes][len(curve) :]
    if not due or learner.iterations < EVERY:
        return False
    row = [learner.iterations * learner.rounds, learner.decisions]
    found = measure(learner.game, learner)
    curve += [[at, *row, *found] for at in due]
    return True


def save(run, learner, spent, curve):
    """Write what is needed to go on."""
    learner.save(RUNS / f"{run.name}.npz")
    about = {"iterations": learner.iterations, "seconds": round(spent, 1), "curve": curve}
    (RUNS / f"{run.name}.json").write_text(json.dumps(about))


# ---- results ---------------------------------------------------------------------------------


def thinned(player, few):
    """Return a player of at most so many of its networks, in the precision of a file.

    With four, those where the shares of the networks before them add up to 1/8, 3/8, 5/8, 7/8.
    """
    few = min(few, len(player.networks))
    places = (np.arange(few) + 0.5) / few
    which = np.searchsorted(np.cumsum(player.weights), places)
    networks = [player.networks[n].astype(np.float16) for n in which]
    return NetworkPlayer(player.game, networks, player.hidden, player.rule)


def grown(learner, then):
    """Return what a mixture of networks wins from itself as it was after some rounds."""
    now, few = learner.player(), then // learner.rounds // EVERY
    young = NetworkPlayer(now.game, now.networks[:few], now.hidden, now.rule, now.weights[:few])
    players = (thinned(player, MEASURED) for player in (now, young))
    found = duel(now.game, *players, deals=GROWN_DEALS, seed=2)
    return [round(found.mean, 3), round(found.error, 3)]


def collect():
    """Write the results of all runs there are, and the players of the first seed."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    curves, growth = {}, known.get("grown", {})
    for run in PLAN:
        if not (RUNS / f"{run.name}.json").exists():
            continue
        entry = json.loads((RUNS / f"{run.name}.json").read_text())
        curves.setdefault(run.game, {}).setdefault(run.learner, {})[str(run.seed)] = entry
        if run.game == "full" and run.seed == 0:
            learner, *_ = run.resume(None)
            thinned(learner.player(), SHIPPED).save(
                PLAYERS / f"{run.learner.replace(' ', '_')}.npz"
            )
            young = [rounds for at, rounds, *_ in entry["curve"] if at == YOUNG]
            fresh = growth.get("iterations") != learner.iterations
            if run.learner == "regret" and young and fresh:
                found = grown(learner, young[0])
                growth = {"iterations": learner.iterations, "points": found}
    columns = ["minutes", "rounds", "decisions", "exploitability or points", "± 95 %"]
    flat_json.write(RESULTS, {"columns": columns, "curves": curves, "grown": growth})


def main():
    """Train whatever is not trained yet."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="runs whose names begin so")
    parser.add_argument("--minutes", type=float, default=np.inf, help="no run longer than this")
    parser.add_argument("--jobs", type=int, help="workers that play the rounds")
    options = parser.parse_args()
    RUNS.mkdir(parents=True, exist_ok=True)
    for run in PLAN:
        if run.name.startswith(options.only):
            train(run, options.minutes, options.jobs)
    collect()


if __name__ == "__main__":
    main()
