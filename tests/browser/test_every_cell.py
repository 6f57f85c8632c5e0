"""Every cell of a chapter runs in its page, and shows what it shows in the notebook.

The page's own worker runs the cells from top to bottom. Of each kernel, the first calls are
repeated here by the one that Numba compiled, and every bit is compared.
"""

from __future__ import annotations

import base64
import hashlib
import importlib
import json
import pickle
import re
from collections.abc import Iterator
from typing import Any

import firefox
import pytest
from bs4 import BeautifulSoup
from playwright.sync_api import Browser
from reader import HTML, ROOT, window

QUICK = "01_regret_matching", "04_vanilla_cfr", "07_monte_carlo_cfr"
CHAPTERS = sorted(path.stem for path in (ROOT / "book").glob("0*.ipynb"))
VARYING = {"timing", "nbval-ignore-output", "widget"}
PLAIN: dict[str, set[str]] = {}  # kernels that run as plain Python, by page
CHAOTIC = {"01_regret_matching": {34}}  # figures of rounding errors, by page
TAGS = re.compile(r"<[^>]*>|\s+")
PATH = re.compile(r'<path [^>]*?\bd="([^"]*)"')
NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e-?\d+)?")
CURVE = 12  # numbers of a path that is no tick
RUN = """async (sources) => {
    const root = new URL("../_static/", location.href);
    const worker = new Worker(new URL("python_worker.js", root), { type: "module" });
    const found = sources.map(() => []);
    const told = (what) => new Promise((done, fail) => {
        worker.onmessage = ({ data }) => {
            if (data.failed) fail(new Error("no Python"));
            if (data.kind) found[data.n].push([data.kind, data.text]);
            if (data.ended) found[data.n].push(["seconds", data.seconds]);
            if (data[what]) done();
        };
    });
    worker.postMessage({ home: new URL("python/", root).href });
    await told("ready");
    for (const [n, source] of sources.entries()) {
        if (source === null) continue;
        worker.postMessage({ run: [{ n, source }] });
        await told("finished");
    }
    worker.terminate();
    return found;
}"""
# The cells' own names stay as they are.
BEFORE = """
def record():
    import hashlib, pickle, stand_ins
    calls, often, call = [], {}, stand_ins.Kernel.__call__
    def arrays(x):
        if isinstance(x, tuple):
            return [array for field in x for array in arrays(field)]
        return [x] if hasattr(x, "tobytes") else []
    def recorded(self, *args):
        key = self.__module__, self.__qualname__
        size = sum(array.nbytes for array in arrays(args))
        if often.get(key, 0) == 3 or size > 2e5:
            return call(self, *args)
        often[key] = often.get(key, 0) + 1
        before = pickle.dumps(args)
        result = call(self, *args)
        found = hashlib.sha256(repr(result).encode())
        for array in arrays(args):
            found.update(array.tobytes())
        calls.append((*key, before, found.hexdigest()))
        return result
    stand_ins.Kernel.__call__, stand_ins.calls = recorded, calls
record()
"""
AFTER = """
import base64, pickle, stand_ins
class Found:
    def _repr_mimebundle_(self, *_):
        data = pickle.dumps((sorted(stand_ins.PLAIN), stand_ins.calls))
        return {"text/html": base64.b64encode(data).decode()}
Found()
"""
# Kernels whose arguments are addresses in the page's memory
ADDRESSES = ("cfrlib.large.walks",)


def digest(args: Any, result: Any) -> str:
    """Return a digest of what a kernel has left in its arguments, and of what it returned."""
    found = hashlib.sha256(repr(result).encode())
    for array in arrays(args):
        found.update(array.tobytes())
    return found.hexdigest()


def arrays(x: Any) -> list[Any]:
    """Return the arrays in a tuple of tuples."""
    if isinstance(x, tuple):
        return [array for field in x for array in arrays(field)]
    return [x] if hasattr(x, "tobytes") else []


def words(html: str) -> str:
    """Return the text of a table."""
    return TAGS.sub(" ", html).strip()


def curves(html: str) -> list[list[float]]:
    """Return the points of all curves in figures, without the figures' sizes."""
    paths = [[float(x) for x in NUMBER.findall(d)] for d in PATH.findall(html)]
    return [[*scaled(path[::2]), *scaled(path[1::2])] for path in paths if len(path) > CURVE]


def scaled(numbers: list[float]) -> list[float]:
    """Return numbers as parts of their range; a range below five pixels counts as five."""
    low, high = min(numbers), max(numbers)
    return [(x - low) / max(high - low, 5) for x in numbers]


def different_curves(name: str, found: list[list[list[Any]]]) -> list[int]:
    """Return the cells whose figures have other curves than on the built page."""
    text = (HTML / "book" / f"{name}.html").read_text("utf-8")
    different, compared = [], 0
    for box in BeautifulSoup(text, "html.parser").select(".cell[data-cell]"):
        n = int(str(box["data-cell"]))
        here = "".join(text for kind, text in found[n + 1] if kind == "html" and "<svg" in text)
        mine, theirs = curves(here), curves(str(box.select_one(".cell_output"))) if here else []
        compared += len(mine)
        if list(map(len, mine)) != list(map(len, theirs)) or any(
            abs(x - y) > 0.01
            for pair in zip(mine, theirs, strict=True)
            for x, y in zip(*pair, strict=True)
        ):
            different.append(n)
    assert compared
    return different


def compare(cell: Any, events: list[list[Any]]) -> list[str]:
    """Return what differs between a cell of the notebook and of the page."""
    wrong = []
    printed = "".join(text for kind, text in events if kind == "print").strip()
    outputs = cell["outputs"]
    stream = "".join(
        "".join(o["text"]) for o in outputs if o["output_type"] == "stream"
    ).strip()
    if printed != stream:
        wrong.append(f"prints {printed[:200]!r}, not {stream[:200]!r}")
    errors = [text.splitlines()[-1] for kind, text in events if kind == "error"]
    names = [o["ename"] for o in outputs if o["output_type"] == "error"]
    if [error.partition(":")[0] for error in errors] != names:
        wrong.append(f"errors {errors}, not {names}")
    shown = [words(text) for kind, text in events if kind == "html" and "<svg" not in text]
    data = [o["data"] for o in outputs if "data" in o]
    tables = [words("".join(d["text/html"])) for d in data if "text/html" in d]
    if shown and tables and shown != tables:
        wrong.append(f"shows {shown}, not {tables}")
    texts = [text for kind, text in events if kind == "text"]
    plain = ["".join(d["text/plain"]) for d in data if "text/html" not in d]
    if texts and texts != plain:
        wrong.append(f"shows {texts}, not {plain}")
    return wrong


def sources(name: str) -> list[str | None]:
    """Return the cells of a page that run there, between those that record kernels."""
    cells = json.loads((HTML / "_static" / "cells" / f"{name}.json").read_text("utf-8"))
    return [BEFORE, *(None if "elsewhere" in c else c["source"] for c in cells), AFTER]


def check(name: str, found: list[list[list[Any]]]) -> None:
    """Compare a page's cells and kernels with the notebook and with Numba's."""
    cells = json.loads((ROOT / "book" / f"{name}.ipynb").read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert len(found) == len(code) + 2
    wrong = {
        n: differs
        for n, cell in enumerate(code)
        if found[n + 1]  # none if it runs elsewhere
        and not VARYING & {*cell["metadata"].get("tags", ())}
        and (differs := compare(cell, found[n + 1]))
    }
    assert wrong == {}
    assert {*different_curves(name, found)} <= CHAOTIC.get(name, set())
    last = next(text for kind, text in found[-1] if kind == "html")
    plain, calls = pickle.loads(base64.b64decode(last))
    assert {*plain} == PLAIN.get(name, set())
    assert calls
    for module, kernel, given, right in calls:
        if module not in ADDRESSES:
            args = pickle.loads(given)
            function: Any = importlib.import_module(module)
            for part in kernel.split("."):
                function = getattr(function, part)
            assert digest(args, function(*args)) == right, f"{module}.{kernel}"


def test_difference_is_found() -> None:
    cell = {"outputs": [{"output_type": "stream", "text": ["0.5\n"]}]}
    assert compare(cell, [["print", "0.5\n"]]) == []
    assert compare(cell, [["print", "0.6\n"]]) and compare(
        cell, [["error", "a\nValueError: b"]]
    )


def test_ten_seconds_of_the_readme_run_on_a_page(chromium: Browser, served: str) -> None:
    _, _, rest = (ROOT / "README.md").read_text("utf-8").partition("## Ten seconds")
    lines = [
        line.strip() for line in rest.partition("\n##")[0].splitlines() if line[:4] == "    "
    ]
    elsewhere = ("cfr.deep", "from_open_spiel")
    here = [line for line in lines if not any(word in line for word in elsewhere)]
    assert len(here) == len(lines) - 2
    code = [line.replace("seconds=60", "seconds=2") for line in here]
    with window(chromium) as page:
        page.goto(f"{served}index.html")
        found = page.evaluate(RUN, [*code, "import stand_ins; print(stand_ins.PLAIN)"])
    assert [text for events in found for kind, text in events if kind == "error"] == []
    assert ["print", "set()\n"] in found[-1]


@pytest.fixture(scope="module")
def fox() -> Iterator[firefox.Firefox]:
    with firefox.opened() as browser:
        yield browser


def in_order(name: str) -> Any:
    """Return a chapter, of which `make test` runs some."""
    return pytest.param(name, marks=[pytest.mark.quick] * (name in QUICK))


@pytest.mark.parametrize("chapter", [*map(in_order, CHAPTERS)])
def test_every_cell_runs_in_chromium(chromium: Browser, served: str, chapter: str) -> None:
    with window(chromium) as page:
        page.goto(f"{served}{chapter}.html")
        check(chapter, page.evaluate(RUN, sources(chapter)))


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_cell_runs_in_firefox(fox: firefox.Firefox, served: str, chapter: str) -> None:
    fox.open(f"{served}{chapter}.html")
    check(chapter, fox.run(RUN, sources(chapter)))
