"""Double Neural CFR and Deep CFR on Leduc poker with equal numbers of histories visited.

Writes double_neural_leduc.json, which chapter 11 of the book draws, after each run, and
continues what the file holds. Ten seeds take about twenty minutes on one idle processor:

    python experiments/double_neural_leduc.py [--seeds 10] [--minutes 60]
"""

import argparse
import json
from functools import partial
from pathlib import Path
from time import monotonic

import jax
from double_neural import KINDS, curve, training

import cfrlib as cfr
from cfrlib.deep import DeepCFR, DoubleNeural

RESULTS = Path(__file__).with_suffix(".json")
ITERATIONS = [1, 2, 3, 4, 6, 10, 14, 20]
K, BATCH = 2, 1_500
TRAVERSALS = 1_250  # of external sampling; they visit as many histories as BATCH with k = 2
NETWORK = {"width": 32, "steps": 300, "rows": 128, "rate": 0.01}


def table(game, seed):
    """Return a run of tabular MCCFR+ with robust sampling."""
    return cfr.MCCFR(game, "cfr+", sampling=cfr.RobustSampling(K), batch=BATCH, seed=seed)


def control(game, seed):
    """Return a run of tabular linear MCCFR with the walks of Deep CFR."""
    return cfr.MCCFR(game, "linear", sampling="external", batch=TRAVERSALS, seed=seed)


def deep(game, seed, **options):
    """Return a run of Deep CFR."""
    return DeepCFR(game, traversals=TRAVERSALS, seed=seed, **options)


def double(kind, game, seed):
    """Return a run of Double Neural CFR with networks of the given kind."""
    net = training(kind, **NETWORK)
    sampling = cfr.RobustSampling(K)
    return DoubleNeural(
        game, sampling=sampling, batch=BATCH, regret=net, strategy=net, seed=seed
    )


SMALL = training("places", **NETWORK)
METHODS = {
    "table": table,
    "linear table": control,
    "Deep CFR": deep,
    "Deep CFR, mixture": partial(deep, average="mixture"),
    "small Deep CFR": partial(deep, advantage=SMALL, strategy=SMALL),
    "small Deep CFR, mixture": partial(deep, advantage=SMALL, average="mixture"),
    **{kind: partial(double, kind) for kind in KINDS},
}


def write(runs):
    """Write the file, one curve a line."""
    data = {
        "script": "experiments/double_neural_leduc.py",
        "versions": {"cfrlib": cfr.__version__, "jax": jax.__version__},
        "k": K, "batch": BATCH, "traversals": TRAVERSALS, **NETWORK,
        "iterations": ITERATIONS, "columns": ["NashConv", "nodes", "seconds"], "runs": runs,
    }  # fmt: skip
    RESULTS.write_text(json.dumps(data).replace("[[", "\n[[") + "\n", "utf-8")


def main(seeds, minutes):
    """Run all methods seed by seed; begin no seed after the given minutes."""
    game, began = cfr.games.LeducPoker(), monotonic()
    runs = json.loads(RESULTS.read_text("utf-8"))["runs"] if RESULTS.exists() else {}
    runs = {name: runs.get(name, []) for name in METHODS}
    for seed in range(seeds):
        if monotonic() - began > 60 * minutes:
            break
        for name, method in METHODS.items():
            if len(runs[name]) == seed:
                runs[name].append(curve(method(game, seed), ITERATIONS))
                write(runs)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    main(**vars(parser.parse_args()))
