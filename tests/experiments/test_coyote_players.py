"""The players of Coyote that chapter 12 trains: their judges."""

import coyote_players as script
import pytest

from cfrlib import Decision
from cfrlib.games import Coyote

pytestmark = pytest.mark.slow


def test_caller_calls_bids_above_the_expected_sum():
    """The sum is 2 plus the mean of −2, 4, 4 and 0 for the doubling card: 3.5."""
    game = Coyote(deck={-2: 1, 2: 1, 4: 2, "x2": 1}, cap=9)
    nodes = [Decision(0, f"_ 2: {n}", ("+1", "coyote")) for n in (3, 4)]
    assert script.caller(game, 0)(nodes, None).tolist() == [[1, 0], [0, 1]]
    assert script.caller(game, 1)(nodes, None).tolist() == [[1, 0], [1, 0]]
    last = Decision(0, "_ 2: 9", ("coyote",))
    assert script.caller(game, 99)([last], None)[0, 0] == 1


def test_payoff_difference_of_equal_players_is_zero(monkeypatch):
    monkeypatch.setattr(script, "ROUNDS", 60)
    game = Coyote(3)
    player = script.caller(game, 0)
    assert script.table(game, player, player)["more_than_they"] == [0, 0]
    assert script.table(game, player, {})["more_than_they"][0] > 0.1
