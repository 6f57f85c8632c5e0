"""What to sample of a game tree, and one walk through it.

A *walk* belongs to one player, the traverser. It starts at the empty history and goes down
breadth first: at a chance event it draws one outcome, at an opponent's decision one action of
the opponent's strategy, at the traverser's own decision it goes on with k actions, drawn
without replacement. On the way up it estimates the value of every history on it,

    û(ha) is known for the actions a gone on with, each with probability ρ(a)
    v̂(a) = b(a) + 1{a gone on with} · (û(ha) − b(a)) / ρ(a)          unbiased for any b
    û(h) = Σ_a σ(a) v̂(a) = Σ_a σ(a) b(a) + Σ_a σ(a) 1{a gone on with} · (û(ha) − b(a)) / ρ(a)

with which the sampled regret of a is (v̂(a) − û(h)) · weight, where weight = 1 / Π ρ over the
traverser's own earlier choices. k = 1 is outcome sampling, k ≥ all actions external sampling
(Lanctot et al., 2009), anything between robust sampling (Li et al., 2020); a b that is not 0
is a baseline (Schmid et al., 2019). The only randomness is in the three
functions whose names begin with `draw`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core import schema
from cfrlib.core.jit import inlined, inner
from cfrlib.core.rng import State, uniform
from cfrlib.core.tree import CHANCE, TERMINAL, Floats, Tree
from cfrlib.explored import UNKNOWN, Records
from cfrlib.game import Game

MOST_ACTIONS = 16  # for inclusion probabilities of uneven draws, which list all subsets


def _check_epsilon(epsilon: float) -> None:
    if not 0 < epsilon <= 1:
        raise ValueError(
            f"ε must lie above 0, so that every action may be drawn, and be at most 1; got "
            f"{epsilon!r}"
        )


@dataclass(frozen=True)
class External:
    """External sampling: draw chance and the opponents, try all own actions.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> cfr.solve(cfr.games.KuhnPoker(), sampling=cfr.External(), seed=0).exploitability < 0.05
    True
    """

    k: ClassVar[float] = math.inf
    epsilon: ClassVar[float] = 1.0
    everyone: ClassVar[bool] = False


@dataclass(frozen=True)
class ChanceSampling(External):
    """Chance sampling: draw chance only, try all actions of all players.

    Examples
    --------
    >>> ChanceSampling() == SAMPLINGS["chance"]
    True
    """

    everyone: ClassVar[bool] = True


@dataclass(frozen=True)
class Robust:
    """Robust sampling: draw chance and the opponents, try k own actions.

    Parameters
    ----------
    k : int or inf
        How many, at least 1; all of them where there are no more.
    epsilon : float
        They are drawn, without replacement, in proportion to ``ε / |A(I)| + (1 − ε) σ(a)``: 1,
        the default, draws each equally often. Above 0, at most 1.

    Raises
    ------
    ValueError
        If k or ε is out of range.

    Examples
    --------
    >>> Robust(k=2)
    Robust(k=2, epsilon=1.0)
    """

    k: float
    epsilon: float = 1.0
    everyone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (self.k >= 1 and (self.k == math.inf or self.k == int(self.k))):
            raise ValueError(f"k must be a whole number, at least 1, or inf; got {self.k!r}")
        _check_epsilon(self.epsilon)


@dataclass(frozen=True)
class Outcome:
    """Outcome sampling: draw chance, the opponents, and one own action.

    Parameters
    ----------
    epsilon : float
        The own action is drawn with probability ``ε / |A(I)| + (1 − ε) σ(a)``. Above 0, at
        most 1.

    Raises
    ------
    ValueError
        If ε is out of range.

    Examples
    --------
    >>> Outcome()
    Outcome(epsilon=0.6)
    """

    k: ClassVar[float] = 1
    epsilon: float = 0.6
    everyone: ClassVar[bool] = False

    def __post_init__(self) -> None:
        _check_epsilon(self.epsilon)


Sampling = External | ChanceSampling | Robust | Outcome
SCHEMES: dict[str, Any] = {
    scheme.__name__: scheme for scheme in (External, ChanceSampling, Outcome, Robust)
}  # as files name them
_EPSILON = schema.number(0, 1)
_K = schema.any_of(schema.number(1, schema.EXACT), schema.exactly(math.inf))
SCHEME = schema.any_of(
    schema.row(schema.one_of("External", "ChanceSampling"), schema.record()),
    schema.row(schema.one_of("Outcome"), schema.record(epsilon=_EPSILON)),
    schema.row(schema.one_of("Robust"), schema.record(k=_K, epsilon=_EPSILON)),
)
SAMPLINGS: dict[str, Sampling] = {
    "chance": ChanceSampling(), "external": External(), "outcome": Outcome(),
}  # fmt: skip


def find_sampling(sampling: str | Sampling) -> Sampling:
    """Return the scheme of that name, or the one given.

    Raises
    ------
    ValueError
        If there is none; the message lists the known ones.
    """
    if isinstance(sampling, (External, Robust, Outcome)):
        return sampling
    if not isinstance(sampling, str) or sampling not in SAMPLINGS:
        known = ", ".join(repr(name) for name in SAMPLINGS)
        raise ValueError(
            f"unknown sampling {sampling!r}; choose one of {known}, or pass "
            "cfrlib.Outcome(epsilon=...) or cfrlib.Robust(k=...)"
        )
    return SAMPLINGS[sampling]


@inner
def locate(records: Records, u: float, start: int, stop: int) -> int:
    """Return the first of the records start … stop - 1 with u < cumulative, or the last."""
    while stop - start > 1:
        middle = (start + stop) // 2
        if u < records[middle - 1].cumulative:
            stop = middle
        else:
            start = middle
    return start


@inner
def draw_chance(state: State, nodes: Records, start: int, stop: int) -> int:
    """Return one of the children start … stop - 1 of a chance event."""
    start = locate(nodes, uniform(state), start, stop)
    while nodes[start].probability == 0.0:  # the sum of the others has been rounded down
        start -= 1
    return start


@inner
def draw_action(state: State, table: Records, start: int, stop: int) -> int:
    """Return one of the sequences start … stop - 1 of an infoset, drawn from σ."""
    u, q = uniform(state), start
    while q < stop - 1 and u >= table[q].sigma:
        u -= table[q].sigma
        q += 1
    while table[q].sigma == 0.0:  # the sum of the others has been rounded down
        q -= 1
    return q


@inner
def draw_rest(state: State, scratch: Floats, actions: int, left: float) -> int:
    """Return one of the actions not drawn yet, whose probabilities sum to `left`."""
    u, a = uniform(state) * left, 0
    while a < actions - 1 and u >= scratch[P, a]:
        u -= scratch[P, a]
        a += 1
    while scratch[P, a] == 0.0:
        a -= 1
    return a


P, RHO, FIRST, SUM = ROW = range(4)  # rows of `scratch`, shape (ROWS, actions)
ROWS = len(ROW)

# ---- inclusion probabilities -----------------------------------------------------------------


@inlined
def include(scratch: Floats, n: int, k: int) -> None:
    """Write the probability that each action is among k successive draws, from row P to RHO.

    Drawn without replacement, each draw in proportion to p among those left:
    Pr[the first draws are S] = Σ_{a ∈ S} Pr[the first are S − a] · p(a) / (1 − p(S − a)), and
    ρ(a) adds up the probabilities of the S of k actions that hold a.
    """
    p, rho = scratch[P], scratch[RHO]
    even = True
    for a in range(1, n):
        even = even and p[a] == p[0]
    if k >= n or even:
        for a in range(n):
            rho[a] = min(k / n, 1.0)
    elif k == 2:
        for a in range(n):
            for b in range(n):
                if b != a:
                    rho[a] += p[b] * p[a] / (1.0 - p[b])
    else:
        include_subsets(p, n, k, rho, scratch[FIRST], scratch[SUM])


@inner
def include_subsets(
    p: Floats, n: int, k: int, rho: Floats, first: Floats, inside: Floats
) -> None:
    """List all subsets S of the actions, smaller ones before those that hold them.

    ``first[S]`` is the probability that the first draws are S, ``inside[S]`` the sum of p in S.
    """
    first[0], inside[0] = 1.0, 0.0
    for a in range(n):
        rho[a] = 0.0
    for S in range(1, 1 << n):
        size = 0
        first[S] = 0.0
        for a in range(n):
            if S >> a & 1:
                before = S ^ (1 << a)
                first[S] += first[before] * p[a] / (1.0 - inside[before])
                inside[S] = inside[before] + p[a]
                size += 1
        for a in range(n):
            if size == k and S >> a & 1:
                rho[a] += first[S]


def inclusion_probabilities(p: npt.ArrayLike, k: int) -> Floats:
    """Return the probability of each action to be among k drawn without replacement.

    Each draw is in proportion to `p` among the actions left: a given order a_1, …, a_k comes
    with probability Π_j p(a_j) / (1 − p(a_1) − … − p(a_{j−1})), and ρ(a) is the sum over all
    orders with a in them.

    Parameters
    ----------
    p : array-like, shape (actions,)
        Probabilities of the first draw, all above 0; each later draw is in proportion to them.
    k : int
        How many actions are drawn, at least 1.

    Returns
    -------
    float array, shape (actions,)
        They sum to min(k, actions): this is no distribution.

    Raises
    ------
    ValueError
        If `p` is no distribution with all probabilities above 0, k is below 1, or there are
        too many actions to list all subsets of them.

    Examples
    --------
    >>> inclusion_probabilities([0.5, 0.3, 0.2], 2).round(5)
    array([0.83929, 0.675  , 0.48571])
    """
    first = np.array(p, np.float64)
    if first.ndim != 1 or not ((first > 0).all() and abs(first.sum() - 1) <= 1e-9):
        raise ValueError(f"p must hold probabilities above 0 that sum to 1, got {p!r}")
    if k < 1 or k != int(k):
        raise ValueError(f"k must be a whole number, at least 1, got {k!r}")
    even = (first == first[0]).all()
    if 2 < k < len(first) and len(first) > MOST_ACTIONS and not even:
        raise ValueError(
            f"at most {MOST_ACTIONS} uneven actions for k above 2, got {len(first)}"
        )
    width = len(first) if even or not 2 < k < len(first) else 1 << len(first)
    scratch = np.zeros((ROWS, width))
    scratch[P, : len(first)] = scratch[RHO, : len(first)] = first
    if k > 1:
        include(scratch, len(first), int(k))
    return scratch[RHO, : len(first)].copy()


# ---- one walk --------------------------------------------------------------------------------


class Scheme(NamedTuple):
    """A `Sampling`, as the kernels read it."""

    k: int
    epsilon: float
    everyone: bool

    @classmethod
    def of(cls, s: Sampling) -> Scheme:
        """Return it with a k that is a number."""
        k = 2**31 - 1 if s.k == math.inf else int(s.k)
        return cls(k, float(s.epsilon), s.everyone)


def most_entries(tree: Tree, sampling: Sampling) -> int:
    """Return room enough for any walk through this tree: what it visits, and one look ahead."""
    most = 0
    for i in range(tree.num_players):
        size = np.ones(tree.num_histories)
        levels = zip(tree.level_start[:-1], tree.level_start[1:], strict=True)
        for start, stop in reversed(list(levels)):
            h = np.arange(start, stop)[tree.num_children[start:stop] > 0]
            if len(h):
                first = tree.first_child[h]
                below = size[first[0] : first[-1] + tree.num_children[h[-1]]]
                largest = np.maximum.reduceat(below, first - first[0])
                total = np.add.reduceat(below, first - first[0])
                own, decision = tree.player[h] == i, tree.player[h] >= 0
                size[h] += np.where(
                    own, np.minimum(total, sampling.k * largest),
                    np.where(decision & sampling.everyone, total, largest),
                )  # fmt: skip
        most = max(most, int(size[0]))
    return most + int(tree.num_children.max())


def room_to_draw(sampling: Sampling, actions: int, game: Game) -> int:
    """Return the columns of `scratch` that it takes to draw from so many actions.

    Raises
    ------
    ValueError
        If these are too many to list all their subsets, and that is needed.
    """
    if not (2 < sampling.k < actions and sampling.epsilon < 1):
        return actions
    if actions > MOST_ACTIONS:
        raise ValueError(
            f"{sampling!r} needs the inclusion probabilities of uneven draws, which are "
            f"computed for at most {MOST_ACTIONS} actions, and {game!r} has an infoset with "
            f"{actions}; choose k = 1 or 2, or epsilon=1"
        )
    return 1 << actions


# What a run holds for each sequence. Records, for the same reason as in `explored`.
SEQUENCE = np.dtype(
    [
        ("regret", "f8"),  # cumulative sampled regret
        ("sigma", "f8"),  # current strategy
        ("total", "f8"),  # the average, unnormalized
    ],
    align=True,
)

# A walk is a row of records: the histories it visits, in the order in which it meets them.
ENTRY = np.dtype(
    [
        ("node", "u4"),  # the history
        ("first", "i4"),  # where its children begin that the walk goes on with, if any
        ("tried", "i4"),  # how many these are
        ("rho", "f8"),  # probability with which the walk goes on with it, given its parent
        ("weight", "f8"),  # what a regret here counts: 1 / Π ρ over the traverser's choices …
        # … up to here, times Π σ over those of opponents whose actions are all tried, times
        # f_c / σ'_c if the first event of chance is drawn from a proposal σ'_c
        ("drawn", "f8"),  # probability with which the walk gets here
        ("value", "f8"),  # û, the estimate of the traverser's expected payoff from here on
        ("excess", "f8"),  # (û − b) / ρ, by which the estimate v̂ of the last step exceeds b
    ],
    align=True,
)


@inlined
def enter(e: Records, h: int, rho: float, weight: float, drawn: float) -> None:
    """Make `e` the entry of history h."""
    e.node, e.rho, e.weight, e.drawn = h, rho, weight, drawn


@inlined
def descend(
    nodes: Records, infosets: Records, table: Records, scheme: Scheme, i: int,
    walk: Records, scratch: Floats, state: State, k: int, n: int,
) -> tuple[int, int]:  # fmt: skip
    """Go down from entry k of the n entries so far; return how many are done and entered.

    Both are equal at the end of the walk. Otherwise entry k is a history whose rules have not
    been asked yet, or the room for entries is used up.
    """
    k, n, known = int(k), int(n), True  # int: else `choose` is compiled for constants, too
    while known and k < n:
        e = walk[k]
        h = nodes[e.node]
        child, actions = h.first_child, h.num_children
        known = h.player != UNKNOWN and n + actions <= len(walk)
        if known:
            e.first, e.tried = n, 1
            if h.player == TERMINAL:
                e.tried = 0
            elif h.player == CHANCE:
                c = draw_chance(state, nodes, child, child + actions)
                weight = e.weight * nodes[c].correction
                enter(walk[n], c, 1.0, weight, e.drawn * nodes[c].probability)
            elif h.player == i:
                start = infosets[h.infoset].start
                choose(start, child, actions, table, scheme, walk, scratch, state, k, n)
            elif scheme.everyone:
                start, e.tried = infosets[h.infoset].start, actions
                for a in range(actions):
                    p = table[start + a].sigma
                    enter(walk[n + a], child + a, 1.0, e.weight * p, e.drawn)
            else:
                start = infosets[h.infoset].start
                a = draw_action(state, table, start, start + actions) - start
                p = table[start + a].sigma
                enter(walk[n], child + a, p, e.weight, e.drawn * p)
            n += e.tried
            k += 1
    return k, n


@inner
def choose(
    start: int, child: int, actions: int, table: Records, scheme: Scheme, walk: Records,
    scratch: Floats, state: State, k: int, n: int,
) -> None:  # fmt: skip
    """Go on with some of the traverser's actions: all, or `scheme.k` drawn one by one."""
    e = walk[k]
    e.tried = min(scheme.k, actions)
    if e.tried == actions:
        for a in range(actions):
            enter(walk[n + a], child + a, 1.0, e.weight, e.drawn)
    else:
        left = 1.0
        for a in range(actions):
            p = scheme.epsilon / actions + (1.0 - scheme.epsilon) * table[start + a].sigma
            scratch[P, a], scratch[RHO, a] = p, p
        if e.tried > 1:
            include(scratch, actions, e.tried)
        for j in range(e.tried):
            a = draw_rest(state, scratch, actions, left)
            left -= scratch[P, a]
            scratch[P, a] = 0.0
            rho = scratch[RHO, a]
            enter(walk[n + j], child + a, rho, e.weight / rho, e.drawn * rho)


@inner
def evaluate(
    nodes: Records, utility: Floats, infosets: Records, table: Records, baseline: Floats,
    i: int, walk: Records, k: int,
) -> float:  # fmt: skip
    """Return û of entry k, whose children have theirs; turn these into v̂ less the baseline."""
    e, value = walk[k], 0.0
    h = nodes[e.node]
    if h.player == TERMINAL:
        value = utility[e.node, i]
    elif h.player == CHANCE:  # a proposal in place of f_c has weight f_c / σ'_c
        c = walk[e.first]
        value = c.value * nodes[c.node].correction
    else:
        start = infosets[h.infoset].start
        if baseline.shape[1]:
            for q in range(start, start + h.num_children):
                value += table[q].sigma * baseline[i, q]
        for n in range(e.first, e.first + e.tried):
            c = walk[n]
            q = start + (c.node - h.first_child)
            b = baseline[i, q] if baseline.shape[1] else 0.0
            c.excess = (c.value - b) / c.rho
            value += table[q].sigma * c.excess
    return value
