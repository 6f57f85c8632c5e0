"""The teaching kit: everything is made, is complete, and fails where a figure is missing."""

from __future__ import annotations

import csv
import os
import re
import unicodedata
import zipfile
from functools import cache
from pathlib import Path

import built
import chromium
import kit
import paper
import pytest
import questions
import sheets
from bs4 import BeautifulSoup
from pypdf import PdfReader


@pytest.fixture(scope="module", autouse=True)
def book() -> None:
    assert built.paths()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the whole kit, with its PDFs."""
    out = tmp_path_factory.mktemp("kit") / "kit"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kit, "OUT", out)
        assert kit.main() == 0
    return out


def test_kit_is_complete(made: Path) -> None:
    names = {str(path.relative_to(made)) for path in made.rglob("*") if path.is_file()}
    numbers = [str(n) for n in range(1, 9)]
    assert {f"slides/{n}.html" for n in [*numbers, "session", "votes"]} <= names
    assert {f"handouts/{n}.pdf" for n in numbers} <= names
    kinds = [
        f"worksheets/{n}{end}.pdf" for n in [*numbers, "session"] for end in ("", "_solved")
    ]
    assert {*kinds} == {name for name in names if name.startswith("worksheets/")}
    with zipfile.ZipFile(made.with_name("cfr-kit.zip")) as bundle:
        assert {name.removeprefix("cfr-kit/") for name in bundle.namelist()} == names


def test_a_new_kit_replaces_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "new" / "kit"
    monkeypatch.setattr(kit, "OUT", out)
    monkeypatch.setattr(kit, "print_all", lambda pages, folder: None)
    for name in ("old.bin", "new.bin"):
        monkeypatch.setattr(kit, "files", lambda name=name: [(name, os.urandom(2_000_000))])
        assert kit.main() == 0
        assert [path.name for path in out.iterdir()] == [name]
        with zipfile.ZipFile(out.with_name("cfr-kit.zip")) as bundle:
            assert bundle.namelist() == [f"cfr-kit/{name}"]


def test_readme_names_every_folder_and_document(made: Path) -> None:
    text = (made / "README.txt").read_text("utf-8")
    for path in made.iterdir():
        assert path.name in text or path.name == "README.txt", path.name


def documents(made: Path) -> list[Path]:
    found = sorted(made.rglob("*.pdf"))
    assert len(found) > 30
    return found


def test_no_table_is_cut_and_no_last_page_is_nearly_empty(made: Path) -> None:
    """A table of thirty rows or more may go on; its rows and everybody's pages are whole."""
    split, longest = [], 0
    for path in documents(made):
        pdf = PdfReader(path)
        for rows, pages in paper.tables(pdf):
            longest = max(longest, rows)
            if len(pages) > 1 and rows < 30:
                split.append((path.name, rows))
        last = paper.filled(pdf.pages[-1])
        assert len(pdf.pages) == 1 or last >= paper.LEAST_FILL, path.name
        assert all(paper.filled(leaf) > paper.LEAST_FILL for leaf in pdf.pages), path.name
        assert last <= 1.01, "the last line is within the margin"
        assert [round(side) for side in pdf.pages[0].mediabox[2:]] == [595, 842], "A4"
    assert not split and longest > 60, "the guide has a long table, which is found"


def test_sheets_are_one_sheet(made: Path) -> None:
    for kind, most in (("handouts", 1), ("worksheets", paper.SHEET_PAGES)):
        for path in (made / kind).iterdir():
            assert 1 <= len(PdfReader(path).pages) <= most, path.name


SMALL = """
els => els.filter(e => [...e.childNodes].some(c => c.nodeType === 3 && c.data.trim()))
  .filter(e => e.getClientRects().length && !e.closest("svg, sub, sup, math"))
  .map(e => parseFloat(getComputedStyle(e).fontSize)).sort((a, b) => a - b)[0]
"""
WIDEST = """
els => Math.max(...els.filter(e => !e.closest("svg, .cfr-controls"))
  .map(e => e.getBoundingClientRect().right))
"""


@pytest.mark.slow
def test_pages_keep_their_margins_and_can_be_read() -> None:
    """Text is set in 9 points or more, and nothing is wider than the page without margins."""
    width = 178 * 96 / 25.4
    with chromium.opened() as browser:
        view = {"width": int(width), "height": 1000}
        tab = chromium.context(browser, viewport=view).new_page()
        tab.emulate_media(media="print")
        for name, text in printed().items():
            tab.set_content(text)
            assert tab.eval_on_selector_all("body *", WIDEST) <= width + 1, name
            tab.evaluate("document.body.style.setProperty('--size', '9pt')")
            assert tab.eval_on_selector_all("body *", SMALL) >= 11.99, name


def words(path: Path) -> str:
    """Return the text of a PDF with single spaces and without ligatures."""
    text = " ".join(page.extract_text() for page in PdfReader(path).pages)
    return " ".join(unicodedata.normalize("NFKC", text).split())


# ---- worksheets and exams --------------------------------------------------------------------

WORKSHEETS = sorted((kit.TEACHING / "worksheets").glob("*.md"))
ANSWER = re.compile(r"^```\{solution\} \d+\n(.*?)^```$", re.M | re.S)


@cache
def printed() -> dict[str, str]:
    """Return the pages that are printed, by the names of their PDFs."""
    return dict(kit.documents())


def both(path: Path) -> list[BeautifulSoup]:
    """Return a worksheet, blank and solved."""
    names = [f"worksheets/{path.stem}{end}.pdf" for end in ("", "_solved")]
    return [BeautifulSoup(printed()[name], "html.parser") for name in names]


@pytest.mark.parametrize("path", WORKSHEETS, ids=lambda path: path.stem)
def test_a_blank_worksheet_has_room_in_place_of_each_answer(path: Path) -> None:
    text = sheets.HOLDS.sub("", path.read_text("utf-8"))
    gaps, rooms = sheets.GAP.findall(text), ANSWER.findall(text)
    assert len(gaps) >= 3
    blank, solved = both(path)
    for page, kinds in ((blank, (".gap", ".room")), (solved, (".filled", ".solution"))):
        assert [len(page.select(kind)) for kind in kinds] == [len(gaps), len(rooms)]
    assert not blank.select(".filled, .solution") and not solved.select(".gap, .room")
    assert all(room.select(".line") for room in blank.select(".room"))
    assert "Name:" in blank.get_text() and "Name:" not in solved.get_text()
    texts = [" ".join(page.get_text().split()) for page in (blank, solved)]
    for answer in [*rooms, *gaps]:
        start = " ".join(re.sub("[*`]", "", answer).split())[:24]
        if len(start) > 14:
            assert start not in texts[0] and start in texts[1]


def test_the_tree_is_drawn_with_moves_and_payoffs() -> None:
    """The blank tree hides the labels; the solved one rings the four infosets of the queen."""
    blank, solved = both(kit.TEACHING / "worksheets" / "session.md")
    for page in (blank, solved):
        drawn = [text.get_text().strip() for text in page.select("figure.tree svg text")]
        assert {drawn.count(word) for word in ("check", "bet", "fold", "call")} == {12}
        assert sum(text in ("+1", "−1", "+2", "−2") for text in drawn) == 30
        assert {"JQ", "JK", "QJ", "QK", "KJ", "KQ"} <= {*drawn}
    labels = [t for t in blank.select("text") if "--cfr-reach" in t.get("style", "")]
    assert len(labels) == 24, "each decision has a label"
    assert blank.select("figure.blank-tree") and not solved.select("figure.blank-tree")
    hidden = re.search(r"\.blank-tree (.*?) \{ visibility: hidden", paper.STYLE)
    assert hidden and blank.select(f".blank-tree {hidden[1]}") == labels
    rings = [str(page).count("stroke-dasharray") for page in (blank, solved)]
    assert rings[1] - rings[0] == 4


def test_a_solution_needs_its_number_of_lines() -> None:
    with pytest.raises(sheets.Missing, match="number of lines"):
        sheets.html("```{solution}\nRight.\n```", solved=False)


def test_mock_exam_has_no_solutions(made: Path) -> None:
    exam, solved = (words(made / name) for name in ("mock_exam.pdf", "mock_exam_solved.pdf"))
    for start in ("In proportion to the positive", "Payoffs: check +1", "It is: "):
        assert start in solved and start not in exam
    assert "Name:" in exam and kit.MOCK in solved and "Seed" not in exam


def texts(page: str, selector: str) -> list[str]:
    return [tag.get_text() for tag in BeautifulSoup(page, "html.parser").select(selector)]


def test_the_quiz_on_paper() -> None:
    """Writing 50 everywhere earns 1 - (1/2)² points twelve times."""
    numbers, sheet, key = [str(n) for n in range(1, 13)], kit.sheet("before"), kit.key()
    assert texts(sheet, "td:first-child") == numbers
    assert texts(sheet, "title") == ["Quiz before"] and "earns 9 of 12." in sheet
    assert [
        text.partition(".")[0] for text in texts(key, ".question > p:first-child")
    ] == numbers
    truths = ["True." if q.answers[0].value else "False." for q in questions.statements()]
    assert texts(key, ".right") == truths
    header, example = csv.reader(kit.answer_table().splitlines())
    assert header == ["name", "when", *numbers]
    assert example == ["example", "before", *["50"] * 12]


def test_misconceptions_are_sorted_by_chapter_and_shuffled_as_everywhere() -> None:
    bank = questions.misconceptions()
    for solved in (False, True):
        page = kit.misconceptions(solved=solved)
        assert texts(page, "h2") == list(dict.fromkeys(q.category for q in bank))
        shown = [f"{letter} {a.value}" for q in bank for letter, a in questions.shuffled(q)]
        begun = texts(page, ".choices li")
        assert len(begun) == len(shown)
        assert all(b.startswith(s) for b, s in zip(begun, shown, strict=True))


def test_only_the_teacher_sees_what_is_right() -> None:
    bank = questions.misconceptions()
    blank, solved = (kit.misconceptions(solved=s) for s in (False, True))
    assert len(texts(solved, "h3")) == len(texts(solved, "li.right")) == len(bank)
    for n, (q, right) in enumerate(zip(bank, texts(solved, "li.right"), strict=True)):
        assert right.endswith("✓") and str(q.answers[0].value) in right, n
        replies = [q.because, q.uncovers, *(a.reply for a in q.answers)]
        assert not [reply for reply in replies if reply in "".join(texts(blank, "body"))]
    assert "✓" not in "".join(texts(blank, "body"))
    assert not texts(blank, "li.right, h3, em")


def test_colors_are_those_of_the_book() -> None:
    css = sheets.colored("a { LIGHT; } b { DARK; }")
    light, dark = re.findall(r"\{(.*?)\}", css)
    names = [re.findall(r"--(cfr-\w+): ", theme) for theme in (light, dark)]
    assert names[0] == names[1] and len(names[0]) == 6 and light != dark


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lines", "wanted"),
    [(36, 1), (46, 1), (72, 2), (54, "last page is nearly empty"), (160, "must fit on 2")],
)
def test_a_few_lines_too_many_are_set_smaller(
    tmp_path: Path, lines: int, wanted: int | str
) -> None:
    """One page in 10 points, one in smaller type, two pages, and two that cannot be had."""
    name = f"handouts/{lines}.pdf"
    page = paper.page(name, "<p>line</p>" * lines)
    if isinstance(wanted, str):
        with pytest.raises(ValueError, match=f"{re.escape(name)}.*{wanted}"):
            paper.print_all([(name, page)], tmp_path)
        return
    paper.print_all([(name, page)], tmp_path)
    pages = PdfReader(tmp_path / name).pages
    assert len(pages) == wanted
    assert (paper.filled(pages[0]) < 0.9) == (lines == 36)


@pytest.mark.slow
def test_a_cut_table_is_found(tmp_path: Path) -> None:
    """Without the rule of the style sheet, a table below 36 lines is cut."""
    rows = "<tr><td>a</td><td>b</td></tr>" * 29
    body = "<p>line</p>" * 36 + f"<table><tbody>{rows}</tbody></table>"
    whole = paper.page("whole", body)
    cut = whole.replace("</style>", "table { break-inside: auto !important; }</style>")
    paper.print_all([("whole.pdf", whole), ("cut.pdf", cut)], tmp_path)
    assert paper.tables(PdfReader(tmp_path / "whole.pdf")) == [(29, {2})]
    assert paper.tables(PdfReader(tmp_path / "cut.pdf")) == [(29, {1, 2})]
