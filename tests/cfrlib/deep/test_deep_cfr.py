"""Deep CFR: the samples in the memories, the training of networks, and the results of runs."""

import math
import subprocess
import sys

import jax
import numpy as np
import pytest
from every_path import exact_regrets, own_reach, random_strategy, uneven
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

import cfrlib as cfr
from cfrlib.core.rng import new_key
from cfrlib.deep import DeepCFR, Training, encode
from cfrlib.deep.memory import new_memory, next_row
from cfrlib.deep.networks import Learner
from cfrlib.games import KuhnPoker, LeducPoker, LiarsDice, MatrixGame

KUHN, UNEVEN, THREE = KuhnPoker(), uneven(), KuhnPoker(players=3)
SMALL = {"traversals": 50, "memory": 300, "advantage": Training((8,), 20)}
SMALL["strategy"] = SMALL["advantage"]
KEY = jax.random.key(0)


def small(game=KUHN, **options):
    return DeepCFR(game, **{**SMALL, "seed": 1, **options})


def same(a, b):
    """Return whether two runs hold the same numbers, bit for bit."""
    one, other = a._state(), b._state()
    return (a.nodes, a.iterations) == (b.nodes, b.iterations) and all(
        np.array_equal(one[name], other[name]) for name in one.keys() | other.keys()
    )


# ---- features --------------------------------------------------------------------------------


def test_encoding_distinguishes_positions():
    features = encode(["Q check-bet", "K check", "check K", "-1 check"])
    assert features.shape == (4, 7)  # -1, K, Q or check; then K or check; then bet
    assert features.sum(axis=1).tolist() == [3, 2, 2, 2]
    assert not np.array_equal(features[1], features[2])


@pytest.mark.parametrize("game", [KUHN, LeducPoker(), LiarsDice(3), THREE], ids=repr)
def test_every_infoset_has_its_own_encoding(game):
    features = encode(cfr.compile(game).infoset_label)
    assert len(np.unique(features, axis=0)) == len(features)
    assert set(np.unique(features)) == {0, 1}


# ---- memories --------------------------------------------------------------------------------


def fill(rows, offered, number):
    """Offer samples 0, 1, 2, …, and return the memory."""
    memory = new_memory(rows, 1, new_key(5), number)
    for n in range(offered):
        row = next_row(memory.seen, rows, memory.state)
        if row < rows:
            memory.infoset[row] = n
    return memory


def test_reservoir_keeps_each_sample_equally_often():
    """χ² tests of which of 40 samples are among the 8 kept, and in which rows."""
    by_row, trials = np.zeros((8, 40)), 4_000
    for number in range(trials):
        by_row[np.arange(8), fill(8, 40, number).infoset] += 1
    kept, expected = by_row.sum(axis=0), trials * 8 / 40
    # a reservoir samples without replacement, which reduces the variance by (40 − 8) / 39
    statistic = np.sum((kept - expected) ** 2) / (expected * (1 - 8 / 40) * 40 / 39)
    assert chi2.cdf(statistic, 39) < 0.999
    late = by_row[:, 8:]  # the first 8 start in rows of their own
    expected = late.sum() / late.size
    assert chi2.cdf(np.sum((late - expected) ** 2) / expected, late.size - 1) < 0.999


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(st.integers(1, 30), st.integers(0, 100))
def test_filled_rows_are_distinct_offered_samples(rows, offered):
    memory = fill(rows, offered, 0)
    assert memory.filled == min(rows, offered)
    assert memory.seen[0] == offered
    kept = memory.infoset[: memory.filled]
    assert len(set(kept.tolist())) == len(kept)
    assert (kept < max(offered, 1)).all()
    assert not memory.infoset[memory.filled :].any()


def test_empty_memory_is_an_error():
    learner = Learner(np.eye(2, dtype=np.float32), np.ones((2, 2), bool), Training((), 1))
    with pytest.raises(ValueError, match="memory is empty"):
        learner.fit(KEY, new_memory(9, 2, new_key(0), 0), 1)


# ---- samples of traversals -------------------------------------------------------------------


def traversed(game, sampling, sigma, traversals, baseline=None, seed=0):
    """Return a run after traversals of player 0 with strategy σ; its memories hold them all."""
    run = DeepCFR(
        game, sampling=sampling, memory=2_000_000, baseline=baseline, seed=seed,
        **{k: SMALL[k] for k in ("advantage", "strategy")},
    )  # fmt: skip
    infosets = run._infosets
    infosets.table.sigma[:] = sigma
    infosets.baseline[:] = np.random.default_rng(1).normal(size=infosets.baseline.shape)
    run._walk(3, 0, traversals, run._memories)
    return run


def sums(memory, infosets):
    """Return the sums of weight · target and of its square by sequence."""
    form = infosets.form
    total, square = np.zeros(form.num_sequences), np.zeros(form.num_sequences)
    n = memory.filled
    for a in range(memory.target.shape[1]):
        legal = infosets.legal[memory.infoset[:n], a]
        q = infosets.sequences[memory.infoset[:n][legal], a]
        value = (memory.weight[:n] / 3 * memory.target[:n, a])[legal].astype(float)
        total += np.bincount(q, value, form.num_sequences)
        square += np.bincount(q, value**2, form.num_sequences)
    return total, square


@pytest.mark.parametrize("baseline", [None, 0.5])
@pytest.mark.parametrize(
    "sampling", ["external", "outcome", cfr.RobustSampling(2, 0.5), "chance"], ids=repr
)
@pytest.mark.parametrize("game", [KUHN, UNEVEN], ids=repr)
def test_sampled_advantages_are_unbiased(game, sampling, baseline):
    """Their means over many traversals are the exact regrets, within 5 standard errors."""
    sigma, traversals = random_strategy(game, 4), 20_000
    run = traversed(game, sampling, sigma, traversals, baseline)
    infosets, form = run._infosets, run._form
    total, square = sums(run._memories[0], infosets)
    exact = exact_regrets(game, sigma) / infosets.scale
    own = np.zeros(form.num_sequences, bool)
    own[infosets.sequences[infosets.legal & (form.tree.infoset_player == 0)[:, None]]] = True
    mean, error = total / traversals, np.sqrt(square) / traversals
    assert np.all(np.abs(mean - exact)[own] <= 5 * error[own] + 1e-6)
    assert np.abs(exact[own]).max() > 10 * np.median(error[own])


def test_opponents_strategy_is_sampled_by_own_reach():
    """External sampling visits the opponent's infosets with their own reach probability."""
    sigma, traversals = random_strategy(KUHN, 4), 20_000
    run = traversed(KUHN, "external", sigma, traversals)
    memory, form = run._memories[-1], run._form
    infoset = memory.infoset[: memory.filled]
    start = form.tree.infoset_start[infoset]
    assert (form.tree.infoset_player[infoset] == 1).all()
    assert (memory.weight[: memory.filled] == 3).all()
    for a in range(2):
        assert np.allclose(memory.target[: memory.filled, a], sigma[start + a])
    visits = np.bincount(infoset, minlength=form.tree.num_infosets)
    reach = np.where(form.tree.infoset_player == 1, own_reach(KUHN, sigma), 0)
    expected = reach / 3 * traversals  # player 1 holds each card with probability 1/3
    assert np.all(np.abs(visits - expected) <= 5 * np.sqrt(expected + 1))


def test_advantages_are_in_units_of_the_largest_payoff():
    run = traversed(KUHN, "external", random_strategy(KUHN, 4), 500)
    memory = run._memories[0]
    assert np.abs(memory.target).max() <= 2
    assert DeepCFR(MatrixGame([[8.0, -8.0], [-4.0, 4.0]]), **SMALL)._infosets.scale == 8


# ---- networks --------------------------------------------------------------------------------


def one_sample_each(targets):
    """Return a memory with one sample per infoset, all of weight 1."""
    n, actions = targets.shape
    memory = new_memory(n, actions, new_key(0), 0)
    memory.infoset[:], memory.target[:] = range(n), targets
    memory.weight[:] = 1.0
    memory.seen[0] = n
    return memory


@pytest.mark.slow
def test_network_trained_on_equilibrium_regrets_plays_the_equilibrium():
    """Overfit the regrets of a converged predictive CFR+; NashConv is below 1e-3."""
    tabular = cfr.CFR(KUHN, "pcfr+").run(5_000, progress=False)
    run = small()
    infosets = run._infosets
    regrets = tabular.regrets.values_by_sequence[infosets.sequences]
    regret = np.where(infosets.legal, regrets, 0.0)
    targets = regret / np.abs(regret).max(
        axis=1, keepdims=True
    )  # regret matching ignores scale
    learner = Learner(infosets.features, infosets.legal, Training((64, 64), 3_000, None, 1e-2))
    network, loss = learner.fit(KEY, one_sample_each(targets), 1)
    for i in range(2):
        infosets.play(i, infosets.match(learner(network)))
    assert loss < 1e-6
    assert cfr.nash_conv(KUHN, run.current) < 1e-3


def test_argmax_is_played_where_no_advantage_is_positive():
    infosets = small(LiarsDice(3))._infosets
    legal = infosets.legal
    advantages = np.random.default_rng(0).normal(-1, 1, legal.shape)
    sigma = infosets.match(np.where(legal, advantages, 0.0))
    assert (sigma[~legal] == 0).all()
    assert sigma.sum(axis=1) == pytest.approx(np.ones(len(sigma)))
    none = ~((advantages > 0) & legal).any(axis=1)
    best = np.where(legal, advantages, -np.inf).argmax(axis=1)
    assert none.any() and (~none).any()
    assert (sigma[none, best[none]] == 1).all()
    positive = np.where(legal, np.maximum(advantages, 0), 0)[~none]
    assert sigma[~none] == pytest.approx(positive / positive.sum(axis=1, keepdims=True))


# ---- runs ------------------------------------------------------------------------------------


@pytest.mark.slow
def test_kuhn_poker_is_solved():
    run = DeepCFR(KUHN, traversals=500, seed=3).run(60, progress=False)
    solution = run.solution()
    assert solution.nash_conv < 0.06
    assert cfr.nash_conv(KUHN, run.mixture) < 0.06
    assert "networks" in solution.guarantee
    assert solution.value == pytest.approx(-1 / 18, abs=0.02)
    king = run.advantages["K check-bet"]  # calling wins 2, folding loses 1
    assert king["call"] - king["fold"] == pytest.approx(3, abs=0.1)


def test_another_seed_is_another_run():
    """That equal ones give equal runs, test_runs.py shows."""
    one, other = (small(seed=seed).run(2, progress=False) for seed in (1, 2))
    assert not same(one, other)


@pytest.mark.slow
def test_warm_up_does_not_change_the_baseline():
    # Formerly the traversal that compiles the kernels counted in the first update.
    once, twice = (small(sampling="outcome", baseline=0.5, seed=1) for _ in range(2))
    twice._warm_up()
    assert same(once, twice)
    for run in (once, twice):
        run.run(1, progress=False)
    assert same(once, twice)
    assert once._infosets.baseline.any()


BATCHES = {"advantage": Training((8,), 20, 32), "strategy": Training((8,), 20, 32)}


@pytest.mark.parametrize("through_a_file", [False, True])
@pytest.mark.parametrize(
    "options",
    [{"sampling": "outcome", "baseline": 0.5}, {"on_demand": True, **BATCHES}],
    ids=["whole tree", "growing tree"],
)
def test_interrupt_during_training_changes_no_number(
    options, through_a_file, tmp_path, monkeypatch
):
    """Formerly the traversals were repeated, and their samples counted twice."""
    run, undisturbed = small(**options).run(2), small(**options).run(4)
    fit, calls = Learner.fit, []

    def interrupted(self, *arguments):
        calls.append(self)
        if len(calls) == 2:  # of player 1, in iteration 3
            raise KeyboardInterrupt
        return fit(self, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Learner, "fit", interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.run(2)
    assert (run.iterations, [len(networks) for networks in run._networks]) == (2, [3, 2])
    if through_a_file:
        run.save(tmp_path / "run.npz")
        run = DeepCFR.load(tmp_path / "run.npz", KUHN)
    assert same(run.run(2), undisturbed)


@pytest.mark.slow
def test_mixture_is_the_mean_of_sampled_strategies():
    run = small(KUHN, traversals=200).run(5, progress=False)
    plans = np.zeros(run._form.num_sequences)
    for seed in range(2_000):
        plans += run._form.plans(run.draw(seed).values_by_sequence)
    mixture = run._form.plans(run.mixture.values_by_sequence)
    assert plans / 2_000 == pytest.approx(mixture, abs=0.05)
    assert np.ptp(mixture) > 0.5


def test_uniform_strategy_is_sampled_before_the_first_iteration():
    uniform = cfr.Strategy.uniform(KUHN)
    assert small().draw(0).values_by_sequence == pytest.approx(uniform.values_by_sequence)


@pytest.mark.slow
def test_three_players_need_a_mixture():
    run = small(THREE, average="mixture").run(3, progress=False)
    assert math.isfinite(run.solution().nash_conv)
    with pytest.raises(ValueError, match='choose average="mixture"'):
        small(THREE)


def test_baseline_does_not_change_external_sampling():
    """Every action is sampled with probability 1, so the baseline cancels."""
    corrected, plain = (small(baseline=b).run(3, progress=False) for b in (0.5, None))
    assert corrected._average() == pytest.approx(plain._average(), abs=1e-4)


def test_repr_and_description():
    run = small().run(2, progress=False)
    assert repr(run) == (
        "DeepCFR(KuhnPoker(), traversals=50, ExternalSampling(), average='network') after 2 "
        f"iterations, {run.nodes:,} nodes"
    )
    assert "Deep CFR, 50 walks, ExternalSampling(), average by network" in repr(run.solution())
    assert "loss" in run._remark


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_run_with_features_needs_them_to_load(tmp_path):
    run = small(features=np.eye(12)).run(2, progress=False)
    run.save(tmp_path / "run.npz")
    assert same(DeepCFR.load(tmp_path / "run.npz", KUHN, features=np.eye(12)), run)
    with pytest.raises(ValueError, match="other features"):
        DeepCFR.load(tmp_path / "run.npz", KUHN)
    small().save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match="other features"):
        DeepCFR.load(tmp_path / "run.npz", KUHN, features=np.eye(12))


@pytest.mark.parametrize(
    ("options", "name", "number"),
    [
        ({}, "infoset", 12),
        ({"on_demand": True, **BATCHES}, "infoset", 300),
        ({"on_demand": True, **BATCHES}, "num_actions", 0),
    ],
    ids=str,
)
def test_indices_of_a_file_are_in_range(options, name, number, tmp_path):
    """Kernels do not check them."""
    run = small(**options).run(1, progress=False)
    getattr(run._memories[1], name)[5] = number
    run.save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match="of a memory is not in"):
        DeepCFR.load(tmp_path / "run.npz", KUHN)


# ---- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"traversals": 0}, "traversals must be a whole number"),
        ({"memory": 0}, "memory must be a whole number"),
        ({"average": "last"}, "unknown average 'last'"),
        ({"baseline": 2}, "between 0 and 1"),
        ({"sampling": "every"}, "unknown sampling"),
        ({"features": np.ones((3, 2))}, "one row of numbers for each of the 12"),
        ({"features": np.full((12, 2), np.nan)}, "one row of numbers"),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)
def test_bad_argument_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        small(**options)


@pytest.mark.parametrize(
    "options",
    [{"hidden": (0,)}, {"steps": 0}, {"batch": 0}, {"rate": 0}, {"steps": 1.5}],
    ids=str,
)
def test_bad_training_is_an_error(options):
    with pytest.raises(ValueError, match=r"must be (a whole number, at least 1|above 0)"):
        Training(**options)


@pytest.mark.slow
@pytest.mark.parametrize("module", ["cfrlib.deep", "cfrlib.subgames.network"])
def test_missing_jax_names_the_package_to_install(module):
    program = f"import sys; sys.modules['jax'] = None; import {module}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert f"{module} needs" in done.stderr and 'pip install "cfrlib[deep]"' in done.stderr
