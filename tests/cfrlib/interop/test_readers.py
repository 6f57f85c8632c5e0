"""What write_efg writes is the same game to Gambit, to OpenSpiel and to read_efg."""

import io

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from same_game import assert_same
from toy_games import TableGame, mini, random_game

import cfrlib as cfr
from cfrlib import Chance, Decision, Terminal
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
from cfrlib.interop.savefile import labels as savefile_labels

pyspiel = pytest.importorskip("pyspiel", reason="pip install open-spiel")
gambit = pytest.importorskip("pygambit", reason="pip install pygambit==17.0.0b2")

RNG = np.random.default_rng(0)
GAMES = [
    KuhnPoker(),
    *(KuhnPoker(cards, players=n) for cards, n in ((13, 2), (6, 3), (5, 4))),
    LeducPoker(merge_suits=True),
    *(RockPaperScissors(a) for a in (3, 0.1)),
    ColonelBlotto(5, 3),
    MatrixGame([[1 / 3, 0]]),
    MatrixGame(np.eye(2), np.eye(2)),
    MatrixGame(1e10 * RNG.normal(size=(3, 4)), RNG.normal(size=(3, 4)) / 3e12),
    MatrixGame([[2.0**31, -(2.0**31), 1e10 / 3, -1e300]]),
    LiarsDice(faces=2, dice=2),
    Goofspiel(3, False),
    Goofspiel(4, prizes="descending"),
    Coyote(deck=Coyote.TINY),
    Coyote(deck=Coyote.TINY, raises=2, players=3),
]
LARGE = [LeducPoker(), LiarsDice(faces=4), Coyote(deck=Coyote.SMALL, raises=1)]
ARRAYS = ["player", "infoset", "utility", "sequence", "infoset_player"]


def in_every_program(game, exact=False):
    """Assert that all programs read the same game; the payoffs of uniform play prove it.

    If `exact`, the names and all numbers come back from Gambit as they were.
    """
    text = cfr.write_efg(game)
    tree, uniform = cfr.compile(game), cfr.Strategy.uniform(game)
    theirs = gambit.read_efg(io.StringIO(text))
    assert len(theirs.players) == tree.num_players
    for own in (cfr.read_efg(text), cfr.read_efg(theirs.to_efg())):
        found = cfr.compile(own)
        if exact:
            assert_same(game, own)
            assert cfr.write_efg(own) == text
        for name in ARRAYS:
            assert np.array_equal(getattr(found, name), getattr(tree, name)), name
        assert found.chance_reach == pytest.approx(tree.chance_reach, rel=1e-15)
    loaded = pyspiel.load_efg_game(text)
    assert loaded.num_players() == tree.num_players
    policy = pyspiel.UniformRandomPolicy(loaded)
    size = np.abs(tree.utility).max() or 1.0
    if tree.num_histories > 1:  # OpenSpiel expects a decision
        payoffs = pyspiel.expected_returns(loaded.new_initial_state(), policy, -1, True)
        expected = cfr.expected_utility(game, uniform)
        assert np.array(payoffs) / size == pytest.approx(expected / size, abs=1e-12)
        found = pyspiel.nash_conv(loaded, policy)
        assert found / size == pytest.approx(cfr.nash_conv(game, uniform) / size, abs=1e-12)
    return loaded


@pytest.mark.slow
@pytest.mark.parametrize("game", [*GAMES, *LARGE], ids=repr)
def test_games_of_the_package(game):
    in_every_program(game, exact=True)


def test_an_end_that_pays_nothing():
    in_every_program(RockPaperScissors())
    assert '"" { 0, 0 }' in cfr.write_efg(RockPaperScissors())


@pytest.mark.slow
def test_mini_koi_koi():
    in_every_program(mini("K8"))


@pytest.mark.slow
@settings(max_examples=60)
@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 5), st.booleans())
def test_random_games(seed, players, depth, whole):
    game = random_game(seed, players, depth, zero_sum=bool(seed % 2), whole=whole)
    in_every_program(game, exact=True)


weights = st.lists(st.floats(0, 1) | st.integers(0, 9).map(float), min_size=1, max_size=6)


@pytest.mark.slow
@settings(max_examples=60)
@given(weights.filter(lambda w: sum(w) > 0), st.floats(-1e300, 1e300))
@example([1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0], 1 / 3)
@example([1e-300, 1.0, 1.0], -1e-300)
@example([0.75, 0.1475113855776571], 2.0**53)
def test_awkward_probabilities_and_payoffs(weights, payoff):
    odds = {f"a{k}": w / sum(weights) for k, w in enumerate(weights)}
    nodes = {(): Chance(odds)}
    for a in odds:
        nodes |= {(a,): Decision(0, a, ("x", "y"))}
        nodes |= {(a, "x"): Terminal((payoff, 0)), (a, "y"): Terminal((0, -payoff))}
    in_every_program(TableGame(nodes))


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.text("\"\\{} '")


@pytest.mark.slow
@given(st.lists(words, min_size=1, unique=True), words, words)
@example(['"', "\\", '\\"', "\\\\", "'", " ", "x ", " x", "x  y\n"], "\\", "\r\n")
def test_awkward_labels(labels, infoset, title):
    """All programs find the same names: `labels` of savefile.py chooses them."""
    nodes = {(): Decision(0, infoset, labels)}
    nodes |= {(a,): Terminal((n, -n)) for n, a in enumerate(labels)}
    game = TableGame(nodes, name=title)
    loaded = in_every_program(game)
    text = cfr.write_efg(game)
    back = cfr.read_efg(text)
    assert cfr.write_efg(back) == text
    actions, found = back.node(0).actions, back.node(0).infoset
    defaults = [str(n + 1) for n in range(len(labels))]
    assert [f'"{a}"' for a in actions] == savefile_labels(labels, defaults)
    assert [f'"{found}"'] == savefile_labels([infoset], ["infoset 0"])
    assert cfr.read_efg(gambit.read_efg(io.StringIO(text)).to_efg()).node(0).actions == actions
    state = loaded.new_initial_state()
    theirs = {
        state.action_to_string(0, a): state.child(a).returns() for a in range(len(labels))
    }
    assert theirs == {a: [n, -n] for n, a in enumerate(actions)}
