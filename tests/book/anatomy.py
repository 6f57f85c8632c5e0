"""Rules for the structure of the book's chapters.

`problems(nb, name, folder, keys)` returns one line per violation, "rule: message". `prose.py`
defines what counts as prose, `numerals.py` what proves a number.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

import numerals
from citations import as_roles
from notebooks import hosted
from prose import directives, strip_fences, visible_text

from cfrbook.exercises.grading import ROUNDING

ALGORITHM = (
    "01_regret_matching",
    "04_vanilla_cfr",
    "05_cfr_plus",
    "06_discounting_and_prediction",
    "07_monte_carlo_cfr",
    "08_robust_sampling",
    "09_online_search",
    "10_deep_cfr",
    "11_double_neural_cfr",
    "15_the_last_iterate",
)  # chapters that teach an algorithm
FIGURE = re.compile(r"(?:(?:\w+\.)*plot\.)?show")  # of cfrbook.plot
SECTIONS = ("What goes wrong", "Summary", "Exercises", "Further reading")
WORDS = ("alt", "caption")  # texts that a figure needs
LONGEST_CELL, WIDEST_LINE = 25, 78
LONGEST_FOLDED = 50  # code of a figure or a solution, which is folded on the page
FOLDED = {"hide-input", "hide-cell"}
UNSEEN = FOLDED | {"remove-cell", "remove-input"}
NOISE = re.compile(r"strict=\w+|\+ 0\.0\b|# noqa|# fmt|\bexec\(|\bgetsource\(")
FEWEST_QUESTIONS = 3
CHECK = re.compile(r"""exercises\.check\("([\w.]+)", \w+(?:, student=student)?\)\s*$""")
FEWEST_WORDS, MOST_WORDS = 1_200, 3_000  # at first reading, with replies, without exercises
MOST_IN_APPENDIX = 3_450
SHORTER = {"17_the_bet": 1_800}  # words of a chapter that promises to be short
MOST_LINES, MOST_MINUTES = 160, 45  # of code, and of a chapter's first reading
UNCOMPARED = "nbval-ignore-output"
MACHINE_PATH = re.compile(r"(?<![\w.:/])/(?:home|root|tmp|usr|work|Users|opt)/\w|[A-Z]:\\\w")


@dataclass(frozen=True)
class Chapter:
    """A notebook and its context, as the rules need it."""

    nb: Any
    name: str  # "01_regret_matching"
    folder: Path  # where the page's links start
    keys: frozenset[str]  # of the bibliography

    @cached_property
    def markdown(self) -> list[str]:
        return [cell.source for cell in self.nb.cells if cell.cell_type == "markdown"]

    @cached_property
    def text(self) -> str:
        return "\n\n".join(self.markdown)

    @cached_property
    def code(self) -> list[Any]:
        return [cell for cell in self.nb.cells if cell.cell_type == "code"]

    @cached_property
    def time(self) -> str:
        """The row *Time* at the head, or nothing."""
        row = re.search(r"\*\*Time\*\* \| *(.*)", self.text)
        return row[1] if row else ""

    @cached_property
    def headings(self) -> list[tuple[int, str]]:
        found = re.findall(r"^(#{1,6}) +(.+)$", strip_fences(self.text), re.MULTILINE)
        return [(len(marks), title.strip()) for marks, title in found]


def without_magics(source: str) -> str:
    """Replace IPython's % and ! lines, which are not Python."""
    return re.sub(r"^(\s*)[%!].*$", r"\1pass", source, flags=re.MULTILINE)


def tree(cell: Any) -> ast.Module:
    return ast.parse(without_magics(cell.source))


def tags(cell: Any) -> list[str]:
    return list(cell.metadata.get("tags", []))


def short(cell: Any) -> str:
    return repr(cell.source.strip().partition("\n")[0])


def is_numbered(chapter: Chapter) -> bool:
    """Whether it is a chapter, and not a page of the appendix."""
    return chapter.name[:2].isdecimal()


def figure_calls(cell: Any) -> list[ast.Call]:
    """Return the calls of `show`, `plot.show` and the like."""
    return [call for call in calls(cell) if FIGURE.fullmatch(ast.unparse(call.func))]


def calls(cell: Any) -> list[ast.Call]:
    return [node for node in ast.walk(tree(cell)) if isinstance(node, ast.Call)]


def explorable_calls(cell: Any) -> list[ast.Call]:
    """Return the calls of `explore.Explorable`."""
    return [call for call in calls(cell) if ast.unparse(call.func).endswith("Explorable")]


# ---- the rules; each yields messages --------------------------------------------------------


def head(chapter: Chapter) -> Iterator[str]:
    """The first cell has a title, a promise of one sentence and a table of three rows."""
    first = chapter.nb.cells[0]
    titles = [title for level, title in chapter.headings if level == 1]
    if len(titles) != 1:
        yield f"a chapter has one H1 title, this one has {len(titles)}"
    lines = re.sub(r"^\([\w-]+\)=\s*", "", first.source.strip())
    if first.cell_type != "markdown" or not lines.startswith("# "):
        yield "the first cell starts with the title, `# ...`"
        return
    blocks = re.split(r"\n\s*\n", lines)
    promise = " ".join(blocks[1].split()) if len(blocks) > 1 else ""
    if not re.fullmatch(r"[^|`:#].*[.!?]", promise) or re.search(r"[.!?]\s+[A-Z]", promise):
        yield f"the title is followed by a promise of one sentence, not by {promise[:60]!r}"
    table = "\n".join(blocks[2:])
    if not re.search(r"^\s*\||\{list-table\}", table, re.MULTILINE):
        yield "the promise is followed by a small table"
    for label in ("You will be able to", "You need", "Time"):
        if label not in table:
            yield f"the table at the head lacks {label!r}"


def imports(chapter: Chapter) -> Iterator[str]:
    """The first code cell is the one for hosted notebooks; the second only imports."""
    if len(chapter.code) < 2:
        yield "there is no code"
        return
    if chapter.code[0].source != hosted(chapter.code[1:]):
        yield "the first code cell is not the one of tools/notebooks.py; run `make notebooks`"
    for node in tree(chapter.code[1]).body:
        if not isinstance(node, ast.Import | ast.ImportFrom):
            yield f"the second code cell only imports, but has {ast.unparse(node)[:60]!r}"


def sections(chapter: Chapter) -> Iterator[str]:
    for name in SECTIONS:
        if not any(level == 2 and title.startswith(name) for level, title in chapter.headings):
            yield f"the section `## {name}` is missing"
    if is_numbered(chapter) and (2, "Where this is used") not in chapter.headings:
        yield "the section `## Where this is used` is missing"
    if chapter.name in ALGORITHM and "{prf:algorithm}" not in chapter.text:
        yield "the algorithm taught here needs its pseudocode, a `{prf:algorithm}`"


def predictions(chapter: Chapter) -> Iterator[str]:
    """A question has two to five choices, each with a reply; one reply begins with *Right*."""
    replies: dict[str, list[str]] = {}
    question = None
    for block in directives(chapter.text):
        if block.kind == "dropdown" and question is not None:
            replies[question].append(" ".join(block.body).strip())
        elif block.kind == "admonition" and block.options.get("class") == "predict":
            question = " ".join(block.body).strip()
            replies[question] = []
        else:
            question = None
    if is_numbered(chapter) and len(replies) < FEWEST_QUESTIONS:
        yield f"{len(replies)} questions *What do you expect?*, fewer than {FEWEST_QUESTIONS}"
    for question, found in replies.items():
        if not 2 <= len(found) <= 5:
            yield f"{len(found)} choices, not 2 to 5, for {question!r}"
        if sum(reply.startswith("Right") for reply in found) != 1:
            yield f"not exactly one reply begins with `Right` for {question!r}"
        for reply in found:
            if len(reply.split()) < 5:
                yield f"{reply!r} does not say why, for {question!r}"


def exercises(chapter: Chapter) -> Iterator[str]:
    """Three to eight exercises, each with a hidden solution right after it, and one rule."""
    kinds = ("exercise", "exercise-start", "solution", "solution-start")
    blocks = [block for block in directives(chapter.text) if block.kind in kinds]
    count = sum(block.kind.startswith("exercise") for block in blocks)
    if not 3 <= count <= 8:
        yield f"there are {count} `{{exercise}}`s, not 3 to 8"
    before, _, _ = chapter.text.partition("\n````{exercise}")
    if ROUNDING not in before.rpartition("\n## Exercises")[2]:
        yield f"the head of the exercises lacks the rule of rounding: {ROUNDING!r}"
    for block, after in zip(blocks, [*blocks[1:], None], strict=True):
        label = block.options.get("label", "")
        if block.kind.startswith("exercise"):
            solved = after and after.kind.startswith("solution") and after.title == label
            if not label or not solved:
                yield f"exercise {label or block.title!r} is not followed by its `{{solution}}`"
        elif "dropdown" not in block.options.get("class", ""):
            yield f"the solution of {block.title!r} is not hidden by `:class: dropdown`"


def number(label: str) -> str:
    """Return an exercise's number in `exercises.check`: 4.2 for ex-04-2."""
    return ".".join(part.lstrip("0") for part in label.split("-")[1:])


def feedback_mark(cell: Any) -> str:
    """Return the mark that begins the feedback in a cell's output, or ""."""
    shown = [output.get("data", {}).get("text/plain", "") for output in cell.outputs]
    return next((text[0] for text in reversed(shown) if text), "")


def checks(chapter: Chapter) -> Iterator[str]:
    """Each exercise has a hint, a cell for the answer, and a solution that passes its check."""
    cells = chapter.nb.cells
    marks = {"answer": "○✗", "solution": "✓"}
    found: dict[str, list[str]] = {kind: [] for kind in marks}
    for before, cell in pairwise(cells):
        for kind in marks.keys() & set(tags(cell)):
            opening = directives(before.source)
            directive = "solution" if kind == "solution" else "exercise"
            labels = {block.options.get("label", block.title) for block in opening}
            call = CHECK.search(cell.source)
            if kind == "answer" and not any(block.kind == "hint" for block in opening):
                yield f"the exercise above {short(cell)} has no `{{hint}}`"
            if not any(block.kind == directive for block in opening):
                yield f"the cell {short(cell)} does not follow its `{{{directive}}}`"
            elif call is None or call[1] not in {number(label) for label in labels}:
                yield f"the cell {short(cell)} does not end with `exercises.check` of it"
            else:
                found[kind].append(call[1])
            if feedback_mark(cell) not in marks[kind]:
                yield f"the {kind} {short(cell)} prints {feedback_mark(cell)!r}"
    if chapter.name in (*ALGORITHM, "12_coyote", "14_learning_koi_koi") and not any(
        "answer" in tags(cell)
        and feedback_mark(cell) == "✗"
        and re.search(r"\bdef ", cell.source)
        for cell in chapter.code
    ):
        yield "no exercise has a planted bug: a complete function that is wrong"
    for block in directives(chapter.text):
        if block.kind == "exercise":
            name = number(block.options.get("label", ""))
            for kind, names in found.items():
                if name not in names:
                    yield f"exercise {name} is not followed by a cell with the tag `{kind}`"


def cells(chapter: Chapter) -> Iterator[str]:
    for cell in chapter.code:
        lines = cell.source.split("\n")
        longest = LONGEST_FOLDED if FOLDED & set(tags(cell)) else LONGEST_CELL
        if len(lines) > longest:
            yield f"{len(lines)} lines in the cell {short(cell)}: at most {longest}"
        for line in lines:
            if len(line) > WIDEST_LINE:
                yield f"{len(line)} columns in {line.strip()!r}: at most {WIDEST_LINE}"


def noise(chapter: Chapter) -> Iterator[str]:
    """Code that readers see has nothing in it for tools, and no checks at its top level."""
    for cell in chapter.code:
        if UNSEEN & set(tags(cell)):
            continue
        for piece in NOISE.findall(cell.source):
            yield f"{piece!r} in the cell {short(cell)}: fold it, or write it another way"
        if any(isinstance(statement, ast.Assert) for statement in tree(cell).body):
            yield f"an assert in the cell {short(cell)}: move it to a cell with `remove-cell`"


def first_reading(chapter: Chapter) -> Iterator[tuple[str, str]]:
    """Yield kind and text of what a first reading reads: neither exercises nor *Further*."""
    skipped = {*re.findall(r"\*([^*]+)\*", chapter.time), "Exercises", "Further reading"}
    inside = 0  # level of the section that is left out
    for cell in chapter.nb.cells:
        if cell.cell_type == "code":
            if not inside and not UNSEEN & {*tags(cell)}:
                yield "code", cell.source
            continue
        for part in re.split(r"^(?=#{2,4} )", cell.source, flags=re.MULTILINE):
            if heading := re.match(r"(#{2,4}) (.+)", part):
                level = len(heading[1])
                if not inside or level <= inside:
                    inside = level if heading[2].strip() in skipped else 0
            if not inside:
                yield "prose", part


def length(chapter: Chapter) -> Iterator[str]:
    """Count what is read at first: the exercises, and what the page folds, come on top."""
    kinds: dict[str, list[str]] = {"prose": [], "code": []}
    for kind, part in first_reading(chapter):
        kinds[kind].append(part)
    text = visible_text("\n".join(kinds["prose"]), math=False)
    words = len(re.findall(r"[^\W\d_][\w'’-]*", text))
    most = MOST_WORDS if is_numbered(chapter) else MOST_IN_APPENDIX
    most = SHORTER.get(chapter.name, most)
    if not FEWEST_WORDS <= words <= most:
        yield f"{words} words of prose: between {FEWEST_WORDS} and {most}"
    if not is_numbered(chapter):
        return
    lines = sum(bool(line.strip()) for code in kinds["code"] for line in code.splitlines())
    if lines > MOST_LINES:
        yield f"{lines} visible lines of code: at most {MOST_LINES}"
    minutes = re.match(r"(\d+) minutes to read", chapter.time)
    if minutes and int(minutes[1]) > MOST_MINUTES:
        yield f"{minutes[1]} minutes to read: at most {MOST_MINUTES}"


def figures(chapter: Chapter) -> Iterator[str]:
    """Every figure has an alternative text and a caption."""
    for cell in chapter.code:
        if re.search(r"\bplt\.show\(", cell.source):
            yield f"{short(cell)} uses plt.show(); cfrbook.plot.show(fig, alt=, caption=)"
        for call in figure_calls(cell):
            arguments = {word.arg: word.value for word in call.keywords}
            for word in WORDS:
                value = arguments.get(word)
                if value is None or (isinstance(value, ast.Constant) and not value.value):
                    yield f"a figure in the cell {short(cell)} lacks {word}="
    for alt, target in re.findall(r"!\[([^\]]*)\]\(([^)]*)\)", strip_fences(chapter.text)):
        if not alt.strip():
            yield f"the picture {target} has no alternative text"
    for block in directives(chapter.text):
        if block.kind in ("image", "figure") and not block.options.get("alt"):
            yield f"the {block.kind} {block.title} has no `:alt:`"


def explorables(chapter: Chapter) -> Iterator[str]:
    """There is at least one explorable; each checks its own texts, and its repr is compared."""
    if not any(explorable_calls(cell) for cell in chapter.code):
        yield "no cell makes an `explore.Explorable(...)`"


def comparison(chapter: Chapter) -> Iterator[str]:
    """Only outputs that vary are exempt from the comparison."""
    for cell in chapter.code:
        varies = bool(figure_calls(cell)) or {"timing", "widget"} & set(tags(cell))
        if varies and UNCOMPARED not in tags(cell):
            yield f"the cell {short(cell)} needs the tag {UNCOMPARED}"
        if UNCOMPARED in tags(cell) and not varies:
            yield (
                f"the cell {short(cell)} shows no figure: without {UNCOMPARED}, its output is "
                "compared (or tag it `timing` or `widget` as well)"
            )


def citations(chapter: Chapter) -> Iterator[str]:
    for keys in re.findall(r"\{cite(?::\w+)?\}`([^`]+)`", as_roles(chapter.text)):
        for key in keys.split(","):
            if key.strip() not in chapter.keys:
                yield f"{key.strip()!r} is not in references.bib"


def links(chapter: Chapter) -> Iterator[str]:
    text = strip_fences(chapter.text)
    for role in re.findall(r"\{doc\}`([^`]+)`", text):
        target = re.sub(r".*<(.*)>", r"\1", role)
        if not any((chapter.folder / f"{target}{end}").is_file() for end in (".md", ".ipynb")):
            yield f"{{doc}}`{role}` leads nowhere"
    for target in re.findall(r"\]\(<?([^)#>\s]+)", text):
        if not re.match(r"\w+:", target) and not (chapter.folder / target).exists():
            yield f"the link ({target}) leads nowhere"


def outputs(chapter: Chapter) -> Iterator[str]:
    """Committed outputs are text and contain no paths of the author's machine."""
    if "widgets" in chapter.nb.metadata:
        yield "the notebook contains widget state; run `make notebooks`"
    for cell in chapter.code:
        for output in cell.outputs:
            data = output.get("data", {})
            heavy = [mime for mime in data if mime.startswith(("image/", "application/"))]
            if heavy or any("<svg" in str(content) for content in data.values()):
                yield f"the cell {short(cell)} contains a picture; run `make notebooks`"
            if MACHINE_PATH.search(str(output)):
                yield f"the output of the cell {short(cell)} names a path of one machine"
    for cell in chapter.nb.cells:
        if MACHINE_PATH.search(cell.source):
            yield f"the cell {short(cell)} names a path of one machine"


def numbers(chapter: Chapter) -> Iterator[str]:
    """Every number in prose is computed or asserted by a cell."""
    pool = numerals.Pool()
    texts = [chapter.text.replace(ROUNDING, "")]
    for cell in chapter.code:
        pool.add_code(tree(cell))
        if UNCOMPARED not in tags(cell):  # captions and timings prove nothing
            pool.add_outputs(cell)
        for call in figure_calls(cell) + explorable_calls(cell):
            texts += [literal(word.value) for word in call.keywords if word.arg in WORDS]
    for number in numerals.unproved("\n\n".join(texts), pool):
        name = re.sub(r"\s", "", number.text)
        yield (
            f"{number.context!r}: no cell of this page computes or asserts {number.text}. "
            f"Compute it, or say why not: <!-- not-computed: {name} the reason -->"
        )


def literal(node: ast.expr) -> str:
    """Return the text of a string as it is written, without what an f-string fills in."""
    parts = [part.value for part in ast.walk(node) if isinstance(part, ast.Constant)]
    return " … ".join(part for part in parts if isinstance(part, str))


RULES = (
    head,
    imports,
    sections,
    predictions,
    exercises,
    checks,
    cells,
    noise,
    length,
    figures,
    explorables,
    comparison,
    citations,
    links,
    outputs,
    numbers,
)


def problems(nb: Any, name: str, folder: Path, keys: frozenset[str]) -> list[str]:
    """Return all violations in a chapter, one line each."""
    chapter = Chapter(nb, name, folder, keys)
    return [f"{rule.__name__}: {offence}" for rule in RULES for offence in rule(chapter)]
