"""Double Neural CFR: two networks in place of the two tables of Monte Carlo CFR+.

An iteration is one of :class:`cfrlib.MCCFR`: a batch of traversals adds to the cumulative
regrets and to the strategy sums. Then the training of two networks continues, with one target
for each infoset visited: the network's own prediction plus what the batch has added. From then
on the predictions replace the sums. The RegretSumNetwork (RSN) predicts R(I, a), the
AvgStrategyNetwork (ASN) predicts S(I, a) (Li, Hu, Zhang, Qi & Song, 2020). So a run stores
nothing but the weights of two networks, and their errors remain in the sums.

Both sums are nonnegative, range over orders of magnitude, and only their ratios at one infoset
matter. So the networks learn log(1 + sum / unit), in which an error is a relative error.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Self

import jax
import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import real_number
from cfrlib.core.files import Array, Fields, PathLike, Saved
from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.deep.features import (
    check_digest,
    digest,
    legal_actions,
    network_inputs,
    sequences_of,
)
from cfrlib.deep.networks import NETWORKS_ERR, Learner, Training, random_key
from cfrlib.game import Game
from cfrlib.montecarlo.mccfr import MCCFR
from cfrlib.montecarlo.schemes import RobustSampling, Sampling, from_file, in_file
from cfrlib.run import Run

ROBUST = RobustSampling(1)
REGRET, STRATEGY = range(2)  # indices of the networks


class DoubleNeural(MCCFR):
    """A run of Double Neural CFR that can be continued, saved and inspected.

    Parameters
    ----------
    game : Game
        Any game for two players that compiles.
    sampling : str or Sampling
        As for :class:`cfrlib.MCCFR`; ``RobustSampling(1)`` by default.
    batch : int
        Traversals of each player in each iteration.
    regret, strategy : Training
        Architecture and training of RegretSumNetwork and AvgStrategyNetwork.
    rehearse : float
        The fraction of infosets visited in earlier iterations, but not in this one, that are
        also trained on, with the network's own predictions as targets. 0 trains on none, as in
        the paper; 1 on all.
    features : float array, shape (infosets, inputs), optional
        The networks' input at each infoset, in the order of ``cfrlib.compile(game)``. By
        default the player's number and the game's own ``features(labels)``, if it has that
        method, or one-hot words of the label by position (:func:`cfrlib.deep.encode`). Networks
        with a cell read the words in order (:func:`cfrlib.deep.spell`).
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
    Source: Li, Hu, Zhang, Qi & Song (2020). As in CFR+, regrets are clipped at 0 and iteration
    t has weight t in the average.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> run = cfr.deep.DoubleNeural(cfr.games.KuhnPoker(), batch=500, seed=0)
    >>> run.run(30).solution().exploitability < 0.05
    True

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     run.save(f"{folder}/kuhn.npz")
    ...     again = cfr.deep.DoubleNeural.load(f"{folder}/kuhn.npz", run.game)
    >>> again.iterations, again.current == run.current
    (30, True)
    """

    METHOD, CAVEAT = "Double Neural CFR", NETWORKS_ERR
    FORMAT = "cfrlib.DoubleNeural 3"

    def __init__(
        self,
        game: Game,
        *,
        sampling: str | Sampling = ROBUST,
        batch: int = 1_000,
        regret: Training | None = None,
        strategy: Training | None = None,
        rehearse: float = 1.0,
        features: npt.ArrayLike | None = None,
        seed: int | None = None,
    ):
        if game.num_players != 2:
            raise ValueError(
                f"Double Neural CFR is for two players, {game!r} has {game.num_players}: an "
                "infoset's share of the average would depend on the strategies of third "
                "players; use cfrlib.MCCFR"
            )
        real_number("rehearse", rehearse, 0, 1)
        super().__init__(
            game, "cfr+", sampling=sampling, batch=batch, seed=seed, threads=1, on_demand=False
        )
        self.rehearse = rehearse
        self.trainings = (regret or Training(), strategy or Training())
        tree = sequence_form(game).tree
        self._legal, self._sequences = legal_actions(tree), sequences_of(tree)
        inputs = [
            network_inputs(tree, features, training.cell is not None, True)
            for training in self.trainings
        ]
        self._features_digest = None if features is None else digest(inputs[0])
        self._learners = [
            Learner(rows, self._legal, training)
            for rows, training in zip(inputs, self.trainings, strict=True)
        ]
        self._networks = [
            learner.initial_weights(random_key(self._settings.key, 0, n))
            for n, learner in enumerate(self._learners)
        ]
        self._visited, self._ever_visited = np.zeros((2, 2, tree.num_infosets), bool)
        self.losses = [math.nan, math.nan]

    # ---- iterations --------------------------------------------------------------------------

    def _advance(self, count: int, interrupted: Sequence[int] = ()) -> None:
        """Run `count` iterations one by one, because each ends with training."""
        Run._advance(self, count, interrupted)

    def _warm_up(self) -> None:
        """Compile training and prediction before the clock starts; the state stays the same."""
        super()._warm_up()
        for n, learner in enumerate(self._learners):
            has_target = np.ones(len(self._legal), bool)
            target = np.zeros(self._legal.shape, np.float32)
            learner.refit(self._networks[n], self._training_key(0, n), has_target, target)
            learner(self._networks[n])

    def _iterate(self, t: int) -> None:
        """Run iteration t in tables, then replace their sums by the networks' predictions."""
        super()._iterate(t)
        table = self._tables.table
        for n, sums in ((REGRET, table.regret), (STRATEGY, table.total)):
            if self._visited[n].any():
                sums[self._sequences[self._legal]] = self._train(t, n, sums)
        self._match()
        self._ever_visited |= self._visited
        self._visited[:] = False

    def _apply_batch(self, i: int, *threads: Any) -> None:
        """Record which infosets player i's traversals have visited, for each network."""
        own = self._tree.infosets.player == i
        averaged, lanes = own if self.averaging == "own" else ~own, self._walks.lanes
        for sums, counts in zip(lanes.sums, lanes.counts, strict=True):
            touched = sums.touched[: counts[0]]
            self._visited[REGRET, touched] |= own[touched]
            self._visited[STRATEGY, touched] |= averaged[touched]
        super()._apply_batch(i, *threads)

    def _train(self, t: int, n: int, sums: Floats) -> Floats:
        """Train network n on the sums in the tables; return the sums that it predicts."""
        has_target = self._visited[n].copy()
        old = np.flatnonzero(self._ever_visited[n] & ~has_target)
        rng = np.random.default_rng([int(self._settings.key), t, n])
        has_target[rng.permutation(old)[: round(self.rehearse * len(old))]] = True
        learner = self._learners[n]
        target = np.zeros(self._legal.shape, np.float32)
        target[self._legal] = self._compress(n, sums[self._sequences[self._legal]])
        self._networks[n], self.losses[n] = learner.refit(
            self._networks[n], self._training_key(t, n), has_target, target
        )
        predicted = learner(self._networks[n])[self._legal].astype(np.float64)
        return self._decompress(n, predicted)

    def _unit(self, n: int) -> float:
        """Return the scale of what one traversal adds to a regret or to a strategy sum."""
        if n == STRATEGY:
            return 1.0
        return (float(np.abs(self._tree.utility).max()) or 1.0) / self.batch

    def _compress(self, n: int, sums: Floats) -> Floats:
        """Return network n's targets for nonnegative sums."""
        return np.log1p(sums / self._unit(n))

    def _decompress(self, n: int, predicted: Floats) -> Floats:
        """Return the sums that network n's predictions stand for, clipped at 0."""
        return np.asarray(self._unit(n) * np.expm1(np.maximum(predicted, 0.0)))

    def _match(self) -> None:
        """Apply regret matching: nonnegative regrets only need to be normalized."""
        table, sigma = self._tables.table, np.empty(len(self._tables.table))
        behavior(sequence_form(self.game).treeplexes, np.array(table.regret), sigma)
        q = self._sequences[self._legal]  # all but the empty sequences
        table.sigma[q] = sigma[q]

    def _training_key(self, t: int, n: int) -> jax.Array:
        """Return the key for training network n in iteration t."""
        return random_key(self._settings.key, t, n)

    # ---- results -----------------------------------------------------------------------------

    @property
    def _remark(self) -> str:
        return "losses " + ", ".join(f"{loss:.1e}" for loss in self.losses)

    @property
    def _describe(self) -> str:
        return f"{self.METHOD}, rehearse {self.rehearse:g}, {super()._describe}"

    def __repr__(self) -> str:
        return (
            f"DoubleNeural({self.game!r}, {self.sampling!r}, batch={self.batch:,}, "
            f"rehearse={self.rehearse:g}) after {self.iterations:,} iterations, "
            f"{self.nodes:,} nodes"
        )

    def copy(self) -> Self:
        """Return a copy of the run that continues independently."""
        other = super().copy()
        other._visited, other._ever_visited = self._visited.copy(), self._ever_visited.copy()
        other._networks, other.losses = list(self._networks), list(self.losses)
        return other

    # ---- files -------------------------------------------------------------------------------

    @classmethod
    def load(  # type: ignore[override]  # no threads
        cls, path: PathLike, game: Game, *, features: npt.ArrayLike | None = None
    ) -> DoubleNeural:
        """Return the run saved in `path`, ready to continue exactly where it stopped.

        Parameters
        ----------
        path : str or path
        game : Game
        features : float array, optional
            The features of the saved run, if it was given any: the file does not hold them.

        Raises
        ------
        ValueError
            If the file is damaged, was not written by `save`, or belongs to another game or
            other features.
        """
        return cls._load(path, game, features=features)

    def _options(self) -> Fields:
        regret, strategy = map(asdict, self.trainings)
        return {
            "sampling": in_file(self.sampling),
            "batch": self.batch,
            "regret": regret,
            "strategy": strategy,
            "rehearse": self.rehearse,
        }

    @classmethod
    def _read_options(cls, options: Fields, game: Game) -> Fields:
        trainings = {name: Training.restored(options[name]) for name in ("regret", "strategy")}
        return {**options, **trainings, "sampling": from_file(options["sampling"])}

    def _numbers(self) -> Fields:
        more = {"losses": self.losses, "features": self._features_digest}
        return {**super()._numbers(), **more}

    def _state(self) -> dict[str, Array]:
        networks = {f"network{n}": network for n, network in enumerate(self._networks)}
        return {**super()._state(), "visited": self._ever_visited, **networks}

    def _restore(self, file: Saved) -> None:
        check_digest(file.path, self._features_digest, file.header["features"])
        super()._restore(file)
        file.fill(visited=self._ever_visited)
        self.losses = file.header["losses"]
        self._networks = [
            file.array(f"network{n}", (learner.size,), np.float32)
            for n, learner in enumerate(self._learners)
        ]
