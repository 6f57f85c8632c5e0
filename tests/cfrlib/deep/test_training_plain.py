"""Networks and their training, against plain arithmetic (`tests/support/plain_training.py`)."""

import jax
import numpy as np
import pytest
from flax import nnx
from plain_training import adam, forward, numbered

from cfrlib.deep.memory import new_memory
from cfrlib.deep.networks import Architecture, Learner, Reader, Training, shape

RNG = np.random.default_rng(0)
X = RNG.normal(size=(4, 3)).astype(np.float32)  # infosets by inputs
LEGAL = np.array(
    [[True, True, True], [True, True, False], [True, True, True], [True, False, False]]
)
SIZES = (Architecture((5,), None, False), 3, 3)
SIZE = shape(*SIZES).size
PLACES = numbered(shape(*SIZES).network, SIZE)
START = RNG.normal(size=SIZE).astype(np.float32)


def predicted(w, probabilities):
    """All legal outputs; a softmax over them if wanted; 0 elsewhere."""
    y = forward(w, PLACES, X.astype(float))
    y = np.where(LEGAL, np.exp(y) if probabilities else y, 0.0)
    return y / y.sum(axis=1, keepdims=True) if probabilities else y


def squares(w, probabilities, infoset, weight, target):
    """The weighted squared error of each sample."""
    errors = np.where(LEGAL[infoset], predicted(w, probabilities)[infoset] - target, 0.0)
    return weight * (errors**2).sum(axis=1)


def samples(rows, filled):
    """A memory with `filled` samples; what else is in it would spoil everything."""
    memory = new_memory(rows, 3, np.uint64(0), 0)
    memory.infoset[:] = RNG.integers(3, size=rows)  # the last infoset has none
    memory.weight[:] = RNG.integers(1, 5, size=rows)
    memory.target[:] = np.where(LEGAL[memory.infoset], RNG.normal(size=(rows, 3)), 0.0)
    memory.weight[filled:], memory.target[filled:] = 1e6, 1e6
    memory.seen[0] = filled
    return memory


def learner(probabilities, **options):
    training = Training((5,), steps=11, rate=0.05, **options)
    return Learner(X, LEGAL, training, probabilities)


def batches(key, count, filled):
    """The rows of each step: as many as a batch has, sampled among the filled ones."""
    return [
        np.array(jax.random.randint(k, (6,), 0, filled)) for k in jax.random.split(key, count)
    ]


@pytest.mark.parametrize("probabilities", [False, True])
def test_predictions_are_those_of_plain_layers(probabilities):
    found = learner(probabilities)(START)
    np.testing.assert_allclose(found, predicted(START.astype(float), probabilities), atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("probabilities", [False, True])
@pytest.mark.parametrize("batch", [None, 6])
def test_a_fit_takes_the_steps_of_adam(batch, probabilities):
    """All samples in each step, or a batch of them; the weights are divided by t = 4."""
    memory, key = samples(20, 13), jax.random.key(1)
    one = learner(probabilities, batch=batch)
    found, loss = one.fit(key, memory, 4)
    init, second = jax.random.split(key)
    start = one.initial_weights(init)
    I, weight, target = memory.infoset, memory.weight / 4, memory.target.astype(float)
    drawn = [np.arange(13)] * 11 if batch is None else batches(second, 11, 13)
    losses = [
        lambda w, rows=rows: squares(
            w, probabilities, I[rows], weight[rows], target[rows]
        ).mean()
        for rows in drawn
    ]
    expected, told = adam(start, losses, 0.05)
    np.testing.assert_allclose(found, expected, atol=2e-4)
    assert np.abs(found - start).max() > 0.1
    spread = 0.0
    if batch is None:  # the samples of an infoset count as their mean
        for n in range(3):
            w, u = weight[:13][I[:13] == n], target[:13][I[:13] == n]
            spread += (w[:, None] * (u - np.average(u, axis=0, weights=w)) ** 2).sum() / 13
    assert loss == pytest.approx(np.mean(told[-2:]) - spread, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("batch", [None, 6])
def test_a_refit_goes_on_from_the_weights(batch):
    """The infosets that have a target count equally, the others not at all."""
    has, key = np.array([True, False, True, True]), jax.random.key(2)
    target = np.where(LEGAL, RNG.normal(size=(4, 3)), 0.0).astype(np.float32)
    found, loss = learner(False, batch=batch).refit(START, key, has, target)
    own = np.flatnonzero(has)
    drawn = [own] * 11 if batch is None else [own[rows] for rows in batches(key, 11, 3)]
    losses = [
        lambda w, rows=rows: squares(w, False, rows, 1.0, target[rows]).mean() for rows in drawn
    ]
    expected, told = adam(START, losses, 0.05)
    np.testing.assert_allclose(found, expected, atol=2e-4)
    assert loss == pytest.approx(np.mean(told[-2:]), rel=1e-3)


# ---- recurrent networks ----------------------------------------------------------------------


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def read(network, words):
    """Return the outputs and the attention for one label, word by word."""
    E, U, b = (np.array(w[...], float) for w in (
        network.word.embedding, network.state.kernel, network.state.bias))  # fmt: skip
    h, c, states = np.zeros(len(U)), np.zeros(len(U)), []
    for word in words:
        x, s = E[word], h @ U + b
        if network.cell == "gru":  # Cho et al. (2014), with PyTorch's reset of U h + b
            (xr, xz, xn), (sr, sz, sn) = np.split(x, 3), np.split(s, 3)
            z = sigmoid(xz + sz)
            h = z * h + (1 - z) * np.tanh(xn + sigmoid(xr + sr) * sn)
        else:  # Hochreiter and Schmidhuber (1997), with a bias of 1 to keep
            i, f, g, o = np.split(x + s, 4)
            c = sigmoid(f + 1) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
        states.append(h)
    weights = np.eye(len(words))[-1]
    if network.look is not None:
        W, d = (np.array(w[...], float) for w in (network.look.kernel, network.look.bias))
        v = np.array(network.score.kernel[...], float)[:, 0]
        scores = np.exp([np.tanh(state @ W + d) @ v for state in states])
        weights = scores / scores.sum()
    x = weights @ states
    for layer in network.layers.layers:
        x = np.maximum(x @ np.array(layer.kernel[...]) + np.array(layer.bias[...]), 0.0)
    last = network.layers.last
    return x @ np.array(last.kernel[...]) + np.array(last.bias[...]), weights


@pytest.mark.parametrize("cell", ["gru", "lstm"])
@pytest.mark.parametrize("attention", [False, True])
def test_a_reader_reads_word_by_word(cell, attention):
    network = Reader(6, cell, (4, 5), attention, 2, nnx.Rngs(0))
    key = iter(range(100))
    for part in (network.state, network.layers.last, *network.layers.layers):
        part.bias[...] = jax.random.normal(jax.random.key(next(key)), part.bias.shape)
    last = network.layers.last
    last.kernel[...] = jax.random.normal(jax.random.key(next(key)), last.kernel.shape)
    if attention:
        bias = network.look.bias
        bias[...] = jax.random.normal(jax.random.key(next(key)), bias.shape)
    words = np.array([[1, 4, 5, 2], [3, 0, 0, 0], [5, 5, 0, 0]])
    with jax.disable_jit():  # compiling takes longer than running the operations
        found, weights = network(words), network.attention(network.states(words), words)
    for n, row in enumerate(words):
        expected, attended = read(network, row[row > 0])
        np.testing.assert_allclose(found[n], expected, atol=1e-5)
        if attention:
            np.testing.assert_allclose(weights[n, : len(attended)], attended, atol=1e-6)
            assert not weights[n, len(attended) :].any()
        else:  # padding does not change the state, so the last word's is the last of all
            assert weights[n].tolist() == [0.0, 0.0, 0.0, 1.0]
