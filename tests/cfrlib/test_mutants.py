"""Mutation tests: the goldens catch the bugs found in published code.

The reference follows the papers history by history. Without a bug it must equal cfrlib and
the goldens. With any of the bugs it must miss the goldens, under the comparison of
test_goldens.py.
"""

import numpy as np
import pytest
from goldens import RUNS, misses, row
from reference import BUGS, Reference, wrong

import cfrlib as cfr


def largest_difference(run, reference):
    """Compare regrets, current and average strategy of a cfrlib run with the reference."""
    pairs = [
        (run.regrets.values_by_sequence, reference.regret),
        (run.current.values_by_sequence, reference.sigma),
    ]
    average = cfr.Strategy(run.game, reference.average())
    pairs.append((run.average.values_by_sequence, average.values_by_sequence))
    starts = cfr.compile(run.game).player_sequences[:-1]  # empty sequences have no regret
    return max(
        float(np.max(np.abs(np.delete(mine, starts) - np.delete(np.array(theirs), starts))))
        for mine, theirs in pairs
    )


@pytest.mark.parametrize("name", RUNS)
def test_kuhn_iterates_equal_the_reference(kuhn, name):
    variant, update = RUNS[name]
    run, reference = cfr.CFR(kuhn, variant, update=update), Reference(kuhn, variant, update)
    for t in range(1, 21):
        run.run(1)
        reference.iterate()
        assert largest_difference(run, reference) < 1e-12, f"iteration {t}"


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_leduc_iterates_equal_the_reference(leduc, name):
    variant, update = RUNS[name]
    run, reference = cfr.CFR(leduc, variant, update=update), Reference(leduc, variant, update)
    for t in range(1, 6):
        run.run(1)
        reference.iterate()
        assert largest_difference(run, reference) < 1e-10, f"iteration {t}"


@pytest.mark.slow
@pytest.mark.parametrize("players", [3, 4])
def test_multiplayer_kuhn_equals_the_reference(players):
    # six cards: with five, four players start with a tie, which rounding would decide
    game = cfr.games.KuhnPoker(cards=6, players=players)
    run, reference = cfr.CFR(game), Reference(game)
    run.run(4)
    for _ in range(4):
        reference.iterate()
    assert largest_difference(run, reference) < 1e-11


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_reference_without_bug_matches_goldens(leduc, name):
    wanted = row("leduc", name, up_to=10)
    found = Reference(leduc, *RUNS[name]).exploitability_at(leduc, wanted)
    assert misses(found, wanted) == []


@pytest.mark.slow
@pytest.mark.parametrize("bug", BUGS)
def test_every_bug_misses_goldens_on_leduc(leduc, bug):
    golden = BUGS[bug][0]
    wanted = row("leduc", golden, up_to=10)
    found = wrong(bug)(leduc, *RUNS[golden]).exploitability_at(leduc, wanted)
    assert 10 in misses(found, wanted)
    assert abs(found[10] / wanted[10] - 1) > 1e-3  # by far, not by rounding


@pytest.mark.slow
def test_discount_per_history_misses_linear_goldens(leduc):
    wanted = row("leduc", "lcfr", up_to=5)
    reference = wrong("discount per history")(leduc, "linear")
    assert 5 in misses(reference.exploitability_at(leduc, wanted), wanted)


@pytest.mark.slow
def test_literal_algorithm_1_stays_far_from_equilibrium(kuhn):
    """With the sign bug, exploitability stays at 1/3."""
    bug = "value returned at player 1's nodes not negated"
    found = wrong(bug)(kuhn, "cfr", "simultaneous").exploitability_at(kuhn, [1000])
    assert found[1000] == pytest.approx(1 / 3, abs=2e-3)
