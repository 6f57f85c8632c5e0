"""An nbgrader preprocessor that runs each submission in a sandbox.

nbgrader runs a submission in `autograded/STUDENT/ASSIGNMENT`. A submission that deletes `../..`
deletes everybody's graded work, and one that deletes `../../..` deletes the course with its
grade book. nbgrader interrupts a cell at its time limit, but if the kernel dies or ignores the
interrupt, the notebook gets no grade at all. This preprocessor changes that:

- The kernel works in a temporary folder of its own, eight folders deep, which is also its home
  folder.
- A kernel that died or ignored an interrupt is replaced by a new one, which runs the given
  cells again and continues with the next exercise.
- The kernel may allocate `memory` GiB; a cell that needs more raises an error.
- Where bubblewrap is installed and works (Linux), the kernel runs in its sandbox: it has no
  network, can write only to its own folder, and cannot even read the course and its solutions.

Without bubblewrap, the kernel is an ordinary process of the same user, with access to absolute
paths and to the network.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from uuid import uuid4

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute
from nbgrader.utils import is_grade, is_locked
from numba.core.caching import _CacheLocator
from traitlets import Bool, Integer

import cfrlib

DEPTH = 8  # parent folders of the one that a submission works in


def bubblewrap(folder: Path) -> list[str]:
    """Return the bubblewrap command for a kernel that may write to one folder."""
    course = str(Path(__file__).resolve().parent)
    read_only = ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    writable = ["--tmpfs", course, "--bind", str(folder), str(folder)]
    # inside, the kernel's parent is process 1, which the kernel takes as a signal to exit
    isolated = ["--unshare-all", "--die-with-parent", "--unsetenv", "JPY_PARENT_PID"]
    return ["bwrap", *read_only, *writable, *isolated]


def can_sandbox() -> bool:
    """Return whether bubblewrap is installed and permitted to run."""
    if not shutil.which("bwrap"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run([*bubblewrap(Path(folder)), "true"], capture_output=True)
    return tried.returncode == 0


def copy_compiled(folder: Path) -> None:
    """Copy the library's compiled kernels to a folder for `NUMBA_CACHE_DIR`.

    Numba does not read a cache that it cannot write to, so without a copy every submission
    in the sandbox would compile the library for itself.
    """
    for cache in Path(cfrlib.__file__).parent.rglob("__pycache__"):
        kept = folder / _CacheLocator.get_suitable_cache_subpath(str(cache.parent / "any.py"))
        kept.mkdir()
        for file in cache.glob("*.nb[ic]"):
            shutil.copy(file, kept)


class Contained(Execute):  # type: ignore[misc]
    """Nbgrader's `Execute`, with a folder, a memory limit and new kernels when needed."""

    memory = Integer(4, help="GiB that a kernel may allocate; 0: no limit").tag(config=True)
    patience = Integer(600, help="seconds that a given cell may take: it may compile").tag(
        config=True
    )
    sandbox = Bool(False, help="run kernels in bubblewrap").tag(config=True)

    def preprocess(self, nb: Any, resources: Any, km: Any = None) -> tuple[Any, Any]:
        """Run a notebook in a folder of its own, with a copy of its files."""
        self.source = Path(resources["metadata"]["path"])
        with tempfile.TemporaryDirectory(
            prefix="submission-", ignore_cleanup_errors=True
        ) as top:
            self.folder = Path(top, *map(str, range(1, DEPTH)), self.source.name)
            metadata = {**resources["metadata"], "path": str(self.folder)}
            nb, _ = super().preprocess(nb, {**resources, "metadata": metadata}, km)
        return nb, resources

    def start_new_kernel(self, **options: Any) -> None:
        """Start a kernel whose home is the folder it works in."""
        top = self.folder.parents[DEPTH - 1]
        no_notebooks = shutil.ignore_patterns("*.ipynb")
        shutil.copytree(self.source, self.folder, ignore=no_notebooks, dirs_exist_ok=True)
        if os.name == "posix":
            # Unix sockets need no network
            self.km.transport, self.km.ip = "ipc", str(top / f"socket-{uuid4().hex[:6]}")
            self.km.kernel_spec.argv = self.command(self.km.kernel_spec.argv, top)
        if self.sandbox:
            self.km.kernel_spec.interrupt_mode = "message"  # a signal would end bubblewrap
        home = dict.fromkeys(("HOME", "TMPDIR", "IPYTHONDIR"), str(self.folder))
        options["env"] = {**os.environ, **home}
        if self.sandbox and "NUMBA_CACHE_DIR" not in os.environ:
            compiled = Path(tempfile.mkdtemp(prefix="compiled-", dir=top))
            copy_compiled(compiled)
            options["env"]["NUMBA_CACHE_DIR"] = str(compiled)
        options |= dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)  # its log
        super().start_new_kernel(**options)

    def command(self, kernel: list[str], top: Path) -> list[str]:
        """Return the command that starts a kernel with limited memory, sandboxed if set."""
        limit = f"ulimit -d {self.memory * 2**20 or 'unlimited'}"
        sandbox = bubblewrap(top) if self.sandbox else []
        return ["sh", "-c", f'{limit}; exec "$@"', "sh", *sandbox, sys.executable, *kernel[1:]]

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        """Run a cell; restart the kernel if it died or ignored an interrupt."""
        try:
            cell, resources = super().preprocess_cell(cell, resources, index)
        except (DeadKernelError, CellTimeoutError) as error:
            died = isinstance(error, DeadKernelError)
            what = "The kernel died" if died else "This ran too long and could not be stopped"
            text = f"{what}; the cells below ran in a new kernel."
            lost = new_output("error", ename="Lost", evalue=text, traceback=[text])
            cell.outputs.append(lost)
            self.restart(index)
        return cell, resources

    def restart(self, index: int) -> None:
        """Start a new kernel and run the given cells that precede position `index`."""
        self.shutdown_kernel = "immediate"
        self._cleanup_kernel()
        self.km = self.create_kernel_manager()
        self.start_new_kernel()
        self.start_new_kernel_client()
        for place, cell in enumerate(self.nb.cells[:index]):
            if self.is_given(cell):
                self.execute_cell(cell, place, store_history=False)

    @staticmethod
    def is_given(cell: Any) -> bool:
        """Return whether a cell is locked code that is not graded."""
        return cell.cell_type == "code" and is_locked(cell) and not is_grade(cell)

    def _get_timeout(self, cell: Any) -> int | None:
        given = cell is not None and self.is_given(cell)
        return self.patience if given else super()._get_timeout(cell)
