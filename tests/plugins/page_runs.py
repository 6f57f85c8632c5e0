"""A pytest plugin: notebooks that pass nbval go into the build's cache of executed notebooks.

Notebooks run as in the build: explorables draw all their positions. If all cells of a notebook
match, the build does not run it again. Its explorables are saved for `tests/browser`, which
tests them as live widgets.
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
    path = os.environ.get("CFRLIB_PAGE_CACHE")
    return get_cache(path or config.rootpath / "_build" / ".jupyter_cache")


def pytest_configure(config: pytest.Config) -> None:
    """Draw as for a page; create the cache before several processes write to it."""
    os.environ |= build.AS_PAGE
    if not hasattr(config, "workerinput"):  # in the first process
        build.forget_outdated()
        cache(config).list_cache_records()


def compare_outputs(cell, test, ref, skip_compare=None):
    """Compare as nbval does, but only the MIME types that are committed."""
    committed = copy.deepcopy(test)
    for output in committed:
        for mime in list(output.get("data", ())):
            if not notebooks.keeps(mime, output.data[mime]):
                del output.data[mime]
    return _compare(cell, committed, ref, skip_compare)


def runtest(cell: plugin.IPyNbCell) -> None:
    """Run and compare one cell; store its outputs if they match."""
    _run(cell)
    cell.parent.matching = getattr(cell.parent, "matching", {})
    cell.parent.matching[cell.cell_num] = cell.test_outputs


def run_in_kernel(file: plugin.IPyNbFile, code: str) -> None:
    """Run code in a notebook's kernel."""
    message = file.kernel.execute_cell_input(code, allow_stdin=False)
    file.kernel.await_reply(message, kernels.PATIENCE)
    file.kernel.await_idle(message, kernels.PATIENCE)


def setup(file: plugin.IPyNbFile) -> None:
    """Start the kernel and make it record its explorables."""
    _setup(file)
    if "Explorable(" in file.path.read_text("utf-8"):
        run_in_kernel(file, explorables.COLLECT)


def teardown(file: plugin.IPyNbFile) -> None:
    """Cache a notebook whose cells all match, with its explorables; stop the kernel."""
    matching = getattr(file, "matching", {})
    nb = copy.deepcopy(file.nb)
    cells = [cell for cell in nb.cells if cell.cell_type == "code"]
    passed = len(matching) == len(cells)
    emulated = "CFRLIB_PAGE_CACHE" in os.environ  # `make portable` emulates other processors
    if passed and not emulated and "Explorable(" in file.path.read_text("utf-8"):
        path = explorables.cache_file(file.path)
        run_in_kernel(file, explorables.SAVE.format(path=str(path)))
        assert path.exists(), f"the explorables of {file.path.name} cannot be pickled"
    _teardown(file)
    if not passed:
        return
    for count, cell in enumerate(cells):
        cell.outputs, cell.execution_count = kernels.joined(matching[count]), count + 1
    cache(file.config).cache_notebook_bundle(
        CacheBundleIn(nb, str(file.path)), check_validity=False, overwrite=True
    )


plugin.IPyNbCell.runtest, plugin.IPyNbCell.compare_outputs = runtest, compare_outputs
plugin.IPyNbFile.setup, plugin.IPyNbFile.teardown = setup, teardown
