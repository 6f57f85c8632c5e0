"""The training script of Koi-Koi: saved runs resume, and the shipped players load."""

import importlib
import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

import cfrlib as cfr
from koikoi import KoiKoi, MiniKoiKoi
from koikoi.learners import NetworkPlayer
from koikoi.players import GreedyPlayer
from koikoi.simulator import Simulator

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parents[2] / "experiments" / "koikoi_train.py"
TINY = {"hidden": (8,), "rounds": 40, "steps": 2, "batch": 16}


@pytest.fixture
def script(tmp_path, monkeypatch):
    """The script's globals, with tiny learners and a temporary folder."""
    monkeypatch.setattr(sys, "argv", [str(SCRIPT)])
    names = runpy.run_path(str(SCRIPT))
    world = names["train"].__globals__
    world.update(
        GAMES={"full": KoiKoi, "K10": MiniKoiKoi.K8},  # small, to be fast
        PLAYERS=tmp_path, RUNS=tmp_path / "runs", RESULTS=tmp_path / "results.json",
        TIMES=(0.001, 0.01, 0.02), DEALS=20, FULL=TINY, MINI=TINY, EVERY=1,
        LEARNERS={
            name: (kind, {"keep_every": 1} if "keep_every" in full else {}, {})
            for name, (kind, full, _) in names["LEARNERS"].items()
        },
    )  # fmt: skip
    world["RUNS"].mkdir()
    return world


@pytest.mark.parametrize(
    "learner", ["monte carlo", "policy gradient", "regret", "traversal", "discounted"]
)
def test_a_saved_run_resumes_exactly(script, learner):
    run = script["Run"]("K10", learner, 0, 0.02)
    run.begin(None).run(1, progress=False)  # compiled before the clock starts
    script["train"](run, 0.001, None)
    first = json.loads((script["RUNS"] / f"{run.name}.json").read_text())
    script["train"](run, np.inf, None)
    learner, spent, curve = run.resume(None)
    assert spent >= 60 * 0.02
    log = json.loads((script["RUNS"] / f"{run.name}.json").read_text())
    assert log["devices"] == [script["device"]()]
    assert script["device"]().startswith(("cpu", "gpu", "tpu", "METAL"))
    assert curve[: len(first["curve"])] == first["curve"]
    assert [row[0] for row in curve] == [0.001, 0.01, 0.02]
    assert all(0 < row[3] < 2 for row in curve)
    again = run.begin(None).run(learner.iterations, progress=False)
    assert np.array_equal(learner.player().networks, again.player().networks)


def test_results_and_players_are_written(script):
    run = script["Run"]("full", "regret", 0, 0.001)
    script["train"](run, np.inf, None)
    script["PLAN"] = (run, script["Run"]("full", "traversal", 0, 1))
    script["collect"]()
    found = json.loads(script["RESULTS"].read_text())
    assert list(found["curves"]) == ["full"]
    assert list(found["curves"]["full"]) == ["regret"]
    assert found["grown"] == {}  # no measurement at the age of the young run
    player = NetworkPlayer.load(script["PLAYERS"] / "regret.npz", KoiKoi())
    assert 1 <= len(player.networks) <= 4


def test_grown_compares_a_run_with_its_earlier_networks(script):
    """It scores 0 against itself at the same age; the result of a run is cached."""
    script.update(YOUNG=0.001, GROWN_DEALS=40)
    run = script["Run"]("full", "regret", 0, 0.02)
    run.begin(None).run(2, progress=False)  # compiled before the clock starts
    script["train"](run, np.inf, None)
    script["PLAN"] = (run,)
    script["collect"]()
    learner, _, curve = run.resume(None)
    grown = json.loads(script["RESULTS"].read_text())["grown"]
    assert grown["iterations"] == learner.iterations > curve[0][1] // learner.rounds
    assert script["grown"](learner, learner.iterations * learner.rounds) == [0.0, 0.0]
    assert script["grown"](learner, curve[0][1]) == grown["points"] != [0.0, 0.0]
    script["duel"] = None  # a second call uses the cached result
    script["collect"]()


def test_a_mixture_is_thinned_by_weight(script):
    size = script["Run"]("K10", "regret", 0, 1).begin(None)._networks[0].size
    networks = [np.full(size, float(n)) for n in range(5)]
    game = script["GAMES"]["K10"]()
    player = NetworkPlayer(game, networks, (8,), "regret", [1, 1, 2, 2, 10])
    few = script["thinned"](player, 4)
    assert [network[0] for network in few.networks] == [1, 3, 4, 4]
    assert (few.weights == 0.25).all()


# ---- the players of the book -----------------------------------------------------------------


SHIPPED = ("monte carlo", "policy gradient", "regret", "traversal")
FOLDER = SCRIPT.with_name("koikoi_players")


def file_of(name):
    return FOLDER / f"{name.replace(' ', '_')}.npz"


def shipped(name):
    return NetworkPlayer.load(file_of(name), KoiKoi())


@pytest.fixture(scope="module")
def recorded():
    return json.loads(SCRIPT.with_name("koikoi_judge.json").read_text())


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_players_are_small_and_match_the_recorded_checksums(name, recorded):
    assert file_of(name).stat().st_size <= 1_500_000
    digest = shipped(name).checksum
    duels = [found for key, found in recorded["duels"].items() if key.startswith(f"{name} - ")]
    assert len(duels) >= 7
    assert all(found["networks"].startswith(digest) for found in duels)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_players_reproduce_the_recorded_duels(name, recorded):
    player = shipped(name)
    found = cfr.match(Simulator(KoiKoi()), player, GreedyPlayer("stop"), 1_000, seed=7)
    mean, half = recorded["duels"][f"{name} - greedy, stops"]["points"]
    assert abs(found.mean - mean) < 2 * (found.margin**2 + half**2) ** 0.5


@pytest.fixture(scope="module")
def questions():
    """Return experiments/koikoi_questions.py as a module."""
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        return importlib.import_module("koikoi_questions")
    finally:
        sys.path.remove(str(SCRIPT.parent))


def test_answers_to_players_belong_to_the_shipped_networks(questions):
    answers = json.loads(questions.RESULTS.read_text())
    digests = {shipped(name).checksum for name in SHIPPED} | {""}
    digests |= {questions.house_player().checksum}
    assert set(answers) == {
        *("positions", "calls", "deal", "cards", "calibration", "single", "yaku"),
        *("withholding", "discards", "search", "rules", "greedy"),
    }
    for section in answers.values():
        assert section and all(found["networks"] in digests for found in section.values())


def test_calls_of_self_play_reproduce_the_recorded_mean(questions):
    """A batch of other rounds: the mean payoff of all forced calls, and the dealer's."""
    answers = json.loads(questions.RESULTS.read_text())
    player = shipped("monte carlo")
    log = questions.self_play(player, 3_000, np.random.SeedSequence(99))
    for values, cluster, (mean, half) in (
        (log.call, log.which, answers["calls"]["monte carlo"]["overall"]["all"][2:4]),
        (log.paid, None, answers["deal"]["monte carlo"]["points"]),
    ):
        found, error = questions.interval(values, cluster)
        assert abs(found - mean) < 2 * (error**2 + half**2) ** 0.5
    six = log.points == 6
    assert (log.stop[six] == np.where(log.state[six] == 2, 12, 6)).all()


def test_rule_of_thumb_reproduces_what_it_loses_to_the_network(questions):
    """Other deals: far less than never calling, and as much as recorded."""
    answers = json.loads(questions.RESULTS.read_text())["rules"]["monte carlo"]["rules"]
    player = shipped("monte carlo")
    table = questions.rule(questions.THUMB, questions.THUMB)
    assert table[0, 0, 5].tolist() == [False] * 4 + [True] * 4
    assert not table[:, 2].any() and not table[:, :, 7:].any()
    found = questions.ruled(player, {"rule of thumb": table}, 1_000, 1.0)["rules"]
    (mean, half), (known, error) = (one["rule of thumb"]["points"] for one in (found, answers))
    assert abs(mean - known) < 2 * (half**2 + error**2) ** 0.5


def test_after_a_tie_the_other_player_deals(questions):
    paid = np.array([3, 0, -2])
    assert questions.deals_next(paid, np.zeros(3)).tolist() == [True, False, False]
    assert questions.deals_next(paid, np.ones(3)).tolist() == [True, True, False]


def test_interval_is_clustered_by_round(questions):
    """Two equal values per round are worth one: the error is that of the rounds."""
    values = np.array([1.0, 3.0, 2.0, 6.0])
    mean, half = questions.interval(np.repeat(values, 2), np.repeat(np.arange(4), 2))
    assert mean == 3 and half == pytest.approx(1.96 * values.std(ddof=1) / 2, abs=1e-3)


def test_a_tampered_shipped_player_raises(tmp_path):
    """One weight is changed in a file that is otherwise complete."""
    with np.load(file_of("monte carlo")) as known:
        arrays = {key: known[key] for key in known.files}
    arrays["networks"] = arrays["networks"].copy()
    arrays["networks"][0, 100] += 1
    np.savez(tmp_path / "player.npz", **arrays)
    with pytest.raises(ValueError, match="complete file"):
        NetworkPlayer.load(tmp_path / "player.npz", KoiKoi())


def test_results_contain_every_planned_run():
    plan = runpy.run_path(str(SCRIPT))["PLAN"]
    curves = json.loads(SCRIPT.with_suffix(".json").read_text())["curves"]
    for run in plan:
        entry = curves[run.game][run.learner][str(run.seed)]
        assert entry["seconds"] >= 60 * run.minutes
        assert entry["curve"][-1][0] == run.minutes


def test_bounds_on_k12_are_below_the_exact_exploitability(recorded, script):
    found = recorded["calibrated"]
    assert set(found) == {*script["LEARNERS"], "monte carlo, early", "monte carlo, late"}
    for one in found.values():
        for mean, half in (one["local"], one["trained"]):
            assert mean - half < one["exact"]
