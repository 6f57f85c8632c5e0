"""Memory and speed of outcome sampling on trees of growing size: liar's dice with two dice.

    python experiments/large_trees.py

Writes large_trees.json after each game, in about five minutes. For each number of faces:

histories, infosets : of the whole game, from the formulas in `cfr.games.LiarsDice`.
met, bytes : infosets in the tables and memory that the run holds, after each number of
    iterations, with tables keyed by what a player knows.
speed : iterations per second of processor time, with rules that compile, with rules in Python,
    and on a table of histories; the last, and its `tree_bytes`, only where the tree compiles.
"""

import gc
import json
import time
import tracemalloc
from pathlib import Path

import flat_json

import cfrlib as cfr

RESULTS = Path(__file__).with_suffix(".json")
FACES, DICE = range(2, 10), 2
ITERATIONS, SEED = (1_000, 10_000, 100_000, 1_000_000), 0
TIMED = {"rules": 20_000, "python": 2_000, "tree": 100_000}
COMPILES = 3  # faces, at most


class Python(cfr.games.LiarsDice):
    """The same game without rules that compile."""

    rules = None


def sampler(game, lazy=True):
    """Return a run of outcome sampling."""
    return cfr.MCCFR(game, sampling="outcome", seed=SEED, threads=1, on_demand=lazy)


def size(game):
    """Return the numbers of histories and of infosets."""
    hands, bids = round(len(game._rolls()) ** 0.5), len(game.bids)
    return {
        "histories": 1 + hands**2 * (2 ** (bids + 1) - 1),
        "infosets": hands * 2**bids,
    }


def memory(game, lazy, iterations):
    """Return infosets and bytes that a run holds after each number of iterations."""
    if lazy:
        sampler(game).run(1)  # compiles the rules, which is not counted
    gc.collect()
    tracemalloc.start()
    run, met, held = sampler(game, lazy), [], []
    for stop in iterations:
        run.run(stop - run.iterations, progress=False)
        met.append(run._tree.num_infosets)
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    return met, held


def speed(game, lazy, iterations):
    """Return iterations per second of processor time, after as many that are not timed."""
    run = sampler(game, lazy).run(iterations, progress=False)
    began = time.process_time()
    run.run(iterations, progress=False)
    return round(iterations / (time.process_time() - began))


def measure(faces):
    """Return the results of one game."""
    game = cfr.games.LiarsDice(faces, DICE)
    met, held = memory(game, True, ITERATIONS)
    row = {**size(game), "met": met, "bytes": held, "speed": {}}
    row["speed"]["rules"] = speed(game, True, TIMED["rules"])
    row["speed"]["python"] = speed(Python(faces, DICE), True, TIMED["python"])
    if faces <= COMPILES:
        _, (row["tree_bytes"],) = memory(game, False, ITERATIONS[:1])
        row["speed"]["tree"] = speed(game, False, TIMED["tree"])
    return row


def main():
    """Measure each game, and write the results."""
    results = {"dice": DICE, "iterations": ITERATIONS, "seed": SEED, "games": {}}
    for lazy in (False, True):
        sampler(cfr.games.LiarsDice(2), lazy).run(1)  # compiles
    for faces in FACES:
        results["games"][str(faces)] = measure(faces)
        print(faces, json.dumps(results["games"][str(faces)]), flush=True)
        flat_json.write(RESULTS, results)


if __name__ == "__main__":
    main()
