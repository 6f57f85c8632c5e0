"""Simulation: random numbers of chance, players and actions; payoffs against exact values."""

import numpy as np
import pytest
from scipy.stats import chi2, t
from toy_games import TableGame

import cfrlib as cfr
from cfrlib import Chance, Decision, Terminal
from cfrlib.playing.matches import SampleMean, _Uniforms, match, pick, simulate

KUHN = cfr.games.KuhnPoker()


def fits(counts, probabilities):
    """Whether counts are as likely as those of 999 samples in 1,000 (χ²)."""
    counts, expected = np.asarray(counts, float), np.asarray(probabilities, float)
    expected = expected * counts.sum() / expected.sum()
    statistic = ((counts - expected) ** 2 / expected).sum()
    return chi2.cdf(statistic, len(counts) - 1) < 0.999


def twice():
    """Chance, then each player, then chance and each player again: all is paid out."""
    nodes = {}

    def add(h):
        if len(h) in (0, 3):
            nodes[h] = Chance({"a": 0.2, "b": 0.5, "c": 0.3})
        elif len(h) == 6:
            nodes[h] = Terminal((sum(3**n * "abc".index(a) for n, a in enumerate(h)), 0))
            return
        else:
            nodes[h] = Decision(len(h) % 3 - 1, f"{len(h)}", ("a", "b", "c"))
        for a in "abc":
            add((*h, a))

    add(())
    return TableGame(nodes)


@pytest.mark.slow
def test_every_sequence_of_samples_has_its_probability():
    rows = [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]] * 2
    strategy = {str(n): dict(zip("abc", rows[n], strict=True)) for n in (1, 2, 4, 5)}
    payoffs = simulate(twice(), [strategy, strategy], 100_000, seed=1)
    counts = np.bincount(payoffs[:, 0].astype(int), minlength=3**6)
    exact = np.array([1.0])
    for row in rows:  # the first action is the last digit
        exact = np.outer(row, exact).ravel()
    assert fits(counts, exact)


@pytest.mark.slow
def test_private_numbers_are_uniform_and_independent():
    seen = {}

    def player(i):
        def policy(nodes, u):
            seen.setdefault((i, nodes[0].infoset), u.copy())
            return np.full((len(nodes), 3), 1 / 3)

        return policy

    simulate(twice(), [player(0), player(1)], 20_000, seed=3)
    first, second = seen[0, "1"], seen[1, "2"]
    np.testing.assert_array_equal(first, seen[0, "4"])  # fixed for a player and round
    np.testing.assert_array_equal(second, seen[1, "5"])
    cells = (first * 5).astype(int) * 5 + (second * 5).astype(int)
    assert fits(np.bincount(cells, minlength=25), np.ones(25))


def test_chance_does_not_depend_on_the_players():
    """Nor on their random numbers: the deals of two profiles are the same, round by round."""
    game, seen = twice(), []

    class Watched(TableGame):
        def step(self, h, a):
            if len(h) == 3:
                seen[-1].append((h[0], a))
            return (*h, a)

    for p in ([1.0, 0.0, 0.0], [0.0, 0.1, 0.9]):
        seen.append([])
        strategy = {str(n): dict(zip("abc", p, strict=True)) for n in (1, 2, 4, 5)}
        simulate(Watched(game.nodes), [strategy, strategy], 500, seed=4)
    assert seen[0] == seen[1] and len(seen[0]) == 500


def test_moves_do_not_depend_on_the_deal():
    """Chance's samples, private numbers and actions come from three independent streams."""
    game, seen = twice(), []

    class Watched(TableGame):
        def step(self, h, a):
            if len(h) == 1:
                seen.append(3 * "abc".index(h[0]) + "abc".index(a))
            return (*h, a)

    def policy(nodes, u):
        return np.full((len(nodes), 3), 1 / 3)

    simulate(Watched(game.nodes), [policy, policy], 5_000, seed=0)
    assert fits(np.bincount(seen, minlength=9), np.repeat([0.2, 0.5, 0.3], 3) / 3)


@pytest.mark.slow
@pytest.mark.parametrize("seats", [2, 3])
def test_mean_payoffs_are_the_expected_utilities(seats):
    game = cfr.games.KuhnPoker(players=seats)
    strategy = cfr.Strategy.random(game, seed=seats)
    payoffs = simulate(game, [strategy] * seats, 20_000, seed=0)
    error = payoffs.std(axis=0) / np.sqrt(len(payoffs))
    assert (abs(payoffs.mean(axis=0) - cfr.expected_utility(game, strategy)) < 4 * error).all()


def test_actions_without_probability_are_never_sampled():
    row = {"a": 0.0, "b": 0.3, "c": 0.0, "d": 0.7, "e": 0.0}
    grid = [pick(row, u) for u in (np.arange(1_000) + 0.5) / 1_000]
    assert [grid.count(a) for a in "abcde"] == [0, 300, 0, 700, 0]
    assert pick(row, 0.0) == "b" and pick(row, np.nextafter(1, 0)) == "d"
    assert pick({"a": 0.5, "b": 0.4999999, "c": 0.0}, np.nextafter(1, 0)) == "b"


@pytest.mark.parametrize("last", [False, True])
def test_certain_actions_are_played(last):
    """First or last of a row: nobody bets, or somebody bets and is called."""
    rows = cfr.Strategy.uniform(KUHN).items()
    sure = {I: {a: float((n == len(row) - 1) == last) for n, a in enumerate(row)}
            for I, row in rows}  # fmt: skip
    payoffs = simulate(KUHN, [sure, sure], 100, seed=0)
    assert set(abs(payoffs).ravel()) == {2.0 if last else 1.0}


def test_players_of_all_kinds_play_the_same():
    strategy = cfr.Strategy.random(KUHN, seed=0)

    def policy(nodes, u):  # wider than needed
        assert ((u >= 0) & (u < 1)).all() and len(u) == len(nodes)
        return np.array([[*strategy[n.infoset].values(), 0.0] for n in nodes])

    plain = {I: dict(row) for I, row in strategy.items()}
    found = [
        simulate(KUHN, players, 300, seed=0)
        for players in ([strategy] * 2, [plain] * 2, [policy] * 2)
    ]
    assert all((payoffs == found[0]).all() for payoffs in found)
    some = {"J": {"bet": 1.0}}  # lacks other infosets, and an action
    uniform = {I: dict.fromkeys(row, 0.5) for I, row in strategy.items()}
    full = uniform | {"J": {"check": 0.0, "bet": 1.0}}
    np.testing.assert_array_equal(
        simulate(KUHN, [some, strategy], 300, seed=0),
        simulate(KUHN, [full, strategy], 300, seed=0),
    )


@pytest.mark.parametrize(
    ("players", "says"),
    [
        ([{}], "one player per seat"),
        ([{}, 3], "a player is a strategy"),
        ([{}, lambda nodes, u: np.full((len(nodes), 2), 0.4)], "player 1 must return"),
        ([lambda nodes, u: np.tile([1.5, -0.5], (len(nodes), 1)), {}], "player 0 must return"),
        ([{}, lambda nodes, u: np.array([[0.5, 0.5]])], "player 1 must return"),
    ],
)
def test_errors_name_the_player(players, says):
    with pytest.raises(ValueError, match=says):
        simulate(KUHN, players, 50, seed=0)


def test_rounding_samples_no_action_without_probability(monkeypatch):
    """The largest random number, and rows that sum to a little less than 1."""
    monkeypatch.setattr(_Uniforms, "__call__", lambda *_: np.nextafter(1, 0))
    rows = {I: dict.fromkeys(row, 0.0) for I, row in cfr.Strategy.uniform(KUHN).items()}
    for row in rows.values():
        row[next(iter(row))] = 0.9999995  # check, or fold
    assert set(abs(simulate(KUHN, [rows, rows], 20, seed=0)).ravel()) == {1.0}


def test_private_numbers_follow_their_round():
    """At the second decision of player 0, which only some rounds reach."""
    seen = []

    def checks(nodes, u):
        seen.append(u.copy())
        return np.tile([1.0, 0.0], (len(nodes), 1))

    def bets_below_half(nodes, u):
        seen.append(u.copy())
        return np.stack([u >= 0.5, u < 0.5], axis=1).astype(float)

    simulate(KUHN, [checks, bets_below_half], 200, seed=0)
    first, second, again = seen
    np.testing.assert_array_equal(again, first[second < 0.5])
    assert 0 < len(again) < 200


# ---- matches ---------------------------------------------------------------------------------


def test_a_match_is_played_in_all_seats_with_the_same_deals():
    one, other = cfr.Strategy.random(KUHN, seed=0), {"K": {"bet": 1.0}}
    found = match(KUHN, one, other, 50, seed=3)
    first = simulate(KUHN, [one, other], 50, seed=3)[:, 0]
    second = simulate(KUHN, [other, one], 50, seed=3)[:, 1]
    np.testing.assert_array_equal(found.payoffs, np.stack([first, second], axis=1))
    np.testing.assert_array_equal(found.samples, (first + second) / 2)
    assert found.won == np.mean([first > 0, second > 0]) and found.tied == 0.0


@pytest.mark.slow
@pytest.mark.parametrize("seats", [2, 3])
def test_the_mean_of_a_match_is_the_expected_payoff(seats):
    game = cfr.games.KuhnPoker(players=seats)
    one, other = (cfr.Strategy.random(game, seed=seed) for seed in (1, 2))
    value = 0.0
    for i in range(seats):
        mine = {label: one[label] for label in one if one.player(label) == i}
        value += cfr.expected_utility(game, other.replace(mine))[i] / seats
    found = match(game, one, other, 10_000, seed=0)
    assert abs(found.mean - value) < 4 * found.standard_error
    assert found.standard_error < 0.02


@pytest.mark.parametrize("seats", [2, 3])
def test_a_player_ties_with_itself_to_the_last_bit(seats):
    game = cfr.games.KuhnPoker(players=seats)
    strategy = cfr.Strategy.random(game, seed=1)
    found = match(game, strategy, strategy, 40, seed=0)
    assert found.mean == pytest.approx(0.0, abs=1e-15) and found.margin < 1e-14


def test_intervals_are_those_of_student():
    samples = np.random.default_rng(0).normal(size=5)
    found = SampleMean(samples)
    expected = t.interval(0.95, 4, samples.mean(), samples.std(ddof=1) / 5**0.5)
    assert found.interval == pytest.approx(expected)
    with pytest.raises(ValueError, match="deals must be"):
        match(KUHN, {}, {}, 1)
