"""Tests of the import order of modules, and that `import cfrlib` loads no heavy package."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cfrlib

ROOT = Path(cfrlib.__file__).parent
# A module imports only from earlier levels.
LEVELS = [
    {"game"},
    {"core"},
    {"strategy"},
    {"games"},  # imports game, core and strategy, but no solver
    {"interop"},  # likewise
    {"equilibrium"},
    {"regret"},
    {"solution"},
    {"run"},
    {"simulate"},
    {"cfr"},
    {"last_iterate"},
    {"montecarlo"},
    {"solve"},
    {"plot"},
    {"explore"},
    {"deep"},
    {"subgames"},  # only its network needs deep
    {"koikoi"},  # only its learners need more than games
    {"bugs"},  # plain solvers, which are compared with the package's
    {"exercises"},
]
LEVEL = {name: n for n, level in enumerate(LEVELS) for name in level}
MODULES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def level_of(path):
    return LEVEL[path.relative_to(ROOT).with_suffix("").parts[0]]


def imported(path):
    """Yield the parts of cfrlib that a file imports, inside functions as well."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "cfrlib":
                yield from (alias.name for alias in node.names)
            elif node.module.startswith("cfrlib."):
                yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "cfrlib":
                    yield [*alias.name.split("."), ""][1]


def test_every_module_has_a_level():
    assert {p.relative_to(ROOT).with_suffix("").parts[0] for p in MODULES} == set(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_modules_import_only_lower_levels(path):
    for name in imported(path):
        assert name in LEVEL, f"{path.name} imports {name}"
        same_package = name in path.relative_to(ROOT).parts[:-1]
        assert LEVEL[name] < level_of(path) or same_package, f"{path.name} imports {name}"


def test_import_scan_finds_imports():
    assert {"game", "core", "strategy"} <= set(imported(ROOT / "equilibrium.py"))


HEAVY = ["jax", "flax", "optax", "matplotlib", "ipywidgets", "IPython", "pyspiel", "pandas"]


@pytest.mark.slow
def test_import_cfrlib_loads_no_heavy_package():
    program = f"""
import sys
import cfrlib
run = cfrlib.solve(cfrlib.games.KuhnPoker(), iterations=2)
print([name for name in {HEAVY} if name in sys.modules], "numba" in sys.modules)
"""
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[] True"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("part", "extra", "package"),
    [
        ("cfrlib.deep", "deep", "jax"),
        ("cfrlib.koikoi.learners", "deep", "optax"),
        ("cfrlib.subgames.network", "deep", "flax"),
        ("cfrlib.plot", "plot", "matplotlib"),
        ("cfrlib.explore", "plot", "matplotlib"),
    ],
)
def test_missing_extra_is_named(part, extra, package):
    program = f"import sys; sys.modules[{package!r}] = None; import {part}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    said = f'{part} needs {package}, which is not installed; run: pip install "cfrlib[{extra}]"'
    assert done.stderr.strip().splitlines()[-1] == f"ModuleNotFoundError: {said}"


def test_public_names_exist_and_have_docstrings():
    assert sorted(cfrlib.__all__) == sorted(set(cfrlib.__all__))
    for name in cfrlib.__all__:
        thing = getattr(cfrlib, name)
        assert name == "VARIANTS" or thing.__doc__, name
