"""Runs what a test asks for as a page does: with the small NumPy, and without Numba.

    python tests/support/on_page.py < what.json

`what` is a pair: expressions in `np`, and numbers of exercises.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def values(expressions: Iterable[str]) -> list[Any]:
    """Return the values of expressions, arrays as lists."""
    import numpy as np

    found = (eval(expression, {"np": np}) for expression in expressions)
    return [np.array(x).tolist() if np.ndim(x) else float(x) for x in found]


def replies(number: str) -> list[str]:
    """Return the replies to the solution of an exercise and to two of its mistakes."""
    from cfrbook import exercises

    exercise = exercises.find(number)
    answers = [exercise.solution, *(mistake.answer for mistake in exercise.mistakes[:2])]
    return [exercise.check(answer()).text for answer in answers]


def on_page(expressions: Iterable[str] = (), numbers: Iterable[str] = ()) -> Any:
    """Return values and replies, computed in a process like a page; an error as its text."""
    what = json.dumps([list(expressions), list(numbers)])
    command = [sys.executable, __file__]
    done = subprocess.run(command, input=what, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def main() -> None:
    """Answer what standard input asks for."""
    sys.path[:0] = [str(ROOT / "book" / "_python"), str(ROOT)]
    import page

    page.prepare(small=True)
    expressions, numbers = json.load(sys.stdin)
    found: list[Any] = []
    for number in numbers:
        try:
            found.append(replies(number))
        except (AttributeError, ImportError) as error:
            found.append(str(error))
    print(json.dumps([values(expressions), found]))


if __name__ == "__main__":
    main()
