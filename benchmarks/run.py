"""Benchmark cfrlib against its peers: `make bench`.

Prints a table and writes benchmarks/results.json. README.md describes the comparisons.
"""

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from statistics import median
from time import perf_counter

import numpy as np

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
from cfrlib.evaluate import _payoff_matrix
from cfrlib.plain import Vanilla

try:
    import pyspiel
except ImportError:
    pyspiel = None

REPETITIONS, SLICES = 5, 5
ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).with_name("results.json")
LITE_EFG = Path(sys.prefix, "liteefg", "bin", "python")
GAMES = {  # OpenSpiel's name -> cfrlib's game
    "kuhn_poker": cfr.games.KuhnPoker(),
    "leduc_poker": cfr.games.LeducPoker(),
    "liars_dice": cfr.games.LiarsDice(),
}
SOLVERS = {"cfr": "CFRSolver", "cfr+": "CFRPlusSolver"}  # of pyspiel
OURS = {"kuhn_poker": 100_000, "leduc_poker": 2_000, "liars_dice": 100}  # iterations per slice
THEIRS = {"kuhn_poker": 2_000, "leduc_poker": 10, "liars_dice": 1}

IMPORT = """
import numpy, numba, time
began = time.perf_counter()
import cfrlib
alone = time.perf_counter() - began
from cfrlib import *  # loads the wings
print(alone, alone / (time.perf_counter() - began))
"""
FIRST = "import cfrlib as cfr; cfr.solve(cfr.games.KuhnPoker(), 'cfr', 1000)"
LEDUC = """
import math
import cfrlib as cfr
pcfr5 = cfr.Variant("pcfr+ 5", math.inf, -math.inf, gamma=5, prediction=1)
solution = cfr.solve(cfr.games.LeducPoker(), pcfr5, until=1e-9, progress=False)
assert cfr.exploitability(solution.game, solution.strategy) <= 1e-9
"""
MEMORY = """
import cfrlib as cfr
cfr.solve(cfr.games.LiarsDice(), "cfr+", until=1e-3, progress=False)
with open("/proc/self/status") as file:  # not ru_maxrss, which starts at the parent's value
    print(*(int(line.split()[1]) / 1000 for line in file if line.startswith("VmHWM")))
"""
GROWTH = """
import time
import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
game, iterations = cfr.games.{game}, {iterations}
began = time.perf_counter()
tree = cfr.compile(game, max_histories=20_000_000)
compiled = time.perf_counter() - began
leaves, rows = tree.num_terminals, len(sequence_form(game).treeplexes.leaf_payoff)
run = cfr.CFR(game).run(1)
times = []
for _ in range(5):
    before = run.seconds
    run.run(iterations, progress=False)
    times.append((run.seconds - before) / iterations * 1e6)
print(leaves, rows, compiled, *times)
"""


# ---- one iteration of a solver ---------------------------------------------------------------


class Ours:
    """A run of cfrlib; `sample` returns microseconds per iteration."""

    def __init__(self, game, variant, update="alternating"):
        self.iterations = OURS[game]
        self.run = cfr.CFR(GAMES[game], variant, update=update).run(10 * self.iterations)

    def sample(self):
        began = perf_counter()
        self.run.run(self.iterations, progress=False)
        return (perf_counter() - began) / self.iterations * 1e6


class Plain:
    """CFR in plain Python, `cfrlib.plain`; `sample` returns microseconds per iteration."""

    def __init__(self, game):
        self.game = GAMES[game]

    def sample(self, iterations=400):
        began = perf_counter()
        Vanilla(self.game).run(iterations)
        return (perf_counter() - began) / iterations * 1e6


class OpenSpiel:
    """OpenSpiel's C++ solver, with alternating updates."""

    def __init__(self, game, variant):
        self.solver = getattr(pyspiel, SOLVERS[variant])(pyspiel.load_game(game))
        self.solver.evaluate_and_update_policy()
        self.iterations = THEIRS[game]

    def sample(self):
        began = perf_counter()
        for _ in range(self.iterations):
            self.solver.evaluate_and_update_policy()
        return (perf_counter() - began) / self.iterations * 1e6


class LiteEFG:
    """LiteEFG in its own Python: CFR with simultaneous, CFR+ with alternating updates."""

    process = None

    def __init__(self, game, variant):
        if LiteEFG.process is None:
            LiteEFG.process = subprocess.Popen(
                [LITE_EFG, Path(__file__).with_name("lite_efg.py")],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                text=True, bufsize=1,
            )  # fmt: skip
        self.game, self.variant, self.iterations = game, variant, THEIRS[game]
        self.iterate(1)

    def iterate(self, iterations):
        """Run more iterations; return their seconds and the NashConv of the average."""
        print(self.game, self.variant, iterations, file=self.process.stdin, flush=True)
        return map(float, self.process.stdout.readline().split())

    def sample(self):
        seconds, _ = self.iterate(self.iterations)
        return seconds / self.iterations * 1e6


class Products:
    """A lower bound on the work of an iteration: A y and Aᵀ x in SciPy's sparse matrices."""

    def __init__(self, game):
        self.A = _payoff_matrix(sequence_form(GAMES[game]), 0)
        self.A.indices, self.A.indptr = (
            part.astype(np.int32) for part in (self.A.indices, self.A.indptr)
        )
        self.AT = self.A.T
        self.x, self.y = (np.full(n, 0.5) for n in self.A.shape)
        self.iterations = OURS[game] // 2

    def sample(self):
        began = perf_counter()
        for _ in range(self.iterations):
            self.A @ self.y
            self.AT @ self.x
        return (perf_counter() - began) / self.iterations * 1e6


def pairs():
    """Yield the comparisons: name, game, cfrlib's run, the peer, the ratio to reach."""
    yield "plain Python", "kuhn_poker", Ours("kuhn_poker", "cfr", "simultaneous"), \
        Plain("kuhn_poker"), 200  # fmt: skip
    for game, reach in (("kuhn_poker", 60), ("leduc_poker", 250), ("liars_dice", 300)):
        for variant in ("cfr", "cfr+") if pyspiel else ():
            ours, theirs = Ours(game, variant), OpenSpiel(game, variant)
            yield f"OpenSpiel, {SOLVERS[variant]}", game, ours, theirs, reach
    for game, reach in (("kuhn_poker", 12), ("leduc_poker", 50), ("liars_dice", 150)):
        for variant in ("cfr", "cfr+") if LITE_EFG.exists() else ():
            ours = Ours(game, variant, "simultaneous" if variant == "cfr" else "alternating")
            yield f"LiteEFG, {variant}", game, ours, LiteEFG(game, variant), reach
    for game in ("leduc_poker", "liars_dice"):  # here the peer is expected to be faster
        yield "SciPy, A y and Aᵀ x alone", game, Ours(game, "cfr"), Products(game), 0.5


# ---- agreement of results --------------------------------------------------------------------


def checks():
    """Return the largest difference from each peer; stop if it is more than rounding."""
    found = {}
    ours = cfr.CFR(GAMES["kuhn_poker"], update="simultaneous").run(2_000).average
    theirs = Vanilla(GAMES["kuhn_poker"]).run(2_000)
    found["plain Python: probabilities after 2,000 iterations"] = max(
        abs(ours[infoset][action] - p)
        for infoset, row in theirs.items()
        for action, p in row.items()
    )
    for game, variant in ((g, v) for g in GAMES for v in ("cfr", "cfr+")):
        n = 10 if game == "liars_dice" else 50
        if pyspiel:
            loaded = pyspiel.load_game(game)
            solver = getattr(pyspiel, SOLVERS[variant])(loaded)
            for _ in range(n):
                solver.evaluate_and_update_policy()
            conv = pyspiel.nash_conv(loaded, solver.average_policy())
            mine = cfr.solve(GAMES[game], variant, n).nash_conv
            found[f"OpenSpiel: NashConv, {game}, {variant}, {n} iterations"] = abs(conv - mine)
        if LITE_EFG.exists():
            _, conv = LiteEFG(game, variant).iterate(n - 1)
            # LiteEFG averages the strategy after each update, not the one before it
            update = "simultaneous" if variant == "cfr" else "alternating"
            mine = cfr.solve(GAMES[game], variant, n + 1, update=update, delay=1).nash_conv
            found[f"LiteEFG: NashConv, {game}, {variant}, {n} iterations"] = abs(conv - mine)
    wrong = {what: gap for what, gap in found.items() if not gap < 1e-9}
    assert not wrong, f"cfrlib and a peer differ: {wrong}"
    return found


# ---- the run ---------------------------------------------------------------------------------


def child(code):
    """Run `code` in a new Python process that may cache bytecode; return output and seconds."""
    env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    began = perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=env,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout, perf_counter() - began


def compile_rate(game):
    """Return histories per second of compiling a game for the first time."""
    times = []
    for _ in range(SLICES):
        fresh = type(game)()
        began = perf_counter()
        histories = cfr.compile(fresh).num_histories
        times.append(perf_counter() - began)
    return histories / min(times)


LIMITS = {  # name -> (function that measures it, unit, goal, at most or at least)
    "import, beyond NumPy and Numba": (
        lambda: float(child(IMPORT)[0].split()[0]), "s", 0.5, "<=",
    ),
    "the same, of what it takes with the wings": (
        lambda: float(child(IMPORT)[0].split()[1]), "", 0.8, "<=",
    ),
    "first solve of Kuhn, from starting Python": (lambda: child(FIRST)[1], "s", 3, "<="),
    "Leduc to 1e-9, from starting Python": (lambda: child(LEDUC)[1], "s", 6, "<="),
    "memory to solve Liar's Dice 6": (lambda: float(child(MEMORY)[0]), "MB", 600, "<="),
    "compile Leduc": (
        lambda: compile_rate(GAMES["leduc_poker"]), "histories/s", 150_000, ">=",
    ),
    "compile Liar's Dice 6": (
        lambda: compile_rate(GAMES["liars_dice"]), "histories/s", 150_000, ">=",
    ),
}  # fmt: skip


def measure(rows):
    """Return the samples of each pair and of each limit, all interleaved."""
    samples = {(what, game): ([], []) for what, game, *_ in rows}
    limits = {what: [] for what in LIMITS}
    for code in (FIRST, LEDUC):
        child(code)  # warm-up: fill the caches
    for k in range(REPETITIONS):
        print(f"\rrepetition {k + 1} of {REPETITIONS} ", end="", flush=True)
        for what, game, ours, theirs, _ in rows:
            slices = [(ours.sample(), theirs.sample()) for _ in range(SLICES)]
            for side, times in zip(samples[what, game], zip(*slices, strict=True), strict=True):
                side.append(min(times))  # the least disturbed slice
        for what, (sample, *_) in LIMITS.items():
            limits[what].append(sample())
    print()
    return samples, limits


def growth():
    """Return the time of an iteration by number of leaves, for two families of games."""
    points = []
    for family, games in (
        (
            "Kuhn poker, 3 to 1,000 cards",
            [f"KuhnPoker({n})" for n in (3, 10, 30, 100, 300, 1000)],
        ),
        ("Liar's dice, 3 to 6 faces", [f"LiarsDice(faces={n})" for n in (3, 4, 5, 6)]),
    ):
        for game in games:
            print(f"\r{game:24}", end="", flush=True)
            iterations = 10 if "1000" in game else 100
            leaves, rows, compiled, *times = map(
                float, child(GROWTH.format(game=game, iterations=iterations))[0].split()
            )
            points.append({
                "family": family, "game": game, "leaves": int(leaves), "leaf_rows": int(rows),
                "compile_seconds": compiled, "microseconds": times,
            })  # fmt: skip
    print("\r" + " " * 24 + "\r", end="")
    return points


def pair_record(what, game, reach, ours, theirs):
    """Return one row; the ratio is the median of the ratios within a repetition."""
    r = median(b / a for a, b in zip(ours, theirs, strict=True))
    return {
        "what": what, "game": game, "ratio": r, "reach": reach, "reached": r >= reach,
        "ours_us": ours, "peer_us": theirs,
    }  # fmt: skip


def limit_record(what, values):
    """Return one row for a measurement without a peer."""
    _, unit, reach, sign = LIMITS[what]
    value = median(values)
    reached = value <= reach if sign == "<=" else value >= reach
    return {
        "what": what, "value": value, "unit": unit, "reach": f"{sign} {reach:,}",
        "reached": reached, "samples": values,
    }  # fmt: skip


def tables(result):
    """Yield the two printed tables: column names and rows of text."""
    yield ("per iteration", "game", "cfrlib", "peer", "ratio", "reach", "reached"), [
        (
            row["what"], row["game"], f"{median(row['ours_us']):.2f} µs",
            f"{median(row['peer_us']):,.1f} µs", f"{row['ratio']:.3g}x",
            f">= {row['reach']}x", "yes" if row["reached"] else "NO",
        )
        for row in result["pairs"]
    ]  # fmt: skip
    yield ("figure", "measured", "reach", "reached"), [
        (
            row["what"], f"{row['value']:,.3g} {row['unit']}", row["reach"],
            "yes" if row["reached"] else "NO",
        )
        for row in result["limits"]
    ]  # fmt: skip


def show(rows, head):
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, tuple("-" * w for w in widths), *rows):
        cells = [
            f"{c:>{w}}" if k else f"{c:<{w}}"
            for k, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())
    print()


def machine():
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    versions = {"python": platform.python_version()}
    for package in ("numpy", "scipy", "numba", "open_spiel"):
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            versions[package] = None
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "cpu": names[0] if names else platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        **versions,
    }


def main():
    measured = Path(cfr.__file__).resolve().parents[1]
    if measured != ROOT:
        sys.exit(f"this Python imports cfrlib from {measured}, not from {ROOT}; reinstall it")
    where, checked, rows = machine(), checks(), list(pairs())
    if LITE_EFG.exists():
        code = "from importlib.metadata import version; print(version('LiteEFG'))"
        done = subprocess.run(
            [LITE_EFG, "-c", code], capture_output=True, text=True, check=True
        )
        where["LiteEFG"] = done.stdout.strip()
    samples, limits = measure(rows)
    result = {
        "machine": where,
        "checks": checked,
        "pairs": [pair_record(w, g, reach, *samples[w, g]) for w, g, _, _, reach in rows],
        "limits": [limit_record(what, values) for what, values in limits.items()],
        "growth": growth(),
    }
    for head, words in tables(result):
        show(words, head)
    print(", ".join(f"{name} {value}" for name, value in where.items()))
    if (where["load_before"] or 0) > 0.5:
        print("The machine was busy: times are too long, ratios uncertain.")
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
