"""Every test file of the packages has a quick test: `make test` leaves no room out."""

import ast
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOMS = ("cfrlib", "cfrbook", "koikoi", "book", "pages", "teaching")
FILES = sorted(path for room in ROOMS for path in (HERE / room).rglob("test_*.py"))


# These start processes in which nothing is compiled, or train networks until they fail.
NEVER_QUICK = {"test_nojit.py", "test_compiling.py", "test_classroom.py"}
NEVER_QUICK |= {"test_deep_mutants.py", "test_other_forms.py", "test_builds.py"}


def is_slow(expression):
    """Return whether an expression is, or has, the mark `slow`."""
    return "pytest.mark.slow" in ast.unparse(expression)


def quick_tests(source):
    """Return the names of tests that nothing marks as slow; cases of a table count as quick."""
    body = ast.parse(source).body
    assigned = [node for node in body if isinstance(node, ast.Assign)]
    if any(ast.unparse(a.targets[0]) == "pytestmark" and is_slow(a.value) for a in assigned):
        return []
    return [
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef)
        and node.name.startswith("test")
        and "pytest.mark.slow" not in map(ast.unparse, node.decorator_list)
    ]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(HERE).as_posix())
def test_file_has_a_quick_test(path):
    assert path.name in NEVER_QUICK or quick_tests(path.read_text("utf-8"))


SLOW = "import pytest\n@pytest.mark.slow\ndef test_a(): pass\n"


@pytest.mark.parametrize(
    ("source", "names"),
    [
        (SLOW, []),
        ("def test_a(): pass\n", ["test_a"]),
        (SLOW + "def test_b(): pass\n", ["test_b"]),
        (SLOW + "def helper(): pass\n", []),
        ("import pytest\npytestmark = pytest.mark.slow\ndef test_a(): pass\n", []),
    ],
)
def test_rule_finds_what_is_slow(source, names):
    assert quick_tests(source) == names
