"""Make the teaching kit: `make kit` writes _build/kit and one zip of it.

    python tools/kit.py

Slides, handouts and worksheets come from folders of `teaching/`, the quiz from
`teaching/quiz.yml`, the guide from `teaching/guide.md`, the mock exam from `tools/exam.py`.
Figures and algorithms are those of the built pages. Chromium prints the PDFs.
"""

from __future__ import annotations

import csv
import io
import shutil
import sys
import zipfile
from collections.abc import Iterator
from html import escape
from pathlib import Path

import exam
import questions
import sheets
import slides
from paper import field, from_markdown, page, print_all

ROOT = Path(__file__).resolve().parents[1]
TEACHING, OUT = ROOT / "teaching", ROOT / "_build" / "kit"
MOCK = "mock"  # the seed of the exam that everybody may see

README = """\
The teaching kit of the book "Counterfactual Regret Minimization, from Rock-Paper-Scissors to
Koi-Koi". The page "For teachers" of the book explains how to use it.

guide.pdf            objectives, board plans, one session of 90 minutes, rubrics, deadlines
slides/              open in a browser: → shows the next step, N the notes; print for paper
                     1 to 8, a course; session, 90 minutes; votes, four choices to vote on
handouts/            one page for each of the chapters 1 to 8
worksheets/          for each session, blank and solved; session.pdf is for a single session
quiz/                twelve statements before and after, with the key
quiz/answers.csv     a table to fill in; python tools/questions.py answers.csv scores it
misconceptions.pdf   questions that uncover them, for the class, in the order of the slides
misconceptions_solved.pdf    the same with the misconceptions and a reply to each choice
mock_exam.pdf, mock_exam_solved.pdf    an exam to practice; make exam SEED=... makes yours
moodle/*.gift.txt    import: Question bank, Import, GIFT format
canvas/*.zip         import: Settings, Import Course Content, QTI .zip file
tournament/          example strategies for Kuhn poker; python tools/tournament.py FOLDER
leaderboard/         example solvers for Leduc poker; python tools/leaderboard.py FOLDER

Text: CC BY 4.0. Say where it is from and what you changed.
"""


# ---- the quiz on paper ----------------------------------------------------------------------


def sheet(when: str) -> str:
    """Return the quiz as a sheet to fill in, before or after the course."""
    rows = "".join(
        f"<tr><td>{n}</td><td>{q.html}</td>"
        "<td><span class='blank'>&nbsp;</span>&nbsp;%</td></tr>"
        for n, q in enumerate(questions.statements(), 1)
    )
    body = (
        f"<h1>How sure are you? ({when} the course)</h1>"
        f"{field('Name')}"
        "<p>How likely is it, in your opinion, that the statement is true? Write a percentage "
        "from 0 (certainly false) to 100 (certainly true). If that is p as a fraction, a true "
        "statement earns 1 − (1 − p)² points and a false one 1 − p². Writing 50 everywhere "
        f"earns {questions.brier([0.5] * 12, [True] * 12):g} of 12. On average you do best by "
        "writing what you believe.</p>"
        f"<table><tbody>{rows}</tbody></table>"
    )
    return page(f"Quiz {when}", body)


def key() -> str:
    """Return the quiz with the truth and the explanations."""
    parts = []
    for n, q in enumerate(questions.statements(), 1):
        truth = "true" if q.answers[0].value else "false"
        parts.append(
            f"<div class='question'>{q.html.replace('<p>', f'<p>{n}. ', 1)}"
            f"<p><span class='right'>{truth.title()}.</span> {escape(q.because)}</p></div>"
        )
    return page("Key to the quiz", "<h1>Key to the twelve statements</h1>" + "".join(parts))


def misconceptions(*, solved: bool) -> str:
    """Return the questions that uncover misconceptions: for the class, or with all replies."""
    parts, category = ["<h1>Questions that uncover misconceptions</h1>"], ""
    for n, q in enumerate(questions.misconceptions(), 1):
        if q.category != category:
            category = q.category
            parts.append(f"<h2>{escape(category)}</h2>")
        items = "".join(choice(letter, a, solved) for letter, a in questions.shuffled(q))
        asked = f"{q.html.replace('<p>', f'<p>{n}. ', 1)}<ul class='choices'>{items}</ul>"
        if solved:
            asked = (
                f"<h3>Misconception: {escape(q.uncovers)}</h3>{asked}<p>{escape(q.because)}</p>"
            )
        parts.append(f"<div class='question'>{asked}</div>")
    return page("Misconceptions", "".join(parts))


def choice(letter: str, answer: questions.Answer, solved: bool) -> str:
    """Return a choice as an item of a list; the solved version marks it or replies to it."""
    text = f"<b>{letter}</b> {escape(str(answer.value))}"
    if solved and answer.right:
        return f"<li class='right'>{text} ✓</li>"
    return f"<li>{text}{f'<br><em>{escape(answer.reply)}</em>' if solved else ''}</li>"


def answer_table() -> str:
    """Return an empty table for the answers to the quiz, with one invented line."""
    numbers = [str(n) for n in range(1, len(questions.statements()) + 1)]
    buffer = io.StringIO()
    writer = csv.writer(buffer)
    writer.writerow(["name", "when", *numbers])
    writer.writerow(["example", "before", *["50"] * len(numbers)])
    return buffer.getvalue()


# ---- everything -----------------------------------------------------------------------------


def banks() -> dict[str, list[questions.Question]]:
    """Return the question banks by name."""
    return {
        "statements": questions.statements(),
        "misconceptions": questions.misconceptions(),
        "by-hand": questions.by_hand(),
    }


def decks() -> Iterator[tuple[str, str]]:
    """Yield the names and pages of all slides."""
    for path in sorted((TEACHING / "slides").glob("*.md")):
        text = sheets.HOLDS.sub("", path.read_text("utf-8"))
        minutes = slides.ALONE if path.stem == "session" else slides.SESSION
        yield path.stem, slides.render(text, minutes)
    yield "votes", slides.render(slides.votes(), range(1_000))


def files() -> Iterator[tuple[str, str | bytes]]:
    """Yield the names and contents of all files that need no browser."""
    yield "README.txt", README
    for name, deck in decks():
        yield f"slides/{name}.html", deck
    for name, bank in banks().items():
        yield f"moodle/{name}.gift.txt", questions.gift(bank)
        yield f"canvas/{name}.zip", questions.qti(bank, f"cfr-{name}", f"CFR: {name}")
    yield "quiz/answers.csv", answer_table()
    for name in ("tournament", "leaderboard"):
        for path in sorted((TEACHING / name).glob("*.*")):
            yield f"{name}/{path.name}", path.read_bytes()


def documents() -> Iterator[tuple[str, str]]:
    """Yield the names and pages of all that is printed."""
    for path in sorted((TEACHING / "handouts").glob("*.md")):
        yield f"handouts/{path.stem}.pdf", read(path)
    for path in sorted((TEACHING / "worksheets").glob("*.md")):
        yield f"worksheets/{path.stem}.pdf", read(path, solved=False)
        yield f"worksheets/{path.stem}_solved.pdf", read(path)
    yield "guide.pdf", read(TEACHING / "guide.md")
    mock = dict(exam.documents(MOCK))
    yield "mock_exam.pdf", mock["exam_A.pdf"]
    yield "mock_exam_solved.pdf", mock["solutions_A.pdf"]
    yield "quiz/before.pdf", sheet("before")
    yield "quiz/after.pdf", sheet("after")
    yield "quiz/key.pdf", key()
    yield "misconceptions.pdf", misconceptions(solved=False)
    yield "misconceptions_solved.pdf", misconceptions(solved=True)


def read(path: Path, *, solved: bool = True) -> str:
    """Return a text of `teaching/` as a printable page.

    Raises
    ------
    sheets.Missing
        If it names something that the book does not have; the message names the file.
    """
    try:
        return from_markdown(path.read_text("utf-8"), solved=solved)
    except sheets.Missing as error:
        raise sheets.Missing(f"{path.name}: {error}") from error


def main() -> int:
    """Write the kit and its zip; print where it is."""
    shutil.rmtree(OUT, ignore_errors=True)
    for name, content in files():
        path = OUT / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    print_all(documents(), OUT)
    archive = OUT.with_name("cfr-kit.zip")
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
        for path in sorted(OUT.rglob("*")):
            if path.is_file():
                bundle.write(path, Path("cfr-kit", path.relative_to(OUT)))
    size = archive.stat().st_size / 1e6
    print(f"The kit is ready: {OUT} ({size:.1f} MB as {archive.name})")
    return 0


if __name__ == "__main__":
    sys.exit(main())
