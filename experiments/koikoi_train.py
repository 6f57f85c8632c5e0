"""Train the learners of Koi-Koi: four of them with two kinds of network, and traversal.

    python experiments/koikoi_train.py              all runs that are missing
    python experiments/koikoi_train.py --only K10   only runs whose name starts with a match
    python experiments/koikoi_train.py --wall 60    start no run after 60 minutes

The four are deep Monte Carlo, MMD ("policy gradient"), ESCHER ("regret") and discounted CFR.
With network "table", all networks of a learner are MLPs that read the table; with "sequence",
each of them also reads the order of play, with a small Transformer (two layers of width 32). No
critic sees a hidden hand. A cell is a learner with a network; the runs go seed by seed, so that
every cell has as many seeds as any other, give or take one. "traversal" is Deep CFR with robust
sampling and a baseline.

A budget is minutes of processor time of one core, or of the clock on the wall if JAX finds an
accelerator. It does not count compilation, since another learner with the same options runs a
few iterations first, and it does not count measurements. Machines shared with other programs
play fewer rounds a minute: `rounds` tells. The number of iterations in a minute is not seeded,
but their result is.

Writes experiments/koikoi_train.json after each run:

- `runs`: by game, cell and seed. `curve` has a row for each time: minutes, rounds, decisions,
  and the performance of the player as it is executed (policy) and of its argmax. On miniatures
  performance is exact exploitability; on the full game ("full") it is the points per round won
  from a greedy player that always stops, with their error, on deals that no other run shares.
  "six pairs" has 9.4 million histories; its runs are measured at their end only, with 7 GB.
  Players of ESCHER, discounted CFR and traversal are mixtures of at most 4 networks in float16
  (on K10: 16), one sampled per round; their argmax is that of the sampled network.
- `tuning`: the same as `runs` for half a minute of K10 with seed 100, by cell and options.
- `tried`: the number of settings that each cell has had. For tables these are the different
  options that this script has held since its first version; what was tried between two
  versions, or in the defaults of a learner, nobody wrote down. For discounted CFR they were
  chosen while its critic saw both hands. All miniatures have the options of K10. For sequences
  they are those of `tuning`, or 1 where the options are those of the table.

Players of the full game go to experiments/koikoi_players, learners to its folder "runs", where
a longer run resumes. Chapter 17 judges the players of ten minutes; chapter 14 and the page to
play on show the same trainings of seed 0 after twenty.
"""

import argparse
import json
import re
import time
import zlib
from functools import cache
from pathlib import Path
from typing import NamedTuple

import flat_json
import jax
import numpy as np
from koikoi_size import pairs

import cfrlib as cfr
from cfrlib.core.sequence import behavior, sequence_form
from koikoi import KoiKoi, MiniKoiKoi
from koikoi.learners import DeepMonteCarlo, NetworkPlayer
from koikoi.learners.network_player import decisions_of
from koikoi.learners.segments import greedy
from koikoi.players import GreedyPlayer
from koikoi.simulator import Simulator
from koikoi_learners import (
    ESCHER,
    ArgmaxPlayer,
    DeepDiscountedCFR,
    MMDPolicyGradient,
    RobustDeepCFR,
)

RESULTS = Path(__file__).with_suffix(".json")
PLAYERS = Path(__file__).with_name("koikoi_players")
DEALS = 5_000  # for each measurement in the full game, both ways
EVERY = 10  # iterations between networks kept for the average


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
NETWORKS = {"table": "mlp", "sequence": "transformer"}
BET = ("monte carlo", "policy gradient", "regret", "discounted")
CELLS = tuple((learner, network) for learner in BET for network in NETWORKS)
SMALLER = {"rounds": 1_000, "steps": 30}  # iterations, in place of 4,000 and 120
MORE = {
    "regret, sequence": {"steps": 20},
    "discounted, sequence": SMALLER,
}  # options in place of those of `LEARNERS`: the better ones in `tuning`
TUNING = {
    "regret, sequence": ({}, {"steps": 20}),
    "discounted, sequence": ({}, SMALLER),
    "discounted, table": ({}, SMALLER),
}  # settings tried on K10 for cells whose options were chosen for faster iterations
TRIED = {
    "monte carlo, table": {"full": 1, "K10": 1},
    "policy gradient, table": {"full": 2, "K10": 1},
    "regret, table": {"full": 3, "K10": 5},
    "discounted, table": {"full": 1, "K10": 2},
    "monte carlo, sequence": {"full": 1, "K10": 1},
    "policy gradient, sequence": {"full": 0, "K10": 1},
    "regret, sequence": {"full": 0, "K10": 2},
    "discounted, sequence": {"full": 0, "K10": 2},
}  # settings
TUNING_SEED, TUNING_TIMES = 100, 0.5
MOST = {"K10": 16, "K12": 4, "full": 4, "six pairs": 4}  # networks of a mixture
MINUTES = {"K10": 1, "K12": 1, "full": 10, "six pairs": 1}
SEEDS = {"K10": 5, "K12": 5, "full": 3, "six pairs": 3}
EARLY, LONG = 0.25, 4  # of a slope, times the budget
LATE = ("six pairs",)  # games whose runs are not measured before their end
SLOPED = tuple(cell for cell in CELLS if cell[0] in ("monte carlo", "regret"))  # the 4
TRAVERSAL = "traversal", "table"  # not part of the bet
WARM = 3  # iterations of another learner before the clock starts
WARM_SEED = 1_000_000


class Run(NamedTuple):
    """A learner with a network on a game; `times` is a multiple of the game's budget."""

    game: str
    learner: str
    network: str
    seed: int
    times: float = 1

    @property
    def cell(self):
        """The name of the learner and the network."""
        return f"{self.learner}, {self.network}"

    @property
    def name(self):
        """The name of the run, however long it is."""
        return f"{self.game}-{self.learner}-{self.network}-{self.seed}".replace(" ", "-")

    @property
    def minutes(self):
        """The budget of the run."""
        return MINUTES[self.game] * self.times

    @property
    def saved(self):
        """The path of the saved learner."""
        return PLAYERS / "runs" / f"{self.name}.npz"

    @property
    def player(self):
        """The path of the player of a run of the full game."""
        name = self.name.removeprefix("full-")
        return PLAYERS / f"{name}-{self.minutes:g}-minutes.npz"

    def begin(self, more=None):
        """Return a new learner, with these options in place of the cell's own."""
        kind, full, mini = LEARNERS[self.learner]
        options = FULL | full if self.game == "full" else MINI | mini
        options = options | (MORE.get(self.cell, {}) if more is None else more)
        if self.learner != "traversal":
            options["network"] = NETWORKS[self.network]
        return kind(GAMES[self.game](), **options, seed=self.seed)


SHOWN = (
    *(Run("full", learner, "table", 0, 2) for learner in BET[:3]),
    Run("full", *TRAVERSAL, 0, 0.2),
)  # those of chapter 14
PLAN = (
    *(
        Run(game, *cell, seed)
        for game in SEEDS
        for seed in range(SEEDS[game])
        for cell in CELLS
    ),
    *SHOWN,
    *(Run("K10", *TRAVERSAL, seed) for seed in range(SEEDS["K10"])),
    *(Run(game, *cell, 0, LONG) for game in ("K10", "full") for cell in SLOPED),
)


def device():
    """Return the platform and the kind of the device that JAX uses.

    A processor is "cpu", whatever its name.
    """
    found = jax.devices()[0]
    return " ".join(dict.fromkeys((found.platform, found.device_kind)))


# ---- the result of a run ---------------------------------------------------------------------


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


def digits(number):
    """Keep four significant digits."""
    return float(f"{number:.4g}")


def exploitabilities(player):
    """Return the exploitability of a player and of its argmax."""
    form = sequence_form(player.game)
    decisions = decisions_of(player.game, player.network.describer.ordered)
    totals = np.zeros((2, form.num_sequences))
    for n, weight in enumerate(player.weights):
        sigma = player.sigma(n, decisions.after)
        for total, played in zip(
            totals, (sigma, greedy(sigma, decisions.after.start)), strict=True
        ):
            row = form.uniform()
            row[decisions.sequence] = played
            total += weight * form.plans(row)
    found = []
    for total in totals:
        sigma = form.uniform()
        behavior(form.treeplexes, total, sigma)
        found.append(cfr.exploitability(player.game, cfr.Strategy.from_vector(form, sigma)))
    return [digits(number) for number in found]


def points(player, deals):
    """Return the points won from a greedy player by a player and by its argmax, with errors."""
    duels = (
        cfr.match(Simulator(player.game), one, GreedyPlayer("stop"), DEALS, seed=deals)
        for one in (player, ArgmaxPlayer.of(player))
    )
    return [round(x, 3) for found in duels for x in (found.mean, found.margin)]


def measure(run, learner):
    """Return the performance of a learner's player and of its argmax."""
    player = thinned(learner.player(), MOST[run.game])
    if run.game == "full":
        return points(player, zlib.crc32(run.name.encode()))
    return exploitabilities(player)


# ---- runs ------------------------------------------------------------------------------------


def times_of(run):
    """Return the minutes at which a run is measured: early, and where shorter runs end."""
    shorter = {each.minutes for each in PLAN if each.name == run.name}
    early = set() if run.game in LATE else {MINUTES[run.game] * EARLY}
    return [at for at in sorted(early | shorter | {run.minutes}) if at <= run.minutes]


@cache
def warm(game, learner, network, more):
    """Compile what a run needs; the clock has not started."""
    learner = Run(game, learner, network, WARM_SEED).begin(json.loads(more))
    learner.run(WARM, progress=False)


def train(run, known=None, more=None):
    """Continue a run up to its budget; return what the results hold of it."""
    warm(run.game, run.learner, run.network, json.dumps(more))
    learner, spent, curve = run.begin(more), 0.0, []
    if known and run.saved.exists():
        learner = type(learner).load(run.saved, learner.game)
        spent, curve = known["seconds"], [*known["curve"]]
    clock = time.process_time if device() == "cpu" else time.perf_counter
    measured = curve[-1][0] if curve else 0
    times = [at for at in times_of(run) if at > measured]
    while spent < 60 * run.minutes:
        began = clock()
        learner.run(1, progress=False)
        spent += clock() - began
        while times and spent >= 60 * times[0]:
            row = [learner.iterations * learner.rounds, learner.decisions]
            curve.append([times.pop(0), *row, *measure(run, learner)])
    run.saved.parent.mkdir(parents=True, exist_ok=True)
    learner.save(run.saved)
    if run.game == "full":
        thinned(learner.player(), MOST[run.game]).save(run.player)
    return {
        "iterations": learner.iterations,
        "seconds": round(spent, 1),
        "device": device(),
        "curve": curve,
    }


def main():
    """Make all runs that are missing, and write the results after each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--only", default="", help="a pattern for the start of the names of runs"
    )
    parser.add_argument("--wall", type=float, default=np.inf, help="start no run after minutes")
    options = parser.parse_args()
    end = time.monotonic() + 60 * options.wall

    def once(place, run, more=None):
        """Make a run and write it, unless the results hold it or time is over."""
        before = flat_json.find(RESULTS, place)
        done = before and before["seconds"] >= 60 * run.minutes
        if not done and re.match(options.only, run.name) and time.monotonic() < end:
            found = train(run, before, more)
            print(run.name, *place[2:], *found["curve"], flush=True)
            flat_json.record(RESULTS, place, found)

    flat_json.record(RESULTS, ("tried",), TRIED)
    for cell, settings in TUNING.items():
        for more in settings:
            run = Run("K10", *cell.split(", "), TUNING_SEED, TUNING_TIMES)
            once(("tuning", run.cell, json.dumps(more)), run, more)
    for run in PLAN:
        once(("runs", run.game, run.cell, str(run.seed)), run)


if __name__ == "__main__":
    main()
