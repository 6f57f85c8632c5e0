"""Run the tests as other machines would, and report which outputs differ.

    python tools/portable.py                                 all machines, tests and notebooks
    python tools/portable.py --machines "no AVX" "one thread"
    python tools/portable.py --only notebooks --load 12      while 12 other processes are busy
    python tools/portable.py --list                          the settings of each machine

NumPy, OpenBLAS, Numba and XLA choose their code by the processor. All four can be configured to
choose the code of an older one; they then add in another order, and the last digits differ. A
machine counts as imitated only if the libraries, probed in a separate process, report these
settings. Each machine also samples its own random examples in the tests that use hypothesis.

Compiled code and reports stay in `_build/portable`. Nothing else is written, and the book's own
caches of kernels and pages are not used.
"""

from __future__ import annotations

import argparse
import ctypes
import importlib.util
import json
import os
import platform
import random
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "_build" / "portable"
LONGEST = 12  # lines of a difference that are shown


class Machine(NamedTuple):
    """Settings of the libraries; None leaves the choice to the library."""

    instructions: str | None = None  # the newest that NumPy and XLA may use
    core: str | None = None  # the processor whose code OpenBLAS uses
    cpu: str | None = None  # the processor for which Numba compiles
    threads: int | None = None


MACHINES = {
    "no AVX": Machine("SSE4_2", core="Nehalem", cpu="generic"),
    "AVX2 only": Machine("AVX2", core="Haswell", cpu="haswell"),
    "this one": Machine(),
    "one thread": Machine(threads=1),
    "many threads": Machine(threads=8, core="Sandybridge"),
}
# NumPy's names of CPU features; a name such as X86_V3 is a group of features
SSE = {"SSSE3", "SSE41", "POPCNT", "SSE42", "X86_V2"}
NEWER = {
    "SSE4_2": lambda name: name not in SSE,
    "AVX2": lambda name: "AVX512" in name or name == "X86_V4",
}
LIBRARY = "tests --ignore=tests/book --ignore=tests/browser --hypothesis-profile=fresh"
NOTEBOOKS = (
    "-p tests.plugins.patient_kernels -p tests.plugins.page_runs "
    "--nbval --nbval-sanitize-with=tests/plugins/nbval_sanitize.cfg"
)
PARTS = {"library": LIBRARY.split(), "notebooks": NOTEBOOKS.split()}


# ---- machines ------------------------------------------------------------------------------


def features() -> dict[str, bool]:
    """Return the CPU features NumPy can dispatch to, and whether this process uses them."""
    from numpy._core import _multiarray_umath as core

    return {name: core.__cpu_features__[name] for name in core.__cpu_dispatch__}


def environment(machine: Machine, dispatched: Mapping[str, bool], home: Path) -> dict[str, str]:
    """Return the environment variables that imitate a machine.

    `dispatched` is what `features` returns.
    """
    new = {
        "NUMBA_CACHE_DIR": str(home / "numba"),
        "JAX_COMPILATION_CACHE_DIR": str(home / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
        "CFRLIB_PAGE_CACHE": str(home / "pages"),
    }
    if machine.instructions:
        newer = NEWER[machine.instructions]
        denied = os.environ.get("NPY_DISABLE_CPU_FEATURES", "").split()  # to this process
        off = [n for n, used in dispatched.items() if (used or n in denied) and newer(n)]
        new["NPY_DISABLE_CPU_FEATURES"] = " ".join(off)
        new["XLA_FLAGS"] = f"--xla_cpu_max_isa={machine.instructions}"
    if machine.core:
        new["OPENBLAS_CORETYPE"] = machine.core
    if machine.cpu:
        new |= {"NUMBA_CPU_NAME": machine.cpu, "NUMBA_CPU_FEATURES": ""}
    if machine.threads:
        count = str(machine.threads)
        names = ("OMP", "OPENBLAS", "MKL", "NUMBA")
        new |= {f"{name}_NUM_THREADS": count for name in names} | {"NPROC": count}  # XLA's
    return new


def probe() -> dict[str, Any]:
    """Return the settings that the libraries of this process use."""
    import numba
    from numba.core.registry import cpu_target

    found: dict[str, Any] = {"numpy": features(), "blas": {}}
    for package in ("numpy", "scipy"):  # each brings an OpenBLAS of its own
        where = Path(importlib.util.find_spec(package).origin).parent
        __import__(f"{package}.linalg")
        for folder in (where / ".dylibs", where.with_name(f"{package}.libs")):
            for path in folder.glob("*openblas*"):
                found["blas"][package] = probe_blas(path)
    found["numba"] = cpu_target.target_context.codegen()._get_host_cpu_name()
    found["threads"] = {"Numba": numba.get_num_threads()}
    if importlib.util.find_spec("jax"):
        import jax

        compiled = jax.jit(lambda x: x + 1).lower(1.0).compile().runtime_executable()
        used = re.findall(rb"\+(avx[\w.]*|fma)\b", compiled.serialize())
        found["xla"] = sorted({name.decode().upper() for name in used})
    return found


def probe_blas(path: Path) -> tuple[str, int]:
    """Return the core type and the number of threads of an OpenBLAS."""
    library = ctypes.CDLL(str(path))
    for suffix in ("64_", ""):
        name = getattr(library, f"scipy_openblas_get_corename{suffix}", None)
        if name is not None:
            name.restype = ctypes.c_char_p
            count = getattr(library, f"scipy_openblas_get_num_threads{suffix}")
            return name().decode(), count()
    return "unknown", 0


def probe_under(variables: Mapping[str, str]) -> dict[str, Any]:
    """Return `probe()` of a new process with these environment variables."""
    program = "import json, portable; print(json.dumps(portable.probe()))"
    child = subprocess.run(
        [sys.executable, "-c", program],
        cwd=Path(__file__).parent,
        env={**os.environ, **variables},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(child.stdout)


def missed(machine: Machine, found: Mapping[str, Any]) -> list[str]:
    """Return the settings of a machine that its libraries, as probed, do not use."""
    complaints = []
    if machine.instructions:
        newer = NEWER[machine.instructions]
        used = {"NumPy": [name for name, on in found["numpy"].items() if on]}
        used["XLA"] = found.get("xla", [])
        for library, names in used.items():
            if wrong := [name for name in names if newer(name)]:
                complaints.append(f"{library} uses {' '.join(wrong)}")
    cores = sorted({core.lower() for core, _ in found["blas"].values()})
    if machine.core and cores != [machine.core.lower()]:
        shown = ", ".join(map(str.title, cores)) or "nothing"
        complaints.append(f"OpenBLAS runs as {shown}, not as {machine.core}")
    if machine.cpu and found["numba"] != machine.cpu:
        complaints.append(f"Numba compiles for {found['numba']}, not for {machine.cpu}")
    if machine.threads:
        counts = found["threads"] | {name: count for name, (_, count) in found["blas"].items()}
        for name, count in counts.items():  # OpenBLAS starts no more threads than cores
            if count > machine.threads or (name == "Numba" and count < machine.threads):
                complaints.append(f"{name} has {count} threads")
    return complaints


# ---- one part on one machine ---------------------------------------------------------------


class Result(NamedTuple):
    """Pytest's report on one part."""

    passed: int
    differing: dict[str, str]  # test, or notebook and cell → the difference
    seconds: float

    def __str__(self) -> str:
        return f"{self.passed:,} passed, {len(self.differing)} differ, {self.seconds:.0f} s"


def run(arguments: list[str], variables: Mapping[str, str], report: Path) -> Result:
    """Run pytest with these environment variables; return its result."""
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    log, began = report.with_suffix(".log"), time.monotonic()
    command = [sys.executable, "-m", "pytest", *arguments, "-p", "no:cacheprovider", "-vv"]
    with log.open("w", encoding="utf-8") as output:
        child = subprocess.Popen(
            [*command, "--color=no", f"--junitxml={report}"],
            cwd=ROOT,
            env={**os.environ, **variables},
            stdout=output,
            stderr=subprocess.STDOUT,
        )
        try:
            status = child.wait()
        except KeyboardInterrupt:
            child.terminate()
            child.wait()
            raise
    passed, differing = parse(report) if report.exists() else (0, {})
    if status not in (0, 1) or (status == 0) != (not differing) or passed == 0:
        last = "\n".join(log.read_text("utf-8", errors="replace").splitlines()[-LONGEST:])
        differing["pytest itself"] = f"ended with status {status}: see {log}\n{last}"
    return Result(passed, differing, time.monotonic() - began)


def parse(report: Path) -> tuple[int, dict[str, str]]:
    """Return the number of passed tests and the failures in a JUnit report."""
    passed, differing = 0, {}
    for case in ET.parse(report).iter("testcase"):
        faults = [child for child in case if child.tag in ("failure", "error")]
        if faults:
            name = f"{case.get('classname')}::{case.get('name')}"
            differing[name] = short("\n".join(fault.text or "" for fault in faults))
        elif case.find("skipped") is None:
            passed += 1
    return passed, differing


def short(text: str) -> str:
    """Return the committed and new lines of a cell, or the error lines of a failed test."""
    lines = text.splitlines()
    if "Cell outputs differ" in text:  # in nbval's reports the committed lines come last
        signs = {"  - ": "+", "  + ": "-"}
        shown = [signs[line[:4]] + line[4:] for line in lines if line[:4] in signs]
        shown = sorted(shown, key=lambda line: line[0] == "+")
    else:
        shown = [line for line in lines if line.startswith("E ")]
    shown = shown or lines
    return "\n".join(shown[:LONGEST] + ["..."] * (len(shown) > LONGEST))


@contextmanager
def busy(count: int) -> Iterator[None]:
    """Keep `count` processes busy during the block; they end with this process in any case."""
    program = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
    with ExitStack() as stack:
        for _ in range(count):
            stack.callback(subprocess.Popen([sys.executable, "-c", program]).kill)
        yield


# ---- all of them ---------------------------------------------------------------------------


class Row(NamedTuple):
    """One line of the table."""

    machine: str
    part: str
    result: Result | None  # None if the part did not run
    note: str


def examine(name: str, parts: list[str], workers: int) -> Iterator[Row]:
    """Imitate one machine and run the parts with `workers` processes; yield each result."""
    machine, home = possible()[name], PLACE / name.replace(" ", "-")
    shutil.rmtree(home, ignore_errors=True)  # kernels of older sources
    home.mkdir(parents=True, exist_ok=True)
    variables = environment(machine, features(), home)
    complaints = missed(machine, probe_under(variables))
    if complaints:
        yield Row(name, "all", None, "not imitated: " + "; ".join(complaints))
        return
    warm = [sys.executable, str(ROOT / "tools" / "warm.py")]  # or each process compiles
    subprocess.run(warm, cwd=ROOT, env={**os.environ, **variables}, check=True)
    for part in parts:
        seed = random.randrange(2**32)
        arguments = [*PARTS[part], f"-n{workers}", "--dist=loadfile", "--no-loadscope-reorder"]
        if part == "library":
            arguments.append(f"--hypothesis-seed={seed}")
        else:
            arguments += sorted(map(str, (ROOT / "book").glob("*.ipynb")))
        result = run(arguments, variables, home / f"{part}.xml")
        yield Row(name, part, result, f"hypothesis seed {seed}" if part == "library" else "")


def possible() -> dict[str, Machine]:
    """Return the machines that this one can imitate; the older processors are all x86."""
    if platform.machine().lower() in ("x86_64", "amd64"):
        return MACHINES
    return {n: m._replace(core=None) for n, m in MACHINES.items() if not m.instructions}


def table(rows: list[Row]) -> str:
    """Return the results so far: a line per part, then the differences."""
    form = "{:<14}{:<11}{:>7}{:>8}{:>9}  {}"
    lines = [form.format("machine", "part", "passed", "differ", "seconds", "")]
    for machine, part, result, note in rows:
        if result:
            numbers = result.passed, len(result.differing), round(result.seconds)
        else:
            numbers = "-", "-", "-"
        lines.append(form.format(machine, part, *numbers, note).rstrip())
    for machine, part, result, _ in rows:
        for name, difference in (result.differing if result else {}).items():
            lines += ["", f"{machine}, {part}: {name}"]
            lines += [f"    {line}" for line in difference.splitlines()]
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--machines", nargs="+", choices=possible(), default=possible())
    parser.add_argument("--only", choices=PARTS, help="run one of the two parts")
    parser.add_argument("--load", type=int, default=0, help="other processes to keep busy")
    parser.add_argument("--workers", type=int, default=2, help="test processes (default: 2)")
    parser.add_argument("--list", action="store_true", help="list the machines")
    options = parser.parse_args(arguments)
    if options.list:
        for name, machine in possible().items():
            variables = environment(machine, features(), PLACE)
            own = [f"{k}={v!r}" for k, v in variables.items() if str(PLACE) not in v]
            print(f"{name}: {' '.join(own)}")
        return 0
    parts, rows = [options.only] if options.only else list(PARTS), []
    try:
        with busy(options.load):
            for name in options.machines:
                for row in examine(name, parts, options.workers):
                    rows.append(row)
                    print(f"{row.machine}, {row.part}: {row.result or row.note}", flush=True)
    except KeyboardInterrupt:
        print("Interrupted. Known so far:")
    finished = len(rows) == len(options.machines) * len(parts)
    print(f"\n{table(rows)}")
    return int(not finished or any(row.result is None or row.result.differing for row in rows))


if __name__ == "__main__":
    sys.exit(main())
