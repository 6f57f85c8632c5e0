"""cfrlib beside OpenSpiel: the same games, the same numbers."""

import pytest
from games import Leduc

import cfrlib as cfr
from cfrlib import Chance, Decision, Game, Terminal

pyspiel = pytest.importorskip(
    "pyspiel", reason="OpenSpiel is not installed: pip install open-spiel"
)
from open_spiel.python.algorithms import cfr as their_cfr  # noqa: E402
from open_spiel.python.algorithms import exploitability as their_exploitability  # noqa: E402


class FromOpenSpiel(Game):
    """Any sequential game of OpenSpiel; histories are its states."""

    def __init__(self, name):
        self.theirs = pyspiel.load_game(name)
        self.num_players = self.theirs.num_players()

    def root(self):
        return self.theirs.new_initial_state()

    def step(self, h, a):
        return h.child(a)

    def node(self, h):
        if h.is_terminal():
            return Terminal(h.returns())
        if h.is_chance_node():
            return Chance(dict(h.chance_outcomes()))
        player = h.current_player()
        label = f"{player}: {h.information_state_string()}"
        return Decision(player, label, h.legal_actions())


# OpenSpiel's name, our game, infosets
PAIRS = [
    pytest.param("kuhn_poker", cfr.games.KuhnPoker(), 12, id="kuhn"),
    pytest.param("kuhn_poker(players=3)", cfr.games.KuhnPoker(players=3), 48, id="kuhn3"),
    pytest.param("leduc_poker", Leduc(), 936, id="leduc"),
]


def their_solver(game, iterations, simultaneous=False):
    """Run OpenSpiel's CFR; alternating, its default, in C++. Its policies live within it."""
    if simultaneous:
        solver = their_cfr._CFRSolver(
            game, alternating_updates=False, linear_averaging=False, regret_matching_plus=False
        )
    else:
        solver = pyspiel.CFRSolver(game)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    return solver


@pytest.mark.parametrize(("name", "ours", "infosets"), PAIRS)
def test_size(name, ours, infosets):
    assert cfr.compile(FromOpenSpiel(name)).num_infosets == infosets
    assert cfr.compile(ours).num_infosets == infosets
    ends = cfr.compile(ours).num_terminals
    assert cfr.compile(FromOpenSpiel(name)).num_terminals == ends


@pytest.mark.parametrize(("name", "ours", "infosets"), PAIRS)
def test_nash_conv_of_uniform(name, ours, infosets):
    theirs = FromOpenSpiel(name)
    wanted = pyspiel.nash_conv(theirs.theirs, pyspiel.UniformRandomPolicy(theirs.theirs))
    for game in (ours, theirs):
        found = cfr.nash_conv(game, cfr.Strategy.uniform(game))
        assert found == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize(("name", "ours", "infosets"), PAIRS)
def test_cfr_after_50_iterations(name, ours, infosets):
    theirs = FromOpenSpiel(name)
    solver = their_solver(theirs.theirs, 50)
    wanted = pyspiel.nash_conv(theirs.theirs, solver.average_policy())
    for game in (ours, theirs):
        assert cfr.solve(game, "cfr", 50).nash_conv == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("iterations", [1, 2, 50])
def test_simultaneous_cfr_on_kuhn(kuhn, iterations):
    theirs = pyspiel.load_game("kuhn_poker")
    solver = their_solver(theirs, iterations, simultaneous=True)
    wanted = their_exploitability.nash_conv(theirs, solver.average_policy())
    solution = cfr.solve(kuhn, "cfr", iterations, update="simultaneous")
    assert solution.nash_conv == pytest.approx(wanted, abs=1e-9)


def test_strategies_are_equal_at_every_infoset_of_kuhn(kuhn):
    """Not only as good: the same probabilities, matched by what the labels say."""
    game = FromOpenSpiel("kuhn_poker")
    solver = their_solver(game.theirs, 50)
    theirs = solver.average_policy()
    ours = cfr.solve(kuhn, "cfr", 50).strategy
    moves = {"": "", "p": " check", "b": " bet", "pb": " check-bet"}
    tree, seen = cfr.compile(game), set()
    for k in range(tree.num_histories):
        if tree.player[k] < 0:
            continue
        state = game.root()
        for a in tree.history(k):
            state = state.child(a)
        text = state.information_state_string()  # "1pb": the queen, pass, bet
        label = "JQK"[int(text[0])] + moves[text[1:]]
        passes, bets = (p for _, p in sorted(theirs.get_state_policy(state)))
        assert list(ours[label].values()) == pytest.approx([passes, bets], abs=1e-12)
        seen.add(label)
    assert seen == set(ours)


@pytest.mark.parametrize("name", ["kuhn_poker", "leduc_poker", "liars_dice(dice_sides=3)"])
def test_our_strategies_are_as_exploitable_by_their_count(name):
    """Hand our strategy to OpenSpiel: it measures what we measure."""
    game = FromOpenSpiel(name)
    solution = cfr.solve(game, "cfr+", 30)
    policy = {}
    for label, row in solution.strategy.items():
        policy[label.split(": ", 1)[1]] = [(a, p) for a, p in row.items()]
    wanted = pyspiel.nash_conv(game.theirs, pyspiel.TabularPolicy(policy))
    assert solution.nash_conv == pytest.approx(wanted, abs=1e-10)
