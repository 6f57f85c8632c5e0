"""Networks that answer for every infoset of a game, and their training: one compiled loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import nnx
from jax.flatten_util import ravel_pytree

from cfrlib.deep.memory import Memory, Singles

Tree: TypeAlias = Any  # of arrays, as JAX means it


class MLP(nnx.Module):
    """Layers of ReLU. The last one is linear and begins at 0, so a new network answers 0."""

    def __init__(self, inputs: int, hidden: Sequence[int], outputs: int, rngs: nnx.Rngs):
        sizes = (inputs, *hidden)
        init = nnx.initializers.he_normal()
        self.layers = nnx.List(
            [nnx.Linear(m, n, kernel_init=init, rngs=rngs) for m, n in pairwise(sizes)]
        )
        zeros = nnx.initializers.zeros_init()
        self.last = nnx.Linear(sizes[-1], outputs, kernel_init=zeros, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the answers, shape (rows, outputs)."""
        for layer in self.layers:
            x = nnx.relu(layer(x))
        return self.last(x)


@dataclass(frozen=True)
class Training:
    """How a network is trained: from scratch, by Adam, with a rate that falls to 0.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the layers.
    steps : int
        Steps of Adam.
    batch : int, optional
        Rows of the memory in each step, drawn with replacement. None: all of them. Rows at the
        same infoset count as their mean then, which changes the loss by a constant only: so a
        step costs no more than there are infosets. Only for games that compile.
    rate : float
        Learning rate at the start; it falls along a cosine.

    Raises
    ------
    ValueError
        If a number is not above 0.
    """

    hidden: tuple[int, ...] = (64, 64)
    steps: int = 500
    batch: int | None = None
    rate: float = 5e-3

    def __post_init__(self) -> None:
        whole = {
            **{f"hidden[{n}]": width for n, width in enumerate(self.hidden)},
            "steps": self.steps, "batch": 1 if self.batch is None else self.batch,
        }  # fmt: skip
        for name, number in whole.items():
            if not isinstance(number, (int, np.integer)) or number < 1:
                raise ValueError(f"{name} must be a whole number, at least 1, got {number!r}")
        if not self.rate > 0:
            raise ValueError(f"rate must be above 0, got {self.rate!r}")


class Learner:
    """Trains networks of one shape on a memory, and has them answer for all infosets.

    Parameters
    ----------
    features : float32 array, shape (infosets, inputs)
        What a network sees of each.
    legal : bool array, shape (infosets, actions)
        The rest takes no part: neither in the loss nor in the answers.
    training : Training
    probabilities : bool
        Whether the answers are made probabilities by a softmax; else they are numbers.
    """

    def __init__(
        self, features: Singles, legal: Any, training: Training, probabilities: bool = False
    ):
        self.training, self.probabilities = training, probabilities
        self.features, self.legal = jnp.asarray(features), jnp.asarray(legal)
        self.size = _shape(features.shape[1], training.hidden, legal.shape[1]).size

    def fit(self, key: jax.Array, memory: Memory, t: int) -> tuple[Singles, float]:
        """Train a new network.

        Parameters
        ----------
        key : JAX key
            Of its first weights and of the batches.
        memory : Memory
        t : int
            The present iteration, by which weights are divided.

        Returns
        -------
        network : float32 array, shape (size,)
            Its weights, in one row.
        loss : float
            Weighted squared error per row, in the last tenth of the steps.

        Raises
        ------
        ValueError
            If the memory is empty.
        """
        filled = memory.filled
        if not filled:
            raise ValueError("the memory is empty: no walk has come to an infoset yet")
        if self.training.batch is None:
            rows = self._by_infoset(memory, filled, t)
        else:
            rows = (memory.infoset, memory.weight / np.float32(t), memory.target)
        network, loss = _fit(
            key, self.features, self.legal, *rows, filled, self.training, self.probabilities
        )
        return np.asarray(network), float(loss)

    def __call__(self, network: Singles) -> Singles:
        """Return what a network answers at every infoset, shape (infosets, actions)."""
        return np.asarray(
            _answer(
                network, self.features, self.legal, self.training.hidden, self.probabilities
            )
        )

    def _by_infoset(self, memory: Memory, filled: int, t: int) -> tuple[Any, ...]:
        """Return one row for each infoset: its share of the weights, and its mean target."""
        n, actions = self.legal.shape
        infoset, weight = memory.infoset[:filled], memory.weight[:filled]
        mass = np.bincount(infoset, weight, n)
        met = np.where(mass > 0, mass, 1.0)
        target = np.empty((n, actions), np.float32)
        for a in range(actions):
            target[:, a] = np.bincount(infoset, weight * memory.target[:filled, a], n) / met
        return np.arange(n), (mass / (filled * t)).astype(np.float32), target


class _Shape(NamedTuple):
    """What turns a row of weights into a network."""

    graph: Any
    unravel: Any
    size: int


@cache
def _shape(inputs: int, hidden: tuple[int, ...], outputs: int) -> _Shape:
    graph, like = nnx.split(
        nnx.eval_shape(lambda: MLP(inputs, hidden, outputs, rngs=nnx.Rngs(0)))
    )
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float32), like)
    flat, unravel = ravel_pytree(zeros)
    return _Shape(graph, unravel, len(flat))


def _finish(answers: jax.Array, legal: jax.Array, probabilities: bool) -> jax.Array:
    """Mask what is illegal."""
    if probabilities:
        return jax.nn.softmax(answers, axis=1, where=legal)
    return jnp.where(legal, answers, 0.0)


@partial(jax.jit, static_argnames=("hidden", "probabilities"))
def _answer(
    network: jax.Array, features: jax.Array, legal: jax.Array, hidden: tuple[int, ...],
    probabilities: bool,
) -> jax.Array:  # fmt: skip
    shape = _shape(features.shape[1], hidden, legal.shape[1])
    answers = nnx.merge(shape.graph, shape.unravel(network))(features)
    return _finish(answers, legal, probabilities)


@partial(jax.jit, static_argnames=("training", "probabilities"))
def _fit(
    key: jax.Array, features: jax.Array, legal: jax.Array, infoset: Any, weight: Any,
    target: Any, filled: Any, training: Training, probabilities: bool,
) -> tuple[jax.Array, jax.Array]:  # fmt: skip
    """Run the whole training as one loop, in which nothing is Python."""
    sizes = (features.shape[1], training.hidden, legal.shape[1])
    graph, batch = _shape(*sizes).graph, training.batch
    optimizer = optax.adam(optax.cosine_decay_schedule(training.rate, training.steps))

    def loss(weights: Tree, rows: Any) -> jax.Array:
        I = infoset[rows]
        answers = _finish(nnx.merge(graph, weights)(features[I]), legal[I], probabilities)
        errors = jnp.where(legal[I], answers - target[rows], 0.0)
        squares = weight[rows] * jnp.sum(errors**2, axis=1)
        return jnp.sum(squares) if batch is None else jnp.mean(squares)

    def step(carry: Any, key: jax.Array) -> Any:
        weights, state = carry
        rows: Any = slice(None)
        if batch is not None:
            rows = jax.random.randint(key, (batch,), 0, filled)
        value, gradient = jax.value_and_grad(loss)(weights, rows)
        change, state = optimizer.update(gradient, state)
        return (optax.apply_updates(weights, change), state), value

    first, draws = jax.random.split(key)
    weights = nnx.state(MLP(*sizes, rngs=nnx.Rngs(first)))
    start = weights, optimizer.init(weights)
    (weights, _), losses = jax.lax.scan(step, start, jax.random.split(draws, training.steps))
    return ravel_pytree(weights)[0], losses[-(-training.steps // 10) :].mean()
