"""Tests of `CFR` runs: results are snapshots, traces, display, averaging delay, CFR-BR."""

import re
from collections import Counter

import numpy as np
import pytest
from toy_games import TableGame

import cfrlib as cfr
import cfrlib.cfr as cfr_module
import cfrlib.regret as regret_module
import cfrlib.run as run_module
from cfrlib import Decision, Terminal
from cfrlib.cfr import UPDATES
from cfrlib.core import sequence
from cfrlib.core.jit import interpreted
from cfrlib.core.sequence import backup, behavior
from cfrlib.games import KuhnPoker, LeducPoker
from cfrlib.regret import Rule

# ---- solutions are snapshots ---------------------------------------------------------------


def test_solution_is_unchanged_by_further_iterations(kuhn):
    run = cfr.CFR(kuhn).run(10)
    solution, average, regrets, trace = run.solution(), run.average, run.regrets, run.trace
    before = repr((solution, average, dict(regrets), trace, solution._repr_html_()))
    run.run(1_000)
    assert repr((solution, average, dict(regrets), trace, solution._repr_html_())) == before
    assert run.average.max_difference(average) > 0.01


def test_tables_are_read_only(kuhn):
    run = cfr.CFR(kuhn).run(10)
    for table in (run.average, run.current, run.regrets, cfr.Strategy.uniform(kuhn)):
        with pytest.raises(ValueError, match="read-only"):
            table.values_by_sequence[0] = 2
    run.average["J"]["bet"] = 99  # a row is a copy
    assert run.average["J"]["bet"] < 1


def test_solve_equals_cfr_run(kuhn):
    solution, run = cfr.solve(kuhn, "dcfr", 200), cfr.CFR(kuhn, "dcfr").run(200)
    assert solution.strategy.max_difference(run.average) == 0
    assert solution.current.max_difference(run.current) == 0
    assert solution.iterations == 200
    assert solution.nash_conv == cfr.nash_conv(kuhn, run.average)
    assert solution.exploitability == cfr.exploitability(kuhn, run.average)
    assert solution.value == cfr.expected_utility(kuhn, run.average)[0]


def test_initial_strategies_are_uniform(kuhn):
    run, uniform = cfr.CFR(kuhn), cfr.Strategy.uniform(kuhn)
    assert run.average.max_difference(uniform) == run.current.max_difference(uniform) == 0
    assert len(run.trace) == run.iterations == run.gradients == 0
    assert run.solution().gradients == 0
    assert run.solution().nash_conv == pytest.approx(11 / 12)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("game", [KuhnPoker(), KuhnPoker(players=3)])
def test_a_run_counts_the_gradients_that_it_computes(game, update):
    kernels, computed = interpreted(sequence, regret_module, cfr_module), []
    gradient = kernels["gradient"]
    kernels["gradient"] = lambda *args: (computed.append(args[1]), gradient(*args))
    run = cfr.CFR(game, update=update)
    rule = Rule.of(run.variant, update, 0)
    kernels["iterate"](run._form.treeplexes, run._tables, rule, 1, 3, None)
    each = 2 if update == "best response" else 1  # a response is a gradient too
    assert Counter(computed) == dict.fromkeys(range(game.num_players), 3 * each)
    assert run.gradients == len(computed)
    assert run.average == cfr.CFR(game, update=update).run(3).average


def test_work_is_counted_in_gradients_or_in_nodes(kuhn):
    full = cfr.solve(kuhn, iterations=10)
    run = cfr.MCCFR(kuhn, seed=0).run(9)
    sampled = run.solution()
    assert full.gradients == full.trace.gradients[-1] == 10 * 2
    assert sampled.nodes == sampled.trace.nodes[-1] == run.nodes
    for wrong in (full, full.trace, sampled, sampled.trace):
        other = "nodes" if wrong in (full, full.trace) else "gradients"
        with pytest.raises(AttributeError, match=f"not in {other}"):
            getattr(wrong, other)


def test_solve_handles_no_decisions_and_one_player():
    end = cfr.solve(TableGame({(): Terminal((3, -3))}), iterations=5)
    assert (end.value, end.exploitability, len(end.strategy)) == (3, 0, 0)
    nodes = {(): Decision(0, "x", "ab"), ("a",): Terminal([1]), ("b",): Terminal([2])}
    alone = cfr.solve(TableGame(nodes, num_players=1), "cfr+", 1_000)
    assert alone.strategy["x"]["b"] > 0.99
    assert alone.nash_conv == pytest.approx(2 - alone.value, abs=1e-12)


# ---- trace and progress --------------------------------------------------------------------


def test_trace_has_eight_checkpoints_per_decade(kuhn):
    trace = cfr.CFR(kuhn).run(1_000).trace
    decade = [100, 133, 178, 237, 316, 422, 562, 750, 1000]
    assert trace.iterations.tolist() == [
        1, 2, 3, 4, 6, 7, 10, 13, 18, 24, 32, 42, 56, 75, *decade,
    ]  # fmt: skip
    assert len(trace) == len(trace.rows) == 23
    assert (np.diff(trace.seconds) >= 0).all()
    assert (trace.gradients == 2 * trace.iterations).all()


def test_trace_ends_at_the_current_iteration(kuhn):
    run = cfr.CFR(kuhn).run(11)
    assert run.trace.iterations.tolist() == [1, 2, 3, 4, 6, 7, 10, 11]
    assert run.run(2).trace.iterations.tolist() == [1, 2, 3, 4, 6, 7, 10, 13]


def test_trace_rows_equal_runs_of_that_length(kuhn):
    trace = cfr.CFR(kuhn, "linear").run(100).trace
    for t, e, v in zip(trace.iterations, trace.exploitability, trace.value, strict=True):
        solution = cfr.solve(kuhn, "linear", int(t))
        assert (solution.exploitability, solution.value) == (e, v)


def test_short_runs_show_a_progress_bar_only_on_request(kuhn, capsys):
    cfr.solve(kuhn, iterations=1_000, progress=True)
    shown = capsys.readouterr().err
    assert re.search(r"1000/1000 .*exploitability|0/1000", shown)
    cfr.solve(kuhn, iterations=1_000)  # too short for a progress bar
    cfr.solve(kuhn, iterations=1_000, progress=False)
    captured = capsys.readouterr()
    assert captured.err == captured.out == ""


@pytest.mark.slow
def test_long_runs_show_a_progress_bar_by_default(kuhn, capsys, monkeypatch):
    monkeypatch.setattr(run_module, "BAR_DELAY", 0.05)
    run = cfr.CFR(kuhn).run(1)
    capsys.readouterr()
    run.run(500_000)
    assert "/500000" in capsys.readouterr().err
    run.run(500_000, progress=False)
    assert capsys.readouterr().err == ""


# ---- display -------------------------------------------------------------------------------


def test_solution_repr_shows_its_results(kuhn):
    solution = cfr.solve(kuhn, "cfr+", 1_000, update="simultaneous")
    text = repr(solution)
    assert text.startswith("Solution of KuhnPoker()")
    assert "cfr+, simultaneous updates" in text
    assert "1,000 (2,000 gradients" in text
    assert f"{solution.value:+.9f}" in text
    assert f"{solution.exploitability:.3e} (NashConv {solution.nash_conv:.3e})" in text
    assert "two-player zero-sum: exploitability goes to 0" in text
    html = solution._repr_html_()
    assert f"{solution.exploitability:.3e}" in html
    assert f"bet {solution.strategy['K']['bet']:.4f}" in html


def test_table_reprs_have_a_line_per_infoset(kuhn):
    run = cfr.CFR(kuhn, "linear").run(10)
    assert repr(run) == "CFR(KuhnPoker(), 'linear', update='alternating') after 10 iterations"
    lines = repr(run.average).splitlines()
    assert lines[0] == "Strategy of KuhnPoker()"
    assert len(lines) == 13
    row = run.average["Q check-bet"]
    wanted = f"0 Q check-bet fold {row['fold']:.4f} call {row['call']:.4f}"
    assert wanted in [" ".join(line.split()) for line in lines]
    assert repr(run.regrets).startswith("Regrets of KuhnPoker()")
    assert f"fold {run.regrets['J bet']['fold']:.4f}" in repr(run.regrets)
    assert "… and 24 more infosets" in repr(cfr.Strategy.uniform(KuhnPoker(players=3)))
    assert "… and 24 more infosets" in cfr.Strategy.uniform(KuhnPoker(players=3))._repr_html_()


def test_trace_repr_ends_with_the_last_row(kuhn):
    trace = cfr.CFR(kuhn).run(1_000).trace
    head, *_, last = repr(trace).splitlines()
    assert head.split() == list(trace.columns)
    average, value, current = trace.rows[-1, 3:]
    cells = last.split()
    assert cells[:2] == ["1,000", "2,000"]
    assert cells[3:] == [f"{average:.3e}", f"{value:+.6f}", f"{current:.3e}"]
    assert f"<td>{trace.exploitability[-1]:.3e}</td>" in trace._repr_html_()


def test_html_is_escaped():
    nodes = {
        (): Decision(0, "<b>I & you</b>", ("<i>", "&")),
        ("<i>",): Terminal((1, -1)),
        ("&",): Terminal((0, 0)),
    }
    game = TableGame(nodes, name="<script>")
    html = cfr.solve(game, iterations=3)._repr_html_()
    assert "&lt;b&gt;I &amp; you&lt;/b&gt;" in html
    assert "&lt;i&gt;" in html
    assert "Solution of &lt;script&gt;" in html
    assert not re.search(r"<(b|i|script)>", html)


def test_repr_shows_small_probabilities(kuhn):
    strategy = cfr.Strategy.uniform(kuhn).replace({"J": {"bet": 1e-7, "check": 1 - 1e-7}})
    assert "bet 1e-07" in repr(strategy)


def test_random_strategy_samples_infosets_in_order_of_play(kuhn):
    rng, expected = np.random.default_rng(7), {}
    deepest = [f"{card} check-bet" for card in "JQK"]
    second = [f"{card} {bet}" for card in "QKJ" for bet in ("check", "bet")]  # QJ, KJ, JQ …
    for I in [*"JQK", *second, *deepest]:
        expected[I] = rng.dirichlet([3, 3]).tolist()
    sampled = cfr.Strategy.random(kuhn, 7, concentration=3)
    assert {I: list(row.values()) for I, row in sampled.items()} == expected
    assert cfr.Strategy.random(kuhn, np.random.default_rng(7), 3) == sampled
    another = cfr.Strategy.random(kuhn, rng, 3)
    assert another != sampled  # the generator's state has advanced
    assert cfr.Strategy.random(kuhn) != cfr.Strategy.random(kuhn)  # without a seed


@pytest.mark.parametrize(
    ("concentration", "distance"), [(1e-3, 0.49), (1.0, 0.25), (1e6, 0.001)]
)
def test_concentration_moves_random_strategies_from_pure_to_uniform(
    leduc, concentration, distance
):
    sampled = cfr.Strategy.random(leduc, 0, concentration)
    pairs = [row for row in sampled.values() if len(row) == 2]
    assert len(pairs) > 100
    distances = [abs(x - 0.5) for row in pairs for x in row.values()]
    assert np.mean(distances) == pytest.approx(distance, abs=0.03)


def test_strategies_are_mappings(kuhn):
    strategy = cfr.Strategy.uniform(kuhn)
    assert len(strategy) == 12
    assert list(strategy)[:6] == ["J", "Q", "K", "J check-bet", "Q check-bet", "K check-bet"]
    assert {strategy.player(label) for label in list(strategy)[:6]} == {0}
    assert {strategy.player(label) for label in list(strategy)[6:]} == {1}
    assert strategy["J"] == {"check": 0.5, "bet": 0.5}
    assert strategy == cfr.Strategy.uniform(KuhnPoker())
    changed = strategy.replace({"J": {"bet": 1}})
    assert changed["J"] == {"check": 0, "bet": 1}
    assert strategy["J"] == {"check": 0.5, "bet": 0.5}
    assert changed.max_difference(strategy) == 0.5


# ---- averaging delay -----------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["cfr", "cfr+", "dcfr"])
@pytest.mark.parametrize("delay", [0, 1, 7])
def test_average_is_the_weighted_sum_of_plans(kuhn, variant, delay):
    """The average is Σ max(t − d, 0)^γ x^t over the plans played, normalized by infoset."""
    run, gamma = cfr.CFR(kuhn, variant, delay=delay), cfr.VARIANTS[variant].gamma
    undelayed = cfr.CFR(kuhn, variant)
    total, form = np.zeros(run._form.num_sequences), run._form
    for t in range(1, 21):
        # alternating: a player's plan is averaged before the player's own update
        plan = undelayed._unpack(undelayed._tables.plan)
        undelayed.run(1)
        run.run(1)
        total += max(t - delay, 0) ** gamma * plan if t > delay else 0
        if t <= delay:
            assert run.average == cfr.Strategy.uniform(kuhn)
    wanted = np.empty_like(total)
    behavior(form.treeplexes, total, wanted)
    assert run.average.values_by_sequence == pytest.approx(wanted, abs=1e-14)
    assert run.current.max_difference(undelayed.current) == 0


def test_delay_is_shown(kuhn):
    run = cfr.CFR(kuhn, "cfr+", delay=5).run(30)
    assert repr(run).startswith("CFR(KuhnPoker(), 'cfr+', update='alternating', delay=5)")
    assert "alternating updates, averaged after 5" in repr(run.solution())


@pytest.mark.parametrize("delay", [-1, 1.5, "2"])
def test_invalid_delay_raises(kuhn, delay):
    with pytest.raises(ValueError, match="delay must be a whole number"):
        cfr.CFR(kuhn, delay=delay)


# ---- CFR-BR --------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["cfr", "cfr+"])
def test_cfr_br_regrets_are_against_best_responses(kuhn, variant):
    """Check one iteration by definition: regrets against the opponent's best response."""
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


def test_cfr_br_last_iterate_converges(kuhn):
    solution = cfr.solve(kuhn, "cfr+", 20_000, update="best response")
    assert solution.exploitability < 2e-3
    assert solution.current_exploitability < 2e-2
    assert solution.gradients == 20_000 * 4
    assert "cfr+, best-response updates" in repr(solution)


def test_cfr_br_average_is_near_maximin():
    """Against best responses a player's average is at most R_i / T from maximin."""
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
