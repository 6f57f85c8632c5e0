"""Monte Carlo CFR: regrets estimated from a few histories at a time.

In each iteration, for each player, `batch` independent walks
(:mod:`cfrlib.montecarlo.traversal`) estimate the regrets at the infosets they visit; their mean
is added to the regrets, and regret matching follows (:mod:`cfrlib.montecarlo.updates`). The
estimates are unbiased (Lanctot et al., 2009), but noisy.

To read the algorithm as one recursion, see `ExternalSamplingSolver` and its neighbors in
:mod:`cfrlib.plain`.
"""

from __future__ import annotations

import copy
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from cfrlib import wings
from cfrlib.core.checks import choice, real_number, whole_number
from cfrlib.core.files import Array, Fields, Mismatch, PathLike, Saved
from cfrlib.core.rng import new_key
from cfrlib.core.tree import Floats, check_game
from cfrlib.game import Action, Game
from cfrlib.montecarlo import updates
from cfrlib.montecarlo.batch import TreeBatch
from cfrlib.montecarlo.schemes import Sampling, Scheme, find_sampling, from_file, in_file
from cfrlib.montecarlo.state import Sampled, columns, read_columns
from cfrlib.regret import Variant, find_variant
from cfrlib.run import Measured, Run

WORTH_SHARING = 20_000  # histories per batch; with fewer, starting threads costs more


class MCCFR(Sampled, Run):
    """A run of Monte Carlo CFR that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game. One too large to compile has tables of the infosets that walks met, and
        exploitability is not known; with :class:`cfrlib.Rules`, its rules run compiled.
    variant : str or Variant
        As for :class:`CFR`. Discounts of iterations that did not visit an infoset are applied
        at its next visit. "cfr+" and "pcfr+" clip noise as well as regret: see chapter 8.
    sampling : str or Sampling
        ``"external"``, ``"outcome"`` (ε = 0.6), ``"chance"``, or ``OutcomeSampling(epsilon)``,
        ``RobustSampling(k, epsilon)``.
    batch : int
        Walks per player and iteration; an update uses their mean.
    averaging : str, optional
        What is added to the strategy sum (w: weight t^γ of iteration t):

        - ``"opponent"``: at the opponent's infosets on a walk, w · σ / Π ρ. Unbiased up to a
          constant for each infoset; for two players only, where it is the default.
        - ``"lazy"``: at an infoset visited, by how much Σ w · π_i(I) has grown since its last
          visit, times σ. Exact for any number of players; the default for more than two.
        - ``"full"``: w times the whole realization plan, once per iteration. The same result
          as "lazy", but a pass over all infosets. Only for games that compile.
        - ``"stochastic"``: at the traverser's infosets, w · π_i(I) · σ / Pr[the walk reaches
          the history]. Biased: omits histories that opponents do not play to.
        - ``"optimistic"``: like "lazy", as if π_i(I) had not changed since. Biased.
        - ``"own"``: at the traverser's infosets, w · π_i(I) · σ. Correct for chance sampling,
          where it is the default; otherwise biased by the opponents' reach probabilities.
    baseline : float, optional
        Step size of the baselines (VR-MCCFR): running means of each action's estimated value,
        which are subtracted as control variates. 0 never updates them; None, the default, uses
        no baselines.
    proposal : mapping from action to float, optional
        Sampling probabilities, all above 0, of the first chance event, in place of its own;
        importance weights keep the estimates unbiased.
    update : str
        ``"alternating"`` or ``"simultaneous"``, as for :class:`CFR`.
    delay : int
        As for :class:`CFR`.
    seed : int, optional
        Runs with the same seed give the same numbers, with any number of threads and processes.
    threads : int, optional
        Number of threads that share a large batch; by default, the number of processors.
    jobs : int, optional
        For games too large to compile: number of processes, at most 8, that share each batch,
        through joblib, or of machines of its current backend: ``with
        joblib.parallel_config("dask"): run.run()``; -1 uses all. Each process keeps the
        strategy in memory, and one process adds up all infosets met: worth it for rules in
        Python, but not for rules that compile. The numbers stay the same.
    on_demand : bool, optional
        Whether to do without the tree, and to enter infosets at their first visit. By default
        only if the game does not compile. The numbers are the same.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is not accepted; the message says what is.

    Notes
    -----
    The algorithm is that of Lanctot et al. (2009); robust sampling, mini-batches and MCCFR+
    follow Li et al. (2020), with corrections; baselines follow Schmid et al. (2019).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> run = cfr.MCCFR(cfr.games.KuhnPoker(), sampling="external", seed=0)
    >>> run.run(10_000).solution().exploitability < 0.02
    True

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/kuhn.npz")
    ...     again = cfr.MCCFR.load(f"{folder}/kuhn.npz", run.game)
    >>> again.run(10).average == run.run(10).average
    True
    """

    METHOD = "MCCFR"
    variant: Variant
    FORMAT: ClassVar[str] = "cfrlib.MCCFR 4"

    def __init__(
        self,
        game: Game,
        variant: str | Variant = "cfr",
        *,
        sampling: str | Sampling = "external",
        batch: int = 1,
        averaging: str | None = None,
        baseline: float | None = None,
        proposal: Mapping[Action, float] | None = None,
        update: str = "alternating",
        delay: int = 0,
        seed: int | None = None,
        threads: int | None = None,
        jobs: int | None = None,
        on_demand: bool | None = None,
    ):
        check_game(game)
        self.variant = find_variant(variant)
        self.sampling, self.proposal = find_sampling(sampling), proposal
        self.batch = whole_number("batch", batch, 1)
        self.delay = whole_number("delay", delay, 0)
        self.threads = whole_number(
            "threads", os.cpu_count() if threads is None else threads, 1
        )
        self.jobs = _check_jobs(jobs)
        self.update = choice("update", update, ("alternating", "simultaneous"))
        self.baseline = None if baseline is None else real_number("baseline", baseline, 0, 1)
        self._plant(game, on_demand)
        self.averaging = self._find_averaging(averaging)
        self._settings = self._read_settings(new_key(seed))
        self._walks = self._new_walks()
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        worst = (math.inf, 0.0) if self._measurable else (math.nan, math.nan)
        self._best = Measured(*worst, self._current())

    def _new_walks(self) -> Any:
        """Return lanes and tables: a `TreeBatch`, or what the wing for larger games has."""
        setup = self.game, self.proposal, self.sampling, self._settings
        with_baseline = self.baseline is not None
        if self.is_complete:
            if self.jobs is not None:
                raise Mismatch(  # no fault of the file, if there is one
                    f"jobs= is for games too large to compile, and {self.game!r} compiles; "
                    f"share its batches among threads, threads={os.cpu_count()}"
                )
            return TreeBatch(*setup, with_baseline)
        if self.jobs is None:
            return wings.load("RulesBatch")(*setup, with_baseline)
        return wings.load("SharedBatch")(self.jobs, (*setup, with_baseline))

    @property
    def _tree(self) -> Any:
        return self._walks.tree

    @property
    def _tables(self) -> updates.Tables:  # type: ignore[override]
        tables: updates.Tables = self._walks.tables
        return tables

    def _find_averaging(self, averaging: str | None) -> str:
        """Check the averaging rule, or choose one."""
        if averaging == "full" and not self.is_complete:
            raise ValueError(
                'averaging="full" passes over all infosets, but a tree that is expanded on '
                'demand holds only those visited; choose "lazy", which has the same result'
            )
        if averaging is None:
            if self.sampling.expands_opponents:
                return "own"
            return "opponent" if self.game.num_players == 2 else "lazy"
        choice("averaging", averaging, updates.AVERAGING)
        if averaging == "opponent" and self.game.num_players != 2:
            raise ValueError(
                f'averaging="opponent" is for two players, {self.game!r} has '
                f"{self.game.num_players}: the weight of an infoset would depend on the "
                'strategies of third players; choose "lazy"'
            )
        return averaging

    def _read_settings(self, key: np.uint64) -> updates.Settings:
        alpha, beta, gamma = self.variant.exponents
        return updates.Settings(
            scheme=Scheme.of(self.sampling),
            rule=updates.AVERAGING.index(self.averaging),
            batch=self.batch,
            alternating=self.update == "alternating",
            alpha=alpha,
            beta=beta,
            gamma=gamma,
            prediction=self.variant.prediction,
            delay=self.delay,
            decay=float(self.baseline or 0.0),
            key=key,
        )

    # ---- iterations --------------------------------------------------------------------------

    def _advance(self, count: int, interrupted: Sequence[int] = ()) -> None:
        """Run `count` iterations, in one kernel if Python is not needed in between."""
        if self._walks.one_by_one or self._in_threads:
            super()._advance(count, interrupted)
        else:
            self._walks.run_to(self.iterations + count)

    @property
    def _in_threads(self) -> bool:
        """Whether threads share batches; sharing small ones would cost more than it saves."""
        steps = max(self.iterations, 1) * self.game.num_players
        large = self.batch > 1 and self.nodes / steps > WORTH_SHARING
        return self.threads > 1 and large

    def _warm_up(self) -> None:
        """Compile every kernel that a run uses; change nothing."""
        self._walks.warm_up()

    def _iterate(self, t: int) -> None:
        """Run iteration t: for each player in turn, run a batch of walks and apply it."""
        walks, alternating = self._walks, self.update == "alternating"
        if walks.turn[0] < 0:  # otherwise resume an iteration that failed
            updates.begin_iteration(self._tables.progress, self._settings, t)
            walks.turn[0] = 0
        threads = self.threads if self._in_threads else 1
        pool = self._pool if threads > 1 else None
        for i in range(int(walks.turn[0]), self.game.num_players):
            walks.sample(t, i, threads, pool)
            if alternating:
                self._apply_batch(i, threads, pool)
                walks.turn[0] = i + 1
        if not alternating:
            self._apply_batch(-1, threads, pool)
        updates.end_iteration(self._tables.progress, t)
        walks.turn[0] = -1

    def _apply_batch(self, i: int, threads: int = 1, pool: Executor | None = None) -> None:
        """Update the tables of player i, or with i = -1 of all."""
        self._walks.apply(i, threads, pool)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max(self.threads - 1, 1), "cfrlib")

    # ---- results -----------------------------------------------------------------------------

    def _average(self) -> Floats:
        if self.averaging != "lazy":
            return super()._average()
        settled = updates.Tables._make(table.copy() for table in self._tables)
        updates.add_overdue(self._tree.arrays, settled, self._tree.num_infosets)
        return self._normalized(settled)

    @property
    def _describe(self) -> str:
        parts = [f"{self.sampling!r}", f"batch {self.batch:,}", f"{self.averaging} averaging"]
        if self.baseline is not None:
            parts.append(f"baseline {self.baseline:g}")
        if self.proposal is not None:
            parts.append("first chance event sampled from a proposal")
        return ", ".join(parts)

    def __repr__(self) -> str:
        return (
            f"MCCFR({self.game!r}, {self.variant.name!r}, {self._describe}) after "
            f"{self.iterations:,} iterations, {self.nodes:,} nodes"
        )

    def copy(self) -> Self:
        """Return an independent copy of the run and its state."""
        other = copy.copy(self)
        other.__dict__.pop("_pool", None)
        other._walks = self._walks.copy()
        other._rows = [list(row) for row in self._rows]
        return other

    # ---- files -------------------------------------------------------------------------------

    @classmethod
    def load(
        cls, path: PathLike, game: Game, *, threads: int | None = None, jobs: int | None = None
    ) -> MCCFR:
        """Return the run saved in `path`, ready to continue exactly where it stopped.

        `threads` and `jobs` are as for a new run: files do not hold them.

        The file of a game too large to compile holds the infosets met. With rules in Python
        their actions are only known by their labels until they are visited again.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        if threads is not None:
            whole_number("threads", threads, 1)
        return cls._load(path, game, threads=threads, jobs=_check_jobs(jobs))

    def _options(self) -> Fields:
        return {
            "variant": asdict(self.variant),
            "sampling": in_file(self.sampling),
            "batch": self.batch,
            "averaging": self.averaging,
            "baseline": self.baseline,
            "proposal": self._ordered_proposal(),
            "update": self.update,
            "delay": self.delay,
            "on_demand": not self.is_complete,
        }

    @classmethod
    def _read_options(cls, options: Fields, game: Game) -> Fields:
        proposal = _named_proposal(game, options["proposal"])
        return {**options, "sampling": from_file(options["sampling"]), "proposal": proposal}

    def _numbers(self) -> Fields:
        turn = int(self._walks.turn[0])
        return {"key": int(self._settings.key), "turn": None if turn < 0 else turn}

    def _state(self) -> dict[str, Array]:
        tree, (table, last_update, progress, baseline) = self._tree, self._tables
        q, n = tree.num_sequences, tree.num_infosets
        return {
            **columns("table", table, q),
            **columns("last_update", last_update, n),
            **columns("progress", progress, 1),
            "baseline": baseline[:, :q],
            **self._walks.state(),
        }

    def _restore(self, file: Saved) -> None:
        self._settings = self._read_settings(np.uint64(file.header["key"]))
        self._walks = self._new_walks()
        self._walks.restore(file)
        tree, (table, last_update, progress, baseline) = self._tree, self._tables
        read_columns(file, "table", table, tree.num_sequences)
        read_columns(file, "last_update", last_update, tree.num_infosets)
        read_columns(file, "progress", progress, 1)
        file.fill(baseline=baseline[:, : tree.num_sequences])
        turn = file.header["turn"]
        self._walks.turn[0] = -1 if turn is None else turn

    def _ordered_proposal(self) -> list[float] | None:
        """Return the proposal in the order of the outcomes."""
        if self.proposal is None:
            return None
        node: Any = self.game.node(self.game.root())
        return [float(self.proposal[a]) for a in node.actions]


def _check_jobs(jobs: int | None) -> int | None:
    """Return the number of processes, checked."""
    if jobs == 0:
        raise ValueError("jobs must be at least 1, or -1 for all processors; got 0")
    return None if jobs is None else whole_number("jobs", jobs, -1)


def _named_proposal(game: Game, proposal: list[float] | None) -> dict[Action, float] | None:
    """Return the proposal of a file as a mapping."""
    if proposal is None:
        return None
    node: Any = game.node(game.root())
    return dict(zip(node.actions, proposal, strict=True))
