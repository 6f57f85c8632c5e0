"""Strategies that are networks, evaluated at the decisions of a game as they arise."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.deep.memory import Singles
from cfrlib.deep.networks import Learner, Training
from cfrlib.game import Action, Decision, Game
from cfrlib.strategy import Strategy

Bools: TypeAlias = npt.NDArray[np.bool_]
Encoder: TypeAlias = Callable[[Sequence[str]], Singles]
FEWEST_ROWS = 16


def match_advantages(advantages: Singles, legal: Bools) -> Floats:
    """Return σ ∝ max(D, 0); where no D is above 0, play the action with the largest D.

    Both arrays, and the strategy returned, have shape (infosets, actions).
    """
    sigma = np.where(legal, np.maximum(advantages, 0.0), 0.0).astype(np.float64)
    total = sigma.sum(axis=1)
    best = np.where(legal, advantages, -np.inf).argmax(axis=1)
    sigma[total > 0] /= total[total > 0, None]
    sigma[total <= 0, best[total <= 0]] = 1.0
    return sigma


def uniform_rows(legal: Bools) -> Floats:
    """Return the uniform strategy, shape (rows, actions)."""
    sigma: Floats = legal / legal.sum(axis=1, keepdims=True)
    return sigma


def mixture_weights(networks: int) -> Floats:
    """Return the weights of the uniform strategy and of the networks of a run.

    The network trained in iteration t is played in iteration t + 1, so its weight is t + 1. No
    iteration has played the last one: its weight is 0. Iteration 1 plays the uniform strategy.

    Examples
    --------
    >>> mixture_weights(3)
    array([1., 2., 3., 0.])
    """
    weights = np.arange(1.0, networks + 2)
    weights[networks or 1 :] = 0.0
    return weights


class Network(NamedTuple):
    """A strategy given by the weights of a network.

    Attributes
    ----------
    weights : float32 array, shape (size,)
    training : Training
        Its architecture.
    probabilities : bool
        Whether the network predicts probabilities; else advantages, for regret matching.
    """

    weights: Singles
    training: Training
    probabilities: bool = False

    def play(self, features: Singles, legal: Bools) -> Floats:
        """Return the strategy at infosets with these features, shape (rows, actions).

        Pads the rows to a power of two, because each number of rows is compiled separately.
        """
        n = len(features)
        rows = 1 << (max(n, FEWEST_ROWS) - 1).bit_length()
        inputs = np.zeros((rows, features.shape[1]), np.float32)
        mask = np.zeros((rows, legal.shape[1]), bool)
        inputs[:n], mask[:n] = features, legal
        learner = Learner(inputs, mask, self.training, self.probabilities)
        output = learner(self.weights)[:n]
        if not self.probabilities:
            return match_advantages(output, legal)
        sigma = output.astype(np.float64)
        total: Floats = sigma.sum(axis=1, keepdims=True)
        return sigma / total


class Table(NamedTuple):
    """A strategy given by a table, in the place of a network.

    Attributes
    ----------
    rows : mapping from infoset to mapping from action to float
        Uniform at other infosets.
    """

    rows: Mapping[str, Mapping[Action, float]]

    def play(self, labels: Sequence[str], legal: Bools) -> Floats:
        """Return the strategy at infosets with these labels, shape (rows, actions)."""
        sigma = uniform_rows(legal)
        for row, label in zip(sigma, labels, strict=True):
            if label in self.rows:
                known = list(self.rows[label].values())
                row[: len(known)] = known
        return sigma


class Policy:
    """A mixture of networks for each player, one of which is sampled before each game.

    Call it with decisions, as ``game.node`` returns them. It returns the probabilities of their
    actions, shape (decisions, most actions), and evaluates each network once.

    Parameters
    ----------
    game : Game
    encode : function
        Returns the networks' inputs for a list of infoset labels.
    actions : int
        The largest number of actions at an infoset.
    training : Training
        The networks' architecture.
    networks : list of float32 arrays, shape (networks of the player, size)
        The networks of each player, as rows of weights. Players may have different numbers.
    weights : list of float arrays, shape (1 + networks of the player,)
        Each network is sampled with a probability proportional to its weight. The first weight
        is that of the uniform strategy, with which every run begins.
    probabilities : bool
        Whether the networks predict probabilities; else advantages, for regret matching.

    Raises
    ------
    ValueError
        If the networks have a recurrent cell.

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
        networks: Sequence[Singles | Sequence[Singles]],
        weights: Sequence[Floats],
        probabilities: bool = False,
    ):
        if training.cell is not None:
            raise ValueError(
                "a policy evaluates its networks at a few infosets at a time, but a network "
                "with a cell needs the words of all labels; use run.average, run.current or "
                "run.draw()"
            )
        self.game, self.encode, self.actions = game, encode, actions
        self.training, self.probabilities = training, probabilities
        self.networks = [np.asarray(stored) for stored in networks]
        self.weights = [np.asarray(each, np.float64) / np.sum(each) for each in weights]

    def draw(self, seed: int | np.random.Generator | None = None) -> Policy:
        """Sample one network for each player independently, and return that policy."""
        rng = np.random.default_rng(seed)
        sampled = [np.zeros(len(weights)) for weights in self.weights]
        for one_hot, weights in zip(sampled, self.weights, strict=True):
            one_hot[rng.choice(len(weights), p=weights)] = 1.0
        policy = copy.copy(self)
        policy.weights = sampled
        return policy

    def __call__(
        self, decisions: Sequence[Decision], tickets: npt.ArrayLike | None = None
    ) -> Floats:
        """Return the probabilities of each decision's actions, padded with zeros.

        Parameters
        ----------
        decisions : sequence of Decision
        tickets : float array, shape (decisions,), optional
            Uniform random numbers in [0, 1) that select the networks. Use one number for each
            player and game, so that the player keeps to one network throughout the game.
            Required if a player has more than one network.

        Raises
        ------
        ValueError
            If `tickets` is required, or an infoset has more actions than the networks have
            outputs.
        """
        legal = action_mask([len(node.actions) for node in decisions], self.actions, self.game)
        sigma = uniform_rows(legal)
        player = np.array([node.player for node in decisions], np.int64)
        selected = self._select(player, tickets)
        features = self.encode([node.infoset for node in decisions])
        for i, n in sorted(set(zip(player.tolist(), selected.tolist(), strict=True))):
            if n:
                rows = np.flatnonzero((player == i) & (selected == n))
                sigma[rows] = self._network(i, n).play(features[rows], legal[rows])
        return sigma

    def _network(self, i: int, n: int) -> Network:
        """Return the n-th network of player i, counting from 1."""
        return Network(self.networks[i][n - 1], self.training, self.probabilities)

    def sample_networks(self, rng: np.random.Generator) -> list[Network | None]:
        """Sample a network for each player by weight; None stands for the uniform strategy."""
        sampled = [int(rng.choice(len(weights), p=weights)) for weights in self.weights]
        return [self._network(i, n) if n else None for i, n in enumerate(sampled)]

    def _select(
        self, player: npt.NDArray[np.int64], tickets: npt.ArrayLike | None
    ) -> npt.NDArray[np.int64]:
        """Return which network of its player each row uses; 0 is the uniform strategy."""
        selected = np.zeros(len(player), np.int64)
        for i, weights in enumerate(self.weights):
            if weights.max() == 1.0:
                selected[player == i] = weights.argmax()
            elif tickets is not None:
                own = np.asarray(tickets, np.float64)[player == i]
                sampled = np.searchsorted(np.cumsum(weights), own, side="right")
                selected[player == i] = np.minimum(sampled, len(weights) - 1)
            elif (player == i).any():
                raise ValueError(
                    "a mixture plays one of its networks throughout a game; use policy.draw() "
                    "for one game, or give tickets, one for each player and game"
                )
        return selected

    def strategy(self) -> Strategy:
        """Return the policy as a table of exact probabilities.

        Raises
        ------
        GameError
            If the game does not compile.
        """
        form = sequence_form(self.game)
        tree, mixture = form.tree, form.uniform()
        legal = action_mask([len(a) for a in tree.infoset_actions], self.actions, self.game)
        sequences = tree.infoset_start.astype(np.int64)[:, None] + np.arange(self.actions)
        features = self.encode(tree.infoset_label)
        for i, weights in enumerate(self.weights):
            own = np.flatnonzero(tree.infoset_player == i)
            total = np.zeros(form.num_sequences)
            for n in np.flatnonzero(weights):
                profile = form.uniform()
                if n:
                    sigma = self._network(i, int(n)).play(features[own], legal[own])
                    profile[sequences[own][legal[own]]] = sigma[legal[own]]
                total += weights[n] * form.plans(profile)
            if weights.max() < 1:
                behavior(form.treeplexes, total, profile)
            first, stop = tree.player_sequences[i : i + 2]
            mixture[first:stop] = profile[first:stop]
        return Strategy.from_vector(form, mixture)

    def __repr__(self) -> str:
        number = max(int(np.count_nonzero(weights)) for weights in self.weights)
        networks = f"one of {number:,} networks" if number > 1 else "one network"
        return f"Policy of {self.game!r}: {networks} for each player"


def action_mask(num_actions: Sequence[int], actions: int, game: Game) -> Bools:
    """Return which of the networks' outputs are legal actions, shape (rows, actions)."""
    most = max(num_actions, default=0)
    if most > actions:
        raise ValueError(
            f"{game!r} has an infoset with {most} actions, but the networks have {actions} "
            f"outputs, the most found in random games; give actions={most}"
        )
    return np.arange(actions) < np.array(num_actions, np.int64).reshape(-1, 1)
