"""Training Koi-Koi: every cell runs and resumes, and the players of the book load."""

import json
import zlib
from itertools import pairwise

import koikoi_questions as questions
import koikoi_train as script
import numpy as np
import pytest
from recorded import recorded
from rounding import interval
from toy_games import mini

import cfrlib as cfr
from koikoi import KoiKoi
from koikoi.learners import NetworkPlayer
from koikoi.learners.network_player import decisions_of
from koikoi.players import GreedyPlayer
from koikoi.simulator import Simulator
from koikoi_learners import ESCHER

K8 = mini("K8")
TINY = {"hidden": (16,), "rounds": 60, "steps": 4, "batch": 32}
CELLS = (*script.CELLS, script.TRAVERSAL)


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """Make every run a few iterations, on K8 or of the full game, with files in a folder."""
    monkeypatch.setattr(script, "GAMES", {"K10": lambda: K8, "full": KoiKoi})
    monkeypatch.setattr(script, "MINI", TINY)
    monkeypatch.setattr(script, "FULL", TINY)
    monkeypatch.setattr(script, "MINUTES", {"K10": 1e-6, "full": 1e-6})
    monkeypatch.setattr(script, "RESULTS", tmp_path / "results.json")
    monkeypatch.setattr(script, "PLAYERS", tmp_path)
    monkeypatch.setattr(script, "WARM", 1)
    monkeypatch.setattr(script, "DEALS", 20)
    slow = {"rounds": 60, "steps": 4}  # in place of the learners' own options
    monkeypatch.setattr(script, "MORE", {", ".join(cell): slow for cell in CELLS})
    script.warm.cache_clear()


@pytest.mark.slow
@pytest.mark.parametrize(("learner", "network"), CELLS)
def test_every_cell_runs_and_resumes(learner, network, tiny):
    """All networks of a cell read the same; a longer run continues the curve of a shorter."""
    run = script.Run("K10", learner, network, 3)
    kinds = {each.kind.partition(" ")[0] for each in run.begin()._networks}
    assert kinds <= ({"transformer"} if network == "sequence" else {"mlp", "pair"})
    found = script.train(run)
    assert len(found["curve"]) == 2 and found["iterations"] == 1
    assert found["device"] == script.device()
    assert script.device().startswith(("cpu", "gpu", "tpu", "METAL"))
    longer = script.train(run._replace(times=1e4), found | {"seconds": 0.0})
    assert longer["iterations"] > 1 and longer["curve"][:2] == found["curve"]
    assert len(longer["curve"]) == 3
    again = run.begin().run(longer["iterations"], progress=False)
    saved = type(again).load(run.saved, K8)
    assert np.array_equal(saved.player().networks, again.player().networks)
    for _, rounds, _, policy, argmax in longer["curve"]:
        assert rounds % 60 == 0 and policy > 0 and argmax > 0


def test_policy_and_argmax_are_measured():
    """The argmax mixes nowhere."""
    learner = ESCHER(K8, **TINY, seed=1).run(3, progress=False)
    player = learner.player()
    both = [player, script.ArgmaxPlayer.of(player)]
    exact = [cfr.exploitability(K8, one.strategy()) for one in both]
    run = script.Run("K10", "regret", "table", 0)
    assert script.measure(run, learner) == pytest.approx(exact, rel=1e-3)
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
    assert len(script.PLAN) == 8 * (5 + 5 + 3 + 3) + 4 + 5 + 2 * 4
    stored = recorded("koikoi_train")["runs"]
    for game, cells in stored.items():
        for cell, seeds in cells.items():
            for seed, found in seeds.items():
                run = script.Run(game, *cell.split(", "), int(seed))
                times = [row[0] for row in found["curve"]]
                longest = run._replace(times=times[-1] / run.minutes)
                assert longest in script.PLAN
                assert times == script.times_of(longest)
                assert found["seconds"] >= 60 * times[-1]
                assert np.all(np.diff([row[1] for row in found["curve"]]) > 0)
    for run in script.PLAN:  # two trainings of six pairs are to come
        if run.game not in script.LATE:
            curve = stored[run.game][run.cell][str(run.seed)]["curve"]
            assert run.minutes in [row[0] for row in curve]


@pytest.mark.slow
def test_a_player_of_the_full_game_is_written(tiny):
    run = script.Run("full", "monte carlo", "table", 0)
    (row,) = script.train(run)["curve"][1:]
    player = NetworkPlayer.load(run.player, KoiKoi())
    assert run.player.name == "monte-carlo-table-0-1e-06-minutes.npz"
    assert script.points(player, zlib.crc32(run.name.encode())) == row[3:]


def test_a_mixture_is_thinned_by_weight(tiny):
    size = script.Run("K10", "regret", "table", 0).begin()._networks[0].size
    networks = [np.full(size, float(n)) for n in range(5)]
    player = NetworkPlayer(K8, networks, TINY["hidden"], "regret", [1, 1, 2, 2, 10])
    few = script.thinned(player, 4)
    assert [network[0] for network in few.networks] == [1, 3, 4, 4]
    assert (few.weights == 0.25).all()


# ---- the players of the book -----------------------------------------------------------------


SHIPPED = {run.learner: run.player for run in script.SHOWN}


def shipped(name):
    return NetworkPlayer.load(SHIPPED[name], KoiKoi())


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_players_are_small_and_match_the_recorded_checksums(name):
    assert SHIPPED[name].stat().st_size <= 1_500_000
    player = shipped(name)
    digest = player.checksum
    assert 1 <= len(player.networks) <= script.MOST["full"]
    duels = [
        found
        for key, found in recorded("koikoi_judge")["duels"].items()
        if key.startswith(f"{name} - ")
    ]
    assert len(duels) >= 7
    assert all(found["networks"].startswith(digest) for found in duels)


@pytest.mark.slow
@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_players_reproduce_the_recorded_duels(name):
    player = shipped(name)
    found = cfr.match(Simulator(KoiKoi()), player, GreedyPlayer("stop"), 1_000, seed=7)
    mean, half = recorded("koikoi_judge")["duels"][f"{name} - greedy, stops"]["points"]
    assert abs(found.mean - mean) < 2 * (found.margin**2 + half**2) ** 0.5


def test_answers_to_players_belong_to_the_shipped_networks():
    answers = recorded("koikoi_questions")
    digests = {shipped(name).checksum for name in SHIPPED} | {""}
    digests |= {questions.house_player().checksum}
    assert set(answers) == {
        *("positions", "calls", "deal", "cards", "calibration", "single", "yaku"),
        *("withholding", "discards", "search", "chosen", "rules", "greedy"),
    }
    for section in answers.values():
        assert section and all(found["networks"] in digests for found in section.values())


@pytest.mark.slow
def test_calls_of_self_play_reproduce_the_recorded_mean():
    """A batch of other rounds: the mean payoff of all forced calls, and the dealer's."""
    answers = recorded("koikoi_questions")
    player = shipped("monte carlo")
    log = questions.self_play(player, 3_000, np.random.SeedSequence(99))
    for values, cluster, (mean, half) in (
        (log.call, log.which, answers["calls"]["monte carlo"]["overall"]["all"][2:4]),
        (log.paid, None, answers["deal"]["monte carlo"]["points"]),
    ):
        found, error = interval(values, cluster)
        assert abs(found - mean) < 2 * (error**2 + half**2) ** 0.5
    six = log.points == 6
    assert (log.stop[six] == np.where(log.state[six] == 2, 12, 6)).all()


@pytest.mark.slow
def test_rule_of_thumb_reproduces_what_it_loses_to_the_network():
    """Other deals: far less than never calling, and as much as recorded."""
    answers = recorded("koikoi_questions")["rules"]["monte carlo"]["rules"]
    player = shipped("monte carlo")
    table = questions.thumb(*questions.THUMB)
    assert table[0, 0, 5].tolist() == [False] * 4 + [True] * 4
    assert not table[:, 2].any() and not table[:, :, 7:].any()
    found = questions.ruled(player, {"rule of thumb": table}, 1_000, 1.0)["rules"]
    (mean, half), (known, error) = (one["rule of thumb"]["points"] for one in (found, answers))
    assert abs(mean - known) < 2 * (half**2 + error**2) ** 0.5


def test_best_of_the_search_differs_by_seat():
    """A rule is named by the cards that a call takes, with 1 to 4 points, with 5 and with 6."""
    found = recorded("koikoi_questions")["chosen"]["monte carlo"]
    assert len(found["rules"]) == 80
    page = found["rules"][", ".join(map(str, questions.THUMB))]
    assert page == {"dealer": [0.0, 0.0], "other": [0.0, 0.0]}
    for seat, key in found["best"].items():
        assert found["rules"][key][seat][0] == max(
            one[seat][0] for one in found["rules"].values()
        )
    best = questions.best_by_seat({"best": {"dealer": "8, 5, 2", "other": "3, 4, 1"}})
    for seat, few, five, six in ((0, 8, 5, 2), (1, 3, 4, 1)):
        for state in (0, 1):
            called = best[seat, state]
            assert not called[0].any() and not called[7:].any()
            cards = [int(called[points].sum()) for points in range(1, 7)]
            assert cards == [8 - few] * 4 + [8 - five, 8 - six]
    assert not best[:, 2].any()


@pytest.mark.slow
def test_a_rule_gains_what_was_recorded():
    """On fewer deals, and on others: small calls early, and few with 6 points, lose."""
    player = shipped("monte carlo")
    _, page = questions.against(player, questions.thumb(*questions.THUMB), 2_000, 1.15, 5)
    _, other = questions.against(player, questions.thumb(3, 2, 4), 2_000, 1.15, 5)
    known = recorded("koikoi_questions")["chosen"]["monte carlo"]["rules"]["3, 2, 4"]
    for seat, gain in zip(("dealer", "other"), other - page, strict=True):
        (mean, half), (recorded_mean, error) = interval(gain), known[seat]
        assert mean < 0 and abs(mean - recorded_mean) < 2 * (half**2 + error**2) ** 0.5


def test_after_a_tie_the_other_player_deals():
    paid = np.array([3, 0, -2])
    assert questions.deals_next(paid, np.zeros(3)).tolist() == [True, False, False]
    assert questions.deals_next(paid, np.ones(3)).tolist() == [True, True, False]


def test_interval_is_clustered_by_round():
    """Two equal values per round are worth one: the error is that of the rounds."""
    values = np.array([1.0, 3.0, 2.0, 6.0])
    mean, half = interval(np.repeat(values, 2), np.repeat(np.arange(4), 2))
    assert mean == 3 and half == pytest.approx(1.96 * values.std(ddof=1) / 2, abs=1e-3)


def test_bounds_on_k12_are_below_the_exact_exploitability():
    found = recorded("koikoi_judge")["calibrated"]
    assert set(found) == {*script.LEARNERS, "monte carlo, early", "monte carlo, late"}
    for one in found.values():
        for mean, half in (one["local"], one["trained"]):
            assert mean - half < one["exact"]
