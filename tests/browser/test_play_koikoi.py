"""The game in the chapter on Koi-Koi: its script under node, and the page in Chromium."""

from __future__ import annotations

import gzip
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from koikoi_page import data, rounds_of, rules_of, under_node
from playing import KoiKoiTable, at_random
from playwright.sync_api import expect

import cfrlib as cfr
from koikoi import KoiKoi, MiniKoiKoi, Position

PAGE = "13_koi_koi.html"

game = MiniKoiKoi.K10()


@cache
def table() -> dict[str, Any]:
    """Return what the page carries."""
    read: dict[str, Any] = json.loads(data(PAGE, "koikoi"))
    return read


def place(label: str) -> str:
    """Return an infoset's place in the page's table: cards by their number in the deck."""
    short = {card: str(n) for n, card in enumerate(game.months)}
    short |= {"dealer": "d", "other": "o", "koi": "k", " ": "", ",": ""}
    for word, sign in short.items():
        label = label.replace(word, sign)
    return label


@cache
def opponent() -> cfr.Strategy:
    """Return the page's strategy as cfrlib's; first actions where it never gets to."""
    found = {}
    for label, row in cfr.Strategy.uniform(game).items():
        if len(row) == 2:
            p = max(0, table()["rows"].get(place(label), [0])[0]) / 1000
            first, second = row
            found[label] = {first: p, second: 1 - p}
    return cfr.Strategy.uniform(game).replace(found)


def repeated_deals(n: int, seed: int) -> list[dict[str, Any]]:
    """Return deals of the full deck, and whether the readable game repeats each.

    A quarter of them have four cards of a month in one place, or four pairs in a hand.
    """
    rng, found, full = random.Random(seed), [], KoiKoi()
    for k in range(n):
        deck = list(full.deck)
        rng.shuffle(deck)
        if k % 4 == 0:
            months = rng.sample(range(1, 13), 4)
            pairs = [[c for c in deck if full.months[c] == m][:2] for m in months]
            month = [c for c in deck if full.months[c] == months[0]]
            put = rng.choice([[c for pair in pairs for c in pair], month])
            start = rng.choice([0, 8, 16])
            rest = [c for c in deck if c not in put]
            deck = [*rest[:start], *put, *rest[start:]]
        at: Position = full.root()
        for card in deck[:24]:
            at = full.step(at, card)
        cards = [sorted(deck[8 * k : 8 * k + 8], key=full.deck.index) for k in range(3)]
        found.append({"hands": cards[:2], "field": cards[2], "repeated": at.stage == "deal"})
    return found


def losses() -> list[dict[str, Any]]:
    """Return what players lose a round to a best response, seats alternating."""
    uniform = cfr.Strategy.uniform(game)
    gains = []
    for player in (0, 1):
        mine = {I: row for I, row in uniform.items() if uniform.player(I) == player}
        gains.append(cfr.best_response(game, opponent().replace(mine), player).gain)
    return [{"name": "random", "loss": sum(gains) / 2}, {"name": "best", "loss": 0}]


# ---- the table, and the script under node ----------------------------------------------------


def test_embedded_strategy_is_an_equilibrium() -> None:
    assert cfr.exploitability(game, opponent()) < 1e-4
    assert table()["rules"] == rules_of(game)


def test_embedded_table_is_small() -> None:
    assert len(gzip.compress(data(PAGE, "koikoi").encode())) < 150_000


def test_value_of_stopping_is_the_payment() -> None:
    calls = 0
    for dealt in rounds_of(game, 2_000, seed=2):
        for step in dealt["steps"]:
            at, player = step["position"], step["position"]["player"]
            _, *worth = table()["rows"].get(place(step["label"]), [0])
            if at["stage"] == "call" and worth:
                paid = game.payment(at["points"][player], at["calls"][1 - player] > 0)
                assert worth[0] == 1_000 * paid
                calls += 1
    assert calls > 300


def test_rules_under_node(tmp_path: Path) -> None:
    house = KoiKoi(special=6, koi_limit=1, void_points=6, double_at=None)
    members = [game, MiniKoiKoi.K9(), MiniKoiKoi.K12(koi_limit=2), KoiKoi(), house]
    games = [
        {"name": repr(member), "rules": rules_of(member), "rounds": rounds_of(member, 500, 1)}
        for member in members
    ]
    deals = {"full": rules_of(KoiKoi()), "repeats": repeated_deals(400, seed=1)}
    under_node("koikoi_rules.test.js", {"games": games, **deals}, tmp_path / "rules.json")


def test_script_under_node(tmp_path: Path) -> None:
    leaks = losses()
    assert leaks[0]["loss"] > 0.3, "to choose at random costs something"
    under_node("play_koikoi.test.js", {"table": table(), "leaks": leaks}, tmp_path / "k10.json")


# ---- the built page --------------------------------------------------------------------------


TABLE = KoiKoiTable


def test_page_reports_the_cost_of_choices(fresh: KoiKoiTable) -> None:
    given, choose = [], at_random(3)
    for _ in range(12):
        while (actions := fresh.actions()) != ["next"]:
            fresh.click(choose(actions))
        given.append(fresh.given_away())
        lost = [float(str(row.get_attribute("data-cost")))
                for row in fresh.find("leak tbody tr").all()]  # fmt: skip
        assert sum(lost) == pytest.approx(given[-1], abs=5e-4)
        fresh.click("next")
    assert max(given) > 0.1
    assert fresh.number("given away") == pytest.approx(np.mean(given), abs=1e-3)


def test_hints_match_the_table(fresh: KoiKoiTable) -> None:
    hint, seen = fresh.find("hint"), 0
    assert fresh.find("hints tbody tr").count() == 0
    fresh.find("actions button").first.focus()
    fresh.page.keyboard.press("h")
    assert hint.get_attribute("aria-pressed") == "true"
    choose = at_random(4)
    for _ in range(30):
        if (actions := fresh.actions()) == ["next"]:
            fresh.click("next")
            continue
        rows = fresh.find("hints tbody tr").all()
        assert [row.get_attribute("data-action") for row in rows] == actions[: len(rows)]
        assert len(rows) in (0, 2)
        if rows:
            chances = [row.locator("td").first.inner_text() for row in rows]
            if "–" not in chances:
                shares = [float(text.split()[0]) for text in chances]
                assert sum(shares) == pytest.approx(100, abs=0.11)
            seen += 1
        fresh.click(choose(actions))
    assert seen >= 8
    hint.click()
    assert fresh.find("hints tbody tr").count() == 0


def test_best_hints_give_nothing_away(fresh: KoiKoiTable) -> None:
    fresh.find("hint").click()
    for _ in range(8):
        while (actions := fresh.actions()) != ["next"]:
            rows = fresh.find("hints tbody tr").all()
            worth = [row.locator("td").last.inner_text().replace("−", "-") for row in rows]
            best = int(np.argmax([float(x) for x in worth])) if worth else 0
            fresh.click(actions[best])
        fresh.click("next")
    assert fresh.number("given away") == 0


def test_opponents_hand_is_hidden_until_the_end(fresh: KoiKoiTable) -> None:
    hand = fresh.find("their-hand svg[role=img]")
    names = [str(card.get_attribute("aria-label")) for card in hand.all()]
    assert names and set(names) == {"A card face down"}
    stock = fresh.find("stock svg[role=img]").first
    assert stock.get_attribute("aria-label") == "A card face down"


@pytest.mark.parametrize(("seat", "begins"), [("0", "You are dealer"), ("1", "is dealer")])
def test_seat_can_be_chosen(fresh: KoiKoiTable, seat: str, begins: str) -> None:
    fresh.page.locator(".play-koikoi select").select_option(seat)
    fresh.find("restart").click()
    for _ in range(3):
        assert begins in fresh.text("status")
        while fresh.actions() != ["next"]:
            fresh.click(fresh.actions()[0])
        fresh.click("next")


def test_log_describes_the_round(fresh: KoiKoiTable) -> None:
    while fresh.actions() != ["next"]:
        fresh.click(fresh.actions()[0])
    lines = fresh.find("log li").all_inner_texts()
    assert len(lines) >= 4
    assert all(line.startswith(("You", "The equilibrium")) for line in lines)
    assert any("draw" in line for line in lines)


def test_game_keys_are_ignored_in_the_seat_menu(fresh: KoiKoiTable) -> None:
    fresh.page.locator(".play-koikoi select").focus()
    before = fresh.find("log li").count()
    for key in "1hn":
        fresh.page.keyboard.press(key)
    assert fresh.find("log li").count() == before
    expect(fresh.find("hint")).to_have_attribute("aria-pressed", "false")
