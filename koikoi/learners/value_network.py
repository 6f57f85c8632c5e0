"""Value networks on Koi-Koi afterstates, and their training by Adam."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, NamedTuple, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
import optax

from cfrlib.core.tree import Floats
from cfrlib.deep.memory import Singles
from cfrlib.deep.networks import Architecture, initial_weights, predict, shape
from koikoi.afterstates import CODE, SEAT, Describer, Rows, Tokens
from koikoi.learners.transformer import WIDTH, TransformerArchitecture
from koikoi.rules import KoiKoi
from koikoi.simulator import Numbers

LEAST_ROWS, MOST_ROWS = 256, 16_384  # rows of one network call
LENGTHS = 4  # tokens of a network call are a multiple of this, to limit recompilation
AVERAGING = 10  # averaged weights cover roughly the last 1 / AVERAGING of the steps


_Sizes: TypeAlias = tuple[Any, int, int]  # an architecture, its inputs and outputs


class TrainState(NamedTuple):
    """The weights of a network and the state of its optimizer.

    Attributes
    ----------
    weights : float32 array, shape (size,)
    averaged : float32 array, shape (size,)
        Their average over training, which is less noisy. After n of N steps the weights count
        in proportion to n^9, so the average covers roughly the last tenth of the steps.
    first, second : float32 arrays, shape (size,)
        Moment estimates of Adam.
    steps : int
        Number of steps taken.

    Notes
    -----
    The average is the polynomial-decay averaging of Shamir and Zhang (2013).
    """

    weights: Singles
    averaged: Singles
    first: Singles
    second: Singles
    steps: int


def row_loss(output: jax.Array, target: jax.Array, weight: jax.Array) -> jax.Array:
    """Return the weighted squared error, shapes (rows,)."""
    return jnp.mean(weight * (output - target) ** 2)


def choice_loss(output: jax.Array, target: jax.Array, weight: jax.Array) -> jax.Array:
    """Return the cross entropy of a target strategy and logits, shapes (decisions, actions).

    The weight is above 0 for legal actions and 0 for padding.
    """
    log_sigma = jax.nn.log_softmax(jnp.where(weight > 0, output, -1e9), axis=1)
    return -jnp.mean(jnp.sum(target * log_sigma, axis=1))


def new_state(weights: Singles) -> TrainState:
    """Return the state of a training that starts from these weights."""
    zero = np.zeros_like(weights)
    return TrainState(weights, weights, zero, zero, 0)


class ValueNetwork:
    """An MLP with one output per encoded table; its weights are passed to every call.

    Parameters
    ----------
    describer : Describer
        Computes the input features.
    hidden : sequence of int
        Widths of the ReLU layers.

    Attributes
    ----------
    size : int
        Number of weights.
    width : int
        Number of integers in a row of its input.
    """

    kind: ClassVar[str] = "mlp"
    ordered: ClassVar[bool] = False  # whether it reads the record of play
    _sizes: _Sizes

    def __init__(self, describer: Describer, hidden: Sequence[int]):
        self.describer = describer
        self.width, columns = self._shape(describer)
        self._sizes = (self._architecture(tuple(hidden)), columns, 1)
        self.size = shape(*self._sizes).size

    def _shape(self, describer: Describer) -> tuple[int, int]:
        """Return the number of integers in a row of the input, and of its features."""
        return describer.width, describer.columns

    def _architecture(self, hidden: tuple[int, ...]) -> Any:
        return Architecture(hidden, None, False)

    def fresh(self, key: jax.Array) -> TrainState:
        """Initialize a network whose output is 0 everywhere."""
        return new_state(np.asarray(initial_weights(key, self._sizes)))

    def __call__(self, weights: Singles, code: Numbers) -> Floats:
        """Return the outputs for encoded tables, shape (rows,)."""
        output = np.empty(len(code))
        for begin in range(0, len(output), MOST_ROWS):
            part = code[begin : begin + MOST_ROWS]
            answers = self._answers(weights, part, padded(len(part)))
            output[begin : begin + len(part)] = np.asarray(answers)[: len(part), 0]
        return output

    def _answers(self, weights: Singles, code: Numbers, rows: int) -> jax.Array:
        """Return the outputs for encoded tables padded to some rows, shape (rows, 1)."""
        seen = self._see(code, rows)
        legal = np.ones((rows, 1), bool)
        outputs: jax.Array = predict(weights, seen, legal, self._sizes, False)
        return outputs

    def _inputs(self, code: Numbers) -> Any:
        """Return the input of the network for batches of encoded tables."""
        seen = self._see(code.reshape(-1, code.shape[-1]))
        return seen.reshape(*code.shape[:-1], seen.shape[-1])

    def _see(self, code: Numbers, rows: int | None = None) -> Rows:
        """Return the features of encoded tables, shape (rows, columns)."""
        return self.describer.see(code, rows)

    def improve(
        self,
        state: TrainState,
        code: Numbers,
        target: Floats,
        weight: Floats,
        rate: float,
        loss: Callable[[jax.Array, jax.Array, jax.Array], jax.Array] = row_loss,
    ) -> tuple[TrainState, float]:
        """Train a network by some steps of Adam.

        Parameters
        ----------
        state : TrainState
        code : int array, shape (steps, batch, …, width)
            The batch of each step.
        target, weight : float arrays, shape (steps, batch, …)
            Arguments of the loss.
        rate : float
            Learning rate.
        loss : function
            `row_loss`, or `choice_loss` for batches of decisions with several actions each.

        Returns
        -------
        state : TrainState
        loss : float
            Mean over the steps.
        """
        steps, seen = len(code), self._inputs(code)
        batches = seen, target.astype(np.float32), weight.astype(np.float32)
        start = state.weights, state.first, state.second, state.steps
        *arrays, mean = _improve(start, batches, rate, self._sizes, loss)
        weights, first, second = (np.asarray(array) for array in arrays)
        share = np.float32(min(1.0, AVERAGING * steps / (state.steps + steps)))
        averaged = state.averaged + share * (weights - state.averaged)
        return TrainState(weights, averaged, first, second, state.steps + steps), float(mean)


class PairNetwork(ValueNetwork):
    """An MLP that reads the tables after and before an action, rows of `Afterstates.pairs`.

    It can predict regrets, which depend on what else the player could have done.
    """

    kind = "pair"

    def _shape(self, describer: Describer) -> tuple[int, int]:
        return 2 * describer.width, 2 * describer.columns

    def _see(self, code: Numbers, rows: int | None = None) -> Rows:
        parts = np.split(code, 2, axis=1)
        return np.concatenate([self.describer.see(part, rows) for part in parts], axis=1)


class TransformerNetwork(ValueNetwork):
    """A Transformer that reads the order of play, and an MLP that reads its summary.

    The tables must contain the record of play (`Describer` with `ordered`). The record is read
    once per decision, since it is the same after each action: neighboring rows with the same
    record share its summary. In `improve`, rows along the axes after the batch share it.
    """

    kind = "transformer"
    ordered = True

    def _architecture(self, hidden: tuple[int, ...]) -> TransformerArchitecture:
        return TransformerArchitecture(hidden, self.describer.faces, self.describer.turns)

    def _answers(self, weights: Singles, code: Numbers, rows: int) -> jax.Array:
        record = code[:, [SEAT, *range(CODE, self.describer.width)]]
        new = np.ones(len(code), bool)
        new[1:] = (record[1:] != record[:-1]).any(axis=1)
        tokens = self._tokens(code[new], padded(int(new.sum())))
        longest = int((tokens[..., 0] > 0).any(axis=0).sum())
        tokens = tokens[:, : max(LENGTHS, -(-longest // LENGTHS) * LENGTHS)]
        summary = np.zeros((rows, WIDTH), np.float32)
        summary[: len(code)] = np.asarray(_read(weights, tokens, self._sizes))[
            np.cumsum(new) - 1
        ]
        outputs: jax.Array = _judge(weights, self._see(code, rows), summary, self._sizes)
        return outputs

    def _inputs(self, code: Numbers) -> Any:
        first = code.reshape(*code.shape[:2], -1, code.shape[-1])[:, :, 0]
        tokens = self._tokens(first.reshape(-1, code.shape[-1]))
        return super()._inputs(code), tokens.reshape(*code.shape[:2], *tokens.shape[1:])

    def _tokens(self, code: Numbers, rows: int | None = None) -> Tokens:
        """Return the record of play in the first table of each row, as tokens."""
        return self.describer.tokens(code[:, : self.describer.width], rows)


class TransformerPairNetwork(TransformerNetwork, PairNetwork):
    """A Transformer whose MLP reads the tables after and before an action."""

    kind = "transformer pair"


NETWORKS: dict[str, type[ValueNetwork]] = {
    network.kind: network
    for network in (ValueNetwork, PairNetwork, TransformerNetwork, TransformerPairNetwork)
}


def value_network(game: KoiKoi, hidden: Sequence[int], kind: str) -> ValueNetwork:
    """Return a network for a game.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    hidden : sequence of int
        Widths of the ReLU layers.
    kind : "mlp", "pair", "transformer" or "transformer pair"
        A pair is of the tables after and before an action. A Transformer also reads the order
        of play.

    Raises
    ------
    ValueError
        If the kind is unknown.

    Examples
    --------
    >>> value_network(KoiKoi(), (256, 128), "mlp").size
    104449
    """
    if kind not in NETWORKS:
        raise ValueError(f"network must be one of {tuple(NETWORKS)}, got {kind!r}")
    return NETWORKS[kind](Describer(game, NETWORKS[kind].ordered), hidden)


def padded(rows: int) -> int:
    """Round a batch size up to one of few sizes, to limit recompilation.

    There are two sizes per power of two.

    Examples
    --------
    >>> [padded(rows) for rows in (1, 257, 1_000, 1_025, 1_281)]
    [256, 384, 1024, 1536, 1536]
    """
    if rows <= LEAST_ROWS:
        return LEAST_ROWS
    step = (1 << (rows - 1).bit_length()) // 4
    return -(-rows // step) * step


@partial(jax.jit, static_argnames="sizes")
def _read(weights: Any, tokens: Any, sizes: Any) -> jax.Array:
    """Return the summaries of orders of play, shape (rows, WIDTH)."""
    summary: jax.Array = shape(*sizes).network(weights).read(tokens)
    return summary


@partial(jax.jit, static_argnames="sizes")
def _judge(weights: Any, table: Any, summary: Any, sizes: Any) -> jax.Array:
    """Return the outputs for tables and summaries, shape (rows, 1)."""
    output: jax.Array = shape(*sizes).network(weights).judge(table, summary)
    return output


@partial(jax.jit, static_argnames=("sizes", "loss"))
def _improve(start: Any, batches: Any, rate: Any, sizes: _Sizes, loss: Any) -> Any:
    """Run the steps of Adam as one compiled loop."""
    weights, first, second, steps = start
    adam = optax.scale_by_adam()

    def batch_loss(weights: jax.Array, rows: Any) -> jax.Array:
        x, y, w = rows
        error: jax.Array = loss(shape(*sizes).network(weights)(x)[..., 0], y, w)
        return error

    def step(carry: Any, rows: Any) -> Any:
        weights, state = carry
        value, gradient = jax.value_and_grad(batch_loss)(weights, rows)
        change, state = adam.update(gradient, state)
        return (weights - rate * change, state), value

    state = optax.ScaleByAdamState(jnp.asarray(steps, jnp.int32), first, second)
    (weights, state), losses = jax.lax.scan(step, (weights, state), batches)
    return weights, state.mu, state.nu, losses.mean()
