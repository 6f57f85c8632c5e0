"""Compiled kernels are kept on disk until a source that they were built from changes."""

import os
import subprocess
import sys

import pytest

from cfrlib.core.jit import PACKAGES

STEP = """from cfrlib.core.jit import inner

@inner
def step(x):
    return x + 1
"""
WALK = """from cfrlib.core.jit import kernel
from mine.step import step

@kernel
def walk(x):
    return step(step(x))
"""
RUN = "from mine.walk import walk; print(walk(3), sum(walk.stats.cache_hits.values()))"


def test_the_library_counts_as_a_package_with_kernels():
    assert "cfrlib" in PACKAGES


@pytest.mark.slow
def test_a_changed_kernel_is_compiled_into_the_kernels_that_call_it(tmp_path):
    """Numba looks at the file of `walk` only, which does not change."""
    package = tmp_path / "mine"
    package.mkdir()
    for name, source in (("__init__", ""), ("step", STEP), ("walk", WALK)):
        (package / f"{name}.py").write_text(source)
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    environment = {**os.environ, "PYTHONPATH": paths}

    def run():
        done = subprocess.run(
            [sys.executable, "-c", RUN], env=environment, capture_output=True, text=True
        )
        assert not done.returncode, done.stderr
        return done.stdout.split()

    assert run() == ["5", "0"]
    assert run() == ["5", "1"]  # from the disk
    (package / "step.py").write_text(STEP.replace("+ 1", "+ 10"))
    assert run() == ["23", "0"]
