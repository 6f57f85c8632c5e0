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
            name: (
                kind, {"keep_every": 1} if "keep_every" in full else {},
                {key: mini[key] for key in ("network", "critic") if key in mini},
            )
            for name, (kind, full, mini) in names["LEARNERS"].items()
        },
    )  # fmt: skip
    world["RUNS"].mkdir()
    return world


@pytest.mark.parametrize(
    "learner",
    [
        "monte carlo",
        "transformer",
        "policy gradient",
        "ppo",
        "regret",
        "history",
        "traversal",
        "discounted",
    ],
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


# ---- the notes' bet --------------------------------------------------------------------------


MINUTES = 10  # of koikoi_bet.json, which an earlier version of the script wrote


@pytest.fixture(scope="module")
def bet():
    """Return experiments/koikoi_bet.py as a module, and the results of ten minutes."""
    sys.path.insert(0, str(SCRIPT.parent))
    try:
        module = importlib.import_module("koikoi_bet")
    finally:
        sys.path.remove(str(SCRIPT.parent))
    return module, json.loads(module.RESULTS.with_name("koikoi_bet.json").read_text())


def test_the_results_of_the_bet_hold_its_whole_plan(bet):
    module, results = bet
    assert set(results) == {"curves", "matches", "duels", "work"}
    for run in module.PLAN:
        log = results["curves"][run.game][run.learner][str(run.seed)]
        times = [at for at in module.TIMES[run.game] if at <= MINUTES]
        assert [row[0] for row in log["curve"]] == times
        last = min(MINUTES, module.STAGES[run.game][-1])
        assert 60 * last <= log["seconds"] < 60 * last + 6  # an iteration more
    everybody = {(run.learner, run.seed) for run in module.PLAN if run.game == "full"}
    rivals = {pair.split(" - ")[1] for pair in results["duels"] if pair.count("seed") == 1}
    assert rivals == {"greedy, stops", "search, 400"}
    assert len(results["matches"]) == len(everybody) == 24
    assert len(results["duels"]) == 3 * 8 * 7 // 2 + 24 * len(rivals)


def test_each_player_of_the_bet_was_judged_with_the_same_networks(bet):
    _, results = bet
    marks = {}
    for section in ("matches", "duels"):
        for pair, found in results[section].items():
            names = [name for name in pair.split(" - ") if ", seed " in name]
            assert len(found["networks"]) == 16 * len(names)
            for n, name in enumerate(names):
                mark = found["networks"][16 * n : 16 * (n + 1)]
                assert marks.setdefault(name, mark) == mark, pair
    assert len(set(marks.values())) == len(marks) == 24


@pytest.mark.parametrize("name", ["monte carlo", "ppo", "regret", "discounted", "traversal"])
def test_counted_work_is_that_of_the_options(name, bet):
    module, results = bet
    run = module.Run("full", name, 0, 0).begin(None)
    found = results["work"][name]
    assert found["rounds"] == run.rounds
    weights = [network.size for network in run._networks]
    assert found["trained"] == module.digits(len(weights) * run.steps * run.batch)
    for part in ("read", "trained"):  # the mean number of weights, in four digits each
        each = found[f"products {part}"] / found[part]
        assert 0.999 * min(weights) < each < 1.001 * max(weights)


@pytest.fixture(scope="module")
def longer(bet):
    """Return the results of the runs of twenty minutes, and the checksums of their players."""
    module, _ = bet
    _, marks = module.load(KoiKoi(), folder=module.FOLDER)
    return json.loads(module.RESULTS.read_text()), marks


def test_the_harder_judges_met_every_player_in_the_files(bet, longer):
    module, _ = bet
    results, marks = longer
    assert set(marks) == {f"{name}, seed 0" for name in module.LEARNERS}
    for section in ("matches", "duels"):
        for pair, found in results[section].items():
            both = "".join(marks.get(name, "") for name in pair.split(" - "))
            assert found["networks"] == both, pair
    for name, mark in marks.items():
        for deals in ("40", "400", "4,000"):
            assert f"{name} - search, {deals}" in results["duels"]
        for level in ("Normal", "Hard"):
            found = results["open_hanafuda"][f"{name} - {level}"]
            assert found["networks"] == mark and found["matches"] == 448
        assert results["exploited"][f"{name}, local"]["networks"] == mark
        assert results["exploited"][f"{name}, trained"]["networks"].startswith(mark)


def test_bounds_on_k12_are_below_the_exact_exploitability(recorded, bet):
    module, _ = bet
    found = recorded["calibrated"]
    assert set(found) == {*module.LEARNERS, "monte carlo, early"}
    for one in found.values():
        for mean, half in (one["local"], one["trained"]):
            assert mean - half < one["exact"]


def test_a_regret_network_that_starts_anew_has_forgotten_the_old_one(bet, monkeypatch):
    """Untrained it is 0 everywhere; after as many steps it differs from the kept one."""
    module, _ = bet
    tiny = {"rounds": 4, "steps": 2, "batch": 16, "keep_every": 1}
    monkeypatch.setitem(module.LEARNERS, "traversal", (None, tiny, {}))
    monkeypatch.setattr("koikoi_train.FULL", {"hidden": (8,)})
    learner = module.Restarting(KoiKoi(), hidden=(8,), **tiny).run(2, progress=False)
    kept = learner.current.networks[0]
    describer = learner.current.network.describer
    rounds = describer.simulator.deal(3, seed=0)
    pairs = describer.after(rounds, np.arange(3)).pairs
    assert np.any(learner.current.network(kept, pairs))
    assert not np.any(learner.current.network(learner.restart(0, 0).networks[0], pairs))
    assert not np.array_equal(learner.restart(4, 0).networks[0], kept)
    for name, value in {"KEPT": (1, 3), "ANEW": (4,), "DEALS": 20}.items():
        monkeypatch.setattr(module, name, value)
    found = module.anew(0)
    assert list(found["kept"]) == ["1", "3"] and list(found["anew"]) == ["4"]
    assert found["kept"]["1"] != found["kept"]["3"] != found["anew"]["4"]
    assert 0 < found["targets"][0] < found["targets"][1]
