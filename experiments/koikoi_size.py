"""Sizes of Koi-Koi games: exact counts for small ones, an estimate for the full game.

    python experiments/koikoi_size.py

Writes experiments/koikoi_size.json, in about ten minutes. `counted` are histories, terminal
histories and infosets of both players. `full` are decimal logarithms with their 95 % confidence
intervals, from random rounds (Knuth, 1975), for several numbers of rounds.
"""

import time
from pathlib import Path

import flat_json

from cfrlib.koikoi import KoiKoi, MiniKoiKoi, count, estimate
from cfrlib.koikoi.rules import pairs_of

RESULTS = Path(__file__).with_suffix(".json")
ROUNDS, SEED = (300, 3_000, 30_000), 0


def pairs(hand, field):
    """Return a game of six pairs: K10 with two more plain cards."""
    types, points = pairs_of((1, 2, 4))
    return MiniKoiKoi(types, hand, field, points)


def fours(hand, field):
    """Return a game with the cards and points of K12."""
    game = MiniKoiKoi.K12()
    return MiniKoiKoi(game.types, hand, field, game.yaku)


GAMES = {
    "K8": MiniKoiKoi.K8,
    "K8, copies told apart": lambda: MiniKoiKoi.K8(distinct=True),
    "K9": MiniKoiKoi.K9,
    "K10": MiniKoiKoi.K10,
    "K12": MiniKoiKoi.K12,
    "K12, hand 2, field 4": lambda: fours(2, 4),
    "K12, hand 3, field 3": lambda: fours(3, 3),
    "six pairs, hand 3, field 3": lambda: pairs(3, 3),
    "six pairs, hand 3, field 2": lambda: pairs(3, 2),
}


def main():
    """Count, estimate, and write the results."""
    results = {"counted": {}, "seed": SEED, "full": {}}
    for name, make in GAMES.items():
        began = time.perf_counter()
        results["counted"][name] = count(make())._asdict()
        print(
            name, results["counted"][name], f"{time.perf_counter() - began:.1f} s", flush=True
        )
    for rounds in ROUNDS:
        began = time.perf_counter()
        found = estimate(KoiKoi(), rounds, SEED)._asdict()
        del found["rounds"]
        by_turn = found.pop("by_turn")
        row = {name: [round(x, 2) for x in triple] for name, triple in found.items()}
        row["dealer by turn"], row["other by turn"] = (
            [round(x, 2) for x in turns] for turns in by_turn
        )
        results["full"][str(rounds)] = row
        print(rounds, row, f"{time.perf_counter() - began:.1f} s", flush=True)
    flat_json.write(RESULTS, results)


if __name__ == "__main__":
    main()
