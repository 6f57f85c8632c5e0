"""Comparison with OpenSpiel: games, CFR strategies, exploitability, and conversions."""

import json
import subprocess
import sys
from functools import cache

import pytest
from toy_games import Scaled

import cfrlib as cfr
from cfrlib.core.tree import TERMINAL
from cfrlib.interop.open_spiel import _action_names

pyspiel = pytest.importorskip(
    "pyspiel", reason="OpenSpiel is not installed: pip install open-spiel"
)
from open_spiel.python import policy as their_policy  # noqa: E402
from open_spiel.python.algorithms import cfr as their_cfr  # noqa: E402
from open_spiel.python.algorithms import cfr_br as their_cfr_br  # noqa: E402


def noisy(name):
    """Return a two-player OpenSpiel game with slightly perturbed payoffs, to break ties.

    If two actions are equally good, their regrets are zero up to rounding errors. The signs of
    the errors, and therefore the next strategy, depend on the order of additions: OpenSpiel
    adds history by history, cfrlib sequence by sequence. Some games have many such ties.
    Without ties, two correct programs must agree (see
    `test_without_noise_strategies_differ_only_at_ties`).
    """
    return f"add_noise(game={name},epsilon=0.01,seed=1)"


# Two or three players, zero-sum or general-sum; simultaneous moves are converted to turns.
# The comments give the number of histories.
GAMES = {
    "kuhn": "kuhn_poker",  # 58
    "kuhn 3 players": "kuhn_poker(players=3)",  # 617
    "kuhn, misere": "misere(game=kuhn_poker())",  # 58
    "kuhn, restricted Nash response": "restricted_nash_response(game=kuhn_poker())",  # 117
    "kuhn as a matrix, simultaneous": "normal_form_extensive_game(game=kuhn_poker())",  # 4,161
    "leduc": "leduc_poker",  # 9,457
    "leduc after J J": "start_at(game=leduc_poker(),history=0;1)",  # 315
    "liar's dice, 3 sides": "liars_dice(dice_sides=3)",  # 1,147
    "liar's dice, 5 sides": "liars_dice(dice_sides=5)",  # 51,181; six sides: test_goldens.py
    "goofspiel, 4 cards, simultaneous": (
        "goofspiel(imp_info=True,num_cards=4,points_order=descending)"  # 1,077
    ),
    "goofspiel, 3 players, simultaneous": (
        "goofspiel(imp_info=True,num_cards=3,players=3,points_order=descending)"  # 418
    ),
    "goofspiel, 4 cards, chance, noise": noisy(
        "turn_based_simultaneous_game(game=goofspiel(imp_info=True,num_cards=4))"  # 26,773
    ),
    "battleship, noise": noisy(
        "battleship(board_width=2,board_height=2,ship_sizes=[1;2],ship_values=[1;1],"
        "num_shots=2,allow_repeated_shots=False)"  # 13,685
    ),
    "dark hex": "dark_hex(board_size=2)",  # 441
    "hex, perfect information": "hex(num_cols=3,num_rows=2)",  # 1,021
    "battle of the sexes, general-sum": "matrix_bos",  # 7
    "hanabi, common payoff": "tiny_hanabi",  # 55
    "sheriff, general-sum": "sheriff(num_rounds=1)",  # 53
    "bargaining, general-sum": "bargaining(max_turns=2,max_num_instances=2)",  # 1,067
    "bridge, common payoff": "tiny_bridge_2p",  # 107,129
    "auction, general-sum": "first_sealed_auction(max_value=10)",  # 7,096
    "auction, 3 players": "first_sealed_auction(max_value=5,players=3)",  # 9,525
    "oh hell, 3 players": (
        "oh_hell(players=3,num_suits=1,num_cards_per_suit=4,num_tricks_fixed=1)"  # 2,069
    ),
}
LARGE = ["liar's dice, 5 sides", "battleship, noise"]
LARGE += ["bridge, common payoff", "goofspiel, 4 cards, chance, noise"]
EVERY_GAME = pytest.mark.parametrize(
    "name",
    [
        pytest.param(GAMES[id], id=id, marks=[pytest.mark.slow] if id in LARGE else [])
        for id in GAMES
    ],
)

HALF = "goofspiel(returns_type=point_difference,"  # payoffs are half the point difference
# OpenSpiel's name, the game in cfrlib, number of infosets
PAIRS = [
    ("kuhn_poker", cfr.games.KuhnPoker(), 12),
    ("kuhn_poker(players=3)", cfr.games.KuhnPoker(players=3), 48),
    ("leduc_poker", cfr.games.LeducPoker(), 936),
    ("leduc_poker(suit_isomorphism=True)", cfr.games.LeducPoker(merge_suits=True), 288),
    ("liars_dice(dice_sides=3)", cfr.games.LiarsDice(faces=3), 192),
    ("liars_dice(dice_sides=2,numdice=2)", cfr.games.LiarsDice(faces=2, dice=2), 768),
    (f"{HALF}imp_info=True,num_cards=3)", Scaled(cfr.games.Goofspiel(3), 0.5), 90),
    (f"{HALF}imp_info=False,num_cards=3)", Scaled(cfr.games.Goofspiel(3, False), 0.5), 114),
    (
        f"{HALF}imp_info=True,num_cards=4,points_order=descending)",
        Scaled(cfr.games.Goofspiel(4, prizes="descending"), 0.5),
        162,
    ),
    ("blotto(coins=5,fields=3)", cfr.games.ColonelBlotto(), 2),
    ("matrix_rps", cfr.games.RockPaperScissors(), 2),
]


@pytest.fixture(scope="module", autouse=True)
def free_shared_games():
    """Free the shared games, more than a gigabyte, after the tests of this file."""
    yield
    load.cache_clear()
    open_spiel_solver.cache_clear()


@cache
def load(name):
    return cfr.from_open_spiel(name)


@cache
def open_spiel_solver(name, variant, iterations):
    """Run OpenSpiel's alternating CFR or CFR+ in C++; the solver owns its policies."""
    kind = {"cfr": pyspiel.CFRSolver, "cfr+": pyspiel.CFRPlusSolver}[variant]
    solver = kind(load(name).pyspiel_game)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    return solver


def open_spiel_counts(game):
    """Traverse OpenSpiel's states; return the number of terminal states and of infosets."""
    ends, infosets, stack = 0, set(), [game.new_initial_state()]
    while stack:
        state = stack.pop()
        if state.is_terminal():
            ends += 1
        elif not state.is_chance_node():
            infosets.add((state.current_player(), state.information_state_string()))
        stack.extend(state.child(a) for a in state.legal_actions())
    return ends, len(infosets)


@pytest.mark.slow
@EVERY_GAME
def test_tree_sizes_agree_with_open_spiel(name):
    tree, theirs = cfr.compile(load(name)), load(name).pyspiel_game
    assert (tree.num_terminals, tree.num_infosets) == open_spiel_counts(theirs)
    table = open_spiel_solver(name, "cfr", 50).tabular_average_policy().policy_table()
    assert tree.num_infosets == len(table)
    assert tree.num_players == theirs.num_players()


@EVERY_GAME
def test_nash_conv_of_uniform_agrees(name):
    game = load(name)
    uniform = pyspiel.UniformRandomPolicy(game.pyspiel_game)
    expected = pyspiel.nash_conv(game.pyspiel_game, uniform)
    assert cfr.nash_conv(game, cfr.Strategy.uniform(game)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("variant", ["cfr", "cfr+"])
@EVERY_GAME
def test_strategies_agree_after_50_iterations(name, variant):
    game = load(name)
    solver = open_spiel_solver(name, variant, 50)
    expected = pyspiel.nash_conv(game.pyspiel_game, solver.average_policy())
    assert cfr.solve(game, variant, 50).nash_conv == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize(
    "name",
    [
        "blotto(coins=4,fields=2,players=3)",
        "battleship(board_width=2,board_height=2,ship_sizes=[1],ship_values=[1],"
        "num_shots=2,allow_repeated_shots=False)",
    ],
)
def test_without_noise_strategies_differ_only_at_ties(name):
    """After one iteration the strategies differ somewhere, but only where all regrets are 0."""
    game, run = load(name), cfr.CFR(load(name)).run(1)
    solver = open_spiel_solver(name, "cfr", 1)
    theirs = cfr.from_open_spiel_policy(game, solver.current_policy())
    assert run.current.max_difference(theirs) > 0.1
    for label, row in run.current.items():
        if list(row.values()) != pytest.approx(list(theirs[label].values()), abs=1e-9):
            assert list(run.regrets[label].values()) == pytest.approx([0] * len(row), abs=1e-14)


def test_one_player_games_agree():
    """OpenSpiel's CFR is excluded: it skips states the player does not reach."""
    game = load("cliff_walking(height=2,width=3,horizon=5)")
    theirs = game.pyspiel_game
    assert game.num_players == 1
    tree = cfr.compile(game)
    assert (tree.num_terminals, tree.num_infosets) == open_spiel_counts(theirs)
    expected = pyspiel.nash_conv(theirs, pyspiel.UniformRandomPolicy(theirs))
    assert cfr.nash_conv(game, cfr.Strategy.uniform(game)) == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize(("name", "ours", "infosets"), PAIRS)
def test_library_games_equal_open_spiels(name, ours, infosets):
    theirs = load(name)
    assert cfr.compile(theirs).num_infosets == cfr.compile(ours).num_infosets == infosets
    if name != "liars_dice(dice_sides=2,numdice=2)":  # cfrlib sorts the dice: 12 = 21
        ends = [
            sorted(tree.utility[tree.player == TERMINAL, 0].round(9).tolist())
            for tree in map(cfr.compile, (ours, theirs))
        ]
        assert len(ends[0]) > 0 and ends[0] == ends[1]
    uniform, solved = cfr.Strategy.uniform, lambda game: cfr.solve(game, "cfr", 50).strategy
    for strategy in (uniform, solved):
        for measure in (cfr.nash_conv, cfr.expected_utility):
            found, expected = (measure(game, strategy(game)) for game in (ours, theirs))
            assert found == pytest.approx(expected, abs=1e-9)
    if infosets < 300 and "players" not in name:
        assert cfr.solve_lp(ours).value == pytest.approx(cfr.solve_lp(theirs).value, abs=1e-9)


@pytest.mark.parametrize(("name", "iterations"), [("kuhn_poker", 3), ("leduc_poker", 10)])
def test_cfr_br_agrees(name, iterations):
    """Few iterations of Kuhn: later, best responses tie and are chosen differently."""
    game = load(name)
    solver = their_cfr_br.CFRBRSolver(game.pyspiel_game)
    for _ in range(iterations):
        solver.evaluate_and_update_policy()
    run = cfr.CFR(game, "cfr", update="best response").run(iterations)
    for ours, theirs in (
        (run.average, solver.average_policy()),
        (run.current, solver.current_policy()),
    ):
        found = cfr.from_open_spiel_policy(game, theirs)
        assert ours.max_difference(found) == pytest.approx(0, abs=1e-12)


def test_kuhn_strategies_agree_at_every_infoset(kuhn):
    """Equal probabilities, not only equal exploitability; infosets are matched by label."""
    game = load("kuhn_poker")
    solver = open_spiel_solver("kuhn_poker", "cfr", 50)
    theirs = cfr.from_open_spiel_policy(game, solver.average_policy())
    ours = cfr.solve(kuhn, "cfr", 50).strategy
    moves = {"": "", "p": " check", "b": " bet", "pb": " check-bet"}
    seen = set()
    for their_label, row in theirs.items():
        text = their_label.split(": ")[1]  # "1pb": the queen, pass, bet
        label = "JQK"[int(text[0])] + moves[text[1:]]
        assert list(ours[label].values()) == pytest.approx([row["Pass"], row["Bet"]], abs=1e-12)
        seen.add(label)
    assert seen == set(ours)


SMALL = ["kuhn", "kuhn 3 players", "leduc", "liar's dice, 3 sides", "oh hell, 3 players"]
SMALL += ["goofspiel, 4 cards, simultaneous", "auction, general-sum", "dark hex"]
SMALL_GAMES = pytest.mark.parametrize("name", [pytest.param(GAMES[id], id=id) for id in SMALL])


@SMALL_GAMES
def test_exported_strategies_have_the_same_nash_conv_and_come_back_exactly(name):
    game = load(name)
    solution = cfr.solve(game, "cfr+", 30)
    policy = cfr.to_open_spiel(solution.strategy)
    assert isinstance(policy, pyspiel.TabularPolicy)
    expected = pyspiel.nash_conv(game.pyspiel_game, policy)
    assert solution.nash_conv == pytest.approx(expected, abs=1e-10)
    table = policy.policy_table()
    for given in (policy, table, {text: dict(row) for text, row in table.items()}):
        back = cfr.from_open_spiel_policy(game, given)
        assert back.max_difference(solution.strategy) == 0


def test_python_policies_are_converted():
    game = load("leduc_poker")
    theirs = game.pyspiel_game
    uniform = cfr.Strategy.uniform(game)
    for policy in (
        their_policy.UniformRandomPolicy(theirs),
        their_policy.TabularPolicy(theirs),
    ):
        assert cfr.from_open_spiel_policy(game, policy).max_difference(uniform) == 0
    solver = their_cfr.CFRSolver(pyspiel.load_game("kuhn_poker"))
    for _ in range(20):
        solver.evaluate_and_update_policy()
    found = cfr.from_open_spiel_policy(load("kuhn_poker"), solver.average_policy())
    expected = cfr.solve(load("kuhn_poker"), "cfr", 20).strategy
    assert found.max_difference(expected) == pytest.approx(0, abs=1e-12)


def test_infoset_labels_and_action_names():
    game = load("goofspiel(imp_info=True,num_cards=3,players=3,points_order=descending)")
    label = next(iter(cfr.Strategy.uniform(game)))
    assert label.startswith("0: Current player: 0 | P0 hand: 1 2 3 | ")
    assert list(cfr.Strategy.uniform(game)[label]) == ["[P0]Bid: 1", "[P0]Bid: 2", "[P0]Bid: 3"]
    assert cfr.compile(load("kuhn_poker")).history(4) == ("Deal:0", "Deal:1")
    assert repr(load("leduc_poker")) == "OpenSpielGame('leduc_poker')"
    theirs = pyspiel.load_game("kuhn_poker")
    assert repr(cfr.from_open_spiel(theirs)) == "OpenSpielGame('kuhn_poker')"


def efg_game(*names):
    """Return an .efg game: a biased coin, then a choice between two action names."""
    text = 'EFG 2 R "coin" { "A" "B" }\nc "" 1 "" { "up" 0.25 "down" 0.75 } 0\n'
    for side in (1, 2):
        text += f'p "" 1 {side} "saw {side}" {{ "{names[0]}" "{names[1]}" }} 0\n'
        text += "".join(f't "" {2 * side + n} "" {{ {n} -{n} }}\n' for n in (0, 1))
    return pyspiel.load_efg_game(text)


def test_game_loaded_from_a_file():
    game = cfr.from_open_spiel(efg_game("stop", "go"))
    strategy = cfr.Strategy.uniform(game)
    assert [list(row) for row in strategy.values()] == [["stop", "go"]] * 2
    assert cfr.expected_utility(game, strategy)[0] == 0.5


def test_actions_with_the_same_number_are_rejected():
    with rejects(cfr.GameError, "same number", "different names"):
        cfr.compile(cfr.from_open_spiel(efg_game("go", "go")))


class FakeState:
    """Minimal stand-in for an OpenSpiel state, with given action names and strings."""

    def __init__(self, words, text=""):
        self.words, self.text = words, text

    def action_to_string(self, player, action):
        return self.words[action]

    def information_state_string(self, player):
        return self.text

    def legal_actions(self):
        return list(range(len(self.words)))


def test_action_names_are_unique():
    words = ["pass", "pass (2)", "pass", "", "two\nlines ", "pass"]
    found = _action_names(FakeState(words), 0, range(6))
    assert found == ["pass", "pass (2)", "pass (3)", "3", "two lines", "pass (4)"]


def test_infoset_labels_are_unique():
    game = cfr.from_open_spiel("kuhn_poker")
    texts = ["a\nb", "a | b", "a\nb"]
    labels = [game.node(Holder(text)).infoset for text in texts]
    assert labels == ["0: a | b", "0: 'a | b'", "0: a | b"]


class Holder:
    """Return a history of player 0 with information state string `text`."""

    def __init__(self, text):
        self.state = FakeState(("x",), text)
        self.state.current_player = lambda: 0


def rejects(error, *parts):
    """Expect an error whose message contains all these parts."""
    return pytest.raises(error, match="".join(f"(?s:(?=.*{part}))" for part in parts))


def test_missing_open_spiel_error_contains_the_install_command(monkeypatch):
    strategy = cfr.Strategy.uniform(load("kuhn_poker"))
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    for use in (lambda: cfr.from_open_spiel("kuhn_poker"), lambda: cfr.to_open_spiel(strategy)):
        with rejects(ImportError, "pip install open-spiel"):
            use()


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("kuhn_pokr", ["no game 'kuhn_pokr'", "did you mean kuhn_poker"]),
        ("leduc(players=2)", ["no game 'leduc'", "leduc_poker"]),
        ("", ["no game ''", "registered_names"]),
        ("misere(game=kuhn())", ["Unknown game 'kuhn'", "parameters of misere"]),
        ("kuhn_poker(players=3)x", ["brackets"]),
        ("kuhn_poker(players=3", ["brackets"]),
        ("kuhn_poker(player=3)", ["Unknown parameter 'player'", "players=2"]),
        ("kuhn_poker(players=three)", ["Wrong type", "players=2"]),
        ("kuhn_poker(players=99)", ["num_players", "players=2"]),
        ("nfg_game", ["filename"]),
        (3, ["name", "int"]),
    ],
)
def test_invalid_game_name_is_rejected(name, parts):
    with rejects(ValueError, *parts):
        cfr.from_open_spiel(name)


def run_in_new_process(code, *words):
    """Run a program in a new process and return its JSON output."""
    completed = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
    )
    return json.loads(completed.stdout.splitlines()[-1])


@pytest.mark.slow
def test_python_games_are_registered_on_demand():
    """Runs in a new process, since the import cannot be undone."""
    code = """
import json, cfrlib as cfr, pyspiel
before = "python_kuhn_poker" in pyspiel.registered_names()
tree = cfr.compile(cfr.from_open_spiel("python_kuhn_poker"))
print(json.dumps([before, tree.num_terminals, tree.num_infosets]))
"""
    assert run_in_new_process(code) == [False, 30, 12]


def test_failing_import_of_python_games_is_reported(monkeypatch):
    """An unknown name that begins with python_ triggers the import; its error is reported."""
    monkeypatch.setitem(sys.modules, "open_spiel.python.games", None)
    with rejects(ImportError, "import open_spiel.python.games"):
        cfr.from_open_spiel("python_nothing")


def test_error_inside_open_spiel_is_reported_as_such(capfd):
    """The perturbed game fails for three players only when it computes returns."""
    game = cfr.from_open_spiel(noisy("kuhn_poker(players=3)"))
    with rejects(cfr.GameError, "history", "OpenSpiel itself fails", "returns.size") as error:
        cfr.compile(game)
    assert len(str(error.value)) <= 400
    h = game.root()
    while not h.state.is_terminal():
        h = game.step(h, game.node(h).actions[0])
    with rejects(cfr.GameError, "OpenSpiel itself fails"):
        game.node(h)
    with rejects(cfr.GameError, "OpenSpiel itself fails"):
        game.step(h, h.numbers)  # no legal action
    capfd.readouterr()  # OpenSpiel prints what it raises


REFUSAL = """
import json, resource, sys, cfrlib as cfr

def megabytes():
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e6 if sys.platform == "darwin" else 1e3)

cfr.compile(cfr.from_open_spiel("kuhn_poker"))
game, before = cfr.from_open_spiel(sys.argv[1]), megabytes()
try:
    cfr.CFR(game)
except cfr.GameError as error:
    message = str(error)
print(json.dumps([message, megabytes() - before]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["hearts", "phantom_ttt", "kriegspiel"])
def test_huge_game_is_rejected_within_memory_limit(name):
    """Earlier versions took up to 5,800 MB, or did not finish; test_tree.py counts visits."""
    message, megabytes = run_in_new_process(REFUSAL, name)
    assert "has more than max_histories=2,000,000" in message
    assert "Far too many for a solver of the whole tree" in message and "MCCFR" in message
    assert megabytes <= 500


@pytest.mark.slow
def test_huge_game_can_be_sampled():
    run = cfr.MCCFR(cfr.from_open_spiel("hearts"), sampling="outcome", seed=0).run(2)
    assert run.iterations == 2 and len(run.average) > 20


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("mfg_crowd_modelling", "mean-field"),
        ("negotiation", "samples its chance outcomes"),
        ("pig", "no information state strings"),
        ("repeated_game(stage_game=matrix_pd(),num_repetitions=2)", "no information state"),
    ],
)
def test_unsupported_types_of_games_are_rejected(name, why):
    with rejects(cfr.GameError, why):
        cfr.from_open_spiel(name)


@pytest.mark.parametrize("name", ["liars_dice_ir(dice_sides=3)", "goofspiel(num_cards=4)"])
def test_compile_rejects_imperfect_recall(name):
    with rejects(cfr.GameError, "imperfect recall"):
        cfr.compile(cfr.from_open_spiel(name))


def test_other_objects_are_rejected(kuhn):
    with rejects(ValueError, "expected a Game, got str"):
        cfr.from_open_spiel_policy("kuhn_poker", {})
    for other in (cfr.solve(load("kuhn_poker"), iterations=1), "kuhn_poker", {}, kuhn.node):
        with rejects(ValueError, "solution.strategy", r"to_open_spiel\(player, game\)"):
            cfr.to_open_spiel(other)
    with rejects(ValueError, "a player is a strategy"):
        cfr.to_open_spiel(3, kuhn)


def test_shared_information_state_string_is_rejected():
    game = cfr.from_open_spiel("kuhn_poker")
    strategy = cfr.Strategy.uniform(game)
    game._labels["1: 2b"] = game._labels["1: 2b"]._replace(text="0")
    with rejects(ValueError, "two players share"):
        cfr.to_open_spiel(strategy)


def test_mismatched_policy_is_rejected():
    game = load("kuhn_poker")
    leduc = load("leduc_poker").pyspiel_game
    whole = cfr.to_open_spiel(cfr.Strategy.uniform(game)).policy_table()
    for policy in ({}, pyspiel.TabularPolicy({}), their_policy.TabularPolicy(leduc)):
        with rejects(ValueError, "no entry for '[01]'", r"cfrlib.to_open_spiel\(game\)"):
            cfr.from_open_spiel_policy(game, policy)
    with rejects(ValueError, "action 7 at '0pb'", "Pass"):
        cfr.from_open_spiel_policy(game, {**whole, "0pb": [(7, 1.0)]})
    with rejects(ValueError, "not probabilities", "0: 0pb"):
        cfr.from_open_spiel_policy(game, {**whole, "0pb": [(0, 0.5), (1, 0.6)]})
    with rejects(ValueError, "expected a policy", "average_policy"):
        cfr.from_open_spiel_policy(game, 3)
