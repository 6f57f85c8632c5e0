"""The reader's own strategy of Kuhn poker in chapters 3 and 4: under node, and in Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from koikoi_page import under_node
from playing import KuhnTable, at_random
from playwright.sync_api import expect
from reader import text_of
from scipy.stats import binomtest
from test_play_kuhn import count, folds_kings, random_hand

import cfrlib as cfr

CHAPTERS = ["03_equilibrium", "04_vanilla_cfr"]
# Puts hands in place of those that were played.
KEEP = """hands => {
  const kept = JSON.parse(sessionStorage.getItem("cfr-play-kuhn"));
  kept.sitting.hands = hands;
  sessionStorage.setItem("cfr-play-kuhn", JSON.stringify(kept));
}"""
game = cfr.games.KuhnPoker()


def filled(counts: dict[str, dict[str, int]]) -> cfr.Strategy:
    """Return the frequencies, and the equilibrium where nothing was counted."""
    rows = {
        infoset: {a: n / sum(row.values()) for a, n in row.items()}
        for infoset, row in counts.items()
        if sum(row.values())
    }
    return cfr.games.kuhn_equilibrium(game, 0.2).replace(rows)


def random_strategy(rng: np.random.Generator) -> cfr.Strategy:
    rows = {}
    for infoset, row in cfr.Strategy.uniform(game).items():
        p = rng.choice([0.0, 1.0, rng.random()])  # pure choices leave parts of the tree
        rows[infoset] = dict(zip(row, [p, 1 - p], strict=True))
    return cfr.Strategy.uniform(game).replace(rows)


def fixture() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    families = [(a, cfr.games.kuhn_equilibrium(game, a)) for a in (0, 0.2, 1 / 3)]
    strategies = [*(s for _, s in families), *(random_strategy(rng) for _ in range(200))]
    sessions = []
    for n in (1, 3, 50, 400):
        hands = [random_hand(k % 2, rng) for k in range(n)]
        counts = count(hands)
        times = {infoset: sum(row.values()) for infoset, row in counts.items()}
        value = cfr.exploitability(game, filled(counts))
        sessions.append({"hands": hands, "exploitability": value, "times": times})
    intervals = []
    for n, times in ((0, 3), (3, 3), (1, 7), (20, 50), (399, 400)):
        low, high = binomtest(n, times).proportion_ci(method="wilson")
        intervals.append({"n": n, "times": times, "low": low, "high": high})
    return {
        "strategies": [
            {"strategy": dict(s), "exploitability": cfr.exploitability(game, s)}
            for s in strategies
        ],
        "family": [{"alpha": a, "strategy": dict(s)} for a, s in families],
        "sessions": sessions,
        "intervals": intervals,
    }


def test_script_under_node(tmp_path: Path) -> None:
    under_node("play_yours.test.js", fixture(), tmp_path / "yours.json")


# ---- the built pages -------------------------------------------------------------------------


TABLE = KuhnTable
Sit = Callable[..., KuhnTable]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter_invites_whoever_has_not_played(sit_down: Sit, chapter: str) -> None:
    table = sit_down(chapter)
    assert "Play a few hands" in table.text("yours")
    table.find("yours a").click()
    expect(table.find("actions button").first).to_be_visible()


def test_chapters_draw_the_strategy_of_the_hands(sit_down: Sit) -> None:
    table = sit_down()
    table.play(60, at_random(1))
    wanted = filled(table.counts())
    for chapter in CHAPTERS:
        table.turn_to(chapter)
        assert "from 60 hands" in table.text("yours")
        rows = table.find("yours tr[data-infoset]").all()
        shares = {str(row.get_attribute("data-infoset")): text_of(row) for row in rows}
        assert set(shares) == set(wanted)
        for infoset, text in shares.items():
            row = wanted[infoset]
            assert f"{row['bet' if 'bet' in row else 'call']:.2f}" in text
        found = table.page.locator("[data-exploitability]").get_attribute("data-exploitability")
        assert float(str(found)) == pytest.approx(cfr.exploitability(game, wanted), abs=1e-9)


def test_three_hands_claim_nothing(sit_down: Sit) -> None:
    table = sit_down()
    table.play(3, folds_kings)
    table.turn_to(CHAPTERS[0])
    text = table.text("yours")
    assert "from 3 hands" in text and "47 more to play" in text and "unknown" in text
    assert "too" not in text
    assert table.find("yours [data-outside=true]").count() == 0
    assert table.page.locator("[data-exploitability]").count() == 0


def test_folding_kings_is_told_apart_from_chance(sit_down: Sit) -> None:
    table = sit_down()
    table.play(1, folds_kings)
    rng = np.random.default_rng(1)  # of 240 hands, two dozen with a king that faces a bet
    table.page.evaluate(KEEP, [random_hand(k % 2, rng, folds_kings) for k in range(240)])
    table.turn_to(CHAPTERS[1])
    assert "from 240 hands" in table.text("yours")
    assert re.search(
        r"At K (check-)?bet you call too seldom: .* saves 0\.\d+", table.text("yours")
    )


def test_hands_against_every_opponent_count(sit_down: Sit) -> None:
    table = sit_down()
    table.play(2, at_random(2))
    table.page.locator(".play-alpha input").fill("20")
    table.play(3, at_random(3))
    table.turn_to(CHAPTERS[0])
    assert "from 5 hands" in table.text("yours")


def test_chapter_that_was_left_knows_the_new_hands(sit_down: Sit) -> None:
    table = sit_down(CHAPTERS[0])
    table.find("yours a").click()
    expect(table.find("actions button").first).to_be_visible()
    table.play(2, at_random(4))
    table.page.go_back()
    expect(table.find("yours")).to_contain_text("from 2 hands")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_strategy_fits_a_phone(sit_down: Sit, theme: str) -> None:
    table = sit_down(viewport={"width": 360, "height": 640}, color_scheme=theme)
    table.play(52, at_random(7))
    table.turn_to(CHAPTERS[0])
    assert table.page.evaluate("document.documentElement.scrollWidth") <= 360
    box = table.find("yours .play-scroll").evaluate("box => [box.scrollWidth, box.clientWidth]")
    assert box[0] <= box[1]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter_is_whole_without_scripts(sit_down: Sit, chapter: str) -> None:
    table = sit_down(chapter, java_script_enabled=False)
    assert "with scripts" in table.text("yours")
