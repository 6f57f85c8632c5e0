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
def unsolved() -> float:
    """Return the exploitability of the blueprint itself: a mistake."""
    return exploitability(LEDUC, solve(LEDUC, "cfr+", 30, progress=False).strategy)


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
    weighted: bool = True, divided: bool = True, swap: bool = False, fault: str = ""
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
    fault : str
        ``"earned"``: only the values are weighted; ``"total"``: only the divisor is;
        ``"last"``: one history counts;
        ``"best"``: the best one counts; ``"twice"``: values are weighted twice.
    """

    def outs(start: Any, weight: Any, worth: Any, j: int) -> dict[str, float]:
        total: dict[str, float] = defaultdict(float)
        earned: dict[str, float] = defaultdict(float)
        for h in start:
            w, card = weight[h] if weighted else 1.0, h[0][1 - j if swap else j]
            if fault == "last":
                total[card] = earned[card] = 0.0
            total[card] += 1 if fault == "earned" else w
            earned[card] += (
                (1 if fault == "total" else w) * worth[h] * (w if fault == "twice" else 1)
            )
            if fault == "best":
                best = max(worth[k] for k in start if k[0][j] == card)
                total[card], earned[card] = 1.0, best
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


def worth_nothing(states: Any, ranges: Any) -> Any:
    """Return 0 for each hand: a mistake."""
    return [(np.zeros(3), np.zeros(3)) for _ in ranges]


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
            Mistake(
                lambda: coin_utilities() | {"tails": 1 / 2},
                "The first is right. If heads is guessed rarely, tails is guessed often: what "
                "does a coin that shows tails lose then?",
            ),
            Mistake(
                lambda: coin_utilities() | {"heads": 1 / 4, "tails": -1 / 4},
                "A guess wins 1 or loses 1. Take both cases, each with its probability.",
            ),
            Mistake(
                lambda: coin_utilities() | {"heads": 1 / 4, "tails": 3 / 4},
                "These are probabilities. What does the owner of the coin earn in each case?",
            ),
            Mistake(
                lambda: coin_utilities() | {"heads": 3 / 4, "tails": 1 / 4},
                "These are the probabilities that the guess is wrong. What does the owner of "
                "the coin earn in each case?",
            ),
            Mistake(
                lambda: coin_utilities() | {"heads": 1, "tails": -1},
                "That would be so if you never said heads. You do, in one case of four.",
            ),
            Mistake(
                lambda: coin_utilities() | {"guess": 0},
                "If heads is never guessed, a coin that shows heads earns more if played than "
                "its price: the gate forbids that.",
            ),
            Mistake(
                lambda: coin_utilities() | {"guess": 1},
                "If heads is always guessed, tails earns more if played than its price: the "
                "gate forbids that.",
            ),
            Mistake(
                lambda: coin_utilities() | {"guess": 1 / 3},
                "Then tails earns more if played than its price. What is the largest guess "
                "that the gate leaves, and what the smallest?",
            ),
            Mistake(
                lambda: {"heads": 0, "tails": 0, "guess": 1 / 2},
                "That is the game without the gate. With it, neither coin may earn more than "
                "its price.",
            ),
            Mistake(
                lambda: {"heads": -1 / 2, "tails": 1 / 2, "guess": 3 / 4},
                "You took the probability of tails for that of heads.",
            ),
            Mistake(
                lambda: coin_utilities() | {"heads": -1 / 2},
                "The second is right. If heads is guessed rarely, what does a coin that shows "
                "heads earn?",
            ),
            Mistake(
                lambda: coin_utilities() | {"tails": -1 / 4},
                "The first is right. For tails, count what is won as well as what is lost.",
            ),
        ),
        takeaway="The two bounds leave a single guess. Without the gate, no guess was better "
        "than any other.",
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
            Mistake(
                lambda: sizes() | {"hands": 13**2},
                "A hand is what *one* player holds: one card.",
            ),
            Mistake(
                lambda: sizes() | {"hands": 13 * 12 // 2},
                "A hand is what *one* player holds: one card.",
            ),
            Mistake(
                lambda: sizes() | {"hands": 12},
                "The public card does not take its rank away from a hand: there are two of "
                "each rank.",
            ),
            Mistake(
                lambda: sizes() | {"hands": 26},
                "Suits are merged: two cards of a rank are the same hand.",
            ),
            Mistake(
                lambda: sizes() | {"hands": 52},
                "Suits are merged, and a hand is known by its rank.",
            ),
            Mistake(
                lambda: sizes(ways=1),
                "One public card begins a subgame for each way to come to it.",
            ),
            Mistake(
                lambda: sizes(ways=3),
                "More ways end the first round without a fold: follow the picture once more, "
                "raises included.",
            ),
            Mistake(
                lambda: sizes(ranks=3),
                "That is Leduc poker with three ranks. There are thirteen now.",
            ),
            Mistake(
                lambda: sizes(ranks=26) | {"hands": 26},
                "Suits are merged: the public card is known by its rank.",
            ),
            Mistake(
                lambda: sizes() | {"decisions": 6 + 65 * 5},
                "In the second round there are as many decisions as in the first.",
            ),
            Mistake(
                lambda: sizes() | {"decisions": 6 + 65},
                "In each subgame there is a whole round of betting, with several decisions.",
            ),
            Mistake(
                lambda: sizes() | {"decisions": 65 * 5 + 5},
                "A round has as many ways to its end without a fold, but more decisions than "
                "that.",
            ),
            Mistake(
                lambda: sizes() | {"decisions": 65},
                "In each subgame there is a whole round of betting, with several decisions. "
                "And the first round has some.",
            ),
            Mistake(
                lambda: sizes() | {"subgames": 65 * 13},
                "A subgame begins with a public state, whatever the players hold.",
            ),
            Mistake(
                lambda: sizes(ranks=12) | {"hands": 13},
                "All thirteen ranks may come up as the public card.",
            ),
        ),
        takeaway="The numbers of public states and of hands grow separately; histories are "
        "made of both.",
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
            Mistake(
                lambda: {"gate": unsolved(), "margin": resolved("maxmargin")},
                "Under 'gate' you gave the exploitability of the blueprint, before anything is "
                "solved again.",
            ),
            Mistake(
                lambda: {"gate": unsolved(), "margin": unsolved()},
                "These are the exploitability of the blueprint, before anything is solved "
                "again.",
            ),
            Mistake(
                lambda: {"gate": resolved("gadget"), "margin": resolved("gadget")},
                "You solved with the gate twice. Is `game_of=Margin` passed on?",
            ),
            Mistake(
                lambda: {"gate": resolved("maxmargin"), "margin": resolved("maxmargin")},
                "You solved with the margin twice. The gate is what `solve_safely` uses by "
                "default.",
            ),
            Mistake(
                lambda: {"gate": 2 * resolved("gadget"), "margin": 2 * resolved("maxmargin")},
                "This is NashConv, twice the exploitability.",
            ),
            Mistake(
                lambda: {"gate": resolved("unsafe"), "margin": resolved("maxmargin")},
                "Under 'gate' you solved again without a gate: your opponent could not choose "
                "whether to enter.",
            ),
            Mistake(
                lambda: {"gate": resolved("gadget"), "margin": resolved("unsafe")},
                "Under 'margin' your opponent chooses no hand: chance still deals it.",
            ),
        ),
        see=two_numbers,
        points=3,
        takeaway="A safe solution may even improve on the blueprint.",
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
            Mistake(
                lambda: alternatives(fault="earned"),
                "The values are weighted now, but you still divide by the number of histories. "
                "Divide by their weight.",
            ),
            Mistake(
                lambda: alternatives(fault="total"),
                "You divide by the weight now, but the values are added up without it.",
            ),
            Mistake(
                lambda: alternatives(fault="last"),
                "Only the last history of each hand counts: add them up.",
            ),
            Mistake(
                lambda: alternatives(fault="best"),
                "You took the best history. The hand does not choose what it meets: take the "
                "mean.",
            ),
            Mistake(
                lambda: alternatives(fault="twice"),
                "The values are weighted twice, the divisor once.",
            ),
            Mistake(
                lambda: alternatives(weighted=False, swap=True),
                "Those are the hands of the player who solves. And all histories of a hand "
                "still count the same.",
            ),
        ),
        see=at_one_state,
        points=2,
        takeaway="A hand's value is the weighted mean over the cards that the other player may "
        "hold.",
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
            Mistake(
                lambda: worth_nothing,
                "You say that every hand is worth nothing. Then the search before the card has "
                "nothing to aim at.",
            ),
            Mistake(
                lambda: solved_roughly(1),
                "One iteration of CFR says little about a state. Try more.",
            ),
        ),
        see=searched,
        accepts=lambda found: found < 0.15,
        points=3,
        takeaway="It is below 0.15. The question is how far below you can get.",
        advice="The search that uses it is exploitable for 0.15 or more.",
    ),
)
