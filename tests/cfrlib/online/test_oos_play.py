"""Online search at play: seeds of a match, and the online strategy run by run."""

import numpy as np
import pytest
from scipy.stats import chi2

import cfrlib as cfr
from cfrlib.core.rng import new_key
from cfrlib.games import KuhnPoker
from cfrlib.online.oos import Match, MatchGame

KUHN = KuhnPoker()


@pytest.mark.slow
def test_each_searcher_of_each_game_has_a_seed_of_its_own(monkeypatch):
    keys, search = set(), cfr.OOS.search

    def seen(self, at=None, **limits):
        keys.add((len(games), int(self._settings.key)))
        return search(self, at, **limits)

    monkeypatch.setattr(cfr.OOS, "search", seen)
    player, other = cfr.OOS(KUHN, seed=0), cfr.OOS(KUHN, seed=0)
    games = []
    for n in range(6):
        games += player.match(other, games=1, iterations=3, seed=n)
    assert all(len({m.player for m in game.moves}) == 2 for game in games)
    assert len(keys) == len({key for _, key in keys}) == 2 * len(games)


@pytest.mark.slow
def test_the_games_of_a_match_have_seeds_of_their_own(monkeypatch):
    """The cards too: 600 deals fit chance's probabilities."""
    keys, copy = [], cfr.OOS._game

    def seen(self, opponent, seat, seeds, budget):
        keys.append(tuple(int(new_key(s)) for s in np.random.SeedSequence(
            seeds.entropy, spawn_key=seeds.spawn_key).spawn(3)))  # fmt: skip
        return copy(self, opponent, seat, seeds, budget)

    monkeypatch.setattr(cfr.OOS, "_game", seen)
    match = cfr.OOS(KUHN, seed=0).match({}, games=600, iterations=1, seed=5)
    assert len(set(sum(keys, ()))) == 1_800
    assert [game.seat for game in match] == [0, 1] * 300
    deals = [game.history[0] for game in match]
    counts = np.array([deals.count(deal) for deal in sorted(set(deals))])
    assert len(counts) == 6 and chi2.cdf(((counts - 100) ** 2 / 100).sum(), 5) < 0.999
    bets = [move.action == "bet" for game in match for move in game.moves
            if move.player != game.seat and "bet" in move.probabilities]  # fmt: skip
    assert abs(np.mean(bets) - 0.5) < 4 * 0.5 / np.sqrt(len(bets))


@pytest.mark.parametrize("limits", [{"iterations": 7}, {"nodes": 90}])
def test_online_strategy_is_a_mean_of_plans(limits):
    """By a new copy for each infoset, which searches along its player's past first."""
    player, runs = cfr.OOS(KUHN, delta=0.6, seed=1), 3
    player.search(iterations=4)  # where every search begins
    tree = cfr.compile(KUHN)
    past = {I: [] for I in tree.infoset_label}
    for I in past:
        if " check-bet" in I:  # the only infosets with an own past
            past[I] = [(I.split()[0], "check")]
    plans = dict.fromkeys([(I, a) for I in past for a in cfr.Strategy.uniform(KUHN)[I]], 0.0)
    for seeds in np.random.SeedSequence(9).spawn(runs):
        rows, key = {}, new_key(seeds)
        for I, before in past.items():
            new = player.copy()
            new._settings = new._settings._replace(key=key)
            for J, _ in before:
                new.search(J, **limits)
            new.search(I, **limits)
            rows[I] = new.policy(I)
        for I, a in plans:
            reach = np.prod([rows[J][b] for J, b in past[I]])
            plans[I, a] += reach * rows[I][a]
    online = player.online_strategy(runs=runs, seed=9, **limits)
    for I, row in online.items():
        total = sum(plans[I, a] for a in row)
        mean = {a: plans[I, a] / total if total else 1 / len(row) for a in row}
        assert row == pytest.approx(mean, abs=1e-12)
    assert any(past.values()) and player.iterations == 4


def test_statistics_of_a_match():
    games = [MatchGame(seat, pay, (), []) for seat, pay in ((0, (3.0, -3.0)), (1, (1.0, -1.0)))]
    match = Match(games)
    assert match.payoffs.tolist() == [3.0, -1.0]
    assert (match.mean, match.standard_error) == (1.0, pytest.approx(2.0))
    assert repr(match) == "Match of 2 games: mean payoff +1.000 ± 2.000"
    assert np.isnan(Match(games[:1]).standard_error)


def test_a_strategy_that_lacks_an_infoset_is_uniform_there():
    match = cfr.OOS(KUHN, seed=0).match({"K": {"bet": 1.0}}, 30, iterations=1, seat=1, seed=0)
    rows = [game.moves[0] for game in match]
    for move in rows:
        king = {"check": 0.0, "bet": 1.0}
        expected = king if move.infoset == "K" else {"check": 0.5, "bet": 0.5}
        assert (move.player, move.probabilities) == (0, expected)
    assert {move.infoset for move in rows} == {"J", "Q", "K"}
