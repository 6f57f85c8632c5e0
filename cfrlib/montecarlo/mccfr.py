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
from cfrlib.core.rng import begin, new_key
from cfrlib.core.tree import Floats, check_game
from cfrlib.game import Action, Game
from cfrlib.montecarlo import updates, workers
from cfrlib.montecarlo.partial_tree import TreeArrays, grown
from cfrlib.montecarlo.schemes import (
    Sampling,
    Scheme,
    find_sampling,
    from_file,
    in_file,
    room_to_draw,
)
from cfrlib.montecarlo.state import Sampled, columns, fill_columns
from cfrlib.montecarlo.traversal import descend, enter
from cfrlib.regret import Variant, find_variant
from cfrlib.run import Measured, Run

WORTH_SHARING = 20_000  # histories per batch; with fewer, starting threads costs more


class MCCFR(Sampled, Run):
    """A run of Monte Carlo CFR that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game. The tree of a game too large to compile is expanded on demand: it holds only
        the histories visited, and exploitability is not known.
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
        Runs with the same seed give the same numbers, with any number of threads.
    threads : int, optional
        Number of threads that share a large batch; by default, the number of processors.
    jobs : int, optional
        Number of processes that share each batch, through joblib, or of machines of its current
        backend: ``with joblib.parallel_config("dask"): run.run()``; -1 uses all. Worth it for
        batches of many thousand histories. The numbers stay the same.
    on_demand : bool, optional
        Whether to expand the tree during the walks. By default only if the game does not
        compile.

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
        self.jobs = None if jobs is None else whole_number("jobs", jobs, -1)
        self.update = choice("update", update, ("alternating", "simultaneous"))
        self.baseline = None if baseline is None else real_number("baseline", baseline, 0, 1)
        self._plant(game, on_demand, proposal)
        self.averaging = self._find_averaging(averaging)
        if jobs == 0 or (jobs is not None and not self._tree.is_complete):
            raise ValueError(
                "jobs must be at least 1, or -1, and needs a game that compiles, because every "
                f"process compiles it; got jobs={jobs!r}, {self._tree!r}"
            )
        self._run_id = uuid.uuid4().hex  # identifies the run in other processes
        self._tables = updates.new_tables(self._tree, baseline is not None)
        self._lanes = self._new_lanes(self._most_entries(self.sampling))
        self._settings = self._read_settings(new_key(seed))
        self._turn: int | None = None  # next player of an iteration that was interrupted
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        self._best = Measured(math.inf, 0.0, self._current())

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
        """Run `count` iterations, in one kernel if the tree is complete and nothing shared."""
        if not self._tree.is_complete or self._shared or self._turn is not None:
            super()._advance(count, interrupted)
        else:
            first, arrays = self.iterations + 1, self._tree.arrays
            updates.iterate_batches(
                arrays, self._tables, self._settings, self._lanes, first, count
            )

    @property
    def _shared(self) -> bool:
        """Whether batches are shared; sharing small ones would cost more than it saves."""
        steps = max(self.iterations, 1) * self.game.num_players
        large = self.batch > 1 and self.nodes / steps > WORTH_SHARING
        return self.jobs is not None or (self.threads > 1 and large)

    def _warm_up(self) -> None:
        """Compile every kernel that a run uses; change nothing."""
        self._advance(0)
        if self._tree.is_complete and self.jobs is None:
            return
        if not self._tree.is_complete:
            arrays, lane = self._tree.arrays, updates.lane_of(self._lanes, 0)
            descend(arrays, self._tables.table, self._settings.scheme, 0, lane, 0, 0)
            updates.ascend(arrays, self._tables, self._settings.rule, 0, lane, 0)
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
            for n in range(len(self._lanes.walk)):
                updates.clear(self._tree.infosets, updates.lane_of(self._lanes, n))
            raise

    def _apply_batch(self, i: int) -> None:
        updates.apply_batch(self._tree.arrays, self._tables, self._settings, self._lanes, i)

    def _sample_batch(self, t: int, i: int) -> None:
        """Run all walks of player i."""
        if not self._tree.is_complete:
            self._sample_and_expand(t, i)
        elif self.jobs is not None:
            self._sample_in_processes(t, i)
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

    def _sample_and_expand(self, t: int, i: int) -> None:
        """Run all walks of a batch; expand histories at their first visit."""
        settings, lanes = self._settings, len(self._lanes.walk)
        for j in range(lanes):
            for number in range(j, self.batch, lanes):
                begin(self._lanes.state[j], settings.key, t, i, number)
                enter(self._lanes.walk[j, 0], 0, 1.0, 1.0, 1.0)
                done, n = 0, 1
                while done < n:
                    arrays, table = self._tree.arrays, self._tables.table
                    lane = updates.lane_of(self._lanes, j)
                    done, n = descend(arrays, table, settings.scheme, i, lane, done, n)
                    if done < n:
                        self._make_room(int(lane.walk[done].node), n)
                updates.ascend(arrays, self._tables, settings.rule, i, lane, n)

    def _make_room(self, k: int, entries: int) -> None:
        """Expand history k if necessary, and grow the arrays that are too short for it."""
        tree, before = self._tree, self._tree.num_infosets
        if tree.is_unknown(k):
            tree.expand(k)
        if tree.num_infosets > before:
            self._tables = updates.grow_tables(self._tables, tree, before)
            self._grow_lanes()
        entries += int(tree.nodes[k].num_children)
        if entries > self._lanes.walk.shape[1]:
            self._lanes = self._lanes._replace(walk=grown(self._lanes.walk, entries, axis=1))

    def _grow_lanes(self) -> None:
        """Grow the lanes where they are too short for the infosets expanded so far."""
        tree, lanes = self._tree, self._lanes
        infosets, sequences = len(tree.infosets), len(tree.owner)
        width = room_to_draw(self.sampling, len(tree.actions_at[-1]), self.game)
        self._lanes = lanes._replace(
            scratch=grown(lanes.scratch, width, axis=2),
            sampled_regret=grown(lanes.sampled_regret, sequences, axis=1),
            sums=grown(lanes.sums, infosets, axis=1),
            estimates=grown(
                lanes.estimates, sequences if lanes.estimates.shape[2] else 0, axis=2
            ),
        )

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
        other._lanes = updates.Lanes._make(array.copy() for array in self._lanes)
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
    def load(cls, path: PathLike, game: Game, *, threads: int | None = None) -> MCCFR:
        """Return the run saved in `path`, ready to continue exactly where it stopped.

        The file of a tree expanded on demand holds the infosets, but not the histories: the
        tree is expanded again, and until an infoset is visited again, its actions are only
        known by their labels.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        if threads is not None:
            whole_number("threads", threads, 1)
        return cls._load(path, game, threads=threads)

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
        parents = {} if tree.is_complete else {"parents": tree.infosets.parent[:n].copy()}
        return {
            **columns("table", table, q),
            **columns("last_update", last_update, n),
            **columns("progress", progress, 1),
            "baseline": baseline[:, :q],
            **parents,
        }

    def _restore(self, file: Saved) -> None:
        tree = self._tree
        if not tree.is_complete:
            rows = file.header["infosets"]
            tree.restore(rows, file.array("parents", (len(rows),), np.int32))
            self._tables = updates.new_tables(tree, self.baseline is not None)
            self._lanes = self._new_lanes(1)
        table, last_update, progress, baseline = self._tables
        fill_columns(file, "table", table, tree.num_sequences)
        fill_columns(file, "last_update", last_update, tree.num_infosets)
        fill_columns(file, "progress", progress, 1)
        file.fill(baseline=baseline[:, : tree.num_sequences])
        self._settings = self._read_settings(np.uint64(file.header["key"]))
        self._turn = file.header["turn"]

    def _ordered_proposal(self) -> list[float] | None:
        """Return the proposal in the order of the outcomes."""
        if self.proposal is None:
            return None
        node: Any = self.game.node(self.game.root())
        return [float(self.proposal[a]) for a in node.actions]


def _named_proposal(game: Game, proposal: list[float] | None) -> dict[Action, float] | None:
    """Return the proposal of a file as a mapping."""
    if proposal is None:
        return None
    node: Any = game.node(game.root())
    return dict(zip(node.actions, proposal, strict=True))
