"""The game in the chapter on Coyote: its script under node, and the page in Chromium."""

from __future__ import annotations

import json
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from koikoi_page import data, under_node
from playing import CoyoteTable

import cfrlib as cfr

game = cfr.games.Coyote()


@cache
def table() -> dict[str, Any]:
    """Return what the page carries."""
    read: dict[str, Any] = json.loads(data("12_coyote.html", "coyote"))
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
    leaks = [{"call": call, "leak": leak(call)} for call in (0.1, 0.5, 1.0)]
    assert leaks[0]["leak"] > 0.05, "to call at random costs something"
    under_node(
        "play_coyote.test.js",
        {"table": table(), "ends": ends(), "leaks": leaks},
        tmp_path / "coyote.json",
    )


# ---- the built page --------------------------------------------------------------------------


TABLE = CoyoteTable


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
