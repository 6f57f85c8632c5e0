"""Strategies that are networks: asked at a decision, not read from a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.deep.memory import Singles
from cfrlib.deep.networks import Learner, Training
from cfrlib.game import Decision, Game
from cfrlib.strategy import Strategy

Bools: TypeAlias = npt.NDArray[np.bool_]
Encoder: TypeAlias = Callable[[Sequence[str]], Singles]
LEAST_ROWS = 16


def match(advantages: Singles, legal: Bools) -> Floats:
    """Return σ ∝ max(D, 0); where no D is above 0, the action with the largest.

    Both arrays, and the answer, have shape (infosets, actions).
    """
    sigma = np.where(legal, np.maximum(advantages, 0.0), 0.0).astype(np.float64)
    total = sigma.sum(axis=1)
    best = np.where(legal, advantages, -np.inf).argmax(axis=1)
    sigma[total > 0] /= total[total > 0, None]
    sigma[total <= 0, best[total <= 0]] = 1.0
    return sigma


def uniform(legal: Bools) -> Floats:
    """Return the same probability for each action there is."""
    sigma: Floats = legal / legal.sum(axis=1, keepdims=True)
    return sigma


class Network(NamedTuple):
    """A network that plays.

    Attributes
    ----------
    weights : float32 array, shape (size,)
    training : Training
        Its shape.
    probabilities : bool
        Whether it answers probabilities; else advantages, which are matched.
    """

    weights: Singles
    training: Training
    probabilities: bool = False

    def play(self, features: Singles, legal: Bools) -> Floats:
        """Return what it plays at infosets that look like this, shape (rows, actions).

        Rows are padded to a power of two, as each number of rows is compiled by itself.
        """
        n = len(features)
        rows = 1 << (max(n, LEAST_ROWS) - 1).bit_length()
        inputs = np.zeros((rows, features.shape[1]), np.float32)
        mask = np.zeros((rows, legal.shape[1]), bool)
        inputs[:n], mask[:n] = features, legal
        learner = Learner(inputs, mask, self.training, self.probabilities)
        said = learner(self.weights)[:n]
        if not self.probabilities:
            return match(said, legal)
        sigma = said.astype(np.float64)
        total: Floats = sigma.sum(axis=1, keepdims=True)
        return sigma / total


class Policy:
    """What networks play, each player one of some, chosen before each game.

    Call it with decisions, as ``game.node`` returns them, for the probabilities of their
    actions, shape (decisions, most actions). It asks each network once for all of them.

    Parameters
    ----------
    game : Game
    encode : function
        From labels to what the networks see.
    actions : int
        The most at any infoset.
    training : Training
        The networks' shape.
    networks : list of float32 arrays, shape (networks of the player, size)
        Of each player; they may differ in number.
    weights : list of float arrays, shape (1 + networks of the player,)
        How likely each is chosen, in proportion; the first weight is that of the uniform
        strategy, with which every run begins.
    probabilities : bool
        Whether the networks answer probabilities; else advantages, which are matched.

    Raises
    ------
    ValueError
        If the networks have a cell.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.deep import DeepCFR, Training
    >>> game, small = cfr.games.KuhnPoker(), Training((16,), steps=20, batch=64)
    >>> run = DeepCFR(game, traversals=50, advantage=small, on_demand=True, seed=0)
    >>> policy = run.run(3, progress=False).policy()
    >>> policy
    Policy of KuhnPoker(): one of 3 networks for each player
    >>> policy([game.node((("K", "Q"),))], tickets=[0.5]).shape
    (1, 2)
    >>> policy.draw(seed=0)
    Policy of KuhnPoker(): one network for each player
    >>> len(policy.strategy())  # infosets
    12
    """

    def __init__(
        self,
        game: Game,
        encode: Encoder,
        actions: int,
        training: Training,
        networks: Sequence[Singles],
        weights: Sequence[Floats],
        probabilities: bool = False,
    ):
        if training.cell is not None:
            raise ValueError(
                "a policy asks its networks about some infosets at a time, and those with a "
                "cell must know the words of all; ask run.average, run.current or run.draw()"
            )
        self.game, self.encode, self.actions = game, encode, actions
        self.training, self.probabilities = training, probabilities
        self.networks = list(networks)
        self.weights = [np.asarray(each, np.float64) / np.sum(each) for each in weights]

    def draw(self, seed: int | np.random.Generator | None = None) -> Policy:
        """Return what is played in one game: for each player by itself, one of the networks."""
        rng = np.random.default_rng(seed)
        chosen = [np.zeros(len(each)) for each in self.weights]
        for one, each in zip(chosen, self.weights, strict=True):
            one[rng.choice(len(each), p=each)] = 1.0
        return Policy(
            self.game, self.encode, self.actions, self.training, self.networks, chosen,
            self.probabilities,
        )  # fmt: skip

    def __call__(
        self, decisions: Sequence[Decision], tickets: npt.ArrayLike | None = None
    ) -> Floats:
        """Return probabilities for the actions of each decision; 0 for those it has not.

        Parameters
        ----------
        decisions : sequence of Decision
        tickets : float array, shape (decisions,), optional
            Numbers in [0, 1) by which networks are chosen: let all decisions of a player in
            one game have the same, drawn at random. Needed if there is a choice.

        Raises
        ------
        ValueError
            If tickets are needed, or an infoset has more actions than the networks know.
        """
        legal = there_are([len(node.actions) for node in decisions], self.actions, self.game)
        sigma = uniform(legal)
        player = np.array([node.player for node in decisions], np.int64)
        chosen = self._choose(player, tickets)
        features = self.encode([node.infoset for node in decisions])
        for i, n in sorted(set(zip(player.tolist(), chosen.tolist(), strict=True))):
            if n:
                rows = np.flatnonzero((player == i) & (chosen == n))
                sigma[rows] = self._network(i, n).play(features[rows], legal[rows])
        return sigma

    def _network(self, i: int, n: int) -> Network:
        """Return the n-th network of player i, counted from 1."""
        return Network(self.networks[i][n - 1], self.training, self.probabilities)

    def pick(self, seed: int | np.random.Generator | None = None) -> list[Network | None]:
        """Return a network for each player, drawn by weight; None is the uniform strategy."""
        rng = np.random.default_rng(seed)
        drawn = [int(rng.choice(len(each), p=each)) for each in self.weights]
        return [self._network(i, n) if n else None for i, n in enumerate(drawn)]

    def _choose(
        self, player: npt.NDArray[np.int64], tickets: npt.ArrayLike | None
    ) -> npt.NDArray[np.int64]:
        """Return the number of the network that is to answer each row; 0: none, uniform."""
        chosen = np.zeros(len(player), np.int64)
        for i, weights in enumerate(self.weights):
            if weights.max() == 1.0:
                chosen[player == i] = weights.argmax()
            elif tickets is not None:
                mine = np.asarray(tickets, np.float64)[player == i]
                drawn = np.searchsorted(np.cumsum(weights), mine, side="right")
                chosen[player == i] = np.minimum(drawn, len(weights) - 1)
            elif (player == i).any():
                raise ValueError(
                    "a mixture plays one of its networks throughout a game: take policy.draw() "
                    "for one game, or give tickets, one for each player and game"
                )
        return chosen

    def strategy(self) -> Strategy:
        """Return it as exact probabilities, if the game compiles.

        Raises
        ------
        GameError
            If it does not.
        """
        form = sequence_form(self.game)
        tree, mixed = form.tree, form.uniform()
        legal = there_are([len(a) for a in tree.infoset_actions], self.actions, self.game)
        sequences = tree.infoset_start.astype(np.int64)[:, None] + np.arange(self.actions)
        features = self.encode(tree.infoset_label)
        for i, weights in enumerate(self.weights):
            own = slice(*tree.player_sequences[i : i + 2])
            mine = np.flatnonzero(tree.infoset_player == i)
            total = np.zeros(form.num_sequences)
            for n in np.flatnonzero(weights):
                row = form.uniform()
                if n:
                    sigma = self._network(i, int(n)).play(features[mine], legal[mine])
                    row[sequences[mine][legal[mine]]] = sigma[legal[mine]]
                total += weights[n] * form.plans(row)
            if weights.max() < 1:
                behavior(form.treeplexes, total, row)
            mixed[own] = row[own]
        return Strategy.from_vector(form, mixed)

    def __repr__(self) -> str:
        known = [int(np.count_nonzero(each)) for each in self.weights]
        each = f"one of {max(known):,} networks" if max(known) > 1 else "one network"
        return f"Policy of {self.game!r}: {each} for each player"


def there_are(count: Sequence[int], actions: int, game: Game) -> Bools:
    """Return which actions there are, shape (rows, actions)."""
    if max(count, default=0) > actions:
        raise ValueError(
            f"{game!r} has an infoset with {max(count)} actions, but the networks know "
            f"{actions}, the most met in games played at random; give actions={max(count)}"
        )
    return np.arange(actions) < np.array(count, np.int64).reshape(-1, 1)
