"""Rounds of Koi-Koi under way, the same with other hidden cards, and exact values of hands."""

import numpy as np

from cfrlib.game import Chance, Decision, Terminal
from koikoi.simulator import OVER, Simulator, members


def some_rounds(game, rounds, moves, seed=0):
    """Return rounds after some random moves, and those that are not over."""
    simulator, rng = Simulator(game), np.random.default_rng(seed)
    played = simulator.deal(rounds, seed=seed)
    for _ in range(moves):
        rows = np.flatnonzero(played.stage != OVER)
        legal = simulator.legal(played)[rows]
        simulator.act(played, rows, [rng.choice(members(cards)) for cards in legal])
    return played, np.flatnonzero(played.stage != OVER)


def exchanged(rounds, rows, start=None):
    """Return a copy of rounds in which the hidden hand changes places with cards of the stock.

    With `start`, the same rounds as they were dealt, return a copy of those: what is hidden now
    is exchanged in them.
    """
    start = rounds if start is None else start
    changed = start.take(range(len(start)))
    for r in rows:
        other = 1 - rounds.player[r]
        theirs = members(int(rounds.hands[r, other]))
        stock = rounds.order[r, rounds.turned[r] :].tolist()
        new = dict(zip(theirs, stock, strict=False))
        new |= {b: a for a, b in new.items()}
        changed.order[r] = [new.get(c, c) for c in start.order[r].tolist()]
        held = members(int(start.hands[r, other]))
        changed.hands[r, other] = sum(1 << new.get(c, c) for c in held)
    return changed


def hands_and_values(game, strategy):
    """Return, by infoset, the reach of each opponent's hand and the counterfactual values."""
    masses, values = {}, {}

    def value(h, chance, reach):
        node = game.node(h)
        if isinstance(node, Terminal):
            return node.utilities[0]
        if isinstance(node, Chance):
            odds = node.probabilities.items()
            return sum(p * value(game.step(h, a), chance * p, reach) for a, p in odds)
        assert isinstance(node, Decision)
        i, sigma, mean = node.player, strategy[node.infoset], 0.0
        mass, hand = chance * reach[1 - i], h.hands[1 - i]
        of_hands = masses.setdefault(node.infoset, {})
        of_hands[hand] = of_hands.get(hand, 0.0) + mass
        of_actions = values.setdefault(node.infoset, dict.fromkeys(node.actions, 0.0))
        for a in node.actions:
            below = [reach[0], reach[1]]
            below[i] *= sigma[a]
            v = value(game.step(h, a), chance, below)
            of_actions[a] += mass * (v if i == 0 else -v)
            mean += sigma[a] * v
        return mean

    value(game.root(), 1.0, [1.0, 1.0])
    return masses, values
