"""Exercises of the errata: a reach counted twice, a hidden bias, a test of a formula."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from cfrlib.equilibrium import reach
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    as_list,
    as_number,
    pair_values,
    require_complete,
    require_function,
)
from cfrlib.game import Chance, Decision, History, Terminal
from cfrlib.games import KuhnPoker, kuhn_equilibrium
from cfrlib.strategy import Strategy

Formula = Callable[[History, Strategy, int], float]
Test = Callable[[Formula], object]

VALUES = (1.0, -1.0, 0.0)


@cache
def kuhn() -> KuhnPoker:
    """Return Kuhn poker."""
    return KuhnPoker()


@cache
def equilibrium() -> Strategy:
    """Return the equilibrium with α = 0.2."""
    return kuhn_equilibrium(kuhn(), 0.2)


# ---- reach ----------------------------------------------------------------------------------


def reach_of_the_king(chance: bool = True, own: bool = True) -> dict[str, float]:
    """Return the reach of the infoset "K check-bet", and the erroneous product of sums.

    Parameters
    ----------
    chance, own : bool
        Whether the factors of chance and of the player's own check are included.
    """
    found = [reach(kuhn(), equilibrium(), (("K", c), "check", "bet")) for c in "JQ"]
    deal = [1.0 if chance else 1 / r.chance for r in found]
    others = sum(r.others(0) * d for r, d in zip(found, deal, strict=True))
    once = found[0].players[0] if own else 1.0
    summed = sum(r.players[0] if own else 1.0 for r in found)
    return {"reach": once * others, "product": summed * others}


# ---- a hidden bias --------------------------------------------------------------------------


def bias(u: Any, k: int, shared: bool = True) -> float:
    """Return the largest bias of the printed update, with uniform strategy and sampling.

    Parameters
    ----------
    u : sequence of float
        Values of three actions.
    k : int
        Number of sampled actions.
    shared : bool
        Whether each sampled action is credited with the total of all of them, as printed.
    """
    u = np.asarray(u, dtype=float)
    mean, sets = np.zeros(3), [list(A) for A in combinations(range(3), k)]
    for A in sets:
        each = u[A] / 3 / (k / 3)
        credit = np.full(3, -each.sum())
        credit[A] = 2 * each.sum() if shared else 3 * each - each.sum()
        mean += credit / len(sets)
    return float(abs(mean - (u - u.mean())).max())


def bias_answer(
    hides: tuple[float, ...] = (0.0, 0.0, 0.0), shared: bool = True
) -> dict[str, Any]:
    """Return the answer to exercise errata.2."""
    found = {f"k = {k}": bias(VALUES, k, shared) for k in (2, 3)}
    return found | {"hides": list(hides)}


def check_biases(answer: Any) -> dict[str, float]:
    """Return the answered biases, and the largest bias of the answered values."""
    keys = dict.fromkeys(("k = 2", "k = 3", "hides"))
    given = {str(key): x for key, x, _ in pair_values(answer, keys)}
    u = [as_number(x) for x in as_list(given.pop("hides"), 3)]
    found = {key: as_number(x) for key, x in given.items()}
    return found | {"hides": max(bias(u, k) for k in (2, 3))}


# ---- a test of a formula --------------------------------------------------------------------


@cache
def histories() -> tuple[History, ...]:
    """Return all nonempty histories of Kuhn poker."""
    found: list[History] = []
    stack: list[Any] = [()]
    while stack:
        h = stack.pop()
        node = kuhn().node(h)
        if isinstance(node, Decision | Chance):
            stack += [(*h, a) for a in node.actions]
        found.append(h)
    return tuple(h for h in found if h)


def right(h: History, s: Strategy, i: int) -> float:
    """Return the reach of all other players and chance."""
    return reach(kuhn(), s, h).others(i)


def printed(h: History, s: Strategy, i: int) -> float:
    """Return the player's own reach, as printed (B6a)."""
    return reach(kuhn(), s, h).players[i]


def quotient(h: History, s: Strategy, i: int) -> float:
    """Return total reach divided by own reach, or 0 where both are 0."""
    r = reach(kuhn(), s, h)
    return r.total / r.players[i] if r.players[i] else 0.0


def without_chance(h: History, s: Strategy, i: int) -> float:
    """Return the other player's reach without chance (C5)."""
    return reach(kuhn(), s, h).players[1 - i]


FORMULAS = {
    "right": right,
    "printed": printed,
    "quotient": quotient,
    "without chance": without_chance,
}


def passes(test: Any) -> dict[str, bool]:
    """Return which formulas pass a reader's test."""
    require_function(test)
    found = {name: test(formula) for name, formula in FORMULAS.items()}
    require_complete(found["right"])
    return {name: bool(passed) for name, passed in found.items()}


def identity_test(s: Strategy) -> Test:
    """Return a test: others' reach times own reach is total reach, for any own strategy."""

    def test(formula: Formula) -> bool:
        uniform = Strategy.uniform(kuhn())
        for i in (0, 1):
            own = {I: row for I, row in uniform.items() if uniform.player(I) == i}
            full_support = s.replace(own)
            for h in histories():
                r = reach(kuhn(), full_support, h)
                if abs(formula(h, s, i) * r.players[i] - r.total) > 1e-9:
                    return False
        return True

    return test


def by_product(h: History, s: Strategy, i: int) -> float:
    """Return the others' reach as a product along the history."""
    found = 1.0
    past: tuple[Any, ...] = ()
    actions: Any = h
    for a in actions:
        node = kuhn().node(past)
        assert not isinstance(node, Terminal)
        if isinstance(node, Chance):
            found *= node.probabilities[a]
        elif node.player != i:
            found *= s[node.infoset][a]
        past = (*past, a)
    return found


def product_test(s: Strategy) -> Test:
    """Return a test by the product, at all histories of a single strategy."""

    def test(formula: Formula) -> bool:
        return all(
            abs(formula(h, s, i) - by_product(h, s, i)) < 1e-9
            for h in histories()
            for i in (0, 1)
        )

    return test


def agrees_with(wanted: Formula) -> Test:
    """Return a test that compares with a formula at all histories of the equilibrium."""

    def test(formula: Formula) -> bool:
        s = equilibrium()
        return all(
            abs(formula(h, s, i) - wanted(h, s, i)) < 1e-9 for h in histories() for i in (0, 1)
        )

    return test


EXERCISES = (
    Exercise(
        "errata.1",
        "By hand",
        "a dictionary with the 'reach' of the infoset and the 'product' of B6c",
        reach_of_the_king,
        (
            Mistake(
                lambda: reach_of_the_king(chance=False),
                "The deal is missing: chance is one of the others.",
            ),
            Mistake(
                lambda: reach_of_the_king(own=False),
                "Your own check is missing. The reach of an infoset counts everybody.",
            ),
            Mistake(
                lambda: reach_of_the_king() | {"product": reach_of_the_king()["reach"]},
                "The reach is right. The product counts your own reach in *both* histories; "
                "that is the error.",
            ),
            Mistake(
                lambda: reach_of_the_king() | {"reach": reach_of_the_king()["product"]},
                "The product is right. The reach of an infoset counts the player's own reach "
                "once.",
            ),
            Mistake(
                lambda: dict(
                    zip(
                        ("reach", "product"),
                        list(reach_of_the_king().values())[::-1],
                        strict=True,
                    )
                ),
                "You have the two numbers the wrong way round: one of them counts your "
                "own reach twice.",
            ),
            Mistake(
                lambda: {k: 1.5 * x for k, x in reach_of_the_king().items()},
                "The king bets with probability 3α, and checks otherwise. You took the bet.",
            ),
            Mistake(
                lambda: {k: 2 * x for k, x in reach_of_the_king().items()},
                "Both numbers are twice too large. A deal gives out two cards: it has the "
                "probability of one card, times that of the other.",
            ),
            Mistake(
                lambda: {k: 3 * x for k, x in reach_of_the_king().items()},
                "After a check, the jack bets once in three, and the queen never. How likely "
                "is the bet, then?",
            ),
            Mistake(
                lambda: reach_of_the_king() | {"product": 0.8},
                "The reach is right. You added up your own reach. The product multiplies "
                "that sum by the others' reach.",
            ),
        ),
        tolerance=1e-4,
        takeaway="With two histories the product is twice too large.",
        advice="Chance, the king's check, and the bets of the jack and of the queen.",
    ),
    Exercise(
        "errata.2",
        "When does it hide?",
        "a dictionary with the largest bias for 'k = 2' and 'k = 3' if the values are "
        "(1, −1, 0), and under 'hides' three values for which both are unbiased",
        bias_answer,
        (
            Mistake(
                lambda: bias_answer((1.0, 1.0, 1.0)),
                "The biases are right. With equal values nobody regrets anything, but each "
                "action is credited all the same.",
            ),
            Mistake(
                lambda: bias_answer(VALUES),
                "The biases are right. A mean of zero is not enough, as these very biases "
                "show.",
            ),
            Mistake(
                lambda: bias_answer(shared=False),
                "You credit each action with its own value. That is the corrected update, "
                "and has no bias; the printed one credits the total.",
            ),
            Mistake(
                lambda: dict(
                    zip(
                        bias_answer(),
                        (bias_answer()["k = 3"], bias_answer()["k = 2"], [0, 0, 0]),
                        strict=True,
                    )
                ),
                "You have the two biases the wrong way round.",
            ),
            Mistake(
                lambda: bias_answer() | {"k = 2": bias_answer()["k = 3"]},
                "For k = 2 the bias is smaller than for k = 3. List the three sets of two "
                "actions.",
            ),
            Mistake(
                lambda: bias_answer() | {"k = 3": bias_answer()["k = 2"]},
                "For k = 3 the bias is larger than for k = 2. There is only one set: what is "
                "each of its actions credited with?",
            ),
            Mistake(
                lambda: bias_answer() | {"k = 2": 0},
                "For k = 2 the update is not unbiased. List the three sets of two actions.",
            ),
            Mistake(
                lambda: bias_answer() | {"k = 3": 0},
                "For k = 3 the update is not unbiased. All actions are sampled; what is each "
                "of them credited with?",
            ),
            Mistake(
                lambda: (
                    bias_answer()
                    | {"k = 2": -bias_answer()["k = 2"], "k = 3": -bias_answer()["k = 3"]}
                ),
                "The exercise asks for the size of the largest bias, which is not negative.",
            ),
            Mistake(
                lambda: bias_answer() | {"k = 2": 1 / 3, "k = 3": 2 / 3},
                "These are means over the three actions. The exercise asks for the largest "
                "bias.",
            ),
            Mistake(
                lambda: (
                    bias_answer()
                    | {"k = 2": 2 * bias_answer()["k = 2"], "k = 3": 2 * bias_answer()["k = 3"]}
                ),
                "You added up the biases of the actions. The exercise asks for the largest "
                "one.",
            ),
        ),
        see=check_biases,
        points=2,
        takeaway="A symmetric game is where this bias cannot be seen.",
        advice="List the sets of k actions, credit each as under B20, and take the mean.",
    ),
    Exercise(
        "errata.3",
        "Open: the next erratum",
        "a function that is given a formula and returns whether it passes",
        lambda: identity_test(equilibrium()),
        (
            Mistake(
                lambda: lambda formula: True,
                "Everything passes. A test that cannot fail says nothing.",
            ),
            Mistake(
                lambda: lambda formula: False,
                "Nothing passes, and one of the formulas is right.",
            ),
            Mistake(
                lambda: product_test(Strategy.uniform(kuhn())),
                "A wrong formula passes: the quotient. It is right wherever the player's own "
                "reach is above zero. Where is it not?",
            ),
            Mistake(
                lambda: agrees_with(printed),
                "You compare with the player's own reach, which is the printed error. The "
                "others' reach leaves the player's own actions out.",
            ),
            Mistake(
                lambda: agrees_with(without_chance),
                "You compare with a formula that leaves out chance. Chance is one of the "
                "others.",
            ),
            Mistake(
                lambda: agrees_with(quotient),
                "You compare with the quotient, total reach over own reach. It is wrong where "
                "a player's own reach is zero.",
            ),
        ),
        see=passes,
        points=3,
        takeaway="It accepts the right formula, and rejects three that were or might be "
        "printed. The next erratum is open.",
        advice="Your test accepts a wrong formula, or rejects the right one.",
    ),
)
