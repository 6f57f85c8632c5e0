"""The sequence form: a leaf table and one treeplex per player, both indexed by sequences.

Under perfect recall a pair (infoset, action) *is* a sequence of its player. Strategies,
regrets, averages and gradients are therefore vectors over sequences, and every exact
computation is a pass over the leaves or over the infosets:

    realize    x[I,a] = x[parent(I)] · σ[I,a]                                    top-down
    gradient   g[q]   = Σ_{z: seq_i(z)=q} π_c(z) u_i(z) Π_{j≠i} x_j[seq_j(z)]    over the leaves
    backup     v(I)   = Σ_a σ[I,a] (g[I,a] + Σ_{I' below (I,a)} v(I'))           bottom-up

After `backup`, g[I,a] is the counterfactual value of a at I, and g[∅] the expected payoff.
`best_backup` is `backup` with a maximum in place of the mean; `behavior` inverts `realize`.

These kernels go infoset by infoset, in the numbering of the game. In large games the iterations
of CFR make the same passes in the layout of :mod:`cfrlib.bands`, which is tested against these.

The linear program over these plans is :func:`cfrlib.solve_lp`.

The sequence form is due to von Stengel (1996) and Koller, Megiddo & von Stengel (1996).
"""

from __future__ import annotations

import hashlib
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inner, kernel
from cfrlib.core.memo import remembered
from cfrlib.core.tree import TERMINAL, Floats, Tree, compile
from cfrlib.game import Game

# Unsigned, so that Numba omits the check for negative indices.
Indices: TypeAlias = npt.NDArray[np.uint32]


class Treeplexes(NamedTuple):
    """The arrays that the kernels read. All players share one numbering of sequences.

    Attributes
    ----------
    player_infosets, player_sequences : int arrays, shape (players + 1,)
        Index of each player's first infoset and first sequence. `player_infosets` is signed,
        because kernels count down.
    infoset_start, infoset_stop : int arrays, shape (infosets,)
        Sequences of infoset I are ``infoset_start[I]`` … ``infoset_stop[I] - 1``.
    infoset_parent : int array, shape (infosets,)
        The owner's last sequence before I.
    leaf_start : int array, shape (sequences + 1,)
        Leaf rows of sequence q are ``leaf_start[q]`` … ``leaf_start[q+1] - 1``.
    leaf_payoff : float array, shape (rows,)
        π_c(z) u_i(z), summed over the terminal histories z with the same joint sequence.
    leaf_others : tuple of int arrays, shape (rows,)
        The opponents' sequences at these terminal histories: one array for each opponent.
    """

    player_infosets: npt.NDArray[np.int64]
    player_sequences: Indices
    infoset_start: Indices
    infoset_stop: Indices
    infoset_parent: Indices
    leaf_start: Indices
    leaf_payoff: Floats
    leaf_others: tuple[Indices, ...]


@kernel
def realize(form: Treeplexes, player: int, sigma: Floats, x: Floats) -> None:
    """Write the realization plan of `player` into `x`: x[q] = π_i of the sequence q."""
    x[form.player_sequences[player]] = 1.0
    for I in range(form.player_infosets[player], form.player_infosets[player + 1]):
        reach = x[form.infoset_parent[I]]
        for q in range(form.infoset_start[I], form.infoset_stop[I]):
            x[q] = reach * sigma[q]


@inner
def sum_leaves(form: Any, bounds: Indices, player: int, x: Floats, sums: Floats) -> None:
    """Write Σ_z π_c(z) u_i(z) Π_{j≠i} x_j into ``sums[bounds[player]:bounds[player + 1]]``.

    `form` holds a leaf table: Treeplexes, or the bands of :mod:`cfrlib.bands`.
    """
    for q in range(bounds[player], bounds[player + 1]):
        total = 0.0
        for z in range(form.leaf_start[q], form.leaf_start[q + 1]):
            payoff = form.leaf_payoff[z]
            for other in form.leaf_others:
                payoff *= x[other[z]]
            total += payoff
        sums[q] = total


@kernel
def gradient(form: Treeplexes, player: int, x: Floats, g: Floats) -> None:
    """Write ∂u_i/∂x_i[q] into `g` for every sequence q of `player`."""
    sum_leaves(form, form.player_sequences, player, x, g)


@kernel
def backup(form: Treeplexes, player: int, sigma: Floats, g: Floats) -> None:
    """Turn a gradient into counterfactual values in place, bottom-up."""
    for I in range(form.player_infosets[player + 1] - 1, form.player_infosets[player] - 1, -1):
        value = 0.0
        for q in range(form.infoset_start[I], form.infoset_stop[I]):
            value += sigma[q] * g[q]
        g[form.infoset_parent[I]] += value


@kernel
def best_backup(form: Treeplexes, player: int, g: Floats, sigma: Floats) -> None:
    """Like `backup`, but take the best action at each infoset, and write it into `sigma`."""
    for I in range(form.player_infosets[player + 1] - 1, form.player_infosets[player] - 1, -1):
        best = form.infoset_start[I]
        for q in range(form.infoset_start[I], form.infoset_stop[I]):
            sigma[q] = 0.0
            if g[q] > g[best]:
                best = q
        sigma[best] = 1.0
        g[form.infoset_parent[I]] += g[best]


@kernel
def behavior(form: Treeplexes, plan: Floats, sigma: Floats) -> None:
    """Turn a realization plan, or a sum of such plans, into a behavior strategy.

    σ[I,a] = x[I,a] / Σ_b x[I,b]; uniform where the plan does not reach I.
    """
    sigma[form.player_sequences[:-1]] = 1.0
    for I in range(len(form.infoset_parent)):
        start, stop = form.infoset_start[I], form.infoset_stop[I]
        total = 0.0
        for q in range(start, stop):
            total += plan[q]
        for q in range(start, stop):
            sigma[q] = plan[q] / total if total > 0.0 else 1.0 / (stop - start)


class SequenceForm:
    """A compiled game in sequence form; made by :func:`sequence_form`.

    Attributes
    ----------
    tree : Tree
        The history tree it was built from.
    treeplexes : Treeplexes
        The arrays that the kernels read.
    num_players, num_sequences : int
        Number of players, and of sequences of all players, the empty ones included.
    infoset_number : dict from label to int
        Index of an infoset in these arrays.
    """

    def __init__(self, tree: Tree):
        self.tree = tree
        self.num_players = tree.num_players
        self.num_sequences = int(tree.player_sequences[-1])
        self.infoset_number = {label: I for I, label in enumerate(tree.infoset_label)}
        stop = tree.infoset_start + np.array([len(a) for a in tree.infoset_actions], np.int32)
        self.treeplexes = Treeplexes(
            tree.player_infosets.astype(np.int64),
            tree.player_sequences.astype(np.uint32),
            tree.infoset_start.astype(np.uint32),
            stop.astype(np.uint32),
            tree.infoset_parent.astype(np.uint32),
            *_leaf_table(tree, self.num_sequences),
        )

    def uniform(self) -> Floats:
        """Return the uniform strategy, shape (sequences,)."""
        sigma = np.empty(self.num_sequences)
        behavior(self.treeplexes, np.zeros(self.num_sequences), sigma)
        return sigma

    def plans(self, sigma: Floats) -> Floats:
        """Return the realization plans of all players under `sigma`, shape (sequences,)."""
        x = np.empty(self.num_sequences)
        for i in range(self.num_players):
            realize(self.treeplexes, i, sigma, x)
        return x

    def gradients(self, x: Floats) -> Floats:
        """Return the gradients of all players at the plans `x`, shape (sequences,)."""
        g = np.empty(self.num_sequences)
        for i in range(self.num_players):
            gradient(self.treeplexes, i, x, g)
        return g

    def fingerprint(self) -> str:
        """Return a digest of all that a run depends on: infosets, actions, payoffs, chance."""
        names = (self.tree.infoset_label, self.tree.infoset_actions)
        digest = hashlib.sha256(repr(names).encode())
        for arrays in self.treeplexes:
            digest.update(np.ascontiguousarray(arrays).tobytes())
        return digest.hexdigest()

    def __repr__(self) -> str:
        rows = len(self.treeplexes.leaf_payoff)
        return (
            f"SequenceForm({self.tree!r}; {self.num_sequences:,} sequences, {rows:,} leaf rows)"
        )


def _leaf_table(tree: Tree, num_sequences: int) -> tuple[Indices, Floats, tuple[Indices, ...]]:
    """Return the leaf table: terminal histories merged by their joint sequence."""
    terminals = np.flatnonzero(tree.player == TERMINAL)
    joint, group = np.unique(tree.sequence[terminals], axis=0, return_inverse=True)
    rows: list[Any] = []
    for i in range(tree.num_players):
        weight = tree.chance_reach[terminals] * tree.utility[terminals, i]
        expected = np.bincount(group.ravel(), weight, minlength=len(joint))
        nonzero = np.flatnonzero(expected)  # a payoff of 0 adds nothing to a gradient
        order = nonzero[np.argsort(joint[nonzero, i], kind="stable")]
        rows.append((joint[order, i], expected[order], np.delete(joint[order], i, axis=1)))
    own = np.concatenate([r[0] for r in rows])  # sorted: players own ascending ranges
    start = np.searchsorted(own, np.arange(num_sequences + 1)).astype(np.uint32)
    payoffs = np.concatenate([r[1] for r in rows])
    others = np.concatenate([r[2] for r in rows]).astype(np.uint32)
    if tree.num_players == 1:  # no opponent: multiply by the empty sequence, which is 1
        others = np.zeros((len(others), 1), np.uint32)
    return start, payoffs, tuple(np.ascontiguousarray(column) for column in others.T)


@remembered
def sequence_form(game: Game) -> SequenceForm:
    """Return the sequence form of `game`; the game is compiled once.

    Raises
    ------
    GameError
        If the rules are unsound, or the game exceeds the limits of :func:`cfrlib.compile`.
    """
    return SequenceForm(compile(game))
