"""An nbgrader preprocessor that runs each submission in a sandbox.

nbgrader runs a submission in `autograded/STUDENT/ASSIGNMENT`. A submission that deletes `../..`
deletes everybody's graded work, and one that deletes `../../..` deletes the course with its
grade book. nbgrader interrupts a cell at its time limit, but if the kernel dies or ignores the
interrupt, the notebook gets no grade at all. This preprocessor changes that:

- The kernel works in a temporary folder of its own, eight folders deep, which is also its home
  folder. Of the environment variables it sees those in `PASSED` only.
- A kernel that died or ignored an interrupt is replaced by a new one, which runs the given
  cells again and continues with the next exercise.
- An exercise whose cells raised an error is run once more by itself, in a new kernel: what an
  earlier cell broke costs no points here. What is printed on stderr costs none either.
- The kernel may allocate `memory` GiB; a cell that needs more raises an error. Of what a cell
  prints, the first `PRINTED` characters are kept.
- Where bubblewrap is installed and works (Linux), the kernel runs in its sandbox: it has no
  network and sees only system libraries, the Python environment and its own folder, which is
  all it can write to.

Without bubblewrap, the kernel is an ordinary process of the same user, with access to absolute
paths and to the network.
"""

from __future__ import annotations

import copy
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any
from uuid import uuid4

import kernels
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbformat.v4 import new_output
from nbgrader.preprocessors import Execute
from nbgrader.utils import is_grade, is_locked
from numba.core.caching import _CacheLocator
from traitlets import Bool, Integer

import cfrbook
import cfrlib
import koikoi

PACKAGES = [Path(package.__path__[0]) for package in (cfrlib, cfrbook, koikoi)]
DEPTH = 8  # parent folders of the one that a submission works in
PRINTED = 100_000  # characters
# Variables that a kernel may see, by their beginnings: language, threads, instructions
PASSED = ("PATH", "LANG", "LC_", "TZ", "OMP_", "OPENBLAS_", "MKL_", "NUMBA_", "NPY_", "XLA_")
PASSED += ("JAX_", "NPROC", "MPLCONFIGDIR", "NBGRADER_", "PYTHONPATH", "SYSTEMROOT")
# Folders whose names may be private: of the packages, of Python, of the user
PRIVATE = {str(p.parent) for p in PACKAGES} | {sys.prefix, sys.base_prefix, str(Path.home())}
PRIVATE |= {os.path.realpath(path) for path in PRIVATE} | {tempfile.gettempdir()}
PRIVATE -= {"/", "/usr"}
HERE = re.compile("|".join(re.escape(p + os.sep) for p in sorted(PRIVATE, key=len)[::-1]))
SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin")
SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "fonts", "localtime", "alternatives")


def bubblewrap(folder: Path) -> list[str]:
    """Return the bubblewrap command for a process that sees little and may write to one folder.

    It sees system libraries, this Python with its packages, and the folder; no home folder, no
    course, no socket of another program.
    """
    python = {sys.prefix, sys.base_prefix, *map(str, PACKAGES)}
    python |= {path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path}
    python |= {os.environ[name] for name in ("MPLCONFIGDIR",) if name in os.environ}
    # a link in a folder that is visible leads to what it stands for
    linked = {path for path in python if {*map(str, Path(path).parents)} & python}
    python -= set(filter(os.path.islink, linked))
    python |= {os.path.realpath(path) for path in linked}
    visible = [*SYSTEM, *(f"/etc/{name}" for name in SETTINGS), *sorted(python)]
    read_only = [part for path in visible for part in ("--ro-bind-try", path, path)]
    own = ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp"]
    writable = ["--bind", str(folder), str(folder)]
    # inside, the kernel's parent is process 1, which the kernel takes as a signal to exit
    isolated = ["--unshare-all", "--new-session", "--die-with-parent"]
    return ["bwrap", *own, *read_only, *writable, *isolated, "--unsetenv", "JPY_PARENT_PID"]


def can_sandbox() -> bool:
    """Return whether bubblewrap is installed and permitted to run."""
    if not shutil.which("bwrap"):
        return False
    with tempfile.TemporaryDirectory() as folder:
        tried = subprocess.run([*bubblewrap(Path(folder)), "true"], capture_output=True)
    return tried.returncode == 0


def environment(home: Path) -> dict[str, str]:
    """Return the environment variables that a submission may see."""
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED)}
    return passed | dict.fromkeys(("HOME", "TMPDIR"), str(home))


def copy_compiled(folder: Path) -> None:
    """Copy the library's compiled kernels to a folder for `NUMBA_CACHE_DIR`.

    Numba does not read a cache that it cannot write to, so without a copy every submission
    in the sandbox would compile the library for itself.
    """
    for cache in (cache for package in PACKAGES for cache in package.rglob("__pycache__")):
        kept = folder / _CacheLocator.get_suitable_cache_subpath(str(cache.parent / "any.py"))
        kept.mkdir()
        for file in cache.glob("*.nb[ic]"):
            shutil.copy(file, kept)


class Contained(Execute):  # type: ignore[misc]
    """Nbgrader's `Execute`, with a folder, a memory limit and new kernels when needed."""

    memory = Integer(4, help="GiB that a kernel may allocate; 0: no limit").tag(config=True)
    patience = Integer(
        600, help="seconds that a cell of the book may take: it may compile"
    ).tag(config=True)
    sandbox = Bool(False, help="run kernels in bubblewrap").tag(config=True)

    def preprocess(self, nb: Any, resources: Any, km: Any = None) -> tuple[Any, Any]:
        """Run a notebook in a folder of its own, with a copy of its files."""
        self.source = Path(resources["metadata"]["path"])
        with tempfile.TemporaryDirectory(
            prefix="submission-", dir=kernels.temporary_root(), ignore_cleanup_errors=True
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
        self.km.connection_file = str(top / f"kernel-{uuid4().hex[:6]}.json")
        options["env"] = environment(self.folder) | {"IPYTHONDIR": str(self.folder)}
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
        """Run a cell; at the end of an exercise, run it again by itself if something failed."""
        self.run_cell(cell, index)
        if is_grade(cell):
            own = self.exercise_at(index)
            if any(output.get("ename") == "CellTimeoutError" for output in cell.outputs):
                self.restart(index + 1)  # a check takes no time: the kernel does not answer
            elif any(unexpected(output) for n in own for output in self.nb.cells[n].outputs):
                self.run_alone(own)
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
        return cell, resources

    def run_cell(self, cell: Any, index: int) -> bool:
        """Run a cell; return False if the kernel was lost and has been replaced."""
        try:
            self.execute_cell(cell, index, store_history=True)
        except (DeadKernelError, CellTimeoutError) as error:
            died = isinstance(error, DeadKernelError)
            what = "The kernel died" if died else "This ran too long and could not be stopped"
            text = f"{what}; the cells below ran in a new kernel."
            name = "Died" if died else "CellTimeoutError"
            lost = new_output("error", ename=name, evalue=text, traceback=[text])
            cell.outputs.append(lost)
            self.restart(index)
            return False
        return True

    def exercise_at(self, index: int) -> list[int]:
        """Return the places of the code cells of the exercise whose check is at `index`."""
        cells = self.nb.cells
        before = [n for n, cell in enumerate(cells[:index]) if is_grade(cell)]
        own = range(before[-1] + 1 if before else 0, index + 1)
        return [n for n in own if cells[n].cell_type == "code" and not self.is_given(cells[n])]

    def run_alone(self, own: list[int]) -> None:
        """Run the cells of one exercise in a new kernel; keep the result of its check."""
        self.restart(own[-1])
        first = [self.nb.cells[n] for n in own]
        alive = True
        for n, cell in zip(own, first, strict=True):
            tried = copy.deepcopy(cell)
            tried.outputs = []
            alive = alive and self.run_cell(tried, n)
        for n, cell in zip(own, first, strict=True):
            self.nb.cells[n] = cell
        if alive:
            first[-1].outputs = tried.outputs
            if any(map(unexpected, tried.outputs)):  # it may have broken more than itself
                self.restart(own[-1] + 1)

    def output(self, outs: Any, msg: Any, *rest: Any) -> Any:
        """Keep what a cell prints or shows, up to `PRINTED` characters; errors are kept.

        Of a picture that is too large, a sentence is left. Paths of this machine are shortened.
        """
        content = msg["content"]
        said = str(content.get("text", content.get("data", "")))
        room = PRINTED - sum(len(str(out.get("text", out.get("data", "")))) for out in outs)
        if len(said) > room and msg["msg_type"] != "error":
            if room <= 0:
                return None
            text = f"{content.get('text', '')[:room]}\n(the rest is left out)\n"
            content = {"name": "stdout", "text": text}
            header = {**msg["header"], "msg_type": "stream"}
            msg = {**msg, "header": header, "msg_type": "stream"}
        return super().output(outs, {**msg, "content": self.without_paths(content)}, *rest)

    def without_paths(self, content: Any) -> Any:
        """Return a message's content without the folders that say whose machine this is."""
        if isinstance(content, dict):
            return {key: self.without_paths(value) for key, value in content.items()}
        if isinstance(content, list):
            return [self.without_paths(value) for value in content]
        return HERE.sub("", content) if isinstance(content, str) else content

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
        given = cell is not None and (
            self.is_given(cell) or cell.get("id", "").startswith("page-")
        )
        return self.patience if given else super()._get_timeout(cell)


def unexpected(output: Any) -> bool:
    """Return whether an output is an error that an earlier cell may have caused.

    A wrong answer is none, and what takes too long would take as long again.
    """
    own = ("NotYet", "CellTimeoutError")
    return bool(output.output_type == "error" and output.ename not in own)
