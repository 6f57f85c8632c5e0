"""Double Neural CFR: recurrent networks, and runs whose sums are networks' predictions."""

import jax
import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.deep import DeepCFR, DoubleNeural, Training, double_neural, encode, spell
from cfrlib.deep.networks import Learner
from cfrlib.games import KuhnPoker, LeducPoker

KUHN = KuhnPoker()
KEY = jax.random.key(0)
TINY = Training((8,), 20)
SMALL = {"batch": 50, "regret": TINY, "strategy": TINY}
READ = Training((8, 8), 200, rate=1e-2, cell="gru", attention=True)  # shared, so compiled once


def small(game=KUHN, **options):
    return DoubleNeural(game, **{**SMALL, "seed": 1, **options})


def same(a, b):
    """Return whether two runs hold the same numbers, bit for bit."""
    pairs = [
        *zip(a._tables, b._tables, strict=True),
        (a._ever_visited, b._ever_visited),
    ]
    pairs += zip(a._networks, b._networks, strict=True)
    return (a.nodes, a.losses) == (b.nodes, b.losses) and all(
        np.array_equal(x, y) for x, y in pairs
    )


# ---- words -----------------------------------------------------------------------------------


def test_word_has_the_same_number_at_every_position():
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
def test_every_infoset_has_its_own_spelling(game):
    words = spell(cfr.compile(game).infoset_label)
    assert len(np.unique(words, axis=0)) == len(words)


# ---- recurrent networks ----------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("cell", "attention"), [("gru", False), ("lstm", True)])
def test_recurrent_networks_fit_random_targets(cell, attention):
    """There is one target for each infoset of Kuhn poker."""
    words = spell(cfr.compile(KUHN).infoset_label)
    target = np.random.default_rng(2).normal(size=(12, 2)).astype(np.float32)
    training = Training((16, 16), 500, None, 2e-2, cell, attention)
    learner = Learner(words, np.ones((12, 2), bool), training)
    start = learner.initial_weights(KEY)
    assert not learner(start).any()
    network, _ = learner.refit(start, KEY, np.ones(12, bool), target)
    assert np.abs(learner(network) - target).max() < 0.1
    if attention:
        assert learner.attention(network).sum(axis=1) == pytest.approx(np.ones(12))


# ---- runs ------------------------------------------------------------------------------------


class Table(Learner):
    """A learner that stores its targets exactly instead of training a network."""

    def __init__(self, features, legal, training):
        super().__init__(features, legal, training)
        self.table = np.zeros(legal.shape, np.float64)

    def refit(self, network, key, has_target, target):
        self.table[has_target] = target[has_target]
        return network, 0.0

    def __call__(self, network):
        return self.table.copy()


@pytest.mark.parametrize(
    "sampling", [cfr.RobustSampling(1), "external", "outcome", "chance"], ids=repr
)
@pytest.mark.parametrize("rehearse", [0.0, 1.0])
def test_exact_learner_reproduces_mccfr_plus(monkeypatch, sampling, rehearse):
    """The sums are those of the tables up to single precision."""
    monkeypatch.setattr(double_neural, "Learner", Table)
    run = small(sampling=sampling, rehearse=rehearse).run(5, progress=False)
    mccfr = cfr.MCCFR(KUHN, "cfr+", sampling=sampling, batch=50, seed=1).run(5, progress=False)
    assert run.nodes == mccfr.nodes
    for name in ("regret", "total", "sigma"):
        predicted, sums = run._tables.table[name], mccfr._tables.table[name]
        assert predicted == pytest.approx(sums, rel=1e-4, abs=1e-5)


def test_targets_are_logarithms_of_sums_in_units_of_a_traversal():
    """A payoff of 2 in one of 50 traversals adds 2/50 to a regret; a strategy adds 1."""
    run = small()
    for n, sums in enumerate([[0, 0.04, 0.12], [0, 1, 3]]):
        assert run._compress(n, np.array(sums)) == pytest.approx(np.log([1, 2, 4]))
        assert run._decompress(n, np.log([1, 2, 4])) == pytest.approx(sums)
        assert run._decompress(n, np.array([-1.0])) == 0


def test_visits_are_those_of_one_iteration(monkeypatch):
    monkeypatch.setattr(double_neural, "Learner", Table)
    run = small(sampling="outcome", batch=1).run(1, progress=False)
    sums = run._tables.table.total[run._sequences].any(axis=1)
    assert not run._visited.any() and 0 < sums.sum() < 12
    assert np.array_equal(run._ever_visited[double_neural.STRATEGY], sums)


@pytest.mark.slow
def test_kuhn_poker_is_solved():
    run = DoubleNeural(KUHN, batch=500, seed=3).run(60, progress=False)
    solution = run.solution()
    assert solution.nash_conv < 0.06
    assert "networks" in solution.guarantee
    assert solution.value == pytest.approx(-1 / 18, abs=0.02)
    assert run.regrets["K check-bet"]["call"] > run.regrets["K check-bet"]["fold"]


@pytest.mark.slow
def test_kuhn_poker_is_solved_by_recurrent_networks():
    run = DoubleNeural(KUHN, batch=500, regret=READ, strategy=READ, seed=3)
    assert run.run(40, progress=False).solution().nash_conv < 0.15


@pytest.mark.slow
def test_deep_cfr_with_recurrent_networks_can_be_saved_and_continued(tmp_path):
    run = DeepCFR(KUHN, traversals=300, advantage=READ, memory=2_000, seed=0)
    run.run(15, progress=False).save(tmp_path / "run.npz")
    loaded = DeepCFR.load(tmp_path / "run.npz", KUHN)
    assert loaded.advantage == READ
    for same_run in (run, loaded):
        same_run.run(1, progress=False)
    assert loaded.mixture == run.mixture
    assert cfr.nash_conv(KUHN, run.mixture) < 0.15


@pytest.mark.slow
def test_rehearsal_samples_a_fraction_of_old_infosets():
    """The sample is a different one in each iteration."""
    run = small(batch=2, rehearse=0.5).run(30, progress=False)
    trained = []

    def refit(network, key, has_target, target):
        trained.append(has_target)
        return network, 0.0

    run._learners[0].refit = refit
    ever_visited, sums = run._ever_visited[0].copy(), run._tables.table.regret
    visited = np.zeros(12, bool)
    visited[:3] = True
    run._ever_visited[1] = False  # the other network's
    for t in (31, 32):
        run._visited[0] = visited
        run._train(t, 0, sums)
    old = ever_visited & ~visited
    for has_target in trained:
        assert has_target[visited].all()
        assert has_target[old].sum() == round(old.sum() / 2)
        assert not has_target[~ever_visited & ~visited].any()
    assert old.sum() > 4
    assert not np.array_equal(*trained)


def test_another_seed_is_another_run():
    """That equal ones give equal runs, test_runs.py shows."""
    one, other = (small(seed=seed).run(2, progress=False) for seed in (1, 2))
    assert not same(one, other)


@pytest.mark.slow
def test_illegal_actions_are_masked():
    """Leduc poker has infosets with two actions and infosets with three."""
    run = small(LeducPoker(), regret=Training((8,), 5), strategy=Training((8,), 5))
    run.run(2, progress=False)
    assert run._legal.sum() < run._legal.size
    for n, learner in enumerate(run._learners):
        assert not learner(run._networks[n])[~run._legal].any()
    sigma = run.average.values_by_sequence
    for row, legal in zip(run._sequences, run._legal, strict=True):
        assert sigma[row[legal]].sum() == pytest.approx(1)


@pytest.mark.slow
def test_input_contains_the_player():
    """Its first word is the player's number, because one network serves both players."""
    run = small(strategy=READ)
    owner = cfr.compile(KUHN).infoset_player
    first = np.asarray(run._learners[1].features)[:, 0]
    assert len(set(first[owner == 0])) == len(set(first[owner == 1])) == 1
    assert set(first[owner == 0]) != set(first[owner == 1])
    one_hot = np.asarray(run._learners[0].features)
    assert (one_hot[:, 0] == (owner == 0)).all()
    assert (one_hot[:, 1] == (owner == 1)).all()


@pytest.mark.slow
def test_repr_and_description():
    run = small().run(2, progress=False)
    assert repr(run) == (
        f"DoubleNeural(KuhnPoker(), {cfr.RobustSampling(1)!r}, batch=50, rehearse=1) after 2 "
        f"iterations, {run.nodes:,} nodes"
    )
    assert "Double Neural CFR, rehearse 1, RobustSampling(k=1" in repr(run.solution())
    assert run._remark.startswith("losses ")


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_run_with_features_needs_them_to_load(tmp_path):
    run = small(features=np.eye(12)).run(2, progress=False)
    run.save(tmp_path / "run.npz")
    assert same(DoubleNeural.load(tmp_path / "run.npz", KUHN, features=np.eye(12)), run)
    for other in (None, np.eye(12)[::-1]):
        with pytest.raises(ValueError, match="other features"):
            DoubleNeural.load(tmp_path / "run.npz", KUHN, features=other)


# ---- errors ----------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 0}, "batch must be a whole number"),
        ({"rehearse": 1.5}, "rehearse must lie between 0 and 1"),
        ({"sampling": "every"}, "unknown sampling"),
        ({"features": np.ones((3, 2))}, "one row of numbers for each of the 12"),
        (
            {"features": np.full((12, 2), 0.5), "regret": Training((4,), cell="gru")},
            "must be the numbers of words",
        ),
        (
            {"features": np.tile([1, 0, 2], (12, 1)), "regret": Training((4,), cell="gru")},
            "0 after the last word",
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_bad_argument_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options)


@pytest.mark.slow
def test_three_players_are_an_error():
    with pytest.raises(ValueError, match="for two players"):
        small(KuhnPoker(players=3))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cell": "transformer"}, "unknown cell 'transformer'"),
        ({"attention": True}, "attention is over the states of a cell"),
        ({"cell": "gru", "hidden": ()}, "a cell needs a width"),
    ],
    ids=str,
)
def test_bad_training_is_an_error(options, message):
    with pytest.raises(ValueError, match=message):
        Training(**options)


@pytest.mark.slow
def test_attention_without_a_cell_is_an_error():
    learner = Learner(encode(["a", "b"]), np.ones((2, 1), bool), Training((4,)))
    with pytest.raises(ValueError, match="has no attention"):
        learner.attention(learner.initial_weights(KEY))
