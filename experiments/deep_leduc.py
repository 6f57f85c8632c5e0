"""Deep CFR on Leduc poker beside the table, and beside OpenSpiel's in the same time.

Writes deep_leduc.json, which chapter 10 of the book draws, after each seed. A seed takes about
four minutes on two quiet cores. OpenSpiel's solver, if it is installed, runs with the
hyper-parameters of its own example, and may finish the iteration that our seconds end in:

    python experiments/deep_leduc.py [seeds] [iterations]
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import jax

import cfrlib as cfr
from cfrlib.deep import DeepCFR

RESULTS = Path(__file__).with_suffix(".json")
TRAVERSALS = 1_500
sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
from deep import EXAMPLE  # noqa: E402, OpenSpiel's own settings


def checkpoints(iterations):
    """Return 1, 2, 3, 4, 6, 7, 10, 13, …, and the last."""
    grid = {round(10 ** (k / 8)) for k in range(33)}
    return [*sorted(t for t in grid if t < iterations), iterations]


def deep(game, seed, iterations):
    """Run Deep CFR; measure both averages of the same run."""
    run, rows = DeepCFR(game, traversals=TRAVERSALS, seed=seed), []
    for t in checkpoints(iterations):
        run.run(t - run.iterations, progress=False)
        averages = (run.average, run.mixture)
        conv = [round(cfr.nash_conv(game, average), 5) for average in averages]
        rows.append([t, run.nodes, round(run.seconds, 1), *conv])
        print(seed, rows[-1], flush=True)
    return rows


def table(game, seed, iterations, batch):
    """Run linear CFR with external sampling in a table."""
    run = cfr.MCCFR(game, "linear", sampling="external", batch=batch, seed=seed)
    run.run(iterations, progress=False)
    trace = run.trace
    columns = (trace.iterations, trace.nodes, trace.seconds, 2 * trace.exploitability)
    return [
        [int(t), int(nodes), round(float(seconds), 3), round(float(conv), 5)]
        for t, nodes, seconds, conv in zip(*columns, strict=True)
    ]


def openspiel(seed, budget):
    """Run OpenSpiel's solver for so many seconds, or return None where it is not installed."""
    try:
        import pyspiel
        from open_spiel.python import policy
        from open_spiel.python.algorithms import exploitability
        from open_spiel.python.jax.deep_cfr import DeepCFRSolver
    except ImportError:
        return None

    class Timed(DeepCFRSolver):
        def _learn_advantage_network(self, player):
            loss = super()._learn_advantage_network(player)
            if player == 1 and perf_counter() - began > budget:
                raise TimeoutError
            return loss

    game = pyspiel.load_game("leduc_poker")
    solver = Timed(game, num_iterations=10**6, seed=seed, **EXAMPLE)
    began = perf_counter()
    try:
        solver.solve()
    except TimeoutError:
        solver._iteration += 1
    seconds = perf_counter() - began
    solver._learn_strategy_network()
    average = policy.tabular_policy_from_callable(game, solver.action_probabilities)
    conv = exploitability.nash_conv(game, average)
    return [solver._iteration - 1, round(seconds, 1), round(conv, 5)]


def main(seeds=5, iterations=100):
    """Run the seeds one after another; the file holds those done so far."""
    game = cfr.games.LeducPoker()
    columns = ["iterations", "nodes", "seconds", "NashConv"]
    data = {
        "script": "experiments/deep_leduc.py", "game": repr(game),
        "versions": {"cfrlib": cfr.__version__, "jax": jax.__version__},
        "traversals": TRAVERSALS,
        "columns": {"deep": [*columns[:3], "network", "mixture"], "table": columns,
                    "openspiel": ["iterations", "seconds", "NashConv"]},
        "deep": [], "table": [], "single": [], "openspiel": [],
    }  # fmt: skip
    for seed in range(seeds):
        data["table"].append(table(game, seed, iterations, TRAVERSALS))
        data["single"].append(table(game, seed, iterations * TRAVERSALS, 1))
        data["deep"].append(deep(game, seed, iterations))
        data["openspiel"].append(openspiel(seed, data["deep"][-1][-1][2]))
        data["seeds"] = seed + 1
        RESULTS.write_text(
            json.dumps(data).replace("[[[", "[\n[[").replace("]], [[", "]],\n[[") + "\n"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
