"""Chapters under a living JupyterLab: all cells run, and a slider draws anew."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from explorables import explorables
from playwright.sync_api import Browser, Locator, Page, TimeoutError
from reader import DESKTOP, ROOT

from cfrlib.explore import Explorable, Linear, Log, Mix
from cfrlib.explore.controls import share

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
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Return the address of a JupyterLab that shares nothing with the user's own."""
    home = tmp_path_factory.mktemp("jupyter")
    book = home / "book"
    book.mkdir()
    for chapter in CHAPTERS:
        shutil.copy(ROOT / "book" / chapter, book)
    for name, settings in SETTINGS.items():
        path = home / "config" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(settings), "utf-8")
    places = ["CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"]
    dirs = {f"JUPYTER_{place}": str(home / place[:-4].lower()) for place in places}
    environment = {**os.environ, **dirs, "IPYTHONDIR": str(home / "ipython")}
    environment.pop("CFRLIB_PAGE", None)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [
        f"--ServerApp.port={port}",
        "--ServerApp.port_retries=0",
        "--ServerApp.ip=127.0.0.1",
        f"--ServerApp.root_dir={book}",
        "--IdentityProvider.token=",
        "--LabApp.expose_app_in_browser=True",
        "--no-browser",
        "--allow-root",
    ]
    log = home / "log"
    command = [sys.executable, "-m", "jupyterlab", *options]
    with log.open("wb") as sink:
        server = subprocess.Popen(
            command, env=environment, cwd=book, stdout=sink, stderr=subprocess.STDOUT
        )
    try:
        yield wait_for(server, f"http://127.0.0.1:{port}", log)
    finally:
        server.terminate()  # its kernels go with it
        server.wait(20)


def wait_for(server: subprocess.Popen[bytes], url: str, log: Path) -> str:
    for _ in range(600):
        try:
            urllib.request.urlopen(f"{url}/api/status", timeout=5).close()
            return url
        except OSError:
            time.sleep(0.1)
        if server.poll() is not None:
            break
    pytest.fail(f"JupyterLab did not start:\n{log.read_text('utf-8')[-3000:]}", pytrace=False)


@pytest.fixture(scope="module", params=CHAPTERS)
def notebook(chromium: Browser, lab: str, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Open a chapter and run all of its cells."""
    size = {"width": DESKTOP[0], "height": DESKTOP[1]}
    context = chromium.new_context(viewport=size)
    page = context.new_page()
    page.goto(f"{lab}/doc/tree/{request.param}")
    try:
        page.wait_for_function(READY, timeout=40_000)
    except TimeoutError:  # about one kernel in a hundred never answers
        page.evaluate(f"{NOTEBOOK}.sessionContext.restartKernel()")
        page.wait_for_function(READY, timeout=40_000)
    page.evaluate("jupyterapp.commands.execute('notebook:clear-all-cell-outputs')")
    page.evaluate("jupyterapp.commands.execute('notebook:run-all-cells')")
    yield page
    context.close()


def test_all_cells_run(notebook: Page) -> None:
    cells = notebook.evaluate(CELLS)
    code = [cell for cell in cells if cell["cell_type"] == "code" and cell["source"].strip()]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [(cell, output) for cell in code for output in cell["outputs"]]
    assert outputs
    for cell, output in outputs:
        meant = "raises-exception" in cell["metadata"].get("tags", [])
        assert meant or output["output_type"] != "error", output
        assert output.get("name") != "stderr", output


def test_a_slider_draws_anew(notebook: Page) -> None:
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

    for _ in range(100):  # the handle may still be on its way
        expected = explorable.frame_html(**moved(explorable, readout.inner_text()))
        wanted = read(notebook, expected)
        if words(stage) == wanted:
            break
        notebook.wait_for_timeout(100)
    assert words(stage) == wanted
    assert words(stage) != before[0]
    assert stage.locator("svg").first.inner_html() != before[1]


def drag(slider: Locator, to: float) -> None:
    """Pull the handle to a place on its track, 0 at the left and 1 at the right."""
    slider.locator(".noUi-handle").hover()  # waits until it stands still
    mouse = slider.page.mouse
    mouse.down()
    track = slider.locator(".noUi-base").bounding_box()
    assert track
    mouse.move(track["x"] + track["width"] * to, track["y"], steps=10)
    mouse.up()


def moved(explorable: Explorable, readout: str) -> dict[str, Any]:
    """Return the value that the first control has when its first slider says `readout`."""
    name, control = next(iter(explorable.controls.items()))
    number = float(readout.replace(",", "").replace("−", "-"))
    if isinstance(control, Mix):
        return {name: share(control.positions[control.start], 0, number)}
    assert isinstance(control, Linear | Log)
    return {name: control.check(number)}


WORDS = """stage => [
  stage.querySelector(".cfr-panels").getAttribute("aria-label"),
  ...[...stage.querySelectorAll("dt, dd")].map(e => e.textContent)]"""


def words(stage: Locator) -> list[str]:
    """Return what the picture is said to show, and the numbers below it."""
    return stage.evaluate(WORDS)


def read(page: Page, html: str) -> list[str]:
    """Return the same of a frame that Python has drawn."""
    stage = "Object.assign(document.createElement('div'), {innerHTML: html})"
    return page.evaluate(f"html => ({WORDS})({stage})", html)
