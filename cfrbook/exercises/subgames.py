"""Exercises on warm starts and endgames: regrets that fit, ranges, isomorphic cards."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from math import comb, factorial
from typing import Any

from cfrbook.exercises.sheet import read
from koikoi import DECK

HIDDEN = [  # hidden cards of exercise sub.3; each hand has two
    *("Crane", "Pine-1", "Warbler", "Plum-1", "Plum-2", "Cherry-1", "Cherry-2"),
    *("Wisteria-1", "Wisteria-2", "Iris-1", "Boar", "Clover-1", "Clover-2", "Mum-blue"),
    *("Paulownia-1", "Paulownia-2"),
]

# ---- regrets that fit ------------------------------------------------------------------------


def claim(values: tuple[float, float] = (3.0, 2.1), claimed: float = 2.5) -> dict[str, Any]:
    """Return regrets of 20 iterations and the largest T for an infoset with L(I) = 1.

    Condition (1) is T² Σ (v(a) − v')₊² ≤ T · 2 · 1, so T ≤ 2 / Σ (v(a) − v')₊².
    """
    positive = [max(v - claimed, 0.0) ** 2 for v in values]
    return {
        "regrets": [20 * (v - claimed) for v in values],
        "largest T": 2 / sum(positive),
    }


# ---- ranges ----------------------------------------------------------------------------------


def hands(drawn: int = 2, held: int = 1) -> list[int]:
    """Return the number of possible hands of the other player at each of the dealer's turns.

    Parameters
    ----------
    drawn : int
        Cards that leave the stock between two turns of the dealer.
    held : int
        1 to count the other player's hand among the unseen cards, 0 to omit it.
    """
    found = []
    for turn in range(1, 9):
        n, stock = 9 - turn, 24 - drawn * (turn - 1)
        found.append(comb(held * n + stock, n))
    return found


def hands_compared_with_poker(drawn: int = 2, held: int = 1) -> dict[str, Any]:
    """Return the numbers of hands, and the first turn with fewer than in Texas hold'em."""
    found = hands(drawn, held)
    fewer = [turn for turn, n in enumerate(found, 1) if n < comb(52, 2)]
    return {"hands": found, "fewer from": fewer[0]}


def hands_of(unseen: Callable[[int, int], int], first: int) -> dict[str, Any]:
    """Return an answer with another number of unseen cards, by hand size and turn."""
    return {"hands": [comb(unseen(9 - t, t), 9 - t) for t in range(1, 9)], "fewer from": first}


# ---- isomorphic cards ------------------------------------------------------------------------


def card_classes(plain_only: bool = True) -> dict[str, object]:
    """Return the class of each card: equal plain cards of a month, or all cards of a month."""
    return {
        card.name: (card.month, card.kind if card.kind == "plain" else card.name)
        if plain_only
        else card.month
        for card in DECK
    }


def deals(plain_only: bool = True, order: bool = False, both: bool = True) -> dict[str, int]:
    """Return the numbers of deals before and after merging isomorphic cards."""
    face, merged = card_classes(plain_only), set()
    total = 0
    for mine in (permutations if order else combinations)(HIDDEN, 2):
        rest = [card for card in HIDDEN if card not in mine]
        for theirs in (permutations if order else combinations)(rest, 2):
            total += 1
            hands = [tuple(sorted(str(face[card]) for card in hand)) for hand in (mine, theirs)]
            merged.add(tuple(hands) if both else tuple(sorted(hands)))
    return {"told apart": total, "merged": len(merged)}


def deals_with(told_apart: int | None = None, merged: int | None = None) -> dict[str, int]:
    """Return the answer to exercise sub.3 with another number in it."""
    right = deals()
    return {
        "told apart": right["told apart"] if told_apart is None else told_apart,
        "merged": right["merged"] if merged is None else merged,
    }


EXERCISES = read(__file__, globals())
