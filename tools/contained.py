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
- On Linux, the kernel runs in the sandbox of bubblewrap (`confined`): it has no network and no
  capability, and sees only system libraries, the Python environment and its own folder. Its
  memory of every kind, its processes and its files are limited. A cell that exceeds a limit
  gets an error, or loses its kernel.
- Of what a cell prints, the first `PRINTED` characters are kept; of what it shows, plain text
  and raster pictures, which no browser runs (`plain`).

Without the sandbox, nothing is run, unless the teacher has set `unprotected`. Then the kernel
is an ordinary process of the same user, with access to absolute paths and to the network.
"""

from __future__ import annotations

import base64
import copy
import math
import mimetypes
import os
import platform
import re
import secrets
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from functools import cache, wraps
from html import escape
from io import BytesIO
from pathlib import Path
from threading import Thread
from typing import Any
from uuid import uuid4

import kernels
import psutil
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbconvert.exporters import HTMLExporter
from nbformat import NotebookNode
from nbformat.v4 import new_output
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import Execute, NbGraderPreprocessor
from nbgrader.utils import is_grade, is_locked
from numba.core.caching import _CacheLocator
from PIL import Image
from traitlets import Bool, Float, Integer, default

import cfrbook
import cfrlib
import koikoi

PACKAGES = [Path(package.__path__[0]) for package in (cfrlib, cfrbook, koikoi)]
# Limits of a sandbox
MEMORY = 4  # GiB
DISK = 256  # MiB for the files in one folder, and for each file
PROCESSES = 512  # threads count
SOCKETS = 200  # of which it is not asked what waits in them; a kernel has some dozens
GRACE = 30  # seconds in which a cell that is interrupted must have ended
DEPTH = 8  # parent folders of the one that a submission works in
PRINTED = 100_000  # characters
ERRORS = 10  # of a cell
PICTURES = ("png", "jpeg")
PIXELS = 25_000_000  # of a picture; a browser unpacks all of them
MARKUP = '<>&"\\`'  # characters that would end a text in nbgrader's pages
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none'"
# Variables that a kernel may see, by their beginnings: language, threads, instructions
PASSED = ("PATH", "LANG", "LC_", "TZ", "OMP_", "OPENBLAS_", "MKL_", "NUMBA_", "NPY_", "XLA_")
PASSED += ("JAX_", "NPROC", "MPLCONFIGDIR", "NBGRADER_", "PYTHONPATH", "SYSTEMROOT")
# Folders whose names may be private: of the packages, of Python, of the user
PRIVATE = {str(p.parent) for p in PACKAGES} | {sys.prefix, sys.base_prefix, str(Path.home())}
PRIVATE |= {os.path.realpath(path) for path in PRIVATE} | {tempfile.gettempdir()}
PRIVATE -= {"/", "/usr"}
HERE = re.compile("|".join(re.escape(p + os.sep) for p in sorted(PRIVATE, key=len)[::-1]))
# Numbers of system calls, from linux/unistd.h, on these two processors
PROCESSORS = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
REFUSED = {
    "unshare": (272, 97), "setns": (308, 268), "memfd_create": (319, 279),
    "memfd_secret": (447, 447), "shmget": (29, 194), "msgget": (68, 186), "semget": (64, 190),
    "mq_open": (240, 180), "add_key": (248, 217), "request_key": (249, 218),
    "keyctl": (250, 219), "ptrace": (101, 117), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
}  # fmt: skip
MMAP, CLONE, FORKS = (9, 222), (56, 220), ((57, 58), ())
SOCKET_CALLS = (41, 53), (198, 199)  # and socketpair
# Kinds of sockets that a sandbox has: of files, of its own network, of the kernel. Others, such
# as those to the host of a virtual machine (AF_VSOCK), belong to no network that is kept apart.
FAMILIES = (1, 2, 10, 16)
SYSTEM = ("/usr", "/bin", "/lib", "/lib32", "/lib64", "/sbin")
# How a sandbox begins: the user in it may read what is given. Others outside may not, since the
# folder around it is private.
START = 'chmod -R a+rX "$0/given" && exec "$@" 9<"$0/filter"'
# How a kernel begins in the sandbox: $0 is its folder, the others are those that it works in
# and has its sockets in.
ENTER = """\
mkdir -p "$1" "$2" && cp -R "$0/given/files/." "$1" && cd "$1" || exit
test ! -d "$0/given/compiled" || cp -RP "$0/given/compiled" "$0/compiled" || exit
shift 2
exec "$@"
"""
NO_SANDBOX = """\
Nothing was graded: there is no sandbox here, because bubblewrap is missing, is older than 0.7,
or may not run (Linux: apt install bubblewrap). `make classroom GRADE=...` tells more."""
SETTINGS = ("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "fonts", "localtime", "alternatives")


def seccomp(alone: bool) -> bytes:
    """Return the program by which the kernel of Linux refuses some of its own functions.

    No capability is needed to call them. They make memory that no limit counts (unnamed files,
    System V, shared maps without a file) and namespaces in which a process has all
    capabilities; they read keys and look into other processes; they make sockets that lead out.
    If `alone`, a process cannot start another one either, only threads.
    """
    processor = [*PROCESSORS].index(platform.machine())
    load, equal, any_bit, over, stop = 0x20, 0x15, 0x45, 0x54, 0x06
    refused, absent, allowed = 0x50001, 0x50026, 0x7FFF0000  # EPERM, ENOSYS
    no_family = 0x50061  # EAFNOSUPPORT
    other_processor = [(equal, 1, 0, PROCESSORS[platform.machine()]), (stop, 0, 0, 0x80000000)]
    steps = [(load, 0, 0, 4), *other_processor, (load, 0, 0, 0)]
    steps += [(0x35, 0, 1, 0x40000000), (stop, 0, 0, refused)]  # the numbers of another ABI
    for number in (numbers[processor] for numbers in REFUSED.values()):
        steps += [(equal, 0, 1, number), (stop, 0, 0, refused)]
    steps += [(equal, 0, 1, 435), (stop, 0, 0, absent)]  # clone3; libraries then call clone
    families = [(equal, len(FAMILIES) - n, 0, one) for n, one in enumerate(FAMILIES)]
    families = [(load, 0, 0, 16), *families, (stop, 0, 0, no_family), (stop, 0, 0, allowed)]
    for number in SOCKET_CALLS[processor]:
        steps += [(equal, 0, len(families), number), *families]
    flags = [(load, 0, 0, 40), (over, 0, 0, 0x21), (equal, 0, 1, 0x21), (stop, 0, 0, refused)]
    steps += [(equal, 0, 5, MMAP[processor]), *flags, (stop, 0, 0, allowed)]
    flags = [(load, 0, 0, 16), (any_bit, 0, 1, 0x10000000), (stop, 0, 0, refused)]
    if alone:
        steps += [
            step for n in FORKS[processor] for step in ((equal, 0, 1, n), (stop, 0, 0, refused))
        ]
        flags += [(any_bit, 1, 0, 0x10000), (stop, 0, 0, refused)]
    steps += [(equal, 0, len(flags) + 1, CLONE[processor]), *flags, (stop, 0, 0, allowed)]
    return b"".join(struct.pack("HBBI", *step) for step in [*steps, (stop, 0, 0, allowed)])


def confined(
    command: Sequence[str],
    top: Path,
    *,
    memory: float = MEMORY,
    alone: bool = False,
) -> list[str]:
    """Return the command that runs another one in the sandbox; `Watch` adds one more limit.

    A process in the sandbox sees system libraries, this Python with its packages, and the
    folder `top`; no home folder, no course, no network, no other process. It can write to
    `top`, `/tmp` and `/dev/shm` only. These are in memory, with at most `DISK` MiB each, and
    are not visible outside.

    Parameters
    ----------
    command : sequence of str
        What to run.
    top : Path
        A folder for this sandbox alone. What it has in `given` can be read inside.
    memory : float
        GiB of private memory for each process.
    alone : bool
        Whether the command may start no other process.
    """
    given = top / "given"
    given.mkdir(mode=0o755, exist_ok=True)
    (top / "filter").write_bytes(seccomp(alone))
    python = {sys.prefix, sys.base_prefix, *map(str, PACKAGES)}
    python |= {path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path}
    python |= {os.environ[name] for name in ("MPLCONFIGDIR",) if name in os.environ}
    # a link in a folder that is visible leads to what it stands for
    linked = {path for path in python if {*map(str, Path(path).parents)} & python}
    python -= set(filter(os.path.islink, linked))
    python |= {os.path.realpath(path) for path in linked}
    visible = [*SYSTEM, *(f"/etc/{name}" for name in SETTINGS), *sorted(python)]
    parents = {str(Path(path).parent) for path in [*python, str(top)]} - {"/"}
    read_only = [part for path in parents for part in ("--perms", "0755", "--dir", path)]
    read_only += [part for path in visible for part in ("--ro-bind-try", path, path)]
    # as root, one may write to some files of /proc/sys without any capability
    own = ["--dev", "/dev", "--proc", "/proc", "--ro-bind", "/proc/sys", "/proc/sys"]
    own += ["--ro-bind", "/dev/null", "/dev/zero"]  # of which a shared map is uncounted memory
    room = ["--perms", "1777", "--size", str(DISK * 2**20), "--tmpfs"]
    writable = [*room, "/dev/shm", *room, str(top), "--ro-bind", str(given), str(given)]
    sealed = ["--remount-ro", "/dev", "--remount-ro", "/"]
    # inside, the kernel's parent is process 1, which the kernel takes as a signal to exit
    isolated = ["--new-session", "--die-with-parent", "--unsetenv", "JPY_PARENT_PID"]
    isolated += ["--unshare-ipc", "--unshare-pid", "--unshare-net", "--unshare-uts"]
    isolated += ["--unshare-cgroup-try", "--cap-drop", "ALL", "--seccomp", "9"]
    if os.geteuid() == 0:
        # Root's files are root's also without capabilities, and no limit of processes holds for
        # root: so the command gets a user number of its own.
        isolated += [
            part
            for cap in ("SETUID", "SETGID", "SETPCAP")
            for part in ("--cap-add", f"CAP_{cap}")
        ]
        number = str(2**30 + secrets.randbelow(2**30))
        isolated += ["setpriv", "--reuid", number, "--regid", number, "--clear-groups"]
        isolated += ["--inh-caps=-all", "--bounding-set=-all"]
        first = []
    else:
        # Process 1 would be bubblewrap, of the same user and without the filter of `seccomp`.
        isolated += ["--unshare-user", "--as-pid-1"]
        first = [] if alone else ["sh", "-c", '"$@"; exit $?', "sh"]
    sizes = {"data": memory * 2**30, "fsize": DISK * 2**20, "nproc": PROCESSES, "core": 0}
    sizes["nofile"] = 1024
    limits = ["prlimit", *(f"--{name}={math.ceil(size)}" for name, size in sizes.items())]
    bubblewrap = ["bwrap", *room, "/tmp", *own, *read_only, *writable, *sealed, *isolated]
    return ["sh", "-c", START, str(top), *bubblewrap, *limits, *first, *command]


@cache
def can_sandbox() -> bool:
    """Return whether bubblewrap is installed and permitted to run, with all that is needed."""
    needed = ("bwrap", "prlimit", "setpriv")
    if not all(map(shutil.which, needed)) or platform.machine() not in PROCESSORS:
        return False
    read = f"for name in {[str(path / '__init__.py') for path in PACKAGES]}: open(name)"
    with tempfile.TemporaryDirectory() as folder:
        command = confined([sys.executable, "-S", "-c", read], Path(folder))
        return subprocess.run(command, capture_output=True).returncode == 0


class Watch(Thread):
    """Stop a sandbox whose processes together hold more memory than they may.

    The limits of a process hold for each process by itself. So this looks at the memory of all
    of them, at what their folders in memory hold, and at what their sockets may hold: five
    times a second, or once a second if there are very many processes. A sandbox is also
    stopped when it is `due`: nbclient waits forever for a kernel that sends without end.

    Parameters
    ----------
    pid : int
        The process that was started with the command of `confined`.
    top : Path
        The folder of the sandbox.
    memory : float
        GiB in all.
    """

    def __init__(self, pid: int, top: Path, memory: float = MEMORY) -> None:
        super().__init__(daemon=True)
        self.sandbox, self.top, self.most = psutil.Process(pid), top, memory * 2**30
        self.exceeded = self.late = False
        self.due = math.inf  # on the monotonic clock
        self.start()

    def run(self) -> None:
        """Look until the sandbox has ended."""
        with suppress(psutil.Error):  # it has ended meanwhile
            try:
                while self.sandbox.is_running() and not self.late and not self.exceeded:
                    if self.sandbox.status() == psutil.STATUS_ZOMBIE:
                        return
                    began = time.monotonic()
                    self.late = began > self.due
                    self.exceeded = self.held() > self.most
                    if not (self.late or self.exceeded):
                        time.sleep(min(max(0.2, 5 * (time.monotonic() - began)), 1))
            finally:  # whatever happened here: nothing runs that nobody looks at
                self.sandbox.kill()

    def inside(self, path: Path) -> Path:
        """Return where a folder that the sandbox has made for itself is to be found here.

        Raises
        ------
        Unprotected
            If the sandbox ends before it has made the folder.
        """
        while self.is_alive():
            for process in children(self.sandbox):
                found = Path(f"/proc/{process.pid}/root{path}")
                with suppress(OSError):
                    if found.is_dir():
                        return found
            time.sleep(0.01)
        raise Unprotected("the sandbox did not start")

    def held(self) -> float:
        """Return the bytes that all processes hold."""
        inside = children(self.sandbox)
        files = self.files(inside[-1].pid) + waiting(inside[-1].pid) if inside else 0
        own = [memory_of(process) for process in inside]
        if sum(own) + files > self.most:  # parts that are shared were counted more than once
            own = [memory_of(process, shared_once=True) for process in inside]
        return sum(own) + files

    def files(self, pid: int) -> float:
        """Return the bytes that files in memory take, with 1 kB for the name of each."""
        found = 0.0
        for folder in {self.top, Path("/tmp"), Path("/dev/shm")}:
            with suppress(OSError):
                its = os.statvfs(f"/proc/{pid}/root{folder}")
                if its.f_blocks * its.f_frsize == DISK * 2**20:  # it is the sandbox's own
                    found += (its.f_blocks - its.f_bfree) * its.f_frsize
                    found += (its.f_files - its.f_ffree) * 1024
        return found


def waiting(pid: int) -> float:
    """Return the bytes that may wait in the sockets of a sandbox: they are in no process."""
    with suppress(OSError, ValueError, IndexError):
        used = Path(f"/proc/{pid}/net/sockstat").read_text().split()[2]
        room = Path("/proc/sys/net/core/wmem_max").read_text()
        return max(0, int(used) - SOCKETS) * 2.0 * int(room)
    return 0


def children(process: psutil.Process) -> list[psutil.Process]:
    """Return the processes that a process has begun, and theirs."""
    with suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def memory_of(process: psutil.Process, shared_once: bool = False) -> int:
    """Return the bytes of memory that a process holds."""
    with suppress(psutil.Error):
        if shared_once:
            with suppress(psutil.AccessDenied):
                its = process.memory_full_info()
                return its.pss + its.swap
        return process.memory_info().rss
    return 0


def environment(home: Path) -> dict[str, str]:
    """Return the environment variables that a submission may see."""
    passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED)}
    return passed | dict.fromkeys(("HOME", "TMPDIR"), str(home))


def link_compiled(folder: Path) -> None:
    """Link the library's compiled kernels into a folder for `NUMBA_CACHE_DIR`.

    Numba does not read a cache that it cannot write to, so without such a folder every
    submission in the sandbox would compile the library for itself.
    """
    for own in (own for package in PACKAGES for own in package.rglob("__pycache__")):
        kept = folder / _CacheLocator.get_suitable_cache_subpath(str(own.parent / "any.py"))
        kept.mkdir(parents=True)
        for file in own.glob("*.nb[ic]"):
            (kept / file.name).symlink_to(file)


class Unprotected(NbGraderException):  # type: ignore[misc]
    """Nothing is graded, since there is no sandbox; the message says what to do."""


class Contained(Execute):  # type: ignore[misc]
    """Nbgrader's `Execute`, with a sandbox, limits, and new kernels when needed."""

    memory = Float(MEMORY, help="GiB that a submission may hold").tag(config=True)
    patience = Integer(
        600, help="seconds that a cell of the book may take: it may compile"
    ).tag(config=True)
    longest = Integer(
        1800, help="seconds for all cells of a student; after that, each has one second"
    ).tag(config=True)
    unprotected = Bool(
        False, help="run submissions without a sandbox if there is none, as you"
    ).tag(config=True)

    spent = 0.0  # seconds, for cells of the student

    @default("startup_timeout")
    def _startup_timeout(self) -> int:
        return self.patience

    def preprocess(self, nb: Any, resources: Any, km: Any = None) -> tuple[Any, Any]:
        """Run a notebook in a folder of its own, with a copy of its files."""
        self.sandbox = can_sandbox()
        if not (self.sandbox or self.unprotected):
            raise Unprotected(NO_SANDBOX)
        self.source = Path(resources["metadata"]["path"])
        self.spent = 0.0
        with tempfile.TemporaryDirectory(
            prefix="submission-", dir=kernels.temporary_root(), ignore_cleanup_errors=True
        ) as top:
            self.folder = Path(top, *map(str, range(1, DEPTH)), self.source.name)
            self.folder.mkdir(parents=True)
            self.store_widget_state = False
            metadata = {**resources["metadata"], "path": str(self.folder)}
            nb, _ = super().preprocess(nb, {**resources, "metadata": metadata}, km)
        for cell in (cell for cell in nb.cells if cell.cell_type == "code"):
            cell.outputs = [plain(output) for output in cell.outputs]
            cell.execution_count = None
        return nb, resources

    def start_new_kernel(self, **options: Any) -> None:
        """Start a kernel whose home is the folder it works in."""
        top = self.folder.parents[DEPTH - 1]
        given = top / "given" if self.sandbox else self.folder
        files = given / "files" if self.sandbox else self.folder
        no_notebooks = shutil.ignore_patterns("*.ipynb")
        shutil.copytree(self.source, files, ignore=no_notebooks, dirs_exist_ok=True)
        options["env"] = environment(self.folder) | {"IPYTHONDIR": str(self.folder)}
        self.km.connection_file = str(given / f"kernel-{uuid4().hex[:6]}.json")
        sockets = top / f"sockets-{uuid4().hex[:6]}"
        if os.name == "posix":
            # Unix sockets need no network
            self.km.transport, self.km.ip = "ipc", str(sockets / "s")
            self.km.kernel_spec.argv = self.command(self.km.kernel_spec.argv, top, sockets)
        if self.sandbox:
            self.km.kernel_spec.interrupt_mode = "message"  # a signal would end bubblewrap
            if "NUMBA_CACHE_DIR" not in os.environ:
                shutil.rmtree(given / "compiled", ignore_errors=True)
                link_compiled(given / "compiled")
                options["env"]["NUMBA_CACHE_DIR"] = str(top / "compiled")
        options |= dict.fromkeys(("stdout", "stderr"), subprocess.DEVNULL)  # its log
        super().start_new_kernel(**options)
        if self.sandbox:
            self.watch = Watch(self.km.provisioner.pid, top, self.memory)
            sockets.symlink_to(self.watch.inside(sockets))

    def command(self, kernel: list[str], top: Path, sockets: Path) -> list[str]:
        """Return the command that starts a kernel with its limits, sandboxed if possible."""
        kernel = [sys.executable, *kernel[1:]]
        if self.sandbox:
            enter = ["sh", "-c", ENTER, *map(str, (top, self.folder, sockets))]
            return confined([*enter, *kernel], top, memory=self.memory)
        sockets.mkdir()
        limit = f"ulimit -d {math.ceil(self.memory * 2**20)}"
        return ["sh", "-c", f'{limit}; exec "$@"', "sh", *kernel]

    def process_message(self, msg: Any, *rest: Any) -> Any:
        """Leave out what changes earlier outputs, and the messages of widgets."""
        if msg["msg_type"].startswith(("update_display_data", "comm")):
            return None
        return super().process_message(msg, *rest)

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
        began = time.monotonic()
        if self.sandbox:
            self.watch.due = began + (self._get_timeout(cell) or math.inf) + GRACE
        try:
            self.execute_cell(cell, index, store_history=True)
        except (DeadKernelError, CellTimeoutError) as error:
            late = self.sandbox and self.watch.late
            died = isinstance(error, DeadKernelError) and not late
            what = "The kernel died" if died else "This ran too long and could not be stopped"
            if self.sandbox and self.watch.exceeded:
                what = "This needed too much memory"
            text = f"{what}; the cells below ran in a new kernel."
            name = "Died" if died else "CellTimeoutError"
            lost = new_output("error", ename=name, evalue=text, traceback=[text])
            cell.outputs.append(lost)
            self.restart(index)
            return False
        finally:
            if self.sandbox:
                self.watch.due = math.inf
            if not self.is_books(cell):
                self.spent += time.monotonic() - began
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
        """Keep what a cell prints or shows, up to `PRINTED` characters, and the first errors.

        Of a picture that is too large, a sentence is left. Paths of this machine are shortened.
        """
        content = msg["content"]
        errors = sum(out.output_type == "error" for out in outs)
        if msg["msg_type"] == "error" and errors >= ERRORS:
            return None
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
        for again in (True, False):  # the lost one may have left the machine short of memory
            self.km = self.create_kernel_manager()
            try:
                self.start_new_kernel()
                self.start_new_kernel_client()
                break
            except RuntimeError:
                if not again:
                    raise
        for place, cell in enumerate(self.nb.cells[:index]):
            if self.is_given(cell):
                self.execute_cell(cell, place, store_history=False)

    @staticmethod
    def is_given(cell: Any) -> bool:
        """Return whether a cell is locked code that is not graded."""
        return cell.cell_type == "code" and is_locked(cell) and not is_grade(cell)

    def is_books(self, cell: Any) -> bool:
        """Return whether a cell is code of the book."""
        return self.is_given(cell) or cell.get("id", "").startswith("page-")

    def _get_timeout(self, cell: Any) -> int | None:
        if cell is not None and self.is_books(cell):
            return self.patience
        own = super()._get_timeout(cell)
        return max(1, min(own, int(self.longest - self.spent))) if own else own


class Submitted(NbGraderPreprocessor):  # type: ignore[misc]
    """Leave only code and plain text of a submitted notebook.

    nbgrader's own commands take a notebook as it was handed in, and Formgrader shows it on a
    page that may do whatever the teacher may. nbgrader then restores the assignment's cells.
    """

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """Return the notebook without what could be a script."""
        student = resources["nbgrader"]["student"]
        folder = Path(resources["metadata"]["path"])
        if any(path.is_symlink() for path in folder.rglob("*")):
            # nbgrader has copied what it leads to, and takes the copy away after an error
            raise NbGraderException(f"Nothing was graded: there is a link in {folder}.")
        refuse(student)
        kernel = NotebookNode(name="python3", display_name="Python 3", language="python")
        nb.metadata = NotebookNode(kernelspec=kernel)
        for cell in nb.cells:
            label = cell.metadata.get("nbgrader")
            known = isinstance(label, dict) and is_name(label.get("grade_id"))
            cell.metadata = NotebookNode({"nbgrader": label} if known else {})
            cell.pop("attachments", None)
            if not is_name(cell.get("id", "a")):
                cell.id = uuid4().hex[:8]
            if cell.cell_type != "code":
                cell.cell_type, cell.source = "markdown", f"<pre>{escape(cell.source)}</pre>"
        return nb, resources


def refuse(student: str) -> None:
    """Raise NbGraderException if a student's name may be a script in Formgrader's pages."""
    if set(student) & set(MARKUP):
        why = f"the name of a student's folder has one of the characters {MARKUP}"
        raise NbGraderException(f"Nothing was graded: {why}. Rename {student!r}.")


def refusing(begin: Any) -> Any:
    """Return a method that calls `refuse` before nbgrader writes a name to the grade book."""

    @wraps(begin)
    def checked(self: Any, assignment_id: str, student_id: str) -> None:
        refuse(student_id)
        begin(self, assignment_id, student_id)

    return checked


# Formgrader lists everybody in the grade book, with a link to a page that would run the script
Autograde.init_assignment = refusing(Autograde.init_assignment)


def is_name(text: Any) -> bool:
    """Return whether this is a name that needs no quotes anywhere."""
    return isinstance(text, str) and re.fullmatch(r"[\w-]+", text) is not None


def scripts() -> list[str]:
    """Return patterns of files that a browser may run: pages and other kinds of XML."""
    mimetypes.init()
    kinds = mimetypes.types_map | mimetypes.common_types
    found = (name for name, kind in kinds.items() if re.search("ml$|svg|script", kind))
    return ["*" + "".join(f"[{x}{x.upper()}]" for x in name) for name in sorted(found)]


def plain(output: Any) -> Any:
    """Return an output as text and raster pictures: what a browser runs is left out.

    The text is there for each output of IPython, of tables and widgets as well.
    """
    if output.output_type == "stream":
        name = "stderr" if output.get("name") == "stderr" else "stdout"
        return new_output("stream", name=name, text=str(output.text))
    if output.output_type == "error":
        lines = [str(line)[:PRINTED] for line in output.get("traceback", [])]
        room = PRINTED
        for n, line in enumerate(lines):
            lines[n] = line[: max(0, room)]
            room -= len(line)
        name, text = str(output.ename)[:PRINTED], str(output.evalue)[:PRINTED]
        return new_output("error", ename=name, evalue=text, traceback=lines)
    given = output.get("data", {})
    data = {"text/plain": str(given.get("text/plain") or "(what was shown here is left out)")}
    data |= {f"image/{kind}": picture(given.get(f"image/{kind}"), kind) for kind in PICTURES}
    kind = "execute_result" if output.output_type == "execute_result" else "display_data"
    return new_output(kind, data={mime: text for mime, text in data.items() if text})


def picture(text: Any, kind: str) -> str | None:
    """Return a picture of this kind as base64; None if it is none, or too large to be shown."""
    try:
        found = base64.b64decode(str(text))
        with Image.open(BytesIO(found), formats=[kind]) as image:
            image.verify()
            small = image.width * image.height <= PIXELS
    except Exception:  # whatever Pillow makes of a damaged file
        return None
    return base64.b64encode(found).decode() if small else None


class Feedback(HTMLExporter):  # type: ignore[misc]
    """Nbconvert's exporter to HTML, for pages that run no script and load nothing.

    Formulas are shown as they are written, in LaTeX.
    """

    def from_notebook_node(self, nb: Any, *rest: Any, **options: Any) -> tuple[str, Any]:
        """Return the page of a notebook, whose browser shall obey `POLICY`."""
        html, resources = super().from_notebook_node(nb, *rest, **options)
        policy = f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        return html.replace("<head>", f"<head>{policy}", 1), resources


def unexpected(output: Any) -> bool:
    """Return whether an output is an error that an earlier cell may have caused.

    A wrong answer is none, and what takes too long would take as long again.
    """
    own = ("NotYet", "CellTimeoutError")
    return bool(output.output_type == "error" and output.ename not in own)
