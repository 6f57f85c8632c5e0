"""Tests of the build's kernels: they listen on socket files and have long time limits."""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path

import kernels
import nbclient.client
import pytest
from jupyter_cache.executors.utils import single_nb_execution
from jupyter_client.manager import KernelManager
from nbformat import v4

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "_ext"))

import patient

TRANSPORT = """\
from ipykernel.connect import get_connection_info
print(get_connection_info(unpack=True)["transport"])"""


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> None:
    """Start kernels as the build does, during a test."""
    monkeypatch.setattr(nbclient.client, "NotebookClient", nbclient.client.NotebookClient)
    patient.setup(None)  # type: ignore[arg-type]


def test_build_kernel_uses_socket_files_and_outputs_keep_their_order(
    build: None, tmp_path: Path
) -> None:
    prints = "print(1, flush=True)\nprint(2)\ndisplay('table')\nprint(3)\nprint(4)"
    nb = v4.new_notebook(cells=[v4.new_code_cell(code) for code in (TRANSPORT, prints)])
    assert single_nb_execution(nb, str(tmp_path), timeout=None, allow_errors=False).err is None
    first, second = ([out.get("text") for out in cell.outputs] for cell in nb.cells)
    assert first == ["ipc\n" if os.name == "posix" else "tcp\n"]
    assert second == ["1\n2\n", None, "3\n4\n"]


def test_socket_folder_is_removed_with_the_manager() -> None:
    manager = kernels.by_file(KernelManager())
    if kernels.TRANSPORT == "ipc":
        folder = Path(manager.ip).parent
        assert folder.is_dir()
        del manager
        assert not folder.exists()


def test_client_has_long_timeouts() -> None:
    client = kernels.client(v4.new_notebook(), ".")
    for limit in (client.startup_timeout, client.timeout, client.iopub_timeout):
        assert limit >= 1_800


def test_dead_kernel_raises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dead = [sys.executable, "-c", "raise SystemExit(1)"]
    monkeypatch.setattr(KernelManager, "format_kernel_cmd", lambda *_, **__: dead)
    client = kernels.client(v4.new_notebook(cells=[v4.new_code_cell("1")]), tmp_path)
    with pytest.raises(RuntimeError, match="died before replying"):
        client.execute()
    atexit.unregister(client._cleanup_kernel)  # left behind by nbclient, to fail at exit
