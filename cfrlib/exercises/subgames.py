"""Exercises on warm starts and endgames: regrets that fit, ranges, isomorphic cards."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations, permutations
from math import comb, factorial
from typing import Any

from cfrlib.exercises.grading import Exercise, Mistake
from cfrlib.koikoi import DECK

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
                lambda: claim() | {"regrets": [0.5, -0.4]},
                "Those are the regrets of one iteration. You pretend that there were 20.",
            ),
            Mistake(
                lambda: claim() | {"regrets": [-10.0, 8.0]},
                "The regrets have the wrong sign: what the action is worth, minus what you "
                "claim.",
            ),
            Mistake(
                lambda: claim() | {"largest T": 2 / (0.5**2 + 0.4**2)},
                "The regrets are right. You counted the negative one as well. Only positive "
                "regrets enter condition (1).",
            ),
            Mistake(
                lambda: claim() | {"regrets": [10.0, 0.0]},
                "The largest T is right. A negative regret is stored as it is; only condition "
                "(1) leaves it out.",
            ),
            Mistake(
                lambda: claim() | {"largest T": claim()["largest T"] ** 0.5},
                "The regrets are right. On one side of condition (1) T is squared, on the "
                "other it is not: divide by T once.",
            ),
            Mistake(
                lambda: claim() | {"largest T": 20.0},
                "The regrets are right. 20 iterations are what you pretended. For how many "
                "would these regrets be small enough?",
            ),
            Mistake(
                lambda: claim(claimed=0.0) | {"largest T": claim()["largest T"]},
                "These are the values times 20. A regret also subtracts what you claim.",
            ),
            Mistake(
                lambda: claim(claimed=2.55) | {"largest T": claim()["largest T"]},
                "You subtracted the mean of the two values. Subtract what you claim.",
            ),
            Mistake(
                lambda: claim() | {"regrets": [0.0, -18.0]},
                "You compared with the best action. A regret compares with what you claim.",
            ),
            Mistake(
                lambda: claim() | {"largest T": 16.0},
                "The regrets are right. The number of actions counts once in condition (1).",
            ),
            Mistake(
                lambda: claim() | {"largest T": 2.0},
                "The regrets are right. Divide by the square of the regret of one iteration.",
            ),
        ),
        takeaway="A modest claim leaves large regrets, so only few iterations can be claimed.",
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
            Mistake(
                lambda: hands_compared_with_poker() | {"fewer from": 7},
                "The numbers are right. Compare them with the number of pairs of 52 cards: an "
                "earlier turn has fewer.",
            ),
            Mistake(
                lambda: hands_compared_with_poker() | {"fewer from": 8},
                "The numbers are right. Compare them with the number of pairs of 52 cards: an "
                "earlier turn has fewer.",
            ),
            Mistake(
                lambda: hands_compared_with_poker() | {"fewer from": 4},
                "The numbers are right. At that turn there are still more. How many pairs can "
                "be made of 52 cards?",
            ),
            Mistake(
                lambda: hands_of(lambda n, t: 2 * n + 24 - 2 * (t - 1), 6),
                "You counted your own hand among the cards that you do not see.",
            ),
            Mistake(
                lambda: hands_of(lambda n, t: 48 - n, 8),
                "You counted the cards that lie face up. The field and both piles are seen.",
            ),
            Mistake(
                lambda: hands_compared_with_poker(drawn=3),
                "Between two turns of the dealer, two cards leave the stock: the dealer's and "
                "the other player's.",
            ),
            Mistake(
                lambda: {
                    "hands": [n * factorial(9 - t) for t, n in enumerate(hands(), 1)],
                    "fewer from": 8,
                },
                "You counted the cards of a hand in every order. A hand has no order.",
            ),
            Mistake(
                lambda: {"hands": hands()[::-1], "fewer from": 1},
                "Your numbers are in reverse order: hands become smaller.",
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
            Mistake(
                lambda: dict(zip(deals(), list(deals().values())[::-1], strict=True)),
                "You have the two numbers the wrong way round: merging leaves fewer.",
            ),
            Mistake(
                lambda: deals_with(told_apart=comb(16, 2)),
                "You counted your own hands. For each of them the other player has a hand as "
                "well.",
            ),
            Mistake(
                lambda: deals_with(told_apart=comb(16, 2) ** 2),
                "You let both players choose among all sixteen. Two of the cards are in your "
                "hand already.",
            ),
            Mistake(
                lambda: deals_with(told_apart=comb(16, 4)),
                "You chose four cards, and did not say who gets which two of them.",
            ),
            Mistake(
                lambda: deals_with(told_apart=deals()["told apart"] // 2),
                "You divided by two. It matters which player holds which hand.",
            ),
            Mistake(
                lambda: deals_with(merged=deals()["told apart"]),
                "You merged nothing. Two plain cards of the same month are alike.",
            ),
            Mistake(
                lambda: deals_with(merged=deals()["told apart"] // 4),
                "You divided by four. Not every deal is met in the same number of ways: count "
                "the different ones, in a set.",
            ),
        ),
        points=2,
        takeaway="That is the gain from merging hands alone; solving four turns is open.",
        advice="Two of the sixteen for you, two of the rest for the other; the rest is "
        "the stock.",
    ),
)
