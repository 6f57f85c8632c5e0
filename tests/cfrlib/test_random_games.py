"""Property-based tests: theorems of game theory and CFR, checked on random games."""

import itertools

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from reference import Reference
from toy_games import Scaled, random_game

import cfrlib as cfr
from cfrlib import Chance, Decision, Terminal
from cfrlib.cfr import UPDATES
from cfrlib.core.sequence import backup, gradient, realize, sequence_form

VARIANTS = sorted(cfr.VARIANTS)


seeds = st.integers(0, 2**32)


def games(players=(1, 4), depth=(2, 6), **options):
    """Generate sound games; Hypothesis shrinks their shape, a seed sets their contents."""
    options = {name: st.just(value) for name, value in options.items()}
    return st.builds(
        random_game,
        seeds,
        players=st.integers(*players),
        depth=st.integers(*depth),
        **{"zero_sum": st.booleans(), "whole": st.booleans(), **options},
    )


zero_sum_games = games(players=(2, 2), zero_sum=True)


def random_strategy(game, seed):
    """Sample a strategy; some of its probabilities are 0."""
    rng = np.random.default_rng(seed)
    strategy = {}
    for label, row in cfr.Strategy.uniform(game).items():
        p = rng.random(len(row)) * (rng.random(len(row)) < 0.8)
        p = p / p.sum() if p.sum() > 0 else np.full(len(row), 1 / len(row))
        strategy[label] = dict(zip(row, p, strict=True))
    return cfr.Strategy(game, strategy)


def tree_utility(game, strategy, h=None):
    """Return each player's expected payoff by recursion over histories, as defined."""
    h = game.root() if h is None else h
    node = game.node(h)
    if isinstance(node, Terminal):
        return np.array(node.utilities, float)
    row = node.probabilities if isinstance(node, Chance) else strategy[node.infoset]
    return sum(p * tree_utility(game, strategy, game.step(h, a)) for a, p in row.items())


def pure_strategies(game, player, limit=200):
    """List all pure strategies of a player as changes to a profile."""
    uniform = cfr.Strategy.uniform(game)
    mine = [label for label in uniform if uniform.player(label) == player]
    choices = [list(uniform[label]) for label in mine]
    assume(np.prod([float(len(c)) for c in choices]) <= limit)
    for chosen in itertools.product(*choices):
        yield {label: {a: 1.0} for label, a in zip(mine, chosen, strict=True)}


def test_random_games_cover_all_features():
    """Features are uneven chance, one-action infosets, infosets at several depths, …"""
    seen = set()
    for seed in range(60):
        game = random_game(seed, players=1 + seed % 4)
        tree = cfr.compile(game)
        nodes = [game.node(tree.history(k)) for k in range(tree.num_histories)]
        chances = [list(n.probabilities.values()) for n in nodes if isinstance(n, Chance)]
        seen |= {"uneven chance" for p in chances if len(set(p)) > 1}
        seen |= {"impossible outcome" for p in chances if 0 in p}
        seen |= {"one action" for a in tree.infoset_actions if len(a) == 1}
        sizes = np.bincount(tree.infoset[tree.infoset >= 0], minlength=tree.num_infosets)
        seen |= {"one history" if n == 1 else "many histories" for n in sizes}
        depths = {}
        for k, n in enumerate(nodes):
            if isinstance(n, Decision):
                depths.setdefault(n.infoset, set()).add(len(tree.history(k)))
        seen |= {"several depths" for d in depths.values() if len(d) > 1}
        owners = set(tree.infoset_player.tolist())
        seen |= {"idle player"} if len(owners) < tree.num_players else set()
        seen |= {f"{tree.num_players} players"}
    assert seen == {
        "uneven chance", "impossible outcome", "one action", "one history", "many histories",
        "several depths", "idle player", "1 players", "2 players", "3 players", "4 players",
    }  # fmt: skip


@pytest.mark.slow
@given(games(), seeds)
def test_expected_utility_is_reach_weighted_payoff(game, seed):
    strategy = random_strategy(game, seed)
    tree, u = cfr.compile(game), cfr.expected_utility(game, strategy)
    ends = [tree.history(k) for k in np.flatnonzero(tree.num_children == 0)]
    reach = [cfr.reach(game, strategy, h) for h in ends]
    payoff = np.array([game.node(h).utilities for h in ends])
    assert sum(r.total for r in reach) == pytest.approx(1)
    assert u == pytest.approx(np.array([r.total for r in reach]) @ payoff, abs=1e-12)
    assert u == pytest.approx(tree_utility(game, strategy), abs=1e-12)
    for r in reach:
        for i in range(game.num_players):
            assert r.others(i) * r.players[i] == pytest.approx(r.total, rel=1e-14)


@pytest.mark.slow
@settings(max_examples=40)
@given(games(depth=(2, 4)), seeds)
def test_best_response_beats_all_pure_strategies(game, seed):
    strategy = random_strategy(game, seed)
    conv = 0.0
    for i in range(game.num_players):
        values = [
            tree_utility(game, {**strategy, **pure})[i] for pure in pure_strategies(game, i)
        ]
        response = cfr.best_response(game, strategy, i)
        own = tree_utility(game, strategy)[i]
        assert response.player == i
        assert response.value == pytest.approx(max(values), abs=1e-12)
        assert response.gain == pytest.approx(max(values) - own, abs=1e-12)
        assert tree_utility(game, response.strategy)[i] == pytest.approx(max(values), abs=1e-12)
        for label in strategy:  # only the responder's part is replaced
            if strategy.player(label) != i:
                assert response.strategy[label] == strategy[label]
        conv += max(values) - own
    found = cfr.nash_conv(game, strategy)
    assert found >= 0 and found == pytest.approx(conv, abs=1e-11)
    assert cfr.exploitability(game, strategy) == found / game.num_players


@pytest.mark.slow
@given(games(), seeds)
def test_realize_and_backup_are_dual(game, seed):
    """⟨x, g⟩ summed over sequences is the value of the empty sequence after backup."""
    form = sequence_form(game)
    sigma = random_strategy(game, seed).values_by_sequence
    x, g = form.plans(sigma), np.empty(form.num_sequences)
    for i in range(form.num_players):
        own = np.empty_like(x)
        realize(form.treeplexes, i, sigma, own)
        gradient(form.treeplexes, i, x, g)
        first, last = form.treeplexes.player_sequences[i : i + 2]
        inner = own[first:last] @ g[first:last]
        backup(form.treeplexes, i, sigma, g)
        assert g[first] == pytest.approx(inner, abs=1e-12)


@pytest.mark.slow
@settings(max_examples=40)
@given(zero_sum_games, st.integers(1, 40))
def test_regrets_sum_to_nash_conv_of_the_average(game, iterations):
    """R₁ + R₂ = T · NashConv(average), for vanilla CFR with simultaneous updates."""
    run, form = cfr.CFR(game, "cfr", update="simultaneous"), sequence_form(game)
    gradients, earned = np.zeros(form.num_sequences), np.zeros(2)
    for _ in range(iterations):
        x = form.plans(run.current.values_by_sequence)
        gradients += form.gradients(x)  # linear, so they give the payoff of any fixed plan
        earned += cfr.expected_utility(game, run.current)
        run.run(1)
    regret = np.zeros(2)
    for i in (0, 1):
        regret[i] = best_fixed_plan_value(form, i, gradients) - earned[i]
    conv = cfr.nash_conv(game, run.average)
    assert regret.sum() == pytest.approx(iterations * conv, abs=1e-10)
    # Theorem 3 of Zinkevich et al.: regret is at most the positive counterfactual regrets
    for i in (0, 1):
        mine = [I for I in run.regrets if run.average.player(I) == i]
        bound = sum(max(0.0, *run.regrets[I].values()) for I in mine)
        assert regret[i] <= bound + 1e-10


def best_fixed_plan_value(form, player, gradients):
    """Return max over fixed plans x of ⟨x, Σ_t g_t⟩, in plain Python."""
    t, g = form.treeplexes, gradients.copy()
    first, last = t.player_infosets[player : player + 2]
    for I in range(last - 1, first - 1, -1):
        g[t.infoset_parent[I]] += g[t.infoset_start[I] : t.infoset_stop[I]].max()
    return g[t.player_sequences[player]]


@pytest.mark.slow
@settings(max_examples=40)
@given(zero_sum_games)
def test_lp_and_cfr_agree_on_zero_sum_games(game):
    lp = cfr.solve_lp(game)
    assert cfr.nash_conv(game, lp.strategy) == pytest.approx(0, abs=1e-7)
    assert cfr.expected_utility(game, lp.strategy)[0] == pytest.approx(lp.value, abs=1e-7)
    for variant in ("cfr", "cfr+", "dcfr"):
        solution = cfr.solve(game, variant, 2_000)
        assert solution.nash_conv < 0.05
        assert abs(solution.value - lp.value) <= solution.nash_conv + 1e-9


@pytest.mark.slow
@settings(max_examples=25)
@given(games(whole=False, depth=(2, 5)), st.sampled_from(VARIANTS), st.booleans())
def test_iterates_equal_the_plain_python_reference(game, variant, alternating):
    update = "alternating" if alternating else "simultaneous"
    run, reference = cfr.CFR(game, variant, update=update), Reference(game, variant, update)
    for _ in range(4):
        run.run(1)
        reference.iterate()
        assert run.average.max_difference(reference.average()) < 1e-9
    empty = cfr.compile(game).player_sequences[:-1]
    mine = np.delete(run.regrets.values_by_sequence, empty)
    assert mine == pytest.approx(np.delete(np.array(reference.regret), empty), abs=1e-9)


@pytest.mark.slow
@given(games(), *map(st.sampled_from, (VARIANTS, UPDATES, [0.25, 8.0])))
def test_payoff_scale_does_not_matter(game, variant, update, factor):
    """Scaling by a power of two is exact, so the iterates are equal to the last bit."""
    plain = cfr.CFR(game, variant, update=update).run(20)
    scaled = cfr.CFR(Scaled(game, factor), variant, update=update).run(20)
    assert plain.current.max_difference(scaled.current) == 0
    assert plain.average.max_difference(scaled.average) == 0
    regrets, wanted = (run.regrets.values_by_sequence for run in (scaled, plain))
    assert (regrets == factor * wanted).all()
    assert scaled.solution().value == factor * plain.solution().value
    assert (scaled.trace.exploitability == factor * plain.trace.exploitability).all()


@pytest.mark.slow
@given(games(), seeds)
def test_strategy_round_trips_through_a_dictionary(game, seed):
    strategy = random_strategy(game, seed)
    copy = cfr.Strategy(game, {label: dict(row) for label, row in strategy.items()})
    assert copy.max_difference(strategy) == 0
    assert strategy.max_difference(cfr.Strategy.uniform(game)) <= 1
