"""Lower bounds on best responses: beliefs, responders and intervals against exact values."""

from itertools import groupby

import numpy as np
import pytest
from toy_games import TableGame, Wrapper, random_game

import cfrlib as cfr
from cfrlib import Chance, Decision, LocalBestResponse, Terminal, TrainedResponse
from cfrlib.playing.lower_bound import resample

KUHN, LEDUC = cfr.games.KuhnPoker(), cfr.games.LeducPoker(merge_suits=True)
DICE = cfr.games.LiarsDice(3)
FEW = {LocalBestResponse: {"samples": 60}, TrainedResponse: {"traversals": 1_500}}


def rows_of(game, responder, i):
    """Return a responder's strategy at all infosets, asked from the root down."""
    tree, rows = cfr.compile(game), {}
    _, first = np.unique(tree.infoset, return_index=True)
    for k in np.sort(first):
        I = tree.infoset[k]
        if I >= 0 and tree.infoset_player[I] == i:
            label, actions = tree.infoset_label[I], tree.infoset_actions[I]
            row = responder([Decision(i, label, actions)], [0.5])[0]
            rows[label] = dict(zip(actions, row.tolist(), strict=False))
    return rows


def exact_value(game, strategy, responder, i):
    profile = strategy.replace(rows_of(game, responder, i))
    return cfr.expected_utility(game, profile)[i]


def histories(game, h=()):
    """Yield all decisions with their histories."""
    node = game.node(h)
    if isinstance(node, Decision):
        yield h, node
    for a in getattr(node, "actions", ()):
        yield from histories(game, (*h, a))


# ---- the belief ------------------------------------------------------------------------------


@pytest.mark.parametrize("i", [0, 1])
def test_beliefs_are_the_reach_of_chance_and_opponents(i):
    """Of all histories of an infoset, also where the responder itself does not go."""
    strategy = cfr.Strategy.random(LEDUC, seed=3)
    local, seen = LocalBestResponse(LEDUC, strategy, i, samples=2, seed=0), {}
    local._look_ahead, inner = None, LocalBestResponse._look_ahead

    def watch(node):
        worlds = local._worlds[node.infoset]
        seen[node.infoset] = dict(zip(worlds.histories, worlds.weights, strict=True))
        return inner(local, node)

    local._look_ahead = watch
    cfr.simulate(LEDUC, [local if j == i else strategy for j in range(2)], 300, seed=0)
    assert len(seen) > 20
    every = [(n.infoset, h) for h, n in histories(LEDUC) if n.player == i]
    for label, group in groupby(sorted(every, key=lambda pair: pair[0]), lambda pair: pair[0]):
        if label in seen:
            exact = {h: cfr.reach(LEDUC, strategy, h).others(i) for _, h in group}
            assert seen[label] == pytest.approx(exact, rel=1e-9)


def test_a_belief_follows_a_player_that_keeps_to_one_network():
    """The opponent calls heads twice or tails twice; the responder pays to be right the first
    time, and can know the second call."""
    nodes = {(): Decision(1, "first call", ("heads", "tails"))}
    for a in ("heads", "tails"):
        nodes[a,] = Decision(1, f"{a}: second call", ("heads", "tails"))
        for b in ("heads", "tails"):
            nodes[a, b] = Decision(0, f"{a}, ?", ("heads", "tails"))
            for c in ("heads", "tails"):
                nodes[a, b, c] = Terminal((1, -1) if b == c else (-1, 1))
    game = TableGame(nodes)

    def mixture(decisions, tickets):
        heads = np.asarray(tickets) < 0.4
        return np.stack([heads, ~heads], axis=1).astype(float)

    bound = cfr.best_response_bound(game, [{}, mixture], 0, rounds=200, seed=0)
    assert bound.mean == 1.0 and bound.margin == 0.0
    forgetful = cfr.best_response_bound(game, {}, 0, rounds=200, seed=0)
    assert abs(forgetful.mean) < 0.3
    trained = TrainedResponse(game, [{}, mixture], 0, traversals=500, seed=0)
    assert cfr.best_response_bound(game, [{}, mixture], 0, trained, rounds=200).mean == 1.0


def test_resampling_is_unbiased():
    weight, start = np.array([0.1, 0.0, 0.7, 0.2, 5.0, 5.0]), np.array([0, 4, 6])
    grid = (np.arange(1_000) + 0.5) / 1_000
    rows = np.array([resample(weight, start, 3, np.array([u, u])) for u in grid])
    counts = np.bincount(rows[:, 0].ravel(), minlength=4) / 1_000
    assert counts == pytest.approx([0.3, 0.0, 2.1, 0.6], abs=2e-3)
    assert rows[:, 1].min() == 4 and rows[:, 1].max() == 5


# ---- the responders --------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("players", [2, 3])
def test_responders_earn_at_most_the_exact_value_and_find_most_of_it(kind, players):
    gains = found = 0.0
    for seed in range(6):
        game = random_game(seed, players=players, zero_sum=players == 2)
        strategy = cfr.Strategy.random(game, seed=seed)
        for i in range(players):
            best = cfr.best_response(game, strategy, i)
            value = exact_value(game, strategy, kind(game, strategy, i, seed=0, **FEW[kind]), i)
            assert value <= best.value + 1e-9
            gains, found = gains + best.gain, found + best.gain - best.value + value
    assert gains > 1 and found > 0.8 * gains


@pytest.mark.slow
@pytest.mark.parametrize("kind", FEW)
@pytest.mark.parametrize("i", [0, 1])
def test_against_uniform_dice_both_find_a_best_response(kind, i):
    uniform = cfr.Strategy.uniform(DICE)
    value = exact_value(DICE, uniform, kind(DICE, {}, i, seed=0), i)
    assert value == pytest.approx(cfr.best_response(DICE, uniform, i).value, abs=1e-9)


@pytest.mark.slow
def test_a_responder_with_too_few_histories_is_still_a_player():
    uniform = cfr.Strategy.uniform(LEDUC)
    local = LocalBestResponse(LEDUC, uniform, 1, samples=5, histories=10, seed=0)
    value = exact_value(LEDUC, uniform, local, 1)
    own, best = cfr.expected_utility(LEDUC, uniform)[1], cfr.best_response(LEDUC, uniform, 1)
    assert own + 0.1 < value < best.value
    assert None in local._choice.values()


@pytest.mark.parametrize("kind", FEW)
def test_choices_depend_on_the_seed_alone(kind):
    """Not on the rounds in which they are made."""
    uniform = cfr.Strategy.uniform(LEDUC)
    one, other = (kind(LEDUC, uniform, 0, seed=1, **FEW[kind]) for _ in range(2))
    for seed in range(3):
        cfr.simulate(LEDUC, [other, {}], 50, seed=seed)
    assert rows_of(LEDUC, one, 0) == rows_of(LEDUC, other, 0)


@pytest.mark.slow
def test_all_kinds_of_strategies_have_the_same_bound():
    run = cfr.MCCFR(DICE, on_demand=True, seed=0).run(500, progress=False)
    partial = run.average
    table = {I: dict(row) for I, row in partial.items()}

    def policy(decisions, tickets):
        rows = [table.get(node.infoset) for node in decisions]
        sigma = np.zeros((len(decisions), max(len(node.actions) for node in decisions)))
        for line, row, node in zip(sigma, rows, decisions, strict=True):
            n = len(node.actions)
            line[:n] = list(row.values()) if row else 1 / n
        return sigma

    found = [
        cfr.best_response_bound(DICE, strategy, 0, rounds=200, seed=0)
        for strategy in (partial, table, [table, partial])
    ]
    assert len({bound.mean for bound in found}) == 1
    by_function = cfr.best_response_bound(DICE, policy, 0, rounds=200, seed=0)
    assert abs(by_function.mean - found[0].mean) < 2 * found[0].margin


def test_a_game_that_does_not_compile():
    class Endless(Wrapper):
        """Kuhn poker, dealt anew with probability 1/2, so that the tree is infinite."""

        def root(self):
            return None

        def node(self, h):
            return Chance({"deal": 0.5, "wait": 0.5}) if h is None else self.game.node(h)

        def step(self, h, a):
            if h is None:
                return () if a == "deal" else None
            return (*h, a)

    game = Endless(KUHN)
    for responder in ("local", "trained"):
        bound = cfr.best_response_bound(game, {}, 0, responder, rounds=2_000, seed=0)
        assert abs(bound.mean - 0.5) < 0.12 and bound.gain.interval[0] > 0.2


# ---- the intervals ---------------------------------------------------------------------------


@pytest.mark.slow
def test_intervals_hold_the_value_of_the_responder():
    """In 95 % of sets of rounds, the value and the gain."""
    strategy = cfr.Strategy.random(LEDUC, seed=5)
    responder = LocalBestResponse(LEDUC, strategy, 1, samples=20, seed=0)
    value, own = (exact_value(LEDUC, strategy, responder, 1),
                  cfr.expected_utility(LEDUC, strategy)[1])  # fmt: skip
    inside = np.zeros(2)
    for seed in range(100):
        bound = cfr.best_response_bound(LEDUC, strategy, 1, responder, rounds=200, seed=seed)
        for n, (found, truth) in enumerate([(bound, value), (bound.gain, value - own)]):
            inside[n] += found.interval[0] <= truth <= found.interval[1]
    assert (inside >= 88).all() and (inside <= 99.5).all()


def test_in_a_zero_sum_game_the_payoffs_of_the_strategy_cancel():
    strategy = cfr.Strategy.random(KUHN, seed=0)
    found = cfr.exploitability_bound(KUHN, strategy, rounds=300, seed=0)
    first, second = found.bounds
    assert found.nash_conv.mean == pytest.approx(first.mean + second.mean)
    assert found.samples == pytest.approx((first.samples + second.samples) / 2)
    assert found.mean == found.nash_conv.mean / 2
    again = cfr.best_response_bound(KUHN, strategy, 1, rounds=300, seed=0)
    np.testing.assert_array_equal(again.samples, second.samples)


@pytest.mark.slow
def test_three_players_and_responders_of_ones_own():
    game = cfr.games.KuhnPoker(players=3)
    uniform = cfr.Strategy.uniform(game)
    responses = [cfr.best_response(game, uniform, i).strategy for i in range(3)]
    found = cfr.exploitability_bound(game, uniform, responses, rounds=4_000, seed=0)
    assert abs(found.mean - cfr.exploitability(game, uniform)) < 2 * found.margin
    itself = cfr.exploitability_bound(game, uniform, {}, rounds=50, seed=0)
    assert itself.mean == itself.margin == 0.0


def test_invalid_arguments_raise():
    for arguments, says in [
        ((KUHN, {}, 2), "no player 2"),
        ((KUHN, {}, 0, "best"), "unknown responder 'best'"),
        ((KUHN, [{}], 0), "one player per seat"),
        ((KUHN, {}, 0, 3), "a player is a strategy"),
    ]:
        with pytest.raises(ValueError, match=says):
            cfr.best_response_bound(*arguments, rounds=10)
    with pytest.raises(ValueError, match="rounds must be"):
        cfr.best_response_bound(KUHN, {}, 0, rounds=1)
    with pytest.raises(ValueError, match="samples must be"):
        LocalBestResponse(KUHN, {}, 0, samples=1)
