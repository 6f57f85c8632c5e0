"""Chapter 14: how many deals a comparison needs, a lesson with two lines exchanged, a match."""

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


def deals(sure: float = SURE, power: int = 2) -> dict[str, int]:
    """Return how many deals tell a mean to ± 0.1 and ± 0.05."""
    return {half: math.ceil((sure * SPREAD / float(half)) ** power) for half in HALVES}


@cache
def both_ways(other: str) -> tuple[Any, Any]:
    """Return what greedy, which stops, wins as the dealer and as the other, deal by deal."""
    simulator, one = Simulator(KoiKoi()), GreedyPlayer("stop")
    rival = RandomPlayer() if other == "random" else GreedyPlayer("rule")
    ahead = play(simulator, one, rival, 2_000, seed=4)
    return ahead, -play(simulator, rival, one, 2_000, seed=4)


def shrunk(power: int = 1, sign: int = 1, rounds: int = 2) -> dict[str, float]:
    """Return which part of the error is left if the deals are the same."""
    found = {}
    for other in ("greedy, by rule", "random"):
        ahead, behind = both_ways(other)
        alone = math.sqrt((ahead.var() + behind.var()) / 2 / rounds)
        found[other] = float(((ahead + sign * behind) / 2).std() / alone) ** power
    return found


def lesson(order: str = "before", fair: bool = True, with_stops: bool = False) -> Lessons:
    """Return the function `lesson` of the page, or a faulty variant.

    Parameters
    ----------
    order : str
        When the player to move is recorded: ``"before"`` the action, ``"after"`` it, or
        ``"late"``, at the end of the round.
    fair : bool
        Whether a payment to the dealer is a loss for the other player.
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
def homework() -> Any:
    """Return some rounds of K8 for a network that has learned nothing."""
    import jax

    from cfrlib.koikoi.learners.selfplay import Task
    from cfrlib.koikoi.learners.value_network import ValueNetwork

    game, hidden = MiniKoiKoi.K8(), (16,)
    fresh = ValueNetwork(Describer(game), hidden).fresh(jax.random.key(0))
    return Task(game, hidden, (fresh.weights,), (0, 0), 200)


def taught(given: Any) -> dict[str, float]:
    """Return what a lesson teaches, whatever the order of its rows."""
    require_function(given)
    codes, target = map(np.asarray, given(homework()))
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
def some_afterstates() -> Any:
    """Return what a network sees of K10 in the course of random rounds."""
    describer, rng = Describer(MiniKoiKoi.K10()), np.random.default_rng(0)
    rounds, seen = describer.simulator.deal(60, seed=0), []
    while len(going := np.flatnonzero(rounds.stage != OVER)):
        after = describer.after(rounds, going)
        seen.append(describer.see(after.code))
        chosen = [rng.integers(a, z) for a, z in pairwise(after.start)]
        describer.simulator.act(rounds, going, after.action[chosen])
    return np.concatenate(seen)


def blind(parts: str = "cards yaku points", back: bool = False) -> Callable[[Any], Any]:
    """Return a function that writes what is one's own over what is theirs, or back."""
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


def columns(hide: Any) -> list[float]:
    """Return what a function makes of afterstates: the sum of each column."""
    require_function(hide)
    seen = some_afterstates()
    found = np.asarray(hide(seen.copy()))
    if found.shape != seen.shape:
        raise Unreadable(f"your function returns the shape {found.shape} for {seen.shape}")
    return [float(x) for x in found.sum(axis=0)]


class LastRound(Game):
    """A round of K8 after which the match is over: 1 for the match won, −1 for one lost."""

    def __init__(self, ahead: int, score: Callable[[float], float] | None = None):
        self.round, self.ahead, self.score = MiniKoiKoi.K8(), ahead, score or np.sign

    def root(self) -> History:
        """Return the beginning."""
        return self.round.root()

    def step(self, h: History, a: Any) -> History:
        """Return what `a` makes of `h`."""
        return self.round.step(h, a)

    def node(self, h: History) -> Node:
        """Return what happens after `h`."""
        node: Chance | Decision | Terminal = self.round.node(h)
        if isinstance(node, Terminal):
            won = float(self.score(node.utilities[0] + self.ahead))
            return Terminal((won, -won))
        return node


def as_it_is(x: float) -> float:
    """Return points as they are."""
    return x


def won_or_not(x: float) -> float:
    """Return −1 for a match that is drawn, too."""
    return 1.0 if x > 0 else -1.0


@cache
def match_values(change: str = "") -> dict[str, float]:
    """Return what the last round is worth to the dealer, who is 0 or 2 points ahead."""
    scores = {"points": as_it_is, "drawn": won_or_not}
    sign = -1 if change == "behind" else 1
    games = (LastRound(sign * lead, scores.get(change)) for lead in (0, 2))
    return {word: float(solve_lp(game).value) for word, game in zip(LEADS, games, strict=True)}


EXERCISES = (
    Exercise(
        "14.1",
        "How many deals?",
        "a dictionary with the number of deals for '0.1' and for '0.05'",
        deals,
        (
            Mistake(
                lambda: deals(sure=1),
                "So many deals bring the *standard* error down to that. An error here covers "
                "95 of 100 cases, and is 1.96 times as wide.",
            ),
            Mistake(
                lambda: {"0.1": deals()["0.1"], "0.05": 2 * deals()["0.1"]},
                "The first is right. An error falls with the square root of the number of "
                "deals: twice as many do not halve it.",
            ),
            Mistake(
                lambda: deals(power=1),
                "The root has to be undone: what you have is the square root of the number "
                "of deals.",
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
        shrunk,
        (
            Mistake(
                lambda: shrunk(power=2),
                "This compares variances. An error is a standard deviation, the root of that.",
            ),
            Mistake(
                lambda: shrunk(sign=-1),
                "`play` returns what the *first* player is paid, who deals. In the second "
                "game that is the opponent, so the sign must change before you take the mean.",
            ),
            Mistake(
                lambda: shrunk(rounds=1),
                "You compare two rounds with one. The mean of two independent rounds is the "
                "surer one already, by the root of two; what do the same cards add?",
            ),
        ),
        tolerance=0.02,
        points=2,
        takeaway="Luck cancels as far as both players make the same of it.",
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
                "Now no row is ever taught a loss: you ask who is to move when the round is "
                "over. That is whoever stopped, and who stops is paid.",
            ),
            Mistake(
                lambda: lesson(fair=False),
                "What is paid to the dealer is taught to both players as their own gain. That "
                "line was right.",
            ),
            Mistake(
                lambda: lesson(with_stops=True),
                "This teaches the afterstates of stopping, too. Nobody asks for them, as what "
                "stopping pays is known. That line was right.",
            ),
        ),
        see=taught,
        points=3,
        takeaway="`rounds` is changed in place: what you want to know of it, ask before.",
        advice="Compare its rows with those of `lesson`, for the same task, one by one.",
    ),
    Exercise(
        "14.4",
        "A bug that was published",
        "a function that returns the afterstates of K10 with all that is the opponent's "
        "replaced by what is one's own",
        blind,
        (
            Mistake(lambda: lambda seen: seen, "So far nothing is replaced."),
            Mistake(
                lambda: blind(back=True),
                "You wrote theirs over the own. The bug shows the own twice.",
            ),
            Mistake(
                lambda: blind("cards"),
                "The cards are right, but yaku and points still tell what the other has.",
            ),
            Mistake(
                lambda: blind("cards yaku"),
                "Cards and yaku are right, but the points still tell what the other has.",
            ),
        ),
        see=columns,
        points=2,
        takeaway="Now count the looks that are left, and solve for them.",
        advice="Five blocks of cards, the third and fourth are the piles; two of yaku; then "
        "twelve facts.",
    ),
    Exercise(
        "14.5",
        "Open: play for the match",
        "a dictionary with the value to the dealer if it is '0 ahead' and '2 ahead'",
        match_values,
        (
            Mistake(
                lambda: match_values("points"),
                "These are points, the lead among them. In the last round of a match they "
                "count only by who has more.",
            ),
            Mistake(
                lambda: match_values("behind"),
                "You gave the lead to the other player.",
            ),
            Mistake(
                lambda: match_values("drawn"),
                "With equal points nobody has won the match: it pays 0, and the game stays "
                "zero-sum.",
            ),
        ),
        points=2,
        takeaway="So much can be checked; how to train for twelve rounds and 48 cards is open.",
        advice="Wrap K8: only at a terminal node does anything change.",
    ),
)
