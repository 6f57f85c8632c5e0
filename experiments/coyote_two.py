"""Deep CFR on Coyote for two: what a network sees, and how many walks it learns from.

Writes experiments/coyote_two.json, in about ten minutes on one core. Three learners take the
same number of walks: a table, networks that see the words of a label, one input for each, and
networks that see what the game's own `features` say, numbers and flags. With
the most walks, networks of a fourth kind see the same numbers, but are wider and are trained
longer. Each is judged by NashConv of the exact average of its strategies.
"""

import json
import time
from pathlib import Path

import cfrlib as cfr
from cfrlib.games import Coyote

RESULTS = Path(__file__).with_name("coyote_two.json")
ITERATIONS, SEEDS = 15, 3
WALKS = (30, 100, 300, 1_000)  # of each player in each iteration
KINDS = ("table", "words", "numbers")
TRAINING = {"hidden": (64, 64), "steps": 500}
LONGER = {"hidden": (128, 128), "steps": 1_500}


def learn(game: cfr.Game, kind: str, walks: int, seed: int) -> float:
    """Return NashConv after all iterations of one learner."""
    if kind == "table":
        run = cfr.MCCFR(game, "linear", sampling="external", batch=walks, seed=seed)
        return run.run(ITERATIONS, progress=False).solution().nash_conv
    labels = cfr.compile(game).infoset_label
    deep = cfr.deep.DeepCFR(
        game,
        traversals=walks,
        average="mixture",
        advantage=cfr.deep.Training(**(LONGER if kind == "longer" else TRAINING)),
        features=cfr.deep.encode(labels) if kind == "words" else game.features(labels),
        seed=seed,
    )
    return cfr.nash_conv(game, deep.run(ITERATIONS, progress=False).average)


def main() -> None:
    """Run everything and write it down."""
    began, game, runs = time.perf_counter(), Coyote(), []
    for walks in WALKS:
        for kind in (*KINDS, "longer") if walks == max(WALKS) else KINDS:
            for seed in range(SEEDS):
                found = float(f"{learn(game, kind, walks, seed):.4g}")
                runs.append({"kind": kind, "walks": walks, "seed": seed, "nash_conv": found})
                print(runs[-1], flush=True)
    lines = ",\n".join(f"  {json.dumps(run)}" for run in runs)
    head = {"game": repr(game), "iterations": ITERATIONS, "seeds": SEEDS}
    head |= {"training": TRAINING, "longer": LONGER}
    RESULTS.write_text(f'{json.dumps(head)[:-1]}, "runs": [\n{lines}\n]}}\n')
    print(f"{RESULTS} written after {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
