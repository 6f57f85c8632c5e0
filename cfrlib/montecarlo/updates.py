"""Batches of walks: sums over the walks, and the update of the tables by these sums.

For each player of an iteration, walks (:mod:`cfrlib.montecarlo.traversal`) estimate the regrets
of the infosets they meet. Their sums are kept in a few *lanes*, whose number depends on the
batch alone, so the result does not depend on which thread or process walks which lane. Then, at
the infosets touched, the strategy is added to the strategy sum, the mean regret to the regrets,
and regret matching gives the next strategy.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import LINE, State, begin
from cfrlib.core.tree import Floats
from cfrlib.montecarlo.partial_tree import PartialTree, Records, TreeArrays, grown, records
from cfrlib.montecarlo.schemes import ROWS, Scheme
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE, descend, enter, evaluate
from cfrlib.regret import discount

# How to add up the average: see `MCCFR`.
LANES = 8  # a batch is shared out over so many sums, whoever computes them
AVERAGING = ("opponent", "lazy", "full", "stochastic", "optimistic", "own")
OPPONENT, LAZY, FULL, STOCHASTIC, OPTIMISTIC, OWN = range(6)


Counts: TypeAlias = npt.NDArray[np.int64]


class Settings(NamedTuple):
    """What a run was asked to do, as the kernels read it."""

    scheme: Scheme
    rule: int
    batch: int
    alternating: bool
    alpha: float
    beta: float
    gamma: float
    predictive: bool
    delay: int
    decay: float
    key: np.uint64


class Tables(NamedTuple):
    """What a run remembers.

    Attributes
    ----------
    table : record array of SEQUENCE, shape (sequences,)
    memory : record array of MEMORY, shape (infosets,)
    ledger : record array of LEDGER, shape (1,)
    baseline : float array, shape (players, sequences), or (players, 0) without
        What each player is expected to be paid after a sequence.
    """

    table: Records
    memory: Records
    ledger: Records
    baseline: Floats


def new_tables(known: PartialTree, baseline: bool) -> Tables:
    """Return the tables of a run that has not begun: uniform strategies."""
    infosets, sequences = len(known.infosets), len(known.owner)
    tables = Tables(
        records(sequences, SEQUENCE), records(infosets, MEMORY), records(1, LEDGER),
        np.zeros((known.utility.shape[1], sequences if baseline else 0)),
    )  # fmt: skip
    make_uniform(known.infosets, tables.table, 0, known.num_infosets)
    return tables


def grow_tables(tables: Tables, known: PartialTree, before: int) -> Tables:
    """Return the tables with room for all infosets, uniform from number `before` on.

    They are the same arrays as long as these have room.
    """
    infosets, sequences = len(known.infosets), len(known.owner)
    learned = sequences if tables.baseline.shape[1] else 0
    tables = Tables(
        grown(tables.table, sequences), grown(tables.memory, infosets), tables.ledger,
        grown(tables.baseline, learned, axis=1),
    )  # fmt: skip
    make_uniform(known.infosets, tables.table, before, known.num_infosets)
    return tables


MEMORY = np.dtype(
    [
        ("taken", "f8"),  # what was added to the average so far (lazy); until when (optimistic)
        ("positive", "f8"),  # up to which discounts the regrets have been discounted, as …
        ("negative", "f8"),  # … the sums in the ledger
    ],
    align=True,
)
LEDGER = np.dtype(
    [
        ("done", "i8"),  # iterations; counted in the kernels, for interrupts' sake
        ("nodes", "i8"),  # histories visited
        ("weight", "f8"),  # of this iteration in the average
        ("weights", "f8"),  # their sum
        ("positive", "f8"),  # discount of this iteration
        ("negative", "f8"),
        ("positive_before", "f8"),  # sum of the logarithms of the earlier ones
        ("negative_before", "f8"),
        ("positive_now", "f8"),  # this one included
        ("negative_now", "f8"),
    ],
    align=True,
)
# What a lane adds up, for each infoset: a record also lists one of the infosets touched.
SUMS = np.dtype([("mass", "f8"), ("touched", "u4"), ("is_touched", "?")], align=True)


class Lanes(NamedTuple):
    """Shares of a batch, a row each: the walk under way, and sums over the walks before it.

    Attributes
    ----------
    walk : record array of ENTRY, shape (lanes, entries)
    scratch : float array, shape (lanes, ROWS, most actions)
    state : uint64 array, shape (lanes, LINE)
        Of the random numbers, in the first column.
    gain : float array, shape (lanes, sequences)
        Sampled regrets.
    sums : record array of SUMS, shape (lanes, infosets)
        ``mass`` is what the current strategy at the infoset counts in the average.
    told : float array, shape (lanes, players, sequences, 2), or (lanes, 1, 0, 2)
        Estimates of the payoff after a sequence, for the baseline: their sum and number.
    counts : int array, shape (lanes, LINE)
        Infosets touched; histories visited. Each row of this and of `state` fills a line of
        the processor's cache: threads that write to the same line would wait for each other.
    """

    walk: Records
    scratch: Floats
    state: npt.NDArray[np.uint64]
    gain: Floats
    sums: Records
    told: Floats
    counts: npt.NDArray[np.int64]


class Lane(NamedTuple):
    """One row of `Lanes`."""

    walk: Records
    scratch: Floats
    state: State
    gain: Floats
    sums: Records
    told: Floats
    counts: Counts


@inner
def lane_of(lanes: Lanes, n: int) -> Lane:
    """Return lane n."""
    return Lane(
        lanes.walk[n], lanes.scratch[n], lanes.state[n], lanes.gain[n], lanes.sums[n],
        lanes.told[n], lanes.counts[n],
    )  # fmt: skip


def new_lanes(
    lanes: int, entries: int, infosets: int, sequences: int, width: int, learners: int
) -> Lanes:
    """Return empty lanes.

    Parameters
    ----------
    lanes, infosets, sequences : int
        How many.
    entries : int
        How many histories a walk can visit.
    width : int
        Room to draw from the actions of one decision.
    learners : int
        The number of players, if there is a baseline to learn, else 0.
    """
    return Lanes(
        records((lanes, entries), ENTRY), np.zeros((lanes, ROWS, width)),
        np.zeros((lanes, LINE), np.uint64), np.zeros((lanes, sequences)),
        records((lanes, infosets), SUMS),
        np.zeros((lanes, learners, sequences, 2) if learners else (lanes, 1, 0, 2)),
        np.zeros((lanes, LINE), np.int64),
    )  # fmt: skip


# ---- walks -----------------------------------------------------------------------------------


@inlined
def sample(
    tree: TreeArrays,
    tables: Tables,
    settings: Settings,
    lanes: Lanes,
    t: int,
    i: int,
    first: int,
    step: int,
) -> None:
    """Take the walks of player i in iteration t in the lanes first, first + step, …."""
    for n in range(first, len(lanes.walk), step):
        lane = lane_of(lanes, n)
        for number in range(n, settings.batch, len(lanes.walk)):
            begin(lane.state, settings.key, t, i, number)
            enter(lane.walk[0], 0, 1.0, 1.0, 1.0)
            _, visited = descend(tree, tables.table, settings.scheme, i, lane, 0, 1)
            ascend(tree, tables, settings.rule, i, lane, visited)


@inlined
def ascend(tree: TreeArrays, tables: Tables, rule: int, i: int, lane: Lane, n: int) -> None:
    """Go up a walk of n histories; add its estimates of regrets and strategy weights."""
    walk, gain, told, baseline = lane.walk, lane.gain, lane.told, tables.baseline
    for k in range(n - 1, -1, -1):
        e = walk[k]
        h = tree.nodes[e.node]
        e.value = evaluate(tree, tables.table, baseline, i, walk, k)
        if h.player >= 0:
            start, s = tree.infosets[h.infoset].start, lane.sums[h.infoset]
            if h.player == i:
                for q in range(start, start + h.num_children):
                    b = baseline[i, q] if baseline.shape[1] else 0.0
                    gain[q] += (b - e.value) * e.weight
                for m in range(e.first, e.first + e.tried):
                    q = start + (walk[m].node - h.first_child)
                    gain[q] += walk[m].excess * e.weight
                if rule in (OWN, STOCHASTIC):
                    s.mass += 1.0 if rule == OWN else 1.0 / e.drawn
            elif rule == OPPONENT:
                s.mass += e.weight
            if told.shape[1]:
                for m in range(e.first, e.first + e.tried):
                    q = start + (walk[m].node - h.first_child)
                    told[i, q, 0] += walk[m].value
                    told[i, q, 1] += 1.0
            touch(lane.sums, lane.counts, h.infoset)
    lane.counts[1] += n


@inner
def touch(sums: Records, count: Counts, I: int) -> None:
    """Note that infoset I has sums in this lane."""
    if not sums[I].is_touched:
        sums[I].is_touched = True
        sums[count[0]].touched = I
        count[0] += 1


@inner
def forget(infosets: Records, lane: Lane, I: int) -> None:
    """Set the sums of a lane at infoset I back to 0."""
    lane.sums[I].is_touched, lane.sums[I].mass = False, 0.0
    for q in range(infosets[I].start, infosets[I].stop):
        lane.gain[q] = 0.0
        for i in range(lane.told.shape[0] if lane.told.shape[1] else 0):
            lane.told[i, q, 0] = lane.told[i, q, 1] = 0.0


@inlined
def clear(infosets: Records, lane: Lane) -> None:
    """Forget all sums of a lane."""
    for j in range(lane.counts[0]):
        forget(infosets, lane, lane.sums[j].touched)
    lane.counts[0] = lane.counts[1] = 0


@inner
def add(infosets: Records, to: Lane, lane: Lane) -> None:
    """Add the sums of one lane to those of another, and forget them."""
    for j in range(lane.counts[0]):
        I = lane.sums[j].touched
        touch(to.sums, to.counts, I)
        to.sums[I].mass += lane.sums[I].mass
        for q in range(infosets[I].start, infosets[I].stop):
            to.gain[q] += lane.gain[q]
            for i in range(lane.told.shape[0] if lane.told.shape[1] else 0):
                to.told[i, q, 0] += lane.told[i, q, 0]
                to.told[i, q, 1] += lane.told[i, q, 1]
    to.counts[1] += lane.counts[1]
    clear(infosets, lane)


@inlined
def merge(infosets: Records, lanes: Lanes, first: int, step: int) -> None:
    """Add up the lanes first, first + step, …, as far as that needs no other lane.

    Always in the same pairs, which lie LANES / 2 apart at first, then LANES / 4, …, 1: so a
    thread that took every second lane can add up its own, and the sums do not depend on it.
    """
    apart = LANES // 2
    while apart > 0 and apart % step == 0:
        for n in range(first, min(apart, len(lanes.gain) - apart), step):
            add(infosets, lane_of(lanes, n), lane_of(lanes, n + apart))
        apart //= 2


# ---- iterations ------------------------------------------------------------------------------


@inlined
def open_iteration(ledger: Records, settings: Settings, t: int) -> None:
    """Begin iteration t: its weight max(t − d, 0)^γ counts from here; 0^0 is 0."""
    b = ledger[0]
    b.weight = float(t - settings.delay) ** settings.gamma if t > settings.delay else 0.0
    b.weights += b.weight
    b.positive, b.negative = discount(t, settings.alpha), discount(t, settings.beta)
    b.positive_now, b.negative_now = b.positive_before, b.negative_before
    if b.positive != 1.0 or b.negative != 1.0:
        b.positive_now += np.log(b.positive)
        b.negative_now += np.log(b.negative)


@inlined
def close_iteration(ledger: Records, t: int) -> None:
    """End iteration t: its discounts are due from here."""
    b = ledger[0]
    b.positive_before, b.negative_before, b.done = b.positive_now, b.negative_now, t


@inlined
def apply_batch(
    tree: TreeArrays, tables: Tables, settings: Settings, lanes: Lanes, i: int
) -> None:
    """Apply a batch: update the strategy sum, then player i's regrets and strategy.

    With i = -1, those of all players.
    """
    infosets, table = tree.infosets, tables.table
    rule, b = settings.rule, tables.ledger[0]
    if len(lanes.gain) > 1:  # the loop of `merge` costs a short walk a tenth of its time
        merge(infosets, lanes, 0, 1)
    lane = lane_of(lanes, 0)
    if rule == FULL:
        add_plans(tree, tables, i, b.weight)
    elif rule == LAZY:
        sort_touched(lane.sums, lane.counts[0])
    for j in range(lane.counts[0]):
        I = lane.sums[j].touched
        own, mass = i == -1 or i == infosets[I].player, b.weight * lane.sums[I].mass
        if own and rule != OPPONENT and rule != FULL:
            mass = own_mass(tree, tables, rule, I, mass)
        if mass != 0.0:
            for q in range(infosets[I].start, infosets[I].stop):
                table[q].total += mass * table[q].sigma
    for j in range(lane.counts[0]):
        I = lane.sums[j].touched
        if i == -1 or i == infosets[I].player:
            add_regrets(infosets, tables, settings, lane.gain, I)
        if lane.told.shape[1]:
            learn(infosets, tables.baseline, lane.told, I, settings.decay)
        forget(infosets, lane, I)
    b.nodes += lane.counts[1]
    lane.counts[0] = lane.counts[1] = 0


@inner
def sort_touched(sums: Records, n: int) -> None:
    """Bring the touched infosets into order: a player's earlier ones first (Shell's sort)."""
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
def own_mass(tree: TreeArrays, tables: Tables, rule: int, I: int, mass: float) -> float:
    """Return the weight with which an infoset of the traverser adds to the strategy sum."""
    infosets, owner, table = tree.infosets, tree.owner, tables.table
    q, m, weights = infosets[I].parent, tables.memory[I], tables.ledger[0].weights
    if rule == LAZY:  # Σ_t weight_t · π_i^t(I) is the sum at its parent; less what was added
        mass = (table[q].total if owner[q] >= 0 else weights) - m.taken
        m.taken += mass
    else:
        if rule == OPTIMISTIC:  # as if π_i(I) had been the same since the last time
            mass = weights - m.taken
            m.taken = weights
        while owner[q] >= 0:  # times π_i(I)
            mass *= table[q].sigma
            q = infosets[owner[q]].parent
    return mass


@inner
def add_plans(tree: TreeArrays, tables: Tables, i: int, weight: float) -> None:
    """Add the realization plan of player i, or of all, to the average; π_i(I) is `taken`."""
    infosets, owner, table, memory = tree.infosets, tree.owner, tables.table, tables.memory
    for I in range(len(infosets)):
        if i == -1 or i == infosets[I].player:
            q = infosets[I].parent
            reach = memory[owner[q]].taken * table[q].sigma if owner[q] >= 0 else 1.0
            memory[I].taken = reach
            for q in range(infosets[I].start, infosets[I].stop):
                table[q].total += weight * reach * table[q].sigma


@inner
def add_regrets(
    infosets: Records, tables: Tables, settings: Settings, gain: Floats, I: int
) -> None:
    """R ← (R · overdue discounts + r) · discount, then σ ∝ max(R, 0), at one infoset.

    Discounts of iterations that did not meet I are made up for: they change R, but not σ.
    """
    table, b, m = tables.table, tables.ledger[0], tables.memory[I]
    due0, due1 = overdue(b.positive_before, m.positive), overdue(b.negative_before, m.negative)
    start, stop, total, share = infosets[I].start, infosets[I].stop, 0.0, 1.0 / settings.batch
    for q in range(start, stop):
        s, r = table[q], gain[q] * share
        R = s.regret * (due0 if s.regret > 0.0 else due1) + r
        R *= b.positive if R > 0.0 else b.negative
        s.regret = R
        s.sigma = max(R + r if settings.predictive else R, 0.0)
        total += s.sigma
    for q in range(start, stop):
        table[q].sigma = table[q].sigma / total if total > 0.0 else 1.0 / (stop - start)
    m.positive, m.negative = b.positive_now, b.negative_now


@inner
def overdue(now: float, then: float) -> float:
    """Return the product of the discounts between two sums of their logarithms."""
    product: float = np.exp(now - then) if now != then else 1.0
    return product


@inner
def learn(infosets: Records, baseline: Floats, told: Floats, I: int, decay: float) -> None:
    """Move the baselines at one infoset toward the mean of what the walks told."""
    for i in range(len(baseline)):
        for q in range(infosets[I].start, infosets[I].stop):
            if told[i, q, 1] > 0.0:
                mean = told[i, q, 0] / told[i, q, 1]
                baseline[i, q] += decay * (mean - baseline[i, q])


@inlined
def iterate(
    tree: TreeArrays, tables: Tables, settings: Settings, lanes: Lanes, first: int, count: int
) -> None:
    """Run iterations first, first + 1, …, first + count - 1 in one thread."""
    players = tree.utility.shape[1]
    for t in range(first, first + count):
        open_iteration(tables.ledger, settings, t)
        for i in range(players):
            sample(tree, tables, settings, lanes, t, i, 0, 1)
            if settings.alternating or i == players - 1:  # compiled once: it is the longest
                apply_batch(tree, tables, settings, lanes, i if settings.alternating else -1)
        close_iteration(tables.ledger, t)


@inlined
def settle(tree: TreeArrays, tables: Tables, n: int) -> None:
    """Add to the average what infosets not met lately still owe it ("lazy")."""
    table = tables.table
    for I in range(n):
        mass = own_mass(tree, tables, LAZY, I, 0.0)
        for q in range(tree.infosets[I].start, tree.infosets[I].stop):
            table[q].total += mass * table[q].sigma


@inlined
def normalize(infosets: Records, total: Floats, sigma: Floats, n: int) -> None:
    """Turn the sums of the average into probabilities; uniform where there are none."""
    for I in range(n):
        start, stop, whole = infosets[I].start, infosets[I].stop, 0.0
        for q in range(start, stop):
            whole += total[q]
        for q in range(start, stop):
            sigma[q] = total[q] / whole if whole > 0.0 else 1.0 / (stop - start)


@inlined
def make_uniform(infosets: Records, table: Records, first: int, last: int) -> None:
    """Write the uniform strategy at infosets first … last - 1."""
    for I in range(first, last):
        start, stop = infosets[I].start, infosets[I].stop
        for q in range(start, stop):
            table[q].sigma = 1.0 / (stop - start)
