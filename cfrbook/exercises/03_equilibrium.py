"""Exercises of chapter 3: best responses, measures of a profile, a linear program, regrets."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from functools import cache
from itertools import product
from random import Random
from typing import Any

import numpy as np

from cfrbook.exercises.grading import (
    Unreadable,
    as_list,
    as_number,
    near,
    normalized,
    pair_values,
    require_complete,
    require_function,
)
from cfrbook.exercises.sheet import read
from cfrbook.exercises.written import infosets, small_games, uneven
from cfrbook.museum import mutant
from cfrlib.cfr import CFR
from cfrlib.evaluate import best_response, expected_utility, nash_conv, solve_lp
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.games import KuhnPoker, MatrixGame, RockPaperScissors
from cfrlib.strategy import Strategy

Rows = Mapping[str, Mapping[Any, float]]

NAMES = ("rock", "paper", "scissors")
SEATS = ("player 0", "player 1")
STAKES = ((0, -2, 3), (2, 0, -1), (-3, 1, 0))  # of exercise 3.3


def expected(game: Game, strategy: Rows, h: History) -> float:
    """Return player 0's expected utility at a history."""
    node = game.node(h)
    if isinstance(node, Terminal):
        return float(node.utilities[0])
    options = node.probabilities if isinstance(node, Chance) else strategy[node.infoset]
    return sum(p * expected(game, strategy, (*h, a)) for a, p in options.items())


def jack(weight: float = 1 / 6, deals: str = "QK", better: str = "bet") -> dict[str, object]:
    """Return player 0's counterfactual values of checking and betting with the jack."""
    game = KuhnPoker()
    profile = Strategy.uniform(game).replace({"J check-bet": {"fold": 1, "call": 0}})
    values: dict[str, object] = {
        action: sum(weight * expected(game, profile, (("J", card), action)) for card in deals)
        for action in ("check", "bet")
    }
    return values | {"better": better}


def as_strategy(answer: Any) -> list[float]:
    """Convert a strategy of rock–paper–scissors from an action or three probabilities."""
    if normalized(answer) in NAMES:
        return [float(normalized(answer) == name) for name in NAMES]
    p = [as_number(x) for x in as_list(answer, 3)]
    if min(p) < 0 or not near(sum(p), 1):
        raise Unreadable(f"{p} are not three probabilities that add up to 1")
    return [x / sum(p) for x in p]


def both_gains(answer: Any) -> dict[object, str]:
    """Return who gains in each of the two profiles of an answer: none, one or both alike."""
    u = RockPaperScissors().row_payoffs
    found = {}
    for name, profile, _ in pair_values(answer, {"sum": None, "mean": None}):
        x, y = map(np.array, map(as_strategy, as_list(profile, 2)))
        value = x @ u @ y
        low, high = sorted([float((u @ y).max() - value), float(value - (x @ u).min())])
        alike = "both alike" if near(low, high) else "both, not alike"
        found[name] = "none" if near(high, 0) else "one" if near(low, 0) else alike
    return found


def respond(game: Game, strategy: Rows, player: int) -> float:
    """Return the value of a best response, as exercise 3.6 computes it, without the bug."""
    even = Strategy.uniform(game)
    own = [I for I in even if even.player(I) == player]
    best = Strategy(game, {**strategy, **{I: even[I] for I in own}})

    def earns(profile: Strategy) -> float:
        return float(expected_utility(game, profile)[player])

    for infoset in reversed(own):
        tried = [best.replace({infoset: {a: 1}}) for a in best[infoset]]
        best = max(tried, key=earns)
    return earns(best)


def profiles() -> dict[str, Strategy]:
    """Return strategies of Kuhn poker to respond to."""
    game = KuhnPoker()
    rng = Random(0)
    even = Strategy.uniform(game)
    found = {"uniform": even}
    for name in ("one", "another", "a third"):
        seconds = {I: rng.random() for I in even}
        rows = {I: zip(even[I], (1 - p, p), strict=True) for I, p in seconds.items()}
        found[name] = Strategy(game, {I: dict(row) for I, row in rows.items()})
    always: dict[object, float] = {"check": 0, "bet": 1}
    found["bets"] = found["uniform"].replace(
        {f"{card}{past}": always for card in "JQK" for past in ("", " check")}
    )
    return found


def answers(respond: Any) -> dict[str, list[float]]:
    """Return the values of a reader's best responses to some strategies, in both seats."""
    require_function(respond)
    game = KuhnPoker()
    found = {}
    for name, profile in profiles().items():
        values = [respond(game, profile, player) for player in (0, 1)]
        require_complete(values)
        found[name] = [as_number(value) for value in values]
    return found


def best_response_value(game: Game, strategy: Rows, player: int) -> float:
    """Return the value of a best response."""
    return best_response(game, strategy, player).value


def value_and_plan(plan: Any = None, claim: float = 1) -> dict[str, object]:
    """Return the answer to exercise 3.3.

    Parameters
    ----------
    plan : sequence of float, optional
        By default the maximin strategy.
    claim : float
        Factor of the largest gain of a player if both play uniformly.
    """
    u, even = np.array(STAKES), np.full(3, 1 / 3)
    gain = max((u @ even).max(), -(even @ u).min()) - even @ u @ even
    solution = solve_lp(MatrixGame(STAKES, actions=NAMES))
    if plan is None:
        plan = solution.strategy["player 0"].values()
    weights = dict(zip(NAMES, plan, strict=True))
    return {"value": solution.value, "plan": weights, "claim": float(claim * gain)}


@cache
def regrets_and_gains(update: str = "alternating", late: bool = False) -> Any:
    """Return the regrets and the gains of both players after 1,000 iterations.

    With `late`, the utility of an iteration is measured after its update, which is wrong.
    """
    game = KuhnPoker()
    run, mean_utility = CFR(game, update=update), np.zeros(2)
    for _ in range(1_000):
        before = run.current
        run.run(1, progress=False)
        mean_utility += expected_utility(game, run.current if late else before) / 1_000
    best = [best_response(game, run.average, i) for i in (0, 1)]
    conv = nash_conv(game, run.average)
    return [b.value for b in best] - mean_utility, [b.gain for b in best], conv


def regrets(update: str = "alternating", late: bool = False) -> dict[str, Any]:
    """Return the answer to exercise 3.4, correct or with a mistake."""
    (first, second), _, conv = regrets_and_gains(update, late)
    holds = abs(first + second - regrets_and_gains(update)[2]) < 1e-9
    first, second = float(first), float(second)
    return {"player 0": first, "player 1": second, "NashConv": conv, "holds": bool(holds)}


@cache
def value(cards: int) -> float:
    """Return the value of Kuhn poker with this number of cards."""
    return solve_lp(KuhnPoker(cards=cards)).value


def decks() -> dict[str, float]:
    """Return the best and the worst deck of 3 to 20 cards, and the value with 20."""
    sizes = range(3, 21)
    return {"best": max(sizes, key=value), "worst": min(sizes, key=value), "with 20": value(20)}


class BettingKuhn(KuhnPoker):
    """Kuhn poker with another bet than one chip, correct or with a mistake.

    Parameters
    ----------
    bet : float
        Size of the bet.
    ante : bool
        Whether a bet that is called wins the ante as well, as it should.
    folding : bool
        Whether a player who folds pays the bet, which is wrong.
    both : bool
        Whether a bet that is called wins both bets and no ante, which is wrong.
    """

    def __init__(
        self, bet: float, ante: bool = True, folding: bool = False, both: bool = False
    ):
        super().__init__()
        self.called, self.folded = 2 * bet if both else bet + ante, 1 + bet * folding

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        node = super().node(h)
        if not isinstance(node, Terminal) or "bet" not in h:
            return node
        stake = self.folded if h[-1] == "fold" else self.called
        return Terminal(tuple(math.copysign(stake, u) for u in node.utilities))


def last_digit(student: str) -> int:
    """Return the last digit in a student's number, or a digit that a name gets.

    Examples
    --------
    >>> last_digit("20260417"), last_digit("k-38b"), last_digit("Ada")
    (7, 8, 2)
    """
    digits = re.findall("[0-9]", student)
    return int(digits[-1]) if digits else sum(student.encode()) % 10


def bet_of(digit: int) -> float:
    """Return the bet of students whose number ends in this digit."""
    return round(1.1 + 0.08 * digit, 2)


@cache
def worth(bet: float, **rules: bool) -> float:
    """Return the value of Kuhn poker with this bet to player 0."""
    return solve_lp(BettingKuhn(bet, **rules)).value


def own_kuhn(student: str) -> dict[str, Any]:
    """Return the names of exercise 3.5, whose bet depends on the student."""
    digit = last_digit(student)
    return {"bet": bet_of(digit), "others": [bet_of(d) for d in range(10) if d != digit]}


# ---- 3.7 -------------------------------------------------------------------------------------


def best_value(game: Game, strategy: Any, player: int) -> float:
    """Return what a best response to a strategy earns."""
    found: dict[str, Any] = {}  # by infoset, its histories and the reach of the others

    def collect(h: History, reach: float) -> None:
        node = game.node(h)
        if isinstance(node, Terminal):
            return
        mine = isinstance(node, Decision) and node.player == player
        if isinstance(node, Decision) and mine:
            found.setdefault(node.infoset, []).append((h, reach))
        row = node.probabilities if isinstance(node, Chance) else strategy[node.infoset]
        for a in node.actions:
            collect((*h, a), reach if mine else reach * row[a])

    def value(h: History) -> float:
        node = game.node(h)
        if isinstance(node, Terminal):
            return node.utilities[player]
        if isinstance(node, Decision) and node.player == player:
            return value((*h, best(node.infoset, node.actions)))
        row = node.probabilities if isinstance(node, Chance) else strategy[node.infoset]
        return sum(row[a] * value((*h, a)) for a in node.actions)

    def best(infoset: str, actions: Any) -> Any:
        return max(
            actions,
            key=lambda a: sum(reach * value((*h, a)) for h, reach in found[infoset]),
        )

    collect((), 1.0)
    return value(())


def responses(program: Any) -> dict[str, Any]:
    """Return what a reader's best responses to two strategies earn, on both small games."""
    require_function(program)
    found: dict[str, Any] = {}
    for name, game in small_games().items():
        for i, seed in product((0, 1), range(1, 5)):
            plan = uneven(infosets(game), seed)
            found[f"player {i}, {name}, strategy {seed}"] = program(game, plan, i)
    return found


EXERCISES = read(__file__, globals())
