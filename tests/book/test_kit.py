"""The teaching kit: everything is made, is complete, and fails where a figure is missing."""

from __future__ import annotations

import csv
import os
import re
import unicodedata
import zipfile
from pathlib import Path

import built
import kit
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
    with zipfile.ZipFile(made.with_name("cfr-kit.zip")) as bundle:
        assert {name.removeprefix("cfr-kit/") for name in bundle.namelist()} == names


def test_a_new_kit_replaces_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out, archive = tmp_path / "new" / "kit", tmp_path / "new" / "cfr-kit.zip"
    monkeypatch.setattr(kit, "OUT", out)
    monkeypatch.setattr(kit, "print_all", lambda pages, folder: None)
    for name in ("old.bin", "new.bin"):
        monkeypatch.setattr(kit, "files", lambda name=name: [(name, os.urandom(2_000_000))])
        assert kit.main() == 0
        assert [path.name for path in out.iterdir()] == [name]
        assert (
            capsys.readouterr().out == f"The kit is ready: {out} (2.0 MB as {archive.name})\n"
        )


def test_readme_names_every_folder_and_document(made: Path) -> None:
    text = (made / "README.txt").read_text("utf-8")
    for path in made.iterdir():
        assert path.name in text or path.name == "README.txt", path.name


@pytest.mark.slow
def test_handouts_fit_on_two_pages(made: Path) -> None:
    for path in (made / "handouts").iterdir():
        pdf = PdfReader(path)
        assert 1 <= len(pdf.pages) <= kit.HANDOUT_PAGES, path.name
        assert [round(side) for side in pdf.pages[0].mediabox[2:]] == [595, 842], "A4"
        assert "Check by hand" in "".join(page.extract_text() for page in pdf.pages)


def words(path: Path) -> str:
    """Return the text of a PDF with single spaces and without ligatures."""
    text = " ".join(page.extract_text() for page in PdfReader(path).pages)
    return " ".join(unicodedata.normalize("NFKC", text).split())


def test_exam_has_no_solutions(made: Path) -> None:
    exam, solved = (words(made / name) for name in ("exam.pdf", "exam_solutions.pdf"))
    hidden = kit.SOLUTION.findall((kit.TEACHING / "exam.md").read_text("utf-8"))
    assert len(hidden) == 6 and "one bluff for every three value bets" in solved
    assert "value bets" not in exam and "Exploitability stops" not in exam


def test_exam_adds_up() -> None:
    text = (kit.TEACHING / "exam.md").read_text("utf-8")
    total = re.search(r"(\d+) points\. ", text)
    assert total
    worth = [int(n) for n in re.findall(r"^## .*\((\d+) points\)$", text, re.M)]
    assert sum(worth) == int(total[1])
    bare = kit.SOLUTION.sub("", text)
    for part, points in zip(re.split(r"^## ", bare, flags=re.M)[1:], worth, strict=True):
        assert sum(int(n) for n in re.findall(r"\((\d+)\)", part)) == points


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
    assert header == ["name", "when", *numbers] and example == [
        "example",
        "before",
        *["50"] * 12,
    ]


def test_misconceptions_are_sorted_by_chapter() -> None:
    page = kit.misconceptions()
    bank = questions.misconceptions()
    assert texts(page, "h2") == list(dict.fromkeys(q.category for q in bank))
    assert len(texts(page, "h3")) == len(texts(page, "li.right")) == len(bank)


def test_colors_are_those_of_the_book() -> None:
    css = sheets.colored("a { LIGHT; } b { DARK; }")
    light, dark = re.findall(r"\{(.*?)\}", css)
    names = [re.findall(r"--(cfr-\w+): ", theme) for theme in (light, dark)]
    assert names[0] == names[1] and len(names[0]) == 6 and light != dark


@pytest.mark.slow
def test_a_handout_may_not_grow(tmp_path: Path) -> None:
    long = kit.page("Long", "<h1>Long</h1>" + "<p>line</p>" * 300)
    with pytest.raises(ValueError, match="must fit on 2"):
        kit.print_all([("handouts/9.pdf", long)], tmp_path)
