"""Networks and their training in float64, as the papers write them: slopes are differences."""

import numpy as np


def numbered(network, size):
    """Return the places in a vector of weights of each layer's matrix and bias.

    `network` makes a network of a vector; it is given one that holds its own places.
    """
    made = network(np.arange(size, dtype=np.float32))
    layers = [*made.layers, made.last]
    return [tuple(np.array(w[...], int) for w in (one.kernel, one.bias)) for one in layers]


def forward(weights, places, x):
    """Return the outputs of ReLU layers and a linear one."""
    *hidden, last = [(weights[kernel], weights[bias]) for kernel, bias in places]
    for kernel, bias in hidden:
        x = np.maximum(x @ kernel + bias, 0.0)
    return x @ last[0] + last[1]


def slope(f, x, h=1e-5):
    """Return the gradient of f at x by central differences."""
    return np.array([(f(x + d) - f(x - d)) / (2 * h) for d in h * np.eye(len(x))])


def adam(weights, losses, rate):
    """Take a step of Adam down each loss; return the weights, and each loss before its step.

    The rate falls from `rate` to 0 along half a period of a cosine (Kingma and Ba, 2015;
    Loshchilov and Hutter, 2017).
    """
    w, m, v, found = np.array(weights, float), 0.0, 0.0, []
    for t, loss in enumerate(losses):
        found.append(loss(w))
        g = slope(loss, w)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        mean, square = m / (1 - 0.9 ** (t + 1)), v / (1 - 0.999 ** (t + 1))
        w = w - rate * (1 + np.cos(np.pi * t / len(losses))) / 2 * mean / (
            np.sqrt(square) + 1e-8
        )
    return w, found
