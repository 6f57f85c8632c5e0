"""Random numbers; not those of NumPy's generator with the same seed."""

import random

import numpy as np


class Generator:
    """The methods of NumPy's generator that the book uses."""

    def __init__(self, seed=None):
        self._rng = random.Random(seed)

    def _many(self, size, one):
        if size is None:
            return one()
        length, *rest = size if isinstance(size, tuple) else (size,)
        return np.ndarray([self._many(tuple(rest) or None, one) for _ in range(length)])

    def random(self, size=None):
        return self._many(size, self._rng.random)

    def integers(self, low, high=None, size=None):
        low, high = (0, low) if high is None else (low, high)
        return self._many(size, lambda: self._rng.randrange(low, high))

    def choice(self, a, size=None, replace=True, p=None):
        items = range(a) if isinstance(a, int) else list(a)
        if not replace:
            return np.array(self._rng.sample(items, size))
        weights = None if p is None else list(p)
        return self._many(size, lambda: self._rng.choices(items, weights)[0])

    def normal(self, loc=0.0, scale=1.0, size=None):
        return self._many(size, lambda: self._rng.gauss(loc, scale))

    def dirichlet(self, alpha):
        x = np.array([self._rng.gammavariate(a, 1) for a in alpha])
        return x / x.sum()

    def permutation(self, x):
        items = list(range(x) if isinstance(x, int) else x)
        self._rng.shuffle(items)
        return np.array(items)


def default_rng(seed=None):
    """Return a generator; one that is given is returned."""
    return seed if isinstance(seed, Generator) else Generator(seed)
