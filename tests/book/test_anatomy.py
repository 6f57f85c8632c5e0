"""Every chapter satisfies the rules of anatomy.py, and every rule can fail."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from anatomy import problems
from nbformat import v4
from numerals import Pool, in_prose, unproved
from skeleton import chapter

from cfrbook.exercises.grading import ROUNDING

BOOK = Path(__file__).parents[2] / "book"
KEYS = frozenset(
    re.findall(r"^@\w+\{([^,\s]+),", (BOOK / "references.bib").read_text("utf-8"), re.MULTILINE)
)


@pytest.mark.parametrize("path", sorted(BOOK.glob("*.ipynb")), ids=lambda p: p.stem)
def test_chapter_follows_the_anatomy(path: Path) -> None:
    found = problems(nbformat.read(path, as_version=4), path.stem, BOOK, KEYS)
    assert not found, f"{path.name}:\n  " + "\n  ".join(found)


# ---- each rule reports an example ------------------------------------------------------------

# cells of the skeleton
HOSTED, IMPORTS, FIRST, FILL, CODE, FIGURE, QUESTION, EXPLORABLE, LAST = range(1, 10)
TASK, ANSWER, SOLUTION, WORKED = 10, 11, 12, 13  # of the first exercise; four more each
END = 22


def swap(cell: int, old: str, new: str) -> Callable[[Any], None]:
    def edit(nb: Any) -> None:
        assert old in nb.cells[cell].source
        nb.cells[cell].source = nb.cells[cell].source.replace(old, new)

    return edit


def append(cell: int, text: str) -> Callable[[Any], None]:
    def edit(nb: Any) -> None:
        nb.cells[cell].source += text

    return edit


def tag(cell: int, *tags: str) -> Callable[[Any], None]:
    def edit(nb: Any) -> None:
        nb.cells[cell].metadata["tags"] = list(tags)

    return edit


def output(cell: int, **data: str) -> Callable[[Any], None]:
    def edit(nb: Any) -> None:
        mimes = {mime.replace("_", "/"): content for mime, content in data.items()}
        nb.cells[cell].outputs.append(v4.new_output("display_data", mimes))

    return edit


def feedback(cell: int, mark: str) -> Callable[[Any], None]:
    def edit(nb: Any) -> None:
        nb.cells[cell].outputs[0].data["text/plain"] = mark

    return edit


def much_code(nb: Any) -> None:
    nb.cells[CODE:CODE] = [v4.new_code_cell("pass\n" * 20) for _ in range(8)]


def renamed(nb: Any) -> None:
    """Put the solution of one exercise below another."""
    nb.cells[SOLUTION + 4].source = nb.cells[SOLUTION].source


def widget_state(nb: Any) -> None:
    nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}


BAD = [
    ("head", swap(0, "# Regret matching", "## Regret matching")),
    ("head", append(0, "\n\n# A second title")),
    ("head", swap(0, "After this chapter you can", "Welcome. After this chapter you can")),
    ("head", swap(0, "|", "")),
    ("head", swap(0, "You need", "Prerequisites")),
    ("imports", append(IMPORTS, "\nrounds = 3")),
    ("imports", swap(HOSTED, "git+", "")),
    ("sections", swap(LAST, "## What goes wrong", "## Traps")),
    ("sections", swap(LAST, "## Summary", "### Summary")),
    ("sections", swap(LAST, "## Exercises", "## Problems")),
    ("sections", swap(END, "## Further reading", "## More")),
    ("sections", swap(FIRST, "{prf:algorithm}", "{prf:definition}")),
    ("sections", swap(LAST, "## Where this is used", "## Uses")),
    ("predictions", swap(QUESTION, ":class: predict", ":class: note")),
    ("predictions", swap(QUESTION, "Right: the", "The")),
    ("predictions", swap(QUESTION, "It belongs", "Right: it belongs")),
    ("predictions", swap(QUESTION, "It belongs to scissors, which rock beats.", "No.")),
    ("predictions", swap(QUESTION, ":::{dropdown} The third", ":::{note}")),
    ("exercises", swap(SOLUTION, "\n:class: dropdown", "")),
    ("exercises", swap(LAST, ROUNDING, "")),
    ("checks", swap(TASK, "{hint}", "{tip}")),
    ("checks", swap(ANSWER, '"1.1"', '"1.2"')),
    ("checks", swap(ANSWER, "exercises.check", "print")),
    ("checks", tag(ANSWER)),
    ("checks", tag(WORKED, "hide-cell")),
    ("checks", swap(ANSWER + 4, "def match(regret):\n    return", "match = lambda regret:")),
    ("checks", feedback(ANSWER, "✓")),
    ("checks", feedback(WORKED, "✗")),
    ("cells", append(CODE, "\n" * 24 + "7")),
    ("cells", append(CODE, "  # " + "long " * 12)),
    ("noise", append(CODE, "  # noqa: E501")),
    ("noise", append(CODE, "\nassert True")),
    ("noise", append(CODE, "\nlist(zip([1], [2], strict=True))")),
    ("length", swap(FILL, "Regret looks back", "Regret")),
    ("length", append(FILL, "word " * 2_400)),
    ("length", much_code),
    ("length", swap(0, "25 minutes", "50 minutes")),
    ("figures", swap(FIGURE, 'alt="Three bars of different height.",', "")),
    ("figures", swap(FIGURE, "Look at the first bar.", "")),
    ("figures", swap(FIGURE, "show(", "show(None)\ncfr.plot.show(")),
    ("figures", append(CODE, "\nplt.show()")),
    ("figures", append(LAST, "\n\n![](references.md)")),
    ("figures", append(LAST, "\n\n```{image} tree.svg\n```")),
    ("explorables", swap(EXPLORABLE, "explore.Explorable", "print")),
    ("cells", append(EXPLORABLE, "\n" * 50)),
    ("comparison", tag(FIGURE)),
    ("comparison", tag(IMPORTS, "nbval-ignore-output")),
    ("comparison", tag(CODE, "timing")),
    ("citations", append(LAST, "\n\nSee {cite:p}`hart2000, nobody1999`.")),
    ("links", append(LAST, "\n\nSee {doc}`nowhere`.")),
    ("links", append(LAST, "\n\nSee [there](nowhere.md#part).")),
    ("outputs", output(CODE, image_png="iVBORw0KGgo=")),
    ("outputs", output(FIGURE, text_html="<figure><svg></svg></figure>")),
    ("outputs", output(CODE, text_plain="Written to /home/me/kuhn.npz")),
    ("outputs", append(CODE, '\nopen("/tmp/kuhn.npz")')),
    ("outputs", widget_state),
    ("numbers", swap(FIRST, "0.667", "0.668")),
    ("numbers", swap(FIRST, "0.333", "0.334")),
    ("numbers", swap(FIRST, "2/3", "2/5")),
    ("numbers", swap(FIRST, "⅓", "¼")),
    ("numbers", append(LAST, "\n\nThe value is $-\\tfrac{1}{18}$.")),
    ("numbers", append(LAST, "\n\nAfter 1,000 rounds.")),
    ("numbers", swap(FIGURE, "first bar", "bar of 0.9")),
    ("numbers", swap(SOLUTION + 4, "Uniform.", "Play 0.25.")),
]


def test_skeleton_breaks_no_rule() -> None:
    assert problems(chapter(), "01_regret_matching", BOOK, KEYS) == []


@pytest.mark.parametrize(
    ("rule", "edit"), BAD, ids=[f"{k}-{rule}" for k, (rule, _) in enumerate(BAD)]
)
def test_violation_is_reported_under_its_rule(rule: str, edit: Callable[[Any], None]) -> None:
    nb = chapter()
    edit(nb)
    found = problems(nb, "01_regret_matching", BOOK, KEYS)
    assert found, "no rule reported the change"
    assert {line.partition(":")[0] for line in found} == {rule}, found


@pytest.mark.parametrize(
    "edit", [swap(SOLUTION, "{solution}", "{tip}"), swap(TASK, "{exercise}", "{tip}"), renamed]
)
def test_misplaced_solution_is_reported(edit: Callable[[Any], None]) -> None:
    nb = chapter()
    edit(nb)
    found = problems(nb, "01_regret_matching", BOOK, KEYS)
    assert {line.partition(":")[0] for line in found} >= {"exercises", "checks"}


def test_timing_cell_proves_no_number() -> None:
    nb = chapter()
    tag(CODE, "nbval-ignore-output", "timing")(nb)
    found = problems(nb, "01_regret_matching", BOOK, KEYS)
    # The output of a timing proves no number, so the prose loses its proof.
    assert {line.partition(":")[0] for line in found} == {"numbers"}


# ---- numbers ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("it is 0.5 or -.25, not `0.7`", ["0.5", ".25"]),
        ("2/3, ⅓, ²⁄₉, 2⁄9", ["2/3", "⅓", "²⁄₉", "2⁄9"]),
        (r"$\frac{1}{18}$ and $\tfrac12$", [r"\frac{1}{18}", r"\tfrac12"]),
        ("1,000,000 or 1\u2009000 in 2007, with 55 histories", ["1,000,000", "1 000"]),
        ("about $2.19 \\times 10^{-4}$, 10⁶, 12 %", [r"2.19 \times 10^{-4}", "10⁶", "12 %"]),
        ("1/T, $1/|A|$, $x_{0.5}$", ["0.5"]),
        ("section 2.18, §§3.1–3.2, Figures 1.2 and 1.3, Python 3.11", []),
        ("{cite}`a2.5` [0.5](x0.7.md) {ref}`0.3 <x>` $\\color{#007200}{x}$", ["0.5"]),
        ("```python\n0.5\n```\n```{note} 0.6\n:class: tip-0.9\n0.7\n```", ["0.6", "0.7"]),
        ("```{exercise}\n0.5\n```\n````{tip}\n```\n0.4\n```\n0.3\n````", ["0.3"]),
        ("<!-- 0.5 --> <span style='opacity: 0.9'>0.4</span>", ["0.4"]),
        (":::{admonition} T\nIn 0.5\n:::\n0.6", ["0.5", "0.6"]),
        ("親は0.55点、勝率は52%。240,000局", ["0.55", "52%", "240,000"]),
    ],
)
def test_in_prose_finds_numbers(text: str, shown: list[str]) -> None:
    assert [number.text for number in in_prose(text)] == shown


@pytest.mark.parametrize(
    ("text", "printed", "proved"),
    [
        ("0.333", "0.33333", True),
        ("0.333", "0.3336", False),
        ("0.333", "0.33", False),
        ("1/3", "0.3333", True),
        ("1/3", "0.333", False),
        ("1/3", "0.3334", False),
        ("1/24", "Fraction(1, 24)", True),
        ("0.042", "1/24", True),
        ("-1/18", "-0.05555555555", True),
        ("1,000", "[1000, 2]", True),
        ("1,001", "1_000", False),
        ("25%", "0.2512", True),
        ("25%", "0.26", False),
        ("2.19 × 10⁻⁴", "2.1895e-04", True),
        ("2.18 × 10⁻⁴", "2.1895e-04", False),
        ("0.4", "12,345 0.9", False),
    ],
)
def test_unproved_compares_with_printed_numbers(text: str, printed: str, proved: bool) -> None:
    pool = Pool()
    pool.add_text(printed)
    assert (unproved(text, pool) == []) is proved


def test_escape_comment_excuses_one_number() -> None:
    text = "0.5 and 0.7 <!-- not-computed: 0.5 measured by the source -->"
    assert [number.text for number in unproved(text, Pool())] == ["0.7"]
    assert len(unproved("0.5 <!-- not-computed: 0.5 -->", Pool())) == 1, "a reason is needed"
