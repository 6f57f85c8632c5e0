"""All exercises, and a way to check many answers that evaluates each solution once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

from cfrbook import exercises
from cfrbook.exercises.grading import Exercise

ALL = [exercise for name in exercises.pages().values() for exercise in exercises.on_page(name)]


def name(thing: object) -> str:
    """Return what a test is called after an exercise."""
    return getattr(thing, "number", "")


class Values(NamedTuple):
    """The values that an exercise compares."""

    of_answer: object


@cache
def cached(number: str) -> Exercise:
    """Return an exercise that evaluates its solution and mistakes once, not in each check."""
    exercise = exercises.find(number)

    def once(answer: Callable[[], object]) -> Callable[[], object]:
        return cache(lambda: Values(exercise.see(answer())))

    def see(answer: Any) -> Any:
        return answer.of_answer if isinstance(answer, Values) else exercise.see(answer)

    return replace(
        exercise,
        solution=once(exercise.solution),
        mistakes=[
            replace(mistake, answer=once(mistake.answer)) for mistake in exercise.mistakes
        ],
        see=see,
    )
