"""Subgames as games: what follows a public state, with a beginning and an end of its own.

The beginning decides what the opponent of the solving player may do about having come here:

    Subgame     nothing: chance deals a history with the given weights (unsafe)
    Gadget      the opponent, who sees their hand, may leave and be paid its alternative value
                (Burch et al., 2014)
    MaxMargin   the opponent chooses the hand, and its alternative value is subtracted from all
                that it earns (Moravčík et al., 2016)

The end may come early: at the leaves one player picks one of several continuations, and both
are paid what they expect from it (Brown et al., 2018).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from cfrlib.core.tree import CHANCE, TERMINAL, Floats
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.subgames.public import PublicState, PublicTree


class Leaves(NamedTuple):
    """Where a subgame ends early, and what is paid there.

    Attributes
    ----------
    payoffs : mapping from history number to float array, shape (continuations, 2)
        What both players expect from each continuation.
    chooser : int
        The player who picks the continuation.
    hand : mapping from history number to str
        What the chooser knows there.

    Examples
    --------
    A bet in Kuhn poker that wins the pot of 1 from player 1, whatever the cards:

    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import public_tree
    >>> public = public_tree(cfr.games.KuhnPoker())
    >>> bet = public.find("bet").histories.tolist()
    >>> fold = Leaves({k: np.array([[1.0, -1.0]]) for k in bet}, 1, dict.fromkeys(bet, "any"))
    >>> part = Subgame(public, public.states[0], np.ones(1), fold)
    >>> round(cfr.solve(part, "cfr+", 1_000, progress=False).value, 2)
    1.0
    """

    payoffs: Mapping[int, Floats]
    chooser: int
    hand: Mapping[int, str]


class Subgame(Game):
    """The game that follows a public state: chance deals one of its histories.

    Parameters
    ----------
    public : PublicTree
        The public states of the whole game.
    state : PublicState
        Where the subgame begins.
    weights : float array, shape (histories of the state,)
        How likely each history is, up to a common factor. Histories of weight 0 are left out.
    leaves : Leaves, optional
        Where the subgame ends early.

    Raises
    ------
    ValueError
        If the weights have another shape, one is negative, or none is positive.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import Subgame, public_tree
    >>> public = public_tree(cfr.games.LeducPoker(merge_suits=True))
    >>> state = public.find("check", "check", "Q")
    >>> tree = cfr.compile(Subgame(public, state, public.tree.chance_reach[state.histories]))
    >>> tree.num_histories, tree.num_infosets
    (121, 18)
    """

    def __init__(
        self,
        public: PublicTree,
        state: PublicState,
        weights: Floats,
        leaves: Leaves | None = None,
    ):
        weights = np.asarray(weights, float)
        if weights.shape != state.histories.shape or not (weights >= 0).all():
            raise ValueError(
                f"{state.label!r} has {len(state.histories)} histories; give each a weight of "
                f"at least 0, got {weights!r}"
            )
        if not weights.sum() > 0:
            raise ValueError(f"no history of {state.label!r} has a positive weight")
        self.tree, self.state, self.leaves = public.tree, state, leaves
        pairs = zip(state.histories.tolist(), (weights / weights.sum()).tolist(), strict=True)
        self.dealt = {k: p for k, p in pairs if p > 0}

    def root(self) -> History:
        """Return the history before the deal: a stage, a history of the whole game, and more.

        The third entry is what is subtracted from the opponent's payoffs, or the continuation
        that was picked.
        """
        return "deal", None, 0

    def step(self, h: History, a: Any) -> History:
        """Return the history after an action."""
        stage, k, less = h
        if stage == "deal":
            return "play", a, 0
        if self.leaves and k in self.leaves.payoffs:
            return "leaf", k, (a, less)
        return stage, self.tree.action.index(a, int(self.tree.first_child[k])), less

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        stage, k, less = h
        if stage == "deal":
            return Chance(self.dealt)
        if stage == "leaf":
            assert self.leaves is not None
            return self._terminal(self.leaves.payoffs[k][less[0]], less[1])
        if self.leaves and k in self.leaves.payoffs:
            return self._leaf(self.leaves, k, less)
        return self._inside(k, less)

    def _leaf(self, leaves: Leaves, k: int, less: float) -> Node:
        """Return the choice of a continuation, or the payoffs if there is only one."""
        if len(leaves.payoffs[k]) == 1:
            return self._terminal(leaves.payoffs[k][0], less)
        choices = tuple(range(len(leaves.payoffs[k])))
        return Decision(leaves.chooser, f"continue {leaves.hand[k]}", choices)

    def _inside(self, k: int, less: float) -> Node:
        """Return a node of the whole game."""
        tree = self.tree
        if tree.player[k] == TERMINAL:
            return self._terminal(tree.utility[k], less)
        if tree.player[k] == CHANCE:
            first = int(tree.first_child[k])
            children = range(first, first + int(tree.num_children[k]))
            return Chance({tree.action[c]: float(tree.probability[c]) for c in children})
        I = tree.infoset[k]
        return Decision(int(tree.player[k]), tree.infoset_label[I], tree.infoset_actions[I])

    def _terminal(self, utilities: Floats, less: float) -> Terminal:
        """Return the end of the game."""
        return Terminal((float(utilities[0]), float(utilities[1])))

    def __repr__(self) -> str:
        return f"{type(self).__name__}(after {self.state.label})"


class _Guarded(Subgame):
    """A subgame whose opponent has an alternative value for each hand."""

    def __init__(
        self,
        public: PublicTree,
        state: PublicState,
        weights: Floats,
        opponent: int,
        alternatives: Floats,
        leaves: Leaves | None = None,
    ):
        super().__init__(public, state, weights, leaves)
        self.opponent = opponent
        hands = dict(zip(state.histories.tolist(), state.hand[opponent].tolist(), strict=True))
        self.hand = {k: hands[k] for k in self.dealt}
        self.alternatives = np.asarray(alternatives, float)
        if self.alternatives.shape != (len(state.hand_label[opponent]),):
            raise ValueError(
                f"player {opponent} has {len(state.hand_label[opponent])} hands in "
                f"{state.label!r}; give each an alternative value, got {alternatives!r}"
            )

    def _paid(self, x: float) -> Terminal:
        """Return the end at which the opponent earns x."""
        return Terminal((x, -x) if self.opponent == 0 else (-x, x))


class Gadget(_Guarded):
    """A subgame that the opponent may decline: the gadget game of CFR-D.

    Chance deals, and the opponent, who sees their hand, chooses *follow* to play on or *out* to
    be paid the alternative value of the hand.

    Parameters
    ----------
    public, state, leaves
        As in :class:`Subgame`.
    weights : float array, shape (histories of the state,)
        ``π_-j(h)``: how likely chance and the solving player make each history.
    opponent : int
        The player j who may decline.
    alternatives : float array, shape (hands of the opponent,)
        What each hand is paid for staying out: expected payoffs, not weighted by any reach.

    Raises
    ------
    ValueError
        As :class:`Subgame`, or if the number of alternatives is wrong.

    Notes
    -----
    Source: Burch, Johanson and Bowling (2014).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import public_tree
    >>> public = public_tree(cfr.games.LeducPoker(merge_suits=True))
    >>> state = public.find("check", "check", "Q")
    >>> even = public.tree.chance_reach[state.histories]
    >>> tree = cfr.compile(Gadget(public, state, even, 1, [0, 0, 0]))
    >>> tree.num_histories, tree.num_infosets
    (137, 21)
    """

    def step(self, h: History, a: Any) -> History:
        """Return the history after an action."""
        stage, k, _ = h
        if stage == "deal":
            return "gate", a, 0
        if stage == "gate":
            return "play" if a == "follow" else "out", k, 0
        return super().step(h, a)

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        stage, k, _ = h
        if stage == "gate":
            label = self.state.hand_label[self.opponent][self.hand[k]]
            return Decision(self.opponent, f"gate {label}", ("follow", "out"))
        if stage == "out":
            return self._paid(float(self.alternatives[self.hand[k]]))
        return super().node(h)


class MaxMargin(_Guarded):
    """A subgame that the opponent enters with a hand of their choice.

    Every payoff is reduced by the alternative value of that hand. So the solving player
    maximizes the smallest margin by which a hand earns less here than its alternative.

    Parameters
    ----------
    public, state, weights, opponent, alternatives, leaves
        As in :class:`Gadget`.

    Raises
    ------
    ValueError
        As :class:`Gadget`.

    Notes
    -----
    Source: Moravčík, Schmid, Ha, Hladík and Gaukrodger (2016).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import public_tree
    >>> public = public_tree(cfr.games.LeducPoker(merge_suits=True))
    >>> state = public.find("check", "check", "Q")
    >>> even = public.tree.chance_reach[state.histories]
    >>> tree = cfr.compile(MaxMargin(public, state, even, 1, [0, 0, 0]))
    >>> tree.num_histories, tree.num_infosets
    (124, 19)
    """

    def step(self, h: History, a: Any) -> History:
        """Return the history after an action."""
        stage, _, _ = h
        if stage == "deal":
            return "hand", a, 0
        if stage == "hand":
            return "play", a, float(self.alternatives[self.hand[a]])
        return super().step(h, a)

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        stage, hand, _ = h
        labels = self.state.hand_label[self.opponent]
        if stage == "deal":
            entering = tuple(labels[c] for c in sorted(set(self.hand.values())))
            return Decision(self.opponent, "enter", entering)
        if stage == "hand":
            odds = {k: p for k, p in self.dealt.items() if labels[self.hand[k]] == hand}
            total = sum(odds.values())
            return Chance({k: p / total for k, p in odds.items()})
        return super().node(h)

    def _terminal(self, utilities: Floats, less: float) -> Terminal:
        """Return the end of the game, with the alternative value subtracted."""
        return self._paid(float(utilities[self.opponent]) - less)
