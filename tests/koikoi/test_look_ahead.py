"""The player that looks one turn ahead, against the readable rules."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from koikoi_hands import exchanged
from toy_games import mini

import cfrlib as cfr
from koikoi import KoiKoi
from koikoi.learners import DeepMonteCarlo, LookAheadPlayer, NetworkPlayer
from koikoi.rules import Position
from koikoi.simulator import OVER, Simulator

K9 = mini("K9")
KEY = np.uint64(5)


def network(game: KoiKoi) -> NetworkPlayer:
    return DeepMonteCarlo(game, hidden=(16,), rounds=60, seed=1).run(3, progress=False).player()


def worth(player: NetworkPlayer, simulator: Simulator, at: Position) -> dict[Any, float]:
    """Return the network's value of each action, by the name of the action."""
    rounds = simulator.place([at._replace(heard="")])  # which the network does not read
    names = simulator.actions(rounds, 0)
    numbers = player.advise(simulator, rounds, 0).numbers
    return {names[a]: x for a, x in numbers.items()}


def expected(
    player: NetworkPlayer, simulator: Simulator, at: Position, stock: list[str], action: str
) -> float:
    """Return the value of an action in one deal, by the definition and the readable rules."""
    game, me = simulator.game, at.player
    at = game.step(at, action)
    while not isinstance(node := game.node(at), cfr.Terminal):
        if isinstance(node, cfr.Chance):
            at = game.step(at, stock.pop(0))
            continue
        values = worth(player, simulator, at)
        best = max(values, key=lambda a: values[a])
        if at.stage == "play" and at.player == me:
            return values[best]
        at = game.step(at, best)
    return float(node.utilities[me])


def test_values_are_those_of_the_definition() -> None:
    player, simulator, checked = network(K9), Simulator(K9), 0
    search = LookAheadPlayer(player)
    rounds = simulator.deal(12, seed=2)
    while len(rows := np.flatnonzero(rounds.stage != OVER)):
        after = player.network.describer.after(rounds, rows)
        true = rounds.take(np.repeat(rows, np.diff(after.start)))  # the deal that is imagined
        found = search.expected(simulator, true, after.action)
        for n, r in enumerate(rows.tolist()):
            names = simulator.actions(rounds, r)
            stock = [simulator.names[c] for c in rounds.order[r, rounds.turned[r] :].tolist()]
            at = simulator.position(rounds, r)
            for row in range(after.start[n], after.start[n + 1]):
                name = str(names[after.action[row]])
                wanted = expected(player, simulator, at, list(stock), name)
                assert found[row] == pytest.approx(wanted, abs=1e-4)
                checked += 1
        simulator.act(rounds, rows, player(simulator, rounds, rows, KEY))
    assert checked > 50


def test_hidden_cards_are_not_used() -> None:
    simulator, player = Simulator(KoiKoi()), network(KoiKoi())
    search, rounds = LookAheadPlayer(player, playouts=64), simulator.deal(8, seed=3)
    rows = np.arange(8)
    values = search.search(simulator, rounds, rows, KEY).values
    other = exchanged(rounds, rows)
    assert np.array_equal(search.search(simulator, other, rows, KEY).values, values)


def test_each_stage_keeps_the_better_half() -> None:
    """The best of the last two was tried most often, and its mean is that of its playouts."""
    simulator, player = Simulator(KoiKoi()), network(KoiKoi())
    rounds, rows = simulator.deal(20, seed=4), np.arange(20)
    found = LookAheadPlayer(player, playouts=120).search(simulator, rounds, rows, KEY)
    for r, chosen in enumerate(found.chosen):
        here = slice(found.after.start[r], found.after.start[r + 1])
        playouts, values = found.playouts[here], found.values[here]
        assert len(playouts) == 8  # 120 / 3 stages = 8 · 5 = 4 · 10 = 2 · 20
        assert sorted(playouts) == [5] * 4 + [15] * 2 + [35] * 2
        last = playouts == playouts.max()
        assert found.values[chosen] == values[last].max()


def test_a_forced_action_is_not_searched() -> None:
    simulator, player = Simulator(K9), network(K9)
    rounds = simulator.deal(30, seed=6)
    for _ in range(4):
        going = np.flatnonzero(rounds.stage != OVER)
        found = LookAheadPlayer(player, playouts=16).search(simulator, rounds, going, KEY)
        count = np.diff(found.after.start)
        alone = found.after.start[:-1][count == 1]
        assert not found.playouts[alone].any()
        tried = np.add.reduceat(found.playouts, found.after.start[:-1])
        assert ((tried <= 16) & ((tried > 0) == (count > 1))).all()
        simulator.act(rounds, going, found.after.action[found.chosen])


def test_players_without_values_are_refused() -> None:
    weights = network(K9).networks[0]
    with pytest.raises(ValueError, match="by value"):
        LookAheadPlayer(NetworkPlayer(K9, [weights], (16,), "logit"))
