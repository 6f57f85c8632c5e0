"""Seven faults of Deep CFR on two games: the runs of chapter 10 that are too long for a page.

The algorithm and the switch for its faults are the chapter's own: the script reads the
definitions from the cells of book/10_deep_cfr.ipynb. Writes deep_faults.json, which the chapter
prints and draws. Takes about five minutes on one core:

    python experiments/deep_faults.py
"""

import ast
import json
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import jax

import cfrlib as cfr

RESULTS = Path(__file__).with_suffix(".json")
CHAPTER = Path(__file__).parents[1] / "book" / "10_deep_cfr.ipynb"
GAMES = {"Kuhn poker": cfr.games.KuhnPoker(), "liar's dice": cfr.games.LiarsDice(3)}
TRAVERSALS = {"Kuhn poker": 300, "liar's dice": 100}
ITERATIONS, SEEDS = 20, list(range(10))
DEFINITIONS = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)


def defines(statement):
    """Return whether a statement is an import, a definition or an assignment of constants."""
    if isinstance(statement, ast.Assign):
        names = [
            node.id for node in ast.walk(statement.targets[0]) if isinstance(node, ast.Name)
        ]
        return all(name.isupper() for name in names)
    return isinstance(statement, DEFINITIONS)


def page():
    """Run only the definitions in the chapter's cells; return them by name."""
    defined = {}
    for number, cell in enumerate(json.loads(CHAPTER.read_text("utf-8"))["cells"]):
        hosted = "remove-cell" in cell["metadata"].get("tags", [])
        if cell["cell_type"] == "code" and not hosted:
            module = ast.parse("".join(cell["source"]))
            module.body = [each for each in module.body if defines(each)]
            exec(compile(module, f"{CHAPTER.name}, cell {number}", "exec"), defined)
    return SimpleNamespace(**defined)


def curves(chapter, game, fault, seed, iterations=ITERATIONS):
    """Return NashConv of both averages at the chapter's checkpoints."""
    g, walks = chapter.world(GAMES[game]), TRAVERSALS[game]
    curve = chapter.deep_cfr(g, iterations, walks, seed, breakage=fault).curve
    return {
        kind: [round(found[kind], 5) for found in curve.values()]
        for kind in ("network", "mixture")
    }


def table(chapter, game, fault, iterations=5):
    """Return NashConv with tables instead of networks: identical on every machine."""
    g, walks = chapter.world(GAMES[game]), TRAVERSALS[game]
    run = chapter.deep_cfr(g, iterations, walks, 0, learn="rows", breakage=fault)
    return [round(found["memory"], 5) for found in run.curve.values()]


def main():
    """Run the correct algorithm and each fault with every seed, and write the file."""
    chapter, runs, tables = page(), [], []
    for game, fault in product(GAMES, ("nothing", *chapter.FAULTS)):
        found = table(chapter, game, fault)
        tables.append({"game": game, "fault": fault, "memory": found})
    for game, fault, seed in product(GAMES, ("nothing", *chapter.FAULTS), SEEDS):
        found = curves(chapter, game, fault, seed)
        runs.append({"game": game, "fault": fault, "seed": seed, **found})
        print(runs[-1], flush=True)
    RESULTS.write_text(
        json.dumps({
            "script": "experiments/deep_faults.py",
            "games": {name: repr(game) for name, game in GAMES.items()},
            "versions": {"cfrlib": cfr.__version__, "jax": jax.__version__},
            "traversals": TRAVERSALS,
            "iterations": [t for t in chapter.LOOK if t <= ITERATIONS],
            "tables": tables, "runs": runs,
        }).replace('{"game"', '\n{"game"')
        + "\n"
    )  # fmt: skip


if __name__ == "__main__":
    main()
