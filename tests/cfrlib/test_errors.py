"""Invalid arguments raise errors that say how to fix the call."""

import math

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.games import KuhnPoker, MatrixGame, RockPaperScissors, kuhn_equilibrium
from cfrlib.last_iterate import Iterates, MirrorDescent, RegretMatching


def bad_call(match, call):
    return pytest.param(call, match, id=match)


KUHN = KuhnPoker()
UNIFORM = {label: dict(row) for label, row in cfr.Strategy.uniform(KUHN).items()}
KNOWN = "'cfr', 'cfr\\+', 'linear', 'dcfr', 'pcfr\\+'"


@pytest.mark.parametrize(
    ("call", "match"),
    [
        bad_call(f"'lcfr'; choose one of {KNOWN}", lambda: cfr.solve(KUHN, "lcfr")),
        bad_call(rf"\['cfr'\]; choose one of {KNOWN}", lambda: cfr.CFR(KUHN, ["cfr"])),
        bad_call("at least 1, got 0", lambda: cfr.solve(KUHN, iterations=0)),
        bad_call("whole number, at least 1, got '9'", lambda: cfr.CFR(KUHN).run("9")),
        bad_call("'both'; choose one of .*alternating", lambda: cfr.CFR(KUHN, update="both")),
        bad_call("expected a Game, got str", lambda: cfr.solve("kuhn")),
        bad_call("strategy of KuhnPoker.cards=4.*'A'|evaluate the game you solved", lambda: (
            cfr.exploitability(KUHN, cfr.Strategy.uniform(KuhnPoker(4))))),
        bad_call("got NoneType", lambda: cfr.exploitability(KUHN, None)),
        bad_call("got Solution.* solution.strategy", lambda: (
            cfr.exploitability(KUHN, cfr.solve(KUHN, iterations=1)))),
        bad_call("no probabilities for 'Q', 'K'", lambda: (
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
        bad_call("alpha must lie between 0 and 1/3, got 0.34", lambda: (
            kuhn_equilibrium(KUHN, 0.34))),
        bad_call("alpha .* got -0.01", lambda: kuhn_equilibrium(KUHN, -0.01)),
        bad_call("3 cards, not KuhnPoker.cards=4", lambda: kuhn_equilibrium(KuhnPoker(4), 0.2)),
        bad_call("3 cards, not RockPaper", lambda: kuhn_equilibrium(RockPaperScissors(), 0.2)),
        bad_call("at least 3 cards, got 2", lambda: KuhnPoker(2)),
        bad_call("at least 4 cards, got 3", lambda: KuhnPoker(3, players=4)),
        bad_call("at least 2 players, got 1", lambda: KuhnPoker(players=1)),
        bad_call("two-player zero-sum and constant-sum games; .*3 players", lambda: (
            cfr.solve_lp(KuhnPoker(players=3)))),
        bad_call("two-player zero-sum and constant-sum games; .*general-sum", lambda: (
            cfr.solve_lp(MatrixGame(np.eye(2), np.eye(2))))),
        bad_call("no player 5; its players are 0 to 1", lambda: (
            cfr.best_response(KUHN, UNIFORM, 5))),
        bad_call("no player -1", lambda: cfr.best_response(KUHN, UNIFORM, -1)),
        bad_call("no player True", lambda: cfr.best_response(KUHN, UNIFORM, True)),
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
        bad_call(r"make one of them: KuhnPoker\(\)", lambda: cfr.solve(KuhnPoker)),
        bad_call("opponent must hold 3 probabilities", lambda: (
            cfr.play(RockPaperScissors(), 1, opponent=(0.5, 0.5)))),
        bad_call("sum to 1, got", lambda: cfr.play(RockPaperScissors(), 1, opponent=(1, 1, 1))),
        bad_call("got .nan, 0.5, 0.5", lambda: (
            cfr.play(RockPaperScissors(), 1, opponent=(math.nan, 0.5, 0.5)))),
        bad_call("γ and λ finite", lambda: cfr.Variant("mine", gamma=-1)),
        bad_call("γ and λ finite", lambda: cfr.Variant("mine", prediction=-1)),
        bad_call("must be numbers", lambda: cfr.Variant("mine", alpha=math.nan)),
        bad_call("must be numbers", lambda: cfr.Variant("mine", alpha="1")),
        bad_call(r"play is for matrix games.*KuhnPoker\(\)", lambda: cfr.play(KUHN, 10)),
        bad_call("until must be a number above 0, got 'x'", lambda: cfr.solve(KUHN, until="x")),
        bad_call("seconds must be a number above 0", lambda: cfr.solve(KUHN, seconds=True)),
        bad_call("got 'a'", lambda: cfr.OutcomeSampling("a")),
        bad_call("k must be a whole number, .* got '2'", lambda: cfr.RobustSampling("2")),
        bad_call("unknown on_demand 'yes'", lambda: cfr.MCCFR(KUHN, on_demand="yes")),
        bad_call("baseline must lie between 0 and 1, got '1'", lambda: (
            cfr.MCCFR(KUHN, baseline="1"))),
        bad_call(r"dictionary from outcome to probability.* got \[1, 2\]", lambda: (
            cfr.MCCFR(KUHN, proposal=[1, 2]))),
        bad_call("unknown look_ahead 'extra'; choose one of .*extragradient", lambda: (
            RegretMatching(look_ahead="extra"))),
        bad_call("eta must be a number above 0, got 0.0", lambda: MirrorDescent(0.0)),
        bad_call("tau must be a number at least 0, got -1", lambda: MirrorDescent(1, tau=-1)),
        bad_call("least must be a number at least 0, got -1", lambda: RegretMatching(least=-1)),
        bad_call("gamma must lie between 0 and 1, got 2", lambda: RegretMatching(gamma=2)),
        bad_call("stage must be a whole number, at least 0", lambda: RegretMatching(stage=-1)),
        bad_call("a method is RegretMatching.* got 'rm.'", lambda: Iterates(KUHN, "rm+")),
        bad_call("weight must be a number at least 0, got -1", lambda: (
            Iterates(KUHN, RegretMatching(), weight=-1))),
        bad_call(r"MirrorDescent\(eta=1\) takes no update, delay or sampling", lambda: (
            cfr.solve(KUHN, MirrorDescent(1), update="alternating"))),
        bad_call(r"'RegretMatching\(\)' updates whole trees", lambda: (
            cfr.MCCFR(KUHN, RegretMatching()))),
        bad_call("no player 2; its players are 0 to 1", lambda: (
            cfr.subgames.continual(KUHN, 2))),
        bad_call(r"each of 3 decisions, .*shape \(3, 2\).* got shape \(3,\)", lambda: (
            cfr.simulate(KUHN, [lambda nodes, u: np.ones(len(nodes)), {}], 3))),
        bad_call(r"got shape \(3, 3\)", lambda: (
            cfr.simulate(KUHN, [lambda nodes, u: [[0, 0, 1.0]] * len(nodes), {}], 3))),
    ],
)  # fmt: skip
def test_invalid_arguments_raise(call, match):
    with pytest.raises(ValueError, match=match):
        call()


def test_strategy_fits_an_equal_game_object(kuhn):
    """Two objects with the same rules are the same game."""
    assert cfr.nash_conv(kuhn, cfr.solve(KUHN, "cfr+", 100).strategy) < 0.01


def test_unknown_infoset_raises_key_error(kuhn):
    for table in (cfr.Strategy.uniform(kuhn), cfr.CFR(kuhn).regrets):
        with pytest.raises(KeyError, match=r"no infoset 'Q bett'.* 'J', 'Q', 'K'.*12 in all"):
            table["Q bett"]
        assert "Q bett" not in table
        assert table.get("Q bett") is None


@pytest.mark.parametrize("gamma", [400, 150.5])
def test_overflowing_average_weight_raises(kuhn, gamma):
    run = cfr.CFR(kuhn, cfr.Variant("late", gamma=gamma))
    with pytest.raises(ValueError, match="choose a smaller gamma"):
        run.run(1_000)
    assert np.isfinite(run.average.values_by_sequence).all()  # earlier iterations are kept


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
def test_non_integer_game_size_raises(make):
    with pytest.raises(ValueError, match="must be a whole number, got"):
        make()


def test_a_blueprint_may_be_a_dictionary(kuhn):
    public, uniform = cfr.subgames.public_tree(kuhn), cfr.Strategy.uniform(kuhn)
    for solve in (cfr.subgames.resolve, cfr.subgames.depth_limited):
        one, two = (solve(kuhn, s, 1, [public.find("bet")]) for s in (uniform, UNIFORM))
        assert one == two


def test_a_folder_is_no_name_of_a_file(kuhn, tmp_path):
    with pytest.raises(IsADirectoryError, match=r"is a folder; give a file"):
        cfr.CFR(kuhn).save(tmp_path)
    assert list(tmp_path.parent.glob("*.part")) == []
