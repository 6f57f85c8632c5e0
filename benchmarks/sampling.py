"""Benchmark Monte Carlo CFR against OpenSpiel's: part of `make bench`.

Prints tables and writes benchmarks/sampling.json. README.md describes the comparisons.
"""

import json
from pathlib import Path
from statistics import median
from time import perf_counter

from run import GAMES, REPETITIONS, SLICES, machine, pair_record, pyspiel, show

import cfrlib as cfr

RESULTS = Path(__file__).with_name("sampling.json")
SOLVERS = {"external": "ExternalSamplingMCCFRSolver", "outcome": "OutcomeSamplingMCCFRSolver"}
REACH = {"kuhn_poker": 8, "leduc_poker": 8, "liars_dice": 5}
OURS = {"kuhn_poker": 100_000, "leduc_poker": 20_000, "liars_dice": 2_000}  # per slice
THEIRS = {"kuhn_poker": 10_000, "leduc_poker": 1_000, "liars_dice": 200}
SCHEMES = {
    "chance": {"sampling": "chance"},
    "external": {"sampling": "external"},
    "robust, k = 2": {"sampling": cfr.RobustSampling(k=2)},
    "outcome, ε = 0.6": {"sampling": "outcome"},
    "outcome, ε = 0.6, baseline": {"sampling": "outcome", "baseline": 0.5},
    "external, b = 1,000, CFR+": {"sampling": "external", "batch": 1_000, "variant": "cfr+"},
}
SECONDS = {"leduc_poker": 5.0, "liars_dice": 10.0}  # per curve
BATCH = {"leduc_poker": 20_000, "liars_dice": 20_000}  # in the comparison of two threads


class Ours:
    """A run of cfrlib in one thread; `sample` returns microseconds per iteration."""

    def __init__(self, game, **options):
        self.iterations = OURS[game] // options.get("batch", 1) or 1
        self.run = cfr.MCCFR(GAMES[game], seed=0, **{"threads": 1, **options})
        self.run.run(10 * self.iterations, progress=False)

    def sample(self):
        before = self.run.seconds
        self.run.run(self.iterations, progress=False)
        return (self.run.seconds - before) / self.iterations * 1e6


class OpenSpiel:
    """OpenSpiel's C++ solver; an iteration is a traversal for each player, as in cfrlib."""

    def __init__(self, game, scheme):
        self.iterations = THEIRS[game]
        self.solver = getattr(pyspiel, SOLVERS[scheme])(pyspiel.load_game(game))
        for _ in range(10 * self.iterations):
            self.solver.run_iteration()

    def sample(self):
        began = perf_counter()
        for _ in range(self.iterations):
            self.solver.run_iteration()
        return (perf_counter() - began) / self.iterations * 1e6


def pairs():
    """Yield the comparisons: name, game, cfrlib's run, the peer, the ratio to reach."""
    for game, reach in REACH.items():
        for scheme, solver in SOLVERS.items() if pyspiel else ():
            ours = Ours(game, sampling=scheme)
            yield f"OpenSpiel, {solver}", game, ours, OpenSpiel(game, scheme), reach
    for game, batch in BATCH.items():
        one, two = (Ours(game, batch=batch, threads=n) for n in (1, 2))
        yield f"two threads beside one, b = {batch:,}", game, two, one, 1.7


def measure(rows):
    """Return the interleaved samples of each pair; each side counts its fastest slice."""
    samples = {(what, game): ([], []) for what, game, *_ in rows}
    for k in range(REPETITIONS):
        print(f"\rrepetition {k + 1} of {REPETITIONS} ", end="", flush=True)
        for what, game, ours, theirs, _ in rows:
            slices = [(ours.sample(), theirs.sample()) for _ in range(SLICES)]
            for side, times in zip(samples[what, game], zip(*slices, strict=True), strict=True):
                side.append(min(times))
    print()
    return samples


def rates():
    """Yield nodes per second and bytes per node of each scheme on the compiled games."""
    for game in OURS:
        for name, options in SCHEMES.items():
            run = Ours(game, **options).run
            begun = run.nodes, run.seconds
            run.run(seconds=0.5, progress=False)
            rate = (run.nodes - begun[0]) / (run.seconds - begun[1])
            parts = (run._tree.nodes, run._tree.utility, *run._tables, *run._walks.lanes)
            size = sum(part.nbytes for part in parts) / run._tree.num_histories
            yield {"game": game, "scheme": name, "nodes_per_second": rate, "bytes": size}


def curves():
    """Yield exploitability against seconds for every scheme and for full traversals."""
    for game, seconds in SECONDS.items():
        runs = {name: cfr.MCCFR(GAMES[game], seed=0, **o) for name, o in SCHEMES.items()}
        runs = {
            f"whole tree, {name}": cfr.CFR(GAMES[game], name) for name in ("cfr", "cfr+")
        } | runs
        for name, run in runs.items():
            print(f"\r{game}, {name:32}", end="", flush=True)
            run.run(seconds=seconds, progress=False)
            trace = run.trace
            yield {
                "game": game, "scheme": name, "seconds": trace.seconds.tolist(),
                "exploitability": trace.exploitability.tolist(),
            }  # fmt: skip
    print("\r" + " " * 60 + "\r", end="")


def main():
    where, rows = machine(), list(pairs())
    samples = measure(rows)
    result = {
        "machine": where,
        "pairs": [pair_record(w, g, reach, *samples[w, g]) for w, g, _, _, reach in rows],
        "rates": list(rates()),
        "curves": list(curves()),
    }
    show(
        [
            (
                row["what"], row["game"], f"{median(row['ours_us']):.2f} µs",
                f"{median(row['peer_us']):,.1f} µs", f"{row['ratio']:.3g}x",
                f">= {row['reach']}x", "yes" if row["reached"] else "NO",
            )
            for row in result["pairs"]
        ],
        ("per iteration", "game", "cfrlib", "peer", "ratio", "reach", "reached"),
    )  # fmt: skip
    show(
        [
            (
                row["game"], row["scheme"], f"{row['nodes_per_second'] / 1e6:.1f} million/s",
                f"{row['bytes']:,.0f}",
            )
            for row in result["rates"]
        ],
        ("game", "scheme", "nodes", "bytes per history"),
    )  # fmt: skip
    print(", ".join(f"{name} {value}" for name, value in where.items()))
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
