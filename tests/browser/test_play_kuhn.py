"""The page "Play Kuhn": its script under node, and the game in Chromium, from file://."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from koikoi_page import data, under_node
from kuhn_page import leak, namespace
from playing import Choose, KuhnTable, at_random
from scipy import stats

import cfrlib as cfr

game = cfr.games.KuhnPoker()


# ---- the script, under node ------------------------------------------------------------------


def walk(history: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Visit every history of the game."""
    node = game.node(history)
    yield history, node
    options = node.probabilities if isinstance(node, cfr.Chance) else ()
    for action in node.actions if isinstance(node, cfr.Decision) else options:
        yield from walk((*history, action))


def rules() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {"ends": [], "decisions": []}
    for history, node in walk():
        if history:
            what = "ends" if isinstance(node, cfr.Terminal) else "decisions"
            said = {name: getattr(node, name) for name in node.__slots__}
            found[what].append({"cards": history[0], "moves": history[1:], **said})
    return found


def score(results: list[int]) -> dict[str, Any]:
    sd = float(np.std(results, ddof=1))
    half = stats.t.ppf(0.975, len(results) - 1) * sd / np.sqrt(len(results))
    return {
        "results": results,
        "hands": len(results),
        "total": sum(results),
        "mean": float(np.mean(results)),
        "sd": sd,
        "half": float(half),
    }


def random_hand(
    seat: int, rng: np.random.Generator, own: Choose | None = None
) -> dict[str, Any]:
    """Return a hand in which all actions are random, or all but those of `seat`."""
    history: tuple[Any, ...] = ()
    while not isinstance(node := game.node(history), cfr.Terminal):
        if own and isinstance(node, cfr.Decision) and node.player == seat:
            history = (*history, own(list(node.actions)))
            continue
        chance = isinstance(node, cfr.Chance)
        options = list(node.probabilities) if chance else list(node.actions)
        history = (*history, options[rng.integers(len(options))])
    return {"cards": history[0], "seat": seat, "moves": history[1:]}


def count(hands: list[dict[str, Any]]) -> dict[str, dict[str, int]]:
    """Count the actions of whoever sits in `seat`."""
    uniform = cfr.Strategy.uniform(game)
    counts = {infoset: dict.fromkeys(row, 0) for infoset, row in uniform.items()}
    for hand in hands:
        for k, action in enumerate(hand["moves"]):
            node = game.node((tuple(hand["cards"]), *hand["moves"][:k]))
            if node.player == hand["seat"]:
                counts[node.infoset][action] += 1
    return counts


def leak_case(member: int, hands: list[dict[str, Any]]) -> dict[str, Any]:
    counts = count(hands)
    sheet = cfr.games.kuhn_equilibrium(game, member / 60)
    return {
        "member": member,
        "hands": hands,
        "counts": counts,
        "leak": leak(game, sheet, counts),
    }


def fixture() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    sessions = [[random_hand(k % 2, rng) for k in range(n)] for n in (0, 1, 6, 50, 400)]
    results = [rng.choice([-2, -1, 1, 2], n).tolist() for n in (10, 12, 50, 1_000)]
    return {
        "table": namespace()["table"],
        **rules(),
        "scores": [score(row) for row in results],
        "leaks": [leak_case(k, hands) for k, hands in product((0, 7, 12, 20), sessions)],
    }


def test_script_under_node(tmp_path: Path) -> None:
    under_node("play_kuhn.test.js", fixture(), tmp_path / "kuhn.json")


# ---- the built page --------------------------------------------------------------------------


TABLE = KuhnTable


def folds_kings(actions: list[str]) -> str:
    """Check, and fold to every bet, kings or not."""
    return "check" if "check" in actions else "fold"


def test_embedded_table_equals_cfrlibs() -> None:
    assert json.loads(data("play_kuhn.html", "kuhn")) == namespace()["table"]


def test_score_and_chart_tell_their_precision(played: KuhnTable) -> None:
    words = str(played.find("chart").get_attribute("aria-label"))
    band = score(played.results)["half"] * 60
    assert f"{sum(played.results):+d}".replace("-", "−") + " after 60 hands" in words
    assert f"±{band:.1f}" in words
    assert f"± {band / 60:.2f}" in played.text("numbers")


def test_leak_equals_best_response_gain(played: KuhnTable) -> None:
    counts = played.counts()
    assert len(counts) == 12
    visits = sum(sum(row.values()) for row in counts.values())
    assert 60 <= visits <= 90  # one decision a hand, as player 0 sometimes two
    sheet = cfr.games.kuhn_equilibrium(game, 0.2)
    assert played.leak() == pytest.approx(leak(game, sheet, counts), abs=1e-12)
    assert played.leak() > 0
    assert f"leaks {played.leak():.3f}" in played.text("leak")


def test_leak_is_shown_from_fifty_hands(fresh: KuhnTable) -> None:
    fresh.play(49, at_random(3))
    assert "1 more" in fresh.text("leak")
    assert fresh.find("leak table").count() == 0
    fresh.play(1, at_random(3))
    assert fresh.find("leak table").count() == 1


def test_folding_kings_is_reported_as_a_leak(fresh: KuhnTable) -> None:
    fresh.play(60, folds_kings)
    loss = namespace()["losses"](cfr.games.kuhn_equilibrium(game, 0.2))
    for infoset in ("K bet", "K check-bet"):
        assert fresh.counts()[infoset]["fold"], "the seed deals kings that face a bet"
        assert fresh.cost(infoset) == pytest.approx(loss[infoset]["fold"] / 2, abs=1e-12)
    assert "to fold at K" in fresh.text("leak")


def set_alpha(table: KuhnTable, sixtieths: int) -> None:
    table.page.locator(".play-alpha input").fill(str(sixtieths))


def test_each_alpha_keeps_its_hand_and_score(fresh: KuhnTable) -> None:
    fresh.play(5, at_random(4))
    here = fresh.text("status"), fresh.number("score")
    set_alpha(fresh, 20)
    assert "1/3" in fresh.text("alpha output")
    assert fresh.number("hands") == 0
    assert "5 hands at α = 1/5" in fresh.text("elsewhere")
    fresh.play(2, at_random(5))
    fresh.page.reload()
    assert "1/3" in fresh.text("alpha output")
    set_alpha(fresh, 12)
    assert "2 hands at α = 1/3" in fresh.text("elsewhere")
    assert (fresh.text("status"), fresh.number("score")) == here
    assert fresh.number("hands") == 5


def test_folded_card_is_shown_only_on_demand(fresh: KuhnTable) -> None:
    while fresh.actions() != ["next"] or "fold" not in fresh.text("log"):
        actions = fresh.actions()
        fresh.click("next" if actions == ["next"] else folds_kings(actions))
    card = fresh.find("their-card > svg")
    assert card.get_attribute("aria-label") == "a card face down"
    fresh.page.get_by_label("Show their card after a fold").check()
    name = str(card.get_attribute("aria-label"))
    assert name in ("jack", "queen", "king")
    assert f"They held the {name}." in fresh.text("status")
