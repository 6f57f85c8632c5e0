"""Deep CFR on Kuhn poker: what width, steps, traversals and memory change.

Writes deep_kuhn.json, which chapter 10 of the book draws. About five minutes on two cores:

    python experiments/deep_kuhn.py
"""

import json
from itertools import product
from pathlib import Path

import jax

import cfrlib as cfr
from cfrlib.deep import DeepCFR, Training

RESULTS = Path(__file__).with_suffix(".json")
ITERATIONS = [1, 2, 3, 4, 6, 10, 18, 32]
SEEDS = [0, 1, 2]
WIDTHS, STEPS = [1, 4, 16, 64], [1, 10, 100, 1_000]
TRAVERSALS, MEMORY = [10, 100, 1_000], [100, 1_000, 10_000, 100_000]


def curves(game, **options):
    """Return NashConv at the iterations listed: of the network's average, of the mixture."""
    run = DeepCFR(game, **options)
    network, mixture = [], []
    for t in ITERATIONS:
        run.run(t - run.iterations, progress=False)
        network.append(round(cfr.nash_conv(game, run.average), 5))
        mixture.append(round(cfr.nash_conv(game, run.mixture), 5))
    return {"network": network, "mixture": mixture}


def main():
    """Run the two grids and write the file."""
    game = cfr.games.KuhnPoker()
    networks, walks = [], []
    for width, steps, seed in product(WIDTHS, STEPS, SEEDS):
        training = Training(hidden=(width, width), steps=steps)
        options = {"traversals": 300, "advantage": training, "strategy": training}
        found = curves(game, seed=seed, **options)
        networks.append({"width": width, "steps": steps, "seed": seed, **found})
        print(networks[-1], flush=True)
        if seed == SEEDS[-1]:
            jax.clear_caches()  # each shape is compiled anyway
    for traversals, memory, seed in product(TRAVERSALS, MEMORY, SEEDS):
        found = curves(game, seed=seed, traversals=traversals, memory=memory)
        walks.append({"traversals": traversals, "memory": memory, "seed": seed, **found})
        print(walks[-1], flush=True)
    RESULTS.write_text(
        json.dumps({
            "script": "experiments/deep_kuhn.py", "game": repr(game),
            "versions": {"cfrlib": cfr.__version__, "jax": jax.__version__},
            "iterations": ITERATIONS,
            "networks": networks, "walks": walks,
        }).replace('{"width"', '\n{"width"').replace('{"traversals"', '\n{"traversals"')
        + "\n"
    )  # fmt: skip


if __name__ == "__main__":
    main()
