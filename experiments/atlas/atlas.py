"""The ablation atlas: each regret rule of the CFR family at each averaging weight.

    python experiments/atlas/atlas.py            the whole grid, into atlas.csv (resumable)
    python experiments/atlas/atlas.py --games 3  only games number 0, 1 and 2

A run is set by a game, the exponents α and β, the prediction strength λ and the order of the
updates. Averaging does not influence a run, so each run gives the averages for all weights
(t − d)^γ at once. README.md describes the columns.
"""

import argparse
import csv
from itertools import product
from math import inf
from pathlib import Path

import numpy as np

import cfrlib as cfr
from cfrlib.bands import band_layout, iterate_bands
from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.regret import Rule

RESULTS = Path(__file__).with_suffix(".csv")
GAMES = {
    "biased RPS": lambda: cfr.games.RockPaperScissors(3),
    "Colonel Blotto": cfr.games.ColonelBlotto,
    "Kuhn poker": cfr.games.KuhnPoker,
    "Kuhn, 13 cards": lambda: cfr.games.KuhnPoker(13),
    "Goofspiel, 4 cards": lambda: cfr.games.Goofspiel(4, prizes="descending"),
    "liar's dice, 3 faces": lambda: cfr.games.LiarsDice(3),
    "liar's dice, 4 faces": lambda: cfr.games.LiarsDice(4),
    "Leduc poker": cfr.games.LeducPoker,
}
ALPHA, BETA = (1, 1.5, 2.3, inf), (-inf, 0, 1, inf)
LAMBDA = (0, 1 / 3, 1)
ORDERS = ("alternating", "simultaneous")
GAMMA = (0, 1, 2, 5)
ITERATIONS = (10, 100, 1_000, 10_000)
DELAYED = ("none", "half")  # d = 0 or T / 2
FLOOR = 1e-15  # smaller exploitabilities are rounding errors
HEADER = ("game", "alpha", "beta", "lambda", "order", "gamma", "delay", *ITERATIONS)


def averages_of_run(form, rule, iterations):
    """Yield T, the last iterate and {(γ, delay): average} at each T in `iterations`.

    The weight of iteration t is (t − d)^γ for every γ of GAMMA, with d = 0 and with d = T / 2.
    """
    layout, sigma = band_layout(form), form.uniform()
    tables = layout.new_tables(sigma, form.plans(sigma))
    late = {T: np.zeros((len(GAMMA), len(sigma))) for T in iterations}
    whole = np.zeros((len(GAMMA), len(sigma)))
    exponents = np.array(GAMMA, float)

    def average(total):
        found = np.empty(len(sigma))
        behavior(form.treeplexes, layout.unpack(total), found)
        return found

    for t in range(1, max(iterations) + 1):
        whole += np.outer(float(t) ** exponents, tables.plan)
        for T, total in late.items():
            if T // 2 < t <= T:
                total += np.outer(float(t - T // 2) ** exponents, tables.plan)
        iterate_bands(layout.bands, tables, rule, t, 1)
        if t in late:
            sums = zip(DELAYED, (whole, late[t]), strict=True)
            found = {
                (gamma, delay): average(total[g])
                for delay, total in sums
                for g, gamma in enumerate(GAMMA)
            }
            yield t, layout.unpack(tables.sigma), found


def measure(game, alpha, beta, prediction, order, iterations=ITERATIONS):
    """Return {(γ, delay): exploitabilities at each T}; ("last", "") is the last iterate.

    The rule's own γ is 0 because the weights are applied outside the run.
    """
    form = sequence_form(game)
    rule = Rule(alpha, beta, 0.0, prediction, 0, order == "alternating", False)
    table = {}
    for _, last, found in averages_of_run(form, rule, iterations):
        for key, sigma in {**found, ("last", ""): last}.items():
            strategy = cfr.Strategy.from_vector(form, sigma)
            table.setdefault(key, []).append(cfr.exploitability(game, strategy))
    return table


def rows(name, point):
    """Return the lines of the file for one run."""
    alpha, beta, prediction, order = point
    table = measure(GAMES[name](), *map(float, point[:3]), order)
    label = (name, alpha, beta, round(prediction, 3), order)
    return [
        (*label, *key, *(f"{max(e, FLOOR):.2e}" for e in found)) for key, found in table.items()
    ]


def main():
    """Run what the file lacks."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--games", type=int, default=len(GAMES))
    chosen = list(GAMES)[: parser.parse_args().games]
    done = set()
    if RESULTS.exists():
        with RESULTS.open() as file:
            done = {tuple(row[:5]) for row in csv.reader(file)}
    else:
        with RESULTS.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow(HEADER)
    for name, point in product(chosen, product(ALPHA, BETA, LAMBDA, ORDERS)):
        label = (name, *map(str, (*point[:2], round(point[2], 3), point[3])))
        if label not in done:
            lines = rows(name, point)
            with RESULTS.open("a", newline="") as file:
                csv.writer(file, lineterminator="\n").writerows(lines)
            print(*label, flush=True)


if __name__ == "__main__":
    main()
