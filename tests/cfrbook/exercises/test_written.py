"""Exercises that ask for an algorithm: right programs in any style, and bugs called by name."""

from __future__ import annotations

import importlib

import pytest
from graded import cached
from styles import OTHERS, as_objects, as_stream, by_groups, deep, pure, with_stack

import cfrlib as cfr
from cfrbook import exercises
from cfrbook.exercises.written import learner, walker
from cfrbook.museum import BUGS, TwoBets, changed

plus = importlib.import_module("cfrbook.exercises.05_cfr_plus").plus

# exercise -> its solver, form, bugs that change none of its numbers, and how many are named
RUNGS = {
    "4.7": ("Vanilla", learner, set(), 15),
    "5.6": (
        "Family",
        plus,
        {
            "guess without news",
            "unreached infosets skipped",
            "floor where none belongs",
            "both tables discounted",
        },
        13,
    ),
    "7.6": ("External", walker, {"the same sample every time"}, 5),
    "8.7": ("Robust", walker, set(), 3),
}
ALIKE = {"discount per history": "clip per history"}  # in CFR+, line by line the same


@pytest.mark.slow
@pytest.mark.parametrize("number", RUNGS)
def test_every_bug_of_the_museum_is_named(number):
    solver, form, silent, count = RUNGS[number]
    named = 0
    for bug in BUGS:
        if bug.solver == solver:
            feedback = cached(number).check(form(bug.compiled()))
            assert feedback.right == (bug.name in silent), bug.name
            assert feedback.right or f"“{ALIKE.get(bug.name, bug.name)}”" in feedback.text
            named += not feedback.right
    assert named == count


def test_two_bets_hide_no_bug_of_vanilla_cfr():
    game = TwoBets()
    for bug in BUGS:
        if bug.solver == "Vanilla":
            right, wrong = bug.right(game).run(3), bug.wrong(game).run(3)
            assert any(abs(right[I][a] - wrong[I][a]) > 1e-3 for I in right for a in right[I])


BROKEN = [
    (
        "4.7",
        as_objects,
        "others * sign * (x - value[h])",
        "sign * (x - value[h])",
        "“no reach”",
    ),
    ("4.7", as_objects, "weight * reach[h][i]", "weight * others", "by the others' reach”"),
    (
        "4.7",
        as_stream,
        "others * (u[a] - mean), own * p",
        "others * (u[a] - mean), p",
        "without",
    ),
    ("5.6", as_stream, "max(x, 0) for a", "x for a", "“floor left out”"),
    ("5.6", as_stream, "s * (t if plus else 1)", "s", "“clock stands still”"),
    ("7.6", pure, "S = {I: {a: (x - mean) / q", "S = {I: {a: (x - mean) * row[a]", ""),
    (
        "8.7",
        pure,
        "{a: (x - mean) / q for",
        "{a: x - mean for",
        "“head not divided, k actions”",
    ),
    ("8.7", with_stack, "[p / q for p", "[p for p", "“average not divided”"),
    ("3.7", by_groups, "total += max(", "total += min(", "worst action"),
    ("10.6", deep, "rows[i] += [(t, I, row)", "rows[i] += [(1, I, row)", "the weight t"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("number", "program", "old", "new", "says"), BROKEN)
def test_bug_is_named_in_another_style(number, program, old, new, says):
    broken = changed(program, {old: new})
    if number == "5.6":
        feedback = cached(number).check(lambda game, n: broken(game, n, plus=True))
    elif number == "7.6":
        feedback = cached(number).check(lambda *given: broken(*given))
    else:
        feedback = cached(number).check(broken)
    assert feedback.verdict == "wrong" and says in feedback.text, feedback


@pytest.mark.parametrize(
    ("number", "program", "says"), [(n, *row) for n, rows in OTHERS.items() for row in rows]
)
def test_another_right_program_is_told_what_it_does(number, program, says):
    feedback = exercises.check(number, program)
    assert feedback.right and says in feedback.text, feedback


def endless(game, iterations):
    return endless(game, iterations)


def stumbles(game, iterations):
    table = {}
    return table["K"]


def unfinished(game, iterations):
    return {"K": 1 + ...}


@pytest.mark.parametrize(
    ("number", "program", "says"),
    [
        (
            "4.7",
            stumbles,
            f"""in line {stumbles.__code__.co_firstlineno + 2}: `return table["K"]`""",
        ),
        ("4.7", endless, "RecursionError"),
        ("4.7", unfinished, f"line {unfinished.__code__.co_firstlineno + 1} still has a `...`"),
        ("4.7", lambda game, iterations: None, "None where a table belongs"),
        ("4.7", lambda game, iterations: {"K": [1, 0]}, "no row for the infoset"),
        (
            "4.7",
            lambda game, n: {
                I: [2.0] * len(row) for I, row in cfr.Strategy.uniform(game).items()
            },
            "your strategy adds up to 4",
        ),
        ("7.6", lambda game, i, sigma, choose: ({}, {}), "never calls `choose`"),
        ("1.8", lambda payoff, theirs: [1.0], "has 1 values and should have 3"),
    ],
)
def test_trouble_is_told_in_a_sentence(number, program, says):
    feedback = exercises.check(number, program)
    assert not feedback.right and says in feedback.text, feedback
