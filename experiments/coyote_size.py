"""How large the whole game of Coyote is, with lives: histories and infosets, estimated.

Writes experiments/coyote_size.json. The estimator is Knuth's (1975): walk to the end at random,
and let each history count as often as its walk is unlikely. Declarations are drawn so that all
lengths of a round are equally likely, which keeps the estimates from depending on a few walks.
An infoset has as many histories as there are cards its player may hold, all else being seen, so
each history counts for that part of it.
"""

import json
import math
import random
import sys
from collections import Counter
from pathlib import Path

from cfrlib import Chance, Decision, Terminal
from cfrlib.games import Coyote

RESULTS = Path(__file__).with_suffix(".json")
SEED = 0
CASES = [(2, 1), (2, 2), (2, 3), (3, 3), (6, 1), (6, 3)]  # players, lives


def walk(game, rng):
    """Return how many histories and infosets one walk stands for, and its rounds."""
    left, h, weight = Counter(game.deck), (), 1.0
    histories = infosets = 0.0
    while True:
        node = game.node(h)
        histories += weight
        if isinstance(node, Terminal):
            return histories, infosets, h.count("coyote")
        if isinstance(node, Chance):
            total = left.total()
            now = {card: n / total for card, n in left.items() if n} if total else {}
            if node.probabilities != now:  # shuffled
                left = Counter(game.deck)
            action = rng.choice(node.actions)
            weight *= len(node.actions)
            left[action] -= 1
        else:
            infosets += weight / holdings(game, node, h, left)
            action, p = speak(game, node, rng)
            weight /= p
        h = (*h, action)


def holdings(game, node: Decision, h, left):
    """Return how many kinds of cards a player may hold who sees all the others."""
    present = node.infoset.split(" | ")[-1].split(": ")[0].split(" ")
    seats = [word for word in present if word != "-"]
    moves = next((k for k, a in enumerate(reversed(h)) if not is_move(a)), len(h))
    own = h[len(h) - moves - len(seats) + seats.index("_")]
    return sum(n > 0 or card == own for card, n in left.items())


def is_move(action):
    """Tell declarations from cards."""
    return isinstance(action, str) and action.startswith("+")


def speak(game, node, rng):
    """Return an action, and its probability: each length of a round is equally likely."""
    if len(node.actions) == 1:
        return node.actions[0], 1.0
    declared = int(node.infoset.split(": ")[-1])
    p = 1 / (game.cap - declared + 1)
    return ("coyote", p) if rng.random() < p else ("+1", 1 - p)


def estimate(game, walks, seed):
    """Return means and standard errors over so many walks."""
    rng = random.Random(seed)
    rows = list(zip(*(walk(game, rng) for _ in range(walks)), strict=True))
    found = {}
    for name, row in zip(("histories", "infosets", "rounds"), rows, strict=True):
        mean = math.fsum(row) / walks
        square = math.fsum((x - mean) ** 2 for x in row) / (walks - 1)
        found[name] = mean, math.sqrt(square / walks)
    return found


def main(walks=200):
    """Estimate all cases and write them down."""
    results = []
    for players, lives in CASES:
        found = estimate(Coyote(players, lives=lives), walks, SEED)
        row = {"players": players, "lives": lives}
        for name in ("histories", "infosets"):
            mean, error = found[name]
            row[name] = float(f"{mean:.3g}")
            row[f"log10_{name}"] = round(math.log10(mean), 2)
            row[f"relative_error_of_{name}"] = round(error / mean, 3)
        print(row, flush=True)
        results.append(row)
        data = {"walks": walks, "seed": SEED, "deck": 36, "cases": results}
        RESULTS.write_text(json.dumps(data, indent=1) + "\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
