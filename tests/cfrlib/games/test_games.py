"""Rules of the library's games, checked on histories short enough to verify by hand."""

import copy
import inspect
import pickle
from itertools import permutations, product

import numpy as np
import pytest

import cfrlib as cfr
import koikoi
from cfrlib import Game, games
from cfrlib.core.tree import TERMINAL
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
from koikoi import KoiKoi, MiniKoiKoi

# games by their repr
REPR = {
    "KuhnPoker()": KuhnPoker(),
    "KuhnPoker(cards=5, players=3)": KuhnPoker(5, 3),
    "LeducPoker()": LeducPoker(3, 2),
    "LeducPoker(merge_suits=True)": LeducPoker(merge_suits=True),
    "LeducPoker(ranks=4, suits=2, merge_suits=True)": LeducPoker(4, 2, True),
    "LiarsDice(faces=3)": LiarsDice(3),
    "LiarsDice(faces=2, dice=2)": LiarsDice(2, 2),
    "Goofspiel(prizes='descending')": Goofspiel(4, prizes="descending"),
    "Goofspiel(cards=3, imperfect_information=False)": Goofspiel(3, False),
    "Coyote(cap=9)": Coyote(cap=9),
    "Coyote(deck={1: 1, 2: 1, 3: 1}, cap=4, raises=2)": Coyote(2, Coyote.TINY, 4, 2),
    "MiniKoiKoi.K8()": MiniKoiKoi.K8(koi_factor=2),
    "MiniKoiKoi.K8(koi_limit=1)": MiniKoiKoi.K8(koi_limit=1),
    "RockPaperScissors(rock_beats_scissors=2.5)": RockPaperScissors(2.5),
    "ColonelBlotto(soldiers=5, fields=3)": ColonelBlotto(),
}
PENNIES = MatrixGame([[1, -1], [-1, 1]], actions=("heads", "tails"))
COORDINATION = MatrixGame(np.eye(2), np.eye(2))


def utilities(game, *h):
    return tuple(game.node(h).utilities)


def chance(game, *h):
    return dict(game.node(h).probabilities)


def decision(game, *h):
    node = game.node(h)
    return node.player, node.infoset, tuple(node.actions)


def ends(game):
    """Yield each terminal history of a game with its payoffs."""
    tree = cfr.compile(game)
    for k in np.flatnonzero(tree.player == TERMINAL):
        yield tree.history(k), tuple(tree.utility[k])


def assert_same_tree(one, other):
    one, other = cfr.compile(one), cfr.compile(other)
    names = {name for name in vars(one) if name != "game"}
    assert len(names) > 15
    for name in names:
        np.testing.assert_equal(getattr(one, name), getattr(other, name), name)


# ---- every game ----------------------------------------------------------------------------


def test_every_public_game_is_tested_here():
    kinds = {g for _, g in inspect.getmembers(games, inspect.isclass) if issubclass(g, Game)}
    assert {type(game) for game in (*REPR.values(), PENNIES)} == kinds | {MiniKoiKoi}
    assert {kind.__name__ for kind in kinds} == set(games.__all__) - {"kuhn_equilibrium"}


@pytest.mark.slow
@pytest.mark.parametrize("text", REPR)
def test_repr_recreates_the_game(text):
    assert repr(REPR[text]) == text
    assert_same_tree(REPR[text], eval(text, {**vars(games), **vars(koikoi), "Coyote": Coyote}))


def test_reprs_of_large_and_matrix_games():
    assert repr(Goofspiel()) == "Goofspiel()"
    assert repr(RockPaperScissors()) == "RockPaperScissors()"
    assert repr(LiarsDice()) == "LiarsDice()"
    assert repr(LiarsDice(dice=2)) == "LiarsDice(dice=2)"
    assert repr(KoiKoi(special=6)) == "KoiKoi(special=6)"
    assert repr(PENNIES) == "MatrixGame(2 × 2)"


@pytest.mark.slow
@pytest.mark.parametrize("game", [*REPR.values(), PENNIES, COORDINATION], ids=repr)
def test_games_pickle_before_and_after_compilation(game):
    fresh = copy.copy(game)
    assert "_memo" not in vars(fresh)
    before = pickle.loads(pickle.dumps(fresh))
    expected = cfr.solve(fresh, "cfr", 5).strategy
    after = pickle.loads(pickle.dumps(fresh))
    for again in (before, after):
        assert repr(again) == repr(game)
        assert cfr.compile(again).game is again
        assert_same_tree(again, fresh)
        assert cfr.solve(again, "cfr", 5).strategy == expected


@pytest.mark.parametrize("game", [*REPR.values(), PENNIES], ids=repr)
def test_games_are_zero_sum(game):
    assert cfr.compile(game).zero_sum
    assert all(sum(paid) == 0 for _, paid in ends(game))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: LeducPoker(ranks=1), "2 to 13 ranks, .* got ranks=1, suits=2"),
        (lambda: LeducPoker(ranks=14), "got ranks=14"),
        (lambda: LeducPoker(suits=0), "got ranks=3, suits=0"),
        (lambda: LeducPoker(suits=5), "1 to 4 suits"),
        (lambda: LeducPoker(ranks=2, suits=1), "at least 3 cards"),
        (lambda: LiarsDice(faces=1), "2 to 9 faces .* faces=1, dice=1"),
        (lambda: LiarsDice(faces=10), "got faces=10"),
        (lambda: LiarsDice(dice=0), "at least 1 die each, got faces=6, dice=0"),
        (lambda: Goofspiel(1), "2 to 13 cards, got 1"),
        (lambda: Goofspiel(14), "2 to 13 cards, got 14"),
        (lambda: Goofspiel(prizes="up"), "'up'; choose one of .'random', 'descending'"),
        (lambda: ColonelBlotto(0), "at least 1 soldier .* soldiers=0, fields=3"),
        (lambda: ColonelBlotto(5, 0), "1 field, got soldiers=5, fields=0"),
    ],
)
def test_invalid_arguments_are_rejected(make, match):
    with pytest.raises(ValueError, match=match):
        make()


# ---- Leduc poker ---------------------------------------------------------------------------

DEAL = ("Js", "Qh")


@pytest.mark.parametrize(
    ("moves", "expected"),
    [
        ((), (0, "Js", ("check", "bet"))),
        (("check",), (1, "Qh check", ("check", "bet"))),
        (("bet",), (1, "Qh bet", ("fold", "call", "raise"))),
        (("bet", "raise"), (0, "Js bet-raise", ("fold", "call"))),
        (("check", "bet", "raise"), (1, "Qh check-bet-raise", ("fold", "call"))),
        (("check", "check", "Ks"), (0, "Js check-check Ks", ("check", "bet"))),
        (("bet", "call", "Ks", "bet"), (1, "Qh bet-call Ks bet", ("fold", "call", "raise"))),
        (
            ("bet", "raise", "call", "Ks", "check", "bet", "raise"),
            (1, "Qh bet-raise-call Ks check-bet-raise", ("fold", "call")),
        ),
    ],
)
def test_leduc_legal_actions(moves, expected):
    assert decision(LeducPoker(), DEAL, *moves) == expected


@pytest.mark.parametrize(
    ("deal", "moves", "won"),
    [
        (DEAL, "bet fold", 1),  # the ante
        (DEAL, "bet raise fold", -3),
        (DEAL, "check bet call Ks bet fold", 3),  # a fold loses all chips already paid
        (DEAL, "bet call Ks check bet fold", -3),
        (DEAL, "bet call Ks bet raise fold", -7),
        (DEAL, "check check Ks check check", -1),  # the higher rank wins
        (DEAL, "check check Jh check check", 1),  # the pair wins
        (DEAL, "bet call Ks check bet call", -7),
        (DEAL, "bet raise call Jh bet raise call", 13),
        (("Ks", "Jh"), "bet raise call Js bet raise call", -13),  # a pair beats a king
        (("Ks", "Kh"), "bet raise call Js bet raise call", 0),  # equal ranks split the pot
        (("Js", "Jh"), "check check Ks check check", 0),
    ],
)
def test_leduc_payoffs(deal, moves, won):
    assert utilities(LeducPoker(), deal, *moves.split()) == (won, -won)


def test_leduc_chance_probabilities_with_and_without_suits():
    distinct, merged = LeducPoker(), LeducPoker(merge_suits=True)
    deals = list(permutations(("Js", "Jh", "Qs", "Qh", "Ks", "Kh"), 2))
    assert chance(distinct) == pytest.approx(dict.fromkeys(deals, 1 / 30))
    pairs = {(a, b): (2 if a == b else 4) / 30 for a, b in product("JQK", repeat=2)}
    assert chance(merged) == pytest.approx(pairs)
    left = dict.fromkeys(("Jh", "Qs", "Ks", "Kh"), 1 / 4)
    assert chance(distinct, DEAL, "check", "check") == left
    assert chance(merged, ("J", "Q"), "bet", "call") == {"J": 1 / 4, "Q": 1 / 4, "K": 1 / 2}
    assert chance(merged, ("J", "J"), "bet", "call") == {"Q": 1 / 2, "K": 1 / 2}


# ---- liar's dice ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("roll", "bids", "won"),
    [
        (("1", "6"), "2x1", 1),  # the six is wild
        (("1", "6"), "2x6", -1),  # but no other face counts as a six
        (("6", "6"), "2x3", 1),
        (("2", "3"), "1x1-1x3", -1),  # player 1's bid is true
    ],
)
def test_liars_dice_payoffs(roll, bids, won):
    assert utilities(LiarsDice(), roll, *bids.split("-"), "liar") == (won, -won)


@pytest.mark.parametrize("game", [LiarsDice(3), LiarsDice(2, 2)], ids=repr)
def test_liars_dice_bid_counts_its_face_and_wild_dice(game):
    for (roll, *bids, _), paid in ends(game):
        count, face = bids[-1].split("x")
        true = sum(die in (face, str(game.faces)) for die in "".join(roll)) >= int(count)
        bidder = (len(bids) - 1) % 2
        assert paid == ((1, -1) if (bidder == 0) == true else (-1, 1))


def test_liars_dice_legal_actions():
    game = LiarsDice(2)
    bids = ("1x1", "1x2", "2x1", "2x2")
    assert decision(game, ("1", "2")) == (0, "1", bids)
    for k, bid in enumerate(bids):
        assert decision(game, ("1", "2"), bid) == (1, f"2 {bid}", (*bids[k + 1 :], "liar"))
    assert decision(game, ("1", "2"), *bids) == (0, "1 1x1-1x2-2x1-2x2", ("liar",))
    assert LiarsDice(dice=2).bids[-1] == "4x6"  # all dice on the table


def test_liars_dice_roll_probabilities():
    one = {"11": 1 / 4, "12": 1 / 2, "22": 1 / 4}
    both = {(a, b): one[a] * one[b] for a, b in product(one, repeat=2)}
    assert chance(LiarsDice(2, 2)) == pytest.approx(both)
    three = chance(LiarsDice(6, 3))
    assert three["123", "666"] == pytest.approx(6 / 216 / 216)
    assert three["112", "123"] == pytest.approx(3 * 6 / 216 / 216)


# ---- Goofspiel -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("h", "hidden", "open_"),
    [
        ((3,), (0, "0: 3", (1, 2, 3)), None),
        ((3, 2), (1, "1: 3", (1, 2, 3)), None),  # the opponent's bid is hidden
        ((3, 2, 1, 1), (0, "0: 3 bid 2 won, 1", (1, 3)), "0: 3 bid 2:1, 1"),
        ((3, 2, 1, 1, 3), (1, "1: 3 bid 1 lost, 1", (2, 3)), "1: 3 bid 1:2, 1"),
        ((1, 2, 2, 3), (0, "0: 1 bid 2 tied, 3", (1, 3)), "0: 1 bid 2:2, 3"),
    ],
)
def test_goofspiel_infosets(h, hidden, open_):
    player, label, hand = hidden
    assert decision(Goofspiel(3), *h) == hidden
    assert decision(Goofspiel(3, False), *h) == (player, open_ or label, hand)


def test_goofspiel_order_of_prizes():
    assert chance(Goofspiel(3)) == {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}
    assert chance(Goofspiel(3), 3, 2, 1) == {1: 1 / 2, 2: 1 / 2}
    descending = Goofspiel(3, prizes="descending")
    assert decision(descending) == (0, "0: 3", (1, 2, 3))
    assert decision(descending, 2, 3) == (0, "0: 3 bid 2 lost, 2", (1, 3))


@pytest.mark.parametrize("prizes", ["random", "descending"])
@pytest.mark.parametrize("cards", [2, 3])
def test_goofspiel_payoffs_include_the_last_prize(cards, prizes):
    hands, expected = list(permutations(range(1, cards + 1))), {}
    orders = hands if prizes == "random" else [tuple(range(cards, 0, -1))]
    for order, first, second in product(orders, hands, hands):
        rounds = list(zip(order, first, second, strict=True))
        ahead = sum(int(np.sign(a - b)) * prize for prize, a, b in rounds)
        drop = 0 if prizes == "random" else 1  # a descending prize is no action
        h = tuple(x for r in rounds[:-1] for x in r[drop:])
        expected[h] = (ahead, -ahead)
    assert dict(ends(Goofspiel(cards, prizes=prizes))) == expected


# ---- Colonel Blotto ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("soldiers", "fields", "divisions"), [(5, 3, 21), (4, 2, 5), (3, 4, 20)]
)
def test_colonel_blotto_payoffs(soldiers, fields, divisions):
    game = ColonelBlotto(soldiers, fields)
    assert len(set(game.actions[0])) == divisions
    assert game.actions[0] == game.actions[1]
    for (mine, other), paid in ends(game):
        a, b = ([int(n) for n in d.split("-")] for d in (mine, other))
        assert sum(a) == sum(b) == soldiers
        assert len(a) == len(b) == fields
        won = sum(x > y for x, y in zip(a, b, strict=True))
        lost = sum(x < y for x, y in zip(a, b, strict=True))
        assert paid == (np.sign(won - lost), np.sign(lost - won))
