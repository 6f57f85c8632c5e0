"""Exact bias and variance of sampled estimators, by enumerating all their random paths.

A function that samples asks ``choose(probabilities)`` for every random choice. Answered in all
possible ways, one after the other, it is run along every random path, each with its
probability; sums over the paths are exact expectations, without statistics. `certify` does this
for the kernels of :class:`MCCFR`, run as plain Python, and for any other estimator of
counterfactual regrets. A certificate is a proof for one game and one strategy profile.
"""

from __future__ import annotations

import copy
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import SimpleNamespace
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from cfrlib.core import rng
from cfrlib.core.jit import interpreted
from cfrlib.core.sequence import SequenceForm, backup, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.game import Action, Game, action_label
from cfrlib.montecarlo import schemes, traversal, updates
from cfrlib.montecarlo.mccfr import MCCFR
from cfrlib.montecarlo.schemes import P, Sampling
from cfrlib.montecarlo.tree_records import TreeArrays
from cfrlib.plain import SamplingSolver
from cfrlib.strategy import InfosetTable, Strategy, StrategyLike, strategy_vector

Probabilities: TypeAlias = Mapping[Any, float] | Sequence[float] | Floats
Choose: TypeAlias = Callable[[Probabilities], Any]
Sums: TypeAlias = Mapping[tuple[str, Action], float]
Walk: TypeAlias = Callable[[int, Choose], Sums | tuple[Sums, Sums]]
EXACT = 1e-12  # smaller biases, relative to the largest regret, are rounding errors
WORST = 6  # rows that the text of a certificate shows


# ---- every random path -----------------------------------------------------------------------


class Oracle:
    """Answers to random choices, which lead along one random path after the other.

    Attributes
    ----------
    probability : float
        Probability of all answers on the current path together.
    """

    def __init__(self) -> None:
        self.plan: list[list[int]] = []  # for each choice: the answer, of how many
        self.restart()

    def restart(self) -> None:
        """Go back to the start of the path."""
        self.at, self.probability = 0, 1.0

    def choose(self, probabilities: Probabilities) -> Any:
        """Return the next possible answer: a key of a mapping, or an index."""
        weights: Mapping[Any, float] = (
            probabilities
            if isinstance(probabilities, Mapping)
            else dict(enumerate(probabilities))
        )
        options = [(a, p) for a, p in weights.items() if p > 0]
        if not options:
            raise ValueError(f"nothing to choose: no probability above 0 in {probabilities!r}")
        if self.at == len(self.plan):
            self.plan.append([0, len(options)])
        a, p = options[self.plan[self.at][0]]
        self.at += 1
        self.probability *= p / math.fsum(p for _, p in options)
        return a

    def advance(self) -> bool:
        """Change the last answer that can be changed; return whether there is one."""
        while self.plan and self.plan[-1][0] + 1 == self.plan[-1][1]:
            self.plan.pop()
        if self.plan:
            self.plan[-1][0] += 1
        self.restart()
        return bool(self.plan)


def every_path(
    walk: Callable[[Choose], Any], *, limit: int = 1_000_000
) -> Iterator[tuple[float, Any]]:
    """Run a function that samples along every random path.

    Parameters
    ----------
    walk : callable
        Called with `choose`, and run once for each path. ``choose(probabilities)`` returns a
        key of a mapping, or an index of a sequence, of weights in any unit; weights of 0 are
        never chosen. The function must have no other source of randomness.
    limit : int
        Largest number of paths.

    Yields
    ------
    probability : float
        Probability of the path; the probabilities sum to 1.
    result : object
        What `walk` returned.

    Raises
    ------
    ValueError
        If there are more than `limit` paths.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> coin = {"heads": 0.5, "tails": 0.5}
    >>> for p, tosses in cfr.every_path(lambda choose: (choose(coin), choose(coin))):
    ...     print(p, *tosses)
    0.25 heads heads
    0.25 heads tails
    0.25 tails heads
    0.25 tails tails
    """
    oracle, more = Oracle(), True
    for _ in range(limit):
        result = walk(oracle.choose)
        p = oracle.probability
        more = oracle.advance()
        yield p, result
        if not more:
            return
    cure = "choose a smaller game or a scheme that samples less, or raise `limit`"
    raise ValueError(f"more than {limit:,} random paths; {cure}")


# ---- the walks of the package ----------------------------------------------------------------


class Sample(NamedTuple):
    """What one walk adds: sampled regrets and strategy sums, by sequence; its histories."""

    regret: Floats
    total: Floats
    nodes: float


class KernelWalk:
    """The walks of an MCCFR run: its kernels as plain Python, with an oracle's choices.

    The strategy sums are those of one iteration from empty sums, whichever the averaging rule.

    Parameters
    ----------
    run : MCCFR
        Its sampling scheme, averaging rule, baselines and proposal are used; it is not changed.
    sigma : float array, shape (sequences,), optional
        Strategy profile; by default, the current one.
    kernels : dict, optional
        Kernels from :func:`cfrlib.core.jit.interpreted`; those that sample are replaced.

    Attributes
    ----------
    rounding_error : float
        Largest error of the remaining probability that kernels pass to `sample_remaining`.
    """

    def __init__(
        self,
        run: MCCFR,
        sigma: Floats | None = None,
        kernels: dict[str, Any] | None = None,
    ):
        tree, self.tables, settings, lanes = run._walks.copy().state_of_kernels
        self.lanes = updates.Lanes._make(array[:1] for array in lanes)
        self.settings = settings._replace(batch=1, alternating=True, delay=0)
        self.tree = TreeArrays(
            _objects(tree.nodes), tree.utility, _objects(tree.infosets), tree.owner
        )
        self.tables.table.total[:] = 0.0
        if sigma is not None:
            self.tables.table.sigma[:] = sigma
        if kernels is None:
            kernels = interpreted(rng, schemes, traversal, updates)
        self.kernels, self.rounding_error = kernels, 0.0
        samplers = self.sample_chance, self.sample_action, self.sample_remaining
        kernels.update({f.__name__: f for f in samplers})
        kernels.update(add_regrets=_nothing, update_baseline=_nothing)

    def sample_chance(self, state: Any, nodes: Any, start: int, stop: int) -> Any:
        """Choose an outcome of chance."""
        return start + self.choose([nodes[c].probability for c in range(start, stop)])

    def sample_action(self, state: Any, table: Any, start: int, stop: int) -> Any:
        """Choose an opponent's action."""
        return start + self.choose([table[q].sigma for q in range(start, stop)])

    def sample_remaining(self, state: Any, scratch: Floats, actions: int, left: float) -> Any:
        """Choose one of the traverser's actions that are left."""
        weights = [float(p) for p in scratch[P, :actions]]
        self.rounding_error = max(self.rounding_error, abs(left - math.fsum(weights)))
        return self.choose(weights)

    def __call__(self, i: int, choose: Choose) -> Sample:
        """Run one walk of player i."""
        self.choose, f, tree = choose, self.kernels, self.tree
        blank = self.tables
        tables = updates.Tables(
            table=_objects(blank.table),
            last_update=_objects(np.zeros(len(blank.last_update), updates.LAST_UPDATE)),
            progress=_objects(np.zeros(1, updates.PROGRESS)),
            baseline=blank.baseline,
        )
        lanes: Any = self.lanes._replace(
            walk=[_objects(self.lanes.walk[0])],
            sums=[_objects(np.zeros(len(tree.infosets), updates.SUMS))],
            sampled_regret=np.zeros((1, len(tree.owner))),
            counts=np.zeros((1, rng.LINE), np.int64),
        )
        lane = f["lane_of"](lanes, 0)
        f["begin_iteration"](tables.progress, self.settings, 1)
        f["enter"](lane.walk[0], 0, 1.0, 1.0, 1.0)
        _, n = f["descend"](tree, tables.table, self.settings.scheme, i, lane, 0, 1)
        f["ascend"](tree, tables, self.settings.rule, i, lane, n)
        regret = lane.sampled_regret.copy()
        f["apply_batch"](tree, tables, self.settings, lanes, i)
        if self.settings.rule == updates.LAZY:
            f["add_overdue"](tree, tables, len(tree.infosets))
        return Sample(regret, self._total_of(tables, i), n)

    def _total_of(self, tables: updates.Tables, i: int) -> Floats:
        """Return the strategy sums that the walk of player i is responsible for."""
        owners = np.array([h.player for h in self.tree.infosets])[self.tree.owner]
        counted = owners != i if self.settings.rule == updates.OPPONENT else owners == i
        total = np.array([s.total for s in tables.table])
        return np.where(counted & (self.tree.owner >= 0), total, 0.0)


def _nothing(*_: Any) -> None:
    """Replace a kernel that updates what one walk does not need."""


def _objects(records: Any) -> Any:
    """Return an object with attributes for each record: interpreted, they are far faster."""
    names = records.dtype.names
    return [SimpleNamespace(**dict(zip(names, r.item(), strict=True))) for r in records]


# ---- certificates ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Certificate:
    """Exact mean and variance of an estimator, at one strategy profile of one game.

    Attributes
    ----------
    name : str
        The estimator.
    paths : int
        Number of its random paths, over the walks of all players.
    nodes : float
        Mean number of histories that a walk visits; NaN for a function, which does not say.
    exact : InfosetTable
        Counterfactual regrets r(I, a) = v(I, a) − v(I) from the whole tree.
    mean, bias, variance : InfosetTable
        Of the sampled regret of each action, over the walks of the infoset's player. A bias
        below 10⁻¹² of the largest regret is a rounding error, and is returned as 0.
    factor : InfosetTable
        E[ΔS(I, a)] / (π_i(I) σ(a|I)): what one iteration adds to the strategy sum, divided by
        what it should add. NaN where that is 0. The average is right if the factor of an
        infoset is the same for all its actions *and at every profile*; its size is irrelevant.

    Examples
    --------
    The averaging rule "own" depends on what the others play; the default does not.

    >>> import cfrlib as cfr
    >>> kuhn = cfr.games.KuhnPoker()
    >>> profiles = [cfr.Strategy.random(kuhn, seed=seed) for seed in (0, 1)]
    >>> for rule in ("opponent", "own"):
    ...     run = cfr.MCCFR(kuhn, averaging=rule)
    ...     first, second = (cfr.certify(run, strategy=s) for s in profiles)
    ...     print(first.largest_bias, first.drift(second) > 0.1)
    0.0 False
    0.0 True
    """

    name: str
    paths: int
    nodes: float
    exact: InfosetTable
    mean: InfosetTable
    bias: InfosetTable
    variance: InfosetTable
    factor: InfosetTable

    @property
    def game(self) -> Game:
        """The game."""
        return self.exact.game

    @property
    def largest_bias(self) -> float:
        """The largest absolute bias of an action's regret; 0 if the estimator is unbiased."""
        return float(np.abs(self.bias.values_by_sequence).max())

    @property
    def largest_regret(self) -> float:
        """The largest absolute regret that there is to estimate."""
        return float(np.abs(self.exact.values_by_sequence).max())

    @property
    def total_variance(self) -> float:
        """The variances of all sampled regrets, added up."""
        return float(self.variance.values_by_sequence.sum())

    @property
    def factors(self) -> tuple[float, float]:
        """The smallest and the largest factor; NaN if nothing is added to a strategy sum."""
        found = self.factor.values_by_sequence
        found = found[~np.isnan(found)]
        if not found.any():
            return math.nan, math.nan
        return float(found.min()), float(found.max())

    def drift(self, other: Certificate) -> float:
        """Return by how much the factors at two profiles differ: max abs(f / f′ − 1).

        0 for a right averaging rule, whatever the profiles; actions that one of the profiles
        gives no weight are left out.
        """
        mine, yours = self.factor.values_by_sequence, other.factor.values_by_sequence
        known = ~np.isnan(mine) & ~np.isnan(yours)
        with np.errstate(divide="ignore", invalid="ignore"):
            found = float(np.abs(mine[known] / yours[known] - 1).max())
        return 0.0 if found < EXACT else found

    def __repr__(self) -> str:
        low, high = self.factors
        visits = "" if math.isnan(self.nodes) else f", {self.nodes:.2f} histories a walk"
        lines = [
            f"{self.name} on {self.game!r}: {self.paths:,} random paths{visits}",
            f"largest bias    {_number(self.largest_bias)}   "
            f"(largest regret {_number(self.largest_regret)})",
            f"total variance  {_number(self.total_variance)}",
            f"E[ΔS] / π σ     {_number(low)} to {_number(high)}",
        ]
        return "\n".join([*lines, *self._worst_rows()])

    def _worst_rows(self) -> list[str]:
        """Return rows of the actions with the largest bias, then the largest variance."""
        columns = self.exact, self.bias, self.variance, self.factor
        place = _places(sequence_form(self.game))
        found = [(key, *(t.values_by_sequence[q] for t in columns)) for key, q in place.items()]
        found.sort(key=lambda row: (-round(abs(row[2]), 9), -round(row[3], 9)))
        rows = [
            [f"{I} · {action_label(a)}", *map(_number, numbers)]
            for (I, a), *numbers in found[:WORST]
        ]
        head = ["the worst rows", "regret", "bias", "variance", "factor"]
        width = max(len(row[0]) for row in [head, *rows])
        return [
            f"{row[0]:<{width}}" + "".join(f"{x:>10}" for x in row[1:]) for row in [head, *rows]
        ]


def _places(form: SequenceForm) -> dict[tuple[str, Action], int]:
    """Return the sequence of every (infoset, action)."""
    numbers = InfosetTable(form, np.arange(float(form.num_sequences)))
    return {(I, a): int(q) for I in numbers for a, q in numbers[I].items()}


def _number(x: float) -> str:
    return "–" if math.isnan(x) else "0" if abs(x) < EXACT else f"{x:.3g}"


def certify(
    estimator: str | Sampling | MCCFR | SamplingSolver | Walk,
    game: Game | None = None,
    strategy: StrategyLike | None = None,
    *,
    limit: int = 1_000_000,
) -> Certificate:
    """Compute the exact bias and variance of a sampled estimator on a small game.

    All random paths of the estimator are enumerated, for the walks of each player.

    Parameters
    ----------
    estimator : str, Sampling, MCCFR, plain.SamplingSolver or callable
        - a sampling scheme: the package's own walks with their default averaging rule;
        - a run: its scheme, averaging rule, baselines as learned so far and proposal;
        - a solver of :mod:`cfrlib.plain`, or one of your own that inherits from
          `SamplingSolver` and has a `walk` that asks `draw` for every random choice: what is
          certified is what its `run` runs;
        - a function ``walk(i, choose)``: it runs one walk of player i at `strategy` and returns
          what the walk adds to the regrets, ``{(infoset, action): number}``, or a pair of such
          mappings, the second for the strategy sums. It asks ``choose(probabilities)`` for
          every random choice, as in :func:`every_path`.
    game : Game, optional
        A game that compiles; may be omitted for a run or a solver.
    strategy : Strategy or mapping, optional
        The strategy profile; by default uniform, or the current strategy of a run.
    limit : int
        Largest number of random paths of one player's walks.

    Returns
    -------
    Certificate

    Raises
    ------
    ValueError
        If there are more than `limit` paths, the game is missing or does not compile, or a
        function returns an infoset or action that the game does not have.

    Notes
    -----
    Counterfactual regrets as in Lanctot et al. (2009). The variance is that of a single walk;
    a batch of b independent walks divides it by b.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> kuhn = cfr.games.KuhnPoker()
    >>> cfr.certify("external", kuhn).largest_bias
    0.0


    An estimator of the regrets in rock-paper-scissors, which samples the opponent's move:

    >>> rps = cfr.games.RockPaperScissors()
    >>> moves = dict.fromkeys(rps.node(()).actions, 1 / 3)
    >>> def against_one_move(i, choose):
    ...     other = choose(moves)
    ...     ends = {a: rps.node((a, other) if i == 0 else (other, a)) for a in moves}
    ...     paid = {a: end.utilities[i] for a, end in ends.items()}
    ...     return {(f"player {i}", a): paid[a] - sum(paid.values()) / 3 for a in moves}
    >>> found = cfr.certify(against_one_move, rps)
    >>> found.paths, found.largest_bias, round(found.total_variance, 3)
    (6, 0.0, 4.0)

    A solver in plain Python, which can be run as well:

    >>> from cfrlib.plain import ExternalSamplingSolver
    >>> solver = ExternalSamplingSolver(kuhn)
    >>> cfr.certify(solver).largest_bias, round(solver.run(1_000)["Q bet"]["call"], 1)
    (0.0, 0.3)
    """
    if isinstance(estimator, MCCFR | SamplingSolver):
        game = estimator.game
    if game is None:
        raise ValueError("a game is missing: certify(estimator, game, strategy)")
    form = sequence_form(game)
    if isinstance(estimator, MCCFR):
        run = estimator
    elif isinstance(estimator, SamplingSolver) or callable(estimator):
        sigma = form.uniform() if strategy is None else strategy_vector(form, strategy)
        named = getattr(estimator, "__name__", type(estimator).__name__)
        if isinstance(estimator, SamplingSolver):
            estimator = solver_walk(estimator, Strategy.from_vector(form, sigma))
        return _certificate(named, _Function(estimator, form), form, sigma, limit)
    else:
        run = MCCFR(game, sampling=estimator)
    if not run.is_complete:
        raise ValueError(f"certify needs a game that compiles, got {run!r}")
    current = run.current if strategy is None else strategy
    sigma = strategy_vector(form, current)
    name = f"{run.sampling!r}, {run.averaging} averaging"
    if run.baseline is not None:
        name += ", baselines"
    return _certificate(name, KernelWalk(run, sigma), form, sigma, limit)


def solver_walk(solver: SamplingSolver, strategy: Mapping[str, Any]) -> Walk:
    """Return one walk of a solver at a fixed strategy, as a function of player and choices."""

    def walk(i: int, choose: Choose) -> tuple[Sums, Sums]:
        one: Any = copy.copy(solver)
        one.R, one.S = defaultdict(float), defaultdict(float)
        one.match, one.draw = strategy.__getitem__, choose
        del one.rng  # its samples could not be enumerated
        try:
            one.walk((), i)
        except AttributeError as error:
            if error.name == "rng":
                error.add_note("certify enumerates the choices of self.draw(weights): call it")
            raise
        return one.R, one.S

    return walk


class _Function:
    """A reader's function, with its mappings turned into vectors."""

    def __init__(self, walk: Walk, form: SequenceForm):
        self.walk, self.size, self.place = walk, form.num_sequences, _places(form)

    def __call__(self, i: int, choose: Choose) -> Sample:
        """Run the function for player i."""
        found = self.walk(i, choose)
        r, S = found if isinstance(found, tuple) else (found, {})
        return Sample(self.vector(r), self.vector(S), math.nan)

    def vector(self, sums: Sums) -> Floats:
        """Return the numbers by sequence."""
        found = np.zeros(self.size)
        for key, x in sums.items():
            if key not in self.place:
                raise ValueError(
                    f"the walk returned {key!r}; keys are (infoset, action), such as "
                    f"{next(iter(self.place))!r}"
                )
            found[self.place[key]] += x
        return found


def _certificate(
    name: str,
    walk: Callable[[int, Choose], Sample],
    form: SequenceForm,
    sigma: Floats,
    limit: int,
) -> Certificate:
    """Run all walks, and compare their mean with the whole tree."""
    n, players, paths, nodes = form.num_sequences, form.tree.game.num_players, 0, 0.0
    mean, square, total = np.zeros((3, n))
    for i in range(players):
        for p, sample in every_path(partial(walk, i), limit=limit):
            mean += p * sample.regret
            square += p * sample.regret**2
            total += p * sample.total
            nodes += p * sample.nodes / players
            paths += 1
    exact, plan = regrets_of(form, sigma), form.plans(sigma)
    bias, scale = mean - exact, max(np.abs(exact).max(), 1e-300)
    for x in (exact, bias):
        x[np.abs(x) < EXACT * scale] = 0.0
    variance = square - mean**2
    variance[np.abs(variance) < EXACT * np.maximum(square, scale**2)] = 0.0
    plan[form.treeplexes.player_sequences[:-1]] = 0.0  # the empty sequences
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = np.where(plan > 0, total / plan, np.nan)
    tables = (InfosetTable(form, x) for x in (exact, mean, bias, variance, factor))
    return Certificate(name, paths, nodes, *tables)


def regrets_of(form: SequenceForm, sigma: Floats) -> Floats:
    """Return r(I, a) = v(I, a) − v(I) of all players by sequence, from the whole tree."""
    t, v, r = form.treeplexes, form.gradients(form.plans(sigma)), np.zeros(form.num_sequences)
    for i in range(form.tree.game.num_players):
        backup(t, i, sigma, v)
    for start, stop in zip(t.infoset_start, t.infoset_stop, strict=True):
        r[start:stop] = v[start:stop] - sigma[start:stop] @ v[start:stop]
    return r
