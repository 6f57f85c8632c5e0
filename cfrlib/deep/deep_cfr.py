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
from dataclasses import asdict
from typing import Self

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import choice, real_number, whole_number
from cfrlib.core.files import Array, Fields, PathLike, Saved
from cfrlib.core.rng import new_key
from cfrlib.core.tree import Floats, check_game
from cfrlib.deep.feature_rows import Form
from cfrlib.deep.features import check_digest
from cfrlib.deep.growing_tree import USUAL_BATCH, GrowingTree
from cfrlib.deep.lanes import TraversalLane, split_lanes
from cfrlib.deep.memory import Memory, Singles, new_memory
from cfrlib.deep.networks import NETWORKS_ERR, Training, random_key
from cfrlib.deep.policy import Encoder, Network, Policy
from cfrlib.deep.traversal import TraversalSettings
from cfrlib.deep.whole_tree import WholeTree
from cfrlib.game import Game
from cfrlib.large.partial_tree import PartialTree
from cfrlib.montecarlo.schemes import Sampling, Scheme, find_sampling, from_file, in_file
from cfrlib.montecarlo.state import OnTree
from cfrlib.regret import find_variant
from cfrlib.run import Measured, Run
from cfrlib.solution import Solution
from cfrlib.strategy import InfosetTable, Strategy
from cfrlib.words import hashed

AVERAGES = ("network", "mixture")


class DeepCFR(OnTree, Run):
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
        Rows of each memory. There is one for each player's advantages, and one for strategies
        if a network predicts the average. A row takes 8 bytes and 4 for each action: its
        target. If the tree is expanded on demand, it also takes 4 bytes and the features of its
        infoset: 2 bytes for each word of the longest label so far, rounded up to a multiple of
        16 words. So a million rows with up to 16 words take 44 MB and their targets 4 MB for
        each action. Features other than 0 and 1 take 6 bytes for each that is not 0, or 4 for
        all of them.
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
    FORMAT = "cfrlib.DeepCFR 4"
    _infosets: WholeTree | GrowingTree

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
        if baseline is not None:
            real_number("baseline", baseline, 0, 1)
        self.jobs = None if jobs is None else whole_number("jobs", jobs, -1)
        if jobs == 0 or (jobs is not None and baseline is not None):
            raise ValueError(
                "jobs must be at least 1, or -1, and a baseline is learned by one process; got "
                f"jobs={jobs!r}, baseline={baseline!r}"
            )
        self._plant(game, on_demand)
        self._tree = None if self.is_complete else PartialTree(game)  # for its empty labels
        batch = None if self.is_complete else USUAL_BATCH
        self.advantage = advantage or Training(batch=batch)
        self.strategy = strategy or Training(batch=batch)
        self.variant, self.update, self.delay = find_variant("linear"), "alternating", 0
        self._infosets = self._new_infosets(features, actions)
        self._key, players = new_key(seed), game.num_players
        self._learners = list(range(players))  # the players who learn
        # the memories of each player's advantages, and the memory of strategies
        rows = [self.memory] * players + [self.memory if average == "network" else 0]
        rest = self._infosets.actions, self._key
        self._memories = [
            new_memory(size, *rest, n, self._infosets.example) for n, size in enumerate(rows)
        ]
        self._networks: list[list[Singles]] = [[] for _ in range(players)]
        self._iterations = self._nodes = 0
        self._sampled = [0] * players  # the last iteration whose traversals are done
        self.losses = [math.nan] * players
        self.seconds = 0.0
        self._rows: list[list[float]] = []
        self._distilled: tuple[int, Strategy | Policy] | None = None  # when, and the average
        worst = (math.inf, 0.0) if self._measurable else (math.nan, math.nan)
        self._best = Measured(*worst, self._current())

    def _new_infosets(
        self, features: npt.ArrayLike | None, actions: int | None
    ) -> WholeTree | GrowingTree:
        """Return an object that evaluates networks at the infosets of the tree."""
        options = self.sampling, self.advantage, self.strategy
        if self._form:
            return WholeTree(self._form, *options, features, self.baseline)
        if features is not None or self.baseline is not None:
            raise ValueError(
                f"the infosets of {self.game!r} are not known in advance, because its tree is "
                "expanded on demand: features of all infosets and a baseline are for games "
                "that compile; give the game a method features(labels) instead, and leave "
                "baseline out"
            )
        distilled = self.average_by == "network"
        return GrowingTree(self.game, *options, self._find_encoder(), actions, distilled)

    def _find_encoder(self) -> Encoder:
        """Return the function that maps labels to the networks' inputs, if the tree grows."""
        encoder: Encoder = getattr(self.game, "features", hashed)
        return encoder

    # ---- iterations --------------------------------------------------------------------------

    def _iterate(self, t: int) -> None:
        """Run iteration t: for each player in turn, traverse, train, update the strategy.

        If a step fails, because of unsound rules, a lost worker or Ctrl-C, the next call
        begins with that step.
        """
        for i in self._learners:
            if self._sampled[i] < t:
                self._nodes += self._walk(t, i, self.traversals, self._memories)
                self._sampled[i] = t
            if len(self._networks[i]) < t:  # as `Learner.fit` does
                key = random_key(self._key, t, i)
                network, self.losses[i] = self._infosets.fit(key, self._memories[i], t)
                self._infosets.update(t, i, network)
                self._networks[i].append(network)
        self._iterations = t

    def _walk(self, t: int, i: int, traversals: int, memories: list[Memory]) -> int:
        """Run traversals of player i and fill the memories; return the histories visited."""
        scale = 1.0 / self._infosets.scale
        settings = TraversalSettings(Scheme.of(self.sampling), self._key, t, i, scale)
        lanes = [
            TraversalLane(settings, *ends, self._current_networks(t, n))
            for n, ends in enumerate(split_lanes(traversals))
        ]
        return self._infosets.traverse(lanes, memories, self.jobs)

    def _current_networks(self, t: int, lane: int) -> list[Network | None]:
        """Return the network of each player in a lane of iteration t; None plays uniformly."""
        return [
            Network(networks[-1], self.advantage) if networks else None
            for networks in self._networks
        ]

    def _warm_up(self) -> None:
        """Compile everything that a run uses, with other memories; the state stays the same."""
        memories = [memory.emptied() for memory in self._memories]
        self._walk(0, 0, 1, memories)
        network, _ = self._infosets.fit(random_key(self._key, 0, 0), memories[0], 1)
        if isinstance(self._infosets, WholeTree):
            self._infosets.learner(network)

    # ---- results -----------------------------------------------------------------------------

    @property
    def iterations(self) -> int:
        """Iterations done so far."""
        return self._iterations

    @property
    def nodes(self) -> int:
        """Histories visited so far."""
        return self._nodes

    @property
    def average(self) -> Strategy | Policy:
        """The average strategy so far, predicted by a network or as a mixture."""
        t, players = self.iterations, self.game.num_players
        if self.average_by == "mixture" or not t:
            return self.mixture
        if self._distilled is None or self._distilled[0] != t:
            key = random_key(self._key, t, players)
            network, _ = self._infosets.fit(key, self._memories[-1], t, distill=True)
            self._distilled = t, self._infosets.average(network)
        return self._distilled[1]

    @property
    def current(self) -> Strategy | Policy:
        """The strategy of the next iteration."""
        return self._infosets.current(self._done)

    @property
    def mixture(self) -> Strategy | Policy:
        """The average strategy as a mixture, in which iteration t's strategy has weight t."""
        return self._infosets.mixture(self._done)

    def policy(self) -> Policy:
        """Return the mixture as a :class:`Policy`, whether the game compiles or not."""
        return self._infosets.policy(self._done)

    def draw(self, seed: int | None = None) -> Strategy | Policy:
        """Sample from the mixture the strategies for one game, as Single Deep CFR does.

        Each player's network is sampled independently. The network trained in iteration t is
        played in iteration t + 1, so its probability is ∝ t + 1; that of the uniform strategy,
        which is played in iteration 1, is ∝ 1.

        Parameters
        ----------
        seed : int, optional
        """
        return self._infosets.draw(self._done, seed)

    @property
    def advantages(self) -> InfosetTable:
        """The advantages that the current networks predict, in units of the game.

        Raises
        ------
        ValueError
            If the tree grows: there is no table of all infosets.
        """
        return self._infosets.advantages(self._networks)

    def solution(self) -> Solution:
        """Return the present state as a `Solution`, which later iterations do not change.

        Raises
        ------
        ValueError
            If the tree grows: its strategies are not tables.
        """
        if isinstance(self._infosets, GrowingTree):
            raise self._infosets.no_table("strategies")
        return super().solution()

    @property
    def _done(self) -> list[list[Singles]]:
        """The networks of each player, without those of an iteration not completed."""
        return [networks[: self.iterations] for networks in self._networks]

    def _average(self) -> Floats:
        return _by_sequence(self.average) if self.is_complete else np.zeros(0)

    def _current(self) -> Floats:
        return _by_sequence(self.current) if self.is_complete else np.zeros(0)

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
    ) -> Self:
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

    def _options(self) -> Fields:
        return {
            "traversals": self.traversals,
            "sampling": in_file(self.sampling),
            "average": self.average_by,
            "advantage": asdict(self.advantage),
            "strategy": asdict(self.strategy),
            "memory": self.memory,
            "baseline": self.baseline,
            "on_demand": not self.is_complete,
            "actions": None if self.is_complete else self._infosets.actions,
        }

    @classmethod
    def _read_options(cls, options: Fields, game: Game) -> Fields:
        names = "advantage", "strategy"
        trainings = {name: Training.restored(options[name]) for name in names}
        return {**options, **trainings, "sampling": from_file(options["sampling"])}

    def _numbers(self) -> Fields:
        return {
            "key": int(self._key),
            "iterations": self.iterations,
            "nodes": self.nodes,
            "sampled": self._sampled,
            "losses": self.losses,
            "features": self._infosets.features_digest,
        }

    def _state(self) -> dict[str, Array]:
        arrays = dict(self._infosets.state())
        for i, networks in enumerate(self._networks):
            shape = len(networks), self._infosets.size
            arrays[f"networks{i}"] = np.array(networks, np.float32).reshape(shape)
        for n, memory in enumerate(self._memories):
            arrays |= {f"memory{n}.seen": memory.seen, f"memory{n}.state": memory.state}
            arrays |= {f"memory{n}.{name}": rows for name, rows in memory.arrays().items()}
        return arrays

    def _restore(self, file: Saved) -> None:
        header = file.header
        check_digest(file.path, self._infosets.features_digest, header["features"])
        self._key, self.losses = np.uint64(header["key"]), header["losses"]
        self._iterations, self._nodes = header["iterations"], header["nodes"]
        self._sampled = header["sampled"]
        file.fill(**self._infosets.state())
        for i, networks in enumerate(self._networks):
            networks[:] = file.array(f"networks{i}", (None, self._infosets.size), np.float32)
        infosets = self._form.tree.num_infosets if self._form else self.memory
        for n, memory in enumerate(self._memories):
            file.fill(**{f"memory{n}.seen": memory.seen, f"memory{n}.state": memory.state})
            if memory.inputs:
                shapes = (file.shape(f"memory{n}.{name}") for name in ("columns", "values"))
                width, stored = (shape[-1] for shape in shapes)
                form = Form(min(width, memory.inputs), stored > 0 or not width)
                memory = memory.with_features(memory.features.into(form, 0))
                self._memories[n] = memory
            file.fill(**{f"memory{n}.{name}": rows for name, rows in memory.arrays().items()})
            memory.check(infosets)


def _check_average(average: str, game: Game) -> str:
    choice("average", average, AVERAGES)
    if average == "network" and game.num_players != 2:
        raise ValueError(
            f'average="network" is for two players, {game!r} has {game.num_players}: how often '
            "an infoset is sampled would depend on the strategies of third players; choose "
            'average="mixture"'
        )
    return average


def _by_sequence(strategy: Strategy | Policy) -> Floats:
    """Return the probabilities of a table, by sequence."""
    assert isinstance(strategy, Strategy)
    return strategy.values_by_sequence.copy()
