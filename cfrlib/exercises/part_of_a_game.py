"""Exercises of chapter 16: gadget games, public states, margins, values at a horizon."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from cfrlib.equilibrium import exploitability
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unanswered,
    as_number,
    pair_values,
    require_function,
)
from cfrlib.games import LeducPoker
from cfrlib.solve import solve
from cfrlib.strategy import Strategy
from cfrlib.subgames import (
    ExactValues,
    MaxMargin,
    PublicState,
    continual,
    public_tree,
    resolve,
    trunk,
)

LEDUC = LeducPoker(merge_suits=True)
Rows = dict[str, Mapping[Any, float]]

# ---- the coin, and sizes ---------------------------------------------------------------------


def coin_utilities(heads: float = 1 / 2, tails: float = -1 / 2) -> dict[str, float]:
    """Return the utility of each coin against the only guess compatible with the gadget.

    If heads is guessed with probability p, heads earns 1 − 2p and tails earns 2p − 1. Neither
    may exceed its price.
    """
    least, most = (1 - heads) / 2, (1 + tails) / 2
    assert least == most
    return {"heads": 1 - 2 * least, "tails": 2 * least - 1, "guess": least}


def sizes(ranks: int = 13, betting: int = 6, ways: int = 5) -> dict[str, int]:
    """Return the sizes of Leduc poker's public tree.

    Parameters
    ----------
    ranks : int
        Ranks of the deck; suits are merged.
    betting : int
        Public states with a decision in one round of betting.
    ways : int
        Ways in which the first round ends without a fold.
    """
    parts = ways * ranks
    return {"subgames": parts, "decisions": betting + parts * betting, "hands": ranks}


# ---- margins ---------------------------------------------------------------------------------


def after_the_card() -> list[PublicState]:
    """Return the fifteen public states just after the public card."""
    states = public_tree(LEDUC).states
    return [s for s in states if len(s.actions) > 1 and s.actions[-1] in ("J", "Q", "K")]


def joined(first: Strategy, second: Strategy) -> float:
    """Return the exploitability of player 0's part of one strategy and 1's of another."""
    return exploitability(LEDUC, {I: (first, second)[first.player(I)][I] for I in first})


@cache
def resolved(method: str, free: bool = False) -> float:
    """Return the exploitability of a blueprint of 30 iterations, solved again by both players.

    Parameters
    ----------
    method : str
        As in `cfrlib.subgames.resolve`.
    free : bool
        Whether to use margins with all alternative values set to 0, which is wrong.
    """
    blueprint = solve(LEDUC, "cfr+", 30, progress=False).strategy
    assert isinstance(blueprint, Strategy)
    if not free:
        pair = (resolve(LEDUC, blueprint, i, after_the_card(), method) for i in (0, 1))
        return joined(*pair)
    found = []
    for i in (0, 1):
        rows: Rows = {}
        for state in after_the_card():
            weights = trunk(LEDUC, blueprint, i).weights[state.histories]
            part = MaxMargin(public_tree(LEDUC), state, weights, 1 - i, np.zeros(3))
            new = solve(part, "cfr+", 1_000, progress=False).strategy
            rows |= {I: new[I] for I in new if I in blueprint and new.player(I) == i}
        found.append(blueprint.replace(rows))
    return joined(*found)


def two_numbers(answer: Any) -> dict[str, float]:
    """Return both exploitabilities as numbers."""
    pairs = pair_values(answer, {"gate": None, "margin": None})
    return {str(key): as_number(x) for key, x, _ in pairs}


# ---- alternative values ----------------------------------------------------------------------


def alternatives(
    weighted: bool = True, divided: bool = True, swap: bool = False
) -> Callable[..., dict[str, float]]:
    """Return a function that computes alternative values, correct or with a mistake.

    Parameters
    ----------
    weighted : bool
        Whether histories count by their weight.
    divided : bool
        Whether the sum is divided by the weight of the hand.
    swap : bool
        Whether the solving player's cards are taken for the opponent's.
    """

    def outs(start: Any, weight: Any, worth: Any, j: int) -> dict[str, float]:
        total: dict[str, float] = defaultdict(float)
        earned: dict[str, float] = defaultdict(float)
        for h in start:
            w, card = weight[h] if weighted else 1.0, h[0][1 - j if swap else j]
            total[card] += w
            earned[card] += w * worth[h]
        return {c: earned[c] / (total[c] if divided else 1.0) for c in total if total[c] > 0}

    return outs


def at_one_state(answer: Any) -> dict[str, float]:
    """Return what a function computes for a state with uneven weights."""
    require_function(answer)
    deals = [(a, b) for a in "JQK" for b in "JQK" if (a, b) != ("Q", "Q")]
    start = [(deal, "check", "check", "Q") for deal in deals]
    weight = {h: (n + 1) / 36 for n, h in enumerate(start)}
    worth = {h: float((3 * n) % 7 - 3) for n, h in enumerate(start)}
    found: dict[str, float] = {}
    for j in (0, 1):
        values = answer(start, weight, worth, j)
        if values is ...:
            raise Unanswered
        found |= {f"player {j}, {card}": as_number(values[card]) for card in "JQK"}
    return found


# ---- a value function ------------------------------------------------------------------------


def searched(answer: Any) -> float:
    """Return the exploitability of continual re-solving with a value function."""
    require_function(answer)
    if answer(after_the_card()[:1], [(np.ones(3), np.ones(3))]) is ...:
        raise Unanswered
    options: Any = {"iterations": 100, "horizon": after_the_card(), "values": answer}
    first, second = (continual(LEDUC, i, **options) for i in (0, 1))
    return joined(first, second)


def solved_roughly(iterations: int, swap: bool = False) -> Callable[..., Any]:
    """Return a value function that solves the rest of the game, or swaps the players."""
    exact = ExactValues(public_tree(LEDUC), iterations)

    def values(states: Any, ranges: Any) -> Any:
        found = exact(states, ranges)
        return [pair[::-1] for pair in found] if swap else found

    return values


EXERCISES = (
    Exercise(
        "16.1",
        "The coin again",
        "a dictionary with what 'heads' and 'tails' earn if played, and the 'guess' that the "
        "gate leaves, as a probability of heads",
        coin_utilities,
        (
            Mistake(
                lambda: coin_utilities() | {"guess": 1 / 2},
                "Even guesses are as good as any *in the subgame*. But then tails earns more "
                "if played than its price: the gate forbids that.",
            ),
            Mistake(
                lambda: coin_utilities() | {"guess": 3 / 4},
                "That is the probability of tails.",
            ),
            Mistake(
                lambda: {"heads": -1 / 2, "tails": 1 / 2, "guess": 1 / 4},
                "Those are the gains of the player who guesses. The gate pays the coin's "
                "owner.",
            ),
        ),
        takeaway="Two bounds meet in one guess. Without the gate, no guess was better.",
        advice="If heads is guessed with p, what does a coin showing heads earn? And tails?",
    ),
    Exercise(
        "16.2",
        "How large is the public tree?",
        "a dictionary with the numbers of 'subgames' after the public card, of public states "
        "with a 'decision' in 'decisions', and of 'hands' of a player",
        sizes,
        (
            Mistake(
                lambda: sizes(ways=6),
                "The first round has six decisions. How many ways end it without a fold?",
            ),
            Mistake(
                lambda: sizes() | {"decisions": 65 * 6},
                "That is the second round. The first has decisions of its own.",
            ),
            Mistake(
                lambda: sizes() | {"hands": 13 * 12},
                "A hand is what *one* player holds: one card.",
            ),
        ),
        takeaway="Public states and hands grow separately: histories are their product.",
        advice="How many public cards are there, how many ways to come to one, and how many "
        "decisions in a round?",
    ),
    Exercise(
        "16.3",
        "As large a margin as possible",
        "a dictionary with the exploitability of Leduc's blueprint of 30 iterations, solved "
        "again with the 'gate' and with the largest 'margin'",
        lambda: {
            "gate": resolved("gadget"),
            "margin": resolved("maxmargin"),
        },
        (
            Mistake(
                lambda: {
                    "gate": resolved("maxmargin"),
                    "margin": resolved("gadget"),
                },
                "You have gate and margin the wrong way round.",
            ),
            Mistake(
                lambda: {
                    "gate": resolved("gadget"),
                    "margin": resolved("maxmargin", free=True),
                },
                "Your opponent enters with the hand that earns most. It should be the hand "
                "that earns most *beyond its out*: subtract that from every payoff.",
            ),
        ),
        see=two_numbers,
        points=3,
        takeaway="A safe solution may do better than safe.",
        advice="Only the beginning of the game and its payoffs differ from the gate's.",
    ),
    Exercise(
        "16.4",
        "Find the planted bug",
        "a function of the histories, their weights, their values and j, which returns the "
        "alternative value of each hand of player j",
        alternatives,
        (
            Mistake(
                lambda: alternatives(weighted=False),
                "All histories of a hand still count the same.",
            ),
            Mistake(
                lambda: alternatives(divided=False),
                "That is a counterfactual value. The gate is paid once the hand is there: "
                "divide by the weight of the hand.",
            ),
            Mistake(
                lambda: alternatives(swap=True),
                "Those are the hands of the player who solves.",
            ),
        ),
        see=at_one_state,
        points=2,
        takeaway="A hand's value is a mean over the cards that it may meet, by their weight.",
        advice="How likely is each of your cards, given how you have played?",
    ),
    Exercise(
        "16.5",
        "Open: a guess of your own",
        "a value function: of public states and pairs of ranges, which returns a pair of value "
        "arrays for each",
        lambda: solved_roughly(30),
        (
            Mistake(
                lambda: solved_roughly(30, swap=True),
                "You have the players the wrong way round.",
            ),
        ),
        see=searched,
        accepts=lambda found: found < 0.15,
        points=3,
        takeaway="Below 0.15. How much below is the question.",
        advice="The search with it is exploitable for 0.15 or more.",
    ),
)
