"""Exercises of chapter 4: counterfactual regret, its weights, a misplaced regret matching."""

from __future__ import annotations

import re
from collections.abc import Callable, Set
from functools import cache
from itertools import combinations
from math import inf
from typing import Any

from cfrlib import games
from cfrlib.bugs import find
from cfrlib.bugs.solvers import Vanilla
from cfrlib.cfr import CFR
from cfrlib.equilibrium import exploitability, solve_lp
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unreadable,
    entries,
    pair_values,
    require_function,
    shortened,
)
from cfrlib.exercises.plain import Solver, Sums, average, in_both_orders
from cfrlib.game import Chance, Game, History, Terminal
from cfrlib.regret import Variant, regret_matching
from cfrlib.strategy import Strategy

Program = Callable[[Game, int], Any]  # returns the average strategy

ROUNDS = 100  # for solvers in plain Python: well below a second


@cache
def solver(
    regret: str = "others", plan: str = "own", match: str = "iteration", keep: str = "all"
) -> Solver:
    """Return a solver for exercise 4.3.

    Parameters
    ----------
    regret, plan : str
        Reach probability that weights regrets and the strategy sum: ``"own"``, ``"others"``
        or ``"none"``.
    match : str
        What regret matching follows: each ``"iteration"``, which is right, each ``"history"``,
        or ``"nothing"``.
    keep : str
        The regrets that are kept: ``"all"``, those of the ``"history"`` or ``"iteration"`` at
        hand, or the ``"positive"`` ones.
    """

    def solve(game: Game, iterations: int) -> Sums:
        R: Sums = {}
        S: Sums = {}
        sigma: Sums = {}
        at = cache(game.node)

        def walk(h: History, pi: tuple[float, ...]) -> float:
            node = at(h)
            if isinstance(node, Terminal):
                return node.utilities[0]
            if isinstance(node, Chance):
                outcomes = node.probabilities.items()
                return sum(f * walk((*h, a), (*pi[:2], f * pi[2])) for a, f in outcomes)
            I, i, sign = node.infoset, node.player, 1 - 2 * node.player
            row = sigma.setdefault(I, [1 / len(node.actions)] * len(node.actions))
            reaches = [(*pi[:i], p * pi[i], *pi[i + 1 :]) for p in row]
            children = zip(node.actions, reaches, strict=True)
            u = [sign * walk((*h, a), reach) for a, reach in children]
            mean = sum(p * x for p, x in zip(row, u, strict=True))
            weight = {"others": pi[1 - i] * pi[2], "own": pi[i], "none": 1.0}
            if keep == "history":
                R.pop(I, None)
            for n, p in enumerate(row):
                R.setdefault(I, [0.0] * len(row))[n] += weight[regret] * (u[n] - mean)
                S.setdefault(I, [0.0] * len(row))[n] += weight[plan] * p
            if match == "history":
                sigma[I] = regret_matching(R[I]).tolist()
            return sign * mean

        for _ in range(iterations):
            if keep == "iteration":
                R.clear()
            walk((), (1, 1, 1))
            if keep == "positive":
                R.update({I: [max(x, 0.0) for x in r] for I, r in R.items()})
            if match == "iteration":
                sigma.update({I: regret_matching(r).tolist() for I, r in R.items()})
        return S

    return solve


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


def difference_of_values() -> Any:
    """Return how much more each action is worth than the other: a mistake."""
    fold, call = at_the_queen()["values"].values()
    return {"fold": fold - call, "call": call - fold}


def regrets_to_the_best() -> Any:
    """Return the same values, and the difference of each to the best."""
    values = at_the_queen()["values"]
    best = max(values.values())
    return with_regrets({a: best - v for a, v in values.items()})


@cache
def exploitability_with_weights(regret: str, plan: str, iterations: int = 1_000) -> float:
    """Return the exploitability in Kuhn poker with other weights."""
    game = games.KuhnPoker()
    sums = solver(regret, plan)(game, iterations)
    rows = Strategy.uniform(game).items()
    return exploitability(
        game,
        {
            I: {a: x / sum(sums[I]) for a, x in zip(row, sums[I], strict=True)}
            for I, row in rows
        },
    )


def swapped_reaches(**changes: object) -> dict[str, Any]:
    """Return the answer to exercise 4.2, optionally with changes."""
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


def current_alpha() -> float:
    """Return the jack's current probability of an opening bet after 100,000 iterations."""
    run = CFR(games.KuhnPoker(), update="alternating").run(100_000)
    return run.current["J"]["bet"]


# ---- 4.6 and 4.7 -----------------------------------------------------------------------------

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
    """Return the letters of exercise 4.6, read off the curves, optionally with changes."""
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
        found[key] = "".join(sorted(re.findall(r"\b[A-Ga-g]{1,2}\b", text))).upper()
        if not found[key]:
            raise Unreadable(f"{shortened(value)} under {key!r} is not a letter from A to G")
    return found


def from_rows(letter: str) -> Program:
    """Return the program of a row of exercise 4.6."""
    return lambda game, iterations: run_row(letter, game, iterations)


def floored(game: Game, iterations: int) -> Any:
    """Run vanilla CFR whose negative regrets are forgotten."""
    return (
        CFR(game, Variant("floored", inf, -inf, 0), update="simultaneous")
        .run(iterations, progress=False)
        .average
    )


def programs() -> dict[str, Program]:
    """Return the programs that a test of exercise 4.7 is given."""
    return {word: from_rows(letter) for letter, (word, _) in ROWS.items()} | {"floor": floored}


def passed(test: Any) -> dict[str, object]:
    """Return which programs pass a reader's test."""
    require_function(test)
    return {word: test(program) for word, program in programs().items()}


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


EXERCISES = (
    Exercise(
        "4.1",
        "By hand",
        "a dictionary with 'values' and 'regrets', each a dictionary with 'fold' and 'call'",
        at_the_queen,
        (
            Mistake(
                lambda: at_the_queen(6 / sum(BETS.values())),
                "You took the mean over the two hidden cards. That is what the queen expects "
                "once she is here; a counterfactual value also counts how likely the deal and "
                "the other player's bet make each history.",
            ),
            Mistake(
                lambda: at_the_queen(bets={"J": 1, "K": 1}),
                "You counted the deal and left out how often player 1 bets each card: the "
                "weight is everyone's reach but your own.",
            ),
            Mistake(
                lambda: at_the_queen(CHECKS),
                "You multiplied by your own reach as well, your check at the start. Left out, "
                "it makes the value counterfactual: as if you had played to get here.",
            ),
            Mistake(
                lambda: at_the_queen() | {"regrets": at_the_queen()["values"]},
                "The values are right. A regret is what an action is worth *more* than your "
                "present mix of both.",
            ),
            Mistake(
                lambda: at_the_queen(calls=1 / 2),
                "The values are right. Their mean is weighted by your own strategy, and you "
                "do not fold as often as you call.",
            ),
            Mistake(
                regrets_to_the_best,
                "The values are right. The difference to the *best* action is not added up "
                "here: a regret compares an action with your present mix of both.",
            ),
            Mistake(
                lambda: with_regrets({a: -x for a, x in at_the_queen()["regrets"].items()}),
                "The values are right. The regrets have the wrong sign: what the action is "
                "worth, minus what your present mix is worth.",
            ),
            Mistake(
                lambda: at_the_queen(-1),
                "This is what player 1 gets. You decide here, so count what *you* get.",
            ),
            Mistake(
                lambda: at_the_queen(bets={"J": 1, "K": 2 / 3}),
                "You have the two cards the wrong way round: every king is bet, and two jacks "
                "in three.",
            ),
            Mistake(
                lambda: at_the_queen(won=1),
                "A call wins or loses two chips, the ante and the bet. You counted one.",
            ),
            Mistake(
                lambda: at_the_queen(calls=1 - CALLS),
                "The values are right. You weighted them the wrong way round: of four bets you "
                "call one, and fold to three.",
            ),
            Mistake(
                lambda: at_the_queen(6),
                "Player 1's bets are counted, but not the deal: chance is one of the others.",
            ),
            Mistake(
                lambda: at_the_queen(2),
                "You weighted each deal by the probability of one card. A deal gives out two.",
            ),
            Mistake(
                lambda: with_regrets(difference_of_values()),
                "The values are right. You compared each action with the other one. A regret "
                "compares it with your present mix of both.",
            ),
            Mistake(
                lambda: with_regrets(
                    {
                        a: p * at_the_queen()["regrets"][a]
                        for a, p in (("fold", 1 - CALLS), ("call", CALLS))
                    }
                ),
                "The values are right. You multiplied each regret by the probability of its "
                "action. That probability counts in the mean, and only there.",
            ),
            Mistake(
                lambda: with_regrets(
                    {a: max(x, 0) for a, x in at_the_queen()["regrets"].items()}
                ),
                "The values are right. You set a negative regret to 0. CFR stores it as it is; "
                "only matching looks at the positive part.",
            ),
            Mistake(
                lambda: at_the_queen(fold_costs=0),
                "A fold is not free: it loses the ante, one chip, in both deals.",
            ),
        ),
        tolerance=1e-4,
        points=2,
        takeaway="The deals are weighted by chance and the other player; your own check does "
        "not count.",
        advice="Two deals, a payoff for each, and one weight: chance times player 1's bet.",
    ),
    Exercise(
        "4.2",
        "Which reach?",
        "a dictionary with the exploitability after 1,000 iterations, 'line 6' and 'line 7' "
        "swapped, and under 'hides' the line whose mistake does not show",
        swapped_reaches,
        (
            Mistake(
                lambda: {
                    "line 6": exploitability_with_weights("own", "others"),
                    "line 7": exploitability_with_weights("own", "others"),
                    "hides": "line 7",
                },
                "That is both at once. Swap one, measure, put it back, swap the other.",
            ),
            Mistake(
                lambda: {
                    "line 6": exploitability_with_weights("others", "others"),
                    "line 7": exploitability_with_weights("own", "own"),
                    "hides": "line 6",
                },
                "You have them the wrong way round: line 6 adds to R, line 7 to S.",
            ),
            Mistake(
                lambda: {
                    line: x if line == "hides" else 2 * x
                    for line, x in swapped_reaches().items()
                },
                "This is NashConv, the sum of what both players could gain; exploitability is "
                "their mean.",
            ),
            Mistake(
                lambda: swapped_reaches(hides="line 6"),
                "The numbers are right. A mistake hides if the exploitability falls nearly as "
                "far as without it. Which of your two numbers is close to that of the right "
                "program?",
            ),
            Mistake(
                lambda: swapped_reaches(
                    **{"line 7": exploitability_with_weights("others", "own")}
                ),
                "For line 7 you measured the right program. Was the word replaced, and did you "
                "give the new function to `solve`?",
            ),
            Mistake(
                lambda: swapped_reaches(
                    **{"line 6": exploitability_with_weights("others", "own")}
                ),
                "For line 6 you measured the right program. Was the word replaced, and did you "
                "give the new function to `solve`?",
            ),
            Mistake(
                lambda: swapped_reaches(
                    **{
                        "line 6": exploitability_with_weights("own", "own", 100),
                        "line 7": exploitability_with_weights("others", "others", 100),
                    }
                ),
                "These are the numbers after 100 iterations; a thousand are asked for.",
            ),
        ),
        points=2,
        words={"line 6": (), "line 7": ()},
        takeaway="A mistake in the regrets shows; one in the average can hide on Kuhn poker.",
        advice="The page's `source.replace(...)`, `exec` and `solve(1_000, ...)` do it.",
    ),
    Exercise(
        "4.3",
        "Find the planted bug",
        "a function of a game and a number of iterations that returns S, as `friend` does",
        lambda: solver(),
        (
            Mistake(
                lambda: solver(match="history"),
                "The order of the deals still changes the result.",
            ),
            Mistake(
                lambda: solver(regret="own"),
                "The order of the deals does not matter any more, but now regrets are "
                "weighted by the player's own reach; that line was right.",
            ),
            Mistake(
                lambda: solver(plan="others"),
                "The order of the deals does not matter any more, but now the average is "
                "weighted by the others' reach; that line was right.",
            ),
            Mistake(
                lambda: solver(match="nothing"),
                "The order of the deals does not matter any more, but now nothing is ever "
                "learned: the strategy stays uniform. Regrets have to be matched once in each "
                "iteration.",
            ),
            Mistake(
                lambda: solver(plan="none"),
                "The order of the deals does not matter any more, but now the average has no "
                "weight. The player's own reach belongs there; that line was right.",
            ),
            Mistake(
                lambda: solver(keep="history"),
                "Regrets are overwritten now: only the last history of an infoset counts. They "
                "have to be added up.",
            ),
            Mistake(
                lambda: solver(keep="iteration"),
                "Regrets are forgotten after each iteration. They have to be added up over all "
                "of them.",
            ),
            Mistake(
                lambda: solver(keep="positive"),
                "You floor the stored regrets at 0. That is RM+; vanilla CFR keeps negative "
                "regrets.",
            ),
        ),
        see=average_strategies,
        points=3,
        takeaway="All histories of an iteration are played by one and the same strategy.",
        advice="It runs, and it still is not vanilla CFR with simultaneous updates.",
    ),
    Exercise(
        "4.4",
        "Four cards",
        "a dictionary with 'value' and under 'bluff' the card (T, J, Q or K) that opens with a "
        "bluff",
        four_cards,
        (
            Mistake(
                lambda: four_cards("J"),
                "With three cards it was the jack, because it was the lowest. Print the "
                "probability of a bet for each of the four.",
            ),
            Mistake(
                lambda: four_cards("K"),
                "The king bets for value: it wants to be called. A bluff hopes for a fold.",
            ),
            Mistake(
                lambda: {"value": solve_lp(games.KuhnPoker()).value, "bluff": "T"},
                "This is the value of the game with three cards.",
            ),
            Mistake(
                lambda: four_cards("Q"),
                "The queen opens with a check: better hands would call, and worse ones fold. A "
                "bluff is a bet with a card that loses if it is called.",
            ),
            Mistake(
                lambda: {"value": -four_cards()["value"], "bluff": "T"},
                "The card is right. The value has the wrong sign: it is what player 0 earns.",
            ),
            Mistake(
                lambda: {"value": four_cards()["value"] / 2, "bluff": "T"},
                "The card is right. You divided the value by two. It is what player 0 earns in "
                "a hand.",
            ),
            Mistake(
                lambda: {"value": 0, "bluff": "T"},
                "The card is right. The game is zero-sum, but the two players do not have the "
                "same part in it, so its value need not be 0.",
            ),
        ),
        words={"T": ("10", "ten"), "J": ("jack",), "Q": ("queen",), "K": ("king",)},
        takeaway="The lowest card bluffs: it has nothing to win by being called.",
        advice="`cfr.solve_lp(cfr.games.KuhnPoker(cards=4))` has the value.",
    ),
    Exercise(
        "4.5",
        "Open: does the path choose α?",
        "α of the average after 100,000 iterations with alternating updates",
        alpha,
        (
            Mistake(
                lambda: alpha("simultaneous"),
                "That is α of simultaneous updates. Alternating ones end elsewhere.",
            ),
            Mistake(
                current_alpha,
                "That is what the jack does in the next iteration. The current strategy jumps; "
                "α belongs to the average.",
            ),
            Mistake(
                lambda: alpha(at="K"),
                "That is how often the *king* opens with a bet, three times α. Read α off the "
                "jack.",
            ),
            Mistake(
                lambda: alpha(at="Q check-bet"),
                "That is how often the queen calls, α + 1/3. Read α off the jack's opening.",
            ),
            Mistake(
                lambda: alpha(at="J check"),
                "That is player 1's jack, which bets after a check. α is how often player 0's "
                "jack opens with a bet.",
            ),
            Mistake(
                lambda: 1 - alpha(),
                "That is how often the jack checks. α is how often it bets.",
            ),
            Mistake(
                lambda: alpha(variant="cfr+"),
                "That is α of CFR+. This page asks for vanilla CFR.",
            ),
            Mistake(
                lambda: alpha(iterations=1_000),
                "That is α after a thousand iterations, and it is still moving.",
            ),
        ),
        takeaway="That part can be checked; whether α settles, and where, is open.",
        advice="`cfr.CFR(game, update='alternating').run(100_000).average['J']`.",
    ),
    Exercise(
        "4.6",
        "Which bug?",
        "a dictionary with the letter of the row that is 'right', and of those with the bugs "
        "'sign', 'early', 'average' and 'last'; under 'alike' the two letters that nobody can "
        "tell apart, and under 'better' the letter of the lowest row",
        diagnosis,
        (
            Mistake(
                lambda: diagnosis(right="E", early="A"),
                "The lowest curve is not the right one. The program that reads its strategy "
                "too early changes with the order of the deals, and here it is lucky.",
            ),
            Mistake(
                lambda: diagnosis(average="G", last="F"),
                "A wrong average is still an average, so its exploitability falls. The last "
                "iterate circles and does not settle.",
            ),
            Mistake(
                lambda: diagnosis(sign="G", last="D"),
                "If the sign is lost, player 1 works for player 0, and the curve rises to a "
                "plateau. The last iterate goes up and down.",
            ),
            Mistake(
                lambda: diagnosis(right="F", average="A"),
                "Both fall. Your own program from this chapter tells which one is right: print "
                "its exploitability after 10 iterations.",
            ),
            Mistake(
                lambda: diagnosis(better="A"),
                "The rest is right. *Better* asks for the lowest row, whether or not its "
                "program is right.",
            ),
            Mistake(
                lambda: diagnosis(early="F", average="E"),
                "Both fall. Which of the two bugs makes a curve of Kuhn poker faster than the "
                "right one? Run the chapter's code with one of them.",
            ),
            Mistake(
                lambda: diagnosis(right="E", early="F", average="A"),
                "The three rows that fall are mixed up. The lowest one need not be the right "
                "one: your own program from this chapter gives the numbers of the right row.",
            ),
            Mistake(
                lambda: diagnosis(alike="AE"),
                "These two are close, but not alike. Two of the rows have the same digits "
                "throughout.",
            ),
            Mistake(
                lambda: diagnosis(sign="B", alike="CD"),
                "Two rows have the same digits throughout, and you split them. The lost sign "
                "makes the highest plateau.",
            ),
            Mistake(
                lambda: diagnosis(last="B", alike="CG"),
                "Two rows have the same digits throughout, and you split them. The last "
                "iterate goes up and down.",
            ),
        ),
        see=letters_of,
        points=3,
        takeaway="Exploitability finds some bugs, cannot tell others apart, and looks better "
        "with one of them.",
        advice="Which rows fall, which stop at a plateau, which go up and down? For the rest "
        "run the chapter's code, with one line changed.",
    ),
    Exercise(
        "4.7",
        "Write the test",
        "a function that is given a program and returns True for a right one, False for others",
        lambda: compares,
        (
            Mistake(
                lambda: lambda program: True,
                "Every program passes. A test that cannot fail says nothing.",
            ),
            Mistake(
                lambda: lambda program: False,
                "No program passes, and one of them is right.",
            ),
            Mistake(
                lambda: falls,
                "Exploitability below a threshold also lets wrong programs pass: those whose "
                "curve falls as well.",
            ),
            Mistake(
                lambda: is_near,
                "The wrong average is found. But one number with a tolerance lets a program "
                "pass that comes close to it by luck.",
            ),
            Mistake(
                lambda: compares_first,
                "One iteration is too few: the first average is uniform in most programs. "
                "Compare after several.",
            ),
        ),
        see=passed,
        points=3,
        takeaway="A few iterations, compared digit by digit with a program that you trust, "
        "tell more than a thousand and a threshold.",
        advice="How does `cfr.CFR(game, update='simultaneous').run(5).average` help?",
    ),
)
