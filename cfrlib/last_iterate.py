"""Methods whose current strategy is of interest, on the sequence form: chapter 15.

CFR returns an average, because its current strategy may cycle. The methods here are built, or
suspected, to make the current strategy itself converge. Each is a few numbers, as a
:class:`cfrlib.Variant` is. There are two families.

`RegretMatching` stores regrets at each infoset, like CFR: R ← P(R + r), and the next strategy
is proportional to [R + λ r]⁺. P clips negative regrets and may *lift* small ones: it adds the
same number to all entries until the vector has at least a given size. Extragradient steps and
regularization change what r is computed from.

`MirrorDescent` stores a strategy only. Bottom-up, at each infoset, it maximizes
Σ_a σ(a) v(a) − (w/η) KL(σ ‖ start) − w τ KL(σ ‖ magnet), where w is the weight of the infoset
in the dilated entropy.

The passes over the tree are those of :mod:`cfrlib.core.sequence`. `cfrlib.solve` runs both
families; with them, `until` limits the exploitability of the current strategy.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import choice, real_number, whole_number
from cfrlib.core.files import Array, Fields, PathLike, Saved
from cfrlib.core.jit import kernel
from cfrlib.core.sequence import (
    SequenceForm,
    Treeplexes,
    behavior,
    gradient,
    realize,
    sequence_form,
)
from cfrlib.core.tree import Floats
from cfrlib.game import Game
from cfrlib.regret import Method
from cfrlib.run import Measured, Run
from cfrlib.strategy import Strategy

__all__ = ["Curve", "Iterates", "MirrorDescent", "RegretMatching", "follow"]


class LastIterate(Method):
    """What both families have in common."""

    alternating: bool
    look_ahead: str
    stage: int

    @property
    def name(self) -> str:  # type: ignore[override]
        """The settings that differ from their defaults."""
        mine: Any = self
        changed = [
            f"{field.name}={x!r}"
            for field in fields(mine)
            if (x := getattr(self, field.name)) != field.default and field.name != "alternating"
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    @property
    def update(self) -> str:
        """The order of updates, as for `CFR`."""
        return "alternating" if self.alternating else "simultaneous"

    def run_on(self, game: Game, **options: Any) -> Run:
        """Return a new run of the method, for `solve`."""
        method: Any = self
        return Iterates(game, method, **options)


@dataclass(frozen=True)
class RegretMatching(LastIterate):
    """Regret matching at every infoset, with the repairs that help its last iterate.

    Parameters
    ----------
    floor : bool
        Whether negative regrets are clipped (RM+).
    prediction : float
        λ: the next strategy matches R + λ r. 0 predicts nothing, 1 is PRM+.
    least : float
        The sum of the stored regrets is at least this (smooth RM+, with step size 1/`least`).
    keep_norm : bool
        Whether the Euclidean norm of the stored regrets may not fall (after IREG-PRM+).
    look_ahead : str
        ``"none"``, or ``"extragradient"``: r comes from a trial step, of which only the
        strategy is used.
    mu : float
        μ: weight of −μ/2 · ‖x − reference‖² in the payoff, x a realization plan (RTCFR+).
    stage : int
        Every `stage` iterations the current plan becomes the reference, and γ halves; 0: never.
    gamma : float
        γ: the smallest probability of an action in the first stage.
    alternating : bool
        Whether player 1 sees player 0's new strategy.

    Raises
    ------
    ValueError
        If a number is out of range or `look_ahead` is unknown.

    Notes
    -----
    Sources: Farina, Kroer & Sandholm (2021) for λ = 1, Farina et al. (2023) for `least` and
    the extragradient, Zhang, Anagnostides & Sandholm (2025) for the idea of `keep_norm` (the
    lift is ours), Meng et al. (2025) for `mu`, `stage` and `gamma`.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> smooth = RegretMatching(prediction=1.0, least=1.0)  # smooth PRM+
    >>> curve = follow(cfr.games.KuhnPoker(), smooth, [1_000])
    >>> bool(curve.average < 0.01)
    True
    """

    floor: bool = True
    prediction: float = 0.0
    least: float = 0.0
    keep_norm: bool = False
    look_ahead: str = "none"
    mu: float = 0.0
    stage: int = 100
    gamma: float = 0.0
    alternating: bool = False

    def __post_init__(self) -> None:
        for name in ("prediction", "least", "mu"):
            real_number(name, getattr(self, name))
        real_number("gamma", self.gamma, 0, 1)
        choice("look_ahead", self.look_ahead, ("none", "extragradient"))
        whole_number("stage", self.stage, 0)


@dataclass(frozen=True)
class MirrorDescent(LastIterate):
    """Mirror descent on the sequence form with dilated entropy.

    Parameters
    ----------
    eta : float
        η, the step size.
    tau : float
        τ: strength of the pull toward the magnet.
    look_ahead : str
        ``"none"``; ``"extragradient"``: the gradient comes from a trial step (mirror prox);
        ``"optimistic"``: a step with 2 g(now) − g(before).
    stage : int
        Every `stage` iterations the current strategy becomes the magnet; 0: it stays uniform.
    alternating : bool
        Whether player 1 sees player 0's new strategy.

    Raises
    ------
    ValueError
        If a number is out of range or `look_ahead` is unknown.

    Notes
    -----
    Sources: Nemirovski (2004) for the extragradient, Hoda et al. (2010) for the dilated
    entropy, Sokota et al. (2023) for the magnet.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> prox = MirrorDescent(eta=2.0, look_ahead="extragradient")  # mirror prox
    >>> curve = follow(cfr.games.KuhnPoker(), prox, [1_000])
    >>> bool(curve.last < 0.01)
    True
    """

    eta: float
    tau: float = 0.0
    look_ahead: str = "none"
    stage: int = 0
    alternating: bool = False

    def __post_init__(self) -> None:
        real_number("eta", self.eta, above=True)
        real_number("tau", self.tau)
        choice("look_ahead", self.look_ahead, ("none", "extragradient", "optimistic"))
        whole_number("stage", self.stage, 0)


LastIterateMethod: TypeAlias = RegretMatching | MirrorDescent


class MethodRule(NamedTuple):
    """The numbers of `RegretMatching` that the kernel reads."""

    floor: bool
    prediction: float
    least: float
    keep_norm: bool


# ---- kernels ---------------------------------------------------------------------------------


@kernel
def lift(z: Floats, least: float, power: int) -> None:
    """Replace z by [z + s]⁺ with the smallest s ≥ 0 whose p-norm is at least `least`.

    Newton's method from the right: the norm to the power p is convex in s.
    """
    low, size, target = z[0], 0.0, least**power
    for a in range(len(z)):
        low = min(low, z[a])
        size += max(z[a], 0.0) ** power
    s = 0.0
    if size < target:
        s = least - low
        for _ in range(100):
            size, slope = 0.0, 0.0
            for a in range(len(z)):
                y = max(z[a] + s, 0.0)
                size += y**power
                if y > 0.0:
                    slope += power * y ** (power - 1)
            step = (size - target) / slope
            s -= step
            if step <= 1e-15 * abs(s):
                break
    for a in range(len(z)):
        z[a] = max(z[a] + s, 0.0)


@kernel
def regret_step(
    form: Treeplexes,
    player: int,
    v: Floats,
    played: tuple[Floats, Floats],
    regret: tuple[Floats, Floats],
    sigma: Floats,
    rule: MethodRule,
) -> None:
    """At each infoset, bottom-up: R ← P(R + r), and σ matches R + λ r.

    `v` holds the gradient and becomes the counterfactual values. `played` are two strategies:
    the one that matched the regrets, to which r is relative, and the one in which each action
    has at least γ, whose value is passed up. `regret` holds R before and after, which may be
    the same array.
    """
    matched, perturbed = played
    before, after = regret
    for I in range(form.player_infosets[player + 1] - 1, form.player_infosets[player] - 1, -1):
        start, stop = form.infoset_start[I], form.infoset_stop[I]
        value, upward, norm = 0.0, 0.0, 0.0
        for q in range(start, stop):
            value += matched[q] * v[q]
            upward += perturbed[q] * v[q]
            norm += before[q] * before[q]
        for q in range(start, stop):
            after[q] = before[q] + v[q] - value
        if rule.floor:
            if rule.keep_norm:
                lift(after[start:stop], math.sqrt(norm), 2)
            else:
                lift(after[start:stop], rule.least, 1)
        for q in range(start, stop):
            sigma[q] = after[q] + rule.prediction * (v[q] - value)
        lift(sigma[start:stop], rule.least, 1)
        total = 0.0
        for q in range(start, stop):
            total += sigma[q]
        for q in range(start, stop):
            sigma[q] = sigma[q] / total if total > 0.0 else 1.0 / (stop - start)
        v[form.infoset_parent[I]] += upward


@kernel
def mirror_step(
    form: Treeplexes,
    player: int,
    v: Floats,
    anchors: tuple[Floats, Floats],
    sigma: Floats,
    weight: Floats,
    strengths: tuple[float, float],
) -> None:
    """At each infoset, bottom-up, maximize Σ σ v − (w/η) KL(σ ‖ start) − w τ KL(σ ‖ magnet).

    The maximum is passed up; `anchors` are the start and the magnet.
    """
    eta, tau = strengths
    begin, magnet = anchors
    share = 1.0 / (1.0 + eta * tau)
    for I in range(form.player_infosets[player + 1] - 1, form.player_infosets[player] - 1, -1):
        start, stop = form.infoset_start[I], form.infoset_stop[I]
        scale, top = weight[I] * (1.0 / eta + tau), -math.inf
        for q in range(start, stop):  # logarithms, so that nothing overflows
            sigma[q] = share * math.log(begin[q]) + v[q] / scale
            if tau > 0.0:
                sigma[q] += (1.0 - share) * math.log(magnet[q])
            top = max(top, sigma[q])
        total = 0.0
        for q in range(start, stop):
            sigma[q] = math.exp(sigma[q] - top)
            total += sigma[q]
        for q in range(start, stop):
            sigma[q] /= total
        v[form.infoset_parent[I]] += scale * (top + math.log(total))


# ---- runs ------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """Exploitability at some iterations of a run.

    Attributes
    ----------
    iterations : int array, shape (checkpoints,)
    last, average, best : float arrays, shape (checkpoints,)
        Exploitability of the current strategy, of the average strategy, and the smallest one
        of a current strategy at any checkpoint so far.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> curve = follow(cfr.games.KuhnPoker(), RegretMatching(), [10, 100, 1_000])
    >>> curve.iterations
    array([  10,  100, 1000])
    >>> bool((curve.best <= curve.last).all())
    True
    """

    iterations: npt.NDArray[np.int64]
    last: Floats
    average: Floats
    best: Floats


class Iterates(Run):
    """A run of one of the methods that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
    method : RegretMatching or MirrorDescent
    weight : float
        Iteration t counts t to this power in the average strategy.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If `method` is none of the two, or `weight` is negative.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> run = Iterates(cfr.games.KuhnPoker(), RegretMatching(prediction=1, alternating=True))
    >>> cfr.exploitability(run.game, run.run(1_000).current) < 1e-12
    True
    >>> run.copy().run(10).iterations, run.iterations  # the copy is independent
    (1010, 1000)

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/kuhn.npz")
    ...     again = Iterates.load(f"{folder}/kuhn.npz", run.game)
    >>> again.run(10).current == run.run(10).current
    True
    """

    METHOD, UNIT = "last iterate", "gradients"
    variant: LastIterateMethod
    _form: SequenceForm

    def __init__(self, game: Game, method: LastIterateMethod, *, weight: float = 1.0):
        if not isinstance(method, (RegretMatching, MirrorDescent)):
            raise ValueError(
                "a method is RegretMatching(...) or MirrorDescent(...) of "
                f"cfrlib.last_iterate, got {method!r}"
            )
        self.game, self.variant, self.weight = game, method, real_number("weight", weight)
        self.update, self.delay = method.update, 0
        self._iterations, self.seconds = 0, 0.0
        self._form = form = sequence_form(game)
        self._uniform, size = form.uniform(), form.num_sequences
        self._sigma, self._played = self._uniform.copy(), self._uniform.copy()
        self._plan = form.plans(self._played)
        self._trial, self._v, self._sum = self._uniform.copy(), np.zeros(size), np.zeros(size)
        self._own = [slice(*b) for b in pairwise(form.treeplexes.player_sequences.tolist())]
        if isinstance(method, RegretMatching):
            self._reference, self._least = self._plan.copy(), float(method.gamma)
            self._regret, self._unused = method.least * self._uniform, np.zeros(size)
            numbers = float(method.prediction), float(method.least)
            self._rule = MethodRule(bool(method.floor), *numbers, bool(method.keep_norm))
        else:
            self._magnet, self._weights = self._uniform.copy(), entropy_weights(form)
            self._before, self._least = form.gradients(self._plan), 0.0
        self._rows: list[list[float]] = []
        self._best = Measured(math.inf, 0.0, self._played.copy())

    def _iterate(self, t: int) -> None:
        players = tuple(range(self._form.num_players))
        groups = [(i,) for i in players] if self.variant.alternating else [players]
        for group in groups:
            self._update(group, float(t) ** self.weight)
        if self.variant.stage and t % self.variant.stage == 0:
            self._next_stage()
        self._iterations = t

    @property
    def iterations(self) -> int:
        """Iterations done so far."""
        return self._iterations

    @property
    def gradients(self) -> int:
        """Player-gradients so far: one for each update, one for each trial step."""
        each = 2 if self.variant.look_ahead == "extragradient" else 1
        return self._iterations * self._form.num_players * each

    @property
    def current(self) -> Strategy:
        """The current strategy, which is the last iterate."""
        return self._strategy(self._current())

    @property
    def average(self) -> Strategy:
        """The weighted average of the strategies at which regrets or gradients were taken."""
        return self._strategy(self._average())

    @property
    def regrets(self) -> Floats:
        """The stored regrets by sequence; of `RegretMatching` only."""
        return self._regret.copy()

    def _average(self) -> Floats:
        sigma = np.empty(self._form.num_sequences)
        behavior(self._form.treeplexes, self._sum, sigma)
        return sigma

    def _current(self) -> Floats:
        return self._played.copy()

    _aim = _current  # `until` limits the exploitability of the last iterate

    def _strategy(self, sigma: Floats) -> Strategy:
        return Strategy.from_vector(self._form, sigma)

    @property
    def _gamma(self) -> float:
        return self.weight

    @property
    def _caveat(self) -> str:
        return " if the method and its settings allow it"

    def copy(self) -> Iterates:
        """Return an independent copy of the run in its present state."""
        other = copy.copy(self)
        for name, x in vars(self).items():
            if isinstance(x, np.ndarray):
                setattr(other, name, x.copy())
        other._rows = [list(row) for row in self._rows]
        return other

    def __repr__(self) -> str:
        return (
            f"Iterates({self.game!r}, {self.variant!r}, weight={self.weight:g}) after "
            f"{self.iterations:,} iterations"
        )

    # ---- files -------------------------------------------------------------------------------

    FORMAT = "cfrlib.Iterates 1"

    @classmethod
    def load(cls, path: PathLike, game: Game) -> Iterates:
        """Return the run saved in `path`, ready to continue exactly where it stopped.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        return cls._load(path, game)

    @property
    def _labels(self) -> SequenceForm:
        return self._form

    def _options(self) -> Fields:
        return {"method": self.variant.described(), "weight": self.weight}

    @classmethod
    def _read_options(cls, options: Fields, game: Game) -> Fields:
        return {**options, "method": Method.read(options["method"])}

    def _state(self) -> dict[str, Array]:
        state = {"sigma": self._sigma, "played": self._played, "sum": self._sum}
        if isinstance(self.variant, RegretMatching):
            return {**state, "regret": self._regret, "reference": self._reference}
        return {**state, "magnet": self._magnet, "before": self._before}

    def _numbers(self) -> Fields:
        return {"iterations": self._iterations, "least": self._least}

    def _restore(self, file: Saved) -> None:
        file.fill(**self._state())
        self._plan = self._form.plans(self._played)
        self._iterations, self._least = file.header["iterations"], file.header["least"]

    # ---- an iteration ------------------------------------------------------------------------

    def _update(self, group: tuple[int, ...], weight: float) -> None:
        """Update some players, who do not see each other's new strategies."""
        form, x, sigma, played = self._form.treeplexes, self._plan, self._sigma, self._played
        if self.variant.look_ahead == "extragradient":
            self._step(group, x, (sigma, played), self._trial, trial=True)
            x, sigma, played = x.copy(), self._trial, self._trial
            for i in group:
                realize(form, i, self._trial, x)
        for i in group:
            own = self._own[i]
            self._sum[own] += weight * x[own]
        self._step(group, x, (sigma, played), self._sigma, trial=False)
        for i in group:
            own = self._own[i]
            self._played[own] = self._sigma[own]
            if self._least:  # each action gets γ
                self._played[own] += self._least * (1.0 - self._sigma[own] / self._uniform[own])
            realize(form, i, self._played, self._plan)

    def _step(
        self,
        group: tuple[int, ...],
        x: Floats,
        at: tuple[Floats, Floats],
        to: Floats,
        trial: bool,
    ) -> None:
        """Write the players' next strategies into `to`, given gradients at the plans `x`."""
        form, method, v = self._form.treeplexes, self.variant, self._v
        for i in group:
            gradient(form, i, x, v)
        for i in group:
            own = self._own[i]
            if isinstance(method, RegretMatching):
                if method.mu:
                    v[own] -= method.mu * (x[own] - self._reference[own])
                regrets = self._regret, self._unused if trial else self._regret
                regret_step(form, i, v, at, regrets, to, self._rule)
            else:
                if method.look_ahead == "optimistic":
                    now = v[own].copy()
                    v[own] += now - self._before[own]
                    self._before[own] = now
                strengths = float(method.eta), float(method.tau)
                mirror_step(
                    form, i, v, (self._sigma, self._magnet), to, self._weights, strengths
                )

    def _next_stage(self) -> None:
        """Move the reference or the magnet to the current strategy."""
        if isinstance(self.variant, RegretMatching):
            self._reference, self._least = self._plan.copy(), self._least / 2.0
        else:
            self._magnet = self._sigma.copy()


def entropy_weights(form: SequenceForm) -> Floats:
    """Return the weight of each infoset in the dilated entropy, shape (infosets,).

    1 plus the largest sum of the weights of the infosets right after one of its actions, so
    that an infoset counts for at least as much as all that follows it.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> set(entropy_weights(sequence_form(cfr.games.KuhnPoker())).tolist())
    {1.0, 2.0}
    """
    t = form.treeplexes
    below = np.zeros(form.num_sequences)  # summed weights of the infosets after each sequence
    weight = np.empty(len(t.infoset_parent))
    for I in reversed(range(len(weight))):
        weight[I] = 1.0 + below[t.infoset_start[I] : t.infoset_stop[I]].max()
        below[t.infoset_parent[I]] += weight[I]
    return weight


def follow(
    game: Game, method: LastIterateMethod, checkpoints: Iterable[int], *, weight: float = 1.0
) -> Curve:
    """Run a method and evaluate it at iterations of your choice.

    Parameters
    ----------
    game : Game
    method : RegretMatching or MirrorDescent
    checkpoints : iterable of int
        Iterations, ascending.
    weight : float
        Iteration t counts t to this power in the average strategy.

    Returns
    -------
    Curve

    Examples
    --------
    >>> import cfrlib as cfr
    >>> curve = follow(cfr.games.RockPaperScissors(), RegretMatching(), [1, 10])
    >>> curve.last  # the uniform start is the equilibrium
    array([0., 0.])
    """
    run, marks = Iterates(game, method, weight=weight), np.array(list(checkpoints), np.int64)
    rows = []
    for t in marks.tolist():
        if t > run.iterations:
            run.run(t - run.iterations, progress=False)
        found = map(run._measure, (run._current(), run._average()))
        rows.append([each.exploitability for each in found])
    last, average = np.array(rows).T
    return Curve(marks, last, average, np.minimum.accumulate(last))
