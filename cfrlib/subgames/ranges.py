"""Parts of a game that begin with a range for each player, and may end with a value function.

A *range* gives every hand of a player a weight. A public state with a range for each player is
a public belief state (Brown et al., 2020), and a part of the game that begins there can be
solved without knowing how its players came there. Counterfactual values connect the parts: the
value of a hand is weighted by chance and by the opponent's range, not by its own weight.

A `Part` is a treeplex whose first infoset, for each player, is the choice of a hand; the ranges
are written there like probabilities, and all kernels of :mod:`cfrlib.core.sequence` apply. CFR+
runs on all other infosets. Where the part ends early, a value function takes the place of what
follows (Moravčík et al., 2017).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from cfrlib.core.jit import kernel
from cfrlib.core.sequence import Treeplexes, behavior, best_backup, gradient, realize
from cfrlib.core.tree import TERMINAL, Floats
from cfrlib.subgames.public import Numbers, PublicState, PublicTree

ValuePair: TypeAlias = tuple[
    Floats, Floats
]  # one number for each hand, of player 0 and of player 1


class ValueFunction(Protocol):
    """What replaces the game below some public states.

    Examples
    --------
    Any function of this form will do; this one says that every hand is worth nothing:

    >>> def nothing(states, ranges):
    ...     return [(np.zeros(len(x)), np.zeros(len(y))) for x, y in ranges]
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import continual, public_tree
    >>> game = cfr.games.KuhnPoker()
    >>> horizon = public_tree(game).find("check")
    >>> sigma = continual(game, 0, horizon=[horizon], values=nothing)
    >>> round(sigma["J"]["check"], 1)  # a bet would lose to a king
    1.0
    """

    def __call__(
        self, states: Sequence[PublicState], ranges: Sequence[ValuePair]
    ) -> list[ValuePair]:
        """Return counterfactual values of all hands, for each public state with its ranges."""


class Solved(NamedTuple):
    """The result of solving a part.

    Attributes
    ----------
    sigma : float array, shape (sequences of the whole game,)
        The average strategy of both players inside the part; NaN elsewhere.
    ends : dict from int to pair of float arrays
        Counterfactual values of the hands at each public state where the part ends early: the
        averages of all that the value function returned, like those of the strategy.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import public_tree
    >>> public = public_tree(cfr.games.KuhnPoker())
    >>> one, state = np.ones(3), public.find("check", "bet")
    >>> solved = Part(public, state).solve((one, one), iterations=100)
    >>> int((~np.isnan(solved.sigma)).sum())  # fold and call, with each of three cards
    6
    """

    sigma: Floats
    ends: dict[int, ValuePair]


class _Numbering(NamedTuple):
    """The infosets of a part: the first five arrays of `Treeplexes`."""

    infosets: list[int]
    sequences: list[int]
    start: list[int]
    stop: list[int]
    parent: list[int]


class _Tables(NamedTuple):
    """The state of CFR+, by local sequence."""

    sigma: Floats
    regret: Floats
    total: Floats
    plan: Floats
    value: Floats
    extra: Floats  # values where the part ends early, by the sequence that leads there


@kernel
def _update(
    form: Treeplexes, player: int, out: Floats, refusal: Floats, weight: float, tables: _Tables
) -> None:
    """Update one player by CFR+: values, regrets, strategy, plan and the sum of plans.

    If `out` is not empty, each hand of the player may be declined for a counterfactual value.
    `refusal` then holds the regrets of following and of staying out, shape (2, hands).
    """
    sigma, regret, total, plan, value, extra = tables
    gradient(form, player, plan, value)
    start, stop = form.player_sequences[player], form.player_sequences[player + 1]
    for q in range(start, stop):
        value[q] += extra[q]
    first, last = form.player_infosets[player], form.player_infosets[player + 1]
    for I in range(last - 1, first, -1):
        mean, norm = 0.0, 0.0
        for q in range(form.infoset_start[I], form.infoset_stop[I]):
            mean += sigma[q] * value[q]
        for q in range(form.infoset_start[I], form.infoset_stop[I]):
            regret[q] = max(regret[q] + value[q] - mean, 0.0)
            norm += regret[q]
        for q in range(form.infoset_start[I], form.infoset_stop[I]):
            count = form.infoset_stop[I] - form.infoset_start[I]
            sigma[q] = regret[q] / norm if norm > 0.0 else 1.0 / count
        value[form.infoset_parent[I]] += mean
    hands = form.infoset_start[first]
    for c in range(len(out)):
        follow = sigma[hands + c]
        mean = follow * value[hands + c] + (1.0 - follow) * out[c]
        refusal[0, c] = max(refusal[0, c] + value[hands + c] - mean, 0.0)
        refusal[1, c] = max(refusal[1, c] + out[c] - mean, 0.0)
        norm = refusal[0, c] + refusal[1, c]
        sigma[hands + c] = refusal[0, c] / norm if norm > 0.0 else 0.5
    realize(form, player, sigma, plan)
    for q in range(start, stop):
        total[q] += weight * plan[q]


@kernel
def _run(
    form: Treeplexes,
    outs: tuple[Floats, Floats],
    refusal: Floats,
    iterations: int,
    tables: _Tables,
) -> None:
    """Run CFR+ in a part that has no early end."""
    for t in range(1, iterations + 1):
        for i in range(2):
            _update(form, i, outs[i], refusal, float(t), tables)


class Part:
    """The game below a public state, whose beginning is a pair of ranges.

    Parameters
    ----------
    public : PublicTree
        The public states of a two-player zero-sum game.
    state : PublicState
        Where the part begins.
    ends : iterable of PublicState
        Where it ends early; a value function is needed if any of them lies in the part.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import public_tree
    >>> public = public_tree(cfr.games.KuhnPoker())
    >>> part = Part(public, public.states[1])
    >>> one = np.ones(3)
    >>> solved = part.solve((one, one), iterations=10_000)
    >>> value = part.values((one, one), solved.sigma)[1].sum()  # of player 1
    >>> round(18 * float(value), 3)
    1.0
    """

    def __init__(
        self, public: PublicTree, state: PublicState, ends: Iterable[PublicState] = ()
    ):
        self.public, self.state, tree = public, state, public.tree
        stops = {end.number for end in ends} - {state.number}
        root = np.full(tree.num_histories, -1)  # position of the first history in the state
        root[state.histories] = np.arange(len(state.histories))
        found: set[int] = set()
        for k in range(int(state.histories[0]), tree.num_histories):  # parents come first
            if root[k] >= 0 and int(public.state_of[k]) in stops:
                found.add(int(public.state_of[k]))
            elif root[k] >= 0:
                children = slice(
                    tree.first_child[k], tree.first_child[k] + tree.num_children[k]
                )
                root[children] = root[k]
        self.ends = [public.states[n] for n in sorted(found)]
        inside = (root >= 0) & ~np.isin(public.state_of, sorted(found))
        shape = self._number(np.flatnonzero(inside & (tree.infoset >= 0)), root)
        self.form = self._treeplexes(
            np.flatnonzero(inside & (tree.player == TERMINAL)), root, shape
        )
        self._at_end = [[self._hands_at(end, i, root) for i in (0, 1)] for end in self.ends]
        full = np.array(self.full)
        self._inside = np.flatnonzero(full >= 0)  # sequences that the whole game has
        self._outside = full[self._inside]  # their numbers there

    def _number(self, decisions: Numbers, root: Numbers) -> _Numbering:
        """Return the infosets and sequences of the part, the choice of a hand first."""
        tree, state, shape = self.public.tree, self.state, _Numbering([0], [0], [], [], [])
        self.full: list[int] = []  # the same sequence in the whole game, or -1
        self.hands: list[slice] = []  # where the ranges of a player are
        self._local: dict[int, int] = {}  # from sequences of the whole game
        first = {int(tree.infoset[k]): k for k in reversed(decisions.tolist())}
        for i in (0, 1):
            shape.parent.append(len(self.full))
            begin = len(self.full) + 1
            self.hands.append(slice(begin, begin + len(state.hand_label[i])))
            self.full += [-1] * (1 + len(state.hand_label[i]))
            shape.start.append(begin)
            shape.stop.append(len(self.full))
            for I in sorted(I for I in first if tree.infoset_player[I] == i):
                shape.parent.append(self._sequence(first[I], i, root))
                shape.start.append(len(self.full))
                q = int(tree.infoset_start[I])
                for _ in tree.infoset_actions[I]:
                    self._local[q] = len(self.full)
                    self.full.append(q)
                    q += 1
                shape.stop.append(len(self.full))
            shape.infosets.append(len(shape.start))
            shape.sequences.append(len(self.full))
        return shape

    def _sequence(self, k: int, player: int, root: Numbers) -> int:
        """Return the player's last sequence at a history, or their hand if there is none."""
        found = self._local.get(int(self.public.tree.sequence[k, player]))
        if found is not None:
            return found
        return int(self.hands[player].start + self.state.hand[player][root[k]])

    def _treeplexes(self, terminals: Numbers, root: Numbers, shape: _Numbering) -> Treeplexes:
        """Return the arrays for the kernels, with a leaf for each pair of sequences."""
        tree, payoff = self.public.tree, np.zeros((len(self.full), len(self.full)))
        for k in terminals.tolist():
            own = [self._sequence(k, i, root) for i in (0, 1)]
            payoff[own[0], own[1]] += tree.chance_reach[k] * tree.utility[k, 0]
        payoff -= payoff.T
        rows, columns = np.nonzero(payoff)
        leaf_start = np.searchsorted(rows, np.arange(len(self.full) + 1))
        return Treeplexes(
            np.array(shape.infosets, np.int64),
            np.array(shape.sequences, np.uint32),
            np.array(shape.start, np.uint32),
            np.array(shape.stop, np.uint32),
            np.array(shape.parent, np.uint32),
            leaf_start.astype(np.uint32),
            payoff[rows, columns],
            (columns.astype(np.uint32),),
        )

    def _hands_at(self, end: PublicState, player: int, root: Numbers) -> Numbers:
        """Return the local sequence that leads to each hand of a player at an end."""
        found = np.zeros(len(end.hand_label[player]), np.int64)
        for k, c in zip(end.histories.tolist(), end.hand[player].tolist(), strict=True):
            found[c] = self._sequence(k, player, root)
        return found

    def solve(
        self,
        ranges: ValuePair,
        iterations: int = 1_000,
        *,
        values: ValueFunction | None = None,
        alternatives: ValuePair | None = None,
    ) -> Solved:
        """Solve the part by CFR+ with linear averaging and alternating updates.

        Parameters
        ----------
        ranges : pair of float arrays, shape (hands of the player,)
            The weight of each hand.
        iterations : int
            Iterations of CFR+.
        values : ValueFunction, optional
            Needed if the part ends early.
        alternatives : pair of float arrays, optional
            Counterfactual values for which a hand may stay out, as in a gadget game. The array
            of a player who may not is empty.

        Returns
        -------
        Solved

        Raises
        ------
        ValueError
            If the part ends early and there is no value function.
        """
        if self.ends and values is None:
            raise ValueError(f"the part after {self.state.label!r} ends early; give `values`")
        outs = alternatives or (np.empty(0), np.empty(0))
        tables = self._start(ranges)
        refusal = np.zeros((2, max(map(len, outs))))
        if values is None:
            _run(self.form, outs, refusal, iterations, tables)
            return Solved(self._average(tables.total), {})
        ends = [tuple(np.zeros(len(own)) for own in pair) for pair in self._at_end]
        for t in range(1, iterations + 1):
            for i in (0, 1):
                found = values(self.ends, self._ranges_at_ends(tables.plan))
                self._write_ends(tables.extra, i, found)
                _update(self.form, i, outs[i], refusal, float(t), tables)
                for total, pair in zip(ends, found, strict=True):
                    total[i][:] += (t - 1 + i) * pair[i]  # the weight of the other's plan
        found = values(self.ends, self._ranges_at_ends(tables.plan))
        for total, pair in zip(ends, found, strict=True):
            total[0][:] += iterations * pair[0]
        weight = iterations * (iterations + 1) / 2
        average = {
            end.number: (total[0] / weight, total[1] / weight)
            for end, total in zip(self.ends, ends, strict=True)
        }
        return Solved(self._average(tables.total), average)

    def _start(self, ranges: ValuePair, strategy: Floats | None = None) -> _Tables:
        """Return the tables of a strategy of the whole game, or a uniform one, with ranges."""
        n = len(self.full)
        sigma, plan = np.empty(n), np.empty(n)
        if strategy is None:
            behavior(self.form, np.zeros(n), sigma)
        else:
            sigma[self._inside] = strategy[self._outside]
        for i in (0, 1):
            sigma[self.hands[i]] = ranges[i]
            realize(self.form, i, sigma, plan)
        return _Tables(sigma, np.zeros(n), np.zeros(n), plan, np.zeros(n), np.zeros(n))

    def _ranges_at_ends(self, plan: Floats) -> list[ValuePair]:
        """Return both ranges at each early end."""
        return [(plan[a], plan[b]) for a, b in self._at_end]

    def _write_ends(self, extra: Floats, player: int, found: list[ValuePair]) -> None:
        """Write values of the hands at the early ends to the sequences that lead there."""
        extra[:] = 0.0
        for own, pair in zip(self._at_end, found, strict=True):
            np.add.at(extra, own[player], pair[player])

    def _average(self, total: Floats) -> Floats:
        """Return the average strategy by sequence of the whole game."""
        sigma = np.empty(len(total))
        behavior(self.form, total, sigma)
        result = np.full(int(self.public.tree.player_sequences[-1]), np.nan)
        result[self._outside] = sigma[self._inside]
        return result

    def values(
        self, ranges: ValuePair, sigma: Floats, *, values: ValueFunction | None = None
    ) -> ValuePair:
        """Return counterfactual best-response values: of each hand, against the other's play.

        Parameters
        ----------
        ranges : pair of float arrays, shape (hands of the player,)
            The weight of each hand.
        sigma : float array, shape (sequences of the whole game,)
            What both play; only the entries inside the part are used.
        values : ValueFunction, optional
            Needed if the part ends early.

        Returns
        -------
        pair of float arrays, shape (hands of the player,)
            What each hand of a player can earn, weighted by chance and by the range of the
            other, who plays `sigma`.
        """
        tables, found = self._start(ranges, sigma), []
        for i in (0, 1):
            gradient(self.form, i, tables.plan, tables.value)
            if self.ends and values is not None:
                pairs = values(self.ends, self._ranges_at_ends(tables.plan))
                self._write_ends(tables.extra, i, pairs)
                tables.value[:] += tables.extra
            best_backup(self.form, i, tables.value, np.empty(len(self.full)))
            found.append(tables.value[self.hands[i]].copy())
        return found[0], found[1]


class ExactValues:
    """A value function that solves the rest of the game with each pair of ranges it is given.

    Parameters
    ----------
    public : PublicTree
        The public states of a two-player zero-sum game.
    iterations : int
        Iterations of CFR+ for each answer.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import public_tree
    >>> public = public_tree(cfr.games.LeducPoker(merge_suits=True))
    >>> state, one = public.find("check", "check", "Q"), np.ones(3)
    >>> first, second = ExactValues(public)([state], [(one, one)])[0]
    >>> abs(float(first.sum() + second.sum())) < 1e-3  # a zero-sum game
    True
    """

    def __init__(self, public: PublicTree, iterations: int = 1_000):
        self.public, self.iterations = public, iterations
        self._parts: dict[int, Part] = {}

    def part(self, state: PublicState) -> Part:
        """Return the rest of the game after a public state."""
        if state.number not in self._parts:
            self._parts[state.number] = Part(self.public, state)
        return self._parts[state.number]

    def __call__(
        self, states: Sequence[PublicState], ranges: Sequence[ValuePair]
    ) -> list[ValuePair]:
        """Return counterfactual best-response values of all hands."""
        found = []
        for state, pair in zip(states, ranges, strict=True):
            part = self.part(state)
            found.append(part.values(pair, part.solve(pair, self.iterations).sigma))
        return found
