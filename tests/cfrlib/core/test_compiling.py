"""The notice about compiling kernels appears once, and only at a terminal."""

import os
import subprocess
import sys

import pytest

from cfrlib.core.compiling import NOTICE

pytestmark = pytest.mark.slow

# Two kernels are compiled, but the notice appears once.
PROGRAM = """
import cfrlib as cfr
cfr.regret_matching([2, 0, 1])
cfr.regret.discount(3, 1.5)
"""


def run_program(cache, **streams):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    environment.pop("NUMBA_DISABLE_JIT", None)
    command = [sys.executable, "-c", PROGRAM]
    return subprocess.run(command, env=environment, check=True, text=True, **streams)


def terminal_output(cache):
    """Run the program with a terminal as standard error; return the output there."""
    pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminals")
    reader, terminal = pty.openpty()
    run_program(cache, stderr=terminal)
    os.write(terminal, b"end\n")
    text = b""
    while not text.endswith(b"end\r\n"):
        text += os.read(reader, 1_000)
    os.close(terminal)
    os.close(reader)
    return text.decode().replace("\r\n", "\n").removesuffix("end\n")


def test_notice_appears_at_a_terminal_until_kernels_are_cached(tmp_path):
    assert terminal_output(tmp_path) == f"{NOTICE}\n"
    assert terminal_output(tmp_path) == ""


def test_notice_does_not_appear_in_a_pipe(tmp_path):
    assert run_program(tmp_path, stderr=subprocess.PIPE).stderr == ""
