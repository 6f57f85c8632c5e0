"""The layout of CFR against the specification: the same numbers to the last bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_games import random_game

import cfrlib as cfr
from cfrlib.cfr import UPDATES, reference_update
from cfrlib.core import layout, sequence
from cfrlib.core.jit import inlined
from cfrlib.core.layout import Layout, arranged
from cfrlib.core.sequence import sequence_form
from cfrlib.games import Goofspiel, KuhnPoker, LeducPoker, LiarsDice
from cfrlib.regret import discount

GAMES = [
    KuhnPoker(),
    KuhnPoker(players=3),
    KuhnPoker(40),  # bands longer than what a processor takes at once
    LeducPoker(),
    LiarsDice(3),  # single actions, and rows that are shared
    Goofspiel(3),
    random_game(6, players=3, depth=6),
]
every_game = pytest.mark.parametrize("game", GAMES, ids=repr)


# only kernels call the kernels of the layout
@inlined
def realize(form, player, sigma, x, reach):
    layout.realize(form, player, sigma, x, reach)


@inlined
def gradient(form, player, x, g, sums):
    layout.gradient(form, player, x, g, sums)


@inlined
def best_response(form, tables, player):
    layout.best_response(form, tables, player)


def scratch(form):
    """Return garbage of the lengths that kernels write to: sequences, infosets, sums."""
    lengths = form.num_sequences, form.tree.num_infosets, arranged(form).bands.player_sums[-1]
    return [np.full(n, np.nan) for n in lengths]


random_games = st.builds(
    random_game, st.integers(0, 2**32), players=st.integers(1, 4), depth=st.integers(2, 6)
)


@pytest.mark.slow
@settings(max_examples=60)
@given(random_games | st.sampled_from(GAMES), st.integers(0, 2**32))
def test_kernels_equal_those_that_go_infoset_by_infoset(game, seed):
    form = sequence_form(game)
    order, t = arranged(form), form.treeplexes
    g, value, sums = scratch(form)
    sigma = cfr.Strategy.random(game, seed).values_by_sequence
    plans = form.plans(sigma)
    x = np.full(form.num_sequences, np.nan)
    for i in range(form.num_players):
        realize(order.bands, i, order.pack(sigma), x, value)
    np.testing.assert_array_equal(order.unpack(x), plans)
    for i in range(form.num_players):
        gradient(order.bands, i, order.pack(plans), g, sums)
    np.testing.assert_array_equal(order.unpack(g), form.gradients(plans))
    theirs, tables = form.gradients(plans), order.new_tables(sigma, plans)
    tables.counterfactual_value[:] = g
    best = sigma.copy()
    for i in range(form.num_players):
        sequence.best_response(t, i, theirs, best)
        best_response(order.bands, tables, i)
    inner = np.ones(form.num_sequences, bool)
    inner[t.player_sequences[:-1]] = False  # at the empty sequence nothing is chosen
    np.testing.assert_array_equal(order.unpack(tables.counterfactual_value), theirs)
    mine = order.unpack(tables.best_response_plan)
    np.testing.assert_array_equal(mine[inner], best[inner])


@every_game
def test_of_equally_good_actions_the_first_is_taken(game):
    form = sequence_form(game)
    order, sigma = arranged(form), form.uniform()
    tables = order.new_tables(sigma, form.plans(sigma))
    for i in range(form.num_players):
        best_response(order.bands, tables, i)
    chosen = cfr.Strategy.from_vector(form, order.unpack(tables.best_response_plan))
    for row in chosen.values():
        assert list(row.values()) == [1.0] + [0.0] * (len(row) - 1)


def specified(game, variant, update, delay, iterations):
    """Return regrets, current strategy and Σ w x of CFR by `reference_update`."""
    form = sequence_form(game)
    t, players = form.treeplexes, range(form.num_players)
    regret, strategy_sum = np.zeros((2, form.num_sequences))
    sigma, v = form.uniform(), np.empty(form.num_sequences)
    plan = form.plans(sigma)
    for k in range(1, iterations + 1):
        discounts = discount(k, variant.alpha), discount(k, variant.beta)
        opponents = plan
        if update == "best response":
            reply = np.ones(form.num_sequences)
            for i in players:
                sequence.gradient(t, i, plan, v)
                sequence.best_response(t, i, v, reply)
            opponents = form.plans(reply)
        for i in players:
            own = slice(*t.player_sequences[i : i + 2])
            weight = float(k - delay) ** variant.gamma if k > delay else 0.0
            strategy_sum[own] += weight * plan[own]
            sequence.gradient(t, i, opponents, v)
            reference_update(t, i, v, regret, sigma, discounts, variant.predictive)
            if update == "alternating":
                sequence.realize(t, i, sigma, plan)
        plan[:] = form.plans(sigma)
    return regret, sigma, strategy_sum


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("variant", ["cfr", "dcfr", "pcfr+"])
@every_game
def test_a_run_equals_the_specification(game, variant, update):
    run = cfr.CFR(game, variant, update=update, delay=2).run(12, progress=False)
    wanted = specified(game, cfr.VARIANTS[variant], update, 2, 12)
    read = run._layout.unpack
    found = read(run._tables.regret), read(run._tables.sigma), read(run._tables.strategy_sum)
    for mine, theirs, name in zip(found, wanted, ("regret", "σ", "strategy sum"), strict=True):
        np.testing.assert_array_equal(mine, theirs, name)


# ---- the order -----------------------------------------------------------------------------


@settings(max_examples=60)
@given(random_games | st.sampled_from(GAMES))
def test_a_band_is_infosets_of_a_kind(game):
    form = sequence_form(game)
    order, t = Layout(form), form.treeplexes
    b, seen = order.bands, np.empty(form.num_sequences, int)
    seen[order.place] = np.arange(form.num_sequences)  # fails unless it is a permutation
    assert sorted(order.place) == list(range(form.num_sequences))
    infosets = {int(start): I for I, start in enumerate(t.infoset_start)}
    kinds, met = [], []
    for i in range(form.num_players):
        for level in range(b.player_levels[i], b.player_levels[i + 1]):
            for k in range(b.level_bands[level], b.level_bands[level + 1]):
                for j in range(b.band_size[k]):
                    I = infosets[seen[b.band_start[k] + j]]
                    row = seen[
                        b.band_start[k] + j + b.band_size[k] * np.arange(b.band_actions[k])
                    ]
                    assert list(row) == list(range(t.infoset_start[I], t.infoset_stop[I]))
                    assert form.tree.infoset_player[I] == i
                    assert seen[b.parent[b.band_infoset[k] + j]] == t.infoset_parent[I]
                    met.append(I)
                kinds.append((i, level, int(b.band_actions[k])))
    assert sorted(met) == list(range(len(t.infoset_parent)))
    assert len(kinds) == len(set(kinds))  # no two bands that could be one


@every_game
def test_tables_go_in_and_out(game):
    order = arranged(sequence_form(game))
    vector = np.random.default_rng(0).random(len(order.place))
    np.testing.assert_array_equal(order.unpack(order.pack(vector)), vector)


@pytest.mark.slow
def test_equal_rows_are_summed_once():
    """Six dice, but the face of a bid is held or not: two sums for each way of bidding."""
    form = sequence_form(LiarsDice())
    rows, kept = len(form.treeplexes.leaf_payoff), len(arranged(form).bands.leaf_payoff)
    assert (rows, kept) == (294_840, 98_280)
    assert form.num_sequences == 49_142
    assert list(np.diff(arranged(form).bands.player_sums)) == [8_191, 8_191]


def test_a_game_is_put_in_order_once(kuhn):
    assert cfr.CFR(kuhn)._layout is cfr.CFR(kuhn, "cfr+")._layout


def test_a_game_without_decisions():
    class Toss(cfr.Game):
        def node(self, h):
            if h:
                return cfr.Terminal((1, -1) if h == ("heads",) else (-1, 1))
            return cfr.Chance({"heads": 0.75, "tails": 0.25})

    solution = cfr.solve(Toss(), "cfr", 10, progress=False)
    assert math.isclose(solution.value, 0.5)
