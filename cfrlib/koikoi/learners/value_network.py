"""Networks that value what a table looks like after an action, and how they are trained."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax

from cfrlib.core.tree import Floats
from cfrlib.deep.memory import Singles
from cfrlib.deep.networks import Architecture, answer, fresh, shape
from cfrlib.koikoi.afterstates import Describer
from cfrlib.koikoi.simulator import Numbers

LEAST_ROWS, MOST_ROWS = 256, 16_384  # in one call of a network
SETTLING = 10  # a settled network is the mean of about the last of so many parts of a training


class TrainState(NamedTuple):
    """A network and where its training stands.

    Attributes
    ----------
    weights : float32 array, shape (size,)
    settled : float32 array, shape (size,)
        Their mean over the training, which shakes less: after n of N steps they have counted
        n^9, so that it is that of about the last tenth.
    first, second : float32 arrays, shape (size,)
        The moments of Adam.
    steps : int
        How many it has taken.

    Notes
    -----
    The mean is the polynomial-decay averaging of Shamir and Zhang (2013).
    """

    weights: Singles
    settled: Singles
    first: Singles
    second: Singles
    steps: int


def row_loss(said: jax.Array, target: jax.Array, weight: jax.Array) -> jax.Array:
    """Return the weighted squared error of rows, shapes (rows,)."""
    return jnp.mean(weight * (said - target) ** 2)


def choice_loss(said: jax.Array, target: jax.Array, weight: jax.Array) -> jax.Array:
    """Return the cross entropy of strategies, shapes (decisions, actions).

    Of logits, where the weight is above 0 for every action there is, from a target strategy.
    """
    log_sigma = jax.nn.log_softmax(jnp.where(weight > 0, said, -1e9), axis=1)
    return -jnp.mean(jnp.sum(target * log_sigma, axis=1))


def new_state(weights: Singles) -> TrainState:
    """Return a network whose training begins."""
    zero = np.zeros_like(weights)
    return TrainState(weights, weights, zero, zero, 0)


class ValueNetwork:
    """Networks of one shape that judge tables of a game, most of them after an action.

    Parameters
    ----------
    describer : Describer
        What they see.
    hidden : sequence of int
        Widths of the layers of ReLU.
    """

    def __init__(self, describer: Describer, hidden: Sequence[int]):
        self.describer = describer
        self._sizes = (Architecture(tuple(hidden), None, False), describer.columns, 1)
        self.size = shape(*self._sizes).size

    def fresh(self, key: jax.Array) -> TrainState:
        """Return a new network, which answers 0."""
        return new_state(np.asarray(fresh(key, self._sizes)))

    def __call__(self, weights: Singles, code: Numbers) -> Floats:
        """Return what a network answers for rows of tables, shape (rows,)."""
        said = np.empty(len(code))
        for begin in range(0, len(said), MOST_ROWS):
            part = code[begin : begin + MOST_ROWS]
            rows = padded(len(part))
            seen = self.describer.see(part, rows)
            answers = answer(weights, seen, np.ones((rows, 1), bool), self._sizes, False)
            said[begin : begin + len(part)] = np.asarray(answers)[: len(part), 0]
        return said

    def improve(
        self, study: TrainState, code: Numbers, target: Floats, weight: Floats, rate: float,
        loss: Callable[[jax.Array, jax.Array, jax.Array], jax.Array] = row_loss,
    ) -> tuple[TrainState, float]:  # fmt: skip
        """Train a network further, by steps of Adam.

        Parameters
        ----------
        study : TrainState
        code : int array, shape (steps, batch, …, CODE)
            The rows of each step.
        target, weight : float arrays, shape (steps, batch, …)
            As the loss wants them.
        rate : float
        loss : function
            `row_loss`, or `choice_loss` for batches of decisions of several actions.

        Returns
        -------
        study : TrainState
        loss : float
            The mean of all steps.
        """
        steps, columns = len(code), code.shape[-1]
        seen = self.describer.see(code.reshape(-1, columns))
        seen = seen.reshape(*code.shape[:-1], seen.shape[-1])
        *state, mean = _improve(
            study.weights, study.first, study.second, study.steps, seen,
            target.astype(np.float32), weight.astype(np.float32), rate, self._sizes, loss,
        )  # fmt: skip
        weights, first, second = (np.asarray(array) for array in state)
        share = np.float32(min(1.0, SETTLING * steps / (study.steps + steps)))
        settled = study.settled + share * (weights - study.settled)
        return TrainState(weights, settled, first, second, study.steps + steps), float(mean)


def padded(rows: int) -> int:
    """Return how many rows a network is asked about in place of so many.

    Each number of rows is compiled by itself, so there are only four for each power of two.

    Examples
    --------
    >>> [padded(rows) for rows in (1, 257, 1_000, 1_025, 1_281)]
    [256, 320, 1024, 1280, 1536]
    """
    if rows <= LEAST_ROWS:
        return LEAST_ROWS
    step = (1 << (rows - 1).bit_length()) // 8
    return -(-rows // step) * step


_Sizes: TypeAlias = tuple[Architecture, int, int]


@partial(jax.jit, static_argnames=("sizes", "loss"))
def _improve(
    weights: Any, first: Any, second: Any, steps: Any, seen: Any, target: Any, weight: Any,
    rate: Any, sizes: _Sizes, loss: Any,
) -> Any:  # fmt: skip
    """Run some steps of Adam as one loop, in which nothing is Python."""
    adam = optax.scale_by_adam()

    def wrong(weights: jax.Array, rows: Any) -> jax.Array:
        x, y, w = rows
        said: jax.Array = loss(shape(*sizes).network(weights)(x)[..., 0], y, w)
        return said

    def step(carry: Any, rows: Any) -> Any:
        weights, state = carry
        value, gradient = jax.value_and_grad(wrong)(weights, rows)
        change, state = adam.update(gradient, state)
        return (weights - rate * change, state), value

    state = optax.ScaleByAdamState(jnp.asarray(steps, jnp.int32), first, second)
    (weights, state), losses = jax.lax.scan(step, (weights, state), (seen, target, weight))
    return weights, state.mu, state.nu, losses.mean()
