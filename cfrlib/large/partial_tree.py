"""A tree that grows: the part of a game too large to compile that walks have visited.

A history is expanded when a walk first visits it, and an infoset is added with its first
history. Kernels read the same arrays as those of a complete tree.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from cfrlib.core.tree import CHANCE, TERMINAL, Floats, RuleChecker
from cfrlib.game import Action, Chance, Decision, Game, History, Terminal
from cfrlib.montecarlo.tree_records import (
    INFOSET,
    NODE,
    UNKNOWN,
    Records,
    TreeArrays,
    proposed,
)
from cfrlib.montecarlo.updates import Tables, make_uniform


class PartialTree(RuleChecker):
    """A game tree that is expanded on demand.

    Attributes
    ----------
    game : Game
        The rules.
    nodes, infosets : record arrays of NODE and INFOSET
        Like the next two, they may be longer than needed. Each infoset comes after its
        player's earlier ones.
    utility : float array, shape (histories, players)
        Payoffs at terminal histories.
    owner : int array, shape (sequences,)
        The infoset of a sequence; -1 for the empty ones.
    arrays : TreeArrays
        The current four arrays; expansion may replace them.
    num_histories, num_infosets, num_sequences : int
        Numbers so far, including the empty history and the empty sequences.
    labels : list of str
        Labels of the infosets.
    actions_at : list of tuple of actions
        Actions of the infosets.
    """

    def __init__(self, game: Game, proposal: Mapping[Action, float] | None = None):
        super().__init__(game)
        self.num_histories, self.num_infosets = 1, 0
        self.num_sequences = game.num_players  # the empty ones
        self.labels: list[str] = []
        self.actions_at: list[tuple[Action, ...]] = []
        self.nodes: Records = np.recarray(1, NODE)
        self.nodes[0] = (UNKNOWN, 0, 0, 0, 1.0, 1.0, 1.0)
        self.utility = np.zeros((1, game.num_players))
        self.infosets: Records = np.recarray(0, INFOSET)
        self.owner = np.full(game.num_players, -1, np.int32)
        self._proposal = proposal
        self._history: dict[int, History] = {0: game.root()}  # not expanded yet
        self._sequence = np.arange(game.num_players, dtype=np.int32)[None, :]

    @property
    def arrays(self) -> TreeArrays:
        """The current arrays, for kernels."""
        return TreeArrays(self.nodes, self.utility, self.infosets, self.owner)

    def is_unknown(self, k: int) -> bool:
        """Whether history `k` has not been expanded yet."""
        return k in self._history

    def expand(self, k: int) -> None:
        """Expand history `k`: call the game's rules, and add its children.

        Raises
        ------
        GameError
            If the rules are unsound; the message names the history and says what to do.
        """
        h = self._history[k]
        node = self.node(k, h)
        actions: tuple[Action, ...] = ()
        if isinstance(node, Terminal):
            self.read_payoff(k, node.utilities, self.utility[k])
            if not np.isfinite(self.utility[k]).all():
                self.not_finite(k, self.utility[k])
            player = TERMINAL
        elif isinstance(node, Decision):
            _plain(self.nodes)["infoset"][k] = self._enter_infoset(k, node)
            player, actions = node.player, tuple(node.actions)
            if k == 0:  # raises an error if there is a proposal
                proposed(self.game, self._proposal, player, (), np.zeros(0))
        elif isinstance(node, Chance):
            self.check_chance(k, node.probabilities)
            player, actions = CHANCE, tuple(node.probabilities)
        else:
            self.fail(k, f"node() returned {node!r}; return a Chance, Decision or Terminal")
        first = self._enter_children(k, player, actions)
        if isinstance(node, Chance):
            self._enter_chance(k, actions, np.array(list(node.probabilities.values())))
        _plain(self.nodes)["player"][k] = player
        self._history.update(enumerate(self.children_of(k, h, actions), first))
        del self._history[k]

    def _enter_children(self, k: int, player: int, actions: tuple[Action, ...]) -> int:
        """Add the unexpanded children of `k`; return the number of the first."""
        first, stop = self.num_histories, self.num_histories + len(actions)
        if stop > len(self.utility):
            self.nodes, self.utility, self._sequence = (
                enlarged(array, stop) for array in (self.nodes, self.utility, self._sequence)
            )
        new, nodes = slice(first, stop), _plain(self.nodes)
        nodes["first_child"][k], nodes["num_children"][k] = first, len(actions)
        nodes[new] = (UNKNOWN, 0, 0, 0, 1.0, 1.0, 1.0)
        self._sequence[new] = self._sequence[k]
        if player >= 0:
            start = _plain(self.infosets)["start"][nodes["infoset"][k]]
            self._sequence[new, player] = np.arange(start, start + len(actions))
        self.parent.extend([k] * len(actions))
        self.action.extend(actions)
        self.num_histories = stop
        return first

    def _enter_chance(self, k: int, actions: Sequence[Action], probability: Floats) -> None:
        """Store the probabilities of the children of `k`."""
        new = _plain(self.nodes)[self.num_histories - len(actions) : self.num_histories]
        if k == 0:
            probability, new["correction"] = proposed(
                self.game, self._proposal, CHANCE, actions, probability
            )
        new["probability"], new["cumulative"] = probability, np.cumsum(probability)

    def _enter_infoset(self, k: int, node: Decision) -> int:
        """Return the number of an infoset, adding it if new; check perfect recall."""
        I = self.infoset_number(k, node)
        arrived_by = int(self._sequence[k, node.player])
        if self.num_infosets == I:
            self._enter_row(node.player, node.infoset, self.known[I][1], arrived_by)
        elif _plain(self.infosets)["parent"][I] != arrived_by:
            self.fail(
                k,
                f"imperfect recall: infoset {node.infoset!r} joins this history with "
                f"{self.name(self.known[I][2])}, to which player {node.player} came by "
                "other actions, so the player forgets; put the player's own past actions "
                "and observations into the label",
            )
        return I

    def _enter_row(
        self, player: int, label: str, actions: tuple[Action, ...], arrived_by: int
    ) -> None:
        """Add an infoset and its sequences."""
        I, start = self.num_infosets, self.num_sequences
        stop = start + len(actions)
        self.infosets, self.owner = enlarged(self.infosets, I + 1), enlarged(self.owner, stop)
        _plain(self.infosets)[I] = (player, start, stop, arrived_by)
        self.owner[start:stop] = I
        self.labels.append(label)
        self.actions_at.append(actions)
        self.num_infosets, self.num_sequences = I + 1, stop

    def copy(self) -> PartialTree:
        """Return a copy that is expanded independently."""
        other = copy.copy(self)
        for name, thing in vars(self).items():
            if isinstance(thing, (np.ndarray, list, dict)):
                setattr(other, name, thing.copy())
        return other

    def names(self, first: int, stop: int) -> tuple[list[str], list[tuple[Action, ...]]]:
        """Return labels and actions of some infosets."""
        return self.labels[first:stop], self.actions_at[first:stop]

    def snapshot(self) -> Snapshot:
        """Return the infosets expanded so far."""
        return Snapshot(self)

    def __repr__(self) -> str:
        return (
            f"{self.game!r}, expanded so far: {self.num_histories:,} histories, "
            f"{self.num_infosets:,} infosets"
        )


class Snapshot:
    """The infosets met at some time, addressed by their labels; more may be met later."""

    def __init__(self, infosets: Any):
        n, self._source = infosets.num_infosets, infosets.names
        self.game, self.num_infosets = infosets.game, n
        self.num_sequences = infosets.num_sequences
        self.infoset_player = infosets.infosets.player[:n].copy()
        self.infoset_start = infosets.infosets.start[:n].copy()

    @cached_property
    def _names(self) -> tuple[list[str], list[tuple[Action, ...]]]:
        names: tuple[list[str], list[tuple[Action, ...]]]
        names = self._source(0, self.num_infosets)
        return names

    @property
    def infoset_label(self) -> list[str]:
        """The label of each infoset."""
        return self._names[0]

    @property
    def infoset_actions(self) -> list[tuple[Action, ...]]:
        """The actions at each infoset."""
        return self._names[1]

    @cached_property
    def infoset_number(self) -> dict[str, int]:
        """The number of each infoset, by label."""
        return {label: I for I, label in enumerate(self.infoset_label)}

    def fingerprint(self) -> str:
        """Return a digest of the game's class and `repr`; its rules are not all tree."""
        kind = type(self.game)
        name = f"{kind.__module__}.{kind.__qualname__} {self.game!r}"
        return hashlib.sha256(name.encode()).hexdigest()

    @property
    def tree(self) -> Snapshot:
        """Itself: tables of numbers need no more of a tree."""
        return self


def _plain(records: Records) -> Any:
    """Return the same array without attribute access, which is slow in the interpreter."""
    return records.view(np.ndarray)


def with_room_for(tables: Tables, tree: PartialTree, before: int) -> Tables:
    """Return tables with room for all infosets, uniform from infoset `before` on.

    Arrays that are long enough are returned as they are.
    """
    infosets, sequences = len(tree.infosets), len(tree.owner)
    learned = sequences if tables.baseline.shape[1] else 0
    tables = tables._replace(
        table=enlarged(tables.table, sequences),
        last_update=enlarged(tables.last_update, infosets),
        baseline=enlarged(tables.baseline, learned, axis=1),
    )
    make_uniform(tree.infosets, tables.table, before, tree.num_infosets)
    return tables


def no_infosets(game: Game) -> Snapshot:
    """Return the snapshot before the first walk."""
    return PartialTree(game).snapshot()


def enlarged(array: Any, size: int, axis: int = 0) -> Any:
    """Return the array if it has that length along the axis, otherwise a longer copy.

    It is much longer, because memory is only occupied when it is written to.
    """
    if array.shape[axis] >= size:
        return array
    shape = list(array.shape)
    shape[axis] = 4 * size + 64
    larger = np.zeros(shape, array.dtype)
    opaque = np.dtype((np.void, array.dtype.itemsize))  # records are copied field by field
    larger.view(opaque)[tuple(map(slice, array.shape))] = array.view(np.ndarray).view(opaque)
    return larger.view(type(array))
