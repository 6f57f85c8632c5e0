"""Compilation: unsound and too large games are rejected with a remedy."""

import re

import pytest
from bad_games import BAD_GAMES, forgetful
from toy_games import TableGame, Wrapper

import cfrlib as cfr
from cfrlib import Chance, Decision, Game, GameError, Terminal
from cfrlib.core.tree import (
    EARLY_CHECK,
    HUGE,
    LEAST_SAMPLE,
    LOOK_VISITS,
    NUM_ESTIMATES,
    compiles,
    estimates,
    is_huge,
)
from cfrlib.deep.growing_tree import probe
from cfrlib.games import Coyote, Goofspiel, KuhnPoker, LiarsDice


@pytest.mark.parametrize(
    ("game", "history", "diagnosis", "remedy"), BAD_GAMES.values(), ids=BAD_GAMES
)
def test_errors_name_the_history_the_fault_and_a_remedy(game, history, diagnosis, remedy):
    with pytest.raises(GameError) as error:
        cfr.compile(game)
    message = str(error.value)
    assert f"history {history!r}:" in message
    assert diagnosis in message
    assert remedy in message


class Bet(Game):
    """A game with a forced action at one of two infosets."""

    def __init__(self, forced, both=("fold", "call")):
        self.forced, self.both = forced, both

    def node(self, h):
        if not h:
            return Chance({"good": 0.5, "bad": 0.5})
        if len(h) == 1:
            return Decision(0, h[0], self.forced if h[0] == "bad" else self.both)
        return Terminal((-1, 1) if h[1] == "fold" else (1, -1))


@pytest.mark.parametrize(
    "game",
    [
        Bet("fold"),  # an action elsewhere
        Bet("fold", ("call", "raise")),  # the rules know the word
        Bet("fo", ("fo", "call")),
    ],
)
def test_a_forgotten_comma_is_found(game):
    with pytest.raises(
        GameError, match=r"history \('bad',\): the actions are the letters .*comma"
    ):
        cfr.compile(game)
    game.forced = (game.forced,)
    assert cfr.compile(game).num_histories > 1


class Letters(Game):
    """Two moves; the actions are letters, and the second player does not see the first move."""

    def __init__(self, actions):
        self.actions = actions

    def node(self, h):
        if len(h) < 2:
            return Decision(len(h), f"player {len(h)}", self.actions)
        return Terminal((1, -1) if h[0] == h[1] else (-1, 1))


@pytest.mark.parametrize("actions", ["ab", "LMR", "x", "0123456789"])
def test_letters_may_be_actions(actions):
    assert cfr.compile(Letters(actions)).infoset_actions[0] == tuple(actions)
    only = {(): Decision(0, "I", actions)} | {(a,): Terminal((1, -1)) for a in actions}
    assert cfr.compile(TableGame(only)).num_terminals == len(actions)
    apart = {(): Decision(0, "I", actions)}
    apart |= {(a,): Terminal((n, -n)) for n, a in enumerate(actions)}
    assert cfr.compile(TableGame({(actions,): Terminal((99, -99)), **apart})).num_terminals


@pytest.mark.parametrize("call", [cfr.solve, cfr.CFR, cfr.solve_lp, cfr.Strategy.uniform])
def test_every_entry_point_checks_the_game(call):
    with pytest.raises(GameError, match="imperfect recall"):
        call(forgetful())


def test_imperfect_recall_errors_name_both_histories_and_the_forgotten_actions():
    with pytest.raises(GameError) as error:
        cfr.compile(forgetful())
    for word in ("'later'", "('left',)", "('right',)", "'left' at 'x'", "'right' at 'x'"):
        assert word in str(error.value)


class Endless(Game):
    """One coin after another."""

    def node(self, h):
        return Decision(0, f"{len(h)}", ("on",))


def test_games_beyond_max_depth_are_rejected():
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
    """Return the error message of a game that is too large, and its estimate of the size."""
    with pytest.raises(GameError, match="has more than max_histories") as error:
        cfr.compile(game, **limits)
    message = str(error.value)
    assert message.startswith(f"{game!r} has more than")
    assert "make the game smaller" in message
    assert "cfrlib.MCCFR" in message
    return message, float(re.search(r"(?:about|more than) (\S+) by sampling", message)[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "size"),
    [
        (LiarsDice(faces=6, dice=2), 1 + 441 * (2**25 - 1)),
        (KuhnPoker(cards=100), 1 + 100 * 99 * 9),
        (Goofspiel(4), 26_773),
    ],
    ids=repr,
)
def test_estimates_are_right_within_a_factor_of_two_and_suggested_limits_suffice(game, size):
    message, estimated = too_large(game, max_histories=1_000)
    assert size / 2 <= estimated <= 2 * size
    if size < 1e6:
        limit = int(re.search(r"compile\(game, max_histories=([\d_]+)\)", message)[1])
        assert estimated <= limit <= 4 * estimated
        assert 1_000 < cfr.compile(game, max_histories=limit).num_histories <= limit


def test_no_limit_is_suggested_for_a_game_beyond_all_memory():
    message, estimated = too_large(Goofspiel(13), max_histories=10_000)
    assert estimated > 1e20
    assert "Far too many for a solver of the whole tree" in message
    assert "cfrlib.compile" not in message


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 64])
def test_a_game_without_terminal_histories_is_too_large(width):
    """64 actions, 200 times in a row: the number of histories would overflow a float."""

    class Forever(Game):
        def node(self, h):
            return Chance(dict.fromkeys(range(width), 1 / width))

    message, estimated = too_large(Forever(), max_histories=1_000, max_depth=200)
    assert estimated == 1e30
    assert "cfrlib.compile" not in message


class WideGame(Game):
    """A game that counts visits to histories, and histories in memory at the same time."""

    class State:
        alive = peak = 0

        def __init__(self, depth):
            self.depth = depth
            type(self).alive += 1
            type(self).peak = max(self.peak, self.alive)

        def __del__(self):
            type(self).alive -= 1

    def __init__(self, width, depth):
        self.width, self.depth, self.visits = width, depth, 0
        self.State.alive = self.State.peak = 0

    def root(self):
        return self.State(0)

    def step(self, h, a):
        return self.State(h.depth + 1)

    def node(self, h):
        self.visits += 1
        if h.depth == self.depth:
            return Terminal((0, 0))
        return Decision(0, str(h.depth), tuple(range(self.width)))


@pytest.mark.slow
@pytest.mark.parametrize("width", [2, 50, 1_000])
def test_a_huge_game_is_rejected_early(width):
    game = WideGame(width, depth=60)
    message, _ = too_large(game, max_depth=60)
    assert "Far too many" in message
    looks = 2 * NUM_ESTIMATES * (LOOK_VISITS + 60 * LEAST_SAMPLE)
    assert game.visits <= 1.1 * EARLY_CHECK / (width - 1) + looks
    assert game.State.peak <= 2 * EARLY_CHECK / (width - 1) + LOOK_VISITS / 10 + 10 * width


@pytest.mark.slow
def test_histories_are_freed_once_their_children_are_visited():
    game = WideGame(50, depth=3)
    with pytest.raises(GameError, match="imperfect recall"):  # labels omit the actions
        cfr.compile(game)
    assert game.visits == 1 + 50 + 50**2 + 50**3
    assert game.State.peak <= 50**2 + 2


def test_a_game_within_the_limit_is_not_rejected_by_noisy_estimates(monkeypatch):
    """One estimate is too high by more than a factor of HUGE, but not all of them are."""
    monkeypatch.setattr("cfrlib.core.tree.EARLY_CHECK", 1_000)
    monkeypatch.setattr("cfrlib.core.tree.LOOK_VISITS", 0)  # samples of LEAST_SAMPLE

    class Lottery(Game):
        def node(self, h):
            width = 100 if not h else 6 if len(h) < (5 if h[0] % 10 == 3 else 3) else 0
            if not width:
                return Terminal((0, 0))
            return Chance(dict.fromkeys(range(width), 1 / width))

    size = 1 + 100 * (1 + 6 + 6**2) + 10 * (6**3 + 6**4)
    assert max(estimates(Lottery())) > HUGE * size
    assert cfr.compile(Lottery(), max_histories=size).num_histories == size


class Auction(Game):
    """Lots are auctioned one after another; both players pay their sealed bids."""

    def __init__(self, lots, purses):
        self.lots, self.purses = lots, purses

    def node(self, h):
        if not h:
            n = len(self.purses)
            return Chance({(a, b): n**-2 for a in self.purses for b in self.purses})
        bids, i = h[1:], (len(h) - 1) % 2
        if len(bids) == 2 * self.lots:
            won = sum((a > b) - (a < b) for a, b in zip(bids[::2], bids[1::2], strict=True))
            return Terminal((won, -won))
        left = h[0][i] - sum(bids[i::2])
        return Decision(i, f"{i}: {h[0][i]} {bids[: len(bids) - i]}", range(left + 1))


class Counted(Wrapper):
    """A game that counts visits to its histories."""

    visits = 0

    def node(self, h):
        self.visits += 1
        return self.game.node(h)

    def __repr__(self):
        return repr(self.game)


MOST_VISITS = NUM_ESTIMATES * (LOOK_VISITS + 100 * LEAST_SAMPLE)  # of at most 100 actions
TOO_LARGE = [
    LiarsDice(6, 2),
    Auction(5, (8, 9, 10)),  # about 5e7 histories
    Auction(5, (9, 10, 11)),  # about 1e8 histories
    Goofspiel(5),  # 3,347,000 histories
    KuhnPoker(cards=700),  # 4,400,000 histories
]


@pytest.mark.slow
@pytest.mark.parametrize("game", TOO_LARGE, ids=repr)
def test_a_bounded_look_finds_that_a_game_is_too_large(game):
    counted = Counted(game)
    assert is_huge(counted)
    assert counted.visits <= MOST_VISITS
    with pytest.warns(RuntimeWarning, match="on_demand=True"):
        assert not compiles(counted)
    visits = counted.visits
    assert not compiles(counted) and counted.visits == visits  # said once, looked once


@pytest.mark.slow
@pytest.mark.parametrize(
    "game",
    [
        KuhnPoker(),
        KuhnPoker(cards=460),  # 1,900,000 histories
        KuhnPoker(players=5),
        LiarsDice(),
        Coyote(),
        Auction(4, (4, 5, 6)),
    ],
    ids=repr,
)
def test_a_bounded_look_finds_that_a_game_compiles(game):
    counted = Counted(game)
    assert compiles(counted)
    assert counted.visits <= MOST_VISITS


def test_an_estimate_that_visits_all_histories_is_exact():
    for game in (KuhnPoker(), Letters("abc"), KuhnPoker(cards=5)):
        assert set(estimates(game)) == {cfr.compile(game).num_histories}


def test_a_game_that_was_compiled_with_a_higher_limit_is_used_as_it_is(monkeypatch):
    monkeypatch.setattr("cfrlib.core.tree.MAX_HISTORIES", 10)
    monkeypatch.setattr("cfrlib.core.tree.is_huge", lambda game: True)
    game = KuhnPoker(cards=4)
    with pytest.warns(RuntimeWarning, match="more than 10 histories"):
        assert not cfr.MCCFR(game, seed=0).is_complete
    cfr.compile(game)
    assert cfr.MCCFR(game, seed=0).is_complete


class Slip(Game):
    """Two coins and a decision; the rules stumble after tails, where `at` says."""

    def __init__(self, at):
        self.at = at

    def root(self):
        return [] if self.at == "step" else ()

    def step(self, h, a):
        if self.at == "step" and h[-1:] == ["tails"]:
            raise KeyError("card")
        return [*h, a] if self.at == "step" else (*h, a)

    def node(self, h):
        if not h:
            return Chance({"heads": 0.5, "tails": 0.5})
        if len(h) == 1:
            return Decision(0, h[0], ("stop", "go"))
        return Terminal({"heads": (1, -1)}[h[0]])


HOW = {
    "compile": cfr.compile,
    "solve": cfr.solve,
    "MCCFR": lambda game: cfr.MCCFR(game, seed=0),
    "on demand": lambda game: cfr.MCCFR(game, seed=0, on_demand=True).run(20),
    "simulate": lambda game: cfr.simulate(game, [{}, {}], 20, seed=0),
    "online sampling": lambda game: cfr.OOS(game, seed=0, on_demand=True).search(
        ("heads",), iterations=200
    ),
    "random games": probe,
}


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("at", ["node", "step"])
def test_an_error_of_the_rules_names_the_history(how, at):
    with pytest.raises(KeyError) as error:
        HOW[how](Slip(at))
    [note] = error.value.__notes__
    assert note.startswith("raised by the rules of Slip() at history ('tails', '")


def test_an_error_beyond_the_limit_names_the_history():
    class Late(Slip):
        def node(self, h):
            return Decision(0, f"{h}", (0, 1)) if len(h) < 12 else Terminal({}["card"])

    with pytest.raises(GameError, match="node\\(\\) fails on one beyond them") as error:
        cfr.compile(Late("node"), max_histories=1_000)
    [note] = error.value.__context__.__notes__
    assert note.startswith("raised by the rules of Late() at history (")
