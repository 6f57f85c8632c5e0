"""Approximate best response by deep Monte Carlo: a lower bound on exploitability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Self

import numpy as np

from cfrlib.core import files
from cfrlib.core.files import Fields, PathLike, Saved
from cfrlib.core.rng import new_key
from koikoi.learners.deep_monte_carlo import HIDDEN, DeepMonteCarlo
from koikoi.learners.network_player import (
    NetworkPlayer,
    action_probabilities,
    payoff_scale,
)
from koikoi.learners.segments import mix_uniform, sample_rows
from koikoi.learners.selfplay import Samples, Task, payoffs_of, samples_of
from koikoi.learners.value_network import new_state
from koikoi.rules import KoiKoi
from koikoi.simulator import OVER, Numbers, Player


class ApproximateBestResponse(DeepMonteCarlo):
    """Deep Monte Carlo against a fixed target player.

    The learner takes either seat in half of the rounds and trains on its own actions only.
    Against a fixed opponent there is no need to mix: the greedy strategy is a best response as
    far as the values are accurate.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    target : Player
        The player to exploit: a `NetworkPlayer`, or any other player that does not have to
        watch. With `jobs` it is sent to the workers.
    start : NetworkPlayer, optional
        Start from the network of this player, which must predict values; usually the target
        itself.
    hidden, network
        As for :class:`DeepMonteCarlo`; by default those of `start`, if it is given.
    rounds, steps, batch, rate, seed, explore, jobs
        As for :class:`DeepMonteCarlo`.

    Raises
    ------
    ValueError
        If an argument is out of range, or `start` does not fit.

    Notes
    -----
    A learned lower bound on exploitability after Timbers et al., *Approximate Exploitability*
    (2022), with plain Monte Carlo in place of their search.

    Examples
    --------
    >>> from koikoi import MiniKoiKoi
    >>> import cfrlib as cfr
    >>> from koikoi.players import GreedyPlayer
    >>> from koikoi.simulator import Simulator
    >>> game, greedy = MiniKoiKoi.K8(), GreedyPlayer("stop")
    >>> options = {"hidden": (32,), "rounds": 400, "batch": 256, "rate": 3e-3}
    >>> run = ApproximateBestResponse(game, greedy, **options)
    >>> player = run.run(15, progress=False).player()
    >>> cfr.exploitability_bound(Simulator(game), greedy, player, rounds=2_000).mean > 0.3
    True
    """

    FORMAT = "koikoi.ApproximateBestResponse 2"

    def __init__(
        self,
        game: KoiKoi,
        target: Player,
        *,
        start: NetworkPlayer | None = None,
        hidden: Sequence[int] | None = None,
        rounds: int = 2_000,
        steps: int = 24,
        batch: int = 1_024,
        rate: float = 1e-3,
        seed: int = 0,
        explore: float = 0.05,
        jobs: int | None = None,
        network: str | None = None,
    ):
        if hidden is None:
            hidden = start.hidden if start else HIDDEN
        if network is None:
            network = start.network.kind if start else "mlp"
        super().__init__(
            game,
            hidden=hidden,
            rounds=rounds,
            steps=steps,
            batch=batch,
            rate=rate,
            seed=seed,
            explore=explore,
            jobs=jobs,
            network=network,
        )
        self.target = target
        if start is not None:
            self._start_from(start)

    def _start_from(self, start: NetworkPlayer) -> None:
        if start.rule != "value" or len(start.networks) > 1:
            raise ValueError(f"start must play by the values of one network, got {start!r}")
        if start.networks[0].shape != (self._networks[0].size,) or start.hidden != self.hidden:
            raise ValueError(
                f"start has a network of widths {start.hidden} for {start.game!r}; this one "
                f"has {self.hidden} for {self.game!r}"
            )
        self._states = [new_state(start.networks[0])]

    def _play(self) -> Callable[[Task], tuple[int, Samples]]:
        return partial(play_response, target=self.target, explore=self.explore)

    @classmethod
    def load(
        cls,
        path: PathLike,
        game: KoiKoi,
        *,
        jobs: int | None = None,
        target: Player | None = None,
    ) -> Self:
        """Load a saved learner; resumed, it ends with the same numbers as without the stop.

        Parameters
        ----------
        path : str or path
        game : KoiKoi or MiniKoiKoi
        jobs : int, optional
        target : Player
            The player it was trained against, which the file does not contain.

        Raises
        ------
        ValueError
            If the file is damaged, of another kind, of a game with other rules, or if the
            learner was trained against another target.
        """
        if target is None:
            raise ValueError("pass the player that the learner was trained against: target=…")
        return cls._load(path, game, target=target, jobs=jobs)

    def _numbers(self) -> Fields:
        return {**super()._numbers(), "target": identity(self.target)}

    def _restore(self, file: Saved) -> None:
        super()._restore(file)
        if file.header["target"] != identity(self.target):
            raise files.Mismatch(
                f"{file.path} holds a learner against another target than {self.target!r}; "
                "load it with the very player it was trained against"
            )


def play_response(task: Task, target: Player, explore: float) -> tuple[int, Samples]:
    """Play a task against the target, ε-greedily.

    Returns
    -------
    decisions : int
        Number of decisions of both players.
    samples : Samples
        The payoffs of the learner's actions.
    """
    network, rounds, rng = task.begin()
    simulator, scale = network.describer.simulator, payoff_scale(task.game)
    seat, key = np.arange(task.rounds) % 2, new_key(np.random.SeedSequence((*task.seed, 1)))
    decisions = 0
    codes: list[Numbers] = []
    played: list[Numbers] = []  # the round of each row
    while len(active := np.flatnonzero(rounds.stage != OVER)):
        decisions += len(active)
        my_turn = rounds.player[active] == seat[active]
        rows, theirs = active[my_turn], active[~my_turn]
        if len(theirs):
            simulator.act(rounds, theirs, target(simulator, rounds, theirs, key))
        if len(rows):
            after = network.describer.after(rounds, rows)
            sigma = action_probabilities("value", network, task.networks[0], after, scale)
            behavior = mix_uniform(sigma, after.start, explore)
            chosen = sample_rows(behavior, after.start, rng.random(len(rows)))
            unknown = np.isnan(after.paid[chosen])
            codes.append(after.code[chosen[unknown]])
            played.append(rows[unknown])
            simulator.act(rounds, rows, after.action[chosen])
    payoff = payoffs_of(seat, rounds.paid, scale)
    return decisions, samples_of(codes, [payoff[rows] for rows in played])


def identity(player: Player) -> str:
    """Return a text that identifies a player: its repr, and the checksum of its networks.

    Examples
    --------
    >>> from koikoi.players import GreedyPlayer
    >>> identity(GreedyPlayer("koi"))
    "GreedyPlayer(call='koi')"
    """
    networks = f", {player.checksum}" if isinstance(player, NetworkPlayer) else ""
    return f"{player!r}{networks}"
