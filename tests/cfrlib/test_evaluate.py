"""Tests of the sequence-form linear program: exactness, scaling, agreement with CFR."""

import math
from itertools import product

import numpy as np
import pytest
from toy_games import Scaled, TableGame, Wrapper

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
from cfrlib.evaluate import _flow_matrix, _maximin
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
def test_maximin_equals_minimax(game):
    """The linear programs of the two players are each other's duals."""
    form = sequence_form(game)
    flows = [_flow_matrix(form, i) for i in (0, 1)]
    values = [_maximin(form, i, flows[i], flows[1 - i])[0] for i in (0, 1)]
    assert values[0] == pytest.approx(-values[1], abs=1e-9)
    assert cfr.solve_lp(game).value == pytest.approx(values[0], abs=1e-12)


@every_game
def test_lp_strategy_is_an_equilibrium(game):
    value, strategy = cfr.solve_lp(game)
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


@pytest.mark.parametrize("game", SYMMETRIC, ids=repr)
def test_symmetric_games_have_value_zero(game):
    assert cfr.solve_lp(game).value == pytest.approx(0, abs=1e-12)


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
