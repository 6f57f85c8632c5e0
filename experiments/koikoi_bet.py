"""Judge the players of chapter 17 on the full game: eight cells, three trainings each.

    python experiments/koikoi_bet.py                   everything that is missing
    python experiments/koikoi_bet.py --only longest    sections whose names start like this
    python experiments/koikoi_bet.py --minutes 20      start no result later than this

Reads the players that experiments/koikoi_train.py wrote, and writes experiments/koikoi_bet.json
after each result. A second run computes what is missing or belongs to other networks
(`networks` are their checksums). A player is named by its learner, its network and the seed of
its training.

- `greedy`: points a round won from a greedy player that always stops. "policy": as trained.
  "argmax": always the most probable action. "gain": the difference on the same deals.
- `apart`: points a round that a player wins from one of another cell, trained with the same
  seed; both as trained, and both by argmax.
- `longer`: points a round that a player wins from itself as it was after ten minutes; and, both
  after forty, from deep Monte Carlo's with the table.
- `matches`: percent of matches of twelve rounds that players with the table win against a
  greedy player by rule, where a tie counts half.
- `longest`: points a round that three players, one training each, win from the search that
  imagines 4,000 deals, in blocks of deals, which the three share.
- `work`: what a learner does in an iteration: the rows that its networks read and are trained
  on, times their weights; for an MLP this is the number of multiplications (forward; training
  takes about three times as many). `share` is the networks' part of the processor time.

Each training has deals of its own, and so has each pair. After a score stands its 95 % error
over deals. All numbers but those of `work` are seeded.
"""

import time
from collections import Counter
from contextlib import ExitStack, contextmanager
from itertools import combinations
from pathlib import Path
from zlib import crc32

import numpy as np
from koikoi_judge import SIMPLE, Results, digits, game
from koikoi_train import CELLS, LONG, MINUTES, PLAN, WARM_SEED, Run

import cfrlib as cfr
from cfrlib.simulate import SampleMean
from koikoi.learners import NetworkPlayer
from koikoi.learners.value_network import ValueNetwork
from koikoi.players import GreedyPlayer, play_matches
from koikoi.simulator import Simulator
from koikoi_learners import ArgmaxPlayer

RESULTS = Path(__file__).with_suffix(".json")
DEALS, AMONG, MATCHES = 20_000, 10_000, 4_000  # against greedy, among themselves
BLOCK, BLOCKS = 100, 50  # deals against the longest search
LEADERS = ("monte carlo, table", "policy gradient, table", "regret, table")  # of seed 0
FILLED, WORK_SECONDS = 12, 30  # iterations before the work is counted; seconds of it


def load():
    """Return the players of the full game that have had the budget, by cell and seed."""
    runs = (run for run in PLAN if run.game == "full" and run.times == 1)
    return {
        (run.cell, run.seed): NetworkPlayer.load(run.player, game)
        for run in runs
        if run.player.exists()
    }


def load_longer():
    """Return the players that have had more, by cell, seed and minutes."""
    runs = (run for run in PLAN if run.game == "full" and run.times > 1)
    return {
        (run.cell, run.seed, run.minutes): NetworkPlayer.load(run.player, game)
        for run in runs
        if run.player.exists()
    }


def own(key):
    """Return a seed for the deals of a meeting."""
    return crc32(key.encode())


def score(found):
    """Return a mean and its 95 % error."""
    return [digits(found.mean), digits(found.margin)]


def played(one, other, deals, key):
    """Return the result of a duel on the deals of a meeting."""
    return cfr.match(Simulator(game), one, other, deals, seed=own(key))


def against_greedy(player, key):
    """Return what a player wins from greedy in two ways, and the difference."""
    policy, argmax = (
        played(one, GreedyPlayer("stop"), DEALS, key)
        for one in (player, ArgmaxPlayer.of(player))
    )
    gain = SampleMean(argmax.samples - policy.samples)
    return {"policy": score(policy), "argmax": score(argmax), "gain": score(gain)}


def apart(one, other, key):
    """Return what a player wins from another, both as trained and both by argmax."""
    surest = [ArgmaxPlayer.of(player) for player in (one, other)]
    return {
        "policy": score(played(one, other, AMONG, key)),
        "argmax": score(played(*surest, AMONG, key)),
    }


def longer(one, other, key):
    """Return what a player wins from another one."""
    return {"points": score(played(one, other, DEALS, key))}


def matches(player, key):
    """Return the percent of matches won against greedy by rule, and the error."""
    found = play_matches(game, player, GreedyPlayer("rule"), matches=MATCHES, seed=own(key))
    return {"won": [digits(100 * (found.won + found.drawn / 2)), digits(100 * found.error)]}


def longest(player, key):
    """Return what a player wins from the longest search in a block of deals."""
    search, _ = SIMPLE["search, 4,000"]
    return {"points": score(played(player, search, BLOCK, key))}


# ---- work ------------------------------------------------------------------------------------


@contextmanager
def timed(name, spent, products):
    """Count the products of a method of the networks, and add up its processor time."""
    method = getattr(ValueNetwork, name)

    def counting(self, *arguments, **options):
        shape, began = arguments[1].shape, time.process_time()
        found = method(self, *arguments, **options)
        spent[name] += time.process_time() - began
        rows = shape[0] if name == "__call__" else int(np.prod(shape[:-1]))
        products[name] += rows * self.size
        return found

    setattr(ValueNetwork, name, counting)
    yield
    setattr(ValueNetwork, name, method)


def work(learner, network):
    """Count and time the work of some iterations."""
    run = Run("full", learner, network, WARM_SEED).begin()
    run.run(FILLED, progress=False)  # compile, and fill what is filled at first
    spent, products, first = Counter(), Counter(), run.iterations
    began = time.process_time()
    with ExitStack() as stack:
        for name in ("__call__", "improve"):
            stack.enter_context(timed(name, spent, products))
        while time.process_time() - began < WORK_SECONDS:
            run.run(1, progress=False)
    total, iterations = time.process_time() - began, run.iterations - first
    return {
        "rounds": run.rounds,
        "products read": digits(products["__call__"] / iterations),
        "products trained": digits(products["improve"] / iterations),
        "share": digits(sum(spent.values()) / total),
        "iterations": iterations,
    }


def main():
    """Compute all results that are missing."""
    results, players = Results.asked_for(__doc__, RESULTS), load()
    sums = {who: player.checksum for who, player in players.items()}

    def once(section, evaluate, *who, block=""):
        names = " - ".join(f"{cell}, seed {seed}" for cell, seed in who)
        key, both = names + block, "".join(sums[one] for one in who)
        meeting = f"{section}{block}" if block else f"{section} {key}"
        results.once(section, key, both, evaluate, *(players[one] for one in who), meeting)

    for who in players:
        once("greedy", against_greedy, who)
        if who[0].endswith("table"):
            once("matches", matches, who)
    for one, other in combinations(players, 2):
        if one[1] == other[1]:
            once("apart", apart, one, other)
    late = load_longer()
    for (cell, seed, minutes), player in late.items():
        now, first = f"{cell}, seed {seed}, {minutes} minutes", (LEADERS[0], 0, minutes)
        meetings = {now: players[cell, seed]}
        if minutes == LONG * MINUTES["full"] and cell != first[0]:
            meetings[f"{now} - {first[0]}"] = late[first]
        for key, other in meetings.items():
            marks = player.checksum + other.checksum
            results.once("longer", key, marks, longer, player, other, f"longer {key}")
    for cell in CELLS:
        results.once("work", ", ".join(cell), "", work, *cell)
    for block in range(BLOCKS):
        for cell in LEADERS:
            once("longest", longest, (cell, 0), block=f", block {block}")


if __name__ == "__main__":
    main()
