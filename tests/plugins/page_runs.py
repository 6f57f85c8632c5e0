"""A pytest plugin that hands notebooks that pass nbval to the book's build.

Notebooks run as in the build, with explorables drawing all their positions. If all cells of a
notebook ran and matched, it goes into the book's cache of executed notebooks, so the build does
not run it again. Its explorables are kept for `tests/browser`, which drives them as live
widgets.
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
    """Return the book's cache of executed notebooks, or the one set by `make portable`."""
    place = os.environ.get("CFRLIB_PAGE_CACHE")
    return get_cache(place or config.rootpath / "_build" / ".jupyter_cache")


def pytest_configure(config: pytest.Config) -> None:
    """Draw as for a page; create the cache before several processes write into it."""
    os.environ["CFRLIB_PAGE"] = "1"
    if not hasattr(config, "workerinput"):  # in the first process
        build.forget_outdated()
        cache(config).list_cache_records()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest notebooks first: each process runs a whole notebook at a time."""
    items.sort(key=lambda item: build.rank(item.path))


def compare_outputs(cell, test, ref, skip_compare=None):
    """Compare as nbval does, but only the kinds of output that are committed."""
    kept = copy.deepcopy(test)
    for output in kept:
        for mime in list(output.get("data", ())):
            if not notebooks.keeps(mime, output.data[mime]):
                del output.data[mime]
    return _compare(cell, kept, ref, skip_compare)


def runtest(cell: plugin.IPyNbCell) -> None:
    """Run and compare one cell; keep its outputs if they match."""
    _run(cell)
    cell.parent.right = getattr(cell.parent, "right", {})
    cell.parent.right[cell.cell_num] = cell.test_outputs


def run_in_kernel(file: plugin.IPyNbFile, code: str) -> None:
    """Run code in a notebook's kernel."""
    message = file.kernel.execute_cell_input(code, allow_stdin=False)
    file.kernel.await_reply(message, kernels.PATIENCE)
    file.kernel.await_idle(message, kernels.PATIENCE)


def setup(file: plugin.IPyNbFile) -> None:
    """Start the kernel and make it record the explorables that are created."""
    _setup(file)
    if "Explorable(" in file.path.read_text("utf-8"):
        run_in_kernel(file, explorables.COLLECT)


def teardown(file: plugin.IPyNbFile) -> None:
    """Cache a notebook whose cells all matched, with its explorables; stop the kernel."""
    right = getattr(file, "right", {})
    nb = copy.deepcopy(file.nb)
    cells = [cell for cell in nb.cells if cell.cell_type == "code"]
    whole = len(right) == len(cells)
    imitated = "CFRLIB_PAGE_CACHE" in os.environ  # by `make portable`
    if whole and not imitated and "Explorable(" in file.path.read_text("utf-8"):
        place = explorables.kept(file.path)
        run_in_kernel(file, explorables.KEEP.format(place=str(place)))
        assert place.exists(), f"the explorables of {file.path.name} cannot be pickled"
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
