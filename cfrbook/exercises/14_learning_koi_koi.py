"""Exercises of chapter 14: sample sizes, duplicate deals, a wrong target, a match."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any

import numpy as np

from cfrbook.exercises.grading import Unanswered, Unreadable, as_number, require_function
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib.evaluate import solve_lp
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.games import KuhnPoker
from koikoi import KoiKoi, MiniKoiKoi
from koikoi.players import GreedyPlayer, RandomPlayer, play
from koikoi.simulator import Simulator

SPREAD, HALVES, SURE = 6.0, ("0.1", "0.05"), 1.96  # of the mean of a deal, in points
LEADS = ("0 ahead", "2 ahead")
REHEARSED: dict[str, Game] = {"Kuhn": KuhnPoker(), "K8": MiniKoiKoi.K8()}  # of exercise 14.4
ROUNDS = 200


def deals_needed(sure: float = SURE, power: int = 2) -> dict[str, int]:
    """Return the numbers of deals that estimate a mean to ± 0.1 and ± 0.05."""
    return {half: math.ceil((sure * SPREAD / float(half)) ** power) for half in HALVES}


@cache
def payoffs_in_both_seats(other: str) -> tuple[Any, Any]:
    """Return greedy's payoffs by deal, as the dealer and as the other player."""
    simulator, one = Simulator(KoiKoi()), GreedyPlayer("stop")
    rival = RandomPlayer() if other == "random" else GreedyPlayer("rule")
    ahead = play(simulator, one, rival, 2_000, seed=4)
    return ahead, -play(simulator, rival, one, 2_000, seed=4)


def error_ratios(power: int = 1, sign: int = 1, rounds: int = 2) -> dict[str, float]:
    """Return the ratio of the error with duplicate deals to that with independent deals."""
    found = {}
    for other in ("greedy, by rule", "random"):
        ahead, behind = payoffs_in_both_seats(other)
        independent = math.sqrt((ahead.var() + behind.var()) / 2 / rounds)
        found[other] = float(((ahead + sign * behind) / 2).std() / independent) ** power
    return found


def changed_ratios(change: Callable[[float], float]) -> dict[str, float]:
    """Return the right ratios after a change: a mistake."""
    return {other: change(x) for other, x in error_ratios().items()}


# ---- 14.4 ------------------------------------------------------------------------------------


def mean_payments(game: Any, choose: Callable[[Any], Any], rounds: int) -> Any:
    """Return the mean payment after each action, to the player who took it."""
    paid: dict[Any, list[float]] = {}
    for _ in range(rounds):
        at, taken = game.root(), []
        while not isinstance(node := game.node(at), Terminal):
            a = choose(node)
            if isinstance(node, Decision):
                taken.append((node.player, node.infoset, a))
            at = game.step(at, a)
        for player, infoset, a in taken:
            won = node.utilities[player]
            paid.setdefault((infoset, a), []).append(won)
    return {key: sum(won) / len(won) for key, won in paid.items()}


WON, EACH, MEAN = (  # lines of it
    "won = node.utilities[player]",
    "for player, infoset, a in taken:",
    "return {key: sum(won) / len(won) for key, won in paid.items()}",
)
# the sign turns once for each later decision of the round
TURNED = (
    "won = node.utilities[taken[-1][0]] * "
    "(-1) ** (len(taken) - 1 - taken.index((player, infoset, a)))"
)


def played_at_random(program: Any, game: Game) -> dict[Any, float]:
    """Return what a program finds in some rounds, the same ones for every program."""
    rng = Random(0)

    def choose(node: Chance | Decision) -> Any:
        weights = [*node.probabilities.values()] if isinstance(node, Chance) else None
        return rng.choices(node.actions, weights)[0]

    found = program(game, choose, ROUNDS)
    if found is ...:
        raise Unanswered
    return {key: as_number(x) for key, x in found.items()}


@cache
def exact_payments(name: str) -> dict[Any, float]:
    """Return what the right program finds."""
    return played_at_random(mean_payments, REHEARSED[name])


def errors(program: Any) -> dict[str, float]:
    """Return the largest error of a reader's means for each game, and the sums of means."""
    require_function(program)
    found = {}
    for name, game in REHEARSED.items():
        right, own = exact_payments(name), played_at_random(program, game)
        if own.keys() - right.keys():
            raise Unreadable(
                "the keys are pairs: an infoset, and an action that was taken there"
            )
        found[f"{name}, error"] = max(abs(own.get(key, 0.0) - x) for key, x in right.items())
        found[f"{name}, sum"] = math.fsum(own.values())
    return found


class LastRound(Game):
    """The last round of a match, played as K8: 1 for winning the match, −1 for losing it."""

    def __init__(self, ahead: int, score: Callable[[float], float]):
        self.round, self.ahead, self.score = MiniKoiKoi.K8(), ahead, score

    def root(self) -> History:
        """Return the root."""
        return self.round.root()

    def step(self, h: History, a: Any) -> History:
        """Return the history after an action."""
        return self.round.step(h, a)

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        node: Chance | Decision | Terminal = self.round.node(h)
        if isinstance(node, Terminal):
            won = float(self.score(node.utilities[0] + self.ahead))
            return Terminal((won, -won))
        return node


def win_or_loss(x: float) -> float:
    """Return −1 also for a tied match: a mistake."""
    return 1.0 if x > 0 else -1.0


@cache
def match_values(score: Callable[[float], float] = np.sign, sign: int = 1) -> dict[str, float]:
    """Return the value of the last round to a dealer who is 0 or 2 points ahead.

    `sign` is -1 for a dealer who is as far behind.
    """
    games = (LastRound(sign * lead, score) for lead in (0, 2))
    return {word: float(solve_lp(game).value) for word, game in zip(LEADS, games, strict=True)}


# ---- 14.2 ------------------------------------------------------------------------------------

HUNTS = {"first": (0.3, 0.1), "second": (0.02, 0.05)}  # won, and half of the 95 % interval
# what is claimed -> the least that a hunter must have won for it, and from whom; None: it never
# follows, since a hunter bounds exploitability from below only
CLAIMS: dict[str, tuple[float, str] | None] = {
    "A": (0.3, "first"),
    "B": (0.2, "first"),
    "C": None,
    "D": (0.0, "first"),
    "E": None,
    "F": None,
}


def follows(sure: float = 1) -> set[str]:
    """Return the claims of exercise 14.2 that follow; `sure` scales the intervals."""
    return {
        letter
        for letter, claim in CLAIMS.items()
        if claim and HUNTS[claim[1]][0] - sure * HUNTS[claim[1]][1] > claim[0] - 1e-9
    }


EXERCISES = read(__file__, globals())
