"""Test both halves of the notes' bet: four learners of Koi-Koi, each with two kinds of network.

    python experiments/koikoi_factorial.py              all runs that are missing
    python experiments/koikoi_factorial.py --only K10   only runs whose name starts with a match
    python experiments/koikoi_factorial.py --wall 60    start no run after 60 minutes

The learners are deep Monte Carlo, MMD ("policy gradient"), ESCHER ("regret") and discounted
CFR. With network "table", all networks of a learner are MLPs that read the table; with
"sequence", each of them also reads the order of play, with a small Transformer (two layers of
width 32). No critic sees a hidden hand. A cell is a learner with a network; the runs go seed by
seed, so that every cell has as many seeds as any other, give or take one.

A budget is minutes of processor time of one core. The clock does not count compilation, since
another learner with the same options runs a few iterations first, and it does not count
measurements. Machines shared with other programs play fewer rounds a minute: `rounds` tells.

Writes experiments/koikoi_factorial.json after each run:

- `runs`: by game, cell and seed. `curve` has a row for each time: minutes, rounds, decisions,
  and the performance of the player as it is executed (policy) and of its argmax. On miniatures
  performance is exact exploitability; on the full game ("full") it is the points per round won
  from a greedy player that always stops, with their error, on deals that no other run shares.
  "six pairs" has 9.4 million histories; its runs are measured at their end only, with 7 GB.
  For ESCHER and discounted CFR, a player is a mixture of at most 16 networks in float16 (but
  for K10: 4), one sampled per round; its argmax is that of the sampled network.
- `tuning`: the same as `runs` for half a minute of K10 with seed 100, by cell and options.
- `tried`: the number of settings that each cell has had. For tables these are the different
  options that koikoi_train.py has held since its first version; what was tried between two
  versions, or in the defaults of a learner, nobody wrote down. For discounted CFR they were
  chosen while its critic saw both hands. All miniatures have the options of K10. For sequences
  they are those of `tuning`, or 1 where the options are those of the table.

Players of the full game go to experiments/koikoi_players/factorial, learners to
experiments/koikoi_players/runs/factorial, where a run of four times the budget resumes.
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
import numpy as np
from koikoi_judge import digits
from koikoi_train import DEALS, FULL, GAMES, LEARNERS, MINI, PLAYERS, device, thinned

import cfrlib as cfr
from cfrlib.core.sequence import behavior, sequence_form
from koikoi.learners.network_player import decisions_of
from koikoi.learners.segments import greedy
from koikoi.players import GreedyPlayer
from koikoi.simulator import Simulator
from koikoi_learners import ArgmaxPlayer

RESULTS = Path(__file__).with_suffix(".json")
FOLDER = "factorial"
NETWORKS = {"table": "mlp", "sequence": "transformer"}
NAMES = ("monte carlo", "policy gradient", "regret", "discounted")
CELLS = tuple((learner, network) for learner in NAMES for network in NETWORKS)
SMALLER = {"rounds": 1_000, "steps": 30}  # iterations, in place of 4,000 and 120
MORE = {
    "regret, sequence": {"steps": 20},
    "discounted, sequence": SMALLER,
}  # options where they are not those of koikoi_train.py: the better ones in `tuning`
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
SLOPE = (0.25, 1, 4)  # times the budget
LATE = ("six pairs",)  # games whose runs are not measured before their end
SLOPED = tuple(cell for cell in CELLS if cell[0] in ("monte carlo", "regret"))  # the 4
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
        """The name of the run's files."""
        return f"{self.game}-{self.learner}-{self.network}-{self.seed}".replace(" ", "-")

    @property
    def saved(self):
        """The path of the saved learner."""
        return PLAYERS / "runs" / FOLDER / f"{self.name}.npz"

    @property
    def player(self):
        """The path of its player; those of longer runs say how much longer."""
        longer = "" if self.times == 1 else f"-times-{self.times}"
        return PLAYERS / FOLDER / f"{self.name}{longer}.npz"

    def begin(self, more=None):
        """Return a new learner, with these options in place of the cell's own."""
        kind, full, mini = LEARNERS[self.learner]
        options = FULL | full if self.game == "full" else MINI | mini
        options = options | (MORE.get(self.cell, {}) if more is None else more)
        network = NETWORKS[self.network]
        return kind(GAMES[self.game](), **options, seed=self.seed, network=network)


PLAN = (
    *(
        Run(game, *cell, seed)
        for game in SEEDS
        for seed in range(SEEDS[game])
        for cell in CELLS
    ),
    *(Run(game, *cell, 0, SLOPE[-1]) for game in ("K10", "full") for cell in SLOPED),
)


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
    budget = MINUTES[run.game]
    early = () if run.game in LATE else SLOPE
    times = [budget * times for times in early if times < run.times] + [budget * run.times]
    while spent < 60 * budget * run.times:
        began = time.process_time()
        learner.run(1, progress=False)
        spent += time.process_time() - began
        while len(curve) < len(times) and spent >= 60 * times[len(curve)]:
            row = [learner.iterations * learner.rounds, learner.decisions]
            curve.append([times[len(curve)], *row, *measure(run, learner)])
    run.saved.parent.mkdir(parents=True, exist_ok=True)
    learner.save(run.saved)
    if run.game == "full":
        run.player.parent.mkdir(exist_ok=True)
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
        done = before and before["seconds"] >= 60 * MINUTES[run.game] * run.times
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
