"""What each replacement of Deep CFR costs on Kuhn poker: the runs of chapter 10 with 100 seeds.

The algorithm is the chapter's own, read from its cells as in deep_faults.py. Each seed gives
three runs: with sums, with memories, and with networks. Writes deep_steps.json, from which the
chapter computes paired differences. Takes about two minutes on one core:

    python experiments/deep_steps.py
"""

from itertools import product
from pathlib import Path

import jax
from deep_faults import page
from flat_json import write

import cfrlib as cfr

RESULTS = Path(__file__).with_suffix(".json")
TRAVERSALS, ITERATIONS, SEEDS = 300, 20, 100
AVERAGES = {"sums": ["memory"], "rows": ["memory"], "network": ["memory", "network", "mixture"]}


def curves(chapter, learn, seed, iterations=ITERATIONS):
    """Return NashConv of each kind of average at the chapter's checkpoints."""
    kuhn = chapter.world(cfr.games.KuhnPoker())
    curve = chapter.deep_cfr(kuhn, iterations, TRAVERSALS, seed, learn).curve
    return {
        average: [round(found[average], 5) for found in curve.values()]
        for average in AVERAGES[learn]
    }


def main():
    """Make every run and write the file."""
    chapter = page()
    runs = {learn: {kind: [] for kind in kinds} for learn, kinds in AVERAGES.items()}
    for learn, seed in product(AVERAGES, range(SEEDS)):
        for average, row in curves(chapter, learn, seed).items():
            runs[learn][average].append(row)
    write(RESULTS, {
        "script": "experiments/deep_steps.py",
        "versions": {"cfrlib": cfr.__version__, "jax": jax.__version__},
        "traversals": TRAVERSALS,
        "iterations": [t for t in chapter.LOOK if t <= ITERATIONS],
        **runs,
    })  # fmt: skip


if __name__ == "__main__":
    main()
