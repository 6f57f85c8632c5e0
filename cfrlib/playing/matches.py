"""Evaluation by play: many rounds in lockstep, with one call of a player per step.

`simulate` returns the payoffs of a profile; `match` compares two players in all seats.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import distributions, whole_number
from cfrlib.core.tree import Floats, check_game, name_history
from cfrlib.game import Action, Chance, Decision, Game, History, Terminal
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
    return play_rounds(game, players, rounds, np.random.SeedSequence(seed))


class Engine(Protocol):
    """A program that plays many rounds of its own game, with players of its own kind."""

    num_players: int

    def play_rounds(
        self, players: Sequence[Any], rounds: int, seed: np.random.SeedSequence
    ) -> npt.NDArray[Any]:
        """Return the payoffs of rounds, shape (rounds, players); deals depend on the seed."""


def play_rounds(
    game: Game | Engine, players: Any, rounds: int, seed: np.random.SeedSequence
) -> Floats:
    """Play rounds as :func:`simulate` does; the game may be a simulator."""
    whole_number("rounds", rounds, 1)
    if not isinstance(game, Game) and hasattr(game, "play_rounds"):
        return np.asarray(game.play_rounds(seats_of(game, players), rounds, seed), np.float64)
    rules: Any = game
    check_game(rules)
    return Rounds(rules, policies_of(rules, players), [rules.root()] * rounds, seed).play()


def seats_of(game: Game | Engine, players: Any) -> Sequence[Any]:
    """Return one player per seat."""
    if isinstance(players, Mapping) or callable(players):  # a profile
        return [players] * game.num_players
    if not isinstance(players, Sequence):
        raise not_a_player(players)
    if len(players) != game.num_players:
        raise ValueError(
            f"{game!r} has {game.num_players} players, got {len(players)}: give one player per "
            "seat; the same one may take several seats"
        )
    return list(players)


def policies_of(game: Game, players: Player | Sequence[Player]) -> list[BatchPolicy]:
    """Return a function of many decisions at a time for each seat."""
    return [batch_policy(player) for player in seats_of(game, players)]


class SampleMean:
    """The mean of independent numbers, one a round, and its 95 % confidence interval.

    Parameters
    ----------
    samples : float array, shape (rounds,)

    Attributes
    ----------
    samples : float array, shape (rounds,)

    Examples
    --------
    >>> found = SampleMean([1.0, 2.0, 3.0])
    >>> found, round(found.standard_error, 3)
    (+2.000 ± 2.484 (95 %, 3 rounds), 0.577)
    """

    def __init__(self, samples: npt.ArrayLike):
        self.samples: Floats = np.asarray(samples, np.float64)

    @property
    def mean(self) -> float:
        """The mean."""
        return float(self.samples.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean."""
        return float(self.samples.std(ddof=1) / len(self.samples) ** 0.5)

    @property
    def margin(self) -> float:
        """Half the width of the interval, by Student's t."""
        from scipy.special import stdtrit  # slow to import

        return float(stdtrit(len(self.samples) - 1, 0.975)) * self.standard_error

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the expectation."""
        return self.mean - self.margin, self.mean + self.margin

    def __repr__(self) -> str:
        return f"{self.mean:+.3f} ± {self.margin:.3f} (95 %, {len(self.samples):,} rounds)"


class MatchResult(SampleMean):
    """The result of a match; made by :func:`match`.

    The samples are a player's mean payoffs over the seats, one for each deal.

    Attributes
    ----------
    payoffs : float array, shape (deals, seats)
        The player's payoff of each deal in each seat.
    """

    def __init__(self, payoffs: Floats):
        super().__init__(payoffs.mean(axis=1))
        self.payoffs = payoffs

    @property
    def won(self) -> float:
        """The share of rounds with a positive payoff."""
        return float((self.payoffs > 0).mean())

    @property
    def tied(self) -> float:
        """The share of rounds that pay nothing."""
        return float((self.payoffs == 0).mean())

    def __repr__(self) -> str:
        deals, seats = self.payoffs.shape
        return (
            f"{self.mean:+.3f} ± {self.margin:.3f} a round (95 %, {deals:,} deals, each from "
            f"{seats} seats; won {self.won:.1%}, tied {self.tied:.1%})"
        )


def match(
    game: Game | Engine, one: Any, other: Any, deals: int, *, seed: int | None = None
) -> MatchResult:
    """Play a match: each deal once with `one` in each seat, and `other` in the other seats.

    Chance's actions and the players' random numbers are the same for all seats of a deal, so
    luck largely cancels. In a zero-sum game of two, a player ties exactly with itself.

    Parameters
    ----------
    game : Game, or koikoi.Simulator for the players of Koi-Koi
    one, other : player
        As for :func:`simulate`.
    deals : int
        At least 2; the interval treats deals, not rounds, as independent.
    seed : int, optional

    Returns
    -------
    MatchResult
        The payoffs of `one`: their mean per round, its standard error and 95 % interval.

    Raises
    ------
    ValueError
        If an argument is invalid.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> solved = cfr.solve(game, "cfr+").strategy
    >>> cfr.match(game, solved, {}, 10_000, seed=0)  # against uniform play
    +0.143 ± 0.009 a round (95 %, 10,000 deals, each from 2 seats; won 48.4%, tied 0.0%)
    """
    whole_number("deals", deals, 2)
    entropy = np.random.SeedSequence(seed).entropy
    payoffs = np.empty((deals, game.num_players))
    for seat in range(game.num_players):
        players = [other] * game.num_players
        players[seat] = one
        source = np.random.SeedSequence(entropy)
        payoffs[:, seat] = play_rounds(game, players, deals, source)[:, seat]
    return MatchResult(payoffs)


class Rounds:
    """Rounds in progress, from any histories.

    Parameters
    ----------
    game : Game
    policies : sequence of functions, one per player
    histories : list of histories
        Where each round begins.
    seed : SeedSequence
    uniforms : float array, shape (players, rounds), optional
        The players' random numbers; sampled by default.
    streams : int, optional
        Round r uses the random numbers of chance and of actions of round r modulo `streams`;
        by default each round has its own.
    """

    def __init__(
        self,
        game: Game,
        policies: Sequence[BatchPolicy],
        histories: list[History],
        seed: np.random.SeedSequence,
        uniforms: Floats | None = None,
        streams: int | None = None,
    ):
        self.game, self.players, self.histories = game, policies, histories
        chance, own, actions = seed.spawn(3)
        rounds, players = len(histories), len(policies)
        self.chance_uniforms = _Uniforms(chance, streams or rounds)
        self.action_uniforms = _Uniforms(actions, streams or rounds)
        if uniforms is None:
            uniforms = np.random.default_rng(own).random((players, rounds))
        self.player_uniforms = uniforms
        self.payoffs = np.zeros((rounds, players))
        self.paths: list[tuple[Action, ...]] = [()] * rounds  # since they began
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
        sigma = probabilities(self.players[i], i, nodes, self.player_uniforms[i, rows])
        u = np.array([self.action_uniforms(r, self.num_decisions[r]) for r in rows])
        last = sigma.shape[1] - 1 - (sigma[:, ::-1] > 0).argmax(axis=1)
        sampled = np.minimum((u[:, None] >= np.cumsum(sigma, axis=1)).sum(axis=1), last)
        for r, node, a in zip(rows, nodes, sampled.tolist(), strict=True):
            self.num_decisions[r] += 1
            self._step(r, node.actions[a])


def probabilities(
    policy: BatchPolicy, i: int, nodes: Sequence[Decision], uniforms: Floats
) -> Floats:
    """Return player i's probabilities at these decisions, with 0 right of the last action."""
    given = np.asarray(policy(nodes, uniforms), np.float64)
    legal = np.array([len(node.actions) for node in nodes])
    sigma = None
    if given.ndim == 2 and len(given) == len(nodes) and given.shape[1] >= legal.max():
        own = np.arange(given.shape[1]) < legal[:, None]
        sigma = distributions(np.where(own, given, 0.0))
    if sigma is None:
        raise ValueError(
            f"player {i} must return a row of probabilities for each of {len(nodes)} "
            f"decisions, its actions in order, shape ({len(nodes)}, {legal.max()}) or "
            f"wider; got shape {given.shape}: {given!r}"
        )
    return sigma


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
        return float(self.columns[n][r % self.rounds])


def not_a_player(given: object) -> ValueError:
    """Return the error of an argument that is no player."""
    return ValueError(
        "a player is a strategy, a dictionary of infosets, or a function of decisions "
        f"and random numbers; got {type(given).__name__}"
    )


def batch_policy(player: Player) -> BatchPolicy:
    """Return a function of many decisions at a time for any kind of player."""
    if not isinstance(player, Mapping):
        if not callable(player):
            raise not_a_player(player)
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
