"""The last iterate of fourteen methods on five games, for chapter 15.

Writes last_iterate.json after each part. Takes about seven minutes on one processor. Nothing is
random. Parts; name some to run only those:

    python experiments/last_iterate.py [settings] [long] [strength] [larger]

settings : for the methods with a step size, the best of a grid after 1,000 iterations: the
    smallest "largest exploitability of the current strategy at 500, 600, ..., 1,000".
long : exploitability of the last, the best and the average iterate (weights t) at checkpoints
    up to 30,000 iterations.
strength : PRM+ with alternating updates for several prediction strengths λ, up to 30,000
    iterations of Leduc poker and of liar's dice with 4 faces.
larger : six of the methods, up to 30,000 iterations, on two larger games; RTCFR+ with its μ in
    chips and in units of the largest payoff; and the average with weights t⁵ of the best one.
"""

import json
import sys
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path

import numpy as np
from flat_json import write

import cfrlib as cfr
from cfrlib.last_iterate import MirrorDescent, RegretMatching, follow

RESULTS = Path(__file__).with_suffix(".json")
GAMES = {
    "3x3 game": cfr.games.MatrixGame([[3, 0, -3], [0, 3, -4], [0, 0, 1]]),
    "biased RPS": cfr.games.RockPaperScissors(3),
    "Kuhn poker": cfr.games.KuhnPoker(),
    "liar's dice": cfr.games.LiarsDice(3),
    "Leduc poker": cfr.games.LeducPoker(),
}
RM = RegretMatching
PLAIN = {
    "RM": RM(floor=False),
    "RM+": RM(),
    "RM+, alternating": RM(alternating=True),
    "PRM+": RM(prediction=1),
    "PRM+, alternating": RM(prediction=1, alternating=True),
    "PRM+ 1/3, alternating": RM(prediction=1 / 3, alternating=True),
    "norm-keeping PRM+": RM(prediction=1, keep_norm=True),
    "RTCFR+ (published)": RM(mu=1e-3, gamma=1e-10, stage=100, alternating=True),
}
LEAST = [0.01, 0.1, 0.3, 1, 3, 10]
STEPS = [0.3, 1, 3, 10, 30, 100]
GRIDS = {
    "smooth PRM+": [RM(prediction=1, least=c) for c in LEAST],
    "extragradient RM+": [RM(look_ahead="extragradient", least=c) for c in LEAST],
    "RTCFR+ (tuned)": [
        RM(mu=mu, gamma=1e-10, stage=stage, alternating=True)
        for mu, stage in product([1, 0.1, 0.01, 0.001, 0.0001], [10, 100])
    ],
    "magnetic mirror descent": [
        MirrorDescent(eta=eta, tau=tau, stage=100)
        for eta, tau in product(STEPS, [0.003, 0.03, 0.3])
    ],
    "mirror prox": [MirrorDescent(eta=eta, look_ahead="extragradient") for eta in STEPS],
    "optimistic mirror descent": [
        MirrorDescent(eta=eta, look_ahead="optimistic") for eta in STEPS
    ],
}
LARGER = {
    "Leduc poker": GAMES["Leduc poker"],
    "Leduc, 4 ranks": cfr.games.LeducPoker(4, merge_suits=True),
    "dice, 4 faces": cfr.games.LiarsDice(4),
}
KEPT = [
    "RM+, alternating", "PRM+, alternating", "PRM+ 1/3, alternating", "norm-keeping PRM+",
    "RTCFR+ (published)",
]  # fmt: skip
LOOK = [500, 600, 700, 800, 900, 1_000]
STRENGTHS = [0, 1 / 6, 1 / 3, 1 / 2, 2 / 3, 1]
LONG = 30_000


def digits(numbers):
    return [float(f"{x:.3g}") for x in numbers]


def checkpoints(last):
    return sorted({*np.geomspace(1, last, 61).round().astype(int).tolist(), 1_000})


def settings():
    """Return the best setting of each grid in each game, and the score of all."""
    found = {}
    for (name, grid), (title, game) in product(GRIDS.items(), GAMES.items()):
        scores = [float(follow(game, method, LOOK).last.max()) for method in grid]
        best = int(np.argmin(np.maximum(scores, 1e-12)))  # below that, the first one
        found[f"{name} | {title}"] = {"method": asdict(grid[best]), "scores": digits(scores)}
        print(name, title, grid[best], f"{scores[best]:.1e}", flush=True)
    return found


def curve(game, method):
    marks = checkpoints(LONG)
    found = follow(game, method, marks)
    return {name: digits(getattr(found, name)) for name in ("last", "best", "average")}


def chosen(results, name, title):
    """Return a method with its setting for a game."""
    if name in PLAIN:
        return PLAIN[name]
    return type(GRIDS[name][0])(**results["settings"][f"{name} | {title}"]["method"])


def long(results):
    found = {}
    for name, (title, game) in product([*PLAIN, *GRIDS], GAMES.items()):
        found[f"{name} | {title}"] = curve(game, chosen(results, name, title))
        print(name, title, found[f"{name} | {title}"]["last"][-1], flush=True)
    return found


def strength():
    games = {"Leduc poker": GAMES["Leduc poker"], "dice, 4 faces": cfr.games.LiarsDice(4)}
    return {
        f"{lam:.3g} | {title}": curve(game, RM(prediction=lam, alternating=True))
        for lam, (title, game) in product(STRENGTHS, games.items())
    }


def larger():
    found = {}
    for title, game in LARGER.items():
        unit = float(np.abs(cfr.compile(game).utility).max())
        methods = {name: PLAIN[name] for name in KEPT}
        methods["RTCFR+, largest payoff"] = replace(PLAIN["RTCFR+ (published)"], mu=1e-3 * unit)
        for name, method in methods.items():
            found[f"{name} | {title}"] = curve(game, method)
            print(
                name,
                title,
                {k: v[-1] for k, v in found[f"{name} | {title}"].items()},
                flush=True,
            )
        late = follow(game, PLAIN["PRM+ 1/3, alternating"], checkpoints(LONG), weight=5)
        found[f"PRM+ 1/3, weights t⁵ | {title}"] = {"average": digits(late.average)}
    return found


def main(parts):
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results["checkpoints"], results["look"] = checkpoints(LONG), LOOK
    results["grids"] = {name: [asdict(m) for m in grid] for name, grid in GRIDS.items()}
    for part in parts or ["settings", "long", "strength", "larger"]:
        results[part] = long(results) if part == "long" else globals()[part]()
        write(RESULTS, results)


if __name__ == "__main__":
    main(sys.argv[1:])
