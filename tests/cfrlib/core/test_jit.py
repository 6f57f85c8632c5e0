"""Compiled kernels are kept on disk until a source that they were built from changes."""

import os
import subprocess
import sys

import pytest

from cfrlib.core.jit import PACKAGES

HOMES = ("NUMBA_CACHE_DIR", "NUMBA_DISABLE_JIT", "XDG_CACHE_HOME", "HOME")
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
NOWHERE = """import warnings
warnings.simplefilter("always")
from mine.walk import walk
from mine.step import step
print(walk(3), walk.stats.cache_path)
"""
RUN = "from mine.walk import walk; print(walk(3), sum(walk.stats.cache_hits.values()))"


def test_the_library_counts_as_a_package_with_kernels():
    assert "cfrlib" in PACKAGES


def write_package(folder):
    package = folder / "mine"
    package.mkdir()
    for name, source in (("__init__", ""), ("step", STEP), ("walk", WALK)):
        (package / f"{name}.py").write_text(source)
    return package


@pytest.mark.slow
def test_kernels_run_where_no_folder_can_be_written_to(tmp_path):
    """As in a container with a read-only package and a user without a home. One warning."""
    (write_package(tmp_path) / "__pycache__").write_text("a file, so no folder can be made")
    paths = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    (tmp_path / "home").write_text("a file as well")
    outside = {k: v for k, v in os.environ.items() if k not in HOMES}
    environment = outside | {"PYTHONPATH": paths, "HOME": str(tmp_path / "home")}
    done = subprocess.run(
        [sys.executable, "-c", NOWHERE], env=environment, capture_output=True, text=True
    )
    assert done.stdout == "5 None\n", done.stderr
    assert done.stderr.count("NUMBA_CACHE_DIR") == 1


@pytest.mark.slow
def test_a_changed_kernel_is_compiled_into_the_kernels_that_call_it(tmp_path):
    """Numba looks at the file of `walk` only, which does not change."""
    package = write_package(tmp_path)
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
