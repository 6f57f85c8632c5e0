"""read_efg and write_efg: file format, error messages, round trips, agreement with Gambit."""

import io
import random
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from same_game import assert_same
from toy_games import TableGame, random_game

import cfrlib as cfr
from cfrlib import Chance, Decision, GameError, Terminal
from cfrlib.interop import EfgError, read_efg, write_efg
from cfrlib.interop.efg import _add, _distribution_texts
from cfrlib.interop.savefile import exact_ratio
from cfrlib.interop.savefile import labels as savefile_labels

BIASED = Path(__file__).parents[2] / "support" / "data" / "biased_rps.efg"
HEADER = 'EFG 2 R "t" { "Ann" "Bob" }\n'


def ends(game):
    """Return the payoffs of each terminal history, keyed by its action labels."""
    tree = cfr.compile(game)
    return {
        tree.history(k): tuple(tree.utility[k].tolist())
        for k in np.flatnonzero(tree.num_children == 0)
    }


def one_choice(first="{ 1, -1 }", second="{ -1, 1 }", actions='"l" "r"'):
    """Return the text of a game with one decision and two terminal nodes, on four lines."""
    return HEADER + (
        f'p "" 1 1 "I" {{ {actions} }} 0\nt "" 1 "one" {first}\nt "" 2 "two" {second}\n'
    )


# ---- the format --------------------------------------------------------------------------


def test_biased_rock_paper_scissors():
    game = read_efg(BIASED)
    assert repr(game) == "GambitGame('Biased rock-paper-scissors')"
    assert (game.title, game.player_names) == ("Biased rock-paper-scissors", ("Row", "Column"))
    assert game.comment.endswith("\nBoth play (rock, paper, scissors) = (.2, .6, .2); "
                                 "the value is 0.")  # fmt: skip
    built_in = ends(cfr.games.RockPaperScissors(rock_beats_scissors=3))
    assert ends(game) == built_in
    solution = cfr.solve_lp(game)
    assert solution.value == pytest.approx(0, abs=1e-9)
    for infoset in ("row", "column"):
        assert list(solution.strategy[infoset]) == ["rock", "paper", "scissors"]
        assert list(solution.strategy[infoset].values()) == pytest.approx([0.2, 0.6, 0.2])


def test_read_efg_accepts_a_path_or_text(tmp_path):
    """With a byte order mark, line ends of Windows, or the older D in place of R."""
    text, windows = BIASED.read_text(), tmp_path / "windows.efg"
    windows.write_bytes(b"\xef\xbb\xbf" + BIASED.read_bytes().replace(b"\n", b"\r\n"))
    texts = [text, f"\n \t{text}", f"\ufeff{text}", text.replace("2 R", "2 D")]
    for source in (str(BIASED), windows, *texts):
        assert_same(read_efg(source), read_efg(BIASED))
    with pytest.raises(FileNotFoundError):
        read_efg("none.efg")


@pytest.mark.parametrize(
    "first", ["{ 1, -1 }", "{ 1 -1 }", "{1,-1}", "{\n1\n,\t-1\n}", "{1,-1,}"]
)
def test_payoffs_are_separated_by_commas_or_spaces(first):
    assert ends(read_efg(one_choice(first))) == {("l",): (1, -1), ("r",): (-1, 1)}


@pytest.mark.parametrize(
    ("word", "value"),
    [
        ("3", 3.0), ("-3", -3.0), ("+3", 3.0), ("0", 0.0), ("007", 7.0),
        ("1/3", 1 / 3), ("-2/6", -1 / 3), ("+1/4", 0.25),
        ("0.1", 0.1), (".5", 0.5), ("-.5", -0.5), ("2.", 2.0),
        ("1e3", 1e3), ("1E-3", 1e-3), ("-2.5e+2", -250.0), (".5e1", 5.0),
        ("1.7976931348623157e308", 1.7976931348623157e308), ("5e-324", 5e-324), ("1e-400", 0.0),
        ("0.1000000000000000055511151231257827", 0.1),
        ("6004799503160661/18014398509481984", 1 / 3),
    ],
)  # fmt: skip
def test_numbers_are_read_as_the_nearest_float(word, value):
    game = read_efg(one_choice(f"{{ {word}, 0 }}"))
    assert ends(game)["l",] == (value, 0.0)


def test_payoffs_along_a_path_add_up_exactly():
    text = (
        HEADER
        + """
        c "" 1 "deal" { "a" 1/2 "b" 1/2 } 1 "ante" { -1/3 0.1 }
        p "" 1 1 "I" { "l" "r" } 2 "fee" { -1/3 0.2 }
        t "" 3 "end" { -1/3 0.3 }
        t "" 0
        p "" 1 1 0
        t "" 1
        t "" 2
    """
    )
    assert ends(read_efg(text)) == {
        ("a", "l"): (-1.0, 0.6),  # with floats 0.6000000000000001
        ("a", "r"): (-2 / 3, 0.3),
        ("b", "l"): (-2 / 3, 0.2),
        ("b", "r"): (-2 / 3, 0.3),
    }


def test_large_payoffs_along_a_path_may_cancel():
    text = HEADER + (
        'p "" 1 1 "" { "a" } 1 "" { 1e308 0 }\np "" 1 2 "" { "a" } 1\n'
        'p "" 1 3 "" { "a" } 2 "" { -1e308 0 }\nt "" 2\n'
    )
    assert ends(read_efg(text)) == {("a", "a", "a"): (0, 0)}


def test_descriptions_may_be_left_out_or_repeated():
    short = (
        HEADER
        + """
        c "" 7 "deal" { "a" 1/2 "b" 1/2 } 0
        c "" 7 0
        p "" 2 5 "I" { "x" "y" } 0
        t "" 9 "end" { 1, 2 }
        t "" 9
        p "" 2 5 0
        t "" 9
        t "" 0
        c "" 7 0
        t "" 9
        t "" 9
    """
    )
    full = short.replace('c "" 7 0', 'c "" 7 "deal" { "a" 0.5 "b" 5e-1 } 0')
    full = full.replace('p "" 2 5 0', 'p "" 2 5 "I" {"x" "y"} 0')
    full = full.replace('t "" 9\n', 't "" 9 "end" { 1.0 4/2 }\n')
    assert short.count("{") < full.count("{")
    assert_same(read_efg(short), read_efg(full))
    tree = cfr.compile(read_efg(short))
    assert (tree.num_histories, tree.num_terminals, tree.num_infosets) == (11, 6, 1)
    assert tree.chance_reach.tolist().count(0.25) == 8
    assert tree.infoset_player.tolist() == [1]


def test_names_of_infosets_events_and_outcomes_may_be_left_out():
    """As in OpenSpiel's guess_the_ace.efg; Gambit 17 wants all names."""
    bare = (
        HEADER
        + """
        c "N" 1 { "ace" 1/52 "other" 51/52 } 0
        p "" 1 1 { "0" "1" } 0
        t "" 1 { 0 0 }
        t "" 2 { 3 -3 }
        p "" 1 2 { "0" "1" } 0
        t "" 1
        t "" 4 { -1, 1 }
    """
    )
    named = re.sub(r"(?<=\d) \{", ' "" {', bare)
    assert named.count('"" {') == 6
    assert_same(read_efg(bare), read_efg(named))
    assert cfr.solve_lp(read_efg(bare)).value == pytest.approx(3 / 52)
    with_name = 'p "" 1 1 "I" { "l" } 1 "one" { 1 2 }\np "" 1 2 "J" { "l" } 1 { 1 2 }\nt "" 0'
    assert labels_of(["Ann", "Bob"], [(1, 1, "I"), (1, 2, "J")]) == ["I", "J"]
    assert ends(read_efg(HEADER + with_name)) == {("l", "l"): (2, 4)}
    again = (
        HEADER + 'c "" 1 "" { "a" 1/2 "b" 1/2 } 0\np "" 1 1 "I" { "l" } 0\nt "" 1 "" { 1 2 }\n'
    )
    assert ends(read_efg(again + 'p "" 1 1 { "l" } 0\nt "" 1 { 1 2 }')) == {
        ("a", "l"): (1, 2), ("b", "l"): (1, 2),
    }  # fmt: skip
    for wrong in ('p "" 1 1 { "r" } 0\nt "" 0', 'p "" 1 1 0\nt "" 1 { 1 3 }'):
        with pytest.raises(EfgError, match="described differently"):
            read_efg(again + wrong)


def test_white_space_matters_only_in_quotes():
    text = one_choice(actions='"a  b" " c"')
    tight = re.sub(r'\s*([{},"])\s*', r"\1", one_choice(actions='"?" "!"'))
    tight = tight.replace("?", "a  b").replace("!", " c")
    loose = re.sub(r"(?<=[0-9{}]) ", "\n\r\f\v\t ", text)
    for version in (tight, loose):
        assert version != text
        assert ends(read_efg(version)) == ends(read_efg(text))
    assert read_efg(text).node(0).actions == ("a  b", " c")


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (r"plain", "plain"),
        (r"say \"hi\"", 'say "hi"'),
        (r"back\slash", r"back\slash"),
        (r"back\\slash", r"back\slash"),
        (r"end\\", "end\\"),
        (r"\\\"", '\\"'),
        ("{ 1, 2 } // no comment", "{ 1, 2 } // no comment"),
        ("two\nlines", "two\nlines"),
        ("ü 日本 🂡", "ü 日本 🂡"),
    ],
)
def test_backslashes_escape_quotes(written, meant):
    assert read_efg(one_choice(actions=f'"{written}"  "r"')).node(0).actions == (meant, "r")
    header = f'EFG 2 R "{written}" {{ "{written}" "Bob" }} "{written}" t "{written}" 0'
    game = read_efg(header)
    assert (game.title, game.comment, game.player_names) == (meant, meant, (meant, "Bob"))
    written = meant.replace('"', "'")
    written = f"{written[:-1]}/" if written.endswith("\\") else written
    assert read_efg(write_efg(game)).title == written


def test_probabilities_may_sum_to_one_within_tolerance():
    text = HEADER + 'c "" 1 "" { "a" 0.3333333333 "b" 0.6666666666 } 0 t "" 0 t "" 0'
    assert cfr.compile(read_efg(text)).probability.tolist() == [1, 0.3333333333, 0.6666666666]


@pytest.mark.parametrize(
    ("labels", "actions"),
    [
        (["a", "a"], ("a", "a (2)")),
        (["a", "a", "a"], ("a", "a (2)", "a (3)")),
        (["a", "a", "a (2)"], ("a", "a (3)", "a (2)")),
        (["", ""], ("1", "2")),
        (["2", ""], ("2", "2 (2)")),
        (["", "1"], ("1 (2)", "1")),
        (["", "a", "a", ""], ("1", "a", "a (2)", "4")),
    ],
)
def test_actions_get_unique_labels(labels, actions):
    for node, odds in (('p "" 1 1 "I"', ""), ('c "" 1 ""', f"1/{len(labels)}")):
        written = " ".join(f'"{label}" {odds}' for label in labels)
        text = HEADER + f"{node} {{ {written} }} 0\n" + 't "" 0\n' * len(labels)
        assert list(ends(read_efg(text))) == [(a,) for a in actions]


def labels_of(players, infosets):
    """Return the labels of one-action infosets, given as (player, number, name), on a path."""
    names = " ".join(f'"{name}"' for name in players)
    nodes = "".join(f'p "" {p} {n} "{name}" {{ "a" }} 0\n' for p, n, name in infosets)
    game = read_efg(f'EFG 2 R "" {{ {names} }}\n{nodes}t "" 0\n')
    labels, h = [], game.root()
    while isinstance(game.node(h), Decision):
        labels.append(game.node(h).infoset)
        h = game.step(h, "a")
    assert sorted(cfr.compile(game).infoset_label) == sorted(labels)
    return labels


@pytest.mark.parametrize(
    ("infosets", "labels"),
    [
        ([(1, 1, "x"), (2, 1, "y")], ["x", "y"]),
        ([(1, 1, "x"), (2, 1, "x")], ["Ann: x", "Bob: x"]),
        ([(1, 1, "x"), (1, 2, "x")], ["Ann: x", "Ann: x (2)"]),
        ([(1, 1, ""), (2, 1, ""), (2, 8, "")], ["Ann: 1", "Bob: 1", "Bob: 8"]),
        ([(1, 1, ""), (2, 1, "Ann: 1")], ["Ann: 1 (2)", "Ann: 1"]),
    ],
)
def test_infosets_get_unique_labels(infosets, labels):
    assert labels_of(["Ann", "Bob"], infosets) == labels


def test_players_get_unique_names():
    infosets = [(1, 1, ""), (2, 1, ""), (3, 1, ""), (4, 1, "")]
    assert labels_of(["", "", "X", "X"], infosets) == [
        "player 0: 1", "player 1: 1", "X: 1", "X (2): 1",
    ]  # fmt: skip


def test_step_and_node_follow_the_tree():
    game = read_efg(one_choice())
    assert game.node(game.step(game.root(), "r")).utilities == (-1, 1)
    with pytest.raises(ValueError, match=r"no action 'up' at node 0; the legal .* 'l', 'r'"):
        game.step(0, "up")
    with pytest.raises(ValueError, match="none, the game is over"):
        game.step(1, "l")


@pytest.mark.slow
def test_a_deep_tree_is_read_without_recursion():
    n = 100_000
    text = 'EFG 2 R "" { "me" }\np "" 1 1 "" { "l" "r" } 0\nt "" 0\n'
    text += 'p "" 1 1 0\nt "" 0\n' * (n - 1)
    game = read_efg(text + 't "" 0\n')
    with pytest.raises(GameError, match="deeper than max_depth=1000"):
        cfr.compile(game)


def test_denominators_stay_bounded_on_a_long_path():
    """The digits of exact sums would grow with the square of the depth."""
    paid, text = [Fraction(1, 10**12 + k) for k in range(1, 101)], 'EFG 2 R "" { "me" }\n'
    for k, payoff in enumerate(paid, start=1):
        text += f'p "" 1 {k} "" {{ "a" }} {k} "" {{ {payoff} }}\n'
    end = read_efg(text + 't "" 0\n').node(len(paid)).utilities[0]
    assert end == pytest.approx(float(sum(paid)), rel=1e-14)
    total = (Fraction(0),)
    for payoff in paid:
        total = _add(total, (payoff,))
        assert total[0].denominator < 2**200


# ---- errors ------------------------------------------------------------------------------

NODE = 'p "" 1 1 "I" { "l" "r" } 0\n'
END = 't "" 1 "o" { 1, 2 }\n'
LONG = "9" * 5000
# (text, error message after the name of the file)
ERRORS = [
    # the header
    ("EFG", "1, column 4: expected version 2 of the format, found the end of the file"),
    ("\nNFG 1 R", "2, column 1: expected 'EFG'; 'NFG' begins a normal-form game: read it "
                  "with cfrlib.read_nfg"),
    ("\ufeff #AGG 2", "1, column 2: expected 'EFG'; '#AGG' begins an action-graph game, which "
                      "cfrlib cannot read"),
    ("#BAGG", "1, column 1: expected 'EFG'; '#BAGG' begins a Bayesian action-graph game"),
    ("", "1, column 1: expected 'EFG', the first word of an extensive game file, found the end "
         "of the file"),
    ("GAME 1\n", "1, column 1: expected 'EFG', the first word of an extensive game file, found "
               "'GAME'"),
    ("EFG 1 R", "1, column 5: expected version 2 of the format, found '1'"),
    ("EFG 2 Q", "1, column 7: expected 'R' (or the older 'D') after the version, found 'Q'"),
    ("EFG 2 R title", "1, column 9: expected the title of the game in quotes, found 'title'"),
    ('EFG 2 R "t" "A"', "1, column 13: expected '{' and the names of the players after the "
                        "title, found '\"A\"'"),
    ('EFG 2 R "t" { }', "1, column 15: expected the name of the first player in quotes, "
                        "found '}'"),
    ('EFG 2 R "t" { "A", "B" }', "1, column 18: expected another player's name in quotes "
                                 "or '}', found ','"),
    ('EFG 2 R "t" {' + '"A" ' * 128 + "}", "1, column 526: cfrlib takes games of at most 127 "
                                           "players"),
    ('EFG 2 R "t', '1, column 9: expected a closing " for this string, found the end of the '
                   "file"),
    ('EFG 2 R "t\\"', '1, column 9: expected a closing "'),
    ('EFG 2 R "t\\\\\\', '1, column 9: expected a closing "'),
    # the nodes
    (HEADER, "2, column 1: expected a node: 'c', 'p' or 't', found the end of the file"),
    (HEADER + "cp", "2, column 1: expected a node: 'c', 'p' or 't', found 'cp'"),
    (HEADER + NODE + END, "4, column 1: expected a node: 'c', 'p' or 't' (the node after 'r' "
                          "at the node of line 2), found the end of the file"),
    (HEADER + NODE + END * 3, "5, column 1: expected the end of the file after the last node "
                              "of the tree, found 't'"),
    (HEADER + "t 1", "2, column 3: expected the name of the node in quotes (it may be empty), "
                     "found '1'"),
    # players and infosets
    (HEADER + 'p "" x', "2, column 6: expected the number of the player who moves (1, 2, …), "
                        "found 'x'"),
    (HEADER + 'p "" 3 1', "2, column 6: there is no player 3, only 1 to 2"),
    (HEADER + 'p "" 0 1', "2, column 6: there is no player 0, only 1 to 2"),
    (HEADER + 'p "" 1 1.5', "2, column 8: expected the number of the infoset, found '1.5'"),
    (HEADER + 'c "" "I"', "2, column 6: expected the number of the chance event, found "
                          "'\"I\"'"),
    (HEADER + 'p "" 1 4 0', "2, column 8: the infoset 4 appears here for the first time, so "
                            "its name and actions must follow the number; found '0'"),
    (HEADER + 'p "" 1 1 "I" 0', "2, column 14: expected '{' and the actions after the name of "
                                "the infoset, found '0'"),
    (HEADER + 'p "" 1 1 { }', "2, column 12: expected an action in quotes, found '}'"),
    (HEADER + 'p "" 1 1 "I" { "l", "r" }', "2, column 19: expected an action in quotes or '}', "
                                           "found ','"),
    (HEADER + NODE + 'p "" 1 1 "J" { "l" "r" } 0', "3, column 8: the infoset 1 was described "
     "differently before, with name 'I' and actions 'l', 'r'; leave the description out or "
     "repeat it exactly"),
    (HEADER + NODE + 'p "" 1 1 "I" { "r" "l" } 0', "3, column 8: the infoset 1 was described"),
    # chance
    (HEADER + 'c "" 1 "" { "a" "b" }', "2, column 17: expected a number, the probability of "
                                       "'a', found '\"b\"'"),
    (HEADER + 'c "" 1 "" {\n"a" 3/2\n"b" -1/2 }', "3, column 5: the probability of 'a' is "
                                                  "not between 0 and 1"),
    (HEADER + 'c "" 1 "" {"a" 1 "b" -1/2 }', "2, column 22: the probability of 'b' is not "
                                             "between 0 and 1"),
    (HEADER + 'c "" 1 "" { "a" 2/3 "b" .333333 } 0', "2, column 11: the probabilities sum to "
                                                     "0.9999996667, expected 1"),
    (HEADER + 'c "" 1 "" { "a" 1 "b" 0 } 0\nc "" 1 "" { "a" 0 "b" 1 } 0',
     "3, column 6: the chance event 1 was described differently before"),
    # outcomes and payoffs
    (HEADER + 't "" -1', "2, column 6: expected the number of the outcome (0 for none), found "
                         "'-1'"),
    (HEADER + 't "" 3', "2, column 6: outcome 3 appears here for the first time, so its name "
                        "and payoffs must follow the number; found the end of the file"),
    (HEADER + 't "" 0 "o" { 1 2 }', "2, column 6: outcome 0 is the empty one and has no name "
                                    "or payoffs"),
    (HEADER + 't "" 1 "o" 5', "2, column 12: expected '{' and the payoffs after the name of "
                              "the outcome, found '5'"),
    (HEADER + 't "" 1 "o" { 1 }', "2, column 16: expected a number, the payoff of 'Bob', "
                                  "found '}'"),
    (HEADER + 't "" 1 "o" { 1,, 2 }', "2, column 16: expected a number, the payoff of 'Bob', "
                                      "found ','"),
    (HEADER + 't "" 1 "o" { 1 2 3 }', "2, column 18: expected '}' after 2 payoffs, one for "
                                      "each player, found '3'"),
    (HEADER + NODE + END + 't "" 1 "o" { 1 3 }', "4, column 6: outcome 1 was described "
     "differently before, with name 'o' and payoffs '1', '2'; leave the description out or "
     "repeat it exactly"),
    (HEADER + NODE + END + 't "" 1 "x" { 1 2 }', "4, column 6: outcome 1 was described "
                                                 "differently before"),
    # numbers
    *[
        (HEADER + f't "" 1 "o" {{ {word} 2 }}', "2, column 14: expected a number, the payoff "
                                                f"of 'Ann', found '{word}'")
        for word in ("x", "1x", "1..2", "1/", "/2", "1/2/3", "1/-2", "1.5/2", "e5", "1e", "--1",
                     "+", ".", "1_000", "nan", "inf", "0x10", "１", "½")
    ],
    (HEADER + 't "" 1 "o" { 1/0 2 }', "2, column 14: '1/0' divides by zero"),
    *[
        (HEADER + f't "" 1 "o" {{ 0 {word} }}', "2, column 16: the number "
                                                f"'{word[:40]}{'…' * (len(word) > 40)}' is "
                                                "out of range")
        for word in ("1e309", "-1e999", "1e1000", "1e-1000", "1e99999999999", f"1e{LONG}", LONG,
                     f"1/{LONG}", f"0.{LONG}")
    ],
    (HEADER + f't "" {LONG}', f"2, column 6: expected the number of the outcome (0 for none), "
                              f"found '{LONG[:40]}…'"),
    (HEADER + 'p "" 1 1 "" { "a" } 1 "" { 1e308 0 }\nt "" 1', "3, column 6: the payoffs on "
     "this path sum to more than a float can hold"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "message"), ERRORS, ids=range(len(ERRORS)))
def test_errors_name_line_column_and_the_expected_token(text, message, tmp_path):
    path = tmp_path / "poker.efg"
    path.write_text(text, encoding="utf-8", newline="")
    with pytest.raises(EfgError) as error:
        read_efg(path)
    actual = str(error.value)
    assert actual.startswith(f"poker.efg, line {message}")
    if message.endswith(("'", "file", "expected 1", "players", "0 and 1", "exactly", "hold")):
        assert actual == f"poker.efg, line {message}"
    assert isinstance(error.value, GameError)
    with pytest.raises(EfgError) as error:
        read_efg(text)  # a text of one line is not mistaken for a path
    assert str(error.value) == actual.replace("poker.efg", "text")


@pytest.mark.slow
@pytest.mark.parametrize("letter", ["n", '\\"', "\n", "\x00", "\U000e0001", "é"])
def test_error_messages_truncate_long_names(letter, tmp_path):
    """Long names are truncated, and only the first of many names are listed."""
    name = letter * 10_000
    actions = " ".join(f'"{name}{n}"' for n in range(100))
    node = f'p "" 1 1 "{name}" {{ {actions} }} 0\n'
    header = f'EFG 2 R "{name}" {{ "{name}" "{name}" }}\n'
    digits = "1234567890" * 4
    payoffs = f"{{ {digits}/{digits}1, {digits}/{digits}3 }}"
    texts = [
        f"EFG {name}",
        header,
        header + node,
        header + node + node.replace('0" "', '0" "x'),
        header + node + f'p "" 1 1 "x{name}" {{ {actions} }} 0',
        header + node.replace("p", "c", 1).replace(" 1 1 ", " 1 "),
        header + f'c "" 1 "" {{ "{name}" 2 }}',
        header + f't "" 1 "{name}" {{ 1 "{name}" }}',
        header + node + f't "" 1 "{name}" {payoffs}\nt "" 1 "{name}x" {payoffs}',
    ]
    path = tmp_path / ("f" * 200 + ".efg")
    for text in texts:
        path.write_text(text, encoding="utf-8", newline="")
        with pytest.raises(EfgError) as error:
            read_efg(path)
        assert len(str(error.value)) <= 300, error.value
    game = read_efg(header + 't "" 0\n')
    assert len(repr(game)) <= 100 and game.title == name.replace("\\", "")


def test_illegal_action_message_is_short():
    actions = " ".join(f'"{n}{"n" * 1_000}"' for n in range(100))
    game = read_efg(HEADER + f'p "" 1 1 "" {{ {actions} }} 0\n' + 't "" 0\n' * 100)
    with pytest.raises(ValueError, match="no action 'up' at node 0; the legal") as error:
        game.step(0, "up")
    assert len(str(error.value)) <= 300


def test_invalid_utf8_is_located(tmp_path):
    path = tmp_path / "latin.efg"
    path.write_bytes('EFG 2 R "é\n'.encode() + 'caf\xe9" { "A" }'.encode("latin-1"))
    with pytest.raises(
        EfgError, match=r"^latin\.efg, line 2, column 4: byte 0xe9 is not UTF-8"
    ):
        read_efg(path)


# ---- writing -----------------------------------------------------------------------------

GAMES = {
    "kuhn": cfr.games.KuhnPoker(),
    "kuhn3": cfr.games.KuhnPoker(players=3),
    "rps": cfr.games.RockPaperScissors(3),
    "biased_rps.efg": read_efg(BIASED),
    "one action": cfr.games.MatrixGame([[1 / 3, 0]]),
}


@pytest.mark.parametrize("game", GAMES.values(), ids=list(GAMES))
def test_games_round_trip(game):
    text = write_efg(game)
    back = read_efg(text)
    assert_same(game, back)
    assert write_efg(back) == text


@pytest.mark.parametrize(
    ("given", "written"),
    [
        (["a  b", " a b\n", "a\tb"], ("a b", "a b (2)", "a b (3)")),
        (['say "x"', "say 'x'"], ("say 'x'", "say 'x' (2)")),
        (["x\\y", "x\\", "x\\\\y", '\\"'], ("x\\y", "x/", "x/\\y", "\\'")),
        (["", " ", "3", "\0"], ("1", "2", "3", "4")),
        (["ü 日本", "\u3000x\x85"], ("ü 日本", "x")),
    ],
)
def test_labels_are_written_so_that_all_readers_take_them(given, written):
    defaults = [str(n + 1) for n in range(len(given))]
    assert savefile_labels(given, defaults) == [f'"{label}"' for label in written]


floats = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(floats, min_size=1, max_size=4))
@example([0.1, 1 / 3, 2 / 3, 1e22])
@example([5e-324, -5e-324, 1.7976931348623157e308, 2.0**53])
@example([0.1 + 0.2, 1e-7, 123456.789, -0.0])
def test_payoffs_round_trip_exactly(payoffs):
    game = TableGame({(): Terminal(payoffs)}, num_players=len(payoffs))
    assert ends(read_efg(write_efg(game))) == {(): tuple(payoffs)}


@pytest.mark.parametrize(
    ("payoff", "word"),
    [(2.0, "2"), (-0.5, "-1/2"), (1 / 3, "1/3"), (0.1, "1/10"),
     (0.1 + 0.2, "0.30000000000000004"), (1e22, "1e22"), (1e-7, "1e-07"),
     (0.12345678912, "0.12345678912"), (1 / 1716, "1/1716"), (2.0**31, "2147483648.0"),
     (-2147483647, "-2147483647"), (1e10 / 3, "3333333333.3333335")],
)  # fmt: skip
def test_payoffs_are_written_as_short_ratios_or_decimals(payoff, word):
    game = TableGame({(): Terminal((payoff,))}, num_players=1)
    assert f"{{ {word} }}" in write_efg(game)


def fractions_in(text):
    """Return the probabilities of the only chance node of a file."""
    [line] = [line for line in text.splitlines() if line.startswith("c ")]
    return [Fraction(word) for word in re.findall(r'"a\d+" (\S+)', line)]


def lottery(probabilities):
    """Return a game in which only chance acts."""
    outcomes = {f"a{k}": p for k, p in enumerate(probabilities)}
    return TableGame({(): Chance(outcomes)} | {(a,): Terminal((1,)) for a in outcomes}, 1)


def distribution(weights):
    """Return probabilities proportional to weights, with the usual rounding errors."""
    return [w / sum(weights) for w in weights]


weights = st.lists(st.floats(0, 1) | st.integers(0, 9).map(float), min_size=1, max_size=8)
weights = weights.filter(lambda w: sum(w) > 0)


@pytest.mark.slow
@given(weights)
@example([1e-300, 1.0, 1.0])
@example([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
@example([1.0, 9.0])
@example([3.0, 3.0, 4.0])
@example([0.75, 0.1475113855776571])  # no ratios that sum to one round to these floats
def test_written_probabilities_sum_to_one_and_round_trip_exactly(weights):
    probabilities = distribution(weights)
    exact = fractions_in(write_efg(lottery(probabilities)))
    assert sum(exact) == 1
    half_steps = sum(Fraction(p - np.nextafter(p, 0)) / 2 for p in probabilities)
    if abs(1 - sum(map(Fraction, probabilities))) < half_steps * Fraction(99, 100):
        assert list(map(float, exact)) == probabilities
    moved = [n for n, p in enumerate(probabilities) if float(exact[n]) != p]
    assert moved in ([], [probabilities.index(max(probabilities))])
    assert list(map(float, exact)) == pytest.approx(probabilities, abs=1e-15)


def test_unrepairable_rounding_errors_go_to_the_largest_probability():
    off = [0.25, 0.5 + 4e-10, 0.25]
    exact = fractions_in(write_efg(lottery(off)))
    assert exact == [Fraction(1, 4), Fraction(1, 2), Fraction(1, 4)]


def test_probabilities_are_written_as_ratios_when_possible():
    assert _distribution_texts((1 / 3, 1 / 3, 1 / 3)) == ("1/3", "1/3", "1/3")
    assert _distribution_texts((0.123456789, 0.876543211)) == ("0.123456789", "0.876543211")
    assert _distribution_texts((1.0, 0.0)) == ("1", "0")
    assert exact_ratio(0.2 + 0.1) != exact_ratio(0.3) == Fraction(3, 10)


def test_write_efg_sets_the_title():
    assert write_efg(GAMES["rps"]).startswith(
        'EFG 2 R "RockPaperScissors(rock_beats_scissors=3)" { "player 0" "player 1" }\n'
    )
    assert write_efg(GAMES["rps"], title='a "b"').startswith("EFG 2 R \"a 'b'\" {")
    again = read_efg(write_efg(GAMES["biased_rps.efg"]))
    for name in ("title", "comment", "player_names"):
        assert getattr(again, name) == getattr(GAMES["biased_rps.efg"], name)


def test_write_efg_writes_a_file(tmp_path):
    path = tmp_path / "rps.efg"
    assert write_efg(GAMES["rps"], path) is None
    assert path.read_text() == write_efg(GAMES["rps"])


def test_write_efg_rejects_an_invalid_game(tmp_path):
    game = TableGame({(): Chance({"a": 0.5})})
    with pytest.raises(GameError, match=r"sum to 0\.5"):
        write_efg(game, tmp_path / "bad.efg")
    assert not list(tmp_path.iterdir())


# ---- agreement with Gambit ---------------------------------------------------------------


@pytest.fixture(scope="module")
def gambit():
    return pytest.importorskip("pygambit", reason="pip install pygambit==17.0.0b2")


@pytest.mark.slow
@settings(max_examples=25)
@given(st.integers(0, 2**32), st.booleans())
def test_values_of_random_games_agree_with_gambit(gambit, seed, whole):
    game = random_game(seed, depth=4, whole=whole)
    theirs = gambit.read_efg(io.StringIO(write_efg(game)))
    value = cfr.solve_lp(game).value
    # lp_solve on the tree (17.0.0b2) may not play a forced action, so use the strategic form
    for result in (
        gambit.nash.lcp_solve(theirs),
        gambit.nash.lp_solve(theirs, use_strategic=True),
    ):
        payoffs = dict(result.equilibrium.payoffs)
        assert float(payoffs["player 0"]) == pytest.approx(value, abs=1e-7)


# ---- fuzzing -----------------------------------------------------------------------------

VALID = [
    BIASED.read_bytes(),
    write_efg(GAMES["kuhn"]).encode(),
    write_efg(random_game(5, players=3, depth=4)).encode(),
    write_efg(random_game(8, players=2, depth=3, whole=True)).encode(),
]


def assert_reads_or_raises(data, folder):
    """Read the bytes as a file; assert a game that compiles or a GameError."""
    path = folder / "any.efg"
    path.write_bytes(data)
    try:
        game = read_efg(path)
    except EfgError as error:
        assert re.match(r"any\.efg, line \d+, column \d+: ", str(error))
        return False
    try:
        tree = cfr.compile(game)
    except GameError:
        return True
    assert tree.num_histories == len(game._nodes)
    assert_same(game, read_efg(write_efg(game)))
    return True


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("fuzz")


@pytest.mark.slow
@settings(max_examples=300)
@given(st.sampled_from(VALID), st.integers(0, 2**32))
def test_damaged_files_are_read_or_raise_efg_error(folder, data, seed):
    rng, data = random.Random(seed), bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data))
        change = rng.choice(("replace", "insert", "delete", "cut"))
        if change == "cut":
            other = at + rng.randint(1, 30)
            del data[at:other]
        elif change == "delete":
            del data[at]
        else:
            byte = rng.choice((*b'"{},\\/.-e019cpt \n', rng.randrange(256)))
            data[at : at + (change == "replace")] = bytes([byte])
    assert_reads_or_raises(bytes(data), folder)


@pytest.mark.slow
@settings(max_examples=100)
@given(st.sampled_from(VALID), st.integers(0, 2**32), st.booleans())
def test_shuffled_tokens_are_read_or_raise_efg_error(folder, data, seed, duplicate):
    rng = random.Random(seed)
    tokens = re.findall(r'"(?:[^"\\]|\\.)*"|[{},]|[^\s{},"]+', data.decode())
    for _ in range(rng.randint(1, 3)):
        i, j = rng.randrange(8, len(tokens)), rng.randrange(8, len(tokens))
        tokens[i], tokens[j] = tokens[j], (tokens[j] if duplicate else tokens[i])
    assert_reads_or_raises(" ".join(tokens).encode(), folder)


@pytest.mark.slow
@pytest.mark.parametrize("data", VALID, ids=range(len(VALID)))
def test_truncated_files_raise_efg_error(folder, data):
    last = data.rindex(b"\n", 0, -1)  # the last line may be complete before it ends
    for stop in [*range(0, last, 1 + last // 150), last]:
        assert not assert_reads_or_raises(data[:stop], folder)
    assert assert_reads_or_raises(data[:-1], folder)
