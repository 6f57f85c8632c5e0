"""Wrong answers that a check once accepted, or explained by something else."""

from __future__ import annotations

import importlib
from itertools import count
from random import Random

import numpy as np
import pytest
from graded import cached

import cfrlib as cfr
from cfrbook import exercises
from cfrbook.museum import mutant
from cfrlib.plain import Vanilla

hidden_cards = importlib.import_module("cfrbook.exercises.02_games_with_hidden_cards")
monte_carlo = importlib.import_module("cfrbook.exercises.07_monte_carlo_cfr")
regret_matching = importlib.import_module("cfrbook.exercises.01_regret_matching")
vanilla_cfr = importlib.import_module("cfrbook.exercises.04_vanilla_cfr")

KUHN = cfr.games.KuhnPoker()
SCALED = {"regrets": 10, "strategy": 1, "average": 1, "exploitability": 10}


def of(number):
    return exercises.find(number).solution()


def learner(weight):
    """1.7 with another line."""
    return mutant(regret_matching.learn, {regret_matching.WEIGHT: weight})


def last_strategy(payoff, opponent, rounds, seed):
    """1.7, which returns the latest regrets made into a strategy."""
    rng, regret = np.random.default_rng(seed), np.zeros(3)
    for _ in range(rounds):
        mine, theirs = rng.choice(3, p=cfr.regret_matching(regret)), rng.choice(3, p=opponent)
        regret += payoff[:, theirs] - payoff[mine, theirs]
    return cfr.regret_matching(regret)


def summed(payoff, opponent, rounds, seed):
    """1.7, which returns the sum."""
    return rounds * regret_matching.learn(payoff, opponent, rounds, seed)


def loaded(**coin):
    """2.5 with another coin."""
    return hidden_cards.liar({hidden_cards.TOSS: f"return Chance({coin!r})"})


def every(n):
    """4.6: return True for every n-th program."""
    calls = count()
    return lambda program: next(calls) % n == 0


def to_the_last_bit(program):
    """4.6: compare without a tolerance."""
    wanted = cfr.CFR(KUHN, update="simultaneous").run(5).average
    found = program(KUHN, 5)
    return all(list(found[I].values()) == list(wanted[I].values()) for I in wanted)


def by_value(program):
    """4.6: compare the value of the game."""
    value = cfr.expected_utility(KUHN, cfr.Strategy(KUHN, program(KUHN, 100)))[0]
    return bool(abs(value + 1 / 18) < 0.01)


def without_weight():
    """4.4: regrets without a reach."""
    return lambda game, iterations: mutant(
        Vanilla, {vanilla_cfr.REGRETS: "self.R[I, a] += u[a] - mean"}
    )(game).run(iterations)


def open_to_nothing(H):
    """papers.1: any set but one with a gap."""
    ends = H - {h[:-1] for h in H if h}
    return None if any(h and h[:-1] not in H for h in H) else ends


WRONG = [
    ("1.1", lambda: {"regrets": [0, 1, 2], "next": [0, 0.5, 1]}, "under 'next' to 1.5"),
    ("1.1", lambda: {"regrets": [0, 1, 2], "next": "even"}, "uniform only if"),
    ("1.2", lambda: ["rock", 0.2], "a tie costs nothing"),
    ("1.2", lambda: [1, 0.4], "their scissors cut it"),
    ("1.7", lambda: learner("weight = np.exp(regret - regret.max())"), "not positive"),
    ("1.7", lambda: learner("weight = np.maximum(regret, 0) + 0.1"), "not positive"),
    ("1.7", lambda: last_strategy, "first round is uniform play"),
    ("1.7", lambda: summed, "Divide it by the number of rounds"),
    ("1.4", lambda: SCALED | {"prize": 1}, "'prize' is not right; all others are. What"),
    ("1.4", lambda: SCALED | {"prize": [5, 0, 0]}, "[5.0, 0.0, 0.0] is not a number"),
    ("1.5", lambda: "the second", "a quotient"),
    ("2.1", lambda: [109, 60, 32], "'infosets' is not right; all others are. Count"),
    ("2.2", lambda: ["1/6", "1/4", "1/2", "1/24", "1/24"], "counts everybody"),
    ("2.5", lambda: loaded(heads=0.99, tails=0.01), "loaded"),
    ("2.5", lambda: loaded(tails=0, heads=1), "loaded"),
    ("2.4", lambda: [False, 24, True], "histories at which somebody decides"),
    ("2.6", lambda: ["9T", "JQ"], "not a list of three groups"),
    ("2.6", lambda: ["9T", "JQ", "KA"], "T is the ten"),
    ("2.3", lambda: [10, 1023, 243], "off by one"),
    ("2.3", lambda: [10, "1,024", 243], "has a comma: write a decimal point"),
    ("3.1", lambda: ["-1/6", "-1/6", "bet"], "*each* of the two deals"),
    ("3.6", lambda: lambda *given: cfr.best_response(*given).gain, "gains over"),
    ("3.3", lambda: of("3.3") | {"claim": 3}, "largest payoff"),
    ("3.5", lambda: 0, "What is won at the end?"),
    ("4.1", lambda: [["-2/9", "-2/9"], [0, 0]], "the numbers of the page"),
    ("4.3", lambda: [0.1662, 0.0074, "line 7"], "you dropped the reach"),
    ("4.3", lambda: [0.0069, 0.0090, "line 7"], "multiplied by `own` as well"),
    ("4.3", lambda: [0.1662, 0.0073, "line 7"], "measured the right program"),
    ("4.4", without_weight, "or not at all"),
    *[("4.6", lambda n=n: every(n), "Not yet.") for n in range(2, 13)],
    ("4.6", lambda: to_the_last_bit, "allow for rounding"),
    ("4.6", lambda: by_value, "or the value of the game"),
    ("5.2", lambda: of("5.2") + "H", "one of your lines does nothing"),
    ("9.3", lambda: of("9.3") | {"aimed": 0.185}, "One walk in ten is ordinary"),
    ("1.3", lambda: [0.5, 0, 0.25], "the wrong way round"),
    ("12.1", lambda: [0, "1/2", 0], "what was earned in the two rounds"),
    ("16.3", lambda: [-1, 1, 1, "1/2", 1], "once the hand and its opponent are there"),
    ("papers.1", lambda: open_to_nothing, "every game has the history"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "answer", "says"), WRONG, ids=[f"{row[0]}-{n}" for n, row in enumerate(WRONG)]
)
def test_tempting_answer_is_refused_for_what_it_is(number, answer, says, monkeypatch):
    monkeypatch.setattr(vanilla_cfr, "SystemRandom", lambda: Random(20261128))
    feedback = cached(number).check(answer())
    assert not feedback.right and says in feedback.text, feedback


def test_counting_is_no_way_to_pass_4_6(monkeypatch):
    """Of 2,000 orders, a test that passes every fifth program guesses none."""
    orders = Random(4_6)
    monkeypatch.setattr(vanilla_cfr, "SystemRandom", lambda: orders)
    right = {"right": True}
    for _ in range(2_000):
        found = vanilla_cfr.passed(every(5))
        assert {word: found[word] for word in found if found[word]} != right


def test_programs_of_exercise_4_7_come_in_any_order():
    """Some of them twice, and several of them right."""
    words = [[word for word, _ in vanilla_cfr.programs()] for _ in range(20)]
    assert len({tuple(order) for order in words}) > 1
    assert all(order.count("right") >= 3 for order in words)
    assert all(set(order) == set(words[0]) for order in words)


def test_reply_to_a_strategy_of_the_package_is_true():
    """classic.2: nothing is said about whose work it is."""
    answer = of("classic.2")
    solution = cfr.solve_lp(answer["game"])
    alpha = solution.strategy["0 J "]["bet"]
    feedback = exercises.check(
        "classic.2", answer | {"strategy": solution.strategy, "alpha": alpha}
    )
    assert "own work" not in feedback.text and "only you know" in feedback.text
