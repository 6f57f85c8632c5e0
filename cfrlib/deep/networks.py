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

from cfrlib.core import schema
from cfrlib.core.checks import whole_number
from cfrlib.deep.features import Features
from cfrlib.deep.memory import Memory, Singles

Tree: TypeAlias = Any  # of arrays, as JAX means it
_Pair: TypeAlias = tuple[jax.Array, jax.Array]
MOST_ROWS, MOST_WEIGHTS = 1 << 20, 1 << 28  # in a step; between the layers of a network
GATES = {"gru": 3, "lstm": 4}  # the cells, and how many vectors each makes of a word


class MLP(nnx.Module):
    """Layers of ReLU. The last one is linear and begins at 0, so a new network answers 0.

    Parameters
    ----------
    inputs : int
        Columns of what it sees, float array, shape (rows, inputs).
    hidden : sequence of int
        Widths of the layers.
    outputs : int
        Columns of what it answers, shape (rows, outputs).
    rngs : flax.nnx.Rngs
        Of the first weights (He et al., 2015).

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
        """Return the answers, shape (rows, outputs)."""
        for layer in self.layers:
            x = nnx.relu(layer(x))
        return self.last(x)


class Reader(nnx.Module):
    """Reads a row of words, one after another, and answers by layers of ReLU.

    A cell takes up the words in their order into a state, which begins at 0 and does not
    change after the last word. The layers see the last state; or, with attention, a mean of
    all states, weighted by a softmax over scores v · tanh(W state) that are learned too.

    Parameters
    ----------
    words : int
        How many there are, "no word" included, which is number 0.
    cell : str
        ``"gru"`` (Cho et al., 2014) or ``"lstm"`` (Hochreiter & Schmidhuber, 1997). What a word
        says to each gate is learned for each word.
    hidden : sequence of int
        Widths: of the state, then of the layers.
    attention : bool
        After Bahdanau, Cho & Bengio (2015).
    outputs : int
        Columns of what it answers, shape (rows, outputs), to words, int array, shape
        (rows, places), as :func:`spell` returns them.
    rngs : flax.nnx.Rngs
        Of the first weights.

    Examples
    --------
    >>> network = Reader(5, "gru", hidden=(4, 8), attention=True, outputs=2, rngs=nnx.Rngs(0))
    >>> words = jnp.array([[1, 4, 0]])  # two words, then none
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

    def take(self, state: jax.Array, inner: jax.Array, word: jax.Array) -> _Pair:
        """Return the state after one more word; `inner` is the second one that an LSTM has."""
        said, kept = self.word(word), self.state(state)
        sigmoid = jax.nn.sigmoid
        if self.cell == "lstm":
            take, keep, new, show = jnp.split(said + kept, 4, axis=1)
            inner = sigmoid(keep + 1.0) * inner + sigmoid(take) * jnp.tanh(new)
            return sigmoid(show) * jnp.tanh(inner), inner
        (said_r, said_z, said_n), (r, z, n) = jnp.split(said, 3, 1), jnp.split(kept, 3, 1)
        keep = sigmoid(said_z + z)
        new = jnp.tanh(said_n + sigmoid(said_r + r) * n)
        return keep * state + (1.0 - keep) * new, inner

    def states(self, words: jax.Array) -> jax.Array:
        """Return the state after each word, shape (places, rows, width)."""

        def read(before: _Pair, word: jax.Array) -> tuple[_Pair, jax.Array]:
            there_is = (word > 0)[:, None]
            pairs = zip(self.take(*before, word), before, strict=True)
            state, inner = (jnp.where(there_is, new, old) for new, old in pairs)
            return (state, inner), state

        zero = jnp.zeros((len(words), self.width))
        shown: jax.Array = jax.lax.scan(read, (zero, zero), words.T)[1]
        return shown

    def attention(self, states: jax.Array, words: jax.Array) -> jax.Array:
        """Return how much each state counts, shape (rows, places): a row sums to 1."""
        if self.look is None or self.score is None:  # the last one alone
            return jnp.zeros(words.shape).at[:, -1].set(1.0)
        scores = self.score(jnp.tanh(self.look(states)))[..., 0].T
        return jax.nn.softmax(scores, axis=1, where=words > 0)

    def __call__(self, words: jax.Array) -> jax.Array:
        """Return the answers, shape (rows, outputs)."""
        states = self.states(words)
        if self.look is None:
            return self.layers(states[-1])
        return self.layers(jnp.einsum("rp,prw->rw", self.attention(states, words), states))


class Architecture(NamedTuple):
    """What a network is made of, whatever it learns."""

    hidden: tuple[int, ...]
    cell: str | None
    attention: bool

    def build(self, inputs: int, outputs: int, rngs: nnx.Rngs) -> MLP | Reader:
        """Return a new network; `inputs` is a number of columns, or of words."""
        if self.cell is None:
            return MLP(inputs, self.hidden, outputs, rngs)
        return Reader(inputs, self.cell, self.hidden, self.attention, outputs, rngs)


@dataclass(frozen=True)
class Training:
    """What a network is made of and how it is trained: by Adam, with a rate that falls to 0.

    Parameters
    ----------
    hidden : tuple of int
        Widths of the layers. With a cell, the first is that of its words and states.
    steps : int
        Steps of Adam.
    batch : int, optional
        Rows of the memory in each step, drawn with replacement. None: all of them. Rows at the
        same infoset count as their mean then, which changes the loss by a constant only: so a
        step costs no more than there are infosets. Only for games that compile.
    rate : float
        Learning rate at the start; it falls along a cosine.
    cell : str, optional
        ``"gru"`` or ``"lstm"``: the network reads the words of a label one by one. Left out:
        it sees them all at once, each at its place.
    attention : bool
        Whether a network that reads looks back at all its states, or uses the last one.

    Raises
    ------
    ValueError
        If a number is not above 0, a cell is unknown, or attention has nothing to look at.

    Notes
    -----
    Adam is that of Kingma & Ba (2015), the cosine that of Loshchilov & Hutter (2017).

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
            "steps": self.steps, "batch": 1 if self.batch is None else self.batch,
        }  # fmt: skip
        for name, number in whole.items():
            whole_number(name, number, 1)
        weights = sum(m * n for m, n in pairwise((1, *self.hidden)))
        if whole["batch"] > MOST_ROWS or weights > MOST_WEIGHTS:
            raise ValueError(
                f"no memory holds that: batch may be {MOST_ROWS:,}, and a network may have "
                f"{MOST_WEIGHTS:,} weights between its layers; got {self!r}"
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
        """Return what the header of a file holds, where tuples have become lists."""
        return cls(**{**saved, "hidden": tuple(saved["hidden"])})

    @property
    def architecture(self) -> Architecture:
        """What the network is made of."""
        return Architecture(self.hidden, self.cell, self.attention)


# what the header of a file says of a training, and of its loss, which may have diverged
TRAINING = schema.record(
    hidden=schema.listed(schema.whole(1), 0, 64),
    steps=schema.whole(1, 2**31 - 1),
    batch=schema.maybe(schema.whole(1)),
    rate=schema.number(0),
    cell=schema.maybe(schema.one_of(*GATES)),
    attention=schema.flag,
)
NETWORKS_ERR = ", up to the error of the networks"  # what theory promises, but for
LOSS = schema.number(infinite=True, nan=True)


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
        self, features: Features, legal: Any, training: Training, probabilities: bool = False
    ):
        self.training, self.probabilities = training, probabilities
        self.features, self.legal = jnp.asarray(features), jnp.asarray(legal)
        inputs = features.shape[1] if training.cell is None else int(features.max()) + 1
        self._sizes = (training.architecture, inputs, legal.shape[1])
        self.size = shape(*self._sizes).size

    def fresh(self, key: jax.Array) -> Singles:
        """Return the weights of a new network, in one row, shape (size,)."""
        return np.asarray(fresh(key, self._sizes))

    def fit(self, key: jax.Array, memory: Memory, t: int) -> tuple[Singles, float]:
        """Train a new network on a memory.

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
        first, draws = jax.random.split(key)
        return self._train(fresh(first, self._sizes), draws, rows, filled)

    def refit(
        self, network: Singles, key: jax.Array, taught: Any, target: Singles
    ) -> tuple[Singles, float]:
        """Train a network further, on one target for each infoset.

        Parameters
        ----------
        network : float32 array, shape (size,)
            Where training begins; the state of Adam begins anew.
        key : JAX key
            Of the batches.
        taught : bool array, shape (infosets,)
            Which infosets have a target; each counts the same. At least one has.
        target : float32 array, shape (infosets, actions)

        Returns
        -------
        network, loss
            As :meth:`fit` does.
        """
        infoset = np.flatnonzero(taught)
        filled, n = len(infoset), len(taught)
        if self.training.batch is None:
            rows = (np.arange(n), np.asarray(taught, np.float32) / np.float32(filled), target)
        else:  # as long for any number of them, so that it is compiled once
            infoset = np.resize(infoset, n)
            rows = (infoset, np.ones(n, np.float32), target[infoset])
        return self._train(jnp.asarray(network), key, rows, filled)

    def _train(
        self, start: jax.Array, key: jax.Array, rows: tuple[Any, ...], filled: int
    ) -> tuple[Singles, float]:
        network, loss = _fit(
            start, key, self.features, self.legal, *rows, filled, self._sizes, self.training,
            self.probabilities,
        )  # fmt: skip
        return np.asarray(network), float(loss)

    def __call__(self, network: Singles) -> Singles:
        """Return what a network answers at every infoset, shape (infosets, actions)."""
        return np.asarray(
            answer(network, self.features, self.legal, self._sizes, self.probabilities)
        )

    def attention(self, network: Singles) -> Singles:
        """Return at which words a network looks, shape (infosets, places); a row sums to 1.

        The weights of the states; a state has read its word and all before it.
        """
        if self.training.cell is None:
            raise ValueError('a network without a cell reads no words; choose cell="gru"')
        reader = shape(*self._sizes).network(network)
        return np.asarray(reader.attention(reader.states(self.features), self.features))

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

    def network(self, weights: Any) -> Any:
        """Return the network with these weights."""
        return nnx.merge(self.graph, self.unravel(weights))


_Sizes: TypeAlias = tuple[Architecture, int, int]


@cache
def shape(architecture: Architecture, inputs: int, outputs: int) -> _Shape:
    """Return what makes networks of rows of weights."""
    graph, like = nnx.split(
        nnx.eval_shape(lambda: architecture.build(inputs, outputs, nnx.Rngs(0)))
    )
    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, np.float32), like)
    flat, unravel = ravel_pytree(zeros)
    return _Shape(graph, unravel, len(flat))


@partial(jax.jit, static_argnames="sizes")
def fresh(key: jax.Array, sizes: _Sizes) -> jax.Array:
    """Return the weights of a new network, in one row."""
    architecture, inputs, outputs = sizes
    weights = nnx.state(architecture.build(inputs, outputs, nnx.Rngs(key)))
    return ravel_pytree(weights)[0]


def random_key(seed: np.uint64, *numbers: int) -> jax.Array:
    """Return the JAX key that these numbers stand for."""
    key = jax.random.fold_in(jax.random.key(0), int(seed & np.uint64(0xFFFFFFFF)))
    for number in (int(seed >> np.uint64(32)), *numbers):
        key = jax.random.fold_in(key, number)
    return key


def _finish(answers: jax.Array, legal: jax.Array, probabilities: bool) -> jax.Array:
    """Mask what is illegal."""
    if probabilities:
        return jax.nn.softmax(answers, axis=1, where=legal)
    return jnp.where(legal, answers, 0.0)


@partial(jax.jit, static_argnames=("sizes", "probabilities"))
def answer(
    network: jax.Array,
    features: jax.Array,
    legal: jax.Array,
    sizes: _Sizes,
    probabilities: bool,
) -> jax.Array:
    """Return what a network answers for rows of features, shape (rows, outputs)."""
    return _finish(shape(*sizes).network(network)(features), legal, probabilities)


@partial(jax.jit, static_argnames=("sizes", "training", "probabilities"))
def _fit(
    start: jax.Array,
    key: jax.Array,
    features: jax.Array,
    legal: jax.Array,
    infoset: Any,
    weight: Any,
    target: Any,
    filled: Any,
    sizes: _Sizes,
    training: Training,
    probabilities: bool,
) -> tuple[jax.Array, jax.Array]:
    """Run the whole training as one loop, in which nothing is Python."""
    graph, unravel, _ = shape(*sizes)
    batch = training.batch
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

    weights = unravel(start)
    begin = weights, optimizer.init(weights)
    (weights, _), losses = jax.lax.scan(step, begin, jax.random.split(key, training.steps))
    return ravel_pytree(weights)[0], losses[-(-training.steps // 10) :].mean()
