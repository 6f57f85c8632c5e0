"""Monte Carlo CFR: the same regrets, estimated from a few histories at a time.

For each player of an iteration, `batch` independent walks
(:mod:`cfrlib.montecarlo.traversal`) estimate the regrets of the infosets they meet; their mean
is added, regret matching follows (:mod:`cfrlib.montecarlo.updates`). On average over the walks
this is CFR (Lanctot et al., 2009): it is unbiased, but noisy.
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

from cfrlib.core import schema
from cfrlib.core.checks import whole_number
from cfrlib.core.files import Arrays, Format, Header, PathLike, Saved, require
from cfrlib.core.rng import begin, new_key
from cfrlib.core.tree import Floats, check_game
from cfrlib.game import Action, Game
from cfrlib.montecarlo import workers
from cfrlib.montecarlo.partial_tree import grown
from cfrlib.montecarlo.schemes import (
    SCHEME,
    SCHEMES,
    Sampling,
    Scheme,
    find_sampling,
    room_to_draw,
)
from cfrlib.montecarlo.state import Compiled, OnDemand, Sampled
from cfrlib.montecarlo.traversal import descend, enter
from cfrlib.montecarlo.updates import (
    AVERAGING,
    LANES,
    MEMORY,
    Lanes,
    Settings,
    apply_batch,
    ascend,
    clear,
    close_iteration,
    grow_tables,
    iterate,
    lane_of,
    merge,
    new_lanes,
    new_tables,
    open_iteration,
    sample,
    settle,
)
from cfrlib.regret import Variant, find_variant
from cfrlib.run import Measured, Run
from cfrlib.solution import BEST, HEADER, TRACE
from cfrlib.strategy import SIGMA, check_rows

_LOGARITHM = schema.number(most=0, infinite=True)  # of discounts
_HEADER: schema.Schema = {
    **HEADER,
    "update": schema.one_of("alternating", "simultaneous"),
    "best": BEST,
    "batch": schema.integer(1),
    "averaging": schema.one_of(*AVERAGING),
    "baseline": schema.optional(schema.number(0, 1)),
    "sampling": SCHEME,
    "proposal": schema.optional(schema.list_of(schema.number(0, 1))),
    "key": schema.integer(0, 2**64 - 1),
    "ledger": schema.tuple_of(
        schema.integer(),
        schema.integer(),
        schema.number(0),
        schema.number(0),
        schema.number(0, 1),
        schema.number(0, 1),
        *[_LOGARITHM] * 4,
    ),
    "turn": schema.optional(schema.integer()),
}
_ARRAYS = {
    "regret": schema.Array(("sequences",)),
    "sigma": SIGMA,
    "total": schema.Array(("sequences",), schema.sums),
    "memory": schema.Array(
        (3, "infosets"), lambda m: schema.sums(m[0]) and bool((m[1:] <= 0).all())
    ),
    "baseline": schema.Array(("players", "learned")),
    "trace": TRACE,
}
RUN_FILE = Format("cfrlib.MCCFR 2", "run", "MCCFR.save", _HEADER, {**_ARRAYS, "best": SIGMA})
PARTIAL_FILE = Format(
    "cfrlib.MCCFR explored 2",
    "run",
    "MCCFR.save",
    {
        **_HEADER,
        "infosets": schema.list_of(
            schema.tuple_of(schema.integer(), schema.text, schema.list_of(schema.text, 1))
        ),
    },
    {**_ARRAYS, "parents": schema.Array(("infosets",), schema.integers(0, 2**31 - 1))},
)
_OPTIONS = ("batch", "averaging", "baseline", "update", "delay")
WORTH_SHARING = 20_000  # histories in a batch; with fewer, waking a thread takes longer


class MCCFR(Sampled, Run):
    """A run of Monte Carlo CFR that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game. The tree of a game too large to compile is expanded on demand: it holds only
        the histories that walks have met, and exploitability is not known.
    variant : str or Variant
        As for :class:`CFR`. Discounts of iterations that did not meet an infoset are applied
        when it is next met. "cfr+" and "pcfr+" clip noise as well as regret: see chapter 8.
    sampling : str or Sampling
        ``"external"``, ``"outcome"`` (ε = 0.6), ``"chance"``, or ``OutcomeSampling(epsilon)``,
        ``RobustSampling(k, epsilon)``.
    batch : int
        Walks for each player in each iteration; their mean is one update.
    averaging : str, optional
        How the average strategy is added up (t: iteration, w: its weight t^γ):

        - ``"opponent"``: at the opponent's nodes of a walk, w · σ / Π ρ. Unbiased up to a
          constant for each infoset; two players only, for whom it is the default.
        - ``"lazy"``: an infoset that is met adds all that Σ w · π_i(I) has grown by since the
          last time. Exact, for any number of players; the default beyond two.
        - ``"full"``: w times the whole plan, once an iteration: the same, at the price of a
          pass over all infosets. Only for games that compile.
        - ``"stochastic"``: at the traverser's nodes, w · π_i(I) · σ / Pr[the walk gets here].
          Leaves out histories that opponents do not play to, so it is biased.
        - ``"optimistic"``: as "lazy", as if π_i(I) had not changed since. Biased.
        - ``"own"``: at the traverser's nodes, w · π_i(I) · σ. The default for chance
          sampling, where it is right. Otherwise biased: by how likely the opponents get here.
    baseline : float, optional
        Step size of the baselines (VR-MCCFR): running means of each action's estimated value,
        which are subtracted as control variates; 0 never learns. Without, there are none.
    proposal : mapping from action to float, optional
        Probabilities, all above 0, with which the first event of chance is sampled instead of
        its own; estimates are weighted by the ratio, so they stay unbiased.
    update : str
        ``"alternating"`` or ``"simultaneous"``, as for :class:`CFR`.
    delay : int
        As for :class:`CFR`.
    seed : int, optional
        Two runs with the same seed give the same numbers, however many threads they use.
    threads : int, optional
        How many to share a large batch out to; by default, as many as there are processors.
    jobs : int, optional
        Share batches out to so many processes instead, through joblib, or to the machines of
        its current backend: ``with joblib.parallel_config("dask"): run.run()``; -1 takes all
        there are. It pays for batches of many thousand nodes. The numbers stay the same.
    on_demand : bool, optional
        Whether to expand the tree as the walks go. By default only if the game does not
        compile.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is not accepted; the message says what is.

    Notes
    -----
    Sources: Lanctot et al. (2009); robust sampling, mini-batches and MCCFR+ are those of
    Li et al. (2020), corrected; the baselines are those of Schmid et al. (2019).

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
    FILES: ClassVar[tuple[Format, ...]] = (RUN_FILE, PARTIAL_FILE)

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
        self.update, self.baseline = update, baseline
        if update not in ("alternating", "simultaneous"):
            raise ValueError(
                f'unknown update {update!r}; choose "alternating" or "simultaneous"'
            )
        if baseline is not None and not 0 <= baseline <= 1:
            raise ValueError(f"baseline must lie between 0 and 1, got {baseline!r}")
        self.averaging = self._find_averaging(averaging)
        if not self._can_share(jobs):
            raise ValueError(
                "jobs must be at least 1, or -1, and every process must know the whole game, "
                f"so it must compile; got jobs={jobs!r}, {self._known!r}"
            )
        self._token = uuid.uuid4().hex  # names the run to other processes
        self._tables = new_tables(self._known, baseline is not None)
        self._lanes = self._new_lanes(self._most_entries(self.sampling))
        self._settings = self._read_settings(new_key(seed))
        self._turn: int | None = None  # whose turn it is in an iteration that was begun
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        self._best = Measured(math.inf, 0.0, self._current())

    def _find_averaging(self, averaging: str | None) -> str:
        """Return how to add up the average, if that is known and possible."""
        if averaging is None:
            if self.sampling.everyone:
                return "own"
            return "opponent" if self.game.num_players == 2 else "lazy"
        if averaging not in AVERAGING:
            raise ValueError(f"unknown averaging {averaging!r}; choose one of {AVERAGING}")
        if averaging == "opponent" and self.game.num_players != 2:
            raise ValueError(
                f'averaging="opponent" is for two players, {self.game!r} has '
                f"{self.game.num_players}: what an infoset adds would depend on the strategies "
                'of third players; choose "lazy"'
            )
        return averaging

    def _can_share(self, jobs: int | None) -> bool:
        """Return whether batches can be shared out to so many processes."""
        return jobs != 0

    def _read_settings(self, key: np.uint64) -> Settings:
        v = self.variant
        return Settings(
            Scheme.of(self.sampling),
            AVERAGING.index(self.averaging), self.batch, self.update == "alternating",
            *v.exponents, v.predictive, self.delay,
            float(self.baseline or 0.0), key,
        )  # fmt: skip

    def _new_lanes(self, entries: int) -> Lanes:
        known = self._known
        actions = max([len(actions) for actions in known.actions_at], default=1)
        self._sizes = (
            entries, len(known.infosets), len(known.owner),
            room_to_draw(self.sampling, actions, self.game),
            self.game.num_players if self.baseline is not None else 0,
        )  # fmt: skip
        return new_lanes(min(self.batch, LANES), *self._sizes)

    # ---- iterations --------------------------------------------------------------------------

    def _warm_up(self) -> None:
        """Compile every kernel that a run will use, without any effect."""
        super()._warm_up()
        ledger = self._tables.ledger.copy()
        open_iteration(ledger, self._settings, 0)
        close_iteration(ledger, 0)
        self._apply_batch(0)  # which is empty

    def _iterate(self, t: int) -> None:
        """Run iteration t: for each player in turn, take a batch of walks and apply it."""
        if self._turn is None:  # else it was begun, and failed
            open_iteration(self._tables.ledger, self._settings, t)
            self._turn = 0
        players, alternating = self.game.num_players, self.update == "alternating"
        for i in range(self._turn, players):
            self._walk(t, i)
            if alternating:
                self._apply_batch(i)
                self._turn = i + 1
        if not alternating:
            self._apply_batch(-1)
        close_iteration(self._tables.ledger, t)
        self._turn = None

    def _walk(self, t: int, i: int) -> None:
        """Take all walks of player i. If one fails, discard them: a new try repeats them."""
        try:
            self._take(t, i)
        except BaseException:  # unsound rules, a lost worker, an impatient user
            for n in range(len(self._lanes.walk)):
                clear(self._known.infosets, lane_of(self._lanes, n))
            raise

    def _apply_batch(self, i: int) -> None:
        apply_batch(self._known.arrays, self._tables, self._settings, self._lanes, i)

    def _take(self, t: int, i: int) -> None:
        """Take all walks of player i."""
        raise NotImplementedError

    # ---- results -----------------------------------------------------------------------------

    def _average(self) -> Floats:
        if self.averaging != "lazy":
            return super()._average()
        settled = Sampled.copy(self)
        settle(self._known.arrays, settled._tables, self._known.num_infosets)
        return Sampled._average(settled)

    @property
    def _describe(self) -> str:
        parts = [f"{self.sampling!r}", f"batch {self.batch:,}", f"{self.averaging} averaging"]
        if self.baseline is not None:
            parts.append(f"baseline {self.baseline:g}")
        if self.proposal is not None:
            parts.append("first event of chance drawn from a proposal")
        return ", ".join(parts)

    def __repr__(self) -> str:
        return (
            f"MCCFR({self.game!r}, {self.variant.name!r}, {self._describe}) after "
            f"{self.iterations:,} iterations, {self.nodes:,} nodes"
        )

    def copy(self) -> Self:
        """Return a run that stands where this one does and goes its own way from here."""
        other = super().copy()
        other.__dict__.pop("_pool", None)
        other._lanes = Lanes._make(array.copy() for array in self._lanes)
        other._rows = [list(row) for row in self._rows]
        return other

    # ---- files -------------------------------------------------------------------------------

    @classmethod
    def load(cls, path: PathLike, game: Game, *, threads: int | None = None) -> MCCFR:
        """Return the run saved in `path`, ready to continue exactly where it stopped.

        Of a tree expanded on demand, only the infosets are in the file, not the histories:
        the tree is expanded anew, and until an infoset is met again its actions are known by
        their labels.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game.
        """
        if threads is not None:
            whole_number("threads", threads, 1)
        return cls._load(path, game, threads=threads)

    @classmethod
    def _from_header(cls, file: Saved, game: Game, **options: Any) -> Self:
        header = file.header
        name, parameters = header["sampling"]
        return cls(
            game,
            Variant(**header["variant"]),
            sampling=SCHEMES[name](**parameters),
            proposal=_first_chance(game, header["proposal"]),
            on_demand=file.kind is PARTIAL_FILE,
            **{option: header[option] for option in _OPTIONS},
            **options,
        )

    def _pack(self) -> tuple[Header, Arrays]:
        header, arrays = super()._pack()
        known, (table, memory, ledger, baseline) = self._known, self._tables
        q, n = known.num_sequences, known.num_infosets
        header |= {
            "sampling": [type(self.sampling).__name__, asdict(self.sampling)],
            **{name: getattr(self, name) for name in _OPTIONS},
            "proposal": self._drawn_first(),
            "key": int(self._settings.key),
            "ledger": list(ledger[0].item()),
            "turn": self._turn,
        }
        arrays |= {name: np.array(table[name][:q]) for name in ("regret", "sigma", "total")}
        arrays["memory"] = np.array([memory[name][:n] for name in MEMORY.fields or ()])
        arrays["baseline"] = baseline[:, :q]
        return header, arrays

    def _drawn_first(self) -> list[float] | None:
        """Return the proposal in the order of the outcomes."""
        if self.proposal is None:
            return None
        node: Any = self.game.node(self.game.root())
        return [float(self.proposal[a]) for a in node.actions]

    @property
    def _more_sizes(self) -> dict[str, int]:
        """Sizes of arrays that a file of another kind of run holds besides."""
        return {}

    def _read(self, file: Saved) -> Arrays:
        """Return the arrays of a file, for which there is room in the tables then."""
        raise NotImplementedError

    def _unpack(self, file: Saved) -> Arrays:
        header, arrays, known = file.header, self._read(file), self._known
        infosets = known.infosets[: known.num_infosets]
        for name in arrays.keys() & {"sigma", "best"}:
            check_rows(infosets.start, infosets.stop, arrays[name])
        done, nodes, _, weights, *_ = header["ledger"]
        require(
            float(arrays["memory"][0].max(initial=0.0)) <= max(1.0, 1.001 * weights), "memory"
        )
        require(done == header["iterations"], "ledger")
        require((header["turn"] or 0) <= self.game.num_players, "turn")
        self._settings = self._read_settings(np.uint64(header["key"]))
        table, memory, ledger, baseline = self._tables
        for field in ("regret", "sigma", "total"):
            table[field][: len(arrays[field])] = arrays[field]
        for field, row in zip(MEMORY.fields or (), arrays["memory"], strict=True):
            memory[field][: len(row)] = row
        ledger[0] = tuple(header["ledger"])
        baseline[:, : arrays["baseline"].shape[1]] = arrays["baseline"]
        self._turn = header["turn"]
        self._unpack_trace(header, arrays, nodes)
        return arrays


class CompiledMCCFR(Compiled, MCCFR):
    """Monte Carlo CFR on a compiled tree: batches are shared out to threads or processes."""

    def _advance(self, count: int, interrupted: Sequence[int] = ()) -> None:
        """Run `count` iterations, at once if nobody else is asked."""
        if self._shared or self._turn is not None:
            super()._advance(count, interrupted)
        else:
            first, tree = self.iterations + 1, self._known.arrays
            iterate(tree, self._tables, self._settings, self._lanes, first, count)

    def _warm_up(self) -> None:
        if self.jobs is None:
            self._advance(0)
        else:
            super()._warm_up()

    @property
    def _shared(self) -> bool:
        """Whether a batch is shared out; walking a small one takes less time than that."""
        steps = max(self.iterations, 1) * self.game.num_players
        large = self.batch > 1 and self.nodes / steps > WORTH_SHARING
        return self.jobs is not None or (self.threads > 1 and large)

    def _take(self, t: int, i: int) -> None:
        if self.jobs is not None:
            self._ask(t, i)
        else:
            others = self._pool.map(partial(self._sample, t, i), range(1, self.threads))
            self._sample(t, i, 0)
            list(others)  # wait for them, and raise what they raise

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(max(self.threads - 1, 1), "cfrlib")

    def _sample(self, t: int, i: int, first: int) -> None:
        """Take the walks of one thread."""
        tree = self._known.arrays
        sample(tree, self._tables, self._settings, self._lanes, t, i, first, self.threads)
        merge(tree.infosets, self._lanes, first, self.threads)

    def _ask(self, t: int, i: int) -> None:
        """Have other processes take the walks."""
        assert self.jobs is not None
        task = workers.Task(
            self._token, self.game, self.proposal, self._settings, self._sizes,
            len(self._lanes.walk), 0, 1, t, i,
        )  # fmt: skip
        sigma = np.array(self._tables.table.sigma)
        for answer in workers.ask(self.jobs, task, sigma, self._tables.baseline):
            workers.put(self._known.infosets, self._lanes, answer)

    # ---- files -------------------------------------------------------------------------------

    def _pack(self) -> tuple[Header, Arrays]:
        header, arrays = super()._pack()
        return header, arrays | {"best": self._best.sigma}

    def _read(self, file: Saved) -> Arrays:
        known = self._known
        learned = 0 if self.baseline is None else known.num_sequences
        sizes = {"infosets": known.num_infosets, "learned": learned, **self._more_sizes}
        return file.arrays(**sizes)


class OnDemandMCCFR(OnDemand, MCCFR):
    """Monte Carlo CFR on a tree that is expanded as the walks go, one after the other."""

    def _find_averaging(self, averaging: str | None) -> str:
        if averaging == "full":
            raise ValueError(
                'averaging="full" passes over all infosets, and most are not known of a game '
                'that is explored on the way; choose "lazy", which adds up the same'
            )
        return super()._find_averaging(averaging)

    def _can_share(self, jobs: int | None) -> bool:
        return jobs is None

    def _warm_up(self) -> None:
        tree, tables, settings = self._known.arrays, self._tables, self._settings
        lane = lane_of(self._lanes, 0)
        descend(tree, tables.table, settings.scheme, 0, lane, 0, 0)
        ascend(tree, tables, settings.rule, 0, lane, 0)
        super()._warm_up()

    def _take(self, t: int, i: int) -> None:
        """Take all walks of a batch, expanding histories not met before."""
        settings, lanes = self._settings, len(self._lanes.walk)
        for each in range(lanes):
            for number in range(each, self.batch, lanes):
                begin(self._lanes.state[each], settings.key, t, i, number)
                enter(self._lanes.walk[each, 0], 0, 1.0, 1.0, 1.0)
                done, n = 0, 1
                while done < n:
                    tree, table = self._known.arrays, self._tables.table
                    lane = lane_of(self._lanes, each)
                    done, n = descend(tree, table, settings.scheme, i, lane, done, n)
                    if done < n:
                        self._make_room(int(lane.walk[done].node), n)
                ascend(tree, self._tables, settings.rule, i, lane, n)

    def _make_room(self, k: int, entries: int) -> None:
        """Expand history k if need be, and grow the arrays that it makes too short."""
        known, before = self._known, self._known.num_infosets
        if known.is_unknown(k):
            known.expand(k)
        if known.num_infosets > before:
            self._tables = grow_tables(self._tables, known, before)
            self._grow_lanes()
        entries += int(known.nodes[k].num_children)
        if entries > self._lanes.walk.shape[1]:
            self._lanes = self._lanes._replace(walk=grown(self._lanes.walk, entries, axis=1))

    def _grow_lanes(self) -> None:
        """Make the lanes longer where they are too short for the infosets known by now."""
        known, lanes = self._known, self._lanes
        infosets, sequences = len(known.infosets), len(known.owner)
        width = room_to_draw(self.sampling, len(known.actions_at[-1]), self.game)
        self._lanes = lanes._replace(
            scratch=grown(lanes.scratch, width, axis=2),
            gain=grown(lanes.gain, sequences, axis=1),
            sums=grown(lanes.sums, infosets, axis=1),
            told=grown(lanes.told, sequences if lanes.told.shape[2] else 0, axis=2),
        )

    # ---- files -------------------------------------------------------------------------------

    def _pack(self) -> tuple[Header, Arrays]:
        header, arrays = super()._pack()
        known = self._known
        parents = known.infosets.parent[: known.num_infosets]
        return header, arrays | {"parents": parents.astype(np.float64)}

    def _read(self, file: Saved) -> Arrays:
        known, met = self._known, file.header["infosets"]
        found = known.num_sequences + sum(len(actions) for _, _, actions in met)
        learned = 0 if self.baseline is None else found
        sizes = {"sequences": found, "infosets": len(met), "learned": learned}
        arrays = file.arrays(**sizes)
        known.restore(met, arrays["parents"].astype(np.int32))
        self._tables = new_tables(known, self.baseline is not None)
        self._lanes = self._new_lanes(1)
        return arrays


MCCFR.KINDS = (CompiledMCCFR, OnDemandMCCFR)


def _first_chance(game: Game, drawn: list[float] | None) -> dict[Action, float] | None:
    """Return a proposal that was read from a file."""
    if drawn is None:
        return None
    node: Any = game.node(game.root())
    return dict(zip(node.actions, drawn, strict=True))
