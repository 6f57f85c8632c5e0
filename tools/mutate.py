"""Make one-line mistakes in the sources, and list those that the tests do not notice.

Each mistake is made in a copy of the project and tried by the tests of its own room: those with
the name of the source, those in the folder that mirrors its own, and those in ROOMS. Without
arguments, `python tools/mutate.py` tries ten mistakes in each of a few files, others each week,
and fails if one lives that `tools/mutants.json` does not list: a map of mistakes that change
nothing, or nothing that we promise, to the reason.
"""

from __future__ import annotations

import argparse
import ast
import copy
import datetime
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
KNOWN = Path(__file__).with_name("mutants.json")
EACH = 10  # mistakes in one file
SOURCES = ("cfrlib", "cfrbook", "koikoi", "book/_ext", "tools")
LEFT_OUT = ("exercises/", "tools/mutate.py", "tools/portable.py", "_vendor")
KIT = ["tests/book/test_kit.py"]
CLASSROOM = ["tests/teaching/test_hand_ins.py", "tests/cfrbook/exercises/test_classroom.py"]
CLASSROOM_TOOLS = ("assignments", "collecting", "contained", "rebuilding")
# Sources, by the beginning of their path, and tests that neither name nor folder finds
ROOMS = {
    **dict.fromkeys([f"tools/{name}" for name in CLASSROOM_TOOLS], CLASSROOM),
    **dict.fromkeys(["tools/paper", "tools/sheets", "tools/slides"], KIT),
    "cfrbook/museum": ["tests/cfrbook/test_museum.py"],
    "cfrlib/core/sequence": ["tests/cfrlib/test_evaluate.py", "tests/cfrlib/test_cfr.py"],
    "cfrlib/core/rng": ["tests/cfrlib/montecarlo/test_samplers.py"],
    "cfrlib/core/files": ["tests/cfrlib/test_runs.py"],
    "cfrlib/core/memo": ["tests/cfrlib/test_runs.py"],
    "cfrlib/core/jit": ["tests/cfrlib/test_minimizers.py"],
    "cfrlib/evaluate": ["tests/cfrlib/test_cce.py"],
    "cfrlib/last_iterate": ["tests/cfrlib/test_runs.py"],
    "cfrlib/regret": [
        f"tests/cfrlib/test_{name}.py" for name in ("cfr", "goldens", "minimizers")
    ],
    "cfrlib/subgames/network": ["tests/cfrlib/deep/test_deep_cfr.py"],
    "cfrlib/game": ["tests/cfrlib/core/test_tree.py", "tests/cfrlib/test_errors.py"],
    "cfrlib/strategy": ["tests/cfrlib/core/test_files.py", "tests/cfrlib/test_errors.py"],
    "koikoi/afterstates": ["tests/koikoi/test_turns.py"],
    "koikoi/players": ["tests/koikoi/test_simulator.py"],
    "koikoi/learners": ["tests/koikoi", "tests/experiments/test_learners.py"],
}
COMPARE = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
COMPARE |= {ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.In: ast.NotIn, ast.NotIn: ast.In}
COMPARE |= {ast.Is: ast.IsNot, ast.IsNot: ast.Is}
ARITHMETIC = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
ARITHMETIC |= {ast.FloorDiv: ast.Div, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd}
SWAPPED = {"max": "min", "min": "max", "any": "all", "all": "any", "floor": "ceil"}


class Mutant(NamedTuple):
    """A mistake: the file, its line, and that line before and after."""

    path: str
    line: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """What identifies the mistake while other lines move."""
        return f"{self.path}: {self.before} → {self.after}"


def changes(node: ast.AST) -> Iterator[ast.AST]:
    """Return variations of one node; none means that it stays."""
    new = copy.deepcopy(node)
    match new:
        case ast.Compare(ops=[op]) if type(op) in COMPARE:
            new.ops = [COMPARE[type(op)]()]
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            new.op = ARITHMETIC[type(op)]()
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            new.op = ARITHMETIC[type(op)]()
        case ast.BoolOp(op=op):
            new.op = ast.Or() if isinstance(op, ast.And) else ast.And()
        case ast.UnaryOp(op=ast.Not() | ast.USub(), operand=operand):
            new = operand
        case ast.Constant(value=bool(value)):
            new.value = not value
        case ast.Constant(value=int() | float() as value):
            new.value = value + 1
        case ast.IfExp(body=body, orelse=other):
            new.body, new.orelse = other, body
        case ast.Call(func=ast.Name(id=name)) if name in SWAPPED:
            new.func.id = SWAPPED[name]  # type: ignore[attr-defined]
        case ast.Call(args=[first, second, *rest]):
            new.args = [second, first, *rest]
        case ast.Expr(value=ast.Call()) | ast.Assign(targets=[ast.Subscript()]):
            new = ast.Pass()
        case ast.Return(value=value) if value is not None:
            new.value = ast.Constant(None)
        case ast.Subscript(slice=ast.Name() | ast.BinOp() as index):
            new.slice = ast.BinOp(index, ast.Sub(), ast.Constant(1))
        case _:
            return
    yield ast.copy_location(new, node)


def mutants(path: str, text: str) -> Iterator[Mutant]:
    """Return the mistakes of one file that stay within one line."""
    lines, tree, silent = text.splitlines(), ast.parse(text), set[int]()
    for node in ast.walk(tree):  # annotations, messages of errors and decorators say nothing
        named = [getattr(node, "annotation", None), getattr(node, "returns", None)]
        named += getattr(node, "decorator_list", []) + ([node] * isinstance(node, ast.Raise))
        silent |= {id(n) for root in named if root for n in ast.walk(root)}
    for node in ast.walk(tree):
        if not hasattr(node, "lineno") or node.lineno != node.end_lineno or id(node) in silent:
            continue
        for new in changes(node):
            line = lines[node.lineno - 1].encode()
            code = ast.unparse(ast.fix_missing_locations(new)).encode()
            if not isinstance(node, ast.stmt):
                code = b"(" + code + b")"
            after = (line[: node.col_offset] + code + line[node.end_col_offset :]).decode()
            try:
                ast.parse("\n".join([*lines[: node.lineno - 1], after, *lines[node.lineno :]]))
            except SyntaxError:  # inside an f-string
                continue
            yield Mutant(path, node.lineno, line.decode().strip(), after.strip())


def room(path: str, root: Path) -> list[str]:
    """Return the test files of a source: its namesakes, those of its folder, more by ROOMS."""
    near = sorted((root / "tests").rglob(f"test_{Path(path).stem}*.py"))
    if path.count("/") == 2 or not near:
        near += sorted((root / "tests" / Path(path).parent).glob("test_*.py"))
    for start, more in ROOMS.items():
        if path.startswith(start):
            near += [root / name for name in more]
    return [file.relative_to(root).as_posix() for file in dict.fromkeys(near)]


def tests(files: list[str], slow: bool, limit: float, root: Path) -> str:
    """Return how the tests went: passed, failed or out of time."""
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *files]
    environment = os.environ | {"PYTHONPATH": str(root), "PYTHONDONTWRITEBYTECODE": "1"}
    run = subprocess.Popen(
        command + ([] if slow else ["-m", "not slow"]),
        cwd=root, env=environment, start_new_session=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        return "passed" if run.wait(limit) == 0 else "failed"
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return "out of time"


def main(argv: list[str] | None = None) -> int:
    """Try a sample of mistakes; return 1 if one lives that nobody knows."""
    week = datetime.date.today().isocalendar().week
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="sources; by default all")
    parser.add_argument("--limit", type=int, default=60, help="how many mistakes")
    parser.add_argument("--seed", type=int, default=week, help="by default the week's number")
    parser.add_argument("--hours", type=float, default=1.0, help="stop after this time")
    parser.add_argument("--slow", action="store_true", help="run slow tests as well")
    options = parser.parse_args(argv)
    paths = options.files or sorted(
        path.relative_to(ROOT).as_posix() for s in SOURCES for path in (ROOT / s).rglob("*.py")
    )
    paths = [path for path in paths if not any(part in path for part in LEFT_OUT)]
    rng, sample = random.Random(options.seed), list[Mutant]()
    for path in rng.sample(paths, len(paths)):
        found = list(mutants(path, (ROOT / path).read_text("utf-8")))
        sample += rng.sample(found, min(EACH, len(found), options.limit - len(sample)))
    known, new, began = json.loads(KNOWN.read_text("utf-8")), [], time.monotonic()
    with tempfile.TemporaryDirectory() as home:
        root = Path(home, "project")
        files = subprocess.check_output(["git", "ls-files", "-z"], cwd=ROOT, text=True)
        for name in files.split("\0")[:-1]:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, root / name, follow_symlinks=False)
        limits: dict[str, float] = {}
        for n, mutant in enumerate(sample, 1):
            if time.monotonic() - began > 3600 * options.hours:
                print(f"{len(sample) - n + 1} mistakes were not tried: the time is over.")
                break
            near, target = room(mutant.path, root), root / mutant.path
            if near and mutant.path not in limits:
                start = time.monotonic()
                if tests(near, options.slow, 1800, root) != "passed":
                    print(f"{mutant.path}: its tests fail without any mistake")
                    return 1
                limits[mutant.path] = 60 + 5 * (time.monotonic() - start)
            right = target.read_text("utf-8")
            lines = right.splitlines(keepends=True)
            old = lines[mutant.line - 1]
            lines[mutant.line - 1] = old.replace(old.strip(), mutant.after)
            target.write_text("".join(lines), "utf-8")
            end = tests(near, options.slow, limits[mutant.path], root) if near else "passed"
            target.write_text(right, "utf-8")
            verdict = "lives" if end == "passed" else "dies"
            if verdict == "lives" and mutant.name in known:
                verdict = f"lives, as known: {known[mutant.name]}"
            elif verdict == "lives":
                new.append(mutant.name)
            print(f"{n:3d} {verdict}: {mutant.line} {mutant.name}", flush=True)
    print(f"{len(new)} new mistakes live.", *new, sep="\n  ")
    return int(bool(new))


if __name__ == "__main__":
    sys.exit(main())
