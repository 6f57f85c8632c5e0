"""A game tree, complete or expanded on demand.

The tree of a game that compiles is complete from the start. In a larger game a history is
expanded when a walk first visits it, and an infoset is added with its first history. Kernels
read the same arrays in both cases.
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cfrlib.core.checks import choice
from cfrlib.core.tree import (
    CHANCE,
    TERMINAL,
    Floats,
    Ints,
    RuleChecker,
    TooLarge,
    Tree,
    compile,
    compiles,
)
from cfrlib.game import Action, Chance, Decision, Game, History, Terminal

UNKNOWN = -3


# Record arrays, because a walk reads most fields of one history or infoset at a time. NumPy's
# types do not know the fields: `nodes[k].player` acts at history k.
Records: TypeAlias = Any
NODE = np.dtype(
    [
        ("player", "i4"),  # 0, 1, …, or CHANCE, TERMINAL, UNKNOWN
        ("infoset", "u4"),  # at decisions; unsigned, so that indexing need not test the sign
        ("first_child", "i4"),  # siblings are contiguous
        ("num_children", "i4"),
        ("probability", "f8"),  # of the last step, if it is sampled by chance
        ("cumulative", "f8"),  # the same, summed over the siblings up to this one
        ("correction", "f8"),  # f_c / σ'_c of the last step; 1 without a proposal
    ],
    align=True,
)
INFOSET = np.dtype(
    [
        ("player", "i4"),
        ("start", "i4"),  # its sequences are start … stop - 1
        ("stop", "i4"),
        ("parent", "i4"),  # its player's sequence before it
    ],
    align=True,
)


class TreeArrays(NamedTuple):
    """The arrays of a :class:`PartialTree` that kernels read."""

    nodes: Records
    utility: Floats
    infosets: Records
    owner: Ints


class PartialTree(RuleChecker):
    """A game tree, complete or expanded on demand.

    Attributes
    ----------
    game : Game
        The rules.
    is_complete : bool
        Whether all histories are expanded.
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
        self.is_complete = False
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

    @classmethod
    def of(cls, tree: Tree, proposal: Mapping[Action, float] | None = None) -> PartialTree:
        """Return the complete tree of a compiled game."""
        self = cls(tree.game, proposal)
        self.is_complete = True
        self.num_histories, self.num_infosets = tree.num_histories, tree.num_infosets
        self.num_sequences = int(tree.player_sequences[-1])
        self.labels, self.actions_at = tree.infoset_label, tree.infoset_actions
        nodes: Records = np.recarray(tree.num_histories, NODE)
        self.nodes = nodes
        nodes.player, nodes.infoset = tree.player, np.maximum(tree.infoset, 0)
        nodes.first_child, nodes.num_children = tree.first_child, tree.num_children
        nodes.probability, nodes.cumulative, nodes.correction = tree.probability, 1.0, 1.0
        root = slice(1, 1 + int(tree.num_children[0]))
        nodes.probability[root], nodes.correction[root] = self._propose(
            int(tree.player[0]), tree.action[root], tree.probability[root]
        )
        for k in np.flatnonzero(tree.player == CHANCE):
            siblings = slice(tree.first_child[k], tree.first_child[k] + tree.num_children[k])
            nodes.cumulative[siblings] = np.cumsum(nodes.probability[siblings])
        self.utility = tree.utility
        infosets: Records = np.recarray(tree.num_infosets, INFOSET)
        self.infosets = infosets
        count = np.array([len(actions) for actions in self.actions_at], np.int32)
        infosets.player, infosets.parent = tree.infoset_player, tree.infoset_parent
        infosets.start, infosets.stop = tree.infoset_start, tree.infoset_start + count
        self.owner = np.full(self.num_sequences, -1, np.int32)
        pairs = np.ones(self.num_sequences, bool)
        pairs[tree.player_sequences[:-1]] = False
        self.owner[pairs] = np.repeat(np.arange(self.num_infosets), count)
        return self

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
                self._propose(player, (), np.zeros(0))
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
                grown(array, stop) for array in (self.nodes, self.utility, self._sequence)
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
            probability, new["correction"] = self._propose(CHANCE, actions, probability)
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
        self.infosets, self.owner = grown(self.infosets, I + 1), grown(self.owner, stop)
        _plain(self.infosets)[I] = (player, start, stop, arrived_by)
        self.owner[start:stop] = I
        self.labels.append(label)
        self.actions_at.append(actions)
        self.num_infosets, self.num_sequences = I + 1, stop

    def _propose(
        self, player: int, actions: Sequence[Action], probability: Floats
    ) -> tuple[Floats, Floats]:
        """Return sampling probabilities of the root's outcomes, and their corrections."""
        if self._proposal is None:
            return probability, np.ones(len(actions))
        if player != CHANCE:
            raise ValueError(
                f"a proposal is for a first event of chance, but {self.game!r} begins with a "
                "decision; leave it out"
            )
        if not isinstance(self._proposal, Mapping):
            raise ValueError(
                "a proposal is a dictionary from outcome to probability, e.g. "
                f"{{{actions[0]!r}: 0.5, ...}}; got {self._proposal!r}"
            )
        proposed = np.array([self._proposal.get(a, 0.0) for a in actions], np.float64)
        missing = [
            a
            for a, p, f in zip(actions, proposed, probability, strict=True)
            if f > 0 and p == 0
        ]
        unknown = [a for a in self._proposal if a not in actions]
        if missing or unknown or not (proposed >= 0).all() or abs(proposed.sum() - 1) > 1e-9:
            wrong = f"nothing to {missing[0]!r}" if missing else f"{dict(self._proposal)!r}"
            raise ValueError(
                f"the proposal gives {wrong}; give every outcome of the first event of chance "
                f"a probability above 0, all of them summing to 1: {list(actions)[:8]!r}"
            )
        return proposed, np.divide(
            probability, proposed, out=np.ones(len(proposed)), where=proposed > 0
        )

    def copy(self) -> PartialTree:
        """Return a copy that is expanded independently; a complete tree returns itself."""
        if self.is_complete:
            return self
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
        extent = "complete:" if self.is_complete else "expanded so far:"
        return (
            f"{self.game!r}, {extent} {self.num_histories:,} histories, "
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


def initial_tree(
    game: Game, on_demand: bool | None = None, proposal: Mapping[Action, float] | None = None
) -> PartialTree:
    """Return the tree before the first walk; complete if the game compiles, unless `on_demand`.

    Raises
    ------
    TooLarge
        If the game does not compile and `on_demand` is False.
    ValueError
        If `on_demand` is not True, False or None.
    """
    choice("on_demand", on_demand, (True, False, None))
    if on_demand or (on_demand is None and not compiles(game)):
        return PartialTree(game, proposal)
    try:
        return PartialTree.of(compile(game), proposal)
    except TooLarge:
        if on_demand is False:
            raise
        return PartialTree(game, proposal)


def _plain(records: Records) -> Any:
    """Return the same array without attribute access, which is slow in the interpreter."""
    return records.view(np.ndarray)


def records(shape: int | tuple[int, ...], dtype: np.dtype[np.void]) -> Records:
    """Return new records, all zero."""
    return np.zeros(shape, dtype).view(np.recarray)


def grown(array: Any, size: int, axis: int = 0) -> Any:
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
