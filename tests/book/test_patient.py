"""A kernel that never answers does not fail the build."""

from __future__ import annotations

import atexit
import sys
from pathlib import Path

import pytest
from jupyter_client.asynchronous import AsyncKernelClient
from nbclient import NotebookClient
from nbformat import v4

sys.path.insert(0, str(Path(__file__).parents[2] / "book" / "_ext"))

import patient


@pytest.mark.parametrize(("deaf", "runs"), [(0, True), (1, True), (2, True), (3, False)])
def test_another_kernel_is_started(
    monkeypatch: pytest.MonkeyPatch, deaf: int, runs: bool
) -> None:
    ready, asked = AsyncKernelClient.wait_for_ready, []

    async def wait_for_ready(self: AsyncKernelClient, timeout: float | None = None) -> None:
        asked.append(timeout)
        if len(asked) <= deaf:
            raise RuntimeError(f"Kernel didn't respond in {timeout} seconds")
        await ready(self, timeout=timeout)

    monkeypatch.setattr(AsyncKernelClient, "wait_for_ready", wait_for_ready)
    monkeypatch.setattr(
        NotebookClient, "async_start_new_kernel_client", patient.connect_patiently
    )
    nb = v4.new_notebook(cells=[v4.new_code_cell("print(6 * 7)")])
    client = NotebookClient(nb)
    if runs:
        client.execute()
        assert nb.cells[0].outputs[0]["text"] == "42\n"
    else:
        with pytest.raises(RuntimeError, match="didn't respond"):
            client.execute()
        atexit.unregister(client._cleanup_kernel)  # left behind, to fail at exit
    assert asked == list(patient.WAITS[: deaf + 1])
