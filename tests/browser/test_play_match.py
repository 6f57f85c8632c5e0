"""Matches of Koi-Koi on three levels: their numbers under Node, and the page in Chromium."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from koikoi_page import ROOT, data, rules_of, under_node
from playing import MatchTable, at_random
from reader import DESKTOP, PHONE

from koikoi import KoiKoi, Position
from koikoi.learners import LookAheadPlayer, NetworkPlayer
from koikoi.learners.network_player import payoff_scale, values_of
from koikoi.players import GreedyPlayer
from koikoi.simulator import OVER, Rounds, Simulator

PAGE = "play_koikoi.html"
WEIGHTS = ROOT / "experiments" / "koikoi_players" / "monte-carlo-table-0-20-minutes.npz"
EVERY = 12  # features are compared at each twelfth decision
ROUNDS = 12  # of a match
DEALS = 8  # imagined at each position at which the search of the page is compared

game = KoiKoi()
simulator = Simulator(game)


@cache
def player() -> NetworkPlayer:
    return NetworkPlayer.load(WEIGHTS, game)


def recorded_rounds(n: int, seed: int) -> list[dict[str, Any]]:
    """Return rounds that the network plays against itself, one action in four at random.

    Each decision comes with the values of all actions, some with the features as well.
    """
    rounds, rng = simulator.deal(n, seed=seed), np.random.default_rng(seed)
    found = []
    for r in range(n):
        at = simulator.position(rounds, r)
        stock = [simulator.names[c] for c in rounds.order[r, rounds.turned[r] :]]
        dealt = {"hands": at.hands, "field": at.field, "stock": stock}
        found.append({**dealt, "steps": [], "paid": 0})
    network, count = player().network, 0
    while len(rows := np.flatnonzero(rounds.stage != OVER)):
        after = network.describer.after(rounds, rows)
        scale = payoff_scale(game)
        values = scale * values_of(network, player().networks[0], after, scale)
        seen, chosen = network.describer.see(after.code), []
        for r, a, b in zip(rows, after.start, after.start[1:], strict=False):
            name = simulator.actions(rounds, r)
            names = [name[c] for c in after.action[a:b]]
            pick = values[a:b].argmax() if rng.random() < 0.75 else rng.integers(b - a)
            step = {"player": int(rounds.player[r]), "action": names[pick]}
            step["worth"] = dict(zip(names, values[a:b].tolist(), strict=True))
            if count % EVERY == 0:
                step["seen"] = dict(zip(names, seen[a:b].tolist(), strict=True))
            found[r]["steps"].append(step)
            chosen.append(after.action[a + pick])
            count += 1
        simulator.act(rounds, rows, chosen)
    for r, record in enumerate(found):
        record["paid"] = int(rounds.paid[r])
    return found


def names_of(cards: np.uint64) -> list[str]:
    return [name for c, name in enumerate(simulator.names) if int(cards) >> c & 1]


def searches(n: int, seed: int) -> list[dict[str, Any]]:
    """Return decisions of greedy players with the look-ahead's values in given deals.

    A decision comes with the position, its imagined deals, and the greedy action.
    """
    rounds, greedy = simulator.deal(n, seed=seed), GreedyPlayer("rule")
    rng, search, found = np.random.default_rng(seed), LookAheadPlayer(player()), []
    while len(rows := np.flatnonzero(rounds.stage != OVER)):
        chosen = greedy(simulator, rounds, rows, np.uint64(0))
        some = rng.random(len(rows)) < 0.15
        for r, action in zip(rows[some], chosen[some], strict=True):
            found.append(searched(search, rounds, int(r), int(action), rng))
        simulator.act(rounds, rows, chosen)
    return found


def searched(
    search: LookAheadPlayer, rounds: Rounds, r: int, greedy: int, rng: np.random.Generator
) -> dict[str, Any]:
    after = player().network.describer.after(rounds, np.array([r]))
    imagined, other = rounds.take([r] * DEALS), 1 - int(rounds.player[r])
    turned, deals = int(rounds.turned[r]), []
    order = rounds.order[r, turned:].tolist()
    held = [c for c in range(48) if int(rounds.hands[r, other]) >> c & 1]
    for k in range(DEALS):
        cards = rng.permutation(held + order).tolist()
        hand, stock = cards[: len(held)], cards[len(held) :]
        imagined.hands[k, other] = sum(1 << c for c in hand)
        imagined.order[k, turned:] = stock
        both = [simulator.names[c] for c in stock]
        deals.append({"hand": names_of(imagined.hands[k, other]), "stock": both})
    tried = imagined.take(np.tile(np.arange(DEALS), len(after.action)))
    values = search.expected(simulator, tried, np.repeat(after.action, DEALS))
    names, means = simulator.actions(rounds, r), values.reshape(-1, DEALS).mean(axis=1)
    worth = {str(names[a]): x for a, x in zip(after.action, means.tolist(), strict=True)}
    at = simulator.position(rounds, r)._asdict()
    return {"at": at, "deals": deals, "worth": worth, "greedy": str(names[greedy])}


# ---- the data, and the script under node -----------------------------------------------------


def test_page_carries_the_rules_and_the_network() -> None:
    table = json.loads(data(PAGE, "match"))
    assert table["rules"] == rules_of(game)
    assert table["network"] == json.loads(json.dumps(player().page_data()))
    assert table["match"] == {"rounds": ROUNDS, "after_void": "other"}
    assert set(table["pictures"]) == set(table["kinds"]) == set(game.deck)
    assert set(table["levels"]) == {"learner", "network", "strong"}
    assert all(table["japanese"][word] for word in (*game.deck, *(y.name for y in game.yaku)))


def test_network_under_node(tmp_path: Path) -> None:
    table = {"rules": rules_of(game), "network": player().page_data()}
    rounds = recorded_rounds(400, seed=1)
    under_node(
        "koikoi_network.test.js", {"table": table, "rounds": rounds}, tmp_path / "n.json"
    )


def test_search_under_node(tmp_path: Path) -> None:
    """In the same deals a search has the same values, and greedy has the same move."""
    given = {"rules": rules_of(game), "network": player().page_data()}
    kinds = json.loads(data(PAGE, "match"))["kinds"]
    fixture = {"table": {**given, "kinds": kinds}, "searches": searches(60, seed=3)}
    fixture["playouts"] = LookAheadPlayer(player()).playouts
    under_node("koikoi_search.test.js", fixture, tmp_path / "s.json")


# ---- the built page --------------------------------------------------------------------------


TABLE = MatchTable
Sit = Callable[..., MatchTable]


def position(at: dict[str, Any]) -> Position:
    """Return the script's position as cfrlib's."""

    def frozen(value: Any) -> Any:
        return tuple(map(frozen, value)) if isinstance(value, list) else value

    return Position(**{name: frozen(at[name]) for name in Position._fields})


def expected(at: dict[str, Any]) -> dict[str, float]:
    """Return what cfrlib's network expects from each action in a position of the script."""
    rounds = simulator.place([position(at)])
    names = simulator.actions(rounds, 0)
    numbers = player().advise(simulator, rounds, 0).numbers
    return {str(names[a]): x for a, x in numbers.items()}


def hinted(table: MatchTable) -> dict[str, float]:
    """Return the numbers of the hints on show."""
    rows = table.find("hints tbody tr").all()
    texts = [row.locator("td").inner_text().replace("−", "-") for row in rows]
    names = [str(row.get_attribute("data-action")) for row in rows]
    return dict(zip(names, map(float, texts), strict=True))


def test_winner_deals_the_next_round(played: MatchTable) -> None:
    rounds = played.kept()["sitting"]["hands"]
    assert rounds[0]["seat"] == 0 and rounds[ROUNDS]["seat"] == 1  # matches begin in turns
    for last, following in pairwise(rounds[:ROUNDS]):
        paid = last["at"]["paid"]
        dealt_by_winner = last["seat"] if paid > 0 else 1 - last["seat"]
        assert following["seat"] == dealt_by_winner


def replayed(dealt: dict[str, Any]) -> Iterator[tuple[Position, str]]:
    """Replay what the players of a round saw, by the rules: each position with its action."""
    at, (order, heard) = game.root(), (dealt["at"]["first"], dealt["at"]["heard"])
    hands, field = [text.split(" | ")[0].split() for text in order], order[0].split(" | ")[1]
    for card in (*hands[0], *hands[1], *field.split()):
        at = game.step(at, card)
    words = [word.strip("+()").rstrip(",") for word in heard.replace(",", " ").split()]
    if dealt["at"]["stage"] == "over":
        words.append("stop")  # what ends a round is not heard
    for word in words:
        if at.stage == "over":
            break
        action = "koi-koi" if word == "koi" else word
        assert (at.stage == "call") == (action in ("stop", "koi-koi")), "every call is heard"
        yield at, action
        at = game.step(at, action)
    assert (at.stage, at.paid) == (dealt["at"]["stage"], dealt["at"]["paid"])


def test_network_takes_what_it_expects_most_from(played: MatchTable) -> None:
    """Replay its half of the rounds in cfrlib: every card it played was its best."""
    checked = 0
    for dealt in played.kept()["sitting"]["hands"][:6]:
        for at, action in replayed(dealt):
            if at.stage != "draw" and at.player != dealt["seat"]:
                numbers = expected(at._asdict() | {"hands": [*map(list, at.hands)]})
                assert numbers[action] >= max(numbers.values()) - 1e-4
                checked += 1
    assert checked > 30


@cache
def acted(text: str) -> int:
    """Return the number of the reader's actions in a round, which the rules allow."""
    dealt = json.loads(text)
    steps = [at for at, _ in replayed(dealt)]
    return sum(at.stage != "draw" and at.player == dealt["seat"] for at in steps)


def decisions(table: MatchTable) -> int:
    """Return the number of the reader's actions in all rounds."""
    kept = table.kept()["sitting"]
    rounds = kept["hands"] + ([] if kept["hand"]["at"]["stage"] == "over" else [kept["hand"]])
    return sum(acted(json.dumps(dealt)) for dealt in rounds)


def hit(table: MatchTable, rng: np.random.Generator) -> None:
    """Click or type like somebody who is in a hurry: mostly at the buttons, often twice."""
    page, kind = table.page, rng.random()
    if kind < 0.25:
        keys = ("Enter", " ", "s", "k", "n", "h", *"12345678")
        page.keyboard.press(keys[rng.integers(len(keys))])
        return
    aims = "actions button" if kind < 0.85 else "felt svg"
    spots = table.find(aims).evaluate_all("all => all.map(e => e.getBoundingClientRect())")
    size = page.viewport_size
    assert size
    if seen := [r for r in spots if r["y"] > 0 and r["y"] + r["height"] < size["height"]]:
        spot = seen[rng.integers(len(seen))]
        x, y = spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2
        page.mouse.click(x, y, click_count=int(rng.integers(1, 3)))
    elif spots:
        page.evaluate("aims => document.querySelector(aims)?.scrollIntoView()", f".play-{aims}")


def be_reckless(table: MatchTable, rounds: int, rng: np.random.Generator) -> tuple[int, int]:
    """Play by bursts of clicks and keys, reloading now and then; count bursts and actions.

    After each burst of less than 300 ms the rules must allow all that happened in the round,
    and the reader must have acted at most once.
    """
    bursts, before = 0, decisions(table)
    while len(table.kept()["sitting"]["hands"]) < rounds:
        table.page.clock.fast_forward(int(rng.integers(300, 900)))
        dealt, hits = len(table.kept()["sitting"]["hands"]), int(rng.integers(1, 6))
        for _ in range(hits):
            hit(table, rng)
            table.page.clock.fast_forward(int(rng.integers(299 // hits)))
        after = decisions(table)
        assert after - before in (0, 1), "one action in a burst, or none"
        assert len(table.kept()["sitting"]["hands"]) - dealt in (0, 1)
        bursts, before = bursts + 1, after
        if rng.random() < 0.02:
            table.page.reload()
            assert decisions(table) == after
    return bursts, before


@pytest.mark.parametrize(
    ("level", "size", "motion"),
    [("learner", DESKTOP, "reduce"), ("strong", PHONE, "no-preference")],
    ids=["desktop", "phone"],
)
def test_reckless_clicks_keep_the_rules(
    sit_down: Sit, level: str, size: tuple[int, int], motion: str
) -> None:
    width, height = size
    view = {"width": width, "height": height}
    table = sit_down(viewport=view, reduced_motion=motion)
    table.page.clock.pause_at(table.page.evaluate("Date.now() / 1000 + 60"))
    table.page.locator(".play-level").select_option(level)
    bursts, actions = be_reckless(table, ROUNDS, np.random.default_rng(width))
    assert bursts >= actions > 4 * ROUNDS


def test_hints_are_the_numbers_of_cfrlib(fresh: MatchTable) -> None:
    fresh.find("actions button").first.focus()
    fresh.page.keyboard.press("h")
    choose, stages = at_random(4), set()
    for _ in range(60):
        if (actions := fresh.actions()) == ["next"]:
            fresh.click("next")
            continue
        if len(actions) > 1:
            at = fresh.kept()["sitting"]["hand"]["at"]
            numbers, shown = expected(at), hinted(fresh)
            assert list(shown) == actions == list(numbers)
            assert shown == pytest.approx(numbers, abs=0.051)  # to one decimal
            best = fresh.find("hints strong").inner_text().replace("−", "-")
            assert float(best) == max(shown.values())
            assert "about" in fresh.find("hints thead").inner_text()
            stages.add(at["stage"])
        fresh.click(choose(actions))
    assert stages == {"play", "match", "call"}


def test_best_hints_give_nothing_away(fresh: MatchTable) -> None:
    fresh.find("hint").click()
    for _ in range(3):
        while (actions := fresh.actions()) != ["next"]:
            shown = fresh.find("hints tr:has(strong)")
            best = shown.get_attribute("data-action") if shown.count() else actions[0]
            fresh.click(str(best))
        assert "gave nothing away" in fresh.text("leak")
        fresh.click("next")


def test_review_lists_the_cost_of_every_choice(fresh: MatchTable) -> None:
    choose, choices = at_random(5), 0
    while (actions := fresh.actions()) != ["next"]:
        choices += len(actions) > 1
        fresh.click(choose(actions))
    rows = fresh.find("leak tbody tr")
    lost = [float(str(row.get_attribute("data-cost"))) for row in rows.all()]
    assert len(lost) == choices and min(lost) >= 0
    assert sum(lost) == pytest.approx(fresh.given_away(), abs=0.051)  # to one decimal
    assert "about" in fresh.text("leak")
    assert fresh.given_away() > 1  # to choose at random costs something


def test_captures_lie_by_kind(played: MatchTable) -> None:
    names = ("光", "タネ", "短冊", "カス")
    for side in ("their", "own"):
        kinds = played.find(f"{side}-pile .play-kind")
        shown = kinds.locator(".play-who").all_inner_texts()
        assert [text.split()[0] for text in shown] == list(names)
        for name, text, kind in zip(names, shown, kinds.all(), strict=True):
            titles = kind.locator("svg[role=img]").all()
            labels = [str(card.get_attribute("aria-label")) for card in titles]
            word = dict(zip(names, ("light", "animal", "ribbon", "plain"), strict=True))[name]
            assert all(word in label for label in labels)
            assert len(labels) == int(text.removeprefix(name) or 0)


def test_buttons_say_what_they_take(fresh: MatchTable) -> None:
    choose, seen = at_random(8), 0
    for _ in range(30):
        actions = fresh.actions()
        at = fresh.kept()["sitting"]["hand"]["at"]
        texts = fresh.find("actions button").all_inner_texts()
        if at["stage"] == "play" and actions != ["next"]:
            for action, text in zip(actions, texts, strict=True):
                month = game.months[action]
                taken = [card for card in at["field"] if game.months[card] == month]
                wanted = {0: "nothing", 1: "".join(taken), 2: " or ".join(taken), 3: "all 3"}
                assert f"takes {wanted[len(taken)]}" in " ".join(text.split())
                seen += bool(taken)
        fresh.click(choose(actions))
    assert seen > 20


def strong(table: MatchTable) -> None:
    """Sit down against the level that takes time."""
    table.page.locator(".play-level").select_option("strong")
    table.find("actions button").first.wait_for()


def wait_and_click(table: MatchTable, action: str) -> None:
    table.click(action)
    table.find("actions button").first.wait_for()


def test_strong_level_thinks_beside_the_page(fresh: MatchTable) -> None:
    """In a worker, which a page opened from a folder makes from text; and only once."""
    workers: list[Any] = []
    fresh.page.on("worker", lambda worker: workers.append(worker))
    strong(fresh)
    choose, finished = at_random(9), 0
    while finished < 2:
        action = choose(fresh.actions())
        finished += action == "next"
        wait_and_click(fresh, action)
    assert len(workers) == 1 and workers[0].url.startswith("blob:")
    assert "The strong player" in fresh.text("log")


def test_strong_level_thinks_without_a_worker(sit_down: Sit) -> None:
    table = sit_down("notation")
    table.page.add_init_script("delete window.Worker")
    table.page.clock.resume()
    table.turn_to(MatchTable.PAGE)
    strong(table)
    for _ in range(6):
        wait_and_click(table, table.actions()[0])


def test_each_level_keeps_its_own_score(fresh: MatchTable) -> None:
    fresh.play(2, at_random(10))
    score = fresh.text("numbers")
    fresh.page.locator(".play-level").select_option("learner")
    assert fresh.number("rounds") == 0
    assert "The learner" in fresh.text("status") + fresh.text("they")
    fresh.play(1, at_random(11))
    fresh.page.reload()
    assert fresh.page.locator(".play-level").input_value() == "learner"
    assert fresh.number("rounds") == 1
    fresh.page.locator(".play-level").select_option("network")
    assert fresh.text("numbers") == score


def test_moves_are_seen_step_by_step(sit_down: Sit) -> None:
    """Each card lies open before it takes another; a click anywhere shows the rest."""
    table = sit_down(reduced_motion="no-preference")
    table.page.clock.pause_at(table.page.evaluate("Date.now() / 1000 + 60"))
    choose = at_random(12)
    for turn in range(4):
        (table.press if turn == 1 else table.click)(choose(table.actions()))
        assert table.actions() == []
        steps = 0
        if turn == 3:
            table.find("question").click()
        while not table.actions():
            assert table.page.locator(".play-felt [data-moved]").count() >= 1
            assert table.find("question").inner_text()
            steps += 1
            table.page.clock.fast_forward(400)
        assert steps >= 2 if turn < 3 else steps == 0


def test_match_ends_after_its_rounds(fresh: MatchTable) -> None:
    choose = at_random(6)
    fresh.play(ROUNDS - 1, choose)
    assert "Round 12 of 12" in fresh.text("status")
    while (actions := fresh.actions()) != ["next"]:
        fresh.click(choose(actions))
    assert "The match is over" in fresh.text("question")
    assert "New match" in fresh.text("actions")
    fresh.click("next")
    assert "Round 1 of 12" in fresh.text("status")
    assert "The network is dealer" in fresh.text("status")


def test_opponents_hand_is_hidden_until_the_end(fresh: MatchTable) -> None:
    hand = fresh.find("their-hand svg[role=img]")
    names = [str(card.get_attribute("aria-label")) for card in hand.all()]
    assert names == ["A card face down"] * 8
