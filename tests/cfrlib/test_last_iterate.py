"""Last-iterate methods: CFR, conditions of optimality, and in one call.

A second implementation is in test_last_iterate_plain.py.
"""

import math

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
from cfrlib.last_iterate import (
    Iterates,
    MirrorDescent,
    RegretMatching,
    entropy_weights,
    follow,
    lift,
    mirror_step,
)

HARD = cfr.games.MatrixGame([[3, 0, -3], [0, 3, -4], [0, 0, 1]])
BIASED = cfr.games.RockPaperScissors(3)
KUHN, LEDUC = cfr.games.KuhnPoker(), cfr.games.LeducPoker()
EXTRA = "extragradient"


def rows(strategy):
    return np.concatenate([list(row.values()) for row in strategy.values()])


@pytest.mark.parametrize(
    ("variant", "update", "method", "weight"),
    [
        ("cfr", "simultaneous", RegretMatching(floor=False), 0),
        ("cfr", "alternating", RegretMatching(floor=False, alternating=True), 0),
        ("cfr+", "simultaneous", RegretMatching(), 1),
        ("cfr+", "alternating", RegretMatching(alternating=True), 1),
        ("pcfr+", "alternating", RegretMatching(prediction=1, alternating=True), 2),
    ],
)
@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=["Kuhn", "Leduc"])
def test_equals_cfr(game, variant, update, method, weight):
    theirs = cfr.CFR(game, variant, update=update).run(20)
    run = Iterates(game, method, weight=weight).run(20)
    assert theirs.current.max_difference(run.current) < 1e-8
    assert theirs.average.max_difference(run.average) < 1e-8


# ---- optimality conditions -------------------------------------------------------------------


@pytest.mark.parametrize("power", [1, 2])
def test_lift_is_minimal(power):
    rng = np.random.default_rng(power)
    for _ in range(200):
        z = rng.normal(size=rng.integers(1, 6)) * 10 ** rng.uniform(-3, 3)
        least = rng.exponential() * 10 ** rng.uniform(-3, 3)
        found = z.copy()
        lift(found, least, power)
        size = np.linalg.norm(np.maximum(z, 0), power)
        assert np.linalg.norm(found, power) == pytest.approx(max(size, least), rel=1e-9)
        if size >= least:
            np.testing.assert_array_equal(found, np.maximum(z, 0))
        shift = found[found > 0] - z[found > 0]
        assert np.ptp(shift) <= 1e-9 * max(least, abs(z).max())


def divergence(form, player, sigma, other, weight):
    """Return the dilated entropy's divergence of one player's strategies."""
    t, x = form.treeplexes, form.plans(sigma)
    total = 0.0
    for I in range(t.player_infosets[player], t.player_infosets[player + 1]):
        at = slice(t.infoset_start[I], t.infoset_stop[I])
        kl = np.sum(sigma[at] * np.log(sigma[at] / other[at]))
        total += weight[I] * x[t.infoset_parent[I]] * kl
    return total


@pytest.mark.slow
def test_mirror_step_maximizes_its_objective():
    form, eta, tau = sequence_form(KUHN), 0.7, 0.4
    rng, weight = np.random.default_rng(0), entropy_weights(sequence_form(KUHN))

    def random():
        return cfr.Strategy.random(KUHN, seed=rng).values_by_sequence

    start, magnet, to = random(), random(), form.uniform()
    g = form.gradients(form.plans(random()))
    v = g.copy()
    mirror_step(form.treeplexes, 0, v, (start, magnet), to, weight, (eta, tau))
    own = slice(*form.treeplexes.player_sequences[:2])

    def objective(sigma):
        return (
            form.plans(sigma)[own] @ g[own]
            - divergence(form, 0, sigma, start, weight) / eta
            - divergence(form, 0, sigma, magnet, weight) * tau
        )

    assert objective(to) == pytest.approx(v[0], abs=1e-12)  # the root has the maximum
    for _ in range(200):
        other = to.copy()
        other[own] = random()[own]
        assert objective(0.99 * to + 0.01 * other) < objective(to)
        assert objective(other) < objective(to)


def test_magnet_converges_to_the_logit_equilibrium():
    tau = 0.5
    run = Iterates(BIASED, MirrorDescent(eta=0.2, tau=tau)).run(2_000)
    x, y = np.split(rows(run.current), 2)
    for strategy, payoff in ((x, BIASED.row_payoffs @ y), (y, -BIASED.row_payoffs.T @ x)):
        logit = np.exp(payoff / tau)
        np.testing.assert_allclose(strategy, logit / logit.sum(), atol=1e-10)


def test_regularized_cfr_plus_converges_to_the_regularized_equilibrium():
    mu, reference = 0.5, np.ones(3) / 3
    run = Iterates(BIASED, RegretMatching(mu=mu, stage=0, alternating=True)).run(5_000)
    x, y = np.split(rows(run.current), 2)
    for strategy, payoff in ((x, BIASED.row_payoffs @ y), (y, -BIASED.row_payoffs.T @ x)):
        gradient = payoff - mu * (strategy - reference)
        assert np.max(gradient) - strategy @ gradient < 1e-6  # nothing to gain
    assert np.abs(x - [0.2, 0.6, 0.2]).max() > 0.01  # not the equilibrium of the game


def test_gamma_is_the_smallest_probability():
    run = Iterates(KUHN, RegretMatching(gamma=0.05, stage=0)).run(200)
    assert min(rows(run.current)) == pytest.approx(0.05)
    assert rows(run.current).sum() == pytest.approx(len(run.current))


def test_norm_may_not_fall():
    form = sequence_form(LEDUC)
    fell = {}
    for keep in (False, True):
        run, before = Iterates(LEDUC, RegretMatching(prediction=1, keep_norm=keep)), 0.0
        worst = math.inf
        for _ in range(30):
            squares = np.add.reduceat(run.run(1).regrets ** 2, form.treeplexes.infoset_start)
            worst = min(worst, (np.sqrt(squares) - before).min())
            before = np.sqrt(squares)
        fell[keep] = worst
    assert fell[False] < -1e-3
    assert fell[True] > -1e-12


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        RegretMatching(look_ahead=EXTRA, least=0.3),
        RegretMatching(prediction=1, keep_norm=True),
        RegretMatching(mu=0.1, stage=10, gamma=1e-10, alternating=True),
        MirrorDescent(eta=3, look_ahead=EXTRA),
        MirrorDescent(eta=3, look_ahead="optimistic"),
    ],
    ids=["extragradient", "norm", "RTCFR+", "mirror prox", "optimistic"],
)
def test_reaches_the_value_of_kuhn_poker(method):
    run = Iterates(KUHN, method).run(3_000)
    assert cfr.exploitability(KUHN, run.current) < 1e-8
    value = cfr.expected_utility(KUHN, run.current)[0]
    assert value == pytest.approx(cfr.solve_lp(KUHN).value, abs=1e-8)


def test_curve_has_the_best_so_far():
    curve = follow(HARD, RegretMatching(), [1, 5, 25, 125])
    assert curve.iterations.tolist() == [1, 5, 25, 125]
    assert (np.diff(curve.best) <= 0).all() and (curve.best <= curve.last).all()


# ---- in one call -----------------------------------------------------------------------------


def test_solve_runs_the_methods(tmp_path):
    method = RegretMatching(prediction=1, alternating=True)
    solution = cfr.solve(KUHN, method, until=1e-6, weight=2)
    run = Iterates(KUHN, method, weight=2).run(solution.iterations)
    assert solution.current == run.current and solution.strategy == run.average
    assert solution.current_exploitability <= 1e-6 < solution.exploitability
    assert solution.update == "alternating"
    assert "RegretMatching(prediction=1), alternating" in repr(solution)
    solution.save(tmp_path / "solution.npz")
    assert cfr.Solution.load(tmp_path / "solution.npz", KUHN).variant == method


def test_a_trial_step_counts_as_a_traversal():
    plain, ahead = (
        cfr.solve(KUHN, RegretMatching(look_ahead=look, alternating=True), 10).gradients
        for look in ("none", EXTRA)
    )
    assert ahead == 2 * plain == 2 * cfr.solve(KUHN, "cfr+", 10).gradients


def test_an_overflowing_weight_is_an_error():
    with pytest.raises(ValueError, match="choose a smaller gamma"):
        cfr.solve(KUHN, RegretMatching(), 1_000, weight=400)
