"""Evaluation by play: many rounds in lockstep, with one call of a player per step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import distributions, whole_number
from cfrlib.core.tree import Floats, check_game, name_history
from cfrlib.game import Action, Chance, Decision, Game, Terminal
from cfrlib.strategy import probability_row

BatchPolicy: TypeAlias = Callable[[Sequence[Decision], Floats], Floats]
Player: TypeAlias = "Mapping[str, Mapping[Action, float]] | BatchPolicy"
MAX_ACTIONS = 1_000_000  # per round


def simulate(
    game: Game, players: Player | Sequence[Player], rounds: int, *, seed: int | None = None
) -> Floats:
    """Play rounds of a game and return the payoffs, shape (rounds, players).

    All rounds are played in lockstep, so that a player is called once for all its decisions
    at a step. Chance's actions depend on the seed and on the history of their round alone:
    with the same seed, two profiles can be compared round by round.

    Parameters
    ----------
    game : Game
    players : sequence, or one player for all seats
        One player per seat. A player is a strategy; a dictionary of infosets, uniform at the
        others; or a function such as a :class:`cfrlib.deep.Policy`. The function gets the
        decisions and a uniform random number in [0, 1) for each, which is fixed for a player
        and round. It returns probabilities, shape (decisions, most actions or more).
    rounds : int
        The number of rounds.
    seed : int, optional
        Seed of chance, of the players' random numbers and of their actions.

    Raises
    ------
    ValueError
        If an argument is invalid, a player returns no distribution, or a round does not end.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> solved, uniform = cfr.solve(game, "cfr+").strategy, cfr.Strategy.uniform(game)
    >>> payoffs = simulate(game, [solved, uniform], 10_000, seed=0)
    >>> bool(payoffs[:, 0].mean() > 0.1)
    True
    """
    check_game(game)
    whole_number("rounds", rounds, 1)
    if isinstance(players, Mapping) or callable(players):  # a profile
        players = [players] * game.num_players
    if len(players) != game.num_players:
        raise ValueError(
            f"{game!r} has {game.num_players} players, got {len(players)}: give one player per "
            "seat; the same one may take several seats"
        )
    return _Rounds(game, players, rounds, np.random.SeedSequence(seed)).play()


class _Rounds:
    """The state of all rounds of a simulation."""

    def __init__(
        self, game: Game, players: Sequence[Player], rounds: int, seed: np.random.SeedSequence
    ):
        self.game = game
        self.players = [batch_policy(player) for player in players]
        chance, own, actions = seed.spawn(3)
        self.chance_uniforms = _Uniforms(chance, rounds)
        self.action_uniforms = _Uniforms(actions, rounds)
        self.player_uniforms = np.random.default_rng(own).random((len(players), rounds))
        self.payoffs = np.zeros((rounds, len(players)))
        self.histories = [game.root()] * rounds
        self.paths: list[tuple[Action, ...]] = [()] * rounds
        self.num_chance = np.zeros(rounds, np.int64)  # chance's actions so far
        self.num_decisions = np.zeros(rounds, np.int64)

    def play(self) -> Floats:
        """Play all rounds to the end and return the payoffs."""
        active = list(range(len(self.payoffs)))
        for _ in range(MAX_ACTIONS):
            pending: list[list[int]] = [[] for _ in self.players]
            nodes: dict[int, Decision] = {}
            unfinished = []
            for r in active:
                try:
                    node = self.game.node(self.histories[r])
                except Exception as error:
                    name_history(error, self.game, self.paths[r])
                    raise
                if isinstance(node, Terminal):
                    self.payoffs[r] = node.utilities
                    continue
                unfinished.append(r)
                if isinstance(node, Chance):
                    self._sample_chance(r, node)
                else:
                    nodes[r] = node
                    pending[node.player].append(r)
            for i, rows in enumerate(pending):
                if rows:
                    self._sample_actions(i, rows, [nodes[r] for r in rows])
            if not unfinished:
                return self.payoffs
            active = unfinished
        raise ValueError(f"{self.game!r} did not end within a million actions")

    def _sample_chance(self, r: int, node: Chance) -> None:
        action = pick(node.probabilities, self.chance_uniforms(r, self.num_chance[r]))
        self.num_chance[r] += 1
        self._step(r, action)

    def _step(self, r: int, a: Action) -> None:
        """Take an action in round r."""
        self.paths[r] = (*self.paths[r], a)
        try:
            self.histories[r] = self.game.step(self.histories[r], a)
        except Exception as error:
            name_history(error, self.game, self.paths[r])
            raise

    def _sample_actions(self, i: int, rows: list[int], nodes: list[Decision]) -> None:
        """Sample player i's actions at these decisions."""
        given = np.asarray(self.players[i](nodes, self.player_uniforms[i, rows]), np.float64)
        legal = np.array([len(node.actions) for node in nodes])
        sigma = None
        if given.ndim == 2 and len(given) == len(rows) and given.shape[1] >= legal.max():
            # what stands right of the last action counts for nothing
            own = np.arange(given.shape[1]) < legal[:, None]
            sigma = distributions(np.where(own, given, 0.0))
        if sigma is None:
            raise ValueError(
                f"player {i} must return a row of probabilities for each of {len(rows)} "
                f"decisions, its actions in order, shape ({len(rows)}, {legal.max()}) or "
                f"wider; got shape {given.shape}: {given!r}"
            )
        u = np.array([self.action_uniforms(r, self.num_decisions[r]) for r in rows])
        last = sigma.shape[1] - 1 - (sigma[:, ::-1] > 0).argmax(axis=1)
        sampled = np.minimum((u[:, None] >= np.cumsum(sigma, axis=1)).sum(axis=1), last)
        for r, node, a in zip(rows, nodes, sampled.tolist(), strict=True):
            self.num_decisions[r] += 1
            self._step(r, node.actions[a])


def pick(row: Mapping[Action, float], u: float) -> Action:
    """Sample an action by inversion, from a uniform random number u in [0, 1)."""
    last = None
    for a, p in row.items():
        if p > 0:
            last = a
            u -= p
            if u < 0:
                break
    return last


class _Uniforms:
    """Random numbers by round: the n-th number of a round does not depend on other rounds."""

    def __init__(self, seed: np.random.SeedSequence, rounds: int):
        self.rng, self.rounds = np.random.default_rng(seed), rounds
        self.columns: list[npt.NDArray[np.float64]] = []

    def __call__(self, r: int, n: int) -> float:
        while n >= len(self.columns):
            self.columns.append(self.rng.random(self.rounds))
        return float(self.columns[n][r])


def batch_policy(player: Player) -> BatchPolicy:
    """Return a function of many decisions at a time for any kind of player."""
    if not isinstance(player, Mapping):
        if not callable(player):
            raise ValueError(
                "a player is a strategy, a dictionary of infosets, or a function of decisions "
                f"and random numbers; got {type(player).__name__}"
            )
        return player
    strategy: Mapping[str, Any] = player
    known: dict[str, Floats] = {}

    def policy(nodes: Sequence[Decision], uniforms: Floats) -> Floats:
        sigma = np.zeros((len(nodes), max(len(node.actions) for node in nodes)))
        for row, node in zip(sigma, nodes, strict=True):
            n = len(node.actions)
            if node.infoset not in known:
                given = strategy.get(node.infoset) or dict.fromkeys(node.actions, 1 / n)
                known[node.infoset] = probability_row(node.infoset, node.actions, given)
            row[:n] = known[node.infoset]
        return sigma

    return policy
