"""Playing for the match: what a score is worth, and who calls by it."""

from itertools import product

import koikoi_match as script
import numpy as np
import pytest
from recorded import recorded

from koikoi.simulator import CALL, OVER

PAID = np.array([3, 3, 0, -2, 14, -1])  # to the dealer


@pytest.fixture(scope="module")
def player():
    return script.load(script.game)[0][script.NAME]


def by_enumeration(rounds, lead, deals):
    """Return the probability of winning, over all sequences of payoffs."""
    total = 0.0
    for payoffs in product(PAID.tolist(), repeat=rounds):
        points, dealing = lead, deals
        for paid in payoffs:
            mine = paid if dealing else -paid
            points += mine
            dealing = mine > 0 or (mine == 0 and not dealing)
        total += (np.sign(points) + 1) / 2
    return total / len(PAID) ** rounds


def test_worth_is_the_probability_of_winning():
    worth = script.worth_of_match(PAID)
    for rounds, lead, deals in product((0, 1, 2, 3), (-15, -3, 0, 1, 20), (0, 1)):
        known = by_enumeration(rounds, lead, deals)
        assert worth[rounds, lead + script.MOST, deals] == pytest.approx(known)


def test_outcomes_are_those_of_similar_predictions():
    """With as many bins as predictions, each has the payoffs at that prediction."""
    predicted = np.repeat(np.arange(script.BINS, dtype=float), 3)
    paid = np.random.default_rng(0).integers(-9, 20, len(predicted))
    worth = script.worth_of_match(PAID)[4]
    for seat, lead in ((0, 5), (1, -4)):
        told = np.array([7.0, 7.4]), np.full(2, lead), np.full(2, seat)
        found = script.Outcomes(predicted, paid).expected(worth, *told)
        after = paid[predicted == 7]
        deals = (after > 0) | ((after == 0) & (seat == 1))
        known = worth[after + lead + script.MOST, deals.astype(int)].mean()
        assert found == pytest.approx([known, known])


def test_the_last_round_is_played_for_the_match():
    lead, stop = np.array([-9, -9, -9, 0, 3]), np.array([10, 9, 8, 5, 2])
    told = lead, np.zeros(5, int), stop, np.array([20.0, 20.0, 0.0, 20.0, 20.0])
    assert script.in_last_round(0, *told).tolist() == [False, True, True, False, False]
    assert script.in_last_round(1, *told).tolist() == [True, True, False, True, True]


def test_callers_by_points_are_the_network(player):
    caller, simulator, calls = script.ScoreCaller(player, script.by_points), script.simulator, 0
    rounds, caller.lead = simulator.deal(300, seed=4), np.zeros(300, int)
    while len(rows := np.flatnonzero(rounds.stage != OVER)):
        actions = player(simulator, rounds, rows, np.uint64(1))
        assert np.array_equal(caller(simulator, rounds, rows, np.uint64(1)), actions)
        calls += (rounds.stage[rows] == CALL).sum()
        simulator.act(rounds, rows, actions)
    assert calls > 100


@pytest.mark.slow
def test_the_last_round_wins_what_was_recorded(player):
    """In fewer matches with other deals."""
    answers = recorded("koikoi_match")["won"]["last round"]
    found = script.gain(script.in_last_round, player, 2_000)
    (mean, half), (known, error) = found["gain"], answers["gain"]
    assert known - error > 0 and abs(mean - known) < 2 * (half**2 + error**2) ** 0.5
