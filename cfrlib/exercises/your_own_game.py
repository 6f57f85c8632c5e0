"""Exercises on games of one's own: the smuggler, a forecast, a misplaced line, a label."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np

from cfrlib import games
from cfrlib.cfr import CFR
from cfrlib.core.tree import compile
from cfrlib.equilibrium import expected_utility, exploitability, solve_lp
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


def changed_forecasts(change: Callable[[float], float]) -> dict[str, float]:
    """Return the answer to exercise own.2 with both values changed."""
    return {k: x if k == "infosets" else change(x) for k, x in forecasts().items()}


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
    """Kuhn poker whose labels show a player's own card and the moves, or with a mistake."""

    def __init__(self, knows: str = "moves", called: int = 2, folded: int = 1):
        self.knows, self.called, self.folded = knows, called, folded

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        done: tuple[Any, ...] = tuple(h) if isinstance(h, tuple) else ()
        if not done:
            return Chance(dict.fromkeys(permutations("JQK", 2), 1 / 6))
        cards, moves = done[0], done[1:]
        i = len(moves) % 2
        won = 1 if "JQK".index(cards[0]) > "JQK".index(cards[1]) else -1
        if moves[-2:] == ("bet", "pass"):
            gain = self.folded if i == 0 else -self.folded
            return Terminal((gain, -gain))
        if len(moves) > 1 and moves[-2:] != ("pass", "bet"):
            stake = self.called if moves[-1] == "bet" else 1
            return Terminal((won * stake, -won * stake))
        label = {
            "player 0's": f"{i} {cards[0]} {moves}",
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
    return {"10": too_early(10), "100": too_early(100), "same as": name}


EXERCISES = (
    Exercise(
        "own.1",
        "The threshold",
        "a probability of fog",
        threshold,
        (
            Mistake(
                lambda: 1 - threshold(),
                "That is the probability of a clear night.",
            ),
            Mistake(
                lambda: threshold(lost=-4),
                "In fog a patrol does not cost him the boat: he throws the cargo overboard.",
            ),
            Mistake(
                lambda: 1 / 2,
                "Then he gains more if she rests than if she patrols, by far. At the threshold "
                "both are equal.",
            ),
            Mistake(
                lambda: 1 / 3,
                "That is how often there is fog in the game. The threshold is lower.",
            ),
            Mistake(
                lambda: threshold() / (1 - threshold()),
                "These are odds, fog to clear. The probability is fog to all nights.",
            ),
            Mistake(
                lambda: 3 / 8,
                "That is a probability of the guard's: how often she patrols. The exercise "
                "asks how likely fog is.",
            ),
            Mistake(
                lambda: 3 / 5,
                "That is a probability of the guard's: how often she patrols. The exercise "
                "asks how likely fog is.",
            ),
            Mistake(
                lambda: 0,
                "Without fog he would never run. A little fog is not enough either.",
            ),
        ),
        tolerance=1e-4,
        takeaway="With less fog, she would no longer patrol against a smuggler who runs only "
        "in fog.",
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
            Mistake(
                lambda: changed_forecasts(lambda x: -x),
                "The values are the guard's. The exercise asks for the smuggler's.",
            ),
            Mistake(
                lambda: forecasts() | {"infosets": 3},
                "The values are right. The guard has an infoset for each forecast that she may "
                "hear.",
            ),
            Mistake(
                lambda: forecasts() | {"infosets": 6},
                "The values are right. The smuggler does not hear the forecast: count his "
                "infosets once more.",
            ),
            Mistake(
                lambda: forecasts() | {"infosets": 5},
                "The values are right. The guard hears the forecast, and nothing else.",
            ),
            Mistake(
                lambda: forecasts() | {"0.6": forecasts()["0.75"], "0.75": forecasts()["0.6"]},
                "You have the two forecasts the wrong way round: the better one helps the "
                "guard more.",
            ),
            Mistake(
                lambda: forecasts(informed=("smuggler",)),
                "Your smuggler hears the forecast, and the guard does not. It is her forecast.",
            ),
            Mistake(
                lambda: forecasts() | {"0.6": forecasts(informed=())["0.6"]},
                "The first value is that of no forecast at all. One that is right with "
                "probability 0.6 already says something.",
            ),
            Mistake(
                lambda: forecasts(informed=()) | {"infosets": forecasts()["infosets"]},
                "Your guard hears the forecast and does not use it: these are the values "
                "without one.",
            ),
            Mistake(
                lambda: forecasts() | {"0.6": 0.57, "0.75": 0.525},
                "You drew a straight line from no forecast to a perfect one. Solve the game "
                "for both.",
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
                lambda: before("inside"),
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
            Mistake(
                lambda: curve("simultaneous", name="inside"),
                "The numbers are right, and they are no longer those of `inside`. Which other "
                "curve has them?",
            ),
            Mistake(
                lambda: curve("simultaneous", name="after each player"),
                "The numbers are right. Two of the curves do not change within an iteration; "
                "print both.",
            ),
            Mistake(
                lambda: curve("alternating", name="after both players"),
                "These numbers belong to a program in which the strategy changes between the "
                "two traversals. Did you call `curve` with the new function?",
            ),
            Mistake(
                lambda: before("after both players"),
                "These are the numbers from before. Is the line really the last one but the "
                "return, and did you run the new function?",
            ),
            Mistake(
                lambda: before("after each player"),
                "These are the numbers from before. Is the line really the last one but the "
                "return, and did you run the new function?",
            ),
            Mistake(
                lambda: curve(
                    "simultaneous",
                    ten=curve("simultaneous")["100"],
                    hundred=curve("simultaneous")["10"],
                ),
                "You have 10 and 100 the wrong way round.",
            ),
        ),
        tolerance=1e-4,
        points=2,
        words={
            "inside": (),
            "after each player": ("each player", "alternating"),
            "after both players": ("both players", "both", "simultaneous"),
        },
        takeaway="The problem was not that the line is inside the recursion, but that it comes "
        "too early.",
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
            Mistake(
                lambda: LabeledKuhn("player 0's"),
                "All infosets are there now. But the label always shows player 0's card, also "
                "to player 1.",
            ),
            Mistake(
                lambda: LabeledKuhn(called=1),
                "The labels are right. But a bet that is called wins two chips; that line was "
                "right.",
            ),
            Mistake(
                lambda: LabeledKuhn(folded=2),
                "The labels are right. But a player who folds loses one chip, the ante; that "
                "line was right.",
            ),
            Mistake(
                lambda: LabeledKuhn(folded=-1),
                "The labels are right. But after a fold the chip now goes to the player who "
                "folded; that line was right.",
            ),
        ),
        see=size_and_value,
        points=2,
        takeaway="A label contains all that its player knows: the moves, not only their "
        "number.",
        advice="Compare with `cfr.compile(cfr.games.KuhnPoker())`: histories, infosets, value.",
    ),
)
