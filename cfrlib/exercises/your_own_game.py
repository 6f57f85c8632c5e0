"""Exercises on games of one's own: the smuggler, a forecast, a misplaced line, a label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from cfrlib import games
from cfrlib.cfr import CFR
from cfrlib.core.tree import compile
from cfrlib.equilibrium import exploitability, solve_lp
from cfrlib.exercises.grading import Exercise, Mistake, Unreadable
from cfrlib.exercises.plain import fresh, knows_own_card
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.regret import regret_matching
from cfrlib.strategy import Strategy

# ---- the smuggler ----------------------------------------------------------------------------


class Smuggler(Game):
    """The smuggler's game with a forecast, whose probability of being right is `right`."""

    def __init__(self, right: float = 1.0, informed: tuple[str, ...] = ("guard",)):
        self.right, self.informed = right, informed

    def node(self, h: History) -> Node:
        """Return the node of a history: weather, forecast, boat, guard."""
        events: tuple[Any, ...] = tuple(h) if isinstance(h, tuple) else ()
        if len(events) == 0:
            return Chance({"fog": 1 / 3, "clear": 2 / 3})
        if len(events) == 1:
            wrong = {"fog": "clear", "clear": "fog"}[events[0]]
            return Chance({events[0]: self.right, wrong: 1 - self.right})
        weather, forecast, *moves = events
        if len(moves) == 0:
            heard = f", told {forecast}" if "smuggler" in self.informed else ""
            return Decision(0, weather + heard, ("run", "stay"))
        if len(moves) == 1:
            heard = f", told {forecast}" if "guard" in self.informed else ""
            return Decision(1, "guard" + heard, ("patrol", "rest"))
        gain = payment(weather, moves[0], moves[1])
        return Terminal((gain, -gain))


def payment(weather: str, boat: str, guard: str, lost: int = -1) -> int:
    """Return the smuggler's payoff, which is `lost` if he meets the patrol in fog."""
    if boat == "stay":
        return int(guard == "patrol")
    return 3 if guard == "rest" else lost if weather == "fog" else -4


def threshold(lost: int = -1) -> Fraction:
    """Return the probability of fog that makes the guard indifferent if he runs only in fog."""
    plan = {"fog": "run", "clear": "stay"}
    gains = {
        w: payment(w, plan[w], "patrol", lost) - payment(w, plan[w], "rest", lost) for w in plan
    }
    return Fraction(gains["clear"], gains["clear"] - gains["fog"])


@cache
def forecasts(informed: tuple[str, ...] = ("guard",), sure: bool = False) -> dict[str, float]:
    """Return the number of infosets, and the values with two forecasts."""
    variants = {
        right: Smuggler(1.0 if sure else float(right), informed) for right in ("0.6", "0.75")
    }
    found: dict[str, float] = {"infosets": compile(variants["0.6"]).num_infosets}
    return found | {right: float(solve_lp(game).value) for right, game in variants.items()}


# ---- a misplaced line ------------------------------------------------------------------------


@cache
def too_early(iterations: int) -> float:
    """Return the exploitability if regret matching precedes each visit's regret update."""
    game = games.KuhnPoker()
    R: dict[str, Any] = defaultdict(lambda: np.zeros(2))
    S: dict[str, Any] = defaultdict(lambda: np.zeros(2))
    current: dict[str, Any] = defaultdict(lambda: np.full(2, 0.5))
    following: dict[str, Any] = {}

    def walk(h: History, i: int, mine: float, others: float) -> float:
        node = game.node(h)
        if isinstance(node, Terminal):
            return float(node.utilities[i])
        if isinstance(node, Chance):
            return sum(
                f * walk((*h, a), i, mine, others * f) for a, f in node.probabilities.items()
            )
        I, own = node.infoset, node.player == i
        following[I] = regret_matching(R[I])
        sigma, u = current[I], []
        for a, p in zip(node.actions, sigma, strict=True):
            u.append(walk((*h, a), i, *((mine * p, others) if own else (mine, others * p))))
        if own:
            R[I] += others * (np.array(u) - sigma @ u)
            S[I] += mine * sigma
        return float(sigma @ u)

    for _ in range(iterations):
        for i in (0, 1):
            walk((), i, 1.0, 1.0)
        current.update(following)
    rows = Strategy.uniform(game).items()
    return exploitability(
        game, {I: dict(zip(row, S[I] / S[I].sum(), strict=True)) for I, row in rows}
    )


@cache
def exploitability_and_name(update: str) -> dict[str, object]:
    """Return the exploitability after 10 and 100 iterations, and the name of the curve."""
    names = {"simultaneous": "after both players", "alternating": "after each player"}
    found: dict[str, object] = {}
    for T in (10, 100):
        run = CFR(games.KuhnPoker(), update=update).run(T)
        found[str(T)] = exploitability(games.KuhnPoker(), run.average)
    return found | {"same as": names[update]}


# ---- a label ---------------------------------------------------------------------------------


class LabeledKuhn(Game):
    """Kuhn poker whose labels show the own card and the moves, or are wrong in some way."""

    def __init__(self, knows: str = "moves"):
        self.knows = knows

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        done: tuple[Any, ...] = tuple(h) if isinstance(h, tuple) else ()
        if not done:
            return Chance(dict.fromkeys(permutations("JQK", 2), 1 / 6))
        cards, moves = done[0], done[1:]
        i = len(moves) % 2
        won = 1 if "JQK".index(cards[0]) > "JQK".index(cards[1]) else -1
        if moves[-2:] == ("bet", "pass"):
            return Terminal((1, -1) if i == 0 else (-1, 1))
        if len(moves) > 1 and moves[-2:] != ("pass", "bet"):
            stake = 2 if moves[-1] == "bet" else 1
            return Terminal((won * stake, -won * stake))
        label = {
            "moves": f"{cards[i]} {moves}",
            "number": f"{cards[i]} {len(moves)}",
            "cards": f"{i} {cards} {moves}",
            "nothing": f"{i} {moves}",
            "other's": f"{cards[1 - i]} {moves}",
        }[self.knows]
        return Decision(i, label, ("pass", "bet"))


def size_and_value(answer: Any) -> dict[str, float]:
    """Return the size, the value and the labels of a reader's game."""
    game = answer() if isinstance(answer, type) else answer
    if not isinstance(game, Game):
        raise Unreadable("yours is neither a game nor a class of games")
    tree = compile(fresh(game))
    return {
        "histories": tree.num_histories,
        "infosets": tree.num_infosets,
        "value": float(solve_lp(tree.game).value),
        "labels": knows_own_card(game),
    }


def with_nash_conv(found: Mapping[str, object]) -> dict[str, object]:
    """Return the same answer with NashConv instead of exploitability."""
    return {key: 2 * x if isinstance(x, float) else x for key, x in found.items()}


EXERCISES = (
    Exercise(
        "own.1",
        "The threshold",
        "a chance of fog",
        threshold,
        (
            Mistake(
                lambda: 1 - threshold(),
                "That is the chance of a clear night.",
            ),
            Mistake(
                lambda: threshold(lost=-4),
                "In fog a patrol does not cost him the boat: he throws the cargo overboard.",
            ),
        ),
        tolerance=1e-4,
        takeaway="With less fog, running only in fog would no longer make her patrol.",
        advice="What does he gain on average if she patrols, and what if she rests?",
    ),
    Exercise(
        "own.2",
        "A weather forecast",
        "a dictionary with the number of 'infosets', and the values for a forecast that is "
        "right with probability '0.6' and '0.75'",
        lambda: dict(forecasts()),
        (
            Mistake(
                lambda: forecasts(informed=("guard", "smuggler")),
                "Your smuggler also hears the forecast. He should see the weather only.",
            ),
            Mistake(
                lambda: forecasts(informed=()),
                "Your guard does not hear the forecast: nothing but the tree has changed. It "
                "has to be in her label.",
            ),
            Mistake(
                lambda: forecasts(sure=True),
                "That is the game in which she sees the weather itself.",
            ),
        ),
        points=2,
        takeaway="Knowing more never hurts her, and beyond a point it does not help.",
        advice="A second chance event, the forecast, follows the weather and is the guard's "
        "label.",
    ),
    Exercise(
        "own.3",
        "Move one line",
        "a dictionary with the exploitability after '10' and '100' iterations, and under 'same "
        "as' the name of the curve that it joins",
        lambda: dict(exploitability_and_name("simultaneous")),
        (
            Mistake(
                lambda: {"10": too_early(10), "100": too_early(100), "same as": "inside"},
                "That is the curve from before. Is the line really the last one but the "
                "return, and did you run the new function?",
            ),
            Mistake(
                lambda: exploitability_and_name("alternating"),
                "That is the curve of another program, in which the strategy changes between "
                "the two traversals.",
            ),
            Mistake(
                lambda: with_nash_conv(exploitability_and_name("simultaneous")),
                "This is NashConv, the sum of what both players could gain; exploitability is "
                "their mean.",
            ),
        ),
        tolerance=1e-4,
        points=2,
        words={
            "inside": (),
            "after each player": ("each player", "alternating"),
            "after both players": ("both players", "both", "simultaneous"),
        },
        takeaway="Being inside the recursion was never the problem, being early was.",
        advice="Move the line, then `curve('inside', [10, 100])`.",
    ),
    Exercise(
        "own.4",
        "Find the planted bug",
        "a class of games, as `Friend` is",
        lambda: LabeledKuhn,
        (
            Mistake(
                lambda: LabeledKuhn("number"),
                "`compile` has no complaint, but three infosets are missing, and the value is "
                "not that of Kuhn poker.",
            ),
            Mistake(
                lambda: LabeledKuhn("cards"),
                "Now each player sees both cards: too many infosets, and no bluff is worth "
                "anything.",
            ),
            Mistake(
                lambda: LabeledKuhn("nothing"),
                "Now nobody sees a card at all, not even their own.",
            ),
            Mistake(
                lambda: LabeledKuhn("other's"),
                "By symmetry, all counts and the value are right. But your players see the "
                "*other's* card, and not their own.",
            ),
        ),
        see=size_and_value,
        points=2,
        takeaway="A label holds all that its player knows: the moves, not only their number.",
        advice="Compare with `cfr.compile(cfr.games.KuhnPoker())`: histories, infosets, value.",
    ),
)
