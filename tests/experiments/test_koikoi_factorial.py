"""The factorial of learners and networks: every cell runs, resumes, and is judged both ways."""

import json
from itertools import pairwise

import koikoi_factorial as script
import numpy as np
import pytest
from recorded import recorded
from toy_games import mini

import cfrlib as cfr
from koikoi.learners.network_player import decisions_of
from koikoi_learners import ESCHER

K8 = mini("K8")
TINY = {"hidden": (16,), "rounds": 60, "steps": 4, "batch": 32}


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Make every run a few iterations on K8, with files in a temporary folder."""
    monkeypatch.setattr(script, "GAMES", {"K10": lambda: K8})
    monkeypatch.setattr(script, "MINI", TINY)
    monkeypatch.setattr(script, "MINUTES", {"K10": 1e-6})
    monkeypatch.setattr(script, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(script, "PLAYERS", tmp_path)
    monkeypatch.setattr(script, "WARM", 1)
    slow = {"rounds": 60, "steps": 4}  # in place of the learners' own options
    monkeypatch.setattr(script, "MORE", {f"{a}, {b}": slow for a, b in script.CELLS})
    script.warm.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "network"), script.CELLS)
def test_every_cell_runs_and_resumes(learner, network, tiny):
    """All networks of a cell read the same; a longer run continues the curve of a shorter."""
    run = script.Run("K10", learner, network, 3)
    kinds = {each.kind.partition(" ")[0] for each in run.begin()._networks}
    assert kinds <= ({"transformer"} if network == "sequence" else {"mlp", "pair"})
    found = script.train(run)
    assert len(found["curve"]) == 2 and found["iterations"] == 1
    longer = script.train(run._replace(times=1e4), found | {"seconds": 0.0})
    assert longer["iterations"] > 1 and longer["curve"][:2] == found["curve"]
    assert len(longer["curve"]) == 4
    for _, rounds, _, policy, argmax in longer["curve"]:
        assert rounds % 60 == 0 and policy > 0 and argmax > 0


def test_policy_and_argmax_are_measured_in_one_pass():
    """They agree with the strategies of the two players; greedy values mix nowhere."""
    player = ESCHER(K8, **TINY, seed=1).run(3, progress=False).player()
    both = [player, script.ArgmaxPlayer.of(player)]
    exact = [cfr.exploitability(K8, one.strategy()) for one in both]
    assert script.exploitabilities(player) == pytest.approx(exact, rel=1e-3)
    assert exact[0] != exact[1]
    after = decisions_of(K8).after
    policy, argmax = (one.sigma(0, after) for one in both)
    assert set(argmax) == {0.0, 1.0}
    for begin, end in pairwise(after.start):
        assert argmax[begin:end].argmax() == policy[begin:end].argmax()


def test_results_are_written_one_by_one(tiny):
    """A place that is written keeps what was there before."""
    for place in (("runs", "K10", "a", "0"), ("runs", "K10", "a", "1"), ("tried",)):
        script.flat_json.record(script.RESULTS, place, {"seconds": 1})
    assert script.flat_json.find(script.RESULTS, ("runs", "K10", "a", "1")) == {"seconds": 1}
    assert script.flat_json.find(script.RESULTS, ("runs", "K12", "a", "1")) is None
    assert set(json.loads(script.RESULTS.read_text())) == {"runs", "tried"}


def test_the_plan_and_the_recorded_runs_have_their_budgets():
    """Each stored run belongs to the plan and has a row for each of its times."""
    assert len(script.PLAN) == 8 * (5 + 5 + 3 + 3) + 2 * 4
    stored, planned = recorded("koikoi_factorial")["runs"], set(script.PLAN)
    for game, cells in stored.items():
        for cell, seeds in cells.items():
            for seed, found in seeds.items():
                learner, network = cell.split(", ")
                assert script.Run(game, learner, network, int(seed)) in planned
                times = [row[0] / script.MINUTES[game] for row in found["curve"]]
                planned_times = [1] if game in script.LATE else [0.25, 1]
                assert times in (planned_times, list(script.SLOPE))
                assert found["seconds"] >= 60 * script.MINUTES[game] * times[-1]
                assert np.all(np.diff([row[1] for row in found["curve"]]) > 0)
