"""Metamorphic tests of CFR: two computations that must give the same strategy."""

import re
from math import inf

import numpy as np
import pytest
from toy_games import AfterCoin, Renamed, Shifted, Swapped, TableGame, random_game

import cfrlib as cfr
from cfrlib import Decision, Terminal, Variant
from cfrlib.cfr import UPDATES
from cfrlib.core.sequence import backup, behavior, sequence_form
from cfrlib.games import KuhnPoker, LeducPoker, MatrixGame

LEDUC = LeducPoker(merge_suits=True)
RANDOM = [random_game(seed, depth=6, zero_sum=seed % 2 == 0) for seed in (1, 3, 6, 8)]
TWO_PLAYERS = [KuhnPoker(), LEDUC, *RANDOM]
GAMES = [*TWO_PLAYERS, KuhnPoker(players=3), random_game(6, players=3, depth=6)]
# rounding grows with the discounts of linear and dcfr: see goldens.py
LENGTHS = {"cfr": 50, "cfr+": 50, "linear": 30, "dcfr": 30, "pcfr+": 50, "pdcfr+": 30}

every_game = pytest.mark.parametrize("game", GAMES, ids=repr)
every_game_of_two = pytest.mark.parametrize("game", TWO_PLAYERS, ids=repr)
every_variant = pytest.mark.parametrize("variant", cfr.VARIANTS)
every_update = pytest.mark.parametrize("update", UPDATES)


def assert_identical(one, other):
    """Check that the tables of two runs are identical to the last bit."""
    for name in ("regret", "sigma", "plan", "strategy_sum"):
        mine, theirs = getattr(one._tables, name), getattr(other._tables, name)
        np.testing.assert_array_equal(mine, theirs, name)


def instant_regrets(form, before, after):
    """Return r(I, a) = v(I, a) − v(I) of one alternating iteration.

    Player i's regrets are against the new strategies of earlier players and the old strategies
    of later ones.
    """
    t, profile = form.treeplexes, before.values_by_sequence.copy()
    r = np.zeros(form.num_sequences)
    for i in range(form.num_players):
        v = form.gradients(form.plans(profile))
        backup(t, i, profile, v)
        for I in range(*t.player_infosets[i : i + 2]):
            q = slice(t.infoset_start[I], t.infoset_stop[I])
            r[q] = v[q] - profile[q] @ v[q]
        own = slice(*t.player_sequences[i : i + 2])
        profile[own] = after.values_by_sequence[own]
    return r


def iterations(run, count):
    """Run one iteration at a time; yield t, instantaneous regrets and the previous sums."""
    for _ in range(count):
        before, regret = run.current, run.regrets.values_by_sequence.copy()
        run.run(1)
        yield run.iterations, instant_regrets(run._form, before, run.current), regret


# ---- variants ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("exponents", "name"),
    [
        ((inf, inf, 0), "cfr"),
        ((inf, -inf, 1), "cfr+"),
        ((1, 1, 1), "linear"),
        ((1.5, 0, 2), "dcfr"),
        ((inf, -inf, 2, 1), "pcfr+"),
        ((2.3, -inf, 5, 1), "pdcfr+"),
    ],
)
@every_game
def test_named_variants_equal_their_exponents(game, exponents, name):
    mine = cfr.CFR(game, Variant("mine", *exponents)).run(50)
    assert_identical(mine, cfr.CFR(game, name).run(50))


@pytest.mark.parametrize(("beta", "name"), [(60, "cfr"), (400, "cfr"), (-1100, "cfr+")])
@every_game
def test_huge_exponents_act_as_infinite_after_iteration_one(game, beta, name):
    """2^60 + 1 rounds to 2^60 and 2^-1100 to 0, but 1^e / (1^e + 1) is 1/2 for any finite e."""
    finite = cfr.CFR(game, Variant("finite", 60, beta, cfr.VARIANTS[name].gamma)).run(31)
    infinite = cfr.CFR(game, Variant("first", inf, inf, cfr.VARIANTS[name].gamma)).run(1)
    infinite._tables.regret[:] /= 2
    infinite.variant = cfr.VARIANTS[name]
    assert_identical(finite, infinite.run(30))


@every_game
def test_regrets_are_weighted_sums_of_instantaneous_regrets(game):
    """The discounts 1/2 · 2/3 · … of "linear" scale those of iteration t by t / (T + 1)."""
    for variant in ("cfr", "linear"):
        run, total = cfr.CFR(game, variant), 0.0
        for t, r, _ in iterations(run, 30):
            total += r if variant == "cfr" else t / 31 * r
        assert run.regrets.values_by_sequence == pytest.approx(total, abs=1e-11)


@every_game
def test_beta_zero_halves_negative_regrets(game):
    run, negative = cfr.CFR(game, Variant("half", inf, 0, 0)), 0
    for _, r, before in iterations(run, 20):
        wanted = np.where(before + r > 0, before + r, (before + r) / 2)
        assert run.regrets.values_by_sequence == pytest.approx(wanted, abs=1e-12)
        negative += np.count_nonzero(before + r < -0.01)
    assert negative > 0


@every_game
@pytest.mark.parametrize("strength", [0.25, 1])
def test_prediction_adds_the_latest_regret_to_the_stored_ones(game, strength):
    run, form = cfr.CFR(game, Variant("", inf, -inf, 2, strength)), sequence_form(game)
    for _, r, _ in iterations(run, 20):
        guess, wanted = run.regrets.values_by_sequence + strength * r, form.uniform()
        guess = np.maximum(guess, 0)
        guess[guess < 1e-13] = 0  # rounding must not decide where no regret is positive
        behavior(form.treeplexes, guess, wanted)
        assert run.current.values_by_sequence == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("second", [0.9, 0.95, 0.99])
def test_prediction_finds_the_best_action_sooner_under_fixed_payoffs(second):
    nodes = {(): Decision(0, "x", ("worst", "second", "best"))}
    nodes |= {("worst",): Terminal([0]), ("second",): Terminal([second])}
    game, found = TableGame(nodes | {("best",): Terminal([1])}, num_players=1), {}
    for variant in ("cfr+", "pcfr+"):
        run = cfr.CFR(game, variant).run(1)
        while run.current["x"]["best"] < 1:
            run.run(1)
        found[variant] = run.iterations
    assert 1 < found["pcfr+"] < found["cfr+"]


@every_game
def test_large_gamma_or_long_delay_averages_only_the_last_plan(game):
    """Compare plans: at infosets that the last plan never reaches, strategies may differ."""
    last = cfr.CFR(game, "cfr+").run(9).current.values_by_sequence
    wanted = sequence_form(game).plans(last)
    heavy = Variant("heavy", inf, -inf, gamma=300)  # 0.9^300 = 2e-14
    late = [cfr.CFR(game, Variant("late", inf, -inf, gamma), delay=9) for gamma in (0, 1)]
    for run in (cfr.CFR(game, heavy), *late):
        found = sequence_form(game).plans(run.run(10).average.values_by_sequence)
        assert found == pytest.approx(wanted, abs=1e-12)


# ---- equivalent games ----------------------------------------------------------------------


@pytest.mark.parametrize("deck", [(3, 2), (4, 2)])
@every_variant
def test_merging_suits_leaves_leduc_runs_unchanged(variant, deck):
    suited, merged = (
        cfr.CFR(LeducPoker(*deck, merge_suits=merge), variant).run(LENGTHS[variant])
        for merge in (False, True)
    )
    # e.g. "Js check-bet-call Qh" is "J check-bet-call Q"
    tolerance = 1e-9 if LENGTHS[variant] == 50 else 1e-6
    merged_average = merged.average
    for label, row in suited.average.items():
        alike = merged_average[re.sub(r"\b(.)[shd]\b", r"\1", label)]
        assert row == pytest.approx(alike, abs=tolerance)
    assert suited.trace.exploitability == pytest.approx(merged.trace.exploitability, abs=1e-9)
    assert suited.trace.value == pytest.approx(merged.trace.value, abs=1e-9)


@pytest.mark.parametrize("deck", [(2, 2), (2, 3), (2, 4), (3, 3)])
def test_merging_suits_leaves_the_value_of_leduc_unchanged(deck):
    suited, merged = (cfr.solve_lp(LeducPoker(*deck, merge_suits=m)) for m in (False, True))
    assert suited.value == pytest.approx(merged.value, abs=1e-9)


@every_variant
@every_update
@every_game
def test_renaming_leaves_tables_identical(game, update, variant):
    plain = cfr.CFR(game, variant, update=update).run(20)
    assert_identical(plain, cfr.CFR(Renamed(game), variant, update=update).run(20))


@every_variant
def test_action_order_does_not_matter_in_leduc(variant):
    plain = cfr.CFR(LEDUC, variant).run(LENGTHS[variant])
    reversed_ = cfr.CFR(Renamed(LEDUC, reverse=True), variant).run(LENGTHS[variant])
    assert reversed_.trace.exploitability == pytest.approx(plain.trace.exploitability, abs=1e-9)
    average = reversed_.average
    for label, row in plain.average.items():
        found = {a: p for (_, a), p in average[f"new {label}"].items()}
        assert found == pytest.approx(row, abs=1e-6)


@every_variant
@every_game
def test_payoff_shifts_change_only_the_value(game, variant):
    constants = (1.5, -0.7, 3.0)[: game.num_players]
    plain, shifted = (
        cfr.CFR(g, variant).run(LENGTHS[variant]) for g in (game, Shifted(game, constants))
    )
    assert shifted.regrets.values_by_sequence == pytest.approx(
        plain.regrets.values_by_sequence, abs=1e-6
    )
    assert shifted.trace.exploitability == pytest.approx(plain.trace.exploitability, abs=1e-9)
    assert shifted.trace.value == pytest.approx(1.5 + plain.trace.value, abs=1e-9)


@pytest.mark.parametrize("seen_by", [(), (0,), (1,), (0, 1)])
@every_variant
@every_game_of_two
def test_irrelevant_coin_flip_changes_nothing(game, variant, seen_by):
    plain = cfr.CFR(game, variant).run(LENGTHS[variant])
    coin = cfr.CFR(AfterCoin(game, seen_by), variant).run(LENGTHS[variant])
    assert coin.trace.exploitability == pytest.approx(plain.trace.exploitability, abs=1e-9)
    assert coin.trace.value == pytest.approx(plain.trace.value, abs=1e-9)


@every_variant
@every_game_of_two
def test_player_order_does_not_matter_with_simultaneous_updates(game, variant):
    plain, swapped = (
        cfr.CFR(g, variant, update="simultaneous").run(50) for g in (game, Swapped(game))
    )
    assert dict(swapped.average) == dict(plain.average)
    assert dict(swapped.current) == dict(plain.current)
    assert dict(swapped.regrets) == dict(plain.regrets)


@every_variant
@pytest.mark.parametrize("seed", range(3))
def test_symmetric_game_gives_both_players_the_same_strategy(seed, variant):
    """The payoff matrix is antisymmetric, so swapping the players changes nothing."""
    a = np.random.default_rng(seed).normal(size=(6, 6))
    run = cfr.CFR(MatrixGame(a - a.T), variant, update="simultaneous").run(50)
    for table in (run.average, run.current, run.regrets):
        rows, columns = table["player 0"].values(), table["player 1"].values()
        assert list(rows) == list(columns)
    assert run.solution().value == pytest.approx(0, abs=1e-14)
