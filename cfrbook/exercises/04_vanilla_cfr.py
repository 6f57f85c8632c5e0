"""Exercises of chapter 4: counterfactual regret, its weights, a misplaced regret matching."""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from functools import cache, partial
from itertools import combinations
from math import inf
from random import SystemRandom
from typing import Any

from cfrbook.exercises.grading import (
    Unreadable,
    as_truth,
    entries,
    pair_values,
    require_complete,
    require_function,
    shortened,
)
from cfrbook.exercises.shared import average, in_both_orders, solver
from cfrbook.exercises.sheet import read
from cfrbook.exercises.written import averages, learner, planted
from cfrbook.museum import find, mutant
from cfrlib import games
from cfrlib.cfr import CFR
from cfrlib.evaluate import exploitability, solve_lp
from cfrlib.game import Game
from cfrlib.plain import Family, Vanilla
from cfrlib.regret import Variant
from cfrlib.strategy import Strategy

Program = Callable[[Game, int], Any]  # returns the average strategy

ROUNDS = 100  # for solvers in plain Python: well below a second
friend = partial(solver, Vanilla)


BETS = {"J": 2 / 3, "K": 1}  # how often player 1 bets each card, in exercise 4.1
CALLS, CHECKS = 1 / 4, 1 / 2  # how often player 0 calls with the queen, and checks it first


def at_the_queen(
    scale: float = 1,
    bets: Any = BETS,
    calls: float = CALLS,
    won: float = 2,
    fold_costs: float = 1,
) -> Any:
    """Return values and regrets at the queen's check-bet.

    Parameters
    ----------
    scale : float
        Factor of both weights, 1 for counterfactual values.
    bets : mapping from str to float
        How often player 1 bets each card.
    calls : float
        How often player 0 calls.
    won, fold_costs : float
        Chips that a call wins or loses, and that a fold loses.
    """
    jack, king = (scale * bets[card] / 6 for card in "JK")
    values = {"fold": -fold_costs * (jack + king), "call": won * (jack - king)}
    mean = (1 - calls) * values["fold"] + calls * values["call"]
    return {"values": values, "regrets": {a: v - mean for a, v in values.items()}}


def with_regrets(regrets: Any) -> Any:
    """Return the right values, and other regrets."""
    return {"values": at_the_queen()["values"], "regrets": regrets}


REGRETS, PLANS = "self.R[I, a] += others * (u[a] - mean)", "self.S[I, a] += own * p"  # lines


@cache
def exploitability_with_weights(regret: str, plan: str, iterations: int = 1_000) -> float:
    """Return the exploitability in Kuhn poker with other weights, such as ``"own"``."""
    lines = {REGRETS: f"self.R[I, a] += {regret} * (u[a] - mean)"}
    lines[PLANS] = f"self.S[I, a] += {plan} * p"
    game = games.KuhnPoker()
    return exploitability(game, mutant(Vanilla, lines)(game).run(iterations))


def swapped_reaches(**changes: object) -> dict[str, Any]:
    """Return the answer to exercise 4.3, optionally with changes."""
    right = {
        "line 6": exploitability_with_weights("own", "own"),
        "line 7": exploitability_with_weights("others", "others"),
        "hides": "line 7",
    }
    return right | changes


def average_strategies(solve: Any) -> dict[str, dict[str, float]]:
    """Return a solver's betting and calling probabilities for both orders of the deals."""
    infosets = ("J", "K", "Q check-bet", "Q bet")
    found = in_both_orders(solve, ROUNDS)
    return {name: {I: average(sums, I)[1] for I in infosets} for name, sums in found.items()}


def four_cards(bluff: str = "T") -> dict[str, Any]:
    """Return the value of Kuhn poker with four cards, and the bluffing card of an answer."""
    return {"value": solve_lp(games.KuhnPoker(cards=4)).value, "bluff": bluff}


def alpha(
    update: str = "alternating", at: str = "J", variant: str = "cfr", iterations: int = 100_000
) -> float:
    """Return the average probability of the second action at an infoset, by default α."""
    run = CFR(games.KuhnPoker(), variant, update=update).run(iterations)
    return list(run.average[at].values())[1]


# ---- 4.5 and 4.6 -----------------------------------------------------------------------------

# letter of a row of the table -> what is wrong, and the bug of the museum
ROWS = {
    "A": ("right", ""),
    "B": ("no weight", "no reach"),
    "C": ("own reach", "own reach for the others'"),
    "D": ("sign", "sign lost"),
    "E": ("early", "strategy read too early"),
    "F": ("average", "average by the others' reach"),
    "G": ("last", ""),
}


def run_row(letter: str, game: Game, iterations: int) -> Any:
    """Return the strategy that the program of a row ends with."""
    bug = ROWS[letter][1]
    run = Vanilla(game) if not bug else find(bug).wrong(game)
    average = run.run(iterations)
    return run.sigma if letter == "G" else average


@cache
def curve(letter: str) -> tuple[float, ...]:
    """Return the exploitability after 10, 100 and 1,000 iterations of Kuhn poker."""
    game = games.KuhnPoker()
    return tuple(exploitability(game, run_row(letter, game, T)) for T in (10, 100, 1_000))


def diagnosis(**changes: str) -> dict[str, str]:
    """Return the letters of exercise 4.5, read off the curves, optionally with changes."""
    curves = {letter: curve(letter) for letter in ROWS}
    close = [
        a + b
        for a, b in combinations(ROWS, 2)
        if all(abs(x - y) < 5e-5 for x, y in zip(curves[a], curves[b], strict=True))
    ]
    letters = {word: letter for letter, (word, _) in ROWS.items() if letter not in close[0]}
    best = min(curves, key=lambda letter: curves[letter][-1])
    return letters | {"alike": close[0], "better": best} | changes


def letters_of(answer: Any) -> dict[object, str]:
    """Return the letters of an answer; those that are alike may come as a list or a set."""
    found = {}
    for key, value, _ in pair_values(answer, diagnosis()):
        several = isinstance(value, list | tuple | Set)
        text = " ".join(map(str, entries(value))) if several else str(value)
        letters = re.findall(r"\b[A-G]{1,2}\b", text.upper())
        found[key] = "".join(sorted("".join(letters)))
        if not found[key]:
            raise Unreadable(f"{shortened(value)} under {key!r} is not a letter from A to G")
    return found


def from_rows(letter: str) -> Program:
    """Return the program of a row of exercise 4.5."""
    return lambda game, iterations: run_row(letter, game, iterations)


def floored(game: Game, iterations: int) -> Any:
    """Run vanilla CFR whose negative regrets are forgotten."""
    return (
        CFR(game, Variant("floored", inf, -inf, 0), update="simultaneous")
        .run(iterations, progress=False)
        .average
    )


def packaged(game: Game, iterations: int) -> Any:
    """Run the package's vanilla CFR, a right program that adds in another order."""
    return CFR(game, update="simultaneous").run(iterations, progress=False).average


def programs() -> list[tuple[str, Program]]:
    """Return the programs that a test of exercise 4.6 gets, some of them twice, shuffled."""
    every = [(word, from_rows(letter)) for letter, (word, _) in ROWS.items()]
    every += [("floor", floored), ("right", packaged)]
    rng = SystemRandom()  # a seed that no answer can set
    every += [every[0], *rng.sample(every, rng.randrange(1, 3))]
    return rng.sample(every, len(every))


def passed(test: Any) -> dict[str, object]:
    """Return which programs pass a reader's test: the right ones if they always do.

    Each program is tested in two rounds: a test that counts its calls guesses one order of them
    about once in 200 times, two hardly ever.
    """
    require_function(test)
    found: dict[str, list[bool]] = {}
    for word, program in [*programs(), *programs()]:
        verdict = test(program)
        require_complete(verdict)
        found.setdefault(word, []).append(as_truth(verdict))
    return {word: (all if word == "right" else any)(found[word]) for word in sorted(found)}


def compares(program: Program) -> bool:
    """Return whether five iterations agree with those of the package: a right test."""
    game = games.KuhnPoker()
    wanted = CFR(game, update="simultaneous").run(5).average
    return Strategy(game, program(game, 5)).max_difference(wanted) < 1e-9


def compares_first(program: Program) -> bool:
    """Return whether one iteration agrees with that of the package: too weak a test."""
    game = games.KuhnPoker()
    wanted = CFR(game, update="simultaneous").run(1).average
    return Strategy(game, program(game, 1)).max_difference(wanted) < 1e-9


def falls(program: Program) -> bool:
    """Return whether the exploitability gets below 0.02: too weak a test."""
    game = games.KuhnPoker()
    return exploitability(game, program(game, 1_000)) < 0.02


def is_near(program: Program) -> bool:
    """Return whether the exploitability is about that of a right program: too weak a test."""
    gap = exploitability(games.KuhnPoker(), program(games.KuhnPoker(), 100))
    return abs(gap / curve("A")[1] - 1) < 0.1


EXERCISES = read(__file__, globals())
