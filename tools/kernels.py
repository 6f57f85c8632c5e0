"""Start the kernels that run notebooks: for the book's build, its tests and its tools.

Jupyter talks to a kernel over TCP ports. It looks for free ports, closes them and passes their
numbers to the kernel. If another process takes one of them in between, the kernel never
answers; that happened to about one kernel in a hundred. The kernels started here listen on
socket files in a private folder, which no other process can take. On Windows, where ZeroMQ has
no socket files, they use ports. The path of a socket file may have about a hundred characters;
where `TMPDIR` is longer, the folder is in /tmp.

A kernel that does not answer is therefore either dead, which Jupyter notices at once, or slow.
So all time limits are long: they stop only a kernel that would never finish.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Callable
from itertools import groupby
from pathlib import Path
from typing import Any

from jupyter_client.manager import KernelManager
from nbclient import NotebookClient
from nbformat import v4
from traitlets import default

PATIENCE = 3600  # seconds
LONGEST = (
    75  # characters of a temporary folder: 104, a Mac's limit, less "/kernel-.../socket-5"
)
TRANSPORT = "ipc" if os.name == "posix" else "tcp"


def temporary_root() -> str | None:
    """Return where temporary folders with socket files go, None for the usual place."""
    long = os.name == "posix" and len(os.fsencode(tempfile.gettempdir())) > LONGEST
    return "/tmp" if long else None


def by_file(manager: KernelManager) -> KernelManager:
    """Make a kernel that is about to start listen on socket files; return its manager."""
    if TRANSPORT == "ipc":
        folder = tempfile.mkdtemp(
            prefix="kernel-", dir=temporary_root()
        )  # readable for this user only
        weakref.finalize(manager, shutil.rmtree, folder, ignore_errors=True)
        manager.transport, manager.ip = TRANSPORT, str(Path(folder, "socket"))
    return manager


def joined(outputs: list[Any]) -> list[Any]:
    """Join adjacent outputs of one stream, whose text arrives in pieces."""
    found: list[Any] = []
    for name, group in groupby(outputs, lambda output: output.get("name")):
        pieces = list(group)
        if name:
            text = "".join(piece.text for piece in pieces)
            pieces = [v4.new_output("stream", name=name, text=text)]
        found += pieces
    return found


class Client(NotebookClient):
    """Nbclient's client on socket files, with long time limits.

    By default nbclient waits a minute for a kernel to start, and drops the last outputs of a
    cell if they take more than four seconds. It also keeps the pieces in which a cell's text
    happened to arrive, and a page would begin a line with each of them. Its own cure would
    move what is printed below a table to the text above it.
    """

    @default("on_cell_executed")
    def _on_cell_executed(self) -> Callable[..., None]:
        def join(*, cell: Any, **_: Any) -> None:
            cell.outputs = joined(cell.outputs)

        return join

    @default("startup_timeout")
    def _startup_timeout(self) -> int:
        return PATIENCE

    @default("timeout")
    def _timeout(self) -> int:
        return PATIENCE

    @default("iopub_timeout")
    def _iopub_timeout(self) -> int:
        return PATIENCE

    def create_kernel_manager(self) -> KernelManager:
        """Create the manager of a kernel that listens on socket files."""
        return by_file(super().create_kernel_manager())


def client(nb: Any, folder: str | Path, **options: Any) -> Client:
    """Return a client that runs a notebook in a folder, with this Python's kernel.

    Parameters
    ----------
    nb
        The notebook, which the client modifies.
    folder
        The folder in which its code runs.
    **options
        Further options of `nbclient.NotebookClient`.
    """
    where = {"metadata": {"path": str(folder)}}
    return Client(nb, kernel_name="python3", resources=where, record_timing=False, **options)
