"""Exercises of chapter 16: gadget games, public states, margins, values at a horizon."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from cfrbook.exercises.grading import Unanswered, as_number, pair_values, require_function
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib.evaluate import exploitability
from cfrlib.games import LeducPoker
from cfrlib.solve import solve
from cfrlib.strategy import Strategy
from cfrlib.subgames import (
    MaxMargin,
    PublicState,
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


def outs(start: Any, weight: Any, worth: Any, j: int) -> dict[str, float]:
    """Return the alternative value of each of player j's hands, as the page computes it."""
    total: dict[str, float] = defaultdict(float)
    earned: dict[str, float] = defaultdict(float)
    for h in start:
        w, card = weight[h], h[0][j]
        total[card] += w
        earned[card] += w * worth[h]
    return {c: earned[c] / total[c] for c in total if total[c] > 0}


HISTORY, TOTAL, EARNED = (  # lines of it
    "w, card = weight[h], h[0][j]",
    "total[card] += w",
    "earned[card] += w * worth[h]",
)


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

OWN, THEIRS = (0.8, 1.0, 0.4), (2 / 3, 1.0, 0.0)  # ranges of J, Q and K, exercise 16.3


def at_the_showdown(
    chance: float = 1 / 6,
    theirs: tuple[float, ...] = THEIRS,
    own: bool = False,
    divide: str = "",
    sign: int = 1,
    theirs_factor: float = 1 / 2,
    own_factor: float = 1,
) -> dict[str, float]:
    """Return the answer to exercise 16.3, optionally with other weights or factors.

    Parameters
    ----------
    chance : float
        Weight of a deal.
    theirs : tuple of float
        The other player's range.
    own : bool
        Whether the values are, wrongly, multiplied by the player's own range.
    divide : str
        What the values are, wrongly, divided by: the weight of what a 'hand' meets, or the sum
        of the other 'range'.
    sign : int
        -1 for the other player's winnings.
    theirs_factor, own_factor : float
        The factors if a range is halved.
    """
    found = {}
    for n, card in enumerate("JQK"):
        met = {k: chance * x for k, x in enumerate(theirs) if k != n}
        value = sum(x * (1 if k < n else -1) for k, x in met.items())
        by = {"hand": sum(met.values()), "range": sum(theirs)}.get(divide, 1.0)
        found[card] = sign * value * (OWN[n] if own else 1) / by
    return found | {"theirs": theirs_factor, "own": own_factor}


EXERCISES = read(__file__, globals())
