"""Exercises of chapter 14: sample sizes, duplicate deals, bugs in training, a match."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from cfrbook.exercises.grading import Unreadable, require_function
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib.evaluate import solve_lp
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from koikoi import KoiKoi, MiniKoiKoi
from koikoi.afterstates import CODE, Describer
from koikoi.players import GreedyPlayer, RandomPlayer, play
from koikoi.simulator import OVER, Simulator

SPREAD, HALVES, SURE = 6.0, ("0.1", "0.05"), 1.96  # of the mean of a deal, in points
LEADS = ("0 ahead", "2 ahead")


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


def lesson(task: Any, explore: float = 0.05) -> tuple[Any, Any]:
    """Return afterstates and targets, as the page's function `lesson` computes them."""
    from koikoi.learners.network_player import payoff_scale
    from koikoi.learners.segments import greedy, sample_rows

    network, rounds, rng = task.begin()
    scale, table = payoff_scale(task.game), []
    while len(going := np.flatnonzero(rounds.stage != OVER)):
        after = network.describer.after(rounds, going)
        predicted = network(task.networks[0], after.code)
        paid, n = after.paid / scale, np.diff(after.start)
        sigma = greedy(np.where(np.isnan(paid), predicted, paid), after.start)
        policy = (1 - explore) * sigma + explore * np.repeat(1 / n, n)
        chosen = sample_rows(policy, after.start, rng.random(len(going)))
        unknown = np.isnan(paid[chosen])
        mover = rounds.player[going[unknown]]
        network.describer.simulator.act(rounds, going, after.action[chosen])
        table.append((after.code[chosen[unknown]], going[unknown], mover))
    codes, which, player = map(np.concatenate, zip(*table, strict=True))
    sign = np.where(player == 0, 1, -1)
    return codes, sign * rounds.paid[which] / scale


MOVER, SIGN = (
    "mover = rounds.player[going[unknown]]",
    "sign = np.where(player == 0, 1, -1)",
)  # lines
ACT = "network.describer.simulator.act(rounds, going, after.action[chosen])"
POLICY = "policy = (1 - explore) * sigma + explore * np.repeat(1 / n, n)"


@cache
def small_task() -> Any:
    """Return a task: some rounds of K8 and an untrained network."""
    import jax

    from koikoi.learners.selfplay import Task
    from koikoi.learners.value_network import ValueNetwork

    game, hidden = MiniKoiKoi.K8(), (16,)
    fresh = ValueNetwork(Describer(game), hidden).fresh(jax.random.key(0))
    return Task(game, hidden, (fresh.weights,), (0, 0), 200)


def sample_statistics(given: Any) -> dict[str, float]:
    """Return statistics of the samples of a lesson, which do not depend on their order."""
    require_function(given)
    task = small_task()
    task = task._replace(networks=tuple(weights.copy() for weights in task.networks))
    codes, target = map(np.asarray, given(task))
    if codes.ndim != 2 or codes.shape[1] != CODE or target.shape != codes.shape[:1]:
        raise Unreadable("yours does not return rows of `after.code` and a target for each")
    mixed = (codes % 97).sum(axis=1) % 11
    return {
        "rows": len(codes),
        "losses": int((target < 0).sum()),
        "sum": float(target.sum()),
        "sum by row": float(mixed @ target),
    }


@cache
def afterstate_features() -> Any:
    """Return the afterstate features of some random rounds of K10."""
    describer, rng = Describer(MiniKoiKoi.K10()), np.random.default_rng(0)
    rounds, seen = describer.simulator.deal(60, seed=0), []
    while len(going := np.flatnonzero(rounds.stage != OVER)):
        after = describer.after(rounds, going)
        seen.append(describer.see(after.code))
        chosen = [rng.integers(a, z) for a, z in pairwise(after.start)]
        describer.simulator.act(rounds, going, after.action[chosen])
    return np.concatenate(seen)


def overwriting(parts: str = "cards yaku points", back: bool = False) -> Callable[[Any], Any]:
    """Return a function that overwrites the opponent's features with own ones, or back."""
    game = MiniKoiKoi.K10()
    f, y = len(game.months), len(game.yaku)
    facts = 5 * f + 2 * y
    pairs = {
        "cards": zip(range(2 * f, 3 * f), range(3 * f, 4 * f), strict=True),
        "yaku": zip(range(5 * f, 5 * f + y), range(5 * f + y, facts), strict=True),
        "points": ((facts, facts + 1), (facts + 9, facts + 10)),
        "first": ((facts, facts + 1),),
        "second": ((facts + 9, facts + 10),),
    }
    which = np.array([pair for part in parts.split() for pair in pairs[part]]).reshape(-1, 2)
    own, theirs = which.T[::-1] if back else which.T

    def hide(seen: Any) -> Any:
        hidden = seen.copy()
        hidden[:, theirs] = seen[:, own]
        return hidden

    return hide


def both_ways(one: Callable[[Any], Any], other: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a function that exchanges features: a mistake."""

    def exchange(seen: Any) -> Any:
        return one(seen) + other(seen) - seen

    return exchange


def column_sums(hide: Any) -> list[float]:
    """Return the sum of each column after applying a function to afterstates."""
    require_function(hide)
    seen = afterstate_features()
    found = np.asarray(hide(seen.copy()))
    if found.shape != seen.shape:
        raise Unreadable(f"your function returns the shape {found.shape} for {seen.shape}")
    return [float(x) for x in found.sum(axis=0)]


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


# ---- 14.6 ------------------------------------------------------------------------------------

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
    """Return the claims of exercise 14.6 that follow; `sure` scales the intervals."""
    return {
        letter
        for letter, claim in CLAIMS.items()
        if claim and HUNTS[claim[1]][0] - sure * HUNTS[claim[1]][1] > claim[0] - 1e-9
    }


EXERCISES = read(__file__, globals())
