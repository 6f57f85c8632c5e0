"""The judges of chapter 17: intervals cover the truth, results belong to the kept players."""

from itertools import combinations

import koikoi_bet as script
import numpy as np
import pytest
from listing import listing
from recorded import recorded
from rounding import digits
from scipy import stats


@pytest.fixture(scope="module")
def both_ways():
    """Return the page's function for an interval over trainings and deals."""
    return listing("17_the_bet", "both_ways", np=np, stats=stats)["both_ways"]


@pytest.fixture(scope="module")
def results():
    return recorded("koikoi_bet")


@pytest.fixture(scope="module")
def loaded():
    """Return the players of the full game, by run."""
    return script.load()


@pytest.fixture(scope="module")
def players(loaded):
    """Return those of ten minutes, by name."""
    return {f"{run.cell}, seed {run.seed}": loaded[run] for run in loaded if run.times == 1}


@pytest.mark.parametrize("n", [3, 5])
@pytest.mark.parametrize("comparisons", [1, 10])
@pytest.mark.parametrize(("between", "deals"), [(0.05, 0.0), (0.0, 0.04), (0.05, 0.04)])
def test_the_interval_covers_the_truth(both_ways, n, comparisons, between, deals):
    """In 4,000 studies of a few trainings: in 95 % ("95 to 99.6 %" in chapter 17), or more."""
    rng, missed = np.random.default_rng(1), 0
    level = 0.05 / comparisons
    for _ in range(4_000):
        scores = rng.normal(0, between, n) + rng.normal(0, deals, n)
        mean, half = both_ways(scores, np.full(n, 1.96 * deals), comparisons)
        missed += abs(mean) > half
    assert missed / 4_000 < level + 3 * (level / 4_000) ** 0.5
    if not deals:  # an exact interval: Student's
        assert missed / 4_000 > level - 3 * (level / 4_000) ** 0.5


def test_more_comparisons_widen_an_interval(both_ways):
    scores, errors = np.array([1.0, 1.1, 1.2]), np.full(3, 0.1)
    mean, half = both_ways(scores, errors)
    assert mean == pytest.approx(1.1)
    assert both_ways(scores, errors, comparisons=28)[1] > 2 * half


def test_each_result_belongs_to_the_kept_players(players, results):
    """All cells met greedy, three times, those with the table also in matches; pairs met."""
    sums = {name: player.checksum for name, player in players.items()}
    assert len(set(sums.values())) == 24
    assert set(results["greedy"]) == set(sums)
    assert set(results["matches"]) == {name for name in sums if ", table" in name}
    cells = [", ".join(cell) for cell in script.CELLS]
    assert set(results["apart"]) == {
        f"{one}, seed {seed} - {other}, seed {seed}"
        for one, other in combinations(cells, 2)
        for seed in range(3)
    }
    for section in ("greedy", "matches", "apart", "longest"):
        for key, found in results[section].items():
            names = key.partition(", block")[0].split(" - ")
            assert found["networks"] == "".join(sums[name] for name in names), key


def test_longer_trainings_met_themselves(loaded, players, results):
    kept = {(run.cell, run.minutes): loaded[run] for run in loaded if run.times > 1}
    assert {minutes for _, minutes in kept} == {20, 40}
    wanted, leader = {}, script.LEADERS[0]
    for (cell, minutes), player in kept.items():
        key = f"{cell}, seed 0, {minutes} minutes"
        wanted[key] = player.checksum + players[f"{cell}, seed 0"].checksum
        if minutes == 40 and cell != leader:
            wanted[f"{key} - {leader}"] = player.checksum + kept[leader, 40].checksum
    assert {key: found["networks"] for key, found in results["longer"].items()} == wanted


@pytest.mark.slow
@pytest.mark.parametrize("name", ["monte carlo, table, seed 0", "regret, sequence, seed 1"])
def test_players_reproduce_what_they_won(players, results, name):
    """Other deals: the difference is within both errors."""
    found = script.cfr.match(
        script.Simulator(script.game), players[name], script.GreedyPlayer("stop"), 1_000, seed=7
    )
    mean, half = results["greedy"][name]["policy"]
    assert abs(found.mean - mean) < 1.5 * (found.margin**2 + half**2) ** 0.5


def test_argmax_player_is_deterministic(players):
    player = script.ArgmaxPlayer.of(players["regret, table, seed 0"])
    describer = player.network.describer
    after = describer.after(describer.simulator.deal(20, seed=0), np.arange(20))
    sigma = player.sigma(0, after)
    assert set(sigma.tolist()) == {0.0, 1.0} and sigma.sum() == 20


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "network"), script.CELLS)
def test_counted_work_is_that_of_the_options(learner, network, results):
    """Each network trains `steps` batches an iteration, once or on each row."""
    run = script.Run("full", learner, network, 0).begin()
    found = results["work"][f"{learner}, {network}"]
    assert found["rounds"] == run.rounds and 0 < found["share"] < 1
    rows = run.steps * run.batch
    assert found["products trained"] == digits(
        sum(network.size for network in run._networks) * rows
    )
