"""Rules in Python, in the form of :class:`cfrlib.Rules`: compiled walks call them by address.

A state holds the number of a history, and what the rules said there. Only a step, and the
probabilities of a chance event, need a call of Python, so there is one for each history. The
key of an infoset is a hash of its label.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from copy import copy
from ctypes import CFUNCTYPE, c_int64, c_void_p, cast
from functools import cache
from hashlib import blake2b
from itertools import islice
from struct import Struct
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numba import carray  # type: ignore[attr-defined]

from cfrlib.core.tree import CHANCE, TERMINAL, WATCHED, Floats, name_history
from cfrlib.game import (
    Action,
    Chance,
    Decision,
    Game,
    GameError,
    History,
    Terminal,
    action_label,
)
from cfrlib.large.partial_tree import PartialTree
from cfrlib.large.rules import Addresses, addresses_of, invoke, pointer

# A state: addresses of the call and of the box with the numbers that it returns; these numbers.
CALL, BOX, NUMBER, PLAYER, KEY, COUNT, PAYOFFS = range(7)
FAILED = -1  # returned in place of a number
REMEMBERED = 10_000  # infosets of which a history is kept, for error messages
Path: TypeAlias = tuple[Action, ...]
Numbers64: TypeAlias = Any


def player(s: Numbers64) -> int:
    """Return who acts, as `Rules.player` does."""
    return int(s[PLAYER])


def key(s: Numbers64) -> int:
    """Return the key of the infoset."""
    return int(s[KEY])


def legal(s: Numbers64, numbers: Numbers64, probabilities: Floats) -> int:
    """Write the actions; ask Python for the probabilities of a chance event."""
    n = s[COUNT]
    if n > len(numbers):
        return FAILED
    for a in range(n):
        numbers[a] = a
    if s[PLAYER] == CHANCE and s[NUMBER] > 0:  # those of the empty history are known
        box = carray(pointer(s[BOX]), 2)
        box[0] = FAILED
        invoke(s[CALL], (s[NUMBER], -1))
        if box[0] == FAILED:
            return FAILED
        given = carray(pointer(box[1]), n).view(np.float64)
        for a in range(n):
            probabilities[a] = given[a]
    return int(n)


def step(s: Numbers64, a: int) -> int:
    """Ask Python what follows an action."""
    box = carray(pointer(s[BOX]), len(s) - NUMBER)
    box[0] = FAILED
    invoke(s[CALL], (s[NUMBER], a))
    failed = box[0] == FAILED
    for c in range(len(box)):
        s[NUMBER + c] = box[c]
    if failed:  # `legal` ends the walk
        s[PLAYER], s[COUNT] = CHANCE, 1 << 62
    return 0


def payoffs(s: Numbers64, out: Floats) -> int:
    """Write the payoffs."""
    given = s.view(np.float64)
    for p in range(len(out)):
        out[p] = given[PAYOFFS + p]
    return 0


@cache
def compiled() -> tuple[Addresses, list[Any]]:
    """Return these functions for walks; they are those of all games."""
    return addresses_of(player, legal, step, payoffs, key)


def key_of(label: str) -> int:
    """Return a hash of a label: the same in all processes."""
    return int.from_bytes(
        blake2b(label.encode(), digest_size=8).digest(), "little", signed=True
    )


class Unsound(Exception):
    """The rules are unsound; `PythonRules.examine` finds out why."""


class PythonRules:
    """The rules of one game, and the infosets that its walks met.

    Parameters
    ----------
    game : Game

    Attributes
    ----------
    most_actions : int
        The largest number of actions or outcomes so far.
    met : dict from label to int
        A number for each infoset met; see the next two.
    keys : array of int
        The keys of the infosets met.
    kind : array of int
        The place in `kinds` of each infoset's player and actions.
    named : dict from key to (label, player, labels of actions)
        Infosets of a file that were not met since.
    """

    in_python = True

    def __init__(self, game: Game):
        self.game, self.players = game, game.num_players
        self.most_actions = 1
        self.met: dict[str, int] = {}
        self.keys, self.kind = array("q"), array("i")
        self.kinds: list[tuple[int, Path]] = []
        self.place: dict[tuple[int, Path], int] = {}  # in `kinds`
        self.named: dict[int, tuple[str, int, Path]] = {}
        self.sent = 0  # infosets that another process knows
        self.met_at: dict[str, Path] = {}
        self.watched = 0
        self.plain = type(game).step is Game.step  # a history is a tuple of actions
        self.failure: BaseException | None = None
        self.box = np.zeros(4 + self.players, np.int64)
        self.probabilities = np.zeros(0)
        self.pack = Struct("4q").pack_into
        self.pack_payoffs = Struct(f"4q{self.players}d").pack_into
        self.view = memoryview(self.box.data).cast("B")
        self._call = CFUNCTYPE(c_int64, c_int64, c_int64)(self.call)

    # ---- as `Rules` --------------------------------------------------------------------------

    @property
    def addresses(self) -> Addresses:
        """The addresses of the compiled functions."""
        return compiled()[0]

    @property
    def root(self) -> tuple[int, ...]:
        """The state at the empty history, without what the rules say there."""
        call = cast(self._call, c_void_p).value or 0
        return (call, self.box.ctypes.data, *([0] * (4 + self.players)))

    def look_at_root(self, state: Any) -> None:
        """Read the empty history, which begins every walk, and enter it in a state."""
        self.entries: list[Any] = []
        self.below = False
        try:
            self.arrive(self.game.root(), 0, None)
        except Exception:
            self.examine(())
            raise
        state[NUMBER:] = self.box

    # ---- called by walks ---------------------------------------------------------------------

    def call(self, number: int, a: int) -> int:
        """Step from a history, or with a = -1 give its probabilities."""
        try:
            if a < 0:
                self.give(number)
                return 0
            if number:
                self.below = True
            elif self.below:  # a walk begins
                del self.entries[1:]
                self.below = False
            h, _, _, actions = self.entries[number]
            action = actions[a]
            if self.plain:
                child = (*h, action)
            elif self.watched < WATCHED:
                child = self.watch(h, number, action)
            else:
                child = self.game.step(h, action)
            self.arrive(child, number, action)
        except BaseException as error:
            self.fail(error, number, a)
        return 0

    def arrive(self, h: History, up: int, action: Action) -> None:
        """Write what the rules say at a history."""
        node: Any = self.game.node(h)
        if isinstance(node, Terminal):
            utilities = node.utilities
            if len(utilities) != self.players or sum(utilities) - sum(utilities) != 0.0:
                raise Unsound
            self.pack_payoffs(self.view, 0, 0, TERMINAL, 0, 0, *utilities)
            return
        if isinstance(node, Decision):
            number = self.met.get(node.infoset)
            if number is None:
                number = self.meet(node, up, action)
            player, actions = self.kinds[self.kind[number]]
            given = node.actions
            if player != node.player or (given is not actions and tuple(given) != actions):
                raise Unsound
            key = self.keys[number]
        elif isinstance(node, Chance):
            player, key, actions = CHANCE, 0, tuple(node.probabilities)
            self.most_actions = max(self.most_actions, len(actions))
        else:
            raise Unsound
        if not actions:
            raise Unsound
        self.pack(self.view, 0, len(self.entries), player, key, len(actions))
        self.entries.append((h, up, action, actions))

    def give(self, number: int) -> None:
        """Write the probabilities of a chance event, checked."""
        node: Any = self.game.node(self.entries[number][0])
        given = list(node.probabilities.values())
        if not abs(sum(given) - 1) <= 1e-9 or min(given) < 0:
            raise Unsound
        if len(self.probabilities) < len(given):
            self.probabilities = np.zeros(2 * len(given))
        self.probabilities[: len(given)] = given
        self.box[:2] = 0, self.probabilities.ctypes.data

    def meet(self, node: Decision, up: int, action: Action) -> int:
        """Enter an infoset that is new in this process, checked; return its number."""
        label, player, actions = node.infoset, node.player, tuple(node.actions)
        if not isinstance(label, str) or player not in range(self.players):
            raise Unsound
        if not len(set(actions)) == len(actions) > 0:
            raise Unsound
        return self.enter(label, player, actions, self.path(up, action))

    def enter(self, label: str, player: int, actions: Path, path: Path | None) -> int:
        """Enter a new infoset, met at a history; return its number."""
        key = key_of(label)
        if key in self.named:
            self.recall(key, player, actions, path or ())
        if (player, actions) not in self.place:
            self.place[player, actions] = len(self.kinds)
            self.kinds.append((player, actions))
            self.most_actions = max(self.most_actions, len(actions))
        self.met[label] = number = len(self.keys)
        self.keys.append(key)
        self.kind.append(self.place[player, actions])
        if path is not None and len(self.met_at) < REMEMBERED:
            self.met_at[label] = path
        return number

    def watch(self, h: History, number: int, action: Action) -> History:
        """Return the history after an action, as `RuleChecker.children_of` does."""
        self.watched += 1
        path = self.path(number, None)
        checker = PartialTree(self.game)
        checker.parent.extend(range(len(path)))
        checker.action.extend(path)
        return next(iter(checker.children_of(len(path), h, (action,))))

    # ---- errors ------------------------------------------------------------------------------

    def path(self, number: int, action: Action) -> Path:
        """Return the actions before a history, and one more unless it is None."""
        actions = [] if action is None else [action]
        while number > 0:
            _, up, action, _ = self.entries[number]
            actions.append(action)
            number = up
        return tuple(reversed(actions))

    def fail(self, error: BaseException, number: int, a: int) -> None:
        """Keep an error until the walk has stopped: it cannot pass through compiled code."""
        self.box[0] = FAILED
        if not isinstance(error, Exception) or isinstance(error, GameError):
            self.failure = error
            return
        try:
            action = self.entries[number][3][a] if a >= 0 else None
            path = self.path(number, action)
            self.examine(path)
            if isinstance(error, Unsound):
                h = self.game.root()
                for action in path:
                    h = self.game.step(h, action)
                self.conflict(self.game.node(h).infoset, path)  # type: ignore[union-attr]
            name_history(error, self.game, path)
            self.failure = error
        except BaseException as better:
            self.failure = better

    def raise_failure(self) -> None:
        """Raise the error that stopped a walk, if one did."""
        error, self.failure = self.failure, None
        if error is not None:
            raise error

    def examine(self, *paths: Path) -> None:
        """Check the rules along some histories, and raise what `PartialTree` finds there."""
        tree = PartialTree(self.game)
        for path in paths:
            k = 0
            for a in (*path, None):
                if tree.is_unknown(k):
                    tree.expand(k)
                first = int(tree.nodes.first_child[k])
                children = range(first, first + int(tree.nodes.num_children[k]))
                k = next((c for c in children if tree.action[c] == a), 0)

    def conflict(self, label: str, path: Path) -> NoReturn:
        """Raise the error for an infoset that differs from what it was at another history."""
        self.examine(self.met_at.get(label, path), path)
        raise GameError(
            f"{self.game!r}, history {path!r}: infoset {label!r} has another player here than "
            "at an earlier history, other actions, or its player came to it by other actions; "
            "put what differs into the label, and the player's own past actions"
        )

    # ---- labels, files and other processes ---------------------------------------------------

    def label_of(self, key: int) -> str:
        """Return the label of an infoset met."""
        return next(islice(self.met, self.keys.index(key), None))

    def names(self, keys: Any, states: Any) -> tuple[list[str], list[Path]]:
        """Return labels and actions of some infosets.

        Raises
        ------
        GameError
            If two labels have the same key.
        """
        known = {key: (label, actions) for key, (label, _, actions) in self.named.items()}
        known |= {
            key: (label, self.kinds[kind][1])
            for label, key, kind in zip(self.met, self.keys, self.kind, strict=True)
        }
        if len(known) < len(self.met) + len(self.named):
            raise GameError(f"two infosets of {self.game!r} have one hash; rename a label")
        found = [known[key] for key in keys.tolist()]
        return [label for label, _ in found], [actions for _, actions in found]

    def restore(self, rows: Sequence[Any]) -> list[int]:
        """Enter the infosets of a file; return their keys."""
        keys = [key_of(label) for _, label, _ in rows]
        for key, (player, label, actions) in zip(keys, rows, strict=True):
            if label not in self.met:
                self.named[key] = label, player, tuple(actions)
        return keys

    def recall(self, key: int, player: int, actions: Path, path: Path) -> None:
        """Compare an infoset with what a file said of it, when it is met."""
        label, theirs, old = self.named[key]
        names = tuple(action_label(a) for a in actions)
        if (player, names) != (theirs, old):
            raise GameError(
                f"{self.game!r}, history {path!r}: infoset {label!r} of player "
                f"{player} offers {names!r}, but when the run was saved it was player "
                f"{theirs}'s and offered {old!r}; load the run with "
                "the game it was saved from"
            )
        del self.named[key]

    def copy(self) -> PythonRules:
        """Return an independent copy, for another thread."""
        other = PythonRules(self.game)
        for name in ("met", "keys", "kind", "kinds", "place", "named", "met_at"):
            setattr(other, name, copy(getattr(self, name)))
        other.most_actions, other.watched = self.most_actions, self.watched
        return other

    def news(self) -> list[Any]:
        """Return the infosets met since the last time, for another process."""
        new = list(islice(reversed(self.met), len(self.met) - self.sent))[::-1]
        self.sent = len(self.met)
        return [
            (label, *self.kinds[self.kind[self.met[label]]], self.met_at.get(label))
            for label in new
        ]

    def add(self, news: list[Any]) -> None:
        """Enter infosets that another process met."""
        for label, player, actions, path in news:
            if label not in self.met:
                self.enter(label, player, actions, path)
            elif self.kinds[self.kind[self.met[label]]] != (player, actions):
                self.conflict(label, path or ())
