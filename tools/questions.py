"""The questions of the teaching kit, and their formats: GIFT for Moodle, QTI 1.2 for Canvas.

    python tools/questions.py ANSWERS.csv       score the quiz before and after the course

Statements and misconceptions come from `teaching/quiz.yml`; the by-hand exercises come from
`cfrbook.exercises`, with the known mistakes as replies to wrong answers. An exercise that asks
for several numbers becomes a question for each of them.
"""

from __future__ import annotations

import csv
import io
import math
import random
import re
import sys
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache
from html import escape
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import assignments
import nbformat
import numpy as np
import yaml
from markdown_it import MarkdownIt

from cfrbook import exercises
from cfrbook.exercises.grading import slack

ROOT = Path(__file__).resolve().parents[1]
QUIZ = ROOT / "teaching" / "quiz.yml"
MARKDOWN = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Answer:
    """A possible answer and the reply to it; only a number has a tolerance."""

    value: str | float | bool
    reply: str
    right: bool = False
    tolerance: float = 0.0


@dataclass(frozen=True)
class Question:
    """One question, with plain text in all fields but `html`.

    Attributes
    ----------
    ident, title, category : str
        A name without blanks, a heading, and the folder of a question bank.
    html : str
        The question.
    kind : str
        ``"truth"``, ``"choice"``, ``"number"`` or ``"word"``.
    answers : tuple of Answer
        The right answer comes first.
    because : str
        An explanation for everybody.
    uncovers : str
        The misconception that a wrong answer shows.
    """

    ident: str
    title: str
    category: str
    html: str
    kind: str
    answers: tuple[Answer, ...]
    because: str
    uncovers: str = ""


# ---- sources --------------------------------------------------------------------------------


@cache
def source() -> dict[str, Any]:
    """Return the contents of `teaching/quiz.yml`."""
    found: dict[str, Any] = yaml.safe_load(QUIZ.read_text("utf-8"))
    return found


def statements() -> list[Question]:
    """Return the twelve statements of the quiz."""
    return [
        Question(
            f"statement-{n}",
            f"Statement {n}",
            "Twelve statements",
            f"<p>{escape(each['says'], quote=False)}</p>",
            "truth",
            (Answer(each["truth"], "Right."), Answer(not each["truth"], "Not so.")),
            f"{each['because']} (Chapter {each['chapter']})",
        )
        for n, each in enumerate(source()["statements"], 1)
    ]


def misconceptions() -> list[Question]:
    """Return the questions that uncover misconceptions, in the order of chapters."""
    found: list[Question] = []
    for each in source()["questions"]:
        chapter = each["chapter"]
        n = 1 + sum(q.category == f"Chapter {chapter}" for q in found)
        right = Answer(each["right"], each["because"], right=True)
        wrong = [Answer(text, reply) for text, reply in each["wrong"]]
        question = Question(
            f"chapter-{chapter}-{n}",
            f"Chapter {chapter}, question {n}",
            f"Chapter {chapter}",
            f"<p>{escape(each['asks'], quote=False)}</p>",
            "choice",
            (right, *wrong),
            each["because"],
            each["uncovers"],
        )
        found.append(question)
    return found


def by_hand() -> list[Question]:
    """Return the by-hand exercises that `teaching/quiz.yml` lists, a question for each number.

    Raises
    ------
    ValueError
        If the solution of an exercise has a part that is no number, word or truth value.
    """
    return [
        question
        for number, part in source()["by_hand"].items()
        for question in parts_of(exercises.find(number), part)
    ]


def parts_of(exercise: exercises.Exercise, part: str = "all") -> Iterator[Question]:
    """Yield a question for each number of an exercise's solution, or of one part of it."""
    solution = exercise.solution()
    asked = as_html(texts()[exercise.number])
    for place, value in leaves(solution):
        if part != "all" and place[0] != part:
            continue
        kind = kind_of(value)
        name = ", ".join(place)
        want = f"<p>Your answer: <b>{escape(name)}</b>" if name else "<p>Your answer"
        hint = {"number": " (a decimal number)", "word": " (a word)"}
        html = f"{asked}{want}{hint.get(kind, ': true or false')}.</p>"
        yield Question(
            "-".join(["exercise", exercise.number, *place]).replace(" ", "_"),
            f"Exercise {exercise.number}, {exercise.title}" + (f": {name}" if name else ""),
            f"By hand, chapter {exercise.number.partition('.')[0]}",
            html,
            kind,
            tuple(answers(exercise, place, value)),
            exercise.takeaway,
        )


def answers(exercise: exercises.Exercise, place: tuple[str, ...], value: Any) -> list[Answer]:
    """Return the right value at a place of the solution, and the known mistakes there."""
    kind = kind_of(value)
    tolerance = round(slack(value, exercise.tolerance), 9) if kind == "number" else 0.0
    found = [Answer(plain(value), "Right.", right=True, tolerance=tolerance)]
    for wrong, says in mistakes(exercise):
        if place in wrong and kind_of(wrong[place]) == kind:
            answer = Answer(plain(wrong[place]), reply_alone(says), tolerance=tolerance)
            if not any(same(answer, earlier) for earlier in found):
                found.append(answer)
    if kind == "truth" and len(found) == 1:
        found.append(Answer(not value, exercise.advice))
    return found


def mistakes(exercise: exercises.Exercise) -> list[tuple[dict[tuple[str, ...], Any], str]]:
    """Return the typical mistakes, part by part, those with the fewest wrong parts first."""
    right = dict(leaves(exercise.solution()))
    found = [(dict(leaves(mistake.answer())), mistake.says) for mistake in exercise.mistakes]
    return sorted(found, key=lambda each: sum(each[0].get(p) != v for p, v in right.items()))


def reply_alone(says: str) -> str:
    """Return the reply to a mistake without emphasis and without praise of other parts.

    A learning platform asks for each number alone, and knows nothing of the others.

    Examples
    --------
    >>> reply_alone("The values are right. A regret is what an action is worth *more*.")
    'A regret is what an action is worth more.'
    """
    text = re.sub(r"\*([^*]+)\*", r"\1", " ".join(says.split()))
    rest = re.sub(r"^[^.:]*\b(is|are) (right|fine)\b[^.:]*[.:] (But )?", "", text)
    return rest[:1].upper() + rest[1:]


def same(one: Answer, other: Answer) -> bool:
    """Return whether no answer could be told to be one rather than the other."""
    if isinstance(one.value, str | bool):
        return str(one.value).casefold() == str(other.value).casefold()
    return abs(one.value - other.value) <= one.tolerance + other.tolerance


def plain(value: Any) -> str | float | bool:
    """Return a value without NumPy's types; numbers keep ten digits."""
    if kind_of(value) == "number":
        return float(f"{float(value):.10g}") + 0.0
    return bool(value) if kind_of(value) == "truth" else str(value)


def kind_of(value: Any) -> str:
    """Return the kind of question that asks for a value."""
    if isinstance(value, bool | np.bool_):
        return "truth"
    if isinstance(value, str):
        return "word"
    if isinstance(value, int | float | np.number) and math.isfinite(value):
        return "number"
    raise ValueError(f"a question cannot ask for {value!r}")


def leaves(value: Any, place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield the parts of an answer with their places.

    Examples
    --------
    >>> list(leaves({"fold": 0.5, "rounds": [1, 2]}))
    [(('fold',), 0.5), (('rounds', 'number 1'), 1), (('rounds', 'number 2'), 2)]
    """
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, (*place, str(key)))
    elif isinstance(value, list | tuple | np.ndarray) and np.ndim(np.asarray(value, object)):
        for n, item in enumerate(value, 1):
            yield from leaves(item, (*place, f"number {n}"))
    elif isinstance(value, Set) or callable(value):
        raise ValueError(f"a question cannot ask for {value!r}")
    else:
        yield place, value


@cache
def texts() -> dict[str, str]:
    """Return the text of every exercise by its number, without the hint."""
    found = {}
    for path in sorted(assignments.BOOK.glob("*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        for task in assignments.tasks(cells, assignments.page_titles(), path.name):
            found[task.number] = task.text.partition(assignments.HINT)[0]
    return found


# ---- formulas -------------------------------------------------------------------------------

SYMBOLS = {
    **{"pi": "π", "sigma": "σ", "epsilon": "ε", "varepsilon": "ε", "lambda": "λ", "gamma": "γ"},
    **{"alpha": "α", "beta": "β", "infty": "∞", "cdot": "·", "times": "×", "le": "≤"},
    **{"ge": "≥", "sum": "Σ", "dots": "…", "ldots": "…", "emptyset": "∅", "leftarrow": "←"},
}


def without_tex(tex: str) -> str:
    r"""Return a simple formula as HTML, since not every learning platform typesets TeX.

    Raises
    ------
    ValueError
        If the formula has a command that has no symbol here.

    Examples
    --------
    >>> without_tex(r"\pi_{-1}(h)"), without_tex("10^4")
    ('π<sub>−1</sub>(<i>h</i>)', '10<sup>4</sup>')
    """
    if unknown := set(re.findall(r"\\([A-Za-z]+)", tex)) - set(SYMBOLS):
        raise ValueError(f"no symbol for {sorted(unknown)} in {tex!r}")
    text = re.sub(r"\\([A-Za-z]+) ?", lambda m: SYMBOLS[m[1]], tex.replace("{,}", ","))
    text = re.sub(r"\\[,;! ]", " ", escape(text.replace("-", "−"), quote=False))
    text = re.sub(r"(?<![A-Za-z&])([A-Za-z])(?![A-Za-z;])", r"<i>\1</i>", text)
    for mark, tag in (("_", "sub"), ("\\^", "sup")):
        text = re.sub(rf"{mark}(?:{{(.*?)}}|(<i>.</i>|.))", rf"<{tag}>\1\2</{tag}>", text)
    return text


def as_html(text: str) -> str:
    """Convert the Markdown of an exercise to HTML on one line, with formulas as symbols."""
    formulas = re.sub(r"\$([^$]+)\$", lambda m: without_tex(m[1]), text)
    return " ".join(MARKDOWN.render(formulas).split())


# ---- GIFT -----------------------------------------------------------------------------------


def gift(questions: Iterable[Question]) -> str:
    """Return questions in Moodle's text format, GIFT."""
    parts, category = [], ""
    for question in questions:
        if question.category != category:
            category = question.category
            parts.append(f"$CATEGORY: CFR/{category}\n")
        body = "\n".join(gift_answers(question))
        parts.append(
            f"::{escaped(question.title)}::[html]{escaped(question.html)} {{{body}\n"
            f"####{escaped(question.because)}}}\n"
        )
    return "\n".join(parts)


def gift_answers(question: Question) -> Iterator[str]:
    """Yield the lines between the braces of a question."""
    if question.kind == "truth":
        right, wrong = question.answers
        yield f"{str(right.value).upper()}#{escaped(wrong.reply)}#{escaped(right.reply)}"
        return
    if question.kind == "number":
        yield "#"
    chosen = question.kind == "choice"
    for answer in (a for _, a in shuffled(question)) if chosen else question.answers:
        reply = escaped(answer.reply)
        if question.kind == "number":
            share = "" if answer.right else "%0%"
            yield f"={share}{answer.value!r}:{answer.tolerance:.9g}#{reply}"
        elif question.kind == "word":
            yield f"={'' if answer.right else '%0%'}{escaped(str(answer.value))}#{reply}"
        else:
            yield f"{'=' if answer.right else '~'}{escaped(str(answer.value))}#{reply}"


def escaped(text: str) -> str:
    """Escape the characters that mean something in GIFT, and keep the text on one line."""
    return re.sub(r"([~=#{}:\\])", r"\\\1", " ".join(text.split()))


# ---- QTI ------------------------------------------------------------------------------------

NAMESPACE = "http://www.imsglobal.org/xsd/ims_qtiasiv1p2"
PACKAGE = "http://www.imsglobal.org/xsd/imsccv1p1/imscp_v1p1"
CANVAS = {
    "truth": "true_false_question",
    "choice": "multiple_choice_question",
    "number": "numerical_question",
    "word": "short_answer_question",
}


def qti(questions: Sequence[Question], ident: str, title: str) -> bytes:
    """Return questions as a zip that Canvas imports as a quiz: QTI 1.2 with a manifest."""
    top = ET.Element("questestinterop", xmlns=NAMESPACE)
    assessment = ET.SubElement(top, "assessment", ident=ident, title=title)
    section = ET.SubElement(assessment, "section", ident="root_section")
    for question in questions:
        qti_item(section, question)
    manifest = ET.Element("manifest", xmlns=PACKAGE, identifier=f"{ident}-manifest")
    metadata = ET.SubElement(manifest, "metadata")
    add(metadata, "schema", "IMS Content")
    add(metadata, "schemaversion", "1.1.3")
    ET.SubElement(manifest, "organizations")
    resource = ET.SubElement(
        ET.SubElement(manifest, "resources"),
        "resource",
        identifier=ident,
        type="imsqti_xmlv1p2",
        href=f"{ident}.xml",
    )
    ET.SubElement(resource, "file", href=f"{ident}.xml")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, tree in (("imsmanifest.xml", manifest), (f"{ident}.xml", top)):
            ET.indent(tree)
            # a fixed date: the same questions give the same file
            entry = zipfile.ZipInfo(name, (2026, 1, 1, 0, 0, 0))
            archive.writestr(entry, ET.tostring(tree, "utf-8", xml_declaration=True))
    return buffer.getvalue()


def add(parent: ET.Element, tag: str, text: str, **attributes: str) -> ET.Element:
    """Append an element with a text."""
    made = ET.SubElement(parent, tag, attributes)
    made.text = text
    return made


def qti_item(section: ET.Element, question: Question) -> None:
    """Append a question: its text, how it is answered, scored and replied to."""
    item = ET.SubElement(section, "item", ident=question.ident, title=question.title)
    fields = ET.SubElement(ET.SubElement(item, "itemmetadata"), "qtimetadata")
    for label, entry in (("question_type", CANVAS[question.kind]), ("points_possible", "1")):
        field = ET.SubElement(fields, "qtimetadatafield")
        add(field, "fieldlabel", label)
        add(field, "fieldentry", entry)
    presentation = ET.SubElement(item, "presentation")
    material(presentation, question.html, "text/html")
    if question.kind in ("truth", "choice"):
        response = ET.SubElement(
            presentation, "response_lid", ident="response1", rcardinality="Single"
        )
        choices = ET.SubElement(response, "render_choice")
        for n in shown_order(question):
            label = ET.SubElement(choices, "response_label", ident=f"answer{n}")
            material(label, str(question.answers[n].value))
    else:
        response = ET.SubElement(
            presentation, "response_str", ident="response1", rcardinality="Single"
        )
        decimal = {"fibtype": "Decimal"} if question.kind == "number" else {}
        blank = ET.SubElement(response, "render_fib", decimal)
        ET.SubElement(blank, "response_label", ident="answer1")
    qti_processing(item, question)
    for name, text in replies(question).items():
        qti_feedback(item, name, text)


def replies(question: Question) -> dict[str, str]:
    """Return the replies of a question by the names that Canvas knows.

    Canvas takes each number or word in a condition for a right answer, so the replies to known
    mistakes are one text for all wrong answers.
    """
    right, *wrong = question.answers
    found = {"general_fb": question.because}
    if question.kind in ("truth", "choice"):
        return found | {f"answer{n}_fb": a.reply for n, a in enumerate(question.answers)}
    found["correct_fb"] = right.reply
    if wrong:
        texts = [
            f"If your answer is {written(answer.value)}: {answer.reply}" for answer in wrong
        ]
        found["general_incorrect_fb"] = " ".join(texts)
    return found


def written(value: str | float | bool) -> str:
    """Return a value as a reader would write it."""
    return f"{value:.4g}".replace("-", "−") if isinstance(value, float) else str(value)


def shown_order(question: Question) -> list[int]:
    """Return the order in which choices are shown: True first, others at random.

    The title is the seed, so a question has the same order in Canvas, on slides and on paper.
    """
    numbers = range(len(question.answers))
    if question.kind == "truth":
        return sorted(numbers, key=lambda n: not question.answers[n].value)
    return random.Random(question.title).sample(numbers, len(numbers))


def shuffled(question: Question) -> list[tuple[str, Answer]]:
    """Return the choices of a question with their letters, in the order of `shown_order`."""
    return [
        (chr(ord("A") + k), question.answers[n]) for k, n in enumerate(shown_order(question))
    ]


def qti_processing(item: ET.Element, question: Question) -> None:
    """Append the replies to all answers, then the score of the right one."""
    processing = ET.SubElement(item, "resprocessing")
    ET.SubElement(
        ET.SubElement(processing, "outcomes"),
        "decvar",
        maxvalue="100",
        minvalue="0",
        varname="SCORE",
        vartype="Decimal",
    )
    qti_otherwise(processing, "general_fb")
    if question.kind in ("truth", "choice"):
        for n in range(len(question.answers)):
            condition = ET.SubElement(processing, "respcondition", {"continue": "Yes"})
            qti_condition(condition, question, n)
            show(condition, f"answer{n}_fb")
    scored = ET.SubElement(processing, "respcondition", {"continue": "No"})
    qti_condition(scored, question, 0)
    add(scored, "setvar", "100", action="Set", varname="SCORE")
    if "correct_fb" in replies(question):
        show(scored, "correct_fb")
    if "general_incorrect_fb" in replies(question):
        qti_otherwise(processing, "general_incorrect_fb")


def qti_otherwise(processing: ET.Element, ident: str) -> None:
    """Show a reply to every answer that comes as far as this condition."""
    condition = ET.SubElement(processing, "respcondition", {"continue": "Yes"})
    ET.SubElement(ET.SubElement(condition, "conditionvar"), "other")
    show(condition, ident)


def qti_condition(parent: ET.Element, question: Question, n: int) -> None:
    """Append the condition that the response is answer n."""
    condition = ET.SubElement(parent, "conditionvar")
    answer = question.answers[n]
    if question.kind != "number":
        value = str(answer.value) if question.kind == "word" else f"answer{n}"
        add(condition, "varequal", value, respident="response1")
        return
    either = ET.SubElement(condition, "or")
    add(either, "varequal", repr(answer.value), respident="response1")
    between = ET.SubElement(either, "and")
    center = float(answer.value)
    for tag, bound in (("vargte", -answer.tolerance), ("varlte", answer.tolerance)):
        add(between, tag, f"{center + bound:.10g}", respident="response1")


def show(condition: ET.Element, ident: str) -> None:
    """Show a reply if a condition holds."""
    ET.SubElement(condition, "displayfeedback", feedbacktype="Response", linkrefid=ident)


def qti_feedback(item: ET.Element, ident: str, text: str) -> None:
    """Append the text of a reply."""
    feedback = ET.SubElement(item, "itemfeedback", ident=ident)
    material(ET.SubElement(feedback, "flow_mat"), text)


def material(parent: ET.Element, text: str, kind: str = "text/plain") -> None:
    """Append a text that is shown."""
    add(ET.SubElement(parent, "material"), "mattext", text, texttype=kind)


# ---- scores ---------------------------------------------------------------------------------


def brier(probabilities: Sequence[float], truths: Sequence[bool]) -> float:
    """Return the points for probabilities that statements are true: Σ 1 − (p − truth)².

    Examples
    --------
    >>> brier([1, 0.5, 0], [True, True, True])
    1.75
    """
    pairs = zip(probabilities, truths, strict=True)
    return sum(1 - (p - truth) ** 2 for p, truth in pairs)


def scores(rows: Iterable[Mapping[str, str]]) -> dict[str, dict[str, list[float]]]:
    """Return each student's points by statement, before and after.

    Parameters
    ----------
    rows : iterable of mapping
        With the keys ``name``, ``when`` (``before`` or ``after``) and ``1`` to ``12``:
        percentages.

    Raises
    ------
    ValueError
        If a row has no percentage for a statement, or another word under ``when``.
    """
    truths = [each["truth"] for each in source()["statements"]]
    found: dict[str, dict[str, list[float]]] = {}
    for line, row in enumerate(rows, 2):
        try:
            given = [float(row[str(n)]) / 100 for n in range(1, len(truths) + 1)]
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"line {line}: a percentage is missing") from None
        if row.get("when") not in ("before", "after") or not all(0 <= p <= 1 for p in given):
            raise ValueError(f"line {line}: 'before' or 'after', and percentages from 0 to 100")
        points = [brier([p], [t]) for p, t in zip(given, truths, strict=True)]
        found.setdefault(row["name"], {})[row["when"]] = points
    return found


def score_table(found: Mapping[str, Mapping[str, Sequence[float]]]) -> str:
    """Return the points of students and the mean of each statement as a table in text."""
    when = ("before", "after")

    def line(name: str, columns: Iterable[list[float]]) -> str:
        return f"{name:20}" + "".join(
            f"{np.mean(c):8.2f}" if c else "       –" for c in columns
        )

    lines = [f"{'':20}  before   after"]
    for name, sheets in found.items():
        lines.append(line(name, [[sum(sheets[w])] if w in sheets else [] for w in when]))
    for n in range(len(source()["statements"])):
        column = [[sheets[w][n] for sheets in found.values() if w in sheets] for w in when]
        lines.append(line(f"statement {n + 1}", column))
    return "\n".join(lines)


if __name__ == "__main__":
    with Path(sys.argv[1]).open(encoding="utf-8", newline="") as file:
        print(score_table(scores(csv.DictReader(file))))
