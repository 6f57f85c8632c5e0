"""Compiling a game: unsound games and too large ones are refused, with what to do."""

import math
import re

import pytest
from bad_games import BAD_GAMES, forgetful

import cfrlib as cfr
from cfrlib import Chance, Decision, Game, GameError, Terminal
from cfrlib.core.tree import EARLY, ESTIMATES, HUGE, LOOKS, MOST_LOOKS, estimate
from cfrlib.games import Goofspiel, KuhnPoker, LiarsDice


@pytest.mark.parametrize(("game", "history", "why", "cure"), BAD_GAMES.values(), ids=BAD_GAMES)
def test_bad_games(game, history, why, cure):
    with pytest.raises(GameError) as error:
        cfr.compile(game)
    message = str(error.value)
    assert f"history {history!r}:" in message
    assert why in message
    assert cure in message


@pytest.mark.parametrize("call", [cfr.solve, cfr.CFR, cfr.solve_lp, cfr.Strategy.uniform])
def test_every_entrance_checks_the_game(call):
    with pytest.raises(GameError, match="imperfect recall"):
        call(forgetful())


def test_imperfect_recall_names_both_histories_and_what_was_forgotten():
    with pytest.raises(GameError) as error:
        cfr.compile(forgetful())
    for word in ("'later'", "('left',)", "('right',)", "'left' at 'x'", "'right' at 'x'"):
        assert word in str(error.value)


class Endless(Game):
    """One coin after another."""

    def node(self, h):
        return Decision(0, f"{len(h)}", ("on",))


def test_too_deep():
    with pytest.raises(GameError, match=r"max_depth=1000 .* cfrlib\.compile\(game, max_depth="):
        cfr.compile(Endless())
    with pytest.raises(GameError, match=r"history \('on', 'on', 'on', 'on'\): .*max_depth=3"):
        cfr.compile(Endless(), max_depth=3)


def test_limits_are_exact_and_can_be_raised(kuhn):
    with pytest.raises(GameError, match="max_depth=3"):
        cfr.compile(kuhn, max_depth=3)
    with pytest.raises(GameError, match=r"max_histories=54 .*compile\(game, max_histories="):
        cfr.compile(kuhn, max_histories=54)
    assert cfr.compile(kuhn, max_depth=4, max_histories=55).num_histories == 55


def too_large(game, **limits):
    """Return the error of a game that is too large, and the size that it tells."""
    with pytest.raises(GameError, match="has more than max_histories") as error:
        cfr.compile(game, **limits)
    message = str(error.value)
    assert message.startswith(f"{game!r} has more than")
    assert "make the game smaller" in message
    assert "cfrlib.MCCFR" in message
    return message, float(re.search(r"about (\S+) by sampling", message)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "limits", "size"),
    [
        (LiarsDice(faces=6, dice=2), {}, 1 + 441 * (2**25 - 1)),
        (KuhnPoker(cards=100), {"max_histories": 1_000}, 1 + 100 * 99 * 9),
        (Goofspiel(4), {"max_histories": 1_000}, 26_773),
    ],
    ids=repr,
)
def test_a_game_too_large_is_told_its_size(game, limits, size):
    """Within a factor of two, without walking all of it."""
    told = too_large(game, **limits)[1]
    assert size / 2 <= told <= 2 * size


@pytest.mark.slow
@pytest.mark.parametrize("game", [KuhnPoker(cards=100), Goofspiel(4)], ids=repr)
def test_the_limit_that_the_error_suggests_suffices(game):
    message, told = too_large(game, max_histories=1_000)
    limit = int(re.search(r"compile\(game, max_histories=([\d_]+)\)", message)[1])
    assert told <= limit <= 4 * told
    assert 1_000 < cfr.compile(game, max_histories=limit).num_histories <= limit


def test_a_game_beyond_all_memory_is_not_told_to_raise_the_limit():
    message, told = too_large(Goofspiel(13), max_histories=10_000)
    assert told > 1e20
    assert "Far too many for a solver of the whole tree" in message
    assert "cfrlib.compile" not in message


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 64])
def test_a_game_without_end_is_too_large_like_any_other(width):
    """64 actions, 200 times in a row: more histories than a float can count."""

    class Forever(Game):
        def node(self, h):
            return Chance(dict.fromkeys(range(width), 1 / width))

    message, told = too_large(Forever(), max_histories=1_000, max_depth=200)
    assert told == (math.inf if width == 64 else pytest.approx(2**201, rel=0.05))
    assert "cfrlib.compile" not in message


class Crowd(Game):
    """Every history has many actions; how many histories are looked at, and how many kept?"""

    class State:
        alive = most = 0

        def __init__(self, depth):
            self.depth = depth
            type(self).alive += 1
            type(self).most = max(self.most, self.alive)

        def __del__(self):
            type(self).alive -= 1

    def __init__(self, width, depth):
        self.width, self.depth, self.looks = width, depth, 0
        self.State.alive = self.State.most = 0

    def root(self):
        return self.State(0)

    def step(self, h, a):
        return self.State(h.depth + 1)

    def node(self, h):
        self.looks += 1
        if h.depth == self.depth:
            return Terminal((0, 0))
        return Decision(0, str(h.depth), tuple(range(self.width)))


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 50, 1_000])
def test_a_huge_game_is_refused_soon(width):
    """No level of the tree is held that only the next one would need, nor walked in full."""
    game = Crowd(width, depth=60)
    message, _ = too_large(game, max_depth=60)
    assert "Far too many" in message
    assert game.looks <= 1.1 * (EARLY / (width - 1) + ESTIMATES * LOOKS + MOST_LOOKS)
    assert game.State.most <= 2 * EARLY / (width - 1) + 10 * width


@pytest.mark.slow
def test_of_a_game_that_compiles_only_those_are_held_whose_children_come():
    game = Crowd(50, depth=3)
    with pytest.raises(GameError, match="imperfect recall"):  # each step is forgotten
        cfr.compile(game)
    assert game.looks == 1 + 50 + 50**2 + 50**3
    assert game.State.most <= 50**2 + 2


def test_a_large_game_is_not_refused_by_bad_luck(monkeypatch):
    """Estimates that scatter by far more than HUGE: not all of them are so much too high."""
    monkeypatch.setattr("cfrlib.core.tree.EARLY", 1_000)

    class Lottery(Game):
        def node(self, h):
            width = 100 if not h else 6 if len(h) < (5 if h[0] % 10 == 3 else 3) else 0
            if not width:
                return Terminal((0, 0))
            return Chance(dict.fromkeys(range(width), 1 / width))

    size = 1 + 100 * (1 + 6 + 6**2) + 10 * (6**3 + 6**4)
    found = [list(estimate(Lottery(), seed))[-1] for seed in range(ESTIMATES)]
    assert max(found) > HUGE * size
    assert cfr.compile(Lottery(), max_histories=size).num_histories == size


def test_a_large_game_that_is_unsound_besides_is_a_game_error_too():
    class Late(cfr.Game):
        def node(self, h):
            return None if len(h) == 12 and not h[-1] else Decision(0, f"{h}", (0, 1))

    with pytest.raises(GameError, match=r"max_histories=1,000 histories, and node\(\) fails"):
        cfr.compile(Late(), max_histories=1_000)
