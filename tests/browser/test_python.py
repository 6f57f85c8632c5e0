"""Programs typed on a page: Python runs them there, and replies as the notebook does."""

from __future__ import annotations

import ast
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from checks import faultless
from playwright.sync_api import Browser, Locator, Page, Route, expect
from reader import PHONE, ROOT, reading, serving, window
from test_answers import graded
from test_every_cell import RUN
from test_start import KEPT

from cfrbook import exercises
from cfrbook.museum import mutant

sys.path.insert(0, str(ROOT / "book" / "_ext"))
import answers

NAME = "04_vanilla_cfr"
PLANTED = """JSON.parse(document.getElementById("cfr-answers").textContent).exercises
    .find(({ number }) => number === "4.4").program"""
LOOP = "print('on my way')\nwhile True:\n    pass"
WILD = """class Wild:
    def go(self, *_):
        raise {error}
    {methods} = go

friend = {answer}"""
METHODS = (
    "__repr__ = __str__ = __eq__ = __float__ = __iter__ = __len__ = __getitem__ = __bool__"
)
VALUES = "lambda *_: {'K': [Wild(), Wild()]}"
ENDINGS = {
    "exit": "exit()",
    "interrupt": "raise KeyboardInterrupt",
    "no exception known": "class Odd(BaseException): pass\nraise Odd",
    "error without words": "class Odd(Exception):\n    def __str__(self): exit()\nraise Odd",
    "checked function exits": "def friend(*_): exit()",
    "checked function interrupts": "def friend(*_): raise KeyboardInterrupt",
    "answer interrupts": WILD.format(
        error="KeyboardInterrupt", methods=METHODS, answer="Wild()"
    ),
    "values interrupt": WILD.format(error="KeyboardInterrupt", methods=METHODS, answer=VALUES),
    "values exit": WILD.format(error="SystemExit", methods=METHODS, answer=VALUES),
    "last breath": WILD.format(error="KeyboardInterrupt", methods="__del__", answer="Wild()"),
    "check replaced": "from cfrbook import exercises\n"
    "def check(*_): raise KeyboardInterrupt\nexercises.check = check\nfriend = 1",
    "tools gone": "import json\njson.dumps = json.loads = friend = None",
    "builtins gone": "import builtins\nbuiltins.isinstance = builtins.len = friend = None",
    "modules gone": "import sys\nsys.modules.clear()\nfriend = None",
    "process ended": "import os\nos._exit(1)",
    "process aborted": "import os\nos.abort()",
    "stack overflow": "import sys\nsys.setrecursionlimit(10 ** 9)\n"
    "def friend(*_): return friend()\nfriend()",
    "question": "input('Your name? ')",
    "thread": "import threading\nthreading.Thread(target=print).start()\nfriend = 1",
    "worker closed": "import js\njs.close()\nfriend = 1",
}
LONG = "'a' * 50_000_000"
FLOODS = {
    "print": f"print({LONG})",
    "many prints": "for n in range(10 ** 5):\n    print(n)",
    "standard error": f"import sys\nsys.stderr.write({LONG})",
    "first stream": f"import sys\nsys.__stdout__.write({LONG})",
    "file descriptor": f"import os\nfor n in 1, 2:\n    os.write(n, ({LONG}).encode())",
    "warning": f"import warnings\nwarnings.warn({LONG})",
    "exception": f"raise ValueError({LONG})",
    "name": f"raise type({LONG}, (Exception,), {{}})",
    "answer": f"class Long:\n    def __repr__(self):\n        return {LONG}\n\nfriend = Long()",
    "word": f"friend = lambda *_: {{{LONG}: [1, 0]}}",
    "error in the check": f"def friend(*_):\n    raise ValueError({LONG})",
    "last breath": f"class Long:\n    def __del__(_):\n        exit({LONG})\nLong()",
    "messages": "import js\nfor n in range(10 ** 6):\n    js.postMessage(n)",
}
# What one program ruins, each with a line
RUINS = {
    "package": "cfr.regret_matching = None",
    "output": "import sys\nsys.stdout = sys.__stdout__ = None",
    "modules": "import sys\nsys.modules['cfrlib'] = sys.modules['numpy'] = None",
    "builtins": "import builtins\nbuiltins.sum = builtins.print = None",
    "library": "import json\njson.dumps = json.loads = None",
    "trace": "import sys\nsys.settrace(exit)",
    "files": "import shutil, cfrbook\nshutil.rmtree(cfrbook.__path__[0])",
}


@pytest.fixture(scope="module")
def tab(chromium: Browser, served: str) -> Iterator[Page]:
    with window(chromium, PHONE, color_scheme="dark") as page:
        page.on("pageerror", lambda error: pytest.fail(f"page error: {error}"))
        page.goto(f"{served}{NAME}.html")
        yield page


def box(page: Page, number: str = "4.4") -> Locator:
    return page.locator(f'form[data-exercise="{number}"]')


def run(page: Page, program: str | None = None, number: str = "4.4") -> str:
    """Run a program, by default the one that is there, and return the reply."""
    if program is not None:
        box(page, number).locator("textarea").fill(program)
    box(page, number).get_by_role("button", name="Run and check").click()
    stop = box(page, number).get_by_role("button", name="Stop")
    expect(stop).to_be_hidden()
    return box(page, number).get_by_role("status").inner_text()


def printed(page: Page) -> str:
    return box(page).locator("pre").inner_text()


def mended(page: Page) -> str:
    """Return the program of exercise 4.4 without its bug."""
    text = page.evaluate(PLANTED)
    late = "        sigma[I] = cfr.regret_matching(R[I])\n"
    assert text.count(late) == 1
    update = "        sigma.update({I: cfr.regret_matching(R[I]) for I in R})\n    return S"
    return text.replace(late, "").replace("    return S", update)


def test_nothing_is_loaded_before_a_reader_asks(chromium: Browser, served: str) -> None:
    asked: list[str] = []
    with window(chromium) as page:
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{served}{NAME}.html", wait_until="networkidle")
        assert asked and not [url for url in asked if "/python/" in url or "worker" in url]


def test_page_replies_as_the_notebook_does(tab: Page) -> None:
    solution = exercises.find("4.4")
    planted = exercises.check("4.4", solution.mistakes[0].answer())
    assert planted.verdict == "wrong"
    assert run(tab).removeprefix("✗ ") == planted.text
    right = exercises.check("4.4", solution.solution())
    assert run(tab, mended(tab)).removeprefix("✓ ") == right.text
    open_ = exercises.check("4.6", mutant)  # any function but a test
    assert run(tab, "def passes(program):\n    return ...", "4.6").startswith("○ Not answered")
    assert open_.verdict != "right"


REPLIES = """
import json
from cfrbook import exercises
class Found:
    def _repr_mimebundle_(self, *_):
        return {{"text/html": json.dumps({{n: replies(n) for n in {numbers}}})}}
def replies(number):
    exercise = exercises.find(number)
    answers = [exercise.solution, *(mistake.answer for mistake in exercise.mistakes[:2])]
    return [exercise.check(answer()).text for answer in answers]
Found()
"""


@pytest.mark.parametrize("page", [*exercises.pages()])
def test_page_has_the_replies_of_the_notebook(tab: Page, page: str) -> None:
    name = exercises.pages()[page]
    every = answers.page_data(ROOT / "book" / f"{name}.ipynb", hidden=False)["exercises"]
    numbers = [each["number"] for each in every if "program" in each]
    if not numbers:
        pytest.skip("no program")
    source = REPLIES.format(numbers=numbers)
    (events,) = tab.evaluate(RUN, [source])
    found = json.loads(next(text for kind, text in events if kind == "html"))
    for number in numbers:
        exercise = exercises.find(number)
        given = [exercise.solution, *(mistake.answer for mistake in exercise.mistakes[:2])]
        assert found[number] == [exercise.check(answer()).text for answer in given]
        assert found[number][0].startswith("Right.")


@pytest.mark.parametrize("number", ["16.4", "errata.3", "13.5"])
def test_program_may_use_what_the_cells_above_define(
    chromium: Browser, served: str, number: str
) -> None:
    name = exercises.pages()[number.partition(".")[0]]
    cells = json.loads((ROOT / "book" / f"{name}.ipynb").read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    at = next(n for n, source in enumerate(sources) if f'check("{number}"' in source)
    answer, solution = answers.program(number, sources[at])["answer"], sources[at + 1]
    last: Any = ast.parse(solution).body[-1]
    lines = [*solution.splitlines()[: last.lineno - 1]]
    lines.append(f"{answer} = {ast.unparse(last.value.args[1])}")
    with window(chromium) as page:
        page.goto(f"{served}{name}.html")
        assert run(page, "\n".join(lines), number).startswith("✓ ")


def test_output_and_errors_are_shown(tab: Page) -> None:
    said = run(tab, "print('Kuhn', 1 / 4)\ndef f():\n    return 1 / 0\n\nf()")
    assert said == "The program ended with an error."
    assert printed(tab).startswith("Kuhn 0.25\n")
    assert "Line 3, in f\n" in printed(tab)
    assert printed(tab).endswith("ZeroDivisionError: division by zero")
    run(tab, "if True print(1)")
    assert "Line 1" in printed(tab) and "SyntaxError" in printed(tab)
    run(tab, "import jax")
    assert "this page has no jax; the notebook has it" in printed(tab)
    run(tab, "for n in range(10 ** 5):\n    print(n)\nfriend = None")
    assert printed(tab).endswith("more that is not shown.\n") and len(printed(tab)) < 30_000
    run(tab, "print('no end of line', end='')\nfriend = None")
    assert printed(tab).strip() == "no end of line"


def test_endless_loop_is_stopped_and_the_next_run_works(tab: Page) -> None:
    box(tab).locator("textarea").fill(LOOP)
    box(tab).get_by_role("button", name="Run and check").click()
    expect(box(tab).locator("pre")).to_have_text("on my way\n")
    box(tab).get_by_role("button", name="Stop").click()
    expect(box(tab).get_by_role("status")).to_have_text("Stopped.")
    assert run(tab, "friend = 1").startswith("? The answer is a function")


@pytest.mark.parametrize("ending", ENDINGS)
def test_every_ending_has_a_sentence(tab: Page, ending: str) -> None:
    assert len(run(tab, ENDINGS[ending])) > 10
    assert "unning" not in box(tab).get_by_role("status").inner_text()


@pytest.mark.parametrize("flood", FLOODS)
def test_no_output_is_too_long_for_the_page(tab: Page, flood: str) -> None:
    assert 10 < len(run(tab, FLOODS[flood])) < 21_000
    assert box(tab).evaluate("box => box.textContent.length") < 50_000


@pytest.mark.parametrize("ruin", RUINS)
def test_each_run_starts_clean(tab: Page, ruin: str) -> None:
    right = mended(tab)
    run(tab, f"{RUINS[ruin]}\nraise KeyboardInterrupt")
    assert run(tab, f"print('Kuhn')\n{right}").startswith("✓ ")
    assert printed(tab) == "Kuhn\n"


def test_editor_is_used_and_left_by_keyboard(tab: Page) -> None:
    editor = box(tab).locator("textarea")
    editor.fill("")
    editor.focus()
    for key in ("d", "e", "f", ":", "Enter", "x", "Enter", "Tab", "y"):
        tab.keyboard.press(key)
    assert editor.input_value() == "def:\n    x\n        y"
    tab.keyboard.press("Escape")
    tab.keyboard.press("Tab")
    expect(box(tab).get_by_role("button", name="Run and check")).to_be_focused()


def test_program_is_kept_and_start_over_is_undone(tab: Page) -> None:
    box(tab).locator("textarea").fill("friend = 2")
    tab.reload()
    editor = box(tab).locator("textarea")
    expect(editor).to_have_value("friend = 2")
    box(tab).get_by_role("button", name="Start over").click()
    assert editor.input_value().startswith("def friend(game, iterations):")
    box(tab).get_by_role("button", name="Undo").click()
    expect(editor).to_have_value("friend = 2")


def test_saved_program_is_graded(tab: Page, tmp_path: Path) -> None:
    box(tab).get_by_role("button", name="Start over").click()
    box(tab).locator("textarea").fill(mended(tab))
    tab.get_by_label("Your name").fill("Ada")
    saved, earned = graded(tab, "Ada", NAME, tmp_path, ["4.4"])
    assert list(saved["programs"]) == ["4.4"] and earned == {"4.4": "right"}


def test_editors_are_accessible_and_fit_a_phone(tab: Page, axe: str) -> None:
    run(tab, "print(1)\nfriend = 1")
    assert faultless(tab, axe, "form.cfr-answer")
    assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE[0]


def test_page_from_a_folder_says_why_it_cannot(chromium: Browser) -> None:
    with reading(chromium, f"book/{NAME}.html") as visit:
        assert "this one was opened from a folder" in run(visit.page)
        assert visit.problems == []
        visit.page.evaluate("sessionStorage.clear()")


def test_copy_without_python_says_so(chromium: Browser, served: str) -> None:
    none = run_without(chromium, served, lambda route: route.fulfill(status=404, body=""))
    assert none == "This copy of the book has no Python. The notebook runs the program."
    odd = run_without(chromium, served, lambda route: route.fulfill(body="of another kind"))
    assert odd == "Python does not work in this browser. The notebook runs the program."


def test_page_without_a_network_says_so(chromium: Browser, served: str) -> None:
    assert "there is no network" in run_without(chromium, served, lambda route: route.abort())


def run_without(chromium: Browser, served: str, answer: Callable[[Route], None]) -> str:
    """Return the reply on a page whose Python does not come."""
    with window(chromium) as page:
        page.route("**/python/*", answer)
        page.goto(f"{served}{NAME}.html")
        return run(page)


def test_network_that_comes_back_is_used(tab: Page) -> None:
    tab.reload()
    tab.route("**/python/*", lambda route: route.abort())
    assert "there is no network" in run(tab, "friend = 1")
    tab.unroute("**/python/*")
    assert run(tab, "friend = 1").startswith("? ")


def test_python_that_ran_once_runs_without_a_network(chromium: Browser) -> None:
    with window(chromium) as page:
        with serving() as site:
            page.goto(f"{site}book/{NAME}.html")
            page.evaluate(KEPT)
            page.reload()  # now the service worker answers
            assert run(page, "friend = 1").startswith("? ")
        page.reload()
        assert run(page, "friend = 1").startswith("? ")


def test_stop_and_a_second_click_end_what_runs(tab: Page) -> None:
    go = box(tab).get_by_role("button", name="Run and check")
    for program in (LOOP, "while True:\n    print('x')"):
        box(tab).locator("textarea").fill(program)
        for _ in range(2):
            go.click()
            expect(box(tab).locator("pre")).to_be_visible()
            expect(box(tab).get_by_role("button", name="Stop")).to_be_visible()
        box(tab).get_by_role("button", name="Stop").click()
        expect(box(tab).get_by_role("status")).to_have_text("Stopped.")
    assert run(tab, "friend = 1").startswith("? ")
