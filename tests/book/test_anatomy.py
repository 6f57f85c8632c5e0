"""Every chapter satisfies the rules of anatomy.py, and every rule can fail."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nbformat
import pytest
from anatomy import problems
from nbformat import v4
from numerals import Pool, in_prose, unproved

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

# Chapter 1 breaks no rule, as the test above has seen; each edit below breaks one of them.
# A place in it is given by words of its cell.
NAME = "01_regret_matching"
CHAPTER = nbformat.read(BOOK / f"{NAME}.ipynb", as_version=4)
Edit = Callable[[Any], None]
IMPORTS, FIGURE, COUNTED = "import numpy", "plot.show(", "print(dict(zip(names, regret"
# The last has 6 lines, and the first explorable 28: edits below make each one line too long
HABIT = 'answer = {"best": ..., "earns": ...}'  # the form of an exercise
WORKED = 'answer = {"best": "rock", "earns": 0.4}'


def cell(nb: Any, words: str) -> Any:
    return next(cell for cell in nb.cells if words in cell.source)


def swap(old: str, new: str) -> Edit:
    def edit(nb: Any) -> None:
        found = cell(nb, old)
        found.source = found.source.replace(old, new)

    return edit


def everywhere(old: str, new: str) -> Edit:
    def edit(nb: Any) -> None:
        for cell in nb.cells:
            cell.source = cell.source.replace(old, new)

    return edit


def append(words: str, text: str) -> Edit:
    def edit(nb: Any) -> None:
        cell(nb, words).source += text

    return edit


def tag(words: str, *tags: str) -> Edit:
    def edit(nb: Any) -> None:
        cell(nb, words).metadata["tags"] = list(tags)

    return edit


def output(words: str, **data: str) -> Edit:
    def edit(nb: Any) -> None:
        mimes = {mime.replace("_", "/"): content for mime, content in data.items()}
        cell(nb, words).outputs.append(v4.new_output("display_data", mimes))

    return edit


def feedback(words: str, mark: str) -> Edit:
    def edit(nb: Any) -> None:
        cell(nb, words).outputs[-1].data["text/plain"] = mark

    return edit


def much_code(nb: Any) -> None:
    nb.cells[9:9] = [v4.new_code_cell("pass\n" * 20) for _ in range(8)]


def without_function(nb: Any) -> None:
    """Leave no function in the exercise with the planted bug."""
    cell(nb, "def program").source = 'program = cfr.play\nexercises.check("1.7", program)'


def two_exercises(nb: Any) -> None:
    for task in [cell for cell in nb.cells if "{exercise}" in cell.source][2:]:
        task.source = task.source.replace("{exercise}", "{tip}")


def renamed(nb: Any) -> None:
    """Put the solution of one exercise below another."""
    cell(nb, "{solution} ex-01-2").source = cell(nb, "{solution} ex-01-1").source


def widget_state(nb: Any) -> None:
    nb.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {}}


SECTIONS = re.findall(r"^## (.+)$", "\n".join(c.source for c in CHAPTER.cells), re.MULTILINE)
BAD = [
    ("head", swap("# Regret matching", "## Regret matching")),
    ("head", append("# Regret matching", "\n\n# A second title")),
    ("head", swap("Two programs", "Welcome. Two programs")),
    ("head", swap("\n|", "\n:")),
    ("head", swap("You need", "Prerequisites")),
    ("imports", append(IMPORTS, "\nrounds = 3")),
    ("imports", swap("git+{home}", "{home}")),
    ("sections", swap("## What goes wrong", "## Traps")),
    ("sections", swap("## Summary", "### Summary")),
    ("sections", swap("## Further reading", "## More")),
    ("sections", swap("{prf:algorithm}", "{prf:definition}")),
    ("sections", swap("## Where this is used", "## Uses")),
    ("predictions", swap(":class: predict", ":class: note")),
    ("predictions", swap("Right: a larger", "A larger")),
    ("predictions", swap("It is unexpected", "Right: it is unexpected")),
    ("predictions", swap("Uniform play is safe, but it earns 0 here.", "No.\n:::\n\n:::{tip}")),
    ("predictions", swap(":::{dropdown} About", ":::{note} About")),
    ("exercises", swap("ex-01-2\n:class: dropdown", "ex-01-2")),
    ("exercises", swap(ROUNDING, "")),
    ("checks", swap("{hint}", "{tip}")),
    ("checks", swap('"1.1"', '"1.2"')),
    ("checks", swap("exercises.check", "print")),
    ("checks", tag(HABIT)),
    ("checks", tag(WORKED, "hide-cell")),
    ("checks", without_function),
    ("checks", feedback(HABIT, "✓")),
    ("checks", feedback(WORKED, "✗")),
    ("cells", append(COUNTED, "\n" * 20 + "7")),
    ("cells", append(COUNTED, "  # " + "long " * 12)),
    ("noise", append(COUNTED, "  # noqa: E501")),
    ("noise", append(COUNTED, "\nassert True")),
    ("noise", append(COUNTED, "\nlist(zip([1], [2], strict=True))")),
    ("length", swap("skip *", "skip " + "".join(f"*{name}*, " for name in SECTIONS) + "*")),
    ("length", append("## Ten rounds", "word " * 2_400)),
    ("length", much_code),
    ("length", swap("45 minutes to read", "50 minutes to read")),
    ("figures", swap('alt="Triangle', 'title="Triangle')),
    ("figures", swap("plot.show(\n", 'plot.show(None, alt="A dot", caption="")\nplot.show(\n')),
    ("figures", swap(FIGURE, "show(None)\ncfr.plot.show(")),
    ("figures", append(COUNTED, "\nplt.show()")),
    ("figures", append("## Summary", "\n\n![](references.md)")),
    ("figures", append("## Summary", "\n\n```{image} tree.svg\n```")),
    ("explorables", everywhere("explore.Explorable", "print")),
    ("cells", append("explore.Explorable(", "\n" * 23)),
    ("comparison", tag(FIGURE)),
    ("comparison", tag(IMPORTS, "nbval-ignore-output")),
    ("comparison", tag(COUNTED, "timing")),
    ("citations", append("## Summary", "\n\nSee {cite:p}`hart2000, nobody1999`.")),
    ("links", append("## Summary", "\n\nSee {doc}`nowhere`.")),
    ("links", append("## Summary", "\n\nSee [there](nowhere.md#part).")),
    ("outputs", output(COUNTED, image_png="iVBORw0KGgo=")),
    ("outputs", output(FIGURE, text_html="<figure><svg></svg></figure>")),
    ("outputs", output(COUNTED, text_plain="Written to /home/me/kuhn.npz")),
    ("outputs", append(COUNTED, '\nopen("/tmp/kuhn.npz")')),
    ("outputs", widget_state),
    ("numbers", swap("0.6, 0.2)", "0.6, 0.87654)")),
    ("numbers", append("## Summary", "\n\nIt is $\\color{#B8440A}{0.87654}$.")),
    ("numbers", append("## Summary", "\n\nIt is 2/17.")),
    ("numbers", append("## Summary", "\n\nIt is ⅞.")),
    ("numbers", append("## Summary", "\n\nThe value is $-\\tfrac{1}{18}$.")),
    ("numbers", append("## Summary", "\n\nAfter 1,234 rounds.")),
    ("numbers", swap('caption="The first', 'caption="0.8765')),
    ("numbers", swap("Rock beats scissors. It", "Play 0.87654. It")),
]


def broken(edit: Edit) -> set[str]:
    """Return the rules that report something in chapter 1 after an edit."""
    nb = copy.deepcopy(CHAPTER)
    edit(nb)
    return {line.partition(":")[0] for line in problems(nb, NAME, BOOK, KEYS)}


@pytest.mark.parametrize(
    ("rule", "edit"), BAD, ids=[f"{k}-{rule}" for k, (rule, _) in enumerate(BAD)]
)
def test_violation_is_reported_under_its_rule(rule: str, edit: Edit) -> None:
    assert broken(edit) == {rule}


@pytest.mark.parametrize(
    "edit",
    [swap("{solution} ex-01-2", "{tip}"), two_exercises, renamed],
)
def test_misplaced_solution_is_reported(edit: Edit) -> None:
    assert broken(edit) >= {"exercises", "checks"}


def test_timing_cell_proves_no_number() -> None:
    """The output of a timing proves no number, so the prose loses its proof."""
    late = "path = cfr.play(biased, 100_000"
    assert broken(tag(late, "nbval-ignore-output", "timing")) == {"numbers"}


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
