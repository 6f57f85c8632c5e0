"""Tests of the import order of modules, and that `import cfrlib` loads no heavy package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cfrlib

ROOT = Path(cfrlib.__file__).parents[1]
# A module imports only from earlier levels. A level is a shelf, or a part of `cfrlib`.
COMPANION = [
    {"cfrlib.wings"},  # knows the wings by name only
    {"cfrlib.game"},
    {"cfrlib.core"},
    {"cfrlib.strategy"},
    {"cfrlib.games"},  # imports game, core and strategy, but no solver
    {"cfrlib.evaluate"},
    {"cfrlib.regret"},
    {"cfrlib.plain"},
    {"cfrlib.solution"},
    {"cfrlib.run"},
    {"cfrlib.bands"},
    {"cfrlib.cfr"},
    {"cfrlib.montecarlo"},
    {"cfrlib.solve"},
]
WINGS = [
    {"cfrlib.words"},
    {"cfrlib.playing"},
    {"cfrlib.interop"},
    {"cfrlib.large"},
    {"cfrlib.online"},
    {"cfrlib.last_iterate"},
    {"cfrlib.deep"},
    {"cfrlib.subgames"},  # only its network needs deep
]
LEVELS = [
    *COMPANION,
    *WINGS,
    {"koikoi"},
    {"cfrbook.plot"},
    {"cfrbook.museum"},
    {"cfrbook.explore"},
    {"cfrbook.exercises"},
]
LEVEL = {name: n for n, level in enumerate(LEVELS) for name in level}
SHELVES = ("cfrlib", "koikoi", "cfrbook")
MODULES = [
    path
    for shelf in SHELVES
    for path in sorted((ROOT / shelf).rglob("*.py"))
    if path not in (ROOT / "cfrlib" / "__init__.py", ROOT / "cfrbook" / "__init__.py")
]


def level_of(name):
    """Return the level of a dotted name, or None if it is not one of ours."""
    shelf, *rest = name.split(".")
    if shelf == "koikoi":
        return LEVEL[shelf]
    return LEVEL[f"{shelf}.{rest[0]}"] if shelf in SHELVES else None


def name_of(path):
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def imported(path):
    """Yield the dotted names that a file imports, inside functions as well."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module in SHELVES:
                yield from (f"{node.module}.{alias.name}" for alias in node.names)
            else:
                yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_import_only_lower_levels(path):
    name = name_of(path)
    room = ".".join(name.split(".")[:2])
    for other in imported(path):
        level = level_of(other)
        same = level == level_of(name) and (path.parent.name != "cfrlib" or other == name)
        assert level is None or level < level_of(name) or same, f"{room} imports {other}"


USE = """
import sys
import cfrlib as cfr
game = cfr.games.LeducPoker()
solution = cfr.solve(game, iterations=2)
run = cfr.MCCFR(game, seed=0).run(2)
cfr.certify(cfr.MCCFR(cfr.games.KuhnPoker(), seed=0))
run.save(sys.argv[1])
cfr.MCCFR.load(sys.argv[1], game).run(2)
print(*[name for name in sys.modules if name.startswith("cfrlib.")])
"""


@pytest.mark.slow
def test_companion_loads_no_wing(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", USE, tmp_path / "run.npz"],
        capture_output=True,
        text=True,
        check=True,
    )
    wings = tuple(name for level in WINGS for name in level)
    loaded = done.stdout.split()
    assert "cfrlib.montecarlo.mccfr" in loaded and "cfrlib.games.coyote" not in loaded
    assert not [name for name in loaded if name.startswith(wings)]


def test_import_scan_finds_imports():
    found = set(imported(ROOT / "cfrlib" / "evaluate.py"))
    assert {"cfrlib.game", "cfrlib.core.sequence", "cfrlib.strategy"} <= found


def run(program):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)


HEAVY = ["jax", "flax", "optax", "matplotlib", "ipywidgets", "IPython", "pyspiel", "pandas"]


@pytest.mark.slow
def test_import_cfrlib_loads_no_heavy_package():
    program = f"""
import sys
import cfrlib
run = cfrlib.solve(cfrlib.games.KuhnPoker(), iterations=2)
print([name for name in {HEAVY} if name in sys.modules], "numba" in sys.modules)
"""
    done = run(program)
    assert done.stdout.strip() == "[] True", done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "extra", "package"),
    [
        ("cfrlib.deep", "deep", "jax"),
        ("koikoi.learners", "deep", "optax"),
        ("cfrlib.subgames.network", "deep", "flax"),
        ("cfrbook.plot", "plot", "matplotlib"),
        ("cfrbook.explore", "plot", "matplotlib"),
    ],
)
def test_missing_extra_is_named(part, extra, package):
    done = run(f"import sys; sys.modules[{package!r}] = None; import {part}")
    said = f'{part} needs {package}, which is not installed; run: pip install "cfrlib[{extra}]"'
    assert done.stderr.strip().splitlines()[-1] == f"ModuleNotFoundError: {said}"


def test_public_names_exist_and_have_docstrings():
    assert sorted(cfrlib.__all__) == sorted(set(cfrlib.__all__))
    for name in cfrlib.__all__:
        thing = getattr(cfrlib, name)
        assert name == "VARIANTS" or thing.__doc__, name


@pytest.mark.slow
def test_every_submodule_is_an_attribute():
    program = """
import cfrlib as cfr
for name in cfr.SUBMODULES:
    assert getattr(cfr, name).__name__ == f"cfrlib.{name}" or callable(getattr(cfr, name)), name
print(cfr.subgames.__name__, "last_iterate" in dir(cfr), "core" in cfr.SUBMODULES)
"""
    done = run(program)
    assert done.stdout.split() == ["cfrlib.subgames", "True", "False"], done.stderr
