"""The museum of bugs: each changes one line, and the check it names finds it."""

import difflib
import inspect
import json
from pathlib import Path

import bugs as experiment  # experiments/bugs.py
import numpy as np
import pytest

import cfrlib as cfr
from cfrbook.museum import BUGS, LADDER, Bug, LateCoin, caught, changed, find, mutant, program
from cfrbook.museum.catalog import SETTINGS
from cfrlib.plain import SOLVERS, Family, Vanilla

RESULTS = json.loads(Path(experiment.__file__).with_suffix(".json").read_text("utf-8"))
PLACES = {"utility", "regret", "average", "matching", "update", "discount", "sampling"}
NAMES = [bug.name for bug in BUGS]
RIGHT = list({(bug.solver, bug.variant): bug for bug in BUGS}.values())


# ---- a changed function ----------------------------------------------------------------------

step = 1


def staircase(n):
    """Return the steps down from n."""
    return [n, *staircase(n - step)] if n > 0 else []


def test_changed_function_calls_itself_and_sees_the_same_variables(monkeypatch):
    up = changed(staircase, {"n > 0": "n < 3", "n - step": "n + step"})
    assert up(0) == [0, 1, 2] and staircase(2) == [2, 1]
    monkeypatch.setitem(globals(), "step", 2)
    assert up(0) == [0, 2] and "copy" not in globals()


@pytest.mark.parametrize("piece, times", [("staircase", 2), ("sign", 0)])
def test_changed_refuses_a_piece_that_is_not_there_once(piece, times):
    with pytest.raises(ValueError, match=f"staircase has the piece '{piece}' {times} times"):
        changed(staircase, {piece: ""})


class Counter:
    """Counts in steps."""

    def count(self, n):
        """Return the numbers from n down."""
        if n <= 0:
            return []
        return [n, *self.count(n - step)]


class Doubler(Counter):
    """Counts, twice as high."""

    def double(self, n):
        """Return the numbers from 2n down, in steps of 2."""
        return [2 * x for x in self.count(n)]


def test_mutant_of_a_class_has_other_lines_of_what_it_inherits():
    line = "return [n, *self.count(n - step)]"
    odd = mutant(Doubler, {line: "half = n // 2\nreturn [n, *self.count(half)]"})
    assert odd().double(4) == [8, 4, 2] and Doubler().double(2) == [4, 2]
    assert odd is mutant(Doubler, {line: "half = n // 2\nreturn [n, *self.count(half)]"})
    assert odd.__name__ == "Doubler" and not issubclass(odd, Doubler)


def test_mutant_of_a_function_shows_its_own_lines():
    line = "return [n, *staircase(n - step)] if n > 0 else []"
    wrong = mutant(staircase, {line: "return 1 / n"})
    assert "return 1 / n" in inspect.getsource(wrong)
    with pytest.raises(ZeroDivisionError) as caught:
        wrong(0)
    assert "return 1 / n" in str(caught.traceback[-1].statement)


def test_mutant_replaces_whole_lines_that_are_there_once():
    for line in ("return [n, *staircase(n - step)]", "n"):
        with pytest.raises(ValueError, match="cannot replace a line that staircase has"):
            mutant(staircase, {line: "pass"})
    for line in ('"""Counts, twice as high."""', '"""Counts in steps."""'):
        assert mutant(Doubler, {line: "pass"})().double(1) == [2]


# ---- the catalog -----------------------------------------------------------------------------


def test_museum_has_at_least_25_bugs_of_every_kind():
    assert len(set(NAMES)) == len(NAMES) >= 25
    assert {bug.place for bug in BUGS} == PLACES
    assert {bug.solver for bug in BUGS} == SOLVERS.keys()
    assert {bug.variant for bug in BUGS} <= SETTINGS.keys()


@pytest.mark.parametrize("bug", BUGS, ids=NAMES)
def test_bug_changes_exactly_one_line(bug):
    before, after = program(bug.solver).split("\n"), bug.source_code().split("\n")
    changes = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert [(line[0], line[2:].strip()) for line in changes] == [
        ("-", bug.line),
        ("+", bug.broken),
    ]
    assert bug.symptom.endswith(".") and bug.source and bug.caught_by


def test_line_must_be_in_the_program_once():
    for line in ("return nothing", "return node.utilities[i]"):
        bug = Bug("none", "utility", "Vanilla", line, "pass", "None.", "planted")
        with pytest.raises(ValueError, match=r"has 0 times, not once"):
            bug.compiled()
    bug = Bug("twice", "sampling", "External", "if isinstance(node, Chance):", "", "", "")
    assert bug.source_code()  # only the solver's own classes count
    with pytest.raises(ValueError, match="the museum has 'sign lost'"):
        find("no such bug")


# ---- the right solvers -----------------------------------------------------------------------


@pytest.mark.parametrize("game", [LateCoin(), *map(LADDER.get, ("Kuhn poker", "Leduc poker"))])
@pytest.mark.parametrize("variant", ["simultaneous", *SETTINGS])
def test_right_solver_has_the_iterates_of_cfrlib(game, variant):
    if variant == "simultaneous":
        mine, ours = Vanilla(game), cfr.CFR(game, "cfr", update="simultaneous")
    else:
        mine, ours = Family(game, **SETTINGS[variant]), cfr.CFR(game, variant)
    for _ in range(5):
        ours.run(1)
        assert ours.average.max_difference(mine.run(1)) < 1e-10
        assert ours.current.max_difference(mine.sigma) < 1e-10
        theirs = [r for row in ours.regrets.values() for r in row.values()]
        regrets = [mine.R[I, a] for I, row in ours.regrets.items() for a in row]
        assert np.allclose(regrets, theirs, atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("bug", RIGHT, ids=lambda bug: f"{bug.solver} {bug.variant}")
def test_right_solver_passes_every_check(bug):
    assert not any(caught(bug, bug.right).values())


# ---- the checks ------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=NAMES)
def test_named_check_is_the_first_to_find_the_bug(bug):
    found = [name for name, finds in caught(bug).items() if finds]
    assert found and bug.caught_by == found[0]
    assert RESULTS["bugs"][bug.name]["caught"] == found


# ---- the experiment --------------------------------------------------------------------------


def test_results_cover_every_bug_on_every_game():
    found = {experiment.key(record) for record in RESULTS["runs"]}
    wanted = {
        (bug.solver, bug.variant, name, game)
        for name, bug, _ in experiment.solvers()
        for game in LADDER
    }
    assert found == wanted
    assert RESULTS["games"] == {name: repr(game) for name, game in LADDER.items()}
    sizes = [cfr.compile(game).num_histories for game in LADDER.values()]
    assert sizes == sorted(sizes)


@pytest.mark.parametrize("bug", BUGS, ids=NAMES)
def test_smallest_game_is_the_first_whose_curve_shows_the_bug(bug):
    found = {experiment.key(record): record for record in RESULTS["runs"]}
    ratios = {
        game: experiment.ratio(
            found[bug.solver, bug.variant, bug.name, game]["exploitability"],
            found[bug.solver, bug.variant, "", game]["exploitability"],
        )
        for game in LADDER
    }
    assert RESULTS["bugs"][bug.name]["ratios"] == ratios
    shown = [game for game, x in ratios.items() if x is None or x > RESULTS["factor"]]
    assert bug.smallest == RESULTS["bugs"][bug.name]["smallest"] == (shown or [""])[0]


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS, ids=NAMES)
@pytest.mark.parametrize("game", ["rock-paper-scissors", "a late coin", "Kuhn poker"])
def test_results_start_as_committed(bug, game, monkeypatch):
    """Only the first points, which no rounding error has reached."""
    monkeypatch.setattr(experiment, "TREE", [1, 2, 3])
    monkeypatch.setattr(experiment, "SAMPLER", [10, 30])
    found = {experiment.key(record): record for record in RESULTS["runs"]}
    for name, make in (("", bug.right), (bug.name, bug.wrong)):
        record = experiment.run(name, bug, make, game)
        curve = found[experiment.key(record)]["exploitability"][: 2 if bug.sampled else 3]
        for new, old in zip(record["exploitability"], curve, strict=True):
            assert new == old or new == pytest.approx(old, rel=2e-3)
