"""Rules that compile: the numbers of the compiled tree and of rules in Python, bit for bit."""

import dataclasses

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib import MCCFR, RobustSampling, Rules
from cfrlib.games import Goofspiel, LiarsDice

DICE = LiarsDice(faces=3)


class Slow(LiarsDice):
    """Liar's dice without rules that compile."""

    rules = None

    def __repr__(self):
        return "LiarsDice(faces=3)"


OPTIONS = {
    "external": {"sampling": "external"},
    "outcome": {"sampling": "outcome", "averaging": "lazy"},
    "chance": {"sampling": "chance"},
    "batch": {"sampling": "external", "batch": 20, "baseline": 0.3},
    "robust": {"sampling": RobustSampling(2, 0.5), "batch": 3, "averaging": "optimistic"},
    "simultaneous": {"sampling": "outcome", "update": "simultaneous", "batch": 2},
}


def same(strategy, other):
    """Whether two partial strategies have equal bits at equal infosets."""
    return {I: dict(row) for I, row in strategy.items()} == {
        I: dict(row) for I, row in other.items()
    }


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_rules_that_compile_give_the_numbers_of_rules_in_python_and_of_the_tree(options):
    fast, slow, tree = (
        MCCFR(game, "dcfr", **options, seed=3, threads=1, on_demand=lazy).run(60)
        for game, lazy in ((DICE, True), (Slow(3), True), (DICE, False))
    )
    assert not fast._walks.rules.in_python
    assert slow._walks.rules.in_python
    for mine, other in zip(
        (fast.average, fast.regrets), (slow.average, slow.regrets), strict=True
    ):
        assert same(mine, other)
    assert all(dict(row) == dict(tree.average[I]) for I, row in fast.average.items())
    assert fast.nodes == slow.nodes == tree.nodes
    assert len(fast.average) > 50


@pytest.mark.parametrize(
    "options", [OPTIONS["batch"], OPTIONS["robust"]], ids=["batch", "robust"]
)
def test_threads_and_interrupted_chunks_do_not_change_the_numbers(options, monkeypatch):
    alone = MCCFR(DICE, **options, seed=1, threads=1, on_demand=True).run(12)
    monkeypatch.setattr("cfrlib.montecarlo.mccfr.WORTH_SHARING", 0)
    shared = MCCFR(DICE, **options, seed=1, threads=3, on_demand=True)
    for count in (5, 4, 3):
        shared.run(count)
    assert same(alone.average, shared.average)


GOOFSPIEL = [
    Goofspiel(2),
    Goofspiel(3),
    Goofspiel(5, imperfect_information=False),
    Goofspiel(13, prizes="descending"),
    Goofspiel(4, imperfect_information=False, prizes="descending"),
]


DICES = [DICE, LiarsDice(faces=2, dice=2), LiarsDice(6, 2)]


@pytest.mark.parametrize("game", DICES + GOOFSPIEL, ids=repr)
def test_games_have_the_same_rules_twice(game):
    cfr.check_rules(game, 200 if game in DICES else 40)


@pytest.mark.parametrize("sampling", ["external", "outcome"])
def test_goofspiel_gives_the_numbers_of_its_tree(sampling):
    fast, tree = (
        MCCFR(GOOFSPIEL[1], "dcfr", sampling=sampling, seed=3, on_demand=lazy).run(60)
        for lazy in (True, False)
    )
    assert not fast._walks.rules.in_python
    assert all(dict(row) == dict(tree.average[I]) for I, row in fast.average.items())
    assert fast.nodes == tree.nodes
    assert len(fast.average) > 50


def test_functions_that_are_in_no_file_compile():
    """A reader may type them at a prompt. Formerly Numba refused to keep them."""
    space = {}
    exec("def player(s): return -1 if s[0] == 0 else -2 if s[4] else s[3] % 2", space)

    class Typed(LiarsDice):
        rules = dataclasses.replace(DICE.rules, player=space["player"])

    typed, filed = (
        MCCFR(game, sampling="outcome", seed=0, on_demand=True).run(5)
        for game in (Typed(3), DICE)
    )
    assert not typed._walks.rules.in_python
    assert same(typed.average, filed.average)


def test_hands_and_bids_that_do_not_fit_into_a_key_have_no_rules():
    assert LiarsDice(9, 4).rules is None
    with pytest.raises(cfr.GameError, match="give it an attribute `rules`"):
        cfr.check_rules(Slow(3))


DIFFER = "but the rules give"
WRONG = [
    ("payoffs", lambda s, out: out.fill(2.0) or 0, DIFFER),
    ("player", lambda s: -1 if s[0] == 0 else -2 if s[4] else 1 - s[3] % 2, DIFFER),
    ("step", lambda s, a: s.__setitem__(0 if s[0] == 0 else 3, 1) or 0, DIFFER),
    ("key", lambda s: s[1], "infosets '.*' and '.*' have the same key"),
    ("key", lambda s: s[0] * 100 + s[1], "at another of its histories"),
]


@pytest.mark.parametrize(("part", "wrong", "match"), WRONG)
def test_rules_that_differ_are_found(part, wrong, match):
    class Wrong(LiarsDice):
        @property
        def rules(self):
            return dataclasses.replace(super().rules, **{part: wrong})

    with pytest.raises(cfr.GameError, match=match):
        cfr.check_rules(Wrong(3))


def forgetful(s):
    """Return a key that is the same for all hands and all bids."""
    return s[3]


def last_bid(s):
    """Return the hand and the last bid: a player forgets their own bids before it."""
    roll, second = s[0] - 1, s[3] % 2
    return s[2] * 10 + second * 4 + (roll % 3 if second else roll // 3)


@pytest.mark.parametrize(
    ("key", "options"),
    [
        (forgetful, {"sampling": "external"}),
        (last_bid, {"sampling": "outcome", "batch": 1}),
        (last_bid, {"sampling": "outcome", "batch": 3}),
    ],
)
def test_walks_that_come_to_an_infoset_by_other_actions_are_found(key, options):
    """With the last bid, each walk alone is sound: the contradiction is between two of them."""

    class Wrong(LiarsDice):
        rules = dataclasses.replace(DICE.rules, key=key)

    run = MCCFR(Wrong(3), **options, seed=0, on_demand=True)
    with pytest.raises(cfr.GameError, match=r"infoset '\d.*must hold all"):
        run.run(1_000)


def test_rules_check_their_arguments():
    with pytest.raises(ValueError, match="most_actions"):
        dataclasses.replace(DICE.rules, most_actions=0)
    assert isinstance(DICE.rules, Rules)
    assert np.array(DICE.rules.root).ndim == 1


class Doubled(LiarsDice):
    """Liar's dice for double stakes; its class has no rules of its own."""

    def node(self, h):
        node = super().node(h)
        if isinstance(node, cfr.Terminal):
            return cfr.Terminal(tuple(2 * u for u in node.utilities))
        return node


def test_a_subclass_that_changes_the_game_does_not_use_the_old_rules():
    lazy, tree = (
        MCCFR(Doubled(3), sampling="external", seed=3, threads=1, on_demand=given).run(20)
        for given in (True, False)
    )
    assert all(row == tree.average[I] for I, row in lazy.average.items())
    assert lazy._walks.rules.in_python
    with pytest.raises(cfr.GameError, match="but the rules give"):
        cfr.check_rules(Doubled(3))  # which compares the rules that it has inherited
    own = type("Own", (Doubled,), {"rules": DICE.rules})(3)
    assert not MCCFR(own, seed=0, on_demand=True)._walks.rules.in_python
