"""Test the notes' bet on neural CFR: every learner of Koi-Koi with one budget, several times.

    python experiments/koikoi_bet.py                     train and judge all runs
    python experiments/koikoi_bet.py --only full-ppo     only runs whose name starts like this
    python experiments/koikoi_bet.py --minutes 5         no run longer than this
    python experiments/koikoi_bet.py --jobs 4            four workers play the rounds
    python experiments/koikoi_bet.py --only nothing      judge what has been trained so far
    python experiments/koikoi_bet.py --judge duels       write only this section

The runs are made by koikoi_train.py, which describes budgets, options and accelerators. They go
seed by seed, and in stages: all learners get to the first budget before one of them goes on to
the second, so that a machine whose speed changes treats all alike. They are saved every minute
under experiments/koikoi_players/runs/bet, and the script resumes them exactly. Two copies of
the script, with `--only full` and `--only K`, can share a machine. The players of the full game
are written to experiments/koikoi_players/bet/*.npz, and judged from there.

Writes experiments/koikoi_bet_20.json. The results of an earlier version with ten minutes a run,
on a faster machine, are in koikoi_bet.json, which no script writes any more. Its players were
not kept (its `networks` are checksums of files in an earlier format), and all its trainings met
the same deals. Budgets include the compilation of networks, a few seconds of each run.

- `curves`: as in koikoi_train.json.
- `duels`, `matches`, `exploited`: as in koikoi_judge.json, for the player of each run of the
  full game; among each other they meet those with the same seed.
- `work`: what a learner of the full game does in an iteration: rows that its networks read, and
  rows that they are trained on; the same times the number of weights, which for an MLP is the
  number of multiplications (forward; training takes about three times as many a row); and the
  shares of processor time spent in networks, in describing tables to them, and in the rest.
- `anew`: why Deep CFR declines: points per round that players with a single regret network win
  from a greedy one. "kept": the run's own networks, by iteration. "anew": new networks, trained
  on the run's memory at its end, by the number of Adam steps.
  `targets`: standard deviation and largest size of the sampled regrets there, in points.

Options were chosen with seeds 100 and 101, which are not in the plan. Each training has deals
of its own; koikoi_joint.py joins the errors over trainings and over deals. Nothing here bounds
the exploitability of the full game's players from above.
"""

import argparse
import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from pathlib import Path

import flat_json
import jax
import numpy as np
from koikoi_judge import Results, compared, digits, exploit, load, meet
from koikoi_train import DEALS, LEARNERS, PLAYERS, RUNS, SHIPPED, Run, device, thinned, train

from koikoi import KoiKoi
from koikoi.afterstates import Describer
from koikoi.learners.network_player import payoff_scale
from koikoi.learners.value_network import ValueNetwork
from koikoi.players import GreedyPlayer
from koikoi_learners import RobustDeepCFR
from koikoi_learners.regret_networks import REGRET

RESULTS = Path(__file__).with_name("koikoi_bet_20.json")
FOLDER = "bet"
STAGES = {"full": (2, 5, 10, 20), "K10": (1,), "K12": (1,)}  # minutes
SEEDS = {"full": 3, "K10": 5, "K12": 5}
TIMES = {"full": (1, 2, 5, 10, 20), "K10": (0.25, 0.5, 1), "K12": (0.25, 0.5, 1)}
WARM, WORK_SECONDS = 12, 30  # iterations before the work is measured; seconds of it
KEPT = (40, 80, 170, 340, 550)  # iterations after which a network of Deep CFR is judged
ANEW = (1_000, 4_000, 16_000)  # Adam steps of a network that starts anew after the last of them
PLAN = tuple(
    Run(game, name, seed, minutes, FOLDER)
    for game, stages in STAGES.items()
    for seed in range(SEEDS[game])
    for minutes in stages
    for name in LEARNERS
)


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


class Restarting(RobustDeepCFR):
    """Deep CFR whose regret network can start anew; the published one always does."""

    def kept(self, t):
        """Return the player of the regret network that was kept at iteration t."""
        return self._by_regret([self._kept[t // self.keep_every - 1]], [1.0])

    @property
    def targets(self):
        """The sampled regrets in the memory, in points."""
        return self._memory.samples.target * payoff_scale(self.game)

    def restart(self, steps, seed):
        """Replace the regret network by a new one, trained on the memory; return its player."""
        rng, samples = np.random.default_rng(seed), self._memory.samples
        self._states[REGRET] = self._networks[REGRET].fresh(jax.random.key(seed))
        for _ in range(0, steps, self.steps):
            self._fit(REGRET, samples, rng)
        return self.current


def anew(seed):
    """Judge networks of a run of Deep CFR, and networks trained anew on its memory."""
    options = Run("full", "traversal", seed, 0).options
    learner = Restarting(KoiKoi(), **options, seed=seed).run(KEPT[-1], progress=False)

    def score(player):
        return compared(player, GreedyPlayer("stop"), DEALS)["points"]

    return {
        "kept": {str(t): score(learner.kept(t)) for t in KEPT},
        "anew": {f"{n:,}": score(learner.restart(n, seed)) for n in ANEW},
        "targets": [digits(learner.targets.std()), digits(np.abs(learner.targets).max())],
        "deals": DEALS,
    }


def collect(results):
    """Add the curves of all runs on this machine to those known, and write their players."""
    curves = results.known.setdefault("curves", {})
    for run in PLAN:
        if (log := run.log()) and run.minutes == STAGES[run.game][-1]:
            curves.setdefault(run.game, {}).setdefault(run.learner, {})[str(run.seed)] = log
            if run.game == "full":
                thinned(run.resume(None)[0].player(), SHIPPED).save(run.player_file)
    flat_json.write(RESULTS, results.known, objects=True)


def main():
    """Continue all runs, stage by stage, and judge their players."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="runs whose names start like this")
    parser.add_argument("--minutes", type=float, default=np.inf, help="no run longer than this")
    parser.add_argument("--jobs", type=int, help="workers that play the rounds")
    parser.add_argument("--judge", default="", help="only this section of the results")
    options = parser.parse_args()
    for folder in (RUNS, PLAYERS):
        (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    print("JAX uses", device())
    for run in PLAN:
        if run.name.startswith(options.only):
            train(run, options.minutes, options.jobs, TIMES[run.game])
    results = Results(options.judge, RESULTS)
    collect(results)
    for name in LEARNERS:
        results.once("work", name, "", work, name)
    results.once("anew", "traversal, seed 0", "", anew, 0)
    players, sums = load(KoiKoi(), folder=FOLDER)
    meet(results, players, sums)
    exploit(results, players, sums)


if __name__ == "__main__":
    main()
