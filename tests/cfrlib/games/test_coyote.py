"""Coyote: cards, rules, sizes and values, against an independent scoring function."""

from collections import Counter, defaultdict
from itertools import permutations

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib import Chance, Decision, Terminal
from cfrlib.core.sequence import sequence_form
from cfrlib.core.tree import TERMINAL
from cfrlib.games import Coyote

# every kind of card, some with copies
MIXED = {-5: 1, 2: 2, 3: 1, "x2": 1, "black0": 1, "max0": 1, "?": 1}
PLAIN = {-1: 1, 0: 1, 1: 1, 2: 1, 3: 1, "x2": 1}


def list_of_cards(deck):
    """Return the cards of a deck, with repetitions."""
    return [card for card, copies in deck.items() for _ in range(copies)]


def score(hand, drawn=None):
    """Add up a hand: first '?', then max0, then x2."""
    cards = [drawn if card == "?" else card for card in hand]
    numbers = sorted(card for card in cards if not isinstance(card, str))
    if "max0" in cards:
        numbers = numbers[:-1]
    return sum(numbers + numbers) if "x2" in cards else sum(numbers)


def payoffs_after_call(players, declaration, total):
    """Return the payoffs after a call, if each declaration raised by one."""
    caller = declaration % players
    payoffs = [1] * players
    payoffs[caller if total >= declaration else caller - 1] = -1
    return payoffs


def node_after_call(game, hand, declaration, drawn=None):
    """Return the node after the declarations 1, 2, …, `declaration` and a call."""
    h = (*hand, *["+1"] * declaration, "coyote")
    return game.node(h if drawn is None else (*h, drawn))


# ---- scoring -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hand", "total"),
    [
        ((1, 2, 3), 6),
        ((-10, 3), -7),
        ((20, "x2"), 40),
        ((-10, "x2"), -20),
        ((20, "black0"), 20),
        ((20, 3, "max0"), 3),
        ((3, 3, "max0"), 3),  # only one of equal cards
        ((-5, "max0"), 0),  # even if the highest number is negative
        (("black0", -5, "max0"), 0),  # the black 0 is a special card, not a number
        (("x2", "max0"), 0),
        ((10, 4, "x2", "max0"), 8),  # max0 first, then x2
        ((10, "?"), 10),  # not yet replaced
    ],
)
def test_total_of_a_hand(hand, total):
    assert Coyote.total(hand) == total
    for cards in permutations(hand):
        assert Coyote.total(cards) == total


@pytest.mark.parametrize(
    "game",
    [
        Coyote(deck=MIXED),
        Coyote(deck=Coyote.SMALL),
        Coyote(3, deck=MIXED),
        Coyote(4, deck=Coyote.TINY | {"x2": 1, "?": 1}),
    ],
    ids=repr,
)
def test_deal_and_payoff_probabilities_equal_those_of_all_shuffles(game):
    """The card after the hands replaces a '?'."""
    n, expected, got = game.num_players, defaultdict(Counter), defaultdict(Counter)
    shuffled = Counter(permutations(list_of_cards(game.deck), n + 1))
    for (*hand, drawn), count in shuffled.items():
        for d in range(game.cap + 1):
            p = count / shuffled.total()
            expected[(*hand, d)][tuple(payoffs_after_call(n, d, score(hand, drawn)))] += p
    tree = cfr.compile(game)
    for k in np.flatnonzero(tree.player == TERMINAL):
        h = tree.history(k)
        key = (*h[:n], h.count("+1"))
        got[key][tuple(tree.utility[k])] += tree.chance_reach[k]
    assert got.keys() == expected.keys()
    for key, payoffs in expected.items():
        assert got[key] == pytest.approx(payoffs, abs=1e-12)


def test_the_default_deck_is_the_real_one():
    assert len(Coyote.DECK) == 15
    assert sum(Coyote.DECK.values()) == 36
    assert sum(card for card in list_of_cards(Coyote.DECK) if isinstance(card, int)) == 120


@pytest.mark.parametrize(
    ("deck", "players"),
    [
        (MIXED, 2),
        (MIXED, 3),
        (MIXED, 5),
        (PLAIN, 2),
        (PLAIN, 6),
        (Coyote.SMALL, 4),
        ({-3: 2, -1: 2, "x2": 1, "max0": 1, "black0": 1}, 2),
        ({-3: 2, -1: 2, "x2": 1, "max0": 1}, 3),
        ({-3: 1, "x2": 1, "max0": 1, "black0": 1, "?": 1}, 4),
        ({7: 2, 9: 1, "max0": 1}, 4),
    ],
)
def test_default_cap_is_one_above_the_largest_total(deck, players):
    size = min(players + 1, sum(deck.values()))
    hands = permutations(list_of_cards(deck), size)
    largest = max(score(cards[:players], cards[-1]) for cards in hands)
    assert Coyote(players, deck).cap == max(largest, 0) + 1


@pytest.mark.parametrize(("players", "cap"), [(2, 41), (3, 71), (4, 101), (5, 121), (6, 141)])
def test_default_cap_with_the_full_deck(players, cap):
    assert Coyote(players).cap == cap


# ---- infosets and actions ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("game", "h", "expected"),
    [
        (Coyote(), (10, "x2"), (0, "_ x2: 0", ["+1", "coyote"])),
        (Coyote(), (10, "x2", "+1"), (1, "10 _: 1", ["+1", "coyote"])),
        (Coyote(), (10, "x2", "+1", "+1"), (0, "_ x2: 2", ["+1", "coyote"])),
        (Coyote(first_may_call=False), (10, -5), (0, "_ -5: 0", ["+1"])),
        (Coyote(first_may_call=False), (10, -5, "+1"), (1, "10 _: 1", ["+1", "coyote"])),
        (Coyote(cap=2), (10, -5, "+1", "+1"), (0, "_ -5: 2", ["coyote"])),
        (Coyote(3), (1, 2, "?", "+1"), (1, "1 _ ?: 1", ["+1", "coyote"])),
        (Coyote(3), (1, 2, "?", *["+1"] * 5), (2, "1 2 _: 5", ["+1", "coyote"])),
        (Coyote(raises=3), (1, 2), (0, "_ 2: 0", ["+1", "+2", "+3", "coyote"])),
        (
            Coyote(raises=3),
            (1, 2, "+3", "+1"),
            (0, "_ 2: 3-4", ["+1", "+2", "+3", "coyote"]),
        ),
        (Coyote(cap=5, raises=3), (1, 2, "+3"), (1, "1 _: 3", ["+1", "+2", "coyote"])),
        (Coyote(cap=4, raises=None), (1, 2, "+1"), (1, "1 _: 1", ["+1", "+2", "+3", "coyote"])),
        (Coyote(thinning=2), ("1 aside", 5, 10, 3), (0, "_ 3: 0", ["+1", "coyote"])),
    ],
)
def test_infosets_show_the_others_cards_and_the_declarations(game, h, expected):
    node = game.node(h)
    assert (node.player, node.infoset, list(node.actions)) == expected


def test_a_call_ends_the_round_even_with_a_question_mark():
    """In the source, the caller sees the replacement and may declare instead."""
    game = Coyote()
    draw = node_after_call(game, ("?", 20), 3)
    left = {card: n for card, n in Coyote.DECK.items() if card not in ("?", 20)}
    assert draw.probabilities == pytest.approx({c: n / 34 for c, n in left.items()})
    for card in draw.actions:
        end = node_after_call(game, ("?", 20), 3, card)
        total = score((card, 20))
        assert isinstance(end, Terminal)
        assert end.utilities == ([1, -1] if total >= 3 else [-1, 1])


def test_remaining_copies_are_equally_likely():
    game = Coyote()
    assert game.node(()).probabilities == {c: n / 36 for c, n in Coyote.DECK.items()}
    second = game.node((20,)).probabilities
    assert second == {c: n / 35 for c, n in Coyote.DECK.items() if c != 20}
    assert game.node((5,)).probabilities[5] == 3 / 35


# ---- sizes ---------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "infosets"),
    [
        (Coyote(), 630),
        (Coyote(cap=120), 1_815),  # the source's 121 declarations, 0 among them
        (Coyote(deck=Coyote.TINY), 21),
        (Coyote(deck=Coyote.TINY, raises=None), 192),
        (Coyote(deck=PLAIN, raises=None), 768),
        (Coyote(deck=Coyote.SMALL, raises=3), 9_936),
        (Coyote(deck=Coyote.SMALL), 9 * 12),
        (Coyote(3, deck=Coyote.SMALL), 9 * 8 * 20),
    ],
    ids=repr,
)
def test_number_of_infosets(game, infosets):
    """compile also checks perfect recall."""
    assert cfr.compile(game).num_infosets == infosets


# ---- values --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "value"),
    [
        (Coyote(), -0.0081793),
        (Coyote(cap=120), -0.0081793),
        (Coyote(first_may_call=False), -0.0081793),
        (Coyote(deck=Coyote.TINY, first_may_call=False), 0),
        (Coyote(deck=Coyote.TINY, raises=None, first_may_call=False), 1 / 3),
        (Coyote(deck=dict.fromkeys(range(5), 1), first_may_call=False), 0),
        (Coyote(deck=dict.fromkeys(range(5), 1), raises=None, first_may_call=False), 1 / 30),
        (Coyote(deck=PLAIN, raises=None, first_may_call=False), 1 / 48),
        (Coyote(deck=Coyote.SMALL), -1 / 18),
    ],
    ids=repr,
)
def test_value_for_two_players(game, value):
    assert cfr.solve_lp(game).value == pytest.approx(value, abs=5e-8)


# ---- thinning ------------------------------------------------------------------------------


def test_thinning_chance_probabilities():
    game = Coyote(deck=Coyote.TINY | {4: 2}, thinning=2)
    assert game.node(()).probabilities == {"0 aside": 1 / 3, "1 aside": 1 / 3, "2 aside": 1 / 3}
    assert game.node(("1 aside",)).probabilities == {1: 0.2, 2: 0.2, 3: 0.2, 4: 0.4}
    assert game.node(("1 aside", 4)).probabilities == dict.fromkeys((1, 2, 3, 4), 0.25)
    assert game.node(("1 aside", 4, 4)).probabilities == dict.fromkeys((1, 2, 3), 1 / 3)
    assert isinstance(game.node(("1 aside", 4, 4, 2)), Decision)
    assert isinstance(game.node(("2 aside", 4, 4, 2)), Chance)
    assert game.node(("1 aside", 4, 4, 2, "+1", "coyote")).utilities == [1, -1]


@pytest.mark.slow
@pytest.mark.parametrize("players", [2, 3])
def test_thinning_changes_neither_utility_nor_nash_conv(players):
    """Removing cards at random does not change the distribution of the deal."""
    deck = {-2: 1, 1: 2, 2: 1, "x2": 1, "?": 1}
    plain, thinned = Coyote(players, deck), Coyote(players, deck, thinning=2)
    one, other = sequence_form(plain), sequence_form(thinned)
    assert cfr.compile(thinned).num_histories > 5 * cfr.compile(plain).num_histories
    assert set(one.infoset_number) == set(other.infoset_number)
    strategy = cfr.solve(plain, "cfr", 20).strategy
    same = cfr.Strategy(thinned, {label: strategy[label] for label in one.infoset_number})
    assert cfr.expected_utility(thinned, same) == pytest.approx(
        cfr.expected_utility(plain, strategy), abs=1e-12
    )
    assert cfr.nash_conv(thinned, same) == pytest.approx(cfr.nash_conv(plain, strategy))


# ---- the object ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "Coyote()",
        "Coyote(players=3)",
        "Coyote(cap=120)",
        "Coyote(raises=None)",
        "Coyote(first_may_call=False)",
        "Coyote(thinning=33)",
        "Coyote(players=4, deck={1: 3, 'x2': 1, '?': 1}, raises=2, thinning=0)",
        "Coyote(players=6, cap=30, raises=2, first_may_call=False, thinning=7)",
        "Coyote(players=3, lives=3)",
    ],
)
def test_repr_recreates_the_game(text):
    game = eval(text)
    assert repr(game) == text.replace(", thinning=0", "")
    assert vars(eval(repr(game))).keys() == vars(game).keys()


def test_a_deck_is_copied():
    deck = dict(Coyote.TINY)
    game = Coyote(deck=deck)
    deck[1] = 5
    assert game.deck == Coyote.TINY


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Coyote(1), "2 to 6 players, got 1"),
        (lambda: Coyote(7), "2 to 6 players, got 7"),
        (lambda: Coyote(players=2.0), "players must be a whole number"),
        (lambda: Coyote(cap=0), "cap and raises must be at least 1, got 0 and 1"),
        (lambda: Coyote(cap=3.5), "cap must be a whole number"),
        (lambda: Coyote(raises=0), "at least 1, got 41 and 0"),
        (lambda: Coyote(raises="any"), "raises must be a whole number"),
        (lambda: Coyote(thinning=-1), "between 0 and 33, .* got -1"),
        (lambda: Coyote(thinning=34), "between 0 and 33, .* can spare"),
        (lambda: Coyote(thinning=1.0), "thinning must be a whole number"),
        (lambda: Coyote(lives=0), "lives must be at least 1"),
        (lambda: Coyote(lives=1.5), "lives must be a whole number"),
        (lambda: Coyote(lives=3, thinning=1), "cannot be combined with thinning"),
        (lambda: Coyote(lives=3).features(["_ 3: 1"]), "several rounds, for which no features"),
        (lambda: Coyote(deck=[1, 2, 3]), r"a dict from card .* got \[1, 2, 3\]"),
        (lambda: Coyote(deck={"X2": 1, 1: 3}), r"'X2' is not a card .* 'x2', 'black0'"),
        (lambda: Coyote(deck={1.5: 1, 1: 3}), "1.5 is not a card"),
        (lambda: Coyote(deck={1: 0, 2: 3}), "card 1 must have at least 1 copy.* got 0"),
        (lambda: Coyote(deck={1: 2.0}), "copies of 1 must be a whole number"),
        (lambda: Coyote(deck={"?": 2, 1: 3}), r"card '\?' must have exactly 1 copy; got 2"),
        (lambda: Coyote(4, deck=Coyote.TINY), "4 players need 4 cards, one each; .* only 3"),
        (lambda: Coyote(2, deck={1: 1, "?": 1}), r"3 cards, one each and one to replace"),
    ],
)
def test_invalid_arguments_are_rejected(make, match):
    with pytest.raises(ValueError, match=match):
        make()


# ---- features --------------------------------------------------------------------------------


THREE_KINDS = {-2: 1, 2: 1, "x2": 1}  # numbers -2, 2 and 0 for the special card
UNIT = (8 / 3) ** 0.5  # the standard deviation of these


@pytest.mark.parametrize(
    ("game", "label", "row"),
    [
        (
            Coyote(deck=THREE_KINDS), "_ 2: 1",
            [2 / UNIT, 0, 0, 0, 0, *(1, 0, 1), 2 / UNIT, 1 / UNIT, 1 / UNIT],
        ),
        (
            Coyote(deck=THREE_KINDS), "x2 _: 3",
            [0, 1, 0, 0, 0, *(1, 1, 0), 0, 3 / UNIT, -3 / UNIT],
        ),
        (  # in turn order: after player 1 comes player 2, then player 0; x2 doubles the total
            Coyote(3, deck={2: 2, -2: 2, "x2": 1, "?": 1}, cap=9), "2 _ x2: 7",
            [0, 1, 0, 0, 0, *(2, 0, 0, 0, 0), *(0.5, 1, 0, 1), 4, 7, -3],
            # in units of √(16/6)
        ),
        (  # max0 removes the 2, then x2 doubles 0
            Coyote(4, deck={2: 2, -2: 2, "x2": 1, "max0": 1}, cap=9), "_ max0 2 x2: 0",
            [*(0, 0, 0, 1, 0), *(2, 0, 0, 0, 0), *(0, 1, 0, 0, 0), *(0.5, 1, 0, 0), 0, 0, 0],
        ),
        (  # a "?" counts 0 until it is replaced, the black 0 always counts 0
            Coyote(3, deck={2: 2, -2: 2, "black0": 1, "?": 1}, cap=9), "? black0 _: 2",
            [*(0, 0, 0, 0, 1), *(0, 0, 1, 0, 0), *(1, 1, 0, 0), 0, 2, -2],
        ),
        (  # all declarations, because the last one does not determine them
            Coyote(deck={2: 2, -2: 2}, cap=5, raises=None), "_ -2: 1-4",
            [-2, 0, 0, 0, 0, *(1, 0.5), -2, 4, -6, *(1, 0, 0, 1, 0)],
        ),
        (
            Coyote(deck={2: 2, -2: 2}, cap=3, raises=2), "2 _: 0",
            [2, 0, 0, 0, 0, *(0.5, 1), 2, 0, 2, *(0, 0, 0)],
        ),
    ],
    ids=lambda x: x if isinstance(x, str) else "",
)  # fmt: skip
def test_features_of_single_infosets(game, label, row):
    """Compared with rows computed by hand, in units of the deck's standard deviation."""
    expected, others = np.array(row, float), game.num_players - 1
    if game.deck != THREE_KINDS:
        cards = [card if isinstance(card, int) else 0 for card in list_of_cards(game.deck)]
        last = 5 * others + len(game.deck)
        numbers = [*range(0, 5 * others, 5), *range(last, last + 3)]
        expected[numbers] /= np.std(cards)
    found = game.features([label])
    assert found.dtype == np.float32
    assert found.shape == (1, len(row))
    assert found[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    "game",
    [
        Coyote(), Coyote(raises=None, deck=PLAIN), Coyote(3, deck=Coyote.SMALL),
        Coyote(3, deck=MIXED, thinning=1, cap=4), Coyote(deck={1: 3}),
    ],
    ids=repr,
)  # fmt: skip
def test_features_distinguish_all_infosets_of_a_player(game):
    tree = cfr.compile(game)
    features = game.features(tree.infoset_label)
    assert np.isfinite(features).all()
    for i in range(game.num_players):
        own = features[tree.infoset_player == i]
        assert len(np.unique(own, axis=0)) == len(own)


def test_features_use_relative_seats():
    """Players who see the same cards in the same turn order have equal features."""
    game = Coyote(3)
    rows = game.features(["_ 3 x2: 6", "x2 _ 3: 7", "3 x2 _: 8"])
    assert np.array_equal(rows[0, :-2], rows[1, :-2])
    assert np.array_equal(rows[0, :-2], rows[2, :-2])
    assert game.features([]).shape == (0, rows.shape[1])


@pytest.mark.parametrize(
    "label", ["_ 7: 1", "_ 3 3: 1", "3 4: 1", "_ x2", "_ 20: 99", "_ 1: one", "20 _ : 2"]
)
def test_features_reject_labels_of_other_games(label):
    with pytest.raises(ValueError, match=r"not infosets of Coyote\(\)"):
        Coyote().features(["_ 3: 1", label])


# ---- lives -----------------------------------------------------------------------------------


# The player who begins a round with these cards wins it with probability 2/3.
UNFAIR = {-1: 1, 0: 1, 2: 1}


@pytest.mark.slow
def test_value_of_two_lives_follows_from_the_value_of_a_round():
    """All three cards are shuffled before each round, so rounds are independent."""
    wins = (1 + cfr.solve_lp(Coyote(deck=UNFAIR)).value) / 2
    assert wins == pytest.approx(2 / 3)

    def beginner_wins(mine, theirs):
        """Return the beginner's winning probability; the loser of a round begins the next."""
        lost = beginner_wins(mine - 1, theirs) if mine > 1 else 0.0
        won = 1 - beginner_wins(theirs - 1, mine) if theirs > 1 else 1.0
        return wins * won + (1 - wins) * lost

    value = cfr.solve_lp(Coyote(deck=UNFAIR, lives=2)).value
    assert value == pytest.approx(2 * beginner_wins(2, 2) - 1, abs=1e-9)
    assert value == pytest.approx(5 / 27, abs=1e-9)


def test_loser_begins_the_next_round_and_leaves_without_lives():
    """compile also checks perfect recall."""
    game = Coyote(3, deck={1: 2, 2: 2, -1: 1}, cap=2, lives=1)
    assert cfr.compile(game).zero_sum
    h = (1, 2, -1, "+1", "+1", "coyote")  # player 2 calls a true declaration and is out
    assert game.node(h).probabilities == {1: 0.5, 2: 0.5}
    node = game.node((*h, 2, 1))
    assert (node.player, node.infoset) == (0, "1 2 -1: 2 | _ 1 -: 0")
    assert game.node((*h, 2, 1, "coyote")).utilities == [-1, 2, -1]
    game = Coyote(3, lives=2)
    h = (1, 2, 3, "+1", "coyote")  # player 1 calls a true declaration and begins
    node = game.node((*h, 5, 5, 5))
    assert (node.player, node.infoset) == (1, "1 2 3: 1 | 5 _ 5: 0")
    lied = (
        1,
        2,
        3,
        *["+1"] * 7,
        "coyote",
        5,
        5,
        5,
    )  # player 0 declared 7, one more than the total
    assert game.node(lied).player == 0
    h = (*h, 5, 5, 5, "coyote")  # player 1 loses again and is out; player 2 begins
    assert game.node((*h, 4, 4)).player == 2
    assert game.node((*h, 4, 4)).infoset == "1 2 3: 1 | 5 5 5: 0 | 4 - _: 0"


def test_shown_cards_stay_out_until_the_black_0():
    game = Coyote(lives=3)
    cards = game.node(()).probabilities
    after = game.node((20, 15, "coyote")).probabilities
    assert 20 not in after
    assert after[15] == pytest.approx(1 / 34)
    assert game.node((20, "black0", "coyote")).probabilities == cards
    drawn = game.node((20, "?", "coyote"))
    assert 20 not in drawn.probabilities
    assert "?" not in drawn.probabilities
    assert game.node((20, "?", "coyote", "black0")).probabilities == cards
    h = (20, "?", "coyote", 10)
    assert game.node(h).probabilities[10] == pytest.approx(2 / 33)
    assert game.node((*h, 3, 4)).infoset == "20 ?=10: 0 | _ 4: 0"
