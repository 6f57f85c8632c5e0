"""Gadget games and solving again, against linear programs and the promises of the theorems."""

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.games import KuhnPoker, LeducPoker
from cfrlib.subgames import (
    Gadget,
    MaxMargin,
    Subgame,
    biased,
    continual,
    depth_limited,
    public_tree,
    resolve,
    trunk,
)
from koikoi import MiniKoiKoi

LEDUC = LeducPoker(merge_suits=True)
PUBLIC = public_tree(LEDUC)
FLOPS = [s for s in PUBLIC.states if len(s.actions) > 1 and s.actions[-1] in ("J", "Q", "K")]


def joined(first, second):
    """Player 0's part of one strategy and player 1's of another."""
    rows = {I: (first, second)[first.player(I)][I] for I in first}
    return cfr.Strategy(first.game, rows)


def blueprint(iterations, variant="cfr+"):
    return cfr.solve(LEDUC, variant, iterations, progress=False).strategy


def alternatives(state, way, opponent):
    total = state.by_hand(opponent, way.weights[state.histories])
    earned = state.by_hand(opponent, (way.weights * way.values)[state.histories])
    return earned / total


@pytest.mark.parametrize("player", [0, 1])
def test_gadget_has_the_value_of_its_alternatives(player):
    """Exact blueprint: the value of the gadget game is Σ w(c) out(c), by the linear program."""
    exact, j = cfr.solve_lp(LEDUC).strategy, 1 - player
    way = trunk(LEDUC, exact, player)
    for state in FLOPS[::4]:
        weights = way.weights[state.histories]
        if weights.sum() > 0 and (state.by_hand(j, weights) > 0).all():
            out = alternatives(state, way, j)
            value = cfr.solve_lp(Gadget(PUBLIC, state, weights, j, out)).value
            mean = state.by_hand(j, weights) @ out / weights.sum()
            assert (value, -value)[j] == pytest.approx(mean, abs=1e-7)
            margin = cfr.solve_lp(MaxMargin(PUBLIC, state, weights, j, out)).value
            assert (margin, -margin)[j] <= 1e-7


@pytest.mark.parametrize("method", ["gadget", "maxmargin"])
@pytest.mark.parametrize("reach", [False, True])
@pytest.mark.parametrize("start", [3, 30, 300, "exact"])
def test_safe_methods_do_no_harm(method, reach, start):
    """The best response earns no more than before, up to the solver's error."""
    before = cfr.solve_lp(LEDUC).strategy if start == "exact" else blueprint(start)
    for i in (0, 1):
        after = resolve(LEDUC, before, i, FLOPS, method, reach=reach, iterations=3_000)
        worth = [cfr.best_response(LEDUC, s, 1 - i).value for s in (before, after)]
        assert worth[1] <= worth[0] + 2e-3


def test_unsafe_solving_harms_an_equilibrium():
    exact = cfr.solve_lp(LEDUC).strategy
    one, two = (resolve(LEDUC, exact, i, FLOPS, "unsafe") for i in (0, 1))
    assert cfr.exploitability(LEDUC, joined(one, two)) > 0.02


def test_only_the_solving_player_changes():
    before = blueprint(10)
    after = resolve(LEDUC, before, 0, FLOPS)
    assert {after.player(I) for I in after if after[I] != before[I]} == {0}


@pytest.mark.slow
def test_secret_information_of_koi_koi():
    """In a game whose public states are not those of poker: safe, and unsafe harms."""
    game = MiniKoiKoi.K8()
    fair = cfr.solve(game, "cfr+", 1_000, progress=False).strategy
    tree, states = cfr.compile(game), public_tree(game).states
    new = (tree.player == 1) & (tree.sequence[:, 1] == tree.player_sequences[1])
    first = [s for s in states if new[s.histories].all()]
    worth = {"before": cfr.best_response(game, fair, 0).value}
    for method in ("unsafe", "gadget"):
        after = resolve(game, fair, 1, first, method)
        worth[method] = cfr.best_response(game, after, 0).value
    assert worth["gadget"] < worth["before"] + 1e-3 < worth["unsafe"]


@pytest.mark.parametrize(
    "game, bound", [(KuhnPoker(), 1e-3), (LEDUC, 2e-3), (KuhnPoker(4), 1e-3)]
)
def test_continual_resolving_converges(game, bound):
    one, two = (continual(game, i, iterations=1_000) for i in (0, 1))
    assert cfr.exploitability(game, joined(one, two)) < bound


def test_continual_resolving_without_gates_does_not():
    for game in (KuhnPoker(), LEDUC):
        one, two = (continual(game, i, safe=False, iterations=1_000) for i in (0, 1))
        assert cfr.exploitability(game, joined(one, two)) > 0.05


def test_depth_limit_with_the_whole_opponent():
    """Against an exact blueprint and a best response, the beginning is as good as it was."""
    exact = cfr.solve_lp(LEDUC).strategy
    only = joined(*(depth_limited(LEDUC, exact, i, FLOPS) for i in (0, 1)))
    bias = [biased(exact, a, 1e6) for a in (["fold"], ["call", "check"], ["bet", "raise"])]
    four = joined(*(depth_limited(LEDUC, exact, i, FLOPS, bias) for i in (0, 1)))
    assert cfr.exploitability(LEDUC, only) > 10 * cfr.exploitability(LEDUC, four)


def test_no_limit_at_all():
    """With the depth limit after the last decision, the whole game is solved."""
    game = KuhnPoker()
    uniform = cfr.Strategy.uniform(game)
    one, two = (depth_limited(game, uniform, i, []) for i in (0, 1))
    assert cfr.exploitability(game, joined(one, two)) < 1e-3


@pytest.mark.slow
def test_weights_are_checked():
    state = FLOPS[0]
    for weights in (np.ones(3), -np.ones(8), np.zeros(8)):
        with pytest.raises(ValueError, match="weight"):
            Subgame(PUBLIC, state, weights)
    with pytest.raises(ValueError, match="alternative value"):
        Gadget(PUBLIC, state, np.ones(8), 1, [0, 0])
    with pytest.raises(ValueError, match="unknown method"):
        resolve(LEDUC, blueprint(3), 0, FLOPS, "hope")
