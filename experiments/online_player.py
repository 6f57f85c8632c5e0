"""How exploitable is a player who searches before every move? With more seeds than chapter 9.

An opponent who does not know the seed faces the mean of the strategies of all seeds. The
exploitability of the mean of a few is larger on average, because exploitability is convex.
Standard errors are by the jackknife. Writes online_player.json. Takes about six minutes on one
core:

    python experiments/online_player.py
"""

from itertools import product
from pathlib import Path

import numpy as np
from flat_json import write

import cfrlib as cfr
from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.strategy import strategy_vector

RESULTS = Path(__file__).with_suffix(".json")
GAMES = {
    "Kuhn": cfr.games.KuhnPoker(),
    "Leduc": cfr.games.LeducPoker(merge_suits=True),
}
DELTAS, BUDGETS, SEEDS, FEW = (0, 0.5, 0.9), (100, 1_000, 10_000, 30_000), 128, 2


def plans(game, delta, nodes, seeds=range(SEEDS)):
    """Return the realization plans of the online strategies of some seeds, one row each."""
    form, player = sequence_form(game), cfr.OOS(game, delta=delta)
    found = (player.online_strategy(nodes=nodes, seed=seed) for seed in seeds)
    return np.array([form.plans(strategy_vector(form, each)) for each in found])


def exploitability(game, plan):
    """Return the exploitability of a plan."""
    form = sequence_form(game)
    sigma = np.empty_like(plan)
    behavior(form.treeplexes, plan, sigma)
    return cfr.exploitability(game, cfr.Strategy.from_vector(form, sigma))


def measure(game, rows):
    """Return what the mean of a few seeds loses, on average, and the mean of all, ± error."""
    n, whole = len(rows), rows.sum(0)
    few = [exploitability(game, rows[k : k + FEW].mean(0)) for k in range(0, n, FEW)]
    every = exploitability(game, whole / n)
    without = np.array([exploitability(game, (whole - row) / (n - 1)) for row in rows])
    error = np.sqrt((n - 1) / n * ((without - without.mean()) ** 2).sum())
    return [round(float(x), 5) for x in (np.mean(few), every, error)]


def main():
    """Measure every player and write the file."""
    found = {
        f"{name}, δ = {delta}": [measure(game, plans(game, delta, nodes)) for nodes in BUDGETS]
        for (name, game), delta in product(GAMES.items(), DELTAS)
    }
    write(
        RESULTS,
        {
            "script": "experiments/online_player.py",
            "versions": {"cfrlib": cfr.__version__},
            "seeds": SEEDS,
            "few": FEW,
            "budgets": BUDGETS,
            "columns": ["mean of few", "mean of all", "standard error"],
            "runs": found,
        },
    )


if __name__ == "__main__":
    main()
