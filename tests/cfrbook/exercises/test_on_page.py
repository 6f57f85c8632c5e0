"""Programs on the pages: the replies of a notebook, and a small NumPy that computes alike."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from on_page import on_page, replies, values

import cfrlib as cfr
from cfrbook import exercises

BOOK = Path(__file__).parents[3] / "book"
sys.path.insert(0, str(BOOK / "_ext"))

import answers  # noqa: E402

EXPRESSIONS = """
np.zeros(3)
np.zeros((2, 3))
np.ones(2) / 3
np.full(2, 0.5)
np.arange(4)
np.arange(1, 7, 2)
np.array([1, 2.5])
np.array([[1, 2], [3, 4]])
np.array([True, False])
np.array([1, 2]) + [0.5, 1.5]
[1, 2] - np.array([3.0, 4.0])
2 ** np.array([1, 2])
-np.array([1, -2])
~np.array([True, False])
abs(np.array([1, -2]))
np.array([1.0, 0, -1]) / np.array([2.0, 1, 4])
np.array([7, 8]) // 3 + np.array([7, 8]) % 3
np.array([[1, 2], [3, 4]]) * np.array([10, 20])
np.array([[1, 2], [3, 4]]) * np.array([[10], [20]])
np.array([1, 2])[:, None] * np.array([3, 4, 5])
np.array([[1, 2], [3, 4]]) @ np.array([5, 6])
np.array([5, 6]) @ np.array([[1, 2], [3, 4]])
np.array([[1, 2], [3, 4]]) @ np.array([[5, 6], [7, 8]])
[1.0, 2.0] @ np.array([3, 4])
[1, 2] - np.array([1.0, 2.0]) @ np.array([3.0, 4.0])
np.array([[1, 2], [3, 4]])[:, 1]
np.array([[1, 2], [3, 4]])[1, 0]
np.array([[1, 2], [3, 4]])[[1, 0]]
np.array([[1, 2], [3, 4]])[[1, 0], [0, 1]]
np.array([1, 2, 3])[np.array([True, False, True])]
np.array([1, 2, 3])[::-1]
np.array([[1, 2], [3, 4]]).T
np.array([[1, 5], [3, 4]]).sum()
np.array([[1, 5], [3, 4]]).sum(axis=0)
np.array([[1, 5], [3, 4]]).sum(axis=1)
np.array([[1, 5], [3, 4]]).max(axis=1, keepdims=True)
np.array([[1, 5], [3, 4]]).mean(axis=-1)
np.array([3, 1, 2]).argmax() + np.array([3, 1, 2]).argmin()
np.array([3, 1, 2]).prod()
np.array([[3, 1], [1, 1]]).all(axis=1)
np.array([0.4, 2.5, 3.5]).round()
np.array([1, 2]).cumsum()
np.ptp([3, 1, 2])
np.median([3, 1, 2, 5])
np.count_nonzero(np.array([1, 0, 2]))
np.maximum(np.array([1, -1]), 0)
np.minimum([1, 5], [2, 3])
np.clip([1, 5], 2, 3)
np.where(np.array([True, False]), [1, 2], 0)
np.where(np.arange(2) == 1, np.ones(2)[:, None], 5)
np.sign([2.0, 0, -3])
np.exp([0.0, 1]) + np.log([1.0, 2]) + np.sqrt([4.0, 9])
np.tanh(np.array([0.5]))
np.isfinite(np.array([1.0, np.inf]))
np.allclose([1, 2], [1, 2 + 1e-9])
np.isclose(1.0, [1.0, 1.1])
np.outer([1, 2], [3, 4])
np.dot([1, 2], [3, 4])
np.concatenate([[1, 2], [3]])
np.stack([[1, 2], [3, 4]])
np.delete([1, 2, 3], 1)
np.diff([1, 4, 9])
np.argsort([3, 1, 2])
np.flatnonzero(np.array([0, 1, 1]))
np.unique(np.array([3, 1, 3]))
np.bincount([0, 2, 2], minlength=4)
np.searchsorted([1, 3, 5], [0, 3, 6])
np.add.reduceat(np.array([1, 2, 3, 4]), [0, 2])
(x := np.zeros(3)).__setitem__(slice(1, 3), [1, 2]) or x
(x := np.zeros((2, 2))).__setitem__((slice(None), 1), [1, 2]) or x
(x := np.zeros((2, 2)))[0].__setitem__(1, 5) or x
(x := np.zeros(3)).__iadd__(1) * 2 + x
(x := np.array([1, 2, 3])).__setitem__(x > 1, 0) or x
""".strip().splitlines()


@cache
def programs() -> list[str]:
    pages = (BOOK / f"{name}.ipynb" for name in exercises.pages().values())
    found = [each for path in pages for each in answers.page_data(path, True)["exercises"]]
    return [each["number"] for each in found if "program" in each]


@pytest.mark.slow
def test_small_numpy_computes_as_numpy_does() -> None:
    found, _ = on_page(EXPRESSIONS)
    for expression, mine, right in zip(EXPRESSIONS, found, values(EXPRESSIONS), strict=True):
        assert np.shape(mine) == np.shape(right), expression
        assert np.allclose(mine, right), expression


@pytest.mark.slow
def test_page_has_the_replies_of_the_notebook() -> None:
    numbers = programs()
    assert {"1.6", "1.7", "2.5", "3.6", "4.4", "4.6", "5.5"} <= set(numbers)
    for number, found in zip(numbers, on_page(numbers=numbers)[1], strict=True):
        assert found == replies(number), number
        assert found[0].startswith("Right."), number


@pytest.mark.slow
def test_what_a_page_lacks_is_left_to_the_notebook() -> None:
    left = [
        "9.1",
        "9.4",
        "11.4",
        "15.5",
        "17.3",
        "classic.5",
        "own.4",
    ]  # others train, or solve
    assert set(left) <= answers.NOTEBOOK
    for number, found in zip(left, on_page(numbers=left)[1], strict=True):
        assert isinstance(found, str) or "Right." not in found[0], number


def test_equilibrium_of_the_first_program_is_that_of_the_linear_program() -> None:
    for n in (1, 3, 10):
        right = cfr.solve_lp(cfr.games.RockPaperScissors(n)).strategy["player 0"]
        found = exercises.find("1.6").solution()(n)  # type: ignore[operator]
        assert found == pytest.approx(right)


@pytest.mark.slow
def test_small_numpy_refuses_what_numpy_refuses() -> None:
    for wrong in ("np.ones(2) + np.ones(3)", "bool(np.ones(2))", "np.arange(2).__iadd__(0.5)"):
        with pytest.raises((ValueError, TypeError)):
            values([wrong])
        with pytest.raises(AssertionError, match=r"ValueError|TypeError"):
            on_page([wrong])
