"""Public states: what every player has seen, and the hands that each may hold there.

A subgame is a part of the tree that is closed under two steps: from a history to its
continuations, and from a history to the others of its infoset (Burch et al., 2014). A public
state is the set of histories of one length in which such a part begins.

Two histories of one length belong to one public state if some infoset, here or later, contains
a continuation of each, or if their last actions are equal and the histories before are in one
public state. Those that the infosets of one player link are one *hand* of this player; after
the last decision of a player, a hand is what the player has seen and done.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.memo import remembered
from cfrlib.core.sequence import sequence_form
from cfrlib.core.tree import Floats, Tree
from cfrlib.game import Action, Game, GameError, action_label

Numbers = npt.NDArray[np.int64]


class PublicState(NamedTuple):
    """The histories in which all players have seen the same.

    Attributes
    ----------
    number, parent : int
        Index in `PublicTree.states`, and that of the public state one action earlier (-1 at
        the root).
    actions : tuple
        The actions that all its histories share, in order: what happened in public.
    player : int
        The player who acts, or ``CHANCE``.
    histories : int array, shape (histories,)
        Their numbers in the compiled tree.
    hand : tuple of int arrays, shape (histories,)
        For each player, which hand of theirs each history holds: 0, 1, …
    hand_label : tuple of list
        For each player, a readable name of each hand, unique in the game.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> state = public_tree(cfr.games.KuhnPoker()).find("bet")
    >>> state.label, state.player, len(state.histories)
    ('bet', 1, 6)
    >>> state.hand_label[1]
    ['Q bet', 'K bet', 'J bet']
    """

    number: int
    parent: int
    actions: tuple[Action, ...]
    player: int
    histories: Numbers
    hand: tuple[Numbers, ...]
    hand_label: tuple[list[str], ...]

    @property
    def label(self) -> str:
        """The public actions on one line; the empty history is ``∅``."""
        return " ".join(action_label(a) for a in self.actions) or "∅"

    def by_hand(self, player: int, numbers: Floats) -> Floats:
        """Sum one number per history over the histories of each hand, shape (hands,).

        Examples
        --------
        >>> import cfrlib as cfr
        >>> public = public_tree(cfr.games.LeducPoker(merge_suits=True))
        >>> flop = public.find("check", "check", "Q")
        >>> flop.by_hand(0, np.ones(8))  # with a queen in sight nobody can hold two of them
        array([3., 2., 3.])
        """
        total = np.zeros(len(self.hand_label[player]))
        np.add.at(total, self.hand[player], numbers)
        return total


class PublicTree:
    """All public states of a game; made by :func:`public_tree`.

    Attributes
    ----------
    tree : Tree
        The compiled game.
    states : list of PublicState
        Level by level, parents before children.
    children : list of list of int
        The public states one action later.
    state_of : int array, shape (histories,)
        The public state of each history of the tree; -1 if nobody decides there or later.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> public = public_tree(cfr.games.KuhnPoker())
    >>> [public.states[n].label for n in public.children[public.find("check").number]]
    ['check bet']
    """

    def __init__(self, tree: Tree):
        self.tree = tree
        linked, hands = _linked(tree, None), [_linked(tree, i) for i in range(tree.num_players)]
        self.state_of = np.full(tree.num_histories, -1, np.int64)
        self.states: list[PublicState] = []
        self.children: list[list[int]] = []
        for d in range(len(tree.level_start) - 1):
            level = [k for k in range(*tree.level_start[d : d + 2]) if linked[k] >= 0]
            before = [int(self.state_of[tree.parent[k]]) if k else -1 for k in level]
            last = [(n, tree.action[k]) for n, k in zip(before, level, strict=True)]
            for members in _components([linked[level].tolist(), last]):
                self._add(np.array(level)[members], hands)

    def _add(self, members: Numbers, hands: list[Numbers]) -> None:
        """Append the public state of these histories."""
        tree, number = self.tree, len(self.states)
        parents = set(self.state_of[tree.parent[members]]) if members[0] else {-1}
        players = set(tree.player[members].tolist())
        if len(parents) > 1 or len(players) > 1:
            raise GameError(
                f"{tree.game!r}: the histories {[tree.history(k) for k in members[:3]]!r} "
                "belong to one public state, but different players act there, or they come "
                "from different public states; subgames need public turns"
            )
        labels, hand = [], []
        for i, linked in enumerate(hands):
            names = [_hand_name(tree, k, i, linked) for k in members.tolist()]
            order = {name: n for n, name in enumerate(dict.fromkeys(names))}
            hand.append(np.array([order[name] for name in names]))
            labels.append([_hand_label(tree, name, i) for name in order])
        shared = (set(step) for step in zip(*map(tree.history, members.tolist()), strict=True))
        actions = tuple(step.pop() for step in shared if len(step) == 1)
        parent, player = int(parents.pop()), int(players.pop())
        self.states.append(
            PublicState(number, parent, actions, player, members, tuple(hand), tuple(labels))
        )
        self.children.append([])
        if parent >= 0:
            self.children[parent].append(number)
        self.state_of[members] = number

    def find(self, *actions: Action) -> PublicState:
        """Return the public state with these public actions.

        Raises
        ------
        ValueError
            If there is none.

        Examples
        --------
        >>> import cfrlib as cfr
        >>> public = public_tree(cfr.games.LeducPoker(merge_suits=True))
        >>> flop = public.find("check", "check", "Q")
        >>> flop.player, len(flop.histories), flop.hand_label[1][0]
        (0, 8, 'J check-check Q check')
        """
        for state in reversed(self.states):  # the deal shares its actions with the root
            if state.actions == actions:
                return state
        raise ValueError(f"{self.tree.game!r} has no public state {actions!r}")

    def below(self, number: int) -> list[int]:
        """Return a public state and all that follow, parents before children.

        Examples
        --------
        >>> import cfrlib as cfr
        >>> public = public_tree(cfr.games.KuhnPoker())
        >>> bet = public.find("check", "bet")
        >>> [public.states[n].actions for n in public.below(bet.parent)]
        [('check',), ('check', 'bet')]
        """
        found = [number]
        for n in found:
            found.extend(self.children[n])
        return found

    def __repr__(self) -> str:
        return f"PublicTree({self.tree.game!r}: {len(self.states)} public states)"


@remembered
def public_tree(game: Game) -> PublicTree:
    """Return the public states of a game; they are computed once.

    Parameters
    ----------
    game : Game
        Every infoset must lie at one depth of the tree.

    Returns
    -------
    PublicTree

    Raises
    ------
    GameError
        If an infoset has histories of different lengths, or turns are not public.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> tree = public_tree(cfr.games.KuhnPoker())
    >>> [state.label for state in tree.states]
    ['∅', '∅', 'check', 'bet', 'check bet']

    The first is the empty history, where chance deals; the second holds the six deals.
    """
    return PublicTree(sequence_form(game).tree)


def _components(keys: list[list[Any]]) -> list[list[int]]:
    """Return the connected components of the positions 0, 1, …: equal keys are connected."""
    root = list(range(len(keys[0])))

    def find(n: int) -> int:
        while root[n] != n:
            n = root[n]
        return n

    for column in keys:
        first: dict[Any, int] = {}
        for n, key in enumerate(column):
            a, b = find(first.setdefault(key, n)), find(n)
            root[max(a, b)] = min(a, b)
    found: dict[int, list[int]] = {}
    for n in range(len(root)):
        found.setdefault(find(n), []).append(n)
    return list(found.values())


def _linked(tree: Tree, player: int | None) -> Numbers:
    """Return the smallest history linked to each one by the infosets of a player, or of all.

    -1 where the player does not decide at the history or later. Links of a level come from its
    infosets and from the links between children, so one pass goes bottom-up.
    """
    root = np.full(tree.num_histories, -1, np.int64)
    for d in range(len(tree.level_start) - 2, -1, -1):
        keys: list[tuple[int, object]] = []  # a history, and what links it to others
        for k in range(*tree.level_start[d : d + 2]):
            if tree.player[k] >= 0 and player in (None, tree.player[k]):
                keys.append((k, ("infoset", int(tree.infoset[k]))))
            start = int(tree.first_child[k])
            below = root[start : start + int(tree.num_children[k])]
            keys += [(k, int(link)) for link in below if link >= 0]
        at = [k for k, _ in keys]
        for members in _components([at, [key for _, key in keys]]):
            ks = [at[n] for n in members]
            root[ks] = min(ks)
    if player is None:
        _check_depths(tree)
    return root


def _check_depths(tree: Tree) -> None:
    """Raise a GameError if an infoset has histories of different lengths."""
    depth = np.searchsorted(tree.level_start, np.arange(tree.num_histories), side="right")
    at = np.flatnonzero(tree.infoset >= 0)
    first = np.zeros(tree.num_infosets, np.int64)
    first[tree.infoset[at][::-1]] = depth[at][::-1]
    bad = at[first[tree.infoset[at]] != depth[at]]
    if len(bad):
        label = tree.infoset_label[tree.infoset[bad[0]]]
        raise GameError(
            f"{tree.game!r}: infoset {label!r} has histories of different lengths; public "
            "states need a common clock: let the shorter history pass a chance event with one "
            "outcome"
        )


def _hand_name(tree: Tree, k: int, player: int, linked: Numbers) -> tuple[str, int]:
    """Return what identifies the player's hand at a history: a link, or their last sequence."""
    if linked[k] >= 0:
        return "history", int(linked[k])
    return "sequence", int(tree.sequence[k, player])


def _hand_label(tree: Tree, name: tuple[str, int], player: int) -> str:
    """Return a readable name of a hand: the player's next infoset, or the last sequence."""
    kind, n = name
    if kind == "sequence":
        I = int(np.searchsorted(tree.infoset_start, n, side="right")) - 1
        if n == tree.player_sequences[player]:
            return "nothing seen"
        last = tree.infoset_actions[I][n - int(tree.infoset_start[I])]
        return f"{tree.infoset_label[I]}, {action_label(last)}"
    level = [n]
    while True:
        for k in level:
            if tree.player[k] == player:
                return str(tree.infoset_label[tree.infoset[k]])
        starts = ((int(tree.first_child[k]), int(tree.num_children[k])) for k in level)
        level = [c for start, count in starts for c in range(start, start + count)]
