"""A pytest plugin: nbval starts kernels as `tools/kernels.py` does, and waits for slow ones.

By default nbval allows 60 seconds for a kernel to start and 5 seconds for its outputs. With
this plugin it waits for the next message until the kernel dies, which nbval does not check.
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
    """Return the next message of a kernel, regardless of nbval's time limit."""
    deadline = monotonic() + kernels.PATIENCE
    while True:
        try:
            return _message(running, stream, timeout=1)
        except Empty:
            if not running.is_alive():
                raise RuntimeError("the kernel died") from None
            if monotonic() > deadline:
                raise


kernel.KernelManager, kernel.RunningKernel.get_message = manager, get_message
