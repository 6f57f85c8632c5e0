"""Rules that compile: a game's states as a few integers, and five functions of them.

A solver of a game too large to compile spends most of its time in the rules. Written once more
as functions of integers, which Numba compiles, the same rules are some fifty times as fast.
Kernels call them by address, so no kernel is compiled again for a game.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import cfunc, float64, int64, types
from numba.extending import intrinsic

from cfrlib.core.checks import whole_number
from cfrlib.core.tree import CHANCE, TERMINAL

__all__ = ["CHANCE", "TERMINAL", "Rules", "invoke"]

State: TypeAlias = npt.NDArray[np.int64]
Numbers = types.Array(int64, 1, "C")
Reals = types.Array(float64, 1, "C")


@intrinsic  # type: ignore[untyped-decorator]
def invoke(typing: Any, address: Any, args: Any) -> Any:
    """Call the function at an address with a tuple of arguments; it returns an integer."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = [context.get_value_type(kind) for kind in signature.args[1]]
        given = [builder.extract_value(values[1], n) for n in range(len(kinds))]
        function = ir.FunctionType(context.get_value_type(int64), kinds).as_pointer()
        return builder.call(builder.inttoptr(values[0], function), given)

    return int64(int64, args), generate


class Addresses(NamedTuple):
    """The compiled functions of `Rules`, for `invoke`."""

    player: int
    legal: int
    step: int
    payoffs: int
    key: int


@dataclass(frozen=True)
class Rules:
    """The rules of a game as functions of integers, which Numba compiles.

    A game whose attribute `rules` holds them is sampled by :class:`cfrlib.MCCFR` without a call
    of Python, if it is too large to compile. Its `node` and `step` remain: they name infosets
    and actions, and :func:`cfrlib.check` compares both.

    Parameters
    ----------
    root : sequence of int
        The state at the empty history. `label` and the functions get states as int64 arrays.
    player : function of a state
        Returns who acts: 0, 1, …; -1 for chance; -2 if the game is over.
    legal : function of (state, numbers, probabilities)
        Writes the numbers of the actions into `numbers`, in the order of the game's `node`,
        and at chance events their probabilities, and returns how many there are.
    step : function of (state, number)
        Changes the state to the one after the action.
    payoffs : function of (state, payoffs)
        Writes each player's payoff at the end of a game.
    key : function of a state
        Returns what the player to act knows, as one integer: equal at the histories of an
        infoset, different at all others, whoever acts. What does not fit into 64 bits is hashed
        step by step and kept in the state; among n infosets, two then share a key with
        probability n² / 2⁶⁵.
    label : function of a state
        Returns the label of the infoset. It is not compiled.
    actions : function of a state
        Returns the actions of the player to act, as `node` does. It is not compiled.
    most_actions : int
        The largest number of actions or outcomes anywhere.

    Notes
    -----
    The functions may use integers and arrays of the function that defines them, which become
    constants. Each returns an integer; what `step` and `payoffs` return is not used.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> rules = cfr.games.LiarsDice().rules
    >>> state = np.array(rules.root)
    >>> rules.player(state), rules.step(state, 0), rules.player(state), rules.label(state)
    (-1, 0, 0, '1')
    """

    root: tuple[int, ...]
    player: Callable[[State], int]
    legal: Callable[[State, State, npt.NDArray[np.float64]], int]
    step: Callable[[State, int], int]
    payoffs: Callable[[State, npt.NDArray[np.float64]], int]
    key: Callable[[State], int]
    label: Callable[[State], str]
    actions: Callable[[State], tuple[Any, ...]]
    most_actions: int

    def __post_init__(self) -> None:
        whole_number("most_actions", self.most_actions, 1)

    @cached_property
    def addresses(self) -> Addresses:
        """The addresses of the compiled functions."""
        compiled = [
            cfunc(int64(*arguments), error_model="numpy", cache=True)(function)
            for function, arguments in (
                (self.player, (Numbers,)),
                (self.legal, (Numbers, Numbers, Reals)),
                (self.step, (Numbers, int64)),
                (self.payoffs, (Numbers, Reals)),
                (self.key, (Numbers,)),
            )
        ]
        object.__setattr__(self, "_compiled", compiled)  # addresses are valid while these live
        return Addresses(*(each.address for each in compiled))
