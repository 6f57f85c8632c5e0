"""Measure the levels of the Koi-Koi table: points a round that each wins from the others.

    python experiments/koikoi_strong.py                 everything that is missing
    python experiments/koikoi_strong.py --minutes 30    use no more processor time than this

Writes experiments/koikoi_strong.json after every batch of deals. A second run continues; with
other players it starts anew.

- `levels`: the players, and the checksum of the network. The *learner* is greedy and calls by
  its rule; the *network* is deep Monte Carlo's of koikoi_train.py; the *strong* player looks
  one turn ahead with that network in imagined deals (`LookAheadPlayer`). Two more are not at
  the table: *weighted* is the strong player in deals weighted by the opponent's moves, and
  *sampling* is the network with online outcome sampling in its last turns.
- `duels`: points a round that the first of two levels wins from the second, ± 95 %. Every deal
  is played in both seats, and the interval is over deals. Batch b has the seed (0, b) and deals
  of its own, the same in all duels. `sum` and `squares` are those of the means of each deal's
  two rounds, `won` and `tied` shares of rounds.
- `exact`: exploitability on a small game of deep Monte Carlo's network, and of the player that
  looks ahead with it, with one set of imagined deals for each infoset.

All numbers are seeded; seconds are processor time.
"""

import argparse
import time
from pathlib import Path

import flat_json
import numpy as np
from koikoi_train import SHOWN, Run

import cfrlib as cfr
from cfrlib.core.rng import new_key
from cfrlib.core.sequence import sequence_form
from cfrlib.strategy import Strategy
from koikoi import KoiKoi
from koikoi.learners import LookAheadPlayer, NetworkPlayer
from koikoi.learners.network_player import infosets_of
from koikoi.players import GreedyPlayer
from koikoi.simulator import Simulator
from koikoi_learners import RestPlayer, WeightedLookAhead

RESULTS = Path(__file__).with_suffix(".json")
NETWORK = SHOWN[0].player  # deep Monte Carlo, twenty minutes
BATCH = 100  # deals
PLAN = (
    ("network", "learner", 20_000),
    ("strong", "network", 20_000),
    ("strong", "learner", 2_000),
    ("weighted", "strong", 2_000),
    ("sampling", "network", 400),
)  # with the number of deals
SMALL = {"K10": (0, 1, 2), "K12": (0,)}  # games and seeds of `exact`
ROUNDS = 100_000  # of training on a small game
SEED, Z = 0, 1.96


def levels(game):
    """Return the players."""
    network = NetworkPlayer.load(NETWORK, game)
    return {
        "learner": GreedyPlayer("rule"),
        "network": network,
        "strong": LookAheadPlayer(network),
        "weighted": WeightedLookAhead(network),
        "sampling": RestPlayer(network),
    }


def added(known, rounds):
    """Return the result of a duel with one more batch."""
    deals = known.get("deals", 0) + BATCH
    means = rounds.mean(axis=1)
    total = known.get("sum", 0.0) + means.sum()
    squares = known.get("squares", 0.0) + (means**2).sum()
    sd = ((squares - total**2 / deals) / (deals - 1)) ** 0.5
    old = known.get("deals", 0) / deals

    def share(name, now):
        return round(old * known.get(name, 0.0) + (1 - old) * float(now), 6)

    return {
        "points": [round(total / deals, 4), round(Z * sd / deals**0.5, 4)],
        "deals": deals,
        "won": share("won", (rounds > 0).mean()),
        "tied": share("tied", (rounds == 0).mean()),
        "sum": float(total),
        "squares": float(squares),
    }


def exploitability(game, player):
    """Return the exploitability of a player that looks ahead, by enumeration."""
    form, (rounds, sequence) = sequence_form(game), infosets_of(game)
    actions = player(Simulator(game), rounds, np.arange(len(rounds)), new_key(SEED))
    after = player.player.network.describer.after(rounds, np.arange(len(rounds)))
    chosen = after.action == np.repeat(actions, np.diff(after.start))
    row = form.uniform()
    row[sequence] = chosen
    return cfr.exploitability(game, Strategy.from_vector(form, row))


def exact(name, seed):
    """Train deep Monte Carlo on a small game; return both exploitabilities."""
    run = Run(name, "monte carlo", "table", seed).begin()
    player = run.run(-(-ROUNDS // run.rounds), progress=False).player()
    looking = exploitability(player.game, LookAheadPlayer(player))
    network = cfr.exploitability(player.game, player.strategy())
    return {"network": round(network, 5), "strong": round(looking, 5), "rounds": ROUNDS}


def duel(one, other, players, simulator, most, stop):
    """Play batches of a duel up to a number of deals, or to an end of processor time."""
    name = f"{one}, {other}"
    place = "duels", name
    while (found := flat_json.find(RESULTS, place) or {}).get("deals", 0) < most:
        if time.process_time() > stop:
            return
        began, batch = time.process_time(), found.get("deals", 0) // BATCH
        pair, seed = (players[one], players[other]), [SEED, batch]
        rounds = cfr.match(simulator, *pair, BATCH, seed=seed).payoffs
        seconds = found.get("seconds", 0.0) + time.process_time() - began
        found = {**added(found, rounds), "seconds": round(seconds, 1)}
        flat_json.record(RESULTS, place, found, objects=True)
    print(name, found, flush=True)


def main():
    """Compute what is missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=np.inf)
    parser.add_argument("--only", default="", help="one section")
    arguments = parser.parse_args()
    stop = time.process_time() + 60 * arguments.minutes
    if "duels".startswith(arguments.only):
        game = KoiKoi()
        players, simulator = levels(game), Simulator(game)
        now = {name: repr(player) for name, player in players.items()}
        now["checksum"] = players["network"].checksum
        if flat_json.find(RESULTS, ("levels",)) != now:
            flat_json.write(RESULTS, {"levels": now}, objects=True)
        for one, other, most in PLAN:
            duel(one, other, players, simulator, most, stop)
    for name, seeds in SMALL.items() if "exact".startswith(arguments.only) else ():
        for seed in seeds:
            place = "exact", f"{name}, seed {seed}"
            if flat_json.find(RESULTS, place) or time.process_time() > stop:
                continue
            began = time.process_time()
            found = exact(name, seed)
            seconds = round(time.process_time() - began, 1)
            found = {**found, "seconds": seconds}
            flat_json.record(RESULTS, place, found, objects=True)


if __name__ == "__main__":
    main()
