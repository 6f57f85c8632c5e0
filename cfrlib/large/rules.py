"""Rules that compile: a game's states as a few integers, and five functions of them.

A solver of a game too large to compile spends most of its time in the rules. Written once more
as functions of integers, which Numba compiles, the same rules need no call of Python.
Kernels call them by address, so no kernel is compiled again for a game.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, c_int64, cast
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from llvmlite import ir  # type: ignore[import-untyped]
from numba import config, float64, int64, types
from numba.extending import intrinsic

from cfrlib.core.checks import whole_number
from cfrlib.core.jit import callback, inlined
from cfrlib.core.rng import GOLDEN, mix
from cfrlib.core.tree import CHANCE, TERMINAL
from cfrlib.game import Action, Chance, Decision, Game, GameError, Terminal

State: TypeAlias = npt.NDArray[np.int64]
Numbers = types.Array(int64, 1, "C")
Reals = types.Array(float64, 1, "C")


@intrinsic
def _invoke(typing: Any, address: Any, args: Any) -> Any:
    """Call the function at an address with a tuple of arguments; it returns an integer."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        kinds = [context.get_value_type(kind) for kind in signature.args[1]]
        given = [builder.extract_value(values[1], n) for n in range(len(kinds))]
        function = ir.FunctionType(context.get_value_type(int64), kinds).as_pointer()
        return builder.call(builder.inttoptr(values[0], function), given)

    return int64(int64, args), generate


@intrinsic
def _prefetch(typing: Any, array: Any, index: Any) -> Any:
    """Begin to load an element of an array into the cache, without waiting for it."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, value=values[0]).data
        pointer, word = builder.gep(data, [values[1]]), ir.IntType(32)
        kinds = [pointer.type, word, word, word]
        load = builder.module.declare_intrinsic(
            "llvm.prefetch", [pointer.type], ir.FunctionType(ir.VoidType(), kinds)
        )
        builder.call(load, [pointer, word(0), word(3), word(1)])
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


@intrinsic
def _pointer(typing: Any, address: Any) -> Any:
    """Return a pointer to the integers at an address, for `carray`."""

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.inttoptr(values[0], context.get_value_type(signature.return_type))

    return types.CPointer(int64)(int64), generate  # type: ignore[no-untyped-call]


# Otherwise a type checker counts the first argument.
invoke: Any = _invoke
prefetch: Any = _prefetch
pointer: Any = _pointer
if config.DISABLE_JIT:  # type: ignore[attr-defined]

    def invoke(address: Any, args: Any) -> Any:
        """Call a function, or the one at an address."""
        if callable(address):
            return address(*args)
        return CFUNCTYPE(c_int64, *[c_int64] * len(args))(int(address))(*map(int, args))

    def prefetch(array: Any, index: Any) -> None:
        """Do nothing."""

    def pointer(address: Any) -> Any:
        """Return a pointer to integers."""
        return cast(int(address), POINTER(c_int64))


@inlined
def extended(key: int, number: int) -> Any:
    """Return the key of what a player knows and one more observation: a hash of 64 bits."""
    return np.int64(mix(np.uint64(key) + GOLDEN * np.uint64(number + 1)))


class Addresses(NamedTuple):
    """The compiled functions of `Rules`, for `invoke`."""

    player: int
    legal: int
    step: int
    payoffs: int
    key: int


def addresses_of(*functions: Any) -> tuple[Addresses, list[Any]]:
    """Compile five functions; return their addresses, valid while the compiled ones live."""
    if config.DISABLE_JIT:  # type: ignore[attr-defined]
        return Addresses(*functions), []
    arguments: Any = (Numbers,), (Numbers, Numbers, Reals), (Numbers, int64), (Numbers, Reals)
    compiled = [
        callback(function, int64(*kinds))
        for function, kinds in zip(functions, (*arguments, (Numbers,)), strict=True)
    ]
    return Addresses(*[each.address for each in compiled]), compiled


@dataclass(frozen=True)
class Rules:
    """The rules of a game as functions of integers, which Numba compiles.

    A game whose attribute `rules` holds them is sampled by :class:`cfrlib.MCCFR` without a call
    of Python, if its tree is too large to compile. Its `node` and `step` remain, for everything
    else, and :func:`cfrlib.check_rules` compares both. They are not used for a subclass that
    replaces `root`, `node` or `step`; one that changes less sets `rules = None`.

    Parameters
    ----------
    root : sequence of int
        The state at the empty history. The functions get states as int64 arrays.
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
        Returns what the player to act knows, as one integer: the same at all histories of an
        infoset, and another one at each other infoset, also of other players. What does not
        fit into 64 bits is hashed step by step and kept in the state; among n infosets, two
        then share a key with probability n² / 2⁶⁵.
    decision : function of a state
        Returns the decision that `node` returns at a history with this state. It is not
        compiled.
    most_actions : int
        The largest number of actions or outcomes anywhere.

    Notes
    -----
    The functions may use numbers and arrays of the function or module that defines them, which
    become constants. Each returns an integer; what `step` and `payoffs` return is not used.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> rules = cfr.games.LiarsDice().rules
    >>> state = np.array(rules.root)
    >>> rules.player(state), rules.step(state, 0), rules.decision(state).infoset
    (-1, 0, '1')
    """

    root: tuple[int, ...]
    player: Callable[[State], int]
    legal: Callable[[State, State, npt.NDArray[np.float64]], int]
    step: Callable[[State, int], int]
    payoffs: Callable[[State, npt.NDArray[np.float64]], int]
    key: Callable[[State], int]
    decision: Callable[[State], Decision]
    most_actions: int

    in_python = False

    def __post_init__(self) -> None:
        whole_number("most_actions", self.most_actions, 1)

    def names(self, keys: Any, states: Any) -> tuple[list[str], list[tuple[Action, ...]]]:
        """Return labels and actions of some infosets."""
        at = [self.decision(s) for s in states]
        return [node.infoset for node in at], [tuple(node.actions) for node in at]

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone, because addresses are those of one process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @cached_property
    def addresses(self) -> Addresses:
        """The addresses of the compiled functions."""
        functions = self.player, self.legal, self.step, self.payoffs, self.key
        addresses, compiled = addresses_of(*functions)
        object.__setattr__(self, "_compiled", compiled)
        return addresses


def rules_of(game: Game) -> Rules | None:
    """Return the rules that compile, unless a subclass has changed the game since."""
    rules: Rules | None = getattr(game, "rules", None)
    if rules is None or "rules" in vars(game):
        return rules
    names = {"rules", "root", "node", "step"}
    last = next(own for kind in type(game).__mro__ if (own := vars(kind).keys() & names))
    return rules if "rules" in last else None


def check_rules(game: Game, plays: int = 1_000, *, seed: int = 0) -> None:
    """Compare a game's `rules` with its `node` and `step` in random plays.

    Parameters
    ----------
    game : Game
        A game with an attribute `rules`.
    plays : int
        The number of plays; in each, all actions are equally likely.
    seed : int

    Raises
    ------
    GameError
        At the first difference; the message names the history and both results.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> cfr.check_rules(cfr.games.LiarsDice(dice=2))
    """
    rules: Rules | None = getattr(game, "rules", None)
    if rules is None:
        raise GameError(f"{game!r} has no rules that compile; give it an attribute `rules`")
    rng = random.Random(seed)
    keys: dict[str, int] = {}  # by label
    whose: dict[int, str] = {}  # labels, by key
    for _ in range(whole_number("plays", plays, 1)):
        h, state = game.root(), np.array(rules.root, np.int64)
        path: tuple[Action, ...] = ()
        while True:
            node = game.node(h)
            mine, theirs = _said_by(node), _said_by_rules(rules, state, game.num_players)
            if mine != theirs:
                raise GameError(
                    f"{game!r}, history {path!r}: node() gives {mine!r}, but the rules give "
                    f"{theirs!r}"
                )
            if isinstance(node, Decision):
                label, key = node.infoset, int(rules.key(state))
                if key != keys.setdefault(label, key):
                    raise GameError(
                        f"{game!r}, history {path!r}: the key of infoset {label!r} is {key} "
                        f"here, but {keys[label]} at another of its histories"
                    )
                if label != whose.setdefault(key, label):
                    raise GameError(
                        f"{game!r}, history {path!r}: infosets {label!r} and {whose[key]!r} "
                        f"have the same key, {key}; the key must hold all that the player knows"
                    )
            if isinstance(node, Terminal):
                break
            a = rng.randrange(len(node.actions))
            numbers = np.zeros(rules.most_actions, np.int64)
            rules.legal(state, numbers, np.zeros(rules.most_actions))
            rules.step(state, int(numbers[a]))
            h, path = game.step(h, node.actions[a]), (*path, node.actions[a])


def _said_by(node: Any) -> tuple[Any, ...]:
    """Return what a node says."""
    if isinstance(node, Terminal):
        return "payoffs", tuple(float(u) for u in node.utilities)
    if isinstance(node, Chance):
        return "chance", tuple(float(p) for p in node.probabilities.values())
    return "player", node.player, node.infoset, tuple(node.actions)


def _said_by_rules(rules: Rules, state: State, players: int) -> tuple[Any, ...]:
    """Return what the rules say about a state."""
    player = int(rules.player(state))
    if player == TERMINAL:
        payoffs = np.zeros(players)
        rules.payoffs(state, payoffs)
        return "payoffs", tuple(payoffs.tolist())
    numbers = np.zeros(rules.most_actions, np.int64)
    probabilities = np.zeros(rules.most_actions)
    count = int(rules.legal(state, numbers, probabilities))
    if player == CHANCE:
        return "chance", tuple(probabilities[:count].tolist())
    node = rules.decision(state)
    actions = tuple(node.actions) if len(node.actions) == count else f"{count} actions"
    return "player", player, node.infoset, actions
