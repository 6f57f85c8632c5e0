"""Every bug of the museum on every game of its ladder, and the checks that find it.

Runs each solver of cfrlib.bugs, with each of its bugs and without, on each game, and records
the exploitability of the average strategy: of solvers that visit the whole tree for 500
iterations, of samplers for 10,000, as the mean of three seeds. Then it applies every check to
every bug. Writes bugs.json, which the page "A museum of bugs" prints and draws. Takes about
half an hour on one core; an interrupted run continues, and `seconds` limits it:

    python experiments/bugs.py [seconds]
"""

import json
import math
import sys
import time
from pathlib import Path

import flat_json

import cfrlib as cfr
from cfrlib import bugs

RESULTS = Path(__file__).with_suffix(".json")
TREE = [1, 2, 3, 5, 10, 20, 30, 50, 100, 200, 300, 500]
SAMPLER = [10, 30, 100, 300, 1_000, 3_000, 5_000, 10_000]
SEEDS = [0, 1, 2]
LAST, FACTOR = 3, 1.5  # a curve shows a bug if its last points are higher by this factor


def solvers():
    """Yield (name of the bug or "", bug, function that makes the solver)."""
    seen = set()
    for bug in bugs.BUGS:
        if (bug.solver, bug.variant) not in seen:
            seen.add((bug.solver, bug.variant))
            yield "", bug, bug.right
        yield bug.name, bug, bug.wrong


def measure(game, solver, marks):
    """Return the exploitability of the average at the marks; None if it is no strategy."""
    curve, done = [], 0
    for mark in marks:
        try:
            average, done = solver.run(mark - done), mark
            curve.append(cfr.exploitability(game, average))
        except (ValueError, ZeroDivisionError):
            curve.append(None)
            done = mark
    try:
        return curve, float(cfr.expected_utility(game, average)[0])
    except ValueError:
        return curve, None


def mean(values):
    """Return a mean with four significant digits, or None if a value is missing."""
    if None in values:
        return None
    return float(f"{sum(values) / len(values):.4g}")


def run(name, bug, make, game):
    """Return the record of one solver on one game."""
    rules = bugs.LADDER[game]
    if bug.sampled:
        runs = [measure(rules, make(rules, seed=seed), SAMPLER) for seed in SEEDS]
    else:
        runs = [measure(rules, make(rules), TREE)]
    curves, values = zip(*runs, strict=True)
    return {
        "solver": bug.solver,
        "variant": bug.variant,
        "bug": name,
        "game": game,
        "exploitability": [mean(column) for column in zip(*curves, strict=True)],
        "value": mean(values),
    }


def key(record):
    """Return what identifies a record."""
    return record["solver"], record["variant"], record["bug"], record["game"]


def ratio(wrong, right):
    """Return the geometric mean of the last ratios of two curves, or None if there is none."""
    pairs = list(zip(wrong, right, strict=True))[-LAST:]
    if any(w is None for w, _ in pairs):
        return None
    logs = [math.log(max(w, 1e-9) / max(r, 1e-9)) for w, r in pairs]
    return float(f"{math.exp(sum(logs) / LAST):.3g}")


def summary(bug, found):
    """Return the ratios of a bug on all games, the smallest that shows it, and its checks."""
    ratios = {}
    for game in bugs.LADDER:
        wrong = found[bug.solver, bug.variant, bug.name, game]["exploitability"]
        right = found[bug.solver, bug.variant, "", game]["exploitability"]
        ratios[game] = ratio(wrong, right)
    shown = [game for game, x in ratios.items() if x is None or x > FACTOR]
    checks = bugs.caught(bug)
    return {
        "ratios": ratios,
        "smallest": shown[0] if shown else "",
        "caught": [name for name, found in checks.items() if found],
    }


def main(seconds=math.inf):
    """Run what is missing, and write the file after each solver."""
    stop = time.monotonic() + seconds
    data = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"runs": []}
    found = {key(record): record for record in data["runs"]}
    data = {
        "script": "experiments/bugs.py",
        "games": {name: repr(game) for name, game in bugs.LADDER.items()},
        "versions": {"cfrlib": cfr.__version__},
        "tree": TREE,
        "sampler": SAMPLER,
        "seeds": SEEDS,
        "factor": FACTOR,
    }
    for name, bug, make in solvers():
        for game in bugs.LADDER:
            if time.monotonic() > stop:
                return
            if (bug.solver, bug.variant, name, game) not in found:
                record = run(name, bug, make, game)
                found[key(record)] = record
                print(record, flush=True)
        flat_json.write(RESULTS, data | {"runs": list(found.values())})
    bugs_found = {bug.name: summary(bug, found) for bug in bugs.BUGS}
    flat_json.write(RESULTS, data | {"runs": list(found.values()), "bugs": bugs_found})


if __name__ == "__main__":
    main(*map(float, sys.argv[1:]))
