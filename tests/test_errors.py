"""Bad games and bad calls get an error that says where and what to do."""

import math
import re
import zipfile

import numpy as np
import pytest
from games import TableGame

import cfrlib as cfr
from cfrlib import Chance, Decision, Game, GameError, Terminal
from cfrlib.core.tree import EARLY, ESTIMATES, HUGE, LOOKS, MOST_LOOKS, estimate
from cfrlib.games import (
    Goofspiel,
    KuhnPoker,
    LiarsDice,
    MatrixGame,
    RockPaperScissors,
    kuhn_equilibrium,
)

END = Terminal((1, -1))
LEFT_RIGHT = ("left", "right")
COIN = Chance({"heads": 0.5, "tails": 0.5})


def after_coin(heads, tails, **more):
    """Return a game in which a coin decides which of two nodes is met, then left or right."""
    nodes = {(): COIN, ("heads",): heads, ("tails",): tails}
    nodes |= {(c, a): END for c in ("heads", "tails") for a in (*LEFT_RIGHT, "up")}
    return TableGame(nodes | {tuple(k.split("-")): v for k, v in more.items()})


def choice(player=0, infoset="x", actions=LEFT_RIGHT):
    return Decision(player, infoset, actions)


def forgetful():
    """Return a game whose player 0 forgets the first choice."""
    nodes = {(): choice()}
    nodes |= {(a,): choice(infoset="later") for a in LEFT_RIGHT}
    nodes |= {(a, b): END for a in LEFT_RIGHT for b in LEFT_RIGHT}
    return TableGame(nodes)


def absent_minded():
    """Return a game whose player 0 cannot tell whether this is the first move or the second."""
    nodes = {(): choice(), ("left",): choice(), ("right",): END}
    return TableGame(nodes | {("left", a): END for a in LEFT_RIGHT})


def ends_with(utilities, players=2):
    return TableGame({(): choice(), ("left",): Terminal(utilities), ("right",): END}, players)


# what is wrong -> (game, the history to be named, words of the diagnosis, words of the cure)
BAD_GAMES = {
    "chance sums to 0.9": (
        after_coin(Chance({"a": 0.5, "b": 0.4}), END),
        ("heads",), "sum to 0.9, not 1", "divide each by their sum",
    ),
    "negative probability": (
        after_coin(END, Chance({"a": 1.5, "b": -0.5})),
        ("tails",), "negative", "between 0 and 1",
    ),
    "probability not a number": (
        after_coin(END, Chance({"a": math.nan, "b": 1.0})),
        ("tails",), "non-finite", "between 0 and 1",
    ),
    "chance without outcomes": (
        after_coin(Chance({}), END), ("heads",), "no outcomes", "at least one",
    ),
    "chance is a list of pairs": (
        after_coin(Chance([("a", 1.0)]), END), ("heads",), "no dict", "give one",
    ),
    "probability is a string": (
        after_coin(Chance({"a": "1"}), END), ("heads",), "no dict", "give one",
    ),
    "no actions": (
        after_coin(choice(actions=()), END), ("heads",), "no actions", "return a Terminal",
    ),
    "repeated action": (
        after_coin(END, choice(actions=("left", "right", "left"))),
        ("tails",), "repeats an action", "appear once",
    ),
    "other actions in the same infoset": (
        after_coin(choice(), choice(actions=("left", "up"))),
        ("tails",), "'up'", "put what differs into the label",
    ),
    "fewer actions in the same infoset": (
        after_coin(choice(), choice(actions=("left",))),
        ("tails",), "('left',)", "same actions, in the same order",
    ),
    "other order of actions": (
        after_coin(choice(), choice(actions=("right", "left"))),
        ("tails",), "('right', 'left')", "in the same order",
    ),
    "infoset of two players": (
        after_coin(choice(0), choice(1)),
        ("tails",), "belongs to player 0", "labels of their own",
    ),
    "imperfect recall": (
        forgetful(), ("right",), "imperfect recall", "into the label",
    ),
    "absent-mindedness": (
        absent_minded(), ("left",), "nothing done before", "into the label",
    ),
    "too few utilities": (ends_with((1,)), ("left",), "(1,)", "one utility for each player"),
    "too many utilities": (ends_with((1, 0, -1)), ("left",), "2 numbers", "set num_players"),
    "utilities no sequence": (ends_with(1.0), ("left",), "1.0", "one utility for each player"),
    "utilities no numbers": (ends_with("ab"), ("left",), "'ab'", "one utility for each player"),
    "infinite utility": (ends_with((math.inf, 0)), ("left",), "inf", "ordinary number"),
    "utility not a number": (ends_with((0, math.nan)), ("left",), "nan", "ordinary number"),
    "node returns None": (
        after_coin(None, END), ("heads",), "node() returned None", "return a Chance, Decision",
    ),
    "node returns a class": (
        after_coin(END, Terminal), ("tails",), "node() returned", "return a Chance, Decision",
    ),
    "label no string": (
        after_coin(choice(infoset=7), END), ("heads",), "7 is a int", "str(...)",
    ),
    "label a list": (
        after_coin(choice(infoset=["Q"]), END), ("heads",), "is a list", "str(...)",
    ),
    "player out of range": (
        after_coin(choice(player=2), END), ("heads",), "player 2 acts", "0 to 1",
    ),
    "player negative": (
        after_coin(choice(player=-1), END), ("heads",), "player -1 acts", "set num_players",
    ),
    "player a word": (
        after_coin(choice(player="chance"), END), ("heads",), "'chance' acts", "0 to 1",
    ),
    "action not hashable": (
        after_coin(choice(actions=(["left"], ["right"])), END),
        ("heads",), "['left']", "hashable",
    ),
}  # fmt: skip


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


def bad_call(match, call):
    return pytest.param(call, match, id=match)


KUHN = KuhnPoker()
UNIFORM = {label: dict(row) for label, row in cfr.Strategy.uniform(KUHN).items()}
KNOWN = "'cfr', 'cfr\\+', 'linear', 'dcfr', 'pcfr\\+'"


@pytest.mark.parametrize(
    ("call", "match"),
    [
        bad_call(f"'lcfr'; choose one of {KNOWN}", lambda: cfr.solve(KUHN, "lcfr")),
        bad_call(f"None; choose one of {KNOWN}", lambda: cfr.CFR(KUHN, None)),
        bad_call(rf"\['cfr'\]; choose one of {KNOWN}", lambda: cfr.CFR(KUHN, ["cfr"])),
        bad_call("at least 1, got 0", lambda: cfr.solve(KUHN, iterations=0)),
        bad_call("at least 1, got -1", lambda: cfr.solve(KUHN, iterations=-1)),
        bad_call("whole number, at least 1, got 2.5", lambda: cfr.solve(KUHN, iterations=2.5)),
        bad_call("whole number, at least 1, got '9'", lambda: cfr.CFR(KUHN).run("9")),
        bad_call("'both'; choose one of .*alternating", lambda: cfr.CFR(KUHN, update="both")),
        bad_call("expected a Game, got str", lambda: cfr.solve("kuhn")),
        bad_call("strategy of KuhnPoker.cards=4.*'A'|evaluate the game you solved", lambda: (
            cfr.exploitability(KUHN, cfr.Strategy.uniform(KuhnPoker(4))))),
        bad_call("got NoneType", lambda: cfr.exploitability(KUHN, None)),
        bad_call("got Solution.* solution.strategy", lambda: (
            cfr.exploitability(KUHN, cfr.solve(KUHN, iterations=1)))),
        bad_call("says nothing about 'Q', 'K'", lambda: (
            cfr.nash_conv(KUHN, {"J": UNIFORM["J"]}))),
        bad_call("no infoset 'A'; its infosets are 'J'", lambda: (
            cfr.Strategy(KUHN, {**UNIFORM, "A": {"bet": 1}}))),
        bad_call("'J' has no action 'raise', only", lambda: (
            cfr.Strategy(KUHN, {**UNIFORM, "J": {"raise": 1}}))),
        bad_call("'J' are not probabilities.* sum to 1", lambda: (
            cfr.Strategy(KUHN, {**UNIFORM, "J": {"bet": 0.9}}))),
        bad_call("at least 0, and they must", lambda: (
            cfr.Strategy(KUHN, {**UNIFORM, "J": {"bet": 1.5, "check": -0.5}}))),
        bad_call("'bet': nan", lambda: cfr.Strategy(KUHN, {**UNIFORM, "J": {"bet": math.nan}})),
        bad_call("no infoset 'X'", lambda: cfr.Strategy.uniform(KUHN).replace({"X": {}})),
        bad_call("concentration must be", lambda: cfr.Strategy.random(KUHN, 0, 0)),
        bad_call("concentration must be", lambda: cfr.Strategy.random(KUHN, 0, math.nan)),
        bad_call("alpha must lie between 0 and 1/3, got 0.34", lambda: (
            kuhn_equilibrium(KUHN, 0.34))),
        bad_call("alpha .* got -0.01", lambda: kuhn_equilibrium(KUHN, -0.01)),
        bad_call("alpha .* got nan", lambda: kuhn_equilibrium(KUHN, math.nan)),
        bad_call("3 cards, not KuhnPoker.cards=4", lambda: kuhn_equilibrium(KuhnPoker(4), 0.2)),
        bad_call("3 cards, not RockPaper", lambda: kuhn_equilibrium(RockPaperScissors(), 0.2)),
        bad_call("at least 3 cards, got 2", lambda: KuhnPoker(2)),
        bad_call("at least 4 cards, got 3", lambda: KuhnPoker(3, players=4)),
        bad_call("at least 2 players, got 1", lambda: KuhnPoker(players=1)),
        bad_call("two-player zero-sum games; .*3 players", lambda: (
            cfr.solve_lp(KuhnPoker(players=3)))),
        bad_call("two-player zero-sum games; .*general-sum", lambda: (
            cfr.solve_lp(MatrixGame(np.eye(2), np.eye(2))))),
        bad_call("no player 5; its players are 0 to 1", lambda: (
            cfr.best_response(KUHN, UNIFORM, 5))),
        bad_call("no player -1", lambda: cfr.best_response(KUHN, UNIFORM, -1)),
        bad_call(r"no history .*legal actions are 'check', 'bet'", lambda: (
            cfr.reach(KUHN, UNIFORM, (("J", "Q"), "raise")))),
        bad_call("none, the game is over", lambda: (
            cfr.reach(KUHN, UNIFORM, (("J", "Q"), "bet", "call", "bet")))),
        bad_call(r"got shapes \(2, 2\) and \(2, 3\)", lambda: (
            MatrixGame(np.eye(2), np.ones((2, 3))))),
        bad_call(r"got shapes \(3,\)", lambda: MatrixGame([1, 2, 3])),
        bad_call(r"got shapes \(2, 0\)", lambda: MatrixGame([[], []])),
        bad_call("finite", lambda: MatrixGame([[0, math.inf]])),
        bad_call("2 × 2 game needs 2 different names", lambda: (
            MatrixGame(np.eye(2), actions=("a", "b", "c")))),
        bad_call("different names", lambda: MatrixGame(np.eye(2), actions=("a", "a"))),
        bad_call("vector of finite regrets", lambda: cfr.regret_matching([[1.0, 2.0]])),
        bad_call("got \\[\\]", lambda: cfr.regret_matching([])),
        bad_call("finite regrets.* nan", lambda: cfr.regret_matching([1.0, math.nan])),
        bad_call("rounds must be", lambda: cfr.play(RockPaperScissors(), 0)),
        bad_call("whole number.*2.5", lambda: cfr.play(RockPaperScissors(), 2.5)),
        bad_call(r"make one of them: KuhnPoker\(\)", lambda: cfr.solve(KuhnPoker)),
        bad_call("opponent must hold 3 probabilities", lambda: (
            cfr.play(RockPaperScissors(), 1, opponent=(0.5, 0.5)))),
        bad_call("sum to 1, got", lambda: cfr.play(RockPaperScissors(), 1, opponent=(1, 1, 1))),
        bad_call("got .nan, 0.5, 0.5", lambda: (
            cfr.play(RockPaperScissors(), 1, opponent=(math.nan, 0.5, 0.5)))),
        bad_call("γ finite and at least 0", lambda: cfr.Variant("mine", gamma=-1)),
        bad_call("must be numbers", lambda: cfr.Variant("mine", alpha=math.nan)),
    ],
)  # fmt: skip
def test_bad_calls(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_strategies_fit_a_game_with_the_same_rules(kuhn):
    """Another object of the same game is not another game."""
    assert cfr.nash_conv(kuhn, cfr.solve(KUHN, "cfr+", 100).strategy) < 0.01


def test_unknown_infoset_is_a_key_error(kuhn):
    for table in (cfr.Strategy.uniform(kuhn), cfr.CFR(kuhn).regrets):
        with pytest.raises(KeyError, match=r"no infoset 'Q bett'.* 'J', 'Q', 'K'.*12 in all"):
            table["Q bett"]
        assert "Q bett" not in table
        assert table.get("Q bett") is None


def test_a_large_game_that_is_unsound_besides_is_a_game_error_too():
    class Late(cfr.Game):
        def node(self, h):
            return None if len(h) == 12 and not h[-1] else Decision(0, f"{h}", (0, 1))

    with pytest.raises(GameError, match=r"max_histories=1,000 histories, and node\(\) fails"):
        cfr.compile(Late(), max_histories=1_000)


@pytest.mark.parametrize("gamma", [400, 150.5])
def test_a_weight_beyond_floats_is_told(kuhn, gamma):
    run = cfr.CFR(kuhn, cfr.Variant("late", gamma=gamma))
    with pytest.raises(ValueError, match="choose a smaller gamma"):
        run.run(1_000)
    assert np.isfinite(run.average.values_by_sequence).all()  # what was done stays


@pytest.mark.parametrize(
    "make",
    [
        lambda: cfr.games.KuhnPoker(3.5),
        lambda: cfr.games.KuhnPoker(players=2.0),
        lambda: cfr.games.LeducPoker("3"),
        lambda: cfr.games.LiarsDice(3.0),
        lambda: cfr.games.Goofspiel(None),
        lambda: cfr.games.ColonelBlotto(5.0),
        lambda: cfr.games.Coyote(2.0),
    ],
)
def test_sizes_of_games_are_whole_numbers(make):
    with pytest.raises(ValueError, match="must be a whole number, got"):
        make()


# ---- save files ----------------------------------------------------------------------------


@pytest.fixture
def saved(tmp_path, kuhn):
    path = tmp_path / "kuhn.npz"
    cfr.CFR(kuhn, "dcfr").run(20).save(path)
    return path


NOT_OURS = "is not a complete file written by CFR.save"


@pytest.mark.slow
def test_flipped_bits_are_harmless_or_reported(saved, kuhn):
    whole, rng = saved.read_bytes(), np.random.default_rng(0)
    original, reported = cfr.CFR.load(saved, kuhn).average, 0
    for at in rng.permutation(len(whole))[:600]:
        damaged = bytearray(whole)
        damaged[at] ^= 1 << rng.integers(8)
        saved.write_bytes(damaged)
        try:
            run = cfr.CFR.load(saved, kuhn)
        except ValueError as error:
            assert NOT_OURS in str(error)
            reported += 1
        else:  # zip keeps some things twice, and dates nobody reads
            assert run.average.max_difference(original) == 0
            assert run.iterations == 20
    assert reported > 300


def test_random_bytes(saved, kuhn):
    rng = np.random.default_rng(0)
    for prefix in (b"", b"PK\x03\x04", b"\x93NUMPY", b"{}"):
        saved.write_bytes(prefix + rng.bytes(1000))
        with pytest.raises(ValueError, match=NOT_OURS):
            cfr.CFR.load(saved, kuhn)


def other_npz(path):
    np.savez(path, a=np.arange(3))


def plain_npy(path):
    with path.open("wb") as file:
        np.save(file, np.arange(3))


def pickled(path):
    np.savez(path, header=np.array({"format": "cfrlib.CFR 1"}, object))


def other_zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.npy", "hello")


def other_json(path):
    np.savez(path, header=np.array("[1, 2]"), trace=1, regret=1, sigma=1, total=1)


def other_format(path):
    header = np.array('{"format": "cfrlib.CFR 99"}')
    np.savez(path, header=header, trace=1, regret=1, sigma=1, total=1)


def directory(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "write", [other_npz, plain_npy, pickled, other_zip, other_json, other_format, directory]
)
def test_files_of_something_else(saved, kuhn, write):
    write(saved)
    with pytest.raises(ValueError, match=NOT_OURS):
        cfr.CFR.load(saved, kuhn)


def test_file_of_the_same_game_with_other_payoffs(tmp_path):
    path = tmp_path / "rps.npz"
    cfr.CFR(RockPaperScissors(3)).run(10).save(path)
    with pytest.raises(ValueError, match="rules have changed"):
        cfr.CFR.load(path, RockPaperScissors())
