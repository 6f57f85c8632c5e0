"""A value network over ranges: counterfactual values of all hands, learned from exact ones.

The network of this module plays the part of DeepStack's (Moravčík et al., 2017): where a
lookahead ends, it predicts the values of all hands for any pair of ranges. It imports JAX,
which ``import cfrlib.subgames`` does not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from cfrlib.core.extras import require

require("cfrlib.subgames.network", "deep", "jax", "flax", "optax")

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx

from cfrlib.core.checks import whole_number
from cfrlib.core.tree import Floats
from cfrlib.deep.networks import MLP
from cfrlib.subgames.public import PublicState
from cfrlib.subgames.ranges import ValueFunction, ValuePair

BATCH = 256  # examples of one step of training
RATE = 1e-3  # the first learning rate of Adam; it falls to 0 along a cosine


class Examples(NamedTuple):
    """Public states with ranges, and the values of their hands.

    Attributes
    ----------
    states : list of PublicState
        One for each example.
    ranges, values : list of pair of float arrays
        One number for each hand of both players.
    """

    states: list[PublicState]
    ranges: list[ValuePair]
    values: list[ValuePair]


def examples(
    states: Sequence[PublicState],
    count: int,
    exact: ValueFunction,
    seed: int | np.random.Generator | None = None,
) -> Examples:
    """Return random ranges at each public state, and the values of their hands.

    A range is a sample of the Dirichlet distribution with a concentration of 1 or 1/3, so that
    even and uneven ranges are frequent.

    Parameters
    ----------
    states : sequence of PublicState
        Where.
    count : int
        The number of pairs of ranges for each.
    exact : ValueFunction
        What computes the values.
    seed : int or numpy Generator, optional
        For the ranges.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import ExactValues, public_tree
    >>> public = public_tree(cfr.games.LeducPoker(merge_suits=True))
    >>> state = public.find("check", "check", "Q")
    >>> found = examples([state], 2, ExactValues(public, 100), seed=0)
    >>> len(found.values), found.values[0][1].shape
    (2, (3,))
    """
    rng = np.random.default_rng(seed)
    repeated = [state for state in states for _ in range(whole_number("count", count, 1))]
    ranges = []
    for state in repeated:
        sizes = [len(labels) for labels in state.hand_label]
        first, second = (rng.dirichlet(np.full(n, rng.choice([1.0, 1 / 3]))) for n in sizes)
        ranges.append((first, second))
    return Examples(repeated, ranges, exact(repeated, ranges))


class ValueNetwork:
    """A value function that has learned from examples.

    Inputs are both ranges, scaled to a sum of 1, and which public state it is. Outputs are the
    values of all hands for ranges of that size; they are then corrected so that the game is a
    zero-sum game: what both ranges earn on average sums to 0.

    Parameters
    ----------
    states : sequence of PublicState
        The public states that it knows, with equal numbers of hands.
    hidden : sequence of int
        Widths of the ReLU layers.
    seed : int
        For the initial weights and the order of the examples.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import ExactValues, public_tree
    >>> public = public_tree(cfr.games.LeducPoker(merge_suits=True))
    >>> state, one = public.find("check", "check", "Q"), np.ones(3)
    >>> network = ValueNetwork([state], hidden=(16,), seed=0)
    >>> losses = network.fit(examples([state], 64, ExactValues(public, 100), seed=0), steps=200)
    >>> bool(losses[-1] < losses[0])
    True
    >>> first, second = network([state], [(one, one)])[0]
    >>> abs(float(first.sum() + second.sum())) < 1e-6
    True
    """

    def __init__(
        self, states: Sequence[PublicState], hidden: Sequence[int] = (64, 64), seed: int = 0
    ):
        sizes = {tuple(map(len, state.hand_label)) for state in states}
        if len(sizes) != 1:
            raise ValueError(f"the public states must have equal numbers of hands, got {sizes}")
        self.hands: tuple[int, int] = sizes.pop()  # type: ignore[assignment]
        self.column = {state.number: n for n, state in enumerate(states)}
        self.seed, total = seed, sum(self.hands)
        self._network = MLP(len(states) + total, hidden, total, nnx.Rngs(seed))
        self._scale = 1.0
        self._layers = self._weights()

    def fit(self, data: Examples, steps: int = 4_000) -> Floats:
        """Train on examples, by Adam on the squared error.

        Parameters
        ----------
        data : Examples
            What to learn; the network keeps nothing of it.
        steps : int
            Mini-batches of 256 examples.

        Returns
        -------
        float array, shape (steps,)
            The loss of each mini-batch: the mean squared error, in units of the targets'
            variance.
        """
        x = self._inputs(data.states, data.ranges)
        y = np.array(
            [
                np.concatenate(self._scaled(*pair))
                for pair in zip(data.ranges, data.values, strict=True)
            ]
        )
        self._scale = float(y.std()) or 1.0
        graph, weights = nnx.split(self._network)
        order = np.random.default_rng(self.seed).integers(len(x), size=(steps, BATCH))
        optimizer = optax.adam(optax.cosine_decay_schedule(RATE, steps))

        def loss(w: Any, rows: jax.Array) -> jax.Array:
            return jnp.mean((nnx.merge(graph, w)(inputs[rows]) - targets[rows]) ** 2)

        def step(carry: Any, rows: jax.Array) -> Any:
            w, memory = carry
            error, slope = jax.value_and_grad(loss)(w, rows)
            change, memory = optimizer.update(slope, memory)
            return (optax.apply_updates(w, change), memory), error

        inputs, targets = jnp.array(x, jnp.float32), jnp.array(y / self._scale, jnp.float32)
        start = (weights, optimizer.init(weights))
        (weights, _), losses = jax.jit(lambda c, o: jax.lax.scan(step, c, o))(start, order)
        self._network = nnx.merge(graph, weights)
        self._layers = self._weights()
        return np.array(losses, float)

    def __call__(
        self, states: Sequence[PublicState], ranges: Sequence[ValuePair]
    ) -> list[ValuePair]:
        """Return the predicted values of all hands, for each public state with its ranges."""
        x, (n, _) = self._inputs(states, ranges), self.hands
        for weight, bias in self._layers[:-1]:
            x = np.maximum(x @ weight + bias, 0.0)
        y = (x @ self._layers[-1][0] + self._layers[-1][1]) * self._scale
        a, b = (np.array([pair[side] for pair in ranges]) for side in (0, 1))
        total_a, total_b = (rows.sum(axis=1, keepdims=True) for rows in (a, b))
        first, second = y[:, :n] * total_b, y[:, n:] * total_a
        surplus = ((a * first).sum(axis=1) + (b * second).sum(axis=1))[:, None] / 2
        for value, total in ((first, total_a), (second, total_b)):
            value -= np.divide(surplus, total, out=np.zeros_like(total), where=total > 0)
        return list(zip(first, second, strict=True))

    def _inputs(self, states: Sequence[PublicState], ranges: Sequence[ValuePair]) -> Floats:
        """Return the inputs, shape (examples, public states + hands of both)."""
        n, (first, second) = len(self.column), self.hands
        x = np.zeros((len(states), n + first + second))
        x[np.arange(len(states)), [self.column[state.number] for state in states]] = 1.0
        for columns, side in ((slice(n, n + first), 0), (slice(n + first, None), 1)):
            rows = np.array([pair[side] for pair in ranges])
            total = rows.sum(axis=1, keepdims=True)
            x[:, columns] = np.divide(
                rows, total, out=np.full_like(rows, 1 / rows.shape[1]), where=total > 0
            )
        return x

    def _scaled(self, ranges: ValuePair, values: ValuePair) -> ValuePair:
        """Return the values for ranges that sum to 1."""
        return values[0] / (ranges[1].sum() or 1.0), values[1] / (ranges[0].sum() or 1.0)

    def _weights(self) -> list[tuple[Floats, Floats]]:
        """Return the weights and biases of all layers, for predictions by NumPy."""
        layers: list[Any] = [*self._network.layers, self._network.last]
        pairs = ((layer.kernel[...], layer.bias[...]) for layer in layers)
        return [(np.array(weight, float), np.array(bias, float)) for weight, bias in pairs]
