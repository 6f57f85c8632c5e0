"""A pytest plugin: nbval starts kernels as in `tools/kernels.py`, and waits for events.

nbval's own limits are 60 seconds for a kernel to start and 5 seconds for its outputs. With this
plugin it waits until there is a message or the kernel has died, which nbval does not check.
"""

import sys
from pathlib import Path
from queue import Empty
from time import monotonic

import pytest
from nbval import kernel

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

import kernels

_Manager, _message = kernel.KernelManager, kernel.RunningKernel.get_message


def pytest_configure(config: pytest.Config) -> None:
    config.option.nbval_kernel_startup_timeout = kernels.PATIENCE


def manager(**options):
    """Return the manager of a kernel that listens on socket files."""
    return kernels.by_file(_Manager(**options))


def get_message(running, stream, timeout=None):
    """Return the next message of a kernel, regardless of nbval's limit."""
    latest = monotonic() + kernels.PATIENCE
    while True:
        try:
            return _message(running, stream, timeout=1)
        except Empty:
            if not running.is_alive():
                raise RuntimeError("the kernel died") from None
            if monotonic() > latest:
                raise


kernel.KernelManager, kernel.RunningKernel.get_message = manager, get_message
