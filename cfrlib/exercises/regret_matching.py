"""Exercises of chapter 1: regrets of a round, a best response, equilibria, a wrong learner."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from cfrlib.equilibrium import solve_lp
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unreadable,
    as_list,
    normalized,
    pair_values,
    require_complete,
    require_function,
)
from cfrlib.games import RockPaperScissors
from cfrlib.regret import regret_matching

NAMES = ("rock", "paper", "scissors")
ROCK, PAPER, SCISSORS = range(3)
PAYOFF = RockPaperScissors().row_payoffs

Learner = Callable[[Any, Any, int, int], Any]  # payoffs, opponent, rounds and seed
# opponents with a clear best response after ROUNDS rounds
FRIENDS = {"(0.5, 0.3, 0.2)": (0.5, 0.3, 0.2), "(0.5, 0.1, 0.4)": (0.5, 0.1, 0.4)}
ROUNDS = 2_000
# exercise 1.5: a round with reproducible digits, rounds played, rounds to settle, and threshold
SHORT, LONG, LAST, SETTLED = 50, 1_000, 100, 0.1


def named(numbers: Any) -> dict[str, float]:
    """Return three numbers by action."""
    return dict(zip(NAMES, np.asarray(numbers, dtype=float).tolist(), strict=True))


def regrets_and_next(regrets: Any, strategy: Any = None) -> dict[str, dict[str, float]]:
    """Return an answer: regrets, and the next strategy, by default of regret matching."""
    strategy = regret_matching(regrets) if strategy is None else strategy
    return {"regrets": named(regrets), "next": named(strategy)}


def regrets_against_paper() -> Any:
    """Return the regrets after playing rock against paper."""
    return PAYOFF[:, PAPER] - PAYOFF[ROCK, PAPER]


def best_response_to(opponent: Any) -> dict[str, Any]:
    """Return a best response to a mixed strategy, and its utility."""
    utility = PAYOFF @ np.array(opponent)
    return {"best": NAMES[int(utility.argmax())], "earns": float(utility.max())}


def check_best_response(answer: Any) -> dict[object, Any]:
    """Return a reader's best response, and its utility if it is correct."""
    right = best_response_to((0.2, 0.2, 0.6))
    given = {key: value for key, value, _ in pair_values(answer, right)}
    return given if normalized(given["best"]) == right["best"] else given | {"earns": 0}


def equilibrium(n: float) -> dict[str, float]:
    """Return the equilibrium strategy if rock wins n points against scissors."""
    row = solve_lp(RockPaperScissors(n)).strategy["player 0"]
    return {name: row[name] for name in NAMES}


def values_at_some_n(formula: Any) -> dict[str, dict[str, float]]:
    """Return the values of a reader's function for some n."""
    require_function(formula)
    found = {}
    for n in (1, 2, 3, 10):
        answer = formula(n)
        require_complete(answer)
        if not isinstance(answer, dict):
            answer = dict(zip(NAMES, as_list(answer, 3), strict=True))
        found[f"n = {n}"] = answer
    return found


@cache
def learner(weigh: Callable[[Any], Any], compares: bool = True) -> Learner:
    """Return the program of exercise 1.4, correct or with a mistake.

    Parameters
    ----------
    weigh : callable
        Converts regrets to weights of actions.
    compares : bool
        Whether the payoff that was earned is subtracted.
    """

    def learn(payoff: Any, opponent: Any, rounds: int, seed: int) -> Any:
        rng = np.random.default_rng(seed)
        regret, total = np.zeros(3), np.zeros(3)
        for _ in range(rounds):
            weight = weigh(regret)
            uniform = np.full(3, 1 / 3)
            strategy = weight / weight.sum() if weight.sum() > 0 else uniform
            mine, theirs = rng.choice(3, p=strategy), rng.choice(3, p=opponent)
            regret += payoff[:, theirs] - compares * payoff[mine, theirs]
            total += strategy
        return total / rounds

    return learn


def negative_part(regret: Any) -> Any:
    """Return the negative parts of regrets: a mistake."""
    return np.maximum(-regret, 0)


def above_least(regret: Any) -> Any:
    """Return how far regrets are above the least one: a mistake."""
    return regret - regret.min()


def positive_part(regret: Any) -> Any:
    """Return the positive parts of regrets."""
    return np.maximum(regret, 0)


def averages(learn: Any) -> dict[str, list[float]]:
    """Return a reader's average strategies against two opponents.

    A program that returns the same after two rounds for every seed has looked at neither of
    them: it computes a best response from the probabilities, which no player sees. One that
    leaves an action out after two rounds has left out the first of them.
    """
    require_function(learn)

    def average(opponent: Any, rounds: int, seed: int) -> list[float]:
        answer = learn(PAYOFF.copy(), np.array(opponent), rounds, seed)
        require_complete(answer)
        return [float(p) for p in as_list(answer, 3)]

    friend = next(iter(FRIENDS.values()))
    two = [average(friend, 2, seed) for seed in range(20)]
    if np.ptp(two, axis=0).max() < 1e-9:
        raise Unreadable("yours returns the same whatever is played: learn from the actions")
    if np.min(two) < 1e-9:
        raise Unreadable(
            "yours returns the strategy of the last round: an average of two rounds has half "
            "of the first, in which each action has a probability of 1/3"
        )
    # probabilities 1, 1/2 and 1/3 only: then 72 times a mean of twelve is whole
    early = 72 * np.array([average(friend, 12, seed) for seed in range(20)])
    if np.abs(early - early.round()).max() < 1e-6:
        raise Unreadable(
            "all actions that yours plays in a round have the same probability: share in "
            "proportion to the positive regrets"
        )
    return {name: average(friend, ROUNDS, 0) for name, friend in FRIENDS.items()}


def finds_best_responses(strategies: dict[str, list[float]]) -> bool:
    """Return whether best responses have a probability above 0.85."""
    return all(
        p[NAMES.index(str(best_response_to(FRIENDS[name])["best"]))] > 0.85
        and min(p) >= 0
        and abs(sum(p) - 1) < 1e-6
        for name, p in strategies.items()
    )


@cache
def exploitability_by_round(guess: float) -> tuple[list[float], list[float]]:
    """Return the exploitability of the average and the current profile after each round.

    Both players of the biased game use expected instead of sampled regrets. Before matching,
    they add `guess` times the latest regrets.
    """
    u = RockPaperScissors(3).row_payoffs

    def profile_exploitability(x: Any, y: Any) -> float:
        return float((u @ y).max() - (x @ u).min()) / 2

    average, current = [], []
    regret, last, total = np.zeros((3, 2, 3))
    for t in range(1, LONG + 1):
        x, y = map(regret_matching, regret + guess * last)
        last = np.array([u @ y - x @ u @ y, x @ u @ y - x @ u])
        regret, total = regret + last, total + np.array([x, y])
        average.append(profile_exploitability(*(total / t)))
        current.append(profile_exploitability(x, y))
    return average, current


def prediction_answer(
    guess: float = 1, at: int = SHORT, late: int = 0
) -> dict[str, float | bool]:
    """Return the answer to exercise 1.5.

    It asks for digits only after a few rounds. With the guess, rounding differences grow
    exponentially; after many rounds, two correct programs agree on whether play settles, and on
    little else.

    Parameters
    ----------
    guess : float
        Weight of the latest regrets as a prediction.
    at : int
        Round of the returned numbers.
    late : int
        Rounds by which the current profile is taken too late.
    """
    average, current = exploitability_by_round(guess)
    return {
        "plain": exploitability_by_round(0)[0][at - 1],
        "guess": average[at - 1],
        "current": current[at - 1 + late],
        "settles": max(current[-LAST:]) <= SETTLED,
    }


def regret_and_play(u: Any, prize: float = 0.0) -> tuple[Any, ...]:
    """Return regrets, current and average strategy of player 0, and exploitability.

    Both players play ten rounds of expected regret matching. The prize is paid to player 0 in
    each round, whatever is played.
    """
    regret, total, paid = np.zeros((2, 3)), np.zeros((2, 3)), u + prize
    for _ in range(10):
        x, y = map(regret_matching, regret)
        total += np.array([x, y])
        regret += np.array([paid @ y - x @ paid @ y, x @ u @ y - x @ u])
    x, y = total / 10
    return regret[0], regret_matching(regret[0]), x, ((u @ y).max() - (x @ u).min()) / 2


def scale_and_shift() -> dict[str, float]:
    """Return what tenfold payoffs multiply, and what a prize of 5 adds to the regrets."""
    u = RockPaperScissors(3).row_payoffs
    before, after = regret_and_play(u), regret_and_play(10 * u)
    names = ("regrets", "strategy", "average", "exploitability")
    found = {
        name: float(np.abs(new).sum() / np.abs(old).sum())
        for name, old, new in zip(names, before, after, strict=True)
    }
    return found | {"prize": float((regret_and_play(u, 5)[0] - before[0]).sum())}


def broken_step() -> str:
    """Return the first step of the proof in exercise 1.7 whose claim fails when it is run.

    The regrets of self-play become small, as step 1 says. Regret matching is continuous, as
    step 2 says. If the strategies converged, they would settle.
    """
    average, current = exploitability_by_round(0)
    here, near = (regret_matching(np.array([3.0, 1 + gap, -2])) for gap in (0, 1e-6))
    holds = {
        "step 1": average[-1]
        < average[SHORT] / 2,  # no more than the regrets of both, per round
        "step 2": abs(here - near).max() < 1e-5,
        "step 3": max(current[-LAST:]) <= SETTLED,
    }
    return next(step for step, claim in holds.items() if not claim)


EXERCISES = (
    Exercise(
        "1.1",
        "The other loss",
        "a dictionary with 'regrets' and 'next', each a dictionary with 'rock', 'paper' and "
        "'scissors'",
        lambda: regrets_and_next(regrets_against_paper()),
        (
            Mistake(
                lambda: regrets_and_next(PAYOFF[:, PAPER]),
                "These are the payoffs that each action would have earned. A regret is how "
                "much *more* that is than you did earn, so one subtraction is left. (It is "
                "easy to forget: after a tie both are the same.)",
            ),
            Mistake(
                lambda: regrets_and_next(-PAYOFF[ROCK, :] + PAYOFF[ROCK, PAPER]),
                "These are your friend's regrets: you changed what *they* played. Leave their "
                "paper where it is and ask what each of your three actions would have earned.",
            ),
            Mistake(
                lambda: regrets_and_next(-regrets_against_paper()),
                "The subtraction is the wrong way round: what the action would have earned, "
                "minus what you did earn. You lost, so there is something to regret.",
            ),
            Mistake(
                lambda: regrets_and_next(regrets_against_paper(), np.eye(3)[SCISSORS]),
                "The regrets are right. But regret matching does not put everything on the "
                "largest one; it shares, in proportion to the regrets.",
            ),
            Mistake(
                lambda: regrets_and_next(regrets_against_paper(), regrets_against_paper()),
                "The regrets are right, and the next strategy has their proportions. But it "
                "is made of probabilities, so divide by the sum of the regrets.",
            ),
            Mistake(
                lambda: regrets_and_next(
                    -regrets_against_paper(), regret_matching(regrets_against_paper())
                ),
                "The next strategy is right. The regrets have the wrong sign: what the action "
                "would have earned comes first, and what you did earn is subtracted.",
            ),
            Mistake(
                lambda: regrets_and_next(regrets_against_paper(), [0, 1 / 2, 1 / 2]),
                "The regrets are right. You shared evenly between the actions that you regret. "
                "Regret matching gives more to the one that you regret more.",
            ),
            Mistake(
                lambda: regrets_and_next(regrets_against_paper(), [1 / 3] * 3),
                "The regrets are right. Play is uniform only if no regret is positive, and "
                "here some are.",
            ),
            Mistake(
                lambda: regrets_and_next(
                    regrets_against_paper(), 100 * regret_matching(regrets_against_paper())
                ),
                "The regrets are right. The probabilities are in percent: write 0.25 or '25 "
                "%', not 25.",
            ),
            Mistake(
                lambda: regrets_and_next(PAYOFF[:, ROCK] - PAYOFF[ROCK, ROCK]),
                "These are the regrets after a tie, as on the page. Now your friend played "
                "paper: take the column of paper.",
            ),
        ),
        tolerance=1e-2,
        takeaway="The action that would have won is regretted most, so it is played most; the "
        "tie also gets a share.",
        advice="One line of the table of payoffs, minus what you earned; then divide by the "
        "sum of what is positive.",
    ),
    Exercise(
        "1.2",
        "Another habit",
        "a dictionary with the name of the action under 'best' and what it earns a round "
        "under 'earns'",
        lambda: best_response_to((0.2, 0.2, 0.6)),
        (
            Mistake(
                lambda: {"best": "rock", "earns": 0.6},
                "The action is right. Its earnings include the rounds that it loses, not only "
                "those that it wins.",
            ),
            Mistake(
                lambda: {"best": "scissors", "earns": 0},
                "Scissors is the action that *they* play most, and against itself it only "
                "ties. Look for the action that beats it.",
            ),
            Mistake(
                lambda: {"best": "paper", "earns": 0},
                "This is the worst answer of the three: their scissors cut it. Look for the "
                "row with the largest number.",
            ),
            Mistake(
                lambda: {"best": "rock", "earns": 0.8},
                "The action is right. A tie earns nothing, and a loss earns −1; you counted "
                "both as if they did no harm.",
            ),
            Mistake(
                lambda: {"best": "rock", "earns": 1},
                "The action is right. It wins a point when it meets scissors. How often does "
                "that happen, and what happens in the other rounds?",
            ),
            Mistake(
                lambda: {
                    "best": "rock",
                    "earns": 100 * best_response_to((0.2, 0.2, 0.6))["earns"],
                },
                "The action is right. Its earnings are in percent of a point; they should be "
                "in points.",
            ),
            Mistake(
                lambda: {"best": "rock", "earns": -best_response_to((0.2, 0.2, 0.6))["earns"]},
                "The action is right. The sign is not: a best response that loses would be a "
                "poor one.",
            ),
        ),
        see=check_best_response,
        words=dict.fromkeys(NAMES, ()),
        takeaway="Weight each of the friend's actions by its probability, losses included.",
        advice="For each of your actions: payoff times probability, added up over the three "
        "things your friend may do.",
    ),
    Exercise(
        "1.3",
        "Bend it further",
        "a function of n that returns a dictionary with 'rock', 'paper' and 'scissors'",
        lambda: equilibrium,
        (
            Mistake(
                lambda: lambda n: named([n / (n + 2), 1 / (n + 2), 1 / (n + 2)]),
                "You gave the large share to rock, because it pays. But then everybody would "
                "answer with paper. Set all three earnings to zero and solve.",
            ),
            Mistake(
                lambda: lambda n: named([1 / (n + 2), 1 / (n + 2), n / (n + 2)]),
                "You gave the large share to scissors, which rock beats. Rock earns n·s − p. "
                "If that is zero, which of s and p is larger?",
            ),
            Mistake(
                lambda: lambda n: named([1, n, 1]),
                "The proportions are right. Probabilities add up to 1, so divide by the sum.",
            ),
            Mistake(
                lambda: lambda n: named(list(equilibrium(3).values())),
                "This is right if rock wins three points, as on the page. Now let the answer "
                "depend on n.",
            ),
            Mistake(
                lambda: lambda n: named([1 / 3] * 3),
                "Even play is the equilibrium only if all wins pay the same. For n = 3 it can "
                "be exploited, as the page shows.",
            ),
            Mistake(
                lambda: lambda n: named(np.array([1, n, 1]) / (n + 1)),
                "The proportion is right, the divisor is not: add up all three of your "
                "numbers, scissors included.",
            ),
            Mistake(
                lambda: lambda n: named([1 / n, (n - 2) / n, 1 / n]),
                "Check n = 1, where rock–paper–scissors is the usual game: your formula does "
                "not give even play. Write down the sum of the three probabilities once more.",
            ),
            Mistake(
                lambda: lambda n: named([1 / (2 * n + 1), n / (2 * n + 1), n / (2 * n + 1)]),
                "Only one of the other two actions becomes more frequent. Paper earns r − s: "
                "if that is zero, what follows for rock and scissors?",
            ),
            Mistake(
                lambda: lambda n: named([0, n / (n + 1), 1 / (n + 1)]),
                "You never play rock. Then scissors never loses, and paper stops being a good "
                "answer. All three are played in this equilibrium.",
            ),
        ),
        see=values_at_some_n,
        points=2,
        takeaway="The more rock pays, the less it is played; paper takes its place.",
        advice="Write down what rock, paper and scissors earn against (r, p, s), set all three "
        "to zero, and use that r + p + s = 1.",
    ),
    Exercise(
        "1.4",
        "Find the planted bug",
        "a function of payoffs, an opponent's strategy, a number of rounds and a seed that "
        "returns the average strategy, as `program` does",
        lambda: learner(positive_part),
        (
            Mistake(
                lambda: learner(np.abs),
                "It still plays the worst answer nearly as often as the best one.",
            ),
            Mistake(
                lambda: learner(negative_part),
                "Now it plays *only* the actions that it is glad not to have played. Keep the "
                "other sign.",
            ),
            Mistake(
                lambda: learner(np.square),
                "A square has no sign either: the action that you are gladdest not to have "
                "played still counts as much as one that you regret.",
            ),
            Mistake(
                lambda: learner(above_least),
                "You shifted the regrets so that none is negative. Then actions with a "
                "negative regret still get a share; they should get none.",
            ),
            Mistake(
                lambda: learner(positive_part, compares=False),
                "These sums hold what each action would have earned. A regret also subtracts "
                "what you did earn; that line was right.",
            ),
        ),
        see=averages,
        accepts=finds_best_responses,
        points=3,
        takeaway="A negative regret means that you are glad not to have played this action. It "
        "counts as zero.",
        advice="Against a fixed opponent, the average should be close to the best response. "
        "Start again from the given program and change one line.",
    ),
    Exercise(
        "1.5",
        "Open: can the current strategy be tamed?",
        "a dictionary with the exploitability after 50 rounds: of the average under 'plain' "
        "(the rule of this page) and 'guess' (with the guess), and under 'current' of what is "
        "played in round 50 with the guess; and under 'settles' True or False",
        prediction_answer,
        (
            Mistake(
                lambda: prediction_answer(0),
                "You measured the same with the guess as without it. Did you add the latest "
                "regrets to the *sum* twice? That doubles all regrets, and regret matching "
                "ignores a common factor. Add them only when you match, and do not store them.",
            ),
            Mistake(
                lambda: {
                    name: value if name == "settles" else 2 * value
                    for name, value in prediction_answer().items()
                },
                "These are the sums of both players' gains, NashConv. Exploitability is the "
                "mean of the two.",
            ),
            Mistake(
                lambda: prediction_answer(late=1),
                "Both averages are right. The third number is what would be played one round "
                "later.",
            ),
            Mistake(
                lambda: (
                    prediction_answer() | {"current": exploitability_by_round(0)[1][SHORT - 1]}
                ),
                "Both averages are right. The third number belongs to the current strategy "
                "without the guess.",
            ),
            Mistake(
                lambda: prediction_answer() | {"settles": True},
                "The three numbers are right. But does play settle? Look at all of the last "
                "hundred rounds: a wandering strategy may look harmless in any one of them.",
            ),
            Mistake(
                lambda: prediction_answer(at=SHORT + 1),
                "These are the numbers of the round after. Count the uniform first round as "
                "round 1.",
            ),
            Mistake(
                lambda: prediction_answer(at=SHORT - 1),
                "These are the numbers of the round before: is the last round missing from "
                "your average?",
            ),
            Mistake(
                lambda: prediction_answer(at=LONG),
                "These are the numbers after 1,000 rounds, whose digits depend on rounding. "
                "The first three are asked for after 50.",
            ),
            Mistake(
                lambda: prediction_answer() | {"current": prediction_answer()["guess"]},
                "Both averages are right. The third number should belong to the strategies "
                "played in round 50, and not to their average.",
            ),
            Mistake(
                lambda: {"plain": 0, "guess": 0, "current": 0, "settles": True},
                "In the fair game both start at equilibrium, and nothing ever moves. Use the "
                "biased game, in which rock wins three points from scissors.",
            ),
        ),
        tolerance=1e-4,
        points=3,
        takeaway="The average is far better, and the current strategy still wanders. That part "
        "can be checked. Which rules make it settle, and in which games, is open.",
        advice="Keep two arrays, the sum of regrets and the latest ones; match their sum, then "
        "add the new regrets to the first. Both players move at once, from uniform.",
    ),
    Exercise(
        "1.6",
        "Scale and shift",
        "a dictionary with four factors, of the 'regrets', the next 'strategy', the 'average' "
        "and the 'exploitability', and under 'prize' what is added to each regret",
        scale_and_shift,
        (
            Mistake(
                lambda: dict.fromkeys(scale_and_shift(), 10) | {"prize": 0},
                "Strategies are not measured in points. Regret matching divides by the sum of "
                "the regrets, and a factor that all of them share cancels.",
            ),
            Mistake(
                lambda: scale_and_shift() | {"exploitability": 1},
                "Exploitability is what a best response gains, in points, and each point now "
                "counts for more.",
            ),
            Mistake(
                lambda: dict.fromkeys(scale_and_shift(), 1) | {"prize": 0},
                "What is played does not change. But regrets and exploitability are sums and "
                "means of payoffs.",
            ),
            Mistake(
                lambda: scale_and_shift() | {"prize": 5},
                "The factors are right. A regret is the difference of two payoffs. What "
                "happens to a prize that both contain?",
            ),
            Mistake(
                lambda: scale_and_shift() | {"prize": 50},
                "The factors are right. You added the prize up over ten rounds. But is it in a "
                "regret at all? A regret is the difference of two payoffs.",
            ),
            Mistake(
                lambda: scale_and_shift() | {"regrets": 1},
                "A regret is a difference of payoffs, so it is measured in points, and each "
                "point now counts for more.",
            ),
            Mistake(
                lambda: scale_and_shift() | {"strategy": 10},
                "The next strategy is made of probabilities. Regret matching divides the "
                "regrets by their sum, and a factor that all of them share cancels.",
            ),
            Mistake(
                lambda: scale_and_shift() | {"average": 10},
                "An average of strategies is itself a strategy: its probabilities add up to 1, "
                "with or without the factor.",
            ),
            Mistake(
                lambda: scale_and_shift() | {"exploitability": 100},
                "The factor counts once: a best response gains a payoff, not a product of two.",
            ),
        ),
        takeaway="Units and prizes do not change what is played, so a program may choose them.",
        advice="What is measured in points, and what is a probability? Multiply the table of "
        "payoffs and run the same rounds again.",
    ),
    Exercise(
        "1.7",
        "Where does the proof break?",
        "the number of the first step that does not follow",
        broken_step,
        (
            Mistake(
                lambda: "step 1",
                "Regrets grow like the square root of the rounds at most, as this page shows, "
                "so this step is sound.",
            ),
            Mistake(
                lambda: "step 2",
                "The strategy is a quotient, and the divisor is not zero where a regret is "
                "positive: a small change of the regrets changes it little.",
            ),
            Mistake(
                lambda: "step 4",
                "This step is a theorem about any sequence that converges: its averages "
                "converge to the same limit. Does the sequence here?",
            ),
            Mistake(
                lambda: "step 5",
                "The conclusion is false. But it does follow from the two steps before it, so "
                "one of the earlier ones has to be wrong.",
            ),
        ),
        words={f"step {n}": () for n in range(1, 6)},
        takeaway="Strategies depend on the proportions of the regrets, and these may keep "
        "changing while every regret per round vanishes.",
        advice="Compare each step with the chapter's figures.",
    ),
)
