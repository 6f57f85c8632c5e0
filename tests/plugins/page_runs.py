"""A pytest plugin: what nbval has run and found right, the book shows, and does not run again.

Notebooks run as they do while the book is built, explorables drawing all their positions. One
whose every cell ran and agreed goes into the book's cache of executed notebooks, and the
explorables that it made are kept for `tests/browser`, which drives them as live widgets.
"""

import copy
import os
import sys
from pathlib import Path

import pytest
from jupyter_cache import get_cache
from jupyter_cache.base import CacheBundleIn, JupyterCacheAbstract
from nbval import plugin

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import build
import explorables
import kernels
import notebooks

_run, _compare = plugin.IPyNbCell.runtest, plugin.IPyNbCell.compare_outputs
_setup, _teardown = plugin.IPyNbFile.setup, plugin.IPyNbFile.teardown


def cache(config: pytest.Config) -> JupyterCacheAbstract:
    """Return the book's cache of executed notebooks, or another that `make portable` names."""
    place = os.environ.get("CFRLIB_PAGE_CACHE")
    return get_cache(place or config.rootpath / "_build" / ".jupyter_cache")


def pytest_configure(config: pytest.Config) -> None:
    """Draw as for a page; make the cache before several processes write into it."""
    os.environ["CFRLIB_PAGE"] = "1"
    if not hasattr(config, "workerinput"):  # in the first process
        build.forget_outdated()
        cache(config).list_cache_records()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the notebooks that take longest: a process runs a whole one at a time."""
    items.sort(key=lambda item: build.rank(item.path))


def compare_outputs(cell, test, ref, skip_compare=None):
    """As nbval does, but of what is shown only that part which is committed."""
    kept = copy.deepcopy(test)
    for output in kept:
        for mime in list(output.get("data", ())):
            if not notebooks.keeps(mime, output.data[mime]):
                del output.data[mime]
    return _compare(cell, kept, ref, skip_compare)


def runtest(cell: plugin.IPyNbCell) -> None:
    """Run and compare one cell; if all is well, remember what it showed."""
    _run(cell)
    cell.parent.right = getattr(cell.parent, "right", {})
    cell.parent.right[cell.cell_num] = cell.test_outputs


def order(file: plugin.IPyNbFile, code: str) -> None:
    """Run code that is no cell of a notebook in its kernel."""
    message = file.kernel.execute_cell_input(code, allow_stdin=False)
    file.kernel.await_reply(message, kernels.PATIENCE)
    file.kernel.await_idle(message, kernels.PATIENCE)


def setup(file: plugin.IPyNbFile) -> None:
    """Start the kernel, and have it note the explorables that are made."""
    _setup(file)
    if "Explorable(" in file.path.read_text("utf-8"):
        order(file, explorables.COLLECT)


def teardown(file: plugin.IPyNbFile) -> None:
    """Give a notebook that was right to the book; as the cells of a file end, so does it."""
    right = getattr(file, "right", {})
    nb = copy.deepcopy(file.nb)
    cells = [cell for cell in nb.cells if cell.cell_type == "code"]
    whole = len(right) == len(cells)
    ours = "CFRLIB_PAGE_CACHE" not in os.environ  # not an imitated machine's
    if whole and ours and "Explorable(" in file.path.read_text("utf-8"):
        place = explorables.kept(file.path)
        order(file, explorables.KEEP.format(place=str(place)))
        assert place.exists(), f"what {file.path.name} draws cannot be pickled"
    _teardown(file)
    if not whole:
        return
    for count, cell in enumerate(cells):
        cell.outputs, cell.execution_count = right[count], count + 1
    cache(file.config).cache_notebook_bundle(
        CacheBundleIn(nb, str(file.path)), check_validity=False, overwrite=True
    )


plugin.IPyNbCell.runtest, plugin.IPyNbCell.compare_outputs = runtest, compare_outputs
plugin.IPyNbFile.setup, plugin.IPyNbFile.teardown = setup, teardown
