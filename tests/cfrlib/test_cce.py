"""Joint play: all pure profiles listed, the best CCE by a linear program, regrets of CFR."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog
from toy_games import random_game

import cfrlib as cfr

CHICKEN = cfr.games.MatrixGame([[0, 7], [2, 6]], [[0, 2], [7, 6]])
SHAPLEY = cfr.games.MatrixGame(
    [[0, 2, 1], [1, 0, 2], [2, 1, 0]], [[0, 1, 2], [2, 0, 1], [1, 2, 0]]
)  # no pure equilibrium, and regret matching need not converge
TREE = random_game(33, players=3, depth=5, zero_sum=False)
GAMES = [
    pytest.param(CHICKEN, id="chicken"),
    pytest.param(SHAPLEY, id="Shapley"),
    pytest.param(TREE, id="three players", marks=pytest.mark.slow),
]
every_game = pytest.mark.parametrize("game", GAMES)


class Pure:
    """All pure strategies of each player, and the payoffs of all pure profiles."""

    def __init__(self, game):
        rows = cfr.Strategy.uniform(game)
        owner = {I: rows.player(I) for I in rows}
        self.game, self.players = game, range(game.num_players)
        self.plans = [
            [dict(zip(own, choice, strict=True)) for choice in product(*(rows[I] for I in own))]
            for own in ([I for I in rows if owner[I] == i] for i in self.players)
        ]
        self.shape = tuple(map(len, self.plans))
        self.pay = np.empty((game.num_players, *self.shape))
        for at in product(*map(range, self.shape)):
            self.pay[(slice(None), *at)] = cfr.expected_utility(game, self.profile(at))

    def profile(self, at):
        parts = [self.plans[i][k] for i, k in enumerate(at)]
        return {I: {a: 1.0} for part in parts for I, a in part.items()}

    def gains(self, joint):
        """Return each player's gain by the best fixed plan against joint probabilities."""
        found = []
        for i in self.players:
            others = joint.sum(axis=i, keepdims=True)
            fixed = (self.pay[i] * others).sum(axis=tuple(j for j in self.players if j != i))
            found.append(fixed.max() - (self.pay[i] * joint).sum())
        return np.array(found)

    def best_cce(self, slack=0.0):
        """Return the joint probabilities with the largest sum of payoffs; nobody gains more."""
        constraints, size = [], int(np.prod(self.shape))
        for i in self.players:
            for k in range(self.shape[i]):
                fixed = np.take(self.pay[i], [k], axis=i)
                constraints.append((np.broadcast_to(fixed, self.shape) - self.pay[i]).ravel())
        found = linprog(
            -self.pay.sum(axis=0).ravel(),
            A_ub=np.array(constraints),
            b_ub=np.full(len(constraints), slack),
            A_eq=np.ones((1, size)),
            b_eq=[1.0],
        )
        assert found.success
        return found.x.reshape(self.shape)

    def worth(self, joint):
        return float((self.pay * joint).sum())


def mixed(pure, strategy):
    """Return the probabilities of all pure profiles under a product of mixed strategies."""
    joint = np.ones(pure.shape)
    for i in pure.players:
        p = [np.prod([strategy[I][a] for I, a in plan.items()]) for plan in pure.plans[i]]
        joint *= np.reshape(p, [-1 if j == i else 1 for j in pure.players])
    return joint


def played(run, iterations):
    for _ in range(iterations):
        yield run.current
        run.run(1)


@every_game
def test_gaps_equal_those_of_listed_profiles(game):
    pure, rng = Pure(game), np.random.default_rng(0)
    profiles = [cfr.Strategy.random(game, seed=rng) for _ in range(5)]
    weights = rng.random(5)
    joint = sum(w * mixed(pure, s) for w, s in zip(weights, profiles, strict=True))
    gaps = cfr.cce_gaps(game, profiles, weights)
    np.testing.assert_allclose(gaps, pure.gains(joint / weights.sum()), atol=1e-12)
    alone = [cfr.cce_gaps(game, [s]) for s in profiles]  # one profile: gains by deviating
    assert np.sum(alone[0]) == pytest.approx(cfr.nash_conv(game, profiles[0]), abs=1e-12)
    mean = np.average(alone, axis=0, weights=weights)
    assert (gaps <= mean + 1e-12).all() and (gaps < mean - 1e-3).any()


@every_game
def test_the_best_cce_has_no_gap(game):
    pure = Pure(game)
    joint = pure.best_cce()
    at = np.argwhere(joint > 0)
    gaps = cfr.cce_gaps(game, map(pure.profile, at), joint[joint > 0])
    assert gaps.max() == pytest.approx(0, abs=1e-9)


def test_the_best_cce_of_chicken_is_better_than_its_equilibria():
    pure = Pure(CHICKEN)
    assert pure.worth(pure.best_cce()) == pytest.approx(10.5)  # equilibria: 9, 9, 28/3


@every_game
def test_joint_play_of_cfr_becomes_a_cce(game):
    """It is never better than the best joint play that is as close to an equilibrium."""
    pure, gap = Pure(game), []
    for iterations in (50, 1_000):
        run = cfr.CFR(game, update="simultaneous")
        profiles = list(played(run, iterations))
        gap.append(cfr.cce_gaps(game, profiles).max())
        worth = np.mean([cfr.expected_utility(game, s).sum() for s in profiles])
        assert worth <= pure.worth(pure.best_cce(slack=max(gap[-1], 0))) + 1e-9
    assert gap[1] < max(0.5 * gap[0], 1e-12) and gap[1] < 0.05


@pytest.mark.parametrize("game", [CHICKEN, SHAPLEY, cfr.games.RockPaperScissors(3)], ids=repr)
def test_gaps_are_the_regrets_of_simultaneous_cfr(game):
    run = cfr.CFR(game, update="simultaneous")
    gaps = cfr.cce_gaps(game, played(run, 60))
    regrets = [max(row.values()) / 60 for row in run.regrets.values()]
    np.testing.assert_allclose(gaps, regrets, atol=1e-12)


@pytest.mark.parametrize("game", [cfr.games.KuhnPoker(), cfr.games.LiarsDice(2)], ids=repr)
def test_of_two_players_they_add_up_to_nash_conv(game):
    run = cfr.CFR(game, "cfr+", update="simultaneous")
    gaps = cfr.cce_gaps(game, played(run, 40), range(1, 41))
    assert gaps.sum() == pytest.approx(cfr.nash_conv(game, run.average), abs=1e-12)


@pytest.mark.parametrize(
    ("profiles", "weights", "match"),
    [
        (0, None, "at least one profile with a weight above 0"),
        (2, [0, 0], "at least one profile with a weight above 0"),
        (2, [1, -1], "each weight must be a number at least 0, got -1"),
        (2, [1], "shorter"),
    ],
)
def test_errors(profiles, weights, match):
    uniform = cfr.Strategy.uniform(CHICKEN)
    with pytest.raises(ValueError, match=match):
        cfr.cce_gaps(CHICKEN, [uniform] * profiles, weights)
