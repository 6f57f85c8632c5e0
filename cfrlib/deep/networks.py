"""Networks that predict a number for each action of an infoset, and their training."""

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

from cfrlib.core.checks import whole_number
from cfrlib.deep.feature_rows import FeatureRows
from cfrlib.deep.features import Features
from cfrlib.deep.memory import Memory, Singles

PyTree: TypeAlias = Any  # of arrays, in the sense of JAX
_Pair: TypeAlias = tuple[jax.Array, jax.Array]
MAX_BATCH, MAX_WEIGHTS = 1 << 20, 1 << 28  # larger ones would exhaust the memory
GATES = {"gru": 3, "lstm": 4}  # the cells, and how many vectors each computes from a word


class MLP(nnx.Module):
    """ReLU layers and a linear layer initialized to 0, so that a new network predicts 0.

    Parameters
    ----------
    inputs : int
        Columns of the input, a float array, shape (rows, inputs).
    hidden : sequence of int
        Widths of the ReLU layers.
    outputs : int
        Columns of the output, shape (rows, outputs).
    rngs : flax.nnx.Rngs
        For the initial weights (He et al., 2015).

    Examples
    --------
    >>> network = MLP(inputs=3, hidden=(8,), outputs=2, rngs=nnx.Rngs(0))
    >>> network(jnp.ones((1, 3))).tolist()
    [[0.0, 0.0]]
    """

    def __init__(self, inputs: int, hidden: Sequence[int], outputs: int, rngs: nnx.Rngs):
        sizes = (inputs, *hidden)
        init = nnx.initializers.he_normal()
        self.layers = nnx.List(
            [nnx.Linear(m, n, kernel_init=init, rngs=rngs) for m, n in pairwise(sizes)]
        )
        zeros = nnx.initializers.zeros_init()
        self.last = nnx.Linear(sizes[-1], outputs, kernel_init=zeros, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        """Return the outputs, shape (rows, outputs)."""
        for layer in self.layers:
            x = nnx.relu(layer(x))
        return self.last(x)


class Reader(nnx.Module):
    """A recurrent cell that reads words in order, followed by ReLU layers and a linear one.

    The state begins at 0 and does not change after the last word. The layers receive the last
    state; or, with attention, a mean of all states, weighted by a softmax over learned scores
    v · tanh(W state).

    Parameters
    ----------
    words : int
        Size of the vocabulary, including 0, which stands for no word.
    cell : str
        ``"gru"`` (Cho et al., 2014) or ``"lstm"`` (Hochreiter & Schmidhuber, 1997). The inputs
        to the gates are learned embeddings of the words.
    hidden : sequence of int
        Width of the state, then widths of the ReLU layers.
    attention : bool
        Whether to use attention (Bahdanau, Cho & Bengio, 2015).
    outputs : int
        Columns of the output, shape (rows, outputs). The input is an int array of words, shape
        (rows, positions), as :func:`spell` returns it.
    rngs : flax.nnx.Rngs
        For the initial weights.

    Examples
    --------
    >>> network = Reader(5, "gru", hidden=(4, 8), attention=True, outputs=2, rngs=nnx.Rngs(0))
    >>> words = jnp.array([[1, 4, 0]])  # two words
    >>> network(words).tolist()
    [[0.0, 0.0]]
    >>> network.attention(network.states(words), words).sum(axis=1).tolist()
    [1.0]
    """

    def __init__(
        self,
        words: int,
        cell: str,
        hidden: Sequence[int],
        attention: bool,
        outputs: int,
        rngs: nnx.Rngs,
    ):
        width, *layers = hidden
        self.cell, self.width, gates = cell, width, GATES[cell] * width
        init = nnx.initializers.normal(1.0)
        self.word = nnx.Embed(words, gates, embedding_init=init, rngs=rngs)
        self.state = nnx.Linear(width, gates, rngs=rngs)
        self.look = nnx.Linear(width, width, rngs=rngs) if attention else None
        self.score = nnx.Linear(width, 1, use_bias=False, rngs=rngs) if attention else None
        self.layers = MLP(width, layers, outputs, rngs)

    def step(self, state: jax.Array, memory: jax.Array, word: jax.Array) -> _Pair:
        """Return the state and the memory cell, which only an LSTM has, after one word."""
        x, h = self.word(word), self.state(state)
        sigmoid = jax.nn.sigmoid
        if self.cell == "lstm":
            write, keep, candidate, output = jnp.split(x + h, 4, axis=1)
            memory = sigmoid(keep + 1.0) * memory + sigmoid(write) * jnp.tanh(candidate)
            return sigmoid(output) * jnp.tanh(memory), memory
        (x_r, x_z, x_n), (h_r, h_z, h_n) = jnp.split(x, 3, 1), jnp.split(h, 3, 1)
        keep = sigmoid(x_z + h_z)
        candidate = jnp.tanh(x_n + sigmoid(x_r + h_r) * h_n)
        return keep * state + (1.0 - keep) * candidate, memory

    def states(self, words: jax.Array) -> jax.Array:
        """Return the state after each word, shape (positions, rows, width)."""

        def read(before: _Pair, word: jax.Array) -> tuple[_Pair, jax.Array]:
            is_word = (word > 0)[:, None]
            pairs = zip(self.step(*before, word), before, strict=True)
            state, memory = (jnp.where(is_word, new, old) for new, old in pairs)
            return (state, memory), state

        zero = jnp.zeros((len(words), self.width))
        states: jax.Array = jax.lax.scan(read, (zero, zero), words.T)[1]
        return states

    def attention(self, states: jax.Array, words: jax.Array) -> jax.Array:
        """Return the weight of each state, shape (rows, positions); a row sums to 1."""
        if self.look is None or self.score is None:  # only the last state is used
            return jnp.zeros(words.shape).at[:, -1].set(1.0)
        scores = self.score(jnp.tanh(self.look(states)))[..., 0].T
        return jax.nn.softmax(scores, axis=1, where=words > 0)

    def __call__(self, words: jax.Array) -> jax.Array:
        """Return the outputs, shape (rows, outputs)."""
        states = self.states(words)
        if self.look is None:
            return self.layers(states[-1])
        return self.layers(jnp.einsum("rp,prw->rw", self.attention(states, words), states))


class Architecture(NamedTuple):
    """The layers of a network, apart from its inputs and outputs."""

    hidden: tuple[int, ...]
    cell: str | None
    attention: bool

    def build(self, inputs: int, outputs: int, rngs: nnx.Rngs) -> MLP | Reader:
        """Return a new network; `inputs` counts columns, or words if there is a cell."""
        if self.cell is None:
            return MLP(inputs, self.hidden, outputs, rngs)
        return Reader(inputs, self.cell, self.hidden, self.attention, outputs, rngs)


@dataclass(frozen=True)
class Training:
    """Architecture and training of a network: Adam with a learning rate that decays to 0.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the ReLU layers. With a cell, the first is the width of its state.
    steps : int
        Steps of Adam.
    batch : int, optional
        Samples in each step, with replacement. By default every step uses all samples, those at
        the same infoset replaced by their mean. That changes the loss by a constant, and a step
        then costs no more than there are infosets. Only for games that compile.
    rate : float
        Initial learning rate; it decays along a cosine.
    cell : str, optional
        ``"gru"`` or ``"lstm"``: the network reads the words of a label one by one. By default
        its input is the one-hot encoding of all words by position.
    attention : bool
        Whether a network with a cell attends to all its states or uses the last one.

    Raises
    ------
    ValueError
        If a number is not positive, the cell is unknown, or there is attention without a cell.

    Notes
    -----
    Sources: Kingma & Ba (2015) for Adam; Loshchilov & Hutter (2017) for the cosine.

    Examples
    --------
    >>> Training(hidden=(32,), steps=200)
    Training(hidden=(32,), steps=200, batch=None, rate=0.005, cell=None, attention=False)
    """

    hidden: tuple[int, ...] = (64, 64)
    steps: int = 500
    batch: int | None = None
    rate: float = 5e-3
    cell: str | None = None
    attention: bool = False

    def __post_init__(self) -> None:
        whole = {
            **{f"hidden[{n}]": width for n, width in enumerate(self.hidden)},
            "steps": self.steps,
            "batch": 1 if self.batch is None else self.batch,
        }
        for name, number in whole.items():
            whole_number(name, number, 1)
        weights = sum(m * n for m, n in pairwise((1, *self.hidden)))
        if whole["batch"] > MAX_BATCH or weights > MAX_WEIGHTS:
            raise ValueError(
                f"batch may be at most {MAX_BATCH:,}, and a network may have at most "
                f"{MAX_WEIGHTS:,} weights between its layers; got {self!r}"
            )
        if not self.rate > 0:
            raise ValueError(f"rate must be above 0, got {self.rate!r}")
        if self.cell is not None and self.cell not in GATES:
            raise ValueError(
                f"unknown cell {self.cell!r}; choose one of {tuple(GATES)}, or None"
            )
        if self.cell is not None and not self.hidden:
            raise ValueError("a cell needs a width: give hidden at least one number")
        if self.attention and self.cell is None:
            raise ValueError(
                'attention is over the states of a cell; choose cell="gru" or cell="lstm"'
            )

    @classmethod
    def restored(cls, saved: dict[str, Any]) -> Training:
        """Return the training in the header of a file, where tuples have become lists."""
        return cls(**{**saved, "hidden": tuple(saved["hidden"])})

    @property
    def architecture(self) -> Architecture:
        """The architecture of the network."""
        return Architecture(self.hidden, self.cell, self.attention)


NETWORKS_ERR = ", up to the error of the networks"  # a caveat of theoretical guarantees


class Learner:
    """Trains advantage networks, or that of the average strategy, and evaluates them.

    Parameters
    ----------
    features : float32 array, shape (infosets, inputs), or FeatureRows
        The networks' inputs; `FeatureRows` for training in batches only.
    legal : bool array, shape (infosets, actions)
        Illegal actions are masked, both in the loss and in the predictions.
    training : Training
    probabilities : bool
        Whether a softmax turns the outputs into probabilities.
    """

    def __init__(
        self,
        features: Features | FeatureRows,
        legal: Any,
        training: Training,
        probabilities: bool = False,
    ):
        self.training, self.probabilities = training, probabilities
        self.features = jax.tree.map(jnp.asarray, features)
        self.legal = jnp.asarray(legal)
        inputs = features.shape[1]
        if training.cell is not None:
            inputs = int(np.max(features)) + 1  # type: ignore[arg-type]  # words
        self._sizes = (training.architecture, inputs, legal.shape[1])
        self.size = shape(*self._sizes).size

    def initial_weights(self, key: jax.Array) -> Singles:
        """Return the weights of a new network, shape (size,)."""
        return np.asarray(initial_weights(key, self._sizes))

    def fit(self, key: jax.Array, memory: Memory, t: int) -> tuple[Singles, float]:
        """Train a new network on a memory.

        Parameters
        ----------
        key : JAX key
            For the initial weights and the batches.
        memory : Memory
        t : int
            The current iteration. The samples' weights are divided by it.

        Returns
        -------
        network : float32 array, shape (size,)
            The weights of the network.
        loss : float
            Mean weighted squared error of a sample, in the last tenth of the steps.

        Raises
        ------
        ValueError
            If the memory is empty.
        """
        filled = memory.filled
        if not filled:
            raise ValueError("the memory is empty: no traversal has visited an infoset yet")
        if self.training.batch is None:
            samples = self._means_by_infoset(memory, filled, t)
        else:
            weight = memory.weight / np.float32(t)
            samples = _Samples(memory.infoset, weight, memory.target, filled)
        init_key, batch_key = jax.random.split(key)
        return self._train(initial_weights(init_key, self._sizes), batch_key, samples)

    def refit(
        self, network: Singles, key: jax.Array, has_target: Any, target: Singles
    ) -> tuple[Singles, float]:
        """Continue the training of a network, with one target per infoset.

        Parameters
        ----------
        network : float32 array, shape (size,)
            The weights to start from; the state of Adam starts anew.
        key : JAX key
            For the batches.
        has_target : bool array, shape (infosets,)
            Which infosets have a target, at least one. All have the same weight.
        target : float32 array, shape (infosets, actions)

        Returns
        -------
        network, loss
            As for :meth:`fit`.
        """
        infoset = np.flatnonzero(has_target)
        filled, n = len(infoset), len(has_target)
        if self.training.batch is None:
            weight = np.asarray(has_target, np.float32) / np.float32(filled)
            samples = _Samples(np.arange(n), weight, target, filled)
        else:  # n rows for any number of targets, so that training is compiled once
            infoset = np.resize(infoset, n)
            samples = _Samples(infoset, np.ones(n, np.float32), target[infoset], filled)
        return self._train(jnp.asarray(network), key, samples)

    def _train(
        self, weights: jax.Array, key: jax.Array, samples: _Samples
    ) -> tuple[Singles, float]:
        options = self._sizes, self.training, self.probabilities
        network, loss = _fit(weights, key, self.features, self.legal, samples, *options)
        return np.asarray(network), float(loss)

    def __call__(self, network: Singles) -> Singles:
        """Return a network's predictions at all infosets, shape (infosets, actions)."""
        return np.asarray(
            predict(network, self.features, self.legal, self._sizes, self.probabilities)
        )

    def attention(self, network: Singles) -> Singles:
        """Return the attention weights at all infosets, shape (infosets, positions).

        Each row sums to 1. A weight belongs to a state, which depends on all words so far.

        Raises
        ------
        ValueError
            If the network has no cell.
        """
        if self.training.cell is None:
            raise ValueError('a network without a cell has no attention; choose cell="gru"')
        reader = shape(*self._sizes).network(network)
        return np.asarray(reader.attention(reader.states(self.features), self.features))

    def _means_by_infoset(self, memory: Memory, filled: int, t: int) -> _Samples:
        """Return one sample per infoset: its share of the weights and its mean target."""
        n, actions = self.legal.shape
        infoset, weight = memory.infoset[:filled], memory.weight[:filled]
        total = np.bincount(infoset, weight, n)
        divisor = np.where(total > 0, total, 1.0)
        target = np.empty((n, actions), np.float32)
        for a in range(actions):
            total_target = np.bincount(infoset, weight * memory.target[:filled, a], n)
            target[:, a] = total_target / divisor
        share = (total / (filled * t)).astype(np.float32)
        return _Samples(np.arange(n), share, target, filled)


class _Samples(NamedTuple):
    """Rows to train on, of which the first `filled` count in batches."""

    infoset: Any
    weight: Any
    target: Any
    filled: Any


class _Shape(NamedTuple):
    """The structure of a network, which turns a vector of weights into a network."""

    graph: Any
    unravel: Any
    size: int

    def network(self, weights: Any) -> Any:
        """Return the network with these weights."""
        return nnx.merge(self.graph, self.unravel(weights))


_Sizes: TypeAlias = tuple[Architecture, int, int]


@cache
def shape(architecture: Architecture, inputs: int, outputs: int) -> _Shape:
    """Return the structure of networks with this architecture."""
    graph, like = nnx.split(
        nnx.eval_shape(lambda: architecture.build(inputs, outputs, nnx.Rngs(0)))
    )
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float32), like)
    flat, unravel = ravel_pytree(zeros)
    return _Shape(graph, unravel, len(flat))


@partial(jax.jit, static_argnames="sizes")
def initial_weights(key: jax.Array, sizes: _Sizes) -> jax.Array:
    """Return the weights of a new network, shape (size,)."""
    architecture, inputs, outputs = sizes
    weights = nnx.state(architecture.build(inputs, outputs, nnx.Rngs(key)))
    return ravel_pytree(weights)[0]


def random_key(seed: np.uint64, *numbers: int) -> jax.Array:
    """Return a JAX key derived from a seed and some numbers."""
    key = jax.random.fold_in(jax.random.key(0), int(seed & np.uint64(0xFFFFFFFF)))
    for number in (int(seed >> np.uint64(32)), *numbers):
        key = jax.random.fold_in(key, number)
    return key


def _mask(outputs: jax.Array, legal: jax.Array, probabilities: bool) -> jax.Array:
    """Set the outputs for illegal actions to 0, after a softmax for probabilities."""
    if probabilities:
        return jax.nn.softmax(outputs, axis=1, where=legal)
    return jnp.where(legal, outputs, 0.0)


@partial(jax.jit, static_argnames=("sizes", "probabilities"))
def predict(
    network: jax.Array,
    features: jax.Array,
    legal: jax.Array,
    sizes: _Sizes,
    probabilities: bool,
) -> jax.Array:
    """Return a network's predictions for rows of features, shape (rows, outputs)."""
    return _mask(shape(*sizes).network(network)(features), legal, probabilities)


@partial(jax.jit, static_argnames=("sizes", "training", "probabilities"))
def _fit(
    weights: jax.Array,
    key: jax.Array,
    features: jax.Array | FeatureRows,
    legal: jax.Array,
    samples: _Samples,
    sizes: _Sizes,
    training: Training,
    probabilities: bool,
) -> tuple[jax.Array, jax.Array]:
    """Run all steps of the training as one compiled loop."""
    graph, unravel, _ = shape(*sizes)
    infoset, weight, target, filled = samples
    batch = training.batch
    optimizer = optax.adam(optax.cosine_decay_schedule(training.rate, training.steps))

    def loss(network: PyTree, rows: Any) -> jax.Array:
        I = infoset[rows]
        predicted = _mask(nnx.merge(graph, network)(features[I]), legal[I], probabilities)
        errors = jnp.where(legal[I], predicted - target[rows], 0.0)
        squares = weight[rows] * jnp.sum(errors**2, axis=1)
        return jnp.sum(squares) if batch is None else jnp.mean(squares)

    def step(carry: Any, key: jax.Array) -> Any:
        network, state = carry
        rows: Any = slice(None)
        if batch is not None:
            rows = jax.random.randint(key, (batch,), 0, filled)
        value, gradient = jax.value_and_grad(loss)(network, rows)
        change, state = optimizer.update(gradient, state)
        return (optax.apply_updates(network, change), state), value

    network = unravel(weights)
    start = network, optimizer.init(network)
    (network, _), losses = jax.lax.scan(step, start, jax.random.split(key, training.steps))
    return ravel_pytree(network)[0], losses[-training.steps // 10 :].mean()
