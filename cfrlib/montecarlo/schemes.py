"""Sampling schemes: which actions a walk expands.

A walk samples one action at chance events and at opponents' decisions, and k actions, without
replacement, at the traverser's own decisions. k = 1 is outcome sampling, k = all actions
external sampling (Lanctot et al., 2009), anything between is robust sampling (Li et al., 2020);
chance sampling (Zinkevich et al., 2007) expands all actions of all players.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import is_number
from cfrlib.core.jit import inlined, inner
from cfrlib.core.tree import Floats, Tree
from cfrlib.game import Game

MOST_ACTIONS = 16  # with unequal probabilities; all their subsets are enumerated


def check_epsilon(epsilon: object) -> None:
    """Raise a ValueError unless ε is a number above 0 and at most 1."""
    if not isinstance(epsilon, (int, float)) or not 0 < epsilon <= 1:
        raise ValueError(
            "epsilon must be above 0, so that every action can be sampled, and at most 1; "
            f"got {epsilon!r}"
        )


@dataclass(frozen=True)
class ExternalSampling:
    """External sampling: sample chance and the opponents, expand all own actions.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> kuhn = cfr.games.KuhnPoker()
    >>> cfr.solve(kuhn, sampling=cfr.ExternalSampling(), seed=0).exploitability < 0.05
    True
    """

    k: ClassVar[float] = math.inf
    epsilon: ClassVar[float] = 1.0
    expands_opponents: ClassVar[bool] = False


@dataclass(frozen=True)
class ChanceSampling(ExternalSampling):
    """Chance sampling: sample chance only, expand all actions of all players.

    Examples
    --------
    >>> ChanceSampling() == SAMPLINGS["chance"]
    True
    """

    expands_opponents: ClassVar[bool] = True


@dataclass(frozen=True)
class RobustSampling:
    """Robust sampling: sample chance, the opponents, and k own actions.

    Parameters
    ----------
    k : int or inf
        Number of own actions to sample, at least 1; all where there are at most k.
    epsilon : float
        Actions are sampled without replacement, in proportion to
        ``ε / |A(I)| + (1 − ε) σ(a)``; with the default, 1, uniformly. Above 0, at most 1.

    Raises
    ------
    ValueError
        If k or ε is out of range.

    Examples
    --------
    >>> RobustSampling(k=2)
    RobustSampling(k=2, epsilon=1.0)
    """

    k: float
    epsilon: float = 1.0
    expands_opponents: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (
            is_number(self.k) and self.k >= 1 and (self.k == math.inf or self.k == int(self.k))
        ):
            raise ValueError(f"k must be a whole number, at least 1, or inf; got {self.k!r}")
        check_epsilon(self.epsilon)


@dataclass(frozen=True)
class OutcomeSampling:
    """Outcome sampling: sample chance, the opponents, and one own action.

    Parameters
    ----------
    epsilon : float
        The own action is sampled with probability ``ε / |A(I)| + (1 − ε) σ(a)``. Above 0, at
        most 1.

    Raises
    ------
    ValueError
        If ε is out of range.

    Examples
    --------
    >>> OutcomeSampling()
    OutcomeSampling(epsilon=0.6)
    """

    k: ClassVar[float] = 1
    epsilon: float = 0.6
    expands_opponents: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)


Sampling = ExternalSampling | ChanceSampling | RobustSampling | OutcomeSampling
SAMPLINGS: dict[str, Sampling] = {
    "chance": ChanceSampling(),
    "external": ExternalSampling(),
    "outcome": OutcomeSampling(),
}


def find_sampling(sampling: str | Sampling) -> Sampling:
    """Return a scheme by its name, or the given scheme itself.

    Raises
    ------
    ValueError
        If there is no such scheme; the message lists the names.
    """
    if isinstance(sampling, (ExternalSampling, RobustSampling, OutcomeSampling)):
        return sampling
    if not isinstance(sampling, str) or sampling not in SAMPLINGS:
        known = ", ".join(repr(name) for name in SAMPLINGS)
        raise ValueError(
            f"unknown sampling {sampling!r}; choose one of {known}, or pass "
            "cfrlib.OutcomeSampling(epsilon=...) or cfrlib.RobustSampling(k=...)"
        )
    return SAMPLINGS[sampling]


def in_file(sampling: Sampling) -> list[Any]:
    """Return the name of a scheme and its parameters, in types that JSON knows."""
    return [type(sampling).__name__, asdict(sampling)]


def from_file(named: list[Any]) -> Sampling:
    """Return the scheme that `in_file` describes."""
    name, parameters = named
    kinds = (ExternalSampling, ChanceSampling, OutcomeSampling, RobustSampling)
    scheme: Sampling = {kind.__name__: kind for kind in kinds}[name](**parameters)
    return scheme


# ---- inclusion probabilities -----------------------------------------------------------------

P, RHO, FIRST, SUM = ROW = range(4)  # rows of `scratch`, shape (ROWS, actions)
ROWS = len(ROW)


@inlined
def include(scratch: Floats, n: int, k: int) -> None:
    """Compute the probability ρ of each action to be among k sampled without replacement.

    Each draw is in proportion to p, row P, among the actions left; ρ is written to row RHO.
    Pr[the first draws are S] = Σ_{a ∈ S} Pr[the first are S − a] · p(a) / (1 − p(S − a)), and
    ρ(a) is the sum of Pr[S] over the sets S of k actions that contain a.
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
    """Enumerate all subsets S of the actions, each after its own subsets.

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
    """Return the probability of each action to be among k sampled without replacement.

    Each draw is in proportion to `p` among the actions left: the order a_1, …, a_k has
    probability Π_j p(a_j) / (1 − p(a_1) − … − p(a_{j−1})), and ρ(a) is the sum over all orders
    that contain a.

    Parameters
    ----------
    p : array-like, shape (actions,)
        Probabilities of the first draw, all above 0.
    k : int
        Number of actions to sample, at least 1.

    Returns
    -------
    float array, shape (actions,)
        Inclusion probabilities; they sum to min(k, actions), not to 1.

    Raises
    ------
    ValueError
        If `p` is not a distribution with all probabilities above 0, k is not a positive
        integer, or there are too many actions to enumerate all their subsets.

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
            f"at most {MOST_ACTIONS} actions for k above 2, unless all are equally likely; "
            f"got {len(first)}"
        )
    width = len(first) if even or not 2 < k < len(first) else 1 << len(first)
    scratch = np.zeros((ROWS, width))
    scratch[P, : len(first)] = scratch[RHO, : len(first)] = first
    if k > 1:
        include(scratch, len(first), int(k))
    return scratch[RHO, : len(first)].copy()


# ---- for kernels and their callers -----------------------------------------------------------


class Scheme(NamedTuple):
    """A `Sampling` in the form that kernels read."""

    k: int
    epsilon: float
    expands_opponents: bool

    @classmethod
    def of(cls, s: Sampling) -> Scheme:
        """Return the scheme with k as an integer."""
        k = 2**31 - 1 if s.k == math.inf else int(s.k)
        return cls(k, float(s.epsilon), s.expands_opponents)


def most_entries(tree: Tree, sampling: Sampling) -> int:
    """Return the most entries a walk can need: histories visited, and one row of children."""
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
                mine = np.minimum(total, sampling.k * largest)
                theirs = np.where(decision & sampling.expands_opponents, total, largest)
                size[h] += np.where(own, mine, theirs)
        most = max(most, int(size[0]))
    return most + int(tree.num_children.max())


def scratch_columns(sampling: Sampling, actions: int, game: Game) -> int:
    """Return the columns of `scratch` needed to sample from that many actions.

    Raises
    ------
    ValueError
        If all their subsets would have to be enumerated, and there are too many.
    """
    if not (2 < sampling.k < actions and sampling.epsilon < 1):
        return actions
    if actions > MOST_ACTIONS:
        raise ValueError(
            f"{sampling!r} needs inclusion probabilities of unequally likely actions, "
            f"computed for at most {MOST_ACTIONS} actions; {game!r} has an infoset with "
            f"{actions}; choose k = 1 or 2, or epsilon=1"
        )
    return 1 << actions
