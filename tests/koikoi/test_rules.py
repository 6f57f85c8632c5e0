"""The rules of Koi-Koi: yaku, turns, special deals, and sizes."""

import random
import re
from collections import Counter
from itertools import combinations
from math import comb, factorial, log10

import numpy as np
import pytest
from toy_games import mini

import cfrlib as cfr
from cfrlib import Chance, Decision, Terminal
from koikoi import (
    DECK,
    JAPANESE,
    YAKU,
    KoiKoi,
    MiniKoiKoi,
    Size,
    Yaku,
    count,
    estimate,
    made,
)
from koikoi.cards import KINDS, MONTHS
from koikoi.rules import special_hand

MONTH = {card.name: card.month for card in DECK}
FULL = KoiKoi()
NAMES = ("K8", "K9", "K10")


# ---- the deck, against hand-written lists ----------------------------------------------------

LIGHTS = {1: "Crane", 3: "Curtain", 8: "Moon", 11: "Rain-man", 12: "Phoenix"}
ANIMALS = {
    2: "Warbler", 4: "Cuckoo", 5: "Bridge", 6: "Butterflies", 7: "Boar", 8: "Geese", 9: "Sake",
    10: "Deer", 11: "Swallow",
}  # fmt: skip
POEMS = {1: "Pine-poem", 2: "Plum-poem", 3: "Cherry-poem"}
BLUE = {6: "Peony-blue", 9: "Mum-blue", 10: "Maple-blue"}
OTHERS = {
    4: "Wisteria-ribbon", 5: "Iris-ribbon", 7: "Clover-ribbon", 11: "Willow-ribbon",
}  # fmt: skip
RIBBONS = [*POEMS.values(), *BLUE.values(), *OTHERS.values()]
CHAFF = [card.name for card in DECK if card.kind == "plain"]


def test_deck_has_48_cards_in_12_months():
    assert len(DECK) == len(set(MONTH)) == 48
    assert set(Counter(MONTH.values()).values()) == {4}
    kinds = {"light": LIGHTS, "animal": ANIMALS, "ribbon": POEMS | BLUE | OTHERS}
    for kind, cards in kinds.items():
        assert {c.month: c.name for c in DECK if c.kind == kind} == cards
    assert len(CHAFF) == 24
    assert Counter(MONTH[name] for name in CHAFF)[12] == 3  # three of Paulownia, one of Willow
    assert Counter(MONTH[name] for name in CHAFF)[11] == 1


def test_every_word_of_the_game_has_a_japanese_name():
    words = {*MONTHS, *KINDS, *(y.name for y in YAKU)}
    words |= {card.name for card in DECK if card.kind != "plain"}
    assert words < JAPANESE.keys()
    for name, reading in JAPANESE.values():
        assert re.fullmatch(r"[\u3041-\u30ff\u4e00-\u9fff・]+", name)
        assert re.fullmatch(r"[\u3041-\u309f・]+", reading)
    for card in DECK:  # 松に鶴 begins with its flower, 松
        if card.kind != "plain":
            flower = JAPANESE[MONTHS[card.month - 1]]
            for text, start in zip(JAPANESE[card.name], flower, strict=True):
                assert text.startswith(start + "に")


# ---- yaku ------------------------------------------------------------------------------------

L, A = list(LIGHTS.values()), list(ANIMALS.values())


@pytest.mark.parametrize(
    ("pile", "yaku"),
    [
        ([], {}),
        (L, {"goko": 10}),
        (["Crane", "Curtain", "Moon", "Phoenix"], {"shiko": 8}),
        (["Crane", "Curtain", "Moon", "Rain-man"], {"ame-shiko": 7}),
        (["Crane", "Curtain", "Phoenix"], {"sanko": 5}),
        (["Crane", "Curtain", "Rain-man"], {}),  # three with the rain man do not count
        (["Curtain", "Sake"], {"hanami": 5}),
        (["Moon", "Sake"], {"tsukimi": 5}),
        (["Curtain", "Moon", "Sake"], {"hanami": 5, "tsukimi": 5}),
        (["Boar", "Deer", "Butterflies"], {"inoshikacho": 5}),
        (["Boar", "Deer", "Butterflies", "Geese"], {"inoshikacho": 6}),
        (["Boar", "Deer", "Butterflies", "Geese", "Sake"], {"inoshikacho": 7}),  # no tane
        (A, {"inoshikacho": 11}),
        (["Boar", "Deer", "Geese", "Sake"], {}),
        (["Boar", "Deer", "Geese", "Sake", "Cuckoo"], {"tane": 1}),
        (["Boar", "Deer", "Geese", "Sake", "Cuckoo", "Bridge"], {"tane": 2}),
        (list(POEMS.values()), {"akatan": 5}),
        ([*POEMS.values(), "Iris-ribbon", "Mum-blue"], {"akatan": 7}),  # no tan
        (list(BLUE.values()), {"aotan": 5}),
        ([*BLUE.values(), "Iris-ribbon"], {"aotan": 6}),
        ([*POEMS.values(), *BLUE.values()], {"akatan-aotan": 10}),
        (RIBBONS, {"akatan-aotan": 14}),
        (["Pine-poem", "Plum-poem", *list(OTHERS.values())[:2]], {}),
        (["Pine-poem", "Plum-poem", *list(OTHERS.values())[:3]], {"tan": 1}),
        (["Pine-poem", "Plum-poem", *OTHERS.values()], {"tan": 2}),
        (CHAFF[:9], {}),
        (CHAFF[:10], {"kasu": 1}),
        (CHAFF[:12], {"kasu": 3}),
        ([*CHAFF[:9], "Sake"], {"kasu": 1}),  # the sake cup counts as a plain card as well
        (["Sake", *A[:4], *CHAFF[:9]], {"tane": 1, "kasu": 1}),  # as both at once
    ],
    ids=lambda x: " ".join(x) or "nothing",
)
def test_yaku_of_a_pile(pile, yaku):
    assert made(pile) == yaku
    assert made(pile[::-1]) == yaku


def points(pile):
    """Return the points of a pile, by an independent implementation without `Yaku`."""
    held = set(pile)
    lights = [name for name in L if name in held]
    rain = "Rain-man" in held
    total = {5: 10, 4: 7 if rain else 8, 3: 0 if rain else 5}.get(len(lights), 0)
    if "Sake" in held:
        total += 5 * ("Curtain" in held) + 5 * ("Moon" in held)
    animals = sum(name in held for name in A)
    trio = {"Boar", "Deer", "Butterflies"} <= held
    total += 2 + animals if trio else max(0, animals - 4)
    ribbons = sum(name in held for name in RIBBONS)
    sets = (set(POEMS.values()) <= held) + (set(BLUE.values()) <= held)
    total += (max(0, ribbons - 4), 2 + ribbons, 4 + ribbons)[sets]
    plain = sum(name in held for name in CHAFF) + ("Sake" in held)
    return total + max(0, plain - 9)


@pytest.mark.parametrize(
    "cards", [[*L, "Sake"], RIBBONS, A], ids=["lights", "ribbons", "animals"]
)
def test_points_of_all_piles_of_some_cards(cards):
    for k in range(len(cards) + 1):
        for pile in combinations(cards, k):
            assert sum(made(pile).values()) == points(pile)


@pytest.mark.slow
def test_points_of_random_piles():
    rng, seen = random.Random(0), set()
    for _ in range(3_000):
        pile = rng.sample(list(MONTH), rng.randint(0, 48))
        assert sum(made(pile).values()) == points(pile)
        seen |= made(pile).keys()
    assert seen == {y.name for y in YAKU}


# ---- payment and rules of the house; turns: test_turns.py ------------------------------------


def play(at, *actions, game=FULL):
    """Take these actions, all of which must be legal."""
    for a in actions:
        node = game.node(at)
        assert a in (node.actions if isinstance(node, Decision) else node.probabilities)
        at = game.step(at, a)
    return at


@pytest.mark.parametrize(
    ("game", "points", "called", "paid"),
    [
        *((FULL, points, False, points) for points in (1, 5, 6)),
        *((FULL, points, False, 2 * points) for points in (7, 8, 10)),
        (FULL, 6, True, 12), (FULL, 7, True, 28),
        (KoiKoi(double_at=None), 12, False, 12),
        (KoiKoi(double_at=5, koi_factor=3), 5, True, 30),
        (KoiKoi(koi_factor=1), 7, True, 14),
    ],
)  # fmt: skip
def test_payment(game, points, called, paid):
    assert game.payment(points, called) == paid


def test_a_mapping_changes_the_points_of_yaku():
    house = KoiKoi(yaku={"sanko": 6, "inoshikacho": 6, "hanami": 0, "tan": 0})
    assert made(["Crane", "Curtain", "Phoenix", "Sake"], house.yaku) == {"sanko": 6}
    assert made(["Boar", "Deer", "Butterflies", "Geese"], house.yaku) == {"inoshikacho": 7}
    assert made([*POEMS.values(), "Iris-ribbon"], house.yaku) == {"akatan": 6}
    assert made(["Pine-poem", *OTHERS.values()], house.yaku) == {}
    assert [y.name for y in YAKU if y not in house.yaku] == [
        "sanko", "hanami", "inoshikacho", "akatan-aotan", "akatan", "aotan", "tan",
    ]  # fmt: skip
    assert KoiKoi(yaku={}).yaku == YAKU
    assert made(["Crane", "Curtain", "Phoenix"]) == {"sanko": 5}


@pytest.mark.parametrize("make", [MiniKoiKoi.K8, lambda **o: MiniKoiKoi(**SIX, **o)])
def test_only_void_rounds_differ_by_the_points_for_them(make):
    """In all rounds of a small game: those that nobody stopped pay the dealer 3."""
    plain, house = make(), make(void_points=3)
    todo, ends = [(plain.root(), house.root())], Counter()
    while todo:
        at, other = todo.pop()
        node = plain.node(at)
        if isinstance(node, Terminal):
            void = at.paid == 0
            assert other.paid == (3 if void else at.paid)
            assert not void or not any(at.hands)
            ends[void] += 1
            continue
        assert house.node(other).actions == node.actions
        todo += [(plain.step(at, a), house.step(other, a)) for a in node.actions]
    assert min(ends.values()) > 10


# ---- the deal --------------------------------------------------------------------------------


def of(*months):
    """Return all cards of these months."""
    return [card.name for card in DECK if card.month in months]


TESHI = [*of(1), "Moon", "Boar", "Deer", "Sake"]
KUTTSUKI = ["Moon", "Geese", "Boar", "Clover-1", "Deer", "Maple-1", "Sake", "Mum-1"]
USUAL = [
    "Curtain", "Warbler", "Cuckoo", "Bridge", "Butterflies", "Swallow", "Phoenix", "Iris-1",
]  # fmt: skip
CALM = [
    "Plum-1", "Cherry-1", "Wisteria-1", "Iris-2", "Peony-1", "Willow-1", "Paulownia-1",
    "Plum-2",
]  # fmt: skip
FOUR = [*of(2), "Cherry-1", "Wisteria-1", "Iris-2", "Peony-1"]


def dealt(first, second, field, game=FULL):
    """Deal these cards."""
    assert len({*first, *second, *field}) == 24
    return play(game.root(), *first, *second, *field, game=game)


def test_the_dealer_plays_first():
    at = dealt(
        ["Moon", "Crane", "Boar", "Deer", "Sake", "Geese", "Pine-1", "Mum-1"], USUAL, CALM
    )
    assert (at.stage, at.player, len(at.stock)) == ("play", 0, 24)
    node = FULL.node(at)
    assert node.infoset.startswith("dealer Crane Pine-1 Boar Moon")
    assert "Curtain" not in node.infoset
    assert len(node.actions) == 8


@pytest.mark.parametrize("hand", [TESHI, KUTTSUKI], ids=["four of a month", "four pairs"])
def test_special_hands_are_redealt_or_paid_at_once(hand):
    paying = KoiKoi(special=6)
    other = [name for name in USUAL if name not in hand]
    assert len(other) == 8
    assert dealt(hand, USUAL, CALM) == dealt(USUAL, hand, CALM) == FULL.root()
    assert paying.node(dealt(hand, USUAL, CALM, paying)).utilities == (6, -6)
    assert paying.node(dealt(USUAL, hand, CALM, paying)).utilities == (-6, 6)


def test_two_special_hands_pay_nothing():
    paying = KoiKoi(special=6)
    both = [*of(3), "Warbler", "Cuckoo", "Bridge", "Butterflies"]
    field = [
        "Plum-1", "Wisteria-1", "Iris-2", "Peony-1", "Willow-1", "Paulownia-1", "Plum-2",
        "Swallow",
    ]  # fmt: skip
    assert paying.node(dealt(TESHI, both, field, paying)).utilities == (0, 0)


@pytest.mark.parametrize("game", [FULL, KoiKoi(special=6)], ids=repr)
def test_four_of_a_month_on_the_field_are_always_redealt(game):
    other = [
        "Curtain", "Cuckoo", "Bridge", "Butterflies", "Swallow", "Phoenix", "Iris-1",
        "Willow-1",
    ]  # fmt: skip
    assert dealt(TESHI, other, FOUR, game) == game.root()


@pytest.mark.slow
def test_frequency_of_special_hands():
    """The exact probability is by inclusion–exclusion over months, and a count of pairs."""
    rng, months = random.Random(2), [card.month for card in DECK]
    n = 40_000
    found = sum(special_hand(rng.sample(months, 8)) for _ in range(n)) / n
    four = 12 * comb(44, 4) - comb(12, 2)
    pairs = comb(12, 4) * comb(4, 2) ** 4
    p = (four + pairs) / comb(48, 8)
    assert found == pytest.approx(p, abs=4 * np.sqrt(p / n))


# ---- random rounds ---------------------------------------------------------------------------


def visible(at, i):
    """Return the names of all cards that player i has seen."""
    mine = at.first[i].replace("|", " ").split()
    words = at.heard.replace(",", " ").replace("+", " ").replace("(", " ").replace(")", " ")
    return set(mine) | set(words.split()) - {"koi"}


def check_round(game, rng):
    """Play a random round, check invariants at every position, return the number of turns."""
    at, whole, before, turns = game.root(), Counter(game.deck), (0, 0), 0
    while not isinstance(node := game.node(at), Terminal):
        if isinstance(node, Chance):
            assert sum(node.probabilities.values()) == pytest.approx(1, abs=1e-12)
            actions = node.actions
            assert set(actions) <= set(at.stock) or at.stage == "deal"
        else:
            i, actions = node.player, node.actions
            assert i == at.player
            assert len(set(actions)) == len(actions) > 0
            if at.stage == "play":
                turns += 1
                assert set(actions) == set(at.hands[i])
            elif at.stage == "match":
                month = game.months[at.card]
                assert {game.months[a] for a in actions} == {month}
                assert set(actions) <= set(at.field)
                assert len([c for c in at.field if game.months[c] == month]) == 2
            else:
                assert actions == ("stop", "koi-koi")
                assert at.points[i] > before[i]
                assert at.hands[i]
            named = node.infoset.replace("(", " ").replace(")", " ").replace("+", " ")
            named = set(named.replace(",", " ").replace("|", " ").split())
            assert named - {"dealer", "other", "koi"} <= visible(at, i)
        if at.stage == "call":
            before = at.points
        at = game.step(at, rng.choice(actions))
        places = (*at.hands, at.field, *at.piles, at.stock, (at.card,) if at.card else ())
        assert sum(map(Counter, places), Counter()) == whole
        assert all(now >= then for now, then in zip(at.points, before, strict=True) if now)
    assert sum(node.utilities) == 0
    assert turns <= 2 * game.hand
    check_payment(game, at, node)
    return turns


def check_payment(game, at, node):
    """Check the payoff of a round against the piles."""
    winner = at.player
    if at.paid:
        worth = game.worth(at.piles[winner])
        if isinstance(game, KoiKoi) and not isinstance(game, MiniKoiKoi):
            assert worth == points(at.piles[winner])
            worth *= 2 if worth >= 7 else 1
        worth *= 2 if at.calls[1 - winner] else 1
        assert node.utilities[winner] == worth > 0


@pytest.mark.slow
def test_invariants_in_random_rounds_of_the_full_game():
    rng = random.Random(3)
    turns = [check_round(FULL, rng) for _ in range(200)]
    assert max(turns) == 16
    assert 12 < np.mean(turns) < 14  # 13.1 in many rounds


@pytest.mark.slow
@pytest.mark.parametrize("name", [*NAMES, "K12"])
def test_invariants_in_random_rounds_of_small_games(name):
    rng = random.Random(4)
    for _ in range(8 if name == "K12" else 40):  # its many deals are slow
        check_round(mini(name), rng)


# ---- small games -----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "deals", "histories", "terminals", "infosets"),
    [
        ("K8", 282, 7_663, 1_944, 3_216),
        ("K9", 1_515, 138_674, 35_986, 35_352),
        ("K10", 1_470, 204_511, 70_020, 35_520),
    ],
)
def test_sizes_of_small_games(name, deals, histories, terminals, infosets):
    tree = cfr.compile(mini(name))  # also checks perfect recall
    assert tree.num_children[0] == deals
    assert tree.zero_sum
    assert (tree.num_histories, tree.num_terminals) == (histories, terminals)
    assert tree.num_infosets == infosets
    each = tuple(np.diff(tree.player_infosets).tolist())
    assert count(mini(name)) == Size(histories, terminals, each)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "value"), [("K8", -83 / 90), ("K10", 0.041380)])
def test_values_of_small_games(name, value):
    assert cfr.solve_lp(mini(name)).value == pytest.approx(value, abs=5e-7)


SIX = {
    "types": [(3, "light", 2), (9, "animal", 2), (1, "plain", 2)],
    "hand": 2,
    "field": 1,
    "points": (
        Yaku("2 cards", ("Curtain", "Sake", "Pine") * 2, 2, 1),
        Yaku("hanami", ("Curtain", "Sake"), 2, 2),
    ),
}
TRIPLE = {  # two identical matches on the field: a choice between copies
    "types": [(3, "light", 1), (3, "plain", 2), (9, "animal", 1), (9, "plain", 2)],
    "hand": 1,
    "field": 2,
    "points": (
        Yaku("2 cards", ("Curtain", "Cherry", "Cherry", "Sake", "Mum", "Mum"), 2, 1),
        Yaku("hanami", ("Curtain", "Sake"), 2, 2),
    ),
}


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(MiniKoiKoi.K8, marks=pytest.mark.slow, id="K8"),
        pytest.param(lambda **o: MiniKoiKoi(**SIX, **o), id="six"),
        pytest.param(lambda **o: MiniKoiKoi(**TRIPLE, **o), id="triple"),
    ],
)
def test_distinct_copies_do_not_change_value_or_exploitability_of_a_strategy(make):
    """If copies are played alike, values and best responses are those of the merged game."""
    merged, distinct = make(), make(distinct=True)
    assert cfr.compile(distinct).num_histories > 3 * cfr.compile(merged).num_histories
    solution = cfr.solve(merged, "cfr+", 5, progress=False)

    def plain(text):
        return re.sub(r"-[a-z]\b", "", text)

    lifted = {}
    for label, row in cfr.Strategy.uniform(distinct).items():
        alike = Counter(map(plain, row))
        faces = solution.strategy.get(plain(label))  # none if all that matches looks the same
        lifted[label] = {a: (faces[plain(a)] if faces else 1) / alike[plain(a)] for a in row}
    strategy = cfr.Strategy(distinct, lifted)
    assert cfr.exploitability(distinct, strategy) == pytest.approx(
        solution.exploitability, abs=1e-12
    )
    assert cfr.expected_utility(distinct, strategy)[0] == pytest.approx(
        solution.value, abs=1e-12
    )


@pytest.mark.slow
def test_histories_with_distinct_copies_are_counted_by_multiplicity():
    """The weight of a merged history is the number of choices of copies."""
    game = mini("K8")
    physical = factorial(8) // (2**4)  # both hands, field and stock have two cards each

    def below(at, copies):
        node, found = game.node(at), copies
        for a in () if isinstance(node, Terminal) else node.actions:
            times = 1
            if at.stage == "deal":
                times = round(node.probabilities[a] * physical)
            elif at.stage in ("play", "draw"):
                times = (at.hands[at.player] if at.stage == "play" else at.stock).count(a)
            found += below(game.step(at, a), copies * times)
        return found

    assert below(game.root(), 1) == count(MiniKoiKoi.K8(distinct=True)).histories


# ---- sizes -----------------------------------------------------------------------------------


def test_count_with_options():
    for options in ({"distinct": True}, {"koi_limit": 0}, {"koi_limit": 1}):
        game = MiniKoiKoi(**SIX, **options)
        tree = cfr.compile(game)
        infosets = tuple(np.diff(tree.player_infosets).tolist())
        assert count(game) == Size(tree.num_histories, tree.num_terminals, infosets)


@pytest.mark.slow
@pytest.mark.parametrize(
    "game", [mini("K8"), MiniKoiKoi(**SIX, distinct=True)], ids=["K8", "6"]
)
def test_estimates_are_unbiased(game):
    size, found = count(game), estimate(game, 3_000, seed=1)
    exact = (size.histories, size.terminals, *size.infosets)
    for number, (low, middle, high) in zip(exact, found[1:5], strict=True):
        assert low < middle < high < low + 0.05
        assert middle == pytest.approx(log10(number), abs=1.5 * (high - low))


@pytest.mark.slow
def test_estimates_of_the_full_game():
    found = estimate(FULL, 300, seed=0)
    for wanted, (low, middle, high) in zip((52.1, 52.1, 49.4, 51.1), found[1:5], strict=True):
        assert middle == pytest.approx(wanted, abs=0.3)
        assert low < middle < high
    for turns in found.by_turn:
        assert len(turns) == 8
        assert list(turns) == sorted(turns)
    assert estimate(FULL, 60, seed=3) == estimate(FULL, 60, seed=3)


def test_errors_of_count_and_estimate():
    with pytest.raises(ValueError, match="estimate"):
        count(FULL)
    with pytest.raises(ValueError, match="at least 30, got 29"):
        estimate(FULL, 29, seed=0)


# ---- arguments -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"special": "pay"}, "redeal"),
        ({"special": 1.5}, "special"),
        ({"special": True}, "special must be"),
        ({"koi_limit": -1}, "koi_limit"),
        ({"koi_limit": 0.5}, "koi_limit"),
        ({"koi_factor": 0}, "koi_factor"),
        ({"double_at": "7"}, "double_at"),
        ({"void_points": -1}, "void_points must be a whole number, at least 0, got -1"),
        ({"yaku": {"sanku": 6}}, "no yaku is called 'sanku'; there are goko, .*sanko"),
        ({"yaku": {"sanko": -1}}, "the points of sanko must be a whole number, at least 0"),
        ({"yaku": [Yaku("boar", ("Boar",), 1, 0)]}, "the points of boar .* at least 1, got 0"),
    ],
    ids=str,
)
def test_invalid_rules_raise(options, message):
    with pytest.raises(ValueError, match=message):
        KoiKoi(**options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"hand": 3}, "need 7 of the deck's 6 cards"),
        ({"hand": 0}, "each hand at least one"),
        ({"field": -1}, "field"),
        ({"hand": 1.0}, "hand"),
        ({"types": [(1, "light", 0)]}, "at least one copy"),
        ({"types": [(1, "light", 2), (1, "light", 2)]}, "its own"),
        ({"types": [(2, "light", 2)]}, "no card of the deck has month 2 and kind 'light'"),
    ],
    ids=str,
)
def test_invalid_small_decks_raise(changes, message):
    with pytest.raises(ValueError, match=message):
        MiniKoiKoi(**{**SIX, **changes})


@pytest.mark.parametrize(
    "text",
    [
        "KoiKoi()",
        "KoiKoi(special=6, koi_limit=1, double_at=None, koi_factor=3)",
        "KoiKoi(yaku={'sanko': 6, 'hanami': 0}, void_points=6)",
        "MiniKoiKoi.K9(void_points=2)",
        "MiniKoiKoi.K8()",
        "MiniKoiKoi.K10(koi_factor=3, distinct=True)",
    ],
)
def test_repr_evaluates_to_the_game(text):
    assert repr(eval(text)) == text
