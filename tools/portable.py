"""Find what on a page or in a test depends on the machine.

    python tools/portable.py [book/01_regret_matching.ipynb ...]    perturb the notebooks
    python tools/portable.py --machines "no AVX" "one thread"       imitate other machines

A processor that adds in another order rounds other last digits. Most methods leave it at that;
a chaotic one amplifies them, until digits that a page prints are those of one rounding history.
Which digits these are, the first command finds out. It runs the notebooks once more, with all
payoffs multiplied by 1 + 2⁻⁴³, which is another unit of money and changes no strategy, and on
an imitated processor, whose matrix products add in another order. What a cell shows is compared
with the outputs of the build: printed text, tables, the numbers and alternative texts of every
position of a slider, text in figures. So are the numbers of the prose that these outputs prove.
Each one that moves is printed.

The second command runs the tests and notebooks as other machines would. NumPy, OpenBLAS, Numba
and XLA choose their code by the processor, and environment variables make them choose that of
an older one. Compiled code and logs stay in `_build/portable`.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from html import unescape
from itertools import zip_longest
from pathlib import Path
from typing import Any

import build
import kernels
from nbformat.v4 import new_code_cell

ROOT = Path(__file__).resolve().parents[1]
PLACE = ROOT / "_build" / "portable"
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
PYTEST += ["-n2", "--dist=loadfile", "--no-loadscope-reorder"]
LIBRARY = ["tests", "--ignore=tests/book", "--ignore=tests/browser"]
LIBRARY += ["--hypothesis-profile=fresh"]
NOTEBOOKS = ["-p", "tests.plugins.patient_kernels", "-p", "tests.plugins.page_runs"]
NOTEBOOKS += ["--nbval", "--nbval-sanitize-with=tests/plugins/nbval_sanitize.cfg"]


# ---- imitated machines ----------------------------------------------------------------------


def older(numpy: str, core: str, cpu: str, xla: str) -> dict[str, str]:
    """Return the settings with which the libraries use the code of an older processor."""
    return {
        "NPY_DISABLE_CPU_FEATURES": numpy,
        "OPENBLAS_CORETYPE": core,
        "NUMBA_CPU_NAME": cpu,
        "NUMBA_CPU_FEATURES": "",
        "XLA_FLAGS": f"--xla_cpu_max_isa={xla}",
    }


def threads(count: int, **settings: str) -> dict[str, str]:
    """Return the settings for a number of threads; NPROC is XLA's."""
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA")
    return {f"{n}_NUM_THREADS": str(count) for n in names} | {"NPROC": str(count), **settings}


MACHINES = {
    "no AVX": older("X86_V3 X86_V4 AVX512_ICL AVX512_SPR", "Nehalem", "generic", "SSE4_2"),
    "AVX2 only": older("X86_V4 AVX512_ICL AVX512_SPR", "Haswell", "haswell", "AVX2"),
    "this one": {},
    "one thread": threads(1),
    "many threads": threads(8, OPENBLAS_CORETYPE="Sandybridge"),
}
# What a process with these settings uses: NumPy's features that have newer names than SSE,
# OpenBLAS's core, Numba's processor, instructions in a program of XLA, Numba's threads.
PROBE = """
import ctypes, json, re
from pathlib import Path
import jax, numba, numpy, scipy.linalg
from numba.core.registry import cpu_target
from numpy._core import _multiarray_umath as core
used = {"NPY_DISABLE_CPU_FEATURES": [n for n, on in core.__cpu_features__.items() if on]}
for path in (Path(p.__file__).parent.with_name(f"{p.__name__}.libs") for p in (numpy, scipy)):
    for file in path.glob("*openblas*"):
        library = ctypes.CDLL(str(file))
        names = [f"scipy_openblas_get_corename{end}" for end in ("64_", "")]
        name = next(getattr(library, n) for n in names if hasattr(library, n))
        name.restype = ctypes.c_char_p
        used.setdefault("OPENBLAS_CORETYPE", []).append(name().decode())
used["NUMBA_CPU_NAME"] = cpu_target.target_context.codegen()._get_host_cpu_name()
program = jax.jit(lambda x: x + 1).lower(1.0).compile().runtime_executable().serialize()
found = re.findall(rb"\\+(avx[\\w.]*|fma)\\b", program)
used["XLA_FLAGS"] = sorted({name.decode() for name in found})
used["NUMBA_NUM_THREADS"] = str(numba.get_num_threads())
print(json.dumps(used))
"""


def environment(machine: str) -> dict[str, str]:
    """Return the variables that imitate a machine, with caches of its own."""
    home = PLACE / machine.replace(" ", "-")
    return MACHINES[machine] | {
        "NUMBA_CACHE_DIR": str(home / "numba"),
        "JAX_COMPILATION_CACHE_DIR": str(home / "jax"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0.1",
        "CFRLIB_PAGE_CACHE": str(home / "pages"),
    }


def possible() -> list[str]:
    """Return the machines that this one can imitate; the older processors are all x86."""
    x86 = platform.machine().lower() in ("x86_64", "amd64")
    return [n for n in MACHINES if x86 or "OPENBLAS_CORETYPE" not in MACHINES[n]]


def ignored(settings: Mapping[str, str]) -> list[str]:
    """Return the settings of this process's environment that the libraries do not follow."""
    child, env = [sys.executable, "-c", PROBE], {**os.environ, **settings}
    used = json.loads(subprocess.run(child, env=env, stdout=subprocess.PIPE, check=True).stdout)
    newer = {"SSE4_2": ("avx", "fma"), "AVX2": ("avx512",)}
    follows = {
        "NPY_DISABLE_CPU_FEATURES": lambda off, on: not {*off.split()} & {*on},
        "OPENBLAS_CORETYPE": lambda core, found: {*map(str.lower, found)} == {core.lower()},
        "NUMBA_CPU_NAME": lambda cpu, found: found == cpu,
        "XLA_FLAGS": lambda isa, found: (
            not any(n.startswith(newer[isa.partition("=")[2]]) for n in found)
        ),
        "NUMBA_NUM_THREADS": lambda count, found: found == count,
    }
    return [
        f"{name}={settings[name]}, but the library uses {used.get(name)}"
        for name, fine in follows.items()
        if name in settings and not fine(settings[name], used.get(name, []))
    ]


def imitate(machine: str) -> bool:
    """Run the tests of the package and the notebooks as on another machine."""
    settings = environment(machine)
    if faults := ignored(settings):
        print(f"{machine} is not imitated: {'; '.join(faults)}")
        return False
    run = partial(subprocess.run, cwd=ROOT, env={**os.environ, **settings})
    run([sys.executable, "tools/warm.py"], check=True)  # or each process compiles
    pages = sorted(map(str, (ROOT / "book").glob("*.ipynb")))
    passed = True
    for name, part in {"library": LIBRARY, "notebooks": [*NOTEBOOKS, *pages]}.items():
        with (PLACE / f"{machine} {name}.log").open("wb") as log:
            done = run([*PYTEST, *part], stdout=log, stderr=subprocess.STDOUT)
        *_, last = Path(log.name).read_text("utf-8", "replace").strip().split("\n")
        print(f"{machine}, {name}: {last.strip('= ')}; see {log.name}", flush=True)
        passed &= done.returncode == 0
    return passed


# ---- perturbed arithmetic -------------------------------------------------------------------

# The programs of these pages need whole payoffs, for fractions or for their signs.
EXACT = ("02_games_with_hidden_cards", "03_equilibrium", "12_coyote", "13_koi_koi")
EXACT += ("14_learning_koi_koi", "errata", "your_own_game")
# The first cell of a perturbed notebook. Each player counts in a unit of their own, since two
# players who compute the same numbers never part, although a rounding error between them may
# grow. The units have few bits, so sums of whole numbers stay exact, as they are in any order.
UNIT = """
def _perturb(exact):
    import numpy as np
    from cfrlib.core import tree
    from cfrlib.game import Terminal
    from cfrlib.games import matrix

    units = np.array([1 + 2**-43, 1 - 2**-43, *[1] * 8])

    class Paid(Terminal):  # a matrix game has changed its payoffs already
        def __init__(self, utilities):
            self.utilities = utilities

    def end(self, utilities):
        self.utilities = tuple(u * m for u, m in zip(utilities, units.tolist()))

    def compiled(self, found=tree._Compiler.utilities):
        return found(self) * units[: self.game.num_players]

    def start(self, *given, plain=matrix.MatrixGame.__init__, **options):
        plain(self, *given, **options)
        self.row_payoffs = self.row_payoffs * units[0]
        self.column_payoffs = self.column_payoffs * units[1]

    matrix.Terminal, matrix.MatrixGame.__init__ = Paid, start
    if exact:
        tree._Compiler.utilities = compiled
    else:
        Terminal.__init__ = end

_perturb(exact={exact})
"""
ANSI, FAILED = re.compile(r"\x1b\[[\d;]*m"), re.compile(r"-> \d+ (.*)")
EXACT_TEST = re.compile(r"1e-(?:9|1\d)\b|==")  # such tests are not those of a page
UNITS = 2**-41  # a number that moves by no more has changed its unit only
NUMBER = re.compile(
    r"(?P<sign>[≈±]\s*)?(?P<digits>\d[\d,]*(?:\.(?P<places>\d+))?|\.(?P<bare>\d+))"
    r"(?P<power>e[+-]?\d+)?"
)


def value(found: re.Match[str]) -> tuple[float, float]:
    """Return a number and the unit of its last digit."""
    digits = found["digits"].replace(",", "")
    places = found["places"] or found["bare"] or ""
    zeros = "" if places else digits[len(digits.rstrip("0")) :]  # 4,000,000 has one digit
    unit = 10.0 ** (len(zeros) - len(places))
    scale = float(f"1{found['power'] or ''}")
    return float(digits) * scale, unit * scale


def shown(output: Any) -> Iterator[str]:
    """Yield the texts that a reader finds in an output, figures and sliders included."""
    data = output.data
    html = data.get("text/html", "")
    if not html:
        yield data.get("text/markdown", data.get("text/plain", ""))
        return
    for script in re.findall(
        r'<script type="application/json">(.*?)</script>', html, re.DOTALL
    ):
        told = json.loads(script)
        frames = told.get("frames", ()) if isinstance(told, dict) else ()
        html += "".join(told["pieces"][n] for row in frames for n in row)
    html = re.sub(r"<(style|script).*?</\1>", "", html, flags=re.DOTALL)
    yield from map(unescape, re.findall(r'(?:aria-label|alt)="([^"]*)"', html))
    yield unescape(re.sub(r"<[^>]*>", " ", html))


def texts(nb: Any) -> dict[str, list[str]]:
    """Return what the cells of an executed notebook show, by cell; timings differ anyway.

    First comes all that a cell prints, as in the outputs that the build has from nbval.
    """
    return {
        cell.id: [
            "".join(output.get("text", "") for output in cell.outputs),
            *(text for output in cell.outputs if "data" in output for text in shown(output)),
        ]
        for cell in nb.cells
        if cell.cell_type == "code"
        and "timing" not in cell.metadata.get("tags", ())
        and "write_efg(" not in cell.source  # a file of payoffs
    }


def moved(before: Any, after: Any) -> Iterator[str]:
    """Yield each number that two runs of a notebook do not share.

    A number after ≈ may move by a unit of its last digit. A number before ± may move by twice
    its error, and the error grow to three times its size.
    """
    then, now = texts(before), texts(after)
    for cell in after.cells:
        for output in cell.get("outputs", ()):
            line = FAILED.search(ANSI.sub("", "\n".join(output.get("traceback", ()))))
            if line and output.ename == "AssertionError":
                del then[cell.id]
                if not EXACT_TEST.search(line[1]):
                    yield f"cell {cell.id}: {line[1].strip()}"
    for cell, old in then.items():
        for one, other in zip_longest(old, now[cell], fillvalue=""):
            words = [NUMBER.sub("#", " ".join(text.split())) for text in (one, other)]
            if words[0] != words[1]:
                at = next(n for n, pair in enumerate(zip_longest(*words)) if pair[0] != pair[1])
                was, new = (text[max(at - 60, 0) : at + 60] for text in words)
                yield f"cell {cell}: {was!r} became {new!r}"
                continue
            pairs = list(zip(NUMBER.finditer(one), NUMBER.finditer(other), strict=True))
            for (a, b), (wide, _) in zip_longest(pairs, pairs[1:], fillvalue=(None, None)):
                (x, unit), (y, _) = value(a), value(b)
                may = UNITS * abs(x)
                if (a["sign"] or "").startswith("≈"):
                    may = 1.01 * unit
                elif a["sign"]:
                    may = max(2 * x, 1.01 * unit)
                elif wide and (wide["sign"] or "").startswith("±"):
                    may = 2 * value(wide)[0] + unit
                if abs(x - y) > may:
                    context = " ".join(one[max(0, a.start() - 40) : a.start()].split())
                    yield f"cell {cell}: … {context} {a[0]} → {b[0]}"


def unproved(path: Path, nb: Any) -> set[str]:
    """Return the complaints about numbers in prose that no executed cell proves."""
    sys.path.append(str(ROOT / "tests" / "book"))
    import anatomy

    return {*anatomy.numbers(anatomy.Chapter(nb, path.stem, path.parent, frozenset()))}


def executed(path: Path) -> Any:
    """Return a page with the outputs of the build, which keeps code only, under other ids."""
    nb = build.read(path)
    try:
        known = build.cache().get_cache_bundle(build.cache().match_cache_notebook(nb).pk).nb
    except KeyError:
        sys.exit(f"The build has not run {path.name}: first `make book`.")
    outputs = [cell.outputs for cell in known.cells if cell.cell_type == "code"]
    code = [cell for cell in nb.cells if cell.cell_type == "code"]
    for cell, run in zip(code, outputs, strict=True):
        cell.outputs = run
    return nb


def perturbed(path: Path) -> list[str]:
    """Run a page with perturbed arithmetic; return the numbers that move."""
    before = executed(path)
    nb = copy.deepcopy(before)
    nb.cells.insert(0, new_code_cell(UNIT.format(exact=path.stem in EXACT)))
    kernels.client(nb, path.parent, allow_errors=True).execute(env=os.environ | build.AS_PAGE)
    del nb.cells[0]
    found = list(moved(before, nb))
    if path.suffix == ".ipynb":
        found += sorted(unproved(path, nb) - unproved(path, before))
    return found


def perturb(paths: list[Path]) -> bool:
    """Run pages, two at a time; print the numbers that move. Return whether none does."""
    os.environ |= environment(possible()[0]) | {"OMP_NUM_THREADS": "1"}
    count = 0
    with ProcessPoolExecutor(2) as pool:
        for path, found in zip(paths, pool.map(perturbed, paths), strict=True):
            count += len(found)
            print(f"{path.stem}: {len(found)} moved", *found, sep="\n  ", flush=True)
    print(f"{count} numbers depend on the order of additions.")
    return count == 0


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("pages", nargs="*", type=Path, help="all, if none is named")
    parser.add_argument("--machines", nargs="*", metavar="NAME", help="all, if none is named")
    options = parser.parse_args(arguments)
    PLACE.mkdir(parents=True, exist_ok=True)
    if options.machines is not None:
        if unknown := {*options.machines} - {*possible()}:
            parser.error(f"no machine {min(unknown)!r} here, but {', '.join(possible())}")
        passed = [imitate(name) for name in options.machines or possible()]
        return int(not all(passed))
    paths = [path.resolve() for path in options.pages] or list(build.pages())
    # the page "Inside cfrlib" shows the code itself, which is another one here
    return int(not perturb([p for p in paths if p.stem != "inside" and build.read(p)]))


if __name__ == "__main__":
    sys.exit(main())
