"""Batches of walks: sum what the walks estimate, then update the tables.

In each iteration, each player's walks (:mod:`cfrlib.montecarlo.traversal`) estimate the regrets
at the infosets they visit. A batch is split into a few *lanes*, each with its own sums. Their
number depends on the batch size alone, so the result does not depend on which thread or process
runs which lane. Then, at each infoset visited, the strategy is added to the strategy sum, the
mean sampled regret to the regrets, and regret matching computes the next strategy.
"""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import LINE, State, begin
from cfrlib.core.tree import Floats
from cfrlib.montecarlo.schemes import ROWS, Scheme
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE, descend, enter, value_of
from cfrlib.montecarlo.tree_records import Records, TreeArrays, records
from cfrlib.regret import discount, weight

LANES = 8  # a batch is split into this many sums, on any number of threads
# The rules of averaging: see `MCCFR`.
AVERAGING = ("opponent", "lazy", "full", "stochastic", "optimistic", "own")
OPPONENT, LAZY, FULL, STOCHASTIC, OPTIMISTIC, OWN = range(6)


Counts: TypeAlias = npt.NDArray[np.int64]


class Settings(NamedTuple):
    """The options of a run, in the form that kernels read."""

    scheme: Scheme
    rule: int
    batch: int
    alternating: bool
    alpha: float
    beta: float
    gamma: float
    prediction: float
    delay: int
    decay: float
    key: np.uint64


class Tables(NamedTuple):
    """The state of a run.

    Attributes
    ----------
    table : record array of SEQUENCE, shape (sequences,)
    last_update : record array of LAST_UPDATE, shape (infosets,)
    progress : record array of PROGRESS, shape (1,)
    baseline : float array, shape (players, sequences), or (players, 0) without
        Estimate of each player's expected payoff after a sequence.
    """

    table: Records
    last_update: Records
    progress: Records
    baseline: Floats


def new_tables(tree: Any, baseline: bool) -> Tables:
    """Return the tables of a new run, with uniform strategies."""
    infosets, sequences = len(tree.infosets), len(tree.owner)
    tables = Tables(
        table=records(sequences, SEQUENCE),
        last_update=records(infosets, LAST_UPDATE),
        progress=records(1, PROGRESS),
        baseline=np.zeros((tree.utility.shape[1], sequences if baseline else 0)),
    )
    make_uniform(tree.infosets, tables.table, 0, tree.num_infosets)
    return tables


# The state of an infoset at its last update, to make up for the iterations since then.
LAST_UPDATE = np.dtype(
    [
        # lazy: weight added to the strategy sum so far; optimistic: sum of the weights of the
        # iterations up to then; full: own reach probability
        ("weight", "f8"),
        ("log_positive", "f8"),  # log of the product of all discounts applied …
        ("log_negative", "f8"),  # … to positive and to negative regrets
    ],
    align=True,
)
PROGRESS = np.dtype(
    [
        ("done", "i8"),  # iterations completed; kernels count them, so an interrupt loses none
        ("nodes", "i8"),  # histories visited
        ("weight", "f8"),  # of this iteration in the average
        ("weights", "f8"),  # sum of the weights up to this iteration
        ("positive", "f8"),  # discount of this iteration, for positive regrets
        ("negative", "f8"),  # the same, for negative regrets
        ("log_positive_before", "f8"),  # log of the product of the earlier discounts
        ("log_negative_before", "f8"),
        ("log_positive_now", "f8"),  # the same, including this iteration's
        ("log_negative_now", "f8"),
    ],
    align=True,
)
# A lane's sums at each infoset. Record j also holds the j-th infoset touched.
SUMS = np.dtype([("mass", "f8"), ("touched", "u4"), ("is_touched", "?")], align=True)


class Lanes(NamedTuple):
    """The lanes of a batch, one row each: the current walk, and sums over the earlier ones.

    Attributes
    ----------
    walk : record array of ENTRY, shape (lanes, entries)
    scratch : float array, shape (lanes, ROWS, most actions)
    state : uint64 array, shape (lanes, LINE)
        State of the random numbers, in the first column.
    sampled_regret : float array, shape (lanes, sequences)
        Sums of sampled regrets.
    sums : record array of SUMS, shape (lanes, infosets)
        ``mass`` is the weight of the current strategy at the infoset in the average.
    estimates : float array, shape (lanes, players, sequences, 2), or (lanes, 1, 0, 2)
        For the baseline: sum and number of the estimates of the payoff after a sequence.
    counts : int array, shape (lanes, LINE)
        Infosets touched; histories visited. Each row of `counts` and of `state` fills a cache
        line, because threads that write to the same line wait for each other.
    """

    walk: Records
    scratch: Floats
    state: npt.NDArray[np.uint64]
    sampled_regret: Floats
    sums: Records
    estimates: Floats
    counts: npt.NDArray[np.int64]


class Lane(NamedTuple):
    """One row of `Lanes`."""

    walk: Records
    scratch: Floats
    state: State
    sampled_regret: Floats
    sums: Records
    estimates: Floats
    counts: Counts


@inner
def lane_of(lanes: Lanes, n: int) -> Lane:
    """Return lane n."""
    return Lane(
        lanes.walk[n],
        lanes.scratch[n],
        lanes.state[n],
        lanes.sampled_regret[n],
        lanes.sums[n],
        lanes.estimates[n],
        lanes.counts[n],
    )


def new_lanes(
    lanes: int, entries: int, infosets: int, sequences: int, width: int, learners: int
) -> Lanes:
    """Return empty lanes.

    Parameters
    ----------
    lanes, infosets, sequences : int
        Their numbers.
    entries : int
        The most histories that a walk can visit.
    width : int
        Columns of `scratch`: see :func:`cfrlib.montecarlo.schemes.scratch_columns`.
    learners : int
        The number of players, if a baseline is learned, else 0.
    """
    with_baseline = (lanes, learners, sequences, 2) if learners else (lanes, 1, 0, 2)
    return Lanes(
        walk=records((lanes, entries), ENTRY),
        scratch=np.zeros((lanes, ROWS, width)),
        state=np.zeros((lanes, LINE), np.uint64),
        sampled_regret=np.zeros((lanes, sequences)),
        sums=records((lanes, infosets), SUMS),
        estimates=np.zeros(with_baseline),
        counts=np.zeros((lanes, LINE), np.int64),
    )


# ---- walks -----------------------------------------------------------------------------------


@inlined
def sample_batch(
    tree: TreeArrays,
    tables: Tables,
    settings: Settings,
    lanes: Lanes,
    t: int,
    i: int,
    first: int,
    step: int,
) -> None:
    """Run player i's walks of iteration t in the lanes first, first + step, …."""
    for n in range(first, len(lanes.walk), step):
        lane = lane_of(lanes, n)
        for number in range(n, settings.batch, len(lanes.walk)):
            begin(lane.state, settings.key, t, i, number)
            enter(lane.walk[0], 0, 1.0, 1.0, 1.0)
            _, visited = descend(tree, tables.table, settings.scheme, i, lane, 0, 1)
            ascend(tree, tables, settings.rule, i, lane, visited)


@inlined
def ascend(tree: TreeArrays, tables: Tables, rule: int, i: int, lane: Lane, n: int) -> None:
    """Go back up a walk of n histories; add its sampled regrets and strategy weights."""
    walk, sampled_regret, estimates = lane.walk, lane.sampled_regret, lane.estimates
    baseline = tables.baseline
    for k in range(n - 1, -1, -1):
        e = walk[k]
        h = tree.nodes[e.node]
        e.value = value_of(tree, tables.table, baseline, i, walk, k)
        if h.player >= 0:
            start, s = tree.infosets[h.infoset].start, lane.sums[h.infoset]
            if h.player == i:
                for q in range(start, start + h.num_children):
                    b = baseline[i, q] if baseline.shape[1] else 0.0
                    sampled_regret[q] += (b - e.value) * e.weight
                for m in range(e.first, e.first + e.num_sampled):
                    q = start + (walk[m].node - h.first_child)
                    sampled_regret[q] += walk[m].excess * e.weight
                if rule in (OWN, STOCHASTIC):
                    s.mass += 1.0 if rule == OWN else 1.0 / e.probability
            elif rule == OPPONENT:
                s.mass += e.weight
            if estimates.shape[1]:
                for m in range(e.first, e.first + e.num_sampled):
                    q = start + (walk[m].node - h.first_child)
                    estimates[i, q, 0] += walk[m].value
                    estimates[i, q, 1] += 1.0
            touch(lane.sums, lane.counts, h.infoset)
    lane.counts[1] += n


@inner
def touch(sums: Records, count: Counts, I: int) -> None:
    """List infoset I among those with sums in this lane."""
    if not sums[I].is_touched:
        sums[I].is_touched = True
        sums[count[0]].touched = I
        count[0] += 1


@inner
def clear_at(infosets: Records, lane: Lane, I: int) -> None:
    """Reset the sums of a lane at infoset I to 0."""
    lane.sums[I].is_touched, lane.sums[I].mass = False, 0.0
    for q in range(infosets[I].start, infosets[I].stop):
        lane.sampled_regret[q] = 0.0
        for i in range(lane.estimates.shape[0] if lane.estimates.shape[1] else 0):
            lane.estimates[i, q, 0] = lane.estimates[i, q, 1] = 0.0


@inlined
def clear_lane(infosets: Records, lane: Lane) -> None:
    """Reset all sums of a lane."""
    for j in range(lane.counts[0]):
        clear_at(infosets, lane, lane.sums[j].touched)
    lane.counts[0] = lane.counts[1] = 0


@inner
def add(infosets: Records, to: Lane, lane: Lane) -> None:
    """Add the sums of one lane to those of another, and reset them."""
    for j in range(lane.counts[0]):
        I = lane.sums[j].touched
        touch(to.sums, to.counts, I)
        to.sums[I].mass += lane.sums[I].mass
        for q in range(infosets[I].start, infosets[I].stop):
            to.sampled_regret[q] += lane.sampled_regret[q]
            for i in range(lane.estimates.shape[0] if lane.estimates.shape[1] else 0):
                to.estimates[i, q, 0] += lane.estimates[i, q, 0]
                to.estimates[i, q, 1] += lane.estimates[i, q, 1]
    to.counts[1] += lane.counts[1]
    clear_lane(infosets, lane)


@inlined
def merge(infosets: Records, lanes: Lanes, first: int, step: int) -> None:
    """Add up the lanes first, first + step, …, as far as that needs no other lane.

    Lanes are added in fixed pairs, LANES / 2 apart at first, then LANES / 4, …, 1. So a thread
    that ran every second lane can add up its own, and the sums do not depend on the threads.
    """
    apart = LANES // 2
    while apart > 0 and apart % step == 0:
        for n in range(first, min(apart, len(lanes.sampled_regret) - apart), step):
            add(infosets, lane_of(lanes, n), lane_of(lanes, n + apart))
        apart //= 2


# ---- iterations ------------------------------------------------------------------------------


@inlined
def begin_iteration(progress: Records, settings: Settings, t: int) -> None:
    """Begin iteration t: compute its weight max(t − d, 0)^γ, where 0^0 = 0, and discounts."""
    b = progress[0]
    b.weight = weight(t, settings.gamma, settings.delay)
    b.weights += b.weight
    b.positive, b.negative = discount(t, settings.alpha), discount(t, settings.beta)
    b.log_positive_now, b.log_negative_now = b.log_positive_before, b.log_negative_before
    if b.positive != 1.0 or b.negative != 1.0:
        b.log_positive_now += np.log(b.positive)
        b.log_negative_now += np.log(b.negative)


@inlined
def end_iteration(progress: Records, t: int) -> None:
    """End iteration t: from now on its discounts count as earlier ones."""
    b = progress[0]
    b.log_positive_before, b.log_negative_before = b.log_positive_now, b.log_negative_now
    b.done = t


@inlined
def apply_batch(
    tree: TreeArrays, tables: Tables, settings: Settings, lanes: Lanes, i: int
) -> None:
    """Apply a batch: update the strategy sum, then the regrets and strategy of player i.

    i = -1 updates all players.
    """
    infosets, rule, b = tree.infosets, settings.rule, tables.progress[0]
    if len(lanes.sums) > 1:  # otherwise the loop of `merge` takes a tenth of a short walk
        merge(infosets, lanes, 0, 1)
    lane = lane_of(lanes, 0)
    if rule == FULL:
        add_plans(tree, tables, i, b.weight)
    elif rule == LAZY:
        sort_touched(lane.sums, lane.counts[0])
    for j in range(lane.counts[0]):
        I = lane.sums[j].touched
        add_strategy(tree, tables, rule, i, I, lane.sums[I].mass)
    for j in range(lane.counts[0]):
        I = lane.sums[j].touched
        start = infosets[I].start
        if i == -1 or i == infosets[I].player:
            add_regrets(infosets, tables, settings, lane.sampled_regret, I, start)
        if lane.estimates.shape[1]:
            update_baseline(infosets, tables.baseline, lane.estimates, I, start, settings.decay)
        clear_at(infosets, lane, I)
    b.nodes += lane.counts[1]
    lane.counts[0] = lane.counts[1] = 0


@inner
def sort_touched(sums: Records, n: int) -> None:
    """Sort the touched infosets by number, a player's earlier ones first (Shellsort)."""
    gap = n // 2
    while gap > 0:
        for j in range(gap, n):
            I, k = sums[j].touched, j
            while k >= gap and sums[k - gap].touched > I:
                sums[k].touched = sums[k - gap].touched
                k -= gap
            sums[k].touched = I
        gap //= 2


@inner
def add_strategy(
    tree: TreeArrays, tables: Tables, rule: int, i: int, I: int, mass: float
) -> None:
    """Add the current strategy to the strategy sum, with the weight that walks summed up."""
    infosets, table = tree.infosets, tables.table
    mass *= tables.progress[0].weight
    if rule != OPPONENT and rule != FULL and (i == -1 or i == infosets[I].player):
        mass = own_mass(tree, tables, rule, I, mass)
    if mass != 0.0:
        for q in range(infosets[I].start, infosets[I].stop):
            table[q].total += mass * table[q].sigma


@inner
def own_mass(tree: TreeArrays, tables: Tables, rule: int, I: int, mass: float) -> float:
    """Return the weight with which an infoset of the traverser adds to the strategy sum."""
    infosets, owner, table = tree.infosets, tree.owner, tables.table
    q, m, weights = infosets[I].parent, tables.last_update[I], tables.progress[0].weights
    if rule == LAZY:  # Σ_t w_t π_i^t(I), the parent's strategy sum, less what was added before
        mass = (table[q].total if owner[q] >= 0 else weights) - m.weight
        m.weight += mass
    else:
        if rule == OPTIMISTIC:  # as if π_i(I) had not changed since the last update
            mass = weights - m.weight
            m.weight = weights
        while owner[q] >= 0:  # times π_i(I)
            mass *= table[q].sigma
            q = infosets[owner[q]].parent
    return mass


@inner
def add_plans(tree: TreeArrays, tables: Tables, i: int, weight: float) -> None:
    """Add the realization plan of player i, or with i = -1 of all, to the strategy sum."""
    infosets, owner = tree.infosets, tree.owner
    table, last_update = tables.table, tables.last_update
    for I in range(len(infosets)):
        if i == -1 or i == infosets[I].player:
            q = infosets[I].parent
            reach = last_update[owner[q]].weight * table[q].sigma if owner[q] >= 0 else 1.0
            last_update[I].weight = reach
            for q in range(infosets[I].start, infosets[I].stop):
                table[q].total += weight * reach * table[q].sigma


@inner
def add_regrets(
    infosets: Records,
    tables: Tables,
    settings: Settings,
    sampled_regret: Floats,
    I: int,
    first: int,
) -> None:
    """R ← (R · overdue discounts + r) · discount, then σ ∝ max(R, 0), at one infoset.

    Its sampled regrets begin at `first`. Discounts of iterations that did not visit I are
    applied now: they change R, but not σ.
    """
    table, b, m = tables.table, tables.progress[0], tables.last_update[I]
    due0 = overdue(b.log_positive_before, m.log_positive)
    due1 = overdue(b.log_negative_before, m.log_negative)
    start, stop, total, share = infosets[I].start, infosets[I].stop, 0.0, 1.0 / settings.batch
    for q in range(start, stop):
        s, r = table[q], sampled_regret[first + (q - start)] * share
        R = s.regret * (due0 if s.regret > 0.0 else due1) + r
        R *= b.positive if R > 0.0 else b.negative
        s.regret = R
        s.sigma = max(R + settings.prediction * r, 0.0)
        total += s.sigma
    for q in range(start, stop):
        table[q].sigma = table[q].sigma / total if total > 0.0 else 1.0 / (stop - start)
    m.log_positive, m.log_negative = b.log_positive_now, b.log_negative_now


@inner
def overdue(now: float, then: float) -> float:
    """Return the product of the discounts between two sums of logarithms."""
    product: float = np.exp(now - then) if now != then else 1.0
    return product


@inner
def update_baseline(
    infosets: Records, baseline: Floats, estimates: Floats, I: int, first: int, decay: float
) -> None:
    """Move the baselines at one infoset toward the mean of the estimates, from `first` on."""
    for i in range(len(baseline)):
        for q in range(infosets[I].start, infosets[I].stop):
            e = first + (q - infosets[I].start)
            if estimates[i, e, 1] > 0.0:
                mean = estimates[i, e, 0] / estimates[i, e, 1]
                baseline[i, q] += decay * (mean - baseline[i, q])


@inlined
def iterate_batches(
    tree: TreeArrays,
    tables: Tables,
    settings: Settings,
    lanes: Lanes,
    turn: Counts,
    last: int,
) -> None:
    """Run iterations up to `last` in one thread, from player `turn` on; -1 before it begins."""
    players, progress = tree.utility.shape[1], tables.progress
    while progress[0].done < last:
        t = progress[0].done + 1
        if turn[0] < 0:
            begin_iteration(progress, settings, t)
            turn[0] = 0
        while turn[0] < players:
            i = turn[0]
            sample_batch(tree, tables, settings, lanes, t, i, 0, 1)
            if settings.alternating or i == players - 1:  # compiled once: it is the longest
                apply_batch(tree, tables, settings, lanes, i if settings.alternating else -1)
            turn[0] += 1
        turn[0] = -1
        end_iteration(progress, t)


@inlined
def add_overdue(tree: TreeArrays, tables: Tables, n: int) -> None:
    """Add overdue weights to the strategy sum at all infosets (lazy averaging)."""
    table = tables.table
    for I in range(n):
        mass = own_mass(tree, tables, LAZY, I, 0.0)
        for q in range(tree.infosets[I].start, tree.infosets[I].stop):
            table[q].total += mass * table[q].sigma


@inlined
def normalize(infosets: Records, total: Floats, sigma: Floats, n: int) -> None:
    """Normalize the strategy sums to probabilities; uniform where the sum is 0."""
    for I in range(n):
        start, stop, norm = infosets[I].start, infosets[I].stop, 0.0
        for q in range(start, stop):
            norm += total[q]
        for q in range(start, stop):
            sigma[q] = total[q] / norm if norm > 0.0 else 1.0 / (stop - start)


@inlined
def make_uniform(infosets: Records, table: Records, first: int, last: int) -> None:
    """Write the uniform strategy at infosets first … last - 1."""
    for I in range(first, last):
        start, stop = infosets[I].start, infosets[I].stop
        for q in range(start, stop):
            table[q].sigma = 1.0 / (stop - start)
