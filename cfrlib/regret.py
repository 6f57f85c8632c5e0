"""Regret matching, the idea on which everything else is built.

Play each action in proportion to how much you regret not having played it, counting only
regrets above zero (Hart & Mas-Colell, 2000). This module defines the rule, the variants that
the CFR family uses at every infoset, and regret matching in matrix games.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
from numba import float64, int64, types
from numba.core.errors import NumbaError

from cfrlib import wings
from cfrlib.core.checks import distributions, is_number, real_number, whole_number
from cfrlib.core.files import Fields, Mismatch
from cfrlib.core.jit import UserFunction, captured, inlined, kernel
from cfrlib.core.tree import Floats
from cfrlib.games.matrix import MatrixGame


class Method:
    """What a run does at each infoset; files hold its class and its numbers."""

    name: str
    kinds: ClassVar[dict[str, Any]] = {}

    def __init_subclass__(cls) -> None:
        Method.kinds[cls.__name__] = cls

    def described(self) -> Fields:
        """Return the fields in types that JSON knows, with None for functions."""
        mine: Any = self
        kind = {} if isinstance(self, Variant) else {"kind": type(self).__name__}
        numbers = {field.name: getattr(self, field.name) for field in fields(mine)}
        return kind | {name: None if callable(x) else x for name, x in numbers.items()}

    @classmethod
    def read(cls, described: Fields) -> Any:
        """Return the method that `described` returned the fields of, without functions."""
        numbers = dict(described)
        kind = numbers.pop("kind", "Variant")
        return (cls.kinds.get(kind) or wings.load(kind))(**numbers)


@dataclass(frozen=True)
class Variant(Method):
    """A member of the CFR family as four numbers: α, β, γ and λ.

    After iteration t, positive cumulative regrets are multiplied by t^α / (t^α + 1) and
    negative ones by t^β / (t^β + 1). Iteration t has weight t^γ in the average strategy.
    The factor is 1 for an exponent of ∞ and 0 for −∞. The next strategy applies regret
    matching to R(I, a) + λ r(I, a), where r is the latest regret.

    Parameters
    ----------
    name : str
        The name to display.
    alpha, beta : float
        Exponents of the discounts of positive and of negative regrets.
    gamma : float
        Exponent of the averaging weight, at least 0.
    prediction : float
        λ, at least 0: how strongly the latest regret, as a prediction of the next one, enters
        the next strategy. It is 0 without prediction and 1 in predictive CFR+.

    Raises
    ------
    ValueError
        If a number is out of its range.

    Notes
    -----
    Sources: the discounts are those of Brown & Sandholm (2019); prediction is that of Farina,
    Kroer & Sandholm (2021), and its strength that of Meng et al. (2025).

    Examples
    --------
    >>> Variant("my own", alpha=2, beta=-1, gamma=3)
    Variant(name='my own', alpha=2, beta=-1, gamma=3, prediction=0.0)
    >>> import cfrlib as cfr
    >>> cautious = Variant("pcfr+ with λ = 1/3", beta=-np.inf, gamma=2, prediction=1 / 3)
    >>> leduc = cfr.games.LeducPoker()
    >>> a, b = (cfr.solve(leduc, v, 1_000).exploitability for v in (cautious, "pcfr+"))
    >>> a < b / 3
    True
    """

    name: str
    alpha: float = math.inf
    beta: float = math.inf
    gamma: float = 0.0
    prediction: float = 0.0

    @property
    def exponents(self) -> tuple[float, float, float]:
        """α, β and γ."""
        return float(self.alpha), float(self.beta), float(self.gamma)

    def __post_init__(self) -> None:
        numbers = self.alpha, self.beta, self.gamma, self.prediction
        if not (all(map(is_number, numbers)) and all(0 <= x < math.inf for x in numbers[2:])):
            raise ValueError(
                f"α and β must be numbers or ±∞; γ and λ finite and at least 0: {self!r}"
            )


ROW = types.Array(float64, 1, "C")


@dataclass(frozen=True)
class RegretMinimizer(Method):
    """A rule of your own: a function that updates the row of one infoset.

    The function is compiled with Numba, into the loop that runs CFR. It is called after each
    traversal, at every infoset of the updated player, as ``rule(R, sigma, r, memory, t)``. The
    first four arguments are float arrays with a number for each action:

    - ``R``: whatever the rule accumulates, usually cumulative regrets. Starts at 0.
    - ``sigma``: the current strategy. The rule overwrites it with the next one.
    - ``r``: the counterfactual regrets of this iteration, v(I, a) − v(I).
    - ``memory``: a second row that the rule may keep, e.g. earlier regrets. Starts at 0.

    ``t`` is the iteration, 1, 2, ….

    Parameters
    ----------
    name : str
        The name to display.
    rule : function
        Writes into its arguments and returns nothing. It may use NumPy, functions compiled by
        `numba.njit`, and numbers and arrays of the function or module that defines it. Loops
        over the actions are fastest. It is None in what is read from a file, because files hold
        no functions.
    gamma : float
        γ: iteration t has weight t^γ in the average strategy.

    Raises
    ------
    ValueError
        If `rule` is no function of five arguments, or γ is below 0. A run raises it if the rule
        cannot be compiled or returns something, and if a row of ``sigma`` is no distribution;
        the message names the infoset.

    Notes
    -----
    A run compiles the rule with the numbers and arrays that the rule uses at that time, which
    takes about a second unless nothing has changed; neither is kept on disk. In compiled code
    indices are not checked. With ``NUMBA_DISABLE_JIT=1`` they are, and a breakpoint works.

    Rules run in the memory layout of small games, which is slower in large ones: regret
    matching as a rule takes 1.2 times as long as ``"cfr"`` in Kuhn poker, 1.8 in Leduc poker.

    Examples
    --------
    Hedge, with step size η:

    >>> import cfrlib as cfr
    >>> eta = 0.5
    >>> def hedge(R, sigma, r, memory, t):
    ...     R += r
    ...     sigma[:] = np.exp(eta * (R - R.max()))
    ...     sigma /= sigma.sum()
    >>> kuhn = cfr.games.KuhnPoker()
    >>> cfr.solve(kuhn, cfr.RegretMinimizer("Hedge", hedge), 1_000).exploitability < 0.01
    True
    """

    name: str
    rule: Callable[[Floats, Floats, Floats, Floats, int], None] | None
    gamma: float = 0.0

    def __post_init__(self) -> None:
        if self.rule is not None:
            try:
                inspect.signature(self.rule).bind(*range(5))
            except (TypeError, ValueError):
                raise ValueError(
                    "a rule is a function of five arguments, rule(R, sigma, r, memory, t), got "
                    f"{self.rule!r}"
                ) from None
        real_number("gamma", self.gamma)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone, because compiled code is that of one process."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def compiled(self) -> UserFunction:
        """The compiled rule, with the numbers and arrays that it uses now."""
        if self.rule is None:
            raise Mismatch(
                f"the rule of {self.name!r} is not known, because files hold no functions; "
                "pass the cfrlib.RegretMinimizer, e.g. CFR.load(path, game, minimizer)"
            )
        used = captured(self.rule)
        before, function = getattr(self, "_compiled", (None, None))
        if function is None or before != used:
            try:
                function = UserFunction(self.rule, (ROW, ROW, ROW, ROW, int64))
            except NumbaError as error:
                raise ValueError(
                    f"Numba cannot compile the rule of {self.name!r}, which may use numbers, "
                    f"arrays, NumPy, and functions compiled by numba.njit: {error}"
                ) from error
            if function.returns:
                raise ValueError(
                    f"the rule of {self.name!r} returns something; write the next strategy "
                    "into sigma instead, e.g. sigma[:] = ..."
                )
            object.__setattr__(self, "_compiled", (used, function))
        return function


class Rule(NamedTuple):
    """How a run updates, as the kernels read it: a variant, a delay and the kind of update."""

    alpha: float
    beta: float
    gamma: float
    prediction: float
    delay: int
    alternating: bool
    against_best: bool

    @classmethod
    def of(cls, variant: Variant, update: str, delay: int) -> Rule:
        """Return the rule of a variant; `update` is as for `CFR`."""
        kinds = update == "alternating", update == "best response"
        return cls(*variant.exponents, float(variant.prediction), delay, *kinds)


VARIANTS = {
    variant.name: variant
    for variant in (
        Variant("cfr", math.inf, math.inf, 0.0),
        Variant("cfr+", math.inf, -math.inf, 1.0),
        Variant("linear", 1.0, 1.0, 1.0),
        Variant("dcfr", 1.5, 0.0, 2.0),
        Variant("pcfr+", math.inf, -math.inf, 2.0, prediction=1.0),
        Variant("pdcfr+", 2.3, -math.inf, 5.0, prediction=1.0),
    )
}


def find_variant(variant: str | Method) -> Variant:
    """Return the variant of that name; a `Variant` is returned as it is.

    Raises
    ------
    ValueError
        If no variant has that name; the message lists the known names.
    """
    if isinstance(variant, Variant):
        return variant
    if isinstance(variant, Method):
        raise ValueError(
            f"{variant.name!r} updates whole trees; run it by cfrlib.solve without sampling"
        )
    if not isinstance(variant, str) or variant not in VARIANTS:
        known = ", ".join(repr(name) for name in VARIANTS)
        raise ValueError(
            f"unknown variant {variant!r}; choose one of {known}, or pass a cfrlib.Variant"
        )
    return VARIANTS[variant]


@kernel
def discount(t: int, exponent: float) -> float:
    """Return t^e / (t^e + 1), with its limits 1 at e = ∞ and 0 at e = −∞."""
    if exponent == math.inf:
        return 1.0
    if exponent == -math.inf:
        return 0.0
    power: float = float(t) ** exponent
    return power / (power + 1.0) if power < math.inf else 1.0


@kernel
def weight(t: int, gamma: float, delay: int) -> float:
    """Return (t − d)^γ, the weight of iteration t in the average; 0 up to the delay d."""
    return float(t - delay) ** gamma if t > delay else 0.0


@kernel
def match_regrets(regret: Floats, sigma: Floats, start: int, stop: int) -> None:
    """Set σ(a) = max(R(a), 0) / Σ_b max(R(b), 0), uniform if no regret is positive."""
    total = 0.0
    for q in range(start, stop):
        sigma[q] = max(regret[q], 0.0)
        total += sigma[q]
    for q in range(start, stop):
        sigma[q] = sigma[q] / total if total > 0.0 else 1.0 / (stop - start)


def regret_matching(regrets: npt.ArrayLike) -> Floats:
    """Return the strategy that regret matching plays at these cumulative regrets.

    Parameters
    ----------
    regrets : array-like, shape (actions,)
        Cumulative regrets in units of the game; negative ones count as 0.

    Returns
    -------
    float array, shape (actions,)
        Probabilities. Uniform if no regret is positive.

    Raises
    ------
    ValueError
        If `regrets` is empty, not a vector, or not finite.

    Notes
    -----
    Source: Hart & Mas-Colell (2000).

    Examples
    --------
    >>> regret_matching([2, 0, 1])
    array([0.66666667, 0.        , 0.33333333])
    """
    regret = np.array(regrets, np.float64)
    if regret.ndim != 1 or regret.size == 0 or not np.isfinite(regret).all():
        raise ValueError(
            f"expected a vector of finite regrets, one per action, got {regrets!r}"
        )
    sigma = np.empty(len(regret))
    match_regrets(regret, sigma, 0, len(regret))
    return sigma + 0.0  # not -0.0


Pair: TypeAlias = tuple[Floats, Floats]


class Path(NamedTuple):
    """T rounds of regret matching between two players. Row t holds round t + 1.

    Attributes
    ----------
    current : pair of float arrays, shapes (T, m) and (T, n)
        The strategy played in each round.
    average : pair of float arrays, the same shapes
        The mean of the strategies played up to and including each round.
    regret : pair of float arrays, the same shapes
        Cumulative regrets after each round.
    """

    current: Pair
    average: Pair
    regret: Pair


def play(
    game: MatrixGame,
    rounds: int,
    *,
    opponent: npt.ArrayLike | None = None,
    seed: int | None = None,
) -> Path:
    """Play a matrix game by regret matching, against itself or a fixed opponent.

    Parameters
    ----------
    game : MatrixGame
        The game; player 0 chooses the row.
    rounds : int
        The number of rounds, at least 1.
    opponent : array-like, shape (n,), optional
        Player 1's fixed probabilities, in place of regret matching.
    seed : int, optional
        With a seed, both players sample an action each round, and regrets are those of the
        sampled actions. Without a seed, regrets are expectations and nothing is random.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        If `game` is no matrix game, `rounds` is below 1, or `opponent` is not a distribution
        over player 1's actions.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> path = cfr.play(cfr.games.RockPaperScissors(), 1_000, opponent=(.4, .3, .3), seed=0)
    >>> path.average[0][-1].argmax()  # paper
    np.int64(1)
    """
    if not isinstance(game, MatrixGame):
        raise ValueError(
            f"play is for matrix games, such as RockPaperScissors(), got {game!r}; solve other "
            "games with cfrlib.solve"
        )
    rounds = whole_number("rounds", rounds, 1)
    m, n = game.row_payoffs.shape
    current = (np.empty((rounds, m)), np.empty((rounds, n)))
    if opponent is not None:
        given = np.array(opponent, np.float64)
        fixed = distributions(given) if given.shape == (n,) else None
        if fixed is None:
            raise ValueError(
                f"opponent must hold {n} probabilities that sum to 1, got {opponent!r}"
            )
        current[1][:] = fixed
    uniforms = np.random.default_rng(seed).random((0 if seed is None else rounds, 2))
    regret_path = (np.empty((rounds, m)), np.empty((rounds, n)))
    payoffs = (
        np.ascontiguousarray(game.row_payoffs),
        np.ascontiguousarray(game.column_payoffs.T),
    )
    rows = current, regret_path, (np.zeros(m), np.zeros(n)), (np.empty(m), np.empty(n))
    _play(payoffs, opponent is None, uniforms, *rows)
    counts = np.arange(1, rounds + 1)[:, None]
    average = (np.cumsum(current[0], axis=0) / counts, np.cumsum(current[1], axis=0) / counts)
    return Path(current, average, regret_path)


@kernel
def _sample(probabilities: Floats, u: float) -> int:
    """Sample an action by inversion, from a uniform random number u in [0, 1)."""
    last = 0
    for a in range(len(probabilities)):
        if probabilities[a] > 0.0:
            last = a
            if u < probabilities[a]:
                break
        u -= probabilities[a]
    return last


@inlined
def _add_regrets(
    payoff: Floats, mine: Floats, theirs: Floats, sums: Floats, row: Floats
) -> None:
    """Add the regrets of one round to a player's sums, and write the sums into `row`."""
    mean = 0.0
    for a in range(len(sums)):
        row[a] = 0.0
        for b in range(len(theirs)):
            row[a] += payoff[a, b] * theirs[b]
        mean += mine[a] * row[a]
    for a in range(len(sums)):
        sums[a] += row[a] - mean
        row[a] = sums[a]


@kernel
def _play(
    payoffs: Pair, learns: bool, u: Floats, current: Pair, path: Pair, regret: Pair, one: Pair
) -> None:
    """Play the rounds; each player's payoffs have a row for each of the player's actions.

    `learns` is false if the strategies of player 1 are given; `u`, uniform random numbers, is
    empty if nothing is sampled. `path` gets the sums of regrets after each round, and `one` is
    scratch space for the actions of a round.
    """
    for t in range(len(current[0])):
        mine, theirs = current[0][t], current[1][t]
        match_regrets(regret[0], mine, 0, len(mine))
        if learns:
            match_regrets(regret[1], theirs, 0, len(theirs))
        if len(u):
            a, b = _sample(mine, u[t, 0]), _sample(theirs, u[t, 1])
            mine, theirs = one
            mine[:], theirs[:] = 0.0, 0.0
            mine[a], theirs[b] = 1.0, 1.0
        _add_regrets(payoffs[0], mine, theirs, regret[0], path[0][t])
        _add_regrets(payoffs[1], theirs, mine, regret[1], path[1][t])
