"""Exercises of chapter 3: best responses, measures of a profile, a linear program, regrets."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Any

import numpy as np

from cfrlib.cfr import CFR
from cfrlib.equilibrium import best_response, expected_utility, nash_conv, solve_lp
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unreadable,
    as_list,
    as_number,
    normalized,
    pair_values,
    require_complete,
    require_function,
)
from cfrlib.game import Chance, Game, History, Node, Terminal
from cfrlib.games import KuhnPoker, MatrixGame, RockPaperScissors
from cfrlib.strategy import Strategy

Rows = Mapping[str, Mapping[Any, float]]
Responder = Callable[[Game, Rows, int], float]

NAMES = ("rock", "paper", "scissors")
SEATS = ("player 0", "player 1")
STAKES = ((0, -2, 3), (2, 0, -1), (-3, 1, 0))  # of exercise 3.4


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
    if min(p) < 0 or abs(sum(p) - 1) > 1e-6:
        raise Unreadable(f"{p} are not three probabilities that add up to 1")
    return p


def both_gains(answer: Any) -> dict[object, str]:
    """Return who gains in each of the two profiles of an answer: none, one or both alike."""
    u = RockPaperScissors().row_payoffs
    found = {}
    for name, profile, _ in pair_values(answer, {"sum": None, "mean": None}):
        x, y = map(np.array, map(as_strategy, as_list(profile, 2)))
        value = x @ u @ y
        low, high = sorted([float((u @ y).max() - value), float(value - (x @ u).min())])
        alike = "both alike" if high - low < 1e-6 else "both, not alike"
        found[name] = "none" if high < 1e-3 else "one" if low < 1e-6 else alike
    return found


def responder(backward: bool = True, from_uniform: bool = True, fault: str = "") -> Responder:
    """Return a best-response function for exercise 3.3, correct or with a bug.

    Parameters
    ----------
    backward : bool
        Whether later infosets are decided first.
    from_uniform : bool
        Whether the player's own strategy is first replaced by the uniform one.
    fault : str
        ``"worst"``: the worst action is kept; ``"other"``: the other player's utility counts;
        ``"player 0"``: player 0's utility decides; ``"both"``: the other player's infosets
        are decided as well; ``"alone"``: each infoset is tried with all others uniform.
    """

    def respond(game: Game, strategy: Rows, player: int) -> float:
        uniform = Strategy.uniform(game)
        own = [I for I in uniform if fault == "both" or uniform.player(I) == player]
        start = {I: uniform[I] for I in own} if from_uniform else {}
        best = first = Strategy(game, {**strategy, **start})
        seat = 1 - player if fault == "other" else player

        def utility(profile: Strategy, seat: int = seat) -> float:
            return float(expected_utility(game, profile)[seat])

        def wish(profile: Strategy) -> float:
            u = utility(profile, 0 if fault == "player 0" else seat)
            return -u if fault == "worst" else u

        for I in reversed(own) if backward else own:
            base = first if fault == "alone" else best
            best = max((base.replace({I: {a: 1}}) for a in base[I]), key=wish)
        return utility(best)

    return respond


def profiles() -> dict[str, Strategy]:
    """Return strategies of Kuhn poker to respond to."""
    game = KuhnPoker()
    rng = np.random.default_rng(3)
    found = {"uniform": Strategy.uniform(game)}
    for name in ("one", "another", "a third"):
        found[name] = Strategy.random(game, rng)
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
    """Return the answer to exercise 3.4.

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
    """Return the answer to exercise 3.5, correct or with a mistake."""
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
    """

    def __init__(self, bet: float, ante: bool = True, folding: bool = False):
        super().__init__()
        self.called, self.folded = bet + ante, 1 + bet * folding

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


def own_kuhn(student: str) -> Exercise:
    """Return exercise 3.7, whose bet depends on the student."""
    digit = last_digit(student)
    bet = bet_of(digit)
    return Exercise(
        "3.7",
        "Your own Kuhn poker",
        f"the value to player 0 of Kuhn poker with bets of {bet} chips",
        lambda: worth(bet),
        (
            Mistake(
                lambda: worth(1),
                "This is the value with a bet of one chip, the game of the page.",
            ),
            Mistake(
                lambda: -worth(bet),
                "This is what player 1 earns. The value is player 0's.",
            ),
            Mistake(
                lambda: worth(bet, ante=False),
                "The winner of a bet that is called also wins the other player's ante.",
            ),
            Mistake(
                lambda: worth(bet, folding=True),
                "A player who folds has not paid the bet, and loses the ante only.",
            ),
            Mistake(
                lambda: bet * worth(1),
                "You multiplied all payoffs by the bet. Only a bet that is called is larger; "
                "a fold, and a showdown without a bet, still cost the ante of one chip.",
            ),
            *(
                Mistake(partial(worth, bet_of(d)), "This is the value of somebody else's bet.")
                for d in range(10)
                if d != digit
            ),
        ),
        tolerance=1e-5,
        points=2,
        takeaway="Another bet makes another game, with a value of its own.",
        advice="Write a class that inherits from `cfr.games.KuhnPoker`: only nodes at the end "
        "of the game change, and only those after a bet that was called.",
        variant=own_kuhn,
    )


EXERCISES = (
    Exercise(
        "3.1",
        "One more decision by hand",
        "a dictionary with the counterfactual values of 'check' and 'bet', and the name of "
        "the larger under 'better'",
        jack,
        (
            Mistake(
                lambda: jack(1 / 2),
                "These are means over the two deals: what the jack expects once it is here. A "
                "counterfactual value leaves the weight of each deal in.",
            ),
            Mistake(
                lambda: jack(1 / 12),
                "Half of the value is missing. Either you left out one of the two deals, or "
                "you multiplied by your friend's own choice as well, which a counterfactual "
                "value leaves out.",
            ),
            Mistake(
                lambda: (
                    {a: -u for a, u in jack().items() if isinstance(u, float)}
                    | {"better": "check"}
                ),
                "This is what *you* are paid. The friend decides here, so count what the "
                "friend gets, which is the negative.",
            ),
            Mistake(
                lambda: jack(better="check"),
                "Both values are right. The larger of two negative numbers is the one closer "
                "to zero.",
            ),
            Mistake(
                lambda: jack() | {"check": -1 / 2},
                "After a check and your bet the friend folds, and loses one chip. You let them "
                "call.",
            ),
            Mistake(
                lambda: jack() | {"bet": 0},
                "You counted the whole pot as won. If you fold, the friend wins *your* chip; "
                "the other one was theirs before.",
            ),
            Mistake(
                lambda: jack() | {"bet": -2 / 3, "better": "check"},
                "You let every bet be called. You flip coins: half of the time you fold to a "
                "bet.",
            ),
            Mistake(
                lambda: jack() | {"bet": 1 / 3},
                "You counted the folds only. When you call, the friend loses two chips.",
            ),
            Mistake(
                lambda: jack(1 / 3),
                "You weighted each deal by the probability of one card. A deal gives out two.",
            ),
            Mistake(
                lambda: jack(1),
                "You added up the two deals without a weight. Each deal counts by its "
                "probability.",
            ),
        ),
        tolerance=1e-4,
        words={"check": ("checking",), "bet": ("betting",)},
        takeaway="With the worst card a bet loses less than a check: that is why one bluffs.",
        advice="Two deals. For each, what the friend gets on average, times the probability "
        "of the deal; then add.",
    ),
    Exercise(
        "3.2",
        "Between the mean and the sum",
        "a dictionary with 'sum' and 'mean', each a pair of strategies (of player 0, of "
        "player 1); a strategy is the name of an action, or three probabilities",
        lambda: {"sum": ("rock", [1 / 3, 1 / 3, 1 / 3]), "mean": ("rock", "rock")},
        (
            Mistake(
                lambda: {"sum": ("rock", "rock"), "mean": ("rock", [1 / 3] * 3)},
                "Both are good finds, but they are swapped. Which of the two has one gain "
                "that is zero?",
            ),
            Mistake(
                lambda: {"sum": ([1 / 3] * 3, [1 / 3] * 3), "mean": ("rock", "rock")},
                "The second is fine. The first is an equilibrium: sum, mean and largest gain "
                "are all zero there. One player should still be able to gain.",
            ),
            Mistake(
                lambda: {"sum": ("rock", [1 / 3] * 3), "mean": ([1 / 3] * 3, [1 / 3] * 3)},
                "The first is fine. The second is an equilibrium, where nobody can gain; let "
                "both gain, by the same amount.",
            ),
            Mistake(
                lambda: {"sum": ("rock", "rock"), "mean": ("rock", "rock")},
                "The second is fine. But where both players can gain, the sum is more than "
                "the larger of the two.",
            ),
            Mistake(
                lambda: {"sum": ("rock", [1 / 3] * 3), "mean": ("rock", [1 / 3] * 3)},
                "The first is fine. In the second, one gain is zero, so ε is the sum once "
                "more. Let both gain, by the same amount.",
            ),
            Mistake(
                lambda: {"sum": ([1 / 3] * 3, [1 / 3] * 3), "mean": ([1 / 3] * 3, [1 / 3] * 3)},
                "Even play by both is the equilibrium: nobody can gain anything. Both profiles "
                "should be off it.",
            ),
            Mistake(
                lambda: {"sum": ("rock", [0.5, 0.5, 0]), "mean": ("rock", "rock")},
                "The second is fine. In the first, both players can gain. Let one of them play "
                "a best response already.",
            ),
            Mistake(
                lambda: {"sum": ("rock", [1 / 3] * 3), "mean": ("rock", [0.6, 0.4, 0])},
                "The first is fine. In the second both can gain, but not by the same amount. "
                "What would be alike for both?",
            ),
        ),
        see=both_gains,
        points=2,
        takeaway="One gain only: ε is the sum. Two equal gains: ε is the mean.",
        advice="For each player: what the best action would earn against the other's strategy, "
        "minus what is earned now. Write down these two gains for each of your profiles.",
    ),
    Exercise(
        "3.3",
        "Find the planted bug",
        "a function of a game, a strategy and a player that returns what a best response "
        "earns, as `respond` does",
        lambda: best_response_value,
        (
            Mistake(
                lambda: responder(backward=False),
                "For player 0 it still returns too little.",
            ),
            Mistake(
                lambda: responder(from_uniform=False),
                "One thing is fixed, but now it starts from the player's present strategy. At "
                "infosets that this strategy never reaches, no action makes a difference. That "
                "line was right.",
            ),
            Mistake(
                lambda: responder(fault="worst"),
                "Now the *worst* action is kept at each infoset. A best response takes the "
                "largest value.",
            ),
            Mistake(
                lambda: responder(backward=False, fault="worst"),
                "You exchanged `max` for `min`. It was right to keep the best action; look at "
                "what is tried first, and what later.",
            ),
            Mistake(
                lambda: responder(fault="other"),
                "You count what the *other* player earns. `expected_utility` returns a number "
                "for each player; that line was right.",
            ),
            Mistake(
                lambda: responder(fault="player 0"),
                "Player 0's utility decides, whoever responds. So player 1 now looks for what "
                "helps player 0.",
            ),
            Mistake(
                lambda: responder(fault="both"),
                "You also change what the other player does. A best response takes their "
                "strategy as given.",
            ),
            Mistake(
                lambda: responder(backward=False, fault="alone"),
                "Each infoset is tried from the start again, so all decisions but the last are "
                "lost. A decision has to be kept when the next one is tried.",
            ),
        ),
        see=answers,
        tolerance=1e-6,
        points=3,
        takeaway="The value of a check depends on your later decision, so make the later "
        "decision first.",
        advice="Compare with `cfr.best_response(game, strategy, player).value`.",
    ),
    Exercise(
        "3.4",
        "The linear program elsewhere",
        "a dictionary with 'value', 'plan', which is a dictionary with 'rock', 'paper' and "
        "'scissors', and under 'claim' the ε of the claimed equilibrium",
        value_and_plan,
        (
            Mistake(
                lambda: value_and_plan([0.2, 0.6, 0.2]),
                "This is the equilibrium of the first chapter, where paper wins one point.",
            ),
            Mistake(
                lambda: value_and_plan([1 / 2, 1 / 3, 1 / 6]),
                "You play each action in proportion to what it can win. But the other player "
                "knows that, and responds. Let the linear program decide.",
            ),
            Mistake(
                lambda: value_and_plan([1 / 3, 1 / 3, 1 / 3]),
                "Even play can be exploited now: rock and paper earn more than nothing against "
                "it.",
            ),
            Mistake(
                lambda: value_and_plan(claim=2),
                "Value and plan are right. Both players could gain, and you added the two "
                "gains: that is NashConv. ε is the larger of them.",
            ),
            Mistake(
                lambda: value_and_plan(claim=0),
                "Value and plan are right. It is no test that both earn nothing if both play "
                "evenly. Ask what each could earn by playing something else.",
            ),
            Mistake(
                lambda: value_and_plan() | {"value": 1 / 6},
                "Plan and claim are right. The value is what the plan earns in equilibrium. "
                "Both players have the same game: can either be ahead?",
            ),
            Mistake(
                lambda: value_and_plan() | {"value": 1 / 3},
                "Plan and claim are right. You gave ε as the value. The value is what the "
                "plan earns in equilibrium.",
            ),
            Mistake(
                lambda: value_and_plan(claim=3),
                "Value and plan are right. You added up three earnings and did not divide: "
                "against even play an action earns the *mean* of its row.",
            ),
            Mistake(
                lambda: value_and_plan(claim=1 / 2),
                "Value and plan are right. You halved the gain. ε is the larger of the two "
                "gains.",
            ),
            Mistake(
                lambda: value_and_plan([1, 3, 2]),
                "The proportions of the plan are right. Divide by their sum to get "
                "probabilities.",
            ),
        ),
        points=2,
        takeaway="Each action is played in proportion to what is at stake between the other "
        "two.",
        advice="Make a table with three rows and columns, then a `cfr.games.MatrixGame`, and "
        "pass it to `maximin`.",
    ),
    Exercise(
        "3.5",
        "Alternating updates",
        "a dictionary with the average overall regrets of 'player 0' and 'player 1', the "
        "'NashConv' of the average, and True or False under 'holds'",
        regrets,
        (
            Mistake(
                lambda: regrets("simultaneous"),
                "These belong to simultaneous updates, the run of the page after a thousand "
                "iterations.",
            ),
            Mistake(
                lambda: regrets() | dict(zip(regrets(), regrets_and_gains()[1], strict=False)),
                "These are the gains. Their sum is the same, so they are easily taken for the "
                "regrets. But a regret compares with what was earned *while* learning.",
            ),
            Mistake(
                lambda: regrets(late=True),
                "You measured the payoffs after the iteration had changed the strategies. "
                "Measure first, then let it learn.",
            ),
            Mistake(
                lambda: regrets() | {"holds": False},
                "The numbers are right. Add the two regrets, and look again.",
            ),
            Mistake(
                lambda: regrets() | {"NashConv": regrets_and_gains()[2] / 2},
                "This is the exploitability, the mean of the two gains. NashConv is their sum.",
            ),
            Mistake(
                lambda: regrets() | {name: 1_000 * regrets()[name] for name in SEATS},
                "These regrets are sums over all iterations. Divide by their number: the "
                "overall regret is a mean here.",
            ),
            Mistake(
                lambda: regrets() | {name: -regrets()[name] for name in SEATS},
                "You subtracted the wrong way round: first what the best fixed strategy would "
                "have earned, then what was earned.",
            ),
            Mistake(
                lambda: (
                    regrets()
                    | dict(zip(SEATS, [regrets()[name] for name in SEATS[::-1]], strict=True))
                ),
                "You have the two players the wrong way round: the best response of player 0 "
                "is measured against player 1's average.",
            ),
            Mistake(
                lambda: regrets() | {"player 1": 0.0},
                "You floored a negative regret at 0. With alternating updates one of them may "
                "well be negative, and the sum needs it.",
            ),
        ),
        tolerance=1e-5,
        points=2,
        takeaway="The equality needs nothing but the average; that regrets become small needs "
        "a proof.",
        advice="The loop of the page with another `update`, for a thousand iterations.",
    ),
    Exercise(
        "3.6",
        "Open: many cards",
        "a dictionary with the numbers of cards that are 'best' and 'worst' for player 0, and "
        "the value 'with 20' cards",
        decks,
        (
            Mistake(
                lambda: decks() | {"best": decks()["worst"], "worst": decks()["best"]},
                "You have the two the wrong way round: all values are negative, and the best "
                "for player 0 is the one closest to zero.",
            ),
            Mistake(
                lambda: decks() | {"with 20": -decks()["with 20"]},
                "The decks are right. The value is what *player 0* earns.",
            ),
            Mistake(
                lambda: decks() | {"with 20": value(19)},
                "That is the value with one card less; does your range end too early?",
            ),
            Mistake(
                lambda: decks() | {"worst": min(range(3, 7), key=value)},
                "You read the page's table, which ends early. The exercise asks for decks of "
                "up to 20.",
            ),
            Mistake(
                lambda: decks() | {"worst": 20},
                "The largest deck need not be the worst. Plot the values: they go up and down "
                "at first.",
            ),
            Mistake(
                lambda: decks() | {"worst": 3},
                "The smallest deck is not the worst. Print the value for each number of cards.",
            ),
            Mistake(
                lambda: decks() | {"best": 20},
                "The largest deck is not the best. Print the value for each number of cards.",
            ),
            Mistake(
                lambda: decks() | {"best": 3},
                "The smallest deck is not the best. Print the value for each number of cards.",
            ),
            Mistake(
                lambda: decks() | {"with 20": value(21)},
                "That is the value with one card more: `range(3, 21)` ends at 20.",
            ),
            Mistake(
                lambda: decks() | {"with 20": value(3)},
                "The decks are right. You gave the value with three cards. Large decks may "
                "come near it, but with 20 the value is another.",
            ),
        ),
        tolerance=1e-5,
        points=2,
        takeaway="That part can be checked. Why the value jumps with small decks, and where it "
        "goes with large ones, is for you to find out.",
        advice="A loop over `cfr.solve_lp(cfr.games.KuhnPoker(cards=n)).value`.",
    ),
    own_kuhn("0"),
)
