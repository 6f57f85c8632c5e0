"""The compiled simulator agrees with the rules; baseline players, duels and matches."""

from collections import Counter

import numpy as np
import pytest
from koikoi_hands import exchanged
from scipy.stats import chi2

import cfrlib as cfr
from koikoi import DECK, KoiKoi, MiniKoiKoi, Yaku, made
from koikoi.players import (
    GreedyPlayer,
    RandomPlayer,
    SearchPlayer,
    play,
    play_matches,
)
from koikoi.simulator import (
    CALLED,
    CARD_BITS,
    OVER,
    PLAY,
    STAGES,
    Simulator,
    members,
    worth,
)

FULL = KoiKoi()
GAMES = [
    FULL, KoiKoi(special=6), KoiKoi(koi_limit=1), KoiKoi(double_at=None, koi_factor=3),
    KoiKoi(yaku={"sanko": 6, "hanami": 0, "tan": 0}, void_points=6),
    MiniKoiKoi.K9(void_points=2), MiniKoiKoi.K10(void_points=1, koi_limit=0),
    MiniKoiKoi.K8(), MiniKoiKoi.K9(), MiniKoiKoi.K10(), MiniKoiKoi.K12(koi_limit=1),
    MiniKoiKoi.K9(distinct=True),
]  # fmt: skip


def dealt(game, rounds, r):
    """Return the position after the same deal, by the rules."""
    at = game.root()
    if isinstance(game, MiniKoiKoi):
        names = [game.deck[c] for c in rounds.order[r]]
        ordered = [
            tuple(sorted(part, key=game.deck.index))
            for part in (
                names[: game.hand], names[game.hand : 2 * game.hand],
                names[2 * game.hand : 2 * game.hand + game.open],
            )
        ]  # fmt: skip
        return game.step(at, " / ".join(" ".join(cards) for cards in ordered))
    for c in rounds.order[r, : 2 * game.hand + game.open]:
        at = game.step(at, game.deck[c])
    return at


def without_observations(at):
    return at._replace(first=("", ""), heard="")


def side_by_side(game, deals, seed):
    """Play random rounds by the simulator and by the rules; yield both before each move."""
    simulator, rng = Simulator(game), np.random.default_rng(seed)
    rounds = simulator.deal(deals, seed=seed)
    positions = [dealt(game, rounds, r) for r in range(deals)]
    yield simulator, rounds, positions
    while len(rows := np.flatnonzero(rounds.stage != OVER)):
        drawn = rounds.turned.copy()
        choices = [list(simulator.actions(rounds, r).items()) for r in rows]
        moves = [options[rng.integers(len(options))] for options in choices]
        simulator.act(rounds, rows, [number for number, _ in moves])
        for r, (_, action) in zip(rows, moves, strict=True):
            at = game.step(positions[r], action)
            while at.stage == "draw":
                at = game.step(at, game.deck[rounds.order[r, drawn[r]]])
            positions[r] = at
        yield simulator, rounds, positions


@pytest.mark.slow
@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_simulator_agrees_with_the_rules_move_by_move(game):
    stages, deals = set(), 300 if len(game.deck) == 48 else 150
    for simulator, rounds, positions in side_by_side(game, deals, seed=7):
        for r, at in enumerate(positions):
            assert simulator.position(rounds, r) == without_observations(at)
            stages.add(at.stage)
            if at.stage != "over":
                assert tuple(simulator.actions(rounds, r).values()) == game.node(at).actions
    assert stages >= {"play", "call", "over"} - ({"call"} if game.koi_limit == 0 else set())
    assert ("match" in stages) == ("K8" not in repr(game) and "K10" not in repr(game))


@pytest.mark.parametrize(
    "changes", [{}, {"sanko": 6, "inoshikacho": 6}, {"tane": 0, "kasu": 2}]
)
def test_simulator_agrees_with_the_rules_on_points(changes):
    house = KoiKoi(yaku=changes)
    simulator, rng = Simulator(house), np.random.default_rng(0)
    for _ in range(3_000):
        cards = rng.permutation(48)[: rng.integers(49)]
        if rng.random() < 0.5:  # special cards, of which random piles have few
            cards = np.array([c for c in cards if DECK[c].kind != "plain"])
        bits = np.uint64(sum(1 << int(c) for c in cards))
        pile = [DECK[c].name for c in cards]
        assert worth(bits, simulator.table) == sum(made(pile, house.yaku).values())


@pytest.mark.slow
def test_means_of_random_rounds():
    """Those of the rules, in many more rounds than the rules can play."""
    simulator, rng = Simulator(FULL), np.random.default_rng(1)
    rounds = simulator.deal(100_000, seed=11)
    turns = np.zeros(len(rounds), np.int64)
    months = np.array([card.month for card in DECK])[rounds.order[:, :24]]
    for part in (months[:, :8], months[:, 8:16], months[:, 16:]):  # no special deal is left
        counts = (part[:, :, None] == np.arange(1, 13)).sum(axis=1)
        assert counts.max() <= 3
    while (alive := np.flatnonzero(rounds.stage != OVER)).size:
        legal = simulator.legal(rounds)[alive]
        options = (legal[:, None] >> np.arange(48, dtype=np.uint64)) & np.uint64(1)
        turns[alive] += rounds.stage[alive] == STAGES.index("play")
        simulator.act(rounds, alive, (options * rng.random(options.shape)).argmax(axis=1))
    assert turns.max() <= 16
    assert (rounds.paid == 0).mean() == pytest.approx(0.057, abs=0.004)
    assert rounds.paid.mean() == pytest.approx(0.62, abs=0.1)
    assert turns.mean() == pytest.approx(13.05, abs=0.05)


def test_a_deal_depends_only_on_seed_and_number():
    simulator = Simulator(FULL)
    many, few = simulator.deal(50, seed=4), simulator.deal(10, seed=4, first=40)
    assert (many.hands[40:] == few.hands).all()
    assert (many.order[40:] == few.order).all()
    assert (simulator.deal(50, seed=5).hands != many.hands).any()


@pytest.mark.parametrize("game", [FULL, MiniKoiKoi.K9()], ids=repr)
def test_place_inverts_position(game):
    simulator = Simulator(game)
    rounds = simulator.deal(60, seed=2)
    rng = np.random.default_rng(5)
    for _ in range(6):
        positions = [simulator.position(rounds, r) for r in range(60)]
        placed = simulator.place(positions)
        assert [simulator.position(placed, r) for r in range(60)] == positions
        rows = np.flatnonzero(rounds.stage != OVER)
        moves = [rng.choice(members(cards)) for cards in simulator.legal(rounds)[rows]]
        simulator.act(rounds, rows, moves)
    with pytest.raises(ValueError, match="chance node"):
        simulator.place([game.root()])


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_the_record_of_play_agrees_with_what_the_players_hear(game):
    """`place` replays the label of the rules; the simulator writes its record move by move."""
    for simulator, rounds, positions in side_by_side(game, 80, seed=9):
        rows = np.flatnonzero(rounds.stage != OVER)
        placed = simulator.place([positions[r] for r in rows])
        for r, record in zip(rows, placed.record, strict=True):
            assert decoded(simulator, record) == decoded(simulator, rounds.record[r])
    cards = 2 * game.hand + min(2 * game.hand, len(game.deck) - 2 * game.hand - game.open)
    assert (rounds.record != 0).sum(axis=1).max() <= cards
    assert ((rounds.record & CALLED) > 0).any() == (game.koi_limit != 0)


def decoded(simulator, record):
    """Return the names of a record's cards and captures, and whether koi-koi was called."""
    names = (None, *simulator.names)
    return [
        (names[entry & 127], names[entry >> CARD_BITS & 127], bool(entry & CALLED))
        for entry in record.tolist()
        if entry
    ]


def test_a_record_reads_as_the_round_was_played():
    game = MiniKoiKoi.K9()
    at = game.step(game.root(), "Cherry Moon / Cherry Sake / Curtain Pampas")
    for action in ("Cherry", "Mum", "Sake", "Pampas", "koi-koi"):
        at = game.step(at, action)
    simulator = Simulator(game)
    assert at.heard == "Cherry +Mum, Sake +Pampas koi"
    assert decoded(simulator, simulator.place([at]).record[0]) == [
        ("Cherry", "Curtain", False), ("Mum", None, False),
        ("Sake", "Mum", False), ("Pampas", "Pampas", True),
    ]  # fmt: skip


def test_illegal_actions_raise():
    simulator = Simulator(FULL)
    rounds = simulator.deal(3, seed=0)
    foreign = members(int(rounds.hands[1, 1]))[0]
    with pytest.raises(ValueError, match=r"not legal in round 1: play, \{"):
        simulator.act(rounds, [1], [foreign])
    with pytest.raises(ValueError, match="only 3 rounds"):
        simulator.act(rounds, [3], [0])
    with pytest.raises(ValueError, match="an action for each"):
        simulator.act(rounds, [0, 1], [0])
    with pytest.raises(ValueError, match="KoiKoi"):
        Simulator(cfr.games.KuhnPoker())


# ---- players ---------------------------------------------------------------------------------


def test_matches_are_antisymmetric():
    one = cfr.match(Simulator(FULL), GreedyPlayer("rule"), GreedyPlayer("stop"), 500, seed=1)
    other = cfr.match(Simulator(FULL), GreedyPlayer("stop"), GreedyPlayer("rule"), 500, seed=1)
    assert (one.mean, one.margin, one.tied) == (-other.mean, other.margin, other.tied)
    assert one.won + other.won + one.tied == pytest.approx(1)


@pytest.mark.slow
def test_greedy_beats_random_and_search_beats_greedy():
    assert cfr.match(Simulator(FULL), GreedyPlayer(), RandomPlayer(), 3_000, seed=0).mean > 2.7
    assert cfr.match(Simulator(FULL), SearchPlayer(100), GreedyPlayer(), 300, seed=0).mean > 0.2


def test_greedy_takes_the_most_valuable_capture():
    simulator = Simulator(FULL)
    start = KoiKoi().root()
    at = start._replace(
        stage="play", hands=(("Pine-1", "Geese", "Boar"), ("Maple-1",)), stock=("Iris-1",),
        field=("Crane", "Moon", "Clover-1"),
    )  # fmt: skip
    rounds = simulator.place([at])
    (card,) = GreedyPlayer()(simulator, rounds, np.array([0]), np.uint64(1))
    assert simulator.names[card] == "Geese"  # 10 + 20; Pine-1 with Crane is 1 + 20


def test_search_finds_a_certain_win():
    """With three lights captured, the last card either captures the fourth or does not."""
    simulator = Simulator(FULL)
    at = KoiKoi().root()._replace(
        stage="play", hands=(("Phoenix", "Iris-1"), ("Maple-1",)),
        field=("Paulownia-1", "Iris-2"), piles=(("Crane", "Curtain", "Moon"), ()),
        points=(5, 0), calls=(1, 0),
        stock=("Plum-1", "Plum-2", "Mum-1", "Mum-2"),
    )  # fmt: skip
    rounds = simulator.place([at])
    (card,) = SearchPlayer(50)(simulator, rounds, np.array([0]), np.uint64(1))
    assert simulator.names[card] == "Phoenix"


def test_search_does_not_depend_on_hidden_cards():
    simulator = Simulator(FULL)
    rounds = simulator.deal(40, seed=6)
    rows, key = np.arange(40), np.uint64(9)
    other = exchanged(rounds, rows)
    player = SearchPlayer(30)
    assert (player(simulator, rounds, rows, key) == player(simulator, other, rows, key)).all()


def test_invalid_options_of_players_raise():
    with pytest.raises(ValueError, match="call must be one of"):
        GreedyPlayer("never")
    with pytest.raises(ValueError, match="samples"):
        SearchPlayer(0)
    with pytest.raises(ValueError, match="deals"):
        cfr.match(Simulator(FULL), RandomPlayer(), RandomPlayer(), 1)


class FirstAction:
    """Takes the first action, and notes the rounds that it deals."""

    def __init__(self, dealt, number):
        self.dealt, self.number = dealt, number

    def __call__(self, simulator, rounds, rows, key):
        new = rows[(rounds.player[rows] == 0) & (rounds.stage[rows] == PLAY)]
        new = new[np.bitwise_count(rounds.hands[new, 0]) == 8]
        self.dealt.append((self.number, set(new.tolist())))
        return np.array([members(int(c))[0] for c in simulator.legal(rounds)[rows]])


def test_the_winner_of_a_round_deals_the_next():
    simulator, dealt = Simulator(FULL), []
    pair = [FirstAction(dealt, n) for n in range(2)]
    found = play_matches(FULL, *pair, matches=30, rounds=2, seed=5)
    first = [rows for rows in dealt if rows[1]][:2]
    assert first[0][1] | first[1][1] == set(range(30))
    assert first[0] == (0, set(range(0, 30, 2)))
    second = dict([rows for rows in dealt if rows[1]][2:])
    sources = np.random.SeedSequence(5).spawn(2)
    paid = play(simulator, *pair, 30, seed=sources[0])
    expected = {r for r in range(30) if (r % 2 == 0) == (paid[r] > 0)}
    assert second.get(0, set()) == expected
    assert found.matches == 30


@pytest.mark.parametrize(("after_void", "dealers"), [("other", {0: 3, 1: 3}), ("same", {0: 6})])
def test_who_deals_after_a_void_round(after_void, dealers):
    never = KoiKoi(yaku=[Yaku("all", tuple(card.name for card in DECK), 48, 1)])  # all are void
    dealt = []
    one, other = (FirstAction(dealt, n) for n in range(2))
    found = play_matches(never, one, other, matches=2, rounds=6, after_void=after_void, seed=0)
    assert Counter(number for number, rows in dealt if 0 in rows) == dealers  # the first match
    assert (found.drawn, found.points) == (1, 0)
    with pytest.raises(ValueError, match=r"after_void must be one of \('other', 'same'\)"):
        play_matches(FULL, one, other, after_void="dealer")


def test_matches_are_reproducible():
    stop, rule = GreedyPlayer("stop"), GreedyPlayer("rule")
    one = play_matches(FULL, rule, stop, matches=200, seed=3)
    assert one == play_matches(FULL, rule, stop, matches=200, seed=3)
    assert "of 200 matches of 12 rounds" in repr(one)
    with pytest.raises(ValueError, match="rounds must be a whole number, at least 1"):
        play_matches(FULL, rule, stop, rounds=0)


@pytest.mark.slow
def test_every_deal_is_equally_likely():
    """χ²: which card lies where, and which follows which, in 20,000 deals without repeats."""
    order = Simulator(MiniKoiKoi.K8()).deal(20_000, seed=2).order
    places = np.array([np.bincount(column, minlength=8) for column in order.T])
    expected = len(order) / 8
    statistic = ((places - expected) ** 2 / expected).sum()
    assert chi2.cdf(statistic, 49) < 0.999
    pairs = np.bincount(order[:, 0] * 8 + order[:, 1], minlength=64).reshape(8, 8)
    apart = pairs[~np.eye(8, dtype=bool)]
    assert not pairs.diagonal().any()
    assert chi2.cdf(((apart - len(order) / 56) ** 2 / (len(order) / 56)).sum(), 55) < 0.999
    whole = Simulator(FULL).deal(200, seed=0).order
    assert (np.sort(whole, axis=1) == np.arange(48)).all()
