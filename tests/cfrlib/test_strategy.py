"""Strategies that come from other programs: single and half precision, JSON, profiles."""

import json

import numpy as np
import pytest
from toy_games import TableGame

import cfrlib as cfr
from cfrlib import Decision, Terminal
from cfrlib.core.checks import distributions

KUHN = cfr.games.KuhnPoker()
PRECISIONS = [np.float16, np.float32, np.float64]


def softmax(logits, dtype):
    """Return a softmax of which every step is computed in one precision."""
    weights = np.exp(logits.astype(dtype) - logits.astype(dtype).max())
    return weights / weights.sum(dtype=dtype)


def network(game, dtype, seed=0):
    """Return a profile of random softmaxes, as a table of numbers in this precision."""
    rng = np.random.default_rng(seed)
    uniform = cfr.Strategy.uniform(game)
    return {
        label: dict(zip(row, softmax(3 * rng.normal(size=len(row)), dtype), strict=True))
        for label, row in uniform.items()
    }


def in_double(table):
    """Return the same numbers, divided by their sums in double precision."""
    return {
        label: {a: float(p) / sum(map(float, row.values())) for a, p in row.items()}
        for label, row in table.items()
    }


@pytest.mark.parametrize("dtype", PRECISIONS)
@pytest.mark.parametrize("game", [KUHN, cfr.games.ColonelBlotto(8, 3)])
def test_a_softmax_of_any_precision_is_a_strategy(game, dtype):
    table = network(game, dtype)
    doubled = in_double(table)
    for given in (table, {k: {a: float(p) for a, p in r.items()} for k, r in table.items()}):
        strategy = cfr.Strategy(game, given)
        for label, row in strategy.items():
            assert sum(row.values()) == pytest.approx(1, abs=1e-12)
            assert list(row.values()) == pytest.approx(list(doubled[label].values()), abs=1e-12)
        expected = cfr.exploitability(game, doubled)
        assert cfr.exploitability(game, given) == pytest.approx(expected, abs=1e-12)
    replaced = cfr.Strategy.uniform(game).replace(table)
    assert replaced.max_difference(doubled) < 1e-12


@pytest.mark.parametrize("n", [2, 7, 1_000, 5_000])
@pytest.mark.parametrize("dtype", PRECISIONS)
def test_rows_of_many_actions_are_accepted(n, dtype):
    """A softmax of equal logits has equal rounding errors, which add up."""
    for logits in (np.zeros(n), np.linspace(0, 1, n)):
        row = softmax(logits, dtype).astype(np.float64)
        found = distributions(row)
        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert np.abs(found / row - 1).max() < 2e-3


def test_double_precision_is_left_as_it_is():
    row = np.array([0.1] * 9 + [0.1 + 5e-10])
    assert np.array_equal(distributions(row), row)


@pytest.mark.parametrize("wrong", [0.49, 0.4989, 0.5011, 0.51, -0.5, np.nan, np.inf])
def test_other_rows_are_refused_and_the_sum_is_named(wrong):
    uniform = cfr.Strategy.uniform(KUHN)
    total = f"{0.5 + wrong:.6g}"
    with pytest.raises(ValueError, match=rf"'Q' are not probabilities.*sum to 1, not {total}$"):
        uniform.replace({"Q": {"check": 0.5, "bet": wrong}})
    with pytest.raises(ValueError, match="are not probabilities"):
        uniform.replace({"Q": {"check": 1.25, "bet": -0.25}})


def test_other_places_take_single_and_half_precision():
    rps = cfr.games.RockPaperScissors()
    for dtype in PRECISIONS:
        table = network(KUHN, dtype)
        payoffs = cfr.simulate(KUHN, [table, in_double(table)], 100, seed=0)
        assert np.array_equal(payoffs, cfr.simulate(KUHN, in_double(table), 100, seed=0))
        assert cfr.OOS(KUHN, seed=0).match(table, games=1, nodes=50, seat=0) is not None
        row = softmax(np.arange(3.0), dtype)
        doubled = row.astype(float) / row.astype(float).sum()
        ours, theirs = (cfr.play(rps, 5, opponent=p).average[1][-1] for p in (row, doubled))
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_a_function_may_return_half_precision_but_no_other_sums():
    def constant(*row):
        return lambda nodes, uniforms: np.tile(np.array(row, np.float16), (len(nodes), 1))

    payoffs = cfr.simulate(KUHN, [constant(0.3, 0.7), {}], 20, seed=0)
    assert payoffs.shape == (20, 2)
    with pytest.raises(ValueError, match="player 0 must return a row of probabilities"):
        cfr.simulate(KUHN, [constant(0.5, 0.49), {}], 20, seed=0)


# ---- profiles and JSON -----------------------------------------------------------------------


def test_a_profile_takes_all_seats_of_a_simulation():
    profile = cfr.solve(KUHN, "cfr+", 50).strategy
    expected = cfr.simulate(KUHN, [profile, profile], 50, seed=3)
    for one in (profile, dict(profile)):
        assert np.array_equal(cfr.simulate(KUHN, one, 50, seed=3), expected)
    asked = []

    def policy(nodes, uniforms):
        asked.extend(node.player for node in nodes)
        return np.full((len(nodes), 2), 0.5)

    cfr.simulate(KUHN, policy, 5, seed=0)
    assert set(asked) == {0, 1}


def numbered():
    """Return a game whose actions are numbers of several types."""
    nodes = {(): Decision(0, "bid", (1, 2.5, -3, True + 9, "pass"))}
    payoffs = {1: 1, 2.5: 2, -3: 3, 10: 4, "pass": 5}
    nodes |= {(a,): Terminal((u, -u)) for a, u in payoffs.items()}
    return TableGame(nodes)


def test_a_strategy_with_numbers_as_actions_survives_json():
    game = numbered()
    strategy = cfr.Strategy.random(game, seed=1)
    back = json.loads(json.dumps(dict(strategy)))
    assert set(back["bid"]) == {"1", "2.5", "-3", "10", "pass"}
    assert cfr.Strategy(game, back) == strategy
    assert cfr.expected_utility(game, back) == pytest.approx(
        cfr.expected_utility(game, strategy), abs=0
    )
    for given in ({1: 0.5, "1": 0.5}, {"4": 1.0}, {"2.50": 1.0}, {" 1": 1.0}, {"'pass'": 1}):
        with pytest.raises(ValueError, match="'bid' has no action"):
            cfr.Strategy(game, {"bid": given})


def test_words_that_look_like_numbers_stay_words():
    actions = ("1", 1, 2)
    nodes = {(): Decision(0, "bid", actions)} | {(a,): Terminal((1, 0)) for a in actions}
    for two in (2, "2"):
        strategy = cfr.Strategy(TableGame(nodes), {"bid": {"1": 0.25, 1: 0.25, two: 0.5}})
        assert strategy["bid"] == {"1": 0.25, 1: 0.25, 2: 0.5}


def test_a_lookup_passes_over_no_other_infoset(monkeypatch):
    run = cfr.MCCFR(cfr.games.KuhnPoker(), on_demand=True, seed=0).run(10)
    known = run.average
    assert known["Q"]  # and so labels have been numbered

    def forbidden(self):
        raise AssertionError("all labels are read for one")

    monkeypatch.setattr(cfr.PartialStrategy, "__iter__", forbidden)
    assert known.get("Z") is None
    assert "Z" not in known
    with pytest.raises(KeyError, match=r"no infoset 'Z'; KuhnPoker\(\) has 'J', "):
        known["Z"]
