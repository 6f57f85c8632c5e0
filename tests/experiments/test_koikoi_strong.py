"""Players beside the strong one: deals weighted by the opponent's moves, and the last turns."""

from itertools import combinations

import numpy as np
import pytest
from toy_games import mini

import cfrlib as cfr
from cfrlib.game import Chance, Decision
from koikoi.learners import DeepMonteCarlo
from koikoi.simulator import OVER, Simulator, members
from koikoi_learners import RestPlayer, WeightedLookAhead
from koikoi_learners.rest_player import Rest

K9, K10 = mini("K9"), mini("K10")
KEY = np.uint64(7)


def network(game, seed=1):
    return DeepMonteCarlo(game, hidden=(16,), seed=seed).player()


def late(game, held, seed):
    """Yield rounds with a row in which the player to move can choose and holds `held` cards."""
    simulator, rng = Simulator(game), np.random.default_rng(seed)
    rounds = simulator.deal(40, seed=seed)
    while len(rows := np.flatnonzero(rounds.stage != OVER)):
        actions = np.empty(len(rows), np.int64)
        for n, r in enumerate(rows):
            choices = [*simulator.actions(rounds, r)]
            mine = rounds.hands[r, rounds.player[r]]
            if len(choices) > 1 and np.bitwise_count(mine) == held:
                yield simulator, rounds, r
            actions[n] = rng.choice(choices)
        simulator.act(rounds, rows, actions)


def test_imagined_hands_are_as_frequent_as_their_weights() -> None:
    """Systematic resampling rounds the number of each hand up or down, and never elsewhere."""
    search, simulator, checked = WeightedLookAhead(network(K10), hands=2000), Simulator(K10), 0
    rounds, deals = simulator.deal(24, seed=3), 600
    while len(rows := np.flatnonzero(rounds.stage != OVER)):
        counts = np.where(np.arange(len(rows)) % 3, deals, 0)  # some are not searched
        imagined = search.imagine(simulator, rounds, rows, counts, 0, KEY)
        assert len(imagined) == counts.sum()
        key = np.random.SeedSequence([int(KEY), 0]).generate_state(3, np.uint64)[0]
        belief = search.past.belief(simulator, rounds, rows[counts > 0], key)
        for d, r in enumerate(rows[counts > 0]):
            some = slice(belief.start[d], belief.start[d + 1])
            weight = dict.fromkeys(belief.hand[some].tolist(), 0.0)
            worlds = dict.fromkeys(weight, 0)
            for hand, w in zip(belief.hand[some].tolist(), belief.weight[some], strict=True):
                weight[hand] += w
                worlds[hand] += 1
            mine = slice(d * deals, (d + 1) * deals)
            dealt = imagined.hands[mine, 1 - rounds.player[r]]
            hands, found = np.unique(dealt, return_counts=True)
            assert set(hands.tolist()) <= set(weight)
            for hand, n in zip(hands.tolist(), found, strict=True):
                assert abs(n - deals * weight[hand]) < worlds[hand] + 1e-6
            checked += 1
        actions = search.player(simulator, rounds, rows, KEY)
        search.watch(simulator, rounds, rows, actions)
        simulator.act(rounds, rows, actions)
    assert checked > 30


def test_imagined_deals_are_whole() -> None:
    search, simulator = WeightedLookAhead(network(K10), hands=40), Simulator(K10)
    rounds, rows = simulator.deal(5, seed=4), np.arange(5)
    imagined = search.imagine(simulator, rounds, rows, np.full(5, 30), 0, KEY)
    for n in range(150):
        r = n // 30
        seen = rounds.hands[r, 0] | rounds.field[r]
        assert (
            imagined.hands[n, 0] == rounds.hands[r, 0] and imagined.field[n] == rounds.field[r]
        )
        unseen = [*members(imagined.hands[n, 1]), *imagined.order[n, imagined.turned[n] :]]
        assert sorted(unseen) == [c for c in range(len(K10.deck)) if not int(seen) >> c & 1]


def test_the_rest_deals_every_hidden_hand_equally_often() -> None:
    simulator, rounds, r = next(late(K9, 2, seed=5))
    at = simulator.position(rounds, r)
    rest, seen = Rest(simulator.game, at), simulator.game.node(at)
    shares: dict[tuple[str, ...], float] = {}

    def deal(h, p):
        node = rest.node(h)
        if isinstance(node, Chance):
            for card, q in node.probabilities.items():
                deal(rest.step(h, card), p * q)
        else:
            assert isinstance(node, Decision)
            assert (node.infoset, node.actions) == (seen.infoset, seen.actions)
            hand = tuple(sorted(h.hands[1 - at.player]))
            assert sorted([*hand, *h.stock]) == sorted([*at.hands[1 - at.player], *at.stock])
            shares[hand] = shares.get(hand, 0.0) + p

    deal(rest.root(), 1.0)
    hidden = [*at.hands[1 - at.player], *at.stock]
    hands = [tuple(sorted(hand)) for hand in combinations(hidden, len(at.hands[1 - at.player]))]
    assert sorted(shares) == sorted(set(hands))
    assert all(p == pytest.approx(hands.count(h) / len(hands)) for h, p in shares.items())


@pytest.mark.slow
def test_a_search_finds_the_clear_actions_of_the_rest() -> None:
    """An action that loses half a point against equilibrium play is seldom sampled."""
    player, clear, right = RestPlayer(network(K9), turns=2, iterations=2000), 0, 0
    for simulator, rounds, r in late(K9, 2, seed=6):
        at = simulator.position(rounds, r)
        rest, node = Rest(simulator.game, at), simulator.game.node(at)
        solution = cfr.solve_lp(rest)
        values = {}
        for action in node.actions:
            only = {a: float(a == action) for a in node.actions}
            forced = {**solution.strategy, node.infoset: only}
            values[action] = cfr.expected_utility(rest, forced)[at.player]
        best, second = sorted(values, key=lambda a: -values[a])[:2]
        if values[best] - values[second] > 0.5:
            clear += 1
            right += player.search(rest, np.random.SeedSequence([r, clear])) == best
        if clear == 12:
            break
    assert clear == 12 and right >= 10


def test_early_turns_are_the_networks() -> None:
    inner, simulator = network(K10), Simulator(K10)
    player, rounds, rows = RestPlayer(inner, turns=1), simulator.deal(6, seed=2), np.arange(6)
    chosen = player(simulator, rounds, rows, KEY)
    assert np.array_equal(chosen, inner(simulator, rounds, rows, KEY))
