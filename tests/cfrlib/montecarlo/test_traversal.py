"""Walks are unbiased: over all of them, the expected sampled regret is the exact regret.

There are no statistics. The oracle of every_path.py enumerates all walks; an expectation must
be exact to 1e-12, and far off as soon as one line of a kernel has a common mistake.
"""

from itertools import permutations
from math import inf

import numpy as np
import pytest
from every_path import (
    Means,
    counterfactual_reach,
    exact_regrets,
    interpreted,
    own_reach,
    random_strategy,
    sum_by_infoset,
    uneven,
)

import cfrlib as cfr
from cfrlib import ExternalSampling, OutcomeSampling, RobustSampling, inclusion_probabilities
from cfrlib.core import rng
from cfrlib.core.jit import Inner
from cfrlib.core.sequence import sequence_form
from cfrlib.games import KuhnPoker, LeducPoker, MatrixGame, RockPaperScissors
from cfrlib.montecarlo import schemes, traversal, updates
from cfrlib.montecarlo.schemes import P
from cfrlib.montecarlo.tree_records import NODE
from cfrlib.online import targeting

EXACT = 1e-12
KUHN, RPS, UNEVEN = KuhnPoker(), RockPaperScissors(3), uneven()
# more actions than the three draws of k = 3; not zero-sum
WIDE = MatrixGame(*np.random.default_rng(0).normal(size=(2, 4, 2)).round(3))
GAMES = [KUHN, RPS, UNEVEN, WIDE]
THREE = KuhnPoker(players=3)
SCHEMES = [
    "chance",
    "external",
    *(OutcomeSampling(epsilon) for epsilon in (1, 0.6, 0.1)),
    *(RobustSampling(k, epsilon) for k in (1, 2, 3, inf) for epsilon in (1, 0.6, 0.1)),
]
PROPOSALS = {KUHN: (0.3, 0.25, 0.2, 0.1, 0.1, 0.05), UNEVEN: (0.1, 0.3, 0.6)}

every_game = pytest.mark.parametrize("game", GAMES, ids=repr)
every_scheme = pytest.mark.parametrize("scheme", SCHEMES, ids=repr)


def strategies(game):
    """Return a fully mixed strategy, and two that are not."""
    return [random_strategy(game, seed, zeros=seed > 0) for seed in range(3)]


def random_baseline(game):
    shape = game.num_players, sequence_form(game).num_sequences
    return np.random.default_rng(9).normal(size=shape)


def proposal(game):
    """Return a proposal for the first chance event, or None if the game has none."""
    actions = game.node(game.root()).actions
    return dict(zip(actions, PROPOSALS[game], strict=True)) if game in PROPOSALS else None


def largest(difference):
    return float(np.max(np.abs(difference)))


# ---- regrets and averages, exactly -----------------------------------------------------------


@every_scheme
@every_game
@pytest.mark.parametrize("baseline", [False, True], ids=["plain", "baseline"])
def test_sampled_regrets_and_opponent_averaging_are_unbiased(game, scheme, baseline):
    """The expected weight of σ(I) is π_i(I) times a constant, for every strategy profile."""
    for sigma in strategies(game):
        means = Means(game, scheme, sigma, baseline=random_baseline(game) if baseline else None)
        assert means.probability == pytest.approx([1, 1], abs=EXACT)
        assert means.walk.rounding_error < EXACT
        assert largest(means.regret - exact_regrets(game, sigma)) < EXACT
        assert largest(means.regret) > 0.05
        chance, _ = counterfactual_reach(game, sigma)
        constant = sum_by_infoset(game, chance)
        assert largest(means.mass - own_reach(game, sigma) * constant) < EXACT
        assert constant.min() > 0.05


@pytest.mark.slow
@pytest.mark.parametrize("scheme", SCHEMES[:5], ids=repr)  # the rest is "external" here
@pytest.mark.parametrize("baseline", [False, True], ids=["plain", "baseline"])
def test_sampled_regrets_are_unbiased_for_three_players(scheme, baseline):
    for sigma in strategies(THREE)[:2]:
        estimates = random_baseline(THREE) if baseline else None
        means = Means(THREE, scheme, sigma, rule="stochastic", baseline=estimates)
        assert means.probability == pytest.approx([1, 1, 1], abs=EXACT)
        assert largest(means.regret - exact_regrets(THREE, sigma)) < EXACT
        assert largest(means.regret) > 0.05


@every_scheme
@pytest.mark.parametrize("game", PROPOSALS, ids=repr)
@pytest.mark.parametrize("baseline", [False, True], ids=["plain", "baseline"])
def test_estimates_stay_unbiased_with_a_proposal(game, scheme, baseline):
    """The constants of the average do not depend on the strategies, either."""
    # Formerly, the correction reached the value of the root, but no regret.
    estimates, constant = random_baseline(game) if baseline else None, None
    for sigma in strategies(game):
        means = Means(game, scheme, sigma, baseline=estimates, proposal=proposal(game))
        assert largest(means.regret - exact_regrets(game, sigma)) < EXACT
        if constant is None:  # the first strategy is fully mixed
            constant = means.mass / own_reach(game, sigma)
        assert largest(means.mass - own_reach(game, sigma) * constant) < EXACT
        assert constant.min() > 0.05


@every_scheme
@pytest.mark.parametrize("wrong", ["omitted", "applied twice"])
def test_wrong_importance_weights_of_chance_are_biased(scheme, wrong):
    """A proposal needs its correction; the chance distribution itself needs none."""
    sigma = strategies(UNEVEN)[0]
    given = proposal(UNEVEN) if wrong == "omitted" else None
    means = Means(
        UNEVEN, scheme, sigma, proposal=given, correct=lambda p: p if not given else 1
    )
    assert largest(means.regret - exact_regrets(UNEVEN, sigma)) > 0.01


@pytest.mark.parametrize(
    ("rule", "scheme"),
    [
        ("own", "chance"),
        ("own", "external"),
        *(("stochastic", scheme) for scheme in (*SCHEMES[:5], RobustSampling(2, 0.1))),
    ],
    ids=repr,
)
@pytest.mark.parametrize("game", [*GAMES, THREE], ids=repr)
def test_other_rules_of_averaging_are_biased_by_what_others_do(game, rule, scheme):
    """Except with chance sampling, where the opponents' reach has no part.

    "own" weights a history by the reach of all others, "stochastic" by whether it is above 0.
    """
    for sigma in strategies(game):
        chance, others = counterfactual_reach(game, sigma)
        weight = chance if scheme == "chance" else others
        weight = weight if rule == "own" else weight > 0
        mass = Means(game, scheme, sigma, rule=rule).mass
        assert largest(mass - own_reach(game, sigma) * sum_by_infoset(game, weight)) < EXACT


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["opponent", "own"])
def test_own_averaging_is_far_off_in_leduc_and_opponent_averaging_is_not(rule):
    """The rule of the notes, "own", weights a strategy by the opponent's reach probability."""
    game = LeducPoker(merge_suits=True)
    shares = []
    for seed in (0, 1):
        sigma = random_strategy(game, seed)
        mass = Means(game, OutcomeSampling(1), sigma, rule=rule).mass
        shares.append(mass / own_reach(game, sigma))
    difference = largest(shares[0] / shares[1] - 1)
    assert difference < EXACT if rule == "opponent" else difference > 10


# ---- mistakes --------------------------------------------------------------------------------

WEIGHTS = "enter(walk[n + j], child + a, rho, e.weight / rho, e.probability * rho)"
# name -> (kernel, its code, the mistake), scheme, what else is needed for it to show
MISTAKES = {
    "1/q missing": (
        ("choose", WEIGHTS, WEIGHTS.replace("e.weight / rho", "e.weight")), "outcome",
    ),
    "weights by the whole reach": (
        ("choose", WEIGHTS, WEIGHTS.replace("e.weight / rho", "1.0 / (e.probability * rho)")),
        "outcome",
    ),
    "1/ρ missing in values": (
        ("value_of", "/ c.rho", "/ 1.0"), "outcome",
    ),
    "estimates of 0 omitted": (
        (
            "ascend", "for q in range(start, start + h.num_children):",
            "for q in [start + walk[m].node - h.first_child "
            "for m in range(e.first, e.first + e.num_sampled)]:",
        ),
        "outcome",
    ),
    "regret of the sampled action from its own value alone": (
        (
            "ascend", "- e.value) * e.weight",
            "- sum(walk[m].excess * tables.table[q].sigma "
            "for m in range(e.first, e.first + e.num_sampled) "
            "if q == start + walk[m].node - h.first_child)) * e.weight",
        ),
        "outcome",
    ),
    "exploration as strategy": (
        (
            "value_of", "table[q].sigma * c.excess",
            "(0.6 / h.num_children + 0.4 * table[q].sigma) * c.excess",
        ),
        OutcomeSampling(0.6),
    ),
    "baseline not subtracted": (
        ("value_of", "(c.value - b) / c.rho", "c.value / c.rho"), "outcome",
        "baseline",
    ),
    "the other player's baseline": (
        ("value_of", "b = baseline[i, q]", "b = baseline[1 - i, q]"),
        "outcome", "baseline",
    ),
    "sampled from ρ instead of p": (
        (
            "choose", "include(scratch, actions, e.num_sampled)",
            "include(scratch, actions, e.num_sampled); "
            "scratch[P, :actions] = scratch[RHO, :actions]",
        ),
        RobustSampling(2, 0.1),
    ),
    "ρ of the first draw": (
        ("choose", "if e.num_sampled > 1:", "if e.num_sampled > actions:"),
        RobustSampling(2, 1),
    ),
    "ρ as if actions were equally likely": (
        ("include", "if k >= n or even:", "if True:"), RobustSampling(2, 0.1),
    ),
    "ρ as if sampled with replacement": (
        ("include", "rho[a] += p[b] * p[a] / (1.0 - p[b])", "rho[a] += p[b] * p[a]"),
        RobustSampling(2, 0.1),
    ),
    "ρ of k = 3 from subsets of 2": (
        ("include_subsets", "if size == k and", "if size == k - 1 and"), RobustSampling(3, 0.1),
    ),
    "all actions sampled, but weighted": (
        ("choose", "1.0, e.weight, e.probability", "1.0, e.weight / 2, e.probability"),
        "external",
    ),
    "opponents expanded, not weighted": (
        ("descend", "1.0, e.weight * p, e.probability", "1.0, e.weight, e.probability"),
        "chance",
    ),
    "payoff of player 0": (
        ("value_of", "value = utility[e.node, i]", "value = utility[e.node, 0]"), "external",
    ),
}  # fmt: skip


def errors(game, scheme, needs=(), changes=None):
    """Return the largest errors of the expected regrets and of the expected average."""
    regret = average = 0.0
    for sigma in strategies(game):
        estimates = random_baseline(game) if "baseline" in needs else None
        means = Means(game, scheme, sigma, baseline=estimates, changes=changes)
        regret = max(regret, largest(means.regret - exact_regrets(game, sigma)))
        chance, _ = counterfactual_reach(game, sigma)
        wanted = own_reach(game, sigma) * sum_by_infoset(game, chance)
        average = max(average, largest(means.mass - wanted))
    return regret, average


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistake_in_a_kernel_shows_in_the_expected_regrets(mistake):
    (kernel, line, wrong), scheme, *needs = MISTAKES[mistake]
    game = WIDE if scheme == RobustSampling(3, 0.1) else UNEVEN
    assert max(errors(game, scheme, needs)) < EXACT
    assert errors(game, scheme, needs, {kernel: (line, wrong)})[0] > 0.01


# name -> kernel, its code, the mistake
MISTAKES_OF_THE_AVERAGE = {
    "weight 1 at opponent's infosets": ("ascend", "s.mass += e.weight", "s.mass += 1.0"),
    "weighted by the reach of both": (
        "ascend", "s.mass += e.weight", "s.mass += 1.0 / e.probability",
    ),
    "at own infosets": ("ascend", "elif rule == OPPONENT:\n", "elif rule == -1:\n"),
    "1/q missing": ("choose", WEIGHTS, WEIGHTS.replace("e.weight / rho", "e.weight")),
}  # fmt: skip


@pytest.mark.parametrize("mistake", MISTAKES_OF_THE_AVERAGE)
def test_mistake_in_a_kernel_shows_in_the_expected_average(mistake):
    kernel, line, wrong = MISTAKES_OF_THE_AVERAGE[mistake]
    assert errors(UNEVEN, "outcome", changes={kernel: (line, wrong)})[1] > 0.01


# ---- inclusion probabilities -----------------------------------------------------------------


def by_enumeration(p, k):
    """Return inclusion probabilities by enumerating all orders of k actions."""
    rho = np.zeros(len(p))
    for order in permutations(range(len(p)), min(k, len(p))):
        chance, left = 1.0, 1.0
        for a in order:
            chance, left = chance * p[a] / left, left - p[a]
        rho[list(order)] += chance
    return rho


@pytest.mark.parametrize("n", range(1, 7))
def test_inclusion_probabilities_match_enumeration(n):
    rng = np.random.default_rng(n)
    for concentration in (0.3, 1, 10):
        p = 0.01 + rng.dirichlet(np.full(n, concentration))
        p /= p.sum()
        for k in range(1, n + 2):
            found = inclusion_probabilities(p, k)
            assert found == pytest.approx(by_enumeration(p, k), abs=1e-12)
            assert found.sum() == pytest.approx(min(k, n), abs=1e-12)
            assert (found <= 1 + 1e-12).all()


@pytest.mark.parametrize("n", [1, 2, 3, 5, 16])
def test_equally_likely_actions_are_included_equally_often(n):
    for k in range(1, n + 3):
        p = np.full(n, 1 / n)
        assert inclusion_probabilities(p, k) == pytest.approx(
            np.full(n, min(k / n, 1)), abs=1e-15
        )


def test_many_unequal_actions_are_refused_for_more_than_two_draws():
    p = np.arange(1, 31) / (30 * 31 / 2)
    assert inclusion_probabilities(p, 2) == pytest.approx(by_enumeration(p, 2), abs=1e-12)
    with pytest.raises(ValueError, match=r"at most 16 actions for k above 2.*; got 30"):
        inclusion_probabilities(p, 3)


# ---- random numbers --------------------------------------------------------------------------

# the first outputs of SplitMix64 for the seed 1234567, from its reference implementation in C
REFERENCE = [
    6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431,
    16408922859458223821,
]  # fmt: skip


def test_random_numbers_match_splitmix64():
    state = np.zeros((2, rng.LINE), np.uint64)
    state[1, 0] = 1234567
    found = [rng.uniform(state[1]) for _ in REFERENCE]
    assert found == [(number >> 11) / 2**53 for number in REFERENCE]
    assert not state[0].any()
    golden = 0x9E3779B97F4A7C15
    for n, number in enumerate(REFERENCE, start=1):
        assert rng.mix(np.uint64((1234567 + n * golden) % 2**64)) == number


def test_each_walk_has_its_own_random_stream():
    """It depends on the key, iteration, player and number in the batch, not on the lane."""
    state, seen = np.zeros((3, rng.LINE), np.uint64), []
    for key in (0, 1, 2**64 - 1):
        for t in range(1, 40):
            for i in range(3):
                for number in range(20):
                    rng.begin(state[number % 3], np.uint64(key), t, i, number)
                    seen.append(int(state[number % 3, 0]))
    assert len(set(seen)) == len(seen) == 3 * 39 * 3 * 20
    rng.begin(state[0], np.uint64(7), 5, 1, 4)
    rng.begin(state[2], np.uint64(7), 5, 1, 4)
    assert state[0, 0] == state[2, 0]


class Sampler:
    """The three sampling functions, at a given random number."""

    def __init__(self, probabilities):
        self.p, self.n = np.array(probabilities, float), len(probabilities)
        self.kernels = interpreted(uniform=lambda state: self.u)
        self.nodes = np.zeros(self.n + 2, NODE).view(np.recarray)
        self.nodes.probability[2:] = self.p
        self.nodes.cumulative[2:] = np.cumsum(self.p)
        self.table = np.zeros(self.n + 2, [("sigma", "f8")]).view(np.recarray)
        self.table.sigma[2:] = self.p
        self.scratch = np.zeros((schemes.ROWS, self.n))
        self.scratch[P] = self.p

    def __call__(self, kind, u, left=1.0):
        self.u = u
        where = {"chance": self.nodes, "action": self.table}
        if kind == "remaining":
            return self.kernels["sample_remaining"](None, self.scratch, self.n, left)
        return self.kernels[f"sample_{kind}"](None, where[kind], 2, self.n + 2) - 2


every_kind = pytest.mark.parametrize("kind", ["chance", "action", "remaining"])


@every_kind
@pytest.mark.parametrize(
    "counts",
    [(64,), (32, 32), (1, 63), (0, 64), (64, 0), (16, 0, 0, 40, 8, 0), (1, 2, 3, 4, 5, 49)],
)
def test_each_outcome_has_its_share_of_the_unit_interval(kind, counts):
    """Shares are multiples of 1/64, so a grid of 1/64 counts them exactly."""
    sample = Sampler(np.array(counts) / 64)
    for offset in (0, 1 / 128, 1 / 64 - 2**-53):  # both ends of each cell, and between
        found = [sample(kind, k / 64 + offset) for k in range(64)]
        assert np.bincount(found, minlength=len(counts)).tolist() == list(counts)


def test_later_actions_are_sampled_in_proportion_to_those_left():
    sample = Sampler([0.25, 0, 0.125, 0, 0.125])  # the other half is sampled already
    found = [sample("remaining", k / 64, left=0.5) for k in range(64)]
    assert np.bincount(found).tolist() == [32, 0, 16, 0, 16]


@every_kind
@pytest.mark.parametrize("sum_of_all", [1 - 2**-53, 1 - 5e-10, 1 + 5e-10])
def test_rounding_samples_nothing_impossible(kind, sum_of_all):
    """Probabilities may miss 1 by 1e-9, so the largest numbers may lie beyond their sum."""
    # Formerly, sample_chance returned the last outcome there, even with probability 0.
    sample = Sampler(np.array([0.0, 0.5, 0.0, 0.5, 0.0, 0.0]) * sum_of_all)
    assert [sample(kind, u) for u in (0.0, 0.4, 0.6, 1 - 2**-53)] == [1, 1, 3, 3]


# ---- compiled and interpreted ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "scheme", "options"),
    [
        (KUHN, "chance", {}),
        (KUHN, "external", {"variant": "cfr+"}),
        (KUHN, "outcome", {"baseline": 0.5, "batch": 18}),
        (UNEVEN, "outcome", {"update": "simultaneous", "proposal": proposal(UNEVEN)}),
        (UNEVEN, RobustSampling(2, 0.3), {"batch": 3, "averaging": "lazy"}),
        (UNEVEN, RobustSampling(2, 1), {"averaging": "optimistic", "baseline": 0.1}),
        (UNEVEN, "external", {"averaging": "own", "variant": "pcfr+"}),
        (WIDE, RobustSampling(3, 0.3), {"averaging": "stochastic", "batch": 2}),
        (THREE, RobustSampling(2, 0.3), {"averaging": "full"}),
        (THREE, "outcome", {"averaging": "lazy", "batch": 2, "delay": 7}),
    ],
    ids=str,
)
def test_compiled_and_interpreted_kernels_agree_bit_for_bit(game, scheme, options):
    """The same random numbers lead to the same bits, compiled and in plain Python."""
    compiled, python = (
        cfr.MCCFR(game, **options, sampling=scheme, seed=3, threads=1) for _ in range(2)
    )
    compiled.run(12)
    arrays = python._tree.arrays
    with np.errstate(over="ignore", divide="ignore"):  # 64 bits wrap; log(0) is a discount
        of_run = arrays, python._tables, python._settings, python._walks.lanes
        interpreted()["iterate_batches"](*of_run, python._walks.turn, 12)
    for mine, theirs in zip(compiled._tables, python._tables, strict=True):
        assert mine.tobytes() == theirs.tobytes()
    assert compiled.iterations == 12
    assert compiled.nodes > 100
    assert len(set(compiled.regrets.values_by_sequence)) > 5


def test_inner_kernels_run_as_plain_python():
    """They have no Python wrapper: without `Inner.__call__` the interpreter would crash."""
    kernels = [
        f for module in (schemes, traversal, updates, targeting) for f in vars(module).values()
    ]
    found = {f.py_func.__name__: f for f in kernels if isinstance(f, Inner)}
    assert {"choose", "add_regrets", "restrict"} <= found.keys()
    for f in found.values():
        with pytest.raises(TypeError, match="missing"):
            f()
    assert found["overdue"](1.0, 1.0) == 1.0


# ---- bad arguments ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda: OutcomeSampling(0), "so that every action can be sampled, .*at most 1; got 0"),
        (lambda: OutcomeSampling(1.1), "at most 1; got 1.1"),
        (lambda: RobustSampling(2, -0.1), "so that every action can be sampled.*got -0.1"),
        (lambda: RobustSampling(0), "k must be a whole number, at least 1, or inf; got 0"),
        (lambda: RobustSampling(1.5), "k must be a whole number, at least 1, or inf; got 1.5"),
        (lambda: RobustSampling(-inf), "k must be a whole number.*got -inf"),
        (lambda: inclusion_probabilities([0.5, 0.6], 1), "that sum to 1, got .0.5, 0.6"),
        (lambda: inclusion_probabilities([1.0, 0.0], 1), "above 0 that sum to 1"),
        (lambda: inclusion_probabilities([[1.0]], 1), "above 0 that sum to 1"),
        (lambda: inclusion_probabilities([], 1), "above 0 that sum to 1"),
        (lambda: inclusion_probabilities([0.5, 0.5], 0), "whole number, at least 1, got 0"),
        (lambda: cfr.MCCFR(KUHN, sampling="robust"), (
            r"'robust'; choose one of 'chance', 'external', 'outcome', or pass "
            r"cfrlib.OutcomeSampling\(epsilon=...\) or cfrlib.RobustSampling\(k=...\)")),
        (lambda: cfr.MCCFR(KUHN, sampling=None), "unknown sampling None; choose one of"),
        (lambda: cfr.MCCFR(KUHN, sampling=OutcomeSampling), "unknown sampling .*choose one of"),
    ],
)  # fmt: skip
def test_errors_name_the_argument_and_what_is_accepted(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_schemes_are_found_by_name():
    assert list(cfr.SAMPLINGS) == ["chance", "external", "outcome"]
    wanted = [cfr.ChanceSampling(), ExternalSampling(), OutcomeSampling(0.6)]
    assert list(cfr.SAMPLINGS.values()) == wanted
    for name, scheme in cfr.SAMPLINGS.items():
        assert schemes.find_sampling(name) == schemes.find_sampling(scheme) == scheme
