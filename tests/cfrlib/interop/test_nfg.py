"""read_nfg and write_nfg: both versions, error messages, round trips, agreement with Gambit."""

import io
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_games import TableGame

import cfrlib as cfr
from cfrlib import Chance, Decision, GameError, Terminal
from cfrlib.interop import NfgError, read_nfg, write_nfg
from cfrlib.interop.nfg import NormalFormGame

HEADER = 'NFG 1 R "t" { "Ann" "Bob" } '
NAMES = '{ { "up" "down" } { "left" "middle" "right" } }'
NUMBERS = "1 -1  2 -2  3 -3  4 -4  5 -5  6 -6"
OUTCOMES = """{ { "a" 1, -1 } { "b" 2 -2 } { "" 3, -3 } { "b" 4 -4 } { "" 5 -5 }
{ "" 6,-6 } { "unused" 9 9 } } 1 2 3 4 5 6"""
TABLE = [[1, 3, 5], [2, 4, 6]]  # Ann's payoffs; her strategy changes fastest in a file


# ---- the format ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "body",
    [NUMBERS, f'"a comment" {NUMBERS}', OUTCOMES, f'"a comment"\n{OUTCOMES}',
     OUTCOMES.replace('"" ', "").replace(" 2 -2", " 4/2,-20e-1")],
)  # fmt: skip
def test_both_versions_give_the_same_game(body):
    game = read_nfg(f"{HEADER}{NAMES} {body}")
    assert (game.title, game.player_names) == ("t", ("Ann", "Bob"))
    assert game.comment == ("a comment" if "comment" in body else "")
    assert game.strategies == (("up", "down"), ("left", "middle", "right"))
    assert np.array_equal(game.payoffs, np.stack([TABLE, -np.array(TABLE)], axis=-1))
    assert repr(game) == "NormalFormGame('t')"
    assert game.node(()).actions == ("up", "down") and game.node(()).infoset == "Ann"
    assert game.node(("up",)).infoset == game.node(("down",)).infoset == "Bob"
    assert game.node(("down", "left")).utilities == [2, -2]
    assert game.node(("up", "right")).utilities == [5, -5]
    tree = cfr.compile(game)
    assert (tree.num_histories, tree.num_infosets, tree.zero_sum) == (9, 2, True)
    assert cfr.solve_lp(game).value == pytest.approx(2)


def test_outcome_zero_pays_nothing():
    game = read_nfg(f'{HEADER}{{ 2 1 }} {{ {{ "a" 7 8 }} }} 0 1')
    assert game.payoffs.tolist() == [[[0, 0]], [[7, 8]]]
    empty = read_nfg(f"{HEADER}{{ 2 1 }} {{ }} 0 0")
    assert not empty.payoffs.any()


def test_strategies_may_be_counted_only():
    game = read_nfg(f"{HEADER}{{ 2 3 }} {NUMBERS}")
    assert game.strategies == (("1", "2"), ("1", "2", "3"))
    assert game.payoffs[..., 0].tolist() == TABLE


def test_names_are_made_unique():
    text = 'NFG 1 D "" { "" "X" "X" } { { "a" "a" } { "" } { "b" "" } } ' + "0 " * 12
    game = read_nfg(text)
    assert game.player_names == ("player 0", "X", "X (2)")
    assert game.strategies == (("a", "a (2)"), ("1",), ("b", "2"))


@pytest.mark.parametrize("shape", [(3,), (2, 3), (2, 1, 3), (2, 3, 2, 2)])
def test_payoffs_of_any_number_of_players_are_in_gambits_order(shape):
    profiles = [p[::-1] for p in product(*(range(n) for n in reversed(shape)))]
    numbers = [
        str(sum((s + 1) * 10**i for i, s in enumerate(p)) * 10 + j)
        for p in profiles
        for j in range(len(shape))
    ]
    names = " ".join(f'"{i}"' for i in range(len(shape)))
    text = f'NFG 1 R "t" {{ {names} }} {{ {" ".join(map(str, shape))} }} {" ".join(numbers)}'
    game = read_nfg(text)
    assert game.payoffs.shape == (*shape, len(shape))
    for profile in profiles:
        first = sum((s + 1) * 10**i for i, s in enumerate(profile)) * 10
        assert game.payoffs[profile].tolist() == [first + j for j in range(len(shape))]
        words = tuple(str(s + 1) for s in profile)
        assert game.node(words).utilities == game.payoffs[profile].tolist()


def test_read_nfg_accepts_a_path_or_text(tmp_path):
    text = f"{HEADER}{NAMES}\n{NUMBERS}\n"
    path = tmp_path / "game.nfg"
    path.write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode())
    for source in (path, str(path), text, f"\n {text}", text.replace("\n", " ")):
        assert read_nfg(source).payoffs[..., 0].tolist() == TABLE
    with pytest.raises(FileNotFoundError):
        read_nfg("none.nfg")


# (text, error message after the name of the file)
ERRORS = [
    ("EFG 2 R", "1, column 1: expected 'NFG'; 'EFG' begins an extensive game: read it with "
                "cfrlib.read_efg"),
    ("NFG 2 R", "1, column 5: expected version 1 of the format, found '2'"),
    (HEADER, "1, column 29: expected '{' and the strategies after the names of the players"),
    (HEADER + "{ 2 x }", "1, column 33: expected the number of strategies of 'Bob', found 'x'"),
    (HEADER + "{ 2 0 }", "1, column 33: 'Bob' has no strategies; each player needs at least "
                         "one"),
    (HEADER + "{ 2 900 }", "1, column 33: 900 strategies, but the file is shorter"),
    (HEADER + "{ 9 9 }", "1, column 36: the file is shorter than the number of profiles"),
    (HEADER + "{ 2 3 4 }", "1, column 35: expected '}' after the strategies of the last "
                           "player, found '4'"),
    (HEADER + '{ { "a" } 2 }', "1, column 39: expected '{' and the names of the strategies of "
                               "'Bob', found '2'"),
    (HEADER + '{ { "a" 1 } }', "1, column 37: expected a strategy of 'Ann' in quotes or '}'"),
    (HEADER + '{ { "a" } { } }', "1, column 39: 'Bob' has no strategies"),
    (HEADER + "{ 2 1 } 1 2 3", "1, column 42: expected a number, the payoff of 'Bob' in "
                               "profile 2 of 2, found the end of the file"),
    (HEADER + "{ 2 1 } 1 2 3 4 5", "1, column 45: expected the end of the file after the last "
                                   "profile, found '5'"),
    (HEADER + '{ 2 1 } { "a" 1 2 } 1 1', "1, column 39: expected '{' and an outcome, or '}' "
                                         "after the last one, found '\"a\"'"),
    (HEADER + '{ 2 1 } { { "a" 1 2 } } 1 2', "1, column 55: there is no outcome 2, only 1 to "
                                             "1"),
    (HEADER + '{ 2 1 } { { "a" 1 2 } } 1', "1, column 54: expected the number of the outcome "
                                           "of profile 2 of 2 (0 for none), found the end"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=range(len(ERRORS)))
def test_errors_name_line_column_and_the_expected_token(text, message):
    with pytest.raises(NfgError, match=re.escape(f"text, line {message}")):
        read_nfg(text)
    assert issubclass(NfgError, GameError)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.text() | st.text('{}"01/.,-e \n', max_size=60), st.booleans())
def test_fuzzed_text_is_read_or_raises_nfg_error(text, valid_header):
    try:
        game = read_nfg(f"{HEADER if valid_header else ''}{text}\n")
    except NfgError as error:
        assert re.match(r"text, line \d+, column \d+: ", str(error))
    else:
        assert cfr.compile(game).num_infosets == 2


# ---- writing ---------------------------------------------------------------------------------


def random_table(seed):
    """Return a normal-form game of one to four players with awkward payoffs."""
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 4, size=rng.integers(1, 5)))
    scale = 10.0 ** rng.integers(-12, 13, size=(*shape, len(shape)))
    names = [[f"s{i} {n}" for n in range(k)] for i, k in enumerate(shape)]
    payoffs = np.where(rng.random(scale.shape) < 0.2, 0, rng.normal(size=scale.shape) * scale)
    players = [f"P{i}" for i in range(len(shape))]
    return NormalFormGame("random", "", players, names, payoffs)


@pytest.mark.parametrize("seed", range(20))
def test_random_tables_round_trip(seed):
    game = random_table(seed)
    text = write_nfg(game)
    back = read_nfg(text)
    assert np.array_equal(back.payoffs, game.payoffs)
    assert (back.strategies, back.player_names) == (game.strategies, game.player_names)
    assert write_nfg(back) == text
    uniform = [cfr.Strategy.uniform(g) for g in (game, back)]
    assert cfr.nash_conv(back, uniform[0]) == cfr.nash_conv(game, uniform[1])


def test_games_of_the_package_are_written():
    for game in (
        cfr.games.RockPaperScissors(3),
        cfr.games.ColonelBlotto(4, 3),
        cfr.games.MatrixGame([[1 / 3, 0], [2, 1]], [[1, 2], [3, 4]]),
    ):
        back = read_nfg(write_nfg(game))
        assert np.array_equal(back.payoffs[..., 0], game.row_payoffs)
        assert np.array_equal(back.payoffs[..., 1], game.column_payoffs)
        assert back.strategies == game.actions
        assert back.player_names == ("player 0", "player 1")
        assert back.title == repr(game)


def test_expected_payoffs_and_skipped_moves_are_written():
    """Player 1 acts only after "in"; player 2 never acts; chance moves first."""
    nodes = {(): Chance({"a": 0.25, "b": 0.75})}
    for card, u in (("a", 4), ("b", 8)):
        nodes |= {
            (card,): Decision(0, "enter?", ("out", "in")),
            (card, "out"): Terminal((1, 2, 3)),
            (card, "in"): Decision(1, "fight?", ("yes", "no")),
            (card, "in", "yes"): Terminal((-u, -u, 0)),
            (card, "in", "no"): Terminal((u, 0, 1)),
        }
    game = TableGame(nodes, 3)
    back = read_nfg(write_nfg(game))
    assert back.player_names == ("enter?", "fight?", "player 2")
    assert back.strategies == (("out", "in"), ("yes", "no"), ("1",))
    assert back.payoffs[:, :, 0].tolist() == [[[1, 2, 3], [1, 2, 3]], [[-7, -7, 0], [7, 0, 1]]]


def test_names_that_are_positions_are_left_out():
    game = read_nfg(f'{HEADER}{{ {{ "1" "2" }} {{ "1" "2" "3" }} }} "say {NUMBERS}" {NUMBERS}')
    text = write_nfg(game, title="x")
    assert text.splitlines()[:3] == [
        'NFG 1 R "x" { "Ann" "Bob" }', "{ 2 3 }", f'"say {NUMBERS}"',
    ]  # fmt: skip
    assert read_nfg(text).comment == f"say {NUMBERS}"


def test_a_game_with_several_infosets_is_refused():
    with pytest.raises(GameError, match=r"KuhnPoker\(\) is no normal form: player 0 has 6"):
        write_nfg(cfr.games.KuhnPoker())


def test_write_nfg_writes_a_file(tmp_path):
    path = tmp_path / "rps.nfg"
    assert write_nfg(cfr.games.RockPaperScissors(), path) is None
    assert path.read_text() == write_nfg(cfr.games.RockPaperScissors())


def test_an_nfg_game_is_written_as_a_tree():
    game = read_nfg(f'{HEADER}{NAMES} "note" {NUMBERS}')
    back = cfr.read_efg(cfr.write_efg(game))
    assert (back.title, back.comment, back.player_names) == ("t", "note", ("Ann", "Bob"))
    assert cfr.solve_lp(back).value == pytest.approx(2)


# ---- agreement with Gambit and OpenSpiel -----------------------------------------------------


@pytest.fixture(scope="module")
def gambit():
    return pytest.importorskip("pygambit", reason="pip install pygambit==17.0.0b2")


def in_gambit(gambit, text):
    """Return the payoffs, players and strategies that Gambit reads."""
    theirs = gambit.read_nfg(io.StringIO(text))
    payoffs = np.stack(theirs.to_arrays(dtype=float), axis=-1).astype(float)
    players = tuple(theirs.players)
    return payoffs, players, tuple(tuple(theirs.get_strategies(name)) for name in players)


@pytest.mark.parametrize("seed", range(10))
def test_gambit_reads_the_same_tables(gambit, seed):
    game = random_table(seed)
    payoffs, players, strategies = in_gambit(gambit, write_nfg(game))
    assert np.array_equal(payoffs, game.payoffs)
    assert (players, strategies) == (game.player_names, game.strategies)
    written = gambit.read_nfg(io.StringIO(write_nfg(game))).to_nfg()  # the outcome version
    assert '{ "' in written.split("}", 3)[-1]
    assert np.array_equal(read_nfg(written).payoffs, game.payoffs)


def test_gambit_makes_the_same_normal_form(gambit):
    """A tree in which each player moves once, through Gambit's own conversion."""
    game = cfr.games.RockPaperScissors(3)
    text = gambit.read_efg(io.StringIO(cfr.write_efg(game))).to_nfg()
    assert np.array_equal(read_nfg(text).payoffs, read_nfg(write_nfg(game)).payoffs)


@pytest.mark.parametrize("seed", range(10))
def test_open_spiel_reads_tables_without_names(seed):
    pyspiel = pytest.importorskip("pyspiel", reason="pip install open-spiel")
    game = random_table(seed)
    if game.num_players == 1:
        pytest.skip("OpenSpiel's tables are for two players or more")
    numbers = [[str(n + 1) for n in range(len(own))] for own in game.strategies]
    game = NormalFormGame("", "", game.player_names, numbers, game.payoffs)
    theirs = pyspiel.load_nfg_game(write_nfg(game))
    for profile in product(*map(range, game.payoffs.shape[:-1])):
        state = theirs.new_initial_state()
        state.apply_actions(list(profile))
        assert state.returns() == pytest.approx(game.payoffs[profile], rel=1e-15)
