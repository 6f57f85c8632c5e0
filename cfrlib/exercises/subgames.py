"""Exercises on warm starts and endgames: regrets that fit, ranges, isomorphic cards."""

from __future__ import annotations

from itertools import combinations, permutations
from math import comb
from typing import Any

from cfrlib.exercises.grading import Exercise, Mistake
from cfrlib.koikoi import DECK

HIDDEN = [  # hidden cards of exercise sub.3; each hand has two
    *("Crane", "Pine-1", "Warbler", "Plum-1", "Plum-2", "Cherry-1", "Cherry-2"),
    *("Wisteria-1", "Wisteria-2", "Iris-1", "Boar", "Clover-1", "Clover-2", "Mum-blue"),
    *("Paulownia-1", "Paulownia-2"),
]

# ---- regrets that fit ------------------------------------------------------------------------


def claim(values: tuple[float, float] = (3.0, 1.0), claimed: float = 2.5) -> dict[str, Any]:
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


EXERCISES = (
    Exercise(
        "sub.1",
        "A claim by hand",
        "a dictionary with two 'regrets' and the 'largest T'",
        claim,
        (
            Mistake(
                lambda: claim() | {"largest T": 4.0},
                "Condition (1) has the number of actions on its right side.",
            ),
            Mistake(
                lambda: claim() | {"regrets": [0.5, -1.5]},
                "Those are the regrets of one iteration. You pretend that there were 20.",
            ),
        ),
        takeaway="A modest claim leaves large regrets, and few iterations fit.",
        advice="R = T (v − v'), and only positive regrets enter condition (1).",
    ),
    Exercise(
        "sub.2",
        "When is it like poker?",
        "a dictionary with 'hands', eight numbers, and 'fewer from', the first turn with fewer "
        "hands than in Texas hold'em",
        hands_compared_with_poker,
        (
            Mistake(
                lambda: hands_compared_with_poker(drawn=1),
                "Between two turns of the dealer, the other player also draws.",
            ),
            Mistake(
                lambda: hands_compared_with_poker(held=0),
                "The cards that you do not see are the stock *and* the other player's hand.",
            ),
            Mistake(
                lambda: hands_compared_with_poker() | {"fewer from": 5},
                "The numbers are right. How many pairs can be made of 52 cards?",
            ),
        ),
        takeaway="Late in a round, ranges are smaller than in poker.",
        advice="Choose the other's hand among all cards that you do not see.",
    ),
    Exercise(
        "sub.3",
        "Open: four turns",
        "a dictionary with the number of deals, 'told apart' and 'merged'",
        deals,
        (
            Mistake(
                lambda: deals(plain_only=False),
                "You merged all cards of a month. A light or a ribbon is worth more than a "
                "plain card.",
            ),
            Mistake(
                lambda: deals(order=True),
                "A hand has no order: each was counted several times.",
            ),
            Mistake(
                lambda: deals(both=False),
                "It matters which player holds which hand.",
            ),
        ),
        points=2,
        takeaway="That is the gain from merging hands alone; solving four turns is open.",
        advice="Two of the sixteen for you, two of the rest for the other; the rest is "
        "the stock.",
    ),
)
