"""Make the teaching kit: `make kit` writes _build/kit and one zip of it.

    python tools/kit.py

Slides come from `teaching/slides`, handouts from `teaching/handouts`, the quiz from
`teaching/quiz.yml`, guide and exam from `teaching/guide.md` and `teaching/exam.md`. Figures and
algorithms are those of the built pages. Chromium prints the PDFs.
"""

from __future__ import annotations

import csv
import io
import re
import shutil
import sys
import zipfile
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

import chromium
import questions
import sheets
import slides
from pypdf import PdfReader

from cfrbook.explore.explorable import asset

ROOT = Path(__file__).resolve().parents[1]
TEACHING, OUT = ROOT / "teaching", ROOT / "_build" / "kit"
HANDOUT_PAGES = 2
HOLDS = re.compile(r"<!-- holds: (.*?) -->\n?", re.S)
SOLUTION = re.compile(r"^```\{solution\}\n(.*?)^```\n", re.M | re.S)
READY = "document.fonts.ready"

STYLE = """
@page { size: A4; margin: 14mm 16mm; }
:root { LIGHT; }
body { font: 10pt/1.35 "DejaVu Sans", system-ui, sans-serif; margin: 0; color: #000; }
h1 { font-size: 17pt; margin: 0 0 .5em; } h2 { font-size: 12.5pt; margin: 1em 0 .3em; }
h3 { font-size: 10.5pt; margin: .8em 0 .2em; } p, ul, ol { margin: .35em 0; }
h1, h2, h3 { break-after: avoid; } tr, li, .question, .algorithm { break-inside: avoid; }
table { border-collapse: collapse; margin: .4em 0; }
th, td { padding: .15em .7em .15em 0; border-bottom: .5pt solid #999; text-align: left;
  vertical-align: top; }
figure { margin: .4em 0; text-align: center; break-inside: avoid; }
figure svg { max-width: 100%; height: auto; max-height: 62mm; }
figcaption { font-size: 8pt; color: #555; }
math[display="block"] { margin: .3em 0; }
.algorithm { border-left: 2pt solid var(--cfr-strategy); padding-left: .8em; margin: .5em 0;
  font-size: 9pt; } .algorithm p { margin: .15em 0; } .algorithm ol { margin: .1em 0; }
.admonition-title { font-weight: 700; } .solution { border-left: 2pt solid var(--cfr-value);
  padding-left: .8em; margin: .4em 0 .8em; } .blank { border-bottom: .7pt solid #000;
  display: inline-block; width: 4.5em; }
td:has(.blank) { white-space: nowrap; } .right { font-weight: 700; }
.cfr-explore .cfr-controls { display: none !important; } .cfr-explore .cfr-panels svg {
  max-height: 55mm; } .cfr-explore dl.cfr-numbers { margin: .2em auto; font-size: 8pt; }
"""
PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title><style>{style}</style></head>
<body>{body}</body></html>
"""
README = """\
The teaching kit of the book "Counterfactual Regret Minimization, from Rock-Paper-Scissors to
Koi-Koi". The page "For teachers" of the book explains how to use it.

guide.pdf            objectives, board plans, one session of 90 minutes, rubrics, deadlines
slides/              open in a browser: → shows the next step, N the notes; print for paper
                     1 to 8, a course; session, 90 minutes; votes, four choices to vote on
handouts/            one sheet for each of the chapters 1 to 8
quiz/                twelve statements before and after, with the key
quiz/answers.csv     a table to fill in; python tools/questions.py answers.csv scores it
misconceptions.pdf   questions that uncover them, chapter by chapter, with replies
exam.pdf, exam_solutions.pdf
moodle/*.gift.txt    import: Question bank, Import, GIFT format
canvas/*.zip         import: Settings, Import Course Content, QTI .zip file
tournament/          example strategies for Kuhn poker; python tools/tournament.py FOLDER
leaderboard/         example solvers for Leduc poker; python tools/leaderboard.py FOLDER

Text: CC BY 4.0. Say where it is from and what you changed.
"""


def page(title: str, body: str) -> str:
    """Return a printable page."""
    style = sheets.colored(STYLE) + asset("page.css")
    return PAGE.format(title=escape(title), style=style, body=body)


def from_markdown(path: Path, *, solutions: bool = True) -> str:
    """Return a text of `teaching/` as a printable page, with or without solutions."""
    text = HOLDS.sub("", path.read_text("utf-8"))
    shown = r'<div class="solution">\n\n\1\n</div>\n' if solutions else ""
    try:
        return page(sheets.title_of(text), sheets.html(SOLUTION.sub(shown, text)))
    except sheets.Missing as error:
        raise sheets.Missing(f"{path.name}: {error}") from error


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
        "<p>Name: <span class='blank' style='width:18em'>&nbsp;</span></p>"
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


def misconceptions() -> str:
    """Return the questions that uncover misconceptions, with all replies, for the teacher."""
    parts, category = ["<h1>Questions that uncover misconceptions</h1>"], ""
    for q in questions.misconceptions():
        if q.category != category:
            category = q.category
            parts.append(f"<h2>{escape(category)}</h2>")
        right, *wrong = q.answers
        items = f"<li class='right'>{escape(str(right.value))} ✓</li>" + "".join(
            f"<li>{escape(str(a.value))}<br><em>{escape(a.reply)}</em></li>" for a in wrong
        )
        parts.append(
            f"<div class='question'><h3>Misconception: {escape(q.uncovers)}</h3>{q.html}"
            f"<ul>{items}</ul><p>{escape(q.because)}</p></div>"
        )
    return page("Misconceptions", "".join(parts))


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
        text = HOLDS.sub("", path.read_text("utf-8"))
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
        yield f"handouts/{path.stem}.pdf", from_markdown(path)
    yield "guide.pdf", from_markdown(TEACHING / "guide.md")
    yield "exam.pdf", from_markdown(TEACHING / "exam.md", solutions=False)
    yield "exam_solutions.pdf", from_markdown(TEACHING / "exam.md")
    yield "quiz/before.pdf", sheet("before")
    yield "quiz/after.pdf", sheet("after")
    yield "quiz/key.pdf", key()
    yield "misconceptions.pdf", misconceptions()


def print_all(pages: Iterable[tuple[str, str]], out: Path) -> None:
    """Print pages as PDFs.

    Raises
    ------
    ValueError
        If a handout is longer than two pages.
    """
    with chromium.opened() as browser:
        tab = chromium.context(browser, color_scheme="light").new_page()
        for name, text in pages:
            tab.set_content(text)
            tab.evaluate(READY)
            path = out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            tab.pdf(path=path, prefer_css_page_size=True, print_background=True)
            count = len(PdfReader(path).pages)
            if name.startswith("handouts/") and count > HANDOUT_PAGES:
                raise ValueError(f"{name} has {count} pages; it must fit on {HANDOUT_PAGES}")


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
