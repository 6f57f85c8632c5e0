"""Certificates: exact biases and variances, of the package's walks and of others."""

import math
from collections import defaultdict

import numpy as np
import pytest
from every_path import uneven

import cfrlib as cfr
from cfrlib import plain
from cfrlib.games import KuhnPoker, RockPaperScissors
from cfrlib.strategy import Strategy

KUHN, RPS, UNEVEN = KuhnPoker(), RockPaperScissors(3), uneven()
MIXED = Strategy.random(KUHN, seed=0, concentration=2)
SCHEMES = ["chance", "external", "outcome", cfr.RobustSampling(2, 0.3)]


def pure_like(strategy):
    """Return a strategy that always takes the first of two actions."""
    rows = {I: dict(zip(row, (1.0, 0.0), strict=True)) for I, row in strategy.items()}
    return Strategy(strategy.game, rows)


# ---- every path ------------------------------------------------------------------------------


def test_every_path_is_run_once_with_its_probability():
    def tree(choose):
        first = choose({"a": 1, "b": 2, "never": 0})
        return first, choose([0.25, 0.75]) if first == "b" else None

    found = list(cfr.every_path(tree))
    assert found == [(1 / 3, ("a", None)), (2 / 3 * 0.25, ("b", 0)), (2 / 3 * 0.75, ("b", 1))]
    assert list(cfr.every_path(lambda choose: 7)) == [(1.0, 7)]


# ---- the package's own walks -----------------------------------------------------------------


def truth(game, sigma):
    """Return the exact regrets, by a recursion over histories."""
    r = defaultdict(float)

    def value(h, i, others):
        node = game.node(h)
        if isinstance(node, cfr.Terminal):
            return node.utilities[i]
        chance = isinstance(node, cfr.Chance)
        row = node.probabilities if chance else sigma[node.infoset]
        mine = not chance and node.player == i
        u = {a: value((*h, a), i, others if mine else others * p) for a, p in row.items()}
        mean = sum(p * u[a] for a, p in row.items())
        for a in row if mine else ():
            r[node.infoset, a] += others * (u[a] - mean)
        return mean

    for i in range(game.num_players):
        value((), i, 1.0)
    return r


@pytest.mark.parametrize("scheme", SCHEMES, ids=repr)
@pytest.mark.parametrize("game", [KUHN, RPS, UNEVEN], ids=repr)
def test_own_schemes_are_unbiased_and_average_rightly(game, scheme):
    found = []
    for seed in range(2):
        sigma = Strategy.random(game, seed=seed)
        found.append(cfr.certify(scheme, game, sigma))
        for (I, a), r in truth(game, sigma).items():
            assert found[-1].exact[I][a] == pytest.approx(r, abs=1e-14)
            assert found[-1].mean[I][a] == pytest.approx(r, abs=1e-12)
    assert found[0].largest_bias == found[1].largest_bias == 0.0
    assert found[0].total_variance > 0.5 or scheme == "chance"
    assert found[0].drift(found[1]) == 0.0


@pytest.mark.parametrize(
    ("scheme", "paths", "nodes"),
    [("chance", 12, 10), ("external", 42, 6.25), ("outcome", 60, 4.25)],
)
def test_paths_and_nodes_of_kuhn_poker(scheme, paths, nodes):
    found = cfr.certify(scheme, KUHN)
    assert (found.paths, found.nodes) == (paths, pytest.approx(nodes))


RIGHT = {"opponent": 1 / 3, "lazy": 1, "full": 1}


@pytest.mark.parametrize("rule", [*RIGHT, "stochastic", "optimistic", "own"])
def test_every_averaging_rule_is_certified(rule):
    """Right rules have a constant factor; the factor of the others depends on the profile."""
    pure = pure_like(MIXED)
    run = cfr.MCCFR(KUHN, averaging=rule)
    found = [cfr.certify(run, strategy=s) for s in (MIXED, pure)]
    if rule in RIGHT:
        assert found[0].factors == pytest.approx((RIGHT[rule], RIGHT[rule]), abs=1e-12)
        assert found[0].drift(found[1]) == 0.0
    else:
        assert found[0].drift(found[1]) > 0.4


def test_a_run_is_certified_as_it_is():
    """Its current strategy, its baselines and its proposal; the run does not change."""
    deals = KUHN.node(()).probabilities
    proposal = {d: (n + 1) / 21 for n, d in enumerate(deals)}
    run = cfr.MCCFR(KUHN, sampling="outcome", baseline=0.1, proposal=proposal, seed=0).run(50)
    before = run.current, run.average, run.regrets
    found = cfr.certify(run)
    assert (run.current, run.average, run.regrets) == before
    assert "baselines" in found.name and found.largest_bias == 0.0
    plain = cfr.certify(cfr.OutcomeSampling(), KUHN, run.current)
    assert found.total_variance != pytest.approx(plain.total_variance)
    current = {key: r for key, r in truth(KUHN, run.current).items() if abs(r) > 1e-12}
    assert all(found.exact[I][a] == pytest.approx(r) for (I, a), r in current.items())


@pytest.mark.slow
def test_exact_variance_agrees_with_many_seeds():
    run = cfr.MCCFR(KUHN, sampling="external", update="simultaneous", seed=0)
    exact = cfr.certify(run).variance.values_by_sequence
    found = [
        cfr.MCCFR(KUHN, update="simultaneous", seed=seed).run(1).regrets.values_by_sequence
        for seed in range(300)
    ]
    assert np.var(found, axis=0).sum() == pytest.approx(exact.sum(), rel=0.1)


# ---- a reader's function ---------------------------------------------------------------------


def outcome_walk(i, choose, forgotten=None):
    """Outcome sampling of Kuhn poker; `forgotten` names a division that is left out."""
    r, S = defaultdict(float), defaultdict(float)

    def walk(h, q):
        node = KUHN.node(h)
        if isinstance(node, cfr.Terminal):
            return node.utilities[i]
        if isinstance(node, cfr.Chance):
            return walk((*h, choose(node.probabilities)), q)
        I, row = node.infoset, MIXED[node.infoset]
        if node.player != i:
            for a, x in row.items():
                S[I, a] += x / q
            return walk((*h, choose(row)), q)
        p = {a: 0.3 + 0.4 * x for a, x in row.items()}
        a = choose(p)
        u = dict.fromkeys(row, 0.0)
        u[a] = walk((*h, a), q * p[a]) / (1 if forgotten == "tail" else p[a])
        mean = sum(x * u[a] for a, x in row.items())
        for a in row:
            r[I, a] += (u[a] - mean) / (1 if forgotten == "head" else q)
        return mean

    walk((), 1.0)
    return r, S


def test_a_function_has_the_certificate_of_the_kernels():
    mine = cfr.certify(outcome_walk, KUHN, MIXED)
    kernels = cfr.certify("outcome", KUHN, MIXED)
    assert mine.paths == kernels.paths and math.isnan(mine.nodes)
    for field in ("mean", "variance", "factor"):
        pair = (getattr(c, field).values_by_sequence for c in (mine, kernels))
        assert np.allclose(*pair, atol=1e-12, equal_nan=True)
    assert mine.drift(kernels) == 0.0


@pytest.mark.parametrize(("forgotten", "bias"), [("tail", 0.289), ("head", 0.208)])
def test_a_forgotten_division_has_a_bias(forgotten, bias):
    found = cfr.certify(lambda i, choose: outcome_walk(i, choose, forgotten), KUHN, MIXED)
    assert found.largest_bias == pytest.approx(bias, abs=5e-4)
    I, a = max(
        ((I, a) for I in found.bias for a in found.bias[I]),
        key=lambda key: abs(found.bias[key[0]][key[1]]),
    )
    assert f"{I} · {a}" in str(found).splitlines()[5]


def test_a_function_may_return_regrets_only():
    found = cfr.certify(lambda i, choose: outcome_walk(i, choose)[0], KUHN, MIXED)
    assert found.largest_bias == 0.0 and all(map(math.isnan, found.factors))
    assert "– to –" in str(found)


def test_text_shows_the_summary_and_the_worst_rows():
    lines = str(cfr.certify("external", KUHN, MIXED)).splitlines()
    assert lines[0].startswith("ExternalSampling(), opponent averaging on KuhnPoker(): 42 rand")
    assert lines[1:4] == [
        "largest bias    0   (largest regret 0.538)",
        "total variance  4.43",
        "E[ΔS] / π σ     0.333 to 0.333",
    ]
    assert lines[4].split() == ["the", "worst", "rows", "regret", "bias", "variance", "factor"]
    assert lines[5].split()[-4:] == ["0.538", "0", "0.97", "0.333"]
    assert max(map(len, lines[1:])) <= 76


# ---- OpenSpiel -------------------------------------------------------------------------------


def open_spiel_walk(game, solver, sigma):
    """Return the walks of an OpenSpiel solver, with numpy.random.choice replaced."""
    rows = {I.split(": ", 1)[1]: I for I in sigma}  # "0: 1pb" is "1pb" in OpenSpiel
    regret_matched = {key: np.array(list(sigma[I].values())) for key, I in rows.items()}

    def walk(i, choose):
        solver._infostates = {
            key: [row.copy(), np.zeros(len(row))] for key, row in regret_matched.items()
        }
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(np.random, "choice", lambda options, p: list(options)[choose(p)])
            state = game.pyspiel_game.new_initial_state()
            if hasattr(solver, "_update_regrets"):
                solver._update_regrets(state, i)
            else:
                solver._episode(state, i, 1.0, 1.0, 1.0)
        r, S = {}, {}
        for key, I in rows.items():
            regrets, sums = solver._infostates[key]
            for n, a in enumerate(sigma[I]):
                r[I, a], S[I, a] = regrets[n] - regret_matched[key][n], sums[n]
        return r, S

    return walk


@pytest.mark.parametrize("kind", ["external", "outcome"])
def test_walks_of_open_spiel_are_unbiased(kind):
    pytest.importorskip("pyspiel")
    from open_spiel.python.algorithms import external_sampling_mccfr, outcome_sampling_mccfr

    game = cfr.from_open_spiel("kuhn_poker")
    module = {"external": external_sampling_mccfr, "outcome": outcome_sampling_mccfr}[kind]
    make = getattr(module, f"{kind.title()}SamplingSolver")
    mixed = Strategy.random(game, seed=0)
    pure = pure_like(mixed)
    found = [
        cfr.certify(open_spiel_walk(game, make(game.pyspiel_game), s), game, s)
        for s in (mixed, pure)
    ]
    ours = [cfr.certify(kind, game, s) for s in (mixed, pure)]
    for mine, theirs in zip(ours, found, strict=True):
        assert mine.paths == theirs.paths
        assert theirs.largest_bias < 1e-12
        assert mine.total_variance == pytest.approx(theirs.total_variance)
    # outcome sampling averages at own infosets, divided by the probability of the walk: where
    # the opponent plays zeros, no walk comes by
    assert (found[0].drift(found[1]) == 0) == (kind == "external")


# ---- solvers in plain Python, and readers' own -----------------------------------------------


@pytest.mark.parametrize(
    ("solver", "scheme"),
    [
        (plain.ExternalSamplingSolver(KUHN), "external"),
        (plain.OutcomeSamplingSolver(KUHN, epsilon=0.3), cfr.OutcomeSampling(0.3)),
        (plain.RobustSamplingSolver(KUHN, k=2), cfr.RobustSampling(2)),
    ],
    ids=lambda given: type(given).__name__,
)
def test_plain_solver_is_certified_like_the_scheme(solver, scheme):
    sigma = Strategy.random(KUHN, seed=1)
    mine, package = cfr.certify(solver, strategy=sigma), cfr.certify(scheme, KUHN, sigma)
    assert mine.largest_bias < 1e-12
    assert mine.total_variance == pytest.approx(package.total_variance)
    assert not any(solver.R.values())  # the solver itself did not run
    assert not solver.S


class Forgetful(plain.SamplingSolver):
    """External sampling that adds the regrets of one action only."""

    def walk(self, h, i):
        node = self.node(h)
        if isinstance(node, cfr.Terminal):
            return node.utilities[i]
        if isinstance(node, cfr.Chance):
            return self.walk((*h, self.draw(node.probabilities)), i)
        row = self.match(node.infoset)
        if node.player != i:
            return self.walk((*h, self.draw(row)), i)
        u = {a: self.walk((*h, a), i) for a in row}
        a = next(iter(row))
        self.R[node.infoset, a] += u[a] - sum(p * u[b] for b, p in row.items())
        return sum(p * u[b] for b, p in row.items())


class Own(Forgetful):
    """Draws without asking `draw`."""

    def walk(self, h, i):
        self.rng.random()


def test_readers_solver_is_certified_and_its_bug_found():
    assert cfr.certify(Forgetful(KUHN)).largest_bias > 0.05
    with pytest.raises(AttributeError, match="rng") as caught:
        cfr.certify(Own(KUHN))
    assert "self.draw" in caught.value.__notes__[0]


# ---- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: cfr.certify("external"), "a game is missing"),
        (lambda: cfr.certify("robust", KUHN), "'robust'; choose one of"),
        (lambda: cfr.certify(lambda i, choose: {("X", "bet"): 1.0}, KUHN), r"such as \('J'"),
        (lambda: cfr.certify("outcome", KUHN, limit=10), (
            r"more than 10 random paths.*raise `limit`")),
        (lambda: cfr.certify(cfr.MCCFR(KUHN, on_demand=True)), "needs a game that compiles"),
        (lambda: list(cfr.every_path(lambda choose: choose({"a": 0.0}))), "no probability ab"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(call, match):
    with pytest.raises(ValueError, match=match):
        call()
