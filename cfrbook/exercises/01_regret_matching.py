"""Exercises of chapter 1: regrets of a round, a best response, equilibria, a wrong learner."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from cfrbook.exercises.grading import (
    Mistaken,
    as_list,
    as_number,
    chosen,
    pair_values,
    require_complete,
    require_function,
)
from cfrbook.exercises.sheet import read
from cfrbook.museum import mutant
from cfrlib.games import RockPaperScissors
from cfrlib.regret import regret_matching

NAMES = ("rock", "paper", "scissors")
ROCK, PAPER, SCISSORS = range(3)
ACTIONS = {name: (str(n),) for n, name in enumerate(NAMES)}  # a number, as on the page
PAYOFF = RockPaperScissors().row_payoffs

# opponents with a clear best response after ROUNDS rounds
FRIENDS = {"(0.5, 0.3, 0.2)": (0.5, 0.3, 0.2), "(0.5, 0.1, 0.4)": (0.5, 0.1, 0.4)}
ROUNDS = 2_000
MIXED, BALANCED = (0.5, 0.5, 0.0), (0.2, 0.6, 0.2)  # of exercise 1.3
# of exercise 1.5: an early round, rounds played, rounds to settle, and the threshold
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
    return given if chosen(given["best"], ACTIONS) == right["best"] else given | {"earns": 0}


def equilibrium(n: float) -> dict[str, float]:
    """Return the equilibrium strategy if rock wins n points against scissors."""
    return {"rock": 1 / (n + 2), "paper": n / (n + 2), "scissors": 1 / (n + 2)}


def values_at_some_n(formula: Any) -> dict[str, dict[str, float]]:
    """Return the values of a reader's function for some n."""
    require_function(formula)
    found = {}
    for n in (1, 2, 3, 10):
        answer = formula(n)
        require_complete(answer)
        if isinstance(answer, Mapping) and "player 0" in answer:
            answer = answer["player 0"]  # of a whole solution
        if not isinstance(answer, Mapping):
            answer = dict(zip(NAMES, as_list(answer, 3), strict=True))
        found[f"n = {n}"] = answer
    return found


def learn(payoff: Any, opponent: Any, rounds: int, seed: int) -> Any:
    """Return the average strategy of the program of exercise 1.7, without the bug."""
    rng = np.random.default_rng(seed)
    regret, total = np.zeros(3), np.zeros(3)
    for _ in range(rounds):
        weight = np.maximum(regret, 0)
        uniform = np.full(3, 1 / 3)
        strategy = weight / weight.sum() if weight.sum() > 0 else uniform
        mine, theirs = rng.choice(3, p=strategy), rng.choice(3, p=opponent)
        regret += payoff[:, theirs] - payoff[mine, theirs]
        total += strategy
    return total / rounds


WEIGHT = "weight = np.maximum(regret, 0)"  # a line of it


def averages(learn: Any) -> dict[str, list[float]]:
    """Return a reader's average strategies against two opponents.

    A program that returns the same after two rounds for every seed has looked at neither of
    them: it computes a best response from the probabilities, which no player sees. One that
    leaves an action out after two rounds has left out the first of them. And after one round
    nobody has three positive regrets, so the second strategy is uniform or has a zero.
    """
    require_function(learn)

    def average(opponent: Any, rounds: int, seed: int) -> list[float]:
        answer = learn(PAYOFF.copy(), np.array(opponent), rounds, seed)
        require_complete(answer)
        return [as_number(p) for p in as_list(answer, 3)]

    friend = next(iter(FRIENDS.values()))
    two = np.array([average(friend, 2, seed) for seed in range(20)])
    if np.ptp(two, axis=0).max() < 1e-9:
        raise Mistaken("Yours returns the same whatever is played: learn from the actions.")
    if np.allclose(two.sum(axis=1), 2):
        raise Mistaken("Yours returns a sum. Divide it by the number of rounds.")
    if two.min() < 1e-9:
        raise Mistaken(
            "After two rounds yours leaves out an action. But the first round is uniform play, "
            "and counts half: average the strategies of all rounds. That of the last round, "
            "or the regrets made into one, is no average."
        )
    # probabilities 1, 1/2 and 1/3 only: then 72 times a mean of twelve is whole
    early = 72 * np.array([average(friend, 12, seed) for seed in range(20)])
    if np.abs(early - early.round()).max() < 1e-6:
        raise Mistaken(
            "All actions that yours plays in a round have the same probability: share in "
            "proportion to the positive regrets."
        )
    second = 2 * two - 1 / 3
    if (second.min(axis=1) * np.ptp(second, axis=1)).max() > 1e-6:
        raise Mistaken(
            "Yours plays every action in the second round, some more often than others. But an "
            "action whose regret is not positive should get nothing."
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
def exploitability_by_round() -> tuple[list[float], list[float]]:
    """Return the exploitability of the average and the current profile after each round.

    Both players of the biased game use expected instead of sampled regrets.
    """
    u = RockPaperScissors(3).row_payoffs

    def profile_exploitability(x: Any, y: Any) -> float:
        return float((u @ y).max() - (x @ u).min()) / 2

    average, current = [], []
    regret, total = np.zeros((2, 2, 3))
    for t in range(1, LONG + 1):
        x, y = map(regret_matching, regret)
        regret = regret + np.array([u @ y - x @ u @ y, x @ u @ y - x @ u])
        total = total + np.array([x, y])
        average.append(profile_exploitability(*(total / t)))
        current.append(profile_exploitability(x, y))
    return average, current


def gains() -> list[float]:
    """Return what each player of exercise 1.3 gains by a best response."""
    u, x, y = RockPaperScissors(3).row_payoffs, np.array(MIXED), np.array(BALANCED)
    earned = x @ u @ y
    return [float((u @ y).max() - earned), float(earned - (x @ u).min())]


def safety(pair: Any = None, **changes: float) -> dict[str, float]:
    """Return the answer to exercise 1.3, optionally with other gains or changes."""
    first, second = pair or gains()
    right = {"player 0": first, "player 1": second, "exploitability": (first + second) / 2}
    return right | changes


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
    """Return the first step of the proof in exercise 1.5 whose claim fails when it is run.

    The regrets of self-play become small, as step 1 says. Regret matching is continuous, as
    step 2 says. If the strategies converged, they would settle.
    """
    average, current = exploitability_by_round()
    here, near = (regret_matching(np.array([3.0, 1 + gap, -2])) for gap in (0, 1e-6))
    holds = {
        "step 1": average[-1]
        < average[SHORT] / 2,  # no more than the regrets of both, per round
        "step 2": abs(here - near).max() < 1e-5,
        "step 3": max(current[-LAST:]) <= SETTLED,
    }
    return next(step for step, claim in holds.items() if not claim)


# ---- 1.8 -------------------------------------------------------------------------------------

SEEN = (0, 2, 1, 1, 0, 2, 2, 1, 0, 0)  # actions of the other player
TABLES: dict[str, list[list[float]]] = {
    "rock, paper, scissors": [[0, -1, 3], [1, 0, -1], [-3, 1, 0]],
    "four against three": [[2, -1.3, 0.4], [0, 1.7, -1], [-1, 0.2, 2.3], [0.7, 0.6, 0]],
}


def matching(payoff: Any, theirs: Any) -> Any:
    """Return the average strategy of regret matching against actions, all of them given."""
    n = len(payoff)
    regret, total = [0.0] * n, [0.0] * n
    for b in theirs:
        weight = [max(x, 0) for x in regret]
        if sum(weight) == 0:
            weight = [1] * n
        strategy = [x / sum(weight) for x in weight]
        earned = sum(strategy[a] * payoff[a][b] for a in range(n))
        for a in range(n):
            regret[a] += payoff[a][b] - earned
            total[a] += strategy[a]
    return [x / len(theirs) for x in total]


def matched(program: Any) -> dict[str, Any]:
    """Return a reader's average strategies for both tables of payoffs."""
    require_function(program)
    return {
        name: as_list(program([[*row] for row in payoff], [*SEEN]), len(payoff))
        for name, payoff in TABLES.items()
    }


EXERCISES = read(__file__, globals())
