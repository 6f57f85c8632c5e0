"""Sitting: rounds played by `press` agree with the simulator; text, HTML and widget."""

from __future__ import annotations

import json
import random
import re
from base64 import b64decode
from html import unescape
from typing import Any

import numpy as np
import pytest

from cfrbook.explore import explorable
from cfrlib.core.rng import new_key
from koikoi import KoiKoi, MiniKoiKoi, table
from koikoi.afterstates import Describer
from koikoi.learners import NetworkPlayer
from koikoi.learners.value_network import ValueNetwork
from koikoi.page import embed
from koikoi.players import GreedyPlayer, RandomPlayer, SearchPlayer
from koikoi.simulator import OVER, Player, Rounds, Simulator
from koikoi.table import AGAIN, NEXT, PAGE, Sitting, sit_down

GAMES = [KoiKoi(), KoiKoi(special=6), KoiKoi(koi_limit=1), MiniKoiKoi.K9(), MiniKoiKoi.K10()]


def network(game: KoiKoi, rule: str, many: int = 1) -> NetworkPlayer:
    """Return a player with small random networks."""
    size = ValueNetwork(Describer(game), (8,)).size
    rng = np.random.default_rng(3)
    weights = [rng.normal(0, 0.3, size).astype(np.float32) for _ in range(many)]
    return NetworkPlayer(game, weights, (8,), rule, [1.0, 3.0][:many])


def play_round(sitting: Sitting, rng: random.Random) -> list[str]:
    """Press random actions until the round is over; return them."""
    pressed = []
    while not sitting.over:
        pressed.append(rng.choice(sitting.actions))
        sitting.press(pressed[-1])
    return pressed


class Recording:
    """Plays like another player and records its actions."""

    def __init__(self, player: Player):
        self.player = player
        self.chosen: list[int] = []

    def __call__(self, simulator: Simulator, rounds: Rounds, rows: Any, key: Any) -> Any:
        """Return an action for each of these rounds."""
        actions = self.player(simulator, rounds, rows, key)
        self.chosen.extend(actions.tolist())
        return actions


def opponents(game: KoiKoi) -> list[Player]:
    return [GreedyPlayer("rule"), RandomPlayer(), network(game, "value")]


# ---- rounds ----------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_results_agree_with_the_simulator(game: KoiKoi) -> None:
    for n, player in enumerate(opponents(game)):
        other, rng = Recording(player), random.Random(n)
        sitting, source = sit_down(game, other, seed=n), np.random.SeedSequence(n)
        simulator = Simulator(game)
        for k in range(12):
            pressed = iter(play_round(sitting, rng))
            rounds, answers = simulator.deal(1, seed=source.spawn(2)[0]), iter(other.chosen)
            while rounds.stage[0] != OVER:  # replay the round in the simulator
                mine = (rounds.player[0] == 0) == sitting.dealing
                named = {a: c for c, a in simulator.actions(rounds, 0).items()}
                simulator.act(rounds, [0], [named[next(pressed)] if mine else next(answers)])
            assert next(pressed, None) is None and next(answers, None) is None
            assert sitting.results[-1] == rounds.paid[0] * (1 if sitting.dealing else -1)
            assert sitting.actions == ((NEXT,) if k < 11 else (AGAIN,))
            other.chosen.clear()
            sitting.press(sitting.actions[0])
        assert not sitting.dealing, "the opponent deals first in the second match"
        assert len(sitting.results) == int(sitting.over), (
            "a special deal may end the round at once"
        )


@pytest.mark.parametrize("options", [{}, {"after_void": "same"}], ids=str)
def test_the_winner_deals_next_and_ties_change_the_dealer(options: dict[str, Any]) -> None:
    """Unless the dealer stays after a void round."""
    sitting = sit_down(KoiKoi(), GreedyPlayer(), rounds=60, seed=4, **options)
    rng = random.Random(4)
    assert sitting.dealing
    outcomes = set()
    for _ in range(59):
        play_round(sitting, rng)
        paid, dealing = sitting.results[-1], sitting.dealing
        outcomes.add(int(np.sign(paid)))
        sitting.press(NEXT)
        assert sitting.dealing == (paid > 0 if paid else dealing == bool(options))
    assert outcomes == {-1, 0, 1}
    assert sitting.score == sum(sitting.results)


def test_the_same_seed_gives_the_same_match() -> None:
    def match(seed: int) -> tuple[list[str], list[str]]:
        sitting, rng = sit_down(KoiKoi(), RandomPlayer(), seed=seed), random.Random(0)
        events = []
        for _ in range(3):
            events += [*play_round(sitting, rng), *sitting.log]
            sitting.press(NEXT)
        return events, [sitting.board()]

    assert match(1) == match(1) != match(2)


def test_unavailable_actions_raise() -> None:
    sitting = sit_down(KoiKoi(), GreedyPlayer(), seed=1)
    before = sitting.board(), sitting.actions
    for wrong in ("Moon-7", "stop", NEXT, AGAIN, ""):
        with pytest.raises(ValueError, match=r"cannot be pressed now; choose one of .*, "):
            sitting.press(wrong)
    assert (sitting.board(), sitting.actions) == before
    play_round(sitting, random.Random(0))
    with pytest.raises(ValueError, match=f"choose one of {NEXT}"):
        sitting.press("koi-koi")


def test_invalid_options_raise() -> None:
    with pytest.raises(ValueError, match=r"gives no advice.*leave out hints"):
        sit_down(KoiKoi(), GreedyPlayer(), hints=True)
    with pytest.raises(ValueError, match="rounds must be a whole number, at least 1"):
        sit_down(KoiKoi(), GreedyPlayer(), rounds=0)
    with pytest.raises(ValueError, match=r"after_void must be one of \('other', 'same'\)"):
        sit_down(KoiKoi(), GreedyPlayer(), after_void="dealer")


# ---- house rules, review, record -------------------------------------------------------------


def test_house_rules_begin_a_new_match_by_a_player_under_them() -> None:
    player = network(KoiKoi(), "value")
    sitting = sit_down(KoiKoi(), player, hints=True, seed=2)
    box, rng = sitting.widget(), random.Random(2)
    play_round(sitting, rng)
    box.house_rules["koi_limit"].value = 1
    assert repr(sitting.game) == "KoiKoi(koi_limit=1)" and sitting.results == []
    box.house_rules["special"].value = 6
    box.house_rules["after_void"].value = "same"
    assert repr(sitting.game) == "KoiKoi(special=6, koi_limit=1)"
    assert sitting.after_void == "same"
    assert isinstance(sitting.opponent, NetworkPlayer)
    assert repr(sitting.opponent.game) == repr(sitting.game) and sitting.adviser is not None
    assert sitting.opponent is sitting.adviser, "still one player"
    assert "KoiKoi(special=6, koi_limit=1)" in str(sitting.record())
    for _ in range(3):
        play_round(sitting, rng)
        assert sitting._round.calls.sum() <= 1
        sitting.press(NEXT)
    other = sit_down(KoiKoi(void_points=6), GreedyPlayer(), after_void="same", seed=1).widget()
    shown = {name: menu.value for name, menu in other.house_rules.items()}
    assert shown == {
        "koi_limit": None, "special": "redeal", "void_points": 6, "after_void": "same",
    }  # fmt: skip
    box = sit_down(MiniKoiKoi.K10(), RandomPlayer(), seed=0).widget()
    assert box.children[-1].layout.display == "none", "a miniature has no house rules"


def test_the_review_compares_choices_with_the_advice() -> None:
    sitting, rng = sit_down(KoiKoi(), network(KoiKoi(), "value"), hints=True, seed=3), None
    rng, advised = random.Random(3), []
    while not sitting.over:
        assert sitting.review() == "", "not before the round is over"
        advice, action = sitting.advice(), rng.choice(sitting.actions)
        if advice is not None:
            advised.append((action, advice))
        sitting.press(action)
    assert [(choice.action, choice.advice) for choice in sitting.judged] == advised
    html = unescape(sitting.review())
    for choice in sitting.judged:
        assert choice.advice.numbers[choice.best] == max(choice.advice.numbers.values())
        for name, x in choice.advice.numbers.items():
            assert f"{name} {table.signed(x, 1)}" in html
    assert html.count("the same") == sum(c.action == c.best for c in sitting.judged)
    sitting.press(NEXT)
    assert sitting.judged == [] or not sitting.over
    assert sit_down(KoiKoi(), GreedyPlayer(), seed=3).review() == ""


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_a_record_can_be_replayed_in_the_rules(game: KoiKoi) -> None:
    """The cards and moves of the record, played by the rules, pay what the record says."""
    sitting, rng = sit_down(game, RandomPlayer(), rounds=6, seed=11), random.Random(11)
    for _ in range(6):
        play_round(sitting, rng)
        if len(sitting.results) < 6:
            sitting.press(NEXT)
    record = json.loads(json.dumps(sitting.record()))
    assert [known["paid"] for known in record["rounds"]] == sitting.results
    for known in record["rounds"]:
        dealer = known["dealer"]
        other = "they" if dealer == "you" else "you"
        at: Any = game.root()._replace(
            stage="play", hands=(tuple(known["hands"][dealer]), tuple(known["hands"][other])),
            field=tuple(known["field"]), stock=tuple(known["stock"]),
        )  # fmt: skip
        stock = iter(known["stock"])
        for who, action in known["moves"]:
            assert who == (dealer, other)[at.player]
            node: Any = game.node(at)
            assert action in node.actions
            at = game.step(at, action)
            while at.stage == "draw":
                at = game.step(at, next(stock))
        paid = at.paid if known["moves"] else known["paid"] * (1 if dealer == "you" else -1)
        assert known["paid"] == (paid if dealer == "you" else -paid)
        assert at.stage == "over" or not known["moves"]


def test_the_link_holds_the_rounds_that_are_over() -> None:
    sitting, rng = sit_down(KoiKoi(), GreedyPlayer(), seed=12), random.Random(12)
    box = sitting.widget()
    assert "koikoi.json" not in box.children[7].value, "nothing to save yet"
    play_round(sitting, rng)
    sitting.press(NEXT)
    link = sitting.link()
    content = re.search(r"base64,([A-Za-z0-9+/=]+)", link)
    assert content is not None
    saved = json.loads(b64decode(content[1]))
    assert [known["paid"] for known in saved["rounds"]] == sitting.results
    assert saved["against"] == "GreedyPlayer(call='stop')" and "1 round<" in link


# ---- text and HTML ---------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES[::2], ids=repr)
def test_the_log_lists_all_captures_draws_and_calls(game: KoiKoi) -> None:
    rng = random.Random(5)
    sitting = sit_down(game, RandomPlayer(), rounds=40, seed=5)
    for _ in range(40):
        play_round(sitting, rng)
        at = sitting._simulator.position(sitting._round, 0)
        text = " ".join(sitting.log)
        captured = {"You": 0, "They": 0}
        for line in sitting.log:
            who, _, rest = line.partition(" ")
            if found := re.search(r"(?:and )?capture (.+?)(?: with (\S+))?\.$", rest):
                captured[who] += 1 + len(found[1].split(" and "))
        piles = [len(pile) for pile in at.piles]
        assert captured["You"] == piles[sitting._seat]
        assert captured["They"] == piles[1 - sitting._seat]
        assert text.count("call koi-koi") == sum(at.calls)
        assert text.count(" draw ") == int(sitting._round.turned[0]) - 2 * game.hand - game.open
        sitting.press(sitting.actions[0])


def hidden(sitting: Sitting) -> set[str]:
    """Return the names of cards hidden from the reader."""
    at, i = sitting._simulator.position(sitting._round, 0), sitting._seat
    seen = {*at.hands[i], *at.field, *at.piles[0], *at.piles[1], at.card}
    if sitting.over:
        seen |= {*at.hands[1 - i]}
    return {*at.stock, *at.hands[1 - i]} - seen


def shown(sitting: Sitting) -> str:
    pictures = "".join(choice.picture + choice.note for choice in sitting.choices())
    parts = [sitting.board(), sitting.story(), sitting.question(), sitting.picture(), pictures]
    return unescape(
        " ".join([*parts, sitting.hint() if sitting.adviser else "", repr(sitting)])
    )


@pytest.mark.slow
@pytest.mark.parametrize("game", [GAMES[0], GAMES[-1]], ids=repr)
def test_hidden_cards_are_never_in_the_html(game: KoiKoi) -> None:
    rng, checked = random.Random(6), 0
    sitting = sit_down(game, network(game, "regret"), hints=True, rounds=20, seed=6)
    for _ in range(200):
        html = shown(sitting)
        for card in hidden(sitting):
            assert f"{card}:" not in html, "the picture"
            # whole words only: no yaku and no game has the full name of a card
            assert not re.search(rf"(?<![\w-]){re.escape(card)}(?![\w-])", html), card
            checked += 1
        sitting.press(rng.choice(sitting.actions))
    assert checked > 80


@pytest.mark.slow
def test_visible_cards_are_in_the_html() -> None:
    sitting, rng = sit_down(KoiKoi(), GreedyPlayer(), seed=7), random.Random(7)
    while not sitting.over:
        at, i = sitting._simulator.position(sitting._round, 0), sitting._seat
        html = shown(sitting)
        for card in (*at.hands[i], *at.field, *at.piles[0], *at.piles[1]):
            assert f"<title>{card}:" in html
        back = html.count("<title>A card face down")
        assert back == 2 * (len(at.hands[1 - i]) + (len(at.stock) > 0)), "in board and in page"
        sitting.press(rng.choice(sitting.actions))


@pytest.mark.slow
def test_progress_of_yaku() -> None:
    sitting = sit_down(KoiKoi(), GreedyPlayer(), seed=0)
    words = sitting._progress(("Moon", "Sake", "Boar", "Deer"))
    assert "<strong>tsukimi 5</strong>" in words
    assert "inoshikacho 2 of 3" in words and "tane 3 of 5" in words
    assert "shiko" not in words, "three cards are missing"
    assert sitting._progress(()) == ""


# ---- hints -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_hints_of_values_agree_with_the_player() -> None:
    game = KoiKoi()
    player = network(game, "value")
    sitting = sit_down(game, player, hints=True, rounds=30, seed=8)
    rng, calls = random.Random(8), 0
    for _ in range(150):
        advice = sitting.advice()
        if advice is None:
            sitting.press(sitting.actions[0])
            continue
        assert advice.what == "points" and tuple(advice.numbers) == sitting.actions
        best = player(sitting._simulator, sitting._round, np.zeros(1, np.int64), new_key(1))
        assert max(advice.numbers, key=advice.numbers.__getitem__) == next(
            name for name, n in sitting._numbers.items() if n == best[0]
        )
        if "stop" in advice.numbers:
            i, at = sitting._seat, sitting._round
            paid = game.payment(int(at.points[0, i]), bool(at.calls[0, 1 - i]))
            assert advice.numbers["stop"] == pytest.approx(paid)
            calls += 1
        sitting.press(rng.choice(sitting.actions))
    assert calls > 3


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["regret", "logit"])
def test_hints_of_probabilities_are_the_frequencies_of_the_player(rule: str) -> None:
    game = KoiKoi()
    player = network(game, rule, many=2)
    sitting, asked = sit_down(game, player, hints=True, seed=9), 400
    advice = sitting.advice()
    assert advice is not None and advice.what == "probability"
    assert sum(advice.numbers.values()) == pytest.approx(1)
    rows = np.arange(asked)
    many = sitting._round.take(np.zeros(asked, np.int64))
    chosen = player(sitting._simulator, many, rows, new_key(2))
    for name, p in advice.numbers.items():
        share = (chosen == sitting._numbers[name]).mean()
        assert abs(share - p) <= 5 * (p * (1 - p) / asked) ** 0.5 + 1e-9


@pytest.mark.slow
def test_hints_may_come_from_another_player() -> None:
    game = KoiKoi()
    sitting = sit_down(game, SearchPlayer(5), hints=network(game, "value"), seed=1)
    assert "points to expect" in sitting.hint()
    assert sit_down(game, SearchPlayer(5), seed=1).advice() is None


# ---- the widget, and the page ----------------------------------------------------------------


@pytest.mark.slow
def test_the_widget_plays_a_match() -> None:
    game, rng = KoiKoi(), random.Random(10)
    sitting = sit_down(game, network(game, "value"), hints=True, rounds=2, seed=10)
    twin = sit_down(game, network(game, "value"), rounds=2, seed=10)
    box = sitting.widget()
    box.toggle.value = True
    for _ in range(60):
        visible = [b for b in box.buttons if b.layout.display != "none"]
        names = [button.description for button in visible]
        assert names == [choice.action for choice in sitting.choices()]
        assert set(names) == set(sitting.actions)
        board, status, hints, story = (box.children[k] for k in (1, 2, 5, 6))
        assert (board.value, story.value) == (sitting.board(), sitting.story())
        assert sitting.question() in unescape(status.value) and hints.value == sitting.hint()
        button, before = rng.choice(visible), len(sitting.log)
        twin.press(button.description)
        button.click()
        assert (sitting.log, sitting.results) == (twin.log, twin.results)
        news = " ".join(sitting.log[before if before < len(sitting.log) else 0 :])
        if button.description not in (NEXT, AGAIN):
            assert unescape(status.value).startswith(f"<p role='status'>{news}")


@pytest.mark.slow
def test_without_an_adviser_there_is_no_button_for_hints() -> None:
    box = sit_down(KoiKoi(), GreedyPlayer(), seed=1).widget()
    assert box.toggle.layout.display == "none" and box.children[5].value == ""


@pytest.mark.slow
def test_static_page_and_widget(monkeypatch: pytest.MonkeyPatch) -> None:
    sitting = sit_down(KoiKoi(), GreedyPlayer(), seed=1)
    monkeypatch.setenv(PAGE, "1")
    page = sitting._repr_mimebundle_()
    assert set(page) == {"text/plain", "text/html"}
    assert "run this page with a kernel" in page["text/html"]
    assert page["text/html"].count("<figcaption>") == 9, "eight cards, and how to play"
    monkeypatch.delenv(PAGE)
    assert "application/vnd.jupyter.widget-view+json" in sitting._repr_mimebundle_()
    assert explorable.PAGE == table.PAGE


@pytest.mark.slow
def test_only_one_network_of_values_goes_on_a_page() -> None:
    known = network(KoiKoi(), "value")
    weights = known.networks[0].astype("<f2")
    half = NetworkPlayer(KoiKoi(), [weights], (8,), "value").page_data()
    assert half is not None
    assert half["sizes"] == (known.network.describer.columns, 8, 1)
    assert b64decode(half["weights"]) == weights.tobytes()
    many = network(KoiKoi(), "value", many=2)
    for other in (known, many, network(KoiKoi(), "regret"), network(KoiKoi(), "logit")):
        assert other.page_data() is None, "float32, or not the values of one network"


@pytest.mark.slow
def test_identical_cards_have_the_same_action() -> None:
    sitting, rng = sit_down(MiniKoiKoi.K10(), RandomPlayer(), seed=3), random.Random(3)
    twins = 0
    for _ in range(60):
        names = [choice.action for choice in sitting.choices()]
        twins += len(names) > len(set(names))
        assert set(names) == set(sitting.actions)
        sitting.press(rng.choice(sitting.actions))
    assert twins > 0


def test_no_text_swallows_the_rest_of_the_page():
    """Within `<!--<script>`, a browser takes the end of the data for a part of it."""
    words = "<!--<script></script>"
    html = embed("match", MiniKoiKoi.K9(), {"words": words}, "")
    (data,) = re.findall(r"<script type='application/json'>(.*?)</script>", html, re.DOTALL)
    assert "<!" not in data and "</" not in data
    assert json.loads(data)["words"] == words
