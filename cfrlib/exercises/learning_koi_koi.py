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


def changed_ratios(change: Callable[[float], float]) -> dict[str, float]:
    """Return the right ratios after a change: a mistake."""
    return {other: change(x) for other, x in error_ratios().items()}


def lesson(
    order: str = "before",
    fair: bool = True,
    with_stops: bool = False,
    scaled: bool = True,
    sign: int = 1,
    explores: float | None = None,
) -> Lessons:
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
    scaled : bool
        Whether targets are divided by the scale of payoffs.
    sign : int
        -1 for targets with the sign of the other player.
    explores : float, optional
        Probability of exploring, in place of that of the argument.
    """
    from cfrlib.koikoi.learners.network_player import payoff_scale
    from cfrlib.koikoi.learners.segments import greedy, sample_rows

    def given(task: Any, explore: float = 0.05) -> tuple[Any, Any]:
        network, rounds, rng = task.begin()
        scale, table = payoff_scale(task.game), []
        explore = explore if explores is None else explores
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
        signs = sign * np.where(player == 0, 1, -1) if fair else 1
        return codes, signs * rounds.paid[which] / (scale if scaled else 1)

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
                "With that many deals the *standard* error has this size. The error here "
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
            Mistake(
                lambda: {half: 2 * n for half, n in deals_needed().items()},
                "You doubled for the two players. The standard deviation of 6 points is that "
                "of the mean of a deal already, both ways.",
            ),
            Mistake(
                lambda: {half: n / SPREAD for half, n in deals_needed().items()},
                "The standard deviation comes in once. It has to be squared, as all of the "
                "quotient is.",
            ),
            Mistake(
                lambda: {half: (SURE * SPREAD**2 / float(half)) for half in HALVES},
                "You squared the standard deviation only. Square the whole quotient.",
            ),
            Mistake(
                lambda: deals_needed(sure=1.645),
                "1.645 belongs to 90 %. An error here is 1.96 standard deviations.",
            ),
            Mistake(
                lambda: deals_needed(sure=SURE / 2),
                "You took the error for the whole width of the interval. ± 0.1 is half of it.",
            ),
            Mistake(
                lambda: dict(zip(HALVES, list(deals_needed().values())[::-1], strict=True)),
                "You have the two the wrong way round: the smaller error needs more deals.",
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
                "You compare two rounds with one. The mean of two independent rounds already "
                "has a smaller error, by a factor of √2. What do the same cards add?",
            ),
            Mistake(
                lambda: changed_ratios(lambda x: 1 - x),
                "That is the part of the error that is saved. The exercise asks for what is "
                "left.",
            ),
            Mistake(
                lambda: changed_ratios(lambda x: 1 - x**2),
                "That is the part of the variance that is saved. The exercise asks for the "
                "part of the *error* that is *left*.",
            ),
            Mistake(
                lambda: changed_ratios(lambda x: 1 / x),
                "Upside down: divide the error with the same cards by the error with other "
                "cards.",
            ),
            Mistake(
                lambda: dict(
                    zip(error_ratios(), list(error_ratios().values())[::-1], strict=True)
                ),
                "You have the two opponents the wrong way round. Against which one do the same "
                "cards bring the same luck?",
            ),
            Mistake(
                lambda: dict.fromkeys(error_ratios(), 1.0),
                "You found no difference. Did both rounds have the same cards, `seed=4`?",
            ),
            Mistake(
                lambda: dict.fromkeys(error_ratios(), 0.5**0.5),
                "That is what two independent rounds save over one. The same cards do "
                "something else; run it.",
            ),
            Mistake(
                lambda: dict.fromkeys(error_ratios(), 0.5),
                "The same cards do not halve every error. Run it, against both opponents.",
            ),
            Mistake(
                lambda: {
                    other: float((sum(payoffs_in_both_seats(other)) / 2).std())
                    for other in error_ratios()
                },
                "These are the standard deviations with the same cards. Divide each by that of "
                "two independent rounds.",
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
                "A player that it trains on K8 is still as exploitable after twenty iterations "
                "as before the first.",
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
            Mistake(
                lambda: lesson(sign=-1),
                "The player to move is right now. But the targets have the sign of the *other* "
                "player; that line was right.",
            ),
            Mistake(
                lambda: lesson(order="after", sign=-1),
                "You exchanged the signs. That helps only if the two players always take "
                "turns; look at when the player to move is read.",
            ),
            Mistake(
                lambda: lesson(scaled=False),
                "The player to move is right now. But the targets are no longer divided by the "
                "scale; that line was right.",
            ),
            Mistake(
                lambda: lesson(explores=0.0),
                "The player to move is right now. But nothing is explored any more; that line "
                "was right.",
            ),
            Mistake(
                lambda: lesson(explores=1.0),
                "The player to move is right now. But all actions are random; the policy was "
                "right.",
            ),
        ),
        see=sample_statistics,
        points=3,
        takeaway="`rounds` is changed in place: read what you need before you act.",
        advice="Compare its rows with those of `lesson` for the same task, one by one.",
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
            Mistake(
                lambda: overwriting("cards points"),
                "Cards and points are right, but the yaku still reveal what the other has.",
            ),
            Mistake(
                lambda: overwriting("yaku"),
                "The yaku are right, but the pile itself, the cards, still reveals what the "
                "other has.",
            ),
            Mistake(
                lambda: overwriting("points"),
                "The points are right, but the pile itself, the cards, still reveals what the "
                "other has.",
            ),
            Mistake(
                lambda: overwriting("cards yaku first"),
                "Nearly: of the facts, the eleventh, what their points pay, still reveals what "
                "the other has.",
            ),
            Mistake(
                lambda: overwriting("cards yaku second"),
                "Nearly: of the facts, the second, their points, still reveals what the other "
                "has.",
            ),
            Mistake(
                lambda: both_ways(overwriting(), overwriting(back=True)),
                "You exchanged the two players' features. The bug shows one's own twice.",
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
            Mistake(
                lambda: {lead: -x for lead, x in match_values().items()},
                "These are the values to the other player. The exercise asks for the dealer's.",
            ),
            Mistake(
                lambda: dict(zip(LEADS, list(match_values().values())[::-1], strict=True)),
                "You have the two leads the wrong way round.",
            ),
            Mistake(
                lambda: dict.fromkeys(LEADS, match_values()["0 ahead"]),
                "The first is right. With a lead of two points, some rounds that are lost do "
                "not lose the match: add the lead before you look at the sign.",
            ),
            Mistake(
                lambda: {lead: (1 + x) / 2 for lead, x in match_values().items()},
                "These are something like probabilities of winning. A match won counts 1, and "
                "one lost −1.",
            ),
            Mistake(
                lambda: match_values() | {"2 ahead": 1.0},
                "The first is right. A lead of two points is not yet a win: the round may cost "
                "more.",
            ),
            Mistake(
                lambda: match_values() | {"0 ahead": 0.0},
                "The second is right. A level score does not make the match fair: the two "
                "players have different parts in the round.",
            ),
            Mistake(
                lambda: match_values() | {"0 ahead": match_values("points")["0 ahead"]},
                "The second is right. The first is in points. In the last round only the match "
                "counts.",
            ),
            Mistake(
                lambda: match_values() | {"2 ahead": match_values("points")["2 ahead"]},
                "The first is right. The second is in points. In the last round only the match "
                "counts.",
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
                "One is too many. The mean of a sample may be too high by luck; what is "
                "certain enough is the lower end of the interval.",
            ),
            Mistake(
                lambda: follows() | {"C"},
                "One is too many. A better hunter, or a longer training, may win more: what "
                "bounds exploitability from above?",
            ),
            Mistake(
                lambda: follows() | {"E"},
                "One is too many. Both hunters give lower bounds, and the second may simply "
                "have learned less.",
            ),
            Mistake(
                lambda: follows() | {"F"},
                "One is too many. The interval is about this hunter and luck, not about other "
                "hunters.",
            ),
            Mistake(
                lambda: follows() - {"D"},
                "One is missing. An equilibrium loses to nobody, both seats taken together.",
            ),
            Mistake(
                lambda: follows() - {"B"},
                "One is missing. What is the least that the hunters surely win from the first?",
            ),
            Mistake(
                lambda: (follows() - {"B"}) | {"A"},
                "One is too many, and one is missing. The mean of a sample may be too high by "
                "luck; what is certain enough is the lower end of the interval.",
            ),
            Mistake(
                lambda: set(CLAIMS),
                "They do not all follow. Go through them one by one: could another opponent, "
                "or luck, refute it?",
            ),
            Mistake(
                lambda: follows() | {"A", "E"},
                "Two are too many. One takes the middle of an interval for its lower end, one "
                "takes a hunter that failed for a proof of safety.",
            ),
            Mistake(
                lambda: follows() | {"C", "F"},
                "Two are too many. They bound exploitability from above, and a hunter cannot: "
                "another one may win more.",
            ),
            Mistake(
                lambda: follows() | {"C", "E"},
                "Two are too much. Both take what a hunter wins for all that can be won.",
            ),
            Mistake(
                lambda: follows() | {"E", "F"},
                "Two are too much. Both take what a hunter wins for all that can be won.",
            ),
            Mistake(
                lambda: follows() | {"C", "E", "F"},
                "Three are too many. All of them take what a hunter wins for all that can be "
                "won.",
            ),
            Mistake(
                lambda: {"C"},
                "That does not follow: another hunter may win more. What do these results "
                "prove from below?",
            ),
        ),
        words=dict.fromkeys(CLAIMS, ()),
        takeaway="A hunter that wins proves weakness. A hunter that does not win proves "
        "nothing.",
        advice="A hunter shows what *one* opponent wins. Ask of each claim whether some other "
        "opponent could refute it.",
    ),
)
