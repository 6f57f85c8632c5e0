"""Test the notes' bet on neural CFR: every learner of Koi-Koi with one budget, several times.

    python experiments/koikoi_bet.py                     train and judge all runs
    python experiments/koikoi_bet.py --only full-ppo     only runs whose name starts like this
    python experiments/koikoi_bet.py --minutes 5         no run longer than this
    python experiments/koikoi_bet.py --jobs 4            four workers play the rounds
    python experiments/koikoi_bet.py --only nothing      judge what has been trained so far
    python experiments/koikoi_bet.py --judge duels       write only this section

The runs are made by koikoi_train.py, which describes budgets, options and accelerators. They go
in stages: all runs of a game get to its first budget before one of them goes on to the second,
so that a machine whose speed changes treats all alike. They are saved every minute under
experiments/koikoi/runs/bet, and the script resumes them exactly. Two copies of the script, with
`--only full` and `--only K`, can share a machine.

Writes experiments/koikoi_bet.json:

- `curves`: as in koikoi_train.json.
- `duels`, `matches`: what the player of each run of the full game wins from simple players, as
  in koikoi_judge.json, and from the other learners with the same seed.
- `work`: what a learner of the full game does in an iteration: rows that its networks read, and
  rows that they are trained on; the same times the number of weights, which for an MLP is the
  number of multiplications (forward; training takes about three times as many a row); and the
  shares of processor time spent in networks, in describing tables to them, and in the rest.

Options were chosen with seeds 100 and 101, which are not in the plan. Learning has another
error than deals: compare the seeds. Nothing here bounds the exploitability of the full game's
players.
"""

import argparse
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from itertools import combinations
from pathlib import Path

import flat_json
import numpy as np
from koikoi_judge import AMONG, Results, compared, digits, matches
from koikoi_train import LEARNERS, MEASURED, RUNS, Run, device, thinned, train

from cfrlib.koikoi.afterstates import Describer
from cfrlib.koikoi.learners.value_network import ValueNetwork
from cfrlib.koikoi.players import GreedyPlayer, SearchPlayer

RESULTS = Path(__file__).with_suffix(".json")
FOLDER = "bet"
STAGES = {"full": (2, 5, 10), "K10": (1,), "K12": (1,)}  # minutes
SEEDS = {"full": 3, "K10": 5, "K12": 5}
TIMES = {"full": (1, 2, 5, 10), "K10": (0.25, 0.5, 1), "K12": (0.25, 0.5, 1)}
RIVALS = {
    "greedy, stops": (GreedyPlayer("stop"), 20_000),
    "search, 400": (SearchPlayer(400), 1_500),
}  # with the number of deals
WARM, WORK_SECONDS = 12, 30  # iterations before the work is measured; seconds of it
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
    return player, sha256(np.asarray(player.networks).tobytes()).hexdigest()[:16]


def judge(results, seed):
    """Play all duels of the learners of one seed, as far as they are trained."""
    runs = {run.learner: run for run in PLAN if run.game == "full" and run.seed == seed}
    players = {name: player_of(run) for name, run in runs.items() if run.log()}
    rule = GreedyPlayer("rule")
    for name, (player, mine) in players.items():
        key = f"{name}, seed {seed} - greedy, by rule"
        results.once("matches", key, mine, matches, player, rule)
    for (one, (player, mine)), (other, (rival, theirs)) in combinations(players.items(), 2):
        key = f"{one}, seed {seed} - {other}, seed {seed}"
        results.once("duels", key, mine + theirs, compared, player, rival, AMONG)
    for other, (rival, deals) in RIVALS.items():
        for name, (player, mine) in players.items():
            key = f"{name}, seed {seed} - {other}"
            results.once("duels", key, mine, compared, player, rival, deals)


@contextmanager
def timed(owner, name, spent, rows=None):
    """Add the processor time in a method to spent[name], less what was added meanwhile."""
    method = getattr(owner, name)

    def counting(self, *arguments, **options):
        began, before = time.process_time(), sum(spent.values())
        found = method(self, *arguments, **options)
        meanwhile = sum(spent.values()) - before
        spent[name] += time.process_time() - began - meanwhile
        if rows is not None:
            rows(name, self, arguments)
        return found

    setattr(owner, name, counting)
    yield
    setattr(owner, name, method)


def work(learner):
    """Count and time the work of some iterations."""
    run = Run("full", learner, 0, 0).begin(None)
    run.run(WARM, progress=False)  # compile, and fill what is filled at first
    spent, rows = Counter(), Counter()

    def count(name, network, arguments):
        found = arguments[1].shape
        some = found[0] if name == "__call__" else int(np.prod(found[:-1]))
        rows[name] += some
        rows[name + " products"] += some * network.size

    began, played = time.process_time(), run.iterations
    with ExitStack() as stack:
        for name in ("__call__", "improve"):
            stack.enter_context(timed(ValueNetwork, name, spent, count))
        for name in ("see", "see_hands", "tokens"):
            stack.enter_context(timed(Describer, name, spent))
        while time.process_time() - began < WORK_SECONDS:
            run.run(1, progress=False)
    total, iterations = time.process_time() - began, run.iterations - played
    share = {
        "networks": (spent["__call__"] + spent["improve"]) / total,
        "describing": (spent["see"] + spent["see_hands"] + spent["tokens"]) / total,
    }
    return {
        "rounds": run.rounds,
        "read": digits(rows["__call__"] / iterations),
        "trained": digits(rows["improve"] / iterations),
        "products read": digits(rows["__call__ products"] / iterations),
        "products trained": digits(rows["improve products"] / iterations),
        "shares": {name: digits(part) for name, part in share.items()},
        "iterations": iterations,
        "seconds an iteration": digits(total / iterations),
    }


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
    parser.add_argument("--judge", default="", help="only this section of the results")
    options = parser.parse_args()
    (RUNS / FOLDER).mkdir(parents=True, exist_ok=True)
    print("JAX uses", device())
    for run in PLAN:
        if run.name.startswith(options.only):
            train(run, options.minutes, options.jobs, TIMES[run.game])
    results = Results(options.judge, RESULTS)
    collect(results)
    for name in LEARNERS:
        results.once("work", name, "", work, name)
    for seed in range(SEEDS["full"]):
        judge(results, seed)


if __name__ == "__main__":
    main()
