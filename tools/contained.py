"""Run a submission so that it can spoil nothing but itself: a preprocessor for nbgrader.

nbgrader runs a submission in `autograded/STUDENT/ASSIGNMENT`, so one that deletes `..` deletes
its neighbors, and one that deletes `../../..` the course with the grade book. It gives each cell a
time-out and interrupts it; a kernel that dies ends the grading of its notebook without any grade,
and one that ignores the interruption takes all later exercises with it. Here

- the kernel works in a folder of its own, made for it, eight folders deep and thrown away
  afterward, which is its home folder too;
- a kernel that died or does not let itself be interrupted is replaced by a new one, which runs
  the given cells again and goes on with the next exercise;
- it may have `memory` GiB, and asking for more is an error in its cell.

It is still a process of the same user: absolute paths and the network are open to it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute
from nbgrader.utils import is_grade, is_locked
from traitlets import Integer

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

DEPTH = 8  # folders around the one that a submission works in


class Contained(Execute):  # type: ignore[misc]
    """Nbgrader's `Execute`, with a folder, a memory limit and new kernels when needed."""

    memory = Integer(4, help="GiB that a kernel may allocate; 0: as many as it likes").tag(
        config=True
    )
    patience = Integer(600, help="seconds that a given cell may take: it may compile").tag(
        config=True
    )

    def preprocess(self, nb: Any, resources: Any, km: Any = None) -> tuple[Any, Any]:
        """Run a notebook in a folder of its own, which has the files that came with it."""
        with scratch(Path(resources["metadata"]["path"])) as folder:
            metadata = {**resources["metadata"], "path": str(folder)}
            nb, _ = super().preprocess(nb, {**resources, "metadata": metadata}, km)
        return nb, resources

    def start_new_kernel(self, **options: Any) -> None:
        """Start a kernel whose home is the folder it works in."""
        folder = self.resources["metadata"]["path"]
        home = {"HOME": folder, "IPYTHONDIR": str(Path(folder, ".ipython"))}
        options |= {"env": {**os.environ, **home}, "stderr": subprocess.DEVNULL}  # its log
        super().start_new_kernel(**options)
        process = getattr(self.km.provisioner, "process", None)
        if self.memory and process and hasattr(resource, "prlimit"):
            most = self.memory * 2**30
            resource.prlimit(process.pid, resource.RLIMIT_DATA, (most, most))

    def preprocess_cell(self, cell: Any, resources: Any, index: int) -> tuple[Any, Any]:
        """Run a cell, and take a new kernel if this one is dead or deaf afterward."""
        try:
            cell, resources = super().preprocess_cell(cell, resources, index)
        except (DeadKernelError, CellTimeoutError) as error:
            died = isinstance(error, DeadKernelError)
            what = "The kernel died here" if died else "This ran too long and could not be stopped"
            text = f"{what}. What follows ran in a new kernel."
            cell.outputs.append(new_output("error", ename="Lost", evalue=text, traceback=[text]))
            self.begin_again(index)
        return cell, resources

    def begin_again(self, index: int) -> None:
        """Start a new kernel, and run the given cells before a place in the notebook."""
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
        """Return whether a cell is code that students are given and cannot change."""
        return cell.cell_type == "code" and is_locked(cell) and not is_grade(cell)

    def _get_timeout(self, cell: Any) -> int | None:
        given = cell is not None and self.is_given(cell)
        return self.patience if given else super()._get_timeout(cell)


@contextmanager
def scratch(source: Path) -> Iterator[Path]:
    """Make a folder with the files of another, without notebooks; remove it in the end."""
    with tempfile.TemporaryDirectory(prefix="submission-", ignore_cleanup_errors=True) as top:
        folder = Path(top, *map(str, range(1, DEPTH)), source.name)
        shutil.copytree(source, folder, ignore=shutil.ignore_patterns("*.ipynb"))
        yield folder
