"""Exercises."""

from cfrlib.exercises.grading import Exercise

EXERCISES: tuple[Exercise, ...] = ()
