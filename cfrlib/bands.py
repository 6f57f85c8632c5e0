"""The iterations of :mod:`cfrlib.cfr` for large games, in a memory layout that vectorizes.

A *band* is the set of infosets of one player, at one depth, with the same number of actions.
Its sequences are contiguous and ordered by action: action 0 of all its infosets, then action 1
of all, and so on. A pass that :mod:`cfrlib.cfr` makes infoset by infoset becomes a
loop over contiguous numbers, which the compiler turns into SIMD instructions. Sequences with
identical leaf rows share one sum; in liar's dice two thirds of the rows are duplicates.

The results are bit-identical to those of :mod:`cfrlib.cfr`: every sum at an infoset
runs over its actions in order, every sum over leaves runs over the same rows, and `pass_up`
adds infoset values to their parent sequence in descending order of the game's numbering.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined, inner
from cfrlib.core.memo import remembered
from cfrlib.core.sequence import Indices, SequenceForm, Treeplexes, sum_leaves
from cfrlib.core.tree import Floats
from cfrlib.regret import Rule, discount, weight


class Bands(NamedTuple):
    """A sequence form as the kernels of CFR read it, numbered band by band.

    Infoset ``band_infoset[b] + j`` has the sequences ``band_start[b] + a * band_size[b] + j``,
    one for each action a. Indices are unsigned, except where kernels count down.

    Attributes
    ----------
    player_levels : int array, shape (players + 1,)
        Levels ``player_levels[i]`` … ``player_levels[i+1] - 1`` belong to player i, top-down.
        A level is the set of infosets before which their owner has moved equally often.
    level_bands, level_infosets : int arrays, shape (levels + 1,)
        Index of the first band and of the first infoset of each level.
    band_start, band_size, band_actions, band_infoset : int arrays, shape (bands,)
        First sequence, number of infosets, number of actions per infoset, first infoset.
    parent : int array, shape (infosets,)
        The owner's last sequence before each infoset.
    child, child_parent : int arrays, shape (infosets,)
        The infosets of each level in the order in which `pass_up` adds their values, and the
        parent sequence of each. The order is fixed, so sums are bit-identical.
    player_sequences : int array, shape (players + 1,)
        Index of each player's first sequence.
    player_sums : int array, shape (players + 1,)
        Index of each player's first leaf sum.
    leaf_sum : int array, shape (sequences,)
        Index of the leaf sum that is the gradient at a sequence.
    leaf_start, leaf_payoff, leaf_others
        As in :class:`cfrlib.core.sequence.Treeplexes`, by leaf sum instead of by sequence.
    """

    player_levels: npt.NDArray[np.int64]
    level_bands: Indices
    level_infosets: Indices
    band_start: Indices
    band_size: Indices
    band_actions: Indices
    band_infoset: Indices
    parent: Indices
    child: Indices
    child_parent: Indices
    player_sequences: Indices
    player_sums: Indices
    leaf_sum: Indices
    leaf_start: Indices
    leaf_payoff: Floats
    leaf_others: tuple[Indices, ...]


class BandTables(NamedTuple):
    """The state of a run and its scratch arrays, in the layout of the run.

    Arrays have shape (sequences,) unless noted.
    """

    regret: Floats  # cumulative counterfactual regret R(I, a)
    sigma: Floats  # current strategy σ(a | I)
    plan: Floats  # its realization plan
    strategy_sum: Floats  # Σ_t weight_t · plan_t: the average, unnormalized
    best_response_plan: Floats  # against the current strategy; unused by most updates
    counterfactual_value: Floats  # scratch: first the gradient at (I, a), then v(I, a)
    infoset_value: Floats  # scratch, shape (infosets,): v(I)
    infoset_reach: Floats  # scratch, shape (infosets,): the owner's reach probability
    norm: Floats  # scratch, shape (infosets,): Σ_b R⁺(I, b)
    leaf_sums: Floats  # scratch of `gradient_bands`, shape (distinct sets of leaf rows,)
    iteration: npt.NDArray[np.int64]  # shape (1,): counted by the kernel, safe from interrupts


# ---- the passes of an update: `level` is a level of the updating player ----------------------


@inner
def level_values(form: Bands, tables: BandTables, level: int) -> None:
    """v(I) = Σ_a σ(I,a) v(I,a)."""
    sigma, v, value = tables.sigma, tables.counterfactual_value, tables.infoset_value
    for b in range(form.level_bands[level], form.level_bands[level + 1]):
        start, size, first = form.band_start[b], form.band_size[b], form.band_infoset[b]
        for j in range(size):
            value[first + j] = sigma[start + j] * v[start + j]
        for a in range(1, form.band_actions[b]):
            q = start + a * size
            for j in range(size):
                value[first + j] += sigma[q + j] * v[q + j]


@inner
def level_regrets(
    form: Bands,
    tables: BandTables,
    level: int,
    discounts: tuple[float, float],
    prediction: float,
) -> None:
    """R(I,a) ← (R(I,a) + r(I,a)) · discount, where r(I,a) = v(I,a) − v(I).

    The first discount is for positive regrets, the second for all others. Writes R⁺ into σ,
    and its sum over the actions into the norm. With a prediction λ, R(I,a) + λ r(I,a) replaces
    R(I,a) there: for λ = 1, the next regret if the next iteration repeats this one.
    """
    positive, negative = discounts
    regret, sigma, norm = tables.regret, tables.sigma, tables.norm
    v, value = tables.counterfactual_value, tables.infoset_value
    for b in range(form.level_bands[level], form.level_bands[level + 1]):
        start, size, first = form.band_start[b], form.band_size[b], form.band_infoset[b]
        for j in range(size):
            norm[first + j] = 0.0
        for a in range(form.band_actions[b]):
            q = start + a * size
            for j in range(size):
                r = v[q + j] - value[first + j]
                R = regret[q + j] + r
                R *= positive if R > 0.0 else negative
                regret[q + j] = R
                sigma[q + j] = max(R + prediction * r, 0.0)
                norm[first + j] += sigma[q + j]


@inner
def level_strategy(form: Bands, tables: BandTables, level: int) -> None:
    """σ(I,a) = R⁺(I,a) / Σ_b R⁺(I,b); uniform where the sum is 0."""
    sigma, norm = tables.sigma, tables.norm
    for b in range(form.level_bands[level], form.level_bands[level + 1]):
        start, size, first = form.band_start[b], form.band_size[b], form.band_infoset[b]
        actions = form.band_actions[b]
        for a in range(actions):
            q = start + a * size
            for j in range(size):
                total = norm[first + j]
                sigma[q + j] = sigma[q + j] / total if total > 0.0 else 1.0 / actions


@inner
def pass_up(form: Bands, tables: BandTables, level: int) -> None:
    """v(parent(I)) += v(I) for each infoset of the level."""
    v, value = tables.counterfactual_value, tables.infoset_value
    for k in range(form.level_infosets[level], form.level_infosets[level + 1]):
        v[form.child_parent[k]] += value[form.child[k]]


# ---- passes over a player ------------------------------------------------------------------


@inner
def realize_bands(form: Bands, player: int, sigma: Floats, x: Floats, reach: Floats) -> None:
    """Write the realization plan of `player` into `x`; `reach` is scratch, by infoset."""
    x[form.player_sequences[player]] = 1.0
    for level in range(form.player_levels[player], form.player_levels[player + 1]):
        for b in range(form.level_bands[level], form.level_bands[level + 1]):
            start, size, first = form.band_start[b], form.band_size[b], form.band_infoset[b]
            for j in range(size):
                reach[first + j] = x[form.parent[first + j]]
            for a in range(form.band_actions[b]):
                q = start + a * size
                for j in range(size):
                    x[q + j] = reach[first + j] * sigma[q + j]


@inner
def gradient_bands(form: Bands, player: int, x: Floats, g: Floats, sums: Floats) -> None:
    """Write ∂u_i/∂x_i[q] into `g` for every sequence q of `player`; `sums` is scratch."""
    sum_leaves(form, form.player_sums, player, x, sums)
    for q in range(form.player_sequences[player], form.player_sequences[player + 1]):
        g[q] = sums[form.leaf_sum[q]]


@inner
def best_response_bands(form: Bands, tables: BandTables, player: int) -> None:
    """Compute a best response of `player` from the gradient in `counterfactual_value`.

    Writes the behavior strategy into `best_response_plan`; of several best actions it takes
    the first. Leaves the counterfactual values in `counterfactual_value`.
    """
    sigma = tables.best_response_plan
    v, value = tables.counterfactual_value, tables.infoset_value
    for level in range(form.player_levels[player + 1] - 1, form.player_levels[player] - 1, -1):
        for b in range(form.level_bands[level], form.level_bands[level + 1]):
            start, size, first = form.band_start[b], form.band_size[b], form.band_infoset[b]
            for j in range(size):
                value[first + j] = -np.inf
            for a in range(form.band_actions[b]):
                q = start + a * size
                for j in range(size):
                    value[first + j] = max(value[first + j], v[q + j])
            for j in range(size):
                best, q = value[first + j], start + j
                for _ in range(form.band_actions[b]):
                    sigma[q] = 1.0 if v[q] == best else 0.0
                    best = np.inf if v[q] == best else best
                    q += size
        pass_up(form, tables, level)


# ---- an iteration ----------------------------------------------------------------------------


@inner
def update_bands(
    form: Bands,
    tables: BandTables,
    player: int,
    discounts: tuple[float, float],
    prediction: float,
) -> None:
    """Compute values, regrets and the next strategy from the gradient, bottom-up."""
    for level in range(form.player_levels[player + 1] - 1, form.player_levels[player] - 1, -1):
        level_values(form, tables, level)
        level_regrets(form, tables, level, discounts, prediction)
        level_strategy(form, tables, level)
        pass_up(form, tables, level)


@inner
def respond_bands(form: Bands, tables: BandTables) -> None:
    """Compute the plan of every player's best response to the current profile."""
    for i in range(len(form.player_levels) - 1):
        gradient_bands(form, i, tables.plan, tables.counterfactual_value, tables.leaf_sums)
        best_response_bands(form, tables, i)
        reply = tables.best_response_plan
        realize_bands(form, i, reply, reply, tables.infoset_reach)


@inlined
def iterate_bands(form: Bands, tables: BandTables, rule: Rule, first: int, count: int) -> None:
    """Run iterations first, first + 1, …, first + count - 1: `cfrlib.cfr.iterate`, faster."""
    players = len(form.player_levels) - 1
    opponents = tables.best_response_plan if rule.against_best else tables.plan
    for t in range(first, first + count):
        discounts = discount(t, rule.alpha), discount(t, rule.beta)
        w = weight(t, rule.gamma, rule.delay)
        if rule.against_best:
            respond_bands(form, tables)
        for i in range(players):
            for q in range(form.player_sequences[i], form.player_sequences[i + 1]):
                tables.strategy_sum[q] += w * tables.plan[q]
            gradient_bands(form, i, opponents, tables.counterfactual_value, tables.leaf_sums)
            update_bands(form, tables, i, discounts, rule.prediction)
            if rule.alternating:
                realize_bands(form, i, tables.sigma, tables.plan, tables.infoset_reach)
        if not rule.alternating:
            for i in range(players):
                realize_bands(form, i, tables.sigma, tables.plan, tables.infoset_reach)
        tables.iteration[0] = t


# ---- the layout ------------------------------------------------------------------------------


class Layout:
    """A sequence form arranged in bands; made by :func:`band_layout`.

    Attributes
    ----------
    bands : Bands
        The arrays that the kernels read.
    place : int array, shape (sequences,)
        Index in this layout of each sequence of the game.
    """

    def __init__(self, form: SequenceForm):
        t, owner = form.treeplexes, form.tree.infoset_player
        depth, options = _depths(t), t.infoset_stop - t.infoset_start
        infosets = np.arange(len(owner))
        order = np.lexsort((options, depth, owner))  # stable: a band keeps the game's order
        band = _run_starts(owner[order], depth[order], options[order])
        level = _run_starts(owner[order], depth[order])
        bounds = np.append(level, len(order))
        size = np.diff(np.append(band, len(order)))
        actions = options[order[band]].astype(np.int64)
        # before a band: all earlier bands, and the empty sequences up to its owner's
        start = np.cumsum(size * actions) - size * actions + owner[order[band]] + 1

        self.place = np.empty(form.num_sequences, np.int64)
        self.place[t.player_sequences[:-1]] = t.player_sequences[:-1]
        for first, m, n, q in zip(band, size, actions, start, strict=True):
            I = order[first : first + m]
            for a in range(n):
                self.place[t.infoset_start[I] + a] = q + a * m + np.arange(m)

        upward = np.lexsort((-infosets, depth, owner))
        players = np.arange(form.num_players + 1)
        self.bands = Bands(
            player_levels=np.searchsorted(owner[order[level]], players).astype(np.int64),
            level_bands=_indices(np.searchsorted(band, bounds)),
            level_infosets=_indices(bounds),
            band_start=_indices(start),
            band_size=_indices(size),
            band_actions=_indices(actions),
            band_infoset=_indices(band),
            parent=_indices(self.place[t.infoset_parent[order]]),
            child=_indices(np.argsort(order)[upward]),
            child_parent=_indices(self.place[t.infoset_parent[upward]]),
            player_sequences=t.player_sequences,
            **_leaf_sums(t, self.place),
        )

    def new_tables(self, sigma: Floats, plan: Floats) -> BandTables:
        """Return the tables of a run that starts from `sigma` and its realization plan `plan`.

        Both are in the numbering of the game.
        """
        n, infosets = len(self.place), len(self.bands.parent)
        return BandTables(
            regret=np.zeros(n),
            sigma=self.pack(sigma),
            plan=self.pack(plan),
            strategy_sum=np.zeros(n),
            best_response_plan=np.zeros(n),
            counterfactual_value=np.zeros(n),
            infoset_value=np.zeros(infosets),
            infoset_reach=np.zeros(infosets),
            norm=np.zeros(infosets),
            leaf_sums=np.zeros(self.bands.player_sums[-1]),
            iteration=np.zeros(1, np.int64),
        )

    def pack(self, vector: Floats) -> Floats:
        """Return a table of this layout, given a vector in the numbering of the game."""
        table = np.empty_like(vector)
        table[self.place] = vector
        return table

    def unpack(self, table: Floats) -> Floats:
        """Return a vector in the numbering of the game, given a table of this layout."""
        return table[self.place]


def _indices(numbers: npt.NDArray[Any]) -> Indices:
    return numbers.astype(np.uint32)


def _depths(t: Treeplexes) -> npt.NDArray[np.int64]:
    """Return the number of moves of its owner before each infoset."""
    moves = np.zeros(int(t.player_sequences[-1]), np.int64)  # by sequence
    for start, stop, parent in zip(
        t.infoset_start, t.infoset_stop, t.infoset_parent, strict=True
    ):
        moves[start:stop] = moves[parent] + 1
    return moves[t.infoset_parent]


def _run_starts(*keys: npt.NDArray[np.generic]) -> npt.NDArray[np.int64]:
    """Return the index of the first element of each run of equal keys."""
    if not len(keys[0]):
        return np.zeros(0, np.int64)
    changes = np.any([key[1:] != key[:-1] for key in keys], axis=0)
    return np.append(0, np.flatnonzero(changes) + 1)


def _leaf_sums(t: Treeplexes, place: npt.NDArray[np.int64]) -> dict[str, Any]:
    """Return the fields of `Bands` for the leaf table, with duplicate rows merged."""
    columns: tuple[npt.NDArray[Any], ...] = (t.leaf_payoff, *t.leaf_others)
    player_sums, leaf_sum = [0], np.empty(len(place), np.int64)
    distinct: list[slice] = []  # the rows of each leaf sum
    for first, last in pairwise(t.player_sequences.tolist()):
        sum_of_rows: dict[tuple[bytes, ...], int] = {}
        for q in first + np.argsort(place[first:last]):
            rows = slice(t.leaf_start[q], t.leaf_start[q + 1])
            content = tuple(column[rows].tobytes() for column in columns)
            if content not in sum_of_rows:
                sum_of_rows[content] = len(distinct)
                distinct.append(rows)
            leaf_sum[place[q]] = sum_of_rows[content]
        player_sums.append(len(distinct))
    start = np.cumsum([0, *(rows.stop - rows.start for rows in distinct)])
    payoff, *others = (
        np.concatenate([column[rows] for rows in distinct]) for column in columns
    )
    return {
        "player_sums": _indices(np.array(player_sums)),
        "leaf_sum": _indices(leaf_sum),
        "leaf_start": _indices(start),
        "leaf_payoff": payoff,
        "leaf_others": tuple(_indices(place[other]) for other in others),
    }


@remembered
def band_layout(form: SequenceForm) -> Layout:
    """Return the layout of a sequence form; it is cached on the form."""
    return Layout(form)
