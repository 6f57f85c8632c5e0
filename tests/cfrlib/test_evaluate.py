"""Tests of the sequence-form linear program: exactness, scaling, agreement with CFR."""

import math
from itertools import product

import numpy as np
import pytest
from toy_games import Scaled, Shifted, Swapped, TableGame, Wrapper, random_game

import cfrlib as cfr
from cfrlib.core.sequence import best_backup, sequence_form
from cfrlib.games import (
    ColonelBlotto,
    Coyote,
    Goofspiel,
    KuhnPoker,
    LeducPoker,
    LiarsDice,
    RockPaperScissors,
)

SYMMETRIC = [  # the value is 0
    RockPaperScissors(),
    RockPaperScissors(3),
    ColonelBlotto(),
    ColonelBlotto(6, 3),
    Goofspiel(3),
    Goofspiel(3, imperfect_information=False),
    Goofspiel(4, prizes="descending"),
    Goofspiel(4, imperfect_information=False, prizes="descending"),
]
GAMES = [
    *[KuhnPoker(cards) for cards in (*range(3, 14), 30)],
    LeducPoker(),
    LeducPoker(merge_suits=True),
    LeducPoker(ranks=4, suits=2, merge_suits=True),
    LiarsDice(2),
    LiarsDice(3),
    LiarsDice(4),
    LiarsDice(faces=2, dice=2),
    Coyote(),
    Coyote(deck=Coyote.TINY, raises=None),
    *SYMMETRIC,
]

every_game = pytest.mark.parametrize("game", GAMES, ids=repr)


@every_game
def test_lp_strategy_is_an_equilibrium(game):
    """Each player's part guarantees the value: the two programs are each other's duals."""
    value, strategy = cfr.solve_lp(game)
    assert value == pytest.approx(0, abs=1e-12) or game not in SYMMETRIC
    assert abs(cfr.exploitability(game, strategy)) < 1e-9
    assert cfr.expected_utility(game, strategy) == pytest.approx([value, -value], abs=1e-9)
    for i in (0, 1):
        guaranteed = -cfr.best_response(game, strategy, 1 - i).value
        assert guaranteed == pytest.approx((value, -value)[i], abs=1e-9)


@every_game
def test_cfr_converges_to_the_lp_value(game):
    """At exploitability ε the payoff of the average is within NashConv = 2ε of the value."""
    solution = cfr.solve(game, "pcfr+", until=1e-5)
    assert abs(solution.value - cfr.solve_lp(game).value) <= 2e-5


# ---- scale of payoffs --------------------------------------------------------------------

SMALL_AND_LARGE = [10.0**k for k in (-250, -12, -10, -9, -7, -6, 6, 12, 18, 250)]
LOPSIDED = cfr.games.MatrixGame([[3, -1], [-2, 1]])  # value 1/7
RANDOM = [
    cfr.games.MatrixGame(np.random.default_rng(seed).normal(size=shape))
    for seed, shape in enumerate([(2, 2), (3, 5), (10, 10), (30, 20)])
]


@pytest.mark.parametrize("factor", SMALL_AND_LARGE)
@pytest.mark.parametrize(
    "game", [LOPSIDED, *RANDOM, KuhnPoker(), LeducPoker(merge_suits=True)], ids=repr
)
def test_lp_is_invariant_to_the_payoff_scale(game, factor):
    scaled = Scaled(game, factor)
    value, strategy = cfr.solve_lp(scaled)
    assert value / factor == pytest.approx(cfr.solve_lp(game).value, abs=1e-9)
    assert cfr.nash_conv(scaled, strategy) / factor == pytest.approx(0, abs=1e-9)
    assert value == pytest.approx(cfr.expected_utility(scaled, strategy)[0], abs=1e-9 * factor)


def test_zero_payoffs_give_value_zero():
    for game in (Scaled(KuhnPoker(), 0.0), cfr.games.MatrixGame([[0, 0]])):
        value, strategy = cfr.solve_lp(game)
        assert value == 0.0 and cfr.nash_conv(game, strategy) == 0.0


@pytest.mark.parametrize("payoff", [1.7e308, -1.7e308])
def test_lp_accepts_the_largest_floats(payoff):
    assert cfr.solve_lp(cfr.games.MatrixGame([[payoff]])).value == payoff


@pytest.mark.parametrize("size", [1e-285, 1e-320, 5e-324])
def test_payoffs_that_would_underflow_raise(size):
    """The smallest float times a probability of 1/6 is 0."""
    with pytest.raises(ValueError, match=r"so small .* multiply all payoffs"):
        cfr.solve_lp(Scaled(KuhnPoker(), size))


class AfterHiddenCoin(Wrapper):
    """A game after a coin flip that no player sees: every leaf is the sum of two histories."""

    COIN = cfr.Chance({"heads": 0.5, "tails": 0.5})

    def root(self):
        return None

    def step(self, h, a):
        return self.game.root() if h is None else self.game.step(h, a)

    def node(self, h):
        return self.COIN if h is None else self.game.node(h)


def test_payoff_sums_that_overflow_raise(monkeypatch):
    game = AfterHiddenCoin(cfr.games.MatrixGame([[1, -1], [-1, 1]]))
    assert cfr.solve_lp(game).value == 0
    form = sequence_form(game)
    infinite = form.treeplexes._replace(leaf_payoff=form.treeplexes.leaf_payoff * math.inf)
    monkeypatch.setattr(form, "treeplexes", infinite)
    with pytest.raises(ValueError, match=r"so large .* divide all payoffs"):
        cfr.solve_lp(game)


@pytest.mark.parametrize("large", [10.0**k for k in (1, 3, 6, 9, 12, 15, 16, 18, 300)])
def test_payoffs_of_different_scales_are_solved_or_raise(large):
    """The small payoff matters, and at some scale double precision cannot represent both."""
    cases = {  # matrix -> value
        ((large, 0), (0, 1)): large / (large + 1),
        ((large, -1), (-1, 1)): (large - 1) / (large + 3),
        ((large, -large, 0), (-large, large, 0), (0, 0, 1)): 0,
        ((1, large), (-large, 0)): 1,  # a saddle point: the large payoffs never occur
        ((-1 / large, 1), (-1, -1 / large)): -1 / large,
    }
    for matrix, value in cases.items():
        game = cfr.games.MatrixGame(matrix)
        try:
            solution = cfr.solve_lp(game)
        except RuntimeError as error:
            assert large >= 1e9
            assert "too far apart" in str(error) and len(str(error)) < 300
        else:
            assert solution.value == pytest.approx(value, rel=1e-5)
            assert cfr.nash_conv(game, solution.strategy) <= 1e-5 * abs(value)


def test_lp_solves_gambits_large_payoff_game():
    """Gambit's `large_payoff_game.efg` has payoffs of 10^19 and of 1."""
    large = 10**19
    payoffs = [[(large, 1), (-1, 0)], [(-1, 1), (0, large)]]  # by card and both actions
    nodes = {(): cfr.Chance({0: 0.5, 1: 0.5})}
    for card, first, second in product(range(2), repeat=3):
        nodes[card,] = cfr.Decision(0, f"card {card}", (0, 1))
        nodes[card, first] = cfr.Decision(1, f"after {first}", (0, 1))
        payoff = payoffs[card][first][second]
        nodes[card, first, second] = cfr.Terminal((payoff, -payoff))
    game = TableGame(nodes)
    value, strategy = cfr.solve_lp(game)
    assert value == pytest.approx(1)
    assert cfr.nash_conv(game, strategy) <= 1e-5


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e18])
def test_zero_sum_tolerance_is_relative_to_the_payoffs(size):
    bos = cfr.games.MatrixGame([[3 * size, 0], [0, 2 * size]], [[2 * size, 0], [0, 3 * size]])
    with pytest.raises(ValueError, match="general-sum"):
        cfr.solve_lp(bos)
    tenth, noise = size / 10, 1 + 1e-12
    almost = cfr.games.MatrixGame([[size, -tenth]], [[-size * noise, tenth * noise]])
    assert cfr.compile(almost).zero_sum
    rest = size - 9 * tenth - tenth  # 0 up to rounding
    drifted = cfr.games.MatrixGame([[size, rest]], [[-size, 0.0]])
    assert cfr.compile(drifted).zero_sum


# ---- constant sums and one player ------------------------------------------------------------

PRIZES = [(1, 1), (5, 0), (-2, 7), (1e6, -1e6 + 3), (1e9, 0), (0.1, 0.2)]


@pytest.mark.parametrize(("a", "b"), PRIZES)
def test_kuhn_with_prizes_is_solved_as_what_it_is(a, b):
    """Prizes for taking part change no decision, so the value is a - 1/18."""
    game = Shifted(KuhnPoker(), (a, b))
    tree = cfr.compile(game)
    assert not tree.zero_sum and tree.constant_sum == pytest.approx(a + b)
    assert "2 players, constant-sum, 55" in repr(tree)
    value, strategy = cfr.solve_lp(game)
    assert value == pytest.approx(a - 1 / 18, abs=1e-9 if abs(a) < 9 else 1e-6)
    assert cfr.exploitability(KuhnPoker(), strategy) < 1e-6  # although 1e9 hides what it costs
    assert strategy.game is game
    solution = cfr.solve(game, "cfr+", 200)
    assert solution.guarantee == "two-player constant-sum: exploitability goes to 0"
    assert solution.value == pytest.approx(a - 1 / 18, abs=1e-3)
    assert cfr.solve_lp(Swapped(game)).value == pytest.approx(b + 1 / 18, abs=1e-6)


def test_shares_of_a_prize():
    """Two firms share 1; the value is known from the 2 × 2 formula."""
    row = np.array([[0.9, 0.2], [0.3, 0.6]])
    game = cfr.games.MatrixGame(row, 1 - row)
    assert cfr.solve_lp(game).value == pytest.approx(0.48, abs=1e-12)
    assert cfr.compile(game).constant_sum == pytest.approx(1)
    assert repr(cfr.compile(game)).startswith("MatrixGame(2 × 2): 2 players, constant-sum,")


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e300])
def test_constant_sum_tolerance_is_relative_to_the_payoffs(size):
    row = size * np.array([[0.1, 0.7], [0.5, 0.3]])
    rounded = cfr.compile(cfr.games.MatrixGame(row, size - row))
    assert rounded.constant_sum == pytest.approx(size, rel=1e-12)
    off = size - row
    off[1, 1] *= 1 + 1e-6
    assert cfr.compile(cfr.games.MatrixGame(row, off)).constant_sum is None


def test_a_rake_and_three_players_keep_the_warning():
    class Raked(Wrapper):
        """The winner of each pot pays a twentieth of it to the house."""

        def node(self, h):
            node = self.game.node(h)
            if not isinstance(node, cfr.Terminal):
                return node
            return cfr.Terminal([0.95 * u if u > 0 else u for u in node.utilities])

    for game, kind in (
        (Raked(KuhnPoker()), "2 players, general-sum"),
        (KuhnPoker(players=3), "3 players, zero-sum"),
        (Shifted(KuhnPoker(players=3), (1, 0, 0)), "3 players, constant-sum"),
    ):
        assert f": {kind}, " in repr(cfr.compile(game))
        solution = cfr.solve(game, iterations=2)
        assert solution.guarantee == f"{kind}: no guarantee of a Nash equilibrium"
        with pytest.raises(ValueError, match=f"two-player zero-sum and constant-sum .*{kind}"):
            cfr.solve_lp(game)


def test_a_game_of_one_player_is_a_maximum():
    """Expectimax by hand: take what a coin shows, 1 or 2, or flip again for 3 or nothing."""
    nodes = {(): cfr.Chance({1: 0.5, 2: 0.5})}
    for coin in (1, 2):
        nodes[coin,] = cfr.Decision(0, f"coin {coin}", ("take", "pass"))
        nodes[coin, "take"] = cfr.Terminal((coin,))
        nodes[coin, "pass"] = cfr.Chance({"win": 0.5, "lose": 0.5})
        nodes[coin, "pass", "win"] = cfr.Terminal((3,))
        nodes[coin, "pass", "lose"] = cfr.Terminal((0,))
    game = TableGame(nodes, 1)
    assert repr(cfr.compile(game)).startswith("TableGame(): 1 player, 11 histories")
    value, strategy = cfr.solve_lp(game)
    assert value == pytest.approx(1.75)  # 1/2 · 1.5 + 1/2 · 2
    assert strategy["coin 1"]["pass"] == strategy["coin 2"]["take"] == 1
    solution = cfr.solve(game, "cfr+", 100)
    assert solution.guarantee == "one player: exploitability goes to 0"
    assert solution.value == pytest.approx(1.75, abs=1e-2)
    assert solution.exploitability < 1e-2
    for seed in range(5):
        game = random_game(seed, players=1)
        value, strategy = cfr.solve_lp(game)
        assert cfr.expected_utility(game, strategy)[0] == pytest.approx(value)
        assert cfr.exploitability(game, strategy) == pytest.approx(0, abs=1e-12)
        uniform = cfr.Strategy.uniform(game)
        gain = value - cfr.expected_utility(game, uniform)[0]
        assert cfr.nash_conv(game, uniform) == pytest.approx(gain)


# ---- nothing below zero, and no -0.0 ---------------------------------------------------------


def test_exploitability_is_never_below_zero():
    game, rounded = KuhnPoker(), 0
    for alpha in range(101):
        strategy = cfr.games.kuhn_equilibrium(game, alpha / 300)
        gains = [cfr.best_response(game, strategy, i).gain for i in (0, 1)]
        form = sequence_form(game)
        x = form.plans(strategy.values_by_sequence)
        own = cfr.expected_utility(game, strategy)
        g, choice = form.gradients(x), np.ones(form.num_sequences)
        for i in (0, 1):
            best_backup(form.treeplexes, i, g, choice)
            if g[form.treeplexes.player_sequences[i]] < own[i]:
                rounded += 1
                assert gains[i] == 0
        measured = [*gains, cfr.exploitability(game, strategy), cfr.nash_conv(game, strategy)]
        assert min(measured) >= 0 and max(measured) < 1e-15
        assert not np.signbit(measured).any()
    assert rounded  # the test would fail otherwise


def no_minus(values):
    """Return whether no number is below zero, and none is -0.0."""
    return not np.signbit(values).any()


@pytest.mark.parametrize("variant", list(cfr.VARIANTS))
def test_no_probability_regret_or_payoff_is_minus_zero(variant):
    game = KuhnPoker()
    run = cfr.CFR(game, variant).run(60)
    solution = run.solution()
    for strategy in (solution.strategy, solution.current, solution.best, run.current):
        assert no_minus(strategy.values_by_sequence)
        assert "-0.0" not in repr(strategy) + repr(dict(strategy)) + strategy._repr_html_()
    regrets = run.regrets.values_by_sequence
    assert no_minus(regrets[regrets == 0])
    assert "-0.0000" not in repr(run.regrets)
    assert (run.trace.best >= 0).all()


def test_values_that_round_to_zero_have_no_minus():
    game = RockPaperScissors()
    solution = cfr.solve(game, "cfr", 7)
    tiny = solution._replace(value=-1e-17)
    assert "value of player 0  +0.000000000" in repr(tiny)
    trace = cfr.solution.Trace(np.array([[1, 1, 0.0, 0.0, -1e-9, 0.0]]), "nodes")
    assert "+0.000000" in repr(trace) and "-0.000000" not in repr(trace)
    assert no_minus(cfr.expected_utility(game, cfr.Strategy.uniform(game)))
    assert no_minus(cfr.regret_matching([-0.0, 1.0, -1.0]))
