"""Exercises of chapter 14: sample sizes, duplicate deals, bugs in training, a match."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np

from cfrlib.equilibrium import solve_lp
from cfrlib.exercises.grading import Exercise, Mistake, Unreadable, require_function
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.koikoi import KoiKoi, MiniKoiKoi
from cfrlib.koikoi.afterstates import CODE, Describer
from cfrlib.koikoi.players import GreedyPlayer, RandomPlayer, play
from cfrlib.koikoi.simulator import OVER, Simulator

SPREAD, HALVES, SURE = 6.0, ("0.1", "0.05"), 1.96  # of the mean of a deal, in points
LEADS = ("0 ahead", "2 ahead")
Lessons = Callable[[Any], tuple[Any, Any]]


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


def lesson(order: str = "before", fair: bool = True, with_stops: bool = False) -> Lessons:
    """Return the page's function `lesson`, correct or with a bug.

    Parameters
    ----------
    order : str
        When the player to move is recorded: ``"before"`` the action, ``"after"`` it, or
        ``"late"``, at the end of the round.
    fair : bool
        Whether targets have the sign of the player to move.
    with_stops : bool
        Whether stop actions are samples as well.
    """
    from cfrlib.koikoi.learners.network_player import payoff_scale
    from cfrlib.koikoi.learners.segments import greedy, sample_rows

    def given(task: Any, explore: float = 0.05) -> tuple[Any, Any]:
        network, rounds, rng = task.begin()
        scale, table = payoff_scale(task.game), []
        while len(going := np.flatnonzero(rounds.stage != OVER)):
            after = network.describer.after(rounds, going)
            predicted = network(task.networks[0], after.code)
            paid, n = after.paid / scale, np.diff(after.start)
            sigma = greedy(np.where(np.isnan(paid), predicted, paid), after.start)
            policy = (1 - explore) * sigma + explore * np.repeat(1 / n, n)
            chosen = sample_rows(policy, after.start, rng.random(len(going)))
            unknown = np.isnan(paid[chosen]) | with_stops
            mover = rounds.player[going[unknown]]
            network.describer.simulator.act(rounds, going, after.action[chosen])
            if order == "after":
                mover = rounds.player[going[unknown]]
            table.append((after.code[chosen[unknown]], going[unknown], mover))
        codes, which, player = map(np.concatenate, zip(*table, strict=True))
        player = rounds.player[which] if order == "late" else player
        sign = np.where(player == 0, 1, -1) if fair else 1
        return codes, sign * rounds.paid[which] / scale

    return given


@cache
def small_task() -> Any:
    """Return a task: some rounds of K8 and an untrained network."""
    import jax

    from cfrlib.koikoi.learners.selfplay import Task
    from cfrlib.koikoi.learners.value_network import ValueNetwork

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
    }
    which = np.array([pair for part in parts.split() for pair in pairs[part]]).reshape(-1, 2)
    own, theirs = which.T[::-1] if back else which.T

    def hide(seen: Any) -> Any:
        hidden = seen.copy()
        hidden[:, theirs] = seen[:, own]
        return hidden

    return hide


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

    def __init__(self, ahead: int, score: Callable[[float], float] | None = None):
        self.round, self.ahead, self.score = MiniKoiKoi.K8(), ahead, score or np.sign

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


def as_points(x: float) -> float:
    """Return the points themselves: a mistake."""
    return x


def win_or_loss(x: float) -> float:
    """Return −1 also for a tied match: a mistake."""
    return 1.0 if x > 0 else -1.0


@cache
def match_values(change: str = "") -> dict[str, float]:
    """Return the value of the last round to a dealer who is 0 or 2 points ahead."""
    scores = {"points": as_points, "tie lost": win_or_loss}
    sign = -1 if change == "behind" else 1
    games = (LastRound(sign * lead, scores.get(change)) for lead in (0, 2))
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


EXERCISES = (
    Exercise(
        "14.1",
        "How many deals?",
        "a dictionary with the number of deals for '0.1' and for '0.05'",
        deals_needed,
        (
            Mistake(
                lambda: deals_needed(sure=1),
                "That many deals reduce the *standard* error to this size. An error here "
                "covers 95 of 100 cases, and is 1.96 times as wide.",
            ),
            Mistake(
                lambda: {"0.1": deals_needed()["0.1"], "0.05": 2 * deals_needed()["0.1"]},
                "The first is right. An error falls with the square root of the number of "
                "deals: twice as many do not halve it.",
            ),
            Mistake(
                lambda: deals_needed(power=1),
                "One step is missing: this is the square root of the number of deals.",
            ),
        ),
        takeaway="Half the error costs four times the deals, and so on.",
        advice="The error is 1.96 standard deviations over the root of the number of deals.",
    ),
    Exercise(
        "14.2",
        "The same cards, twice",
        "a dictionary with the part of the error that is left, against 'greedy, by rule' and "
        "against 'random'",
        error_ratios,
        (
            Mistake(
                lambda: error_ratios(power=2),
                "This compares variances. An error is a standard deviation, the root of that.",
            ),
            Mistake(
                lambda: error_ratios(sign=-1),
                "`play` returns what the *first* player is paid, who deals. In the second "
                "game that is the opponent, so the sign must change before you take the mean.",
            ),
            Mistake(
                lambda: error_ratios(rounds=1),
                "You compare two rounds with one. The mean of two independent rounds is the "
                "surer one already, by the root of two; what do the same cards add?",
            ),
        ),
        tolerance=0.02,
        points=2,
        takeaway="Luck cancels to the extent that both players make the same use of it.",
        advice="The standard deviation of the mean of both rounds of a deal, over that of two "
        "independent rounds: `np.hypot(a.std(), b.std()) / 2`.",
    ),
    Exercise(
        "14.3",
        "Find the planted bug",
        "a function of a task that returns rows and targets, as `friend` does",
        lesson,
        (
            Mistake(
                lambda: lesson(order="after"),
                "Trained by it on K8, the player is still as exploitable after twenty "
                "iterations as before the first.",
            ),
            Mistake(
                lambda: lesson(order="late"),
                "Now no row has a loss as its target: you look up the player to move when the "
                "round is over. That player stopped, and a player who stops is paid.",
            ),
            Mistake(
                lambda: lesson(fair=False),
                "The payment to the dealer is the target of both players, as if it were their "
                "own gain. That line was right.",
            ),
            Mistake(
                lambda: lesson(with_stops=True),
                "This also trains on the afterstates of stopping. The network never has to "
                "predict them, since the payoff of stopping is known. That line was right.",
            ),
        ),
        see=sample_statistics,
        points=3,
        takeaway="`rounds` is changed in place: read what you need before you act.",
        advice="Compare its rows with those of `lesson`, for the same task, one by one.",
    ),
    Exercise(
        "14.4",
        "A bug that was published",
        "a function that returns the afterstates of K10 with the opponent's features replaced "
        "by one's own",
        overwriting,
        (
            Mistake(lambda: lambda seen: seen, "So far nothing is replaced."),
            Mistake(
                lambda: overwriting(back=True),
                "You overwrote one's own features with theirs. The bug shows one's own twice.",
            ),
            Mistake(
                lambda: overwriting("cards"),
                "The cards are right, but yaku and points still reveal what the other has.",
            ),
            Mistake(
                lambda: overwriting("cards yaku"),
                "Cards and yaku are right, but the points still reveal what the other has.",
            ),
        ),
        see=column_sums,
        points=2,
        takeaway="Now count the looks that are left, and solve for them.",
        advice="Five blocks of cards, the third and fourth are the piles; two of yaku; then "
        "twelve facts.",
    ),
    Exercise(
        "14.5",
        "Open: play for the match",
        "a dictionary with the value to the dealer if it is '0 ahead' and '2 ahead'",
        lambda: dict(match_values()),
        (
            Mistake(
                lambda: match_values("points"),
                "These are points, including the lead. After the last round of a match, only "
                "the higher total counts.",
            ),
            Mistake(
                lambda: match_values("behind"),
                "You gave the lead to the other player.",
            ),
            Mistake(
                lambda: match_values("tie lost"),
                "With equal points nobody has won the match: it pays 0, and the game stays "
                "zero-sum.",
            ),
        ),
        points=2,
        takeaway="That part can be checked; how to train for twelve rounds and 48 cards is "
        "open.",
        advice="Wrap K8: only at a terminal node does anything change.",
    ),
    Exercise(
        "14.6",
        "What do hunters prove?",
        "the set of the letters of the claims that follow",
        follows,
        (
            Mistake(
                lambda: follows(sure=0),
                "One is too much. The mean of a sample may be too high by luck; what is "
                "certain enough is the lower end of the interval.",
            ),
            Mistake(
                lambda: follows() | {"C"},
                "One is too much. A better hunter, or a longer training, may win more: what "
                "bounds exploitability from above?",
            ),
            Mistake(
                lambda: follows() | {"E"},
                "One is too much. Both hunters give lower bounds, and the second may simply "
                "have learned less.",
            ),
            Mistake(
                lambda: follows() | {"F"},
                "One is too much. The interval is about this hunter and luck, not about other "
                "hunters.",
            ),
            Mistake(
                lambda: follows() - {"D"},
                "One is missing. An equilibrium loses to nobody, both seats taken together.",
            ),
        ),
        words=dict.fromkeys(CLAIMS, ()),
        takeaway="A hunter that wins proves weakness. A hunter that does not win proves "
        "nothing.",
        advice="A hunter shows what *one* opponent wins. Ask of each claim whether some other "
        "opponent could refute it.",
    ),
)
