"""The linear program is exact on every game of the library, and CFR goes where it points."""

import pytest

import cfrlib as cfr
from cfrlib.equilibrium import _flow_matrix, _maximin
from cfrlib.games import (
    ColonelBlotto,
    Coyote,
    Goofspiel,
    KuhnPoker,
    LeducPoker,
    LiarsDice,
    RockPaperScissors,
)
from cfrlib.sequence import sequence_form

ALIKE = [  # both players are in the same position: the value is 0
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
    *ALIKE,
]

every_game = pytest.mark.parametrize("game", GAMES, ids=repr)


@every_game
def test_what_one_player_can_guarantee_the_other_can_prevent(game):
    """The programs of the two players are each other's duals."""
    form = sequence_form(game)
    flows = [_flow_matrix(form, i) for i in (0, 1)]
    values = [_maximin(form, i, flows[i], flows[1 - i])[0] for i in (0, 1)]
    assert values[0] == pytest.approx(-values[1], abs=1e-9)
    assert cfr.solve_lp(game).value == values[0]


@every_game
def test_nobody_gains_by_leaving_the_strategy_of_the_lp(game):
    value, strategy = cfr.solve_lp(game)
    assert abs(cfr.exploitability(game, strategy)) < 1e-9
    assert cfr.expected_utility(game, strategy) == pytest.approx([value, -value], abs=1e-9)
    for i in (0, 1):
        guaranteed = -cfr.best_response(game, strategy, 1 - i).value
        assert guaranteed == pytest.approx((value, -value)[i], abs=1e-9)


@every_game
def test_cfr_finds_the_value_of_the_lp(game):
    """At exploitability ε the payoff of the average is within NashConv = 2ε of the value."""
    solution = cfr.solve(game, "pcfr+", until=1e-5)
    assert abs(solution.value - cfr.solve_lp(game).value) <= 2e-5


@pytest.mark.parametrize("game", ALIKE, ids=repr)
def test_where_both_players_are_alike_the_value_is_zero(game):
    assert cfr.solve_lp(game).value == pytest.approx(0, abs=1e-12)
