"""Deep CFR: Monte Carlo CFR whose tables are networks.

In iteration t, walks of player i say at each infoset I they meet what every action would have
won over the strategy played: an estimate of its advantage. A memory keeps a fair sample of what
all walks so far have said. A new network is trained on it, rows weighted by their iterations,
so that it predicts their mean,

    D(I, a) ≈ Σ_t t · r̃_t(I, a) / Σ_t t ,

which is what linear CFR's regret would be, but for a factor that depends on I alone and that
regret matching does not see (Brown, Lerer, Gross & Sandholm, 2019). Regret matching of D is
the next strategy; where no advantage is above 0, the action with the largest one is played.

The average strategy is what a second kind of network learns from a memory of strategies. Or
nothing is learned: a mixture plays one of the strategies of the run, t with probability
∝ t, chosen before each game (Single Deep CFR: Steinberger, 2019).
"""

from __future__ import annotations

import hashlib
import math
import time
from dataclasses import asdict

import jax
import numpy as np
import numpy.typing as npt

from cfrlib import files
from cfrlib.batches import Known
from cfrlib.deep.features import Features, encode
from cfrlib.deep.memory import Memory, Singles, new_memory
from cfrlib.deep.networks import Learner, Training
from cfrlib.deep.walks import Desk, collect
from cfrlib.explored import Explored, records
from cfrlib.files import Arrays, Header, Kind, PathLike
from cfrlib.game import Game
from cfrlib.regret import find_variant
from cfrlib.run import Measured, Run, deferred_interrupt, whole_number
from cfrlib.sampling import (
    ENTRY,
    LINE,
    ROWS,
    SCHEMES,
    SEQUENCE,
    Sampling,
    Scheme,
    find_sampling,
    most_entries,
    new_key,
    room_to_draw,
)
from cfrlib.sequence import SequenceForm, behavior, sequence_form
from cfrlib.solution import DEEP, Trace, check_run
from cfrlib.strategy import InfosetTable, Regrets, Strategy, check_probabilities
from cfrlib.tree import Floats, Tree

AVERAGES = ("network", "mixture")
_OPTIONS = ("traversals", "memory", "baseline")
RUN_FILE = Kind(
    "cfrlib.deep.DeepCFR 1", "run", "DeepCFR.save", vectors=("sigma", "total", "best"),
    tables=("baseline", "trace", "networks", "rows"),
)  # fmt: skip


class DeepCFR(Run):
    """A run of Deep CFR that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game that compiles. A network answers for all its infosets at once.
    traversals : int
        Walks of each player in each iteration.
    sampling : str or Sampling
        As for :class:`cfrlib.MCCFR`; external, as in the paper, by default.
    average : str
        - ``"network"``: what a network has learned from all strategies played, as in the
          paper. Trained when it is asked for. Two players only.
        - ``"mixture"``: a strategy of the run chosen before each game (Single Deep CFR), as
          exact probabilities. For any number of players.
    advantage, strategy : Training
        How the two kinds of networks are trained.
    memory : int
        Rows of each memory.
    baseline : float, optional
        With a baseline, walks are corrected by what each action was worth before, an average
        that moves this share of the way to each new iteration. For outcome and robust sampling.
    features : float array, shape (infosets, inputs), optional
        What a network sees of each infoset, in the order of ``cfrlib.compile(game)``. Left out:
        what the game's own method ``features(labels)`` says, if it has one, else the words of
        the label (:func:`cfrlib.deep.encode`).
    seed : int, optional
        Two runs with the same seed give the same numbers on the same kind of processor.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is not accepted; the message says what is.

    Notes
    -----
    Sources: Brown, Lerer, Gross & Sandholm (2019); the mixture is that of Steinberger (2019).
    Advantages are learned in units of the largest payoff.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> run = cfr.deep.DeepCFR(cfr.games.KuhnPoker(), traversals=500, seed=0)
    >>> run.run(30).solution().exploitability < 0.05
    True
    """

    _form: SequenceForm

    def __init__(
        self,
        game: Game,
        *,
        traversals: int = 1_000,
        sampling: str | Sampling = "external",
        average: str = "network",
        advantage: Training | None = None,
        strategy: Training | None = None,
        memory: int = 1_000_000,
        baseline: float | None = None,
        features: npt.ArrayLike | None = None,
        seed: int | None = None,
    ):
        self.game, self._form = game, sequence_form(game)
        tree = self._form.tree
        self.sampling = find_sampling(sampling)
        self.traversals = whole_number("traversals", traversals, 1)
        self.memory = whole_number("memory", memory, 1)
        self.average_by, self.baseline = _check_average(average, game), baseline
        if baseline is not None and not 0 <= baseline <= 1:
            raise ValueError(f"baseline must lie between 0 and 1, got {baseline!r}")
        self.advantage, self.strategy = advantage or Training(), strategy or Training()
        self.variant, self.update, self.delay = find_variant("linear"), "alternating", 0
        self._known = Explored.of(tree)
        self._legal = _legal(tree)
        self._features = _check_features(features, tree)
        self._given = None if features is None else _digest(self._features)
        self._learner = Learner(self._features, self._legal, self.advantage)
        self._distiller = Learner(self._features, self._legal, self.strategy, True)
        self._key = new_key(seed)
        self._reset()

    def _reset(self) -> None:
        """Begin: uniform strategies, empty memories."""
        form, players, actions = self._form, self.game.num_players, self._legal.shape[1]
        self._table = records(form.num_sequences, SEQUENCE)
        self._table.sigma[:] = form.uniform()
        self._total = np.zeros(form.num_sequences)  # Σ_t t · plan: the mixture
        rows = (self.memory, actions, self._key)
        self._memories = [new_memory(*rows, i) for i in range(players)]
        self._strategies = new_memory(*rows, players)
        self._networks: list[list[Singles]] = [[] for _ in range(players)]
        learned = form.num_sequences if self.baseline is not None else 0
        self._baseline = np.zeros((players, learned))
        width = room_to_draw(self.sampling, actions, self.game)
        self._desk = Desk(
            records(most_entries(form.tree, self.sampling), ENTRY), np.zeros((ROWS, width)),
            np.zeros(LINE, np.uint64), np.zeros((learned, 2)),
        )  # fmt: skip
        self._counts = [0, 0]  # iterations, histories visited
        self._distilled: tuple[int, Floats] = (0, form.uniform())
        self.losses = [math.nan] * players
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        self._best = Measured(math.inf, 0.0, form.uniform())

    # ---- iterations --------------------------------------------------------------------------

    def _advance(self, count: int) -> float:
        """Run `count` iterations; an interrupt is heard between two of them."""
        began = time.perf_counter()
        if not count:
            self._warm_up()
        with deferred_interrupt() as interrupted:
            for _ in range(count):
                self._iterate(self.iterations + 1)
                if interrupted:
                    break
        took = time.perf_counter() - began
        self.seconds += took
        return took

    def _warm_up(self) -> None:
        """Have the training compiled before the clock starts; nothing comes of it."""
        other = _spare(self._memories[0])
        self._walk(0, 0, 1, other, _spare(self._strategies))
        network, _ = self._learner.fit(self._random(0, 0), other, 1)
        self._learner(network)

    def _iterate(self, t: int) -> None:
        """Run iteration t: for each player in turn, walk, learn, match."""
        self._total += t * self._form.plans(np.array(self._table.sigma))
        visited = 0
        for i in range(self.game.num_players):
            visited += self._walk(t, i, self.traversals, self._memories[i], self._strategies)
            self._update_baseline(i)
            network, self.losses[i] = self._learner.fit(
                self._random(t, i), self._memories[i], t
            )
            self._networks[i].append(network)
            self._play(i, self._match(self._learner(network)))
        self._counts = [t, self._counts[1] + visited]

    def _walk(self, t: int, i: int, walks: int, advantages: Memory, strategies: Memory) -> int:
        known = Known(*(getattr(self._known, name) for name in Known._fields))
        visited: int = collect(
            known, self._table, self._baseline, Scheme.of(self.sampling), self._key, self._desk,
            advantages, strategies, t, i, walks, 1.0 / self._scale,
        )  # fmt: skip
        return visited

    @property
    def _scale(self) -> float:
        """The largest payoff, in units of which advantages are learned."""
        return float(np.abs(self._known.utility).max()) or 1.0

    def _update_baseline(self, i: int) -> None:
        """Move player i's baseline toward what the walks told."""
        total, number = self._desk.told.T
        told = np.flatnonzero(number)
        mean = total[told] / number[told]
        self._baseline[i, told] += (self.baseline or 0.0) * (mean - self._baseline[i, told])
        self._desk.told[:] = 0.0

    def _random(self, t: int, i: int) -> jax.Array:
        """Return the key of player i's training in iteration t."""
        key = jax.random.fold_in(jax.random.key(0), int(self._key & np.uint64(0xFFFFFFFF)))
        for number in (int(self._key >> np.uint64(32)), t, i):
            key = jax.random.fold_in(key, number)
        return key

    def _match(self, advantages: Singles) -> Floats:
        """Return σ ∝ max(D, 0); where no D is above 0, the action with the largest.

        Shape (infosets, actions), like `advantages`.
        """
        sigma = np.where(self._legal, np.maximum(advantages, 0.0), 0.0).astype(np.float64)
        total = sigma.sum(axis=1)
        best = np.where(self._legal, advantages, -np.inf).argmax(axis=1)
        sigma[total > 0] /= total[total > 0, None]
        sigma[total <= 0, best[total <= 0]] = 1.0
        return sigma

    def _play(self, i: int, sigma: Floats) -> None:
        """Make these the strategies of player i."""
        own = self._legal & (self._form.tree.infoset_player == i)[:, None]
        self._table.sigma[self._sequences[own]] = sigma[own]

    @property
    def _sequences(self) -> npt.NDArray[np.int64]:
        """The sequence of every infoset and action."""
        start = self._form.tree.infoset_start.astype(np.int64)
        return start[:, None] + np.arange(self._legal.shape[1])

    # ---- results -----------------------------------------------------------------------------

    @property
    def iterations(self) -> int:
        """Iterations done so far."""
        return self._counts[0]

    @property
    def nodes(self) -> int:
        """Histories visited so far."""
        return self._counts[1]

    @property
    def average(self) -> Strategy:
        """The average strategy up to now, by network or as a mixture."""
        return self._strategy(self._average())

    @property
    def current(self) -> Strategy:
        """The strategy that the next iteration will use."""
        return self._strategy(self._current())

    @property
    def mixture(self) -> Strategy:
        """The average strategy as a mixture of all strategies played, t with weight t."""
        return self._strategy(self._mixture())

    @property
    def advantages(self) -> InfosetTable:
        """What the present networks answer, in units of the game."""
        answers = np.zeros(self._form.num_sequences)
        for i, networks in enumerate(self._networks):
            own = self._legal & (self._form.tree.infoset_player == i)[:, None]
            if networks:
                answers[self._sequences[own]] = self._learner(networks[-1])[own] * self._scale
        return Regrets(self._form, answers)

    def draw(self, seed: int | None = None) -> Strategy:
        """Return what Single Deep CFR plays in one game: strategies drawn by weight.

        For each player by itself one of the stored networks is drawn, that of iteration t,
        which is played from t + 1 on, with probability ∝ t + 1; or the uniform strategy, with
        which the run began, with that of 1.
        """
        if not self.iterations:
            return self._strategy(self._form.uniform())
        rng = np.random.default_rng(seed)
        drawn = self._form.uniform()
        weights = np.arange(1.0, self.iterations + 1)
        for i, networks in enumerate(self._networks):
            t = int(rng.choice(len(weights), p=weights / weights.sum()))
            if t:
                own = self._legal & (self._form.tree.infoset_player == i)[:, None]
                sigma = self._match(self._learner(networks[t - 1]))
                drawn[self._sequences[own]] = sigma[own]
        return self._strategy(drawn)

    def _strategy(self, sigma: Floats) -> Strategy:
        return Strategy.from_vector(self._form, sigma)

    def _current(self) -> Floats:
        return np.array(self._table.sigma)

    def _mixture(self) -> Floats:
        sigma = np.empty(self._form.num_sequences)
        behavior(self._form.treeplexes, self._total, sigma)
        return sigma

    def _average(self) -> Floats:
        if self.average_by == "mixture" or not self.iterations:
            return self._mixture()
        t = self.iterations
        if self._distilled[0] != t:
            key = self._random(t, self.game.num_players)
            network, _ = self._distiller.fit(key, self._strategies, t)
            sigma = self._form.uniform()
            sigma[self._sequences[self._legal]] = self._distiller(network)[self._legal]
            self._distilled = t, _normalized(self._form, sigma)
        return self._distilled[1].copy()

    @property
    def _remark(self) -> str:
        return f"loss {np.mean(self.losses):.2e}"

    @property
    def _describe(self) -> str:
        parts = [f"{DEEP}, {self.traversals:,} walks", repr(self.sampling)]
        if self.baseline is not None:
            parts.append(f"baseline {self.baseline:g}")
        return ", ".join((*parts, f"average by {self.average_by}"))

    def __repr__(self) -> str:
        return (
            f"DeepCFR({self.game!r}, traversals={self.traversals:,}, {self.sampling!r}, "
            f"average={self.average_by!r}) after {self.iterations:,} iterations, "
            f"{self.nodes:,} nodes"
        )

    # ---- files -------------------------------------------------------------------------------

    def save(self, path: PathLike) -> None:
        """Write the run to `path` (npz: plain arrays and a JSON header, no pickle).

        ``networks`` has a row for each network there was, those of player 0 first; ``rows``
        those of all memories, one after the other: infoset, weight, targets. The header has
        the rest, the states of the random numbers included. A file that is already there is
        replaced only once the new one is complete.
        """
        memories = [*self._memories, self._strategies]
        header = {
            **{name: getattr(self, name) for name in _OPTIONS},
            "average": self.average_by,
            "sampling": [type(self.sampling).__name__, asdict(self.sampling)],
            "training": [asdict(self.advantage), asdict(self.strategy)],
            "variant": asdict(self.variant), "update": self.update, "delay": self.delay,
            "iterations": self.iterations, "nodes": self.nodes, "seconds": self.seconds,
            "key": int(self._key), "losses": self.losses,
            "features": self._given,
            "seen": [int(memory.seen[0]) for memory in memories],
            "states": [[int(word) for word in memory.state] for memory in memories],
            "best": {"exploitability": self._best.exploitability, "value": self._best.value},
        }  # fmt: skip
        networks = [network for each in self._networks for network in each]
        arrays = {
            "sigma": self._current(), "total": self._total, "best": self._best.sigma,
            "baseline": self._baseline,
            "trace": np.array(self._rows, np.float64).reshape(-1, len(Trace.COLUMNS)),
            "networks": np.array(networks, np.float64).reshape(-1, self._learner.size),
            "rows": np.concatenate([_filled_rows(memory) for memory in memories]),
        }  # fmt: skip
        files.write(path, RUN_FILE, self._form, header, arrays)

    @classmethod
    def load(
        cls, path: PathLike, game: Game, *, features: npt.ArrayLike | None = None
    ) -> DeepCFR:
        """Read a run from `path` and return it, ready to continue exactly where it stopped.

        Parameters
        ----------
        path : str or path
        game : Game
        features : float array, optional
            Those the run was made with, if it was given any: they are not in the file.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game or
            other features.
        """
        form = sequence_form(game)

        def check(header: Header, arrays: Arrays) -> None:
            check_run(header, arrays)
            check_probabilities(form, arrays["sigma"])
            if header["sampling"][0] not in SCHEMES:
                raise ValueError(f"header {header!r}")

        header, arrays = files.read(path, RUN_FILE, form, check)
        name, parameters = header["sampling"]
        advantage, strategy = (
            Training(**{**each, "hidden": tuple(each["hidden"])}) for each in header["training"]
        )
        self = cls(
            game, sampling=SCHEMES[name](**parameters), average=header["average"],
            advantage=advantage, strategy=strategy, features=features,
            **{option: header[option] for option in _OPTIONS},
        )  # fmt: skip
        if self._given != header["features"]:
            raise ValueError(
                f"{path} holds a run with other features; load it with features=..., those it "
                "was made with"
            )
        self._key = np.uint64(header["key"])
        self._reset()
        self._restore(header, arrays)
        return self

    def _restore(self, header: Header, arrays: Arrays) -> None:
        """Take up what was saved."""
        self._table.sigma[:], self._total[:] = arrays["sigma"], arrays["total"]
        self._baseline[:] = arrays["baseline"]
        self._rows, self.seconds = arrays["trace"].tolist(), header["seconds"]
        self._counts, self.losses = [header["iterations"], header["nodes"]], header["losses"]
        self._best = Measured(**header["best"], sigma=arrays["best"])
        networks = arrays["networks"].astype(np.float32)
        self._networks = [
            list(each)
            for each in networks.reshape(self.game.num_players, -1, networks.shape[1])
        ]
        first = 0
        memories = (*self._memories, self._strategies)
        for memory, seen, state in zip(memories, header["seen"], header["states"], strict=True):
            memory.seen[0], memory.state[:] = seen, state
            rows = arrays["rows"][first : first + memory.filled]
            memory.infoset[: len(rows)], memory.weight[: len(rows)] = rows[:, 0], rows[:, 1]
            memory.target[: len(rows)] = rows[:, 2:]
            first += len(rows)


def _filled_rows(memory: Memory) -> Floats:
    """Return the filled rows of a memory: infoset, weight, targets."""
    n = memory.filled
    columns = (memory.infoset[:n, None], memory.weight[:n, None], memory.target[:n])
    return np.concatenate(columns, axis=1).astype(np.float64)


def _legal(tree: Tree) -> npt.NDArray[np.bool_]:
    """Return which actions there are, shape (infosets, most actions)."""
    count = np.array([len(actions) for actions in tree.infoset_actions])
    return np.arange(count.max()) < count[:, None]


def _check_average(average: str, game: Game) -> str:
    if average not in AVERAGES:
        raise ValueError(f"unknown average {average!r}; choose one of {AVERAGES}")
    if average == "network" and game.num_players != 2:
        raise ValueError(
            f'average="network" is for two players, {game!r} has {game.num_players}: how often '
            "an infoset enters the memory would depend on the strategies of third players; "
            'choose "mixture"'
        )
    return average


def _check_features(features: npt.ArrayLike | None, tree: Tree) -> Features:
    if features is None:
        features = getattr(tree.game, "features", encode)(tree.infoset_label)
    rows = np.array(features, np.float32)
    if rows.ndim != 2 or len(rows) != tree.num_infosets or not np.isfinite(rows).all():
        raise ValueError(
            f"features must hold one row of numbers for each of the {tree.num_infosets:,} "
            f"infosets of {tree.game!r}, got shape {rows.shape}"
        )
    return rows


def _digest(features: Features) -> str:
    """Return what tells these features from others."""
    return hashlib.sha256(repr(features.shape).encode() + features.tobytes()).hexdigest()


def _spare(memory: Memory) -> Memory:
    """Return an empty memory of the same size."""
    return Memory._make(np.zeros_like(part) for part in memory)


def _normalized(form: SequenceForm, sigma: Floats) -> Floats:
    """Return probabilities that sum to 1 in double precision."""
    t = form.treeplexes
    for start, stop in zip(t.infoset_start, t.infoset_stop, strict=True):
        sigma[start:stop] /= sigma[start:stop].sum()
    return sigma
