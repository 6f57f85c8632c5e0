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
import uuid
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import islice
from typing import Any, ClassVar, Self

import jax
import numpy as np
import numpy.typing as npt

from cfrlib.core import schema
from cfrlib.core.checks import whole_number
from cfrlib.core.files import Arrays, Header, Kind, PathLike, Saved, demand
from cfrlib.core.rng import LINE, new_key
from cfrlib.core.sequence import SequenceForm, behavior
from cfrlib.core.tree import Floats, check_game
from cfrlib.deep.features import (
    check_digest,
    digest,
    hashed,
    legal_actions,
    observe,
    sequences_of,
)
from cfrlib.deep.lanes import Lane, Played, Said, probe, simulate, split, take
from cfrlib.deep.memory import Memory, Sheets, Singles, new_memory, offer
from cfrlib.deep.networks import LOSS, NETWORKS_ERR, TRAINING, Learner, Training, random_key
from cfrlib.deep.policy import Encoder, Network, Policy, match
from cfrlib.deep.walks import Desk, Round, Rows, collect
from cfrlib.game import Game
from cfrlib.montecarlo import workers
from cfrlib.montecarlo.partial_tree import PartialTree, Snapshot, records
from cfrlib.montecarlo.schemes import (
    ROWS,
    SCHEME,
    SCHEMES,
    Sampling,
    Scheme,
    find_sampling,
    most_entries,
    room_to_draw,
)
from cfrlib.montecarlo.state import Compiled, OfAKind, OnDemand
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE
from cfrlib.regret import find_variant
from cfrlib.run import Measured, Run
from cfrlib.solution import BEST, HEADER, TRACE, Solution
from cfrlib.strategy import SIGMA, InfosetTable, Regrets, Strategy, check_probabilities

AVERAGES = ("network", "mixture")
_OPTIONS = ("traversals", "memory", "baseline")
BATCH = 1_024  # rows in a step of training, for games that do not compile
LEAST = 1 << 14  # rows of a memory that are shown to the training at least
_HEADER: schema.Schema = {
    **HEADER,
    "variant": schema.exactly(asdict(find_variant("linear"))),
    "update": schema.one_of("alternating"),
    "delay": schema.whole(0, 0),
    "best": BEST,
    "traversals": schema.whole(1),
    "memory": schema.whole(1),
    "baseline": schema.maybe(schema.number(0, 1)),
    "average": schema.one_of(*AVERAGES),
    "sampling": SCHEME,
    "training": schema.row(TRAINING, TRAINING),
    "nodes": schema.whole(),
    "key": schema.whole(0, 2**64 - 1),
    "losses": schema.listed(LOSS),
    "actions": schema.whole(1, 2**31 - 1),
    "features": schema.maybe(schema.text),
    "learned": schema.listed(schema.whole()),
    "seen": schema.listed(schema.whole()),
    "states": schema.listed(schema.row(*[schema.whole(0, 2**64 - 1)] * LINE)),
}
_ARRAYS = {
    "trace": TRACE,
    "networks": schema.Array(("networks", "weights"), schema.single),
    "rows": schema.Array(("rows", "columns"), schema.single),
}
RUN_FILE = Kind(
    "cfrlib.deep.DeepCFR 2",
    "run",
    "DeepCFR.save",
    _HEADER,
    {
        "sigma": SIGMA,
        "total": schema.Array(("sequences",), schema.sums),
        "best": SIGMA,
        "baseline": schema.Array(("players", "learned")),
        **_ARRAYS,
    },
)
ON_DEMAND_FILE = Kind(
    "cfrlib.deep.DeepCFR explored 1",
    "run",
    "DeepCFR.save",
    _HEADER,
    {**_ARRAYS, "sheets": schema.Array(("rows", "sheet"), schema.single)},
)


class DeepCFR(OfAKind, Run):
    """A run of Deep CFR that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game. If it compiles, a network is evaluated at all its infosets at once. Else it
        is evaluated at the infosets that walks meet, exploitability is not known, and
        strategies are a :class:`Policy`.
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
        How the two kinds of networks are trained. A game that does not compile needs a
        `batch`; 1,024 by default.
    memory : int
        Rows of each memory.
    baseline : float, optional
        With a baseline, walks are corrected by what each action was worth before, an average
        that moves this share of the way to each new iteration. For outcome and robust sampling.
    features : float array, shape (infosets, inputs), optional
        What a network sees of each infoset, in the order of ``cfrlib.compile(game)``. Left out:
        what the game's own method ``features(labels)`` says, if it has one; else the words of
        its label, at their places (:func:`cfrlib.deep.encode`, or ``hashed`` if the game does
        not compile). For a network with a cell, the words one after the other
        (:func:`cfrlib.deep.spell`).
    seed : int, optional
        Two runs with the same seed give the same numbers on the same kind of processor.
    on_demand : bool, optional
        Whether to expand the tree as the walks go. By default only if the game does not
        compile.
    actions : int, optional
        The most at any infoset, for a game that does not compile; left out, the most that
        were met in a thousand games played at random.
    jobs : int, optional
        Share the walks out to so many processes, through joblib, or to the machines of its
        current backend; -1 takes all there are. The numbers stay the same.

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
    >>> run.policy()
    Policy of KuhnPoker(): one of 30 networks for each player
    >>> run.draw(seed=0).max_difference(run.current) > 0  # another strategy of the run
    True

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/kuhn.npz")
    ...     again = cfr.deep.DeepCFR.load(f"{folder}/kuhn.npz", run.game)
    >>> again.iterations, again.current == run.current
    (30, True)
    """

    METHOD, CAVEAT = "Deep CFR", NETWORKS_ERR
    FILES: ClassVar[tuple[Kind, ...]] = (RUN_FILE, ON_DEMAND_FILE)
    DEFAULT_BATCH: ClassVar[int | None]
    _actions: int  # the most at any infoset
    _scale: float  # the largest payoff, the unit of what is learned
    _size: int  # weights of a network for advantages
    _encode: Encoder
    _given: str | None  # a digest of the features that the caller gave

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
        on_demand: bool | None = None,
        actions: int | None = None,
        jobs: int | None = None,
    ):
        check_game(game)
        self.sampling = find_sampling(sampling)
        self.traversals = whole_number("traversals", traversals, 1)
        self.memory = whole_number("memory", memory, 1)
        self.average_by, self.baseline = _check_average(average, game), baseline
        if baseline is not None and not 0 <= baseline <= 1:
            raise ValueError(f"baseline must lie between 0 and 1, got {baseline!r}")
        self._learners: Sequence[int] = range(game.num_players)
        self.jobs = None if jobs is None else whole_number("jobs", jobs, -1)
        if jobs == 0 or (jobs is not None and baseline is not None):
            raise ValueError(
                "jobs must be at least 1, or -1, and a baseline is learned by one process; got "
                f"jobs={jobs!r}, baseline={baseline!r}"
            )
        self.advantage = advantage or Training(batch=self.DEFAULT_BATCH)
        self.strategy = strategy or Training(batch=self.DEFAULT_BATCH)
        self.variant, self.update, self.delay = find_variant("linear"), "alternating", 0
        self._key, self._token = new_key(seed), uuid.uuid4().hex
        self._set_up(features, actions)
        self._reset()

    def _set_up(self, features: npt.ArrayLike | None, actions: int | None) -> None:
        """Prepare what the networks see."""
        raise NotImplementedError

    def _reset(self) -> None:
        """Begin: uniform strategies, empty memories."""
        players = self.game.num_players
        rows = (self.memory, self._actions, self._key)
        self._memories = [new_memory(*rows, i) for i in range(players)]
        self._strategies = new_memory(*rows, players)
        self._networks: list[list[Singles]] = [[] for _ in range(players)]
        self._counts = [0, 0]  # iterations, histories visited
        self.losses = [math.nan] * players
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        self._best = Measured(math.inf, 0.0, self._begin())

    def _begin(self) -> Floats:
        """Begin with the uniform strategy, and return it, by sequence."""
        raise NotImplementedError

    # ---- iterations --------------------------------------------------------------------------

    def _warm_up(self) -> None:
        """Compile everything that a run will use, without any effect."""
        advantages, strategies = _spare(self._memories[0]), _spare(self._strategies)
        self._walk(0, 0, 1, advantages, strategies)
        self._learn(self._random(0, 0), advantages, 0, 1)

    def _iterate(self, t: int) -> None:
        """Run iteration t: for each player in turn, walk, learn, match.

        If a walk fails, by unsound rules or a lost worker, a new try begins with that player.
        """
        for i in self._learners:
            if len(self._networks[i]) < t:
                memory = self._memories[i]
                self._counts[1] += self._walk(t, i, self.traversals, memory, self._strategies)
                network, self.losses[i] = self._learn(self._random(t, i), memory, i, t)
                self._networks[i].append(network)
                self._adopt(t, i, network)
        self._counts[0] = t

    def _adopt(self, t: int, i: int, network: Singles) -> None:
        """Let player i play by a new network from here on."""

    def _walk(self, t: int, i: int, walks: int, advantages: Memory, strategies: Memory) -> int:
        """Take walks of player i and fill the memories; return the histories visited."""
        samples = self._share(t, i, walks)
        for each in samples:
            offer(each.advantages, each.advantages.filled, advantages)
            offer(each.strategies, each.strategies.filled, strategies)
        return sum(each.visited for each in samples)

    def _share(self, t: int, i: int, walks: int) -> list[Said]:
        """Take walks in lanes, here or elsewhere, and return what each says, in order."""
        lanes = [
            Lane(
                self.game, self.sampling, self._key, t, i, first, stop, 1.0 / self._scale,
                self._actions,
            )
            for first, stop in split(walks)
        ]  # fmt: skip
        work, tasks = self._tasks(t, lanes)
        if self.jobs is None:
            return [work(task) for task in tasks]
        return workers.spread(self.jobs, work, tasks)

    def _tasks(self, t: int, lanes: list[Lane]) -> tuple[Callable[[Any], Said], list[Any]]:
        """Return what to call for each lane, and with what."""
        raise NotImplementedError

    def _learn(
        self, key: jax.Array, memory: Memory, number: int, t: int, distill: bool = False
    ) -> tuple[Singles, float]:
        """Train a new network on a memory; return it and its loss.

        `number` is the player's, or that of players for the memory of strategies.
        """
        raise NotImplementedError

    def _random(self, t: int, i: int) -> jax.Array:
        """Return the key of player i's training in iteration t."""
        return random_key(self._key, t, i)

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
    def average(self) -> Strategy | Policy:
        """The average strategy up to now, by network or as a mixture."""
        raise NotImplementedError

    @property
    def current(self) -> Strategy | Policy:
        """The strategy that the next iteration will use."""
        raise NotImplementedError

    def policy(self) -> Policy:
        """Return the mixture as networks to play with, whether the game compiles or not."""
        return self._policy(self._shares)

    @property
    def mixture(self) -> Strategy | Policy:
        """The average strategy as a mixture of all strategies played, t with weight t."""
        raise NotImplementedError

    @property
    def advantages(self) -> InfosetTable:
        """The predictions of the present networks, in units of the game.

        Raises
        ------
        ValueError
            If the game does not compile.
        """
        raise NotImplementedError

    def draw(self, seed: int | None = None) -> Strategy | Policy:
        """Return what Single Deep CFR plays in one game: strategies sampled by weight.

        For each player independently one of the stored networks is sampled, that of iteration
        t, which is played from t + 1 on, with probability ∝ t + 1; or the uniform strategy,
        with which the run began, with probability ∝ 1.
        """
        raise NotImplementedError

    @property
    def _shares(self) -> Floats:
        """The weights of the uniform strategy and of each network: the last was not played."""
        weights = np.arange(1.0, self.iterations + 2)
        weights[self.iterations or 1 :] = 0.0
        return weights

    def _policy(self, shares: npt.NDArray[Any]) -> Policy:
        networks = [np.array(each[: self.iterations]) for each in self._networks]
        return Policy(
            self.game, self._encode, self._actions, self.advantage, networks,
            [shares] * self.game.num_players,
        )  # fmt: skip

    def _distill(self) -> Singles:
        """Train a network on all strategies played."""
        t = self.iterations
        key = self._random(t, self.game.num_players)
        return self._learn(key, self._strategies, self.game.num_players, t, True)[0]

    @property
    def _remark(self) -> str:
        return f"loss {np.mean([self.losses[i] for i in self._learners]):.2e}"

    @property
    def _describe(self) -> str:
        parts = [f"{self.METHOD}, {self.traversals:,} walks", repr(self.sampling)]
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

    @classmethod
    def load(
        cls,
        path: PathLike,
        game: Game,
        *,
        features: npt.ArrayLike | None = None,
        jobs: int | None = None,
    ) -> DeepCFR:
        """Return the run saved in `path`, ready to continue exactly where it stopped.

        Parameters
        ----------
        path : str or path
        game : Game
        features : float array, optional
            Those the run was made with, if it was given any: they are not in the file.
        jobs : int, optional
            As for a new run.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game or
            other features.
        """
        return cls._load(path, game, features=features, jobs=jobs)

    @classmethod
    def _begun_as(cls, file: Saved, game: Game, **options: Any) -> Self:
        header, on_demand = file.header, file.kind is ON_DEMAND_FILE
        name, parameters = header["sampling"]
        advantage, strategy = map(Training.restored, header["training"])
        self = cls(
            game,
            sampling=SCHEMES[name](**parameters),
            average=header["average"],
            advantage=advantage,
            strategy=strategy,
            on_demand=on_demand,
            actions=header["actions"] if on_demand else None,
            **{option: header[option] for option in _OPTIONS},
            **options,
        )
        check_digest(file.path, self._given, header["features"])
        self._key = np.uint64(header["key"])
        self._reset()
        return self

    def _pack(self) -> tuple[Header, Arrays]:
        header, arrays = super()._pack()
        memories = [*self._memories, self._strategies]
        header |= {
            **{name: getattr(self, name) for name in _OPTIONS},
            "average": self.average_by,
            "sampling": [type(self.sampling).__name__, asdict(self.sampling)],
            "training": [asdict(self.advantage), asdict(self.strategy)],
            "nodes": self.nodes,
            "key": int(self._key),
            "losses": self.losses,
            "actions": self._actions,
            "features": self._given,
            "learned": [len(each) for each in self._networks],
            "seen": [int(memory.seen[0]) for memory in memories],
            "states": [[int(word) for word in memory.state] for memory in memories],
        }
        networks = [network for each in self._networks for network in each]
        arrays["networks"] = np.array(networks, np.float64).reshape(-1, self._size)
        arrays["rows"] = np.concatenate([_filled_rows(memory) for memory in memories])
        return header, arrays

    @property
    def _more_sizes(self) -> dict[str, int]:
        """Sizes of the arrays in a file that depend on the kind of run."""
        raise NotImplementedError

    def _unpack(self, file: Saved) -> Arrays:
        header, players = file.header, self.game.num_players
        filled = [min(seen, self.memory) for seen in header["seen"]]
        arrays = file.arrays(
            networks=sum(header["learned"]),
            weights=self._size,
            rows=sum(filled),
            columns=2 + self._actions,
            **self._more_sizes,
        )
        done = header["iterations"]
        demand(header["actions"] == self._actions, "actions")
        demand(len(header["losses"]) == len(header["learned"]) == players, "losses")
        demand(len(header["seen"]) == len(header["states"]) == players + 1, "seen")
        demand({done, done + 1}.issuperset(header["learned"]), "learned")
        demand(max(header["seen"]) <= header["nodes"], "seen")
        demand(bool((arrays["rows"][:, 1] >= 0).all()), "rows")
        self._unpack_strategies(arrays)
        self._counts, self.losses = [header["iterations"], header["nodes"]], header["losses"]
        networks = iter(arrays["networks"].astype(np.float32))
        self._networks = [list(islice(networks, number)) for number in header["learned"]]
        first = 0
        for n, memory in enumerate((*self._memories, self._strategies)):
            memory.seen[0], memory.state[:] = header["seen"][n], header["states"][n]
            rows = slice(first, first + memory.filled)
            infoset, weight, *target = arrays["rows"][rows].T
            memory.infoset[: len(infoset)], memory.weight[: len(weight)] = infoset, weight
            memory.target[: len(infoset)] = np.transpose(target)
            self._unpack_features(n, arrays, rows)
            first = rows.stop
        self._unpack_trace(header, arrays, header["nodes"])
        return arrays

    def _unpack_strategies(self, arrays: Arrays) -> None:
        """Restore the strategies in a file; raise a ValueError if no run wrote them."""

    def _unpack_features(self, n: int, arrays: Arrays, rows: slice) -> None:
        """Restore what the rows of memory n are about."""


class CompiledDeepCFR(Compiled, DeepCFR):
    """Deep CFR on a compiled tree: networks are evaluated at all infosets at once."""

    DEFAULT_BATCH = None

    def _set_up(self, features: npt.ArrayLike | None, actions: int | None) -> None:
        tree = self._form.tree
        self._legal, self._sequences = legal_actions(tree), sequences_of(tree)
        self._actions = self._legal.shape[1]
        self._features, shown = (
            observe(tree, features, training.cell is not None)
            for training in (self.advantage, self.strategy)
        )
        self._given = None if features is None else digest(self._features)
        self._learner = Learner(self._features, self._legal, self.advantage)
        self._distiller = Learner(shown, self._legal, self.strategy, True)
        self._scale = float(np.abs(self._known.utility).max()) or 1.0
        self._size = self._learner.size
        self._encode: Encoder = self._look_up

    def _look_up(self, labels: Sequence[str]) -> Singles:
        """Return the features of some infosets."""
        rows = [self._form.infoset_number[label] for label in labels]
        return self._features[rows].astype(np.float32)

    def _begin(self) -> Floats:
        form = self._form
        self._table = records(form.num_sequences, SEQUENCE)
        self._table.sigma[:] = form.uniform()
        self._total = np.zeros(form.num_sequences)  # Σ_t t · plan: the mixture
        learned = form.num_sequences if self.baseline is not None else 0
        self._baseline = np.zeros((self.game.num_players, learned))
        width = room_to_draw(self.sampling, self._actions, self.game)
        self._desk = Desk(
            records(most_entries(form.tree, self.sampling), ENTRY), np.zeros((ROWS, width)),
            np.zeros(LINE, np.uint64), np.zeros((learned, 2)),
        )  # fmt: skip
        self._distilled: tuple[int, Floats] = (0, form.uniform())
        return form.uniform()

    # ---- iterations --------------------------------------------------------------------------

    def _warm_up(self) -> None:
        super()._warm_up()
        self._learner(np.zeros(self._size, np.float32))

    def _adopt(self, t: int, i: int, network: Singles) -> None:
        first, stop = self._form.tree.player_sequences[i : i + 2]
        plans = self._form.plans(np.array(self._table.sigma))
        self._total[first:stop] += t * plans[first:stop]
        self._update_baseline(i)
        self._play(i, self._match(self._learner(network)))

    def _walk(self, t: int, i: int, walks: int, advantages: Memory, strategies: Memory) -> int:
        if self.jobs is not None:
            return super()._walk(t, i, walks, advantages, strategies)
        turn = Round(Scheme.of(self.sampling), self._key, t, i, 1.0 / self._scale)
        rows, tree = Rows(advantages, strategies), self._known.arrays
        visited: int = collect(
            tree, self._table, self._baseline, turn, self._desk, rows, 0, walks
        )
        return visited

    def _tasks(self, t: int, lanes: list[Lane]) -> tuple[Callable[[Any], Said], list[Any]]:
        sigma = np.array(self._table.sigma)
        return partial(take, token=self._token, sigma=sigma), list(lanes)

    def _learn(
        self, key: jax.Array, memory: Memory, number: int, t: int, distill: bool = False
    ) -> tuple[Singles, float]:
        return (self._distiller if distill else self._learner).fit(key, memory, t)

    def _update_baseline(self, i: int) -> None:
        """Move player i's baseline toward what the walks told."""
        total, number = self._desk.told.T
        told = np.flatnonzero(number)
        mean = total[told] / number[told]
        self._baseline[i, told] += (self.baseline or 0.0) * (mean - self._baseline[i, told])
        self._desk.told[:] = 0.0

    def _match(self, advantages: Singles) -> Floats:
        """Return the strategy that follows from the advantages at all infosets."""
        return match(advantages, self._legal)

    def _play(self, i: int, sigma: Floats) -> None:
        """Set the strategies of player i, shape (infosets, actions)."""
        own = self._own(i)
        self._table.sigma[self._sequences[own]] = sigma[own]

    def _own(self, i: int) -> npt.NDArray[np.bool_]:
        """Return which actions player i has, shape (infosets, actions)."""
        own: npt.NDArray[np.bool_] = (self._known.infosets.player == i)[:, None]
        return self._legal & own

    # ---- results -----------------------------------------------------------------------------

    @property
    def average(self) -> Strategy:
        """The average strategy up to now, by network or as a mixture."""
        return Strategy.from_vector(self._form, self._average())

    @property
    def current(self) -> Strategy:
        """The strategy that the next iteration will use."""
        return Strategy.from_vector(self._form, self._current())

    @property
    def mixture(self) -> Strategy:
        """The average strategy as a mixture of all strategies played, t with weight t."""
        return Strategy.from_vector(self._form, self._mixture())

    @property
    def advantages(self) -> InfosetTable:
        """The predictions of the present networks, in units of the game."""
        answers = np.zeros(self._form.num_sequences)
        for i, networks in enumerate(self._networks):
            own = self._own(i)
            if networks:
                answers[self._sequences[own]] = self._learner(networks[-1])[own] * self._scale
        return Regrets(self._form, answers)

    def draw(self, seed: int | None = None) -> Strategy:
        """Return what Single Deep CFR plays in one game: strategies sampled by weight."""
        if not self.iterations:
            return Strategy.from_vector(self._form, self._form.uniform())
        rng = np.random.default_rng(seed)
        sampled, weights = self._form.uniform(), self._shares[:-1]
        for i, networks in enumerate(self._networks):
            t = int(rng.choice(len(weights), p=weights / weights.sum()))
            if t:
                own = self._own(i)
                sigma = self._match(self._learner(networks[t - 1]))
                sampled[self._sequences[own]] = sigma[own]
        return Strategy.from_vector(self._form, sampled)

    def _current(self) -> Floats:
        return np.array(self._table.sigma)

    def _mixture(self) -> Floats:
        sigma = np.empty(self._form.num_sequences)
        behavior(self._form.treeplexes, self._total, sigma)
        return sigma

    def _average(self) -> Floats:
        if self.average_by == "mixture" or not self.iterations:
            return self._mixture()
        if self._distilled[0] != self.iterations:
            network = self._distill()
            sigma = self._form.uniform()
            sigma[self._sequences[self._legal]] = self._distiller(network)[self._legal]
            self._distilled = self.iterations, _normalized(self._form, sigma)
        return self._distilled[1].copy()

    # ---- files -------------------------------------------------------------------------------

    def _pack(self) -> tuple[Header, Arrays]:
        header, arrays = super()._pack()
        return header, arrays | {
            "sigma": self._current(),
            "total": self._total,
            "best": self._best.sigma,
            "baseline": self._baseline,
        }

    @property
    def _more_sizes(self) -> dict[str, int]:
        return {"learned": self._baseline.shape[1]}

    def _unpack_strategies(self, arrays: Arrays) -> None:
        infosets = schema.whole_in(0, len(self._legal) - 1)
        demand(infosets(arrays["rows"][:, 0]), "rows")
        check_probabilities(self._form, arrays["sigma"], arrays["best"])
        self._table.sigma[:], self._total[:] = arrays["sigma"], arrays["total"]
        self._baseline[:] = arrays["baseline"]


class OnDemandDeepCFR(OnDemand, DeepCFR):
    """Deep CFR on a tree that is expanded as the walks go: strategies are networks only."""

    DEFAULT_BATCH = BATCH

    def _set_up(self, features: npt.ArrayLike | None, actions: int | None) -> None:
        if features is not None or self.baseline is not None:
            raise ValueError(
                f"{self.game!r} is explored on the way, so its infosets have no order: "
                "features of all of them and a baseline are for games that compile; give the "
                "game a method features(labels) instead, and leave baseline out"
            )
        for training in (self.advantage, self.strategy):
            if training.batch is None:
                raise ValueError(
                    f"{self.game!r} is explored on the way, so training cannot pass over all "
                    f"its infosets; give a batch, such as Training(batch={BATCH:,})"
                )
            if training.cell is not None:
                raise ValueError(
                    f"{self.game!r} is explored on the way, so which words there are is not "
                    "known beforehand; leave out cell"
                )
        met, self._scale, label = probe(self.game)
        self._actions = met if actions is None else whole_number("actions", actions, 1)
        self._encode = self._find_encoder()
        self._inputs = self._encode([label]).shape[1]
        self._given = None
        nothing = np.zeros((1, self._inputs), np.float32), np.ones((1, self._actions), bool)
        self._size = Learner(*nothing, self.advantage).size

    def _find_encoder(self) -> Encoder:
        """Return what says what networks see of the infosets of a game that is explored."""
        encoder: Encoder = getattr(self.game, "features", hashed)
        return encoder

    def _begin(self) -> Floats:
        self._sheets = [
            Sheets(
                np.zeros((self.memory, self._inputs), np.float32),
                np.zeros(self.memory, np.int32),
            )
            for _ in range(self.game.num_players + 1)
        ]
        return np.zeros(0)

    # ---- iterations --------------------------------------------------------------------------

    def _warm_up(self) -> None:
        kept = self._sheets
        self._sheets = [Sheets._make(np.zeros_like(part) for part in kept[0])] * len(kept)
        super()._warm_up()
        self._sheets = kept

    def _walk(self, t: int, i: int, walks: int, advantages: Memory, strategies: Memory) -> int:
        samples = self._share(t, i, walks)
        for each in samples:
            for n, memory, rows in (
                (i, advantages, each.advantages),
                (-1, strategies, each.strategies),
            ):
                offer(rows, rows.filled, memory)
                self._sheets[n].keep(memory, each.features, each.actions)
        return sum(each.visited for each in samples)

    def _tasks(self, t: int, lanes: list[Lane]) -> tuple[Callable[[Any], Said], list[Any]]:
        watched = self.average_by == "network"
        return simulate, [
            (lane, Played(self._encode, self._present(t, n), watched))
            for n, lane in enumerate(lanes)
        ]

    def _present(self, t: int, lane: int) -> list[Network | None]:
        """Return what everybody plays in a lane of iteration t."""
        return [
            Network(networks[-1], self.advantage) if networks else None
            for networks in self._networks
        ]

    def _learn(
        self, key: jax.Array, memory: Memory, number: int, t: int, distill: bool = False
    ) -> tuple[Singles, float]:
        # as many rows as there are, up to the next power of two: each size is compiled once
        rows = min(self.memory, max(LEAST, 1 << (max(memory.filled, 1) - 1).bit_length()))
        sheets = self._sheets[number]
        legal = np.arange(self._actions) < sheets.actions[:rows, None]
        training = self.strategy if distill else self.advantage
        learner = Learner(sheets.features[:rows], legal, training, distill)
        numbered = memory._replace(
            infoset=np.arange(rows, dtype=np.int32), weight=memory.weight[:rows],
            target=memory.target[:rows],
        )  # fmt: skip
        return learner.fit(key, numbered, t)

    # ---- results -----------------------------------------------------------------------------

    @property
    def average(self) -> Policy:
        """The average strategy up to now, by network or as a mixture."""
        if self.average_by == "mixture" or not self.iterations:
            return self.mixture
        distilled = self._distill()
        shares = [np.array([0.0, 1.0])] * self.game.num_players
        networks = [distilled[None]] * self.game.num_players
        return Policy(
            self.game, self._encode, self._actions, self.strategy, networks, shares, True
        )

    @property
    def current(self) -> Policy:
        """The strategy that the next iteration will use."""
        return self._policy(np.arange(self.iterations + 1) == self.iterations)

    @property
    def mixture(self) -> Policy:
        """The average strategy as a mixture of all strategies played, t with weight t."""
        return self.policy()

    @property
    def advantages(self) -> InfosetTable:
        """Raise a ValueError: there is no table of all infosets."""
        raise self._not_known("advantages of all infosets")

    def solution(self) -> Solution:
        """Raise a ValueError: the strategies are no tables."""
        raise self._not_known("a solution")

    def _not_known(self, what: str) -> ValueError:
        return ValueError(
            f"{self.game!r} is explored on the way, so its infosets are not all known, and "
            f"there is no table of {what}; ask run.average, run.current or run.draw(), which "
            "answer for any decision"
        )

    def draw(self, seed: int | None = None) -> Policy:
        """Return what Single Deep CFR plays in one game: networks sampled by weight."""
        return self.policy().draw(seed)

    def _current(self) -> Floats:
        return np.zeros(0)

    def _average(self) -> Floats:
        return np.zeros(0)

    # ---- files -------------------------------------------------------------------------------

    @property
    def _labels(self) -> Snapshot:
        return PartialTree(self.game).snapshot()

    def _pack(self) -> tuple[Header, Arrays]:
        header, arrays = super()._pack()
        pairs = zip(self._sheets, [*self._memories, self._strategies], strict=True)
        rows = [_filled_sheets(sheets, memory) for sheets, memory in pairs]
        return header, arrays | {"sheets": np.concatenate(rows)}

    @property
    def _more_sizes(self) -> dict[str, int]:
        return {"sheet": 1 + self._inputs}

    def _unpack_strategies(self, arrays: Arrays) -> None:
        demand(schema.whole_in(-1, -1)(arrays["rows"][:, 0]), "rows")
        demand(schema.whole_in(1, self._actions)(arrays["sheets"][:, 0]), "sheets")

    def _unpack_features(self, n: int, arrays: Arrays, rows: slice) -> None:
        saved, sheets = arrays["sheets"][rows], self._sheets[n]
        sheets.actions[: len(saved)] = saved[:, 0]
        sheets.features[: len(saved)] = saved[:, 1:]


DeepCFR.KINDS = (CompiledDeepCFR, OnDemandDeepCFR)


def _filled_rows(memory: Memory) -> Floats:
    """Return the filled rows of a memory: infoset, weight, targets."""
    n = memory.filled
    columns = (memory.infoset[:n, None], memory.weight[:n, None], memory.target[:n])
    return np.concatenate(columns, axis=1).astype(np.float64)


def _filled_sheets(sheets: Sheets, memory: Memory) -> Floats:
    """Return what the filled rows of a memory are about: number of actions, features."""
    n = memory.filled
    columns = (sheets.actions[:n, None], sheets.features[:n])
    return np.concatenate(columns, axis=1).astype(np.float64)


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


def _spare(memory: Memory) -> Memory:
    """Return an empty memory of the same size."""
    return Memory._make(np.zeros_like(part) for part in memory)


def _normalized(form: SequenceForm, sigma: Floats) -> Floats:
    """Return probabilities that sum to 1 in double precision."""
    t = form.treeplexes
    for start, stop in zip(t.infoset_start, t.infoset_stop, strict=True):
        sigma[start:stop] /= sigma[start:stop].sum()
    return sigma
