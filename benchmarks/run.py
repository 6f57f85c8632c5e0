"""Time cfrlib beside a plain Python traversal and OpenSpiel's C++ solver: `make bench`.

Prints a table and writes benchmarks/results.json. README.md says what is compared.
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

from plain_python import PlainCFR

import cfrlib as cfr

try:
    import pyspiel
except ImportError:
    pyspiel = None

REPETITIONS = 5
ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).with_name("results.json")
NO_OPENSPIEL = f"not installed; try: {sys.executable} -m pip install open-spiel"
GAME = cfr.games.KuhnPoker()

IMPORT = """
import numpy, numba, time
began = time.perf_counter()
import cfrlib
print(time.perf_counter() - began)
"""
FIRST_SOLVE = "import cfrlib as cfr; cfr.solve(cfr.games.KuhnPoker(), 'cfr', 1000)"


# ---- what is timed ---------------------------------------------------------------------------


def cfrlib_simultaneous(iterations):
    return cfr.CFR(GAME, update="simultaneous").run(iterations, progress=False)


def cfrlib_alternating(iterations):
    return cfr.CFR(GAME, update="alternating").run(iterations, progress=False)


def plain_python(iterations):
    return PlainCFR(GAME).run(iterations)


def open_spiel(iterations):
    solver = pyspiel.CFRSolver(pyspiel.load_game("kuhn_poker"))
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    return solver


ROUND = {  # one repetition: what runs, and how many iterations
    cfrlib_simultaneous: 1_000_000,
    plain_python: 2_000,
    cfrlib_alternating: 1_000_000,
    open_spiel: 20_000,
}


def child(code):
    """Run `code` in a fresh Python that may keep its bytecode; return output, seconds."""
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


# ---- do they compute the same? ---------------------------------------------------------------


def check_plain_python(iterations=2_000):
    """Both reach the same average strategy."""
    ours, theirs = cfrlib_simultaneous(iterations).average, plain_python(iterations).average
    gap = max(
        abs(ours[infoset][action] - p)
        for table in theirs.values()
        for infoset, row in table.items()
        for action, p in row.items()
    )
    assert gap < 1e-9, f"average strategies differ by {gap}"
    return gap


def check_open_spiel(iterations=100):
    """Both average strategies are equally exploitable."""
    solver = open_spiel(iterations)  # keep it: its policy points into it
    conv = pyspiel.nash_conv(pyspiel.load_game("kuhn_poker"), solver.average_policy())
    gap = abs(cfrlib_alternating(iterations).solution().nash_conv - conv)
    assert gap < 1e-9, f"exploitabilities differ by {gap / 2}"
    return gap / 2


# ---- the run ---------------------------------------------------------------------------------


def measure():
    """Return all samples: microseconds per iteration, and seconds of fresh processes."""
    rounds = {f: n for f, n in ROUND.items() if f is not open_spiel or pyspiel}
    samples = {f.__name__: [] for f in rounds} | {"import": [], "first_solve": []}
    for f, n in rounds.items():
        f(n // 10)  # warm-up: compile
    child(FIRST_SOLVE)  # warm-up: fill the caches
    for k in range(REPETITIONS):
        print(f"\rrepetition {k + 1} of {REPETITIONS} ", end="", flush=True)
        for f, n in rounds.items():
            began = perf_counter()
            f(n)
            samples[f.__name__].append((perf_counter() - began) / n * 1e6)
        samples["import"].append(float(child(IMPORT)[0]))
        samples["first_solve"].append(child(FIRST_SOLVE)[1])
    print()
    return samples


def ratio(samples, peer, ours):
    """Return the median of the ratios taken within a repetition."""
    return median(a / b for a, b in zip(samples[peer], samples[ours], strict=True))


def rows_of(samples):
    """Return the table: what, cfrlib, peer, ratio or seconds, reach, whether reached."""
    times = {name: median(values) for name, values in samples.items()}

    def versus(what, ours, peer, reach):
        if peer not in samples:
            return (what, f"{times[ours]:.3f} µs", NO_OPENSPIEL, "", f">= {reach}x", "?")
        r = ratio(samples, peer, ours)
        ours, peer = f"{times[ours]:.3f} µs", f"{times[peer]:.1f} µs"
        return (what, ours, peer, f"{r:.0f}x", f">= {reach}x", "yes" if r >= reach else "NO")

    def limit(what, name, reach):
        took = times[name]
        return (
            what,
            f"{took:.2f} s",
            "",
            "",
            f"<= {reach} s",
            "yes" if took <= reach else "NO",
        )

    return [
        versus("plain Python, simultaneous", "cfrlib_simultaneous", "plain_python", 200),
        versus("OpenSpiel C++, alternating", "cfrlib_alternating", "open_spiel", 40),
        limit("import, beyond NumPy and Numba", "import", 0.5),
        limit("first solve, from starting Python", "first_solve", 3),
    ]


HEAD = ("Kuhn poker, vanilla CFR", "cfrlib", "peer", "ratio", "reach", "reached")


def show(rows, head=HEAD):
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, tuple("-" * w for w in widths), *rows):
        cells = [
            f"{c:>{w}}" if k else f"{c:<{w}}"
            for k, (c, w) in enumerate(zip(row, widths, strict=True))
        ]
        print("  ".join(cells).rstrip())


def machine():
    cpus = Path("/proc/cpuinfo")
    lines = cpus.read_text().splitlines() if cpus.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    versions = {"python": platform.python_version()}
    for package in ("numpy", "numba", "open_spiel"):
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
    where = machine()
    checks = {"plain_python: largest difference of probabilities": check_plain_python()}
    if pyspiel:
        checks["open_spiel: difference of exploitability"] = check_open_spiel()
    samples = measure()
    rows = rows_of(samples)
    show(rows)
    print("\n" + ", ".join(f"{name} {value}" for name, value in where.items()))
    if (where["load_before"] or 0) > 0.5:
        print("The machine was busy: times are too long, ratios uncertain.")
    result = {"machine": where, "checks": checks, "samples": samples, "table": rows}
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
