"""Deep CFR: Monte Carlo CFR with networks in place of tables.

In iteration t, each traversal of player i samples an advantage at every infoset of i that it
visits: the value of each action minus that of the strategy played. A reservoir keeps a uniform
sample of the advantages of all iterations. A new network is trained on it, each sample
weighted by its iteration, so that it predicts the weighted mean over the visits,

    D(I, a) ≈ Σ_t t · Σ_k r̃_tk(I, a) / Σ_t t · n_t(I) ,

where n_t(I) counts the visits to I in iteration t, and k numbers them. That is the regret of
linear CFR up to a factor that depends on I alone, so it cancels in regret matching (Brown,
Lerer, Gross & Sandholm, 2019). The next strategy is regret matching applied to D; where no
advantage is positive, the action with the largest one is played.

The average strategy is predicted by another network, trained on a reservoir of strategies. Or
no second network is trained: a mixture plays the strategy of one iteration, sampled before each
game with probability ∝ t (Single Deep CFR: Steinberger, 2019).
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
from cfrlib.core.files import Arrays, Format, Header, PathLike, Saved, require
from cfrlib.core.rng import LINE, new_key
from cfrlib.core.sequence import SequenceForm, behavior
from cfrlib.core.tree import Floats, check_game
from cfrlib.deep.features import (
    check_digest,
    digest,
    hashed,
    legal_actions,
    network_inputs,
    sequences_of,
)
from cfrlib.deep.lanes import (
    Lane,
    Profile,
    Samples,
    probe,
    split,
    traverse_compiled,
    traverse_on_demand,
)
from cfrlib.deep.memory import Memory, RowFeatures, Singles, new_memory, offer
from cfrlib.deep.networks import LOSS, NETWORKS_ERR, TRAINING, Learner, Training, random_key
from cfrlib.deep.policy import Encoder, Network, Policy, match
from cfrlib.deep.traversal import Memories, Settings, Workspace, collect
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
from cfrlib.montecarlo.state import Compiled, CompiledOrOnDemand, OnDemand
from cfrlib.montecarlo.traversal import ENTRY, SEQUENCE
from cfrlib.regret import find_variant
from cfrlib.run import Measured, Run
from cfrlib.solution import BEST, HEADER, TRACE, Solution
from cfrlib.strategy import SIGMA, InfosetTable, Regrets, Strategy, check_probabilities

AVERAGES = ("network", "mixture")
_OPTIONS = ("traversals", "memory", "baseline")
BATCH = 1_024  # default batch size for games that do not compile
MIN_ROWS = 1 << 14  # a smaller memory is padded for training, to limit recompilation
_HEADER: schema.Schema = {
    **HEADER,
    "variant": schema.exactly(asdict(find_variant("linear"))),
    "update": schema.one_of("alternating"),
    "delay": schema.integer(0, 0),
    "best": BEST,
    "traversals": schema.integer(1),
    "memory": schema.integer(1),
    "baseline": schema.optional(schema.number(0, 1)),
    "average": schema.one_of(*AVERAGES),
    "sampling": SCHEME,
    "training": schema.tuple_of(TRAINING, TRAINING),
    "nodes": schema.integer(),
    "key": schema.integer(0, 2**64 - 1),
    "losses": schema.list_of(LOSS),
    "actions": schema.integer(1, 2**31 - 1),
    "features": schema.optional(schema.text),
    "learned": schema.list_of(schema.integer()),
    "seen": schema.list_of(schema.integer()),
    "states": schema.list_of(schema.tuple_of(*[schema.integer(0, 2**64 - 1)] * LINE)),
}
_ARRAYS = {
    "trace": TRACE,
    "networks": schema.Array(("networks", "weights"), schema.fits_float32),
    "rows": schema.Array(("rows", "columns"), schema.fits_float32),
}
RUN_FILE = Format(
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
ON_DEMAND_FILE = Format(
    "cfrlib.deep.DeepCFR explored 1",
    "run",
    "DeepCFR.save",
    _HEADER,
    {**_ARRAYS, "sheets": schema.Array(("rows", "feature_columns"), schema.fits_float32)},
)


class DeepCFR(CompiledOrOnDemand, Run):
    """A run of Deep CFR that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game. If it compiles, each network is evaluated at all infosets at once. Otherwise
        the networks are evaluated at the infosets that traversals visit, exploitability is not
        known, and strategies are a :class:`Policy`.
    traversals : int
        Traversals of each player in each iteration.
    sampling : str or Sampling
        As for :class:`cfrlib.MCCFR`; external by default, as in the paper.
    average : str
        - ``"network"``: a network trained on the strategies of all iterations, as in the paper.
          It is trained when the average is first needed. Two players only.
        - ``"mixture"``: the strategy of one iteration, sampled before each game (Single Deep
          CFR), computed as exact probabilities. For any number of players.
    advantage, strategy : Training
        Architecture and training of the advantage networks and of the average strategy's
        network. A game that does not compile needs a `batch`; the default is 1,024.
    memory : int
        Rows of each memory.
    baseline : float, optional
        Step size of a baseline: a moving average of each action's sampled values, which reduces
        the variance of outcome and robust sampling.
    features : float array, shape (infosets, inputs), optional
        The networks' input at each infoset, in the order of ``cfrlib.compile(game)``. By
        default the game's own method ``features(labels)``, if it has one; else one-hot words of
        the label by position (:func:`cfrlib.deep.encode`, or ``hashed`` if the game does not
        compile). Networks with a cell read the words in order (:func:`cfrlib.deep.spell`).
    seed : int, optional
        Two runs with the same seed give the same numbers on the same kind of processor.
    on_demand : bool, optional
        Whether to expand the tree during traversals. By default only if the game does not
        compile.
    actions : int, optional
        The largest number of actions at an infoset, for a game that does not compile. By
        default the largest number found in a thousand random games.
    jobs : int, optional
        Number of processes, or of workers of joblib's current backend, that share the
        traversals; -1 uses all there are. The numbers stay the same.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If an argument is not accepted; the message says what is.

    Notes
    -----
    Sources: Brown, Lerer, Gross & Sandholm (2019); Steinberger (2019) for the mixture.
    Networks predict advantages in units of the largest payoff.

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
    FILES: ClassVar[tuple[Format, ...]] = (RUN_FILE, ON_DEMAND_FILE)
    DEFAULT_BATCH: ClassVar[int | None]
    _actions: int  # the largest number at an infoset
    _scale: float  # the largest payoff, the unit of advantages
    _size: int  # number of weights of an advantage network
    _encode: Encoder
    _features_digest: str | None  # of the features that the caller gave

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
        self._key, self._run_id = new_key(seed), uuid.uuid4().hex
        self._build_networks(features, actions)
        self._reset()

    def _build_networks(self, features: npt.ArrayLike | None, actions: int | None) -> None:
        """Set the networks' inputs, their sizes and the unit of advantages."""
        raise NotImplementedError

    def _reset(self) -> None:
        """Set the state before the first iteration: uniform strategies, empty memories."""
        players = self.game.num_players
        options = (self.memory, self._actions, self._key)
        self._memories = [new_memory(*options, i) for i in range(players)]
        self._strategies = new_memory(*options, players)
        self._networks: list[list[Singles]] = [[] for _ in range(players)]
        self._counts = [0, 0]  # iterations, histories visited
        self.losses = [math.nan] * players
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        self._best = Measured(math.inf, 0.0, self._reset_strategies())

    def _reset_strategies(self) -> Floats:
        """Set the uniform strategy, and return it by sequence."""
        raise NotImplementedError

    # ---- iterations --------------------------------------------------------------------------

    def _warm_up(self) -> None:
        """Compile everything that a run uses; the state stays the same."""
        advantages, strategies = map(_empty_like, (self._memories[0], self._strategies))
        self._walk(0, 0, 1, advantages, strategies)
        self._train(self._training_key(0, 0), advantages, 0, 1)

    def _iterate(self, t: int) -> None:
        """Run iteration t: for each player in turn, traverse, train, update the strategy.

        If a traversal fails, because of unsound rules or a lost worker, the next call begins
        with that player.
        """
        for i in self._learners:
            if len(self._networks[i]) < t:
                memory = self._memories[i]
                self._counts[1] += self._walk(t, i, self.traversals, memory, self._strategies)
                network, self.losses[i] = self._train(self._training_key(t, i), memory, i, t)
                self._networks[i].append(network)
                self._update_strategy(t, i, network)
        self._counts[0] = t

    def _update_strategy(self, t: int, i: int, network: Singles) -> None:
        """Set player i's strategy to that of a new network."""

    def _walk(
        self, t: int, i: int, traversals: int, advantages: Memory, strategies: Memory
    ) -> int:
        """Run traversals of player i and fill the memories; return the histories visited."""
        lanes = self._traverse(t, i, traversals)
        for samples in lanes:
            offer(samples.advantages, samples.advantages.filled, advantages)
            offer(samples.strategies, samples.strategies.filled, strategies)
        return sum(samples.visited for samples in lanes)

    def _traverse(self, t: int, i: int, traversals: int) -> list[Samples]:
        """Run traversals lane by lane, here or in workers; return each lane's samples."""
        scale = 1.0 / self._scale
        lanes = [
            Lane(self.game, self.sampling, self._key, t, i, *ends, scale, self._actions)
            for ends in split(traversals)
        ]
        traverse, tasks = self._tasks(t, lanes)
        if self.jobs is None:
            return [traverse(task) for task in tasks]
        return workers.map_tasks(self.jobs, traverse, tasks)

    def _tasks(self, t: int, lanes: list[Lane]) -> tuple[Callable[[Any], Samples], list[Any]]:
        """Return a function that runs the traversals of a lane, and its argument per lane."""
        raise NotImplementedError

    def _train(
        self, key: jax.Array, memory: Memory, number: int, t: int, distill: bool = False
    ) -> tuple[Singles, float]:
        """Train a new network on a memory; return it and its loss.

        `number` is the index of the memory; the memory of strategies is the last one. With
        `distill` the network predicts the average strategy.
        """
        raise NotImplementedError

    def _training_key(self, t: int, i: int) -> jax.Array:
        """Return the key for training player i's network in iteration t."""
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
        """The average strategy so far, predicted by a network or as a mixture."""
        raise NotImplementedError

    @property
    def current(self) -> Strategy | Policy:
        """The strategy of the next iteration."""
        raise NotImplementedError

    def policy(self) -> Policy:
        """Return the mixture as a :class:`Policy`, whether the game compiles or not."""
        return self._policy(self._mixture_weights)

    @property
    def mixture(self) -> Strategy | Policy:
        """The average strategy as a mixture, in which iteration t's strategy has weight t."""
        raise NotImplementedError

    @property
    def advantages(self) -> InfosetTable:
        """The advantages that the current networks predict, in units of the game.

        Raises
        ------
        ValueError
            If the game does not compile.
        """
        raise NotImplementedError

    def draw(self, seed: int | None = None) -> Strategy | Policy:
        """Sample from the mixture the strategies for one game, as Single Deep CFR does.

        Each player's network is sampled independently. The network trained in iteration t is
        played in iteration t + 1, so its probability is ∝ t + 1; that of the uniform strategy,
        which is played in iteration 1, is ∝ 1.

        Parameters
        ----------
        seed : int, optional
        """
        raise NotImplementedError

    @property
    def _mixture_weights(self) -> Floats:
        """The weights of the uniform strategy and of each network.

        The last network has weight 0, as no iteration has played it.
        """
        weights = np.arange(1.0, self.iterations + 2)
        weights[self.iterations or 1 :] = 0.0
        return weights

    def _policy(self, weights: npt.NDArray[Any]) -> Policy:
        """Return a policy whose players all mix their networks with these weights."""
        networks = [np.array(stored[: self.iterations]) for stored in self._networks]
        mixtures = [weights] * self.game.num_players
        return Policy(
            self.game, self._encode, self._actions, self.advantage, networks, mixtures
        )

    def _distill(self) -> Singles:
        """Train a network to predict the average strategy."""
        t = self.iterations
        key = self._training_key(t, self.game.num_players)
        return self._train(key, self._strategies, self.game.num_players, t, True)[0]

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
            The features of the saved run, if it was given any: the file does not hold them.
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
    def _from_header(cls, file: Saved, game: Game, **options: Any) -> Self:
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
        check_digest(file.path, self._features_digest, header["features"])
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
            "features": self._features_digest,
            "learned": [len(networks) for networks in self._networks],
            "seen": [int(memory.seen[0]) for memory in memories],
            "states": [[int(word) for word in memory.state] for memory in memories],
        }
        networks = [network for stored in self._networks for network in stored]
        arrays["networks"] = np.array(networks, np.float64).reshape(-1, self._size)
        arrays["rows"] = np.concatenate([_filled_rows(memory) for memory in memories])
        return header, arrays

    @property
    def _more_sizes(self) -> dict[str, int]:
        """Sizes of the arrays that only one kind of run has."""
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
        require(header["actions"] == self._actions, "actions")
        require(len(header["losses"]) == len(header["learned"]) == players, "losses")
        require(len(header["seen"]) == len(header["states"]) == players + 1, "seen")
        require({done, done + 1}.issuperset(header["learned"]), "learned")
        require(max(header["seen"]) <= header["nodes"], "seen")
        require(bool((arrays["rows"][:, 1] >= 0).all()), "rows")
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
        """Restore the strategies in a file; raise a ValueError if no run can have them."""

    def _unpack_features(self, n: int, arrays: Arrays, rows: slice) -> None:
        """Restore the features of the rows of memory n."""


class CompiledDeepCFR(Compiled, DeepCFR):
    """Deep CFR on a compiled tree: networks are evaluated at all infosets at once."""

    DEFAULT_BATCH = None

    def _build_networks(self, features: npt.ArrayLike | None, actions: int | None) -> None:
        tree = self._form.tree
        self._legal, self._sequences = legal_actions(tree), sequences_of(tree)
        self._actions = self._legal.shape[1]
        self._features, strategy_inputs = (
            network_inputs(tree, features, training.cell is not None)
            for training in (self.advantage, self.strategy)
        )
        self._features_digest = None if features is None else digest(self._features)
        self._learner = Learner(self._features, self._legal, self.advantage)
        self._distiller = Learner(strategy_inputs, self._legal, self.strategy, True)
        self._scale = float(np.abs(self._tree.utility).max()) or 1.0
        self._size = self._learner.size
        self._encode: Encoder = self._lookup

    def _lookup(self, labels: Sequence[str]) -> Singles:
        """Return the features of infosets by their labels."""
        rows = [self._form.infoset_number[label] for label in labels]
        return self._features[rows].astype(np.float32)

    def _reset_strategies(self) -> Floats:
        form = self._form
        self._table = records(form.num_sequences, SEQUENCE)
        self._table.sigma[:] = form.uniform()
        self._total = np.zeros(form.num_sequences)  # Σ_t t · x_t, x the realization plan
        learned = form.num_sequences if self.baseline is not None else 0
        self._baseline = np.zeros((self.game.num_players, learned))
        width = room_to_draw(self.sampling, self._actions, self.game)
        self._workspace = Workspace(
            records(most_entries(form.tree, self.sampling), ENTRY),
            np.zeros((ROWS, width)),
            np.zeros(LINE, np.uint64),
            np.zeros((learned, 2)),
        )
        self._distilled: tuple[int, Floats] = (0, form.uniform())
        return form.uniform()

    # ---- iterations --------------------------------------------------------------------------

    def _warm_up(self) -> None:
        super()._warm_up()
        self._workspace.estimates[:] = 0.0  # of the traversal above, for the baseline
        self._learner(np.zeros(self._size, np.float32))

    def _update_strategy(self, t: int, i: int, network: Singles) -> None:
        first, stop = self._form.tree.player_sequences[i : i + 2]
        plans = self._form.plans(np.array(self._table.sigma))
        self._total[first:stop] += t * plans[first:stop]
        self._update_baseline(i)
        self._play(i, self._match(self._learner(network)))

    def _walk(
        self, t: int, i: int, traversals: int, advantages: Memory, strategies: Memory
    ) -> int:
        if self.jobs is not None:
            return super()._walk(t, i, traversals, advantages, strategies)
        visited: int = collect(
            self._tree.arrays,
            self._table,
            self._baseline,
            Settings(Scheme.of(self.sampling), self._key, t, i, 1.0 / self._scale),
            self._workspace,
            Memories(advantages, strategies),
            0,
            traversals,
        )
        return visited

    def _tasks(self, t: int, lanes: list[Lane]) -> tuple[Callable[[Any], Samples], list[Any]]:
        sigma = np.array(self._table.sigma)
        return partial(traverse_compiled, run_id=self._run_id, sigma=sigma), list(lanes)

    def _train(
        self, key: jax.Array, memory: Memory, number: int, t: int, distill: bool = False
    ) -> tuple[Singles, float]:
        return (self._distiller if distill else self._learner).fit(key, memory, t)

    def _update_baseline(self, i: int) -> None:
        """Move player i's baseline toward the mean of this iteration's estimates."""
        total, number = self._workspace.estimates.T
        sampled = np.flatnonzero(number)
        mean = total[sampled] / number[sampled]
        step_size = self.baseline or 0.0
        self._baseline[i, sampled] += step_size * (mean - self._baseline[i, sampled])
        self._workspace.estimates[:] = 0.0

    def _match(self, advantages: Singles) -> Floats:
        """Apply regret matching to the advantages at all infosets."""
        return match(advantages, self._legal)

    def _play(self, i: int, sigma: Floats) -> None:
        """Set player i's strategy; `sigma` has shape (infosets, actions)."""
        own = self._own(i)
        self._table.sigma[self._sequences[own]] = sigma[own]

    def _own(self, i: int) -> npt.NDArray[np.bool_]:
        """Return a mask of player i's legal actions, shape (infosets, actions)."""
        own: npt.NDArray[np.bool_] = (self._tree.infosets.player == i)[:, None]
        return self._legal & own

    # ---- results -----------------------------------------------------------------------------

    @property
    def average(self) -> Strategy:
        """The average strategy so far, predicted by a network or as a mixture."""
        return Strategy.from_vector(self._form, self._average())

    @property
    def current(self) -> Strategy:
        """The strategy of the next iteration."""
        return Strategy.from_vector(self._form, self._current())

    @property
    def mixture(self) -> Strategy:
        """The average strategy as a mixture, in which iteration t's strategy has weight t."""
        return Strategy.from_vector(self._form, self._mixture())

    @property
    def advantages(self) -> InfosetTable:
        """The advantages that the current networks predict, in units of the game."""
        advantages = np.zeros(self._form.num_sequences)
        for i, networks in enumerate(self._networks):
            own = self._own(i)
            if networks:
                predicted = self._learner(networks[-1])
                advantages[self._sequences[own]] = predicted[own] * self._scale
        return Regrets(self._form, advantages)

    def draw(self, seed: int | None = None) -> Strategy:
        """Sample from the mixture the strategies for one game, as Single Deep CFR does."""
        if not self.iterations:
            return Strategy.from_vector(self._form, self._form.uniform())
        rng = np.random.default_rng(seed)
        sampled, weights = self._form.uniform(), self._mixture_weights[:-1]
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
        infosets = schema.integers(0, len(self._legal) - 1)
        require(infosets(arrays["rows"][:, 0]), "rows")
        check_probabilities(self._form, arrays["sigma"], arrays["best"])
        self._table.sigma[:], self._total[:] = arrays["sigma"], arrays["total"]
        self._baseline[:] = arrays["baseline"]


class OnDemandDeepCFR(OnDemand, DeepCFR):
    """Deep CFR on a tree that is expanded on demand: strategies are networks only."""

    DEFAULT_BATCH = BATCH

    def _build_networks(self, features: npt.ArrayLike | None, actions: int | None) -> None:
        if features is not None or self.baseline is not None:
            raise ValueError(
                f"the infosets of {self.game!r} are not known in advance, because its tree is "
                "expanded on demand: features of all infosets and a baseline are for games "
                "that compile; give the game a method features(labels) instead, and leave "
                "baseline out"
            )
        for training in (self.advantage, self.strategy):
            if training.batch is None:
                raise ValueError(
                    f"the tree of {self.game!r} is expanded on demand, so training cannot "
                    f"pass over all infosets; give a batch, such as Training(batch={BATCH:,})"
                )
            if training.cell is not None:
                raise ValueError(
                    f"the words of the labels of {self.game!r} are not known in advance, "
                    "because its tree is expanded on demand; leave out cell"
                )
        found, self._scale, label = probe(self.game)
        self._actions = found if actions is None else whole_number("actions", actions, 1)
        self._encode = self._find_encoder()
        self._inputs = self._encode([label]).shape[1]
        self._features_digest = None
        sample = np.zeros((1, self._inputs), np.float32), np.ones((1, self._actions), bool)
        self._size = Learner(*sample, self.advantage).size

    def _find_encoder(self) -> Encoder:
        """Return the function that maps infoset labels to the networks' inputs."""
        encoder: Encoder = getattr(self.game, "features", hashed)
        return encoder

    def _reset_strategies(self) -> Floats:
        self._row_features = [
            RowFeatures(
                np.zeros((self.memory, self._inputs), np.float32),
                np.zeros(self.memory, np.int32),
            )
            for _ in range(self.game.num_players + 1)
        ]
        return np.zeros(0)

    # ---- iterations --------------------------------------------------------------------------

    def _warm_up(self) -> None:
        stored = self._row_features
        self._row_features = [
            RowFeatures._make(np.zeros_like(part) for part in stored[0])
        ] * len(stored)
        super()._warm_up()
        self._row_features = stored

    def _walk(
        self, t: int, i: int, traversals: int, advantages: Memory, strategies: Memory
    ) -> int:
        lanes = self._traverse(t, i, traversals)
        for samples in lanes:
            for n, memory, buffer in (
                (i, advantages, samples.advantages),
                (-1, strategies, samples.strategies),
            ):
                offer(buffer, buffer.filled, memory)
                self._row_features[n].store(memory, samples.features, samples.num_actions)
        return sum(samples.visited for samples in lanes)

    def _tasks(self, t: int, lanes: list[Lane]) -> tuple[Callable[[Any], Samples], list[Any]]:
        distilled = self.average_by == "network"
        return traverse_on_demand, [
            (lane, Profile(self._encode, self._current_networks(t, n), distilled))
            for n, lane in enumerate(lanes)
        ]

    def _current_networks(self, t: int, lane: int) -> list[Network | None]:
        """Return the network of each player in a lane of iteration t; None plays uniformly."""
        return [
            Network(networks[-1], self.advantage) if networks else None
            for networks in self._networks
        ]

    def _train(
        self, key: jax.Array, memory: Memory, number: int, t: int, distill: bool = False
    ) -> tuple[Singles, float]:
        # Each number of rows is compiled separately, so it is rounded up to a power of two.
        rows = min(self.memory, max(MIN_ROWS, 1 << (max(memory.filled, 1) - 1).bit_length()))
        stored = self._row_features[number]
        legal = np.arange(self._actions) < stored.num_actions[:rows, None]
        training = self.strategy if distill else self.advantage
        learner = Learner(stored.features[:rows], legal, training, distill)
        numbered = memory._replace(
            infoset=np.arange(rows, dtype=np.int32),
            weight=memory.weight[:rows],
            target=memory.target[:rows],
        )
        return learner.fit(key, numbered, t)

    # ---- results -----------------------------------------------------------------------------

    @property
    def average(self) -> Policy:
        """The average strategy so far, predicted by a network or as a mixture."""
        if self.average_by == "mixture" or not self.iterations:
            return self.mixture
        network, players = self._distill(), self.game.num_players
        networks, weights = [network[None]] * players, [np.array([0.0, 1.0])] * players
        return Policy(
            self.game, self._encode, self._actions, self.strategy, networks, weights, True
        )

    @property
    def current(self) -> Policy:
        """The strategy of the next iteration."""
        return self._policy(np.arange(self.iterations + 1) == self.iterations)

    @property
    def mixture(self) -> Policy:
        """The average strategy as a mixture, in which iteration t's strategy has weight t."""
        return self.policy()

    @property
    def advantages(self) -> InfosetTable:
        """Raise a ValueError: there is no table of all infosets."""
        raise self._no_table("advantages")

    def solution(self) -> Solution:
        """Raise a ValueError: the strategies are not tables."""
        raise self._no_table("strategies")

    def _no_table(self, what: str) -> ValueError:
        return ValueError(
            f"there is no table of {what} of {self.game!r}, because its tree is expanded on "
            "demand, so not all infosets are known; use run.average, run.current or "
            "run.draw(), which evaluate networks at any decision"
        )

    def draw(self, seed: int | None = None) -> Policy:
        """Sample from the mixture the networks for one game, as Single Deep CFR does."""
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
        pairs = zip(self._row_features, [*self._memories, self._strategies], strict=True)
        rows = [_filled_features(stored, memory) for stored, memory in pairs]
        return header, arrays | {"sheets": np.concatenate(rows)}

    @property
    def _more_sizes(self) -> dict[str, int]:
        return {"feature_columns": 1 + self._inputs}

    def _unpack_strategies(self, arrays: Arrays) -> None:
        require(schema.integers(-1, -1)(arrays["rows"][:, 0]), "rows")
        require(schema.integers(1, self._actions)(arrays["sheets"][:, 0]), "sheets")

    def _unpack_features(self, n: int, arrays: Arrays, rows: slice) -> None:
        saved, stored = arrays["sheets"][rows], self._row_features[n]
        stored.num_actions[: len(saved)] = saved[:, 0]
        stored.features[: len(saved)] = saved[:, 1:]


DeepCFR.KINDS = (CompiledDeepCFR, OnDemandDeepCFR)


def _filled_rows(memory: Memory) -> Floats:
    """Return the filled rows of a memory, with columns infoset, weight and targets."""
    n = memory.filled
    columns = (memory.infoset[:n, None], memory.weight[:n, None], memory.target[:n])
    return np.concatenate(columns, axis=1).astype(np.float64)


def _filled_features(stored: RowFeatures, memory: Memory) -> Floats:
    """Return the number of actions and the features of the filled rows of a memory."""
    n = memory.filled
    columns = (stored.num_actions[:n, None], stored.features[:n])
    return np.concatenate(columns, axis=1).astype(np.float64)


def _check_average(average: str, game: Game) -> str:
    if average not in AVERAGES:
        raise ValueError(f"unknown average {average!r}; choose one of {AVERAGES}")
    if average == "network" and game.num_players != 2:
        raise ValueError(
            f'average="network" is for two players, {game!r} has {game.num_players}: how often '
            "an infoset is sampled would depend on the strategies of third players; choose "
            'average="mixture"'
        )
    return average


def _empty_like(memory: Memory) -> Memory:
    """Return an empty memory of the same size."""
    return Memory._make(np.zeros_like(part) for part in memory)


def _normalized(form: SequenceForm, sigma: Floats) -> Floats:
    """Divide, in place, by sums that differ from 1 by the rounding of single precision."""
    t = form.treeplexes
    for start, stop in zip(t.infoset_start, t.infoset_stop, strict=True):
        sigma[start:stop] /= sigma[start:stop].sum()
    return sigma
