"""Deep CFR on Leduc poker beside the table: exploitability over histories visited.

Writes deep_leduc.json, which chapter 10 of the book draws, after each seed. A seed takes about
a minute and a half on two quiet cores:

    python experiments/deep_leduc.py [seeds] [iterations]
"""

import json
import sys
from pathlib import Path

import jax

import cfrlib as cfr
from cfrlib.deep import DeepCFR

RESULTS = Path(__file__).with_suffix(".json")
TRAVERSALS = 1_500


def checkpoints(iterations):
    """Return 1, 2, 3, 4, 6, 7, 10, 13, …, and the last."""
    grid = {round(10 ** (k / 8)) for k in range(33)}
    return [*sorted(t for t in grid if t < iterations), iterations]


def deep(game, seed, iterations):
    """Run Deep CFR; measure both averages of the same run."""
    run, rows = DeepCFR(game, traversals=TRAVERSALS, seed=seed), []
    for t in checkpoints(iterations):
        run.run(t - run.iterations, progress=False)
        averages = (run.average, run.mixture)
        conv = [round(cfr.nash_conv(game, average), 5) for average in averages]
        rows.append([t, run.nodes, round(run.seconds, 1), *conv])
        print(seed, rows[-1], flush=True)
    return rows


def table(game, seed, iterations, batch):
    """Run linear CFR with external sampling in a table."""
    run = cfr.MCCFR(game, "linear", sampling="external", batch=batch, seed=seed)
    run.run(iterations, progress=False)
    trace = run.trace
    columns = (trace.iterations, trace.nodes, trace.seconds, 2 * trace.exploitability)
    return [
        [int(t), int(nodes), round(float(seconds), 3), round(float(conv), 5)]
        for t, nodes, seconds, conv in zip(*columns, strict=True)
    ]


def main(seeds=5, iterations=100):
    """Run the seeds one after another; the file holds those done so far."""
    game = cfr.games.LeducPoker()
    columns = ["iterations", "nodes", "seconds", "NashConv"]
    data = {
        "script": "experiments/deep_leduc.py", "game": repr(game),
        "versions": {"cfrlib": cfr.__version__, "jax": jax.__version__},
        "traversals": TRAVERSALS,
        "columns": {"deep": [*columns[:3], "network", "mixture"], "table": columns},
        "deep": [], "table": [], "single": [],
    }  # fmt: skip
    for seed in range(seeds):
        data["table"].append(table(game, seed, iterations, TRAVERSALS))
        data["single"].append(table(game, seed, iterations * TRAVERSALS, 1))
        data["deep"].append(deep(game, seed, iterations))
        data["seeds"] = seed + 1
        RESULTS.write_text(
            json.dumps(data).replace("[[[", "[\n[[").replace("]], [[", "]],\n[[") + "\n"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
