"""A best response learned by deep Monte Carlo: the other lower bound on exploitability."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any, ClassVar, Self

import numpy as np

from cfrlib.core import schema
from cfrlib.core.files import Arrays, PathLike
from cfrlib.core.rng import new_key
from cfrlib.core.tree import Floats
from cfrlib.koikoi.learners.deep_monte_carlo import DeepMonteCarlo
from cfrlib.koikoi.learners.network_player import NetworkPlayer, act_by, payoff_scale
from cfrlib.koikoi.learners.segments import drawn, exploring
from cfrlib.koikoi.learners.selfplay import Samples, Task, earned, samples_of
from cfrlib.koikoi.learners.value_network import new_state
from cfrlib.koikoi.players import Player
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import (
    OVER,
    Numbers,
)


class ApproximateBestResponse(DeepMonteCarlo):
    """Deep Monte Carlo against a target that does not change: a trained best responder.

    It sits in either seat in half of the rounds, and only its own actions are taught. Against
    a fixed opponent there is nothing to mix, so taking the best action is a best response, as
    far as the network has learned which that is.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    target : Player
        Whom to beat: a `NetworkPlayer`, or any other that need not watch. With `jobs` it is
        sent to the processes.
    start : NetworkPlayer, optional
        Begin with its network, which must tell values: most often the target's own. Then
        `hidden` is that player's.
    **options
        As for :class:`DeepMonteCarlo`: `hidden`, `rounds`, `steps`, `batch`, `rate`,
        `seed`, `explore`, `jobs`.

    Raises
    ------
    ValueError
        If an argument is not accepted; the message says what is.

    Notes
    -----
    A learned lower bound of exploitability, after Timbers et al., *Approximate Exploitability*
    (2022), with plain Monte Carlo for their search.

    Examples
    --------
    >>> from cfrlib.koikoi import MiniKoiKoi
    >>> from cfrlib.koikoi.players import GreedyPlayer, duel
    >>> game, greedy = MiniKoiKoi.K8(), GreedyPlayer("stop")
    >>> options = {"hidden": (32,), "rounds": 400, "batch": 256, "rate": 3e-3}
    >>> run = ApproximateBestResponse(game, greedy, **options)
    >>> player = run.run(15, progress=False).player()
    >>> duel(game, player, greedy, deals=2_000, seed=0).mean > 0.3
    True
    """

    FORMAT = "cfrlib response learner 1"
    _EXTRA: ClassVar = {"target": schema.Array((32,), schema.whole_in(0, 255))}

    def __init__(
        self, game: KoiKoi, target: Player, *, start: NetworkPlayer | None = None,
        **options: Any,
    ):  # fmt: skip
        if start is not None:
            options = {"hidden": start.hidden} | options
        super().__init__(game, **options)
        self.target = target
        if start is not None:
            self._begin_with(start)

    def _begin_with(self, start: NetworkPlayer) -> None:
        if start.rule != "value" or len(start.networks) > 1:
            raise ValueError(f"start must play by the values of one network, got {start!r}")
        if start.networks[0].shape != (self._network.size,) or start.hidden != self.hidden:
            raise ValueError(
                f"start has a network of widths {start.hidden} for {start.game!r}; this one "
                f"has {self.hidden} for {self.game!r}"
            )
        self._states = [new_state(start.networks[0])]

    def _play(self) -> Callable[[Task], tuple[int, Samples]]:
        return partial(play_response, target=self.target, explore=self.explore)

    @classmethod
    def load(
        cls, path: PathLike, game: KoiKoi, *, jobs: int | None = None,
        target: Player | None = None,
    ) -> Self:  # fmt: skip
        """Return a saved learner, ready to run on; it ends with the numbers it would have had.

        Parameters
        ----------
        path : str or path
        game : KoiKoi or MiniKoiKoi
        jobs : int, optional
        target : Player
            The one it was trained against, which the file does not hold.

        Raises
        ------
        ValueError
            If the file is damaged, of another kind, of a game with other rules, or if the
            learner was trained against another target.
        """
        if target is None:
            raise ValueError("say whom the learner was trained against: target=…")
        with cls._reading(path, game) as file:
            self = cls(game, target, **file.header["settings"], jobs=jobs)._resume(file)
        if not np.array_equal(self._against, digest(target)):
            raise ValueError(
                f"{path} holds a learner against another target than {target!r}: load it with "
                "the very player it was trained against"
            )
        return self

    def _restore(self, steps: list[int], arrays: Arrays) -> None:
        super()._restore(steps, arrays)
        self._against = arrays["target"]

    def _arrays(self) -> Arrays:
        return super()._arrays() | {"target": digest(self.target)}


def play_response(task: Task, target: Player, explore: float) -> tuple[int, Samples]:
    """Return how many decisions a share has, and what the learner's actions paid him."""
    judge, rounds, rng = task.begin()
    simulator, unit = judge.describer.simulator, payoff_scale(task.game)
    seat, key = np.arange(task.rounds) % 2, new_key(np.random.SeedSequence((*task.seed, 1)))
    decisions = 0
    codes: list[Numbers] = []
    taught: list[Numbers] = []  # the round of each row
    while len(going := np.flatnonzero(rounds.stage != OVER)):
        decisions += len(going)
        my_turn = rounds.player[going] == seat[going]
        rows, theirs = going[my_turn], going[~my_turn]
        if len(theirs):
            simulator.act(rounds, theirs, target(simulator, rounds, theirs, key))
        if len(rows):
            after = judge.describer.after(rounds, rows)
            sigma = act_by("value", judge, task.networks[0], after, unit)
            behavior = exploring(sigma, after.start, explore)
            chosen = drawn(behavior, after.start, rng.random(len(rows)))
            learned = np.isnan(after.paid[chosen])
            codes.append(after.code[chosen[learned]])
            taught.append(rows[learned])
            simulator.act(rounds, rows, after.action[chosen])
    results = earned(seat, rounds.paid, unit)
    return decisions, samples_of(codes, [results[rows] for rows in taught])


def digest(player: Player) -> Floats:
    """Return 32 numbers that tell players apart: a hash of what one prints, and its networks.

    Examples
    --------
    >>> from cfrlib.koikoi.players import GreedyPlayer
    >>> digest(GreedyPlayer("koi")).shape
    (32,)
    """
    content = sha256(repr(player).encode())
    if isinstance(player, NetworkPlayer):
        for array in (player.weights, *player.networks):
            content.update(array.tobytes())
    return np.frombuffer(content.digest(), np.uint8).astype(np.float64)
