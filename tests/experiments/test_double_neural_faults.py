"""The experiments of chapter 11: faults in small runs, and Leduc poker."""

import double_neural as script
import numpy as np
import pytest

pytestmark = pytest.mark.slow


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
