"""The experiments of chapter 11: faults in small runs, and Leduc poker."""

import double_neural as script
import double_neural_leduc as leduc
import numpy as np
import pytest
from recorded import recorded

import cfrlib as cfr

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "fault", ["table", "nothing", "visited only", "new networks", "raw sums"]
)
def test_results_file_matches_the_script(fault):
    """Only the first iterations are compared; later, rounding leads to other trajectories."""
    faults = recorded("double_neural")["faults"]
    for key in ("batch", "width", "steps", "rate", "seeds", "iterations"):
        assert faults[key] == script.FAULTS[key]
    curve = script.curve(script.faulty(fault, 3), faults["iterations"][:4])
    error = 1e-5 if fault == "table" else 0.02  # networks: processors round differently
    assert [row[0] for row in curve] == pytest.approx(faults["runs"][fault][3][:4], abs=error)


@pytest.mark.parametrize(("fault", "is_new"), [("nothing", False), ("new networks", True)])
def test_new_networks_are_new_in_each_iteration(monkeypatch, fault, is_new):
    """A new network predicts 0 everywhere."""
    run = script.faulty(fault, 0).run(1, progress=False)
    learner, initial = run._learners[0], []
    refit = learner.refit

    def spy(network, *rest):
        initial.append(network)
        return refit(network, *rest)

    monkeypatch.setattr(learner, "refit", spy)
    run.run(2, progress=False)
    assert [not learner(network).any() for network in initial] == [is_new, is_new]
    assert not np.array_equal(*initial)


def test_raw_sums_are_divided_by_their_root_mean_square():
    run, sums = script.faulty("raw sums", 0), np.array([0.0, 3.0, 4.0])
    target = run._compress(0, sums)
    assert np.allclose(target, sums * np.sqrt(3) / 5)
    assert np.allclose(run._decompress(0, target), sums)
    assert np.allclose(run._decompress(1, target), target)  # the other network's scale is 1


def test_settings_of_the_other_faults():
    assert script.faulty("nothing", 0).rehearse == 1
    assert script.faulty("visited only", 0).rehearse == 0
    assert {t.steps for t in script.faulty("one step", 0).trainings} == {1}


def test_leduc_results_file_matches_the_script():
    data = recorded("double_neural_leduc")
    assert data["iterations"] == leduc.ITERATIONS and list(data["runs"]) == list(leduc.METHODS)
    assert (data["k"], data["batch"]) == (leduc.K, leduc.BATCH)
    assert {name: data[name] for name in leduc.NETWORK} == leduc.NETWORK
    seeds = {len(runs) for runs in data["runs"].values()}
    nodes = [curve[-1][1] for runs in data["runs"].values() for curve in runs]
    assert len(seeds) == 1 and max(nodes) < 1.1 * min(nodes), "equal numbers of histories"
    for name in ("table", "linear table", "linear table, robust"):
        run = leduc.METHODS[name](cfr.games.LeducPoker(), 3).run(4, progress=False)
        conv, visited, _ = data["runs"][name][3][3]
        assert run.nodes == visited
        assert cfr.nash_conv(run.game, run.average) == pytest.approx(conv, abs=1e-5)
