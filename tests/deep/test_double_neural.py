"""Double Neural CFR: networks that read, and a run whose sums are what networks answer."""

import importlib.util
import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx

import cfrlib as cfr
from cfrlib.deep import DeepCFR, DoubleNeural, Reader, Training, double_neural, encode, spell
from cfrlib.deep.networks import Learner
from cfrlib.games import KuhnPoker, LeducPoker

pytestmark = pytest.mark.slow

KUHN = KuhnPoker()
KEY = jax.random.key(0)
TINY = Training((8,), 20)
SMALL = {"batch": 50, "regret": TINY, "strategy": TINY}
READ = Training((8, 8), 200, rate=1e-2, cell="gru", attention=True)  # compiled once for all
CELLS = [(cell, attention) for cell in ("gru", "lstm") for attention in (False, True)]


def small(game=KUHN, **options):
    return DoubleNeural(game, **{**SMALL, "seed": 1, **options})


def same(a, b):
    """Whether two runs hold the same numbers, bit for bit."""
    pairs = [*zip(a._tables, b._tables, strict=True), (a._met, b._met)]
    pairs += zip(a._networks, b._networks, strict=True)
    return (a.nodes, a.losses) == (b.nodes, b.losses) and all(
        np.array_equal(x, y) for x, y in pairs
    )


# ---- words -----------------------------------------------------------------------------------


def test_a_word_is_the_same_wherever_it_stands():
    words = spell(["Q check-bet", "K bet-check", "K", "-1 check"])
    assert words.dtype == np.int32
    assert words.shape == (4, 3)
    q, check, bet = words[0]
    assert words[1].tolist() == [words[2, 0], bet, check]
    assert words[2, 1:].tolist() == [0, 0]
    assert words[3, 1] == check
    assert len({q, check, bet, *words[2:, 0]}) == 5
    assert set(words.flat) == set(range(6))


@pytest.mark.parametrize("game", [KUHN, LeducPoker()], ids=repr)
def test_every_infoset_is_spelled_differently(game):
    words = spell(cfr.compile(game).infoset_label)
    assert len(np.unique(words, axis=0)) == len(words)


# ---- networks that read ----------------------------------------------------------------------


@pytest.fixture
def plainly():
    """Operation by operation: compiling a loop takes longer than going through it."""
    with jax.disable_jit():
        yield


plain = pytest.mark.usefixtures("plainly")
WORDS = spell(["J", "Q check", "Q bet", "K check-bet", "K bet-check"])


def reader(cell="gru", attention=True, hidden=(8, 8)):
    """Return a network whose last layer is not 0, as it is when it is new."""
    made = Reader(int(WORDS.max()) + 1, cell, hidden, attention, 2, nnx.Rngs(3))
    made.layers.last.kernel[...] = jax.random.normal(KEY, made.layers.last.kernel.shape)
    return made


@plain
@pytest.mark.parametrize(("cell", "attention"), CELLS)
def test_places_after_the_last_word_change_nothing(cell, attention):
    network = reader(cell, attention)
    longer = np.concatenate([WORDS, np.zeros((5, 4), np.int32)], axis=1)
    assert np.allclose(network(WORDS), network(longer), atol=1e-6)
    assert np.abs(network(WORDS)).min() > 1e-3
    alone = network(WORDS[1:2, :2])  # and as short as it is
    assert np.allclose(alone[0], network(WORDS)[1], atol=1e-6)


@plain
@pytest.mark.parametrize(("cell", "attention"), CELLS)
def test_the_order_of_words_matters(cell, attention):
    network = reader(cell, attention)
    one, two = network(WORDS[3:4]), network(WORDS[3:4, [0, 2, 1]])
    assert np.abs(one - two).max() > 1e-3


@plain
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_states_do_not_know_what_comes_after(cell):
    """The first two states of "K check-bet" are those of "K check"."""
    network = reader(cell)
    states = network.states(jnp.asarray(WORDS[3:4]))
    shorter = network.states(jnp.asarray(WORDS[3:4, :2]))
    assert np.allclose(states[:2], shorter, atol=1e-6)
    assert np.abs(states[2] - states[1]).max() > 1e-3


@plain
@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_attention_is_over_the_words_there_are(cell):
    network = reader(cell)
    weights = np.asarray(network.attention(network.states(jnp.asarray(WORDS)), WORDS))
    assert weights.shape == WORDS.shape
    assert weights.sum(axis=1) == pytest.approx(np.ones(5))
    assert (weights[WORDS == 0] == 0).all()
    assert (weights[WORDS > 0] > 0).all()
    assert weights[0, 0] == 1
    last = reader(cell, attention=False)
    weights = last.attention(last.states(jnp.asarray(WORDS)), jnp.asarray(WORDS))
    assert np.array_equal(weights[:, -1], np.ones(5))


@plain
def test_attention_is_a_mean_of_states():
    """By hand: softmax of v · tanh(W state), then the mean, then the layers."""
    network = reader("gru")
    states = np.asarray(network.states(jnp.asarray(WORDS[3:4])))[:, 0]
    W, b = (np.asarray(x[...]) for x in (network.look.kernel, network.look.bias))
    scores = np.tanh(states @ W + b) @ np.asarray(network.score.kernel[...])[:, 0]
    weights = np.exp(scores) / np.exp(scores).sum()
    wanted = network.layers((weights @ states)[None, :])
    assert np.allclose(network(WORDS[3:4]), wanted, atol=1e-6)


@pytest.mark.parametrize(("cell", "attention"), [("gru", False), ("lstm", True)])
def test_readers_learn_any_table(cell, attention):
    """One target for each infoset of Kuhn poker, drawn at random."""
    words = spell(cfr.compile(KUHN).infoset_label)
    target = np.random.default_rng(2).normal(size=(12, 2)).astype(np.float32)
    training = Training((16, 16), 500, None, 2e-2, cell, attention)
    learner = Learner(words, np.ones((12, 2), bool), training)
    start = learner.fresh(KEY)
    assert not learner(start).any()
    network, _ = learner.refit(start, KEY, np.ones(12, bool), target)
    assert np.abs(learner(network) - target).max() < 0.1
    if attention:
        assert learner.attention(network).sum(axis=1) == pytest.approx(np.ones(12))


@pytest.mark.parametrize("batch", [None, 16])
def test_training_goes_on_from_where_it_stood(batch):
    """Few steps, again and again, come to what a new network needs many for."""
    learner = Learner(encode(["a", "b", "c"]), np.ones((3, 1), bool), Training((8,), 40, batch))
    target = np.array([[1.0], [-1.0], [0.5]], np.float32)
    network, losses = learner.fresh(KEY), []
    for n in range(12):
        key = jax.random.fold_in(KEY, n)
        network, loss = learner.refit(network, key, np.ones(3, bool), target)
        losses.append(loss)
    assert losses[-1] < losses[0] / 10
    assert np.abs(learner(network) - target).max() < 0.1


@pytest.mark.parametrize("batch", [None, 16])
def test_only_what_is_taught_is_learned(batch):
    """Targets elsewhere do not matter, whatever they are."""
    taught, found = np.array([True, False, True]), []
    for junk in (0.0, 1e6):
        learner = Learner(
            encode(["a", "b", "c"]), np.ones((3, 1), bool), Training((), 300, batch)
        )
        target = np.array([[1.0], [junk], [-1.0]], np.float32)
        found.append(learner.refit(learner.fresh(KEY), KEY, taught, target)[0])
    assert np.array_equal(*found)


# ---- runs ------------------------------------------------------------------------------------


class Perfect(Learner):
    """A network that answers what it was taught last, and what is near it elsewhere."""

    def __init__(self, features, legal, training):
        super().__init__(features, legal, training)
        self.memory = np.zeros(legal.shape, np.float64)

    def refit(self, network, key, taught, target):
        self.memory[taught] = target[taught]
        return network, 0.0

    def __call__(self, network):
        return self.memory.copy()


@pytest.mark.parametrize(
    "sampling", [cfr.RobustSampling(1), "external", "outcome", "chance"], ids=repr
)
@pytest.mark.parametrize("rehearse", [0.0, 1.0])
def test_with_a_perfect_memory_it_is_mccfr_plus(monkeypatch, sampling, rehearse):
    """The same walks, the same sums: the table itself, but for single precision."""
    monkeypatch.setattr(double_neural, "Learner", Perfect)
    run = small(sampling=sampling, rehearse=rehearse).run(5, progress=False)
    table = cfr.MCCFR(KUHN, "cfr+", sampling=sampling, batch=50, seed=1).run(5, progress=False)
    assert run.nodes == table.nodes
    for name in ("regret", "total", "sigma"):
        mine, other = run._tables.table[name], table._tables.table[name]
        assert mine == pytest.approx(other, rel=1e-4, abs=1e-5)


def test_kuhn_poker_is_learned():
    run = DoubleNeural(KUHN, batch=500, seed=3).run(60, progress=False)
    solution = run.solution()
    assert solution.nash_conv < 0.06
    assert "networks" in solution.guarantee
    assert solution.value == pytest.approx(-1 / 18, abs=0.02)
    assert run.regrets["K check-bet"]["call"] > run.regrets["K check-bet"]["fold"]


def test_kuhn_poker_is_learned_by_reading():
    run = DoubleNeural(KUHN, batch=500, regret=READ, strategy=READ, seed=3)
    assert run.run(40, progress=False).solution().nash_conv < 0.15


def test_deep_cfr_can_read(tmp_path):
    """And is saved, and goes on."""
    run = DeepCFR(KUHN, traversals=300, advantage=READ, memory=2_000, seed=0)
    run.run(15, progress=False).save(tmp_path / "run.npz")
    loaded = DeepCFR.load(tmp_path / "run.npz", KUHN)
    assert loaded.advantage == READ
    for each in (run, loaded):
        each.run(1, progress=False)
    assert loaded._mixture().tolist() == run._mixture().tolist()
    assert cfr.nash_conv(KUHN, run.mixture) < 0.15


def test_what_is_not_rehearsed_is_forgotten():
    """Infosets that a small batch does not meet: their answers drift."""
    drifts = {}
    for rehearse in (0.0, 1.0):
        run = small(batch=2, rehearse=rehearse, regret=Training((8,), 200), seed=0)
        drift = []
        for _ in range(40):
            before, seen = run.regrets.values_by_sequence.copy(), run._met[0].copy()
            watched = []
            apply_batch = run._apply_batch

            def note(i, apply_batch=apply_batch, watched=watched, run=run):
                apply_batch(i)
                watched[:] = [run._visited[0].copy()]

            run._apply_batch = note
            run.run(1, progress=False)
            run._apply_batch = apply_batch
            idle = np.flatnonzero(seen & ~watched[0])
            q = run._sequences[idle]
            after = run.regrets.values_by_sequence
            if len(idle):
                drift.append(np.abs(after[q] - before[q]).mean())
        drifts[rehearse] = np.mean(drift)
    assert drifts[1.0] < drifts[0.0] / 3


def test_rehearsing_a_half():
    """Half of those met before and not now are taught, others every time."""
    run = small(batch=2, rehearse=0.5).run(30, progress=False)
    taught = []

    def refit(network, key, which, target):
        taught.append(which)
        return network, 0.0

    run._learners[0].refit = refit
    met, total = run._met[0].copy(), run._tables.table.regret
    visited = np.zeros(12, bool)
    visited[:3] = True
    for t in (31, 32):
        run._visited[0] = visited
        run._learn(t, 0, total)
    old = met & ~visited
    for which in taught:
        assert which[visited].all()
        assert which[old].sum() == round(old.sum() / 2)
        assert not which[~met & ~visited].any()
    assert old.sum() > 4
    assert not np.array_equal(*taught)


@pytest.mark.parametrize(
    "options",
    [
        {}, {"sampling": "outcome", "rehearse": 0.3},
        {"regret": Training((8,), 10, 8)}, {"regret": READ},
    ],
    ids=str,
)  # fmt: skip
def test_one_seed_one_run(options):
    one, two, other = (small(**{**options, "seed": seed}) for seed in (1, 1, 2))
    for run in (one, two, other):
        run.run(6, progress=False)
    assert same(one, two)
    assert one._average().tolist() == two._average().tolist()
    assert not same(one, other)


def test_illegal_actions_get_nothing():
    """Leduc poker has infosets of two actions and of three."""
    run = small(LeducPoker(), regret=Training((8,), 5), strategy=Training((8,), 5))
    run.run(2, progress=False)
    assert run._legal.sum() < run._legal.size
    for n, learner in enumerate(run._learners):
        assert not learner(run._networks[n])[~run._legal].any()
    sigma = run.average.values_by_sequence
    for row, legal in zip(run._sequences, run._legal, strict=True):
        assert sigma[row[legal]].sum() == pytest.approx(1)


def test_a_network_sees_who_acts():
    """The first word is the player's number, as one network answers for both."""
    run = small(strategy=READ)
    owner = cfr.compile(KUHN).infoset_player
    first = np.asarray(run._learners[1].features)[:, 0]
    assert len(set(first[owner == 0])) == len(set(first[owner == 1])) == 1
    assert set(first[owner == 0]) != set(first[owner == 1])
    places = np.asarray(run._learners[0].features)
    assert (places[:, 0] == (owner == 0)).all()
    assert (places[:, 1] == (owner == 1)).all()


def test_what_a_run_says():
    run = small().run(2, progress=False)
    assert repr(run) == (
        f"DoubleNeural(KuhnPoker(), {cfr.RobustSampling(1)!r}, batch=50, rehearse=1) after 2 "
        f"iterations, {run.nodes:,} nodes"
    )
    assert "Double Neural CFR, rehearse 1, RobustSampling(k=1" in repr(run.solution())
    assert run._remark.startswith("losses ")


# ---- files -----------------------------------------------------------------------------------


def test_given_features_are_recognized(tmp_path):
    run = small(features=np.eye(12)).run(2, progress=False)
    run.save(tmp_path / "run.npz")
    assert same(DoubleNeural.load(tmp_path / "run.npz", KUHN, features=np.eye(12)), run)
    with pytest.raises(ValueError, match="other features"):
        DoubleNeural.load(tmp_path / "run.npz", KUHN)


# ---- mistakes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 0}, "batch must be a whole number"),
        ({"rehearse": 1.5}, "rehearse must lie between 0 and 1"),
        ({"sampling": "every"}, "unknown sampling"),
        ({"features": np.ones((3, 2))}, "one row of numbers for each of the 12"),
        (
            {"features": np.full((12, 2), 0.5), "regret": Training((4,), cell="gru")},
            "must be their numbers",
        ),
        (
            {"features": np.tile([1, 0, 2], (12, 1)), "regret": Training((4,), cell="gru")},
            "0 after the last word",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options)


def test_three_players_are_refused():
    with pytest.raises(ValueError, match="for two players"):
        small(KuhnPoker(players=3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": "transformer"}, "unknown cell 'transformer'"),
        ({"attention": True}, "attention is over the states of a cell"),
        ({"cell": "gru", "hidden": ()}, "a cell needs a width"),
    ],
    ids=str,
)
def test_bad_training(options, message):
    with pytest.raises(ValueError, match=message):
        Training(**options)


def test_a_network_without_a_cell_looks_at_nothing():
    learner = Learner(encode(["a", "b"]), np.ones((2, 1), bool), Training((4,)))
    with pytest.raises(ValueError, match="reads no words"):
        learner.attention(learner.fresh(KEY))


# ---- the experiment --------------------------------------------------------------------------

EXPERIMENT = Path(__file__).parents[2] / "experiments" / "double_neural.py"


@pytest.fixture(scope="module")
def script():
    spec = importlib.util.spec_from_file_location("double_neural_script", EXPERIMENT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def faults():
    return json.loads(EXPERIMENT.with_suffix(".json").read_text("utf-8"))["faults"]


@pytest.mark.parametrize(
    "fault", ["table", "nothing", "visited only", "new networks", "raw sums"]
)
def test_the_script_makes_the_numbers_of_its_file(script, faults, fault):
    """The beginning of one run: later, rounding may have led it elsewhere."""
    for key in ("batch", "width", "steps", "rate", "seeds", "iterations"):
        assert faults[key] == script.FAULTS[key]
    found = [row[0] for row in script.curve(script.faulty(fault, 3), faults["iterations"][:4])]
    error = 1e-5 if fault == "table" else 0.02  # networks: other processors round other ways
    assert found == pytest.approx(faults["runs"][fault][3][:4], abs=error)


@pytest.mark.parametrize(("fault", "anew"), [("nothing", False), ("new networks", True)])
def test_new_networks_are_new_in_each_iteration(script, monkeypatch, fault, anew):
    """A new network answers 0 everywhere."""
    run = script.faulty(fault, 0).run(1, progress=False)
    learner, begun = run._learners[0], []
    refit = learner.refit

    def spy(network, *rest):
        begun.append(network)
        return refit(network, *rest)

    monkeypatch.setattr(learner, "refit", spy)
    run.run(2, progress=False)
    assert [not learner(network).any() for network in begun] == [anew, anew]
    assert not np.array_equal(*begun)


def test_raw_sums_are_divided_by_their_size_only(script):
    run, sums = script.faulty("raw sums", 0), np.array([0.0, 3.0, 4.0])
    pressed = run._press(0, sums)
    assert np.allclose(pressed, sums * np.sqrt(3) / 5)
    assert np.allclose(run._expand(0, pressed), sums)
    assert np.allclose(run._expand(1, pressed), pressed)  # each network has its own


def test_the_other_faults(script):
    assert script.faulty("nothing", 0).rehearse == 1
    assert script.faulty("visited only", 0).rehearse == 0
    assert {t.steps for t in script.faulty("one step", 0).trainings} == {1}
