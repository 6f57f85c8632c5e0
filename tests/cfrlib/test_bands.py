"""Iterations in bands agree with those infoset by infoset to the last bit."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_games import random_game

import cfrlib as cfr
from cfrlib import bands as kernels
from cfrlib import cfr as plain
from cfrlib.bands import Layout, band_layout
from cfrlib.core import sequence
from cfrlib.core.jit import inlined
from cfrlib.core.sequence import sequence_form
from cfrlib.games import Goofspiel, KuhnPoker, LeducPoker, LiarsDice
from cfrlib.solution import UPDATES

GAMES = [
    KuhnPoker(),
    KuhnPoker(players=3),
    KuhnPoker(40),  # bands longer than a SIMD register
    LeducPoker(),
    LiarsDice(3),  # single actions, and duplicate leaf rows
    Goofspiel(3),
    random_game(6, players=3, depth=6),
]
every_game = pytest.mark.parametrize("game", GAMES, ids=repr)


# The layout's kernels have no Python wrapper, so tests call them from kernels.
@inlined
def realize(form, player, sigma, x, reach):
    kernels.realize_bands(form, player, sigma, x, reach)


@inlined
def gradient(form, player, x, g, sums):
    kernels.gradient_bands(form, player, x, g, sums)


@inlined
def best_response(form, tables, player):
    kernels.best_response_bands(form, tables, player)


def scratch(form):
    """Return NaN-filled output arrays: by sequence, by infoset, by leaf sum."""
    num_sums = band_layout(form).bands.player_sums[-1]
    return [np.full(n, np.nan) for n in (form.num_sequences, form.tree.num_infosets, num_sums)]


random_games = st.builds(
    random_game, st.integers(0, 2**32), players=st.integers(1, 4), depth=st.integers(2, 6)
)


@pytest.mark.slow
@settings(max_examples=60)
@given(random_games | st.sampled_from(GAMES), st.integers(0, 2**32))
def test_band_kernels_equal_sequence_kernels(game, seed):
    form = sequence_form(game)
    layout, t = band_layout(form), form.treeplexes
    g, value, sums = scratch(form)
    sigma = cfr.Strategy.random(game, seed).values_by_sequence
    plans = form.plans(sigma)
    x = np.full(form.num_sequences, np.nan)
    for i in range(form.num_players):
        realize(layout.bands, i, layout.pack(sigma), x, value)
    np.testing.assert_array_equal(layout.unpack(x), plans)
    for i in range(form.num_players):
        gradient(layout.bands, i, layout.pack(plans), g, sums)
    np.testing.assert_array_equal(layout.unpack(g), form.gradients(plans))
    expected_values, tables = form.gradients(plans), layout.new_tables(sigma, plans)
    tables.counterfactual_value[:] = g
    expected = sigma.copy()
    for i in range(form.num_players):
        sequence.best_backup(t, i, expected_values, expected)
        best_response(layout.bands, tables, i)
    nonempty = np.ones(form.num_sequences, bool)
    nonempty[t.player_sequences[:-1]] = False  # there is no action at the empty sequence
    values = layout.unpack(tables.counterfactual_value)
    np.testing.assert_array_equal(values, expected_values)
    actual = layout.unpack(tables.best_response_plan)
    np.testing.assert_array_equal(actual[nonempty], expected[nonempty])


@every_game
def test_best_response_takes_the_first_of_equal_actions(game):
    form = sequence_form(game)
    layout, sigma = band_layout(form), form.uniform()
    tables = layout.new_tables(sigma, form.plans(sigma))
    for i in range(form.num_players):
        best_response(layout.bands, tables, i)
    response = cfr.Strategy.from_vector(form, layout.unpack(tables.best_response_plan))
    for row in response.values():
        assert list(row.values()) == [1.0] + [0.0] * (len(row) - 1)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("variant", ["cfr", "dcfr", "pcfr+"])
@every_game
def test_a_run_in_bands_equals_one_infoset_by_infoset(game, variant, update, monkeypatch):
    states = []
    for large in (0, math.inf):
        monkeypatch.setattr(plain, "LARGE", large)
        run = cfr.CFR(game, variant, update=update, delay=2).run(12, progress=False)
        assert (run._layout is None) == (large > 0)
        states.append(run._state())
    for name in states[0]:
        np.testing.assert_array_equal(states[0][name], states[1][name], name)


# ---- the order of sequences ----------------------------------------------------------------


@settings(max_examples=60)
@given(random_games | st.sampled_from(GAMES))
def test_bands_partition_infosets_by_player_depth_and_number_of_actions(game):
    form = sequence_form(game)
    layout, t = Layout(form), form.treeplexes
    b, original = layout.bands, np.empty(form.num_sequences, int)
    original[layout.place] = np.arange(form.num_sequences)  # the inverse permutation
    assert sorted(layout.place) == list(range(form.num_sequences))
    infosets = {int(start): I for I, start in enumerate(t.infoset_start)}
    keys, found = [], []
    for i in range(form.num_players):
        for level in range(b.player_levels[i], b.player_levels[i + 1]):
            for k in range(b.level_bands[level], b.level_bands[level + 1]):
                for j in range(b.band_size[k]):
                    I = infosets[original[b.band_start[k] + j]]
                    steps = b.band_size[k] * np.arange(b.band_actions[k])
                    row = original[b.band_start[k] + j + steps]
                    assert list(row) == list(range(t.infoset_start[I], t.infoset_stop[I]))
                    assert form.tree.infoset_player[I] == i
                    assert original[b.parent[b.band_infoset[k] + j]] == t.infoset_parent[I]
                    found.append(I)
                keys.append((i, level, int(b.band_actions[k])))
    assert sorted(found) == list(range(len(t.infoset_parent)))
    assert len(keys) == len(set(keys))  # no two bands could be merged


@pytest.mark.slow
def test_duplicate_leaf_rows_are_merged():
    """A die has six faces, but only two matter: the face of the bid, or another one."""
    form = sequence_form(LiarsDice())
    bands = band_layout(form).bands
    assert len(form.treeplexes.leaf_payoff) == 294_840
    assert len(bands.leaf_payoff) == 98_280
    assert form.num_sequences == 49_142
    assert list(np.diff(bands.player_sums)) == [8_191, 8_191]


def test_a_layout_is_built_once_per_game(leduc):
    assert cfr.CFR(leduc)._layout is cfr.CFR(leduc, "cfr+")._layout is not None


def test_a_game_without_decisions_can_be_solved():
    class Toss(cfr.Game):
        def node(self, h):
            if h:
                return cfr.Terminal((1, -1) if h == ("heads",) else (-1, 1))
            return cfr.Chance({"heads": 0.75, "tails": 0.25})

    solution = cfr.solve(Toss(), "cfr", 10, progress=False)
    assert math.isclose(solution.value, 0.5)
