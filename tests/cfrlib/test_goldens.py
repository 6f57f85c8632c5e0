"""Every solver reproduces the golden numbers in tests/support/goldens.json."""

import numpy as np
import pytest
from goldens import GOLDENS, RUNS, SIXTY_DIGITS, UNSTABLE, misses, number, row

import cfrlib as cfr
from cfrlib.games import (
    Coyote,
    KuhnPoker,
    LeducPoker,
    LiarsDice,
    RockPaperScissors,
    kuhn_equilibrium,
)

COYOTE = "coyote simplified, 2 players, full deck, '?' resolved at once"
VALUES = {
    **{f"kuhn cards={n}": KuhnPoker(n) for n in (3, 4, 5, 6, 10, 13)},
    **{f"liars_dice faces={n}": LiarsDice(n) for n in (2, 3, 4)},
    **{"leduc": LeducPoker(), "biased_rps": RockPaperScissors(3), COYOTE: Coyote()},
}


def exploitability_at(game, name, wanted):
    variant, update = RUNS[name]
    run, found = cfr.CFR(game, variant, update=update), {}
    for t in sorted(wanted):
        run.run(t - run.iterations)
        found[t] = cfr.exploitability(game, run.average)
    return found


def test_goldens_cover_all_runs():
    for game in ("kuhn", "leduc"):
        assert set(GOLDENS["exploitability"][game]) == set(RUNS)
        assert all(set(row(game, name)) == {2, 5, 10, 100} for name in RUNS)


@pytest.mark.parametrize("name", RUNS)
def test_kuhn_exploitability_matches_goldens(kuhn, name):
    wanted = row("kuhn", name)
    assert misses(exploitability_at(kuhn, name, wanted), wanted) == []


@pytest.mark.parametrize("name", [name for name in RUNS if name not in SIXTY_DIGITS])
def test_leduc_exploitability_matches_goldens(leduc, name):
    wanted = row("leduc", name)
    assert misses(exploitability_at(leduc, name, wanted), wanted) == []


@pytest.mark.parametrize("name", SIXTY_DIGITS)
def test_leduc_matches_sixty_digit_goldens(leduc, name):
    wanted = row("leduc", name, up_to=10) | SIXTY_DIGITS[name]
    assert misses(exploitability_at(leduc, name, wanted), wanted) == []
    last = {100: row("leduc", name)[100]}
    assert misses(exploitability_at(leduc, name, last), last, UNSTABLE[name]) == []


def test_golden_comparison_detects_errors():
    wanted = row("kuhn", "cfr")
    assert misses({**wanted, 10: wanted[10] + 2e-9}, wanted) == [10]
    assert misses({**wanted, 5: float("nan")}, wanted) == [5]


@pytest.mark.parametrize("name", RUNS)
def test_solution_and_trace_report_golden_exploitability(kuhn, name):
    variant, update = RUNS[name]
    solution = cfr.solve(kuhn, variant, 100, update=update)
    assert solution.exploitability == pytest.approx(row("kuhn", name)[100], abs=1e-9)
    assert solution.nash_conv == pytest.approx(2 * solution.exploitability, abs=1e-15)
    trace = dict(zip(solution.trace.iterations, solution.trace.exploitability, strict=True))
    checkpoints = {t: e for t, e in row("kuhn", name).items() if t in (2, 10, 100)}
    assert misses({t: trace[t] for t in checkpoints}, checkpoints) == []


def game_of(name):
    """Return the game of a golden, such as "kuhn players=3"."""
    if name.startswith("kuhn"):
        option, n = name.split()[1].split("=")
        return KuhnPoker(**{option: int(n)})
    return VALUES[name]


@pytest.mark.parametrize("name", GOLDENS["uniform_nash_conv"])
def test_nash_conv_of_uniform(name):
    wanted, game = number(GOLDENS["uniform_nash_conv"][name]), game_of(name)
    uniform = cfr.Strategy.uniform(game)
    assert cfr.nash_conv(game, uniform) == pytest.approx(wanted, abs=1e-12)
    each = wanted / game.num_players
    assert cfr.exploitability(game, uniform) == pytest.approx(each, abs=1e-12)


LARGE = [pytest.param(name, marks=pytest.mark.slow) for name in ("leduc", COYOTE)]


@pytest.mark.parametrize("name", [*list(VALUES)[:-3], "biased_rps", *LARGE])
def test_lp_solves_each_game_to_its_golden_value(name):
    wanted = number(GOLDENS["game_value_player_0"][name])
    solution = cfr.solve_lp(VALUES[name])
    tolerance = 5e-5 if name == COYOTE else 1e-9  # the golden of Coyote has four digits
    assert solution.value == pytest.approx(wanted, abs=tolerance)
    assert cfr.exploitability(VALUES[name], solution.strategy) == pytest.approx(0, abs=1e-9)


def test_lp_value_of_leduc_without_suits():
    value = cfr.solve_lp(LeducPoker(merge_suits=True)).value
    assert value == pytest.approx(GOLDENS["game_value_player_0"]["leduc"], abs=1e-9)


def test_equilibrium_of_biased_rock_paper_scissors():
    game = RockPaperScissors(3)
    solution = cfr.solve_lp(game)
    equilibrium = GOLDENS["equilibria"]["biased_rps"]
    for player in (0, 1):
        found = solution.strategy[f"player {player}"]
        for a, p in found.items():
            assert p == pytest.approx(equilibrium[a[0].upper()], abs=1e-12)
    assert cfr.solve(game, "cfr+", 10_000).strategy.max_difference(solution.strategy) < 1e-3


# The goldens count OpenSpiel's histories, which deal one card at a time. cfrlib deals in one
# step, so it lacks those in which only some players hold a card. Each row says how many.
SIZES = {
    "kuhn": (KuhnPoker(), 0),
    "kuhn players=3": (KuhnPoker(players=3), 4 + 12),
    "leduc": (LeducPoker(), 6),
    "liars_dice faces=6": (LiarsDice(), 6),
}


DICE = pytest.param("liars_dice faces=6", marks=pytest.mark.slow)


@pytest.mark.parametrize("name", ["kuhn", "kuhn players=3", "leduc", DICE])
def test_sizes(name):
    game, dealing = SIZES[name]
    tree, wanted = cfr.compile(game), GOLDENS["sizes"][name]
    found = {
        "histories": tree.num_histories + dealing,
        "terminals": tree.num_terminals,
        "infosets": tree.num_infosets,
        "sequences_nonempty": tree.player_sequences[-1] - tree.num_players,
    }
    assert wanted.items() <= found.items()


def test_every_golden_is_tested():
    """Every entry of goldens.json is used above."""
    assert set(GOLDENS["game_value_player_0"]) == set(VALUES)
    assert set(GOLDENS["sizes"]) == {*SIZES, "note"}
    assert set(GOLDENS["equilibria"]) == {"kuhn", "biased_rps"}
    assert set(GOLDENS["exploitability"]) == {"kuhn", "leduc"}
    assert set(GOLDENS) == {
        "about", "exploitability", "uniform_nash_conv", "game_value_player_0", "sizes",
        "equilibria", "morikatron_table",
    }  # fmt: skip


@pytest.mark.slow
def test_morikatron_table_is_reproduced(kuhn):
    wanted = GOLDENS["morikatron_table"]
    solution = cfr.solve(kuhn, "cfr", wanted["iterations"], update="simultaneous")
    found = {
        "alpha": solution.strategy["J"]["bet"],
        "J bets after check": solution.strategy["J check"]["bet"],
        "Q calls a bet": solution.strategy["Q bet"]["call"],
        "Q calls after check-bet": solution.strategy["Q check-bet"]["call"],
        "K bets first": solution.strategy["K"]["bet"],
    }
    found |= {"exploitability": solution.exploitability, "value": solution.value}
    assert set(found) | {"iterations", "update"} == set(wanted)
    for name, p in found.items():
        assert p == pytest.approx(wanted[name], abs=5e-9), name


@pytest.mark.parametrize("alpha", np.linspace(0, 1 / 3, 7))
def test_kuhn_closed_form_is_an_equilibrium(kuhn, alpha):
    strategy = kuhn_equilibrium(kuhn, alpha)
    assert cfr.exploitability(kuhn, strategy) == pytest.approx(0, abs=1e-15)
    assert cfr.expected_utility(kuhn, strategy) == pytest.approx([-1 / 18, 1 / 18], abs=1e-15)
    assert strategy["J"]["bet"] == alpha


@pytest.mark.parametrize("alpha", [0.34, 0.4])
def test_kuhn_closed_form_fails_beyond_alpha_one_third(kuhn, alpha):
    strategy = kuhn_equilibrium(kuhn, 1 / 3).replace({"J": {"bet": alpha, "check": 1 - alpha}})
    assert cfr.exploitability(kuhn, strategy) > 1e-3
