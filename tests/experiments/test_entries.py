"""Each entry of a stored result is read by a page: results that nobody reads go.

Pages are run, and what they load notes which keys are looked up. Entries are compared by name
and depth, down to three names: in `{"K8": {"value": 1}}`, "value" is read if a page reads the
value of any game. Deeper down are the cells of tables.
"""

import json
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
import reading

ROOT = Path(__file__).parents[2]
DEEPEST = 3

MADE = {  # how a result was made, and what its script needs to continue
    "script", "versions", "settings", "game", "games", "deck", "dice", "seed", "seeds",
    "columns", "levels", "training", "longer", "networks", "tuning", "scores", "method", "few",
    "batch", "width", "rate", "k", "steps", "rows", "samples", "walks", "iterations", "deals",
    "rounds", "rounds_drawn", "tied", "sum", "sums", "squares", "nodes", "seconds",
    "total_seconds", "total_cpu_seconds", "processors", "traversals",
}  # fmt: skip
KEPT = {  # entries that no page reads, and why they are kept
    "best_response_bounds.json": ("values", "intervals"),  # of which the bounds are made
    "bugs.json": ("value",),  # of which the exploitability is measured
    "coyote_exact.json": ("regrets", "arrives", "wins"),  # regrets add up; cells of a table
    "coyote_players.json": ("uniform",),  # what the exact NashConv is compared with
    "coyote_size.json": (
        "histories", "infosets", "log10_histories", "relative_error_of_histories"
    ),  # of which a page prints the decimal logarithms
    "deep_faults.json": ("tables", "traversals"),  # what tests compare with the page
    "deep_kuhn.json": ("mixture",),  # the second average of the same run
    "koikoi_exact.json": ("control, 1,000,000", "lp"),  # test the last row, and the value
    "koikoi_judge.json": ("greedy, stops - random", "deal"),  # two scales for the others
    "koikoi_match.json": ("chances", "won"),  # numbers of cases
    "koikoi_questions.json": (
        "chosen", "called", "stopped", "error", "situations", "z"
    ),  # the choice of the rules that the page judges; errors and numbers of cases
    "koikoi_size.json": ("dealer by turn", "other by turn", "terminals"),  # parts of sums
    "large_game.json": ("uniform",),  # of a run; the page prints their mean
    "last_iterate.json": ("best", "grids"),  # the third curve; what settings were chosen from
    "walks.json": ("goal", "histories"),  # of which the relative numbers are made
}  # fmt: skip
PAGES = {}  # of each file, as experiments/README.md lists them
for line in (ROOT / "experiments/README.md").read_text("utf-8").splitlines():
    if line.startswith("| `") and line.split("`")[1].endswith(".json"):
        PAGES[line.split("`")[1]] = line.split("|")[6].split("`")[1::2]


@cache
def read_by(page):
    """Return the keys that a page reads of each file, with their depth."""
    command = [sys.executable, reading.__file__, page]
    found = subprocess.run(command, capture_output=True, text=True, timeout=3_600, check=True)
    return {
        name: {(*entry,) for entry in rows} for name, rows in json.loads(found.stdout).items()
    }


def unread(stored, read, kept, depth=1):
    """Return the places of entries that are neither read nor kept."""
    if isinstance(stored, list):
        return [place for each in stored for place in unread(each, read, kept, depth)]
    if not isinstance(stored, dict) or depth > DEEPEST:
        return []
    found = []
    for name, value in stored.items():
        if name in kept:
            continue
        if (depth, name) in read:
            found += [f"{name} / {place}" for place in unread(value, read, kept, depth + 1)]
        elif name not in MADE:
            found.append(name)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("file", PAGES)
def test_every_entry_is_read_by_a_page(file):
    stored = json.loads((ROOT / "experiments" / file).read_text("utf-8"))
    read = set().union(*(read_by(page).get(file, set()) for page in PAGES[file]))
    assert not unread(stored, read, KEPT.get(file, ()))


def test_an_entry_that_no_page_reads_is_found():
    stored = reading.Read([("a", [reading.Read([("b", 1), ("c", 2)])]), ("script", "")])
    assert {**stored["a"][0]} == {"b": 1, "c": 2} and stored["a"][0].get("d") is None
    read = reading.entries(stored)
    assert read == {(1, "a"), (2, "b"), (2, "c")}
    assert unread({"a": [{"b": 1}, {"c": 2}], "script": ""}, read, ()) == []
    assert unread({"a": {"b": 1, "e": 2}, "b": 3}, read, ()) == ["a / e", "b"]
