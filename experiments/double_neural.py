"""Double Neural CFR on Kuhn and Leduc poker: architectures, training steps, rehearsal.

Writes double_neural.json, which chapter 11 of the book draws, after each part. Takes about
twenty minutes on one processor; name parts to run only those:

    python experiments/double_neural.py [kuhn] [forget] [faults] [leduc] [unit]
"""

import json
import sys
from itertools import product
from pathlib import Path

import jax
import numpy as np

import cfrlib as cfr
from cfrlib.deep import DeepCFR, DoubleNeural, Training

RESULTS = Path(__file__).with_suffix(".json")
KINDS = {
    "places": (None, False),
    "GRU": ("gru", False), "GRU, attention": ("gru", True),
    "LSTM": ("lstm", False), "LSTM, attention": ("lstm", True),
}  # fmt: skip
ITERATIONS = [1, 2, 3, 4, 6, 10, 18, 32]
KUHN = {"batch": 300, "width": 16, "steps": [10, 50, 250], "seeds": [0, 1, 2]}
FORGET = {"batch": [3, 30, 300], "rehearse": [0.0, 0.25, 1.0], "seeds": [0, 1, 2]}
FORGET_ITERATIONS = [1, 2, 4, 8, 16, 32, 64, 128]
FAULTS = {
    "batch": 3, "width": 32, "steps": 100, "rate": 0.01, "seeds": list(range(10)),
    "iterations": [1, 2, 3, 5, 8, 13, 20, 30, 50, 90, 150],
}  # fmt: skip
LEDUC = {
    "k": 2, "batch": 1_500, "width": 32, "steps": 300, "rows": 128, "rate": 0.01,
    "seeds": [0, 1],
}  # fmt: skip
LEDUC_ITERATIONS = [1, 2, 3, 4, 6, 10, 14, 20]


def training(kind, width, steps, rows=None, rate=0.005):
    """Return an architecture of two layers, or of a cell and a layer, of the given width."""
    cell, attention = KINDS[kind]
    return Training((width, width), steps, rows, rate, cell, attention)


class Raw(DoubleNeural):
    """A variant that learns sums scaled by their root mean square, without the logarithm."""

    _scale = (1.0, 1.0)

    def _compress(self, n, sums):
        scale = float(np.sqrt(np.mean(sums**2))) or 1.0
        self._scale = tuple(scale if m == n else s for m, s in enumerate(self._scale))
        return sums / scale

    def _decompress(self, n, predicted):
        return np.maximum(predicted, 0.0) * self._scale[n]


class Anew(DoubleNeural):
    """A variant that reinitializes both networks in each iteration, with the same targets."""

    def _train(self, t, n, sums):
        self._networks[n] = self._learners[n].initial_weights(self._training_key(t, 2 + n))
        return super()._train(t, n, sums)


def curve(run, iterations):
    """Return [NashConv, nodes, seconds] at the given iterations."""
    rows = []
    for t in iterations:
        run.run(t - run.iterations, progress=False)
        conv = cfr.nash_conv(run.game, run.average)
        rows.append([round(conv, 5), run.nodes, round(run.seconds, 2)])
    print(repr(run), rows[-1], flush=True)
    return rows


def kuhn():
    """Compare architectures and steps on Kuhn poker with a table on the same walks."""
    game, rows, table = cfr.games.KuhnPoker(), [], []
    for kind, steps in product(KINDS, KUHN["steps"]):
        net = training(kind, KUHN["width"], steps)
        for seed in KUHN["seeds"]:
            options = {"batch": KUHN["batch"], "regret": net, "strategy": net}
            found = curve(DoubleNeural(game, **options, seed=seed), ITERATIONS)
            conv = [row[0] for row in found]
            rows.append({"kind": kind, "steps": steps, "seed": seed, "conv": conv})
        jax.clear_caches()  # the next architecture compiles anew anyway
    for seed in KUHN["seeds"]:
        run = cfr.MCCFR(
            game, "cfr+", sampling=cfr.RobustSampling(1), batch=KUHN["batch"], seed=seed
        )
        table.append([row[0] for row in curve(run, ITERATIONS)])
    return {**KUHN, "iterations": ITERATIONS, "rows": rows, "table": table}


def forget():
    """Compare batch sizes and rehearsal fractions on Kuhn poker, with one-hot positions."""
    game, rows = cfr.games.KuhnPoker(), []
    net = training("places", 16, 100)
    for batch, rehearse, seed in product(*FORGET.values()):
        options = {"batch": batch, "rehearse": rehearse, "regret": net, "strategy": net}
        found = curve(DoubleNeural(game, **options, seed=seed), FORGET_ITERATIONS)
        conv = [row[0] for row in found]
        rows.append({"batch": batch, "rehearse": rehearse, "seed": seed, "conv": conv})
    return {**FORGET, "iterations": FORGET_ITERATIONS, "rows": rows}


def faulty(fault, seed):
    """Return a run on Kuhn poker with tiny batches and one of the chapter's faults, or none."""
    game, options = cfr.games.KuhnPoker(), {"batch": FAULTS["batch"], "seed": seed}
    if fault == "table":
        return cfr.MCCFR(game, "cfr+", sampling=cfr.RobustSampling(1), **options)
    steps = 1 if fault == "one step" else FAULTS["steps"]
    net = training("places", FAULTS["width"], steps, rate=FAULTS["rate"])
    kind = {"new networks": Anew, "raw sums": Raw}.get(fault, DoubleNeural)
    rehearse = 0.0 if fault == "visited only" else 1.0
    return kind(game, **options, regret=net, strategy=net, rehearse=rehearse)


def faults():
    """Compare the chapter's faults with so few walks that most infosets are not visited."""
    names = ("table", "nothing", "visited only", "new networks", "raw sums", "one step")
    runs = {
        name: [
            [row[0] for row in curve(faulty(name, seed), FAULTS["iterations"])]
            for seed in FAULTS["seeds"]
        ]
        for name in names
    }
    return {**FAULTS, "runs": runs}


def leduc():
    """Compare all architectures on Leduc poker with a table on the same walks and Deep CFR."""
    game, at = cfr.games.LeducPoker(), LEDUC_ITERATIONS
    walks = {"sampling": cfr.RobustSampling(LEDUC["k"]), "batch": LEDUC["batch"]}
    found = {name: [] for name in ("table", "Deep CFR", *KINDS)}
    for seed in LEDUC["seeds"]:
        found["table"].append(curve(cfr.MCCFR(game, "cfr+", **walks, seed=seed), at))
        run = DeepCFR(game, traversals=LEDUC["batch"], seed=seed)
        found["Deep CFR"].append(curve(run, at))
    for kind, seed in product(KINDS, LEDUC["seeds"]):
        net = training(kind, *(LEDUC[name] for name in ("width", "steps", "rows", "rate")))
        options = {**walks, "regret": net, "strategy": net, "seed": seed}
        found[kind].append(curve(DoubleNeural(game, **options), at))
    return {**LEDUC, "iterations": at, "runs": found}


def unit():
    """Compare targets in logarithms with raw sums on Leduc poker, with full-batch steps."""
    game, at, net = cfr.games.LeducPoker(), LEDUC_ITERATIONS, Training(steps=200)
    walks = {"sampling": cfr.RobustSampling(LEDUC["k"]), "batch": LEDUC["batch"]}
    found = {"logarithm": [], "raw sums": []}
    for seed in LEDUC["seeds"]:
        for name, kind in zip(found, (DoubleNeural, Raw), strict=True):
            run = kind(game, **walks, regret=net, strategy=net, seed=seed)
            found[name].append([row[0] for row in curve(run, at)])
    return {"iterations": at, "steps": net.steps, "runs": found}


PARTS = {"kuhn": kuhn, "forget": forget, "faults": faults, "leduc": leduc, "unit": unit}


def main(*parts):
    """Run the given parts, or all; the rest of the file is kept."""
    data = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {}
    data["script"] = "experiments/double_neural.py"
    data["versions"] = {"cfrlib": cfr.__version__, "jax": jax.__version__}
    for part in parts or PARTS:
        data[part] = PARTS[part]()
        text = json.dumps(data)
        for name in ('{"kind"', '{"batch": 1', "[[["):
            text = text.replace(name, f"\n{name}")
        RESULTS.write_text(text + "\n", "utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
