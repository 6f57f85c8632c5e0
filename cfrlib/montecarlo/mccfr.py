"""Monte Carlo CFR: regrets estimated from a few histories at a time.

In each iteration, for each player, `batch` independent walks
(:mod:`cfrlib.montecarlo.traversal`) estimate the regrets at the infosets they visit; their mean
is added to the regrets, and regret matching follows (:mod:`cfrlib.montecarlo.updates`). The
estimates are unbiased (Lanctot et al., 2009), but noisy.

To read the algorithm as one recursion, see `ExternalSamplingSolver` and its neighbors in
:mod:`cfrlib.plain`.
"""

from __future__ import annotations

import math
import os
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from functools import cached_property, partial
from typing import Any, ClassVar, Self

import numpy as np

from cfrlib.core.checks import choice, real_number, whole_number
from cfrlib.core.files import Array, Fields, PathLike, Saved
from cfrlib.core.rng import new_key
from cfrlib.core.rules import Rules, rules_of
from cfrlib.core.tree import Floats, check_game
from cfrlib.game import Action, Game
from cfrlib.montecarlo import replicas, updates, workers
from cfrlib.montecarlo.infosets import Infosets
from cfrlib.montecarlo.partial_tree import TreeArrays, records
from cfrlib.montecarlo.rules_walks import RulesBatch
from cfrlib.montecarlo.schemes import (
    Sampling,
    Scheme,
    find_sampling,
    from_file,
    in_file,
    room_to_draw,
)
from cfrlib.montecarlo.state import Sampled, columns, fill_columns
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
        Number of processes, at most 8, that share each batch, through joblib, or of machines of
        its current backend: ``with joblib.parallel_config("dask"): run.run()``; -1 uses all.
        Worth it for batches of many thousand histories. On a game too large to compile, each
        process keeps the strategy in memory, and one process adds up all infosets met: worth
        it there for rules in Python, but not for rules that compile. The numbers stay the same.
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
        self._plant(game, on_demand, proposal)
        self._met: Infosets | None = None  # if the game is too large to compile
        if not self.is_complete:
            self._met = Infosets(game, self._find_rules(), baseline is not None)
            self._tree = self._met
        self.averaging = self._find_averaging(averaging)
        self._run_id = uuid.uuid4().hex  # identifies the run in other processes
        self._settings = self._read_settings(new_key(seed))
        if self._met is None:
            self._tables = updates.new_tables(self._tree, baseline is not None)
            self._lanes = self._new_lanes(self._most_entries(self.sampling))
        else:
            self._tables = self._met.tables(records(1, updates.PROGRESS))
            self._begin_batches()
        self._turn: int | None = None  # next player of an iteration that was interrupted
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        worst = (math.inf, 0.0) if self._measurable else (math.nan, math.nan)
        self._best = Measured(*worst, self._current())

    def _find_rules(self) -> Rules | None:
        """Return the rules that compile, if they can be used."""
        rules = rules_of(self.game)
        return (
            None
            if self.proposal is not None or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"
            else rules
        )

    def _begin_batches(self) -> None:
        """Create the lanes of a game too large to compile."""
        assert self._met is not None
        self._walks = replicas.new_batch(
            self._met, self.proposal, self.sampling, self._settings
        )
        self._start_afresh()

    def _start_afresh(self) -> None:
        """Let workers forget what they know of the run."""
        self._run_id, self._versions = uuid.uuid4().hex, replicas.Versions()

    def _find_averaging(self, averaging: str | None) -> str:
        """Check the averaging rule, or choose one."""
        if averaging == "full" and not self._tree.is_complete:
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

    def _new_lanes(self, entries: int) -> updates.Lanes:
        tree = self._tree
        actions = max([len(actions) for actions in tree.actions_at], default=1)
        width = room_to_draw(self.sampling, actions, self.game)
        learners = self.game.num_players if self.baseline is not None else 0
        self._sizes = entries, len(tree.infosets), len(tree.owner), width, learners
        return updates.new_lanes(min(self.batch, updates.LANES), *self._sizes)

    # ---- iterations --------------------------------------------------------------------------

    def _advance(self, count: int, interrupted: Sequence[int] = ()) -> None:
        """Run `count` iterations, in one kernel if Python is not needed in between."""
        if self._shared or (self._met is None and self._turn is not None):
            super()._advance(count, interrupted)
        elif self._met is None:
            first, arrays = self.iterations + 1, self._tree.arrays
            updates.iterate_batches(
                arrays, self._tables, self._settings, self._lanes, first, count
            )
        elif isinstance(self._walks, RulesBatch):
            self._run_by_rules(self.iterations + count)
        else:
            super()._advance(count, interrupted)

    def _run_by_rules(self, last: int) -> None:
        """Run iterations up to `last` in a kernel that stops only where tables must grow."""
        walks, met = self._walks, self._met
        assert isinstance(walks, RulesBatch) and met is not None
        walks.turn[0] = -1 if self._turn is None else self._turn
        try:
            while walks.run_to(last, self._tables.progress):
                self._tables = met.tables(self._tables.progress)
        except BaseException:
            self._discard()
            raise
        finally:
            self._turn = None if walks.turn[0] < 0 else int(walks.turn[0])

    @property
    def _shared(self) -> bool:
        """Whether batches are shared; sharing small ones would cost more than it saves."""
        steps = max(self.iterations, 1) * self.game.num_players
        large = self.batch > 1 and self.nodes / steps > WORTH_SHARING
        return self.jobs is not None or (self.threads > 1 and large)

    def _warm_up(self) -> None:
        """Compile every kernel that a run uses; change nothing."""
        if self._met is not None:
            self._walks.warm_up(self._tables.progress)
            progress = self._tables.progress.copy()
            updates.begin_iteration(progress, self._settings, 0)
            updates.end_iteration(progress, 0)
            self._apply_batch(0)  # an empty one
            return
        self._advance(0)
        if self.jobs is None:
            return
        progress = self._tables.progress.copy()
        updates.begin_iteration(progress, self._settings, 0)
        updates.end_iteration(progress, 0)
        self._apply_batch(0)  # an empty one

    def _iterate(self, t: int) -> None:
        """Run iteration t: for each player in turn, run a batch of walks and apply it."""
        if self._turn is None:  # otherwise resume an iteration that failed
            updates.begin_iteration(self._tables.progress, self._settings, t)
            self._turn = 0
        players, alternating = self.game.num_players, self.update == "alternating"
        for i in range(self._turn, players):
            self._walk(t, i)
            if alternating:
                self._apply_batch(i)
                self._turn = i + 1
        if not alternating:
            self._apply_batch(-1)
        updates.end_iteration(self._tables.progress, t)
        self._turn = None

    def _walk(self, t: int, i: int) -> None:
        """Run all walks of player i. If one fails, discard them all: a retry repeats them."""
        try:
            self._sample_batch(t, i)
        except BaseException:  # unsound rules, a lost worker, Ctrl-C
            if self._met is None:
                for n in range(len(self._lanes.walk)):
                    updates.clear(self._tree.infosets, updates.lane_of(self._lanes, n))
            else:
                self._discard()
            raise

    def _discard(self) -> None:
        """Discard all walks of a batch."""
        assert self._met is not None
        self._walks.discard()
        self._start_afresh()

    def _apply_batch(self, i: int) -> None:
        if self._met is None:
            state = self._tree.arrays, self._tables, self._settings, self._lanes
            updates.apply_batch(*state, i)
            return
        walks, before = self._walks, self._met.num_infosets
        try:
            walks.merge()
        except BaseException:
            self._discard()
            raise
        self._tables = self._met.tables(self._tables.progress)
        if self.jobs is not None:
            self._versions.record(self._met, walks.touched, before, i)
        threads = self.threads if self._shared and self.jobs is None else 1
        walks.apply(self._tables, i, threads, self._pool if threads > 1 else None)

    def _sample_batch(self, t: int, i: int) -> None:
        """Run all walks of player i."""
        if self.jobs is not None:
            self._sample_in_processes(t, i)
        elif self._met is not None:
            threads = self.threads if self._shared else 1
            self._walks.sample(t, i, threads, self._pool if threads > 1 else None)
        else:
            others = self._pool.map(
                partial(self._sample_in_thread, t, i), range(1, self.threads)
            )
            self._sample_in_thread(t, i, 0)
            list(others)  # wait for them, and raise their errors

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max(self.threads - 1, 1), "cfrlib")

    def _sample_in_thread(self, t: int, i: int, first: int) -> None:
        """Run the walks of one thread."""
        arrays = self._tree.arrays
        updates.sample_batch(
            arrays, self._tables, self._settings, self._lanes, t, i, first, self.threads
        )
        updates.merge(arrays.infosets, self._lanes, first, self.threads)

    def _sample_in_processes(self, t: int, i: int) -> None:
        """Run the walks in other processes."""
        assert self.jobs is not None
        if self._met is not None:
            setup = replicas.Setup(
                self.game,
                self.proposal,
                self.sampling,
                self.baseline is not None,
                self._met.rules is not None,
                self._settings,
            )
            parts = replicas.collect(
                self.jobs, self._run_id, setup, self._met, self._versions, t, i
            )
            for part in parts:
                self._walks.add(part)
            return
        task = workers.Task(
            run_id=self._run_id,
            game=self.game,
            proposal=self.proposal,
            settings=self._settings,
            sizes=self._sizes,
            lanes=len(self._lanes.walk),
            first=0,
            step=1,
            t=t,
            i=i,
        )
        sigma = np.array(self._tables.table.sigma)
        for result in workers.collect(self.jobs, task, sigma, self._tables.baseline):
            workers.add_result(self._tree.infosets, self._lanes, result)

    # ---- results -----------------------------------------------------------------------------

    def _average(self) -> Floats:
        if self.averaging != "lazy":
            return super()._average()
        settled = Sampled.copy(self)
        updates.settle(self._tree.arrays, settled._tables, self._tree.num_infosets)
        return Sampled._average(settled)

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
        other = super().copy()
        other.__dict__.pop("_pool", None)
        if self._met is None:
            other._lanes = updates.Lanes._make(array.copy() for array in self._lanes)
        else:
            other._met = other._tree = self._met.copy()
            other._tables = other._met.tables(other._tables.progress)
            other._begin_batches()
        other._rows = [list(row) for row in self._rows]
        return other

    def kernel_arguments(
        self,
    ) -> tuple[TreeArrays, updates.Tables, updates.Settings, updates.Lanes]:
        """Return copies of what the kernels of a walk read and write; see `certify`."""
        tables = updates.Tables._make(table.copy() for table in self._tables)
        lanes = updates.Lanes._make(array[:1].copy() for array in self._lanes)
        return self._tree.copy().arrays, tables, self._settings, lanes

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
            "on_demand": not self._tree.is_complete,
        }

    @classmethod
    def _read_options(cls, options: Fields, game: Game) -> Fields:
        proposal = _named_proposal(game, options["proposal"])
        return {**options, "sampling": from_file(options["sampling"]), "proposal": proposal}

    def _numbers(self) -> Fields:
        return {"key": int(self._settings.key), "turn": self._turn}

    def _state(self) -> dict[str, Array]:
        tree, (table, last_update, progress, baseline) = self._tree, self._tables
        q, n = tree.num_sequences, tree.num_infosets
        return {
            **columns("table", table, q),
            **columns("last_update", last_update, n),
            **columns("progress", progress, 1),
            "baseline": baseline[:, :q],
            **({} if self._met is None else self._met.state()),
        }

    def _restore(self, file: Saved) -> None:
        tree = self._tree
        if self._met is not None:
            self._met.restore(file)
            self._tables = self._met.tables(self._tables.progress)
        table, last_update, progress, baseline = self._tables
        fill_columns(file, "table", table, tree.num_sequences)
        fill_columns(file, "last_update", last_update, tree.num_infosets)
        fill_columns(file, "progress", progress, 1)
        file.fill(baseline=baseline[:, : tree.num_sequences])
        self._settings = self._read_settings(np.uint64(file.header["key"]))
        self._turn = file.header["turn"]
        if self._met is not None:
            self._begin_batches()

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
