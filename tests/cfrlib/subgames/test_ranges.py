"""Parts with ranges and value functions, against linear programs and whole games."""

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.games import KuhnPoker, LeducPoker
from cfrlib.subgames import ExactValues, Part, Subgame, continual, public_tree

LEDUC = LeducPoker(merge_suits=True)
PUBLIC = public_tree(LEDUC)
FLOPS = [s for s in PUBLIC.states if len(s.actions) > 1 and s.actions[-1] in ("J", "Q", "K")]
ONE = np.ones(3)


def test_values_of_ranges_are_those_of_the_linear_program():
    rng = np.random.default_rng(0)
    exact = ExactValues(PUBLIC, 3_000)
    for state in FLOPS:
        a, b = rng.dirichlet(ONE), rng.dirichlet(ONE)
        reach = PUBLIC.tree.chance_reach[state.histories]
        weights = reach * a[state.hand[0]] * b[state.hand[1]]
        value = cfr.solve_lp(Subgame(PUBLIC, state, weights)).value * weights.sum()
        first, second = exact([state], [(a, b)])[0]
        assert a @ first == pytest.approx(value, abs=1e-4)
        assert b @ second == pytest.approx(-value, abs=1e-4)


def test_values_of_a_fixed_strategy_are_best_responses():
    """From the deal on, the hands' values add up to the value of a best response."""
    part, sigma = Part(PUBLIC, PUBLIC.states[1]), cfr.Strategy.random(LEDUC, seed=3)
    found = part.values((ONE, ONE), sigma.values_by_sequence)
    for i in (0, 1):
        assert found[i].sum() == pytest.approx(
            cfr.best_response(LEDUC, sigma, i).value, abs=1e-12
        )


@pytest.mark.parametrize("game", [KuhnPoker(), LEDUC, LeducPoker()])
def test_the_whole_game_as_a_part(game):
    public = public_tree(game)
    state = public.states[0]
    one = np.ones(1)
    sigma = Part(public, state).solve((one, one), 1_000).sigma
    assert not np.isnan(sigma[1 : public.tree.player_sequences[1]]).any()
    sigma[np.isnan(sigma)] = 1.0  # the empty sequences
    form = cfr.Strategy.uniform(game)
    rows = {
        I: dict(zip(row, sigma[start : start + len(row)], strict=True))
        for (I, row), start in zip(form.items(), public.tree.infoset_start, strict=True)
    }
    assert cfr.exploitability(game, rows) < 1e-3


@pytest.mark.slow
def test_exact_values_replace_the_second_round():
    """With exact values at the horizon, continual re-solving approaches an equilibrium."""
    found, exact = [], ExactValues(PUBLIC, 100)
    for iterations in (30, 200):
        halves = [
            continual(LEDUC, i, iterations=iterations, horizon=FLOPS, values=exact)
            for i in (0, 1)
        ]
        rows = {I: halves[halves[0].player(I)][I] for I in halves[0]}
        found.append(cfr.exploitability(LEDUC, rows))
    assert found[1] < 0.04 < found[0] < 0.2


def test_a_part_that_ends_early_needs_values():
    part = Part(PUBLIC, PUBLIC.states[1], FLOPS)
    assert [end.label for end in part.ends] == [state.label for state in FLOPS]
    with pytest.raises(ValueError, match="ends early"):
        part.solve((ONE, ONE), 10)


def test_a_hand_that_may_stay_out_earns_at_least_that():
    part = Part(PUBLIC, FLOPS[0])
    out = np.array([10.0, -10.0, 10.0])  # hands 0 and 2 stay out: only hand 1 follows
    gated = part.solve((ONE, ONE), 2_000, alternatives=(np.empty(0), out))
    alone = part.solve((ONE, np.array([0.0, 1.0, 0.0])), 2_000)
    worth = [part.values((ONE, ONE), s.sigma)[1][1] for s in (gated, alone)]
    assert worth[0] == pytest.approx(worth[1], abs=1e-3)
