"""Benchmark Monte Carlo CFR on a game too large to compile: part of `make bench`.

Prints a table and writes benchmarks/large.json. README.md describes the comparisons.
"""

import json
import random
from collections import defaultdict
from itertools import count
from pathlib import Path
from statistics import mean, stdev
from time import perf_counter

import numpy as np
from run import REPETITIONS, child, machine, pyspiel, show
from sampling import SOLVERS
from scipy.stats import t as student

import cfrlib as cfr
from cfrlib import Chance, Terminal

RESULTS = Path(__file__).with_name("large.json")
SECONDS = 1.5  # of each sample
BATCH = {"external": 64, "outcome": 20_000}  # where a batch is shared
EPSILON = 0.6  # of outcome sampling, as in both programs
MEMORY = """
import cfrlib as cfr
run = cfr.MCCFR(cfr.games.LiarsDice(6, 2), on_demand=True, threads=1, seed=0)
while run._tree.num_infosets < {infosets}:
    run.run(1_000, progress=False)
with open("/proc/self/status") as file:  # not ru_maxrss, which starts at the parent's value
    peak = sum(int(line.split()[1]) / 1000 for line in file if line.startswith("VmHWM"))
print(peak, run._tree.num_infosets)
"""


class InPython(cfr.games.LiarsDice):
    """Liar's dice without rules that compile."""

    rules = None


GAMES = {"rules in Python": InPython(6, 2), "compiled rules": cfr.games.LiarsDice(6, 2)}


class Ours:
    """A run of cfrlib; `sample` returns walks per second."""

    def __init__(self, rules, scheme, **options):
        self.run = cfr.MCCFR(
            GAMES[rules], sampling=scheme, on_demand=True, seed=0, **{"threads": 1, **options}
        )
        self.run.run(2, progress=False)

    def sample(self):
        began, before = self.run.seconds, self.run.iterations
        self.run.run(seconds=SECONDS, progress=False)
        iterations = self.run.iterations - before
        return 2 * self.run.batch * iterations / (self.run.seconds - began)


class Theirs:
    """Another solver, by a function that runs an iteration: a walk for each player."""

    def __init__(self, iterate):
        self.iterate = iterate
        iterate()

    def sample(self):
        began = perf_counter()
        for n in count(1):
            self.iterate()
            if (seconds := perf_counter() - began) > SECONDS:
                return 2 * n / seconds


class Plain:
    """A recursion over the game's own `node` and `step`, with tables in dictionaries."""

    def __init__(self, game, scheme):
        self.game, self.outcome, self.rng = game, scheme == "outcome", random.Random(0)
        self.R, self.S = defaultdict(float), defaultdict(float)

    def iterate(self):
        for i in range(2):
            self.walk(self.game.root(), i, 1.0)

    def match(self, I, actions):
        gains = {a: max(self.R[I, a], 0.0) for a in actions}
        total = sum(gains.values())
        return {a: g / total if total > 0 else 1 / len(actions) for a, g in gains.items()}

    def draw(self, row):
        return self.rng.choices(list(row), list(row.values()))[0]

    def walk(self, h, i, q):
        node, step = self.game.node(h), self.game.step
        if isinstance(node, Terminal):
            return node.utilities[i]
        if isinstance(node, Chance):
            return self.walk(step(h, self.draw(node.probabilities)), i, q)
        I, sigma = node.infoset, self.match(node.infoset, node.actions)
        if node.player != i:
            for a, p in sigma.items():
                self.S[I, a] += p / q
            return self.walk(step(h, self.draw(sigma)), i, q)
        if self.outcome:
            p = {a: EPSILON / len(sigma) + (1 - EPSILON) * x for a, x in sigma.items()}
            a = self.draw(p)
            value = dict.fromkeys(sigma, 0.0) | {a: self.walk(step(h, a), i, q * p[a]) / p[a]}
        else:
            value = {a: self.walk(step(h, a), i, q) for a in sigma}
        mean = sum(p * value[a] for a, p in sigma.items())
        for a, v in value.items():
            self.R[I, a] += (v - mean) / q
        return mean


def runs(scheme):
    """Yield the name and the maker of each run of a sampling scheme."""
    yield "plain Python", lambda: Theirs(Plain(GAMES["rules in Python"], scheme).iterate)
    if pyspiel:
        game = pyspiel.load_game("liars_dice(numdice=2)")
        yield "OpenSpiel", lambda: Theirs(getattr(pyspiel, SOLVERS[scheme])(game).run_iteration)
    for rules in GAMES:
        yield f"{rules}, one walk at a time", lambda rules=rules: Ours(rules, scheme)
    batch = BATCH[scheme]
    for threads in (1, 2):
        yield (
            f"compiled rules, b = {batch:,}, threads = {threads}",
            lambda threads=threads: Ours(
                "compiled rules", scheme, batch=batch, threads=threads
            ),
        )


def shared(scheme):
    """Yield the name and the maker of each run in processes.

    They are not interleaved: with another number of workers, joblib starts all of them anew.
    """
    batch = BATCH[scheme]
    for rules in GAMES:
        for jobs in (1, 2, 4):
            yield (
                f"{rules}, b = {batch:,}, jobs = {jobs}",
                lambda rules=rules, jobs=jobs: Ours(rules, scheme, batch=batch, jobs=jobs),
            )


def interval(ratios):
    """Return the geometric mean of ratios and its 95 % interval, by Student's t."""
    logs = np.log(ratios)
    half = student.ppf(0.975, len(logs) - 1) * stdev(logs) / len(logs) ** 0.5
    return [float(np.exp(mean(logs) + d)) for d in (0, -half, half)]


def measure(scheme):
    """Return a row for each run: its walks per second, and their ratio to OpenSpiel's."""
    solvers = {name: make() for name, make in runs(scheme)}
    samples = {name: [] for name in solvers}
    for k in range(REPETITIONS):
        for name, solver in solvers.items():
            print(f"\r{k + 1} of {REPETITIONS}: {scheme}, {name:50}", end="", flush=True)
            samples[name].append(solver.sample())
    for name, make in shared(scheme):
        print(f"\r{scheme}, {name:70}", end="", flush=True)
        solver = make()
        solver.sample()
        samples[name] = [solver.sample() for _ in range(REPETITIONS)]
    print("\r" + " " * 80 + "\r", end="")
    peer = np.array(samples.get("OpenSpiel", samples["plain Python"]))
    return [
        {
            "scheme": scheme,
            "run": name,
            "walks_per_second": rates,
            "ratio": interval(np.array(rates) / peer) if name != "OpenSpiel" else [1.0] * 3,
        }
        for name, rates in samples.items()
    ]


def main():
    where = machine()
    rows = [row for scheme in SOLVERS for row in measure(scheme)]
    peak, infosets = map(float, child(MEMORY.format(infosets=10**7))[0].split())
    where["game"] = "LiarsDice(6, 2)"
    memory = {"MB": peak, "infosets": int(infosets)}
    result = {"machine": where, "rates": rows, "memory": memory}
    show(
        [
            (
                row["run"],
                row["scheme"],
                f"{mean(row['walks_per_second']):,.0f}",
                "{:.2f} ({:.2f} to {:.2f})".format(*row["ratio"]),
            )
            for row in rows
        ],
        ("run", "sampling", "walks/s", "times OpenSpiel's"),
    )
    print(f"{int(infosets):,} infosets: at most {peak:,.0f} MB")
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
