"""Exercises on games of one's own: the smuggler, a forecast, a misplaced line, a label."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

from cfrbook.exercises.grading import Unreadable
from cfrbook.exercises.shared import fresh, knows_own_card
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib import games
from cfrlib.cfr import CFR
from cfrlib.core.tree import compile
from cfrlib.evaluate import expected_utility, exploitability, solve_lp
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
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


def changed_forecasts(change: Callable[[float], float]) -> dict[str, float]:
    """Return the answer to exercise own.2 with both values changed."""
    return {k: x if k == "infosets" else change(x) for k, x in forecasts().items()}


# ---- a misplaced line ------------------------------------------------------------------------


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
    """Kuhn poker whose labels show a player's own card and the moves."""

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        done: tuple[Any, ...] = tuple(h) if isinstance(h, tuple) else ()
        if not done:
            return Chance(dict.fromkeys(permutations("JQK", 2), 1 / 6))
        cards, moves = done[0], done[1:]
        i = len(moves) % 2
        won = 1 if "JQK".index(cards[0]) > "JQK".index(cards[1]) else -1
        if moves[-2:] == ("bet", "pass"):
            gain = 1 if i == 0 else -1
            return Terminal((gain, -gain))
        if len(moves) > 1 and moves[-2:] != ("pass", "bet"):
            stake = 2 if moves[-1] == "bet" else 1
            return Terminal((won * stake, -won * stake))
        label = f"{cards[i]} {moves}"
        return Decision(i, label, ("pass", "bet"))


LABEL, FOLD = 'label = f"{cards[i]} {moves}"', "gain = 1 if i == 0 else -1"  # lines of it


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
        "uniform play": float(expected_utility(game, Strategy.uniform(game))[0]),
        "labels": knows_own_card(game),
    }


def with_nash_conv(found: Mapping[str, object]) -> dict[str, object]:
    """Return the same answer with NashConv instead of exploitability."""
    return {key: 2 * x if isinstance(x, float) else x for key, x in found.items()}


def curve(update: str, **changes: object) -> dict[str, object]:
    """Return the answer to exercise own.3 for an order of updates, with changes."""
    names = {"ten": "10", "hundred": "100", "name": "same as"}
    return exploitability_and_name(update) | {names[key]: x for key, x in changes.items()}


def before(name: str) -> dict[str, object]:
    """Return the curve from before the line was moved, under a name."""
    return {"10": 0.1084, "100": 0.0296, "same as": name}


EXERCISES = read(__file__, globals())
