"""A cache on the object itself, for what is computed once per object, such as a game's tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

Params = ParamSpec("Params")
Value = TypeVar("Value")


class remembered(Generic[Params, Value]):
    """Decorator of a function that computes something of an object, its first argument, once.

    The result is kept on the object, once for each combination of further arguments, which are
    positional; one that is left out counts as its default. A pickled game leaves it behind.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.core.sequence import sequence_form
    >>> game = cfr.games.KuhnPoker()
    >>> sequence_form(game) is sequence_form(game)
    True
    """

    def __init__(self, function: Callable[Concatenate[Any, Params], Value]):
        self._function = function
        update_wrapper(self, function)

    def __call__(self, owner: Any, /, *args: Params.args, **named: Params.kwargs) -> Value:
        """Return the result for an object, computed at the first call."""
        if named:
            raise TypeError(f"{self._function.__name__} takes its arguments by position only")
        count = self._function.__code__.co_argcount - 1 - len(args)  # arguments left out
        defaults = self._function.__defaults__ or ()
        key = self._function, *args, *defaults[max(len(defaults) - count, 0) :]
        if key not in (getattr(owner, "_memo", None) or {}):
            result = self._function(owner, *args, **named)  # may refuse the object, or remember
            if getattr(owner, "_memo", None) is None:
                object.__setattr__(owner, "_memo", {})  # games are frozen
            owner._memo[key] = result
        kept: Value = owner._memo[key]
        return kept
