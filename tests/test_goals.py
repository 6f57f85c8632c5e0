"""A run stops where it is told to, averages what it is told to, and knows its best."""

import itertools
import json
import re

import numpy as np
import pytest

import cfrlib as cfr
import cfrlib.run as module
from cfrlib.core.sequence import backup, behavior
from cfrlib.games import KuhnPoker, LeducPoker, MatrixGame, RockPaperScissors

# ---- until, seconds ------------------------------------------------------------------------


@pytest.mark.parametrize(("variant", "until"), [("cfr", 1e-2), ("cfr+", 1e-4), ("pcfr+", 1e-9)])
def test_until_stops_once_the_average_is_good_enough(kuhn, variant, until):
    solution = cfr.solve(kuhn, variant, until=until)
    assert solution.exploitability <= until
    assert cfr.exploitability(kuhn, solution.strategy) == solution.exploitability
    earlier = solution.iterations * 20 // 21 - 1  # the look before this one
    assert cfr.solve(kuhn, variant, earlier).exploitability > until


def test_until_reached_already_costs_one_iteration(kuhn):
    run = cfr.CFR(kuhn, "cfr+").run(1_000)
    assert run.run(until=0.1).iterations == 1_001


def test_the_first_limit_wins(kuhn):
    with pytest.warns(RuntimeWarning, match=r"until=1e-12 was not reached in 50 iterations"):
        assert cfr.solve(kuhn, "cfr", 50, until=1e-12).iterations == 50
    assert cfr.solve(kuhn, "cfr", 50, seconds=3_600).iterations == 50
    assert cfr.solve(kuhn, "cfr", 10_000, until=1e-2, seconds=3_600).iterations < 100
    assert cfr.solve(kuhn, "cfr").iterations == 1_000


def test_until_alone_gives_up(kuhn, monkeypatch):
    monkeypatch.setattr(module, "PATIENCE", 200)
    with pytest.warns(RuntimeWarning, match="another variant"):
        assert cfr.solve(kuhn, until=1e-9).iterations == 200


def test_seconds_end_a_run_that_would_go_on(kuhn, monkeypatch):
    """By a clock that goes on a millisecond whenever it is read."""
    reads = itertools.count()
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(reads) / 1_000)
    run = cfr.CFR(kuhn).run(seconds=0.05)
    assert 50 <= next(reads) < 70
    assert run.iterations > 1
    assert cfr.CFR(kuhn).run(run.iterations).average.max_difference(run.average) == 0


@pytest.mark.slow
def test_the_bar_shows_what_the_run_aims_at(kuhn, capsys, monkeypatch):
    monkeypatch.setattr(module, "BAR_DELAY", 0.0)
    cfr.CFR(kuhn).run(seconds=0.3)
    assert "of 0.3 s" in capsys.readouterr().err
    with pytest.warns(RuntimeWarning, match="not reached"):
        cfr.solve(kuhn, "cfr", until=1e-9, seconds=0.4)
    shown = capsys.readouterr().err
    assert re.search(r"exploitability \d\.\d\de-\d\d → 1e-09, \d+ of 0.4 s", shown)
    assert "%" not in shown  # nobody knows how many iterations it will take


@pytest.mark.parametrize("limit", ["until", "seconds"])
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf")])
def test_limits_are_positive(kuhn, limit, value):
    with pytest.raises(ValueError, match=f"{limit} must be a number above 0"):
        cfr.solve(kuhn, **{limit: value})


# ---- averaging delay -----------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["cfr", "cfr+", "dcfr"])
@pytest.mark.parametrize("delay", [0, 1, 7])
def test_the_average_is_the_sum_of_weighted_plans(kuhn, variant, delay):
    """Of the plans played, iteration by iteration: Σ max(t − d, 0)^γ x^t, then by infoset."""
    run, gamma = cfr.CFR(kuhn, variant, delay=delay), cfr.VARIANTS[variant].gamma
    one = cfr.CFR(kuhn, variant)
    total, form = np.zeros(run._form.num_sequences), run._form
    for t in range(1, 21):
        # alternating: a player's plan is averaged before the player's own update
        plan = one._layout.unpack(one._tables.plan)
        one.run(1)
        run.run(1)
        total += max(t - delay, 0) ** gamma * plan if t > delay else 0
    wanted = np.empty_like(total)
    behavior(form.treeplexes, total, wanted)
    assert run.average.values_by_sequence == pytest.approx(wanted, abs=1e-14)
    assert run.current.max_difference(one.current) == 0


def test_until_the_delay_is_over_the_average_is_uniform(kuhn):
    run = cfr.CFR(kuhn, "cfr+", delay=10).run(10)
    assert run.average.max_difference(cfr.Strategy.uniform(kuhn)) == 0
    first = run.current
    assert run.run(1).average.max_difference(first) < 1e-15


def test_delay_is_told_and_kept(tmp_path, kuhn):
    run = cfr.CFR(kuhn, "cfr+", delay=5).run(30)
    assert repr(run).startswith("CFR(KuhnPoker(), 'cfr+', update='alternating', delay=5)")
    assert "alternating updates, averaged after 5" in repr(run.solution())
    run.save(tmp_path / "run.npz")
    again = cfr.CFR.load(tmp_path / "run.npz", kuhn).run(10)
    assert again.average.max_difference(run.run(10).average) == 0


@pytest.mark.parametrize("delay", [-1, 1.5, "2"])
def test_bad_delays(kuhn, delay):
    with pytest.raises(ValueError, match="delay must be a whole number"):
        cfr.CFR(kuhn, delay=delay)


# ---- last iterate, best so far -------------------------------------------------------------


def test_the_solution_reports_last_iterate_average_and_best():
    game = LeducPoker(merge_suits=True)
    solution = cfr.solve(game, "cfr+", 200)
    for strategy, e in (
        (solution.strategy, solution.exploitability),
        (solution.current, solution.current_exploitability),
        (solution.best, solution.best_exploitability),
    ):
        assert cfr.exploitability(game, strategy) == e
    trace = solution.trace
    assert solution.best_exploitability == trace.best[-1] == trace.best.min()
    assert trace.best[-1] == min(trace.exploitability.min(), trace.current.min())
    assert trace.current[-1] == solution.current_exploitability
    text = repr(solution)
    assert f"of last iterate  {solution.current_exploitability:.3e}" in text
    assert f"of best so far   {solution.best_exploitability:.3e}" in text


def test_the_best_may_be_an_earlier_strategy():
    run = cfr.CFR(RockPaperScissors(3), "cfr+", update="simultaneous").run(200)
    solution, trace = run.solution(), run.trace
    assert solution.best_exploitability < 0.99 * min(
        trace.exploitability[-1], trace.current[-1]
    )
    assert cfr.exploitability(run.game, solution.best) == trace.best[-1]
    assert len(set(trace.best)) < len(trace)  # it stays until it is beaten
    assert (np.diff(trace.best) <= 0).all()


# ---- CFR-BR --------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["cfr", "cfr+"])
def test_cfr_br_answers_best_responses(kuhn, variant):
    """One iteration from the definition: each player's regrets against the other's reply."""
    run = cfr.CFR(kuhn, variant, update="best response").run(6)
    before, regrets = run.current, run.regrets.values_by_sequence.copy()
    run.run(1)
    form = run._form
    for i in (0, 1):
        profile = cfr.best_response(kuhn, before, 1 - i).strategy
        v = form.gradients(form.plans(profile.values_by_sequence))
        backup(form.treeplexes, i, profile.values_by_sequence, v)
        for I in range(*form.treeplexes.player_infosets[i : i + 2]):
            q = slice(form.treeplexes.infoset_start[I], form.treeplexes.infoset_stop[I])
            r = regrets[q] + v[q] - before.values_by_sequence[q] @ v[q]
            r = np.maximum(r, 0) if variant == "cfr+" else r
            assert run.regrets.values_by_sequence[q] == pytest.approx(r, abs=1e-13)


def test_cfr_br_converges_even_in_its_last_iterate(kuhn):
    solution = cfr.solve(kuhn, "cfr+", 20_000, update="best response")
    assert solution.exploitability < 2e-3
    assert solution.current_exploitability < 2e-2
    assert solution.nodes == 20_000 * 4 * 55
    assert "cfr+, best-response updates" in repr(solution)


def test_cfr_br_bounds_the_regret_of_each_player():
    """Against best responses the average of a player is at most R_i / T from maximin."""
    game = LeducPoker(merge_suits=True)
    value = cfr.solve_lp(game).value
    average = cfr.solve(game, "cfr", 2_000, update="best response").strategy
    guaranteed = [
        -cfr.best_response(game, average, 1).value,
        -cfr.best_response(game, average, 0).value,
    ]
    assert guaranteed[0] <= value + 1e-9
    assert guaranteed[1] <= -value + 1e-9
    assert sum(guaranteed) > -0.2


# ---- save and load -------------------------------------------------------------------------

GAMES = [KuhnPoker(), KuhnPoker(players=3), MatrixGame([[1, 0], [0, 2]], [[3, 0], [0, 1]])]


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_a_strategy_loads_back_equal(tmp_path, game):
    strategy, path = cfr.solve(game, "dcfr", 37).strategy, tmp_path / "s.npz"
    strategy.save(path)
    loaded = cfr.Strategy.load(path, game)
    assert loaded.max_difference(strategy) == 0
    assert loaded == strategy
    assert repr(loaded) == repr(strategy)


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_a_solution_loads_back_equal(tmp_path, game):
    solution, path = cfr.solve(game, "dcfr", 37, delay=3), tmp_path / "s.npz"
    solution.save(str(path))
    loaded = cfr.Solution.load(str(path), game)
    for name, mine, theirs in zip(solution._fields, solution, loaded, strict=True):
        if name == "trace":
            np.testing.assert_array_equal(mine.rows, theirs.rows)
        else:
            assert mine == theirs, name
    assert repr(loaded) == repr(solution)
    assert loaded._repr_html_() == solution._repr_html_()


SAVED = {
    "strategy": (lambda game: cfr.Strategy.uniform(game), cfr.Strategy),
    "solution": (lambda game: cfr.solve(game, iterations=5), cfr.Solution),
    "run": (lambda game: cfr.CFR(game).run(5), cfr.CFR),
}


@pytest.mark.parametrize("noun", SAVED)
@pytest.mark.parametrize("other", [KuhnPoker(4), RockPaperScissors()], ids=repr)
def test_files_of_another_game_are_refused(tmp_path, kuhn, noun, other):
    make, kind = SAVED[noun]
    make(kuhn).save(tmp_path / "file.npz")
    with pytest.raises(ValueError, match=rf"a {noun} of KuhnPoker\(\), not of .* load it with"):
        kind.load(tmp_path / "file.npz", other)


@pytest.mark.parametrize("noun", SAVED)
@pytest.mark.parametrize("wanted", SAVED)
def test_files_of_another_kind_are_refused(tmp_path, kuhn, noun, wanted):
    if noun != wanted:
        SAVED[noun][0](kuhn).save(tmp_path / "file.npz")
        with pytest.raises(
            ValueError, match=rf"not a complete file .* save the {wanted} again"
        ):
            SAVED[wanted][1].load(tmp_path / "file.npz", kuhn)


@pytest.mark.parametrize("noun", SAVED)
def test_damaged_files_are_refused(tmp_path, kuhn, noun):
    make, kind = SAVED[noun]
    path = tmp_path / "file.npz"
    make(kuhn).save(path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 997):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="is not a complete file"):
            kind.load(path, kuhn)


@pytest.mark.parametrize("noun", ["strategy", "solution"])
def test_probabilities_in_a_file_are_checked(tmp_path, kuhn, noun):
    make, kind = SAVED[noun]
    path = tmp_path / "file.npz"
    make(kuhn).save(path)
    with np.load(path) as file:
        arrays = dict(file)
    arrays["strategy"][3] += 0.1
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match="not probabilities"):
        kind.load(path, kuhn)


def test_a_saved_strategy_can_be_read_without_cfrlib(tmp_path, kuhn):
    """The documented form: a header in JSON that names infosets, an array by sequence."""
    strategy = cfr.solve(kuhn, iterations=50).strategy
    strategy.save(tmp_path / "s.npz")
    with np.load(tmp_path / "s.npz", allow_pickle=False) as file:
        header, p = json.loads(str(file["header"])), file["strategy"].tolist()
    assert header["format"] == "cfrlib.Strategy 1"
    assert header["game"] == "KuhnPoker()"
    found, at, owner = {}, 0, -1
    for player, label, actions in header["infosets"]:
        at += player - owner  # the empty sequence of each player
        owner = player
        found[label] = dict(zip(actions, p[at : at + len(actions)], strict=True))
        at += len(actions)
    assert found == dict(strategy)
    assert at == len(p)
