"""The first call says that it is compiling: once, and at a terminal only."""

import os
import subprocess
import sys

import pytest

from cfrlib.core.compiling import NOTICE

pytestmark = pytest.mark.slow

# two kernels, one after the other
PROGRAM = """
import cfrlib as cfr
cfr.regret_matching([2, 0, 1])
cfr.regret.discount(3, 1.5)
"""


def start(cache, **streams):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=environment, check=True, text=True, **streams)


def at_a_terminal(cache):
    """Run the program with a terminal as standard error; return what it prints there."""
    pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals")
    ours, theirs = pty.openpty()
    start(cache, stderr=theirs)
    os.write(theirs, b"end\n")
    text = b""
    while not text.endswith(b"end\r\n"):
        text += os.read(ours, 1_000)
    os.close(theirs)
    os.close(ours)
    return text.decode().replace("\r\n", "\n").removesuffix("end\n")


def test_a_terminal_shows_one_line_until_kernels_are_cached(tmp_path):
    assert at_a_terminal(tmp_path) == f"{NOTICE}\n"
    assert at_a_terminal(tmp_path) == ""


def test_a_pipe_shows_nothing(tmp_path):
    assert start(tmp_path, stderr=subprocess.PIPE).stderr == ""
