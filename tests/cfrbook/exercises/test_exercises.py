"""Automatic feedback: accepted forms of answers, recognized mistakes, and no solutions.

Every exercise is checked with its solution, with each of its mistakes, and unanswered.
"""

import importlib
import json
import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from graded import ALL, cached, name

import cfrlib as cfr
from cfrbook import exercises
from cfrbook.exercises.grading import (
    Exercise,
    Mistake,
    as_number,
    chosen,
    differences,
    identity,
    is_number,
    parts,
    plain,
)
from cfrbook.museum import mutant

cfr_plus = importlib.import_module("cfrbook.exercises.05_cfr_plus")
hidden_cards = importlib.import_module("cfrbook.exercises.02_games_with_hidden_cards")
regret_matching = importlib.import_module("cfrbook.exercises.01_regret_matching")
vanilla_cfr = importlib.import_module("cfrbook.exercises.04_vanilla_cfr")
last_digit = importlib.import_module("cfrbook.exercises.03_equilibrium").last_digit

BOOK = Path(__file__).parents[3] / "book"
MISTAKES = [(e, m) for e in ALL for m in e.mistakes]
PRECISE = re.compile(r"[-−]?\d+/\d+|\d*\.\d{2,}")


@pytest.fixture(params=ALL, ids=name)
def exercise(request):
    return request.param


# ---- every exercise of the book --------------------------------------------------------------


def test_book_and_package_have_the_same_exercises():
    titles = {}
    for page in sorted(BOOK.glob("*.ipynb")):
        for cell in json.loads(page.read_text("utf-8"))["cells"]:
            text = "".join(cell["source"])
            for title, label in re.findall(
                r"\{exercise\} (.+)\n:label: ex-([\w-]+)", text, re.MULTILINE
            ):
                titles[".".join(p.lstrip("0") for p in label.split("-"))] = title
    assert {e.number: e.title for e in ALL} == titles


@pytest.mark.slow
def test_solution_is_right(exercise):
    feedback = cached(exercise.number).check(exercise.solution())
    assert feedback.right and feedback, feedback


def test_unanswered_exercise_is_open(exercise):
    feedback = exercise.check(...)
    assert feedback.verdict == "open" and not feedback


@pytest.mark.slow
@pytest.mark.parametrize(("exercise", "mistake"), MISTAKES, ids=name)
def test_mistake_gets_its_own_feedback(exercise, mistake):
    feedback = cached(exercise.number).check(mistake.answer())
    assert feedback.verdict == "wrong"
    assert " ".join(mistake.says.split()) in feedback.text


def test_exercise_has_mistakes_takeaway_and_points(exercise):
    assert exercise.mistakes and exercise.takeaway and exercise.points >= 1


@pytest.mark.parametrize("page", exercises.pages().values())
def test_exercises_of_a_page_go_from_easy_to_hard(page):
    """Points never fall, and open problems come last."""
    found = exercises.on_page(page)
    order = [(e.title.startswith("Open"), e.points) for e in found]
    assert order == sorted(order)
    assert [e.number.partition(".")[2] for e in found] == [
        str(n) for n in range(1, len(found) + 1)
    ]


@pytest.mark.slow
def test_feedback_does_not_reveal_the_solution(exercise):
    """No precise number of the solution occurs in the feedback to other answers."""
    feedback = [exercise.asks, exercise.advice, *(m.says for m in exercise.mistakes)]
    feedback.append(repr(exercise))
    exercise = cached(exercise.number)
    right = plain(exercise.see(exercise.solution()))
    secret = {abs(x) for _, x, _ in parts(right, right) if is_number(x) and abs(x) > 1e-6}
    shown = {
        abs(as_number(text)) for sentence in feedback for text in PRECISE.findall(sentence)
    }
    assert not [t for t in shown for s in secret if abs(t - s) <= 1e-3 and t not in (0, 0.5, 1)]


# ---- forms of answers ------------------------------------------------------------------------

TWO = Exercise(
    "0.1",
    "Two numbers",
    "a dictionary with 'fold' and 'call'",
    lambda: {"fold": -1 / 6, "call": 0.25},
    (Mistake(lambda: {"fold": -1, "call": 0.5}, "A weight is missing."),),
    takeaway="Well.",
    advice="Count again.",
)


@pytest.mark.parametrize(
    ("answer", "verdict", "text"),
    [
        ({"fold": ..., "call": 0.25}, "open", "'fold' is missing"),
        ([-1 / 6, ...], "open", "number 2 is missing"),
        ({"fold": -1 / 6}, "unreadable", "'call' is missing"),
        (
            {"fold": -1 / 6, "call": 0.25, "bet": 1},
            "unreadable",
            "does not ask for 'bet'",
        ),
        ({"fold": "a sixth", "call": 0.25}, "unreadable", "'a sixth' is not a number"),
        ({"fold": True, "call": 0.25}, "unreadable", "True is not a number"),
        ({"fold": "1/0", "call": 0.25}, "unreadable", "'1/0' is not a number"),
        ([-1 / 6], "unreadable", "has 1 values and should have 2"),
        (0.25, "unreadable", "is not a list of 2 values"),
        ("0.25", "unreadable", "is not a list of 2 values"),
        (None, "unreadable", "None is not a list"),
        ({"fold": -1, "call": 0.5}, "wrong", "A weight is missing."),
        ({"fold": 1 / 6, "call": -0.25}, "wrong", "the signs are not"),
        ({"fold": -100 / 6, "call": 25}, "wrong", "in percent"),
        ({"fold": -1 / 2, "call": 0.75}, "wrong", "one and the same factor"),
        ({"fold": -0.168, "call": 0.252}, "wrong", "Close"),
        ({"fold": -1 / 6, "call": 0.3}, "wrong", "'call' is not right; all others are"),
        ({"fold": 7, "call": float("nan")}, "wrong", "Count again."),
    ],
)
def test_feedback_names_the_problem(answer, verdict, text):
    feedback = TWO.check(answer)
    assert (feedback.verdict, text in feedback.text) == (verdict, True), feedback
    assert max(map(len, repr(feedback).split("\n"))) <= 78


def test_words_and_truth_values_are_not_guessed_one_by_one():
    """Feedback mentions them only if all numbers are right."""
    found = {"a": 0.25, "b": {"x": 3, "card": "T"}, "holds": True}
    mixed = Exercise("0.2", "Mixed", "a dictionary", lambda: found)
    wrong = {"a": 0.7, "b": {"x": 3, "card": "J"}, "holds": True}
    guessed = [mixed.check(wrong | {"holds": holds}).text for holds in (False, True)]
    assert (
        guessed[0]
        == guessed[1]
        == "Not yet. Of your numbers, 'a' is not right; all others are."
    )
    assert mixed.check(wrong | {"b": {"x": 4, "card": "T"}}).text.strip() == "Not yet."
    assert (
        "'card' of 'b', 'holds' are not"
        in mixed.check({**wrong, "a": 0.25, "holds": False}).text
    )


def test_probabilities_with_a_wrong_sum_are_explained():
    mixed = Exercise("0.2", "Mix", "three probabilities", lambda: [0.25, 0.25, 0.5])
    assert "add up to 1, and yours to 1.2" in mixed.check([0.25, 0.25, 0.7]).text
    assert "order" in mixed.check([0.5, 0.25, 0.25]).text


def test_factor_of_two_is_explained():
    gap = Exercise("0.3", "Gap", "a number", lambda: 0.3)
    assert "a factor of two" in gap.check(0.6).text
    assert not gap.check(0.45).text.endswith("two?")


@pytest.mark.parametrize(
    ("given", "wanted", "says"),
    [
        ([0.7, 0.3], [0.3, 0.7], "in the wrong order"),
        ([0.7, 0.1], [0.3, 0.1], "the probability of the opposite"),
        ([4.0, 1.5], [0.25, 1.5], "upside down"),
        ([109, 61], [109, 60], "off by one"),
        ([109, 60.5], [109, 60], "Close"),
        ([3, 25], [3, 0.25], "in percent"),
        ([0.6, -0.3], [0.3, 0.4], ""),
    ],
)
def test_error_of_the_wrong_part_is_explained(given, wanted, says):
    feedback = Exercise("0.3", "Pair", "two numbers", lambda: wanted).check(given)
    assert says in feedback.text and feedback.verdict == "wrong"


def test_wrong_sum_of_one_group_is_explained():
    plan = {"value": 1 / 3, "plan": {"fold": 0.25, "call": 0.75}}
    mixed = Exercise("0.3", "Plan", "a value and a plan", lambda: plan)
    feedback = mixed.check({"value": 1 / 3, "plan": {"fold": 0.25, "call": 0.8}})
    assert "yours under 'plan' to 1.05" in feedback.text
    assert "add up" not in mixed.check({"value": 0.4, "plan": plan["plan"]}).text


def test_two_mistakes_in_one_answer_are_both_named():
    right = {"a": 0.2, "b": 5, "holds": True}
    mixed = Exercise(
        "0.3",
        "Mixed",
        "a dictionary",
        lambda: right,
        (
            Mistake(lambda: right | {"a": 0.9}, "The rest is right. A weight is missing."),
            Mistake(lambda: right | {"b": 7}, "Two too many."),
            Mistake(lambda: right | {"holds": False}, "It holds."),
        ),
    )
    both = mixed.check(right | {"a": 0.9, "b": 7}).text
    assert "On 'a': A weight is missing. On 'b': Two too many." in both
    assert "The rest is right" not in both
    one = mixed.check(right | {"a": 0.9, "b": 123}).text
    assert "On 'a'" in one and "On 'b'" not in one
    # a truth value is not named while a number is wrong
    assert "It holds" not in mixed.check(right | {"a": 0.9, "holds": False}).text


def test_numbers_computed_from_a_program_are_not_called_the_readers():
    run = Exercise("0.3", "Run", "a function", lambda: lambda: [0.2, 0.5], see=lambda f: f())
    assert run.check(lambda: [0.2, 0.5001]).right
    assert "Close" not in run.check(lambda: [0.2, 0.505]).text


def test_strings_sets_and_booleans_are_compared():
    line = Exercise("0.4", "Line", "a string", lambda: "line 7")
    assert line.check(" Line 7").right and not line.check("line 6").right
    cards = Exercise("0.5", "Cards", "a set of cards", lambda: {"T", "Q"})
    assert cards.check(["q", "T"]).right and not cards.check({"T"}).right
    assert cards.check("TQ").right and cards.check("q and t").right
    assert cards.check(7).verdict == "unreadable"
    yes = Exercise("0.6", "Is it?", "True or False", lambda: True)
    assert yes.check(np.True_).right and not yes.check(False).right
    assert yes.check(1).verdict == "unreadable"


def test_words_have_synonyms_and_are_named():
    card = Exercise(
        "0.5",
        "Card",
        "a card",
        lambda: "T",
        words={"T": ("10", "ten"), "J": ("jack",)},
    )
    assert all(card.check(x).right for x in ("t", " Ten.", 10, "10", "'T'", np.int64(10)))
    assert card.check("Jack").verdict == "wrong"
    feedback = card.check("Q")
    assert feedback.verdict == "unreadable"
    assert "'Q' is none of the words 'T', 'J'" in feedback.text


@pytest.mark.parametrize("answer", [7, "7", "line 7", "Line 7.", 7.0, np.int64(7), " LINE  7"])
def test_a_line_may_be_given_by_its_number(answer):
    line = Exercise(
        "0.4", "Line", "a line", lambda: "line 7", words={"line 6": (), "line 7": ()}
    )
    assert line.check(answer).right and not line.check("line 6").right


def test_keys_may_be_strings_or_numbers():
    by_length = Exercise("0.5", "Delay", "a dictionary", lambda: {300: 15, 0.5: 2, (4,): 1})
    assert by_length.check({"300": 15, "0.50": 2, 4: 1}).right
    assert by_length.check({300.0: 15, np.float64(0.5): 2, "4": 1}).right


@pytest.mark.slow
def test_every_word_that_an_answer_chooses_is_declared(exercise):
    """A word is a string in an answer that is compared directly."""
    if exercise.see is identity:
        wanted = plain(exercise.solution())
        assert all(chosen(word, exercise.words) in exercise.words for word in texts(wanted))


def texts(part):
    """Yield the strings among the values of an answer."""
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for value in part.values() if isinstance(part, dict) else part:
            yield from texts(value)


def test_error_in_an_answer_is_unreadable():
    run = Exercise("0.7", "Run", "a function", lambda: abs, see=lambda f: f(-3))
    assert run.check(lambda x: 3).right
    feedback = run.check(lambda x: [][x])
    assert feedback.verdict == "unreadable" and "IndexError" in feedback.text


def test_error_in_a_solution_raises():
    """It must not be blamed on the reader."""
    broken = Exercise("0.8", "Broken", "a number", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        broken.check(1)


def test_keyboard_interrupt_is_not_caught():
    def interrupted(answer):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Exercise("0.9", "Long", "a function", lambda: abs, see=interrupted).check(abs)


@pytest.mark.parametrize("student", [*"0123456789", "k-1729b", "Ada"])
def test_every_student_has_an_exercise_of_their_own(student):
    mine = exercises.find("3.5").of(student)
    assert exercises.check("3.5", mine.solution(), student=student).right
    for mistake in mine.mistakes:
        feedback = exercises.check("3.5", mistake.answer(), student=student)
        assert feedback.verdict == "wrong" and mistake.says in feedback.text
    bet = re.search(r"bets of ([\d.]+) chips", exercises.check("3.5", ..., student).text)
    assert float(bet[1]) == pytest.approx(1.1 + 0.08 * last_digit(student))


def test_other_exercises_are_the_same_for_every_student():
    assert exercises.check("4.1", exercises.find("4.1").solution(), student="1729").right


def test_table_of_exercise_4_6_is_computed():
    """The exercise on the page prints the curves that the solution is read off."""
    page = json.loads((BOOK / "04_vanilla_cfr.ipynb").read_text("utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in page["cells"])
    for letter in vanilla_cfr.ROWS:
        row = " | ".join(f"{gap:.4f}" for gap in vanilla_cfr.curve(letter))
        assert f"\n| {letter} | {row} |\n" in text


def test_lines_of_exercise_5_6_are_those_of_the_page():
    page = json.loads((BOOK / "05_cfr_plus.ipynb").read_text("utf-8"))
    text = "\n".join("".join(cell["source"]) for cell in page["cells"])
    assert cfr_plus.HEAD in text
    for letter, line in cfr_plus.LINES.items():
        assert f"\n{letter}  {line}\n" in text


@pytest.mark.parametrize("uniform_rounds", [0, 1])
def test_program_that_learns_nothing_is_refused(uniform_rounds):
    """Exercise 1.7: a best response to probabilities that no player sees."""

    def program(payoff, opponent, rounds, seed):
        best = np.eye(3)[(payoff @ opponent).argmax()]
        return best + (1 / 3 - best) * uniform_rounds / rounds

    feedback = exercises.check("1.7", program)
    assert not feedback.right and "learn from the actions" in feedback.text


def test_follower_of_the_leader_is_refused():
    """Exercise 1.7: all on the largest regret is another algorithm."""
    weight = "weight = (regret == regret.max()).astype(float)"
    learn = mutant(regret_matching.learn, {regret_matching.WEIGHT: weight})
    feedback = exercises.check("1.7", learn)
    assert not feedback.right and "in proportion" in feedback.text


def test_last_strategy_is_no_average():
    """Exercise 1.7: after 5,000 rounds the two are nearly the same."""

    def program(payoff, opponent, rounds, seed):
        average, total = regret_matching.learn, []
        for n in (rounds - 1, rounds):
            total.append(n * average(payoff, opponent, n, seed) if n else np.zeros(3))
        return np.clip(total[1] - total[0], 0, 1)

    feedback = exercises.check("1.7", program)
    assert not feedback.right and "last round" in feedback.text


def test_game_that_is_not_zero_sum_is_refused():
    """Exercise 2.5, where only player 0's payoffs are compared."""

    class Greedy(hidden_cards.Liar):
        def node(self, h):
            node = super().node(h)
            return cfr.Terminal(node.utilities[:1] * 2) if len(h) == 3 else node

    feedback = exercises.check("2.5", Greedy())
    assert not feedback.right and "the other should win" in feedback.text


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("DGIMLABFKJ", "nobody reads it"),
        ("DGIMLABFKJCN", "there is no line 'N'"),
        ("DGIMLABFKJCC", "used twice"),
        ("GDIMLABFKJC", "make no program"),
        ("IDGMLABFKJC", "your code raised KeyError"),
        ("", "no row for the infoset"),
    ],
)
def test_order_of_lines_is_run(answer, says):
    feedback = exercises.check("5.2", answer)
    assert not feedback.right and says in feedback.text


def test_unknown_exercise_raises():
    with pytest.raises(ValueError, match=r"this page has 4\.1, 4\.2"):
        exercises.check("4.9", 1)
    with pytest.raises(ValueError, match="begins with"):
        exercises.check("99.1", 1)
    with pytest.raises(ValueError, match="this page has"):
        exercises.check(4, 1)


def test_tolerance_is_relative_above_one():
    assert differences(1000.4, 1000, 1e-3) == []
    assert differences(1002, 1000, 1e-3) == [()]
    assert differences([0.5, 1.0], [0.5, 1.1], 1e-3) == [(2,)]


def test_values_of_exercise_4_1_are_not_printed_before():
    """Chapter 3 weights the same bet by other numbers; its outputs must not be the answer."""
    values = exercises.find("4.1").solution()["values"].values()
    digits = [f"{x:.4f}" for x in values]
    fractions = [str(Fraction(x).limit_denominator(100)) for x in values]
    for page in sorted(BOOK.glob("0[1-4]_*.ipynb")):
        text = page.read_text("utf-8").partition(":label: ex-04-1")[0]
        for line in text.replace("−", "-").split("\n"):
            assert not all(x in line for x in digits), (page.name, line)
            assert not all(x in line for x in fractions), (page.name, line)


def test_equilibrium_of_the_first_program_is_that_of_the_linear_program() -> None:
    for n in (1, 3, 10):
        right = cfr.solve_lp(cfr.games.RockPaperScissors(n)).strategy["player 0"]
        found = exercises.find("1.6").solution()(n)  # type: ignore[operator]
        assert found == pytest.approx(right)
