"""Many rounds at a time, between players that answer for many decisions at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import whole_number
from cfrlib.core.tree import Floats, check_game
from cfrlib.game import Action, Chance, Decision, Game, Terminal

Answers: TypeAlias = Callable[[Sequence[Decision], Floats], Floats]
Player: TypeAlias = "Mapping[str, Mapping[Action, float]] | Answers"
LONGEST = 1_000_000


def simulate(
    game: Game, players: Sequence[Player], rounds: int, *, seed: int | None = None
) -> Floats:
    """Play rounds of a game and return what everybody was paid, shape (rounds, players).

    All rounds go on side by side, so a player is asked once about all decisions it has at a
    time. With the same seed chance does the same, as long as the players do: let two profiles
    play with one seed and compare round by round.

    Parameters
    ----------
    game : Game
    players : sequence
        Who sits where. A strategy, or a dictionary of infosets, which is uniform where it says
        nothing; or a function of decisions and tickets, such as a `cfrlib.deep.Policy`, that
        returns probabilities of the actions, shape (decisions, most actions or more). A ticket
        is a random number in [0, 1), one for each player and round.
    rounds : int
        How many.
    seed : int, optional
        Of chance, tickets and moves.

    Raises
    ------
    ValueError
        If an argument is not accepted, an answer is no distribution, or a round does not end.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> best, some = cfr.solve(game, "cfr+").strategy, cfr.Strategy.uniform(game)
    >>> paid = simulate(game, [best, some], 10_000, seed=0)
    >>> bool(paid[:, 0].mean() > 0.1)
    True
    """
    check_game(game)
    whole_number("rounds", rounds, 1)
    if len(players) != game.num_players:
        raise ValueError(
            f"{game!r} has {game.num_players} players, got {len(players)}: name who sits "
            "where, the same one several times if need be"
        )
    return _Rounds(game, players, rounds, np.random.SeedSequence(seed)).play()


class _Rounds:
    """Rounds under way."""

    def __init__(
        self, game: Game, players: Sequence[Player], rounds: int, seed: np.random.SeedSequence
    ):
        self.game = game
        self.players = [_answering(player) for player in players]
        chance, tickets, moves = seed.spawn(3)
        self.chance, self.moves = (_Uniforms(source, rounds) for source in (chance, moves))
        rng = np.random.default_rng(tickets)
        self.tickets = rng.random((len(players), rounds))
        self.payoffs = np.zeros((rounds, len(players)))
        self.histories = [game.root()] * rounds
        self.steps = np.zeros((2, rounds), np.int64)  # events of chance, and decisions, so far

    def play(self) -> Floats:
        """Play to the end."""
        playing = list(range(len(self.payoffs)))
        for _ in range(LONGEST):
            asked: list[list[int]] = [[] for _ in self.players]
            nodes: dict[int, Decision] = {}
            still = []
            for r in playing:
                node = self.game.node(self.histories[r])
                if isinstance(node, Terminal):
                    self.payoffs[r] = node.utilities
                    continue
                still.append(r)
                if isinstance(node, Chance):
                    self._draw(r, node)
                else:
                    nodes[r] = node
                    asked[node.player].append(r)
            for i, rows in enumerate(asked):
                if rows:
                    self._move(i, rows, [nodes[r] for r in rows])
            if not still:
                return self.payoffs
            playing = still
        raise ValueError(f"{self.game!r} did not end within a million actions")

    def _draw(self, r: int, node: Chance) -> None:
        action = pick(node.probabilities, self.chance(r, self.steps[0, r]))
        self.steps[0, r] += 1
        self.histories[r] = self.game.step(self.histories[r], action)

    def _move(self, i: int, rows: list[int], nodes: list[Decision]) -> None:
        """Ask player i about all these decisions."""
        sigma = np.asarray(self.players[i](nodes, self.tickets[i, rows]), np.float64)
        if len(sigma) != len(rows) or not (
            (sigma >= 0).all() and np.allclose(sigma.sum(axis=1), 1, atol=1e-6)
        ):
            raise ValueError(
                f"player {i} must answer with a row of probabilities for each decision, its "
                f"actions in order; got {sigma!r}"
            )
        u = np.array([self.moves(r, self.steps[1, r]) for r in rows])
        last = sigma.shape[1] - 1 - (sigma[:, ::-1] > 0).argmax(axis=1)
        taken = np.minimum((u[:, None] >= np.cumsum(sigma, axis=1)).sum(axis=1), last)
        for r, node, a in zip(rows, nodes, taken.tolist(), strict=True):
            self.steps[1, r] += 1
            self.histories[r] = self.game.step(self.histories[r], node.actions[a])


def pick(row: Mapping[Action, float], u: float) -> Action:
    """Return the action where the probabilities, added up, exceed u."""
    last = None
    for a, p in row.items():
        if p > 0:
            last = a
            u -= p
            if u < 0:
                break
    return last


class _Uniforms:
    """Random numbers of each round: its n-th does not depend on the other rounds."""

    def __init__(self, seed: np.random.SeedSequence, rounds: int):
        self.rng, self.rounds = np.random.default_rng(seed), rounds
        self.columns: list[npt.NDArray[np.float64]] = []

    def __call__(self, r: int, n: int) -> float:
        while n >= len(self.columns):
            self.columns.append(self.rng.random(self.rounds))
        return float(self.columns[n][r])


def _answering(player: Player) -> Answers:
    """Return a player that answers for many decisions at a time."""
    if not isinstance(player, Mapping):
        if not callable(player):
            raise ValueError(
                "a player is a strategy, a dictionary of infosets, or a function of decisions "
                f"and tickets; got {type(player).__name__}"
            )
        return player
    rows: Mapping[str, Any] = player

    def answer(nodes: Sequence[Decision], tickets: Floats) -> Floats:
        sigma = np.zeros((len(nodes), max(len(node.actions) for node in nodes)))
        for row, node in zip(sigma, nodes, strict=True):
            said = rows.get(node.infoset) or dict.fromkeys(node.actions, 1 / len(node.actions))
            row[: len(node.actions)] = [said.get(a, 0.0) for a in node.actions]
        return sigma

    return answer
