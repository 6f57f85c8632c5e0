"""Benchmark Deep CFR on Kuhn poker against OpenSpiel's, over many seeds: part of `make bench`.

Each cfrlib run has a process of its own, so its seconds include starting Python, compiling and
training. OpenSpiel's solver runs with the hyperparameters of its own example
(open_spiel/python/examples/deep_cfr_jax.py). Writes benchmarks/deep.json.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import median
from time import perf_counter

from run import machine, pyspiel, show

RESULTS = Path(__file__).with_name("deep.json")
SEEDS, ITERATIONS, TRAVERSALS = 20, 80, 1_000
EXAMPLE = {  # hyperparameters of OpenSpiel's example
    "policy_network_layers": (64,), "advantage_network_layers": (64,), "num_traversals": 375,
    "reinitialize_advantage_networks": True, "learning_rate": 1e-3,
    "batch_size_advantage": 256, "batch_size_strategy": 256, "memory_capacity": 100_000,
    "policy_network_train_steps": 2_500, "advantage_network_train_steps": 375,
}  # fmt: skip
EXAMPLE_ITERATIONS = 101


def ours(seed):
    """Return the result of one cfrlib run; called in a process of its own."""
    import cfrlib as cfr

    run = cfr.deep.DeepCFR(cfr.games.KuhnPoker(), traversals=TRAVERSALS, seed=seed)
    run.run(ITERATIONS, progress=False)
    solution = run.solution()
    return {
        "seed": seed, "nash_conv": solution.nash_conv,
        "mixture_nash_conv": cfr.nash_conv(run.game, run.mixture),
        "iteration_seconds": run.seconds / ITERATIONS,
    }  # fmt: skip


def all_ours():
    """Yield the result of each cfrlib run, with the seconds of its process."""
    for seed in range(SEEDS):
        print(f"\rseed {seed + 1} of {SEEDS} ", end="", flush=True)
        began = perf_counter()
        done = subprocess.run(
            [sys.executable, __file__, "--seed", str(seed)], capture_output=True, check=True
        )
        yield {**json.loads(done.stdout), "seconds": perf_counter() - began}
    print()


def openspiel():
    """Return the result of one run of OpenSpiel's solver, with its time per iteration."""
    from open_spiel.python import policy
    from open_spiel.python.algorithms import exploitability
    from open_spiel.python.jax import deep_cfr

    game = pyspiel.load_game("kuhn_poker")
    began = perf_counter()
    solver = deep_cfr.DeepCFRSolver(game, num_iterations=EXAMPLE_ITERATIONS, **EXAMPLE)
    solver.solve()
    seconds = perf_counter() - began
    average = policy.tabular_policy_from_callable(game, solver.action_probabilities)
    return {
        "nash_conv": exploitability.nash_conv(game, average), "seconds": seconds,
        "iterations": EXAMPLE_ITERATIONS, "iteration_seconds": seconds / EXAMPLE_ITERATIONS,
    }  # fmt: skip


def goals(runs, theirs):
    """Return a row for each goal: name, measured value, goal, whether it is reached."""
    found = [run["nash_conv"] for run in runs]
    slowest = max(run["seconds"] for run in runs)
    rows = [
        ("NashConv, largest of the seeds", f"{max(found):.4f}", "<= 0.06", max(found) <= 0.06),
        ("NashConv, median", f"{median(found):.4f}", "<= 0.03", median(found) <= 0.03),
        ("seconds, slowest, all included", f"{slowest:.1f}", "<= 40", slowest <= 40),
    ]
    if theirs:
        mean = median(run["iteration_seconds"] for run in runs)
        ratio, conv = theirs["iteration_seconds"] / mean, theirs["nash_conv"]
        rows += [
            ("OpenSpiel's iteration, beside ours", f"{ratio:.1f}x", ">= 30x", ratio >= 30),
            ("its NashConv", f"{conv:.4f}", "at least ours", conv >= median(found)),
        ]
    return [(*row[:3], "yes" if row[3] else "NO") for row in rows]


def main():
    where, runs = machine(), list(all_ours())
    theirs = openspiel() if pyspiel else None
    table = goals(runs, theirs)
    show(table, ("Deep CFR on Kuhn poker", "measured", "reach", "reached"))
    result = {
        "machine": where, "iterations": ITERATIONS, "traversals": TRAVERSALS, "ours": runs,
        "openspiel": theirs, "table": table,
    }  # fmt: skip
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int)
    seed = parser.parse_args().seed
    if seed is None:
        main()
    else:
        print(json.dumps(ours(seed)))
