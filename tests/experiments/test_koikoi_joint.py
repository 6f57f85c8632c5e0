"""The joint interval covers the truth, and koikoi_joint.json belongs to the kept players."""

import importlib
import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from koikoi import KoiKoi

FOLDER = Path(__file__).parents[2] / "experiments"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def script():
    """Return experiments/koikoi_joint.py as a module."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("koikoi_joint")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.fixture(scope="module")
def results():
    return json.loads((FOLDER / "koikoi_joint.json").read_text())


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize(("between", "deals"), [(0.05, 0.0), (0.0, 0.04), (0.05, 0.04)])
def test_joint_interval_covers_the_truth(script, monkeypatch, shared, between, deals):
    """In 500 studies of three trainings each: in 95 %, less what 500 studies may miss."""
    monkeypatch.setattr("koikoi_judge.RESAMPLES", 600)
    rng, covered = np.random.default_rng(1), 0
    for _ in range(500):
        luck = rng.normal(0, deals, 1 if shared else 3)
        scores = rng.normal(0, between, 3) + luck
        pairs = [(score, 1.96 * deals) for score in scores]
        mean, half = script.joint_interval(pairs, shared=shared)
        covered += abs(mean) <= half
    assert covered / 500 > 0.95 - 3 * (0.95 * 0.05 / 500) ** 0.5


def test_resampling_without_correction_covers_too_little():
    rng, covered = np.random.default_rng(1), 0
    for _ in range(500):
        scores = rng.normal(0, 1, 3)
        means = scores[rng.integers(0, 3, (600, 3))].mean(axis=1)
        low, high = np.quantile(means, (0.025, 0.975))
        covered += low <= 0 <= high
    assert 0.7 < covered / 500 < 0.8  # "75 %" in chapter 17


def test_more_comparisons_and_shared_deals_widen_an_interval(script):
    scores = [(1.0, 0.1), (1.1, 0.1), (1.2, 0.1)]
    mean, half = script.joint_interval(scores)
    assert mean == pytest.approx(1.1)
    assert script.joint_interval(scores, shared=True)[1] > half
    assert script.joint_interval(scores, comparisons=28)[1] > 2 * half


def test_results_belong_to_the_kept_players(script, results):
    _, sums = script.load(KoiKoi(), "bet")
    learners = list(script.LEARNERS)
    for section in ("executed", "correlation", "sets"):
        for names, found in results[section].items():
            marks = "".join(sums[f"{who}, seed 0"] for who in names.split(" - "))
            assert found["networks"] == marks, names
    assert set(results["executed"]) == set(results["trainings"]) == set(learners)
    pairs = {" - ".join(pair) for pair in combinations(learners, 2)}
    assert set(results["gaps"]) == set(results["correlation"]) == pairs


def test_gaps_follow_from_the_results_of_three_trainings(script, results):
    found = script.gaps("policy gradient", "regret", 0.4169)
    known = results["gaps"]["policy gradient - regret"]
    assert found["head to head"] == known["head to head"]
    assert found["greedy"] == pytest.approx(known["greedy"], rel=0.01)
    found, known = script.trainings("ppo"), results["trainings"]["ppo"]
    assert found == {judge: known[judge] for judge in found}


def test_argmax_player_is_deterministic(script):
    player = script.ArgmaxPlayer.load(FOLDER / "koikoi_players/bet/ppo-0.npz", KoiKoi())
    describer = player.network.describer
    after = describer.after(describer.simulator.deal(20, seed=0), np.arange(20))
    sigma = player.sigma(0, after)
    assert set(sigma.tolist()) == {0.0, 1.0} and sigma.sum() == 20
