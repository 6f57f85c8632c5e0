"""The mistakes of tools/mutate.py: one line each, sound Python, tried by tests that exist."""

import ast
from pathlib import Path

from tools import mutate

TEXT = """\
def f(x: int, y: int = 0) -> int:
    \"\"\"Say x - 1.\"\"\"
    if not x < 2 and y:
        raise ValueError(f"x < {x + 1}")
    total = max(x, y)
    total += x * y
    g(x, y)
    return total
"""


def test_mistakes_of_a_function():
    found = {(m.line, m.after) for m in mutate.mutants("a.py", TEXT)}
    assert found == {
        (1, "def f(x: int, y: int = (1)) -> int:"),
        (3, "if (not x < 2 or y):"),
        (3, "if (x < 2) and y:"),
        (3, "if not (x <= 2) and y:"),
        (3, "if not x < (3) and y:"),
        (5, "total = (min(x, y))"),
        (6, "total -= x * y"),
        (6, "total += (x / y)"),
        (7, "pass"),
        (7, "(g(y, x))"),
        (8, "return None"),
    }
    lines = TEXT.splitlines()
    for m in mutate.mutants("a.py", TEXT):
        assert lines[m.line - 1].strip() == m.before
        indent = lines[m.line - 1][: -len(m.before)]
        ast.parse("\n".join([*lines[: m.line - 1], indent + m.after, *lines[m.line :]]))


def test_every_source_of_a_package_has_a_room():
    without = []
    for source in ("cfrlib", "cfrbook", "koikoi"):
        for path in sorted((mutate.ROOT / source).rglob("*.py")):
            name = path.relative_to(mutate.ROOT).as_posix()
            found = mutate.room(name, mutate.ROOT)
            assert all((mutate.ROOT / file).exists() for file in found)
            without += [name] * (not found)
    assert {Path(name).name for name in without} <= {"__init__.py"}, without
