"""Games of cfrlib as games of OpenSpiel: sizes, policies and values agree in both."""

import pickle
import re
from copy import deepcopy

import numpy as np
import pytest
from toy_games import Scaled

import cfrlib as cfr
from cfrlib import Chance, Decision, Game, Terminal
from cfrlib.games import (
    ColonelBlotto,
    Coyote,
    Goofspiel,
    KuhnPoker,
    LeducPoker,
    LiarsDice,
    MatrixGame,
    RockPaperScissors,
)

pyspiel = pytest.importorskip("pyspiel", reason="pip install open-spiel")
from open_spiel.python import policy as policies  # noqa: E402
from open_spiel.python import rl_environment  # noqa: E402
from open_spiel.python.algorithms import cfr as their_cfr  # noqa: E402
from open_spiel.python.algorithms import exploitability, mcts  # noqa: E402
from open_spiel.python.algorithms.get_all_states import get_all_states  # noqa: E402

GAMES = {
    "kuhn": KuhnPoker(),
    "rock-paper-scissors": RockPaperScissors(),
    "kuhn, 3 players": KuhnPoker(players=3),
    "liar's dice": LiarsDice(3),
    "goofspiel": Goofspiel(3),
    "blotto": ColonelBlotto(),
    "coyote": Coyote(deck=Coyote.TINY),
    "leduc": LeducPoker(),
}
SLOW = ["kuhn, 3 players", "liar's dice", "goofspiel", "blotto", "coyote", "leduc"]
ROWS = [
    pytest.param(game, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
    for name, game in GAMES.items()
]
EVERY_GAME = pytest.mark.parametrize("game", ROWS)


@EVERY_GAME
def test_nash_conv_agrees_and_strategies_come_back(game):
    theirs = cfr.to_open_spiel(game)
    for strategy in (cfr.solve(game, "cfr+", 30).strategy, cfr.Strategy.random(game, 0)):
        policy = cfr.to_open_spiel(strategy)
        expected = pyspiel.nash_conv(theirs, policy)
        assert cfr.nash_conv(game, strategy) == pytest.approx(expected, abs=1e-9)
        assert cfr.from_open_spiel_policy(game, policy).max_difference(strategy) == 0


@EVERY_GAME
def test_open_spiels_own_checks_pass(game):
    pyspiel.random_sim_test(cfr.to_open_spiel(game), 3, True, False)


@pytest.mark.parametrize("game", ROWS[:-1])  # Leduc poker would take ten seconds
def test_the_facts_about_a_game_are_right(game):
    theirs, tree = cfr.to_open_spiel(game), cfr.compile(game)
    assert cfr.to_open_spiel(game) is theirs
    states = get_all_states(theirs, include_terminals=True, include_chance_states=True)
    assert len(states) <= tree.num_histories  # str(state) may coincide
    kinds, length = set(), 0
    for state in states.values():
        kinds |= {"chance"} if state.is_chance_node() else set()
        length = max(length, sum(move.player >= 0 for move in state.full_history()))
        if state.is_terminal():
            assert theirs.min_utility() <= min(state.returns())
            assert max(state.returns()) <= theirs.max_utility()
            assert sum(state.returns()) == pytest.approx(theirs.utility_sum())
        elif not state.is_chance_node():
            actions = state.legal_actions()
            assert actions == sorted(actions) and actions[-1] < theirs.num_distinct_actions()
    assert length == theirs.max_game_length()
    stochastic = (
        theirs.get_type().chance_mode == pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC
    )
    assert stochastic == ("chance" in kinds)


@EVERY_GAME
def test_tensors_tell_infosets_apart(game):
    theirs, tree = cfr.to_open_spiel(game), cfr.compile(game)
    rows = np.array([theirs.tensor(label) for label in tree.infoset_label])
    assert rows.shape == (tree.num_infosets, theirs.information_state_tensor_size())
    assert len(np.unique(rows, axis=0)) == tree.num_infosets


def test_actions_have_names_and_one_number_each():
    theirs = cfr.to_open_spiel(KuhnPoker())
    state = theirs.new_initial_state()
    assert not any(state.information_state_tensor(0))
    assert [state.action_to_string(a) for a, _ in state.chance_outcomes()][:2] == ["JQ", "JK"]
    state.apply_action(0)
    assert [state.action_to_string(0, a) for a in state.legal_actions()] == ["check", "bet"]
    assert state.information_state_string() == state.observation_string() == "J"
    assert state.information_state_string(1) == ""
    state.apply_action(1)
    assert [state.action_to_string(1, a) for a in state.legal_actions()] == ["fold", "call"]
    assert state.legal_actions() == [2, 3] and state.legal_actions(0) == []
    assert state.information_state_string(0) == "J → bet"
    assert state.information_state_tensor(0) == theirs.tensor("J").tolist()
    assert str(state) == "JQ bet"
    with pytest.raises(ValueError, match="'check' is illegal here"):
        state.apply_action(0)


class Backwards(Game):
    """Two players choose in turn; the second lists the actions the other way round."""

    total = 0.0

    def node(self, h):
        if len(h) < 2:
            return Decision(len(h), f"player {len(h)}", ("a", "b") if not h else ("b", 1, "a"))
        return Terminal((3.0, self.total - 3.0) if h[0] == h[1] else (0.0, self.total))


def test_legal_actions_ascend_whatever_the_order_of_the_node():
    game = Backwards()
    theirs = cfr.to_open_spiel(game)
    state = theirs.new_initial_state().child(0)
    assert state.legal_actions() == [0, 1, 2]
    assert [state.action_to_string(1, a) for a in (0, 1, 2)] == ["a", "b", "1"]
    strategy = cfr.Strategy(
        game, {"player 0": {"a": 1}, "player 1": {"b": 0.2, 1: 0.7, "a": 0.1}}
    )
    policy = cfr.to_open_spiel(strategy)
    assert dict(policy.action_probabilities(state)) == {0: 0.1, 1: 0.2, 2: 0.7}
    assert cfr.from_open_spiel_policy(game, policy) == strategy


@pytest.mark.parametrize(
    ("game", "utility", "total", "bounds"),
    [
        (KuhnPoker(), "ZERO_SUM", 0.0, (-2, 2)),
        (Scaled(KuhnPoker(), 0.5), "ZERO_SUM", 0.0, (-1, 1)),
        (type("Shared", (Backwards,), {"total": 5.0})(), "CONSTANT_SUM", 5.0, (0, 5)),
        (MatrixGame([[3, 0], [5, 1]], [[3, 5], [0, 1]]), "GENERAL_SUM", None, (0, 5)),
    ],
)
def test_utility_has_the_right_kind(game, utility, total, bounds):
    theirs = cfr.to_open_spiel(game)
    assert theirs.get_type().utility == getattr(pyspiel.GameType.Utility, utility)
    assert theirs.utility_sum() == total
    assert (theirs.min_utility(), theirs.max_utility()) == bounds
    uniform = pyspiel.UniformRandomPolicy(theirs)
    assert cfr.nash_conv(game, cfr.Strategy.uniform(game)) == pytest.approx(
        pyspiel.nash_conv(theirs, uniform), abs=1e-12
    )


def test_a_game_in_which_everything_is_seen_has_perfect_information():
    class Seen(Game):
        def node(self, h):
            return Decision(len(h), f"{h}", "ab") if len(h) < 2 else Terminal((len(set(h)), 0))

    information = cfr.to_open_spiel(Seen()).get_type().information
    assert information == pyspiel.GameType.Information.PERFECT_INFORMATION


def test_copies_stay_with_their_game():
    game = KuhnPoker()
    theirs = cfr.to_open_spiel(game)
    assert pickle.loads(pickle.dumps(theirs)) is deepcopy(theirs) is theirs
    state = theirs.new_initial_state().child(3).child(1)
    for other in (deepcopy(state), pickle.loads(pickle.dumps(state)), state.clone()):
        assert str(other) == str(state) and other.get_game() == theirs
        other.apply_action(2)
    assert state.history() == [3, 1]


def test_a_game_of_open_spiel_stays_the_same_game():
    game = cfr.from_open_spiel("kuhn_poker")
    assert cfr.to_open_spiel(game) is game.pyspiel_game


@pytest.mark.parametrize("kind", [pyspiel.CFRSolver, their_cfr.CFRSolver])
def test_open_spiels_cfr_is_ours(kind):
    """In C++ and in Python."""
    game = KuhnPoker()
    solver = kind(cfr.to_open_spiel(game))
    for _ in range(20):
        solver.evaluate_and_update_policy()
    found = cfr.from_open_spiel_policy(game, solver.average_policy())
    assert found.max_difference(cfr.solve(game, "cfr", 20).strategy) < 1e-12


def test_search_plays():
    theirs = cfr.to_open_spiel(KuhnPoker())
    random = np.random.RandomState(0)
    evaluator = mcts.RandomRolloutEvaluator(1, random)
    bot = mcts.MCTSBot(theirs, 1.0, 20, evaluator, random_state=random)
    state = theirs.new_initial_state().child(0).child(1)  # jack and queen; a bet
    assert state.action_to_string(1, bot.step(state)) == "call"  # the bot sees the jack


def test_agents_meet_the_game_in_open_spiels_environment():
    theirs = cfr.to_open_spiel(KuhnPoker())
    env = rl_environment.Environment(theirs)
    assert env.action_spec()["num_actions"] == 4
    time = env.reset()
    while not time.last():
        player = time.observations["current_player"]
        assert (
            len(time.observations["info_state"][player])
            == env.observation_spec()["info_state"][0]
        )
        time = env.step([time.observations["legal_actions"][player][0]])
    assert time.rewards in ([1.0, -1.0], [-1.0, 1.0])


class Bids(Game):
    """Eight sealed bids of each player in turn, of which both see the earlier ones."""

    def node(self, h):
        if not h:
            return Chance({"x": 0.25, "y": 0.75})
        n = len(h) - 1
        if n == 16:
            won = sum((a > b) - (a < b) for a, b in zip(h[1::2], h[2::2], strict=True))
            return Terminal((won, -won))
        return Decision(n % 2, f"{n % 2} {n} {h[1 : 1 + n - n % 2]}", (0, 1, 2, 3))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Bids")
def test_a_game_too_large_to_compile_plays_in_open_spiel():
    game = Bids()
    theirs = cfr.to_open_spiel(game)
    kind = theirs.get_type()
    assert (
        kind.utility == pyspiel.GameType.Utility.ZERO_SUM and theirs.num_distinct_actions() == 4
    )
    assert theirs.information_state_tensor_size() == 512
    pyspiel.random_sim_test(theirs, 2, True, False)
    first = {"0 0 ()": {3: 1.0}}
    run = cfr.MCCFR(game, sampling="outcome", seed=0).run(20)

    def lowest(nodes, uniforms):
        return np.eye(1, 4).repeat(len(nodes), axis=0)

    state = theirs.new_initial_state().child(1)
    number = {state.action_to_string(0, a): a for a in state.legal_actions()}
    for player, expected in (
        (first, {number["3"]: 1.0}),
        (lowest, {number["0"]: 1.0}),
        (run.average, {number[str(a)]: p for a, p in run.average["0 0 ()"].items()}),
    ):
        policy = cfr.to_open_spiel(player, game)
        row = policy.action_probabilities(state)
        assert {a: p for a, p in row.items() if p} == {a: p for a, p in expected.items() if p}
        back = cfr.from_open_spiel_policy(game, policy)
        ours, again = (cfr.simulate(game, p, 50, seed=1) for p in (player, back))
        assert (ours == again).all()
    uniform = cfr.from_open_spiel_policy(game, policies.UniformRandomPolicy(theirs))
    assert (cfr.simulate(game, uniform, 9, seed=2) == cfr.simulate(game, {}, 9, seed=2)).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:Rare")
def test_an_action_that_random_games_did_not_show_can_be_given():
    class Rare(Bids):
        def node(self, h):
            node = super().node(h)
            rare = isinstance(node, Decision) and h[1:] == (3,) * 12
            return Decision(node.player, node.infoset, (0, 1, 2, 3, 4)) if rare else node

    game = Rare()
    path = ["x", *(3,) * 12]
    with pytest.raises(cfr.GameError, match=r"the action 4, .*actions=\["):
        cfr.to_open_spiel(game).state(path).legal_actions()
    theirs = cfr.to_open_spiel(game, actions=range(5))
    assert theirs.state(path).legal_actions() == [0, 1, 2, 3, 4]


@pytest.mark.slow
def test_a_mixture_of_networks_must_be_drawn_from():
    deep = pytest.importorskip("cfrlib.deep")
    game, small = KuhnPoker(), deep.Training((4,), steps=2, batch=8)
    run = deep.DeepCFR(game, traversals=5, advantage=small, on_demand=True, seed=0)
    policy = run.run(2, progress=False).policy()
    state = cfr.to_open_spiel(game).new_initial_state().child(0)
    with pytest.raises(ValueError, match="tickets"):
        cfr.to_open_spiel(policy).action_probabilities(state)
    drawn = policy.draw(seed=0)
    theirs = cfr.to_open_spiel(drawn)
    found = cfr.from_open_spiel_policy(game, theirs)
    assert found.max_difference(drawn.strategy()) < 1e-6
    expected = exploitability.nash_conv(cfr.to_open_spiel(game), theirs)
    assert cfr.nash_conv(game, found) == pytest.approx(float(expected), abs=1e-6)


@pytest.mark.filterwarnings("ignore:OpenSpielGame")
def test_a_large_game_of_open_spiel_takes_policies_both_ways():
    game = cfr.from_open_spiel("liars_dice(numdice=2)")
    uniform = cfr.from_open_spiel_policy(game, policies.UniformRandomPolicy(game.pyspiel_game))
    same = cfr.simulate(game, uniform, 5, seed=0) == cfr.simulate(game, {}, 5, seed=0)
    assert same.all()
    policy = cfr.to_open_spiel({}, game)
    state = game.state(game.node(game.root()).actions[:1])
    while state.is_chance_node():
        state = state.child(state.legal_actions()[0])
    row = policy.action_probabilities(state)
    assert list(row) == state.legal_actions() and sum(row.values()) == pytest.approx(1)


def test_an_error_of_the_rules_names_the_history_in_open_spiel():
    class Slip(KuhnPoker):
        def node(self, h):
            return {}["card"] if len(h) == 2 and h[1] == "bet" else super().node(h)

    theirs = cfr.to_open_spiel(KuhnPoker())
    theirs.game = Slip()
    with pytest.raises(KeyError) as error:
        pyspiel.nash_conv(theirs, pyspiel.UniformRandomPolicy(theirs))
    assert re.search(
        r"rules of KuhnPoker\(\) at history \(\('\w', '\w'\), 'bet'\)", *error.value.__notes__
    )
    with pytest.raises(KeyError) as error:
        cfr.to_open_spiel(Slip())
    assert "raised by the rules of" in error.value.__notes__[0]
