"""A cache on the object itself, for what is computed once per object, such as a game's tree."""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

Params = ParamSpec("Params")
Value = TypeVar("Value")


class remembered(Generic[Params, Value]):
    """Decorator of a function that computes something of an object, its first argument, once.

    The result is kept on the object, once for each combination of further positional
    arguments; keyword arguments matter only to the call that computes it. A pickled game
    leaves it behind.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.core.sequence import sequence_form
    >>> game = cfr.games.KuhnPoker()
    >>> sequence_form.knows(game)
    False
    >>> sequence_form(game) is sequence_form(game), sequence_form.knows(game)
    (True, True)
    """

    def __init__(self, function: Callable[Concatenate[Any, Params], Value]):
        self._function = function
        update_wrapper(self, function)

    def __call__(self, owner: Any, /, *args: Params.args, **options: Params.kwargs) -> Value:
        """Return the result for an object, computed at the first call."""
        key = self._function, *args
        if not self.knows(owner, *args):  # the function refuses objects of a wrong type
            result = self._function(owner, *args, **options)
            if getattr(owner, "_memo", None) is None:
                object.__setattr__(owner, "_memo", {})  # games are frozen
            owner._memo[key] = result
        kept: Value = owner._memo[key]
        return kept

    def knows(self, owner: object, *args: Any) -> bool:
        """Return whether the result for an object has been computed."""
        return (self._function, *args) in (getattr(owner, "_memo", None) or {})
