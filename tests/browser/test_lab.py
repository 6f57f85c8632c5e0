"""Chapters in JupyterLab and Notebook 7: cells run, solutions are folded, a slider redraws."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kernels
import pytest
from explorables import explorables
from playwright.sync_api import Browser, Locator, Page
from reader import ROOT, tool, window

from cfrbook.explore import Explorable, Linear, Log, Mix
from cfrbook.explore.controls import rounded, share

CHAPTERS = ["01_regret_matching.ipynb", "04_vanilla_cfr.ipynb"]
SETTINGS = {  # no news, and every cell in the page, though it be far below
    "labconfig/page_config.json": {
        "disabledExtensions": {"@jupyterlab/apputils-extension:announcements": True}
    },
    "lab/user-settings/@jupyterlab/notebook-extension/tracker.jupyterlab-settings": {
        "windowingMode": "none"
    },
}
NOTEBOOK = "[...jupyterapp.shell.widgets('main')].find(w => w.sessionContext)"
CELLS = f"{NOTEBOOK}.content.model.toJSON().cells"
READY = f"window.jupyterapp && {NOTEBOOK}?.sessionContext.session?.kernel?.status === 'idle'"


@pytest.fixture(scope="module")
def lab() -> Iterator[str]:
    """Return the address of a JupyterLab that shares nothing with the user's own."""
    short = "/tmp" if kernels.TRANSPORT == "ipc" else None  # a socket's path has 100 letters
    with tempfile.TemporaryDirectory(prefix="lab-", dir=short) as folder:
        home = Path(folder)
        book = home / "book"
        book.mkdir()
        for chapter in CHAPTERS:
            shutil.copy(ROOT / "book" / chapter, book)
        for name, settings in SETTINGS.items():
            path = home / "config" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps(settings), "utf-8")
        server, address = started(home)
        try:
            yield address
        finally:
            server.terminate()  # its kernels go with it
            server.wait()


def started(home: Path) -> tuple[subprocess.Popen[bytes], str]:
    """Start JupyterLab; return its process and address.

    It looks for a free port before it listens there. If another process has taken that port by
    then, it ends, and another server is started.
    """
    places = ["CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"]
    dirs = {f"JUPYTER_{place}": str(home / place[:-4].lower()) for place in places}
    environment = {**os.environ, **dirs, "IPYTHONDIR": str(home / "ipython")}
    environment.pop("CFRLIB_PAGE", None)
    options = [
        "--ServerApp.port=0",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={home / 'book'}",
        "--IdentityProvider.token=",
        f"--KernelManager.transport={kernels.TRANSPORT}",
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        "--no-browser",
        "--allow-root",
    ]
    command = [sys.executable, "-m", "jupyterlab", *options]
    log = home / "log"
    for _ in range(3):
        with log.open("wb") as sink:
            server = subprocess.Popen(
                command,
                env=environment,
                cwd=home / "book",
                stdout=sink,
                stderr=subprocess.STDOUT,
            )
        if address := answered(server, home / "runtime" / f"jpserver-{server.pid}.json"):
            return server, address
        server.kill()
        if b"already in use" not in log.read_bytes():
            break
    pytest.fail(f"JupyterLab did not start:\n{log.read_text('utf-8')[-3000:]}", pytrace=False)


def answered(server: subprocess.Popen[bytes], info: Path) -> str | None:
    """Wait until a server has written where it is and answers there; None if it ended."""
    latest = time.monotonic() + tool.PATIENCE / 1000
    while server.poll() is None and time.monotonic() < latest:
        try:
            address = json.loads(info.read_text("utf-8"))["url"].rstrip("/")
            urllib.request.urlopen(f"{address}/api/status").close()
            return str(address)
        except (OSError, ValueError):  # not there yet, or not complete
            time.sleep(0.1)
    return None


@pytest.fixture(scope="module", params=CHAPTERS)
def notebook(chromium: Browser, lab: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Open a chapter and run all of its cells."""
    with window(chromium) as page:
        page.goto(f"{lab}/doc/tree/{request.param}")
        page.wait_for_function(READY)
        page.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
        page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
        yield page


def test_all_cells_run_without_errors(notebook: Page) -> None:
    cells = notebook.evaluate(CELLS)
    code = [cell for cell in cells if cell["cell_type"] == "code" and cell["source"].strip()]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [(cell, output) for cell in code for output in cell["outputs"]]
    assert outputs
    for cell, output in outputs:
        meant = "raises-exception" in cell["metadata"].get("tags", [])
        assert meant or output["output_type"] != "error", output
        assert output.get("name") != "stderr", output


def test_solutions_are_folded_and_answers_open(notebook: Page) -> None:
    check_folds(notebook)


def test_solutions_are_folded_in_notebook_7(chromium: Browser, lab: str) -> None:
    with window(chromium) as page:
        page.goto(f"{lab}/notebooks/{CHAPTERS[1]}")  # nbgrader brings Notebook 7
        page.wait_for_function(READY)
        assert page.evaluate("jupyterapp.name") == "Jupyter Notebook"
        check_folds(page)


def check_folds(notebook: Page) -> None:
    """Check which cells of a notebook show their code as it opens."""
    cells = notebook.evaluate(CELLS)
    shown = notebook.evaluate(f"{NOTEBOOK}.content.widgets.map(c => !c.inputHidden)")
    tags = [cell["metadata"].get("tags", []) for cell in cells]
    assert {"answer", "solution", "remove-cell"} <= {tag for some in tags for tag in some}
    for tag, is_shown in (("answer", True), ("solution", False), ("remove-cell", False)):
        found = [open_ for some, open_ in zip(tags, shown, strict=True) if tag in some]
        assert found == [is_shown] * len(found), tag


def test_slider_redraws_the_figure(notebook: Page) -> None:
    name = notebook.url.rpartition("/")[2]
    explorable = explorables(ROOT / "book" / name)[0]
    sources = [cell["source"] for cell in notebook.evaluate(CELLS)]
    cell = next(n for n, source in enumerate(sources) if "Explorable(" in source)
    notebook.evaluate(f"{NOTEBOOK}.content.scrollToItem({cell}, 'start')")
    box = notebook.locator(".jp-Notebook .cfr-explore:has(.widget-hslider)").first
    box.locator(".noUi-handle").first.wait_for()
    stage = box.locator(".cfr-stage")
    assert words(stage) == read(notebook, explorable.frame_html())
    before = words(stage), stage.locator("svg").first.inner_html()

    slider = box.locator(".widget-hslider").first
    readout = slider.locator(".widget-readout")
    start = readout.inner_text()
    drag(slider, 0.6)
    assert readout.inner_text() != start

    wanted = None
    while words(stage) != wanted:  # the handle may still be on its way
        at = readout.inner_text()
        wanted = read(notebook, explorable.frame_html(**moved(explorable, at)))
        notebook.wait_for_function(DRAWN, arg=[box.element_handle(), wanted, at])
    assert words(stage) != before[0]
    assert stage.locator("svg").first.inner_html() != before[1]


@pytest.mark.parametrize("notebook", CHAPTERS[:1], indirect=True)
def test_linked_sliders_agree_while_one_is_dragged(notebook: Page) -> None:
    """Rounded by the browser, the values of the others would come back as moves of theirs."""
    explorable = explorables(ROOT / "book" / CHAPTERS[0])[0]
    (mix,) = explorable.controls.values()
    assert isinstance(mix, Mix) and len({*mix.positions[mix.start][1:]}) == 1
    box = notebook.locator(".jp-Notebook .cfr-explore:has(.widget-hslider)").first
    sliders, stage = box.locator(".widget-hslider"), box.locator(".cfr-stage")
    readouts = sliders.locator(".widget-readout")
    name = next(iter(explorable.controls))
    for to in (0.9, 0.13, 0.62, 0.27, 0.41):
        drag(sliders.first, to, steps=40)
        before = None
        while before != (before := (readouts.all_inner_texts(), words(stage))):
            notebook.wait_for_timeout(1_000)  # the kernel still redraws
        found = [float(text) for text in before[0]]
        value = rounded(share(mix.positions[mix.start], 0, found[0]), 0, 10 * mix.parts)
        assert found == [round(p, 2) for p in value]
        assert before[1] == read(notebook, explorable.frame_html(**{name: value}))


def drag(slider: Locator, to: float, steps: int = 10) -> None:
    """Pull the handle to a place on its track, 0 at the left and 1 at the right."""
    slider.locator(".noUi-handle").hover()  # waits until it stands still
    mouse = slider.page.mouse
    mouse.down()
    track = slider.locator(".noUi-base").bounding_box()
    assert track
    mouse.move(track["x"] + track["width"] * to, track["y"], steps=steps)
    mouse.up()


def moved(explorable: Explorable, readout: str) -> dict[str, Any]:
    """Return the value that the first control has when its first slider says `readout`."""
    name, control = next(iter(explorable.controls.items()))
    number = float(readout.replace(",", "").replace("−", "-"))
    if isinstance(control, Mix):
        mix = share(control.positions[control.start], 0, number)
        return {name: rounded(mix, 0, 10 * control.parts)}
    assert isinstance(control, Linear | Log)
    return {name: control.check(number)}


WORDS = """stage => [
  stage.querySelector(".cfr-panels").getAttribute("aria-label"),
  ...[...stage.querySelectorAll("dt, dd")].map(e => e.textContent)]"""

# The figure shows what is expected of a place of its slider, or the slider is elsewhere now.
DRAWN = f"""([box, wanted, at]) => {{
  const stage = box.querySelector(".cfr-stage");  // another one at each redraw
  return box.querySelector(".widget-readout").innerText !== at ||
    (stage && JSON.stringify(({WORDS})(stage)) === JSON.stringify(wanted));
}}"""


def words(stage: Locator) -> list[str]:
    """Return what the picture is said to show, and the numbers below it."""
    return stage.evaluate(WORDS)


def read(page: Page, html: str) -> list[str]:
    """Return the same of a frame that Python has drawn."""
    stage = "Object.assign(document.createElement('div'), {innerHTML: html})"
    return page.evaluate(f"html => ({WORDS})({stage})", html)
