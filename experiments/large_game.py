"""Strategies for liar's dice with two dice each, which no tree holds: a match and bounds.

Writes large_game.json after each result; results that are there are not repeated. Takes about
half an hour of one processor. Each program runs external sampling, vanilla CFR, on one thread
for the same processor time, SEEDS times: cfrlib by the rules that compile, OpenSpiel in C++.

match : cfrlib's strategy against OpenSpiel's of the same number, the same deals from both
    seats: mean payoff per round and half-width of the 95 % interval over deals.
bounds : for each program and seed, a lower bound on the exploitability by local best replies,
    with the half-width of its interval over rounds, which are the same for all.
trained : iterations and processor seconds.
"""

import json
import time
from collections.abc import Mapping
from pathlib import Path

import flat_json
import pyspiel

import cfrlib as cfr

RESULTS = Path(__file__).with_suffix(".json")
GAME = cfr.games.LiarsDice(6, 2)
SECONDS = 15  # of processor time
SEEDS, DEALS, ROUNDS, SAMPLES = 5, 20_000, 3_000, 50


class TheirAverage(Mapping):
    """The average strategy of OpenSpiel's solver, by the labels of cfrlib's game."""

    def __init__(self, game, solver):
        self.game, self.solver = game, solver  # which must outlive its policy
        self.policy = solver.average_policy()
        self.bids = {bid: a for a, bid in enumerate(GAME.bids)} | {"liar": len(GAME.bids)}

    def __getitem__(self, label):
        roll, *bids = label.split()
        made = bids[0].split("-") if bids else []
        state = self.game.new_initial_state()
        own = [int(face) - 1 for face in roll]
        for dice in (own, [0, 0]) if len(made) % 2 == 0 else ([0, 0], own):
            for face in dice:
                state.apply_action(face)
        for bid in made:
            state.apply_action(self.bids[bid])
        probability = self.policy.action_probabilities(state)
        return {bid: probability[a] for bid, a in self.bids.items() if a in probability}

    def get(self, label, default=None):
        return self[label]

    def __iter__(self):
        raise TypeError("the infosets of a large game are not listed")

    __len__ = __iter__


def our_strategy(seed):
    """Return cfrlib's average strategy, and how it was found."""
    run = cfr.MCCFR(GAME, sampling="external", on_demand=True, threads=1, seed=seed)
    run.run(1, progress=False)  # compiles the kernels
    began = time.process_time()
    while time.process_time() - began < SECONDS:
        run.run(200, progress=False)
    seconds = time.process_time() - began
    return run.average, {"iterations": run.iterations, "seconds": round(seconds, 1)}


def their_strategy(seed):
    """Return OpenSpiel's average strategy, and how it was found."""
    game = pyspiel.load_game("liars_dice(numdice=2)")
    solver = pyspiel.ExternalSamplingMCCFRSolver(game, seed=seed)
    began, iterations = time.process_time(), 0
    while time.process_time() - began < SECONDS:
        for _ in range(50):
            solver.run_iteration()
        iterations += 50
    seconds = time.process_time() - began
    return TheirAverage(game, solver), {"iterations": iterations, "seconds": round(seconds, 1)}


def with_margin(sample):
    """Return a mean and the half-width of its interval, to four digits."""
    return [round(float(sample.mean), 4), round(float(sample.margin), 4)]


def bound(strategy):
    """Return a lower bound on the exploitability."""
    responders = [
        cfr.LocalBestResponse(GAME, strategy, i, samples=SAMPLES, seed=0) for i in range(2)
    ]
    return cfr.exploitability_bound(GAME, strategy, responders, rounds=ROUNDS, seed=0)


def main():
    """Compute what is missing."""
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    known |= {"game": repr(GAME), "deals": DEALS, "rounds": ROUNDS, "samples": SAMPLES}
    if "uniform" not in known:
        known["uniform"] = with_margin(bound({}))
    runs = known.setdefault("runs", [])
    for seed in range(len(runs), SEEDS):
        ours, our_training = our_strategy(seed)
        theirs, their_training = their_strategy(seed)
        row = {
            "trained": {"cfrlib": our_training, "OpenSpiel": their_training},
            "match": with_margin(cfr.match(GAME, ours, theirs, DEALS, seed=seed)),
            "uniform": with_margin(cfr.match(GAME, ours, {}, DEALS, seed=seed)),
            "bounds": {
                "cfrlib": with_margin(bound(ours)),
                "OpenSpiel": with_margin(bound(theirs)),
            },
        }
        print(row, flush=True)
        runs.append(row)
        flat_json.write(RESULTS, known, objects=True)


if __name__ == "__main__":
    main()
