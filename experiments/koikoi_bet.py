"""Test the notes' bet on neural CFR: every learner of Koi-Koi with one budget, several times.

    python experiments/koikoi_bet.py                     train and judge all runs
    python experiments/koikoi_bet.py --only full-ppo     only runs whose name starts like this
    python experiments/koikoi_bet.py --minutes 10        no run longer than this
    python experiments/koikoi_bet.py --jobs 4            four workers play the rounds
    python experiments/koikoi_bet.py --only nothing      judge what has been trained so far

The runs are made by koikoi_train.py, which describes budgets, options and accelerators. They go
in stages: all runs of a game get to its first budget before one of them goes on to the second,
so that a machine whose speed changes treats all alike. They are saved every minute under
experiments/koikoi/runs/bet, and the script resumes them exactly. Two copies of the script, with
`--only full` and `--only K`, can share a machine.

Writes experiments/koikoi_bet.json:

- `curves`: as in koikoi_train.json.
- `duels`, `matches`: what the player of each run of the full game wins from simple players, as
  in koikoi_judge.json, and from the other learners with the same seed.
- `exploited`: the points that a response wins from it which was trained for 100 iterations from
  the network of "monte carlo" in experiments/koikoi.

Options were chosen with seeds 100 and 101, which are not in the plan. Learning has another
error than deals: compare the seeds.
"""

import argparse
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import flat_json
import numpy as np
from koikoi_judge import AMONG, Results, compared, load, matches, trained
from koikoi_train import LEARNERS, MEASURED, RUNS, Run, device, thinned, train

from cfrlib.koikoi import KoiKoi
from cfrlib.koikoi.players import GreedyPlayer, SearchPlayer

RESULTS = Path(__file__).with_suffix(".json")
FOLDER = "bet"
STAGES = {"full": (2, 5, 10, 20), "K10": (1,), "K12": (1,)}  # minutes
SEEDS = {"full": 3, "K10": 5, "K12": 5}
TIMES = {"full": (1, 2, 5, 10, 20), "K10": (0.25, 0.5, 1), "K12": (0.25, 0.5, 1)}
RIVALS = {
    "greedy, stops": (GreedyPlayer("stop"), 20_000),
    "search, 400": (SearchPlayer(400), 1_500),
}  # with the number of deals
PLAN = tuple(
    Run(game, name, seed, minutes, FOLDER)
    for game, stages in STAGES.items()
    for minutes in stages
    for seed in range(SEEDS[game])
    for name in LEARNERS
)


def player_of(run):
    """Return the player of a saved run, and a checksum of its networks."""
    player = thinned(run.resume(None)[0].player(), MEASURED)
    return player, sha256(player.networks.tobytes()).hexdigest()[:16]


def judge(results, seed):
    """Play all duels of the learners of one seed, as far as they are trained."""
    runs = {run.learner: run for run in PLAN if run.game == "full" and run.seed == seed}
    players = {name: player_of(run) for name, run in runs.items() if run.log()}
    start, marks = (found["monte carlo"] for found in load("", KoiKoi()))
    for name, (player, mine) in players.items():
        key = f"{name}, seed {seed}"
        for other, (rival, deals) in RIVALS.items():
            results.once("duels", f"{key} - {other}", mine, compared, player, rival, deals)
        rule = GreedyPlayer("rule")
        results.once("matches", f"{key} - greedy, by rule", mine, matches, player, rule)
        results.once("exploited", key, mine + marks, trained, player, start)
    for one, other in combinations(players, 2):
        (player, mine), (rival, theirs) = players[one], players[other]
        key = f"{one}, seed {seed} - {other}, seed {seed}"
        results.once("duels", key, mine + theirs, compared, player, rival, AMONG)


def collect(results):
    """Add the curves of all runs on this machine to those known."""
    curves = results.known.setdefault("curves", {})
    for run in PLAN:
        if log := run.log():
            curves.setdefault(run.game, {}).setdefault(run.learner, {})[str(run.seed)] = log
    flat_json.write(RESULTS, results.known, objects=True)


def main():
    """Continue all runs, stage by stage, and judge their players."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="runs whose names start like this")
    parser.add_argument("--minutes", type=float, default=np.inf, help="no run longer than this")
    parser.add_argument("--jobs", type=int, help="workers that play the rounds")
    options = parser.parse_args()
    (RUNS / FOLDER).mkdir(parents=True, exist_ok=True)
    print("JAX uses", device())
    for run in PLAN:
        if run.name.startswith(options.only):
            train(run, options.minutes, options.jobs, TIMES[run.game])
    results = Results("", RESULTS)
    collect(results)
    for seed in range(SEEDS["full"]):
        judge(results, seed)


if __name__ == "__main__":
    main()
