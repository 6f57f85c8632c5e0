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

import math
import time

import jax
import numpy as np
import numpy.typing as npt

from cfrlib.batches import Known
from cfrlib.deep.features import Features, encode
from cfrlib.deep.memory import Memory, Singles, new_memory
from cfrlib.deep.networks import Learner, Training
from cfrlib.deep.walks import Desk, collect
from cfrlib.explored import Explored, records
from cfrlib.files import Kind
from cfrlib.game import Game
from cfrlib.regret import find_variant
from cfrlib.run import Measured, Run, deferred_interrupt, whole_number
from cfrlib.sampling import (
    ENTRY,
    LINE,
    ROWS,
    SEQUENCE,
    Sampling,
    Scheme,
    find_sampling,
    most_entries,
    new_key,
    room_to_draw,
)
from cfrlib.sequence import SequenceForm, behavior, sequence_form
from cfrlib.strategy import InfosetTable, Regrets, Strategy
from cfrlib.tree import Floats, Tree

AVERAGES = ("network", "mixture")
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
        the words of its label (:func:`cfrlib.deep.encode`).
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
        parts = [f"Deep CFR, {self.traversals:,} walks", repr(self.sampling)]
        if self.baseline is not None:
            parts.append(f"baseline {self.baseline:g}")
        return ", ".join((*parts, f"average by {self.average_by}"))

    def __repr__(self) -> str:
        return (
            f"DeepCFR({self.game!r}, traversals={self.traversals:,}, {self.sampling!r}, "
            f"average={self.average_by!r}) after {self.iterations:,} iterations, "
            f"{self.nodes:,} nodes"
        )


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
        return encode(tree.infoset_label)
    rows = np.array(features, np.float32)
    if rows.ndim != 2 or len(rows) != tree.num_infosets or not np.isfinite(rows).all():
        raise ValueError(
            f"features must hold one row of numbers for each of the {tree.num_infosets:,} "
            f"infosets of {tree.game!r}, got shape {rows.shape}"
        )
    return rows


def _spare(memory: Memory) -> Memory:
    """Return an empty memory of the same size."""
    return Memory._make(np.zeros_like(part) for part in memory)


def _normalized(form: SequenceForm, sigma: Floats) -> Floats:
    """Return probabilities that sum to 1 in double precision."""
    t = form.treeplexes
    for start, stop in zip(t.infoset_start, t.infoset_stop, strict=True):
        sigma[start:stop] /= sigma[start:stop].sum()
    return sigma
