"""Find or install the sandbox that tests need beside Python's packages.

    python tools/programs.py        bubblewrap, or a sentence that says what to do

On Debian and Ubuntu, run as root, a missing program is installed with `apt-get`. Nothing is
downloaded from anywhere else.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

SANDBOX = (
    "no bubblewrap was found and none could be installed. Tests hand in code that only its "
    "sandbox may run. Install it: `apt-get install bubblewrap`"
)
FORBIDDEN = (
    "bubblewrap is installed, but this machine does not let it make a sandbox (a container may "
    "forbid user namespaces). Tests hand in code that only its sandbox may run."
)


def install(*packages: str) -> None:
    """Install Debian's packages, where that is possible."""
    if not shutil.which("apt-get") or os.geteuid() != 0:
        return
    print(f"Installing with apt-get: {', '.join(packages)}.", file=sys.stderr, flush=True)
    apt = ["apt-get", "-qq", "-o", "DPkg::Lock::Timeout=120"]
    calm = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "-y", "--no-install-recommends", *packages]):
        done = subprocess.run([*apt, *command], env=calm, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout, done.stderr, file=sys.stderr)


def sandbox() -> None:
    """Make sure that the graders' sandbox works.

    Raises
    ------
    RuntimeError
        If there is none; the message explains what to do.
    """
    if sys.platform != "linux":  # bubblewrap is for Linux, and so are its tests
        return
    if not shutil.which("bwrap"):
        install("bubblewrap")
    if not shutil.which("bwrap"):
        raise RuntimeError(SANDBOX)
    tried = ["bwrap", "--ro-bind", "/", "/", "--unshare-all", "true"]
    if subprocess.run(tried, capture_output=True).returncode:
        raise RuntimeError(FORBIDDEN)


def main() -> None:
    """Run the command line."""
    try:
        sandbox()
    except RuntimeError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
