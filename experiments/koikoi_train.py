"""Train every Koi-Koi learner on the same games with the same budget.

    python experiments/koikoi_train.py                  all runs of PLAN
    python experiments/koikoi_train.py --only full      only runs whose name starts like this
    python experiments/koikoi_train.py --minutes 1      no run longer than this
    python experiments/koikoi_train.py --jobs 4         four workers play the rounds

A run is one learner, game and seed. It is saved every minute under
experiments/koikoi_players/runs; the script resumes it exactly. Networks run on the device that
JAX finds, an accelerator if there is one; the script prints it, and `devices` lists those a run
has used. Budgets are minutes of processor time on one core, without the measurements; with
`--jobs` or an accelerator they are minutes of wall-clock time. Workers are joblib's: inside
`joblib.parallel_config("dask")` or `("ray")` they are those of a cluster.

Writes experiments/koikoi_train.json: the rounds played and the performance of every run at
some times. Results of runs that were made elsewhere are kept. Also writes the players of the
runs of the full game to experiments/koikoi_players/*.npz, in float16, with mixtures of many
networks reduced to four. Performance is exact exploitability where the game compiles; in the
full game it is the points per round won from a greedy player that always stops. `grown` are the
points per round that the longest run of ESCHER ("regret") wins from itself as it was after two
minutes, reconstructed from its kept networks. The times are from one machine: the number of
iterations in a minute is not seeded, but their result is.
"""

import argparse
import json
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

import flat_json
import jax
import numpy as np
from koikoi_size import pairs
from tqdm import tqdm

import cfrlib as cfr
from koikoi import KoiKoi, MiniKoiKoi
from koikoi.learners import DeepMonteCarlo, NetworkPlayer
from koikoi.players import GreedyPlayer
from koikoi.simulator import Simulator
from koikoi_learners import ESCHER, DeepDiscountedCFR, MMDPolicyGradient, RobustDeepCFR

RESULTS = Path(__file__).with_suffix(".json")
PLAYERS = Path(__file__).with_name("koikoi_players")
RUNS = PLAYERS / "runs"
TIMES = (0.25, 0.5, 1, 1.5, 2, 3, 4, 6, 8, 10, 15, 20, 30, 40, 50, 60)
DEALS = 5_000  # for each measurement in the full game, both ways
SHIPPED, MEASURED = 4, 16  # maximum networks of a mixture, in a file and when measured
EVERY = 10  # iterations between networks kept for the average
YOUNG, GROWN_DEALS = 2, 20_000  # minutes after which a run is compared with itself; deals


@cache
def six_pairs():
    """Return the game of six pairs, which is larger than what compiles by itself."""
    game = pairs(3, 3)
    cfr.compile(game, max_histories=10_000_000)
    return game


GAMES = {
    "full": KoiKoi,
    "K10": MiniKoiKoi.K10,
    "K12": MiniKoiKoi.K12,
    "six pairs": six_pairs,
}
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
    "discounted": (
        DeepDiscountedCFR,
        {"rounds": 4_000, "steps": 120},
        {"rounds": 4_000, "steps": 120},
    ),
    "traversal": (
        RobustDeepCFR,
        {"rounds": 40, "steps": 40, "batch": 1_024, "memory": 600_000, "keep_every": EVERY},
        {"rounds": 500, "steps": 30},
    ),
}  # with options for the full game and for miniatures


class Run(NamedTuple):
    """One learner, game and seed, with a budget in minutes."""

    game: str
    learner: str
    seed: int
    minutes: float

    @property
    def name(self):
        """The name of its files."""
        return f"{self.game}-{self.learner.replace(' ', '-')}-{self.seed}"

    @property
    def saved(self):
        """The path of its saved learner; beside it is its curve, ".json"."""
        return RUNS / f"{self.name}.npz"

    def log(self):
        """Return the iterations, seconds, devices and curve saved so far, or None."""
        path = self.saved.with_suffix(".json")
        return json.loads(path.read_text()) if path.exists() else None

    @property
    def player_file(self):
        """The path of its player: the learner's name, with the seed if needed."""
        end = f"-{self.seed}" if self.seed else ""
        return PLAYERS / f"{self.learner.replace(' ', '_')}{end}.npz"

    @property
    def options(self):
        """The options of its learner, but for seed and workers."""
        _, full, mini = LEARNERS[self.learner]
        return FULL | full if self.game == "full" else MINI | mini

    def begin(self, jobs):
        """Return a new learner."""
        kind, *_ = LEARNERS[self.learner]
        return kind(GAMES[self.game](), **self.options, seed=self.seed, jobs=jobs)

    def resume(self, jobs):
        """Return the saved learner, the seconds spent so far, and its curve."""
        if not (known := self.log()):
            return self.begin(jobs), 0.0, []
        learner = LEARNERS[self.learner][0].load(self.saved, GAMES[self.game](), jobs=jobs)
        return learner, known["seconds"], known["curve"]


AFFORDABLE = ("monte carlo", "policy gradient", "regret")
PLAN = (
    *(Run("full", name, 0, 20) for name in AFFORDABLE),
    Run("full", "traversal", 0, 2),
    *(Run("full", name, seed, 2) for seed in (1, 2) for name in AFFORDABLE),
    *(Run("K10", name, seed, 1) for seed in (0, 1, 2) for name in (*AFFORDABLE, "traversal")),
    *(Run("K12", name, 0, 1) for name in AFFORDABLE),
)  # fmt: skip


def device():
    """Return the platform and the kind of the device that JAX uses.

    A processor is "cpu", whatever its name.
    """
    found = jax.devices()[0]
    return " ".join(dict.fromkeys((found.platform, found.device_kind)))


# ---- one run ---------------------------------------------------------------------------------


def measure(game, learner):
    """Return its exploitability, or the points won from a greedy player with their error."""
    player = learner.player()
    if isinstance(game, MiniKoiKoi):
        return [float(f"{cfr.exploitability(game, player.strategy()):.4g}")]
    found = cfr.match(Simulator(game), thinned(player, MEASURED), GreedyPlayer(), DEALS, seed=1)
    return [round(found.mean, 3), round(found.margin, 3)]


def train(run, limit, jobs):
    """Continue a run up to its budget or the limit, in minutes; save it every minute."""
    learner, spent, curve = run.resume(jobs)
    alone = jobs is None and device() == "cpu"
    clock = time.process_time if alone else time.perf_counter
    minutes = min(run.minutes, limit)
    saved = spent
    with tqdm(total=60 * minutes, initial=round(spent), unit="s", desc=run.name) as bar:
        while spent < 60 * minutes:
            began = clock()
            learner.run(1, progress=False)
            spent += clock() - began
            bar.update(round(spent) - bar.n)
            if record(learner, min(spent / 60, minutes), curve):
                bar.set_postfix_str(f"{curve[-1][3]:+.3f}", refresh=False)
            if spent - saved >= 60 or spent >= 60 * minutes:
                save(run, learner, spent, curve)
                saved = spent


def record(learner, minutes, curve):
    """Append a measurement for each time that has passed; return whether there is one."""
    due = [at for at in TIMES if at <= minutes][len(curve) :]
    if not due or learner.iterations < EVERY:
        return False
    row = [learner.iterations * learner.rounds, learner.decisions]
    found = measure(learner.game, learner)
    curve += [[at, *row, *found] for at in due]
    return True


def save(run, learner, spent, curve):
    """Write the files from which the run resumes."""
    earlier = (run.log() or {}).get("devices", [])
    learner.save(run.saved)
    about = {
        "iterations": learner.iterations,
        "seconds": round(spent, 1),
        "devices": sorted({*earlier, device()}),
        "curve": curve,
    }
    run.saved.with_suffix(".json").write_text(json.dumps(about))


# ---- results ---------------------------------------------------------------------------------


def thinned(player, few):
    """Return a mixture of at most `few` of a player's networks, in the precision of a file.

    With four these are the quantiles 1/8, 3/8, 5/8 and 7/8 of the networks by weight.
    """
    few = min(few, len(player.networks))
    places = (np.arange(few) + 0.5) / few
    which = np.searchsorted(np.cumsum(player.weights), places)
    networks = [player.networks[n].astype(np.float16) for n in which]
    kind = player.network.kind
    return NetworkPlayer(player.game, networks, player.hidden, player.rule, network=kind)


def grown(learner, then):
    """Return the points that a mixture wins from itself as it was after some rounds."""
    now, few = learner.player(), then // learner.rounds // EVERY
    young = NetworkPlayer(now.game, now.networks[:few], now.hidden, now.rule, now.weights[:few])
    players = (thinned(player, MEASURED) for player in (now, young))
    found = cfr.match(Simulator(now.game), *players, GROWN_DEALS, seed=2)
    return [round(found.mean, 3), round(found.margin, 3)]


def collect():
    """Add the results and the players of all runs on this machine to those known."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    curves, growth = {}, known.get("grown", {})
    for run in PLAN:
        entry = (
            known.get("curves", {}).get(run.game, {}).get(run.learner, {}).get(str(run.seed))
        )
        if log := run.log():
            entry, growth = log, keep(run, log["curve"], growth)
        if entry:
            curves.setdefault(run.game, {}).setdefault(run.learner, {})[str(run.seed)] = entry
    columns = ["minutes", "rounds", "decisions", "exploitability or points", "± 95 %"]
    flat_json.write(RESULTS, {"columns": columns, "curves": curves, "grown": growth})


def keep(run, curve, growth):
    """Write the player of a run of the full game; return the present `grown`."""
    if run.game != "full":
        return growth
    learner, *_ = run.resume(None)
    thinned(learner.player(), SHIPPED).save(run.player_file)
    young = [rounds for at, rounds, *_ in curve if at == YOUNG]
    shown = (run.game, run.learner, run.seed) == ("full", "regret", 0)
    if shown and young and growth.get("iterations") != learner.iterations:
        return {"iterations": learner.iterations, "points": grown(learner, young[0])}
    return growth


def main():
    """Continue all runs up to their budgets, and write the results."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="runs whose names start like this")
    parser.add_argument("--minutes", type=float, default=np.inf, help="no run longer than this")
    parser.add_argument("--jobs", type=int, help="workers that play the rounds")
    options = parser.parse_args()
    RUNS.mkdir(parents=True, exist_ok=True)
    print("JAX uses", device())
    for run in PLAN:
        if run.name.startswith(options.only):
            train(run, options.minutes, options.jobs)
    collect()


if __name__ == "__main__":
    main()
